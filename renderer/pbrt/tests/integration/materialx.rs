//! `Material "materialx"`: the same pictures as the equivalent shader and bump map, and errors.

use crate::common::{load_scene, pfm, render};
use lightbound::film::RenderedImage;
use lightbound_math::{Vec3, vec3};
use lightbound_pbrt::{Diagnostics, Overrides, Source, load_source};

const DOCUMENT: &str = r#"<materialx>
<open_pbr_surface name="plain" type="surfaceshader">
  <input name="base_color" type="color3" value="0.5, 0.3, 0.2"/>
  <input name="specular_roughness" type="float" value="0.4"/>
</open_pbr_surface>
<image name="tilted" type="vector3">
  <input name="file" type="filename" value="tilted.pfm"/>
</image>
<normalmap name="normals" type="vector3">
  <input name="in" type="vector3" nodename="tilted"/>
</normalmap>
<image name="checks" type="color3">
  <input name="file" type="filename" value="checks.pfm"/>
  <input name="filtertype" type="string" value="closest"/>
</image>
<open_pbr_surface name="mapped" type="surfaceshader">
  <input name="base_color" type="color3" nodename="checks"/>
  <input name="geometry_normal" type="vector3" nodename="normals"/>
</open_pbr_surface>
<open_pbr_surface name="lamp" type="surfaceshader">
  <input name="emission_luminance" type="float" value="10"/>
</open_pbr_surface>
<gltf_pbr name="screen" type="surfaceshader">
  <input name="emissive" type="color3" nodename="checks"/>
</gltf_pbr>
<gltf_pbr name="canvas" type="surfaceshader"/>
<open_pbr_surface name="honey" type="surfaceshader">
  <input name="transmission_weight" type="float" value="1"/>
  <input name="transmission_color" type="color3" value="0.9, 0.5, 0.2"/>
  <input name="transmission_depth" type="float" value="2"/>
  <input name="transmission_scatter" type="color3" value="0.1, 0.1, 0.2"/>
  <input name="transmission_scatter_anisotropy" type="float" value="0.4"/>
</open_pbr_surface>
<geomcolor name="paint" type="color3"/>
<geompropvalue name="wear" type="float">
  <input name="geomprop" type="string" value="wear"/>
  <input name="default" type="float" value="0.25"/>
</geompropvalue>
<open_pbr_surface name="painted" type="surfaceshader">
  <input name="base_color" type="color3" nodename="paint"/>
  <input name="specular_roughness" type="float" nodename="wear"/>
</open_pbr_surface>
<open_pbr_surface name="prism" type="surfaceshader">
  <input name="transmission_weight" type="float" value="1"/>
  <input name="specular_roughness" type="float" value="0"/>
  <input name="specular_ior" type="float" value="1.6"/>
  <input name="transmission_dispersion_scale" type="float" value="1"/>
</open_pbr_surface>
<image name="tiles" type="color3">
  <input name="file" type="filename" value="tile.&lt;UDIM&gt;.pfm"/>
  <input name="filtertype" type="string" value="closest"/>
</image>
<open_pbr_surface name="tiled" type="surfaceshader">
  <input name="base_color" type="color3" nodename="tiles"/>
</open_pbr_surface>
<image name="mask" type="float">
  <input name="file" type="filename" value="mask.pfm"/>
  <input name="filtertype" type="string" value="closest"/>
</image>
<open_pbr_surface name="leaf" type="surfaceshader">
  <input name="geometry_opacity" type="float" nodename="mask"/>
</open_pbr_surface>
<image name="height" type="float">
  <input name="file" type="filename" value="height.pfm"/>
</image>
<bump name="bumps" type="vector3">
  <input name="height" type="float" nodename="height"/>
  <input name="scale" type="float" value="4"/>
</bump>
<open_pbr_surface name="bumpy" type="surfaceshader">
  <input name="geometry_normal" type="vector3" nodename="bumps"/>
</open_pbr_surface>
<standard_surface name="veil" type="surfaceshader">
  <input name="opacity" type="color3" value="0.5, 0.5, 0.5"/>
</standard_surface>
</materialx>"#;

fn files() -> Vec<(&'static str, Vec<u8>)> {
    let tilt = vec3(0.2, -0.3, 1.0).normalize();
    let check = |x: usize, y: usize| [0.2 + 0.6 * ((x + y) % 2) as f32, 0.5, 0.3];
    vec![
        ("tile.1001.pfm", pfm(2, |_, _| [0.8, 0.1, 0.1])),
        ("tile.1012.pfm", pfm(2, |_, _| [0.1, 0.8, 0.1])),
        ("big.1001.pfm", pfm(2, |_, _| [0.5; 3])),
        ("big.1002.pfm", pfm(4, |_, _| [0.5; 3])),
        ("mask.pfm", pfm(8, |x, y| [((x + y) % 2) as f32; 3])),
        ("height.pfm", pfm(64, |x, y| [2.0 + 0.02 * x as f32 - 0.03 * y as f32; 3])),
        ("test.mtlx", DOCUMENT.into()),
        ("tilted.pfm", pfm(1, |_, _| (0.5 + 0.5 * tilt).to_array())),
        ("checks.pfm", pfm(4, check)),
    ]
}

/// A square with texture coordinates, under two lights.
fn scene(material: &str) -> String {
    format!(
        r#"Sampler "zsobol" "integer pixelsamples" 4 Integrator "path" "integer maxdepth" 1
Film "rgb" "integer xresolution" 12 "integer yresolution" 12
LookAt 0 -2 4  0 0 0  0 0 1 Camera "perspective" "float fov" 30
WorldBegin
LightSource "point" "rgb I" [9 8 7] "point3 from" [1 1 3]
LightSource "infinite" "rgb L" [0.1 0.12 0.2]
Texture "checks" "spectrum" "imagemap" "string filename" "checks.pfm" "string filter" "point"
{material}
Shape "trianglemesh" "integer indices" [0 1 2 0 2 3] "point3 P" [-2 -2 0  2 -2 0  2 2 0  -2 2 0]
  "point2 uv" [0 0  1 0  1 1  0 1]
"#
    )
}

fn picture(material: &str) -> RenderedImage {
    render(&load_scene(&scene(material), &files(), &Overrides::default()), 2)
}

#[test]
fn attributes_of_vertices_equal_attribute_textures() {
    let colors = r#""rgb vertex_color" [1 0 0  0 1 0  0 0 1  1 1 1]"#;
    let of_mesh = |material: &str, attributes: &str| {
        let scene = scene(material) + attributes;
        render(&load_scene(&scene, &files(), &Overrides::default()), 2).radiance
    };
    let document = r#"Material "materialx" "string filename" "test.mtlx"
        "string material" "painted""#;
    let shader = r#"Texture "paint" "spectrum" "attribute" "string attribute" "color"
        Texture "wear" "float" "attribute" "string attribute" "wear" "float default" 0.25
        Material "shader" "string filename" "openpbr" "texture base_color" "paint"
        "texture specular_roughness" "wear""#;
    let wear = format!(r#"{colors} "float vertex_wear" [0.1 0.9 0.5 0.3]"#);
    let other = r#""rgb vertex_color" [1 1 1  0 1 0  0 0 1  1 1 1]"#;
    assert_ne!(of_mesh(document, colors), of_mesh(document, other));
    for attributes in [colors, &wear] {
        assert_eq!(of_mesh(document, attributes), of_mesh(shader, attributes), "{attributes}");
    }
    assert_ne!(of_mesh(document, colors), of_mesh(document, &wear));
    let set = format!(r#"{document} "float wear" 0.9"#);
    assert_ne!(of_mesh(&set, colors), of_mesh(document, colors));
}

#[test]
fn constant_materials_equal_the_library_shader() {
    let document = picture(
        r#"Material "materialx" "string filename" "test.mtlx" "string material" "plain"
           "float specular_roughness" 0.3"#,
    );
    let shader = picture(
        r#"Material "shader" "string filename" "openpbr" "rgb base_color" [0.5 0.3 0.2]
           "float specular_roughness" 0.3"#,
    );
    assert_eq!(document.radiance, shader.radiance);
}

#[test]
fn images_and_normals_equal_textures_and_normal_maps() {
    let document = picture(
        r#"MakeNamedMaterial "m" "string type" "materialx" "string filename" "test.mtlx"
           "string material" "mapped" NamedMaterial "m""#,
    );
    let shader = picture(
        r#"Material "shader" "string filename" "openpbr" "texture base_color" "checks"
           "string normalmap" "tilted.pfm""#,
    );
    for (a, b) in document.radiance.iter().zip(&shader.radiance) {
        let (a, b) = (Vec3::from(*a), Vec3::from(*b));
        assert!((a - b).length() < 1e-4 * b.length() + 1e-6, "{a} {b}");
    }
    let flat =
        picture(r#"Material "shader" "string filename" "openpbr" "texture base_color" "checks""#);
    assert_ne!(document.radiance, flat.radiance);
}

#[test]
fn opacity_is_the_alpha_of_shapes() {
    let mesh = |material: &str, alpha: &str| {
        let scene = scene(material) + alpha;
        render(&load_scene(&scene, &files(), &Overrides::default()), 2).radiance
    };
    let document = r#"Material "materialx" "string filename" "test.mtlx" "string material""#;
    let plain = format!(r#"{document} "plain""#);
    let veil = r#"Material "materialx" "string filename" "test.mtlx" "string material" "veil""#;
    let opaque = mesh(&format!(r#"{veil} "rgb opacity" [1 1 1]"#), "");
    assert_eq!(mesh(veil, r#""float alpha" 1"#), opaque);
    assert_ne!(mesh(veil, ""), opaque);
    let clear = mesh(&format!(r#"{plain} "float geometry_opacity" 0.5"#), "");
    assert_eq!(clear, mesh(&plain, r#""float alpha" 0.5"#));
    assert_ne!(clear, mesh(&plain, ""));
    let leaf = format!(r#"{document} "leaf""#);
    let shader = r#"Material "shader" "string filename" "openpbr"
        Texture "mask" "float" "imagemap" "string filename" "mask.pfm" "string filter" "point""#;
    assert_eq!(mesh(&leaf, ""), mesh(shader, r#""texture alpha" "mask""#));
    // The shape's own takes its place.
    assert_eq!(mesh(&leaf, r#""float alpha" 1"#), mesh(shader, ""));
}

#[test]
fn clear_glass_disperses_light() {
    let ball = |material: &str| {
        let scene = format!(
            r#"Sampler "zsobol" "integer pixelsamples" 4 Integrator "path" "integer maxdepth" 4
Film "rgb" "integer xresolution" 12 "integer yresolution" 12
LookAt 0 -4 0  0 0 0  0 0 1 Camera "perspective" "float fov" 30
WorldBegin
LightSource "infinite" "rgb L" [0.2 0.2 0.2]
Material "diffuse" Translate 0 3 0 Shape "disk" "float radius" 2 Translate 0 -3 0
LightSource "point" "point3 from" [1 -2 2]
{material}
Shape "sphere"
"#
        );
        render(&load_scene(&scene, &files(), &Overrides::default()), 2).radiance
    };
    let prism = r#"Material "materialx" "string filename" "test.mtlx" "string material" "prism""#;
    // n = a + b/λ² with the Abbe number 20.
    let slope = 0.6 / 20.0;
    let index = |nm: f64| (1.6 + slope * (523655.0 / (nm * nm) - 1.5168)) as f32;
    let spectrum: String =
        (360..=830).step_by(10).map(|nm| format!(" {nm} {}", index(f64::from(nm)))).collect();
    let glass = ball(&format!(r#"Material "dielectric" "spectrum eta" [{spectrum} ]"#));
    for (a, b) in ball(prism).iter().zip(&glass) {
        assert!((Vec3::from(*a) - Vec3::from(*b)).length() < 1e-4, "{a:?} {b:?}");
    }
    let scaled = format!(r#"{prism} "float transmission_dispersion_scale" 0.5"#);
    assert_ne!(ball(&scaled), glass);
}

#[test]
fn tiles_are_where_their_numbers_say() {
    // Tile 1001 is at (0, 0), and 1012 at (1, 1).
    let tiled = r#"Material "materialx" "string filename" "test.mtlx" "string material" "tiled""#;
    for (uv, color) in [
        ("0 0  1 0  1 1  0 1", "0.8 0.1 0.1"),
        ("1.1 1.1  1.9 1.1  1.9 1.9  1.1 1.9", "0.1 0.8 0.1"),
        ("1.1 0.1  1.9 0.1  1.9 0.9  1.1 0.9", "0 0 0"),
    ] {
        let at = |material: &str| {
            let scene = scene(material).replace("0 0  1 0  1 1  0 1", uv);
            render(&load_scene(&scene, &files(), &Overrides::default()), 2).radiance
        };
        let plain =
            format!(r#"Material "shader" "string filename" "openpbr" "rgb base_color" [{color}]"#);
        assert_eq!(at(tiled), at(&plain), "{uv}");
    }
}

#[test]
fn bumps_equal_displacement() {
    let document =
        picture(r#"Material "materialx" "string filename" "test.mtlx" "string material" "bumpy""#);
    // The square has a size of 4, and MaterialX divides slopes by 16. They are constant in the
    // picture, so steps of other sizes find the same.
    let material = r#"Material "shader" "string filename" "openpbr""#;
    let bumps = picture(&format!(
        r#"Texture "height" "float" "imagemap" "string filename" "height.pfm"
        {material} "texture displacement" "height""#
    ));
    let flat = picture(material);
    let difference = |a: &RenderedImage| {
        let pairs = a.radiance.iter().zip(&bumps.radiance);
        pairs.map(|(a, b)| (Vec3::from(*a) - Vec3::from(*b)).length()).sum::<f32>()
    };
    assert!(difference(&document) < 0.1 * difference(&flat), "{}", difference(&document));
}

#[test]
fn problems_name_document_line_and_remedy() {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files() {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    std::fs::write(folder.path().join("bad.mtlx"), "<materialx>\n<a></b></materialx>").unwrap();
    for (name, tiles) in [("tiles.mtlx", "big"), ("none.mtlx", "no")] {
        let text = format!(
            r#"<materialx><image name="i" type="color3"><input name="file" type="filename"
            value="{tiles}.&lt;UDIM&gt;.pfm"/></image>
            <open_pbr_surface name="s" type="surfaceshader">
            <input name="base_color" type="color3" nodename="i"/></open_pbr_surface></materialx>"#
        );
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let load = |material: &str| {
        let source = Source::memory(folder.path().join("scene.pbrt"), scene(material).as_str());
        let mut diagnostics = Diagnostics::new(false);
        let loaded = load_source(&source, &[], &Overrides::default(), &mut diagnostics);
        let warnings: Vec<String> = diagnostics.warnings().iter().map(|w| w.to_string()).collect();
        (
            loaded.err().map(|error| (error.to_string(), error.remedy().unwrap().to_string())),
            warnings,
        )
    };
    for (parameters, message, remedy) in [
        ("", "needs a document", ".mtlx file"),
        (r#""string filename" "tiles.mtlx""#, "have 2 × 2 and 4 × 4 pixels", "resize them"),
        (
            r#""string filename" "none.mtlx""#,
            "no.<UDIM>.pfm do not exist",
            "relative to the document",
        ),
        (r#""string filename" "no.mtlx""#, "no.mtlx: cannot be read", "relative to the scene"),
        (r#""string filename" "bad.mtlx""#, "bad.mtlx:2: invalid XML", "correct the file"),
        (
            r#""string filename" "test.mtlx""#,
            "the document has 12 materials",
            "\"plain\", \"mapped\"",
        ),
        (
            r#""string filename" "test.mtlx" "string material" "plain" "float rough" 1"#,
            "is not a parameter of the shader",
            "specular_roughness",
        ),
    ] {
        let (error, _) = load(&format!("Material \"materialx\" {parameters}"));
        let (found, help) = error.expect(parameters);
        assert!(found.contains(message), "{found}");
        assert!(help.contains(remedy), "{help}");
    }
    let (error, warnings) =
        load(r#"Material "materialx" "string filename" "test.mtlx" "string material" "painted""#);
    assert_eq!((error, warnings.len()), (None, 1), "{warnings:?}");
    assert!(warnings[0].contains("reads the attribute \"color\" of vertices"), "{warnings:?}");
    for (parameter, count) in [("emission_color", 1), ("transmission_color", 0)] {
        let (error, warnings) = load(&format!(
            r#"Material "materialx" "string filename" "test.mtlx" "string material" "plain"
               "texture {parameter}" "checks""#
        ));
        assert_eq!((error, warnings.len()), (None, count), "{warnings:?}");
    }
    let (error, warnings) = load(
        r#"Material "materialx" "string filename" "test.mtlx" "string material" "prism"
           "float specular_roughness" 0.1"#,
    );
    assert_eq!(error, None);
    assert!(warnings[0].contains("light disperses only in clear"), "{warnings:?}");
    let (error, warnings) =
        load(r#"Material "materialx" "string filename" "test.mtlx" "string material" "honey""#);
    assert_eq!(error, None);
    let expected = "test.mtlx:30: the integrator does not render the volume of the material; use \
                    \"volpath\"";
    assert!(warnings[0].contains(expected), "{warnings:?}");
}

#[test]
fn parameters_that_nodes_compute_are_warnings() {
    let glow = r#"<materialx><image name="i" type="color3"><input name="file" type="filename"
        value="checks.pfm"/></image>
        <noise2d name="n" type="float"/>
        <nodegraph name="g"><input name="tint" type="color3" value="1, 0, 0"/>
        <dot name="d" type="color3"><input name="in" type="color3" interfacename="tint"/></dot>
        <output name="out" type="color3" nodename="d"/></nodegraph>
        <open_pbr_surface name="lamp" type="surfaceshader">
        <input name="base_color" type="color3" nodename="i"/>
        <input name="emission_color" type="color3" nodename="i"/>
        <input name="emission_luminance" type="float" value="2"/></open_pbr_surface>
        <open_pbr_surface name="red" type="surfaceshader">
        <input name="emission_color" type="color3" nodegraph="g"/>
        <input name="specular_roughness" type="float" nodename="n"/>
        <input name="emission_luminance" type="float" value="2"/></open_pbr_surface></materialx>"#;
    let mut files = files();
    files.push(("glow.mtlx", glow.into()));
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in &files {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    let warnings = |material: &str, parameter: &str| {
        let material = format!(
            r#"Material "materialx" "string filename" "glow.mtlx" "string material" "{material}"
{parameter}"#
        );
        let source = Source::memory(folder.path().join("s.pbrt"), scene(&material).as_str());
        let mut diagnostics = Diagnostics::new(false);
        load_source(&source, &[], &Overrides::default(), &mut diagnostics).unwrap();
        diagnostics.warnings().to_vec()
    };
    for (material, parameter, line) in [
        ("lamp", r#""rgb base_color" [1 0 0]"#, 8),
        ("lamp", r#""texture base_color" "checks""#, 8),
        ("lamp", r#""rgb emission_color" [1 0 0]"#, 9),
        ("red", r#""rgb emission_color" [1 0 0]"#, 12),
        ("red", r#""float specular_roughness" 0.5"#, 13),
    ] {
        let found = warnings(material, parameter);
        let [warning] = &found[..] else { panic!("{parameter}: {found:?}") };
        let declaration = &parameter[..parameter[1..].find('"').unwrap() + 2];
        let start = format!("{declaration} has no effect: it is connected in ");
        assert!(warning.message.starts_with(&start), "{warning}");
        assert!(warning.message.contains(&format!("glow.mtlx:{line} (")), "{warning}");
        assert!(warning.fallback.contains("set inputs of its graph"), "{warning}");
        assert_eq!(warning.location.as_ref().unwrap().line, 9, "{warning}");
    }
    for parameter in [r#""rgb tint" [0 1 0]"#, r#""float emission_luminance" 3"#] {
        assert!(warnings("red", parameter).is_empty(), "{parameter}");
    }
}

#[test]
fn emission_makes_area_lights() {
    let lamp = r#"Material "materialx" "string filename" "test.mtlx" "string material" "lamp""#;
    let shader = r#"Material "shader" "string filename" "openpbr" AreaLightSource "diffuse""#;
    let light = picture(&format!(r#"{shader} "rgb L" [10 10 10]"#));
    assert_eq!(picture(lamp).radiance, light.radiance);
    // The scene may set what drives it.
    let red =
        picture(&format!(r#"{lamp} "float emission_luminance" 4 "rgb emission_color" [1 0 0]"#));
    assert_eq!(red.radiance, picture(&format!(r#"{shader} "rgb L" [4 0 0]"#)).radiance);
    let dark = picture(&format!(r#"{lamp} "float emission_luminance" 0"#));
    let unlit = picture(r#"Material "shader" "string filename" "openpbr""#);
    assert_eq!(dark.radiance, unlit.radiance);
    let plain = r#"Material "materialx" "string filename" "test.mtlx" "string material" "plain""#;
    let glowing = picture(&format!(r#"{plain} "float emission_luminance" 2"#));
    assert_ne!(glowing.radiance, picture(plain).radiance);
    // An area light of the scene takes the place of the document's.
    let dim = picture(&format!(r#"{lamp} AreaLightSource "diffuse" "rgb L" [1 2 3]"#));
    assert_eq!(dim.radiance, picture(&format!(r#"{shader} "rgb L" [1 2 3]"#)).radiance);

    let screen =
        picture(r#"Material "materialx" "string filename" "test.mtlx" "string material" "screen""#);
    let light = picture(
        r#"Material "materialx" "string filename" "test.mtlx" "string material" "canvas"
           AreaLightSource "diffuse" "string filename" "checks.pfm""#,
    );
    assert_eq!(screen.radiance, light.radiance);
}

#[test]
fn volumes_are_media() {
    let render_ball = |material: &str| {
        let scene = format!(
            r#"Sampler "zsobol" "integer pixelsamples" 4 Integrator "volpath" "integer maxdepth" 8
Film "rgb" "integer xresolution" 12 "integer yresolution" 12
LookAt 0 -4 0  0 0 0  0 0 1 Camera "perspective" "float fov" 30
WorldBegin
LightSource "infinite" "rgb L" [1 1 1]
{material}
Shape "sphere"
"#
        );
        render(&load_scene(&scene, &files(), &Overrides::default()), 2)
    };
    let honey = render_ball(
        r#"Material "materialx" "string filename" "test.mtlx" "string material" "honey""#,
    );
    let scattering = vec3(0.05, 0.05, 0.1);
    let extinction = vec3(0.9, 0.5, 0.2).map(|c: f32| -0.5 * c.ln());
    let absorption = extinction - scattering;
    assert!(absorption.min_element() > 0.0);
    let numbers = |v: Vec3| format!("[{} {} {}]", v.x, v.y, v.z);
    let medium = render_ball(&format!(
        r#"MakeNamedMedium "honey" "string type" "homogeneous" "float g" 0.4
           "rgb sigma_a" {} "rgb sigma_s" {} MediumInterface "honey" ""
           Material "shader" "string filename" "openpbr" "float transmission_weight" 1
           "float transmission_depth" 2 "rgb transmission_color" [0.9 0.5 0.2]"#,
        numbers(absorption),
        numbers(scattering),
    ));
    let deep = render_ball(
        r#"Material "materialx" "string filename" "test.mtlx" "string material" "honey"
           "float transmission_depth" 4"#,
    );
    let same = render_ball(&format!(
        r#"MakeNamedMedium "honey" "string type" "homogeneous" "float g" 0.4
           "rgb sigma_a" {} "rgb sigma_s" {} MediumInterface "honey" ""
           Material "shader" "string filename" "openpbr" "float transmission_weight" 1
           "float transmission_depth" 4"#,
        numbers(0.5 * absorption),
        numbers(0.5 * scattering),
    ));
    for (a, b) in deep.radiance.iter().zip(&same.radiance) {
        let (a, b) = (Vec3::from(*a), Vec3::from(*b));
        assert!((a - b).length() < 1e-3 * b.length() + 1e-6, "{a} {b}");
    }
    for (a, b) in honey.radiance.iter().zip(&medium.radiance) {
        let (a, b) = (Vec3::from(*a), Vec3::from(*b));
        assert!((a - b).length() < 1e-3 * b.length() + 1e-6, "{a} {b}");
    }
}
