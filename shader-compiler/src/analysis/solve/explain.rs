//! Where the range of a value comes from: the values that it depends on, the conditions that narrow
//! them, and the facts that are missing.

use super::graph::{Node, NodeId, Source};
use super::{Facts, Ranges};
use crate::analysis::conditions::{Clip, Clips, Limit, Side};
use crate::analysis::transfer::{transfer, transfer_scalars};
use crate::interval::{Bounds, Nan};
use crate::ir::text::{Annotations, Name, annotated, numbers};
use crate::ir::{Def, Function, Op, Type, Value};
use crate::relations::{Relation, RelationInfo};
use rustc_hash::{FxHashMap, FxHashSet};

/// Maximum number of steps from the explained value.
const MAX_DEPTH: usize = 10;

/// Why the range of an input is not narrower.
const AN_INPUT: &str = "an input";

/// What the shader's text says about the values of a function.
#[derive(Clone, Debug, Default)]
pub struct SourceNotes {
    /// Names of variables, with the component of a vector, and their values.
    pub names: Vec<(String, Value)>,
    /// The line that computes a value, from 1.
    pub lines: FxHashMap<Value, usize>,
}

/// Relations and differences that tighten values, for explanations.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    /// Relations that hold for the values, and their constraints.
    pub related: &'a RelationInfo,
    /// Differences that conditions constrain by the order of their operands.
    pub differences: &'a FxHashSet<Value>,
}

/// The ranges of the values of a function that computes one point, for explanations.
pub struct Explainer<'a> {
    function: &'a Function,
    ranges: Ranges<'a>,
    clips: &'a Clips,
    known: Known<'a>,
    notes: &'a SourceNotes,
    numbers: Vec<Option<u32>>,
}

impl<'a> Explainer<'a> {
    /// Solves for the ranges of a function's values, from those of its inputs, the clips of its
    /// values as scalars, and what is known of the values.
    pub fn new(
        function: &'a Function,
        inputs: &'a [Bounds],
        clips: &'a Clips,
        known: Known<'a>,
        notes: &'a SourceNotes,
    ) -> Explainer<'a> {
        let constraints = Some(known.related.constraints.clone());
        let facts = Facts { clips: Some(clips), constraints, ..Facts::default() };
        let ranges =
            Ranges::solve(function, &vec![false; function.len()], inputs, Nan::Ignore, facts);
        Explainer { function, ranges, clips, known, notes, numbers: numbers(function) }
    }

    /// The function's text with the range of each value, and what it lacks.
    pub fn listing(&self) -> String {
        annotated(self.function, self)
    }

    /// Explains the values with a name: `%12`, an input, an output, a variable, or a vector of them.
    /// `None` if there is none.
    pub fn explain_all(&self, name: &str) -> Option<String> {
        let values = self.find(name);
        let all: Vec<_> = values.into_iter().map(|value| self.explain(value)).collect();
        (!all.is_empty()).then(|| all.join("\n"))
    }

    /// The names of inputs, outputs and variables. That of a vector stands for its components.
    pub fn names(&self) -> Vec<String> {
        let inputs = self.function.inputs.iter().map(|port| &*port.name);
        let all = inputs.chain(self.source_names().map(|(name, _)| name));
        let vectors = all.map(|name| vector(name).unwrap_or(name));
        let mut seen = FxHashSet::default();
        vectors.filter(|&name| seen.insert(name)).map(str::to_owned).collect()
    }

    /// The names of outputs and variables, and their values.
    fn source_names(&self) -> impl Iterator<Item = (&str, Value)> {
        let outputs = std::iter::zip(&self.function.outputs, &self.function.body.yields);
        let outputs = outputs.map(|(port, &value)| (&*port.name, value));
        outputs.chain(self.notes.names.iter().map(|(name, value)| (&**name, *value)))
    }

    /// The values with a name, or else the components of the vector with that name.
    fn find(&self, name: &str) -> Vec<Value> {
        // The name of a constant is its number: 2.0 is no component of a vector 2.
        let values = (0..self.function.len() as u32).map(Value);
        let values = values.filter(|&value| self.function.constant(value).is_none());
        let all: Vec<_> = self
            .source_names()
            .map(|(name, value)| (name.to_owned(), value))
            .chain(values.map(|value| (self.name(value), value)))
            .collect();
        let select = |is_selected: &dyn Fn(&str) -> bool| {
            let mut seen = FxHashSet::default();
            let selected = all.iter().filter(|(name, _)| is_selected(name));
            let values = selected.map(|&(_, value)| value).filter(|&value| seen.insert(value));
            values.collect::<Vec<_>>()
        };
        let exact = select(&|other| other == name);
        if exact.is_empty() { select(&|other| vector(other) == Some(name)) } else { exact }
    }

    /// The chain of facts that leads to the range of a value: one line for each value or condition
    /// that it depends on, indented below those that depend on it.
    fn explain(&self, value: Value) -> String {
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
        *text += &format!("{indent}{}: {}", self.definition(id), self.described(id));
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

    /// The range of a node, what the text calls it, and where the range comes from if not from the
    /// operands: `[0, 1] (line 12, cosine); tightened by dot`.
    fn described(&self, id: NodeId) -> String {
        let node = &self.ranges.graph.nodes[id as usize];
        let mut text = self.bounds(id).to_string();
        if !matches!(node.source, Source::Clip(_)) {
            let line = self.notes.lines.get(&node.value).map(|line| format!("line {line}"));
            let names = self.source_names().filter(|&(_, value)| value == node.value);
            let mut labels: Vec<_> =
                line.into_iter().chain(names.map(|(name, _)| name.to_owned())).collect();
            let mut seen = FxHashSet::from_iter([self.name(node.value)]);
            labels.retain(|label| seen.insert(label.clone()));
            if !labels.is_empty() && self.function.constant(node.value).is_none() {
                text += &format!(" ({})", labels.join(", "));
            }
        }
        let relations = self.tightened(id).map(|names| format!("tightened by {names}"));
        for fact in relations.into_iter().chain(self.gap(id)) {
            text += &format!("; {fact}");
        }
        text
    }

    /// The relations that narrow the range of a node, if any.
    fn tightened(&self, id: NodeId) -> Option<String> {
        let node = &self.ranges.graph.nodes[id as usize];
        let Source::Op(op) = node.source else { return None };
        let of_operands = self.transferred(op, &self.operand_bounds(id), id);
        let is_known = !self.known.related.constraints[node.value.index()].is_none();
        if !is_known || of_operands.meet(self.bounds(id)) == of_operands {
            return None;
        }
        let refinements = &self.known.related.refinements[node.value.index()];
        let mut names: Vec<_> = refinements
            .iter()
            .map(|refinement| match (refinement.relation(), op) {
                (Some(relation), _) => relation.name(),
                // Those of all modes.
                (None, Op::Div) => "normalize",
                (None, Op::Rem | Op::Sub | Op::Add | Op::ISub) => "remainder",
                (None, _) => "power",
            })
            .collect();
        // Facts that hold for members of a range, but not for its endpoints.
        if self.known.differences.contains(&node.value) {
            names.push(Relation::Order.name());
        } else if names.is_empty() {
            names.push(Relation::Unit.name());
        }
        names.dedup();
        Some(names.join(", "))
    }

    fn operand_bounds(&self, id: NodeId) -> Vec<Bounds> {
        self.ranges.graph.operands(id).iter().map(|&id| *self.bounds(id)).collect()
    }

    /// The range of an operation's result that follows from these of its operands.
    fn transferred(&self, op: Op, bounds: &[Bounds], id: NodeId) -> Bounds {
        let operands = self.ranges.graph.operands(id);
        let same = operands.len() > 1 && operands[0] == operands[1];
        transfer_scalars(op, bounds, transfer(op, bounds, same, Nan::Ignore))
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
    /// value would make a difference. If none does, all of them, or none if a relation determines it.
    fn causes(&self, id: NodeId) -> Vec<NodeId> {
        let node = &self.ranges.graph.nodes[id as usize];
        let operands = self.ranges.graph.operands(id);
        let is_variable = |id: NodeId| {
            let node = &self.ranges.graph.nodes[id as usize];
            self.function.constant(node.value).is_none()
        };
        let matters = |k: usize| match node.source {
            Source::Op(op) => {
                let mut bounds = self.operand_bounds(id);
                bounds[k] = one_of(&bounds[k]);
                let constraint = &self.known.related.constraints[node.value.index()];
                constraint.apply(&self.transferred(op, &bounds, id)) != *self.bounds(id)
            }
            Source::Param(_) => k < 2,
            _ => true,
        };
        let variables = || (0..operands.len()).filter(|&k| is_variable(operands[k]));
        let mut causes: Vec<_> = variables().filter(|&k| matters(k)).collect();
        if causes.is_empty() && self.tightened(id).is_none() {
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
                Some(AN_INPUT.into())
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
                Op::Div | Op::Rem if contains_zero(of(1)) => {
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
        let described = self.described(self.ranges.graph.definition(value)?);
        let plain = described.strip_suffix(AN_INPUT).and_then(|text| text.strip_suffix("; "));
        Some(plain.unwrap_or(&described).to_owned())
    }

    fn block_comments(&self, results: &[Value], truth: bool) -> Vec<(Value, String)> {
        let clips = self.clips.of(results, truth);
        // The last clip of a value includes the others.
        let mut clipped: Vec<(Value, String)> = vec![];
        for (id, node) in self.ranges.graph.nodes.iter().enumerate() {
            let Source::Clip(clip) = node.source else { continue };
            if clips.iter().any(|here| std::ptr::eq(here, clip)) {
                let comment = format!("{} here", self.bounds(id as NodeId));
                match clipped.iter_mut().find(|(value, _)| *value == node.value) {
                    Some((_, last)) => *last = comment,
                    None => clipped.push((node.value, comment)),
                }
            }
        }
        clipped
    }
}

/// The vector that the component with a name belongs to, if it does.
fn vector(name: &str) -> Option<&str> {
    name.rsplit_once('.').map(|(vector, _)| vector)
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

    fn with_explainer<T>(notes: &SourceNotes, f: impl FnOnce(Explainer<'_>) -> T) -> T {
        let function = parse(TEXT).unwrap();
        let inputs = [[-1.0, 1.0], [2.0, 3.0]].map(|[low, high]| {
            Bounds::Float(Floats { negative_zero: false, ..Floats::between(low, high) })
        });
        let scalars = vec![false; function.len()];
        let clips = find_clips(&function, &scalars, &inputs, Nan::Ignore);
        let (related, differences) = (RelationInfo::empty(&function), FxHashSet::default());
        let known = Known { related: &related, differences: &differences };
        f(Explainer::new(&function, &inputs, &clips, known, notes))
    }

    fn explain(name: &str) -> String {
        with_explainer(&SourceNotes::default(), |explainer| explainer.explain_all(name).unwrap())
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
        insta::assert_snapshot!(with_explainer(&SourceNotes::default(), |explainer| explainer.listing()), @r"
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
                                     // %5: [2, 3.4028235e38] (r)
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
    fn names_stand_for_values_and_vectors_for_components() {
        let notes = SourceNotes {
            names: vec![("first".into(), Value(0)), ("v.x".into(), Value(1))],
            lines: FxHashMap::from_iter([(Value(1), 7)]),
        };
        let explained =
            |name: &str| with_explainer(&notes, |explainer| explainer.explain_all(name));
        assert_eq!(["%99", "2", "2.0"].map(explained), [None, None, None]);
        assert!(explained("r").is_some());
        assert_eq!(explained("first"), explained("x"));
        assert_eq!(explained("v").as_deref(), Some("y: [2, 3] (line 7, v.x); an input\n"));
        let names = with_explainer(&notes, |explainer| explainer.names());
        assert_eq!(names, ["x", "y", "r", "first", "v"]);
    }
}
