//! Warnings about texels and constants that a parameter cannot have: values that are not finite,
//! negative values, and reflectances above 1.
//!
//! They are mistakes in most cases, such as a picture that was exported with exposure, and would
//! otherwise be clamped silently. Metals are exempt, because their colour in linear sRGB may exceed
//! 1; so is the colour of a spectrum, or of RGB in another colour space, that does not exceed 1
//! itself.

use super::Builder;
use super::textures::grey;
use crate::diagnostics::{Location, SceneError};
use crate::file::params::SpectrumParam;
use crate::file::parse::Entity;
use lightbound::texture::{Bilerp, Checkerboard, Dots, ImageMap, Param, Texture};
use lightbound_image::Image;
use lightbound_math::Vec3;
use lightbound_math::spectrum::Spectrum;
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;

/// Values up to this are reflectances: 1, with the rounding of half floats and resized images.
const MAX_REFLECTANCE: f32 = 1.001;

/// The values that a parameter can have.
#[derive(Clone, Copy)]
pub(super) enum ValidValues<'a> {
    /// 0 or more.
    NonNegative,
    /// From 0 to 1, for a reflectance or transmittance.
    Reflectance,
    /// The range of a shader's parameter with a name.
    Declared(&'a str, [f64; 2]),
}

impl ValidValues<'_> {
    /// Returns the smallest and largest value.
    fn range(self) -> RangeInclusive<f32> {
        match self {
            ValidValues::NonNegative => 0.0..=f32::INFINITY,
            ValidValues::Reflectance => 0.0..=MAX_REFLECTANCE,
            ValidValues::Declared(_, [low, high]) => low as f32..=high as f32,
        }
    }

    /// Describes values that are too small or too large, and what replaces them.
    fn describe(self, too_large: bool) -> (String, &'static str) {
        match (self, too_large) {
            (ValidValues::Declared(name, [low, high]), _) => (
                format!("outside the range of the parameter `{name}`, {low} to {high}"),
                "the nearest value in the range",
            ),
            (_, false) => ("negative".into(), "0"),
            (_, true) => ("above 1, but no reflectance is".into(), "1"),
        }
    }
}

/// A check of the values of a texture.
#[derive(Clone, Copy)]
struct TextureCheck<'a> {
    /// Factor on the values.
    factor: f32,
    valid: ValidValues<'a>,
    /// Where the texture is defined.
    location: Option<&'a Location>,
}

/// Where the textures of a scene are defined, and the checks already made.
#[derive(Default)]
pub(super) struct TextureChecks {
    /// Textures are identified by address. They are checked after all are defined, so
    /// [`Textures`](super::textures::Textures) keeps them alive.
    locations: HashMap<*const Texture, Location>,
    /// Images whose texels are known to be finite, or were warned about.
    images: HashSet<*const Image>,
    /// Texture, factor and range of each check.
    done: HashSet<(*const Texture, [u32; 3])>,
}

impl TextureChecks {
    /// Records where a texture is defined.
    pub fn define(&mut self, texture: &Arc<Texture>, location: &Location) {
        self.locations.insert(Arc::as_ptr(texture), location.clone());
    }
}

impl Builder<'_> {
    /// Warns about texels of an image file that are not finite, once for each image.
    pub(super) fn check_finite(
        &mut self,
        entity: &Entity,
        image: &Arc<Image>,
    ) -> Result<(), SceneError> {
        if image.has_codes() || !self.checks.images.insert(Arc::as_ptr(image)) {
            return Ok(());
        }
        let path = self.textures.path_of(image);
        let [count] = count_texels(image, |x, y| {
            [!(image.rgb(x, y).is_finite() && image.float(x, y).is_finite())]
        });
        match describe_count(count, image, "") {
            None => Ok(()),
            Some(texels) => self.warn(
                entity,
                format!("{}: {texels} not finite", path.display()),
                "0 for NaN, and the nearest valid value for infinite texels",
            ),
        }
    }

    /// Warns about texels of a light's image that are negative. Others may have any value.
    /// `location` is that of the light, if the scene file has it.
    pub(super) fn check_emission(
        &mut self,
        location: Option<&Location>,
        path: &Path,
        image: &Image,
    ) -> Result<(), SceneError> {
        let [count] = count_texels(image, |x, y| [image.rgb(x, y).min_element() < 0.0]);
        match describe_count(count, image, "") {
            None => Ok(()),
            Some(texels) => {
                let message = format!("{}: {texels} negative", path.display());
                self.diagnostics.warn(location, message, "0")
            }
        }
    }

    /// Warns about the values of a texture outside `valid`, after multiplication by `factor`. Does
    /// nothing if the parameter is a constant.
    pub(super) fn check_texture(
        &mut self,
        param: &Param,
        factor: f32,
        valid: ValidValues<'_>,
    ) -> Result<(), SceneError> {
        let Param::Texture(texture) = param else { return Ok(()) };
        let location = self.checks.locations.get(&Arc::as_ptr(texture)).cloned();
        let range = valid.range();
        let key = [factor, *range.start(), *range.end()].map(f32::to_bits);
        if !self.checks.done.insert((Arc::as_ptr(texture), key)) {
            return Ok(());
        }
        let check = TextureCheck { factor, valid, location: location.as_ref() };
        match &**texture {
            Texture::Image(map) => self.check_image_map(map, check),
            Texture::Constant(value) => self.check_constant(*value, check),
            Texture::Checkerboard(Checkerboard { even: a, odd: b, .. })
            | Texture::Dots(Dots { inside: a, outside: b, .. })
            | Texture::Mix { a, b, .. }
            | Texture::DirectionMix { a, b, .. } => {
                self.check_part(a, check)?;
                self.check_part(b, check)
            }
            Texture::Bilerp(Bilerp { corners, .. }) => {
                corners.iter().try_for_each(|&corner| self.check_constant(corner, check))
            }
            Texture::Scale(value, Param::Constant(scale)) => {
                self.check_part(value, TextureCheck { factor: factor * scale.x, ..check })
            }
            // The values depend on more than one texture, or cannot be listed.
            Texture::Scale(_, Param::Texture(_))
            | Texture::Map(..)
            | Texture::Normal(_)
            | Texture::Solid(_)
            | Texture::Attribute { .. } => Ok(()),
        }
    }

    /// Checks a parameter of a texture.
    fn check_part(&mut self, part: &Param, check: TextureCheck<'_>) -> Result<(), SceneError> {
        match part {
            Param::Constant(value) => self.check_constant(*value, check),
            Param::Texture(_) => self.check_texture(part, check.factor, check.valid),
        }
    }

    fn check_constant(
        &mut self,
        value: Vec3,
        TextureCheck { factor, valid, location }: TextureCheck<'_>,
    ) -> Result<(), SceneError> {
        let (value, range) = (factor * value, valid.range());
        for too_large in [false, true] {
            if is_outside(value, &range, too_large) {
                let (what, fallback) = valid.describe(too_large);
                let message = format!("the constant {} is {what}", format_colour(value));
                self.diagnostics.warn(location, message, fallback)?;
            }
        }
        Ok(())
    }

    fn check_image_map(
        &mut self,
        map: &ImageMap,
        TextureCheck { factor, valid, location }: TextureCheck<'_>,
    ) -> Result<(), SceneError> {
        let range = valid.range();
        let unit = 0.0..=1.0;
        let stays_in_unit = unit.contains(&factor) && unit.contains(&map.scale);
        if map.image.has_codes() && stays_in_unit && range.contains(&0.0) && range.contains(&1.0) {
            return Ok(());
        }
        let path = self.textures.path_of(&map.image);
        let scaled = match factor * map.scale {
            1.0 => String::new(),
            scale => format!(", times {scale},"),
        };
        // The map itself clamps negative values, even for parameters that can have them.
        let clamps = map.clamps_negative() && *range.start() < 0.0;
        let [clamped, too_small, too_large] = count_texels(&map.image, |x, y| {
            let value = map.unclamped(x, y);
            let is_clamped = clamps && is_outside(value, &(0.0..=f32::INFINITY), false);
            let value = factor * if clamps { value.max(Vec3::ZERO) } else { value };
            [is_clamped, is_outside(value, &range, false), is_outside(value, &range, true)]
        });
        for (count, (what, fallback)) in [
            (clamped, ValidValues::NonNegative.describe(false)),
            (too_small, valid.describe(false)),
            (too_large, valid.describe(true)),
        ] {
            let Some(texels) = describe_count(count, &map.image, &scaled) else { continue };
            let message = format!("{}: {texels} {what}", path.display());
            self.diagnostics.warn(location, message, fallback)?;
        }
        Ok(())
    }

    /// Reads a reflectance or transmittance. Like [`Builder::spectrum_or`], but also warns about
    /// values above 1. `scale` is applied to it later.
    pub(super) fn reflectance_or(
        &mut self,
        entity: &Entity,
        name: &str,
        default: f32,
        scale: f32,
    ) -> Result<Param, SceneError> {
        let value = self.unchecked_spectrum_or(entity, name, grey(default))?;
        let Param::Constant(colour) = value else {
            self.check_texture(&value, scale, ValidValues::Reflectance)?;
            return Ok(value);
        };
        let Some(param) = entity.params.find(name) else { return Ok(value) };
        let largest = match entity.params.spectrum(name)? {
            Some(
                spectrum @ (SpectrumParam::Named(_)
                | SpectrumParam::File(_)
                | SpectrumParam::Sampled(_)),
            ) => self.spectrum(entity, &spectrum)?.map_or(0.0, |spectrum| maximum(&spectrum)),
            // A colour of a wider gamut may exceed 1 in sRGB.
            Some(SpectrumParam::Rgb(rgb, _)) => Vec3::from(rgb).max_element(),
            _ => colour.max_element(),
        };
        if scale * largest > MAX_REFLECTANCE {
            let scaled = if scale == 1.0 { String::new() } else { format!(", times {scale},") };
            let (what, fallback) = ValidValues::Reflectance.describe(true);
            let message = format!("\"{} {name}\"{scaled} is {}, {what}", param.ty, scale * largest);
            self.diagnostics.warn(Some(&param.location), message, fallback)?;
        }
        Ok(value)
    }
}

/// Returns the largest value of a spectrum in the visible range.
fn maximum(spectrum: &Spectrum) -> f32 {
    (360..=830).map(|nm| spectrum.at(nm as f32)).fold(0.0, f32::max)
}

/// Returns whether a component is finite and below the range, or above it.
fn is_outside(value: Vec3, range: &RangeInclusive<f32>, too_large: bool) -> bool {
    let is_outside =
        |x: &f32| x.is_finite() && if too_large { x > range.end() } else { x < range.start() };
    value.to_array().iter().any(is_outside)
}

fn format_colour(colour: Vec3) -> String {
    match colour.to_array() {
        [r, g, b] if r == g && g == b => r.to_string(),
        [r, g, b] => format!("({r}, {g}, {b})"),
    }
}

/// Counts the texels that satisfy each of several conditions, in one pass.
fn count_texels<const N: usize>(
    image: &Image,
    conditions: impl Fn(u32, u32) -> [bool; N] + Sync,
) -> [u64; N] {
    let count_row = |y: u32| {
        (0..image.width()).map(|x| conditions(x, y).map(u64::from)).fold([0; N], add_counts)
    };
    (0..image.height()).into_par_iter().map(count_row).reduce(|| [0; N], add_counts)
}

/// Returns the sums of two lists of counts.
fn add_counts<const N: usize>(a: [u64; N], b: [u64; N]) -> [u64; N] {
    std::array::from_fn(|i| a[i] + b[i])
}

/// Returns "N of M texels are"; `None` if N is 0. `scaled` is inserted behind "texels".
fn describe_count(count: u64, image: &Image, scaled: &str) -> Option<String> {
    let total = u64::from(image.width()) * u64::from(image.height());
    let verb = if count == 1 { "is" } else { "are" };
    (count > 0).then(|| format!("{count} of {total} texels{scaled} {verb}"))
}
