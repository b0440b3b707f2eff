//! Primitives of meshes as triangles: strips and fans, morph targets, skins, and PLY files.

use crate::document::Document;
use crate::materials::VertexColours;
use crate::schema::Primitive;
use crate::tangents::add_tangents;
use crate::textures::{Coordinates, attribute_name};
use glam::{DAffine2, DAffine3, DMat4, DVec2, DVec3, DVec4};
use lightbound_pbrt::{Diagnostics, SceneError};
use std::collections::{BTreeMap, HashMap};

/// Triangles with the attributes that a picture depends on.
#[derive(Clone, Default)]
pub(crate) struct Triangles {
    pub positions: Vec<DVec3>,
    /// Empty if the faces are flat.
    pub normals: Vec<DVec3>,
    /// Texture coordinates of the surface with v up, as pbrt has them; may be empty.
    pub uvs: Vec<DVec2>,
    /// Texture coordinates in attributes.
    pub more_uvs: Vec<Vec<DVec2>>,
    /// Tangents with the sign of the bitangent; empty if the material needs none.
    pub tangents: Vec<DVec4>,
    /// Colours of vertices; may be empty.
    pub colours: Vec<[f32; 4]>,
    pub triangles: Vec<[u32; 3]>,
    /// Positions and normals when the shutter closes, if they differ.
    pub end: Option<[Vec<DVec3>; 2]>,
}

/// The joints of a skin, in world space, times their inverse bind matrices.
pub(crate) type Joints = Vec<DAffine3>;

/// What deforms a mesh.
#[derive(PartialEq)]
pub(crate) struct MeshPose {
    /// Weights of morph targets.
    pub weights: Vec<f32>,
    /// The joints of the skin, if there is one.
    pub joints: Option<Joints>,
}

/// What a material needs of a mesh.
pub(crate) struct Needs {
    /// Texture coordinates: those of the surface, then those in attributes.
    pub coordinates: Vec<Coordinates>,
    pub tangents: bool,
}

/// Vectors that a pose changes, one for each vertex; normals and tangents may be missing.
#[derive(Clone, Default, PartialEq)]
struct Vectors {
    positions: Vec<DVec3>,
    normals: Vec<DVec3>,
    tangents: Vec<DVec3>,
}

/// Reads a primitive with its poses when the shutter opens and closes. Returns `None` for points,
/// lines and meshes without positions, with a warning.
pub(crate) fn read(
    document: &Document,
    primitive: &Primitive,
    name: &str,
    poses: &[MeshPose; 2],
    needs: &Needs,
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
    let Some(accessor) = attribute("POSITION") else {
        let message = format!("{}: {name} has no POSITION", document.path.display());
        diagnostics.warn(None, message, "it is ignored")?;
        return Ok(None);
    };
    // Morph targets may be the only data of a mesh.
    if primitive.targets.is_empty() {
        document.check_data(accessor, &user("POSITION"))?;
    }
    let positions = vectors(document, accessor, &user("POSITION"))?;
    let count = positions.len();
    let check =
        |attribute: &str, length: usize| check_count(document, &user(attribute), length, count);
    let normals = match attribute("NORMAL") {
        Some(accessor) => vectors(document, accessor, &user("NORMAL"))?,
        None => Vec::new(),
    };
    if !normals.is_empty() {
        check("NORMAL", normals.len())?;
    }
    // Tangents of flat faces are those of the triangles.
    let has_tangents = needs.tangents && !normals.is_empty();
    let given = attribute("TANGENT").filter(|_| has_tangents);
    let (tangents, signs) = match given {
        Some(accessor) => {
            let values = document.floats::<4>(accessor, &user("TANGENT"))?;
            check("TANGENT", values.len())?;
            let vector = |[x, y, z, _]: [f32; 4]| DVec3::new(x.into(), y.into(), z.into());
            let signs = values.iter().map(|[.., w]| f64::from(*w)).collect();
            (values.into_iter().map(vector).collect(), signs)
        }
        None => (Vec::new(), Vec::new()),
    };
    let rest = Vectors { positions, normals, tangents };
    let start = posed(document, primitive, name, rest.clone(), &poses[0])?;
    let end = match poses[0] == poses[1] {
        true => None,
        false => Some(posed(document, primitive, name, rest, &poses[1])?),
    };
    let moves =
        |end: &Vectors| (&end.positions, &end.normals) != (&start.positions, &start.normals);
    let end = end.filter(moves).map(|end| [end.positions, end.normals]);
    let Vectors { positions, normals, tangents } = start;
    let coordinates = |&(set, transform): &Coordinates| {
        let name = format!("TEXCOORD_{set}");
        let Some(accessor) = attribute(&name) else { return Ok(Vec::new()) };
        let uvs = document.floats::<2>(accessor, &user(&name))?;
        check(&name, uvs.len())?;
        let uv = |[u, v]: [f32; 2]| {
            let uv = transform.transform_point2(DVec2::new(u.into(), v.into()));
            DVec2::new(uv.x, 1.0 - uv.y)
        };
        Ok(uvs.into_iter().map(uv).collect())
    };
    let mut uvs = Vec::new();
    let mut more_uvs = Vec::new();
    // Tangents without textures are along the first set of coordinates, if there is one.
    let first = [(0, DAffine2::IDENTITY)];
    let all = match needs.coordinates.is_empty() && needs.tangents {
        true if attribute("TEXCOORD_0").is_some() => &first[..],
        _ => &needs.coordinates,
    };
    for (index, wanted) in all.iter().enumerate() {
        let mut found: Vec<DVec2> = coordinates(wanted)?;
        if found.is_empty() {
            let message = format!(
                "{}: {name} has a textured material, but no TEXCOORD_{}",
                document.path.display(),
                wanted.0
            );
            let fallback = match index {
                0 => "default coordinates of each triangle",
                _ => "one texel of the texture everywhere",
            };
            diagnostics.warn(None, message, fallback)?;
            found = if index == 0 { Vec::new() } else { vec![DVec2::ZERO; count] };
        }
        if index == 0 {
            uvs = found;
        } else {
            more_uvs.push(found);
        }
    }
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
    let tangents = std::iter::zip(tangents, signs).map(|(t, sign)| t.extend(sign)).collect();
    let mut mesh =
        Triangles { positions, normals, uvs, more_uvs, tangents, colours, triangles, end };
    if needs.tangents && given.is_none() && !mesh.uvs.is_empty() {
        add_tangents(&mut mesh);
    }
    Ok(Some(mesh))
}

/// Applies morph targets and a skin to the vertices of a primitive.
fn posed(
    document: &Document,
    primitive: &Primitive,
    name: &str,
    mut vertices: Vectors,
    MeshPose { weights, joints }: &MeshPose,
) -> Result<Vectors, SceneError> {
    if !weights.is_empty() && weights.len() != primitive.targets.len() {
        let (targets, weights) = (primitive.targets.len(), weights.len());
        let error =
            document.error(name, format!("has {targets} morph targets, but {weights} weights"));
        return Err(error.help("export the asset again"));
    }
    let count = vertices.positions.len();
    for (target, &weight) in std::iter::zip(&primitive.targets, weights) {
        if weight == 0.0 {
            continue;
        }
        for (attribute, vectors_of) in [
            ("POSITION", &mut vertices.positions),
            ("NORMAL", &mut vertices.normals),
            ("TANGENT", &mut vertices.tangents),
        ] {
            let Some(&accessor) = target.get(attribute) else { continue };
            let user = format!("the morph target {attribute} of {name}");
            let offsets = vectors(document, accessor, &user)?;
            if vectors_of.is_empty() {
                continue;
            }
            check_count(document, &format!("{attribute} of {name}"), offsets.len(), count)?;
            for (vector, offset) in std::iter::zip(vectors_of, offsets) {
                *vector += f64::from(weight) * offset;
            }
        }
    }
    if let Some(joints) = joints {
        skin(document, primitive, name, joints, &mut vertices)?;
    }
    if let Some(i) = vertices.positions.iter().position(|p| !p.is_finite()) {
        let user = format!("POSITION of {name}");
        let error = document.error(&user, format!("is not finite at vertex {i}"));
        return Err(error.help("export the asset again"));
    }
    Ok(vertices)
}

/// Fails unless an attribute has an element for each position.
fn check_count(
    document: &Document,
    user: &str,
    length: usize,
    positions: usize,
) -> Result<(), SceneError> {
    if length == positions {
        return Ok(());
    }
    let message = format!("has {length} elements for {positions} positions");
    Err(document.error(user, message).help("export the asset again"))
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
    Vectors { positions, normals, tangents }: &mut Vectors,
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
        if let Some(tangent) = tangents.get_mut(i) {
            *tangent = transform.transform_vector3(*tangent);
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
        let corners = self.triangles.as_flattened().to_vec();
        self.select(&corners);
        self.triangles =
            (0..corners.len() as u32 / 3).map(|i| [3 * i, 3 * i + 1, 3 * i + 2]).collect();
    }

    /// Gives triangles that are marked vertices of their own, where others have the same.
    pub fn split(&mut self, is_marked: &[bool]) {
        let mut is_shared = vec![false; self.positions.len()];
        for (triangle, _) in std::iter::zip(&self.triangles, is_marked).filter(|(_, mark)| !**mark)
        {
            triangle.iter().for_each(|&index| is_shared[index as usize] = true);
        }
        let mut vertices: Vec<u32> = (0..self.positions.len() as u32).collect();
        let mut copies: HashMap<u32, u32> = HashMap::new();
        let marked = std::iter::zip(&mut self.triangles, is_marked).filter(|(_, mark)| **mark);
        for index in marked.flat_map(|(triangle, _)| triangle) {
            if is_shared[*index as usize] {
                *index = *copies.entry(*index).or_insert_with(|| {
                    vertices.push(*index);
                    vertices.len() as u32 - 1
                });
            }
        }
        if !copies.is_empty() {
            self.select(&vertices);
        }
    }

    /// Replaces the vertices by those at indices. Triangles keep their indices.
    fn select(&mut self, vertices: &[u32]) {
        fn pick<T: Copy>(values: &mut Vec<T>, vertices: &[u32]) {
            if !values.is_empty() {
                *values = vertices.iter().map(|&i| values[i as usize]).collect();
            }
        }
        pick(&mut self.positions, vertices);
        pick(&mut self.normals, vertices);
        pick(&mut self.uvs, vertices);
        self.more_uvs.iter_mut().for_each(|uvs| pick(uvs, vertices));
        pick(&mut self.tangents, vertices);
        pick(&mut self.colours, vertices);
        self.end.iter_mut().flatten().for_each(|vectors| pick(vectors, vertices));
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

    /// Returns the positions when the shutter opens, and when it closes if they differ.
    pub fn all_positions(&self) -> impl Iterator<Item = &DVec3> {
        self.positions.iter().chain(self.end.iter().flat_map(|[positions, _]| positions))
    }

    /// Encodes the triangles when the shutter closes, if vertices move.
    pub fn end_ply(&self) -> Option<Vec<u8>> {
        let [positions, normals] = self.end.clone()?;
        let triangles = self.triangles.clone();
        let mesh = Triangles { positions, normals, triangles, ..Triangles::default() };
        Some(mesh.ply(VertexColours::NONE))
    }

    /// Encodes the triangles as a binary PLY file, with colours and opacities of vertices that
    /// differ.
    pub fn ply(&self, colours: VertexColours) -> Vec<u8> {
        let mut header = format!(
            "ply\nformat binary_little_endian 1.0\nelement vertex {}\n\
             property float x\nproperty float y\nproperty float z\n",
            self.positions.len()
        );
        let mut declare = |names: &[&str]| {
            names.iter().for_each(|name| header += &format!("property float {name}\n"));
        };
        let (has_colours, has_opacities) = (colours.rgb.is_none(), colours.alpha.is_none());
        if !self.normals.is_empty() {
            declare(&["nx", "ny", "nz"]);
        }
        if !self.uvs.is_empty() {
            declare(&["u", "v"]);
        }
        if !self.tangents.is_empty() {
            declare(&["tx", "ty", "tz", "tw"]);
        }
        for index in 1..=self.more_uvs.len() {
            let set = attribute_name(index);
            let set = set.trim_start_matches("uv");
            declare(&[&format!("u{set}"), &format!("v{set}")]);
        }
        if has_colours {
            declare(&["red", "green", "blue"]);
        }
        if has_opacities {
            declare(&["alpha"]);
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
            if let Some(tangent) = self.tangents.get(i) {
                push(&tangent.to_array());
            }
            self.more_uvs.iter().for_each(|uvs| push(&uvs[i].to_array()));
            let colour = self.colours.get(i).map(|colour| colour.map(f64::from));
            let [r, g, b, a] = colour.unwrap_or([1.0; 4]);
            if has_colours {
                push(&[r, g, b]);
            }
            if has_opacities {
                push(&[a]);
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
    fn ply_files_are_read_back() {
        let mesh = Triangles {
            positions: vec![DVec3::ZERO, DVec3::X, DVec3::Y],
            normals: vec![DVec3::Z, DVec3::ZERO, 2.0 * DVec3::Z],
            uvs: vec![DVec2::ZERO, DVec2::X, DVec2::Y],
            more_uvs: vec![vec![DVec2::ONE; 3], vec![DVec2::X, DVec2::Y, DVec2::NEG_Y]],
            tangents: vec![DVec4::new(0.6, 0.8, 0.0, -1.0); 3],
            colours: vec![[0.1, 0.2, 0.3, 0.4], [1.0; 4], [0.0; 4]],
            triangles: vec![[0, 1, 2]],
            end: None,
        };
        let names = ["color", "alpha", "uv2", "uv3"].map(String::from);
        let read = |colours: VertexColours| {
            let ply = mesh.ply(colours);
            lightbound_pbrt::ply::parse(&ply, "a.ply".as_ref(), &names).unwrap()
        };
        assert!(read(VertexColours::NONE).attributes.len() == 1);
        let read = read(VertexColours { rgb: None, alpha: None });
        let attributes = format!("{:?}", read.attributes);
        for part in [
            "\"color\", Colours([Vec3(0.1, 0.2, 0.3), Vec3(1.0, 1.0, 1.0), Vec3(0.0, 0.0, 0.0)])",
            "\"alpha\", Numbers([0.4, 1.0, 0.0])",
            "\"uv2\", Coordinates([Vec2(1.0, 0.0), Vec2(0.0, 1.0), Vec2(0.0, -1.0)])",
        ] {
            assert!(attributes.contains(part), "{attributes}");
        }
        assert_eq!((read.attributes.len(), read.tangents.len()), (3, 3));
        assert_eq!(read.tangents[2].to_array(), [0.6, 0.8, 0.0, -1.0]);
        assert_eq!(read.positions[1].to_array(), [1.0, 0.0, 0.0]);
        assert!(read.normals.iter().all(|n| n.to_array() == [0.0, 0.0, 1.0]));
        assert_eq!((read.uvs[2].to_array(), read.triangles), ([0.0, 1.0], vec![[0, 1, 2]]));
    }
}
