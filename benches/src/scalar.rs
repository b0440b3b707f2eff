//! The six materials in scalar Rust, hand-written with `glam` and the standard library's `exp` and
//! `powf`: the baseline of compiled shaders. They return early below the horizon, skip lobes of
//! zero weight, and cut off exponents that would lead to slow subnormal numbers.

use glam::{Vec2, Vec3};
use std::f32::consts::{FRAC_1_PI, PI};

/// A BRDF, 1/sr.
trait Brdf {
    /// Reads the parameters from the part of a row after the directions.
    fn new(words: &[f32]) -> Self;
    fn eval(&self, wi: Vec3, wo: Vec3) -> Vec3;
}

/// Samples of one material to evaluate.
pub trait Samples {
    /// Evaluates BRDF · max(wi.z, 0) for every sample.
    fn run(&self, out: &mut [Vec3]);
}

struct Sample<M> {
    wi: Vec3,
    wo: Vec3,
    material: M,
}

impl<M: Brdf> Samples for Vec<Sample<M>> {
    fn run(&self, out: &mut [Vec3]) {
        for (sample, out) in self.iter().zip(out) {
            let wi = sample.wi;
            *out = if wi.z > 0.0 { sample.material.eval(wi, sample.wo) * wi.z } else { Vec3::ZERO };
        }
    }
}

/// Converts rows of inputs of the named shader to samples.
pub fn samples(name: &str, rows: &[Vec<f32>]) -> Box<dyn Samples> {
    fn read<M: Brdf + 'static>(rows: &[Vec<f32>]) -> Box<dyn Samples> {
        let sample = |row: &Vec<f32>| Sample {
            wi: Vec3::from_slice(&row[..3]),
            wo: Vec3::from_slice(&row[3..6]),
            material: M::new(&row[6..]),
        };
        Box::new(rows.iter().map(sample).collect::<Vec<_>>())
    }
    match name {
        "diffuse" => read::<Diffuse>(rows),
        "phong" => read::<Phong>(rows),
        "isoward" => read::<IsoWard>(rows),
        "ward" => read::<Ward>(rows),
        "ashikhmin" => read::<Ashikhmin>(rows),
        "fractal" => read::<Fractal>(rows),
        _ => panic!("no material is named `{name}`"),
    }
}

struct Diffuse {
    kd: Vec3,
}

impl Brdf for Diffuse {
    fn new(w: &[f32]) -> Self {
        Diffuse { kd: Vec3::from_slice(w) }
    }

    fn eval(&self, _: Vec3, _: Vec3) -> Vec3 {
        self.kd * FRAC_1_PI
    }
}

struct Phong {
    kd: Vec3,
    ks: Vec3,
    exponent: f32,
}

impl Brdf for Phong {
    fn new(w: &[f32]) -> Self {
        Phong { kd: Vec3::from_slice(w), ks: Vec3::from_slice(&w[3..]), exponent: w[6] }
    }

    fn eval(&self, wi: Vec3, wo: Vec3) -> Vec3 {
        let mirror = Vec3::new(-wo.x, -wo.y, wo.z);
        let cos_alpha = wi.dot(mirror).max(0.0);
        let lobe = (0.5 * self.exponent + 1.0) * cos_alpha.powf(self.exponent);
        (self.kd + self.ks * lobe) * FRAC_1_PI
    }
}

struct IsoWard {
    kd: Vec3,
    ks: Vec3,
    alpha: f32,
}

impl Brdf for IsoWard {
    fn new(w: &[f32]) -> Self {
        IsoWard { kd: Vec3::from_slice(w), ks: Vec3::from_slice(&w[3..]), alpha: w[6] }
    }

    fn eval(&self, wi: Vec3, wo: Vec3) -> Vec3 {
        let h = wi + wo;
        let alpha2 = self.alpha * self.alpha;
        let slope2 = (h.x * h.x + h.y * h.y) / (alpha2 * h.z * h.z);
        let lobe = (-slope2).max(-80.0).exp() / (4.0 * alpha2 * (wi.z * wo.z).max(1e-8).sqrt());
        (self.kd + self.ks * lobe) * FRAC_1_PI
    }
}

struct Ward {
    kd: Vec3,
    ks: Vec3,
    alpha_x: f32,
    alpha_y: f32,
}

impl Brdf for Ward {
    fn new(w: &[f32]) -> Self {
        Ward {
            kd: Vec3::from_slice(w),
            ks: Vec3::from_slice(&w[3..]),
            alpha_x: w[6],
            alpha_y: w[7],
        }
    }

    fn eval(&self, wi: Vec3, wo: Vec3) -> Vec3 {
        let h = wi + wo;
        let x = h.x * self.alpha_y;
        let y = h.y * self.alpha_x;
        let alpha = self.alpha_x * self.alpha_y;
        let z = h.z * alpha;
        let slope2 = (x * x + y * y) / (z * z);
        let lobe = (-slope2).max(-80.0).exp() / (4.0 * alpha * (wi.z * wo.z).max(1e-8).sqrt());
        (self.kd + self.ks * lobe) * FRAC_1_PI
    }
}

struct Ashikhmin {
    kd: Vec3,
    ks: Vec3,
    n_u: f32,
    n_v: f32,
}

fn pow5(x: f32) -> f32 {
    let x2 = x * x;
    x2 * x2 * x
}

impl Brdf for Ashikhmin {
    fn new(w: &[f32]) -> Self {
        Ashikhmin { kd: Vec3::from_slice(w), ks: Vec3::from_slice(&w[3..]), n_u: w[6], n_v: w[7] }
    }

    fn eval(&self, wi: Vec3, wo: Vec3) -> Vec3 {
        let h = wi + wo;
        let (x2, y2) = (h.x * h.x, h.y * h.y);
        let tangent2 = x2 + y2;
        let z2 = h.z * h.z;
        let h_wi = 0.5 * (tangent2 + z2).sqrt();
        let exponent = (self.n_u * x2 + self.n_v * y2) / tangent2.max(1e-20);
        let power = (1.0 + tangent2 / z2).powf(-0.5 * exponent);
        let lobe =
            ((self.n_u + 1.0) * (self.n_v + 1.0)).sqrt() * power / (8.0 * h_wi * wi.z.max(wo.z));
        let fresnel = self.ks + (1.0 - self.ks) * pow5(1.0 - h_wi);
        let shape = (28.0 / 23.0) * (1.0 - pow5(1.0 - 0.5 * wi.z)) * (1.0 - pow5(1.0 - 0.5 * wo.z));
        (fresnel * lobe + self.kd * (1.0 - self.ks) * shape) * FRAC_1_PI
    }
}

struct Metal {
    eta: Vec3,
    m: f32,
}

impl Metal {
    fn fresnel(&self, c: f32) -> Vec3 {
        let g2 = self.eta * self.eta + (c * c - 1.0);
        let g = Vec3::new(g2.x.sqrt(), g2.y.sqrt(), g2.z.sqrt());
        let (sum, difference) = (g + c, g - c);
        let (p, q) = (c * sum - 1.0, c * difference + 1.0);
        let s = sum * q;
        0.5 * difference * difference * (q * q + p * p) / (s * s)
    }

    fn lobe(&self, tan2: f32, c: f32) -> Vec3 {
        let a = 1.0 / (self.m * self.m);
        self.fresnel(c) * (a * (-tan2 * a).max(-80.0).exp())
    }
}

struct Fractal {
    uv: Vec2,
    c: Vec2,
    metals: [Metal; 3],
}

impl Fractal {
    fn escape_time(&self) -> f32 {
        let mut z = 3.0 * self.uv - 1.5;
        let mut r2 = z.length_squared();
        let mut rounds = 0;
        while rounds < 64 && r2 < 256.0 {
            z = Vec2::new(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y) + self.c;
            r2 = z.length_squared();
            rounds += 1;
        }
        if r2 < 256.0 {
            return 1.0;
        }
        let overshot = (r2.log2() * 0.125).log2();
        ((rounds as f32 - overshot) / 64.0).max(0.0).sqrt()
    }
}

impl Brdf for Fractal {
    fn new(w: &[f32]) -> Self {
        let metal = |at: usize| Metal { eta: Vec3::from_slice(&w[at..]), m: w[at + 3] };
        Fractal {
            uv: Vec2::from_slice(w),
            c: Vec2::from_slice(&w[2..]),
            metals: [metal(4), metal(8), metal(12)],
        }
    }

    fn eval(&self, wi: Vec3, wo: Vec3) -> Vec3 {
        let t = self.escape_time();
        let h = wi + wo;
        let tangent2 = h.x * h.x + h.y * h.y;
        let z2 = h.z * h.z;
        let length2 = tangent2 + z2;
        let tan2 = tangent2 / z2;
        let c = (0.5 * length2.sqrt()).min(1.0);
        let [outside, edge, inside] = &self.metals;
        let lobes = if t < 0.5 {
            outside.lobe(tan2, c).lerp(edge.lobe(tan2, c), 2.0 * t)
        } else {
            edge.lobe(tan2, c).lerp(inside.lobe(tan2, c), 2.0 * t - 1.0)
        };
        let masking = (4.0 * h.z * wi.z.min(wo.z) / length2).min(1.0);
        let sec2 = 1.0 + tan2;
        lobes * (sec2 * sec2 * masking / (4.0 * PI * (wi.z * wo.z).max(1e-8)))
    }
}
