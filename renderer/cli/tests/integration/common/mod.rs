//! Shared code of the program's tests.

pub mod room;
#[cfg(unix)]
pub mod running;
pub mod scene_dir;
pub mod shader_dir;
pub mod tables;

use assert_cmd::Command;
use predicates::str::contains;
use std::time::Duration;

/// The program, with a time limit.
pub fn lightbound(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lightbound"));
    command.args(args).timeout(Duration::from_secs(60));
    command
}

/// Asserts that a command exits with code 2, prints nothing to stdout, and prints each of
/// `messages` to stderr.
pub fn assert_input_error(command: &mut Command, messages: &[&str]) {
    let failed = command.assert().code(2).stdout("");
    messages.iter().fold(failed, |failed, message| failed.stderr(contains(*message)));
}
