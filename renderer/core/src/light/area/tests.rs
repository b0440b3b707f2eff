use super::*;
use crate::geometry::{AttributeValues, Geometry, Hit};
use crate::light::testing::{primitive, surfaces, triangle};
use crate::texture::Texture;
use glam::{DAffine3, dvec3};
use lightbound_image::{Channels, Image};
use lightbound_math::sampling::testing::points;
use lightbound_math::sampling::warp::uniform_cone;
use lightbound_math::{Transform, vec3};
use std::sync::Arc;

const N: u32 = 200_000;

/// Samples a direction that may hit the light; returns it with its density.
fn direction(from: Vec3, u: Vec2) -> (Vec3, f32) {
    // All lights lie within 53° around +z from the origin.
    let one_minus_cos = if from == Vec3::ZERO { 0.4 } else { 2.0 };
    (uniform_cone(u, one_minus_cos), uniform_cone_pdf(one_minus_cos))
}

fn hit(scene: &Geometry, from: Vec3, wi: Vec3) -> Option<(f32, crate::geometry::Surface)> {
    let h = scene.primitives[0].shape.intersect(0, &Ray::new(from, wi))?;
    let hit = Hit { t: h.t, u: h.u, v: h.v, primitive: 0, element: 0, ..Hit::MISS };
    Some((h.t, scene.surface(&hit, wi)))
}

#[test]
fn light_and_direction_sampling_agree() {
    for (name, primitive, from) in surfaces() {
        for two_sided in [false, true] {
            let light = AreaLight::new(&primitive, 0, Vec3::ONE, two_sided);
            let scene = Geometry {
                primitives: vec![primitive.clone()],
                world: 0..1,
                ..Geometry::default()
            };
            let (mut by_light, mut by_sphere) = (0.0, 0.0);
            let mut mismatches = 0;
            for u in points(N, 5) {
                if let Some(s) = light.sample_li(from, u) {
                    let seen = hit(&scene, from, s.wi).filter(|(t, x)| {
                        let distance = s.target.unwrap().distance(x.p);
                        distance
                            <= 3.0 * light.offset + 1e-3 * (t + 1.0) * (1.0 - x.ng.dot(s.wi).abs())
                    });
                    if let Some((t, surface)) = seen {
                        by_light += f64::from(s.radiance.x * s.wi.z.abs() / s.pdf);
                        let pdf = light.pdf_li(from, s.wi, t, surface.ng);
                        let agrees =
                            (pdf / s.pdf - 1.0).abs() < 1e-2 || surface.ng.dot(s.wi).abs() < 1e-2;
                        mismatches += u32::from(
                            !agrees
                                || light.radiance(surface.ng, (surface.uv, Vec2::ZERO), -s.wi)
                                    != s.radiance,
                        );
                    }
                }
                let (wi, density) = direction(from, u);
                if let Some((_, surface)) = hit(&scene, from, wi) {
                    by_sphere += f64::from(
                        light.radiance(surface.ng, (surface.uv, Vec2::ZERO), -wi).x * wi.z.abs()
                            / density,
                    );
                }
            }
            assert!(by_sphere > 0.0, "{name} does not emit");
            assert!((by_light / by_sphere - 1.0).abs() < 0.025, "{name}: {by_light} {by_sphere}");
            assert!(
                mismatches < N / 1000,
                "{name}: {mismatches} samples differ in density or radiance"
            );
        }
    }
}

#[test]
fn densities_integrate_to_one() {
    // Only lights without self-occlusion: flat lights, and all lights seen from inside.
    for (name, primitive, from) in surfaces() {
        let is_curved = matches!(primitive.shape, Shape::Sphere(_) | Shape::Cylinder(_));
        let is_self_occluding = is_curved && from == Vec3::ZERO && name != "sphere";
        if is_self_occluding {
            continue;
        }
        let light = AreaLight::new(&primitive, 0, Vec3::ONE, false);
        let scene = Geometry { primitives: vec![primitive], world: 0..1, ..Geometry::default() };
        let mass: f64 = points(N, 6)
            .map(|u| direction(from, u))
            .filter_map(|(wi, density)| {
                hit(&scene, from, wi).map(|(t, s)| light.pdf_li(from, wi, t, s.ng) / density)
            })
            .map(f64::from)
            .sum();
        assert!((mass / f64::from(N) - 1.0).abs() < 0.03, "{name}: {}", mass / f64::from(N));
    }
}

/// Estimates the irradiance at the origin on a surface that faces +z.
fn irradiance(light: &AreaLight) -> f64 {
    let sum: f64 = points(N, 7)
        .filter_map(|u| light.sample_li(Vec3::ZERO, u))
        .map(|s| f64::from(s.radiance.x * s.wi.z.max(0.0) / s.pdf))
        .sum();
    sum / f64::from(N)
}

#[test]
fn irradiance_matches_closed_forms() {
    let pi = std::f64::consts::PI;
    for distance in [1.5, 4.0, 1e4] {
        let at = Transform::new(DAffine3::from_translation(dvec3(0.0, 0.0, distance))).unwrap();
        let sphere = AreaLight::new(
            &primitive(Shape::Sphere(Sphere::full(&at, 1.0).unwrap())),
            0,
            Vec3::ONE,
            false,
        );
        let expected = pi / (distance * distance);
        assert!((irradiance(&sphere) / expected - 1.0).abs() < 3e-3, "sphere at {distance}");
        let mut disk = primitive(Shape::Disk(Disk::new(&at, 0.0, 1.0, 0.0, 360.0).unwrap()));
        disk.flip = true;
        let expected = pi / (1.0 + distance * distance);
        assert!(
            (irradiance(&AreaLight::new(&disk, 0, Vec3::ONE, false)) / expected - 1.0).abs() < 3e-3,
            "disk at {distance}"
        );
    }
    // Lambert's formula: E = L/2 Σ (angle of edge) × (cosine of the edge's plane).
    let Shape::Mesh(m) = triangle(vec![]) else { unreachable!() };
    let v = m.vertices(0).map(|p| p.as_dvec3().normalize());
    let edge = |a: glam::DVec3, b: glam::DVec3| a.angle_between(b) * a.cross(b).normalize().z;
    let expected = 0.5 * (edge(v[0], v[1]) + edge(v[1], v[2]) + edge(v[2], v[0])).abs();
    let light = AreaLight::new(&primitive(triangle(vec![])), 0, Vec3::ONE, true);
    assert!(
        (irradiance(&light) / expected - 1.0).abs() < 5e-3,
        "{} {expected}",
        irradiance(&light)
    );
}

#[test]
fn alpha_scales_irradiance_and_zero_alpha_hides_the_surface() {
    let mut shape = primitive(triangle(vec![]));
    let full = irradiance(&AreaLight::new(&shape, 0, Vec3::ONE, true));
    shape.alpha = Some(Param::Texture(Arc::new(Texture::Constant(Vec3::splat(0.25)))));
    let quarter = irradiance(&AreaLight::new(&shape, 0, Vec3::ONE, true));
    assert!((quarter / full - 0.25).abs() < 1e-3, "{quarter} {full}");
    shape.alpha = Some(Param::from_float(0.0));
    let hidden = AreaLight::new(&shape, 0, Vec3::ONE, true);
    assert!((irradiance(&hidden) / full - 1.0).abs() < 1e-4);
    assert!(hidden.sample_li(Vec3::ZERO, Vec2::splat(0.4)).unwrap().delta);
    assert_eq!(hidden.pdf_li(Vec3::ZERO, Vec3::Z, 2.0, Vec3::Z), 0.0);
}

#[test]
fn invalid_points_have_no_samples() {
    for (name, primitive, _) in surfaces() {
        let light = AreaLight::new(&primitive, 0, Vec3::ONE, true);
        for u in points(1000, 8) {
            for from in [Vec3::splat(f32::NAN), Vec3::INFINITY] {
                assert!(light.sample_li(from, u).is_none(), "{name} from {from}");
            }
            let EmitterSample { p, .. } = light.sample_surface(Vec3::ZERO, u);
            if let Some(s) = light.sample_li(p, u) {
                assert!(
                    s.wi.is_finite() && s.pdf.is_finite() && s.pdf > 0.0,
                    "{name} from a point on its surface"
                );
            }
        }
        assert!(light.power(1.0) > 0.0);
    }
}

#[test]
fn points_cover_the_light_within_their_bounds() {
    for (name, primitive, _) in surfaces() {
        let light = AreaLight::new(&primitive, 0, Vec3::ONE, false);
        let mut area = 0.0;
        for (i, r) in points(200, 9).enumerate() {
            // Rectangles of all sizes, starting with the entire square and aligned parts of it.
            let size = [1.0, 0.5, 0.25, 0.1, 0.01][i.div_ceil(2).min(4)];
            let lo = if i < 8 { (r / size).floor() * size } else { r * (1.0 - size) };
            let hi = (lo + size).min(Vec2::ONE);
            let (bounds, cone) = light.extent(lo, hi);
            for u in points(100, i as u32) {
                let at = light.point(lo + u * (hi - lo));
                assert!(
                    bounds.min.cmple(at.p).all() && bounds.max.cmpge(at.p).all(),
                    "{name}: {} {bounds:?}",
                    at.p
                );
                assert!(cone.contains(at.n), "{name}: {} {cone:?}", at.n);
                area += if i == 0 { at.jacobian / 100.0 } else { 0.0 };
            }
            let center = light.center_point(lo, hi);
            assert!(
                bounds.min.cmple(center.p).all()
                    && bounds.max.cmpge(center.p).all()
                    && cone.contains(center.n),
                "{name}"
            );
            // Small rectangles have small extents.
            if size == 0.01 && !name.contains("sphere") && !name.contains("ellipsoid") {
                assert!((bounds.max - bounds.min).max_element() < 0.2, "{name} {bounds:?}");
            }
            assert!(
                size > 0.1 || cone.cos > 0.5 || name.contains("partly") || lo.y < 0.1 || lo.y > 0.9,
                "{name} {cone:?}"
            );
        }
        assert!((area / light.area - 1.0).abs() < 0.1, "{name}: {area}");
        let mean_jacobian = light.center_point(Vec2::ZERO, Vec2::ONE).jacobian;
        // Simpson's rule is inaccurate for entire ellipsoids and cylinders, which are always
        // subdivided.
        assert!(
            (mean_jacobian / light.area - 1.0).abs()
                < if name.contains("ellip") { 0.4 } else { 0.05 },
            "{name}: mean Jacobian {mean_jacobian}"
        );
    }
}

#[test]
fn images_give_the_same_radiance_to_samples_and_hits() {
    let texels = (0..27).map(|i| if i % 4 == 0 { 0.0 } else { i as f32 }).collect();
    let image = Arc::new(Image::from_f32(3, 3, Channels::Rgb, texels));
    let image = Arc::new(EmissionImage::new(image));
    for (name, primitive, from) in surfaces() {
        let light = AreaLight::new(&primitive, 0, vec3(1.0, 2.0, 0.5), true);
        let light = light.with_image(&primitive, 0, image.clone());
        let scene = Geometry { primitives: vec![primitive], world: 0..1, ..Geometry::default() };
        let (mut compared, mut mismatches) = (0, 0);
        for u in points(5000, 5) {
            let Some(s) = light.sample_li(from, u) else { continue };
            assert!(s.radiance.cmple(light.max_radiance()).all(), "{name}");
            let Some((_, surface)) = hit(&scene, from, s.wi) else { continue };
            // A curved light may hide the sampled point.
            if s.target.unwrap().distance(surface.p) > 1e-2 {
                continue;
            }
            let radiance = light.radiance(surface.ng, (surface.uv, Vec2::ZERO), -s.wi);
            let close = (radiance - s.radiance).length() <= 0.05 * radiance.length() + 0.1;
            (compared, mismatches) = (compared + 1, mismatches + u32::from(!close));
        }
        assert!(
            compared > 500 && mismatches < compared / 100,
            "{name}: {mismatches} of {compared}"
        );
        let expected = PI * 2.0 * light.area * abs_luminance(light.mean_radiance());
        assert_eq!(light.power(1.0), expected, "{name}");
    }
}

/// The triangle with colours of its vertices, a light of it, and its geometry.
fn coloured(colours: [Vec3; 3], le: Vec3) -> (AreaLight, Geometry) {
    let id = AttributeId::new(3).unwrap();
    let Shape::Mesh(mesh) = triangle(vec![]) else { unreachable!() };
    let mesh = mesh.with_attribute(id, AttributeValues::Colours(colours.to_vec())).unwrap();
    let primitive = primitive(Shape::Mesh(mesh));
    let light = AreaLight::new(&primitive, 0, le, true).with_vertex_colours(&primitive, 0, id);
    (light, Geometry { primitives: vec![primitive], world: 0..1, ..Geometry::default() })
}

#[test]
fn colours_of_vertices_give_the_same_radiance_to_samples_and_hits() {
    let colours = [vec3(4.0, 0.0, 1.0), vec3(0.0, 2.0, 1.0), vec3(0.5, -8.0, 1.0)];
    let (light, scene) = coloured(colours, vec3(1.0, 2.0, 0.5));
    assert_eq!(light.max_radiance(), vec3(4.0, 4.0, 0.5));
    assert!((light.mean_radiance() - vec3(1.5, 4.0 / 3.0, 0.5)).length() < 1e-6);
    assert!(light.triangle(None).is_none(), "SIMD sampling has no textures");
    let shape = &scene.primitives[0].shape;
    let (mut compared, mut sum) = (0, Vec3::ZERO);
    for u in points(5000, 5) {
        let Some(s) = light.sample_li(Vec3::ZERO, u) else { continue };
        assert!(s.radiance.cmple(light.max_radiance()).all() && s.radiance.min_element() >= 0.0);
        let (Some(h), Some((_, surface))) =
            (shape.intersect(0, &Ray::new(Vec3::ZERO, s.wi)), hit(&scene, Vec3::ZERO, s.wi))
        else {
            continue;
        };
        let at = (surface.uv, Vec2::new(h.u, h.v));
        let radiance = light.radiance(surface.ng, at, -s.wi);
        assert!((radiance - s.radiance).length() < 1e-3, "{radiance} {}", s.radiance);
        assert!(radiance.cmple(light.max_radiance()).all());
        (compared, sum) = (compared + 1, sum + light.point(u).radiance);
    }
    assert!(compared > 4900, "{compared}");
    // The mean, and so the power, are those of the surface.
    let mean = sum / compared as f32;
    assert!((mean - light.mean_radiance()).abs().max_element() < 0.03, "{mean}");
    assert_eq!(light.power(1.0), PI * 2.0 * light.area * abs_luminance(light.mean_radiance()));
    // The colours stay where vertices move.
    let moved = light.moved_to(&scene.primitives[0]);
    assert_eq!(moved.point(Vec2::splat(0.3)).radiance, light.point(Vec2::splat(0.3)).radiance);
    // Shapes without the attribute emit as they are.
    for (name, primitive, _) in surfaces() {
        let id = AttributeId::new(3).unwrap();
        let light = AreaLight::new(&primitive, 0, Vec3::ONE, true);
        let light = light.with_vertex_colours(&primitive, 0, id);
        assert_eq!(light.max_radiance(), Vec3::ONE, "{name}");
    }
}

#[test]
fn images_and_opacities_multiply_colours_of_vertices() {
    let (light, scene) = coloured([vec3(1.0, 0.5, 0.25); 3], Vec3::ONE);
    let image = Image::from_f32(1, 1, Channels::Rgb, vec![4.0, 2.0, 1.0]);
    let image = Arc::new(EmissionImage::new(Arc::new(image)));
    let mut primitive = scene.primitives[0].clone();
    let both = light.clone().with_image(&primitive, 0, image);
    let expected = vec3(4.0, 1.0, 0.25);
    assert_eq!((both.max_radiance(), both.mean_radiance()), (expected, expected));
    let at = (Vec2::splat(0.5), Vec2::splat(0.25));
    assert!((both.radiance(Vec3::Z, at, Vec3::Z) - expected).length() < 1e-6);
    primitive.alpha = Some(Param::Texture(Arc::new(Texture::Constant(Vec3::splat(0.5)))));
    let id = AttributeId::new(3).unwrap();
    let veiled = AreaLight::new(&primitive, 0, Vec3::ONE, true);
    let veiled = veiled.with_vertex_colours(&primitive, 0, id);
    let u = Vec2::splat(0.4);
    let [half, full] = [&veiled, &light].map(|l| l.sample_li(Vec3::ZERO, u).unwrap().radiance);
    assert!((2.0 * half - full).length() < 1e-6, "{half} {full}");
}

#[test]
fn patches_are_sampled_in_proportion_to_their_image() {
    let texels = (0..16).map(|i| if i % 5 == 2 { 40.0 } else { i as f32 % 3.0 }).collect();
    let image = Arc::new(Image::from_f32(4, 4, Channels::Grey, texels));
    let image = Arc::new(EmissionImage::new(image));
    let mut patches = 0;
    for (name, primitive, from) in surfaces() {
        if !matches!(primitive.shape, Shape::Bilinear(_)) {
            continue;
        }
        patches += 1;
        let light = AreaLight::new(&primitive, 0, Vec3::ONE, true);
        let light = light.with_image(&primitive, 0, image.clone());
        assert!(light.sampled_image().is_some(), "{name}");
        let scene = Geometry { primitives: vec![primitive], world: 0..1, ..Geometry::default() };
        let pdf =
            |wi: Vec3| hit(&scene, from, wi).map_or(0.0, |(t, s)| light.pdf_li(from, wi, t, s.ng));
        // The light is everywhere, but the samples are where the image is bright.
        let mass: f64 = points(N, 6)
            .map(|u| direction(from, u))
            .map(|(wi, density)| f64::from(pdf(wi) / density))
            .sum();
        assert!((mass / f64::from(N) - 1.0).abs() < 0.04, "{name}: {}", mass / f64::from(N));
        // The bright texels have three quarters of the light.
        let (mut bright, mut mismatches) = (0, 0);
        for u in points(10_000, 3) {
            let Some(s) = light.sample_li(from, u) else { continue };
            mismatches += u32::from((pdf(s.wi) / s.pdf - 1.0).abs() > 0.02);
            bright += u32::from(s.radiance.x > 10.0);
        }
        assert!(mismatches < 200 && bright > 6000, "{name}: {mismatches} {bright}");
    }
    assert!(patches > 1);
}
