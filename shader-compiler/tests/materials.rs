//! Compares the material library, compiled from WGSL for every target, with the published formulas
//! in double precision.
//!
//! The formulas are transcribed from the papers, independently of the shaders: with unit half
//! vectors, products rather than sums of logarithms, and complex numbers. The tolerance of the
//! float result is derived, not guessed: the result must be the exact result for inputs perturbed
//! by a few rounding errors (a backward error), up to a few rounding errors of the result. See
//! [`tolerance`].

use lightbound_shader::backend::x86::{Code, Isa};
use lightbound_shader::interpreter;
use lightbound_shader::ir::Function;
use lightbound_shader::{
    Arena, Batch, Entry, Kernel, Parameter, Settings, Shader, SurfaceSides, Target, passes,
};

/// A direction or a colour.
type Vec3 = [f64; 3];

/// A BRDF as a function of wi, wo and the parameters.
type Formula = fn(Vec3, Vec3, &[f64]) -> Vec3;

struct Material {
    name: &'static str,
    source: &'static str,
    formula: Formula,
}

macro_rules! material {
    ($name:ident) => {
        Material {
            name: stringify!($name),
            source: include_str!(concat!("../../assets/shaders/", stringify!($name), ".wgsl")),
            formula: formulas::$name,
        }
    };
}

const MATERIALS: [Material; 8] = [
    material!(diffuse),
    material!(phong),
    material!(isoward),
    material!(ward),
    material!(ashikhmin),
    material!(fractal),
    material!(oren_nayar),
    material!(diffuse_transmission),
];

impl Material {
    fn shader(&self) -> Shader {
        Shader::parse(self.name, self.source)
            .unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    fn function(&self, entry: Entry) -> Function {
        self.shader()
            .function(entry, &Settings::default())
            .unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    /// Evaluates the published formula.
    fn evaluate(&self, row: &[f64]) -> Vec3 {
        let [wi, wo] = directions(row);
        (self.formula)(wi, wo, &row[6..])
    }

    /// Kernels for every target that this machine can run.
    fn kernels(&self, entry: Entry) -> Vec<Kernel> {
        let lowered = passes::lower(&passes::optimize(&self.function(entry)));
        let arena = Arena::new();
        let targets = Target::ALL.into_iter().filter(|target| target.is_available());
        targets
            .map(|target| {
                Kernel::compile(&arena, &lowered, target).expect("the target is available")
            })
            .collect()
    }
}

/// The published formulas.
mod formulas {
    use super::Vec3;
    use std::f64::consts::PI;

    fn dot(a: Vec3, b: Vec3) -> f64 {
        a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
    }

    fn half(wi: Vec3, wo: Vec3) -> Vec3 {
        let sum = [wi[0] + wo[0], wi[1] + wo[1], wi[2] + wo[2]];
        let length = dot(sum, sum).sqrt();
        sum.map(|x| x / length)
    }

    fn rgb(f: impl Fn(usize) -> f64) -> Vec3 {
        std::array::from_fn(f)
    }

    /// Lambert.
    pub fn diffuse(_: Vec3, _: Vec3, m: &[f64]) -> Vec3 {
        rgb(|k| m[k] / PI)
    }

    /// Lafortune and Willems 1994.
    pub fn phong(wi: Vec3, wo: Vec3, m: &[f64]) -> Vec3 {
        let n = m[6];
        let normal = [0.0, 0.0, 1.0];
        let mirror: Vec3 = std::array::from_fn(|k| 2.0 * dot(normal, wo) * normal[k] - wo[k]);
        let cos_alpha = dot(wi, mirror).max(0.0);
        rgb(|k| m[k] / PI + m[k + 3] * (n + 2.0) / (2.0 * PI) * cos_alpha.powf(n))
    }

    /// Ward 1992, equation 5a, with the azimuth φ and the inclination δ of the half vector.
    fn ward_lobe(wi: Vec3, wo: Vec3, alpha_x: f64, alpha_y: f64) -> f64 {
        let h = half(wi, wo);
        let tan_delta = (h[0] * h[0] + h[1] * h[1]).sqrt() / h[2];
        let (sin_phi, cos_phi) = h[1].atan2(h[0]).sin_cos();
        let exponent =
            -tan_delta.powi(2) * ((cos_phi / alpha_x).powi(2) + (sin_phi / alpha_y).powi(2));
        (1.0 / (wi[2] * wo[2]).sqrt()) * exponent.exp() / (4.0 * PI * alpha_x * alpha_y)
    }

    pub fn isoward(wi: Vec3, wo: Vec3, m: &[f64]) -> Vec3 {
        rgb(|k| m[k] / PI + m[k + 3] * ward_lobe(wi, wo, m[6], m[6]))
    }

    pub fn ward(wi: Vec3, wo: Vec3, m: &[f64]) -> Vec3 {
        rgb(|k| m[k] / PI + m[k + 3] * ward_lobe(wi, wo, m[6], m[7]))
    }

    /// Ashikhmin and Shirley 2000.
    pub fn ashikhmin(wi: Vec3, wo: Vec3, m: &[f64]) -> Vec3 {
        let (nu, nv) = (m[6], m[7]);
        let h = half(wi, wo);
        // 1 − (n·h)² as the sum of the other squares, which does not cancel. Both vanish if h is
        // the normal.
        let sin2 = h[0] * h[0] + h[1] * h[1];
        let exponent = if sin2 > 0.0 { (nu * h[0] * h[0] + nv * h[1] * h[1]) / sin2 } else { nu };
        let k_h = dot(h, wi);
        let schlick = |rs: f64| rs + (1.0 - rs) * (1.0 - k_h).powi(5);
        let lobe = ((nu + 1.0) * (nv + 1.0)).sqrt() / (8.0 * PI) * h[2].powf(exponent)
            / (k_h * wi[2].max(wo[2]));
        let shape = |cos: f64| 1.0 - (1.0 - cos / 2.0).powi(5);
        rgb(|k| {
            let (rd, rs) = (m[k], m[k + 3]);
            lobe * schlick(rs) + 28.0 * rd / (23.0 * PI) * (1.0 - rs) * shape(wi[2]) * shape(wo[2])
        })
    }

    /// Oren and Nayar 1994, the qualitative model, in their angles.
    pub fn oren_nayar(wi: Vec3, wo: Vec3, m: &[f64]) -> Vec3 {
        let sigma2 = m[3].to_radians().powi(2);
        let a = 1.0 - sigma2 / (2.0 * (sigma2 + 0.33));
        let b = 0.45 * sigma2 / (sigma2 + 0.09);
        let theta = [wi, wo].map(|w| w[0].hypot(w[1]).atan2(w[2]));
        let phi = [wi, wo].map(|w| w[1].atan2(w[0]));
        let (alpha, beta) = (theta[0].max(theta[1]), theta[0].min(theta[1]));
        let shape = a + b * (phi[0] - phi[1]).cos().max(0.0) * alpha.sin() * beta.tan();
        rgb(|k| m[k] / PI * shape)
    }

    /// Two Lambertian lobes.
    pub fn diffuse_transmission(wi: Vec3, wo: Vec3, m: &[f64]) -> Vec3 {
        rgb(|k| if wi[2] * wo[2] > 0.0 { m[k] / PI } else { m[k + 3] / PI })
    }

    /// Number of iterations, up to 64, until z ← z² + c leaves the disk of radius 16, and the final
    /// z.
    pub fn orbit(uv: [f64; 2], c: [f64; 2]) -> (u32, [f64; 2]) {
        let mut z = uv.map(|x| 3.0 * (x - 0.5));
        let mut iterations = 0;
        while iterations < 64 && z[0].hypot(z[1]) < 16.0 {
            z = [z[0] * z[0] - z[1] * z[1] + c[0], 2.0 * z[0] * z[1] + c[1]];
            iterations += 1;
        }
        (iterations, z)
    }

    /// Smooth escape time, based on the fact that each iteration doubles the logarithm of |z|.
    pub fn escape_time(uv: [f64; 2], c: [f64; 2]) -> f64 {
        let (iterations, z) = orbit(uv, c);
        let overshot = (z[0].hypot(z[1]).max(16.0).ln() / 16f64.ln()).log2();
        ((f64::from(iterations) - overshot) / 64.0).clamp(0.0, 1.0).sqrt()
    }

    /// Fresnel's formulas for both polarizations, with Snell's law.
    fn fresnel(cos: f64, eta: f64) -> f64 {
        let cos_t = (1.0 - (1.0 - cos * cos) / (eta * eta)).sqrt();
        let s = (cos - eta * cos_t) / (cos + eta * cos_t);
        let p = (eta * cos - cos_t) / (eta * cos + cos_t);
        (s * s + p * p) / 2.0
    }

    /// Cook and Torrance 1982, normalized.
    fn cook_torrance(wi: Vec3, wo: Vec3, eta: f64, m: f64) -> f64 {
        let h = half(wi, wo);
        let h_wi = dot(h, wi);
        let tan2 = (h[0] * h[0] + h[1] * h[1]) / (h[2] * h[2]);
        let d = (-tan2 / (m * m)).exp() / (PI * m * m * h[2].powi(4));
        let g = 1f64.min(2.0 * h[2] * wi[2] / h_wi).min(2.0 * h[2] * wo[2] / h_wi);
        d * g * fresnel(h_wi.min(1.0), eta) / (4.0 * wi[2] * wo[2])
    }

    pub fn fractal(wi: Vec3, wo: Vec3, m: &[f64]) -> Vec3 {
        fractal_at(escape_time([m[0], m[1]], [m[2], m[3]]), wi, wo, m)
    }

    /// The mixture for a given escape time.
    pub fn fractal_at(t: f64, wi: Vec3, wo: Vec3, m: &[f64]) -> Vec3 {
        let weights = [0.0, 0.5, 1.0].map(|at: f64| (1.0 - 2.0 * (t - at).abs()).max(0.0));
        rgb(|k| {
            (0..3)
                .map(|lobe| {
                    weights[lobe] * cook_torrance(wi, wo, m[4 + 4 * lobe + k], m[7 + 4 * lobe])
                })
                .sum()
        })
    }

    #[test]
    fn orbits_of_zero_have_known_lengths() {
        assert_eq!(orbit([0.5, 0.5], [0.0, 0.0]).0, 64);
        // 0, 2, 6, 38.
        assert_eq!(orbit([0.5, 0.5], [2.0, 0.0]), (3, [38.0, 0.0]));
    }
}

/// A SplitMix64 random number generator.
struct Random(u64);

impl Random {
    /// A uniform number in [0, 1).
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn between(&mut self, lo: f64, hi: f64) -> f64 {
        lo + (hi - lo) * self.next()
    }

    /// A random direction with cosine `z`, rounded to floats.
    fn direction(&mut self, z: f64) -> Vec3 {
        let (sin, cos) = (std::f64::consts::TAU * self.next()).sin_cos();
        let r = (1.0 - z * z).sqrt();
        [r * cos, r * sin, z].map(|x| f64::from(x as f32))
    }

    /// 1, or randomly 1 or −1 for a material that scatters to both sides.
    fn side(&mut self, sides: SurfaceSides) -> f64 {
        if sides == SurfaceSides::Both && self.next() < 0.5 { -1.0 } else { 1.0 }
    }

    /// A random value of a parameter, often an endpoint of its range; log-uniform over wide ranges.
    fn parameter(&mut self, parameter: &Parameter) -> f64 {
        let [lo, hi] = parameter.range;
        let x = match (8.0 * self.next()) as u32 {
            0 => lo,
            1 => hi,
            _ if lo > 0.0 && hi / lo > 20.0 => self.between(lo.ln(), hi.ln()).exp(),
            _ => self.between(lo, hi),
        };
        f64::from((x.clamp(lo, hi)) as f32)
    }

    /// Random values of all parameters. Half of them are close to the defaults, where Julia sets
    /// have structure.
    fn parameters(&mut self, parameters: &[Parameter]) -> Vec<f64> {
        let mut words = vec![];
        for parameter in parameters {
            let default =
                parameter.default.as_ref().expect("parameters of the library have defaults");
            let [lo, hi] = parameter.range;
            for &default in &default[..parameter.size] {
                let near = parameter.name != "uv" && self.next() < 0.5;
                let x = if near {
                    (default * self.between(0.95, 1.05)).clamp(lo, hi)
                } else {
                    self.parameter(parameter)
                };
                words.push(f64::from(x as f32));
            }
        }
        words
    }

    /// A random pair of directions with cosines of at least `min_cos`: uniform, grazing, or in
    /// lobes of all widths around the mirror direction.
    fn directions(&mut self, min_cos: f64) -> [Vec3; 2] {
        loop {
            let cosine = |random: &mut Random| {
                if random.next() < 0.3 {
                    random.between(min_cos.ln(), 0.0).exp()
                } else {
                    random.between(min_cos, 1.0)
                }
            };
            let z = cosine(self);
            let wo = self.direction(z);
            let wi = if self.next() < 0.5 {
                let z = cosine(self);
                self.direction(z)
            } else {
                let slope = self.between(1e-4f64.ln(), 0.0).exp();
                let (sin, cos) = (std::f64::consts::TAU * self.next()).sin_cos();
                let length = (1.0 + slope * slope).sqrt();
                let h = [slope * cos / length, slope * sin / length, 1.0 / length];
                let d = 2.0 * (wo[0] * h[0] + wo[1] * h[1] + wo[2] * h[2]);
                std::array::from_fn(|k| f64::from((d * h[k] - wo[k]) as f32))
            };
            if wi[2] >= min_cos && wi.iter().map(|x| x * x).sum::<f64>() > 0.9 {
                return [wi, wo];
            }
        }
    }
}

/// Runs a kernel on rows of inputs.
fn run(kernel: &Kernel, rows: &[Vec<f64>]) -> Vec<Vec<f32>> {
    let mut inputs = Batch::new(kernel.target(), kernel.inputs().len(), rows.len());
    let mut outputs = Batch::new(kernel.target(), kernel.outputs().len(), rows.len());
    for (r, row) in rows.iter().enumerate() {
        row.iter().enumerate().for_each(|(port, &x)| inputs.set(r, port, x as f32));
    }
    kernel.run(&[], &inputs, &mut outputs);
    (0..rows.len())
        .map(|r| (0..kernel.outputs().len()).map(|port| outputs.get(r, port)).collect())
        .collect()
}

fn row(wi: Vec3, wo: Vec3, parameters: &[f64]) -> Vec<f64> {
    [&wi[..], &wo, parameters].concat()
}

fn directions(row: &[f64]) -> [Vec3; 2] {
    [[row[0], row[1], row[2]], [row[3], row[4], row[5]]]
}

/// Half an ulp of 1: the maximum relative error of rounding to a float.
const EPSILON: f64 = 1.0 / (1 << 24) as f64;

/// Number of rounding errors allowed for the result and for each input.
const ROUNDINGS: f64 = 16.0;

/// Absolute error that is ignored, since lobes are cut off at 1e-35 of their peaks.
const NEGLIGIBLE: f64 = 1e-22;

/// Tolerance of a float result: the effect of [`ROUNDINGS`] rounding errors of each input, plus as
/// many of the result. There are three more sources of error: a base close to 1 is rounded by ε
/// independently of its inputs, which contributes n·ε to its n-th power; 1 − (1 − cos θ/2)⁵ has an
/// absolute, not a relative error of ε; and an orbit accumulates rounding errors in each iteration.
fn tolerance(material: &Material, row: &[f64]) -> Vec3 {
    let parameters = &row[6..];
    let exponent = match material.name {
        "phong" => parameters[6],
        "ashikhmin" => parameters[6].max(parameters[7]),
        _ => 0.0,
    };
    let exact = material.evaluate(row);
    let mut tolerance = exact.map(|x| (ROUNDINGS + exponent) * EPSILON * x.abs() + NEGLIGIBLE);
    if material.name == "ashikhmin" {
        (0..3).for_each(|k| {
            tolerance[k] +=
                ROUNDINGS * EPSILON * 28.0 / (23.0 * std::f64::consts::PI) * parameters[k]
        });
    }
    for (index, &input) in row.iter().enumerate() {
        let mut inputs = row.to_vec();
        // The error of a small component may be relative to the vector's length.
        inputs[index] += EPSILON * if index < 6 { input.abs().max(1e-3) } else { input.abs() };
        let perturbed = material.evaluate(&inputs);
        (0..3).for_each(|k| tolerance[k] += ROUNDINGS * (perturbed[k] - exact[k]).abs());
    }
    if material.name == "fractal" {
        let t =
            formulas::escape_time([parameters[0], parameters[1]], [parameters[2], parameters[3]]);
        let error = escape_time_error(parameters, t);
        for t in [t - error, t + error] {
            let [wi, wo] = directions(row);
            let perturbed = formulas::fractal_at(t.clamp(0.0, 1.0), wi, wo, parameters);
            (0..3).for_each(|k| tolerance[k] += (perturbed[k] - exact[k]).abs());
        }
    }
    tolerance
}

/// Tolerance of the escape time `t` in floats: the running error bound of the orbit (Higham 2002
/// §3.3), or 1 if the iteration of the escape is uncertain.
fn escape_time_error(parameters: &[f64], t: f64) -> f64 {
    let c = [parameters[2], parameters[3]];
    let mut z = [parameters[0], parameters[1]].map(|x| 3.0 * (x - 0.5));
    let mut error = 4.0 * EPSILON;
    for _ in 0..64 {
        let length = z[0].hypot(z[1]);
        if (length - 16.0).abs() <= error + 16.0 * ROUNDINGS * EPSILON {
            return 1.0;
        }
        if length >= 16.0 {
            break;
        }
        error = 2.0 * length * error
            + error * error
            + 4.0 * EPSILON * (length * length + c[0].hypot(c[1]));
        z = [z[0] * z[0] - z[1] * z[1] + c[0], 2.0 * z[0] * z[1] + c[1]];
    }
    let length = z[0].hypot(z[1]).max(16.0);
    let escape_error =
        error / (length * length.ln() * std::f64::consts::LN_2) + 64.0 * ROUNDINGS * EPSILON;
    (escape_error / (128.0 * t)).min((escape_error / 64.0).sqrt()).min(1.0)
}

#[test]
fn materials_match_the_published_formulas() {
    const ROWS: usize = 4000;
    for material in &MATERIALS {
        let shader = material.shader();
        let mut random = Random(7);
        let rows: Vec<_> = (0..ROWS)
            .map(|_| {
                let [wi, wo] = random.directions(1e-3);
                let wi = [wi[0], wi[1], random.side(shader.sides()) * wi[2]];
                row(wi, wo, &random.parameters(shader.parameters()))
            })
            .collect();
        let exact: Vec<_> = rows.iter().map(|row| material.evaluate(row)).collect();
        let tolerances: Vec<_> = rows.iter().map(|row| tolerance(material, row)).collect();
        // Floats are too imprecise on the steep flanks of the narrowest lobes, and for orbits near
        // the Julia set.
        let is_precise =
            |r: usize| (0..3).all(|k| tolerances[r][k] <= 0.1 * exact[r][k] + 2.0 * NEGLIGIBLE);
        let imprecise = (0..ROWS).filter(|&r| !is_precise(r)).count();
        assert!(
            imprecise <= ROWS / 8,
            "{}: {imprecise} of {ROWS} rows are too imprecise",
            material.name
        );
        for kernel in material.kernels(Entry::Brdf) {
            let results = run(&kernel, &rows);
            for (r, result) in results.iter().enumerate().filter(|&(r, _)| is_precise(r)) {
                for k in 0..3 {
                    let (brdf, s) = (f64::from(result[k]), f64::from(result[k + 3]));
                    let (expected, tolerance, cos) =
                        (exact[r][k], tolerances[r][k], rows[r][2].abs());
                    assert!(
                        (brdf - expected).abs() <= tolerance
                            && (s - expected * cos).abs() <= tolerance * cos + NEGLIGIBLE,
                        "{} on {}, seed 7, row {r}: brdf {brdf:e}, s {s:e}, expected brdf {expected:e} ± {tolerance:e}; {:?}",
                        material.name,
                        kernel.target(),
                        rows[r]
                    );
                }
            }
        }
    }
}

#[test]
fn materials_are_finite_everywhere_and_zero_below_the_horizon() {
    for material in &MATERIALS {
        let shader = material.shader();
        let mut random = Random(11);
        let mut rows = vec![];
        for _ in 0..1000 {
            let parameters = random.parameters(shader.parameters());
            // Cosines down to the smallest floats, with both signs for wi, and directions for which
            // half vectors vanish.
            let cosines = [0; 2].map(|_| random.between(-100.0, 0.0).exp());
            let wo = random.direction(cosines[0]);
            let wi = random.direction(cosines[1]);
            let below = [wi[0], wi[1], -wi[2]];
            let opposite = wo.map(|x| -x);
            let mirrored = [wo[0], wo[1], -wo[2]];
            let specular = [-wo[0], -wo[1], wo[2]];
            let normal = [0.0, 0.0, 1.0];
            rows.extend(
                [
                    wi,
                    below,
                    opposite,
                    mirrored,
                    specular,
                    wo,
                    normal,
                    [0.0, 0.0, -1.0],
                    [1.0, 0.0, 0.0],
                ]
                .map(|wi| row(wi, wo, &parameters)),
            );
        }
        for kernel in material.kernels(Entry::Brdf) {
            for (result, row) in run(&kernel, &rows).iter().zip(&rows) {
                let context = format!(
                    "{} on {}, seed 11: {result:?} for {row:?}",
                    material.name,
                    kernel.target()
                );
                assert!(result.iter().all(|x| x.is_finite()), "{context}");
                let one_sided = shader.sides() == SurfaceSides::One;
                let is_zero = result[3..].iter().all(|&s| s == 0.0);
                assert!(row[2] > 0.0 || !one_sided || is_zero, "{context}");
                assert!(row[2] < 0.0 || result.iter().all(|&x| x >= 0.0), "{context}");
            }
        }
    }
}

#[test]
fn materials_are_reciprocal() {
    for material in &MATERIALS {
        let shader = material.shader();
        let mut random = Random(13);
        let (mut rows, mut swapped) = (vec![], vec![]);
        for _ in 0..2000 {
            let [wi, wo] = random.directions(1e-3);
            let wi = [wi[0], wi[1], random.side(shader.sides()) * wi[2]];
            let parameters = random.parameters(shader.parameters());
            rows.push(row(wi, wo, &parameters));
            swapped.push(row(wo, wi, &parameters));
        }
        for kernel in material.kernels(Entry::Brdf) {
            let (results, reciprocal) = (run(&kernel, &rows), run(&kernel, &swapped));
            for (r, (a, b)) in results.iter().zip(&reciprocal).enumerate() {
                // Only the order of symmetric products differs.
                let is_close = |k: usize| (a[k] - b[k]).abs() <= 1e-6 * a[k];
                assert!(
                    (0..3).all(is_close),
                    "{} on {}, row {r}: {a:?}, {b:?}",
                    material.name,
                    kernel.target()
                );
            }
        }
    }
}

/// Fraction of light from `wo` that a material scatters into both hemispheres, by the midpoint
/// rule.
fn albedo(kernel: &Kernel, wo: Vec3, parameters: &[f64]) -> Vec3 {
    const COSINES: usize = 96;
    const AZIMUTHS: usize = 96;
    let mut rows = Vec::with_capacity(COSINES * AZIMUTHS);
    for i in 0..COSINES {
        // Finer steps for cosines close to 0, where the integrand behaves like √cos θ.
        let u = (i as f64 + 0.5) / COSINES as f64;
        let z = u * u;
        let r = (1.0 - z * z).sqrt();
        for j in 0..AZIMUTHS {
            let (sin, cos) = (std::f64::consts::TAU * (j as f64 + 0.5) / AZIMUTHS as f64).sin_cos();
            rows.push(row([r * cos, r * sin, z], wo, parameters));
        }
    }
    let mut sum = [0.0; 3];
    let below: Vec<_> = rows.iter().map(|r| row([r[0], r[1], -r[2]], wo, parameters)).collect();
    for rows in [rows, below] {
        for (row, result) in rows.iter().zip(run(kernel, &rows)) {
            let weight =
                2.0 * row[2].abs().sqrt() * std::f64::consts::TAU / (COSINES * AZIMUTHS) as f64;
            (0..3).for_each(|k| sum[k] += weight * f64::from(result[k]));
        }
    }
    sum
}

#[test]
fn materials_conserve_energy() {
    // The most reflective parameters of each model, with lobes as wide as the quadrature needs.
    let white = |n: usize, rest: &[f64]| [&vec![0.5; n][..], rest].concat();
    let metal = |m: f64| [[100.0; 3].to_vec(), vec![m]].concat();
    let fractal = |uv: [f64; 2]| {
        [uv.to_vec(), vec![-0.8, 0.156], metal(0.2), metal(0.4), metal(0.7)].concat()
    };
    let cases: [(&str, Vec<Vec<f64>>); 8] = [
        ("diffuse", vec![vec![1.0; 3]]),
        ("phong", vec![white(6, &[1.0]), white(6, &[10.0]), white(6, &[100.0])]),
        ("isoward", vec![white(6, &[0.15]), white(6, &[0.3]), white(6, &[1.0])]),
        ("ward", vec![white(6, &[0.15, 0.5]), white(6, &[0.3, 0.2]), white(6, &[1.0, 0.2])]),
        (
            "ashikhmin",
            [[0.0, 1.0], [1.0, 0.5], [1.0, 0.05]]
                .into_iter()
                .flat_map(|[kd, ks]| {
                    [[1.0, 1.0], [100.0, 10.0], [100.0, 100.0]]
                        .map(|n| [vec![kd; 3], vec![ks; 3], n.to_vec()].concat())
                })
                .collect(),
        ),
        ("fractal", vec![fractal([0.0, 0.0]), fractal([0.5, 0.3]), fractal([0.5, 0.5])]),
        // From σ = 19° on; for smaller σ, the albedo exceeds 1 by up to 1.6 % at the horizon.
        ("oren_nayar", [19.0, 40.0, 90.0].map(|sigma| vec![1.0, 1.0, 1.0, sigma]).to_vec()),
        ("diffuse_transmission", vec![white(6, &[])]),
    ];
    for (name, parameters) in cases {
        let material = MATERIALS
            .iter()
            .find(|material| material.name == name)
            .expect("there is a material with this name");
        let kernel =
            material.kernels(Entry::Integrand).pop().expect("the interpreter is always available");
        for parameters in parameters {
            for degrees in [0.0f64, 30.0, 60.0, 80.0, 88.0] {
                let (sin, cos) = degrees.to_radians().sin_cos();
                for azimuth in [0.0f64, 0.7] {
                    let wo = [sin * azimuth.cos(), sin * azimuth.sin(), cos];
                    let albedo = albedo(&kernel, wo, &parameters);
                    assert!(
                        albedo.iter().all(|&a| a > 0.0 && a <= 1.01),
                        "{name} {parameters:?} at {degrees}°: {albedo:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn fractal_runs_as_many_iterations_as_its_orbit() {
    let material = &MATERIALS[5];
    let function = material.function(Entry::Integrand);
    let shader = material.shader();
    let mut parameters: Vec<f64> = shader
        .parameters()
        .iter()
        .flat_map(|p| p.default.clone().expect("the parameter has a default"))
        .collect();
    let mut counts = std::collections::BTreeSet::new();
    for i in 0..16 {
        let uv = [(f64::from(i) + 0.5) / 16.0, 0.5];
        parameters[..2].copy_from_slice(&uv);
        let words: Vec<u32> = row([0.0, 0.0, 1.0], [0.6, 0.0, 0.8], &parameters)
            .iter()
            .map(|&x| (x as f32).to_bits())
            .collect();
        let c = [parameters[2], parameters[3]].map(|x| f64::from(x as f32));
        let iterations = u64::from(formulas::orbit(uv, c).0);
        assert!(
            interpreter::run(&function, &[], &words, iterations).is_ok(),
            "uv {uv:?} takes more than {iterations} iterations"
        );
        assert!(
            iterations == 0 || interpreter::run(&function, &[], &words, iterations - 1).is_err(),
            "uv {uv:?} takes fewer than {iterations} iterations"
        );
        counts.insert(iterations);
    }
    assert!(
        counts.len() >= 5 && counts.contains(&64),
        "too few different iteration counts: {counts:?}"
    );
}

#[test]
fn fractal_instruction_count_is_similar_to_the_paper() {
    let lowered = passes::lower(&passes::optimize(&MATERIALS[5].function(Entry::Integrand)));
    // Clarberg et al. 2010, table 1, reports 447 instructions.
    let instructions = Code::compile(&lowered, Isa::Sse41).counts().total;
    assert!((300..=700).contains(&instructions), "{instructions} instructions");
}
