//! Product sampling: directions by BRDF · cos θ · L, from a tree of directions and the image of a
//! sky.
//!
//! As in Clarberg & Akenine-Möller 2008 (*Practical Product Importance Sampling for Direct
//! Illumination*), the tree of the BRDF is descended from the domain, each part weighed by its mass
//! times the mean of the sky over its directions, which a [pyramid](SkyPyramid) has; below the
//! leaves of the tree, cells are cut further, until the sky is nearly constant in them. Nothing is
//! kept of a point: the weights of parts are found on the way, anew for each direction. What is
//! drawn at a cell is drawn by the weights of its parts alone, so the density of any direction is
//! found on the same way, and exact, however poor estimates are.
//!
//! They are poor where a narrow lobe is in a wide cell whose sky varies; to weigh the 128 cells
//! with most of the mass at once, and wide ones by sums of these, leaves about 0.6 of the variance,
//! for three times the time.
//!
//! Suns are too bright for means over cells that do not end where they do. So the sky is cut at
//! some times its mean ([`CUT`]) for all that, and what is above, its *peaks*, is drawn by itself,
//! exactly texel by texel, as often as the tree's density towards it tells. A trace of all the sky
//! is among the peaks. That keeps the support, whatever is estimated: a density is 0 only where
//! there is no light.

use super::cells::{Cell, LEVELS, width};
use super::table::ShiftedTree;
use super::tree::{Digits, Node, choose_part};
use crate::light::{Environment, Light, LightSample, SkyPyramid, weight};
use crate::math::direction_box::{LANES, Lanes};
use crate::math::{Vec2, Vec3, vec2};
use crate::sampling::ONE_MINUS_EPSILON;
use std::f32::consts::FRAC_1_PI;

/// Radiance of more than so many times the mean is among the peaks.
const CUT: f32 = 4.0;

/// How much of all the sky is drawn with the peaks.
const TRACE: f32 = 0.05;

/// The least part of directions that either of the two ways draws: by the tree, and of the peaks.
const LEAST: f32 = 0.05;

/// Directions by which the tree's density towards the peaks is estimated, along each of two axes.
const PROBES: usize = 2;

/// A sky, ready for products.
#[derive(Clone, Debug)]
pub struct ProductSky {
    /// The sky, cut.
    smooth: SkyPyramid,
    /// What was cut off, and a trace of the rest.
    peaks: Environment,
    /// Directions to the peaks, in the world.
    probes: [Vec3; PROBES * PROBES],
    /// Irradiance from the peaks, all from ahead, as a part of the radiance at which the sky is
    /// cut.
    power: f32,
}

impl ProductSky {
    /// Of a sky that is an image, if there is any light.
    pub fn new(sky: &Environment) -> Option<ProductSky> {
        let most = CUT * weight(sky.mean());
        let smooth = sky.pyramid(most)?;
        let above = |radiance: Vec3| {
            let all = weight(radiance);
            // What is black stays so.
            radiance * (TRACE + (1.0 - most / all.max(most)))
        };
        let peaks = sky.map(above).ok()?;
        let (mut probes, mut power) = ([Vec3::Z; PROBES * PROBES], 0.0);
        for (k, probe) in probes.iter_mut().enumerate() {
            let place = |k: usize| (k as f32 + 0.5) / PROBES as f32;
            let sample = peaks.sample_li(Vec3::ZERO, vec2(place(k % PROBES), place(k / PROBES)))?;
            *probe = sample.wi;
            power += weight(sample.radiance) / sample.pdf / (PROBES * PROBES) as f32;
        }
        Some(ProductSky { smooth, peaks, probes, power: power / most })
    }
}

/// A density of directions: that of a tree times the radiance of a sky, about.
#[derive(Clone, Debug)]
pub struct Product<'a> {
    tree: ShiftedTree<'a>,
    environment: &'a Environment,
    sky: &'a ProductSky,
    /// Those of the frame that the tree is in, in the world and in the image.
    axes: [Vec3; 3],
    in_image: [Vec3; 3],
    /// The parts of the domain.
    first: Weighed,
    /// How often peaks are drawn.
    by_peaks: f32,
}

/// Parts of a cell, weighed.
#[derive(Clone, Copy, Debug)]
struct Weighed {
    weights: Lanes,
    /// Means of the sky, as of [`SkyPyramid::look`].
    sky: Lanes,
}

impl<'a> Product<'a> {
    /// Of a tree in a frame of these axes in the world, which are those of an orthonormal one, and
    /// of an environment with what was made of it.
    pub fn new(
        tree: ShiftedTree<'a>,
        environment: &'a Environment,
        sky: &'a ProductSky,
        axes: [Vec3; 3],
    ) -> Product<'a> {
        let first = Weighed { weights: [0.0; LANES], sky: [0.0; LANES] };
        let in_image = sky.smooth.directions(axes);
        let mut product = Product { tree, environment, sky, axes, in_image, first, by_peaks: 1.0 };
        if let Some(node) = tree.tree.cuts().first() {
            product.first = product.weigh(&Cell::DOMAIN, Some(node));
            let smooth =
                (0..LANES).map(|lane| node.mass[lane] * product.first.sky[lane].abs()).sum::<f32>();
            let towards = |&probe: &Vec3| {
                let wi = product.to_local(probe);
                let is_seen = tree.tree.sides().covers(wi.z);
                if is_seen {
                    tree.tree.per_area(tree.unshifted(wi)) * wi.z.abs() * FRAC_1_PI
                } else {
                    0.0
                }
            };
            let peaks =
                sky.power * sky.probes.iter().map(towards).sum::<f32>() / sky.probes.len() as f32;
            // Numbers that are too great or too small to tell are no numbers here.
            let by_peaks = peaks / (peaks + smooth);
            product.by_peaks =
                if by_peaks >= 0.0 { by_peaks.clamp(LEAST, 1.0 - LEAST) } else { 0.5 };
        }
        product
    }

    /// Draws light by numbers in [0, 1); `None` if nothing is scattered.
    pub fn draw(&self, u: Vec2) -> Option<LightSample> {
        let tree = self.tree.tree;
        if tree.cuts().is_empty() {
            return None;
        }
        if u.x < self.by_peaks {
            let u = vec2((u.x / self.by_peaks).min(ONE_MINUS_EPSILON), u.y);
            let sample = self.sky.peaks.sample_li(Vec3::ZERO, u)?;
            let wi = self.to_local(sample.wi);
            // At the edge of a bright texel, another look-up might find the dark one beside it.
            let pdf = self.mixed(wi, sample.pdf, self.by_tree(wi));
            return Some(LightSample {
                radiance: self.environment.radiance(sample.wi),
                pdf,
                ..sample
            });
        }
        let mut rest =
            vec2(((u.x - self.by_peaks) / (1.0 - self.by_peaks)).min(ONE_MINUS_EPSILON), u.y);
        let (cell, mass) = self.descend(|weights, level| choose_part(weights, level, &mut rest))?;
        let wi = self.tree.shifted(cell.direction(tree.sides(), rest));
        let in_world = self.to_world(wi);
        let pdf = self.mixed(wi, self.sky.peaks.pdf_li(in_world), tree.mean(mass, cell.level()));
        let radiance = self.environment.radiance(in_world);
        Some(LightSample { wi: in_world, target: None, radiance, pdf, delta: false })
    }

    /// Density of a unit direction of the frame per steradian.
    pub fn pdf(&self, wi: Vec3) -> f32 {
        if self.tree.tree.cuts().is_empty() {
            return 0.0;
        }
        self.mixed(wi, self.sky.peaks.pdf_li(self.to_world(wi)), self.by_tree(wi))
    }

    /// What the tree draws, by area of the disk.
    fn by_tree(&self, wi: Vec3) -> f32 {
        let tree = self.tree.tree;
        if !tree.sides().covers(wi.z) {
            return 0.0;
        }
        let mut digits = Digits::of(self.tree.unshifted(wi), tree.sides());
        let found = self
            .descend(|weights, level| Some(digits.part(level)).filter(|&part| weights[part] > 0.0));
        found.map_or(0.0, |(cell, mass)| tree.mean(mass, cell.level()))
    }

    fn to_local(&self, wi: Vec3) -> Vec3 {
        let local = Vec3::from_array(self.axes.map(|axis| axis.dot(wi)));
        local / local.length()
    }

    fn to_world(&self, wi: Vec3) -> Vec3 {
        self.axes[0] * wi.x + self.axes[1] * wi.y + self.axes[2] * wi.z
    }

    /// Both ways together: the density of peaks, and what the tree draws by area of the disk.
    fn mixed(&self, wi: Vec3, of_peaks: f32, per_area: f32) -> f32 {
        self.by_peaks * of_peaks + (1.0 - self.by_peaks) * per_area * wi.z.abs() * FRAC_1_PI
    }

    /// The cell to which choices of parts lead, by their weights and the level of what they are
    /// parts of, and its probability.
    #[inline]
    fn descend(&self, mut choose: impl FnMut(&Lanes, u32) -> Option<usize>) -> Option<(Cell, f32)> {
        let cuts = self.tree.tree.cuts();
        let (mut cell, mut probability) = (Cell::DOMAIN, 1.0);
        let mut node = cuts.first();
        let mut weighed = self.first;
        loop {
            let Weighed { weights, sky } = weighed;
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
            weighed = self.weigh(&cell, node);
        }
    }

    /// Weighs the parts of a cell, in which the BRDF is constant where it is no node of the tree.
    #[inline]
    fn weigh(&self, cell: &Cell, node: Option<&Node>) -> Weighed {
        let (shift, axes) = (self.tree.shift, &self.in_image);
        let sides = self.tree.tree.sides();
        // A part has the solid angle A/cos θ, where A is its share of the area of all disks, π
        // each: of the sphere there are 4 cos θ / A.
        let most = 4.0 / (cell.child(0).area() * width(sides));
        let middles = cell.middles(sides);
        let (mut towards, mut counts) = ([[0.0; LANES]; 3], [0.0; LANES]);
        for lane in 0..LANES {
            let [x, y, z] = [0, 1, 2].map(|k| middles[k][lane]);
            // As `ShiftedTree::shifted`, without branches.
            let moved = (x - shift.x, y - shift.y);
            let height2 = 1.0 - (moved.0 * moved.0 + moved.1 * moved.1);
            let is_inside = height2 > 0.0;
            let (x, y) =
                (if is_inside { moved.0 } else { -x }, if is_inside { moved.1 } else { -y });
            let height = if is_inside { height2 } else { z * z }.sqrt();
            counts[lane] = most * height;
            let z = height.copysign(z);
            for k in 0..3 {
                towards[k][lane] = axes[0][k] * x + axes[1][k] * y + axes[2][k] * z;
            }
        }
        let sky = self.sky.smooth.look(&towards, &counts);
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
    use super::super::{Budget, DirectionTree, TreeTable};
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
    fn sky(
        size: usize,
        map: DAffine3,
        texel: impl Fn(usize, usize) -> Vec3,
    ) -> (Environment, ProductSky) {
        let texels: Vec<Vec3> = (0..size * size).map(|i| texel(i % size, i / size)).collect();
        let environment =
            Environment::image(&texels, size, &Transform::new(map).unwrap(), 2.0).unwrap();
        let sky = ProductSky::new(&environment).expect("it shines");
        (environment, sky)
    }

    fn skewed() -> DAffine3 {
        DAffine3::from_quat(DQuat::from_rotation_y(0.8))
            * DAffine3::from_scale(dvec3(-2.0, 1.0, 0.6))
    }

    /// Maps that are hard, each in its way.
    fn skies() -> Vec<(&'static str, (Environment, ProductSky))> {
        let turned = DAffine3::from_quat(DQuat::from_rotation_x(1.0));
        let varied = |x: usize, y: usize| {
            vec3((1 + x % 3) as f32, (y % 4) as f32, 1.0) * if x == y { 20.0 } else { 1.0 }
        };
        vec![
            ("constant", sky(8, turned, |_, _| Vec3::splat(3.0))),
            (
                "one bright texel",
                sky(64, turned, |x, y| Vec3::splat(if (x, y) == (40, 33) { 5e3 } else { 0.5 })),
            ),
            (
                "one texel alone",
                sky(32, turned, |x, y| Vec3::splat(if (x, y) == (17, 14) { 1.0 } else { 0.0 })),
            ),
            (
                "black parts",
                sky(21, turned, |x, y| if x < 9 && y > 5 { varied(x, y) } else { Vec3::ZERO }),
            ),
            ("stretched", sky(16, skewed(), varied)),
        ]
    }

    fn product<'a>(
        tree: ShiftedTree<'a>,
        (environment, sky): &'a (Environment, ProductSky),
        frame: &Frame,
    ) -> Product<'a> {
        Product::new(tree, environment, sky, [frame.t, frame.b, frame.n])
    }

    /// χ² of draws from products of a few cells with all skies.
    #[test]
    fn directions_follow_the_density() {
        let random = &mut Random::new(1);
        let (skies, library) = (skies(), Subject::library());
        for (name, alpha) in
            [("phong.wgsl", 8.0), ("dielectric.wgsl", 0.8), ("oren_nayar.wgsl", 1.0)]
        {
            let subject =
                library.iter().find(|subject| subject.name() == name).expect("it is there");
            let members = subject.members(|p, k| match &*p.name {
                "exponent" | "alpha_x" | "alpha_y" => alpha,
                _ => p.default.as_ref().expect("the library has defaults")[k],
            });
            let table = subject.table();
            for (k, (name, sky)) in skies.iter().enumerate() {
                let frame = Frame::from_normal(unit(random));
                let wo = from_angles([(10.0, 30.0), (50.0, 200.0), (80.0, 100.0)][k % 3]);
                let tree = table.tree(wo, |middle, tree| {
                    subject.grow_within(&Budget { cuts: 6, open: 0.0 }, middle, &members, tree)
                });
                let product = product(tree, sky, &frame);
                let draw = |u: [f32; 3]| {
                    let sample = product.draw(vec2(u[0], u[1]))?;
                    assert!(sample.pdf > 0.0);
                    Some(frame.local_direction(sample.wi))
                };
                let name = format!("{} {name} {wo}", subject.name());
                chi_square_sphere(&name, 30_000, draw, |wi| product.pdf(wi), 3 * skies.len());
            }
        }
    }

    /// The integral of a density over parts of the world's directions, by the eight signs, each
    /// with its squared error, for draws that follow half the tree and half the sky; and how many
    /// of as many draws of the product are there.
    fn shares(
        product: &Product,
        frame: &Frame,
        draws: usize,
        random: &mut Random,
    ) -> [[f64; 3]; 8] {
        let mut shares = [[0.0; 3]; 8];
        let part =
            |wi: Vec3| wi.to_array().iter().fold(0, |part, x| 2 * part + usize::from(*x < 0.0));
        for k in 0..draws {
            let wi = if k % 2 == 0 {
                frame.to_world(product.tree.draw(number(random)).expect("there is mass").0)
            } else {
                product.environment.sample_li(Vec3::ZERO, number(random)).expect("it shines").wi
            };
            let local = frame.local_direction(wi);
            let density = 0.5 * (product.tree.pdf(local) + product.environment.pdf_li(wi));
            // One that is turned below the horizon and back has no density.
            let weight = if density > 0.0 { f64::from(product.pdf(local) / density) } else { 0.0 };
            let [sum, squares, _] = &mut shares[part(wi)];
            (*sum, *squares) = (*sum + weight, *squares + weight * weight);
            let drawn = product.draw(number(random)).expect("something is scattered");
            shares[part(drawn.wi)][2] += 1.0;
        }
        shares
    }

    /// For all shaders and skies, so many draws of each.
    fn assert_shares_are_those_of_the_density(draws: usize) {
        let random = &mut Random::new(6);
        let skies = skies();
        for subject in Subject::library() {
            let (members, table) = (subject.defaults(), subject.table());
            for (k, (name, sky)) in skies.iter().enumerate() {
                let frame = Frame::from_normal(unit(random));
                let wo = any_wo(random, subject.bound.program.sides);
                let grown = subject.tree(wo, &members);
                let tabled = table.tree(wo, |middle, tree| subject.grow(middle, &members, tree));
                let tree = if k % 2 == 0 { grown.centred() } else { tabled };
                let product = product(tree, sky, &frame);
                let n = draws as f64;
                let mut whole = 0.0;
                for [sum, squares, count] in shares(&product, &frame, draws, random) {
                    let share = sum / n;
                    let deviation = ((squares / n - share * share).max(0.0) / n
                        + count / n * (1.0 - count / n) / n)
                        .sqrt();
                    let what = format!("{}, {name}, {wo}", subject.name());
                    assert!(
                        (share - count / n).abs() < 5.0 * deviation + 2e-3,
                        "{what}: {share}, {count} of {draws}"
                    );
                    whole += share;
                }
                assert!((whole - 1.0).abs() < 0.2, "{} {name}: {whole}", subject.name());
            }
        }
    }

    #[test]
    fn shares_of_directions_are_those_of_the_density() {
        assert_shares_are_those_of_the_density(2000);
    }

    #[test]
    #[ignore = "minutes; cargo test --release -p lightbound --lib product -- --ignored"]
    fn shares_of_many_directions_are_those_of_the_density() {
        assert_shares_are_those_of_the_density(1_000_000);
    }

    #[test]
    fn what_is_drawn_has_the_density_of_its_direction() {
        let random = &mut Random::new(2);
        let skies = skies();
        for subject in Subject::library() {
            let (_, sky) = &skies[random.below(skies.len())];
            let (wo, frame) =
                (any_wo(random, subject.bound.program.sides), Frame::from_normal(unit(random)));
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
                let (wo, frame) =
                    (any_wo(random, subject.bound.program.sides), Frame::from_normal(unit(random)));
                let members = subject.any(seed);
                let tree = subject.tree(wo, &members);
                let product = product(tree.centred(), sky, &frame);
                let bright = |k: u32| match k % 2 {
                    0 => unit(random),
                    _ => sky.0.sample_li(Vec3::ZERO, number(random)).expect("it shines").wi,
                };
                let directions: Vec<Vec3> =
                    (0..100).map(bright).map(|wi| frame.local_direction(wi)).collect();
                let s = subject.s(&directions, wo, &members);
                for (wi, s) in directions.into_iter().zip(s) {
                    let is_lit = s > 0.0 && sky.0.radiance(frame.to_world(wi)) != Vec3::ZERO;
                    assert!(
                        !is_lit || product.pdf(wi) > 0.0,
                        "{} {members:x?} {wo}: {wi}",
                        subject.name()
                    );
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
        let subject =
            library.iter().find(|subject| subject.name() == "phong.wgsl").expect("it is there");
        let (members, frame) = (subject.defaults(), Frame::from_normal(vec3(0.6, 0.0, 0.8)));
        let wo = from_angles((40.0, 100.0));
        let tree = subject.tree(wo, &members);
        let product = product(tree.centred(), &sky, &frame);
        let mut variance = |draw: &mut dyn FnMut(Vec2) -> (Vec3, f32)| {
            let drawn: Vec<_> = (0..4000).map(|_| draw(number(random))).collect();
            let s = subject.s(&drawn.iter().map(|(wi, _)| *wi).collect::<Vec<_>>(), wo, &members);
            let value = |((wi, pdf), s): (&(Vec3, f32), f32)| {
                f64::from(s * luminance(sky.0.radiance(frame.to_world(*wi))) / pdf)
            };
            let (sum, squares) =
                drawn.iter().zip(s).map(value).fold((0.0, 0.0), |(a, b), w| (a + w, b + w * w));
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
        let product = product(void.centred(), sky, &Frame::from_normal(Vec3::Z));
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
        let in_world = |wi: Vec3| {
            product.pdf(Vec3::from_array(product.axes.map(|axis| axis.dot(wi))).normalize())
        };
        chi_square_sphere("both sides", 50_000, draw, in_world, 1);
    }
}
