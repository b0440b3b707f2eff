//! Tests of direction trees, for all library materials, random parameters and random `wo`.

use super::table::OutgoingDirections;
use super::{AdaptiveBuilder, BrdfKernels, DirectionDomain, DirectionTree, SplitBudget, TreeTable};
use crate::material::self_check::testing::any_value;
use crate::material::{Program, ShaderBinding, library};
use lightbound_math::direction_box::testing::{uniform, unit};
use lightbound_math::sampling::testing::assert_sampler_matches_pdf;
use lightbound_math::{Vec2, Vec3, vec2, vec3};
use lightbound_shader::random::Random;
use lightbound_shader::{
    Arena, Batch, Parameter, Settings, Shader, ShaderKind, SurfaceSides, Target,
};
use std::sync::Arc;

/// Polar angles and azimuths of `wo`, degrees. No azimuth is aligned with an axis.
const ANGLES: [(f32, f32); 4] = [(0.0, 0.0), (45.0, 20.0), (80.0, 130.0), (89.5, 250.0)];

fn from_angles((theta, phi): (f32, f32)) -> Vec3 {
    let ((s, c), (sin, cos)) = (theta.to_radians().sin_cos(), phi.to_radians().sin_cos());
    vec3(s * cos, s * sin, c)
}

/// A shader with the kernels for direction trees.
struct TestShader {
    binding: ShaderBinding,
    kernels: BrdfKernels,
}

impl TestShader {
    fn new(name: &str, text: &str) -> TestShader {
        let shader = Shader::parse(name, text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let program =
            Program::compile(&Arena::new(), &shader, &Settings::default(), Target::best())
                .expect("the shader compiles");
        let kernels = BrdfKernels::compile(&Arena::new(), &program).expect("the shader compiles");
        TestShader { binding: ShaderBinding::new(Arc::new(program), vec![]), kernels }
    }

    fn library() -> Vec<TestShader> {
        library::LIBRARY.iter().map(|entry| TestShader::new(entry.name, entry.text)).collect()
    }

    fn name(&self) -> &str {
        &self.binding.program.name
    }

    /// Returns the words of the material parameters. `value` returns the value of each component.
    fn parameters(&self, mut value: impl FnMut(&Parameter, usize) -> f64) -> Vec<u32> {
        let words =
            |p: &Parameter| (0..p.size).map(|k| p.scalar.bits(value(p, k))).collect::<Vec<_>>();
        self.binding.program.settable.iter().flat_map(words).collect()
    }

    fn default_parameters(&self) -> Vec<u32> {
        self.parameters(|p, k| p.default.as_ref().expect("the library has defaults")[k])
    }

    fn random_parameters(&self, seed: u32) -> Vec<u32> {
        let mut index = 0;
        self.parameters(|p, _| {
            index += 1;
            any_value(p, seed * 64 + index)
        })
    }

    fn tree(&self, wo: Vec3, parameters: &[u32]) -> DirectionTree {
        let mut tree = DirectionTree::cosine(self.binding.program.sides);
        self.build(wo, parameters, &mut tree);
        tree
    }

    fn build(&self, wo: Vec3, parameters: &[u32], tree: &mut DirectionTree) {
        self.build_with_budget(&SplitBudget::POINT, wo, parameters, tree);
    }

    fn build_with_budget(
        &self,
        budget: &SplitBudget,
        wo: Vec3,
        parameters: &[u32],
        tree: &mut DirectionTree,
    ) {
        AdaptiveBuilder::new(&self.kernels, &self.binding).build(
            wo,
            parameters.iter().copied(),
            budget,
            tree,
        );
    }

    /// Returns the shaders of the library that are BSDFs. Phase functions have no tables.
    fn bsdfs() -> Vec<TestShader> {
        let mut library = TestShader::library();
        library.retain(|shader| shader.binding.program.kind() == ShaderKind::Brdf);
        library
    }

    fn table(&self) -> TreeTable {
        TreeTable::new(self.binding.program.sides, 1, SplitBudget::POINT.splits, 1 << 30)
            .expect("the table fits")
    }

    /// Returns the luminance of s for light directions.
    fn s_luminance(&self, wi: &[Vec3], wo: Vec3, parameters: &[u32]) -> Vec<f32> {
        let kernel = &self.binding.program.evaluate;
        let mut inputs = Batch::new(kernel.target(), 6 + parameters.len(), wi.len());
        let mut outputs = Batch::new(kernel.target(), kernel.outputs().len(), wi.len());
        for (row, wi) in wi.iter().enumerate() {
            let directions = [wi.x, wi.y, wi.z, wo.x, wo.y, wo.z].map(f32::to_bits);
            inputs.set_row(row, 0, &directions);
            inputs.set_row(row, 6, parameters);
        }
        inputs.truncate(wi.len());
        kernel.run(&[], &inputs, &mut outputs);
        let luminance = |row| {
            let [r, g, b] = outputs.floats(row, 0);
            0.2126 * r + 0.7152 * g + 0.0722 * b
        };
        (0..wi.len()).map(luminance).collect()
    }
}

fn random_vec2(random: &mut Random) -> Vec2 {
    vec2(uniform(random), uniform(random))
}

/// Returns a random `wo`, above the surface for one-sided shaders.
fn any_wo(random: &mut Random, sides: SurfaceSides) -> Vec3 {
    let w = unit(random);
    let factor = if random.once_in(3) { 0.5f32.powi(random.below(14) as i32) } else { 1.0 };
    let w = vec3(w.x, w.y, w.z * factor).normalize();
    match sides {
        SurfaceSides::One => vec3(w.x, w.y, w.z.abs().max(1e-6)),
        SurfaceSides::Both => vec3(w.x, w.y, w.z.abs().max(1e-6).copysign(w.z)),
    }
}

#[test]
fn pdf_matches_sampling_frequency_for_the_library() {
    let random = &mut Random::new(3);
    let (draws, settings) = if cfg!(debug_assertions) { (20_000, 2) } else { (1_000_000, 8) };
    let library = TestShader::library();
    let tests = library.len() * ANGLES.len() * settings as usize;
    for shader in &library {
        for (angles, setting) in
            ANGLES.iter().flat_map(|angles| (0..settings).map(move |setting| (angles, setting)))
        {
            let parameters = if setting == 0 {
                shader.default_parameters()
            } else {
                shader.random_parameters(setting)
            };
            let tree = shader.tree(from_angles(*angles), &parameters);
            if tree.node_count() == 0 {
                continue;
            }
            let p = tree.chi_square(random, draws);
            assert!(
                p > 0.01 / tests as f64,
                "{} {angles:?} {parameters:x?}: p = {p}",
                shader.name()
            );
            assert!(tree.edge_fraction(random, draws) < 0.01);
        }
    }
}

/// Returns parameter sets with different lobes: the defaults, the narrowest lobes, and lobes that
/// are narrow only along x.
fn parameter_sets(shader: &TestShader) -> Vec<Vec<u32>> {
    let set = |narrow: fn(&str) -> bool, wide: fn(&str) -> bool| {
        shader.parameters(|p, k| match &*p.name {
            name if narrow(name) => {
                if name.starts_with("alpha") {
                    p.range[0]
                } else {
                    p.range[1]
                }
            }
            name if wide(name) => {
                if name.starts_with("alpha") {
                    0.5
                } else {
                    10.0
                }
            }
            _ => p.default.as_ref().expect("the library has defaults")[k],
        })
    };
    let is_lobe_width =
        |name: &str| matches!(name, "alpha" | "alpha_x" | "alpha_y" | "exponent" | "n_u" | "n_v");
    let along_x = |name: &str| matches!(name, "alpha_x" | "n_u");
    let mut sets = vec![
        shader.default_parameters(),
        set(is_lobe_width, |_| false),
        set(along_x, is_lobe_width),
    ];
    sets.dedup();
    sets
}

#[test]
#[ignore = "takes minutes: cargo test --release -p lightbound --lib a_million_samples -- --ignored --nocapture"]
fn a_million_samples_match_the_density() {
    const DRAWS: usize = 1_000_000;
    let random = &mut Random::new(5);
    let library = TestShader::bsdfs();
    let mut p_values = Vec::new();
    for shader in &library {
        let table = shader.table();
        for (index, parameters) in parameter_sets(shader).iter().enumerate() {
            for angles in ANGLES {
                let wo = from_angles(angles);
                let tree = shader.tree(wo, parameters);
                let new_table = TreeTable::new(
                    shader.binding.program.sides,
                    1,
                    SplitBudget::POINT.splits,
                    1 << 30,
                )
                .expect("the table fits");
                let table = if index == 0 { &table } else { &new_table };
                let shifted = table.tree(wo, |center, tree| shader.build(center, parameters, tree));
                let p = tree.chi_square(random, DRAWS);
                let edge_fraction = tree.edge_fraction(random, DRAWS);
                let [table_p, table_edge_fraction] = shifted.chi_square(random, DRAWS);
                let name = format!("{:24} {index} {angles:?}", shader.name());
                println!(
                    "{name:44} {:3} splits: p {p:.4}, table {table_p:.4}; other density at edges \
                     {edge_fraction:.5}, table {table_edge_fraction:.5}",
                    tree.node_count()
                );
                assert!(edge_fraction < 0.01 && table_edge_fraction < 0.01, "{name}");
                p_values.extend([(p, name.clone()), (table_p, name + ", table")]);
            }
        }
    }
    let threshold = 1.0 - 0.99f64.powf(1.0 / p_values.len() as f64);
    let lowest = p_values.iter().min_by(|a, b| a.0.total_cmp(&b.0)).expect("tests ran");
    let below = p_values.iter().filter(|(p, _)| *p < 0.05).count();
    println!(
        "{} tests, {below} below 0.05, lowest {:.2e} ({}), threshold {threshold:.2e}",
        p_values.len(),
        lowest.0,
        lowest.1
    );
    assert!(lowest.0 > threshold, "{lowest:?}");
}

/// A lobe around one direction. Its albedo is 1 if the lobe lies within the unit disk of (x, y),
/// since area in the disk is cosine-weighted solid angle.
const SPIKE: &str = "struct Material {
    /// range: [-1, 1], default: 0
    center: vec2f,
    /// range: [1e-4, 1], default: 0.1
    width: f32,
}
fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let d = (wi.xy - m.center) / m.width;
    return vec3f(exp(-dot(d, d)) / (3.14159265 * m.width * m.width));
}
";

/// A retroreflective lobe.
const RETROREFLECTOR: &str = "struct Material {
    /// range: [1, 1e5], default: 2000
    exponent: f32,
}
fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    return vec3f(m.exponent / 6.2831853 * pow(max(dot(wi, wo), 0.0), m.exponent));
}
";

#[test]
fn tables_are_suitable_only_for_lobes_around_the_mirror_direction() {
    let loss = |shader: &TestShader, parameters: &[u32]| {
        AdaptiveBuilder::new(&shader.kernels, &shader.binding).table_loss(
            &shader.table(),
            OutgoingDirections::All,
            parameters.iter().copied(),
        )
    };
    for shader in TestShader::bsdfs() {
        for (index, parameters) in parameter_sets(&shader).iter().enumerate() {
            let loss = loss(&shader, parameters);
            println!("{} {index}: {loss}", shader.name());
            // Only the defaults must be suitable: narrow refracted lobes move by the ratio of
            // indices, and lobes of metal that is rough only along y rotate.
            assert!(index > 0 || loss < 8.0, "{} {index}: {loss}", shader.name());
        }
    }
    let spike = TestShader::new("spike.wgsl", SPIKE);
    let spike_parameters =
        |width: f64| spike.parameters(|p, _| if &*p.name == "width" { width } else { 0.3 });
    let spike_losses = [0.2, 0.003, 0.001].map(|width| loss(&spike, &spike_parameters(width)));
    assert!(
        spike_losses[0] < 2.0 && spike_losses[1] > 32.0 && spike_losses[2] > 32.0,
        "{spike_losses:?}"
    );
    let retroreflector = TestShader::new("retroreflector.wgsl", RETROREFLECTOR);
    let retroreflector_loss = loss(&retroreflector, &retroreflector.default_parameters());
    assert!(retroreflector_loss > 32.0, "{retroreflector_loss}");
}

#[test]
fn lobes_narrower_than_the_first_cells_are_found() {
    let random = &mut Random::new(6);
    let shader = TestShader::new("spike.wgsl", SPIKE);
    for width in [0.1, 0.01, 0.003, 0.001] {
        for _ in 0..if cfg!(debug_assertions) { 6 } else { 100 } {
            let center = 0.9 * (1.0 - 5.0 * width) * unit(random).truncate();
            let parameters = shader.parameters(|p, k| {
                if &*p.name == "width" { f64::from(width) } else { f64::from(center[k]) }
            });
            let wo = any_wo(random, SurfaceSides::One);
            let tree = shader.tree(wo, &parameters);
            let [reflected, variance] =
                mean(&shader, (wo, &parameters), random, |u| tree.sample(u));
            let sigma = variance.sqrt();
            assert!(
                (reflected - 1.0).abs() < 4.5 * sigma + 1e-3,
                "{center} {width}: {reflected} ± {sigma}"
            );
            // Cosine sampling would have 1 / (2 π width²) times the variance.
            assert!(sigma < 0.05, "{center} {width}: {sigma} with {} splits", tree.node_count());
        }
    }
}

/// Returns the variance of the estimator s/pdf with a tree, relative to its squared mean.
fn relative_variance(
    shader: &TestShader,
    parameters: &[u32],
    wo: Vec3,
    tree: &DirectionTree,
    random: &mut Random,
) -> f64 {
    const DRAWS: u32 = 20_000;
    let draws: Vec<(Vec3, f32)> =
        (0..DRAWS).filter_map(|_| tree.sample(random_vec2(random))).collect();
    let wi: Vec<Vec3> = draws.iter().map(|&(wi, _)| wi).collect();
    let values = shader.s_luminance(&wi, wo, parameters);
    let weights = values.iter().zip(&draws).map(|(s, (_, pdf))| f64::from(s / pdf));
    let [sum, squares] = weights.fold([0.0; 2], |[a, b], x| [a + x, b + x * x]);
    squares * f64::from(DRAWS) / (sum * sum) - 1.0
}

/// Returns parameters of plastic, whose highlight depends on the roughness.
fn plastic(shader: &TestShader, roughness: f64) -> Vec<u32> {
    shader.parameters(|p, k| match &*p.name {
        "specular_roughness" => roughness,
        _ => p.default.as_ref().expect("openpbr has defaults")[k],
    })
}

#[test]
fn lobes_are_found_for_grazing_directions() {
    let random = &mut Random::new(12);
    let shader = TestShader::new("openpbr", library::find("openpbr").unwrap().text);
    let parameters = plastic(&shader, 0.2236);
    for theta in [60.0, 80.0, 84.0, 87.0, 89.0] {
        let wo = from_angles((theta, 33.0));
        let tree = shader.tree(wo, &parameters);
        let variance = relative_variance(&shader, &parameters, wo, &tree, random);
        assert!(variance < 0.3, "{theta}°: {variance}");
    }
}

#[test]
fn tables_are_not_used_for_narrow_lobes_at_grazing_angles() {
    let shader = TestShader::new("openpbr", library::find("openpbr").unwrap().text);
    let is_suitable = |roughness: f64, wo: Vec3| {
        let (table, parameters) = (shader.table(), plastic(&shader, roughness));
        let mut builder = AdaptiveBuilder::new(&shader.kernels, &shader.binding);
        table.is_suitable(wo, |outgoing| {
            builder.is_table_suitable(&table, outgoing, parameters.iter().copied())
        })
    };
    let [steep, grazing] = [30.0, 84.0].map(|theta| from_angles((theta, 33.0)));
    assert!(is_suitable(0.2236, steep) && !is_suitable(0.2236, grazing));
    assert!(is_suitable(0.8, steep) && is_suitable(0.8, grazing));
}

#[test]
fn phase_functions_without_samplers_are_sampled_in_proportion() {
    const RAINBOW: &str = "fn phase(wi: vec3f, wo: vec3f) -> f32 {
            let c = -dot(wi, wo);
            let bow = 0.4 * exp(-400.0 * (c + 0.75) * (c + 0.75));
            return 0.05 + bow + 0.2 * max(c, 0.0);
        }";
    let random = &mut Random::new(7);
    let without_sampler = |name: &str| {
        let text = library::find(name).expect("the library has the shader").text;
        text.replace("fn sample(", "fn unused(").replace("fn pdf(", "fn unused_pdf(")
    };
    let hg = without_sampler("henyey_greenstein.wgsl");
    let rayleigh = without_sampler("rayleigh.wgsl");
    for (name, text, g, max_variance) in [
        ("isotropic", &*hg, 0.0, 1e-6),
        ("forward", &*hg, 0.7, 0.05),
        ("peak", &*hg, 0.99, 0.2),
        ("backward", &*hg, -0.9, 0.1),
        ("rayleigh", &*rayleigh, 0.0, 0.02),
        ("rainbow", RAINBOW, 0.0, 0.1),
    ] {
        let shader = TestShader::new(name, text);
        assert!(!shader.binding.program.has_sampler);
        let parameters = shader.parameters(|_, _| g);
        let mut tree = DirectionTree::constant(DirectionDomain::Volume);
        shader.build_with_budget(&SplitBudget::PHASE, Vec3::Z, &parameters, &mut tree);
        let draw = |u| tree.sample(u).map(|(wi, _)| wi);
        assert_sampler_matches_pdf(name, 50_000, draw, |wi| tree.pdf(wi));
        let [albedo, variance] = mean(&shader, (Vec3::Z, &parameters), random, |u| tree.sample(u));
        let relative = variance * 40_000.0 / (albedo * albedo);
        println!("{name}: albedo {albedo}, relative variance {relative}");
        assert!(relative < max_variance, "{name}: {relative}");
        assert!(name == "rainbow" || (albedo - 1.0).abs() < 5.0 * variance.sqrt() + 1e-4);
    }
}

#[test]
fn scattered_directions_have_positive_density() {
    let random = &mut Random::new(1);
    let points = if cfg!(debug_assertions) { 20 } else { 1000 };
    for shader in TestShader::library() {
        let mut scattered = 0;
        for seed in 0..points {
            let wo = any_wo(random, shader.binding.program.sides);
            let parameters = shader.random_parameters(seed);
            let tree = shader.tree(wo, &parameters);
            // Random directions, grazing directions, and directions around the mirror direction or
            // the direction of straight transmission.
            let directions: Vec<Vec3> = (0..400)
                .filter_map(|k| match k % 4 {
                    0 => Some(unit(random)),
                    1 => (unit(random) * vec3(1.0, 1.0, 0.02)).try_normalize(),
                    2 => Some((vec3(-wo.x, -wo.y, wo.z) + 0.02 * unit(random)).normalize()),
                    _ => Some((-wo + 0.1 * unit(random)).normalize()),
                })
                .filter(|wi| shader.binding.program.sides.covers(wi.z) && wi.z != 0.0)
                .collect();
            for (s, wi) in
                shader.s_luminance(&directions, wo, &parameters).into_iter().zip(&directions)
            {
                assert!(
                    s.is_nan() || s <= 0.0 || tree.pdf(*wi) > 0.0,
                    "{} {parameters:x?} {wo}: {s} at {wi}",
                    shader.name()
                );
                scattered += u32::from(s > 0.0);
            }
        }
        assert!(scattered > 20 * points, "{} {scattered}", shader.name());
    }
}

/// Returns the mean of s/pdf over sampled directions, and the variance of that mean.
fn mean(
    shader: &TestShader,
    (wo, parameters): (Vec3, &[u32]),
    random: &mut Random,
    draw: impl Fn(Vec2) -> Option<(Vec3, f32)>,
) -> [f64; 2] {
    const DRAWS: usize = 40_000;
    let samples: Vec<_> = (0..DRAWS).filter_map(|_| draw(random_vec2(random))).collect();
    let directions: Vec<Vec3> = samples.iter().map(|(wi, _)| *wi).collect();
    let s = shader.s_luminance(&directions, wo, parameters);
    let weights = std::iter::zip(s, &samples).map(|(s, (_, pdf))| f64::from(s / pdf));
    let (sum, squares) = weights.fold((0.0, 0.0), |(sum, squares), w| (sum + w, squares + w * w));
    let n = DRAWS as f64;
    [sum / n, (squares / n - (sum / n).powi(2)).max(0.0) / n]
}

#[test]
fn estimates_agree_with_cosine_sampling() {
    let random = &mut Random::new(2);
    for shader in TestShader::bsdfs() {
        let table = shader.table();
        for angles in [(30.0, 70.0), (70.0, 200.0)] {
            let (wo, parameters) = (from_angles(angles), shader.default_parameters());
            let (tree, cosine) =
                (shader.tree(wo, &parameters), DirectionTree::cosine(shader.binding.program.sides));
            let shifted = table.tree(wo, |center, tree| shader.build(center, &parameters, tree));
            let [by_cosine, variance] =
                mean(&shader, (wo, &parameters), random, |u| cosine.sample(u));
            let by_tree = mean(&shader, (wo, &parameters), random, |u| tree.sample(u));
            let by_table = mean(&shader, (wo, &parameters), random, |u| shifted.sample(u));
            for [other, other_variance] in [by_tree, by_table] {
                let (name, sigma) = (shader.name(), (variance + other_variance).sqrt());
                assert!(
                    (other - by_cosine).abs() < 4.5 * sigma + 1e-6,
                    "{name} {angles:?}: {other}, {by_cosine} ± {sigma}"
                );
            }
        }
    }
}

#[test]
fn tabulated_tree_pdf_matches_sampling_frequency() {
    let random = &mut Random::new(4);
    let library = TestShader::library();
    let shader = |name: &str| {
        library.iter().find(|shader| shader.name() == name).expect("the library has this shader")
    };
    for (name, alpha) in [("phong.wgsl", 8.0), ("dielectric.wgsl", 0.8), ("oren_nayar.wgsl", 1.0)] {
        let shader = shader(name);
        let parameters = shader.parameters(|p, k| match &*p.name {
            "exponent" | "alpha_x" | "alpha_y" => alpha,
            _ => p.default.as_ref().expect("the library has defaults")[k],
        });
        let table = shader.table();
        for _ in 0..2 {
            let wo = any_wo(random, shader.binding.program.sides);
            let tree = table.tree(wo, |center, tree| {
                shader.build_with_budget(
                    &SplitBudget { splits: 6, uncertainty: 0.0 },
                    center,
                    &parameters,
                    tree,
                );
            });
            let draw = |u| {
                let (wi, pdf) = tree.sample(u)?;
                assert_eq!(pdf, tree.pdf(wi));
                Some(wi)
            };
            assert_sampler_matches_pdf(&format!("{name} {wo}"), 20_000, draw, |wi| tree.pdf(wi));
        }
    }
}
