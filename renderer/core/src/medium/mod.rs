//! Participating media.
//!
//! A [`Medium`] scatters, absorbs and emits light between surfaces. Its optical properties are a
//! [`Field`]; its phase function is a shader. Free paths are sampled with null collisions (Miller,
//! Georgiev, Jarosz 2019), which need a majorant of the extinction. A [`MajorantTree`] holds
//! majorants and minorants over boxes.
//!
//! Coefficients are per unit of length in render space, whatever the scale of a medium's own space.

mod cloud;
mod density_field;
mod grid;
mod majorant_tree;
mod range_tree;
mod rgb_field;
mod shader_field;
mod sparse_grid;
mod tightness;
mod tracking;

pub use cloud::CloudField;
pub use density_field::{BlackBody, DensityField, Emission, Volume};
pub use grid::{Grid, Sample};
pub use majorant_tree::{Cell, MajorantTree, Segment, Segments, TreeOptions};
pub use rgb_field::RgbField;
pub use shader_field::{ShaderField, ShaderFieldError, ShaderFieldSettings};
pub use sparse_grid::{LEAF_POINTS, SparseGrid};
pub use tightness::Tightness;
pub use tracking::{ChannelWeights, Tracker, Tracking, TrackingCounts, Walk, WalkCounts};

use crate::StoppedLoops;
use crate::material::ShaderInstance;
use lightbound_math::{Aabb, Transform, Vec3};
use std::fmt::Debug;

/// Optical properties at a point of a medium.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MediumPoint {
    /// Extinction coefficient, 1/m.
    pub extinction: Vec3,
    /// Single-scattering albedo: the fraction of extinguished light that is scattered.
    pub albedo: Vec3,
    /// Emitted light, W/(sr·m³): absorption coefficient times emitted radiance.
    pub emission: Vec3,
}

/// Optical properties as a function of the position in the medium's own space.
///
/// The extinction is a density times [`Field::extinction`], channel by channel at most: the density
/// bounds all channels.
pub trait Field: Debug + Send + Sync {
    /// Returns in a few words how the properties are given.
    fn kind(&self) -> &'static str {
        "procedural"
    }

    /// Returns the box of the medium; `None` if it is everywhere.
    fn bounds(&self) -> Option<Aabb>;

    /// Returns whether any point emits light.
    fn emits(&self) -> bool;

    /// Returns the extinction per unit of density, 1/m.
    fn extinction(&self) -> Vec3;

    /// Returns the albedo if it is the same everywhere, and no point emits light. Then points need
    /// no evaluation where the density is known.
    fn constant_albedo(&self) -> Option<Vec3> {
        None
    }

    /// Computes the least and greatest density in each box, one item per box. Conservative: for
    /// each point in the box and each channel, the extinction of [`Field::evaluate`] is within
    /// them, times [`Field::extinction`], without tolerance.
    fn density_bounds(&self, boxes: &[Aabb], out: &mut Vec<[f32; 2]>);

    /// Computes the properties at points, one item per point. Points are within
    /// [`Field::bounds`].
    fn evaluate(&self, points: &[Vec3], out: &mut Vec<MediumPoint>);

    /// Returns the evaluations so far in which a loop was stopped; `None` if there are none.
    fn stopped_loops(&self) -> Option<StoppedLoops> {
        None
    }
}

/// A participating medium.
#[derive(Debug)]
pub struct Medium {
    /// Name in the scene file.
    pub name: String,
    /// Transform from the medium's own space to render space.
    pub transform: Transform,
    /// Optical properties.
    pub field: Box<dyn Field>,
    /// Majorants and minorants of the density.
    pub majorants: MajorantTree,
    /// The phase function: a shader with the cosine included. The z axis of its frame is `wo`.
    pub phase: ShaderInstance,
}

/// The media on the two sides of a surface. Indices into [`Scene::media`](crate::Scene::media);
/// `None` is vacuum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MediumInterface {
    /// The medium opposite the geometric normal.
    pub inside: Option<u32>,
    /// The medium on the side of the geometric normal.
    pub outside: Option<u32>,
}

impl MediumInterface {
    /// Returns the medium on the side to which `d` points, for a surface with geometric normal `ng`.
    pub fn on_side(&self, ng: Vec3, d: Vec3) -> Option<u32> {
        if d.dot(ng) > 0.0 { self.outside } else { self.inside }
    }
}

impl Medium {
    /// Limit of the density and of the extinction coefficient, 1/m: products with lengths and
    /// weights stay finite.
    pub const MAX_EXTINCTION: f32 = 1e27;

    /// Creates a medium, and computes its majorants.
    pub fn new(
        name: String,
        transform: Transform,
        field: Box<dyn Field>,
        phase: ShaderInstance,
    ) -> Medium {
        let majorants = MajorantTree::build(&*field, &transform, TreeOptions::default());
        Medium { name, transform, field, majorants, phase }
    }

    /// Returns whether the medium emits light.
    pub fn emits(&self) -> bool {
        self.field.emits()
    }

    /// Returns an upper bound on the extinction coefficient of each channel everywhere, 1/m.
    pub fn max_extinction(&self) -> Vec3 {
        self.majorants.density_range()[1] * self.field.extinction()
    }

    /// Returns an upper bound on the density and on the extinction coefficient, if it exceeds
    /// [`Medium::MAX_EXTINCTION`]. Samples of such media may be infinite.
    pub fn excessive_density(&self) -> Option<f32> {
        let [_, density] = self.majorants.density_range();
        let max = self.max_extinction().max_element().max(density);
        (max.is_nan() || max > Medium::MAX_EXTINCTION).then_some(max)
    }

    /// Returns whether the density is proved to be 0 everywhere.
    pub fn is_empty(&self) -> bool {
        self.majorants.density_range()[1] == 0.0
    }

    /// Returns a lower bound on the extinction coefficient of all channels everywhere, 1/m.
    pub fn min_extinction(&self) -> f32 {
        match self.field.bounds() {
            Some(_) => 0.0,
            None => self.field.extinction().min_element() * self.majorants.density_range()[0],
        }
    }
}

/// The same properties everywhere.
#[derive(Clone, Copy, Debug)]
pub struct Homogeneous(pub MediumPoint);

impl Field for Homogeneous {
    fn kind(&self) -> &'static str {
        "homogeneous"
    }

    fn bounds(&self) -> Option<Aabb> {
        None
    }

    fn emits(&self) -> bool {
        self.0.emission != Vec3::ZERO
    }

    fn extinction(&self) -> Vec3 {
        self.0.extinction
    }

    fn constant_albedo(&self) -> Option<Vec3> {
        (!self.emits()).then_some(self.0.albedo)
    }

    fn density_bounds(&self, boxes: &[Aabb], out: &mut Vec<[f32; 2]>) {
        out.clear();
        out.resize(boxes.len(), [1.0; 2]);
    }

    fn evaluate(&self, points: &[Vec3], out: &mut Vec<MediumPoint>) {
        out.clear();
        out.resize(points.len(), self.0);
    }
}
