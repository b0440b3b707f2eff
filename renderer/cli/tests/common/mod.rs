//! Shared code of the program's tests.
#![allow(dead_code, reason = "each test program uses a part")]

pub mod room;
pub mod scene_dir;
pub mod shader_dir;
pub mod tables;

use assert_cmd::Command;
use predicates::str::contains;
use std::process::Child;
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

/// Sends the signal of Ctrl-C to a process.
#[cfg(unix)]
pub fn interrupt(child: &Child) {
    // The shell's builtin `kill`, since the program is not installed everywhere.
    let command = format!("kill -INT {}", child.id());
    let status = std::process::Command::new("sh").args(["-c", &command]).status().unwrap();
    assert!(status.success());
}
