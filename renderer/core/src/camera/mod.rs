//! Cameras: generation of rays from points on the film.
//!
//! Camera space is pbrt's: left-handed, +z forward, +y up, +x right. Film points are in raster
//! space: pixels from the upper left corner. Rays are in the space of the scene's geometry: world
//! space, or render space if it differs ([`crate::geometry`]).

mod aperture;
mod image_space;
mod realistic;

use crate::geometry::Motion;
use crate::light::square_to_sphere;
use glam::{DAffine3, DMat3, DVec2};
use lightbound_math::sampling::warp;
use lightbound_math::{Frame, Ray, Transform, Vec2, Vec3, vec2};
use std::f32::consts::PI;
use std::sync::Arc;

pub use aperture::Aperture;
pub use realistic::{LensElement, LensError, LensSystem};

/// A rectangle of the image plane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScreenWindow {
    /// Minimum x and y.
    pub min: Vec2,
    /// Maximum x and y.
    pub max: Vec2,
}

impl ScreenWindow {
    /// Returns the default window for an aspect ratio (width over height): [−1, 1] along the
    /// shorter side, proportionally more along the longer side.
    pub fn from_aspect(aspect: f32) -> ScreenWindow {
        let max = if aspect > 1.0 { vec2(aspect, 1.0) } else { vec2(1.0, 1.0 / aspect) };
        ScreenWindow { min: -max, max }
    }
}

/// Size of [footprints](Camera::footprint) in pixels: that of pbrt-v4 from 64 samples per pixel on.
/// pbrt-v4 takes larger ones for fewer samples, but here a sample does not depend on their number.
const FOOTPRINT_PIXELS: f32 = 0.125;

/// The projection of a camera.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Projection {
    /// Rays through one point.
    Perspective {
        /// Field of view across [−1, 1] of the screen window, degrees.
        fov: f32,
    },
    /// Parallel rays; screen window units are scene units.
    Orthographic,
}

/// The map from a spherical camera's image to directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SphericalMapping {
    /// The equal-area octahedral map of environment images.
    EqualArea,
    /// Longitude along x, and latitude along y.
    Equirectangular,
}

/// A camera: a thin lens or pinhole, a view of all directions, or a system of lenses.
#[derive(Clone, Debug)]
pub struct Camera {
    to_world: Transform,
    motion: Option<Motion>,
    /// Times at which the shutter opens and closes, seconds.
    shutter: [f32; 2],
    model: CameraModel,
}

#[derive(Clone, Debug)]
enum CameraModel {
    ThinLens(ThinLens),
    Spherical {
        mapping: SphericalMapping,
        /// Width and height in pixels.
        resolution: Vec2,
    },
    Realistic {
        lens: Arc<LensSystem>,
        /// Position of the raster's upper left corner on the film, m.
        corner: DVec2,
        /// Step on the film per pixel, right and down.
        step: DVec2,
        /// Change of direction per pixel at the centre of the image, right and down; 0 if the lens
        /// blocks the ray.
        angle: f32,
    },
}

/// A thin-lens camera; a pinhole camera if the lens radius is 0.
#[derive(Clone, Copy, Debug)]
struct ThinLens {
    projection: Projection,
    /// Image-plane point of the raster's upper left corner, at z = 1 for perspective.
    corner: Vec2,
    /// Image-plane step per pixel, right and down.
    step: Vec2,
    lens_radius: f32,
    focal_distance: f32,
}

/// A ray with the weight of the light along it.
#[derive(Clone, Copy, Debug)]
pub struct CameraRay {
    /// The ray; its direction is a unit vector.
    pub ray: Ray,
    /// Factor of the radiance: 1, except for systems of lenses.
    pub weight: f32,
}

impl Camera {
    /// Creates a thin-lens camera for an image of `resolution` pixels, width and height.
    /// `focal_distance` is used only if `lens_radius` is positive.
    pub fn new(
        to_world: Transform,
        projection: Projection,
        screen: ScreenWindow,
        resolution: (u32, u32),
        lens_radius: f32,
        focal_distance: f32,
    ) -> Camera {
        let scale = match projection {
            Projection::Perspective { fov } => libm::tanf(0.5 * fov.to_radians()),
            Projection::Orthographic => 1.0,
        };
        let size = screen.max - screen.min;
        let lens = ThinLens {
            projection,
            corner: scale * vec2(screen.min.x, screen.max.y),
            step: scale * vec2(size.x / resolution.0 as f32, -size.y / resolution.1 as f32),
            lens_radius,
            focal_distance,
        };
        Camera::with_model(to_world, CameraModel::ThinLens(lens))
    }

    /// Creates a camera that sees all directions. +y of camera space is up.
    pub fn spherical(
        to_world: Transform,
        mapping: SphericalMapping,
        resolution: (u32, u32),
    ) -> Camera {
        let resolution = vec2(resolution.0 as f32, resolution.1 as f32);
        Camera::with_model(to_world, CameraModel::Spherical { mapping, resolution })
    }

    /// Creates a camera with a system of lenses. `diagonal` is that of the film in m, for which the
    /// system was created. Units of camera space are metres.
    pub fn realistic(
        to_world: Transform,
        lens: LensSystem,
        diagonal: f64,
        resolution: (u32, u32),
    ) -> Camera {
        let pixels = DVec2::new(f64::from(resolution.0), f64::from(resolution.1));
        let size = diagonal * pixels.normalize();
        // The image on the film is upside down.
        let (corner, step) =
            (0.5 * size * DVec2::new(1.0, -1.0), size / pixels * DVec2::new(-1.0, 1.0));
        let centre = corner + 0.5 * pixels * step;
        let direction = |film| lens.sample(film, Vec2::splat(0.5)).map(|(ray, _)| ray.d);
        let angle = match (direction(centre), direction(centre + step * DVec2::X)) {
            (Some(a), Some(b)) => (b - a).length() as f32,
            _ => 0.0,
        };
        let lens = lens.into();
        Camera::with_model(to_world, CameraModel::Realistic { lens, corner, step, angle })
    }

    fn with_model(to_world: Transform, model: CameraModel) -> Camera {
        Camera { to_world, motion: None, shutter: [0.0, 1.0], model }
    }

    /// Sets the times at which the shutter opens and closes, seconds. The default is from 0 to 1.
    pub fn with_shutter(self, shutter: [f32; 2]) -> Camera {
        Camera { shutter, ..self }
    }

    /// Makes the camera move.
    pub fn with_motion(self, motion: Motion) -> Camera {
        Camera { motion: Some(motion), ..self }
    }

    /// Returns whether the camera moves.
    pub fn moves(&self) -> bool {
        self.motion.is_some()
    }

    /// Returns a time at which the shutter is open, seconds, for uniform `u` in [0, 1).
    pub fn time(&self, u: f32) -> f32 {
        let [open, close] = self.shutter;
        (1.0 - u) * open + u * close
    }

    /// Returns the transform from camera space at `time`, seconds; `None` if the camera is at rest.
    fn moved(&self, time: f32) -> Option<Transform> {
        self.motion.as_ref().map(|motion| motion.at(time))
    }

    /// Creates a pinhole camera at `eye` that looks at `target`; `fov` is the field of view along
    /// the shorter side of the image, degrees.
    ///
    /// # Panics
    /// If `eye` equals `target`, or `up` is parallel to the viewing direction.
    pub fn look_at(eye: Vec3, target: Vec3, up: Vec3, fov: f32, resolution: (u32, u32)) -> Camera {
        let [eye, target, up] = [eye, target, up].map(Vec3::as_dvec3);
        let forward = (target - eye).normalize();
        // Left-handed, as in pbrt: x to the right, y up, z into the image.
        let right = up.cross(forward).normalize();
        let axes = DMat3::from_cols(right, forward.cross(right), forward);
        let to_world = Transform::new(DAffine3::from_mat3_translation(axes, eye))
            .expect("the viewing direction and `up` span a plane");
        let screen = ScreenWindow::from_aspect(resolution.0 as f32 / resolution.1 as f32);
        Camera::new(to_world, Projection::Perspective { fov }, screen, resolution, 0.0, 1.0)
    }

    /// Generates the ray through a raster point and a lens point at `time`, seconds, for `lens`
    /// uniform in [0, 1)². `None` if the lens blocks the ray.
    #[inline]
    pub fn ray(&self, raster: Vec2, lens: Vec2, time: f32) -> Option<CameraRay> {
        let (o, d, weight) = match &self.model {
            CameraModel::ThinLens(thin) => {
                let (o, d) = thin.ray(raster, lens);
                (o, d, 1.0)
            }
            CameraModel::Spherical { mapping, resolution } => {
                (Vec3::ZERO, spherical_direction(*mapping, raster / *resolution), 1.0)
            }
            CameraModel::Realistic { lens: system, corner, step, .. } => {
                let (ray, weight) = system.sample(*corner + *step * raster.as_dvec2(), lens)?;
                (ray.o.as_vec3(), ray.d.as_vec3(), weight)
            }
        };
        let moved = self.moved(time);
        let to_world = moved.as_ref().unwrap_or(&self.to_world);
        let ray = Ray { time, ..Ray::new(to_world.point(o), to_world.vector(d).normalize()) };
        Some(CameraRay { ray, weight })
    }

    /// Returns the ray along the viewing direction from the origin of camera space at `time`, seconds.
    pub fn axis(&self, time: f32) -> Ray {
        let moved = self.moved(time);
        let to_world = moved.as_ref().unwrap_or(&self.to_world);
        let d = to_world.vector(Vec3::Z).normalize();
        Ray { time, ..Ray::new(to_world.point(Vec3::ZERO), d) }
    }

    /// Approximates the displacements on a surface, at position `p` with unit normal `n`, for steps
    /// of the film to the right and down. Steps are an eighth of a pixel, for filters of textures.
    ///
    /// As in pbrt-v4 (`Camera::Approximate_dp_dxy`), they depend on the distance of the point and
    /// its tangent plane, not on the path that found it. So they are defined at points that the
    /// camera does not see, too: as if it were turned towards them. A moving camera is taken at the
    /// start of its motion. Not finite if the surface contains the viewing ray.
    pub fn footprint(&self, p: Vec3, n: Vec3) -> [Vec3; 2] {
        let camera_from_world = self.to_world.inverse();
        let (p, n) = (camera_from_world.point(p), camera_from_world.normal(n));
        // The origin and direction of the viewing ray, and their steps along an axis of the film.
        let perspective = |step: Vec2| {
            let d = p.normalize();
            let Frame { t, b, .. } = Frame::from_normal_tangent(d, Vec3::X);
            // `b` is upwards; the step is negative.
            [(step.x, t), (step.y, b)].map(|(step, axis)| (Vec3::ZERO, d + step * axis))
        };
        let [right, down] = match &self.model {
            CameraModel::ThinLens(ThinLens { projection, step, .. }) => match projection {
                Projection::Perspective { .. } => perspective(*step),
                Projection::Orthographic => {
                    let o = p.with_z(0.0);
                    [vec2(step.x, 0.0), vec2(0.0, step.y)]
                        .map(|step| (o + step.extend(0.0), Vec3::Z))
                }
            },
            // The step for which square pixels cover the sphere.
            CameraModel::Spherical { resolution, .. } => {
                let step = (4.0 * PI / resolution.element_product()).sqrt();
                perspective(vec2(step, -step))
            }
            CameraModel::Realistic { angle, .. } => perspective(vec2(*angle, -angle)),
        };
        [right, down].map(|(o, d)| {
            // Intersection with the tangent plane.
            let t = n.dot(p - o) / n.dot(d);
            FOOTPRINT_PIXELS * self.to_world.vector(o + t * d - p)
        })
    }

    /// Returns the distance of a point from the camera along the viewing axis at `time`, seconds;
    /// for a spherical camera, the distance in space.
    pub fn depth(&self, p: Vec3, time: f32) -> f32 {
        let moved = self.moved(time);
        let to_world = moved.as_ref().unwrap_or(&self.to_world);
        let d = p - to_world.point(Vec3::ZERO);
        match self.model {
            CameraModel::Spherical { .. } => d.length(),
            CameraModel::ThinLens(_) | CameraModel::Realistic { .. } => {
                d.dot(to_world.vector(Vec3::Z).normalize())
            }
        }
    }
}

impl ThinLens {
    /// Returns origin and direction of a ray in camera space.
    fn ray(&self, raster: Vec2, lens: Vec2) -> (Vec3, Vec3) {
        let on_plane = self.corner + self.step * raster;
        let (mut o, mut d) = match self.projection {
            Projection::Perspective { .. } => (Vec3::ZERO, on_plane.extend(1.0)),
            Projection::Orthographic => (on_plane.extend(0.0), Vec3::Z),
        };
        if self.lens_radius > 0.0 {
            let shift = (self.lens_radius * warp::uniform_disk(lens)).extend(0.0);
            let focus = o + d * (self.focal_distance / d.z);
            o += shift;
            d = focus - o;
        }
        (o, d)
    }
}

/// Returns the direction of a spherical camera at a position of the image, from (0, 0) at the upper
/// left corner to (1, 1); filters also sample positions outside.
fn spherical_direction(mapping: SphericalMapping, at: Vec2) -> Vec3 {
    let d = match mapping {
        SphericalMapping::EqualArea => square_to_sphere(wrap_equal_area(at)),
        SphericalMapping::Equirectangular => {
            let (theta, phi) = (PI * at.y, 2.0 * PI * at.x);
            let (sin, cos) = (libm::sinf(theta), libm::cosf(theta));
            Vec3::new(sin * libm::cosf(phi), sin * libm::sinf(phi), cos)
        }
    };
    Vec3::new(d.x, d.z, d.y)
}

/// Maps positions beyond an edge of the octahedral map back through the same edge, mirrored at its
/// midpoint.
fn wrap_equal_area(mut at: Vec2) -> Vec2 {
    for _ in 0..2 {
        if at.x < 0.0 || at.x > 1.0 {
            at = vec2(if at.x < 0.0 { -at.x } else { 2.0 - at.x }, 1.0 - at.y);
        }
        at = vec2(at.y, at.x);
    }
    at.clamp(Vec2::ZERO, Vec2::ONE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::dvec3;
    use lightbound_math::vec3;

    fn camera(projection: Projection, lens_radius: f32) -> Camera {
        let screen = ScreenWindow::from_aspect(2.0);
        Camera::new(Transform::IDENTITY, projection, screen, (200, 100), lens_radius, 4.0)
    }

    #[test]
    fn perspective_field_of_view_is_along_the_shorter_side() {
        let c = camera(Projection::Perspective { fov: 90.0 }, 0.0);
        let ray = |at| c.ray(at, Vec2::ZERO, 0.0).unwrap().ray;
        let centre = ray(vec2(100.0, 50.0));
        assert!((centre.d - Vec3::Z).length() < 1e-6);
        let top = ray(vec2(100.0, 0.0));
        assert!((top.d - vec3(0.0, 1.0, 1.0).normalize()).length() < 1e-6);
        let right = ray(vec2(200.0, 50.0));
        assert!((right.d - vec3(2.0, 0.0, 1.0).normalize()).length() < 1e-6);
    }

    #[test]
    fn look_at_projects_the_target_to_the_centre() {
        let eye = vec3(3.0, 1.0, -2.0);
        let c = Camera::look_at(eye, vec3(0.0, 1.0, -2.0), Vec3::Y, 90.0, (100, 100));
        let at = |x, y| c.ray(vec2(x, y), Vec2::ZERO, 0.0).unwrap().ray.d;
        assert!((at(50.0, 50.0) + Vec3::X).length() < 1e-6);
        // +y is up, and +z is to the right.
        assert!(at(50.0, 0.0).y > 0.5 && at(100.0, 50.0).z > 0.5);
    }

    #[test]
    fn orthographic_rays_are_parallel() {
        let r = camera(Projection::Orthographic, 0.0).ray(Vec2::ZERO, Vec2::ZERO, 0.0).unwrap().ray;
        assert_eq!((r.o, r.d), (vec3(-2.0, 1.0, 0.0), Vec3::Z));
    }

    #[test]
    fn lens_rays_converge_on_the_focal_plane() {
        for projection in [Projection::Perspective { fov: 40.0 }, Projection::Orthographic] {
            let c = camera(projection, 0.3);
            let at_focus = |lens| {
                let r = c.ray(vec2(37.0, 61.0), lens, 0.0).unwrap().ray;
                r.at((4.0 - r.o.z) / r.d.z)
            };
            let a = at_focus(vec2(0.1, 0.9));
            let b = at_focus(vec2(0.8, 0.3));
            assert!((a - b).length() < 1e-5, "{a} {b}");
        }
    }

    #[test]
    fn footprints_are_the_displacements_between_pixels() {
        let to_world = Transform::new(
            DAffine3::from_translation(dvec3(1.0, -2.0, 0.5))
                * DAffine3::from_rotation_y(0.8)
                * DAffine3::from_scale(dvec3(2.0, 2.0, 2.0)),
        )
        .unwrap();
        let screen = ScreenWindow::from_aspect(2.0);
        let forward = to_world.vector(Vec3::Z).normalize();
        for (projection, tolerance) in
            [(Projection::Perspective { fov: 10.0 }, 0.02), (Projection::Orthographic, 1e-3)]
        {
            let c = Camera::new(to_world, projection, screen, (2000, 1000), 0.0, 1.0);
            for n in [forward, (forward + vec3(0.3, 0.5, -0.2)).normalize()] {
                let (raster, distance) = (vec2(700.0, 400.0), 3.0);
                let ray = |raster| c.ray(raster, Vec2::ZERO, 0.0).unwrap().ray;
                let p = ray(raster).at(distance);
                let on_plane = |raster| {
                    let ray = ray(raster);
                    ray.at(n.dot(p - ray.o) / n.dot(ray.d))
                };
                let footprint = c.footprint(p, n);
                for (found, axis) in footprint.into_iter().zip([Vec2::X, Vec2::Y]) {
                    let expected =
                        0.125 * (on_plane(raster + axis) - on_plane(raster - axis)) / 2.0;
                    let error = (found - expected).length() / expected.length();
                    assert!(error < tolerance, "{projection:?} {n}: {found} {expected}");
                }
            }
            // Behind the camera, and edge-on.
            let behind = c.footprint(c.to_world.point(vec3(0.1, 0.2, -3.0)), forward);
            assert!(behind.iter().all(|dp| dp.is_finite() && dp.length() > 1e-6), "{behind:?}");
        }
        // At the equator, pixels of a square equal-area map are as large as on average.
        let c = Camera::spherical(to_world, SphericalMapping::EqualArea, (100, 100));
        let p = c.to_world.point(5.0 * Vec3::Z);
        let [dx, dy] = c.footprint(p, forward).map(Vec3::length);
        let expected = 0.125 * 10.0 * (4.0 * PI / 1e4).sqrt();
        assert!((dx - expected).abs() < 1e-3 * expected && (dy - expected).abs() < 1e-3 * expected);
    }

    #[test]
    fn depth_is_along_the_axis_in_world_units() {
        let transform = Transform::new(
            DAffine3::from_translation(dvec3(0.0, 0.0, 5.0))
                * DAffine3::from_scale(dvec3(2.0, 2.0, 2.0)),
        );
        let screen = ScreenWindow::from_aspect(1.0);
        let c = Camera::new(
            transform.unwrap(),
            Projection::Perspective { fov: 60.0 },
            screen,
            (10, 10),
            0.0,
            1.0,
        );
        assert_eq!(c.depth(vec3(3.0, 1.0, 9.0), 0.0), 4.0);
    }

    #[test]
    fn spherical_images_cover_all_directions() {
        let camera = |mapping| Camera::spherical(Transform::IDENTITY, mapping, (200, 100));
        let at = |mapping, x, y| {
            let ray = camera(mapping).ray(vec2(x, y), Vec2::ZERO, 0.0).unwrap();
            assert_eq!((ray.weight, ray.ray.o), (1.0, Vec3::ZERO));
            ray.ray.d
        };
        let close = |a: Vec3, b: Vec3| (a - b).length() < 1e-5;
        let latlong = |x, y| at(SphericalMapping::Equirectangular, x, y);
        assert!(close(latlong(0.0, 50.0), Vec3::X) && close(latlong(50.0, 50.0), Vec3::Z));
        assert!(close(latlong(30.0, 0.0), Vec3::Y) && close(latlong(30.0, 100.0), -Vec3::Y));
        // The zenith is at the centre, and the horizon is a diamond.
        let equal_area = |x, y| at(SphericalMapping::EqualArea, x, y);
        assert!(close(equal_area(100.0, 50.0), Vec3::Y) && close(equal_area(0.0, 0.0), -Vec3::Y));
        assert!(
            close(equal_area(200.0, 50.0), Vec3::X) && close(equal_area(100.0, 100.0), Vec3::Z)
        );
        // Beyond an edge, directions continue on the other half of the same edge.
        for x in [20.0, 90.0, 150.0] {
            assert!(equal_area(x, -0.01).distance(equal_area(x, 0.01)) < 1e-2, "{x}");
            assert!(equal_area(x, 100.01).distance(equal_area(x, 99.99)) < 1e-2, "{x}");
        }
        assert!(
            (camera(SphericalMapping::EqualArea).depth(vec3(2.0, -1.0, 2.0), 0.0) - 3.0).abs()
                < 1e-6
        );
    }

    #[test]
    fn moving_camera_has_a_ray_for_each_time() {
        let start = DAffine3::IDENTITY;
        let end = DAffine3::from_translation(dvec3(0.0, 0.0, 8.0));
        let shutter = [1.0, 3.0];
        let motion = Motion::new([start, end], [0.0, 4.0], shutter).unwrap();
        let c = camera(Projection::Perspective { fov: 90.0 }, 0.0)
            .with_shutter(shutter)
            .with_motion(motion);
        assert_eq!([0.0, 0.5].map(|u| c.time(u)), [1.0, 2.0]);
        let ray = c.ray(vec2(100.0, 50.0), Vec2::ZERO, 2.0).unwrap().ray;
        assert!(ray.time == 2.0 && (ray.o - vec3(0.0, 0.0, 4.0)).length() < 1e-6, "{ray:?}");
        assert_eq!(c.depth(vec3(1.0, 0.0, 10.0), 3.0), 4.0);
    }
}
