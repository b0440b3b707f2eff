//! Lookups in a grid of texels: wrap modes, and interpolation between texel centres.
//!
//! Coordinates are from (0, 0) at the upper left corner to (1, 1) at the lower right corner.
//! Invariant: each component of a result is between the minimum and maximum of the texels (or 0,
//! beyond the edges of [`WrapMode::Black`]), so that bounds on texels bound every lookup.

use lightbound_math::{Vec2, Vec3};
use std::str::FromStr;

/// The texels beyond the edges of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum WrapMode {
    /// Periodic repetition.
    #[default]
    Repeat,
    /// Zero.
    Black,
    /// The texel at the edge.
    Clamp,
    /// The texel at the edge along u, and repetition along v.
    ClampU,
    /// The texel at the edge along v, and repetition along u.
    ClampV,
    /// Octahedral map of a sphere: edges are mirrored at their midpoints. (Beyond the edges at 0,
    /// pbrt-v4 takes the second texel instead of the first; here, opposite edges are symmetric.)
    OctahedralSphere,
}

impl WrapMode {
    /// Returns the wrap modes along u and v.
    pub(super) fn axes(self) -> [WrapMode; 2] {
        match self {
            WrapMode::ClampU => [WrapMode::Clamp, WrapMode::Repeat],
            WrapMode::ClampV => [WrapMode::Repeat, WrapMode::Clamp],
            wrap => [wrap; 2],
        }
    }
}

#[cfg(test)]
impl WrapMode {
    /// All of them.
    pub const ALL: [WrapMode; 6] = [
        WrapMode::Repeat,
        WrapMode::Black,
        WrapMode::Clamp,
        WrapMode::OctahedralSphere,
        WrapMode::ClampU,
        WrapMode::ClampV,
    ];
}

impl FromStr for WrapMode {
    type Err = String;

    /// Parses pbrt's names, and `clampu` and `clampv`.
    fn from_str(name: &str) -> Result<WrapMode, String> {
        match name {
            "repeat" => Ok(WrapMode::Repeat),
            "black" => Ok(WrapMode::Black),
            "clamp" => Ok(WrapMode::Clamp),
            "clampu" => Ok(WrapMode::ClampU),
            "clampv" => Ok(WrapMode::ClampV),
            "octahedralsphere" => Ok(WrapMode::OctahedralSphere),
            _ => Err(format!(
                "unknown wrap mode `{name}`; use repeat, black, clamp, clampu, clampv or \
                 octahedralsphere"
            )),
        }
    }
}

/// A grid of texels, which are functions of column and row.
pub(crate) struct Texels<F> {
    size: (u32, u32),
    wrap: WrapMode,
    texel: F,
}

impl<F: Fn(u32, u32) -> Vec3> Texels<F> {
    /// Creates a grid with `size` columns and rows. NaN components of texels count as 0.
    pub fn new(size: (u32, u32), wrap: WrapMode, texel: F) -> Texels<F> {
        Texels { size, wrap, texel }
    }

    /// Returns the numbers of columns and rows.
    pub fn size(&self) -> Vec2 {
        Vec2::new(self.size.0 as f32, self.size.1 as f32)
    }

    /// Returns the coordinates in units of texels, with integers at the centres.
    pub fn position(&self, st: Vec2) -> Vec2 {
        let Vec2 { x: width, y: height } = self.size();
        Vec2::new(st.x * width - 0.5, st.y * height - 0.5)
    }

    /// Returns the nearest texel.
    pub fn nearest(&self, st: Vec2) -> Vec3 {
        let Vec2 { x, y } = self.position(st);
        self.get(index(x.round()), index(y.round()))
    }

    /// Interpolates bilinearly between the four nearest texels.
    pub fn bilinear(&self, st: Vec2) -> Vec3 {
        let Vec2 { x, y } = self.position(st);
        let (x0, y0) = (x.floor(), y.floor());
        let (i, j) = (index(x0), index(y0));
        let (dx, dy) = (x - x0, y - y0);
        let [a, b, c, d] =
            [(i, j), (i + 1, j), (i, j + 1), (i + 1, j + 1)].map(|(i, j)| self.get(i, j));
        let v = (a * (1.0 - dx) + b * dx) * (1.0 - dy) + (c * (1.0 - dx) + d * dx) * dy;
        // If a coordinate is infinite, v is NaN, and `max` returns the other operand.
        v.max(a.min(b).min(c).min(d)).min(a.max(b).max(c).max(d))
    }

    /// Returns the texel at any integer coordinates, according to the wrap mode.
    pub fn get(&self, x: i64, y: i64) -> Vec3 {
        let (width, height) = (self.size.0 as i64, self.size.1 as i64);
        let inside = (0..width).contains(&x) && (0..height).contains(&y);
        let (x, y) = match self.wrap {
            _ if inside => (x, y),
            WrapMode::Repeat => (x.rem_euclid(width), y.rem_euclid(height)),
            WrapMode::Clamp => (x.clamp(0, width - 1), y.clamp(0, height - 1)),
            WrapMode::ClampU => (x.clamp(0, width - 1), y.rem_euclid(height)),
            WrapMode::ClampV => (x.rem_euclid(width), y.clamp(0, height - 1)),
            WrapMode::Black => return Vec3::ZERO,
            WrapMode::OctahedralSphere => octahedral(x, y, width, height),
        };
        let v = (self.texel)(x as u32, y as u32);
        Vec3::select(v.is_nan_mask(), Vec3::ZERO, v)
    }
}

/// Converts an integral float to a texel index. The cast to 32 bits saturates and maps NaN to 0, so
/// the indices of neighbouring texels cannot overflow 64 bits.
fn index(x: f32) -> i64 {
    x as i32 as i64
}

/// Maps coordinates beyond an edge back through the same edge, mirrored at its midpoint.
fn octahedral(x: i64, y: i64, width: i64, height: i64) -> (i64, i64) {
    let (mut x, mut y) = (x.clamp(-width, 2 * width - 1), y.clamp(-height, 2 * height - 1));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_wrapped_separately() {
        let at = |wrap: WrapMode, x, y| {
            let texels = Texels::new((3, 2), wrap, |x, y| Vec3::splat((x + 10 * y) as f32));
            texels.get(x, y).x
        };
        for (name, expected) in [("clampu", [0.0, 12.0, 10.0]), ("clampv", [2.0, 0.0, 10.0])] {
            let wrap: WrapMode = name.parse().unwrap();
            assert_eq!([at(wrap, -1, 0), at(wrap, 3, -1), at(wrap, 0, 3)], expected, "{name}");
            for (x, y) in [(1, 1), (4, 1), (1, -2), (-7, 5)] {
                let [u, v] = wrap.axes();
                let column = at(u, x, 0) % 10.0;
                let row = at(v, 0, y) - at(v, 0, y) % 10.0;
                assert_eq!(at(wrap, x, y), column + row, "{name} {x} {y}");
            }
        }
    }

    #[test]
    fn octahedral_edges_are_mirrored_at_their_midpoints() {
        assert_eq!([octahedral(-1, 0, 4, 4), octahedral(4, 1, 4, 4)], [(0, 3), (3, 2)]);
        assert_eq!([octahedral(1, -1, 4, 4), octahedral(0, 4, 4, 4)], [(2, 0), (3, 3)]);
    }
}
