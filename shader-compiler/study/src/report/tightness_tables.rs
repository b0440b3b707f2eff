//! Tables and records of [tightness](crate::tightness): ratios of upper bounds to true maxima, for
//! compiled and for hand-derived bounds.

use super::table::Table;
use super::{NanDef, relation_names, relations_legend};
use crate::tightness::materials::{HALF_ANGLES, Material};
use crate::tightness::{CompiledMaterial, ConeTightness, RatioDistribution};
use lightbound_shader::interval::Nan;
use lightbound_shader::relations::Relations;
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The conditions of a tightness measurement.
#[derive(Clone, Copy, Debug)]
pub struct TightnessSetup {
    /// The handling of NaN.
    pub nan: Nan,
    /// Relations that related bounds use.
    pub relations: Relations,
    /// Number of cases for each material and half-angle.
    pub cases: usize,
    /// Seed of the cases.
    pub seed: u64,
}

/// Measurements of a material, one for each half-angle.
#[derive(Clone, Debug)]
pub struct MaterialTightness {
    pub(super) material: Material,
    pub(super) cones: Vec<ConeTightness>,
}

/// Measures all materials at all half-angles, in parallel. `progress` receives the completed
/// fraction.
pub fn measure(
    compiled: &[CompiledMaterial],
    setup: TightnessSetup,
    progress: &(dyn Fn(f64) + Sync),
) -> Vec<MaterialTightness> {
    let jobs: Vec<_> = compiled
        .iter()
        .flat_map(|material| HALF_ANGLES.map(|half_angle| (material, half_angle)))
        .collect();
    let (count, done) = (jobs.len(), AtomicUsize::new(0));
    let measured = jobs.into_par_iter().map(|(material, half_angle)| {
        let cone = material.measure(half_angle, setup.cases, setup.seed);
        progress((done.fetch_add(1, Ordering::Relaxed) + 1) as f64 / count as f64);
        cone
    });
    let cones: Vec<ConeTightness> = measured.collect();
    let pairs = std::iter::zip(compiled, cones.chunks(HALF_ANGLES.len()));
    pairs
        .map(|(compiled, cones)| MaterialTightness {
            material: compiled.material,
            cones: cones.to_vec(),
        })
        .collect()
}

/// Tightness of a kind of bound for a material and a half-angle, with the keys of the JSON output.
#[derive(Debug, Serialize)]
pub struct TightnessRecord {
    shader: &'static str,
    parameters: BTreeMap<&'static str, f64>,
    half_angle: f64,
    bound: &'static str,
    #[serde(serialize_with = "NanDef::serialize")]
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

/// Returns the records of a material.
pub fn records(
    row: &MaterialTightness,
    setup: TightnessSetup,
) -> impl Iterator<Item = TightnessRecord> {
    let TightnessSetup { nan, relations, seed, .. } = setup;
    let record = move |cone: &ConeTightness,
                       bound: &'static str,
                       distribution: Option<RatioDistribution>| {
        let quartile = |k: usize| distribution.map(|distribution| distribution.quartiles[k]);
        TightnessRecord {
            shader: row.material.shader,
            parameters: row.material.settings().collect(),
            half_angle: cone.half_angle,
            bound,
            nan,
            relations: bound.starts_with("related").then(|| relation_names(relations)),
            seed,
            cases: cone.measured,
            zero: cone.zero,
            faint: cone.faint,
            least: distribution.map(|distribution| distribution.min),
            quartile_1: quartile(0),
            median: quartile(1),
            quartile_3: quartile(2),
        }
    };
    row.cones.iter().flat_map(move |cone| {
        cone.distributions
            .iter()
            .map(move |&(bound, distribution)| record(cone, bound, distribution))
    })
}

/// Prints a table for each material.
pub fn text(rows: &[MaterialTightness], setup: TightnessSetup, markdown: bool) -> String {
    let TightnessSetup { relations, cases, seed, .. } = setup;
    let title = "Upper bounds over true maxima, in boxes around cones of light directions";
    let legend = format!(
        "columns of bounds: first quartile, median, third quartile; 1 is exact\n\
         hand: derived by hand, as for lightcuts\n\
         excluded from {cases} cases: maximum 0 (zero), or below 1e-4 of the peak (faint); seed {seed}\n{}",
        relations_legend(relations)
    );
    let heading = if markdown {
        format!("## {title}\n\n{legend}\n")
    } else {
        format!("{title}\n{}\n{legend}\n", "=".repeat(title.chars().count()))
    };
    rows.iter().fold(heading, |text, row| text + &table(row).print(markdown))
}

/// Returns the table of a material.
fn table(row: &MaterialTightness) -> Table {
    let names = row.cones[0].distributions.iter().map(|&(name, _)| name);
    let header =
        ["half-angle", "zero", "faint"].into_iter().chain(names).map(str::to_owned).collect();
    let line = |cone: &ConeTightness| {
        let counts =
            [format!("{}°", cone.half_angle), cone.zero.to_string(), cone.faint.to_string()];
        let distributions = cone.distributions.iter().map(|&(_, distribution)| {
            distribution.map_or("-".to_owned(), |distribution| {
                distribution.quartiles.map(|ratio| ratio_text(ratio, 5)).join(" ")
            })
        });
        counts.into_iter().chain(distributions).collect()
    };
    Table { title: row.material.title(), header, rows: row.cones.iter().map(line).collect() }
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
    use crate::tightness::materials::MATERIALS;

    #[test]
    fn ratios_are_printed_with_three_digits() {
        let ratios = [1.0, 9.994, 9.996, 99.96, 263.4, 999.9, 261_234.0, f64::INFINITY];
        let text = ratios.map(|ratio| ratio_text(ratio, 5));
        assert_eq!(text, [" 1.00", " 9.99", " 10.0", "  100", "  263", "1.0e3", "2.6e5", "    ∞"]);
    }

    #[test]
    fn half_angles_without_cases_show_a_dash() {
        let cone = |distribution| ConeTightness {
            half_angle: 5.0,
            measured: 0,
            zero: 3,
            faint: 4,
            distributions: vec![("naive", distribution)],
        };
        let distribution = RatioDistribution { min: 1.0, quartiles: [1.0, 2.0, f64::INFINITY] };
        let row = MaterialTightness {
            material: MATERIALS[1],
            cones: vec![cone(None), cone(Some(distribution))],
        };
        let text = table(&row).print(false);
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("phong, exponent 10"));
        let cells = |line: Option<&str>| {
            line.unwrap_or_default().split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(cells(lines.nth(1)), ["5°", "3", "4", "-"]);
        assert_eq!(cells(lines.next()), ["5°", "3", "4", "1.00", "2.00", "∞"]);
        let setup =
            TightnessSetup { nan: Nan::Suppress, relations: Relations::all(), cases: 7, seed: 1 };
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
