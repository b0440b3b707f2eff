//! Primitives of meshes as triangles: strips and fans, morph targets, skins, and PLY files.

use crate::document::Document;
use crate::schema::Primitive;
use glam::{DAffine2, DAffine3, DMat4, DVec2, DVec3};
use lightbound_pbrt::{Diagnostics, SceneError};
use std::collections::BTreeMap;

/// Triangles with the attributes that a picture depends on.
#[derive(Clone, Default)]
pub(crate) struct Triangles {
    pub positions: Vec<DVec3>,
    /// Empty if the faces are flat.
    pub normals: Vec<DVec3>,
    /// Texture coordinates with v up, as pbrt has them; may be empty.
    pub uvs: Vec<DVec2>,
    /// Colours of vertices; may be empty.
    pub colours: Vec<[f32; 4]>,
    pub triangles: Vec<[u32; 3]>,
}

/// The joints of a skin, in world space, times their inverse bind matrices.
pub(crate) type Joints = Vec<DAffine3>;

/// Reads a primitive. `weights` are those of morph targets, `joints` of the skin. Texture
/// coordinates are those of a set, transformed. Returns `None` for points and lines, with a warning.
pub(crate) fn read(
    document: &Document,
    primitive: &Primitive,
    name: &str,
    weights: &[f32],
    joints: Option<&Joints>,
    (uv_set, uv_transform): (usize, DAffine2),
    diagnostics: &mut Diagnostics,
) -> Result<Option<Triangles>, SceneError> {
    if primitive.extensions.draco.is_some() {
        let extension = "KHR_draco_mesh_compression";
        let error = document.error(name, format!("uses {extension}"));
        return Err(error.help(crate::document::remedy(extension)));
    }
    let mode = primitive.mode.unwrap_or(4);
    if mode < 4 {
        let message = format!("{}: {name} consists of points or lines", document.path.display());
        diagnostics.warn(None, message, "it is ignored")?;
        return Ok(None);
    }
    if mode > 6 {
        let error = document.error(name, format!("has the mode {mode}"));
        return Err(error.help("the modes are 0 to 6; triangles are 4"));
    }
    let attribute = |name: &str| primitive.attributes.get(name).copied();
    let user = |attribute: &str| format!("{attribute} of {name}");
    let Some(accessor) = attribute("POSITION") else { return Ok(None) };
    let mut positions = vectors(document, accessor, &user("POSITION"))?;
    let count = positions.len();
    let check = |attribute: &str, length: usize| {
        if length == count {
            return Ok(());
        }
        let message = format!("has {length} elements for {count} positions");
        Err(document.error(&user(attribute), message).help("export the asset again"))
    };
    let mut normals = match attribute("NORMAL") {
        Some(accessor) => vectors(document, accessor, &user("NORMAL"))?,
        None => Vec::new(),
    };
    if !normals.is_empty() {
        check("NORMAL", normals.len())?;
    }
    if !weights.is_empty() && weights.len() != primitive.targets.len() {
        let (targets, weights) = (primitive.targets.len(), weights.len());
        let error =
            document.error(name, format!("has {targets} morph targets, but {weights} weights"));
        return Err(error.help("export the asset again"));
    }
    for (target, &weight) in std::iter::zip(&primitive.targets, weights) {
        if weight == 0.0 {
            continue;
        }
        for (attribute, vectors_of) in [("POSITION", &mut positions), ("NORMAL", &mut normals)] {
            let Some(&accessor) = target.get(attribute) else { continue };
            let user = format!("the morph target {attribute} of {name}");
            let offsets = vectors(document, accessor, &user)?;
            if vectors_of.is_empty() {
                continue;
            }
            check(attribute, offsets.len())?;
            for (vector, offset) in std::iter::zip(vectors_of, offsets) {
                *vector += f64::from(weight) * offset;
            }
        }
    }
    if let Some(joints) = joints {
        skin(document, primitive, name, joints, &mut positions, &mut normals)?;
    }
    if let Some(i) = positions.iter().position(|p| !p.is_finite()) {
        let error = document.error(&user("POSITION"), format!("is not finite at vertex {i}"));
        return Err(error.help("export the asset again"));
    }
    let uv_name = format!("TEXCOORD_{uv_set}");
    let uvs = match attribute(&uv_name) {
        Some(accessor) => {
            let uvs = document.floats::<2>(accessor, &user(&uv_name))?;
            check(&uv_name, uvs.len())?;
            let uv = |[u, v]: [f32; 2]| {
                let uv = uv_transform.transform_point2(DVec2::new(u.into(), v.into()));
                DVec2::new(uv.x, 1.0 - uv.y)
            };
            uvs.into_iter().map(uv).collect()
        }
        None => Vec::new(),
    };
    let colours = match attribute("COLOR_0") {
        Some(accessor) => document.colours(accessor, &user("COLOR_0"))?,
        None => Vec::new(),
    };
    if !colours.is_empty() {
        check("COLOR_0", colours.len())?;
    }
    let indices = match primitive.indices {
        Some(accessor) => document.indices(accessor, &user("the indices"))?,
        None => (0..count as u32).collect(),
    };
    if let Some(index) = indices.iter().find(|&&index| index as usize >= count) {
        let message = format!("refer to vertex {index}, but there are {count} (from 0)");
        return Err(document.error(&user("the indices"), message).help("export the asset again"));
    }
    let triangles = match (mode, indices.as_slice()) {
        (5, indices) => strip(indices),
        (6, [first, rest @ ..]) => rest.windows(2).map(|edge| [edge[0], edge[1], *first]).collect(),
        (_, indices) => indices.as_chunks::<3>().0.to_vec(),
    };
    Ok(Some(Triangles { positions, normals, uvs, colours, triangles }))
}

/// Returns the triangles of a strip, with alternating order of their vertices.
fn strip(indices: &[u32]) -> Vec<[u32; 3]> {
    let triangle = |(i, corners): (usize, &[u32])| match i % 2 {
        0 => [corners[0], corners[1], corners[2]],
        _ => [corners[0], corners[2], corners[1]],
    };
    indices.windows(3).enumerate().map(triangle).collect()
}

fn vectors(document: &Document, accessor: usize, user: &str) -> Result<Vec<DVec3>, SceneError> {
    let vectors = document.floats::<3>(accessor, user)?;
    Ok(vectors.into_iter().map(|v| DVec3::from_array(v.map(f64::from))).collect())
}

/// Moves vertices with the joints that they are bound to.
fn skin(
    document: &Document,
    primitive: &Primitive,
    name: &str,
    transforms: &Joints,
    positions: &mut [DVec3],
    normals: &mut [DVec3],
) -> Result<(), SceneError> {
    let mut sums = vec![DMat4::ZERO; positions.len()];
    for set in 0.. {
        let accessor = |kind: &str| primitive.attributes.get(&format!("{kind}_{set}")).copied();
        let (Some(joints), Some(weights)) = (accessor("JOINTS"), accessor("WEIGHTS")) else {
            break;
        };
        let user = |kind: &str| format!("{kind}_{set} of {name}");
        let joints = document.floats::<4>(joints, &user("JOINTS"))?;
        let weights = document.floats::<4>(weights, &user("WEIGHTS"))?;
        if joints.len() != positions.len() || weights.len() != positions.len() {
            let message = format!("has not one element for each of {} positions", positions.len());
            return Err(document.error(&user("JOINTS"), message).help("export the asset again"));
        }
        for (i, (joints, weights)) in std::iter::zip(joints, weights).enumerate() {
            for (joint, weight) in std::iter::zip(joints, weights) {
                if weight == 0.0 {
                    continue;
                }
                let transform = transforms.get(joint as usize).ok_or_else(|| {
                    let message =
                        format!("refers to joint {joint}, but there are {}", transforms.len());
                    document.error(&user("JOINTS"), message).help("export the asset again")
                })?;
                sums[i] += DMat4::from(*transform) * f64::from(weight);
            }
        }
    }
    for (i, sum) in sums.into_iter().enumerate() {
        // Weights that do not sum to 1 are normalized.
        let total = sum.w_axis.w;
        if total <= 0.0 {
            continue;
        }
        let transform = DAffine3::from_mat4(sum * (1.0 / total));
        positions[i] = transform.transform_point3(positions[i]);
        if let Some(normal) = normals.get_mut(i) {
            let inverse = transform.matrix3.inverse().transpose();
            let turned = inverse * *normal;
            *normal = if turned.is_finite() { turned.normalize_or_zero() } else { *normal };
        }
    }
    Ok(())
}

impl Triangles {
    /// Returns whether there is anything to render.
    pub fn is_empty(&self) -> bool {
        self.triangles.is_empty()
    }

    /// Gives each triangle vertices of its own.
    pub fn separate(&mut self) {
        let corners: Vec<usize> =
            self.triangles.as_flattened().iter().map(|&index| index as usize).collect();
        fn pick<T: Copy>(values: &mut Vec<T>, corners: &[usize]) {
            if !values.is_empty() {
                *values = corners.iter().map(|&i| values[i]).collect();
            }
        }
        pick(&mut self.positions, &corners);
        pick(&mut self.normals, &corners);
        pick(&mut self.uvs, &corners);
        pick(&mut self.colours, &corners);
        self.triangles =
            (0..corners.len() as u32 / 3).map(|i| [3 * i, 3 * i + 1, 3 * i + 2]).collect();
    }

    /// Replaces normals of length 0, which no normal can be made of, by those of a face.
    fn repaired_normals(&self) -> Vec<DVec3> {
        let mut faces: BTreeMap<usize, DVec3> = BTreeMap::new();
        for triangle in &self.triangles {
            let [a, b, c] = triangle.map(|index| self.positions[index as usize]);
            let normal = (b - a).cross(c - a);
            for index in triangle.map(|index| index as usize) {
                if self.normals[index].length_squared() < 1e-12 {
                    *faces.entry(index).or_default() += normal;
                }
            }
        }
        let mut normals = self.normals.clone();
        for (index, normal) in faces {
            normals[index] = normal.try_normalize().unwrap_or(DVec3::Z);
        }
        normals.iter().map(|n| n.try_normalize().unwrap_or(DVec3::Z)).collect()
    }

    /// Encodes the triangles as a binary PLY file.
    pub fn ply(&self) -> Vec<u8> {
        let mut header = format!(
            "ply\nformat binary_little_endian 1.0\nelement vertex {}\n\
             property float x\nproperty float y\nproperty float z\n",
            self.positions.len()
        );
        if !self.normals.is_empty() {
            header += "property float nx\nproperty float ny\nproperty float nz\n";
        }
        if !self.uvs.is_empty() {
            header += "property float u\nproperty float v\n";
        }
        header += &format!(
            "element face {}\nproperty list uchar int vertex_indices\nend_header\n",
            self.triangles.len()
        );
        let normals = self.repaired_normals_or_none();
        let mut bytes = header.into_bytes();
        let mut push = |values: &[f64]| {
            bytes.extend(values.iter().flat_map(|&x| (x as f32).to_le_bytes()));
        };
        for (i, position) in self.positions.iter().enumerate() {
            push(&position.to_array());
            if let Some(normal) = normals.get(i) {
                push(&normal.to_array());
            }
            if let Some(uv) = self.uvs.get(i) {
                push(&uv.to_array());
            }
        }
        for triangle in &self.triangles {
            bytes.push(3);
            bytes.extend(triangle.iter().flat_map(|index| index.to_le_bytes()));
        }
        bytes
    }

    fn repaired_normals_or_none(&self) -> Vec<DVec3> {
        if self.normals.is_empty() { Vec::new() } else { self.repaired_normals() }
    }

    /// Moves the texture coordinates of each triangle to the texels of its vertices in an image, and
    /// returns this image of colours as width, height and texels from the bottom row.
    ///
    /// Each triangle has a block of 2 × 2 texels. Three of them are the colours a, b and c of its
    /// vertices, and the fourth is b + c − a, so that bilinear interpolation of the texels is linear
    /// interpolation of the colours. Texels hold (c + 1)/3 for a colour c, since images of colours
    /// have no negative texels.
    pub fn bake_colours(&mut self) -> (usize, usize, Vec<[f32; 4]>) {
        self.separate();
        let blocks = self.triangles.len();
        let columns = (1..).find(|n| n * n >= blocks).unwrap_or(1);
        let rows = blocks.div_ceil(columns);
        let (width, height) = (2 * columns, 2 * rows);
        let mut texels = vec![[1.0; 4]; width * height];
        let mut uvs = Vec::with_capacity(3 * blocks);
        for (block, colours) in self.colours.as_chunks::<3>().0.iter().enumerate() {
            let (x, y) = (2 * (block % columns), 2 * (block / columns));
            let [a, b, c] = *colours;
            let fourth = std::array::from_fn(|k| b[k] + c[k] - a[k]);
            for (dx, dy, colour) in [(0, 0, a), (1, 0, b), (0, 1, c), (1, 1, fourth)] {
                texels[(y + dy) * width + x + dx] = colour.map(|x| (x + 1.0) / 3.0);
            }
            for (dx, dy) in [(0, 0), (1, 0), (0, 1)] {
                let centre = |texel: usize, size: usize| (texel as f64 + 0.5) / size as f64;
                uvs.push(DVec2::new(centre(x + dx, width), centre(y + dy, height)));
            }
        }
        self.uvs = uvs;
        (width, height, texels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_alternate() {
        assert_eq!(strip(&[0, 1, 2, 3, 4]), [[0, 1, 2], [1, 3, 2], [2, 3, 4]]);
        assert!(strip(&[0, 1]).is_empty());
    }

    #[test]
    fn baked_colours_interpolate_linearly() {
        let mut mesh = Triangles {
            positions: vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::ONE],
            colours: vec![
                [1.0, 0.0, 0.2, 1.0],
                [0.0, 1.0, 0.4, 1.0],
                [0.0, 0.5, 0.8, 1.0],
                [0.3, 0.1, 0.0, 1.0],
            ],
            triangles: vec![[0, 1, 2], [1, 3, 2]],
            ..Triangles::default()
        };
        let original = mesh.colours.clone();
        let (width, height, texels) = mesh.bake_colours();
        assert_eq!((mesh.positions.len(), mesh.uvs.len(), width, height), (6, 6, 4, 2));
        let lookup = |uv: DVec2| {
            let (x, y) = (uv.x * width as f64 - 0.5, uv.y * height as f64 - 0.5);
            let (x0, y0) = (x.floor(), y.floor());
            let (s, t) = (x - x0, y - y0);
            let texel = |dx: usize, dy: usize| {
                let (x, y) =
                    ((x0 as usize + dx).min(width - 1), (y0 as usize + dy).min(height - 1));
                3.0 * f64::from(texels[y * width + x][1]) - 1.0
            };
            (1.0 - s) * (1.0 - t) * texel(0, 0)
                + s * (1.0 - t) * texel(1, 0)
                + (1.0 - s) * t * texel(0, 1)
                + s * t * texel(1, 1)
        };
        for (triangle, corners) in [[0, 1, 2], [1, 3, 2]].iter().enumerate() {
            for weights in [[1.0, 0.0, 0.0], [0.2, 0.3, 0.5], [0.0, 0.6, 0.4]] {
                let uv: DVec2 = (0..3).map(|k| weights[k] * mesh.uvs[3 * triangle + k]).sum();
                let expected: f64 =
                    (0..3).map(|k| weights[k] * f64::from(original[corners[k]][1])).sum();
                assert!((lookup(uv) - expected).abs() < 1e-6, "{uv}");
            }
        }
    }

    #[test]
    fn ply_files_are_read_back() {
        let mesh = Triangles {
            positions: vec![DVec3::ZERO, DVec3::X, DVec3::Y],
            normals: vec![DVec3::Z, DVec3::ZERO, 2.0 * DVec3::Z],
            uvs: vec![DVec2::ZERO, DVec2::X, DVec2::Y],
            colours: vec![],
            triangles: vec![[0, 1, 2]],
        };
        let read = lightbound_pbrt::ply::read_with("a.ply".as_ref(), |_| Ok(mesh.ply())).unwrap();
        assert_eq!(read.positions[1].to_array(), [1.0, 0.0, 0.0]);
        assert!(read.normals.iter().all(|n| n.to_array() == [0.0, 0.0, 1.0]));
        assert_eq!((read.uvs[2].to_array(), read.triangles), ([0.0, 1.0], vec![[0, 1, 2]]));
    }
}
