//! A function, its derivatives and facts about its inputs, before it is compiled.

use super::error::unknown;
use super::values::DeclaredInput;
use super::{FunctionOptions, InputError};
use crate::bounding::{Frame, Integrand, IntervalInputs};
use crate::compile::Error;
use crate::frontend::{Scalar, Shader};
use crate::ir::{Function, Port, Type};
use crate::lift::Input;
use crate::passes::derivative;
use crate::relations::{Axis, SortedComponent};

/// A function with its derivatives, as options describe it.
pub(crate) struct Prepared {
    pub point: Function,
    pub inputs: Vec<Input>,
    /// Indices of its outputs.
    pub outputs: Vec<usize>,
    /// Type and default of each input.
    pub declared: Vec<DeclaredInput>,
    /// Type of each of the outputs.
    pub output_scalars: Vec<Scalar>,
}

impl Prepared {
    pub(crate) fn new(
        name: &str,
        source: &str,
        function: &str,
        options: &FunctionOptions,
    ) -> Result<Prepared, Error> {
        let shader = Shader::parse_function(name, source, function)?;
        let integrand = Integrand::new(&shader, &options.settings, Frame::Local)?;
        let mut inputs = integrand.inputs(IntervalInputs::All, options.ranges);
        if let Some(names) = &options.intervals {
            inputs.iter_mut().for_each(|input| input.interval = false);
            for name in names {
                for input in find_inputs(&integrand.point, name)? {
                    inputs[input].interval = true;
                }
            }
        }
        for name in &options.unit {
            let found = find_inputs(&integrand.point, name)?;
            let are_floats = found.iter().all(|&k| integrand.point.inputs[k].ty == Type::F32);
            if found.len() != 3 || !are_floats {
                return Err(InputError::NotVector(name.clone()).into());
            }
            if inputs[found[0]].axis.is_some() {
                continue;
            }
            let axes = inputs.iter().filter_map(|input| input.axis);
            let vector = axes.map(|axis| axis.vector + 1).max().unwrap_or(0);
            for (component, k) in found.into_iter().enumerate() {
                inputs[k].axis = Some(Axis { vector, component, frame: false, above: false });
            }
        }
        for name in &options.sorted {
            let found = find_inputs(&integrand.point, name)?;
            let are_floats = found.iter().all(|&k| integrand.point.inputs[k].ty == Type::F32);
            if found.len() < 2 || !are_floats {
                return Err(InputError::NotSortable(name.clone()).into());
            }
            if inputs[found[0]].sorted.is_some() {
                continue;
            }
            let sorted = inputs.iter().filter_map(|input| input.sorted);
            let vector = sorted.map(|sorted| sorted.vector + 1).max().unwrap_or(0);
            for (component, k) in found.into_iter().enumerate() {
                inputs[k].sorted = Some(SortedComponent { vector, component });
            }
        }
        let mut by = vec![];
        for name in &options.gradient {
            by.extend(find_inputs(&integrand.point, name)?);
        }
        if let Some(&input) = by.iter().find(|&&k| integrand.point.inputs[k].ty != Type::F32) {
            return Err(InputError::NotFloat(integrand.point.inputs[input].name.clone()).into());
        }
        let floats = |&output: &usize| integrand.point.outputs[output].ty == Type::F32;
        let floats: Vec<_> = integrand.outputs.iter().copied().filter(floats).collect();
        let point = derivative::run(&integrand.point, &by, &floats)?;
        let derivatives = integrand.point.outputs.len()..point.outputs.len();
        let derived = vec![Scalar::F32; derivatives.len()];
        let output_scalars = shader.output_scalars(integrand.outputs.len());
        let output_scalars = output_scalars.into_iter().chain(derived).collect();
        let outputs: Vec<_> = integrand.outputs.iter().copied().chain(derivatives).collect();
        let declared = shader.arguments().iter().chain(shader.settable());
        let declared = declared.flat_map(DeclaredInput::components).collect();
        Ok(Prepared { point, inputs, outputs, declared, output_scalars })
    }
}

/// Finds an input by the name of a component or of a vector.
fn find_inputs(function: &Function, name: &str) -> Result<Vec<usize>, InputError> {
    let is_named = |port: &Port| {
        let rest = port.name.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let inputs = function.inputs.iter().enumerate();
    let found: Vec<_> = inputs.filter(|(_, port)| is_named(port)).map(|(k, _)| k).collect();
    if found.is_empty() { Err(unknown(name, &function.inputs)) } else { Ok(found) }
}
