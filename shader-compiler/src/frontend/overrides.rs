//! Values of `override` declarations. naga evaluates other constants while it parses; expressions
//! of overrides are translated.

use super::layout::{scalar_type, unsupported_scalar};
use super::translate::{Fault, Frame, Leaves, Translator};
use crate::ir::{Emit, Type};
use naga::{Expression, Handle, ScalarKind};

impl<'m> Translator<'m> {
    /// Value of an override: from the settings, or else its initializer.
    pub(super) fn override_value(
        &mut self,
        frame: &mut Frame<'m>,
        handle: Handle<Expression>,
        constant: Handle<naga::Override>,
    ) -> Result<Leaves, Fault> {
        let declared = &self.module.overrides[constant];
        let name = declared.name.as_deref().unwrap_or("");
        let Some(&(_, x)) = self.settings.overrides.iter().rev().find(|(key, _)| key == name)
        else {
            let Some(init) = declared.init else {
                let message = format!("`{name}` has no value");
                return Err(self.fault(
                    frame,
                    handle,
                    message,
                    Some("give the `override` a default, or pass a value for it"),
                ));
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
            None => return Err(unsupported_scalar(scalar, self.span_of(frame, handle))),
        };
        Ok(self.push(&[value]))
    }
}

#[cfg(test)]
mod tests {
    use crate::frontend::testing::{fault, run, translate_with};

    #[test]
    fn settings_replace_initializers() {
        let source = "override on = true; override n: i32 = 3; @id(7) override k: u32 = 5; override scale: f32 = 2.0;
            override twice = scale * 2.0;
            fn f(x: f32) -> vec4f {
                return vec4f(x * scale, twice, f32(n), select(0.0, 1.0, on)) + vec4f(0.0, 0.0, 10.0 * f32(i32(k)), 0.0);
            }";
        let evaluate = |overrides: &[(&str, f64)]| {
            let overrides: Vec<_> =
                overrides.iter().map(|&(name, x)| (name.to_owned(), x)).collect();
            let f = translate_with(source, &overrides).expect("it can be translated");
            run(&f, &[1.0f32.to_bits()])[..4]
                .iter()
                .map(|&word| f32::from_bits(word))
                .collect::<Vec<_>>()
        };
        assert_eq!(evaluate(&[]), [2.0, 4.0, 53.0, 1.0]);
        assert_eq!(
            evaluate(&[("scale", 3.5), ("n", -2.0), ("on", 0.0), ("k", 1.0)]),
            [3.5, 7.0, 8.0, 0.0]
        );
        let (error, text) = fault("override a: f32; fn f(x: f32) -> f32 { return x * a; }");
        assert_eq!((&error.message[..], &text[..]), ("`a` has no value", "a"));
    }

    #[test]
    fn long_chains_of_overrides_are_rejected() {
        let chain: String =
            (1..2000).map(|k| format!("override o{k} = o{} + 1.0; ", k - 1)).collect();
        let (error, _) = fault(&format!(
            "override o0 = 1.0; {chain} fn f(x: f32) -> f32 {{ return x * o1999; }}"
        ));
        assert!(error.message.contains("chain"), "{error:?}");
    }
}
