//! Functions of any signature: their inputs and outputs by name.
//!
//! Scalars and vectors that a function takes are its arguments. The members of structs that it takes
//! are its parameters, as for materials and media.

use super::super::diagnostics::{list, type_name};
use super::super::{Parameter, Scalar, ShaderError, ShaderKind, Source, annotations, textures};
use super::{Contract, overrides, parameter, scalar_type};
use crate::ir::Value;
use naga::{Handle, Module, TypeInner};

/// Finds a function by name.
pub(super) fn find(
    source: &Source,
    module: &Module,
    name: &str,
) -> Result<Handle<naga::Function>, ShaderError> {
    let mut functions = module.functions.iter();
    let found = functions.find(|(_, function)| function.name.as_deref() == Some(name));
    found.map(|(handle, _)| handle).ok_or_else(|| {
        let names = module.functions.iter().filter_map(|(_, function)| function.name.as_deref());
        let names: Vec<_> = names.collect();
        let error = source.error(format!("the shader has no `fn {name}`"));
        match names[..] {
            [] => error.help("it has no functions"),
            _ => error.help(format!("it has {}", list(&names, "and"))),
        }
    })
}

/// Checks the inputs and outputs of a function.
pub(super) fn contract(
    source: &Source,
    module: &Module,
    main: Handle<naga::Function>,
) -> Result<Contract, ShaderError> {
    let kind = ShaderKind::Function;
    let function = &module.functions[main];
    let name = function.name.as_deref().unwrap_or("");
    let span = module.functions.get_span(main);
    let (mut arguments, mut members) = (vec![], vec![]);
    for argument in &function.arguments {
        let declared = source.member(span, argument.name.as_deref().unwrap_or(""));
        let docs = source.doc_comments(&declared.name);
        let ty = &module.types[argument.ty];
        let (scalar, size) = match ty.inner {
            TypeInner::Scalar(scalar) => (scalar_type(scalar), 1),
            TypeInner::Vector { size, scalar } => (scalar_type(scalar), size as usize),
            TypeInner::Struct { members: ref fields, .. } => {
                let declaration = module.types.get_span(argument.ty);
                for field in fields {
                    members.push(parameter(source, module, kind, declaration, field)?);
                }
                continue;
            }
            _ => (None, 0),
        };
        let argument_name = argument.name.as_deref().unwrap_or("");
        let Some(scalar) = scalar else {
            let error = source.error(format!(
                "the argument `{argument_name}` of `{name}` is `{}`",
                type_name(module, argument.ty)
            ));
            return Err(error
                .at(declared.ty, "expected a scalar, a vector or a struct of both")
                .help(format!("pass its components, and combine them in `{name}`")));
        };
        arguments.push(annotations::parameter(source, argument_name, &docs, scalar, size)?);
    }
    let inputs: Vec<&Parameter> = arguments.iter().chain(&members).collect();
    for (k, input) in inputs.iter().enumerate() {
        if inputs[..k].iter().any(|earlier| earlier.name == input.name) {
            let error = source
                .error(format!("two inputs of `{name}` are called `{}`", input.name))
                .at(source.signature(span), "takes both");
            return Err(error.help("rename one of them: inputs are set by name"));
        }
    }
    let Some(result) = &function.result else {
        let error = source
            .error(format!("`{name}` returns nothing"))
            .at(source.signature(span), "has no result");
        return Err(error.help("let it return a scalar, a vector or a struct"));
    };
    let mut outputs = vec![];
    add_outputs(module, result.ty, name, true, &mut outputs);
    let (outputs, output_scalars) = outputs.into_iter().unzip();
    Ok(Contract {
        kind,
        main,
        arguments,
        outputs,
        output_scalars,
        albedo: None,
        emission: None,
        sample: None,
        pdf: None,
        material: None,
        surface: vec![],
        parameters: members.clone(),
        members,
        overrides: overrides(source, module)?,
        textures: textures::names(module),
        texel_ranges: super::texel_ranges(source, module)?,
    })
}

/// Appends the names and types of the leaves of a type, in the order of
/// [`Layout`](super::super::layout). Members of the outermost struct have names of their own.
fn add_outputs(
    module: &Module,
    ty: Handle<naga::Type>,
    name: &str,
    is_outermost: bool,
    outputs: &mut Vec<(String, Scalar)>,
) {
    const XYZW: [&str; 4] = ["x", "y", "z", "w"];
    // Other types cannot be translated.
    let of = |scalar| scalar_type(scalar).unwrap_or(Scalar::F32);
    match module.types[ty].inner {
        TypeInner::Vector { size, scalar } => {
            let names = XYZW[..size as usize].iter().map(|axis| format!("{name}.{axis}"));
            outputs.extend(names.map(|name| (name, of(scalar))));
        }
        TypeInner::Matrix { columns, rows, scalar } => {
            for column in 0..columns as usize {
                let rows = XYZW[..rows as usize].iter();
                let names = rows.map(|axis| format!("{name}.{column}.{axis}"));
                outputs.extend(names.map(|name| (name, of(scalar))));
            }
        }
        TypeInner::Array { base, size: naga::ArraySize::Constant(count), .. } => {
            // Larger arrays cannot be translated.
            for k in 0..count.get().min(super::super::layout::MAX_LEAVES) {
                add_outputs(module, base, &format!("{name}.{k}"), false, outputs);
            }
        }
        TypeInner::Struct { ref members, .. } => {
            for member in members {
                let member_name = member.name.as_deref().unwrap_or("");
                let name = match is_outermost {
                    true => member_name.to_owned(),
                    false => format!("{name}.{member_name}"),
                };
                add_outputs(module, member.ty, &name, false, outputs);
            }
        }
        TypeInner::Scalar(scalar) => outputs.push((name.to_owned(), of(scalar))),
        _ => outputs.push((name.to_owned(), Scalar::F32)),
    }
}

/// Assembles what a function is called with from the values of its arguments, one list for each,
/// and those of its parameters.
pub(in crate::frontend) fn arguments(
    module: &Module,
    function: Handle<naga::Function>,
    arguments: &[Vec<Value>],
    mut parameters: &[Value],
) -> Vec<Vec<Value>> {
    let mut arguments = arguments.iter();
    let mut next = |argument: &naga::FunctionArgument| match module.types[argument.ty].inner {
        TypeInner::Struct { ref members, .. } => {
            let size = |ty: Handle<naga::Type>| match module.types[ty].inner {
                TypeInner::Vector { size, .. } => size as usize,
                _ => 1,
            };
            let words = members.iter().map(|member| size(member.ty)).sum();
            let (these, others) = parameters.split_at(words);
            parameters = others;
            these.to_vec()
        }
        _ => arguments.next().expect("there is a list for each argument").clone(),
    };
    module.functions[function].arguments.iter().map(&mut next).collect()
}

#[cfg(test)]
mod tests {
    use crate::frontend::{Entry, Settings, Shader, ShaderKind};
    use crate::interpreter;

    fn names(text: &str, function: &str) -> Result<(Vec<String>, Vec<String>), String> {
        let shader =
            Shader::parse_function("f.wgsl", text, function).map_err(|error| error.one_line())?;
        assert_eq!((shader.kind(), shader.function_name()), (ShaderKind::Function, function));
        let function = shader
            .function(Entry::Function, &Settings::default())
            .map_err(|error| error.one_line())?;
        let names =
            |ports: &[crate::ir::Port]| ports.iter().map(|port| port.name.clone()).collect();
        Ok((names(&function.inputs), names(&function.outputs)))
    }

    #[test]
    fn inputs_and_outputs_are_named() {
        let text = "struct A { k: f32, uv: vec2f }
            struct B { n: i32 }
            struct Out { value: f32, rest: array<vec2f, 2>, m: mat2x3f }
            fn f(a: A, x: f32, b: B, y: vec3f) -> Out {
                return Out(a.k * x, array(a.uv, y.xy), mat2x3f(y, y * f32(b.n)));
            }
            fn g(flag: bool) -> vec4f { return vec4f(select(0.0, 1.0, flag)); }
            fn brdf(x: f32) -> f32 { return 2.0 * x; }";
        let (inputs, outputs) = names(text, "f").unwrap();
        assert_eq!(inputs, ["x", "y.x", "y.y", "y.z", "k", "uv.x", "uv.y", "n"]);
        let rest = ["rest.0.x", "rest.0.y", "rest.1.x", "rest.1.y"];
        let m = ["m.0.x", "m.0.y", "m.0.z", "m.1.x", "m.1.y", "m.1.z"];
        assert_eq!(outputs, [&["value"][..], &rest, &m].concat());
        let (inputs, outputs) = names(text, "g").unwrap();
        assert_eq!((inputs, outputs.len()), (vec!["flag".to_owned()], 4));
        // Names of entry points have no special meaning.
        assert_eq!(names(text, "brdf").unwrap().1, ["brdf"]);
    }

    #[test]
    fn values_reach_their_arguments() {
        let text = "struct A { k: f32, uv: vec2f }
            struct B { n: i32 }
            fn f(a: A, x: f32, b: B, y: vec3f) -> f32 {
                return a.k + 2.0 * a.uv.y + 4.0 * x + 8.0 * f32(b.n) + 16.0 * y.z;
            }";
        let shader = Shader::parse_function("f.wgsl", text, "f").unwrap();
        let function = shader.function(Entry::Function, &Settings::default()).unwrap();
        for input in 0..function.inputs.len() {
            let mut words = vec![0; function.inputs.len()];
            let is_integer = function.inputs[input].name == "n";
            words[input] = if is_integer { 1 } else { 1.0_f32.to_bits() };
            let result = interpreter::run(&function, &[], &words, 1).unwrap();
            let expected = [4.0, 0.0, 0.0, 16.0, 1.0, 0.0, 2.0, 8.0][input];
            assert_eq!(f32::from_bits(result[0]), expected, "input {input}");
        }
    }

    #[test]
    fn ranges_of_arguments_are_declared_in_doc_comments() {
        let text =
            "fn f(/** The first. range: [0, 1] */ x: f32, /** range: [-2, 2] */ y: vec2f) -> f32 {
                return x * y.x;
            }";
        let shader = Shader::parse_function("f.wgsl", text, "f").unwrap();
        let ranges: Vec<_> = shader.arguments().iter().map(|argument| argument.range).collect();
        assert_eq!(ranges, [[0.0, 1.0], [-2.0, 2.0]]);
        assert_eq!(shader.arguments()[0].doc, "The first.");
    }

    #[test]
    fn unusable_functions_are_rejected() {
        for (text, expected) in [
            ("fn g(x: f32) -> f32 { return x; }", "no `fn f`; it has `g`"),
            ("fn f(x: array<f32, 2>) -> f32 { return x[0]; }", "the argument `x` of `f` is"),
            ("fn f(x: mat2x2f) -> f32 { return x[0].x; }", "the argument `x` of `f` is"),
            ("fn f(x: f32) { }", "`f` returns nothing"),
            (
                "struct A { x: f32 } fn f(x: f32, a: A) -> f32 { return x; }",
                "two inputs of `f` are called `x`",
            ),
            ("struct A { y: mat2x2f } fn f(a: A) -> f32 { return 1.0; }", "the parameter `y` is"),
        ] {
            let error = names(text, "f").unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn fields_are_functions_with_a_fixed_signature() {
        let parse = |text: &str| Shader::parse("f.wgsl", text).map_err(|error| error.one_line());
        let text = "struct Params { r: f32 }
            fn field(p: vec3f, m: Params) -> f32 { return length(p) - m.r; }";
        let shader = parse(text).unwrap();
        assert_eq!((shader.kind(), shader.function_name()), (ShaderKind::Function, "field"));
        let error = parse("fn field(p: vec2f) -> f32 { return p.x; }").unwrap_err();
        assert!(error.contains("fn field(p: vec3f, m: Params) -> f32"), "{error}");
    }
}
