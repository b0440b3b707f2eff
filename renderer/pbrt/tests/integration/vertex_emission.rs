//! Area lights whose radiance an attribute of vertices scales.

use crate::common::{
    Estimate, assert_all_ok, assert_images_agree, brute_force, floor_and_spheres, load_scene, pfm,
    render, render_with_stats, single_ray_scene,
};
use lightbound::settings::{CutMode, LightSampling, MethodName};
use lightbound_math::vec3;
use lightbound_pbrt::build::{LightcutsOverrides, Overrides, PathOverrides, load};
use lightbound_pbrt::diagnostics::Diagnostics;

/// A square above the origin that faces down, with colours that differ much between vertices.
fn lamp(light: &str, shape: &str) -> String {
    format!(
        r#"AttributeBegin Translate 0 0 1 Material "diffuse" "rgb reflectance" [0 0 0]
        AreaLightSource "diffuse" "rgb L" [2 3 4] "string attribute" "glow" {light}
        Shape "trianglemesh" "integer indices" [0 2 1 0 3 2]
          "point3 P" [-1 -1 0  1 -1 0  1 1 0.3  -1 1 0]
          "rgb vertex_glow" [1 0 0.1  0 1 0.1  0 0 3  0.5 0.25 0] {shape} AttributeEnd
        "#
    )
}

const FLOOR: &str = r#"Material "coateddiffuse" "rgb reflectance" [0.5 0.6 0.7]
    Shape "bilinearmesh" "point3 P" [-2 -2 0  2 -2 0  -2 2 0  2 2 0]"#;

#[test]
fn light_sampling_and_bsdf_sampling_agree() {
    let image = r#""string filename" "image.pfm""#;
    let uv = r#""point2 uv" [0 0  1 0  1 1  0 1]"#;
    let moving = r#""point3 P1" [-1 -1 0  1 -1 0  1 1 0.3  -1 1 0]"#;
    let with_image = lamp(image, uv).replace("\"rgb L\" [2 3 4]", "");
    let lamps = [
        ("colours", lamp("", "")),
        ("two sides", lamp(r#""bool twosided" true"#, "")),
        ("image", with_image),
        ("opacity", lamp("", r#""texture alpha" "alpha" "float vertex_alpha" [1 0.5 1 0]"#)),
        ("moving vertices", lamp("", moving)),
    ];
    let files = [("image.pfm", pfm(4, |x, y| [x as f32, 2.0, (y % 2) as f32]))];
    let mut results = Vec::new();
    for (name, lamp) in lamps {
        let alpha = r#"Texture "alpha" "float" "attribute" "string attribute" "alpha""#;
        let world = format!("{alpha}\n{lamp}{FLOOR}");
        let eye = vec3(0.3, -3.0, 1.0);
        let text = single_ray_scene(eye, vec3(0.2, -0.3, 0.0), 1, 16, 64, &world);
        let expected = brute_force(&load_scene(&text, &files, &Overrides::default()), 1, 64, 3072);
        for sampling in [LightSampling::Power, LightSampling::Tree, LightSampling::MaterialTree] {
            let path = PathOverrides { light_sampling: Some(sampling), ..PathOverrides::default() };
            let overrides = Overrides { path, ..Overrides::default() };
            let image = render(&load_scene(&text, &files, &overrides), 2);
            let agrees = Estimate::from_image(&image).agrees(&expected, 4.5);
            results.push((format!("{name}, {sampling:?}"), agrees));
        }
    }
    assert_all_ok(results);
}

/// A strip of triangles above the floor, whose colours change from triangle to triangle.
fn strip() -> String {
    let (mut positions, mut colours) = (String::new(), String::new());
    for i in 0..24 {
        let x = -3.0 + 0.25 * f64::from(i);
        positions += &format!("{x} {} {}  ", if i % 2 == 0 { -0.6 } else { 0.8 }, 2.5);
        colours += [["6 0.1 0", "0 0 0", "0 2 9"], ["0 3 0", "1 1 1", "8 0 5"]][i as usize % 2]
            [i as usize / 2 % 3];
        colours += "  ";
    }
    let indices = (0..22).map(|i| match i % 2 {
        0 => format!("{} {} {} ", i, i + 2, i + 1),
        _ => format!("{} {} {} ", i, i + 1, i + 2),
    });
    format!(
        r#"AttributeBegin AreaLightSource "diffuse" "rgb L" [1 2 1] "string attribute" "glow"
        "bool twosided" true
        Shape "trianglemesh" "integer indices" [{}] "point3 P" [{positions}]
        "rgb vertex_glow" [{colours}] AttributeEnd"#,
        indices.collect::<String>()
    )
}

fn lightcuts(settings: LightcutsOverrides) -> Overrides {
    Overrides {
        integrator: Some(MethodName::Lightcuts),
        lightcuts: settings,
        ..Overrides::default()
    }
}

#[test]
fn lightcuts_bound_colours_of_vertices() {
    let settings = r#"Sampler "zsobol" "integer pixelsamples" 4"#;
    let text = floor_and_spheres(settings, 16, &strip(), "");
    let base = LightcutsOverrides {
        area_points: Some(2000),
        light_paths: Some(0),
        check_bounds: true,
        ..LightcutsOverrides::default()
    };
    let exact = LightcutsOverrides { error: Some(0.05), ..base };
    let stochastic =
        LightcutsOverrides { mode: Some(CutMode::Stochastic), cut_size: Some(64), ..base };
    for settings in [
        exact,
        LightcutsOverrides { gather: Some(4), ..exact },
        LightcutsOverrides { light_paths: Some(50), ..exact },
        stochastic,
        LightcutsOverrides { gather: Some(4), ..stochastic },
    ] {
        let scene = load_scene(&text, &[], &lightcuts(settings));
        let cuts = render_with_stats(&scene, 2).counts.cuts;
        let (checks, violations) = (cuts.checks, cuts.violations);
        assert!(checks > 1000 && violations == 0, "{settings:?}: {violations} of {checks}");
    }
}

#[test]
fn stochastic_lightcuts_equal_the_path_tracer() {
    let settings = r#"Sampler "zsobol" "integer pixelsamples" 512
        Integrator "path" "integer maxdepth" 1"#;
    let text = floor_and_spheres(settings, 16, &strip(), "");
    let traced = render(&load_scene(&text, &[], &Overrides::default()), 2);
    let stochastic = lightcuts(LightcutsOverrides {
        mode: Some(CutMode::Stochastic),
        cut_size: Some(32),
        light_paths: Some(0),
        ..LightcutsOverrides::default()
    });
    let cut = render(&load_scene(&text, &[], &stochastic), 2);
    assert_images_agree(&traced, &cut, 0.02, "stochastic lightcuts");
}

#[test]
fn shapes_without_the_attribute_cause_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scene.pbrt");
    let light = r#"AreaLightSource "diffuse" "string attribute" "glow""#;
    let mesh = r#"Shape "trianglemesh" "point3 P" [0 0 0  1 0 0  0 1 0]"#;
    for (shape, warnings) in [
        (r#"Shape "sphere""#.to_string(), 1),
        (mesh.to_string(), 1),
        (format!(r#"{mesh} "rgb vertex_glow" [1 0 0  0 1 0  0 0 1]"#), 0),
        (format!(r#"{mesh} "float vertex_glow" [1 0 0]"#), 0),
    ] {
        std::fs::write(&path, format!("Camera \"perspective\" WorldBegin\n{light}\n{shape}"))
            .unwrap();
        let mut diagnostics = Diagnostics::new(false);
        load(&path, &Overrides::default(), &mut diagnostics).unwrap();
        let found = diagnostics.warnings();
        assert_eq!(found.len(), warnings, "{shape}: {found:?}");
        for warning in found {
            let expected = "has no vertex attribute \"glow\", which its area light reads";
            assert!(warning.message.contains(expected), "{warning}");
            assert_eq!(warning.location.as_ref().unwrap().line, 3, "{warning}");
        }
    }
}
