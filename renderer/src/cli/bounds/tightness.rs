//! `bounds --tightness`: how much upper bounds over-estimate, kind by kind, beside bounds derived
//! by hand.
//!
//! What is measured, and on what, is told in [`lightbound_shader::tightness`]; here are the
//! options, the tables and the records.

use super::table::Table;
use super::{Args, Format, plot, restricted};
use crate::cli::console::Console;
use crate::cli::numbers::whole;
use crate::cli::output::to_stdout;
use crate::cli::variant::{NanMode, names_of};
use crate::cli::{Error, Exit};
use lightbound::image::write::save;
use lightbound::material::library;
use lightbound_shader::bounding::{Frame, Integrand};
use lightbound_shader::relations::Relations;
use lightbound_shader::tightness::list::{HALF_ANGLES, LIST, Material};
use lightbound_shader::tightness::{Cell, Spread, Subject, kinds};
use lightbound_shader::{Settings, Shader, Target};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

/// Options of `--tightness`.
#[derive(Debug, clap::Args)]
pub(super) struct TightnessArgs {
    /// Tell how much upper bounds over-estimate instead, for a list of materials that is always the
    /// same; --shader chooses from it
    #[arg(long, conflicts_with_all = ["frame", "ranges", "inputs", "sides", "target", "rounds", "by_relation"])]
    pub tightness: bool,

    /// Cases for each material and half-angle: view directions, and boxes of light directions
    #[arg(long, value_name = "N", default_value_t = 200, requires = "tightness", value_parser = whole(1..=100_000_u32))]
    cases: u32,

    /// Seed of the cases
    #[arg(long, value_name = "N", default_value_t = 1, requires = "tightness", value_parser = whole(0..=u64::MAX))]
    seed: u64,
}

/// A material and what was measured for each half-angle.
pub(super) struct Row {
    pub material: Material,
    pub cells: Vec<Cell>,
}

/// Runs the command.
pub(super) fn run(args: &Args) -> Result<Exit, Error> {
    let svg = args.picture()?;
    let nan = args.nan.unwrap_or_default();
    let TightnessArgs { cases, seed, .. } = args.tightness;
    let relations = args.relations();
    let rows = measure(&subjects(&args.shader, nan, relations)?, cases as usize, seed, args);
    if let Some(output) = svg {
        output.write(|path| save(path, plot::draw(&rows).as_bytes()))?;
    }
    let text = match args.format {
        Format::Json => {
            let records: Vec<_> =
                rows.iter().flat_map(|row| records(row, nan, seed, relations)).collect();
            serde_json::to_string_pretty(&records).expect("records are plain data") + "\n"
        }
        format => text(&rows, cases, seed, relations, format == Format::Markdown),
    };
    to_stdout(text.as_bytes())?;
    Ok(Exit::Done)
}

/// The materials of the list, or those of some shaders, compiled.
fn subjects(
    shaders: &[PathBuf],
    nan: NanMode,
    relations: Relations,
) -> Result<Vec<Subject>, Error> {
    let is = |shader: &PathBuf, material: &Material| {
        let name = shader.to_string_lossy();
        name.strip_suffix(".wgsl").unwrap_or(&name) == material.shader
    };
    if let Some(unknown) =
        shaders.iter().find(|shader| !LIST.iter().any(|material| is(shader, material)))
    {
        let mut names: Vec<_> = LIST.iter().map(|material| material.shader).collect();
        names.dedup();
        return Err(Error::Option {
            message: format!("--tightness has no materials of `{}`", unknown.display()),
            help: format!("its list has {}", names.join(", ")),
        });
    }
    let chosen = LIST
        .iter()
        .filter(|material| shaders.is_empty() || shaders.iter().any(|shader| is(shader, material)));
    let compiled = chosen.map(|&material| {
        // Whatever lies in the current folder.
        let entry = library::find(material.shader).expect("the list is of the library");
        let shader = Shader::parse(entry.name, entry.text)?;
        let integrand = Integrand::new(&shader, &Settings::default(), Frame::Local)?;
        Ok(Subject::new(material, &shader, integrand, &kinds(nan.of(), relations), Target::best())?)
    });
    compiled.collect()
}

fn measure(subjects: &[Subject], cases: usize, seed: u64, args: &Args) -> Vec<Row> {
    let jobs: Vec<_> = subjects
        .iter()
        .flat_map(|subject| HALF_ANGLES.map(|half_angle| (subject, half_angle)))
        .collect();
    let progress = Console::new(args.quiet).measuring(jobs.len() as u64);
    let done = AtomicU64::new(0);
    let measured = jobs.into_par_iter().map(|(subject, half_angle)| {
        let cell = subject.measure(half_angle, cases, seed);
        progress.reach(done.fetch_add(1, Ordering::Relaxed) + 1);
        cell
    });
    let cells: Vec<Cell> = measured.collect();
    progress.finish();
    let rows = std::iter::zip(subjects, cells.chunks(HALF_ANGLES.len()));
    rows.map(|(subject, cells)| Row { material: subject.material, cells: cells.to_vec() }).collect()
}

/// A kind of bound for a material and a half-angle, as JSON has it.
#[derive(Debug, Serialize)]
struct Record {
    shader: &'static str,
    parameters: BTreeMap<&'static str, f64>,
    half_angle: f64,
    bound: &'static str,
    nan: NanMode,
    /// Of related bounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    relations: Option<Vec<&'static str>>,
    seed: u64,
    cases: usize,
    zero: usize,
    faint: usize,
    least: Option<f64>,
    quartile_1: Option<f64>,
    median: Option<f64>,
    quartile_3: Option<f64>,
}

fn records(
    row: &Row,
    nan: NanMode,
    seed: u64,
    relations: Relations,
) -> impl Iterator<Item = Record> {
    let of = move |cell: &Cell, bound: &'static str, spread: Option<Spread>| {
        let quartile = |k: usize| spread.map(|spread| spread.quartiles[k]);
        Record {
            shader: row.material.shader,
            parameters: row.material.settings().collect(),
            half_angle: cell.half_angle,
            bound,
            nan,
            relations: bound.starts_with("related").then(|| names_of(relations)),
            seed,
            cases: cell.used,
            zero: cell.zero,
            faint: cell.faint,
            least: spread.map(|spread| spread.least),
            quartile_1: quartile(0),
            median: quartile(1),
            quartile_3: quartile(2),
        }
    };
    row.cells.iter().flat_map(move |cell| {
        cell.spreads.iter().map(move |&(bound, spread)| of(cell, bound, spread))
    })
}

/// A table for each material.
fn text(rows: &[Row], cases: u32, seed: u64, relations: Relations, markdown: bool) -> String {
    let title = "Upper bounds over true maxima, in boxes around cones of light directions";
    let legend = format!(
        "columns of bounds: first quartile, median, third quartile; 1 is exact\n\
         hand: derived by hand, in the manner of lightcuts\n\
         left out of {cases} cases: those with the maximum 0 (zero), or below 1e-4 of the peak (faint); seed {seed}\n{}",
        restricted(relations)
    );
    let head = if markdown {
        format!("## {title}\n\n{legend}\n")
    } else {
        format!("{title}\n{}\n{legend}\n", "=".repeat(title.chars().count()))
    };
    rows.iter().fold(head, |text, row| text + &table(row).print(markdown))
}

fn table(row: &Row) -> Table {
    let names = row.cells[0].spreads.iter().map(|&(name, _)| name);
    let head =
        ["half-angle", "zero", "faint"].into_iter().chain(names).map(str::to_owned).collect();
    let line = |cell: &Cell| {
        let counts =
            [format!("{}°", cell.half_angle), cell.zero.to_string(), cell.faint.to_string()];
        let spreads = cell.spreads.iter().map(|&(_, spread)| {
            spread.map_or("-".to_owned(), |spread| {
                spread.quartiles.map(|ratio| number(ratio, 5)).join(" ")
            })
        });
        counts.into_iter().chain(spreads).collect()
    };
    Table { title: row.material.title(), head, rows: row.cells.iter().map(line).collect() }
}

/// A ratio with about three digits, filled up to a width: `1.31`, `24.5`, `2.6e5`, `∞`.
fn number(ratio: f64, width: usize) -> String {
    let text = match ratio {
        f64::INFINITY => "∞".to_owned(),
        _ if ratio < 9.995 => format!("{ratio:.2}"),
        _ if ratio < 99.95 => format!("{ratio:.1}"),
        _ if ratio < 999.5 => format!("{ratio:.0}"),
        _ => format!("{ratio:.1e}"),
    };
    format!("{text:>width$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_have_three_digits() {
        let ratios = [1.0, 9.994, 9.996, 99.96, 263.4, 999.9, 261_234.0, f64::INFINITY];
        let text = ratios.map(|ratio| number(ratio, 5));
        assert_eq!(text, [" 1.00", " 9.99", " 10.0", "  100", "  263", "1.0e3", "2.6e5", "    ∞"]);
    }

    #[test]
    fn cells_without_cases_are_empty() {
        let cell = |spread| Cell {
            half_angle: 5.0,
            used: 0,
            zero: 3,
            faint: 4,
            spreads: vec![("naive", spread)],
        };
        let spread = Spread { least: 1.0, quartiles: [1.0, 2.0, f64::INFINITY] };
        let row = Row { material: LIST[1], cells: vec![cell(None), cell(Some(spread))] };
        let text = table(&row).print(false);
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("phong, exponent 10"));
        let cells = |line: Option<&str>| {
            line.unwrap_or_default().split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(cells(lines.nth(1)), ["5°", "3", "4", "-"]);
        assert_eq!(cells(lines.next()), ["5°", "3", "4", "1.00", "2.00", "∞"]);
        let records: Vec<_> = records(&row, NanMode::Suppress, 1, Relations::all()).collect();
        let json = serde_json::to_value(&records).unwrap();
        assert_eq!(
            (&json[0]["median"], &json[1]["median"]),
            (&serde_json::Value::Null, &2.0.into())
        );
        assert_eq!(
            (&json[1]["quartile_3"], &json[1]["parameters"]["exponent"]),
            (&serde_json::Value::Null, &10.0.into())
        );
    }
}
