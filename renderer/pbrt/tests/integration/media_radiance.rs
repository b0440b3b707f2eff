//! Radiance of scenes with participating media matches closed forms.

use crate::common::render_text;
use lightbound_pbrt::build::Overrides;

const PATH: &str = "Integrator \"volpath\" \"integer maxdepth\" 4";
/// Enough for paths in media that do not absorb.
const DEEP_PATH: &str = "Integrator \"volpath\" \"integer maxdepth\" 10000";
/// Without noise where media only absorb, and have constant density.
const LIGHTCUTS: &str = "Integrator \"lightcuts\"";

const ENVIRONMENT: &str = "LightSource \"infinite\" \"rgb L\" [1 1 1]\n";
const FLOOR: &str = "Shape \"bilinearmesh\" \"point3 P\" [-9 -9 0  9 -9 0  -9 9 0  9 9 0]\n";
const BLACK: &str = "Material \"diffuse\" \"rgb reflectance\" [0 0 0]\n";
/// Views of a point from below, and through the centres of unit cells.
const FROM_BELOW: &str = "LookAt 0 0 -5  0 0 0  0 1 0\n";
const THROUGH_CELLS: &str = "LookAt 0.5 0.5 -5  0.5 0.5 0  0 1 0\n";

/// Returns a scene that is seen along a single ray.
fn scene(integrator: &str, spp: u32, camera: &str, world: &str) -> String {
    format!(
        "{integrator}\n{camera}Camera \"perspective\" \"float fov\" 0.01\n\
         Sampler \"zsobol\" \"integer pixelsamples\" {spp}\n\
         Film \"rgb\" \"integer xresolution\" 16 \"integer yresolution\" 16\n\
         PixelFilter \"box\" \"float xradius\" 0.5 \"float yradius\" 0.5\nWorldBegin\n{world}\n"
    )
}

fn medium(name: &str, kind: &str, parameters: &str) -> String {
    format!("MakeNamedMedium \"{name}\" \"string type\" \"{kind}\" {parameters}\n")
}

/// Returns a homogeneous medium without scattering.
fn absorbing(name: &str, sigma_a: [f64; 3]) -> String {
    let [r, g, b] = sigma_a;
    let parameters = format!("\"rgb sigma_s\" [0 0 0] \"rgb sigma_a\" [{r} {g} {b}]");
    medium(name, "homogeneous", &parameters)
}

/// Returns the boundary of a medium around the origin.
fn ball(inside: &str, outside: &str, radius: f64) -> String {
    format!(
        "AttributeBegin MediumInterface \"{inside}\" \"{outside}\" Material \"interface\"
         Shape \"sphere\" \"float radius\" {radius} AttributeEnd\n"
    )
}

fn transmittance(sigma_a: [f64; 3], length: f64) -> [f64; 3] {
    sigma_a.map(|sigma| (-sigma * length).exp())
}

fn assert_radiance(text: &str, expected: [f64; 3], tolerance: f64) {
    let radiance = render_text(text, &Overrides::default(), 2).radiance;
    for c in 0..3 {
        let sum: f64 = radiance.iter().map(|pixel| f64::from(pixel[c])).sum();
        let mean = sum / radiance.len() as f64;
        let error = (mean - expected[c]).abs();
        assert!(error <= tolerance, "channel {c}: {mean}, expected {expected:?}\n{text}");
    }
}

#[test]
fn homogeneous_media_absorb_along_the_ray() {
    let [outer, inner] = [[0.2, 1.0, 0.0], [1.0, 0.5, 2.0]];
    let media = ENVIRONMENT.to_owned() + &absorbing("m", outer) + &absorbing("n", inner);
    for (integrator, spp, tolerance) in [(LIGHTCUTS, 1, 1e-5), (PATH, 256, 0.01)] {
        let assert = |world: &str, expected| {
            let text = scene(integrator, spp, FROM_BELOW, &(media.clone() + world));
            assert_radiance(&text, expected, tolerance);
        };
        assert(&ball("m", "", 1.0), transmittance(outer, 2.0));
        let nested = ball("m", "", 1.0) + &ball("n", "m", 0.5);
        let [a, b] = [transmittance(outer, 1.0), transmittance(inner, 1.0)];
        assert(&nested, [0, 1, 2].map(|c| a[c] * b[c]));
        // The transform of an instance scales lengths, not coefficients.
        let object = format!("ObjectBegin \"o\" {} ObjectEnd\n", ball("m", "", 1.0));
        assert(&(object + "Scale 2 2 2 ObjectInstance \"o\""), transmittance(outer, 4.0));
        let lamp = "AttributeBegin MediumInterface \"\" \"m\"
            AreaLightSource \"diffuse\" \"rgb L\" [1 1 1]\n"
            .to_owned()
            + BLACK
            + "Shape \"sphere\" AttributeEnd\n";
        assert(&(ball("m", "", 2.0) + &lamp), transmittance(outer, 1.0));
    }
}

#[test]
fn grids_absorb_by_interpolated_densities() {
    let sigma_a = [0.5, 1.0, 2.0];
    let coefficients = "\"rgb sigma_s\" [0 0 0] \"rgb sigma_a\" [0.5 1 2]";
    let grid = |values: &str| medium("m", "uniformgrid", &format!("{values} {coefficients}"));
    // Densities fall to half of those of the outer voxels at the border.
    let one = grid("\"float density\" 1");
    let two = grid("\"float density\" [1 3] \"integer nz\" 2");
    let colours = medium(
        "m",
        "rgbgrid",
        "\"rgb sigma_a\" [1 0 0.5  0.2 2 0.5] \"rgb sigma_s\" [0 0 0 0 0 0] \"integer nz\" 2",
    );
    let boundary = ball("m", "", 4.0);
    for (integrator, spp, tolerance) in [(LIGHTCUTS, 16, 0.01), (PATH, 256, 0.015)] {
        let assert = |world: &str, expected| {
            let world = format!("{ENVIRONMENT}{world}{boundary}");
            assert_radiance(&scene(integrator, spp, THROUGH_CELLS, &world), expected, tolerance);
        };
        assert(&one, transmittance(sigma_a, 0.75));
        assert(&two, transmittance(sigma_a, 0.4375 * (1.0 + 3.0)));
        assert(&colours, transmittance([1.2, 2.0, 1.0], 0.4375));
        // The transform of the medium scales its box, not its coefficients.
        let stretched = format!("AttributeBegin Scale 1 1 2 {one} AttributeEnd ");
        assert(&stretched, transmittance(sigma_a, 1.5));
    }
    // The camera is in the centre of the voxel.
    let inside = format!("{one}MediumInterface \"\" \"m\"\nLookAt 0.5 0.5 0.5  0.5 0.5 2  0 1 0\n");
    let world = ENVIRONMENT.to_owned() + &boundary;
    assert_radiance(&scene(PATH, 256, &inside, &world), transmittance(sigma_a, 0.375), 0.01);
}

#[test]
fn surfaces_on_the_boundary_of_a_medium_are_opaque() {
    let sigma_a = [0.5, 1.0, 0.0];
    let boundary = "AttributeBegin MediumInterface \"m\" \"\" Material \"interface\"
        Shape \"bilinearmesh\" \"point3 P\" [-1 -1 -1  -1 1 -1  1 -1 -1  1 1 -1]
        Shape \"bilinearmesh\" \"point3 P\" [-1 -1 0  1 -1 0  -1 1 0  1 1 0] AttributeEnd\n";
    let wall = format!(
        "AttributeBegin {BLACK} AreaLightSource \"diffuse\" \"rgb L\" [1 1 1]
         \"bool twosided\" true {FLOOR} AttributeEnd\n"
    );
    let world = absorbing("m", sigma_a) + boundary + &wall;
    assert_radiance(&scene(LIGHTCUTS, 1, FROM_BELOW, &world), transmittance(sigma_a, 1.0), 1e-4);
}

#[test]
fn paths_stay_in_media_that_end_at_walls() {
    // Rounding puts the boundary in front of the wall, or behind it.
    let sigma_a = [0.1, 0.3, 0.0];
    let fog = absorbing("fog", sigma_a) + "MediumInterface \"\" \"fog\"\n";
    let camera = fog + "LookAt 0 3 -4  0 0 0  0 1 0\nRotate -33 1 2 3\n";
    let wall = format!("Material \"diffuse\" \"rgb reflectance\" [0.5 0.5 0.5] {FLOOR}");
    let boundary = "MediumInterface \"\" \"fog\" Material \"interface\"
        Shape \"trianglemesh\" \"point3 P\" [-7 -8 0  8 -5 0  5 6 0]";
    for integrator in [LIGHTCUTS, PATH] {
        let world = format!(
            "Rotate 33 1 2 3 MediumInterface \"fog\" \"fog\" {wall} AttributeBegin ReverseOrientation {boundary} AttributeEnd
             LightSource \"point\" \"rgb I\" [10 10 10] \"point3 from\" [0 0 -2]"
        );
        let reflected = 0.5 / std::f64::consts::PI * 10.0 / 4.0;
        let expected = transmittance(sigma_a, 5.0 + 2.0).map(|t| t * reflected);
        let scene = scene(integrator, 64, &camera, &world).replace("\"fov\" 0.01", "\"fov\" 0.1");
        assert_radiance(&scene, expected, 2e-3);
    }
}

#[test]
fn media_absorb_light_on_its_way_to_surfaces() {
    let sigma_a = [0.1, 0.3, 0.0];
    let light =
        |z: f64| format!("LightSource \"point\" \"rgb I\" [10 10 10] \"point3 from\" [0 0 {z}]\n");
    let floor = format!("Material \"diffuse\" \"rgb reflectance\" [0.5 0.5 0.5] {FLOOR}");
    let reflected = |distance: f64| 0.5 / std::f64::consts::PI * 10.0 / (distance * distance);
    for integrator in [LIGHTCUTS, PATH] {
        // Fog fills all space.
        let fog = absorbing("fog", sigma_a) + "MediumInterface \"\" \"fog\"\n";
        let camera = fog + "LookAt 0 3 -4  0 0 0  0 1 0\n";
        let world = format!("MediumInterface \"fog\" \"fog\"\n{}{floor}", light(-2.0));
        let expected = transmittance(sigma_a, 5.0 + 2.0).map(|t| t * reflected(2.0));
        assert_radiance(&scene(integrator, 256, &camera, &world), expected, 1e-3);
        // A ball is between the light and the floor.
        let shade =
            format!("AttributeBegin Translate 0 0 -2 {} AttributeEnd\n", ball("m", "", 0.5));
        let world = format!("{}{}{shade}{floor}", light(-4.0), absorbing("m", sigma_a));
        let camera = "LookAt 0 6 -4  0 0 0  0 1 0\n";
        let expected = transmittance(sigma_a, 1.0).map(|t| t * reflected(4.0));
        assert_radiance(&scene(integrator, 4, camera, &world), expected, 1e-4);
    }
}

#[test]
fn emission_is_that_of_a_body_with_the_absorptance_of_the_medium() {
    let sigma_a = [0.2, 1.0, 3.0];
    let glowing = absorbing("m", sigma_a).trim_end().to_owned()
        + " \"rgb Le\" [1 0.5 2] \"float Lescale\" 2\n";
    let glowing = glowing + &ball("m", "", 1.0);
    for (integrator, spp) in [(LIGHTCUTS, 64), (PATH, 256)] {
        for (world, environment) in
            [(glowing.clone(), 0.0), (ENVIRONMENT.to_owned() + &glowing, 1.0)]
        {
            let emitted = [2.0, 1.0, 4.0];
            let t = transmittance(sigma_a, 2.0);
            let expected = [0, 1, 2].map(|c| emitted[c] * (1.0 - t[c]) + environment * t[c]);
            assert_radiance(&scene(integrator, spp, FROM_BELOW, &world), expected, 0.04);
        }
    }
    // An opaque ball illuminates a floor at twice its radius.
    let dense = absorbing("m", [60.0; 3]).trim_end().to_owned() + " \"rgb Le\" [1 1 1]\n";
    let world = dense
        + "AttributeBegin Translate 0 0 -1 "
        + &ball("m", "", 0.5)
        + "AttributeEnd Material \"diffuse\" \"rgb reflectance\" [1 1 1] "
        + FLOOR;
    let camera = "LookAt 0 3 -3  0 0 0  0 0 1\n";
    assert_radiance(&scene(PATH, 256, camera, &world), [0.25; 3], 0.005);
}

#[test]
fn media_without_absorption_are_invisible_in_a_white_furnace() {
    let white = "\"rgb sigma_s\" [0.3 1 4] \"rgb sigma_a\" [0 0 0]";
    let fog = medium("m", "homogeneous", &format!("{white} \"float g\" 0.7"));
    let grid = medium(
        "m",
        "uniformgrid",
        &format!(
            "{white} \"float density\" [1 0 1 0.5 0 0.2 1 0.7]
             \"integer nx\" 2 \"integer ny\" 2 \"integer nz\" 2
             \"point3 p0\" [-0.5 -0.5 -0.5] \"point3 p1\" [0.5 0.5 0.5] \"float g\" -0.4"
        ),
    );
    let subsurface =
        format!("Material \"subsurface\" {white} \"float eta\" 1.4 Shape \"sphere\"\n");
    for world in [
        fog.clone() + &ball("m", "", 1.0),
        grid + &ball("m", "", 1.0),
        fog + "MediumInterface \"m\" \"\" Material \"dielectric\" Shape \"sphere\"\n",
        subsurface,
    ] {
        let camera = "LookAt 0.3 0.2 -5  0.3 0.2 0  0 1 0\n";
        let world = ENVIRONMENT.to_owned() + &world;
        assert_radiance(&scene(DEEP_PATH, 256, camera, &world), [1.0; 3], 0.03);
    }
}
