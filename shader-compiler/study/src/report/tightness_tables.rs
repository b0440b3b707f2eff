//! Tables and records of [tightness](crate::tightness): upper bounds over true maxima, for each kind
//! of bound and for bounds derived by hand.

use super::table::Table;
use super::{NanName, relation_names, restricted};
use crate::tightness::list::{HALF_ANGLES, Material};
use crate::tightness::{Cell, Spread, Subject};
use lightbound_shader::interval::Nan;
use lightbound_shader::relations::Relations;
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The conditions of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// The handling of NaN.
    pub nan: Nan,
    /// Relations that related bounds use.
    pub relations: Relations,
    /// Cases for each material and half-angle.
    pub cases: usize,
    /// Seed of the cases.
    pub seed: u64,
}

/// Measurements of a material, one for each half-angle.
#[derive(Clone, Debug)]
pub struct MaterialTightness {
    pub(super) material: Material,
    pub(super) cells: Vec<Cell>,
}

/// Measures all materials at all half-angles, in parallel. `progress` receives the completed
/// fraction.
pub fn measure(
    subjects: &[Subject],
    setup: Setup,
    progress: &(dyn Fn(f64) + Sync),
) -> Vec<MaterialTightness> {
    let jobs: Vec<_> = subjects
        .iter()
        .flat_map(|subject| HALF_ANGLES.map(|half_angle| (subject, half_angle)))
        .collect();
    let (count, done) = (jobs.len(), AtomicUsize::new(0));
    let measured = jobs.into_par_iter().map(|(subject, half_angle)| {
        let cell = subject.measure(half_angle, setup.cases, setup.seed);
        progress((done.fetch_add(1, Ordering::Relaxed) + 1) as f64 / count as f64);
        cell
    });
    let cells: Vec<Cell> = measured.collect();
    let materials = std::iter::zip(subjects, cells.chunks(HALF_ANGLES.len()));
    materials
        .map(|(subject, cells)| MaterialTightness {
            material: subject.material,
            cells: cells.to_vec(),
        })
        .collect()
}

/// Tightness of a kind of bound for a material and a half-angle, with the keys of the JSON output.
#[derive(Debug, Serialize)]
pub struct Record {
    shader: &'static str,
    parameters: BTreeMap<&'static str, f64>,
    half_angle: f64,
    bound: &'static str,
    #[serde(serialize_with = "NanName::serialize")]
    nan: Nan,
    /// Relations that related bounds use.
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

/// The records of a material.
pub fn records(row: &MaterialTightness, setup: Setup) -> impl Iterator<Item = Record> {
    let Setup { nan, relations, seed, .. } = setup;
    let record = move |cell: &Cell, bound: &'static str, spread: Option<Spread>| {
        let quartile = |k: usize| spread.map(|spread| spread.quartiles[k]);
        Record {
            shader: row.material.shader,
            parameters: row.material.settings().collect(),
            half_angle: cell.half_angle,
            bound,
            nan,
            relations: bound.starts_with("related").then(|| relation_names(relations)),
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
        cell.spreads.iter().map(move |&(bound, spread)| record(cell, bound, spread))
    })
}

/// Prints a table for each material.
pub fn text(rows: &[MaterialTightness], setup: Setup, markdown: bool) -> String {
    let Setup { relations, cases, seed, .. } = setup;
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

fn table(row: &MaterialTightness) -> Table {
    let names = row.cells[0].spreads.iter().map(|&(name, _)| name);
    let head =
        ["half-angle", "zero", "faint"].into_iter().chain(names).map(str::to_owned).collect();
    let line = |cell: &Cell| {
        let counts =
            [format!("{}°", cell.half_angle), cell.zero.to_string(), cell.faint.to_string()];
        let spreads = cell.spreads.iter().map(|&(_, spread)| {
            spread.map_or("-".to_owned(), |spread| {
                spread.quartiles.map(|ratio| ratio_text(ratio, 5)).join(" ")
            })
        });
        counts.into_iter().chain(spreads).collect()
    };
    Table { title: row.material.title(), head, rows: row.cells.iter().map(line).collect() }
}

/// Formats a ratio with about three digits, right-aligned: `1.31`, `24.5`, `2.6e5`, `∞`.
fn ratio_text(ratio: f64, width: usize) -> String {
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
    use crate::tightness::list::LIST;

    #[test]
    fn ratios_have_three_digits() {
        let ratios = [1.0, 9.994, 9.996, 99.96, 263.4, 999.9, 261_234.0, f64::INFINITY];
        let text = ratios.map(|ratio| ratio_text(ratio, 5));
        assert_eq!(text, [" 1.00", " 9.99", " 10.0", "  100", "  263", "1.0e3", "2.6e5", "    ∞"]);
    }

    #[test]
    fn cells_without_cases_show_a_dash() {
        let cell = |spread| Cell {
            half_angle: 5.0,
            used: 0,
            zero: 3,
            faint: 4,
            spreads: vec![("naive", spread)],
        };
        let spread = Spread { least: 1.0, quartiles: [1.0, 2.0, f64::INFINITY] };
        let row =
            MaterialTightness { material: LIST[1], cells: vec![cell(None), cell(Some(spread))] };
        let text = table(&row).print(false);
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("phong, exponent 10"));
        let cells = |line: Option<&str>| {
            line.unwrap_or_default().split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(cells(lines.nth(1)), ["5°", "3", "4", "-"]);
        assert_eq!(cells(lines.next()), ["5°", "3", "4", "1.00", "2.00", "∞"]);
        let setup = Setup { nan: Nan::Suppress, relations: Relations::all(), cases: 7, seed: 1 };
        let records: Vec<_> = records(&row, setup).collect();
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
