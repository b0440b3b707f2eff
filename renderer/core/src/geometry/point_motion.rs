//! Where a point of a surface is at other times.

use super::{Geometry, Hit};
use lightbound_math::Vec3;

impl Geometry {
    /// Returns the positions at `times`, seconds, of the point of a surface that is at `p` at the
    /// time of the hit.
    pub fn positions_at(&self, hit: &Hit, p: Vec3, times: [f32; 2]) -> [Vec3; 2] {
        let shape = &self.primitives[hit.primitive as usize].shape;
        let moves = self.instances.get(hit.instance as usize).is_some_and(|i| i.motion.is_some());
        if !moves && !shape.vertices_move() {
            return [p; 2];
        }
        let transform =
            |time| (hit.instance != Hit::NONE).then(|| self.instance_transform(hit.instance, time));
        times.map(|time| {
            // Only meshes and patches have moving vertices; their points do not depend on the ray.
            let local = match transform(hit.time) {
                _ if shape.vertices_move() => {
                    shape.point(hit.element, hit.coordinates(), Vec3::Z, time).p
                }
                Some(transform) => transform.inverse().point(p),
                None => p,
            };
            transform(time).map_or(local, |transform| transform.point(local))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{Instance, Mesh, Motion, Primitive, Shape, VertexMotion};
    use glam::{DAffine3, dvec3};
    use lightbound_math::{Transform, vec3};

    #[test]
    fn points_move_with_their_instance_and_vertices() {
        let transforms = [0.0, 8.0].map(|x| DAffine3::from_translation(dvec3(x, 0.0, 0.0)));
        let motion = Motion::new(transforms, [0.0, 1.0], [0.0, 1.0]).unwrap();
        let instance =
            |motion| Instance { group: 0, transform: Transform::IDENTITY, first_light: 0, motion };
        let corners = vec![Vec3::ZERO, Vec3::X, Vec3::Y];
        let end = corners.iter().map(|&p| p + 4.0 * Vec3::Z).collect();
        let end = VertexMotion::new(end, vec![], [0.0, 1.0], [0.0, 1.0]);
        let primitive = |motion: Option<VertexMotion>| {
            let motion = motion.map(Box::new);
            let mesh = Mesh::with_motion(corners.clone(), vec![[0, 1, 2]], vec![], vec![], motion);
            let shape = Shape::Mesh(mesh.unwrap());
            Primitive {
                shape,
                material: 0,
                first_light: None,
                alpha: None,
                flip: false,
                media: None,
            }
        };
        let geometry = Geometry {
            primitives: vec![primitive(None), primitive(Some(end))],
            instances: vec![instance(None), instance(Some(0))],
            motions: vec![motion],
            ..Geometry::default()
        };
        let at = |primitive, instance, p| {
            let hit = Hit { primitive, element: 0, instance, u: 0.5, v: 0.25, ..Hit::MISS };
            geometry.positions_at(&Hit { time: 0.25, ..hit }, p, [0.0, 0.5])
        };
        let p = vec3(0.5, 0.25, 0.0);
        assert_eq!([at(0, Hit::NONE, p), at(0, 0, p)], [[p; 2]; 2]);
        let moved = |x, z| p + vec3(x, 0.0, z);
        assert_eq!(at(0, 1, moved(2.0, 0.0)), [p, moved(4.0, 0.0)]);
        assert_eq!(at(1, Hit::NONE, moved(0.0, 1.0)), [p, moved(0.0, 2.0)]);
        assert_eq!(at(1, 1, moved(2.0, 1.0)), [p, moved(4.0, 2.0)]);
    }
}
