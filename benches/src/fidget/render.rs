//! Pictures of fields by tapes that are pruned from tile to tile.

use lightbound_shader::pruning::{Evaluator, MAX_BOXES, PrunableFunction, Tape, Trace};

/// Sizes of tiles in two dimensions, in pixels. Those of the last size are evaluated.
const TILES_2D: [usize; 2] = [128, 16];

/// The same in three dimensions, in voxels.
const TILES_3D: [usize; 3] = [64, 16, 4];

/// Size in pixels of tiles for which gradients are pruned.
const NORMAL_TILE: usize = 16;

/// A tape with the memory for its tiles.
struct Level {
    tape: Tape,
    trace: Trace,
    /// Lower and upper endpoints of each axis.
    boxes: [[Vec<f32>; 2]; 3],
    bounds: [Vec<f32>; 2],
    tiles: Vec<[usize; 3]>,
}

impl Level {
    fn new(tape: &Tape) -> Level {
        Level {
            tape: tape.clone(),
            trace: Trace::default(),
            boxes: Default::default(),
            bounds: Default::default(),
            tiles: vec![],
        }
    }

    /// Bounds the tape over tiles of a size. `axes` maps voxels to positions.
    fn bound(&mut self, evaluator: &mut Evaluator, size: [usize; 3], axes: &Axes) {
        for (axis, ends) in self.boxes.iter_mut().enumerate() {
            let [lo, hi] = ends;
            lo.clear();
            hi.clear();
            for tile in &self.tiles {
                // Only centres are evaluated, the last of which is not on the next tile.
                let first = axes.at(axis, tile[axis]);
                let last = axes.at(axis, tile[axis] + size[axis] - 1);
                lo.push(first.min(last));
                hi.push(first.max(last));
            }
        }
        let [lo, hi] = &mut self.bounds;
        lo.resize(self.tiles.len(), 0.0);
        hi.resize(self.tiles.len(), 0.0);
        let boxes = self.boxes.each_ref().map(|[lo, hi]| [&lo[..], &hi[..]]);
        let results = &mut [[&mut lo[..], &mut hi[..]]];
        evaluator.bound(&self.tape, &[], &boxes, results, &mut self.trace);
    }
}

/// The positions of pixels and voxels: x and z increase with the index, y decreases.
struct Axes {
    size: usize,
    /// Whether z is 0 everywhere.
    flat: bool,
}

impl Axes {
    fn at(&self, axis: usize, index: usize) -> f32 {
        let half = self.size as f32 / 2.0;
        let scale = 2.0 / self.size as f32;
        match axis {
            0 => (index as f32 - half) * scale,
            1 => (index as f32 - (half - 1.0)) * -scale,
            _ if self.flat => 0.0,
            _ => (index as f32 - half) * scale,
        }
    }
}

/// Renders a field in the plane z = 0: whether it is negative at each pixel.
pub fn image(field: &PrunableFunction, size: usize) -> Vec<bool> {
    let mut image = Image {
        axes: Axes { size, flat: true },
        evaluator: Evaluator::new(),
        levels: (0..=TILES_2D.len()).map(|_| Level::new(field.tape())).collect(),
        positions: Default::default(),
        values: vec![],
        inside: vec![false; size * size],
    };
    image.tiles(0, [0; 2], size);
    image.inside
}

struct Image {
    axes: Axes,
    evaluator: Evaluator,
    levels: Vec<Level>,
    positions: [Vec<f32>; 3],
    values: Vec<f32>,
    inside: Vec<bool>,
}

impl Image {
    /// Renders the tiles within a tile of `size` pixels, by the tape of a level.
    fn tiles(&mut self, level: usize, corner: [usize; 2], size: usize) {
        let Some(&tile) = TILES_2D.get(level) else {
            return self.pixels(level, corner, size);
        };
        let count = size.div_ceil(tile);
        let all = (0..count * count)
            .map(|k| [corner[0] + k % count * tile, corner[1] + k / count * tile, 0]);
        let all: Vec<_> = all.collect();
        for batch in all.chunks(MAX_BOXES) {
            let current = &mut self.levels[level];
            current.tiles.clear();
            current.tiles.extend(batch);
            current.bound(&mut self.evaluator, [tile, tile, 1], &self.axes);
            for (row, &[x, y, _]) in batch.iter().enumerate() {
                let (outer, inner) = self.levels.split_at_mut(level + 1);
                let current = &outer[level];
                if current.bounds[1][row] < 0.0 {
                    let width = self.axes.size;
                    for line in y..(y + tile).min(width) {
                        self.inside[line * width + x..line * width + (x + tile).min(width)]
                            .fill(true);
                    }
                } else if current.bounds[0][row] < 0.0 {
                    let pruned = &mut inner[0].tape;
                    self.evaluator.prune_into(&current.tape, &current.trace, row, pruned);
                    self.tiles(level + 1, [x, y], tile);
                }
            }
        }
    }

    fn pixels(&mut self, level: usize, [x, y]: [usize; 2], size: usize) {
        let width = self.axes.size;
        let [xs, ys, _] = &mut self.positions;
        xs.clear();
        ys.clear();
        for line in y..y + size {
            xs.extend((x..x + size).map(|column| self.axes.at(0, column)));
            ys.extend(std::iter::repeat_n(self.axes.at(1, line), size));
        }
        self.values.resize(size * size, 0.0);
        let tape = &self.levels[level].tape;
        self.evaluator.evaluate(tape, &[], &[xs, ys, &[0.0]], &mut [&mut self.values]);
        for (line, values) in self.values.chunks(size).enumerate().take(width.saturating_sub(y)) {
            let row = &mut self.inside[(y + line) * width + x..];
            let columns = size.min(width - x);
            for (inside, value) in row[..columns].iter_mut().zip(values) {
                *inside = *value < 0.0;
            }
        }
    }
}

/// A surface seen along −z.
pub struct Heightmap {
    /// For each pixel, one more than the index of the first voxel inside; 0 if there is none.
    pub depths: Vec<u32>,
    /// Gradients of the field at these voxels.
    pub normals: [Vec<f32>; 3],
}

/// Renders a field in three dimensions. `gradient` has the gradient as outputs 1 to 3.
pub fn heightmap(field: &PrunableFunction, gradient: &PrunableFunction, size: usize) -> Heightmap {
    let mut volume = Volume {
        axes: Axes { size, flat: false },
        evaluator: Evaluator::new(),
        levels: (0..=TILES_3D.len()).map(|_| Level::new(field.tape())).collect(),
        positions: Default::default(),
        columns: vec![],
        values: vec![],
        depths: vec![0; size * size],
    };
    volume.tiles(0, [0; 3], size);
    let normals = volume.normals(gradient);
    Heightmap { depths: volume.depths, normals }
}

struct Volume {
    axes: Axes,
    evaluator: Evaluator,
    levels: Vec<Level>,
    positions: [Vec<f32>; 3],
    columns: Vec<usize>,
    values: Vec<f32>,
    depths: Vec<u32>,
}

impl Volume {
    /// Whether all pixels of a tile are covered up to a height.
    fn is_hidden(&self, [x, y, z]: [usize; 3], tile: usize) -> bool {
        let width = self.axes.size;
        let top = (z + tile) as u32;
        (y..y + tile)
            .all(|line| self.depths[line * width + x..][..tile].iter().all(|&depth| depth >= top))
    }

    fn tiles(&mut self, level: usize, corner: [usize; 3], size: usize) {
        let Some(&tile) = TILES_3D.get(level) else {
            return self.voxels(level, corner, size);
        };
        let count = size / tile;
        // Layers from front to back, so that those behind may be hidden.
        let per_batch = (MAX_BOXES / (count * count)).max(1);
        let layers: Vec<_> = (0..count).rev().collect();
        let mut batch = vec![];
        for layers in layers.chunks(per_batch) {
            for &k in layers {
                for j in 0..count {
                    for i in 0..count {
                        let [x, y, z] = corner;
                        let place = [x + i * tile, y + j * tile, z + k * tile];
                        if !self.is_hidden(place, tile) {
                            batch.push(place);
                        }
                    }
                }
            }
            for tiles in batch.chunks(MAX_BOXES) {
                self.batch(level, tiles, tile);
            }
            batch.clear();
        }
    }

    fn batch(&mut self, level: usize, tiles: &[[usize; 3]], tile: usize) {
        let current = &mut self.levels[level];
        current.tiles.clear();
        current.tiles.extend(tiles);
        current.bound(&mut self.evaluator, [tile; 3], &self.axes);
        let width = self.axes.size;
        for (row, &[x, y, z]) in tiles.iter().enumerate() {
            let [lower, upper] = [0, 1].map(|side| self.levels[level].bounds[side][row]);
            if lower >= 0.0 || self.is_hidden([x, y, z], tile) {
                continue;
            }
            if upper < 0.0 {
                for line in y..y + tile {
                    for depth in &mut self.depths[line * width + x..][..tile] {
                        *depth = (*depth).max((z + tile) as u32);
                    }
                }
                continue;
            }
            let (outer, inner) = self.levels.split_at_mut(level + 1);
            let (current, pruned) = (&outer[level], &mut inner[0].tape);
            self.evaluator.prune_into(&current.tape, &current.trace, row, pruned);
            self.tiles(level + 1, [x, y, z], tile);
        }
    }

    fn voxels(&mut self, level: usize, [x, y, z]: [usize; 3], size: usize) {
        let width = self.axes.size;
        let [xs, ys, zs] = &mut self.positions;
        xs.clear();
        ys.clear();
        zs.clear();
        self.columns.clear();
        let top = (z + size) as u32;
        for line in y..y + size {
            for column in x..x + size {
                if self.depths[line * width + column] >= top {
                    continue;
                }
                self.columns.push(line * width + column);
                let (px, py) = (self.axes.at(0, column), self.axes.at(1, line));
                xs.extend(std::iter::repeat_n(px, size));
                ys.extend(std::iter::repeat_n(py, size));
                zs.extend((z..z + size).rev().map(|k| self.axes.at(2, k)));
            }
        }
        self.values.resize(xs.len(), 0.0);
        let tape = &self.levels[level].tape;
        self.evaluator.evaluate(tape, &[], &[xs, ys, zs], &mut [&mut self.values]);
        for (&pixel, values) in self.columns.iter().zip(self.values.chunks(size)) {
            if let Some(k) = values.iter().position(|&value| value < 0.0) {
                self.depths[pixel] = top - k as u32;
            }
        }
    }

    /// The gradients at the surface, by tapes that are pruned for the surface in each tile.
    fn normals(&mut self, gradient: &PrunableFunction) -> [Vec<f32>; 3] {
        let width = self.axes.size;
        let count = width.div_ceil(NORMAL_TILE);
        let mut normals = [(); 3].map(|()| vec![0.0; self.depths.len()]);
        let (mut trace, mut pruned) = (Trace::default(), gradient.tape().clone());
        let tiles: Vec<_> =
            (0..count * count).map(|k| self.surface(k % count, k / count)).collect();
        let tiles: Vec<_> = tiles.into_iter().filter(|pixels| !pixels.is_empty()).collect();
        for batch in tiles.chunks(MAX_BOXES) {
            let mut boxes: [[Vec<f32>; 2]; 3] = Default::default();
            for positions in batch.iter().map(|pixels| self.positions_of(pixels)) {
                for (ends, xs) in boxes.iter_mut().zip(&positions) {
                    ends[0].push(xs.iter().copied().fold(f32::INFINITY, f32::min));
                    ends[1].push(xs.iter().copied().fold(f32::NEG_INFINITY, f32::max));
                }
            }
            let boxes = boxes.each_ref().map(|[lo, hi]| [&lo[..], &hi[..]]);
            let mut bounds = [(); 4].map(|()| [vec![0.0; batch.len()], vec![0.0; batch.len()]]);
            let mut results = bounds.each_mut().map(|[lo, hi]| [&mut lo[..], &mut hi[..]]);
            self.evaluator.bound(gradient.tape(), &[], &boxes, &mut results, &mut trace);
            for (row, pixels) in batch.iter().enumerate() {
                self.evaluator.prune_into(gradient.tape(), &trace, row, &mut pruned);
                let positions = self.positions_of(pixels);
                let inputs = positions.each_ref().map(|xs| &xs[..]);
                let mut values = [(); 4].map(|()| vec![0.0; pixels.len()]);
                let mut results = values.each_mut().map(|column| &mut column[..]);
                self.evaluator.evaluate(&pruned, &[], &inputs, &mut results);
                for (normals, values) in normals.iter_mut().zip(&values[1..]) {
                    for (&pixel, &x) in pixels.iter().zip(values) {
                        normals[pixel] = x;
                    }
                }
            }
        }
        normals
    }

    /// The pixels of a tile that show the surface.
    fn surface(&self, i: usize, j: usize) -> Vec<usize> {
        let width = self.axes.size;
        let lines = j * NORMAL_TILE..((j + 1) * NORMAL_TILE).min(width);
        let columns = i * NORMAL_TILE..((i + 1) * NORMAL_TILE).min(width);
        let pixels = lines.flat_map(|line| columns.clone().map(move |x| line * width + x));
        pixels.filter(|&pixel| self.depths[pixel] > 0).collect()
    }

    /// The positions of the surface in pixels.
    fn positions_of(&self, pixels: &[usize]) -> [Vec<f32>; 3] {
        let width = self.axes.size;
        [
            pixels.iter().map(|pixel| self.axes.at(0, pixel % width)).collect(),
            pixels.iter().map(|pixel| self.axes.at(1, pixel / width)).collect(),
            pixels.iter().map(|&p| self.axes.at(2, self.depths[p] as usize - 1)).collect(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_shader::FunctionOptions;

    const BALL: &str = "fn field(/** range: [-1, 1] */ p: vec3f) -> f32 {
        return max(length(p) - 0.7, min(p.x, 0.3 - length(p - vec3f(0.2))));
    }";

    fn field() -> PrunableFunction {
        PrunableFunction::compile("ball.wgsl", BALL, "field", &FunctionOptions::default()).unwrap()
    }

    fn value(field: &PrunableFunction, [x, y, z]: [f32; 3]) -> f32 {
        let mut out = [0.0];
        Evaluator::new().evaluate(field.tape(), &[], &[&[x], &[y], &[z]], &mut [&mut out]);
        out[0]
    }

    #[test]
    fn images_equal_values_at_all_pixels() {
        let (size, axes) = (256, Axes { size: 256, flat: true });
        let field = field();
        let image = image(&field, size);
        for pixel in (0..size * size).step_by(97) {
            let value = value(&field, [axes.at(0, pixel % size), axes.at(1, pixel / size), 0.0]);
            assert_eq!(image[pixel], value < 0.0, "pixel {pixel}");
        }
        assert!(image.contains(&true) && image.contains(&false));
    }

    #[test]
    fn heightmaps_have_the_first_voxel_inside() {
        let (size, axes) = (64, Axes { size: 64, flat: false });
        let options = FunctionOptions::default().gradient(&["p"]);
        let gradient = PrunableFunction::compile("ball.wgsl", BALL, "field", &options).unwrap();
        let field = field();
        let heightmap = heightmap(&field, &gradient, size);
        for pixel in (0..size * size).step_by(61) {
            let [x, y] = [axes.at(0, pixel % size), axes.at(1, pixel / size)];
            let at = |k: usize| value(&field, [x, y, axes.at(2, k)]);
            let depth = (0..size).rev().find(|&k| at(k) < 0.0).map_or(0, |k| k as u32 + 1);
            assert_eq!(heightmap.depths[pixel], depth, "pixel {pixel}");
            assert_eq!(depth > 0, heightmap.normals.iter().any(|axis| axis[pixel] != 0.0));
        }
    }
}
