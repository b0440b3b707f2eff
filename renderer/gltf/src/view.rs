//! Cameras: those of the file, or one that frames the bounds of the scene, and the default lights,
//! which are placed relative to it.

use crate::Options;
use crate::document::{Document, label};
use crate::nodes::{Nodes, Transforms};
use crate::schema::Camera;
use crate::shapes::at_both_times;
use glam::{DAffine3, DVec3};
use lightbound_pbrt::SceneError;
use std::fmt::Write;

/// Directives of a camera.
pub(crate) struct View {
    pub text: String,
    /// Axes of the camera when the shutter opens.
    axes: [DVec3; 3],
}

/// Position and axes of a camera: right, up, and back.
#[derive(Clone, Copy)]
struct Frame {
    eye: DVec3,
    axes: [DVec3; 3],
}

/// Height of the film in pixels, or its width if it is narrower.
const SIZE: f64 = 720.0;

/// Aspect ratios of cameras.
const ASPECT_RATIOS: std::ops::Range<f64> = 0.01..100.0;

/// Field of view of the default camera, in degrees.
const DEFAULT_FOV: f64 = 30.0;

impl View {
    /// Creates the camera that the options select.
    pub fn new(
        document: &Document,
        nodes: &Nodes,
        options: &Options,
        bounds: Option<[DVec3; 2]>,
    ) -> Result<View, SceneError> {
        let name = options.camera.as_deref();
        let root = &document.root;
        let mut cameras = Vec::new();
        for &node in &nodes.order {
            let Some(index) = root.nodes[node].camera else { continue };
            let user = crate::nodes::node_label(document, node);
            let camera = document.get(&root.cameras, "camera", index, &user)?;
            cameras.push((node, index, camera));
        }
        if name == Some("auto") || name.is_none() && cameras.is_empty() {
            return Ok(View::framing(bounds));
        }
        let found = cameras.iter().position(|(node, index, camera)| match name {
            None => true,
            Some(name) => {
                camera.name.as_deref() == Some(name)
                    || root.nodes[*node].name.as_deref() == Some(name)
                    || name.parse() == Ok(*index)
            }
        });
        let Some(&(node, index, camera)) = found.map(|i| &cameras[i]) else {
            let names: Vec<String> = cameras
                .iter()
                .map(|(_, index, camera)| label("camera", *index, camera.name.as_deref()))
                .chain(["auto".to_string()])
                .collect();
            let problem = format!("has no camera \"{}\" in its scene", name.unwrap_or_default());
            let error = document.error("the document", problem);
            return Err(error.help(format!("give one of {}", names.join(", "))));
        };
        let user = label("camera", index, camera.name.as_deref());
        View::of_camera(document, camera, &user, nodes.world[node].unwrap_or_default())
    }

    fn of_camera(
        document: &Document,
        camera: &Camera,
        user: &str,
        transforms: Transforms,
    ) -> Result<View, SceneError> {
        let fail = |problem: &str, help: &str| document.error(user, problem).help(help);
        let frame = |transform: DAffine3| {
            let m = transform.matrix3;
            let axes = [m.x_axis, m.y_axis, m.z_axis].map(|axis| axis.try_normalize());
            let [Some(_), Some(up), Some(back)] = axes else {
                return Err(fail("has a node with a scale of 0", "give it another scale"));
            };
            // As in pbrt, up and direction make a frame. Scales have no effect.
            let Some(right) = up.cross(back).try_normalize() else {
                let help = "give it a transform without shear";
                return Err(fail("has a node without a frame", help));
            };
            Ok(Frame { eye: transform.translation, axes: [right, back.cross(right), back] })
        };
        let frames = [frame(transforms[0])?, frame(transforms[1])?];
        let (projection, aspect) =
            match (camera.kind.as_str(), &camera.perspective, &camera.orthographic) {
                ("perspective", Some(perspective), _) => {
                    let aspect = perspective.aspect_ratio.unwrap_or(16.0 / 9.0);
                    let yfov = perspective.yfov;
                    if !(yfov > 0.0 && yfov < std::f64::consts::PI) {
                        let help = "give an angle below 180°";
                        return Err(fail("has an invalid field of view", help));
                    }
                    if !ASPECT_RATIOS.contains(&aspect) {
                        let help = "give one from 0.01 to 100";
                        return Err(fail("has an invalid aspect ratio", help));
                    }
                    // The angle of pbrt is that of the shorter axis.
                    let tangent = libm::tan(0.5 * yfov) * aspect.min(1.0);
                    let fov = 2.0 * libm::atan(tangent).to_degrees();
                    (format!("\"perspective\" \"float fov\" {}", fov as f32), aspect)
                }
                ("orthographic", _, Some(orthographic)) => {
                    let (x, y) = (orthographic.xmag.abs(), orthographic.ymag.abs());
                    if !(x > 0.0 && y > 0.0 && ASPECT_RATIOS.contains(&(x / y))) {
                        let help = "give numbers above 0, with a ratio from 0.01 to 100";
                        return Err(fail("has an invalid magnification", help));
                    }
                    let window = format!("[{} {x} {} {y}]", -x, -y);
                    (format!("\"orthographic\" \"float screenwindow\" {window}"), x / y)
                }
                ("perspective" | "orthographic", ..) => {
                    let problem = format!("has no object \"{}\"", camera.kind);
                    let help = "export the asset again, or render with --camera auto";
                    return Err(fail(&problem, help));
                }
                (other, ..) => {
                    let help =
                        "the types are perspective and orthographic; or render with --camera auto";
                    return Err(fail(&format!("has the type \"{other}\""), help));
                }
            };
        Ok(View::written(frames, 1.0, &projection, aspect))
    }

    /// Frames a box, from the front, a little from the right and from above.
    fn framing(bounds: Option<[DVec3; 2]>) -> View {
        let [min, max] = bounds.unwrap_or([DVec3::NEG_ONE, DVec3::ONE]);
        let back = DVec3::new(0.4, 0.3, 1.0).normalize();
        let right = DVec3::Y.cross(back).normalize();
        let up = back.cross(right);
        let centre = 0.5 * (min + max);
        let tangent = libm::tan(0.5 * DEFAULT_FOV.to_radians());
        // The distance at which all corners are within a square in the middle of the picture.
        let mut distance = 0.0f64;
        for corner in 0..8 {
            let pick = |axis: usize| if corner >> axis & 1 == 0 { min[axis] } else { max[axis] };
            let offset = DVec3::new(pick(0), pick(1), pick(2)) - centre;
            let side = offset.dot(right).abs().max(offset.dot(up).abs());
            distance = distance.max(side / tangent + offset.dot(back));
        }
        let distance = if distance > 0.0 { 1.05 * distance } else { 1.0 };
        let projection = format!("\"perspective\" \"float fov\" {DEFAULT_FOV}");
        let frame = Frame { eye: centre + distance * back, axes: [right, up, back] };
        View::written([frame; 2], distance, &projection, 4.0 / 3.0)
    }

    /// Writes a camera with its frames when the shutter opens and closes.
    fn written(frames: [Frame; 2], distance: f64, projection: &str, aspect: f64) -> View {
        let list = |v: DVec3| format!("{} {} {}", clean(v.x), clean(v.y), clean(v.z));
        let look_at = |Frame { eye, axes: [_, up, back] }: Frame| {
            let target = eye - distance * back;
            format!("LookAt {}  {}  {}\n", list(eye), list(target), list(up))
        };
        // The world of glTF is right-handed, and so must the camera be.
        let mut text = String::from("Scale -1 1 1\n");
        text += &at_both_times(frames.map(look_at));
        let _ = writeln!(text, "Camera {projection}");
        let size = [SIZE * aspect.max(1.0), SIZE / aspect.min(1.0)];
        let [width, height] = size.map(|x| x.round());
        let _ = writeln!(
            text,
            "Film \"rgb\" \"integer xresolution\" {width} \"integer yresolution\" {height}"
        );
        View { text, axes: frames[0].axes }
    }

    /// Returns a rig of lights: uniform light from everywhere, and a light from the upper left.
    pub fn default_lights(&self) -> String {
        let [right, up, back] = self.axes;
        let from = -0.5 * right + 0.8 * up + 0.6 * back;
        let [x, y, z] = from.to_array().map(clean);
        format!(
            "# Default lights, since the asset has none.\n\
             LightSource \"infinite\" \"rgb L\" [0.5 0.5 0.5]\n\
             LightSource \"distant\" \"rgb L\" [1.5 1.5 1.5]\n  \
             \"point3 from\" [{x} {y} {z}] \"point3 to\" [0 0 0]\n\n"
        )
    }
}

/// A number to write: without noise where it is 0.
pub(crate) fn clean(x: f64) -> f64 {
    if x.abs() < 1e-12 { 0.0 } else { x }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_camera_frames_the_bounds() {
        let view = View::framing(Some([DVec3::new(-1.0, 0.0, -2.0), DVec3::new(3.0, 1.0, 0.5)]));
        let numbers: Vec<f64> = view.text.lines().nth(1).unwrap()["LookAt ".len()..]
            .split_whitespace()
            .map(|x| x.parse().unwrap())
            .collect();
        let (eye, target) = (DVec3::from_slice(&numbers), DVec3::from_slice(&numbers[3..]));
        assert!((target - DVec3::new(1.0, 0.5, -0.75)).length() < 1e-9);
        let forward = (target - eye).normalize();
        let [right, up, _] = view.axes;
        let tangent = libm::tan(0.5 * DEFAULT_FOV.to_radians());
        let mut largest = 0.0f64;
        for x in [-1.0, 3.0] {
            for y in [0.0, 1.0] {
                for z in [-2.0, 0.5] {
                    let offset = DVec3::new(x, y, z) - eye;
                    let depth = offset.dot(forward);
                    let side = offset.dot(right).abs().max(offset.dot(up).abs());
                    largest = largest.max(side / (depth * tangent));
                }
            }
        }
        assert!(largest < 1.0 && largest > 0.85, "{largest}");
    }
}
