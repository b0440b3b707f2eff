//! What every material of `assets/shaders` must obey, as compiled code that a path tracer calls:
//! directions follow the density, `scatter` and `evaluate` agree, reciprocity, no energy gained, no
//! input that breaks it, and a sampler that is worth its cost.
//!
//! A new material is a new row of [`CASES`].

use crate::math::{Vec3, vec2, vec3};
use crate::sampling::chi_square::chi_square_batches;
use crate::sampling::warp::cosine_hemisphere;
use crate::sampling::{ONE_MINUS_EPSILON, hash, unit_float};
use glam::DVec3;
use lightbound_shader::ir::Function;
use lightbound_shader::scattering::{evaluate, scatter};
use lightbound_shader::{Arena, Batch, Kernel, Parameter, Settings, Shader, Sides, Target, passes};
use std::f32::consts::FRAC_1_PI;

/// A material with some of its parameters set, the others at their defaults.
#[derive(Debug)]
struct Case {
    /// Of the shader, without `.wgsl`.
    file: &'static str,
    /// Values by the names of parameters; a single one counts for all components.
    set: &'static [(&'static str, &'static [f64])],
    /// Whether it has a lobe, for which the sampler must be better than the cosine's.
    glossy: bool,
    /// What the albedo may come to, up to 85° off the normal.
    albedo: f64,
}

const CASES: &[Case] = &[
    Case { file: "diffuse", set: &[("kd", &[0.9, 0.5, 0.0])], glossy: false, albedo: 0.9 },
    Case { file: "oren_nayar", set: &[("kd", &[1.0, 0.5, 0.0])], glossy: false, albedo: 1.0 },
    Case {
        file: "oren_nayar",
        set: &[("kd", &[1.0]), ("sigma", &[90.0])],
        glossy: false,
        albedo: 1.0,
    },
    Case { file: "diffuse_transmission", set: &[], glossy: false, albedo: 0.5 },
    Case {
        file: "diffuse_transmission",
        set: &[("kr", &[0.3, 0.9, 0.0]), ("kt", &[0.6, 0.1, 0.1])],
        glossy: false,
        albedo: 1.0,
    },
    Case { file: "phong", set: &[], glossy: true, albedo: 0.7 },
    Case {
        file: "phong",
        set: &[("exponent", &[1.0]), ("kd", &[0.0]), ("ks", &[1.0, 0.5, 0.2])],
        glossy: false,
        albedo: 1.0,
    },
    Case {
        file: "phong",
        set: &[("exponent", &[10000.0]), ("kd", &[0.1]), ("ks", &[0.9])],
        glossy: true,
        albedo: 1.0,
    },
    Case { file: "isoward", set: &[], glossy: true, albedo: 0.6 },
    Case {
        file: "isoward",
        set: &[("alpha", &[0.01]), ("kd", &[0.0, 0.1, 0.0]), ("ks", &[0.9])],
        glossy: true,
        albedo: 1.0,
    },
    Case {
        file: "isoward",
        set: &[("alpha", &[0.7]), ("kd", &[0.2]), ("ks", &[0.8])],
        glossy: false,
        albedo: 1.0,
    },
    Case { file: "ward", set: &[], glossy: true, albedo: 0.6 },
    Case {
        file: "ward",
        set: &[("alpha_x", &[0.3]), ("alpha_y", &[0.03]), ("kd", &[0.0]), ("ks", &[1.0])],
        glossy: true,
        albedo: 1.0,
    },
    Case { file: "ashikhmin", set: &[], glossy: true, albedo: 1.0 },
    Case {
        file: "ashikhmin",
        set: &[("n_u", &[10000.0]), ("n_v", &[5.0]), ("kd", &[0.0]), ("ks", &[1.0, 0.8, 0.3])],
        glossy: true,
        albedo: 1.0,
    },
    Case {
        file: "ashikhmin",
        set: &[("n_u", &[1.0]), ("n_v", &[10.0]), ("kd", &[1.0]), ("ks", &[0.0])],
        glossy: false,
        albedo: 1.0,
    },
    Case { file: "fractal", set: &[], glossy: false, albedo: 1.0 },
    Case { file: "fractal", set: &[("uv", &[0.1, 0.2])], glossy: true, albedo: 1.0 },
    Case {
        file: "fractal",
        set: &[("uv", &[0.44, 0.58]), ("m_2", &[0.02])],
        glossy: true,
        albedo: 1.0,
    },
    Case { file: "conductor", set: &[], glossy: true, albedo: 1.0 },
    Case {
        file: "conductor",
        set: &[("eta", &[1e-4]), ("alpha_x", &[0.7]), ("alpha_y", &[0.3])],
        glossy: false,
        albedo: 1.0,
    },
    Case {
        file: "conductor",
        set: &[("alpha_x", &[0.01]), ("alpha_y", &[0.05])],
        glossy: true,
        albedo: 1.0,
    },
    Case {
        file: "conductor",
        set: &[("alpha_x", &[1.5]), ("alpha_y", &[1.5])],
        glossy: false,
        albedo: 1.0,
    },
    Case { file: "dielectric", set: &[], glossy: true, albedo: 1.0 },
    Case {
        file: "dielectric",
        set: &[("alpha_x", &[0.1]), ("alpha_y", &[0.4])],
        glossy: true,
        albedo: 1.0,
    },
    Case {
        file: "dielectric",
        set: &[("eta", &[0.7]), ("alpha_x", &[0.05]), ("alpha_y", &[0.05])],
        glossy: true,
        albedo: 1.0,
    },
    Case {
        file: "dielectric",
        set: &[("eta", &[2.4]), ("alpha_x", &[0.9]), ("alpha_y", &[0.7])],
        glossy: false,
        albedo: 1.0,
    },
    Case {
        file: "coated_diffuse",
        set: &[("kd", &[0.9, 0.5, 0.0]), ("alpha_x", &[0.0]), ("alpha_y", &[0.0])],
        glossy: false,
        albedo: 0.8,
    },
    Case {
        file: "coated_diffuse",
        set: &[("kd", &[1.0]), ("thickness", &[0.0]), ("alpha_x", &[0.0]), ("alpha_y", &[0.0])],
        glossy: false,
        albedo: 1.0,
    },
    Case {
        file: "coated_diffuse",
        set: &[("kd", &[0.9, 0.5, 0.1]), ("alpha_x", &[0.1]), ("alpha_y", &[0.1])],
        glossy: true,
        albedo: 1.0,
    },
    Case {
        file: "coated_diffuse",
        set: &[
            ("kd", &[1.0]),
            ("eta", &[2.0]),
            ("alpha_x", &[0.4]),
            ("alpha_y", &[0.15]),
            ("thickness", &[0.0]),
        ],
        glossy: true,
        albedo: 1.0,
    },
    Case {
        file: "coated_conductor",
        set: &[("coat_alpha_x", &[0.0]), ("coat_alpha_y", &[0.0])],
        glossy: true,
        albedo: 1.0,
    },
    Case {
        file: "coated_conductor",
        set: &[
            ("alpha_x", &[0.1]),
            ("alpha_y", &[0.4]),
            ("coat_alpha_x", &[0.2]),
            ("coat_alpha_y", &[0.05]),
        ],
        glossy: true,
        albedo: 1.0,
    },
    Case {
        file: "coated_conductor",
        set: &[
            ("eta", &[1e-4]),
            ("alpha_x", &[0.05]),
            ("alpha_y", &[0.05]),
            ("thickness", &[0.0]),
            ("coat_alpha_x", &[0.0]),
            ("coat_alpha_y", &[0.0]),
        ],
        glossy: true,
        albedo: 1.0,
    },
    Case {
        file: "coated_conductor",
        set: &[
            ("eta", &[1e-4]),
            ("alpha_x", &[0.3]),
            ("alpha_y", &[0.3]),
            ("coat_eta", &[2.5]),
            ("thickness", &[0.0]),
            ("coat_alpha_x", &[0.0]),
            ("coat_alpha_y", &[0.0]),
        ],
        glossy: false,
        albedo: 1.0,
    },
];

/// Of `wo` off the normal, degrees, each with an azimuth that is on no axis.
const ANGLES: [(f32, f32); 4] = [(0.0, 0.0), (30.0, 20.0), (60.0, 130.0), (85.0, 250.0)];

/// A shader as compiled code, with the words of its parameters.
struct Material {
    name: String,
    shader: Shader,
    evaluate: Kernel,
    scatter: Kernel,
    parameters: Vec<u32>,
}

/// What is known of a direction.
#[derive(Clone, Copy, Debug)]
struct Light {
    wi: Vec3,
    s: Vec3,
    pdf: f32,
}

impl Light {
    /// What a path is multiplied by; nothing where the sample is void.
    fn weight(&self) -> Vec3 {
        if self.pdf > 0.0 { self.s / self.pdf } else { Vec3::ZERO }
    }

    fn bits(&self) -> [u32; 4] {
        [self.s.x, self.s.y, self.s.z, self.pdf].map(f32::to_bits)
    }
}

impl Material {
    fn new(case: &Case) -> Material {
        let path = format!("{}/../assets/shaders/{}.wgsl", env!("CARGO_MANIFEST_DIR"), case.file);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let shader = Shader::parse(&path, &text).unwrap_or_else(|error| panic!("{path}: {error}"));
        let arena = Arena::new();
        let compile = |function: Function| {
            Kernel::compile(&arena, &passes::lower(&function), Target::best())
                .expect("the target is available")
        };
        let settings = Settings::default();
        let evaluate = compile(evaluate(&shader, &settings).expect("it is valid"));
        let scatter = compile(scatter(&shader, &settings).expect("it is valid"));
        for (name, _) in case.set {
            assert!(
                shader.members().iter().any(|member| member.name == *name),
                "{path} has no parameter {name}"
            );
        }
        let name = case
            .set
            .iter()
            .fold(case.file.to_owned(), |name, (parameter, x)| format!("{name} {parameter} {x:?}"));
        let mut material = Material { name, shader, evaluate, scatter, parameters: vec![] };
        material.set(|member| {
            let given =
                case.set.iter().find(|(name, _)| *name == member.name).map(|(_, x)| x.to_vec());
            let given = given.or_else(|| member.default.clone());
            given.unwrap_or_else(|| panic!("{path}: {} has no default and is not set", member.name))
        });
        material
    }

    fn all() -> impl Iterator<Item = (&'static Case, Material)> {
        CASES.iter().map(|case| (case, Material::new(case)))
    }

    /// One of each shader, with what it is by default or in its first case.
    fn each() -> impl Iterator<Item = Material> {
        let first =
            |&(k, case): &(usize, &Case)| CASES[..k].iter().all(|other| other.file != case.file);
        CASES.iter().enumerate().filter(first).map(|(_, case)| Material::new(case))
    }

    /// Sets all parameters.
    fn set(&mut self, value: impl Fn(&Parameter) -> Vec<f64>) {
        let words = |member: &Parameter| {
            let values = value(member);
            let bits = |k| member.scalar.bits(values[if values.len() == 1 { 0 } else { k }]);
            (0..member.size).map(bits).collect::<Vec<_>>()
        };
        self.parameters = self.shader.members().iter().flat_map(words).collect();
    }

    /// Index of refraction on the side of a direction, by whose square radiance is scaled.
    fn index(&self, w: Vec3) -> f32 {
        let members = self.shader.members();
        let at: usize = members
            .iter()
            .take_while(|member| member.name != "eta")
            .map(|member| member.size)
            .sum();
        let refracts = self.shader.sides() == Sides::Both && at < self.parameters.len();
        if refracts && w.z < 0.0 { f32::from_bits(self.parameters[at]) } else { 1.0 }
    }

    /// Directions that it is seen from.
    fn views(&self) -> Vec<Vec3> {
        let above = ANGLES.map(|(angle, azimuth)| {
            let ((s, c), (sp, cp)) = (angle.to_radians().sin_cos(), azimuth.to_radians().sin_cos());
            vec3(s * cp, s * sp, c)
        });
        let below = above
            .iter()
            .map(|wo| vec3(wo.y, -wo.x, -wo.z))
            .filter(|_| self.shader.sides() == Sides::Both);
        above.iter().copied().chain(below).collect()
    }

    /// The results for inputs that the parameters follow.
    fn run<const N: usize>(
        &self,
        kernel: &Kernel,
        rows: impl ExactSizeIterator<Item = [f32; N]>,
    ) -> Batch {
        let mut inputs = Batch::new(kernel.target(), kernel.inputs().len(), rows.len());
        let mut outputs = Batch::new(kernel.target(), kernel.outputs().len(), rows.len());
        for (r, row) in rows.enumerate() {
            inputs.set_row(r, 0, &row.map(f32::to_bits));
            inputs.set_row(r, N, &self.parameters);
        }
        kernel.run(&[], &inputs, &mut outputs);
        outputs
    }

    fn evaluate(&self, pairs: &[(Vec3, Vec3)]) -> Vec<Light> {
        let rows = pairs.iter().map(|(wi, wo)| [wi.x, wi.y, wi.z, wo.x, wo.y, wo.z]);
        let outputs = self.run(&self.evaluate, rows);
        let light = |(r, &(wi, _)): (usize, &(Vec3, Vec3))| {
            let [x, y, z, pdf] = outputs.floats(r, 0);
            Light { wi, s: vec3(x, y, z), pdf }
        };
        pairs.iter().enumerate().map(light).collect()
    }

    fn scatter(&self, numbers: &[[f32; 2]], wo: Vec3) -> Vec<Light> {
        let outputs =
            self.run(&self.scatter, numbers.iter().map(|[x, y]| [*x, *y, wo.x, wo.y, wo.z]));
        let light = |r| {
            let [wi_x, wi_y, wi_z, x, y, z, pdf] = outputs.floats(r, 0);
            Light { wi: vec3(wi_x, wi_y, wi_z), s: vec3(x, y, z), pdf }
        };
        (0..numbers.len()).map(light).collect()
    }
}

/// Independent points of the unit square, the same in every run.
fn numbers(count: u32) -> Vec<[f32; 2]> {
    (0..count).map(|i| [0, 1].map(|d| unit_float(hash(hash(0x11b, i), d)))).collect()
}

/// Independent directions of the sphere, the same in every run.
fn sphere(count: u32) -> Vec<Vec3> {
    let direction = |[x, y]: [f32; 2]| {
        let z = 2.0 * x - 1.0;
        let (s, c) = (std::f32::consts::TAU * y).sin_cos();
        (vec3(c, s, 0.0) * (1.0 - z * z).max(0.0).sqrt()).with_z(z)
    };
    numbers(count).into_iter().map(direction).collect()
}

#[test]
fn directions_follow_the_density() {
    let materials: Vec<_> = Material::all().map(|(_, material)| material).collect();
    let tests: usize = materials.iter().map(|material| material.views().len()).sum();
    for material in &materials {
        for wo in material.views() {
            let sample = |numbers: &[[f32; 3]]| {
                let numbers: Vec<_> = numbers.iter().map(|&[x, y, _]| [x, y]).collect();
                material
                    .scatter(&numbers, wo)
                    .iter()
                    .map(|light| (light.pdf > 0.0).then_some(light.wi))
                    .collect()
            };
            let pdf = |wi: &[Vec3]| {
                let pairs: Vec<_> = wi.iter().map(|&wi| (wi, wo)).collect();
                material.evaluate(&pairs).iter().map(|light| light.pdf).collect()
            };
            chi_square_batches(
                &format!("{} from {wo}", material.name),
                1_000_000,
                sample,
                pdf,
                tests,
            );
        }
    }
}

#[test]
fn scattered_light_is_what_evaluation_finds() {
    let (numbers, sphere) = (numbers(20_000), sphere(20_000));
    for (_, material) in Material::all() {
        for wo in material.views() {
            let scattered = material.scatter(&numbers, wo);
            let pairs: Vec<_> = scattered.iter().map(|light| (light.wi, wo)).collect();
            for (light, found) in scattered.iter().zip(material.evaluate(&pairs)) {
                assert_eq!(
                    light.bits(),
                    found.bits(),
                    "{} from {wo}: {light:?}, {found:?}",
                    material.name
                );
            }
            let pairs: Vec<_> = sphere.iter().map(|&wi| (wi, wo)).collect();
            for light in scattered.into_iter().chain(material.evaluate(&pairs)) {
                let reachable = light.s.max_element() <= 0.0 || light.pdf > 0.0;
                assert!(
                    reachable,
                    "{} from {wo}: light that no sample finds: {light:?}",
                    material.name
                );
            }
        }
    }
}

#[test]
fn light_goes_both_ways() {
    for (_, material) in Material::all() {
        for wo in material.views() {
            let there = material.scatter(&numbers(20_000), wo);
            // Where s is next to nothing, so are its digits.
            let there: Vec<_> =
                there.into_iter().filter(|light| light.s.max_element() > 1e-20).collect();
            let swapped: Vec<_> = there.iter().map(|light| (wo, light.wi)).collect();
            for (light, back) in there.iter().zip(material.evaluate(&swapped)) {
                let (n_i, n_o) = (material.index(light.wi), material.index(wo));
                let (one, other) =
                    (light.s / light.wi.z.abs() * n_i * n_i, back.s / wo.z.abs() * n_o * n_o);
                let off = (one - other).abs().max_element();
                assert!(
                    off <= 1e-5 * one.max_element(),
                    "{} from {wo}: {one}, back {other}; {light:?}",
                    material.name
                );
            }
        }
    }
}

/// Points of the unit square, one in each of `n` × `n` cells.
fn stratified(n: u32) -> Vec<[f32; 2]> {
    let cell = |i: u32, x: f32| (((i as f32) + x) / n as f32).min(ONE_MINUS_EPSILON);
    let jittered = |(i, [x, y]): (u32, [f32; 2])| [cell(i % n, x), cell(i / n, y)];
    (0..n * n).zip(numbers(n * n)).map(jittered).collect()
}

/// Mean and standard deviation of numbers.
fn statistics(x: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = x.clone().count() as f64;
    let mean = x.clone().sum::<f64>() / count;
    (mean, (x.map(|x| (x - mean).powi(2)).sum::<f64>() / count).sqrt())
}

/// Part of the light from `wo` that is scattered, the most of all colours, and its noise. What is
/// refracted counts as power does.
fn albedo(material: &Material, wo: Vec3) -> (f64, f64) {
    let lights = material.scatter(&stratified(300), wo);
    let power =
        |light: &Light| light.weight() * (material.index(light.wi) / material.index(wo)).powi(2);
    let channels =
        [0, 1, 2].map(|k| statistics(lights.iter().map(|light| f64::from(power(light)[k]))));
    let (mean, deviation) =
        channels.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)).expect("there are three");
    (mean, 4.0 * deviation / 300.0 + 1e-5)
}

#[test]
fn coats_like_the_air_are_none() {
    let case = |file, set| Material::new(&Case { file, set, glossy: false, albedo: 1.0 });
    let diffuse = case("diffuse", &[("kd", &[0.9, 0.5, 0.0])]);
    let varnished = case(
        "coated_diffuse",
        &[
            ("kd", &[0.9, 0.5, 0.0]),
            ("eta", &[1.0]),
            ("thickness", &[0.0]),
            ("alpha_x", &[0.0]),
            ("alpha_y", &[0.0]),
        ],
    );
    let metal = case("conductor", &[("alpha_x", &[0.4])]);
    let lacquered = case(
        "coated_conductor",
        &[
            ("alpha_x", &[0.4]),
            ("coat_eta", &[1.0]),
            ("thickness", &[0.0]),
            ("coat_alpha_x", &[0.0]),
            ("coat_alpha_y", &[0.0]),
        ],
    );
    for (bare, coated) in [(diffuse, varnished), (metal, lacquered)] {
        for wo in bare.views() {
            let pairs: Vec<_> = sphere(2000).into_iter().map(|wi| (wi, wo)).collect();
            for (one, other) in bare.evaluate(&pairs).iter().zip(coated.evaluate(&pairs)) {
                let off = (one.s - other.s).abs().max_element();
                assert!(
                    off <= 1e-4 * one.s.max_element(),
                    "{} from {wo}: {one:?}, {other:?}",
                    coated.name
                );
            }
        }
    }
}

#[test]
fn no_light_is_made() {
    for (case, material) in Material::all() {
        for wo in material.views() {
            let (albedo, noise) = albedo(&material, wo);
            assert!(
                albedo <= case.albedo + noise,
                "{} from {wo}: {albedo} ± {noise}",
                material.name
            );
        }
    }
}

#[test]
fn light_is_made_where_shaders_say_so() {
    let case = |file, set| Material::new(&Case { file, set, glossy: false, albedo: 1.0 });
    let oren_nayar = case("oren_nayar", &[("kd", &[1.0]), ("sigma", &[11.25])]);
    let isoward = case("isoward", &[("kd", &[0.0]), ("ks", &[1.0])]);
    let ward = case("ward", &[("kd", &[0.0]), ("ks", &[1.0])]);
    for (material, degrees, [least, most]) in [
        (&oren_nayar, 60.0, [0.98, 1.0]),
        (&oren_nayar, 89.9, [1.01, 1.02]),
        (&isoward, 89.0, [0.1, 1.0]),
        (&isoward, 89.99, [1.0, 10.0]),
        (&ward, 89.0, [0.1, 1.0]),
        (&ward, 89.99, [1.0, 10.0]),
    ] {
        let (s, c) = f32::to_radians(degrees).sin_cos();
        let (albedo, noise) = albedo(material, vec3(0.6 * s, 0.8 * s, c));
        let expected = albedo - noise >= least && albedo + noise <= most;
        assert!(expected, "{} from {degrees}°: {albedo} ± {noise}", material.name);
    }
}

#[test]
fn the_cosine_is_sampled_by_the_concentric_map() {
    let numbers = stratified(100);
    let material = Material::new(&Case { file: "diffuse", set: &[], glossy: false, albedo: 0.5 });
    for ([x, y], light) in numbers.iter().zip(material.scatter(&numbers, Vec3::Z)) {
        let expected = cosine_hemisphere(vec2(*x, *y));
        assert!(
            light.wi.distance(expected) < 1e-6,
            "{} for {x}, {y}: {}, {expected}",
            material.name,
            light.wi
        );
    }
}

/// Walter et al. 2007 in double precision, of GGX facets with roughness 0.3 and 0.08 and Smith's
/// G₂, with F given by the cosine of wo and h: what is reflected where `eta`, that of the side of
/// wi over that of wo, is 1, else what is refracted.
fn microfacets(wi: DVec3, wo: DVec3, eta: f64, share: impl Fn(f64) -> f64) -> f64 {
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
    share(o.abs()) * d * g * jacobian / (wi.z * wo.z).abs()
}

#[test]
fn metal_and_glass_equal_the_published_formulas() {
    let alpha: &[(&str, &[f64])] = &[("alpha_x", &[0.3]), ("alpha_y", &[0.08])];
    let metal = Material::new(&Case { file: "conductor", set: alpha, glossy: true, albedo: 1.0 });
    let glass = Material::new(&Case { file: "dielectric", set: alpha, glossy: true, albedo: 1.0 });
    let copper = [(0.10511414, 3.2734907), (0.9779329, 2.5925198), (1.2046659, 2.369188)];
    for material in [&metal, &glass] {
        for wo in material.views() {
            let mut pairs: Vec<_> =
                material.scatter(&numbers(2000), wo).iter().map(|light| (light.wi, wo)).collect();
            pairs.extend(sphere(2000).into_iter().map(|wi| (wi, wo)));
            for (light, &(wi, _)) in material
                .evaluate(&pairs)
                .iter()
                .zip(&pairs)
                .filter(|(_, (wi, _))| wi.z.abs() > 1e-3)
            {
                let (wi, wo) = (wi.as_dvec3().normalize(), wo.as_dvec3().normalize());
                let index = |w: DVec3| if w.z > 0.0 { 1.0 } else { 1.5 };
                let expected =
                    copper.map(|metal| match (material.shader.sides(), wi.z * wo.z > 0.0) {
                        (Sides::One, true) => microfacets(wi, wo, 1.0, |c| metal_fresnel(c, metal)),
                        (Sides::One, false) => 0.0,
                        (Sides::Both, true) => {
                            microfacets(wi, wo, 1.0, |c| glass_fresnel(c, index(-wo) / index(wo)))
                        }
                        (Sides::Both, false) => {
                            let eta = index(wi) / index(wo);
                            microfacets(wi, wo, eta, |c| 1.0 - glass_fresnel(c, eta))
                        }
                    });
                for (k, expected) in expected.into_iter().enumerate() {
                    let found = f64::from(light.s[k]) / wi.z.abs();
                    let name = &material.name;
                    assert!(
                        (found - expected).abs() <= 1e-3 * expected + 1e-5,
                        "{name} from {wo}: {found} for {expected}; {light:?}"
                    );
                }
            }
        }
    }
}

/// Of an index and an extinction coefficient, by complex numbers: r = (cos − n cos_t)/(cos + n
/// cos_t), and so on.
fn metal_fresnel(c: f64, (eta, k): (f64, f64)) -> f64 {
    type Complex = [f64; 2];
    let mul = |a: Complex, b: Complex| [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]];
    let norm = |a: Complex| a[0] * a[0] + a[1] * a[1];
    let n2 = mul([eta, k], [eta, k]);
    // n cos_t = √(n² − sin²).
    let under = [n2[0] - (1.0 - c * c), n2[1]];
    let length = norm(under).sqrt();
    let q = [(0.5 * (length + under[0])).sqrt(), (0.5 * (length - under[0])).max(0.0).sqrt()];
    let n2c = n2.map(|x| x * c);
    let s = norm([c - q[0], -q[1]]) / norm([c + q[0], q[1]]);
    let p = norm([n2c[0] - q[0], n2c[1] - q[1]]) / norm([n2c[0] + q[0], n2c[1] + q[1]]);
    0.5 * (s + p)
}

fn glass_fresnel(c: f64, eta: f64) -> f64 {
    let sin2 = (1.0 - c * c) / (eta * eta);
    if sin2 >= 1.0 {
        return 1.0;
    }
    let t = (1.0 - sin2).sqrt();
    let (s, p) = ((c - eta * t) / (c + eta * t), (eta * c - t) / (eta * c + t));
    0.5 * (s * s + p * p)
}

/// Every parameter at either end of its range, the others where they are; then all of them at one
/// end.
fn extremes(material: &Material) -> Vec<Vec<u32>> {
    let members = material.shader.members();
    let end = |member: &Parameter, k: usize| {
        member.range[k].is_finite().then(|| member.scalar.bits(member.range[k]))
    };
    let mut all = vec![material.parameters.clone()];
    let mut extremes = [material.parameters.clone(), material.parameters.clone()];
    let mut at = 0;
    for member in members {
        for k in [0, 1] {
            let Some(bits) = end(member, k) else { continue };
            let mut words = material.parameters.clone();
            words[at..at + member.size].fill(bits);
            extremes[k][at..at + member.size].fill(bits);
            all.push(words);
        }
        at += member.size;
    }
    all.into_iter().chain(extremes).collect()
}

#[test]
fn ends_of_ranges_break_nothing() {
    let least = 0.5 * f32::EPSILON;
    let ends = [0.0, least, 0.25, 0.5 - least, 0.5, 0.75, 1.0 - 2.0 * least, ONE_MINUS_EPSILON];
    let corners = ends.into_iter().flat_map(|x| ends.map(|y| [x, y]));
    let numbers: Vec<_> = corners.chain(numbers(500)).collect();
    for mut material in Material::each() {
        let grazing = [1e-3f32, 1e-6, 1e-12].map(|z| vec3(-0.6, 0.8, z).normalize());
        for parameters in extremes(&material) {
            material.parameters = parameters;
            for wo in material.views().into_iter().chain(grazing) {
                let scattered = material.scatter(&numbers, wo);
                let pairs: Vec<_> = sphere(500)
                    .into_iter()
                    .chain([wo, -wo, vec3(-wo.x, -wo.y, wo.z), vec3(wo.x, wo.y, -wo.z)])
                    .map(|wi| (wi, wo))
                    .collect();
                for light in scattered.into_iter().chain(material.evaluate(&pairs)) {
                    let values = light.s.extend(light.pdf);
                    // What bounds of shaders rely on.
                    let unit = (light.wi.as_dvec3().length_squared() - 1.0).abs() < 0.5f64.powi(21);
                    assert!(
                        values.is_finite() && values.min_element() >= 0.0 && unit,
                        "{} with {:?} from {wo}: {light:?}",
                        material.name,
                        material
                            .parameters
                            .iter()
                            .map(|&bits| f32::from_bits(bits))
                            .collect::<Vec<_>>()
                    );
                }
            }
        }
    }
}

#[test]
fn samplers_are_better_than_the_cosine() {
    println!("relative variance of s/pdf, and of the same with directions by the cosine");
    for (case, material) in Material::all() {
        for wo in material.views() {
            let lights = material.scatter(&stratified(400), wo);
            let weights = lights.iter().map(|light| f64::from(light.weight().element_sum()));
            let (mean, deviation) = statistics(weights);
            let relative = (deviation / mean).powi(2);
            // The second moment under the cosine's density is a mean under the sampler's own, which
            // sees the peak.
            let share = if material.shader.sides() == Sides::Both { 0.5 } else { 1.0 };
            let second = |light: &Light| {
                let cosine = f64::from(share * FRAC_1_PI * light.wi.z.abs());
                f64::from(light.weight().element_sum()) * f64::from(light.s.element_sum())
                    / cosine.max(1e-30)
            };
            let (second, _) = statistics(lights.iter().map(second));
            let cosine = second / (mean * mean) - 1.0;
            println!("{relative:10.4} {cosine:12.4}  {} from {wo}", material.name);
            assert!(
                !case.glossy || relative <= cosine,
                "{} from {wo}: {relative}, by the cosine {cosine}",
                material.name
            );
        }
    }
}
