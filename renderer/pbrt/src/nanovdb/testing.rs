//! Writes small NanoVDB files, from the description of the format.

use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::Write;

/// A grid to be written.
#[derive(Clone, Debug)]
pub struct TestGrid {
    pub name: &'static str,
    pub ty: u32,
    pub class: u32,
    pub background: f32,
    /// Size of a voxel in world space.
    pub voxel_size: f64,
    /// Position of index 0 in world space.
    pub translation: [f64; 3],
    /// Active values: the first and the last point.
    pub index_box: [[i32; 3]; 2],
    /// Origins of leaves, all within one region, and their values.
    pub leaves: Vec<([i32; 3], Vec<f32>)>,
    /// Origins and values of constant cells of 8³ points.
    pub cells: Vec<([i32; 3], f32)>,
    /// Origins and values of constant blocks of 128³ points.
    pub blocks: Vec<([i32; 3], f32)>,
    /// Origins and values of constant regions of 4096³ points.
    pub regions: Vec<([i32; 3], f32)>,
}

impl TestGrid {
    /// Returns a grid of fog with the points 0 to 7 along each axis, of which the values are `f`.
    pub fn leaf(name: &'static str, f: impl Fn([usize; 3]) -> f32) -> TestGrid {
        let values = (0..512).map(|i| f([i >> 6, i >> 3 & 7, i & 7])).collect();
        TestGrid {
            name,
            ty: 1,
            class: 2,
            background: 0.0,
            voxel_size: 1.0,
            translation: [0.0; 3],
            index_box: [[0; 3], [7; 3]],
            leaves: vec![([0; 3], values)],
            cells: vec![],
            blocks: vec![],
            regions: vec![],
        }
    }

    /// Returns the grid as NanoVDB has it in memory.
    pub fn bytes(&self) -> Vec<u8> {
        let region = |p: [i32; 3]| p.map(|x| x >> 12);
        let block = |p: [i32; 3]| p.map(|x| x >> 7);
        let mut out = vec![0; 672 + 64];
        // The root and its tiles.
        let root = out.len();
        let child_origins = self.leaves.iter().map(|(p, _)| *p);
        let child_origins = child_origins.chain(self.cells.iter().map(|(p, _)| *p));
        let child_origins = child_origins.chain(self.blocks.iter().map(|(p, _)| *p));
        let mut uppers: Vec<[i32; 3]> = child_origins.map(region).collect();
        uppers.sort_unstable();
        uppers.dedup();
        let tiles = uppers.len() + self.regions.len();
        out.resize(root + 64 + 32 * tiles, 0);
        put(&mut out, root + 24, &(tiles as u32).to_le_bytes());
        put(&mut out, root + 28, &self.background.to_le_bytes());
        for (i, upper) in uppers.iter().enumerate() {
            let tile = root + 64 + 32 * i;
            put(&mut out, tile, &key(*upper).to_le_bytes());
            let node = out.len();
            put(&mut out, tile + 8, &((node - root) as i64).to_le_bytes());
            self.upper(&mut out, *upper);
        }
        for (i, (origin, value)) in self.regions.iter().enumerate() {
            let tile = root + 64 + 32 * (uppers.len() + i);
            put(&mut out, tile, &key(region(*origin)).to_le_bytes());
            put(&mut out, tile + 20, &value.to_le_bytes());
        }
        debug_assert!(self.leaves.iter().all(|(p, _)| block(*p).len() == 3));
        // The header of the grid.
        let length = out.len() as u64;
        put(&mut out, 0, b"NanoVDB1");
        put(&mut out, 16, &version(32).to_le_bytes());
        put(&mut out, 32, &length.to_le_bytes());
        put(&mut out, 40, self.name.as_bytes());
        for axis in 0..3 {
            let (scale, inverse) = (self.voxel_size, 1.0 / self.voxel_size);
            put(&mut out, 296 + 88 + 32 * axis, &scale.to_le_bytes());
            put(&mut out, 296 + 160 + 32 * axis, &inverse.to_le_bytes());
            put(&mut out, 296 + 232 + 8 * axis, &self.translation[axis].to_le_bytes());
            let [first, last] = self.index_box.map(|p| f64::from(p[axis]));
            let world = |index: f64| self.translation[axis] + scale * index;
            put(&mut out, 560 + 8 * axis, &world(first).to_le_bytes());
            put(&mut out, 584 + 8 * axis, &world(last + 1.0).to_le_bytes());
        }
        put(&mut out, 632, &self.class.to_le_bytes());
        put(&mut out, 636, &self.ty.to_le_bytes());
        put(&mut out, 672 + 24, &64u64.to_le_bytes());
        out
    }

    /// Appends the upper node with these coordinates, and its descendants.
    fn upper(&self, out: &mut Vec<u8>, region: [i32; 3]) {
        let node = out.len();
        out.resize(node + 270_400, 0);
        let mut values = vec![self.background; 32768];
        for (p, value) in self.blocks.iter().filter(|(p, _)| p.map(|x| x >> 12) == region) {
            values[offset(p.map(|x| x >> 7), 5)] = *value;
        }
        for (i, value) in values.iter().enumerate() {
            put(out, node + 8256 + 8 * i, &value.to_le_bytes());
        }
        let origins = self.leaves.iter().map(|(p, _)| *p).chain(self.cells.iter().map(|(p, _)| *p));
        let mut lowers: Vec<[i32; 3]> =
            origins.filter(|p| p.map(|x| x >> 12) == region).map(|p| p.map(|x| x >> 7)).collect();
        lowers.sort_unstable();
        lowers.dedup();
        for lower in lowers {
            let i = offset(lower, 5);
            out[node + 4128 + i / 8] |= 1 << (i % 8);
            let child = (out.len() - node) as i64;
            put(out, node + 8256 + 8 * i, &child.to_le_bytes());
            self.lower(out, lower);
        }
    }

    fn lower(&self, out: &mut Vec<u8>, block: [i32; 3]) {
        let node = out.len();
        out.resize(node + 33_856, 0);
        for i in 0..4096 {
            put(out, node + 1088 + 8 * i, &self.background.to_le_bytes());
        }
        for (p, value) in self.cells.iter().filter(|(p, _)| p.map(|x| x >> 7) == block) {
            let i = offset(p.map(|x| x >> 3), 4);
            put(out, node + 1088 + 8 * i, &value.to_le_bytes());
        }
        for (p, values) in self.leaves.iter().filter(|(p, _)| p.map(|x| x >> 7) == block) {
            let i = offset(p.map(|x| x >> 3), 4);
            out[node + 544 + i / 8] |= 1 << (i % 8);
            let child = (out.len() - node) as i64;
            put(out, node + 1088 + 8 * i, &child.to_le_bytes());
            self.write_leaf(out, values);
        }
    }

    fn write_leaf(&self, out: &mut Vec<u8>, values: &[f32]) {
        let node = out.len();
        out.resize(node + 96, 0);
        let log_bits = match self.ty {
            13 => 2,
            14 => 3,
            15 => 4,
            16 => 1,
            _ => {
                out.extend(values.iter().flat_map(|x| x.to_le_bytes()));
                return;
            }
        };
        // Codes times 0.5, plus 1.
        out[node + 15] = log_bits << 5;
        put(out, node + 80, &1f32.to_le_bytes());
        put(out, node + 84, &0.5f32.to_le_bytes());
        let mut codes = vec![0u8; 64 << log_bits];
        for (i, value) in values.iter().enumerate() {
            let code = ((value - 1.0) * 2.0) as u32;
            for bit in 0..1usize << log_bits {
                let position = (i << log_bits) + bit;
                codes[position / 8] |= ((code >> bit & 1) as u8) << (position % 8);
            }
        }
        out.extend(codes);
    }
}

fn put(out: &mut [u8], offset: usize, bytes: &[u8]) {
    out[offset..offset + bytes.len()].copy_from_slice(bytes);
}

fn offset(p: [i32; 3], bits: u32) -> usize {
    let [x, y, z] = p.map(|x| x as usize & ((1 << bits) - 1));
    (x << (2 * bits)) | (y << bits) | z
}

fn key(region: [i32; 3]) -> u64 {
    let [x, y, z] = region.map(|x| u64::from(x as u32 & 0xf_ffff));
    x << 42 | y << 21 | z
}

fn version(major: u32) -> u32 {
    major << 21 | 6 << 10
}

/// How to compress a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestCodec {
    None,
    Zip,
    /// Blosc with LZ4; the flag tells whether bytes are shuffled.
    Blosc(bool),
}

/// Returns a file with one segment.
pub fn file(grids: &[TestGrid], codec: TestCodec) -> Vec<u8> {
    let grids: Vec<(&str, Vec<u8>)> = grids.iter().map(|grid| (grid.name, grid.bytes())).collect();
    let stored: Vec<Vec<u8>> = grids.iter().map(|(_, bytes)| compress(bytes, codec)).collect();
    let mut out = b"NanoVDB2".to_vec();
    out.extend(version(32).to_le_bytes());
    out.extend((grids.len() as u16).to_le_bytes());
    let number = match codec {
        TestCodec::None => 0u16,
        TestCodec::Zip => 1,
        TestCodec::Blosc(_) => 2,
    };
    out.extend(number.to_le_bytes());
    for ((name, bytes), stored) in grids.iter().zip(&stored) {
        let start = out.len();
        out.resize(start + 176, 0);
        put(&mut out, start, &(bytes.len() as u64).to_le_bytes());
        put(&mut out, start + 8, &(stored.len() as u64).to_le_bytes());
        put(&mut out, start + 136, &(name.len() as u32 + 1).to_le_bytes());
        put(&mut out, start + 168, &number.to_le_bytes());
        out.extend(name.as_bytes());
        out.push(0);
    }
    stored.iter().for_each(|bytes| out.extend(bytes));
    out
}

fn compress(bytes: &[u8], codec: TestCodec) -> Vec<u8> {
    let chunk = match codec {
        TestCodec::None => return bytes.to_vec(),
        TestCodec::Zip => {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        TestCodec::Blosc(shuffle) => blosc(bytes, shuffle),
    };
    let mut out = (chunk.len() as u64).to_le_bytes().to_vec();
    out.extend(chunk);
    out
}

/// Compresses a chunk: blocks of 64 KiB, each in a stream for each byte of a float.
pub fn blosc(bytes: &[u8], shuffle: bool) -> Vec<u8> {
    const BLOCK: usize = 1 << 16;
    let blocks: Vec<&[u8]> = bytes.chunks(BLOCK).collect();
    let mut out = vec![2, 1, u8::from(shuffle) | 1 << 5, 4];
    out.extend((bytes.len() as u32).to_le_bytes());
    out.extend((BLOCK as u32).to_le_bytes());
    out.extend([0; 4]);
    out.resize(16 + 4 * blocks.len(), 0);
    for (i, block) in blocks.into_iter().enumerate() {
        let start = out.len() as u32;
        put(&mut out, 16 + 4 * i, &start.to_le_bytes());
        let shuffled = if shuffle {
            let count = block.len() / 4;
            let mut shuffled: Vec<u8> =
                (0..4 * count).map(|j| block[4 * (j % count) + j / count]).collect();
            shuffled.extend(&block[4 * count..]);
            shuffled
        } else {
            block.to_vec()
        };
        let streams = if block.len() == BLOCK { 4 } else { 1 };
        for stream in shuffled.chunks(shuffled.len() / streams) {
            let compressed = lz4_flex::block::compress(stream);
            let data = if compressed.len() < stream.len() { &compressed } else { stream };
            out.extend((data.len() as u32).to_le_bytes());
            out.extend(data);
        }
    }
    let length = out.len() as u32;
    put(&mut out, 12, &length.to_le_bytes());
    out
}

/// Returns a small file of smoke with a temperature.
pub fn smoke() -> Vec<u8> {
    let density = TestGrid::leaf("density", |[x, y, z]| (x + y + z) as f32);
    let temperature = TestGrid::leaf("temperature", |[x, ..]| 500.0 * x as f32);
    file(&[density, temperature], TestCodec::Zip)
}
