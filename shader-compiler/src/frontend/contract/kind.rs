//! Finds out what a shader describes: a BRDF if it has `fn brdf`, a phase function if it has
//! `fn phase`, a density if it has `fn density`, the field of an implicit surface if it has
//! `fn field`.
//!
//! These are also plausible names of helpers, such as `fn density` of microfacet normals. So
//! functions that others call count only if there is no candidate that nobody calls.

use super::super::{ShaderError, ShaderKind, Source};
use super::{main_signature, nested_blocks};
use naga::{Handle, Module, Statement};

/// Finds the kind of a shader. `expected` are the kinds that messages mention.
pub(super) fn find(
    source: &Source,
    module: &Module,
    expected: &[ShaderKind],
) -> Result<ShaderKind, ShaderError> {
    let function = |kind: ShaderKind| {
        let name = main_signature(kind).name;
        let mut functions = module.functions.iter();
        let (handle, _) = functions.find(|(_, f)| f.name.as_deref() == Some(name))?;
        Some((kind, handle))
    };
    let existing: Vec<_> = ShaderKind::ALL.into_iter().filter_map(function).collect();
    let uncalled: Vec<_> =
        existing.iter().copied().filter(|&(_, handle)| !is_called(module, handle)).collect();
    match (&uncalled[..], &existing[..]) {
        (&[(kind, _)], _) | ([], &[(kind, _), ..]) => Ok(kind),
        (&[first, second, ..], _) => {
            let [(a, at), (b, other)] =
                [first, second].map(|(kind, handle)| (main_signature(kind).name, handle));
            let label = |handle| source.declared_name(module.functions.get_span(handle));
            let error = source
                .error(format!("there are both `fn {a}` and `fn {b}`"))
                .at(label(at), first.0.purpose())
                .at(label(other), second.0.purpose());
            Err(error.help("put them into two files: a shader describes one of them"))
        }
        ([], []) => Err(missing(source, module, expected)),
    }
}

/// Whether a function of the module calls this one.
fn is_called(module: &Module, callee: Handle<naga::Function>) -> bool {
    module.functions.iter().any(|(_, function)| {
        let mut blocks = vec![&function.body];
        while let Some(block) = blocks.pop() {
            for statement in block {
                if matches!(statement, Statement::Call { function, .. } if *function == callee) {
                    return true;
                }
                blocks.extend(nested_blocks(statement));
            }
        }
        false
    })
}

/// The error for a shader without any of the functions. Suggests renaming one that looks similar.
fn missing(source: &Source, module: &Module, kinds: &[ShaderKind]) -> ShaderError {
    let has_types = |function: &naga::Function, kind: ShaderKind| {
        let signature = main_signature(kind);
        let types: Vec<_> = function.arguments.iter().map(|argument| argument.ty).collect();
        types.len() == signature.parameters.len()
            && std::iter::zip(types, signature.parameters)
                .all(|(ty, (_, expected))| expected.matches(module, ty))
            && (function.result.as_ref())
                .is_some_and(|result| signature.result.matches(module, result.ty))
    };
    let intended_kind = |function: &naga::Function| {
        let name = function.name.as_deref().unwrap_or("");
        let is_one_of = |names: &[&str]| names.iter().any(|known| name.eq_ignore_ascii_case(known));
        let typical_names = |kind| match kind {
            ShaderKind::Brdf => {
                is_one_of(&["brdf", "bsdf", "eval", "evaluate", "f", "shade", "main"])
            }
            ShaderKind::Phase => is_one_of(&["phase", "phase_function", "phasefunction"]),
            ShaderKind::Density => is_one_of(&["density", "medium", "volume", "extinction"]),
            ShaderKind::Function => is_one_of(&["field", "sdf", "distance", "implicit"]),
        };
        kinds
            .iter()
            .copied()
            .find(|&kind| {
                typical_names(kind)
                    || is_misspelt(name, main_signature(kind).name)
                    || has_types(function, kind)
            })
            .filter(|_| !["sample", "pdf", "material", "albedo", "emission"].contains(&name))
    };
    let mut functions = module.functions.iter();
    let similar =
        functions.find_map(|(handle, function)| Some((handle, function, intended_kind(function)?)));
    match similar {
        Some((handle, function, kind)) => {
            let name = function.name.as_deref().unwrap_or("");
            let signature = main_signature(kind);
            let expected = signature.name;
            source
                .error(format!("there is no `fn {expected}`"))
                .at(
                    source.declared_name(module.functions.get_span(handle)),
                    format!("is this `{expected}`?"),
                )
                .help(format!("rename `{name}` to `{expected}`; {}", signature.help()))
        }
        None => {
            let names = kinds.iter().map(|&kind| format!("`fn {}`", main_signature(kind).name));
            let names = join_or(names.collect());
            let functions = kinds
                .iter()
                .map(|&kind| format!("`{}` {}", main_signature(kind).text(), kind.purpose()));
            let functions: Vec<_> = functions.collect();
            source
                .error(format!("there is no {names}"))
                .help(format!("add {}", functions.join(", or ")))
        }
    }
}

/// Joins names: `a, b or c`.
fn join_or(mut names: Vec<String>) -> String {
    let last = names.pop().unwrap_or_default();
    if names.is_empty() { last } else { format!("{} or {last}", names.join(", ")) }
}

/// Whether a name differs from another by the letters of at most one: one is left out, added or
/// replaced, or two neighbours are swapped.
fn is_misspelt(name: &str, expected: &str) -> bool {
    let common = |a: &mut dyn Iterator<Item = u8>, b: &mut dyn Iterator<Item = u8>| {
        a.zip(b).take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count()
    };
    let start = common(&mut name.bytes(), &mut expected.bytes());
    let end = common(&mut name.bytes().rev(), &mut expected.bytes().rev());
    let (shorter, longer) = (name.len().min(expected.len()), name.len().max(expected.len()));
    let is_swap = name.len() == expected.len()
        && start + end + 2 == longer
        && name.bytes().skip(start).take(2).eq(expected.bytes().skip(start).take(2).rev());
    is_swap || (longer - shorter <= 1 && start + end + 1 >= longer)
}

#[cfg(test)]
mod tests {
    use crate::frontend::{Shader, ShaderKind, SurfaceSides};

    const BRDF: &str = "fn brdf(wi: vec3f, wo: vec3f) -> vec3f { return VALUE; }";
    const PHASE: &str = "fn phase(wi: vec3f, wo: vec3f) -> f32 { return VALUE; }";

    fn parse(functions: &[(&str, &str)]) -> Result<Shader, String> {
        let text: String =
            functions.iter().map(|(text, value)| text.replace("VALUE", value)).collect();
        Shader::parse("test.wgsl", &text).map_err(|error| error.one_line())
    }

    #[test]
    fn similar_names_are_suggested() {
        let error = |name: &str, kind: ShaderKind| {
            let text = format!("fn {name}(p: vec3f) -> f32 {{ return 1.0; }}");
            Shader::parse_expecting("a.wgsl", &text, kind).map_err(|e| e.one_line()).unwrap_err()
        };
        for name in ["densty", "Density", "densitty", "dentsy", "densiyt", "desity", "volume"] {
            let renames = error(name, ShaderKind::Density).contains("to `density`");
            assert_eq!(renames, name != "dentsy", "{name}");
        }
        assert!(error("phse", ShaderKind::Phase).contains("rename `phse` to `phase`"));
        let other = error("f", ShaderKind::Density);
        assert!(other.contains("there is no `fn density`; add `fn density("), "{other}");
        assert!(!other.contains("brdf"), "{other}");
        let any = Shader::parse("a.wgsl", "").map_err(|e| e.one_line()).unwrap_err();
        assert!(
            any.contains("there is no `fn brdf`, `fn phase`, `fn density` or `fn field`"),
            "{any}"
        );
    }

    #[test]
    fn uncalled_function_determines_the_kind() {
        let shader = parse(&[(PHASE, "0.25")]).unwrap();
        assert_eq!(shader.kind(), ShaderKind::Phase);
        assert_eq!((shader.sides(), shader.includes_cosine()), (SurfaceSides::Both, true));
        let call = "vec3f(select(0.0, phase(wi, wo), wi.z > 0.0))";
        for functions in [
            &[(BRDF, "wi")][..],
            &[(BRDF, call), (PHASE, "0.25")],
            // In dead code, both are called.
            &[
                (BRDF, call),
                (PHASE, "0.25"),
                ("fn g(w: vec3f) -> vec3f { return brdf(w, w); }", ""),
            ],
        ] {
            assert_eq!(parse(functions).unwrap().kind(), ShaderKind::Brdf);
        }
        let shader = parse(&[(PHASE, "brdf(wi, wo).x"), (BRDF, "wi")]).unwrap();
        assert_eq!(shader.kind(), ShaderKind::Phase);
        const DENSITY: &str = "fn density(p: vec3f) -> f32 { return VALUE; }";
        assert_eq!(parse(&[(DENSITY, "p.x")]).unwrap().kind(), ShaderKind::Density);
        let shader = parse(&[(DENSITY, "p.x"), (BRDF, "wi * density(wo)")]).unwrap();
        assert_eq!(shader.kind(), ShaderKind::Brdf);
        assert!(parse(&[(DENSITY, "p.x"), (PHASE, "0.25")]).is_err());
        let error = parse(&[(PHASE, "0.25"), (BRDF, "wi")]).unwrap_err();
        assert!(
            error.contains("there are both `fn brdf` and `fn phase`; put them into"),
            "{error}"
        );
    }
}
