//! Geometric robustness: closed rooms, distant lights, ray offsets, and invariance of the image
//! under scale, translation, instancing and choice of accelerator.

use super::{AREA_LIGHTS, FLOOR, HALF_TRANSPARENT_SPHERE, MASK, TOLERANCE_SIGMAS};
use crate::common::{Estimate, TestScene, assert_all_ok, load_scene, render, single_ray_scene};
use glam::{DAffine3, DQuat};
use lightbound::accel::{self, AccelKind};
use lightbound::film::RenderedImage;
use lightbound::geometry::{BilinearMesh, Disk, Geometry, Mesh, Primitive, Shape};
use lightbound_math::sampling::{Sampler, SamplerKind, warp};
use lightbound_math::{Ray, Transform, Vec3, vec2, vec3};
use lightbound_pbrt::build::Overrides;
use std::sync::Arc;

/// Closed opaque rooms. All walls are at a distance of 1 or more from the origin.
const ROOMS: [(&str, &str); 6] = [
    (
        "mesh",
        "Shape \"trianglemesh\" \"point3 P\" [-1 -1 -1  1 -1 -1  -1 1 -1  1 1 -1  -1 -1 1  1 -1 1  -1 1 1  1 1 1] \
         \"integer indices\" [0 1 3 0 3 2  4 5 7 4 7 6  0 1 5 0 5 4  2 3 7 2 7 6  0 2 6 0 6 4  1 3 7 1 7 5]",
    ),
    (
        "tetrahedron",
        "Shape \"trianglemesh\" \"point3 P\" [3 3 3  -3 -3 3  -3 3 -3  3 -3 -3] \"integer indices\" [0 1 2 0 1 3 0 2 3 1 2 3]",
    ),
    (
        "patches",
        "Shape \"bilinearmesh\" \"point3 P\" [-1 -1 -1  1 -1 -1  -1 1 -1  1 1 -1  -1 -1 1  1 -1 1  -1 1 1  1 1 1.5] \
         \"integer indices\" [0 1 2 3  4 5 6 7  0 1 4 5  2 3 6 7  0 2 4 6  1 3 5 7]",
    ),
    (
        "disks",
        "Shape \"disk\" \"float radius\" 2 \"float height\" 1\nShape \"disk\" \"float radius\" 2 \"float height\" -1\n\
         Rotate 90 1 0 0\n\
         Shape \"disk\" \"float radius\" 2 \"float height\" 1\nShape \"disk\" \"float radius\" 2 \"float height\" -1\n\
         Rotate 90 0 1 0\n\
         Shape \"disk\" \"float radius\" 2 \"float height\" 1\nShape \"disk\" \"float radius\" 2 \"float height\" -1\n",
    ),
    ("sphere", "Shape \"sphere\" \"float radius\" 1.5"),
    ("ellipsoid", "Rotate 30 1 2 3 Scale 1 2 1.5 Shape \"sphere\" \"float radius\" 1.5"),
];

/// Transforms that should not change the image of a scene of size 1.
const PLACEMENTS: [&str; 6] = [
    "Scale 1 1 1",
    "Scale 0.001 0.001 0.001",
    "Scale 1000 1000 1000",
    "Scale 100000 100000 100000",
    "Translate 1000 500 -700",
    "Translate 1000 500 -700 Scale 10 10 10",
];

/// Loads a scene of size 1 and transforms it together with its camera.
fn load_placed(
    placement: &str,
    eye: &str,
    fov: f32,
    spp: u32,
    depth: u32,
    world: &str,
) -> TestScene {
    let text = format!(
        "Sampler \"zsobol\" \"integer pixelsamples\" {spp}\nIntegrator \"path\" \"integer maxdepth\" {depth}\n\
         LookAt {eye}\nCONCAT\nCamera \"perspective\" \"float fov\" {fov}\n\
         Film \"rgb\" \"integer xresolution\" 32 \"integer yresolution\" 32\n\
         PixelFilter \"box\" \"float xradius\" 0.5 \"float yradius\" 0.5\nWorldBegin\n{placement}\n{world}\n"
    );
    // The camera transform includes the inverse of the placement.
    load_scene(&text.replace("CONCAT", &inverse(placement)), &[], &Overrides::default())
}

/// Returns the inverse of translations and uniform scales.
fn inverse(placement: &str) -> String {
    let words: Vec<&str> = placement.split_whitespace().collect();
    let directives = words.chunks(4).rev().map(|directive| {
        let x: Vec<f64> = directive[1..].iter().map(|w| w.parse().unwrap()).collect();
        let invert = |x: f64| if directive[0] == "Scale" { 1.0 / x } else { -x };
        format!("{} {} {} {} ", directive[0], invert(x[0]), invert(x[1]), invert(x[2]))
    });
    directives.collect()
}

#[test]
fn closed_rooms_are_light_tight() {
    let mut results = Vec::new();
    for (room, shape) in ROOMS {
        for placement in PLACEMENTS {
            let walls = format!(
                "Material \"diffuse\" \"rgb reflectance\" [0.9 0.9 0.9]\nAttributeBegin\n{shape}\nAttributeEnd\n"
            );
            let dark = format!("LightSource \"infinite\" \"rgb L\" [1e6 1e6 1e6]\n{walls}");
            let image = render(
                &load_placed(placement, "0.1 0.2 0.3  0.6 0.5 0.4  0 0 1", 90.0, 16, 8, &dark),
                2,
            );
            let lit = image.radiance.iter().filter(|p| p[0] > 0.0).count();
            // Where walls meet at acute angles, or far from the origin, a hit point can round to
            // the far side of another wall a few ulps away.
            let max_lit = if placement.starts_with("Translate")
                || matches!(room, "tetrahedron" | "patches")
            {
                10
            } else {
                0
            };
            results.push((
                format!("into {room}, {placement}"),
                if lit <= max_lit { Ok(()) } else { Err(format!("{lit} pixels are lit")) },
            ));
            let with_light = format!(
                "{walls}AreaLightSource \"diffuse\" \"rgb L\" [1e6 1e6 1e6] \"bool twosided\" true\n\
                 Translate 0.2 0.1 0.3\nShape \"sphere\" \"float radius\" 0.3\nShape \"disk\" \"float radius\" 0.6"
            );
            let image = render(
                &load_placed(placement, "3.4 4.2 5.3  0 0.1 0.2  0 0 1", 50.0, 4, 8, &with_light),
                2,
            );
            let lit = image.radiance.iter().filter(|p| p[0] > 0.0).count();
            results.push((
                format!("out of {room}, {placement}"),
                if lit <= max_lit { Ok(()) } else { Err(format!("{lit} pixels are lit")) },
            ));
        }
    }
    assert_all_ok(results);
}

#[test]
fn irradiance_of_distant_small_lights_obeys_inverse_square_law() {
    // Coordinates on the distant floor barely resolve the size of the light. Excludes the light
    // that occludes itself.
    let mut results = Vec::new();
    for (light, shape) in AREA_LIGHTS.into_iter().filter(|l| l.0 != "part of a sphere") {
        let irradiance = |distance: f32| {
            let world = format!(
                "{MASK}AttributeBegin\nAreaLightSource \"diffuse\" \"rgb L\" [4 3 2] \"bool twosided\" {}\nScale 0.1 0.1 0.1\n\
                 {shape}\nAttributeEnd\nMaterial \"diffuse\"\nTranslate 0 0 {}\n{FLOOR}",
                light != HALF_TRANSPARENT_SPHERE,
                -distance
            );
            let (eye, target) = (vec3(0.5, 0.0, 1.0 - distance), vec3(0.0, 0.0, -distance));
            let scene = load_scene(
                &single_ray_scene(eye, target, 1, 16, 64, &world),
                &[],
                &Overrides::default(),
            );
            let e = Estimate::from_image(&render(&scene, 2));
            let scale = f64::from(distance * distance);
            Estimate { mean: e.mean.map(|x| scale * x), error: e.error.map(|x| scale * x) }
        };
        let reference = irradiance(50.0);
        for distance in [500.0, 5000.0] {
            let reference = Estimate { error: reference.mean.map(|x| 2e-3 * x), ..reference };
            results.push((
                format!("{light} at {distance}"),
                irradiance(distance).agrees(&reference, TOLERANCE_SIGMAS),
            ));
        }
    }
    assert_all_ok(results);
}

/// Returns random flat shapes of size 1 around `centre`.
fn flat_shapes(centre: Vec3, seed: u32) -> [Shape; 3] {
    let sampler = Sampler::new(SamplerKind::Independent, seed);
    let corner = |i| {
        2.0 * Vec3::from_slice(&sampler.get4(sampler.path_key(0, 0, i), 0)) - Vec3::ONE + centre
    };
    let [a, b, c] = [0, 1, 2].map(corner);
    let mesh = Mesh::new(vec![a, b, c], vec![[0, 1, 2]], vec![], vec![]).unwrap();
    let patch =
        BilinearMesh::new(vec![a, b, c, b + c - a], vec![[0, 1, 2, 3]], vec![], vec![]).unwrap();
    let rotation =
        DAffine3::from_rotation_translation(DQuat::from_rotation_x(seed.into()), centre.as_dvec3());
    let disk = Disk::new(
        &Transform::new(rotation * DAffine3::from_rotation_y(seed.into())).unwrap(),
        0.3,
        1.0,
        0.0,
        360.0,
    )
    .unwrap();
    [Shape::Mesh(mesh), Shape::Bilinear(patch), Shape::Disk(disk)]
}

#[test]
fn offset_rays_do_not_hit_the_surface_they_leave() {
    let sampler = Sampler::new(SamplerKind::Independent, 3);
    let mut offset_rays = 0;
    for (seed, distance) in (0..200).flat_map(|seed| [0.0, 30.0, 1000.0].map(|d| (seed, d))) {
        for shape in flat_shapes(distance * vec3(1.0, 0.5, -0.7), seed) {
            let centre = shape.aabb(0).center();
            let primitive = Primitive {
                shape,
                material: 0,
                first_light: None,
                alpha: None,
                flip: false,
                media: None,
            };
            let geometry = Arc::new(Geometry {
                primitives: vec![primitive],
                world: 0..1,
                ..Geometry::default()
            });
            let accel = accel::build(AccelKind::Auto, geometry.clone()).unwrap();
            for i in 0..50 {
                let [a, b, c, d] = sampler.get4(sampler.path_key(seed, 1, i), 0);
                let [e, f, _, _] = sampler.get4(sampler.path_key(seed, 1, i), 1);
                let from = centre + 3.0 * warp::uniform_sphere(vec2(a, b));
                let ray = Ray::new(from, centre + 0.5 * warp::uniform_sphere(vec2(c, d)) - from);
                let hit = accel.intersect(&ray);
                if hit.is_miss() {
                    continue;
                }
                let (surface, d) =
                    (geometry.surface(&hit, ray.d), warp::uniform_sphere(vec2(e, f)));
                let second_hit = accel.intersect(&Ray::new(surface.offset_ray_origin(d), d));
                assert!(
                    second_hit.is_miss(),
                    "{:?} at {distance}: {second_hit:?}",
                    geometry.primitives[0].shape
                );
                offset_rays += 1;
            }
        }
    }
    assert!(offset_rays > 20_000, "only {offset_rays} rays tested");
}

/// Returns a room like the Cornell box with lights of all types except spot lights, and an object
/// of a glass sphere, a bent rough mirror and a pyramid.
fn room_with_lights(scale: f32) -> String {
    let intensity = 0.5 * scale * scale;
    format!(
        "LightSource \"infinite\" \"rgb L\" [0.1 0.2 0.3]\n\
         LightSource \"point\" \"rgb I\" [{intensity} {intensity} {intensity}] \"point3 from\" [0.5 0.6 0.7]\n\
         LightSource \"distant\" \"rgb L\" [0.2 0.2 0.1] \"point3 from\" [0.1 -0.4 0.9] \"point3 to\" [0 0 0]\n\
         Material \"diffuse\" \"rgb reflectance\" [0.7 0.5 0.3]\n\
         Shape \"trianglemesh\" \"point3 P\" [-1 -1 -1  1 -1 -1  -1 1 -1  1 1 -1  -1 1 1  1 1 1] \
         \"integer indices\" [0 1 3 0 3 2  2 3 5 2 5 4]\n\
         Shape \"bilinearmesh\" \"point3 P\" [-1 -1 -1  -1 1 -1  -1 -1 1  -1 1 1]\n\
         AttributeBegin\nAreaLightSource \"diffuse\" \"rgb L\" [5 6 7] \"bool twosided\" true\n\
         Shape \"disk\" \"float radius\" 0.3 \"float height\" 0.9\nTranslate -0.5 -0.3 0.6\nShape \"sphere\" \"float radius\" 0.1\n\
         Shape \"trianglemesh\" \"point3 P\" [0 0 0.3  0.2 0 0.3  0 0.2 0.3] \"integer indices\" [0 1 2]\nAttributeEnd\n\
         ObjectBegin \"things\"\n\
         Material \"conductor\" \"float roughness\" 0.1\n\
         Shape \"bilinearmesh\" \"point3 P\" [0.2 0.2 -1  0.9 0 -0.9  0.3 0.8 0  0.8 0.7 0.5]\n\
         Material \"diffuse\" \"rgb reflectance\" [0.2 0.6 0.8]\n\
         Shape \"trianglemesh\" \"point3 P\" [-0.9 0 -1  -0.2 0 -1  -0.5 0.6 -1  -0.5 0.3 -0.3] \
         \"normal N\" [-1 -1 -0.3  1 -1 -0.3  0 1 -0.3  0 0 1] \"integer indices\" [0 1 3 1 2 3 2 0 3]\n\
         Material \"dielectric\"\nTranslate 0.1 -0.5 -0.55\nShape \"sphere\" \"float radius\" 0.4\nObjectEnd\n"
    )
}

/// Returns the relative difference of the means, and the fraction of pixels that differ by more
/// than a tenth.
fn difference(a: &RenderedImage, b: &RenderedImage) -> (f64, f64) {
    let n = a.radiance.len() as f64;
    let sums = a.radiance.iter().zip(&b.radiance).fold((0.0, 0.0, 0.0), |(d, s, count), (p, q)| {
        let (p, q) = (f64::from(p[0] + p[1] + p[2]), f64::from(q[0] + q[1] + q[2]));
        (d + (p - q), s + p, count + f64::from(u32::from((p - q).abs() > 0.1 * p.max(q))))
    });
    (sums.0 / sums.1, sums.2 / n)
}

/// The arguments of `LookAt` for [`room_with_lights`].
const LOOK_AT: &str = "0.3 -3 0.4  0 0 -0.1  0 0 1";

#[test]
fn image_does_not_depend_on_placement_of_the_scene() {
    let image = |placement: &str, scale: f32| {
        render(
            &load_placed(
                placement,
                LOOK_AT,
                40.0,
                16,
                5,
                &(room_with_lights(scale) + "Identity\nObjectInstance \"things\"\n"),
            ),
            2,
        )
    };
    let reference = image(PLACEMENTS[0], 1.0);
    for (placement, scale) in PLACEMENTS.into_iter().zip([1.0, 1e-3, 1e3, 1e5, 1.0, 10.0]) {
        let (mean, fraction) = difference(&reference, &image(placement, scale));
        let (max_mean, max_fraction) =
            if placement.starts_with("Translate") { (5e-3, 0.05) } else { (1e-4, 2e-3) };
        assert!(mean.abs() < max_mean && fraction < max_fraction, "{placement}: {mean} {fraction}");
    }
}

#[test]
fn instances_render_like_copies() {
    for placement in [
        "Scale -1 1 1",
        "Rotate 30 1 2 3 Scale 0.8 -1.2 0.5 Rotate 70 3 2 1",
        "Translate 0.1 0.1 0 Scale -0.5 -0.6 -0.7",
    ] {
        let world = room_with_lights(1.0);
        let instance = format!(
            "{world}AttributeBegin\n{placement}\nObjectInstance \"things\"\nAttributeEnd\n"
        );
        let copy = world
            .replace("ObjectBegin \"things\"", &format!("AttributeBegin\n{placement}"))
            .replace("ObjectEnd", "AttributeEnd");
        let [a, b] = [instance, copy]
            .map(|world| render(&load_placed(PLACEMENTS[0], LOOK_AT, 40.0, 128, 5, &world), 2));
        let (mean, fraction) = difference(&a, &b);
        // Mirroring changes the tangents of meshes, so the same random numbers give different
        // directions.
        assert!(mean.abs() < 2e-3 && fraction < 0.05, "{placement}: {mean} {fraction}");
        let normals = |p: &RenderedImage| p.features.as_ref().unwrap().normal.clone();
        let flipped = normals(&a)
            .iter()
            .zip(normals(&b))
            .filter(|(m, n)| Vec3::from(**m).dot(Vec3::from(*n)) < -0.1)
            .count();
        assert_eq!(flipped, 0, "{placement}: flipped normals");
    }
}

#[test]
fn image_does_not_depend_on_thread_count_or_accelerator() {
    let text = format!(
        "Sampler \"zsobol\" \"integer pixelsamples\" 16\nIntegrator \"path\" \"integer maxdepth\" 5\n\
         LookAt {LOOK_AT}\nCamera \"perspective\" \"float fov\" 40\n\
         Film \"rgb\" \"integer xresolution\" 48 \"integer yresolution\" 40\nWorldBegin\n{}ObjectInstance \"things\"\n",
        room_with_lights(1.0)
    );
    let render_with = |kind, threads| {
        render(&load_scene(&text, &[], &Overrides { accel: kind, ..Overrides::default() }), threads)
    };
    let builtin = render_with(AccelKind::Builtin, 1);
    assert!(builtin.radiance == render_with(AccelKind::Builtin, 3).radiance);
    if AccelKind::Embree.is_available() {
        let embree = render_with(AccelKind::Embree, 1);
        assert!(embree.radiance == render_with(AccelKind::Embree, 3).radiance);
        // Embree rounds differently, so a few paths differ.
        let (mean, fraction) = difference(&builtin, &embree);
        assert!(mean.abs() < 1e-3 && fraction < 0.03, "{mean} {fraction}");
    }
}
