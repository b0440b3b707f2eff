//! The state of paths between two scattering events, in columns.

use super::next_event::PreviousVertex;
use crate::integrator::medium_rays::medium_index;
use lightbound_math::sampling::PathKey;
use lightbound_math::{Ray, Vec3};

/// Paths between two scattering events. Columns that are in use have one item per path, except
/// [`previous_parameters`](Paths::previous_parameters).
#[derive(Default)]
pub(super) struct Paths {
    pub rays: Vec<Ray>,
    /// Product of BSDF, cosine and Russian roulette weights over densities.
    pub throughput: [Vec<f32>; 3],
    /// Density of the ray's direction, 1/sr. 0 for camera rays and after a delta distribution:
    /// light sampling cannot generate their directions.
    pub pdf: Vec<f32>,
    /// Product of the squared ratios of refractive indices. Russian roulette uses the throughput
    /// times this factor.
    pub eta_scale: Vec<f32>,
    /// Index of the sample within the wavefront.
    pub sample: Vec<u32>,
    pub key: Vec<PathKey>,
    /// Share of the diffuse lobe in the first scattering event, for each channel. Empty for camera
    /// rays, and unless the film stores components by lobe.
    pub diffuse: Vec<Vec3>,
    /// Empty if no material of the scene disperses light.
    pub dispersion: Vec<Dispersion>,
    /// Medium around each ray, as in [`Walk::medium`](crate::medium::Walk::medium). Empty if the
    /// scene has no media.
    pub medium: Vec<u32>,
    /// Density of each path with each channel as the hero, relative to their mean; see
    /// [`ChannelWeights::delta`](crate::medium::ChannelWeights::delta). Empty if the scene has no
    /// media.
    pub channel_densities: Vec<Vec3>,
    /// The previous vertex of each path; empty for camera rays, and if light densities do not
    /// depend on it.
    pub previous_vertices: Vec<PreviousVertex>,
    /// Words of the material parameters of the previous vertices.
    pub previous_parameters: Vec<u32>,
}

/// The columns that only some scenes need.
#[derive(Clone, Copy)]
pub(super) struct OptionalColumns {
    /// [`Paths::dispersion`].
    pub dispersion: bool,
    /// [`Paths::medium`] and [`Paths::channel_densities`].
    pub media: bool,
    /// [`Paths::previous_vertices`].
    pub previous_vertices: bool,
}

/// The wavelength of a path.
#[derive(Clone, Copy, Default)]
pub(super) struct Dispersion {
    /// Wavelength in nm from the first dispersion on; `None` for RGB.
    pub nm: Option<f32>,
    /// Whether the path has met a dispersive surface, after which throughput may be negative.
    pub is_dispersed: bool,
}

impl Paths {
    /// Removes all paths.
    pub fn clear(&mut self) {
        self.rays.clear();
        self.throughput.iter_mut().for_each(Vec::clear);
        self.pdf.clear();
        self.eta_scale.clear();
        self.sample.clear();
        self.key.clear();
        self.diffuse.clear();
        self.dispersion.clear();
        self.medium.clear();
        self.channel_densities.clear();
        self.previous_vertices.clear();
        self.previous_parameters.clear();
    }

    /// Adds a path that starts with a camera ray; `medium` is that around the camera.
    pub fn push_camera_ray(
        &mut self,
        ray: Ray,
        sample: u32,
        key: PathKey,
        medium: Option<u32>,
        columns: OptionalColumns,
    ) {
        self.rays.push(ray);
        self.throughput.iter_mut().for_each(|column| column.push(1.0));
        self.pdf.push(0.0);
        self.eta_scale.push(1.0);
        self.sample.push(sample);
        self.key.push(key);
        if columns.dispersion {
            self.dispersion.push(Dispersion::default());
        }
        if columns.media {
            self.medium.push(medium_index(medium));
            self.channel_densities.push(Vec3::ONE);
        }
    }

    /// Returns the throughput of a path.
    pub fn throughput(&self, path: usize) -> Vec3 {
        let [r, g, b] = &self.throughput;
        Vec3::new(r[path], g[path], b[path])
    }

    /// Sets the throughput of a path.
    pub fn set_throughput(&mut self, path: usize, throughput: Vec3) {
        for (column, value) in self.throughput.iter_mut().zip(throughput.to_array()) {
            column[path] = value;
        }
    }
}
