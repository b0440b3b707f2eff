//! Functions that shrink with the box that is looked at.
//!
//! Bounds over a box often show which argument of a minimum or maximum is the result for all
//! members, or which arm of a select or an `if` all of them take. A [`Trace`] records this, and
//! [`Evaluator::prune`] makes from it a [`Tape`] without the arguments and arms that are never
//! chosen. For members of the box, and boxes within it, a pruned tape computes **the same bits** as
//! the whole function, often in a small fraction of the time. So a search that divides boxes pays
//! less and less for each of them (Duff 1992, *Interval Arithmetic and Recursive Subdivision for
//! Implicit Functions and Constructive Solid Geometry*; Keeter 2020, *Massively Parallel Rendering
//! of Complex Closed-Form Implicit Surfaces*).
//!
//! Ifs become selects beforehand, and so have a choice each. A loop whose number of iterations is
//! not known is one step, which is run or removed as a whole.
//!
//! There is no machine code for tapes, which would cost more to generate than it saves: a tape for
//! 256 points may have ten steps. Instead, each step runs over a column of points or boxes. Pruning
//! takes one pass over the steps.
//!
//! A choice is recorded only if it holds for members with NaN, too. A minimum is its first argument
//! where that is NaN, so it is only known to be the second one if the first cannot be NaN: declared
//! ranges help.

//!
//! ```
//! use lightbound_shader::pruning::{Evaluator, Trace};
//! use lightbound_shader::{FunctionOptions, PrunableFunction};
//!
//! let source = "fn sdf(/** range: [-9, 9] */ p: vec3f) -> f32 {
//!     return min(length(p) - 1.0, length(p - vec3f(5.0, 0.0, 0.0)) - 1.0);
//! }";
//! let sdf = PrunableFunction::compile("two.wgsl", source, "sdf", &FunctionOptions::default())?;
//! let (mut evaluator, mut trace) = (Evaluator::new(), Trace::default());
//! // Two boxes, one around each sphere: columns of lower and of upper endpoints for p.x, p.y, p.z.
//! let x: [&[f32]; 2] = [&[-1.5, 3.5], &[1.5, 6.5]];
//! let yz: [&[f32]; 2] = [&[-1.5], &[1.5]];
//! let (mut low, mut high) = ([0.0; 2], [0.0; 2]);
//! let bounds = &mut [[&mut low[..], &mut high[..]]];
//! evaluator.bound(sdf.tape(), &[], &[x, yz, yz], bounds, &mut trace);
//! assert!(low[0] <= -1.0 && high[0] >= 1.5);
//! // In the first box, the second sphere is never the closer one.
//! let first = evaluator.prune(sdf.tape(), &trace, 0);
//! assert!(first.len() < sdf.tape().len() && first.choices() == 0);
//! let mut values = [0.0; 2];
//! evaluator.evaluate(&first, &[], &[&[0.0, 1.5], &[0.0], &[0.0]], &mut [&mut values]);
//! assert_eq!(values, [-1.0, 0.5]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod evaluator;
mod flatten;
mod lanes;
mod prune;
mod run;
mod steps;
mod tape;
mod trace;

pub use evaluator::Evaluator;
pub use tape::Tape;
pub use trace::{MAX_BOXES, Trace};

use crate::compile::Error;
use crate::compiled_function::{FunctionOptions, Prepared};
use crate::frontend::Scalar;
use crate::ir::Function;
use crate::lift::Input;
use prune::Pruner;

/// A function of which parts can be pruned.
#[derive(Clone, Debug)]
pub struct PrunableFunction {
    tape: Tape,
}

impl PrunableFunction {
    /// Prepares the function called `function` of a shader. `name` is the file name, for messages.
    /// All inputs may be intervals, whatever `options` say.
    ///
    /// # Errors
    /// If the shader is invalid, if an option names an unknown input, or if a derivative does not
    /// exist.
    pub fn compile(
        name: &str,
        source: &str,
        function: &str,
        options: &FunctionOptions,
    ) -> Result<PrunableFunction, Error> {
        let Prepared { point, inputs, outputs, declared, output_scalars } =
            Prepared::new(name, source, function, options)?;
        let scalars = [declared.iter().map(|input| input.scalar).collect(), output_scalars];
        Ok(PrunableFunction::with_scalars(&point, &inputs, &outputs, scalars))
    }

    /// Prepares some outputs of a point shader, given by their indices. It must be a result of
    /// [`passes::optimize`](crate::passes::optimize).
    pub fn new(point: &Function, inputs: &[Input], outputs: &[usize]) -> PrunableFunction {
        let input_scalars = point.inputs.iter().map(|port| Scalar::of(port.ty)).collect();
        let output_scalars = outputs.iter().map(|&k| Scalar::of(point.outputs[k].ty)).collect();
        PrunableFunction::with_scalars(point, inputs, outputs, [input_scalars, output_scalars])
    }

    /// Like [`PrunableFunction::new`], with the types of inputs and outputs.
    fn with_scalars(
        point: &Function,
        inputs: &[Input],
        outputs: &[usize],
        scalars: [Vec<Scalar>; 2],
    ) -> PrunableFunction {
        let mut selected = point.clone();
        selected.outputs = outputs.iter().map(|&k| point.outputs[k].clone()).collect();
        selected.body.yields = outputs.iter().map(|&k| point.body.yields[k]).collect();
        let whole = tape::build(&selected, inputs, scalars);
        let mut tape = whole.like();
        Pruner::default().run(&whole, None, &mut tape);
        PrunableFunction { tape }
    }

    /// Names of the inputs: components of the arguments, then of the parameters.
    pub fn inputs(&self) -> impl Iterator<Item = &str> {
        self.tape.shared.inputs.iter().map(|port| port.name.as_str())
    }

    /// Names of the outputs: the results, then their derivatives.
    pub fn outputs(&self) -> impl Iterator<Item = &str> {
        self.tape.shared.outputs.iter().map(|port| port.name.as_str())
    }

    /// The tape of the whole function.
    pub fn tape(&self) -> &Tape {
        &self.tape
    }
}

#[cfg(test)]
mod tests;
