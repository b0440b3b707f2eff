//! Shaders with values for their parameters. A value is a constant or a texture, which is looked up
//! at each shading point.

use super::DispersiveIndex;
use crate::texture::{Lookup, Param};
use lightbound_math::Vec3;
use lightbound_shader::{Parameter, Scalar};
use std::sync::Arc;

/// A use of a shader in a material.
#[derive(Clone, Debug)]
pub struct ShaderInstance {
    /// Index into the scene's [shader bindings](super::ShaderBinding).
    pub shader: u32,
    /// Relative index of refraction of the medium below the surface; 1 without refraction. It is
    /// used for Russian roulette and for the albedo feature; expected radiance does not depend on
    /// it.
    pub eta: f32,
    /// Words of all parameters; 0 for varying parameters.
    constants: Box<[u32]>,
    varying: Box<[VaryingParameter]>,
    /// Whether varying parameters depend on the footprint of lookups.
    needs_footprint: bool,
    dispersive: Option<DispersiveParameter>,
}

/// A parameter's value in a scene.
#[derive(Clone, Debug)]
pub enum Setting {
    /// A number for each component, in the parameter's type and range.
    Constant(Vec<f64>),
    /// A value that varies over the surface, clamped to the parameter's range. A scalar takes the
    /// first channel, a vector of n components the first n channels.
    Varying(Param),
}

/// What is known about a word of the parameters at all points of a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KnownWord {
    /// Its bits.
    Constant(u32),
    /// It is in the parameter's range.
    InRange,
    /// Nothing.
    Unknown,
}

/// An index of refraction that depends on the wavelength.
#[derive(Clone, Debug)]
struct DispersiveParameter {
    /// Index of its word.
    word: usize,
    index: Arc<DispersiveIndex>,
}

/// A parameter that varies over the surface.
#[derive(Clone, Debug)]
struct VaryingParameter {
    /// Index of its first word.
    first: u32,
    size: u8,
    scalar: Scalar,
    range: [f64; 2],
    value: Param,
}

impl ShaderInstance {
    /// Creates an instance. `settings` are the settable parameters of the shader, in order, with
    /// their values.
    ///
    /// # Panics
    /// If a constant has the wrong number of components, or a varying parameter has more than
    /// three.
    pub fn new<'a>(
        shader: u32,
        settings: impl IntoIterator<Item = (&'a Parameter, Setting)>,
    ) -> ShaderInstance {
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
        let needs_footprint = varying.iter().any(|v: &VaryingParameter| v.value.needs_footprint());
        ShaderInstance {
            shader,
            eta: 1.0,
            constants: constants.into(),
            varying: varying.into(),
            needs_footprint,
            dispersive: None,
        }
    }

    /// Makes a parameter an index of refraction that depends on the wavelength. For light in RGB,
    /// it keeps its value. `settable` are the settable parameters of the shader.
    ///
    /// # Panics
    /// If no parameter has this name, or it is not a constant `f32`.
    pub fn with_dispersion(
        mut self,
        settable: &[Parameter],
        name: &str,
        index: Arc<DispersiveIndex>,
    ) -> ShaderInstance {
        let position = settable.iter().position(|parameter| parameter.name == name);
        let (before, after) = settable.split_at(position.expect("the parameter is settable"));
        let word = before.iter().map(|parameter| parameter.size).sum();
        let is_constant = self.varying.iter().all(|v| v.first as usize != word);
        assert!(
            is_constant && after[0].scalar == Scalar::F32 && after[0].size == 1,
            "{name} is a constant f32"
        );
        self.dispersive = Some(DispersiveParameter { word, index });
        self
    }

    /// Returns the words of the parameters; `None` unless all are constant.
    pub fn constants(&self) -> Option<&[u32]> {
        let is_constant = self.varying.is_empty() && self.dispersive.is_none();
        is_constant.then_some(&*self.constants)
    }

    /// Returns what is known about each word of the parameters.
    pub fn known_words(&self) -> Vec<KnownWord> {
        let mut words: Vec<_> = self.constants.iter().map(|&x| KnownWord::Constant(x)).collect();
        for v in &self.varying {
            words[v.first as usize..][..v.size as usize].fill(KnownWord::InRange);
        }
        if let Some(parameter) = &self.dispersive {
            words[parameter.word] = KnownWord::Unknown;
        }
        words
    }

    /// Returns whether parameters depend on the footprint of lookups.
    #[inline]
    pub fn needs_footprint(&self) -> bool {
        self.needs_footprint
    }

    /// Returns the index of refraction of the shader, if it depends on the wavelength.
    pub fn dispersive_index(&self) -> Option<&DispersiveIndex> {
        self.dispersive.as_ref().map(|parameter| &*parameter.index)
    }

    /// Returns the words of the parameters at a point, for light in RGB.
    pub fn words(&self, lookup: &Lookup) -> Vec<u32> {
        let mut all = vec![0; self.constants.len()];
        self.write(lookup, None, |first, words| all[first..][..words.len()].copy_from_slice(words));
        all
    }

    /// Writes the words of the parameters at a point, for light of a wavelength in nm or in RGB:
    /// calls `set` with the index of the first word and the words.
    #[inline]
    pub fn write(&self, lookup: &Lookup, nm: Option<f32>, mut set: impl FnMut(usize, &[u32])) {
        set(0, &self.constants);
        if let (Some(DispersiveParameter { word, index }), Some(nm)) = (&self.dispersive, nm) {
            set(*word, &[index.at(nm).to_bits()]);
        }
        for v in &self.varying {
            let value = v.value.rgb(lookup);
            let words: [u32; 3] = std::array::from_fn(|k| v.bits(value, k));
            set(v.first as usize, &words[..v.size as usize]);
        }
    }
}

impl VaryingParameter {
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
    use crate::texture::Texture;
    use lightbound_math::spectrum::Spectrum;
    use lightbound_math::vec3;
    use std::sync::Arc;

    fn parameter(scalar: Scalar, size: usize, range: [f64; 2]) -> Parameter {
        Parameter {
            name: "x".into(),
            doc: String::new(),
            scalar,
            size,
            range,
            default: None,
            is_diffuse: false,
        }
    }

    fn words(parameter: &Parameter, setting: Setting) -> Vec<u32> {
        ShaderInstance::new(0, [(parameter, setting)]).words(&Lookup::ORIGIN)
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
    fn wavelengths_change_the_dispersive_parameter_only() {
        let named = |name: &str, size| Parameter {
            name: name.into(),
            ..parameter(Scalar::F32, size, [0.0, 9.0])
        };
        let settable = [named("kd", 3), named("eta", 1), named("alpha", 1)];
        let values = [vec![1.0, 2.0, 3.0], vec![1.5], vec![4.0]].map(Setting::Constant);
        let spectrum = Spectrum::new(&[300.0, 1.75, 900.0, 1.75]).unwrap();
        let index = Arc::new(DispersiveIndex::new(&spectrum).unwrap());
        let instance = ShaderInstance::new(0, std::iter::zip(&settable, values))
            .with_dispersion(&settable, "eta", index);
        for (nm, eta) in [(None, 1.5), (Some(500.0), 1.75)] {
            let mut words = [0; 5];
            let lookup = Lookup::ORIGIN;
            instance
                .write(&lookup, nm, |first, new| words[first..][..new.len()].copy_from_slice(new));
            assert_eq!(words.map(f32::from_bits), [1.0, 2.0, 3.0, eta, 4.0]);
        }
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
