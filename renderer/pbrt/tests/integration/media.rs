//! Participating media of scene files.

use lightbound::geometry::Primitive;
use lightbound::material::Material;
use lightbound::medium::{Medium, MediumInterface, MediumPoint};
use lightbound::settings::MethodName;
use lightbound_math::spectrum::blackbody_radiance;
use lightbound_math::{Vec3, vec3};
use lightbound_pbrt::build::{LoadedScene, Overrides, load_source};
use lightbound_pbrt::diagnostics::{Diagnostics, SceneError, Source};
use lightbound_shader::Shader;
use std::sync::Arc;

/// Densities and phase functions that scenes may name.
const SHADERS: [(&str, &str); 6] = [
    (
        "haze.wgsl",
        "struct Medium {
            /// range: [0, 9], default: 2
            height: f32,
        }
        fn density(p: vec3f, m: Medium) -> f32 { return m.height - p.y; }
        fn albedo(p: vec3f, m: Medium) -> vec3f { return vec3f(0.25, 0.5, p.x); }
        fn emission(p: vec3f, m: Medium) -> vec3f { return vec3f(p.z); }",
    ),
    ("dense.wgsl", "fn density(p: vec3f) -> f32 { return 1e38 * p.x; }"),
    ("pole.wgsl", "fn density(p: vec3f) -> f32 { return 1.0 / p.x; }"),
    ("negative.wgsl", "fn density(p: vec3f) -> f32 { return -1.0 - p.x * p.x; }"),
    ("root.wgsl", "fn density(p: vec3f) -> f32 { return sqrt(-1.0 - p.x * p.x); }"),
    ("loud.wgsl", "fn phase(wi: vec3f, wo: vec3f) -> f32 { return 1.0; }"),
];

/// Loads a scene; returns its warnings, too.
fn load(text: &str) -> (Result<LoadedScene, SceneError>, Vec<String>) {
    load_with_integrator(text, None)
}

/// Loads a scene with an integrator instead of its own.
fn load_with_integrator(
    text: &str,
    integrator: Option<MethodName>,
) -> (Result<LoadedScene, SceneError>, Vec<String>) {
    let overrides = Overrides { resolution: Some((8, 8)), integrator, ..Overrides::default() };
    let mut diagnostics = Diagnostics::new(false);
    let shaders = SHADERS.map(|(name, text)| {
        (name.to_owned(), Arc::new(Shader::parse(name, text).expect("the shader is valid")))
    });
    let source = Source::memory("m.pbrt", text);
    let loaded = load_source(&source, &shaders, &overrides, &mut diagnostics);
    let warnings = diagnostics.warnings().iter().map(ToString::to_string).collect();
    (loaded, warnings)
}

/// Loads a scene that gives no warnings.
fn load_clean(text: &str) -> LoadedScene {
    let (loaded, warnings) = load(text);
    assert!(warnings.is_empty(), "{text}: {warnings:?}");
    loaded.unwrap_or_else(|e| panic!("{text}: {e} {:?}", e.remedy()))
}

/// Loads a scene that is an error; returns its message and remedy.
fn error(text: &str) -> String {
    match load(text).0 {
        Ok(_) => panic!("{text} is no error"),
        Err(e) => {
            assert!(e.location().is_some(), "{e}");
            format!("{}; {}", e.message(), e.remedy().unwrap_or_default())
        }
    }
}

/// Builds a medium.
fn medium(parameters: &str) -> Medium {
    let mut loaded = load_clean(&format!("WorldBegin MakeNamedMedium \"m\" {parameters}"));
    assert_eq!(loaded.scene.media.len(), 1);
    loaded.scene.media.remove(0)
}

/// Returns the properties of a medium at a point of its own space.
fn at(medium: &Medium, p: Vec3) -> MediumPoint {
    let mut points = Vec::new();
    medium.field.evaluate(&[p], &mut points);
    points[0]
}

fn homogeneous(parameters: &str) -> MediumPoint {
    at(&medium(&format!("\"string type\" \"homogeneous\" {parameters}")), Vec3::ZERO)
}

fn primitives(loaded: &LoadedScene) -> &[Primitive] {
    &loaded.scene.geometry.primitives
}

#[test]
fn homogeneous_media_have_the_coefficients_of_pbrt() {
    let MediumPoint { extinction, albedo, emission } = homogeneous("");
    assert_eq!((extinction, albedo), (Vec3::splat(2.0), Vec3::splat(0.5)));
    assert_eq!(emission, Vec3::ZERO);
    let point = homogeneous(
        "\"rgb sigma_a\" [1 2 0] \"rgb sigma_s\" [3 2 0] \"float scale\" 0.5 \"float g\" -0.3",
    );
    assert_eq!(point.extinction, vec3(2.0, 2.0, 0.0));
    assert_eq!(point.albedo, vec3(0.75, 0.5, 0.0));
    let flat = "\"spectrum sigma_a\" [300 2 900 2] \"spectrum sigma_s\" [300 6 900 6]";
    let point = homogeneous(flat);
    assert!((point.extinction - 8.0).abs().max_element() < 1e-5, "{point:?}");
    // Emission is absorption times radiance; spectra have luminance 1.
    let absorbing = "\"rgb sigma_a\" [2 2 2] \"rgb sigma_s\" [0 0 0] \"float scale\" 3";
    let point = homogeneous(&format!("{absorbing} \"rgb Le\" [1 0.5 0] \"float Lescale\" 2"));
    assert_eq!(point.emission, vec3(12.0, 6.0, 0.0));
    let point = homogeneous(&format!("{absorbing} \"blackbody Le\" 3000"));
    assert!((point.emission.dot(vec3(0.2126, 0.7152, 0.0722)) - 6.0).abs() < 1e-4, "{point:?}");
    let dark = homogeneous(&format!("{absorbing} \"spectrum Le\" [300 0 900 0]"));
    assert_eq!(dark.emission, Vec3::ZERO);
}

#[test]
fn presets_are_per_unit_of_length() {
    let point = homogeneous("\"string preset\" \"Marble\" \"float scale\" 2");
    let (s, a) = (vec3(2.19, 2.62, 3.0), vec3(0.0021, 0.0041, 0.0071));
    assert!((point.extinction - 2.0 * (s + a)).abs().max_element() < 1e-6);
    assert!((point.albedo - s / (s + a)).abs().max_element() < 1e-6);
    let text = "WorldBegin MakeNamedMedium \"m\" \"string type\" \"homogeneous\"
                \"string preset\" \"marble\" \"rgb sigma_s\" [0 0 0]";
    let (loaded, warnings) = load(text);
    assert!(warnings[0].contains("did you mean \"Marble\"?"), "{warnings:?}");
    assert_eq!(at(&loaded.unwrap().scene.media[0], Vec3::ZERO).extinction, Vec3::ONE);
}

#[test]
fn uniform_grids_have_the_density_of_pbrt() {
    let grid = medium(
        r#""string type" "uniformgrid" "float density" [1 2 3 4 5 6] "integer nx" 3 "integer nz" 2
        "point3 p0" [3 -1 0] "point3 p1" [0 1 2] "rgb sigma_a" [1 0 2] "rgb sigma_s" [1 1 0]
        "float scale" 10 "float g" 0.5"#,
    );
    let bounds = grid.field.bounds().unwrap();
    assert_eq!((bounds.min, bounds.max), (vec3(0.0, -1.0, 0.0), vec3(3.0, 1.0, 2.0)));
    // x varies fastest.
    let point = at(&grid, vec3(2.5, 0.0, 1.5));
    assert_eq!(point.extinction, 6.0 * vec3(20.0, 10.0, 20.0));
    assert_eq!(point.albedo, vec3(0.5, 1.0, 0.0));
    assert_eq!(at(&grid, vec3(1.0, 0.0, 1.0)).extinction, 3.0 * vec3(20.0, 10.0, 20.0));
    let mut range = Vec::new();
    grid.field.density_bounds(&[bounds], &mut range);
    assert_eq!(range, [[0.0, 6.0]]);
    // Emission is normalized, and has a factor for each voxel.
    let glow = medium(
        r#""string type" "uniformgrid" "float density" [1 2] "integer ny" 2 "float Lescale" [3 5]
        "rgb Le" [1 0 0] "rgb sigma_s" [0 0 0] "float scale" 2"#,
    );
    assert_eq!(at(&glow, vec3(0.5, 0.75, 0.5)).emission, vec3(2.0 * 2.0 * 5.0, 0.0, 0.0));
    let fire = medium(
        r#""string type" "uniformgrid" "float density" 1 "float temperature" 4 "float Lescale" 0.01
        "float temperaturescale" 1000 "float temperatureoffset" 1 "rgb sigma_s" [0 0 0]"#,
    );
    let emission = at(&fire, Vec3::splat(0.5)).emission;
    let expected = 0.01 * blackbody_radiance(3000.0);
    assert!((emission - expected).length() < 1e-3 * expected.length(), "{emission} {expected}");
}

#[test]
fn rgb_grids_have_the_coefficients_of_pbrt() {
    let grid = medium(
        r#""string type" "rgbgrid" "rgb sigma_a" [1 2 3 0 0 0] "rgb sigma_s" [3 2 0 1 1 1]
        "rgb Le" [1 1 0 9 9 9] "float Lescale" 0.5 "integer ny" 2 "float scale" 2"#,
    );
    let MediumPoint { extinction, albedo, emission } = at(&grid, vec3(0.5, 0.25, 0.5));
    assert_eq!((extinction, albedo), (vec3(8.0, 8.0, 6.0), vec3(0.75, 0.5, 0.0)));
    // pbrt-v4 does not normalize this emission.
    let expected = 106.856_895 * 0.5 * vec3(2.0, 4.0, 0.0);
    assert!((emission - expected).abs().max_element() < 1e-4, "{emission}");
    assert_eq!(at(&grid, vec3(0.5, 0.75, 0.5)).emission, Vec3::ZERO);
    // A missing coefficient is 1 everywhere.
    let grid = medium(r#""string type" "rgbgrid" "rgb sigma_a" [1 0 0]"#);
    assert_eq!(at(&grid, vec3(0.0, 0.0, 0.0)).extinction, vec3(1.125, 1.0, 1.0));
}

#[test]
fn clouds_have_the_density_of_pbrt() {
    let cloud = medium(
        r#""string type" "cloud" "point3 p0" [-1 0 -1] "point3 p1" [3 1 3] "float density" 0.5
        "float wispiness" 4 "float frequency" 20 "rgb sigma_a" [1 0 2] "rgb sigma_s" [1 1 0]"#,
    );
    let p = vec3(0.44, 0.34, -0.72);
    assert_eq!(at(&cloud, p).extinction, 0.624_715_27 * vec3(2.0, 1.0, 2.0));
    assert_eq!(at(&cloud, p).albedo, vec3(0.5, 1.0, 0.0));
    assert!(!cloud.emits());
    let default = medium(r#""string type" "cloud""#);
    let bounds = default.field.bounds().unwrap();
    assert_eq!((bounds.min, bounds.max), (Vec3::ZERO, Vec3::ONE));
    assert_eq!(at(&default, p).extinction, Vec3::splat(0.477_144_78 * 2.0));
}

#[test]
fn fields_have_the_transform_of_their_medium() {
    let loaded = load_clean(
        r#"WorldBegin Translate 5 0 0 Scale 2 2 2
        MakeNamedMedium "m" "string type" "uniformgrid" "float density" 1
        MakeNamedMedium "fog" "string type" "homogeneous""#,
    );
    let [grid, fog] = &loaded.scene.media[..] else { panic!("two media") };
    assert_eq!(grid.transform.point(vec3(1.0, 0.5, 0.0)), vec3(7.0, 1.0, 0.0));
    assert_eq!(fog.transform.point(Vec3::ONE), Vec3::ONE);
}

#[test]
fn negative_densities_are_zero_with_a_warning() {
    let (loaded, warnings) = load(
        "WorldBegin MakeNamedMedium \"m\" \"string type\" \"uniformgrid\" \"integer nx\" 3
        \"float density\" [-1 -2 1]",
    );
    assert!(warnings.len() == 1 && warnings[0].contains("2 of 3 values"), "{warnings:?}");
    let medium = &loaded.unwrap().scene.media[0];
    assert_eq!(at(medium, vec3(1.0 / 6.0, 0.5, 0.5)).extinction, Vec3::ZERO);
}

#[test]
fn surfaces_separate_media() {
    let loaded = load_clean(
        r#"MediumInterface "" "fog" Camera "perspective" WorldBegin
        MakeNamedMedium "fog" "string type" "homogeneous"
        MakeNamedMedium "milk" "string type" "homogeneous"
        Shape "sphere"
        MediumInterface "milk" "fog" Shape "disk"
        MediumInterface "milk" "" Material "interface" Shape "sphere" Shape "disk"
        MediumInterface "fog" "fog" Shape "sphere" Material "conductor" Shape "sphere"
        MediumInterface "" "" Material "interface" Shape "sphere" Material "diffuse" Shape "sphere"
        ObjectBegin "o" MediumInterface "" "milk" Shape "disk" ObjectEnd
        ObjectInstance "o" Translate 1 0 0 ObjectInstance "o""#,
    );
    let interface = |inside, outside| Some(MediumInterface { inside, outside });
    let media: Vec<_> = primitives(&loaded).iter().map(|primitive| primitive.media).collect();
    assert_eq!(
        media,
        [
            interface(None, Some(0)),
            interface(Some(1), Some(0)),
            // As in pbrt-v4, surfaces between equal media keep the medium of the ray; interfaces
            // between them do not exist.
            None,
            None,
            // Interfaces come last.
            interface(Some(1), None),
            interface(Some(1), None),
            interface(None, Some(1)),
        ]
    );
    let is_interface = |primitive: &Primitive| {
        matches!(loaded.scene.materials[primitive.material as usize], Material::Interface)
    };
    let interfaces: Vec<_> = primitives(&loaded).iter().map(is_interface).collect();
    assert_eq!(interfaces, [false, false, false, false, true, true, false]);
    assert_eq!(loaded.scene.camera_medium, Some(0));
    let names: Vec<_> = loaded.scene.media.iter().map(|medium| medium.name.as_str()).collect();
    assert_eq!(names, ["fog", "milk"]);
}

#[test]
fn interfaces_do_not_emit() {
    let text = r#"WorldBegin MakeNamedMedium "m" "string type" "homogeneous"
        AreaLightSource "diffuse" Material "interface" MediumInterface "m" "" Shape "sphere""#;
    let (loaded, warnings) = load(text);
    let loaded = loaded.unwrap();
    assert!(warnings.len() == 1 && warnings[0].contains("area light"), "{warnings:?}");
    assert_eq!((primitives(&loaded).len(), loaded.scene.lights.all().len()), (1, 0));
    assert_eq!(primitives(&loaded)[0].first_light, None);
}

#[test]
fn integrators_of_surfaces_ignore_media_with_one_warning() {
    let world = r#"WorldBegin MakeNamedMedium "m" "string type" "homogeneous" "float scale" 3
        MediumInterface "m" "" Shape "sphere" Material "interface" Shape "sphere" LightSource "point""#;
    for integrator in ["path", "ambientocclusion"] {
        let (loaded, warnings) = load(&format!("Integrator \"{integrator}\" {world}"));
        let loaded = loaded.unwrap();
        assert!(warnings.len() == 1 && warnings[0].contains(integrator), "{warnings:?}");
        assert!(loaded.scene.media.is_empty() && loaded.scene.materials.len() == 1);
        assert!(primitives(&loaded).len() == 1 && primitives(&loaded)[0].media.is_none());
    }
    for integrator in
        ["", "Integrator \"volpath\"", "Integrator \"simplevolpath\"", "Integrator \"lightcuts\""]
    {
        let loaded = load_clean(&format!("{integrator} {world}"));
        assert_eq!((primitives(&loaded).len(), loaded.scene.media.len()), (2, 1));
    }
    let load = |file: &str, method| load_with_integrator(&format!("{file} {world}"), Some(method));
    for file in ["", "Integrator \"path\"", "Integrator \"volpath\"", "Integrator \"lightcuts\""] {
        let (loaded, warnings) = load(file, MethodName::Path);
        assert!(warnings.len() == 1 && warnings[0].contains("\"volpath\" renders"), "{warnings:?}");
        assert!(loaded.unwrap().scene.media.is_empty());
        let (loaded, warnings) = load(file, MethodName::Volpath);
        assert!(warnings.is_empty() && loaded.unwrap().scene.media.len() == 1, "{warnings:?}");
    }
    // Media that no surface uses are not missed.
    load_clean(r#"Integrator "path" WorldBegin MakeNamedMedium "m" "string type" "homogeneous""#);
}

#[test]
fn subsurface_materials_have_a_medium_inside() {
    let loaded = load_clean(
        r#"MediumInterface "" "fog" Camera "perspective" WorldBegin
        MakeNamedMedium "fog" "string type" "homogeneous" MediumInterface "" ""
        MakeNamedMaterial "skin" "string type" "subsurface" "string name" "Skin1" "float scale" 2
        MakeNamedMaterial "milk" "string type" "subsurface"
        MakeNamedMaterial "red" "string type" "diffuse"
        MakeNamedMaterial "spotted" "string type" "mix" "string materials" ["red" "milk"]
        NamedMaterial "skin" Shape "sphere"
        MediumInterface "fog" "" Shape "disk"
        NamedMaterial "spotted" Shape "disk" NamedMaterial "red" Shape "sphere""#,
    );
    let media: Vec<_> = primitives(&loaded).iter().map(|primitive| primitive.media).collect();
    let interface = |inside, outside| Some(MediumInterface { inside, outside });
    assert_eq!(
        media,
        [
            // The medium around the camera is outside.
            interface(Some(1), Some(0)),
            interface(Some(1), None),
            interface(Some(2), None),
            interface(Some(0), None),
        ]
    );
    let skin = at(&loaded.scene.media[1], Vec3::ZERO);
    let (s, a) = (vec3(0.74, 0.88, 1.01), vec3(0.032, 0.17, 0.48));
    assert!((skin.extinction - 2.0 * (s + a)).abs().max_element() < 1e-5);
    let names: Vec<_> = loaded.scene.media.iter().map(|medium| medium.name.as_str()).collect();
    assert_eq!(names, ["fog", "skin", "milk"]);
}

#[test]
fn subsurface_without_media_is_diffuse() {
    let world = r#"WorldBegin Material "subsurface" "string name" "Ketchup" Shape "sphere"
        LightSource "infinite""#;
    let (loaded, warnings) = load(&format!("Integrator \"path\" {world}"));
    let scene = loaded.unwrap().scene;
    assert!(warnings.len() == 1 && warnings[0].contains("volpath"), "{warnings:?}");
    assert!(scene.media.is_empty() && scene.geometry.primitives[0].media.is_none());
}

#[test]
fn densities_may_be_shaders() {
    let medium = medium(
        "\"string type\" \"shader\" \"string filename\" \"haze.wgsl\" \"float height\" 3
         \"rgb sigma_s\" [1 2 3] \"rgb sigma_a\" [1 2 3] \"float scale\" 0.5
         \"rgb Le\" [1 2 3] \"float Lescale\" 2 \"point3 p0\" [0 -1 0] \"point3 p1\" [1 4 1]",
    );
    let extinction = 2.5 * vec3(1.0, 2.0, 3.0);
    let albedo = vec3(0.25, 0.5, 0.75);
    let emission = extinction * (1.0 - albedo) * 0.5 * vec3(2.0, 4.0, 6.0);
    let point = at(&medium, vec3(0.75, 0.5, 0.5));
    assert_eq!(point, MediumPoint { extinction, albedo, emission });
    assert_eq!(at(&medium, vec3(0.5, 3.5, 0.5)).extinction, Vec3::ZERO);
    assert_eq!(medium.majorants.density_range(), [0.0, 4.0]);
}

#[test]
fn parameters_of_densities_may_be_textures() {
    let text = "WorldBegin
        Texture \"steps\" \"float\" \"checkerboard\" \"integer dimension\" 3
            \"float tex1\" 2 \"float tex2\" 3
        Translate 0 10 0
        MakeNamedMedium \"m\" \"string type\" \"shader\" \"string filename\" \"haze.wgsl\"
            \"texture height\" \"steps\"
            \"point3 p0\" [0.25 0.25 0.25] \"point3 p1\" [0.75 0.75 0.75]
        MediumInterface \"m\" \"\" Shape \"sphere\"";
    let scene = load_clean(text).scene;
    let [medium] = &scene.media[..] else { panic!("{:?}", scene.media) };
    // The camera is at the origin of the world. Extinction is twice the density, height − y; the
    // cell of the texture is that of the point in the world, 10 higher.
    assert_eq!(at(medium, vec3(0.5, 0.25, 0.5)).extinction.x, 2.0 * 1.75);
    assert_eq!(medium.majorants.density_range(), [1.25, 1.75]);
    let moved = text.replace("Translate 0 10 0", "Translate 0 11 0");
    let scene = load_clean(&moved).scene;
    assert_eq!(at(&scene.media[0], vec3(0.5, 0.25, 0.5)).extinction.x, 2.0 * 2.75);
}

#[test]
fn integrals_of_phase_functions_are_checked_once() {
    let medium = |name: &str| {
        format!(
            "MakeNamedMedium \"{name}\" \"string type\" \"homogeneous\"
             \"string phase\" \"loud.wgsl\" "
        )
    };
    let (loaded, warnings) = load(&format!("WorldBegin {} {}", medium("a"), medium("b")));
    assert!(loaded.is_ok() && warnings.len() == 1, "{warnings:?}");
    for part in ["m.pbrt:1:", "loud.wgsl", "integral over the sphere is 12.566", "not 1"] {
        assert!(warnings[0].contains(part), "{warnings:?}");
    }
}

#[test]
fn empty_media_give_a_warning() {
    for shader in ["negative.wgsl", "root.wgsl"] {
        let (loaded, warnings) = load(&format!(
            "WorldBegin MakeNamedMedium \"m\" \"string type\" \"shader\"
             \"string filename\" \"{shader}\""
        ));
        assert!(loaded.is_ok() && warnings.len() == 1, "{shader}: {warnings:?}");
        for part in ["m.pbrt:1:", "medium \"m\" is 0 everywhere", "NaN and negative"] {
            assert!(warnings[0].contains(part), "{warnings:?}");
        }
    }
}

#[test]
fn invalid_media_are_errors() {
    let of_medium = |parameters: &str| {
        error(&format!("WorldBegin MakeNamedMedium \"m\" \"string type\" {parameters}"))
    };
    for (parameters, part) in [
        (r#""homogenous""#, "did you mean \"homogeneous\"?"),
        (r#""homogeneous" "float g" 1"#, "below 1"),
        (r#""homogeneous" "float scale" -1"#, "\"scale\" is -1; give 0 or more"),
        (r#""homogeneous" "float scale" 1e30 "rgb sigma_s" [1e20 0 0]"#, "infinite; reduce"),
        (r#""homogeneous" "float Lescale" 1e30 "rgb Le" [1e20 0 0]"#, "infinite light"),
        (r#""homogeneous" "string phase" "nosuch.wgsl""#, "was not found"),
        (r#""homogeneous" "string phase" "diffuse""#, "is a BRDF, not a phase function"),
        (r#""homogeneous" "string phase" "henyey_greenstein" "float g" 2"#, "out of range"),
        (r#""shader""#, "needs a shader; give \"string filename\""),
        (r#""shader" "string filename" "diffuse""#, "is a BRDF, not a density"),
        (r#""shader" "string filename" "pole.wgsl""#, "has no upper bound; limit it"),
        (r#""shader" "string filename" "haze.wgsl" "float height" 10"#, "is 10, out of range"),
        (
            r#""shader" "string filename" "haze.wgsl" "float heigth" 1"#,
            "is not a parameter of the shader (shader haze.wgsl of medium \"m\"); \
             did you mean \"height\"?\nthe shader takes\n",
        ),
        (r#""shader" "string filename" "haze.wgsl" "rgb sigma_b" 1"#, "did you mean \"sigma_a\"?"),
        (
            r#""shader" "string filename" "haze.wgsl" "string height" "x""#,
            "of medium \"m\"); write \"float height\" or \"texture height\"\nthe shader takes",
        ),
        (r#""nanovdb""#, "needs a file"),
        (r#""nanovdb" "string filename" "nosuch.nvdb""#, "cannot be read"),
        (r#""uniformgrid""#, "needs densities"),
        (
            r#""uniformgrid" "float density" [1 2] "integer nx" 3"#,
            "has 2 values for 3 × 1 × 1 voxels",
        ),
        (r#""uniformgrid" "float density" 1 "integer nx" 0"#, "\"nx\" is 0"),
        (r#""uniformgrid" "float density" 1 "point3 p1" [1 0 1]"#, "has no volume"),
        (r#""uniformgrid" "float density" 1 "float temperature" [1 2]"#, "has 2 values"),
        (r#""uniformgrid" "float density" 1 "float temperature" 1 "rgb Le" [1 1 1]"#, "remove one"),
        (r#""uniformgrid" "float density" 1e30 "float scale" 1e20"#, "infinite; reduce"),
        (
            r#""uniformgrid" "float density" 1e38"#,
            "the density or the extinction of medium \"m\" may reach 2e38, too much to render; reduce",
        ),
        (r#""homogeneous" "float scale" 1e30"#, "may reach 2e30"),
        (
            r#""shader" "string filename" "dense.wgsl""#,
            "may reach 2e38, too much to render; limit it in the shader with `min`",
        ),
        (
            r#""uniformgrid" "float density" 1 "integer nx" 2147483647 "integer ny" 2147483647 "integer nz" 2147483647"#,
            "correct nx",
        ),
        (r#""cloud" "float wispiness" -1"#, "\"wispiness\" is -1"),
        (r#""cloud" "float frequency" 2e9"#, "from 0 to 1e9"),
        (r#""cloud" "point3 p1" [1e19 1 1]"#, "beyond 1e18"),
        (r#""rgbgrid" "integer nx" 2"#, "needs coefficients"),
        (r#""rgbgrid" "rgb sigma_s" [1 1 1] "rgb Le" [1 1 1]"#, "give \"rgb sigma_a\""),
        (r#""rgbgrid" "rgb sigma_s" [1 1 1 1 1 1]"#, "has 2 values"),
        (r#""rgbgrid" "rgb sigma_s" [1 -1 1]"#, "negative component"),
    ] {
        let error = of_medium(parameters);
        assert!(error.contains(part), "{parameters}: {error}");
    }
    for (parameters, part) in [
        (r#""rgb sigma_a" [1 1 1]"#, "\"sigma_a\" without \"sigma_s\""),
        (r#""string name" "skin1""#, "did you mean \"Skin1\"?"),
        (r#""rgb reflectance" [0.5 0.5 0.5] "rgb mfp" [1 0 1]"#, "give lengths above 0"),
        (r#""float eta" 0"#, "index of refraction is 0"),
    ] {
        let error = error(&format!("WorldBegin Material \"subsurface\" {parameters}"));
        assert!(error.contains(part), "{parameters}: {error}");
    }
    let textured = "WorldBegin Texture \"t\" \"float\" \"checkerboard\"
        MakeNamedMedium \"m\" \"string type\" \"shader\" \"string filename\" \"haze.wgsl\"
        \"texture height\" \"t\"";
    let message = error(textured);
    assert!(message.contains("\"texture height\" is a texture that needs texture coordinates"));
    assert!(message.contains("\"string mapping\" \"planar\""), "{message}");
    let undefined = textured.replace("\"t\" \"float\"", "\"u\" \"float\"");
    assert!(error(&undefined).contains("texture \"t\" is not defined"));
    let surface = "WorldBegin Material \"shader\" \"string filename\" \"henyey_greenstein\"";
    assert!(error(surface).contains("is a phase function, not a BRDF"));
    let flat = "WorldBegin Scale 1 0 1 MakeNamedMedium \"m\" \"string type\" \"uniformgrid\"
                \"float density\" 1";
    assert!(error(flat).contains("the transform of this medium cannot be used"));
    let error = error("WorldBegin MediumInterface \"m\" \"\" Shape \"sphere\"");
    assert!(error.contains("medium \"m\" is not defined"), "{error}");
}
