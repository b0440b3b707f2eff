//! False-colour maps with a colour bar.
//!
//! Small maps are enlarged by an integer factor, so that their pixels stay square and sharp.

mod scale;
mod vector;

use embedded_graphics::Drawable;
use embedded_graphics::mono_font::MonoTextStyle;
use embedded_graphics::mono_font::ascii::FONT_7X13;
use embedded_graphics::pixelcolor::{Rgb888, RgbColor};
use embedded_graphics::prelude::{DrawTarget, OriginDimensions, Pixel, Point, Size};
use embedded_graphics::text::{Baseline, Text};
pub use scale::ColourScale;
use std::convert::Infallible;
pub use vector::{VectorScale, id_colour};

/// Gap between map, colour bar and text, pixels.
const GAP: usize = 10;
/// Width of the colour bar, pixels.
const BAR_WIDTH: usize = 18;
/// Height of a line of text, pixels.
const LINE_HEIGHT: usize = 13;
/// Width of a character, pixels.
const CHAR_WIDTH: usize = 7;
/// Width and height below which maps are enlarged, pixels.
const MIN_MAP_SIZE: usize = 240;
/// Colour of non-finite values.
const NON_FINITE: [u8; 3] = [0, 200, 80];

/// An image of 8-bit sRGB codes.
pub struct Canvas {
    /// Width in pixels.
    pub width: usize,
    /// Height in pixels.
    pub height: usize,
    /// Codes, row by row from the top.
    pub codes: Vec<[u8; 3]>,
}

/// Draws a map of `values` in rows of `width`, with a colour bar beside it and `title` below.
pub fn draw(values: &[f32], width: usize, scale: &ColourScale, title: &str) -> Canvas {
    let colours: Vec<_> = values.iter().map(|value| scale.colour(*value)).collect();
    let has_non_finite = values.iter().any(|x| !x.is_finite());
    let bar = Bar { labels: scale.ticks(), colour: &|position| scale.colour_at(position) };
    draw_map(&colours, width, Some(&bar), &titled(title, has_non_finite))
}

/// Draws vectors of three components as red, green and blue, with a scale of one component beside
/// the map and `title` below.
///
/// # Panics
/// If the components have different numbers of values.
pub fn draw_vectors(
    components: [&[f32]; 3],
    width: usize,
    scale: &VectorScale,
    title: &str,
) -> Canvas {
    let [x, y, z] = components;
    assert!(x.len() == y.len() && y.len() == z.len(), "components of different sizes");
    let colours: Vec<_> = (0..x.len()).map(|i| scale.colour([x[i], y[i], z[i]])).collect();
    let has_non_finite = components.iter().any(|values| values.iter().any(|x| !x.is_finite()));
    let bar = Bar { labels: scale.ticks(), colour: &|position| scale.grey_at(position) };
    draw_map(&colours, width, Some(&bar), &titled(title, has_non_finite))
}

/// Draws ids, each in a colour of its own, with `title` below.
pub fn draw_ids(ids: &[u32], width: usize, title: &str) -> Canvas {
    let colours: Vec<_> = ids.iter().map(|id| id_colour(*id)).collect();
    draw_map(&colours, width, None, title)
}

fn titled(title: &str, has_non_finite: bool) -> String {
    if has_non_finite { format!("{title} (green: not finite)") } else { title.into() }
}

/// A colour bar.
struct Bar<'a> {
    /// Positions from 0 to 1, and texts.
    labels: Vec<(f64, String)>,
    /// Colour at a position.
    colour: &'a dyn Fn(f64) -> [u8; 3],
}

/// Draws a map of colours in rows of `width`.
fn draw_map(colours: &[[u8; 3]], width: usize, bar: Option<&Bar>, title: &str) -> Canvas {
    let height = colours.len() / width;
    let zoom = MIN_MAP_SIZE.div_ceil(height).min(MIN_MAP_SIZE.div_ceil(width)).max(1);
    let (map_width, map_height) = (width * zoom, height * zoom);
    let bar_height = map_height.max(MIN_MAP_SIZE / 2);
    let bar_left = GAP + map_width + GAP;
    let map_right = match bar {
        Some(bar) => {
            let longest = bar.labels.iter().map(|(_, text)| text.chars().count()).max();
            bar_left + BAR_WIDTH + GAP + CHAR_WIDTH * longest.unwrap_or(0)
        }
        None => GAP + map_width,
    };
    let right = map_right.max(GAP + CHAR_WIDTH * title.chars().count());
    let mut canvas = Canvas::blank(right + GAP, GAP + bar_height + GAP + LINE_HEIGHT + GAP);
    for (y, x) in (0..map_height).flat_map(|y| (0..map_width).map(move |x| (y, x))) {
        canvas.set(GAP + x, GAP + y, colours[y / zoom * width + x / zoom]);
    }
    canvas.write(title, GAP, GAP + bar_height + GAP);
    let Some(bar) = bar else { return canvas };
    // Values increase upwards.
    for y in 0..bar_height {
        let colour = (bar.colour)(1.0 - y as f64 / (bar_height - 1) as f64);
        (0..BAR_WIDTH).for_each(|x| canvas.set(bar_left + x, GAP + y, colour));
    }
    for (position, text) in &bar.labels {
        let row = GAP + ((1.0 - position) * (bar_height - 1) as f64).round() as usize;
        (0..4).for_each(|x| canvas.set(bar_left + BAR_WIDTH + x, row, [0; 3]));
        // The first and the last label extend beyond the bar into the gap.
        canvas.write(text, bar_left + BAR_WIDTH + GAP, row - LINE_HEIGHT / 2);
    }
    canvas
}

impl Canvas {
    fn blank(width: usize, height: usize) -> Canvas {
        Canvas { width, height, codes: vec![[255; 3]; width * height] }
    }

    fn set(&mut self, x: usize, y: usize, code: [u8; 3]) {
        self.codes[y * self.width + x] = code;
    }

    /// Writes a line of text with its upper left corner at (x, y).
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

    fn draw_iter<I: IntoIterator<Item = Pixel<Rgb888>>>(
        &mut self,
        pixels: I,
    ) -> Result<(), Infallible> {
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
    fn maps_have_a_colour_bar() {
        let scale = ColourScale::for_errors(&[2.0], false, Some(1.0));
        let canvas = draw(&[0.0, 1.0, f32::NAN, 0.5], 2, &scale, "colour: mae");
        assert_eq!(canvas.codes.len(), canvas.width * canvas.height);
        let at = |x: usize, y: usize| canvas.codes[y * canvas.width + x];
        let far = GAP + MIN_MAP_SIZE - 1;
        assert_eq!(
            [at(GAP, GAP), at(far, GAP), at(GAP, far), at(far, far)],
            [0.0, 1.0, f32::NAN, 0.5].map(|x| scale.colour(x))
        );
        // The upper and the lower end of the colour bar.
        assert_eq!(
            (at(far + 1 + GAP, GAP), at(far + 1 + GAP, far)),
            (scale.colour(1.0), scale.colour(0.0))
        );
        // Black pixels of letters and ticks.
        assert!(canvas.codes.iter().filter(|c| **c == [0; 3]).count() > 300);
    }

    #[test]
    fn extreme_shapes_fit_the_canvas() {
        let scale = ColourScale::for_errors(&[1.0], true, Some(1e-30));
        for (width, height) in [(1, 1), (3000, 1), (1, 3000), (500, 500)] {
            let canvas = draw(&vec![0.0; width * height], width, &scale, "colour: mean-error");
            assert!(canvas.width >= width && canvas.height >= height);
        }
    }
}
