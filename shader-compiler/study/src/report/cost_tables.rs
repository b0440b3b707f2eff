//! Tables of [comparisons](Comparison), with the published results of Clarberg et al. 2010.
//!
//! Costs are ratios to the point shader. Averages over shaders are arithmetic means of the ratios
//! and of the savings, as in the paper.

use super::comparison::{Comparison, CostRecord, GroupCost, PRECISION, Variant};
use super::figure::{self, Figure};
use super::paper::{self, RatioPair};
use super::table::Table;
use super::{PAPER_SHADERS, mean, nan_name, notation, percent, relations_legend, sides_name};
use crate::cost::PLACEMENTS;
use lightbound_shader::bounding::IntervalInputs;
use lightbound_shader::interval::Nan;
use lightbound_shader::lift::BoundSides;

/// The quantity that a table shows.
#[derive(Clone, Copy, PartialEq)]
enum Quantity {
    Instructions,
    Executed,
    Model,
    Cycles,
}

impl Quantity {
    const ALL: [Quantity; 4] =
        [Quantity::Instructions, Quantity::Executed, Quantity::Model, Quantity::Cycles];

    /// Returns the quantity of a cost.
    fn value(self, cost: &GroupCost) -> f64 {
        match self {
            Quantity::Instructions => cost.instructions as f64,
            Quantity::Executed => cost.executed,
            Quantity::Model => cost.model_cycles,
            Quantity::Cycles => cost.cycles,
        }
    }

    /// Formats a cost, with enough digits to be multiplied by ratios.
    fn print(self, cost: f64) -> String {
        match self {
            Quantity::Instructions => format!("{cost:.0}"),
            Quantity::Executed | Quantity::Model | Quantity::Cycles => format!("{cost:.1}"),
        }
    }

    fn title(self) -> &'static str {
        match self {
            Quantity::Instructions => "instructions",
            Quantity::Executed => "instructions executed",
            Quantity::Model => "cycles predicted by the throughput model",
            Quantity::Cycles => "cycles measured",
        }
    }

    /// Returns the paper's ratios for a shader.
    fn paper(self, shader: &str, inputs: IntervalInputs, sides: BoundSides) -> Option<RatioPair> {
        match self {
            Quantity::Instructions => paper::instructions(shader, inputs, sides),
            Quantity::Executed | Quantity::Model => None,
            Quantity::Cycles => paper::cycles(shader, inputs, sides),
        }
    }

    /// Returns the paper's average savings.
    fn paper_saved(self, inputs: IntervalInputs, sides: BoundSides) -> Option<f64> {
        match self {
            Quantity::Instructions => paper::instructions_saved(inputs, sides),
            Quantity::Executed | Quantity::Model => None,
            Quantity::Cycles => paper::cycles_saved(inputs, sides),
        }
    }

    /// Returns the ratios to the point shader before and after a step.
    fn ratios(self, record: &CostRecord, step: Step) -> RatioPair {
        step.costs(record).map(|cost| self.value(cost) / self.value(&record.point))
    }
}

/// The two kinds of code that a table compares.
#[derive(Clone, Copy, PartialEq)]
enum Step {
    /// From naive to optimized.
    Optimized,
    /// From optimized to related.
    Related,
}

impl Step {
    const ALL: [Step; 2] = [Step::Optimized, Step::Related];

    /// Returns the costs before and after the step.
    fn costs(self, record: &CostRecord) -> [&GroupCost; 2] {
        match self {
            Step::Optimized => [&record.naive, &record.optimized],
            Step::Related => [&record.optimized, &record.related],
        }
    }

    fn title(self) -> &'static str {
        match self {
            Step::Optimized => "naive → optimized",
            Step::Related => "optimized → related",
        }
    }

    /// Returns the heading of the column with the change in cost: optimizations save, relations
    /// cost.
    fn change_heading(self) -> &'static str {
        match self {
            Step::Optimized => "saved",
            Step::Related => "cost",
        }
    }

    /// Formats a change, given the fraction of the first cost that is saved.
    fn change(self, saved: f64) -> String {
        match self {
            Step::Optimized => percent(saved),
            // Round first and add 0, so that −0 becomes 0.
            Step::Related => format!("{:+.1} %", (-1000.0 * saved).round() / 10.0 + 0.0),
        }
    }
}

/// Prints all tables and the figure.
pub fn text(comparisons: &[Comparison], figure: &Figure, markdown: bool) -> String {
    let mut text = String::new();
    for comparison in comparisons {
        text += &heading(comparison, markdown);
        let (variants, nan_modes) = (&comparison.variants, nan_modes(comparison));
        for &nan in &nan_modes {
            for (quantity, sides) in Quantity::ALL.into_iter().flat_map(|quantity| {
                [BoundSides::Upper, BoundSides::Both].map(|sides| (quantity, sides))
            }) {
                let is_shown = |variant: &&Variant| variant.sides == sides && variant.nan == nan;
                let shown: Vec<_> = variants.iter().filter(is_shown).copied().collect();
                if shown.is_empty() {
                    continue;
                }
                if quantity == Quantity::Executed && is_straight_line(comparison, &shown) {
                    let title = subject(quantity, shown[0]);
                    text += &format!("{title}: the same, since the code has no branches\n\n");
                    continue;
                }
                text += &Step::ALL
                    .map(|step| {
                        cost_table(comparison, quantity, sides, step, &shown).print(markdown)
                    })
                    .concat();
            }
        }
        if nan_modes.len() > 1 && variants.iter().any(|variant| variant.sides == BoundSides::Upper)
        {
            text += &nan_handling(comparison, variants).print(markdown);
        }
        text += &timing(comparison);
        let [optimized, related] = comparison.compile_times.map(|time| time.as_secs_f64() * 1e6);
        text += &format!(
            "Median time to compile a bounding shader: optimized {optimized:.0} µs, \
             related {related:.0} µs\n\n"
        );
    }
    text + &figure::text(figure, markdown)
}

/// Returns the NaN modes that were compared, in order.
fn nan_modes(comparison: &Comparison) -> Vec<Nan> {
    let mut modes: Vec<_> = comparison.variants.iter().map(|variant| variant.nan).collect();
    modes.dedup();
    modes
}

/// Whether all code of these variants is straight-line code, which executes each instruction once.
fn is_straight_line(comparison: &Comparison, variants: &[Variant]) -> bool {
    let mut records = variants.iter().flat_map(|&variant| records(comparison, variant));
    records.all(|record| {
        let costs = [&record.point, &record.naive, &record.optimized, &record.related];
        costs.into_iter().all(|cost| cost.executed == cost.instructions as f64)
    })
}

/// Returns the title of a table: sides, NaN mode and quantity.
fn subject(quantity: Quantity, variant: Variant) -> String {
    format!("{}, {}, {}", sides_name(variant.sides), nan_name(variant.nan), quantity.title())
}

/// Describes the measurement of cycles: the clock, the number of wide confidence intervals, and
/// disturbances.
fn timing(comparison: &Comparison) -> String {
    let ratios = || {
        comparison
            .records
            .iter()
            .flat_map(|record| [&record.naive, &record.optimized, &record.related])
    };
    let wide = ratios().filter(|cost| cost.relative_width() > PRECISION).count();
    let discarded = mean(comparison.timings.iter().map(|timing| timing.discarded));
    let with_disturbed: usize = comparison.timings.iter().map(|timing| timing.with_disturbed).sum();
    let with_disturbed = match with_disturbed {
        0 => String::new(),
        count => format!(
            "Ratios that include disturbed rounds, since half of their rounds or more are: {count}\n"
        ),
    };
    let switches: Option<u64> = comparison.timings.iter().map(|timing| timing.switches).sum();
    let switches =
        switches.map_or(String::new(), |count| format!("; involuntary context switches: {count}"));
    // The reason for falling back to ticks is printed on a separate line.
    let clock = comparison
        .timings
        .first()
        .map_or(String::new(), |timing| timing.clock.replacen(" (", "\n  (", 1));
    format!(
        "Cycles measured: {clock}\n\
         95 % confidence intervals wider than 2 %: {wide} of {} ratios\n\
         Rounds discarded as disturbed: {}{switches}\n{with_disturbed}",
        ratios().count(),
        percent(discarded),
    )
}

/// Whether the paper has results for this setup and NaN mode.
fn is_comparable(comparison: &Comparison, nan: Nan) -> bool {
    comparison.setup.matches_paper() && nan == Nan::Ignore
}

/// Returns the setup of the tables and the legend of their columns.
fn heading(comparison: &Comparison, markdown: bool) -> String {
    let title = comparison.setup.title();
    let has_paper_results =
        comparison.shaders.iter().any(|shader| PAPER_SHADERS.contains(&&shader[..]));
    let comparable = has_paper_results
        && nan_modes(comparison).into_iter().any(|nan| is_comparable(comparison, nan));
    let paper = if comparable { "paper: Clarberg et al. 2010, tables 1 and 2\n" } else { "" };
    let legend = format!(
        "s(x, ω̂): bounds over light directions; s(x̂, ω̂): over all inputs\n\
         point: cost of {} evaluations of the point shader; 2×: twice that\n\
         saved: fraction of the naive cost; cost: increase from optimized to related code\n\
         ±: half of the widest 95 % confidence interval of the row's ratios, relative to the ratio;\n   \
         it covers the {PLACEMENTS} code placements of this run, but no others\n{}{paper}",
        comparison.setup.target.lanes(),
        relations_legend(comparison.relations)
    );
    if markdown {
        format!("## {title}\n\n{legend}\n")
    } else {
        format!("{title}\n{}\n{legend}\n", "=".repeat(title.chars().count()))
    }
}

/// Formats a pair of ratios with at least three digits: `3.08× → 1.78×`.
fn arrow(pair: RatioPair) -> String {
    let [before, after] = pair.map(|ratio| match ratio {
        ..10.0 => format!("{ratio:.2}×"),
        ..100.0 => format!("{ratio:.1}×"),
        _ => format!("{ratio:.0}×"),
    });
    format!("{before} → {after}")
}

/// Formats a pair of ratios with the digits of the paper: `3.1× → 1.8×`.
fn paper_arrow([naive, optimized]: RatioPair) -> String {
    format!("{naive:.1}× → {optimized:.1}×")
}

/// Returns a table of costs before and after a step, with the paper's results if they are
/// comparable.
fn cost_table(
    comparison: &Comparison,
    quantity: Quantity,
    sides: BoundSides,
    step: Step,
    variants: &[Variant],
) -> Table {
    let title = format!("{}: {}", subject(quantity, variants[0]), step.title());
    let comparable = step == Step::Optimized && is_comparable(comparison, variants[0].nan);
    let paper = |shader: &str, inputs| quantity.paper(shader, inputs, sides).filter(|_| comparable);
    let has_paper_results =
        comparison.shaders.iter().any(|shader| paper(shader, IntervalInputs::Light).is_some());
    let mut header = vec!["shader".to_owned(), "point".to_owned()];
    for variant in variants {
        header.extend([notation(variant.inputs), step.change_heading()].map(str::to_owned));
        if has_paper_results {
            header.push("paper".into());
        }
    }
    if quantity == Quantity::Cycles {
        header.push("±".into());
    }
    let mut rows = vec![];
    for shader in &comparison.shaders {
        let mut row = vec![shader.clone()];
        let mut widest = 0.0f64;
        for (k, &variant) in variants.iter().enumerate() {
            let record = comparison
                .find(shader, variant)
                .expect("all variants of all shaders were measured");
            if k == 0 {
                row.push(quantity.print(quantity.value(&record.point)));
            }
            let [before, after] = quantity.ratios(record, step);
            widest = step
                .costs(record)
                .iter()
                .fold(widest, |widest, cost| widest.max(cost.relative_width()));
            row.extend([arrow([before, after]), step.change(1.0 - after / before)]);
            if has_paper_results {
                row.push(paper(shader, variant.inputs).map_or("-".into(), paper_arrow));
            }
        }
        if quantity == Quantity::Cycles {
            row.push(if widest.is_finite() { percent(0.5 * widest) } else { "-".into() });
        }
        rows.push(row);
    }
    if comparison.shaders.len() > 1 {
        let mut row = vec!["average".to_owned(), String::new()];
        for &variant in variants {
            row.extend(averages(comparison, quantity, step, variant));
            if has_paper_results {
                let pairs: Option<Vec<RatioPair>> =
                    comparison.shaders.iter().map(|shader| paper(shader, variant.inputs)).collect();
                row.push(pairs.map_or("-".into(), |pairs| paper_arrow(means(&pairs))));
            }
        }
        rows.push(row);
    }
    if has_paper_results && comparison.shaders == PAPER_SHADERS {
        let mut row = vec!["saved".to_owned(), String::new()];
        for variant in variants {
            row.extend([String::new(), String::new()]);
            row.push(quantity.paper_saved(variant.inputs, sides).map_or(String::new(), percent));
        }
        rows.push(row);
    }
    Table { title, header, rows }
}

/// Formats the averages over shaders, of ratios and of savings.
fn averages(
    comparison: &Comparison,
    quantity: Quantity,
    step: Step,
    variant: Variant,
) -> [String; 2] {
    let ratios: Vec<_> =
        records(comparison, variant).map(|record| quantity.ratios(record, step)).collect();
    let saved = mean(ratios.iter().map(|[before, after]| 1.0 - after / before));
    [arrow(means(&ratios)), step.change(saved)]
}

/// Averages pairs of ratios.
fn means(pairs: &[RatioPair]) -> RatioPair {
    [0, 1].map(|k| mean(pairs.iter().map(|pair| pair[k])))
}

/// Returns the records of all shaders for a variant.
fn records(comparison: &Comparison, variant: Variant) -> impl Iterator<Item = &CostRecord> {
    comparison.shaders.iter().filter_map(move |shader| comparison.find(shader, variant))
}

/// Returns a table of the cost of NaN propagation in optimized upper bounds.
fn nan_handling(comparison: &Comparison, variants: &[Variant]) -> Table {
    let title = "upper bounds, optimized: NaN ignored → propagated".to_owned();
    let columns: Vec<_> = variants
        .iter()
        .filter(|variant| variant.nan == Nan::Propagate && variant.sides == BoundSides::Upper)
        .collect();
    let quantities = [(Quantity::Instructions, "instructions"), (Quantity::Cycles, "cycles")];
    let mut header = vec!["shader".to_owned()];
    for variant in &columns {
        header.extend(quantities.map(|(_, name)| format!("{} {name}", notation(variant.inputs))));
    }
    let pair = |shader: &str, propagate: Variant, quantity: Quantity| -> RatioPair {
        [Variant { nan: Nan::Ignore, ..propagate }, propagate].map(|variant| {
            let record = comparison.find(shader, variant).expect("both were measured");
            quantity.ratios(record, Step::Optimized)[1]
        })
    };
    let pairs = |shader: &str| -> Vec<RatioPair> {
        columns
            .iter()
            .flat_map(|&&variant| quantities.map(|(quantity, _)| pair(shader, variant, quantity)))
            .collect()
    };
    let all: Vec<_> =
        comparison.shaders.iter().map(|shader| (shader.clone(), pairs(shader))).collect();
    let cells = |name: &str, pairs: Vec<RatioPair>| {
        std::iter::once(name.to_owned()).chain(pairs.into_iter().map(arrow)).collect()
    };
    let mut rows: Vec<Vec<String>> =
        all.iter().map(|(name, pairs)| cells(name, pairs.clone())).collect();
    if all.len() > 1 {
        let column =
            |column| means(&all.iter().map(|(_, pairs)| pairs[column]).collect::<Vec<_>>());
        rows.push(cells("average", (0..header.len() - 1).map(column).collect()));
    }
    Table { title, header, rows }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_show_three_digits() {
        assert_eq!(arrow([3.084, 1.776]), "3.08× → 1.78×");
        assert_eq!(arrow([394.87, 30.56]), "395× → 30.6×");
    }

    #[test]
    fn changes_of_related_code_have_a_sign() {
        let [saved, cost] = [Step::Optimized, Step::Related]
            .map(|step| [0.5, -0.889, 0.0, 1e-4].map(|saved| step.change(saved)));
        assert_eq!(saved, ["50.0 %", "-88.9 %", "0.0 %", "0.0 %"]);
        assert_eq!(cost, ["-50.0 %", "+88.9 %", "+0.0 %", "+0.0 %"]);
    }
}
