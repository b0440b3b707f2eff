//! Tighter bounds for more work: a box is split along the widest components of its directions, and
//! the sub-boxes are bounded in the SIMD lanes of one call (left open in Clarberg et al. 2010 §7).
//!
//! Each split halves the widest component of any direction in any sub-box so far. Then the
//! remaining part of that direction shrinks to the [hull](super::directions) of its unit vectors,
//! which narrows the other components as well. Every vector v of the box with ||v|²−1| ≤ 2⁻²¹
//! remains in a sub-box. So the union of their bounds holds for all members of the box that satisfy
//! the precondition of [`Axis`](crate::relations::Axis): those whose directions are unit vectors,
//! in naive and in optimized code, too.
//!
//! Sub-boxes lie within the box, and lowerings are not wider for narrower operands, so bounding the
//! entire box as well would gain nothing. (A few functions, such as the sine and the arc tangent,
//! are not quite monotone; their last bits may be wider.)

use super::directions::unit_hull;
use super::{BoundingKernel, Boxes, Limits};
use crate::ir::Type;
use crate::texture::Texture;

/// Bounds boxes by sub-boxes: a bounding shader with buffers for sub-boxes. Each thread needs its
/// own.
///
/// ```
/// use lightbound_shader::bounding::{BoundingKernel, Boxes, Frame, Integrand, Limits, Ranges, Spans, Split};
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
/// let inputs = integrand.inputs(Spans::Light, Ranges::Declared);
/// let options = Options { relations: Relations::all(), ..Options::default() };
/// let kernel = BoundingKernel::compile(&Arena::new(), &integrand.bound(&inputs, &options), Target::best())?;
///
/// let mut boxes = Boxes::new(&kernel, 1);
/// let [x, y, z] = [[0.2, 0.7], [-0.3, 0.3], [0.6, 1.0]];
/// let scalars = [0.0, 0.0, 1.0, 0.0].map(|x| [x, x]);
/// for (input, endpoints) in [x, y, z].into_iter().chain(scalars).enumerate() {
///     boxes.set(0, input, endpoints);
/// }
/// let [mut single, mut split] = [0, 1].map(|_| Limits::new(&kernel, 1));
/// kernel.run(&[], &boxes, &mut single);
/// Split::new(&kernel, 4).run(&[], &boxes, &mut split);
/// let [[lo, hi], [part_lo, part_hi]] = [&single, &split].map(|limits| limits.get(0, 0));
/// assert!(lo <= part_lo && part_hi <= hi && part_hi - part_lo < hi - lo);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Split {
    kernel: BoundingKernel,
    ways: usize,
    /// For each direction with an interval that can be split, its inputs, and which of them can be
    /// split.
    directions: Vec<([usize; 3], [bool; 3])>,
    /// Components of the directions of each sub-box of a box.
    parts: Vec<[f32; 2]>,
    /// Sub-boxes of several boxes, grouped by box.
    boxes: Boxes,
    limits: Limits,
}

/// Boxes per batch: the rows of their sub-boxes fill the SIMD lanes of all targets.
const BOXES_PER_BATCH: usize = 16;

impl Split {
    /// Allocates buffers for `ways` sub-boxes of a box. Splits the directions that are intervals
    /// whose components have a contiguous range at compile time, as from
    /// [`Integrand::inputs`](super::Integrand::inputs).
    ///
    /// *Panics* if `ways` is 0.
    pub fn new(kernel: &BoundingKernel, ways: usize) -> Split {
        assert!(ways > 0, "a box has at least one sub-box");
        let directions = kernel.precondition.directions().iter().map(|direction| {
            let is_splittable =
                |input: usize| kernel.inputs[input].1 && kernel.is_contiguous[input];
            (direction.inputs, direction.inputs.map(is_splittable))
        });
        let directions: Vec<_> =
            directions.filter(|(_, splittable)| splittable.contains(&true)).collect();
        let parts = vec![[0.0; 2]; ways * 3 * directions.len()];
        let (boxes, limits) = (
            Boxes::new(kernel, BOXES_PER_BATCH * ways),
            Limits::new(kernel, BOXES_PER_BATCH * ways),
        );
        Split { kernel: kernel.clone(), ways, directions, parts, boxes, limits }
    }

    /// Bounds all boxes by their sub-boxes, without allocating; `textures` are those of the shader,
    /// in the order of its declarations.
    ///
    /// The bounds hold for members whose directions are unit vectors, to the precision of
    /// [`Axis`](crate::relations::Axis). A box without any is not split.
    ///
    /// *Panics* like [`BoundingKernel::run`].
    pub fn run(&mut self, textures: &[&Texture], boxes: &Boxes, limits: &mut Limits) {
        self.kernel.check(boxes);
        self.run_unchecked(textures, boxes, limits);
    }

    /// Bounds boxes without checking the precondition. The bounds of a box that does not satisfy it
    /// are void.
    pub fn run_unchecked(&mut self, textures: &[&Texture], boxes: &Boxes, limits: &mut Limits) {
        assert_eq!(boxes.batch.rows(), limits.batch.rows(), "there are as many limits as boxes");
        assert_eq!(boxes.batch.ports(), self.boxes.batch.ports(), "boxes were made for the kernel");
        assert_eq!(
            limits.batch.ports(),
            self.limits.batch.ports(),
            "limits were made for the kernel"
        );
        for first in (0..boxes.batch.rows()).step_by(BOXES_PER_BATCH) {
            let count = BOXES_PER_BATCH.min(boxes.batch.rows() - first);
            self.boxes.batch.reshape(boxes.batch.ports(), count * self.ways);
            self.limits.batch.reshape(limits.batch.ports(), count * self.ways);
            for row in 0..count {
                self.split(boxes, first + row);
                self.set(row * self.ways, boxes, first + row);
            }
            self.boxes.batch.truncate(count * self.ways);
            self.kernel.kernel.run(textures, &self.boxes.batch, &mut self.limits.batch);
            for row in 0..count {
                self.unite(row * self.ways, limits, first + row);
            }
        }
    }

    /// Components of a direction of a sub-box.
    fn part(&self, way: usize, direction: usize) -> [[f32; 2]; 3] {
        let at = (way * self.directions.len() + direction) * 3;
        [0, 1, 2].map(|k| self.parts[at + k])
    }

    fn set_part(&mut self, way: usize, direction: usize, endpoints: [[f32; 2]; 3]) {
        let at = (way * self.directions.len() + direction) * 3;
        self.parts[at..at + 3].copy_from_slice(&endpoints);
    }

    /// Finds the sub-boxes of a box; if there are too few, the first ones are repeated.
    fn split(&mut self, boxes: &Boxes, row: usize) {
        let size = 3 * self.directions.len();
        let set_entire = |split: &mut Split, shrink: bool| {
            (0..split.directions.len()).all(|direction| {
                let endpoints =
                    split.directions[direction].0.map(|input| boxes.endpoints(row, input));
                let part = if shrink { unit_hull(endpoints) } else { Some(endpoints) };
                part.inspect(|&part| split.set_part(0, direction, part)).is_some()
            })
        };
        let mut count = 1;
        if set_entire(self, true) {
            for _ in 1..self.ways {
                count += self.split_widest(count);
            }
        } else {
            set_entire(self, false);
        }
        for way in count..self.ways {
            self.parts.copy_within((way - count) * size..(way - count + 1) * size, way * size);
        }
    }

    /// Halves the widest component of a direction among the first `count` sub-boxes. Returns the
    /// number of additional sub-boxes.
    fn split_widest(&mut self, count: usize) -> usize {
        let (mut widest, mut found) = (0.0, None);
        for (way, direction) in (0..count)
            .flat_map(|way| (0..self.directions.len()).map(move |direction| (way, direction)))
        {
            for (k, [low, high]) in self.part(way, direction).into_iter().enumerate() {
                if self.directions[direction].1[k] && high - low > widest {
                    (widest, found) = (high - low, Some((way, direction, k)));
                }
            }
        }
        let Some((way, direction, k)) = found else { return 0 };
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

    /// Stores the sub-boxes of a box, starting at a row.
    fn set(&mut self, first: usize, boxes: &Boxes, row: usize) {
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

    /// Stores the union of the bounds of sub-boxes. NaN, which means unbounded, is kept.
    fn unite(&self, first: usize, limits: &mut Limits, row: usize) {
        let outputs = self.kernel.kernel.outputs();
        for (side, port) in self
            .limits
            .ports
            .iter()
            .flatten()
            .enumerate()
            .filter_map(|(k, port)| Some((k % 2, (*port)?)))
        {
            let endpoints = (first..first + self.ways).map(|row| self.limits.batch.bits(row, port));
            let united = endpoints
                .reduce(|a, b| united(outputs[port].ty, side, a, b))
                .expect("a box has at least one sub-box");
            limits.batch.set_bits(row, port, united);
        }
    }
}

/// One endpoint of the union of two intervals.
fn united(ty: Type, side: usize, a: u32, b: u32) -> u32 {
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
    use crate::bounding::{Frame, Integrand, Ranges, Spans};
    use crate::lift::Options;
    use crate::random::Random;
    use crate::{Arena, Settings, Shader, Target};

    fn kernel() -> BoundingKernel {
        let source = "struct Material {
                /// Reflectance. range: [0, 1], default: 0.5
                kd: f32,
            }
            fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return m.kd * wi; }";
        let shader = Shader::parse("a.wgsl", source).expect("it is sound");
        let integrand =
            Integrand::new(&shader, &Settings::default(), Frame::Local).expect("it compiles");
        let inputs = integrand.inputs(Spans::Light, Ranges::Declared);
        let lifted = integrand.bound(&inputs, &Options::default());
        BoundingKernel::compile(&Arena::new(), &lifted, Target::Interpreter)
            .expect("the target is available")
    }

    #[test]
    fn sub_boxes_hold_all_unit_vectors_of_the_box() {
        let kernel = kernel();
        let random = &mut Random::new(1);
        let mut uniform = |low: f32, high: f32| {
            low + (high - low) * (random.bits() >> 40) as f32 / (1u64 << 24) as f32
        };
        let mut held = 0;
        for case in 0..300 {
            let unit = |v: [f32; 3]| v.map(|x| x / v.iter().map(|x| x * x).sum::<f32>().sqrt());
            let around = unit([(); 3].map(|()| uniform(-1.0, 1.0)));
            let width = 1.5 * 0.5f32.powi(case % 20);
            let wi = around
                .map(|x| [(x - uniform(0.0, width)).max(-1.0), (x + uniform(0.0, width)).min(1.0)]);
            let mut boxes = Boxes::new(&kernel, 1);
            wi.iter().enumerate().for_each(|(input, &endpoints)| boxes.set(0, input, endpoints));
            for ways in [1, 2, 4] {
                let mut split = Split::new(&kernel, ways);
                split.split(&boxes, 0);
                let parts: Vec<_> = (0..ways).map(|way| split.part(way, 0)).collect();
                let within = |part: &[[f32; 2]; 3]| {
                    std::iter::zip(part, wi).all(|(a, b)| b[0] <= a[0] && a[1] <= b[1])
                };
                assert!(parts.iter().all(within), "{wi:?}: {parts:?}");
                for _ in 0..200 {
                    let v = unit(around.map(|x| x + uniform(-width, width)));
                    let contains = |endpoints: &[[f32; 2]; 3]| {
                        std::iter::zip(endpoints, v).all(|([low, high], x)| *low <= x && x <= *high)
                    };
                    if contains(&wi) {
                        held += 1;
                        assert!(parts.iter().any(contains), "{v:?} of {wi:?}: {parts:?}");
                    }
                }
            }
        }
        assert!(held > 30_000, "{held}");
    }

    #[test]
    fn boxes_are_split_where_they_are_widest() {
        let kernel = kernel();
        let parts = |wi: [[f32; 2]; 3], ways: usize| {
            let mut boxes = Boxes::new(&kernel, 1);
            wi.into_iter()
                .enumerate()
                .for_each(|(input, endpoints)| boxes.set(0, input, endpoints));
            let mut split = Split::new(&kernel, ways);
            split.split(&boxes, 0);
            (0..ways).map(|way| split.part(way, 0)).collect::<Vec<_>>()
        };
        // A cap: its quarters. The lower endpoint of z is tighter than that of the box.
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
        // In two, along the longer side.
        let halves = parts([[-0.15, 0.15], [-0.2, 0.2], [0.9, 1.0]], 2);
        assert_eq!(
            halves.iter().map(|part| part[1]).collect::<Vec<_>>(),
            [[-0.2, 0.0], [0.0, 0.2]]
        );
        // All of one direction, and an empty box.
        let point = parts([[0.0, 0.0], [0.6, 0.6], [0.8, 0.8]], 4);
        assert!(point.iter().all(|part| *part == [[0.0; 2], [0.6; 2], [0.8; 2]]), "{point:?}");
        let none = [[0.0, 0.1], [0.0, 0.1], [0.0, 0.1]];
        assert_eq!(parts(none, 2), [none, none]);
    }

    #[test]
    fn unions_keep_nan_as_unbounded() {
        let bits = |x: f32| x.to_bits();
        for (a, b, lo, hi) in
            [(1.0, 2.0, 1.0, 2.0), (2.0, 1.0, 1.0, 2.0), (-0.5, f32::INFINITY, -0.5, f32::INFINITY)]
        {
            assert_eq!(
                [0, 1].map(|side| united(Type::F32, side, bits(a), bits(b))),
                [bits(lo), bits(hi)]
            );
        }
        for (a, b) in [(f32::NAN, 1.0), (1.0, f32::NAN)] {
            assert!(
                [0, 1].iter().all(|&side| f32::from_bits(united(
                    Type::F32,
                    side,
                    bits(a),
                    bits(b)
                ))
                .is_nan())
            );
        }
        assert_eq!([0, 1].map(|side| united(Type::Bool, side, 0, !0)), [0, !0]);
        assert_eq!([0, 1].map(|side| united(Type::I32, side, !0, 3)), [!0, 3]);
    }
}
