//! Sampled incident light at a group of shading points, in columns.

use super::LightSample;
use lightbound_math::{Column, Columns, Frame, Vec3};

/// Up to [`COLUMN_LEN`](lightbound_math::COLUMN_LEN) light samples, each for a shading point of its own.
#[derive(Default)]
pub struct LightColumns {
    /// As [`LightSample::wi`].
    pub wi: Columns<3>,
    /// `wi` in the shading frame, normalised as shaders require ([`Frame::local_direction`]).
    pub local: Columns<3>,
    /// As [`LightSample::target`], where `shadow_tmax` is 1.
    pub target: Columns<3>,
    /// End of the shadow ray: 1 for a segment to `target`, ∞ for lights at infinity.
    pub shadow_tmax: Column,
    /// As [`LightSample::radiance`]. Black samples have density 0 or radiance 0.
    pub radiance: Columns<3>,
    /// As [`LightSample::pdf`], times the probability of selecting the light.
    pub pdf: Column,
    /// As [`LightSample::delta`], a bit for each lane.
    pub delta: u32,
}

impl LightColumns {
    /// Sets the sample of a lane. `pdf` is its density, and `frame` the shading frame.
    pub fn set(&mut self, lane: usize, light: &LightSample, pdf: f32, frame: &Frame) {
        self.wi.set(lane, light.wi);
        self.local.set(lane, frame.local_direction(light.wi));
        self.target.set(lane, light.target.unwrap_or(Vec3::ZERO));
        self.shadow_tmax[lane] = if light.target.is_some() { 1.0 } else { f32::INFINITY };
        self.radiance.set(lane, light.radiance);
        self.pdf[lane] = pdf;
        self.delta = self.delta & !(1 << lane) | u32::from(light.delta) << lane;
    }

    /// Copies a lane of other columns.
    pub fn copy_lane(&mut self, lane: usize, other: &LightColumns) {
        let copy = |to: &mut [Column], from: &[Column]| {
            to.iter_mut().zip(from).for_each(|(to, from)| to[lane] = from[lane]);
        };
        copy(&mut self.wi.0, &other.wi.0);
        copy(&mut self.local.0, &other.local.0);
        copy(&mut self.target.0, &other.target.0);
        copy(&mut self.radiance.0, &other.radiance.0);
        self.shadow_tmax[lane] = other.shadow_tmax[lane];
        self.pdf[lane] = other.pdf[lane];
        self.delta = self.delta & !(1 << lane) | other.delta & 1 << lane;
    }
}
