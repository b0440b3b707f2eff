//! Instruction counts of the library's shaders, point shaders and bounding shaders, held against
//! those that are kept in `instruction_counts.tsv`: what takes more than 2 % more is named. Where
//! that is meant, and now and then when counts have fallen:
//!
//!     LIGHTBOUND_UPDATE=1 cargo test -p lightbound-shader --test instruction_counts

use lightbound_shader::backend::x86::Code;
use lightbound_shader::bounding::{Frame, Integrand, Ranges, Spans};
use lightbound_shader::interval::Nan;
use lightbound_shader::ir::Function;
use lightbound_shader::lift::{Options, Sides, Tracking};
use lightbound_shader::relations::Relations;
use lightbound_shader::{Settings, Shader, Target, passes};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Growth that is let pass.
const MOST: f64 = 1.02;

const HEADER: &str = "shader\tcode\tsse\tavx2";

/// What code is of, `shader`, tab, which code; and its instructions on each target.
type Counts = BTreeMap<String, [usize; 2]>;

fn count(function: &Function) -> [usize; 2] {
    let lowered = passes::lower(function);
    [Target::Sse, Target::Avx2].map(|target| Code::compile(&lowered, target).counts().total)
}

/// All counts of a shader: as a renderer runs it, in its own frame and with declared ranges.
fn counts(name: &str, source: &str) -> Counts {
    let shader = Shader::parse(name, source).expect("shaders of the library are right");
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
        .map(|text| line(text).unwrap_or_else(|| panic!("`{text}` is no line of counts")))
        .collect()
}

fn print(counts: &Counts) -> String {
    let lines = counts.iter().map(|(what, [sse, avx2])| format!("{what}\t{sse}\t{avx2}\n"));
    format!("{HEADER}\n{}", lines.collect::<String>())
}

/// What has grown, and what is in but one of the two lists.
fn complaints(kept: &Counts, found: &Counts) -> Vec<String> {
    let all: std::collections::BTreeSet<_> = kept.keys().chain(found.keys()).collect();
    let complaint = |what: &String| {
        let name = what.replace('\t', ": ");
        let (Some(kept), Some(found)) = (kept.get(what), found.get(what)) else {
            return Some(format!(
                "{name} is {}",
                if kept.contains_key(what) { "gone" } else { "new" }
            ));
        };
        let grown = |k: usize| found[k] as f64 > MOST * kept[k] as f64;
        let which = [(0, "SSE"), (1, "AVX2")].into_iter().find(|&(k, _)| grown(k))?;
        let (k, target) = which;
        let percent = 100.0 * (found[k] as f64 / kept[k] as f64 - 1.0);
        Some(format!(
            "{name} takes {} instructions in place of {} ({percent:+.1} %, {target})",
            found[k], kept[k]
        ))
    };
    all.into_iter().filter_map(complaint).collect()
}

#[test]
fn shaders_of_the_library_take_no_more_instructions_than_they_did() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = manifest.join("tests/instruction_counts.tsv");
    let mut found = Counts::new();
    for entry in fs::read_dir(manifest.join("../assets/shaders")).expect("the library is there") {
        let path = entry.expect("it is listed").path();
        let name = path.file_stem().expect("files have names").to_string_lossy().into_owned();
        found.extend(counts(&name, &fs::read_to_string(&path).expect("shaders are text")));
    }
    if std::env::var_os("LIGHTBOUND_UPDATE").is_some() {
        fs::write(&file, print(&found)).expect("the list can be written");
        return;
    }
    let complaints =
        complaints(&parse(&fs::read_to_string(&file).expect("the list is there")), &found);
    assert!(
        complaints.is_empty(),
        "{}\nIf that is meant, see the head of this file.",
        complaints.join("\n")
    );
}

#[test]
fn what_grows_is_named() {
    let list = |numbers: [usize; 2]| {
        parse(&format!("{HEADER}\nward\tpoint\t{}\t{}\n", numbers[0], numbers[1]))
    };
    let kept = list([100, 50]);
    assert_eq!(kept, parse(&print(&kept)));
    assert_eq!(complaints(&kept, &list([102, 40])), [""; 0]);
    assert_eq!(
        complaints(&kept, &list([103, 50])),
        ["ward: point takes 103 instructions in place of 100 (+3.0 %, SSE)"]
    );
    assert_eq!(
        complaints(&kept, &list([90, 52])),
        ["ward: point takes 52 instructions in place of 50 (+4.0 %, AVX2)"]
    );
    assert_eq!(complaints(&kept, &Counts::new()), ["ward: point is gone"]);
    assert_eq!(complaints(&Counts::new(), &kept), ["ward: point is new"]);
}
