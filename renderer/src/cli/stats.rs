//! The figures of `--stats`: one JSON object for benchmarks and farms.

use serde::Serialize;

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
    /// Evaluations of shaders: of their setup, of light from given directions, and of directions that were drawn.
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
    /// Whether Ctrl-C ended the rendering.
    pub interrupted: bool,
    /// Warnings, as they were printed.
    pub warnings: Vec<String>,
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
    fn reads_the_high_water_mark() {
        assert_eq!(high_water_mark("Name:\tx\nVmPeak:\t  9 kB\nVmHWM:\t    2304 kB\n"), Some(2304 * 1024));
        assert_eq!(high_water_mark("Name:\tx\n"), None);
    }
}
