//! Machine code of every target against the interpreter, bit for bit.

use lightbound_shader::differential::{check, op_function};
use lightbound_shader::ir::{Op, random};
use lightbound_shader::{Target, passes};
use std::process::ExitCode;

/// Holds compiled functions of every target against the interpreter, bit for bit.
#[derive(clap::Args)]
pub struct Args {}

/// Checks, and prints the first failure.
pub fn run(_: &Args) -> ExitCode {
    let targets: Vec<_> = Target::ALL.into_iter().filter(|target| target.is_available()).collect();
    for &op in Op::ALL {
        let function = op_function(op);
        let rows = random::special_rows(&function.inputs, 4000, op as u64);
        for &target in &targets {
            if let Err(mismatch) = check(&function, &passes::lower(&function), target, &rows) {
                eprintln!("{mismatch}");
                return ExitCode::FAILURE;
            }
        }
    }
    println!("{} operations: no difference", Op::ALL.len());
    ExitCode::SUCCESS
}
