//! Test scenes with media: a sphere of a medium, seen through its centre.

use crate::camera::Camera;
use crate::geometry::{Shape, Sphere};
use crate::light::{AnyLight, Environment, PointLight};
use crate::material::library;
use crate::medium::{Field, Homogeneous, MediumPoint};
use crate::render::{RenderOptions, render};
use crate::settings::{IntegratorSettings, RenderSettings};
use crate::{Scene, SceneBuilder};
use lightbound_math::{Aabb, Transform, Vec3, vec3};

/// Cells of density 0.1 and 2, the other way round in the third channel, with chromatic albedo and
/// emission.
#[derive(Clone, Copy, Debug)]
pub struct Checker {
    pub extinction: Vec3,
    pub albedo: Vec3,
    pub emission: Vec3,
}

impl Checker {
    pub fn density(p: Vec3) -> Vec3 {
        let cell = (3.0 * p + 0.5).floor().element_sum();
        if cell.rem_euclid(2.0) == 0.0 { vec3(2.0, 2.0, 0.1) } else { vec3(0.1, 0.1, 2.0) }
    }
}

impl Field for Checker {
    fn bounds(&self) -> Option<Aabb> {
        Some(Aabb { min: Vec3::splat(-1.0), max: Vec3::splat(1.0) })
    }

    fn emits(&self) -> bool {
        self.emission != Vec3::ZERO
    }

    fn extinction(&self) -> Vec3 {
        self.extinction
    }

    fn constant_albedo(&self) -> Option<Vec3> {
        (!self.emits()).then_some(self.albedo)
    }

    fn density_bounds(&self, boxes: &[Aabb], out: &mut Vec<[f32; 2]>) {
        out.clear();
        out.resize(boxes.len(), [0.1, 2.0]);
    }

    fn evaluate(&self, points: &[Vec3], out: &mut Vec<MediumPoint>) {
        out.clear();
        out.extend(points.iter().map(|&p| MediumPoint {
            extinction: self.extinction * Checker::density(p),
            albedo: self.albedo,
            emission: self.emission * Checker::density(p),
        }));
    }
}

/// Creates a scene with a sphere of a medium of radius 1 at the origin, seen from z = −3.
pub fn sphere(field: Box<dyn Field>, g: f64, light: AnyLight) -> Scene {
    let mut builder = SceneBuilder::new();
    let phase = library::find("henyey_greenstein").expect("the library has it");
    let values = [g];
    let phase = ("henyey_greenstein.wgsl", phase.text, &[("g", &values[..])][..]);
    let medium = builder.add_medium("m", Transform::IDENTITY, field, phase).unwrap();
    let sphere = Sphere::full(&Transform::IDENTITY, 1.0).unwrap();
    builder.add_medium_boundary(Shape::Sphere(sphere), None, Some(medium), None);
    builder.add_light(light);
    let camera = Camera::look_at(vec3(0.0, 0.0, -3.0), Vec3::ZERO, Vec3::Y, 1.0, (2, 2));
    builder.build(camera).unwrap()
}

/// Returns the mean radiance of all pixels.
pub fn radiance(scene: &Scene, integrator: IntegratorSettings, samples: u32) -> Vec3 {
    let mut settings = RenderSettings { integrator, ..RenderSettings::with_resolution(2, 2) };
    settings.sampling.spp = samples;
    let image = render(scene, &settings, &RenderOptions::default()).unwrap().image;
    image.radiance.iter().map(|&rgb| Vec3::from_array(rgb)).sum::<Vec3>() / 4.0
}

pub fn environment(radiance: f32) -> AnyLight {
    AnyLight::Environment(Environment::constant(Vec3::splat(radiance)))
}

pub fn assert_close(value: Vec3, expected: Vec3, tolerance: f32) {
    let error = ((value - expected) / expected).abs().max_element();
    assert!(error < tolerance, "{value} is not {expected}, relative error {error}");
}

/// Creates a scene with a point light in a homogeneous medium. Returns it with the light that is
/// scattered once: the integral along the ray.
pub fn single_scattering() -> (Scene, Vec3) {
    let point = MediumPoint {
        extinction: vec3(0.5, 1.0, 2.0),
        albedo: vec3(0.9, 0.5, 0.3),
        emission: Vec3::ZERO,
    };
    let light = vec3(0.0, 0.5, 0.0);
    let light_source = AnyLight::Point(PointLight::new(light, Vec3::splat(10.0)));
    let scene = sphere(Box::new(Homogeneous(point)), 0.5, light_source);
    let (mut radiance, steps) = (Vec3::ZERO, 10_000);
    for step in 0..steps {
        let depth = (step as f32 + 0.5) * 2.0 / steps as f32;
        let p = vec3(0.0, 0.0, depth - 1.0);
        let (wi, distance) = ((light - p).normalize(), (light - p).length());
        let d = 1.25 - wi.z;
        let phase = 0.75 / (12.566_371 * d * d.sqrt());
        let attenuation = (-(depth + distance) * point.extinction).exp();
        let scattering = point.extinction * point.albedo;
        radiance += scattering * attenuation * (10.0 * phase / (distance * distance));
    }
    (scene, radiance * (2.0 / steps as f32))
}
