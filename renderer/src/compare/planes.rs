//! Pictures as metrics see them.

use crate::image::srgb;

/// Channels of a picture, each a plane of linear samples, row by row from the top.
#[derive(Clone, Debug, PartialEq)]
pub struct Planes {
    width: usize,
    height: usize,
    planes: Vec<Vec<f32>>,
}

impl Planes {
    /// Channels of equal size.
    ///
    /// # Panics
    /// If there is no channel, or one is not `width * height` long.
    pub fn new(width: usize, height: usize, planes: Vec<Vec<f32>>) -> Planes {
        assert!(!planes.is_empty() && planes.iter().all(|p| p.len() == width * height));
        Planes { width, height, planes }
    }

    /// Channels R, G, B of a picture that interleaves them.
    ///
    /// # Panics
    /// If `rgb` is not `width * height` long.
    pub fn from_rgb(width: usize, height: usize, rgb: &[[f32; 3]]) -> Planes {
        Planes::new(
            width,
            height,
            [0, 1, 2].map(|c| rgb.iter().map(|pixel| pixel[c]).collect()).into(),
        )
    }

    /// Pixels along x.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Pixels along y.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Pixels.
    pub fn len(&self) -> usize {
        self.width * self.height
    }

    /// Whether there is no pixel.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Samples of all channels.
    pub fn channels(&self) -> &[Vec<f32>] {
        &self.planes
    }

    /// The channels of pixel `i` as a colour: the first three, or the first one as grey.
    pub fn rgb(&self, i: usize) -> [f32; 3] {
        match self.planes.as_slice() {
            [r, g, b, ..] => [r[i], g[i], b[i]],
            [grey, ..] => [grey[i]; 3],
            [] => unreachable!("there is a channel"),
        }
    }

    /// What a display shows of it, `exposure` stops (powers of 2) brighter: the sRGB value, from 0
    /// to 1. NaN stays.
    pub fn displayed(&self, exposure: f32) -> Planes {
        let gain = libm::exp2f(exposure);
        let code = |&x: &f32| srgb((x * gain).clamp(0.0, 1.0));
        let planes = self.planes.iter().map(|plane| plane.iter().map(code).collect()).collect();
        Planes { planes, ..*self }
    }

    /// Makes pixels NaN in all channels where `left_out` says so.
    pub(super) fn leave_out(&mut self, left_out: &[bool]) {
        for plane in &mut self.planes {
            for (x, _) in plane.iter_mut().zip(left_out).filter(|(_, out)| **out) {
                *x = f32::NAN;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interleaved_and_not() {
        let planes = Planes::from_rgb(2, 1, &[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
        assert_eq!(planes.channels(), [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]);
        assert_eq!((planes.rgb(1), planes.len()), ([4.0, 5.0, 6.0], 2));
        assert_eq!(Planes::new(1, 1, vec![vec![0.5]]).rgb(0), [0.5; 3]);
    }

    #[test]
    fn a_display_clamps_and_encodes() {
        let linear =
            Planes::new(5, 1, vec![vec![-1.0, 0.107_020_57, f32::INFINITY, f32::NAN, 0.5]]);
        let shown = linear.displayed(1.0);
        let [low, half, high, nan, one] = shown.channels()[0][..] else { panic!() };
        assert_eq!((low, high), (0.0, one));
        assert!((half - 0.5).abs() < 1e-6 && (one - 1.0).abs() < 1e-6 && nan.is_nan());
    }
}
