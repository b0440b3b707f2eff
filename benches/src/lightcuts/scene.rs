//! The scenes: a ground plane with spheres, boxes and walls, all with one material and its default
//! parameters, and many point lights.
//!
//! Lights are distributed uniformly above the ground, at distances of 0.2 to 3 from the nearest
//! surface, and also behind walls. A scene with fewer lights has a prefix of the lights of a larger
//! scene, and the total intensity is constant. The z axis points up.

use lightbound_math::sampling::{hash, unit_float};
use lightbound_math::{Vec3, vec3};
use std::fmt::Write;

/// Half the width of the ground plane.
const GROUND_HALF_WIDTH: f32 = 8.0;

/// Centres and radii of the spheres.
const SPHERES: [(Vec3, f32); 7] = [
    (vec3(-2.6, -2.4, 0.7), 0.7),
    (vec3(-0.7, -1.2, 1.0), 1.0),
    (vec3(1.6, -2.6, 0.6), 0.6),
    (vec3(3.6, -1.4, 0.9), 0.9),
    (vec3(0.6, 1.6, 1.2), 1.2),
    (vec3(-4.6, 0.6, 0.8), 0.8),
    (vec3(5.0, 1.8, 1.1), 1.1),
];

/// Corners of five boxes and three walls.
const BOXES: [[Vec3; 2]; 8] = [
    [vec3(0.3, -4.0, 0.0), vec3(1.0, -3.3, 0.7)],
    [vec3(-4.4, -2.0, 0.0), vec3(-3.6, -1.2, 1.5)],
    [vec3(2.0, -0.6, 0.0), vec3(2.6, 0.4, 1.0)],
    [vec3(-1.4, 2.6, 0.0), vec3(-0.5, 3.5, 2.0)],
    [vec3(4.8, -3.6, 0.0), vec3(5.6, -2.8, 0.9)],
    [vec3(-7.0, 4.6, 0.0), vec3(7.0, 4.9, 2.6)],
    [vec3(-3.0, 0.2, 0.0), vec3(-2.7, 4.6, 1.9)],
    [vec3(3.1, 0.6, 0.0), vec3(3.4, 4.6, 1.9)],
];

/// The region that contains the lights.
const LIGHT_REGION: [Vec3; 2] =
    [vec3(-GROUND_HALF_WIDTH, -6.0, 0.2), vec3(GROUND_HALF_WIDTH, 7.0, 3.2)];

/// Range of distances from lights to the nearest surface.
const LIGHT_DISTANCES: [f32; 2] = [0.2, 3.0];

/// Total intensity of all lights, W/sr.
const TOTAL_INTENSITY: f32 = 250.0;

/// Returns whether a material has a hand-derived bound.
pub fn has_hand_bounds(material: &str) -> bool {
    ["diffuse", "phong", "isoward", "ward"].contains(&material)
}

/// Returns the text of the scene file.
pub fn scene_text(material: &str, lights: u32, (columns, rows): (u32, u32)) -> String {
    let uv = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenes/julia/uv.png");
    // Texture coordinates are scaled to the middle of the unit square, where the Julia set is.
    let parameters = if material == "fractal" { "\"texture uv\" \"uv\"" } else { "" };
    let mut text = format!(
        r#"# lightcuts: {lights} point lights, material {material}
Scale -1 1 1
LookAt 0 -10 5  0 0 0.6  0 0 1
Camera "perspective" "float fov" 36
Film "rgb" "integer xresolution" {columns} "integer yresolution" {rows}
Sampler "zsobol" "integer pixelsamples" 1
PixelFilter "box"
Integrator "lightcuts" "integer maxdepth" 1
WorldBegin
Texture "uv" "spectrum" "imagemap" "string filename" "{uv}" "string encoding" "linear" "string wrap" "clamp"
  "float uscale" 0.5 "float vscale" 0.5 "float udelta" 0.25 "float vdelta" 0.25
Material "shader" "string filename" "{material}.wgsl" {parameters}
"#
    );
    let s = GROUND_HALF_WIDTH;
    write_patches(
        &mut text,
        &[[vec3(-s, -s, 0.0), vec3(s, -s, 0.0), vec3(-s, s, 0.0), vec3(s, s, 0.0)]],
    );
    for (c, radius) in SPHERES {
        let [x, y, z] = c.to_array();
        let _ = writeln!(
            text,
            "AttributeBegin Translate {x} {y} {z} Shape \"sphere\" \"float radius\" {radius} \
             AttributeEnd"
        );
    }
    BOXES.iter().for_each(|corners| write_patches(&mut text, &faces(corners)));
    for i in 0..lights {
        let ([x, y, z], [r, g, b]) =
            (light_position(i).to_array(), intensity(i, lights).to_array());
        let _ = writeln!(
            text,
            "LightSource \"point\" \"rgb I\" [{r} {g} {b}] \"point3 from\" [{x} {y} {z}]"
        );
    }
    text
}

/// Writes rectangles as one shape.
fn write_patches(text: &mut String, patches: &[[Vec3; 4]]) {
    let indices: Vec<String> = (0..4 * patches.len()).map(|i| i.to_string()).collect();
    let points: Vec<String> =
        patches.as_flattened().iter().map(|p| format!("{} {} {}", p.x, p.y, p.z)).collect();
    let (indices, points) = (indices.join(" "), points.join("  "));
    let _ = writeln!(
        text,
        "Shape \"bilinearmesh\" \"integer indices\" [{indices}] \"point3 P\" [{points}]"
    );
}

/// Returns the six faces of a box.
fn faces(corners: &[Vec3; 2]) -> Vec<[Vec3; 4]> {
    let mut faces = vec![];
    for axis in 0..3 {
        for end in 0..2 {
            let corner = |u: usize, v: usize| {
                let mut p = corners[end];
                p[(axis + 1) % 3] = corners[u][(axis + 1) % 3];
                p[(axis + 2) % 3] = corners[v][(axis + 2) % 3];
                p
            };
            faces.push([corner(0, 0), corner(1, 0), corner(0, 1), corner(1, 1)]);
        }
    }
    faces
}

/// Returns the distance to the nearest surface; negative inside spheres, 0 inside boxes.
fn distance(p: Vec3) -> f32 {
    let spheres = SPHERES.iter().map(|(centre, radius)| p.distance(*centre) - radius);
    let boxes = BOXES.iter().map(|[lo, hi]| (*lo - p).max(p - *hi).max(Vec3::ZERO).length());
    spheres.chain(boxes).fold(p.z, f32::min)
}

/// Returns random number k of light i, in [0, 1).
fn random_number(i: u32, k: u32) -> f32 {
    unit_float(hash(hash(hash(0, i), k), i))
}

/// Returns the position of light i, by rejection sampling.
fn light_position(i: u32) -> Vec3 {
    let candidates = (1..).map(|k| {
        let u =
            vec3(random_number(i, 3 * k), random_number(i, 3 * k + 1), random_number(i, 3 * k + 2));
        LIGHT_REGION[0] + (LIGHT_REGION[1] - LIGHT_REGION[0]) * u
    });
    let [min, max] = LIGHT_DISTANCES;
    let accepted = candidates.take(10_000).find(|&p| (min..=max).contains(&distance(p)));
    accepted.expect("most of the region is close to a surface")
}

/// Returns the intensity of light i: warm to cold colours, with 0.5 to 1.5 times the mean
/// intensity.
fn intensity(i: u32, lights: u32) -> Vec3 {
    let colour = vec3(1.0, 0.75, 0.5).lerp(vec3(0.6, 0.8, 1.0), random_number(i, 0));
    colour * (0.5 + random_number(i, 1)) * (TOTAL_INTENSITY / lights as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lights_are_near_surfaces_but_not_inside() {
        assert_eq!(distance(SPHERES[0].0), -SPHERES[0].1);
        assert_eq!(distance(vec3(0.5, -3.5, 0.3)), 0.0);
        let positions: Vec<Vec3> = (0..500).map(light_position).collect();
        assert!(positions.iter().all(|&p| (0.2..=3.0).contains(&distance(p))));
        let behind = positions.iter().filter(|p| p.y > BOXES[5][1].y).count();
        assert!((25..150).contains(&behind), "{behind} lights are behind the wall");
    }

    #[test]
    fn total_intensity_does_not_depend_on_number_of_lights() {
        for lights in [100, 3000] {
            let sum: Vec3 = (0..lights).map(|i| intensity(i, lights)).sum();
            let mean = TOTAL_INTENSITY * vec3(0.8, 0.775, 0.75);
            assert!((sum / mean - 1.0).abs().max_element() < 0.1, "{sum}");
        }
    }
}
