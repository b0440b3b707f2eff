//! Normals of surfaces and of their coats.

use super::Inputs;
use crate::document::Id;
use crate::error::Error;
use crate::graph::Scope;
use crate::values::{Term, Type};

impl Inputs<'_, '_> {
    /// The input with a normal, unless it is the normal of the geometry.
    pub(super) fn normal(&self, name: &str) -> Option<(Scope, Id)> {
        let document = self.g.document;
        let input = document.input(self.node, name)?;
        document.attribute(input, "value").is_none().then_some((self.scope, input))
    }

    /// The normal of a coat in the frame of the base, whose normal is the input `base`.
    pub(super) fn coat_normal(&mut self, name: &str, base: &str) -> Result<Term, Error> {
        let up = Term::constant(Type::Vector3, &[0.0, 0.0, 1.0]);
        if self.have_same_source([name, base])? {
            return Ok(up);
        }
        let coat = self.shading_normal(name)?.filter(|coat| *coat != up);
        let base = self.shading_normal(base)?.filter(|base| *base != up);
        let text = match (coat, base) {
            (None, None) => return Ok(up),
            (Some(coat), None) => format!("normalize({coat})"),
            (coat, Some(base)) => format!("mx_in_frame({}, {base})", coat.unwrap_or(up)),
        };
        self.g.bind_as(name, self.node, Type::Vector3, text)
    }

    /// A normal in the shading frame; `None` is that of the geometry.
    fn shading_normal(&mut self, name: &str) -> Result<Option<Term>, Error> {
        let Some((scope, input)) = self.normal(name) else { return Ok(None) };
        self.g.in_shading_frame(|g| g.value_of(scope, input, Type::Vector3))
    }

    /// Whether two inputs are connected to the same node.
    fn have_same_source(&mut self, names: [&str; 2]) -> Result<bool, Error> {
        let mut source = |name| match self.g.document.input(self.node, name) {
            Some(input) => self.g.source(self.scope, input),
            None => Ok(None),
        };
        let (a, b) = (source(names[0])?, source(names[1])?);
        Ok(a.is_some() && a == b)
    }
}
