//! The functions of a shader as functions of plain words: named inputs in, named outputs out.

use super::translate::{Fault, Translator};
use super::{Entry, Parameter, Scalar, Settings, Shader, ShaderError, Sides, Source};
use crate::ir::{Builder, Emit, Function, Op, Rules, Type, Value};
use naga::Handle;

/// Inputs of three words.
fn vector(builder: &mut Builder, name: &str, components: &[&str]) -> Vec<Value> {
    components.iter().map(|component| builder.input(&format!("{name}.{component}"), Type::F32)).collect()
}

const XYZ: [&str; 3] = ["x", "y", "z"];

fn outputs(name: &str, components: [&str; 3], values: &[Value]) -> Vec<(String, Value)> {
    std::iter::zip(components, values).map(|(component, &value)| (format!("{name}.{component}"), value)).collect()
}

/// Translates an entry.
pub(super) fn function(shader: &Shader, entry: Entry, settings: &Settings) -> Result<Function, ShaderError> {
    let source = &shader.source;
    let contract = &shader.contract;
    check_overrides(source, shader, settings)?;
    let missing = |name: &str| {
        let error = source.error(format!("the shader has no `fn {name}`"));
        error.help("`sample` and `pdf` come together, and are optional")
    };
    let (name, handle) = match entry {
        Entry::Shaded => ("shaded", contract.brdf),
        Entry::Brdf => ("brdf", contract.brdf),
        Entry::Sample => ("sample", contract.sample.ok_or_else(|| missing("sample"))?),
        Entry::Pdf => ("pdf", contract.pdf.ok_or_else(|| missing("pdf"))?),
    };
    let mut builder = Builder::new(name, Rules::Exact);
    let first = match entry {
        Entry::Sample => vector(&mut builder, "u", &XYZ[..2]),
        Entry::Shaded | Entry::Brdf | Entry::Pdf => vector(&mut builder, "wi", &XYZ),
    };
    let wo = vector(&mut builder, "wo", &XYZ);
    let parameters: Vec<_> = contract.parameters.iter().flat_map(|parameter| words(&mut builder, parameter)).collect();
    let wi_z = first.last().copied().expect("directions have components");
    let mut translator = Translator::new(&shader.module, &shader.info, builder, settings.loop_cap, &settings.overrides);
    let mut call = |handle: Handle<naga::Function>, args: &[Vec<Value>]| {
        translator
            .call(handle, &args[..shader.module.functions[handle].arguments.len()])
            .map_err(|fault| refused(source, fault))
    };
    let material = match contract.material {
        Some(setup) => call(setup, &[parameters])?,
        None => parameters,
    };
    let result = call(handle, &[first, wo, material])?;
    let capped = translator.capped();
    let mut builder = translator.into_builder();
    let mut ports = match entry {
        Entry::Sample => outputs("wi", XYZ, &result),
        Entry::Pdf => vec![("pdf".to_owned(), result[0])],
        Entry::Shaded => vec![],
        Entry::Brdf => outputs("brdf", ["r", "g", "b"], &result),
    };
    if matches!(entry, Entry::Shaded | Entry::Brdf) {
        let cosine = match shader.sides {
            Sides::One => {
                let zero = builder.f32(0.0);
                builder.op(Op::Max, &[wi_z, zero])
            }
            Sides::Both => builder.op(Op::Abs, &[wi_z]),
        };
        let shaded: Vec<_> = result.iter().map(|&value| builder.op(Op::Mul, &[value, cosine])).collect();
        ports.extend(outputs("s", ["r", "g", "b"], &shaded));
    }
    if builder.known_bool(capped) != Some(false) {
        ports.push(("capped".to_owned(), capped));
    }
    Ok(builder.finish(ports))
}

fn words(builder: &mut Builder, parameter: &Parameter) -> Vec<Value> {
    parameter.words().map(|name| builder.input(&name, parameter.scalar.ty())).collect()
}

fn refused(source: &Source, fault: Fault) -> ShaderError {
    let error = source.error(fault.message).at_span(fault.span, "here");
    ShaderError { help: fault.help, ..error }
}

/// Holds the values of overrides against their declarations.
fn check_overrides(source: &Source, shader: &Shader, settings: &Settings) -> Result<(), ShaderError> {
    let declared = &shader.contract.overrides;
    for (name, x) in &settings.overrides {
        let Some(parameter) = declared.iter().find(|parameter| parameter.name == *name) else {
            let names: Vec<_> = declared.iter().map(|parameter| parameter.name.as_str()).collect();
            let error = source.error(format!("the shader has no override `{name}`"));
            return Err(match names[..] {
                [] => error.help("it has no overrides at all"),
                _ => error.help(format!("there are {}", super::diagnostics::list(&names, "and"))),
            });
        };
        let wrong = match parameter.scalar {
            Scalar::F32 if (*x as f32).is_finite() => None,
            Scalar::F32 => Some("a finite number"),
            Scalar::I32 | Scalar::U32 if x.fract() == 0.0 => None,
            Scalar::I32 | Scalar::U32 => Some("a whole number"),
            Scalar::Bool if *x == 0.0 || *x == 1.0 => None,
            Scalar::Bool => Some("0 or 1"),
        };
        let place =
            source.outline.overrides.iter().find(|o| source.text()[o.name.clone()] == *name).map_or(0..0, |o| o.name.clone());
        let error = |message: String| source.error(message).at(place.clone(), "declared here");
        if let Some(wanted) = wrong {
            return Err(error(format!("the override `{name}` must be {wanted}, but is given {x}")));
        }
        let [lo, hi] = parameter.range;
        if !(lo..=hi).contains(x) {
            return Err(error(format!("the override `{name}` is given {x}, outside of its range from {lo} to {hi}")));
        }
    }
    for (_, declaration) in shader.module.overrides.iter() {
        let name = declaration.name.as_deref().unwrap_or("");
        if declaration.init.is_none() && !settings.overrides.iter().any(|(given, _)| given == name) {
            let place = source
                .outline
                .overrides
                .iter()
                .find(|o| source.text()[o.name.clone()] == *name)
                .map_or(0..0, |o| o.name.clone());
            let error = source.error(format!("the override `{name}` has no value")).at(place, "declared here without one");
            return Err(error.help("add one to the declaration, `= …`, or set it where the shader is used"));
        }
    }
    Ok(())
}
