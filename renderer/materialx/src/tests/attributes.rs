//! Tests of attributes of vertices.

use super::{convert, document, inputs, member};
use crate::Material;

/// The names of the attributes, their parameters, and whether shapes should have them.
fn attributes(material: &Material) -> Vec<(&str, &str, bool)> {
    let all = material.attributes.iter();
    all.map(|a| (a.name.as_str(), a.parameter.as_str(), a.is_required)).collect()
}

/// A material whose base colour is a node of this type with these inputs.
fn reading(category: &str, ty: &str, given: &str) -> Material {
    let nodes = format!(
        "<{category} name=\"n\" type=\"{ty}\">{}</{category}>\
         <convert name=\"c\" type=\"color3\"><input name=\"in\" type=\"{ty}\" nodename=\"n\"/>\
         </convert>",
        inputs(given)
    );
    convert(&document(&nodes, "nodename=\"c\"")).unwrap()
}

#[test]
fn attributes_are_parameters_with_the_default_of_the_node() {
    let wear = "geomprop:string=wear default:float=0.25";
    let material = reading("geompropvalue", "float", wear);
    assert_eq!(attributes(&material), [("wear", "wear", false)]);
    assert_eq!(member(&material, "base_color"), [0.25; 3]);
    assert!(material.warnings.is_empty(), "{:?}", material.warnings);
    let text = "Texture \"wear\" \"float\" \"attribute\" \"string attribute\" \"wear\" \
                \"float default\" 0.25\n//! \"texture wear\" \"wear\"";
    assert!(material.text.contains(text), "{}", material.text);

    let material = reading("UsdPrimvarReader", "vector3", "varname:string=flow");
    assert_eq!(attributes(&material), [("flow", "flow", true)]);
    assert_eq!(member(&material, "base_color"), [0.0; 3]);

    let material = reading("geompropvalue", "integer", "geomprop:string=id default:integer=2");
    assert_eq!(member(&material, "base_color"), [2.0; 3]);
}

#[test]
fn colours_have_the_opacity_of_vertices() {
    // Other structs of the library's shaders have members of these names.
    let material = reading("geomcolor", "color4", "");
    assert_eq!(attributes(&material), [("color", "color", true), ("alpha", "alpha", false)]);
    assert_eq!(member(&material, "base_color"), [0.0; 3]);
    let material = reading("UsdPrimvarReader", "color3", "varname:string=displayColor");
    assert_eq!(attributes(&material), [("color", "color", true)]);
}

#[test]
fn other_texture_coordinates_are_attributes() {
    let material = reading("texcoord", "vector2", "index:integer=1");
    assert_eq!(attributes(&material), [("uv1", "uv1", true)]);
    assert!(reading("texcoord", "vector2", "index:integer=0").attributes.is_empty());
}

#[test]
fn nodes_share_an_attribute() {
    let read = |name: &str| {
        format!(
            "<geompropvalue name=\"{name}\" type=\"color3\">{}</geompropvalue>",
            inputs("geomprop:string=uv default:color3=0.5,0.5,0.5")
        )
    };
    let sum = "<add name=\"sum\" type=\"color3\"><input name=\"in1\" type=\"color3\" \
        nodename=\"a\"/><input name=\"in2\" type=\"color3\" nodename=\"b\"/></add>";
    let nodes = format!("{}{}{sum}", read("a"), read("b"));
    let material = convert(&document(&nodes, "nodename=\"sum\"")).unwrap();
    // The name of a member of `SurfacePoint` is not that of a parameter.
    assert_eq!(attributes(&material), [("uv", "uv_2", false)]);
    assert_eq!(member(&material, "base_color"), [1.0; 3]);
}
