use super::*;

fn parse(text: &str, diagnostics: &mut Diagnostics) -> Result<Vec<Statement>, SceneError> {
    let mut parser = Parser::new(text.as_bytes(), Source::memory("p.pbrt", text))?;
    let mut statements = Vec::new();
    while let Some(statement) = parser.next(diagnostics)? {
        statements.push(statement);
    }
    Ok(statements)
}

/// Returns message and remedy of the error in `text`, which must have a location.
fn parse_error(text: &str) -> (String, String) {
    let error =
        parse(text, &mut Diagnostics::new(false)).err().unwrap_or_else(|| panic!("{text} passed"));
    assert!(error.location().is_some(), "{text}");
    (
        error.message().to_string(),
        error.remedy().unwrap_or_else(|| panic!("{text}: no remedy for {error}")).to_string(),
    )
}

/// A valid statement for each directive.
const VALID_STATEMENTS: [(&str, &str); 38] = [
    ("Accelerator", r#"Accelerator "bvh""#),
    ("ActiveTransform", "ActiveTransform EndTime"),
    ("AreaLightSource", r#"AreaLightSource "diffuse" "rgb L" [1 1 1]"#),
    ("Attribute", r#"Attribute "shape" "float radius" 2"#),
    ("AttributeBegin", "AttributeBegin"),
    ("AttributeEnd", "AttributeEnd"),
    ("Camera", r#"Camera "perspective" "float fov" [ 30 ]"#),
    ("ColorSpace", r#"ColorSpace "srgb""#),
    ("ConcatTransform", "ConcatTransform [1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1]"),
    ("CoordSysTransform", r#"CoordSysTransform "camera""#),
    ("CoordinateSystem", r#"CoordinateSystem "here""#),
    ("Film", r#"Film "rgb" "integer xresolution" 40"#),
    ("Identity", "Identity"),
    ("Import", r#"Import "a.pbrt""#),
    ("Include", r#"Include "a.pbrt""#),
    ("Integrator", r#"Integrator "path""#),
    ("LightSource", r#"LightSource "point""#),
    ("LookAt", "LookAt 0 0 0  0 0 1  0 1 0"),
    ("MakeNamedMaterial", r#"MakeNamedMaterial "m" "string type" "diffuse""#),
    ("MakeNamedMedium", r#"MakeNamedMedium "fog" "string type" "homogeneous""#),
    ("Material", r#"Material "diffuse""#),
    ("MediumInterface", r#"MediumInterface "fog" """#),
    ("NamedMaterial", r#"NamedMaterial "m""#),
    ("ObjectBegin", r#"ObjectBegin "o""#),
    ("ObjectEnd", "ObjectEnd"),
    ("ObjectInstance", r#"ObjectInstance "o""#),
    ("Option", r#"Option "seed" 7"#),
    ("PixelFilter", r#"PixelFilter "gaussian""#),
    ("ReverseOrientation", "ReverseOrientation"),
    ("Rotate", "Rotate 90 0 0 1"),
    ("Sampler", r#"Sampler "zsobol""#),
    ("Scale", "Scale 1 2 3"),
    ("Shape", r#"Shape "sphere""#),
    ("Texture", r#"Texture "t" "spectrum" "constant""#),
    ("Transform", "Transform [1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1]"),
    ("TransformTimes", "TransformTimes 0 1"),
    ("Translate", "Translate 1 -2 3e-1"),
    ("WorldBegin", "WorldBegin"),
];

#[test]
fn every_directive_parses() {
    for (keyword, text) in VALID_STATEMENTS {
        let statements =
            parse(text, &mut Diagnostics::new(true)).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(statements.iter().map(|s| s.keyword).collect::<Vec<_>>(), [keyword]);
    }
    let all: Vec<&str> = VALID_STATEMENTS.iter().map(|(_, text)| *text).collect();
    assert_eq!(
        parse(&all.join("\n"), &mut Diagnostics::new(true)).unwrap().len(),
        VALID_STATEMENTS.len()
    );
    // TransformBegin and TransformEnd give warnings.
    assert_eq!(VALID_STATEMENTS.len() + 2, DIRECTIVES.len());
}

#[test]
fn missing_and_invalid_arguments_are_rejected() {
    for (keyword, text) in VALID_STATEMENTS.iter().filter(|(keyword, text)| keyword != text) {
        let (message, _) = parse_error(keyword);
        assert!(message.contains("unexpected end of file"), "{keyword}: {message}");
        for (rest, part) in [("]", "\"]\""), ("\"x", "unterminated"), ("nan", "nan")] {
            let (message, _) = parse_error(&format!("{keyword} {rest}"));
            assert!(message.contains(part), "{keyword} {rest}: {message}");
        }
        // Truncated text is an error or a shorter statement, and never panics.
        for end in keyword.len()..text.len() {
            let _ = parse(&text[..end], &mut Diagnostics::new(false));
        }
    }
}

#[test]
fn deprecated_names_give_warnings_with_the_replacement() {
    let mut diagnostics = Diagnostics::new(false);
    let text = "TransformBegin Shape \"disk\" \"point a\" [1 2 3] \"vector b\" [1 2 3] \"normal3 c\" [0 0 1] TransformEnd";
    let statements = parse(text, &mut diagnostics).unwrap();
    assert!(matches!(statements[0].directive, Directive::AttributeBegin));
    assert!(matches!(statements[2].directive, Directive::AttributeEnd));
    let warnings: Vec<String> = diagnostics.warnings().iter().map(|w| w.to_string()).collect();
    for (warning, part) in warnings.iter().zip(["AttributeBegin", "point3", "vector3", "normal"]) {
        assert!(warning.contains(part), "{warning}");
    }
    assert_eq!(warnings.len(), 4);
}

#[test]
fn pbrt_v3_names_are_errors_with_the_replacement() {
    for (text, part) in [
        ("WorldEnd", "remove WorldEnd"),
        (r#"Material "matte" "rgb Kd" [1 1 1]"#, "diffuse"),
        (r#"Material "metal""#, "conductor"),
        (r#"Material "mirror""#, "conductor"),
        (r#"Material "glass""#, "dielectric"),
        (r#"Material "plastic""#, "coateddiffuse"),
        (r#"Material "uber""#, "coateddiffuse"),
        (r#"Material "substrate""#, "coateddiffuse"),
        (r#"Material "translucent""#, "diffusetransmission"),
        (r#"MakeNamedMaterial "a" "string type" "matte""#, "diffuse"),
        (r#"Material "diffuse" "texture Kd" "t""#, "reflectance"),
        (r#"MakeNamedMaterial "a" "string type" "diffuse" "rgb Kd" [1 1 1]"#, "reflectance"),
        (r#"Attribute "material" "texture bumpmap" "t""#, "displacement"),
        (r#"Film "image""#, "rgb"),
        (r#"Film "rgb" "float scale" 2"#, "iso"),
        (r#"Sampler "02sequence""#, "paddedsobol"),
        (r#"Sampler "random""#, "independent"),
        (r#"PixelFilter "box" "float xwidth" 1"#, "xradius"),
        (r#"Integrator "directlighting""#, "path"),
        (r#"Camera "environment""#, "spherical"),
        (r#"LightSource "infinite" "string mapname" "a.exr""#, "filename"),
        (r#"AreaLightSource "area""#, "diffuse"),
        (r#"Shape "heightfield""#, "trianglemesh"),
        (r#"Texture "t" "color" "constant""#, "spectrum"),
        (r#"Texture "t" "spectrum" "imagemap" "bool trilinear" true"#, "filter"),
        (r#"Material "diffuse" "color reflectance" [1 1 1]"#, "rgb"),
        (r#"Material "diffuse" "xyz reflectance" [1 1 1]"#, "rgb"),
        (r#"MakeNamedMedium "m" "string type" "heterogeneous""#, "uniformgrid"),
    ] {
        let (message, remedy) = parse_error(text);
        assert!(
            remedy.contains(part)
                && (message.contains("from pbrt-v3") || message.contains("from an older format")),
            "{text}: {message}; {remedy}"
        );
    }
    // Parameters of shaders may have such names.
    parse(
        r#"Material "shader" "string filename" "a.wgsl" "rgb Kd" [1 1 1]"#,
        &mut Diagnostics::new(true),
    )
    .unwrap();
}

#[test]
fn malformed_input_is_an_error_with_a_remedy() {
    for (text, message_part, remedy_part) in [
        ("Shpe \"sphere\"", "unknown directive", "Shape"),
        ("shape \"sphere\"", "unknown directive", "Shape"),
        ("Xyzzy", "unknown directive", "pbrt.org"),
        ("Camera \"a\" \"float fov\" 3 4", "unknown directive \"4\"", "brackets"),
        ("\"sphere\"", "expected a directive", "quotes"),
        ("Identity ]", "expected a directive", "brackets"),
        ("Shape sphere", "quoted", "quotes"),
        ("Shape \"sphere\" \"radius\" 1", "\"type name\"", "such as"),
        ("Shape \"sphere\" \"float radius extra\" 1", "\"type name\"", "such as"),
        ("Shape \"sphere\" \"flota radius\" 1", "unknown parameter type", "\"float\""),
        ("Shape \"sphere\" \"float radius\" \"1\"", "expected a number", "a number"),
        ("Shape \"sphere\" \"float radius\" nan", "expected a number", "finite"),
        ("Shape \"sphere\" \"float radius\" [inf]", "expected a number", "finite"),
        ("Shape \"sphere\" \"float radius\" 1e39", "1e39", "too large"),
        ("Shape \"sphere\" \"float radius\" 0x10", "expected a number", "a number"),
        ("Shape \"sphere\" \"integer n\" 2147483648", "an integer", "2147483647"),
        ("Shape \"sphere\" \"integer n\" 1.5", "an integer", "decimal point"),
        ("Shape \"sphere\" \"bool b\" 1", "true or false", "true or false"),
        ("Shape \"sphere\" \"string s\" 1", "quoted string", "quoted string"),
        ("Shape \"sphere\" \"float radius\" [\"a\"]", "found the string \"a\"", "without quotes"),
        ("Shape \"sphere\" \"float radius\" [a]", "found \"a\"", "write a number"),
        ("Shape \"sphere\" \"integer n\" [1 \"2\"]", "an integer", "without quotes"),
        ("Shape \"sphere\" \"bool b\" [\"x\"]", "true or false", "write true or false"),
        ("Shape \"sphere\" \"spectrum s\" [400 \"x\"]", "expected a number", "without quotes"),
        ("Shape \"sphere\" \"string s\" [\"x\" Shape", "found \"Shape\"", "missing"),
        ("Shape \"sphere\" \"point3 P\" [1 2 3\nShape \"disk\"", "found \"Shape\"", "line 1"),
        ("Shape \"sphere\" \"point3 P\" [1 2 3\n \"float r\" 2", "found the string", "missing"),
        ("Shape \"sphere\" \"point3 P\" [1 2 3", "never closed", "\"]\""),
        ("Shape \"sphere\" \"point3 P\" [1 [2] 3]", "expected a number", "missing"),
        ("Shape \"sphere\" \"point3 P\"", "unexpected end of file", "truncated"),
        ("Translate 1 2 Identity", "takes 3 numbers, found 2", "written as"),
        ("Translate 1 2 1e999", "1e999", "too large"),
        ("Scale [1 2 3 4]", "found more", "]"),
        ("Transform [1 0 0]", "takes 16 numbers, found 3", "written as"),
        ("ActiveTransform \"All\"", "StartTime", "without quotes"),
        ("Texture \"t\" \"flot\" \"constant\"", "unknown texture type", "float"),
        ("Option \"seed\" [1 2]", "one value", "one"),
    ] {
        let (message, remedy) = parse_error(text);
        assert!(
            message.contains(message_part) && remedy.contains(remedy_part),
            "{text}: {message}; {remedy}"
        );
    }
}

#[test]
fn brackets_around_arguments_are_optional() {
    for text in [
        "Translate [1 2 3]",
        "Translate 1 2 3",
        "Translate[1 2 3]# a comment",
        "Translate 1#\n2 +3",
    ] {
        let statements = parse(text, &mut Diagnostics::new(true)).unwrap();
        assert!(matches!(statements[0].directive, Directive::Translate([1.0, 2.0, 3.0])), "{text}");
    }
    let option = |text| match parse(text, &mut Diagnostics::new(true)).unwrap().remove(0).directive
    {
        Directive::Option { name, value } => (name.text, value),
        other => panic!("{other:?}"),
    };
    for text in ["Option \"seed\" 7", "Option \"integer seed\" [7]", "Option \"seed\" \"7\""] {
        assert_eq!(option(text), ("seed".to_string(), "7".to_string()));
    }
}

#[test]
fn single_medium_applies_to_both_sides() {
    let statements = parse("MediumInterface \"a\" Identity", &mut Diagnostics::new(true)).unwrap();
    let Directive::MediumInterface { inside, outside } = &statements[0].directive else { panic!() };
    assert_eq!((inside.text.as_str(), outside.text.as_str()), ("a", "a"));
}

#[test]
fn errors_locate_the_offending_token() {
    let error = parse(
        "WorldBegin\n  Shape \"sphere\"\n    \"float radius\" [ 1 x ]",
        &mut Diagnostics::new(false),
    )
    .unwrap_err();
    assert_eq!(error.location().unwrap().to_string(), "p.pbrt:3:24");
}
