//! Builds the film, filter and sampler.

use super::{Builder, Overrides};
use crate::describe::Description;
use crate::diagnostics::SceneError;
use crate::file::parse::Entity;
use glam::Mat3;
use lightbound::choice::Choice;
use lightbound::filter::{Filter, FilterKind};
use lightbound::settings::{ColourSpace, FeatureSpace, SamplingSettings};
use lightbound::suggestion::did_you_mean;
use lightbound_image::layers::PixelRect;
use lightbound_image::{Crop, MAX_PIXELS, Window};
use lightbound_math::sampling::SamplerKind;
use lightbound_math::spectrum::{SENSORS, white_balance_of_camera};
use lightbound_math::vec2;
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// Maximum width and height of the image in pixels.
const MAX_RESOLUTION: i32 = 1 << 16;

/// Temperatures of white balance in kelvin; 25 000 is the highest of CIE daylight.
const WHITE_BALANCE: RangeInclusive<f32> = 1000.0..=25_000.0;

/// Film settings.
pub(super) struct Film {
    /// Width and height of the full image in pixels.
    pub resolution: (u32, u32),
    /// Crop window of the scene file; may be empty.
    pub file_window: Window,
    /// Crop window to render.
    pub window: Window,
    /// Times at which the shutter opens and closes, seconds.
    pub shutter: [f32; 2],
    /// Exposure time × ISO / 100.
    pub gain: f32,
    /// See [`RenderSettings::white_balance`](lightbound::RenderSettings::white_balance).
    pub white_balance: Option<Mat3>,
    /// Colour space of the image.
    pub colour_space: ColourSpace,
    /// Name of the output file; empty if none.
    pub filename: PathBuf,
    /// The space of the layers of the film `gbuffer`; `None` for other films.
    pub features: Option<FeatureSpace>,
}

impl Builder<'_> {
    /// Reads resolution, crop window and exposure. The defaults are from pbrt-v4.
    pub(super) fn film(
        &mut self,
        d: &Description,
        overrides: &Overrides,
    ) -> Result<Film, SceneError> {
        let default = self.default_entity("rgb");
        let film = d.film.as_ref().unwrap_or(&default);
        let p = &film.params;
        let supported = self.check_supported("film", film, &["rgb", "gbuffer"], |name| {
            (name == "spectral")
                .then_some("film \"rgb\"; EXR files have the layers that --layers selects")
        })?;
        let is_gbuffer = film.name == "gbuffer";
        let features = is_gbuffer.then(|| feature_space(film)).transpose()?;
        let size = |name: &str, default: i32| match p.int(name)?.unwrap_or(default) {
            n if (1..=MAX_RESOLUTION).contains(&n) => Ok(n as u32),
            n => Err(film
                .error(format!("\"{name}\" is {n}"))
                .help(format!("give a number from 1 to {MAX_RESOLUTION}"))),
        };
        let resolution = (size("xresolution", 1280)?, size("yresolution", 720)?);
        let resolution = overrides.resolution.unwrap_or(resolution);
        let file_window = self.file_window(film, resolution)?;
        let window = self.window(film, file_window, resolution, overrides)?;
        let filename = p.string("filename")?.unwrap_or_default().into();

        let default = self.default_entity("perspective");
        let camera = d.camera.as_ref().map_or(&default, |c| &c.entity);
        let open = camera.params.float("shutteropen")?.unwrap_or(0.0);
        let close = camera.params.float("shutterclose")?.unwrap_or(1.0);
        let time = close - open;
        if !(time > 0.0 && time.is_finite()) {
            return Err(camera
                .error(format!("the shutter is open for {time}"))
                .help("\"shutterclose\" must be after \"shutteropen\""));
        }
        let iso = p.float("iso")?.unwrap_or(100.0);
        let gain = time * iso / 100.0;
        if !(gain > 0.0 && gain.is_finite()) {
            let message = format!(
                "\"iso\" of {iso}, with the shutter open for {time} s, multiplies the image by {gain}"
            );
            return Err(film.error(message).help(
                "give an \"iso\" above 0, such as 100, or check \
                 \"shutterclose\" of the camera",
            ));
        }
        let colour_space = overrides.colour_space.unwrap_or(p.colour_space());
        let white_balance = white_balance(film, colour_space)?;
        if p.float("maxcomponentvalue")?.is_some_and(f32::is_finite) {
            self.warn(
                film,
                "\"maxcomponentvalue\" is not supported",
                "unclamped samples, which stay unbiased",
            )?;
        }
        // Images store 32-bit floats regardless of `savefp16`. Realistic cameras read the diagonal.
        p.bool("savefp16")?;
        p.float("diagonal")?;
        if supported {
            self.warn_unused(film)?;
        }
        Ok(Film {
            resolution,
            file_window,
            window,
            shutter: [open, close],
            gain,
            white_balance,
            colour_space,
            filename,
            features,
        })
    }

    /// Returns the crop window of the file: from `cropwindow`, from `pixelbounds`, or the full
    /// image. May be empty.
    fn file_window(&mut self, film: &Entity, (w, h): (u32, u32)) -> Result<Window, SceneError> {
        let p = &film.params;
        match (p.floats("cropwindow")?, p.ints("pixelbounds")?) {
            (Some(&[x0, x1, y0, y1]), _) => {
                let sorted = [x0.min(x1), x0.max(x1), y0.min(y1), y0.max(y1)];
                let crop = Crop::Fractions(sorted.map(|x| x.clamp(0.0, 1.0)));
                Ok(to_window(crop.area(full_area((w, h)))))
            }
            (Some(_), _) => Err(film
                .error("\"cropwindow\" takes 4 numbers")
                .help("give x0, x1, y0, y1 from 0 to 1")),
            (None, Some(&[x0, x1, y0, y1])) => {
                let clamp = |x: i32, n: u32| x.clamp(0, n as i32) as u32;
                Ok(Window {
                    x0: clamp(x0, w),
                    x1: clamp(x1, w),
                    y0: clamp(y0, h),
                    y1: clamp(y1, h),
                })
            }
            (None, Some(_)) => Err(film
                .error("\"pixelbounds\" takes 4 integers")
                .help("give x0, x1, y0, y1 in pixels")),
            (None, None) => Ok(Window { x0: 0, y0: 0, x1: w, y1: h }),
        }
    }

    /// Returns the crop window to render: from the overrides, or else from the file.
    fn window(
        &self,
        film: &Entity,
        file_window: Window,
        (w, h): (u32, u32),
        overrides: &Overrides,
    ) -> Result<Window, SceneError> {
        let window = match overrides.crop {
            Some(crop) => overriding_window(crop, (w, h))?,
            None => file_window,
        };
        if window.x0 >= window.x1 || window.y0 >= window.y1 {
            let message = "the crop window contains no pixel";
            let error = match overrides.crop {
                Some(_) => SceneError::new(message),
                None => film.error(message),
            };
            return Err(error.help(format!("the image has {w} × {h} pixels; choose a larger part")));
        }
        let pixels = u64::from(window.width()) * u64::from(window.height());
        if pixels > MAX_PIXELS {
            let message = format!(
                "{} × {} pixels are more than {MAX_PIXELS}",
                window.width(),
                window.height()
            );
            return Err(match overrides.resolution {
                // The override is at fault, not the file.
                Some(_) => SceneError::new(format!(
                    "the requested resolution {w}x{h} is too large: {message}"
                ))
                .help("lower it (--resolution), or render parts of the image (--crop)"),
                None => film
                    .error(message)
                    .help("lower the resolution, or render parts with \"cropwindow\""),
            });
        }
        Ok(window)
    }

    /// Builds the reconstruction filter; Gaussian by default.
    pub(super) fn filter(&mut self, d: &Description) -> Result<Filter, SceneError> {
        let default = self.default_entity("gaussian");
        let filter = d.filter.as_ref().unwrap_or(&default);
        let p = &filter.params;
        self.check_supported(
            "filter",
            filter,
            &["box", "triangle", "gaussian", "mitchell", "sinc"],
            |_| None,
        )?;
        let number =
            |name: &str, default: f32| Ok::<f32, SceneError>(p.float(name)?.unwrap_or(default));
        let (kind, radius) = match filter.name.as_str() {
            "box" => (FilterKind::Box, 0.5),
            "triangle" => (FilterKind::Triangle, 2.0),
            "mitchell" => (
                FilterKind::Mitchell { b: number("B", 1.0 / 3.0)?, c: number("C", 1.0 / 3.0)? },
                2.0,
            ),
            "sinc" => (FilterKind::Sinc { tau: number("tau", 3.0)? }, 4.0),
            _ => (FilterKind::Gaussian { sigma: number("sigma", 0.5)? }, 1.5),
        };
        let radius = vec2(number("xradius", radius)?, number("yradius", radius)?);
        self.warn_unused(filter)?;
        Filter::new(kind, radius).map_err(|e| filter.error(e.to_string()))
    }

    /// Reads the sampler settings. All low-discrepancy samplers become Owen-scrambled Sobol'
    /// samplers.
    pub(super) fn sampler(
        &mut self,
        d: &Description,
        overrides: &Overrides,
    ) -> Result<SamplingSettings, SceneError> {
        let default = self.default_entity("zsobol");
        let sampler = d.sampler.as_ref().unwrap_or(&default);
        let p = &sampler.params;
        let low_discrepancy = ["zsobol", "sobol", "paddedsobol", "halton", "pmj02bn", "stratified"];
        self.check_supported(
            "sampler",
            sampler,
            &[&low_discrepancy[..], &["independent"]].concat(),
            |_| None,
        )?;
        let spp = match sampler.name.as_str() {
            "stratified" => {
                let (x, y) = (p.int("xsamples")?.unwrap_or(4), p.int("ysamples")?.unwrap_or(4));
                if x.min(y) < 1 {
                    return Err(sampler
                        .error(format!("{x} × {y} samples per pixel"))
                        .help("give 1 or more of each"));
                }
                // Samples are always jittered.
                p.bool("jitter")?;
                x.saturating_mul(y)
            }
            "independent" => p.int("pixelsamples")?.unwrap_or(4),
            _ => p.int("pixelsamples")?.unwrap_or(16),
        };
        if spp < 1 {
            return Err(sampler.error(format!("{spp} samples per pixel")).help("give 1 or more"));
        }
        let seed = p.int("seed")?.map(|n| n as u32).or(self.options(d)?).unwrap_or(0);
        if matches!(sampler.name.as_str(), "halton" | "paddedsobol" | "sobol" | "zsobol") {
            // Samples are always Owen-scrambled.
            p.string("randomization")?;
        }
        self.warn_unused(sampler)?;
        let kind = if sampler.name == "independent" {
            SamplerKind::Independent
        } else {
            SamplerKind::Sobol
        };
        Ok(SamplingSettings {
            kind,
            spp: overrides.spp.unwrap_or(spp as u32),
            seed: overrides.seed.unwrap_or(seed),
        })
    }

    /// Returns the seed from the `Option` directives. Warns about unsupported options.
    fn options(&mut self, d: &Description) -> Result<Option<u32>, SceneError> {
        let mut seed = None;
        for option in &d.options {
            match (option.name.as_str(), option.value.parse::<i64>()) {
                ("seed", Ok(value)) => seed = Some(value as u32),
                ("seed", Err(_)) => {
                    let error = SceneError::at(
                        &option.location,
                        format!("the seed \"{}\" is not an integer", option.value),
                    );
                    return Err(error.help("give an integer"));
                }
                ("displacementedgescale", _) => (),
                _ if option.value == "false" => (),
                _ => self.diagnostics.warn(
                    Some(&option.location),
                    format!("option \"{}\" is not supported", option.name),
                    "it is ignored",
                )?,
            }
        }
        Ok(seed)
    }
}

/// Returns the factor of edge lengths of displaced meshes from the `Option` directives.
pub(super) fn displacement_edge_scale(d: &Description) -> Result<f32, SceneError> {
    let Some(option) = d.options.iter().rfind(|option| option.name == "displacementedgescale")
    else {
        return Ok(1.0);
    };
    let scale = option.value.parse().ok().filter(|&scale: &f32| scale > 0.0 && scale.is_finite());
    scale.ok_or_else(|| {
        let message = format!("the displacement edge scale \"{}\" is invalid", option.value);
        SceneError::at(&option.location, message).help("give a number above 0")
    })
}

/// Returns the white balance of a film, with the defaults of pbrt-v4: none for the ideal sensor,
/// 6500 K for all others. The sensors' own colour matrices are taken as the identity; see
/// [`SENSORS`].
fn white_balance(film: &Entity, colour_space: ColourSpace) -> Result<Option<Mat3>, SceneError> {
    const IDEAL: &str = "cie1931";
    let sensor = film.params.string("sensor")?.unwrap_or(IDEAL);
    if sensor != IDEAL && !SENSORS.contains(&sensor) {
        let names = || SENSORS.into_iter().chain([IDEAL]);
        let list = format!("the sensors are {}", names().collect::<Vec<_>>().join(", "));
        let error = film.error(format!("unknown sensor \"{sensor}\""));
        return Err(error.help(did_you_mean(sensor, names(), &list)));
    }
    let kelvin = match film.params.float("whitebalance")?.unwrap_or(0.0) {
        0.0 if sensor == IDEAL => return Ok(None),
        0.0 => 6500.0,
        kelvin => kelvin,
    };
    if !WHITE_BALANCE.contains(&kelvin) {
        let (low, high) = (WHITE_BALANCE.start(), WHITE_BALANCE.end());
        let error = film.error(format!("\"whitebalance\" is {kelvin}"));
        return Err(error.help(format!(
            "give the temperature of the light in kelvin, from {low} to {high}, or 0"
        )));
    }
    let matrix = white_balance_of_camera(kelvin.into(), &colour_space.primaries());
    Ok(matrix.map(|matrix| matrix.as_mat3()))
}

/// Returns all pixels of an image.
fn full_area((w, h): (u32, u32)) -> PixelRect {
    PixelRect::from_size(0, 0, w.into(), h.into())
}

/// Converts pixels within the image to a window.
fn to_window(area: PixelRect) -> Window {
    let [x0, x1, y0, y1] = [area.x0, area.x1, area.y0, area.y1].map(|x| x as u32);
    Window { x0, y0, x1, y1 }
}

/// Converts an overriding crop window to pixels; may be empty.
///
/// # Errors
/// If pixels are outside the image.
fn overriding_window(crop: Crop, (w, h): (u32, u32)) -> Result<Window, SceneError> {
    let full = full_area((w, h));
    let area = crop.area(full);
    if !full.contains(area) {
        let error = SceneError::new(format!("the crop {crop} is not within the image"));
        return Err(error.help(format!(
            "the image has {w} × {h} pixels: columns from 0 to {w}, rows from 0 to {h}"
        )));
    }
    Ok(to_window(area))
}

/// Returns the space of the layers of a film `gbuffer`.
fn feature_space(film: &Entity) -> Result<FeatureSpace, SceneError> {
    let Some(name) = film.params.string("coordinatesystem")? else {
        return Ok(FeatureSpace::Camera);
    };
    FeatureSpace::from_name(name).ok_or_else(|| {
        let error =
            film.param_error("coordinatesystem", format!("\"coordinatesystem\" is \"{name}\""));
        error.help(did_you_mean(name, FeatureSpace::NAMES.iter().copied(), "write camera or world"))
    })
}
