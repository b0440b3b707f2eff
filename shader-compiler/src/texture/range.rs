//! Bounds on texture lookups: finds the texels that coordinates in a box can reach, and bounds
//! their values with a min-max pyramid.
//!
//! The footprint of a box is computed with the arithmetic of the lookup itself, at the endpoints of
//! the box. Each step is monotone as computed (see [`crate::math::texture`]), so this footprint
//! contains that of every location in the box, including rounding. The bounds come from the finest
//! level on which two by two entries cover the footprint.

use super::{
    Access, CHANNELS, ENTRY_WORDS, HEADER_WORDS, LEVEL_TABLE_WORD, SamplerState, Taps, Texture,
    Wrap,
};

/// A level of the pyramid.
#[derive(Clone, Copy)]
struct Level {
    /// Log₂ of the block size in texels.
    level: u32,
    /// Number of entries per row.
    width: u32,
    /// Number of rows of entries.
    height: u32,
    /// Index of its first word.
    start: usize,
}

impl Level {
    /// Number of words of an entry; the entries of level 0 are the texels themselves.
    fn stride(self) -> usize {
        if self.level == 0 { CHANNELS } else { ENTRY_WORDS }
    }

    /// Indices of the first words of an entry's minima and maxima.
    fn entry(self, column: u32, row: u32) -> [usize; 2] {
        let minima =
            self.start + (row as usize * self.width as usize + column as usize) * self.stride();
        [minima, minima + self.stride() - CHANNELS]
    }
}

/// The levels of an image's pyramid, from the texels up to the single entry.
fn levels(width: u32, height: u32) -> impl Iterator<Item = Level> {
    let texels = Level { level: 0, width, height, start: HEADER_WORDS };
    std::iter::successors(Some(texels), |&fine| {
        let start = fine.start + fine.width as usize * fine.height as usize * fine.stride();
        let halve = |size: u32| size.div_ceil(2);
        let coarser = Level {
            level: fine.level + 1,
            width: halve(fine.width),
            height: halve(fine.height),
            start,
        };
        (fine.width.max(fine.height) > 1).then_some(coarser)
    })
}

/// Size of an image in words.
pub(super) fn size(width: u32, height: u32) -> usize {
    let top = levels(width, height).last().expect("the pyramid contains the texels");
    top.start + top.stride() + top.level as usize + 1
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

/// The hull of each channel; texels are not NaN.
fn channel_hulls(
    [a, b]: [[f32; CHANNELS]; 2],
    [c, d]: [[f32; CHANNELS]; 2],
) -> [[f32; CHANNELS]; 2] {
    let minima = std::array::from_fn(|k| if c[k] < a[k] { c[k] } else { a[k] });
    let maxima = std::array::from_fn(|k| if b[k] < d[k] { d[k] } else { b[k] });
    [minima, maxima]
}

/// The empty interval, the identity of [`hull`].
const EMPTY: [f32; 2] = [f32::INFINITY, f32::NEG_INFINITY];

impl Texture {
    /// Appends the levels of the pyramid and the level table.
    pub(super) fn build_pyramid(&mut self) {
        self.build_levels();
        self.words[LEVEL_TABLE_WORD] = self.words.len() as u32;
        let (width, height) = (self.width(), self.height());
        self.words.extend(levels(width, height).map(|level| level.start as u32));
    }

    fn build_levels(&mut self) {
        let mut levels = levels(self.width(), self.height());
        let Some(mut fine) = levels.next() else { return };
        for level in levels {
            for row in 0..level.height {
                for column in 0..level.width {
                    let [right, below] = [(column, fine.width), (row, fine.height)]
                        .map(|(k, n)| (2 * k + 1).min(n - 1));
                    let children = [
                        (2 * column, 2 * row),
                        (right, 2 * row),
                        (2 * column, below),
                        (right, below),
                    ];
                    let [a, b, c, d] = children.map(|(column, row)| self.entry(fine, column, row));
                    let [minima, maxima] = channel_hulls(channel_hulls(a, b), channel_hulls(c, d));
                    self.words.extend(minima.map(f32::to_bits));
                    self.words.extend(maxima.map(f32::to_bits));
                }
            }
            fine = level;
        }
    }

    /// Minima and maxima of the channels over the block of an entry.
    fn entry(&self, level: Level, column: u32, row: u32) -> [[f32; CHANNELS]; 2] {
        level.entry(column, row).map(|at| {
            let words = self.words[at..].first_chunk().expect("an entry has 2 · CHANNELS words");
            words.map(f32::from_bits)
        })
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
        let entries = corners.into_iter().map(|(column, row)| self.entry(level, column, row));
        entries
            .map(|endpoints| endpoints.map(|channels| channels[channel as usize]))
            .fold(EMPTY, hull)
    }

    /// Bounds the values of a channel that a lookup returns for coordinates in a box, given by the
    /// endpoints of `u` and `v`.
    ///
    /// Endpoints may be infinite. If an endpoint is NaN, or the lower one exceeds the upper one,
    /// the coordinate is unrestricted and may be NaN.
    pub fn range(&self, sampler: SamplerState, channel: u32, u: [f32; 2], v: [f32; 2]) -> [f32; 2] {
        self.range_of(Access::new(0, channel, sampler), u, v)
    }

    /// Like [`range`](Texture::range), for any access of an operation; the table is ignored.
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
    use crate::texture::Filter;

    const WRAPS: [Wrap; 4] = [Wrap::Repeat, Wrap::Black, Wrap::Clamp, Wrap::Octahedral];

    /// An image with distinct texels in each channel.
    fn image(width: u32, height: u32) -> Texture {
        let mut random = Random::new(u64::from(width * height));
        let texels = (0..width * height)
            .map(|k| [0, 1, 2, 3].map(|c| random.below(1000) as f32 + (4 * k + c) as f32 / 1e4));
        Texture::new(width, &texels.collect::<Vec<_>>())
    }

    fn texel(texture: &Texture, column: u32, row: u32, channel: u32) -> f32 {
        let word =
            HEADER_WORDS + CHANNELS * (row * texture.width() + column) as usize + channel as usize;
        f32::from_bits(texture.words()[word])
    }

    #[test]
    fn level_entries_are_the_hulls_of_their_blocks() {
        for (width, height) in [(1, 1), (2, 1), (1, 3), (3, 5), (4, 4), (64, 37), (17, 65)] {
            let texture = image(width, height);
            let mut end = HEADER_WORDS;
            for level in levels(width, height) {
                assert_eq!(level.start, end, "level {} of {width} × {height}", level.level);
                assert_eq!(level.width, width.div_ceil(1 << level.level));
                assert_eq!(level.height, height.div_ceil(1 << level.level));
                end += (level.width * level.height) as usize * level.stride();
                for (column, row) in (0..level.height)
                    .flat_map(|row| (0..level.width).map(move |column| (column, row)))
                {
                    let block =
                        |k: u32, size: u32| (k << level.level)..((k + 1) << level.level).min(size);
                    for channel in 0..4 {
                        let texels = block(row, height)
                            .flat_map(|y| block(column, width).map(move |x| (x, y)));
                        let range = texels
                            .map(|(x, y)| [texel(&texture, x, y, channel); 2])
                            .fold(EMPTY, hull);
                        let entry = texture.entry(level, column, row);
                        assert_eq!(entry.map(|endpoints| endpoints[channel as usize]), range);
                    }
                }
            }
            let starts: Vec<_> = levels(width, height).map(|level| level.start as u32).collect();
            assert_eq!(texture.words()[end..], starts);
            assert_eq!(texture.words()[LEVEL_TABLE_WORD] as usize, end);
            assert_eq!(
                levels(width, height).last().map(|top| (top.width, top.height)),
                Some((1, 1))
            );
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
                        let access = Access { table: 0, channel: k as u32, taps, wrap, offset };
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
            .map(|top| texture.entry(top, 0, 0).map(|endpoints| endpoints[1]))
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
