//! Compares hair with the formulas of Chiang et al. 2016 in double precision, and tests that it
//! conserves energy.

use super::cases::Case;
use super::{
    ScatterSample, TestMaterial, mean_and_deviation, random_directions, random_points, stratified,
};
use glam::DVec3;
use lightbound_math::sampling::{hash, unit_float};
use lightbound_math::{Vec3, vec3};
use std::f64::consts::PI;

/// Parameters of hair.
#[derive(Clone, Copy, Debug)]
struct Hair {
    sigma_a: [f64; 3],
    eta: f64,
    beta_m: f64,
    beta_n: f64,
    alpha: f64,
    h: f64,
}

/// The modified Bessel function I₀ times exp(−x), by its power series or its asymptotic series.
fn scaled_bessel(x: f64) -> f64 {
    if x > 30.0 {
        let (mut term, mut sum) = (1.0, 1.0);
        for k in 1..12 {
            let odd = f64::from(2 * k - 1);
            term *= odd * odd / (8.0 * x * f64::from(k));
            sum += term;
        }
        return sum / (2.0 * PI * x).sqrt();
    }
    let (mut term, mut sum) = (1.0, 1.0);
    for k in 1..200 {
        term *= (0.5 * x / f64::from(k)).powi(2);
        sum += term;
    }
    sum * (-x).exp()
}

/// The density of θi for an energy-conserving lobe of variance `v`, eq. 7.
fn longitudinal(theta_i: f64, theta_o: f64, v: f64) -> f64 {
    let (a, b) = (theta_i.cos() * theta_o.cos() / v, theta_i.sin() * theta_o.sin() / v);
    // sinh(1/v) = exp(1/v) (1 − exp(−2/v))/2.
    scaled_bessel(a) * (a - b - 1.0 / v).exp() / (v * (1.0 - (-2.0 / v).exp()))
}

/// The logistic distribution of scale `s`, trimmed to [−π, π].
fn trimmed_logistic(x: f64, s: f64) -> f64 {
    let cdf = |x: f64| 1.0 / (1.0 + (-x / s).exp());
    let density = (-x.abs() / s).exp() / (s * (1.0 + (-x.abs() / s).exp()).powi(2));
    density / (cdf(PI) - cdf(-PI))
}

fn fresnel(cos: f64, eta: f64) -> f64 {
    let t = (1.0 - (1.0 - cos * cos) / (eta * eta)).max(0.0).sqrt();
    let parallel = (eta * cos - t) / (eta * cos + t);
    let perpendicular = (cos - eta * t) / (cos + eta * t);
    0.5 * (parallel * parallel + perpendicular * perpendicular)
}

impl Hair {
    /// Evaluates BSDF × cosine.
    fn integrand(&self, wi: DVec3, wo: DVec3) -> [f64; 3] {
        let (theta_i, theta_o) = (wi.x.asin(), wo.x.asin());
        let phi = wi.z.atan2(wi.y) - wo.z.atan2(wo.y);
        let theta_t = (theta_o.sin() / self.eta).asin();
        let eta = (self.eta * self.eta - theta_o.sin().powi(2)).sqrt() / theta_o.cos();
        let (gamma_o, gamma_t) = (self.h.asin(), (self.h / eta).asin());
        let f = fresnel(theta_o.cos() * gamma_o.cos(), self.eta);
        let m = self.beta_m;
        let v = (0.726 * m + 0.812 * m * m + 3.7 * m.powi(20)).powi(2);
        let n = self.beta_n;
        let s = (PI / 8.0).sqrt() * (0.265 * n + 1.194 * n * n + 5.372 * n.powi(22));
        let alpha = self.alpha.to_radians();
        self.sigma_a.map(|sigma_a| {
            let t = (-sigma_a * 2.0 * gamma_t.cos() / theta_t.cos()).exp();
            let a1 = (1.0 - f).powi(2) * t;
            let lobes = [
                (f, theta_o - 2.0 * alpha, v),
                (a1, theta_o + alpha, 0.25 * v),
                (a1 * t * f, theta_o + 4.0 * alpha, 4.0 * v),
            ];
            let first: f64 = (0..)
                .zip(lobes)
                .map(|(p, (a, theta, v))| {
                    let p = f64::from(p);
                    let exit = 2.0 * p * gamma_t - 2.0 * gamma_o + p * PI;
                    let turn = (phi - exit + PI).rem_euclid(2.0 * PI) - PI;
                    // Beyond the pole, the cosine changes its sign.
                    let theta = theta.sin().asin();
                    a * longitudinal(theta_i, theta, v) * trimmed_logistic(turn, s)
                })
                .sum();
            let rest = a1 * (t * f).powi(2) / (1.0 - t * f);
            first + rest * longitudinal(theta_i, theta_o, 4.0 * v) / (2.0 * PI)
        })
    }

    fn material(&self) -> TestMaterial {
        let mut material =
            TestMaterial::new(&Case { file: "hair", set: &[], glossy: true, albedo: 1.0 });
        material.set(|member| match member.name.as_str() {
            "sigma_a" => self.sigma_a.to_vec(),
            "eta" => vec![self.eta],
            "beta_m" => vec![self.beta_m],
            "beta_n" => vec![self.beta_n],
            "alpha" => vec![self.alpha],
            "h" => vec![self.h],
            _ => member.default.clone().unwrap(),
        });
        material
    }
}

/// Returns random hair; `white` hair does not absorb light.
fn random_hair(seed: u32, white: bool) -> Hair {
    let u = |k| f64::from(unit_float(hash(hash(77, seed), k)));
    let sigma_a = [0, 1, 2].map(|k| if white { 0.0 } else { 3.0 * u(k) * u(k) });
    Hair {
        sigma_a,
        eta: 1.1 + u(3),
        beta_m: 0.1 + 0.9 * u(4),
        beta_n: 0.1 + 0.9 * u(5),
        alpha: 8.0 * u(6) - 4.0,
        h: 1.98 * u(7) - 0.99,
    }
}

#[test]
fn hair_matches_the_published_formulas() {
    let directions = random_directions(400);
    for seed in 0..40 {
        let hair = random_hair(seed, false);
        let material = hair.material();
        for wo in random_directions(80).into_iter().skip(seed as usize).step_by(20) {
            let scattered = material.scatter(&random_points(200), wo);
            let pairs: Vec<_> = scattered
                .iter()
                .map(|sample| sample.wi)
                .chain(directions.iter().copied())
                .map(|wi| (wi, wo))
                .collect();
            for (sample, &(wi, wo)) in material.evaluate(&pairs).iter().zip(&pairs) {
                let (i, o) = (wi.as_dvec3().normalize(), wo.as_dvec3().normalize());
                for (k, expected) in hair.integrand(i, o).into_iter().enumerate() {
                    let error = (f64::from(sample.s[k]) - expected).abs();
                    assert!(
                        error <= 3e-4 * expected + 1e-9,
                        "{hair:?}, {wi} {wo}: {} instead of {expected}",
                        sample.s[k]
                    );
                }
            }
        }
    }
}

#[test]
fn white_hair_reflects_all_light() {
    for seed in 0..60 {
        let hair = random_hair(seed, true);
        let material = hair.material();
        let wo = random_directions(60)[seed as usize];
        // With samples of the shader, every weight is 1, except for rounding.
        let weight = |sample: &ScatterSample| f64::from(sample.weight().x);
        for sample in material.scatter(&stratified(40), wo) {
            assert!((weight(&sample) - 1.0).abs() < 1e-4, "{hair:?} from {wo}: {sample:?}");
        }
        // And with uniform samples, on average.
        let n = 400;
        let uniform = |[x, y]: [f32; 2]| {
            let z = 2.0 * x - 1.0;
            let (sin, cos) = (std::f32::consts::TAU * y).sin_cos();
            let r = (1.0 - z * z).max(0.0).sqrt();
            (vec3(z, r * cos, r * sin), wo)
        };
        let pairs: Vec<(Vec3, Vec3)> = stratified(n).into_iter().map(uniform).collect();
        let values = material.evaluate(&pairs);
        let weights = values.iter().map(|sample| 4.0 * PI * f64::from(sample.s.x));
        let (albedo, deviation) = mean_and_deviation(weights);
        let tolerance = 0.01 + 2.0 * deviation / f64::from(n);
        assert!((albedo - 1.0).abs() < tolerance, "{hair:?} from {wo}: {albedo}");
    }
}

#[test]
fn colours_are_absorption_at_any_roughness() {
    // The setup function turns colour and pigments into absorption.
    use lightbound_shader::scattering::setup;
    use lightbound_shader::{Settings, interpreter};
    let material = TestMaterial::new(&Case { file: "hair", set: &[], glossy: true, albedo: 1.0 });
    let function = setup(&material.shader, &Settings::default()).unwrap().unwrap();
    let run = |values: &[(&str, f32)]| {
        let input = |port: &lightbound_shader::ir::Port| {
            let given = values.iter().find(|(name, _)| *name == port.name);
            let default = || {
                let base = port.name.split('.').next().unwrap();
                let member = material.shader.members().iter().find(|m| m.name == base);
                member.map_or(0.0, |m| m.default.as_ref().unwrap()[0] as f32)
            };
            given.map_or_else(default, |(_, value)| *value).to_bits()
        };
        let words: Vec<u32> = function.inputs.iter().map(input).collect();
        let results = interpreter::run(&function, &[], &words, 1000).unwrap();
        let value = |name: &str| {
            let port = function.outputs.iter().position(|port| port.name == name).unwrap();
            f32::from_bits(results[port])
        };
        ([value("sigma_a.x"), value("sigma_a.y"), value("sigma_a.z")], value("h"))
    };
    let (none, h) = run(&[("uv.y", 0.25)]);
    assert_eq!((none, h), ([0.0; 3], 0.5));
    assert_eq!(run(&[("uv.y", 1.0)]).1, -1.0);
    let (brown, _) = run(&[("eumelanin", 1.3), ("pheomelanin", 0.5)]);
    for (k, (e, p)) in [(0.419, 0.187), (0.697, 0.4), (1.37, 1.05)].into_iter().enumerate() {
        assert!((brown[k] - (1.3 * e + 0.5 * p)).abs() < 1e-6);
    }
    // Chiang et al. 2016, eq. 9.
    let n = 0.4f64;
    let (coloured, _) = run(&[("reflectance.x", 0.5), ("reflectance.y", 0.0), ("beta_n", 0.4)]);
    let c = 5.969 - 0.215 * n + 2.532 * n.powi(2) - 10.73 * n.powi(3)
        + 5.574 * n.powi(4)
        + 0.245 * n.powi(5);
    assert!((f64::from(coloured[0]) - (0.5f64.ln() / c).powi(2)).abs() < 1e-6);
    assert!(coloured[1] > 100.0 && coloured[1].is_finite() && coloured[2] == 0.0);
}
