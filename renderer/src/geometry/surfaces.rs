//! Surfaces at many hits, in vectors of the machine.
//!
//! What the vertices of triangles carry is gathered hit by hit into columns. The loop over the
//! columns calls the functions that a hit alone calls, is compiled for vectors, and so gives the
//! same bits.

use super::mesh::{Corners, DEFAULT_UVS, NO_NORMALS};
use super::{Geometry, Hit, Mesh, Shape, Surface};
use crate::math::{COLUMN, Columns, Frame, Ray, Vec3};
use fearless_simd::{Level, Simd, dispatch};

/// Where a path arrives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrival {
    /// The surface there.
    pub surface: Surface,
    /// To where the ray came from, in the shading frame, unit as shaders want it
    /// ([`Frame::local_direction`]).
    pub wo: Vec3,
}

/// What triangles carry, where they are met, and from where.
struct Gathered {
    p: [Columns<3>; 3],
    n: [Columns<3>; 3],
    uv: [Columns<2>; 3],
    /// Whether any normals were set, or texture coordinates.
    smooth: bool,
    mapped: bool,
    /// Of the triangle, and of the primitive.
    sides: Columns<2>,
    at: Columns<2>,
    d: Columns<3>,
}

/// Numbers of arrivals.
struct Computed {
    p: Columns<3>,
    ng: Columns<3>,
    t: Columns<3>,
    b: Columns<3>,
    n: Columns<3>,
    uv: Columns<2>,
    offset: Columns<1>,
    wo: Columns<3>,
}

impl Arrival {
    #[inline(always)]
    fn new(surface: Surface, ray_d: Vec3) -> Arrival {
        Arrival { surface, wo: surface.frame.local_direction(-ray_d) }
    }
}

impl Geometry {
    /// The surface at each hit of a ray, none of them a miss; `arrivals` is cleared first.
    pub fn arrivals<'a>(
        &self,
        hits: impl Iterator<Item = (&'a Hit, &'a Ray)>,
        arrivals: &mut Vec<Arrival>,
    ) {
        arrivals.clear();
        let (mut gathered, mut computed) = (Gathered::EMPTY, Computed::EMPTY);
        let level = Level::new();
        let mut hits = hits.peekable();
        while hits.peek().is_some() {
            let mut others = 0u32;
            let mut met = [(Hit::MISS, Vec3::ZERO); COLUMN];
            let mut count = 0;
            for (lane, (hit, ray)) in hits.by_ref().take(COLUMN).enumerate() {
                met[lane] = (*hit, ray.d);
                count = lane + 1;
                let primitive = &self.primitives[hit.primitive as usize];
                match &primitive.shape {
                    Shape::Mesh(mesh) if hit.instance == Hit::NONE => {
                        gathered.set(lane, mesh, hit, primitive.side(), ray.d);
                    }
                    _ => others |= 1 << lane,
                }
            }
            dispatch!(level, simd => compute(simd, &gathered, &mut computed));
            for (lane, (hit, d)) in met[..count].iter().enumerate() {
                let arrival = computed.get(lane);
                let is_other = others >> lane & 1 != 0 || arrival.surface.ng.x.is_nan();
                arrivals.push(if is_other { Arrival::new(self.surface(hit), *d) } else { arrival });
            }
        }
    }
}

impl Gathered {
    const EMPTY: Gathered = Gathered {
        p: [Columns::ZERO; 3],
        n: [Columns::splat(NO_NORMALS[0].to_array()); 3],
        uv: [
            Columns::splat(DEFAULT_UVS[0].to_array()),
            Columns::splat(DEFAULT_UVS[1].to_array()),
            Columns::splat(DEFAULT_UVS[2].to_array()),
        ],
        smooth: false,
        mapped: false,
        sides: Columns::ZERO,
        at: Columns::ZERO,
        d: Columns::ZERO,
    };

    #[inline(always)]
    fn set(&mut self, lane: usize, mesh: &Mesh, hit: &Hit, side: f32, d: Vec3) {
        set_all(&mut self.p, lane, mesh.vertices(hit.element));
        let (n, uv) = (mesh.vertex_normals(hit.element), mesh.vertex_uvs(hit.element));
        self.smooth |= n.is_some();
        if self.smooth {
            set_all(&mut self.n, lane, n.unwrap_or(NO_NORMALS));
        }
        self.mapped |= uv.is_some();
        if self.mapped {
            set_all(&mut self.uv, lane, uv.unwrap_or(DEFAULT_UVS));
        }
        self.sides.set(lane, [mesh.winding(), side]);
        self.at.set(lane, [hit.u, hit.v]);
        self.d.set(lane, d);
    }

    #[inline(always)]
    fn arrival(&self, lane: usize) -> Arrival {
        let [winding, side]: [f32; 2] = self.sides.get(lane);
        let corners = Corners {
            p: [self.p[0].get(lane), self.p[1].get(lane), self.p[2].get(lane)],
            n: [self.n[0].get(lane), self.n[1].get(lane), self.n[2].get(lane)],
            uv: [self.uv[0].get(lane), self.uv[1].get(lane), self.uv[2].get(lane)],
            winding,
        };
        let [u, v]: [f32; 2] = self.at.get(lane);
        Arrival::new(
            Surface::new(&corners.point(u, v, corners.plain_normal()), side),
            self.d.get(lane),
        )
    }
}

/// Sets what the three vertices of a triangle carry.
#[inline(always)]
fn set_all<V: Into<[f32; N]>, const N: usize>(
    columns: &mut [Columns<N>; 3],
    lane: usize,
    values: [V; 3],
) {
    columns.iter_mut().zip(values).for_each(|(columns, value)| columns.set(lane, value));
}

impl Computed {
    const EMPTY: Computed = Computed {
        p: Columns::ZERO,
        ng: Columns::ZERO,
        t: Columns::ZERO,
        b: Columns::ZERO,
        n: Columns::ZERO,
        uv: Columns::ZERO,
        offset: Columns::ZERO,
        wo: Columns::ZERO,
    };

    #[inline(always)]
    fn set(&mut self, lane: usize, Arrival { surface, wo }: Arrival) {
        self.p.set(lane, surface.p);
        self.ng.set(lane, surface.ng);
        self.t.set(lane, surface.frame.t);
        self.b.set(lane, surface.frame.b);
        self.n.set(lane, surface.frame.n);
        self.uv.set(lane, surface.uv);
        self.offset.set(lane, [surface.offset]);
        self.wo.set(lane, wo);
    }

    #[inline(always)]
    fn get(&self, lane: usize) -> Arrival {
        let [offset] = self.offset.get(lane);
        let frame = Frame { t: self.t.get(lane), b: self.b.get(lane), n: self.n.get(lane) };
        let surface = Surface {
            p: self.p.get(lane),
            ng: self.ng.get(lane),
            frame,
            uv: self.uv.get(lane),
            offset,
        };
        Arrival { surface, wo: self.wo.get(lane) }
    }
}

#[inline(always)]
fn compute<S: Simd>(_: S, gathered: &Gathered, computed: &mut Computed) {
    for lane in 0..COLUMN {
        computed.set(lane, gathered.arrival(lane));
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Instance, Primitive, Sphere};
    use super::*;
    use crate::math::{Transform, vec2, vec3};
    use crate::sampling::testing::points;
    use glam::{DAffine3, dvec3};

    /// A fan around the origin; of its triangles, some are too small for single precision.
    fn fan(normals: bool, uvs: bool) -> Mesh {
        let corners: Vec<Vec3> =
            points(40, 3).zip(points(40, 4)).map(|(a, b)| vec3(a.x, a.y, b.x) - 0.5).collect();
        let small = corners.iter().map(|p| *p * 1e-17);
        let p: Vec<Vec3> = corners.iter().copied().chain(small).collect();
        let n = corners
            .iter()
            .map(|p| vec3(p.y, 0.3, if p.x < -0.2 { 0.0 } else { p.z }))
            .cycle()
            .take(p.len());
        let uv = points(p.len() as u32, 5).map(|uv| if uv.x < 0.2 { vec2(0.5, 0.5) } else { uv });
        let triangles = (0..p.len() as u32 - 2).map(|i| [i, i + 1, i + 2]).collect();
        Mesh::new(
            p,
            triangles,
            if normals { n.collect() } else { vec![] },
            if uvs { uv.collect() } else { vec![] },
        )
        .unwrap()
    }

    #[test]
    fn surfaces_have_the_bits_that_they_have_one_by_one() {
        let mirror = Transform::new(DAffine3::from_scale(dvec3(-2.0, 1.0, 0.5))).unwrap();
        let meshes = [fan(false, false), fan(true, false), fan(false, true), fan(true, true)];
        let mirrored = meshes.iter().map(|mesh| mesh.clone().transformed(&mirror).unwrap());
        let shapes = meshes.iter().cloned().chain(mirrored).map(Shape::Mesh);
        let shapes = shapes.chain([Shape::Sphere(Sphere::full(&mirror, 1.0).unwrap())]);
        let primitives: Vec<_> = (0..)
            .zip(shapes)
            .map(|(i, shape)| Primitive {
                shape,
                material: 0,
                first_light: None,
                alpha: None,
                flip: i % 3 == 0,
            })
            .collect();
        let world = 0..primitives.len() as u32;
        let instances = vec![Instance { group: 0, transform: mirror }];
        let group = 0..1;
        let geometry =
            Geometry { primitives, world: world.clone(), groups: vec![group], instances };
        let kinds = world.map(|primitive| (primitive, Hit::NONE)).chain([(0, 0), (3, 0)]);
        let mut hits: Vec<(Hit, Ray)> = Vec::new();
        for (k, (primitive, instance)) in (0..).zip(kinds) {
            for (i, (at, d)) in (0..).zip(points(70, k).zip(points(70, k + 100))) {
                let element = i % geometry.primitives[primitive as usize].shape.len();
                let (u, v) = (at.x.min(at.y), (at.x - at.y).abs());
                let ray = Ray::new(Vec3::ZERO, vec3(d.x, d.y - 0.5, 0.4).normalize());
                hits.push((Hit { t: 1.0, u, v, primitive, element, instance }, ray));
            }
        }
        // Of one kind, and of all kinds mixed; some are not full vectors.
        let mut mixed = hits.clone();
        mixed.sort_by_key(|(hit, _)| (hit.u.to_bits(), hit.primitive));
        let mut arrivals = Vec::new();
        for hits in hits.chunks(70).chain([&hits[..0], &hits[..1], &mixed[..]]) {
            geometry.arrivals(hits.iter().map(|(hit, ray)| (hit, ray)), &mut arrivals);
            assert_eq!(arrivals.len(), hits.len());
            for (arrival, (hit, ray)) in arrivals.iter().zip(hits) {
                let surface = geometry.surface(hit);
                let wo = surface.frame.local_direction(-ray.d);
                assert_eq!((arrival.surface, arrival.wo), (surface, wo), "{hit:?}");
            }
        }
    }
}
