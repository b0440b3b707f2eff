//! `lightbound shader preview`: exit codes, messages and images.

use assert_cmd::Command;
use lightbound_image::Encoding;
use lightbound_image::read::read;
use lightbound_image::write::write_png;
use predicates::prelude::*;
use predicates::str::contains;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// A shader with parameters of several types.
const SHADER: &str = "\
override rounds: u32 = 1;

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Strength. range: [0, 1], default: 1
    strength: f32,
    /// default: false
    inverted: bool,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let kd = select(m.kd, 1.0 - m.kd, m.inverted);
    return kd * (m.strength * f32(rounds) / 3.14159265);
}
";

/// A temporary folder with the shader, `a.wgsl`.
struct ShaderDir {
    folder: TempDir,
}

impl ShaderDir {
    fn new() -> ShaderDir {
        let dir = ShaderDir { folder: tempfile::tempdir().unwrap() };
        dir.write("a.wgsl", SHADER);
        dir
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// `lightbound shader preview ARGS`, small and fast, in the folder.
    fn preview(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lightbound"));
        command.args(["shader", "preview", "--size", "24", "--spp", "4"]).args(args);
        command.current_dir(self.folder.path()).timeout(Duration::from_secs(60));
        command
    }

    /// Renders a preview and returns its image.
    fn image(&self, args: &[&str]) -> Image {
        self.preview(args).args(["-o", "image.pfm"]).assert().success();
        Image::read(&self.path("image.pfm"))
    }
}

/// An image in linear RGB.
#[derive(Debug, PartialEq)]
struct Image {
    size: (u32, u32),
    pixels: Vec<[f32; 3]>,
}

impl Image {
    fn read(file: &Path) -> Image {
        let image = read(file, Encoding::Srgb).unwrap();
        let size = (image.width(), image.height());
        Image { size, pixels: image.pixels().map(|pixel| pixel.to_array()).collect() }
    }

    /// Mean colour of the middle of the ball.
    fn ball(&self) -> [f32; 3] {
        let (width, height) = (self.size.0 as usize, self.size.1 as usize);
        let (columns, rows) = (width * 2 / 10..width * 4 / 10, height * 4 / 10..height * 6 / 10);
        let pixels: Vec<_> = rows
            .flat_map(|y| columns.clone().map(move |x| y * width + x))
            .map(|i| self.pixels[i])
            .collect();
        [0, 1, 2].map(|c| pixels.iter().map(|pixel| pixel[c]).sum::<f32>() / pixels.len() as f32)
    }
}

#[test]
fn help_has_examples() {
    let dir = ShaderDir::new();
    let help = dir.preview(&["--help"]).assert().success();
    help.stdout(
        contains("Examples")
            .and(contains("--set"))
            .and(contains("--texture"))
            .and(contains("[default: 32]")),
    );
}

#[test]
fn default_output_is_named_after_the_shader() {
    let dir = ShaderDir::new();
    dir.preview(&["a.wgsl"])
        .assert()
        .success()
        .stderr(contains("a.png: 24 × 24 pixels, 4 samples per pixel"));
    let image = Image::read(&dir.path("a.png"));
    assert_eq!(image.size, (24, 24));
    let [r, g, b] = image.ball();
    assert!(r > 0.05 && g > 0.05 && b > 0.05 && r < 1.0, "{r} {g} {b}");
}

#[test]
fn library_shaders_need_no_extension() {
    let dir = ShaderDir::new();
    dir.preview(&["ward", "--quiet"]).assert().success().stderr("");
    assert!(Image::read(&dir.path("ward.png")).ball()[0] > 0.05);
    dir.preview(&["wrad.wgsl"]).assert().code(2).stderr(contains("did you mean \"ward.wgsl\"?"));
}

#[test]
fn shader_is_read_from_stdin() {
    let dir = ShaderDir::new();
    dir.preview(&["-"]).write_stdin(SHADER).assert().success();
    assert!(
        Image::read(&dir.path("preview.png")) == {
            dir.preview(&["a.wgsl", "-o", "a.png"]).assert().success();
            Image::read(&dir.path("a.png"))
        }
    );
}

#[test]
fn parameter_values_change_the_image() {
    let dir = ShaderDir::new();
    let plain = dir.image(&["a.wgsl"]);
    assert_eq!(plain, dir.image(&["a.wgsl", "--threads", "1", "--target", "interpreter"]));
    let [r, _, b] = dir.image(&["a.wgsl", "--set", "kd=0.8,0.4,0.05"]).ball();
    assert!(r > 3.0 * b, "{r} {b}");
    let [r, _, b] =
        dir.image(&["a.wgsl", "--set", "kd=0.8,0.4,0.05", "--set", "inverted=true"]).ball();
    assert!(b > 2.0 * r, "{r} {b}");
    assert!(dir.image(&["a.wgsl", "--set", "rounds=0"]).ball()[0] < 1e-3);
}

#[test]
fn images_replace_values() {
    let dir = ShaderDir::new();
    write_png(&dir.path("red.png"), 2, 1, &[[0.8, 0.0, 0.0]; 2], 0.0).unwrap();
    let [r, g, _] = dir.image(&["a.wgsl", "--texture", "kd=red.png"]).ball();
    assert!(r > 5.0 * g && g < 0.02, "{r} {g}");
    dir.preview(&["a.wgsl", "--texture", "ks=red.png"])
        .assert()
        .code(2)
        .stderr(contains("no parameter or texture `ks`"));
    dir.preview(&["a.wgsl", "--texture", "kd=gone.png"])
        .assert()
        .code(2)
        .stderr(contains("--texture kd=gone.png: "));
    dir.write("text.png", "not an image");
    dir.preview(&["a.wgsl", "--texture", "kd=text.png"])
        .assert()
        .code(2)
        .stderr(contains("--texture kd=text.png: "));
    // Warnings do not show the generated scene either.
    dir.write("negative.wgsl", &SHADER.replace("return kd", "return -kd"));
    let warned = dir.preview(&["negative.wgsl"]).assert().success();
    warned.stderr(contains("warning: negative.wgsl: ").and(contains("preview:").not()));
    dir.preview(&["a.wgsl", "--texture", "kd"]).assert().code(2);
}

/// The mean of the middle of an image.
fn middle(image: &Image) -> f32 {
    let at = |x: u32, y: u32| image.pixels[(y * image.size.0 + x) as usize][1];
    (10..14).flat_map(|x| (10..14).map(move |y| at(x, y))).sum::<f32>() / 16.0
}

#[test]
fn fields_are_implicit_surfaces_in_their_box() {
    let dir = ShaderDir::new();
    let field = "struct Params { /** default: 0.9 */ radius: f32 }
        fn field(p: vec3f, m: Params) -> f32 { return length(p) - m.radius; }";
    dir.write("field.wgsl", field);
    let box_of_ball = ["field.wgsl", "--p", "-1..1,-1..1,-1..1"];
    let ball = dir.image(&box_of_ball);
    let empty = dir.image(&[&box_of_ball[..], &["--set", "radius=3"]].concat());
    assert!((middle(&ball) - middle(&empty)).abs() > 0.02, "{ball:?} {empty:?}");
    // By default, the unit cube, which has an eighth of the ball.
    assert_ne!(dir.image(&["field.wgsl"]), ball);
    dir.preview(&["a.wgsl", "--p", "-1..1,-1..1,-1..1"])
        .assert()
        .code(2)
        .stderr(contains("--p applies only to densities and fields"));
}

#[test]
fn displacements_move_a_sphere() {
    let dir = ShaderDir::new();
    let displace =
        |body: &str| format!("fn displace(uv: vec2f, p: vec3f, n: vec3f) -> f32 {{\n{body} }}");
    dir.write("dents.wgsl", &displace("return 0.1 * sin(20.0 * uv.x) * sin(9.0 * p.z);"));
    dir.write("flat.wgsl", &displace("return -0.5;"));
    dir.preview(&["dents.wgsl", "-q"]).assert().success().stderr("");
    let [dents, flat] = ["dents.wgsl", "flat.wgsl"].map(|file| dir.image(&[file]));
    assert_ne!(dents, flat);
    // A mesh with long edges, whose vertices inside are first computed where rays meet it.
    let coarse = r#"LookAt 0 0 5  0 0 0  0 1 0
        Camera "perspective" "float fov" 30
        Film "rgb" "integer xresolution" 32 "integer yresolution" 32
        WorldBegin
        LightSource "infinite"
        Shape "trianglemesh" "point3 P" [-1 -1 0 1 -1 0 0 1 0] "integer indices" [0 1 2]
          "string displacement" "hole.wgsl" "float edgelength" 0.01"#;
    dir.write("coarse.pbrt", coarse);
    dir.write("hole.wgsl", &displace("return select(0.1, sqrt(-p.x), p.x > 0.21 && p.x < 0.24);"));
    let mut render = Command::new(env!("CARGO_BIN_EXE_lightbound"));
    render.args(["render", "coarse.pbrt", "-o", "coarse.png", "--spp", "4"]);
    let warned = render.current_dir(dir.folder.path()).assert().success();
    warned.stderr(
        contains("warning: the displacement hole.wgsl at (0.2")
            .and(contains("is not finite; its triangles are missing"))
            .and(contains("hole.wgsl").count(1)),
    );
    dir.write(
        "loop.wgsl",
        &displace("var x = 0.0; loop { x += 0.1; if p.z < 0.2 { break; } }\nreturn 0.1;"),
    );
    dir.preview(&["loop.wgsl"])
        .assert()
        .success()
        .stderr(contains("a loop in the displacement loop.wgsl:2 did not terminate"));
}

#[test]
fn texture_coordinates_follow_the_surface_unless_they_are_set() {
    let dir = ShaderDir::new();
    let shader = "struct Material {
            /// default: 0.5
            uv: vec2f,
        }
        fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return vec3f(m.uv, 0.0) / 3.14159265; }";
    dir.write("uv.wgsl", shader);
    // The increase of red / green from the left to the right of the ball. It is that of u / v,
    // apart from the colours of the lights, which are less red at the right.
    let growth = |image: Image| {
        let [left, right] = [4, 11].map(|column| {
            let [r, g, _] = image.pixels[11 * image.size.0 as usize + column];
            r / g
        });
        right / left
    };
    let on_surface = growth(dir.image(&["uv.wgsl"]));
    assert!(on_surface > 1.15, "{on_surface}");
    for set in ["uv=0.5", "uv.x=0.5"] {
        let constant = growth(dir.image(&["uv.wgsl", "--set", set]));
        assert!(constant < 0.9, "{constant}");
    }
    // Other parameters keep their values.
    let with = |c: &str| dir.image(&["fractal", "--set", c]);
    assert_ne!(with("c=0.3"), with("c=-0.4,0.6"));
    assert_ne!(dir.image(&["fractal"]), dir.image(&["fractal", "--set", "uv=0.5"]));
}

#[test]
fn shaders_read_images() {
    let dir = ShaderDir::new();
    let shader = "var wood: texture_2d<f32>;
        var wood_sampler: sampler;
        struct Material { kd: vec3f }
        fn material(p: SurfacePoint) -> Material { return Material(textureSample(wood, wood_sampler, p.uv).rgb); }
        fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return m.kd / 3.14159265; }";
    dir.write("b.wgsl", shader);
    write_png(&dir.path("green.png"), 1, 1, &[[0.0, 0.8, 0.0]], 0.0).unwrap();
    let [r, g, _] = dir.image(&["b.wgsl", "--texture", "wood=green.png"]).ball();
    assert!(g > 5.0 * r && r < 0.02, "{r} {g}");
    dir.preview(&["b.wgsl"])
        .assert()
        .code(2)
        .stderr(contains("`wood` has no image").and(contains("--texture wood=FILE")));
}

#[test]
fn invalid_values_are_errors() {
    let dir = ShaderDir::new();
    for (set, message) in [
        ("kd=2", "`kd`: 2 is out of range"),
        ("kd=2", "`kd` takes numbers in [0, 1]"),
        ("kd=red", "`kd`: `red` is not a number"),
        ("kd=1,2", "`kd` takes 3 numbers, not 2"),
        ("kt=1", "the shader has no parameter `kt`"),
        ("rounds=-1", "is not an unsigned 32-bit integer"),
    ] {
        dir.preview(&["a.wgsl", "--set", set]).assert().code(2).stderr(contains(message));
    }
    dir.write(
        "b.wgsl",
        "struct Material { x: f32 } fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return vec3f(m.x); }",
    );
    dir.preview(&["b.wgsl"])
        .assert()
        .code(2)
        .stderr(contains("`x` has no value").and(contains("--set x=…")));
    dir.preview(&["b.wgsl", "--set", "x=0.1"]).assert().success();
}

#[test]
fn errors_show_the_source_line() {
    let dir = ShaderDir::new();
    dir.write(
        "bad.wgsl",
        "fn brdf(wi: vec3f, wo: vec3f) -> vec3f {\n    return vec3f(lightness);\n}\n",
    );
    let excerpt = contains("bad.wgsl:2").and(contains("return vec3f(lightness);"));
    dir.preview(&["bad.wgsl"]).assert().code(2).stderr(excerpt);
    assert!(!dir.path("bad.png").exists());
}

#[test]
fn input_files_are_not_overwritten() {
    let dir = ShaderDir::new();
    write_png(&dir.path("a.png"), 2, 1, &[[0.5; 3]; 2], 0.0).unwrap();
    let before = std::fs::read(dir.path("a.png")).unwrap();
    dir.preview(&["a.wgsl", "--texture", "kd=a.png"])
        .assert()
        .code(2)
        .stderr(contains("would overwrite"));
    assert_eq!(std::fs::read(dir.path("a.png")).unwrap(), before);
    dir.preview(&["a.wgsl", "-o", "a.wgsl"]).assert().code(2);
    assert_eq!(std::fs::read_to_string(dir.path("a.wgsl")).unwrap(), SHADER);
    dir.preview(&["a.wgsl", "-o", "no/such.png"]).assert().code(2).stderr(contains("no folder"));
}
