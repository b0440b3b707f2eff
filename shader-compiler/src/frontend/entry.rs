//! Entry points: IR functions with named scalar inputs and outputs.

use super::locations::{LocatedFunction, Locations};
use super::translate::{Fault, Translator};
use super::{
    Entry, Parameter, Scalar, Settings, Setup, Shader, ShaderError, ShaderKind, Source,
    SurfaceSides, contract, textures,
};
use crate::builder::{Builder, Rules};
use crate::ir::{Emit, Function, Op, Type, Value};
use naga::Handle;

/// Adds inputs for the components of a vector.
fn vector_input(builder: &mut Builder, name: &str, components: &[&str]) -> Vec<Value> {
    components
        .iter()
        .map(|component| builder.input(&format!("{name}.{component}"), Type::F32))
        .collect()
}

const XYZ: [&str; 3] = ["x", "y", "z"];
const RGB: [&str; 3] = ["r", "g", "b"];

/// Names the components of an output.
fn outputs(name: &str, components: [&str; 3], values: &[Value]) -> Vec<(String, Value)> {
    std::iter::zip(components, values)
        .map(|(component, &value)| (format!("{name}.{component}"), value))
        .collect()
}

/// Translates an entry point.
pub(super) fn function(
    shader: &Shader,
    entry: Entry,
    settings: &Settings,
) -> Result<Function, ShaderError> {
    translate(shader, entry, settings, None).map(|(function, _)| function)
}

/// Translates an entry point, and records the locations of its operations.
pub(super) fn located_function(
    shader: &Shader,
    entry: Entry,
    settings: &Settings,
) -> Result<LocatedFunction, ShaderError> {
    let (function, locations) = translate(shader, entry, settings, Some(Locations::default()))?;
    Ok(LocatedFunction { function, locations: locations.unwrap_or_default() })
}

fn translate(
    shader: &Shader,
    entry: Entry,
    settings: &Settings,
    locations: Option<Locations>,
) -> Result<(Function, Option<Locations>), ShaderError> {
    let source = &shader.source;
    let contract = &shader.contract;
    check_overrides(source, shader, settings)?;
    textures::check_settings(shader, settings)?;
    let missing =
        |name: &str, help: &str| source.error(format!("the shader has no `fn {name}`")).help(help);
    let found = |handle: Option<Handle<naga::Function>>, name: &str, help: &str| {
        handle.map(Some).ok_or_else(|| missing(name, help))
    };
    let kind = format!("it is {}", contract.kind.name());
    let name = shader.function_name();
    let other = format!("the function is `{name}`: parse the shader for another one");
    let pair = "`sample` and `pdf` are optional, but need each other";
    let optional = "the function is optional, and belongs to a density";
    let [is_density, is_function] =
        [ShaderKind::Density, ShaderKind::Function].map(|kind| contract.kind == kind);
    let scattering = (!is_density && !is_function).then_some(contract.main);
    let (name, handle) = match entry {
        Entry::Integrand => ("shaded", found(scattering, "brdf", &kind)?),
        Entry::Brdf => ("brdf", found(scattering, "brdf", &kind)?),
        Entry::Sample => ("sample", found(contract.sample, "sample", pair)?),
        Entry::Pdf => ("pdf", found(contract.pdf, "pdf", pair)?),
        Entry::Setup => ("material", None),
        Entry::Density => {
            ("density", found(is_density.then_some(contract.main), "density", &kind)?)
        }
        Entry::Albedo => ("albedo", found(contract.albedo, "albedo", optional)?),
        Entry::Emission => ("emission", found(contract.emission, "emission", optional)?),
        Entry::Function => (name, found(is_function.then_some(contract.main), name, &other)?),
    };
    let setup =
        contract.material.filter(|_| settings.setup == Setup::Inlined || entry == Entry::Setup);
    if entry == Entry::Setup && setup.is_none() {
        return Err(missing("material", "it is optional, and computes the members of `Material`"));
    }
    let mut builder = Builder::new(name, Rules::Exact);
    if locations.is_some() {
        builder.keep_control_flow();
    }
    let arguments = match entry {
        Entry::Density | Entry::Albedo | Entry::Emission | Entry::Function => contract
            .arguments
            .iter()
            .map(|argument| component_inputs(&mut builder, argument))
            .collect(),
        Entry::Sample => {
            vec![vector_input(&mut builder, "u", &XYZ[..2]), vector_input(&mut builder, "wo", &XYZ)]
        }
        Entry::Setup => vec![],
        Entry::Integrand | Entry::Brdf | Entry::Pdf => {
            vec![vector_input(&mut builder, "wi", &XYZ), vector_input(&mut builder, "wo", &XYZ)]
        }
    };
    let parameters = if setup.is_some() { &contract.parameters } else { &contract.members };
    let parameters: Vec<_> =
        parameters.iter().flat_map(|parameter| component_inputs(&mut builder, parameter)).collect();
    let mut translator = Translator::new(&shader.module, &shader.info, builder, settings);
    translator.locations = locations;
    // Functions may omit their last parameter.
    let call =
        |translator: &mut Translator, handle: Handle<naga::Function>, args: &[Vec<Value>]| {
            let args = &args[..shader.module.functions[handle].arguments.len()];
            translator.call(handle, args).map_err(|fault| shader_error(source, fault))
        };
    let material = match setup {
        Some(setup) => {
            let surface = contract.surface.iter().map(|parameter| parameter.size).sum();
            let (surface, settable) = parameters.split_at(surface);
            let members = call(&mut translator, setup, &[surface.to_vec(), settable.to_vec()])?;
            clamp_members(&mut translator.builder, &contract.members, members)
        }
        None => parameters,
    };
    let result = match handle {
        Some(handle) if is_function => {
            let args = contract::function::arguments(&shader.module, handle, &arguments, &material);
            call(&mut translator, handle, &args)?
        }
        Some(handle) => call(&mut translator, handle, &[&arguments[..], &[material]].concat())?,
        None => material,
    };
    let result = match (shader.kind(), entry) {
        (ShaderKind::Phase, Entry::Integrand | Entry::Brdf) => vec![result[0]; 3],
        _ => result,
    };
    let capped = translator.capped();
    let locations = translator.locations.take();
    let mut builder = translator.into_builder();
    let mut ports = match entry {
        Entry::Sample => outputs("wi", XYZ, &result),
        Entry::Pdf => vec![("pdf".to_owned(), result[0])],
        Entry::Setup => {
            contract.members.iter().flat_map(Parameter::component_names).zip(result).collect()
        }
        Entry::Brdf if shader.includes_cosine => {
            let s = integrand(&mut builder, shader, arguments[0][2], &result);
            let wi_z = builder.op(Op::Abs, &[arguments[0][2]]);
            let grazing = builder.f32(MIN_COSINE);
            let cosine = builder.op(Op::Max, &[wi_z, grazing]);
            let brdf: Vec<_> = s.iter().map(|&(_, s)| builder.op(Op::Div, &[s, cosine])).collect();
            [outputs("brdf", RGB, &brdf), s].concat()
        }
        Entry::Brdf => [
            outputs("brdf", RGB, &result),
            integrand(&mut builder, shader, arguments[0][2], &result),
        ]
        .concat(),
        Entry::Integrand => integrand(&mut builder, shader, arguments[0][2], &result),
        Entry::Density => {
            let density: Vec<_> =
                result.iter().map(|&x| clamp(&mut builder, x, f32::INFINITY)).collect();
            match density[..] {
                [density] => vec![("density".to_owned(), density)],
                _ => outputs("density", RGB, &density),
            }
        }
        Entry::Albedo => {
            let albedo: Vec<_> = result.iter().map(|&x| clamp(&mut builder, x, 1.0)).collect();
            outputs("albedo", RGB, &albedo)
        }
        Entry::Emission => {
            let emission: Vec<_> =
                result.iter().map(|&x| clamp(&mut builder, x, f32::INFINITY)).collect();
            outputs("emission", RGB, &emission)
        }
        Entry::Function => contract.outputs.iter().cloned().zip(result).collect(),
    };
    if builder.known_bool(capped) != Some(false) {
        ports.push(("capped".to_owned(), capped));
    }
    Ok((builder.finish(ports), locations))
}

/// The BRDF of a shader that includes the cosine is finite at smaller cosines, where it would be 0/0.
const MIN_COSINE: f32 = 1e-9;

/// The integrand: the BRDF times the cosine of `wi`, unless the shader includes it.
fn integrand(
    builder: &mut Builder,
    shader: &Shader,
    wi_z: Value,
    brdf: &[Value],
) -> Vec<(String, Value)> {
    if shader.includes_cosine {
        let zero = builder.f32(0.0);
        let above = builder.op(Op::Lt, &[zero, wi_z]);
        let s = brdf.iter().map(|&s| match shader.sides {
            SurfaceSides::One => builder.op(Op::Select, &[above, s, zero]),
            SurfaceSides::Both => s,
        });
        return outputs("s", RGB, &s.collect::<Vec<_>>());
    }
    let cosine = match shader.sides {
        SurfaceSides::One => {
            let zero = builder.f32(0.0);
            builder.op(Op::Max, &[wi_z, zero])
        }
        SurfaceSides::Both => builder.op(Op::Abs, &[wi_z]),
    };
    let s: Vec<_> = brdf.iter().map(|&value| builder.op(Op::Mul, &[value, cosine])).collect();
    outputs("s", RGB, &s)
}

/// Clamps a property of a medium to [0, `max`]. NaN becomes 0.
fn clamp(builder: &mut Builder, x: Value, max: f32) -> Value {
    let zero = builder.f32(0.0);
    let x = builder.op(Op::Max, &[zero, x]);
    if max == f32::INFINITY {
        return x;
    }
    let max = builder.f32(max);
    builder.op(Op::Min, &[x, max])
}

/// Clamps the results of `fn material` to the ranges of the members, which analyses rely on. NaN
/// becomes the lower endpoint.
fn clamp_members(builder: &mut Builder, members: &[Parameter], values: Vec<Value>) -> Vec<Value> {
    let members = members.iter().flat_map(|member| std::iter::repeat_n(member, member.size));
    std::iter::zip(values, members)
        .map(|(value, member)| clamp_to_range(builder, member, value))
        .collect()
}

/// Clamps a component of a parameter to the parameter's range. NaN becomes the lower endpoint.
fn clamp_to_range(builder: &mut Builder, parameter: &Parameter, mut value: Value) -> Value {
    let (scalar, [low, high]) = (parameter.scalar, parameter.range);
    let (max, min) = match scalar {
        Scalar::F32 => (Op::Max, Op::Min),
        Scalar::I32 => (Op::SMax, Op::SMin),
        Scalar::U32 => (Op::UMax, Op::UMin),
        Scalar::Bool => return value,
    };
    let endpoint = |builder: &mut Builder, x: f64| builder.constant(scalar.ty(), scalar.bits(x));
    if low > f64::NEG_INFINITY {
        let low = endpoint(builder, low);
        value = builder.op(max, &[low, value]);
    }
    if high < f64::INFINITY {
        let high = endpoint(builder, high);
        value = builder.op(min, &[value, high]);
    }
    value
}

/// Adds inputs for the components of a parameter. Integers are clamped, although they are in range
/// already, so that the proof that loops terminate knows their range.
fn component_inputs(builder: &mut Builder, parameter: &Parameter) -> Vec<Value> {
    let inputs: Vec<_> = parameter
        .component_names()
        .map(|name| builder.input(&name, parameter.scalar.ty()))
        .collect();
    match parameter.scalar {
        Scalar::I32 | Scalar::U32 => {
            inputs.into_iter().map(|input| clamp_to_range(builder, parameter, input)).collect()
        }
        Scalar::F32 | Scalar::Bool => inputs,
    }
}

fn shader_error(source: &Source, fault: Fault) -> ShaderError {
    let error = source.error(fault.message).at_span(fault.span, "here");
    ShaderError { help: fault.help, ..error }
}

/// Checks the values of overrides against their declarations.
fn check_overrides(
    source: &Source,
    shader: &Shader,
    settings: &Settings,
) -> Result<(), ShaderError> {
    let declared = &shader.contract.overrides;
    let location = |name: &str| {
        let overrides = &shader.module.overrides;
        let declared = overrides.iter().find(|(_, o)| o.name.as_deref() == Some(name));
        declared.map_or(0..0, |(handle, _)| source.declared_name(overrides.get_span(handle)))
    };
    for (name, x) in &settings.overrides {
        let Some(parameter) = declared.iter().find(|parameter| parameter.name == *name) else {
            let names: Vec<_> = declared.iter().map(|parameter| parameter.name.as_str()).collect();
            let error = source.error(format!("the shader has no override `{name}`"));
            return Err(match names[..] {
                [] => error.help("it has no overrides"),
                _ => error.help(format!("there are {}", super::diagnostics::list(&names, "and"))),
            });
        };
        let expected = match parameter.scalar {
            Scalar::F32 if (*x as f32).is_finite() => None,
            Scalar::F32 => Some("a finite number"),
            Scalar::I32 | Scalar::U32 if x.fract() == 0.0 => None,
            Scalar::I32 | Scalar::U32 => Some("an integer"),
            Scalar::Bool if *x == 0.0 || *x == 1.0 => None,
            Scalar::Bool => Some("0 or 1"),
        };
        let error = |message: String| source.error(message).at(location(name), "declared here");
        if let Some(expected) = expected {
            return Err(error(format!(
                "the override `{name}` must be {expected}, but {x} was given"
            )));
        }
        let [lo, hi] = parameter.range;
        if !(lo..=hi).contains(x) {
            return Err(error(format!(
                "the value {x} of the override `{name}` is outside its range from {lo} to {hi}"
            )));
        }
    }
    for (_, declaration) in shader.module.overrides.iter() {
        let name = declaration.name.as_deref().unwrap_or("");
        if declaration.init.is_none() && !settings.overrides.iter().any(|(key, _)| key == name) {
            let error = source
                .error(format!("the override `{name}` has no value"))
                .at(location(name), "declared here without a value");
            return Err(
                error.help("initialize it in the declaration, or set it where the shader is used")
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpreter;

    const SHADER: &str = "
        struct Material {
            kd: vec3f,
            n: i32,
            thin: bool,
        }
        fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
            return select(m.kd * wi.x + wo, vec3f(f32(m.n)), m.thin);
        }
        fn sample(u: vec2f, wo: vec3f) -> vec3f { return vec3f(u, wo.y); }
        fn pdf(wi: vec3f, wo: vec3f, m: Material) -> f32 { return wi.y * wo.z + m.kd.y; }
    ";

    fn evaluate(text: &str, entry: Entry, inputs: &[(&str, u32)]) -> Vec<(String, u32)> {
        let shader = Shader::parse("test.wgsl", text).unwrap_or_else(|error| panic!("{error}"));
        let function =
            shader.function(entry, &Settings::default()).unwrap_or_else(|error| panic!("{error}"));
        let names: Vec<_> = function.inputs.iter().map(|port| port.name.as_str()).collect();
        assert_eq!(names, inputs.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        let words: Vec<_> = inputs.iter().map(|(_, bits)| *bits).collect();
        let results = interpreter::run(&function, &[], &words, 1000).expect("loops end");
        function.outputs.iter().map(|port| port.name.clone()).zip(results).collect()
    }

    fn floats(outputs: &[(String, u32)]) -> Vec<(&str, f32)> {
        outputs.iter().map(|(name, bits)| (name.as_str(), f32::from_bits(*bits))).collect()
    }

    const WI: [(&str, u32); 3] =
        [("wi.x", 0x3f00_0000), ("wi.y", 0x3e80_0000), ("wi.z", 0x4000_0000)];
    const WO: [(&str, u32); 3] =
        [("wo.x", 0x3f80_0000), ("wo.y", 0x4000_0000), ("wo.z", 0x4040_0000)];
    const MATERIAL: [(&str, u32); 5] = [
        ("kd.x", 0x3f80_0000),
        ("kd.y", 0x4000_0000),
        ("kd.z", 0x4080_0000),
        ("n", 7),
        ("thin", 0),
    ];

    #[test]
    fn ports_have_names_of_components() {
        let inputs = [&WI[..], &WO, &MATERIAL].concat();
        let brdf = [("brdf.r", 1.5), ("brdf.g", 3.0), ("brdf.b", 5.0)];
        let s = [("s.r", 3.0), ("s.g", 6.0), ("s.b", 10.0)];
        assert_eq!(floats(&evaluate(SHADER, Entry::Integrand, &inputs)), s);
        assert_eq!(floats(&evaluate(SHADER, Entry::Brdf, &inputs)), [brdf, s].concat());
        assert_eq!(floats(&evaluate(SHADER, Entry::Pdf, &inputs)), [("pdf", 2.75)]);
        let u = [("u.x", 0x3f00_0000), ("u.y", 0x3e80_0000)];
        let inputs = [&u[..], &WO, &MATERIAL].concat();
        assert_eq!(
            floats(&evaluate(SHADER, Entry::Sample, &inputs)),
            [("wi.x", 0.5), ("wi.y", 0.25), ("wi.z", 2.0)]
        );
        let mut thin = [&WI[..], &WO, &MATERIAL].concat();
        thin[10].1 = !0;
        assert_eq!(floats(&evaluate(SHADER, Entry::Integrand, &thin))[0], ("s.r", 14.0));
    }

    #[test]
    fn integrand_cosine_depends_on_sides() {
        let text = "fn brdf(wi: vec3f, wo: vec3f) -> vec3f { return vec3f(1, 2, 3); }";
        let mut inputs = [WI, WO].concat();
        inputs[2].1 = (-0.5_f32).to_bits();
        assert_eq!(
            floats(&evaluate(text, Entry::Integrand, &inputs)),
            [("s.r", 0.0), ("s.g", 0.0), ("s.b", 0.0)]
        );
        let both = format!("//! sides: both\n{text}");
        assert_eq!(
            floats(&evaluate(&both, Entry::Integrand, &inputs)),
            [("s.r", 0.5), ("s.g", 1.0), ("s.b", 1.5)]
        );
    }

    #[test]
    fn included_cosine_is_not_applied_again() {
        let text = "//! cosine: included
            fn brdf(wi: vec3f, wo: vec3f) -> vec3f { return vec3f(1, 2, 3); }";
        let mut inputs = [WI, WO].concat();
        let s = [("s.r", 1.0), ("s.g", 2.0), ("s.b", 3.0)];
        let brdf = [("brdf.r", 0.5), ("brdf.g", 1.0), ("brdf.b", 1.5)];
        assert_eq!(floats(&evaluate(text, Entry::Integrand, &inputs)), s);
        assert_eq!(floats(&evaluate(text, Entry::Brdf, &inputs)), [brdf, s].concat());
        inputs[2].1 = (-0.5_f32).to_bits();
        assert_eq!(floats(&evaluate(text, Entry::Integrand, &inputs))[1], ("s.g", 0.0));
        let both = format!("//! sides: both\n{text}");
        assert_eq!(floats(&evaluate(&both, Entry::Integrand, &inputs)), s);
        assert_eq!(floats(&evaluate(&both, Entry::Brdf, &inputs))[0], ("brdf.r", 2.0));
        inputs[2].1 = 0;
        assert!(
            evaluate(&both, Entry::Brdf, &inputs)
                .iter()
                .all(|(_, x)| f32::from_bits(*x).is_finite())
        );
    }

    #[test]
    fn fn_material_is_inlined_into_entries() {
        let text = "
            struct Material { kd: vec3f }
            fn material(p: SurfacePoint) -> Material { return Material(p.normal + vec3f(p.uv, p.position.x * p.object_position.y)); }
            fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return m.kd; }";
        let one = 1_f32.to_bits();
        let names = [
            "position.x",
            "position.y",
            "position.z",
            "object_position.x",
            "object_position.y",
            "object_position.z",
        ];
        let names = [&names[..], &["normal.x", "normal.y", "normal.z", "uv.x", "uv.y"]].concat();
        let inputs: Vec<_> =
            WI.into_iter().chain(WO).chain(names.into_iter().map(|name| (name, one))).collect();
        assert_eq!(
            floats(&evaluate(text, Entry::Integrand, &inputs)),
            [("s.r", 4.0), ("s.g", 4.0), ("s.b", 4.0)]
        );
        let shader = Shader::parse("test.wgsl", text).expect("it is valid");
        let defaults: Vec<_> = shader
            .parameters()
            .iter()
            .map(|p| (p.name.as_str(), p.default.clone().unwrap_or_default()))
            .collect();
        let expected = [
            ("position", vec![0.0; 3]),
            ("object_position", vec![0.0; 3]),
            ("normal", vec![0.0, 0.0, 1.0]),
            ("uv", vec![0.0; 2]),
        ];
        assert_eq!(defaults, expected);
    }

    #[test]
    fn capped_loops_are_reported() {
        let text = "fn brdf(wi: vec3f, wo: vec3f) -> vec3f { var x = wi; loop { if x.x > wo.x { break; } x *= 2.0; } return x; }";
        let outputs = evaluate(text, Entry::Integrand, &[WI, WO].concat());
        assert_eq!(outputs.last(), Some(&("capped".to_owned(), 0)));
        let mut inputs = [WI, WO].concat();
        inputs[0].1 = 0;
        let shader = Shader::parse("test.wgsl", text).expect("it is valid");
        let function = shader
            .function(Entry::Integrand, &Settings { loop_cap: 10, ..Settings::default() })
            .expect("it is supported");
        let words: Vec<_> = inputs.iter().map(|(_, bits)| *bits).collect();
        assert_eq!(
            interpreter::run(&function, &[], &words, 1000).expect("loops end").last(),
            Some(&!0)
        );
    }
}
