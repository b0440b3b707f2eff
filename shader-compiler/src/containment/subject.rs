//! Point shaders whose bounds are checked: operations, materials, random functions.

use super::patterns;
use crate::analysis::{Bools, Bounds, Floats, Pieces};
use crate::bounding::{Integrand, Ranges, Spans};
use crate::ir::function::Port;
use crate::ir::random::{self, Options, Random, word};
use crate::ir::{Builder, Def, Emit, Function, Op, Rules, Stmt, Type, Value};
use crate::lift::{self, Input};
use crate::math::texture::Access;
use crate::passes;
use crate::relations::Relations;
use crate::texture::Lookup;

/// A point shader, what its inputs are, and which outputs are bounded. It reads the tables of
/// random functions.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Name for readers, which says how to make it again.
    pub name: String,
    /// The point shader.
    pub point: Function,
    /// What its inputs are.
    pub inputs: Vec<Input>,
    /// Numbers of outputs.
    pub outputs: Vec<usize>,
}

/// Name of the output that is NaN where one was met and is 0 elsewhere.
pub(super) const MET: &str = "met";

impl Subject {
    /// A point shader with bounds of all its outputs.
    pub fn new(name: String, point: Function, inputs: Vec<Input>) -> Subject {
        let outputs = (0..point.outputs.len()).collect();
        Subject { name, point, inputs, outputs }.with_met()
    }

    /// An operation, on inputs of which more or less is known, some of which are intervals, or the
    /// same, or constants.
    pub fn op(op: Op, seed: u64) -> Subject {
        let random = &mut Random::new(seed);
        let signature = op.signature();
        let any = *random.pick(&[Type::F32, Type::F32, Type::I32, Type::Bool]);
        let mut builder = Builder::new(op.name(), Rules::Exact);
        let mut args: Vec<Value> = vec![];
        for (k, ty) in signature.args.iter().enumerate() {
            let ty = ty.unwrap_or(any);
            let same = args.iter().copied().find(|&arg| builder.ty(arg) == ty);
            let arg = match same {
                _ if op.is_reading() && k == 0 => {
                    let image = Access::new(0, 1, Lookup::default());
                    builder.i32(if op == Op::Load { 2 } else { image.pack() as i32 })
                }
                Some(arg) if random.once_in(8) && !(op.is_reading() && k == 1) => arg,
                _ if k > 0 && random.once_in(8) => {
                    let bits = number(random, ty);
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

    /// A random function, mostly a small one.
    pub fn random(seed: u64) -> Subject {
        let random = &mut Random::new(seed ^ 0x5eed);
        let most = *random.pick(&[2, 3, 4, 8, 30, 30, 100]);
        let ops = 1 + random.below(most);
        let options = Options {
            ops,
            composite: random.once_in(2),
            ifs: !random.once_in(4),
            loops: !random.once_in(3),
            lowered: false,
        };
        let made = random::function(seed, &options);
        let point = if random.once_in(2) { passes::optimize(&made) } else { made };
        let inputs = random_inputs(random, &point.inputs);
        Subject::new(format!("random function, seed {seed}"), point, inputs)
    }

    /// A random function of unit vectors, made of what relations look for.
    pub fn patterns(seed: u64) -> Subject {
        let random = &mut Random::new(seed ^ 0xa11);
        let (made, inputs) = patterns::function(random);
        let point = if random.once_in(4) { made } else { passes::optimize(&made) };
        Subject::new(format!("patterns, seed {seed}"), point, inputs)
    }

    /// Which relations make the bounding shader another.
    pub fn relations_met(&self) -> Relations {
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

    /// The integrand of a material; `ranges`: of inputs, or everything.
    pub fn material(
        name: &str,
        integrand: &Integrand,
        spans: Spans,
        ranges: Option<Ranges>,
    ) -> Subject {
        let mut inputs = integrand.inputs(spans, ranges.unwrap_or_default());
        if ranges.is_none() {
            for (input, port) in inputs.iter_mut().zip(&integrand.point.inputs) {
                input.bounds = Bounds::all(port.ty);
            }
        }
        let known = ranges.map_or("any".to_owned(), |ranges| format!("{ranges:?}"));
        let name = format!("{name}, spans {spans:?}, ranges {known}");
        Subject { name, point: integrand.point.clone(), inputs, outputs: integrand.outputs.clone() }
            .with_met()
    }

    /// The same with bounds of all values that are in scope at the end of the function, too.
    pub fn deep(mut self) -> Subject {
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
        self.name.push_str(", deep");
        self.with_met()
    }

    /// Adds an output that says whether NaN was met, as the last one.
    fn with_met(mut self) -> Subject {
        let ports = &mut self.point.outputs;
        let met = ports.iter().position(|port| port.name == MET).unwrap_or(ports.len());
        if met == ports.len() {
            ports.push(Port { name: MET.to_owned(), ty: Type::F32 });
            let zero = self.point.add(Type::F32, Def::Const(0));
            self.point.body.yields.push(zero);
        }
        self.outputs.retain(|&k| k != met);
        self.outputs.push(met);
        self
    }
}

/// A word that is not NaN.
fn number(random: &mut Random, ty: Type) -> u32 {
    loop {
        let bits = word(random, ty);
        if ty != Type::F32 || !f32::from_bits(bits).is_nan() {
            return bits;
        }
    }
}

/// Descriptions of inputs, of which one at least is an interval if there are any.
fn random_inputs(random: &mut Random, ports: &[Port]) -> Vec<Input> {
    let known = random.below(4);
    let first = random.below(ports.len().max(1));
    let inputs = ports.iter().enumerate().map(|(k, port)| Input {
        interval: k == first || !random.once_in(3),
        bounds: if known == 0 { Bounds::all(port.ty) } else { random_bounds(random, port.ty) },
        axis: None,
    });
    inputs.collect()
}

/// What an input can be: numbers between special ones, in one piece or several.
fn random_bounds(random: &mut Random, ty: Type) -> Bounds {
    match ty {
        Type::F32 => {
            let mut pieces = Pieces::empty();
            for _ in 0..1 + random.below(3) * random.below(2) {
                let [a, b] = [(); 2].map(|()| f32::from_bits(number(random, Type::F32)));
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
            Bounds::Bool(Bools { no: true, yes: false }),
            Bounds::Bool(Bools { no: false, yes: true }),
        ]),
    }
}
