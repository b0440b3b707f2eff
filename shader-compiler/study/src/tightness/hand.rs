//! The [materials](super::materials) that have a [hand-derived
//! bound](lightbound_shader::bounding::hand).

use super::materials::Material;
use lightbound_shader::bounding::hand::Lobe;

/// Returns the lobe of a material; `None` if it has no hand-derived bound.
pub fn lobe(material: &Material) -> Option<Lobe> {
    let get = |name| material.get(name);
    if material.shader == "diffuse" {
        return Some(Lobe::Diffuse { kd: get("kd")? });
    }
    let ks = get("ks").filter(|_| get("kd") == Some(0.0))?;
    match material.shader {
        "phong" => Some(Lobe::Phong { ks, exponent: get("exponent")? }),
        "isoward" => Some(Lobe::Ward { ks, alpha: [get("alpha")?; 2] }),
        "ward" => Some(Lobe::Ward { ks, alpha: [get("alpha_x")?, get("alpha_y")?] }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tightness::query::BoundQuery;
    use lightbound_shader::bounding::hand::mirror;
    use lightbound_shader::random::Random;
    use std::f64::consts::PI;

    /// Evaluates the lobe times cos θi.
    fn value(lobe: &Lobe, wi: [f64; 3], wo: [f64; 3]) -> f64 {
        let cos_i = wi[2].max(0.0);
        match *lobe {
            Lobe::Diffuse { kd } => kd / PI * cos_i,
            Lobe::Phong { ks, exponent } => {
                let cos_alpha = (wi[2] * wo[2] - wi[0] * wo[0] - wi[1] * wo[1]).max(0.0);
                ks * (exponent + 2.0) / (2.0 * PI) * libm::pow(cos_alpha, exponent) * cos_i
            }
            Lobe::Ward { ks, alpha: [a, b] } if cos_i > 0.0 => {
                let h = [0, 1, 2].map(|k| wi[k] + wo[k]);
                let slope2 = ((h[0] / a) * (h[0] / a) + (h[1] / b) * (h[1] / b)) / (h[2] * h[2]);
                ks * libm::exp(-slope2) / (4.0 * PI * a * b * (cos_i * wo[2]).sqrt()) * cos_i
            }
            Lobe::Ward { .. } => 0.0,
        }
    }

    const LOBES: [Lobe; 7] = [
        Lobe::Diffuse { kd: 0.7 },
        Lobe::Phong { ks: 1.0, exponent: 3.0 },
        Lobe::Phong { ks: 0.5, exponent: 200.0 },
        Lobe::Phong { ks: 1.0, exponent: 10000.0 },
        Lobe::Ward { ks: 1.0, alpha: [0.3, 0.3] },
        Lobe::Ward { ks: 0.4, alpha: [0.5, 0.1] },
        Lobe::Ward { ks: 1.0, alpha: [0.02, 0.05] },
    ];

    #[test]
    fn bounds_contain_values_and_are_tight() {
        for lobe in LOBES {
            let mut max_ratio = 0.0f64;
            for index in 0..300 {
                let query = BoundQuery::new(2, [1.0, 3.0, 10.0, 30.0, 60.0][index % 5], index);
                let (wo, patch) = (query.wo.map(f64::from), query.patch);
                let upper = lobe.upper(query.wo, &patch.endpoints);
                let random = &mut Random::new(index as u64);
                let mut members: Vec<_> = (0..2000).filter_map(|_| patch.sample(random)).collect();
                members.extend(patch.boundary());
                members.extend(patch.near(mirror(query.wo)));
                for wi in members {
                    let value = value(&lobe, wi.map(f64::from), wo);
                    assert!(
                        value <= upper * (1.0 + 1e-6),
                        "{lobe:?}, case {index}, {wi:?}: {value} > {upper}"
                    );
                    if upper > 0.0 {
                        max_ratio = max_ratio.max(value / upper);
                    }
                }
            }
            assert!(max_ratio > 0.95, "{lobe:?}: {max_ratio}");
        }
    }

    #[test]
    fn materials_with_more_than_one_lobe_have_no_hand_bound() {
        const WITH_DIFFUSE: Material = Material {
            shader: "phong",
            common: &[("kd", 0.2), ("ks", 0.5)],
            varied: &[("exponent", 5.0)],
        };
        assert_eq!(lobe(&WITH_DIFFUSE), None);
        let count = super::super::materials::MATERIALS
            .iter()
            .filter(|material| lobe(material).is_some())
            .count();
        assert_eq!(count, 14);
    }
}
