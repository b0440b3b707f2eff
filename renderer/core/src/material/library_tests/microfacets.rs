//! Compares conductors and dielectrics with the formulas of Walter et al. 2007 in double precision.

use super::cases::Case;
use super::{TestMaterial, random_directions, random_points};
use glam::DVec3;
use lightbound_shader::SurfaceSides;

/// Evaluates the BSDF of Walter et al. 2007 in double precision, for GGX microfacets with roughness
/// 0.3 and 0.08 and Smith's height-correlated G₂. `eta` is the refractive index on the side of wi
/// over the index on the side of wo; 1 for reflection. `fresnel` maps wo · h to the reflectance or
/// transmittance.
fn microfacets(wi: DVec3, wo: DVec3, eta: f64, fresnel: impl Fn(f64) -> f64) -> f64 {
    let a = [0.3, 0.08];
    let refracts = wi.z * wo.z < 0.0;
    let h = (eta * wi + wo).normalize();
    let h = h * h.z.signum();
    let (i, o) = (wi.dot(h), wo.dot(h));
    if i * wi.z <= 0.0 || o * wo.z <= 0.0 {
        return 0.0;
    }
    let tan2 = (h.x / a[0]).powi(2) + (h.y / a[1]).powi(2);
    let d = 1.0 / (std::f64::consts::PI * a[0] * a[1] * (tan2 + h.z * h.z).powi(2));
    let lambda = |w: DVec3| {
        0.5 * ((1.0 + ((a[0] * w.x).powi(2) + (a[1] * w.y).powi(2)) / (w.z * w.z)).sqrt() - 1.0)
    };
    let g = 1.0 / (1.0 + lambda(wi) + lambda(wo));
    let jacobian = if refracts { (i * o).abs() / (eta * i + o).powi(2) } else { 0.25 };
    fresnel(o.abs()) * d * g * jacobian / (wi.z * wo.z).abs()
}

#[test]
fn conductors_and_dielectrics_match_the_published_formulas() {
    let alpha: &[(&str, &[f64])] = &[("alpha_x", &[0.3]), ("alpha_y", &[0.08])];
    let conductor =
        TestMaterial::new(&Case { file: "conductor", set: alpha, glossy: true, albedo: 1.0 });
    let dielectric =
        TestMaterial::new(&Case { file: "dielectric", set: alpha, glossy: true, albedo: 1.0 });
    let copper = [(0.10511414, 3.2734907), (0.9779329, 2.5925198), (1.2046659, 2.369188)];
    for material in [&conductor, &dielectric] {
        for wo in material.outgoing_directions() {
            let mut pairs: Vec<_> = material
                .scatter(&random_points(2000), wo)
                .iter()
                .map(|sample| (sample.wi, wo))
                .collect();
            pairs.extend(random_directions(2000).into_iter().map(|wi| (wi, wo)));
            for (sample, &(wi, _)) in material
                .evaluate(&pairs)
                .iter()
                .zip(&pairs)
                .filter(|(_, (wi, _))| wi.z.abs() > 1e-3)
            {
                let (wi, wo) = (wi.as_dvec3().normalize(), wo.as_dvec3().normalize());
                let index = |w: DVec3| if w.z > 0.0 { 1.0 } else { 1.5 };
                let expected =
                    copper.map(|channel| match (material.shader.sides(), wi.z * wo.z > 0.0) {
                        (SurfaceSides::One, true) => {
                            microfacets(wi, wo, 1.0, |c| conductor_fresnel(c, channel))
                        }
                        (SurfaceSides::One, false) => 0.0,
                        (SurfaceSides::Both, true) => microfacets(wi, wo, 1.0, |c| {
                            dielectric_fresnel(c, index(-wo) / index(wo))
                        }),
                        (SurfaceSides::Both, false) => {
                            let eta = index(wi) / index(wo);
                            microfacets(wi, wo, eta, |c| 1.0 - dielectric_fresnel(c, eta))
                        }
                    });
                for (k, expected) in expected.into_iter().enumerate() {
                    let brdf = f64::from(sample.s[k]) / wi.z.abs();
                    let name = &material.name;
                    assert!(
                        (brdf - expected).abs() <= 1e-3 * expected + 1e-5,
                        "{name} from {wo}: {brdf}, expected {expected}; {sample:?}"
                    );
                }
            }
        }
    }
}

/// Returns the Fresnel reflectance of a conductor with index `eta` and extinction coefficient `k`,
/// by complex arithmetic: r = (cos − n cos_t)/(cos + n cos_t) for the perpendicular part.
pub(super) fn conductor_fresnel(c: f64, (eta, k): (f64, f64)) -> f64 {
    type Complex = [f64; 2];
    let mul = |a: Complex, b: Complex| [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]];
    let norm = |a: Complex| a[0] * a[0] + a[1] * a[1];
    let n2 = mul([eta, k], [eta, k]);
    // n cos_t = √(n² − sin²).
    let radicand = [n2[0] - (1.0 - c * c), n2[1]];
    let length = norm(radicand).sqrt();
    let q = [(0.5 * (length + radicand[0])).sqrt(), (0.5 * (length - radicand[0])).max(0.0).sqrt()];
    let n2c = n2.map(|x| x * c);
    let s = norm([c - q[0], -q[1]]) / norm([c + q[0], q[1]]);
    let p = norm([n2c[0] - q[0], n2c[1] - q[1]]) / norm([n2c[0] + q[0], n2c[1] + q[1]]);
    0.5 * (s + p)
}

/// Returns the Fresnel reflectance of a dielectric with relative index `eta`, for light at a cosine.
pub(super) fn dielectric_fresnel(c: f64, eta: f64) -> f64 {
    let sin2 = (1.0 - c * c) / (eta * eta);
    if sin2 >= 1.0 {
        return 1.0;
    }
    let t = (1.0 - sin2).sqrt();
    let (s, p) = ((c - eta * t) / (c + eta * t), (eta * c - t) / (eta * c + t));
    0.5 * (s * s + p * p)
}
