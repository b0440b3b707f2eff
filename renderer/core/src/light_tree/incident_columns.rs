//! Incident light of eight light points at a time.
//!
//! A loop over lanes calls the same functions as [`LightPoint::incident_light`] and compiles to
//! SIMD instructions, so results are bit-identical.

use super::WIDTH;
use super::point::{
    Emission, LightPoint, MIN_DISTANCE_SQUARED, PointGeometry, cosine_light, length_squared,
    omni_light, virtual_light,
};
use crate::light::FAR_OFFSET_ULPS;
use fearless_simd::dispatch;
use lightbound_math::Vec3;
use lightbound_math::direction_box::{Lanes, lane_vector};
use lightbound_math::simd_level;
use std::mem::discriminant;

/// Incident light of up to [`WIDTH`] points; see [`super::IncidentLight`].
#[derive(Clone, Copy, Debug)]
pub struct IncidentColumns {
    /// The lanes with light. The other columns are undefined in other lanes.
    pub is_lit: [bool; WIDTH],
    /// Unit directions to the lights.
    pub wi: [Lanes; 3],
    /// Endpoints of the shadow rays; undefined for directional lights.
    pub target: [Lanes; 3],
    /// Irradiance at normal incidence divided by the intensity.
    pub factor: Lanes,
}

/// Positions, axes and offsets of the light points.
struct PointColumns {
    position: [Lanes; 3],
    axis: [Lanes; 3],
    offset: Lanes,
}

impl IncidentColumns {
    /// No light.
    const NONE: IncidentColumns = IncidentColumns {
        is_lit: [false; WIDTH],
        wi: [[0.0; WIDTH]; 3],
        target: [[0.0; WIDTH]; 3],
        factor: [0.0; WIDTH],
    };

    /// Computes the light at `x` of up to [`WIDTH`] points.
    ///
    /// # Panics
    /// If there are more points.
    pub fn new(points: &[LightPoint], x: Vec3) -> IncidentColumns {
        assert!(points.len() <= WIDTH, "{} points exceed the lanes", points.len());
        let mut incident = IncidentColumns::NONE;
        let Some(first) = points.first() else { return incident };
        let is_uniform =
            points.iter().all(|p| discriminant(&p.emission) == discriminant(&first.emission));
        match first.emission {
            Emission::Cosine if is_uniform => incident.set(points, x, cosine_light),
            Emission::Omni if is_uniform => incident.set(points, x, omni_light),
            Emission::Virtual { .. } if is_uniform => incident.set(points, x, virtual_light),
            _ => {
                for (lane, point) in points.iter().enumerate() {
                    let Some(light) = point.incident_light(x) else { continue };
                    incident.set_lane(lane, light.wi, light.target.unwrap_or(Vec3::ZERO));
                    (incident.is_lit[lane], incident.factor[lane]) = (true, light.factor);
                }
            }
        }
        incident
    }

    #[inline(always)]
    fn set_lane(&mut self, lane: usize, wi: Vec3, target: Vec3) {
        for axis in 0..3 {
            (self.wi[axis][lane], self.target[axis][lane]) = (wi[axis], target[axis]);
        }
    }

    /// Sets all lanes, for points of one kind of emission. `light` returns the factor and the
    /// endpoint of the shadow ray; the factor is not positive if there is no light.
    #[inline(always)]
    fn set(
        &mut self,
        points: &[LightPoint],
        x: Vec3,
        light: impl Fn(&PointGeometry) -> (f32, Vec3),
    ) {
        let mut columns = PointColumns {
            position: [[0.0; WIDTH]; 3],
            axis: [[0.0; WIDTH]; 3],
            offset: [0.0; WIDTH],
        };
        for (lane, point) in points.iter().enumerate() {
            for axis in 0..3 {
                columns.position[axis][lane] = point.position[axis];
                columns.axis[axis][lane] = point.axis[axis];
            }
            columns.offset[lane] = point.offset;
        }
        let far = FAR_OFFSET_ULPS * x.abs().max_element();
        dispatch!(simd_level(), _ => self.set_columns(&columns, x, far, &light));
        self.is_lit[points.len()..].fill(false);
    }

    #[inline(always)]
    fn set_columns(
        &mut self,
        columns: &PointColumns,
        x: Vec3,
        far: f32,
        light: &impl Fn(&PointGeometry) -> (f32, Vec3),
    ) {
        for lane in 0..WIDTH {
            let (position, axis) =
                (lane_vector(&columns.position, lane), lane_vector(&columns.axis, lane));
            let d = position - x;
            let d2 = length_squared([d.x, d.y, d.z]);
            let wi = d / d2.sqrt();
            let offset = columns.offset[lane];
            let (factor, target) = light(&PointGeometry { position, axis, offset, far, wi, d2 });
            self.set_lane(lane, wi, target);
            self.factor[lane] = factor;
            // False for NaN.
            self.is_lit[lane] = (MIN_DISTANCE_SQUARED..=f32::MAX).contains(&d2)
                & (factor > 0.0)
                & (factor < f32::INFINITY);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::light::SpotLight;
    use lightbound_math::sampling::hash;
    use lightbound_math::sampling::testing::points;
    use lightbound_math::sampling::warp::uniform_sphere;
    use lightbound_math::vec3;

    #[test]
    fn columns_have_the_light_of_single_points() {
        let spot = SpotLight::new(Vec3::ZERO, Vec3::Z, Vec3::ONE, 50.0, 40.0).unwrap();
        let emissions = [
            Emission::Cosine,
            Emission::Omni,
            Emission::Virtual { bound: Vec3::ONE },
            Emission::Spot(spot.falloff()),
            Emission::Distant,
        ];
        let positions: Vec<Vec3> = points(4000, 1).map(uniform_sphere).collect();
        let axes: Vec<Vec3> = points(4000, 2).map(uniform_sphere).collect();
        let mut lit = 0;
        for (group, (positions, axes)) in
            positions.chunks(WIDTH).zip(axes.chunks(WIDTH)).enumerate()
        {
            let seed = group as u32;
            let x =
                [Vec3::ZERO, vec3(0.5, -0.2, 0.1), positions[0], Vec3::NAN, vec3(1e19, 0.0, 0.0)]
                    [(hash(seed, 0) % 8).min(4) as usize];
            let count = (hash(seed, 1) as usize % WIDTH) + 1;
            let is_mixed = hash(seed, 2).is_multiple_of(4);
            let lights: Vec<LightPoint> = (0..count)
                .map(|k| LightPoint {
                    position: positions[k],
                    axis: axes[k],
                    intensity: Vec3::ONE,
                    emission: emissions[if is_mixed { k } else { group } % emissions.len()],
                    light: 0,
                    stratum: 0,
                    offset: [0.0, 1e-3, 0.9, 1.5][hash(seed, 3 + k as u32) as usize % 4],
                })
                .collect();
            let incident = IncidentColumns::new(&lights, x);
            for (lane, light) in lights.iter().enumerate() {
                let expected = light.incident_light(x);
                assert_eq!(incident.is_lit[lane], expected.is_some());
                let Some(expected) = expected else { continue };
                let get = |v: &[Lanes; 3]| lane_vector(v, lane);
                assert_eq!(
                    (get(&incident.wi), incident.factor[lane]),
                    (expected.wi, expected.factor)
                );
                assert!(expected.target.is_none_or(|target| get(&incident.target) == target));
                lit += 1;
            }
            assert!(incident.is_lit[count..].iter().all(|is_lit| !is_lit));
        }
        assert!(lit > 1000, "{lit}");
    }
}
