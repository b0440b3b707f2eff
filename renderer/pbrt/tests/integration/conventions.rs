//! Conventions of pbrt-v4: orientation of cameras, textures, environments and normals, and units of
//! lights and films.

use crate::common::{TestScene, render};
use lightbound::Scene;
use lightbound::film::RenderedImage;
use lightbound::light::{AnyLight, Light};
use lightbound::material::{Material, Specular};
use lightbound::texture::Lookup;
use lightbound_image::write::{write_pfm, write_png};
use lightbound_math::{Vec2, Vec3, vec2, vec3};
use lightbound_pbrt::build::{Overrides, load};
use lightbound_pbrt::diagnostics::Diagnostics;
use std::f32::consts::PI;

/// A temporary folder with the images that the scenes use.
struct SceneFolder(tempfile::TempDir);

impl SceneFolder {
    fn new() -> SceneFolder {
        let folder = SceneFolder(tempfile::tempdir().unwrap());
        let file = |name: &str| folder.0.path().join(name);
        // Upper row: red, green; lower row: blue, white.
        let colours = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0; 3]];
        write_png(&file("corners.png"), 2, 2, &colours, 0.0).unwrap();
        write_png(&file("left.png"), 2, 1, &[[1.0; 3], [0.0; 3]], 0.0).unwrap();
        // 1 at the centre, 2 at the right edge, 3 at the lower edge, 4 at the corners, 9 elsewhere.
        let mut environment_map = [[9.0; 3]; 81];
        for (index, value) in
            [(40, 1.0), (44, 2.0), (76, 3.0), (0, 4.0), (8, 4.0), (72, 4.0), (80, 4.0)]
        {
            environment_map[index] = [value; 3];
        }
        write_pfm(&file("sky.pfm"), 9, 9, &environment_map).unwrap();
        folder
    }

    /// Loads a valid scene.
    fn scene(&self, head: &str, world: &str) -> TestScene {
        let file = self.0.path().join("scene.pbrt");
        let text = format!(
            "{head}\nSampler \"zsobol\" \"integer pixelsamples\" 4 PixelFilter \"box\" \"float xradius\" 0.5 \"float yradius\" 0.5\nWorldBegin\n{world}\n"
        );
        std::fs::write(&file, text).unwrap();
        load(&file, &Overrides::default(), &mut Diagnostics::new(true))
            .unwrap_or_else(|e| panic!("{head} | {world}\n{e}"))
            .into()
    }

    /// Loads a scene with default settings.
    fn world(&self, world: &str) -> TestScene {
        self.scene("", world)
    }

    /// Renders the square [−1, 1]² seen from +z in 8 × 8 pixels, with +x to the right and +y up.
    fn render(&self, world: &str) -> RenderedImage {
        render(&self.scene(&format!("{VIEW} Integrator \"path\" \"integer maxdepth\" 1"), world), 1)
    }
}

/// A view from +z onto [−1, 1]². The camera is mirrored, because a left-handed camera that looks
/// along −z has world +x on its left.
const VIEW: &str = r#"Film "rgb" "integer xresolution" 8 "integer yresolution" 8 Scale -1 1 1 LookAt 0 0 5  0 0 0  0 1 0 Camera "orthographic""#;

/// The square [−1, 1]² facing +z. Texture coordinates start at the lower left.
const QUAD: &str = r#"Shape "trianglemesh" "integer indices" [0 1 2 0 2 3] "point3 P" [-1 -1 0  1 -1 0  1 1 0  -1 1 0] "point2 uv" [0 0  1 0  1 1  0 1]"#;

/// Returns the values at the centres of the quadrants: upper left, upper right, lower left, lower
/// right.
fn quadrant_values(values: &[[f32; 3]]) -> [[f32; 3]; 4] {
    [(2, 2), (5, 2), (2, 5), (5, 5)].map(|(x, y)| values[y * 8 + x])
}

fn albedo(image: &RenderedImage) -> [[f32; 3]; 4] {
    quadrant_values(&image.features.as_ref().unwrap().albedo)
}

fn close(a: f32, b: f32) -> bool {
    (a - b).abs() <= 1e-4 * b.abs().max(1e-3)
}

/// Returns the origin and direction of the ray through a raster position.
fn ray(scene: &Scene, x: f32, y: f32) -> (Vec3, Vec3) {
    let ray = scene.camera.ray(vec2(x, y), Vec2::ZERO, 0.0).unwrap().ray;
    (ray.o, ray.d)
}

#[test]
fn cameras_are_left_handed_with_y_up() {
    let folder = SceneFolder::new();
    let film = "Film \"rgb\" \"integer xresolution\" 8 \"integer yresolution\" 8";
    let camera = "Camera \"perspective\" \"float fov\" 90";
    let s = folder.scene(&format!("{film} {camera}"), "");
    assert!(ray(&s, 4.0, 4.0).1.abs_diff_eq(Vec3::Z, 1e-6));
    assert!(ray(&s, 8.0, 4.0).1.abs_diff_eq(vec3(1.0, 0.0, 1.0).normalize(), 1e-6), "right is +x");
    assert!(ray(&s, 4.0, 0.0).1.abs_diff_eq(vec3(0.0, 1.0, 1.0).normalize(), 1e-6), "up is +y");
    // Seen from the other side, +x is to the left.
    let s = folder.scene(&format!("{film} LookAt 1 2 5  1 2 0  0 1 0 {camera}"), "");
    let (o, d) = ray(&s, 8.0, 4.0);
    assert!(
        o.abs_diff_eq(vec3(1.0, 2.0, 5.0), 1e-6)
            && d.abs_diff_eq(vec3(-1.0, 0.0, -1.0).normalize(), 1e-6),
        "{o} {d}"
    );
    // Transforms before the camera are camera-from-world.
    let s = folder.scene(&format!("{film} Translate 0 0 7 Rotate 90 0 0 1 {camera}"), "");
    let (o, d) = ray(&s, 8.0, 4.0);
    assert!(
        o.abs_diff_eq(vec3(0.0, 0.0, -7.0), 1e-5)
            && d.abs_diff_eq(vec3(0.0, -1.0, 1.0).normalize(), 1e-6),
        "{o} {d}"
    );
}

#[test]
fn fov_spans_the_shorter_side() {
    let folder = SceneFolder::new();
    let view = |film: &str, camera: &str| {
        folder.scene(&format!("Film \"rgb\" {film} Camera {camera}"), "")
    };
    let square = "\"integer xresolution\" 8 \"integer yresolution\" 8";
    let tall = "\"integer xresolution\" 8 \"integer yresolution\" 16";
    let slope = |s: &Scene, x: f32, y: f32| {
        let d = ray(s, x, y).1;
        vec2(d.x / d.z, d.y / d.z)
    };
    // The field of view spans the shorter side of the requested frame.
    let s = view(tall, r#""perspective" "float fov" 90"#);
    assert!(slope(&s, 8.0, 0.0).abs_diff_eq(vec2(1.0, 2.0), 1e-5));
    let s = view(square, r#""perspective" "float fov" 90 "float frameaspectratio" 2"#);
    assert!(slope(&s, 8.0, 0.0).abs_diff_eq(vec2(2.0, 1.0), 1e-5));
    let s = view(square, r#""perspective" "float fov" 90 "float screenwindow" [0 1 -0.5 0.25]"#);
    assert!(
        slope(&s, 0.0, 0.0).abs_diff_eq(vec2(0.0, 0.25), 1e-5)
            && slope(&s, 8.0, 8.0).abs_diff_eq(vec2(1.0, -0.5), 1e-5)
    );
    let s = view(square, r#""orthographic" "float screenwindow" [-3 1 0 2]"#);
    assert!(ray(&s, 0.0, 0.0).0.abs_diff_eq(vec3(-3.0, 2.0, 0.0), 1e-5));
}

#[test]
fn crop_renders_the_same_pixels() {
    let folder = SceneFolder::new();
    let world =
        r#"LightSource "infinite" "string filename" "sky.pfm" Shape "sphere" "float radius" 0.8"#;
    let full = folder.render(world);
    for (crop, [x0, x1, y0, y1]) in [
        (r#""float cropwindow" [0.25 0.75 0.5 1]"#, [2, 6, 4, 8]),
        (r#""integer pixelbounds" [1 3 0 5]"#, [1, 3, 0, 5]),
        // A crop window includes the pixels with their upper left corner inside.
        (r#""float cropwindow" [0.3 0.7 0 0.126]"#, [3, 6, 0, 2]),
    ] {
        let head = VIEW.replace("Film \"rgb\"", &format!("Film \"rgb\" {crop}"));
        let cropped = render(
            &folder.scene(&format!("{head} Integrator \"path\" \"integer maxdepth\" 1"), world),
            1,
        );
        let expected = (y0..y1)
            .flat_map(|y| (x0..x1).map(move |x| (x, y)))
            .map(|(x, y)| full.radiance[y * 8 + x]);
        assert_eq!(cropped.radiance, expected.collect::<Vec<_>>(), "{crop}");
    }
}

#[test]
fn images_are_upright() {
    let folder = SceneFolder::new();
    let [red, green, blue, white] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0; 3]];
    let image = |params: &str| {
        let texture = format!(
            "Texture \"t\" \"spectrum\" \"imagemap\" \"string filename\" \"corners.png\" \"string filter\" \"point\" {params}"
        );
        albedo(&folder.render(&format!(
            "{texture} Material \"diffuse\" \"texture reflectance\" \"t\" {QUAD}"
        )))
    };
    assert_eq!(image(""), [red, green, blue, white]);
    assert_eq!(image("\"float uscale\" -1"), [green, red, white, blue]);
    assert_eq!(image("\"float vdelta\" 0.5"), [blue, white, red, green]);
    // s = v1 · p + udelta and t = v2 · p + vdelta.
    let planar =
        "\"string mapping\" \"planar\" \"float udelta\" 0.5 \"float vdelta\" 0.5 \"vector3 v1\"";
    assert_eq!(
        image(&format!("{planar} [0.5 0 0] \"vector3 v2\" [0 0.5 0]")),
        [red, green, blue, white]
    );
    assert_eq!(
        image(&format!("{planar} [0 0.5 0] \"vector3 v2\" [0.5 0 0]")),
        [white, green, blue, red]
    );
    assert_eq!(image("\"bool invert\" true")[0], [0.0, 1.0, 1.0]);
    assert_eq!(image("\"float scale\" 0.25")[3], [0.25; 3]);
    // Textures are mirrored with their shapes.
    let texture = r#"Texture "t" "spectrum" "imagemap" "string filename" "corners.png" "string filter" "point""#;
    let mirrored =
        format!("{texture} Material \"diffuse\" \"texture reflectance\" \"t\" Scale -1 1 1 {QUAD}");
    assert_eq!(albedo(&folder.render(&mirrored)), [green, red, white, blue]);
}

#[test]
fn textures_refer_to_other_textures() {
    let folder = SceneFolder::new();
    let board = r#"Texture "board" "spectrum" "checkerboard" "rgb tex1" [1 0 0] "rgb tex2" [0 0 1] "float uscale" 2 "float vscale" 2"#;
    let shown = |textures: &str, name: &str| {
        albedo(&folder.render(&format!(
            "{board} {textures} Material \"diffuse\" \"texture reflectance\" \"{name}\" {QUAD}"
        )))
    };
    let [a, b] = [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
    assert_eq!(shown("", "board"), [b, a, a, b], "the first texture is at the lower left");
    let left =
        r#"Texture "left" "float" "imagemap" "string filename" "left.png" "string filter" "point""#;
    let scaled = format!(
        r#"{left} Texture "s" "spectrum" "scale" "texture tex" "board" "texture scale" "left""#
    );
    assert_eq!(shown(&scaled, "s"), [b, [0.0; 3], a, [0.0; 3]]);
    let mixed = format!(
        r#"{left} Texture "m" "spectrum" "mix" "texture tex1" "board" "rgb tex2" [0 1 0] "texture amount" "left""#
    );
    assert_eq!(shown(&mixed, "m"), [[0.0, 1.0, 0.0], a, [0.0, 1.0, 0.0], b]);
    // Cells of solid checkerboards are in texture space and move with its transform.
    let solid = |transform: &str| {
        let board = r#""checkerboard" "integer dimension" 3 "rgb tex1" [1 0 0] "rgb tex2" [0 0 1]"#;
        format!("{transform} Texture \"solid\" \"spectrum\" {board} Identity")
    };
    assert_eq!(shown(&solid("Translate 0 0 0.5"), "solid"), [a, b, b, a]);
    assert_eq!(shown(&solid("Translate 1 0 0.5"), "solid"), [b, a, a, b]);
    assert_eq!(shown(&solid("Translate 0 0 0.5 Scale 3 1 1"), "solid"), [a, b, b, a]);
}

#[test]
fn environments_rotate_with_their_transform() {
    let folder = SceneFolder::new();
    for (transform, [z, x, y, back]) in [
        ("", [Vec3::Z, Vec3::X, Vec3::Y, Vec3::NEG_Z]),
        ("Rotate 90 0 1 0", [Vec3::X, Vec3::NEG_Z, Vec3::Y, Vec3::NEG_X]),
        // Exporters write this rotation to convert a y-up image to a z-up world.
        ("Rotate 90 1 0 0", [Vec3::NEG_Y, Vec3::X, Vec3::Z, Vec3::Y]),
        ("Scale -1 1 1", [Vec3::Z, Vec3::NEG_X, Vec3::Y, Vec3::NEG_Z]),
    ] {
        let s = folder.world(&format!(
            "{transform} LightSource \"infinite\" \"string filename\" \"sky.pfm\" \"float scale\" 2"
        ));
        let (_, environment) = s.lights.environments().next().unwrap();
        assert_eq!(
            [z, x, y, back]
                .map(|d| environment.radiance((d + vec3(1e-3, 2e-3, 3e-3)).normalize()).x),
            [2.0, 4.0, 6.0, 8.0],
            "{transform}"
        );
    }
}

/// Writes a map of latitude and longitude whose radiance is 2 plus the direction.
fn write_globe(path: &std::path::Path) {
    let (width, height) = (128, 64);
    let radiance = |i: usize| {
        let phi = 2.0 * PI * ((i % width) as f32 + 0.5) / width as f32;
        let theta = PI * ((i / width) as f32 + 0.5) / height as f32;
        (Vec3::new(theta.sin() * phi.cos(), theta.sin() * phi.sin(), theta.cos()) + 2.0).to_array()
    };
    let texels: Vec<_> = (0..width * height).map(radiance).collect();
    write_pfm(path, width as u32, height as u32, &texels).unwrap();
}

/// Returns the axes of world space whose light is that of +x, +y and +z in the map.
fn axes_of_globe(scene: &Scene) -> [Vec3; 3] {
    let (_, environment) = scene.lights.environments().next().unwrap();
    // Radiance is a linear function of direction: its columns are the images of the axes.
    let columns = [Vec3::X, Vec3::Y, Vec3::Z]
        .map(|axis| 0.5 * (environment.radiance(axis) - environment.radiance(-axis)));
    [0, 1, 2].map(|i| vec3(columns[0][i], columns[1][i], columns[2][i]).round())
}

#[test]
fn maps_of_latitude_and_longitude_have_their_zenith_at_z() {
    let folder = SceneFolder::new();
    write_globe(&folder.0.path().join("globe.pfm"));
    let axes = |transform: &str| {
        let file = folder.0.path().join("globe.pbrt");
        let light = "LightSource \"infinite\" \"string filename\" \"globe.pfm\"";
        std::fs::write(&file, format!("WorldBegin {transform} {light}")).unwrap();
        let mut diagnostics = Diagnostics::new(false);
        let loaded = load(&file, &Overrides::default(), &mut diagnostics).unwrap();
        assert_eq!(diagnostics.warnings().len(), 1);
        axes_of_globe(&loaded.scene)
    };
    assert_eq!(axes(""), [Vec3::X, Vec3::Y, Vec3::Z]);
    assert_eq!(axes("Rotate -90 1 0 0"), [Vec3::X, Vec3::NEG_Z, Vec3::Y]);
}

#[test]
fn negative_texels_of_environments_are_replaced_by_zero() {
    let folder = SceneFolder::new();
    let mean = |(width, height): (usize, usize), texel: f32, scale: &str| {
        let mut texels = vec![[1.0; 3]; width * height];
        texels[width + 1] = [texel; 3];
        let map = folder.0.path().join("map.pfm");
        write_pfm(&map, width as u32, height as u32, &texels).unwrap();
        let file = folder.0.path().join("map.pbrt");
        let light = "LightSource \"infinite\" \"string filename\" \"map.pfm\"";
        std::fs::write(&file, format!("WorldBegin {light} {scale}")).unwrap();
        let loaded = load(&file, &Overrides::default(), &mut Diagnostics::new(false)).unwrap();
        loaded.scene.lights.environments().next().unwrap().1.mean()
    };
    // The equal-area layout, and a map of latitude and longitude, which is resampled.
    for size in [(4, 4), (6, 3)] {
        for scale in ["", "\"float illuminance\" 3"] {
            assert_eq!(mean(size, -0.5, scale), mean(size, 0.0, scale), "{size:?} {scale}");
            assert_ne!(mean(size, 0.5, scale), mean(size, 0.0, scale), "{size:?} {scale}");
        }
    }
}

#[test]
fn environment_override_replaces_infinite_lights() {
    let folder = SceneFolder::new();
    let map = folder.0.path().join("globe.pfm");
    write_globe(&map);
    let scene = |head: &str, world: &str| {
        let file = folder.0.path().join("override.pbrt");
        std::fs::write(&file, format!("{head} WorldBegin {world} LightSource \"point\"")).unwrap();
        let overrides = Overrides { environment: Some(map.clone()), ..Overrides::default() };
        let scene = load(&file, &overrides, &mut Diagnostics::new(true)).unwrap().scene;
        assert_eq!(scene.lights.environments().count(), 1);
        assert_eq!(scene.lights.all().len(), 2);
        scene
    };
    let y_up = [Vec3::X, Vec3::NEG_Z, Vec3::Y];
    let look = |up: &str| format!("LookAt 0 0 0  3 -0.4 0.5  {up} Camera \"perspective\"");
    assert_eq!(axes_of_globe(&scene("", "")), y_up);
    let y_up_scene = scene(&look("0 1 0"), "LightSource \"infinite\"");
    assert_eq!(axes_of_globe(&y_up_scene), y_up);
    assert_eq!(axes_of_globe(&scene(&look("0 0 1"), "")), [Vec3::X, Vec3::Y, Vec3::Z]);
    let down = [Vec3::X, Vec3::NEG_Y, Vec3::NEG_Z];
    assert_eq!(axes_of_globe(&scene(&look("0 0 -1"), "")), down);
    // The transform of the map that is replaced.
    let sky = "AttributeBegin Rotate 90 1 0 0 LightSource \"infinite\" \"string filename\" \"sky.pfm\" AttributeEnd";
    assert_eq!(axes_of_globe(&scene("", sky)), [Vec3::X, Vec3::Z, Vec3::NEG_Y]);
}

#[test]
fn large_lights_may_have_more_power_than_small_ones() {
    // A square metre would be too bright for single precision.
    let lit = |radius: &str| {
        let folder = SceneFolder::new();
        let file = folder.0.path().join("lamp.pbrt");
        let light = "AreaLightSource \"diffuse\" \"float power\" 1e38 \"float scale\" 100";
        let shape = format!("Shape \"disk\" \"float radius\" {radius}");
        std::fs::write(&file, format!("WorldBegin {light} {shape}")).unwrap();
        load(&file, &Overrides::default(), &mut Diagnostics::new(true)).map(|_| ())
    };
    lit("1e10").unwrap_or_else(|e| panic!("{}", e.message()));
    assert!(lit("0.1").unwrap_err().message().contains("too bright"));
}

#[test]
fn area_lights_emit_from_the_front_side() {
    let folder = SceneFolder::new();
    let triangle = r#""trianglemesh" "point3 P" [-1 -1 0  1 -1 0  0 1 0]"#;
    for shape in [
        triangle.to_string(),
        // Normals determine the front side, regardless of winding order.
        format!("{triangle} \"integer indices\" [0 2 1] \"normal N\" [0 0 1  0 0 1  0 0 1]"),
        // The front of subdivision surfaces is clockwise, as in pbrt-v4.
        r#""loopsubdiv" "integer levels" 1 "point3 P" [-1 -1 0  1 -1 0  0 1 0] "integer indices" [0 2 1]"#.to_string(),
        r#""bilinearmesh" "point3 P" [-1 -1 0  1 -1 0  -1 1 0  1 1 0]"#.to_string(),
        r#""disk""#.to_string(),
    ] {
        for (state, front) in [
            ("", 1.0),
            ("ReverseOrientation", -1.0),
            ("Scale -1 1 1", 1.0),
            ("Scale 1 1 -1", -1.0),
            ("ReverseOrientation Scale 1 1 -1", 1.0),
            ("ReverseOrientation Scale 1 -1 1", -1.0),
            ("Rotate 180 0 1 0", -1.0),
            ("ReverseOrientation ReverseOrientation", 1.0),
        ] {
            let world =
                format!("AreaLightSource \"diffuse\" \"rgb L\" [3 3 3] {state} Shape {shape}");
            // Radiance towards the camera and towards surfaces on both sides.
            for side in [1.0, -1.0] {
                let look = format!(
                    "Film \"rgb\" \"integer xresolution\" 1 \"integer yresolution\" 1 LookAt 0.01 0.02 {side}  0.01 0.02 0  0 1 0"
                );
                let s =
                    folder.scene(&format!("{look} Camera \"perspective\" \"float fov\" 1"), &world);
                let expected = if side == front { 3.0 } else { 0.0 };
                assert_eq!(render(&s, 1).radiance[0][0], expected, "seen from {side}: {world}");
                let received = s.lights.all()[0]
                    .sample_li(vec3(0.1, 0.1, side), vec2(0.3, 0.6))
                    .map_or(0.0, |l| l.radiance.x);
                assert_eq!(received, expected, "received at {side}: {world}");
            }
        }
    }
}

#[test]
fn alpha_textures_apply_to_shapes_and_instances() {
    let folder = SceneFolder::new();
    let alpha =
        r#"Texture "a" "float" "imagemap" "string filename" "left.png" "string filter" "point""#;
    let cut =
        QUAD.replace("Shape \"trianglemesh\"", "Shape \"trianglemesh\" \"texture alpha\" \"a\"");
    let hit = |world: String| {
        quadrant_values(
            &folder
                .render(&world)
                .features
                .unwrap()
                .depth
                .iter()
                .map(|&d| [d; 3])
                .collect::<Vec<_>>(),
        )
        .map(|d| d[0] < 10.0)
    };
    assert_eq!(hit(format!("{alpha} {cut}")), [true, false, true, false]);
    assert_eq!(
        hit(format!("{alpha} ObjectBegin \"o\" {cut} ObjectEnd ObjectInstance \"o\"")),
        [true, false, true, false]
    );
    let rotated = format!(
        "{alpha} ObjectBegin \"o\" {cut} ObjectEnd Translate 0 0 1 Rotate 90 0 0 1 ObjectInstance \"o\""
    );
    assert_eq!(
        hit(rotated),
        [false, false, true, true],
        "the left half should rotate to the bottom"
    );
    // A light with alpha 0 is invisible, but emits.
    let invisible_light = r#"AttributeBegin AreaLightSource "diffuse" "rgb L" [9 9 9] Translate 0 0 2 ReverseOrientation Shape "disk" "float alpha" 0 AttributeEnd"#;
    let s = folder.render(&format!("{invisible_light} {QUAD}"));
    assert!(s.radiance.iter().all(|p| p[0] > 0.3 && p[0] < 9.0), "{:?}", s.radiance);
}

#[test]
fn lights_have_pbrt_units() {
    let folder = SceneFolder::new();
    let emission = |world: &str| {
        let s = folder.world(world);
        match &s.lights.all()[0] {
            AnyLight::Environment(environment) => environment.radiance(Vec3::Z),
            AnyLight::Area(area) => area.radiance(Vec3::Z, (Vec2::ZERO, Vec2::ZERO), Vec3::Z),
            light => light.sample_li(Vec3::ZERO, Vec2::ZERO).unwrap().radiance,
        }
        .to_array()
    };
    let assert_emission = |world: &str, expected: [f32; 3]| {
        let actual = emission(world);
        assert!(
            actual.iter().zip(expected).all(|(&a, b)| close(a, b)),
            "{world}: {actual:?}, expected {expected:?}"
        );
    };
    // An environment of radiance L causes an irradiance of π L; a distant light specifies
    // irradiance. Both multiply colour and scale.
    assert_emission(r#"LightSource "infinite" "rgb L" [1 2 3] "float scale" 2"#, [2.0, 4.0, 6.0]);
    assert_emission(
        r#"LightSource "infinite" "rgb L" [1 2 1] "float scale" 2 "float illuminance" 3"#,
        [6.0 / PI, 12.0 / PI, 6.0 / PI],
    );
    assert_emission(r#"LightSource "distant" "rgb L" [1 2 3] "float scale" 2"#, [2.0, 4.0, 6.0]);
    assert_emission(
        r#"LightSource "distant" "rgb L" [1 2 1] "float scale" 2 "float illuminance" 3"#,
        [6.0, 12.0, 6.0],
    );
    // At a distance of 2: I / 4, with I = power / 4π.
    assert_emission(
        r#"LightSource "point" "rgb I" [4 8 4] "point3 from" [0 0 2]"#,
        [1.0, 2.0, 1.0],
    );
    assert_emission(
        r#"LightSource "point" "float power" 10 "rgb I" [1 1 1] "point3 from" [0 0 2]"#,
        [10.0 / (16.0 * PI); 3],
    );
    // Φ = π A L per side. For meshes, `power` is the power of each triangle.
    let light =
        |params: &str, shape: &str| format!("AreaLightSource \"diffuse\" {params} Shape {shape}");
    assert_emission(
        &light(r#""float power" 10"#, r#""sphere" "float radius" 2"#),
        [10.0 / (PI * 16.0 * PI); 3],
    );
    assert_emission(
        &light(
            r#""float power" 10 "float scale" 3 "bool twosided" true"#,
            r#""disk" "float radius" 2"#,
        ),
        [30.0 / (2.0 * PI * 4.0 * PI); 3],
    );
    assert_emission(
        &light(r#""rgb L" [1 2 1] "float power" 10"#, &QUAD[6..]),
        [5.0 / PI, 10.0 / PI, 5.0 / PI],
    );
    // Spectra other than RGB have luminance 1.
    for l in [
        "\"blackbody L\" 2000",
        "\"blackbody L\" 9000",
        "\"spectrum L\" \"stdillum-D65\"",
        "\"spectrum L\" \"stdillum-F5\"",
        "\"spectrum L\" [400 7 700 7]",
    ] {
        let [r, g, b] = emission(&format!("LightSource \"infinite\" {l}"));
        assert!(close(0.2126 * r + 0.7152 * g + 0.0722 * b, 1.0), "{l}: {r} {g} {b}");
    }
}

#[test]
fn film_gain_depends_on_iso_and_shutter() {
    let folder = SceneFolder::new();
    let gain = |film: &str, camera: &str| {
        folder
            .scene(&format!("Film \"rgb\" {film} Camera \"perspective\" {camera}"), "")
            .settings
            .gain
    };
    assert_eq!(gain("", ""), 1.0);
    assert_eq!(gain("\"float iso\" 400", ""), 4.0);
    assert_eq!(gain("\"float iso\" 50", "\"float shutteropen\" 1 \"float shutterclose\" 3"), 1.0);
    let bright = folder.render("LightSource \"infinite\" \"rgb L\" [2 2 2]").radiance[0][0];
    let head = VIEW.replace("Film \"rgb\"", "Film \"rgb\" \"float iso\" 25");
    let dark = render(&folder.scene(&head, "LightSource \"infinite\" \"rgb L\" [2 2 2]"), 1)
        .radiance[0][0];
    assert!(close(bright, 2.0) && close(dark, 0.5), "{bright} {dark}");
}

/// Returns the values of a shader parameter of the last material.
fn parameter(scene: &Scene, name: &str, lookup: &Lookup) -> Vec<f32> {
    let Some(Material::Surface { specular: None, scattering: Some(instance), .. }) =
        scene.materials.last()
    else {
        panic!("the last material is not a shader: {:?}", scene.materials)
    };
    let words = instance.words(lookup);
    let parameters = &scene.shaders[instance.shader as usize].program.settable;
    let index =
        parameters.iter().position(|p| p.name == name).expect("the shader has the parameter");
    let first = parameters[..index].iter().map(|p| p.size).sum::<usize>();
    words[first..][..parameters[index].size].iter().map(|&bits| f32::from_bits(bits)).collect()
}

#[test]
fn materials_accept_spectra_and_textures() {
    let folder = SceneFolder::new();
    let scene = |text: &str| folder.world(&format!("{text} Shape \"sphere\""));
    let at = |u: f32| Lookup::at_point(Vec3::ZERO, Vec3::Z, vec2(u, 0.5));
    let specular = |text: &str| match scene(text).materials.pop() {
        Some(Material::Surface { specular: Some(specular), scattering: None, .. }) => specular,
        other => panic!("{text}: {other:?}"),
    };
    let eta = |text: &str| match specular(text) {
        Specular::Dielectric { eta } | Specular::ThinDielectric { eta } => eta,
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(eta(r#"Material "dielectric""#), 1.5);
    assert_eq!(eta(r#"Material "thindielectric" "float eta" 1.3"#), 1.3);
    match specular(r#"Material "dielectric" "spectrum eta" "glass-BK7""#) {
        Specular::Dispersive { eta } => assert!((eta.at(587.56) - 1.5168).abs() < 1e-4),
        other => panic!("{other:?}"),
    }
    assert_eq!(eta(r#"Material "dielectric" "spectrum eta" [400 1.4 700 1.4]"#), 1.4);
    let pane = eta(r#"Material "thindielectric" "spectrum eta" "glass-BK7""#);
    assert!((pane - 1.5168).abs() < 1e-4);
    assert!(
        (eta(r#"Material "thindielectric" "spectrum eta" [487.56 2 687.56 1]"#) - 1.5).abs() < 1e-4
    );
    let frosted = scene(r#"Material "dielectric" "float eta" 1.3 "float roughness" 0.25"#);
    assert_eq!(
        ["eta", "alpha_x", "alpha_y"].map(|name| parameter(&frosted, name, &at(0.0))),
        [[1.3], [0.5], [0.5]]
    );
    // Smooth and rough metals have the same index of refraction.
    let metal = |text: &str| match specular(text) {
        Specular::Conductor(metal) => {
            let rough = scene(&format!("{text} \"float roughness\" 0.5"));
            let excess = metal.excess.rgb(&at(0.0)).to_array();
            assert_eq!(parameter(&rough, "excess", &at(0.0)), excess, "{text}");
            let eta_k = [metal.eta, metal.k].map(|param| param.rgb(&at(0.0)));
            assert_eq!(
                ["eta", "k"].map(|name| parameter(&rough, name, &at(0.0))),
                eta_k.map(|x| x.to_array()),
                "{text}"
            );
            eta_k
        }
        other => panic!("{text}: {other:?}"),
    };
    let copper =
        metal(r#"Material "conductor" "spectrum eta" "metal-Cu-eta" "spectrum k" "metal-Cu-k""#);
    assert_eq!(metal(r#"Material "conductor""#), copper);
    let [eta, k] =
        metal(r#"Material "conductor" "spectrum eta" "metal-Au-eta" "spectrum k" "metal-Au-k""#);
    assert!(eta.x < 0.3 && eta.z > 1.0 && k.x > 2.5, "expected gold to absorb blue: {eta} {k}");
    assert_eq!(
        metal(r#"Material "conductor" "rgb eta" [1 2 3] "rgb k" [4 5 6]"#),
        [vec3(1.0, 2.0, 3.0), vec3(4.0, 5.0, 6.0)]
    );
    // η = 1 and k = 2 √(r / (1 − r)) reflect r.
    assert_eq!(
        metal(r#"Material "conductor" "rgb reflectance" [0.5 0.2 0]"#),
        [Vec3::ONE, vec3(2.0, 1.0, 0.0)]
    );
    // α is the square root of the roughness, or the roughness itself.
    let roughness = |text: &str| {
        let scene = scene(text);
        [0.2, 0.8].map(|u| ["alpha_x", "alpha_y"].map(|name| parameter(&scene, name, &at(u))[0]))
    };
    let texture = r#"Texture "r" "float" "imagemap" "string filename" "left.png" "float scale" 0.25 "string filter" "point""#;
    // Where the texture is 0, α is the minimum of the shader's range.
    assert_eq!(
        roughness(&format!("{texture} Material \"conductor\" \"texture roughness\" \"r\"")),
        [[0.5; 2], [1e-4; 2]]
    );
    let two = format!(
        "{texture} Material \"conductor\" \"float uroughness\" 0.3 \"texture vroughness\" \"r\" \"bool remaproughness\" false"
    );
    assert_eq!(roughness(&two), [[0.3, 0.25], [0.3, 1e-4]]);
    let one = "Material \"conductor\" \"float roughness\" 0.25 \"float vroughness\" 0.5";
    assert_eq!(roughness(one), [[0.5, 0.5f32.sqrt()]; 2]);
}

#[test]
fn gbuffers_are_in_camera_space_by_default() {
    let folder = SceneFolder::new();
    let features = |film: &str| {
        let head = format!(
            "Film {film} \"integer xresolution\" 8 \"integer yresolution\" 8 \
             LookAt 3 4 5  8 4 5  0 1 0 Camera \"perspective\" Integrator \"path\""
        );
        let wall = "LightSource \"infinite\" \
                    Shape \"bilinearmesh\" \"point3 P\" [8 -9 -9  8 -9 19  8 19 -9  8 19 19]";
        render(&folder.scene(&head, wall), 1).features.unwrap()
    };
    // The camera looks along +x, with −z to its right. The pixel is at the upper right.
    let pixel = 8 + 7;
    let camera = features("\"gbuffer\"");
    let [x, y, z] = camera.position[pixel];
    assert!(x > 0.5 && y > 0.5 && close(z, 5.0), "{x} {y} {z}");
    assert!(close(camera.depth[pixel], 5.0));
    for normal in [camera.normal[pixel], camera.geometric_normal[pixel]] {
        assert!(close(normal[2].abs(), 1.0), "{normal:?}");
    }
    for film in ["\"gbuffer\" \"string coordinatesystem\" \"world\"", "\"rgb\""] {
        let world = features(film);
        let expected = [8.0, 4.0 + y, 5.0 - x];
        assert!((0..3).all(|i| close(world.position[pixel][i], expected[i])), "{film}");
        assert!(close(world.normal[pixel][0].abs(), 1.0), "{film}");
    }
}
