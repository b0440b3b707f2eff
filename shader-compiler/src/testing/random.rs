//! Random functions and inputs, for comparisons of functions before and after a transformation.
//!
//! The seed determines everything. Functions are constructed without a builder, which would
//! simplify them. They contain dead code, repeated and constant operations, and patterns that
//! stress register allocation: many values that are live at once, values used far from their
//! definition, loops that swap their parameters. Loops run few iterations; some trip counts depend
//! on inputs, some on computed data. NaN is replaced before the bits of a float are taken, since
//! its payload is unspecified.

mod loops;

use crate::ir::{Block, Def, Function, If, Loop, Op, Port, Stmt, Table, Type, Value};
use crate::random::Random;
use crate::texture::{
    Access, Channels, Code, Component, Format, Taps, Texture, Wrap, half_to_float,
};
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

pub use loops::loop_program;

/// Special floats: zeros, subnormals, neighbors of 1, limits of ranges, and non-finite values.
pub const FLOATS: &[f32] = &[
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    2.0,
    -2.0,
    std::f32::consts::PI,
    std::f32::consts::FRAC_PI_2,
    std::f32::consts::LN_2,
    1.0 + f32::EPSILON,
    1.0 - f32::EPSILON / 2.0,
    f32::EPSILON,
    f32::MIN_POSITIVE,
    -f32::MIN_POSITIVE,
    1e-45,
    -1e-45,
    1e-40,
    f32::MAX,
    f32::MIN,
    8388608.0,
    8388607.5,
    16777216.0,
    2147483648.0,
    2147483520.0,
    -2147483648.0,
    4294967296.0,
    4294967040.0,
    88.72284,
    -103.97208,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
];

/// Special integers.
const INTEGERS: &[u32] = &[
    0,
    1,
    2,
    3,
    7,
    31,
    32,
    33,
    255,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xffff_fffe,
    0xffff_ffff,
    0x55aa_00ff,
];

/// Widths, heights and formats of the images that random functions read.
const IMAGES: [([u32; 2], Format); 4] = [
    ([3, 4], Format { component: Component::Float, channels: Channels::Rgba }),
    ([37, 33], Format { component: Component::Palette8, channels: Channels::Rgb }),
    ([6, 9], Format { component: Component::Half, channels: Channels::GreyAlpha }),
    ([5, 7], Format { component: Component::Unorm16, channels: Channels::Rgba }),
];

/// Sizes in words of the tables after the images, which random functions also read.
const TABLE_SIZES: [usize; 2] = [3, 1];

/// Index of a table of three words.
pub const THREE_WORDS: u32 = IMAGES.len() as u32;

/// The tables that random functions read: four images and two tables of random words.
pub fn tables() -> Vec<Table<'static>> {
    static WORDS: LazyLock<Vec<Vec<u32>>> = LazyLock::new(|| {
        let (images, mut random) = images_and_generator();
        let images = images.iter().map(|image| image.words().to_vec());
        images
            .chain(TABLE_SIZES.map(|count| (0..count).map(|_| random.bits() as u32).collect()))
            .collect()
    });
    WORDS.iter().map(|words| Table::new(words)).collect()
}

/// The images among the [tables], which come first.
pub fn images() -> Vec<Texture> {
    images_and_generator().0
}

/// The images, and the generator for the words of other tables.
fn images_and_generator() -> (Vec<Texture>, Random) {
    let mut random = Random::new(3);
    let images = IMAGES.map(|(size, format)| image(&mut random, size, format).0);
    (images.into(), random)
}

/// A random image of a format, with the same image as RGBA floats.
pub fn image(random: &mut Random, [width, height]: [u32; 2], format: Format) -> (Texture, Texture) {
    let Format { component, channels } = format;
    let count = (width * height) as usize * channels.count();
    let image = match component {
        Component::Float => {
            let value = |_| random.bits() as i32 as f32 / 1073741824.0;
            Texture::of_floats(width, channels, &(0..count).map(value).collect::<Vec<_>>())
        }
        Component::Half => {
            let value = |_| half_to_float(random.bits() as u16 & 0xbfff);
            Texture::from_floats(width, channels, &(0..count).map(value).collect::<Vec<_>>())
        }
        Component::Unorm8 | Component::Palette8 => {
            let codes: Vec<u8> = (0..count).map(|_| random.bits() as u8).collect();
            of_codes(width, format, codes)
        }
        Component::Unorm16 | Component::Palette16 => {
            let codes: Vec<u16> = (0..count).map(|_| random.bits() as u16).collect();
            of_codes(width, format, codes)
        }
    };
    assert_eq!(image.format(), format);
    let floats = Texture::new(width, &image.texels());
    (image, floats)
}

/// An image of codes; with a palette, of values between −0.5 and 1.5.
fn of_codes<C: Code>(width: u32, format: Format, codes: Vec<C>) -> Texture {
    if format.component == C::UNORM {
        let value = |code: C| code.into() as f32 / C::MAX as f32;
        return Texture::from_codes(width, format.channels, codes, value);
    }
    let value = |k: u32| {
        let x = k as f32 / C::MAX as f32;
        2.0 * x * x - 0.5
    };
    Texture::with_palette(width, format.channels, codes, (0..=C::MAX).map(value).collect())
}

/// A random first argument of a load.
pub fn table_operand(random: &mut Random, op: Op) -> u32 {
    if op == Op::Load {
        return random.below(IMAGES.len() + TABLE_SIZES.len()) as u32;
    }
    let table = random.below(IMAGES.len());
    let taps = *random.pick(&[Taps::Point, Taps::Bilinear, Taps::Corner]);
    let wrap = *random.pick(&[Wrap::Repeat, Wrap::Black, Wrap::Clamp, Wrap::Octahedral]);
    let channel = random.below(4) as u32;
    let offset =
        if random.once_in(2) { [0, 0] } else { [0, 0].map(|_: i32| random.below(17) as i32 - 8) };
    Access { table: table as u32, format: IMAGES[table].1, channel, taps, wrap, offset }.pack()
}

/// A random word of a type: a special value, a small one, or random bits.
pub fn word(random: &mut Random, ty: Type) -> u32 {
    match ty {
        Type::Bool => {
            if random.once_in(2) {
                !0
            } else {
                0
            }
        }
        Type::I32 => match random.below(4) {
            0 => *random.pick(INTEGERS),
            1 => random.below(64) as u32,
            2 => (random.below(64) as u32).wrapping_neg(),
            _ => random.bits() as u32,
        },
        Type::F32 => match random.below(8) {
            0 | 1 => random.pick(FLOATS).to_bits(),
            2 => (1.0f32.to_bits() as i32 + random.below(5) as i32 - 2) as u32,
            3 => (random.below(41) as f32 - 20.0).to_bits(),
            4 => random.bits() as u32,
            5 => (random.bits() as u32 & 0x807f_ffff) | (random.below(0x20) as u32 + 0x70) << 23,
            _ => (random.below(1 << 24) as f32 / (1 << 23) as f32 - 1.0).to_bits(),
        },
    }
}

/// Rows of inputs: first combinations of special values of the first ports, then random words.
pub fn special_rows(ports: &[Port], rows: usize, seed: u64) -> Vec<Vec<u32>> {
    let mut random = Random::new(seed);
    let special = |ty, index: usize| match ty {
        Type::F32 => FLOATS[index % FLOATS.len()].to_bits(),
        Type::I32 => INTEGERS[index % INTEGERS.len()],
        Type::Bool => [0, !0][index % 2],
    };
    let count = |ty| match ty {
        Type::F32 => FLOATS.len(),
        Type::I32 => INTEGERS.len(),
        Type::Bool => 2,
    };
    (0..rows)
        .map(|row| {
            let mut remaining = row;
            let words = ports.iter().map(|port| {
                let index = remaining % count(port.ty);
                remaining /= count(port.ty);
                special(port.ty, index)
            });
            let words: Vec<_> = words.collect();
            if remaining == 0 {
                words
            } else {
                ports.iter().map(|port| word(&mut random, port.ty)).collect()
            }
        })
        .collect()
}

/// Options for random functions.
#[derive(Clone, Debug)]
pub struct Options {
    /// Approximate number of operations.
    pub ops: usize,
    /// Whether to use composite operations.
    pub composite: bool,
    /// Whether to use ifs.
    pub ifs: bool,
    /// Whether to use loops.
    pub loops: bool,
    /// Whether the function needs no lowering: it has only basic operations, and control flow as
    /// generated by [`passes::lower`](crate::passes::lower), so that lanes of a group do not affect
    /// each other.
    pub lowered: bool,
}

impl Options {
    /// Random options with 1 to 1000 operations, with a preference for small counts.
    pub fn any(seed: u64, lowered: bool) -> Options {
        let mut random = Random::new(!seed);
        let max_ops = *random.pick(&[2, 8, 30, 30, 100, 100, 300, 1000]);
        let ops = 1 + random.below(max_ops);
        Options {
            ops,
            composite: !lowered && random.once_in(2),
            ifs: !random.once_in(4),
            loops: !random.once_in(3),
            lowered,
        }
    }
}

/// Generates a valid random function. All its loops terminate.
pub fn function(seed: u64, options: &Options) -> Function {
    let mut random = Random::new(seed);
    let types = [Type::F32, Type::F32, Type::F32, Type::I32, Type::Bool];
    let inputs: Vec<_> = (0..1 + random.below(8))
        .map(|k| Port { name: format!("x{k}"), ty: *random.pick(&types) })
        .collect();
    let name = format!("random{seed}");
    let mut generator = Generator::new(name, inputs, random, options.ops, options.composite);
    generator.options = options.clone();
    generator.stmts(options.ops);
    for k in 0..1 + generator.random.below(6) {
        let ty = *generator.random.pick(&types);
        let value = generator.value(ty);
        generator.output(format!("y{k}"), value);
    }
    if generator.random.once_in(2) {
        let digest = generator.digest();
        generator.output("digest".to_owned(), digest);
    }
    generator.function.body.stmts = generator.blocks.pop().expect("the body is open");
    generator.function
}

/// Maximum nesting depth of blocks.
const MAX_DEPTH: usize = 4;

struct Generator {
    ops: Vec<Op>,
    /// Number of operations still to be generated.
    remaining: usize,
    options: Options,
    random: Random,
    function: Function,
    constants: FxHashMap<(Type, u32), Value>,
    /// Statements of open blocks.
    blocks: Vec<Vec<Stmt>>,
    /// Values in scope.
    pool: Vec<Value>,
    /// Number of the most recent values in scope that most arguments are picked from.
    reach: usize,
    depth: usize,
}

impl Generator {
    /// Starts a function with about `ops` operations.
    fn new(
        name: String,
        inputs: Vec<Port>,
        mut random: Random,
        ops: usize,
        composite: bool,
    ) -> Generator {
        let reach = *random.pick(&[3, 8, 20, 1000]);
        let mut function =
            Function { name, inputs, outputs: vec![], body: Block::default(), values: vec![] };
        let types: Vec<_> = function.inputs.iter().map(|port| port.ty).collect();
        let pool = std::iter::zip(types, 0..)
            .map(|(ty, index)| function.add(ty, Def::Input(index)))
            .collect();
        let all = Op::ALL.iter().copied();
        Generator {
            ops: all.filter(|&op| op != Op::Any && (composite || !op.is_composite())).collect(),
            remaining: ops,
            options: Options { ops, composite, ifs: true, loops: true, lowered: false },
            random,
            function,
            constants: FxHashMap::default(),
            blocks: vec![vec![]],
            pool,
            reach,
            depth: 0,
        }
    }

    fn output(&mut self, name: String, value: Value) {
        self.function.outputs.push(Port { name, ty: self.function.ty(value) });
        self.function.body.yields.push(value);
    }

    fn push(&mut self, stmt: Stmt) {
        self.blocks.last_mut().expect("a block is open").push(stmt);
    }

    fn constant(&mut self, ty: Type, bits: u32) -> Value {
        let function = &mut self.function;
        *self.constants.entry((ty, bits)).or_insert_with(|| function.add(ty, Def::Const(bits)))
    }

    fn random_constant(&mut self, ty: Type) -> Value {
        let bits = word(&mut self.random, ty);
        self.constant(ty, bits)
    }

    fn int(&mut self, x: usize) -> Value {
        self.constant(Type::I32, x as u32)
    }

    /// A value of a type, usually a recent one in scope.
    fn value(&mut self, ty: Type) -> Value {
        let reach =
            if self.random.once_in(5) { self.pool.len() } else { self.reach.min(self.pool.len()) };
        if !self.random.once_in(8) {
            for _ in 0..12 {
                let value = self.pool[self.pool.len() - 1 - self.random.below(reach)];
                if self.function.ty(value) == ty {
                    return value;
                }
            }
            if let Some(&value) =
                self.pool.iter().rev().find(|&&value| self.function.ty(value) == ty)
            {
                return value;
            }
        }
        if ty == Type::Bool && !self.random.once_in(8) {
            let (a, b) = (self.value(Type::F32), self.value(Type::F32));
            return self.append(Op::Lt, &[a, b]);
        }
        self.random_constant(ty)
    }

    fn values(&mut self, types: &[Type]) -> Vec<Value> {
        types.iter().map(|&ty| self.value(ty)).collect()
    }

    fn types(&mut self, max: usize) -> Vec<Type> {
        (0..self.random.below(max + 1))
            .map(|_| *self.random.pick(&[Type::F32, Type::F32, Type::I32, Type::Bool]))
            .collect()
    }

    /// Appends an operation without simplification.
    fn append(&mut self, op: Op, args: &[Value]) -> Value {
        let mut all = [args[0]; 3];
        all[..args.len()].copy_from_slice(args);
        let ty = op.signature().result.unwrap_or_else(|| self.function.ty(args[args.len() - 1]));
        let value = self.function.add(ty, Def::Op { op, args: all });
        self.push(Stmt::Op(value));
        self.pool.push(value);
        self.remaining = self.remaining.saturating_sub(1);
        value
    }

    /// Appends an operation with random arguments.
    fn op(&mut self) -> Value {
        let op = *self.random.pick(&self.ops);
        let any = *self.random.pick(&[Type::F32, Type::I32, Type::Bool]);
        let types: Vec<_> = op.signature().args.iter().map(|ty| ty.unwrap_or(any)).collect();
        let mut args = self.values(&types);
        match op {
            Op::Shl | Op::LShr | Op::AShr if self.options.lowered || self.random.once_in(2) => {
                args[1] = self.random_constant(Type::I32)
            }
            Op::Bits => return self.bits(args[0]),
            _ => {}
        }
        if op.is_load() {
            let operand = table_operand(&mut self.random, op);
            args[0] = self.int(operand as usize);
            if types[1] == Type::I32 && self.random.once_in(2) {
                // Usually in range, except for the smallest tables.
                let mask = self.int(63);
                args[1] = self.append(Op::And, &[args[1], mask]);
            }
        }
        self.append(op, &args)
    }

    /// The bits of a float; 0 for NaN, whose bits are unspecified.
    fn bits(&mut self, value: Value) -> Value {
        let is_not_nan = self.append(Op::Eq, &[value, value]);
        let zero = self.constant(Type::F32, 0);
        let value = self.append(Op::Select, &[is_not_nan, value, zero]);
        self.append(Op::Bits, &[value])
    }

    /// A word that depends on every bit of up to a hundred values in scope, all of which stay live
    /// until then.
    fn digest(&mut self) -> Value {
        let values = self.pool[self.pool.len().saturating_sub(100)..].to_vec();
        let mut digest = self.int(0);
        for value in values {
            let word = match self.function.ty(value) {
                Type::F32 => self.bits(value),
                Type::I32 => value,
                Type::Bool => {
                    let (one, zero) = (self.int(1), self.int(0));
                    self.append(Op::Select, &[value, one, zero])
                }
            };
            let factor = self.int(0x0100_0193);
            let mixed = self.append(Op::IMul, &[digest, factor]);
            digest = self.append(Op::Xor, &[mixed, word]);
        }
        digest
    }

    /// Appends many operations, and then uses of all their results, which are live at once.
    fn fan(&mut self) {
        let count = 2 + self.random.below(60).min(self.remaining);
        let mut values: Vec<_> = (0..count).map(|_| self.op()).collect();
        while !values.is_empty() {
            let value = values.swap_remove(self.random.below(values.len()));
            let (op, other) = match self.function.ty(value) {
                Type::F32 => (Op::Add, self.value(Type::F32)),
                Type::I32 => (Op::Xor, self.value(Type::I32)),
                Type::Bool => (Op::BXor, self.value(Type::Bool)),
            };
            self.append(op, &[value, other]);
        }
    }

    /// Appends about `ops` operations.
    fn stmts(&mut self, ops: usize) {
        let end = self.remaining.saturating_sub(ops);
        while self.remaining > end {
            let may_nest = self.depth < MAX_DEPTH && self.remaining > 3;
            match self.random.below(24) {
                0 if self.options.ifs && may_nest => self.if_(),
                1 if self.options.loops && may_nest => self.loop_(),
                2 if self.random.once_in(3) => self.fan(),
                _ => drop(self.op()),
            }
        }
    }

    /// Appends the statements of an inner block.
    fn inner(&mut self) {
        self.depth += 1;
        let ops = self.random.below(self.remaining.min(40) + 1);
        self.stmts(ops);
        self.depth -= 1;
    }

    /// Opens a block. Closing it removes the values defined in it from the scope.
    fn open(&mut self) -> usize {
        self.blocks.push(vec![]);
        self.pool.len()
    }

    fn close(&mut self, scope: usize, yields: Vec<Value>) -> Block {
        self.pool.truncate(scope);
        Block { stmts: self.blocks.pop().expect("a block is open"), yields }
    }

    /// Defines the results or parameters of an if or a loop.
    fn define(&mut self, types: &[Type], def: Def) -> Vec<Value> {
        let values: Vec<_> = types.iter().map(|&ty| self.function.add(ty, def)).collect();
        self.pool.extend(&values);
        values
    }

    /// Appends the condition of a branch; `cond` is the condition of a lane.
    fn branch_on(&mut self, cond: Value) -> Value {
        if !self.options.lowered {
            return cond;
        }
        let any = self.append(Op::Any, &[cond]);
        self.pool.pop();
        any
    }

    fn if_(&mut self) {
        let types = self.types(4);
        let lane_cond = self.value(Type::Bool);
        let cond = self.branch_on(lane_cond);
        let arms = [(); 2].map(|()| {
            let scope = self.open();
            self.inner();
            let yields = self.values(&types);
            self.close(scope, yields)
        });
        let [then, otherwise] = arms;
        let scope = self.pool.len();
        let results = self.define(&types, Def::Result);
        self.push(Stmt::If(Box::new(If { cond, then, otherwise, results: results.clone() })));
        if self.options.lowered {
            // Lanes that would have taken the other arm must not use the result.
            self.pool.truncate(scope);
            for result in results {
                let other = self.value(self.function.ty(result));
                self.append(Op::Select, &[lane_cond, result, other]);
            }
        }
    }

    fn loop_(&mut self) {
        let mut types = self.types(6);
        types.push(Type::I32);
        let mut init = self.values(&types);
        *init.last_mut().expect("the counter is last") = self.int(0);
        let scope = self.open();
        let params = self.define(&types, Def::Param);
        // Removes the counter from the pool, so that no other operation changes it and the loop
        // terminates.
        let counter = self.pool.pop().expect("the counter is last");
        if self.random.once_in(2) {
            self.inner();
        }
        let lane_cond = self.loop_condition(counter);
        let cond = self.branch_on(lane_cond);
        let exit_types = self.types(4);
        let exits = self.values(&exit_types);
        let head = std::mem::take(self.blocks.last_mut().expect("the head is open"));
        self.inner();
        let mut next = self.next(&params);
        let one = self.int(1);
        *next.last_mut().expect("the counter is last") = self.append(Op::IAdd, &[counter, one]);
        if self.options.lowered {
            // Lanes that have exited keep their parameters.
            next = std::iter::zip(&next, &params)
                .map(|(&next, &param)| self.append(Op::Select, &[lane_cond, next, param]))
                .collect();
        }
        let body = self.close(scope, next);
        let results = self.define(&exit_types, Def::Result);
        self.push(Stmt::Loop(Box::new(Loop {
            init,
            params,
            head: Block { stmts: head, yields: exits },
            cond,
            body,
            results,
        })));
    }

    /// Appends the condition of a loop: a limit on the counter, often combined with another
    /// condition.
    fn loop_condition(&mut self, counter: Value) -> Value {
        let max_count = if self.depth == 0 { 12 } else { 4 };
        let count = self.random.below(max_count);
        let mut limit = self.int(count);
        if self.random.once_in(2) {
            let (bits, mask) = (self.value(Type::I32), self.int(max_count - 1));
            limit = self.append(Op::And, &[bits, mask]);
        }
        let below_limit = self.append(Op::ULt, &[counter, limit]);
        if self.random.once_in(2) {
            return below_limit;
        }
        let other = self.value(Type::Bool);
        self.append(Op::BAnd, &[below_limit, other])
    }

    /// Next values of loop parameters; some are other parameters.
    fn next(&mut self, params: &[Value]) -> Vec<Value> {
        params
            .iter()
            .map(|&param| {
                let (ty, other) = (self.function.ty(param), *self.random.pick(params));
                let is_counter = params.last() == Some(&other);
                if !is_counter && self.function.ty(other) == ty && self.random.once_in(2) {
                    other
                } else {
                    self.value(ty)
                }
            })
            .collect()
    }
}

/// Rows of random inputs.
pub fn rows(ports: &[Port], count: usize, seed: u64) -> Vec<Vec<u32>> {
    let mut random = Random::new(seed);
    (0..count).map(|_| ports.iter().map(|port| word(&mut random, port.ty)).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpreter;
    use crate::ir::function::for_each_stmt;
    use crate::ir::text::parse;
    use crate::ir::verify::{verify, verify_lowered};

    #[test]
    fn random_functions_are_valid_and_terminate() {
        let mut ops = vec![false; Op::ALL.len()];
        let (mut ifs, mut loops) = (0, 0);
        for seed in 0..400 {
            for lowered in [false, true] {
                let function = function(seed, &Options::any(seed, lowered));
                let verified = if lowered { verify_lowered(&function) } else { verify(&function) };
                verified.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{function}"));
                for inputs in rows(&function.inputs, 2, seed) {
                    interpreter::run(&function, &tables(), &inputs, 1 << 16)
                        .unwrap_or_else(|error| panic!("seed {seed}: {error}\n{function}"));
                }
                for_each_stmt(&function.body, &mut |stmt| match stmt {
                    Stmt::Op(value) => ops[function.operation(*value).unwrap().0 as usize] = true,
                    Stmt::If(_) => ifs += 1,
                    Stmt::Loop(_) => loops += 1,
                });
            }
        }
        assert!(ops.iter().all(|&seen| seen), "all operations occur");
        assert!(ifs > 500 && loops > 500, "{ifs} ifs, {loops} loops");
    }

    #[test]
    fn random_functions_round_trip_through_text() {
        for seed in 0..200 {
            let function = function(seed, &Options::any(seed, false));
            let text = function.to_string();
            let parsed =
                parse(&text).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
            assert_eq!(parsed.to_string(), text, "seed {seed}");
            assert_eq!(parse(&parsed.to_string()).unwrap(), parsed, "seed {seed}");
            for inputs in rows(&function.inputs, 2, seed) {
                let run = |function: &Function| {
                    interpreter::run(function, &tables(), &inputs, 1 << 16).unwrap()
                };
                let results = std::iter::zip(run(&function), run(&parsed));
                let are_same = std::iter::zip(&function.outputs, results)
                    .all(|(port, (a, b))| crate::testing::same(port.ty, a, b));
                assert!(are_same, "seed {seed}");
            }
        }
    }
}
