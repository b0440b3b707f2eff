//! Texture lookups with interval coordinates: the minimum and maximum of texels, from a min–max
//! pyramid (Clarberg et al. 2010 §3.4).
//!
//! Each step from a coordinate to a texel is monotone as computed (see [`crate::math::texture`]),
//! so the columns and rows of all members lie between those of the endpoints. A lookup reads the
//! two by two blocks that cover them on the finest possible level of the pyramid. If a range wraps
//! around the edge of a repeated image, it reads the last and the first block, or the entire image.
//! If a range is folded at the edges of an octahedral map, it reads all columns or rows between the
//! folded endpoints.
//!
//! The blocks of a subset of a box are within those of the box, so the bounds of a subset are not
//! wider.

use super::{Floats, Interval, Nan, OpLowering};
use crate::ir::{Emit, Op};
use crate::math::EmitExt;
use crate::math::texture::{access, decode, load_component, modulo, round, size, texel_offset};
use crate::texture::{Access, Component, LEVEL_TABLE_WORD, MAX_SIDE, Taps, Wrap};

/// Mask of the exponent bits of a float.
const EXPONENT: i32 = 0x7f80_0000;

/// The sum of the biased exponents of a power of two and its reciprocal.
const EXPONENT_SUM: i32 = 0x7f00_0000;

/// Coordinates up to this magnitude map to texel indices that are far from overflow.
const MAX_NEAR_COORDINATE: f32 = (1 << 30) as f32 / MAX_SIDE as f32;

/// A range of columns or rows, from the first to the last. If the first is greater, the range wraps
/// around the edge.
struct Span<V> {
    first: V,
    last: V,
    /// The maximum index of a column or row.
    end: V,
    /// An integer whose bit length determines the pyramid level to within one level.
    length: V,
    /// Whether all of the range lies outside of the image, and whether some does, if that matters.
    outside: Option<[V; 2]>,
}

/// Coordinates along one dimension, with known facts.
struct CoordinateRange<V> {
    endpoints: [V; 2],
    is_near: bool,
    may_be_nan: bool,
}

impl<E: Emit<Value: PartialEq>> OpLowering<'_, E> {
    /// A word of a table; unbounded unless the index is a singleton.
    pub(super) fn load(
        &mut self,
        table: &Interval<E::Value>,
        index: &Interval<E::Value>,
    ) -> [E::Value; 2] {
        self.case = "single";
        let word = self.emit.load(table.lo, index.lo);
        let single = self.emit_is_singleton(index);
        let unknown = self.emit.not(single);
        self.unbounded_if(unknown, [word; 2])
    }

    /// A channel of an image at texture coordinates.
    pub(super) fn texel(
        &mut self,
        access_word: &Interval<E::Value>,
        u: &Interval<E::Value>,
        v: &Interval<E::Value>,
    ) -> [E::Value; 2] {
        self.case = if is_near(u) && is_near(v) { "near" } else { "any" };
        let access = access(self.emit, access_word.lo);
        let one = self.emit.f32(1.0);
        let [bottom, top] = [v.lo, v.hi].map(|end| self.emit.sub(one, end));
        let mut columns = self.span(access, 0, u, [u.lo, u.hi]);
        let mut rows = self.span(access, 1, v, [top, bottom]);
        if access.wrap == Wrap::Octahedral {
            let is_mirrored =
                [rows.outside, columns.outside].map(|outside| outside.map(|[_, some]| some));
            for (span, is_mirrored) in [&mut columns, &mut rows].into_iter().zip(is_mirrored) {
                self.add_mirrored(span, is_mirrored);
            }
        }
        let [lo, hi] = self.min_and_max(access, &columns, &rows);
        match (access.wrap, columns.outside, rows.outside) {
            (Wrap::Black, Some(columns), Some(rows)) => {
                let [all, some] = [0, 1].map(|k| self.emit.either(columns[k], rows[k]));
                let zero = self.emit.f32(0.0);
                let endpoints = [self.emit.min(lo, zero), self.emit.max(hi, zero)];
                [0, 1].map(|side| {
                    let end = self.emit.select(some, endpoints[side], [lo, hi][side]);
                    self.emit.select(all, zero, end)
                })
            }
            _ => [lo, hi],
        }
    }

    /// A channel of a texel.
    pub(super) fn fetch(
        &mut self,
        access_word: &Interval<E::Value>,
        column: &Interval<E::Value>,
        row: &Interval<E::Value>,
    ) -> [E::Value; 2] {
        self.case = "any";
        let access = access(self.emit, access_word.lo);
        let [columns, rows] = [(0, column), (1, row)].map(|(dimension, indices)| {
            let end = self.last(access, dimension);
            let [first, last] = self.unsigned(indices).map(|index| self.emit.umin(index, end));
            let length = self.emit.isub(last, first);
            Span { first, last, end, length, outside: None }
        });
        self.min_and_max(access, &columns, &rows)
    }

    /// The maximum index of a column (dimension 0) or row (dimension 1).
    fn last(&mut self, access: Access, dimension: usize) -> E::Value {
        let size = size(self.emit, access, dimension as i32);
        let one = self.emit.i32(1);
        self.emit.isub(size, one)
    }

    /// The columns or rows that a lookup reads for coordinates between two endpoints, which are
    /// computed from the endpoints of `from`.
    fn span(
        &mut self,
        access: Access,
        dimension: usize,
        from: &Interval<E::Value>,
        endpoints: [E::Value; 2],
    ) -> Span<E::Value> {
        let range = CoordinateRange {
            endpoints,
            is_near: is_near(from),
            may_be_nan: self.nan == Nan::Suppress && from.facts.nan,
        };
        let [first, last] = self.indices(access, dimension, &range);
        match access.wrap {
            Wrap::Repeat => self.repeated(access, dimension, [first, last]),
            Wrap::Clamp => {
                let end = self.last(access, dimension);
                let zero = self.emit.i32(0);
                let [first, last] = [first, last].map(|index| self.between(index, zero, end));
                let length = self.emit.isub(last, first);
                Span { first, last, end, length, outside: None }
            }
            Wrap::Black => {
                let end = self.last(access, dimension);
                let outside = self.outside([first, last], end);
                let zero = self.emit.i32(0);
                let [first, last] = [first, last].map(|index| self.between(index, zero, end));
                let length = self.emit.isub(last, first);
                Span { first, last, end, length, outside: Some(outside) }
            }
            Wrap::Octahedral => self.folded(access, dimension, [first, last]),
        }
    }

    /// Clamps an integer to [low, high].
    fn between(&mut self, x: E::Value, low: E::Value, high: E::Value) -> E::Value {
        let x = self.emit.smax(x, low);
        self.emit.smin(x, high)
    }

    /// Tests whether all indices between two are outside of the image, and whether some are.
    fn outside(&mut self, [first, last]: [E::Value; 2], end: E::Value) -> [E::Value; 2] {
        let zero = self.emit.i32(0);
        let (starts_before, ends_before) = (self.emit.slt(first, zero), self.emit.slt(last, zero));
        let (starts_after, ends_after) = (self.emit.slt(end, first), self.emit.slt(end, last));
        [self.emit.either(ends_before, starts_after), self.emit.either(starts_before, ends_after)]
    }

    /// Indices of the first and the last column or row, before wrapping.
    fn indices(
        &mut self,
        access: Access,
        dimension: usize,
        range: &CoordinateRange<E::Value>,
    ) -> [E::Value; 2] {
        let size = size(self.emit, access, dimension as i32);
        let extent = self.emit.convert(size);
        let [lo, hi] = range.endpoints.map(|coordinate| {
            let position = self.emit.mul(coordinate, extent);
            let half = self.emit.f32(0.5);
            let position = self.emit.sub(position, half);
            if access.taps == Taps::Point {
                round(self.emit, position)
            } else {
                self.emit.floor(position)
            }
        });
        let [mut first, mut last] = if range.is_near {
            [lo, hi].map(|x| self.emit.truncate_to_int(x))
        } else {
            self.saturate([lo, hi])
        };
        if range.may_be_nan {
            // A NaN maps to texel 0.
            let zero = self.emit.i32(0);
            (first, last) = (self.emit.smin(first, zero), self.emit.smax(last, zero));
        }
        let offset = access.offset[dimension];
        if offset != 0 {
            let (min, max) = (self.emit.i32(i32::MIN + 32), self.emit.i32(i32::MAX - 32));
            let offset = self.emit.i32(offset);
            [first, last] = [first, last].map(|index| {
                let index = if range.is_near { index } else { self.between(index, min, max) };
                self.emit.iadd(index, offset)
            });
        }
        if access.taps == Taps::Bilinear && access.wrap != Wrap::Repeat {
            let (one, max) = (self.emit.i32(1), self.emit.i32(i32::MAX - 1));
            last = if range.is_near { last } else { self.emit.smin(last, max) };
            last = self.emit.iadd(last, one);
        }
        [first, last]
    }

    /// Columns or rows of a repeated image.
    fn repeated(
        &mut self,
        access: Access,
        dimension: usize,
        [first, last]: [E::Value; 2],
    ) -> Span<E::Value> {
        let size = size(self.emit, access, dimension as i32);
        let extent = self.emit.convert(size);
        let (zero, one) = (self.emit.i32(0), self.emit.i32(1));
        let end = self.emit.isub(size, one);
        let start = modulo(self.emit, first, size, extent);
        let mut width = self.emit.isub(last, first);
        if access.taps == Taps::Bilinear {
            let room = self.emit.i32(i32::MAX);
            width = self.emit.umin(width, room);
            width = self.emit.iadd(width, one);
        }
        let is_part = self.emit.ult(width, end);
        let stop = self.emit.iadd(start, width);
        let wraps = self.emit.slt(end, stop);
        let rest = self.emit.isub(stop, size);
        // At the level given by the bit length of `bits`, one block at each edge suffices. Use it
        // if it is finer than the level where two adjacent blocks cover the range.
        let differs = self.emit.xor(start, end);
        let bits = self.emit.or(differs, rest);
        let (other, common) = (self.emit.xor(bits, end), self.emit.and(bits, end));
        let is_long = self.emit.ult(other, common);
        let is_long = self.emit.both(wraps, is_long);
        let is_short = self.emit.not(is_long);
        let is_part = self.emit.both(is_part, is_short);
        let last = self.emit.select(wraps, rest, stop);
        let doubled = self.emit.iadd(bits, bits);
        let length = self.emit.select(wraps, doubled, width);
        let first = self.emit.select(is_part, start, zero);
        let last = self.emit.select(is_part, last, end);
        let length = self.emit.select(is_part, length, end);
        Span { first, last, end, length, outside: None }
    }

    /// Columns or rows of an octahedral map, folded at the edges.
    fn folded(
        &mut self,
        access: Access,
        dimension: usize,
        endpoints: [E::Value; 2],
    ) -> Span<E::Value> {
        let size = size(self.emit, access, dimension as i32);
        let (zero, one, all) = (self.emit.i32(0), self.emit.i32(1), self.emit.i32(-1));
        let end = self.emit.isub(size, one);
        // −size and 2 · size − 1
        let (low, high) = (self.emit.xor(end, all), self.emit.iadd(size, end));
        let [first, last] = endpoints.map(|index| self.between(index, low, high));
        let outside = self.outside([first, last], end);
        let folded = [first, last].map(|index| {
            let below = self.emit.xor(index, all);
            let index = self.emit.smax(index, below);
            let above = self.emit.isub(high, index);
            self.emit.smin(index, above)
        });
        let [min, max] = self.hull(&folded);
        // Whether the first and the last column or row of the image are within the range.
        let (negative, not_before) = (self.emit.slt(first, zero), self.emit.slt(all, last));
        let has_first = self.emit.both(negative, not_before);
        let (beyond, not_after) = (self.emit.slt(end, last), self.emit.slt(first, size));
        let has_last = self.emit.both(beyond, not_after);
        let first = self.emit.select(has_first, zero, min);
        let last = self.emit.select(has_last, end, max);
        let length = self.emit.isub(last, first);
        Span { first, last, end, length, outside: Some(outside) }
    }

    /// Adds the mirrored columns or rows if coordinates are folded along the other dimension.
    fn add_mirrored(&mut self, span: &mut Span<E::Value>, is_mirrored: Option<E::Value>) {
        let Some(is_mirrored) = is_mirrored else { return };
        let [first, last] = [span.last, span.first].map(|index| self.emit.isub(span.end, index));
        let (first, last) = (self.emit.smin(span.first, first), self.emit.smax(span.last, last));
        span.first = self.emit.select(is_mirrored, first, span.first);
        span.last = self.emit.select(is_mirrored, last, span.last);
        span.length = self.emit.isub(span.last, span.first);
    }

    /// The minimum and maximum of a channel over the blocks that cover some columns and rows.
    fn min_and_max(
        &mut self,
        access: Access,
        columns: &Span<E::Value>,
        rows: &Span<E::Value>,
    ) -> [E::Value; 2] {
        let (zero, one) = (self.emit.i32(0), self.emit.i32(1));
        // The level, and 2⁻ˡᵉᵛᵉˡ.
        let length = self.emit.smax(columns.length, rows.length);
        let length = self.emit.smax(length, one);
        let length = self.emit.convert(length);
        let length = self.emit.bits(length);
        let (mask, both) = (self.emit.i32(EXPONENT), self.emit.i32(EXPONENT_SUM));
        let exponent = self.emit.and(length, mask);
        let scale = self.emit.isub(both, exponent);
        let scale = self.emit.float(scale);
        let (mantissa_bits, bias) = (self.emit.i32(23), self.emit.i32(127));
        let level = self.emit.lshr(exponent, mantissa_bits);
        let level = self.emit.isub(level, bias);

        let indices = [columns.first, columns.last, rows.first, rows.last, columns.end];
        let blocks = indices.map(|index| {
            let x = self.emit.convert(index);
            let x = self.emit.mul(x, scale);
            self.emit.truncate_to_int(x)
        });
        // Two blocks of the next level cover three adjacent blocks.
        let [wide, high] = [[blocks[0], blocks[1]], [blocks[2], blocks[3]]].map(|[first, last]| {
            let steps = self.emit.isub(last, first);
            self.emit.slt(one, steps)
        });
        let coarser = self.emit.either(wide, high);
        let [left, right, top, bottom, end] = blocks.map(|block| {
            let half = self.emit.lshr(block, one);
            self.emit.select(coarser, half, block)
        });
        let next = self.emit.iadd(level, one);
        let level = self.emit.select(coarser, next, level);

        let table = self.emit.i32(access.table as i32);
        let starts = self.emit.i32(LEVEL_TABLE_WORD as i32);
        let starts = self.emit.load(table, starts);
        let start = self.emit.iadd(starts, level);
        let start = self.emit.load(table, start);
        // An entry consists of its minima and its maxima, or of a texel.
        let is_texel = self.emit.ieq(level, zero);
        let doubling = self.emit.select(is_texel, zero, one);
        let width = self.emit.iadd(end, one);
        let [top, bottom] = [top, bottom].map(|block| self.emit.imul(block, width));
        let [left, right, top, bottom] = [left, right, top, bottom].map(|entries| {
            let texels = self.emit.shl(entries, doubling);
            texel_offset(self.emit, access, texels)
        });
        let [top, bottom] = [top, bottom].map(|offset| self.emit.iadd(offset, start));
        let channels = self.emit.i32(access.format.channels.count() as i32);
        let gap = self.emit.select(is_texel, zero, channels);
        let corners = [(left, top), (right, top), (left, bottom), (right, bottom)];
        let min = corners.map(|(column, row)| self.emit.iadd(column, row));
        let max = min.map(|first| self.emit.iadd(first, gap));
        [self.extreme(access, min, Op::Min, Op::UMin), self.extreme(access, max, Op::Max, Op::UMax)]
    }

    /// The minimum or maximum of a channel over four texels or entries, given the indices of their
    /// first components and the operations for values and for codes.
    fn extreme(
        &mut self,
        access: Access,
        firsts: [E::Value; 4],
        of_values: Op,
        of_codes: Op,
    ) -> E::Value {
        let components = firsts.map(|first| load_component(self.emit, access, first));
        match (access.format.component, components) {
            (Component::Float | Component::Half, _) => {
                let values = components.map(|component| decode(self.emit, access, component));
                reduce(self.emit, of_values, values)
            }
            // Codes have the order of their values.
            (_, [Some(a), Some(b), Some(c), Some(d)]) => {
                let code = reduce(self.emit, of_codes, [a, b, c, d]);
                decode(self.emit, access, Some(code))
            }
            _ => decode(self.emit, access, None),
        }
    }
}

/// Applies an operation to all of four values.
fn reduce<E: Emit>(e: &mut E, op: Op, [a, b, c, d]: [E::Value; 4]) -> E::Value {
    let (a, b) = (e.op(op, &[a, b]), e.op(op, &[c, d]));
    e.op(op, &[a, b])
}

/// Whether a coordinate is known to map to texel indices that are far from overflow.
fn is_near<V>(coordinate: &Interval<V>) -> bool {
    let floats: &Floats = coordinate.known.floats();
    !floats.nan && -MAX_NEAR_COORDINATE < floats.low() && floats.high() < MAX_NEAR_COORDINATE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::Facts;
    use crate::interval::testing::{OpTest, Operand, random_between};
    use crate::ir::{Table, Type};
    use crate::random::Random;
    use crate::testing::random::image as random_image;
    use crate::testing::random::word;
    use crate::texture::{Channels, Format, Texture};
    use std::collections::BTreeSet;

    const WRAPS: [Wrap; 4] = [Wrap::Repeat, Wrap::Black, Wrap::Clamp, Wrap::Octahedral];

    /// An image in which no two texels are equal, in any channel.
    fn image(width: u32, height: u32) -> Texture {
        let mut random = Random::new(u64::from(width * height));
        let texels = (0..width * height).map(|k| {
            [0, 1, 2, 3].map(|c| random.below(1000) as f32 - 300.0 + (4 * k + c) as f32 / 1e4)
        });
        Texture::new(width, &texels.collect::<Vec<_>>())
    }

    /// A random coordinate: between texels, at the centre of one, anywhere in or near the image, or
    /// a special value.
    fn coordinate(random: &mut Random, size: u32) -> f32 {
        const SPECIAL: [f32; 7] = [0.0, 1.0, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, 1e9, -1e9];
        match random.below(16) {
            0 => SPECIAL[random.below(7)],
            1..=5 => {
                (random.below(12 * size as usize) as f32 - 6.0 * size as f32) / (2.0 * size as f32)
            }
            _ => random.below(1 << 24) as f32 / 4194304.0 - 1.5,
        }
    }

    fn operand(random: &mut Random, ty: Type, endpoints: [u32; 2]) -> Operand {
        let facts = Facts { nan: false, negative_zero: true, singleton: false };
        let members = endpoints
            .into_iter()
            .chain((0..4).map(|_| random_between(random, ty, endpoints)))
            .collect();
        Operand {
            ty,
            endpoints,
            one_handle: endpoints[0] == endpoints[1] && random.once_in(2),
            facts,
            members,
        }
    }

    /// Random coordinates: a singleton, a few texels, a part of the image, or more than the image.
    fn coordinates(random: &mut Random, size: u32, nan: Nan) -> Operand {
        let low = coordinate(random, size);
        let width =
            [0.0, 1e-7, 0.3 / size as f32, 2.0 / size as f32, 0.1, 0.7, 3.0][random.below(7)];
        let high = match random.below(8) {
            0 => coordinate(random, size),
            _ => low + width * random.below(1 << 24) as f32 / 16777216.0,
        };
        let operand = operand(random, Type::F32, [low.min(high), low.max(high)].map(f32::to_bits));
        if random.once_in(8) { operand.with_nan(random, nan) } else { operand }
    }

    fn check(
        op: Op,
        texture: &Texture,
        operands: &[Operand],
        nan: Nan,
        random: &mut Random,
    ) -> [f32; 2] {
        let tables = [Table::new(texture.words())];
        let outcome = OpTest::of(op).with_tables(&tables).check_operands(
            operands,
            nan,
            random,
            &mut BTreeSet::new(),
        );
        assert!(outcome.nan_free, "{operands:x?}");
        outcome.endpoints.map(f32::from_bits)
    }

    fn random_access(random: &mut Random) -> Access {
        Access {
            table: 0,
            format: Format::default(),
            channel: random.below(4) as u32,
            taps: *random.pick(&[Taps::Point, Taps::Bilinear, Taps::Corner]),
            wrap: *random.pick(&WRAPS),
            offset: *random.pick(&[[0, 0], [-8, 3]]),
        }
    }

    #[test]
    fn lookups_contain_results_of_members() {
        for (width, height) in [(1, 1), (2, 2), (3, 5), (64, 37), (7, 1), (16, 32), (33, 65)] {
            let texture = image(width, height);
            let mut random = Random::new(u64::from(width));
            for _ in 0..6000 {
                let access = random_access(&mut random);
                let nan = *random.pick(&[Nan::Propagate, Nan::Suppress, Nan::Ignore]);
                let [u, v] = [width, height].map(|size| coordinates(&mut random, size, nan));
                let endpoints = [&u, &v].map(|x| x.endpoints.map(f32::from_bits));
                let may_be_nan = u.facts.nan || v.facts.nan;
                let bounds = check(
                    Op::Texel,
                    &texture,
                    &[Operand::constant(Type::I32, access.pack()), u, v],
                    nan,
                    &mut random,
                );
                if matches!(access.wrap, Wrap::Clamp | Wrap::Black) && !may_be_nan {
                    let [u, v] = endpoints;
                    assert_eq!(
                        bounds,
                        texture.range_of(access, u, v),
                        "{access:?} in {u:?} × {v:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn fetches_contain_results_of_members() {
        for (width, height) in [(1, 1), (3, 5), (64, 37)] {
            let texture = image(width, height);
            let mut random = Random::new(u64::from(width));
            for _ in 0..4000 {
                let access = Access {
                    channel: random.below(4) as u32,
                    ..Access::new(0, 0, Default::default())
                };
                let [column, row] = [width, height].map(|size| {
                    let endpoints = [0, 1].map(|_| match random.below(4) {
                        0 => word(&mut random, Type::I32) as i32,
                        _ => random.below(size as usize + 3) as i32 - 1,
                    });
                    let endpoints =
                        [endpoints[0].min(endpoints[1]), endpoints[0].max(endpoints[1])]
                            .map(|end| end as u32);
                    operand(&mut random, Type::I32, endpoints)
                });
                check(
                    Op::Fetch,
                    &texture,
                    &[Operand::constant(Type::I32, access.pack()), column, row],
                    Nan::Suppress,
                    &mut random,
                );
            }
        }
    }

    #[test]
    fn bounds_in_all_formats_are_those_of_floats() {
        let mut random = Random::new(5);
        for component in Component::ALL {
            for channels in Channels::ALL {
                for size in [[1, 1], [3, 5], [16, 9], [33, 21]] {
                    let format = Format { component, channels };
                    let (packed, floats) = random_image(&mut random, size, format);
                    for _ in 0..250 {
                        let access = random_access(&mut random);
                        let nan = *random.pick(&[Nan::Propagate, Nan::Suppress, Nan::Ignore]);
                        let [u, v] = size.map(|size| coordinates(&mut random, size, nan));
                        let [found, expected] = [(&packed, format), (&floats, Format::default())]
                            .map(|(image, format)| {
                                let access = Access { format, ..access };
                                let operand = Operand::constant(Type::I32, access.pack());
                                let operands = [operand, u.clone(), v.clone()];
                                check(Op::Texel, image, &operands, nan, &mut random)
                            });
                        assert_eq!(found, expected, "{format:?} {access:?} {u:x?} {v:x?}");
                        let [u, v] = [&u, &v].map(|x| x.endpoints.map(f32::from_bits));
                        let of_image = |image: &Texture| image.range_of(access, u, v);
                        assert_eq!(of_image(&packed), of_image(&floats), "{format:?} {access:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn lookups_across_the_edge_of_a_repeated_image_use_its_edge_blocks() {
        // Each texel holds its column's distance from the edge.
        let texels: Vec<_> = (0..64 * 64).map(|k| [(k % 64).min(63 - k % 64) as f32; 4]).collect();
        let texture = Texture::new(64, &texels);
        let tables = [Table::new(texture.words())];
        let access = Access { taps: Taps::Point, ..Access::new(0, 0, Default::default()) };
        let mut random = Random::new(3);
        let mut range = |u: [f32; 2]| {
            let [u, v] = [u, [0.5; 2]]
                .map(|endpoints| operand(&mut random, Type::F32, endpoints.map(f32::to_bits)));
            let access_word = Operand::constant(Type::I32, access.pack());
            OpTest::of(Op::Texel)
                .with_tables(&tables)
                .run(&[access_word, u, v], Nan::Suppress, None)
                .endpoints
                .map(f32::from_bits)
        };
        assert_eq!(range([0.30, 0.31]), [19.0, 19.0]);
        assert_eq!(range([1.30, 1.31]), [19.0, 19.0]);
        assert_eq!(range([0.25, 0.375]), [16.0, 31.0]);
        // Columns 62, 63 and 0.
        assert_eq!(range([0.98, 1.01]), [0.0, 1.0]);
        assert_eq!(range([-0.1, 0.1]), [0.0, 7.0]);
        assert_eq!(range([-3.0, 2.0]), [0.0, 31.0]);
    }

    #[test]
    fn loads_are_unbounded_unless_their_index_is_a_singleton() {
        let tables = [Table::new(&[7, 8, 9])];
        let mut random = Random::new(1);
        let mut load = |endpoints| {
            let index = Operand { one_handle: false, ..operand(&mut random, Type::I32, endpoints) };
            OpTest::of(Op::Load)
                .with_tables(&tables)
                .run(&[Operand::constant(Type::I32, 0), index], Nan::Suppress, None)
                .endpoints
        };
        assert_eq!(load([1, 1]), [8, 8]);
        assert_eq!(load([1, 2]), [i32::MIN as u32, i32::MAX as u32]);
    }
}
