//! Attributes of vertices: colours, opacities, further texture coordinates, and tangents.

use crate::common::{assert_images_agree, load_scene, pfm, render};
use lightbound::Scene;
use lightbound::film::RenderedImage;
use lightbound::geometry::Hit;
use lightbound_math::{Ray, Vec3};
use lightbound_pbrt::build::{Overrides, load};
use lightbound_pbrt::diagnostics::Diagnostics;

/// A square from (−1, −1) to (1, 1), seen from above, in the light of a white environment. Its
/// pixels are its albedo.
fn scene_text(head: &str, world: &str) -> String {
    format!(
        r#"
        Scale -1 1 1
        LookAt 0 0 5  0 0 0  0 1 0
        Camera "orthographic" "float screenwindow" [-1 1 -1 1]
        Film "rgb" "integer xresolution" 4 "integer yresolution" 4
        PixelFilter "box" "float xradius" 0.5 "float yradius" 0.5
        Sampler "zsobol" "integer pixelsamples" 256
        {head}
        WorldBegin
        LightSource "infinite"
        Texture "tint" "spectrum" "attribute" "string attribute" "color"
        {world}
        "#
    )
}

const PATH: &str = r#"Integrator "path" "integer maxdepth" 1"#;

/// Colours (x, y, ½) of x and y from 0 to 1 over the square.
const COLOURS: &str = r#""rgb vertex_color" [0 0 0.5  1 0 0.5  1 1 0.5  0 1 0.5]"#;

const SQUARE: &str = r#"Shape "trianglemesh" "point3 P" [-1 -1 0  1 -1 0  1 1 0  -1 1 0]
    "integer indices" [0 1 2 0 2 3]"#;

const TINTED: &str = r#"Material "diffuse" "texture reflectance" "tint""#;

/// Asserts that pixels have the colours (x, y, ½) with a factor.
fn assert_gradient(image: &RenderedImage, factor: f32, label: &str) {
    for (k, pixel) in image.radiance.iter().enumerate() {
        let (x, y) = ((k % 4) as f32, (k / 4) as f32);
        let expected = [(x + 0.5) / 4.0, 1.0 - (y + 0.5) / 4.0, 0.5].map(|c| factor * c);
        for (found, expected) in pixel.iter().zip(expected) {
            assert!((found - expected).abs() < 0.02, "{label}: pixel {k} is {pixel:?}");
        }
    }
}

fn assert_shows_gradient(head: &str, world: &str, files: &[(&str, Vec<u8>)]) {
    let scene = load_scene(&scene_text(head, world), files, &Overrides::default());
    assert_gradient(&render(&scene, 1), 1.0, world);
}

/// A square as a PLY file, a quadrilateral, with properties of vertices.
fn ply(properties: &[&str], values: [&str; 4]) -> Vec<u8> {
    let declared: String = properties.iter().map(|p| format!("property {p}\n")).collect();
    let corners = ["-1 -1 0", "1 -1 0", "1 1 0", "-1 1 0"];
    let vertices: String =
        corners.iter().zip(values).map(|(p, rest)| format!("{p} {rest}\n")).collect();
    format!(
        "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\n\
         property float z\n{declared}element face 1\nproperty list uchar int vertex_indices\n\
         end_header\n{vertices}4 0 1 2 3\n"
    )
    .into()
}

const PLY: &str = r#"Shape "plymesh" "string filename" "square.ply""#;

#[test]
fn colours_of_vertices_are_interpolated_by_all_integrators() {
    for integrator in [
        PATH,
        r#"Integrator "path" "integer maxdepth" 1 "string lightsampling" "tree"
           "string bsdfsampling" "bounds""#,
        r#"Integrator "lightcuts" "integer maxdepth" 1 "float error" 0.001 "integer maxcut" 2000"#,
        r#"Integrator "lightcuts" "integer maxdepth" 1 "float error" 0.001 "integer maxcut" 2000
           "integer gather" 4"#,
        r#"Integrator "lightcuts" "integer maxdepth" 3 "float error" 0.001 "integer maxcut" 2000
           "integer lightpaths" 100"#,
        r#"Integrator "lightcuts" "integer maxdepth" 1 "string mode" "stochastic"
           "integer cutsize" 64"#,
    ] {
        assert_shows_gradient(integrator, &format!("{TINTED} {SQUARE} {COLOURS}"), &[]);
    }
}

#[test]
fn attributes_work_in_instances_and_on_moving_vertices() {
    let square = format!("{TINTED} {SQUARE} {COLOURS}");
    let instance = format!(
        r#"ObjectBegin "o" Scale 0.5 0.5 1 {square} ObjectEnd Scale 2 2 1 ObjectInstance "o""#
    );
    assert_shows_gradient(PATH, &instance, &[]);
    let moving = format!(r#"{square} "point3 P1" [-1 -1 0.5  1 -1 0.5  1 1 0.5  -1 1 0.5]"#);
    assert_shows_gradient(PATH, &moving, &[]);
    let moving_instance =
        format!(r#"ActiveTransform EndTime Translate 0 0 0.5 ActiveTransform All {square}"#);
    assert_shows_gradient(PATH, &moving_instance, &[]);
}

#[test]
fn attributes_of_ply_files_are_those_of_their_properties() {
    let world = format!("{TINTED} {PLY}");
    let floats = ply(
        &["float red", "float green", "float blue"],
        ["0 0 0.5", "1 0 0.5", "1 1 0.5", "0 1 0.5"],
    );
    assert_shows_gradient(PATH, &world, &[("square.ply", floats)]);
    // 188 is 0.5 in sRGB.
    let codes = ply(
        &["uchar red", "uchar green", "uchar blue"],
        ["0 0 188", "255 0 188", "255 255 188", "0 255 188"],
    );
    assert_shows_gradient(PATH, &world, &[("square.ply", codes)]);
}

#[test]
fn images_have_a_second_set_of_texture_coordinates() {
    // An image of the colours (x, y, ½) at the coordinates of vertices, which are turned: the
    // surface's own texture coordinates are not used.
    let image = || {
        let side = 64;
        let at = |i: usize| (i as f32 + 0.5) / side as f32;
        ("map.pfm", pfm(side, move |x, y| [at(x), 1.0 - at(y), 0.5]))
    };
    let texture = |more: &str| {
        format!(
            r#"Texture "map" "spectrum" "imagemap" "string filename" "map.pfm"
               "string encoding" "linear" "string mapping" "attribute" "string attribute" "uv1" {more}
               Material "diffuse" "texture reflectance" "map""#
        )
    };
    let uv = r#""point2 uv" [0 1  0 0  1 0  1 1] "point2 vertex_uv1" [0 0  1 0  1 1  0 1]"#;
    assert_shows_gradient(PATH, &format!("{} {SQUARE} {uv}", texture("")), &[image()]);
    // Filters over the footprint of a pixel average the same texels as with own coordinates.
    for filter in ["trilinear", "ewa"] {
        let map = texture(&format!(r#""string filter" "{filter}""#));
        let own = map.replace(r#""attribute" "string attribute" "uv1""#, r#""uv""#);
        let own_uv = r#""point2 uv" [0 0  1 0  1 1  0 1]"#;
        let [a, b] =
            [format!("{map} {SQUARE} {uv}"), format!("{own} {SQUARE} {own_uv}")].map(|w| {
                let scene = load_scene(&scene_text(PATH, &w), &[image()], &Overrides::default());
                render(&scene, 1).radiance
            });
        for (a, b) in a.as_flattened().iter().zip(b.as_flattened()) {
            assert!((a - b).abs() < 2e-3, "{filter}: {a} {b}");
        }
    }
    let half = texture(r#""float uscale" 2 "float udelta" -0.5"#);
    let scaled = r#""point2 vertex_uv1" [0.25 0  0.75 0  0.75 1  0.25 1]"#;
    assert_shows_gradient(PATH, &format!("{half} {SQUARE} {scaled}"), &[image()]);
    let file = ply(&["float u1", "float v1"], ["0 0", "1 0", "1 1", "0 1"]);
    let world = format!("{} {PLY}", texture(""));
    assert_shows_gradient(PATH, &world, &[image(), ("square.ply", file)]);
}

#[test]
fn attributes_are_opacities_and_factors() {
    let opacity = r#"Texture "hole" "float" "attribute" "string attribute" "alpha"
        Texture "half" "float" "scale" "texture tex" "hole" "float scale" 0.5"#;
    // Behind the square is black.
    let black = r#"AttributeBegin Material "diffuse" "rgb reflectance" [0 0 0] Translate 0 0 -1
        Scale 4 4 1 "#
        .to_string()
        + SQUARE
        + " AttributeEnd";
    for accel in [lightbound::accel::AccelKind::Builtin, lightbound::accel::AccelKind::Auto] {
        let world = format!(
            r#"{opacity} {black} {TINTED} {SQUARE} {COLOURS} "texture alpha" "half"
               "float vertex_alpha" [1 1 1 1]"#
        );
        let overrides = Overrides { accel, ..Overrides::default() };
        let overrides = Overrides { spp: Some(4096), ..overrides };
        let scene = load_scene(&scene_text(PATH, &world), &[], &overrides);
        assert_gradient(&render(&scene, 1), 0.5, "opacity");
    }
    let product = format!(
        r#"Texture "weight" "float" "attribute" "string attribute" "weight"
           Texture "product" "spectrum" "scale" "texture tex" "tint" "texture scale" "weight"
           Material "diffuse" "texture reflectance" "product" {SQUARE} {COLOURS}
           "float vertex_weight" [0.25 0.25 0.25 0.25]"#
    );
    let scene = load_scene(&scene_text(PATH, &product), &[], &Overrides::default());
    assert_gradient(&render(&scene, 1), 0.25, "product");
}

#[test]
fn lights_emit_in_proportion_to_opacities_of_vertices() {
    let image = |alpha: &str, is_instance: bool| {
        let [begin, end] = match is_instance {
            true => [r#"ObjectBegin "o""#, r#"ObjectEnd ObjectInstance "o""#],
            false => ["", ""],
        };
        let world = format!(
            r#"Texture "ramp" "float" "imagemap" "string filename" "ramp.pfm"
                 "string encoding" "linear" "string wrap" "clamp"
               Texture "alpha" "float" "attribute" "string attribute" "alpha"
               Material "diffuse" {SQUARE}
               AttributeBegin {begin} Translate 0 0 0.5 Scale 0.5 0.5 1
               AreaLightSource "diffuse" "rgb L" [5 5 5] "bool twosided" true
               {SQUARE} "point2 uv" [0 0  1 0  1 1  0 1] "float vertex_alpha" [0 1 1 0]
                 "texture alpha" "{alpha}" {end} AttributeEnd"#
        );
        let files = [("ramp.pfm", pfm(64, |x, _| [(x as f32 + 0.5) / 64.0; 3]))];
        let overrides = Overrides { spp: Some(2048), ..Overrides::default() };
        let head = r#"Integrator "path" "integer maxdepth" 2 "string lightsampling" "tree""#;
        render(&load_scene(&scene_text(head, &world), &files, &overrides), 1)
    };
    for is_instance in [false, true] {
        let [a, b] = ["ramp", "alpha"].map(|alpha| image(alpha, is_instance));
        assert_images_agree(&a, &b, 0.02, "opacity of a lamp");
    }
}

#[test]
fn colours_of_emitting_vertices_are_seen_by_all_integrators() {
    let light = r#"Material "diffuse" "rgb reflectance" [0 0 0]
        AreaLightSource "diffuse" "rgb L" [1 1 1] "string attribute" "color" "bool twosided" true"#;
    let square = format!("{light} {SQUARE} {COLOURS}");
    for integrator in [
        PATH,
        r#"Integrator "lightcuts" "integer maxdepth" 1"#,
        r#"Integrator "lightcuts" "integer maxdepth" 1 "string mode" "stochastic""#,
    ] {
        assert_shows_gradient(integrator, &square, &[]);
    }
    let instance = format!(
        r#"ObjectBegin "o" Scale 0.5 0.5 1 {square} ObjectEnd Scale 2 2 1 ObjectInstance "o""#
    );
    assert_shows_gradient(PATH, &instance, &[]);
    let moving = format!(r#"{square} "point3 P1" [-1 -1 0.5  1 -1 0.5  1 1 0.5  -1 1 0.5]"#);
    assert_shows_gradient(PATH, &moving, &[]);
    let properties = ["float red", "float green", "float blue"];
    let file = ply(&properties, ["0 0 0.5", "1 0 0.5", "1 1 0.5", "0 1 0.5"]);
    assert_shows_gradient(PATH, &format!("{light} {PLY}"), &[("square.ply", file)]);
}

#[test]
fn shapes_without_the_attribute_have_the_default() {
    let default = r#"Texture "grey" "spectrum" "attribute" "string attribute" "color"
        "rgb default" [0.25 0.5 0.75] Material "diffuse" "texture reflectance" "grey""#;
    for shape in [SQUARE, r#"Shape "disk" "float radius" 3"#] {
        let world = format!("{default} {shape}");
        let scene = load_scene(&scene_text(PATH, &world), &[], &Overrides::default());
        for pixel in &render(&scene, 1).radiance {
            let expected = [0.25, 0.5, 0.75];
            assert!(pixel.iter().zip(expected).all(|(a, b)| (a - b).abs() < 0.01), "{pixel:?}");
        }
    }
}

/// Returns the warnings of a scene.
fn warnings(world: &str) -> Vec<String> {
    warnings_with(world, ["0 0 1 0 0", "1 0 1 1 0", "1 1 1 1 1", "0 1 1 0 1"])
}

/// Returns the warnings of a scene, with these colours and coordinates of the vertices of a file.
fn warnings_with(world: &str, values: [&str; 4]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scene.pbrt");
    std::fs::write(&path, scene_text(PATH, world)).unwrap();
    let file = ply(&["float red", "float green", "float blue", "float u", "float v"], values);
    std::fs::write(folder.path().join("square.ply"), file).unwrap();
    let mut diagnostics = Diagnostics::new(false);
    load(&path, &Overrides::default(), &mut diagnostics).unwrap_or_else(|e| panic!("{e:?}"));
    diagnostics.warnings().iter().map(ToString::to_string).collect()
}

#[test]
fn missing_attributes_cause_one_warning() {
    let with_shape = |shape: &str| warnings(&format!("{TINTED} {shape}"));
    assert!(with_shape(&format!("{SQUARE} {COLOURS}")).is_empty());
    // No texture reads it.
    assert!(with_shape(&format!("{SQUARE} {COLOURS} \"float vertex_age\" [1 2 3 4]")).is_empty());
    assert!(with_shape(PLY).is_empty());
    let displaced = format!(
        r#"Texture "h" "float" "constant" "float value" 0.1 {PLY} "texture displacement" "h""#
    );
    for (shape, part) in [
        (SQUARE, "a texture on this \"trianglemesh\" reads the attribute \"color\" of vertices"),
        (r#"Shape "sphere""#, "a texture on this \"sphere\" reads"),
        (&displaced, "displaced meshes have no attributes"),
    ] {
        let [warning] = &with_shape(shape)[..] else { panic!("one warning: {shape}") };
        assert!(warning.contains(part), "{warning}");
        assert!(warning.contains("default of the texture, or u and v"), "{warning}");
    }
    let mixed = format!(
        r#"MakeNamedMaterial "a" "string type" "diffuse" "texture reflectance" "tint"
           MakeNamedMaterial "b" "string type" "diffuse"
           Material "mix" "string materials" ["a" "b"] {SQUARE}"#
    );
    assert_eq!(warnings(&mixed).len(), 1);
}

#[test]
fn colours_that_are_not_finite_cause_one_warning() {
    let world = format!("{TINTED} {PLY}");
    let values = ["nan 0 1 0 0", "1 inf 1 1 0", "1 1 1 1 1", "0 1 1 0 1"];
    let found = warnings_with(&world, values);
    let [warning] = &found[..] else { panic!("{found:?}") };
    let expected = "square.ply: 2 vertices have values that are not finite in the attribute \
                    \"color\"; instead: 0";
    assert!(warning.contains("scene.pbrt:") && warning.contains(expected), "{warning}");
}

/// Returns the shading frame's x axis where a ray straight down hits.
fn tangent(scene: &Scene, x: f32, y: f32) -> Vec3 {
    let ray = Ray::new(Vec3::new(x, y, 4.0), -Vec3::Z);
    let hit: Hit = scene.accel.intersect(&ray);
    assert!(!hit.is_miss());
    scene.geometry.surface(&hit, ray.d).frame.t
}

#[test]
fn tangents_of_meshes_turn_the_shading_frame() {
    let tangents = r#""vector3 S" [1 0 0  0 2 0  0 1 0  1 0 0]"#;
    let along = |world: &str, files: &[(&str, Vec<u8>)]| {
        let scene = load_scene(&scene_text(PATH, world), files, &Overrides::default());
        [tangent(&scene, -0.9999, -0.5), tangent(&scene, 0.9999, 0.5), tangent(&scene, -0.2, -0.2)]
    };
    let assert_turned = |found: [Vec3; 3], label: &str| {
        let diagonal = Vec3::new(0.6, 0.4, 0.0).normalize();
        for (found, expected) in found.into_iter().zip([Vec3::X, Vec3::Y, diagonal]) {
            assert!((found - expected).length() < 1e-3, "{label}: {found}");
        }
    };
    assert_turned(along(&format!("{SQUARE} {tangents}"), &[]), "inline");
    let instance = format!(r#"ObjectBegin "o" {SQUARE} {tangents} ObjectEnd ObjectInstance "o""#);
    assert_turned(along(&instance, &[]), "instance");
    let file = ply(&["float tx", "float ty", "float tz"], ["1 0 0", "0 1 0", "0 1 0", "1 0 0"]);
    assert_turned(along(PLY, &[("square.ply", file)]), "PLY");
    // A reflection in the plane x = 0.
    let mirrored = along(&format!("Scale -1 1 1 {SQUARE} {tangents}"), &[]);
    assert!((mirrored[2] - Vec3::new(-0.4, 0.6, 0.0).normalize()).length() < 1e-3, "{mirrored:?}");
}

#[test]
fn normal_maps_follow_the_sign_of_the_bitangent() {
    let normals = |signs: &str, transform: &str| {
        let file = ply(
            &["float tx", "float ty", "float tz", "float tw"],
            [signs; 4].map(|sign| format!("1 0 0 {sign}")).each_ref().map(String::as_str),
        );
        let world = format!(r#"{transform} Material "diffuse" "string normalmap" "up.pfm" {PLY}"#);
        // A normal towards +y.
        let map = pfm(1, |_, _| [0.5, 0.8, 0.9]);
        let files = [("square.ply", file), ("up.pfm", map)];
        let scene = load_scene(&scene_text(PATH, &world), &files, &Overrides::default());
        render(&scene, 1).features.unwrap().normal[5]
    };
    assert!(normals("1", "")[1] > 0.5);
    assert!(normals("-1", "")[1] < -0.5);
    // A reflection does not change y.
    assert!(normals("1", "Scale -1 1 1")[1] > 0.5);
    assert!(normals("-1", "Scale 1 -1 1")[1] > 0.5);
}
