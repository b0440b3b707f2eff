//! Disassembly in Intel syntax, with labels for jump targets and comments that give the names of
//! ports and the values of constants.

use super::Code;
use crate::ir::{Function, Port, Table};
use iced_x86::{
    Formatter, Instruction, IntelFormatter, MemorySizeOptions, NumberBase, OpKind, Register,
    SymbolResolver, SymbolResult,
};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Column at which comments start.
const COMMENT_COLUMN: usize = 44;

/// Symbols of jump targets and constants.
struct Symbols {
    labels: BTreeMap<u64, String>,
    entry: u64,
    width: u64,
}

impl SymbolResolver for Symbols {
    fn symbol(
        &mut self,
        instruction: &Instruction,
        _: u32,
        _: Option<u32>,
        address: u64,
        _: u32,
    ) -> Option<SymbolResult<'_>> {
        match self.labels.get(&address) {
            Some(label) => Some(SymbolResult::with_str(address, label)),
            None if instruction.memory_base() == Register::RIP && address < self.entry => {
                Some(SymbolResult::with_string(address, format!("c{}", address / self.width)))
            }
            None => None,
        }
    }
}

impl Code {
    /// Disassembles the code of this function, one instruction per line.
    pub fn listing(&self, function: &Function) -> String {
        let targets = self
            .instructions()
            .filter(|i| i.op0_kind() == OpKind::NearBranch64)
            .map(|i| i.near_branch_target());
        let targets: std::collections::BTreeSet<u64> = targets.collect();
        let labels: BTreeMap<_, _> =
            targets.into_iter().zip(0..).map(|(target, k)| (target, format!("L{k}"))).collect();
        let symbols = Symbols {
            labels: labels.clone(),
            entry: self.entry() as u64,
            width: self.width() as u64,
        };
        let mut formatter = IntelFormatter::with_options(Some(Box::new(symbols)), None);
        let options = formatter.options_mut();
        options.set_number_base(NumberBase::Decimal);
        options.set_first_operand_char_index(11);
        options.set_space_after_operand_separator(true);
        options.set_memory_size_options(MemorySizeOptions::Never);
        options.set_rip_relative_addresses(false);
        let mut text = String::new();
        for instruction in self.instructions() {
            if let Some(label) = labels.get(&instruction.ip()) {
                _ = writeln!(text, "{label}:");
            }
            let mut line = "    ".to_owned();
            formatter.format(&instruction, &mut line);
            match self.comment(&instruction, function) {
                Some(comment) => _ = writeln!(text, "{line:COMMENT_COLUMN$}; {comment}"),
                None => _ = writeln!(text, "{line}"),
            }
        }
        text
    }

    fn width(&self) -> usize {
        self.isa.register_size()
    }

    /// Describes the memory operand of an instruction.
    fn comment(&self, instruction: &Instruction, function: &Function) -> Option<String> {
        let offset = instruction.memory_displacement64() as usize / self.width();
        let name = |ports: &[Port]| ports.get(offset).map(|port| port.name.clone());
        match instruction.memory_base() {
            Register::RIP => {
                let at = instruction.ip_rel_memory_address() as usize;
                let bits = u32::from_le_bytes(
                    self.machine.bytes[at..at + 4].try_into().expect("four bytes"),
                );
                Some(constant(bits))
            }
            Register::RDI => name(&function.inputs),
            Register::RSI => name(&function.outputs),
            Register::RDX => Some(table(instruction.memory_displacement64() as usize)),
            _ => None,
        }
    }
}

/// Describes an offset in the array of tables.
fn table(offset: usize) -> String {
    let (table, offset) =
        (offset / size_of::<Table<'static>>(), offset % size_of::<Table<'static>>());
    if offset == Table::LAST {
        format!("last index of table {table}")
    } else {
        format!("table {table}")
    }
}

/// A constant as a float if it looks like one, else in hexadecimal.
fn constant(bits: u32) -> String {
    let x = f32::from_bits(bits);
    if x.is_normal() && (1e-20..1e20).contains(&x.abs()) {
        format!("{x:?}")
    } else {
        format!("{bits:#x}")
    }
}
