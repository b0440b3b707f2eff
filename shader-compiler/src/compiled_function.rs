//! A function of a shader, compiled to be evaluated and bounded: from WGSL text to bounds in one
//! call, with inputs by name and values in columns that the caller owns.
//!
//! The crate's [documentation](crate#any-function) has an example.

use crate::bounding::{
    BoundingKernel, BoundsBatch, BoxBatch, Frame, Integrand, IntervalInputs, Ranges,
};
use crate::compile::Error;
use crate::error::CompileError;
use crate::frontend::{Parameter, Scalar, Settings, Shader};
use crate::ir::{Function, Port, Type};
use crate::jit::Arena;
use crate::kernel::{Batch, Kernel};
use crate::lift::{self, Input, Options};
use crate::passes::{self, derivative};
use crate::relations::{Axis, Relations, SortedComponent};
use crate::target::Target;
use crate::texture::Texture;
use std::cmp::Ordering;

/// Inputs or columns that do not match the function.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum InputError {
    /// There is no input with this name.
    #[error("the function has no input `{name}`; it has {inputs}")]
    Unknown {
        /// The name.
        name: String,
        /// Names of all inputs.
        inputs: String,
    },
    /// An input has neither values nor a default.
    #[error("the input `{0}` has no values; pass a column for it")]
    Missing(String),
    /// A column is neither as long as the results nor of length 1.
    #[error("the column of `{name}` has {found} values, but there are {expected} rows")]
    Length {
        /// Name of the input or output.
        name: String,
        /// Length of the column.
        found: usize,
        /// Number of rows.
        expected: usize,
    },
    /// There is not one column for each output.
    #[error("there are {found} columns for results, but the function has {expected} outputs")]
    Outputs {
        /// Number of columns.
        found: usize,
        /// Number of outputs.
        expected: usize,
    },
    /// The endpoints of an input that is a scalar differ.
    #[error(
        "the input `{0}` is a scalar, but its endpoints differ; name it among the intervals when \
         the function is compiled"
    )]
    NotInterval(String),
    /// The value of an integer input is no such integer.
    #[error("`{name}`: {value} is not of type `{ty}`")]
    NotInteger {
        /// Name of the input.
        name: String,
        /// The value.
        value: f32,
        /// The type in WGSL.
        ty: &'static str,
    },
    /// The lower endpoint of an interval is above the upper one, or one of them is NaN.
    #[error("the interval of `{name}` is empty: from {} to {}", .endpoints[0], .endpoints[1])]
    Empty {
        /// Name of the input.
        name: String,
        /// The endpoints.
        endpoints: [f32; 2],
    },
    /// An input that is declared a unit vector, or sorted, is not.
    #[error("row {row}: {message}")]
    Precondition {
        /// Index of the row.
        row: usize,
        /// What is wrong.
        message: String,
    },
    /// An input that should be a unit vector does not have three floats.
    #[error("the input `{0}` is not a `vec3f`, so it cannot be a unit vector")]
    NotVector(String),
    /// An input whose components should ascend is no vector of floats.
    #[error("the input `{0}` is not a vector of `f32`, so it cannot be sorted")]
    NotSortable(String),
    /// An input to differentiate by is not a float.
    #[error("the input `{0}` is not a float, so it has no derivative")]
    NotFloat(String),
}

/// How to compile a function.
#[derive(Clone, Debug)]
pub struct FunctionOptions {
    /// Inputs that are intervals: names of arguments and parameters, or of their components. `None`:
    /// all of them.
    pub intervals: Option<Vec<String>>,
    /// Inputs by which all float outputs are differentiated, named likewise.
    pub gradient: Vec<String>,
    /// Inputs that are unit vectors, besides those declared with `fact: unit`. Only
    /// [related](crate::relations) bounds depend on it.
    pub unit: Vec<String>,
    /// Inputs that are sorted vectors, x ≤ y ≤ z ≤ w, besides those declared with `fact: sorted`.
    /// Only [related](crate::relations) bounds depend on it.
    pub sorted: Vec<String>,
    /// Static bounds on inputs.
    pub ranges: Ranges,
    /// Settings of the front end.
    pub settings: Settings,
    /// Options of the bounding shader.
    pub bounds: Options,
    /// The machine.
    pub target: Target,
}

impl Default for FunctionOptions {
    fn default() -> FunctionOptions {
        FunctionOptions {
            intervals: None,
            gradient: vec![],
            unit: vec![],
            sorted: vec![],
            ranges: Ranges::Declared,
            settings: Settings::default(),
            bounds: Options::default(),
            target: Target::best(),
        }
    }
}

impl FunctionOptions {
    /// Makes only these inputs intervals.
    pub fn intervals(self, names: &[&str]) -> FunctionOptions {
        let intervals = names.iter().map(|&name| name.to_owned()).collect();
        FunctionOptions { intervals: Some(intervals), ..self }
    }

    /// Adds derivatives by these inputs to the outputs.
    pub fn gradient(self, names: &[&str]) -> FunctionOptions {
        FunctionOptions { gradient: names.iter().map(|&name| name.to_owned()).collect(), ..self }
    }

    /// States that these inputs are unit vectors, to the precision of
    /// [`Axis`], and enables the relations that use it.
    pub fn unit(self, names: &[&str]) -> FunctionOptions {
        let unit = names.iter().map(|&name| name.to_owned()).collect();
        let bounds = Options { relations: Relations::all(), ..self.bounds };
        FunctionOptions { unit, bounds, ..self }
    }

    /// States that the components of these inputs ascend, and enables the relations that use it.
    pub fn sorted(self, names: &[&str]) -> FunctionOptions {
        let sorted = names.iter().map(|&name| name.to_owned()).collect();
        let bounds = Options { relations: Relations::all(), ..self.bounds };
        FunctionOptions { sorted, bounds, ..self }
    }
}

/// A function with its derivatives, as options describe it.
pub(crate) struct Prepared {
    pub point: Function,
    pub inputs: Vec<Input>,
    /// Indices of its outputs.
    pub outputs: Vec<usize>,
    /// Type and default of each input.
    pub declared: Vec<DeclaredInput>,
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
        let outputs: Vec<_> = integrand.outputs.iter().copied().chain(derivatives).collect();
        let declared = shader.arguments().iter().chain(shader.settable());
        let declared = declared.flat_map(DeclaredInput::components).collect();
        Ok(Prepared { point, inputs, outputs, declared })
    }
}

/// A function that can be evaluated and bounded, from any thread.
#[derive(Clone, Debug)]
pub struct CompiledFunction {
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    values: Kernel,
    bounds: BoundingKernel,
    is_interval: Vec<bool>,
    /// Type and default of each input.
    declared: Vec<DeclaredInput>,
}

impl CompiledFunction {
    /// Compiles the function called `function` of a shader. `name` is the file name, for messages.
    ///
    /// # Errors
    /// If the shader is invalid, if an option names an unknown input, or if a derivative does not
    /// exist.
    pub fn compile(
        name: &str,
        source: &str,
        function: &str,
        options: &FunctionOptions,
    ) -> Result<CompiledFunction, Error> {
        Ok(CompiledFunction::new(Prepared::new(name, source, function, options)?, options)?)
    }

    fn new(
        Prepared { point, inputs, outputs, declared }: Prepared,
        options: &FunctionOptions,
    ) -> Result<CompiledFunction, CompileError> {
        let arena = Arena::new();
        let lifted = lift::run(&point, &inputs, &outputs, &options.bounds);
        assert_eq!(declared.len(), inputs.len(), "inputs are components of declared ones");
        Ok(CompiledFunction {
            inputs: lifted.point.inputs.clone(),
            outputs: lifted.point.outputs.clone(),
            values: Kernel::compile(&arena, &passes::lower(&lifted.point), options.target)?,
            bounds: BoundingKernel::compile(&arena, &lifted, options.target)?,
            is_interval: inputs.iter().map(|input| input.interval).collect(),
            declared,
        })
    }

    /// Names of the inputs: components of the arguments, then of the parameters.
    pub fn inputs(&self) -> impl Iterator<Item = &str> {
        self.inputs.iter().map(|port| port.name.as_str())
    }

    /// Names of the outputs: the results, then their derivatives.
    pub fn outputs(&self) -> impl Iterator<Item = &str> {
        self.outputs.iter().map(|port| port.name.as_str())
    }

    /// Evaluates rows of inputs. Each input has a column with a value for each row, or with one for
    /// all rows; without a column, it has its default. `results` has a column for each output,
    /// whose length is the number of rows.
    ///
    /// Integers and bools are passed as floats, here and in [`bound`](Self::bound).
    ///
    /// # Errors
    /// If the columns do not match the function.
    ///
    /// # Panics
    /// If there are fewer textures than the function reads.
    pub fn evaluate(
        &self,
        textures: &[&Texture],
        inputs: &[(&str, &[f32])],
        results: &mut [&mut [f32]],
    ) -> Result<(), InputError> {
        self.check_outputs(results.len())?;
        let rows = self.rows(results.iter().map(|column| column.len()))?;
        let mut batch = Batch::new(self.values.target(), self.inputs.len(), rows);
        for (port, column) in self.columns(inputs, |&column| column, rows)?.enumerate() {
            if let [x] = column[..] {
                batch.fill_port(port, self.word(port, x)?);
                continue;
            }
            for (row, &x) in column.iter().enumerate() {
                batch.set_bits(row, port, self.word(port, x)?);
            }
        }
        let mut outputs = Batch::new(self.values.target(), self.outputs.len(), rows);
        self.values.run(textures, &batch, &mut outputs);
        for (port, column) in results.iter_mut().enumerate() {
            let ty = self.outputs[port].ty;
            for (row, x) in column.iter_mut().enumerate() {
                *x = from_bits(ty, outputs.bits(row, port));
            }
        }
        Ok(())
    }

    /// Bounds the function over boxes. Each input has columns of lower and of upper endpoints,
    /// `results` a column of lower and one of upper bounds for each output.
    ///
    /// For each member of a box within the declared ranges, the values of [`evaluate`](Self::evaluate)
    /// lie within the bounds, without tolerance. [`Nan`](crate::interval::Nan) says how NaN is
    /// treated.
    ///
    /// # Errors
    /// If the columns do not match the function, if the endpoints of a scalar input differ, if an
    /// interval is empty, or if a box has no unit vector or sorted vector for an input that is one, and
    /// bounds depend on it.
    ///
    /// # Panics
    /// If there are fewer textures than the function reads.
    pub fn bound(
        &self,
        textures: &[&Texture],
        boxes: &[(&str, [&[f32]; 2])],
        results: &mut [[&mut [f32]; 2]],
    ) -> Result<(), InputError> {
        self.check_outputs(results.len())?;
        let rows = self.rows(results.iter().flatten().map(|column| column.len()))?;
        let mut batch = BoxBatch::new(&self.bounds, rows);
        let (low, high) = (
            self.columns(boxes, |[low, _]| low, rows)?,
            self.columns(boxes, |[_, high]| high, rows)?,
        );
        for (input, (low, high)) in low.zip(high).enumerate() {
            let at = |column: &[f32], row: usize| match column {
                [x] => *x,
                column => column[row],
            };
            for row in 0..rows {
                let (low, high) = (at(low, row), at(high, row));
                batch.set_bits(row, input, self.interval(input, [low, high])?);
            }
        }
        if let Some(precondition) = self.bounds.precondition() {
            for row in 0..rows {
                let ends = |input| batch.endpoints(row, input);
                precondition.check(ends).map_err(|error| InputError::Precondition {
                    row,
                    message: error.to_string(),
                })?;
            }
        }
        let mut bounds = BoundsBatch::new(&self.bounds, rows);
        self.bounds.run(textures, &batch, &mut bounds);
        for (output, [low, high]) in results.iter_mut().enumerate() {
            let ty = self.outputs[output].ty;
            for row in 0..rows {
                let [lower, upper] = bounds.get_bits(row, output);
                low[row] = lower.map_or(f32::NEG_INFINITY, |bits| from_bits(ty, bits));
                high[row] = upper.map_or(f32::INFINITY, |bits| from_bits(ty, bits));
            }
        }
        Ok(())
    }

    /// The word of a value of an input.
    fn word(&self, input: usize, x: f32) -> Result<u32, InputError> {
        let scalar = self.declared[input].scalar;
        scalar.word(x).ok_or_else(|| InputError::NotInteger {
            name: self.inputs[input].name.clone(),
            value: x,
            ty: scalar.name(),
        })
    }

    /// The words of the endpoints of an input.
    fn interval(&self, input: usize, endpoints: [f32; 2]) -> Result<[u32; 2], InputError> {
        let name = || self.inputs[input].name.clone();
        let [low, high] = endpoints;
        if low.to_bits() != high.to_bits() {
            if !self.is_interval[input] {
                return Err(InputError::NotInterval(name()));
            }
            if !matches!(low.partial_cmp(&high), Some(Ordering::Less | Ordering::Equal)) {
                return Err(InputError::Empty { name: name(), endpoints });
            }
        }
        let words = [self.word(input, low)?, self.word(input, high)?];
        // Intervals of integers are signed.
        let crosses_sign =
            self.declared[input].scalar == Scalar::U32 && words[0] as i32 > words[1] as i32;
        Ok(if crosses_sign { [i32::MIN as u32, i32::MAX as u32] } else { words })
    }

    fn check_outputs(&self, found: usize) -> Result<(), InputError> {
        let expected = self.outputs.len();
        if found == expected { Ok(()) } else { Err(InputError::Outputs { found, expected }) }
    }

    /// The length of the columns of results, which must be equal.
    fn rows(&self, mut lengths: impl Iterator<Item = usize>) -> Result<usize, InputError> {
        let rows = lengths.next().unwrap_or(0);
        match lengths.find(|&length| length != rows) {
            None => Ok(rows),
            Some(found) => {
                let name = self.outputs[0].name.clone();
                Err(InputError::Length { name, found, expected: rows })
            }
        }
    }

    /// The column of each input.
    fn columns<'c, C>(
        &'c self,
        named: &'c [(&str, C)],
        column: impl Fn(&'c C) -> &'c [f32],
        rows: usize,
    ) -> Result<impl Iterator<Item = &'c [f32]>, InputError> {
        let inputs = &self.inputs;
        if let Some((name, _)) =
            named.iter().find(|(name, _)| inputs.iter().all(|port| port.name != *name))
        {
            return Err(unknown(name, inputs));
        }
        let find = |(port, declared): (&Port, &'c DeclaredInput)| {
            let found = named.iter().rev().find(|(name, _)| port.name == *name);
            let values = match (found, &declared.default) {
                (Some((_, found)), _) => column(found),
                (None, Some(default)) => default,
                (None, None) => return Err(InputError::Missing(port.name.clone())),
            };
            match values {
                values if values.len() == rows || values.len() == 1 => Ok(values),
                values => Err(InputError::Length {
                    name: port.name.clone(),
                    found: values.len(),
                    expected: rows,
                }),
            }
        };
        let ports = inputs.iter().zip(&self.declared);
        Ok(ports.map(find).collect::<Result<Vec<_>, _>>()?.into_iter())
    }
}

/// What a shader declares of an input, a component of an argument or of a parameter.
#[derive(Clone, Debug)]
pub(crate) struct DeclaredInput {
    scalar: Scalar,
    default: Option<[f32; 1]>,
}

impl DeclaredInput {
    /// The components of a parameter.
    fn components(parameter: &Parameter) -> impl Iterator<Item = DeclaredInput> + '_ {
        (0..parameter.size).map(|k| DeclaredInput {
            scalar: parameter.scalar,
            default: parameter.default.as_ref().map(|values| [values[k] as f32]),
        })
    }
}

/// 2³¹
const TWO_31: f32 = (1u32 << 31) as f32;

impl Scalar {
    /// The word of a value that is passed as a float; `None` if the type does not have it.
    fn word(self, x: f32) -> Option<u32> {
        let is_integer = x.fract() == 0.0;
        match self {
            Scalar::F32 => Some(x.to_bits()),
            Scalar::Bool if x.is_nan() => None,
            Scalar::Bool => Some(if x == 0.0 { 0 } else { !0 }),
            Scalar::I32 if is_integer && (-TWO_31..TWO_31).contains(&x) => Some(x as i32 as u32),
            Scalar::U32 if is_integer && (0.0..2.0 * TWO_31).contains(&x) => Some(x as u32),
            Scalar::I32 | Scalar::U32 => None,
        }
    }
}

fn unknown(name: &str, inputs: &[Port]) -> InputError {
    let inputs: Vec<_> = inputs.iter().map(|port| format!("`{}`", port.name)).collect();
    InputError::Unknown { name: name.to_owned(), inputs: inputs.join(", ") }
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

pub(crate) fn from_bits(ty: Type, bits: u32) -> f32 {
    match ty {
        Type::F32 => f32::from_bits(bits),
        Type::I32 => bits as i32 as f32,
        Type::Bool => {
            if bits != 0 {
                1.0
            } else {
                0.0
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::Nan;
    use crate::random::Random;

    const SOURCE: &str = "struct Params { k: f32, n: i32 }
        struct Out { value: f32, count: i32, above: bool }
        fn f(a: f32, b: vec2f, m: Params) -> Out {
            var s = a;
            for (var i = 0; i < clamp(m.n, 0, 8); i++) { s = s * m.k + b.x * b.y; }
            return Out(s, i32(4.0 * s) + m.n, s > b.x);
        }";

    fn compile(options: &FunctionOptions) -> Result<CompiledFunction, Error> {
        CompiledFunction::compile("f.wgsl", SOURCE, "f", options)
    }

    #[test]
    fn bounds_contain_values_for_any_subset_of_intervals() {
        let mut random = Random::new(1);
        let mut uniform = || random.below(1 << 24) as f32 / (1 << 24) as f32;
        for intervals in [None, Some(&["b"][..]), Some(&["a", "n"]), Some(&["b.y", "k"]), Some(&[])]
        {
            let options = FunctionOptions::default().gradient(&["a", "b", "k"]);
            let options = match intervals {
                Some(names) => options.intervals(names),
                None => options,
            };
            let function = compile(&options).unwrap();
            let names: Vec<_> = function.inputs().map(str::to_owned).collect();
            assert_eq!(names, ["a", "b.x", "b.y", "k", "n"]);
            let outputs = function.outputs().count();
            assert_eq!(outputs, 3 + 4);
            for _ in 0..50 {
                let boxes: Vec<[f32; 2]> = (0..5)
                    .map(|input| {
                        let low = if input == 4 { (8.0 * uniform()).floor() } else { uniform() };
                        let size = if input == 4 { 2.0 } else { 0.25 * uniform() };
                        [low, low + if function.is_interval[input] { size } else { 0.0 }]
                    })
                    .collect();
                let columns: Vec<_> = names
                    .iter()
                    .map(String::as_str)
                    .zip(boxes.iter().map(|ends| [&ends[..1], &ends[1..]]))
                    .collect();
                let mut bounds = vec![[[0.0]; 2]; outputs];
                let mut results: Vec<_> =
                    bounds.iter_mut().map(|[low, high]| [&mut low[..], &mut high[..]]).collect();
                function.bound(&[], &columns, &mut results).unwrap();
                const ROWS: usize = 20;
                let members: Vec<Vec<f32>> = boxes
                    .iter()
                    .enumerate()
                    .map(|(input, &[low, high])| {
                        let at = |u: f32| (low + (high - low) * u).clamp(low, high);
                        let at = |u| if input == 4 { at(u).round() } else { at(u) };
                        (0..ROWS).map(|_| at(uniform())).collect()
                    })
                    .collect();
                let columns: Vec<_> = names
                    .iter()
                    .map(String::as_str)
                    .zip(members.iter().map(Vec::as_slice))
                    .collect();
                let mut values = vec![[0.0; ROWS]; outputs];
                let mut results: Vec<_> = values.iter_mut().map(|column| &mut column[..]).collect();
                function.evaluate(&[], &columns, &mut results).unwrap();
                for (output, values) in values.iter().enumerate() {
                    let [[low], [high]] = bounds[output];
                    for x in values {
                        assert!(low <= *x && *x <= high, "{output}: {x} is not in {low}..{high}");
                    }
                }
            }
        }
    }

    #[test]
    fn mismatched_columns_are_errors() {
        let function = compile(&FunctionOptions::default().intervals(&["a"])).unwrap();
        let one: &[f32] = &[1.0];
        let all = ["a", "b.x", "b.y", "k", "n"].map(|name| (name, one));
        let run = |inputs: &[(&str, &[f32])], columns: usize| {
            let mut values = vec![[0.0; 2]; columns];
            let mut results: Vec<_> = values.iter_mut().map(|column| &mut column[..]).collect();
            function.evaluate(&[], inputs, &mut results)
        };
        assert_eq!(run(&all, 3), Ok(()));
        assert_eq!(run(&all, 2), Err(InputError::Outputs { found: 2, expected: 3 }));
        assert_eq!(run(&all[1..], 3), Err(InputError::Missing("a".to_owned())));
        let three: &[f32] = &[1.0; 3];
        let long = [&all[..], &[("k", three)]].concat();
        let length = InputError::Length { name: "k".to_owned(), found: 3, expected: 2 };
        assert_eq!(run(&long, 3), Err(length));
        let more = [&all[..], &[("c", one)]].concat();
        assert!(run(&more, 3).unwrap_err().to_string().contains("no input `c`; it has `a`, `b.x`"));
        let ends = ["a", "b.x", "b.y", "k", "n"].map(|name| (name, [one, &[2.0]]));
        let mut bounds = [[[0.0]; 2]; 3];
        let mut results = bounds.each_mut().map(|[low, high]| [&mut low[..], &mut high[..]]);
        let error = function.bound(&[], &ends, &mut results).unwrap_err();
        assert_eq!(error, InputError::NotInterval("b.x".to_owned()));
    }

    #[test]
    fn inputs_without_values_have_their_defaults() {
        let source = "struct Params {
                /// default: 3
                k: f32,
                /// default: (0.5, 0.25)
                b: vec2f,
            }
            fn f(a: f32, m: Params) -> f32 { return a * m.k + m.b.x - m.b.y; }";
        let function =
            CompiledFunction::compile("f.wgsl", source, "f", &FunctionOptions::default()).unwrap();
        let (two, mut values): (&[f32], _) = (&[1.0, 2.0], [0.0; 2]);
        function.evaluate(&[], &[("a", two)], &mut [&mut values]).unwrap();
        assert_eq!(values, [3.25, 6.25]);
        function.evaluate(&[], &[("a", two), ("b.y", &[1.25])], &mut [&mut values]).unwrap();
        assert_eq!(values, [2.25, 5.25]);
        let (mut low, mut high) = ([0.0], [0.0]);
        let boxes: [(&str, [&[f32]; 2]); 1] = [("a", [&[1.0], &[2.0]])];
        function.bound(&[], &boxes, &mut [[&mut low, &mut high]]).unwrap();
        assert_eq!((low, high), ([3.25], [6.25]));
        let missing = function.evaluate(&[], &[], &mut [&mut values]);
        assert_eq!(missing, Err(InputError::Missing("a".to_owned())));
    }

    #[test]
    fn integers_beyond_their_types_and_empty_intervals_are_errors() {
        let source = "fn f(x: f32, i: i32, u: u32, b: bool) -> f32 {
            return select(x, f32(i) + f32(u), b);
        }";
        let function =
            CompiledFunction::compile("f.wgsl", source, "f", &FunctionOptions::default()).unwrap();
        let value = |i: f32, u: f32| {
            let inputs = [("x", 0.0), ("i", i), ("u", u), ("b", 1.0)].map(|(name, x)| (name, [x]));
            let inputs = inputs.each_ref().map(|(name, x)| (*name, &x[..]));
            let mut value = [0.0];
            function.evaluate(&[], &inputs, &mut [&mut value]).map(|()| value[0])
        };
        assert_eq!(value(-3.0, 4e9), Ok(4e9));
        assert_eq!(value(-TWO_31, 0.0), Ok(-TWO_31));
        for (i, u) in [(TWO_31, 0.0), (0.5, 0.0), (f32::NAN, 0.0), (0.0, -1.0), (0.0, 2.0 * TWO_31)]
        {
            assert!(matches!(value(i, u), Err(InputError::NotInteger { .. })), "{i} {u}");
        }
        let bounds = |x: [f32; 2], i: [f32; 2], u: [f32; 2]| {
            let boxes = [("x", x), ("i", i), ("u", u), ("b", [1.0; 2])];
            let boxes = boxes.each_ref().map(|(name, [low, high])| {
                (*name, [std::slice::from_ref(low), std::slice::from_ref(high)])
            });
            let (mut low, mut high) = ([0.0], [0.0]);
            function.bound(&[], &boxes, &mut [[&mut low, &mut high]]).map(|()| [low[0], high[0]])
        };
        // Members on both sides of 2³¹.
        let [low, high] = bounds([0.0; 2], [0.0; 2], [1.0, 3e9]).unwrap();
        assert!(low <= 1.0 && high >= 3e9, "{low} {high}");
        assert_eq!(bounds([0.0; 2], [-2.0, 3.0], [3e9; 2]), Ok([3e9 - 2.0, 3e9 + 3.0]));
        let unrepresentable = bounds([0.0; 2], [0.0, 1e12], [0.0; 2]);
        assert!(matches!(unrepresentable, Err(InputError::NotInteger { .. })));
        for x in [[1.0, 0.0], [f32::NAN, 1.0], [0.0, f32::NAN]] {
            let empty = bounds(x, [0.0; 2], [0.0; 2]);
            assert!(matches!(empty, Err(InputError::Empty { .. })), "{x:?}");
        }
        assert!(bounds([f32::NAN; 2], [0.0; 2], [0.0; 2]).is_ok());
    }

    /// The BRDF of a material is a function like any other.
    #[test]
    fn brdfs_with_a_diffuse_lobe_are_functions() {
        let source = "struct Material {
                /// range: [0, 1], default: 0.5, lobe: diffuse
                kd: f32,
            }
            fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return vec3f(m.kd); }";
        let options = FunctionOptions::default();
        let brdf = CompiledFunction::compile("f.wgsl", source, "brdf", &options).unwrap();
        assert_eq!(brdf.inputs().last(), Some("kd"));
    }

    /// The bounds on the squared length of a vector in a box around +z.
    fn squared_length(declaration: &str, options: &FunctionOptions) -> Result<[f32; 2], Error> {
        let source =
            format!("fn f(s: f32, {declaration} n: vec3f) -> f32 {{ return s * dot(n, n); }}");
        let function = CompiledFunction::compile("f.wgsl", &source, "f", options)?;
        let ends: [[&[f32]; 2]; 4] =
            [[&[1.0], &[1.0]], [&[-0.1], &[0.2]], [&[-0.3], &[0.1]], [&[0.8], &[1.0]]];
        let boxes: Vec<_> = ["s", "n.x", "n.y", "n.z"].into_iter().zip(ends).collect();
        let (mut low, mut high) = ([0.0], [0.0]);
        function.bound(&[], &boxes, &mut [[&mut low, &mut high]])?;
        Ok([low[0], high[0]])
    }

    #[test]
    fn related_bounds_use_unit_vectors_from_declarations_and_options() {
        let related = Options { relations: Relations::all(), ..Options::default() };
        let related = FunctionOptions { bounds: related, ..FunctionOptions::default() };
        let unknown = squared_length("", &related).unwrap();
        assert!(unknown[0] < 0.7 && unknown[1] > 1.1, "{unknown:?}");
        let declared = squared_length("/** fact: unit */", &related).unwrap();
        let stated = squared_length("", &FunctionOptions::default().unit(&["n"])).unwrap();
        let both = squared_length("/** fact: unit */", &related.unit(&["n"])).unwrap();
        for [low, high] in [declared, stated, both] {
            assert!(low <= 1.0 - f32::EPSILON && high >= 1.0 + f32::EPSILON, "{low}..{high}");
            assert!(low > 1.0 - 2e-6 && high < 1.0 + 2e-6, "{low}..{high}");
        }
        // Optimized bounds hold for all vectors.
        let optimized = squared_length("/** fact: unit */", &FunctionOptions::default()).unwrap();
        assert_eq!(optimized, unknown);
    }

    #[test]
    fn boxes_without_unit_vectors_and_other_inputs_are_errors() {
        let options = FunctionOptions::default().unit(&["n"]);
        let source = "fn f(a: vec2f, n: vec3f) -> f32 { return a.x * n.x; }";
        let function = CompiledFunction::compile("f.wgsl", source, "f", &options).unwrap();
        let one: [&[f32]; 2] = [&[0.5]; 2];
        let boxes = ["a.x", "a.y", "n.x", "n.y", "n.z"].map(|name| (name, one));
        let (mut low, mut high) = ([0.0], [0.0]);
        let error = function.bound(&[], &boxes, &mut [[&mut low, &mut high]]).unwrap_err();
        assert!(error.to_string().starts_with("row 0: n is not a unit vector"), "{error}");
        let error = CompiledFunction::compile("f.wgsl", source, "f", &options.unit(&["a"]));
        assert!(error.unwrap_err().to_string().contains("`a` is not a `vec3f`"));
    }

    /// Functions of a sorted vector.
    const OF_SORTED: [&str; 17] = [
        "return v.y - v.x;",
        "return (v.z - v.x) * (v.y - v.w);",
        "return max(v.x, v.y) * min(v.z, v.y);",
        "return 1.0 / (v.y - v.x);",
        "return 1.0 / v.y;",
        "return v.x / v.z;",
        "return v.x / v.w + v.z / v.y;",
        "return select(1.0, -v.y, v.x > v.y) + v.z;",
        "return select(1.0, v.x - v.z, v.x <= v.z) * v.y;",
        "if v.x < v.z { return v.y - v.x; } return v.z - v.w;",
        "if v.x > v.z { return 10.0 + v.x; } return v.y * v.w;",
        "return clamp(v.y, v.x, v.z);",
        "return sqrt(v.w - v.y) + sqrt(v.z - v.y);",
        "return smoothstep(v.x, v.z, v.y);",
        "return (v.x + v.y) * (v.w - v.y) - v.z * v.z;",
        // Some components have no effect.
        "return v.x - v.z;",
        "var x = v.y; for (var i = 0; i < 3; i++) { if x < v.w { x += v.z - v.x; } } return x;",
    ];

    /// An endpoint in the range from −2 to 2, often a special one.
    fn endpoint(random: &mut Random) -> f32 {
        match random.below(8) {
            0 => 0.0,
            1 => -0.0,
            2 => 1.0,
            3 => -2.0,
            4 => f32::from_bits(1),
            _ => 4.0 * (random.bits() >> 40) as f32 / (1u64 << 24) as f32 - 2.0,
        }
    }

    /// Endpoints with a sorted vector between them, for components that are intervals or scalars.
    fn sorted_box(random: &mut Random, is_interval: [bool; 4]) -> [[f32; 2]; 4] {
        loop {
            let ends = is_interval.map(|interval| {
                let [a, b] = [(); 2].map(|()| endpoint(random));
                if interval { [a.min(b), a.max(b)] } else { [a, a] }
            });
            if (0..4).all(|k| ends[..k].iter().all(|end| end[0] <= ends[k][1])) {
                return ends;
            }
        }
    }

    /// A sorted vector in a box.
    fn sorted_member(random: &mut Random, ends: &[[f32; 2]; 4]) -> [f32; 4] {
        let mut previous = f32::NEG_INFINITY;
        let component = |k: usize| {
            let high = ends[k..].iter().map(|end| end[1]).fold(f32::INFINITY, f32::min);
            let low = ends[k][0].max(previous);
            let x = match random.below(4) {
                0 => low,
                1 => high,
                _ => {
                    let t = (random.bits() >> 40) as f32 / (1u64 << 24) as f32;
                    (low + t * (high - low)).clamp(low, high)
                }
            };
            // The sign of a scalar is fixed.
            let x = if ends[k][0].to_bits() == ends[k][1].to_bits() { ends[k][0] } else { x };
            let flips = x == 0.0 && ends[k][0].to_bits() != ends[k][1].to_bits();
            previous = x;
            if flips && random.once_in(2) { -x } else { x }
        };
        let mut component = component;
        [0, 1, 2, 3].map(&mut component)
    }

    fn columns(ends: &[[f32; 2]; 4]) -> Vec<(&'static str, [&[f32]; 2])> {
        let names = ["v.x", "v.y", "v.z", "v.w"];
        let ends = ends.iter().map(|[low, high]| [low, high].map(std::slice::from_ref));
        names.into_iter().zip(ends).collect()
    }

    fn bound_at(function: &CompiledFunction, ends: &[[f32; 2]; 4]) -> Result<[f32; 2], InputError> {
        let (mut low, mut high) = ([0.0], [0.0]);
        function.bound(&[], &columns(ends), &mut [[&mut low, &mut high]])?;
        Ok([low[0], high[0]])
    }

    #[test]
    fn related_bounds_contain_values_of_sorted_vectors() {
        const ROWS: usize = 24;
        let random = &mut Random::new(27);
        let (mut tighter, mut checked) = (0, 0);
        for body in OF_SORTED {
            for (range, nan) in [
                ("range: [-2, 2], ", Nan::Suppress),
                ("", Nan::Suppress),
                ("range: [-2, 2], ", Nan::Propagate),
                ("", Nan::Propagate),
            ] {
                let source =
                    format!("fn f(/** {range}fact: sorted */ v: vec4f) -> f32 {{ {body} }}");
                let names = ["v.x", "v.y", "v.z", "v.w"];
                let mut is_interval = [(); 4].map(|()| !random.once_in(4));
                is_interval[random.below(4)] = true;
                let intervals: Vec<_> =
                    (0..4).filter(|&k| is_interval[k]).map(|k| names[k]).collect();
                let compile = |relations| {
                    let bounds = Options { relations, nan, ..Options::default() };
                    let options = FunctionOptions { bounds, ..FunctionOptions::default() };
                    let options = options.intervals(&intervals);
                    CompiledFunction::compile("f.wgsl", &source, "f", &options).unwrap()
                };
                let [optimized, related] = [Relations::NONE, Relations::all()].map(compile);
                for _ in 0..60 {
                    let ends = sorted_box(random, is_interval);
                    let [low, high] = bound_at(&related, &ends).unwrap();
                    let loose = bound_at(&optimized, &ends).unwrap();
                    tighter += usize::from(low > loose[0] || high < loose[1]);
                    if loose.iter().all(|end| !end.is_nan()) {
                        assert!(low >= loose[0] && high <= loose[1], "{body} {ends:?}");
                    }
                    let members: Vec<_> = (0..ROWS).map(|_| sorted_member(random, &ends)).collect();
                    let rows =
                        [0, 1, 2, 3].map(|k| members.iter().map(|v| v[k]).collect::<Vec<_>>());
                    let rows: Vec<_> =
                        names.into_iter().zip(rows.iter().map(Vec::as_slice)).collect();
                    let mut values = [0.0; ROWS];
                    related.evaluate(&[], &rows, &mut [&mut values]).unwrap();
                    for (v, x) in members.iter().zip(values) {
                        assert!(v.is_sorted(), "{v:?}");
                        // A NaN, or infinite bounds, report that a member of the box may yield NaN.
                        let reports = |end: f32| nan == Nan::Propagate && end.is_nan();
                        let holds = match nan {
                            _ if !x.is_nan() => {
                                (low <= x || reports(low)) && (x <= high || reports(high))
                            }
                            Nan::Propagate => !low.is_finite() || !high.is_finite(),
                            _ => true,
                        };
                        assert!(holds, "{range}{body} {ends:?} {v:?}: {x} in {low}..{high}");
                        checked += 1;
                    }
                }
            }
        }
        assert!(tighter > 1000 && checked > 90_000, "{tighter} {checked}");
    }

    #[test]
    fn sorted_vectors_are_declared_or_stated_and_decide_orders() {
        let bounds = |fact: &str, options: FunctionOptions, body: &str| {
            let source = format!("fn f(/** range: [0, 9]{fact} */ v: vec4f) -> f32 {{ {body} }}");
            let function = CompiledFunction::compile("f.wgsl", &source, "f", &options).unwrap();
            bound_at(&function, &[[1.0, 4.0], [0.0, 2.0], [1.0, 3.0], [0.0, 8.0]]).unwrap()
        };
        let related = Options { relations: Relations::all(), ..Options::default() };
        let related = || FunctionOptions { bounds: related, ..FunctionOptions::default() };
        for (body, sorted, any) in [
            ("return v.x;", [1.0, 2.0], [1.0, 4.0]),
            ("return v.y;", [1.0, 2.0], [0.0, 2.0]),
            ("return v.w;", [1.0, 8.0], [0.0, 8.0]),
            ("return v.y - v.x;", [0.0, 1.0], [-4.0, 1.0]),
            ("return max(v.x, v.z);", [1.0, 3.0], [1.0, 4.0]),
            ("return select(1.0, 0.0, v.x <= v.w);", [0.0, 0.0], [0.0, 1.0]),
        ] {
            let declared = bounds(", fact: sorted", related(), body);
            let stated = bounds("", FunctionOptions::default().sorted(&["v"]), body);
            assert_eq!([declared, stated], [sorted; 2], "{body}");
            assert_eq!(bounds(", fact: sorted", related().sorted(&["v"]), body), sorted);
            assert_eq!(bounds("", related(), body)[1], any[1], "{body}");
            // Optimized bounds hold for all vectors.
            assert_eq!(bounds(", fact: sorted", FunctionOptions::default(), body), any, "{body}");
        }
    }

    #[test]
    fn boxes_without_sorted_vectors_and_scalars_are_errors() {
        let source = "fn f(v: vec4f, a: f32, n: vec2i) -> f32 { return v.y - v.x + a + f32(n.x); }";
        let compile = |name: &str| {
            let options = FunctionOptions::default().sorted(&[name]);
            CompiledFunction::compile("f.wgsl", source, "f", &options)
        };
        let function = compile("v").unwrap();
        let message = |ends: [[f32; 2]; 4]| {
            let mut boxes = columns(&ends);
            let zero: [&[f32]; 2] = [&[0.0]; 2];
            boxes.extend(["a", "n.x", "n.y"].map(|name| (name, zero)));
            let (mut low, mut high) = ([0.0], [0.0]);
            function.bound(&[], &boxes, &mut [[&mut low, &mut high]]).unwrap_err().to_string()
        };
        assert_eq!(
            message([[1.0, 2.0], [1.5, 9.0], [0.0, 1.0], [0.0, 9.0]]),
            "row 0: v is not sorted: a component is 1.5..9, and the next one 0..1"
        );
        assert!(message([[0.0; 2], [f32::NAN; 2], [1.0; 2], [1.0; 2]]).contains("one NaN"));
        assert!(message([[f32::NAN; 2], [0.0; 2], [1.0; 2], [1.0; 2]]).contains("is not sorted"));
        for name in ["a", "n"] {
            let error = compile(name).unwrap_err().to_string();
            assert!(error.contains(&format!("`{name}` is not a vector of `f32`")), "{error}");
        }
    }

    #[test]
    fn unknown_and_integer_inputs_of_options_are_errors() {
        let message = |options| compile(&options).unwrap_err().to_string();
        let options = FunctionOptions::default;
        assert!(message(options().intervals(&["c"])).contains("has no input `c`"));
        assert!(message(options().gradient(&["n"])).contains("`n` is not a float"));
    }
}
