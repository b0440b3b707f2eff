//! The text of a program: the shader of a surface, with its values as defaults, and `fn material` for
//! what is computed.

use crate::functions::needed;
use crate::graph::{Origin, Parameter, one_line};
use crate::scene::{Channel, Dispersion, Emission, Opacity, OpacityValue, Volume};
use crate::surfaces::Code;
use crate::textures::{Encoding, Texture, Wrap};
use crate::values::{Term, number};
use lightbound_shader::{Scalar, Shader, ShaderError};
use std::borrow::Cow;
use std::fmt::Write;

/// The shaders that surfaces become: two of the library, and others, without the functions that
/// begin with `mx_`.
pub(crate) const SHADERS: [(&str, &str); 5] = [
    ("gltf", include_str!("../../../assets/shaders/gltf.wgsl")),
    ("gltf_pbr", include_str!("surfaces/gltf_pbr.wgsl")),
    ("openpbr", include_str!("../../../assets/shaders/openpbr.wgsl")),
    ("standard_surface", include_str!("surfaces/standard_surface.wgsl")),
    ("usd_preview_surface", include_str!("surfaces/usd_preview_surface.wgsl")),
];

/// A shader whose parameters get the values of a surface.
pub(crate) struct Template {
    text: String,
    shader: Shader,
}

/// What a program is made of.
pub(crate) struct Program<'a> {
    /// Name of the document and of the material.
    pub origin: [&'a str; 2],
    /// Members of `Material`, and their values.
    pub values: &'a [(Cow<'static, str>, Term)],
    pub parameters: &'a [Parameter],
    pub textures: &'a [Texture],
    pub emission: Option<&'a Emission>,
    pub volume: Option<&'a Volume>,
    pub opacity: Option<&'a Opacity>,
    /// Dispersion of clear glass, and its index.
    pub glass: Option<(&'a Dispersion, f64)>,
    /// Statements of `fn material`.
    pub statements: &'a [String],
    /// Statements of `fn normal`, and its result.
    pub normal: Option<(&'a [String], Term)>,
}

impl Program<'_> {
    /// Whether nodes compute a member of `Material`.
    fn computes(&self, member: &str) -> bool {
        self.values.iter().any(|(name, value)| *name == member && value.constant.is_none())
    }
}

impl Template {
    /// The template of a surface.
    ///
    /// # Errors
    /// If a tree of BSDFs is too large for a shader.
    pub fn new(name: &str, code: &Code) -> Result<Template, ShaderError> {
        let text = match code {
            Code::Shader(name) => {
                let found = SHADERS.iter().find(|(n, _)| n == name);
                found.expect("it is in the list").1
            }
            Code::Tree(text) => text,
        };
        let functions = needed([text].into_iter());
        let functions = functions.iter().rev().map(|function| format!("\n{function}\n"));
        let text = format!("{text}{}", functions.collect::<String>());
        let shader = Shader::parse(name, &text)?;
        Ok(Template { text, shader })
    }

    /// Whether `Material` has a member of this name.
    pub fn has(&self, member: &str) -> bool {
        self.shader.parameters().iter().any(|parameter| parameter.name == member)
    }

    /// The range of a member of `Material`.
    pub fn range(&self, member: &str) -> [f64; 2] {
        let mut members = self.shader.parameters().iter();
        let found = members.find(|parameter| parameter.name == member);
        let parameter = found.unwrap_or_else(|| panic!("the shader has no parameter {member}"));
        match parameter.scalar {
            Scalar::Bool => [0.0, 1.0],
            _ => parameter.range,
        }
    }

    /// The text of a program.
    pub fn program(&self, program: &Program) -> String {
        let head_end = self.text.lines().take_while(|line| line.starts_with("//!")).count();
        let lines: Vec<&str> = self.text.lines().collect();
        let (head, body) = lines.split_at(head_end);
        let is_clause = |line: &&&str| {
            let text = line.trim_start_matches("//!").trim();
            text.starts_with("sides:") || text.starts_with("cosine:")
        };
        let mut text = String::new();
        for clause in head.iter().filter(is_clause) {
            // What nodes compute may differ from 0.
            text += match clause.split_once(" if ") {
                Some((always, names)) if names.split(" or ").any(|n| program.computes(n)) => always,
                _ => clause,
            };
            text += "\n";
        }
        text += &description(program);
        let rest = head.iter().filter(|line| !is_clause(line)).skip_while(|line| line.len() == 3);
        for line in rest {
            text += line;
            text += "\n";
        }
        for texture in program.textures {
            let name = &texture.name;
            write!(
                text,
                "\n/// {}\nvar {name}: texture_2d<f32>;\nvar {name}_sampler: sampler;\n",
                one_line(&texture.file)
            )
            .expect("a string");
        }
        text += &functions(program);
        text += &self.body(body, program);
        text
    }

    /// The shader without its head, with other defaults and more parameters.
    fn body(&self, lines: &[&str], program: &Program) -> String {
        let mut text = String::new();
        // The declaration of a member and the lines of its comment.
        let mut comment: Vec<String> = Vec::new();
        let mut in_material = false;
        for line in lines {
            if line.starts_with("struct Material") {
                in_material = true;
            } else if in_material && *line == "}" {
                in_material = false;
                program.parameters.iter().for_each(|parameter| text += &declaration(parameter));
            } else if in_material && line.trim_start().starts_with("///") {
                comment.push((*line).to_owned());
                continue;
            } else if in_material {
                let name = line.trim().split(':').next().unwrap_or_default();
                if let Some((_, value)) = program.values.iter().find(|(n, _)| *n == name)
                    && let Some(constant) = &value.constant
                {
                    set_default(&mut comment, constant, line.contains("bool"));
                }
                for line in comment.drain(..) {
                    text += &line;
                    text += "\n";
                }
            }
            text += line;
            text += "\n";
        }
        text
    }
}

/// A constant as the value of a clause `default:`.
fn default_text(constant: &[f64], is_bool: bool) -> String {
    match constant {
        [x] if is_bool => (*x != 0.0).to_string(),
        [x] => clause_number(*x),
        _ if constant.iter().all(|x| *x == constant[0]) => clause_number(constant[0]),
        _ => {
            let numbers: Vec<String> = constant.iter().map(|x| clause_number(*x)).collect();
            format!("({})", numbers.join(", "))
        }
    }
}

/// A number in a clause, without a fraction of zero.
fn clause_number(x: f64) -> String {
    let text = number(x);
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// Replaces the default in a comment.
fn set_default(comment: &mut [String], constant: &[f64], is_bool: bool) {
    let line = comment.iter_mut().find(|line| line.contains("default: "));
    let line = line.expect("members of library shaders have defaults");
    let start = line.find("default: ").expect("it is in the line") + "default: ".len();
    line.replace_range(start.., &default_text(constant, is_bool));
}

/// The declaration of a parameter.
pub(crate) fn declaration(parameter: &Parameter) -> String {
    let Parameter { name, default, range, meaning, .. } = parameter;
    let range = match range {
        Some([low, high]) => {
            format!("range: [{}, {}], ", clause_number(*low), clause_number(*high))
        }
        None => String::new(),
    };
    let is_bool = default.ty == crate::values::Type::Boolean;
    let constant = default.constant.as_ref().expect("defaults are constant");
    // A colon in the meaning could be that of a clause.
    let meaning = meaning.replace(':', " ");
    format!(
        "    /// {meaning}. {range}default: {}\n    {name}: {},\n",
        default_text(constant, is_bool),
        default.ty.wgsl()
    )
}

/// The head of the file: what it is, and how a scene uses it.
fn description(program: &Program) -> String {
    let [document, material] = program.origin.map(one_line);
    let mut text =
        format!("//! Material \"{material}\" of {document}, converted from MaterialX.\n//!\n");
    if !program.textures.is_empty() {
        text += "//! Images, as they are declared in a scene:\n//!\n//! ```text\n";
        for Texture { name, file, encoding, wrap, is_interpolated, tiles } in program.textures {
            if let Some(tiles) = tiles {
                let file = one_line(file);
                writeln!(
                    text,
                    "//! {name} is the image of the tiles {file}, and {tiles} their place"
                )
                .expect("a string");
                continue;
            }
            let encoding = match encoding {
                Encoding::Linear => "linear",
                Encoding::Srgb => "sRGB",
            };
            let wrap = if *wrap == Wrap::Repeat { "repeat" } else { "clamp" };
            let filter = if *is_interpolated { "bilinear" } else { "point" };
            writeln!(
                text,
                "//! Texture \"{name}\" \"spectrum\" \"imagemap\" \"string filename\" \"{}\"\n//!   \
                 \"string encoding\" \"{encoding}\" \"string wrap\" \"{wrap}\" \"string filter\" \
                 \"{filter}\"",
                one_line(file)
            )
            .expect("a string");
        }
        text += "//! ```\n//!\n";
    }
    text += &attributes(program);
    text += &properties(program);
    text
}

/// Emission, volume and opacity, which are not in the shader.
fn properties(program: &Program) -> String {
    let mut text = String::new();
    let rgb = |[r, g, b]: [f64; 3]| format!("[{} {} {}]", r as f32, g as f32, b as f32);
    if let Some(Emission { radiance, image }) = program.emission {
        let image = match image {
            Some(image) => format!(" \"string filename\" \"{}\"", one_line(&image.file)),
            None => String::new(),
        };
        let light = match (image.is_empty(), radiance) {
            // Light of an image has its colour.
            (false, [scale, ..]) => format!("\"float scale\" {}", *scale as f32),
            (true, radiance) => format!("\"rgb L\" {}", rgb(*radiance)),
        };
        writeln!(
            text,
            "//! Emission, as it is declared in a scene:\n//!\n//! ```text\n\
             //! AreaLightSource \"diffuse\" {light}{image}\n//! ```\n//!"
        )
        .expect("a string");
    }
    if let Some(volume) = program.volume {
        let Volume { absorption, scattering, anisotropy, depth, .. } = volume;
        let parameter = depth.map_or(String::new(), |(name, depth)| {
            format!("//! \"float {name}\" {}\n", depth as f32)
        });
        let [absorption, scattering] = [*absorption, *scattering].map(rgb);
        writeln!(
            text,
            "//! The volume below the surface, as it is declared in a scene, and the parameter of \
             the material if it has one:\n//!\n//! ```text\n\
             //! MakeNamedMedium \"volume\" \"string type\" \"homogeneous\" \"float g\" {}\n\
             //!   \"rgb sigma_a\" {absorption} \"rgb sigma_s\" {scattering}\n\
             //! MediumInterface \"volume\" \"\"\n\
             {parameter}//! ```\n//!",
            *anisotropy as f32
        )
        .expect("a string");
    }
    if let Some((dispersion, index)) = program.glass {
        text += "//! A dielectric with the dispersion, as it is declared in a scene:\n//!\n\
                 //! ```text\n//! Material \"dielectric\" \"spectrum eta\" [\n";
        for row in dispersion.spectrum(index).chunks(12) {
            let numbers: Vec<String> = row.iter().map(f32::to_string).collect();
            writeln!(text, "//!   {}", numbers.join(" ")).expect("a string");
        }
        text += "//! ]\n//! ```\n//!\n";
    }
    if let Some(Opacity { value, cutoff }) = program.opacity {
        let mut alpha = match value {
            OpacityValue::Constant(x) => format!("//! \"float alpha\" {}", *x as f32),
            OpacityValue::Image(image, channel) => format!(
                "//! Texture \"opacity\" \"float\" \"imagemap\" \"string filename\" \"{}\"{}\n\
                 //! \"texture alpha\" \"opacity\"",
                one_line(&image.file),
                match channel {
                    Channel::Component(0) => "  # its red channel",
                    Channel::Component(1) => "  # its green channel",
                    Channel::Component(2) => "  # its blue channel",
                    Channel::Component(_) => "  # its alpha channel",
                    Channel::Mean => "",
                }
            ),
        };
        if let (OpacityValue::Image(..), Some(cutoff)) = (value, cutoff) {
            write!(alpha, "  # 0 below {cutoff}, and 1 otherwise").expect("a string");
        }
        writeln!(
            text,
            "//! The opacity, as shapes have it in a scene:\n//!\n//! ```text\n{alpha}\n\
             //! ```\n//!"
        )
        .expect("a string");
    }
    text
}

/// How a scene gives the parameters with attributes of vertices their values.
fn attributes(program: &Program) -> String {
    let (mut declarations, mut uses) = (String::new(), Vec::new());
    for parameter in program.parameters {
        let Origin::Attribute(attribute) = &parameter.origin else { continue };
        let declaration = attribute.declaration(parameter.default.ty.size());
        writeln!(declarations, "//! {declaration}").expect("a string");
        let name = &attribute.parameter;
        uses.push(format!("\"texture {name}\" \"{name}\""));
    }
    if uses.is_empty() {
        return String::new();
    }
    format!(
        "//! Attributes of vertices, as they are declared in a scene, and parameters of the \
         material:\n//!\n//! ```text\n{declarations}//! {}\n//! ```\n//!\n",
        uses.join(" ")
    )
}

/// `fn material` and `fn normal`, and the functions that they call.
fn functions(program: &Program) -> String {
    let computed: Vec<_> =
        program.values.iter().filter(|(_, value)| value.constant.is_none()).collect();
    let mut text = String::new();
    if !computed.is_empty() {
        text += "\nfn material(p: SurfacePoint, m: Material) -> Material {\n";
        program.statements.iter().for_each(|line| text += &indented(line));
        text += "    var result = m;\n";
        for (name, value) in &computed {
            text += &indented(&format!("result.{name} = {value};"));
        }
        text += "    return result;\n}\n";
    }
    if let Some((statements, normal)) = &program.normal {
        text += "\n/// The normal in the shading frame.\n\
                 fn normal(p: SurfacePoint, m: Material) -> vec3f {\n";
        statements.iter().for_each(|line| text += &indented(line));
        text += &indented(&format!("return {normal};"));
        text += "}\n";
    }
    for function in needed([text.as_str()].into_iter()).iter().rev() {
        text += "\n";
        text += function;
        text += "\n";
    }
    text
}

fn indented(line: &str) -> String {
    format!("    {line}\n")
}
