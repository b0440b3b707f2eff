//! Lens systems of pbrt-v4's realistic camera (Kolb, Mitchell, Hanrahan 1995, *A Realistic Camera
//! Model for Computer Graphics*).
//!
//! Rays start on the film and are traced through spherical interfaces in double precision. The
//! rear element is not sampled as a whole but within bounds of the exit pupil: the points through
//! which light arrives, computed for 64 distances from the axis. As in pbrt-v4, a ray has the weight
//! cos⁴θ A / z², with the area A of the sampled bounds and the distance z of the rear element from
//! the film. pbrt-v4 computes the bounds for points on an axis of the film, so that stops of other
//! shapes than circles are cut off elsewhere; here, the bounds are those of a circle around the stop.
//! Invariant: a ray that leaves the lens has passed all elements within their apertures.
//!
//! Lens space is that of camera rays here: the film is at z = 0, and the scene at +z.

use super::Aperture;
use glam::{DVec2, DVec3, dvec2, dvec3};
use lightbound_math::{Vec2, vec2};
use rayon::prelude::*;

/// An interface of a lens system.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LensElement {
    /// Radius of curvature, m; positive if the centre is on the side of the film; 0 for the aperture
    /// stop.
    pub curvature: f64,
    /// Distance to the next interface towards the film, m. For the last one, the distance to the
    /// film is found by focusing.
    pub thickness: f64,
    /// Index of refraction behind the interface, towards the film; 0 counts as air.
    pub eta: f64,
    /// Radius of the aperture, m.
    pub radius: f64,
}

/// Why a lens system cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum LensError {
    /// No elements.
    #[error("the lens has no elements")]
    Empty,
    /// Rays along the axis do not pass.
    #[error("no light passes the lens along its axis")]
    Blocked,
    /// The lens cannot be focused at the distance.
    #[error("the lens cannot be focused at a distance of {} m", *.0 as f32)]
    Focus(f64),
}

/// A focused lens system in front of a film.
#[derive(Clone, Debug)]
pub struct LensSystem {
    /// From the front to the film.
    elements: Vec<LensElement>,
    aperture: Option<Aperture>,
    /// Length of the film's diagonal, m.
    diagonal: f64,
    /// Bounds of the exit pupil on the plane of the rear element, for points of the film at
    /// increasing distances from the axis along +x; `None` if no light arrives there.
    pupils: Vec<Option<PupilBounds>>,
}

/// A rectangle.
#[derive(Clone, Copy, Debug)]
struct PupilBounds {
    min: DVec2,
    max: DVec2,
}

/// A ray in lens space.
#[derive(Clone, Copy, Debug)]
pub struct LensRay {
    /// Origin.
    pub o: DVec3,
    /// Direction.
    pub d: DVec3,
}

impl LensRay {
    fn at(&self, t: f64) -> DVec3 {
        self.o + t * self.d
    }
}

/// Number of intervals of the distance from the axis, for bounds of the exit pupil.
const PUPILS: usize = 64;

/// Distance of focus that counts as infinite, m: the film moves by a few nanometres at most, and
/// differences of distances keep their precision.
const MAX_FOCUS_DISTANCE: f64 = 1e6;

/// Number of rays with which the bounds of a pupil are found.
const PUPIL_RAYS: u32 = 1 << 16;

impl LensSystem {
    /// Creates a lens system that is focused at a distance from the film, m; 10⁶ m is as good as
    /// infinite. `diagonal` is that of the film, m. An image `aperture` replaces the circle of the
    /// stop.
    ///
    /// # Errors
    /// If the lens has no elements, no light passes, or it cannot be focused.
    pub fn new(
        elements: Vec<LensElement>,
        aperture: Option<Aperture>,
        diagonal: f64,
        focus_distance: f64,
    ) -> Result<LensSystem, LensError> {
        if elements.is_empty() {
            return Err(LensError::Empty);
        }
        let mut lens = LensSystem { elements, aperture, diagonal, pupils: Vec::new() };
        let thickness = lens.focus(focus_distance)?;
        if let Some(rear) = lens.elements.last_mut() {
            rear.thickness = thickness;
        }
        // The bounds must hold for points of the film at any angle, so the stop is a circle there.
        let circular = lens.with_circular_stop();
        let radius = |i: usize| 0.5 * diagonal * i as f64 / PUPILS as f64;
        lens.pupils = (0..PUPILS)
            .into_par_iter()
            .map(|i| circular.pupil_bounds(radius(i), radius(i + 1)))
            .collect();
        match lens.pupils.iter().any(Option::is_some) {
            true => Ok(lens),
            false => Err(LensError::Blocked),
        }
    }

    /// Returns the lens with a circular stop that contains its aperture.
    fn with_circular_stop(&self) -> LensSystem {
        let mut lens = LensSystem { aperture: None, ..self.clone() };
        if let Some(aperture) = &self.aperture {
            for stop in lens.elements.iter_mut().filter(|element| element.is_stop()) {
                stop.radius *= f64::from(aperture.radius());
            }
        }
        lens
    }

    /// Returns the distance of the rear element from the film.
    fn rear_z(&self) -> f64 {
        self.elements.last().map_or(0.0, |element| element.thickness)
    }

    /// Samples a ray that leaves the lens, for a point of the film and a lens sample in [0, 1)².
    /// Also returns its weight; `None` if the lens blocks the ray.
    pub fn sample(&self, film: DVec2, u: Vec2) -> Option<(LensRay, f32)> {
        let distance = film.length();
        let index = (distance / (0.5 * self.diagonal) * PUPILS as f64) as usize;
        let PupilBounds { min, max } = self.pupils[index.min(PUPILS - 1)]?;
        let on_axis = min + (max - min) * u.as_dvec2();
        // The bounds are those for points along +x.
        let axis = if distance > 0.0 { film / distance } else { DVec2::X };
        let rear = axis.rotate(on_axis).extend(self.rear_z());
        let ray = LensRay { o: film.extend(0.0), d: rear - film.extend(0.0) };
        let (out, transmittance) = self.trace_from_film(ray)?;
        let cos2 = ray.d.z * ray.d.z / ray.d.length_squared();
        let area = (max - min).element_product();
        let weight = cos2 * cos2 * area / (self.rear_z() * self.rear_z());
        Some((out, transmittance * weight as f32))
    }

    /// Traces a ray from the film to the scene. Also returns the transmittance of the aperture;
    /// `None` if the ray is blocked.
    fn trace_from_film(&self, mut ray: LensRay) -> Option<(LensRay, f32)> {
        let (mut z, mut transmittance) = (0.0, 1.0);
        for (i, element) in self.elements.iter().enumerate().rev() {
            z += element.thickness;
            let eta_in = air_if_zero(element.eta);
            let eta_out = if i > 0 { air_if_zero(self.elements[i - 1].eta) } else { 1.0 };
            ray = element.pass(ray, z, eta_out / eta_in, self.aperture.is_some())?;
            if let (true, Some(aperture)) = (element.is_stop(), &self.aperture) {
                let at = ray.o / element.radius;
                transmittance *= aperture.at(vec2(at.x as f32, at.y as f32));
                if transmittance == 0.0 {
                    return None;
                }
            }
        }
        Some((ray, transmittance))
    }

    /// Traces a ray from the scene to the film, through a circular stop; `None` if it is blocked.
    fn trace_from_scene(&self, mut ray: LensRay) -> Option<LensRay> {
        let mut z = self.front_z();
        for (i, element) in self.elements.iter().enumerate() {
            let eta_in = if i > 0 { air_if_zero(self.elements[i - 1].eta) } else { 1.0 };
            ray = element.pass(ray, z, air_if_zero(element.eta) / eta_in, false)?;
            z -= element.thickness;
        }
        Some(ray)
    }

    /// Returns the distance of the front element from the film.
    fn front_z(&self) -> f64 {
        self.elements.iter().map(|element| element.thickness).sum()
    }

    /// Returns the distance between rear element and film at which the lens is focused at a
    /// distance, by the approximation of a thick lens (Pharr et al. 2018, *Physically Based
    /// Rendering*, 3rd edition, section 6.4.4).
    fn focus(&self, distance: f64) -> Result<f64, LensError> {
        let x = 0.001 * self.diagonal;
        let from_scene = LensRay { o: dvec3(x, 0.0, self.front_z() + 1.0), d: -DVec3::Z };
        let to_film = self.trace_from_scene(from_scene).ok_or(LensError::Blocked)?;
        let [p0, f0] = cardinal_points(from_scene, to_film);
        let from_film = LensRay { o: dvec3(x, 0.0, self.rear_z() - 1.0), d: DVec3::Z };
        // An image of the aperture may be black at the axis, which does not matter here.
        let circular = self.with_circular_stop();
        let (to_scene, _) = circular.trace_from_film(from_film).ok_or(LensError::Blocked)?;
        let [p1, _] = cardinal_points(from_film, to_scene);
        let (f, z) = (f0 - p0, -distance.min(MAX_FOCUS_DISTANCE));
        let discriminant = (p1 - z - p0) * (p1 - z - 4.0 * f - p0);
        let delta = 0.5 * (p1 - z + p0 - discriminant.sqrt());
        let thickness = self.rear_z() + delta;
        // False for NaN.
        if discriminant > 0.0 && thickness > 0.0 && thickness.is_finite() {
            Ok(thickness)
        } else {
            Err(LensError::Focus(distance))
        }
    }

    /// Returns bounds of the exit pupil for points of the film from (x0, 0) to (x1, 0).
    fn pupil_bounds(&self, x0: f64, x1: f64) -> Option<PupilBounds> {
        let half = 1.5 * self.elements.last()?.radius;
        let mut bounds: Option<PupilBounds> = None;
        for i in 0..PUPIL_RAYS {
            let x = x0 + (x1 - x0) * (f64::from(i) + 0.5) / f64::from(PUPIL_RAYS);
            let u = dvec2(radical_inverse(2, i), radical_inverse(3, i));
            let at = half * (2.0 * u - 1.0);
            let is_inside = bounds
                .is_some_and(|PupilBounds { min, max }| at.cmpge(min).all() && at.cmple(max).all());
            let film = dvec3(x, 0.0, 0.0);
            let ray = LensRay { o: film, d: at.extend(self.rear_z()) - film };
            if !is_inside && self.trace_from_film(ray).is_some() {
                let PupilBounds { min, max } = bounds.unwrap_or(PupilBounds { min: at, max: at });
                bounds = Some(PupilBounds { min: min.min(at), max: max.max(at) });
            }
        }
        // Points between the samples.
        let margin = 2.0 * (2.0 * half) * std::f64::consts::SQRT_2 / f64::from(PUPIL_RAYS).sqrt();
        bounds.map(|PupilBounds { min, max }| PupilBounds { min: min - margin, max: max + margin })
    }
}

impl LensElement {
    fn is_stop(&self) -> bool {
        self.curvature == 0.0
    }

    /// Returns a ray after the interface at `z`, refracted with the ratio of the indices behind and
    /// before it. `None` if the ray misses the aperture or is totally reflected. `is_open` ignores
    /// the circle of the stop.
    fn pass(&self, ray: LensRay, z: f64, eta: f64, is_open: bool) -> Option<LensRay> {
        if self.is_stop() {
            let t = (z - ray.o.z) / ray.d.z;
            let o = ray.at(t);
            let is_blocked = !is_open && o.truncate().length_squared() > self.radius * self.radius;
            return (t >= 0.0 && !is_blocked).then_some(LensRay { o, ..ray });
        }
        // The centre of a positive curvature is behind the interface, as seen from the scene.
        let o = ray.o - dvec3(0.0, 0.0, z - self.curvature);
        let (a, b) = (ray.d.length_squared(), o.dot(ray.d));
        let discriminant = b * b - a * (o.length_squared() - self.curvature * self.curvature);
        if discriminant < 0.0 || discriminant.is_nan() {
            return None;
        }
        // The side of the sphere is the one towards the scene for positive curvatures.
        let takes_nearer = (ray.d.z < 0.0) == (self.curvature > 0.0);
        let root = discriminant.sqrt();
        let t = if takes_nearer { -b - root } else { -b + root } / a;
        let p = ray.at(t);
        if t < 0.0 || t.is_nan() || p.truncate().length_squared() > self.radius * self.radius {
            return None;
        }
        let n = (o + t * ray.d).normalize();
        let d = refract(ray.d.normalize(), n, eta)?;
        Some(LensRay { o: p, d })
    }
}

/// Refracts a unit direction; `None` for total reflection. `eta` is the index behind the surface
/// divided by that before it.
fn refract(d: DVec3, n: DVec3, eta: f64) -> Option<DVec3> {
    let n = if n.dot(d) > 0.0 { -n } else { n };
    let cos = -n.dot(d);
    let cos2 = 1.0 - (1.0 - cos * cos) / (eta * eta);
    (cos2 > 0.0).then(|| (d / eta + n * (cos / eta - cos2.sqrt())).normalize())
}

/// Returns −z of the principal plane and of the focal point of a ray parallel to the axis, as in
/// pbrt-v4, where z points to the film.
fn cardinal_points(parallel: LensRay, refracted: LensRay) -> [f64; 2] {
    let focal = -refracted.o.x / refracted.d.x;
    let principal = (parallel.o.x - refracted.o.x) / refracted.d.x;
    [principal, focal].map(|t| -refracted.at(t).z)
}

fn air_if_zero(eta: f64) -> f64 {
    if eta == 0.0 { 1.0 } else { eta }
}

/// Returns the digits of `i` in a base, mirrored at the point.
fn radical_inverse(base: u32, mut i: u32) -> f64 {
    let (mut inverse, mut digit) = (0.0, 1.0);
    while i > 0 {
        digit /= f64::from(base);
        inverse += digit * f64::from(i % base);
        i /= base;
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_math::sampling::testing::points;

    /// A cemented achromatic doublet with a stop behind it. Lengths in m.
    fn doublet(stop_radius: f64) -> Vec<LensElement> {
        [
            [0.0628, 0.006, 1.5168, 0.0125],
            [-0.0457, 0.0025, 1.6727, 0.0125],
            [-0.1282, 0.005, 1.0, 0.0125],
            [0.0, 0.09, 0.0, stop_radius],
        ]
        .map(|[curvature, thickness, eta, radius]| LensElement {
            curvature,
            thickness,
            eta,
            radius,
        })
        .to_vec()
    }

    const DIAGONAL: f64 = 0.035;

    fn lens(stop_radius: f64, focus: f64) -> LensSystem {
        LensSystem::new(doublet(stop_radius), None, DIAGONAL, focus).unwrap()
    }

    #[test]
    fn rays_of_a_film_point_meet_at_the_focus_distance() {
        for focus in [2.0, 10.0] {
            let lens = lens(0.003, focus);
            let film = dvec2(0.004, -0.002);
            let mut hits = Vec::new();
            for u in points(100, 3) {
                let Some((ray, weight)) = lens.sample(film, u) else { continue };
                assert!(weight > 0.0 && ray.d.z > 0.0);
                hits.push(ray.at((focus - ray.o.z) / ray.d.z).truncate());
            }
            assert!(hits.len() > 20, "{}", hits.len());
            let mean = hits.iter().sum::<DVec2>() / hits.len() as f64;
            let spread = hits.iter().map(|hit| hit.distance(mean)).fold(0.0, f64::max);
            // The blur out of focus would have the width of the stop.
            assert!(spread < 0.0015 * focus / 2.0, "{focus}: {spread}");
            // The image is upside down. The magnification follows from the focal length, 0.1 m.
            let scale = 1.0 - (focus - lens.front_z()) / 0.1;
            assert!(mean.distance(scale * film) < 0.02 * mean.length(), "{mean} {}", scale * film);
        }
    }

    #[test]
    fn distant_focus_is_infinite() {
        let far = lens(0.003, 1e6);
        for focus in [1e13, 1e20, 1e38] {
            assert_eq!(lens(0.003, focus).rear_z(), far.rear_z(), "{focus}");
        }
        // The rays of a point are parallel.
        let directions: Vec<DVec3> = points(100, 3)
            .filter_map(|u| far.sample(dvec2(0.004, -0.002), u))
            .map(|(ray, _)| ray.d.normalize())
            .collect();
        assert!(directions.iter().all(|d| d.distance(directions[0]) < 1e-3));
    }

    #[test]
    fn mean_weight_is_the_irradiance_of_the_exit_pupil() {
        // The stop is the rear element, so the pupil at the axis is a disk of known radius. The mean
        // of the weights is ∫ cos⁴ dA / z² over it.
        let (radius, lens) = (0.002, lens(0.002, 5.0));
        let z = lens.rear_z();
        let expected = std::f64::consts::PI * (1.0 - 1.0 / (1.0 + (radius / z) * (radius / z)));
        let n = 200_000;
        let sum: f64 = points(n, 5)
            .filter_map(|u| lens.sample(DVec2::ZERO, u))
            .map(|(_, weight)| f64::from(weight))
            .sum();
        assert!((sum / f64::from(n) / expected - 1.0).abs() < 0.01, "{sum} {expected}");
    }

    #[test]
    fn bounds_contain_the_exit_pupil() {
        let lens = lens(0.01, 3.0);
        let half = 1.5 * lens.elements.last().unwrap().radius;
        let mut passed = 0;
        for (u, v) in points(100_000, 1).zip(points(100_000, 2)) {
            let distance = 0.5 * DIAGONAL * f64::from(v.x);
            let at = half * (2.0 * u.as_dvec2() - 1.0);
            let film = dvec3(distance, 0.0, 0.0);
            let ray = LensRay { o: film, d: at.extend(lens.rear_z()) - film };
            if lens.trace_from_film(ray).is_none() {
                continue;
            }
            passed += 1;
            let index = (distance / (0.5 * DIAGONAL) * PUPILS as f64) as usize;
            let PupilBounds { min, max } = lens.pupils[index.min(PUPILS - 1)].unwrap();
            assert!(at.cmpge(min).all() && at.cmple(max).all(), "{at} at {distance}");
        }
        assert!(passed > 1000, "{passed}");
    }

    #[test]
    fn apertures_shape_the_pupil_without_changing_the_exposure() {
        let mean = |aperture: Option<&str>| {
            let aperture = aperture.map(|name| Aperture::named(name).unwrap());
            let lens = LensSystem::new(doublet(0.004), aperture, DIAGONAL, 5.0).unwrap();
            let n = 100_000;
            let sum: f64 = points(n, 6)
                .filter_map(|u| lens.sample(dvec2(0.002, 0.001), u))
                .map(|(_, weight)| f64::from(weight))
                .sum();
            sum / f64::from(n)
        };
        let circle = mean(None);
        for name in Aperture::NAMES {
            let ratio = mean(Some(name)) / circle;
            assert!((ratio - 1.0).abs() < 0.03, "{name}: {ratio}");
        }
    }

    #[test]
    fn unusable_lenses_are_errors() {
        let error = |elements, focus| LensSystem::new(elements, None, DIAGONAL, focus).unwrap_err();
        assert_eq!(error(Vec::new(), 5.0), LensError::Empty);
        assert_eq!(error(doublet(0.01), 0.1), LensError::Focus(0.1));
        assert_eq!(error(doublet(1e-9), 5.0), LensError::Blocked);
        // Total reflection and missed spheres block rays.
        let mut steep = doublet(0.01);
        steep[0].curvature = 1e-5;
        assert_eq!(error(steep, 5.0), LensError::Blocked);
    }

    #[test]
    fn radical_inverses_mirror_digits() {
        let inverses: Vec<f64> = (0..5).map(|i| radical_inverse(2, i)).collect();
        assert_eq!(inverses, [0.0, 0.5, 0.25, 0.75, 0.125]);
        assert!((radical_inverse(3, 5) - (2.0 / 3.0 + 1.0 / 9.0)).abs() < 1e-15);
    }
}
