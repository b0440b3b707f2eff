//! Texture lookups: map coordinates to texels, and texels to a value.
//!
//! The lookup matches the renderer's image maps. (s, t) = (u, 1 − v) is (0, 0) at the upper left
//! corner and (1, 1) at the lower right corner. The location in texel units is (x, y), where x = s
//! · width − ½ and y = t · height − ½, with integers at texel centers. The nearest texel is at the
//! rounded location, with halves rounded away from zero. The four nearest texels are in columns ⌊x⌋
//! and ⌊x⌋ + 1 and in rows ⌊y⌋ and ⌊y⌋ + 1. Texel indices saturate at the limits of 32-bit integers
//! and are 0 for NaN. Then [`Wrap`] maps them into the image.
//!
//! Bounds rely on two properties. First, each end of the footprint is monotone in its coordinate,
//! because every step is monotone as computed. Second, a value lies in the hull of the texels in
//! its footprint, because interpolated values are clamped to it. If a coordinate is NaN, the clamp
//! also replaces the NaN result by one of the texels.

use super::{EmitExt, integer, with_sign};
use crate::ir::Emit;
use crate::texture::{Access, Component, HALF_REBIAS, HEADER_WORDS, MIN_NORMAL_HALF, Taps, Wrap};

/// Decodes the constant that describes the access.
pub(crate) fn access<E: Emit>(e: &E, access: E::Value) -> Access {
    e.known(access).and_then(Access::unpack).expect("the access is a valid constant")
}

/// A column or a row of a footprint, before effects of the other axis.
#[derive(Clone, Copy)]
struct Tap<V> {
    /// Index of the texel; unspecified if the texel is black.
    index: V,
    outside: Outside<V>,
}

/// Effect of a tap outside the image.
#[derive(Clone, Copy)]
enum Outside<V> {
    /// None: the tap is inside.
    None,
    /// The texel is black if this condition holds.
    Black(V),
    /// If the condition holds, the other axis is mirrored. The second value is the mirrored index
    /// on this axis.
    Mirrored(V, V),
}

/// The footprint along one axis.
struct Axis<V> {
    /// Number of columns or rows of the image.
    size: V,
    first: Tap<V>,
    /// The next tap and its weight, if values are interpolated.
    next: Option<(Tap<V>, V)>,
}

/// A channel of an image, sampled at texture coordinates: u to the right and v up, both in [0, 1]
/// over the image
pub fn texel<E: Emit>(e: &mut E, operand: E::Value, u: E::Value, v: E::Value) -> E::Value {
    let access = access(e, operand);
    let one = e.f32(1.0);
    if access.format.channels.component(access.channel).is_none() && access.wrap != Wrap::Black {
        return one;
    }
    let t = e.sub(one, v);
    let (columns, rows) = (axis(e, access, 0, u), axis(e, access, 1, t));
    let width = columns.size;
    let mut tap = |column, row| read_tap(e, access, width, column, row);
    match (columns.next, rows.next) {
        (Some((right, dx)), Some((below, dy))) => {
            let upper = [tap(columns.first, rows.first), tap(right, rows.first)];
            let lower = [tap(columns.first, below), tap(right, below)];
            interpolate(e, [upper, lower], [dx, dy])
        }
        _ => tap(columns.first, rows.first),
    }
}

/// A channel of a texel, with unsigned column and row counted from the top left; clamped to the
/// image
pub fn fetch<E: Emit>(e: &mut E, operand: E::Value, column: E::Value, row: E::Value) -> E::Value {
    let access = access(e, operand);
    let one = e.i32(1);
    let [width, height] = [0, 1].map(|dimension| size(e, access, dimension));
    let [right, bottom] = [width, height].map(|size| e.isub(size, one));
    let (column, row) = (e.umin(column, right), e.umin(row, bottom));
    load_texel(e, access, width, column, row)
}

/// Number of columns (dimension 0) or rows (1) of an image.
#[inline(always)]
pub(crate) fn size<E: Emit>(e: &mut E, access: Access, dimension: i32) -> E::Value {
    let (table, word) = (e.i32(access.table as i32), e.i32(dimension));
    e.load(table, word)
}

/// The footprint along a dimension.
#[inline(always)]
fn axis<E: Emit>(
    e: &mut E,
    access: Access,
    dimension: usize,
    coordinate: E::Value,
) -> Axis<E::Value> {
    let size = size(e, access, dimension as i32);
    let extent = e.convert(size);
    let location = e.mul(coordinate, extent);
    let half = e.f32(0.5);
    let location = e.sub(location, half);
    let rounded = match access.taps {
        Taps::Point => round(e, location),
        Taps::Bilinear | Taps::Corner => e.floor(location),
    };
    let mut index = integer::to_s32(e, rounded);
    let offset = access.offset[dimension];
    if offset != 0 {
        // Leave room for the offset and the next tap.
        let (min, max) = (e.i32(i32::MIN + 32), e.i32(i32::MAX - 32));
        index = e.smax(index, min);
        index = e.smin(index, max);
        let offset = e.i32(offset);
        index = e.iadd(index, offset);
    }
    let interpolates = access.taps == Taps::Bilinear;
    let (first, next) = match access.wrap {
        Wrap::Repeat => repeat(e, index, size, extent, interpolates),
        Wrap::Black => black(e, index, size, interpolates),
        Wrap::Clamp => clamp(e, index, size, interpolates),
        Wrap::Octahedral => octahedral(e, index, size, interpolates),
    };
    Axis { size, first, next: next.map(|next| (next, e.sub(location, rounded))) }
}

/// Rounds to the nearest integer, halves away from zero.
#[inline(always)]
pub(crate) fn round<E: Emit>(e: &mut E, x: E::Value) -> E::Value {
    // The largest float below ½; adding ½ to it would round up to 1, so it is added instead.
    let below_half = e.f32(0.499_999_97);
    let below_half = with_sign(e, below_half, x);
    let x = e.add(x, below_half);
    e.trunc(x)
}

/// A tap, and the next one if needed.
type TapPair<V> = (Tap<V>, Option<Tap<V>>);

fn inside<V>(index: V) -> Tap<V> {
    Tap { index, outside: Outside::None }
}

/// The index modulo the size.
///
/// For sizes above 256, the float quotient has an error of less than one, so the first remainder is
/// between −1 and 2 times the size. For smaller sizes, the error is at most 64 + 64/size, for the
/// largest indices. Either way a float represents the remainder exactly, for sizes up to 2²³. The
/// second quotient is then correct, since its exact value is an integer or differs from an integer
/// by at least 1/size.
#[inline(always)]
pub(crate) fn modulo<E: Emit>(
    e: &mut E,
    index: E::Value,
    size: E::Value,
    extent: E::Value,
) -> E::Value {
    let mut remainder = index;
    for _ in 0..2 {
        let x = e.convert(remainder);
        let quotient = e.div(x, extent);
        let quotient = e.floor(quotient);
        // 2³¹ becomes −2³¹, which is equal modulo 2³².
        let quotient = e.truncate_to_int(quotient);
        let multiple = e.imul(quotient, size);
        remainder = e.isub(remainder, multiple);
    }
    remainder
}

#[inline(always)]
fn repeat<E: Emit>(
    e: &mut E,
    index: E::Value,
    size: E::Value,
    extent: E::Value,
    interpolates: bool,
) -> TapPair<E::Value> {
    let first = modulo(e, index, size, extent);
    let next = interpolates.then(|| {
        let (zero, one) = (e.i32(0), e.i32(1));
        let next = e.iadd(first, one);
        let is_end = e.ieq(next, size);
        inside(e.select(is_end, zero, next))
    });
    (inside(first), next)
}

#[inline(always)]
fn black<E: Emit>(
    e: &mut E,
    index: E::Value,
    size: E::Value,
    interpolates: bool,
) -> TapPair<E::Value> {
    let tap = |e: &mut E, index| {
        let is_inside = e.ult(index, size);
        Tap { index, outside: Outside::Black(e.not(is_inside)) }
    };
    let first = tap(e, index);
    let next = interpolates.then(|| {
        let one = e.i32(1);
        let next = e.iadd(index, one);
        tap(e, next)
    });
    (first, next)
}

#[inline(always)]
fn clamp<E: Emit>(
    e: &mut E,
    index: E::Value,
    size: E::Value,
    interpolates: bool,
) -> TapPair<E::Value> {
    let (zero, one) = (e.i32(0), e.i32(1));
    let last = e.isub(size, one);
    let first = clamp_integer(e, index, zero, last);
    let next = interpolates.then(|| inside(clamped_successor(e, index, zero, last)));
    (inside(first), next)
}

/// A path that crosses an edge re-enters through the same edge, mirrored at its midpoint.
#[inline(always)]
fn octahedral<E: Emit>(
    e: &mut E,
    index: E::Value,
    size: E::Value,
    interpolates: bool,
) -> TapPair<E::Value> {
    let (all, one) = (e.i32(-1), e.i32(1));
    let last = e.isub(size, one);
    // −size and 2 · size − 1.
    let low = e.xor(last, all);
    let high = e.iadd(size, last);
    let tap = |e: &mut E, index| {
        let is_inside = e.ult(index, size);
        let is_outside = e.not(is_inside);
        // −1 − x for negative x.
        let below = e.xor(index, all);
        let index = e.smax(index, below);
        let above = e.isub(high, index);
        let index = e.smin(index, above);
        Tap { index, outside: Outside::Mirrored(is_outside, e.isub(last, index)) }
    };
    let first = clamp_integer(e, index, low, high);
    let first = tap(e, first);
    let next = interpolates.then(|| {
        let next = clamped_successor(e, index, low, high);
        tap(e, next)
    });
    (first, next)
}

/// Clamps an integer to [low, high].
#[inline(always)]
fn clamp_integer<E: Emit>(e: &mut E, x: E::Value, low: E::Value, high: E::Value) -> E::Value {
    let x = e.smax(x, low);
    e.smin(x, high)
}

/// x + 1 clamped to [low, high], even if x + 1 overflows.
#[inline(always)]
fn clamped_successor<E: Emit>(e: &mut E, x: E::Value, low: E::Value, high: E::Value) -> E::Value {
    let one = e.i32(1);
    let (low, high) = (e.isub(low, one), e.isub(high, one));
    let x = clamp_integer(e, x, low, high);
    e.iadd(x, one)
}

/// The value of the texel in a column and a row.
#[inline(always)]
fn read_tap<E: Emit>(
    e: &mut E,
    access: Access,
    width: E::Value,
    column: Tap<E::Value>,
    row: Tap<E::Value>,
) -> E::Value {
    match (column.outside, row.outside) {
        (Outside::Black(left_or_right), Outside::Black(above_or_below)) => {
            let is_outside = e.either(left_or_right, above_or_below);
            let (zero, texel) = (e.f32(0.0), load_texel(e, access, width, column.index, row.index));
            e.select(is_outside, zero, texel)
        }
        (
            Outside::Mirrored(mirrors_rows, mirrored_column),
            Outside::Mirrored(mirrors_columns, mirrored_row),
        ) => {
            let column = e.select(mirrors_columns, mirrored_column, column.index);
            let row = e.select(mirrors_rows, mirrored_row, row.index);
            load_texel(e, access, width, column, row)
        }
        _ => load_texel(e, access, width, column.index, row.index),
    }
}

/// Loads a channel of the texel in a column and a row.
#[inline(always)]
fn load_texel<E: Emit>(
    e: &mut E,
    access: Access,
    width: E::Value,
    column: E::Value,
    row: E::Value,
) -> E::Value {
    let row_start = e.imul(row, width);
    let texel = e.iadd(row_start, column);
    let offset = texel_offset(e, access, texel);
    let first = e.i32(access.format.first_component() as i32);
    let first = e.iadd(offset, first);
    let component = load_component(e, access, first);
    decode(e, access, component)
}

/// Number of components of some texels.
#[inline(always)]
pub(crate) fn texel_offset<E: Emit>(e: &mut E, access: Access, texels: E::Value) -> E::Value {
    match access.format.channels.count() {
        1 => texels,
        // Faster than a product.
        3 => {
            let one = e.i32(1);
            let doubled = e.shl(texels, one);
            e.iadd(doubled, texels)
        }
        count => {
            let log = e.i32(count.ilog2() as i32);
            e.shl(texels, log)
        }
    }
}

/// Loads the component of a channel, as an integer, of the texel or pyramid entry whose first
/// component has an index. `None` if the channel is not stored. Channels share loads and shifts.
/// Shifts by variable amounts would take longer than these by constants under conditions.
#[inline(always)]
pub(crate) fn load_component<E: Emit>(
    e: &mut E,
    access: Access,
    first: E::Value,
) -> Option<E::Value> {
    let format = access.format;
    let component = format.channels.component(access.channel)?;
    let (bits, per_word) = (format.component.bits(), format.components_per_word());
    let count = format.channels.count() as u32;
    let table = e.i32(access.table as i32);
    let word_log = e.i32(per_word.ilog2() as i32);
    let word_of = |e: &mut E, index| e.lshr(index, word_log);
    if per_word == 1 {
        let component = e.i32(component as i32);
        let word = e.iadd(first, component);
        return Some(e.load(table, word));
    }
    let mask = e.i32((u32::MAX >> (u32::BITS - bits)) as i32);
    let extract = |e: &mut E, word, place: u32| {
        let place = e.i32((place * bits) as i32);
        let shifted = e.lshr(word, place);
        e.and(shifted, mask)
    };
    let word = word_of(e, first);
    if count == 3 {
        let last = e.i32(2);
        let last = e.iadd(first, last);
        let last = word_of(e, last);
        let (low, high) = (e.load(table, word), e.load(table, last));
        let (half, rest) = (e.i32(16), e.i32(bits as i32));
        // Two components of 8 bits, or one of 16.
        let (upper, lower) = (e.lshr(low, half), e.shl(high, half));
        let middle = e.or(upper, lower);
        if per_word == 2 {
            return Some(match component {
                2 => {
                    let shifted = e.lshr(high, rest);
                    let blue = select_bit(e, first, 1, shifted, high);
                    e.and(blue, mask)
                }
                component => {
                    let word = select_bit(e, first, 1, middle, low);
                    extract(e, word, component)
                }
            });
        }
        let word = select_bit(e, first, 2, middle, low);
        let shifted = e.lshr(word, rest);
        let word = select_bit(e, first, 1, shifted, word);
        return Some(extract(e, word, component));
    }
    // The texel is a part of a word, or whole words.
    let offset = e.i32((component / per_word) as i32);
    let word = e.iadd(word, offset);
    let mut word = e.load(table, word);
    let mut texels = count;
    while texels < per_word {
        let size = e.i32((texels * bits) as i32);
        let shifted = e.lshr(word, size);
        word = select_bit(e, first, texels, shifted, word);
        texels *= 2;
    }
    Some(extract(e, word, component % per_word))
}

/// `one` if a bit of an index is set, else `zero`.
#[inline(always)]
fn select_bit<E: Emit>(
    e: &mut E,
    index: E::Value,
    bit: u32,
    one: E::Value,
    zero: E::Value,
) -> E::Value {
    let (bit, clear) = (e.i32(bit as i32), e.i32(0));
    let bit = e.and(index, bit);
    let is_clear = e.ieq(bit, clear);
    e.select(is_clear, zero, one)
}

/// The value of a component; 1 if the channel is not stored.
#[inline(always)]
pub(crate) fn decode<E: Emit>(e: &mut E, access: Access, component: Option<E::Value>) -> E::Value {
    let Some(bits) = component else { return e.f32(1.0) };
    let mut unorm = |max| {
        let (code, max) = (e.convert(bits), e.f32(max));
        e.div(code, max)
    };
    match access.format.decoding(access.channel) {
        Component::Float => e.float(bits),
        Component::Half => half(e, bits),
        Component::Unorm8 => unorm(255.0),
        Component::Unorm16 => unorm(65535.0),
        Component::Palette8 | Component::Palette16 => {
            let (table, palette) = (e.i32(access.table as i32), e.i32(HEADER_WORDS as i32));
            let word = e.iadd(bits, palette);
            let value = e.load(table, word);
            e.float(value)
        }
    }
}

/// The value of a finite half-precision float. No step has a subnormal operand, which would be slow
/// on some processors.
#[inline(always)]
fn half<E: Emit>(e: &mut E, bits: E::Value) -> E::Value {
    let (magnitude_bits, sign_bit) = (e.i32(0x7fff), e.i32(0x8000));
    let (magnitude, sign) = (e.and(bits, magnitude_bits), e.and(bits, sign_bit));
    let (fraction_bits, sign_shift) = (e.i32(13), e.i32(16));
    let (magnitude, sign) = (e.shl(magnitude, fraction_bits), e.shl(sign, sign_shift));
    let rebias = e.i32(HALF_REBIAS as i32);
    let normal = e.iadd(magnitude, rebias);
    // A subnormal, as a fraction of the least exponent, is too large by 1.
    let least = e.f32(MIN_NORMAL_HALF);
    let least_bits = e.i32(MIN_NORMAL_HALF.to_bits() as i32);
    let subnormal = e.iadd(magnitude, least_bits);
    let subnormal = e.float(subnormal);
    let subnormal = e.sub(subnormal, least);
    let subnormal = e.bits(subnormal);
    let fraction_end = e.i32(1 << 23);
    let is_subnormal = e.slt(magnitude, fraction_end);
    let magnitude = e.select(is_subnormal, subnormal, normal);
    let value = e.or(magnitude, sign);
    e.float(value)
}

/// Interpolates four texels bilinearly, upper row first, and clamps the result to their hull.
#[inline(always)]
fn interpolate<E: Emit>(
    e: &mut E,
    [[a, b], [c, d]]: [[E::Value; 2]; 2],
    [dx, dy]: [E::Value; 2],
) -> E::Value {
    let mut mix = |low, high, t| {
        let one = e.f32(1.0);
        let rest = e.sub(one, t);
        let (low, high) = (e.mul(low, rest), e.mul(high, t));
        e.add(low, high)
    };
    let (upper, lower) = (mix(a, b, dx), mix(c, d, dx));
    let value = mix(upper, lower, dy);
    let [mut lo, mut hi] = [a, a];
    for x in [b, c, d] {
        (lo, hi) = (e.min(lo, x), e.max(hi, x));
    }
    // If the value is NaN, this yields `lo`.
    let value = e.max(lo, value);
    e.min(value, hi)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::{Builder, Rules};
    use crate::interpreter;
    use crate::ir::{Op, Table, Type};
    use crate::math::eval::ConstantEvaluator;
    use crate::passes;
    use crate::random::Random;
    use crate::target::Target;
    use crate::testing::random::image;
    use crate::texture::{Channels, Format, Texture, TextureState};
    use crate::{Arena, Batch, Kernel};

    const WRAPS: [Wrap; 4] = [Wrap::Repeat, Wrap::Black, Wrap::Clamp, Wrap::Octahedral];

    /// An image, with a reference implementation of image maps as in the renderer.
    struct Image {
        width: i64,
        height: i64,
        texels: Vec<[f32; 4]>,
    }

    impl Image {
        fn new(width: i64, height: i64) -> Image {
            let mut random = Random::new(width as u64 * 1000 + height as u64);
            let texels = (0..width * height)
                .map(|_| [(); 4].map(|()| random.below(1 << 16) as f32 / 997.0 - 20.0))
                .collect();
            Image { width, height, texels }
        }

        fn texture(&self) -> Texture {
            Texture::new(self.width as u32, &self.texels)
        }

        fn texel(&self, access: Access, x: i64, y: i64) -> f32 {
            let (width, height) = (self.width, self.height);
            let inside = (0..width).contains(&x) && (0..height).contains(&y);
            let (x, y) = match access.wrap {
                _ if inside => (x, y),
                Wrap::Repeat => (x.rem_euclid(width), y.rem_euclid(height)),
                Wrap::Clamp => (x.clamp(0, width - 1), y.clamp(0, height - 1)),
                Wrap::Black => return 0.0,
                Wrap::Octahedral => {
                    let (mut x, mut y) =
                        (x.clamp(-width, 2 * width - 1), y.clamp(-height, 2 * height - 1));
                    if x < 0 || x >= width {
                        x = if x < 0 { -1 - x } else { 2 * width - 1 - x };
                        y = height - 1 - y;
                    }
                    if y < 0 || y >= height {
                        y = if y < 0 { -1 - y } else { 2 * height - 1 - y };
                        x = width - 1 - x;
                    }
                    (x, y)
                }
            };
            self.texels[(y * width + x) as usize][access.channel as usize]
        }

        fn lookup(&self, access: Access, u: f32, v: f32) -> f32 {
            let index = |x: f32| x as i32 as i64;
            let (s, t) = (u, 1.0 - v);
            let (x, y) = (s * self.width as f32 - 0.5, t * self.height as f32 - 0.5);
            let [right, down] = access.offset.map(i64::from);
            let at = |i: i64, j: i64| self.texel(access, i + right, j + down);
            if access.taps == Taps::Point {
                return at(index(x.round()), index(y.round()));
            }
            let (x0, y0) = (x.floor(), y.floor());
            let (i, j) = (index(x0), index(y0));
            if access.taps == Taps::Corner {
                return at(i, j);
            }
            let (dx, dy) = (x - x0, y - y0);
            let [a, b, c, d] =
                [(i, j), (i + 1, j), (i, j + 1), (i + 1, j + 1)].map(|(i, j)| at(i, j));
            let value = (a * (1.0 - dx) + b * dx) * (1.0 - dy) + (c * (1.0 - dx) + d * dx) * dy;
            value.max(a.min(b).min(c).min(d)).min(a.max(b).max(c).max(d))
        }
    }

    /// Accesses with all taps and wrap modes.
    fn accesses(offset: [i32; 2]) -> impl Iterator<Item = Access> {
        let taps = [Taps::Point, Taps::Bilinear, Taps::Corner];
        taps.into_iter().flat_map(move |taps| {
            WRAPS.map(|wrap| Access {
                channel: 2,
                taps,
                wrap,
                offset,
                ..Access::new(1, 0, TextureState::default())
            })
        })
    }

    /// A coordinate: a special value, a texel edge or center, a common value, or a large one.
    fn coordinate(random: &mut Random, size: i64) -> f32 {
        const SPECIAL: [f32; 14] = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            2.0,
            -1e-30,
            1e-45,
            f32::NAN,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::MAX,
            f32::MIN,
            1e9,
        ];
        match random.below(8) {
            0 => SPECIAL[random.below(14)],
            1 | 2 => {
                (random.below(40 * size as usize) as f32 - 20.0 * size as f32) / (2.0 * size as f32)
            }
            3 => (random.below(1 << 24) as f32 - 8388608.0) * (random.below(1 << 10) as f32),
            4 => f32::from_bits(random.bits() as u32),
            _ => random.below(1 << 24) as f32 / 4194304.0 - 1.5,
        }
    }

    fn check(image: &Image, access: Access, rows: usize, seed: u64) {
        let texture = image.texture();
        let tables = [Table::new(&[0]), Table::new(texture.words())];
        let mut random = Random::new(seed);
        for _ in 0..rows {
            let (u, v) =
                (coordinate(&mut random, image.width), coordinate(&mut random, image.height));
            let args = [access.pack(), u.to_bits(), v.to_bits()];
            let actual = f32::from_bits(
                Op::Texel.eval_with(&mut ConstantEvaluator { tables: &tables }, &args),
            );
            // With an offset, the implementation saturates indices slightly before the limits of
            // integers.
            let is_far =
                |x: f32, size: i64| !(x * size as f32).is_finite() || (x * size as f32).abs() > 2e9;
            if access.offset != [0, 0] && (is_far(u, image.width) || is_far(v, image.height)) {
                continue;
            }
            let expected = image.lookup(access, u, v);
            assert!(
                actual == expected,
                "{access:?} at ({u:e}, {v:e}) of {} × {}: {actual}, not {expected}",
                image.width,
                image.height
            );
        }
    }

    #[test]
    fn lookups_match_the_reference() {
        for (width, height) in [(1, 1), (1, 7), (2, 1), (2, 2), (3, 5), (64, 37), (300, 2)] {
            let image = Image::new(width, height);
            for (k, access) in accesses([0, 0]).chain(accesses([7, -8])).enumerate() {
                check(&image, access, 2000, k as u64);
            }
        }
    }

    #[test]
    fn large_coordinates_wrap_around_exactly() {
        let sizes = [
            1,
            2,
            3,
            5,
            7,
            63,
            64,
            65,
            127,
            128,
            129,
            255,
            256,
            257,
            1000,
            4097,
            65535,
            1 << 20,
            (1 << 23) - 1,
            1 << 23,
        ];
        let mut random = Random::new(3);
        for size in sizes {
            for k in 0..3000 {
                let x = match k {
                    0 => i32::MAX,
                    1 => i32::MIN,
                    2 => i32::MAX - 1,
                    k if k % 2 == 0 => (random.bits() as i32) >> random.below(32),
                    _ => (random.bits() as i32 / size)
                        .wrapping_mul(size)
                        .wrapping_sub(random.below(3) as i32),
                };
                let (size, extent) = (size as u32, (size as f32).to_bits());
                let (first, next) =
                    repeat(&mut ConstantEvaluator::default(), x as u32, size, extent, true);
                let expected = i64::from(x).rem_euclid(i64::from(size)) as u32;
                assert_eq!(first.index, expected, "{x} modulo {size}");
                assert_eq!(
                    next.map(|next| next.index),
                    Some((expected + 1) % size),
                    "{x} + 1 modulo {size}"
                );
            }
        }
    }

    #[test]
    fn lowered_lookups_have_the_same_bits() {
        let image = Image::new(5, 3);
        let texture = image.texture();
        let tables = [Table::new(&[0]), Table::new(texture.words())];
        for access in accesses([0, 0]).chain(accesses([1, -2])) {
            let mut b = Builder::new("lookup", Rules::Exact);
            let (u, v) = (b.input("u", Type::F32), b.input("v", Type::F32));
            let operand = b.i32(access.pack() as i32);
            let value = b.op(Op::Texel, &[operand, u, v]);
            let (column, row) = (b.op(Op::Bits, &[u]), b.op(Op::Bits, &[v]));
            let texel = b.op(Op::Fetch, &[operand, column, row]);
            let function = b.finish([("value".to_owned(), value), ("texel".to_owned(), texel)]);
            assert_eq!(function.tables(), 2);
            let lowered = passes::lower(&function);
            assert_eq!(lowered.tables(), 2);
            let mut random = Random::new(1);
            for _ in 0..300 {
                let words = [5, 3].map(|size| coordinate(&mut random, size).to_bits());
                let run = |function| interpreter::run(function, &tables, &words, 0);
                assert_eq!(run(&function), run(&lowered), "{access:?} {words:x?}");
            }
        }
    }

    #[test]
    fn fetch_counts_texels_from_the_upper_left_and_clamps() {
        let image = Image::new(3, 2);
        let texture = image.texture();
        let tables = [Table::new(texture.words())];
        let fetch = |channel: u32, column: u32, row: u32| {
            let operand = Access::new(0, channel, TextureState::default()).pack();
            f32::from_bits(
                Op::Fetch
                    .eval_with(&mut ConstantEvaluator { tables: &tables }, &[operand, column, row]),
            )
        };
        for (row, column, channel) in (0..4)
            .flat_map(|row| (0..5).flat_map(move |column| (0..4).map(move |c| (row, column, c))))
        {
            let nearest = image.texels[(row.min(1) * 3 + column.min(2)) as usize][channel as usize];
            assert_eq!(fetch(channel, column, row), nearest);
        }
        assert_eq!(fetch(3, u32::MAX, 1 << 31), image.texels[5][3]);
    }

    #[test]
    fn accesses_round_trip_through_words() {
        for channel in 0..4 {
            for (x, y) in (-16..16).flat_map(|x| [(x, -x - 1), (x, x)]) {
                for access in accesses([x, y]) {
                    for (table, format) in
                        std::iter::zip([0, 1, 2047].into_iter().cycle(), formats())
                    {
                        let access = Access { table, format, channel, ..access };
                        assert_eq!(Access::unpack(access.pack()), Some(access));
                    }
                }
            }
        }
        assert_eq!(Access::unpack(3 << 18), None);
        assert_eq!(Access::unpack(24 << 11), None);
    }

    /// All formats.
    fn formats() -> impl Iterator<Item = Format> {
        let components = Component::ALL.into_iter();
        components
            .flat_map(|component| Channels::ALL.map(|channels| Format { component, channels }))
    }

    #[test]
    fn lookups_in_all_formats_have_the_bits_of_floats() {
        let mut random = Random::new(8);
        for format in formats() {
            for [width, height] in [[1, 1], [3, 2], [13, 7]] {
                let (packed, floats) = image(&mut random, [width, height], format);
                let tables = [packed.words(), floats.words()].map(Table::new);
                let accesses = accesses([0, 0]).chain(accesses([3, -5]));
                for access in
                    accesses.flat_map(|a| [0, 1, 2, 3].map(|c| Access { channel: c, ..a }))
                {
                    for _ in 0..60 {
                        let at = [width, height]
                            .map(|size| coordinate(&mut random, i64::from(size)).to_bits());
                        let texel = [random.below(15), random.below(9)].map(|k| k as u32);
                        for (op, [x, y]) in [(Op::Texel, at), (Op::Fetch, texel)] {
                            let [found, expected] =
                                [(0, format), (1, Format::default())].map(|(table, format)| {
                                    let operand = Access { table, format, ..access }.pack();
                                    let mut evaluator = ConstantEvaluator { tables: &tables };
                                    op.eval_with(&mut evaluator, &[operand, x, y])
                                });
                            assert_eq!(
                                found, expected,
                                "{access:?}, {format:?} of {width} × {height} at {x:x}, {y:x}"
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn machine_code_reads_all_formats() {
        let mut random = Random::new(9);
        let size = [13, 7];
        for format in formats() {
            let (packed, floats) = image(&mut random, size, format);
            for access in accesses([0, 0]) {
                let mut b = Builder::new("lookup", Rules::Exact);
                let (u, v) = (b.input("u", Type::F32), b.input("v", Type::F32));
                let outputs = [0, 1, 2, 3].map(|channel| {
                    let access =
                        b.i32(Access { table: 0, format, channel, ..access }.pack() as i32);
                    (format!("channel{channel}"), b.op(Op::Texel, &[access, u, v]))
                });
                let lowered = passes::lower(&b.finish(outputs));
                let rows: Vec<_> = (0..40)
                    .map(|_| size.map(|size| coordinate(&mut random, i64::from(size)).to_bits()))
                    .collect();
                for target in Target::ALL.into_iter().filter(|target| target.is_available()) {
                    let kernel = Kernel::compile(&Arena::new(), &lowered, target)
                        .expect("the target is available");
                    let mut inputs = Batch::new(target, 2, rows.len());
                    let mut found = Batch::new(target, 4, rows.len());
                    rows.iter().enumerate().for_each(|(row, at)| inputs.set_row(row, 0, at));
                    kernel.run(&[&packed], &inputs, &mut found);
                    for (row, &[u, v]) in rows.iter().enumerate() {
                        for channel in 0..4 {
                            let access = Access { table: 0, channel, ..access };
                            let tables = [Table::new(floats.words())];
                            let expected = Op::Texel.eval_with(
                                &mut ConstantEvaluator { tables: &tables },
                                &[access.pack(), u, v],
                            );
                            assert_eq!(
                                found.bits(row, channel as usize),
                                expected,
                                "{access:?}, {format:?} on {target} at {u:x}, {v:x}"
                            );
                        }
                    }
                }
            }
        }
    }
}
