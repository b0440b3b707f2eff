//! Subdivision for tighter bounds: splits a box along the widest components of its directions, and
//! bounds the sub-boxes in the SIMD lanes of one call (left open in Clarberg et al. 2010 §7).
//!
//! Each step halves the widest component of any direction in any sub-box so far. Then it shrinks
//! both halves of that direction to the [hull](super::directions) of their unit vectors, which
//! narrows the other components as well. Every vector v of the box with ||v|²−1| ≤ 2⁻²¹ remains in
//! a sub-box. So the union of their bounds holds for all members of the box that satisfy the
//! precondition of [`Axis`](crate::relations::Axis), which means that their directions are unit
//! vectors. This also applies to naive and optimized code.
//!
//! Sub-boxes lie within the box, and lowerings are not wider for narrower operands, so bounding the
//! entire box as well would not help. (A few functions, such as sine and arc tangent, are not quite
//! monotone; their bounds may be wider in the last bits.)

use super::directions::unit_hull;
use super::{BoundingKernel, BoundsBatch, BoxBatch};
use crate::ir::Type;
use crate::texture::Texture;

/// A bounding shader that splits each box and returns the union of the bounds on its sub-boxes. It
/// owns buffers for the sub-boxes, so each thread needs its own.
///
/// ```
/// use lightbound_shader::bounding::{
///     BoundingKernel, BoundsBatch, BoxBatch, Frame, Integrand, IntervalInputs, Ranges,
///     SplitKernel,
/// };
/// use lightbound_shader::lift::Options;
/// use lightbound_shader::relations::Relations;
/// use lightbound_shader::{Arena, Settings, Shader, Target};
///
/// let shader = Shader::parse(
///     "mirrored.wgsl",
///     "struct Material { unused: f32 }
///      fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
///          return vec3f(pow(max(wi.z * wo.z - wi.x * wo.x - wi.y * wo.y, 0.0), 20.0));
///      }",
/// )?;
/// let integrand = Integrand::new(&shader, &Settings::default(), Frame::Local)?;
/// let inputs = integrand.inputs(IntervalInputs::Light, Ranges::Declared);
/// let options = Options { relations: Relations::all(), ..Options::default() };
/// let lifted = integrand.bound(&inputs, &options);
/// let kernel = BoundingKernel::compile(&Arena::new(), &lifted, Target::best())?;
///
/// let mut boxes = BoxBatch::new(&kernel, 1);
/// let [x, y, z] = [[0.2, 0.7], [-0.3, 0.3], [0.6, 1.0]];
/// let scalars = [0.0, 0.0, 1.0, 0.0].map(|x| [x, x]);
/// for (input, endpoints) in [x, y, z].into_iter().chain(scalars).enumerate() {
///     boxes.set(0, input, endpoints);
/// }
/// let [mut single, mut split] = [0, 1].map(|_| BoundsBatch::new(&kernel, 1));
/// kernel.run(&[], &boxes, &mut single);
/// SplitKernel::new(&kernel, 4).run(&[], &boxes, &mut split);
/// let [[lo, hi], [split_lo, split_hi]] = [&single, &split].map(|bounds| bounds.get(0, 0));
/// assert!(lo <= split_lo && split_hi <= hi && split_hi - split_lo < hi - lo);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SplitKernel {
    kernel: BoundingKernel,
    /// Number of sub-boxes of a box.
    ways: usize,
    /// For each direction with a component that can be split, its inputs, and whether each of them
    /// can be split.
    directions: Vec<([usize; 3], [bool; 3])>,
    /// The sub-boxes of a box: components of `[sub-box][direction]`.
    parts: Vec<[f32; 2]>,
    /// Sub-boxes of several boxes, grouped by box.
    boxes: BoxBatch,
    bounds: BoundsBatch,
}

/// Number of boxes per batch; their sub-boxes fill the SIMD lanes of all targets.
const BOXES_PER_BATCH: usize = 16;

impl SplitKernel {
    /// Creates a kernel that splits each box into `ways` sub-boxes.
    ///
    /// It splits those components of directions that are intervals with contiguous static bounds,
    /// as described by [`Integrand::inputs`](super::Integrand::inputs).
    ///
    /// # Panics
    ///
    /// Panics if `ways` is 0.
    pub fn new(kernel: &BoundingKernel, ways: usize) -> SplitKernel {
        assert!(ways > 0, "the number of sub-boxes is 0");
        let directions = kernel.precondition.directions().iter().map(|direction| {
            let is_splittable =
                |input: usize| kernel.inputs[input].1 && kernel.is_contiguous[input];
            (direction.inputs, direction.inputs.map(is_splittable))
        });
        let directions: Vec<_> =
            directions.filter(|(_, splittable)| splittable.contains(&true)).collect();
        let parts = vec![[0.0; 2]; ways * 3 * directions.len()];
        let (boxes, bounds) = (
            BoxBatch::new(kernel, BOXES_PER_BATCH * ways),
            BoundsBatch::new(kernel, BOXES_PER_BATCH * ways),
        );
        SplitKernel { kernel: kernel.clone(), ways, directions, parts, boxes, bounds }
    }

    /// Bounds all boxes by their sub-boxes, without allocating. `textures` are in the order in
    /// which the shader declares them.
    ///
    /// The bounds hold for members with unit vectors as directions, to the precision of
    /// [`Axis`](crate::relations::Axis). A box without such members is not split.
    ///
    /// # Panics
    ///
    /// Panics under the conditions of [`BoundingKernel::run`].
    pub fn run(&mut self, textures: &[&Texture], boxes: &BoxBatch, bounds: &mut BoundsBatch) {
        self.kernel.check(boxes);
        self.run_unchecked(textures, boxes, bounds);
    }

    /// Bounds boxes without checking the precondition. Bounds on a box that violates it are not
    /// valid.
    pub fn run_unchecked(
        &mut self,
        textures: &[&Texture],
        boxes: &BoxBatch,
        bounds: &mut BoundsBatch,
    ) {
        assert_eq!(
            boxes.batch.rows(),
            bounds.batch.rows(),
            "the numbers of boxes and of rows of bounds differ"
        );
        assert_eq!(
            boxes.batch.ports(),
            self.boxes.batch.ports(),
            "the boxes were created for another kernel"
        );
        assert_eq!(
            bounds.batch.ports(),
            self.bounds.batch.ports(),
            "the bounds were created for another kernel"
        );
        for first in (0..boxes.batch.rows()).step_by(BOXES_PER_BATCH) {
            let count = BOXES_PER_BATCH.min(boxes.batch.rows() - first);
            self.boxes.batch.reshape(boxes.batch.ports(), count * self.ways);
            self.bounds.batch.reshape(bounds.batch.ports(), count * self.ways);
            for row in 0..count {
                self.split(boxes, first + row);
                self.store_sub_boxes(row * self.ways, boxes, first + row);
            }
            self.boxes.batch.truncate(count * self.ways);
            self.kernel.kernel.run(textures, &self.boxes.batch, &mut self.bounds.batch);
            for row in 0..count {
                self.store_union(row * self.ways, bounds, first + row);
            }
        }
    }

    /// The components of a direction of a sub-box.
    fn part(&self, way: usize, direction: usize) -> [[f32; 2]; 3] {
        let at = (way * self.directions.len() + direction) * 3;
        [0, 1, 2].map(|k| self.parts[at + k])
    }

    fn set_part(&mut self, way: usize, direction: usize, endpoints: [[f32; 2]; 3]) {
        let at = (way * self.directions.len() + direction) * 3;
        self.parts[at..at + 3].copy_from_slice(&endpoints);
    }

    /// Splits a box into sub-boxes. If there are fewer than `ways`, the first ones are repeated.
    fn split(&mut self, boxes: &BoxBatch, row: usize) {
        let size = 3 * self.directions.len();
        let set_unsplit = |split: &mut SplitKernel, shrink: bool| {
            (0..split.directions.len()).all(|direction| {
                let endpoints =
                    split.directions[direction].0.map(|input| boxes.endpoints(row, input));
                let part = if shrink { unit_hull(endpoints) } else { Some(endpoints) };
                part.inspect(|&part| split.set_part(0, direction, part)).is_some()
            })
        };
        let mut count = 1;
        if set_unsplit(self, true) {
            for _ in 1..self.ways {
                count += self.split_widest(count);
            }
        } else {
            set_unsplit(self, false);
        }
        for way in count..self.ways {
            self.parts.copy_within((way - count) * size..(way - count + 1) * size, way * size);
        }
    }

    /// Halves the widest component of a direction among the first `count` sub-boxes. Returns the
    /// number of additional sub-boxes.
    fn split_widest(&mut self, count: usize) -> usize {
        let (mut max_width, mut widest) = (0.0, None);
        for (way, direction) in (0..count)
            .flat_map(|way| (0..self.directions.len()).map(move |direction| (way, direction)))
        {
            for (k, [low, high]) in self.part(way, direction).into_iter().enumerate() {
                if self.directions[direction].1[k] && high - low > max_width {
                    (max_width, widest) = (high - low, Some((way, direction, k)));
                }
            }
        }
        let Some((way, direction, k)) = widest else { return 0 };
        let part = self.part(way, direction);
        let [low, high] = part[k];
        let middle = 0.5 * low + 0.5 * high;
        let half = |endpoints: [f32; 2]| {
            let mut half = part;
            half[k] = endpoints;
            unit_hull(half)
        };
        match [half([low, middle]), half([middle, high])] {
            [Some(below), Some(above)] => {
                let size = 3 * self.directions.len();
                self.parts.copy_within(way * size..(way + 1) * size, count * size);
                self.set_part(way, direction, below);
                self.set_part(count, direction, above);
                1
            }
            [Some(half), None] | [None, Some(half)] => {
                self.set_part(way, direction, half);
                0
            }
            [None, None] => 0,
        }
    }

    /// Stores the sub-boxes of a box in the batch, from row `first` on.
    fn store_sub_boxes(&mut self, first: usize, boxes: &BoxBatch, row: usize) {
        let ports = boxes.batch.ports();
        for way in 0..self.ways {
            self.boxes.batch.copy_row(first + way, 0, &boxes.batch, row, 0, ports);
            for direction in 0..self.directions.len() {
                let (inputs, splittable) = self.directions[direction];
                let part = self.part(way, direction);
                for ((input, endpoints), _) in std::iter::zip(inputs, part)
                    .zip(splittable)
                    .filter(|(_, is_splittable)| *is_splittable)
                {
                    self.boxes.set(first + way, input, endpoints);
                }
            }
        }
    }

    /// Stores the union of the bounds on sub-boxes. NaN, which means unbounded, takes precedence.
    fn store_union(&self, first: usize, bounds: &mut BoundsBatch, row: usize) {
        let outputs = self.kernel.kernel().outputs();
        for (side, port) in self
            .bounds
            .ports
            .iter()
            .flatten()
            .enumerate()
            .filter_map(|(k, port)| Some((k % 2, (*port)?)))
        {
            let endpoints = (first..first + self.ways).map(|row| self.bounds.batch.bits(row, port));
            let union = endpoints
                .reduce(|a, b| union_endpoint(outputs[port].ty, side, a, b))
                .expect("a box has at least one sub-box");
            bounds.batch.set_bits(row, port, union);
        }
    }
}

/// The lower (side 0) or upper (side 1) endpoint of the union of two intervals.
fn union_endpoint(ty: Type, side: usize, a: u32, b: u32) -> u32 {
    let first = match ty {
        Type::F32 => {
            let [x, y] = [a, b].map(f32::from_bits);
            x.is_nan() || if side == 0 { x <= y } else { x >= y }
        }
        // Booleans are 0 or all bits set; false is less than true.
        Type::Bool => (side == 0) == (a == 0),
        Type::I32 => (side == 0) == (a as i32 <= b as i32),
    };
    if first { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounding::{Frame, Integrand, IntervalInputs, Ranges};
    use crate::lift::Options;
    use crate::random::Random;
    use crate::{Arena, Settings, Shader, Target};

    fn kernel() -> BoundingKernel {
        let source = "struct Material {
                /// Reflectance. range: [0, 1], default: 0.5
                kd: f32,
            }
            fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return m.kd * wi; }";
        let shader = Shader::parse("a.wgsl", source).expect("the shader is valid");
        let integrand =
            Integrand::new(&shader, &Settings::default(), Frame::Local).expect("it compiles");
        let inputs = integrand.inputs(IntervalInputs::Light, Ranges::Declared);
        let lifted = integrand.bound(&inputs, &Options::default());
        BoundingKernel::compile(&Arena::new(), &lifted, Target::Interpreter)
            .expect("the target is available")
    }

    #[test]
    fn sub_boxes_contain_all_unit_vectors_of_the_box() {
        let kernel = kernel();
        let random = &mut Random::new(1);
        let mut uniform = |low: f32, high: f32| {
            low + (high - low) * (random.bits() >> 40) as f32 / (1u64 << 24) as f32
        };
        let mut tested = 0;
        for case in 0..300 {
            let unit = |v: [f32; 3]| v.map(|x| x / v.iter().map(|x| x * x).sum::<f32>().sqrt());
            let center = unit([(); 3].map(|()| uniform(-1.0, 1.0)));
            let width = 1.5 * 0.5f32.powi(case % 20);
            let wi = center
                .map(|x| [(x - uniform(0.0, width)).max(-1.0), (x + uniform(0.0, width)).min(1.0)]);
            let mut boxes = BoxBatch::new(&kernel, 1);
            wi.iter().enumerate().for_each(|(input, &endpoints)| boxes.set(0, input, endpoints));
            for ways in [1, 2, 4] {
                let mut split = SplitKernel::new(&kernel, ways);
                split.split(&boxes, 0);
                let parts: Vec<_> = (0..ways).map(|way| split.part(way, 0)).collect();
                let within = |part: &[[f32; 2]; 3]| {
                    std::iter::zip(part, wi).all(|(a, b)| b[0] <= a[0] && a[1] <= b[1])
                };
                assert!(parts.iter().all(within), "{wi:?}: {parts:?}");
                for _ in 0..200 {
                    let v = unit(center.map(|x| x + uniform(-width, width)));
                    let contains = |endpoints: &[[f32; 2]; 3]| {
                        std::iter::zip(endpoints, v).all(|([low, high], x)| *low <= x && x <= *high)
                    };
                    if contains(&wi) {
                        tested += 1;
                        assert!(parts.iter().any(contains), "{v:?} of {wi:?}: {parts:?}");
                    }
                }
            }
        }
        assert!(tested > 30_000, "only {tested} vectors are in a box");
    }

    #[test]
    fn boxes_are_split_along_the_widest_component() {
        let kernel = kernel();
        let parts = |wi: [[f32; 2]; 3], ways: usize| {
            let mut boxes = BoxBatch::new(&kernel, 1);
            wi.into_iter()
                .enumerate()
                .for_each(|(input, endpoints)| boxes.set(0, input, endpoints));
            let mut split = SplitKernel::new(&kernel, ways);
            split.split(&boxes, 0);
            (0..ways).map(|way| split.part(way, 0)).collect::<Vec<_>>()
        };
        // A cap is split into quarters, with a tighter lower endpoint of z.
        let cap = parts([[-0.2, 0.2], [-0.15, 0.15], [0.9, 1.0]], 4);
        for (x, y) in [[-0.2, 0.0], [0.0, 0.2]]
            .into_iter()
            .flat_map(|x| [[-0.15, 0.0], [0.0, 0.15]].map(|y| (x, y)))
        {
            assert!(cap.iter().any(|part| part[..2] == [x, y]), "{cap:?}");
        }
        assert!(
            cap.iter().all(|part| (0.96..0.97).contains(&part[2][0]) && part[2][1] == 1.0),
            "{cap:?}"
        );
        // Two sub-boxes split the longer side.
        let halves = parts([[-0.15, 0.15], [-0.2, 0.2], [0.9, 1.0]], 2);
        assert_eq!(
            halves.iter().map(|part| part[1]).collect::<Vec<_>>(),
            [[-0.2, 0.0], [0.0, 0.2]]
        );
        // Boxes that cannot be split: a point, and a box without a unit vector.
        let point = parts([[0.0, 0.0], [0.6, 0.6], [0.8, 0.8]], 4);
        assert!(point.iter().all(|part| *part == [[0.0; 2], [0.6; 2], [0.8; 2]]), "{point:?}");
        let none = [[0.0, 0.1], [0.0, 0.1], [0.0, 0.1]];
        assert_eq!(parts(none, 2), [none, none]);
    }

    #[test]
    fn unions_with_nan_are_nan() {
        let bits = |x: f32| x.to_bits();
        for (a, b, lo, hi) in
            [(1.0, 2.0, 1.0, 2.0), (2.0, 1.0, 1.0, 2.0), (-0.5, f32::INFINITY, -0.5, f32::INFINITY)]
        {
            assert_eq!(
                [0, 1].map(|side| union_endpoint(Type::F32, side, bits(a), bits(b))),
                [bits(lo), bits(hi)]
            );
        }
        for (a, b) in [(f32::NAN, 1.0), (1.0, f32::NAN)] {
            assert!([0, 1].iter().all(|&side| {
                f32::from_bits(union_endpoint(Type::F32, side, bits(a), bits(b))).is_nan()
            }));
        }
        assert_eq!([0, 1].map(|side| union_endpoint(Type::Bool, side, 0, !0)), [0, !0]);
        assert_eq!([0, 1].map(|side| union_endpoint(Type::I32, side, !0, 3)), [!0, 3]);
    }
}
