//! Values and intervals of inputs and outputs, passed as floats.

use crate::frontend::{Parameter, Scalar};
use crate::ir::Type;

/// What a shader declares of an input, a component of an argument or of a parameter.
#[derive(Clone, Debug)]
pub(crate) struct DeclaredInput {
    pub scalar: Scalar,
    pub default: Option<[f32; 1]>,
}

impl DeclaredInput {
    /// The components of a parameter.
    pub fn components(parameter: &Parameter) -> impl Iterator<Item = DeclaredInput> + '_ {
        (0..parameter.size).map(|k| DeclaredInput {
            scalar: parameter.scalar,
            default: parameter.default.as_ref().map(|values| [values[k] as f32]),
        })
    }
}

/// 2³¹
pub(super) const TWO_31: f32 = (1u32 << 31) as f32;

impl Scalar {
    /// The type of a value in the IR, where integers are signed.
    pub(crate) fn of(ty: Type) -> Scalar {
        match ty {
            Type::F32 => Scalar::F32,
            Type::I32 => Scalar::I32,
            Type::Bool => Scalar::Bool,
        }
    }

    /// The word of a value that is passed as a float; `None` if the type does not have it.
    pub(crate) fn word(self, x: f32) -> Option<u32> {
        let is_integer = x.fract() == 0.0;
        match self {
            Scalar::F32 => Some(x.to_bits()),
            Scalar::Bool if x.is_nan() => None,
            Scalar::Bool => Some(if x == 0.0 { 0 } else { !0 }),
            Scalar::I32 if is_integer && (-TWO_31..TWO_31).contains(&x) => Some(x as i32 as u32),
            Scalar::U32 if is_integer && (0.0..2.0 * TWO_31).contains(&x) => Some(x as u32),
            Scalar::I32 | Scalar::U32 => None,
        }
    }

    /// The words of the endpoints of an interval that is passed as floats, with low ≤ high; the
    /// first endpoint that the type does not have, as an error. The maximum of an integer type may
    /// be rounded up, since floats do not have it.
    pub(crate) fn interval(self, [low, high]: [f32; 2]) -> Result<[u32; 2], f32> {
        let word = |x: f32| self.word(x).ok_or(x);
        match self {
            // Only 0 is false.
            Scalar::Bool => {
                let has_false = low <= 0.0 && 0.0 <= high;
                let [low, high] = [word(low)?, word(high)?];
                Ok([if has_false { 0 } else { low }, high | low])
            }
            Scalar::F32 => Ok([word(low)?, word(high)?]),
            Scalar::I32 if high == TWO_31 && low < high => Ok([word(low)?, i32::MAX as u32]),
            Scalar::I32 => Ok([word(low)?, word(high)?]),
            Scalar::U32 => {
                let is_rounded = high == 2.0 * TWO_31 && low < high;
                let words = [word(low)?, if is_rounded { u32::MAX } else { word(high)? }];
                // Intervals of integers are signed.
                let crosses_sign = words[0] as i32 > words[1] as i32;
                Ok(if crosses_sign { [i32::MIN as u32, i32::MAX as u32] } else { words })
            }
        }
    }

    /// The value of a word as a float.
    pub(crate) fn value(self, word: u32) -> f32 {
        match self {
            Scalar::F32 => f32::from_bits(word),
            Scalar::I32 => word as i32 as f32,
            Scalar::U32 => word as f32,
            Scalar::Bool if word == 0 => 0.0,
            Scalar::Bool => 1.0,
        }
    }

    /// The endpoints of a bound as floats; those of integers are signed words.
    pub(crate) fn endpoints(self, [low, high]: [Option<u32>; 2]) -> [f32; 2] {
        if self == Scalar::U32 {
            return match [low, high] {
                [Some(low), Some(high)] if (low as i32 >= 0) == (high as i32 >= 0) => {
                    [self.value(low), self.value(high)]
                }
                _ => [0.0, 2.0 * TWO_31],
            };
        }
        let value = |word: Option<u32>, unbounded: f32| word.map_or(unbounded, |w| self.value(w));
        [value(low, f32::NEG_INFINITY), value(high, f32::INFINITY)]
    }
}
