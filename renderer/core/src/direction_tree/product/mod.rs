//! Product sampling of BRDF · cos θ · L, from a direction tree and an environment map.
//!
//! As in Clarberg & Akenine-Möller 2008 (*Practical Product Importance Sampling for Direct
//! Illumination*), the tree of the BRDF is descended from the domain. The weight of each child is
//! its mass times the mean of the environment over its directions, which a
//! [pyramid](EnvironmentPyramid) stores. Below the leaves of the tree, cells are split further
//! until the environment is nearly constant in them. No data is stored per point: weights are
//! recomputed during each descent. The sampling decision in a cell depends only on the weights of
//! its children. So the density of any direction is computed along the same path, and it is exact
//! even if estimates are poor.
//!
//! Estimates are poor if a wide cell contains a narrow lobe and a varying environment. Weighting
//! the 128 cells with the greatest mass at once, and wider cells by their sums, would multiply the
//! variance by about 0.6, but the time by 3.
//!
//! The sun is too bright for means over cells that are not aligned with it. So the weights use
//! radiance that is clamped to a multiple of its mean ([`PEAK_THRESHOLD`]). The remainder, the
//! *peaks*, is sampled separately and exactly, by texel, with a probability that is proportional to
//! the tree's density towards the peaks. A small fraction of the entire environment is added to the
//! peaks. It ensures the support (defensive mixture): a density is 0 only where the environment is
//! black.

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

/// Number of strata along each axis for sampling the probes, directions to the peaks that estimate
/// the tree's density there.
const PROBES_PER_AXIS: usize = 2;

/// Precomputed data of an environment light for product sampling.
#[derive(Clone, Debug)]
pub struct ProductEnvironment {
    /// The clamped environment.
    smooth: EnvironmentPyramid,
    /// The radiance above the clamping threshold, and a fraction of the entire environment.
    peaks: Environment,
    /// Directions to the peaks for estimating the tree's density, in render space.
    probes: [Vec3; PROBES_PER_AXIS * PROBES_PER_AXIS],
    /// Integral of the radiance of the peaks, divided by the clamping threshold.
    peak_irradiance: f32,
}

impl ProductEnvironment {
    /// Precomputes the data for an environment map; `None` for constant or black environments.
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
pub struct ProductDistribution<'a> {
    tree: ShiftedTree<'a>,
    environment: &'a Environment,
    prepared: &'a ProductEnvironment,
    /// Axes of the tree's frame, in render space and in the space of the image.
    axes: [Vec3; 3],
    image_axes: [Vec3; 3],
    /// The children of the domain.
    root: WeightedChildren,
    /// Probability of sampling the peaks.
    peak_probability: f32,
}

/// The weighted children of a cell.
#[derive(Clone, Copy, Debug)]
struct WeightedChildren {
    weights: Lanes,
    /// Means of the environment, as [`EnvironmentPyramid::lookup`] returns them.
    radiance: Lanes,
}

impl<'a> ProductDistribution<'a> {
    /// Creates the product of a tree and an environment. `axes` is the orthonormal frame of the
    /// tree in render space.
    pub fn new(
        tree: ShiftedTree<'a>,
        environment: &'a Environment,
        prepared: &'a ProductEnvironment,
        axes: [Vec3; 3],
    ) -> ProductDistribution<'a> {
        let root = WeightedChildren { weights: [0.0; LANES], radiance: [0.0; LANES] };
        let image_axes = prepared.smooth.directions(axes);
        let mut product = ProductDistribution {
            tree,
            environment,
            prepared,
            axes,
            image_axes,
            root,
            peak_probability: 1.0,
        };
        if let Some(node) = tree.tree.nodes().first() {
            product.root = product.weight_children(&DirectionCell::DOMAIN, Some(node));
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
            // If overflow or underflow yields NaN, both strategies have the same probability.
            let probability = peaks / (peaks + smooth);
            product.peak_probability = if probability >= 0.0 {
                probability.clamp(MIN_STRATEGY_PROBABILITY, 1.0 - MIN_STRATEGY_PROBABILITY)
            } else {
                0.5
            };
        }
        product
    }

    /// Samples light with two random numbers in [0, 1); `None` if the sample is invalid.
    pub fn sample(&self, u: Vec2) -> Option<LightSample> {
        let tree = self.tree.tree;
        if tree.is_empty() {
            return None;
        }
        if u.x < self.peak_probability {
            let u = vec2((u.x / self.peak_probability).min(ONE_MINUS_EPSILON), u.y);
            let sample = self.prepared.peaks.sample_li(Vec3::ZERO, u)?;
            let wi = self.to_local(sample.wi);
            // Use the density of the sampled texel: near its edge, a lookup might return the
            // density of a neighbour.
            let pdf = self.mixture_pdf(wi, sample.pdf, self.tree_disk_pdf(wi));
            return Some(LightSample {
                radiance: self.environment.radiance(sample.wi),
                pdf,
                ..sample
            });
        }
        let mut remapped = vec2(
            ((u.x - self.peak_probability) / (1.0 - self.peak_probability)).min(ONE_MINUS_EPSILON),
            u.y,
        );
        let (cell, mass) =
            self.descend(|weights, level| sample_child(weights, level, &mut remapped))?;
        let wi = self.tree.shifted(cell.direction(tree.sides(), remapped));
        let wi_world = self.to_world(wi);
        let peak_pdf = self.prepared.peaks.pdf_li(wi_world);
        let pdf = self.mixture_pdf(wi, peak_pdf, tree.mean_density(mass, cell.level()));
        let radiance = self.environment.radiance(wi_world);
        Some(LightSample { wi: wi_world, target: None, radiance, pdf, delta: false })
    }

    /// Returns the density of a unit direction in the tree's frame, 1/sr.
    pub fn pdf(&self, wi: Vec3) -> f32 {
        if self.tree.tree.is_empty() {
            return 0.0;
        }
        let peak_pdf = self.prepared.peaks.pdf_li(self.to_world(wi));
        self.mixture_pdf(wi, peak_pdf, self.tree_disk_pdf(wi))
    }

    /// Returns the density with which descending the tree generates a direction, per area of the
    /// disk.
    fn tree_disk_pdf(&self, wi: Vec3) -> f32 {
        let tree = self.tree.tree;
        if !tree.sides().covers(wi.z) {
            return 0.0;
        }
        let mut path = CellPath::new(self.tree.unshifted(wi), tree.sides());
        let leaf = self
            .descend(|weights, level| Some(path.child(level)).filter(|&lane| weights[lane] > 0.0));
        leaf.map_or(0.0, |(cell, mass)| tree.mean_density(mass, cell.level()))
    }

    fn to_local(&self, wi: Vec3) -> Vec3 {
        let local = Vec3::from_array(self.axes.map(|axis| axis.dot(wi)));
        local / local.length()
    }

    fn to_world(&self, wi: Vec3) -> Vec3 {
        self.axes[0] * wi.x + self.axes[1] * wi.y + self.axes[2] * wi.z
    }

    /// Returns the density of the mixture of both strategies, 1/sr. `peak_pdf` is the density of
    /// the peaks, 1/sr; `disk_pdf` is the density of the tree, per area of the disk.
    fn mixture_pdf(&self, wi: Vec3, peak_pdf: f32, disk_pdf: f32) -> f32 {
        self.peak_probability * peak_pdf
            + (1.0 - self.peak_probability) * disk_pdf * wi.z.abs() * FRAC_1_PI
    }

    /// Descends to a cell and returns it with its probability. `select` selects a child of a cell
    /// by the weights of the children and the cell's level.
    #[inline]
    fn descend(
        &self,
        mut select: impl FnMut(&Lanes, u32) -> Option<usize>,
    ) -> Option<(DirectionCell, f32)> {
        let nodes = self.tree.tree.nodes();
        let (mut cell, mut probability) = (DirectionCell::DOMAIN, 1.0);
        let mut node = nodes.first();
        let mut children = self.root;
        loop {
            let WeightedChildren { weights, radiance } = children;
            let lane = select(&weights, cell.level())?;
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
            children = self.weight_children(&cell, node);
        }
    }

    /// Weights the children of a cell. Below the leaves of the tree (`None`), the BRDF is constant
    /// in the cell.
    #[inline]
    fn weight_children(&self, cell: &DirectionCell, node: Option<&Node>) -> WeightedChildren {
        let (shift, axes) = (self.tree.shift, &self.image_axes);
        let sides = self.tree.tree.sides();
        // A child has the solid angle A/cos θ. A is its area in the disks, each of which has area
        // π. So 4π cos θ / A children of this size cover the sphere.
        let max_count = 4.0 / (cell.child(0).area() * width(sides));
        let centers = cell.centers(sides);
        let (mut directions, mut counts) = ([[0.0; LANES]; 3], [0.0; LANES]);
        for lane in 0..LANES {
            let [x, y, z] = [0, 1, 2].map(|k| centers[k][lane]);
            // As `ShiftedTree::shifted`, without branches.
            let shifted = (x - shift.x, y - shift.y);
            let height2 = 1.0 - (shifted.0 * shifted.0 + shifted.1 * shifted.1);
            let is_inside = height2 > 0.0;
            let (x, y) =
                (if is_inside { shifted.0 } else { -x }, if is_inside { shifted.1 } else { -y });
            let height = if is_inside { height2 } else { z * z }.sqrt();
            counts[lane] = max_count * height;
            let z = height.copysign(z);
            for k in 0..3 {
                directions[k][lane] = axes[0][k] * x + axes[1][k] * y + axes[2][k] * z;
            }
        }
        let radiance = self.prepared.smooth.lookup(&directions, &counts);
        let masses = node.map_or([1.0; LANES], |node| node.mass);
        let weights = std::array::from_fn(|lane| masses[lane] * radiance[lane].abs());
        // If the estimate is black, directions are sampled by the BRDF.
        WeightedChildren { weights: if total(&weights) > 0.0 { weights } else { masses }, radiance }
    }
}

/// Returns the sum of all weights.
#[inline]
fn total([a, b, c, d, e, f, g, h]: &Lanes) -> f32 {
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

#[cfg(test)]
mod tests;
