//! The graphics state, its scopes, and the current transform.

use super::{Interpreter, entities::AttributeTarget};
use crate::ctm::{self, Ctm};
use crate::describe::MediumInterface;
use crate::diagnostics::{Location, SceneError};
use crate::file::params::Param;
use crate::file::parse::Directive;
use glam::{DAffine3, DVec3};
use std::sync::Arc;

/// The state that `AttributeBegin` saves and `AttributeEnd` restores.
#[derive(Clone, Default)]
pub(super) struct GraphicsState {
    pub ctm: Ctm,
    pub reverse_orientation: bool,
    pub material: usize,
    pub area_light: Option<usize>,
    pub media: Option<MediumInterface>,
    /// Parameters set by `Attribute`, for each [`AttributeTarget`].
    pub defaults: [Vec<Arc<Param>>; AttributeTarget::NAMES.len()],
}

/// The directive that saved a state.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Scope {
    Attribute,
    Object,
}

impl Scope {
    pub fn begin(self) -> &'static str {
        if self == Scope::Attribute { "AttributeBegin" } else { "ObjectBegin" }
    }

    pub fn end(self) -> &'static str {
        if self == Scope::Attribute { "AttributeEnd" } else { "ObjectEnd" }
    }
}

impl Interpreter<'_> {
    pub(super) fn transform(&mut self, directive: &Directive) -> Result<(), &'static str> {
        let ctm = &mut self.state.ctm;
        match directive {
            Directive::Identity => ctm.update(|_| DAffine3::IDENTITY),
            Directive::Translate(v) => {
                ctm.update(|m| m * DAffine3::from_translation(DVec3::from_array(*v)))
            }
            Directive::Scale(v) => ctm.update(|m| m * DAffine3::from_scale(DVec3::from_array(*v))),
            Directive::Rotate(v) => ctm::rotate(*v).and_then(|by| ctm.update(|m| m * by)),
            Directive::LookAt(v) => ctm::look_at(*v).and_then(|by| ctm.update(|m| m * by)),
            Directive::ConcatTransform(v) => ctm::matrix(v).and_then(|by| ctm.update(|m| m * by)),
            Directive::Transform(v) => ctm::matrix(v).and_then(|to| ctm.update(|_| to)),
            other => unreachable!("{other:?} is not a transform"),
        }
    }

    /// The current transform at shutter opening.
    pub(super) fn ctm(&mut self, location: &Location) -> Result<DAffine3, SceneError> {
        if self.state.ctm.is_animated() {
            let message =
                "transforms that differ between shutter opening and closing are not supported";
            self.diagnostics.warn(
                Some(location),
                message,
                "the transform at shutter opening, without motion blur",
            )?;
        }
        Ok(self.state.ctm.maps[0])
    }

    pub(super) fn pop(&mut self, scope: Scope, location: &Location) -> Result<(), SceneError> {
        if self.saved.len() == self.floor {
            let error =
                SceneError::at(location, format!("{} without {}", scope.end(), scope.begin()));
            return Err(error.help(format!(
                "remove it, or add {}, in the same file if the file is imported",
                scope.begin()
            )));
        }
        match self.saved.pop() {
            Some((state, opened, _)) if opened == scope => self.state = state,
            Some((_, opened, begin)) => {
                let error = SceneError::at(
                    location,
                    format!("{} inside {} of {begin}", scope.end(), opened.begin()),
                );
                return Err(error.help(format!("{} must come first", opened.end())));
            }
            None => unreachable!("at least `floor` states are saved"),
        }
        Ok(())
    }
}
