//! The way from a point shader to its bounding shader, to be read by people: which values are
//! intervals, what is known of each, what was selected on that account, and what has become of it
//! in the end.

use super::Lifted;
use crate::ir::function::for_each_stmt;
use crate::ir::text::{Notes, annotated, name};
use crate::ir::{Function, Stmt, Value};
use crate::relations::{Alternative, Related, Relation, Relations};
use rustc_hash::FxHashSet;

impl Lifted {
    /// The point shader, in which intervals stand in brackets: `[%4] = mul [%3], kd.x`.
    pub fn interval_text(&self) -> String {
        annotated(&self.point, &Kinds { lifted: self })
    }

    /// The same, with comments: what each value can be, and for operations on intervals the case of
    /// the form that was selected, how many operations on numbers it took, and which relations
    /// between values gave it other ends.
    pub fn bounds_text(&self) -> String {
        annotated(&self.point, &Selection { kinds: Kinds { lifted: self } })
    }

    /// The bounding shader, or what passes have made of it, with comments that tell which operation
    /// of the point shader each operation is there for. The first one for it tells as well what it
    /// may be and the case that was selected, as [`Lifted::bounds_text`].
    pub fn origins_text(&self, function: &Function) -> String {
        let text =
            annotated(function, &Origins { lifted: self, function, first: firsts(function) });
        format!(
            "// Comments name values as the point shader has them, with intervals in brackets.\n{text}"
        )
    }
}

/// The first value for each origin, in the order of the text.
fn firsts(function: &Function) -> FxHashSet<Value> {
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

struct Kinds<'a> {
    lifted: &'a Lifted,
}

impl Notes for Kinds<'_> {
    fn brackets(&self, value: Value) -> bool {
        self.lifted.kinds[value.index()]
    }
    fn comment(&self, _: Value) -> Option<String> {
        None
    }
}

struct Selection<'a> {
    kinds: Kinds<'a>,
}

impl Notes for Selection<'_> {
    fn brackets(&self, value: Value) -> bool {
        self.kinds.brackets(value)
    }
    fn comment(&self, value: Value) -> Option<String> {
        let lifted = self.kinds.lifted;
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
}

/// By which relations a value is tightened, each named once.
fn tightened(related: &Related, value: Value) -> String {
    let support = (related.support == Some(value)).then_some(Relation::Support);
    let relations: Relations = related.alternatives[value.index()]
        .iter()
        .map(Alternative::relation)
        .chain(support)
        .collect();
    let names: Vec<_> = relations.iter().map(Relation::name).collect();
    if names.is_empty() { String::new() } else { format!(", tightened by {}", names.join(", ")) }
}

struct Origins<'a> {
    lifted: &'a Lifted,
    function: &'a Function,
    first: FxHashSet<Value>,
}

impl Notes for Origins<'_> {
    fn brackets(&self, _: Value) -> bool {
        false
    }
    fn comment(&self, value: Value) -> Option<String> {
        let (lifted, origin) = (self.lifted, self.function.values[value.index()].origin?);
        let kinds = Kinds { lifted };
        let name = |value: Value| {
            let name = name(&lifted.point, value);
            if kinds.brackets(value) { format!("[{name}]") } else { name }
        };
        if !self.first.contains(&value) {
            return Some(name(origin));
        }
        let known = Selection { kinds: Kinds { lifted } }.comment(origin)?;
        Some(match lifted.point.operation(origin) {
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
    use crate::analysis::{Bounds, Floats, solve};
    use crate::interval::Nan;
    use crate::ir::text::parse;
    use crate::lift::{Input, Options, Selected, Sides, kinds};
    use crate::passes;
    use crate::relations::{Axis, Related};

    /// With `x` as an interval, and a case for the first operation on intervals.
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
        let kinds = kinds::kinds(&point, &[true, false]);
        let inputs = [Floats::between(0.0, 1.0), Floats::constant(2.0)].map(Bounds::Float);
        let bounds =
            solve::run(&point, &vec![true; point.len()], &inputs, Nan::Suppress, None, false);
        let mut cases = vec![None; point.len()];
        let first =
            (0..point.len()).find(|&k| kinds[k] && point.operation(Value(k as u32)).is_some());
        cases[first.expect("there is one")] = Some(Selected { case: "ends", operations: 2 });
        let related = Related::nothing(&point);
        let inputs = inputs.map(|bounds| Input { interval: true, bounds, axis: None }).to_vec();
        let (function, relations) = (point.clone(), Relations::NONE);
        Lifted {
            point,
            kinds,
            bounds,
            cases,
            inputs,
            relations,
            related,
            function,
            sides: vec![Sides::Both],
        }
    }

    #[test]
    fn intervals_stand_in_brackets_wherever_they_are_named() {
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
    fn operations_of_bounding_shaders_tell_those_they_are_there_for() {
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
        });
        let lifted = crate::lift::run(
            &point,
            &inputs,
            &[0],
            &Options { sides: Sides::Upper, ..Options::default() },
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
    fn comments_tell_which_relations_tighten_a_value() {
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
        let inputs: Vec<_> =
            (0..6).map(|k| Input { interval: k < 3, bounds, axis: axis(k) }).collect();
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
    fn comments_tell_what_is_known_and_selected() {
        let lifted = lifted();
        let text = lifted.bounds_text();
        let of = |line: &str| {
            let line = text
                .lines()
                .find(|l| l.trim_start().starts_with(line))
                .expect("there is such a line");
            line.split_once("  // ").map_or("", |(_, comment)| comment)
        };
        assert!(text.starts_with("// x: [0, 1], -0\n// y: {2}\nfn f("), "{text}");
        assert!(of("[%1] =").ends_with(": ends (2 operations)"), "{text}");
        assert!(!of("%0 =").contains("operation") && !of("%0 =").is_empty(), "{text}");
        // What a loop defines is told line by line.
        let of_loop: Vec<_> =
            text.lines().skip_while(|line| !line.contains("= loop")).take(3).collect();
        for (line, name) in of_loop.iter().zip(["// [%6]: ", "// %7: ", "// [%5]: "]) {
            assert_eq!(line.find(name), of_loop[0].find("//"), "{text}");
        }
        assert_eq!((of("return"), of("yield")), ("", ""));
        // What is behind `//` is nothing to the parser.
        let plain = text.replace(['[', ']'], "");
        assert_eq!(
            parse(&plain).map(|function| function.to_string()),
            Ok(lifted.point.to_string())
        );
    }
}
