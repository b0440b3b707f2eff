//! Discretisation of moving lights: the points of the light halfway through the exposure, with the
//! extent of the whole motion.

use super::super::point::{Emission, LightKind, LightPoint};
use super::area::is_front;
use super::{Extent, PointOptions, Points, add_whole};
use crate::light::{AnyLight, Falloff, MovingLight};
use lightbound_math::{Cone, Vec3};
use std::f32::consts::PI;

/// Adds a moving light as next-event estimation samples it: lightcuts rejects moving lights. An
/// environment is a single leaf, since its parts do not stay in place.
pub(super) fn add(
    light: &MovingLight,
    template: &LightPoint,
    options: &PointOptions,
    out: &mut Points,
) {
    let options = PointOptions { next_event: true, ..*options };
    let (mut points, middle) = (Points::default(), light.middle());
    match &middle {
        AnyLight::Environment(environment) => points.push(
            LightPoint {
                position: Vec3::Z,
                intensity: 4.0 * PI * environment.sampled_share() * environment.mean(),
                emission: Emission::Distant,
                ..*template
            },
            Extent::of,
        ),
        light => add_whole(light, template, &options, &mut points),
    }
    let (bounds, cone) = light.extent();
    for mut point in points.points {
        if let AnyLight::Projection(_) = middle {
            // The image may turn to any direction.
            point.emission = Emission::Spot(Falloff { cos_start: -1.0, cos_end: -1.0 });
        }
        let cone = match point.kind() {
            LightKind::Omni => Cone::SPHERE,
            _ if point.emission == Emission::Cosine && !is_front(point.stratum) => {
                Cone { axis: -cone.axis, ..cone }
            }
            _ => cone,
        };
        out.push(point, |_| Extent { bounds, cone });
    }
}
