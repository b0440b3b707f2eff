//! Checks of hits against the float field along the ray, without bounds.

use super::Implicit;
use super::search::LocalRay;
use crate::geometry::Hit;
use lightbound_math::Ray;

/// Result of checking a hit, or that there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootCheck {
    /// There is no hit, and no sample has another sign than the first.
    Miss,
    /// The field changes sign at the hit, and no sample before it has another sign than the first.
    Exact,
    /// The ray only touches the surface at the hit.
    Touching,
    /// A sample before the hit, or of a ray without one, has another sign than the first.
    Missed,
    /// The field does not change sign between the float of the hit and the next one.
    Wrong,
}

impl Implicit {
    /// Checks a hit that an acceleration structure found for a ray without limits, or a miss, by
    /// `samples` positions along the ray, the first of which is where it enters the box. `offset`
    /// in [0, 1) displaces the others between neighbours.
    pub fn check(&self, hit: &Hit, ray: &Ray, samples: u32, offset: f32) -> RootCheck {
        let (o, d) = self.object_transform.local_ray(ray);
        let Some(local) = LocalRay::new(o, d, self.field.bounds) else {
            return if hit.is_miss() { RootCheck::Miss } else { RootCheck::Wrong };
        };
        let root = (!hit.is_miss()).then(|| self.root(hit.element, ray).map(|(_, root)| root));
        let end = match root {
            None => local.exit(),
            Some(Some(root)) if local.t(root.s) == hit.t => root.s,
            Some(_) => return RootCheck::Wrong,
        };
        let fraction = |k: u32| (k as f32 - 1.0 + offset).max(0.0) / samples as f32;
        let mut points: Vec<_> = (0..samples).map(|k| local.at(end * fraction(k))).collect();
        // Several values of s may have the ray parameter of the hit, and cells with that parameter
        // are not ordered. The first of these values must be before the first change of sign.
        let first = root.flatten().map_or(end, |_| local.first(hit.t).min(end));
        points.extend([local.at(first), local.at(end), local.at(end.next_up())]);
        let mut values = vec![0.0; points.len()];
        self.field.values(&points, &mut values);
        let is_negative: Vec<_> = values.iter().map(|&x| x < 0.0).collect();
        let [before @ .., first, last, next] = &is_negative[..] else {
            unreachable!("there are samples")
        };
        let missed = before.iter().any(|sign| *sign != is_negative[0]);
        match root.flatten() {
            None if missed => RootCheck::Missed,
            None => RootCheck::Miss,
            Some(_) if missed => RootCheck::Missed,
            Some(root) if !root.is_exact => RootCheck::Touching,
            Some(_) if *first != is_negative[0] => RootCheck::Missed,
            Some(_) if last == next => RootCheck::Wrong,
            Some(_) => RootCheck::Exact,
        }
    }
}
