//! Render space: world space, translated so that the surroundings of the camera are near the
//! origin, where single precision is finest.
//!
//! Transforms of a scene file are in double precision, so a scene at a distance of 10⁶ loses
//! nothing until they are rounded. pbrt-v4 always translates the camera to the origin
//! ("camera-world space"). That moves all scenes, and every camera of an animation gives other
//! rounding errors, and another acceleration structure. Here the camera moves to within a few times
//! the size of the scene: the origin of render space is a multiple of a power of two G, at least
//! four times the median distance D from the camera to the objects. The median ignores a few
//! objects elsewhere, such as one that was left at the origin of world space; of two medians, D is
//! the larger. So:
//!
//! - Coordinates of the camera are at most G/2 < 4·D afterwards, however far away the scene is. The
//!   precision relative to the size of the scene is the same everywhere, and within three bits of
//!   the best.
//! - Nothing moves if the coordinates of the camera are below 2·D. This holds if at least half the
//!   objects are at the origin of world space, and for most other scenes, so that render space is
//!   world space for ordinary scenes.
//! - A camera that moves less than its distance from the objects seldom changes the origin.
//!
//! The position of an object is that of the origin of its own coordinate system. Vertices are not
//! considered: they are in single precision in the file, so that those far from their origin have
//! lost their precision already.

use crate::describe::{Description, LightEntity};
use glam::{DAffine3, DVec3};

/// Returns the origin of render space, in world space.
pub(super) fn origin(d: &Description) -> DVec3 {
    let camera = d
        .camera
        .as_ref()
        .map_or(DVec3::ZERO, |camera| camera.camera_from_world.inverse().translation);
    let mut distances: Vec<f64> = positions(d).map(|p| p.distance(camera)).collect();
    if distances.is_empty() {
        // Without objects, no coordinates matter.
        return DVec3::ZERO;
    }
    let middle = distances.len() / 2;
    let (_, &mut median, _) = distances.select_nth_unstable_by(middle, f64::total_cmp);
    grid_point(camera, median)
}

/// Returns the positions of all objects.
fn positions(d: &Description) -> impl Iterator<Item = DVec3> {
    let shapes = d.shapes.iter().map(|shape| shape.ctm.translation);
    let instances = d.instances.iter().map(|instance| instance.ctm.translation);
    shapes.chain(instances).chain(d.lights.iter().filter_map(light_position))
}

/// Returns the position of a light; `None` if it is infinitely far away.
fn light_position(light: &LightEntity) -> Option<DVec3> {
    match light.entity.name.as_str() {
        "infinite" | "distant" | "sky" => None,
        // If "from" is invalid, building the light reports the error.
        "point" | "spot" => {
            let from = light.entity.params.point3("from").ok().flatten().unwrap_or_default();
            Some(light.ctm.transform_point3(from.as_dvec3()))
        }
        _ => Some(light.ctm.translation),
    }
}

/// Returns the grid point nearest to the camera. The spacing of the grid is the smallest power of
/// two that is at least four times `distance`.
fn grid_point(camera: DVec3, distance: f64) -> DVec3 {
    let spacing = power_of_two(4.0 * distance);
    let point = (camera / spacing).round() * spacing;
    match () {
        () if !spacing.is_finite() || !camera.is_finite() => DVec3::ZERO,
        // All objects are where the camera is.
        () if !point.is_finite() => camera,
        () => point,
    }
}

/// Returns the smallest power of two that is at least `x`, which is not negative; 0 below the
/// smallest normal number.
fn power_of_two(x: f64) -> f64 {
    let below = f64::from_bits(x.to_bits() & f64::INFINITY.to_bits());
    if below < x { 2.0 * below } else { below }
}

/// Translates everything in world space by `by`.
pub(super) fn translate(d: &mut Description, by: DVec3) {
    if by == DVec3::ZERO {
        return;
    }
    let shapes = d.shapes.iter_mut();
    let shapes = shapes.flat_map(|s| std::iter::once(&mut s.ctm).chain(&mut s.end_ctm));
    // The shapes of objects are in the space of the object.
    let instances = d.instances.iter_mut();
    let instances = instances.flat_map(|i| std::iter::once(&mut i.ctm).chain(&mut i.end_ctm));
    let lights = d.lights.iter_mut();
    let lights = lights.flat_map(|l| std::iter::once(&mut l.ctm).chain(&mut l.end_ctm));
    let textures = d.textures.iter_mut().filter_map(|texture| texture.ctm.as_mut().ok());
    let media = d.media.iter_mut().filter_map(|medium| medium.ctm.as_mut().ok());
    for ctm in shapes.chain(instances).chain(lights).chain(textures).chain(media) {
        ctm.translation += by;
    }
    // The default camera is at the origin of world space.
    if let Some(camera) = &mut d.camera {
        for transform in
            std::iter::once(&mut camera.camera_from_world).chain(&mut camera.end_camera_from_world)
        {
            *transform *= DAffine3::from_translation(-by);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::describe::describe;
    use crate::diagnostics::{Diagnostics, Source};
    use glam::dvec3;
    use proptest::prelude::*;
    use std::path::Path;

    fn described(text: &str) -> Description {
        let source = Source::memory("scene.pbrt", text);
        describe(&source, &mut Diagnostics::new(false)).unwrap()
    }

    #[test]
    fn powers_of_two_are_not_below() {
        for (x, power) in [(0.0, 0.0), (1.0, 1.0), (1.5, 2.0), (5.0, 8.0), (8.0, 8.0), (0.3, 0.5)] {
            assert_eq!(power_of_two(x), power, "{x}");
        }
        assert_eq!(power_of_two(f64::INFINITY), f64::INFINITY);
        assert_eq!(power_of_two(1.7e308), f64::INFINITY);
    }

    proptest! {
        #[test]
        fn camera_stays_within_the_size_of_the_scene(
            camera in prop::array::uniform3(-1e9..1e9),
            exponent in -6.0..9.0,
        ) {
            let (camera, distance) = (DVec3::from(camera), 10f64.powf(exponent));
            let moved = (camera - grid_point(camera, distance)).abs().max_element();
            prop_assert!(moved <= 4.0 * distance, "{moved} of {distance}");
            let near = camera.clamp(DVec3::splat(-1.99 * distance), DVec3::splat(1.99 * distance));
            prop_assert_eq!(grid_point(near, distance), DVec3::ZERO);
        }
    }

    #[test]
    fn extreme_scenes_have_an_origin() {
        let camera = dvec3(1e6, -3.0, 0.0);
        assert_eq!(grid_point(camera, 0.0), camera);
        assert_eq!(grid_point(camera, 1e-320), camera);
        assert_eq!(grid_point(camera, f64::MAX), DVec3::ZERO);
        assert_eq!(grid_point(DVec3::MAX, 1.0), DVec3::MAX);
        assert_eq!(grid_point(DVec3::INFINITY, 1.0), DVec3::ZERO);
        assert_eq!(
            origin(&described("Translate -1e7 0 0 Camera \"perspective\" WorldBegin")),
            DVec3::ZERO
        );
    }

    #[test]
    fn single_objects_elsewhere_do_not_hold_the_scene() {
        let scene = |objects: &str| {
            described(&format!(
                "Translate -1000000 0 0 Camera \"perspective\" WorldBegin
                AttributeBegin Translate 1000000 0 4 {objects} AttributeEnd
                Shape \"sphere\""
            ))
        };
        let near = r#"Shape "sphere" Shape "disk""#;
        assert_eq!(origin(&scene(near)), DVec3::X * 1e6);
        // Here the objects around the origin are the scene.
        let far = r#"Translate -1000000 0 0 Shape "sphere" Shape "disk" "#;
        assert_eq!(origin(&scene(far)), DVec3::ZERO);
    }

    #[test]
    fn nothing_moves_if_half_the_objects_are_at_the_origin() {
        let camera = r#"Translate -300 0 400 Camera "perspective" WorldBegin Identity "#;
        let headlight = r#"LightSource "point" "point3 from" [300 0 -400] "#;
        for n in 1..=2 {
            let objects = headlight.repeat(n) + &r#"Shape "sphere" "#.repeat(n);
            assert_eq!(origin(&described(&(camera.to_owned() + &objects))), DVec3::ZERO, "{n}");
        }
    }

    #[test]
    fn everything_in_world_space_moves_together() {
        let mut d = described(
            r#"Translate -1000000 0 0 Camera "perspective" WorldBegin
            Translate 1000000 0 4
            LightSource "point" "point3 from" [0 3 0]
            LightSource "distant"
            Texture "checks" "float" "checkerboard"
            MakeNamedMedium "fog" "string type" "cloud"
            Shape "sphere"
            ObjectBegin "object" Shape "disk" ObjectEnd
            ObjectInstance "object"
            Identity LightSource "infinite" LightSource "sky""#,
        );
        // The light is at a distance of 5, shape and instance of 4; three are infinitely far away.
        assert_eq!(origin(&d), dvec3(1e6, 0.0, 0.0).map(|x| (x / 16.0).round() * 16.0));
        let by = -origin(&d);
        let transforms = |d: &Description| {
            let texture = *d.textures[0].ctm.as_ref().unwrap();
            let medium = *d.media[0].ctm.as_ref().unwrap();
            [d.lights[0].ctm, texture, medium, d.shapes[0].ctm, d.instances[0].ctm]
        };
        let before = transforms(&d);
        let (object, camera) =
            (d.objects[0].shapes[0].ctm, d.camera.as_ref().unwrap().camera_from_world);
        translate(&mut d, by);
        let after = transforms(&d);
        for (before, after) in before.into_iter().zip(after) {
            assert_eq!(DAffine3::from_translation(by) * before, after);
        }
        assert_eq!(d.objects[0].shapes[0].ctm, object);
        let moved = d.camera.unwrap().camera_from_world;
        let p = dvec3(1e6 + 1.0, 2.0, 3.0);
        assert_eq!(moved.transform_point3(p + by), camera.transform_point3(p));
    }

    #[test]
    fn render_space_is_world_space_for_the_scenes_of_the_repository() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes");
        let folders = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let files = folders
            .filter(|path| path.is_dir())
            .flat_map(|path| std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        let mut scenes = 0;
        for path in files.filter(|path| path.extension().is_some_and(|e| e == "pbrt")) {
            // Included files are not scenes.
            let description = describe(&Source::file(&path), &mut Diagnostics::new(false));
            if let Ok(d) = description {
                assert_eq!(origin(&d), DVec3::ZERO, "{}", path.display());
                scenes += 1;
            }
        }
        assert!(scenes > 20, "only {scenes} scenes were found");
    }
}
