//! Pictures of where the error is, with a scale beside them.
//!
//! Errors without a sign are drawn in magma, whose steps look equally large to the eye, from 0; those with one in blue (A is
//! darker) and red (A is brighter). Small pictures are enlarged by a whole factor, so that their pixels stay what they are.

use super::report::number;
use embedded_graphics::Drawable;
use embedded_graphics::mono_font::MonoTextStyle;
use embedded_graphics::mono_font::ascii::FONT_7X13;
use embedded_graphics::pixelcolor::{Rgb888, RgbColor};
use embedded_graphics::prelude::{DrawTarget, OriginDimensions, Pixel, Point, Size};
use embedded_graphics::text::{Baseline, Text};
use std::convert::Infallible;

/// Between the parts of the picture, pixels.
const GAP: usize = 10;
/// Width of the scale.
const BAR: usize = 18;
/// Of a line of text.
const LINE: usize = 13;
/// Of a character.
const LETTER: usize = 7;
/// Height below which maps are enlarged.
const LEGIBLE: usize = 240;
/// What is not finite.
const HOLE: [u8; 3] = [0, 200, 80];

/// What the colours mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// The value of the last colour; what is above has it too.
    pub end: f32,
    /// Whether values below 0 have colours.
    pub signed: bool,
    /// Whether some value is beyond the end.
    pub clipped: bool,
}

impl Scale {
    /// From 0 to `end`, or else to where 99 % of the values are, rounded up to 1, 2 or 5 times a power of 10.
    pub fn of(values: &[f32], signed: bool, end: Option<f32>) -> Scale {
        let mut sizes: Vec<f32> = values.iter().map(|x| x.abs()).filter(|x| x.is_finite()).collect();
        sizes.sort_by(f32::total_cmp);
        let most = sizes.get(sizes.len() * 99 / 100).copied().unwrap_or(0.0);
        let largest = sizes.last().copied().unwrap_or(0.0);
        let end = end.unwrap_or_else(|| round_up(if most > 0.0 { most } else { largest }));
        Scale { end, signed, clipped: largest > end }
    }

    fn colour(&self, value: f32) -> [u8; 3] {
        if !value.is_finite() {
            return HOLE;
        }
        let t = f64::from(value / self.end).clamp(-1.0, 1.0);
        let colour = match self.signed {
            true => colorous::RED_BLUE.eval_continuous(0.5 - 0.5 * t),
            false => colorous::MAGMA.eval_continuous(t.max(0.0)),
        };
        [colour.r, colour.g, colour.b]
    }

    /// Values with a number beside them.
    fn ticks(&self) -> Vec<f32> {
        let steps = 4;
        let first = if self.signed { -steps } else { 0 };
        (first..=steps).map(|i| self.end * i as f32 / steps as f32).collect()
    }

    fn label(&self, tick: f32) -> String {
        let text = number(f64::from(tick));
        match self.clipped && tick.abs() == self.end {
            true if tick > 0.0 => format!(">= {text}"),
            true => format!("<= {text}"),
            false => text,
        }
    }
}

/// The next of 1, 2 and 5 times a power of 10; 1 for 0.
fn round_up(x: f32) -> f32 {
    if x <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(f64::from(x).log10().floor());
    let rounded = [1.0, 2.0, 5.0, 10.0].map(|m| (m * power) as f32).into_iter().find(|r| *r >= x);
    rounded.unwrap_or(x).min(f32::MAX)
}

/// A picture in 8 bits of sRGB.
pub struct Canvas {
    /// Pixels along x.
    pub width: usize,
    /// Pixels along y.
    pub height: usize,
    /// Row by row from the top.
    pub codes: Vec<[u8; 3]>,
}

/// Draws a map `width` wide with its scale, and `title` below.
pub fn draw(values: &[f32], width: usize, scale: &Scale, title: &str) -> Canvas {
    let height = values.len() / width;
    let zoom = LEGIBLE.div_ceil(height).min(LEGIBLE.div_ceil(width)).max(1);
    let (map_width, map_height) = (width * zoom, height * zoom);
    let bar_height = map_height.max(LEGIBLE / 2);
    let labels: Vec<(f32, String)> = scale.ticks().into_iter().map(|tick| (tick, scale.label(tick))).collect();
    let label_width = LETTER * labels.iter().map(|(_, text)| text.chars().count()).max().unwrap_or(0);
    let holes = values.iter().any(|x| !x.is_finite());
    let title = if holes { format!("{title} (green: not finite)") } else { title.into() };
    let bar_left = GAP + map_width + GAP;
    let right = (bar_left + BAR + GAP + label_width).max(GAP + LETTER * title.chars().count());
    let mut canvas = Canvas::blank(right + GAP, GAP + bar_height + GAP + LINE + GAP);
    for (y, x) in (0..map_height).flat_map(|y| (0..map_width).map(move |x| (y, x))) {
        canvas.set(GAP + x, GAP + y, scale.colour(values[y / zoom * width + x / zoom]));
    }
    // The value at each row, the end at the first, 0 or minus the end at the last.
    let low = if scale.signed { -scale.end } else { 0.0 };
    for y in 0..bar_height {
        let value = scale.end + (low - scale.end) * (y as f32 / (bar_height - 1) as f32);
        (0..BAR).for_each(|x| canvas.set(bar_left + x, GAP + y, scale.colour(value)));
    }
    for (tick, text) in &labels {
        let down = (scale.end - tick) / (scale.end - low) * (bar_height - 1) as f32;
        let row = GAP + down.round() as usize;
        (0..4).for_each(|x| canvas.set(bar_left + BAR + x, row, [0; 3]));
        // A gap's margin holds what the first and the last label have beyond the bar.
        canvas.write(text, bar_left + BAR + GAP, row - LINE / 2);
    }
    canvas.write(&title, GAP, GAP + bar_height + GAP);
    canvas
}

impl Canvas {
    fn blank(width: usize, height: usize) -> Canvas {
        Canvas { width, height, codes: vec![[255; 3]; width * height] }
    }

    fn set(&mut self, x: usize, y: usize, code: [u8; 3]) {
        self.codes[y * self.width + x] = code;
    }

    fn write(&mut self, text: &str, x: usize, y: usize) {
        let style = MonoTextStyle::new(&FONT_7X13, Rgb888::BLACK);
        let text = Text::with_baseline(text, Point::new(x as i32, y as i32), style, Baseline::Top);
        let Ok(_) = text.draw(self);
    }
}

impl OriginDimensions for Canvas {
    fn size(&self) -> Size {
        Size::new(self.width as u32, self.height as u32)
    }
}

impl DrawTarget for Canvas {
    type Color = Rgb888;
    type Error = Infallible;

    fn draw_iter<I: IntoIterator<Item = Pixel<Rgb888>>>(&mut self, pixels: I) -> Result<(), Infallible> {
        for Pixel(at, colour) in pixels {
            let inside = |i: i32, n: usize| usize::try_from(i).ok().filter(|i| *i < n);
            if let (Some(x), Some(y)) = (inside(at.x, self.width), inside(at.y, self.height)) {
                self.set(x, y, [colour.r(), colour.g(), colour.b()]);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_end_at_round_numbers() {
        for (x, end) in [(0.0, 1.0), (0.3, 0.5), (0.5, 0.5), (1.01, 2.0), (99.0, 100.0), (1e-7, 1e-7), (6e-20, 1e-19)] {
            assert_eq!(round_up(x), end, "{x}");
        }
        assert!(round_up(f32::MAX).is_finite() && round_up(1e-45) > 0.0);
        // One outlier of a thousand does not decide.
        let mut values = vec![0.3; 999];
        values.push(-50.0);
        assert_eq!(Scale::of(&values, false, None), Scale { end: 0.5, signed: false, clipped: true });
        assert_eq!(Scale::of(&values, true, Some(64.0)), Scale { end: 64.0, signed: true, clipped: false });
        assert_eq!(Scale::of(&[f32::NAN], false, None).end, 1.0);
    }

    #[test]
    fn colours_of_values() {
        let scale = Scale { end: 2.0, signed: false, clipped: false };
        let brightness = |value| scale.colour(value).iter().map(|c| u32::from(*c)).sum::<u32>();
        assert!((0..20).all(|i| brightness(i as f32 / 10.0) <= brightness((i + 1) as f32 / 10.0)));
        assert_eq!((scale.colour(f32::NAN), scale.colour(9.0)), (HOLE, scale.colour(2.0)));
        let signed = Scale { signed: true, ..scale };
        let ([r, _, b], [r_low, _, b_low]) = (signed.colour(1.5), signed.colour(-1.5));
        assert!(r > b && r_low < b_low);
    }

    #[test]
    fn maps_stand_beside_their_scale() {
        let scale = Scale { end: 1.0, signed: false, clipped: true };
        let canvas = draw(&[0.0, 1.0, f32::NAN, 0.5], 2, &scale, "colour: mae");
        assert_eq!(canvas.codes.len(), canvas.width * canvas.height);
        let at = |x: usize, y: usize| canvas.codes[y * canvas.width + x];
        let far = GAP + LEGIBLE - 1;
        assert_eq!(
            [at(GAP, GAP), at(far, GAP), at(GAP, far), at(far, far)],
            [0.0, 1.0, f32::NAN, 0.5].map(|x| scale.colour(x))
        );
        // The scale, from its end down.
        assert_eq!((at(far + 1 + GAP, GAP), at(far + 1 + GAP, far)), (scale.colour(1.0), scale.colour(0.0)));
        // Black of letters and ticks.
        assert!(canvas.codes.iter().filter(|c| **c == [0; 3]).count() > 300);
        assert_eq!(scale.label(1.0), ">= 1");
    }

    #[test]
    fn odd_shapes_have_room() {
        let scale = Scale { end: 1e-30, signed: true, clipped: true };
        for (width, height) in [(1, 1), (3000, 1), (1, 3000), (500, 500)] {
            let canvas = draw(&vec![0.0; width * height], width, &scale, "colour: mean-error");
            assert!(canvas.width >= width && canvas.height >= height);
        }
    }
}
