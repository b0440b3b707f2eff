//! Product sampling of BRDF · cos θ · L, from a direction tree and an environment map.
//!
//! As in Clarberg & Akenine-Möller 2008 (*Practical Product Importance Sampling for Direct
//! Illumination*), the tree of the BRDF is descended from the domain. Each part is weighed by its
//! mass times the mean of the environment over its directions, which a
//! [pyramid](EnvironmentPyramid) stores; below the leaves of the tree, cells are split further
//! until the environment is nearly constant in them. No data is stored per point: weights are
//! recomputed during each descent. The sampling decision in a cell depends only on the weights of
//! its parts. So the density of any direction is computed along the same path, and it is exact even
//! if estimates are poor.
//!
//! Estimates are poor if a wide cell contains a narrow lobe and a varying environment. Weighing the
//! 128 cells with the greatest mass together, and wider cells by their sums, reduces the variance to
//! about 0.6 of that, but takes three times as long.
//!
//! The sun is too bright for means over cells that are not aligned with it. So radiance is clamped
//! to a multiple of its mean ([`PEAK_THRESHOLD`]) for the weights. The remainder, the *peaks*, is
//! sampled separately and exactly, by texel, with a probability that is proportional to the tree's
//! density towards the peaks. A small fraction of the entire environment is added to the peaks. It
//! ensures the support (defensive mixture): a density is 0 only where the environment is black.

use super::cells::{DirectionCell, LEVELS, width};
use super::table::ShiftedTree;
use super::tree::{CellPath, Node, sample_child};
use crate::light::{Environment, EnvironmentPyramid, Light, LightSample, abs_luminance};
use lightbound_math::direction_box::{LANES, Lanes};
use lightbound_math::sampling::ONE_MINUS_EPSILON;
use lightbound_math::{Vec2, Vec3, vec2};
use std::f32::consts::FRAC_1_PI;

/// Radiance above this multiple of the mean belongs to the peaks.
const PEAK_THRESHOLD: f32 = 4.0;

/// Fraction of the entire environment that is added to the peaks.
const PEAK_DEFENSIVE_FRACTION: f32 = 0.05;

/// Minimum probability of either strategy, the tree or the peaks.
const MIN_STRATEGY_PROBABILITY: f32 = 0.05;

/// Number of strata along each axis of the directions to the peaks at which the tree's density is
/// estimated.
const PROBES_PER_AXIS: usize = 2;

/// Precomputed data of an environment light for product sampling.
#[derive(Clone, Debug)]
pub struct ProductEnvironment {
    /// The clamped environment.
    smooth: EnvironmentPyramid,
    /// The radiance above the clamping threshold, and a fraction of the entire environment.
    peaks: Environment,
    /// Directions to the peaks, in world space.
    probes: [Vec3; PROBES_PER_AXIS * PROBES_PER_AXIS],
    /// Irradiance from the peaks at normal incidence, divided by the clamping threshold.
    peak_irradiance: f32,
}

impl ProductEnvironment {
    /// Precomputes the data of an environment map; `None` for constant or black environments.
    pub fn new(environment: &Environment) -> Option<ProductEnvironment> {
        let threshold = PEAK_THRESHOLD * abs_luminance(environment.mean());
        let smooth = environment.pyramid(threshold)?;
        let peak = |radiance: Vec3| {
            let luminance = abs_luminance(radiance);
            // The maximum keeps black texels black.
            let excess = 1.0 - threshold / luminance.max(threshold);
            radiance * (PEAK_DEFENSIVE_FRACTION + excess)
        };
        let peaks = environment.map(peak).ok()?;
        const PROBES: usize = PROBES_PER_AXIS * PROBES_PER_AXIS;
        let (mut probes, mut irradiance) = ([Vec3::Z; PROBES], 0.0);
        for (k, probe) in probes.iter_mut().enumerate() {
            let stratum = |k: usize| (k as f32 + 0.5) / PROBES_PER_AXIS as f32;
            let u = vec2(stratum(k % PROBES_PER_AXIS), stratum(k / PROBES_PER_AXIS));
            let sample = peaks.sample_li(Vec3::ZERO, u)?;
            *probe = sample.wi;
            irradiance += abs_luminance(sample.radiance) / sample.pdf / PROBES as f32;
        }
        Some(ProductEnvironment { smooth, peaks, probes, peak_irradiance: irradiance / threshold })
    }
}

/// A density of directions, approximately the product of a tree's density and the radiance of an
/// environment.
#[derive(Clone, Debug)]
pub struct Product<'a> {
    tree: ShiftedTree<'a>,
    environment: &'a Environment,
    prepared: &'a ProductEnvironment,
    /// Axes of the tree's frame, in world space and in the space of the image.
    axes: [Vec3; 3],
    image_axes: [Vec3; 3],
    /// The parts of the domain.
    root: WeightedParts,
    /// Probability of sampling the peaks.
    peak_probability: f32,
}

/// The weighted parts of a cell.
#[derive(Clone, Copy, Debug)]
struct WeightedParts {
    weights: Lanes,
    /// Means of the environment, as [`EnvironmentPyramid::lookup`] returns them.
    radiance: Lanes,
}

impl<'a> Product<'a> {
    /// Creates the product of a tree and an environment. `axes` is the orthonormal frame of the
    /// tree in world space.
    pub fn new(
        tree: ShiftedTree<'a>,
        environment: &'a Environment,
        prepared: &'a ProductEnvironment,
        axes: [Vec3; 3],
    ) -> Product<'a> {
        let root = WeightedParts { weights: [0.0; LANES], radiance: [0.0; LANES] };
        let image_axes = prepared.smooth.directions(axes);
        let mut product =
            Product { tree, environment, prepared, axes, image_axes, root, peak_probability: 1.0 };
        if let Some(node) = tree.tree.nodes().first() {
            product.root = product.weigh(&DirectionCell::DOMAIN, Some(node));
            let radiance = &product.root.radiance;
            let smooth = (0..LANES).map(|lane| node.mass[lane] * radiance[lane].abs()).sum::<f32>();
            let density = |&probe: &Vec3| {
                let wi = product.to_local(probe);
                let is_scattered = tree.tree.sides().covers(wi.z);
                if is_scattered {
                    tree.tree.disk_pdf(tree.unshifted(wi)) * wi.z.abs() * FRAC_1_PI
                } else {
                    0.0
                }
            };
            let peaks = prepared.peak_irradiance * prepared.probes.iter().map(density).sum::<f32>()
                / prepared.probes.len() as f32;
            // NaN by overflow or underflow is replaced by equal probabilities.
            let probability = peaks / (peaks + smooth);
            product.peak_probability = if probability >= 0.0 {
                probability.clamp(MIN_STRATEGY_PROBABILITY, 1.0 - MIN_STRATEGY_PROBABILITY)
            } else {
                0.5
            };
        }
        product
    }

    /// Samples light by two random numbers in [0, 1); `None` if no light is scattered.
    pub fn sample(&self, u: Vec2) -> Option<LightSample> {
        let tree = self.tree.tree;
        if tree.is_empty() {
            return None;
        }
        if u.x < self.peak_probability {
            let u = vec2((u.x / self.peak_probability).min(ONE_MINUS_EPSILON), u.y);
            let sample = self.prepared.peaks.sample_li(Vec3::ZERO, u)?;
            let wi = self.to_local(sample.wi);
            // Use the density of the sample: at the edge of a bright texel, a lookup might return
            // that of a dark neighbour.
            let pdf = self.mixture_pdf(wi, sample.pdf, self.tree_disk_pdf(wi));
            return Some(LightSample {
                radiance: self.environment.radiance(sample.wi),
                pdf,
                ..sample
            });
        }
        let mut rest = vec2(
            ((u.x - self.peak_probability) / (1.0 - self.peak_probability)).min(ONE_MINUS_EPSILON),
            u.y,
        );
        let (cell, mass) =
            self.descend(|weights, level| sample_child(weights, level, &mut rest))?;
        let wi = self.tree.shifted(cell.direction(tree.sides(), rest));
        let in_world = self.to_world(wi);
        let peak_pdf = self.prepared.peaks.pdf_li(in_world);
        let pdf = self.mixture_pdf(wi, peak_pdf, tree.mean(mass, cell.level()));
        let radiance = self.environment.radiance(in_world);
        Some(LightSample { wi: in_world, target: None, radiance, pdf, delta: false })
    }

    /// Returns the density of a unit direction in the tree's frame, 1/sr.
    pub fn pdf(&self, wi: Vec3) -> f32 {
        if self.tree.tree.is_empty() {
            return 0.0;
        }
        let peak_pdf = self.prepared.peaks.pdf_li(self.to_world(wi));
        self.mixture_pdf(wi, peak_pdf, self.tree_disk_pdf(wi))
    }

    /// Returns the density of descending the tree, per area of the disk.
    fn tree_disk_pdf(&self, wi: Vec3) -> f32 {
        let tree = self.tree.tree;
        if !tree.sides().covers(wi.z) {
            return 0.0;
        }
        let mut path = CellPath::of(self.tree.unshifted(wi), tree.sides());
        let found = self
            .descend(|weights, level| Some(path.child(level)).filter(|&lane| weights[lane] > 0.0));
        found.map_or(0.0, |(cell, mass)| tree.mean(mass, cell.level()))
    }

    fn to_local(&self, wi: Vec3) -> Vec3 {
        let local = Vec3::from_array(self.axes.map(|axis| axis.dot(wi)));
        local / local.length()
    }

    fn to_world(&self, wi: Vec3) -> Vec3 {
        self.axes[0] * wi.x + self.axes[1] * wi.y + self.axes[2] * wi.z
    }

    /// Returns the density of both strategies together, from the density of the peaks, 1/sr, and
    /// that of the tree, per area of the disk.
    fn mixture_pdf(&self, wi: Vec3, peak_pdf: f32, disk_pdf: f32) -> f32 {
        self.peak_probability * peak_pdf
            + (1.0 - self.peak_probability) * disk_pdf * wi.z.abs() * FRAC_1_PI
    }

    /// Descends to a cell and returns it with its probability. `choose` selects a part of a cell by
    /// the weights of the parts and the cell's level.
    #[inline]
    fn descend(
        &self,
        mut choose: impl FnMut(&Lanes, u32) -> Option<usize>,
    ) -> Option<(DirectionCell, f32)> {
        let nodes = self.tree.tree.nodes();
        let (mut cell, mut probability) = (DirectionCell::DOMAIN, 1.0);
        let mut node = nodes.first();
        let mut parts = self.root;
        loop {
            let WeightedParts { weights, radiance } = parts;
            let lane = choose(&weights, cell.level())?;
            probability *= weights[lane] / total(&weights);
            cell = cell.child(lane);
            node = match node.map_or(0, |node| node.child[lane]) {
                0 => None,
                child => Some(&nodes[child as usize]),
            };
            let is_constant = node.is_none() && radiance[lane].is_sign_negative();
            if is_constant || cell.level() == LEVELS {
                return Some((cell, probability));
            }
            parts = self.weigh(&cell, node);
        }
    }

    /// Weighs the parts of a cell. Below the leaves of the tree (`None`), the BRDF is constant in
    /// the cell.
    #[inline]
    fn weigh(&self, cell: &DirectionCell, node: Option<&Node>) -> WeightedParts {
        let (shift, axes) = (self.tree.shift, &self.image_axes);
        let sides = self.tree.tree.sides();
        // A part has the solid angle A/cos θ, where A is its area in the disks, which have area π
        // each. So 4π cos θ / A parts of its size cover the sphere.
        let max_count = 4.0 / (cell.child(0).area() * width(sides));
        let centers = cell.centers(sides);
        let (mut towards, mut counts) = ([[0.0; LANES]; 3], [0.0; LANES]);
        for lane in 0..LANES {
            let [x, y, z] = [0, 1, 2].map(|k| centers[k][lane]);
            // As `ShiftedTree::shifted`, without branches.
            let moved = (x - shift.x, y - shift.y);
            let height2 = 1.0 - (moved.0 * moved.0 + moved.1 * moved.1);
            let is_inside = height2 > 0.0;
            let (x, y) =
                (if is_inside { moved.0 } else { -x }, if is_inside { moved.1 } else { -y });
            let height = if is_inside { height2 } else { z * z }.sqrt();
            counts[lane] = max_count * height;
            let z = height.copysign(z);
            for k in 0..3 {
                towards[k][lane] = axes[0][k] * x + axes[1][k] * y + axes[2][k] * z;
            }
        }
        let radiance = self.prepared.smooth.lookup(&towards, &counts);
        let masses = node.map_or([1.0; LANES], |node| node.mass);
        let weights = std::array::from_fn(|lane| masses[lane] * radiance[lane].abs());
        // If the estimate is black, directions are sampled by the BRDF.
        WeightedParts { weights: if total(&weights) > 0.0 { weights } else { masses }, radiance }
    }
}

/// Returns the sum of all weights.
#[inline]
fn total([a, b, c, d, e, f, g, h]: &Lanes) -> f32 {
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{TestShader, any_wo, from_angles, random_vec2};
    use super::super::{DirectionTree, SplitBudget, TreeTable};
    use super::*;
    use crate::light::square_to_sphere;
    use glam::{DAffine3, DQuat, dvec3};
    use lightbound_math::direction_box::testing::unit;
    use lightbound_math::sampling::luminance;
    use lightbound_math::sampling::testing::assert_sampler_matches_pdf;
    use lightbound_math::{Frame, Transform, vec3};
    use lightbound_shader::SurfaceSides;
    use lightbound_shader::random::Random;

    /// Creates an image that is given by column and row, under a transform.
    fn environment(
        size: usize,
        map: DAffine3,
        texel: impl Fn(usize, usize) -> Vec3,
    ) -> (Environment, ProductEnvironment) {
        let texels: Vec<Vec3> = (0..size * size).map(|i| texel(i % size, i / size)).collect();
        let environment =
            Environment::image(&texels, size, &Transform::new(map).unwrap(), 2.0).unwrap();
        let prepared = ProductEnvironment::new(&environment).expect("the image is not black");
        (environment, prepared)
    }

    fn skewed() -> DAffine3 {
        DAffine3::from_quat(DQuat::from_rotation_y(0.8))
            * DAffine3::from_scale(dvec3(-2.0, 1.0, 0.6))
    }

    /// Environment maps with different difficulties.
    fn environments() -> Vec<(&'static str, (Environment, ProductEnvironment))> {
        let rotation = DAffine3::from_quat(DQuat::from_rotation_x(1.0));
        let varied = |x: usize, y: usize| {
            vec3((1 + x % 3) as f32, (y % 4) as f32, 1.0) * if x == y { 20.0 } else { 1.0 }
        };
        vec![
            ("constant", environment(8, rotation, |_, _| Vec3::splat(3.0))),
            (
                "one bright texel",
                environment(64, rotation, |x, y| {
                    Vec3::splat(if (x, y) == (40, 33) { 5e3 } else { 0.5 })
                }),
            ),
            (
                "one texel that is not black",
                environment(32, rotation, |x, y| {
                    Vec3::splat(if (x, y) == (17, 14) { 1.0 } else { 0.0 })
                }),
            ),
            (
                "black parts",
                environment(
                    21,
                    rotation,
                    |x, y| if x < 9 && y > 5 { varied(x, y) } else { Vec3::ZERO },
                ),
            ),
            ("stretched", environment(16, skewed(), varied)),
        ]
    }

    fn product<'a>(
        tree: ShiftedTree<'a>,
        (environment, prepared): &'a (Environment, ProductEnvironment),
        frame: &Frame,
    ) -> Product<'a> {
        Product::new(tree, environment, prepared, [frame.t, frame.b, frame.n])
    }

    /// χ² tests of products of small trees with all environments.
    #[test]
    fn pdf_matches_sampling_frequency_for_the_library() {
        let random = &mut Random::new(1);
        let (environments, library) = (environments(), TestShader::library());
        for (name, alpha) in
            [("phong.wgsl", 8.0), ("dielectric.wgsl", 0.8), ("oren_nayar.wgsl", 1.0)]
        {
            let shader = library
                .iter()
                .find(|shader| shader.name() == name)
                .expect("the library contains it");
            let parameters = shader.parameters(|p, k| match &*p.name {
                "exponent" | "alpha_x" | "alpha_y" => alpha,
                _ => p.default.as_ref().expect("the library has defaults")[k],
            });
            let table = shader.table();
            for (k, (name, environment)) in environments.iter().enumerate() {
                let frame = Frame::from_normal(unit(random));
                let wo = from_angles([(10.0, 30.0), (50.0, 200.0), (80.0, 100.0)][k % 3]);
                let tree = table.tree(wo, |center, tree| {
                    shader.build_within(
                        &SplitBudget { splits: 6, uncertainty: 0.0 },
                        center,
                        &parameters,
                        tree,
                    )
                });
                let product = product(tree, environment, &frame);
                let draw = |u| {
                    let sample = product.sample(u)?;
                    assert!(sample.pdf > 0.0);
                    Some(frame.local_direction(sample.wi))
                };
                let name = format!("{} {name} {wo}", shader.name());
                assert_sampler_matches_pdf(&name, 30_000, draw, |wi| product.pdf(wi));
            }
        }
    }

    /// Returns, for each octant of world directions, the sums of weights and squared weights for
    /// integrating the product's density, and the number of samples of the product. Half of the
    /// directions for integration are sampled from the tree, half from the environment.
    fn octant_sums(
        product: &Product,
        frame: &Frame,
        draws: usize,
        random: &mut Random,
    ) -> [[f64; 3]; 8] {
        let mut octants = [[0.0; 3]; 8];
        let octant =
            |wi: Vec3| wi.to_array().iter().fold(0, |part, x| 2 * part + usize::from(*x < 0.0));
        for k in 0..draws {
            let wi = if k % 2 == 0 {
                frame.to_world(
                    product.tree.sample(random_vec2(random)).expect("the tree is not empty").0,
                )
            } else {
                product
                    .environment
                    .sample_li(Vec3::ZERO, random_vec2(random))
                    .expect("the environment is not black")
                    .wi
            };
            let local = frame.local_direction(wi);
            let density = 0.5 * (product.tree.pdf(local) + product.environment.pdf_li(wi));
            // Rounding at the horizon may yield density 0.
            let weight = if density > 0.0 { f64::from(product.pdf(local) / density) } else { 0.0 };
            let [sum, squares, _] = &mut octants[octant(wi)];
            (*sum, *squares) = (*sum + weight, *squares + weight * weight);
            let sample = product.sample(random_vec2(random)).expect("the product is not empty");
            octants[octant(sample.wi)][2] += 1.0;
        }
        octants
    }

    /// Checks all shaders and environments with `draws` samples each.
    fn assert_octant_frequencies_match_density(draws: usize) {
        let random = &mut Random::new(6);
        let environments = environments();
        for shader in TestShader::library() {
            let (parameters, table) = (shader.default_parameters(), shader.table());
            for (k, (name, environment)) in environments.iter().enumerate() {
                let frame = Frame::from_normal(unit(random));
                let wo = any_wo(random, shader.binding.program.sides);
                let own = shader.tree(wo, &parameters);
                let tabled = table.tree(wo, |center, tree| shader.build(center, &parameters, tree));
                let tree = if k % 2 == 0 { own.unshifted() } else { tabled };
                let product = product(tree, environment, &frame);
                let n = draws as f64;
                let mut total = 0.0;
                for [sum, squares, count] in octant_sums(&product, &frame, draws, random) {
                    let share = sum / n;
                    let deviation = ((squares / n - share * share).max(0.0) / n
                        + count / n * (1.0 - count / n) / n)
                        .sqrt();
                    let what = format!("{}, {name}, {wo}", shader.name());
                    assert!(
                        (share - count / n).abs() < 5.0 * deviation + 2e-3,
                        "{what}: {share}, {count} of {draws}"
                    );
                    total += share;
                }
                assert!(
                    (total - 1.0).abs() < 0.2,
                    "{} {name}: densities integrate to {total}",
                    shader.name()
                );
            }
        }
    }

    #[test]
    fn octant_frequencies_match_the_density() {
        assert_octant_frequencies_match_density(2000);
    }

    #[test]
    #[ignore = "minutes; cargo test --release -p lightbound --lib product -- --ignored"]
    fn octant_frequencies_of_many_samples_match_the_density() {
        assert_octant_frequencies_match_density(1_000_000);
    }

    #[test]
    fn sample_density_equals_pdf() {
        let random = &mut Random::new(2);
        let environments = environments();
        for shader in TestShader::library() {
            let (_, environment) = &environments[random.below(environments.len())];
            let (wo, frame) =
                (any_wo(random, shader.binding.program.sides), Frame::from_normal(unit(random)));
            let parameters = shader.default_parameters();
            let table = shader.table();
            let tree = table.tree(wo, |center, tree| shader.build(center, &parameters, tree));
            let product = product(tree, environment, &frame);
            let differs = |_: &u32| {
                let sample = product.sample(random_vec2(random)).expect("the product is not empty");
                let radiance = environment.0.radiance(sample.wi);
                assert_eq!(sample.radiance, radiance);
                (product.pdf(frame.local_direction(sample.wi)) / sample.pdf - 1.0).abs() > 1e-4
            };
            // Samples at edges of cells or texels.
            let different = (0..1000).filter(differs).count();
            assert!(different < 10, "{}: {different}", shader.name());
        }
    }

    #[test]
    fn lit_and_scattered_directions_have_positive_density() {
        let random = &mut Random::new(3);
        let environments = environments();
        let mut lit = 0;
        for (round, shader) in TestShader::library().iter().enumerate() {
            let (_, environment) = &environments[round % environments.len()];
            for seed in 0..10 {
                let (wo, frame) = (
                    any_wo(random, shader.binding.program.sides),
                    Frame::from_normal(unit(random)),
                );
                let parameters = shader.random_parameters(seed);
                let tree = shader.tree(wo, &parameters);
                let product = product(tree.unshifted(), environment, &frame);
                let bright = |k: u32| match k % 2 {
                    0 => unit(random),
                    _ => {
                        environment
                            .0
                            .sample_li(Vec3::ZERO, random_vec2(random))
                            .expect("the environment is not black")
                            .wi
                    }
                };
                let directions: Vec<Vec3> =
                    (0..100).map(bright).map(|wi| frame.local_direction(wi)).collect();
                let s = shader.s_luminance(&directions, wo, &parameters);
                for (wi, s) in directions.into_iter().zip(s) {
                    let is_lit =
                        s > 0.0 && environment.0.radiance(frame.to_world(wi)) != Vec3::ZERO;
                    assert!(
                        !is_lit || product.pdf(wi) > 0.0,
                        "{} {parameters:x?} {wo}: {wi}",
                        shader.name()
                    );
                    lit += u32::from(is_lit);
                }
            }
        }
        assert!(lit > 1000, "{lit}");
    }

    #[test]
    fn product_sampling_reduces_variance() {
        // A sun of several texels in a varying environment, and a lobe that is close to it.
        let random = &mut Random::new(4);
        let sun = square_to_sphere(vec2(0.6, 0.55));
        let environment = environment(64, DAffine3::IDENTITY, |x, y| {
            let d = square_to_sphere(vec2(x as f32 + 0.5, y as f32 + 0.5) / 64.0);
            Vec3::splat(if d.dot(sun) > 0.99 { 60.0 } else { 0.3 + (2.0 * d.x + d.z).powi(2) })
        });
        let library = TestShader::library();
        let shader = library
            .iter()
            .find(|shader| shader.name() == "phong.wgsl")
            .expect("the library contains it");
        let (parameters, frame) =
            (shader.default_parameters(), Frame::from_normal(vec3(0.6, 0.0, 0.8)));
        let wo = from_angles((40.0, 100.0));
        let tree = shader.tree(wo, &parameters);
        let product = product(tree.unshifted(), &environment, &frame);
        let mut variance = |draw: &mut dyn FnMut(Vec2) -> (Vec3, f32)| {
            let samples: Vec<_> = (0..4000).map(|_| draw(random_vec2(random))).collect();
            let s = shader.s_luminance(
                &samples.iter().map(|(wi, _)| *wi).collect::<Vec<_>>(),
                wo,
                &parameters,
            );
            let value = |((wi, pdf), s): (&(Vec3, f32), f32)| {
                f64::from(s * luminance(environment.0.radiance(frame.to_world(*wi))) / pdf)
            };
            let (sum, squares) =
                samples.iter().zip(s).map(value).fold((0.0, 0.0), |(a, b), w| (a + w, b + w * w));
            (sum / 4000.0, 4000.0 * squares / (sum * sum) - 1.0)
        };
        let (tree_mean, tree_variance) =
            variance(&mut |u| tree.sample(u).expect("the tree is not empty"));
        let (product_mean, product_variance) = variance(&mut |u| {
            let sample = product.sample(u).expect("the tree is not empty");
            (frame.local_direction(sample.wi), sample.pdf)
        });
        assert!(
            (tree_mean / product_mean - 1.0).abs() < 0.15,
            "{tree_mean} by the tree, {product_mean} by the product"
        );
        assert!(
            product_variance < 0.25 && product_variance < 0.1 * tree_variance,
            "{product_variance} by the product, {tree_variance} by the tree"
        );
    }

    #[test]
    fn products_of_empty_trees_have_no_samples() {
        let mut empty = DirectionTree::cosine(SurfaceSides::One);
        empty.set(SurfaceSides::One, std::iter::empty());
        let (_, environment) = &environments()[0];
        let product = product(empty.unshifted(), environment, &Frame::from_normal(Vec3::Z));
        assert!(
            product.sample(vec2(0.5, 0.5)).is_none() && product.sample(vec2(0.01, 0.5)).is_none()
        );
        assert_eq!(product.pdf(Vec3::Z), 0.0);
    }

    #[test]
    fn two_sided_products_sample_both_sides() {
        let random = &mut Random::new(5);
        let tree = DirectionTree::cosine(SurfaceSides::Both);
        let table = TreeTable::new(SurfaceSides::Both, 1, 1, 1 << 30).expect("the table fits");
        let shifted = table.tree(vec3(0.48, 0.6, -0.64), |_, of| *of = tree.clone());
        let environment =
            environment(16, skewed(), |x, y| Vec3::splat(if x < 8 { 1.0 } else { 0.1 * y as f32 }));
        let product = product(shifted, &environment, &Frame::from_normal(unit(random)));
        let draw = |u| product.sample(u).map(|sample| sample.wi);
        let in_world = |wi: Vec3| {
            product.pdf(Vec3::from_array(product.axes.map(|axis| axis.dot(wi))).normalize())
        };
        assert_sampler_matches_pdf("both sides", 50_000, draw, in_world);
    }
}
