//! The point shaders to check: operations, materials and random functions.

use super::patterns;
use lightbound_shader::bounding::{Integrand, IntervalInputs, Ranges};
use lightbound_shader::builder::{Builder, Rules};
use lightbound_shader::interval::{Bools, Bounds, Floats, Pieces};
use lightbound_shader::ir::function::Port;
use lightbound_shader::ir::{Def, Emit, Function, Op, Stmt, Type, Value};
use lightbound_shader::lift::{self, Input};
use lightbound_shader::passes;
use lightbound_shader::random::Random;
use lightbound_shader::relations::Relations;
use lightbound_shader::testing::random::{self, Options, word};
use lightbound_shader::texture::{SamplerState, TextureState};
use lightbound_shader::{Settings, Shader};

/// A point shader, descriptions of its inputs, and the outputs to bound. Its texture tables are
/// `testing::random::tables`.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Name for messages. It says how to reproduce the subject.
    pub name: String,
    /// The point shader.
    pub point: Function,
    /// Descriptions of the point shader's inputs.
    pub inputs: Vec<Input>,
    /// Indices of the bounded outputs.
    pub outputs: Vec<usize>,
}

/// Name of the output that is NaN if a NaN was seen, and 0 otherwise.
pub(super) const NAN_SEEN: &str = "nan_seen";

impl Subject {
    /// Returns a subject that bounds all outputs of a point shader.
    pub fn new(name: String, point: Function, inputs: Vec<Input>) -> Subject {
        let outputs = (0..point.outputs.len()).collect();
        Subject { name, point, inputs, outputs }.with_nan_seen()
    }

    /// Returns the settings of a shader whose textures are the first of the tables.
    pub fn settings(shader: &Shader, loop_cap: u32) -> Settings {
        let state = |format| TextureState { sampler: SamplerState::default(), format };
        let states = random::images().into_iter().map(|image| state(image.format()));
        let textures = std::iter::zip(shader.textures().iter().cloned(), states).collect();
        Settings { loop_cap, textures, ..Settings::default() }
    }

    /// Returns an operation on random inputs: intervals, point intervals, shared inputs and
    /// constants, with various known bounds.
    pub fn op(op: Op, seed: u64) -> Subject {
        let random = &mut Random::new(seed);
        let signature = op.signature();
        let any = *random.pick(&[Type::F32, Type::F32, Type::I32, Type::Bool]);
        let mut builder = Builder::new(op.name(), Rules::Exact);
        let mut args: Vec<Value> = vec![];
        for (k, ty) in signature.args.iter().enumerate() {
            let ty = ty.unwrap_or(any);
            let shared = args.iter().copied().find(|&arg| builder.ty(arg) == ty);
            let arg = match shared {
                _ if op.is_load() && k == 0 => {
                    builder.i32(random::table_operand(random, op) as i32)
                }
                Some(arg) if random.once_in(8) && !(op.is_load() && k == 1) => arg,
                _ if k > 0 && random.once_in(8) => {
                    let bits = random_non_nan(random, ty);
                    builder.constant(ty, bits)
                }
                _ => builder.input(["a", "b", "c"][k], ty),
            };
            args.push(arg);
        }
        let value = builder.op(op, &args);
        let point = builder.finish([("r".to_owned(), value)]);
        let inputs = random_inputs(random, &point.inputs);
        Subject::new(format!("{}, seed {seed}", op.name()), point, inputs)
    }

    /// Returns a random function, usually a small one.
    pub fn random(seed: u64) -> Subject {
        let random = &mut Random::new(seed ^ 0x5eed);
        let max_ops = *random.pick(&[2, 3, 4, 8, 30, 30, 100]);
        let ops = 1 + random.below(max_ops);
        let options = Options {
            ops,
            composite: random.once_in(2),
            ifs: !random.once_in(4),
            loops: !random.once_in(3),
            lowered: false,
        };
        let generated = random::function(seed, &options);
        let point = if random.once_in(2) { passes::optimize(&generated) } else { generated };
        let inputs = random_inputs(random, &point.inputs);
        Subject::new(format!("random function, seed {seed}"), point, inputs)
    }

    /// Returns a random function of unit vectors, built from the patterns that relations match.
    pub fn patterns(seed: u64) -> Subject {
        let random = &mut Random::new(seed ^ 0xa11);
        let (generated, inputs) = patterns::function(random);
        let point = if random.once_in(4) { generated } else { passes::optimize(&generated) };
        Subject::new(format!("patterns, seed {seed}"), point, inputs)
    }

    /// Returns the relations that change the bounding shader.
    pub fn effective_relations(&self) -> Relations {
        let lifted = |relations| {
            let options = lift::Options { relations, ..lift::Options::default() };
            lift::run(&self.point, &self.inputs, &self.outputs, &options).function
        };
        let all = lifted(Relations::all());
        Relations::all()
            .iter()
            .filter(|&relation| lifted(Relations::all().without(relation)) != all)
            .collect()
    }

    /// Returns the integrand of a material. If `ranges` is `None`, no ranges of its inputs are
    /// known.
    pub fn material(
        name: &str,
        integrand: &Integrand,
        interval_inputs: IntervalInputs,
        ranges: Option<Ranges>,
    ) -> Subject {
        let mut inputs = integrand.inputs(interval_inputs, ranges.unwrap_or_default());
        if ranges.is_none() {
            for (input, port) in inputs.iter_mut().zip(&integrand.point.inputs) {
                input.bounds = Bounds::all(port.ty);
            }
        }
        let known = ranges.map_or("any".to_owned(), |ranges| format!("{ranges:?}"));
        let name = format!("{name}, interval inputs {interval_inputs:?}, ranges {known}");
        Subject { name, point: integrand.point.clone(), inputs, outputs: integrand.outputs.clone() }
            .with_nan_seen()
    }

    /// Adds all values that are in scope at the end of the function to the bounded outputs.
    pub fn with_intermediate_outputs(mut self) -> Subject {
        let mut values = vec![];
        for stmt in &self.point.body.stmts {
            match stmt {
                Stmt::Op(value) => values.push(*value),
                Stmt::If(i) => values.extend(&i.results),
                Stmt::Loop(l) => values.extend(&l.results),
            }
        }
        for value in values {
            self.outputs.push(self.point.outputs.len());
            self.point
                .outputs
                .push(Port { name: format!("value {}", value.index()), ty: self.point.ty(value) });
            self.point.body.yields.push(value);
        }
        self.name.push_str(", all values");
        self.with_nan_seen()
    }

    /// Appends an output that reports whether a NaN was seen.
    fn with_nan_seen(mut self) -> Subject {
        let ports = &mut self.point.outputs;
        let nan_seen = ports.iter().position(|port| port.name == NAN_SEEN).unwrap_or(ports.len());
        if nan_seen == ports.len() {
            ports.push(Port { name: NAN_SEEN.to_owned(), ty: Type::F32 });
            let zero = self.point.add(Type::F32, Def::Const(0));
            self.point.body.yields.push(zero);
        }
        self.outputs.retain(|&k| k != nan_seen);
        self.outputs.push(nan_seen);
        self
    }
}

/// Returns a random word that is not NaN.
fn random_non_nan(random: &mut Random, ty: Type) -> u32 {
    loop {
        let bits = word(random, ty);
        if ty != Type::F32 || !f32::from_bits(bits).is_nan() {
            return bits;
        }
    }
}

/// Returns random descriptions of inputs. At least one input is an interval.
fn random_inputs(random: &mut Random, ports: &[Port]) -> Vec<Input> {
    let known = random.below(4);
    let first = random.below(ports.len().max(1));
    let inputs = ports.iter().enumerate().map(|(k, port)| Input {
        interval: k == first || !random.once_in(3),
        bounds: if known == 0 { Bounds::all(port.ty) } else { random_bounds(random, port.ty) },
        axis: None,
        sorted: None,
    });
    inputs.collect()
}

/// Returns random bounds on an input: one or several pieces, mostly with special values as
/// endpoints.
fn random_bounds(random: &mut Random, ty: Type) -> Bounds {
    match ty {
        Type::F32 => {
            let mut pieces = Pieces::empty();
            for _ in 0..1 + random.below(3) * random.below(2) {
                let [a, b] = [(); 2].map(|()| f32::from_bits(random_non_nan(random, Type::F32)));
                let b = match random.below(6) {
                    0 => a,
                    1 => f32::INFINITY,
                    2 => 1.0,
                    3 => 0.0,
                    _ => b,
                };
                pieces.add(if a < b { a } else { b }, if a < b { b } else { a });
            }
            let mut floats = Floats::of(pieces);
            if floats.negative_zero && random.once_in(2) {
                floats.negative_zero = false;
            } else if floats.positive_zero && random.once_in(8) {
                floats.positive_zero = false;
            }
            floats.nan = random.once_in(4);
            Bounds::Float(floats)
        }
        Type::I32 => {
            let mut pieces = Pieces::empty();
            for _ in 0..1 + random.below(2) {
                let [a, b] = [(); 2].map(|()| word(random, Type::I32) as i32);
                pieces.add(a.min(b), a.max(b));
            }
            Bounds::Int(pieces)
        }
        Type::Bool => *random.pick(&[
            Bounds::all(Type::Bool),
            Bounds::Bool(Bools { may_be_false: true, may_be_true: false }),
            Bounds::Bool(Bools { may_be_false: false, may_be_true: true }),
        ]),
    }
}
