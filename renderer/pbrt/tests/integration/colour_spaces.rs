//! Colours of scenes in other colour spaces than sRGB, and images in them.

use crate::common::{load_scene, render};
use glam::Mat3;
use lightbound::choice::Choice;
use lightbound::light::AnyLight;
use lightbound::material::{Material, Specular};
use lightbound::settings::ColourSpace;
use lightbound::texture::Lookup;
use lightbound_image::write::{
    Attribute, CHROMATICITIES, Channel, ChannelSamples, ExrImage, write_exr,
};
use lightbound_math::{Vec2, Vec3, vec3};
use lightbound_pbrt::build::Overrides;

/// The intensities of the point lights of a scene, and the k of its conductors.
fn colours(world: &str) -> (Vec<Vec3>, Vec<Vec3>) {
    let scene =
        load_scene(&format!("WorldBegin {world} Shape \"sphere\""), &[], &Overrides::default());
    let intensity = |light: &AnyLight| match light {
        AnyLight::Point(light) => light.intensity(),
        other => panic!("{other:?}"),
    };
    let lookup = Lookup::at_point(Vec3::ZERO, Vec3::Z, Vec2::ZERO);
    let k = |material: &Material| match material {
        Material::Surface { specular: Some(Specular::Conductor(c)), .. } => Some(c.k.rgb(&lookup)),
        _ => None,
    };
    (
        scene.lights.all().iter().map(intensity).collect(),
        scene.materials.iter().filter_map(k).collect(),
    )
}

fn assert_close(a: Vec3, b: Vec3) {
    assert!((a - b).abs().max_element() < 1e-3, "{a} instead of {b}");
}

#[test]
fn light_keeps_its_chromaticity_and_white_surfaces_stay_white() {
    for space in ["srgb", "rec2020", "dci-p3", "aces2065-1", "acescg"] {
        let (lights, k) = colours(&format!(
            "ColorSpace \"{space}\" LightSource \"point\" LightSource \"point\" \"rgb I\" [1 1 1]
             Material \"conductor\" \"rgb eta\" [1 1 1] \"rgb k\" [2 2 2]"
        ));
        // The white of ACES, near D60, is warmer than that of sRGB.
        let white =
            if space.starts_with("aces") { vec3(1.0468, 0.9945, 0.9153) } else { Vec3::ONE };
        lights.iter().for_each(|&light| assert_close(light, white));
        assert_close(k[0], Vec3::splat(2.0));
    }
}

#[test]
fn colours_are_converted_to_srgb() {
    let (lights, k) = colours(
        "ColorSpace \"Rec2020\" LightSource \"point\" \"rgb I\" [0.8 0.7 0.5]
         Material \"conductor\" \"rgb eta\" [1 1 1] \"rgb k\" [0.8 0.7 0.5]",
    );
    // BT.2087.
    let expected = vec3(
        1.6605 * 0.8 - 0.5876 * 0.7 - 0.0728 * 0.5,
        -0.1246 * 0.8 + 1.1329 * 0.7 - 0.0083 * 0.5,
        -0.0182 * 0.8 - 0.1006 * 0.7 + 1.1187 * 0.5,
    );
    assert_close(lights[0], expected);
    assert_close(k[0], expected);
}

#[test]
fn colour_spaces_apply_to_what_follows_in_their_scope() {
    let light = "LightSource \"point\" \"rgb I\" [0.8 0.7 0.5]";
    let (lights, _) = colours(&format!(
        "{light} AttributeBegin ColorSpace \"rec2020\" {light}
         Attribute \"light\" \"rgb I\" [0.8 0.7 0.5] ColorSpace \"srgb\" {light}
         LightSource \"point\" AttributeEnd {light}"
    ));
    let srgb = vec3(0.8, 0.7, 0.5);
    assert_eq!([lights[0], lights[2], lights[4]], [srgb; 3]);
    assert!(lights[1] != srgb && lights[1] == lights[3], "{lights:?}");
}

const ROOM: &str = "Sampler \"independent\" \"integer pixelsamples\" 2 Camera \"orthographic\" WorldBegin
    LightSource \"infinite\" \"rgb L\" [0.5 0.2 0.9] Material \"diffuse\" \"rgb reflectance\" [0.5 0.7 0.3]
    Translate 0 0 3 Shape \"sphere\"";

#[test]
fn images_are_converted_to_the_colour_space_of_the_film() {
    let render = |head: &str, colour_space| {
        let overrides =
            Overrides { resolution: Some((6, 6)), colour_space, ..Overrides::default() };
        let scene = load_scene(&format!("{head} {ROOM}"), &[], &overrides);
        (scene.settings.colour_space, render(&scene, 1))
    };
    let (_, srgb) = render("", None);
    for &space in ColourSpace::ALL {
        let (by_option_space, by_option) = render("", Some(space));
        let film = format!("ColorSpace \"{}\" Film \"rgb\" ColorSpace \"srgb\"", space.name());
        let (by_film_space, by_film) = render(&film, None);
        assert_eq!((by_option_space, by_film_space), (space, space));
        assert_eq!(by_option.radiance, by_film.radiance);
        let converted = |image: &[[f32; 3]], matrix: Option<Mat3>, of_srgb: &[[f32; 3]]| {
            for (&a, &b) in image.iter().zip(of_srgb) {
                let expected = matrix.map_or(b.into(), |matrix| matrix * Vec3::from(b));
                assert!((Vec3::from(a) - expected).abs().max_element() < 1e-5, "{a:?} {expected}");
            }
        };
        converted(&by_film.radiance, space.light_from_srgb(), &srgb.radiance);
        let albedo = |image: &lightbound::film::RenderedImage| {
            image.features.as_ref().unwrap().albedo.clone()
        };
        converted(&albedo(&by_film), space.reflectance_from_srgb(), &albedo(&srgb));
        for (a, b) in space.to_srgb(by_film.radiance).iter().zip(&srgb.radiance) {
            assert!((Vec3::from(*a) - Vec3::from(*b)).abs().max_element() < 1e-5, "{a:?} {b:?}");
        }
    }
    // The default film, and one before the directive, are sRGB.
    assert_eq!(
        render("Film \"rgb\" ColorSpace \"rec2020\" ColorSpace \"srgb\"", None).1.radiance,
        srgb.radiance
    );
}

#[test]
fn chromaticities_of_exr_environments_are_converted() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sky.exr");
    let channel = |(name, x): (&str, f32)| Channel {
        name: name.into(),
        samples: ChannelSamples::F32(vec![x]),
    };
    let p = ColourSpace::Aces2065.primaries();
    let chromaticities = [p.red, p.green, p.blue, p.white].map(|c| c.map(|x| x as f32));
    let image = ExrImage {
        size: [1, 1],
        full_size: [1, 1],
        channels: [("R", 1.0), ("G", 1.0), ("B", 1.0)].map(channel).into(),
        attributes: vec![(CHROMATICITIES.into(), Attribute::Chromaticities(chromaticities))],
        ..ExrImage::default()
    };
    write_exr(&path, &image).unwrap();
    let scene = load_scene(
        "WorldBegin LightSource \"infinite\" \"string filename\" \"sky.exr\"
         Texture \"t\" \"spectrum\" \"imagemap\" \"string filename\" \"sky.exr\"
         Material \"conductor\" \"rgb eta\" [1 1 1] \"texture k\" \"t\"",
        &[("sky.exr", std::fs::read(&path).unwrap())],
        &Overrides::default(),
    );
    let AnyLight::Environment(light) = &scene.lights.all()[0] else { panic!() };
    assert_close(light.mean(), vec3(1.0468, 0.9945, 0.9153));
    let lookup = Lookup::at_point(Vec3::ZERO, Vec3::Z, Vec2::ZERO);
    let Material::Surface { specular: Some(Specular::Conductor(metal)), .. } = &scene.materials[1]
    else {
        panic!()
    };
    assert_close(metal.k.rgb(&lookup), Vec3::ONE);
}

#[test]
fn white_balance_makes_its_light_white() {
    let overrides = Overrides { resolution: Some((2, 2)), ..Overrides::default() };
    let image = |film: &str, light: &str| {
        let text = format!("{film} WorldBegin LightSource \"infinite\" {light}");
        render(&load_scene(&text, &[], &overrides), 1).radiance[0]
    };
    let tungsten = "\"blackbody L\" 3000";
    let [r, _, b] = image("", tungsten);
    assert!(r > 3.0 * b);
    // Below 4000 K, the temperature is that of a black body, within 0.06 %.
    for film in [
        "Film \"rgb\" \"float whitebalance\" 3000",
        "Film \"rgb\" \"string sensor\" \"nikon_d850\" \"float whitebalance\" 3000",
        "ColorSpace \"acescg\" Film \"rgb\" \"float whitebalance\" 3000",
    ] {
        let rgb = Vec3::from(image(film, tungsten));
        assert!((rgb / rgb.y - 1.0).abs().max_element() < 3e-3, "{film}: {rgb}");
    }
    // Sensors are balanced for D65, which is the white of sRGB.
    let colour = "\"rgb L\" [0.2 0.7 0.4]";
    let with_sensor = image("Film \"rgb\" \"string sensor\" \"sony_ilce_9\"", colour);
    assert_eq!(with_sensor, image("", colour));
    let [r, g, b] = image(
        "ColorSpace \"aces2065-1\" Film \"rgb\" \"string sensor\" \"canon_eos_m\" ColorSpace \"srgb\"",
        "\"rgb L\" [1 1 1]",
    );
    assert!((r - g).abs() < 1e-4 && (b - g).abs() < 1e-4, "{r} {g} {b}");
}
