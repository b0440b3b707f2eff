//! The components of the radiance of a tile's samples.

use crate::film::{ComponentLayers, ComponentValues};
use lightbound_math::Vec3;

/// Light that reaches the camera along a path.
#[derive(Clone, Copy, Debug)]
pub struct Contribution {
    /// Index of the sample.
    pub sample: u32,
    /// Radiance, W·sr⁻¹·m⁻².
    pub radiance: Vec3,
    /// Number of scattering events.
    pub events: u32,
    /// Share of the diffuse lobe in the first scattering event, for each channel.
    pub diffuse: Vec3,
    /// Index of the light group.
    pub light_group: u32,
}

/// The components of the radiance of a tile's samples.
pub struct SampleComponents {
    layers: ComponentLayers,
    /// For each sample, as in [`ComponentValues::paths`].
    paths: Vec<[Vec3; 5]>,
    /// For each sample, a value for each light group.
    light_groups: Vec<Vec3>,
    /// Weighted values of the light groups of a sample.
    weighted: Vec<Vec3>,
}

impl SampleComponents {
    /// Creates the components of `samples` samples; `None` if there are no layers.
    pub fn new(layers: ComponentLayers, samples: usize) -> Option<SampleComponents> {
        (!layers.is_empty()).then(|| SampleComponents {
            layers,
            paths: vec![[Vec3::ZERO; 5]; if layers.has_paths() { samples } else { 0 }],
            light_groups: vec![Vec3::ZERO; samples * layers.light_groups as usize],
            weighted: Vec::new(),
        })
    }

    /// Returns whether the components depend on the lobe of the first scattering event.
    pub fn has_lobes(&self) -> bool {
        self.layers.has_lobes()
    }

    /// Adds a contribution.
    pub fn add(&mut self, contribution: &Contribution) {
        let Contribution { sample, radiance, events, diffuse, light_group } = *contribution;
        if let Some([emission, direct, indirect, first_diffuse, first_specular]) =
            self.paths.get_mut(sample as usize)
        {
            if events == 0 {
                *emission += radiance;
            } else {
                *(if events == 1 { direct } else { indirect }) += radiance;
                let by_diffuse = diffuse * radiance;
                *first_diffuse += by_diffuse;
                *first_specular += radiance - by_diffuse;
            }
        }
        if self.layers.light_groups > 0 {
            let index = sample * self.layers.light_groups + light_group;
            self.light_groups[index as usize] += radiance;
        }
    }

    /// Returns the components of a sample, transformed by `weighted`.
    pub fn values(
        &mut self,
        sample: usize,
        weighted: impl Fn(Vec3) -> Vec3,
    ) -> ComponentValues<'_> {
        let n = self.layers.light_groups as usize;
        self.weighted.clear();
        self.weighted.extend(self.light_groups[sample * n..][..n].iter().map(|v| weighted(*v)));
        ComponentValues {
            paths: self.paths.get(sample).map_or([Vec3::ZERO; 5], |paths| paths.map(&weighted)),
            light_groups: &self.weighted,
        }
    }
}
