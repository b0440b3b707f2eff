//! Joins optimized functions into one, so that common subexpressions are computed once.
//!
//! Only exact simplifications apply, so all outputs are bit-identical to those of the parts.

use crate::builder::rewrite::{append, remove_dead_code};
use crate::builder::{Builder, Rules};
use crate::ir::{Emit, Function, Op, Port, Value};

/// Name of the output that tells whether a loop reached its cap.
pub(crate) const CAPPED: &str = "capped";

/// A function under construction, assembled from other functions.
pub(crate) struct JoinedFunction {
    pub builder: Builder,
    pub inputs: Vec<Value>,
    /// Whether any appended function reached a loop cap, if one of them can.
    capped: Option<Value>,
}

impl JoinedFunction {
    /// Starts a function with these inputs.
    pub fn new(name: &str, inputs: &[Port]) -> JoinedFunction {
        let mut builder = Builder::new(name, Rules::Exact);
        let inputs = inputs.iter().map(|port| builder.input(&port.name, port.ty)).collect();
        JoinedFunction { builder, inputs, capped: None }
    }

    /// Appends a function, and returns its outputs without `capped`.
    pub fn append(&mut self, function: &Function, inputs: &[Value]) -> Vec<Value> {
        let builder = std::mem::replace(&mut self.builder, Builder::new("", Rules::Exact));
        let (builder, mut outputs) =
            append(function, builder, inputs, |b: &mut Builder, op, args: &[Value]| b.op(op, args));
        self.builder = builder;
        if let Some(port) = function.outputs.iter().position(|port| port.name == CAPPED) {
            let capped = outputs.remove(port);
            self.capped = Some(match self.capped {
                Some(previous) => self.builder.op(Op::BOr, &[previous, capped]),
                None => capped,
            });
        }
        outputs
    }

    /// Finishes the function. Its last output is `capped`, if a loop may reach its cap.
    pub fn finish(self, outputs: impl Iterator<Item = (String, Value)>) -> Function {
        let capped = self.capped.map(|capped| (CAPPED.to_owned(), capped));
        let mut function = self.builder.finish(outputs.chain(capped));
        remove_dead_code(&mut function);
        function
    }
}
