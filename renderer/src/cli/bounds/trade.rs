//! What relations between values cost: machine instructions of related bounding shaders, with one
//! relation alone, and without one of them. What they give for it is how much tighter the bounds
//! are, which `--tightness` tells.

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

/// Two tables of shaders under one setup: what relations add alone, and what each adds to the
/// others.
pub(super) fn text(trades: &[Trade], setup: Setup, markdown: bool) -> String {
    let Some(first) = trades.first() else { return String::new() };
    let subject = format!(
        "{} {}, {}, instructions",
        first.inputs.formula(),
        sides_name(first.sides),
        nan_name(first.nan)
    );
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
    let several = trades.len() > 1;
    let mut head = vec!["relation".to_owned()];
    head.extend(trades.iter().map(|trade| trade.shader.clone()));
    let mut first = vec![code.to_owned()];
    first.extend(trades.iter().map(|trade| whole(trade).to_string()));
    if several {
        head.push("average".into());
        first.push(String::new());
    }
    let row = |(k, name): (usize, &'static str)| {
        let added: Vec<_> = trades
            .iter()
            .map(|trade| (added(trade, &trade.relations[k]), trade.optimized))
            .collect();
        let average = mean(added.iter().map(|(added, optimized)| added / *optimized as f64));
        let average = several.then(|| format!("{}{}", plus(average), percent(average)));
        std::iter::once(name.to_owned())
            .chain(added.iter().map(|(added, _)| signed(*added)))
            .chain(average)
            .collect()
    };
    let rows = trades[0].relations.iter().map(|part| part.relation).enumerate().map(row);
    Table { title, head, rows: std::iter::once(first).chain(rows).collect() }
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
        let rows: Vec<String> = text
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        for row in [
            "relation a b average",
            "optimized 100 100",
            "unit -3 -3 -3.0 %",
            "dot +40 +40 +40.0 %",
            "related 130 130",
            "dot +20 +20 +20.0 %",
        ] {
            assert!(rows.iter().any(|found| found == row), "{row} is missing in\n{text}");
        }
    }
}
