//! Upper bounds on the geometric factor of clusters, for eight clusters at a time: the box bounds
//! of Walter et al. 2005, with the cones of Conty Estévez & Kulla 2018.
//!
//! **Distance.** For a light at p in the box, each component of |p − x| is at least the distance of
//! the box along that axis, and rounding is monotone. Light and box sum the squares in the same
//! order ([`length_squared`]) and divide in the same way. So the computed 1 / distance² of the box
//! is at least that of any light, without tolerance.
//!
//! **Angle.** Let A be the cone's axis, θ its half angle, and γ the angle between A and x − p. A
//! light's cosine is at most cos(max(0, γ − θ)), which decreases with γ, so an upper bound on cos γ
//! suffices. Over all p in the box, z = A·(x − p) is at most the sum of its maxima per axis, and
//! cos γ = z / |x − p| = z / √(z² + ρ²), where ρ is the distance of x from the line through p along
//! A. If max z ≥ 0, cos γ is at most max z divided by the larger of the box distance and √(max z² +
//! min ρ²); the ball around the box yields min ρ. Otherwise, cos γ is at most max z divided by the
//! greatest distance. The ball, of radius r = |x − c| sin β around c, also implies cos γ ≤
//! cos(α − β), where α is the angle between A and x − c, unless β > α. The smaller bound is used.
//!
//! **Rounding.** Let u = 2⁻²⁴, axes be normalised to 4u, and `far` be the greatest distance to the
//! box, which is at least 2⁻⁵⁰ where light arrives. The error of max z is below 4u·far from
//! rounding plus 4u·far from the length of A. The error of ρ is below 16u·far. Roots and quotient
//! have a total relative error below 8u. `COSINE_SLACK` = 64u times `far`, in both numerator and
//! divisor, exceeds these errors, since the divisor is at most 1.5 far: the computed cos γ is at
//! least the exact value. The operations that follow are monotone in cos γ up to 8u of rounding,
//! and the light's own cosine has an error below 16u. A second `COSINE_SLACK` at the end exceeds
//! the sum of both.
//!
//! The bound from the ball is used only if r² ≤ 15/16 |x − c|². Then far is at most twice |x − c|.
//! So the error of x − c and r is at most 8u|x − c|, the error of the difference of squares is at
//! most 40u|x − c|², and the error of its root, which is at least |x − c| / 4, is at most 80u|x −
//! c|. The error of cos(α − β) is below 150u, which `BALL_SLACK` exceeds. At α = β, where the cases
//! meet, the bound is 1.

use super::node::{NO_LIGHT, Node, WIDTH};
use super::point::{COSINE_STEP, LightKind, length_squared};
use lightbound_math::direction_box::{greater, lesser};
use lightbound_math::{Aabb, Vec3};

/// Slack for rounding errors of cosines, 64u.
const COSINE_SLACK: f32 = 1.0 / (1 << 18) as f32;

/// Slack for rounding errors of the bound from the ball, 256u.
const BALL_SLACK: f32 = 1.0 / (1 << 16) as f32;

/// Maximum ratio of the ball's squared radius to the squared distance of its centre at which its
/// bound is used. It corresponds to a half angle of about 75°.
const MAX_BALL_RATIO: f32 = 15.0 / 16.0;

impl Node {
    /// Returns, for each child, an upper bound on the computed [`super::IncidentLight::factor`] at
    /// `x` of all lights below it, or of all their samples if leaves have extents. The bound is ∞
    /// if `x` lies in the box or on its border, 0 for empty slots, and never NaN. For virtual
    /// lights, it bounds the product with the intensity in the direction to `x` relative to the
    /// [magnitude](super::LightTree::magnitude), and distances have a minimum. `kind` is the kind of
    /// the tree.
    pub fn geometric_bounds(&self, kind: LightKind, x: Vec3) -> [f32; WIDTH] {
        self.geometric_bounds_over(kind, Aabb { min: x, max: x })
    }

    /// Like [`Self::geometric_bounds`], over all receiving points in the box `x`. Only differences of
    /// points on a light and receiving points matter. Their box takes the place of the box of the
    /// lights, seen from one point.
    pub fn geometric_bounds_over(&self, kind: LightKind, x: Aabb) -> [f32; WIDTH] {
        let x = [x.min.to_array(), x.max.to_array()];
        let mut bounds = [1.0; WIDTH];
        match kind {
            LightKind::Omni => {
                (0..WIDTH).for_each(|k| bounds[k] = 1.0 / self.distance_squared(k, x))
            }
            LightKind::Oriented => (0..WIDTH).for_each(|k| bounds[k] = self.oriented_bound(k, x)),
            LightKind::Directional => {}
            LightKind::Virtual { min_distance_squared } => {
                (0..WIDTH).for_each(|k| bounds[k] = self.virtual_bound(k, x, min_distance_squared))
            }
        }
        for (bound, &representative) in bounds.iter_mut().zip(&self.representative) {
            *bound = if representative == NO_LIGHT { 0.0 } else { *bound };
        }
        bounds
    }

    /// Returns the squared distance of the box `x` from the box of child `k`.
    #[inline(always)]
    fn distance_squared(&self, k: usize, [min, max]: [[f32; 3]; 2]) -> f32 {
        length_squared(std::array::from_fn(|i| {
            greater(greater(self.lo[i][k] - max[i], min[i] - self.hi[i][k]), 0.0)
        }))
    }

    /// Returns an upper bound on emission divided by squared distance.
    #[inline(always)]
    fn oriented_bound(&self, k: usize, x: [[f32; 3]; 2]) -> f32 {
        let d2 = self.distance_squared(k, x);
        let cos = self.cos_to_axis(k, x, d2);
        let spot = if cos >= self.cos_spot[k] { 1.0 } else { 0.0 };
        let emission = greater(cos * self.has_cosine[k], spot);
        // Avoid the NaN of 0/0.
        if emission > 0.0 { emission / d2 } else { 0.0 }
    }

    /// Returns an upper bound on the emission of virtual lights, relative to their magnitudes, divided
    /// by squared distance.
    #[inline(always)]
    fn virtual_bound(&self, k: usize, x: [[f32; 3]; 2], min_distance_squared: f32) -> f32 {
        let d2 = self.distance_squared(k, x);
        let cos = self.cos_to_axis(k, x, d2);
        let emission = lesser(cos + COSINE_STEP, 1.0);
        if cos > 0.0 { emission / greater(d2, min_distance_squared) } else { 0.0 }
    }

    /// Returns an upper bound, at most 1, on the cosine between a light's axis and its direction to
    /// points in the box `x`. `d2` is the squared distance between the boxes.
    #[inline(always)]
    fn cos_to_axis(&self, k: usize, [min, max]: [[f32; 3]; 2], d2: f32) -> f32 {
        let axis: [f32; 3] = std::array::from_fn(|i| self.axis[i][k]);
        let from_lo: [f32; 3] = std::array::from_fn(|i| max[i] - self.lo[i][k]);
        let from_hi: [f32; 3] = std::array::from_fn(|i| min[i] - self.hi[i][k]);
        let terms: [f32; 3] =
            std::array::from_fn(|i| greater(axis[i] * from_lo[i], axis[i] * from_hi[i]));
        let max_distance2 =
            length_squared(std::array::from_fn(|i| greater(from_lo[i].abs(), from_hi[i].abs())));
        let slack = COSINE_SLACK * max_distance2.sqrt();
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
        let divisor2 = if z >= 0.0 { greater(d2, z * z + rho * rho) } else { max_distance2 };
        let tangent = (center2 - radius2).sqrt();
        let by_ball = (along * tangent + across * radius) / center2 + BALL_SLACK;
        let by_ball =
            if radius2 <= MAX_BALL_RATIO * center2 && along < tangent { by_ball } else { 1.0 };
        // The bound is below −1 only by rounding. A NaN from 0/0 is preserved.
        let cos = greater(-1.0, lesser(by_ball, z / divisor2.sqrt()));
        let cos_angle = self.cos_angle[k];
        let sines = ((1.0 - cos) * (1.0 + cos) * ((1.0 - cos_angle) * (1.0 + cos_angle))).sqrt();
        let narrowed = lesser(cos * cos_angle + sines + COSINE_SLACK, 1.0);
        // The bound is 1 inside the cone and for NaN.
        if cos < cos_angle { narrowed } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Random, TestLight, cloud, cube, each_cluster, factor, tree};
    use super::super::{LightTree, PointOptions};
    use super::*;
    use crate::geometry::{Mesh, Shape};
    use crate::light::testing::primitive;
    use crate::light::{AnyLight, AreaLight, Lights, PointLight, SpotLight};
    use lightbound_math::vec3;
    use proptest::prelude::*;

    /// Returns a small triangle light around `at` with the normal `n`.
    fn small_light(at: Vec3, n: Vec3, size: f32) -> AnyLight {
        let frame = lightbound_math::Frame::from_normal(n.normalize());
        let corners = [vec3(0.0, 1.0, 0.0), vec3(-1.0, -1.0, 0.0), vec3(1.0, -1.0, 0.0)];
        let positions = corners.map(|c| at + size * frame.to_world(c)).to_vec();
        let mesh = Mesh::new(positions, vec![[0, 1, 2]], vec![], vec![]).unwrap();
        AnyLight::Area(AreaLight::new(&primitive(Shape::Mesh(mesh)), 0, Vec3::ONE, false))
    }

    /// Returns `n` point, spot and area lights in a cube of half size `size` around `center`.
    /// `spread` is the variation of their axes.
    fn random_lights(
        n: usize,
        center: Vec3,
        size: f32,
        spread: f32,
        random: &mut Random,
    ) -> Lights {
        let main = random.cube();
        let light = |i: usize| {
            let (at, axis) = (center + size * random.cube(), main + spread * random.cube());
            match i % 4 {
                0 => AnyLight::Point(PointLight::new(at, Vec3::ONE)),
                1 => {
                    let cone = 0.1 + 179.9 * random.unit();
                    AnyLight::Spot(
                        SpotLight::new(at, axis, Vec3::ONE, cone, random.unit() * cone).unwrap(),
                    )
                }
                _ => small_light(at, axis, 0.1 * size),
            }
        };
        Lights::new((0..n).map(light).collect(), cube())
    }

    /// Asserts that the bounds of all clusters at `x` hold for all their lights.
    fn assert_bounds(tree: &LightTree, x: Vec3) {
        each_cluster(tree, |kind, node, k, leaves| {
            let bound = tree.node(node).geometric_bounds(kind, x)[k];
            for &leaf in leaves {
                let exact = factor(&tree.point(leaf), x);
                assert!(
                    bound >= exact,
                    "{kind:?} at {x}: {bound} < {exact}, {:?}",
                    tree.point(leaf)
                );
            }
        });
    }

    #[test]
    fn bounds_over_a_box_hold_for_its_points() {
        let mut random = Random(11);
        for case in 0..60 {
            let (size, spread) = (2f32.powi(case % 12 - 6), random.unit());
            let lights = random_lights(30, size * random.cube(), size, spread, &mut random);
            let tree = tree(&lights, &PointOptions::default());
            let center = 4.0 * size * random.cube();
            let receivers = 2f32.powi(-(case % 7)) * size;
            let points: Vec<Vec3> = (0..6).map(|_| center + receivers * random.cube()).collect();
            let bounds = Aabb::around(points.iter().copied());
            each_cluster(&tree, |kind, node, k, leaves| {
                let bound = tree.node(node).geometric_bounds_over(kind, bounds)[k];
                for (&x, &leaf) in points.iter().flat_map(|x| leaves.iter().map(move |l| (x, l))) {
                    let exact = factor(&tree.point(leaf), x);
                    assert!(bound >= exact, "{kind:?} at {x}: {bound} < {exact}");
                }
            });
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        #[test]
        fn bounds_hold_for_random_lights(n in 1usize..60, size in -25i32..25, shift in -2i32..8, spread in 0f32..2.0, near in -9i32..6, seed: u32) {
            let (mut random, size) = (Random(seed), 2f32.powi(size));
            let center = size * 4f32.powi(shift) * random.cube();
            let lights = random_lights(n, center, size, spread, &mut random);
            let tree = tree(&lights, &PointOptions { area_points: 1, ..PointOptions::default() });
            for _ in 0..12 {
                assert_bounds(&tree, center + size * 4f32.powi(near) * random.cube());
            }
            // At the lights, in the planes of oriented lights, and behind them.
            for point in tree.points() {
                assert_bounds(&tree, point.position);
                assert_bounds(&tree, point.position + size * point.axis.cross(random.cube()));
                assert_bounds(&tree, point.position - size * point.axis);
            }
        }
    }

    #[test]
    fn bounds_hold_at_extreme_positions() {
        let mut random = Random(3);
        let kinds = [TestLight::Point, TestLight::Spot, TestLight::Distant];
        let mut all = cloud(200, &kinds, &mut random);
        all.extend((0..100).map(|_| small_light(random.cube(), random.cube(), 1e-3)));
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

    /// Returns the bounds of the clusters at the root, without empty slots.
    fn root_bounds(lights: Vec<AnyLight>, x: Vec3) -> Vec<f32> {
        let tree = tree(
            &Lights::new(lights, cube()),
            &PointOptions { area_points: 1, ..PointOptions::default() },
        );
        let (kind, root) = tree.roots().next().unwrap();
        let (node, bounds) = (tree.node(root), tree.node(root).geometric_bounds(kind, x));
        assert!(bounds[node.len()..].iter().all(|&b| b == 0.0), "empty slots have nonzero bounds");
        bounds[..node.len()].to_vec()
    }

    #[test]
    fn bounds_are_infinite_inside_and_zero_behind_clusters() {
        let mut random = Random(7);
        let lights: Vec<AnyLight> = (0..64)
            .map(|_| small_light(random.cube(), -Vec3::Z + 0.1 * random.cube(), 1e-3))
            .collect();
        assert!(
            root_bounds(lights.clone(), vec3(0.0, 0.0, 5.0)).iter().all(|&b| b == 0.0),
            "all lights face away"
        );
        assert!(
            root_bounds(lights.clone(), vec3(0.0, 0.0, -5.0)).iter().all(|&b| b > 0.02 && b < 0.08)
        );
        let tree = tree(
            &Lights::new(lights, cube()),
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
    fn spot_bounds_are_zero_outside_the_cone() {
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
            assert!(root_bounds(spots.clone(), at(degrees)).iter().all(|&b| b == 0.0), "{degrees}");
        }
        for degrees in [0.0, 15.0] {
            assert!(
                root_bounds(spots.clone(), at(degrees)).iter().all(|&b| b > 0.0099 && b < 0.0103),
                "{degrees}"
            );
        }
    }

    #[test]
    fn small_clusters_have_tight_bounds() {
        let mut random = Random(11);
        for angle in [0.0f32, 30.0, 60.0, 80.0] {
            let lights = (0..30)
                .map(|_| small_light(0.05 * random.cube(), Vec3::Z + 0.02 * random.cube(), 1e-3))
                .collect();
            let x = 5.0 * vec3(angle.to_radians().sin(), 0.0, angle.to_radians().cos());
            let exact = angle.to_radians().cos() / 25.0;
            let worst = root_bounds(lights, x).into_iter().fold(0.0, f32::max);
            assert!(worst < 1.05 * exact + 0.05 / 25.0, "{angle}: {worst} {exact}");
        }
    }
}
