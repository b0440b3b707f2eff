//! Functions in WGSL, evaluated and bounded.

use super::values::TWO_31;
use super::*;
use crate::interval::Nan;
use crate::lift::Options;
use crate::random::Random;
use crate::relations::Relations;

const SOURCE: &str = "struct Params { k: f32, n: i32 }
    struct Out { value: f32, count: i32, above: bool }
    fn f(a: f32, b: vec2f, m: Params) -> Out {
        var s = a;
        for (var i = 0; i < clamp(m.n, 0, 8); i++) { s = s * m.k + b.x * b.y; }
        return Out(s, i32(4.0 * s) + m.n, s > b.x);
    }";

fn compile(options: &FunctionOptions) -> Result<CompiledFunction, Error> {
    CompiledFunction::compile("f.wgsl", SOURCE, "f", options)
}

#[test]
fn bounds_contain_values_for_any_subset_of_intervals() {
    let mut random = Random::new(1);
    let mut uniform = || random.below(1 << 24) as f32 / (1 << 24) as f32;
    for intervals in [None, Some(&["b"][..]), Some(&["a", "n"]), Some(&["b.y", "k"]), Some(&[])] {
        let options = FunctionOptions::default().gradient(&["a", "b", "k"]);
        let options = match intervals {
            Some(names) => options.intervals(names),
            None => options,
        };
        let function = compile(&options).unwrap();
        let names: Vec<_> = function.inputs().map(str::to_owned).collect();
        assert_eq!(names, ["a", "b.x", "b.y", "k", "n"]);
        let outputs = function.outputs().count();
        assert_eq!(outputs, 3 + 4);
        for _ in 0..50 {
            let boxes: Vec<[f32; 2]> = (0..5)
                .map(|input| {
                    let low = if input == 4 { (8.0 * uniform()).floor() } else { uniform() };
                    let size = if input == 4 { 2.0 } else { 0.25 * uniform() };
                    [low, low + if function.is_interval[input] { size } else { 0.0 }]
                })
                .collect();
            let columns: Vec<_> = names
                .iter()
                .map(String::as_str)
                .zip(boxes.iter().map(|ends| [&ends[..1], &ends[1..]]))
                .collect();
            let mut bounds = vec![[[0.0]; 2]; outputs];
            let mut results: Vec<_> =
                bounds.iter_mut().map(|[low, high]| [&mut low[..], &mut high[..]]).collect();
            function.bound(&[], &columns, &mut results).unwrap();
            const ROWS: usize = 20;
            let members: Vec<Vec<f32>> = boxes
                .iter()
                .enumerate()
                .map(|(input, &[low, high])| {
                    let at = |u: f32| (low + (high - low) * u).clamp(low, high);
                    let at = |u| if input == 4 { at(u).round() } else { at(u) };
                    (0..ROWS).map(|_| at(uniform())).collect()
                })
                .collect();
            let columns: Vec<_> =
                names.iter().map(String::as_str).zip(members.iter().map(Vec::as_slice)).collect();
            let mut values = vec![[0.0; ROWS]; outputs];
            let mut results: Vec<_> = values.iter_mut().map(|column| &mut column[..]).collect();
            function.evaluate(&[], &columns, &mut results).unwrap();
            for (output, values) in values.iter().enumerate() {
                let [[low], [high]] = bounds[output];
                for x in values {
                    assert!(low <= *x && *x <= high, "{output}: {x} is not in {low}..{high}");
                }
            }
        }
    }
}

#[test]
fn mismatched_columns_are_errors() {
    let function = compile(&FunctionOptions::default().intervals(&["a"])).unwrap();
    let one: &[f32] = &[1.0];
    let all = ["a", "b.x", "b.y", "k", "n"].map(|name| (name, one));
    let run = |inputs: &[(&str, &[f32])], columns: usize| {
        let mut values = vec![[0.0; 2]; columns];
        let mut results: Vec<_> = values.iter_mut().map(|column| &mut column[..]).collect();
        function.evaluate(&[], inputs, &mut results)
    };
    assert_eq!(run(&all, 3), Ok(()));
    assert_eq!(run(&all, 2), Err(InputError::Outputs { found: 2, expected: 3 }));
    assert_eq!(run(&all[1..], 3), Err(InputError::Missing("a".to_owned())));
    let three: &[f32] = &[1.0; 3];
    let long = [&all[..], &[("k", three)]].concat();
    let length = InputError::Length { name: "k".to_owned(), found: 3, expected: 2 };
    assert_eq!(run(&long, 3), Err(length));
    let more = [&all[..], &[("c", one)]].concat();
    assert!(run(&more, 3).unwrap_err().to_string().contains("no input `c`; it has `a`, `b.x`"));
    let ends = ["a", "b.x", "b.y", "k", "n"].map(|name| (name, [one, &[2.0]]));
    let mut bounds = [[[0.0]; 2]; 3];
    let mut results = bounds.each_mut().map(|[low, high]| [&mut low[..], &mut high[..]]);
    let error = function.bound(&[], &ends, &mut results).unwrap_err();
    assert_eq!(error, InputError::NotInterval("b.x".to_owned()));
}

#[test]
fn inputs_without_values_have_their_defaults() {
    let source = "struct Params {
            /// default: 3
            k: f32,
            /// default: (0.5, 0.25)
            b: vec2f,
        }
        fn f(a: f32, m: Params) -> f32 { return a * m.k + m.b.x - m.b.y; }";
    let function =
        CompiledFunction::compile("f.wgsl", source, "f", &FunctionOptions::default()).unwrap();
    let (two, mut values): (&[f32], _) = (&[1.0, 2.0], [0.0; 2]);
    function.evaluate(&[], &[("a", two)], &mut [&mut values]).unwrap();
    assert_eq!(values, [3.25, 6.25]);
    function.evaluate(&[], &[("a", two), ("b.y", &[1.25])], &mut [&mut values]).unwrap();
    assert_eq!(values, [2.25, 5.25]);
    let (mut low, mut high) = ([0.0], [0.0]);
    let boxes: [(&str, [&[f32]; 2]); 1] = [("a", [&[1.0], &[2.0]])];
    function.bound(&[], &boxes, &mut [[&mut low, &mut high]]).unwrap();
    assert_eq!((low, high), ([3.25], [6.25]));
    let missing = function.evaluate(&[], &[], &mut [&mut values]);
    assert_eq!(missing, Err(InputError::Missing("a".to_owned())));
}

#[test]
fn integers_beyond_their_types_and_empty_intervals_are_errors() {
    let source = "fn f(x: f32, i: i32, u: u32, b: bool) -> f32 {
        return select(x, f32(i) + f32(u), b);
    }";
    let function =
        CompiledFunction::compile("f.wgsl", source, "f", &FunctionOptions::default()).unwrap();
    let value = |i: f32, u: f32| {
        let inputs = [("x", 0.0), ("i", i), ("u", u), ("b", 1.0)].map(|(name, x)| (name, [x]));
        let inputs = inputs.each_ref().map(|(name, x)| (*name, &x[..]));
        let mut value = [0.0];
        function.evaluate(&[], &inputs, &mut [&mut value]).map(|()| value[0])
    };
    assert_eq!(value(-3.0, 4e9), Ok(4e9));
    assert_eq!(value(-TWO_31, 0.0), Ok(-TWO_31));
    for (i, u) in [(TWO_31, 0.0), (0.5, 0.0), (f32::NAN, 0.0), (0.0, -1.0), (0.0, 2.0 * TWO_31)] {
        assert!(matches!(value(i, u), Err(InputError::NotInteger { .. })), "{i} {u}");
    }
    let bounds = |x: [f32; 2], i: [f32; 2], u: [f32; 2]| {
        let boxes = [("x", x), ("i", i), ("u", u), ("b", [1.0; 2])];
        let boxes = boxes.each_ref().map(|(name, [low, high])| {
            (*name, [std::slice::from_ref(low), std::slice::from_ref(high)])
        });
        let (mut low, mut high) = ([0.0], [0.0]);
        function.bound(&[], &boxes, &mut [[&mut low, &mut high]]).map(|()| [low[0], high[0]])
    };
    // Members on both sides of 2³¹.
    let [low, high] = bounds([0.0; 2], [0.0; 2], [1.0, 3e9]).unwrap();
    assert!(low <= 1.0 && high >= 3e9, "{low} {high}");
    assert_eq!(bounds([0.0; 2], [-2.0, 3.0], [3e9; 2]), Ok([3e9 - 2.0, 3e9 + 3.0]));
    let unrepresentable = bounds([0.0; 2], [0.0, 1e12], [0.0; 2]);
    assert!(matches!(unrepresentable, Err(InputError::NotInteger { .. })));
    for x in [[1.0, 0.0], [f32::NAN, 1.0], [0.0, f32::NAN]] {
        let empty = bounds(x, [0.0; 2], [0.0; 2]);
        assert!(matches!(empty, Err(InputError::Empty { .. })), "{x:?}");
    }
    assert!(bounds([f32::NAN; 2], [0.0; 2], [0.0; 2]).is_ok());
}

#[test]
fn intervals_of_bools_contain_false_and_results_may_exceed_signed_integers() {
    let source = "struct R { bit: f32, u: u32 }
        fn f(b: bool, u: u32) -> R { return R(select(2.0, 3.0, b), u); }";
    let function =
        CompiledFunction::compile("f.wgsl", source, "f", &FunctionOptions::default()).unwrap();
    let bounds = |b: [f32; 2], u: [f32; 2]| {
        let boxes = [("b", b), ("u", u)];
        let boxes = boxes.each_ref().map(|(name, [low, high])| {
            (*name, [std::slice::from_ref(low), std::slice::from_ref(high)])
        });
        let mut ends = [[0.0]; 4];
        let [a, b, c, d] = &mut ends;
        function.bound(&[], &boxes, &mut [[a, b], [c, d]]).map(|()| ends.map(|[x]| x))
    };
    for (b, expected) in [
        ([-1.0, 1.0], [2.0, 3.0]),
        ([-1.0, 0.0], [2.0, 3.0]),
        ([-0.5, 0.5], [2.0, 3.0]),
        ([0.0, 0.0], [2.0, 2.0]),
        ([0.5, 2.0], [3.0, 3.0]),
    ] {
        assert_eq!(bounds(b, [3e9, 4e9]), Ok([expected[0], expected[1], 3e9, 4e9]), "{b:?}");
    }
    let whole = [0.0, 2.0 * TWO_31];
    assert_eq!(bounds([1.0; 2], [1.0, 3e9]).map(|ends| [ends[2], ends[3]]), Ok(whole));
    // The maximum of the type, rounded up.
    assert_eq!(bounds([1.0; 2], whole).map(|ends| [ends[2], ends[3]]), Ok(whole));
    let mut results = [[0.0]; 2];
    let [bit, u] = &mut results;
    function.evaluate(&[], &[("b", &[0.5]), ("u", &[3e9])], &mut [bit, u]).unwrap();
    assert_eq!(results, [[3.0], [3e9]]);
}

/// The BRDF of a material is a function like any other.
#[test]
fn brdfs_with_a_diffuse_lobe_are_functions() {
    let source = "struct Material {
            /// range: [0, 1], default: 0.5, lobe: diffuse
            kd: f32,
        }
        fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return vec3f(m.kd); }";
    let options = FunctionOptions::default();
    let brdf = CompiledFunction::compile("f.wgsl", source, "brdf", &options).unwrap();
    assert_eq!(brdf.inputs().last(), Some("kd"));
}

/// The bounds on the squared length of a vector in a box around +z.
fn squared_length(declaration: &str, options: &FunctionOptions) -> Result<[f32; 2], Error> {
    let source = format!("fn f(s: f32, {declaration} n: vec3f) -> f32 {{ return s * dot(n, n); }}");
    let function = CompiledFunction::compile("f.wgsl", &source, "f", options)?;
    let ends: [[&[f32]; 2]; 4] =
        [[&[1.0], &[1.0]], [&[-0.1], &[0.2]], [&[-0.3], &[0.1]], [&[0.8], &[1.0]]];
    let boxes: Vec<_> = ["s", "n.x", "n.y", "n.z"].into_iter().zip(ends).collect();
    let (mut low, mut high) = ([0.0], [0.0]);
    function.bound(&[], &boxes, &mut [[&mut low, &mut high]])?;
    Ok([low[0], high[0]])
}

#[test]
fn related_bounds_use_unit_vectors_from_declarations_and_options() {
    let related = Options { relations: Relations::all(), ..Options::default() };
    let related = FunctionOptions { bounds: related, ..FunctionOptions::default() };
    let unknown = squared_length("", &related).unwrap();
    assert!(unknown[0] < 0.7 && unknown[1] > 1.1, "{unknown:?}");
    let declared = squared_length("/** fact: unit */", &related).unwrap();
    let stated = squared_length("", &FunctionOptions::default().unit(&["n"])).unwrap();
    let both = squared_length("/** fact: unit */", &related.unit(&["n"])).unwrap();
    for [low, high] in [declared, stated, both] {
        assert!(low <= 1.0 - f32::EPSILON && high >= 1.0 + f32::EPSILON, "{low}..{high}");
        assert!(low > 1.0 - 2e-6 && high < 1.0 + 2e-6, "{low}..{high}");
    }
    // Optimized bounds hold for all vectors.
    let optimized = squared_length("/** fact: unit */", &FunctionOptions::default()).unwrap();
    assert_eq!(optimized, unknown);
}

#[test]
fn boxes_without_unit_vectors_and_other_inputs_are_errors() {
    let options = FunctionOptions::default().unit(&["n"]);
    let source = "fn f(a: vec2f, n: vec3f) -> f32 { return a.x * n.x; }";
    let function = CompiledFunction::compile("f.wgsl", source, "f", &options).unwrap();
    let one: [&[f32]; 2] = [&[0.5]; 2];
    let boxes = ["a.x", "a.y", "n.x", "n.y", "n.z"].map(|name| (name, one));
    let (mut low, mut high) = ([0.0], [0.0]);
    let error = function.bound(&[], &boxes, &mut [[&mut low, &mut high]]).unwrap_err();
    assert!(error.to_string().starts_with("row 0: n is not a unit vector"), "{error}");
    let error = CompiledFunction::compile("f.wgsl", source, "f", &options.unit(&["a"]));
    assert!(error.unwrap_err().to_string().contains("`a` is not a `vec3f`"));
}

/// Functions of a sorted vector.
const OF_SORTED: [&str; 17] = [
    "return v.y - v.x;",
    "return (v.z - v.x) * (v.y - v.w);",
    "return max(v.x, v.y) * min(v.z, v.y);",
    "return 1.0 / (v.y - v.x);",
    "return 1.0 / v.y;",
    "return v.x / v.z;",
    "return v.x / v.w + v.z / v.y;",
    "return select(1.0, -v.y, v.x > v.y) + v.z;",
    "return select(1.0, v.x - v.z, v.x <= v.z) * v.y;",
    "if v.x < v.z { return v.y - v.x; } return v.z - v.w;",
    "if v.x > v.z { return 10.0 + v.x; } return v.y * v.w;",
    "return clamp(v.y, v.x, v.z);",
    "return sqrt(v.w - v.y) + sqrt(v.z - v.y);",
    "return smoothstep(v.x, v.z, v.y);",
    "return (v.x + v.y) * (v.w - v.y) - v.z * v.z;",
    // Some components have no effect.
    "return v.x - v.z;",
    "var x = v.y; for (var i = 0; i < 3; i++) { if x < v.w { x += v.z - v.x; } } return x;",
];

/// An endpoint in the range from −2 to 2, often a special one.
fn endpoint(random: &mut Random) -> f32 {
    match random.below(8) {
        0 => 0.0,
        1 => -0.0,
        2 => 1.0,
        3 => -2.0,
        4 => f32::from_bits(1),
        _ => 4.0 * (random.bits() >> 40) as f32 / (1u64 << 24) as f32 - 2.0,
    }
}

/// Endpoints with a sorted vector between them, for components that are intervals or scalars.
fn sorted_box(random: &mut Random, is_interval: [bool; 4]) -> [[f32; 2]; 4] {
    loop {
        let ends = is_interval.map(|interval| {
            let [a, b] = [(); 2].map(|()| endpoint(random));
            if interval { [a.min(b), a.max(b)] } else { [a, a] }
        });
        if (0..4).all(|k| ends[..k].iter().all(|end| end[0] <= ends[k][1])) {
            return ends;
        }
    }
}

/// A sorted vector in a box.
fn sorted_member(random: &mut Random, ends: &[[f32; 2]; 4]) -> [f32; 4] {
    let mut previous = f32::NEG_INFINITY;
    let component = |k: usize| {
        let high = ends[k..].iter().map(|end| end[1]).fold(f32::INFINITY, f32::min);
        let low = ends[k][0].max(previous);
        let x = match random.below(4) {
            0 => low,
            1 => high,
            _ => {
                let t = (random.bits() >> 40) as f32 / (1u64 << 24) as f32;
                (low + t * (high - low)).clamp(low, high)
            }
        };
        // The sign of a scalar is fixed.
        let x = if ends[k][0].to_bits() == ends[k][1].to_bits() { ends[k][0] } else { x };
        let flips = x == 0.0 && ends[k][0].to_bits() != ends[k][1].to_bits();
        previous = x;
        if flips && random.once_in(2) { -x } else { x }
    };
    let mut component = component;
    [0, 1, 2, 3].map(&mut component)
}

fn columns(ends: &[[f32; 2]; 4]) -> Vec<(&'static str, [&[f32]; 2])> {
    let names = ["v.x", "v.y", "v.z", "v.w"];
    let ends = ends.iter().map(|[low, high]| [low, high].map(std::slice::from_ref));
    names.into_iter().zip(ends).collect()
}

fn bound_at(function: &CompiledFunction, ends: &[[f32; 2]; 4]) -> Result<[f32; 2], InputError> {
    let (mut low, mut high) = ([0.0], [0.0]);
    function.bound(&[], &columns(ends), &mut [[&mut low, &mut high]])?;
    Ok([low[0], high[0]])
}

#[test]
fn related_bounds_contain_values_of_sorted_vectors() {
    const ROWS: usize = 24;
    let random = &mut Random::new(27);
    let (mut tighter, mut checked) = (0, 0);
    for body in OF_SORTED {
        for (range, nan) in [
            ("range: [-2, 2], ", Nan::Suppress),
            ("", Nan::Suppress),
            ("range: [-2, 2], ", Nan::Propagate),
            ("", Nan::Propagate),
        ] {
            let source = format!("fn f(/** {range}fact: sorted */ v: vec4f) -> f32 {{ {body} }}");
            let names = ["v.x", "v.y", "v.z", "v.w"];
            let mut is_interval = [(); 4].map(|()| !random.once_in(4));
            is_interval[random.below(4)] = true;
            let intervals: Vec<_> = (0..4).filter(|&k| is_interval[k]).map(|k| names[k]).collect();
            let compile = |relations| {
                let bounds = Options { relations, nan, ..Options::default() };
                let options = FunctionOptions { bounds, ..FunctionOptions::default() };
                let options = options.intervals(&intervals);
                CompiledFunction::compile("f.wgsl", &source, "f", &options).unwrap()
            };
            let [optimized, related] = [Relations::NONE, Relations::all()].map(compile);
            for _ in 0..60 {
                let ends = sorted_box(random, is_interval);
                let [low, high] = bound_at(&related, &ends).unwrap();
                let loose = bound_at(&optimized, &ends).unwrap();
                tighter += usize::from(low > loose[0] || high < loose[1]);
                if loose.iter().all(|end| !end.is_nan()) {
                    assert!(low >= loose[0] && high <= loose[1], "{body} {ends:?}");
                }
                let members: Vec<_> = (0..ROWS).map(|_| sorted_member(random, &ends)).collect();
                let rows = [0, 1, 2, 3].map(|k| members.iter().map(|v| v[k]).collect::<Vec<_>>());
                let rows: Vec<_> = names.into_iter().zip(rows.iter().map(Vec::as_slice)).collect();
                let mut values = [0.0; ROWS];
                related.evaluate(&[], &rows, &mut [&mut values]).unwrap();
                for (v, x) in members.iter().zip(values) {
                    assert!(v.is_sorted(), "{v:?}");
                    // A NaN, or infinite bounds, report that a member of the box may yield NaN.
                    let reports = |end: f32| nan == Nan::Propagate && end.is_nan();
                    let holds = match nan {
                        _ if !x.is_nan() => {
                            (low <= x || reports(low)) && (x <= high || reports(high))
                        }
                        Nan::Propagate => {
                            let is_whole = [low, high] == [f32::NEG_INFINITY, f32::INFINITY];
                            low.is_nan() || high.is_nan() || is_whole
                        }
                        _ => true,
                    };
                    assert!(holds, "{range}{body} {ends:?} {v:?}: {x} in {low}..{high}");
                    checked += 1;
                }
            }
        }
    }
    assert!(tighter > 1000 && checked > 90_000, "{tighter} {checked}");
}

#[test]
fn sorted_vectors_are_declared_or_stated_and_decide_orders() {
    let bounds = |fact: &str, options: FunctionOptions, body: &str| {
        let source = format!("fn f(/** range: [0, 9]{fact} */ v: vec4f) -> f32 {{ {body} }}");
        let function = CompiledFunction::compile("f.wgsl", &source, "f", &options).unwrap();
        bound_at(&function, &[[1.0, 4.0], [0.0, 2.0], [1.0, 3.0], [0.0, 8.0]]).unwrap()
    };
    let related = Options { relations: Relations::all(), ..Options::default() };
    let related = || FunctionOptions { bounds: related, ..FunctionOptions::default() };
    for (body, sorted, any) in [
        ("return v.x;", [1.0, 2.0], [1.0, 4.0]),
        ("return v.y;", [1.0, 2.0], [0.0, 2.0]),
        ("return v.w;", [1.0, 8.0], [0.0, 8.0]),
        ("return v.y - v.x;", [0.0, 1.0], [-4.0, 1.0]),
        ("return max(v.x, v.z);", [1.0, 3.0], [1.0, 4.0]),
        ("return select(1.0, 0.0, v.x <= v.w);", [0.0, 0.0], [0.0, 1.0]),
    ] {
        let declared = bounds(", fact: sorted", related(), body);
        let stated = bounds("", FunctionOptions::default().sorted(&["v"]), body);
        assert_eq!([declared, stated], [sorted; 2], "{body}");
        assert_eq!(bounds(", fact: sorted", related().sorted(&["v"]), body), sorted);
        assert_eq!(bounds("", related(), body)[1], any[1], "{body}");
        // Optimized bounds hold for all vectors.
        assert_eq!(bounds(", fact: sorted", FunctionOptions::default(), body), any, "{body}");
    }
}

#[test]
fn boxes_without_sorted_vectors_and_scalars_are_errors() {
    let source = "fn f(v: vec4f, a: f32, n: vec2i) -> f32 { return v.y - v.x + a + f32(n.x); }";
    let compile = |name: &str| {
        let options = FunctionOptions::default().sorted(&[name]);
        CompiledFunction::compile("f.wgsl", source, "f", &options)
    };
    let function = compile("v").unwrap();
    let message = |ends: [[f32; 2]; 4]| {
        let mut boxes = columns(&ends);
        let zero: [&[f32]; 2] = [&[0.0]; 2];
        boxes.extend(["a", "n.x", "n.y"].map(|name| (name, zero)));
        let (mut low, mut high) = ([0.0], [0.0]);
        function.bound(&[], &boxes, &mut [[&mut low, &mut high]]).unwrap_err().to_string()
    };
    assert_eq!(
        message([[1.0, 2.0], [1.5, 9.0], [0.0, 1.0], [0.0, 9.0]]),
        "row 0: v is not sorted: a component is 1.5..9, and the next one 0..1"
    );
    assert!(message([[0.0; 2], [f32::NAN; 2], [1.0; 2], [1.0; 2]]).contains("one NaN"));
    assert!(message([[f32::NAN; 2], [0.0; 2], [1.0; 2], [1.0; 2]]).contains("is not sorted"));
    for name in ["a", "n"] {
        let error = compile(name).unwrap_err().to_string();
        assert!(error.contains(&format!("`{name}` is not a vector of `f32`")), "{error}");
    }
}

#[test]
fn unknown_and_integer_inputs_of_options_are_errors() {
    let message = |options| compile(&options).unwrap_err().to_string();
    let options = FunctionOptions::default;
    assert!(message(options().intervals(&["c"])).contains("has no input `c`"));
    assert!(message(options().gradient(&["n"])).contains("`n` is not a float"));
}
