//! Values at the vertices of triangle meshes: tangents, and attributes that textures read, such as
//! colours and further sets of texture coordinates.
//!
//! A scene numbers the attributes that its textures read ([`AttributeId`]). Values are interpolated
//! linearly over a triangle, like texture coordinates. Meshes without values store nothing.
//!
//! Tangents follow glTF 2.0, §3.7.2.1: the bitangent is w (n × t), where the sign w is −1 where
//! texture coordinates are mirrored. Shading frames are right-handed, so their y axis is n × t
//! everywhere, and w multiplies y where a normal map is read.

use super::mesh::gather;
use super::{Geometry, Hit, Mesh, MeshError, Shape};
use glam::Vec4;
use lightbound_math::{Transform, Vec2, Vec3};

/// The number of an attribute in a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AttributeId(u8);

impl AttributeId {
    /// Maximum number of attributes in a scene.
    pub const COUNT: usize = 64;

    /// Creates a number; `None` unless it is below [`AttributeId::COUNT`].
    pub fn new(index: usize) -> Option<AttributeId> {
        (index < Self::COUNT).then_some(AttributeId(index as u8))
    }

    /// Returns the number.
    pub fn index(self) -> usize {
        self.0.into()
    }
}

/// A set of attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttributeSet(u64);

impl AttributeSet {
    /// The empty set.
    pub const EMPTY: AttributeSet = AttributeSet(0);

    /// Returns the set with one attribute.
    pub fn of(id: AttributeId) -> AttributeSet {
        AttributeSet(1 << id.0)
    }

    /// Returns whether the set is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns whether an attribute is in the set.
    pub fn contains(self, id: AttributeId) -> bool {
        self.0 >> id.0 & 1 != 0
    }

    /// Returns the union with another set.
    pub const fn union(self, other: AttributeSet) -> AttributeSet {
        AttributeSet(self.0 | other.0)
    }
}

/// The values of an attribute, one for each vertex.
#[derive(Clone, Debug, PartialEq)]
pub enum AttributeValues {
    /// Numbers, which are in all channels of a lookup.
    Numbers(Vec<f32>),
    /// Texture coordinates, in the first two channels of a lookup.
    Coordinates(Vec<Vec2>),
    /// Colours, linear RGB.
    Colours(Vec<Vec3>),
}

impl AttributeValues {
    fn len(&self) -> usize {
        match self {
            AttributeValues::Numbers(values) => values.len(),
            AttributeValues::Coordinates(values) => values.len(),
            AttributeValues::Colours(values) => values.len(),
        }
    }

    fn at(&self, vertex: u32) -> Vec3 {
        match self {
            AttributeValues::Numbers(values) => Vec3::splat(values[vertex as usize]),
            AttributeValues::Coordinates(values) => values[vertex as usize].extend(0.0),
            AttributeValues::Colours(values) => values[vertex as usize],
        }
    }

    fn extract(&self, indices: [u32; 3]) -> AttributeValues {
        match self {
            AttributeValues::Numbers(values) => AttributeValues::Numbers(gather(values, indices)),
            AttributeValues::Coordinates(values) => {
                AttributeValues::Coordinates(gather(values, indices))
            }
            AttributeValues::Colours(values) => AttributeValues::Colours(gather(values, indices)),
        }
    }

    /// Returns the number of vertices whose value is not finite.
    pub fn count_not_finite(&self) -> usize {
        match self {
            AttributeValues::Numbers(values) => values.iter().filter(|x| !x.is_finite()).count(),
            AttributeValues::Coordinates(values) => {
                values.iter().filter(|v| !v.is_finite()).count()
            }
            AttributeValues::Colours(values) => values.iter().filter(|v| !v.is_finite()).count(),
        }
    }

    /// Replaces values that are not finite by 0.
    fn repair(&mut self) {
        let repair = |x: &mut f32| *x = if x.is_finite() { *x } else { 0.0 };
        match self {
            AttributeValues::Numbers(values) => values.iter_mut().for_each(repair),
            AttributeValues::Coordinates(values) => {
                values.iter_mut().flat_map(|v| v.as_mut()).for_each(repair);
            }
            AttributeValues::Colours(values) => {
                values.iter_mut().flat_map(|v| v.as_mut()).for_each(repair);
            }
        }
    }
}

/// Tangents and attributes of a mesh's vertices.
#[derive(Clone, Debug, Default)]
pub(super) struct VertexData {
    /// Tangents, with the sign w of the bitangent; empty, or one for each vertex.
    tangents: Vec<Vec4>,
    attributes: Vec<(AttributeId, AttributeValues)>,
}

impl VertexData {
    /// Extracts the vertices of one triangle.
    pub(super) fn extract(&self, indices: [u32; 3]) -> VertexData {
        VertexData {
            tangents: gather(&self.tangents, indices),
            attributes: self
                .attributes
                .iter()
                .map(|(id, values)| (*id, values.extract(indices)))
                .collect(),
        }
    }

    /// Transforms tangents. A mirroring transform reverses bitangents relative to n × t.
    pub(super) fn transform(&mut self, transform: &Transform) {
        let sign = if transform.swaps_handedness() { -1.0 } else { 1.0 };
        for tangent in &mut self.tangents {
            *tangent = transform.vector(tangent.truncate()).extend(sign * tangent.w);
        }
    }
}

impl Mesh {
    /// Gives vertices tangents of any length, along which the shading frame has its x axis instead
    /// of along ∂p/∂u. The sign of `w` is that of the bitangent relative to n × t. A tangent that is
    /// zero or not finite counts as absent at its vertex.
    ///
    /// # Errors
    /// Unless there is one tangent for each vertex.
    pub fn with_tangents(mut self, mut tangents: Vec<Vec4>) -> Result<Mesh, MeshError> {
        self.check_length("tangents", tangents.len())?;
        for tangent in &mut tangents {
            let direction = super::mesh::normalize(tangent.truncate());
            *tangent = direction.extend(if tangent.w < 0.0 { -1.0 } else { 1.0 });
        }
        self.data.get_or_insert_default().tangents = tangents;
        Ok(self)
    }

    /// Gives vertices an attribute, which replaces the one of the same number. Values that are not
    /// finite count as 0.
    ///
    /// # Errors
    /// Unless there is one value for each vertex.
    pub fn with_attribute(
        mut self,
        id: AttributeId,
        mut values: AttributeValues,
    ) -> Result<Mesh, MeshError> {
        self.check_length("values of an attribute", values.len())?;
        values.repair();
        let attributes = &mut self.data.get_or_insert_default().attributes;
        attributes.retain(|(other, _)| *other != id);
        attributes.push((id, values));
        Ok(self)
    }

    fn check_length(&self, attribute: &'static str, count: usize) -> Result<(), MeshError> {
        let vertices = self.positions().len();
        match count == vertices {
            true => Ok(()),
            false => Err(MeshError::Length { attribute, count, vertices }),
        }
    }

    /// Returns the attributes of vertices.
    pub fn attributes(&self) -> AttributeSet {
        let ids = self.data.iter().flat_map(|data| &data.attributes);
        ids.fold(AttributeSet::EMPTY, |set, (id, _)| set.union(AttributeSet::of(*id)))
    }

    /// Returns an attribute at the vertices of a triangle; `None` if the mesh lacks it.
    fn attribute_of(&self, element: u32, id: AttributeId) -> Option<[Vec3; 3]> {
        let mut attributes = self.data.iter().flat_map(|data| &data.attributes);
        let (_, values) = attributes.find(|(other, _)| *other == id)?;
        Some(self.triangles()[element as usize].map(|i| values.at(i)))
    }

    /// Returns whether vertices have tangents.
    #[inline(always)]
    pub(super) fn has_tangents(&self) -> bool {
        self.data.as_ref().is_some_and(|data| !data.tangents.is_empty())
    }

    /// Interpolates the tangent of a triangle, with the sign w of the bitangent, not normalised;
    /// `None` without tangents.
    pub(super) fn tangent(&self, element: u32, u: f32, v: f32) -> Option<Vec4> {
        let data = self.data.as_ref().filter(|data| !data.tangents.is_empty())?;
        let [a, b, c] = self.triangles()[element as usize].map(|i| data.tangents[i as usize]);
        Some((1.0 - u - v) * a + u * b + v * c)
    }
}

/// A point of a mesh, at which textures look up attributes.
#[derive(Clone, Copy, Debug)]
pub struct AttributePoint<'a> {
    mesh: &'a Mesh,
    element: u32,
    /// Barycentric weights of vertices 1 and 2.
    weights: Vec2,
}

impl AttributePoint<'_> {
    /// Interpolates an attribute; `None` if the mesh lacks it.
    pub fn value(&self, id: AttributeId) -> Option<Vec3> {
        let [a, b, c] = self.corners(id)?;
        let Vec2 { x: u, y: v } = self.weights;
        Some((1.0 - u - v) * a + u * b + v * c)
    }

    /// Returns the displacement of an attribute for one of the surface's texture coordinates; zero
    /// where it is undefined.
    pub fn step(&self, id: AttributeId, duv: Vec2) -> Vec3 {
        let Some([a, b, c]) = self.corners(id) else { return Vec3::ZERO };
        let step = self.weights_step(duv);
        step.x * (b - a) + step.y * (c - a)
    }

    /// Returns the point displaced by a step of the surface's texture coordinates.
    pub fn moved(self, duv: Vec2) -> Self {
        AttributePoint { weights: self.weights + self.weights_step(duv), ..self }
    }

    fn corners(&self, id: AttributeId) -> Option<[Vec3; 3]> {
        self.mesh.attribute_of(self.element, id)
    }

    /// Returns the displacement of the barycentric weights for one of the texture coordinates; zero
    /// where it is undefined.
    fn weights_step(&self, duv: Vec2) -> Vec2 {
        let [a, b, c] = self.mesh.uvs_or_default(self.element);
        let (du, dv) = (b - a, c - a);
        let step = Vec2::new(duv.perp_dot(dv), du.perp_dot(duv)) / du.perp_dot(dv);
        if step.is_finite() { step } else { Vec2::ZERO }
    }
}

impl Shape {
    /// Returns the point at which textures look up attributes of vertices; `None` if the shape has
    /// none.
    #[inline]
    pub fn attribute_point(&self, element: u32, [u, v, _]: [f32; 3]) -> Option<AttributePoint<'_>> {
        match self {
            Shape::Mesh(mesh) if mesh.data.is_some() => {
                Some(AttributePoint { mesh, element, weights: Vec2::new(u, v) })
            }
            _ => None,
        }
    }

    /// Returns an attribute at the vertices of a triangle; `None` for shapes without it.
    pub fn attribute_of(&self, element: u32, id: AttributeId) -> Option<[Vec3; 3]> {
        match self {
            Shape::Mesh(mesh) => mesh.attribute_of(element, id),
            _ => None,
        }
    }

    /// Returns the attributes of vertices.
    pub fn attributes(&self) -> AttributeSet {
        match self {
            Shape::Mesh(mesh) => mesh.attributes(),
            _ => AttributeSet::EMPTY,
        }
    }
}

impl Geometry {
    /// Returns the point at which textures look up attributes of vertices at a hit, which must not
    /// be a miss; `None` if the shape has none.
    #[inline]
    pub fn attribute_point(&self, hit: &Hit) -> Option<AttributePoint<'_>> {
        let shape = &self.primitives[hit.primitive as usize].shape;
        shape.attribute_point(hit.element, hit.coordinates())
    }

    /// Returns 1 if the bitangent at a hit, which must not be a miss, is on the side of n × t, else
    /// −1. It is 1 for shapes without tangents.
    pub fn bitangent_sign(&self, hit: &Hit) -> f32 {
        let tangent = match &self.primitives[hit.primitive as usize].shape {
            Shape::Mesh(mesh) => mesh.tangent(hit.element, hit.u, hit.v),
            _ => None,
        };
        let is_mirrored = hit.instance != Hit::NONE
            && self.instance_transform(hit.instance, hit.time).swaps_handedness();
        match tangent {
            Some(tangent) if (tangent.w < 0.0) != is_mirrored => -1.0,
            _ => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Instance, Primitive};
    use super::*;
    use crate::geometry::SurfaceDerivatives;
    use glam::{DAffine3, dvec3, vec4};
    use lightbound_math::{vec2, vec3};

    /// Two triangles of a unit square in the xy plane.
    fn square() -> Mesh {
        let uvs = vec![vec2(0.0, 0.0), vec2(1.0, 0.0), vec2(1.0, 1.0), vec2(0.0, 1.0)];
        let positions = uvs.iter().map(|uv| uv.extend(0.0)).collect();
        Mesh::new(positions, vec![[0, 1, 2], [0, 2, 3]], vec![], uvs).unwrap()
    }

    fn id(index: usize) -> AttributeId {
        AttributeId::new(index).unwrap()
    }

    fn geometry(mesh: Mesh, transform: Transform) -> Geometry {
        let primitive = Primitive {
            shape: Shape::Mesh(mesh),
            material: 0,
            first_light: None,
            alpha: None,
            flip: false,
            media: None,
        };
        let instance = Instance { group: 0, transform, first_light: 0, motion: None };
        let group = 0..1;
        Geometry {
            primitives: vec![primitive],
            world: 0..1,
            groups: vec![group],
            instances: vec![instance],
            ..Geometry::default()
        }
    }

    fn hit(element: u32, instance: u32) -> Hit {
        Hit { t: 1.0, u: 0.25, v: 0.5, primitive: 0, element, instance, ..Hit::MISS }
    }

    #[test]
    fn attributes_are_interpolated_like_texture_coordinates() {
        let uvs: Vec<Vec2> = square().positions().iter().map(|p| p.truncate()).collect();
        let numbers = uvs.iter().map(|uv| 3.0 * uv.x - uv.y).collect();
        let coordinates = uvs.iter().map(|uv| vec2(1.0 - uv.y, 2.0 * uv.x)).collect();
        let colours = uvs.iter().map(|uv| uv.extend(0.5)).collect();
        let mesh = square()
            .with_attribute(id(5), AttributeValues::Numbers(numbers))
            .and_then(|m| m.with_attribute(id(0), AttributeValues::Coordinates(coordinates)))
            .and_then(|m| m.with_attribute(id(63), AttributeValues::Colours(colours)))
            .unwrap();
        assert!([0, 5, 63].iter().all(|&k| mesh.attributes().contains(id(k))));
        assert!(!mesh.attributes().contains(id(1)));
        for mesh in [mesh.extract(1), mesh.clone()] {
            let element = mesh.triangles().len() as u32 - 1;
            let shape = Shape::Mesh(mesh);
            let at = |duv: Vec2| {
                let point = shape.attribute_point(element, [0.25, 0.5, 0.0]).unwrap().moved(duv);
                (shape.point(element, [0.25, 0.5, 0.0], Vec3::Z, 0.0).uv + duv, point)
            };
            for duv in [Vec2::ZERO, vec2(0.1, 0.3)] {
                let (uv, point) = at(duv);
                let near = |k: usize, expected: Vec3| {
                    let found = point.value(id(k)).unwrap();
                    assert!((found - expected).length() < 1e-6, "{found} {expected}");
                };
                near(5, Vec3::splat(3.0 * uv.x - uv.y));
                near(0, vec3(1.0 - uv.y, 2.0 * uv.x, 0.0));
                near(63, vec3(uv.x, uv.y, 0.5));
                assert_eq!(point.value(id(1)), None);
                let step = point.step(id(0), vec2(0.2, 0.1));
                assert!((step - vec3(-0.1, 0.4, 0.0)).length() < 1e-6, "{step}");
                assert_eq!(point.step(id(1), Vec2::ONE), Vec3::ZERO);
            }
        }
        assert!(Shape::Mesh(square()).attribute_point(0, [0.0; 3]).is_none());
    }

    #[test]
    fn invalid_values_are_zero_and_wrong_lengths_are_errors() {
        let values = vec![f32::NAN, f32::INFINITY, 1.0, 2.0];
        let mesh = square().with_attribute(id(1), AttributeValues::Numbers(values)).unwrap();
        let shape = Shape::Mesh(mesh);
        let value =
            |u: f32, v: f32| shape.attribute_point(0, [u, v, 0.0]).unwrap().value(id(1)).unwrap().x;
        assert_eq!([value(0.0, 0.0), value(1.0, 0.0), value(0.0, 1.0)], [0.0, 0.0, 1.0]);
        let colours = AttributeValues::Colours(vec![Vec3::ONE; 3]);
        let message = square().with_attribute(id(1), colours).unwrap_err().to_string();
        assert!(message.starts_with("3 values of an attribute for 4 vertices"), "{message}");
        let message = square().with_tangents(vec![Vec4::X]).unwrap_err().to_string();
        assert!(message.starts_with("1 tangents for 4 vertices"), "{message}");
        assert_eq!((AttributeId::new(64), AttributeId::new(0)), (None, Some(AttributeId(0))));
    }

    #[test]
    fn the_shading_frame_is_along_the_interpolated_tangent() {
        let tangents =
            vec![vec4(0.0, 2.0, 0.0, 1.0), vec4(0.0, 1.0, 0.0, 1.0), Vec4::Y + Vec4::W, Vec4::W];
        let mesh = square().with_tangents(tangents).unwrap();
        let geometry = geometry(mesh, Transform::IDENTITY);
        let frame = |element: u32| geometry.surface(&hit(element, Hit::NONE), -Vec3::Z).frame;
        assert_eq!([frame(0).t, frame(0).b, frame(0).n], [Vec3::Y, -Vec3::X, Vec3::Z]);
        // Vertices without a tangent do not count.
        assert_eq!(frame(1).t, Vec3::Y);
        // Bump maps and footprints use the texture coordinates.
        let derivatives = geometry.derivatives(&hit(0, Hit::NONE), -Vec3::Z);
        assert_eq!(
            derivatives,
            SurfaceDerivatives { dpdu: Vec3::X, dpdv: Vec3::Y, ..SurfaceDerivatives::default() }
        );
        let absent = square().with_tangents(vec![vec4(0.0, f32::NAN, 0.0, 1.0); 4]).unwrap();
        let geometry = super::tests::geometry(absent, Transform::IDENTITY);
        assert_eq!(geometry.surface(&hit(0, Hit::NONE), -Vec3::Z).frame.t, Vec3::X);
    }

    #[test]
    fn mirroring_a_mesh_mirrors_its_tangent_frame() {
        let mirror = Transform::new(DAffine3::from_scale(dvec3(-1.0, 1.0, 1.0))).unwrap();
        for w in [1.0, -1.0] {
            let mesh = square().with_tangents(vec![vec4(0.6, 0.8, 0.0, w); 4]).unwrap();
            let original = geometry(mesh.clone(), mirror);
            let transformed = geometry(mesh.transformed(&mirror).unwrap(), mirror);
            let bitangent = |geometry: &Geometry, instance: u32| {
                let hit = hit(0, instance);
                geometry.bitangent_sign(&hit) * geometry.surface(&hit, -Vec3::Z).frame.b
            };
            let expected = bitangent(&original, Hit::NONE) * vec3(-1.0, 1.0, 1.0);
            for found in [bitangent(&original, 0), bitangent(&transformed, Hit::NONE)] {
                assert!((found - expected).length() < 1e-6, "{found} {expected}");
            }
            assert_eq!(bitangent(&original, Hit::NONE), w * vec3(-0.8, 0.6, 0.0));
        }
    }
}
