//! A safe wrapper of Intel Embree 4 as an acceleration structure.
//!
//! Each group is an Embree scene in robust mode, and so is the world, which also contains the
//! instances. Meshes are triangle geometries (indices shared, 12 bytes copied per vertex); other
//! shapes, and meshes whose vertices move, are user geometries with callbacks to
//! [`Shape::intersect`](crate::geometry::Shape::intersect). Primitives with an opacity texture have
//! filter callbacks for the alpha test. Moving instances are traced by the built-in BVH, since Embree
//! interpolates transforms differently. Geometry ids are indices of primitives relative to the
//! group's first; in the world's scene, the ids of the instances follow.
//!
//! Batches are traced in packets of the largest native width if that pays off. With AVX-512,
//! packets of 16 with the coherent flag trace camera rays 2 to 4 times as fast as single rays, but
//! divergent rays half as fast. In small scenes, packets of divergent rays sorted by octant are
//! twice as fast as single rays. Any-hit queries are 1.1 to 3.5 times as fast in packets of 16
//! without the flag. Results of packets and of single rays are bit-identical; a test checks this.
//!
//! The library is loaded at run time, see [`library`]. Since 4.3 it writes one more word
//! (`instPrimID`) to each hit and each query context; [`RayPacket`] and [`QueryContext`] have room
//! for it.
//!
//! Where shapes with callbacks coincide, the one with the lowest indices is hit, as in the built-in
//! structure; of triangles, the last one that Embree tests.
//!
//! Robust mode is watertight at edges, but not quite at vertices: about one in a thousand rays
//! aimed exactly at a vertex misses.
//!
//! The unsafe code of this module is behind a safe interface: handles are released by their owners, callbacks access only data that outlives the query, and a panic in a
//! callback aborts instead of unwinding into C++.

#![allow(unsafe_code)]

mod callbacks;
mod device;
mod library;
mod packet;

use super::builtin::Builtin;
use super::{Accel, AccelError, is_traceable};
use crate::geometry::{Geometry, Hit};
use callbacks::QueryContext;
use device::{Device, SceneHandle};
use library::{Library, RTC_RAY_QUERY_FLAG_COHERENT, RTC_RAY_QUERY_FLAG_INCOHERENT, RTCBounds};
use lightbound_math::{Aabb, Ray, vec3};
use packet::RayPacket;
use std::sync::Arc;

/// Returns whether the library is found.
pub(super) fn is_available() -> bool {
    Library::get().is_ok()
}

/// Embree scenes over a [`Geometry`].
pub(super) struct Embree {
    // Fields are dropped in this order: scenes share buffers of the geometry, so they are released
    // before it and before the device.
    world: SceneHandle,
    _groups: Vec<SceneHandle>,
    device: Device,
    geometry: Arc<Geometry>,
    /// The instances that move, if there are any.
    moving: Option<Builtin>,
    /// Packet width for batches: 4, 8 or 16 rays.
    width: usize,
    /// Whether the scene has at most [`MAX_SMALL_SCENE_ELEMENTS`].
    is_small: bool,
}

// SAFETY: committed scenes are immutable and may be queried from any number of threads; all other
// fields are Sync.
unsafe impl Sync for Embree {}
// SAFETY: Embree's objects are not bound to threads.
unsafe impl Send for Embree {}

impl Embree {
    /// Builds all Embree scenes, with as many threads as the current rayon pool has.
    pub(super) fn new(geometry: Arc<Geometry>) -> Result<Embree, AccelError> {
        let device = Device::new(rayon::current_num_threads())?;
        let groups = geometry
            .groups
            .iter()
            .map(|range| device.scene(&geometry, range.clone(), &[]))
            .collect::<Result<Vec<_>, _>>()?;
        let world = device.scene(&geometry, geometry.world.clone(), &groups)?;
        let elements: u64 = geometry.primitives.iter().map(|p| u64::from(p.shape.len())).sum();
        let is_small = elements + geometry.instances.len() as u64 <= MAX_SMALL_SCENE_ELEMENTS;
        let width = device.width();
        let moving = (!geometry.moving_instances().is_empty())
            .then(|| Builtin::of_moving_instances(Arc::clone(&geometry)));
        Ok(Embree { world, _groups: groups, device, geometry, moving, width, is_small })
    }

    /// Finds the nearest hits; `hits` has one element per ray.
    fn intersect_packets<const N: usize>(&self, rays: &[Ray], hits: &mut [Hit]) {
        let mut packet = RayPacket::<N>::new();
        let mut context = QueryContext::new(&self.geometry, rays);
        let mut trace = |lanes: &[u32], hits: &mut [Hit]| {
            let valid = packet.load(rays, lanes);
            packet.intersect(
                &self.world,
                &valid,
                &mut context.arguments(RTC_RAY_QUERY_FLAG_COHERENT),
            );
            for (lane, &index) in lanes.iter().enumerate() {
                let time = rays[index as usize].time;
                hits[index as usize] = packet.hit(lane, &self.geometry, time);
            }
        };
        let mut incoherent = Vec::new();
        let order: Vec<u32> = (0..rays.len() as u32).collect();
        for lanes in order.chunks(N) {
            if are_coherent(rays, lanes) {
                trace(lanes, hits);
            } else {
                incoherent.extend_from_slice(lanes);
            }
        }
        if self.is_small {
            for lanes in sort_by_octant(rays, &incoherent).chunks(N) {
                trace(lanes, hits);
            }
        } else {
            for index in incoherent {
                hits[index as usize] = self.intersect_static(&rays[index as usize]);
            }
        }
    }

    /// Determines which rays are blocked; `blocked` has one element per ray.
    fn occluded_packets<const N: usize>(&self, rays: &[Ray], blocked: &mut [bool]) {
        let mut packet = RayPacket::<N>::new();
        let mut context = QueryContext::new(&self.geometry, rays);
        let order: Vec<u32> = (0..rays.len() as u32).collect();
        for (lanes, blocked) in order.chunks(N).zip(blocked.chunks_mut(N)) {
            let valid = packet.load(rays, lanes);
            packet.occluded(
                &self.world,
                &valid,
                &mut context.arguments(RTC_RAY_QUERY_FLAG_INCOHERENT),
            );
            for (lane, blocked) in blocked.iter_mut().enumerate() {
                *blocked = valid.0[lane] != 0 && packet.tfar[lane] == f32::NEG_INFINITY;
            }
        }
    }
}

/// Maximum number of elements and instances of a small scene, in which packets are faster than
/// single rays even if the rays diverge.
const MAX_SMALL_SCENE_ELEMENTS: u64 = 1000;

/// Returns the instruction set that Embree selects, derived from its native packet width and the
/// CPU's features. Builds of Embree without AVX2 are not distinguished.
fn instruction_set(width: usize) -> &'static str {
    #[cfg(not(target_arch = "x86_64"))]
    return "neon";
    #[cfg(target_arch = "x86_64")]
    match width {
        16 => "avx512",
        8 if is_x86_feature_detected!("avx2") => "avx2",
        8 => "avx",
        _ => "sse",
    }
}

/// Sorts the indices of rays by the signs of the rays' directions.
fn sort_by_octant(rays: &[Ray], indices: &[u32]) -> Vec<u32> {
    let octant = |index: u32| {
        let bit = |x: f32| (x.to_bits() >> 31) as usize;
        let d = rays[index as usize].d;
        bit(d.x) | bit(d.y) << 1 | bit(d.z) << 2
    };
    let mut starts = [0; 9];
    for &index in indices {
        starts[octant(index) + 1] += 1;
    }
    for i in 1..9 {
        starts[i] += starts[i - 1];
    }
    let mut order = vec![0; indices.len()];
    for &index in indices {
        let next = &mut starts[octant(index)];
        order[*next] = index;
        *next += 1;
    }
    order
}

/// Returns whether all directions lie within 25° of the first one.
fn are_coherent(rays: &[Ray], lanes: &[u32]) -> bool {
    let first = rays[lanes[0] as usize].d;
    let min_cos2 = 0.82 * first.length_squared();
    lanes.iter().all(|&index| {
        let d = rays[index as usize].d;
        let cos = d.dot(first);
        cos > 0.0 && cos * cos >= min_cos2 * d.length_squared()
    })
}

impl Embree {
    /// Returns the nearest hit with a surface that does not move.
    fn intersect_static(&self, ray: &Ray) -> Hit {
        if !is_traceable(ray) {
            return Hit::MISS;
        }
        let rays = std::slice::from_ref(ray);
        let mut packet = RayPacket::<1>::new();
        let valid = packet.load(rays, &[0]);
        let mut context = QueryContext::new(&self.geometry, rays);
        packet.intersect(
            &self.world,
            &valid,
            &mut context.arguments(RTC_RAY_QUERY_FLAG_INCOHERENT),
        );
        packet.hit(0, &self.geometry, ray.time)
    }
}

impl Accel for Embree {
    fn intersect(&self, ray: &Ray) -> Hit {
        let hit = self.intersect_static(ray);
        self.moving.as_ref().map_or(hit, |moving| moving.nearest(ray, hit))
    }

    fn occluded(&self, ray: &Ray) -> bool {
        if !is_traceable(ray) {
            return false;
        }
        if self.moving.as_ref().is_some_and(|moving| moving.occluded(ray)) {
            return true;
        }
        let rays = std::slice::from_ref(ray);
        let mut packet = RayPacket::<1>::new();
        let valid = packet.load(rays, &[0]);
        let mut context = QueryContext::new(&self.geometry, rays);
        packet.occluded(&self.world, &valid, &mut context.arguments(RTC_RAY_QUERY_FLAG_INCOHERENT));
        packet.tfar[0] == f32::NEG_INFINITY
    }

    fn intersect_batch(&self, rays: &[Ray], hits: &mut Vec<Hit>) {
        hits.clear();
        hits.resize(rays.len(), Hit::MISS);
        match self.width {
            16 => self.intersect_packets::<16>(rays, hits),
            8 => self.intersect_packets::<8>(rays, hits),
            _ => self.intersect_packets::<4>(rays, hits),
        }
        if let Some(moving) = &self.moving {
            hits.iter_mut().zip(rays).for_each(|(hit, ray)| *hit = moving.nearest(ray, *hit));
        }
    }

    fn occluded_batch(&self, rays: &[Ray], blocked: &mut Vec<bool>) {
        blocked.clear();
        blocked.resize(rays.len(), false);
        match self.width {
            16 => self.occluded_packets::<16>(rays, blocked),
            8 => self.occluded_packets::<8>(rays, blocked),
            _ => self.occluded_packets::<4>(rays, blocked),
        }
        if let Some(moving) = &self.moving {
            blocked
                .iter_mut()
                .zip(rays)
                .for_each(|(blocked, ray)| *blocked |= moving.occluded(ray));
        }
    }

    fn bounds(&self) -> Aabb {
        let mut b = RTCBounds::default();
        // SAFETY: the scene is committed, and `b` is writable.
        unsafe { (self.world.library.get_scene_bounds)(self.world.handle, &mut b) };
        let [min, max] = [b.lower, b.upper].map(|[x, y, z, _]| vec3(x, y, z));
        let bounds = Aabb { min, max };
        let bounds = if bounds.is_empty() { Aabb::EMPTY } else { bounds };
        self.moving.as_ref().map_or(bounds, |moving| bounds.union(moving.bounds()))
    }

    fn memory_bytes(&self) -> usize {
        self.device.memory_bytes() + self.moving.as_ref().map_or(0, Builtin::memory_bytes)
    }

    fn name(&self) -> &'static str {
        "embree"
    }

    fn variant(&self) -> Option<String> {
        let [major, minor, patch] = self.device.version();
        let width = self.width;
        Some(format!("{major}.{minor}.{patch} {}", instruction_set(width)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{BilinearMesh, Mesh, Primitive, Shape};
    use lightbound_math::Vec3;
    use lightbound_math::sampling::{hash, unit_float};

    fn random_point(seed: u32) -> Vec3 {
        2.0 * Vec3::from_array([0, 1, 2].map(|axis| unit_float(hash(hash(3, seed), axis)))) - 1.0
    }

    fn random_triangles(n: u32) -> Vec<[Vec3; 3]> {
        (0..n)
            .map(|i| {
                [
                    random_point(3 * i),
                    random_point(3 * i) + 0.3 * random_point(3 * i + 1),
                    random_point(3 * i) + 0.3 * random_point(3 * i + 2),
                ]
            })
            .collect()
    }

    fn build_embree(triangles: &[[Vec3; 3]]) -> Embree {
        let indices = (0..triangles.len() as u32).map(|i| [3 * i, 3 * i + 1, 3 * i + 2]).collect();
        let mesh = Mesh::new(triangles.concat(), indices, Vec::new(), Vec::new()).unwrap();
        embree(vec![Shape::Mesh(mesh)])
    }

    /// Builds a scene of shapes without materials.
    fn embree(shapes: Vec<Shape>) -> Embree {
        let primitive = |shape| Primitive {
            shape,
            material: 0,
            first_light: None,
            alpha: None,
            flip: false,
            media: None,
        };
        let primitives: Vec<_> = shapes.into_iter().map(primitive).collect();
        let world = 0..primitives.len() as u32;
        Embree::new(Arc::new(Geometry { primitives, world, ..Geometry::default() })).unwrap()
    }

    fn rays(n: u32) -> Vec<Ray> {
        (0..n)
            .map(|i| Ray::new(1.5 * random_point(90_000 + 2 * i), random_point(90_001 + 2 * i)))
            .collect()
    }

    #[test]
    fn variant_has_the_version_and_the_instruction_set() {
        if !is_available() {
            return;
        }
        let variant = build_embree(&random_triangles(1)).variant().unwrap();
        let (version, set) = variant.split_once(' ').unwrap();
        assert!(version.starts_with("4.") && version.split('.').count() == 3, "{variant}");
        assert!(["sse", "avx", "avx2", "avx512"].contains(&set), "{variant}");
    }

    #[test]
    fn first_of_coincident_shapes_is_hit() {
        if !is_available() {
            return;
        }
        let squares = |size: f32| {
            let corners = [[-size, -size], [size, -size], [-size, size], [size, size]];
            let corners = corners.map(|[x, y]| vec3(x, y, 0.0)).to_vec();
            let patches = vec![[0, 1, 2, 3]; 2];
            Shape::Bilinear(BilinearMesh::new(corners, patches, Vec::new(), Vec::new()).unwrap())
        };
        let directed = |i| Ray::new(0.5 * random_point(i) - 2.0 * Vec3::Z, Vec3::Z);
        let rays: Vec<Ray> = (0..64).map(directed).collect();
        for sizes in [[2.0, 1.0, 4.0, 1.0], [1.0, 4.0, 1.0, 2.0], [4.0, 2.0, 1.0, 1.0]] {
            let accel = embree(sizes.map(squares).to_vec());
            let mut hits = Vec::new();
            accel.intersect_batch(&rays, &mut hits);
            hits.extend(rays.iter().map(|ray| accel.intersect(ray)));
            assert!(hits.iter().all(|hit| (hit.primitive, hit.element) == (0, 0)));
        }
    }

    #[test]
    fn hits_are_independent_of_other_rays_in_the_batch() {
        if !is_available() {
            return;
        }
        for n in [40, 5000] {
            let accel = build_embree(&random_triangles(n));
            let mut rays = rays(3000);
            rays.sort_by(|a, b| a.d.x.total_cmp(&b.d.x));
            let (mut forward, mut backward) = (Vec::new(), Vec::new());
            accel.intersect_batch(&rays, &mut forward);
            let reversed: Vec<Ray> = rays.iter().rev().skip(5).copied().collect();
            accel.intersect_batch(&reversed, &mut backward);
            let single: Vec<Hit> = rays.iter().map(|r| accel.intersect(r)).collect();
            assert!(single.iter().filter(|hit| !hit.is_miss()).count() > 30);
            assert_eq!(forward, single);
            backward.reverse();
            assert_eq!(backward, single[..backward.len()]);
        }
    }
}
