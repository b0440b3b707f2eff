//! `Material "shader"`: parameters reach the shader, and mismatches are errors.

use crate::common::{TestScene, pfm, render};
use lightbound::film::RenderedImage;
use lightbound_image::write::write_png;
use lightbound_pbrt::build::{Overrides, load};
use lightbound_pbrt::diagnostics::{Diagnostics, SceneError};
use std::path::PathBuf;
use tempfile::TempDir;

/// Start of a scene in which [`SQUARE`] fills the image. The environment has radiance 1, so pixels
/// show the albedo.
const HEADER: &str = r#"
LookAt 0 0 -5  0 0 0  0 1 0
Camera "perspective" "float fov" 10
Film "rgb" "integer xresolution" 4 "integer yresolution" 4
Sampler "zsobol" "integer pixelsamples" 64
Integrator "path" "integer maxdepth" 1
WorldBegin
LightSource "infinite" "rgb L" [1 1 1]
"#;
const SQUARE: &str = r#"
Shape "bilinearmesh" "point3 P" [-2 -2 0  2 -2 0  -2 2 0  2 2 0]
"#;

/// A shader with parameters of all types. All contribute to the albedo.
const ALL_TYPES: &str = "
/// Adds 1/8 per round above 3.
override rounds: u32 = 3;
override scale: f32 = 1.0;
override shown = true;
struct Material {
    /// range: [0, 1], default: 0
    f: f32,
    /// default: 0
    f2: vec2f,
    /// range: [0, 10], default: 0
    f3: vec3f,
    /// default: 0
    f4: vec4f,
    /// range: [-10, 10], default: 0
    i: i32,
    /// default: 0
    u2: vec2u,
    /// default: false
    b: bool,
    /// default: false
    b2: vec2<bool>,
}
fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let sum = f32(m.i) + f32(m.u2.x) + 2.0 * f32(m.u2.y) + m.f2.x + 2.0 * m.f2.y + m.f + m.f4.x + m.f4.w
        + select(0.0, 0.25, m.b) + select(0.0, 0.5, m.b2.y) + 0.125 * (f32(rounds) - 3.0);
    return select(0.0, scale, shown) * (m.f3 + sum) / 3.14159265;
}
";

/// A shader with a `pdf` that does not match `sample`.
const BROKEN: &str = "
struct Material {
    /// default: 0.5
    kd: vec3f,
}
fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return m.kd / 3.14159265; }
fn sample(u: vec2f, wo: vec3f, m: Material) -> vec3f {
    let s = sqrt(1.0 - u.x * u.x);
    return vec3f(s * cos(6.2831853 * u.y), s * sin(6.2831853 * u.y), u.x);
}
fn pdf(wi: vec3f, wo: vec3f, m: Material) -> f32 { return max(wi.z, 0.0) / 3.14159265; }
";

/// A shader without default values.
const REQUIRED: &str = "
override n: u32;
struct Material {
    /// range: [0, 1]
    kd: vec3f,
}
fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return m.kd * f32(n); }
";

/// A shader with an albedo from images.
const WOOD: &str = "
struct Material { kd: vec3f, shine: f32 }
var wood: texture_2d<f32>;
var grain: texture_2d<f32>;
var some: sampler;
fn material(p: SurfacePoint) -> Material {
    return Material(textureSample(wood, some, p.uv).rgb, textureSample(grain, some, p.uv).r);
}
fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return (m.kd + m.shine) / 3.14159265; }
";

/// A temporary folder with shaders and images.
struct SceneFolder {
    dir: TempDir,
}

impl SceneFolder {
    fn new() -> SceneFolder {
        let folder = SceneFolder { dir: tempfile::tempdir().unwrap() };
        folder.write("all.wgsl", ALL_TYPES);
        folder.write("broken.wgsl", BROKEN);
        folder.write("required.wgsl", REQUIRED);
        folder.write(
            "wrong.wgsl",
            "struct Material { kd: vec3f }\nfn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {\n    return m.kdd;\n}\n",
        );
        folder.write("taken.wgsl", "struct Material { filename: f32 }\nfn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return vec3f(m.filename); }");
        folder.write("wood.wgsl", WOOD);
        folder.write("image.pfm", pfm(8, |x, y| [x as f32 / 8.0, y as f32 / 8.0, 0.5]));
        write_png(&folder.path("half.png"), 1, 1, &[[0.5, 0.25, 0.125]], 0.0).unwrap();
        folder.write("latin.wgsl", b"// first\n// \xe9t\xe9\n");
        std::fs::create_dir(folder.path("folder.wgsl")).unwrap();
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// Loads a scene with `world` before [`SQUARE`]; returns the scene and the warnings.
    fn load(&self, world: &str, strict: bool) -> Result<(TestScene, Vec<String>), SceneError> {
        self.write("scene.pbrt", format!("{HEADER}{world}{SQUARE}"));
        let mut diagnostics = Diagnostics::new(strict);
        let loaded = load(&self.path("scene.pbrt"), &Overrides::default(), &mut diagnostics)?;
        Ok((loaded.into(), diagnostics.warnings().iter().map(ToString::to_string).collect()))
    }

    fn scene(&self, world: &str) -> TestScene {
        self.load(world, true).unwrap_or_else(|error| panic!("{world}\n{error:?}")).0
    }

    fn error(&self, world: &str) -> SceneError {
        self.load(world, false).err().unwrap_or_else(|| panic!("{world}\nis accepted"))
    }

    fn image(&self, world: &str) -> RenderedImage {
        let image = render(&self.scene(world), 1);
        assert_eq!(image.invalid_samples, 0);
        image
    }

    /// Returns the mean of the image.
    fn albedo(&self, world: &str) -> [f64; 3] {
        let radiance = self.image(world).radiance;
        [0, 1, 2]
            .map(|c| radiance.iter().map(|p| f64::from(p[c])).sum::<f64>() / radiance.len() as f64)
    }
}

fn assert_albedo(folder: &SceneFolder, world: &str, expected: [f64; 3]) {
    let albedo = folder.albedo(world);
    let is_close =
        std::iter::zip(albedo, expected).all(|(a, b)| (a - b).abs() < 0.02 * b.abs() + 1e-6);
    assert!(is_close, "{world}\nhas albedo {albedo:?}, expected {expected:?}");
}

#[test]
fn constants_of_all_types_reach_the_shader() {
    let folder = SceneFolder::new();
    for (parameters, expected) in [
        ("", [0.0; 3]),
        (r#""float f" 0.5"#, [0.5; 3]),
        (r#""integer f" 1"#, [1.0; 3]),
        (r#""float f2" [0.25 0.5]"#, [1.25; 3]),
        (r#""float f2" 0.25"#, [0.75; 3]),
        (r#""point2 f2" [0.25 0.5]"#, [1.25; 3]),
        (r#""vector2 f2" [0.25 0.5]"#, [1.25; 3]),
        (r#""rgb f3" [0.1 0.2 0.3]"#, [0.1, 0.2, 0.3]),
        (r#""float f3" [0.1 0.2 0.3]"#, [0.1, 0.2, 0.3]),
        (r#""integer f3" [1 2 3]"#, [1.0, 2.0, 3.0]),
        (r#""float f3" 0.2"#, [0.2; 3]),
        (r#""vector3 f3" [0.1 0.2 0.3]"#, [0.1, 0.2, 0.3]),
        (r#""point3 f3" [0.1 0.2 0.3]"#, [0.1, 0.2, 0.3]),
        (r#""normal f3" [0.1 0.2 0.3]"#, [0.1, 0.2, 0.3]),
        (r#""spectrum f3" [300 0.5 900 0.5]"#, [0.5; 3]),
        (r#""float f4" [0.25 9 9 0.5]"#, [0.75; 3]),
        (r#""integer i" 2"#, [2.0; 3]),
        (r#""integer i" -1 "integer u2" [1 2]"#, [4.0; 3]),
        (r#""integer u2" 1"#, [3.0; 3]),
        (r#""bool b" true"#, [0.25; 3]),
        (r#""bool b2" [true false]"#, [0.0; 3]),
        (r#""bool b2" true"#, [0.5; 3]),
        (r#""integer rounds" 11"#, [1.0; 3]),
        (r#""float f" 0.5 "float scale" 2"#, [1.0; 3]),
        (r#""float f" 0.5 "integer scale" 2 "bool shown" false"#, [0.0; 3]),
    ] {
        assert_albedo(
            &folder,
            &format!(r#"Material "shader" "string filename" "all.wgsl" {parameters}"#),
            expected,
        );
    }
}

#[test]
fn parameters_may_be_textures() {
    let folder = SceneFolder::new();
    let textures = r#"
        Texture "half" "float" "constant" "float value" 0.5
        Texture "tint" "spectrum" "constant" "rgb value" [0.1 0.2 0.3]
        Texture "both" "float" "constant" "float value" 0.25
        Texture "both" "spectrum" "constant" "rgb value" [0.1 0.2 0.3]
        Texture "board" "float" "checkerboard" "float tex1" 0.25 "float tex2" 0.75 "float uscale" 64 "float vscale" 64
        Texture "far" "float" "constant" "float value" 7
    "#;
    for (parameters, expected) in [
        (r#""texture f" "half""#, [0.5; 3]),
        (r#""texture f" "both""#, [0.25; 3]),
        (r#""texture f" "board""#, [0.5; 3]),
        (r#""texture f2" "half""#, [1.5; 3]),
        (r#""texture f2" "tint""#, [0.5; 3]),
        (r#""texture f3" "tint""#, [0.1, 0.2, 0.3]),
        (r#""texture f3" "both""#, [0.1, 0.2, 0.3]),
        (r#""texture f3" "half" "float f" 0.25"#, [0.75; 3]),
        (r#""texture i" "far""#, [7.0; 3]),
        (r#""texture u2" "far""#, [21.0; 3]),
        (r#""texture b" "half""#, [0.25; 3]),
        (r#""texture b2" "both""#, [0.0; 3]),
    ] {
        assert_albedo(
            &folder,
            &format!(r#"{textures} Material "shader" "string filename" "all.wgsl" {parameters}"#),
            expected,
        );
    }
}

/// Image textures, named after their settings.
const IMAGES: &str = r#"
    Texture "plain" "spectrum" "imagemap" "string filename" "image.pfm"
    Texture "points" "spectrum" "imagemap" "string filename" "image.pfm" "string filter" "point"
    Texture "inverted" "spectrum" "imagemap" "string filename" "image.pfm" "float scale" 0.5 "bool invert" true
    Texture "none" "float" "imagemap" "string filename" "image.pfm" "float scale" 0
    Texture "tenth" "float" "imagemap" "string filename" "half.png" "float scale" 0.1
    Texture "twice" "spectrum" "imagemap" "string filename" "image.pfm" "float uscale" 2
    Texture "edged" "spectrum" "imagemap" "string filename" "image.pfm" "bool invert" true "string wrap" "black"
    Texture "board" "spectrum" "checkerboard"
"#;

#[test]
fn shader_textures_match_imagemaps() {
    let folder = SceneFolder::new();
    for name in ["plain", "points", "inverted"] {
        let shader_image = folder.image(&format!(
            r#"{IMAGES} Material "shader" "string filename" "wood.wgsl" "texture wood" "{name}" "texture grain" "none""#
        ));
        let texture_image =
            folder.image(&format!(r#"{IMAGES} Material "diffuse" "texture reflectance" "{name}""#));
        for (a, b) in
            shader_image.radiance.iter().flatten().zip(texture_image.radiance.iter().flatten())
        {
            // Sample directions differ. Adjacent texels differ by 1/8.
            assert!((a - b).abs() < 0.02, "{name}: {a} and {b}");
        }
    }
    let file = r#"Material "shader" "string filename" "wood.wgsl" "string wood" "half.png""#;
    let linear = [188u8, 137, 99].map(|code| ((f64::from(code) / 255.0 + 0.055) / 1.055).powf(2.4));
    assert_albedo(&folder, &format!("{IMAGES} {file} \"texture grain\" \"none\""), linear);
    let tenth = 0.1 * linear.iter().sum::<f64>() / 3.0;
    assert_albedo(
        &folder,
        &format!("{IMAGES} {file} \"texture grain\" \"tenth\""),
        linear.map(|x| x + tenth),
    );
}

#[test]
fn materials_share_textures_and_code() {
    let folder = SceneFolder::new();
    let uses = |pairs: &[(&str, &str)]| {
        let each = |(wood, grain): &(&str, &str)| {
            format!(
                r#"Material "shader" "string filename" "wood.wgsl" "texture wood" "{wood}" "texture grain" "{grain}" {SQUARE}"#
            )
        };
        folder
            .scene(&format!("{IMAGES}{}", pairs.iter().map(each).collect::<String>()))
            .shaders
            .split_off(1)
    };
    let bindings =
        uses(&[("plain", "none"), ("plain", "none"), ("inverted", "none"), ("points", "none")]);
    assert_eq!(bindings.len(), 3);
    let [plain, inverted, points] = &bindings[..] else { unreachable!() };
    // Different images share code, and different lookups share images.
    assert!(std::sync::Arc::ptr_eq(&plain.program, &inverted.program));
    assert!(!std::sync::Arc::ptr_eq(&plain.textures[0], &inverted.textures[0]));
    assert!(std::sync::Arc::ptr_eq(&plain.textures[1], &inverted.textures[1]));
    assert!(!std::sync::Arc::ptr_eq(&plain.program, &points.program));
    assert!(std::sync::Arc::ptr_eq(&plain.textures[0], &points.textures[0]));
}

#[test]
fn invalid_textures_are_errors() {
    let folder = SceneFolder::new();
    for (parameters, parts) in [
        (
            r#""texture wood" "plain""#,
            "texture \"grain\" is missing; give \"texture grain\"; wood image",
        ),
        (
            r#""texture wood" "board" "texture grain" "none""#,
            "\"board\", which is not an imagemap; refer to a texture of class \"imagemap\"",
        ),
        (
            r#""rgb wood" [1 1 1] "texture grain" "none""#,
            "is not an image; \"string wood\", an image file",
        ),
        (
            r#""string wood" "gone.png" "texture grain" "none""#,
            "\"string wood\" cannot be used; gone.png cannot be read; check the path",
        ),
        (r#""texture wood" "plain" "texture grian" "none""#, "texture \"grain\" is missing"),
    ] {
        let error = folder.error(&format!(
            r#"{IMAGES} Material "shader" "string filename" "wood.wgsl" {parameters}"#
        ));
        let help =
            error.remedy().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
        let text = format!("{} | {help}", error.message());
        assert!(
            parts.split("; ").all(|part| text.contains(part)) && error.location().is_some(),
            "{parts}\n{text}"
        );
    }
    let line_offset = |parameter: &str| {
        let error = folder.error(&format!(
            "{IMAGES} Material \"shader\"\n\"string filename\" \"wood.wgsl\"\n{parameter}"
        ));
        let start = folder
            .error(&format!("{IMAGES} Material \"shader\" \"string filename\" \"gone.wgsl\""));
        error.location().unwrap().line - start.location().unwrap().line
    };
    assert_eq!(
        line_offset(r#""string wood" "gone.png""#),
        2,
        "expected the location of the parameter, not of the material"
    );
    for (name, part) in [("twice", "has a mapping"), ("edged", "is inverted and black")] {
        let material = r#"Material "shader" "string filename" "wood.wgsl" "texture grain" "none""#;
        let (_, warnings) = folder
            .load(&format!("{IMAGES} {material} \"texture wood\" \"{name}\""), false)
            .unwrap();
        assert!(warnings.len() == 1 && warnings[0].contains(part), "{warnings:?}");
    }
}

#[test]
fn scene_shaders_take_precedence_over_the_library() {
    let folder = SceneFolder::new();
    let diffuse = r#"MakeNamedMaterial "a" "string type" "shader" "string filename" "diffuse.wgsl" "rgb kd" [0.1 0.2 0.3] NamedMaterial "a""#;
    assert_albedo(&folder, diffuse, [0.1, 0.2, 0.3]);
    let absolute = format!(
        r#"Material "shader" "string filename" "{}" "float f" 0.5"#,
        folder.path("all.wgsl").display()
    );
    assert_albedo(&folder, &absolute, [0.5; 3]);
    folder.write(
        "diffuse.wgsl",
        "struct Material { kd: vec3f }\nfn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return m.kd.bgr / 3.14159265; }",
    );
    assert_albedo(&folder, diffuse, [0.3, 0.2, 0.1]);
    // The materials of pbrt still use the library shader.
    assert_albedo(
        &folder,
        r#"Material "diffuse" "rgb reflectance" [0.1 0.2 0.3]"#,
        [0.1, 0.2, 0.3],
    );
}

#[test]
fn materials_with_the_same_values_share_code() {
    let folder = SceneFolder::new();
    folder.write("again.wgsl", ALL_TYPES);
    let shaders = |world: &str| folder.scene(world).shaders.len();
    // The default material, diffuse, has a shader.
    let default = shaders("");
    let uses = |parameters: &[&str]| {
        let each = |p: &&str| format!("Material \"shader\" {p}\n{SQUARE}");
        shaders(&parameters.iter().map(each).collect::<String>()) - default
    };
    let all = r#""string filename" "all.wgsl""#;
    let half = format!("{all} \"float f\" 0.5");
    assert_eq!(uses(&[&half, &half, r#""string filename" "./all.wgsl" "float f" 0.5"#]), 1);
    // Other constants have code of their own.
    assert_eq!(uses(&[&half, &format!("{all} \"float f\" 0.25")]), 2);
    assert_eq!(uses(&[all, r#""string filename" "again.wgsl""#]), 2);
    let scaled = |x: &str| format!("{all} \"float scale\" {x}");
    assert_eq!(uses(&[&scaled("2"), &scaled("2"), &scaled("3"), &scaled("0"), &scaled("-0")]), 3);
    assert_eq!(uses(&[r#""string filename" "diffuse.wgsl""#]), 0);
}

/// Invalid parameters of a material "shader" => parts of message and remedy.
const INVALID_PARAMETERS: &str = r#"
 => needs a shader; "string filename"; ward.wgsl
"string filename" "wrad.wgsl" => shader wrad.wgsl of a material "shader" was not found; wrad.wgsl and in the library; did you mean "ward.wgsl"
"string filename" "sub/velvet.wgsl" => sub/velvet.wgsl and in the library; scene's folder; diffuse.wgsl
"string filename" "latin.wgsl" => latin.wgsl:2: not valid UTF-8 text; save the file as UTF-8
"string filename" "folder.wgsl" => folder.wgsl: cannot be read; check that
"string filename" "taken.wgsl" => parameter `filename`; another name
"string filename" "required.wgsl" => parameter "kd" is missing; no default; kd vec3f [0, 1] -; n override u32
"string filename" "required.wgsl" "float kd" 1 => override `n` has no value; overrides; n override u32
"string filename" "required.wgsl" "float kd" 1 "float n" 1 => "float n" does not match the type of `n`, u32; "integer n"
"string filename" "required.wgsl" "float kd" 1 "texture n" "x" => not match the type; "integer n"
"string filename" "required.wgsl" "float kd" 1 "integer n" -1 => "integer n" is -1, out of range; `n` takes integers
"string filename" "required.wgsl" "float kd" 1 "integer n" [1 2] => has 2 values; `n` takes 1
"string filename" "ward.wgsl" "float alpha_z" 1 => "float alpha_z" is not a parameter of the shader (shader ward.wgsl; did you mean "alpha_x"; alpha_y f32 [0.01, 1] 0.3
"string filename" "ward.wgsl" "float alpha_x" 5 => "float alpha_x" is 5, out of range; in [0.01, 1]; ks vec3f
"string filename" "ward.wgsl" "rgb kd" [0.5 0.5 1.5] => is 1.5, out of range; [0, 1]
"string filename" "ward.wgsl" "rgb kd" [0.5 0.5 -1] => negative; 0 or more
"string filename" "ward.wgsl" "float alpha_x" [0.1 0.2] => has 2 values; `alpha_x` takes 1
"string filename" "ward.wgsl" "float alpha_x" [] => has 0 values; `alpha_x` takes 1
"string filename" "ward.wgsl" "float kd" [0.1 0.2] => has 2 values; `kd` takes 3, or one for all
"string filename" "ward.wgsl" "rgb alpha_x" [1 1 1] => does not match the type of `alpha_x`, f32; "float alpha_x" or "texture alpha_x"
"string filename" "ward.wgsl" "bool kd" true => not match the type of `kd`, vec3f; "rgb kd"
"string filename" "ward.wgsl" "string kd" "red" => not match the type; "rgb kd" or "spectrum kd" or "float kd"
"string filename" "all.wgsl" "float i" 1 => not match the type of `i`, i32; "integer i"
"string filename" "all.wgsl" "integer b" 1 => not match the type of `b`, bool; "bool b"
"string filename" "all.wgsl" "texture f4" "x" => three channels; four "float"s
"string filename" "all.wgsl" "texture f" "tint" => "texture f" is "tint", a texture of type spectrum, but `f` is one number
"#;

#[test]
fn mismatched_parameters_are_errors_with_location_and_remedy() {
    let folder = SceneFolder::new();
    let textures =
        "Texture \"x\" \"float\" \"constant\"\nTexture \"tint\" \"spectrum\" \"constant\"\n";
    let mut failures = Vec::new();
    for row in INVALID_PARAMETERS.lines().filter(|row| !row.is_empty()) {
        let (parameters, parts) = row.split_once("=> ").unwrap();
        let error = folder.error(&format!("{textures}Material \"shader\" {parameters}"));
        let help =
            error.remedy().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
        let text = format!("{} | {help}", error.message());
        let line = error
            .location()
            .map(|location| (location.line, location.path() == folder.path("scene.pbrt")));
        if !parts.split("; ").all(|part| text.contains(part))
            || help.is_empty()
            || line != Some((11, true))
        {
            failures.push(format!("{row}\n    {text}\n    {line:?}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn shader_errors_include_the_compile_error() {
    let folder = SceneFolder::new();
    let error = folder.error(r#"Material "shader" "string filename" "wrong.wgsl""#);
    assert!(error.shader_error().unwrap().message.contains("kdd"));
}

#[test]
fn mismatch_of_sample_and_pdf_gives_a_warning() {
    let folder = SceneFolder::new();
    let world = r#"
        MakeNamedMaterial "a" "string type" "shader" "string filename" "broken.wgsl"
        MakeNamedMaterial "b" "string type" "shader" "string filename" "broken.wgsl" "float kd" 0.25
    "#;
    let (_, warnings) = folder.load(world, false).unwrap();
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    for part in ["scene.pbrt:10:", "broken.wgsl", "`sample` and `pdf` disagree", "%", "instead"] {
        assert!(warning.contains(part), "{part} missing in {warning}");
    }
    let error = folder.load(world, true).err().unwrap();
    assert!(error.message().contains("disagree") && error.remedy().unwrap().contains("strict"));
}

/// All materials are checked: the first one scatters nothing, and the texture is black at its centre.
#[test]
fn samplers_that_miss_light_give_a_warning() {
    let folder = SceneFolder::new();
    let text = "
        struct Material { kd: f32 }
        fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return vec3f(m.kd); }
        fn sample(u: vec2f, wo: vec3f, m: Material) -> vec3f {
            let r = sqrt(u.x);
            let phi = 3.14159265 * (u.y - 0.5);
            return vec3f(r * cos(phi), r * sin(phi), sqrt(1.0 - u.x));
        }
        fn pdf(wi: vec3f, wo: vec3f, m: Material) -> f32 {
            return select(0.0, 2.0 * max(wi.z, 0.0) / 3.14159265, wi.x > 0.0);
        }";
    folder.write("half.wgsl", text);
    let material = |name: &str, kd: &str| {
        format!(
            "MakeNamedMaterial \"{name}\" \"string type\" \"shader\" \"string filename\" \
             \"half.wgsl\" {kd}\n"
        )
    };
    let (black, grey) = ("\"float kd\" 0", "\"float kd\" 0.2");
    let checks = r#"Texture "checks" "float" "checkerboard" "float tex1" 0 "float tex2" 0.5
        "float uscale" 5 "float vscale" 7"#;
    let textured = format!("{checks}\n{}", material("a", "\"texture kd\" \"checks\""));
    let is_valid = |loaded: &TestScene| {
        let mut bindings = loaded.scene.shaders.iter();
        let binding = bindings.find(|binding| binding.program.name.ends_with("half.wgsl"));
        binding.unwrap().has_valid_sampler
    };
    let (loaded, warnings) = folder.load(&material("a", black), false).unwrap();
    assert!(warnings.is_empty() && is_valid(&loaded), "{warnings:?}");
    for world in [material("a", black) + &material("b", grey) + &material("c", grey), textured] {
        let (loaded, warnings) = folder.load(&world, false).unwrap();
        let [warning] = &warnings[..] else { panic!("{warnings:?}") };
        for part in ["half.wgsl", "`pdf` is 0", "50.0 %", "bounds on `brdf`"] {
            assert!(warning.contains(part), "{part} missing in {warning}");
        }
        assert!(!is_valid(&loaded));
    }
}

#[test]
fn negative_and_nan_values_give_a_warning() {
    let folder = SceneFolder::new();
    let shader = |value: &str| {
        format!(
            "struct Material {{ kd: f32 }}\nfn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {{ return vec3f({value}); }}"
        )
    };
    let world = r#"
        MakeNamedMaterial "a" "string type" "shader" "string filename" "value.wgsl" "float kd" 0.5
        MakeNamedMaterial "b" "string type" "shader" "string filename" "value.wgsl" "float kd" 0.25
    "#;
    for (value, part) in [("m.kd - 0.75", "s.r is -0."), ("0.5, m.kd, sqrt(-m.kd)", "s.b is NaN")] {
        folder.write("value.wgsl", shader(value));
        let (_, warnings) = folder.load(world, false).unwrap();
        let [warning] = &warnings[..] else { panic!("{warnings:?}") };
        for part in ["scene.pbrt:10:", "value.wgsl", part, "for wi = (", "it is not changed"] {
            assert!(warning.contains(part), "{part} missing in {warning}");
        }
        assert!(folder.load(world, true).err().unwrap().message().contains(part));
    }
    // A black material is valid.
    for value in ["m.kd", "0.0 * m.kd"] {
        folder.write("value.wgsl", shader(value));
        assert_eq!(folder.load(world, true).unwrap().1, [""; 0]);
    }
}

#[test]
fn textures_out_of_range_are_clamped_with_a_warning() {
    let folder = SceneFolder::new();
    let world = r#"Texture "far" "float" "constant" "float value" 7
        Material "shader" "string filename" "all.wgsl" "texture f" "far""#;
    let (scene, warnings) = folder.load(world, false).unwrap();
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    assert!(
        warning.contains("the constant 7 is outside the range of the parameter `f`, 0 to 1"),
        "{warning}"
    );
    assert!(render(&scene, 1).radiance.iter().all(|p| (p[0] - 1.0).abs() < 0.1));
}

#[test]
fn spectra_out_of_range_are_clamped_with_a_warning() {
    let folder = SceneFolder::new();
    let warnings = |value: &str| {
        let world = format!(r#"Material "shader" "string filename" "ward.wgsl" {value}"#);
        folder.load(&world, false).unwrap().1
    };
    assert_eq!(warnings(r#""spectrum kd" [300 1 900 1]"#), [""; 0]);
    let warnings = warnings(r#""spectrum kd" "metal-Cu-k""#);
    assert!(
        warnings.len() == 1 && warnings[0].contains("\"spectrum kd\" is the colour [3.2"),
        "{warnings:?}"
    );
}
