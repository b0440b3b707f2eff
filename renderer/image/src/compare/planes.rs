//! Planar images, the input of metrics.

use crate::linear_to_srgb;

/// The channels of an image, each a plane of linear samples, row by row from the top.
#[derive(Clone, Debug, PartialEq)]
pub struct Planes {
    width: usize,
    height: usize,
    planes: Vec<Vec<f32>>,
}

impl Planes {
    /// Creates an image from channels of equal size.
    ///
    /// # Panics
    /// If there is no channel, or one is not `width * height` long.
    pub fn new(width: usize, height: usize, planes: Vec<Vec<f32>>) -> Planes {
        assert!(!planes.is_empty(), "an image has at least one channel");
        assert!(
            planes.iter().all(|p| p.len() == width * height),
            "each channel has {width} × {height} samples"
        );
        Planes { width, height, planes }
    }

    /// Creates an image from interleaved R, G, B.
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

    /// Returns the width in pixels.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the height in pixels.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Returns the number of pixels.
    pub fn len(&self) -> usize {
        self.width * self.height
    }

    /// Returns whether the image has no pixels.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the samples of all channels.
    pub fn channels(&self) -> &[Vec<f32>] {
        &self.planes
    }

    /// Returns the colour of pixel `i`: the first three channels, or the first one as grey.
    pub fn rgb(&self, i: usize) -> [f32; 3] {
        match self.planes.as_slice() {
            [r, g, b, ..] => [r[i], g[i], b[i]],
            [grey, ..] => [grey[i]; 3],
            [] => unreachable!("an image has at least one channel"),
        }
    }

    /// Returns the display-encoded values at `exposure` stops (powers of 2): sRGB in [0, 1].
    /// Propagates NaN.
    pub fn displayed(&self, exposure: f32) -> Planes {
        let gain = libm::exp2f(exposure);
        let code = |&x: &f32| linear_to_srgb((x * gain).clamp(0.0, 1.0));
        let planes = self.planes.iter().map(|plane| plane.iter().map(code).collect()).collect();
        Planes { planes, ..*self }
    }

    /// Sets masked pixels to NaN in all channels.
    pub(super) fn set_nan(&mut self, mask: &[bool]) {
        for plane in &mut self.planes {
            for (x, _) in plane.iter_mut().zip(mask).filter(|(_, masked)| **masked) {
                *x = f32::NAN;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interleaved_and_planar_input_agree() {
        let planes = Planes::from_rgb(2, 1, &[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
        assert_eq!(planes.channels(), [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]);
        assert_eq!((planes.rgb(1), planes.len()), ([4.0, 5.0, 6.0], 2));
        assert_eq!(Planes::new(1, 1, vec![vec![0.5]]).rgb(0), [0.5; 3]);
    }

    #[test]
    fn displayed_values_are_clamped_and_encoded() {
        let linear =
            Planes::new(5, 1, vec![vec![-1.0, 0.107_020_57, f32::INFINITY, f32::NAN, 0.5]]);
        let displayed = linear.displayed(1.0);
        let [low, half, high, nan, one] = displayed.channels()[0][..] else { panic!() };
        assert_eq!((low, high), (0.0, one));
        assert!((half - 0.5).abs() < 1e-6 && (one - 1.0).abs() < 1e-6 && nan.is_nan());
    }
}
