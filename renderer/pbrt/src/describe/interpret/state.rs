//! The graphics state, its scopes, and the current transform.

use super::{Interpreter, entities::AttributeTarget};
use crate::ctm::{self, CheckedTransform, Ctm};
use crate::describe::MediumInterface;
use crate::diagnostics::{Location, SceneError};
use crate::file::params::Param;
use crate::file::parse::Directive;
use glam::{DAffine3, DVec3};
use lightbound::settings::ColourSpace;
use std::sync::Arc;

/// The state that `AttributeBegin` saves and `AttributeEnd` restores.
#[derive(Clone, Default)]
pub(super) struct GraphicsState {
    pub ctm: Ctm,
    pub reverse_orientation: bool,
    pub material: usize,
    pub area_light: Option<usize>,
    pub media: Option<MediumInterface>,
    pub colour_space: ColourSpace,
    /// Parameters set by `Attribute`, for each [`AttributeTarget`].
    pub defaults: [Vec<Arc<Param>>; AttributeTarget::NAMES.len()],
}

/// A block that saves and restores the graphics state.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Scope {
    Attribute,
    Object,
}

impl Scope {
    /// Returns the directive that opens the scope.
    pub fn begin(self) -> &'static str {
        if self == Scope::Attribute { "AttributeBegin" } else { "ObjectBegin" }
    }

    /// Returns the directive that closes the scope.
    pub fn end(self) -> &'static str {
        if self == Scope::Attribute { "AttributeEnd" } else { "ObjectEnd" }
    }
}

impl Interpreter<'_> {
    /// Applies a transform directive to the current transform.
    pub(super) fn transform(
        &mut self,
        directive: &Directive,
        keyword: &'static str,
        location: &Location,
    ) {
        let map = match directive {
            Directive::Identity => Ok(DAffine3::IDENTITY),
            Directive::Translate(v) => Ok(DAffine3::from_translation(DVec3::from_array(*v))),
            Directive::Scale(v) => Ok(DAffine3::from_scale(DVec3::from_array(*v))),
            Directive::Rotate(v) => ctm::rotate(*v),
            Directive::LookAt(v) => ctm::look_at(*v),
            Directive::ConcatTransform(v) | Directive::Transform(v) => ctm::from_matrix(v),
            other => unreachable!("{other:?} is not a transform"),
        };
        let ctm = &mut self.state.ctm;
        match directive {
            Directive::Identity | Directive::Transform(_) => ctm.replace(map, keyword, location),
            _ => ctm.concat(map, keyword, location),
        }
    }

    /// Returns the current transform at the start time, for an entity that does not move: `user`
    /// describes it. Warns if the transform is animated.
    pub(super) fn ctm(
        &mut self,
        location: &Location,
        user: &str,
    ) -> Result<CheckedTransform, SceneError> {
        if self.state.ctm.is_animated() {
            let message = format!("motion of this {user} is not supported");
            self.diagnostics.warn(Some(location), message, "the transform at the start time")?;
        }
        Ok(self.state.ctm.transforms[0].clone())
    }

    /// Returns the current transform at the start time, and that at the end time if it differs.
    /// `user` describes the entity. Fails if a transform cannot be used.
    pub(super) fn moving_ctm(
        &mut self,
        location: &Location,
        user: &str,
    ) -> Result<(DAffine3, Option<DAffine3>), SceneError> {
        let usable = |transform: &CheckedTransform| {
            transform.clone().map_err(|fault| fault.error(location, user))
        };
        let Ctm { transforms: [start, end], .. } = &self.state.ctm;
        let end = self.state.ctm.is_animated().then(|| usable(end)).transpose()?;
        Ok((usable(start)?, end))
    }

    /// Restores the state saved by the innermost scope, which must be `scope`. As in pbrt-v4, an
    /// `AttributeEnd` too many is ignored.
    pub(super) fn pop(
        &mut self,
        scope: Scope,
        keyword: &str,
        location: &Location,
    ) -> Result<(), SceneError> {
        if self.saved.len() == self.stack_base && scope == Scope::Attribute {
            let message = format!("{keyword} without {}", keyword.replace("End", "Begin"));
            return self.diagnostics.warn(Some(location), message, "it is ignored");
        }
        if self.saved.len() == self.stack_base {
            let error =
                SceneError::at(location, format!("{} without {}", scope.end(), scope.begin()));
            return Err(error.help(format!(
                "remove it, or add {} before it; in an imported file, both must be in that file",
                scope.begin()
            )));
        }
        match self.saved.pop() {
            Some((state, opened, _)) if opened == scope => self.state = state,
            Some((_, opened, begin)) => {
                let error = SceneError::at(
                    location,
                    format!("{} inside {} at {begin}", scope.end(), opened.begin()),
                );
                return Err(error.help(format!("{} must come first", opened.end())));
            }
            None => unreachable!("at least one state is saved"),
        }
        Ok(())
    }
}
