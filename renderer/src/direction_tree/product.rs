//! Product sampling: directions by BRDF · cos θ · L, from a tree of directions and the image of a sky.
//!
//! As in Clarberg & Akenine-Möller 2008 (*Practical Product Importance Sampling for Direct Illumination*), the tree of the BRDF is descended from the
//! domain, each part weighed by its mass times the mean of the sky over its directions, which a [pyramid](SkyPyramid) has; below the
//! leaves of the tree, cells are cut further, until the sky is nearly constant in them. Nothing is kept of a point: the weights of parts are found
//! on the way, anew for each direction. What is drawn at a cell is drawn by the weights of its parts alone, so the density of any direction
//! is found on the same way, and exact, however poor estimates are.
//!
//! They are poor where a narrow lobe is in a wide cell whose sky varies; to weigh the 128 cells with most of the mass at once, and wide ones by sums of
//! these, leaves 0.6 to 0.8 of the variance, for three times the time.
//!
//! A small part of the directions ([`BY_MAP`]) is drawn by the sky alone. That keeps the support, whatever is estimated, and what bounds leave out: a
//! density is 0 only where there is no light.

use super::cells::{Cell, LEVELS, width};
use super::table::ShiftedTree;
use super::tree::{Digits, Node, choose_part};
use crate::light::{Environment, Light, LightSample, SkyPyramid};
use crate::math::direction_box::{LANES, Lanes};
use crate::math::{Vec2, Vec3, vec2};
use crate::sampling::ONE_MINUS_EPSILON;
use std::f32::consts::FRAC_1_PI;

/// The part of directions that the sky draws.
const BY_MAP: f32 = 0.05;

/// A sky with its pyramid.
#[derive(Clone, Copy, Debug)]
pub struct ProductSky<'a> {
    /// The sky.
    pub environment: &'a Environment,
    /// What [`Environment::pyramid`] made of it.
    pub pyramid: &'a SkyPyramid,
}

/// A density of directions: that of a tree times the radiance of a sky, about.
#[derive(Clone, Copy, Debug)]
pub struct Product<'a> {
    tree: ShiftedTree<'a>,
    sky: ProductSky<'a>,
    /// Those of the frame that the tree is in, in the world and in the image.
    axes: [Vec3; 3],
    in_image: [Vec3; 3],
}

/// Parts of a cell, weighed.
struct Weighed {
    weights: Lanes,
    /// Means of the sky, as of [`SkyPyramid::look`].
    sky: Lanes,
}

impl<'a> Product<'a> {
    /// Of a tree in a frame of these axes in the world, which are those of an orthonormal one.
    pub fn new(tree: ShiftedTree<'a>, sky: ProductSky<'a>, axes: [Vec3; 3]) -> Product<'a> {
        Product { tree, sky, axes, in_image: sky.pyramid.directions(axes) }
    }

    /// Draws light by numbers in [0, 1); `None` if nothing is scattered.
    pub fn draw(&self, u: Vec2) -> Option<LightSample> {
        let tree = self.tree.tree;
        if tree.cuts().is_empty() {
            return None;
        }
        if u.x < BY_MAP {
            let u = vec2((u.x / BY_MAP).min(ONE_MINUS_EPSILON), u.y);
            let sample = self.sky.environment.sample_li(Vec3::ZERO, u)?;
            let wi = Vec3::from_array(self.axes.map(|axis| axis.dot(sample.wi)));
            return Some(LightSample { pdf: self.pdf(wi / wi.length()), ..sample });
        }
        let mut rest = vec2(((u.x - BY_MAP) / (1.0 - BY_MAP)).min(ONE_MINUS_EPSILON), u.y);
        let (cell, mass) = self.descend(|weights, level| choose_part(weights, level, &mut rest))?;
        let wi = self.tree.shifted(cell.direction(tree.sides(), rest));
        let pdf = self.mixed(wi, tree.mean(mass, cell.level()));
        let wi = self.to_world(wi);
        Some(LightSample { wi, target: None, radiance: self.sky.environment.radiance(wi), pdf, delta: false })
    }

    /// Density of a unit direction of the frame per steradian.
    pub fn pdf(&self, wi: Vec3) -> f32 {
        let tree = self.tree.tree;
        if tree.cuts().is_empty() {
            return 0.0;
        }
        if !tree.sides().covers(wi.z) {
            return self.mixed(wi, 0.0);
        }
        let mut digits = Digits::of(self.tree.shifted_back(wi), tree.sides());
        let found = self.descend(|weights, level| Some(digits.part(level)).filter(|&part| weights[part] > 0.0));
        self.mixed(wi, found.map_or(0.0, |(cell, mass)| tree.mean(mass, cell.level())))
    }

    fn to_world(self, wi: Vec3) -> Vec3 {
        self.axes[0] * wi.x + self.axes[1] * wi.y + self.axes[2] * wi.z
    }

    /// Both ways together, from what the way by the tree has by area of the disk.
    fn mixed(&self, wi: Vec3, per_area: f32) -> f32 {
        let by_map = self.sky.environment.pdf_li(self.to_world(wi));
        BY_MAP * by_map + (1.0 - BY_MAP) * per_area * wi.z.abs() * FRAC_1_PI
    }

    /// The cell to which choices of parts lead, by their weights and the level of what they are parts of, and its probability.
    #[inline]
    fn descend(&self, mut choose: impl FnMut(&Lanes, u32) -> Option<usize>) -> Option<(Cell, f32)> {
        let cuts = self.tree.tree.cuts();
        let (mut cell, mut probability) = (Cell::DOMAIN, 1.0);
        let mut node = cuts.first();
        loop {
            let Weighed { weights, sky } = self.weigh(&cell, node);
            let lane = choose(&weights, cell.level())?;
            probability *= weights[lane] / total(&weights);
            cell = cell.child(lane);
            node = match node.map_or(0, |node| node.child[lane]) {
                0 => None,
                child => Some(&cuts[child as usize]),
            };
            let is_plain = node.is_none() && sky[lane].is_sign_negative();
            if is_plain || cell.level() == LEVELS {
                return Some((cell, probability));
            }
        }
    }

    /// Weighs the parts of a cell, in which the BRDF is constant where it is no node of the tree.
    #[inline]
    fn weigh(&self, cell: &Cell, node: Option<&Node>) -> Weighed {
        let (shift, axes) = (self.tree.shift, &self.in_image);
        let sides = self.tree.tree.sides();
        // A part has the solid angle A/cos θ, where A is its share of the area of all disks, π each: of the sphere there are 4 cos θ / A.
        let most = 4.0 / (cell.child(0).area() * width(sides));
        let middles = cell.middles(sides);
        let (mut towards, mut counts) = ([[0.0; LANES]; 3], [0.0; LANES]);
        for lane in 0..LANES {
            let [x, y, z] = [0, 1, 2].map(|k| middles[k][lane]);
            // As `ShiftedTree::shifted`, without branches.
            let moved = (x - shift.x, y - shift.y);
            let height2 = 1.0 - (moved.0 * moved.0 + moved.1 * moved.1);
            let is_inside = height2 > 0.0;
            let (x, y) = (if is_inside { moved.0 } else { -x }, if is_inside { moved.1 } else { -y });
            let height = if is_inside { height2 } else { z * z }.sqrt();
            counts[lane] = most * height;
            let z = height.copysign(z);
            for k in 0..3 {
                towards[k][lane] = axes[0][k] * x + axes[1][k] * y + axes[2][k] * z;
            }
        }
        let sky = self.sky.pyramid.look(&towards, &counts);
        let masses = node.map_or([1.0; LANES], |node| node.mass);
        let weights = std::array::from_fn(|lane| masses[lane] * sky[lane].abs());
        // Where no light is known of, directions are the BRDF's.
        Weighed { weights: if total(&weights) > 0.0 { weights } else { masses }, sky }
    }
}

/// The sum of all weights.
#[inline]
fn total([a, b, c, d, e, f, g, h]: &Lanes) -> f32 {
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Subject, any_wo, from_angles, number};
    use super::super::{DirectionTree, TreeTable};
    use super::*;
    use crate::light::square_to_sphere;
    use crate::math::direction_box::testing::unit;
    use crate::math::{Frame, Transform, vec3};
    use crate::sampling::chi_square::chi_square_sphere;
    use crate::sampling::luminance;
    use glam::{DAffine3, DQuat, dvec3};
    use lightbound_shader::Sides;
    use lightbound_shader::ir::random::Random;

    /// An image by columns and rows, as it is seen through a map.
    fn sky(size: usize, map: DAffine3, texel: impl Fn(usize, usize) -> Vec3) -> (Environment, SkyPyramid) {
        let texels: Vec<Vec3> = (0..size * size).map(|i| texel(i % size, i / size)).collect();
        let environment = Environment::image(&texels, size, &Transform::new(map).unwrap(), 2.0).unwrap();
        let pyramid = environment.pyramid().expect("it shines");
        (environment, pyramid)
    }

    fn skewed() -> DAffine3 {
        DAffine3::from_quat(DQuat::from_rotation_y(0.8)) * DAffine3::from_scale(dvec3(-2.0, 1.0, 0.6))
    }

    /// Maps that are hard, each in its way.
    fn skies() -> Vec<(&'static str, (Environment, SkyPyramid))> {
        let turned = DAffine3::from_quat(DQuat::from_rotation_x(1.0));
        let varied = |x: usize, y: usize| vec3((1 + x % 3) as f32, (y % 4) as f32, 1.0) * if x == y { 20.0 } else { 1.0 };
        vec![
            ("constant", sky(8, turned, |_, _| Vec3::splat(3.0))),
            ("one bright texel", sky(64, turned, |x, y| Vec3::splat(if (x, y) == (40, 33) { 5e3 } else { 0.5 }))),
            ("one texel alone", sky(32, turned, |x, y| Vec3::splat(if (x, y) == (17, 14) { 1.0 } else { 0.0 }))),
            ("black parts", sky(21, turned, |x, y| if x < 9 && y > 5 { varied(x, y) } else { Vec3::ZERO })),
            ("stretched", sky(16, skewed(), varied)),
        ]
    }

    fn product<'a>(tree: ShiftedTree<'a>, (environment, pyramid): &'a (Environment, SkyPyramid), frame: &Frame) -> Product<'a> {
        Product::new(tree, ProductSky { environment, pyramid }, [frame.t, frame.b, frame.n])
    }

    /// χ² of draws from products of some shaders with all skies, so many of each.
    fn assert_draws_follow(subjects: &[Subject], draws: usize) {
        let random = &mut Random::new(1);
        let skies = skies();
        for subject in subjects {
            let (members, table) = (subject.defaults(), subject.table());
            for (k, (name, sky)) in skies.iter().enumerate() {
                let frame = Frame::from_normal(unit(random));
                let wo = from_angles([(10.0, 30.0), (50.0, 200.0), (80.0, 100.0)][k % 3]);
                let grown = subject.tree(wo, &members);
                let tabled = table.tree(wo, |middle, tree| subject.grow(middle, &members, tree));
                let tree = if k % 2 == 0 { grown.unshifted() } else { tabled };
                let product = product(tree, sky, &frame);
                let draw = |u: [f32; 3]| {
                    let sample = product.draw(vec2(u[0], u[1]))?;
                    assert!(sample.pdf > 0.0);
                    Some(frame.local_direction(sample.wi))
                };
                let name = format!("{} {name} {wo}", subject.name());
                chi_square_sphere(&name, draws, draw, |wi| product.pdf(wi), subjects.len() * skies.len());
            }
        }
    }

    #[test]
    fn directions_follow_the_density() {
        let few = ["phong.wgsl", "oren_nayar.wgsl", "dielectric.wgsl"];
        let subjects: Vec<_> = Subject::library().into_iter().filter(|subject| few.contains(&subject.name())).collect();
        assert_draws_follow(&subjects, 30_000);
    }

    #[test]
    #[ignore = "minutes; cargo test --release -p lightbound --lib product -- --ignored"]
    fn directions_of_all_shaders_follow_the_density() {
        assert_draws_follow(&Subject::library(), 1_000_000);
    }

    #[test]
    fn what_is_drawn_has_the_density_of_its_direction() {
        let random = &mut Random::new(2);
        let skies = skies();
        for subject in Subject::library() {
            let (_, sky) = &skies[random.below(skies.len())];
            let (wo, frame) = (any_wo(random, subject.bound.program.sides), Frame::from_normal(unit(random)));
            let members = subject.defaults();
            let table = subject.table();
            let tree = table.tree(wo, |middle, tree| subject.grow(middle, &members, tree));
            let product = product(tree, sky, &frame);
            let differs = |_: &u32| {
                let sample = product.draw(number(random)).expect("something is scattered");
                let radiance = sky.0.radiance(sample.wi);
                assert_eq!(sample.radiance, radiance);
                (product.pdf(frame.local_direction(sample.wi)) / sample.pdf - 1.0).abs() > 1e-4
            };
            // Those at edges of cells, or of texels.
            let different = (0..1000).filter(differs).count();
            assert!(different < 10, "{}: {different}", subject.name());
        }
    }

    #[test]
    fn what_is_lit_and_scattered_can_be_drawn() {
        let random = &mut Random::new(3);
        let skies = skies();
        let mut lit = 0;
        for (round, subject) in Subject::library().iter().enumerate() {
            let (_, sky) = &skies[round % skies.len()];
            for seed in 0..10 {
                let (wo, frame) = (any_wo(random, subject.bound.program.sides), Frame::from_normal(unit(random)));
                let members = subject.any(seed);
                let tree = subject.tree(wo, &members);
                let product = product(tree.unshifted(), sky, &frame);
                let bright = |k: u32| match k % 2 {
                    0 => unit(random),
                    _ => sky.0.sample_li(Vec3::ZERO, number(random)).expect("it shines").wi,
                };
                let directions: Vec<Vec3> = (0..100).map(bright).map(|wi| frame.local_direction(wi)).collect();
                let s = subject.s(&directions, wo, &members);
                for (wi, s) in directions.into_iter().zip(s) {
                    let is_lit = s > 0.0 && sky.0.radiance(frame.to_world(wi)) != Vec3::ZERO;
                    assert!(!is_lit || product.pdf(wi) > 0.0, "{} {members:x?} {wo}: {wi}", subject.name());
                    lit += u32::from(is_lit);
                }
            }
        }
        assert!(lit > 1000, "{lit}");
    }

    #[test]
    fn variance_is_small() {
        // Of a sun of some texels in a varied sky, over a lobe beside it.
        let random = &mut Random::new(4);
        let sun = square_to_sphere(vec2(0.6, 0.55));
        let sky = sky(64, DAffine3::IDENTITY, |x, y| {
            let d = square_to_sphere(vec2(x as f32 + 0.5, y as f32 + 0.5) / 64.0);
            Vec3::splat(if d.dot(sun) > 0.99 { 60.0 } else { 0.3 + (2.0 * d.x + d.z).powi(2) })
        });
        let library = Subject::library();
        let subject = library.iter().find(|subject| subject.name() == "phong.wgsl").expect("it is there");
        let (members, frame) = (subject.defaults(), Frame::from_normal(vec3(0.6, 0.0, 0.8)));
        let wo = from_angles((40.0, 100.0));
        let tree = subject.tree(wo, &members);
        let product = product(tree.unshifted(), &sky, &frame);
        let mut variance = |draw: &mut dyn FnMut(Vec2) -> (Vec3, f32)| {
            let drawn: Vec<_> = (0..4000).map(|_| draw(number(random))).collect();
            let s = subject.s(&drawn.iter().map(|(wi, _)| *wi).collect::<Vec<_>>(), wo, &members);
            let value =
                |((wi, pdf), s): (&(Vec3, f32), f32)| f64::from(s * luminance(sky.0.radiance(frame.to_world(*wi))) / pdf);
            let (sum, squares) = drawn.iter().zip(s).map(value).fold((0.0, 0.0), |(a, b), w| (a + w, b + w * w));
            (sum / 4000.0, 4000.0 * squares / (sum * sum) - 1.0)
        };
        let (mean, of_tree) = variance(&mut |u| tree.draw(u).expect("there is mass"));
        let (other, of_product) = variance(&mut |u| {
            let sample = product.draw(u).expect("there is mass");
            (frame.local_direction(sample.wi), sample.pdf)
        });
        assert!((mean / other - 1.0).abs() < 0.15, "{mean}, {other}");
        assert!(of_product < 0.25 && of_product < 0.1 * of_tree, "{of_product}, {of_tree}");
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        let mut void = DirectionTree::cosine(Sides::One);
        void.set(Sides::One, std::iter::empty());
        let (_, sky) = &skies()[0];
        let product = product(void.unshifted(), sky, &Frame::from_normal(Vec3::Z));
        assert!(product.draw(vec2(0.5, 0.5)).is_none() && product.draw(vec2(0.01, 0.5)).is_none());
        assert_eq!(product.pdf(Vec3::Z), 0.0);
    }

    #[test]
    fn both_sides_are_lit() {
        let random = &mut Random::new(5);
        let tree = DirectionTree::cosine(Sides::Both);
        let table = TreeTable::new(Sides::Both, 1, 1, 1 << 30).expect("there is room");
        let shifted = table.tree(vec3(0.48, 0.6, -0.64), |_, of| *of = tree.clone());
        let sky = sky(16, skewed(), |x, y| Vec3::splat(if x < 8 { 1.0 } else { 0.1 * y as f32 }));
        let product = product(shifted, &sky, &Frame::from_normal(unit(random)));
        let draw = |u: [f32; 3]| product.draw(vec2(u[0], u[1])).map(|sample| sample.wi);
        let in_world = |wi: Vec3| product.pdf(Vec3::from_array(product.axes.map(|axis| axis.dot(wi))).normalize());
        chi_square_sphere("both sides", 50_000, draw, in_world, 1);
    }
}
