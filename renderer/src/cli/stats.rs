//! The figures of `--stats`: one JSON object for benchmarks and farms.

use lightbound::integrator::{CutCounts, CutTimes, LightTreeFigures};
use serde::Serialize;
use std::time::Duration;

/// What a rendering took. Times in seconds, memory in bytes.
#[derive(Clone, Debug, Serialize)]
pub struct Stats {
    /// Version of this program.
    pub version: &'static str,
    /// The scene file as it was given.
    pub scene: String,
    /// The picture's file; null where there was nothing to write.
    pub output: Option<String>,
    /// Reading and parsing the scene file and the files it names.
    pub load_seconds: f64,
    /// Building lights and acceleration structure.
    pub build_seconds: f64,
    /// Rendering alone, wall clock.
    pub render_seconds: f64,
    /// Rendering alone, CPU time over all threads.
    pub render_cpu_seconds: f64,
    /// Samples per pixel that were asked for.
    pub spp: u32,
    /// Fewest samples that a pixel got.
    pub min_samples: u32,
    /// Most samples that a pixel got.
    pub max_samples: u32,
    /// Samples of all pixels together.
    pub camera_samples: u64,
    /// Samples that were not finite or beyond the film's range.
    pub invalid_samples: u64,
    /// Estimated error below which rendering was to stop; null where none was given.
    pub noise_threshold: Option<f64>,
    /// The estimated error that was reached; null without a threshold, and where it is not known.
    pub noise: Option<f64>,
    /// Closest-hit rays, camera rays included.
    pub rays: u64,
    /// Shadow rays.
    pub shadow_rays: u64,
    /// Evaluations of shaders: of their setup, of light from given directions, and of directions
    /// that were drawn.
    pub shader_evaluations: u64,
    /// Share of the lanes of SIMD groups that these filled; null where there were none.
    pub shader_occupancy: Option<f64>,
    /// Evaluations in which a loop was cut off.
    pub shader_capped: u64,
    /// What shaders were compiled for; null where there are none.
    pub shader_target: Option<&'static str>,
    /// Columns of the picture.
    pub width: u32,
    /// Rows of the picture.
    pub height: u32,
    /// Lights; every emitting triangle is one.
    pub lights: usize,
    /// Triangles, each instanced group counted once.
    pub triangles: u64,
    /// Memory of the acceleration structure.
    pub accel_memory_bytes: usize,
    /// Most memory that the process ever held; null where the system does not tell.
    pub peak_memory_bytes: Option<u64>,
    /// Threads that rendered.
    pub threads: usize,
    /// Seed of the random numbers.
    pub seed: u32,
    /// Acceleration structure.
    pub accel: &'static str,
    /// Integrator.
    pub integrator: &'static str,
    /// Of the trees of lights that the integrator built; null where it has none, as the path tracer
    /// by tables.
    pub light_tree: Option<LightTreeStats>,
    /// Of the integrator lightcuts; null for others.
    pub lightcuts: Option<CutStats>,
    /// Whether Ctrl-C ended the rendering.
    pub interrupted: bool,
    /// Warnings, as they were printed.
    pub warnings: Vec<String>,
}

/// What cuts through trees of lights took. Shares are of the time that threads worked on samples;
/// null where there was none.
#[derive(Clone, Debug, Serialize)]
pub struct CutStats {
    /// Cuts: points that were shaded by one.
    pub cuts: u64,
    /// Mean of their sizes, clusters; null where there is no cut.
    pub cut_size_mean: Option<f64>,
    /// Median of their sizes: exact below 32, elsewhere within 1/32 of it.
    pub cut_size_median: Option<f64>,
    /// The largest.
    pub cut_size_max: u32,
    /// Cuts that ended at the most clusters they may have.
    pub capped_cuts: u64,
    /// Clusters that were bounded.
    pub bound_evaluations: u64,
    /// Shadow rays of cuts.
    pub shadow_rays: u64,
    /// Representatives for which the material was evaluated.
    pub representatives: u64,
    /// Bounds that were held against what they bound.
    pub bound_checks: u64,
    /// Those that were below it.
    pub bound_violations: u64,
    /// Share of the time for bounds of clusters.
    pub bounds_share: Option<f64>,
    /// For materials of representatives.
    pub shading_share: Option<f64>,
    /// For shadow rays.
    pub visibility_share: Option<f64>,
}

/// What the trees of lights took.
#[derive(Clone, Debug, Serialize)]
pub struct LightTreeStats {
    /// Building them, wall clock.
    pub build_seconds: f64,
    /// Their memory.
    pub memory_bytes: usize,
    /// Leaves: points and directions that stand for lights, or lights and pieces of skies.
    pub leaves: usize,
}

impl From<LightTreeFigures> for LightTreeStats {
    fn from(tree: LightTreeFigures) -> LightTreeStats {
        LightTreeStats {
            build_seconds: tree.build.as_secs_f64(),
            memory_bytes: tree.bytes,
            leaves: tree.points,
        }
    }
}

impl CutStats {
    /// The figures of what was counted.
    pub fn new(counts: &CutCounts) -> CutStats {
        let CutTimes { total, bounds, shading, visibility } = counts.times;
        let share =
            |part: Duration| (!total.is_zero()).then(|| part.as_secs_f64() / total.as_secs_f64());
        CutStats {
            cuts: counts.sizes.count(),
            cut_size_mean: counts.sizes.mean(),
            cut_size_median: counts.sizes.median(),
            cut_size_max: counts.sizes.max(),
            capped_cuts: counts.capped,
            bound_evaluations: counts.bound_evaluations,
            shadow_rays: counts.shadow_rays,
            representatives: counts.representatives,
            bound_checks: counts.checks,
            bound_violations: counts.violations,
            bounds_share: share(bounds),
            shading_share: share(shading),
            visibility_share: share(visibility),
        }
    }
}

/// Most memory that the process ever held, where the system tells (Linux).
pub fn peak_memory_bytes() -> Option<u64> {
    high_water_mark(&std::fs::read_to_string("/proc/self/status").ok()?)
}

/// `VmHWM` of a `/proc/PID/status`, bytes.
fn high_water_mark(status: &str) -> Option<u64> {
    let value = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_the_time_of_all_threads() {
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

    #[test]
    fn reads_the_high_water_mark() {
        assert_eq!(
            high_water_mark("Name:\tx\nVmPeak:\t  9 kB\nVmHWM:\t    2304 kB\n"),
            Some(2304 * 1024)
        );
        assert_eq!(high_water_mark("Name:\tx\n"), None);
    }
}
