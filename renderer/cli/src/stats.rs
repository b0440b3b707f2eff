//! The JSON object that `--stats` writes, for benchmarks and render farms.

use lightbound::integrator::{self, CutCounts, CutTimes};
use lightbound::material::AppliedProfile;
use lightbound::medium::{Medium, Tightness, TrackingCounts};
use serde::Serialize;
use std::time::Duration;

/// Statistics of a rendering. Times are in seconds, memory in bytes.
#[derive(Clone, Debug, Serialize)]
pub struct Stats {
    /// Version of this program.
    pub version: &'static str,
    /// The scene file as given on the command line.
    pub scene: String,
    /// The image file; null if no image was written.
    pub output: Option<String>,
    /// Time to read the scene with its meshes and textures, and to compile its shaders.
    pub load_seconds: f64,
    /// Time to build lights and acceleration structure.
    pub build_seconds: f64,
    /// Wall-clock time of rendering.
    pub render_seconds: f64,
    /// CPU time of rendering over all threads.
    pub render_cpu_seconds: f64,
    /// Requested samples per pixel.
    pub spp: u32,
    /// Minimum number of samples per pixel.
    pub min_samples: u32,
    /// Maximum number of samples per pixel.
    pub max_samples: u32,
    /// Total number of samples of all pixels.
    pub camera_samples: u64,
    /// Samples that were not finite or exceeded the film's range.
    pub invalid_samples: u64,
    /// Requested error estimate at which rendering stops; null without a threshold.
    pub noise_threshold: Option<f64>,
    /// Final error estimate; null without a threshold, or if it is unknown.
    pub noise: Option<f64>,
    /// Closest-hit rays, including camera rays.
    pub rays: u64,
    /// Shadow rays.
    pub shadow_rays: u64,
    /// Ray tests whose hit only touches an implicit surface, without a change of sign; null without
    /// such surfaces.
    pub touching_hits: Option<u64>,
    /// Shader evaluations: material setup, BRDF evaluation, and direction sampling.
    pub shader_evaluations: u64,
    /// Fraction of SIMD lanes that were occupied in these evaluations; null without evaluations.
    pub shader_occupancy: Option<f64>,
    /// Evaluations in which a loop was stopped at the iteration cap.
    pub shader_capped: u64,
    /// What a profile of shaders changed; null without a profile.
    pub shader_profile: Option<ProfileStats>,
    /// Target of compiled shaders; null without shaders.
    pub shader_target: Option<&'static str>,
    /// Width of the image in pixels.
    pub width: u32,
    /// Height of the image in pixels.
    pub height: u32,
    /// Lights; every emitting triangle counts as one.
    pub lights: usize,
    /// Triangles; each instanced group counts once.
    pub triangles: u64,
    /// Memory of the acceleration structure.
    pub accel_memory_bytes: usize,
    /// Peak memory of the process; null if the system does not report it.
    pub peak_memory_bytes: Option<u64>,
    /// Rendering threads.
    pub threads: usize,
    /// Random seed.
    pub seed: u32,
    /// Acceleration structure.
    pub accel: &'static str,
    /// Integrator.
    pub integrator: &'static str,
    /// The training of the path tracer; null without training.
    pub training: Option<TrainingStats>,
    /// Light trees that the integrator built; null without light trees.
    pub light_tree: Option<LightTreeStats>,
    /// Statistics of the lightcuts integrator; null for others.
    pub lightcuts: Option<CutStats>,
    /// Statistics of participating media; null for scenes without.
    pub media: Option<MediaStats>,
    /// Whether Ctrl-C interrupted the rendering.
    pub interrupted: bool,
    /// The printed warnings.
    pub warnings: Vec<String>,
}

/// Effect of `--shader-profile`.
#[derive(Clone, Debug, Serialize)]
pub struct ProfileStats {
    /// Kernels of the scene's shaders; each program has two.
    pub kernels: usize,
    /// Kernels with tests for zero.
    pub tested_kernels: usize,
    /// Kernels with tests that were rejected, since they did not save time when measured.
    pub rejected_kernels: usize,
}

impl From<AppliedProfile> for ProfileStats {
    fn from(AppliedProfile { kernels, tested, rejected }: AppliedProfile) -> ProfileStats {
        ProfileStats { kernels, tested_kernels: tested, rejected_kernels: rejected }
    }
}

/// Statistics of light cuts. Shares of time are fractions of the thread time spent on samples; null
/// if there is none.
#[derive(Clone, Debug, Serialize)]
pub struct CutStats {
    /// Number of cuts, one for each shaded point or group of samples.
    pub cuts: u64,
    /// Mean cut size in clusters; null without cuts.
    pub cut_size_mean: Option<f64>,
    /// Median cut size: exact below 32, otherwise with a relative error of at most 1/32.
    pub cut_size_median: Option<f64>,
    /// Maximum cut size.
    pub cut_size_max: u32,
    /// Shading points in cuts of several samples.
    pub gather_points: u64,
    /// Pairs of clusters of shading points and of lights in these cuts.
    pub pairs: u64,
    /// Cuts that reached the maximum cut size.
    pub capped_cuts: u64,
    /// Evaluations of cluster bounds.
    pub bound_evaluations: u64,
    /// Shadow rays traced for cuts.
    pub shadow_rays: u64,
    /// Representatives for which the material was evaluated.
    pub representatives: u64,
    /// Bounds that were checked against the exact contribution.
    pub bound_checks: u64,
    /// Checked bounds that did not hold.
    pub bound_violations: u64,
    /// Share of the light that clamping of virtual lights took away; null unless compensation is off.
    pub clamped_share: Option<f64>,
    /// Share of the time spent on cluster bounds.
    pub bounds_share: Option<f64>,
    /// Share of the time spent on materials of representatives.
    pub shading_share: Option<f64>,
    /// Share of the time spent on shadow rays.
    pub visibility_share: Option<f64>,
}

/// Statistics of participating media.
#[derive(Clone, Debug, Serialize)]
pub struct MediaStats {
    /// Collisions of paths.
    pub collisions: u64,
    /// Those with the minorant, where the density was not evaluated.
    pub minorant_collisions: u64,
    /// Null collisions of paths.
    pub null_collisions: u64,
    /// Null collisions for each collision; null without collisions.
    pub null_per_collision: Option<f64>,
    /// Tentative collisions of shadow rays, where the transmittance is estimated.
    pub shadow_collisions: u64,
    /// The majorants of media with a box.
    pub majorants: Vec<MajorantStats>,
}

/// Statistics of the majorants of a medium.
#[derive(Clone, Debug, Serialize)]
pub struct MajorantStats {
    /// Name of the medium.
    pub medium: String,
    /// Number of cells.
    pub cells: usize,
    /// Mean majorant over the mean density, from samples; null without density.
    pub per_mean_density: Option<f64>,
    /// Greatest majorant over the greatest density of all samples; null without density.
    pub per_max_density: Option<f64>,
}

impl MediaStats {
    /// Creates the statistics of a rendering.
    pub fn new(counts: TrackingCounts, media: &[Medium]) -> MediaStats {
        let TrackingCounts { collisions, minorant_collisions, null_collisions, ratio_collisions } =
            counts;
        let majorants = media.iter().filter_map(|medium| {
            let Tightness { mean, maximum } = medium.tightness()?;
            let finite = |ratio: f64| Some(ratio).filter(|ratio| ratio.is_finite());
            Some(MajorantStats {
                medium: medium.name.clone(),
                cells: medium.majorants.cells(),
                per_mean_density: finite(mean),
                per_max_density: finite(maximum),
            })
        });
        MediaStats {
            collisions,
            minorant_collisions,
            null_collisions,
            null_per_collision: (collisions > 0)
                .then(|| null_collisions as f64 / collisions as f64),
            shadow_collisions: ratio_collisions,
            majorants: majorants.collect(),
        }
    }
}

/// Statistics of the training of the path tracer.
#[derive(Clone, Debug, Serialize)]
pub struct TrainingStats {
    /// Wall-clock time, which is part of the time of rendering.
    pub seconds: f64,
    /// Number of continuations of each path at its first vertex.
    pub branches: u32,
    /// Whether light sampling `auto` includes the material.
    pub material_weights: bool,
    /// Contributions below this, relative to the brightness of the pixel, get a shadow ray with a
    /// probability; null if all get one.
    pub shadow_threshold: Option<f32>,
    /// The path guide; null if it does not help.
    pub guide: Option<GuideStats>,
}

/// Statistics of the path guide.
#[derive(Clone, Debug, Serialize)]
pub struct GuideStats {
    /// Number of cells of the scene with directional densities of their own.
    pub cells: usize,
    /// Expected second moment of contributions, relative to that without the guide: a weighted mean
    /// over the cells.
    pub moment_ratio: f64,
}

impl From<integrator::TrainingStats> for TrainingStats {
    fn from(stats: integrator::TrainingStats) -> TrainingStats {
        let guide = |guide: integrator::GuideStats| GuideStats {
            cells: guide.cells,
            moment_ratio: guide.moment_ratio,
        };
        TrainingStats {
            seconds: stats.time.as_secs_f64(),
            branches: stats.branches,
            material_weights: stats.material_weights,
            shadow_threshold: stats.shadow_threshold,
            guide: stats.guide.map(guide),
        }
    }
}

/// Statistics of light trees.
#[derive(Clone, Debug, Serialize)]
pub struct LightTreeStats {
    /// Wall-clock time to build them.
    pub build_seconds: f64,
    /// Memory of the trees.
    pub memory_bytes: usize,
    /// Number of leaves: for lightcuts, points and directions that represent lights; for the path
    /// tracer, lights and regions of environment lights.
    pub leaves: usize,
    /// Number of leaves that are virtual lights.
    pub virtual_lights: usize,
}

impl From<integrator::LightTreeStats> for LightTreeStats {
    fn from(tree: integrator::LightTreeStats) -> LightTreeStats {
        LightTreeStats {
            build_seconds: tree.build.as_secs_f64(),
            memory_bytes: tree.bytes,
            leaves: tree.points,
            virtual_lights: tree.virtual_lights,
        }
    }
}

impl CutStats {
    /// Computes the statistics from counts.
    pub fn new(counts: &CutCounts) -> CutStats {
        let CutTimes { total, bounds, shading, visibility } = counts.times;
        let share =
            |part: Duration| (!total.is_zero()).then(|| part.as_secs_f64() / total.as_secs_f64());
        CutStats {
            cuts: counts.sizes.count(),
            cut_size_mean: counts.sizes.mean(),
            cut_size_median: counts.sizes.median(),
            cut_size_max: counts.sizes.max(),
            gather_points: counts.gather_points,
            pairs: counts.pairs,
            capped_cuts: counts.capped,
            bound_evaluations: counts.bound_evaluations,
            shadow_rays: counts.shadow_rays,
            representatives: counts.representatives,
            bound_checks: counts.checks,
            bound_violations: counts.violations,
            clamped_share: counts.light.clamped_share(),
            bounds_share: share(bounds),
            shading_share: share(shading),
            visibility_share: share(visibility),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_relative_to_total_thread_time() {
        let mut counts = CutCounts::default();
        [4, 6, 8].iter().for_each(|&size| counts.sizes.add(size));
        assert_eq!(CutStats::new(&counts).bounds_share, None);
        let [total, bounds, shading, visibility] = [8, 4, 2, 1].map(Duration::from_millis);
        counts.times = CutTimes { total, bounds, shading, visibility };
        let stats = serde_json::to_value(CutStats::new(&counts)).unwrap();
        for (key, value) in
            [("cuts", 3.0), ("cut_size_mean", 6.0), ("cut_size_median", 6.0), ("cut_size_max", 8.0)]
        {
            assert_eq!(stats[key].as_f64(), Some(value), "{key}");
        }
        for (key, value) in
            [("bounds_share", 0.5), ("shading_share", 0.25), ("visibility_share", 0.125)]
        {
            assert_eq!(stats[key], value, "{key}");
        }
    }
}
