//! The scenes: a plain with balls, boxes and walls, all of one material with the library's
//! parameters, and point lights all around them.
//!
//! Lights are uniform in the air above the plain, at distances of 0.2 to 3 from the nearest
//! surface, including behind walls. The lights of a smaller scene are the first ones of a larger
//! scene, and the total intensity is constant. Coordinates are z-up.

use crate::materials;
use lightbound_math::sampling::{hash, unit_float};
use lightbound_math::{Vec3, vec3};
use std::fmt::Write;

/// Half the side of the plain.
const PLAIN: f32 = 8.0;

/// Centres and radii.
const BALLS: [(Vec3, f32); 7] = [
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
const AIR: [Vec3; 2] = [vec3(-PLAIN, -6.0, 0.2), vec3(PLAIN, 7.0, 3.2)];

/// Range of distances from lights to the nearest surface.
const DISTANCE: [f32; 2] = [0.2, 3.0];

/// Total intensity of all lights, W/sr.
const INTENSITY: f32 = 250.0;

/// Names of the materials.
pub fn names() -> Vec<&'static str> {
    materials::ALL.iter().map(|(name, _)| *name).collect()
}

/// Whether a material has a hand-derived bound.
pub fn has_hand_bounds(material: &str) -> bool {
    ["diffuse", "phong", "isoward", "ward"].contains(&material)
}

/// The scene file.
pub fn text(material: &str, lights: u32, (columns, rows): (u32, u32)) -> String {
    let uv = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenes/julia/uv.png");
    // The Julia set is in the middle of the unit square, which each surface shows.
    let parameters = if material == "fractal" { "\"texture uv\" \"uv\"" } else { "" };
    let mut text = format!(
        r#"# lightcuts: {lights} point lights about {material}
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
    let s = PLAIN;
    write_patches(
        &mut text,
        &[[vec3(-s, -s, 0.0), vec3(s, -s, 0.0), vec3(-s, s, 0.0), vec3(s, s, 0.0)]],
    );
    for (c, radius) in BALLS {
        let [x, y, z] = c.to_array();
        let _ = writeln!(
            text,
            "AttributeBegin Translate {x} {y} {z} Shape \"sphere\" \"float radius\" {radius} AttributeEnd"
        );
    }
    BOXES.iter().for_each(|ends| write_patches(&mut text, &sides(ends)));
    for i in 0..lights {
        let ([x, y, z], [r, g, b]) = (place(i).to_array(), intensity(i, lights).to_array());
        let _ = writeln!(
            text,
            "LightSource \"point\" \"rgb I\" [{r} {g} {b}] \"point3 from\" [{x} {y} {z}]"
        );
    }
    text
}

/// Rectangles, as one shape.
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

/// The six faces of a box.
fn sides(ends: &[Vec3; 2]) -> Vec<[Vec3; 4]> {
    let mut sides = vec![];
    for axis in 0..3 {
        for end in 0..2 {
            let corner = |u: usize, v: usize| {
                let mut p = ends[end];
                p[(axis + 1) % 3] = ends[u][(axis + 1) % 3];
                p[(axis + 2) % 3] = ends[v][(axis + 2) % 3];
                p
            };
            sides.push([corner(0, 0), corner(1, 0), corner(0, 1), corner(1, 1)]);
        }
    }
    sides
}

/// Signed distance to the nearest surface, not positive inside objects.
fn distance(p: Vec3) -> f32 {
    let balls = BALLS.iter().map(|(centre, radius)| p.distance(*centre) - radius);
    let boxes = BOXES.iter().map(|[lo, hi]| (*lo - p).max(p - *hi).max(Vec3::ZERO).length());
    balls.chain(boxes).fold(p.z, f32::min)
}

/// Random number k of light i, in [0, 1).
fn number(i: u32, k: u32) -> f32 {
    unit_float(hash(hash(hash(0, i), k), i))
}

/// Position of light i.
fn place(i: u32) -> Vec3 {
    let tries = (1..).map(|k| {
        let u = vec3(number(i, 3 * k), number(i, 3 * k + 1), number(i, 3 * k + 2));
        AIR[0] + (AIR[1] - AIR[0]) * u
    });
    let found = tries.take(10_000).find(|&p| (DISTANCE[0]..=DISTANCE[1]).contains(&distance(p)));
    found.expect("most of the region is close to a surface")
}

/// Colours from warm to cold, with 0.5 to 1.5 times the mean intensity.
fn intensity(i: u32, lights: u32) -> Vec3 {
    let colour = vec3(1.0, 0.75, 0.5).lerp(vec3(0.6, 0.8, 1.0), number(i, 0));
    colour * (0.5 + number(i, 1)) * (INTENSITY / lights as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lights_are_near_surfaces_but_not_in_them() {
        assert_eq!(distance(BALLS[0].0), -BALLS[0].1);
        assert_eq!(distance(vec3(0.5, -3.5, 0.3)), 0.0);
        let places: Vec<Vec3> = (0..500).map(place).collect();
        assert!(places.iter().all(|&p| (0.2..=3.0).contains(&distance(p))));
        let behind = places.iter().filter(|p| p.y > BOXES[5][1].y).count();
        assert!((25..150).contains(&behind), "{behind} behind the wall");
    }

    #[test]
    fn few_lights_are_as_bright_as_many() {
        for lights in [100, 3000] {
            let sum: Vec3 = (0..lights).map(|i| intensity(i, lights)).sum();
            let mean = INTENSITY * vec3(0.8, 0.775, 0.75);
            assert!((sum / mean - 1.0).abs().max_element() < 0.1, "{sum}");
        }
    }
}
