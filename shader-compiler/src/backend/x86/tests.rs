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
        let value = self.builder.op(op, &args);
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

#[test]
fn straight_lines_are_those_of_the_interpreter() {
    for seed in 0..400 {
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
