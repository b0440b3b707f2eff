//! Values of the parameters of a shader. A value is a constant or a texture.

use crate::texture::{Lookup, LookupNeeds, Param};
use lightbound_math::Vec3;
use lightbound_shader::{Parameter, Scalar};

/// A parameter's value in a scene.
#[derive(Clone, Debug)]
pub enum Setting {
    /// A number for each component, in the parameter's type and range.
    Constant(Vec<f64>),
    /// A value that varies over a surface or in a volume, clamped to the parameter's range. A scalar
    /// takes the first channel, a vector of n components the first n channels.
    Varying(Param),
}

/// What is known about a word of the parameters at all points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KnownWord {
    /// Its bits.
    Constant(u32),
    /// It is in the parameter's range.
    InRange,
    /// It is a float within these bounds, given by their bits.
    Between([u32; 2]),
    /// Nothing.
    Unknown,
}

/// The values of all settable parameters of a shader, as the words that its code reads.
#[derive(Clone, Debug)]
pub struct ParameterValues {
    /// Words of all parameters; 0 for varying parameters.
    constants: Box<[u32]>,
    varying: Box<[VaryingParameter]>,
}

/// A parameter that varies.
#[derive(Clone, Debug)]
struct VaryingParameter {
    /// Index of its first word.
    first: u32,
    size: u8,
    scalar: Scalar,
    range: [f64; 2],
    value: Param,
}

impl ParameterValues {
    /// Creates the values of the settable parameters of a shader, in order.
    ///
    /// # Panics
    /// If a constant has the wrong number of components, or a varying parameter has more than
    /// three.
    pub fn new<'a>(
        settings: impl IntoIterator<Item = (&'a Parameter, Setting)>,
    ) -> ParameterValues {
        let (mut constants, mut varying) = (Vec::new(), Vec::new());
        for (parameter, setting) in settings {
            let first = constants.len() as u32;
            match setting {
                Setting::Constant(numbers) => {
                    assert_eq!(
                        numbers.len(),
                        parameter.size,
                        "one number for each component of {}",
                        parameter.name
                    );
                    constants.extend(numbers.iter().map(|&x| parameter.scalar.bits(x)));
                }
                Setting::Varying(value) => {
                    assert!(parameter.size <= 3, "textures have three channels");
                    let Parameter { scalar, range, size, .. } = *parameter;
                    varying.push(VaryingParameter {
                        first,
                        size: size as u8,
                        scalar,
                        range,
                        value,
                    });
                    constants.resize(constants.len() + size, 0);
                }
            }
        }
        ParameterValues { constants: constants.into(), varying: varying.into() }
    }

    /// Creates constant values from their words.
    pub fn from_words(words: &[u32]) -> ParameterValues {
        ParameterValues { constants: words.into(), varying: [].into() }
    }

    /// Returns the number of words.
    pub fn len(&self) -> usize {
        self.constants.len()
    }

    /// Returns whether there are no words.
    pub fn is_empty(&self) -> bool {
        self.constants.is_empty()
    }

    /// Returns the words; `None` unless all are constant.
    pub fn constants(&self) -> Option<&[u32]> {
        self.varying.is_empty().then_some(&*self.constants)
    }

    /// Returns what is known about each word, if the values of parameters that vary are within
    /// `extent`.
    pub fn known_words(&self, mut extent: impl FnMut(&Param) -> [Vec3; 2]) -> Vec<KnownWord> {
        let mut words: Vec<_> = self.constants.iter().map(|&x| KnownWord::Constant(x)).collect();
        for v in &self.varying {
            let extent = extent(&v.value);
            let words = words[v.first as usize..][..v.size as usize].iter_mut().enumerate();
            words.for_each(|(k, word)| *word = v.known(extent, k));
        }
        words
    }

    /// Iterates over the parameters that vary: the index of their first word, and their value.
    pub fn textures(&self) -> impl Iterator<Item = (usize, &Param)> {
        self.varying.iter().map(|v| (v.first as usize, &v.value))
    }

    /// Returns what lookups of the parameters that vary need.
    pub fn needs(&self) -> LookupNeeds {
        let needs = self.varying.iter().map(|v| v.value.needs());
        needs.fold(LookupNeeds::NONE, LookupNeeds::union)
    }

    /// Writes the words at a point: calls `set` with the index of the first word and the words.
    #[inline]
    pub fn write(&self, lookup: &Lookup, mut set: impl FnMut(usize, &[u32])) {
        set(0, &self.constants);
        self.write_textures(lookup, set);
    }

    /// Writes the words of constants: calls `set` with the index of a word and the word.
    pub fn write_constants(&self, mut set: impl FnMut(usize, u32)) {
        let mut varying = self.varying.iter().peekable();
        for (index, &word) in self.constants.iter().enumerate() {
            while varying.next_if(|v| index >= (v.first + u32::from(v.size)) as usize).is_some() {}
            if varying.peek().is_none_or(|v| index < v.first as usize) {
                set(index, word);
            }
        }
    }

    /// Writes the words of textures at a point, as [`ParameterValues::write`].
    #[inline]
    pub fn write_textures(&self, lookup: &Lookup, mut set: impl FnMut(usize, &[u32])) {
        for v in &self.varying {
            let value = v.value.rgb(lookup);
            let words: [u32; 3] = std::array::from_fn(|k| v.bits(value, k));
            set(v.first as usize, &words[..v.size as usize]);
        }
    }

    /// Converts the least and greatest values of [`ParameterValues::textures`] to words: calls `set`
    /// with the index of a word and its endpoints.
    pub fn write_ranges(
        &self,
        ranges: impl IntoIterator<Item = [Vec3; 2]>,
        mut set: impl FnMut(usize, [u32; 2]),
    ) {
        for (v, range) in self.varying.iter().zip(ranges) {
            for k in 0..v.size as usize {
                // Conversion and clamping are monotone.
                let ends = range.map(|value| v.bits(value, k));
                let wraps = v.scalar == Scalar::U32 && ends[0] as i32 > ends[1] as i32;
                // Endpoints of integers are compared as signed numbers.
                set(v.first as usize + k, if wraps { [1 << 31, !(1 << 31)] } else { ends });
            }
        }
    }
}

impl VaryingParameter {
    /// Returns what is known about a component, if the values of all channels are within `extent`.
    fn known(&self, extent: [Vec3; 2], component: usize) -> KnownWord {
        if self.scalar != Scalar::F32 {
            return KnownWord::InRange;
        }
        // Clamping is monotone.
        let ends = extent.map(|value| self.bits(value, component));
        let range = self.range.map(|end| (end as f32).to_bits());
        if ends == range { KnownWord::InRange } else { KnownWord::Between(ends) }
    }

    /// Converts a channel to a word, clamped to the range; NaN becomes the minimum.
    #[inline]
    fn bits(&self, value: Vec3, channel: usize) -> u32 {
        let [min, max] = self.range;
        match self.scalar {
            Scalar::F32 => value[channel].max(min as f32).min(max as f32).to_bits(),
            Scalar::Bool => self.scalar.bits(f64::from(value[channel] >= 0.5)),
            Scalar::I32 | Scalar::U32 => {
                self.scalar.bits(f64::from(value[channel]).round_ties_even().max(min).min(max))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::material::parameters::testing;
    use crate::texture::Texture;
    use lightbound_math::vec3;
    use std::sync::Arc;

    fn parameter(scalar: Scalar, size: usize, range: [f64; 2]) -> Parameter {
        testing::parameter("x", scalar, size, range)
    }

    fn words(parameter: &Parameter, setting: Setting) -> Vec<u32> {
        let values = ParameterValues::new([(parameter, setting)]);
        let mut all = vec![0; values.len()];
        values.write(&Lookup::ORIGIN, |first, words| {
            all[first..][..words.len()].copy_from_slice(words);
        });
        all
    }

    #[test]
    fn constants_are_converted_to_the_parameter_type() {
        assert_eq!(
            words(&parameter(Scalar::F32, 2, [0.0, 1.0]), Setting::Constant(vec![0.25, 1.0])),
            [0.25f32, 1.0].map(f32::to_bits)
        );
        assert_eq!(
            words(&parameter(Scalar::I32, 1, [-5.0, 5.0]), Setting::Constant(vec![-3.0])),
            [-3i32 as u32]
        );
        assert_eq!(
            words(&parameter(Scalar::Bool, 2, [0.0, 1.0]), Setting::Constant(vec![1.0, 0.0])),
            [!0, 0]
        );
    }

    #[test]
    fn texture_values_are_clamped_to_the_range() {
        let varying = |x: Vec3| Setting::Varying(Param::Texture(Arc::new(Texture::Constant(x))));
        let float = parameter(Scalar::F32, 3, [0.0, 1.0]);
        assert_eq!(
            words(&float, varying(vec3(-1.0, 0.5, 7.0))),
            [0.0f32, 0.5, 1.0].map(f32::to_bits)
        );
        assert_eq!(words(&float, varying(Vec3::NAN)), [0; 3]);
        let integer = parameter(Scalar::U32, 2, [1.0, 9.0]);
        assert_eq!(words(&integer, varying(vec3(-4.0, 2.6, 0.0))), [1, 3]);
        assert_eq!(
            words(&parameter(Scalar::Bool, 2, [0.0, 1.0]), varying(vec3(0.5, 0.49, 0.0))),
            [!0, 0]
        );
    }
}
