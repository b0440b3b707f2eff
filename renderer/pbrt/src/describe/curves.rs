//! Runs of curves: consecutive shapes of type `curve` that differ only in their points, normals and
//! widths, as in a file of hair. They share an entity, since a million entities with parameters of
//! their own would take more memory than the curves.

use super::ShapeEntity;
use crate::diagnostics::{Location, SceneError};
use crate::file::params::{Param, ParamSet};
use lightbound_math::Vec3;

/// The parameters of a curve that differ within a run.
#[derive(Clone, Copy, Debug)]
pub struct Curve<'a> {
    /// Control points.
    pub points: &'a [Vec3],
    /// Normals; empty if there are none.
    pub normals: &'a [Vec3],
    /// Widths at start and end.
    pub widths: [f32; 2],
}

/// The curves of a run after the first, which is the entity.
#[derive(Clone, Debug, Default)]
pub struct CurveRun {
    points: Vec<Vec3>,
    normals: Vec<Vec3>,
    strands: Vec<Strand>,
}

/// A curve of a run.
#[derive(Clone, Debug)]
struct Strand {
    location: Location,
    /// Numbers of points and normals.
    counts: [u32; 2],
    widths: [f32; 2],
}

/// Names of the parameters that differ within a run.
const NAMES: [&str; 5] = ["P", "N", "width", "width0", "width1"];

impl CurveRun {
    /// Returns the number of control points.
    pub fn point_count(&self) -> usize {
        self.points.len()
    }

    /// Iterates over the curves and their locations.
    pub fn iter(&self) -> impl Iterator<Item = (&Location, Curve<'_>)> {
        let (mut points, mut normals) = (&self.points[..], &self.normals[..]);
        self.strands.iter().map(move |strand| {
            let [point_count, normal_count] = strand.counts.map(|count| count as usize);
            let curve = Curve {
                points: points.split_off(..point_count).expect("counts add up"),
                normals: normals.split_off(..normal_count).expect("counts add up"),
                widths: strand.widths,
            };
            (&strand.location, curve)
        })
    }
}

/// Reads the parameters that differ within a run, with the defaults of pbrt-v4.
pub fn curve(params: &ParamSet) -> Result<Curve<'_>, SceneError> {
    let width = params.float("width")?.unwrap_or(1.0);
    let [start, end] = ["width0", "width1"].map(|name| params.float(name));
    Ok(Curve {
        points: params.point3s("P")?.unwrap_or_default(),
        normals: params.normals("N")?.unwrap_or_default(),
        widths: [start?.unwrap_or(width), end?.unwrap_or(width)],
    })
}

impl ShapeEntity {
    /// Adds a shape to the run of this one, if both are curves and otherwise alike. Returns whether
    /// it did.
    pub fn absorb(&mut self, other: &ShapeEntity) -> bool {
        let is_alike = self.entity.name == "curve"
            && other.entity.name == "curve"
            && (self.ctm, self.end_ctm) == (other.ctm, other.end_ctm)
            && self.reverse_orientation == other.reverse_orientation
            && self.material == other.material
            && self.area_light == other.area_light
            && self.media == other.media
            && shared(&self.entity.params).eq(shared(&other.entity.params));
        if !is_alike {
            return false;
        }
        // Invalid parameters are reported when the shape is built.
        let Ok(Curve { points, normals, widths }) = curve(&other.entity.params) else {
            return false;
        };
        let counts = [points.len() as u32, normals.len() as u32];
        self.curves.points.extend(points);
        self.curves.normals.extend(normals);
        self.curves.strands.push(Strand {
            location: other.entity.location.clone(),
            counts,
            widths,
        });
        true
    }
}

/// Iterates over the parameters that are equal within a run.
fn shared(params: &ParamSet) -> impl Iterator<Item = SharedParam<'_>> {
    params.iter().filter(|p| !NAMES.contains(&p.name.as_str())).map(|p| SharedParam(p))
}

/// A parameter without its location.
struct SharedParam<'a>(&'a Param);

impl PartialEq for SharedParam<'_> {
    fn eq(&self, SharedParam(other): &SharedParam<'_>) -> bool {
        (&self.0.name, self.0.ty, &self.0.values) == (&other.name, other.ty, &other.values)
    }
}
