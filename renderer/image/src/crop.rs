//! Crops of an image, in pixels or in fractions of its size.

use crate::layers::PixelRect;
use std::fmt;
use std::str::FromStr;

/// A crop `x0, x1, y0, y1` of a full image; x1 and y1 are exclusive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Crop {
    /// Fractions of width and height, from 0 to 1.
    Fractions([f32; 4]),
    /// Pixels.
    Pixels(PixelRect),
}

/// The text is not a crop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected x0,x1,y0,y1 with x0 < x1 and y0 < y1: fractions from 0 to 1, or whole numbers of \
     pixels"
)]
pub struct CropError;

impl FromStr for Crop {
    type Err = CropError;

    /// Parses `x0,x1,y0,y1`: fractions if all four are from 0 to 1, otherwise pixels.
    fn from_str(text: &str) -> Result<Crop, CropError> {
        let numbers: Option<Vec<f64>> = text.split(',').map(|s| s.trim().parse().ok()).collect();
        let Some(&[x0, x1, y0, y1]) = numbers.as_deref() else { return Err(CropError) };
        let all = |predicate: fn(f64) -> bool| [x0, x1, y0, y1].into_iter().all(predicate);
        if !(x0 < x1 && y0 < y1) {
            Err(CropError)
        } else if all(|x| (0.0..=1.0).contains(&x)) {
            Ok(Crop::Fractions([x0, x1, y0, y1].map(|x| x as f32)))
        } else if all(|x| x.fract() == 0.0 && x.abs() < 1e9) {
            let [x0, x1, y0, y1] = [x0, x1, y0, y1].map(|x| x as i64);
            Ok(Crop::Pixels(PixelRect { x0, y0, x1, y1 }))
        } else {
            Err(CropError)
        }
    }
}

impl fmt::Display for Crop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Crop::Fractions([x0, x1, y0, y1]) => write!(f, "{x0},{x1},{y0},{y1}"),
            Crop::Pixels(PixelRect { x0, y0, x1, y1 }) => write!(f, "{x0},{x1},{y0},{y1}"),
        }
    }
}

impl Crop {
    /// Returns the pixels of the crop in the coordinates of the image `full`. Fractions select the
    /// pixels with their upper left corner inside, as in pbrt-v4; the result may be empty. Pixels
    /// are returned as they are, even those outside `full`.
    pub fn area(self, full: PixelRect) -> PixelRect {
        let [x0, x1, y0, y1] = match self {
            Crop::Pixels(area) => return area,
            Crop::Fractions(fractions) => fractions,
        };
        let edge = |fraction: f32, n: usize| (fraction * n as f32).ceil() as i64;
        PixelRect {
            x0: full.x0 + edge(x0, full.width()),
            x1: full.x0 + edge(x1, full.width()),
            y0: full.y0 + edge(y0, full.height()),
            y1: full.y0 + edge(y1, full.height()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_up_to_1_are_fractions_and_others_pixels() {
        assert_eq!("0, 0.5,0.25,1".parse(), Ok(Crop::Fractions([0.0, 0.5, 0.25, 1.0])));
        let pixels = PixelRect { x0: 0, x1: 2, y0: -3, y1: 1 };
        assert_eq!("0,2,-3,1".parse(), Ok(Crop::Pixels(pixels)));
        assert_eq!(Crop::Pixels(pixels).to_string(), "0,2,-3,1");
        for wrong in [
            "",
            "0,1,0",
            "0,1,0,1,0",
            "0,0,0,1",
            "1,0,0,1",
            "0,1.1,0,1",
            "-0.1,1,0,1",
            "0,1,0,nan",
            "0,1e10,0,1",
            "0,inf,0,1",
        ] {
            assert_eq!(wrong.parse::<Crop>(), Err(CropError), "{wrong}");
        }
    }

    #[test]
    fn fractions_round_up_and_start_at_the_full_image() {
        let full = PixelRect::from_size(10, -5, 10, 8);
        let area = Crop::Fractions([0.25, 0.75, 0.0, 0.126]).area(full);
        assert_eq!(area, PixelRect { x0: 13, x1: 18, y0: -5, y1: -3 });
        let pixels = PixelRect { x0: 1, x1: 2, y0: 0, y1: 1 };
        assert_eq!(Crop::Pixels(pixels).area(full), pixels);
    }
}
