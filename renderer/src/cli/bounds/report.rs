//! Records as tables for readers, the paper's figures beside ours.

use super::Args;
use super::figure::{self, Panel};
use super::paper::{self, Pair};
use super::study::{Figures, Record, Setup, Study, Variant};
use super::table::Table;
use crate::cli::variant::{Frame, Inputs, NanMode, Ranges, Sides};

/// What a table is about.
#[derive(Clone, Copy, PartialEq)]
enum Quantity {
    Instructions,
    Executed,
    Cycles,
}

impl Quantity {
    const ALL: [Quantity; 3] = [Quantity::Instructions, Quantity::Executed, Quantity::Cycles];

    fn of(self, figures: &Figures) -> f64 {
        match self {
            Quantity::Instructions => figures.instructions as f64,
            Quantity::Executed => figures.executed,
            Quantity::Cycles => figures.cycles,
        }
    }

    fn title(self) -> &'static str {
        match self {
            Quantity::Instructions => "instructions",
            Quantity::Executed => "instructions executed",
            Quantity::Cycles => "cycles (ticks of the time-stamp counter)",
        }
    }

    /// The paper's ratios of a shader.
    fn paper(self, shader: &str, inputs: Inputs, sides: Sides) -> Option<Pair> {
        match self {
            Quantity::Instructions => paper::instructions(shader, inputs, sides),
            Quantity::Executed => None,
            Quantity::Cycles => paper::cycles(shader, inputs, sides),
        }
    }

    fn paper_saved(self, inputs: Inputs, sides: Sides) -> Option<f64> {
        match self {
            Quantity::Instructions => paper::instructions_saved(inputs, sides),
            Quantity::Executed => None,
            Quantity::Cycles => paper::cycles_saved(inputs, sides),
        }
    }

    /// Ratios of naive and optimized code to the point shader.
    fn ratios(self, record: &Record) -> Pair {
        [&record.naive, &record.optimized].map(|figures| self.of(figures) / self.of(&record.point))
    }
}

/// All tables, and the bars of the figure.
pub(super) fn text(studies: &[Study], panels: &[Panel], args: &Args, markdown: bool) -> String {
    let mut text = String::new();
    for study in studies {
        text += &heading(study.setup, markdown);
        let variants = args.variants();
        for quantity in Quantity::ALL {
            for sides in [Sides::Upper, Sides::Both] {
                let main = |variant: &&Variant| variant.sides == sides && variant.nan == args.nan.unwrap_or(NanMode::Ignore);
                let shown: Vec<_> = variants.iter().filter(main).copied().collect();
                if !shown.is_empty() {
                    text += &comparison(study, quantity, sides, &shown).print(markdown);
                }
            }
        }
        if args.nan.is_none() && variants.iter().any(|variant| variant.nan == NanMode::Propagate) {
            text += &nan_handling(study, &variants).print(markdown);
        }
        let time = study.compile_time.as_secs_f64() * 1e6;
        text += &format!("Compile time of an optimized bounding shader: {time:.0} µs (median, from its point shader)\n\n");
    }
    text + &figure::text(panels, markdown)
}

fn heading(setup: Setup, markdown: bool) -> String {
    let Setup { frame, ranges, target } = setup;
    let frame = match frame {
        Frame::World => "directions and frame in the world",
        Frame::Local => "directions in the shading frame",
    };
    let ranges = match ranges {
        Ranges::Paper => "inputs finite, parameters not negative",
        Ranges::Declared => "inputs in their declared ranges",
    };
    let title = format!("{target} ×{}: {frame}; {ranges}", target.lanes());
    if markdown { format!("## {title}\n\n") } else { format!("{title}\n{}\n\n", "=".repeat(title.chars().count())) }
}

fn nan_name(nan: NanMode) -> &'static str {
    match nan {
        NanMode::Propagate => "NaN propagated",
        NanMode::Suppress => "NaN suppressed",
        NanMode::Ignore => "NaN ignored",
    }
}

/// `3.1× → 1.8×`
fn arrow([naive, optimized]: Pair) -> String {
    format!("{naive:.2}× → {optimized:.2}×")
}

fn percent(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), x| (sum + x, count + 1));
    sum / f64::from(count)
}

/// Naive and optimized bounding shaders beside the point shader, and the paper's figures where it has the shader.
fn comparison(study: &Study, quantity: Quantity, sides: Sides, variants: &[Variant]) -> Table {
    let bounds = if sides == Sides::Upper { "upper bounds" } else { "both bounds" };
    let title = format!("{bounds}, {}, {}: naive → optimized", nan_name(variants[0].nan), quantity.title());
    let beside = study.setup.is_the_papers() && variants[0].nan == NanMode::Ignore;
    let paper = |shader: &str, inputs| quantity.paper(shader, inputs, sides).filter(|_| beside);
    let known: Vec<_> = study.shaders.iter().filter(|shader| paper(shader, Inputs::Light).is_some()).collect();
    let mut head = vec!["shader".to_owned(), "point".to_owned()];
    for variant in variants {
        head.extend([variant.inputs.formula(), "saved"].map(str::to_owned));
        if !known.is_empty() {
            head.push("paper".into());
        }
    }
    let mut rows = vec![];
    for shader in &study.shaders {
        let mut row = vec![shader.clone()];
        for (k, &variant) in variants.iter().enumerate() {
            let record = study.find(shader, variant).expect("all variants of all shaders were measured");
            if k == 0 {
                row.push(format!("{:.0}", quantity.of(&record.point)));
            }
            let [naive, optimized] = quantity.ratios(record);
            row.extend([arrow([naive, optimized]), percent(1.0 - optimized / naive)]);
            if !known.is_empty() {
                row.push(paper(shader, variant.inputs).map_or("-".into(), arrow));
            }
        }
        rows.push(row);
    }
    let mut average = vec!["average".to_owned(), String::new()];
    for &variant in variants {
        let ratios: Vec<_> = records(study, variant).map(|record| quantity.ratios(record)).collect();
        let means = [0, 1].map(|k| mean(ratios.iter().map(|pair| pair[k])));
        average.extend([arrow(means), percent(mean(ratios.iter().map(|[naive, optimized]| 1.0 - optimized / naive)))]);
        if !known.is_empty() {
            let means =
                [0, 1].map(|k| mean(known.iter().filter_map(|shader| paper(shader, variant.inputs)).map(|pair| pair[k])));
            let six = known.len() == super::SIX.len();
            let saved = quantity.paper_saved(variant.inputs, sides).filter(|_| six);
            average.push(saved.map_or(arrow(means), |saved| format!("{}, {}", arrow(means), percent(saved))));
        }
    }
    rows.push(average);
    Table { title, head, rows }
}

fn records(study: &Study, variant: Variant) -> impl Iterator<Item = &Record> {
    study.shaders.iter().filter_map(move |shader| study.find(shader, variant))
}

/// What it costs optimized upper bounds to propagate NaN.
fn nan_handling(study: &Study, variants: &[Variant]) -> Table {
    let title = "upper bounds, optimized: NaN ignored → propagated".to_owned();
    let columns: Vec<_> = variants.iter().filter(|variant| variant.nan == NanMode::Propagate).collect();
    let quantities = [(Quantity::Instructions, "instructions"), (Quantity::Cycles, "cycles")];
    let mut head = vec!["shader".to_owned()];
    for variant in &columns {
        head.extend(quantities.map(|(_, name)| format!("{} {name}", variant.inputs.formula())));
    }
    let pair = |shader: &str, propagate: Variant, quantity: Quantity| -> Pair {
        [Variant { nan: NanMode::Ignore, ..propagate }, propagate].map(|variant| {
            let record = study.find(shader, variant).expect("both were measured");
            quantity.ratios(record)[1]
        })
    };
    let pairs = |shader: &str| -> Vec<Pair> {
        columns.iter().flat_map(|&&variant| quantities.map(|(quantity, _)| pair(shader, variant, quantity))).collect()
    };
    let all: Vec<_> = study.shaders.iter().map(|shader| (shader.clone(), pairs(shader))).collect();
    let cells = |name: &str, pairs: Vec<Pair>| std::iter::once(name.to_owned()).chain(pairs.into_iter().map(arrow)).collect();
    let mut rows: Vec<Vec<String>> = all.iter().map(|(name, pairs)| cells(name, pairs.clone())).collect();
    let means = (0..head.len() - 1).map(|column| [0, 1].map(|k| mean(all.iter().map(|(_, pairs)| pairs[column][k]))));
    rows.push(cells("average", means.collect()));
    Table { title, head, rows }
}
