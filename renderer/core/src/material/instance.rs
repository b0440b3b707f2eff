//! Shaders with values for their parameters. A value is a constant or a texture, which is looked up
//! at each shading point.

use super::values::KnownWord;
use super::{DispersiveIndex, ParameterValues, Setting};
use crate::texture::{Extents, Lookup, LookupNeeds, Param};
use lightbound_math::{Vec2, Vec3};
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
    values: ParameterValues,
    /// What lookups of varying parameters need.
    needs: LookupNeeds,
    dispersive: Option<DispersiveParameter>,
}

/// An index of refraction that depends on the wavelength.
#[derive(Clone, Debug)]
struct DispersiveParameter {
    /// Index of its word.
    word: usize,
    index: Arc<DispersiveIndex>,
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
        let values = ParameterValues::new(settings);
        let needs = values.needs();
        ShaderInstance { shader, eta: 1.0, values, needs, dispersive: None }
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
        let is_constant = self.values.textures().all(|(first, _)| first != word);
        assert!(
            is_constant && after[0].scalar == Scalar::F32 && after[0].size == 1,
            "{name} is a constant f32"
        );
        self.dispersive = Some(DispersiveParameter { word, index });
        self
    }

    /// Returns the words of the parameters; `None` unless all are constant.
    pub fn constants(&self) -> Option<&[u32]> {
        self.values.constants().filter(|_| self.dispersive.is_none())
    }

    /// Returns what is known about each word of the parameters.
    pub fn known_words(&self, extents: &mut Extents) -> Vec<KnownWord> {
        self.known(|param| extents.of(param))
    }

    /// Returns what is known about each word of the parameters where the surface's texture
    /// coordinates are within a box, without a footprint.
    pub fn known_words_within(&self, extents: &mut Extents, uv: [Vec2; 2]) -> Vec<KnownWord> {
        self.known(|param| extents.within(param, uv))
    }

    fn known(&self, extent: impl FnMut(&Param) -> [Vec3; 2]) -> Vec<KnownWord> {
        let mut words = self.values.known_words(extent);
        if let Some(parameter) = &self.dispersive {
            words[parameter.word] = KnownWord::Unknown;
        }
        words
    }

    /// Returns whether a parameter varies.
    pub fn has_textures(&self) -> bool {
        self.values.textures().next().is_some()
    }

    /// Returns what lookups of parameters need.
    #[inline]
    pub fn needs(&self) -> LookupNeeds {
        self.needs
    }

    /// Returns the index of refraction of the shader, if it depends on the wavelength.
    pub fn dispersive_index(&self) -> Option<&DispersiveIndex> {
        self.dispersive.as_ref().map(|parameter| &*parameter.index)
    }

    /// Returns [`eta`](Self::eta) for light of a wavelength in nm, or in RGB.
    pub fn eta_at(&self, nm: Option<f32>) -> f32 {
        match (self.dispersive_index(), nm) {
            (Some(index), Some(nm)) => index.at(nm),
            _ => self.eta,
        }
    }

    /// Returns the words of the parameters at a point, for light in RGB.
    pub fn words(&self, lookup: &Lookup) -> Vec<u32> {
        let mut all = vec![0; self.values.len()];
        self.write(lookup, None, |first, words| all[first..][..words.len()].copy_from_slice(words));
        all
    }

    /// Writes the words of the parameters at a point, for light of a wavelength in nm or in RGB:
    /// calls `set` with the index of the first word and the words.
    #[inline]
    pub fn write(&self, lookup: &Lookup, nm: Option<f32>, mut set: impl FnMut(usize, &[u32])) {
        self.values.write(lookup, &mut set);
        if let (Some(DispersiveParameter { word, index }), Some(nm)) = (&self.dispersive, nm) {
            set(*word, &[index.at(nm).to_bits()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::material::parameters::testing::parameter;
    use lightbound_math::spectrum::Spectrum;
    use lightbound_shader::Scalar;
    use std::sync::Arc;

    #[test]
    fn wavelengths_change_the_dispersive_parameter_only() {
        let named = |name, size| parameter(name, Scalar::F32, size, [0.0, 9.0]);
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
}
