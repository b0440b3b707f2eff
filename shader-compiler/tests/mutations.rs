//! Fuzzing: on mutated valid and invalid shaders, the frontend neither panics nor hangs, and its
//! errors can be rendered.
//!
//! Case k is the same on every machine; `LIGHTBOUND_CASES=FROM..TO` selects other cases than the
//! default.

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

/// Tokens of a text: words, numbers, runs of spaces, single characters.
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
            Some(piece) if last == class(c) && last < 2 => piece.push(c),
            _ => tokens.push(c.to_string()),
        }
        last = class(c);
    }
    tokens
}

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
            let times = 1 << random.below(11);
            tokens[a] = if random.below(2) == 0 { word } else { tokens[b].clone() }.repeat(times);
        }
    }
    tokens.concat()
}

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
    paths.into_iter().map(|path| std::fs::read_to_string(path).expect("shaders are text")).collect()
}

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

fn mutated(valid: &[String], wrong: &[String], case: u64) -> String {
    let mut random = Random::new(case);
    let corpus = if random.below(8) == 0 { wrong } else { valid };
    let mut text = corpus[random.below(corpus.len())].clone();
    for _ in 0..=random.below(3) {
        text = mutate(&mut random, &text);
    }
    text
}

/// Whether at least one entry of the shader can be translated.
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
    let wrong = corpus(&["tests/errors"]);
    let cases = std::env::var("LIGHTBOUND_CASES").unwrap_or_else(|_| "0..3000".to_owned());
    let (from, to) = cases.split_once("..").expect("FROM..TO");
    let (from, to): (u64, u64) = (from.parse().expect("a number"), to.parse().expect("a number"));
    let mut translated = 0;
    for case in from..to {
        // A panic reports the case.
        let text = mutated(&valid, &wrong, case);
        let result = std::panic::catch_unwind(|| run(&text, case));
        translated += u64::from(result.unwrap_or_else(|_| panic!("case {case}:\n{text}")));
    }
    println!("{translated} of {} are translated", to - from);
    assert!(translated > 0 || to - from < 100, "mutations leave some shaders valid");
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
