//! `lightbound shader preview`: renders a preview of a material, a medium, an implicit surface or a
//! displacement.
//!
//! The scene is an ordinary file, `studio.pbrt` with `ball.pbrt` or a box, to which the material, the
//! medium or the shape is added as a user would write it. So previews have all features of
//! rendering, and the shader looks as it does in scenes.

use super::positions::{PositionArgs, is_field};
use super::{
    Assignment, DISPLACE, SourceArgs, is_stdin, output, parse_assignment, parse_text, values,
};
use crate::console::ProgressFormat;
use crate::gltf::GltfArgs;
use crate::numbers::integer;
use crate::render::{
    self, LightcutsArgs, MAX_SPP, MAX_THREADS, PathArgs, WorkArgs, parse_exposure, render_source,
};
use crate::{Error, Exit};
use lightbound::accel::AccelKind;
use lightbound::math::Aabb;
use lightbound_pbrt::diagnostics;
use lightbound_shader::{Parameter, Scalar, Shader, ShaderKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const EXAMPLES: &str = "\
Examples:
  lightbound shader preview ward                         a material of the library, to ward.png
  lightbound shader preview velvet.wgsl -o velvet.exr
  lightbound shader preview ward --set kd=0.5,0.1,0.05 --set alpha_x=0.05
  lightbound shader preview ward --texture kd=wood.png --spp 256 --size 800
  lightbound shader preview fog.wgsl --spp 256           the density of a medium
  lightbound shader preview fog.wgsl --p -2..2,0..1,-2..2
  lightbound shader preview henyey_greenstein --set g=0.8
  lightbound shader preview gyroid.wgsl --p -1..1,-1..1,-1..1   an implicit surface
  lightbound shader preview ripples.wgsl                 a displaced sphere
  lightbound shader preview brass.mtlx                   a MaterialX document

The scene has a ball and a bent sheet of the material, lit by a window and by narrow lamps. One lamp
is behind the sheet and shows transmission. The u direction, and thus the tangent, runs around the
pole that points up. Without --texture, a parameter `uv: vec2f` that is not set is the texture
coordinates of the surface.

For a density or a phase function, the scene has a box of the medium instead: the unit cube of the
density's space or the box of --p, with y up. The light is scattered 10 times per unit of density and
longest side of the box, and absorbed half of the time by media that emit light and have no
`fn albedo`. A phase function gets a constant density, with 1.5 scatterings per side.

A field, `fn field`, is shown as the implicit surface of a grey material in the unit cube or the box of
--p, with y up. A displacement, `fn displace`, moves the surface of a grey sphere with a radius of 1,
whose u direction runs around the pole that points up.";

/// Options of `shader preview`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
pub struct Args {
    #[command(flatten)]
    source: SourceArgs,

    #[command(flatten)]
    positions: PositionArgs,

    /// Image for a parameter or for a texture of the shader; sRGB for colours, linear for scalars
    #[arg(long, value_name = "NAME=FILE", value_parser = parse_assignment)]
    texture: Vec<Assignment>,

    /// Output image: .png (sRGB), .exr or .pfm (float) [default: the shader's name with .png,
    /// in the current folder]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Exposure of a .png in stops [default: 0]
    #[arg(long, value_name = "STOPS", value_parser = parse_exposure)]
    exposure: Option<f32>,

    /// Samples per pixel
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = integer(1..=MAX_SPP))]
    spp: u32,

    /// Width and height in pixels
    #[arg(long, value_name = "N", default_value_t = 400, value_parser = integer(1..=1u32 << 16))]
    size: u32,

    /// Number of threads, which does not affect pixels [default: all]
    #[arg(long, value_name = "N", value_parser = integer(1..=MAX_THREADS))]
    threads: Option<u16>,

    /// Print nothing but warnings and errors
    #[arg(short, long)]
    quiet: bool,
}

/// The scene, except for the integrator and the object.
const STUDIO: &str = include_str!("studio.pbrt");

/// What a preview shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    Material,
    Phase,
    Density,
    Field,
    Displacement,
}

impl Subject {
    /// What a shader describes; `None` for other functions.
    fn of(shader: &Shader) -> Option<Subject> {
        Some(match shader.kind() {
            ShaderKind::Brdf => Subject::Material,
            ShaderKind::Phase => Subject::Phase,
            ShaderKind::Density => Subject::Density,
            ShaderKind::Function if is_field(shader) => Subject::Field,
            ShaderKind::Function if shader.function_name() == DISPLACE => Subject::Displacement,
            ShaderKind::Function => return None,
        })
    }
}

/// The integrator and the object of a preview. A medium or a field fills the box `bounds`.
fn scene_of(subject: Subject, bounds: Aabb) -> [String; 2] {
    let (integrator, depth, object) = match subject {
        Subject::Material => ("path", 5, include_str!("ball.pbrt").to_owned()),
        // Light leaves a bright medium after many scatterings.
        Subject::Phase | Subject::Density => ("volpath", 64, box_of_medium(bounds)),
        Subject::Field => ("path", 5, format!("{}{GREY}", placed(bounds))),
        Subject::Displacement => ("path", 5, format!("{POSE_OF_SPHERE}{GREY}")),
    };
    let integrator = format!("Integrator \"{integrator}\" \"integer maxdepth\" [{depth}]\n");
    [integrator, object]
}

/// The neutral material of shapes.
const GREY: &str =
    "Material \"coateddiffuse\" \"rgb reflectance\" [0.4 0.4 0.4] \"float roughness\" [0.2]\n";

/// Places a unit sphere with a pole along z like the ball, but in the middle.
const POSE_OF_SPHERE: &str = "Translate 0.42 0 1.05\nRotate 14 1 0 0\nRotate -14 0 1 0\n";

/// Numbers of quadrilaterals of the displaced sphere, around it and from pole to pole.
const QUADS: [u32; 2] = [96, 48];

/// A unit sphere of triangles, as parameters of a `trianglemesh`. u runs around the z axis.
fn sphere() -> String {
    use std::fmt::Write;
    let [columns, rows] = QUADS;
    let (mut positions, mut uvs, mut indices) = (String::new(), String::new(), String::new());
    for row in 0..=rows {
        for column in 0..=columns {
            let [u, v] = [(column, columns), (row, rows)].map(|(k, n)| f64::from(k) / f64::from(n));
            // The seam is at the same floats from both sides.
            let (sin_phi, cos_phi) = match column % columns {
                0 => (0.0, 1.0),
                _ => (u * std::f64::consts::TAU).sin_cos(),
            };
            let (sin, cos) = match row {
                0 => (0.0, -1.0),
                row if row == rows => (0.0, 1.0),
                _ => {
                    let (sin, cos) = (v * std::f64::consts::PI).sin_cos();
                    (sin, -cos)
                }
            };
            let [x, y, z] = [sin * cos_phi, sin * sin_phi, cos].map(|x| x as f32);
            write!(positions, " {x:?} {y:?} {z:?}").expect("a string");
            write!(uvs, " {:?} {:?}", u as f32, v as f32).expect("a string");
        }
    }
    for row in 0..rows {
        for column in 0..columns {
            let [a, b] = [0, 1].map(|k| (row + k) * (columns + 1) + column);
            // Triangles at the poles have one vertex there.
            if row > 0 {
                write!(indices, " {a} {} {}", a + 1, b + 1).expect("a string");
            }
            if row + 1 < rows {
                write!(indices, " {a} {} {b}", b + 1).expect("a string");
            }
        }
    }
    format!(
        "\"point3 P\" [{positions}]\n  \"normal N\" [{positions}]\n  \"point2 uv\" [{uvs}]\n  \
         \"integer indices\" [{indices}]\n"
    )
}

/// Places a box in which y is up, with a longest side of 2 in the scene.
fn placed(Aabb { min, max }: Aabb) -> String {
    let scale = 2.0 / (max - min).max_element();
    let base = 0.5 * (min + max).with_y(2.0 * min.y);
    format!(
        "Translate 0.42 0 0.02  # above the floor, which would coincide with a face\n\
         Rotate 25 0 0 1\n\
         Scale {scale:?} {scale:?} {scale:?}\n\
         Rotate 90 1 0 0\n\
         Translate {:?} {:?} {:?}\n",
        -base.x, -base.y, -base.z
    )
}

/// A box in which y is up, with a longest side of 2 in the scene. The medium `preview` is appended,
/// and has the space of the box as its own.
fn box_of_medium(bounds: Aabb) -> String {
    let Aabb { min, max } = bounds;
    let corner = |i: u32| {
        let [x, y, z] = [0, 1, 2].map(|axis| if i >> axis & 1 == 0 { min } else { max }[axis]);
        format!("{x:?} {y:?} {z:?}")
    };
    let corners = (0..8).map(corner).collect::<Vec<_>>().join("  ");
    format!(
        "{}\
         Material \"interface\"\n\
         MediumInterface \"preview\" \"\"\n\
         Shape \"trianglemesh\"\n  \"point3 P\" [{corners}]\n  \
         \"integer indices\" [0 2 3  0 3 1  4 5 7  4 7 6  0 4 6  0 6 2  1 3 7  1 7 5  0 1 5  \
         0 5 4  2 6 7  2 7 3]\n",
        placed(bounds)
    )
}

/// The shader's name in the scene.
const SHADER: &str = "preview.wgsl";

/// The parameter for texture coordinates, as in the library's `fractal`.
const UV: &str = "uv";

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Error> {
    let source = &args.source;
    let file = args.output.clone().unwrap_or_else(|| default_output(&source.file));
    let images = args.texture.iter().map(|(_, file)| Path::new(file));
    output(Some(&file), &images.chain([source.file.as_path()]).collect::<Vec<_>>())?;
    // Loading the scene gives the warnings of a document.
    let document = source.document()?;
    let text = match &document {
        Some(material) => material.text.clone(),
        None => source.read()?,
    };
    let mut shader = parse_text(&source.name(), &text)?;
    let subject = Subject::of(&shader).expect("it is one of these unless a function is named");
    let bounds = args.positions.bounds_with_fields(&shader)?;
    let [integrator, object] = scene_of(subject, bounds);
    let mut scene = [integrator, STUDIO.to_owned(), object]
        .map(|text| ("the scene of previews".to_owned(), text))
        .to_vec();
    for (name, file) in &args.texture {
        scene.push((format!("--texture {name}={file}"), texture_declaration(&shader, name, file)?));
    }
    let with_uv = match &document {
        Some(_) => None,
        None => with_surface_uv(&shader, &text, args)?,
    };
    let head = match &document {
        Some(material) => head_of_document(source, &material.name),
        None => head(&shader, bounds),
    };
    if document.is_none() && with_uv.is_none() {
        super::images(&shader, &args.texture)?;
    }
    let declared = match with_uv {
        None => declaration(&shader, source, &args.texture, head)?,
        Some(computed) => {
            let is_override = |(name, _): &&Assignment| {
                shader.overrides().iter().any(|declared| declared.name == *name)
            };
            let set = source.set.iter().filter(is_override).cloned().collect();
            shader = computed;
            declaration(
                &shader,
                &SourceArgs { file: source.file.clone(), set, ..SourceArgs::default() },
                &[],
                head,
            )?
        }
    };
    scene.push((source.name(), declared));
    let options = render::Args {
        scene: source.name().into(),
        frames: None,
        fps: None,
        gltf: GltfArgs::default(),
        output: Some(file),
        exposure: args.exposure,
        color_space: None,
        environment: None,
        layers: Vec::new(),
        denoise: false,
        variance: false,
        stats: None,
        tev: None,
        quiet: args.quiet,
        integrator: None,
        shadow_terminator: None,
        path: PathArgs::default(),
        lightcuts: LightcutsArgs::default(),
        spp: Some(args.spp),
        seed: None,
        resolution: Some((args.size, args.size)),
        crop: None,
        progress: ProgressFormat::Auto,
        time_limit: None,
        threads: args.threads,
        accel: AccelKind::Auto,
        target: source.target,
        shader_profile: render::ShaderProfileArgs::default(),
        work: WorkArgs::default(),
        strict: false,
    };
    render_source(
        &diagnostics::Source::generated("preview", scene),
        &[(SHADER.into(), Arc::new(shader))],
        &options,
    )
}

/// Replaces the parameter `uv` by the texture coordinates of the surface, and the other parameters
/// by their values. `None` if there is no such parameter, or if it is set.
fn with_surface_uv(shader: &Shader, text: &str, args: &Args) -> Result<Option<Shader>, Error> {
    let is_uv = |p: &Parameter| (p.name.as_str(), p.scalar, p.size) == (UV, Scalar::F32, 2);
    let is_set = args.source.set.iter().any(|(name, _)| name == UV || name.starts_with("uv."));
    if shader.kind() != ShaderKind::Brdf
        || is_set
        || !args.texture.is_empty()
        || !shader.settable().iter().any(is_uv)
    {
        return Ok(None);
    }
    let words = parameter_words(shader, &args.source)?;
    if values::first_missing(shader.settable(), &words).is_some() {
        return Ok(None);
    }
    let mut words = words.into_iter().flatten();
    let members = shader.settable().iter().map(|parameter| {
        let values: Vec<_> = words
            .by_ref()
            .take(parameter.size)
            .map(|bits| format_word(parameter.scalar, bits))
            .collect();
        let scalar = parameter.scalar.name();
        match (is_uv(parameter), parameter.size) {
            (true, _) => "p.uv".into(),
            (false, 1) => format!("{scalar}({})", values[0]),
            (false, n) => format!("vec{n}<{scalar}>({})", values.join(", ")),
        }
    });
    let members = members.collect::<Vec<_>>().join(", ");
    let material =
        format!("fn material(p: SurfacePoint) -> Material {{ return Material({members}); }}");
    Ok(Some(Shader::parse(&args.source.name(), &format!("{text}\n{material}\n"))?))
}

/// The words of all parameters that can be set.
fn parameter_words(shader: &Shader, source: &SourceArgs) -> Result<Vec<Option<u32>>, Error> {
    let (_, assignments) = source.settings(shader)?;
    Ok(values::assign(shader.settable(), shader.overrides(), &assignments, values::parse_bits)?)
}

/// The shader's name with .png.
fn default_output(shader: &Path) -> PathBuf {
    match shader.file_stem() {
        Some(stem) if !is_stdin(shader) => Path::new(stem).with_extension("png"),
        _ => "preview.png".into(),
    }
}

/// The material, medium or shape in pbrt's scene format, which begins with `head`. Its textures must
/// be declared before it.
fn declaration(
    shader: &Shader,
    source: &SourceArgs,
    images: &[Assignment],
    head: String,
) -> Result<String, Error> {
    let (settings, _) = source.settings(shader)?;
    let words = parameter_words(shader, source)?;
    let mut text = head;
    for (name, _) in images {
        text += &format!("  \"texture {name}\" [\"{name}\"]\n");
    }
    let mut remaining = &words[..];
    for parameter in shader.settable() {
        let (words, others) = remaining.split_at(parameter.size);
        remaining = others;
        let declared = std::slice::from_ref(parameter);
        if images.iter().any(|(name, _)| *name == parameter.name) {
            continue;
        }
        if let Some(name) = values::first_missing(declared, words) {
            return Err(values::no_value(&name).into());
        }
        // Emission and opacity of a document have defaults of their own.
        let is_set = source.set.iter().any(|(name, _)| *name == parameter.name);
        if is_set || values::defaults(declared) != words {
            text += &parameter_declaration(parameter, words.iter().copied().flatten());
        }
    }
    for (name, value) in &settings.overrides {
        let declared = values::find_parameter(shader.overrides(), name)
            .expect("overrides are found by name")
            .parameter;
        text += &parameter_declaration(declared, [declared.scalar.bits(*value)]);
    }
    Ok(text)
}

/// The declaration of a material of a document, without the parameters of the shader.
fn head_of_document(source: &SourceArgs, material: &str) -> String {
    let [file, material] = [&*source.file.to_string_lossy(), material].map(quoted);
    format!(
        "MakeNamedMaterial \"preview\" \"string type\" [\"materialx\"] \
         \"string filename\" [\"{file}\"] \"string material\" [\"{material}\"]\n"
    )
}

/// Escapes what would end a string of a scene.
fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// The declaration without the parameters of the shader.
fn head(shader: &Shader, bounds: Aabb) -> String {
    let medium = |medium_type, shader, [sigma_s, sigma_a]: [f32; 2]| {
        format!(
            "MakeNamedMedium \"preview\" \"string type\" [\"{medium_type}\"] \
             \"string {shader}\" [\"{SHADER}\"]\n  \
             \"rgb sigma_s\" [{sigma_s} {sigma_s} {sigma_s}] \
             \"rgb sigma_a\" [{sigma_a} {sigma_a} {sigma_a}]\n"
        )
    };
    match shader.kind() {
        ShaderKind::Brdf => format!(
            "MakeNamedMaterial \"preview\" \"string type\" [\"shader\"] \"string filename\" [\"{SHADER}\"]\n"
        ),
        // The longest sides of the box have a length of 2.
        ShaderKind::Phase => medium("homogeneous", "phase", [0.75, 0.0]),
        ShaderKind::Function if is_field(shader) => {
            let Aabb { min, max } = bounds;
            format!(
                "Shape \"implicit\" \"string filename\" [\"{SHADER}\"]\n  \
                 \"point3 p0\" [{:?} {:?} {:?}] \"point3 p1\" [{:?} {:?} {:?}]\n",
                min.x, min.y, min.z, max.x, max.y, max.z
            )
        }
        ShaderKind::Function => format!(
            "Shape \"trianglemesh\" \"string displacement\" [\"{SHADER}\"] \
             \"float edgelength\" [0.02]\n  {}",
            sphere()
        ),
        ShaderKind::Density => {
            let absorbs = shader.has_emission() && !shader.has_albedo();
            let Aabb { min, max } = bounds;
            let medium =
                medium("shader", "filename", if absorbs { [2.5, 2.5] } else { [5.0, 0.0] });
            format!(
                "{medium}  \"point3 p0\" [{:?} {:?} {:?}] \"point3 p1\" [{:?} {:?} {:?}]\n",
                min.x, min.y, min.z, max.x, max.y, max.z
            )
        }
    }
}

/// An image for a parameter or a texture of the shader.
fn texture_declaration(shader: &Shader, name: &str, file: &str) -> Result<String, Error> {
    let parameter = shader.settable().iter().find(|parameter| parameter.name == name);
    if parameter.is_none() && !shader.textures().iter().any(|texture| texture == name) {
        let textures: Vec<&str> = shader.textures().iter().map(String::as_str).collect();
        return Err(values::unknown_name(
            "parameter or texture",
            shader.settable(),
            &textures,
            name,
        )
        .into());
    }
    let (kind, encoding) = match parameter {
        Some(parameter) if parameter.size == 1 => ("float", "linear"),
        _ => ("spectrum", "sRGB"),
    };
    let file = quoted(file);
    Ok(format!(
        "Texture \"{name}\" \"{kind}\" \"imagemap\" \"string filename\" [\"{file}\"] \"string encoding\" [\"{encoding}\"]\n"
    ))
}

/// A parameter of the material in pbrt's scene format.
fn parameter_declaration(parameter: &Parameter, words: impl IntoIterator<Item = u32>) -> String {
    let kind = match parameter.scalar {
        Scalar::F32 => "float",
        Scalar::I32 | Scalar::U32 => "integer",
        Scalar::Bool => "bool",
    };
    let values: Vec<String> =
        words.into_iter().map(|bits| format_word(parameter.scalar, bits)).collect();
    format!("  \"{kind} {}\" [{}]\n", parameter.name, values.join(" "))
}

/// Formats a word as a number.
fn format_word(scalar: Scalar, bits: u32) -> String {
    match scalar {
        // The shortest text that parses to the same float.
        Scalar::F32 => format!("{:?}", f32::from_bits(bits)),
        Scalar::I32 => (bits as i32).to_string(),
        Scalar::U32 => bits.to_string(),
        Scalar::Bool => (bits != 0).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound::math::Vec3;

    #[test]
    fn default_output_is_named_after_the_shader() {
        let name = |shader: &str| default_output(Path::new(shader));
        assert_eq!(name("ward"), Path::new("ward.png"));
        assert_eq!(name("a/b/velvet.wgsl"), Path::new("velvet.png"));
        assert_eq!(name("-"), Path::new("preview.png"));
    }

    #[test]
    fn materials_omit_default_values() {
        let text = "override rounds: u32 = 2;
            struct Material {
                /// range: [0, 1], default: 0.5
                kd: vec3f,
                /// default: 0.1
                alpha: f32,
                shift: vec2i,
                /// default: true
                metal: bool,
            }
            fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return m.kd * f32(rounds); }";
        let shader = Shader::parse("a.wgsl", text).unwrap();
        let pair = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let material = |set: &[(&str, &str)], images: &[(&str, &str)]| {
            let set = set.iter().copied().map(pair).collect();
            let images: Vec<_> = images.iter().copied().map(pair).collect();
            let source = SourceArgs { file: "a.wgsl".into(), set, ..SourceArgs::default() };
            let bounds = Aabb { min: Vec3::ZERO, max: Vec3::ONE };
            crate::shader::images(&shader, &images)
                .and_then(|_| declaration(&shader, &source, &images, head(&shader, bounds)))
                .map_err(|error| error.to_string())
        };
        let head = format!(
            "MakeNamedMaterial \"preview\" \"string type\" [\"shader\"] \"string filename\" [\"{SHADER}\"]\n"
        );
        assert_eq!(
            material(&[("shift", "-1,2"), ("kd.g", "0.1"), ("rounds", "3"), ("metal", "0")], &[])
                .unwrap(),
            format!(
                "{head}  \"float kd\" [0.5 0.1 0.5]\n  \"integer shift\" [-1 2]\n  \"bool metal\" [false]\n  \"integer rounds\" [3]\n"
            )
        );
        let image = |name, file| {
            texture_declaration(&shader, name, file).map_err(|error| error.to_string())
        };
        let alpha = image("alpha", "a\"b.png").unwrap();
        assert!(
            alpha.contains("\"alpha\" \"float\" \"imagemap\" \"string filename\" [\"a\\\"b.png\"]"),
            "{alpha}"
        );
        assert!(image("kd", "kd.png").unwrap().contains("\"kd\" \"spectrum\" "));
        assert!(
            material(&[("shift", "0")], &[("kd", "kd.png")])
                .unwrap()
                .contains("\"texture kd\" [\"kd\"]\n")
        );
        assert_eq!(material(&[], &[]), Err("`shift` has no value".into()));
        assert_eq!(image("ks", "a.png"), Err("the shader has no parameter or texture `ks`".into()));
    }
}
