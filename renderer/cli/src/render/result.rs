//! The result of a rendering: image, messages, attributes and statistics.

use super::job::RenderJob;
use super::layers::LayerName;
use super::work::{Ending, WorkOutcome};
use super::{Args, lightcuts, path};
use crate::console::{duration, rate};
use crate::memory;
use crate::output::ImageFormat;
use crate::stats::{CutStats, LightTreeStats, MediaStats, ProfileStats, Stats, TrainingStats};
use lightbound::StoppedLoops;
use lightbound::choice::Choice;
use lightbound::film::layers::{self, COLOUR_SPACE, FilmLayers, LIGHT_GROUPS, MANIFESTS};
use lightbound::film::{Coverage, Film, PixelBlock};
use lightbound::geometry::NotFinite;
use lightbound::integrator::{CutCounts, Integrator};
use lightbound::light::DEFAULT_GROUP;
use lightbound::part::{Attributes, PartHeader};
use lightbound::render::{RenderStats, Work};
use lightbound::settings::{
    AmbientOcclusionSettings, ColourSpace, IntegratorSettings, LightcutsSettings, Method,
    ShadowTerminator,
};
use lightbound_image::write::{
    Attribute, srgb_codes, write_exr_rows, write_pfm_rows, write_png_codes,
};
use lightbound_image::{ImageError, Window};
use lightbound_pbrt::build::LoadedScene;
use std::ops::Range;
use std::path::Path;

/// EXR attributes of the settings of a rendering.
pub fn attributes(args: &Args, loaded: &LoadedScene, integrator: &dyn Integrator) -> Attributes {
    let (scene, settings, text) = (&loaded.scene, &loaded.settings, Attribute::text);
    let count = |n: u32| Attribute::Int(n.try_into().unwrap_or(i32::MAX));
    let mut values = vec![
        ("lightbound/version", text(env!("CARGO_PKG_VERSION"))),
        // Only the file name, since folder names may be private.
        ("lightbound/scene", text(&args.scene.file_name().unwrap_or_default().to_string_lossy())),
        ("lightbound/sceneHash", text(&loaded.inputs.hash())),
        ("lightbound/integrator", text(integrator.name())),
        ("lightbound/maxDepth", count(settings.integrator.max_depth)),
        ("lightbound/sampler", text(&format!("{:?}", settings.sampling.kind).to_lowercase())),
        // As text, since EXR's integers are signed.
        ("lightbound/seed", text(&settings.sampling.seed.to_string())),
        ("lightbound/samples", count(settings.sampling.spp)),
        ("lightbound/gain", Attribute::Float(settings.gain)),
        ("lightbound/accel", text(scene.accel.name())),
    ];
    if let Some(variant) = scene.accel.variant() {
        values.push(("lightbound/accelVariant", text(&variant)));
    }
    // Without the attribute, colours are linear sRGB.
    if settings.colour_space != ColourSpace::Srgb {
        values.push((COLOUR_SPACE, text(settings.colour_space.name())));
    }
    let terminator = settings.integrator.shadow_terminator;
    if terminator != ShadowTerminator::default() {
        values.push(("lightbound/shadowTerminator", text(terminator.name())));
    }
    let groups = scene.lights.groups().names();
    if groups.iter().any(|group| group != DEFAULT_GROUP) {
        values.push((LIGHT_GROUPS, text(&groups.join(" "))));
    }
    let needed = args.layers.contains(&LayerName::Cryptomatte);
    let names = MANIFESTS.into_iter().zip([&scene.material_names, &scene.object_names]);
    values.extend(
        names.filter_map(|(key, names)| Some((key, text(&layers::manifest(names, needed)?)))),
    );
    let mut attributes: Attributes =
        values.into_iter().map(|(key, value)| (key.into(), value)).collect();
    attributes.extend(match &settings.integrator.method {
        Method::Path(settings) => path::attributes(settings),
        Method::Lightcuts(settings) => lightcuts::attributes(settings),
        Method::AmbientOcclusion(settings) => ambient_occlusion(settings),
    });
    attributes
}

/// EXR attributes of the settings of ambient occlusion.
fn ambient_occlusion(settings: &AmbientOcclusionSettings) -> Attributes {
    let sampling = if settings.cosine_sampling { "cosine" } else { "uniform" };
    let mut attributes: Attributes =
        [("lightbound/occlusionSampling".into(), Attribute::text(sampling))].into();
    if settings.max_distance.is_finite() {
        let distance = Attribute::Float(settings.max_distance);
        attributes.push(("lightbound/occlusionDistance".into(), distance));
    }
    attributes
}

/// EXR attributes with the minimum and maximum number of samples of a pixel.
pub fn sample_counts((min, max): (u32, u32)) -> Attributes {
    let count = |n: u32| Attribute::Int(n.try_into().unwrap_or(i32::MAX));
    [("lightbound/minSamples", min), ("lightbound/maxSamples", max)]
        .map(|(key, n)| (key.into(), count(n)))
        .into()
}

/// Warnings about values beyond the range of the film, among all camera samples.
pub fn film_warnings(film: &Film, samples: u64) -> Vec<String> {
    let mut warnings = Vec::new();
    let n = film.invalid_samples();
    if n > 0 {
        warnings.push(format!(
            "{n} of {samples} samples were infinite, NaN, or beyond the film's range; they \
             count as black, or are clamped to the range"
        ));
    }
    let n = film.clamped_features();
    if n > 0 {
        warnings.push(format!(
            "a layer of first hits, such as the albedo or position, was NaN or beyond the film's \
             range in {n} samples; it counts as 0, or is clamped to the range"
        ));
    }
    warnings
}

/// A warning about checked bounds that do not hold, if any.
pub fn bound_violation_warning(cuts: &CutCounts) -> Option<String> {
    let (n, checks) = (cuts.violations, cuts.checks);
    (n > 0).then(|| {
        format!(
            "{n} of {checks} checked bounds do not hold; they are used unchanged, so errors may be \
             larger than requested"
        )
    })
}

/// A warning about paths from lights that leave no virtual lights, if none does.
fn no_virtual_lights_warning(loaded: &LoadedScene, integrator: &dyn Integrator) -> Option<String> {
    let IntegratorSettings { max_depth, method, .. } = &loaded.settings.integrator;
    let Method::Lightcuts(LightcutsSettings { virtual_lights: Some(indirect), .. }) = method else {
        return None;
    };
    let leave_none = integrator.light_tree().is_some_and(|tree| tree.virtual_lights == 0);
    // Other causes have warnings of their own.
    let expected = *max_depth > 1 && loaded.scene.why_black(method.name()).is_none();
    (leave_none && expected).then(|| {
        format!(
            "{} paths from lights left no virtual lights, so there is no indirect light: surfaces \
             are black or out of their reach, or the lights are suns or skies beyond a medium that \
             fills all space; or there are too few paths: increase --light-paths",
            indirect.paths
        )
    })
}

/// Describes the mean cut size, the share of cuts that reached the maximum, and the light that
/// clamping took away; empty without cuts.
fn describe_cuts(cuts: &CutCounts) -> String {
    let Some(mean) = cuts.sizes.mean() else { return String::new() };
    let capped = 100.0 * cuts.capped as f64 / cuts.sizes.count() as f64;
    let limited =
        if cuts.capped > 0 { format!(" ({capped:.1} % limited by maxcut)") } else { String::new() };
    let clamped = cuts.light.clamped_share();
    let clamped = clamped.map(|share| format!(", {:.1} % of the light clamped", 100.0 * share));
    let elements = if cuts.pairs > 0 { "pairs" } else { "clusters" };
    format!(", cuts of {mean:.0} {elements}{limited}{}", clamped.unwrap_or_default())
}

/// The number of hits that only touch an implicit surface, if there are any.
fn describe_touching(hits: Option<u64>) -> String {
    match hits.filter(|&hits| hits > 0) {
        None => String::new(),
        Some(1) => ", 1 touching hit".to_owned(),
        Some(hits) => format!(", {hits} touching hits"),
    }
}

/// The warning about a displacement with a loop that did not terminate.
fn stopped_displacement_warning(StoppedLoops { location, .. }: &StoppedLoops) -> String {
    format!(
        "a loop in the displacement {location} did not terminate; it was stopped, and the surface \
         may be wrong: limit the iterations in the shader"
    )
}

/// The warning about a displacement that is not finite inside a mesh.
fn not_finite_warning(NotFinite { file, p, uv: [u, v] }: &NotFinite) -> String {
    format!(
        "the displacement {file} at ({}, {}, {}), uv = ({u}, {v}), is not finite; its triangles \
         are missing: correct the shader, for example where it divides by zero",
        p.x, p.y, p.z
    )
}

/// The result of a rendering, without its film.
pub struct RenderResult<'a> {
    job: RenderJob<'a>,
    /// The requested samples.
    samples: Range<u32>,
    outcome: WorkOutcome,
    stats: RenderStats,
    /// The samples that the film contains.
    coverage: Coverage,
    /// The pixels of the film.
    window: Window,
    /// Number of samples that were not finite or out of the film's range.
    invalid_samples: u64,
    /// See [`film_warnings`].
    film_warnings: Vec<String>,
    /// Minimum and maximum number of samples per pixel.
    samples_per_pixel: (u32, u32),
    /// Whether an .exr file also contains the exact sums.
    keeps_sums: bool,
}

impl<'a> RenderResult<'a> {
    /// Collects the result of the work on `samples`.
    pub fn new(
        job: RenderJob<'a>,
        samples: Range<u32>,
        outcome: WorkOutcome,
        work: &Work,
        keeps_sums: bool,
    ) -> RenderResult<'a> {
        let (film, stats) = (work.film(), work.stats());
        RenderResult {
            job,
            samples,
            outcome,
            stats,
            coverage: work.coverage(),
            window: film.window(),
            invalid_samples: film.invalid_samples(),
            film_warnings: film_warnings(film, stats.camera_samples),
            samples_per_pixel: film.sample_counts(),
            keeps_sums,
        }
    }

    /// Whether a signal ended the rendering.
    pub fn interrupted(&self) -> bool {
        matches!(self.outcome.ending, Ending::Signal(_))
    }

    /// Minimum and maximum number of samples per pixel.
    pub fn samples_per_pixel(&self) -> (u32, u32) {
        self.samples_per_pixel
    }

    /// Writes the image, a few rows at a time: a second copy could need too much memory.
    pub fn write_image(&self, path: &Path, film: &Film) -> Result<(), ImageError> {
        // In linear sRGB, since PNG and PFM cannot state another colour space.
        let colour_space = self.job.loaded.settings.colour_space;
        let radiance = |rows: Range<u32>| colour_space.to_srgb(film.radiance_rows(rows));
        let (width, height) = (self.window.width(), self.window.height());
        match self.job.image_file.format {
            ImageFormat::Exr => self.write_exr(path, film),
            ImageFormat::Png => {
                let exposure = self.job.args.exposure.unwrap_or(0.0);
                let rows = (0..height).flat_map(|y| srgb_codes(&radiance(y..y + 1), exposure));
                write_png_codes(path, width, height, &Vec::from_iter(rows))
            }
            ImageFormat::Pfm => write_pfm_rows(path, width, height, radiance),
        }
    }

    /// Writes all layers and attributes; for a part, also the exact sums.
    fn write_exr(&self, path: &Path, film: &Film) -> Result<(), ImageError> {
        let mut attributes = attributes(self.job.args, self.job.loaded, self.job.integrator);
        attributes.extend(sample_counts(self.samples_per_pixel));
        attributes.push((
            "lightbound/renderSeconds".into(),
            Attribute::Float(self.stats.wall.as_secs_f32()),
        ));
        if let (Some(threshold), Some(noise)) =
            (self.job.args.work.noise_threshold, self.outcome.noise)
        {
            attributes
                .push(("lightbound/noiseThreshold".into(), Attribute::Float(threshold as f32)));
            attributes.push(("lightbound/noise".into(), Attribute::Float(noise as f32)));
        }
        if self.keeps_sums {
            let (block, coverage) = (full_block(self.job.loaded), self.coverage.clone());
            attributes.push(PartHeader::new(block, coverage, film, self.stats).attribute());
        }
        let light_groups = self.job.loaded.scene.lights.groups().names();
        // A noise threshold also needs the variance, but does not request the layer.
        let variance = self.job.args.writes_variance();
        let layers = FilmLayers::image(film, variance, self.keeps_sums, light_groups, &attributes);
        let resolution = self.job.loaded.settings.resolution.into();
        write_exr_rows(path, &layers.header(resolution, attributes), &layers)
    }

    /// Summarizes the image in one line.
    pub fn summary(&self, output: &Path) -> String {
        let (window, spp) = (self.window, self.job.loaded.settings.sampling.spp);
        let all = self.samples.len() as u32;
        let samples = match self.samples_per_pixel {
            (min, _) if min >= spp => format!("{spp}"),
            (min, _) if min >= all => {
                format!("{min} (numbers {}..{}) of {spp}", self.samples.start, self.samples.end)
            }
            (min, max) if min == max => format!("{min} of {all}"),
            (min, max) => format!("{min} to {max} of {all}"),
        };
        let per_pixel = if spp == 1 { "sample per pixel" } else { "samples per pixel" };
        let noise = self
            .outcome
            .noise
            .map_or(String::new(), |noise| format!(", estimated error {noise:.4}"));
        let ended = match self.outcome.ending {
            Ending::Done => String::new(),
            Ending::BelowThreshold => " (below the threshold)".into(),
            Ending::TimeLimit => " (ended by the time limit)".into(),
            Ending::Signal(signal) => format!(" (ended by {})", signal.name()),
            Ending::Unfinished => " (so far)".into(),
        };
        let cuts = describe_cuts(&self.stats.counts.cuts);
        let touching = describe_touching(self.job.loaded.scene.geometry.touching_hits());
        format!(
            "{}: {} × {} pixels, {samples} {per_pixel}{noise}{cuts}{touching}, rendered in {} at {}{ended}",
            output.display(),
            window.width(),
            window.height(),
            duration(self.stats.wall),
            rate(self.stats.camera_samples, self.stats.wall),
        )
    }

    /// Warnings about problems in the image.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.film_warnings.clone();
        warnings.extend(bound_violation_warning(&self.stats.counts.cuts));
        warnings.extend(no_virtual_lights_warning(self.job.loaded, self.job.integrator));
        let shading = &self.stats.counts.shading;
        if shading.capped > 0 {
            let (capped, all) = (shading.capped, shading.evaluations);
            warnings.push(format!(
                "a loop of a shader did not terminate in {capped} of {all} evaluations; it was \
                 stopped, and colours may be wrong: limit the iterations; `lightbound shader check \
                 FILE` tells whether a loop may reach its cap"
            ));
        }
        for medium in &self.job.loaded.scene.media {
            if let Some(StoppedLoops { evaluations, location }) = medium.field.stopped_loops() {
                warnings.push(format!(
                    "a loop in the density of medium \"{}\" ({location}) did not terminate in \
                     {evaluations} evaluations; it was stopped, and the density may be wrong: \
                     limit the iterations in the shader",
                    medium.name
                ));
            }
        }
        for surface in self.job.loaded.scene.geometry.displaced_surfaces() {
            let of_surface = surface
                .stopped_loops()
                .map(|loops| stopped_displacement_warning(&loops))
                .into_iter()
                .chain(surface.not_finite().map(not_finite_warning));
            for warning in of_surface {
                // Several meshes may have the same shader.
                if !warnings.contains(&warning) {
                    warnings.push(warning);
                }
            }
        }
        warnings
    }

    /// The statistics for `--stats`.
    pub fn stats(&self, output: Option<&Path>, warnings: Vec<String>) -> Stats {
        let (loaded, stats) = (self.job.loaded, &self.stats);
        let (scene, shading) = (&loaded.scene, &stats.counts.shading);
        let ((min_samples, max_samples), window) = (self.samples_per_pixel, self.window);
        Stats {
            version: env!("CARGO_PKG_VERSION"),
            scene: self.job.args.scene.display().to_string(),
            output: output.map(|path| path.display().to_string()),
            load_seconds: loaded.load_time.as_secs_f64(),
            build_seconds: loaded.build_time.as_secs_f64(),
            render_seconds: stats.wall.as_secs_f64(),
            render_cpu_seconds: stats.cpu.as_secs_f64(),
            spp: loaded.settings.sampling.spp,
            min_samples,
            max_samples,
            camera_samples: stats.camera_samples,
            invalid_samples: self.invalid_samples,
            noise_threshold: self.job.args.work.noise_threshold,
            noise: self.outcome.noise.filter(|noise| noise.is_finite()),
            rays: stats.counts.rays,
            shadow_rays: stats.counts.shadow_rays,
            touching_hits: scene.geometry.touching_hits(),
            shader_evaluations: shading.evaluations,
            shader_occupancy: (shading.lanes > 0)
                .then(|| shading.evaluations as f64 / shading.lanes as f64),
            shader_capped: shading.capped,
            shader_profile: self.job.applied_profile.map(ProfileStats::from),
            shader_target: scene.shaders.first().map(|binding| binding.program.target().name()),
            width: window.width(),
            height: window.height(),
            lights: scene.lights.all().len(),
            triangles: scene.geometry.triangle_count(),
            accel_memory_bytes: scene.accel.memory_bytes(),
            peak_memory_bytes: memory::peak_bytes(),
            threads: self.job.threads,
            seed: loaded.settings.sampling.seed,
            accel: scene.accel.name(),
            integrator: self.job.integrator.name(),
            training: self.job.integrator.training().map(TrainingStats::from),
            light_tree: self.job.integrator.light_tree().map(LightTreeStats::from),
            lightcuts: matches!(loaded.settings.integrator.method, Method::Lightcuts(_))
                .then(|| CutStats::new(&stats.counts.cuts)),
            media: (!scene.media.is_empty())
                .then(|| MediaStats::new(stats.counts.media, &scene.media)),
            interrupted: self.interrupted(),
            warnings,
        }
    }
}

/// The pixels and samples of the full image, ignoring crop options.
pub fn full_block(loaded: &LoadedScene) -> PixelBlock {
    let spp = loaded.settings.sampling.spp;
    let full = PixelBlock::new(loaded.file_window, 0..spp);
    // If the scene's crop window is empty, the options override it.
    full.or_else(|| PixelBlock::new(loaded.settings.window, 0..spp)).expect("an image has pixels")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn violated_bounds_cause_a_warning() {
        let counts = CutCounts { checks: 9, ..CutCounts::default() };
        assert_eq!(bound_violation_warning(&counts), None);
        let warning = bound_violation_warning(&CutCounts { violations: 2, ..counts }).unwrap();
        assert!(warning.starts_with("2 of 9 checked bounds do not hold"), "{warning}");
    }

    #[test]
    fn summary_has_cut_sizes() {
        let mut cuts = CutCounts::default();
        assert_eq!(describe_cuts(&cuts), "");
        [10, 20, 30, 30].into_iter().for_each(|size| cuts.sizes.add(size));
        assert_eq!(describe_cuts(&cuts), ", cuts of 22 clusters");
        cuts.capped = 2;
        assert_eq!(describe_cuts(&cuts), ", cuts of 22 clusters (50.0 % limited by maxcut)");
        cuts.capped = 0;
        cuts.light.add_found(97.0);
        cuts.light.add_clamped(3.0);
        assert_eq!(describe_cuts(&cuts), ", cuts of 22 clusters, 3.0 % of the light clamped");
        cuts.pairs = 44;
        assert_eq!(describe_cuts(&cuts), ", cuts of 22 pairs, 3.0 % of the light clamped");
    }
}
