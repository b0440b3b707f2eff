//! Values of `override` declarations, and the expressions made of them.
//!
//! naga evaluates other constants while it reads them, but leaves these for when the values are known, and its validator does not look
//! at them: it takes `override x = 1.0 << 2;`. So their types are checked here, by validating a function that computes them all.

use super::layout::{narrow, scalar_type};
use super::translate::{Fault, Frame, Leaves, Translator};
use crate::ir::{Emit, Type};
use naga::valid::{Capabilities, ValidationFlags, Validator};
use naga::{Block, Expression, Function, Handle, Module, Range, ScalarKind, Span, Statement};

impl<'m> Translator<'m> {
    /// Value of an override, if it is given one or has a default.
    pub(super) fn override_value(
        &mut self,
        frame: &mut Frame<'m>,
        handle: Handle<Expression>,
        constant: Handle<naga::Override>,
    ) -> Result<Leaves, Fault> {
        let declared = &self.module.overrides[constant];
        let name = declared.name.as_deref().unwrap_or("");
        let Some(&(_, x)) = self.overrides.iter().rev().find(|(key, _)| key == name) else {
            let Some(init) = declared.init else {
                let message = format!("`{name}` has no value");
                return Err(self.fault(frame, handle, message, Some("give the `override` a default, or pass a value for it")));
            };
            return self.constant_in(frame, init);
        };
        let inner = &self.module.types[declared.ty].inner;
        let scalar = inner.scalar().expect("overrides are scalars");
        let value = match scalar_type(scalar) {
            Some(Type::F32) => self.builder.f32(x as f32),
            Some(Type::I32) if scalar.kind == ScalarKind::Sint => self.builder.i32(x as i32),
            Some(Type::I32) => self.builder.i32(x as u32 as i32),
            Some(Type::Bool) => self.builder.bool(x != 0.0),
            None => return Err(narrow(scalar, self.span_of(frame, handle))),
        };
        Ok(self.push(&[value]))
    }

    /// Checks the expressions made of overrides, at the first one of them.
    pub(super) fn check_override_expression(&mut self, expression: &Expression) -> Result<(), Fault> {
        let checked_by_naga = matches!(
            expression,
            Expression::Literal(_)
                | Expression::Constant(_)
                | Expression::Override(_)
                | Expression::ZeroValue(_)
                | Expression::Compose { .. }
                | Expression::Splat { .. }
        );
        if checked_by_naga || std::mem::replace(&mut self.overrides_checked, true) {
            return Ok(());
        }
        check(self.module)
    }
}

/// Validates the module's own expressions as those of a function.
fn check(module: &Module) -> Result<(), Fault> {
    let mut function = Function { expressions: module.global_expressions.clone(), ..Function::default() };
    let mut body = Block::new();
    for (handle, expression) in module.global_expressions.iter() {
        if !expression.needs_pre_emit() {
            body.push(Statement::Emit(Range::new_from_bounds(handle, handle)), module.global_expressions.get_span(handle));
        }
    }
    function.body = body;
    let mut probe = Module {
        types: module.types.clone(),
        special_types: module.special_types.clone(),
        constants: module.constants.clone(),
        overrides: module.overrides.clone(),
        global_expressions: module.global_expressions.clone(),
        ..Module::default()
    };
    probe.functions.append(function, Span::UNDEFINED);
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::all());
    match validator.validate(&probe) {
        Ok(_) => Ok(()),
        Err(error) => Err(Fault {
            message: "the types of operands do not fit in an `override`".to_owned(),
            span: error.spans().map(|(span, _)| *span).find(Span::is_defined).unwrap_or(Span::UNDEFINED),
            help: Some("the same operation in a function says more about it".to_owned()),
        }),
    }
}

#[cfg(test)]
mod tests {
    use crate::frontend::testing::{fault, run, translate_with};

    #[test]
    fn overrides_have_the_values_they_are_given() {
        let source = "override on = true; override n: i32 = 3; @id(7) override k: u32 = 5; override scale: f32 = 2.0;
            override twice = scale * 2.0;
            fn f(x: f32) -> vec4f {
                return vec4f(x * scale, twice, f32(n), select(0.0, 1.0, on)) + vec4f(0.0, 0.0, 10.0 * f32(i32(k)), 0.0);
            }";
        let with = |overrides: &[(&str, f64)]| {
            let overrides: Vec<_> = overrides.iter().map(|&(name, x)| (name.to_owned(), x)).collect();
            let f = translate_with(source, &overrides).expect("it can be translated");
            run(&f, &[1.0f32.to_bits()])[..4].iter().map(|&word| f32::from_bits(word)).collect::<Vec<_>>()
        };
        assert_eq!(with(&[]), [2.0, 4.0, 53.0, 1.0]);
        assert_eq!(with(&[("scale", 3.5), ("n", -2.0), ("on", 0.0), ("k", 1.0)]), [3.5, 7.0, 8.0, 0.0]);
        let (found, text) = fault("override a: f32; fn f(x: f32) -> f32 { return x * a; }");
        assert_eq!((&found.message[..], &text[..]), ("`a` has no value", "a"));
    }

    #[test]
    fn expressions_of_overrides_are_checked() {
        let cases = ["a << 2u", "a & 1.5", "-(a > 1.0)", "~a", "select(a, 2.0, n)", "vec2f(a)[n] + n"];
        for case in cases {
            let source =
                format!("override a = 1.5; override n = 3; override b = {case}; fn f(x: f32) -> f32 {{ return x * f32(b); }}");
            let (found, _) = fault(&source);
            assert!(found.message.contains("override"), "{case}: {found:?}");
        }
    }

    #[test]
    fn long_chains_of_overrides_are_no_trouble() {
        let chain: String = (1..2000).map(|k| format!("override o{k} = o{} + 1.0; ", k - 1)).collect();
        let (found, _) = fault(&format!("override o0 = 1.0; {chain} fn f(x: f32) -> f32 {{ return x * o1999; }}"));
        assert!(found.message.contains("chain"), "{found:?}");
    }
}
