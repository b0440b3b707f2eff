//! The code of steps, for columns of points and of boxes.
//!
//! Loops are written out, since closures would be compiled without the target features. Endpoints
//! are those of the [interval lowerings](crate::interval) with NaN suppressed, except for the sign
//! of zero.

use super::lanes::{LANES, Machine, Words};
use super::steps::{Code, FIRST_NAN, FLOAT, NONE, Operand, SECOND_NAN, Source, Step};
use super::tape::{Program, Shared, Tape};
use super::trace::Trace;
use crate::ir::Table;
use fearless_simd::{Simd, SimdBase, SimdMask, f32x8};

/// The bits of a value for eight rows.
pub(super) type Group = [f32; LANES];

/// An argument.
#[derive(Clone, Copy)]
pub(super) enum Elements<'a> {
    Column(&'a [Group]),
    Splat(f32),
}

impl Elements<'_> {
    #[inline(always)]
    pub(super) fn at(&self, group: usize) -> Group {
        match self {
            Elements::Column(column) => column[group],
            Elements::Splat(x) => [*x; LANES],
        }
    }
}

/// A tape in the course of a run.
pub(super) struct Run<'a> {
    pub tape: &'a Tape,
    pub tables: &'a [Table<'a>],
    /// Number of groups of rows.
    pub groups: usize,
    /// The results of steps. For boxes, lower endpoints come first, then as many upper ones.
    pub columns: &'a mut [Vec<Group>],
    pub inputs: &'a [Vec<Group>],
    pub machine: &'a mut Machine,
}

/// `$out = $e`, where `$x` is an element of a column.
macro_rules! map {
    ($out:expr, $a:expr, |$x:ident| $e:expr) => {
        match $a {
            Elements::Column(a) => {
                for (out, a) in $out.iter_mut().zip(a) {
                    for lane in 0..LANES {
                        let $x = a[lane];
                        out[lane] = $e;
                    }
                }
            }
            Elements::Splat($x) => $out.fill([$e; LANES]),
        }
    };
    ($out:expr, $a:expr, $b:expr, |$x:ident, $y:ident| $e:expr) => {
        match ($a, $b) {
            (Elements::Column(a), Elements::Column(b)) => {
                for (out, (a, b)) in $out.iter_mut().zip(a.iter().zip(b)) {
                    for lane in 0..LANES {
                        let ($x, $y) = (a[lane], b[lane]);
                        out[lane] = $e;
                    }
                }
            }
            (Elements::Column(a), Elements::Splat($y)) => {
                for (out, a) in $out.iter_mut().zip(a) {
                    for lane in 0..LANES {
                        let $x = a[lane];
                        out[lane] = $e;
                    }
                }
            }
            (Elements::Splat($x), Elements::Column(b)) => {
                for (out, b) in $out.iter_mut().zip(b) {
                    for lane in 0..LANES {
                        let $y = b[lane];
                        out[lane] = $e;
                    }
                }
            }
            (Elements::Splat($x), Elements::Splat($y)) => $out.fill([$e; LANES]),
        }
    };
}

/// `min` of the op table.
macro_rules! min {
    ($a:expr, $b:expr) => {{
        let (a, b) = ($a, $b);
        if b < a { b } else { a }
    }};
}

/// `max` of the op table.
macro_rules! max {
    ($a:expr, $b:expr) => {{
        let (a, b) = ($a, $b);
        if a < b { b } else { a }
    }};
}

impl Run<'_> {
    fn read(&self, operand: Operand, side: usize) -> Elements<'_> {
        read(&self.tape.shared, self.columns, self.inputs, self.groups, operand, side)
    }

    /// An endpoint of a float. A constant that is NaN counts as 0: endpoints are never NaN.
    #[inline(always)]
    fn end(&self, operand: Operand, side: usize) -> Elements<'_> {
        match self.read(operand, side) {
            Elements::Splat(x) => Elements::Splat(zero(x)),
            column => column,
        }
    }

    /// The values of an output, or one side of its bounds.
    pub(super) fn output(&self, index: usize, side: usize) -> Elements<'_> {
        self.read(self.tape.outputs[index], side)
    }

    /// Evaluates the tape at points.
    #[inline(always)]
    pub(super) fn values<S: Simd>(&mut self, simd: S) {
        for step in self.tape.steps.iter().rev() {
            let mut column = std::mem::take(&mut self.columns[step.dst as usize]);
            let out = &mut column[..self.groups];
            let [a, b, c] = step.args;
            match step.code {
                Code::Copy => map!(out, self.read(a, 0), |x| x),
                Code::Add => map!(out, self.read(a, 0), self.read(b, 0), |x, y| x + y),
                Code::Sub => map!(out, self.read(a, 0), self.read(b, 0), |x, y| x - y),
                Code::Mul => map!(out, self.read(a, 0), self.read(b, 0), |x, y| x * y),
                Code::Div => map!(out, self.read(a, 0), self.read(b, 0), |x, y| x / y),
                Code::Square => map!(out, self.read(a, 0), |x| x * x),
                Code::Neg => map!(out, self.read(a, 0), |x| -x),
                Code::Abs => map!(out, self.read(a, 0), |x| x.abs()),
                Code::Sqrt => map!(out, self.read(a, 0), |x| x.sqrt()),
                Code::Min => map!(out, self.read(a, 0), self.read(b, 0), |x, y| min!(x, y)),
                Code::Max => map!(out, self.read(a, 0), self.read(b, 0), |x, y| max!(x, y)),
                Code::Lt => map!(out, self.read(a, 0), self.read(b, 0), |x, y| mask(x < y)),
                Code::Le => map!(out, self.read(a, 0), self.read(b, 0), |x, y| mask(x <= y)),
                Code::Select => {
                    let (a, b, c) = (self.read(a, 0), self.read(b, 0), self.read(c, 0));
                    for (group, out) in out.iter_mut().enumerate() {
                        let (a, b, c) = (a.at(group), b.at(group), c.at(group));
                        for lane in 0..LANES {
                            out[lane] = if a[lane].to_bits() != 0 { b[lane] } else { c[lane] };
                        }
                    }
                }
                Code::Program | Code::Block => self.program(simd, step, out, None),
            }
            self.columns[step.dst as usize] = column;
        }
    }

    /// Bounds the tape over boxes, and records decided choices.
    #[inline(always)]
    pub(super) fn bounds<S: Simd>(&mut self, simd: S, trace: &mut Trace) {
        for step in self.tape.steps.iter().rev() {
            let mut column = std::mem::take(&mut self.columns[step.dst as usize]);
            let (lo, hi) = column[..2 * self.groups].split_at_mut(self.groups);
            let [a, b, _] = step.args;
            match step.code {
                _ if step.bounds_by_program => self.program(simd, step, lo, Some(hi)),
                Code::Copy if step.flags & FLOAT == 0 => {
                    map!(lo, self.read(a, 0), |x| x);
                    map!(hi, self.read(a, 1), |x| x);
                }
                Code::Copy => {
                    map!(lo, self.end(a, 0), |x| x);
                    map!(hi, self.end(a, 1), |x| x);
                }
                // An endpoint ∞ − ∞ is unbounded.
                Code::Add => {
                    let (min, max) = (f32::NEG_INFINITY, f32::INFINITY);
                    map!(lo, self.end(a, 0), self.end(b, 0), |x, y| max!(min, x + y));
                    map!(hi, self.end(a, 1), self.end(b, 1), |x, y| min!(max, x + y));
                }
                Code::Sub => {
                    let (min, max) = (f32::NEG_INFINITY, f32::INFINITY);
                    map!(lo, self.end(a, 0), self.end(b, 1), |x, y| max!(min, x - y));
                    map!(hi, self.end(a, 1), self.end(b, 0), |x, y| min!(max, x - y));
                }
                Code::Mul | Code::Div => {
                    let ([a, c], [b, d]) =
                        ([0, 1].map(|k| self.end(a, k)), [0, 1].map(|k| self.end(b, k)));
                    let is_product = step.code == Code::Mul;
                    for (group, (lo, hi)) in lo.iter_mut().zip(hi).enumerate() {
                        let (a, c, b, d) = (a.at(group), c.at(group), b.at(group), d.at(group));
                        for lane in 0..LANES {
                            let (a, c, b, d) = (a[lane], c[lane], b[lane], d[lane]);
                            // 0 · ∞, 0 ÷ 0 and ∞ ÷ ∞ are 0 there.
                            let [p, q, r, s] = if is_product {
                                [zero(a * b), zero(a * d), zero(c * b), zero(c * d)]
                            } else {
                                [zero(a / b), zero(a / d), zero(c / b), zero(c / d)]
                            };
                            lo[lane] = min!(min!(p, q), min!(r, s));
                            hi[lane] = max!(max!(p, q), max!(r, s));
                        }
                    }
                }
                Code::Square => {
                    let (a, c) = (self.end(a, 0), self.end(a, 1));
                    map!(lo, a, c, |x, y| {
                        let least = min!(max!(x, 0.0), y);
                        least * least
                    });
                    map!(hi, a, c, |x, y| {
                        let greatest = max!(y, -x);
                        greatest * greatest
                    });
                }
                Code::Neg => {
                    map!(lo, self.end(a, 1), |x| -x);
                    map!(hi, self.end(a, 0), |x| -x);
                }
                Code::Abs => {
                    let (a, c) = (self.end(a, 0), self.end(a, 1));
                    map!(lo, a, c, |x, y| max!(0.0, max!(x, -y)));
                    map!(hi, a, c, |x, y| max!(x.abs(), y.abs()));
                }
                Code::Sqrt => {
                    map!(lo, self.end(a, 0), |x| max!(0.0, x).sqrt());
                    map!(hi, self.end(a, 1), |x| max!(0.0, x).sqrt());
                }
                Code::Min => {
                    map!(lo, self.end(a, 0), self.end(b, 0), |x, y| min!(x, y));
                    // `min` ignores a second argument that is NaN.
                    if step.flags & SECOND_NAN != 0 {
                        map!(hi, self.end(a, 1), |x| x);
                    } else {
                        map!(hi, self.end(a, 1), self.end(b, 1), |x, y| min!(x, y));
                    }
                    let (below, above) =
                        ([a, b].map(|x| self.end(x, 0)), [a, b].map(|x| self.end(x, 1)));
                    self.decide(simd, step, trace, [above[0], below[1]], [above[1], below[0]]);
                }
                Code::Max => {
                    if step.flags & SECOND_NAN != 0 {
                        map!(lo, self.end(a, 0), |x| x);
                    } else {
                        map!(lo, self.end(a, 0), self.end(b, 0), |x, y| max!(x, y));
                    }
                    map!(hi, self.end(a, 1), self.end(b, 1), |x, y| max!(x, y));
                    let (below, above) =
                        ([a, b].map(|x| self.end(x, 0)), [a, b].map(|x| self.end(x, 1)));
                    self.decide(simd, step, trace, [above[1], below[0]], [above[0], below[1]]);
                }
                Code::Lt | Code::Le | Code::Select | Code::Program | Code::Block => {
                    unreachable!("these run programs")
                }
            }
            if step.code == Code::Select {
                self.decide_by_condition(step, trace);
            }
            self.columns[step.dst as usize] = column;
        }
    }

    /// Records whether a minimum or maximum is its first argument, if `first` are ordered by ≤, and
    /// whether it is its second one, if `second` are ordered by <. The second one is never known to
    /// be chosen if the first one may be NaN, which the operation returns.
    #[inline(always)]
    fn decide<S: Simd>(
        &self,
        simd: S,
        step: &Step,
        trace: &mut Trace,
        first: [Elements<'_>; 2],
        second: [Elements<'_>; 2],
    ) {
        let may_be_second = step.flags & FIRST_NAN == 0;
        for group in 0..self.groups {
            let [a, b] = first.map(|words| f32x8::from_slice(simd, &words.at(group)));
            let [c, d] = second.map(|words| f32x8::from_slice(simd, &words.at(group)));
            let is_second = if may_be_second { c.simd_lt(d).to_bitmask() } else { 0 };
            trace.record(step.choice as usize, group, [a.simd_le(b).to_bitmask(), is_second]);
        }
    }

    /// Records which arm of a select its condition decides.
    fn decide_by_condition(&self, step: &Step, trace: &mut Trace) {
        let [must, may] = [0, 1].map(|side| self.read(step.args[0], side));
        for group in 0..self.groups {
            let (must, may) = (must.at(group), may.at(group));
            let mut decided = [0; 2];
            for lane in 0..LANES {
                decided[0] |= u64::from(must[lane].to_bits() != 0) << lane;
                decided[1] |= u64::from(may[lane].to_bits() == 0) << lane;
            }
            trace.record(step.choice as usize, group, decided);
        }
    }

    /// Runs the program of a step: for boxes, if there are upper endpoints to compute.
    #[inline(never)]
    fn program<S: Simd>(
        &mut self,
        simd: S,
        step: &Step,
        out: &mut [Group],
        upper: Option<&mut [Group]>,
    ) {
        debug_assert_ne!(step.program, NONE);
        let Run { tape, tables, groups, columns, inputs, machine } = self;
        let Program { point, bounds, passed } = &tape.shared.programs[step.program as usize];
        let (args, groups) = (tape.args(step), *groups);
        let fill = |argument: usize, side: usize, words: &mut [Words]| {
            let operand = args[passed[argument]];
            let from = read(&tape.shared, columns, inputs, groups, operand, side);
            for (group, words) in words.iter_mut().enumerate() {
                *words = from.at(group).map(f32::to_bits);
            }
        };
        let copy = |from: &[Words], to: &mut [Group]| {
            for (to, from) in to.iter_mut().zip(from) {
                *to = from.map(f32::from_bits);
            }
        };
        let Some(upper) = upper else {
            machine.run(simd, point, tables, groups, |input, words| fill(input, 0, words));
            return copy(machine.output(point, 0), out);
        };
        machine.run(simd, bounds, tables, groups, |input, words| fill(input / 2, input % 2, words));
        copy(machine.output(bounds, 0), out);
        copy(machine.output(bounds, 1), upper);
    }
}

#[inline(always)]
fn read<'a>(
    shared: &Shared,
    columns: &'a [Vec<Group>],
    inputs: &'a [Vec<Group>],
    groups: usize,
    operand: Operand,
    side: usize,
) -> Elements<'a> {
    match operand.source() {
        Source::Slot(slot) => Elements::Column(&columns[slot][side * groups..(side + 1) * groups]),
        Source::Input(input) => {
            Elements::Column(&inputs[input][side * groups..(side + 1) * groups])
        }
        Source::Constant(number) => Elements::Splat(f32::from_bits(shared.constants[number])),
    }
}

/// A bool of the IR.
#[inline(always)]
fn mask(x: bool) -> f32 {
    f32::from_bits(if x { !0 } else { 0 })
}

/// 0 for NaN.
#[inline(always)]
fn zero(x: f32) -> f32 {
    if x.is_nan() { 0.0 } else { x }
}
