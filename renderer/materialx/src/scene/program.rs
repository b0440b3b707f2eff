//! Emission and volume as functions of parameters that the scene sets.
//!
//! They are the same on the whole surface, so the scene needs them once, when it is built.
//! Constants of the surface become parameters, and so do the inputs of graphs that nodes read. What
//! nodes compute from them is a function in WGSL, which is interpreted.

use super::{ClearGlass, Connected, Dispersion, Emission, Opacity, OpacityValue, Volume, opacity};
use crate::document::Id;
use crate::error::{Error, Warning};
use crate::functions::{needed, reads};
use crate::graph::{Graph, Origin, Parameter, Scope};
use crate::program::{Template, declaration};
use crate::surfaces::{
    DispersionInputs, EmissionInputs, Inputs, OpacityInputs, VolumeInputs, VolumeNames, Wall,
};
use crate::textures::Texture;
use crate::values::{Term, Type};
use lightbound_shader::{Entry, Settings, Shader, ShaderError, interpreter, passes};
use std::fmt::Write;

/// Emission and volume of a material, and the parameters that they depend on.
#[derive(Clone, Debug)]
pub struct SceneProgram {
    shader: Shader,
    /// Default values of the parameters.
    defaults: Vec<Vec<f64>>,
    /// Number of parameters that are constants of the surface, which come first.
    constants: usize,
    emission: Option<EmissionOperands>,
    volume: Option<VolumeOperands>,
    opacity: Option<OpacityOperands>,
    dispersion: Option<DispersionOperands>,
}

/// What a scene gets of a material besides its shader.
#[derive(Clone, Debug, Default)]
pub struct SceneProperties {
    /// The light that it emits.
    pub emission: Option<Emission>,
    /// The volume below the surface.
    pub volume: Option<Volume>,
    /// The opacity, unless it is 1.
    pub opacity: Option<Opacity>,
    /// The dispersion of light that it transmits.
    pub dispersion: Option<Dispersion>,
    /// Invalid values: the message, and what is used instead.
    pub problems: Vec<[&'static str; 2]>,
}

/// A value: a parameter, or the first word of what is computed, and the number of components.
#[derive(Clone, Copy, Debug)]
enum Operand {
    Parameter(usize),
    Computed(usize, usize),
}

#[derive(Clone, Debug)]
struct EmissionOperands {
    /// `None` with an image.
    color: Option<Operand>,
    factors: Vec<Operand>,
    image: Option<Texture>,
}

#[derive(Clone, Debug)]
struct VolumeOperands {
    names: &'static VolumeNames,
    depth: Operand,
    color: Operand,
    /// Scattering and its anisotropy.
    scattering: Option<[Operand; 2]>,
    /// Whether there is none; `None` if that varies over the surface.
    wall: Option<Operand>,
    warning: Warning,
}

#[derive(Clone, Debug)]
struct OpacityOperands {
    value: OpacityOperand,
    cutoff: Option<f64>,
}

#[derive(Clone, Debug)]
enum OpacityOperand {
    Value(Operand),
    Image(Texture, opacity::Channel),
}

/// The Abbe number is one constant or operand divided by another.
#[derive(Clone, Debug)]
struct DispersionOperands {
    abbe: Divided,
    glass: &'static ClearGlass,
    warning: Warning,
}

#[derive(Clone, Copy, Debug)]
struct Divided {
    numerator: Option<Operand>,
    denominator: Option<Operand>,
}

/// What depends on more than the surface's shader.
#[derive(Clone, Copy)]
pub(crate) struct SceneInputs<'a> {
    pub emission: Option<&'a EmissionInputs>,
    pub volume: Option<&'a VolumeInputs>,
    pub opacity: Option<&'a OpacityInputs>,
    pub dispersion: Option<&'a DispersionInputs>,
}

/// The name of the function.
const FUNCTION: &str = "scene_values";

/// Operations after which the interpreter stops.
const MAX_OPERATIONS: u64 = 1 << 20;

impl SceneProgram {
    /// The parameters as those of a shader.
    pub fn shader(&self) -> &Shader {
        &self.shader
    }

    /// The number of parameters that are constants of the surface; those of graphs follow.
    pub fn surface_parameters(&self) -> usize {
        self.constants
    }

    /// Emission and volume for the values of parameters in the order of the shader's; the defaults
    /// of those that are not given.
    pub fn evaluate(&self, given: &[Option<Vec<f64>>]) -> SceneProperties {
        let values: Vec<&Vec<f64>> = (self.defaults.iter().enumerate())
            .map(|(i, default)| given.get(i).and_then(Option::as_ref).unwrap_or(default))
            .collect();
        let computed = self.computed(&values);
        let value = |operand: Operand| match operand {
            Operand::Parameter(i) => values[i].clone(),
            Operand::Computed(start, size) => computed[start..start + size].to_vec(),
        };
        let mut properties = SceneProperties::default();
        if let Some(emission) = &self.emission {
            let color = emission.color.map_or(vec![1.0; 3], value);
            let scale: f64 = emission.factors.iter().map(|&factor| value(factor)[0]).product();
            let mut radiance: [f64; 3] = std::array::from_fn(|k| scale * color[k]);
            if radiance.iter().any(|x| !x.is_finite()) {
                properties.problems.push(["the emission of a material is not finite", "0"]);
                radiance = [0.0; 3];
            } else if radiance.iter().any(|&x| x < 0.0) {
                properties.problems.push(["a material emits a negative amount of light", "0"]);
                radiance = radiance.map(|x| x.max(0.0));
            }
            let image = emission.image.clone();
            properties.emission = (radiance != [0.0; 3]).then_some(Emission { radiance, image });
        }
        let number = |operand| value(operand)[0];
        let is_wall = |volume: &VolumeOperands| match (volume.names.wall, volume.wall) {
            (_, None) => false,
            (Wall::Flag(_), Some(flag)) => number(flag) != 0.0,
            (Wall::NoThickness(_), Some(thickness)) => number(thickness) == 0.0,
        };
        if let Some(volume) = self.volume.as_ref().filter(|volume| !is_wall(volume)) {
            let (depth, color) = (number(volume.depth), value(volume.color));
            let (scatter, anisotropy) = match volume.scattering {
                None => (vec![0.0; 3], 0.0),
                Some([scatter, anisotropy]) => (value(scatter), number(anisotropy)),
            };
            let inputs = [&color[..], &scatter, &[depth, anisotropy]].concat();
            let is_finite = inputs.iter().all(|x| x.is_finite());
            if !is_finite {
                properties.problems.push(["the volume of a material is not finite", "no volume"]);
            } else if depth < 0.0 || scatter.iter().any(|&x| x < 0.0) {
                let message = "the depth or the scattering of a volume is negative";
                properties.problems.push([message, "0"]);
            }
            if is_finite && depth > 0.0 {
                let [absorption, scattering] = Volume::coefficients(&color, &scatter, depth);
                properties.volume = Some(Volume {
                    absorption,
                    scattering,
                    anisotropy: anisotropy.clamp(-0.99, 0.99),
                    depth: volume.names.colors_surface.then_some((volume.names.depth, depth)),
                    warning: volume.warning.clone(),
                });
            }
        }
        if let Some(DispersionOperands { abbe, glass, warning }) = &self.dispersion {
            // glTF has 20 divided by the Abbe number.
            let numerator = abbe.numerator.map_or(20.0, |operand| value(operand)[0]);
            let denominator = abbe.denominator.map_or(1.0, |operand| value(operand)[0]);
            let abbe_number = numerator / denominator;
            let is_off = match (abbe.numerator, abbe.denominator) {
                (Some(_), None) => numerator == 0.0,
                _ => denominator == 0.0,
            };
            if is_off {
                // No dispersion.
            } else if !(abbe_number > 0.0 && abbe_number.is_finite()) {
                let message = "the Abbe number of a material must be positive";
                properties.problems.push([message, "no dispersion"]);
            } else {
                let (glass, warning) = (*glass, warning.clone());
                properties.dispersion = Some(Dispersion { abbe_number, glass, warning });
            }
        }
        if let Some(OpacityOperands { value: of, cutoff }) = &self.opacity {
            let cutoff = *cutoff;
            properties.opacity = match of {
                OpacityOperand::Image(image, channel) => {
                    let value = OpacityValue::Image(image.clone(), *channel);
                    Some(Opacity { value, cutoff })
                }
                OpacityOperand::Value(operand) => {
                    let components = value(*operand);
                    let mean = components.iter().sum::<f64>() / components.len() as f64;
                    if !(0.0..=1.0).contains(&mean) {
                        let message = "the opacity of a material is not between 0 and 1";
                        properties.problems.push([message, "the nearest valid value"]);
                    }
                    let mean = if mean.is_nan() { 1.0 } else { mean };
                    let value = Opacity::apply_cutoff(mean, cutoff);
                    (value < 1.0)
                        .then_some(Opacity { value: OpacityValue::Constant(value), cutoff: None })
                }
            };
        }
        properties
    }

    /// Removes the dispersion of a material that is not clear glass.
    pub(crate) fn remove_dispersion(&mut self) {
        self.dispersion = None;
    }

    /// The words that the function computes; NaN if it does not end.
    fn computed(&self, values: &[&Vec<f64>]) -> Vec<f64> {
        let parameters = self.shader.parameters();
        let words = std::iter::zip(parameters, values)
            .flat_map(|(parameter, values)| values.iter().map(|&x| parameter.scalar.bits(x)));
        let words: Vec<u32> = words.collect();
        let outputs = self.shader.output_names().len();
        let function = self.shader.function(Entry::Function, &Settings::default());
        let run = |function| {
            interpreter::run(&passes::optimize(&function), &[], &words, MAX_OPERATIONS).ok()
        };
        match function.ok().and_then(run) {
            Some(outputs) => outputs.into_iter().map(|w| f64::from(f32::from_bits(w))).collect(),
            None => vec![f64::NAN; outputs],
        }
    }
}

/// A program while it is built.
struct Builder<'g, 'd> {
    g: &'g mut Graph<'d>,
    template: &'g Template,
    /// Constants of the surface.
    constants: Vec<Parameter>,
    /// Results of the function.
    results: Vec<Term>,
    words: usize,
    /// Inputs that are connected.
    connected: Vec<Connected>,
}

/// The program for what the scene gets besides the shader, if there is any, and the inputs that
/// would be its parameters if they were not connected.
///
/// # Errors
/// The first problem of a graph, or that the function is invalid.
pub(crate) fn scene_program(
    g: &mut Graph,
    template: &Template,
    inputs: SceneInputs,
    invalid: impl Fn(ShaderError) -> Error,
) -> Result<(Option<SceneProgram>, Vec<Connected>), Error> {
    let (constants, results, connected) = (vec![], vec![], vec![]);
    let mut builder = Builder { g, template, constants, results, words: 0, connected };
    let emission = match inputs.emission {
        Some(inputs) => builder.emission(inputs)?,
        None => None,
    };
    let volume = match inputs.volume {
        Some(inputs) => builder.volume(inputs)?,
        None => None,
    };
    let opacity = match inputs.opacity {
        Some(inputs) => builder.opacity(inputs)?,
        None => None,
    };
    let dispersion = match inputs.dispersion {
        Some(inputs) => builder.dispersion(inputs)?,
        None => None,
    };
    let Builder { g, constants, results, mut connected, .. } = builder;
    // Graphs may have inputs of the same name.
    connected.retain(|Connected { parameter, .. }| {
        !g.parameters.iter().chain(&constants).any(|other| other.name == *parameter)
    });
    if emission.is_none() && volume.is_none() && opacity.is_none() && dispersion.is_none() {
        return Ok((None, connected));
    }
    let statements = g.next_function(false);
    let texts = || statements.iter().map(String::as_str).chain(results.iter().map(|t| &*t.text));
    let is_read =
        |p: &&Parameter| texts().any(|text| reads(text, "m", |name| name == p.name.as_str()));
    let of_graph = g.parameters.iter().filter(is_read).cloned();
    let count = constants.len();
    let parameters: Vec<Parameter> = constants.into_iter().chain(of_graph).collect();
    let text = text(&parameters, &statements, &results);
    let shader = Shader::parse_function("scene values", &text, FUNCTION).map_err(invalid)?;
    let default = |p: &Parameter| p.default.constant.clone().expect("defaults are constant");
    let defaults = parameters.iter().map(default).collect();
    let program =
        SceneProgram { shader, defaults, constants: count, emission, volume, opacity, dispersion };
    Ok((Some(program), connected))
}

/// The function in WGSL. Without results, it returns 0, since a function must return a value.
fn text(parameters: &[Parameter], statements: &[String], results: &[Term]) -> String {
    let none = [Term::float(0.0)];
    let results = if results.is_empty() { &none[..] } else { results };
    let mut text = String::from("struct Material {\n");
    parameters.iter().for_each(|parameter| text += &declaration(parameter));
    text += "}\n\nstruct SceneValues {\n";
    for (i, term) in results.iter().enumerate() {
        writeln!(text, "    v{i}: {},", term.ty.wgsl()).expect("a string");
    }
    write!(text, "}}\n\nfn {FUNCTION}(m: Material) -> SceneValues {{\n").expect("a string");
    statements.iter().for_each(|line| writeln!(text, "    {line}").expect("a string"));
    let results: Vec<&str> = results.iter().map(|term| term.text.as_str()).collect();
    writeln!(text, "    return SceneValues({});\n}}", results.join(", ")).expect("a string");
    for function in needed([text.as_str()].into_iter()) {
        text += "\n";
        text += &function;
        text += "\n";
    }
    text
}

impl Builder<'_, '_> {
    fn emission(&mut self, inputs: &EmissionInputs) -> Result<Option<EmissionOperands>, Error> {
        let EmissionInputs { scope, node, color: (name, default), factors, has_prefix } = *inputs;
        let mut operands = Vec::new();
        for (factor, default) in factors {
            let value = (*factor, Type::Float, *default);
            operands.push(self.operand((scope, node), value, has_prefix)?);
        }
        let is_black = operands.iter().flatten().any(|&factor| self.is_constant(factor, 0.0));
        let (term, statements, mut textures) =
            self.g.evaluate_isolated(|g| Inputs { g, scope, node }.color(name, default));
        let term = term?;
        let image = match (&textures[..], &statements[..]) {
            ([image], [statement]) if *statement == image.lookup(&term) => textures.pop(),
            _ => None,
        };
        let color = match image {
            Some(_) => {
                self.add_connected(node, name, has_prefix);
                None
            }
            None => self.operand((scope, node), (name, Type::Color3, default), has_prefix)?,
        };
        let factors: Option<Vec<Operand>> = operands.into_iter().collect();
        if let (Some(factors), true) = (factors, color.is_some() || image.is_some()) {
            return Ok(Some(EmissionOperands { color, factors, image }));
        }
        if !is_black {
            let mut names = inputs.factors.iter().map(|(name, _)| *name).chain([name]);
            let document = self.g.document;
            let given = names.find_map(|name| document.input(node, name)).unwrap_or(node);
            let message = "a material does not emit light that varies like this";
            self.g.warn(given, message, "no emission; give the shape an AreaLightSource");
        }
        Ok(None)
    }

    fn volume(&mut self, inputs: &VolumeInputs) -> Result<Option<VolumeOperands>, Error> {
        let VolumeInputs { scope, node, names } = *inputs;
        let at = self.g.document.input(node, names.depth).unwrap_or(node);
        let fallback = match names.colors_surface {
            true => "the colour at the surface, without scattering",
            false => "a clear volume",
        };
        let warning = self.g.warning(
            at,
            "the integrator does not render the volume of the material; use \"volpath\"",
            fallback,
        );
        let mut operand = |name: &'static str, ty: Type, default: f64| {
            self.operand((scope, node), (name, ty, default), false)
        };
        let depth = operand(names.depth, Type::Float, 0.0)?;
        let color = operand(names.color, Type::Color3, 1.0)?;
        let scattering = match names.scattering {
            None => Some(None),
            Some([scatter, anisotropy]) => {
                let scatter = operand(scatter, Type::Color3, 0.0)?;
                let anisotropy = operand(anisotropy, Type::Float, 0.0)?;
                scatter.zip(anisotropy).map(|(scatter, anisotropy)| Some([scatter, anisotropy]))
            }
        };
        let (wall, is_wall) = match names.wall {
            Wall::Flag(name) => {
                let flag = operand(name, Type::Boolean, 0.0)?;
                (flag, flag.is_some_and(|flag| self.is_constant(flag, 1.0)))
            }
            Wall::NoThickness(name) => {
                let thickness = operand(name, Type::Float, 0.0)?;
                (thickness, thickness.is_some_and(|thickness| self.is_constant(thickness, 0.0)))
            }
        };
        let is_clear = is_wall || depth.is_some_and(|depth| self.is_constant(depth, 0.0));
        if let (Some(depth), Some(color), Some(scattering)) = (depth, color, scattering) {
            return Ok(Some(VolumeOperands { names, depth, color, scattering, wall, warning }));
        }
        if !is_clear {
            self.g.warn(at, "a volume that varies over the surface is not supported", fallback);
        }
        Ok(None)
    }

    fn dispersion(
        &mut self,
        inputs: &DispersionInputs,
    ) -> Result<Option<DispersionOperands>, Error> {
        let DispersionInputs { scope, node, numerator, denominator, glass } = *inputs;
        let mut operand = |input: Option<(&'static str, f64)>| match input {
            None => Ok::<_, Error>(Some(None)),
            Some((name, default)) => {
                let operand = self.operand((scope, node), (name, Type::Float, default), false)?;
                Ok(operand.map(Some))
            }
        };
        let (over, under) = (operand(numerator)?, operand(denominator)?);
        let document = self.g.document;
        let mut names = denominator.iter().chain(&numerator).map(|(name, _)| *name);
        let at = names.find_map(|name| document.input(node, name)).unwrap_or(node);
        let message = "light disperses only in clear and smooth glass";
        let warning = self.g.warning(at, message, "one index of refraction");
        match (over, under) {
            (Some(numerator), Some(denominator)) => {
                let abbe = Divided { numerator, denominator };
                Ok(Some(DispersionOperands { abbe, glass, warning }))
            }
            _ => {
                self.g.warnings.push(warning);
                Ok(None)
            }
        }
    }

    fn opacity(&mut self, inputs: &OpacityInputs) -> Result<Option<OpacityOperands>, Error> {
        let OpacityInputs { scope, node, name, ty, cutoff } = *inputs;
        opacity::check_mode(self.g, scope, node)?;
        let (term, statements, textures) =
            self.g.evaluate_isolated(|g| Inputs { g, scope, node }.get(name, ty, &[1.0]));
        let term = term?;
        let channel = match (&textures[..], &statements[..]) {
            ([image], [statement]) => opacity::channel(image, statement, &term),
            _ => None,
        };
        if let (Some(channel), Some(image)) = (channel, textures.into_iter().next()) {
            self.add_connected(node, name, false);
            let value = OpacityOperand::Image(image, channel);
            return Ok(Some(OpacityOperands { value, cutoff }));
        }
        if let Some(operand) = self.operand((scope, node), (name, ty, 1.0), false)? {
            let value = OpacityOperand::Value(operand);
            return Ok(Some(OpacityOperands { value, cutoff }));
        }
        let at = self.g.document.input(node, name).unwrap_or(node);
        let message = "an opacity that varies like this is not supported";
        self.g.warn(at, message, "an opaque surface; give the shape an \"alpha\"");
        Ok(None)
    }

    /// Whether an operand has this value unless the scene sets it.
    fn is_constant(&self, operand: Operand, x: f64) -> bool {
        match operand {
            Operand::Parameter(i) => self.constants[i].default.is(x),
            Operand::Computed(..) => false,
        }
    }

    /// The name that an input has as a parameter, unless another one has it.
    fn parameter_name(&self, node: Id, name: &str, has_prefix: bool) -> String {
        match has_prefix {
            true => format!("{}_{name}", self.g.document.name(node)),
            false => name.to_owned(),
        }
    }

    /// Adds an input to those that are connected.
    fn add_connected(&mut self, node: Id, name: &str, has_prefix: bool) {
        let document = self.g.document;
        self.connected.push(Connected {
            parameter: self.parameter_name(node, name, has_prefix),
            location: document.location(document.input(node, name).unwrap_or(node)),
        });
    }

    /// An input as an operand; `None` if it varies over the surface.
    fn operand(
        &mut self,
        (scope, node): (Scope, Id),
        (name, ty, default): (&str, Type, f64),
        has_prefix: bool,
    ) -> Result<Option<Operand>, Error> {
        let start = self.g.statements.len();
        let term = Inputs { g: &mut *self.g, scope, node }.get(name, ty, &[default])?;
        if term.constant.is_some() {
            let like = self.parameter_name(node, name, has_prefix);
            // A member of the shader is the same parameter.
            let parameter = match self.template.has(&like) {
                true => like,
                false => self.g.names.parameter(&like),
            };
            let meaning = format!("{name} of the surface");
            let (origin, range) = (Origin::Surface, None);
            self.constants.push(Parameter {
                origin,
                name: parameter,
                default: term,
                range,
                meaning,
            });
            return Ok(Some(Operand::Parameter(self.constants.len() - 1)));
        }
        self.add_connected(node, name, has_prefix);
        let attributes = self.g.parameters.iter();
        let attributes: Vec<&str> = attributes
            .filter(|p| matches!(p.origin, Origin::Attribute(_)))
            .map(|p| p.name.as_str())
            .collect();
        let varies = |text: &str| {
            text.contains("textureSample(")
                || reads(text, "p", |_| true)
                || reads(text, "m", |name| attributes.contains(&name))
        };
        if self.g.statements[start..].iter().map(String::as_str).chain([&*term.text]).any(varies) {
            self.g.discard_statements(start);
            return Ok(None);
        }
        let (start, size) = (self.words, ty.size());
        self.words += size;
        self.results.push(term);
        Ok(Some(Operand::Computed(start, size)))
    }
}
