//! Queries of ray packets: the nearest hit of each ray ([`NearestHits`]), or whether there is any
//! ([`AnyHits`]).
//!
//! Hits with triangles outside instances are collected in one lane for each ray. Shapes that are
//! tested one at a time, and instances, follow with [`PacketQuery::report_hit`].

use super::packet::{FloatPacket, MAX_PACKET_RAYS, PacketHits, take_bit};
use crate::geometry::Hit;
use fearless_simd::{Select, Simd, SimdBase, SimdMask, mask32x16, u32x16};
use lightbound_math::Ray;

/// A hit of one ray of a packet with a triangle.
pub(super) struct LaneHit {
    pub(super) lane: usize,
    pub(super) t: f32,
    pub(super) u: f32,
    pub(super) v: f32,
    /// Primitive and element.
    pub(super) triangle: [u32; 2],
}

/// A query for a batch of rays, which are traced packet by packet.
pub(super) trait PacketQuery {
    /// Reports hits of a packet with a triangle. Stores the new ends of these rays' segments in
    /// `end`; an end before a ray's start terminates the ray.
    fn report_packet<S: Simd>(
        &mut self,
        simd: S,
        hits: &PacketHits<S>,
        triangle: [u32; 2],
        end: &mut FloatPacket<S>,
    );

    /// Reports a hit of one ray of a packet. Returns the new end of the ray's segment.
    fn report_lane(&mut self, hit: &LaneHit) -> f32;

    /// Stores the hits of a packet with triangles, and begins the next one. `indices` are the
    /// indices of its rays.
    fn end_packet(&mut self, rays: &[Ray; MAX_PACKET_RAYS], indices: &[u32]);

    /// Reports a hit of a single ray: one without a packet, or after the end of its packet. Returns
    /// the new end of the ray's segment.
    fn report_hit(&mut self, ray: usize, hit: Hit) -> f32;
}

/// Replaces `nearest` if `hit` is nearer, or equally near with lower indices. Returns the ray
/// parameter of the nearest hit.
#[inline(always)]
pub(super) fn update_nearest(hit: Hit, nearest: &mut Hit) -> f32 {
    let rank = |hit: &Hit| (hit.instance, hit.primitive, hit.element);
    if hit.t < nearest.t || hit.t == nearest.t && rank(&hit) < rank(nearest) {
        *nearest = hit;
    }
    nearest.t
}

/// The nearest hit of each ray.
pub(super) struct NearestHits<'a> {
    /// A hit for each ray; misses at first.
    hits: &'a mut [Hit],
    packet: PacketNearest,
}

/// The nearest triangle of each ray of a packet.
#[repr(align(64))]
struct PacketNearest {
    t: [f32; MAX_PACKET_RAYS],
    u: [f32; MAX_PACKET_RAYS],
    v: [f32; MAX_PACKET_RAYS],
    /// Primitives and elements; [`Hit::NONE`] for misses.
    triangle: [[u32; MAX_PACKET_RAYS]; 2],
}

impl PacketNearest {
    const MISSES: PacketNearest = PacketNearest {
        t: [f32::INFINITY; MAX_PACKET_RAYS],
        u: [0.0; MAX_PACKET_RAYS],
        v: [0.0; MAX_PACKET_RAYS],
        triangle: [[Hit::NONE; MAX_PACKET_RAYS]; 2],
    };
}

impl<'a> NearestHits<'a> {
    pub(super) fn new(hits: &'a mut [Hit]) -> NearestHits<'a> {
        NearestHits { hits, packet: PacketNearest::MISSES }
    }
}

impl PacketQuery for NearestHits<'_> {
    #[inline(always)]
    fn report_packet<S: Simd>(
        &mut self,
        simd: S,
        hits: &PacketHits<S>,
        triangle: [u32; 2],
        end: &mut FloatPacket<S>,
    ) {
        let PacketNearest { t, u, v, triangle: nearest } = &mut self.packet;
        let load = |column: &[f32; MAX_PACKET_RAYS]| FloatPacket::from_slice(simd, column);
        let [primitive, element] =
            nearest.each_ref().map(|column| u32x16::from_slice(simd, column));
        let [new_primitive, new_element] = triangle.map(|index| u32x16::splat(simd, index));
        let has_lower_index = new_primitive.simd_lt(primitive)
            | (new_primitive.simd_eq(primitive) & new_element.simd_lt(element));
        let old_t = load(t);
        let is_nearer = hits.t.simd_lt(old_t) | (hits.t.simd_eq(old_t) & has_lower_index);
        let mask = mask32x16::from_bitmask(simd, hits.mask.into());
        let nearer = is_nearer & mask;
        let new_t = nearer.select(hits.t, old_t);
        *t = new_t.into();
        *u = nearer.select(hits.u, load(u)).into();
        *v = nearer.select(hits.v, load(v)).into();
        *nearest = [
            nearer.select(new_primitive, primitive).into(),
            nearer.select(new_element, element).into(),
        ];
        *end = mask.select(new_t, *end);
    }

    #[inline(always)]
    fn report_lane(&mut self, hit: &LaneHit) -> f32 {
        let (packet, lane) = (&mut self.packet, hit.lane);
        let nearest = packet.triangle.map(|column| column[lane]);
        if hit.t < packet.t[lane] || hit.t == packet.t[lane] && hit.triangle < nearest {
            (packet.t[lane], packet.u[lane], packet.v[lane]) = (hit.t, hit.u, hit.v);
            [packet.triangle[0][lane], packet.triangle[1][lane]] = hit.triangle;
        }
        packet.t[lane]
    }

    #[inline(always)]
    fn end_packet(&mut self, rays: &[Ray; MAX_PACKET_RAYS], indices: &[u32]) {
        let PacketNearest { t, u, v, triangle: [primitive, element] } = &self.packet;
        for (lane, &ray) in indices.iter().enumerate() {
            if primitive[lane] != Hit::NONE {
                self.hits[ray as usize] = Hit {
                    t: t[lane],
                    u: u[lane],
                    v: v[lane],
                    w: 0.0,
                    primitive: primitive[lane],
                    element: element[lane],
                    instance: Hit::NONE,
                    time: rays[lane].time,
                };
            }
        }
        self.packet = PacketNearest::MISSES;
    }

    #[inline(always)]
    fn report_hit(&mut self, ray: usize, hit: Hit) -> f32 {
        update_nearest(hit, &mut self.hits[ray])
    }
}

/// Whether each ray hits anything.
pub(super) struct AnyHits<'a> {
    /// A flag for each ray, `false` at first.
    blocked: &'a mut [bool],
    /// A bit for each ray of the packet.
    mask: u32,
}

impl<'a> AnyHits<'a> {
    pub(super) fn new(blocked: &'a mut [bool]) -> AnyHits<'a> {
        AnyHits { blocked, mask: 0 }
    }
}

impl PacketQuery for AnyHits<'_> {
    #[inline(always)]
    fn report_packet<S: Simd>(
        &mut self,
        simd: S,
        hits: &PacketHits<S>,
        _: [u32; 2],
        end: &mut FloatPacket<S>,
    ) {
        self.mask |= hits.mask;
        let mask = mask32x16::from_bitmask(simd, hits.mask.into());
        *end = mask.select(FloatPacket::splat(simd, f32::NEG_INFINITY), *end);
    }

    #[inline(always)]
    fn report_lane(&mut self, hit: &LaneHit) -> f32 {
        self.mask |= 1 << hit.lane;
        f32::NEG_INFINITY
    }

    #[inline(always)]
    fn end_packet(&mut self, _: &[Ray; MAX_PACKET_RAYS], indices: &[u32]) {
        while let Some(lane) = take_bit(&mut self.mask) {
            self.blocked[indices[lane] as usize] = true;
        }
    }

    #[inline(always)]
    fn report_hit(&mut self, ray: usize, _: Hit) -> f32 {
        self.blocked[ray] = true;
        f32::NEG_INFINITY
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fearless_simd::{Level, dispatch};
    use lightbound_math::Vec3;
    use lightbound_math::sampling::hash;

    /// A random hit with few different distances and triangles, so that many are equal.
    fn random_hit(seed: u32) -> Hit {
        let random = |k: u32, n: u32| hash(seed, k) % n;
        Hit {
            t: random(0, 4) as f32,
            u: random(1, 1000) as f32,
            v: random(2, 1000) as f32,
            primitive: random(3, 3),
            element: random(4, 3),
            ..Hit::MISS
        }
    }

    #[inline(always)]
    fn check_queries<S: Simd>(simd: S) {
        let rays = [Ray::new(Vec3::ZERO, Vec3::X); MAX_PACKET_RAYS];
        let indices: Vec<u32> = (0..13).map(|lane| 12 - lane).collect();
        let (mut hits, mut blocked) = (vec![Hit::MISS; 13], vec![false; 13]);
        let (mut nearest, mut any) = (NearestHits::new(&mut hits), AnyHits::new(&mut blocked));
        let far = FloatPacket::splat(simd, f32::INFINITY);
        let (mut end, mut any_end) = (far, far);
        let mut expected = [Hit::MISS; 13];
        for step in 0..40 {
            // All hits of a report are with one triangle. Lane 5 has none.
            let lane_hit = |lane: u32| {
                let Hit { primitive, element, .. } = random_hit(step);
                Hit { primitive, element, time: 0.0, ..random_hit(hash(step, lane)) }
            };
            let mask = hash(step, 77) & 0x1fff & !(1 << 5);
            let reported = |lane: &usize| mask >> lane & 1 != 0;
            let all: [Hit; MAX_PACKET_RAYS] = std::array::from_fn(|lane| lane_hit(lane as u32));
            if step % 2 == 0 {
                let column =
                    |f: fn(&Hit) -> f32| FloatPacket::from_slice(simd, &all.each_ref().map(f));
                let (t, u, v) = (column(|hit| hit.t), column(|hit| hit.u), column(|hit| hit.v));
                let hits = PacketHits { mask, t, u, v };
                let triangle = [all[0].primitive, all[0].element];
                nearest.report_packet(simd, &hits, triangle, &mut end);
                any.report_packet(simd, &hits, triangle, &mut any_end);
            } else {
                for lane in (0..13).filter(reported) {
                    let Hit { t, u, v, primitive, element, .. } = all[lane];
                    let hit = LaneHit { lane, t, u, v, triangle: [primitive, element] };
                    end[lane] = nearest.report_lane(&hit);
                    any_end[lane] = any.report_lane(&hit);
                }
            }
            for lane in (0..13).filter(reported) {
                assert_eq!(end[lane], update_nearest(all[lane], &mut expected[12 - lane]));
            }
        }
        assert_eq!(end[5], f32::INFINITY);
        let is_ended = |lane: usize| any_end[lane] == f32::NEG_INFINITY;
        assert!((0..13).all(|lane| is_ended(lane) == (lane != 5)));
        nearest.end_packet(&rays, &indices);
        any.end_packet(&rays, &indices);
        // The next packet has no hits.
        nearest.end_packet(&rays, &[12; 13]);
        any.end_packet(&rays, &[7; 13]);
        assert_eq!(hits, expected);
        assert!((0..13).all(|ray| blocked[ray] == (ray != 7)));
    }

    #[test]
    fn packets_find_the_nearest_hits_and_any_hits() {
        dispatch!(Level::new(), simd => check_queries(simd));
    }
}
