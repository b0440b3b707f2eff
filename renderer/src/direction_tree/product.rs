//! Product sampling: directions by BRDF · cos θ · L, from a tree of directions and the image of a sky.
//!
//! As in Clarberg & Akenine-Möller 2008 (*Practical Product Importance Sampling for Direct Illumination*), the tree of the BRDF is descended from the
//! domain, each part weighed by its mass times the mean of the sky over its directions, which a [pyramid](SkyPyramid) has; below the
//! leaves of the tree, cells are cut further, until the sky is nearly constant in them. What is drawn at a node is drawn by the weights of its
//! parts alone, so the density of any direction is found on the same way, and exact whatever the weights are.
//!
//! Weights of wide cells are poor where a lobe is narrow: the sky's mean over a cell is not what the lobe sees of it. So the first cells of a tree, those
//! that have most of its mass ([`Top`]), are weighed all at once for a point, and wide ones are sums of their parts.
//!
//! A small part of the directions ([`BY_MAP`]) is drawn by the sky alone. That keeps the support, whatever is estimated: a density is 0
//! only where there is no light.

use super::cells::{Cell, LEVELS, width};
use super::table::ShiftedTree;
use super::tree::{Digits, Node, choose_part};
use crate::light::{Environment, Light, Patches, SkyPyramid};
use crate::math::direction_box::{LANES, Lanes};
use crate::math::{Vec2, Vec3, vec2, vec3};
use crate::sampling::ONE_MINUS_EPSILON;
use lightbound_shader::Sides;
use std::collections::BinaryHeap;
use std::f32::consts::FRAC_1_PI;

/// The part of directions that the sky draws.
const BY_MAP: f32 = 0.05;

/// Most cells of a tree that are weighed at once.
const FIRST: usize = 16;

/// Parts with less mass times size than this, of the domain's, are not among the first cells.
const WORTH: f32 = 1e-3;

/// Stands for the node of a cell below the leaves of a tree.
const NONE: u32 = u32::MAX;

/// The first cells of a tree, parents before their parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Top {
    first: Vec<First>,
}

/// A cell that is cut.
#[derive(Clone, Debug, PartialEq)]
struct First {
    cell: Cell,
    /// That of the tree, or [`NONE`].
    node: u32,
    mass: Lanes,
    middles: [Lanes; 3],
    /// The number of each part among the first; 0 for those that are not.
    child: [u8; LANES],
}

impl Top {
    /// Most memory.
    pub const BYTES: usize = FIRST * size_of::<First>();

    pub fn clear(&mut self) {
        self.first.clear();
    }

    /// Finds those of a tree, by mass times size.
    pub fn fill(&mut self, sides: Sides, nodes: &[Node]) {
        self.first.clear();
        if nodes.is_empty() {
            return;
        }
        let mut open: BinaryHeap<(u32, std::cmp::Reverse<(usize, usize)>)> = BinaryHeap::new();
        let (mut cell, mut node, mut mass) = (Cell::DOMAIN, 0, nodes[0].mass);
        loop {
            let index = self.first.len();
            let size = cell.child(0).area().sqrt();
            for (lane, mass) in mass.iter().enumerate().filter(|(_, mass)| **mass * size > WORTH) {
                // Floats that are not negative are in the order of their bits.
                open.push(((mass * size).to_bits(), std::cmp::Reverse((index, lane))));
            }
            self.first.push(First { cell, node, mass, middles: cell.middles(sides), child: [0; LANES] });
            if self.first.len() == FIRST {
                return;
            }
            let Some((_, std::cmp::Reverse((parent, lane)))) = open.pop() else { return };
            let next = self.first.len() as u8;
            let parent = &mut self.first[parent];
            parent.child[lane] = next;
            cell = parent.cell.child(lane);
            node = below(parent.node, lane, |node| &nodes[node as usize]);
            mass = if node == NONE { [parent.mass[lane] / LANES as f32; LANES] } else { nodes[node as usize].mass };
            if cell.level() == LEVELS {
                return;
            }
        }
    }
}

/// The node of a part, if there is one.
fn below<'a>(node: u32, lane: usize, nodes: impl FnOnce(u32) -> &'a Node) -> u32 {
    if node == NONE {
        return NONE;
    }
    match nodes(node).child[lane] {
        0 => NONE,
        child => child,
    }
}

/// A sky, as it is seen in the frame of a point.
#[derive(Clone, Copy, Debug)]
pub struct ProductSky<'a> {
    environment: &'a Environment,
    pyramid: &'a SkyPyramid,
    /// Those of the frame, in the world and in the image.
    axes: [Vec3; 3],
    in_image: [Vec3; 3],
}

impl<'a> ProductSky<'a> {
    /// For a frame by its axes in the world; the pyramid is that of the environment.
    pub fn new(environment: &'a Environment, pyramid: &'a SkyPyramid, axes: [Vec3; 3]) -> ProductSky<'a> {
        ProductSky { environment, pyramid, axes, in_image: pyramid.frame(axes) }
    }

    fn to_world(self, w: Vec3) -> Vec3 {
        self.axes[0] * w.x + self.axes[1] * w.y + self.axes[2] * w.z
    }

    fn to_local(self, w: Vec3) -> Vec3 {
        let local = vec3(self.axes[0].dot(w), self.axes[1].dot(w), self.axes[2].dot(w));
        local / local.length()
    }
}

/// Parts of a cell, weighed.
#[derive(Clone, Copy, Debug)]
struct Weighed {
    weights: Lanes,
    /// Where the sky is plain, as in [`Patches`].
    plain: u8,
}

/// Weights of the first cells for a point and a sky; room stays.
#[derive(Clone, Debug, Default)]
pub struct ProductWeights(Vec<Weighed>);

/// A density of directions: that of a tree times the radiance of a sky, about.
#[derive(Clone, Copy, Debug)]
pub struct Product<'a> {
    tree: ShiftedTree<'a>,
    sky: ProductSky<'a>,
    weights: &'a [Weighed],
}

impl<'a> Product<'a> {
    /// Weighs the first cells of a tree that is [ready](DirectionTree::prepare_products).
    pub fn new(tree: ShiftedTree<'a>, sky: ProductSky<'a>, weights: &'a mut ProductWeights) -> Product<'a> {
        let first = &tree.tree.top().first;
        let mut product = Product { tree, sky, weights: &[] };
        weights.0.clear();
        weights.0.extend(first.iter().map(|first| product.weigh(&first.cell, &first.mass, &first.middles)));
        for index in (0..first.len()).rev() {
            for (lane, &child) in first[index].child.iter().enumerate().filter(|(_, child)| **child != 0) {
                weights.0[index].weights[lane] = weights.0[child as usize].weights.iter().sum();
            }
        }
        product.weights = &weights.0;
        product
    }

    /// A direction in the frame for numbers in [0, 1), and its density per steradian; `None` if nothing is scattered.
    pub fn draw(&self, u: Vec2) -> Option<(Vec3, f32)> {
        let total: f32 = self.weights.first()?.weights.iter().sum();
        let by_map = if total > 0.0 { BY_MAP } else { 1.0 };
        if u.x < by_map {
            let u = vec2((u.x / by_map).min(ONE_MINUS_EPSILON), u.y);
            let wi = self.sky.to_local(self.sky.environment.sample_li(Vec3::ZERO, u)?.wi);
            return Some((wi, self.pdf(wi)));
        }
        let mut rest = vec2(((u.x - by_map) / (1.0 - by_map)).min(ONE_MINUS_EPSILON), u.y);
        let (cell, mass) = self.descend(|weights, level| choose_part(weights, level, &mut rest))?;
        let wi = self.tree.shifted(cell.direction(self.tree.tree.sides(), rest));
        Some((wi, self.whole(wi, by_map, self.tree.tree.mean(mass, cell.level()))))
    }

    /// Density of a unit direction of the frame per steradian.
    pub fn pdf(&self, wi: Vec3) -> f32 {
        let Some(first) = self.weights.first() else { return 0.0 };
        let sides = self.tree.tree.sides();
        let total: f32 = first.weights.iter().sum();
        if !(total > 0.0) || !sides.covers(wi.z) {
            return self.whole(wi, if total > 0.0 { BY_MAP } else { 1.0 }, 0.0);
        }
        let mut digits = Digits::of(self.tree.shifted_back(wi), sides);
        let found = self.descend(|weights, level| Some(digits.part(level)).filter(|&part| weights[part] > 0.0));
        self.whole(wi, BY_MAP, found.map_or(0.0, |(cell, mass)| self.tree.tree.mean(mass, cell.level())))
    }

    /// From what the tree's part of the density is by area of the disk.
    fn whole(&self, wi: Vec3, by_map: f32, per_area: f32) -> f32 {
        by_map * self.sky.environment.pdf_li(self.sky.to_world(wi)) + (1.0 - by_map) * per_area * wi.z.abs() * FRAC_1_PI
    }

    /// The cell to which choices of parts lead, by their weights and the level of what they are parts of, and its probability.
    #[inline]
    fn descend(&self, mut choose: impl FnMut(&Lanes, u32) -> Option<usize>) -> Option<(Cell, f32)> {
        let first = &self.tree.tree.top().first;
        let (mut index, mut probability) = (0, 1.0);
        let (mut cell, mut node, mut plain);
        loop {
            let (of, weighed) = (&first[index], &self.weights[index]);
            let lane = choose(&weighed.weights, of.cell.level())?;
            probability *= weighed.weights[lane] / weighed.weights.iter().sum::<f32>();
            match of.child[lane] {
                0 => {
                    cell = of.cell.child(lane);
                    node = below(of.node, lane, |node| self.tree.tree.node(node));
                    plain = weighed.plain >> lane & 1 != 0;
                    break;
                }
                child => index = child as usize,
            }
        }
        while !(plain && node == NONE) && cell.level() < LEVELS {
            let mass = if node == NONE { [1.0; LANES] } else { self.tree.tree.node(node).mass };
            let weighed = self.weigh(&cell, &mass, &cell.middles(self.tree.tree.sides()));
            let lane = choose(&weighed.weights, cell.level())?;
            probability *= weighed.weights[lane] / weighed.weights.iter().sum::<f32>();
            cell = cell.child(lane);
            node = below(node, lane, |node| self.tree.tree.node(node));
            plain = weighed.plain >> lane & 1 != 0;
        }
        Some((cell, probability))
    }

    /// Weighs the parts of a cell.
    #[inline]
    fn weigh(&self, cell: &Cell, mass: &Lanes, middles: &[Lanes; 3]) -> Weighed {
        let (shift, axes) = (self.tree.shift, &self.sky.in_image);
        // Patches as wide as a part, of which 4 cos θ make its solid angle, by as many as the domain has parts.
        let parts = 4.0 / (cell.child(0).area() * width(self.tree.tree.sides()));
        let (mut towards, mut counts) = ([[0.0; LANES]; 3], [0.0; LANES]);
        for lane in 0..LANES {
            let [x, y, z] = [0, 1, 2].map(|k| middles[k][lane]);
            let (sx, sy) = (x - shift.x, y - shift.y);
            let height2 = 1.0 - (sx * sx + sy * sy);
            let inside = height2 > 0.0;
            let (x, y) = (if inside { sx } else { -x }, if inside { sy } else { -y });
            let height = if inside { height2 } else { z * z }.sqrt();
            counts[lane] = parts * height;
            let z = height.copysign(z);
            for k in 0..3 {
                towards[k][lane] = axes[0][k] * x + axes[1][k] * y + axes[2][k] * z;
            }
        }
        let Patches { mean, plain } = self.sky.pyramid.look(&towards, &counts);
        Weighed { weights: std::array::from_fn(|lane| mass[lane] * mean[lane]), plain }
    }
}
