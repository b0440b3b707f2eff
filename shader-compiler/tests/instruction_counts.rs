//! Compares the instruction counts of point and bounding shaders of the library with those recorded
//! in `instruction_counts.tsv`, and reports growth of more than 2 %. If the growth is intended, and
//! occasionally after counts have fallen, update the record:
//!
//!     LIGHTBOUND_UPDATE=1 cargo test -p lightbound-shader --test instruction_counts

use lightbound_shader::backend::x86::{Code, Isa};
use lightbound_shader::bounding::{Frame, Integrand, Ranges, Spans};
use lightbound_shader::interval::Nan;
use lightbound_shader::ir::Function;
use lightbound_shader::lift::{Options, Sides, Tracking};
use lightbound_shader::relations::Relations;
use lightbound_shader::{Settings, Shader, passes};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Accepted relative growth.
const MAX_GROWTH: f64 = 1.02;

const HEADER: &str = "shader\tcode\tsse\tavx2";

/// Instruction counts on each target, by `shader`, tab, kind of code.
type Counts = BTreeMap<String, [usize; 2]>;

fn count(function: &Function) -> [usize; 2] {
    let lowered = passes::lower(function);
    [Isa::Sse41, Isa::Avx2].map(|isa| Code::compile(&lowered, isa).counts().total)
}

/// All counts of a shader, compiled as a renderer does: in the local frame, with declared ranges.
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
    for (spans, of) in [(Spans::Light, "light"), (Spans::All, "all")] {
        let inputs = integrand.inputs(spans, Ranges::Declared);
        for (mode, tracking, relations) in modes {
            for (sides, which) in [(Sides::Upper, "upper"), (Sides::Both, "both")] {
                for (nan, about) in [(Nan::Propagate, "propagate"), (Nan::Ignore, "ignore")] {
                    let options = Options { sides, nan, tracking, relations, ..Options::default() };
                    let function = integrand.bound(&inputs, &options).function;
                    counts.insert(format!("{name}\t{mode} {of} {which} {about}"), count(&function));
                }
            }
        }
    }
    counts
}

fn parse(text: &str) -> Counts {
    let line = |line: &str| {
        let (what, numbers) = line.match_indices('\t').nth(1).map(|(at, _)| line.split_at(at))?;
        let mut numbers = numbers[1..].split('\t').map(|number| number.parse().ok());
        Some((what.to_owned(), [numbers.next()??, numbers.next()??]))
    };
    text.lines()
        .skip(1)
        .map(|text| line(text).unwrap_or_else(|| panic!("`{text}` is not a line of counts")))
        .collect()
}

fn print(counts: &Counts) -> String {
    let lines = counts.iter().map(|(what, [sse, avx2])| format!("{what}\t{sse}\t{avx2}\n"));
    format!("{HEADER}\n{}", lines.collect::<String>())
}

/// Describes the counts that have grown, and those that are in only one of the two lists.
fn differences(kept: &Counts, found: &Counts) -> Vec<String> {
    let all: std::collections::BTreeSet<_> = kept.keys().chain(found.keys()).collect();
    let difference = |what: &String| {
        let name = what.replace('\t', ": ");
        let (Some(kept), Some(found)) = (kept.get(what), found.get(what)) else {
            return Some(format!(
                "{name} is {}",
                if kept.contains_key(what) { "gone" } else { "new" }
            ));
        };
        let grown = |k: usize| found[k] as f64 > MAX_GROWTH * kept[k] as f64;
        let which = [(0, "SSE"), (1, "AVX2")].into_iter().find(|&(k, _)| grown(k))?;
        let (k, target) = which;
        let percent = 100.0 * (found[k] as f64 / kept[k] as f64 - 1.0);
        Some(format!(
            "{name} takes {} instructions instead of {} ({percent:+.1} %, {target})",
            found[k], kept[k]
        ))
    };
    all.into_iter().filter_map(difference).collect()
}

#[test]
fn instruction_counts_of_the_library_do_not_grow() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = manifest.join("tests/instruction_counts.tsv");
    let mut found = Counts::new();
    for entry in fs::read_dir(manifest.join("../assets/shaders")).expect("the library is there") {
        let path = entry.expect("the entry is readable").path();
        let name = path.file_stem().expect("files have names").to_string_lossy().into_owned();
        found.extend(counts(&name, &fs::read_to_string(&path).expect("shaders are text")));
    }
    if std::env::var_os("LIGHTBOUND_UPDATE").is_some() {
        fs::write(&file, print(&found)).expect("the list can be written");
        return;
    }
    let differences =
        differences(&parse(&fs::read_to_string(&file).expect("the list is there")), &found);
    assert!(
        differences.is_empty(),
        "{}\nIf this is intended, see the top of this file.",
        differences.join("\n")
    );
}

#[test]
fn growth_is_reported() {
    let list = |numbers: [usize; 2]| {
        parse(&format!("{HEADER}\nward\tpoint\t{}\t{}\n", numbers[0], numbers[1]))
    };
    let kept = list([100, 50]);
    assert_eq!(kept, parse(&print(&kept)));
    assert_eq!(differences(&kept, &list([102, 40])), [""; 0]);
    assert_eq!(
        differences(&kept, &list([103, 50])),
        ["ward: point takes 103 instructions instead of 100 (+3.0 %, SSE)"]
    );
    assert_eq!(
        differences(&kept, &list([90, 52])),
        ["ward: point takes 52 instructions instead of 50 (+4.0 %, AVX2)"]
    );
    assert_eq!(differences(&kept, &Counts::new()), ["ward: point is gone"]);
    assert_eq!(differences(&Counts::new(), &kept), ["ward: point is new"]);
}
