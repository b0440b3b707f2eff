//! A throughput model of Intel's Skylake core. It predicts the cycles of code from the execution
//! counts of its basic blocks.
//!
//! SIMD groups are independent, so an out-of-order core overlaps them, and code takes as long as
//! its busiest resource (as in OSACA, Laukemann et al. 2018, and Facile, Abel et al. 2023): the
//! front end, which issues 4 fused µops per cycle; the execution ports; the divider. µops are
//! distributed optimally over their ports. For each set of ports, the number of µops that are
//! restricted to the set, divided by the number of ports, is a lower bound on the cycles. The
//! optimum is the maximum of these bounds (Hall's theorem for fractional assignments). Latencies,
//! caches and mispredicted branches are ignored, so the prediction is a lower bound, the same on
//! every machine. Loops with dependent iterations, such as those of fractal, take longer.
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

/// The resources that an instruction uses, without its memory operands.
struct Timing {
    /// Slots of the front end.
    issued: f64,
    /// The ports of each executed µop.
    uops: &'static [Ports],
    /// Cycles that the divider is busy.
    divider: f64,
}

impl Timing {
    /// Describes µops with a front-end slot each.
    const fn uops(uops: &'static [Ports]) -> Timing {
        Timing { issued: uops.len() as f64, uops, divider: 0.0 }
    }

    /// Describes one µop that occupies the divider.
    const fn divider(cycles: f64) -> Timing {
        Timing { issued: 1.0, uops: &[P0], divider: cycles }
    }

    /// Describes front-end slots without executed µops.
    const fn issued(slots: f64) -> Timing {
        Timing { issued: slots, uops: &[], divider: 0.0 }
    }
}

/// Resource usage of instructions.
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
    const ZERO: Pressure = Pressure { issued: 0.0, uops: [0.0; 256], divider: 0.0 };

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

    /// Returns the cycles that the busiest resource takes.
    pub fn cycles(&self) -> f64 {
        self.front_end().max(self.ports()).max(self.divider)
    }

    /// Returns the cycles that the front end takes.
    pub fn front_end(&self) -> f64 {
        self.issued / ISSUE_WIDTH
    }

    /// Returns the cycles that the busiest ports take with the optimal distribution.
    pub fn ports(&self) -> f64 {
        let restricted_uops = |set: u8| -> f64 {
            (1..=255u8)
                .filter(|ports| ports & !set == 0)
                .map(|ports| self.uops[usize::from(ports)])
                .sum()
        };
        (1..=255u8)
            .map(|set| restricted_uops(set) / f64::from(set.count_ones()))
            .fold(0.0, f64::max)
    }
}

/// Computes the resource usage of code from the execution counts of its basic blocks.
pub fn pressure(code: &Code, block_counts: &[u64]) -> Pressure {
    let mut pressure = Pressure::ZERO;
    for (block, instruction) in code.instructions_in_blocks() {
        pressure.add(&instruction, block_counts[block] as f64);
    }
    pressure
}

/// Predicts the cycles of code from the execution counts of its basic blocks.
pub fn cycles(code: &Code, block_counts: &[u64]) -> f64 {
    pressure(code, block_counts).cycles()
}

/// Returns the numbers of loads and stores of explicit memory operands. The timing of gathers
/// includes their loads.
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

/// Whether the instruction is a zero idiom: its operands are the same register and the result is
/// zero, so that register renaming handles it without executing a µop.
fn is_zero_idiom(i: &Instruction) -> bool {
    let register = i.op0_register();
    matches!(i.mnemonic(), Mnemonic::Xorps | Mnemonic::Vxorps)
        && (1..i.op_count())
            .all(|k| i.op_kind(k) == OpKind::Register && i.op_register(k) == register)
}

/// Returns the resources that an instruction uses. Panics for instructions that the back end does
/// not emit.
fn timing(i: &Instruction) -> Timing {
    use Mnemonic::*;
    let wide = i.op0_register().is_ymm();
    let from_memory = (0..i.op_count()).any(|k| i.op_kind(k) == OpKind::Memory);
    match i.mnemonic() {
        _ if is_zero_idiom(i) => Timing::issued(1.0),
        // Register renaming eliminates register moves. Loads and stores have no µops besides those
        // of the memory access.
        Movaps | Vmovaps | Mov => Timing::issued(if from_memory { 0.0 } else { 1.0 }),
        Addps | Vaddps | Subps | Vsubps | Mulps | Vmulps => Timing::uops(&[P01]),
        Minps | Vminps | Maxps | Vmaxps | Cmpps | Vcmpps => Timing::uops(&[P01]),
        Cvtdq2ps | Vcvtdq2ps | Cvttps2dq | Vcvttps2dq => Timing::uops(&[P01]),
        Andps | Vandps | Andnps | Vandnps | Orps | Vorps | Xorps | Vxorps => Timing::uops(&[P015]),
        Paddd | Vpaddd | Psubd | Vpsubd => Timing::uops(&[P015]),
        Pminsd | Vpminsd | Pmaxsd | Vpmaxsd | Pminud | Vpminud | Pmaxud | Vpmaxud => {
            Timing::uops(&[P01])
        }
        Pcmpeqd | Vpcmpeqd | Pcmpgtd | Vpcmpgtd => Timing::uops(&[P01]),
        Pslld | Vpslld | Psrld | Vpsrld | Psrad | Vpsrad => Timing::uops(&[P01]),
        Pmulld | Vpmulld | Roundps | Vroundps => Timing::uops(&[P01, P01]),
        Divps | Vdivps => Timing::divider(if wide { 5.0 } else { 3.0 }),
        Sqrtps | Vsqrtps => Timing::divider(if wide { 6.0 } else { 3.0 }),
        Blendvps => Timing::uops(&[P015]),
        Vblendvps => Timing::uops(&[P015, P015]),
        Ptest | Vptest => Timing::uops(&[P0, P5]),
        Movd | Vmovd | Movq | Vmovq if from_memory => Timing::issued(0.0),
        Movd | Vmovd | Movq | Vmovq => {
            Timing::uops(if i.op0_register().is_gpr() { &[P0] } else { &[P5] })
        }
        Pextrq | Vpextrq => Timing::uops(&[P0, P5]),
        Pinsrd | Vpinsrd if from_memory => Timing { issued: 2.0, ..Timing::uops(&[P5]) },
        Pinsrd | Vpinsrd => Timing::uops(&[P5, P5]),
        Vpgatherdd => Timing {
            issued: 4.0,
            uops: &[P0, P01, P5, LOAD, LOAD, LOAD, LOAD, LOAD, LOAD, LOAD, LOAD],
            divider: 0.0,
        },
        Vzeroupper => Timing::issued(4.0),
        Lea => Timing::uops(&[P15]),
        Add | Sub | And | Test | Cmp => Timing::uops(&[P0156]),
        Shr => Timing::uops(&[P06]),
        Je | Jne | Jb | Jae => Timing::uops(&[P06]),
        Jmp => Timing::uops(&[P6]),
        Ret => Timing { issued: 1.0, ..Timing::uops(&[P6, LOAD]) },
        other => panic!("no timing for {other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_shader::backend::x86::Isa;
    use lightbound_shader::ir::text::parse;
    use lightbound_shader::testing::random::{Options, function};

    /// Returns the pressure of a function that is executed once.
    fn pressure_of(text: &str, isa: Isa) -> Pressure {
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
        // Four arithmetic instructions, three of them with a memory operand; a load; a store; and
        // the return.
        let text = "fn f(a: f32, b: f32, c: f32, d: f32) -> (y: f32) {
            %1 = add a, b
            %2 = mul %1, c
            %3 = add %2, d
            %4 = mul %3, %1
            return %4
        }";
        let pressure = pressure_of(text, Isa::Avx);
        assert_eq!(pressure.uops[usize::from(P01)], 4.0);
        // a, b, c, d and the return address.
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
    fn divisions_and_roots_are_limited_by_the_divider() {
        let text = "fn f(a: f32, b: f32) -> (y: f32) {
            %1 = div a, b
            %2 = sqrt %1
            return %2
        }";
        for (isa, cycles) in [(Isa::Sse41, 6.0), (Isa::Avx2, 11.0)] {
            assert_eq!(pressure_of(text, isa).cycles(), cycles, "{isa:?}");
        }
    }

    #[test]
    fn uops_are_distributed_over_free_ports() {
        let mut pressure = Pressure::ZERO;
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
