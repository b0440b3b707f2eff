//! The program as a running process that receives signals.

use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// A running process. It is killed when dropped, so that a failed test leaves none behind.
pub struct Running {
    child: Child,
    /// The lines of stderr.
    lines: Lines<BufReader<ChildStderr>>,
    /// The lines read so far.
    read: Vec<String>,
}

impl Running {
    /// Starts `lightbound ARGS` in a folder; spaces separate the arguments.
    pub fn lightbound(folder: &Path, args: &str) -> Running {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lightbound"));
        Running::start(command.args(args.split_whitespace()).current_dir(folder))
    }

    pub fn start(command: &mut Command) -> Running {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        Running { child, lines, read: Vec::new() }
    }

    /// Waits for a line that contains `text`.
    pub fn wait_for(&mut self, text: &str) {
        for line in self.lines.by_ref().map(Result::unwrap) {
            self.read.push(line);
            if self.read.last().unwrap().contains(text) {
                return;
            }
        }
        panic!("no line contains {text:?}: {:#?}", self.read);
    }

    /// Waits until samples are being taken; the scene is summarized before that.
    pub fn wait_for_rendering(&mut self) {
        self.wait_for("triangles");
        sleep(Duration::from_millis(400));
    }

    /// Sends a signal: `INT`, `TERM`, …
    pub fn signal(&self, name: &str) {
        // The shell's builtin `kill`, since the program is not installed everywhere.
        let command = format!("kill -{name} {}", self.child.id());
        let status = Command::new("sh").args(["-c", &command]).status().unwrap();
        assert!(status.success());
    }

    /// Ends the process at once; has no effect if it has ended.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits for the end of the process; returns its status and all lines of stderr.
    pub fn finish(mut self) -> (ExitStatus, String) {
        self.read.extend(self.lines.by_ref().map(Result::unwrap));
        (self.child.wait().unwrap(), self.read.join("\n"))
    }

    /// Like [`Running::finish`], for processes that exit with `code`; returns the lines of stderr.
    pub fn finish_with(self, code: i32) -> String {
        let (status, stderr) = self.finish();
        assert_eq!(status.code(), Some(code), "{status}: {stderr}");
        stderr
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Fails if the process has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
