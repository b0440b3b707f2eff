//! Compares instruction counts of the material library's point and bounding shaders with those in
//! `instruction_counts.tsv`, and reports growth of more than 2 %. Update the file if growth is
//! intended, and occasionally after counts have decreased:
//!
//!     LIGHTBOUND_UPDATE=1 cargo test -p lightbound-shader --test instruction_counts

use lightbound_shader::backend::x86::{Code, Isa};
use lightbound_shader::bounding::{Frame, Integrand, IntervalInputs, Ranges};
use lightbound_shader::interval::Nan;
use lightbound_shader::ir::Function;
use lightbound_shader::lift::{BoundSides, Options, Tracking};
use lightbound_shader::relations::Relations;
use lightbound_shader::{Settings, Shader, passes};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Accepted ratio of an instruction count to the recorded one.
const MAX_RATIO: f64 = 1.02;

const HEADER: &str = "shader\tcode\tsse\tavx2";

/// Instruction counts for SSE and AVX2. Keys are the shader and the variant of its code, separated
/// by a tab.
type Counts = BTreeMap<String, [usize; 2]>;

fn count(function: &Function) -> [usize; 2] {
    let lowered = passes::lower(function);
    [Isa::Sse41, Isa::Avx2].map(|isa| Code::compile(&lowered, isa).counts().total)
}

/// Counts of all variants of a shader, compiled as in the renderer: in the local frame, with
/// declared ranges.
fn counts(name: &str, source: &str) -> Counts {
    let shader = Shader::parse(name, source).expect("shaders of the library are valid");
    let integrand = Integrand::new(&shader, &Settings::default(), Frame::Local)
        .expect("shaders of the library compile");
    let mut counts = Counts::from([(format!("{name}\tpoint"), count(&integrand.point))]);
    let modes = [
        ("naive", Tracking::NONE, Relations::NONE),
        ("optimized", Tracking::ALL, Relations::NONE),
        ("related", Tracking::ALL, Relations::all()),
    ];
    for (interval_inputs, inputs_name) in
        [(IntervalInputs::Light, "light"), (IntervalInputs::All, "all")]
    {
        let inputs = integrand.inputs(interval_inputs, Ranges::Declared);
        for (mode, tracking, relations) in modes {
            for (sides, sides_name) in [(BoundSides::Upper, "upper"), (BoundSides::Both, "both")] {
                for (nan, nan_name) in [(Nan::Propagate, "propagate"), (Nan::Ignore, "ignore")] {
                    let options = Options { sides, nan, tracking, relations, ..Options::default() };
                    let function = integrand.bound(&inputs, &options).function;
                    let key = format!("{name}\t{mode} {inputs_name} {sides_name} {nan_name}");
                    counts.insert(key, count(&function));
                }
            }
        }
    }
    counts
}

fn from_tsv(text: &str) -> Counts {
    let line = |line: &str| {
        let (key, numbers) = line.match_indices('\t').nth(1).map(|(at, _)| line.split_at(at))?;
        let mut numbers = numbers[1..].split('\t').map(|number| number.parse().ok());
        Some((key.to_owned(), [numbers.next()??, numbers.next()??]))
    };
    text.lines()
        .skip(1)
        .map(|text| line(text).unwrap_or_else(|| panic!("`{text}` is not a row of counts")))
        .collect()
}

fn to_tsv(counts: &Counts) -> String {
    let lines = counts.iter().map(|(key, [sse, avx2])| format!("{key}\t{sse}\t{avx2}\n"));
    format!("{HEADER}\n{}", lines.collect::<String>())
}

/// Describes the counts that have grown, and those that are in only one of the two lists.
fn differences(recorded: &Counts, current: &Counts) -> Vec<String> {
    let keys: std::collections::BTreeSet<_> = recorded.keys().chain(current.keys()).collect();
    let difference = |key: &String| {
        let name = key.replace('\t', ": ");
        let (Some(recorded), Some(current)) = (recorded.get(key), current.get(key)) else {
            return Some(format!(
                "{name} is {}",
                if recorded.contains_key(key) { "missing" } else { "new" }
            ));
        };
        let has_grown = |k: usize| current[k] as f64 > MAX_RATIO * recorded[k] as f64;
        let (k, target) = [(0, "SSE"), (1, "AVX2")].into_iter().find(|&(k, _)| has_grown(k))?;
        let percent = 100.0 * (current[k] as f64 / recorded[k] as f64 - 1.0);
        Some(format!(
            "{name} takes {} instructions instead of {} ({percent:+.1} %, {target})",
            current[k], recorded[k]
        ))
    };
    keys.into_iter().filter_map(difference).collect()
}

#[test]
fn instruction_counts_of_the_library_do_not_grow() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = manifest.join("tests/instruction_counts.tsv");
    let mut current = Counts::new();
    for entry in fs::read_dir(manifest.join("../assets/shaders"))
        .expect("the library's directory is readable")
    {
        let path = entry.expect("the entry is readable").path();
        let name = path.file_stem().expect("files have names").to_string_lossy().into_owned();
        let source = fs::read_to_string(&path).expect("shaders are readable");
        current.extend(counts(&name, &source));
    }
    if std::env::var_os("LIGHTBOUND_UPDATE").is_some() {
        fs::write(&file, to_tsv(&current)).expect("the file can be written");
        return;
    }
    let recorded = from_tsv(&fs::read_to_string(&file).expect("the file is readable"));
    let differences = differences(&recorded, &current);
    assert!(
        differences.is_empty(),
        "{}\nIf this is intended, update the file as described at the top of this test.",
        differences.join("\n")
    );
}

#[test]
fn growth_is_reported() {
    let list = |numbers: [usize; 2]| {
        from_tsv(&format!("{HEADER}\nward\tpoint\t{}\t{}\n", numbers[0], numbers[1]))
    };
    let recorded = list([100, 50]);
    assert_eq!(recorded, from_tsv(&to_tsv(&recorded)));
    assert_eq!(differences(&recorded, &list([102, 40])), [""; 0]);
    assert_eq!(
        differences(&recorded, &list([103, 50])),
        ["ward: point takes 103 instructions instead of 100 (+3.0 %, SSE)"]
    );
    assert_eq!(
        differences(&recorded, &list([90, 52])),
        ["ward: point takes 52 instructions instead of 50 (+4.0 %, AVX2)"]
    );
    assert_eq!(differences(&recorded, &Counts::new()), ["ward: point is missing"]);
    assert_eq!(differences(&Counts::new(), &recorded), ["ward: point is new"]);
}
