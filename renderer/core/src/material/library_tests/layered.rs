//! Compares coated materials with random walks between their layers, as pbrt-v4 evaluates them.
//!
//! The walk follows `LayeredBxDF` of pbrt-v4 (*Physically Based Rendering*, 4th edition, §14.3; Guo
//! et al. 2018) without a medium that scatters, in double precision: microfacets reflect or refract
//! by their visible normals and lose the light that would scatter between them, and the coat
//! absorbs on the way. pbrt-v4 ends a walk after `maxdepth` interactions within the coat. These
//! alternate between base and interface, so light is reflected by the base ⌈`maxdepth`/2⌉ times at
//! most. (Directions that pbrt-v4 samples lack the last of them if `maxdepth` is odd.) `nsamples`
//! changes the noise only.

use super::cases::Case;
use super::microfacets::{conductor_fresnel, dielectric_fresnel};
use super::{TestMaterial, stratified};
use glam::{DVec2, DVec3, dvec2, dvec3};
use lightbound_math::Vec3;
use lightbound_math::sampling::{hash, unit_float};
use std::f64::consts::{FRAC_1_PI, PI, TAU};

/// Values of `maxdepth` in the tables.
const DEPTHS: [usize; 4] = [1, 3, 10, 100];

/// Maximum number of reflections at the base.
const MAX_REFLECTIONS: usize = 50;

/// Polar angles of the directions in degrees.
const POLAR: [f64; 4] = [0.0, 30.0, 60.0, 75.0];

/// Azimuths of `wi` relative to `wo` in degrees. 180° is the side of the mirror direction.
const AZIMUTHS: [f64; 3] = [0.0, 90.0, 180.0];

/// Index of refraction of the coat.
const ETA: f64 = 1.5;

#[derive(Clone, Copy, Debug)]
enum Base {
    /// A diffuse base with this albedo.
    Diffuse(f64),
    /// A metal with this roughness, and η and k relative to the coat.
    Metal { alpha: f64, index: (f64, f64) },
}

/// A coat of index [`ETA`] over a base.
#[derive(Clone, Copy)]
struct Layers {
    base: Base,
    alpha: f64,
    thickness: f64,
}

/// Smith's Λ of GGX microfacets.
fn lambda(w: DVec3, alpha: f64) -> f64 {
    let tan2 = (w.x * w.x + w.y * w.y) / (w.z * w.z);
    0.5 * ((1.0 + alpha * alpha * tan2).sqrt() - 1.0)
}

/// Samples a normal of GGX microfacets visible from `w`, on its side (Dupuy and Benyoub 2023).
fn visible_normal(w: DVec3, alpha: f64, u: DVec2) -> DVec3 {
    let side = w.z.signum();
    let v = (side * w * dvec3(alpha, alpha, 1.0)).normalize();
    let z = (1.0 - u.x) * (1.0 + v.z) - v.z;
    let (s, c) = (TAU * u.y).sin_cos();
    let cap = dvec3(c, s, 0.0) * (1.0 - z * z).max(0.0).sqrt() + dvec3(0.0, 0.0, z);
    side * ((cap + v) * dvec3(alpha, alpha, 1.0)).normalize()
}

/// Part of the light that is neither shadowed nor masked on leaving in direction `out`, if it is not
/// masked in direction `w`.
fn unshadowed(w: DVec3, out: DVec3, alpha: f64) -> f64 {
    let from = 1.0 + lambda(w, alpha);
    from / (from + lambda(out, alpha))
}

/// Mirrors `w` at a normal.
fn mirrored(w: DVec3, normal: DVec3) -> DVec3 {
    2.0 * w.dot(normal) * normal - w
}

/// Refracts `w` at a normal on its side; `eta` is the index on the other side relative to that of
/// `w`. `None` for total reflection.
fn refracted(w: DVec3, normal: DVec3, eta: f64) -> Option<DVec3> {
    let cos = w.dot(normal);
    let cos2 = 1.0 - (1.0 - cos * cos) / (eta * eta);
    (cos2 > 0.0).then(|| (cos / eta - cos2.sqrt()) * normal - w / eta)
}

/// Light at the interface: what is reflected and what is transmitted, each with its direction.
struct Interface {
    reflected: (f64, DVec3),
    transmitted: (f64, DVec3),
}

struct Walk<'a> {
    layers: &'a Layers,
    /// Seed, and the number of random points so far.
    random: [u32; 2],
}

impl Walk<'_> {
    fn point(&mut self) -> DVec2 {
        let [seed, count] = &mut self.random;
        *count += 1;
        let [x, y] = [0, 1].map(|d| f64::from(unit_float(hash(hash(*seed, *count), d))));
        dvec2(x, y)
    }

    fn interact(&mut self, w: DVec3) -> Interface {
        let alpha = self.layers.alpha;
        let eta = if w.z > 0.0 { ETA } else { 1.0 / ETA };
        let normal = match alpha {
            0.0 => DVec3::Z * w.z.signum(),
            _ => visible_normal(w, alpha, self.point()),
        };
        let reflectance = dielectric_fresnel(w.dot(normal).min(1.0), eta);
        let part = |out: DVec3, is_reflected: bool| {
            if (out.z * w.z > 0.0) == is_reflected { unshadowed(w, out, alpha) } else { 0.0 }
        };
        let reflected = mirrored(w, normal);
        let transmitted = refracted(w, normal, eta)
            .map(|w| ((1.0 - reflectance) * part(w, false), w))
            .unwrap_or((0.0, -w));
        Interface { reflected: (reflectance * part(reflected, true), reflected), transmitted }
    }

    fn transmittance(&self, w: DVec3) -> f64 {
        (-self.layers.thickness / w.z.abs()).exp()
    }

    /// BRDF of the base for directions in the coat.
    fn base_brdf(&self, wi: DVec3, wo: DVec3) -> f64 {
        match self.layers.base {
            Base::Diffuse(albedo) => albedo * FRAC_1_PI,
            Base::Metal { alpha, index } => {
                let h = (wi + wo).normalize();
                let tan2 = (h.x * h.x + h.y * h.y) / (alpha * alpha);
                let d = FRAC_1_PI / (alpha * alpha * (tan2 + h.z * h.z).powi(2));
                let g = 1.0 / (1.0 + lambda(wi, alpha) + lambda(wo, alpha));
                conductor_fresnel(wi.dot(h), index) * d * g / (4.0 * wi.z * wo.z)
            }
        }
    }

    /// Reflects light at the base; returns the weight and the direction.
    fn reflect(&mut self, wo: DVec3) -> (f64, DVec3) {
        let u = self.point();
        match self.layers.base {
            Base::Diffuse(albedo) => {
                let (s, c) = (TAU * u.y).sin_cos();
                (albedo, dvec3(c * u.x.sqrt(), s * u.x.sqrt(), (1.0 - u.x).max(1e-12).sqrt()))
            }
            Base::Metal { alpha, index } => {
                let normal = visible_normal(wo, alpha, u);
                let wi = mirrored(wo, normal);
                let weight = conductor_fresnel(wo.dot(normal), index) * unshadowed(wo, wi, alpha);
                (if wi.z > 0.0 { weight } else { 0.0 }, wi)
            }
        }
    }

    /// Follows light from `wo`. Returns the albedo of the interface. Adds to `albedo` the light that
    /// leaves after one reflection at the base, two, and so on; and to each of `brdfs` the BRDF for
    /// `wo` and a direction in `wi`, without reflection by the outside of the interface.
    fn run(
        &mut self,
        wo: DVec3,
        wi: &[DVec3],
        albedo: &mut [f64; MAX_REFLECTIONS],
        brdfs: &mut [[f64; MAX_REFLECTIONS]],
    ) -> f64 {
        let outside = self.interact(wo);
        let (mut weight, mut w) = outside.transmitted;
        // The directions in the coat from which light reaches `wi`. By reciprocity, they are
        // sampled from `wi`.
        let exits: Vec<_> = wi
            .iter()
            .map(|&wi| {
                let (weight, w) = self.interact(wi).transmitted;
                (weight * self.transmittance(w) / (ETA * ETA), -w)
            })
            .collect();
        for k in 0..MAX_REFLECTIONS {
            if weight < 1e-7 {
                break;
            }
            weight *= self.transmittance(w);
            let up = -w;
            for ((exit, out), brdf) in
                exits.iter().zip(&mut *brdfs).filter(|((exit, _), _)| *exit > 0.0)
            {
                brdf[k] += weight * exit * self.base_brdf(*out, up);
            }
            let (reflectance, reflected) = self.reflect(up);
            weight *= reflectance;
            if weight < 1e-7 {
                break;
            }
            weight *= self.transmittance(reflected);
            let interface = self.interact(-reflected);
            albedo[k] += weight * interface.transmitted.0;
            weight *= interface.reflected.0;
            w = interface.reflected.1;
        }
        outside.reflected.0
    }
}

fn direction(polar: f64, azimuth: f64) -> DVec3 {
    let ((s, c), (sp, cp)) = (polar.to_radians().sin_cos(), azimuth.to_radians().sin_cos());
    dvec3(s * cp, s * sp, c)
}

/// Sums over the reflections that `maxdepth` permits, for each of [`DEPTHS`].
fn limited(terms: &[f64; MAX_REFLECTIONS]) -> [f64; 4] {
    DEPTHS.map(|depth| terms[..depth.div_ceil(2)].iter().sum())
}

/// The differences between a shader and the walk, for each of [`DEPTHS`].
#[derive(Debug)]
struct Differences {
    /// Largest difference of the albedo over the polar angles.
    albedo: [f64; 4],
    /// Relative difference of the BRDF without reflection by the outside of the coat: root mean
    /// square over pairs of directions, over that of the walk.
    brdf: [f64; 4],
}

impl Layers {
    fn material(&self) -> TestMaterial {
        let (alpha, thickness) = (&[self.alpha][..], &[self.thickness][..]);
        let set: Vec<(&'static str, Vec<f64>)> = match self.base {
            Base::Diffuse(albedo) => vec![
                ("kd", vec![albedo]),
                ("eta", vec![ETA]),
                ("alpha_x", alpha.to_vec()),
                ("alpha_y", alpha.to_vec()),
                ("thickness", thickness.to_vec()),
            ],
            Base::Metal { alpha: metal, index: (eta, k) } => vec![
                // The shader's index is that in vacuum.
                ("eta", vec![eta * ETA]),
                ("k", vec![k * ETA]),
                ("alpha_x", vec![metal]),
                ("alpha_y", vec![metal]),
                ("coat_eta", vec![ETA]),
                ("coat_alpha_x", alpha.to_vec()),
                ("coat_alpha_y", alpha.to_vec()),
                ("thickness", thickness.to_vec()),
            ],
        };
        let file = match self.base {
            Base::Diffuse(_) => "coated_diffuse",
            Base::Metal { .. } => "coated_conductor",
        };
        let mut material = TestMaterial::new(&Case { file, set: &[], glossy: false, albedo: 1.0 });
        material.set(|member| {
            let value = set.iter().find(|(name, _)| *name == member.name);
            value.map_or_else(|| member.default.clone().expect("all have one"), |x| x.1.clone())
        });
        material
    }

    /// Reflection by the outside of a rough coat, which the shader and pbrt-v4 compute alike.
    fn surface_brdf(&self, wi: DVec3, wo: DVec3) -> f64 {
        if self.alpha == 0.0 {
            return 0.0;
        }
        let (h, a2) = ((wi + wo).normalize(), self.alpha * self.alpha);
        let d = FRAC_1_PI / (a2 * ((h.x * h.x + h.y * h.y) / a2 + h.z * h.z).powi(2));
        let g = 1.0 / (1.0 + lambda(wi, self.alpha) + lambda(wo, self.alpha));
        dielectric_fresnel(wi.dot(h), ETA) * d * g / (4.0 * wi.z * wo.z)
    }

    fn differences(&self, walks: u32) -> Differences {
        let material = self.material();
        let mut albedos = [0.0_f64; 4];
        let (mut squared, mut reference) = ([0.0; 4], [0.0; 4]);
        for (k, &polar) in POLAR.iter().enumerate() {
            let wo = direction(polar, 0.0);
            let wi: Vec<DVec3> = POLAR
                .iter()
                .flat_map(|&polar| AZIMUTHS.map(|azimuth| direction(polar, azimuth)))
                .collect();
            let mut walk = Walk { layers: self, random: [k as u32, 0] };
            let mut albedo = [0.0; MAX_REFLECTIONS];
            let mut brdfs = vec![[0.0; MAX_REFLECTIONS]; wi.len()];
            let surface: f64 = (0..walks).map(|_| walk.run(wo, &wi, &mut albedo, &mut brdfs)).sum();
            let mean = |sums: [f64; 4]| sums.map(|sum| sum / f64::from(walks));

            let samples = material.scatter(&stratified(200), wo.as_vec3());
            let weights = samples.iter().map(|sample| f64::from(sample.weight().x));
            // The renderer adds reflection by a polished coat.
            let polished = if self.alpha == 0.0 { dielectric_fresnel(wo.z, ETA) } else { 0.0 };
            let ours = weights.sum::<f64>() / samples.len() as f64 + polished;
            for (largest, base) in albedos.iter_mut().zip(mean(limited(&albedo))) {
                let difference = ours - base - surface / f64::from(walks);
                if difference.is_nan() || difference.abs() > largest.abs() {
                    *largest = difference;
                }
            }
            let pairs: Vec<(Vec3, Vec3)> =
                wi.iter().map(|wi| (wi.as_vec3(), wo.as_vec3())).collect();
            for ((sample, wi), brdf) in material.evaluate(&pairs).iter().zip(&wi).zip(&brdfs) {
                let ours = f64::from(sample.s.x) / wi.z - self.surface_brdf(*wi, wo);
                for (d, walked) in mean(limited(brdf)).into_iter().enumerate() {
                    squared[d] += (ours - walked).powi(2);
                    reference[d] += walked.powi(2);
                }
            }
        }
        let brdf = [0, 1, 2, 3].map(|d: usize| f64::sqrt(squared[d] / reference[d]));
        Differences { albedo: albedos, brdf }
    }
}

#[test]
fn albedo_of_walks_is_the_integral_of_their_brdf() {
    for base in [Base::Diffuse(0.9), Base::Metal { alpha: 0.3, index: BRIGHT }] {
        for alpha in [0.0, 0.3] {
            let layers = Layers { base, alpha, thickness: 0.1 };
            let mut walk = Walk { layers: &layers, random: [0, 0] };
            let mut albedo = [0.0; MAX_REFLECTIONS];
            let mut brdfs = [[0.0; MAX_REFLECTIONS]; 4];
            for _ in 0..40_000 {
                // The density is cos θ/π.
                let wi = brdfs.map(|_| {
                    let DVec2 { x, y } = walk.point();
                    direction(x.sqrt().asin().to_degrees(), 360.0 * y)
                });
                walk.run(direction(50.0, 0.0), &wi, &mut albedo, &mut brdfs);
            }
            for (d, albedo) in limited(&albedo).into_iter().enumerate() {
                let brdf: f64 = brdfs.iter().map(|brdf| limited(brdf)[d]).sum();
                let ratio = PI * brdf / brdfs.len() as f64 / albedo;
                assert!((ratio - 1.0).abs() < 0.02, "{base:?} {alpha} {d}: {ratio}");
            }
        }
    }
}

/// A metal that reflects 96 % within the coat.
const BRIGHT: (f64, f64) = (0.1, 3.0);

/// A metal that reflects 41 % within the coat.
const DARK: (f64, f64) = (1.5, 2.0);

#[test]
fn coats_differ_from_random_walks_as_documented() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/pbrt.md");
    let docs = std::fs::read_to_string(path).expect("the manual exists");
    let mut errors = vec![];
    for (name, base, coats) in [
        ("diffuse, 0.5", Base::Diffuse(0.5), &[(0.0, 0.01), (0.3, 0.01)][..]),
        ("diffuse, 0.9", Base::Diffuse(0.9), &[(0.0, 0.01), (0.0, 0.1), (0.3, 0.01), (0.3, 0.1)]),
        (
            "metal, 0.41, α 0.3",
            Base::Metal { alpha: 0.3, index: DARK },
            &[(0.0, 0.01), (0.3, 0.01)],
        ),
        (
            "metal, 0.96, α 0.3",
            Base::Metal { alpha: 0.3, index: BRIGHT },
            &[(0.0, 0.01), (0.1, 0.01), (0.3, 0.01)],
        ),
        (
            "metal, 0.96, α 0.1",
            Base::Metal { alpha: 0.1, index: BRIGHT },
            &[(0.0, 0.01), (0.3, 0.01)],
        ),
    ] {
        for &(alpha, thickness) in coats {
            let Differences { albedo, brdf } =
                Layers { base, alpha, thickness }.differences(20_000);
            let start = format!("| {name} | {alpha} | {thickness} |");
            let cells = albedo.iter().zip(&brdf).map(|(a, b)| format!(" {a:+.2}, {b:.2} |"));
            println!("  {start}{}", cells.collect::<String>());
            // The order of the numbers in a row.
            let measured: Vec<f64> = albedo.iter().zip(&brdf).flat_map(|(a, b)| [*a, *b]).collect();
            let row = docs.lines().find_map(|line| line.trim().strip_prefix(start.as_str()));
            let documented: Vec<f64> = row
                .unwrap_or_default()
                .split([',', '|'])
                .filter_map(|cell| cell.trim().replace('−', "-").parse().ok())
                .collect();
            let is_close = |(a, b): (&f64, &f64)| (a - b).abs() < 0.015;
            if documented.len() != 8 || !documented.iter().zip(&measured).all(is_close) {
                errors.push(format!("{start} {documented:?} is {measured:.3?}"));
            }
        }
    }
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}
