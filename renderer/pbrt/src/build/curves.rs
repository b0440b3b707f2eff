//! Builds curves.

use super::Builder;
use crate::describe::{Curve, ShapeEntity, curve};
use crate::diagnostics::SceneError;
use crate::file::parse::Entity;
use lightbound::geometry::{
    CurveBasis, CurveError, CurveKind, CurveStyle, Curves, MAX_SPLIT_DEPTH, Shape,
};
use lightbound::suggestion::did_you_mean;
use lightbound_math::Transform;
use std::iter;

impl Builder<'_> {
    /// Builds a run of curves.
    pub(super) fn curves(
        &mut self,
        s: &ShapeEntity,
        transform: &Transform,
    ) -> Result<Shape, SceneError> {
        let entity = &s.entity;
        let style = self.curve_style(entity)?;
        let first = curve(&entity.params)?;
        if first.points.is_empty() {
            return Err(entity.error("a curve needs control points").help("give \"point3 P\""));
        }
        let all = || iter::once((&entity.location, first)).chain(s.curves.iter());
        if style.kind != CurveKind::Ribbon
            && let Some((location, _)) = all().find(|(_, curve)| !curve.normals.is_empty())
        {
            let what = "normals \"N\" are only for curves of type \"ribbon\"";
            self.diagnostics.warn(Some(location), what, "they are ignored")?;
        }
        let mut curves = Curves::new(style);
        let segments = all().filter_map(|(_, c)| style.segment_count(c.points.len()).ok()).sum();
        curves.reserve(first.points.len() + s.curves.point_count(), segments);
        for (location, Curve { points, normals, widths }) in all() {
            curves.add(points, normals, widths).map_err(|e| {
                SceneError::at(location, e.to_string()).help(match e {
                    CurveError::Points { .. } => "check \"point3 P\", \"basis\" and \"degree\"",
                    CurveError::Normals { .. } => {
                        "give one \"normal N\" at each end of each segment"
                    }
                    CurveError::ZeroNormal => "give each \"normal N\" a direction",
                    CurveError::Width(_) => "check \"width\", \"width0\" and \"width1\"",
                    CurveError::TooMany => "decrease \"splitdepth\"",
                })
            })?;
        }
        Ok(Shape::Curves(curves.transformed(transform)))
    }

    /// Reads what the curves of a run have in common. As in pbrt-v4, unknown types are cylinders.
    fn curve_style(&mut self, entity: &Entity) -> Result<CurveStyle, SceneError> {
        let p = &entity.params;
        let unknown = |name: &str, value: &str, all: &[&str]| {
            let error = entity.error(format!("unknown curve {name} \"{value}\""));
            error.help(did_you_mean(
                value,
                all.iter().copied(),
                &format!("write {}", all.join(" or ")),
            ))
        };
        let kind = match p.string("type")?.unwrap_or("flat") {
            "flat" => CurveKind::Flat,
            "ribbon" => CurveKind::Ribbon,
            "cylinder" => CurveKind::Cylinder,
            other => {
                let what = format!("unknown curve type \"{other}\"");
                self.warn(entity, what, "the type \"cylinder\"")?;
                CurveKind::Cylinder
            }
        };
        let basis = match p.string("basis")?.unwrap_or("bezier") {
            "bezier" => CurveBasis::Bezier,
            "bspline" => CurveBasis::BSpline,
            other => return Err(unknown("basis", other, &["bezier", "bspline"])),
        };
        let degree = match p.int("degree")?.unwrap_or(3) {
            degree @ 2..=3 => degree as u32,
            degree => {
                let error = entity.error(format!("curves of degree {degree} are not supported"));
                return Err(error.help("give the degree 2 or 3"));
            }
        };
        let depth = p.int("splitdepth")?.unwrap_or(3);
        let split_depth = depth.clamp(0, MAX_SPLIT_DEPTH as i32) as u32;
        if i64::from(split_depth) != i64::from(depth) {
            let what = format!("\"splitdepth\" {depth} is not supported");
            self.warn(entity, what, format!("a split depth of {split_depth}"))?;
        }
        Ok(CurveStyle { kind, basis, degree, split_depth })
    }
}
