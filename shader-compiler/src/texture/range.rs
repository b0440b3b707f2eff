//! Bounds on texture lookups: finds the texels that coordinates in a box can reach, and bounds
//! their values with a min-max pyramid.
//!
//! The footprint of a box is computed with the arithmetic of the lookup itself, at the endpoints of
//! the box. Each step is monotone as computed (see [`crate::math::texture`]), so this footprint
//! contains that of every location in the box, including rounding. The bounds come from the finest
//! level on which two by two entries cover the footprint.

use super::{Access, LEVEL_TABLE_WORD, MAX_SIDE, SamplerState, Taps, Texture, Wrap};

/// A level of the pyramid.
#[derive(Clone, Copy, Debug)]
struct Level {
    /// Log₂ of the block size in texels.
    level: u32,
    /// Number of entries per row.
    width: u32,
    /// Number of rows of entries.
    height: u32,
}

impl Level {
    /// Number of entries.
    fn len(self) -> usize {
        self.width as usize * self.height as usize
    }

    /// Index of an entry.
    fn index(self, column: u32, row: u32) -> usize {
        row as usize * self.width as usize + column as usize
    }

    /// Number of texels that an entry takes: its minima and maxima, or a texel, for both.
    fn texels_per_entry(self) -> usize {
        if self.level == 0 { 1 } else { 2 }
    }
}

/// The levels of an image's pyramid, from the texels up to the single entry.
fn levels(width: u32, height: u32) -> impl Iterator<Item = Level> {
    let texels = Level { level: 0, width, height };
    std::iter::successors(Some(texels), |&fine| {
        let halve = |size: u32| size.div_ceil(2);
        let (width, height) = (halve(fine.width), halve(fine.height));
        let coarser = Level { level: fine.level + 1, width, height };
        (fine.width.max(fine.height) > 1).then_some(coarser)
    })
}

/// An image with its min-max pyramid.
pub(super) struct Pyramid<T> {
    pub width: u32,
    pub height: u32,
    /// Index of the first component of each level.
    pub starts: Vec<u32>,
    /// Components of all levels.
    pub components: Vec<T>,
}

impl<T: Copy> Pyramid<T> {
    /// Creates the pyramid of an image from the `channels` components of each texel, with the order
    /// of their values.
    ///
    /// # Panics
    ///
    /// Panics under the conditions of [`Texture::from_floats`].
    pub fn new(
        width: u32,
        channels: usize,
        mut components: Vec<T>,
        is_less: impl Fn(T, T) -> bool,
    ) -> Pyramid<T> {
        let row = width as usize * channels;
        assert!(
            row > 0 && !components.is_empty() && components.len().is_multiple_of(row),
            "{} components are not complete rows of {width} texels with {channels} channels",
            components.len()
        );
        let height = components.len() / row;
        assert!(
            (width as usize).max(height) <= MAX_SIDE as usize,
            "an image of {width} × {height} texels has a side longer than {MAX_SIDE}"
        );
        let height = height as u32;
        let entries = levels(width, height).map(|level| level.len() * level.texels_per_entry());
        components.reserve_exact(entries.skip(1).sum::<usize>() * channels);
        let mut starts = vec![];
        let mut start = 0;
        let mut levels = levels(width, height).peekable();
        while let Some(fine) = levels.next() {
            starts.push(start as u32);
            if let Some(coarse) = levels.peek() {
                append_level(&mut components, start, fine, *coarse, channels, &is_less);
            }
            start += fine.len() * fine.texels_per_entry() * channels;
        }
        Pyramid { width, height, starts, components }
    }
}

/// Appends a level to the components of those below it, of which the last starts at an index.
fn append_level<T: Copy>(
    components: &mut Vec<T>,
    start: usize,
    fine: Level,
    coarse: Level,
    channels: usize,
    is_less: impl Fn(T, T) -> bool,
) {
    let stride = fine.texels_per_entry() * channels;
    for row in 0..coarse.height {
        for column in 0..coarse.width {
            let [right, below] =
                [(column, fine.width), (row, fine.height)].map(|(k, n)| (2 * k + 1).min(n - 1));
            let children =
                [(2 * column, 2 * row), (right, 2 * row), (2 * column, below), (right, below)]
                    .map(|(column, row)| start + fine.index(column, row) * stride);
            for channel in 0..channels {
                let minima = children.map(|child| components[child + channel]);
                let least = minima.into_iter().reduce(|a, b| if is_less(b, a) { b } else { a });
                components.extend(least);
            }
            for channel in stride - channels..stride {
                let maxima = children.map(|child| components[child + channel]);
                let greatest = maxima.into_iter().reduce(|a, b| if is_less(a, b) { b } else { a });
                components.extend(greatest);
            }
        }
    }
}

/// A contiguous range of columns or rows of an image.
#[derive(Clone, Copy)]
struct TexelRange {
    first: i64,
    last: i64,
    /// Whether the coordinates are outside the image. With [`Wrap::Black`] the value is then black;
    /// with [`Wrap::Octahedral`] the other axis is mirrored.
    outside: bool,
}

impl TexelRange {
    fn inside(first: i64, last: i64) -> Option<TexelRange> {
        (first <= last).then_some(TexelRange { first, last, outside: false })
    }

    fn outside(first: i64, last: i64) -> Option<TexelRange> {
        (first <= last).then_some(TexelRange { first, last, outside: true })
    }

    fn mirrored(self, size: i64) -> TexelRange {
        TexelRange { first: size - 1 - self.last, last: size - 1 - self.first, ..self }
    }
}

/// Columns or rows of an image of `size` that the indices from `first` to `last` map to.
fn wrapped_ranges(wrap: Wrap, [first, last]: [i64; 2], size: i64) -> [Option<TexelRange>; 3] {
    let end = size - 1;
    let within = TexelRange::inside(first.max(0), last.min(end));
    match wrap {
        Wrap::Clamp => [TexelRange::inside(first.clamp(0, end), last.clamp(0, end)), None, None],
        Wrap::Repeat if last - first >= end => [TexelRange::inside(0, end), None, None],
        Wrap::Repeat => match (first.rem_euclid(size), last.rem_euclid(size)) {
            (first, last) if first <= last => [TexelRange::inside(first, last), None, None],
            (first, last) => [TexelRange::inside(first, end), TexelRange::inside(0, last), None],
        },
        Wrap::Black => [
            within,
            TexelRange::outside(first, last.min(-1)),
            TexelRange::outside(first.max(size), last),
        ],
        Wrap::Octahedral => {
            let (first, last) = (first.clamp(-size, size + end), last.clamp(-size, size + end));
            let low = TexelRange::outside(-1 - last.min(-1), -1 - first);
            let high = TexelRange::outside(size + end - last, size + end - first.max(size));
            [TexelRange::inside(first.max(0), last.min(end)), low, high]
        }
    }
}

/// The smallest interval that contains both operands.
fn hull(a: [f32; 2], b: [f32; 2]) -> [f32; 2] {
    [a[0].min(b[0]), a[1].max(b[1])]
}

/// The empty interval, the identity of [`hull`].
const EMPTY: [f32; 2] = [f32::INFINITY, f32::NEG_INFINITY];

impl Texture {
    /// Minimum and maximum of a channel over the block of an entry.
    fn entry(&self, level: Level, channel: u32, column: u32, row: u32) -> [f32; 2] {
        let channels = self.format.channels.count();
        let start = self.words[(self.words[LEVEL_TABLE_WORD] + level.level) as usize];
        let entry = level.index(column, row) * level.texels_per_entry();
        let first = start + (entry * channels) as u32;
        let last = first + ((level.texels_per_entry() - 1) * channels) as u32;
        [first, last].map(|first| self.value(first, channel))
    }

    /// Bounds on a channel over a rectangle of texels, not necessarily tight.
    fn rectangle(&self, channel: u32, columns: TexelRange, rows: TexelRange) -> [f32; 2] {
        let [left, right, top, bottom] =
            [columns.first, columns.last, rows.first, rows.last].map(|end| end as u32);
        let is_covered = |level: &Level| {
            let fits = |first: u32, last: u32| (last >> level.level) - (first >> level.level) <= 1;
            fits(left, right) && fits(top, bottom)
        };
        let level = levels(self.width(), self.height())
            .find(is_covered)
            .expect("the last level has one entry");
        let [left, right, top, bottom] = [left, right, top, bottom].map(|end| end >> level.level);
        let corners = [(left, top), (right, top), (left, bottom), (right, bottom)];
        let entries = corners.map(|(column, row)| self.entry(level, channel, column, row));
        entries.into_iter().fold(EMPTY, hull)
    }

    /// Bounds the values of a channel that a lookup returns for coordinates in a box, given by the
    /// endpoints of `u` and `v`.
    ///
    /// Endpoints may be infinite. If an endpoint is NaN, or the lower one exceeds the upper one,
    /// the coordinate is unrestricted and may be NaN.
    pub fn range(&self, sampler: SamplerState, channel: u32, u: [f32; 2], v: [f32; 2]) -> [f32; 2] {
        self.range_of(Access::new(0, channel, self.state(sampler)), u, v)
    }

    /// Like [`range`](Texture::range), for any access of an operation; its table and format are
    /// ignored.
    pub fn range_of(&self, access: Access, u: [f32; 2], v: [f32; 2]) -> [f32; 2] {
        // Rows count from the top.
        let columns = footprint(access, 0, self.width(), u);
        let rows = footprint(access, 1, self.height(), [1.0 - v[1], 1.0 - v[0]]);
        let [width, height] = [self.width(), self.height()].map(i64::from);
        let mut range = EMPTY;
        for column in columns.into_iter().flatten() {
            for row in rows.into_iter().flatten() {
                let values = match access.wrap {
                    Wrap::Black if column.outside || row.outside => [0.0, 0.0],
                    _ => {
                        let columns = if row.outside { column.mirrored(width) } else { column };
                        let rows = if column.outside { row.mirrored(height) } else { row };
                        self.rectangle(access.channel, columns, rows)
                    }
                };
                range = hull(range, values);
            }
        }
        range
    }
}

/// Columns (dimension 0) or rows (1) that a lookup reads for coordinates in an interval.
fn footprint(
    access: Access,
    dimension: usize,
    size: u32,
    [low, high]: [f32; 2],
) -> [Option<TexelRange>; 3] {
    let index = |coordinate: f32| {
        let location = coordinate * size as f32 - 0.5;
        let rounded = if access.taps == Taps::Point { location.round() } else { location.floor() };
        let index = rounded as i32;
        let index = match access.offset[dimension] {
            0 => index,
            offset => index.clamp(i32::MIN + 32, i32::MAX - 32) + offset,
        };
        i64::from(index)
    };
    let [first, last] =
        if low <= high { [index(low), index(high)] } else { [i32::MIN, i32::MAX].map(i64::from) };
    let last = if access.taps == Taps::Bilinear { last + 1 } else { last };
    wrapped_ranges(access.wrap, [first, last], i64::from(size))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Op, Table};
    use crate::math::eval::ConstantEvaluator;
    use crate::random::Random;
    use crate::testing::random::image as random_image;
    use crate::texture::{Channels, Component, Filter, Format};
    use proptest::prelude::*;

    const WRAPS: [Wrap; 4] = [Wrap::Repeat, Wrap::Black, Wrap::Clamp, Wrap::Octahedral];

    /// An image with distinct texels in each channel.
    fn image(width: u32, height: u32) -> Texture {
        let mut random = Random::new(u64::from(width * height));
        let texels = (0..width * height)
            .map(|k| [0, 1, 2, 3].map(|c| random.below(1000) as f32 + (4 * k + c) as f32 / 1e4));
        Texture::new(width, &texels.collect::<Vec<_>>())
    }

    fn texel(texture: &Texture, column: u32, row: u32, channel: u32) -> f32 {
        let count = texture.format().channels.count() as u32;
        let index = (row * texture.width() + column) * count;
        texture.value(texture.format().first_component() + index, channel)
    }

    /// Checks the levels of an image's pyramid.
    fn check_levels(texture: &Texture) {
        let (width, height) = (texture.width(), texture.height());
        let context = format!("{:?}, {width} × {height}", texture.format());
        let level_table = texture.words()[LEVEL_TABLE_WORD] as usize;
        let mut start = texture.format().first_component();
        for level in levels(width, height) {
            assert_eq!(texture.words()[level_table + level.level as usize], start, "{context}");
            assert_eq!(level.width, width.div_ceil(1 << level.level));
            assert_eq!(level.height, height.div_ceil(1 << level.level));
            let texels = level.len() * level.texels_per_entry();
            start += (texels * texture.format().channels.count()) as u32;
            for (column, row) in
                (0..level.height).flat_map(|row| (0..level.width).map(move |column| (column, row)))
            {
                let block =
                    |k: u32, size: u32| (k << level.level)..((k + 1) << level.level).min(size);
                for channel in 0..4 {
                    let texels =
                        block(row, height).flat_map(|y| block(column, width).map(move |x| (x, y)));
                    let range =
                        texels.map(|(x, y)| [texel(texture, x, y, channel); 2]).fold(EMPTY, hull);
                    let entry = texture.entry(level, channel, column, row);
                    assert_eq!(entry, range, "{context}, {level:?}");
                }
            }
        }
        let per_word = texture.format().components_per_word();
        assert_eq!(start.div_ceil(per_word) as usize, level_table, "{context}");
        assert_eq!(texture.words().len(), level_table + levels(width, height).count());
        assert_eq!(levels(width, height).last().map(|top| (top.width, top.height)), Some((1, 1)));
    }

    #[test]
    fn level_entries_are_the_hulls_of_their_blocks() {
        let sizes = [[1, 1], [2, 1], [1, 3], [3, 5], [4, 4], [64, 37], [17, 65]];
        for [width, height] in sizes {
            check_levels(&image(width, height));
        }
        let mut random = Random::new(2);
        for component in Component::ALL {
            for channels in Channels::ALL {
                for size in sizes {
                    let format = Format { component, channels };
                    check_levels(&random_image(&mut random, size, format).0);
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        #[test]
        fn ranges_of_all_formats_contain_lookups(
            component in prop::sample::select(&Component::ALL[..]),
            channels in prop::sample::select(&Channels::ALL[..]),
            size in prop::array::uniform2(1u32..40),
            taps in prop::sample::select(vec![Taps::Point, Taps::Bilinear, Taps::Corner]),
            wrap in prop::sample::select(&WRAPS[..]),
            channel in 0u32..4,
            offset in prop::array::uniform2(-8i32..8),
            seed in any::<u64>(),
        ) {
            let format = Format { component, channels };
            let texture = random_image(&mut Random::new(seed), size, format).0;
            let access = Access { table: 0, format, channel, taps, wrap, offset };
            check_containment(&texture, access, 20, seed);
        }
    }

    /// An interval endpoint: a special value, a texel edge or center, or any location near the
    /// image.
    fn endpoint(random: &mut Random, size: u32) -> f32 {
        const SPECIAL: [f32; 8] =
            [0.0, 1.0, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, 1e9, -1e9, f32::NAN];
        match random.below(16) {
            0 => SPECIAL[random.below(8)],
            1..=5 => {
                (random.below(12 * size as usize) as f32 - 6.0 * size as f32) / (2.0 * size as f32)
            }
            _ => random.below(1 << 24) as f32 / 4194304.0 - 1.5,
        }
    }

    /// An interval: a point, tiny, within the image, or wide.
    fn interval(random: &mut Random, size: u32) -> [f32; 2] {
        let low = endpoint(random, size);
        let width = [0.0, 1e-7, 0.3 / size as f32, 0.1, 0.7, 3.0][random.below(6)];
        match random.below(8) {
            0 => [low, endpoint(random, size)],
            1 => [low, low.next_up()],
            _ => [low, low + width * random.below(1 << 24) as f32 / 16777216.0],
        }
    }

    /// A coordinate in an interval; any coordinate if the interval is unrestricted.
    fn member(random: &mut Random, [low, high]: [f32; 2], size: u32) -> f32 {
        match random.below(6) {
            _ if low.partial_cmp(&high).is_none_or(|order| order.is_gt()) => endpoint(random, size),
            0 => low,
            1 => high,
            2 => low.next_up().min(high),
            3 => high.next_down().max(low),
            _ => {
                let t = random.below(1 << 24) as f32 / 16777216.0;
                let x = low.max(-1e30) * (1.0 - t) + high.min(1e30) * t;
                x.clamp(low, high)
            }
        }
    }

    fn check_containment(texture: &Texture, access: Access, boxes: usize, seed: u64) {
        let tables = [Table::new(texture.words())];
        let mut random = Random::new(seed);
        for _ in 0..boxes {
            let (u, v) =
                (interval(&mut random, texture.width()), interval(&mut random, texture.height()));
            let [low, high] = texture.range_of(access, u, v);
            for _ in 0..12 {
                let (x, y) = (
                    member(&mut random, u, texture.width()),
                    member(&mut random, v, texture.height()),
                );
                let args = [access.pack(), x.to_bits(), y.to_bits()];
                let value = f32::from_bits(
                    Op::Texel.eval_with(&mut ConstantEvaluator { tables: &tables }, &args),
                );
                let context = || {
                    format!(
                        "{access:?} of {} × {} at ({x:e}, {y:e})",
                        texture.width(),
                        texture.height()
                    )
                };
                assert!(
                    low <= value && value <= high,
                    "{} in {u:?} × {v:?} is {value}, not in [{low}, {high}]",
                    context()
                );
            }
        }
    }

    #[test]
    fn ranges_contain_lookups() {
        for (width, height) in [(1, 1), (2, 2), (3, 5), (64, 37), (7, 1)] {
            let texture = image(width, height);
            for (k, wrap) in WRAPS.into_iter().enumerate() {
                for taps in [Taps::Point, Taps::Bilinear, Taps::Corner] {
                    for offset in [[0, 0], [-8, 3]] {
                        let format = texture.format();
                        let channel = k as u32;
                        let access = Access { table: 0, format, channel, taps, wrap, offset };
                        check_containment(&texture, access, 1500, 11);
                    }
                }
            }
        }
    }

    /// The hull of texels in channel 1.
    fn texel_hull(texture: &Texture, texels: &[(u32, u32)]) -> [f32; 2] {
        texels.iter().map(|&(x, y)| [texel(texture, x, y, 1); 2]).fold(EMPTY, hull)
    }

    #[test]
    fn range_of_small_box_is_the_hull_of_its_texels() {
        let (width, height) = (64, 37);
        let texture = image(width, height);
        // Texture coordinates of a location in texel units, with rows from the top.
        let coordinates = |x: f32, y: f32| (x / width as f32, 1.0 - y / height as f32);
        let range = |wrap, filter, [left, right]: [f32; 2], [top, bottom]: [f32; 2]| {
            let ((u0, v1), (u1, v0)) = (coordinates(left, top), coordinates(right, bottom));
            texture.range(SamplerState { wrap, filter }, 1, [u0, u1], [v0, v1])
        };
        for wrap in WRAPS {
            for (x, y) in [(0, 0), (5, 8), (63, 36), (31, 17)] {
                let (column, row) = (x as f32, y as f32);
                let inside = range(
                    wrap,
                    Filter::Point,
                    [column + 0.1, column + 0.9],
                    [row + 0.1, row + 0.9],
                );
                assert_eq!(inside, texel_hull(&texture, &[(x, y)]), "{wrap:?}");
            }
            // Between four texel centers.
            let four = range(wrap, Filter::Bilinear, [5.6, 6.4], [8.6, 9.4]);
            assert_eq!(four, texel_hull(&texture, &[(5, 8), (6, 8), (5, 9), (6, 9)]), "{wrap:?}");
        }
        // Across the left edge, halfway between rows 8 and 9.
        let edge = |wrap| range(wrap, Filter::Bilinear, [-0.1, 0.1], [8.9, 9.1]);
        let inside = [(0, 8), (0, 9)];
        assert_eq!(edge(Wrap::Clamp), texel_hull(&texture, &inside));
        assert_eq!(
            edge(Wrap::Repeat),
            texel_hull(&texture, &[inside[0], inside[1], (63, 8), (63, 9)])
        );
        assert_eq!(
            edge(Wrap::Octahedral),
            texel_hull(&texture, &[inside[0], inside[1], (0, 28), (0, 27)])
        );
        assert_eq!(edge(Wrap::Black), hull(texel_hull(&texture, &inside), [0.0, 0.0]));
        // Far outside the image.
        assert_eq!(range(Wrap::Black, Filter::Bilinear, [80.0, 90.0], [1.0, 36.0]), [0.0, 0.0]);
        assert_eq!(
            range(Wrap::Clamp, Filter::Point, [80.0, 90.0], [1.1, 1.9]),
            texel_hull(&texture, &[(63, 1)])
        );
        // One full period, and unrestricted coordinates.
        let full = levels(width, height)
            .last()
            .map(|top| texture.entry(top, 1, 0, 0))
            .expect("the pyramid has a top level");
        assert_eq!(range(Wrap::Repeat, Filter::Point, [10.0, 74.0], [3.0, 40.0]), full);
        for endpoints in
            [[f32::NAN, 0.0], [0.0, f32::NAN], [f32::NEG_INFINITY, f32::INFINITY], [1.0, 0.0]]
        {
            for wrap in WRAPS {
                let lookup = SamplerState { wrap, filter: Filter::Bilinear };
                let expected = if wrap == Wrap::Black { hull(full, [0.0, 0.0]) } else { full };
                assert_eq!(
                    texture.range(lookup, 1, endpoints, endpoints),
                    expected,
                    "{wrap:?} {endpoints:?}"
                );
            }
        }
    }

    #[test]
    fn range_covers_at_most_four_times_the_columns_of_its_box() {
        // Each texel's value is its column, so the width of a range is the number of columns that
        // it covers.
        let texels: Vec<_> = (0..64 * 64).map(|k| [(k % 64) as f32; 4]).collect();
        let texture = Texture::new(64, &texels);
        let mut random = Random::new(5);
        for _ in 0..2000 {
            let (low, width) =
                (random.below(1 << 12) as f32 / 4096.0, random.below(1 << 12) as f32 / 4096.0);
            let endpoints = [low, (low + width).min(1.0)];
            let lookup = SamplerState { wrap: Wrap::Clamp, filter: Filter::Point };
            let [first, last] = texture.range(lookup, 0, endpoints, endpoints);
            let columns = (endpoints[1] - endpoints[0]) * 64.0 + 2.0;
            assert!(
                last - first + 1.0 <= 4.0 * columns,
                "{endpoints:?} covers columns {first} to {last}"
            );
        }
    }
}
