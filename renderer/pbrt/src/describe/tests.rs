use super::*;
use crate::diagnostics::Warning;
use glam::dvec3;
use proptest::prelude::*;
use std::io::Write;
use std::path::Path;

/// Describes a scene in lenient mode; returns the result and the warnings.
fn describe_with_warnings(text: &str) -> (Result<Description, SceneError>, Vec<Warning>) {
    let mut diagnostics = Diagnostics::new(false);
    let result = describe(&Source::memory("scene.pbrt", text), &mut diagnostics);
    (result, diagnostics.warnings().to_vec())
}

/// Describes a valid scene.
fn describe_scene(text: &str) -> Description {
    describe(&Source::memory("scene.pbrt", text), &mut Diagnostics::new(true))
        .unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// Describes a scene with a valid world.
fn describe_world(text: &str) -> Description {
    describe_scene(&format!("WorldBegin\n{text}"))
}

/// Returns message, remedy and line of the error in a scene.
fn scene_error(text: &str) -> (String, String, u32) {
    let error = describe_with_warnings(text).0.err().unwrap_or_else(|| panic!("{text} passed"));
    let remedy = error.remedy().unwrap_or_else(|| panic!("{text}: no remedy for {error}"));
    (error.message().into(), remedy.into(), error.location().map_or(0, |l| l.line))
}

/// Writes a file and returns its path.
fn write_file(folder: &Path, name: &str, content: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, content).unwrap();
    path
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

const SCENE: &str = r#"
    Option "seed" 3
    ColorSpace "srgb"
    LookAt 0 0 -5  0 0 0  0 1 0
    Camera "perspective" "float fov" 30
    Film "rgb" "integer xresolution" [ 40 ]
    Sampler "zsobol" "integer pixelsamples" 4
    PixelFilter "box" Integrator "path" Accelerator "bvh"
    WorldBegin
    LightSource "infinite" "rgb L" [ 1 1 1 ]
    Texture "wood" "spectrum" "imagemap" "string filename" "wood.png"
    MakeNamedMaterial "red" "string type" "diffuse" "texture reflectance" "wood"
    AttributeBegin
      Translate 1 2 3
      ReverseOrientation
      AreaLightSource "diffuse" "blackbody L" 3000
      NamedMaterial "red"
      Shape "sphere" "float radius" [ 0.5 ]
    AttributeEnd
    Material "conductor" "spectrum eta" "metal-Au-eta"
    ObjectBegin "thing"
      Scale 2 2 2
      Shape "trianglemesh" "point3 P" [ 0 0 0 1 0 0 0 1 0 ] "integer indices" [ 0 1 2 ]
    ObjectEnd
    Rotate 90 0 0 1
    ObjectInstance "thing"
    Shape "disk"
"#;

#[test]
fn scene_becomes_lists_of_entities() {
    let d = describe_scene(SCENE);
    let camera = d.camera.as_ref().unwrap();
    assert_eq!(
        (camera.entity.name.as_str(), camera.entity.params.float("fov").unwrap()),
        ("perspective", Some(30.0))
    );
    assert_eq!(
        camera.camera_from_world.transform_point3(dvec3(1.0, 0.0, 0.0)),
        dvec3(1.0, 0.0, 5.0)
    );
    let types = [&d.film, &d.sampler, &d.filter, &d.integrator, &d.accelerator]
        .map(|e| e.as_ref().unwrap().name.clone());
    assert_eq!(types, ["rgb", "zsobol", "box", "path", "bvh"]);
    assert_eq!((d.options[0].name.as_str(), d.options[0].value.as_str()), ("seed", "3"));
    assert_eq!(
        (d.lights.len(), d.textures.len(), d.objects.len(), d.instances.len()),
        (1, 1, 1, 1)
    );
    assert_eq!((d.textures[0].name.as_str(), d.textures[0].is_float), ("wood", false));

    let names: Vec<_> =
        d.materials.iter().map(|m| (m.name.as_deref(), m.entity.name.as_str())).collect();
    assert_eq!(names, [(None, "diffuse"), (Some("red"), "diffuse"), (None, "conductor")]);
    let [sphere, disk] = d.shapes.as_slice() else { panic!("{:?}", d.shapes) };
    assert_eq!(
        (sphere.material, sphere.area_light, sphere.reverse_orientation),
        (d.material("red").unwrap(), Some(0), true)
    );
    assert_eq!((disk.material, disk.area_light, disk.reverse_orientation), (2, None, false));
    assert_eq!(sphere.ctm.translation, dvec3(1.0, 2.0, 3.0));

    let object = &d.objects[d.instances[0].object];
    assert_eq!(
        (object.name.as_str(), object.shapes.len(), object.shapes[0].material),
        ("thing", 1, 2)
    );
    assert_eq!(object.shapes[0].ctm.matrix3.x_axis, dvec3(2.0, 0.0, 0.0));
    assert!(
        (d.instances[0].ctm.transform_vector3(dvec3(1.0, 0.0, 0.0)) - dvec3(0.0, 1.0, 0.0))
            .length()
            < 1e-12
    );
}

#[test]
fn coordinate_systems_restore_transforms() {
    let d = describe_scene(
        r#"Translate 0 0 7 Camera "perspective" WorldBegin Shape "disk" Translate 1 0 0 CoordinateSystem "here" Identity
        CoordSysTransform "camera" Shape "disk" CoordSysTransform "world" Shape "disk" CoordSysTransform "here" Shape "disk"
        Transform [2 0 0 0 0 2 0 0 0 0 2 0 4 5 6 1] ConcatTransform [1 0 0 0 0 1 0 0 0 0 1 0 1 1 1 1] Shape "disk""#,
    );
    let positions: Vec<_> = d.shapes.iter().map(|s| s.ctm.translation).collect();
    let expected = [(0, 0, 0), (0, 0, -7), (0, 0, 0), (1, 0, 0), (6, 7, 8)];
    assert_eq!(positions, expected.map(|(x, y, z)| dvec3(x as f64, y as f64, z as f64)));
}

#[test]
fn attribute_sets_defaults_within_its_scope() {
    let d = describe_world(
        r#"Attribute "shape" "float radius" 2 "float zmax" 1
        AttributeBegin Attribute "shape" "float radius" 3 Shape "sphere" Shape "sphere" "float radius" 4 AttributeEnd
        Shape "sphere" Attribute "light" "float scale" 5 LightSource "point" AreaLightSource "diffuse"
        Attribute "material" "float roughness" 6 Material "conductor" Attribute "texture" "float value" 7
        Texture "t" "float" "constant" Attribute "medium" "float g" 8 MakeNamedMedium "m" "string type" "homogeneous""#,
    );
    let radii: Vec<_> =
        d.shapes.iter().map(|s| s.entity.params.float("radius").unwrap().unwrap()).collect();
    assert_eq!(radii, [3.0, 4.0, 2.0]);
    assert!(d.shapes.iter().all(|s| s.entity.params.unused().count() == 0));
    let others = [
        &d.lights[0].entity,
        &d.area_lights[0],
        &d.materials[1].entity,
        &d.textures[0].entity,
        &d.media[0].entity,
    ];
    let values = others.map(|e| {
        ["scale", "roughness", "value", "g"]
            .iter()
            .find_map(|n| e.params.float(n).unwrap())
            .unwrap()
    });
    assert_eq!(values, [5.0, 5.0, 6.0, 7.0, 8.0]);
}

#[test]
fn names_may_be_referenced_before_their_definition() {
    let d = describe_world(
        r#"NamedMaterial "m" Shape "disk" ObjectInstance "o" MediumInterface "fog" "" Shape "disk"
        MakeNamedMaterial "m" "string type" "dielectric" "texture roughness" "t" Texture "t" "float" "constant"
        ObjectBegin "o" ObjectEnd MakeNamedMedium "fog" "string type" "homogeneous" AreaLightSource "" Shape "disk""#,
    );
    assert_eq!(d.materials[d.shapes[0].material].entity.name, "dielectric");
    assert_eq!((d.shapes[0].media, d.shapes[2].area_light), (None, None));
    assert_eq!(d.shapes[1].media, Some(MediumInterface { inside: Some(0), outside: None }));
    assert_eq!(d.objects[d.instances[0].object].name, "o");
}

#[test]
fn errors_suggest_a_remedy() {
    for (text, message_part, remedy_part) in [
        ("", "without WorldBegin", "settings"),
        ("Shape \"disk\"", "Shape comes before WorldBegin", "after"),
        ("AttributeBegin", "AttributeBegin comes before WorldBegin", "no scopes"),
        ("TransformBegin", "TransformBegin comes before WorldBegin", "remove"),
        ("WorldBegin WorldBegin", "twice", "remove"),
        ("WorldBegin Camera \"perspective\"", "Camera comes after", "before WorldBegin"),
        ("WorldBegin TransformTimes 0 1", "comes after", "before WorldBegin"),
        ("WorldBegin ObjectEnd", "ObjectEnd without ObjectBegin", "remove"),
        ("WorldBegin AttributeBegin", "never closed", "AttributeEnd"),
        ("WorldBegin ObjectBegin \"o\"", "ObjectBegin is never closed", "ObjectEnd"),
        (
            "WorldBegin ObjectBegin \"o\" AttributeBegin ObjectEnd",
            "ObjectEnd inside",
            "AttributeEnd must",
        ),
        ("WorldBegin ObjectBegin \"o\" AttributeEnd", "AttributeEnd inside", "ObjectEnd must"),
        ("WorldBegin ObjectBegin \"o\" ObjectBegin \"p\"", "inside object \"o\"", "nest"),
        (
            "WorldBegin ObjectBegin \"o\" ObjectInstance \"p\"",
            "inside object \"o\"",
            "after ObjectEnd",
        ),
        (
            "WorldBegin ObjectBegin \"o\" ObjectEnd ObjectBegin \"o\" ObjectEnd",
            "defined twice",
            "rename",
        ),
        (
            "WorldBegin ObjectBegin \"tree\" ObjectEnd ObjectInstance \"tre\"",
            "not defined",
            "\"tree\"",
        ),
        ("WorldBegin ObjectInstance \"tree\"", "object \"tree\" is not defined", "no object"),
        ("WorldBegin MakeNamedMaterial \"m\"", "has no type", "string type"),
        ("WorldBegin MakeNamedMaterial \"m\" \"float type\" 1", "wrong type", "string type"),
        ("WorldBegin MakeNamedMedium \"m\"", "has no type", "string type"),
        (
            "WorldBegin MakeNamedMaterial \"gold\" \"string type\" \"diffuse\" NamedMaterial \"Gold\"",
            "not defined",
            "\"gold\"",
        ),
        ("WorldBegin MediumInterface \"fog\"", "medium \"fog\" is not defined", "no medium"),
        ("WorldBegin CoordSysTransform \"wrld\"", "not defined", "\"world\""),
        (
            "WorldBegin Material \"diffuse\" \"texture reflectance\" \"wood\"",
            "texture \"wood\" is not defined",
            "no texture",
        ),
        ("WorldBegin Shape \"disk\" \"texture alpha\" \"leaf\"", "texture \"leaf\"", "define"),
        (
            "WorldBegin Texture \"a\" \"float\" \"scale\" \"texture tex\" \"a\"",
            "texture \"a\" is not defined",
            "define",
        ),
        (
            "WorldBegin Texture \"a\" \"float\" \"b\" Texture \"a\" \"float\" \"b\"",
            "defined twice",
            "rename",
        ),
        ("Attribute \"shapes\" \"float a\" 1", "unknown attribute target", "\"shape\""),
        ("Option \"sed\" 1", "unknown option", "\"seed\""),
        ("ColorSpace \"rgb\"", "unknown colour space", "srgb"),
        ("Scale 1 0 1 Camera \"perspective\"", "camera cannot be used: it is singular", "Scale at"),
        (
            "WorldBegin Transform [1 0 0 0 0 1 0 0 0 0 1 1 0 0 0 1] Shape \"disk\"",
            "shape cannot be used: the matrix is not affine",
            "affine",
        ),
        (
            "WorldBegin Transform [0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0] Shape \"disk\"",
            "not affine",
            "affine",
        ),
        (
            "WorldBegin ConcatTransform [1 0 0 0 2 0 0 0 3 0 0 0 0 0 0 1] LightSource \"point\"",
            "light cannot be used: it is singular",
            "invertible",
        ),
        ("Rotate 90 0 0 0 Camera \"perspective\"", "axis", "Rotate at"),
        ("LookAt 1 1 1 1 1 1 0 1 0 Camera \"perspective\"", "coincide", "LookAt at"),
        ("LookAt 0 0 0 0 1 0 0 1 0 Camera \"perspective\"", "up vector", "invertible"),
        (
            "WorldBegin ObjectBegin \"o\" ObjectEnd Scale 0 0 0 ObjectInstance \"o\"",
            "instance cannot be used: it is singular",
            "Scale at",
        ),
        (
            "WorldBegin Scale 0 1 1 CoordinateSystem \"flat\" Identity Translate 1 2 3 \
             CoordSysTransform \"flat\" Shape \"disk\"",
            "singular",
            "Scale at",
        ),
        ("Import \"a.pbrt\"", "Import comes before", "after"),
        ("Include \"no/such/file.pbrt\"", "cannot read no/such/file.pbrt", "main scene file"),
    ] {
        let (message, remedy, line) = scene_error(text);
        assert!(
            message.contains(message_part) && remedy.contains(remedy_part),
            "{text}: {message}; {remedy}"
        );
        assert_eq!(line, 1, "{text}");
    }
    let overflowing = "Scale 1e100 1e100 1e100 ".repeat(8) + "Camera \"perspective\"";
    assert!(scene_error(&overflowing).0.contains("transform"));
    let error =
        describe(&Source::file("/no/such/scene.pbrt"), &mut Diagnostics::new(false)).unwrap_err();
    assert!(error.message().contains("/no/such/scene.pbrt"));
}

#[test]
fn unusable_transforms_are_no_errors_unless_used() {
    let d = describe_scene(
        "Scale 0 0 0 LookAt 1 1 1 1 1 1 0 1 0 Identity Translate 0 0 3 Camera \"perspective\" WorldBegin
         AttributeBegin Scale 1 0 1 Rotate 0 0 0 0
           Texture \"t\" \"float\" \"constant\" Material \"diffuse\" CoordinateSystem \"flat\"
           AttributeBegin Transform [1 0 0 0 0 1 0 0 0 0 1 0 5 0 0 1] Shape \"disk\" AttributeEnd
         AttributeEnd
         ActiveTransform EndTime Scale 0 0 0 ActiveTransform All Identity Shape \"sphere\"",
    );
    let positions: Vec<_> = d.shapes.iter().map(|shape| shape.ctm.translation.x).collect();
    assert_eq!(positions, [5.0, 0.0]);
    assert!(d.textures[0].ctm.is_err());
}

#[test]
fn unsupported_features_warn_and_name_the_fallback() {
    for (text, message_part, fallback_part) in [
        (
            "WorldBegin ActiveTransform StartTime Scale 2 2 2 ActiveTransform All
             Texture \"t\" \"float\" \"constant\"",
            "motion of this texture",
            "the start time",
        ),
        ("Film \"rgb\" Film \"gbuffer\" WorldBegin", "Film is given twice", "last"),
        (
            "Camera \"perspective\" Camera \"orthographic\" WorldBegin",
            "Camera is given twice",
            "last",
        ),
        (
            "WorldBegin Shape \"disk\" \"float radius\" 1 \"float radius\" 2",
            "\"radius\" is given twice",
            "last",
        ),
        ("WorldBegin TransformBegin TransformEnd", "deprecated", "AttributeBegin"),
        ("WorldBegin AttributeEnd", "AttributeEnd without AttributeBegin", "ignored"),
        ("WorldBegin Material \"none\"", "material \"none\" is deprecated", "\"interface\""),
        (
            "WorldBegin MakeNamedMaterial \"air\" \"string type\" \"\"",
            "material \"\" is deprecated",
            "\"interface\"",
        ),
    ] {
        let (result, warnings) = describe_with_warnings(text);
        assert!(result.is_ok(), "{text}: {}", result.unwrap_err());
        let [warning] = warnings.as_slice() else { panic!("{text}: {warnings:?}") };
        assert!(
            warning.message.contains(message_part) && warning.fallback.contains(fallback_part),
            "{text}: {warning}"
        );
        assert!(warning.location.is_some());
        assert!(
            describe(&Source::memory("s", text), &mut Diagnostics::new(true)).is_err(),
            "{text} passed in strict mode"
        );
    }
}

#[test]
fn includes_share_the_graphics_state_and_imports_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    // Paths are relative to the main file, even in files in other folders. Gzip files are detected
    // by content.
    write_file(root, "parts/a.pbrt", b"Translate 1 0 0 Include \"parts/b.pbrt.gz\" AttributeBegin");
    write_file(root, "parts/b.pbrt.gz", &gzip(b"Translate 0 1 0 Shape \"disk\""));
    write_file(
        root,
        "parts/c.pbrt",
        b"Translate 0 0 1 Material \"conductor\" Shape \"sphere\" ObjectBegin \"o\" ObjectEnd",
    );
    let main = gzip(
        b"WorldBegin Include \"parts/a.pbrt\" AttributeEnd Import \"parts/c.pbrt\" Shape \"disk\" ObjectInstance \"o\"",
    );
    let d = describe(
        &Source::file(write_file(root, "main.pbrt.gz", &main)),
        &mut Diagnostics::new(true),
    )
    .unwrap();
    let shapes: Vec<_> = d.shapes.iter().map(|s| (s.ctm.translation, s.material)).collect();
    assert_eq!(shapes, [(dvec3(1., 1., 0.), 0), (dvec3(1., 1., 1.), 1), (dvec3(1., 1., 0.), 0)]);
    assert_eq!(d.resolve("models/x.ply"), root.join("models/x.ply"));

    for (content, part) in [
        (&b"Include \"self.pbrt\""[..], "includes itself"),
        (b"WorldBegin Import \"open.pbrt\"", "AttributeBegin is never closed"),
        (b"WorldBegin ObjectBegin \"o\" Import \"object.pbrt\"", "ObjectEnd without"),
        (b"Include \"cut.pbrt.gz\"", "cannot read"),
        (b"Include \".\"", "cannot read"),
        (b"Include \"wide.pbrt\"", "UTF-16"),
    ] {
        write_file(root, "open.pbrt", b"AttributeBegin");
        write_file(root, "object.pbrt", b"ObjectEnd");
        write_file(root, "cut.pbrt.gz", &gzip(&b"Identity ".repeat(1000))[..40]);
        write_file(root, "wide.pbrt", b"\xff\xfeW\0");
        let error = describe(
            &Source::file(write_file(root, "self.pbrt", content)),
            &mut Diagnostics::new(false),
        )
        .unwrap_err();
        assert!(error.message().contains(part) && error.remedy().is_some(), "{error}");
    }
    write_file(root, "x.pbrt", b"\nInclude \"y.pbrt\"");
    write_file(root, "y.pbrt", b"Include \"x.pbrt\"");
    let error =
        describe(&Source::file(root.join("x.pbrt")), &mut Diagnostics::new(false)).unwrap_err();
    assert!(
        error.message().contains("includes itself") && error.remedy().unwrap().contains("y.pbrt"),
        "{error}"
    );
    for i in 0..150 {
        write_file(
            root,
            &format!("deep{i}.pbrt"),
            format!("Include \"deep{}.pbrt\"", i + 1).as_bytes(),
        );
    }
    let error =
        describe(&Source::file(root.join("deep0.pbrt")), &mut Diagnostics::new(false)).unwrap_err();
    assert!(error.message().contains("includes deep"), "{error}");
}

#[test]
fn large_meshes_and_deep_nesting_are_handled() {
    let mut text = String::from("WorldBegin Shape \"trianglemesh\" \"point3 P\" [");
    text.push_str(&"0.123456 -1.5e-3 42 ".repeat(200_000));
    text.push_str("] \"integer indices\" [ 0 1 2 ]");
    let d = describe_scene(&text);
    assert_eq!(d.shapes[0].entity.params.point3s("P").unwrap().unwrap().len(), 200_000);
    let count = 50_000;
    describe_scene(&format!(
        "WorldBegin {}{}",
        "AttributeBegin ".repeat(count),
        "AttributeEnd ".repeat(count)
    ));
    describe_with_warnings(&format!(
        "WorldBegin Shape \"disk\" {}",
        "\"float a\" 1 ".repeat(count)
    ))
    .0
    .unwrap();
    assert!(describe_with_warnings(&"[".repeat(count)).0.is_err());
}

/// Checks that the scenes in the subfolders of `folder` are valid and have a camera and shapes.
fn assert_scenes_are_valid(folder: &Path) {
    let entries = |folder: &Path| std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    let folders = entries(folder).filter(|path| path.is_dir());
    let files = folders.flat_map(|folder| entries(&folder).collect::<Vec<_>>());
    for path in files.filter(|path| path.extension().is_some_and(|e| e == "pbrt")) {
        // Files without a world are included by others.
        if !std::fs::read_to_string(&path).unwrap().contains("WorldBegin") {
            continue;
        }
        let d = describe(&Source::file(&path), &mut Diagnostics::new(true))
            .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert!(d.camera.is_some() && !d.shapes.is_empty(), "{}", path.display());
    }
}

#[test]
#[ignore = "needs a folder of scene folders: PBRT_SCENES=FOLDER cargo test -p lightbound-pbrt --lib -- --ignored"]
fn external_scenes_are_valid() {
    let folder = std::env::var_os("PBRT_SCENES").expect("PBRT_SCENES is not set");
    assert_scenes_are_valid(Path::new(&folder));
}

#[test]
fn repository_scenes_are_valid() {
    assert_scenes_are_valid(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes"));
}

/// Checks that an input does not panic or hang and that its error can be displayed.
fn assert_no_panic(text: &[u8]) {
    let mut diagnostics = Diagnostics::new(false);
    if let Err(error) = interpret::interpret(Source::memory("fuzz.pbrt", text), &mut diagnostics) {
        assert!(!format!("{:?}", miette::Report::new(error)).is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_do_not_panic(text in proptest::collection::vec(any::<u8>(), 0..400)) {
        assert_no_panic(&text);
    }

    #[test]
    fn mutated_scenes_do_not_panic(
        edits in proptest::collection::vec((any::<prop::sample::Index>(), 0..20_usize, any::<prop::sample::Index>()), 1..6)
    ) {
        const REPLACEMENTS: [&str; 12] = ["", "\"", "[", "]", " ", "#", "\n", "1e99", "AttributeEnd", "ObjectBegin \"x\"", "\u{fc}", "nan"];
        let mut text = SCENE.as_bytes().to_vec();
        for (position, length, piece) in edits {
            let start = position.index(text.len());
            let end = (start + length).min(text.len());
            text.splice(start..end, REPLACEMENTS[piece.index(REPLACEMENTS.len())].bytes());
        }
        assert_no_panic(&text);
    }

    #[test]
    fn shuffled_words_do_not_panic(words in proptest::collection::vec(any::<prop::sample::Index>(), 0..60)) {
        let all: Vec<&str> = SCENE.split_ascii_whitespace().collect();
        let text: Vec<&str> = words.iter().map(|i| all[i.index(all.len())]).collect();
        assert_no_panic(text.join(" ").as_bytes());
    }
}

#[test]
fn curves_that_differ_only_in_points_and_widths_share_an_entity() {
    let strand = r#"Shape "curve" "string type" "flat" "point3 P" [0 0 0 1 1 1 2 2 2 3 3 3] "#;
    let wide = strand.to_owned() + r#""float width0" 3 "#;
    let short = strand.replace("2 2 2 3 3 3", "2 2 2");
    let d = describe_world(&format!(
        r#"{strand} {wide} AttributeBegin {short} AttributeEnd
        Shape "curve" "string type" "flat" {strand}
        Translate 1 0 0 {strand} ReverseOrientation {strand} Material "hair" {strand}
        Shape "sphere" {strand} {strand} Attribute "shape" "integer degree" 2 {short} {short}
        Shape "curve" "string type" "ribbon" "point3 P" [0 0 0]
        Shape "curve" "string type" "ribbon" "float width" [1 2]"#
    ));
    let runs: Vec<_> = d.shapes.iter().map(|shape| shape.curves.iter().count()).collect();
    assert_eq!(runs, [4, 0, 0, 0, 0, 1, 1, 0, 0]);
    let curves: Vec<_> = d.shapes[0].curves.iter().collect();
    let points: Vec<_> = curves.iter().map(|(_, curve)| curve.points.len()).collect();
    let widths: Vec<_> = curves.iter().map(|(_, curve)| curve.widths).collect();
    assert_eq!((points, widths[0]), (vec![4, 3, 0, 4], [3.0, 1.0]));
    assert_eq!(curves[1].1.points[2], lightbound_math::vec3(2.0, 2.0, 2.0));
    assert_eq!([curves[0].0.line, curves[2].0.line], [2, 3]);
    assert_eq!(d.shapes[0].curves.point_count(), 11);
}
