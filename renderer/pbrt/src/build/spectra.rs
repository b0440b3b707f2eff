//! Sampled spectra, and metals that consist of two of them. Each file is read once, and each metal
//! fitted once, however many materials use it.

use super::{Builder, RELATIVE_PATHS};
use crate::diagnostics::SceneError;
use crate::file::params::SpectrumParam;
use crate::file::parse::Entity;
use lightbound::suggestion::did_you_mean;
use lightbound_math::spectrum::{self, MetalFit, Spectrum};
use std::collections::HashMap;
use std::path::PathBuf;

/// Cache of spectrum files and metal fits.
#[derive(Default)]
pub(super) struct Spectra {
    files: HashMap<PathBuf, Spectrum>,
    metals: Vec<Metal>,
}

struct Metal {
    eta: Spectrum,
    k: Spectrum,
    outside: f32,
    fit: MetalFit,
}

impl Spectra {
    /// Memoized [`spectrum::fit_metal`].
    pub fn fit_metal(&mut self, eta: Spectrum, k: Spectrum, outside: f32) -> MetalFit {
        let is_same = |m: &&Metal| m.outside == outside && m.eta == eta && m.k == k;
        if let Some(metal) = self.metals.iter().find(is_same) {
            return metal.fit;
        }
        let fit = spectrum::fit_metal(&eta, &k, outside);
        self.metals.push(Metal { eta, k, outside, fit });
        fit
    }
}

impl Builder<'_> {
    /// Returns the sampled spectrum of a parameter; `None` if it is an RGB or blackbody colour.
    pub(super) fn spectrum(
        &mut self,
        entity: &Entity,
        spectrum: &SpectrumParam,
    ) -> Result<Option<Spectrum>, SceneError> {
        match spectrum {
            SpectrumParam::Rgb(..) | SpectrumParam::Blackbody(_) => Ok(None),
            SpectrumParam::Sampled(pairs) => Spectrum::new(
                &pairs.iter().flat_map(|&(nm, value)| [nm, value]).collect::<Vec<_>>(),
            )
            .map(Some)
            .map_err(|e| entity.error(e.to_string())),
            SpectrumParam::Named(name) => match spectrum::named(name) {
                Some(s) => Ok(Some(s)),
                None => {
                    let names = spectrum::names();
                    let otherwise = "use a named spectrum of pbrt-v4, a file, or \"rgb\"";
                    let help = did_you_mean(name, names.iter().map(String::as_str), otherwise);
                    Err(entity.error(format!("unknown spectrum \"{name}\"")).help(help))
                }
            },
            SpectrumParam::File(name) => {
                let path = self.path(name);
                if let Some(spectrum) = self.spectra.files.get(&path) {
                    return Ok(Some(spectrum.clone()));
                }
                let text = self.inputs.read_text(&path).map_err(|e| {
                    entity
                        .error(format!("{} cannot be read: {e}", path.display()))
                        .help(RELATIVE_PATHS)
                })?;
                let spectrum = spectrum::from_text(&text)
                    .map_err(|e| entity.error(format!("{}: {e}", path.display())))?;
                self.spectra.files.insert(path, spectrum.clone());
                Ok(Some(spectrum))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metals_are_fitted_once_for_each_pair_of_spectra_and_medium() {
        let named = |name: &str| spectrum::named(name).expect("pbrt-v4 has it");
        let gold = || (named("metal-Au-eta"), named("metal-Au-k"));
        let silver = || (named("metal-Ag-eta"), named("metal-Ag-k"));
        let mut spectra = Spectra::default();
        for ((eta, k), outside, count) in
            [(gold(), 1.0, 1), (gold(), 1.0, 1), (gold(), 1.5, 2), (silver(), 1.0, 3)]
        {
            let direct = spectrum::fit_metal(&eta, &k, outside);
            assert_eq!(spectra.fit_metal(eta, k, outside), direct);
            assert_eq!(spectra.metals.len(), count);
        }
    }
}
