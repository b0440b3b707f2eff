//! Gather points on a glossy floor under random lights.

use super::super::lighting::Lighting;
use super::super::testing::Floor;
use super::point::GatherPoints;
use crate::light_tree::PointOptions;
use crate::light_tree::testing::Random;
use lightbound_math::{Vec3, vec3};

/// Number of gather points.
pub const SAMPLES: u32 = 12;

/// A glossy floor under random lights.
pub fn floor() -> Floor {
    let random = &mut Random(5);
    let light = |_| (3.0 * random.cube() + 3.2 * Vec3::Z, 0.2 + random.unit());
    let lights: Vec<_> = (0..300).map(light).collect();
    let brdf = "0.1 + pow(max(wi.z * wo.z - wi.x * wo.x - wi.y * wo.y, 0.0), 40.0)";
    Floor::with_brdf(&lights, &PointOptions::default(), brdf)
}

/// A gather point: position, outgoing direction, throughput and weight of its sample.
pub type Point = (Vec3, Vec3, Vec3, f32);

/// Returns points within `size` of the origin, with some negative weights if `signed`.
pub fn points(size: f32, signed: bool) -> Vec<Point> {
    let random = &mut Random(9);
    let point = |k: u32| {
        let p = size * random.cube().with_z(0.0);
        let wo = (0.5 * size * random.cube().with_z(0.0) + vec3(0.3, 0.2, 1.0)).normalize();
        let sign = if signed && k.is_multiple_of(4) { -0.25 } else { 1.0 };
        (p, wo, 0.5 + 0.25 * random.cube(), sign * (0.5 + random.unit()))
    };
    (0..SAMPLES).map(point).collect()
}

/// Adds points, as one group of samples.
pub fn add_points(
    gather: &mut GatherPoints,
    floor: &Floor,
    lighting: &mut Lighting<'_>,
    points: &[Point],
) {
    for (sample, &(p, wo, throughput, weight)) in (0..).zip(points) {
        floor.shade_at(lighting, p, wo, |lighting, point| {
            gather.add(lighting, point, sample, throughput, weight);
        });
    }
}

/// Returns the radiance of each point as the sum over all lights.
pub fn sums(points: &[Point]) -> Vec<Vec3> {
    let floor = floor();
    let bounds = floor.cluster_bounds();
    let mut lighting = floor.lighting(&bounds);
    let sum = |&(p, wo, throughput, _): &Point| {
        floor.shade_at(&mut lighting, p, wo, |lighting, point| {
            let intensities: Vec<_> =
                lighting.tree.points().iter().map(|light| light.intensity).collect();
            let unit = lighting.shade(point, 0..intensities.len() as u32);
            throughput * std::iter::zip(unit, intensities).map(|(&u, i)| u * i).sum::<Vec3>()
        })
    };
    points.iter().map(sum).collect()
}

/// Returns the weighted sum over the group.
pub fn total(points: &[Point], radiance: &[Vec3]) -> Vec3 {
    std::iter::zip(points, radiance).map(|((.., weight), &rgb)| *weight * rgb).sum()
}
