//! Signals during `lightbound render`.
#![cfg(unix)]

use crate::common::running::Running;
use crate::common::scene_dir::{SceneDir, assert_same_exr, channels, stats};
use lightbound_shader::random::Random;
use std::fs::File;
use std::io::{Read, Write};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A rendering that does not end by itself.
const ENDLESS: &str = "render scene.pbrt -o a.exr --spp 10000000 --threads 2";

#[test]
fn signals_write_the_unfinished_image() {
    for (signal, name, code) in
        [("INT", "Ctrl-C", 130), ("TERM", "SIGTERM", 143), ("HUP", "SIGHUP", 129)]
    {
        if signal == "HUP" && hang_up_is_ignored() {
            continue;
        }
        let dir = SceneDir::new();
        let mut running = Running::lightbound(dir.root(), ENDLESS);
        running.wait_for_rendering();
        running.signal(signal);
        let stderr = running.finish_with(code);
        assert!(
            stderr.contains(&format!("interrupted by {name}"))
                && stderr.contains("of 10000000 samples per pixel")
                && stderr.contains(&format!("(ended by {name})")),
            "{stderr}"
        );
        assert_eq!(dir.files(), ["a.exr"]);
        let radiance = channels(&dir.path("a.exr")).into_iter().find(|c| c.0 == "R").unwrap().1;
        assert!(radiance.iter().all(|&bits| f32::from_bits(bits) > 0.0));
    }
}

#[test]
fn ctrl_c_before_every_pixel_has_a_sample_replaces_no_file() {
    let dir = SceneDir::new();
    std::fs::write(dir.path("a.png"), "earlier").unwrap();
    let mut running = Running::lightbound(
        dir.root(),
        "render scene.pbrt -o a.png --resolution 3000x3000 --stats s.json --threads 1",
    );
    running.wait_for_rendering();
    running.signal("INT");
    let stderr = running.finish_with(130);
    assert_eq!(std::fs::read_to_string(dir.path("a.png")).unwrap(), "earlier");
    assert!(stderr.contains("a.png is unchanged"), "{stderr}");
    // There may or may not be a sample yet.
    let written = dir.path("a-1.png").exists().then_some("a-1.png");
    assert_eq!(written.is_none(), stderr.contains("no image was written"), "{stderr}");
    assert_eq!(stats(&dir.path("s.json"))["output"].as_str(), written);
}

#[test]
fn user_signal_writes_image_and_checkpoint_and_continues() {
    let dir = SceneDir::new();
    let mut running = Running::lightbound(dir.root(), &format!("{ENDLESS} --checkpoint 1000"));
    running.wait_for_rendering();
    for _ in 0..2 {
        running.signal("USR1");
        running.wait_for("(so far)");
        assert_eq!(dir.files(), ["a.exr", "a.exr.checkpoint"]);
        for file in ["a.exr", "a.exr.checkpoint"] {
            std::fs::remove_file(dir.path(file)).unwrap();
        }
        assert!(running.is_running());
    }
    running.signal("TERM");
    let stderr = running.finish_with(143);
    assert!(stderr.contains("and the checkpoint a.exr.checkpoint"), "{stderr}");
    assert_eq!(dir.files(), ["a.exr", "a.exr.checkpoint"]);
}

#[test]
fn signals_while_a_scene_loads_say_so() {
    let dir = SceneDir::new();
    // The scene never ends.
    make_pipe(&dir, "endless.pbrt");
    let _writer = File::options().read(true).write(true).open(dir.path("endless.pbrt")).unwrap();
    let running = Running::lightbound(dir.root(), "render endless.pbrt -o a.exr");
    sleep(Duration::from_millis(500));
    running.signal("INT");
    let stderr = running.finish_with(130);
    assert!(stderr.contains("interrupted by Ctrl-C while loading"), "{stderr}");
}

#[test]
fn unwritable_snapshot_does_not_stop_rendering() {
    let dir = SceneDir::new();
    std::fs::create_dir(dir.path("folder")).unwrap();
    let mut running = Running::lightbound(dir.root(), &ENDLESS.replace("a.exr", "folder/a.exr"));
    running.wait_for_rendering();
    std::fs::remove_dir(dir.path("folder")).unwrap();
    running.signal("USR1");
    running.wait_for("the rendering continues");
    std::fs::create_dir(dir.path("folder")).unwrap();
    running.signal("USR1");
    running.wait_for("(so far)");
    assert!(dir.path("folder/a.exr").is_file());
}

/// A rendering to `output`; stdout goes to the file `out`.
fn render_to(dir: &SceneDir, output: &str, args: &str) -> Running {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lightbound"));
    command.args(["render", "scene.pbrt", "-o", output]).args(args.split(' '));
    let out = File::create(dir.path("out")).unwrap();
    let mut running = Running::start(command.current_dir(dir.root()).stdout(out));
    running.wait_for_rendering();
    running
}

fn make_pipe(dir: &SceneDir, name: &str) {
    assert!(Command::new("mkfifo").arg(dir.path(name)).status().unwrap().success());
}

#[test]
fn stdout_and_pipes_get_one_image() {
    let dir = SceneDir::new();
    make_pipe(&dir, "a.pfm");
    // Opened for both, so that neither end waits for the other. The pipe holds the whole image.
    let mut pipe = File::options().read(true).write(true).open(dir.path("a.pfm")).unwrap();
    for (output, name) in [("pfm:-", "stdout"), ("a.pfm", "a.pfm")] {
        // If the expected line never comes, the time limit ends the test.
        let args = "--spp 10000000 --threads 2 --time-limit 20";
        let mut running = render_to(&dir, output, args);
        running.signal("USR1");
        running.wait_for(&format!("{name} can receive only one image; the rendering continues"));
        assert_eq!(std::fs::read(dir.path("out")).unwrap(), b"");
        running.signal("TERM");
        running.finish_with(143);
        let length = "PF\n24 16\n-1.0\n".len() + 24 * 16 * 12;
        let mut image = std::fs::read(dir.path("out")).unwrap();
        if output == "a.pfm" {
            image.resize(length, 0);
            pipe.read_exact(&mut image).unwrap();
        }
        assert_eq!(image.len(), length);
        assert!(image.starts_with(b"PF\n24 16\n"));
    }
}

#[test]
fn unfinished_image_goes_to_redirected_stdout() {
    let dir = SceneDir::new();
    let running = render_to(&dir, "pfm:-", "--resolution 3000x3000 --threads 1");
    running.signal("INT");
    let stderr = running.finish_with(130);
    // There may or may not be a sample yet.
    let length = std::fs::metadata(dir.path("out")).unwrap().len();
    assert_eq!(length > 0, stderr.contains("stdout: 3000 × 3000 pixels"), "{stderr}");
    assert_eq!(length == 0, stderr.contains("no image was written"), "{stderr}");
    assert!(!stderr.contains("unchanged"), "{stderr}");
}

/// A finished rendering that is writing its image to a pipe, and the end of the pipe to read.
fn writing() -> (SceneDir, Running, File) {
    let dir = SceneDir::new();
    make_pipe(&dir, "a.pfm");
    // The image is larger than the buffer of a pipe.
    let args = "render scene.pbrt -o a.pfm --spp 1 --resolution 512x512";
    let running = Running::lightbound(dir.root(), args);
    // Waits until the program has opened the other end.
    let reader = File::open(dir.path("a.pfm")).unwrap();
    (dir, running, reader)
}

#[test]
fn second_ctrl_c_aborts_writing() {
    let (_dir, mut running, _reader) = writing();
    running.signal("INT");
    running.wait_for("Ctrl-C again aborts");
    sleep(Duration::from_millis(300));
    assert!(running.is_running());
    running.signal("INT");
    running.finish_with(130);
}

#[test]
fn repeated_sigterm_does_not_abort_writing() {
    let (_dir, running, mut reader) = writing();
    for _ in 0..3 {
        running.signal("TERM");
        sleep(Duration::from_millis(300));
    }
    let mut image = Vec::new();
    reader.read_to_end(&mut image).unwrap();
    assert_eq!(image.len(), "PF\n512 512\n-1.0\n".len() + 512 * 512 * 12);
    running.finish_with(0);
}

#[test]
fn snapshot_request_before_loading_is_ignored() {
    let dir = SceneDir::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_lightbound"));
    command.args(["render", "-", "-o", "a.exr"]).current_dir(dir.root());
    let (stdin, mut writer) = std::io::pipe().unwrap();
    let running = Running::start(command.stdin(stdin));
    drop(command);
    // Pipes hold less, so the program is reading its scene after this.
    writer.write_all(&[b'\n'; 1 << 20]).unwrap();
    running.signal("USR1");
    writer.write_all(&std::fs::read(dir.path("scene.pbrt")).unwrap()).unwrap();
    drop(writer);
    running.finish_with(0);
}

#[test]
fn interrupted_merge_leaves_no_temporary_files() {
    let dir = SceneDir::new();
    std::fs::create_dir(dir.path("temporary")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_lightbound"));
    command.args(["merge", "-", "-o", "a.exr"]).current_dir(dir.root());
    let (stdin, mut writer) = std::io::pipe().unwrap();
    let running = Running::start(command.env("TMPDIR", dir.path("temporary")).stdin(stdin));
    drop(command);
    // Pipes hold less, so the program is saving its part after this.
    writer.write_all(&[0; 1 << 20]).unwrap();
    let files = || std::fs::read_dir(dir.path("temporary")).unwrap().count();
    assert_eq!(files(), 1);
    running.signal("TERM");
    running.finish_with(143);
    assert_eq!((files(), dir.path("a.exr").exists()), (0, false));
}

#[test]
fn hang_up_that_was_ignored_before_remains_ignored() {
    let dir = SceneDir::new();
    let program = env!("CARGO_BIN_EXE_lightbound");
    // As `nohup` does.
    let script = format!("trap '' HUP; exec '{program}' {ENDLESS}");
    let mut running =
        Running::start(Command::new("sh").args(["-c", &script]).current_dir(dir.root()));
    running.wait_for_rendering();
    running.signal("HUP");
    sleep(Duration::from_millis(300));
    assert!(running.is_running());
    running.signal("TERM");
    let stderr = running.finish_with(143);
    assert!(!stderr.contains("SIGHUP"), "{stderr}");
}

/// Whether the tests themselves run under `nohup`, so that their child processes ignore SIGHUP.
fn hang_up_is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).is_ok_and(|mask| mask & 1 == 1))
}

/// Signals that are sent within some milliseconds, and the exit code if they stop the program.
const SIGNALS: [(&[&str], i32); 6] = [
    (&["INT"], 130),
    (&["TERM"], 143),
    (&["TERM", "TERM", "TERM"], 143),
    (&["USR1", "TERM"], 143),
    (&["HUP"], 129),
    (&["HUP", "TERM", "HUP"], 129),
];

/// Sends signals to renderings at random moments, until they have stopped `moments` of them, and
/// resumes after each. Every finished image must equal that of an uninterrupted rendering.
fn interrupt_at_random_moments(moments: usize, seed: u64) {
    let mut generator = Random::new(seed);
    let mut random = || (generator.bits() >> 40) as f64 / (1u64 << 24) as f64;
    let dir = SceneDir::new();
    let args = "render scene.pbrt --spp 1500 --threads 2 --checkpoint 1000 --resume -o";
    let start = Instant::now();
    Running::lightbound(dir.root(), &format!("{args} whole.exr")).finish_with(0);
    let typical = start.elapsed();
    // The last two need SIGHUP.
    let signals = if hang_up_is_ignored() { &SIGNALS[..4] } else { &SIGNALS[..] };
    let (mut early, mut stopped, mut late, mut snapshots) = (0, 0, 0, 0);
    for run in 0.. {
        assert!(run < 20 * moments, "seed {seed}: only {stopped} renderings stopped");
        let running = Running::lightbound(dir.root(), &format!("{args} a.exr"));
        // The last rendering is not interrupted.
        let is_last = stopped == moments;
        let (names, expected) = match is_last {
            true => (&[][..], 0),
            false => signals[(random() * signals.len() as f64) as usize],
        };
        sleep(typical.mul_f64(random()));
        for name in names {
            running.signal(name);
            sleep(Duration::from_millis(30).mul_f64(random()));
        }
        let (status, stderr) = running.finish();
        snapshots += stderr.matches("(so far)").count();
        match status.code() {
            // It may have been interrupted during its last jobs.
            Some(0) => {
                assert_same_exr(&dir.path("whole.exr"), &dir.path("a.exr"));
                assert_eq!(dir.files(), ["a.exr", "whole.exr"]);
                std::fs::remove_file(dir.path("a.exr")).unwrap();
                late += 1;
                if is_last {
                    break;
                }
                continue;
            }
            // The signal arrived before the program handles any.
            None => assert!(!stderr.contains("loading"), "{status}: {stderr}"),
            code => assert_eq!(code, Some(expected), "{stderr}"),
        }
        let is_known =
            |name: &String| ["a.exr", "a.exr.checkpoint", "whole.exr"].contains(&name.as_str());
        assert!(dir.files().iter().all(is_known), "{:?}", dir.files());
        if stderr.contains("interrupted by") {
            // Even if there are no samples yet.
            assert!(dir.path("a.exr.checkpoint").exists(), "{stderr}");
            stopped += 1;
        } else {
            early += 1;
        }
    }
    println!(
        "{stopped} renderings stopped while rendering, {early} before, {late} finished and were \
         identical; {snapshots} snapshots"
    );
}

#[test]
fn renderings_resumed_after_signals_are_bit_identical() {
    interrupt_at_random_moments(10, 1);
}

#[test]
#[ignore = "takes minutes: cargo test -p lightbound-cli --test integration signals -- --ignored --nocapture"]
fn renderings_resumed_after_a_thousand_signals_are_bit_identical() {
    interrupt_at_random_moments(1000, 2);
}
