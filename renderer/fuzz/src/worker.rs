//! A worker process: runs cases one after the other and reports each on stdout.
//!
//! Lines of the protocol: `case INDEX` before a case, `accepted`, `rejected` or `panic MESSAGE`
//! after it. Stdin ends with the supervisor.

use crate::kind::Kind;
use crate::mutation::mutate;
use lightbound_shader::random::Random;
use rustix::process::{Resource, Rlimit, setrlimit};
use std::io::{Read, Write};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

/// Time for the current case once the supervisor has ended. If the case ends in this time, the
/// worker also removes its temporary files.
const LAST_CASE: Duration = Duration::from_secs(2);

/// The message of the last panic.
static PANIC: Mutex<String> = Mutex::new(String::new());

/// Returns the input of a case.
pub fn case(kind: Kind, corpus: &[Vec<u8>], seed: u64, index: u64) -> Vec<u8> {
    // The generator mixes its state, so neighbouring seeds have unrelated numbers.
    let mut random = Random::new(Random::new(seed ^ (kind as u64) << 56).bits() ^ index);
    let mut case = mutate(&mut random, corpus, kind.syntax());
    kind.repair(&mut random, &mut case);
    case
}

/// Runs the cases. `memory` is the limit of the address space, GiB.
pub fn run(kind: Kind, seed: u64, cases: Range<u64>, memory: u64) {
    let limit = Some(memory << 30);
    setrlimit(Resource::As, Rlimit { current: limit, maximum: limit })
        .expect("a process may lower its own limit");
    std::panic::set_hook(Box::new(|info| {
        let message = info.to_string().replace('\n', " ");
        *PANIC.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = message;
    }));
    thread::spawn(|| {
        // An interrupted supervisor does not enforce the time limit.
        _ = std::io::stdin().read(&mut [0]);
        thread::sleep(LAST_CASE);
        std::process::exit(1);
    });
    let mut reader = kind.reader();
    let corpus = reader.corpus();
    let stdout = std::io::stdout();
    for index in cases {
        let report = |line: &str| {
            // The supervisor must learn of a case before it can crash the process.
            let mut out = stdout.lock();
            writeln!(out, "{line}").and_then(|()| out.flush()).is_ok()
        };
        if !report(&format!("case {index}")) {
            return;
        }
        let input = case(kind, &corpus, seed, index);
        let line = match catch_unwind(AssertUnwindSafe(|| reader.read(&input))) {
            Ok(Ok(())) => "accepted".into(),
            Ok(Err(_)) => "rejected".into(),
            Err(_) => {
                // The panic may have left the reader in any state.
                reader = kind.reader();
                format!("panic {}", PANIC.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
            }
        };
        if !report(&line) {
            return;
        }
    }
}
