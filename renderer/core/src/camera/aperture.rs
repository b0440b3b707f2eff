//! Shapes of aperture stops, as images of their transmittance.
//!
//! As in pbrt-v4, an image is scaled so that its mean is that of a circular stop, π/4, whatever the
//! shape; so all shapes give the same exposure.

use lightbound_math::{Vec2, vec2};
use std::f32::consts::{FRAC_PI_4, PI};

/// The transmittance of a stop over the square around it.
#[derive(Clone, Debug)]
pub struct Aperture {
    /// Row by row, from y = −1 to y = 1.
    texels: Vec<f32>,
    width: usize,
}

/// Resolution of the shapes that have names.
const RESOLUTION: usize = 256;

impl Aperture {
    /// Names of the shapes that [`Aperture::named`] knows.
    pub const NAMES: [&str; 4] = ["gaussian", "square", "pentagon", "star"];

    /// Creates an aperture from an image, row by row from the top. Negative values count as 0.
    /// `None` if no light passes.
    ///
    /// # Panics
    /// If the number of texels is not a multiple of `width`.
    pub fn from_image(texels: &[f32], width: usize) -> Option<Aperture> {
        assert!(width > 0 && texels.len().is_multiple_of(width), "the image is a rectangle");
        let rows = texels.chunks(width).rev().flatten();
        let texels: Vec<f32> = rows.map(|texel| texel.max(0.0)).collect();
        let sum: f64 = texels.iter().map(|&texel| f64::from(texel)).sum();
        let scale = FRAC_PI_4 / (sum / texels.len() as f64) as f32;
        (scale.is_finite() && scale > 0.0)
            .then(|| Aperture { texels: texels.iter().map(|texel| texel * scale).collect(), width })
    }

    /// Creates one of pbrt-v4's shapes; `None` if there is none of this name.
    pub fn named(name: &str) -> Option<Aperture> {
        match name {
            "gaussian" => Self::from_function(|p| {
                (libm::expf(-p.length_squared()) - libm::expf(-1.0)).max(0.0)
            }),
            "square" => Self::from_function(|p| f32::from(u8::from(p.abs().max_element() < 0.5))),
            "pentagon" => Self::from_polygon(&std::array::from_fn::<_, 5, _>(|i| {
                0.8 * on_circle(0.5 * PI - i as f32 * 0.4 * PI)
            })),
            "star" => {
                let inner = libm::cosf(72f32.to_radians()) / libm::cosf(36f32.to_radians());
                Self::from_polygon(&std::array::from_fn::<_, 10, _>(|i| {
                    let radius = if i % 2 == 1 { 1.0 } else { inner };
                    radius * on_circle(i as f32 * 0.2 * PI)
                }))
            }
            _ => None,
        }
    }

    fn from_function(f: impl Fn(Vec2) -> f32) -> Option<Aperture> {
        let texels: Vec<f32> = (0..RESOLUTION * RESOLUTION)
            .map(|i| {
                let texel = vec2((i % RESOLUTION) as f32, (i / RESOLUTION) as f32);
                // As in pbrt-v4, the shapes are upside down.
                f(2.0 * (texel + 0.5) / RESOLUTION as f32 - 1.0)
            })
            .collect();
        Self::from_image(&texels, RESOLUTION)
    }

    /// Rasterizes a simple polygon.
    fn from_polygon(vertices: &[Vec2]) -> Option<Aperture> {
        Self::from_function(|p| {
            // The number of edges that a ray towards +x crosses.
            let edges = vertices.iter().zip(vertices.iter().cycle().skip(1));
            let crossings = edges.filter(|&(a, b)| {
                let spans = (a.y <= p.y) != (b.y <= p.y);
                spans && p.x < a.x + (p.y - a.y) / (b.y - a.y) * (b.x - a.x)
            });
            f32::from(u8::from(crossings.count() % 2 == 1))
        })
    }

    /// Returns the radius of a circle around the centre outside of which no light passes.
    pub fn radius(&self) -> f32 {
        let size = vec2(self.width as f32, (self.texels.len() / self.width) as f32);
        let lit = (0..self.texels.len()).filter(|&i| self.texels[i] > 0.0);
        let distance = |i: usize| {
            let texel = vec2((i % self.width) as f32, (i / self.width) as f32) + 0.5;
            // Interpolation extends a texel by its size.
            ((2.0 * texel / size - 1.0).abs() + 2.0 / size).length()
        };
        lit.map(distance).fold(0.0, f32::max)
    }

    /// Returns the transmittance at a position in [−1, 1]², interpolated; 0 outside.
    pub fn at(&self, p: Vec2) -> f32 {
        let height = self.texels.len() / self.width;
        let at = 0.5 * (p + 1.0) * vec2(self.width as f32, height as f32) - 0.5;
        let corner = at.floor();
        let (d, x, y) = (at - corner, corner.x as i64, corner.y as i64);
        let texel = |x: i64, y: i64| {
            let inside = (0..self.width as i64).contains(&x) && (0..height as i64).contains(&y);
            if inside { self.texels[y as usize * self.width + x as usize] } else { 0.0 }
        };
        let row = |y| texel(x, y) * (1.0 - d.x) + texel(x + 1, y) * d.x;
        row(y) * (1.0 - d.y) + row(y + 1) * d.y
    }
}

fn on_circle(angle: f32) -> Vec2 {
    vec2(libm::cosf(angle), libm::sinf(angle))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the mean transmittance over the square.
    fn mean(aperture: &Aperture) -> f32 {
        let n = 500;
        let at = |i: usize| {
            let p = vec2((i % n) as f32 + 0.5, (i / n) as f32 + 0.5) / n as f32;
            aperture.at(2.0 * p - 1.0)
        };
        (0..n * n).map(at).sum::<f32>() / (n * n) as f32
    }

    #[test]
    fn all_shapes_give_the_exposure_of_a_circle() {
        for name in Aperture::NAMES {
            let aperture = Aperture::named(name).unwrap();
            assert!(
                (mean(&aperture) / FRAC_PI_4 - 1.0).abs() < 0.02,
                "{name}: {}",
                mean(&aperture)
            );
            let (radius, n) = (aperture.radius(), 600);
            for i in 0..n * n {
                let p = vec2((i % n) as f32 + 0.5, (i / n) as f32 + 0.5) / n as f32;
                let p = 1.5 * (2.0 * p - 1.0);
                assert!(aperture.at(p) == 0.0 || p.length() <= radius, "{name}: {p} {radius}");
            }
            assert!(radius < 1.03, "{name}: {radius}");
        }
        assert!(Aperture::named("hexagon").is_none());
    }

    #[test]
    fn shapes_are_where_pbrt_has_them() {
        let at = |name: &str, x, y| Aperture::named(name).unwrap().at(vec2(x, y));
        assert!((at("square", 0.0, 0.0) - PI).abs() < 1e-4 && at("square", 0.6, 0.0) == 0.0);
        // A corner of the pentagon points down; of the star, to the left.
        assert!(at("pentagon", 0.0, -0.7) > 0.0 && at("pentagon", 0.0, 0.7) == 0.0);
        assert!(at("star", -0.95, 0.0) > 0.0 && at("star", 0.95, 0.0) == 0.0);
        assert!(at("gaussian", 0.0, 0.0) > at("gaussian", 0.5, 0.0));
        assert_eq!(at("gaussian", 0.8, 0.8), 0.0);
    }

    #[test]
    fn images_are_upright_and_black_ones_are_rejected() {
        let image = Aperture::from_image(&[1.0, 0.0, 0.0, 0.0], 2).unwrap();
        // The upper left texel.
        assert!(image.at(vec2(-0.5, 0.5)) == PI && image.at(vec2(-0.5, -0.5)) == 0.0);
        assert_eq!(image.at(vec2(-2.0, 0.5)), 0.0);
        assert!(Aperture::from_image(&[0.0, -1.0], 2).is_none());
        assert!(Aperture::from_image(&[f32::NAN], 1).is_none_or(|a| a.at(Vec2::ZERO) >= 0.0));
    }
}
