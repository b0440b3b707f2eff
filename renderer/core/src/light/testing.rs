//! Lights for tests.

use super::{AnyLight, EnvironmentDirection, Light, LightSample};
use crate::geometry::{BilinearMesh, Cylinder, Disk, Mesh, Primitive, Shape, Sphere};
use glam::{DAffine3, DQuat, dvec3};
use lightbound_math::{Transform, Vec2, Vec3, vec3};

/// Samples all incident light: that of environments uniformly over their square, since light
/// sampling leaves a part of it to BSDF sampling.
pub fn sample_all(light: &AnyLight, p: Vec3, u: Vec2) -> Option<LightSample> {
    let AnyLight::Environment(environment) = light else { return light.sample_li(p, u) };
    let EnvironmentDirection { wi, radiance, jacobian } = environment.direction_at(u);
    Some(LightSample { wi, target: None, radiance, pdf: 1.0 / jacobian, delta: false })
}

/// Returns an emissive primitive.
pub fn primitive(shape: Shape) -> Primitive {
    Primitive { shape, material: 0, first_light: Some(0), alpha: None, flip: false, media: None }
}

/// Returns a triangle that faces down. If `normals` are given, the winding is reversed.
pub fn triangle(normals: Vec<Vec3>) -> Shape {
    let indices = if normals.is_empty() { [0, 1, 2] } else { [0, 2, 1] };
    let p = vec![vec3(-1.0, -0.5, 2.0), vec3(0.5, 1.5, 2.5), vec3(1.5, -1.0, 1.5)];
    Shape::Mesh(Mesh::new(p, vec![indices], normals, vec![]).unwrap())
}

/// Returns a bilinear patch, oriented as [`triangle`].
fn patch(normals: Vec<Vec3>) -> Shape {
    let indices = if normals.is_empty() { [0, 1, 2, 3] } else { [0, 2, 1, 3] };
    let p = vec![
        vec3(-1.0, -1.0, 2.0),
        vec3(-0.8, 1.0, 2.5),
        vec3(1.0, -1.2, 2.2),
        vec3(0.7, 0.9, 1.8),
    ];
    Shape::Bilinear(BilinearMesh::new(p, vec![indices], normals, vec![]).unwrap())
}

fn transform(scale: glam::DVec3, at: glam::DVec3) -> Transform {
    Transform::new(
        DAffine3::from_translation(at)
            * DAffine3::from_quat(DQuat::from_rotation_x(0.5))
            * DAffine3::from_scale(scale),
    )
    .unwrap()
}

/// Returns all kinds of emissive surfaces above the origin, each with a name and a point from which
/// it is visible.
pub fn surfaces() -> Vec<(&'static str, Primitive, Vec3)> {
    let above = dvec3(0.2, 0.1, 3.0);
    let uniform = transform(dvec3(1.5, 1.5, 1.5), above);
    let nonuniform = transform(dvec3(1.5, -0.7, 1.0), above);
    let inside = vec3(0.3, 0.2, 2.8);
    let full = |t: &Transform| Shape::Sphere(Sphere::full(t, 1.0).unwrap());
    let partial = |t: &Transform| Shape::Sphere(Sphere::new(t, 1.0, -0.9, 0.5, 200.0).unwrap());
    let tube = |t: &Transform, phi| Shape::Cylinder(Cylinder::new(t, 0.7, -0.6, 1.0, phi).unwrap());
    let mut lights = vec![
        ("triangle", primitive(triangle(vec![])), Vec3::ZERO),
        ("triangle, flipped by its normals", primitive(triangle(vec![-Vec3::Z; 3])), Vec3::ZERO),
        (
            "triangle, partly flipped",
            primitive(triangle(vec![-Vec3::Z, -Vec3::Z, 3.0 * Vec3::Z])),
            Vec3::ZERO,
        ),
        ("patch", primitive(patch(vec![])), Vec3::ZERO),
        ("patch, flipped by its normals", primitive(patch(vec![-Vec3::Z; 4])), Vec3::ZERO),
        ("sphere", primitive(full(&uniform)), Vec3::ZERO),
        ("ellipsoid", primitive(full(&nonuniform)), Vec3::ZERO),
        ("partial sphere", primitive(partial(&uniform)), Vec3::ZERO),
        ("partial ellipsoid", primitive(partial(&nonuniform)), Vec3::ZERO),
        (
            "disk",
            primitive(Shape::Disk(Disk::new(&uniform, 0.0, 1.0, 0.0, 360.0).unwrap())),
            Vec3::ZERO,
        ),
        (
            "ring",
            primitive(Shape::Disk(Disk::new(&nonuniform, 0.0, 1.0, 0.5, 250.0).unwrap())),
            Vec3::ZERO,
        ),
        ("cylinder", primitive(tube(&uniform, 360.0)), Vec3::ZERO),
        ("partial elliptic cylinder", primitive(tube(&nonuniform, 200.0)), Vec3::ZERO),
        ("sphere from inside", primitive(full(&uniform)), inside),
        ("ellipsoid from inside", primitive(full(&nonuniform)), inside),
    ];
    // Flip disks, which face up, and surfaces seen from inside.
    for (_, p, from) in &mut lights {
        p.flip = matches!(p.shape, Shape::Disk(_)) || *from != Vec3::ZERO;
    }
    lights
}
