//! Tests of measured materials.

use super::testing::{Ggx, angles, bind, random};
use super::*;
use crate::material::ShaderBinding;
use lightbound_math::sampling::pdf_check::{DirectionSampler, Domain, check};
use lightbound_math::sampling::testing::thorough_settings;
use lightbound_math::sampling::{hash, unit_float};
use lightbound_math::{Vec2, Vec3, vec2, vec3};
use lightbound_shader::{Batch, Kernel};
use tensor::testing::TensorWriter;

/// A material seen from `wo`.
struct View {
    binding: ShaderBinding,
    wo: Vec3,
}

impl View {
    fn new(file: &TensorWriter, wo: Vec3) -> View {
        let brdf = MeasuredBrdf::parse(&file.file()).unwrap_or_else(|e| panic!("{e}"));
        View { binding: bind(&brdf), wo }
    }

    fn run<const N: usize, const M: usize>(
        &self,
        kernel: &Kernel,
        rows: impl ExactSizeIterator<Item = [f32; N]>,
    ) -> Vec<[f32; M]> {
        let mut inputs = Batch::new(kernel.target(), N + 3, rows.len());
        let mut outputs = Batch::new(kernel.target(), kernel.outputs().len(), rows.len());
        for (r, row) in rows.enumerate() {
            inputs.set_row(r, 0, &row.map(f32::to_bits));
            inputs.set_row(r, N, &self.wo.to_array().map(f32::to_bits));
        }
        let textures: Vec<_> = self.binding.textures.iter().map(|texture| &**texture).collect();
        kernel.run(&textures, &inputs, &mut outputs);
        (0..outputs.rows()).map(|r| outputs.floats(r, 0)).collect()
    }

    /// Returns BRDF × cosine, and the density.
    fn evaluate(&self, wi: &[Vec3]) -> Vec<[f32; 4]> {
        self.run(&self.binding.program.evaluate, wi.iter().map(|wi| wi.to_array()))
    }

    /// Returns directions, BRDF × cosine, and the density.
    fn scatter(&self, points: &[Vec2]) -> Vec<[f32; 7]> {
        self.run(&self.binding.program.scatter, points.iter().map(|u| u.to_array()))
    }

    /// Returns the mean of BRDF × cosine / density.
    fn albedo(&self) -> f64 {
        let weight = |&[_, _, _, r, _, _, pdf]: &[f32; 7]| {
            if pdf > 0.0 { f64::from(r / pdf) } else { 0.0 }
        };
        let samples = self.scatter(&points(40_000));
        samples.iter().map(weight).sum::<f64>() / samples.len() as f64
    }
}

impl DirectionSampler for View {
    fn sample(&mut self, points: &[Vec2]) -> Vec<(Vec3, f32)> {
        let samples = self.scatter(points);
        samples.iter().map(|&[x, y, z, .., pdf]| (vec3(x, y, z), pdf)).collect()
    }

    fn pdf(&mut self, directions: &[Vec3]) -> Vec<f32> {
        self.evaluate(directions).iter().map(|&[.., pdf]| pdf).collect()
    }
}

/// Uniform points, stratified.
fn points(count: u32) -> Vec<Vec2> {
    let n = count.isqrt();
    let jitter = |i: u32, seed: u32| unit_float(hash(seed, i));
    (0..n * n)
        .map(|i| vec2((i % n) as f32 + jitter(i, 1), (i / n) as f32 + jitter(i, 2)) / n as f32)
        .collect()
}

fn direction(degrees: f32, azimuth: f32) -> Vec3 {
    let ((s, c), (sp, cp)) = (degrees.to_radians().sin_cos(), azimuth.to_radians().sin_cos());
    vec3(s * cp, s * sp, c)
}

/// Outgoing directions of both sides.
fn views() -> Vec<Vec3> {
    let above = [(0.0, 0.0), (25.0, 20.0), (60.0, 130.0), (60.0, -130.0), (85.0, -80.0)];
    let above = above.map(|(degrees, azimuth)| direction(degrees, azimuth));
    above.into_iter().chain([-above[1], -above[3]]).collect()
}

/// Random directions on the side of `wo`.
fn directions(wo: Vec3) -> Vec<Vec3> {
    points(2500)
        .iter()
        .map(|u| {
            let z = u.x.max(1e-3);
            let (s, c) = (std::f32::consts::TAU * u.y).sin_cos();
            (vec3(c, s, 0.0) * (1.0 - z * z).sqrt()).with_z(z) * wo.z.signum()
        })
        .collect()
}

#[test]
fn directions_follow_the_density() {
    for (phi_count, min) in [(1, 0.0), (1, 0.1), (2, 0.1), (5, 0.02)] {
        for (seed, wo) in (0..).zip(views()) {
            let mut view = View::new(&random(phi_count, 7 + phi_count as u32, min), wo);
            check(&mut view, Domain::Sphere, &thorough_settings(1_000_000), seed)
                .unwrap_or_else(|mismatch| panic!("{phi_count} azimuths from {wo}: {mismatch}"));
        }
    }
}

#[test]
fn scatter_and_evaluate_agree() {
    for phi_count in [1, 3] {
        for wo in views() {
            let view = View::new(&random(phi_count, 1, 0.0), wo);
            let samples = view.scatter(&points(10_000));
            let wi: Vec<_> = samples.iter().map(|&[x, y, z, ..]| vec3(x, y, z)).collect();
            for (sample, evaluated) in samples.iter().zip(view.evaluate(&wi)) {
                assert_eq!(
                    sample[3..].iter().map(|x| x.to_bits()).collect::<Vec<_>>(),
                    evaluated.map(f32::to_bits)
                );
            }
            for [r, g, b, pdf] in view.evaluate(&directions(wo)) {
                assert!(pdf > 0.0 || r + g + b == 0.0, "{r} {g} {b} has density {pdf}");
            }
        }
    }
}

#[test]
fn constant_tables_scatter_a_constant() {
    let sizes = [3, 4, 3, 6, 6];
    let spectrum: Vec<f32> =
        (0..12).flat_map(|_| [0.4, 0.8, 0.1].map(|x| [x; 36])).flatten().collect();
    let file = random(3, 2, 0.1)
        .floats("ndf", &[2, 2], &[3.0; 4])
        .floats("sigma", &[1, 1], &[0.5])
        .floats("rgb", &sizes, &spectrum);
    for wo in views() {
        let view = View::new(&file, wo);
        for (wi, s) in std::iter::zip(directions(wo), view.evaluate(&directions(wo))) {
            for (s, expected) in std::iter::zip(s, [0.6, 1.2, 0.15]) {
                assert!((s - expected).abs() < 1e-5, "{s} from {wi} to {wo}");
            }
        }
        assert!(view.evaluate(&directions(-wo)).iter().all(|&s| s == [0.0; 4]));
        // The integral of a constant over the hemisphere.
        let albedo = view.albedo();
        assert!((albedo - 0.6 * std::f64::consts::TAU).abs() < 0.05, "{albedo} from {wo}");
    }
    // Without the Jacobian, M is the BRDF × cosine.
    let view = View::new(&file.bytes("jacobian", &[0]), direction(40.0, 30.0));
    let [r, g, b, _] = view.evaluate(&[direction(10.0, 60.0)])[0];
    assert!((vec3(r, g, b) - vec3(0.4, 0.8, 0.1)).abs().max_element() < 1e-6, "{r} {g} {b}");
}

#[test]
fn spectra_are_converted_like_reflectances() {
    let nm = angles(9, 380.0, 780.0);
    let values = [0.1, 0.3, 0.4, 0.9, 0.5, 0.2, 0.2, 0.6, 0.7];
    let pairs: Vec<f32> = std::iter::zip(&nm, values).flat_map(|(&x, y)| [x, y]).collect();
    let spectrum = lightbound_math::spectrum::Spectrum::new(&pairs).unwrap();
    let expected = lightbound_math::spectrum::reflectance_rgb(&spectrum);
    let spectra: Vec<f32> = (0..4).flat_map(|_| values.map(|x| [x; 9])).flatten().collect();
    let file = random(1, 3, 0.1)
        .without("rgb")
        .floats("wavelengths", &[9], &nm)
        .floats("spectra", &[1, 4, 9, 3, 3], &spectra)
        .bytes("jacobian", &[0]);
    let [r, g, b, _] = View::new(&file, Vec3::Z).evaluate(&[direction(10.0, 60.0)])[0];
    assert!((vec3(r, g, b) - expected).abs().max_element() < 2e-3, "{r} {g} {b}, {expected}");
}

#[test]
fn tabulated_microfacets_match_the_closed_form() {
    for (phi_count, alpha) in [(1, [0.4, 0.4]), (65, [0.3, 0.6])] {
        let ggx = Ggx { alpha };
        let file = ggx.tables(phi_count, if phi_count == 1 { 65 } else { 33 });
        for wo in views() {
            let view = View::new(&file, wo);
            let wi = directions(wo);
            let (mut error, mut sum) = (0.0, 0.0);
            for (&wi, s) in std::iter::zip(&wi, view.evaluate(&wi)) {
                let [expected, _] = ggx.evaluate(wi * wo.z.signum(), wo * wo.z.signum());
                error += (s[0] - expected).abs();
                sum += expected;
            }
            assert!(error < 0.02 * sum, "{alpha:?} from {wo}: {}", error / sum);
            // A mirror, except for light that would be reflected several times.
            let albedo = view.albedo();
            assert!((0.7..1.02).contains(&albedo), "{alpha:?} from {wo}: {albedo}");
        }
    }
}

#[test]
fn symmetric_azimuths_are_mirrored() {
    let full = random(1, 4, 0.1);
    let slices = 9 * 4;
    // The tables of wo in all other parts of the turn are those of its image in the first one.
    let tables = |symmetry: usize, phi: &[f32]| {
        let value = |i: usize, seed: u32| 0.1 + unit_float(hash(seed, i as u32));
        let count = phi.len();
        let vndf: Vec<_> = (0..slices / 9 * count * 84).map(|i| value(i, 5)).collect();
        let rgb: Vec<_> = (0..slices / 9 * count * 108).map(|i| value(i, 6)).collect();
        assert_eq!(symmetry, super::symmetry(phi).unwrap());
        full.clone()
            .floats("phi_i", &[count], phi)
            .floats("vndf", &[count, 4, 7, 12], &vndf)
            .floats("rgb", &[count, 4, 3, 6, 6], &rgb)
    };
    use std::f32::consts::{FRAC_PI_2, PI};
    let half = tables(2, &angles(5, -PI, 0.0));
    let quarter = tables(4, &angles(4, -PI, -FRAC_PI_2));
    let wi = directions(Vec3::Z);
    let turned = |w: Vec3| vec3(-w.x, -w.y, w.z);
    let mirrored = |w: Vec3| vec3(-w.x, w.y, w.z);
    for wo in [direction(30.0, -100.0), direction(70.0, -170.0)] {
        for (file, image) in
            [(&half, &turned as &dyn Fn(Vec3) -> Vec3), (&quarter, &turned), (&quarter, &mirrored)]
        {
            let a = View::new(file, wo).evaluate(&wi);
            let images: Vec<_> = wi.iter().map(|&w| image(w)).collect();
            let mut view = View::new(file, image(wo));
            assert_eq!(a, view.evaluate(&images));
            check(&mut view, Domain::Sphere, &thorough_settings(250_000), 1).unwrap();
        }
    }
}

#[test]
fn invalid_tables_are_errors() {
    let file = random(1, 1, 0.1);
    let message = |file: TensorWriter| MeasuredBrdf::parse(&file.file()).unwrap_err().to_string();
    for (file, expected) in [
        (file.clone().without("vndf"), "no field \"vndf\""),
        (file.clone().without("rgb"), "no field \"rgb\""),
        (file.clone().without("jacobian"), "no field \"jacobian\""),
        (file.clone().floats("ndf", &[4], &[1.0; 4]), "\"ndf\" has the size 4, expected n × n"),
        (
            file.clone().floats("vndf", &[2, 4, 2, 2], &[1.0; 32]),
            "\"vndf\" has the size 2 × 4 × 2 × 2, expected 1 × 4 × n × n",
        ),
        (
            file.clone().floats("vndf", &[1, 4, 1, 2], &[1.0; 8]),
            "\"vndf\" has the size … × 1 × 2, expected at least 2 × 2",
        ),
        (file.clone().floats("sigma", &[1, 1], &[-1.0]), "\"sigma\" has values that are negative"),
        (
            file.clone().floats("ndf", &[1, 1], &[f32::NAN]),
            "\"ndf\" has values that are not finite",
        ),
        (
            file.clone().floats("theta_i", &[4], &[0.0, 1.0, 1.0, 1.5]),
            "\"theta_i\" has values that are not increasing",
        ),
        (
            random(4, 1, 0.1).floats("phi_i", &[4], &[0.0, 1.0, 1.5, 2.0]),
            "\"phi_i\" span 115°, expected 360, 180 or 90",
        ),
    ] {
        let message = message(file);
        assert!(message.contains(expected), "{message}, expected {expected}");
    }
    assert_eq!(
        MeasuredBrdf::parse(b"ply").unwrap_err(),
        MeasuredError::Tensor(TensorError::NotATensorFile)
    );
}

#[test]
fn slices_without_energy_are_uniform() {
    let file = random(1, 1, 0.1).floats("vndf", &[1, 4, 7, 12], &[0.0; 336]);
    let mut view = View::new(&file, direction(40.0, 10.0));
    check(&mut view, Domain::Sphere, &thorough_settings(250_000), 1).unwrap();
}
