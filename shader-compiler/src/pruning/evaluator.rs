//! Runs tapes over columns of points, and over columns of boxes.
//!
//! Each step runs over all rows before the next one. So the cost of dispatch is shared by hundreds
//! of points, and no tape has to be compiled.

use super::lanes::{LANES, Machine};
use super::prune::Pruner;
use super::run::{Elements, Group, Run};
use super::tape::Tape;
use super::trace::{MAX_BOXES, Trace};
use crate::frontend::Scalar;
use crate::ir::Table;
use crate::kernel::with_tables;
use crate::texture::Texture;
use fearless_simd::{Level, dispatch};

/// Number of points for which a step runs at a time: columns of a typical tape fit the L1 cache.
const POINTS: usize = 256;

/// Memory for running and pruning tapes, for one thread. It grows to the largest tape.
#[derive(Debug)]
pub struct Evaluator {
    level: Level,
    /// The results of steps. For boxes, lower endpoints come first.
    columns: Vec<Vec<Group>>,
    inputs: Vec<Vec<Group>>,
    machine: Machine,
    pruner: Pruner,
}

impl Default for Evaluator {
    fn default() -> Evaluator {
        Evaluator {
            level: Level::new(),
            columns: vec![],
            inputs: vec![],
            machine: Machine::default(),
            pruner: Pruner::default(),
        }
    }
}

impl Evaluator {
    /// Creates an evaluator without memory.
    pub fn new() -> Evaluator {
        Evaluator::default()
    }

    /// Evaluates a tape at points. Inputs are columns in the order of
    /// [`PrunableFunction::inputs`](super::PrunableFunction::inputs), with a value for each row or
    /// with one for all of them. `results` has a column for each output.
    ///
    /// The points must be members of the box for which the tape was pruned. Then the results have
    /// the bits of those of the whole function.
    ///
    /// # Panics
    /// If the columns do not match the function, or if there are fewer textures than it reads.
    pub fn evaluate(
        &mut self,
        tape: &Tape,
        textures: &[&Texture],
        inputs: &[&[f32]],
        results: &mut [&mut [f32]],
    ) {
        with_tables(textures, tape.shared.tables, |tables| {
            self.evaluate_on(tape, tables, inputs, results);
        });
    }

    /// The same as [`evaluate`](Self::evaluate), with tables instead of textures.
    ///
    /// # Panics
    /// Under the conditions of [`evaluate`](Self::evaluate).
    pub fn evaluate_on(
        &mut self,
        tape: &Tape,
        tables: &[Table<'_>],
        inputs: &[&[f32]],
        results: &mut [&mut [f32]],
    ) {
        let lengths: Vec<_> = results.iter().map(|column| column.len()).collect();
        let rows = check(tape, 1, inputs.iter(), &lengths);
        for start in (0..rows).step_by(POINTS) {
            let count = POINTS.min(rows - start);
            let groups = count.div_ceil(LANES);
            self.resize(tape, groups);
            for (k, column) in inputs.iter().enumerate() {
                let into = &mut self.inputs[k][..groups];
                fill(into, part(column, start, count));
                let scalar = tape.shared.scalars[0][k];
                if scalar != Scalar::F32 {
                    let to_word = |x: &mut f32| *x = f32::from_bits(word(scalar, *x));
                    into.as_flattened_mut().iter_mut().for_each(to_word);
                }
            }
            let mut run = Run {
                tape,
                tables,
                groups,
                columns: &mut self.columns,
                inputs: &self.inputs,
                machine: &mut self.machine,
            };
            dispatch!(self.level, simd => run.values(simd));
            for (k, column) in results.iter_mut().enumerate() {
                let column = &mut column[start..start + count];
                extract(run.output(k, 0), column);
                let scalar = tape.shared.scalars[1][k];
                if scalar != Scalar::F32 {
                    column.iter_mut().for_each(|x| *x = scalar.value(x.to_bits()));
                }
            }
        }
    }

    /// Bounds a tape over up to [`MAX_BOXES`] boxes, and records which choices they decide. Inputs
    /// are columns of lower and upper endpoints, as for [`evaluate`](Self::evaluate).
    ///
    /// The boxes must lie within the box for which the tape was pruned. NaN is suppressed: bounds
    /// hold for all results that are not NaN.
    ///
    /// # Panics
    /// If there are too many boxes, if the columns do not match the function, if an endpoint is not
    /// of the type of its input, or if there are fewer textures than it reads.
    pub fn bound(
        &mut self,
        tape: &Tape,
        textures: &[&Texture],
        boxes: &[[&[f32]; 2]],
        results: &mut [[&mut [f32]; 2]],
        trace: &mut Trace,
    ) {
        with_tables(textures, tape.shared.tables, |tables| {
            self.bound_on(tape, tables, boxes, results, trace);
        });
    }

    /// The same as [`bound`](Self::bound), with tables instead of textures.
    ///
    /// # Panics
    /// Under the conditions of [`bound`](Self::bound).
    pub fn bound_on(
        &mut self,
        tape: &Tape,
        tables: &[Table<'_>],
        boxes: &[[&[f32]; 2]],
        results: &mut [[&mut [f32]; 2]],
        trace: &mut Trace,
    ) {
        let lengths: Vec<_> = results.iter().flatten().map(|column| column.len()).collect();
        let rows = check(tape, 2, boxes.iter().flatten(), &lengths);
        assert!(rows <= MAX_BOXES, "at most {MAX_BOXES} boxes, not {rows}");
        trace.reset(tape.choices);
        if rows == 0 {
            return;
        }
        let groups = rows.div_ceil(LANES);
        self.resize(tape, 2 * groups);
        for (k, ends) in boxes.iter().enumerate() {
            let (low, high) = self.inputs[k][..2 * groups].split_at_mut(groups);
            fill(low, part(ends[0], 0, rows));
            fill(high, part(ends[1], 0, rows));
            let scalar = tape.shared.scalars[0][k];
            if scalar != Scalar::F32 {
                for (low, high) in low.as_flattened_mut().iter_mut().zip(high.as_flattened_mut()) {
                    let words = scalar.interval([*low, *high]);
                    let words = words.unwrap_or_else(|x| not_of_type(scalar, x));
                    [*low, *high] = words.map(f32::from_bits);
                }
            }
        }
        let mut run = Run {
            tape,
            tables,
            groups,
            columns: &mut self.columns,
            inputs: &self.inputs,
            machine: &mut self.machine,
        };
        dispatch!(self.level, simd => run.bounds(simd, trace));
        for (k, ends) in results.iter_mut().enumerate() {
            for (side, column) in ends.iter_mut().enumerate() {
                extract(run.output(k, side), column);
            }
            let scalar = tape.shared.scalars[1][k];
            if scalar != Scalar::F32 {
                let [low, high] = ends;
                for (low, high) in low.iter_mut().zip(high.iter_mut()) {
                    [*low, *high] = scalar.endpoints([*low, *high].map(|x| Some(x.to_bits())));
                }
            }
        }
    }

    /// Prunes a tape for the members of a box, given by its row in a trace of this tape.
    ///
    /// # Panics
    /// If the trace is of another tape.
    pub fn prune(&mut self, tape: &Tape, trace: &Trace, row: usize) -> Tape {
        let mut pruned = tape.like();
        self.prune_into(tape, trace, row, &mut pruned);
        pruned
    }

    /// Like [`prune`](Self::prune), but reuses the memory of a tape.
    ///
    /// # Panics
    /// If the trace is of another tape.
    pub fn prune_into(&mut self, tape: &Tape, trace: &Trace, row: usize, into: &mut Tape) {
        self.pruner.run(tape, Some((trace, row)), into);
    }

    /// Makes room for columns of this many groups.
    fn resize(&mut self, tape: &Tape, groups: usize) {
        let grow = |columns: &mut Vec<Vec<Group>>, count: usize| {
            if columns.len() < count {
                columns.resize(count, vec![]);
            }
            for column in &mut columns[..count] {
                if column.len() < groups {
                    column.resize(groups, [0.0; LANES]);
                }
            }
        };
        grow(&mut self.columns, tape.slots);
        grow(&mut self.inputs, tape.shared.inputs.len());
    }
}

/// Checks columns of inputs, given the lengths of the columns of results, of which there are
/// `sides` for each output. Returns the number of rows.
fn check<'c>(
    tape: &Tape,
    sides: usize,
    mut inputs: impl Iterator<Item = &'c &'c [f32]>,
    outputs: &[usize],
) -> usize {
    let rows = outputs.first().copied().unwrap_or(0);
    let expected = sides * tape.shared.outputs.len();
    assert_eq!(outputs.len(), expected, "the numbers of columns and outputs differ");
    assert!(outputs.iter().all(|&len| len == rows), "the lengths of columns differ");
    let count = inputs
        .by_ref()
        .inspect(|column| {
            let fits = column.len() == rows || column.len() == 1;
            assert!(fits, "a column has {} rows, not {rows}", column.len());
        })
        .count();
    assert_eq!(count, sides * tape.shared.inputs.len(), "the numbers of columns and inputs differ");
    rows
}

/// Rows of a column, or its only value.
fn part(column: &[f32], start: usize, count: usize) -> &[f32] {
    if column.len() == 1 { column } else { &column[start..start + count] }
}

/// The word of a value that is passed as a float.
///
/// # Panics
/// If the type does not have the value.
pub(super) fn word(scalar: Scalar, x: f32) -> u32 {
    scalar.word(x).unwrap_or_else(|| not_of_type(scalar, x))
}

fn not_of_type<T>(scalar: Scalar, x: f32) -> T {
    panic!("{x} is not of type `{}`", scalar.name())
}

/// Fills a column of an input, and repeats its last value.
fn fill(into: &mut [Group], values: &[f32]) {
    let (rows, rest) = into.as_flattened_mut().split_at_mut(values.len());
    rows.copy_from_slice(values);
    rest.fill(rows[rows.len() - 1]);
}

/// Copies an output, or one side of its bounds, to the caller's column.
fn extract(elements: Elements<'_>, column: &mut [f32]) {
    match elements {
        Elements::Column(groups) => {
            column.copy_from_slice(&groups.as_flattened()[..column.len()]);
        }
        Elements::Splat(x) => column.fill(x),
    }
}
