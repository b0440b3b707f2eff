//! What `openpbr` costs in a scene with many looks, compared with shaders that are trimmed by hand;
//! and what versions for regions of textures save.
//!
//! Looks are constant or textured, each on one of twenty spheres. `benches/looks/README.md` describes
//! the trimmed shaders. Regions are those of masks that switch between metal and dielectric, and a coat
//! on and off.

use crate::arguments::positive;
use crate::report::{print_head, print_machine, print_row};
use lightbound::integrator;
use lightbound::material::ShaderBinding;
use lightbound::render::{RenderOptions, Rendering, render_with};
use lightbound_pbrt::build::{LoadedScene, NamedShader, Overrides, load_source};
use lightbound_pbrt::diagnostics::{Diagnostics, Source};
use lightbound_shader::Shader;
use std::fmt::Write;
use std::process::ExitCode;
use std::sync::Arc;

/// Time of an über-shader with many looks, and of its versions for regions of textures
#[derive(clap::Args)]
pub struct Args {
    /// Number of rounds; the least CPU time of each scene is reported
    #[arg(long, default_value_t = 5, value_parser = positive::<usize>)]
    rounds: usize,
    /// Samples per pixel of the path tracer; lightcuts take a quarter
    #[arg(long, default_value_t = 16, value_parser = positive::<u32>)]
    spp: u32,
    /// Width of the images; the height is half of it
    #[arg(long, default_value_t = 240, value_parser = positive::<u32>)]
    width: u32,
}

/// A look: the trimmed shader, and the parameters of both shaders in pbrt's syntax. `openpbr` has
/// more parameters.
struct Look {
    trimmed: &'static str,
    parameters: &'static str,
    openpbr: &'static str,
}

const fn look(trimmed: &'static str, parameters: &'static str, openpbr: &'static str) -> Look {
    Look { trimmed, parameters, openpbr }
}

const MATTE: &str = "\"float specular_weight\" 0";
const METAL: &str = "\"float base_metalness\" 1";
const VELVET: &str = "\"float specular_weight\" 0 \"float fuzz_weight\" 1";
const COATED: &str = "\"float coat_weight\" 1";

const LOOKS: [Look; 20] = [
    look("matte", "\"rgb base_color\" [0.6 0.2 0.1]", MATTE),
    look("matte", "\"rgb base_color\" [0.1 0.4 0.6] \"float base_diffuse_roughness\" 0.7", MATTE),
    look("matte", "\"texture base_color\" \"tiles\"", MATTE),
    look("plastic", "\"rgb base_color\" [0.03 0.18 0.55] \"float specular_roughness\" 0.22", ""),
    look("plastic", "\"rgb base_color\" [0.5 0.5 0.1] \"float specular_ior\" 1.7", ""),
    look("plastic", "\"texture base_color\" \"tiles\" \"float specular_roughness\" 0.4", ""),
    look("plastic", "\"rgb base_color\" [0.2 0.5 0.3] \"texture specular_roughness\" \"wear\"", ""),
    look(
        "plastic",
        "\"rgb base_color\" [0.5 0.3 0.2] \"float base_diffuse_roughness\" 1 \
         \"float specular_roughness\" 0.7",
        "",
    ),
    look("metal", "\"rgb base_color\" [0.91 0.65 0.32] \"float specular_roughness\" 0.3", METAL),
    look(
        "metal",
        "\"rgb base_color\" [0.6 0.6 0.6] \"float specular_roughness\" 0.4472 \
         \"float specular_roughness_anisotropy\" 0.8",
        METAL,
    ),
    look(
        "metal",
        "\"rgb base_color\" [0.7 0.4 0.3] \"texture specular_roughness\" \"wear\"",
        METAL,
    ),
    look("metal", "\"texture base_color\" \"tiles\" \"float specular_roughness\" 0.5", METAL),
    look(
        "coated",
        "\"rgb base_color\" [0.5 0.02 0.03] \"float base_metalness\" 0.6 \
         \"float specular_roughness\" 0.4472 \"float coat_roughness\" 0.1",
        COATED,
    ),
    look(
        "coated",
        "\"rgb base_color\" [0.1 0.3 0.1] \"float base_metalness\" 0.3 \
         \"float coat_roughness\" 0.2",
        COATED,
    ),
    look(
        "coated",
        "\"texture base_color\" \"tiles\" \"float base_metalness\" 1 \"float coat_roughness\" 0.1",
        COATED,
    ),
    look(
        "coated",
        "\"rgb base_color\" [0.45 0.2 0.08] \"float coat_weight\" 0.5 \"float coat_roughness\" 0.22 \
         \"rgb coat_color\" [1 0.85 0.6]",
        "",
    ),
    look("coated", "\"texture base_color\" \"tiles\" \"float coat_roughness\" 0.3", COATED),
    look(
        "coated",
        "\"rgb base_color\" [0.6 0.5 0.4] \"texture coat_weight\" \"wear\" \
         \"float coat_roughness\" 0.3",
        "",
    ),
    look(
        "velvet",
        "\"rgb base_color\" [0.12 0.01 0.08] \"float base_diffuse_roughness\" 0.5 \
         \"rgb fuzz_color\" [0.75 0.35 0.6] \"float fuzz_roughness\" 0.4",
        VELVET,
    ),
    look("velvet", "\"texture base_color\" \"tiles\" \"float fuzz_roughness\" 0.3", VELVET),
];

/// The shaders trimmed by hand.
const TRIMMED: [(&str, &str); 5] = [
    ("matte", include_str!("../looks/matte.wgsl")),
    ("plastic", include_str!("../looks/plastic.wgsl")),
    ("metal", include_str!("../looks/metal.wgsl")),
    ("coated", include_str!("../looks/coated.wgsl")),
    ("velvet", include_str!("../looks/velvet.wgsl")),
];

const OPENPBR: &str = include_str!("../../assets/shaders/openpbr.wgsl");

/// The trimmed shaders with the functions of `openpbr` that do not read its parameters.
fn trimmed_shaders() -> Vec<NamedShader> {
    let position = |text: &str| OPENPBR.find(text).expect("the shader has it");
    let constants = &OPENPBR[position("const PI")..position("struct Material")];
    let items = OPENPBR[position("fn square")..].split_inclusive("\n}\n");
    let functions: String = items.filter(|item| !item.contains("m: Material")).collect();
    let parse = |(name, text): &(&str, &str)| {
        let text = format!("{text}\n{constants}\n{functions}");
        let shader = Shader::parse(name, &text).unwrap_or_else(|error| panic!("{error}"));
        ((*name).to_owned(), Arc::new(shader))
    };
    TRIMMED.iter().map(parse).collect()
}

/// The settings of an image, as options of the integrator.
const METHODS: [(&str, &str); 3] = [
    ("path", "Integrator \"path\" \"integer maxdepth\" [5]"),
    (
        "path, `material-tree`",
        "Integrator \"path\" \"integer maxdepth\" [5] \"string lightsampling\" \"material-tree\"",
    ),
    ("lightcuts", "Integrator \"lightcuts\""),
];

const LIGHTS: &str = "
LightSource \"infinite\" \"rgb L\" [0.25 0.27 0.3]
AttributeBegin
  AreaLightSource \"diffuse\" \"rgb L\" [9 8.6 8]
  Shape \"bilinearmesh\" \"point3 P\" [-5 -4 6  -2 -4 6.5  -5 -1 6  -2 -1 6.5] \"integer indices\" [0 2 1 3]
AttributeEnd
AttributeBegin
  AreaLightSource \"diffuse\" \"rgb L\" [4 4.4 5]
  Shape \"bilinearmesh\" \"point3 P\" [3 -5 4  6 -2 4  3 -5 6  6 -2 6] \"integer indices\" [0 1 2 3]
AttributeEnd
Material \"diffuse\" \"rgb reflectance\" [0.3 0.3 0.32]
Shape \"disk\" \"float radius\" [14]
Texture \"light\" \"spectrum\" \"constant\" \"rgb value\" [0.7 0.6 0.4]
Texture \"dark\" \"spectrum\" \"constant\" \"rgb value\" [0.2 0.1 0.05]
Texture \"tiles\" \"spectrum\" \"checkerboard\" \"texture tex1\" \"light\" \"texture tex2\" \"dark\"
  \"float uscale\" 8 \"float vscale\" 4
Texture \"wear\" \"float\" \"checkerboard\" \"float tex1\" 0.3 \"float tex2\" 0.6
  \"float uscale\" 6 \"float vscale\" 6
";

/// Whether an image takes the path tracer's number of samples, or a quarter of it.
fn samples(method: usize, args: &Args) -> u32 {
    if METHODS[method].0 == "lightcuts" { args.spp.div_ceil(4) } else { args.spp }
}

fn head(method: usize, args: &Args) -> String {
    let (width, height, spp) = (args.width, args.width.div_ceil(2), samples(method, args));
    format!(
        "Scale -1 1 1\nLookAt 0 -11 5.5  0 0.6 0.5  0 0 1\n\
         Camera \"perspective\" \"float fov\" [30]\n\
         Film \"rgb\" \"integer xresolution\" [{width}] \"integer yresolution\" [{height}]\n\
         Sampler \"zsobol\" \"integer pixelsamples\" [{spp}]\n{}\nWorldBegin\n{LIGHTS}",
        METHODS[method].1
    )
}

/// A scene with all looks.
fn looks_scene(method: usize, is_trimmed: bool, args: &Args) -> String {
    let mut text = head(method, args);
    for (k, look) in LOOKS.iter().enumerate() {
        let (shader, more) =
            if is_trimmed { (look.trimmed, "") } else { ("openpbr", look.openpbr) };
        // A value in the look itself takes the place of that of all such looks.
        let more = if look.parameters.contains("coat_weight") { "" } else { more };
        let (x, y) = (-4.4 + 2.2 * (k % 5) as f64, -2.0 + 1.9 * (k / 5) as f64);
        let _ = writeln!(
            text,
            "AttributeBegin\nTranslate {x} {y} 0.8\n\
             Material \"shader\" \"string filename\" \"{shader}\" {} {more}\n\
             Shape \"sphere\" \"float radius\" [0.8]\nAttributeEnd",
            look.parameters
        );
    }
    text
}

/// A scene with masks: metal or dielectric, with or without a coat.
fn masks_scene(method: usize, args: &Args) -> String {
    let mut text = head(method, args);
    text += "
Texture \"metal\" \"float\" \"checkerboard\" \"float tex1\" 0 \"float tex2\" 1
  \"float uscale\" 4 \"float vscale\" 4
Texture \"coat\" \"float\" \"checkerboard\" \"float tex1\" 0 \"float tex2\" 1
  \"float uscale\" 2 \"float vscale\" 2
Material \"shader\" \"string filename\" \"openpbr\" \"texture base_color\" \"tiles\"
  \"texture base_metalness\" \"metal\" \"texture coat_weight\" \"coat\" \"float coat_roughness\" 0.3
";
    for k in 0..20 {
        let (x, y) = (-4.4 + 2.2 * f64::from(k % 5), -2.0 + 1.9 * f64::from(k / 5));
        let _ = writeln!(
            text,
            "AttributeBegin\nTranslate {x} {y} 0.8\nRotate {} 0 0 1\n\
             Shape \"sphere\" \"float radius\" [0.8]\nAttributeEnd",
            18 * k
        );
    }
    text
}

fn load(text: String, shaders: &[NamedShader]) -> LoadedScene {
    let source = Source::memory("looks.pbrt", text);
    load_source(&source, shaders, &Overrides::default(), &mut Diagnostics::new(true))
        .unwrap_or_else(|error| panic!("{error}"))
}

fn render(loaded: &LoadedScene) -> Rendering {
    let integrator =
        integrator::new(&loaded.scene, &loaded.settings).unwrap_or_else(|error| panic!("{error}"));
    let options = RenderOptions { threads: 1, ..RenderOptions::default() };
    render_with(&loaded.scene, &loaded.settings, &*integrator, &options)
}

/// Renders two scenes in turn. Returns the least CPU times in seconds, and the images.
fn fastest(scenes: [&LoadedScene; 2], rounds: usize) -> ([f64; 2], [Vec<[f32; 3]>; 2]) {
    let mut times = [f64::INFINITY; 2];
    let mut images = [vec![], vec![]];
    for _ in 0..rounds {
        for (k, scene) in scenes.into_iter().enumerate() {
            let rendering = render(scene);
            times[k] = times[k].min(rendering.cpu.as_secs_f64());
            images[k] = rendering.image.radiance;
        }
    }
    (times, images)
}

/// The difference of the means of two images, relative to the second.
fn relative_difference([a, b]: &[Vec<[f32; 3]>; 2]) -> f64 {
    let sum = |image: &[[f32; 3]]| image.iter().flatten().map(|&x| f64::from(x)).sum::<f64>();
    (sum(a) - sum(b)) / sum(b)
}

/// Prints the tables.
pub fn run(args: &Args) -> ExitCode {
    print_machine();
    println!(
        "CPU seconds, least of {} rounds: {} looks as `openpbr` and as shaders trimmed by hand.\n",
        args.rounds,
        LOOKS.len()
    );
    print_head(
        &["method", "openpbr", "trimmed", "ratio", "difference of means"].map(str::to_owned),
    );
    let trimmed = trimmed_shaders();
    for (method, (name, _)) in METHODS.iter().enumerate() {
        let scenes = [
            load(looks_scene(method, false, args), &[]),
            load(looks_scene(method, true, args), &trimmed),
        ];
        let (times, images) = fastest(scenes.each_ref(), args.rounds);
        print_row([
            (*name).to_owned(),
            format!("{:.2}", times[0]),
            format!("{:.2}", times[1]),
            format!("{:.3}", times[0] / times[1]),
            format!("{:.1e}", relative_difference(&images)),
        ]);
    }

    println!("\nMasks for metal and coat, with versions for their regions and without.\n");
    print_head(&["method", "without", "with", "ratio", "different pixels"].map(str::to_owned));
    for (method, (name, _)) in METHODS.iter().enumerate() {
        let mut scenes = [(); 2].map(|()| load(masks_scene(method, args), &[]));
        without_regions(&mut scenes[0].scene.shaders);
        let (times, [without, with]) = fastest(scenes.each_ref(), args.rounds);
        let different = std::iter::zip(&without, &with).filter(|(a, b)| a != b).count();
        print_row([
            (*name).to_owned(),
            format!("{:.2}", times[0]),
            format!("{:.2}", times[1]),
            format!("{:.3}", times[1] / times[0]),
            different.to_string(),
        ]);
    }
    ExitCode::SUCCESS
}

fn without_regions(shaders: &mut [ShaderBinding]) {
    for binding in shaders {
        binding.program = Arc::new(binding.program.with_regions(&[]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trimmed_shaders_give_the_images_of_openpbr() {
        let args = Args { rounds: 1, spp: 4, width: 60 };
        let scenes = [
            load(looks_scene(0, false, &args), &[]),
            load(looks_scene(0, true, &args), &trimmed_shaders()),
        ];
        let (_, images) = fastest(scenes.each_ref(), 1);
        let difference = relative_difference(&images);
        assert!(difference.abs() < 0.01, "{difference}");
    }
}
