//! Attributes of vertices that a material reads.

/// An attribute of vertices that a parameter of the program has.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// Name of the parameter.
    pub parameter: String,
    /// Name of the attribute.
    pub name: String,
    /// Value on shapes without the attribute; a parameter with n components has the first n.
    pub default: [f64; 3],
    /// Whether the document gives no default, so that shapes should have the attribute.
    pub is_required: bool,
}

impl Attribute {
    /// The texture that has the values, as it is declared in a scene; `size` is the number of
    /// components of the parameter.
    pub(crate) fn declaration(&self, size: usize) -> String {
        let Attribute { parameter, name, default, is_required } = self;
        let name: String = name.chars().filter(|c| !c.is_control() && *c != '"').collect();
        let [x, y, z] = default.map(|x| x as f32);
        let (ty, default) = match (size, is_required) {
            (1, true) => ("float", String::new()),
            (1, false) => ("float", format!(" \"float default\" {x}")),
            (_, true) => ("spectrum", String::new()),
            (_, false) => ("spectrum", format!(" \"rgb default\" [{x} {y} {z}]")),
        };
        let head = format!("Texture \"{parameter}\" \"{ty}\" \"attribute\"");
        format!("{head} \"string attribute\" \"{name}\"{default}")
    }
}
