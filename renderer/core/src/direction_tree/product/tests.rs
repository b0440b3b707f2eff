//! Tests of product sampling: samples follow the density, all lit and scattered directions have a
//! positive density, and the variance is low.

use super::super::tests::{TestShader, any_wo, from_angles, random_vec2};
use super::super::{DirectionTree, SplitBudget, TreeTable};
use super::*;
use crate::light::square_to_sphere;
use glam::{DAffine3, DQuat, dvec3};
use lightbound_math::direction_box::testing::unit;
use lightbound_math::sampling::luminance;
use lightbound_math::sampling::testing::assert_sampler_matches_pdf;
use lightbound_math::{Frame, Transform, vec3};
use lightbound_shader::SurfaceSides;
use lightbound_shader::random::Random;

/// Creates an environment map under a transform. `texel` returns its texels by column and row.
fn environment(
    size: usize,
    map: DAffine3,
    texel: impl Fn(usize, usize) -> Vec3,
) -> (Environment, ProductEnvironment) {
    let texels: Vec<Vec3> = (0..size * size).map(|i| texel(i % size, i / size)).collect();
    let environment =
        Environment::image(&texels, size, &Transform::new(map).unwrap(), 2.0).unwrap();
    let prepared = ProductEnvironment::new(&environment).expect("the image is not black");
    (environment, prepared)
}

fn skewed() -> DAffine3 {
    DAffine3::from_quat(DQuat::from_rotation_y(0.8)) * DAffine3::from_scale(dvec3(-2.0, 1.0, 0.6))
}

/// Returns environment maps that are difficult in different ways, with names.
fn environments() -> Vec<(&'static str, (Environment, ProductEnvironment))> {
    let rotation = DAffine3::from_quat(DQuat::from_rotation_x(1.0));
    let varied = |x: usize, y: usize| {
        vec3((1 + x % 3) as f32, (y % 4) as f32, 1.0) * if x == y { 20.0 } else { 1.0 }
    };
    vec![
        ("constant", environment(8, rotation, |_, _| Vec3::splat(3.0))),
        (
            "one bright texel",
            environment(64, rotation, |x, y| {
                Vec3::splat(if (x, y) == (40, 33) { 5e3 } else { 0.5 })
            }),
        ),
        (
            "one texel that is not black",
            environment(32, rotation, |x, y| {
                Vec3::splat(if (x, y) == (17, 14) { 1.0 } else { 0.0 })
            }),
        ),
        (
            "black parts",
            environment(
                21,
                rotation,
                |x, y| if x < 9 && y > 5 { varied(x, y) } else { Vec3::ZERO },
            ),
        ),
        ("stretched", environment(16, skewed(), varied)),
    ]
}

fn product<'a>(
    tree: ShiftedTree<'a>,
    (environment, prepared): &'a (Environment, ProductEnvironment),
    frame: &Frame,
) -> ProductDistribution<'a> {
    ProductDistribution::new(tree, environment, prepared, [frame.t, frame.b, frame.n])
}

// Products of small trees with all environments.
#[test]
fn pdf_matches_sampling_frequency_for_the_library() {
    let random = &mut Random::new(1);
    let (environments, library) = (environments(), TestShader::library());
    for (name, alpha) in [("phong.wgsl", 8.0), ("dielectric.wgsl", 0.8), ("oren_nayar.wgsl", 1.0)] {
        let shader = library
            .iter()
            .find(|shader| shader.name() == name)
            .expect("the library has this shader");
        let parameters = shader.parameters(|p, k| match &*p.name {
            "exponent" | "alpha_x" | "alpha_y" => alpha,
            _ => p.default.as_ref().expect("the library has defaults")[k],
        });
        let table = shader.table();
        for (k, (name, environment)) in environments.iter().enumerate() {
            let frame = Frame::from_normal(unit(random));
            let wo = from_angles([(10.0, 30.0), (50.0, 200.0), (80.0, 100.0)][k % 3]);
            let tree = table.tree(wo, |center, tree| {
                shader.build_with_budget(
                    &SplitBudget { splits: 6, uncertainty: 0.0 },
                    center,
                    &parameters,
                    tree,
                )
            });
            let product = product(tree, environment, &frame);
            let draw = |u| {
                let sample = product.sample(u)?;
                assert!(sample.pdf > 0.0);
                Some(frame.local_direction(sample.wi))
            };
            let name = format!("{} {name} {wo}", shader.name());
            assert_sampler_matches_pdf(&name, 30_000, draw, |wi| product.pdf(wi));
        }
    }
}

/// Returns, for each octant of world directions, the sums of weights and squared weights of an
/// estimate of the density's integral, and the number of samples of the product. Half of the
/// directions for the estimate are sampled from the tree, half from the environment.
fn octant_sums(
    product: &ProductDistribution,
    frame: &Frame,
    draws: usize,
    random: &mut Random,
) -> [[f64; 3]; 8] {
    let mut octants = [[0.0; 3]; 8];
    let octant =
        |wi: Vec3| wi.to_array().iter().fold(0, |part, x| 2 * part + usize::from(*x < 0.0));
    for k in 0..draws {
        let wi = if k % 2 == 0 {
            frame.to_world(
                product.tree.sample(random_vec2(random)).expect("the tree is not empty").0,
            )
        } else {
            product
                .environment
                .sample_li(Vec3::ZERO, random_vec2(random))
                .expect("the environment is not black")
                .wi
        };
        let local = frame.local_direction(wi);
        let density = 0.5 * (product.tree.pdf(local) + product.environment.pdf_li(wi));
        // Rounding at the horizon may yield density 0.
        let weight = if density > 0.0 { f64::from(product.pdf(local) / density) } else { 0.0 };
        let [sum, squares, _] = &mut octants[octant(wi)];
        (*sum, *squares) = (*sum + weight, *squares + weight * weight);
        let sample = product.sample(random_vec2(random)).expect("the product is not empty");
        octants[octant(sample.wi)][2] += 1.0;
    }
    octants
}

/// Checks all shaders and environments with `draws` samples of each product.
fn assert_octant_frequencies_match_density(draws: usize) {
    let random = &mut Random::new(6);
    let environments = environments();
    for shader in TestShader::library() {
        let (parameters, table) = (shader.default_parameters(), shader.table());
        for (k, (name, environment)) in environments.iter().enumerate() {
            let frame = Frame::from_normal(unit(random));
            let wo = any_wo(random, shader.binding.program.sides);
            let exact = shader.tree(wo, &parameters);
            let tabulated = table.tree(wo, |center, tree| shader.build(center, &parameters, tree));
            let tree = if k % 2 == 0 { exact.unshifted() } else { tabulated };
            let product = product(tree, environment, &frame);
            let n = draws as f64;
            let mut total = 0.0;
            for [sum, squares, count] in octant_sums(&product, &frame, draws, random) {
                let integral = sum / n;
                let deviation = ((squares / n - integral * integral).max(0.0) / n
                    + count / n * (1.0 - count / n) / n)
                    .sqrt();
                assert!(
                    (integral - count / n).abs() < 5.0 * deviation + 2e-3,
                    "{}, {name}, {wo}: integral {integral}, {count} of {draws} samples",
                    shader.name()
                );
                total += integral;
            }
            assert!(
                (total - 1.0).abs() < 0.2,
                "{} {name}: densities integrate to {total}",
                shader.name()
            );
        }
    }
}

#[test]
fn octant_frequencies_match_the_density() {
    assert_octant_frequencies_match_density(2000);
}

#[test]
#[ignore = "takes minutes: cargo test --release -p lightbound --lib product -- --ignored"]
fn octant_frequencies_of_many_samples_match_the_density() {
    assert_octant_frequencies_match_density(1_000_000);
}

#[test]
fn sample_density_equals_pdf() {
    let random = &mut Random::new(2);
    let environments = environments();
    for shader in TestShader::library() {
        let (_, environment) = &environments[random.below(environments.len())];
        let (wo, frame) =
            (any_wo(random, shader.binding.program.sides), Frame::from_normal(unit(random)));
        let parameters = shader.default_parameters();
        let table = shader.table();
        let tree = table.tree(wo, |center, tree| shader.build(center, &parameters, tree));
        let product = product(tree, environment, &frame);
        let differs = |_: &u32| {
            let sample = product.sample(random_vec2(random)).expect("the product is not empty");
            let radiance = environment.0.radiance(sample.wi);
            assert_eq!(sample.radiance, radiance);
            (product.pdf(frame.local_direction(sample.wi)) / sample.pdf - 1.0).abs() > 1e-4
        };
        // Only samples at edges of cells or texels differ.
        let count = (0..1000).filter(differs).count();
        assert!(count < 10, "{}: {count} densities differ", shader.name());
    }
}

#[test]
fn lit_and_scattered_directions_have_positive_density() {
    let random = &mut Random::new(3);
    let environments = environments();
    let mut lit = 0;
    for (round, shader) in TestShader::library().iter().enumerate() {
        let (_, environment) = &environments[round % environments.len()];
        for seed in 0..10 {
            let (wo, frame) =
                (any_wo(random, shader.binding.program.sides), Frame::from_normal(unit(random)));
            let parameters = shader.random_parameters(seed);
            let tree = shader.tree(wo, &parameters);
            let product = product(tree.unshifted(), environment, &frame);
            let bright = |k: u32| match k % 2 {
                0 => unit(random),
                _ => {
                    environment
                        .0
                        .sample_li(Vec3::ZERO, random_vec2(random))
                        .expect("the environment is not black")
                        .wi
                }
            };
            let directions: Vec<Vec3> =
                (0..100).map(bright).map(|wi| frame.local_direction(wi)).collect();
            let s = shader.s_luminance(&directions, wo, &parameters);
            for (wi, s) in directions.into_iter().zip(s) {
                let is_lit = s > 0.0 && environment.0.radiance(frame.to_world(wi)) != Vec3::ZERO;
                assert!(
                    !is_lit || product.pdf(wi) > 0.0,
                    "{} {parameters:x?} {wo}: {wi}",
                    shader.name()
                );
                lit += u32::from(is_lit);
            }
        }
    }
    assert!(lit > 1000, "{lit}");
}

#[test]
fn product_sampling_reduces_variance() {
    // A sun of several texels in a varying environment, and a lobe that is close to it.
    let random = &mut Random::new(4);
    let sun = square_to_sphere(vec2(0.6, 0.55));
    let environment = environment(64, DAffine3::IDENTITY, |x, y| {
        let d = square_to_sphere(vec2(x as f32 + 0.5, y as f32 + 0.5) / 64.0);
        Vec3::splat(if d.dot(sun) > 0.99 { 60.0 } else { 0.3 + (2.0 * d.x + d.z).powi(2) })
    });
    let library = TestShader::library();
    let shader = library
        .iter()
        .find(|shader| shader.name() == "phong.wgsl")
        .expect("the library has this shader");
    let (parameters, frame) =
        (shader.default_parameters(), Frame::from_normal(vec3(0.6, 0.0, 0.8)));
    let wo = from_angles((40.0, 100.0));
    let tree = shader.tree(wo, &parameters);
    let product = product(tree.unshifted(), &environment, &frame);
    let mut variance = |draw: &mut dyn FnMut(Vec2) -> (Vec3, f32)| {
        let samples: Vec<_> = (0..4000).map(|_| draw(random_vec2(random))).collect();
        let s = shader.s_luminance(
            &samples.iter().map(|(wi, _)| *wi).collect::<Vec<_>>(),
            wo,
            &parameters,
        );
        let value = |((wi, pdf), s): (&(Vec3, f32), f32)| {
            f64::from(s * luminance(environment.0.radiance(frame.to_world(*wi))) / pdf)
        };
        let (sum, squares) =
            samples.iter().zip(s).map(value).fold((0.0, 0.0), |(a, b), w| (a + w, b + w * w));
        (sum / 4000.0, 4000.0 * squares / (sum * sum) - 1.0)
    };
    let (tree_mean, tree_variance) =
        variance(&mut |u| tree.sample(u).expect("the tree is not empty"));
    let (product_mean, product_variance) = variance(&mut |u| {
        let sample = product.sample(u).expect("the tree is not empty");
        (frame.local_direction(sample.wi), sample.pdf)
    });
    assert!(
        (tree_mean / product_mean - 1.0).abs() < 0.15,
        "{tree_mean} by the tree, {product_mean} by the product"
    );
    assert!(
        product_variance < 0.25 && product_variance < 0.1 * tree_variance,
        "{product_variance} by the product, {tree_variance} by the tree"
    );
}

#[test]
fn products_of_empty_trees_have_no_samples() {
    let mut empty = DirectionTree::cosine(SurfaceSides::One);
    empty.set_nodes(SurfaceSides::One, std::iter::empty());
    let (_, environment) = &environments()[0];
    let product = product(empty.unshifted(), environment, &Frame::from_normal(Vec3::Z));
    assert!(product.sample(vec2(0.5, 0.5)).is_none() && product.sample(vec2(0.01, 0.5)).is_none());
    assert_eq!(product.pdf(Vec3::Z), 0.0);
}

#[test]
fn two_sided_products_sample_both_sides() {
    let random = &mut Random::new(5);
    let tree = DirectionTree::cosine(SurfaceSides::Both);
    let table = TreeTable::new(SurfaceSides::Both, 1, 1, 1 << 30).expect("the table fits");
    let shifted = table.tree(vec3(0.48, 0.6, -0.64), |_, cell_tree| *cell_tree = tree.clone());
    let environment =
        environment(16, skewed(), |x, y| Vec3::splat(if x < 8 { 1.0 } else { 0.1 * y as f32 }));
    let product = product(shifted, &environment, &Frame::from_normal(unit(random)));
    let draw = |u| product.sample(u).map(|sample| sample.wi);
    let pdf =
        |wi: Vec3| product.pdf(Vec3::from_array(product.axes.map(|axis| axis.dot(wi))).normalize());
    assert_sampler_matches_pdf("both sides", 50_000, draw, pdf);
}
