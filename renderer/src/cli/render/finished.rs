//! A rendered picture, and all that is to be told about it.

use super::work::Outcome;
use super::{Args, Job, layers, lightcuts, path};
use crate::cli::console::{duration, rate};
use crate::cli::output::Format;
use crate::cli::part::{self, Attributes, Header};
use crate::cli::stats::{CutStats, LightTreeStats, Stats, peak_memory_bytes};
use lightbound::film::{Block, Coverage, Film, Picture};
use lightbound::image::ImageError;
use lightbound::image::write::{Attribute, ExrPicture, write_exr, write_pfm, write_png};
use lightbound::integrator::{CutCounts, Integrator};
use lightbound::render::{Effort, Halt, Work};
use lightbound::scene::Method;
use lightbound::scene::build::Loaded;
use std::ops::Range;
use std::path::Path;

/// What an EXR file tells of the settings that made it.
pub fn settings(args: &Args, loaded: &Loaded, integrator: &dyn Integrator) -> Attributes {
    let (scene, text) = (&loaded.scene, Attribute::text);
    let count = |n: u32| Attribute::Int(n.try_into().unwrap_or(i32::MAX));
    let mut settings = vec![
        ("lightbound/version", text(env!("CARGO_PKG_VERSION"))),
        // The file's name alone: folders are nobody else's business.
        ("lightbound/scene", text(&args.scene.file_name().unwrap_or_default().to_string_lossy())),
        ("lightbound/sceneHash", text(&loaded.inputs.hash())),
        ("lightbound/integrator", text(integrator.name())),
        ("lightbound/maxDepth", count(scene.integrator.max_depth)),
        ("lightbound/sampler", text(&format!("{:?}", scene.sampling.kind).to_lowercase())),
        // As text, since EXR's integers have a sign.
        ("lightbound/seed", text(&scene.sampling.seed.to_string())),
        ("lightbound/samples", count(scene.sampling.spp)),
        ("lightbound/gain", Attribute::Float(scene.film.gain)),
        ("lightbound/accel", text(scene.accel.name())),
    ];
    let names = [
        ("lightbound/materials", &scene.material_names),
        ("lightbound/objects", &scene.object_names),
    ];
    settings.extend(
        names.into_iter().filter_map(|(key, names)| Some((key, text(&layers::manifest(names)?)))),
    );
    let mut settings: Attributes =
        settings.into_iter().map(|(key, value)| (key.into(), value)).collect();
    settings.extend(match &scene.integrator.method {
        Method::Path(own) => path::attributes(own),
        Method::Lightcuts(own) => lightcuts::attributes(own),
    });
    settings
}

/// What an EXR file tells of the samples that a picture has.
pub fn sample_counts(picture: &Picture) -> Attributes {
    let count = |n: u32| Attribute::Int(n.try_into().unwrap_or(i32::MAX));
    [("lightbound/minSamples", picture.min_samples), ("lightbound/maxSamples", picture.max_samples)]
        .map(|(key, n)| (key.into(), count(n)))
        .into()
}

/// What is to be said of odd samples, if there are any among all camera samples.
pub fn odd_samples(picture: &Picture, samples: u64) -> Option<String> {
    let n = picture.invalid_samples;
    (n > 0).then(|| {
        format!(
            "{n} of {samples} samples were infinite, not a number, or beyond the film's range; instead: they count as black or as \
             the end of the range"
        )
    })
}

/// What is to be said of bounds that do not hold, if there are any among those that were checked.
pub fn violated_bounds(cuts: &CutCounts) -> Option<String> {
    let (n, checks) = (cuts.violations, cuts.checks);
    (n > 0).then(|| {
        format!(
            "{n} of {checks} bounds that were checked are below what they bound; instead: they are used as they are, and errors \
             may be larger than asked for"
        )
    })
}

/// The mean size of cuts, and how many of them ended before their error was small; nothing where
/// there is no cut.
fn cut_sizes(cuts: &CutCounts) -> String {
    let Some(mean) = cuts.sizes.mean() else { return String::new() };
    let capped = 100.0 * cuts.capped as f64 / cuts.sizes.count() as f64;
    let ended =
        if cuts.capped > 0 { format!(" ({capped:.1} % ended at maxcut)") } else { String::new() };
    format!(", cuts of {mean:.0} clusters{ended}")
}

/// A rendered scene.
pub struct Finished<'a> {
    job: Job<'a>,
    /// The samples that were to be taken.
    samples: Range<u32>,
    outcome: Outcome,
    effort: Effort,
    film: Film,
    /// What the film holds.
    coverage: Coverage,
    picture: Picture,
}

impl<'a> Finished<'a> {
    /// What became of the work on `samples`.
    pub fn new(job: Job<'a>, samples: Range<u32>, outcome: Outcome, work: Work) -> Finished<'a> {
        let (coverage, effort, film) = (work.coverage(), work.effort(), work.into_film());
        let mut picture = film.picture();
        // The threshold alone needs it, too.
        picture.variance = picture.variance.filter(|_| job.args.variance);
        Finished { job, samples, outcome, effort, film, coverage, picture }
    }

    /// Whether Ctrl-C cost samples.
    pub fn interrupted(&self) -> bool {
        self.outcome.halt == Halt::Stopped
    }

    /// The fewest and the most samples that a pixel has.
    pub fn samples_per_pixel(&self) -> (u32, u32) {
        (self.picture.min_samples, self.picture.max_samples)
    }

    /// Writes the picture.
    pub fn write_picture(&self, path: &Path) -> Result<(), ImageError> {
        let picture = &self.picture;
        let (width, height) = (picture.window.width(), picture.window.height());
        match self.job.place.format {
            Format::Exr => write_exr(path, &self.exr()),
            Format::Png => write_png(
                path,
                width,
                height,
                &picture.radiance,
                self.job.args.exposure.unwrap_or(0.0),
            ),
            Format::Pfm => write_pfm(path, width, height, &picture.radiance),
        }
    }

    /// All layers and attributes; of a part, with its sums.
    fn exr(&self) -> ExrPicture {
        let resolution = self.job.loaded.scene.film.resolution;
        let mut attributes = settings(self.job.args, self.job.loaded, self.job.integrator);
        attributes.extend(sample_counts(&self.picture));
        attributes.push((
            "lightbound/renderSeconds".into(),
            Attribute::Float(self.effort.wall.as_secs_f32()),
        ));
        if let (Some(threshold), Some(noise)) =
            (self.job.args.work.noise_threshold, self.outcome.noise)
        {
            attributes
                .push(("lightbound/noiseThreshold".into(), Attribute::Float(threshold as f32)));
            attributes.push(("lightbound/noise".into(), Attribute::Float(noise as f32)));
        }
        if !self.job.args.makes_part() {
            return layers::exr_picture(resolution, &self.picture, attributes);
        }
        let (coverage, film) = (self.coverage.clone(), &self.film);
        let header = Header::new(
            whole(self.job.loaded),
            coverage,
            film,
            self.picture.invalid_samples,
            self.effort,
        );
        part::picture(resolution.into(), attributes, &header, film, &self.picture)
    }

    /// One line about the picture.
    pub fn summary(&self, output: &Path) -> String {
        let (picture, spp) = (&self.picture, self.job.loaded.scene.sampling.spp);
        let all = self.samples.len() as u32;
        let samples = match (picture.min_samples, picture.max_samples) {
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
        let ended = match self.outcome.halt {
            Halt::Done => "",
            Halt::Paused => " (below the threshold)",
            Halt::Stopped => " (ended by Ctrl-C)",
            Halt::TimeLimit => " (ended by the time limit)",
        };
        let cuts = cut_sizes(&self.effort.counts.cuts);
        format!(
            "{}: {} × {} pixels, {samples} {per_pixel}{noise}{cuts}, rendered in {} at {}{ended}",
            output.display(),
            picture.window.width(),
            picture.window.height(),
            duration(self.effort.wall),
            rate(self.effort.camera_samples, self.effort.wall),
        )
    }

    /// What is wrong with the picture.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::from_iter(odd_samples(&self.picture, self.effort.camera_samples));
        remarks.extend(violated_bounds(&self.effort.counts.cuts));
        let shading = &self.effort.counts.shading;
        if shading.capped > 0 {
            let (capped, all) = (shading.capped, shading.evaluations);
            remarks.push(format!("a loop of a shader did not end in {capped} of {all} evaluations; instead: it was cut off"));
        }
        remarks
    }

    /// The figures of `--stats`.
    pub fn stats(&self, output: Option<&Path>, warnings: Vec<String>) -> Stats {
        let (loaded, effort) = (self.job.loaded, &self.effort);
        let (scene, picture, shading) = (&loaded.scene, &self.picture, &effort.counts.shading);
        Stats {
            version: env!("CARGO_PKG_VERSION"),
            scene: self.job.args.scene.display().to_string(),
            output: output.map(|path| path.display().to_string()),
            load_seconds: loaded.load.as_secs_f64(),
            build_seconds: loaded.build.as_secs_f64(),
            render_seconds: effort.wall.as_secs_f64(),
            render_cpu_seconds: effort.cpu.as_secs_f64(),
            spp: scene.sampling.spp,
            min_samples: picture.min_samples,
            max_samples: picture.max_samples,
            camera_samples: effort.camera_samples,
            invalid_samples: picture.invalid_samples,
            noise_threshold: self.job.args.work.noise_threshold,
            noise: self.outcome.noise.filter(|noise| noise.is_finite()),
            rays: effort.counts.rays,
            shadow_rays: effort.counts.shadow_rays,
            shader_evaluations: shading.evaluations,
            shader_occupancy: (shading.lanes > 0)
                .then(|| shading.evaluations as f64 / shading.lanes as f64),
            shader_capped: shading.capped,
            shader_target: scene.shaders.first().map(|bound| bound.program.target().name()),
            width: picture.window.width(),
            height: picture.window.height(),
            lights: scene.lights.all().len(),
            triangles: scene.geometry.triangles(),
            accel_memory_bytes: scene.accel.memory_bytes(),
            peak_memory_bytes: peak_memory_bytes(),
            threads: self.job.threads,
            seed: scene.sampling.seed,
            accel: scene.accel.name(),
            integrator: self.job.integrator.name(),
            light_tree: self.job.integrator.light_tree().map(LightTreeStats::from),
            lightcuts: matches!(scene.integrator.method, Method::Lightcuts(_))
                .then(|| CutStats::new(&effort.counts.cuts)),
            interrupted: self.interrupted(),
            warnings,
        }
    }
}

/// The pixels and samples of the whole picture: all that the scene asks for without a crop.
fn whole(loaded: &Loaded) -> Block {
    let (film, spp) = (&loaded.scene.film, loaded.scene.sampling.spp);
    let own = Block::new(film.own, 0..spp);
    // Where the file asks for nothing, and there is a picture all the same, a crop is what was
    // asked for.
    own.or_else(|| Block::new(film.window, 0..spp)).expect("a picture has pixels")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_that_do_not_hold_are_told_of() {
        let counts = CutCounts { checks: 9, ..CutCounts::default() };
        assert_eq!(violated_bounds(&counts), None);
        let remark = violated_bounds(&CutCounts { violations: 2, ..counts }).unwrap();
        assert!(remark.starts_with("2 of 9 bounds") && remark.contains("; instead: "), "{remark}");
    }

    #[test]
    fn sizes_of_cuts_are_told() {
        let mut cuts = CutCounts::default();
        assert_eq!(cut_sizes(&cuts), "");
        [10, 20, 30, 30].into_iter().for_each(|size| cuts.sizes.add(size));
        assert_eq!(cut_sizes(&cuts), ", cuts of 22 clusters");
        cuts.capped = 2;
        assert_eq!(cut_sizes(&cuts), ", cuts of 22 clusters (50.0 % ended at maxcut)");
    }
}
