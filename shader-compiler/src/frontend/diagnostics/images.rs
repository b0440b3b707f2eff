//! What naga rejects about textures.

use super::super::ShaderError;
use super::super::outline::{Kind, Place, Token};
use super::validator::Invalid;
use naga::valid::ExpressionError;
use naga::{Expression, Handle};

impl Invalid<'_> {
    /// The error of a look-up, if it is one.
    pub fn image(
        &self,
        handle: Handle<Expression>,
        error: &ExpressionError,
        place: Place,
    ) -> Option<ShaderError> {
        use ExpressionError as E;
        let callee = self.callee(&place);
        let here = |message: String| self.source.error(message).at(place.clone(), "in this call");
        let wrong = |what: &str, found: Handle<Expression>, wanted: &str| {
            let found = self.ty(found);
            Some(here(format!("the {what} of `{callee}` must be {wanted}, but is `{found}`")))
        };
        match *error {
            E::ExpectedImageType(_) => Some(
                here(format!("`{callee}` is given no texture")).help("the texture comes first"),
            ),
            E::ExpectedSamplerType(_) => Some(
                here(format!("`{callee}` is given no sampler"))
                    .help("the sampler comes after the texture"),
            ),
            E::ExpectedGlobalOrArgument => {
                let error = here(format!("`{callee}` takes textures and samplers by their names"));
                Some(
                    error.help(
                        "the names are those of variables outside of functions, or of arguments",
                    ),
                )
            }
            E::InvalidImageCoordinateType(_, coordinates) => {
                let loads =
                    matches!(self.function.expressions[handle], Expression::ImageLoad { .. });
                let wanted = if loads { "`vec2i` or `vec2u`" } else { "`vec2f`" };
                Some(here(format!(
                    "the coordinates of `{callee}` must be {wanted}, but are `{}`",
                    self.ty(coordinates)
                )))
            }
            E::InvalidSampleLevelExactType(level) => wrong("level", level, "`f32`"),
            E::InvalidSampleLevelBiasType(bias) => wrong("bias", bias, "`f32`"),
            E::InvalidSampleLevelGradientType(_, gradient) => {
                wrong("gradient", gradient, "`vec2f`")
            }
            E::InvalidSampleOffset(_, offset) => wrong("offset", offset, "`vec2i`"),
            E::InvalidImageOtherIndexType(level) | E::InvalidImageArrayIndexType(level) => {
                wrong("level", level, "`i32` or `u32`")
            }
            E::InvalidSampleOffsetExprType => {
                Some(here(format!("the offset of `{callee}` must be a constant")))
            }
            E::ComparisonSamplingMismatch { .. } => {
                let error = here(format!("`{callee}` does not work on `texture_2d<f32>`"));
                Some(error.help("look a value up with `textureSample`, and compare that"))
            }
            E::InvalidImageClass(_) => {
                Some(here(format!("`{callee}` does not work on `texture_2d<f32>`")))
            }
            _ => None,
        }
    }
}

/// The remedy for a name that is not known and is called for as a texture or sampler, which tokens
/// before it tell.
pub(super) fn undeclared(text: &str, before: &[Token], name: &str) -> Option<String> {
    let is_call = |function: &Token, bracket: &Token| {
        let function = &text[function.place.clone()];
        function.starts_with("texture")
            && function != "textureGather"
            && text[bracket.place.clone()] == *"("
    };
    let ty = match before {
        [.., function, bracket] if is_call(function, bracket) => "texture_2d<f32>",
        [.., function, bracket, _, comma]
            if is_call(function, bracket) && text[comma.place.clone()] == *"," =>
        {
            "sampler"
        }
        _ => return None,
    };
    Some(format!("declare it outside of functions: `var {name}: {ty};`"))
}

/// Whether a text declares something of this name as a texture.
pub(super) fn is_texture(text: &str, tokens: &[Token], name: &str) -> bool {
    let spelling = |token: &Token| &text[token.place.clone()];
    tokens.windows(3).any(|declared| {
        let [found, colon, ty] = declared else { return false };
        found.kind == Kind::Word
            && spelling(found) == name
            && spelling(colon) == ":"
            && spelling(ty).starts_with("texture_")
    })
}
