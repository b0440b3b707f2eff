//! Full disks as lights: sampling of a single light.

use super::area::{AreaLight, EmitterSample, SurfaceEmission};
use super::area_light_columns::ColumnEmitter;
use glam::DVec3;
use lightbound_math::sampling::warp::uniform_disk;
use lightbound_math::{COLUMN_LEN, Column, Columns, Vec2, Vec3};

/// A disk or an ellipse in render space. Positions are computed in double precision, like those of
/// rays that hit it.
#[derive(Clone, Copy, Debug)]
pub(super) struct DiskLight {
    /// The centre, and the vectors to the rim.
    pub frame: [DVec3; 3],
    /// Unit normal of the front.
    pub n: Vec3,
    /// Reciprocal of the area, m⁻².
    pub inverse_area: f32,
}

impl DiskLight {
    /// Maps `u` in the unit square to a position, uniformly by area. Also returns the normal, and the
    /// density per m².
    #[inline(always)]
    pub fn map(&self, u: Vec2) -> (Vec3, Vec3, f32) {
        let (d, [center, x, y]) = (uniform_disk(u).as_dvec2(), self.frame);
        ((center + d.x * x + d.y * y).as_vec3(), self.n, self.inverse_area)
    }
}

/// The disks of a group of lanes.
#[derive(Default)]
pub(super) struct DiskColumns {
    frame: [[[f64; COLUMN_LEN]; 3]; 3],
    n: Columns<3>,
    inverse_area: Column,
}

impl ColumnEmitter for DiskLight {
    type Columns = DiskColumns;

    #[inline]
    fn find(light: &AreaLight, front: Option<bool>) -> Option<(&DiskLight, SurfaceEmission)> {
        light.disk(front)
    }

    #[inline]
    fn set(&self, lane: usize, columns: &mut DiskColumns) {
        for (columns, v) in columns.frame.iter_mut().zip(self.frame) {
            columns.iter_mut().zip(v.to_array()).for_each(|(column, x)| column[lane] = x);
        }
        columns.n.set(lane, self.n);
        columns.inverse_area[lane] = self.inverse_area;
    }

    #[inline(always)]
    fn get(columns: &DiskColumns, lane: usize) -> DiskLight {
        let vector = |[x, y, z]: &[[f64; COLUMN_LEN]; 3]| DVec3::new(x[lane], y[lane], z[lane]);
        let [center, x, y] = &columns.frame;
        DiskLight {
            frame: [vector(center), vector(x), vector(y)],
            n: columns.n.get(lane),
            inverse_area: columns.inverse_area[lane],
        }
    }

    #[inline(always)]
    fn sample(&self, from: Vec3, u: Vec2) -> EmitterSample {
        EmitterSample::seen_from(from, self.map(u))
    }
}
