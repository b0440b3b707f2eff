//! Animations: transforms of nodes and weights of morph targets when the shutter opens and closes.

use crate::Options;
use crate::document::{Document, label};
use crate::schema::AnimationSampler;
use glam::{DQuat, DVec3};
use lightbound_pbrt::SceneError;
use std::iter::zip;

/// What animations change of a node.
#[derive(Clone, Default)]
pub(crate) struct Pose {
    pub translation: Option<DVec3>,
    pub rotation: Option<DQuat>,
    pub scale: Option<DVec3>,
    pub weights: Option<Vec<f32>>,
}

/// Returns the poses of all nodes when the shutter opens and when it closes; none without options
/// of animations.
pub(crate) fn poses(document: &Document, options: &Options) -> Result<[Vec<Pose>; 2], SceneError> {
    let option = match options {
        Options { time: Some(_), .. } => "--time",
        Options { shutter: Some(_), .. } => "--shutter",
        Options { animation: Some(_), .. } => "--animation",
        _ => return Ok([Vec::new(), Vec::new()]),
    };
    let animation = find(document, options.animation.as_deref(), option)?;
    let start = options.time.unwrap_or(0.0);
    let end = start + options.shutter.unwrap_or(0.0);
    if !(start <= end && end.is_finite()) {
        let error =
            document.error("the document", format!("has no motion from {start} to {end} s"));
        return Err(error.help("give a finite time, and a --shutter from 0 on"));
    }
    evaluate(document, animation, [start, end])
}

/// The animation to evaluate, which `option` needs.
fn find(document: &Document, name: Option<&str>, option: &str) -> Result<usize, SceneError> {
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
            None => format!("has no animation for {option}"),
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

/// Evaluates an animation at two times in seconds, and returns the poses of all nodes at both.
/// Before the first and after the last keyframe, it rests.
fn evaluate(
    document: &Document,
    index: usize,
    times: [f64; 2],
) -> Result<[Vec<Pose>; 2], SceneError> {
    let mut poses = [(); 2].map(|()| vec![Pose::default(); document.root.nodes.len()]);
    let animation = &document.root.animations[index];
    let name = label("animation", index, animation.name.as_deref());
    for (i, channel) in animation.channels.iter().enumerate() {
        let user = format!("channel {i} of {name}");
        let Some(node) = channel.target.node else { continue };
        document.get(&document.root.nodes, "node", node, &user)?;
        let sampler = document.get(&animation.samplers, "sampler", channel.sampler, &user)?;
        let vectors = || {
            let values = document.elements::<3>(sampler.output, &user)?;
            let curve = Curve::new(document, sampler, values.as_flattened(), &user, Some(3))?;
            Ok(curve.at_both(times).map(|value| DVec3::from_slice(&value)))
        };
        let both = poses.each_mut().map(|poses| &mut poses[node]);
        match channel.target.path.as_str() {
            "translation" => {
                zip(both, vectors()?).for_each(|(pose, value)| pose.translation = Some(value));
            }
            "scale" => {
                zip(both, vectors()?).for_each(|(pose, value)| pose.scale = Some(value));
            }
            "rotation" => {
                let values = document.elements::<4>(sampler.output, &user)?;
                let curve = Curve::new(document, sampler, values.as_flattened(), &user, Some(4))?;
                let values = curve.at_both(times).map(|value| DQuat::from_slice(&value));
                if values.iter().any(|rotation| rotation.length_squared() == 0.0) {
                    let error = document.error(&user, "has a rotation of length 0");
                    return Err(error.help("export the asset again"));
                }
                zip(both, values).for_each(|(pose, value)| pose.rotation = Some(value.normalize()));
            }
            "weights" => {
                let values = document.elements::<1>(sampler.output, &user)?;
                let curve = Curve::new(document, sampler, values.as_flattened(), &user, None)?;
                for (pose, value) in zip(both, curve.at_both(times)) {
                    pose.weights = Some(value.into_iter().map(|x| x as f32).collect());
                }
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

/// How a channel gets from keyframe to keyframe.
#[derive(Clone, Copy, PartialEq)]
enum Interpolation {
    Linear,
    Step,
    CubicSpline,
}

/// Keyframes of a channel.
struct Curve<'a> {
    interpolation: Interpolation,
    times: Vec<f64>,
    /// The values of all keyframes; for cubic splines, each is between its two tangents.
    values: &'a [f64],
    /// Length of a value.
    width: usize,
    is_rotation: bool,
}

impl<'a> Curve<'a> {
    /// Reads keyframes. The length of a value is given unless they are weights. Four numbers are a
    /// rotation.
    fn new(
        document: &Document,
        sampler: &AnimationSampler,
        values: &'a [f64],
        user: &str,
        size: Option<usize>,
    ) -> Result<Curve<'a>, SceneError> {
        let times = document.floats::<1>(sampler.input, user)?;
        let times: Vec<f64> = times.iter().map(|[t]| f64::from(*t)).collect();
        let interpolation = match sampler.interpolation.as_deref() {
            None | Some("LINEAR") => Interpolation::Linear,
            Some("STEP") => Interpolation::Step,
            Some("CUBICSPLINE") => Interpolation::CubicSpline,
            Some(other) => {
                let error = document.error(user, format!("has the interpolation \"{other}\""));
                return Err(error.help("the interpolations are LINEAR, STEP and CUBICSPLINE"));
            }
        };
        let curve = Curve { interpolation, times, values, width: 0, is_rotation: size == Some(4) };
        let frames = curve.times.len() * curve.parts();
        let is_complete = match size {
            Some(size) => values.len() == frames * size,
            None => frames > 0 && values.len().is_multiple_of(frames),
        };
        if curve.times.is_empty() || values.is_empty() || !is_complete {
            let message =
                format!("has {} numbers for {} keyframes", values.len(), curve.times.len());
            return Err(document.error(user, message).help("export the asset again"));
        }
        if values.iter().any(|x| !x.is_finite()) || !curve.times.is_sorted_by(|a, b| a < b) {
            let message = "has values that are not finite, or times that do not ascend";
            return Err(document.error(user, message).help("export the asset again"));
        }
        Ok(Curve { width: values.len() / frames, ..curve })
    }

    /// The number of values of a keyframe.
    fn parts(&self) -> usize {
        if self.interpolation == Interpolation::CubicSpline { 3 } else { 1 }
    }

    /// Returns the values when the shutter opens and closes. Steps do not move: a jump is not
    /// smeared over the time that the shutter is open.
    fn at_both(&self, [open, close]: [f64; 2]) -> [Vec<f64>; 2] {
        let close = if self.interpolation == Interpolation::Step { open } else { close };
        [open, close].map(|time| self.at(time))
    }

    fn at(&self, time: f64) -> Vec<f64> {
        let (times, parts, width) = (&self.times, self.parts(), self.width);
        // The value of a keyframe: of its tangents, or the middle one of three.
        let part = |frame: usize, part: usize| {
            let start = (frame * parts + part) * width;
            &self.values[start..start + width]
        };
        let value = |frame: usize| part(frame, parts / 2);
        let next = times.partition_point(|&t| t <= time);
        if next == 0 || next == times.len() {
            return value(next.saturating_sub(1)).to_vec();
        }
        let (a, b) = (next - 1, next);
        let step = times[b] - times[a];
        let s = if step > 0.0 { (time - times[a]) / step } else { 0.0 };
        match self.interpolation {
            Interpolation::Step => value(a).to_vec(),
            Interpolation::CubicSpline => {
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
            Interpolation::Linear if self.is_rotation => {
                let (a, b) = (DQuat::from_slice(value(a)), DQuat::from_slice(value(b)));
                slerp(a, b, s).to_array().to_vec()
            }
            Interpolation::Linear => {
                zip(value(a), value(b)).map(|(a, b)| a + s * (b - a)).collect()
            }
        }
    }
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
