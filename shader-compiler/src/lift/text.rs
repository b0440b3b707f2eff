//! Listings of the stages from a point shader to its bounding shader: the values that are
//! intervals, static bounds, selected cases, and the resulting code.

use super::Lifted;
use crate::interval::Bounds;
use crate::ir::function::for_each_stmt;
use crate::ir::text::{Annotations, annotated, name};
use crate::ir::{Function, Stmt, Value};
use crate::relations::{Refinement, Relation, RelationInfo, Relations};
use rustc_hash::FxHashSet;

impl Lifted {
    /// Formats the point shader, with intervals in brackets: `[%4] = mul [%3], kd.x`.
    pub fn interval_text(&self) -> String {
        annotated(&self.sunk, &IntervalNotes { lifted: self })
    }

    /// Formats the point shader with intervals in brackets and with comments: static bounds of each
    /// value, and what conditions imply at the start of a block; for operations on intervals the
    /// selected case of the lowering, the number of scalar operations, and the relations that
    /// refined the endpoints.
    pub fn bounds_text(&self) -> String {
        annotated(&self.sunk, &BoundsNotes { intervals: IntervalNotes { lifted: self } })
    }

    /// Formats the bounding shader, or a later stage of it. A comment at each operation names the
    /// operation of the point shader that it implements. The first such operation also has the
    /// static bounds and the selected case, as in [`Lifted::bounds_text`].
    pub fn origins_text(&self, function: &Function) -> String {
        let text = annotated(
            function,
            &OriginNotes { lifted: self, function, first: first_of_each_origin(function) },
        );
        format!("// Comments name values of the point shader, with intervals in brackets.\n{text}")
    }
}

/// The first value of each origin, in text order.
fn first_of_each_origin(function: &Function) -> FxHashSet<Value> {
    let (mut origins, mut first) = (FxHashSet::default(), FxHashSet::default());
    for_each_stmt(&function.body, &mut |stmt| {
        if let Stmt::Op(value) = stmt
            && function.values[value.index()].origin.is_some_and(|origin| origins.insert(origin))
        {
            first.insert(*value);
        }
    });
    first
}

/// Notes of [`Lifted::interval_text`].
struct IntervalNotes<'a> {
    lifted: &'a Lifted,
}

impl Annotations for IntervalNotes<'_> {
    fn brackets(&self, value: Value) -> bool {
        self.lifted.is_interval[value.index()]
    }
    fn comment(&self, _: Value) -> Option<String> {
        None
    }
}

/// Notes of [`Lifted::bounds_text`].
struct BoundsNotes<'a> {
    intervals: IntervalNotes<'a>,
}

impl Annotations for BoundsNotes<'_> {
    fn brackets(&self, value: Value) -> bool {
        self.intervals.brackets(value)
    }
    fn comment(&self, value: Value) -> Option<String> {
        let lifted = self.intervals.lifted;
        let bounds = lifted.bounds[value.index()].to_string();
        let tightened = tightened(&lifted.related, value);
        let Some(selected) = &lifted.cases[value.index()] else {
            return Some(format!("{bounds}{tightened}"));
        };
        let case =
            if selected.case.is_empty() { String::new() } else { format!(": {}", selected.case) };
        let plural = if selected.operations == 1 { "" } else { "s" };
        Some(format!("{bounds}{case} ({} operation{plural}{tightened})", selected.operations))
    }
    fn block_comments(&self, results: &[Value], truth: bool) -> Vec<(Value, String)> {
        let Lifted { clips, bounds, .. } = self.intervals.lifted;
        let mut clipped: Vec<(Value, Bounds)> = vec![];
        for clip in clips.of(results, truth) {
            let known = clipped.iter().position(|(value, _)| *value == clip.value);
            let index = known.unwrap_or_else(|| {
                clipped.push((clip.value, bounds[clip.value.index()]));
                clipped.len() - 1
            });
            clipped[index].1 = clip.refined(&clipped[index].1, &bounds[clip.other.index()]);
        }
        clipped.into_iter().map(|(value, bounds)| (value, format!("{bounds} here"))).collect()
    }
}

/// Lists the relations that tighten a value, without duplicates.
fn tightened(related: &RelationInfo, value: Value) -> String {
    let support = (related.support == Some(value)).then_some(Relation::Support);
    let relations: Relations = related.refinements[value.index()]
        .iter()
        .filter_map(Refinement::relation)
        .chain(support)
        .collect();
    let names: Vec<_> = relations.iter().map(Relation::name).collect();
    if names.is_empty() { String::new() } else { format!(", tightened by {}", names.join(", ")) }
}

/// Notes of [`Lifted::origins_text`].
struct OriginNotes<'a> {
    lifted: &'a Lifted,
    function: &'a Function,
    first: FxHashSet<Value>,
}

impl Annotations for OriginNotes<'_> {
    fn brackets(&self, _: Value) -> bool {
        false
    }
    fn comment(&self, value: Value) -> Option<String> {
        let (lifted, origin) = (self.lifted, self.function.values[value.index()].origin?);
        let intervals = IntervalNotes { lifted };
        let name = |value: Value| {
            let name = name(&lifted.sunk, value);
            if intervals.brackets(value) { format!("[{name}]") } else { name }
        };
        if !self.first.contains(&value) {
            return Some(name(origin));
        }
        let known = BoundsNotes { intervals: IntervalNotes { lifted } }.comment(origin)?;
        Some(match lifted.sunk.operation(origin) {
            Some((op, args)) => {
                let args: Vec<_> = args.iter().map(|&arg| name(arg)).collect();
                format!("{} = {} {}  // {known}", name(origin), op.name(), args.join(", "))
            }
            None => format!("{} = if  // {known}", name(origin)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::conditions::Clips;
    use crate::analysis::solve;
    use crate::interval::{Floats, Nan};
    use crate::ir::text::parse;
    use crate::lift::{BoundSides, Input, LoweredCase, Options, classify};
    use crate::passes;
    use crate::relations::{Axis, RelationInfo};

    /// A function with an interval `x`, and a case for the first operation on intervals.
    fn lifted() -> Lifted {
        let text = "fn f(x: f32, y: f32) -> (r: f32) {
            %0 = neg y
            %1 = neg x
            %2 = lt x, 0.5
            %3, %4 = if %2 {
                yield %1, y
            } else {
                yield %0, 1.0
            }
            %5 = loop (%6: f32 = %3, %7: i32 = 0) {
                %8 = slt %7, 4
                while %8 else %6
                %9 = iadd %7, 1
                next %4, %9
            }
            return %5
        }";
        let point = parse(text).expect("the text is well formed");
        let is_interval = classify::classify(&point, &[true, false]);
        let inputs = [Floats::between(0.0, 1.0), Floats::constant(2.0)].map(Bounds::Float);
        let bounds = solve::run(
            &point,
            &vec![true; point.len()],
            &inputs,
            Nan::Suppress,
            solve::Facts::default(),
        );
        let clips = Clips::find(&point, &is_interval, &bounds);
        let mut cases = vec![None; point.len()];
        let first = (0..point.len())
            .find(|&k| is_interval[k] && point.operation(Value(k as u32)).is_some());
        cases[first.expect("there is an operation")] =
            Some(LoweredCase { case: "endpoints", operations: 2 });
        let related = RelationInfo::empty(&point);
        let inputs = inputs
            .map(|bounds| Input { interval: true, bounds, axis: None, sorted: None })
            .to_vec();
        let (function, relations) = (point.clone(), Relations::NONE);
        Lifted {
            sunk: point.clone(),
            point,
            is_interval,
            bounds,
            clips,
            cases,
            inputs,
            relations,
            related,
            function,
            sides: BoundSides::Both,
        }
    }

    #[test]
    fn intervals_are_in_brackets_everywhere() {
        let expected = "fn f([x]: f32, y: f32) -> ([r]: f32) {
  %0 = neg y
  [%1] = neg [x]
  [%2] = lt [x], 0.5
  [%3], [%4] = if [%2] {
    yield [%1], y
  } else {
    yield %0, 1.0
  }
  [%5] = loop ([%6]: f32 = [%3], %7: i32 = 0) {
    %8 = slt %7, 4
    while %8 else [%6]
    %9 = iadd %7, 1
    next [%4], %9
  }
  return [%5]
}
";
        assert_eq!(lifted().interval_text(), expected);
    }

    #[test]
    fn operations_of_bounding_shaders_name_their_origin() {
        let text = "fn f(x: f32, y: f32) -> (r: f32) {
            %0 = mul x, y
            %1 = exp %0
            %2 = lt y, 0.5
            %3 = if %2 {
                %4 = log %1
                yield %4
            } else {
                yield %1
            }
            return %3
        }";
        let point = parse(text).expect("the text is well formed");
        let inputs = [true, false].map(|interval| Input {
            interval,
            bounds: Bounds::Float(Floats::between(1.0, 2.0)),
            axis: None,
            sorted: None,
        });
        let lifted = crate::lift::run(
            &point,
            &inputs,
            &[0],
            &Options { sides: BoundSides::Upper, ..Options::default() },
        );
        let lowered = passes::lower(&lifted.function);
        let text = lifted.origins_text(&lowered);
        let comments: Vec<_> = text
            .lines()
            .filter(|line| line.contains(" = "))
            .map(|line| line.split_once("  // "))
            .collect();
        let comments: Vec<_> =
            comments.into_iter().map(|parts| parts.expect("each has a comment").1).collect();
        let begin =
            |start: &str| comments.iter().filter(|comment| comment.starts_with(start)).count();
        assert_eq!(begin("[%0] = mul [x], y  // [1, 4]: a ≥ 0, b ≥ 0 ("), 1, "{text}");
        assert_eq!(begin("[%1] = exp [%0]  // [2.718"), 1, "{text}");
        assert!(begin("[%1]") > 10 && begin("[%3]") > 0, "{text}");
        assert_eq!(parse(&text).map(|function| function.to_string()), Ok(lowered.to_string()));
    }

    #[test]
    fn comments_name_the_relations_that_tighten_a_value() {
        let text = "fn f(a.x: f32, a.y: f32, a.z: f32, b.x: f32, b.y: f32, b.z: f32) -> (r: f32) {
            %0 = mul a.x, b.x
            %1 = mul a.y, b.y
            %2 = mul a.z, b.z
            %3 = add %0, %1
            %4 = add %3, %2
            return %4
        }";
        let point = parse(text).expect("the text is well formed");
        let axis =
            |k: usize| Some(Axis { vector: k / 3, component: k % 3, frame: false, above: false });
        let bounds = Bounds::Float(Floats::between(-1.0, 1.0));
        let inputs: Vec<_> = (0..6)
            .map(|k| Input { interval: k < 3, bounds, axis: axis(k), sorted: None })
            .collect();
        for (relations, expected) in [
            (Relations::NONE, " operations)"),
            (Relations::from_iter([Relation::Unit]), " operations, tightened by unit)"),
            (Relations::from_iter([Relation::Dot]), " operations, tightened by dot)"),
        ] {
            let lifted = crate::lift::run(
                &point,
                &inputs,
                &[0],
                &Options { relations, ..Options::default() },
            );
            let text = lifted.bounds_text();
            let sum =
                text.lines().find(|line| line.contains("[%4] =")).expect("there is such a line");
            assert!(sum.ends_with(expected), "{relations:?}: {text}");
            assert_eq!(text.matches("tightened").count(), relations.iter().count(), "{text}");
        }
    }

    #[test]
    fn comments_show_static_bounds_and_cases() {
        let lifted = lifted();
        let text = lifted.bounds_text();
        let comment = |line: &str| {
            let line = text
                .lines()
                .find(|l| l.trim_start().starts_with(line))
                .expect("there is such a line");
            line.split_once("  // ").map_or("", |(_, comment)| comment)
        };
        assert!(text.starts_with("// x: [0, 1], -0\n// y: {2}\nfn f("), "{text}");
        assert!(comment("[%1] =").ends_with(": endpoints (2 operations)"), "{text}");
        assert!(!comment("%0 =").contains("operation") && !comment("%0 =").is_empty(), "{text}");
        assert!(text.contains("\n    // [x]: [0.5, 1] here\n    yield %0, 1.0\n"), "{text}");
        // Each value that a loop defines has a line.
        let loop_lines: Vec<_> =
            text.lines().skip_while(|line| !line.contains("= loop")).take(3).collect();
        for (line, name) in loop_lines.iter().zip(["// [%6]: ", "// %7: ", "// [%5]: "]) {
            assert_eq!(line.find(name), loop_lines[0].find("//"), "{text}");
        }
        assert_eq!((comment("return"), comment("yield")), ("", ""));
        // The parser ignores comments.
        let plain = text.replace(['[', ']'], "");
        assert_eq!(parse(&plain).map(|function| function.to_string()), Ok(lifted.sunk.to_string()));
    }
}
