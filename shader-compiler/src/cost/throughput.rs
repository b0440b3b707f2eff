//! Predicted cycles of straight-line and counted code: a throughput model of Intel's Skylake core.
//!
//! Groups are independent of each other, so that a core with a large window overlaps them, and code
//! takes as long as its busiest resource (as in OSACA, Laukemann et al. 2018, and uiCA, Abel and
//! Reineke 2022): the front end, which issues 4 fused µops per cycle; the execution ports; the
//! divider. µops are spread over their ports as well as can be: for each set of ports, the µops
//! that can go nowhere else need at least their number divided by the number of ports in the set,
//! and the greatest of these is reached (Hall's theorem for fractional assignments). Latencies,
//! caches and mispredicted branches are left out: the prediction is a lower bound, the same on
//! every machine. Loops whose rounds depend on each other, as fractal's, take longer.
//!
//! µops and ports are from Agner Fog's *Instruction tables* (Skylake) and <https://uops.info>.

use crate::backend::x86::Code;
use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind};

/// Fused µops that the front end issues in a cycle.
const ISSUE_WIDTH: f64 = 4.0;

/// A set of execution ports, a bit each.
type Ports = u8;

const P0: Ports = 1 << 0;
const P5: Ports = 1 << 5;
const P6: Ports = 1 << 6;
const P01: Ports = 1 << 0 | 1 << 1;
const P06: Ports = 1 << 0 | 1 << 6;
const P15: Ports = 1 << 1 | 1 << 5;
const P015: Ports = P01 | P5;
const P0156: Ports = P015 | P6;
const LOAD: Ports = 1 << 2 | 1 << 3;
const STORE_ADDRESS: Ports = 1 << 2 | 1 << 3 | 1 << 7;
const STORE_DATA: Ports = 1 << 4;

/// What an instruction asks of the core, memory operands aside.
struct Timing {
    /// Slots of the front end.
    issued: f64,
    /// The ports of each µop that is executed.
    uops: &'static [Ports],
    /// Cycles for which the divider is taken.
    divider: f64,
}

impl Timing {
    /// Each µop takes a slot of the front end.
    const fn of(uops: &'static [Ports]) -> Timing {
        Timing { issued: uops.len() as f64, uops, divider: 0.0 }
    }

    const fn divider(cycles: f64) -> Timing {
        Timing { issued: 1.0, uops: &[P0], divider: cycles }
    }

    /// Nothing but slots of the front end.
    const fn issued(slots: f64) -> Timing {
        Timing { issued: slots, uops: &[], divider: 0.0 }
    }
}

/// What instructions ask of each resource, in cycles of that resource.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pressure {
    /// Slots of the front end.
    issued: f64,
    /// µops, by the set of their ports.
    uops: [f64; 256],
    /// Cycles of the divider.
    divider: f64,
}

impl Pressure {
    const NONE: Pressure = Pressure { issued: 0.0, uops: [0.0; 256], divider: 0.0 };

    /// Adds an instruction that is executed so often.
    fn add(&mut self, instruction: &Instruction, count: f64) {
        let timing = timing(instruction);
        self.issued += count * timing.issued;
        self.divider += count * timing.divider;
        timing.uops.iter().for_each(|&ports| self.uops[usize::from(ports)] += count);
        // A load is fused with the µop that uses it, and a store's two with each other.
        let [loads, stores] = memory_accesses(instruction);
        self.uops[usize::from(LOAD)] += count * loads;
        self.uops[usize::from(STORE_ADDRESS)] += count * stores;
        self.uops[usize::from(STORE_DATA)] += count * stores;
        if timing.uops.is_empty() && loads + stores > 0.0 {
            self.issued += count;
        }
    }

    /// Cycles for which the busiest resource is taken.
    pub fn cycles(&self) -> f64 {
        self.front_end().max(self.ports()).max(self.divider)
    }

    /// Cycles of the front end.
    pub fn front_end(&self) -> f64 {
        self.issued / ISSUE_WIDTH
    }

    /// Cycles of the busiest ports, with the best distribution.
    pub fn ports(&self) -> f64 {
        let confined = |set: u8| -> f64 {
            (1..=255u8)
                .filter(|ports| ports & !set == 0)
                .map(|ports| self.uops[usize::from(ports)])
                .sum()
        };
        (1..=255u8).map(|set| confined(set) / f64::from(set.count_ones())).fold(0.0, f64::max)
    }
}

/// What code asks of the core whose basic blocks are executed so often.
pub fn pressure(code: &Code, block_counts: &[u64]) -> Pressure {
    let mut pressure = Pressure::NONE;
    for (block, instruction) in code.instructions_in_blocks() {
        pressure.add(&instruction, block_counts[block] as f64);
    }
    pressure
}

/// Predicted cycles of code whose basic blocks are executed so often.
pub fn cycles(code: &Code, block_counts: &[u64]) -> f64 {
    pressure(code, block_counts).cycles()
}

/// Loads and stores of explicit memory operands; those of gathers are in their timing.
fn memory_accesses(instruction: &Instruction) -> [f64; 2] {
    let is_memory = (0..instruction.op_count()).any(|k| instruction.op_kind(k) == OpKind::Memory);
    if !is_memory || matches!(instruction.mnemonic(), Mnemonic::Lea | Mnemonic::Vpgatherdd) {
        return [0.0; 2];
    }
    let mut factory = InstructionInfoFactory::new();
    let accesses = factory.info(instruction).used_memory().iter().map(|memory| memory.access());
    accesses.fold([0.0; 2], |[loads, stores], access| match access {
        OpAccess::Write | OpAccess::CondWrite => [loads, stores + 1.0],
        OpAccess::ReadWrite | OpAccess::ReadCondWrite => [loads + 1.0, stores + 1.0],
        _ => [loads + 1.0, stores],
    })
}

/// Whether the result does not depend on the operands, which are one register: zero, which register
/// renaming makes.
fn is_zero_idiom(i: &Instruction) -> bool {
    let register = i.op0_register();
    matches!(i.mnemonic(), Mnemonic::Xorps | Mnemonic::Vxorps)
        && (1..i.op_count())
            .all(|k| i.op_kind(k) == OpKind::Register && i.op_register(k) == register)
}

/// What an instruction that the back end emits asks of the core.
///
/// *Panics* for any other.
fn timing(i: &Instruction) -> Timing {
    use Mnemonic::*;
    let wide = i.op0_register().is_ymm();
    let from_memory = (0..i.op_count()).any(|k| i.op_kind(k) == OpKind::Memory);
    match i.mnemonic() {
        _ if is_zero_idiom(i) => Timing::issued(1.0),
        // Moves between registers are done by renaming; loads and stores have no other µop.
        Movaps | Vmovaps | Mov => Timing::issued(if from_memory { 0.0 } else { 1.0 }),
        Addps | Vaddps | Subps | Vsubps | Mulps | Vmulps => Timing::of(&[P01]),
        Minps | Vminps | Maxps | Vmaxps | Cmpps | Vcmpps => Timing::of(&[P01]),
        Cvtdq2ps | Vcvtdq2ps | Cvttps2dq | Vcvttps2dq => Timing::of(&[P01]),
        Andps | Vandps | Andnps | Vandnps | Orps | Vorps | Xorps | Vxorps => Timing::of(&[P015]),
        Paddd | Vpaddd | Psubd | Vpsubd => Timing::of(&[P015]),
        Pminsd | Vpminsd | Pmaxsd | Vpmaxsd | Pminud | Vpminud | Pmaxud | Vpmaxud => {
            Timing::of(&[P01])
        }
        Pcmpeqd | Vpcmpeqd | Pcmpgtd | Vpcmpgtd => Timing::of(&[P01]),
        Pslld | Vpslld | Psrld | Vpsrld | Psrad | Vpsrad => Timing::of(&[P01]),
        Pmulld | Vpmulld | Roundps | Vroundps => Timing::of(&[P01, P01]),
        Divps | Vdivps => Timing::divider(if wide { 5.0 } else { 3.0 }),
        Sqrtps | Vsqrtps => Timing::divider(if wide { 6.0 } else { 3.0 }),
        Blendvps => Timing::of(&[P015]),
        Vblendvps => Timing::of(&[P015, P015]),
        Ptest | Vptest => Timing::of(&[P0, P5]),
        Movd | Vmovd | Movq | Vmovq if from_memory => Timing::issued(0.0),
        Movd | Vmovd | Movq | Vmovq => {
            Timing::of(if i.op0_register().is_gpr() { &[P0] } else { &[P5] })
        }
        Pextrq | Vpextrq => Timing::of(&[P0, P5]),
        Pinsrd | Vpinsrd if from_memory => Timing { issued: 2.0, ..Timing::of(&[P5]) },
        Pinsrd | Vpinsrd => Timing::of(&[P5, P5]),
        Vpgatherdd => Timing {
            issued: 4.0,
            uops: &[P0, P01, P5, LOAD, LOAD, LOAD, LOAD, LOAD, LOAD, LOAD, LOAD],
            divider: 0.0,
        },
        Vzeroupper => Timing::issued(4.0),
        Lea => Timing::of(&[P15]),
        Add | Sub | And | Test | Cmp => Timing::of(&[P0156]),
        Shr => Timing::of(&[P06]),
        Je | Jne | Jb | Jae => Timing::of(&[P06]),
        Jmp => Timing::of(&[P6]),
        Ret => Timing { issued: 1.0, ..Timing::of(&[P6, LOAD]) },
        other => panic!("no timing is known of {other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::random::{Options, function};
    use crate::ir::text::parse;
    use crate::target::Target;

    const COMPILED: [Target; 3] = [Target::Sse, Target::Avx, Target::Avx2];

    /// The pressure of a function that is executed once.
    fn once(text: &str, target: Target) -> Pressure {
        let function = crate::passes::lower(&parse(text).expect("it is well formed"));
        let code = Code::compile(&function, target);
        pressure(&code, &vec![1; code.block_sizes().len()])
    }

    #[test]
    fn every_emitted_instruction_has_a_timing() {
        for seed in 0..200 {
            let function = function(
                seed,
                &Options { ops: 300, composite: false, ifs: true, loops: true, lowered: true },
            );
            for target in COMPILED {
                let code = Code::compile(&function, target);
                let pressure = pressure(&code, &vec![1; code.block_sizes().len()]);
                let total = code.counts().total as f64;
                assert!(
                    pressure.issued >= total && pressure.cycles() >= total / ISSUE_WIDTH,
                    "seed {seed}, {target}"
                );
            }
        }
    }

    #[test]
    fn sums_and_products_share_two_ports() {
        // Four additions of memory operands and three of registers, two loads, a store, and the
        // return.
        let text = "fn f(a: f32, b: f32, c: f32, d: f32) -> (y: f32) {
            %1 = add a, b
            %2 = mul %1, c
            %3 = add %2, d
            %4 = mul %3, %1
            return %4
        }";
        let pressure = once(text, Target::Avx);
        assert_eq!(pressure.uops[usize::from(P01)], 4.0);
        // a, b, c and d, of which all but the first are operands, and the address to return to.
        assert_eq!(pressure.uops[usize::from(LOAD)], 5.0);
        assert_eq!(
            (pressure.uops[usize::from(STORE_DATA)], pressure.uops[usize::from(STORE_ADDRESS)]),
            (1.0, 1.0)
        );
        // The load of a, four µops with their loads, the store and the return.
        assert_eq!(pressure.issued, 7.0);
        // Six µops that go to ports 2, 3 and 7, of which loads go to 2 and 3 only.
        assert_eq!((pressure.ports(), pressure.cycles()), (2.5, 2.5));
    }

    #[test]
    fn the_divider_is_slower_than_its_port() {
        let text = "fn f(a: f32, b: f32) -> (y: f32) {
            %1 = div a, b
            %2 = sqrt %1
            return %2
        }";
        for (target, cycles) in [(Target::Sse, 6.0), (Target::Avx2, 11.0)] {
            assert_eq!(once(text, target).cycles(), cycles, "{target}");
        }
    }

    #[test]
    fn uops_go_to_the_ports_that_others_leave() {
        let mut pressure = Pressure::NONE;
        pressure.uops[usize::from(P0)] = 3.0;
        pressure.uops[usize::from(P01)] = 3.0;
        pressure.uops[usize::from(P015)] = 3.0;
        assert_eq!(pressure.ports(), 3.0);
        pressure.uops[usize::from(P015)] = 0.0;
        assert_eq!(pressure.ports(), 3.0);
        pressure.uops[usize::from(P0)] = 5.0;
        assert_eq!(pressure.ports(), 5.0);
    }
}
