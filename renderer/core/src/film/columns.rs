//! Exact sums as columns of 32-bit words, for storage in files and for merging films.
//!
//! A column holds one word per pixel. Sums are in two's complement, least significant word first.
//! The names of the columns make them channels of one EXR layer:
//!
//! | columns | sums |
//! |---|---|
//! | `sums.samples` | number of samples |
//! | `sums.R0` … `sums.R3`, also for `G` and `B` | radiance, 56 fraction bits |
//! | `sums.squaresR0` … | squares of radiance, 56 fraction bits, all ones if out of range |
//! | `sums.featureSamples` | number of samples that contribute to features, if albedo or normals are stored |
//! | `sums.hits` | number of hits among them, if positions or depths are stored |
//! | `sums.albedoR0`, `sums.albedoR1` …, also for `normal`, `geometricNormal` | features, 24 fraction bits |
//! | `sums.positionX0` … `sums.positionX3`, also for `depth`, `uv`, `motion`, `depthGradient` | features, 24 fraction bits |
//! | `sums.material`, `sums.object` | ids at the hit of sample 0 |
//! | `sums.materialMatteId0`, `sums.materialMatteCount0`, …, also for `objectMatte` | ids of the pixel and their numbers of samples; 0 for none |
//! | `sums.NAME0`, `sums.NAME1` | extra channel NAME of counts, 64-bit integer |
//! | `sums.emissionR0` …, also for `direct`, `diffuse`, `light0`, `light1` … | components of radiance, 56 fraction bits |
//! | `sums.NAME0` … `sums.NAME3` | extra channel NAME of real numbers, 56 fraction bits, all ones if infinite |

use super::channels::ChannelSums;
use super::sums::Sums;
use super::{ChannelEncoding, Film, FilmOptions, MatteKind};
use lightbound_image::Window;
use std::ops::Range;

/// One named word of each pixel, row by row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The name.
    pub name: String,
    /// The words.
    pub words: Vec<u32>,
}

impl AsRef<[u32]> for Column {
    fn as_ref(&self) -> &[u32] {
        &self.words
    }
}

/// Prefix of the names of columns.
const PREFIX: &str = "sums.";

/// Returns whether a channel of a file, or a layer, has exact sums.
pub fn is_exact_sum(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// Returns the names of the columns of a film with these options, in the order that
/// [`Film::add_columns`] expects. `mattes` are the [lengths](Film::matte_lengths) of its mattes.
pub fn column_names(options: FilmOptions, mattes: [usize; 2]) -> Vec<String> {
    fn sum(names: &mut Vec<String>, name: &str, words: usize) {
        names.extend((0..words).map(|word| format!("{PREFIX}{name}{word}")));
    }
    let mut names = vec![format!("{PREFIX}samples")];
    ["R", "G", "B"].iter().for_each(|c| sum(&mut names, c, 4));
    if options.moments {
        ["R", "G", "B"].iter().for_each(|c| sum(&mut names, &format!("squares{c}"), 4));
    }
    let f = options.features;
    for (name, is_stored) in [("featureSamples", f.needs_samples()), ("hits", f.needs_hits())] {
        names.extend(is_stored.then(|| format!("{PREFIX}{name}")));
    }
    for (layer, axes, words, is_stored) in [
        ("albedo", &["R", "G", "B"][..], 2, f.albedo),
        ("normal", &["X", "Y", "Z"], 2, f.normal),
        ("geometricNormal", &["X", "Y", "Z"], 2, f.geometric_normal),
        ("position", &["X", "Y", "Z"], 4, f.position),
        ("depth", &["Z"], 4, f.depth),
        ("uv", &["U", "V"], 4, f.uv),
        ("motion", &["U", "V"], 4, f.motion),
        ("depthGradient", &["X", "Y"], 4, f.depth_gradient),
    ] {
        if is_stored {
            axes.iter().for_each(|axis| sum(&mut names, &format!("{layer}{axis}"), words));
        }
    }
    for (name, is_stored) in [("material", f.material), ("object", f.object)] {
        names.extend(is_stored.then(|| format!("{PREFIX}{name}")));
    }
    for channel in options.channels {
        let words = match channel.encoding {
            ChannelEncoding::Count => 2,
            ChannelEncoding::FixedPoint => 4,
        };
        sum(&mut names, channel.sum, words);
    }
    for component in options.components.sum_names() {
        ["R", "G", "B"].iter().for_each(|c| sum(&mut names, &format!("{component}{c}"), 4));
    }
    for (kind, length) in MatteKind::ALL.into_iter().zip(mattes) {
        let columns = |i| ["Id", "Count"].map(|what| format!("{PREFIX}{}{what}{i}", kind.sum()));
        names.extend((0..length).flat_map(columns));
    }
    names
}

/// Passes the words of sums to a function, least significant first.
struct Writer<F> {
    write: F,
    mattes: [usize; 2],
}

impl<F: FnMut(u32)> Writer<F> {
    fn word(&mut self, x: u32) {
        (self.write)(x);
    }

    fn u128(&mut self, x: u128) {
        (0..4).for_each(|i| self.word((x >> (32 * i)) as u32));
    }

    fn u64(&mut self, x: u64) {
        (0..2).for_each(|i| self.word((x >> (32 * i)) as u32));
    }

    fn pixel(&mut self, sums: &Sums, i: usize) {
        self.word(sums.samples[i]);
        sums.radiance[i].iter().for_each(|&x| self.u128(x as u128));
        if let Some(squares) = sums.squares.get(i) {
            squares.iter().for_each(|&x| self.u128(x));
        }
        let f = &sums.features;
        for count in [&f.samples, &f.hits] {
            count.get(i).into_iter().for_each(|&n| self.word(n));
        }
        for vectors in [&f.albedo, &f.normal, &f.geometric_normal] {
            vectors.get(i).into_iter().flatten().for_each(|&x| self.u64(x as u64));
        }
        let pairs = [&f.uv, &f.motion, &f.depth_gradient];
        let pairs = pairs.into_iter().filter_map(|sums| sums.get(i)).flatten();
        let lengths = f.position.get(i).into_iter().flatten().chain(f.depth.get(i)).chain(pairs);
        lengths.for_each(|&x| self.u128(x as u128));
        for id in [&f.material, &f.object] {
            id.get(i).into_iter().for_each(|&id| self.word(id));
        }
        for channel in &sums.channels {
            match channel {
                ChannelSums::Count(sums) => self.u64(sums[i]),
                ChannelSums::FixedPoint(sums) => self.u128(sums[i]),
            }
        }
        for column in &sums.components.columns {
            column[i].iter().for_each(|&x| self.u128(x as u128));
        }
        for (matte, length) in sums.features.mattes.iter().zip(self.mattes) {
            let mut entries = matte.entries(i);
            entries.resize(length, (0, 0));
            for (id, count) in entries {
                self.word(id);
                self.word(count);
            }
        }
    }
}

/// Reads the words of sums from a function, least significant first.
struct Reader<F> {
    read: F,
    mattes: [usize; 2],
}

impl<F: FnMut() -> u32> Reader<F> {
    fn word(&mut self) -> u32 {
        (self.read)()
    }

    fn u128(&mut self) -> u128 {
        (0..4).fold(0, |x, i| x | u128::from(self.word()) << (32 * i))
    }

    fn u64(&mut self) -> u64 {
        (0..2).fold(0, |x, i| x | u64::from(self.word()) << (32 * i))
    }

    /// Adds a pixel's words to its sums. Sums from damaged files may wrap around.
    fn add_to(&mut self, sums: &mut Sums, i: usize) {
        sums.samples[i] = sums.samples[i].saturating_add(self.word());
        for sum in &mut sums.radiance[i] {
            *sum = sum.wrapping_add(self.u128() as i128);
        }
        if let Some(squares) = sums.squares.get_mut(i) {
            squares.iter_mut().for_each(|sum| *sum = sum.saturating_add(self.u128()));
        }
        let f = &mut sums.features;
        for count in [&mut f.samples, &mut f.hits] {
            count.get_mut(i).into_iter().for_each(|n| *n = n.saturating_add(self.word()));
        }
        for vectors in [&mut f.albedo, &mut f.normal, &mut f.geometric_normal] {
            let sums = vectors.get_mut(i).into_iter().flatten();
            sums.for_each(|sum| *sum = sum.wrapping_add(self.u64() as i64));
        }
        let pairs = [&mut f.uv, &mut f.motion, &mut f.depth_gradient];
        let pairs = pairs.into_iter().filter_map(|sums| sums.get_mut(i)).flatten();
        let lengths = f.position.get_mut(i).into_iter().flatten();
        let lengths = lengths.chain(f.depth.get_mut(i)).chain(pairs);
        lengths.for_each(|sum| *sum = sum.wrapping_add(self.u128() as i128));
        for id in [&mut f.material, &mut f.object] {
            // Only one part has sample 0; the ids of all others are 0.
            id.get_mut(i).into_iter().for_each(|id| *id |= self.word());
        }
        for channel in &mut sums.channels {
            match channel {
                ChannelSums::Count(sums) => sums[i] = sums[i].saturating_add(self.u64()),
                ChannelSums::FixedPoint(sums) => sums[i] = sums[i].saturating_add(self.u128()),
            }
        }
        for sum in sums.components.columns.iter_mut().flat_map(|column| &mut column[i]) {
            *sum = sum.wrapping_add(self.u128() as i128);
        }
        for (kind, length) in self.mattes.into_iter().enumerate() {
            for _ in 0..length {
                let (id, count) = (self.word(), self.word());
                sums.features.mattes[kind].add(i, id, count);
            }
        }
    }
}

impl Film {
    /// Returns the sums of the given rows, counted from the first row of the film, in the order of
    /// [`column_names`]. `mattes` are the film's [`Film::matte_lengths`].
    pub fn columns(&self, rows: Range<u32>, mattes: [usize; 2]) -> Vec<Column> {
        let window = self.rows(rows);
        let n = window.width() as usize * window.height() as usize;
        let names = column_names(self.options, mattes).into_iter();
        let mut columns: Vec<Column> =
            names.map(|name| Column { name, words: vec![0; n] }).collect();
        for (tile, common) in self.tiles_in(window) {
            let sums = tile.lock();
            for (x, y) in common.pixels() {
                let (i, index) = (sums.window.index(x, y), window.index(x, y));
                let mut columns = columns.iter_mut();
                let write = |word| columns.next().expect("one name per word").words[index] = word;
                Writer { write, mattes }.pixel(&sums, i);
            }
        }
        columns
    }

    /// Adds the sums of the pixels in `window` that the film contains. The columns have words for
    /// the whole `window`, in the order of [`column_names`] with `mattes`.
    ///
    /// # Panics
    /// If the number of columns or words is wrong.
    pub fn add_columns<C: AsRef<[u32]>>(
        &mut self,
        window: Window,
        columns: &[C],
        mattes: [usize; 2],
    ) {
        assert_eq!(columns.len(), column_names(self.options, mattes).len());
        for (tile, common) in self.tiles_in(window) {
            let mut sums = tile.lock();
            for (x, y) in common.pixels() {
                let (i, index) = (sums.window.index(x, y), window.index(x, y));
                let mut columns = columns.iter();
                let read = || columns.next().expect("one column per name").as_ref()[index];
                Reader { read, mattes }.add_to(&mut sums, i);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{
        ChannelSpec, ChannelValue, ComponentLayers, ComponentValues, FeatureLayers, Features,
    };
    use super::*;
    use lightbound_math::{Vec3, vec2};
    use proptest::prelude::*;

    const WINDOW: Window = Window { x0: 3, y0: 2, x1: 43, y1: 8 };
    const SAMPLES: u32 = 4;
    const CHANNELS: &[ChannelSpec] = &[
        ChannelSpec { layer: "steps", sum: "stepCount", encoding: ChannelEncoding::Count },
        ChannelSpec { layer: "error", sum: "errorSum", encoding: ChannelEncoding::FixedPoint },
    ];

    /// Returns a pseudorandom value of any magnitude for a sample; some are invalid.
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

    /// Creates a film that holds the samples of a block.
    fn filled(window: Window, samples: std::ops::Range<u32>, options: FilmOptions) -> Film {
        let film = Film::new(window, options);
        for tile in film.tiles() {
            let mut sums = tile.lock();
            for ((x, y), s) in
                tile.window().pixels().flat_map(|p| samples.clone().map(move |s| (p, s)))
            {
                let v = Vec3::from([0, 1, 2].map(|axis| value(x, y, s, axis)));
                let groups = [0.5 * v, 0.25 * v, 0.25 * v];
                let paths = [0.5, 0.25, 0.25, 0.125, 0.375].map(|share| share * v);
                let components = ComponentValues { paths, light_groups: &groups };
                let has_components = !options.components.is_empty();
                sums.add_with_components(x, y, s, v, has_components.then_some(&components));
                if (x + y + s) % 3 > 0 {
                    // Several in a pixel.
                    let (material, object) = (1 + (7 * x + 5 * s) % 11, y + 1);
                    let features = Features {
                        albedo: v,
                        normal: v,
                        position: v.as_dvec3(),
                        depth: v.x,
                        geometric_normal: v,
                        uv: vec2(v.x, v.y),
                        motion: vec2(v.y, v.z),
                        depth_gradient: vec2(v.z, v.x),
                        material,
                        object,
                    };
                    sums.add_features(x, y, s, 0.7, &features);
                }
                if !options.channels.is_empty() && (x + s) % 4 > 0 {
                    let values =
                        [ChannelValue::Count(v.x.to_bits()), ChannelValue::Real(v.y.abs())];
                    sums.add_channels(x, y, &values);
                }
            }
        }
        film
    }

    fn all_columns(film: &Film) -> Vec<Column> {
        film.columns(0..film.window().height(), film.matte_lengths())
    }

    fn assert_same(a: &Film, b: &Film) {
        let bits =
            |v: &[[f32; 3]]| v.as_flattened().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert!(all_columns(a) == all_columns(b), "the sums differ");
        let (a, b) = (a.image(), b.image());
        assert_eq!(bits(&a.radiance), bits(&b.radiance));
        assert_eq!(a.variance.as_deref().map(bits), b.variance.as_deref().map(bits));
        for (a, b) in a.channels.iter().zip(&b.channels) {
            let bits = |v: &[f32]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!((a.layer, bits(&a.values)), (b.layer, bits(&b.values)));
        }
        for (a, b) in a.components.iter().zip(&b.components) {
            assert_eq!((a.component, bits(&a.radiance)), (b.component, bits(&b.radiance)));
        }
        assert_eq!(
            (a.invalid_samples, a.clamped_features, a.min_samples, a.max_samples),
            (b.invalid_samples, b.clamped_features, b.min_samples, b.max_samples)
        );
    }

    /// Adds a block in parts. Each of `splits` splits a block along a random axis.
    fn add_parts(film: &mut Film, window: Window, samples: std::ops::Range<u32>, splits: &[u32]) {
        let Some((&split, rest)) = splits.split_first() else {
            let part = filled(window, samples, film.options());
            film.add_columns(window, &all_columns(&part), part.matte_lengths());
            return film.add_out_of_range(part.invalid_samples(), part.clamped_features());
        };
        let (a, b) = rest.split_at(rest.len() / 2);
        let between = |lo: u32, hi: u32| (hi - lo > 1).then(|| lo + 1 + split / 3 % (hi - lo - 1));
        let (mut first, mut second) = ((window, samples.clone()), (window, samples.clone()));
        let is_split = match split % 3 {
            0 => between(window.x0, window.x1).map(|x| (first.0.x1, second.0.x0) = (x, x)),
            1 => between(window.y0, window.y1).map(|y| (first.0.y1, second.0.y0) = (y, y)),
            _ => {
                between(samples.start, samples.end).map(|s| (first.1.end, second.1.start) = (s, s))
            }
        };
        if is_split.is_none() {
            return add_parts(film, window, samples, rest);
        }
        add_parts(film, second.0, second.1, b);
        add_parts(film, first.0, first.1, a);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn parts_of_any_split_add_up_to_the_film(
            splits in prop::collection::vec(any::<u32>(), 0..12),
            flags in 0..1 << 18,
        ) {
            let options = FilmOptions {
                features: FeatureLayers {
                    albedo: flags & 4 > 0,
                    normal: flags & 8 > 0,
                    position: flags & 16 > 0,
                    depth: flags & 32 > 0,
                    material: flags & 64 > 0,
                    object: flags & 128 > 0,
                    geometric_normal: flags & 256 > 0,
                    uv: flags & 512 > 0,
                    motion: flags & 1024 > 0,
                    depth_gradient: flags & 2048 > 0,
                    material_matte: flags & 65536 > 0,
                    object_matte: flags & 131072 > 0,
                },
                moments: flags & 1 > 0,
                channels: if flags & 2 > 0 { CHANNELS } else { &[] },
                components: ComponentLayers {
                    emission: flags & 4096 > 0,
                    indirect: flags & 8192 > 0,
                    specular: flags & 16384 > 0,
                    light_groups: if flags & 32768 > 0 { 3 } else { 0 },
                    ..ComponentLayers::default()
                },
            };
            let mut sum = Film::new(WINDOW, options);
            add_parts(&mut sum, WINDOW, 0..SAMPLES, &splits);
            assert_same(&sum, &filled(WINDOW, 0..SAMPLES, options));
        }
    }

    #[test]
    fn names_are_distinct_and_short_enough_for_old_readers() {
        let options = FilmOptions {
            features: FeatureLayers::ALL,
            moments: true,
            channels: CHANNELS,
            components: ComponentLayers::all(100),
        };
        let mut names = column_names(options, [1 << 16, 2]);
        assert!(names.iter().all(|name| name.len() <= 31));
        let n = names.len();
        names.sort();
        names.dedup();
        assert_eq!((names.len(), n), (n, 63 + 6 + 24 + 12 * 102 + 2 * ((1 << 16) + 2)));
    }
}
