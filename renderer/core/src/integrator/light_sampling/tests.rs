//! Tests of light selection: probabilities sum to 1 and match sampling frequencies, the densities
//! of hits match the densities of samples, and all reflected light has a positive probability.

use super::*;
use crate::camera::Camera;
use crate::geometry::{BilinearMesh, Disk, Hit, Mesh, Shape, Sphere, Surface};
use crate::integrator::material_bound::tests::{LIBRARY, random_parameters};
use crate::integrator::material_bound::{BoundEvaluator, MaterialBounds};
use crate::light::{DistantLight, Environment, PointLight, SpotLight};
use crate::light_tree::testing::Random;
use crate::material::library;
use crate::scene::{MaterialId, SceneBuilder};
use crate::settings::BoundMode;
use lightbound_math::sampling::testing::assert_chi_square;
use lightbound_math::{Aabb, Frame, Transform, Viewpoint, vec2, vec3};
use lightbound_shader::{ShaderKind, SurfaceSides};

/// Samples light from a selected light, with its density.
fn sample(
    picker: &mut LightPicker,
    p: Vec3,
    u_pick: [f32; 2],
    u_position: Vec2,
) -> Option<(LightSample, f32)> {
    let choice = picker.pick(u_pick)?;
    let light = picker.sample(&choice, p, u_position, 0.0)?;
    let pdf = choice.probability * light.pdf;
    (pdf > 0.0).then_some((light, pdf))
}

/// Creates a builder with one diffuse material.
fn builder() -> (SceneBuilder, MaterialId) {
    let mut builder = SceneBuilder::new();
    let diffuse = library::find("diffuse").expect("the library contains it");
    let material = builder.add_shader(diffuse.name, diffuse.text, &[("kd", &[0.5; 3])]).unwrap();
    (builder, material)
}

/// Builds the scene with an arbitrary camera.
fn build_scene(builder: SceneBuilder) -> Scene {
    builder.build(Camera::look_at(Vec3::Z, Vec3::ZERO, Vec3::Y, 90.0, (8, 8))).unwrap()
}

/// Builds a scene without surfaces.
fn scene_with_lights(lights: impl IntoIterator<Item = AnyLight>) -> Scene {
    let (mut builder, _) = builder();
    lights.into_iter().for_each(|light| builder.add_light(light));
    build_scene(builder)
}

fn point_light(intensity: f32, position: Vec3) -> AnyLight {
    AnyLight::Point(PointLight::new(position, Vec3::splat(intensity)))
}

fn environment(radiance: Vec3) -> AnyLight {
    AnyLight::Environment(Environment::constant(radiance))
}

fn mesh(positions: &[[f32; 3]], triangles: &[[u32; 3]], normals: &[[f32; 3]]) -> Mesh {
    let vectors = |all: &[[f32; 3]]| all.iter().copied().map(Vec3::from).collect();
    Mesh::new(vectors(positions), triangles.to_vec(), vectors(normals), vec![]).unwrap()
}

fn patch(positions: [[f32; 3]; 4], normals: &[[f32; 3]]) -> BilinearMesh {
    let normals = normals.iter().copied().map(Vec3::from).collect();
    let positions = positions.map(Vec3::from).to_vec();
    BilinearMesh::new(positions, vec![[0, 1, 2, 3]], normals, vec![]).unwrap()
}

/// Builds a scene with lights of all kinds in and around the cube [−1, 1]³. Most are point and spot
/// lights.
fn lights_of_all_kinds() -> Scene {
    let (mut builder, material) = builder();
    builder.add_light(environment(vec3(0.1, 0.12, 0.2)));
    let distant = DistantLight::new(vec3(1.0, -2.0, 2.0), vec3(0.3, 0.3, 0.2)).unwrap();
    builder.add_light(AnyLight::Distant(distant));
    let translation =
        |x, y, z| Transform::new(glam::DAffine3::from_translation([x, y, z].into())).unwrap();
    let ball = Sphere::full(&translation(1.0, -1.0, 1.0), 0.2).unwrap();
    let bowl = Sphere::new(&translation(-1.0, 0.0, 0.0), 0.3, -0.3, 0.1, 360.0).unwrap();
    for sphere in [ball, bowl] {
        builder.add_emitter(Shape::Sphere(sphere), material, vec3(8.0, 7.0, 6.0));
    }
    let quad = mesh(
        &[[-0.5, 0.5, 0.0], [0.0, 0.5, 0.0], [0.0, 0.5, 0.5], [-0.5, 0.8, 0.7]],
        &[[0, 1, 2], [0, 2, 3]],
        &[],
    );
    let bent = [[0.5, 0.5, -0.5], [0.8, 0.5, -0.5], [0.5, 0.9, -0.6], [0.8, 0.9, -0.3]];
    for shape in [Shape::Mesh(quad), Shape::Bilinear(patch(bent, &[]))] {
        builder.add_primitive(shape, material, false, Some((vec3(3.0, 4.0, 5.0), true)));
    }
    let disk = Disk::new(&Transform::IDENTITY, 0.9, 0.4, 0.0, 360.0).unwrap();
    builder.add_emitter(Shape::Disk(disk), material, vec3(5.0, 4.0, 3.0));
    let mut random = Random(5);
    for k in 0..200 {
        let [position, target] = [random.cube(), random.cube()];
        let bright = if k % 7 == 0 { 1.0 } else { 0.05 };
        let intensity = vec3(bright, bright, 0.01);
        builder.add_light(match k % 2 {
            0 => AnyLight::Point(PointLight::new(position, intensity)),
            _ => AnyLight::Spot(
                SpotLight::new(position, target - position, intensity, 50.0, 5.0).unwrap(),
            ),
        });
    }
    build_scene(builder)
}

/// Creates an environment map with few bright texels, and dim or black ones below the threshold of
/// light sampling.
fn environment_map() -> AnyLight {
    let texel = |i: usize| match i {
        _ if i % 97 == 5 => 40.0,
        _ if i % 4 == 1 => 6.0,
        _ => (i % 5) as f32 * 0.1,
    };
    let texels: Vec<Vec3> = (0..64 * 64).map(|i| Vec3::splat(texel(i))).collect();
    let rotation = Transform::new(glam::DAffine3::from_rotation_x(0.7)).unwrap();
    AnyLight::Environment(Environment::image(texels, 64, &rotation, 1.0).unwrap())
}

/// Creates a sampler with light trees, and with material weights for the library shaders if
/// `has_lobe`.
fn sampler(lights: &Lights, has_lobe: bool) -> LightSampler {
    let forest = Forest::build(lights, Aabb { min: -Vec3::ONE, max: Vec3::ONE });
    let stats = LightTreeStats {
        build: std::time::Duration::ZERO,
        bytes: forest.bytes(),
        points: forest.tree.points().len(),
        virtual_lights: 0,
    };
    let materials =
        has_lobe.then(|| MaterialWeights::compile(&LIBRARY).expect("the library shaders compile"));
    LightSampler(LightSelection::Bvh(Box::new(BvhSelection {
        forest,
        stats,
        materials,
        optional_materials: None,
    })))
}

/// Returns a random receiver with a shader of the library, its material parameters, and the lobe
/// with that shader. Phase functions are at points in media.
fn random_receiver(
    picker: &LightPicker,
    random: &mut Random,
    k: usize,
) -> (Receiver, Vec<u32>, Lobe) {
    let shader = (k % LIBRARY.len()) as u32;
    let program = &LIBRARY[shader as usize].program;
    let parameters = random_parameters(program, k as u32);
    let (axis, wo, p) = (random.cube().normalize(), random.cube().normalize(), random.cube());
    let is_medium = program.kind() == ShaderKind::Phase;
    let frame = Frame::from_normal(if is_medium { wo } else { axis });
    let both_sides = program.sides == SurfaceSides::Both;
    let side = if both_sides { 1.0 } else { 1f32.copysign(frame.n.dot(wo)) };
    let view = Viewpoint::new(p, &frame, side);
    let lobe = Lobe { shader, view, wo: view.local_direction(wo), both_sides };
    let domain = if is_medium {
        ReceiverDomain::Volume
    } else {
        ReceiverDomain::Surface { n: side * frame.n, both_sides }
    };
    let receiver = Receiver {
        point: ReceiverPoint { p, domain },
        lobe: picker.uses_lobe(shader).then_some(lobe),
    };
    (receiver, parameters, lobe)
}

fn forest(sampler: &LightSampler) -> &Forest {
    match &sampler.0 {
        LightSelection::Bvh(bvh) => &bvh.forest,
        LightSelection::Power(_) => panic!("the sampler has no trees"),
    }
}

/// Returns a scene with lights of all kinds, and its lights with an additional environment map.
fn all_lights() -> (Scene, Lights) {
    let scene = lights_of_all_kinds();
    let mut lights = scene.lights.all().to_vec();
    lights.push(environment_map());
    let lights = Lights::new(lights, scene.accel.bounds());
    (scene, lights)
}

#[test]
fn probabilities_sum_to_one_and_match_sampling_frequency() {
    const SAMPLES: u32 = 4000;
    let (_, lights) = all_lights();
    for has_lobe in [false, true] {
        let sampler = sampler(&lights, has_lobe);
        let forest = forest(&sampler);
        let leaves = forest.tree.points().len() as u32;
        assert!(leaves > 1100, "{leaves}");
        let (mut picker, mut random, mut unlit_points) =
            (LightPicker::new(&sampler, &lights, false), Random(3), 0);
        let mut total_probability = 0.0;
        for k in 0..36 {
            let (receiver, parameters, _) = random_receiver(&picker, &mut random, k);
            picker.set_shading_point(&receiver, &parameters);
            let probabilities: Vec<f32> =
                (0..leaves).map(|leaf| picker.leaf_probability(forest, leaf)).collect();
            let sum: f64 = probabilities.iter().map(|&p| f64::from(p)).sum();
            if sum == 0.0 {
                unlit_points += 1;
                assert_eq!(picker.sample_leaf(forest, 0.5), None);
                continue;
            }
            // No light is sampled if a cluster has a positive weight but all its children are
            // black.
            assert!(sum < 1.0 + 1e-4, "probabilities at point {k} sum to {sum}");
            total_probability += sum;
            let (mut counts, mut none) = (vec![0; probabilities.len()], 0);
            for _ in 0..SAMPLES {
                let u = f64::from(random.unit()) + f64::from(random.unit()) * U_RESOLUTION;
                let Some(sample) = picker.sample_leaf(forest, u) else {
                    none += 1;
                    continue;
                };
                assert_eq!(sample.probability, probabilities[sample.leaf as usize]);
                counts[sample.leaf as usize] += 1;
            }
            // Rare leaves share a bin.
            let (mut observed, mut expected, mut rare) =
                (vec![], vec![], (none, (1.0 - sum).max(0.0) * f64::from(SAMPLES)));
            for (&n, &p) in counts.iter().zip(&probabilities) {
                let expected_count = f64::from(p) * f64::from(SAMPLES);
                if expected_count >= 5.0 {
                    observed.push(n);
                    expected.push(expected_count);
                } else {
                    rare = (rare.0 + n, rare.1 + expected_count);
                }
            }
            observed.push(rare.0);
            expected.push(rare.1.max(1e-9));
            assert_chi_square(&observed, &expected, &format!("leaves, {k}"));
        }
        assert!(
            unlit_points < 6 && total_probability > 0.9 * f64::from(36 - unlit_points),
            "{unlit_points} unlit points, total probability {total_probability}"
        );
    }
}

#[test]
fn reflected_light_has_positive_probability() {
    let (_, lights) = all_lights();
    for has_lobe in [false, true] {
        let sampler = sampler(&lights, has_lobe);
        let forest = forest(&sampler);
        let bounds = MaterialBounds::compile(&LIBRARY, BoundMode::Related)
            .expect("the library shaders compile");
        let mut material = BoundEvaluator::new(&bounds);
        let (mut picker, mut random, mut lit, mut excluded) =
            (LightPicker::new(&sampler, &lights, false), Random(8), 0, 0);
        for k in 0..if cfg!(debug_assertions) { 120 } else { 5000 } {
            let (receiver, parameters, lobe) = random_receiver(&picker, &mut random, k);
            let (shader, view) = (lobe.shader as usize, lobe.view);
            material.begin_with_parameters(shader, lobe.wo, &parameters);
            picker.set_shading_point(&receiver, &parameters);
            for (index, light) in (0..).zip(lights.all()) {
                let Some(light_sample) =
                    light.sample_li(receiver.point.p, vec2(random.unit(), random.unit()))
                else {
                    continue;
                };
                let wi = view.local_direction(light_sample.wi);
                let s = if wi.z > 0.0 || lobe.both_sides {
                    material.evaluate(&[wi])[0]
                } else {
                    Vec3::ZERO
                };
                let probability = match light {
                    AnyLight::Environment(environment) => {
                        let wi = light_sample.wi;
                        picker.environment_pdf(index, wi, environment.pdf_li(wi))
                    }
                    _ => [true, false]
                        .into_iter()
                        .filter_map(|front| forest.leaf_of_surface(index, front))
                        .map(|leaf| picker.leaf_probability(forest, leaf))
                        .sum(),
                };
                // Probabilities of fainter lights may underflow.
                if (s * light_sample.radiance).max_element() > 1e-30 {
                    lit += 1;
                    assert!(
                        probability > 0.0,
                        "light {index}, shader {}: {s} at {wi}",
                        LIBRARY[shader].program.name
                    );
                }
                excluded += usize::from(probability == 0.0);
            }
        }
        assert!(lit > 3000 && excluded > 2000, "{lit} lit, {excluded} excluded");
    }
}

#[test]
fn hit_density_matches_sample_density() {
    let (scene, lights) = all_lights();
    for has_lobe in [false, true] {
        let sampler = sampler(&lights, has_lobe);
        let (mut picker, mut random) = (LightPicker::new(&sampler, &lights, false), Random(4));
        let [mut surfaces, mut environments] = [0; 2];
        for k in 0..60 {
            let (receiver, parameters, _) = random_receiver(&picker, &mut random, k);
            picker.set_shading_point(&receiver, &parameters);
            for _ in 0..100 {
                let u_pick = [random.unit(), random.unit()];
                let Some((light, pdf)) = sample(
                    &mut picker,
                    receiver.point.p,
                    u_pick,
                    vec2(random.unit(), random.unit()),
                ) else {
                    continue;
                };
                if light.delta {
                    continue;
                }
                let ray = Ray::new(receiver.point.p, light.wi);
                let hit_pdf = match light.target {
                    None => {
                        let (index, environment) = lights
                            .environments()
                            .filter(|(_, environment)| {
                                environment.radiance(light.wi) == light.radiance
                            })
                            .last()
                            .expect("an environment has this radiance");
                        let pdf_li = environment.pdf_li(light.wi);
                        Some(picker.environment_pdf(index, light.wi, pdf_li))
                    }
                    Some(_) => hit_light(&scene, &ray).map(|(index, hit, surface)| {
                        picker.area_light_pdf(index, &ray, hit.t, surface.ng)
                    }),
                };
                let Some(hit_pdf) = hit_pdf.filter(|&pdf| pdf > 0.0) else { continue };
                // Another surface may occlude the sampled surface.
                if (hit_pdf / pdf - 1.0).abs() < 1e-2 {
                    *if light.target.is_none() { &mut environments } else { &mut surfaces } += 1;
                } else if light.target.is_none() {
                    panic!("point {k}: the hit has density {hit_pdf}, the sample {pdf}");
                }
            }
        }
        assert!(
            surfaces > 300 && environments > 300,
            "{surfaces} on surfaces, {environments} on environments"
        );
    }
}

/// Returns emitting shapes around the origin under a transform: flat shapes, curved shapes, and
/// shapes with vertex normals that flip all or part of the surface.
fn emitting_shapes(transform: &Transform) -> [Shape; 8] {
    let triangle = |normals: &[[f32; 3]]| {
        let positions = [[-1.0, -0.5, 0.0], [0.5, 1.5, 0.2], [1.5, -1.0, -0.3]];
        Shape::Mesh(mesh(&positions, &[[0, 1, 2]], normals).transformed(transform).unwrap())
    };
    let bilinear = |normals: &[[f32; 3]]| {
        let positions = [[-1.0, -1.0, 0.0], [1.0, -1.2, 0.4], [-0.8, 1.0, 0.3], [0.7, 0.9, -0.2]];
        Shape::Bilinear(patch(positions, normals).transformed(transform).unwrap())
    };
    [
        triangle(&[]),
        triangle(&[[0.0, 0.1, 1.0], [0.0, 0.0, 1.0], [0.1, 0.0, 1.0]]),
        triangle(&[[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, -2.0]]),
        bilinear(&[]),
        bilinear(&[[0.0, 0.0, -1.0]; 4]),
        Shape::Disk(Disk::new(transform, 0.0, 1.0, 0.3, 300.0).unwrap()),
        Shape::Sphere(Sphere::new(transform, 1.0, -1.0, 0.4, 360.0).unwrap()),
        Shape::Sphere(Sphere::full(transform, 1.0).unwrap()),
    ]
}

/// Returns transforms, each with a flag for reversed orientation. Both may swap front and back.
fn orientations() -> [(Transform, bool); 4] {
    let transform = |map| Transform::new(map).unwrap();
    let axis = glam::dvec3(1.0, 2.0, 3.0).normalize();
    let rotation = glam::DAffine3::from_axis_angle(axis, 40f64.to_radians());
    let scale = |x, y| glam::DAffine3::from_scale(glam::dvec3(x, y, 1.0));
    [
        (Transform::IDENTITY, false),
        (Transform::IDENTITY, true),
        (transform(scale(-1.0, 1.0)), false),
        (transform(rotation * scale(1.0, -0.7)), true),
    ]
}

#[test]
fn hits_have_the_density_of_the_sampled_side() {
    for (index, (transform, reversed)) in orientations().iter().enumerate() {
        for (shape, two_sided) in
            emitting_shapes(transform).into_iter().flat_map(|s| [(s.clone(), false), (s, true)])
        {
            check_sides(shape, *reversed, two_sided, index);
        }
    }
}

/// Compares the densities of samples with the densities of rays that hit the emitter.
fn check_sides(shape: Shape, reversed: bool, two_sided: bool, orientation: usize) {
    let case = format!("orientation {orientation}, {}, two sides: {two_sided}", shape.name());
    let (mut builder, material) = builder();
    builder.add_light(point_light(1e-3, vec3(0.0, 0.0, 9.0)));
    builder.add_primitive(shape, material, reversed, Some((Vec3::ONE, two_sided)));
    let scene = build_scene(builder);
    let sampler = LightSampler::new(&scene, LightSampling::Tree).unwrap();
    let (mut picker, mut random) = (LightPicker::new(&sampler, &scene.lights, false), Random(6));
    let [mut compared, mut black_hits, mut mismatches] = [0; 3];
    for _ in 0..1000 {
        let p = 2.0 * random.cube();
        let n = random.cube().normalize();
        let point = ReceiverPoint { p, domain: ReceiverDomain::Surface { n, both_sides: true } };
        picker.set_shading_point(&Receiver { point, lobe: None }, &[]);
        let sampled = sample(
            &mut picker,
            p,
            [random.unit(), random.unit()],
            vec2(random.unit(), random.unit()),
        );
        if let Some((light, pdf)) = sampled.filter(|(light, _)| !light.delta) {
            let ray = Ray::new(p, light.wi);
            let target = light.target.expect("the light is a surface");
            let Some((index, hit, surface)) = hit_light(&scene, &ray).filter(|(.., surface)| {
                // Neither occluded nor seen edge-on.
                surface.p.distance(target) < 1e-3 * p.distance(target)
                    && surface.ng.dot(light.wi).abs() > 0.05
            }) else {
                continue;
            };
            let same_radiance = scene
                .lights
                .area(index)
                .expect("the hit light is an area light")
                .radiance(surface.ng, (surface.uv, hit.weights()), -light.wi)
                == light.radiance;
            let density = picker.area_light_pdf(index, &ray, hit.t, surface.ng);
            mismatches += u32::from(!same_radiance || (density / pdf - 1.0).abs() > 0.02);
            compared += 1;
        }
        let ray = Ray::new(p, (random.cube() - p).normalize());
        let Some((index, hit, surface)) = hit_light(&scene, &ray) else { continue };
        let emits = scene.lights.area(index).expect("the hit light is an area light").radiance(
            surface.ng,
            (surface.uv, hit.weights()),
            -ray.d,
        ) != Vec3::ZERO;
        let density = picker.area_light_pdf(index, &ray, hit.t, surface.ng);
        // Each emissive hit has a positive density. Spheres are sampled on their near side.
        assert!(!emits || density > 0.0, "{case}: density of an emissive hit is {density}");
        black_hits += u32::from(!emits);
    }
    // Rounding may flip the side where interpolated normals are tangent to the surface.
    assert!(
        compared > 25 && mismatches <= compared / 100,
        "{case}: {mismatches} of {compared} samples differ"
    );
    assert_eq!(black_hits == 0, two_sided, "{case}: {black_hits} hits without emission");
}

#[test]
fn auto_uses_trees_for_more_than_one_emitter() {
    const INDICES: [&[[u32; 3]]; 3] =
        [&[[0, 1, 2]], &[[0, 1, 2], [0, 2, 3]], &[[0, 1, 2], [0, 2, 3], [1, 4, 2]]];
    let point = || point_light(1.0, Vec3::ZERO);
    let black = || point_light(0.0, Vec3::ZERO);
    let constant_environment = || environment(Vec3::ONE);
    let [triangle, rectangle, bent] = [0, 1, 2];
    // Lights, indices of emitting meshes, and whether a tree is expected.
    let cases: [(Vec<AnyLight>, &[usize], bool); 17] = [
        (vec![], &[], false),
        (vec![point()], &[], false),
        (vec![constant_environment()], &[], false),
        (vec![black(), black(), black(), constant_environment(), black()], &[], false),
        (vec![], &[triangle], false),
        (vec![], &[rectangle], false),
        (vec![black()], &[rectangle], false),
        (vec![point(), point()], &[], true),
        // BSDF sampling finds constant environments.
        (vec![constant_environment(), point()], &[], false),
        (vec![constant_environment(), environment_map()], &[], false),
        (vec![environment_map()], &[], false),
        (vec![environment_map(), point()], &[], true),
        (vec![], &[triangle, triangle], true),
        (vec![point()], &[triangle], true),
        (vec![point()], &[rectangle], true),
        (vec![], &[rectangle, rectangle], true),
        (vec![], &[bent], true),
    ];
    for (case, (lights, meshes, has_tree)) in cases.into_iter().enumerate() {
        let (mut builder, material) = builder();
        lights.into_iter().for_each(|light| builder.add_light(light));
        for &shape in meshes {
            let positions = [
                [0.0, 0.0, 0.0],
                [1.0, 0.0, 0.0],
                [1.0, 1.0, 0.0],
                [0.0, 1.0, 0.0],
                [2.0, 1.0, 1.0],
            ];
            let shape = Shape::Mesh(mesh(&positions, INDICES[shape], &[]));
            builder.add_emitter(shape, material, Vec3::ONE);
        }
        let scene = build_scene(builder);
        let sampler = LightSampler::new(&scene, LightSampling::Auto).unwrap();
        assert_eq!(sampler.tree_stats().is_some(), has_tree, "case {case}");
    }
}

/// Returns the light that a ray hits, with the hit and the surface.
fn hit_light(scene: &Scene, ray: &Ray) -> Option<(u32, Hit, Surface)> {
    let hit = scene.accel.intersect(ray);
    if hit.is_miss() {
        return None;
    }
    Some((scene.geometry.light(&hit)?, hit, scene.geometry.surface(&hit, ray.d)))
}

#[test]
fn all_library_shaders_but_diffuse_have_lobes() {
    let weights = MaterialWeights::compile(&LIBRARY).expect("the library shaders compile");
    for (shader, binding) in (0..).zip(LIBRARY.iter()) {
        assert_eq!(
            weights.evaluator().has_lobe(shader),
            binding.program.name != "diffuse.wgsl",
            "{}",
            binding.program.name
        );
    }
}

#[test]
fn fixed_probabilities_are_uniform_or_proportional_to_power() {
    let scene =
        scene_with_lights([1.0, 0.0, 3.0].map(|intensity| point_light(intensity, Vec3::ZERO)));
    for (strategy, expected) in
        [(LightSampling::Uniform, [0.5, 0.0, 0.5]), (LightSampling::Power, [0.25, 0.0, 0.75])]
    {
        let sampler = LightSampler::new(&scene, strategy).unwrap();
        let mut picker = LightPicker::new(&sampler, &scene.lights, false);
        let mut counts = [0u32; 3];
        for k in 0..1000u32 {
            let (light, pdf) =
                sample(&mut picker, Vec3::X, [k as f32 / 1000.0, 0.5], Vec2::ZERO).unwrap();
            let index = if light.radiance.x > 2.0 { 2 } else { 0 };
            assert_eq!(pdf, expected[index]);
            counts[index] += 1;
        }
        assert_eq!(counts.map(|n| n as f32 / 1000.0), expected, "{strategy:?}");
    }
}

#[test]
fn scenes_without_emission_have_no_samples() {
    for lights in [vec![], vec![point_light(0.0, Vec3::ZERO), environment(Vec3::ZERO)]] {
        let scene = scene_with_lights(lights);
        for strategy in [
            LightSampling::Auto,
            LightSampling::Uniform,
            LightSampling::Power,
            LightSampling::Tree,
            LightSampling::MaterialTree,
        ] {
            let sampler = LightSampler::new(&scene, strategy).unwrap();
            let mut picker = LightPicker::new(&sampler, &scene.lights, false);
            let point = ReceiverPoint { p: Vec3::ZERO, domain: ReceiverDomain::Volume };
            picker.set_shading_point(&Receiver { point, lobe: None }, &[]);
            assert!(
                sample(&mut picker, Vec3::ZERO, [0.5; 2], Vec2::ZERO).is_none(),
                "{strategy:?}"
            );
            assert!((0..scene.lights.all().len() as u32).all(|light| picker.environment_pdf(
                light,
                Vec3::Z,
                0.5
            ) == 0.0));
        }
    }
}
