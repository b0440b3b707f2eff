//! Where the range of a value comes from: the values that it depends on, the conditions that narrow
//! them, and the facts that are missing.

use super::graph::{Node, NodeId, Source};
use super::{Facts, Ranges};
use crate::analysis::conditions::{Clip, Clips, Limit, Side};
use crate::analysis::transfer::transfer;
use crate::interval::{Bounds, Nan};
use crate::ir::text::{Annotations, Name, annotated, numbers};
use crate::ir::{Def, Function, Op, Type, Value};
use rustc_hash::FxHashSet;

/// Maximum number of steps from the explained value.
const MAX_DEPTH: usize = 10;

/// The ranges of the values of a function that computes one point, for explanations.
pub struct Explainer<'a> {
    function: &'a Function,
    ranges: Ranges<'a>,
    clips: &'a Clips,
    numbers: Vec<Option<u32>>,
}

impl<'a> Explainer<'a> {
    /// Solves for the ranges of a function's values, from those of its inputs and the clips of its
    /// values as scalars.
    pub fn new(function: &'a Function, inputs: &'a [Bounds], clips: &'a Clips) -> Explainer<'a> {
        let facts = Facts { clips: Some(clips), ..Facts::default() };
        let ranges =
            Ranges::solve(function, &vec![false; function.len()], inputs, Nan::Ignore, facts);
        Explainer { function, ranges, clips, numbers: numbers(function) }
    }

    /// The function's text with the range of each value, and what it lacks.
    pub fn listing(&self) -> String {
        annotated(self.function, self)
    }

    /// Finds a value by its name in the text of the function: `%12`, or the name of an input or an
    /// output.
    pub fn find(&self, name: &str) -> Option<Value> {
        let outputs = self.function.outputs.iter().zip(&self.function.body.yields);
        let mut named = outputs.filter(|(port, _)| port.name == name).map(|(_, &value)| value);
        let values = (0..self.function.len() as u32).map(Value);
        named.next().or_else(|| values.into_iter().find(|&value| self.name(value) == name))
    }

    /// The chain of facts that leads to the range of a value: one line for each value or condition
    /// that it depends on, indented below those that depend on it.
    pub fn explain(&self, value: Value) -> String {
        let mut text = String::new();
        if let Some(node) = self.ranges.graph.definition(value) {
            self.explain_node(node, 0, &mut FxHashSet::default(), &mut text);
        }
        text
    }

    fn explain_node(
        &self,
        id: NodeId,
        depth: usize,
        explained: &mut FxHashSet<NodeId>,
        text: &mut String,
    ) {
        let node = &self.ranges.graph.nodes[id as usize];
        let indent = "  ".repeat(depth);
        let gap = self.gap(id).map_or(String::new(), |gap| format!("; {gap}"));
        *text += &format!("{indent}{}: {}{gap}", self.definition(id), self.bounds(id));
        let causes = self.causes(id);
        let is_new = explained.insert(id);
        if !is_new && !causes.is_empty() {
            *text += ", as above\n";
            return;
        }
        if depth == MAX_DEPTH && !causes.is_empty() {
            *text += &format!("; see --explain {}\n", self.name(node.value));
            return;
        }
        text.push('\n');
        for cause in causes {
            self.explain_node(cause, depth + 1, explained, text);
        }
    }

    fn bounds(&self, id: NodeId) -> &Bounds {
        &self.ranges.bounds[id as usize]
    }

    fn name(&self, value: Value) -> String {
        Name { function: self.function, numbers: &self.numbers, value }.to_string()
    }

    /// `%2 = div %1, wi.z`, or what limits a value.
    fn definition(&self, id: NodeId) -> String {
        let Node { value, source, .. } = &self.ranges.graph.nodes[id as usize];
        let name = self.name(*value);
        let operands = self.ranges.graph.operands(id);
        let operand = |k: usize| self.name(self.ranges.graph.nodes[operands[k] as usize].value);
        match source {
            Source::Given => name,
            Source::Op(op) => {
                let operands: Vec<_> = (0..operands.len()).map(operand).collect();
                format!("{name} = {} {}", op.name(), operands.join(", "))
            }
            Source::Merge => {
                format!("{name} = if {}: {} or {}", operand(0), operand(1), operand(2))
            }
            Source::Param(_) => {
                format!("{name}, {} at first, {} after an iteration", operand(0), operand(1))
            }
            Source::Exit(_) => format!("{name}, {} at the exit of the loop", operand(0)),
            Source::Clip(clip) => self.condition(clip),
        }
    }

    /// `wi.z where it is greater than 0.0`
    fn condition(&self, clip: &Clip) -> String {
        let order = match clip.limit {
            Limit::Different => "different from",
            Limit::OneSided { side: Side::Lower, is_strict: true, .. } => "greater than",
            Limit::OneSided { side: Side::Lower, is_strict: false, .. } => "at least",
            Limit::OneSided { side: Side::Upper, is_strict: true, .. } => "less than",
            Limit::OneSided { side: Side::Upper, is_strict: false, .. } => "at most",
        };
        let unordered = match clip.limit {
            Limit::OneSided { is_ordered: false, .. } => ", or NaN",
            _ => "",
        };
        let [value, other] = [clip.value, clip.other].map(|value| self.name(value));
        format!("{value} where it is {order} {other}{unordered}")
    }

    /// The operands that determine the range: those that are not constants, and for which a single
    /// value would make a difference. If none does, all of them.
    fn causes(&self, id: NodeId) -> Vec<NodeId> {
        let node = &self.ranges.graph.nodes[id as usize];
        let operands = self.ranges.graph.operands(id);
        let is_variable = |id: NodeId| {
            let node = &self.ranges.graph.nodes[id as usize];
            self.function.constant(node.value).is_none()
        };
        let matters = |k: usize| match node.source {
            Source::Op(op) => {
                let mut bounds: Vec<_> = operands.iter().map(|&id| *self.bounds(id)).collect();
                bounds[k] = one_of(&bounds[k]);
                let same = operands.len() > 1 && operands[0] == operands[1];
                transfer(op, &bounds, same, Nan::Ignore) != *self.bounds(id)
            }
            Source::Param(_) => k < 2,
            _ => true,
        };
        let variables = || (0..operands.len()).filter(|&k| is_variable(operands[k]));
        let mut causes: Vec<_> = variables().filter(|&k| matters(k)).collect();
        if causes.is_empty() {
            causes = variables().collect();
        }
        let mut causes: Vec<_> = causes.into_iter().map(|k| operands[k]).collect();
        causes.dedup();
        causes
    }

    /// The fact that is missing for a narrower range: why the result is unbounded, wraps or is NaN
    /// although the operands do not.
    fn gap(&self, id: NodeId) -> Option<String> {
        let node = &self.ranges.graph.nodes[id as usize];
        let operands = self.ranges.graph.operands(id);
        let of = |k: usize| self.bounds(operands[k]);
        let result = self.bounds(id);
        // A parameter of a loop depends on itself.
        let count = if let Source::Param(_) = node.source { 1 } else { operands.len() };
        let is_new = |test: fn(&Bounds) -> bool| test(result) && !(0..count).any(|k| test(of(k)));
        match node.source {
            Source::Given if matches!(self.function.def(node.value), Def::Input(_)) => {
                Some("an input".into())
            }
            Source::Op(op) if op.is_load() => Some("tables may hold any number".into()),
            Source::Op(op) if is_new(may_be_nan) => {
                let cause = match op {
                    Op::Div | Op::Rem => "0 ÷ 0 or ∞ ÷ ∞ is possible".into(),
                    Op::Mul => "0 · ∞ is possible".into(),
                    Op::Add | Op::Sub => "∞ − ∞ is possible".into(),
                    _ => format!("{} may be outside of its domain", self.operand_name(operands[0])),
                };
                Some(cause)
            }
            Source::Op(op) if is_new(may_be_infinite) => Some(match op {
                Op::Div if contains_zero(of(1)) => {
                    format!("{} may be 0", self.operand_name(operands[1]))
                }
                Op::Log if contains_zero(of(0)) => {
                    format!("{} may be 0", self.operand_name(operands[0]))
                }
                _ => "the result may overflow".into(),
            }),
            Source::Op(Op::IAdd | Op::ISub | Op::IMul | Op::Shl) if is_new(is_any_integer) => {
                Some("the result may wrap".into())
            }
            Source::Param(_) if is_new(is_huge) || is_new(is_any_integer) => {
                Some("may grow without limit".into())
            }
            _ => None,
        }
    }

    fn operand_name(&self, id: NodeId) -> String {
        self.name(self.ranges.graph.nodes[id as usize].value)
    }
}

impl Annotations for Explainer<'_> {
    fn brackets(&self, _: Value) -> bool {
        false
    }

    fn comment(&self, value: Value) -> Option<String> {
        let id = self.ranges.graph.definition(value)?;
        let gap = self.gap(id).filter(|_| !matches!(self.function.def(value), Def::Input(_)));
        Some(match gap {
            Some(gap) => format!("{}; {gap}", self.bounds(id)),
            None => self.bounds(id).to_string(),
        })
    }

    fn block_comments(&self, results: &[Value], truth: bool) -> Vec<(Value, String)> {
        let clips = self.clips.of(results, truth);
        let clipped = self.ranges.graph.nodes.iter().enumerate().filter_map(|(id, node)| {
            let Source::Clip(clip) = node.source else { return None };
            let is_here = clips.iter().any(|here| std::ptr::eq(here, clip));
            let last = self.ranges.graph.nodes.get(id + 1).is_none_or(|next| {
                !matches!(next.source, Source::Clip(_)) || next.value != node.value
            });
            (is_here && last).then(|| (node.value, format!("{} here", self.bounds(id as NodeId))))
        });
        clipped.collect()
    }
}

/// Bounds of one of the values.
fn one_of(bounds: &Bounds) -> Bounds {
    match bounds {
        Bounds::Float(x) if !x.pieces.is_empty() => {
            let [low, high] = [x.low(), x.high()];
            let middle = (0.5 * low + 0.5 * high).clamp(low, high);
            let finite = if middle.is_finite() { middle } else { 1.0f32.clamp(low, high) };
            Bounds::constant(Type::F32, finite.to_bits())
        }
        Bounds::Int(x) => {
            let [low, high] = x.hull().unwrap_or_default();
            Bounds::constant(Type::I32, ((i64::from(low) + i64::from(high)) / 2) as u32)
        }
        Bounds::Bool(x) => Bounds::constant(Type::Bool, u32::from(x.may_be_true)),
        Bounds::Float(_) => *bounds,
    }
}

fn may_be_nan(bounds: &Bounds) -> bool {
    matches!(bounds, Bounds::Float(x) if x.nan)
}

fn may_be_infinite(bounds: &Bounds) -> bool {
    matches!(bounds, Bounds::Float(x) if x.pieces.hull().is_some_and(|ends| ends.iter().any(|x| x.is_infinite())))
}

fn is_huge(bounds: &Bounds) -> bool {
    matches!(bounds, Bounds::Float(x) if x.low() <= f32::MIN || x.high() >= f32::MAX)
}

fn contains_zero(bounds: &Bounds) -> bool {
    matches!(bounds, Bounds::Float(x) if x.pieces.contains(0.0))
}

fn is_any_integer(bounds: &Bounds) -> bool {
    matches!(bounds, Bounds::Int(x) if x.hull() == Some([i32::MIN, i32::MAX]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::Floats;
    use crate::ir::text::parse;
    use crate::lift::find_clips;

    const TEXT: &str = "fn f(x: f32, y: f32) -> (r: f32) {
        %0 = mul y, 2.0
        %1 = lt 0.0, x
        %2 = if %1 { %3 = div 1.0, x yield %3 } else { %4 = div %0, x yield %4 }
        %5 = loop (%6: f32 = y) {
            %7 = lt %6, %2
            while %7 else %6
            %8 = add %6, 1.0
            next %8
        }
        return %5
    }";

    fn with_explainer<T>(f: impl FnOnce(Explainer<'_>) -> T) -> T {
        let function = parse(TEXT).unwrap();
        let inputs = [[-1.0, 1.0], [2.0, 3.0]].map(|[low, high]| {
            Bounds::Float(Floats { negative_zero: false, ..Floats::between(low, high) })
        });
        let scalars = vec![false; function.len()];
        let clips = find_clips(&function, &scalars, &inputs, Nan::Ignore);
        f(Explainer::new(&function, &inputs, &clips))
    }

    fn explain(name: &str) -> String {
        with_explainer(|explainer| explainer.explain(explainer.find(name).unwrap()))
    }

    #[test]
    fn chains_name_conditions_and_missing_facts() {
        insta::assert_snapshot!(explain("%3"), @r"
        %3 = div 1.0, x: [1, ∞]; the result may overflow
          x where it is greater than 0.0: [1e-45, 1]
            x: [-1, 1]; an input
        ");
        insta::assert_snapshot!(explain("%4"), @r"
        %4 = div %0, x: [-∞, -4] ∪ {∞}; x may be 0
          %0 = mul y, 2.0: [4, 6]
            y: [2, 3]; an input
          x where it is at most 0.0, or NaN: [-1, 0]
            x: [-1, 1]; an input
        ");
    }

    #[test]
    fn values_that_grow_in_a_loop_say_so() {
        insta::assert_snapshot!(explain("%6"), @r"
        %6, y at first, %8 after an iteration: [2, 3.4028235e38]; may grow without limit
          y: [2, 3]; an input
          %8 = add %6, 1.0: [3, 3.4028235e38]
            %6 where it is less than %2: [2, 3.4028235e38]
              %6, y at first, %8 after an iteration: [2, 3.4028235e38]; may grow without limit, as above
              %2 = if %1: %3 or %4: [-∞, -4] ∪ [1, ∞]
                %1 = lt 0.0, x: false or true
                  x: [-1, 1]; an input
                %3 = div 1.0, x: [1, ∞]; the result may overflow
                  x where it is greater than 0.0: [1e-45, 1]
                    x: [-1, 1]; an input
                %4 = div %0, x: [-∞, -4] ∪ {∞}; x may be 0
                  %0 = mul y, 2.0: [4, 6]
                    y: [2, 3]; an input
                  x where it is at most 0.0, or NaN: [-1, 0]
                    x: [-1, 1]; an input
        ");
    }

    #[test]
    fn listings_show_ranges_and_what_conditions_imply() {
        insta::assert_snapshot!(with_explainer(|explainer| explainer.listing()), @r"
        // x: [-1, 1]
        // y: [2, 3]
        fn f(x: f32, y: f32) -> (r: f32) {
          %0 = mul y, 2.0            // [4, 6]
          %1 = lt 0.0, x             // false or true
          %2 = if %1 {               // [-∞, -4] ∪ [1, ∞]
            // x: [1e-45, 1] here
            %3 = div 1.0, x          // [1, ∞]; the result may overflow
            yield %3
          } else {
            // x: [-1, 0] here
            %4 = div %0, x           // [-∞, -4] ∪ {∞}; x may be 0
            yield %4
          }
          %5 = loop (%6: f32 = y) {  // %6: [2, 3.4028235e38]; may grow without limit
                                     // %5: [2, 3.4028235e38]
            %7 = lt %6, %2           // false or true
            while %7 else %6
            // %6: [2, 3.4028235e38] here
            // %2: [2.0000002, ∞] here
            %8 = add %6, 1.0         // [3, 3.4028235e38]
            next %8
          }
          return %5
        }
        ");
    }

    #[test]
    fn unknown_names_have_no_value() {
        assert_eq!(with_explainer(|explainer| explainer.find("%99")), None);
        assert!(with_explainer(|explainer| explainer.find("r")).is_some());
    }
}
