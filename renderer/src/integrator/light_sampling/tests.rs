//! What choices of lights must obey: probabilities sum to 1 and are those of draws, densities of
//! what rays meet are those of samples, and nothing that is reflected has none.

use super::*;
use crate::geometry::{Hit, Surface};
use crate::integrator::material_bound::tests::{LIBRARY, any_members};
use crate::integrator::material_bound::{BoundsAt, MaterialBounds};
use crate::light_tree::testing::Random;
use crate::math::{Aabb, Frame, Viewpoint, vec2};
use crate::sampling::testing::assert_chi_square;
use crate::scene::BoundMode;
use crate::scene::build::{Overrides, load_source};
use crate::scene::diagnostics::{Diagnostics, Source};
use lightbound_shader::Sides;
use std::path::Path;

/// Light that arrives at a point from a light that is chosen there, with its density.
fn sample(
    chooser: &mut Chooser,
    p: Vec3,
    numbers: [f32; 2],
    place: Vec2,
) -> Option<(LightSample, f32)> {
    let choice = chooser.choose(numbers)?;
    let light = chooser.light(&choice, p, place)?;
    let pdf = choice.probability * light.pdf;
    (pdf > 0.0).then_some((light, pdf))
}

/// Lights of all kinds in and around the cube [−1, 1]³.
const LIGHTS: &str = r#"
WorldBegin
LightSource "infinite" "rgb L" [0.1 0.12 0.2]
LightSource "distant" "rgb L" [0.3 0.3 0.2] "point3 from" [1 -2 3]
AttributeBegin
AreaLightSource "diffuse" "rgb L" [8 7 6]
Translate 1 -1 1 Shape "sphere" "float radius" 0.2
Translate -2 1 -1 Shape "sphere" "float radius" 0.3 "float zmax" 0.1
AttributeEnd
AttributeBegin
AreaLightSource "diffuse" "rgb L" [3 4 5] "bool twosided" true
Shape "trianglemesh" "integer indices" [0 1 2 0 2 3] "point3 P" [-0.5 0.5 0  0 0.5 0  0 0.5 0.5  -0.5 0.8 0.7]
Shape "bilinearmesh" "point3 P" [0.5 0.5 -0.5  0.8 0.5 -0.5  0.5 0.9 -0.6  0.8 0.9 -0.3]
AttributeEnd
AttributeBegin
AreaLightSource "diffuse" "rgb L" [5 4 3]
Shape "disk" "float radius" 0.4 "float height" 0.9
AttributeEnd
"#;

/// The scene of a text with lights added that are too many to write down.
fn scene(text: &str, points: usize) -> Scene {
    let mut random = Random(5);
    let mut text = text.to_owned();
    for k in 0..points {
        let [at, to] = [random.cube(), random.cube()];
        let bright = if k % 7 == 0 { 1.0 } else { 0.05 };
        let place = format!(
            "\"point3 from\" [{} {} {}] \"rgb I\" [{bright} {bright} 0.01]",
            at.x, at.y, at.z
        );
        text += &match k % 2 {
            0 => format!("LightSource \"point\" {place}\n"),
            _ => format!(
                "LightSource \"spot\" {place} \"point3 to\" [{} {} {}] \"float coneangle\" 50\n",
                to.x, to.y, to.z
            ),
        };
    }
    let source = Source::memory(Path::new("lights.pbrt"), text);
    let loaded = load_source(&source, &[], &Overrides::default(), &mut Diagnostics::new(true));
    loaded.unwrap_or_else(|error| panic!("{error:?}")).scene
}

/// A sky of few bright texels, some dark ones, and as much elsewhere.
fn sky() -> AnyLight {
    let texels: Vec<Vec3> = (0..32 * 32)
        .map(|i| Vec3::splat(if i % 97 == 5 { 40.0 } else { (i % 5) as f32 * 0.1 }))
        .collect();
    let turned = crate::math::Transform::new(glam::DAffine3::from_rotation_x(0.7)).unwrap();
    AnyLight::Environment(crate::light::Environment::image(&texels, 32, &turned, 1.0).unwrap())
}

/// A sampler by trees, for the materials of the library.
fn sampler(lights: &Lights, asks: bool) -> LightSampler {
    let forest = Forest::build(lights, Aabb { min: -Vec3::ONE, max: Vec3::ONE });
    let figures = LightTreeFigures {
        build: std::time::Duration::ZERO,
        bytes: forest.bytes(),
        points: forest.tree.points().len(),
    };
    let materials = asks.then(|| MaterialWeights::compile(&LIBRARY).expect("it compiles"));
    LightSampler(Way::Tree(Box::new(Trees { forest, figures, materials })))
}

/// A random place with a material of the library: the receiver, its members, and the frame.
fn receiver(sampler: &LightSampler, random: &mut Random, k: usize) -> (Receiver, Vec<u32>, Frame) {
    let shader = (k % LIBRARY.len()) as u32;
    let program = &LIBRARY[shader as usize].program;
    let members = any_members(program, k as u32);
    let frame = Frame::from_normal(random.cube().normalize());
    let out = random.cube().normalize();
    let both_sides = program.sides == Sides::Both;
    let side = if both_sides { 1.0 } else { 1f32.copysign(frame.n.dot(out)) };
    let p = random.cube();
    let view = Viewpoint::new(p, &frame, side);
    let lobe = Lobe { shader, view, wo: view.local_direction(out), both_sides };
    let lobe = sampler.asks(shader).then_some(lobe);
    (Receiver { place: Place { p, n: side * frame.n, both_sides }, lobe }, members, frame)
}

fn forest(sampler: &LightSampler) -> &Forest {
    match &sampler.0 {
        Way::Tree(trees) => &trees.forest,
        Way::Table(_) => panic!("there are trees"),
    }
}

/// All lights of the tests.
fn all_lights() -> (Scene, Lights) {
    let scene = scene(LIGHTS, 200);
    let mut lights = scene.lights.all().to_vec();
    lights.push(sky());
    let lights = Lights::new(lights, scene.accel.bounds());
    (scene, lights)
}

#[test]
fn probabilities_sum_to_one_and_are_those_of_draws() {
    const DRAWS: u32 = 4000;
    let (_, lights) = all_lights();
    for asks in [false, true] {
        let sampler = sampler(&lights, asks);
        let forest = forest(&sampler);
        let leaves = forest.tree.points().len() as u32;
        assert!(leaves > 1100, "{leaves}");
        let (mut chooser, mut random, mut dark) = (Chooser::new(&sampler, &lights), Random(3), 0);
        let mut whole = 0.0;
        for k in 0..36 {
            let (at, members, _) = receiver(&sampler, &mut random, k);
            chooser.stand(&at, &members);
            let all: Vec<f32> = (0..leaves).map(|leaf| chooser.probability(forest, leaf)).collect();
            let sum: f64 = all.iter().map(|&p| f64::from(p)).sum();
            if sum == 0.0 {
                dark += 1;
                assert_eq!(chooser.descend(forest, 0.5), None);
                continue;
            }
            // That a cluster sends nothing may be seen only of its children: then nothing is drawn.
            assert!(sum < 1.0 + 1e-4, "{k}: {sum}");
            whole += sum;
            let (mut counts, mut none) = (vec![0; all.len()], 0);
            for _ in 0..DRAWS {
                let u = f64::from(random.unit()) + f64::from(random.unit()) * FINE;
                let Some(drawn) = chooser.descend(forest, u) else {
                    none += 1;
                    continue;
                };
                assert_eq!(drawn.probability, all[drawn.leaf as usize]);
                counts[drawn.leaf as usize] += 1;
            }
            // Those that are drawn least count together.
            let (mut seen, mut expected, mut rest) =
                (vec![], vec![], (none, (1.0 - sum).max(0.0) * f64::from(DRAWS)));
            for (&n, &p) in counts.iter().zip(&all) {
                let of_it = f64::from(p) * f64::from(DRAWS);
                if of_it >= 5.0 {
                    seen.push(n);
                    expected.push(of_it);
                } else {
                    rest = (rest.0 + n, rest.1 + of_it);
                }
            }
            seen.push(rest.0);
            expected.push(rest.1.max(1e-9));
            assert_chi_square(&seen, &expected, &format!("leaves, {k}"));
        }
        assert!(dark < 6 && whole > 0.9 * f64::from(36 - dark), "{dark}, {whole}");
    }
}

#[test]
fn all_that_is_reflected_may_be_drawn() {
    let (_, lights) = all_lights();
    for asks in [false, true] {
        let sampler = sampler(&lights, asks);
        let forest = forest(&sampler);
        let bounds = MaterialBounds::compile(&LIBRARY, BoundMode::Related).expect("it compiles");
        let mut material = BoundsAt::new(&bounds);
        let (mut chooser, mut random, mut lit, mut excluded) =
            (Chooser::new(&sampler, &lights), Random(8), 0, 0);
        for k in 0..if cfg!(debug_assertions) { 120 } else { 5000 } {
            let (at, members, frame) = receiver(&sampler, &mut random, k);
            let shader = k % LIBRARY.len();
            let side = 1f32.copysign(at.place.n.dot(frame.n));
            let view = Viewpoint::new(at.place.p, &frame, side);
            let Some(lobe) = at.lobe.or_else(|| {
                let wo = view.local_direction((random.cube() + 2.0 * at.place.n).normalize());
                Some(Lobe { shader: shader as u32, view, wo, both_sides: at.place.both_sides })
            }) else {
                continue;
            };
            material.begin_with(shader, lobe.wo, &members);
            chooser.stand(&at, &members);
            for (index, light) in (0..).zip(lights.all()) {
                let Some(light_sample) =
                    light.sample_li(at.place.p, vec2(random.unit(), random.unit()))
                else {
                    continue;
                };
                let wi = view.local_direction(light_sample.wi);
                let s = if wi.z > 0.0 || at.place.both_sides {
                    material.evaluate(&[wi])[0]
                } else {
                    Vec3::ZERO
                };
                let probability = match light {
                    AnyLight::Environment(_) => chooser.pdf_of_sky(index, light_sample.wi),
                    _ => [true, false]
                        .into_iter()
                        .filter_map(|front| forest.leaf_of_surface(index, front))
                        .map(|leaf| chooser.probability(forest, leaf))
                        .sum(),
                };
                // What is fainter has a probability that underflows.
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
        assert!(lit > 3000 && excluded > 2000, "{lit}, {excluded}");
    }
}

#[test]
fn densities_of_what_rays_meet_are_those_of_samples() {
    let (scene, lights) = all_lights();
    for asks in [false, true] {
        let sampler = sampler(&lights, asks);
        let (mut chooser, mut random) = (Chooser::new(&sampler, &lights), Random(4));
        let [mut surfaces, mut skies] = [0; 2];
        for k in 0..60 {
            let (at, members, _) = receiver(&sampler, &mut random, k);
            chooser.stand(&at, &members);
            for _ in 0..100 {
                let numbers = [random.unit(), random.unit()];
                let Some((light, pdf)) =
                    sample(&mut chooser, at.place.p, numbers, vec2(random.unit(), random.unit()))
                else {
                    continue;
                };
                if light.delta {
                    continue;
                }
                let ray = Ray::new(at.place.p, light.wi);
                let found = match light.target {
                    None => {
                        let skies = lights
                            .environments()
                            .map(|(index, sky)| (index, sky.radiance(light.wi)));
                        let of_it = skies
                            .filter(|(_, radiance)| *radiance == light.radiance)
                            .map(|(index, _)| index)
                            .last();
                        Some(chooser.pdf_of_sky(of_it.expect("a sky is that bright"), light.wi))
                    }
                    Some(_) => met(&scene, &ray).map(|(index, hit, surface)| {
                        chooser.pdf_of_surface(index, &ray, hit.t, &surface)
                    }),
                };
                let Some(found) = found.filter(|&found| found > 0.0) else { continue };
                // Another surface may be in the way.
                if (found / pdf - 1.0).abs() < 1e-2 {
                    *if light.target.is_none() { &mut skies } else { &mut surfaces } += 1;
                } else if light.target.is_none() {
                    panic!("{k}: {found}, {pdf}");
                }
            }
        }
        assert!(surfaces > 300 && skies > 300, "{surfaces}, {skies}");
    }
}

/// Shapes about the origin that shine: flat and curved ones, and such whose normals turn them, as a
/// whole or in part.
const SHINING: [&str; 8] = [
    r#"Shape "trianglemesh" "point3 P" [-1 -0.5 0  0.5 1.5 0.2  1.5 -1 -0.3]"#,
    r#"Shape "trianglemesh" "point3 P" [-1 -0.5 0  0.5 1.5 0.2  1.5 -1 -0.3] "normal N" [0 0.1 1  0 0 1  0.1 0 1]"#,
    r#"Shape "trianglemesh" "point3 P" [-1 -0.5 0  0.5 1.5 0.2  1.5 -1 -0.3] "normal N" [0 0 1  0 0 1  0 0 -2]"#,
    r#"Shape "bilinearmesh" "point3 P" [-1 -1 0  1 -1.2 0.4  -0.8 1 0.3  0.7 0.9 -0.2]"#,
    r#"Shape "bilinearmesh" "point3 P" [-1 -1 0  1 -1.2 0.4  -0.8 1 0.3  0.7 0.9 -0.2] "normal N" [0 0 -1  0 0 -1  0 0 -1  0 0 -1]"#,
    r#"Shape "disk" "float innerradius" 0.3 "float phimax" 300"#,
    r#"Shape "sphere" "float zmax" 0.4"#,
    r#"Shape "sphere""#,
];

/// What turns a surface's front to its back, or leaves it.
const TURNS: [&str; 4] =
    ["", "ReverseOrientation", "Scale -1 1 1", "Rotate 40 1 2 3 Scale 1 -0.7 1 ReverseOrientation"];

#[test]
fn rays_find_the_side_that_draws_are_of() {
    for (shape, turn, two_sided) in
        SHINING.iter().flat_map(|s| TURNS.iter().flat_map(move |t| [(s, t, false), (s, t, true)]))
    {
        let what = format!("{turn} {shape}, two sides: {two_sided}");
        let scene = scene(
            &format!(
                "WorldBegin LightSource \"point\" \"rgb I\" [1e-3 1e-3 1e-3] \"point3 from\" [0 0 9]\nAttributeBegin {turn}\n\
                 AreaLightSource \"diffuse\" \"rgb L\" [1 1 1] \"bool twosided\" {two_sided}\n{shape}\nAttributeEnd\n"
            ),
            0,
        );
        let sampler = LightSampler::new(&scene, &scene.lights, LightSampling::Tree).unwrap();
        let (mut chooser, mut random) = (Chooser::new(&sampler, &scene.lights), Random(6));
        let [mut found, mut dark, mut astray] = [0; 3];
        for _ in 0..1000 {
            let p = 2.0 * random.cube();
            let place = Place { p, n: random.cube().normalize(), both_sides: true };
            chooser.stand(&Receiver { place, lobe: None }, &[]);
            let draw = sample(
                &mut chooser,
                p,
                [random.unit(), random.unit()],
                vec2(random.unit(), random.unit()),
            );
            if let Some((light, pdf)) = draw.filter(|(light, _)| !light.delta) {
                let ray = Ray::new(p, light.wi);
                let target = light.target.expect("it is a surface");
                let Some((index, hit, surface)) = met(&scene, &ray).filter(|(.., surface)| {
                    // Not of what is before it, nor seen from its own plane.
                    surface.p.distance(target) < 1e-3 * p.distance(target)
                        && surface.ng.dot(light.wi).abs() > 0.05
                }) else {
                    continue;
                };
                let same =
                    scene.lights.area(index).expect("it shines").radiance(surface.ng, -light.wi)
                        == light.radiance;
                let density = chooser.pdf_of_surface(index, &ray, hit.t, &surface);
                astray += u32::from(!same || (density / pdf - 1.0).abs() > 0.02);
                found += 1;
            }
            let ray = Ray::new(p, (random.cube() - p).normalize());
            let Some((index, hit, surface)) = met(&scene, &ray) else { continue };
            let shines = scene.lights.area(index).expect("it shines").radiance(surface.ng, -ray.d)
                != Vec3::ZERO;
            let density = chooser.pdf_of_surface(index, &ray, hit.t, &surface);
            // Balls are drawn from up to their first wall; all else that is met and shines may be
            // drawn.
            assert!(!shines || density > 0.0, "{what}: {density}");
            dark += u32::from(!shines);
        }
        // Interpolated normals turn a point just next to where they are at right angles to the
        // surface.
        assert!(found > 25 && astray <= found / 100, "{what}: {astray} of {found}");
        assert_eq!(dark == 0, two_sided, "{what}: {dark}");
    }
}

#[test]
fn trees_are_for_more_than_one_thing() {
    let point = "LightSource \"point\"\n";
    let sky = "LightSource \"infinite\" \"rgb L\" [1 1 1]\n";
    let dark = "LightSource \"point\" \"rgb I\" [0 0 0]\n";
    let mesh = |indices: &str| {
        format!(
            "AttributeBegin AreaLightSource \"diffuse\" \"rgb L\" [1 1 1] Shape \"trianglemesh\" \"integer indices\" [{indices}]\n\
             \"point3 P\" [0 0 0  1 0 0  1 1 0  0 1 0  2 1 1] AttributeEnd\n"
        )
    };
    let [triangle, rectangle, bent] = ["0 1 2", "0 1 2 0 2 3", "0 1 2 0 2 3 1 4 2"].map(mesh);
    for (lights, is_tree) in [
        (String::new(), false),
        (point.into(), false),
        (sky.into(), false),
        (dark.repeat(3) + sky + dark, false),
        (triangle.clone(), false),
        (rectangle.clone(), false),
        (dark.to_owned() + &rectangle, false),
        (point.repeat(2), true),
        (format!("{sky}{point}"), true),
        (triangle.repeat(2), true),
        (triangle + point, true),
        (format!("{rectangle}{point}"), true),
        (rectangle.repeat(2), true),
        (bent, true),
    ] {
        let scene = scene(&format!("WorldBegin\n{lights}"), 0);
        let sampler = LightSampler::new(&scene, &scene.lights, LightSampling::Auto).unwrap();
        assert_eq!(sampler.figures().is_some(), is_tree, "{lights}");
    }
}

/// The light that a ray meets.
fn met(scene: &Scene, ray: &Ray) -> Option<(u32, Hit, Surface)> {
    let hit = scene.accel.intersect(ray);
    if hit.is_miss() {
        return None;
    }
    let first = scene.geometry.primitives[hit.primitive as usize].first_light?;
    Some((first + hit.element, hit, scene.geometry.surface(&hit)))
}

#[test]
fn lobes_alone_are_asked() {
    let weights = MaterialWeights::compile(&LIBRARY).expect("it compiles");
    for (shader, bound) in (0..).zip(LIBRARY.iter()) {
        assert_eq!(
            weights.asks(shader),
            bound.program.name != "diffuse.wgsl",
            "{}",
            bound.program.name
        );
    }
}

#[test]
fn tables_are_uniform_or_by_power() {
    let text = "WorldBegin\nLightSource \"point\" \"rgb I\" [1 1 1]\nLightSource \"point\" \"rgb I\" [0 0 0]\n\
                LightSource \"point\" \"rgb I\" [3 3 3]\n";
    let scene = scene(text, 0);
    for (by, expected) in
        [(LightSampling::Uniform, [0.5, 0.0, 0.5]), (LightSampling::Power, [0.25, 0.0, 0.75])]
    {
        let sampler = LightSampler::new(&scene, &scene.lights, by).unwrap();
        let mut chooser = Chooser::new(&sampler, &scene.lights);
        let mut counts = [0u32; 3];
        for k in 0..1000u32 {
            let (light, pdf) =
                sample(&mut chooser, Vec3::X, [k as f32 / 1000.0, 0.5], Vec2::ZERO).unwrap();
            let which = if light.radiance.x > 2.0 { 2 } else { 0 };
            assert_eq!(pdf, expected[which]);
            counts[which] += 1;
        }
        assert_eq!(counts.map(|n| n as f32 / 1000.0), expected, "{by:?}");
    }
}

#[test]
fn without_light_there_is_none() {
    for text in [
        "WorldBegin\n",
        "WorldBegin\nLightSource \"point\" \"rgb I\" [0 0 0]\nLightSource \"infinite\" \"rgb L\" [0 0 0]\n",
    ] {
        let scene = scene(text, 0);
        for by in [
            LightSampling::Auto,
            LightSampling::Uniform,
            LightSampling::Power,
            LightSampling::Tree,
            LightSampling::MaterialTree,
        ] {
            let sampler = LightSampler::new(&scene, &scene.lights, by).unwrap();
            let mut chooser = Chooser::new(&sampler, &scene.lights);
            let place = Place { p: Vec3::ZERO, n: Vec3::Z, both_sides: true };
            chooser.stand(&Receiver { place, lobe: None }, &[]);
            assert!(sample(&mut chooser, Vec3::ZERO, [0.5; 2], Vec2::ZERO).is_none(), "{by:?}");
            assert!(
                (0..scene.lights.all().len() as u32)
                    .all(|light| chooser.pdf_of_sky(light, Vec3::Z) == 0.0)
            );
        }
    }
}
