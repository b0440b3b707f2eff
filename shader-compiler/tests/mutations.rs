//! Fuzzing of the frontend: for mutated valid and invalid shaders, it neither panics nor hangs, and
//! its errors can be rendered.
//!
//! The case number is the random seed, so cases are the same on every machine.
//! `LIGHTBOUND_CASES=FROM..TO` selects a range of cases.

mod messages;

use lightbound_shader::random::Random;
use lightbound_shader::{Entry, Settings, Shader, ShaderError};
use messages::{jargon, render};
use std::path::Path;
use std::time::{Duration, Instant};

/// Tokens that mutations insert.
const WORDS: &str = "let var const fn struct override alias return if else for while loop switch case default break continue continuing \
    discard true false f32 i32 u32 bool vec2f vec3f vec4f vec3<f32> mat3x3f array<f32,4> ptr<function,f32> Material SurfacePoint material \
    sample pdf brdf wi wo m kd x y z w xyz rgb 0 1 2 -1 0.5 1e38 1e99 3u 7i 1.0h 0x7fffffff 4294967296 99999999999999999999 ( ) [ ] { } < > \
    , ; : . = == != <= >= + - * / % & && | || ! ~ ^ << >> += ++ -> @ & * /* */ // /// //! sin pow clamp select max dot cross normalize \
    smoothstep atan2 bitcast<f32> f32() frexp modf pack4x8snorm textureSample dpdx workgroupBarrier var<private> var<workgroup> ptr \
    @compute enable range: default: [0,1] sides: both é ∞ \u{2028} \u{0} # ? $ \" ' \\";

/// Splits a text into tokens: words, numbers, runs of spaces, and single characters.
fn tokens(text: &str) -> Vec<String> {
    let class = |c: char| {
        if c.is_alphanumeric() || c == '_' {
            0
        } else if c == ' ' {
            1
        } else {
            2
        }
    };
    let mut tokens: Vec<String> = vec![];
    let mut last = 2;
    for c in text.chars() {
        match tokens.last_mut() {
            Some(token) if last == class(c) && last < 2 => token.push(c),
            _ => tokens.push(c.to_string()),
        }
        last = class(c);
    }
    tokens
}

/// Applies a random mutation to the lines or tokens of a text.
fn mutate(random: &mut Random, text: &str) -> String {
    let words: Vec<_> = WORDS.split_whitespace().collect();
    if random.below(4) == 0 {
        let mut lines: Vec<_> = text.lines().collect();
        let [a, b] = [(); 2].map(|()| random.below(lines.len().max(1)));
        match random.below(3) {
            _ if lines.is_empty() => {}
            0 => drop(lines.remove(a)),
            1 => lines.insert(b, lines[a]),
            _ => lines.swap(a, b),
        }
        return lines.join("\n");
    }
    let mut tokens = tokens(text);
    let [a, b] = [(); 2].map(|()| random.below(tokens.len().max(1)));
    let word = words[random.below(words.len())].to_owned();
    match random.below(9) {
        _ if tokens.is_empty() => tokens.push(word),
        0 => drop(tokens.remove(a)),
        1 => tokens.insert(b, tokens[a].clone()),
        2 => tokens.swap(a, b),
        3 | 4 => tokens[a] = word,
        5 => tokens.insert(a, word),
        6 => tokens[a] = tokens[b].clone(),
        7 => tokens.truncate(a),
        _ => {
            let count = 1 << random.below(11);
            tokens[a] = if random.below(2) == 0 { word } else { tokens[b].clone() }.repeat(count);
        }
    }
    tokens.concat()
}

/// The shaders in some folders.
fn corpus(folders: &[&str]) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = vec![];
    for folder in folders {
        let files =
            root.join(folder).read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
        paths.extend(
            files.filter(|path| path.extension().is_some_and(|extension| extension == "wgsl")),
        );
    }
    paths.sort();
    paths
        .into_iter()
        .map(|path| std::fs::read_to_string(path).expect("shaders are readable"))
        .collect()
}

/// Checks that an error can be rendered and does not expose internals.
fn check(text: &str, error: &ShaderError, case: u64) {
    assert_eq!(jargon(error, text), None, "case {case}:\n{text}");
    for label in &error.labels {
        assert!(
            text.get(label.offset()..label.offset() + label.len()).is_some(),
            "case {case}:\n{text}"
        );
    }
    assert!(!error.message.contains('\n'), "case {case}: {}", error.message);
    assert!(!render(error).is_empty());
}

/// A shader with one to three mutations.
fn mutated(valid: &[String], invalid: &[String], case: u64) -> String {
    let mut random = Random::new(case);
    let corpus = if random.below(8) == 0 { invalid } else { valid };
    let mut text = corpus[random.below(corpus.len())].clone();
    for _ in 0..=random.below(3) {
        text = mutate(&mut random, &text);
    }
    text
}

/// Translates a shader, and checks errors and the time. Returns whether at least one entry point
/// can be translated.
fn run(text: &str, case: u64) -> bool {
    let start = Instant::now();
    let shader = Shader::parse("mutated.wgsl", text);
    if let Err(error) = &shader {
        check(text, error, case);
    }
    let mut translated = false;
    if let Ok(shader) = shader {
        let settings = Settings { loop_cap: 100, ..Settings::default() };
        for entry in [Entry::Integrand, Entry::Brdf, Entry::Sample, Entry::Pdf] {
            match shader.function(entry, &settings) {
                Ok(_) => translated = true,
                Err(error) => check(text, &error, case),
            }
        }
    }
    assert!(
        start.elapsed() < Duration::from_secs(20),
        "case {case} takes {:?}:\n{text}",
        start.elapsed()
    );
    translated
}

#[test]
fn mutated_shaders_are_translated_or_rejected() {
    let valid = corpus(&["tests/valid", "tests/shaders", "../assets/shaders"]);
    let invalid = corpus(&["tests/errors"]);
    let cases = std::env::var("LIGHTBOUND_CASES").unwrap_or_else(|_| "0..3000".to_owned());
    let (from, to) = cases.split_once("..").expect("LIGHTBOUND_CASES is FROM..TO");
    let [from, to]: [u64; 2] =
        [from, to].map(|case| case.parse().expect("LIGHTBOUND_CASES has two numbers"));
    let mut translated = 0;
    for case in from..to {
        let text = mutated(&valid, &invalid, case);
        let result = std::panic::catch_unwind(|| run(&text, case));
        translated += u64::from(result.unwrap_or_else(|_| panic!("case {case}:\n{text}")));
    }
    println!("{translated} of {} shaders are translated", to - from);
    assert!(translated > 0 || to - from < 100, "no mutated shader is translated");
}

#[test]
fn unmutated_shaders_are_translated() {
    for text in corpus(&["tests/valid", "tests/shaders", "../assets/shaders"]) {
        let shader =
            Shader::parse("valid.wgsl", &text).unwrap_or_else(|error| panic!("{}", render(&error)));
        let function = shader
            .function(Entry::Brdf, &Settings::default())
            .unwrap_or_else(|error| panic!("{}", render(&error)));
        assert!(function.outputs.len() >= 6);
    }
}
