//! Predicted cycles of code from its executed basic blocks: a throughput model of Intel's Skylake
//! core.
//!
//! Groups are independent, so a core with a large reorder window overlaps them, and code takes as
//! long as its busiest resource (as in OSACA, Laukemann et al. 2018, and uiCA, Abel and Reineke
//! 2022): the front end, which issues 4 fused µops per cycle; the execution ports; the divider.
//! µops are distributed optimally over their ports: for each set of ports, the µops restricted to
//! the set need at least their number divided by the number of ports, and the maximum over all sets
//! is attained (Hall's theorem for fractional assignments). Latencies, caches and mispredicted
//! branches are ignored: the prediction is a lower bound, the same on every machine. Loops with
//! dependent iterations, such as fractal's, take longer.
//!
//! µops and ports are from Agner Fog's *Instruction tables* (Skylake) and <https://uops.info>.

use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind};
use lightbound_shader::backend::x86::Code;

/// Fused µops that the front end issues per cycle.
const ISSUE_WIDTH: f64 = 4.0;

/// A set of execution ports, as a bit mask.
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

/// Resources that an instruction uses, without its memory operands.
struct Timing {
    /// Slots of the front end.
    issued: f64,
    /// The ports of each executed µop.
    uops: &'static [Ports],
    /// Cycles that the divider is busy.
    divider: f64,
}

impl Timing {
    /// One front-end slot per µop.
    const fn of(uops: &'static [Ports]) -> Timing {
        Timing { issued: uops.len() as f64, uops, divider: 0.0 }
    }

    const fn divider(cycles: f64) -> Timing {
        Timing { issued: 1.0, uops: &[P0], divider: cycles }
    }

    /// Front-end slots without executed µops.
    const fn issued(slots: f64) -> Timing {
        Timing { issued: slots, uops: &[], divider: 0.0 }
    }
}

/// Resource usage of instructions, in cycles of each resource.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pressure {
    /// Slots of the front end.
    issued: f64,
    /// Number of µops by set of ports.
    uops: [f64; 256],
    /// Cycles of the divider.
    divider: f64,
}

impl Pressure {
    const NONE: Pressure = Pressure { issued: 0.0, uops: [0.0; 256], divider: 0.0 };

    /// Adds an instruction that is executed `count` times.
    fn add(&mut self, instruction: &Instruction, count: f64) {
        let timing = timing(instruction);
        self.issued += count * timing.issued;
        self.divider += count * timing.divider;
        timing.uops.iter().for_each(|&ports| self.uops[usize::from(ports)] += count);
        // A load is fused with the µop that uses it, and the two µops of a store with each other.
        let [loads, stores] = memory_accesses(instruction);
        self.uops[usize::from(LOAD)] += count * loads;
        self.uops[usize::from(STORE_ADDRESS)] += count * stores;
        self.uops[usize::from(STORE_DATA)] += count * stores;
        if timing.uops.is_empty() && loads + stores > 0.0 {
            self.issued += count;
        }
    }

    /// Cycles that the busiest resource takes.
    pub fn cycles(&self) -> f64 {
        self.front_end().max(self.ports()).max(self.divider)
    }

    /// Cycles that the front end takes.
    pub fn front_end(&self) -> f64 {
        self.issued / ISSUE_WIDTH
    }

    /// Cycles that the busiest ports take with the optimal distribution.
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

/// Resource usage of code, given the execution counts of its basic blocks.
pub fn pressure(code: &Code, block_counts: &[u64]) -> Pressure {
    let mut pressure = Pressure::NONE;
    for (block, instruction) in code.instructions_in_blocks() {
        pressure.add(&instruction, block_counts[block] as f64);
    }
    pressure
}

/// Predicted cycles of code, given the execution counts of its basic blocks.
pub fn cycles(code: &Code, block_counts: &[u64]) -> f64 {
    pressure(code, block_counts).cycles()
}

/// Numbers of loads and stores of explicit memory operands. Those of gathers are part of their
/// timing.
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

/// Whether the instruction is a zero idiom: both operands are the same register and the result is
/// zero, so that register renaming handles it without executing a µop.
fn is_zero_idiom(i: &Instruction) -> bool {
    let register = i.op0_register();
    matches!(i.mnemonic(), Mnemonic::Xorps | Mnemonic::Vxorps)
        && (1..i.op_count())
            .all(|k| i.op_kind(k) == OpKind::Register && i.op_register(k) == register)
}

/// Resources that an instruction of the back end uses.
///
/// *Panics* for instructions that the back end does not emit.
fn timing(i: &Instruction) -> Timing {
    use Mnemonic::*;
    let wide = i.op0_register().is_ymm();
    let from_memory = (0..i.op_count()).any(|k| i.op_kind(k) == OpKind::Memory);
    match i.mnemonic() {
        _ if is_zero_idiom(i) => Timing::issued(1.0),
        // Register renaming eliminates register moves. Loads and stores take no µop besides
        // their memory access.
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
        other => panic!("no timing for {other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_shader::backend::x86::Isa;
    use lightbound_shader::ir::text::parse;
    use lightbound_shader::testing::random::{Options, function};

    /// The pressure of a function that is executed once.
    fn once(text: &str, isa: Isa) -> Pressure {
        let function =
            lightbound_shader::passes::lower(&parse(text).expect("the text is well formed"));
        let code = Code::compile(&function, isa);
        pressure(&code, &vec![1; code.block_sizes().len()])
    }

    #[test]
    fn every_emitted_instruction_has_a_timing() {
        for seed in 0..200 {
            let function = function(
                seed,
                &Options { ops: 300, composite: false, ifs: true, loops: true, lowered: true },
            );
            for isa in Isa::ALL {
                let code = Code::compile(&function, isa);
                let pressure = pressure(&code, &vec![1; code.block_sizes().len()]);
                let total = code.counts().total as f64;
                assert!(
                    pressure.issued >= total && pressure.cycles() >= total / ISSUE_WIDTH,
                    "seed {seed}, {isa:?}"
                );
            }
        }
    }

    #[test]
    fn additions_and_multiplications_share_two_ports() {
        // Two additions and two multiplications, three of them with a memory operand; a load; a
        // store; and the return.
        let text = "fn f(a: f32, b: f32, c: f32, d: f32) -> (y: f32) {
            %1 = add a, b
            %2 = mul %1, c
            %3 = add %2, d
            %4 = mul %3, %1
            return %4
        }";
        let pressure = once(text, Isa::Avx);
        assert_eq!(pressure.uops[usize::from(P01)], 4.0);
        // a, b, c and d, all but the first as memory operands, and the return address.
        assert_eq!(pressure.uops[usize::from(LOAD)], 5.0);
        assert_eq!(
            (pressure.uops[usize::from(STORE_DATA)], pressure.uops[usize::from(STORE_ADDRESS)]),
            (1.0, 1.0)
        );
        // The load of a, four µops with fused loads, the store and the return.
        assert_eq!(pressure.issued, 7.0);
        // Six µops on ports 2, 3 and 7; loads use only 2 and 3.
        assert_eq!((pressure.ports(), pressure.cycles()), (2.5, 2.5));
    }

    #[test]
    fn the_divider_is_slower_than_its_port() {
        let text = "fn f(a: f32, b: f32) -> (y: f32) {
            %1 = div a, b
            %2 = sqrt %1
            return %2
        }";
        for (isa, cycles) in [(Isa::Sse41, 6.0), (Isa::Avx2, 11.0)] {
            assert_eq!(once(text, isa).cycles(), cycles, "{isa:?}");
        }
    }

    #[test]
    fn uops_use_the_ports_that_others_leave_free() {
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
