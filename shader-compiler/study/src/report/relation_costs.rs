//! The cost of each relation between values: instruction counts of related bounding shaders that
//! use one relation only, or all relations except one.
//! [`tightness_tables`](super::tightness_tables) shows the benefit, tighter bounds.

use super::comparison::{Setup, Variant};
use super::table::Table;
use super::{
    Error, FrameDef, IntervalInputsDef, NanDef, RangesDef, SidesDef, mean, nan_name, notation,
    percent, sides_name,
};
use lightbound_shader::backend::x86::Code;
use lightbound_shader::bounding::{Frame, Integrand, IntervalInputs, Ranges};
use lightbound_shader::interval::Nan;
use lightbound_shader::lift::BoundSides;
use lightbound_shader::relations::Relations;
use lightbound_shader::{Settings, Shader, passes};
use serde::Serialize;

/// Instruction counts of a shader's bounding shaders, with the keys of the JSON output.
#[derive(Clone, Debug, Serialize)]
pub struct RelationCosts {
    shader: String,
    #[serde(serialize_with = "IntervalInputsDef::serialize")]
    inputs: IntervalInputs,
    #[serde(serialize_with = "SidesDef::serialize")]
    sides: BoundSides,
    #[serde(serialize_with = "NanDef::serialize")]
    nan: Nan,
    #[serde(serialize_with = "FrameDef::serialize")]
    frame: Frame,
    #[serde(serialize_with = "RangesDef::serialize")]
    ranges: Ranges,
    target: &'static str,
    /// Without any relation.
    optimized: usize,
    /// With all selected relations.
    related: usize,
    relations: Vec<RelationCost>,
}

/// Instruction counts with and without one relation.
#[derive(Clone, Copy, Debug, Serialize)]
struct RelationCost {
    relation: &'static str,
    /// With this relation only.
    alone: usize,
    /// With all other selected relations.
    without: usize,
}

/// Compiles the bounding shaders and counts their instructions.
pub fn relation_costs(
    shaders: &[(String, Shader)],
    setup: Setup,
    variant: Variant,
    relations: Relations,
) -> Result<Vec<RelationCosts>, Error> {
    let cost = |(name, shader): &(String, Shader)| {
        let integrand = Integrand::new(shader, &Settings::default(), setup.frame)?;
        let instructions = |relations: Relations| {
            let lifted = variant.lift_related(&integrand, setup.ranges, relations);
            Code::compile(&passes::lower(&lifted.function), setup.isa()).counts().total
        };
        let parts = relations.iter().map(|relation| RelationCost {
            relation: relation.name(),
            alone: instructions(Relations::NONE.with(relation)),
            without: instructions(relations.without(relation)),
        });
        Ok(RelationCosts {
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
    shaders.iter().map(cost).collect()
}

/// Prints two tables: the cost of each relation alone, and its cost in addition to all others.
pub fn text(costs: &[RelationCosts], setup: Setup, markdown: bool) -> String {
    let Some(first) = costs.first() else { return String::new() };
    let subject = format!(
        "{} {}, {}, instructions",
        notation(first.inputs),
        sides_name(first.sides),
        nan_name(first.nan)
    );
    let alone = table(
        format!("{subject} that one relation alone adds to optimized code"),
        "optimized",
        costs,
        |cost| cost.optimized,
        |cost, relation| relation.alone as f64 - cost.optimized as f64,
    );
    let marginal = table(
        format!("{subject} that one relation adds to the code with all others"),
        "related",
        costs,
        |cost| cost.related,
        |cost, relation| cost.related as f64 - relation.without as f64,
    );
    let setup = setup.title();
    let heading = if markdown { format!("## {setup}\n\n") } else { format!("{setup}\n\n") };
    heading + &alone.print(markdown) + &marginal.print(markdown)
}

/// Returns a table of the instructions that each relation adds. The first row has the total of
/// `code`.
fn table(
    title: String,
    code: &str,
    costs: &[RelationCosts],
    total: impl Fn(&RelationCosts) -> usize,
    added: impl Fn(&RelationCosts, &RelationCost) -> f64,
) -> Table {
    let has_average = costs.len() > 1;
    let mut header = vec!["relation".to_owned()];
    header.extend(costs.iter().map(|cost| cost.shader.clone()));
    let mut first = vec![code.to_owned()];
    first.extend(costs.iter().map(|cost| total(cost).to_string()));
    if has_average {
        header.push("average".into());
        first.push(String::new());
    }
    let row = |(k, name): (usize, &'static str)| {
        let added: Vec<_> =
            costs.iter().map(|cost| (added(cost, &cost.relations[k]), cost.optimized)).collect();
        let average = mean(added.iter().map(|(added, optimized)| added / *optimized as f64));
        let average = has_average.then(|| format!("{}{}", plus(average), percent(average)));
        std::iter::once(name.to_owned())
            .chain(added.iter().map(|(added, _)| signed(*added)))
            .chain(average)
            .collect()
    };
    let rows = costs[0].relations.iter().map(|cost| cost.relation).enumerate().map(row);
    Table { title, header, rows: std::iter::once(first).chain(rows).collect() }
}

/// Returns the plus sign of positive numbers.
fn plus(x: f64) -> &'static str {
    if x > 0.0 { "+" } else { "" }
}

/// Formats a number with its sign: `+12`, `-3` or `0`.
fn signed(x: f64) -> String {
    format!("{}{x:.0}", plus(x))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_shader::Target;

    #[test]
    fn tables_show_instructions_that_relations_add() {
        let setup = Setup { frame: Frame::World, ranges: Ranges::Paper, target: Target::Sse };
        let cost = RelationCosts {
            shader: "a".into(),
            inputs: IntervalInputs::Light,
            sides: BoundSides::Upper,
            nan: Nan::Ignore,
            frame: setup.frame,
            ranges: setup.ranges,
            target: setup.target.name(),
            optimized: 100,
            related: 130,
            relations: vec![
                RelationCost { relation: "unit", alone: 97, without: 133 },
                RelationCost { relation: "dot", alone: 140, without: 110 },
            ],
        };
        let text =
            text(&[cost.clone(), RelationCosts { shader: "b".into(), ..cost }], setup, false);
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
            assert!(rows.iter().any(|printed| printed == row), "{row} is missing in\n{text}");
        }
    }
}
