//! Tighter bounds for more work: a box is cut in several along the widest components of its
//! directions, and the sub-boxes are bounded in the lanes of one call (Clarberg et al. 2010 §7
//! leave it open).
//!
//! Each cut halves the widest component of any direction in any sub-box so far; then what is left
//! of that direction shrinks to the [hull](super::directions) of its unit vectors, so that the
//! other components get narrower as well. Every vector v of the box with ||v|²−1| ≤ 2⁻²¹ stays in a
//! sub-box, so that the union of their bounds holds for all members of the box that meet the
//! precondition of [`Axis`](crate::relations::Axis): those whose directions are unit vectors, in
//! naive and in optimized code, too.
//!
//! Sub-boxes lie within the box, and forms are no wider for narrower operands, so that nothing is
//! gained by bounding the whole box as well. (A few functions are not quite monotone, as the sine
//! and the arc tangent; their last bits may be wider.)

use super::directions::shrunk;
use super::{BoundingKernel, Boxes, Limits};
use crate::ir::Type;
use crate::texture::Texture;

/// Bounds boxes by parts: a bounding shader with room for sub-boxes. Each thread has one of its
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
/// let numbers = [0.0, 0.0, 1.0, 0.0].map(|x| [x, x]);
/// for (input, ends) in [x, y, z].into_iter().chain(numbers).enumerate() {
///     boxes.set(0, input, ends);
/// }
/// let [mut whole, mut by_parts] = [0, 1].map(|_| Limits::new(&kernel, 1));
/// kernel.run(&[], &boxes, &mut whole);
/// Split::new(&kernel, 4).run(&[], &boxes, &mut by_parts);
/// let [[lo, hi], [part_lo, part_hi]] = [&whole, &by_parts].map(|limits| limits.get(0, 0));
/// assert!(lo <= part_lo && part_hi <= hi && part_hi - part_lo < hi - lo);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Split {
    kernel: BoundingKernel,
    ways: usize,
    /// For each direction with an interval that can be cut, its inputs, and which of them can.
    directions: Vec<([usize; 3], [bool; 3])>,
    /// Components of the directions of each sub-box of a box.
    parts: Vec<[f32; 2]>,
    /// Sub-boxes of some boxes, those of a box one after the other.
    boxes: Boxes,
    limits: Limits,
}

/// So many boxes are cut at a time: the rows of their sub-boxes fill the lanes of all targets.
const BOXES: usize = 16;

impl Split {
    /// Makes room for so many sub-boxes of a box. Directions are cut that are intervals, and of
    /// whose components no more is known at compile time than where they end, as
    /// [`Integrand::inputs`](super::Integrand::inputs) has it.
    ///
    /// *Panics* if there are no ways.
    pub fn new(kernel: &BoundingKernel, ways: usize) -> Split {
        assert!(ways > 0, "a box is a part of itself");
        let directions = kernel.precondition.directions().iter().map(|direction| {
            let is_cut = |input: usize| kernel.inputs[input].1 && kernel.in_one_piece[input];
            (direction.inputs, direction.inputs.map(is_cut))
        });
        let directions: Vec<_> = directions.filter(|(_, cuts)| cuts.contains(&true)).collect();
        let parts = vec![[0.0; 2]; ways * 3 * directions.len()];
        let (boxes, limits) = (Boxes::new(kernel, BOXES * ways), Limits::new(kernel, BOXES * ways));
        Split { kernel: kernel.clone(), ways, directions, parts, boxes, limits }
    }

    /// Bounds all boxes by their parts, without allocating; `textures` are those of the shader, in
    /// the order of its declarations.
    ///
    /// The bounds hold for members whose directions are unit vectors, as precise as
    /// [`Axis`](crate::relations::Axis) has it. A box that has none is bounded whole.
    ///
    /// *Panics* as [`BoundingKernel::run`] does.
    pub fn run(&mut self, textures: &[&Texture], boxes: &Boxes, limits: &mut Limits) {
        self.kernel.check(boxes);
        self.run_unchecked(textures, boxes, limits);
    }

    /// The same also for boxes that do not meet the precondition, of whose bounds nothing is said.
    pub(crate) fn run_unchecked(
        &mut self,
        textures: &[&Texture],
        boxes: &Boxes,
        limits: &mut Limits,
    ) {
        assert_eq!(boxes.batch.rows(), limits.batch.rows(), "boxes and limits are equally many");
        assert_eq!(boxes.batch.ports(), self.boxes.batch.ports(), "boxes were made for the kernel");
        assert_eq!(
            limits.batch.ports(),
            self.limits.batch.ports(),
            "limits were made for the kernel"
        );
        for first in (0..boxes.batch.rows()).step_by(BOXES) {
            let count = BOXES.min(boxes.batch.rows() - first);
            self.boxes.batch.reshape(boxes.batch.ports(), count * self.ways);
            self.limits.batch.reshape(limits.batch.ports(), count * self.ways);
            for row in 0..count {
                self.cut(boxes, first + row);
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

    fn set_part(&mut self, way: usize, direction: usize, ends: [[f32; 2]; 3]) {
        let at = (way * self.directions.len() + direction) * 3;
        self.parts[at..at + 3].copy_from_slice(&ends);
    }

    /// Finds the sub-boxes of a box; as many as there are not are those at the start again.
    fn cut(&mut self, boxes: &Boxes, row: usize) {
        let size = 3 * self.directions.len();
        let whole = |split: &mut Split, shrink: bool| {
            (0..split.directions.len()).all(|direction| {
                let ends = split.directions[direction].0.map(|input| boxes.ends(row, input));
                let part = if shrink { shrunk(ends) } else { Some(ends) };
                part.inspect(|&part| split.set_part(0, direction, part)).is_some()
            })
        };
        let mut count = 1;
        if whole(self, true) {
            for _ in 1..self.ways {
                count += self.cut_widest(count);
            }
        } else {
            whole(self, false);
        }
        for way in count..self.ways {
            self.parts.copy_within((way - count) * size..(way - count + 1) * size, way * size);
        }
    }

    /// Halves the widest component of a direction among so many sub-boxes. Says how many there are
    /// more.
    fn cut_widest(&mut self, count: usize) -> usize {
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
        let half = |ends: [f32; 2]| {
            let mut half = part;
            half[k] = ends;
            shrunk(half)
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

    /// Writes the sub-boxes of a box from a row on.
    fn set(&mut self, first: usize, boxes: &Boxes, row: usize) {
        let ports = boxes.batch.ports();
        for way in 0..self.ways {
            self.boxes.batch.copy_row(first + way, 0, &boxes.batch, row, 0, ports);
            for direction in 0..self.directions.len() {
                let (inputs, cuts) = self.directions[direction];
                let part = self.part(way, direction);
                for ((input, ends), _) in
                    std::iter::zip(inputs, part).zip(cuts).filter(|(_, cut)| *cut)
                {
                    self.boxes.set(first + way, input, ends);
                }
            }
        }
    }

    /// Writes the union of the bounds of sub-boxes; NaN, which says that there is no bound, stays.
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
            let ends = (first..first + self.ways).map(|row| self.limits.batch.bits(row, port));
            let united =
                ends.reduce(|a, b| united(outputs[port].ty, side, a, b)).expect("there is a way");
            limits.batch.set_bits(row, port, united);
        }
    }
}

/// The end on a side of the union of what has these ends there.
fn united(ty: Type, side: usize, a: u32, b: u32) -> u32 {
    let first = match ty {
        Type::F32 => {
            let [x, y] = [a, b].map(f32::from_bits);
            x.is_nan() || if side == 0 { x <= y } else { x >= y }
        }
        // Truth values are 0 or all bits, and ordered with false first.
        Type::Bool => (side == 0) == (a == 0),
        Type::I32 => (side == 0) == (a as i32 <= b as i32),
    };
    if first { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounding::{Frame, Integrand, Ranges, Spans};
    use crate::cost::boxes::{Drawn, draw};
    use crate::interval::Nan;
    use crate::ir::random::Random;
    use crate::lift::{Options, Sides};
    use crate::relations::Relations;
    use crate::{Arena, Kernel, Settings, Shader, Target, passes};

    const SHADER: &str = "struct Material {
            /// Exponent. range: [1, 1000], default: 50
            exponent: f32,
        }
        fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
            let h = normalize(wi + wo);
            let lobe = pow(max(wi.z * wo.z - wi.x * wo.x - wi.y * wo.y, 0.0), m.exponent);
            return vec3f(lobe, pow(max(h.z, 0.0), 20.0) / max(wi.z, 0.1), wi.x * wo.y - 0.5 * wi.y);
        }";

    fn kernel(
        shader: &Shader,
        frame: Frame,
        spans: Spans,
        options: &Options,
        target: Target,
    ) -> (Integrand, BoundingKernel) {
        let integrand = Integrand::new(shader, &Settings::default(), frame).expect("it compiles");
        let lifted = integrand.bound(&integrand.inputs(spans, Ranges::Declared), options);
        let kernel = BoundingKernel::compile(&Arena::new(), &lifted, target)
            .expect("the target is available");
        (integrand, kernel)
    }

    fn boxes(kernel: &BoundingKernel, drawn: &[Drawn]) -> Boxes {
        let mut boxes = Boxes::new(kernel, drawn.len());
        for (row, drawn) in drawn.iter().enumerate() {
            drawn
                .ends
                .iter()
                .enumerate()
                .for_each(|(input, &ends)| boxes.set_bits(row, input, ends));
        }
        boxes
    }

    #[test]
    fn sub_boxes_hold_all_unit_vectors_of_the_box() {
        let shader = Shader::parse("a.wgsl", SHADER).expect("it is sound");
        let (_, kernel) =
            kernel(&shader, Frame::Local, Spans::Light, &Options::default(), Target::Interpreter);
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
            wi.iter().enumerate().for_each(|(input, &ends)| boxes.set(0, input, ends));
            for ways in [1, 2, 4] {
                let mut split = Split::new(&kernel, ways);
                split.cut(&boxes, 0);
                let parts: Vec<_> = (0..ways).map(|way| split.part(way, 0)).collect();
                let within = |part: &[[f32; 2]; 3]| {
                    std::iter::zip(part, wi).all(|(a, b)| b[0] <= a[0] && a[1] <= b[1])
                };
                assert!(parts.iter().all(within), "{wi:?}: {parts:?}");
                for _ in 0..200 {
                    let v = unit(around.map(|x| x + uniform(-width, width)));
                    let contains = |ends: &[[f32; 2]; 3]| {
                        std::iter::zip(ends, v).all(|([low, high], x)| *low <= x && x <= *high)
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
    fn cuts_are_where_boxes_are_widest() {
        let shader = Shader::parse("a.wgsl", SHADER).expect("it is sound");
        let (_, kernel) =
            kernel(&shader, Frame::Local, Spans::Light, &Options::default(), Target::Interpreter);
        let parts = |wi: [[f32; 2]; 3], ways: usize| {
            let mut boxes = Boxes::new(&kernel, 1);
            wi.into_iter().enumerate().for_each(|(input, ends)| boxes.set(0, input, ends));
            let mut split = Split::new(&kernel, ways);
            split.cut(&boxes, 0);
            (0..ways).map(|way| split.part(way, 0)).collect::<Vec<_>>()
        };
        // A cap: its quarters. The lower end of z is known better than that of the box.
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
        // All of one direction, and nothing at all.
        let point = parts([[0.0, 0.0], [0.6, 0.6], [0.8, 0.8]], 4);
        assert!(point.iter().all(|part| *part == [[0.0; 2], [0.6; 2], [0.8; 2]]), "{point:?}");
        let none = [[0.0, 0.1], [0.0, 0.1], [0.0, 0.1]];
        assert_eq!(parts(none, 2), [none, none]);
    }

    #[test]
    fn bounds_by_parts_hold_and_are_no_wider() {
        let shader = Shader::parse("a.wgsl", SHADER).expect("it is sound");
        // More than are cut at a time, and no full group.
        const COUNT: usize = 37;
        for target in Target::ALL.into_iter().filter(|target| target.is_available()) {
            for (frame, spans) in [
                (Frame::Local, Spans::Light),
                (Frame::World, Spans::Light),
                (Frame::World, Spans::All),
            ] {
                for (relations, sides) in [
                    (Relations::NONE, Sides::Both),
                    (Relations::all(), Sides::Both),
                    (Relations::all(), Sides::Upper),
                ] {
                    let options =
                        Options { relations, sides, nan: Nan::Suppress, ..Options::default() };
                    let (integrand, kernel) = kernel(&shader, frame, spans, &options, target);
                    let drawn = draw(&shader, frame, spans, COUNT, 5);
                    let boxes = boxes(&kernel, &drawn);
                    let point =
                        Kernel::compile(&Arena::new(), &passes::lower(&integrand.point), target)
                            .expect("it runs");
                    let mut members = crate::Batch::new(target, point.inputs().len(), COUNT);
                    let mut values = crate::Batch::new(target, point.outputs().len(), COUNT);
                    drawn
                        .iter()
                        .enumerate()
                        .for_each(|(row, drawn)| members.set_row(row, 0, &drawn.member));
                    point.run(&[], &members, &mut values);
                    let mut whole = Limits::new(&kernel, COUNT);
                    kernel.run(&[], &boxes, &mut whole);
                    let mut widths = [0.0; 3];
                    for (k, ways) in [1, 2, 4].into_iter().enumerate() {
                        let (mut split, mut limits) =
                            (Split::new(&kernel, ways), Limits::new(&kernel, COUNT));
                        split.run(&[], &boxes, &mut limits);
                        for (row, output) in
                            (0..COUNT).flat_map(|row| (0..3).map(move |output| (row, output)))
                        {
                            let ([lo, hi], [whole_lo, whole_hi]) =
                                (limits.get(row, output), whole.get(row, output));
                            let x = values.get(row, output);
                            assert!(
                                lo <= x && x <= hi,
                                "{target}, {ways} ways, row {row}: {x} is not in [{lo}, {hi}]"
                            );
                            // What relations and some functions give need not be monotone to the
                            // last bit.
                            let ulps = whole_hi.abs() * 1e-5;
                            assert!(
                                whole_lo - ulps <= lo && hi <= whole_hi + ulps,
                                "{target}, {ways} ways, row {row}: {hi}"
                            );
                            widths[k] +=
                                if output == 0 { f64::from(hi / whole_hi.max(1e-20)) } else { 0.0 };
                        }
                        let mut again = Limits::new(&kernel, COUNT);
                        split.clone().run(&[], &boxes, &mut again);
                        assert_eq!(limits.batch.words(), again.batch.words(), "the same each time");
                    }
                    assert!(
                        widths[2] < widths[1] && widths[1] < widths[0],
                        "{frame:?} {spans:?} {relations:?}: {widths:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn unions_keep_what_says_that_there_is_no_bound() {
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
