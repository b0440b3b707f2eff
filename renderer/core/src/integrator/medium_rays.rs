//! Rays through participating media and the interfaces between them.

use crate::geometry::Hit;
use crate::material::Material;
use crate::medium::{MediumInterface, Tracker, Tracking, TrackingCounts, Walk};
use crate::scene::Scene;
use lightbound_math::{Ray, Vec3};

/// Greatest distance along the ray between surfaces that coincide except for rounding, relative to
/// the ray parameter.
const MAX_RELATIVE_GAP: f32 = 1e-3;

/// Tracks rays through media. Buffers are reused.
#[derive(Default)]
pub(super) struct MediumRays<'a> {
    tracker: Tracker<'a>,
    has_interfaces: bool,
    /// Rays on their way, and those that have arrived.
    walks: Vec<Walk>,
    arrived: Vec<Walk>,
    /// Rays that have crossed an interface, and their next hits.
    rays: Vec<Ray>,
    hits: Vec<Hit>,
    /// The media in front of these interfaces.
    media_before: Vec<u32>,
    /// The hits of shadow rays.
    shadow_hits: Vec<Hit>,
}

impl<'a> MediumRays<'a> {
    pub fn new(scene: &Scene) -> MediumRays<'a> {
        MediumRays { has_interfaces: has_interfaces(scene), ..MediumRays::default() }
    }

    /// Returns and resets the counters of tracking.
    pub fn take_counts(&mut self) -> TrackingCounts {
        self.tracker.take_counts()
    }

    /// Tracks rays, through all interfaces, until they collide, reach a surface, or have value 0.
    /// `hits` are the first hits, and become the last ones. Calls `visit` with each walk before it
    /// is tracked through a medium. Returns the walks of all rays, in no particular order.
    pub fn track(
        &mut self,
        scene: &'a Scene,
        tracking: Tracking,
        walks: impl IntoIterator<Item = Walk>,
        rays: &mut [Ray],
        hits: &mut [Hit],
        mut visit: impl FnMut(&Walk),
    ) -> &[Walk] {
        self.walks.clear();
        self.walks.extend(walks);
        self.arrived.clear();
        while !self.walks.is_empty() {
            for walk in &mut self.walks {
                let (ray, hit) = (&rays[walk.index as usize], &hits[walk.index as usize]);
                walk.segment = [ray.tmin, hit.t.min(ray.tmax)];
            }
            self.walks.sort_by_key(|walk| walk.medium);
            for walks in self.walks.chunk_by_mut(|a, b| a.medium == b.medium) {
                if let Some(medium) = scene.media.get(walks[0].medium as usize) {
                    walks.iter().for_each(&mut visit);
                    self.tracker.track(medium, tracking, walks, |ray| rays[ray as usize]);
                }
            }
            self.rays.clear();
            self.media_before.clear();
            let (arrived, crossing) = (&mut self.arrived, &mut self.rays);
            let media_before = &mut self.media_before;
            self.walks.retain_mut(|walk| {
                let (ray, hit) = (&mut rays[walk.index as usize], &hits[walk.index as usize]);
                let ends = walk.collision.is_some() || walk.weights.value == Vec3::ZERO;
                if ends || !is_interface(scene, hit) {
                    arrived.push(*walk);
                    return false;
                }
                media_before.push(walk.medium);
                walk.medium = medium_beyond(scene, hit, ray.d, walk.medium);
                ray.tmin = hit.t.next_up();
                crossing.push(*ray);
                true
            });
            if !self.walks.is_empty() {
                scene.accel.intersect_batch(&self.rays, &mut self.hits);
                let crossings = self.rays.iter().zip(&self.hits).zip(&self.media_before);
                for (walk, ((ray, hit), &medium)) in self.walks.iter_mut().zip(crossings) {
                    hits[walk.index as usize] = *hit;
                    if is_at_start(scene, ray, hit) {
                        walk.medium = medium;
                    }
                }
            }
        }
        &self.arrived
    }

    /// Estimates the transmittance of shadow rays. `start` returns the walk of a ray at its start.
    /// Sets whether each ray is blocked by a surface or has transmittance 0. Returns the walks of
    /// the rays that no opaque surface blocks, in no particular order.
    pub fn track_shadow_rays(
        &mut self,
        scene: &'a Scene,
        rays: &mut [Ray],
        blocked: &mut Vec<bool>,
        start: impl Fn(u32) -> Walk,
    ) -> &[Walk] {
        let mut hits = std::mem::take(&mut self.shadow_hits);
        if self.has_interfaces {
            scene.accel.intersect_batch(rays, &mut hits);
            blocked.clear();
            blocked.extend(hits.iter().map(|hit| !hit.is_miss() && !is_interface(scene, hit)));
        } else {
            scene.accel.occluded_batch(rays, blocked);
            hits.clear();
            hits.resize(rays.len(), Hit::MISS);
        }
        let walks = (0..).zip(&*blocked).filter(|(_, blocked)| !**blocked);
        let walks = walks.map(|(ray, _)| start(ray));
        self.track(scene, Tracking::Ratio, walks, rays, &mut hits, |_| ());
        for Walk { index, weights, .. } in &self.arrived {
            let ray = *index as usize;
            blocked[ray] = !hits[ray].is_miss() || weights.value == Vec3::ZERO;
        }
        self.shadow_hits = hits;
        &self.arrived
    }
}

/// Returns whether rays pass through media or interfaces between them.
pub(super) fn has_media(scene: &Scene) -> bool {
    !scene.media.is_empty() || has_interfaces(scene)
}

/// Returns whether any surface separates media.
pub(super) fn separates_media(scene: &Scene) -> bool {
    scene.geometry.primitives.iter().any(|primitive| primitive.media.is_some())
}

fn has_interfaces(scene: &Scene) -> bool {
    scene.materials.iter().any(|material| matches!(material, Material::Interface))
}

/// Returns whether a hit is an interface between media.
pub(super) fn is_interface(scene: &Scene, hit: &Hit) -> bool {
    !hit.is_miss() && {
        let primitive = &scene.geometry.primitives[hit.primitive as usize];
        matches!(scene.materials[primitive.material as usize], Material::Interface)
    }
}

/// Returns whether a hit is on a surface that coincides, except for rounding, with the interface at
/// the start of the ray. Rays that leave the surface start in front of the interface.
fn is_at_start(scene: &Scene, ray: &Ray, hit: &Hit) -> bool {
    let distance = hit.t - ray.tmin;
    distance <= MAX_RELATIVE_GAP * ray.tmin && !hit.is_miss() && !is_interface(scene, hit) && {
        let surface = scene.geometry.surface(hit, ray.d);
        distance * surface.ng.dot(ray.d).abs() <= surface.offset
    }
}

/// Returns the medium on the side of a surface to which `d` points, as in [`Walk::medium`]; `medium`
/// if the surface does not separate media.
pub(super) fn medium_beyond(scene: &Scene, hit: &Hit, d: Vec3, medium: u32) -> u32 {
    match &scene.geometry.primitives[hit.primitive as usize].media {
        Some(media) => medium_index(media.on_side(scene.geometry.geometric_normal(hit, d), d)),
        None => medium,
    }
}

/// Returns the medium at the end of a ray that passes all surfaces, as in [`Walk::medium`]. `medium`
/// is that at its origin.
pub(super) fn medium_at_end(scene: &Scene, mut ray: Ray, mut medium: u32) -> u32 {
    loop {
        let hit = scene.accel.intersect(&ray);
        if hit.is_miss() {
            return medium;
        }
        medium = medium_beyond(scene, &hit, ray.d, medium);
        ray.tmin = hit.t.next_up();
    }
}

/// Returns the media on the sides of a surface; `medium` is that around the ray, as in
/// [`Walk::medium`].
pub(super) fn media_around(scene: &Scene, hit: &Hit, medium: u32) -> MediumInterface {
    let around = || {
        let medium = (medium != Walk::NO_MEDIUM).then_some(medium);
        MediumInterface { inside: medium, outside: medium }
    };
    scene.geometry.primitives[hit.primitive as usize].media.unwrap_or_else(around)
}

/// Converts an optional index to that of [`Walk::medium`].
pub(super) fn medium_index(medium: Option<u32>) -> u32 {
    medium.unwrap_or(Walk::NO_MEDIUM)
}

/// Returns the mean over the channels.
pub(super) fn mean(v: Vec3) -> f32 {
    v.element_sum() * (1.0 / 3.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SceneBuilder;
    use crate::camera::Camera;
    use crate::geometry::{Shape, Sphere};
    use crate::material::library;
    use crate::medium::{Homogeneous, MediumPoint};
    use lightbound_math::{Transform, vec3};

    /// Concentric spheres around the origin: medium 0 within radius 1, an opaque surface of radius
    /// 0.5 that separates no media, and medium 1 outside of radius 1.
    fn spheres() -> Scene {
        let mut builder = SceneBuilder::new();
        let text = library::find("henyey_greenstein").expect("the library has it").text;
        let media = ["inside", "outside"].map(|name| {
            let field = Box::new(Homogeneous(MediumPoint::default()));
            let phase = ("henyey_greenstein.wgsl", text, &[("g", &[0.0][..])][..]);
            builder.add_medium(name, Transform::IDENTITY, field, phase).unwrap()
        });
        let sphere = |radius| Shape::Sphere(Sphere::full(&Transform::IDENTITY, radius).unwrap());
        builder.add_medium_boundary(sphere(1.0), None, Some(media[0]), Some(media[1]));
        let text = library::find("diffuse").expect("the library has it").text;
        let material = builder.add_shader("diffuse.wgsl", text, &[("kd", &[0.5; 3])]).unwrap();
        builder.add_shape(sphere(0.5), material);
        let camera = Camera::look_at(vec3(0.0, 0.0, -3.0), Vec3::ZERO, Vec3::Y, 1.0, (2, 2));
        builder.build(camera).unwrap()
    }

    #[test]
    fn media_at_the_ends_of_rays_follow_from_the_boundaries_on_their_way() {
        let scene = spheres();
        let at_end = |ray: Ray| medium_at_end(&scene, ray, 7);
        assert_eq!(at_end(Ray::new(0.7 * Vec3::Z, Vec3::Z)), 1);
        assert_eq!(at_end(Ray::new(0.7 * Vec3::Z, -Vec3::Z)), 1, "behind the opaque sphere");
        assert_eq!(at_end(Ray::new(1.5 * Vec3::Z, Vec3::Z)), 7, "no boundary");
        let segment = |from: f32, to: f32| at_end(Ray::segment(from * Vec3::Z, to * Vec3::Z));
        assert_eq!(segment(-3.0, -0.7), 0);
        assert_eq!(segment(-3.0, 0.7), 0, "behind the opaque sphere");
        assert_eq!(segment(-3.0, 1.5), 1);
        assert_eq!(segment(-3.0, -1.5), 7, "no boundary");
    }
}
