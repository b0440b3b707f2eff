//! Machine code against the interpreter, bit for bit.

use crate::ir::{Builder, Emit, Function, Op, Rules, Type, Value};
use crate::kernel::{Batch, Kernel};
use crate::target::Target;
use crate::{Arena, interpreter};

const NATIVE: [Target; 3] = [Target::Sse, Target::Avx, Target::Avx2];

/// Random numbers, the same in every run.
pub(super) struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn bits(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32 ^ (self.0 >> 17) as u32
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.bits() >> 4) as usize % end
    }

    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// Words at which something changes.
const SPECIAL: [u32; 30] = [
    0,
    1,
    2,
    31,
    32,
    0x7f,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xffff_ffff,
    0xffff_fffe,
    0x0080_0000,
    0x007f_ffff,
    0x807f_ffff,
    0x3f80_0000,
    0xbf80_0000,
    0x3f00_0000,
    0xbf00_0000,
    0x3fc0_0000,
    0x4020_0000,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x4f00_0000,
    0xcf00_0000,
    0x4eff_ffff,
    0x4b00_0001,
    0x3f7f_ffff,
];

fn word(random: &mut Random, ty: Type) -> u32 {
    match ty {
        Type::Bool => [0, !0][random.below(2)],
        _ => match random.below(4) {
            0 => random.pick(&SPECIAL),
            1 => random.bits(),
            2 => ((random.bits() as i32 as f32) * 2f32.powi(-30)).to_bits(),
            _ => random.bits() & 0xff,
        },
    }
}

/// Whether two words are the same value: NaNs of a float are.
fn same(ty: Type, a: u32, b: u32) -> bool {
    a == b || (ty == Type::F32 && f32::from_bits(a).is_nan() && f32::from_bits(b).is_nan())
}

/// Holds all targets against the interpreter, for these rows of inputs.
pub(super) fn check(function: &Function, rows: &[Vec<u32>], context: &str) {
    let arena = Arena::new();
    let expected: Vec<_> = rows.iter().map(|row| interpreter::run(function, row, 1 << 30).expect("loops end")).collect();
    for target in NATIVE.into_iter().filter(|target| target.is_available()) {
        let kernel = Kernel::compile(&arena, function, target).expect("the target is available");
        let mut inputs = Batch::new(target, function.inputs.len(), rows.len());
        for (row, words) in rows.iter().enumerate() {
            words.iter().enumerate().for_each(|(port, &bits)| inputs.set_bits(row, port, bits));
        }
        let mut outputs = Batch::new(target, function.outputs.len(), rows.len());
        kernel.run(&inputs, &mut outputs);
        for (row, expected) in expected.iter().enumerate() {
            for (port, (&expected, output)) in expected.iter().zip(&function.outputs).enumerate() {
                let found = outputs.bits(row, port);
                assert!(
                    same(output.ty, found, expected),
                    "{context}, {target}: `{}` is {found:#x}, not {expected:#x}, for {:x?}",
                    output.name,
                    rows[row]
                );
            }
        }
    }
}

/// Random rows for the inputs of a function.
fn rows(function: &Function, count: usize, random: &mut Random) -> Vec<Vec<u32>> {
    (0..count).map(|_| function.inputs.iter().map(|port| word(random, port.ty)).collect()).collect()
}

fn is_native(op: Op) -> bool {
    !op.is_composite() && op != Op::Any
}

fn is_shift(op: Op) -> bool {
    matches!(op, Op::Shl | Op::LShr | Op::AShr)
}

#[test]
fn operations_are_those_of_the_interpreter() {
    let mut random = Random::new(1);
    for &op in Op::ALL.iter().filter(|&&op| is_native(op)) {
        for any in [Type::F32, Type::I32, Type::Bool] {
            // Which arguments are constants.
            for constants in 0..1u32 << op.arity() {
                let mut b = Builder::new(op.name(), Rules::Exact);
                let args: Vec<_> = op
                    .signature()
                    .args
                    .iter()
                    .enumerate()
                    .map(|(k, ty)| {
                        let ty = ty.unwrap_or(any);
                        if constants & 1 << k != 0 || (is_shift(op) && k == 1) {
                            let bits = word(&mut random, ty);
                            b.constant(ty, bits)
                        } else {
                            b.input(&k.to_string(), ty)
                        }
                    })
                    .collect();
                let value = b.op(op, &args);
                let function = b.finish([("out".to_owned(), value)]);
                let mut rows = rows(&function, 100, &mut random);
                for x in SPECIAL {
                    for y in SPECIAL {
                        let mut words = [x, y, x ^ y].into_iter().cycle();
                        let row = function.inputs.iter().map(|port| {
                            let bits = words.next().expect("there are more");
                            if port.ty == Type::Bool { 0u32.wrapping_sub(bits & 1) } else { bits }
                        });
                        rows.push(row.collect());
                    }
                }
                check(&function, &rows, &format!("{} of {any} with constants {constants:b}", op.name()));
            }
        }
    }
}

/// Writes random operations into a builder.
struct Grower<'a> {
    random: &'a mut Random,
    builder: Builder,
    /// Values in scope, by type.
    pools: [Vec<Value>; 3],
    /// How far back arguments are looked for.
    reach: usize,
    /// Operations to be written.
    left: usize,
}

const TYPES: [Type; 3] = [Type::F32, Type::I32, Type::Bool];

impl Grower<'_> {
    fn pool(&mut self, ty: Type) -> &mut Vec<Value> {
        &mut self.pools[TYPES.iter().position(|&t| t == ty).expect("it is a type")]
    }

    fn value(&mut self, ty: Type) -> Value {
        if self.random.below(8) == 0 || self.pool(ty).is_empty() {
            let bits = word(self.random, ty);
            return self.builder.constant(ty, bits);
        }
        let (reach, count) = (self.reach, self.pool(ty).len());
        let back = self.random.below(reach.min(count));
        self.pool(ty)[count - 1 - back]
    }

    fn add(&mut self, value: Value) {
        let ty = self.builder.ty(value);
        self.pool(ty).push(value);
    }

    fn op(&mut self) {
        let ops: Vec<_> = Op::ALL.iter().copied().filter(|&op| is_native(op)).collect();
        let op = self.random.pick(&ops);
        let any = self.random.pick(&TYPES);
        let mut args = vec![];
        for (k, ty) in op.signature().args.iter().enumerate() {
            let ty = ty.unwrap_or(any);
            args.push(if is_shift(op) && k == 1 {
                let bits = self.random.bits() & 31;
                self.builder.constant(ty, bits)
            } else {
                self.value(ty)
            });
        }
        let mut value = self.builder.op(op, &args);
        if op == Op::Bits {
            // Which NaN it is must not matter.
            let number = self.builder.op(Op::Eq, &[args[0], args[0]]);
            let zero = self.builder.constant(Type::I32, 0);
            value = self.builder.op(Op::Select, &[number, value, zero]);
        }
        self.add(value);
        self.left = self.left.saturating_sub(1);
    }

    fn ops(&mut self, count: usize) {
        (0..count).for_each(|_| self.op());
    }
}

fn grow(random: &mut Random, inputs: usize, left: usize, reach: usize, grow: impl FnOnce(&mut Grower)) -> Function {
    let mut builder = Builder::new("random", Rules::Exact);
    let mut pools = [vec![], vec![], vec![]];
    for k in 0..inputs {
        let which = random.below(5).saturating_sub(2);
        pools[which].push(builder.input(&k.to_string(), TYPES[which]));
    }
    let mut grower = Grower { random, builder, pools, reach, left };
    grow(&mut grower);
    let count = 1 + grower.random.below(12);
    let outputs: Vec<_> = (0..count)
        .map(|k| {
            let ty = grower.random.pick(&TYPES);
            (k.to_string(), grower.value(ty))
        })
        .collect();
    grower.builder.finish(outputs)
}

/// Seeds of random functions: a few, or as many as the environment asks for.
fn seeds(few: u64) -> std::ops::Range<u64> {
    0..std::env::var("LIGHTBOUND_FUNCTIONS").map_or(few, |count| count.parse().expect("LIGHTBOUND_FUNCTIONS is a number"))
}

#[test]
fn straight_lines_are_those_of_the_interpreter() {
    for seed in seeds(400) {
        let mut random = Random::new(seed);
        let (inputs, count, reach) = (1 + random.below(40), 1 + random.below(300), random.pick(&[3, 10, 30, 100]));
        let function = grow(&mut random, inputs, count, reach, |grower| grower.ops(count));
        let rows = rows(&function, 16, &mut random);
        check(&function, &rows, &format!("seed {seed}"));
    }
}

#[test]
fn many_live_values_are_kept() {
    for count in [15, 16, 17, 40, 200] {
        let mut b = Builder::new("sums", Rules::Exact);
        let inputs: Vec<_> = (0..count).map(|k| b.input(&k.to_string(), Type::F32)).collect();
        let roots: Vec<_> = inputs.iter().map(|&x| b.op(Op::Sqrt, &[x])).collect();
        // All of them twice, the second time in reversed order.
        let mut sum = roots[0];
        for &root in roots.iter().chain(roots.iter().rev()) {
            sum = b.op(Op::Sub, &[sum, root]);
        }
        let function = b.finish([("sum".to_owned(), sum)]);
        let mut random = Random::new(count);
        let rows = rows(&function, 9, &mut random);
        check(&function, &rows, &format!("{count} values"));
    }
}

impl Grower<'_> {
    /// A bool that is the same in all lanes.
    fn condition(&mut self) -> Value {
        let mask = self.value(Type::Bool);
        self.builder.op(Op::Any, &[mask])
    }

    /// Operations, ifs and loops, as long as some are left.
    fn stmts(&mut self, depth: usize) {
        for _ in 0..1 + self.random.below(4) {
            let count = self.random.below(1 + self.left.min(24));
            self.ops(count);
            if self.left == 0 {
                return;
            }
            match self.random.below(5) {
                0 | 1 if depth < 4 => self.if_(depth),
                2 | 3 if depth < 3 => self.loop_(depth),
                _ => {}
            }
        }
    }

    fn types(&mut self, end: usize) -> Vec<Type> {
        (0..self.random.below(end)).map(|_| self.random.pick(&TYPES)).collect()
    }

    fn values(&mut self, types: &[Type]) -> Vec<Value> {
        types.iter().map(|&ty| self.value(ty)).collect()
    }

    fn if_(&mut self, depth: usize) {
        let cond = self.condition();
        if self.builder.known_bool(cond).is_some() {
            return;
        }
        let types = self.types(8);
        let before = self.pools.clone();
        let [then, otherwise] = [(); 2].map(|()| {
            self.builder.open_arm();
            if self.random.below(4) > 0 {
                self.stmts(depth + 1);
            }
            let yields = self.values(&types);
            self.pools = before.clone();
            self.builder.close_arm(&yields)
        });
        for result in self.builder.push_if(cond, then, otherwise) {
            self.add(result);
        }
    }

    fn loop_(&mut self, depth: usize) {
        let types = if self.random.below(4) == 0 { self.types(30) } else { self.types(6) };
        let mut init = self.values(&types);
        let rounds = 1 + self.random.below(6) as u32;
        init.push(self.builder.constant(Type::I32, 0));
        let before = self.pools.clone();
        let params = self.builder.open_loop(&init);
        let counter = *params.last().expect("there is a counter");
        params.iter().for_each(|&param| self.add(param));
        if self.random.below(2) == 0 {
            self.stmts(depth + 2);
        }
        let limit = self.builder.constant(Type::I32, rounds);
        let below = self.builder.op(Op::ULt, &[counter, limit]);
        let other = self.value(Type::Bool);
        let both = if self.random.below(2) == 0 { below } else { self.builder.op(Op::BAnd, &[below, other]) };
        // The builder may know the one, but not that nothing is below the limit.
        let both = if self.builder.known_bool(both).is_some() { below } else { both };
        let cond = self.builder.op(Op::Any, &[both]);
        let exit_types = self.types(8);
        let exits = self.values(&exit_types);
        let in_head = self.pools.clone();
        self.builder.open_body(cond, &exits);
        self.stmts(depth + 1);
        let mut next = match self.random.below(3) {
            // Parameters that change places.
            0 => types
                .iter()
                .map(|&ty| {
                    let same: Vec<_> = (0..types.len()).filter(|&k| types[k] == ty).collect();
                    params[self.random.pick(&same)]
                })
                .collect(),
            _ => self.values(&types),
        };
        let one = self.builder.constant(Type::I32, 1);
        next.push(self.builder.op(Op::IAdd, &[counter, one]));
        let results = self.builder.close_loop(&next);
        self.pools = before;
        drop(in_head);
        results.into_iter().for_each(|result| self.add(result));
    }
}

/// Runs each row in all lanes, so that conditions are the same in them.
fn check_uniform(function: &Function, rows: &[Vec<u32>], context: &str) {
    for row in rows {
        check(function, &vec![row.clone(); 8], context);
    }
}

#[test]
fn control_flow_is_that_of_the_interpreter() {
    for seed in seeds(600) {
        let mut random = Random::new(seed);
        let (inputs, count, reach) = (1 + random.below(30), 1 + random.below(200), random.pick(&[3, 10, 30, 100]));
        let function = grow(&mut random, inputs, count, reach, |grower| {
            grower.builder.set_speculation(None);
            while grower.left > 0 {
                grower.stmts(0);
                grower.ops(1);
            }
        });
        let rows = rows(&function, 4, &mut random);
        check_uniform(&function, &rows, &format!("seed {seed}"));
    }
}

/// A function for listings: max(x·y + 0.5, 0)² and a select.
fn small() -> Function {
    let mut b = Builder::new("small", Rules::Exact);
    let [x, y] = ["x", "y"].map(|name| b.input(name, Type::F32));
    let half = b.f32(0.5);
    let zero = b.f32(0.0);
    let product = b.op(Op::Mul, &[x, y]);
    let sum = b.op(Op::Add, &[product, half]);
    let clamped = b.op(Op::Max, &[sum, zero]);
    let square = b.op(Op::Mul, &[clamped, clamped]);
    let less = b.op(Op::Lt, &[sum, x]);
    let chosen = b.op(Op::Select, &[less, sum, square]);
    b.finish([("square".to_owned(), square), ("chosen".to_owned(), chosen)])
}

/// Both arms of an if, one of which yields a constant.
fn branching() -> Function {
    let mut b = Builder::new("branching", Rules::Exact);
    b.set_speculation(None);
    let x = b.input("x", Type::F32);
    let zero = b.f32(0.0);
    let positive = b.op(Op::Lt, &[zero, x]);
    let cond = b.op(Op::Any, &[positive]);
    b.open_arm();
    let root = b.op(Op::Sqrt, &[x]);
    let kept = b.op(Op::Select, &[positive, root, zero]);
    let then = b.close_arm(&[kept]);
    b.open_arm();
    let otherwise = b.close_arm(&[zero]);
    let results = b.push_if(cond, then, otherwise);
    b.finish([("root".to_owned(), results[0])])
}

/// Escape time: rounds until z² + c leaves the circle of radius 2, in each lane.
fn escape_time() -> Function {
    let mut b = Builder::new("escape_time", Rules::Exact);
    let [x, y] = ["c.x", "c.y"].map(|name| b.input(name, Type::F32));
    let (zero, one, four, limit) = (b.i32(0), b.i32(1), b.f32(4.0), b.i32(64));
    let params = b.open_loop(&[x, y, zero]);
    let [re, im, count] = [params[0], params[1], params[2]];
    let re2 = b.op(Op::Mul, &[re, re]);
    let im2 = b.op(Op::Mul, &[im, im]);
    let norm = b.op(Op::Add, &[re2, im2]);
    let inside = b.op(Op::Lt, &[norm, four]);
    let fewer = b.op(Op::ULt, &[count, limit]);
    let goes_on = b.op(Op::BAnd, &[inside, fewer]);
    let cond = b.op(Op::Any, &[goes_on]);
    b.open_body(cond, &[count]);
    let difference = b.op(Op::Sub, &[re2, im2]);
    let next_re = b.op(Op::Add, &[difference, x]);
    let product = b.op(Op::Mul, &[re, im]);
    let twice = b.op(Op::Add, &[product, product]);
    let next_im = b.op(Op::Add, &[twice, y]);
    let next_count = b.op(Op::IAdd, &[count, one]);
    let kept = [(next_re, re), (next_im, im), (next_count, count)].map(|(next, old)| b.op(Op::Select, &[goes_on, next, old]));
    let results = b.close_loop(&kept);
    b.finish([("count".to_owned(), results[0])])
}

#[test]
fn listings_are_as_accepted() {
    for function in [small(), branching(), escape_time()] {
        let mut random = Random::new(7);
        let rows = rows(&function, 100, &mut random);
        check(&function, &rows, &function.name);
        for target in NATIVE {
            let name = format!("{}_{target}", function.name);
            insta::assert_snapshot!(name, super::Code::compile(&function, target).listing(&function));
        }
    }
}
