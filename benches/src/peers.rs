//! Error and speed compared with other renderers, on the same scenes in one run.
//!
//! A comparison harness is a folder with `bench.py`, which runs all renderers in turns, with more
//! and more samples. The longest render is repeated with other seeds. This module starts it for each
//! scene and prints a table of its results.

use crate::arguments::positive;
use crate::report::{fail, print_head, print_machine, print_row};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// Error and speed compared with other renderers, on the same scenes in one run
///
/// Needs a comparison harness and the renderers that it runs. See its README for installation.
///
/// Example: lightbound-benches peers --harness DIR --python mi/bin/python --scenes cornell
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The harness: a folder with `bench.py` and references
    #[arg(long)]
    harness: PathBuf,

    /// Folder of references [default: `ref` in the harness]
    ///
    /// A reference of one renderer's own, made by the harness, keeps differences between models out
    /// of its errors.
    #[arg(long)]
    references: Option<PathBuf>,

    /// Python with NumPy and OpenEXR, and with Mitsuba 3 if it is to be compared
    #[arg(long, default_value = "python3")]
    python: PathBuf,

    /// The program to compare [default: `lightbound` in the folder of this program]
    #[arg(long)]
    lightbound: Option<PathBuf>,

    /// Scenes of the harness
    #[arg(long, value_delimiter = ',', default_value = "cornell,interior,envlit")]
    scenes: Vec<String>,

    /// Renderers, by the harness's names; those of this program start with `ours`
    ///
    /// Others without results, such as those that are not installed, are left out of the ratios.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "ours,ours-sobol,mitsuba-llvm,mitsuba-mj,cycles-tree,lux-logpower"
    )]
    peers: Vec<String>,

    /// Time limit of the longest render, core-seconds
    #[arg(long, default_value_t = 3, value_parser = positive::<u32>)]
    seconds: u32,

    /// Number of seeds of the longest render
    #[arg(long, default_value_t = 2, value_parser = positive::<u32>)]
    seeds: u32,
}

/// Pixels per side of the harness's images and references.
const RESOLUTION: u32 = 128;

/// The means over the seeds of a renderer's longest render.
#[derive(Debug, PartialEq)]
struct Row {
    peer: String,
    /// Samples per pixel.
    spp: f64,
    cpu_seconds: f64,
    /// Without the error of the reference.
    relmse: f64,
}

impl Row {
    /// Reads the results of a renderer; `None` if it failed, if the error of the reference hides its
    /// own, or if the format is unknown.
    fn new(peer: &str, results: &Value) -> Option<Row> {
        let runs = results["rungs"].as_object()?.values();
        let spp = |runs: &Value| runs[0]["spp"].as_f64();
        let runs = runs.max_by(|a, b| spp(a).unwrap_or(0.0).total_cmp(&spp(b).unwrap_or(0.0)))?;
        let runs = runs.as_array().filter(|runs| !runs.is_empty())?;
        let mean = |key: &str| {
            let values: Option<Vec<f64>> = runs.iter().map(|run| run[key].as_f64()).collect();
            Some(values?.iter().sum::<f64>() / runs.len() as f64)
        };
        let floor = results["floor"].as_f64().unwrap_or(0.0);
        Some(Row {
            peer: peer.to_owned(),
            spp: mean("spp")?,
            cpu_seconds: mean("cpu")?,
            relmse: Some(mean("relmse")? - floor).filter(|&relmse| relmse > 0.0)?,
        })
    }

    /// relMSE times core-seconds, which does not depend on the number of samples.
    fn cost(&self) -> f64 {
        self.relmse * self.cpu_seconds
    }

    /// Million camera samples per core-second.
    fn rate(&self) -> f64 {
        self.spp * f64::from(RESOLUTION * RESOLUTION) / self.cpu_seconds / 1e6
    }

    /// Returns the cells of the row. `best` are the lowest cost and the highest rate of the other
    /// renderers, if there are any.
    fn cells(&self, scene: &str, best: Option<(f64, f64)>) -> [String; 8] {
        let ratio = |of: fn((f64, f64), &Row) -> f64| {
            best.map_or_else(|| "–".to_owned(), |best| format!("{:.2}", of(best, self)))
        };
        [
            scene.to_owned(),
            self.peer.clone(),
            format!("{}", self.spp),
            format!("{:.3}", self.rate()),
            format!("{:.3e}", self.relmse),
            format!("{:.4}", self.cost()),
            ratio(|(cost, _), row| row.cost() / cost),
            ratio(|(_, rate), row| row.rate() / rate),
        ]
    }
}

/// Returns the lowest cost and the highest rate of the other renderers; `None` without any.
fn best_peer(rows: &[Row]) -> Option<(f64, f64)> {
    let peers = || rows.iter().filter(|row| !is_ours(&row.peer));
    Some((
        peers().map(Row::cost).min_by(f64::total_cmp)?,
        peers().map(Row::rate).max_by(f64::total_cmp)?,
    ))
}

/// Prints a table.
pub fn run(args: &Args) -> ExitCode {
    print_machine();
    let titles = ["scene", "renderer", "spp", "M samples/core-s", "relMSE", "relMSE × core-s"];
    let ratios = ["cost ÷ best peer", "rate ÷ best peer"];
    print_head(&titles.into_iter().chain(ratios).map(str::to_owned).collect::<Vec<_>>());
    for scene in &args.scenes {
        match measure(args, scene) {
            Ok(rows) => {
                let best = best_peer(&rows);
                rows.iter().for_each(|row| print_row(row.cells(scene, best)));
            }
            Err(error) => return fail(&error),
        }
    }
    ExitCode::SUCCESS
}

/// Runs the harness on a scene.
fn measure(args: &Args, scene: &str) -> Result<Vec<Row>, String> {
    let script = args.harness.join("bench.py");
    if !script.is_file() {
        return Err(format!(
            "{} does not exist; specify the harness of peers with --harness",
            script.display()
        ));
    }
    let lightbound = match &args.lightbound {
        Some(path) => path.clone(),
        None => std::env::current_exe()
            .map_err(|error| format!("cannot find this program: {error}"))?
            .with_file_name("lightbound"),
    };
    if !lightbound.is_file() {
        return Err(format!(
            "{} does not exist; build it with cargo build --release, or specify --lightbound",
            lightbound.display()
        ));
    }
    let absolute = |path: &Path| {
        std::path::absolute(path).map_err(|error| format!("{}: {error}", path.display()))
    };
    // The harness starts it in another folder. A name without a folder is searched in PATH.
    let has_folder = args.python.components().count() > 1;
    let python = if has_folder { absolute(&args.python)? } else { args.python.clone() };
    let references = args.references.clone().unwrap_or_else(|| args.harness.join("ref"));
    let folder = tempfile::tempdir().map_err(|error| format!("temporary folder: {error}"))?;
    let results = folder.path().join("results.json");
    let output = Command::new(&python)
        .arg(&script)
        .args(["--scene", scene, "--peers", &args.peers.join(",")])
        .args(["--start", "16", "--factor", "4", "--res", &RESOLUTION.to_string()])
        .args(["--max", &args.seconds.to_string(), "--seeds", &args.seeds.to_string()])
        .arg("--out")
        .arg(&results)
        .env("LB", absolute(&lightbound)?)
        .env("PEER_TMP", folder.path())
        .env("PEER_REF", absolute(&references)?)
        .env("PEER_PY_MITSUBA", &python)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot start {}: {error}", python.display()))?;
    let log = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    if !output.status.success() {
        return Err(format!("the harness failed on {scene}:\n{log}"));
    }
    let text = std::fs::read_to_string(&results)
        .map_err(|error| format!("no results on {scene}: {error}\n{log}"))?;
    let all: Value = serde_json::from_str(&text).map_err(|error| format!("{scene}: {error}"))?;
    rows(&args.peers, &all[scene])
        .map_err(|peer| format!("no results of {peer} on {scene}:\n{log}"))
}

/// Returns the rows of all renderers with results, and reports the others. Fails with the name of a
/// renderer of this program that has none.
fn rows<'a>(peers: &'a [String], results: &Value) -> Result<Vec<Row>, &'a str> {
    let mut rows = Vec::new();
    for peer in peers {
        match Row::new(peer, &results[peer]) {
            Some(row) => rows.push(row),
            None if is_ours(peer) => return Err(peer),
            None => eprintln!("no results of {peer}: it failed, or is not installed"),
        }
    }
    Ok(rows)
}

/// Whether a renderer is this program.
fn is_ours(peer: &str) -> bool {
    peer.starts_with("ours")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run(spp: u32, cpu: f64, relmse: f64) -> Value {
        json!({ "spp": spp, "cpu": cpu, "relmse": relmse })
    }

    #[test]
    fn rows_are_means_over_the_longest_renders() {
        let results = json!({
            "rungs": { "64": [run(64, 0.5, 9.0)], "256": [run(256, 1.0, 0.4), run(256, 3.0, 0.8)] },
            "floor": 0.1,
        });
        let row = Row::new("ours", &results).unwrap();
        assert_eq!((row.spp, row.cpu_seconds), (256.0, 2.0));
        assert!((row.relmse - 0.5).abs() < 1e-12 && (row.cost() - 1.0).abs() < 1e-12);
        assert!((row.rate() - 256.0 * 16384.0 / 2e6).abs() < 1e-9);
        let below_floor = json!({ "rungs": { "64": [run(64, 0.5, 0.1)] }, "floor": 0.2 });
        for results in [Value::Null, json!({ "rungs": { "64": [] } }), below_floor] {
            assert_eq!(Row::new("ours", &results), None, "{results}");
        }
    }

    #[test]
    fn missing_peers_are_left_out() {
        let results =
            json!({ "ours": { "rungs": { "64": [run(64, 0.5, 0.1)] } }, "mitsuba": Value::Null });
        let found = |peers: &[&str]| {
            let peers: Vec<_> = peers.iter().map(|&peer| peer.to_owned()).collect();
            rows(&peers, &results).map(|rows| rows.len()).map_err(str::to_owned)
        };
        assert_eq!(found(&["ours", "mitsuba", "cycles"]), Ok(1));
        assert_eq!(found(&["ours", "ours-sobol"]), Err("ours-sobol".to_owned()));
    }

    #[test]
    fn ratios_are_relative_to_the_best_of_the_others() {
        let row = |peer: &str, spp, cpu_seconds, relmse| Row {
            peer: peer.to_owned(),
            spp,
            cpu_seconds,
            relmse,
        };
        let rows =
            [row("ours", 64.0, 1.0, 0.1), row("a", 64.0, 2.0, 0.1), row("b", 128.0, 1.0, 0.4)];
        let best = best_peer(&rows);
        assert_eq!(rows[0].cells("x", best)[6..], ["0.50".to_owned(), "0.50".to_owned()]);
        assert_eq!(best_peer(&rows[..1]), None);
        assert_eq!(rows[0].cells("x", None)[6..], ["–".to_owned(), "–".to_owned()]);
    }
}
