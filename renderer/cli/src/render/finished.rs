//! Whether a file is the finished image of a rendering, although it contains no exact sums.

use super::job::RenderJob;
use super::result::{attributes, sample_counts};
use super::work::noise_checks;
use lightbound::film::FilmOptions;
use lightbound::film::layers::image_channels;
use lightbound::part::have_same_settings;
use lightbound_image::write::{Attribute, ExrImage};
use lightbound_image::{read_exr_blocks, read_exr_channel_names, read_exr_header};
use std::collections::BTreeSet;
use std::path::Path;

/// Returns whether the file at `path` is the image that `job` writes at its end: it has the same
/// settings, pixels and channels, and either `samples` samples per pixel or noise below the
/// threshold. Formats other than EXR do not tell.
pub fn is_finished(path: &Path, job: RenderJob, samples: u32, film: FilmOptions) -> bool {
    read_exr_header(path).is_ok_and(|file| {
        have_same_settings(&file.attributes, &attributes(job.args, job.loaded, job.integrator))
            && has_same_window(&file, job)
            && has_all_samples(&file, samples, job.args.work.noise_threshold)
            && has_same_channels(path, job, film)
            // A copy may be damaged. The blocks are read one by one, to save memory.
            && read_exr_blocks(path, &[], |_, _| ()).is_ok()
    })
}

fn has_same_window(file: &ExrImage, job: RenderJob) -> bool {
    let settings = &job.loaded.settings;
    let resolution: [u32; 2] = settings.resolution.into();
    file.full_size == resolution && file.window() == Some(settings.window)
}

fn has_same_channels(path: &Path, job: RenderJob, film: FilmOptions) -> bool {
    let (args, groups) = (job.args, job.loaded.scene.lights.groups());
    let expected = image_channels(film, args.writes_variance(), groups.names());
    let expected: BTreeSet<String> = expected.into_iter().map(|channel| channel.0).collect();
    let found = read_exr_channel_names(path);
    !args.stores_sums() && found.is_ok_and(|found| BTreeSet::from_iter(found) == expected)
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
