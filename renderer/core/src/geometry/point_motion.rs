//! Where a point of a surface is at other times.

use super::{Geometry, Hit};
use lightbound_math::Vec3;

impl Geometry {
    /// Returns the positions at `times`, seconds, of the point of a surface that is at `p` at the
    /// time of the hit.
    pub fn positions_at(&self, hit: &Hit, p: Vec3, times: [f32; 2]) -> [Vec3; 2] {
        let motion = self.instances.get(hit.instance as usize).and_then(|i| i.motion);
        let Some(motion) = motion.map(|index| &self.motions[index as usize]) else {
            return [p; 2];
        };
        let local = motion.at(hit.time).inverse().point(p);
        times.map(|time| motion.at(time).point(local))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{Instance, Motion};
    use glam::{DAffine3, dvec3};
    use lightbound_math::{Transform, vec3};

    #[test]
    fn points_move_with_their_instance() {
        let transforms = [0.0, 8.0].map(|x| DAffine3::from_translation(dvec3(x, 0.0, 0.0)));
        let motion = Motion::new(transforms, [0.0, 1.0], [0.0, 1.0]).unwrap();
        let instance =
            |motion| Instance { group: 0, transform: Transform::IDENTITY, first_light: 0, motion };
        let geometry = Geometry {
            instances: vec![instance(None), instance(Some(0))],
            motions: vec![motion],
            ..Geometry::default()
        };
        let p = vec3(3.0, 1.0, 0.0);
        let at = |instance| {
            let hit = Hit { instance, time: 0.25, ..Hit::MISS };
            geometry.positions_at(&hit, p, [0.0, 0.5])
        };
        assert_eq!([at(Hit::NONE), at(0)], [[p; 2]; 2]);
        assert_eq!(at(1), [vec3(1.0, 1.0, 0.0), vec3(5.0, 1.0, 0.0)]);
    }
}
