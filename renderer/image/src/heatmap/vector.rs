//! Colours of vectors and ids.

use super::{ColourScale, NON_FINITE};

/// A mapping from vectors to colours: each component is the intensity of a channel, linearly over
/// the same range. Normals, over −1 to 1, look like a normal map.
#[derive(Clone, Copy, Debug)]
pub struct VectorScale(ColourScale);

impl VectorScale {
    /// Creates a scale over `range`. The default is [`ColourScale::for_values`]' for all components
    /// together.
    pub fn new(components: [&[f32]; 3], range: Option<[f32; 2]>) -> VectorScale {
        VectorScale(ColourScale::for_values(&components.concat(), false, range))
    }

    /// Returns the values of the lowest and the highest intensity.
    pub fn range(&self) -> [f32; 2] {
        self.0.range()
    }

    /// Returns the number of finite components within the range.
    pub fn count_within(&self, components: [&[f32]; 3]) -> usize {
        components.iter().map(|values| self.0.count_within(values)).sum()
    }

    /// Returns the colour of a vector.
    pub(super) fn colour(&self, vector: [f32; 3]) -> [u8; 3] {
        if vector.iter().any(|x| !x.is_finite()) {
            return NON_FINITE;
        }
        let [lo, hi] = self.range().map(f64::from);
        vector.map(|x| code((f64::from(x) - lo) / (hi - lo)))
    }

    /// Returns the intensity at a position on the scale, from 0 to 1.
    pub(super) fn grey_at(&self, position: f64) -> [u8; 3] {
        [code(position); 3]
    }

    /// Returns positions and labels of the ticks.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        self.0.ticks()
    }
}

fn code(position: f64) -> u8 {
    (position.clamp(0.0, 1.0) * 255.0).round() as u8
}

/// Returns the colour of an id: dark grey for 0, which means none. Hues of successive ids differ by
/// the golden angle, so that neighbours in a scene are easy to tell apart, and brightness and
/// saturation vary, so that over 10⁵ ids have distinct colours.
pub fn id_colour(id: u32) -> [u8; 3] {
    if id == 0 {
        return [40; 3];
    }
    // Multiples of the golden ratio modulo 1, and two low-discrepancy numbers beside them (Roberts
    // 2018, "The unreasonable effectiveness of quasirandom sequences").
    let fraction = |ratio: f64| (f64::from(id) * ratio).fract();
    let hue = 6.0 * fraction(0.618_033_988_749_895);
    let value = 0.6 + 0.4 * fraction(0.754_877_666_246_693);
    let saturation = 0.45 + 0.5 * fraction(0.569_840_290_998_053);
    // HSV to RGB: channels rise and fall over the six segments of the hue.
    let channel = |offset: f64| {
        let k = (offset + hue) % 6.0;
        let dip = k.min(4.0 - k).clamp(0.0, 1.0);
        ((value - value * saturation * dip) * 255.0).round() as u8
    };
    [channel(5.0), channel(3.0), channel(1.0)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn components_are_intensities_of_channels() {
        let (x, y, z) = ([-1.0, 1.0, 0.0], [0.0, 1.0, 5.0], [1.0, 1.0, f32::NAN]);
        let scale = VectorScale::new([&x, &y, &z], Some([-1.0, 1.0]));
        let colours: Vec<_> = (0..3).map(|i| scale.colour([x[i], y[i], z[i]])).collect();
        assert_eq!(colours, [[0, 128, 255], [255; 3], NON_FINITE]);
        assert_eq!((scale.grey_at(0.0), scale.grey_at(1.0)), ([0; 3], [255; 3]));
        assert_eq!(scale.count_within([&x, &y, &z]), 7);
    }

    #[test]
    fn default_range_covers_all_components() {
        let normals: Vec<f32> = (0..200).map(|i| i as f32 / 100.0 - 0.995).collect();
        let scale = VectorScale::new([&normals, &[0.0; 200], &[1.0; 200]], None);
        assert_eq!(scale.range(), [-1.0, 1.0]);
    }

    #[test]
    fn ids_have_distinct_colours_and_neighbours_distant_ones() {
        let colours: HashSet<_> = (0..2000).map(id_colour).collect();
        assert!(colours.len() > 1990, "{}", colours.len());
        for id in 1..1000 {
            let [a, b] = [id_colour(id), id_colour(id + 1)];
            let distance: i32 = (0..3).map(|c| (i32::from(a[c]) - i32::from(b[c])).abs()).sum();
            assert!(distance > 100, "{id}: {a:?} {b:?}");
        }
        assert_eq!(id_colour(0), [40; 3]);
    }
}
