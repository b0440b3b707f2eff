//! What relations between values cost: machine instructions of related bounding shaders, with one relation alone, and without one of
//! them. What they give for it is how much tighter the bounds are, which `--tightness` tells.

use super::report::{mean, nan_name, percent, sides_name};
use super::study::{Setup, Variant};
use super::table::Table;
use crate::cli::Error;
use crate::cli::variant::{Frame, Inputs, NanMode, Ranges, Sides};
use lightbound_shader::backend::x86::Code;
use lightbound_shader::bounding::Integrand;
use lightbound_shader::relations::Relations;
use lightbound_shader::{Settings, Shader, passes};
use serde::Serialize;

/// Instructions of a shader's bounding shaders, as JSON has them.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Trade {
    shader: String,
    inputs: Inputs,
    sides: Sides,
    nan: NanMode,
    frame: Frame,
    ranges: Ranges,
    target: &'static str,
    /// Without any relation.
    optimized: usize,
    /// With all of them.
    related: usize,
    relations: Vec<Part>,
}

/// The part of a relation.
#[derive(Clone, Copy, Debug, Serialize)]
struct Part {
    relation: &'static str,
    /// Instructions with it and no other.
    alone: usize,
    /// Instructions with all others.
    without: usize,
}

/// Compiles the bounding shaders.
pub(super) fn trades(
    shaders: &[(String, Shader)],
    setup: Setup,
    variant: Variant,
    relations: Relations,
) -> Result<Vec<Trade>, Error> {
    let trade = |(name, shader): &(String, Shader)| {
        let integrand = Integrand::new(shader, &Settings::default(), setup.frame.of())?;
        let instructions = |relations: Relations| {
            let lifted = variant.relate(&integrand, setup.ranges, relations);
            Code::compile(&passes::lower(&lifted.function), setup.target).counts().total
        };
        let parts = relations.iter().map(|relation| Part {
            relation: relation.name(),
            alone: instructions(Relations::NONE.with(relation)),
            without: instructions(relations.without(relation)),
        });
        Ok(Trade {
            shader: name.clone(),
            inputs: variant.inputs,
            sides: variant.sides,
            nan: variant.nan,
            frame: setup.frame,
            ranges: setup.ranges,
            target: setup.target.name(),
            optimized: instructions(Relations::NONE),
            related: instructions(relations),
            relations: parts.collect(),
        })
    };
    shaders.iter().map(trade).collect()
}

/// Two tables of shaders under one setup: what relations add alone, and what each adds to the others.
pub(super) fn text(trades: &[Trade], setup: Setup, markdown: bool) -> String {
    let Some(first) = trades.first() else { return String::new() };
    let subject = format!("{} {}, {}, instructions", first.inputs.formula(), sides_name(first.sides), nan_name(first.nan));
    let alone = table(
        format!("{subject}: what one relation alone adds to optimized code"),
        "optimized",
        trades,
        |trade| trade.optimized,
        |trade, part| part.alone as f64 - trade.optimized as f64,
    );
    let beside = table(
        format!("{subject}: what one relation adds to related code, beside all others"),
        "related",
        trades,
        |trade| trade.related,
        |trade, part| trade.related as f64 - part.without as f64,
    );
    let setup = setup.title();
    let heading = if markdown { format!("## {setup}\n\n") } else { format!("{setup}\n\n") };
    heading + &alone.print(markdown) + &beside.print(markdown)
}

fn table(
    title: String,
    code: &str,
    trades: &[Trade],
    whole: impl Fn(&Trade) -> usize,
    added: impl Fn(&Trade, &Part) -> f64,
) -> Table {
    let names = trades[0].relations.iter().map(|part| part.relation.to_owned());
    let head = ["shader", code].map(str::to_owned).into_iter().chain(names).collect();
    let mut rows: Vec<Vec<String>> = vec![];
    for trade in trades {
        let parts = trade.relations.iter().map(|part| signed(added(trade, part)));
        rows.push([trade.shader.clone(), whole(trade).to_string()].into_iter().chain(parts).collect());
    }
    if trades.len() > 1 {
        let average = |k: usize| mean(trades.iter().map(|trade| added(trade, &trade.relations[k]) / trade.optimized as f64));
        let parts = (0..trades[0].relations.len()).map(|k| format!("{}{}", plus(average(k)), percent(average(k))));
        rows.push(["of optimized".to_owned(), String::new()].into_iter().chain(parts).collect());
    }
    Table { title, head, rows }
}

fn plus(x: f64) -> &'static str {
    if x > 0.0 { "+" } else { "" }
}

/// `+12`, `-3` or `0`.
fn signed(x: f64) -> String {
    format!("{}{x:.0}", plus(x))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_shader::Target;

    #[test]
    fn relations_add_what_they_make_dearer() {
        let setup = Setup { frame: Frame::World, ranges: Ranges::Paper, target: Target::Sse };
        let trade = Trade {
            shader: "a".into(),
            inputs: Inputs::Light,
            sides: Sides::Upper,
            nan: NanMode::Ignore,
            frame: setup.frame,
            ranges: setup.ranges,
            target: setup.target.name(),
            optimized: 100,
            related: 130,
            relations: vec![
                Part { relation: "unit", alone: 97, without: 133 },
                Part { relation: "dot", alone: 140, without: 110 },
            ],
        };
        let text = text(&[trade.clone(), Trade { shader: "b".into(), ..trade }], setup, false);
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        for row in [&["shader", "optimized", "unit", "dot"], &["a", "100", "-3", "+40"], &["b", "130", "-3", "+20"]] {
            assert!(rows.iter().any(|found| found == row), "{row:?} is missing in\n{text}");
        }
        assert!(text.contains("-3.0 %") && text.contains("+40.0 %"), "{text}");
    }
}
