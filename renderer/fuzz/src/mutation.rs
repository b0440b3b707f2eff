//! Random mutations of valid inputs.

use lightbound_shader::random::Random;
use std::ops::Range;

/// The syntax of an input, which selects the mutations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// Text: also numbers, words and lines change.
    Text,
    /// Binary data: also integers change.
    Binary,
    /// Binary data that is mostly zero: mutations are near other bytes.
    Sparse,
}

/// Maximum length of a mutated input, bytes.
const MAX_LENGTH: usize = 1 << 18;

/// The same if most bytes are zero.
const MAX_SPARSE_LENGTH: usize = 1 << 20;

/// Maximum distance of a mutation from bytes that are not zero.
const SPARSE_DISTANCE: usize = 8;

/// Maximum length of an inserted, repeated or removed range, bytes.
const MAX_RANGE: usize = 256;

/// Numbers that readers may not expect, in place of numbers in text.
const NUMBERS: [&str; 22] = [
    "0",
    "-0",
    "1",
    "-1",
    "0.5",
    "2",
    "16",
    "1e-45",
    "1e-20",
    "1e20",
    "3.4e38",
    "-3.4e38",
    "1e39",
    "1e400",
    "inf",
    "-inf",
    "nan",
    "255",
    "65536",
    "2147483647",
    "4294967296",
    "99999999999999999999",
];

/// Integers that readers may not expect, in place of integers in binary data.
const INTEGERS: [u64; 12] = [
    0,
    1,
    2,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
];

/// Returns one of the seeds with one to eight mutations.
pub fn mutate(random: &mut Random, seeds: &[Vec<u8>], syntax: Syntax) -> Vec<u8> {
    let seed = random.pick(seeds);
    let mut data = seed.clone();
    // Most cases have few mutations, so that they get past the first check of a reader.
    let mut left = 8;
    loop {
        match syntax {
            Syntax::Text if !random.once_in(4) => mutate_text(random, &mut data, seeds),
            _ => mutate_bytes(random, &mut data, seeds, syntax),
        }
        data.truncate(if syntax == Syntax::Sparse { MAX_SPARSE_LENGTH } else { MAX_LENGTH });
        left -= 1;
        if left == 0 || data != *seed && random.once_in(2) {
            return data;
        }
    }
}

/// Returns a random range of at most [`MAX_RANGE`] bytes.
fn range(random: &mut Random, length: usize) -> Range<usize> {
    let start = random.below(length + 1);
    start..start + random.below((length - start).min(MAX_RANGE) + 1)
}

/// Returns a random position near a byte that is not zero.
fn sparse_position(random: &mut Random, data: &[u8]) -> usize {
    let positions: Vec<_> = (0..data.len()).filter(|&i| data[i] != 0).collect();
    if positions.is_empty() {
        return 0;
    }
    (random.pick(&positions) + random.below(SPARSE_DISTANCE)).min(data.len())
}

/// Changes bytes, whatever they mean.
fn mutate_bytes(random: &mut Random, data: &mut Vec<u8>, seeds: &[Vec<u8>], syntax: Syntax) {
    let at = match syntax {
        Syntax::Sparse => sparse_position(random, data),
        _ => random.below(data.len() + 1),
    };
    // Sparse data has offsets, which are wrong behind insertions: most mutations keep the length.
    let mutation = match syntax {
        Syntax::Sparse if !random.once_in(4) => *random.pick(&[4, 6, 7]),
        _ => random.below(8),
    };
    match mutation {
        0 => data.truncate(at),
        1 => drop(data.drain(range(random, data.len()))),
        2 => {
            let copy = data[range(random, data.len())].to_vec();
            data.splice(at..at, copy);
        }
        3 => {
            let other = random.pick(seeds);
            let copy = other[range(random, other.len())].to_vec();
            data.splice(at..at, copy);
        }
        4 if syntax != Syntax::Text => {
            let size = *random.pick(&[1, 2, 4, 8]);
            let integer = *random.pick(&INTEGERS);
            let bytes = if random.once_in(2) {
                integer.to_le_bytes()
            } else {
                integer.swap_bytes().to_be_bytes()
            };
            let end = (at + size).min(data.len());
            data[at..end].copy_from_slice(&bytes[..end - at]);
        }
        5 => data.insert(at, random.bits() as u8),
        6 if at < data.len() => data[at] = random.bits() as u8,
        _ if at < data.len() => data[at] ^= 1 << random.below(8),
        _ => {}
    }
}

/// Changes a word, a number or a line.
fn mutate_text(random: &mut Random, data: &mut Vec<u8>, seeds: &[Vec<u8>]) {
    let words = words(data);
    if words.is_empty() {
        return;
    }
    let word = random.pick(&words).clone();
    let numbers: Vec<_> = words.iter().filter(|word| is_number(&data[(*word).clone()])).collect();
    match random.below(8) {
        0 => drop(data.drain(word)),
        1 => {
            let copy = data[random.pick(&words).clone()].to_vec();
            data.splice(word, copy);
        }
        2 => {
            let other = random.pick(seeds);
            let other_words = self::words(other);
            if !other_words.is_empty() {
                let copy = other[random.pick(&other_words).clone()].to_vec();
                data.splice(word, copy);
            }
        }
        3 | 4 => {
            let lines = lines(data);
            let line = random.pick(&lines).clone();
            let copy = match random.below(3) {
                0 => Vec::new(),
                1 => data[random.pick(&lines).clone()].to_vec(),
                _ => {
                    let other = random.pick(seeds);
                    other[random.pick(&self::lines(other)).clone()].to_vec()
                }
            };
            let at = if random.once_in(2) { line.start..line.start } else { line };
            data.splice(at, copy);
        }
        _ if !numbers.is_empty() => {
            let number = (*random.pick(&numbers)).clone();
            data.splice(number, random.pick(&NUMBERS).bytes());
        }
        _ => {}
    }
}

/// Returns the words: letters, digits and what numbers contain.
fn words(data: &[u8]) -> Vec<Range<usize>> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_.+-".contains(&byte);
    ranges(data, |a, b| is_part(a) == is_part(b)).filter(|r| is_part(data[r.start])).collect()
}

/// Returns the lines with their line breaks; an empty one for an empty text.
fn lines(data: &[u8]) -> Vec<Range<usize>> {
    let lines: Vec<_> = ranges(data, |a, _| a != b'\n').collect();
    if lines.is_empty() { Vec::from_iter([Range::default()]) } else { lines }
}

/// Splits the data between neighbours that do not `belong` together.
fn ranges(data: &[u8], belong: impl Fn(u8, u8) -> bool) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    data.chunk_by(move |&a, &b| belong(a, b)).map(move |chunk| {
        start += chunk.len();
        start - chunk.len()..start
    })
}

fn is_number(word: &[u8]) -> bool {
    str::from_utf8(word).is_ok_and(|word| word.parse::<f64>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_lines_are_found() {
        let text = b"Film \"rgb\"\n  [ -1e5 .5 ]";
        let texts = |ranges: Vec<Range<usize>>| -> Vec<String> {
            ranges.into_iter().map(|r| String::from_utf8_lossy(&text[r]).into_owned()).collect()
        };
        assert_eq!(texts(words(text)), ["Film", "rgb", "-1e5", ".5"]);
        assert_eq!(texts(lines(text)), ["Film \"rgb\"\n", "  [ -1e5 .5 ]"]);
        assert_eq!(lines(b""), [Range::default()]);
    }

    #[test]
    fn mutations_depend_on_the_seed_alone() {
        let seeds = [b"scale 1 2 3\n".to_vec(), vec![0; 40]];
        for syntax in [Syntax::Text, Syntax::Binary, Syntax::Sparse] {
            let mut different = 0;
            for seed in 0..1000 {
                let case = mutate(&mut Random::new(seed), &seeds, syntax);
                assert_eq!(case, mutate(&mut Random::new(seed), &seeds, syntax));
                different += u32::from(!seeds.contains(&case));
            }
            assert!(different > 800, "{syntax:?}: only {different} of 1000 cases are new");
        }
    }
}
