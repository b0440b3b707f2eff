//! Where points of the scene are in the image, for motion vectors and depth gradients.

use super::{Camera, CameraModel, Projection, SphericalMapping, ThinLens};
use crate::light::sphere_to_square;
use lightbound_math::{Transform, Vec2, Vec3, vec2};
use std::f32::consts::PI;

impl Camera {
    /// Returns the times at which the shutter opens and closes, seconds.
    pub fn shutter(&self) -> [f32; 2] {
        self.shutter
    }

    /// Returns the transform from render space to camera space at `time`, seconds.
    pub fn camera_from_render(&self, time: f32) -> Transform {
        self.moved(time).unwrap_or(self.to_world).inverse()
    }

    /// Returns the raster point where the centre of the lens images a point at `time`, seconds; `None`
    /// behind the camera.
    ///
    /// A system of lenses counts as the pinhole with the same image near its centre, without
    /// distortion.
    pub fn project(&self, p: Vec3, time: f32) -> Option<Vec2> {
        let p = self.camera_from_render(time).point(p);
        match &self.model {
            CameraModel::ThinLens(ThinLens { projection, corner, step, .. }) => match projection {
                Projection::Perspective { .. } if p.z > 0.0 => {
                    Some((p.truncate() / p.z - *corner) / *step)
                }
                Projection::Perspective { .. } => None,
                Projection::Orthographic => Some((p.truncate() - *corner) / *step),
            },
            CameraModel::Spherical { mapping, resolution } => {
                // The zenith of the maps is +z.
                let d = Vec3::new(p.x, p.z, p.y).normalize();
                let at = match mapping {
                    SphericalMapping::EqualArea => sphere_to_square(d),
                    SphericalMapping::Equirectangular => {
                        let phi = libm::atan2f(d.y, d.x) / (2.0 * PI);
                        vec2(phi - phi.floor(), libm::acosf(d.z.clamp(-1.0, 1.0)) / PI)
                    }
                };
                d.is_finite().then(|| at * *resolution)
            }
            CameraModel::Realistic { corner, step, angle, .. } if p.z > 0.0 && *angle > 0.0 => {
                let centre = (-*corner / *step).as_vec2();
                Some(centre + p.truncate() / (p.z * angle) * vec2(1.0, -1.0))
            }
            CameraModel::Realistic { .. } => None,
        }
    }

    /// Returns the displacement in the image, pixels to the right and upwards, of a point that is at
    /// `ends` when the shutter opens and closes; 0 if it is behind the camera then.
    pub fn displacement(&self, ends: [Vec3; 2]) -> Vec2 {
        let [open, close] = self.shutter;
        let raster = (self.project(ends[0], open), self.project(ends[1], close));
        let (Some(from), Some(to)) = raster else { return Vec2::ZERO };
        let mut displacement = to - from;
        if let CameraModel::Spherical { mapping: SphericalMapping::Equirectangular, resolution } =
            self.model
        {
            // The left and right edges of the image are the same.
            displacement.x -= resolution.x * (displacement.x / resolution.x).round();
        }
        displacement * vec2(1.0, -1.0)
    }

    /// Returns the change of the [depth](Camera::depth) of a surface, at position `p` with unit
    /// normal `n`, per pixel to the right and downwards; 0 if the surface contains the viewing ray.
    ///
    /// Exact for thin lenses and pinholes. For other cameras, pixels are as in
    /// [`footprint`](Camera::footprint). A moving camera is taken at the start of its motion.
    pub fn depth_gradient(&self, p: Vec3, n: Vec3) -> Vec2 {
        let gradient = match self.model {
            CameraModel::ThinLens(ThinLens { projection, step, .. }) => {
                let from_world = self.to_world.inverse();
                let (p, n) = (from_world.point(p), from_world.normal(n));
                let z = match projection {
                    // z is n·p / (n·s) for the ray in direction s = p / z.
                    Projection::Perspective { .. } => -p.z * p.z / n.dot(p),
                    Projection::Orthographic => -1.0 / n.z,
                };
                z * n.truncate() * step * self.to_world.vector(Vec3::Z).length()
            }
            CameraModel::Spherical { .. } | CameraModel::Realistic { .. } => {
                let time = self.shutter[0];
                let depth = self.depth(p, time);
                let steps = self.footprint(p, n).map(|step| self.depth(p + step, time) - depth);
                Vec2::from(steps) / super::FOOTPRINT_PIXELS
            }
        };
        if gradient.is_finite() { gradient } else { Vec2::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::camera::ScreenWindow;
    use crate::geometry::Motion;
    use glam::{DAffine3, dvec3};
    use lightbound_math::{Transform, vec3};

    fn cameras() -> Vec<Camera> {
        let to_world = Transform::new(
            DAffine3::from_translation(dvec3(1.0, -2.0, 0.5))
                * DAffine3::from_rotation_y(0.8)
                * DAffine3::from_scale(dvec3(2.0, 2.0, 2.0)),
        )
        .unwrap();
        let screen = ScreenWindow::from_aspect(2.0);
        let thin = |projection| Camera::new(to_world, projection, screen, (200, 100), 0.0, 1.0);
        let mut cameras =
            vec![thin(Projection::Perspective { fov: 70.0 }), thin(Projection::Orthographic)];
        cameras.extend(
            [SphericalMapping::EqualArea, SphericalMapping::Equirectangular]
                .map(|mapping| Camera::spherical(to_world, mapping, (200, 100))),
        );
        cameras
    }

    #[test]
    fn projection_inverts_the_rays() {
        for camera in cameras() {
            for raster in [vec2(3.5, 20.25), vec2(120.0, 70.0), vec2(199.0, 1.0)] {
                let ray = camera.ray(raster, Vec2::splat(0.5), 0.0).unwrap().ray;
                let found = camera.project(ray.at(7.0), 0.0).unwrap();
                assert!((found - raster).length() < 2e-3, "{camera:?}: {found} {raster}");
            }
        }
        let behind = cameras()[0].ray(vec2(100.0, 50.0), Vec2::ZERO, 0.0).unwrap().ray.at(-1.0);
        assert_eq!(cameras()[0].project(behind, 0.0), None);
    }

    #[test]
    fn displacements_include_the_motion_of_the_camera() {
        let end = DAffine3::from_translation(dvec3(1.0, 0.5, 0.0));
        let motion = Motion::new([DAffine3::IDENTITY, end], [0.0, 1.0], [0.0, 1.0]).unwrap();
        let screen = ScreenWindow::from_aspect(1.0);
        let camera = Camera::new(
            Transform::IDENTITY,
            Projection::Perspective { fov: 90.0 },
            screen,
            (100, 100),
            0.0,
            1.0,
        );
        let p = vec3(0.0, 0.0, 2.0);
        // A unit at distance 2 is 25 pixels.
        assert_eq!(camera.displacement([p, p + vec3(1.0, 2.0, 0.0)]), vec2(25.0, 50.0));
        let camera = camera.with_motion(motion);
        assert_eq!(camera.displacement([p, p]), vec2(-25.0, -12.5));
        assert_eq!(camera.displacement([p, -p]), Vec2::ZERO);
    }

    #[test]
    fn displacements_across_the_edge_of_a_latlong_image_are_short() {
        let camera =
            Camera::spherical(Transform::IDENTITY, SphericalMapping::Equirectangular, (100, 50));
        let found = camera.displacement([vec3(1.0, 0.0, -0.1), vec3(1.0, 0.0, 0.1)]);
        assert!(found.y.abs() < 1e-3 && found.x > 3.0 && found.x < 3.3, "{found}");
    }

    #[test]
    fn depth_gradients_are_differences_between_pixels() {
        for camera in &cameras()[..2] {
            let raster = vec2(150.0, 30.0);
            let ray = |raster| camera.ray(raster, Vec2::ZERO, 0.0).unwrap().ray;
            let p = ray(raster).at(3.0);
            let n = (vec3(0.3, 0.5, -0.2) - ray(raster).d).normalize();
            let depth = |raster| {
                let ray = ray(raster);
                camera.depth(ray.at(n.dot(p - ray.o) / n.dot(ray.d)), 0.0)
            };
            let found = camera.depth_gradient(p, n);
            for (found, axis) in found.to_array().into_iter().zip([Vec2::X, Vec2::Y]) {
                let expected = 0.5 * (depth(raster + axis) - depth(raster - axis));
                assert!((found - expected).abs() < 1e-3 * expected.abs(), "{found} {expected}");
            }
        }
    }
}
