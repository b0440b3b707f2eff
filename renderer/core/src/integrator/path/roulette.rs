//! Russian roulette.
//!
//! Without training, the survival probability of a path depends on its throughput alone.
//!
//! With training, surfaces with a shader approximate the survival probability of EARS (Rath et al.
//! 2022, *EARS: Efficiency-Aware Russian Roulette and Splitting*, §4), which has the least product
//! of variance and time: throughput relative to the brightness of the pixel × √(E\[L²\] / r) ×
//! √(C / V). L is the radiance that training paths found from the vertex's cell of a spatial tree,
//! and r is the number of rays that they took. C is the number of rays per sample, and V is the
//! variance of a sample relative to the squared brightness. So paths with a low throughput survive
//! where they may still find much light, and in dark pixels (Vorba and Křivánek 2016,
//! *Adjoint-Driven Russian Roulette and Splitting in Light Transport Simulation*).

use super::VertexKind;
use crate::integrator::guiding::{GUIDE_AXES, SpatialTree};
use lightbound_math::{COLUMN_LEN, Column, Columns};

/// First scattering event, from 0, after which Russian roulette may terminate paths.
const FIRST_EVENT: u32 = 1;

/// Throughput below which Russian roulette without training terminates paths. The survival
/// probability is the root of the throughput relative to this.
const FULL_THROUGHPUT: f32 = 1.0 / 16.0;

/// Minimum survival probability with training. It limits the weight of survivors to 5, where the
/// training missed light.
const MIN_SURVIVAL: f32 = 0.2;

/// First scattering event at which the survival probability at surfaces is limited to
/// [`MAX_SURVIVAL`].
const MAX_SURVIVAL_EVENT: u32 = 8;

/// Maximum survival probability of long paths at surfaces, so that paths between perfect mirrors
/// terminate.
const MAX_SURVIVAL: f32 = 0.99;

/// Empirical factor on the survival probability of EARS: V is that of a few independent samples
/// without branches. Smaller factors lose where the training misses rare light.
const SURVIVAL_SCALE: f64 = 4.0;

/// Weight of the global mean as a prior for each cell, in training samples.
const PRIOR_SAMPLES: f64 = 16.0;

/// Radius in pixels of the square over which the training image is blurred.
const BLUR_RADIUS: usize = 2;

/// Minimum brightness of a pixel, relative to the mean of the image.
const MIN_BRIGHTNESS: f64 = 0.1;

/// Russian roulette at a scattering event.
#[derive(Clone, Copy)]
pub(super) struct Roulette {
    /// Whether paths may be terminated.
    terminates: bool,
    max_survival: f32,
    is_trained: bool,
}

impl Roulette {
    /// Returns the roulette at the scattering event `depth`, from 0. `is_trained` tells whether the
    /// vertices have scales from [`TrainedRoulette::scales`].
    pub fn new(kind: VertexKind, depth: u32, is_trained: bool) -> Roulette {
        // Most paths in dense media have hundreds of collisions, after which a limit would leave
        // few paths with a high throughput.
        let max_survival = match kind {
            VertexKind::Surface if depth >= MAX_SURVIVAL_EVENT => MAX_SURVIVAL,
            _ => 1.0,
        };
        Roulette { terminates: depth >= FIRST_EVENT, max_survival, is_trained }
    }

    /// Returns the survival probability of a path with this throughput. `scale` is that of its
    /// vertex. Training says nothing about delta distributions, which see other light.
    #[inline(always)]
    pub fn survival(self, throughput: f32, scale: f32, is_delta: bool) -> f32 {
        let survival = if self.is_trained & !is_delta {
            (throughput * scale).max(MIN_SURVIVAL)
        } else {
            (throughput / FULL_THROUGHPUT).sqrt()
        };
        if self.terminates { survival.min(self.max_survival) } else { 1.0 }
    }
}

/// What a training path found after a vertex.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathSample {
    /// Position and normal of the vertex.
    pub point: [f32; GUIDE_AXES],
    /// Radiance from the direction of the path: contribution to the image over throughput.
    pub radiance: f32,
    /// Number of rays from vertex to vertex.
    pub rays: u32,
}

/// What Russian roulette has learnt in the training.
#[derive(Debug)]
pub(super) struct TrainedRoulette {
    /// Survival probability over throughput for each cell, in a pixel of brightness 1.
    cells: Vec<f32>,
    brightness: BrightnessMap,
}

impl TrainedRoulette {
    /// Learns from lists of training paths with an `efficiency` √(C / V). Returns `None` if they found no
    /// light or no noise.
    pub fn new(
        samples: &[Vec<PathSample>],
        tree: &SpatialTree,
        efficiency: f64,
        brightness: BrightnessMap,
    ) -> Option<TrainedRoulette> {
        let mut cells = vec![CellSums::default(); tree.cell_count()];
        let mut points = Columns::ZERO;
        for samples in samples.iter().flat_map(|list| list.chunks(COLUMN_LEN)) {
            samples.iter().enumerate().for_each(|(lane, sample)| points.set(lane, sample.point));
            for (sample, cell) in samples.iter().zip(tree.find_cells(&points)) {
                cells[cell as usize].add(sample);
            }
        }
        let mut all = CellSums::default();
        cells.iter().for_each(|cell| all.merge(cell, 1.0));
        let scale = |mut cell: CellSums| {
            cell.merge(&all, PRIOR_SAMPLES / all.samples);
            (SURVIVAL_SCALE * efficiency * (cell.moment / cell.rays).sqrt()) as f32
        };
        let cells: Vec<f32> = cells.into_iter().map(scale).collect();
        let is_valid = cells.iter().all(|&scale| scale > 0.0 && scale.is_finite());
        is_valid.then_some(TrainedRoulette { cells, brightness })
    }

    /// Returns the inverse brightness of a pixel of the image.
    pub fn inverse_brightness(&self, x: u32, y: u32) -> f32 {
        self.brightness.inverse(x, y)
    }

    /// Returns whether the scattering event `depth` needs scales.
    pub fn needs_scales(depth: u32) -> bool {
        depth >= FIRST_EVENT
    }

    /// Returns the survival probabilities over throughput of vertices, from their cells and the
    /// inverse brightness of their pixels.
    pub fn scales(&self, cells: &[u32; COLUMN_LEN], inverse_brightness: &Column) -> Column {
        std::array::from_fn(|lane| self.cells[cells[lane] as usize] * inverse_brightness[lane])
    }
}

/// Sums over the training paths from a cell.
#[derive(Clone, Copy, Default)]
struct CellSums {
    samples: f64,
    /// Squared radiance.
    moment: f64,
    rays: f64,
}

impl CellSums {
    fn add(&mut self, sample: &PathSample) {
        self.samples += 1.0;
        let radiance = f64::from(sample.radiance);
        self.moment += radiance * radiance;
        self.rays += f64::from(sample.rays);
    }

    fn merge(&mut self, other: &CellSums, factor: f64) {
        self.samples += factor * other.samples;
        self.moment += factor * other.moment;
        self.rays += factor * other.rays;
    }
}

/// The blurred brightness of the training image.
#[derive(Debug)]
pub(super) struct BrightnessMap {
    resolution: [usize; 2],
    /// Pixels of the map for each pixel of the image.
    scale: [f32; 2],
    inverse: Vec<f32>,
}

impl BrightnessMap {
    /// Creates the map from the scattered radiance of the pixels of the training image: with visible
    /// emitters, the blur would make pixels around them too bright. `image_resolution` is that of the
    /// image.
    pub fn new(
        radiance: &[f64],
        (width, height): (u32, u32),
        image_resolution: (u32, u32),
    ) -> BrightnessMap {
        let resolution = [width as usize, height as usize];
        let mean = radiance.iter().sum::<f64>() / radiance.len() as f64;
        let inverse = |blurred: f64| blurred.max(MIN_BRIGHTNESS * mean).recip() as f32;
        BrightnessMap {
            resolution,
            scale: [
                width as f32 / image_resolution.0 as f32,
                height as f32 / image_resolution.1 as f32,
            ],
            inverse: blurred(radiance, resolution).into_iter().map(inverse).collect(),
        }
    }

    /// Returns the inverse brightness of a pixel of the training image.
    pub fn inverse_at(&self, x: u32, y: u32) -> f32 {
        self.inverse[y as usize * self.resolution[0] + x as usize]
    }

    /// Returns the inverse brightness of a pixel of the image.
    fn inverse(&self, x: u32, y: u32) -> f32 {
        let [width, height] = self.resolution;
        let index =
            |i: u32, scale: f32, size: usize| (((i as f32 + 0.5) * scale) as usize).min(size - 1);
        let [x_scale, y_scale] = self.scale;
        self.inverse[index(y, y_scale, height) * width + index(x, x_scale, width)]
    }
}

/// Applies a box filter, clipped at the border.
fn blurred(pixels: &[f64], [width, height]: [usize; 2]) -> Vec<f64> {
    let mean = |line: &dyn Fn(usize) -> f64, at: usize, len: usize| {
        let window = at.saturating_sub(BLUR_RADIUS)..(at + BLUR_RADIUS + 1).min(len);
        let count = window.len() as f64;
        window.map(line).sum::<f64>() / count
    };
    let coordinates = |i: usize| (i % width, i / width);
    let along_rows: Vec<f64> = (0..pixels.len())
        .map(coordinates)
        .map(|(x, y)| mean(&|x| pixels[y * width + x], x, width))
        .collect();
    (0..pixels.len())
        .map(coordinates)
        .map(|(x, y)| mean(&|y| along_rows[y * width + x], y, height))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::integrator::guiding::TrainingSample;

    fn map(radiance: &[f64], resolution: (u32, u32), image: (u32, u32)) -> BrightnessMap {
        BrightnessMap::new(radiance, resolution, image)
    }

    #[test]
    fn brightness_is_a_mean_over_neighbours_with_a_minimum() {
        let mut radiance = vec![0.0; 100];
        radiance[55] = 100.0;
        let map = map(&radiance, (10, 10), (20, 30));
        // Pixels (5, 5) of the map: a mean over 25 pixels.
        assert_eq!(map.inverse(10, 15), 0.25);
        assert_eq!(map.inverse(7, 10), 0.25);
        // The mean of the image is 1.
        assert_eq!(map.inverse(5, 15), 10.0);
        assert_eq!(map.inverse(19, 29), 10.0);
    }

    #[test]
    fn squares_are_clipped_at_the_border() {
        let map = map(&[3.0; 12], (4, 3), (1, 1));
        assert!(map.inverse.iter().all(|&inverse| inverse == 1.0 / 3.0), "{:?}", map.inverse);
    }

    #[test]
    fn paths_survive_where_light_is_found_with_few_rays() {
        // Four cells, which start at 0, 1, 2 and 3 along the first axis.
        let guide_sample = |i: u16| TrainingSample {
            point: [f32::from(i), 0.0, 0.0, 0.0, 0.0, 0.0],
            ..TrainingSample::default()
        };
        let (tree, cells) = SpatialTree::new(&mut [0, 1, 2, 3].map(guide_sample), 1);
        assert_eq!(cells.len(), 4);
        let path =
            |x, radiance, rays| PathSample { point: [x, 0.0, 0.0, 0.0, 0.0, 0.0], radiance, rays };
        let lit: Vec<_> = [path(0.3, 1.0, 2), path(1.3, 4.0, 2), path(2.3, 1.0, 8)]
            .into_iter()
            .flat_map(|path| std::iter::repeat_n(path, 100_000))
            .collect();
        let learn = |samples: &[PathSample], efficiency| {
            let brightness = map(&[1.0, 1.0], (2, 1), (2, 1));
            TrainedRoulette::new(&[samples.to_vec()], &tree, efficiency, brightness)
        };
        let scales = learn(&lit, 0.1).unwrap().scales(
            &std::array::from_fn(|lane| lane as u32 % 4),
            &std::array::from_fn(|lane| if lane < 4 { 1.0 } else { 0.5 }),
        );
        assert!((scales[1] / scales[0] - 4.0).abs() < 1e-2, "{scales:?}");
        assert!((scales[2] / scales[0] - 0.5).abs() < 1e-2, "{scales:?}");
        // Cells without paths get the mean.
        let expected = (SURVIVAL_SCALE * 0.1 * (18.0f64 / 12.0).sqrt()) as f32;
        assert!((scales[3] / expected - 1.0).abs() < 1e-3, "{scales:?}");
        assert_eq!(scales[5], 0.5 * scales[1]);
        // Without light or noise, there is nothing to learn.
        let dark = [path(0.3, 0.0, 2); 100];
        assert!(learn(&dark, 0.1).is_none() && learn(&[], 0.1).is_none());
        assert!(learn(&lit, f64::NAN).is_none() && learn(&lit, f64::INFINITY).is_none());
    }

    #[test]
    fn survival_probabilities_have_limits() {
        let survival = |depth, is_trained, throughput, scale| {
            Roulette::new(VertexKind::Surface, depth, is_trained).survival(throughput, scale, false)
        };
        assert_eq!(survival(0, true, 0.01, 1.0), 1.0);
        assert_eq!(survival(1, true, 0.1, 4.0), 0.4);
        assert_eq!(survival(1, true, 0.01, 4.0), MIN_SURVIVAL);
        assert_eq!(survival(1, true, 2.0, 4.0), 1.0);
        assert_eq!(survival(9, true, 2.0, 4.0), MAX_SURVIVAL);
        assert_eq!(survival(1, false, 1.0 / 64.0, 0.0), 0.5);
        let trained = Roulette::new(VertexKind::Surface, 1, true);
        assert_eq!(trained.survival(1.0 / 64.0, 0.0, true), 0.5);
        assert_eq!(Roulette::new(VertexKind::Collision, 9, false).survival(1.0, 0.0, false), 1.0);
    }
}
