//! Area lights inside objects emit from every instance, as if the shapes were not instanced.

use crate::common::{TestScene, assert_images_agree, load_scene, render};
use lightbound::geometry::Hit;
use lightbound::light::{AreaLight, Light};
use lightbound::settings::{LightSampling, MethodName};
use lightbound_math::sampling::{Sampler, SamplerKind};
use lightbound_math::{Ray, Vec2, Vec3, vec2, vec3};
use lightbound_pbrt::build::{LightcutsOverrides, Overrides, PathOverrides};

/// Emissive shapes of all types, with alpha masks, either orientation, and power in watts. The
/// texture has the same values in the space of the object and of each instance.
const LAMPS: &str = r#"
AttributeBegin AreaLightSource "diffuse" "rgb L" [4 3 2] "string attribute" "tint"
Translate 0.2 0.1 0
Shape "trianglemesh" "integer indices" [0 1 2 0 2 3] "point3 P" [0 0 0  0.4 0 0  0.4 0.3 0.1  0 0.4 0]
  "rgb vertex_tint" [1 0.2 0.5  0.3 1 0.1  1 1 1  0.1 0.4 0.9]
AttributeEnd
AttributeBegin AreaLightSource "diffuse" "rgb L" [1 2 3] "bool twosided" true Translate -0.5 0 0.2
Shape "bilinearmesh" "point3 P" [0 0 0  0.3 0 0  0 0.3 0.1  0.3 0.3 0]
AttributeEnd
AttributeBegin AreaLightSource "diffuse" "rgb L" [3 3 3] "float power" 2 Translate 0 -0.5 0.3
Shape "sphere" "float radius" 0.15
AttributeEnd
AttributeBegin AreaLightSource "diffuse" "rgb L" [2 3 4] ReverseOrientation Translate 0.3 0.6 0.3
Shape "disk" "float radius" 0.2
AttributeEnd
AttributeBegin AreaLightSource "diffuse" "rgb L" [5 1 1] "float power" 1 Translate 0 0 0.4
Shape "trianglemesh" "texture alpha" "holes" "point3 P" [0 0 0  0.5 0 0  0 0.5 0]
AttributeEnd
AttributeBegin AreaLightSource "diffuse" "rgb L" [1 5 1] Translate 0.6 -0.4 0.2
Shape "sphere" "float radius" 0.1 "float alpha" 0
AttributeEnd
Shape "disk" "float radius" 0.1
"#;

/// Transforms of instances: one mirrors, one scales unevenly, one has no lamps on screen.
const INSTANCES: [&str; 3] = [
    "Translate -0.8 0 1 Rotate 150 1 0 0",
    "Translate 0.9 0.3 1.2 Scale -0.8 1.1 0.9 Rotate 160 1 0.3 0",
    "Translate 0.2 0.9 0.9 Rotate 200 1 0 0.2 Scale 0.5 0.5 0.5",
];

fn scene(instanced: bool, settings: &str) -> String {
    let mut text = format!(
        r#"{settings}
Film "rgb" "integer xresolution" 16 "integer yresolution" 16
LookAt 0 -4 3  0 0 0.4  0 0 1 Camera "perspective" "float fov" 45
WorldBegin
Texture "holes" "float" "checkerboard" "float uscale" 3 "float vscale" 3
Material "coateddiffuse" "float roughness" 0.2
Shape "bilinearmesh" "point3 P" [-3 -3 0  3 -3 0  -3 3 0  3 3 0]
AttributeBegin AreaLightSource "diffuse" "rgb L" [0.5 0.4 0.3]
Translate 0 0 3 Rotate 180 1 0 0 Shape "disk" "float radius" 0.3 AttributeEnd
"#
    );
    if instanced {
        text += &format!("ObjectBegin \"lamps\" {LAMPS} ObjectEnd\n");
    }
    for transform in INSTANCES {
        let content = if instanced { "ObjectInstance \"lamps\"" } else { LAMPS };
        text += &format!("AttributeBegin {transform}\n{content}\nAttributeEnd\n");
    }
    text
}

fn load(instanced: bool, settings: &str, overrides: &Overrides) -> TestScene {
    load_scene(&scene(instanced, settings), &[], overrides)
}

/// Returns the instanced scene and its copy without instances.
fn both() -> [TestScene; 2] {
    [true, false].map(|instanced| load(instanced, "", &Overrides::default()))
}

fn light(scene: &TestScene, index: usize) -> &AreaLight {
    scene.lights.area(index as u32).expect("all lights are area lights")
}

/// Returns well-distributed pairs of points in the unit square.
fn points(count: u32, seed: u32) -> impl Iterator<Item = (Vec2, Vec2)> {
    let sampler = Sampler::new(SamplerKind::Sobol, seed);
    (0..count).map(move |i| {
        let [a, b, c, d] = sampler.get4(sampler.path_key(0, 0, i), 0);
        (vec2(a, b), vec2(c, d))
    })
}

fn is_close(a: f32, b: f32) -> bool {
    (a - b).abs() <= 2e-3 * (a.abs() + b.abs()) + 1e-6
}

#[test]
fn lights_of_instances_match_lights_without_instances() {
    let scenes = both();
    let [instanced, flat] = &scenes;
    let count = flat.lights.all().len();
    assert_eq!((instanced.lights.all().len(), count), (1 + 3 * 7, 1 + 3 * 7));
    for i in 0..count {
        let [a, b] = [light(instanced, i), light(flat, i)];
        assert!(is_close(a.power(1.0), b.power(1.0)), "light {i}");
        assert!(is_close(a.max_radiance().y, b.max_radiance().y), "light {i}");
        let mut differing = 0;
        for (u, at) in points(200, 1) {
            let p = vec3(4.0 * at.x - 2.0, 4.0 * at.y - 2.0, 0.5 * u.x);
            match (a.sample_li(p, u), b.sample_li(p, u)) {
                (None, None) => {}
                (Some(a), Some(b)) => {
                    let is_same = a.delta == b.delta
                        && a.wi.distance(b.wi) < 1e-3
                        && is_close(a.pdf, b.pdf)
                        && is_close(a.radiance.x, b.radiance.x);
                    differing += usize::from(!is_same);
                }
                _ => differing += 1,
            }
        }
        // At the edges of holes and near horizons, rounding matters.
        assert!(differing <= 4, "light {i}: {differing} of 200 samples differ");
    }
}

#[test]
fn rays_that_hit_instances_find_the_light_with_its_density() {
    let scenes = both();
    let mut hits = [0; 2];
    for (u, at) in points(20_000, 3) {
        let o = vec3(4.0 * at.x - 2.0, 4.0 * at.y - 2.0, 0.1 + 2.0 * u.x);
        let target = vec3(2.4 * u.y - 1.2, 1.6 * at.x - 0.5, 0.6 + 0.8 * at.y);
        let ray = Ray::new(o, (target - o).normalize());
        let found = scenes.each_ref().map(|scene| {
            let hit = scene.accel.intersect(&ray);
            if hit.is_miss() {
                return None;
            }
            let index = scene.geometry.light(&hit)?;
            let surface = scene.geometry.surface(&hit, ray.d);
            let area = light(scene, index as usize);
            Some((
                index,
                hit.instance,
                area.radiance(surface.ng, (surface.uv, hit.weights()), -ray.d),
                area.pdf_li(ray.o, ray.d, hit.t, surface.ng),
                hit.t,
            ))
        });
        // The stochastic alpha test depends on the index of the primitive.
        let is_masked = |index: u32| index > 0 && (index - 1) % 7 == 5;
        let [Some(a), Some(b)] = found else { continue };
        if is_masked(a.0) || is_masked(b.0) || a.0 != b.0 {
            continue;
        }
        assert_eq!(b.1, Hit::NONE);
        assert!(a.2.distance(b.2) <= 1e-3 * a.2.length(), "light {}", a.0);
        // Densities diverge at grazing angles.
        let is_same = is_close(a.3, b.3) || (a.3 / b.3 - 1.0).abs() < 0.05;
        assert!(is_close(a.4, b.4) && is_same, "light {}: {} and {}", a.0, a.3, b.3);
        hits[usize::from(a.2 != Vec3::ZERO)] += 1;
    }
    assert!(hits[0] > 100 && hits[1] > 300, "{hits:?}");
}

#[test]
fn images_with_and_without_instances_have_the_same_expectation() {
    let path = |light_sampling| Overrides {
        path: PathOverrides { light_sampling: Some(light_sampling), ..PathOverrides::default() },
        ..Overrides::default()
    };
    // Without approximation, so that the sums do not depend on the cuts.
    let all_points = LightcutsOverrides {
        error: Some(0.0),
        area_points: Some(64),
        ..LightcutsOverrides::default()
    };
    let lightcuts = Overrides {
        integrator: Some(MethodName::Lightcuts),
        lightcuts: all_points,
        ..Overrides::default()
    };
    for overrides in [path(LightSampling::Power), path(LightSampling::Tree), lightcuts] {
        let settings = r#"Sampler "independent" "integer pixelsamples" 256 Integrator "path" "integer maxdepth" 2"#;
        let [instanced, flat] = [(true, 1), (false, 2)].map(|(instanced, seed)| {
            let overrides = Overrides { seed: Some(seed), ..overrides.clone() };
            render(&load(instanced, settings, &overrides), 2)
        });
        let label = format!("{:?} {:?}", overrides.integrator, overrides.path.light_sampling);
        assert_images_agree(&instanced, &flat, 0.08, &label);
    }
}
