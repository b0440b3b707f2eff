//! Nodes that sample images.

use super::{convert, geometric, swizzle};
use crate::colour::Transfer;
use crate::document::Id;
use crate::error::Error;
use crate::graph::{Graph, Scope};
use crate::textures::{Encoding, Texture, Wrap};
use crate::values::{Term, Type};

/// What stands for the number of a tile in names of files.
const TOKEN: &str = "<UDIM>";

/// Evaluates a node that samples an image; `None` if it does not.
pub(super) fn evaluate(
    g: &mut Graph,
    scope: Scope,
    node: Id,
    output: &str,
) -> Option<Result<Term, Error>> {
    Some(match g.document.category(node) {
        "image" => image(g, scope, node),
        "tiledimage" => tiled(g, scope, node),
        "hextiledimage" => hextiled(g, scope, node),
        "triplanarprojection" => triplanar(g, scope, node),
        "UsdUVTexture" => usd(g, scope, node, output),
        "gltf_image" => gltf(g, scope, node),
        "gltf_colorimage" => gltf_color(g, scope, node, output),
        "gltf_normalmap" => gltf_normal(g, scope, node),
        "gltf_iridescence_thickness" => gltf_thickness(g, scope, node),
        _ => return None,
    })
}

/// Evaluates an input, or returns its default.
fn input(
    g: &mut Graph,
    scope: Scope,
    node: Id,
    name: &str,
    (ty, default): (Type, f64),
) -> Result<Term, Error> {
    Ok(g.input(scope, node, name, ty)?.unwrap_or_else(|| Term::constant(ty, &[default])))
}

/// The texture coordinates of a node.
fn uv(g: &mut Graph, scope: Scope, node: Id, name: &str) -> Result<Term, Error> {
    let given = g.input(scope, node, name, Type::Vector2)?;
    Ok(given.unwrap_or_else(|| geometric(g, "UV0").expect("it is known")))
}

fn image(g: &mut Graph, scope: Scope, node: Id) -> Result<Term, Error> {
    let ty = g.declared_type(node)?;
    let uv = uv(g, scope, node, "texcoord")?;
    let sampler = Sampler::new(g, scope, node, ["file", "uaddressmode", "vaddressmode"], ty)?;
    sampler.sample(g, scope, node, ty, uv, "default")
}

/// `tiledimage`: texture coordinates with a scale and an offset.
fn tiled(g: &mut Graph, scope: Scope, node: Id) -> Result<Term, Error> {
    let ty = g.declared_type(node)?;
    let mut uv = uv(g, scope, node, "texcoord")?;
    let mut operations = String::new();
    for (name, operator, neutral) in [
        ("uvtiling", "*", 1.0),
        ("uvoffset", "-", 0.0),
        ("realworldimagesize", "/", 1.0),
        ("realworldtilesize", "*", 1.0),
    ] {
        let term = input(g, scope, node, name, (Type::Vector2, neutral))?;
        if !term.is(neutral) {
            operations = match operations.is_empty() {
                true => format!("{uv} {operator} {term}"),
                false => format!("({operations}) {operator} {term}"),
            };
        }
    }
    if !operations.is_empty() {
        uv = g.bind_as("uv", node, Type::Vector2, operations)?;
    }
    let sampler = Sampler::new(g, scope, node, ["file", "", ""], ty)?;
    sampler.sample(g, scope, node, ty, uv, "default")
}

fn hextiled(g: &mut Graph, scope: Scope, node: Id) -> Result<Term, Error> {
    let ty = g.declared_type(node)?;
    let uv = uv(g, scope, node, "texcoord")?;
    let float = |default| (Type::Float, default);
    let tiling = input(g, scope, node, "tiling", (Type::Vector2, 1.0))?;
    let rotation = input(g, scope, node, "rotation", float(1.0))?;
    let scale = input(g, scope, node, "scale", float(1.0))?;
    let offset = input(g, scope, node, "offset", float(1.0))?;
    let falloff = input(g, scope, node, "falloff", float(0.5))?;
    let contrast = input(g, scope, node, "falloffcontrast", float(0.5))?;
    let mut pair = |name, default: [f64; 2]| {
        let given = g.input(scope, node, name, Type::Vector2)?;
        Ok::<_, Error>(given.unwrap_or(Term::constant(Type::Vector2, &default)))
    };
    let rotations = pair("rotationrange", [0.0, 360.0])?;
    let scales = pair("scalerange", [0.5, 2.0])?;
    let offsets = pair("offsetrange", [0.0, 1.0])?;
    let weights = g.input(scope, node, "lumacoeffs", Type::Color3)?;
    let weights =
        weights.unwrap_or(Term::constant(Type::Color3, &[0.2722287, 0.6740818, 0.0536895]));
    let sampler = Sampler::new(g, scope, node, ["file", "", ""], ty)?;
    let tiles = g.bind_as(
        "tiles",
        node,
        Type::Vector2,
        format!(
            "mx_hextiles({uv} * {tiling}, {rotation}, {rotations}, {scale}, {scales}, {offset}, \
             {offsets})"
        ),
    )?;
    let mut colors = Vec::new();
    for tile in ["a", "b", "c"] {
        let at = Term::expression(Type::Vector2, format!("{tiles}.{tile}"));
        let color = sampler.lookup(Type::Color3, &at);
        colors.push(g.bind_as(tile, node, Type::Color3, color)?.text);
    }
    let colors = colors.join(", ");
    let blended = g.bind(
        node,
        Type::Color3,
        format!("mx_hextile_blend({tiles}, {colors}, {falloff}, {contrast}, {weights})"),
    )?;
    convert(g, node, blended, ty)
}

/// `triplanarprojection`: images along the axes, mixed by the normal.
fn triplanar(g: &mut Graph, scope: Scope, node: Id) -> Result<Term, Error> {
    let ty = g.declared_type(node)?;
    let mut vector = |name, default| {
        let given = g.input(scope, node, name, Type::Vector3)?;
        Ok::<_, Error>(given.unwrap_or_else(|| geometric(g, default).expect("it is known")))
    };
    let (position, normal) = (vector("position", "Pobject")?, vector("normal", "Nobject")?);
    let blend = input(g, scope, node, "blend", (Type::Float, 1.0))?;
    let up = g.string(scope, node, "upaxis")?.map_or("2", |(_, axis)| axis);
    let planes = match up {
        "0" => ["zy", "zx", "yx"],
        "1" => ["zy", "xz", "xy"],
        _ => ["yz", "xz", "xy"],
    };
    let mut sides = Vec::new();
    for (axis, plane) in ["x", "y", "z"].into_iter().zip(planes) {
        let file = format!("file{axis}");
        let sampler = Sampler::new(g, scope, node, [&file, "", ""], ty)?;
        let text = match (up, axis) {
            ("0", "z") => format!("vec2f(-{position}.y, {position}.x)"),
            _ => format!("{position}.{plane}"),
        };
        let lookup = sampler.lookup(ty, &Term::expression(Type::Vector2, text));
        sides.push(g.bind_as(axis, node, ty, lookup)?);
    }
    let weights = g.bind_as(
        "weights",
        node,
        Type::Vector3,
        format!("pow(abs({normal}), vec3f(1.0 / max({blend}, 0.03)))"),
    )?;
    let sum = format!("({weights}.x + {weights}.y + {weights}.z)");
    let [x, y, z] = &sides[..] else { unreachable!("there are three axes") };
    g.bind(node, ty, format!("({x} * {weights}.x + {y} * {weights}.y + {z} * {weights}.z) / {sum}"))
}

/// `UsdUVTexture`, which scales its result.
fn usd(g: &mut Graph, scope: Scope, node: Id, output: &str) -> Result<Term, Error> {
    let uv = uv(g, scope, node, "st")?;
    let sampler = Sampler::new(g, scope, node, ["file", "wrapS", "wrapT"], Type::Color4)?;
    let mut color = sampler.sample(g, scope, node, Type::Color4, uv, "fallback")?;
    let scale = input(g, scope, node, "scale", (Type::Color4, 1.0))?;
    let bias = input(g, scope, node, "bias", (Type::Color4, 0.0))?;
    if !scale.is(1.0) || !bias.is(0.0) {
        color = g.bind(node, Type::Color4, format!("{color} * {scale} + {bias}"))?;
    }
    match output {
        "rgba" => Ok(color),
        "r" | "g" | "b" | "a" => swizzle(g, node, &color, output),
        _ => swizzle(g, node, &color, "rgb"),
    }
}

/// An image of glTF, with its transformation of texture coordinates.
fn gltf_texel(g: &mut Graph, scope: Scope, node: Id, ty: Type, order: f64) -> Result<Term, Error> {
    let mut at = uv(g, scope, node, "texcoord")?;
    let pivot = g.input(scope, node, "pivot", Type::Vector2)?;
    let pivot = pivot.unwrap_or(Term::constant(Type::Vector2, &[0.0, 1.0]));
    let scale = input(g, scope, node, "scale", (Type::Vector2, 1.0))?;
    let rotate = input(g, scope, node, "rotate", (Type::Float, 0.0))?;
    let offset = input(g, scope, node, "offset", (Type::Vector2, 0.0))?;
    let order = input(g, scope, node, "operationorder", (Type::Integer, order))?;
    if !(scale.is(1.0) && rotate.is(0.0) && offset.is(0.0)) {
        let text = format!("mx_gltf_place2d({at}, {pivot}, {scale}, {rotate}, {offset}, {order})");
        at = g.bind_as("uv", node, Type::Vector2, text)?;
    }
    let sampler = Sampler::new(g, scope, node, ["file", "uaddressmode", "vaddressmode"], ty)?;
    sampler.sample(g, scope, node, ty, at, "default")
}

fn gltf(g: &mut Graph, scope: Scope, node: Id) -> Result<Term, Error> {
    let ty = g.declared_type(node)?;
    let order = if ty == Type::Color4 { 1.0 } else { 0.0 };
    let texel = gltf_texel(g, scope, node, ty, order)?;
    let factor = input(g, scope, node, "factor", (ty, 1.0))?;
    if factor.is(1.0) {
        return Ok(texel);
    }
    g.bind(node, ty, format!("{texel} * {factor}"))
}

fn gltf_color(g: &mut Graph, scope: Scope, node: Id, output: &str) -> Result<Term, Error> {
    let mut color = gltf_texel(g, scope, node, Type::Color4, 0.0)?;
    for name in ["color", "geomcolor"] {
        let factor = input(g, scope, node, name, (Type::Color4, 1.0))?;
        if !factor.is(1.0) {
            color = g.bind(node, Type::Color4, format!("{color} * {factor}"))?;
        }
    }
    swizzle(g, node, &color, if output == "outa" { "a" } else { "rgb" })
}

fn gltf_normal(g: &mut Graph, scope: Scope, node: Id) -> Result<Term, Error> {
    let texel = gltf_texel(g, scope, node, Type::Vector3, 0.0)?;
    g.bind(node, Type::Vector3, format!("mx_normalmap({texel}, vec2f(1.0))"))
}

fn gltf_thickness(g: &mut Graph, scope: Scope, node: Id) -> Result<Term, Error> {
    let texel = gltf_texel(g, scope, node, Type::Vector3, 0.0)?;
    let thin = input(g, scope, node, "thicknessMin", (Type::Float, 100.0))?;
    let thick = input(g, scope, node, "thicknessMax", (Type::Float, 400.0))?;
    g.bind(node, Type::Float, format!("mix({thin}, {thick}, {texel}.y)"))
}

/// How a node samples its image.
struct Sampler {
    /// Name of the texture in the program.
    texture: String,
    /// The parameter with its tiles, if there are any.
    tiles: Option<String>,
    /// Address modes along u and v.
    modes: [String; 2],
    /// Conversion of texels, if they are colours.
    space: Option<crate::colour::ColourSpace>,
}

impl Sampler {
    /// Finds the image of a node, by the names of its inputs for the file and for address modes.
    fn new(
        g: &mut Graph,
        scope: Scope,
        node: Id,
        [file, u, v]: [&str; 3],
        ty: Type,
    ) -> Result<Sampler, Error> {
        let document = g.document;
        let Some((at, path)) = g.string(scope, node, file)? else {
            return Err(document.error(
                node,
                format!("{} has no file", document.label(node)),
                format!("give \"{file}\" a value"),
            ));
        };
        let is_tiled = path.contains(TOKEN);
        let other = path.replace(TOKEN, "");
        if let Some(start) = other.find('<') {
            return Err(document.error(
                at,
                format!("file names with {} are not supported", &other[start..]),
                "merge the frames into one image; tiles have <UDIM>",
            ));
        }
        let mode = |name: &str| {
            let given = if name.is_empty() { None } else { g.string(scope, node, name)? };
            let mode = given.map_or("periodic", |(_, mode)| mode);
            match mode {
                "periodic" | "clamp" | "mirror" | "constant" => Ok(mode.to_owned()),
                "repeat" | "useMetadata" => Ok("periodic".to_owned()),
                "black" => Ok("constant".to_owned()),
                _ => Err(document.error(
                    node,
                    format!("unknown address mode \"{mode}\""),
                    "use periodic, clamp, mirror or constant",
                )),
            }
        };
        let modes = [mode(u)?, mode(v)?];
        let filter = g.string(scope, node, "filtertype")?.map_or("linear", |(_, filter)| filter);
        let space = match ty.is_colour() {
            true => Some(g.colour_space(at)?),
            false => None,
        };
        let is_srgb = space.is_some_and(|space| space.transfer == Transfer::Srgb);
        let prefix = document.inherited(at, "fileprefix").unwrap_or_default();
        let path = format!("{prefix}{path}");
        let is_absolute = path.starts_with('/');
        let file = if is_absolute { path } else { format!("{}{path}", document.folder(at)) };
        g.add_file(at, &file);
        let texture = Texture {
            name: String::new(),
            file,
            encoding: if is_srgb { Encoding::Srgb } else { Encoding::Linear },
            tiles: is_tiled.then(String::new),
            wrap: match modes == ["periodic", "periodic"] && !is_tiled {
                true => Wrap::Repeat,
                false => Wrap::Clamp,
            },
            is_interpolated: filter != "closest",
        };
        let texture = g.texture(node, texture);
        let tiles = g.textures.iter().find(|known| known.name == texture);
        let tiles = tiles.and_then(|texture| texture.tiles.clone());
        let modes = if is_tiled { ["clamp", "clamp"].map(str::to_owned) } else { modes };
        Ok(Sampler { texture, tiles, modes, space })
    }

    /// The expression of a lookup.
    fn lookup(&self, ty: Type, uv: &Term) -> String {
        let name = &self.texture;
        let is_uniform = self.modes[0] == self.modes[1];
        let at = match (&self.tiles, self.modes[0].as_str()) {
            (Some(tiles), _) => format!("({uv} - m.{tiles}.xy) / m.{tiles}.zw"),
            (None, "periodic" | "clamp" | "constant") if is_uniform => uv.text.clone(),
            _ => {
                let coordinate = |mode: &str, axis: &str| match mode {
                    "periodic" => format!("fract({uv}.{axis})"),
                    "mirror" => format!("mx_mirror({uv}.{axis})"),
                    _ => format!("{uv}.{axis}"),
                };
                let [u, v] = [coordinate(&self.modes[0], "x"), coordinate(&self.modes[1], "y")];
                format!("vec2f({u}, {v})")
            }
        };
        let sample = format!("textureSample({name}, {name}_sampler, {at})");
        let channels = match ty.size() {
            1 => ".r",
            2 => ".rg",
            3 => ".rgb",
            _ => "",
        };
        let sample = format!("{sample}{channels}");
        match self.space {
            Some(space) => space.convert_texels(sample, ty),
            None => sample,
        }
    }

    /// The texel at texture coordinates, or outside of the image the input `default`.
    fn sample(
        &self,
        g: &mut Graph,
        scope: Scope,
        node: Id,
        ty: Type,
        uv: Term,
        default: &str,
    ) -> Result<Term, Error> {
        if !matches!(ty, Type::Float) && !ty.is_vector() {
            let document = g.document;
            return Err(document.error(
                node,
                format!("an image cannot be of type {}", ty.name()),
                "use float, a colour or a vector",
            ));
        }
        let mut text = self.lookup(ty, &uv);
        let inside: Vec<String> = ["x", "y"]
            .into_iter()
            .zip(&self.modes)
            .filter(|(_, mode)| *mode == "constant")
            .map(|(axis, _)| format!("mx_is_inside({uv}.{axis})"))
            .collect();
        if !inside.is_empty() {
            let outside = input(g, scope, node, default, (ty, 0.0))?;
            text = format!("select({outside}, {text}, {})", inside.join(" && "));
        }
        g.bind(node, ty, text)
    }
}
