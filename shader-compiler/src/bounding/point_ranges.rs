//! The ranges of a point shader's values, and where they come from.
//!
//! They hold for values, not for the endpoints that a bounding shader computes. So relations that
//! replace endpoints of values that do not matter are left out, and it makes no difference which
//! inputs are intervals.

use super::{Frame, Integrand, IntervalInputs};
use crate::analysis::Constraint;
use crate::analysis::conditions::Clips;
use crate::analysis::differences;
use crate::analysis::solve::explain::{Explainer, Known, SourceNotes};
use crate::analysis::solve::{Facts, Ranges};
use crate::frontend::{Entry, LocatedFunction, Settings, Shader, ShaderError, line_of};
use crate::interval::{Bounds, Nan};
use crate::ir::{Def, Function, Value};
use crate::lift::{find_clips, sink};
use crate::relations::{self, OF_POINTS, Relation, RelationInfo, Relations};
use rustc_hash::{FxHashMap, FxHashSet};

/// Which point shader to compute ranges for, and from which facts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RangeOptions {
    /// Coordinate system of directions.
    pub frame: Frame,
    /// Whether to replace a colour by its luminance.
    pub luminance: bool,
    /// Bounds on inputs.
    pub ranges: super::Ranges,
    /// The enabled relations.
    pub relations: Relations,
}

/// The ranges of a point shader's values.
#[derive(Clone, Debug)]
pub struct PointRanges {
    function: Function,
    inputs: Vec<Bounds>,
    clips: Clips,
    related: RelationInfo,
    /// Differences of values that conditions put in order.
    differences: FxHashSet<Value>,
    notes: SourceNotes,
}

impl PointRanges {
    /// Computes the ranges for a function of a shader.
    ///
    /// # Errors
    ///
    /// Returns the error of [`Shader::function`], if any.
    pub fn new(
        shader: &Shader,
        settings: &Settings,
        entry: Entry,
        options: &RangeOptions,
    ) -> Result<PointRanges, ShaderError> {
        let located = shader.located_function(entry, settings)?;
        let integrand =
            Integrand::of_function(shader, settings, options.frame, entry, &located.function);
        let integrand = if options.luminance { integrand.with_luminance() } else { integrand };
        let point = integrand.bounded();
        let every = vec![true; point.len()];
        // Ifs guard the operands of selects, as in bounding shaders of intervals only.
        let function = sink::run(point, &every);
        let inputs = integrand.inputs(IntervalInputs::All, options.ranges);
        let axes: Vec<_> = inputs.iter().map(|input| input.axis).collect();
        let inputs: Vec<_> =
            inputs.iter().map(|input| relations::input_bounds(input, options.relations)).collect();
        let scalars = vec![false; function.len()];
        let clips = find_clips(&function, &scalars, &inputs, Nan::Ignore);
        let ranges = |constraints: &[Constraint]| {
            let constraints = Some(constraints.to_vec());
            let facts = Facts { constraints, clips: Some(&clips), ..Facts::default() };
            Ranges::solve(&function, &scalars, &inputs, Nan::Ignore, facts)
        };
        let of_points = OF_POINTS.into_iter().chain([Relation::Order]);
        let enabled = of_points.filter(|&relation| options.relations.has(relation));
        let mut related = relations::run(
            &function,
            &every,
            &axes,
            vec![],
            enabled.collect(),
            Nan::Propagate,
            &clips,
            ranges,
        );
        let bounds = ranges(&related.constraints).of_values(&function);
        let mut differences = FxHashSet::default();
        if options.relations.has(Relation::Order) {
            for (value, known) in differences::of_blocks(&function, &bounds) {
                if known.meet(&bounds[value.index()]) != bounds[value.index()] {
                    let constraint = &mut related.constraints[value.index()];
                    *constraint = constraint.and(&Constraint::observe(known));
                    differences.insert(value);
                }
            }
        }
        let notes = notes(shader, &located, &function);
        Ok(PointRanges { function, inputs, clips, related, differences, notes })
    }

    /// Formats the point shader with the range of each value, and why it is not narrower where an
    /// operation makes it infinite or NaN.
    pub fn text(&self) -> String {
        self.explainer().listing()
    }

    /// Explains the ranges of the values with a name: that of a value in [`text`](Self::text), or of
    /// a vector; `None` if there is none.
    pub fn explain(&self, name: &str) -> Option<String> {
        self.explainer().explain_all(name)
    }

    /// The names of inputs, outputs and variables. That of a vector stands for its components.
    pub fn names(&self) -> Vec<String> {
        self.explainer().names()
    }

    fn explainer(&self) -> Explainer<'_> {
        let known = Known { related: &self.related, differences: &self.differences };
        Explainer::new(&self.function, &self.inputs, &self.clips, known, &self.notes)
    }
}

/// The names and lines of a function that passes made of a located one.
fn notes(shader: &Shader, located: &LocatedFunction, function: &Function) -> SourceNotes {
    let mut names: FxHashMap<Value, Vec<&str>> = FxHashMap::default();
    for (name, value) in &located.locations.names {
        names.entry(*value).or_default().push(name);
    }
    let old = &located.function;
    let inputs = (0..old.len() as u32).map(Value).filter_map(|value| match old.def(value) {
        Def::Input(index) => Some((&*old.inputs[index as usize].name, value)),
        _ => None,
    });
    let inputs: FxHashMap<_, _> = inputs.collect();
    let mut notes = SourceNotes::default();
    for (index, data) in function.values.iter().enumerate() {
        let value = Value(index as u32);
        let origin = match data.def {
            Def::Input(index) => inputs.get(&*function.inputs[index as usize].name).copied(),
            Def::Const(_) => None,
            Def::Op { .. } | Def::Param | Def::Result => data.origin,
        };
        let names = origin.and_then(|origin| names.get(&origin)).into_iter().flatten();
        notes.names.extend(names.map(|&name| (name.to_owned(), value)));
        let start = located.location(function, value).map(|location| location.range.start);
        if let Some(start) = start.filter(|&start| start < shader.text().len()) {
            notes.lines.insert(value, line_of(shader.text(), start));
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ranges of a shader's function, with all relations.
    fn ranges(text: &str, entry: Entry) -> PointRanges {
        let shader = match entry {
            Entry::Function => Shader::parse_function("f.wgsl", text, "f"),
            _ => Shader::parse("f.wgsl", text),
        };
        let options = RangeOptions {
            frame: Frame::Local,
            luminance: false,
            ranges: crate::bounding::Ranges::Declared,
            relations: Relations::all(),
        };
        PointRanges::new(&shader.expect("it is valid"), &Settings::default(), entry, &options)
            .expect("it compiles")
    }

    #[test]
    fn relations_are_named_where_they_tighten_ranges() {
        let text = "fn brdf(wi: vec3f, wo: vec3f) -> vec3f {
            let n = normalize(vec3f(wi.x, wi.y, 1.0));
            return n * n.z;
        }";
        let explained = ranges(text, Entry::Brdf).explain("n").expect("it has a name");
        assert!(explained.contains("[-1, 1]") && explained.contains("n.x"), "{explained}");
        assert!(explained.contains("tightened by "), "{explained}");
    }

    #[test]
    fn guards_of_parameters_narrow_operands_of_selects() {
        let text = "struct Material {
            /// range: [0, 1]
            a: f32,
        }
        fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
            let guarded = select(0.0, 1.0 / m.a, m.a > 0.125);
            return vec3f(guarded);
        }";
        let text = ranges(text, Entry::Brdf).text();
        assert!(!text.contains('∞') && !text.contains("NaN"), "{text}");
    }

    #[test]
    fn orders_of_two_values_narrow_their_difference() {
        let text = "fn f(a: f32, b: f32, i: i32, j: i32) -> vec3f {
            var r = vec3f(1.0);
            let x = saturate(a);
            let y = saturate(b);
            if x < y { r.x = 1.0 / (y - x); }
            if i < j { r.y = f32(1 / (j - i)); }
            r.z = f32(i) - min(f32(i), f32(j));
            return r;
        }";
        let ranges = ranges(text, Entry::Function).text();
        let line = |op: &str| {
            ranges.lines().find(|line| line.contains(op)).unwrap_or_else(|| panic!("{ranges}"))
        };
        let differences = [
            ("= sub %3, %1", "[1e-45, 1]"),
            ("= isub j, i", "-1] ∪ [1,"),
            (", f.z);", "[0, 4294967300]"),
        ];
        for (op, range) in differences {
            let line = line(op);
            assert!(line.contains(range) && line.contains("tightened by order"), "{ranges}");
        }
    }

    #[test]
    fn every_entry_has_ranges() {
        let text = "fn brdf(wi: vec3f, wo: vec3f) -> vec3f { return vec3f(0.25); }
        fn sample(u: vec2f, wo: vec3f) -> vec3f {
            let radius = sqrt(u.x);
            return vec3f(radius, u.y, sqrt(1.0 - u.x));
        }
        fn pdf(wi: vec3f, wo: vec3f) -> f32 { return max(wi.z, 0.0); }";
        let sample = ranges(text, Entry::Sample);
        assert!(!sample.text().contains("NaN"), "{}", sample.text());
        let radius = sample.explain("radius").expect("it has a name");
        assert!(radius.contains("line 3") && radius.contains("u.x: [0, 0.99999994]"), "{radius}");
        assert!(ranges(text, Entry::Pdf).text().contains("[0, 1.0000002]"));
    }

    #[test]
    fn remainders_are_limited_by_divisors() {
        let text = "
        fn f(/** range: [0, 100] */ x: f32, /** range: [0, 100] */ k: i32) -> vec2f {
            let r = x % 3.0;
            let even = k % 2;
            return vec2f(r, f32(even));
        }";
        let ranges = ranges(text, Entry::Function);
        let r = ranges.explain("r").expect("it has a name");
        assert!(!r.contains("overflow") && r.contains("3.0000"), "{r}");
        let even = ranges.explain("even").expect("it has a name");
        assert!(even.contains(": [0, 1] (line 4, even)"), "{even}");
    }
}
