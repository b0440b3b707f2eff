//! Whether a file is the finished image of a rendering, although it contains no exact sums.

use super::RenderJob;
use super::result::{attributes, sample_counts};
use super::work::noise_checks;
use lightbound::film::layers::FilmLayers;
use lightbound::film::{Film, FilmOptions};
use lightbound::part::have_same_settings;
use lightbound_image::read_exr;
use lightbound_image::write::{Attribute, ExrImage, ExrRows};
use std::collections::BTreeSet;
use std::path::Path;

/// Returns whether the file at `path` is the image that `job` writes at its end: it has the same
/// settings, pixels and channels, and either `samples` samples per pixel or noise below the
/// threshold. Formats other than EXR do not tell.
pub fn is_finished(path: &Path, job: RenderJob, samples: u32, film: FilmOptions) -> bool {
    read_exr(path).is_ok_and(|file| {
        have_same_settings(&file.attributes, &attributes(job.args, job.loaded, job.integrator))
            && has_same_pixels(&file, job, film)
            && has_all_samples(&file, samples, job.args.work.noise_threshold)
    })
}

fn has_same_pixels(file: &ExrImage, job: RenderJob, film: FilmOptions) -> bool {
    let window = job.loaded.settings.window;
    let film = &Film::new(window, film);
    let (variance, sums) = (job.args.writes_variance(), job.args.stores_sums());
    let expected = FilmLayers { film, image: true, variance, sums }.channels();
    let expected: BTreeSet<&str> = expected.iter().map(|channel| channel.0.as_str()).collect();
    let found: BTreeSet<&str> = file.channels.iter().map(|c| c.name.as_str()).collect();
    let resolution: [u32; 2] = job.loaded.settings.resolution.into();
    file.full_size == resolution && file.window() == Some(window) && found == expected
}

/// Whether a rendering with these options would have taken the samples of `file`, and no more.
fn has_all_samples(file: &ExrImage, samples: u32, threshold: Option<f64>) -> bool {
    let float = |name: &str| {
        file.attributes.iter().find_map(|(other, value)| match value {
            Attribute::Float(x) if other == name => Some(*x),
            _ => None,
        })
    };
    let has = |n| sample_counts((n, n)).iter().all(|count| file.attributes.contains(count));
    let noise = float("lightbound/noise");
    float("lightbound/noiseThreshold") == threshold.map(|threshold| threshold as f32)
        && (has(samples)
            || noise.is_some_and(|noise| threshold.is_some_and(|t| noise <= t as f32))
                && noise_checks().any(has))
}
