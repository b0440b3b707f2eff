//! Animations: transforms of nodes and weights of morph targets at a point in time.

use crate::document::{Document, label};
use crate::schema::AnimationSampler;
use glam::{DQuat, DVec3};
use lightbound_pbrt::SceneError;

/// What animations change of a node.
#[derive(Clone, Default)]
pub(crate) struct Pose {
    pub translation: Option<DVec3>,
    pub rotation: Option<DQuat>,
    pub scale: Option<DVec3>,
    pub weights: Option<Vec<f32>>,
}

/// The animation to evaluate.
pub(crate) fn find(document: &Document, name: Option<&str>) -> Result<usize, SceneError> {
    let animations = &document.root.animations;
    let found = match name {
        None => (!animations.is_empty()).then_some(0),
        Some(name) => animations
            .iter()
            .position(|animation| animation.name.as_deref() == Some(name))
            .or_else(|| name.parse().ok().filter(|&index| index < animations.len())),
    };
    found.ok_or_else(|| {
        let problem = match name {
            None => "has no animation for --time".to_string(),
            Some(name) => format!("has no animation \"{name}\""),
        };
        let names = (0..).zip(animations).map(|(i, a)| label("animation", i, a.name.as_deref()));
        let names: Vec<String> = names.collect();
        let remedy = match names.as_slice() {
            [] => "remove the option".to_string(),
            names => format!("the file has {}", names.join(", ")),
        };
        document.error("the document", problem).help(remedy)
    })
}

/// Evaluates an animation at a time in seconds, and returns the poses of all nodes. Before the first
/// and after the last keyframe, it rests.
pub(crate) fn evaluate(
    document: &Document,
    index: usize,
    time: f64,
) -> Result<Vec<Pose>, SceneError> {
    let mut poses = vec![Pose::default(); document.root.nodes.len()];
    let animation = &document.root.animations[index];
    let name = label("animation", index, animation.name.as_deref());
    for (i, channel) in animation.channels.iter().enumerate() {
        let user = format!("channel {i} of {name}");
        let Some(node) = channel.target.node else { continue };
        document.get(&document.root.nodes, "node", node, &user)?;
        let sampler = document.get(&animation.samplers, "sampler", channel.sampler, &user)?;
        let pose = &mut poses[node];
        match channel.target.path.as_str() {
            "translation" => {
                let [x, y, z] = three(document, sampler, time, &user)?;
                pose.translation = Some(DVec3::new(x, y, z));
            }
            "scale" => {
                let [x, y, z] = three(document, sampler, time, &user)?;
                pose.scale = Some(DVec3::new(x, y, z));
            }
            "rotation" => {
                let values = document.elements::<4>(sampler.output, &user)?;
                let value = sample(document, sampler, values.as_flattened(), time, &user, Some(4))?;
                let rotation = DQuat::from_slice(&value);
                if rotation.length_squared() == 0.0 {
                    let error = document.error(&user, "has a rotation of length 0");
                    return Err(error.help("export the asset again"));
                }
                pose.rotation = Some(rotation.normalize());
            }
            "weights" => {
                let values = document.elements::<1>(sampler.output, &user)?;
                let value = sample(document, sampler, values.as_flattened(), time, &user, None)?;
                pose.weights = Some(value.iter().map(|&x| x as f32).collect());
            }
            // Of KHR_animation_pointer, which is not supported.
            "pointer" => {}
            other => {
                let error = document.error(&user, format!("has the path \"{other}\""));
                return Err(error.help("the paths are translation, rotation, scale and weights"));
            }
        }
    }
    Ok(poses)
}

fn three(
    document: &Document,
    sampler: &AnimationSampler,
    time: f64,
    user: &str,
) -> Result<[f64; 3], SceneError> {
    let values = document.elements::<3>(sampler.output, user)?;
    let value = sample(document, sampler, values.as_flattened(), time, user, Some(3))?;
    Ok([value[0], value[1], value[2]])
}

/// Interpolates keyframes of equal size, which is given unless they are weights. Four numbers are a
/// rotation.
fn sample(
    document: &Document,
    sampler: &AnimationSampler,
    values: &[f64],
    time: f64,
    user: &str,
    size: Option<usize>,
) -> Result<Vec<f64>, SceneError> {
    let times = document.floats::<1>(sampler.input, user)?;
    let times: Vec<f64> = times.iter().map(|[t]| f64::from(*t)).collect();
    let interpolation = sampler.interpolation.as_deref().unwrap_or("LINEAR");
    let parts = match interpolation {
        "LINEAR" | "STEP" => 1,
        "CUBICSPLINE" => 3,
        other => {
            let error = document.error(user, format!("has the interpolation \"{other}\""));
            return Err(error.help("the interpolations are LINEAR, STEP and CUBICSPLINE"));
        }
    };
    let frames = times.len() * parts;
    let is_complete = match size {
        Some(size) => values.len() == frames * size,
        None => values.len().is_multiple_of(frames),
    };
    if times.is_empty() || values.is_empty() || !is_complete {
        let message = format!("has {} numbers for {} keyframes", values.len(), times.len());
        return Err(document.error(user, message).help("export the asset again"));
    }
    if values.iter().any(|x| !x.is_finite()) || !times.is_sorted_by(|a, b| a < b) {
        let message = "has values that are not finite, or times that do not ascend";
        return Err(document.error(user, message).help("export the asset again"));
    }
    let width = values.len() / frames;
    // The value of a keyframe: of its tangents, or the middle one of three.
    let part = |frame: usize, part: usize| {
        let start = (frame * parts + part) * width;
        &values[start..start + width]
    };
    let value = |frame: usize| part(frame, parts / 2);
    let next = times.partition_point(|&t| t <= time);
    if next == 0 || next == times.len() {
        return Ok(value(next.saturating_sub(1)).to_vec());
    }
    let (a, b) = (next - 1, next);
    let step = times[b] - times[a];
    let s = if step > 0.0 { (time - times[a]) / step } else { 0.0 };
    Ok(match interpolation {
        "STEP" => value(a).to_vec(),
        "CUBICSPLINE" => {
            let (s2, s3) = (s * s, s * s * s);
            let factors = [
                2.0 * s3 - 3.0 * s2 + 1.0,
                step * (s3 - 2.0 * s2 + s),
                -2.0 * s3 + 3.0 * s2,
                step * (s3 - s2),
            ];
            let terms = [part(a, 1), part(a, 2), part(b, 1), part(b, 0)];
            (0..width).map(|k| (0..4).map(|j| factors[j] * terms[j][k]).sum()).collect()
        }
        _ if size == Some(4) => {
            let (a, b) = (DQuat::from_slice(value(a)), DQuat::from_slice(value(b)));
            slerp(a, b, s).to_array().to_vec()
        }
        _ => std::iter::zip(value(a), value(b)).map(|(a, b)| a + s * (b - a)).collect(),
    })
}

/// Interpolates rotations along the shorter arc, with functions that are the same on all machines.
fn slerp(a: DQuat, b: DQuat, s: f64) -> DQuat {
    let dot = a.dot(b);
    let b = if dot < 0.0 { -b } else { b };
    let angle = libm::acos(dot.abs().min(1.0));
    let sine = libm::sin(angle);
    if sine < 1e-9 {
        return a + (b - a) * s;
    }
    a * (libm::sin((1.0 - s) * angle) / sine) + b * (libm::sin(s * angle) / sine)
}
