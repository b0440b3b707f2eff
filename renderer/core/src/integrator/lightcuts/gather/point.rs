//! Gather points: shading points with all that their light depends on.

use super::super::lighting::{Lighting, ShadingPoint};
use lightbound_math::Vec3;
use std::ops::Range;

/// A shading point of a sample.
#[derive(Clone, Debug)]
pub struct GatherPoint {
    /// Index of the sample within the tile.
    pub sample: u32,
    /// Factor on the point's light on the way to the camera.
    pub throughput: Vec3,
    /// Factor on the point's light in the sum over the group: the throughput times the weight of the
    /// sample. Components may be negative.
    pub weight: Vec3,
    /// Index of the shader.
    pub shader: usize,
    pub point: ShadingPoint,
    words: Range<usize>,
}

/// The gather points of a tile.
#[derive(Default)]
pub struct GatherPoints {
    points: Vec<GatherPoint>,
    /// Outgoing directions and material parameters.
    words: Vec<u32>,
}

impl GatherPoints {
    pub fn clear(&mut self) {
        self.points.clear();
        self.words.clear();
    }

    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Adds the current shading point of `lighting`, unless it does not contribute.
    pub fn add(
        &mut self,
        lighting: &Lighting<'_>,
        point: &ShadingPoint,
        sample: u32,
        throughput: Vec3,
        sample_weight: f32,
    ) {
        let weight = throughput * sample_weight;
        if weight == Vec3::ZERO {
            return;
        }
        let (shader, words) = lighting.material.shading_point();
        let first = self.words.len();
        self.words.extend_from_slice(words);
        self.points.push(GatherPoint {
            sample,
            throughput,
            weight,
            shader,
            point: *point,
            words: first..self.words.len(),
        });
    }

    pub fn get(&self, point: u32) -> &GatherPoint {
        &self.points[point as usize]
    }

    /// Returns the outgoing direction and the material parameters of a point.
    pub fn words(&self, point: u32) -> &[u32] {
        &self.words[self.get(point).words.clone()]
    }

    /// Returns a point for shading.
    pub fn shading_point(&self, point: u32, is_timed: bool) -> ShadingPoint {
        ShadingPoint { is_timed, ..self.get(point).point }
    }
}
