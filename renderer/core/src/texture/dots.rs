//! Dots at random positions: pbrt-v4's `dots`.

use super::noise::noise;
use super::{Lookup, Mapping, Param};
use lightbound_math::{Vec2, Vec3};

/// Radius of a dot, in units of cells.
const RADIUS: f32 = 0.35;

/// Dots within unit cells around the integer coordinates; about half of the cells have one.
#[derive(Clone, Debug)]
pub struct Dots {
    /// Texture coordinates.
    pub mapping: Mapping,
    /// Value inside dots.
    pub inside: Param,
    /// Value outside dots.
    pub outside: Param,
}

impl Dots {
    /// Evaluates the texture as linear RGB.
    pub fn eval(&self, lookup: &Lookup) -> Vec3 {
        let inside = is_inside_dot(self.mapping.st(lookup));
        if inside { self.inside.rgb(lookup) } else { self.outside.rgb(lookup) }
    }
}

/// Returns whether a dot covers the coordinates; false if one is not finite.
fn is_inside_dot(st: Vec2) -> bool {
    let cell = (st + 0.5).floor();
    let random = |s: f32, t: f32| noise(Vec3::new(cell.x + s, cell.y + t, 0.5));
    let has_dot = random(0.5, 0.5) > 0.0;
    if !has_dot {
        return false;
    }
    let shift = (0.5 - RADIUS) * Vec2::new(random(1.5, 2.8), random(4.5, 9.8));
    (st - (cell + shift)).length_squared() < RADIUS * RADIUS
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A part of the texture as pbrt-v4's function gives it.
    #[test]
    fn dots_are_where_pbrt_has_them() {
        let expected = "\
            ....................###..##.....\n\
            ....................###..##.....\n\
            .....................#..........\n\
            .#...........#..................\n\
            ###.....###.###..##.###......##.\n\
            ###.....###..##.###.###......##.\n\
            .................#..............\n\
            ................................\n";
        let inside =
            |i: u32, j: u32| is_inside_dot(Vec2::new(i as f32 * 0.25 - 7.3, j as f32 * 0.25 - 5.1));
        let row = |j| (0..32).map(|i| if inside(i, j) { '#' } else { '.' }).collect::<String>();
        assert_eq!((0..8).map(|j| row(j) + "\n").collect::<String>(), expected);
        let count = (0..64).flat_map(|j| (0..64).map(move |i| inside(i, j))).filter(|&x| x).count();
        assert_eq!(count, 647);
    }

    #[test]
    fn coordinates_that_are_not_finite_are_outside() {
        for st in [Vec2::NAN, Vec2::INFINITY, Vec2::new(0.0, f32::NEG_INFINITY)] {
            assert!(!is_inside_dot(st), "{st}");
        }
    }

    #[test]
    fn dots_select_one_of_two_values() {
        let dots = Dots {
            mapping: Mapping::UV,
            inside: Param::from_float(2.0),
            outside: Param::from_float(3.0),
        };
        let at = |u, v| dots.eval(&Lookup { uv: Vec2::new(u, v), ..Lookup::ORIGIN }).x;
        assert_eq!([at(-7.3 + 5.25, -5.1), at(-7.3, -5.1)], [2.0, 3.0]);
    }
}
