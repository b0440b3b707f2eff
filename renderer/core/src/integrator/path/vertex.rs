//! Path vertices: shading points where paths may continue, in groups of SIMD lanes.

use super::paths::{Dispersion, Paths};
use crate::geometry::InteractionColumns;
use crate::integrator::guiding::{GUIDE_AXES, Guide, SpatialTree};
use crate::integrator::lane_set::LaneSet;
use crate::light::LightColumns;
use crate::material::{GRAZING_COSINE, PathWavelength, ShaderInstance, Specular};
use lightbound_math::sampling::{PathKey, Sampler};
use lightbound_math::{COLUMN_LEN, Column, Columns, Vec3, vec3};
use lightbound_shader::SurfaceSides;

/// Up to [`COLUMN_LEN`] vertices with materials of one shader, or without a shader.
#[derive(Default)]
pub(super) struct VertexGroup<'a> {
    /// Number of lanes in use.
    pub len: usize,
    /// Lanes whose paths may continue.
    pub active: LaneSet,
    /// Index of the path.
    pub path: [u32; COLUMN_LEN],
    /// As in [`Paths`].
    pub sample: [u32; COLUMN_LEN],
    pub key: [PathKey; COLUMN_LEN],
    pub throughput: Columns<3>,
    pub eta_scale: Column,
    pub dispersion: [Dispersion; COLUMN_LEN],
    /// The surface; at a collision in a medium, the position with the shading frame around `wo`.
    pub surface: InteractionColumns,
    /// Outgoing direction in the shader's frame: the shading frame, mirrored to the upper side for
    /// one-sided shaders.
    pub wo: Columns<3>,
    /// −1 if the shader's frame is mirrored, else 1.
    pub side: Column,
    /// Index of refraction of a transmissive shader.
    pub eta: Column,
    /// Delta distributions of the material.
    pub specular: [Option<&'a Specular>; COLUMN_LEN],
    /// Probability of sampling the delta distributions rather than the shader.
    pub specular_probability: Column,
    /// Random numbers: light selection, two for the light sample, and low bits of light selection.
    pub light_u: Columns<4>,
    /// Random numbers: component selection, two for the direction, and Russian roulette.
    pub bsdf_u: Columns<4>,
    /// Random numbers for the direction, with the guide's density.
    pub direction_u: Columns<2>,
    /// Cell of each vertex in the spatial tree of the training, if there is one.
    pub cells: [u32; COLUMN_LEN],
    /// Density of `direction_u` on the unit square; 1 without a guide.
    pub guide_pdf: Column,
    /// Survival probability over throughput, if Russian roulette is trained.
    pub survival_scale: Column,
    /// Index of the denoiser features, if requested.
    pub feature_index: [u32; COLUMN_LEN],
    /// Light samples. The density of black samples is 0.
    pub light: LightColumns,
    /// Index of the light group of each light sample, if the film stores components.
    pub light_group: [u32; COLUMN_LEN],
}

impl<'a> VertexGroup<'a> {
    /// Loads the state of paths.
    pub fn load(&mut self, paths: &Paths, indices: &[u32]) {
        self.len = indices.len();
        let [r, g, b] = &paths.throughput;
        for (lane, &path) in indices.iter().enumerate() {
            let i = path as usize;
            self.path[lane] = path;
            self.sample[lane] = paths.sample[i];
            self.key[lane] = paths.key[i];
            self.throughput.set(lane, [r[i], g[i], b[i]]);
            self.eta_scale[lane] = paths.eta_scale[i];
        }
        if !paths.dispersion.is_empty() {
            for (dispersion, &path) in self.dispersion.iter_mut().zip(indices) {
                *dispersion = paths.dispersion[path as usize];
            }
        }
    }

    /// Sets the outgoing directions for a shader with these sides, and the lanes whose paths may
    /// continue. Other lanes get an arbitrary direction, since shaders need a valid one.
    pub fn set_wo(&mut self, sides: SurfaceSides) {
        self.wo = self.surface.wo;
        self.side = [1.0; COLUMN_LEN];
        if sides == SurfaceSides::One {
            for (side, z) in self.side.iter_mut().zip(&mut self.wo.0[2]) {
                (*side, *z) = (1f32.copysign(*z), z.abs());
            }
        }
        self.active = LaneSet::NONE;
        for lane in 0..self.len {
            if self.wo.0[2][lane].abs() > GRAZING_COSINE {
                self.active.insert(lane);
            } else {
                self.wo.set(lane, Vec3::Z);
            }
        }
    }

    /// Sets the cells of a spatial tree.
    pub fn set_cells(&mut self, tree: &SpatialTree) {
        self.cells = tree.find_cells(&self.cell_points());
    }

    /// Sets the random numbers for directions. With a guide, the cells are
    /// [set](Self::set_cells).
    pub fn set_direction_u(&mut self, guide: Option<&Guide>) {
        let [_, u, v, _] = self.bsdf_u.0;
        self.direction_u = Columns([u, v]);
        self.guide_pdf = match guide {
            Some(guide) => guide.sample(&self.cells, &mut self.direction_u),
            None => [1.0; COLUMN_LEN],
        };
    }

    /// Divides the throughput among `branches` continuations.
    pub fn divide_throughput(&mut self, branches: u32) {
        let factor = 1.0 / branches as f32;
        self.throughput.0.as_flattened_mut().iter_mut().for_each(|t| *t *= factor);
    }

    /// Generates the random numbers for another continuation, except
    /// [`direction_u`](Self::direction_u). `set` is the dimension set of `bsdf_u`.
    pub fn begin_branch(&mut self, sampler: &Sampler, set: u32) {
        self.key = self.key.map(PathKey::next_branch);
        sampler.get4_columns(&self.key, set, &mut self.bsdf_u);
    }

    /// Returns the positions, and the normals on the side of the shader's frame.
    pub fn cell_points(&self) -> Columns<GUIDE_AXES> {
        let [x, y, z] = self.surface.p.0;
        let mut n = self.surface.frame[2].0;
        for axis in &mut n {
            axis.iter_mut().zip(&self.side).for_each(|(n, side)| *n *= side);
        }
        let [nx, ny, nz] = n;
        Columns([x, y, z, nx, ny, nz])
    }

    /// Sets the material of a lane; `instance` is its shader.
    pub fn set_material(
        &mut self,
        lane: usize,
        specular: Option<&'a Specular>,
        instance: Option<(&ShaderInstance, SurfaceSides)>,
    ) {
        self.specular[lane] = specular;
        (self.eta[lane], self.specular_probability[lane]) = (1.0, 1.0);
        if let Some((instance, sides)) = instance {
            if sides == SurfaceSides::Both {
                self.eta[lane] = instance.eta;
            }
            if let Some(index) = instance.dispersive_index() {
                // The shader does not use the random number that selects a component.
                let (nm, u) = (self.dispersion[lane].nm, self.bsdf_u.0[0][lane]);
                let (nm, colour) = PathWavelength { nm, u }.select();
                self.dispersion[lane] = Dispersion { nm: Some(nm), is_dispersed: true };
                let throughput: Vec3 = self.throughput.get(lane);
                self.throughput.set(lane, throughput * colour);
                self.eta[lane] = index.at(nm);
            }
            let probability =
                |specular: &Specular| specular.sampling_probability(self.wo.get(lane));
            self.specular_probability[lane] = specular.map_or(0.0, probability);
        }
        if let Some(Specular::Dispersive { .. }) = specular {
            self.dispersion[lane].is_dispersed = true;
        }
    }

    /// Returns the wavelength of a path, with a random number to select one.
    pub fn wavelength(&self, lane: usize) -> PathWavelength {
        PathWavelength { nm: self.dispersion[lane].nm, u: self.bsdf_u.0[1][lane] }
    }
}

/// Converts a direction from the shader's frame to the shading frame or back.
#[inline(always)]
pub(super) fn mirrored(wi: Vec3, side: f32) -> Vec3 {
    vec3(wi.x, wi.y, side * wi.z)
}
