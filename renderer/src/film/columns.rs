//! Exact sums as columns of 32-bit words, one word per pixel in each: what files can hold, and what
//! films are put together from.
//!
//! Words are the sums' own, the lowest first, in two's complement. Columns are named after what
//! they sum, as channels of one layer:
//!
//! | columns | sums |
//! |---|---|
//! | `sums.samples` | samples |
//! | `sums.R0` … `sums.R3`, and so for `G` and `B` | radiance, 56 fraction bits |
//! | `sums.squaresR0` … | squares of radiance, 56 fraction bits, all ones where too large |
//! | `sums.featureSamples`, `sums.hits` | samples that count for features, and those that hit something |
//! | `sums.albedoR0`, `sums.albedoR1` …, and so for `normal`, `position` and `depth` | features, 24 fraction bits |
//! | `sums.material`, `sums.object` | identities seen by sample 0 |
//! | `sums.cutSize0`, `sums.cutSize1`, and so for `boundEvaluations` and `cutShadowRays` | what cuts took, whole numbers |
//! | `sums.errorBound0` … `sums.errorBound3` | bounds of errors, 56 fraction bits, all ones where infinite |

use super::sums::{CutSum, FeatureSum, Radiance, Sums};
use super::{Film, FilmOptions, Window};

/// A named word of every pixel, row by row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The name.
    pub name: String,
    /// The words.
    pub words: Vec<u32>,
}

/// Names of the columns of a film with such options, in the order in which [`Film::add_columns`]
/// expects them.
pub fn column_names(options: FilmOptions) -> Vec<String> {
    fn sum(names: &mut Vec<String>, what: &str, words: usize) {
        names.extend((0..words).map(|word| format!("sums.{what}{word}")));
    }
    let mut names = vec!["sums.samples".to_string()];
    ["R", "G", "B"].iter().for_each(|c| sum(&mut names, c, 4));
    if options.moments {
        ["R", "G", "B"].iter().for_each(|c| sum(&mut names, &format!("squares{c}"), 4));
    }
    if options.features {
        names.extend(["featureSamples", "hits"].map(|what| format!("sums.{what}")));
        for what in ["albedoR", "albedoG", "albedoB"] {
            sum(&mut names, what, 2);
        }
        for (what, axis) in
            ["normal", "position"].iter().flat_map(|what| ["X", "Y", "Z"].map(|axis| (what, axis)))
        {
            sum(&mut names, &format!("{what}{axis}"), 2);
        }
        sum(&mut names, "depthZ", 2);
        names.extend(["material", "object"].map(|what| format!("sums.{what}")));
    }
    if options.cuts {
        ["cutSize", "boundEvaluations", "cutShadowRays"]
            .iter()
            .for_each(|what| sum(&mut names, what, 2));
        sum(&mut names, "errorBound", 4);
    }
    names
}

/// Hands on words, the lowest of a number first.
struct Writer<F>(F);

impl<F: FnMut(u32)> Writer<F> {
    fn word(&mut self, x: u32) {
        self.0(x);
    }

    fn wide(&mut self, x: u128) {
        (0..4).for_each(|i| self.word((x >> (32 * i)) as u32));
    }

    fn long(&mut self, x: u64) {
        (0..2).for_each(|i| self.word((x >> (32 * i)) as u32));
    }

    fn pixel(&mut self, sums: &Sums, i: usize) {
        let radiance = &sums.radiance[i];
        self.word(radiance.samples);
        radiance.sum.iter().for_each(|&x| self.wide(x as u128));
        if let Some(squares) = sums.squares.get(i) {
            squares.iter().for_each(|&x| self.wide(x));
        }
        if let Some(f) = sums.features.get(i) {
            self.word(f.samples);
            self.word(f.hits);
            f.vectors().into_iter().flatten().for_each(|x| self.long(x as u64));
            self.long(f.depth as u64);
            self.word(f.material);
            self.word(f.object);
        }
        if let Some(CutSum { cut_size, bound_evaluations, shadow_rays, error_bound }) =
            sums.cuts.get(i)
        {
            [cut_size, bound_evaluations, shadow_rays].into_iter().for_each(|&x| self.long(x));
            self.wide(*error_bound);
        }
    }
}

/// Takes words, the lowest of a number first.
struct Reader<F>(F);

impl<F: FnMut() -> u32> Reader<F> {
    fn word(&mut self) -> u32 {
        self.0()
    }

    fn wide(&mut self) -> u128 {
        (0..4).fold(0, |x, i| x | u128::from(self.word()) << (32 * i))
    }

    fn long(&mut self) -> u64 {
        (0..2).fold(0, |x, i| x | u64::from(self.word()) << (32 * i))
    }

    /// Adds a pixel's words. What no film can have come to, but a damaged file can, wraps around.
    fn add_to(&mut self, sums: &mut Sums, i: usize) {
        let Radiance { sum, samples } = &mut sums.radiance[i];
        *samples = samples.saturating_add(self.word());
        sum.iter_mut().for_each(|sum| *sum = sum.wrapping_add(self.wide() as i128));
        if let Some(squares) = sums.squares.get_mut(i) {
            squares.iter_mut().for_each(|sum| *sum = sum.saturating_add(self.wide()));
        }
        if let Some(f) = sums.features.get_mut(i) {
            let FeatureSum { albedo, normal, position, depth, samples, hits, material, object } = f;
            *samples = samples.saturating_add(self.word());
            *hits = hits.saturating_add(self.word());
            for sum in [albedo, normal, position].into_iter().flatten() {
                *sum = sum.wrapping_add(self.long() as i64);
            }
            *depth = depth.wrapping_add(self.long() as i64);
            // One part has sample 0, the others have no identity.
            *material |= self.word();
            *object |= self.word();
        }
        if let Some(CutSum { cut_size, bound_evaluations, shadow_rays, error_bound }) =
            sums.cuts.get_mut(i)
        {
            for sum in [cut_size, bound_evaluations, shadow_rays] {
                *sum = sum.saturating_add(self.long());
            }
            *error_bound = error_bound.saturating_add(self.wide());
        }
    }
}

impl Film {
    /// All sums.
    pub fn columns(&self) -> Vec<Column> {
        let n = self.window.width() as usize * self.window.height() as usize;
        let names = column_names(self.options).into_iter();
        let mut columns: Vec<Column> =
            names.map(|name| Column { name, words: vec![0; n] }).collect();
        for tile in &self.tiles {
            let sums = tile.lock();
            for (i, (x, y)) in sums.window.pixels().enumerate() {
                let at = self.window.index(x, y);
                let mut columns = columns.iter_mut();
                Writer(|word| {
                    columns.next().expect("there is a name for each word").words[at] = word
                })
                .pixel(&sums, i);
            }
        }
        columns
    }

    /// Adds the sums of the pixels of `window`, which lies within the film's: words as
    /// [`column_names`] of the film's options has them, and how many samples were not finite or
    /// beyond the range.
    ///
    /// # Panics
    /// If there are not as many columns, or not as many words.
    pub fn add_columns(&mut self, window: Window, columns: &[&[u32]], invalid: u64) {
        assert_eq!(columns.len(), column_names(self.options).len());
        for tile in &self.tiles {
            let mut sums = tile.lock();
            let Some(common) = sums.window.intersection(window) else { continue };
            for (x, y) in common.pixels() {
                let (i, at) = (sums.window.index(x, y), window.index(x, y));
                let mut columns = columns.iter();
                Reader(|| columns.next().expect("as many as there are names")[at])
                    .add_to(&mut sums, i);
            }
        }
        self.invalid = self.invalid.saturating_add(invalid);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CutSample, Features};
    use super::*;
    use crate::film::Picture;
    use crate::math::Vec3;
    use proptest::prelude::*;

    const WHOLE: Window = Window { x0: 3, y0: 2, x1: 43, y1: 8 };
    const SAMPLES: u32 = 4;

    /// A value that is different for each sample: of any size, some invalid.
    fn value(x: u32, y: u32, sample: u32, axis: u32) -> f32 {
        let bits = [x, y, sample, axis]
            .iter()
            .fold(17u32, |h, &k| (h ^ k).wrapping_mul(0x9e37_79b1).rotate_left(13));
        match bits % 64 {
            0 => f32::NAN,
            1 => 1e20,
            _ => (bits as i32 as f32) * 10f32.powi((bits % 17) as i32 - 12),
        }
    }

    /// A film with the samples of a block.
    fn filled(window: Window, samples: std::ops::Range<u32>, options: FilmOptions) -> Film {
        let film = Film::new(window, options);
        for tile in film.tiles() {
            let mut sums = tile.lock();
            for ((x, y), s) in
                tile.window().pixels().flat_map(|p| samples.clone().map(move |s| (p, s)))
            {
                let v = Vec3::from([0, 1, 2].map(|axis| value(x, y, s, axis)));
                sums.add_radiance(x, y, s, v);
                if options.features && (x + y + s) % 3 > 0 {
                    let (material, object) = (x + 1, y + 1);
                    let seen = Features {
                        albedo: v,
                        normal: v,
                        position: v,
                        depth: v.x,
                        material,
                        object,
                    };
                    sums.add_features(x, y, s, 0.7, &seen);
                }
                if options.cuts && (x + s) % 4 > 0 {
                    let [cut_size, bound_evaluations, shadow_rays] = v.to_array().map(f32::to_bits);
                    let cut = CutSample {
                        cut_size,
                        bound_evaluations,
                        shadow_rays,
                        error_bound: v.y.abs(),
                    };
                    sums.add_cut(x, y, &cut);
                }
            }
        }
        film
    }

    fn assert_same(a: &Film, b: &Film) {
        let bits =
            |v: &[[f32; 3]]| v.as_flattened().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert!(a.columns() == b.columns(), "the sums differ");
        let (a, b) = (a.picture(), b.picture());
        assert_eq!(bits(&a.radiance), bits(&b.radiance));
        assert_eq!(a.variance.as_deref().map(bits), b.variance.as_deref().map(bits));
        let cuts = |p: &Picture| {
            let images = p
                .cuts
                .as_ref()
                .map(|c| [&c.cut_size, &c.bound_evaluations, &c.shadow_rays, &c.error_bound]);
            images.map(|images| images.map(|v| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>()))
        };
        assert_eq!(cuts(&a), cuts(&b));
        assert_eq!(
            (a.invalid_samples, a.min_samples, a.max_samples),
            (b.invalid_samples, b.min_samples, b.max_samples)
        );
    }

    /// Cuts for a random split: along each axis, then for each block once more.
    fn add_parts(film: &mut Film, window: Window, samples: std::ops::Range<u32>, cuts: &[u32]) {
        let Some((&cut, rest)) = cuts.split_first() else {
            let part = filled(window, samples, film.options());
            let columns = part.columns();
            let words: Vec<&[u32]> = columns.iter().map(|c| c.words.as_slice()).collect();
            return film.add_columns(window, &words, part.picture().invalid_samples);
        };
        let (a, b) = rest.split_at(rest.len() / 2);
        let between = |lo: u32, hi: u32| (hi - lo > 1).then(|| lo + 1 + cut / 3 % (hi - lo - 1));
        let (mut first, mut second) = ((window, samples.clone()), (window, samples.clone()));
        let found = match cut % 3 {
            0 => between(window.x0, window.x1).map(|x| (first.0.x1, second.0.x0) = (x, x)),
            1 => between(window.y0, window.y1).map(|y| (first.0.y1, second.0.y0) = (y, y)),
            _ => {
                between(samples.start, samples.end).map(|s| (first.1.end, second.1.start) = (s, s))
            }
        };
        if found.is_none() {
            return add_parts(film, window, samples, rest);
        }
        add_parts(film, second.0, second.1, b);
        add_parts(film, first.0, first.1, a);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn any_split_adds_up_to_the_whole(cuts in prop::collection::vec(any::<u32>(), 0..12), kind in 0..8) {
            let options = FilmOptions { features: kind & 1 > 0, moments: kind & 2 > 0, cuts: kind & 4 > 0 };
            let mut sum = Film::new(WHOLE, options);
            add_parts(&mut sum, WHOLE, 0..SAMPLES, &cuts);
            assert_same(&sum, &filled(WHOLE, 0..SAMPLES, options));
        }
    }

    #[test]
    fn names_are_short_enough_for_old_readers_and_differ() {
        let mut names = column_names(FilmOptions { features: true, moments: true, cuts: true });
        assert!(names.iter().all(|name| name.len() <= 31));
        let n = names.len();
        names.sort();
        names.dedup();
        assert_eq!((names.len(), n), (n, 59));
    }
}
