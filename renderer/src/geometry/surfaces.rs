//! Surfaces at many hits, in vectors of the machine.
//!
//! What the vertices of triangles carry is gathered hit by hit into columns. The loop over the columns calls the functions that a hit alone calls, is
//! compiled for vectors, and so gives the same bits.

use super::mesh::{Corners, DEFAULT_UVS, NO_NORMALS};
use super::{Geometry, Hit, Mesh, Shape, Surface};
use crate::math::{Columns, Frame, LANES, Ray, Vec3};
use fearless_simd::{Level, Simd, dispatch};

/// Where a path arrives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrival {
    /// The surface there.
    pub surface: Surface,
    /// To where the ray came from, in the shading frame, unit as shaders want it ([`Frame::local_direction`]).
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
    pub fn arrivals<'a>(&self, hits: impl Iterator<Item = (&'a Hit, &'a Ray)>, arrivals: &mut Vec<Arrival>) {
        arrivals.clear();
        let (mut gathered, mut computed) = (Gathered::EMPTY, Computed::EMPTY);
        let level = Level::new();
        let mut hits = hits.peekable();
        while hits.peek().is_some() {
            let mut others = 0u32;
            let mut met = [(Hit::MISS, Vec3::ZERO); LANES];
            let mut count = 0;
            for (lane, (hit, ray)) in hits.by_ref().take(LANES).enumerate() {
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
        Arrival::new(Surface::new(&corners.point(u, v, corners.plain_normal()), side), self.d.get(lane))
    }
}

/// Sets what the three vertices of a triangle carry.
#[inline(always)]
fn set_all<V: Into<[f32; N]>, const N: usize>(columns: &mut [Columns<N>; 3], lane: usize, values: [V; 3]) {
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
        let surface = Surface { p: self.p.get(lane), ng: self.ng.get(lane), frame, uv: self.uv.get(lane), offset };
        Arrival { surface, wo: self.wo.get(lane) }
    }
}

#[inline(always)]
fn compute<S: Simd>(_: S, gathered: &Gathered, computed: &mut Computed) {
    for lane in 0..LANES {
        computed.set(lane, gathered.arrival(lane));
    }
}
