//! Workers without a supervisor.

use std::io;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn a_worker_ends_with_its_supervisor() {
    let mut worker = Command::new(env!("CARGO_BIN_EXE_lightbound-fuzz"))
        .args(["ply", "--worker-until", "1000000000"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = worker.stdout.take().unwrap();
    // Reads on, so that the worker could continue, as it does in a case that takes forever.
    let reader = std::thread::spawn(move || io::copy(&mut lines, &mut io::sink()).unwrap());
    drop(worker.stdin.take());
    let start = Instant::now();
    let ended = loop {
        match worker.try_wait().unwrap() {
            None if start.elapsed() > Duration::from_secs(20) => break false,
            None => std::thread::sleep(Duration::from_millis(10)),
            Some(_) => break true,
        }
    };
    worker.kill().unwrap();
    worker.wait().unwrap();
    assert!(ended);
    assert!(reader.join().unwrap() > 0, "the worker has run cases");
}
