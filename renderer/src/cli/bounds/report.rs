//! Records as tables for readers, the paper's figures beside ours.

use super::Args;
use super::figure::{self, Figure};
use super::paper::{self, Pair};
use super::study::{Figures, PRECISION, Record, Study, Variant};
use super::table::Table;
use crate::cli::variant::{Inputs, NanMode, Sides};
use lightbound_shader::cost::PLACEMENTS;

/// What a table is about.
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

    fn of(self, figures: &Figures) -> f64 {
        match self {
            Quantity::Instructions => figures.instructions as f64,
            Quantity::Executed => figures.executed,
            Quantity::Model => figures.model_cycles,
            Quantity::Cycles => figures.cycles,
        }
    }

    /// A cost, with enough digits to multiply ratios with.
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

    /// The paper's ratios of a shader.
    fn paper(self, shader: &str, inputs: Inputs, sides: Sides) -> Option<Pair> {
        match self {
            Quantity::Instructions => paper::instructions(shader, inputs, sides),
            Quantity::Executed | Quantity::Model => None,
            Quantity::Cycles => paper::cycles(shader, inputs, sides),
        }
    }

    fn paper_saved(self, inputs: Inputs, sides: Sides) -> Option<f64> {
        match self {
            Quantity::Instructions => paper::instructions_saved(inputs, sides),
            Quantity::Executed | Quantity::Model => None,
            Quantity::Cycles => paper::cycles_saved(inputs, sides),
        }
    }

    /// Ratios of naive and optimized code, or of optimized and related code, to the point shader.
    fn ratios(self, record: &Record, step: Step) -> Pair {
        step.codes(record).map(|figures| self.of(figures) / self.of(&record.point))
    }
}

/// Which kinds of code a table has beside each other.
#[derive(Clone, Copy, PartialEq)]
enum Step {
    /// Naive and optimized.
    Optimized,
    /// Optimized and related.
    Related,
}

impl Step {
    const ALL: [Step; 2] = [Step::Optimized, Step::Related];

    /// The code before and after.
    fn codes(self, record: &Record) -> [&Figures; 2] {
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

    /// The head of the column that says what became of the cost: optimizations save, tighter bounds
    /// cost.
    fn column(self) -> &'static str {
        match self {
            Step::Optimized => "saved",
            Step::Related => "cost",
        }
    }

    /// What that column has, for a part of the first cost that is saved.
    fn change(self, saved: f64) -> String {
        match self {
            Step::Optimized => percent(saved),
            // Rounded first, so that −0 becomes 0.
            Step::Related => format!("{:+.1} %", (-1000.0 * saved).round() / 10.0 + 0.0),
        }
    }
}

/// All tables, and the bars of the figure.
pub(super) fn text(studies: &[Study], figure: &Figure, args: &Args, markdown: bool) -> String {
    let mut text = String::new();
    for study in studies {
        text += &heading(study, args, markdown);
        let variants = args.variants();
        for nan in args.nan_modes() {
            for (quantity, sides) in Quantity::ALL
                .into_iter()
                .flat_map(|quantity| [Sides::Upper, Sides::Both].map(|s| (quantity, s)))
            {
                let is_shown = |variant: &&Variant| variant.sides == sides && variant.nan == nan;
                let shown: Vec<_> = variants.iter().filter(is_shown).copied().collect();
                if shown.is_empty() {
                    continue;
                }
                if quantity == Quantity::Executed && is_straight_line(study, &shown) {
                    let title = subject(quantity, shown[0]);
                    text += &format!("{title}: those of the code, as it has no branches\n\n");
                    continue;
                }
                text += &Step::ALL
                    .map(|step| comparison(study, quantity, sides, step, &shown).print(markdown))
                    .concat();
            }
        }
        if args.nan.is_none() && variants.iter().any(|variant| variant.sides == Sides::Upper) {
            text += &nan_handling(study, &variants).print(markdown);
        }
        text += &timing(study);
        let [optimized, related] = study.compile_times.map(|time| time.as_secs_f64() * 1e6);
        text += &format!(
            "Compile time of a bounding shader: optimized {optimized:.0} µs, related {related:.0} µs (medians, from the point shader)\n\n"
        );
    }
    text + &figure::text(figure, markdown)
}

/// Whether all code executes each of its instructions once.
fn is_straight_line(study: &Study, variants: &[Variant]) -> bool {
    let mut records = variants.iter().flat_map(|&variant| records(study, variant));
    records.all(|record| {
        let codes = [&record.point, &record.naive, &record.optimized, &record.related];
        codes.into_iter().all(|figures| figures.executed == figures.instructions as f64)
    })
}

/// Which bounds a table is about, and what of them.
fn subject(quantity: Quantity, variant: Variant) -> String {
    format!("{}, {}, {}", sides_name(variant.sides), nan_name(variant.nan), quantity.title())
}

/// What cycles were counted with, how many confidence intervals are too wide, and how much the
/// measurement was disturbed.
fn timing(study: &Study) -> String {
    let ratios = || {
        study.records.iter().flat_map(|record| [&record.naive, &record.optimized, &record.related])
    };
    let wide = ratios().filter(|figures| figures.relative_width() > PRECISION).count();
    let discarded = mean(study.timings.iter().map(|timing| timing.discarded));
    let with_disturbed: usize = study.timings.iter().map(|timing| timing.with_disturbed).sum();
    let with_disturbed = match with_disturbed {
        0 => String::new(),
        count => format!(
            "Ratios that include disturbed rounds, since most of theirs were disturbed: {count}\n"
        ),
    };
    let switches: Option<u64> = study.timings.iter().map(|timing| timing.switches).sum();
    let switches =
        switches.map_or(String::new(), |count| format!("; involuntary context switches: {count}"));
    // The reason why it is not the better one goes into a line of its own.
    let clock = study
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

/// Whether the paper's figures were measured likewise.
fn is_beside(study: &Study, nan: NanMode) -> bool {
    study.setup.is_the_papers() && nan == NanMode::Ignore
}

/// What tables are about, and what is in their columns.
fn heading(study: &Study, args: &Args, markdown: bool) -> String {
    let title = study.setup.title();
    let known = study.shaders.iter().any(|shader| super::SIX.contains(&&shader[..]));
    let beside = known && args.nan_modes().into_iter().any(|nan| is_beside(study, nan));
    let paper = if beside { "paper: Clarberg et al. 2010, tables 1 and 2\n" } else { "" };
    let legend = format!(
        "s(x, ω̂): bounds over light directions; s(x̂, ω̂): over all inputs\n\
         point: cost of {} evaluations of the point shader; 2×: twice that\n\
         saved: part of the naive cost; cost: what related code adds to the optimized cost\n\
         ±: half of the widest 95 % confidence interval of the row's ratios, as a part of the ratio;\n   \
         it covers the {PLACEMENTS} places in memory that code ran from, and no others\n{}{paper}",
        study.setup.target.lanes(),
        super::restricted(args.relations())
    );
    if markdown {
        format!("## {title}\n\n{legend}\n")
    } else {
        format!("{title}\n{}\n{legend}\n", "=".repeat(title.chars().count()))
    }
}

/// Sides for readers.
pub(super) fn sides_name(sides: Sides) -> &'static str {
    match sides {
        Sides::Upper => "upper bounds",
        Sides::Lower => "lower bounds",
        Sides::Both => "both bounds",
    }
}

/// A NaN mode for readers.
pub(super) fn nan_name(nan: NanMode) -> &'static str {
    match nan {
        NanMode::Propagate => "NaN propagated",
        NanMode::Suppress => "NaN suppressed",
        NanMode::Ignore => "NaN ignored",
    }
}

/// `3.08× → 1.78×`, with three digits at least.
fn arrow(pair: Pair) -> String {
    let [before, after] = pair.map(|ratio| match ratio {
        ..10.0 => format!("{ratio:.2}×"),
        ..100.0 => format!("{ratio:.1}×"),
        _ => format!("{ratio:.0}×"),
    });
    format!("{before} → {after}")
}

/// `3.1× → 1.8×`: the paper has no more digits.
fn rough([naive, optimized]: Pair) -> String {
    format!("{naive:.1}× → {optimized:.1}×")
}

pub(super) fn percent(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}

pub(super) fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), x| (sum + x, count + 1));
    sum / f64::from(count)
}

/// Two kinds of bounding shaders beside the point shader, and the paper's figures where it has the
/// shader and both.
fn comparison(
    study: &Study,
    quantity: Quantity,
    sides: Sides,
    step: Step,
    variants: &[Variant],
) -> Table {
    let title = format!("{}: {}", subject(quantity, variants[0]), step.title());
    let beside = step == Step::Optimized && is_beside(study, variants[0].nan);
    let paper = |shader: &str, inputs| quantity.paper(shader, inputs, sides).filter(|_| beside);
    let known = study.shaders.iter().any(|shader| paper(shader, Inputs::Light).is_some());
    let mut head = vec!["shader".to_owned(), "point".to_owned()];
    for variant in variants {
        head.extend([variant.inputs.formula(), step.column()].map(str::to_owned));
        if known {
            head.push("paper".into());
        }
    }
    if quantity == Quantity::Cycles {
        head.push("±".into());
    }
    let mut rows = vec![];
    for shader in &study.shaders {
        let mut row = vec![shader.clone()];
        let mut widest = 0.0f64;
        for (k, &variant) in variants.iter().enumerate() {
            let record =
                study.find(shader, variant).expect("all variants of all shaders were measured");
            if k == 0 {
                row.push(quantity.print(quantity.of(&record.point)));
            }
            let [before, after] = quantity.ratios(record, step);
            widest = step
                .codes(record)
                .iter()
                .fold(widest, |widest, figures| widest.max(figures.relative_width()));
            row.extend([arrow([before, after]), step.change(1.0 - after / before)]);
            if known {
                row.push(paper(shader, variant.inputs).map_or("-".into(), rough));
            }
        }
        if quantity == Quantity::Cycles {
            row.push(if widest.is_finite() { percent(0.5 * widest) } else { "-".into() });
        }
        rows.push(row);
    }
    if study.shaders.len() > 1 {
        let mut row = vec!["average".to_owned(), String::new()];
        for &variant in variants {
            row.extend(averages(study, quantity, step, variant));
            if known {
                let pairs: Option<Vec<Pair>> =
                    study.shaders.iter().map(|shader| paper(shader, variant.inputs)).collect();
                row.push(pairs.map_or("-".into(), |pairs| rough(means(&pairs))));
            }
        }
        rows.push(row);
    }
    if known && study.shaders == super::SIX {
        let mut row = vec!["saved".to_owned(), String::new()];
        for variant in variants {
            row.extend([String::new(), String::new()]);
            row.push(quantity.paper_saved(variant.inputs, sides).map_or(String::new(), percent));
        }
        rows.push(row);
    }
    Table { title, head, rows }
}

/// Averages over shaders: of the ratios, and of what each saves.
fn averages(study: &Study, quantity: Quantity, step: Step, variant: Variant) -> [String; 2] {
    let ratios: Vec<_> =
        records(study, variant).map(|record| quantity.ratios(record, step)).collect();
    let saved = mean(ratios.iter().map(|[before, after]| 1.0 - after / before));
    [arrow(means(&ratios)), step.change(saved)]
}

fn means(pairs: &[Pair]) -> Pair {
    [0, 1].map(|k| mean(pairs.iter().map(|pair| pair[k])))
}

fn records(study: &Study, variant: Variant) -> impl Iterator<Item = &Record> {
    study.shaders.iter().filter_map(move |shader| study.find(shader, variant))
}

/// What it costs optimized upper bounds to propagate NaN.
fn nan_handling(study: &Study, variants: &[Variant]) -> Table {
    let title = "upper bounds, optimized: NaN ignored → propagated".to_owned();
    let columns: Vec<_> = variants
        .iter()
        .filter(|variant| variant.nan == NanMode::Propagate && variant.sides == Sides::Upper)
        .collect();
    let quantities = [(Quantity::Instructions, "instructions"), (Quantity::Cycles, "cycles")];
    let mut head = vec!["shader".to_owned()];
    for variant in &columns {
        head.extend(quantities.map(|(_, name)| format!("{} {name}", variant.inputs.formula())));
    }
    let pair = |shader: &str, propagate: Variant, quantity: Quantity| -> Pair {
        [Variant { nan: NanMode::Ignore, ..propagate }, propagate].map(|variant| {
            let record = study.find(shader, variant).expect("both were measured");
            quantity.ratios(record, Step::Optimized)[1]
        })
    };
    let pairs = |shader: &str| -> Vec<Pair> {
        columns
            .iter()
            .flat_map(|&&variant| quantities.map(|(quantity, _)| pair(shader, variant, quantity)))
            .collect()
    };
    let all: Vec<_> = study.shaders.iter().map(|shader| (shader.clone(), pairs(shader))).collect();
    let cells = |name: &str, pairs: Vec<Pair>| {
        std::iter::once(name.to_owned()).chain(pairs.into_iter().map(arrow)).collect()
    };
    let mut rows: Vec<Vec<String>> =
        all.iter().map(|(name, pairs)| cells(name, pairs.clone())).collect();
    if all.len() > 1 {
        let column =
            |column| means(&all.iter().map(|(_, pairs)| pairs[column]).collect::<Vec<_>>());
        rows.push(cells("average", (0..head.len() - 1).map(column).collect()));
    }
    Table { title, head, rows }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_have_three_digits() {
        assert_eq!(arrow([3.084, 1.776]), "3.08× → 1.78×");
        assert_eq!(arrow([394.87, 30.56]), "395× → 30.6×");
    }

    #[test]
    fn changes_have_a_sign() {
        let [saved, cost] = [Step::Optimized, Step::Related]
            .map(|step| [0.5, -0.889, 0.0, 1e-4].map(|part| step.change(part)));
        assert_eq!(saved, ["50.0 %", "-88.9 %", "0.0 %", "0.0 %"]);
        assert_eq!(cost, ["-50.0 %", "+88.9 %", "+0.0 %", "+0.0 %"]);
    }
}
