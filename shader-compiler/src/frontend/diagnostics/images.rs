//! Errors about textures.

use super::super::ShaderError;
use super::super::lexer::{SourceRange, Token, TokenKind};
use super::validator::InvalidFunction;
use naga::valid::ExpressionError;
use naga::{Expression, Handle};

impl InvalidFunction<'_> {
    /// Describes an invalid texture lookup; `None` for other errors.
    pub fn image(
        &self,
        handle: Handle<Expression>,
        error: &ExpressionError,
        location: SourceRange,
    ) -> Option<ShaderError> {
        use ExpressionError as E;
        let callee = self.callee(&location);
        let here =
            |message: String| self.source.error(message).at(location.clone(), "in this call");
        let wrong_type = |argument: &str, found: Handle<Expression>, expected: &str| {
            let found = self.ty(found);
            Some(here(format!("the {argument} of `{callee}` must be {expected}, but is `{found}`")))
        };
        match *error {
            E::ExpectedImageType(_) => Some(
                here(format!("`{callee}` needs a texture"))
                    .help("the texture is the first argument"),
            ),
            E::ExpectedSamplerType(_) => Some(
                here(format!("`{callee}` needs a sampler")).help("the sampler follows the texture"),
            ),
            E::ExpectedGlobalOrArgument => {
                let error = here(format!("`{callee}` needs textures and samplers by name"));
                Some(error.help("use the names of module-scope variables or of parameters"))
            }
            E::InvalidImageCoordinateType(_, coordinates) => {
                let loads =
                    matches!(self.function.expressions[handle], Expression::ImageLoad { .. });
                let expected = if loads { "`vec2i` or `vec2u`" } else { "`vec2f`" };
                Some(here(format!(
                    "the coordinates of `{callee}` must be {expected}, but are `{}`",
                    self.ty(coordinates)
                )))
            }
            E::InvalidSampleLevelExactType(level) => wrong_type("level", level, "`f32`"),
            E::InvalidSampleLevelBiasType(bias) => wrong_type("bias", bias, "`f32`"),
            E::InvalidSampleLevelGradientType(_, gradient) => {
                wrong_type("gradient", gradient, "`vec2f`")
            }
            E::InvalidSampleOffset(_, offset) => wrong_type("offset", offset, "`vec2i`"),
            E::InvalidImageOtherIndexType(level) | E::InvalidImageArrayIndexType(level) => {
                wrong_type("level", level, "`i32` or `u32`")
            }
            E::InvalidSampleOffsetExprType => {
                Some(here(format!("the offset of `{callee}` must be a constant")))
            }
            E::ComparisonSamplingMismatch { .. } => {
                let error = here(format!("`{callee}` does not apply to `texture_2d<f32>`"));
                Some(error.help("sample a value with `textureSample` and compare it"))
            }
            E::InvalidImageClass(_) => {
                Some(here(format!("`{callee}` does not apply to `texture_2d<f32>`")))
            }
            _ => None,
        }
    }
}

/// Help for an undeclared texture or sampler, given the tokens before its name; `None` for others.
pub(super) fn undeclared(text: &str, before: &[Token], name: &str) -> Option<String> {
    let is_call = |function: &Token, bracket: &Token| {
        let function = &text[function.range.clone()];
        function.starts_with("texture")
            && function != "textureGather"
            && text[bracket.range.clone()] == *"("
    };
    let ty = match before {
        [.., function, bracket] if is_call(function, bracket) => "texture_2d<f32>",
        [.., function, bracket, _, comma]
            if is_call(function, bracket) && text[comma.range.clone()] == *"," =>
        {
            "sampler"
        }
        _ => return None,
    };
    Some(format!("declare it at module scope: `var {name}: {ty};`"))
}

/// Whether the text declares a texture with this name.
pub(super) fn is_texture(text: &str, tokens: &[Token], name: &str) -> bool {
    let spelling = |token: &Token| &text[token.range.clone()];
    tokens.windows(3).any(|declared| {
        let [word, colon, ty] = declared else { return false };
        word.kind == TokenKind::Word
            && spelling(word) == name
            && spelling(colon) == ":"
            && spelling(ty).starts_with("texture_")
    })
}
