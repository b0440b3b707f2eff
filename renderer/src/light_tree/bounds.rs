//! Upper bounds of the geometric factor of clusters, 8 at a time; Walter et al. 2005 for boxes,
//! with cones around them as in Conty Estévez & Kulla 2018.
//!
//! **Distance.** For a light at p in the box, each |p − x| componentwise is at least the box's
//! distance along that axis, and rounding is monotone; the squares are summed in the same order in
//! both places ([`length_squared`]), and so is the quotient taken. So 1 / distance² of the box is
//! at least that of any light as floats come out, without tolerance.
//!
//! **Angle.** Let A be the cone's axis, θ its half angle, and γ the angle between A and x − p. A
//! light's cosine is at most cos(max(0, γ − θ)), which falls with γ. Over all p of the box, z =
//! A·(x − p) is at most its sum of maxima per axis; cos γ = z / |x − p| = z / √(z² + ρ²), with ρ
//! the distance of x from the line through p along A. Where max z ≥ 0, cos γ ≤ max z over the
//! larger of box distance and √(max z² + min ρ²), with min ρ by the ball around the box; else cos γ
//! ≤ max z over the greatest distance. The ball itself, of radius r = |x − c| sin β around c, says
//! cos γ ≤ cos(α − β), with α the angle between A and x − c, unless β > α. The least bound counts.
//!
//! Rounding, with u = 2⁻²⁴, axes normalised to 4u, and `far` the greatest distance to the box,
//! which is at least 2⁻⁵⁰ where anything arrives: max z is wrong by less than 4u·far from rounding
//! and 4u·far by the length of A; ρ by less than 16u·far; roots and quotient by less than 8u in
//! total, relatively. `SLACK` = 64u of `far` on both sides of the quotient exceeds that, since the
//! divisor is at most 1.5 far: the computed cos γ is no less than the true one. What follows is
//! monotone in it but for 8u by its own rounding, and the light's own cosine is off by less than
//! 16u: a second `SLACK` at the end exceeds their sum. The ball is used for r² ≤ 15/16 |x − c|²
//! alone: there far is at most twice |x − c|, so that x − c and r are off by 8u|x − c|, the
//! difference of squares by 40u|x − c|², its root, at least |x − c| / 4, by 80u|x − c|, and cos(α −
//! β) by less than 150u, for which `BALL_SLACK` makes up; at α = β, where the case changes, it is 1
//! anyway.

use super::node::{NOBODY, Node, WIDTH};
use super::point::{Kind, length_squared};
use crate::math::Vec3;
use crate::math::direction_box::{greater, lesser};

/// 64u.
const SLACK: f32 = 1.0 / (1 << 18) as f32;

/// 256u.
const BALL_SLACK: f32 = 1.0 / (1 << 16) as f32;

/// The ball tells nothing where it fills more than about 75° to all sides: radius² over distance²
/// of its centre.
const WIDE_BALL: f32 = 15.0 / 16.0;

impl Node {
    /// For each child, at least [`super::Arrival::factor`] at `x` of every light below it, in the
    /// very floats that are computed; for pieces with extent, of every draw. ∞ where `x` lies in
    /// the box or touches it, 0 for slots without a child, never NaN. `kind` is that of the tree.
    pub fn geometric_bounds(&self, kind: Kind, x: Vec3) -> [f32; WIDTH] {
        let x = x.to_array();
        let mut bounds = [1.0; WIDTH];
        match kind {
            Kind::Omni => (0..WIDTH).for_each(|k| bounds[k] = 1.0 / self.distance_squared(k, x)),
            Kind::Oriented => (0..WIDTH).for_each(|k| bounds[k] = self.oriented(k, x)),
            Kind::Directional => {}
        }
        for (bound, &representative) in bounds.iter_mut().zip(&self.representative) {
            *bound = if representative == NOBODY { 0.0 } else { *bound };
        }
        bounds
    }

    /// Squared distance from the box.
    #[inline(always)]
    fn distance_squared(&self, k: usize, x: [f32; 3]) -> f32 {
        length_squared(std::array::from_fn(|i| {
            greater(greater(self.lo[i][k] - x[i], x[i] - self.hi[i][k]), 0.0)
        }))
    }

    /// Bound of emission over squared distance.
    #[inline(always)]
    fn oriented(&self, k: usize, x: [f32; 3]) -> f32 {
        let d2 = self.distance_squared(k, x);
        let cos = self.cos_to_axis(k, x, d2);
        let spot = if cos >= self.cos_spot[k] { 1.0 } else { 0.0 };
        let emission = greater(cos * self.cosine[k], spot);
        // Where there is no emission, no distance makes any.
        if emission > 0.0 { emission / d2 } else { 0.0 }
    }

    /// Upper bound of the cosine, at most 1, between a light's axis and its direction to `x`, whose
    /// squared distance from the box is `d2`.
    #[inline(always)]
    fn cos_to_axis(&self, k: usize, x: [f32; 3], d2: f32) -> f32 {
        let axis: [f32; 3] = std::array::from_fn(|i| self.axis[i][k]);
        let from_lo: [f32; 3] = std::array::from_fn(|i| x[i] - self.lo[i][k]);
        let from_hi: [f32; 3] = std::array::from_fn(|i| x[i] - self.hi[i][k]);
        let terms: [f32; 3] =
            std::array::from_fn(|i| greater(axis[i] * from_lo[i], axis[i] * from_hi[i]));
        let far2 =
            length_squared(std::array::from_fn(|i| greater(from_lo[i].abs(), from_hi[i].abs())));
        let slack = SLACK * far2.sqrt();
        let z = terms[0] + terms[1] + terms[2] + slack;
        // The ball around the box.
        let center: [f32; 3] = std::array::from_fn(|i| 0.5 * (from_lo[i] + from_hi[i]));
        let (center2, radius2) = (
            length_squared(center),
            length_squared(std::array::from_fn(|i| 0.5 * (from_lo[i] - from_hi[i]))),
        );
        let (radius, along) =
            (radius2.sqrt(), axis[0] * center[0] + axis[1] * center[1] + axis[2] * center[2]);
        let across = length_squared(std::array::from_fn(|i| center[i] - axis[i] * along)).sqrt();
        let rho = greater(across - radius - slack, 0.0);
        let reach2 = if z >= 0.0 { greater(d2, z * z + rho * rho) } else { far2 };
        let tangent = (center2 - radius2).sqrt();
        let by_ball = (along * tangent + across * radius) / center2 + BALL_SLACK;
        let by_ball = if radius2 <= WIDE_BALL * center2 && along < tangent { by_ball } else { 1.0 };
        // Below −1 only by rounding; NaN, where nothing is divided by nothing, stays.
        let cos = greater(-1.0, lesser(by_ball, z / reach2.sqrt()));
        let cone = self.cos_angle[k];
        let sines = ((1.0 - cos) * (1.0 + cos) * ((1.0 - cone) * (1.0 + cone))).sqrt();
        let narrowed = lesser(cos * cone + sines + SLACK, 1.0);
        // Within the cone, and where infinities met: anything may be.
        if cos < cone { narrowed } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Random, Sort, cloud, cube, each_cluster, factor, tree};
    use super::super::{LightTree, PointOptions};
    use super::*;
    use crate::geometry::{Mesh, Shape};
    use crate::light::testing::primitive;
    use crate::light::{AnyLight, AreaLight, Lights, PointLight, SpotLight};
    use crate::math::vec3;
    use proptest::prelude::*;

    /// A small triangle around `at`, with the normal `n`.
    fn lamp(at: Vec3, n: Vec3, size: f32) -> AnyLight {
        let frame = crate::math::Frame::from_normal(n.normalize());
        let corners = [vec3(0.0, 1.0, 0.0), vec3(-1.0, -1.0, 0.0), vec3(1.0, -1.0, 0.0)];
        let positions = corners.map(|c| at + size * frame.to_world(c)).to_vec();
        let mesh = Mesh::new(positions, vec![[0, 1, 2]], vec![], vec![]).unwrap();
        AnyLight::Area(AreaLight::new(&primitive(Shape::Mesh(mesh)), 0, Vec3::ONE, false))
    }

    /// Lights of all kinds in a ball of radius `size` about `center`, with axes within `spread` of
    /// one another.
    fn crowd(n: usize, center: Vec3, size: f32, spread: f32, random: &mut Random) -> Lights {
        let main = random.cube();
        let one = |i: usize| {
            let (at, axis) = (center + size * random.cube(), main + spread * random.cube());
            match i % 4 {
                0 => AnyLight::Point(PointLight::new(at, Vec3::ONE)),
                1 => {
                    let cone = 0.1 + 179.9 * random.unit();
                    AnyLight::Spot(
                        SpotLight::new(at, axis, Vec3::ONE, cone, random.unit() * cone).unwrap(),
                    )
                }
                _ => lamp(at, axis, 0.1 * size),
            }
        };
        Lights::new((0..n).map(one).collect(), cube())
    }

    /// Every bound against every light below.
    fn assert_bounds(tree: &LightTree, x: Vec3) {
        each_cluster(tree, |kind, node, k, leaves| {
            let bound = tree.node(node).geometric_bounds(kind, x)[k];
            for &leaf in leaves {
                let truth = factor(tree.point(leaf), x);
                assert!(
                    bound >= truth,
                    "{kind:?} at {x}: {bound} < {truth}, {:?}",
                    tree.point(leaf)
                );
            }
        });
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        #[test]
        fn at_least_every_factor(n in 1usize..60, size in -25i32..25, shift in -2i32..8, spread in 0f32..2.0, near in -9i32..6, seed: u32) {
            let (mut random, size) = (Random(seed), 2f32.powi(size));
            let center = size * 4f32.powi(shift) * random.cube();
            let lights = crowd(n, center, size, spread, &mut random);
            let tree = tree(&lights, &PointOptions { area_points: 1, ..PointOptions::default() });
            for _ in 0..12 {
                assert_bounds(&tree, center + size * 4f32.powi(near) * random.cube());
            }
            // On lights, at corners of boxes, and in the planes of lamps.
            for point in tree.points() {
                assert_bounds(&tree, point.position);
                assert_bounds(&tree, point.position + size * point.axis.cross(random.cube()));
                assert_bounds(&tree, point.position - size * point.axis);
            }
        }
    }

    #[test]
    fn extreme_places() {
        let mut random = Random(3);
        let sorts = [Sort::Point, Sort::Spot, Sort::Distant];
        let mut all = cloud(200, &sorts, &mut random);
        all.extend((0..100).map(|_| lamp(random.cube(), random.cube(), 1e-3)));
        let tree = tree(&Lights::new(all, cube()), &PointOptions::default());
        let values = [
            0.0,
            -0.5,
            1e-30,
            1e-45,
            1e18,
            -1e19,
            3e38,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::NAN,
        ];
        for i in 0..values.len().pow(3) {
            let pick = |k: u32| values[i / values.len().pow(k) % values.len()];
            let x = vec3(pick(0), pick(1), pick(2));
            for (kind, root) in tree.roots() {
                let bounds = tree.node(root).geometric_bounds(kind, x);
                assert!(bounds.iter().all(|&b| b >= 0.0), "{kind:?} {x}: {bounds:?}");
            }
            if i % 7 == 0 {
                assert_bounds(&tree, x);
            }
        }
    }

    /// Bounds of the clusters at the root, without empty slots.
    fn at_root(lights: Vec<AnyLight>, x: Vec3) -> Vec<f32> {
        let tree = tree(
            &Lights::new(lights, cube()),
            &PointOptions { area_points: 1, ..PointOptions::default() },
        );
        let (kind, root) = tree.roots().next().unwrap();
        let (node, bounds) = (tree.node(root), tree.node(root).geometric_bounds(kind, x));
        assert!(bounds[node.len()..].iter().all(|&b| b == 0.0), "empty slots");
        bounds[..node.len()].to_vec()
    }

    #[test]
    fn inside_and_behind() {
        let mut random = Random(7);
        let lamps: Vec<AnyLight> =
            (0..64).map(|_| lamp(random.cube(), -Vec3::Z + 0.1 * random.cube(), 1e-3)).collect();
        assert!(
            at_root(lamps.clone(), vec3(0.0, 0.0, 5.0)).iter().all(|&b| b == 0.0),
            "all lamps face away"
        );
        assert!(at_root(lamps.clone(), vec3(0.0, 0.0, -5.0)).iter().all(|&b| b > 0.02 && b < 0.08));
        let tree = tree(
            &Lights::new(lamps, cube()),
            &PointOptions { area_points: 1, ..PointOptions::default() },
        );
        each_cluster(&tree, |kind, index, k, _| {
            let node = tree.node(index);
            let b = node.bounds(k);
            for x in b.corners().into_iter().chain([b.center()]) {
                assert_eq!(node.geometric_bounds(kind, x)[k], f32::INFINITY);
            }
        });
    }

    #[test]
    fn spots_end_with_their_cone() {
        let mut random = Random(9);
        let mut spot = || {
            let at = 0.1 * random.cube();
            AnyLight::Spot(
                SpotLight::new(at, Vec3::Z, Vec3::ONE, 20.0 + 10.0 * random.unit(), 5.0).unwrap(),
            )
        };
        let spots: Vec<AnyLight> = (0..30).map(|_| spot()).collect();
        let at =
            |degrees: f32| vec3(degrees.to_radians().sin(), 0.0, degrees.to_radians().cos()) * 10.0;
        for degrees in [33.0, 60.0, 90.0, 150.0, 180.0] {
            assert!(at_root(spots.clone(), at(degrees)).iter().all(|&b| b == 0.0), "{degrees}");
        }
        for degrees in [0.0, 15.0] {
            assert!(
                at_root(spots.clone(), at(degrees)).iter().all(|&b| b > 0.0099 && b < 0.0103),
                "{degrees}"
            );
        }
    }

    #[test]
    fn small_clusters_have_tight_bounds() {
        let mut random = Random(11);
        for angle in [0.0f32, 30.0, 60.0, 80.0] {
            let lamps = (0..30)
                .map(|_| lamp(0.05 * random.cube(), Vec3::Z + 0.02 * random.cube(), 1e-3))
                .collect();
            let x = 5.0 * vec3(angle.to_radians().sin(), 0.0, angle.to_radians().cos());
            let truth = angle.to_radians().cos() / 25.0;
            let worst = at_root(lamps, x).into_iter().fold(0.0, f32::max);
            assert!(worst < 1.05 * truth + 0.05 / 25.0, "{angle}: {worst} {truth}");
        }
    }
}
