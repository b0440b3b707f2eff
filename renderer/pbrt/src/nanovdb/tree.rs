//! The tree of a NanoVDB grid: root, two levels of inner nodes, and leaves.
//!
//! Nodes refer to each other by offsets in bytes from the node that contains the reference. The
//! offsets within nodes are those of NanoVDB's header for C (PNanoVDB.h), for grids of floats.

use super::{Bytes, NanoVdbError};
use glam::{DAffine3, DMat3, DVec3};
use lightbound::medium::{LEAF_POINTS, SparseGrid};
use lightbound_math::Aabb;

/// Offsets in a grid, bytes.
pub(super) const GRID_SIZE_OFFSET: usize = 32;
pub(super) const NAME_OFFSET: usize = 40;
pub(super) const NAME_SIZE: usize = 256;
const INVERSE_MATRIX_OFFSET: usize = 296 + 160;
const TRANSLATION_OFFSET: usize = 296 + 232;
const WORLD_BOX_OFFSET: usize = 560;
const CLASS_OFFSET: usize = 632;
const TYPE_OFFSET: usize = 636;
const TREE_OFFSET: usize = 672;

/// Offsets in the tree and in its root.
const ROOT_OF_TREE: usize = 24;
const TABLE_SIZE_OF_ROOT: usize = 24;
const BACKGROUND_OF_ROOT: usize = 28;
const TABLE_OF_ROOT: usize = 64;
const ROOT_TILE_SIZE: usize = 32;

/// An inner node: children along an axis and points of a child along an axis, as powers of two, and
/// its size in bytes.
#[derive(Clone, Copy)]
struct Level {
    children: u32,
    child_points: u32,
    size: usize,
}

const UPPER: Level = Level { children: 5, child_points: 7, size: 270_400 };
const LOWER: Level = Level { children: 4, child_points: 3, size: 33_856 };

/// Offsets in an inner node. The mask of children follows that of values.
const MASK_OFFSET: usize = 32;

/// Offsets in a leaf.
const FLAGS_OF_LEAF: usize = 15;
const MINIMUM_OF_LEAF: usize = 80;
const QUANTUM_OF_LEAF: usize = 84;
const VALUES_OF_LEAF: usize = 96;

/// Names of the types of values that may occur, by number.
const TYPES: [&str; 27] = [
    "unknown",
    "float",
    "double",
    "int16",
    "int32",
    "int64",
    "vec3f",
    "vec3d",
    "mask",
    "half",
    "uint32",
    "bool",
    "rgba8",
    "fp4",
    "fp8",
    "fp16",
    "fpn",
    "vec4f",
    "vec4d",
    "index",
    "active index",
    "unknown",
    "unknown",
    "point index",
    "vec3u8",
    "vec3u16",
    "uint8",
];

/// Names of the classes of grids, by number.
const CLASSES: [&str; 11] = [
    "unknown class",
    "level set",
    "fog volume",
    "staggered grid",
    "grid of points",
    "grid of points",
    "topology",
    "voxel volume",
    "grid of indices",
    "tensor grid",
    "BVH",
];

/// Classes that may be a density.
const UNKNOWN_CLASS: u32 = 0;
const FOG_VOLUME: u32 = 2;

/// How a leaf stores its values.
#[derive(Clone, Copy)]
enum LeafType {
    Float,
    /// Integers of as many bits, times a quantum, plus a minimum.
    Quantized {
        log_bits: u32,
    },
    /// The same; the leaf has the number of bits.
    Variable,
}

/// A grid of floats.
#[derive(Clone, Debug)]
pub struct FloatGrid {
    /// The values. Points are in the world space of the file.
    pub grid: SparseGrid,
    /// Box of the active values in the world space of the file; empty if there are none.
    pub bounds: Aabb,
}

/// A tree that is read.
struct Reader<'a> {
    bytes: Bytes<'a>,
    leaf_type: LeafType,
    grid: SparseGrid,
    background: f32,
    /// Bytes of the nodes so far. Nodes do not overlap, so there are at most as many as in the file.
    node_bytes: usize,
    not_finite: u64,
}

/// A tree that cannot be read.
type Problem = &'static str;

const BEYOND_END: Problem = "a node is beyond its end";

/// Reads a grid.
pub(super) fn float_grid(bytes: &[u8], name: &str) -> Result<FloatGrid, NanoVdbError> {
    let bytes = Bytes(bytes);
    let grid = || name.to_owned();
    let truncated = || NanoVdbError::Truncated("a grid");
    let ty = bytes.u32(TYPE_OFFSET).ok_or_else(truncated)?;
    let leaf_type = match ty {
        1 => LeafType::Float,
        13 => LeafType::Quantized { log_bits: 2 },
        14 => LeafType::Quantized { log_bits: 3 },
        15 => LeafType::Quantized { log_bits: 4 },
        16 => LeafType::Variable,
        _ => {
            let ty = TYPES.get(ty as usize).copied().unwrap_or("unknown");
            return Err(NanoVdbError::Type { grid: grid(), ty });
        }
    };
    let class = bytes.u32(CLASS_OFFSET).ok_or_else(truncated)?;
    if !matches!(class, UNKNOWN_CLASS | FOG_VOLUME) {
        let class = CLASSES.get(class as usize).copied().unwrap_or(CLASSES[0]);
        return Err(NanoVdbError::Class { grid: grid(), class });
    }
    let damaged = |problem| NanoVdbError::Tree { grid: grid(), problem };
    let affine = index_from_world(bytes).ok_or_else(truncated)?;
    if !(affine.is_finite() && affine.matrix3.determinant() != 0.0) {
        return Err(damaged("its transform cannot be inverted"));
    }
    let root = bytes.u64(TREE_OFFSET + ROOT_OF_TREE).ok_or_else(truncated)?;
    let root = usize::try_from(root).ok().and_then(|root| root.checked_add(TREE_OFFSET));
    let root = root.ok_or_else(truncated)?;
    let background = bytes.f32(root.saturating_add(BACKGROUND_OF_ROOT)).ok_or_else(truncated)?;
    let mut reader = Reader {
        bytes,
        leaf_type,
        grid: SparseGrid::new(affine, background),
        background,
        node_bytes: 0,
        not_finite: u64::from(!background.is_finite()),
    };
    reader.root(root).map_err(damaged)?;
    if reader.not_finite > 0 {
        return Err(NanoVdbError::NotFinite { grid: grid(), count: reader.not_finite });
    }
    let corner = |offset| vector(bytes, WORLD_BOX_OFFSET + offset).map(DVec3::as_vec3);
    let (min, max) = corner(0).zip(corner(24)).ok_or_else(truncated)?;
    // The box of no active values is from the greatest to the least double.
    let is_empty = min.cmpgt(max).any();
    if !(is_empty || min.is_finite() && max.is_finite()) {
        return Err(damaged("its bounding box is not finite"));
    }
    Ok(FloatGrid { grid: reader.grid.finish(), bounds: Aabb { min, max } })
}

fn vector(bytes: Bytes<'_>, offset: usize) -> Option<DVec3> {
    let [x, y, z] = [0, 8, 16].map(|i| bytes.f64(offset + i));
    Some(DVec3::new(x?, y?, z?))
}

/// Returns the transform from world to index space.
fn index_from_world(bytes: Bytes<'_>) -> Option<DAffine3> {
    let row = |i: usize| vector(bytes, INVERSE_MATRIX_OFFSET + 24 * i);
    let matrix = DMat3::from_cols(row(0)?, row(1)?, row(2)?).transpose();
    let translation = vector(bytes, TRANSLATION_OFFSET)?;
    Some(DAffine3 { matrix3: matrix, translation: -(matrix * translation) })
}

/// Returns the coordinates of the first point of a tile of the root. A key has 21 bits for each
/// axis.
fn origin_of_key(key: u64) -> [i32; 3] {
    [42, 21, 0].map(|shift| ((key >> shift) as u32 & 0x1f_ffff) as i32).map(|x| x << 12)
}

/// Returns the position of a child of a node.
fn child(node: usize, offset: i64) -> Option<usize> {
    usize::try_from(i64::try_from(node).ok()?.checked_add(offset)?).ok()
}

impl Reader<'_> {
    fn root(&mut self, root: usize) -> Result<(), Problem> {
        let count = self.bytes.u32(root + TABLE_SIZE_OF_ROOT).ok_or(BEYOND_END)?;
        for i in 0..count as usize {
            let tile = root + TABLE_OF_ROOT + ROOT_TILE_SIZE * i;
            let key = self.bytes.u64(tile).ok_or(BEYOND_END)?;
            let offset = self.bytes.i64(tile + 8).ok_or(BEYOND_END)?;
            let value = self.bytes.f32(tile + 20).ok_or(BEYOND_END)?;
            let origin = origin_of_key(key);
            if offset != 0 {
                let node = child(root, offset).ok_or(BEYOND_END)?;
                self.inner(node, origin, UPPER)?;
            } else if value != self.background {
                self.check(value);
                self.grid.set_region(origin, value);
            }
        }
        Ok(())
    }

    /// Counts a value that is not finite.
    fn check(&mut self, value: f32) {
        self.not_finite += u64::from(!value.is_finite());
    }

    /// Reads an inner node.
    fn inner(&mut self, node: usize, origin: [i32; 3], level: Level) -> Result<(), Problem> {
        let Level { children, child_points, size } = level;
        self.add_node(node, size)?;
        let count = 1usize << (3 * children);
        let mask = node + MASK_OFFSET + count / 8;
        let table = node + size - 8 * count;
        for i in 0..count {
            let is_child = self.bytes.0[mask + i / 8] >> (i % 8) & 1 == 1;
            let entry = table + 8 * i;
            let index = [2 * children, children, 0].map(|shift| i >> shift & ((1 << children) - 1));
            let p: [i32; 3] = std::array::from_fn(|axis| {
                origin[axis].wrapping_add((index[axis] as i32) << child_points)
            });
            if !is_child {
                let value = self.bytes.f32(entry).ok_or(BEYOND_END)?;
                if value != self.background {
                    self.check(value);
                    match level.child_points == UPPER.child_points {
                        true => self.grid.set_block(p, value),
                        false => self.grid.set_cell(p, value),
                    }
                }
                continue;
            }
            let offset = self.bytes.i64(entry).ok_or(BEYOND_END)?;
            let node = child(node, offset).ok_or(BEYOND_END)?;
            match level.child_points == UPPER.child_points {
                true => self.inner(node, p, LOWER)?,
                false => self.leaf(node, p)?,
            }
        }
        Ok(())
    }

    fn leaf(&mut self, node: usize, origin: [i32; 3]) -> Result<(), Problem> {
        let flags = self.bytes.slice(node, VALUES_OF_LEAF).ok_or(BEYOND_END)?[FLAGS_OF_LEAF];
        let log_bits = match self.leaf_type {
            LeafType::Float => 5,
            LeafType::Quantized { log_bits } => log_bits,
            LeafType::Variable => match u32::from(flags >> 5) {
                log_bits @ 0..=4 => log_bits,
                _ => return Err("a leaf has too many bits"),
            },
        };
        let size = (LEAF_POINTS / 8) << log_bits;
        self.add_node(node, VALUES_OF_LEAF + size)?;
        let data = Bytes(&self.bytes.0[node + VALUES_OF_LEAF..][..size]);
        let mut values = [0.0; LEAF_POINTS];
        if let LeafType::Float = self.leaf_type {
            for (value, bytes) in values.iter_mut().zip(data.0.as_chunks().0) {
                *value = f32::from_le_bytes(*bytes);
            }
        } else {
            let header = |offset| self.bytes.f32(node + offset).ok_or(BEYOND_END);
            let (minimum, quantum) = (header(MINIMUM_OF_LEAF)?, header(QUANTUM_OF_LEAF)?);
            let bits = 1u32 << log_bits;
            for (i, value) in values.iter_mut().enumerate() {
                let bit = i << log_bits;
                let word = data.u32(bit / 32 * 4).ok_or(BEYOND_END)?;
                let code = word >> (bit % 32) & (u32::MAX >> (32 - bits));
                *value = code as f32 * quantum + minimum;
            }
        }
        values.iter().for_each(|&value| self.check(value));
        self.grid.set_leaf(origin, values);
        Ok(())
    }

    /// Checks that a node is within the grid, and that the nodes so far fit into it.
    fn add_node(&mut self, node: usize, size: usize) -> Result<(), Problem> {
        self.bytes.slice(node, size).ok_or(BEYOND_END)?;
        self.node_bytes += size;
        if self.node_bytes > self.bytes.0.len() {
            return Err("several references lead to one node");
        }
        Ok(())
    }
}
