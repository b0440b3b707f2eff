//! Dynamic bounds assumptions: a fast bounding shader for what inputs mostly are, and one for what
//! else they may be (Clarberg et al. 2010 §4.5).
//!
//! The less inputs can be, the cheaper the code. Versions of a bounding shader are compiled for one
//! set of assumptions after another, each wider than the one before, and boxes are bounded by the
//! first whose assumptions they meet. All versions compute the same bounds, but for what depends on
//! NaN and on the zeros that the assumptions leave out. In related code, those of narrower
//! assumptions may be tighter.

use crate::bounding::{BoundingKernel, Boxes, Integrand, Limits};
use crate::jit::Arena;
use crate::kernel::CompileError;
use crate::lift::{Input, Options};
use crate::target::Target;
use crate::texture::Texture;

/// Versions of one bounding shader.
#[derive(Clone, Debug)]
pub struct Versions(Vec<Version>);

#[derive(Clone, Debug)]
struct Version {
    inputs: Vec<Input>,
    kernel: BoundingKernel,
}

impl Versions {
    /// Compiles a version for each description of the inputs, narrow ones first; the last one must
    /// hold for all boxes.
    ///
    /// *Panics* if there is no description at all, or if two do not have the same inputs as
    /// intervals.
    pub fn compile(
        arena: &Arena,
        integrand: &Integrand,
        assumptions: &[Vec<Input>],
        options: &Options,
        target: Target,
    ) -> Result<Versions, CompileError> {
        assert!(!assumptions.is_empty(), "there is a version");
        let version = |inputs: &Vec<Input>| {
            let alike =
                std::iter::zip(inputs, &assumptions[0]).all(|(a, b)| a.interval == b.interval);
            assert!(alike, "all versions have the same inputs as intervals");
            let kernel = BoundingKernel::compile(arena, &integrand.bound(inputs, options), target)?;
            Ok(Version { inputs: inputs.clone(), kernel })
        };
        Ok(Versions(assumptions.iter().map(version).collect::<Result<_, CompileError>>()?))
    }

    /// The most general version, for which boxes and limits are made; they fit all.
    pub fn general(&self) -> &BoundingKernel {
        &self.0[self.0.len() - 1].kernel
    }

    /// Number of the version that bounds boxes: the first whose assumptions all of them meet.
    pub fn select(&self, boxes: &Boxes) -> usize {
        let meet = |version: &Version| {
            version.inputs.iter().enumerate().all(|(k, input)| boxes.are_within(k, &input.bounds))
        };
        self.0[..self.0.len() - 1].iter().position(meet).unwrap_or(self.0.len() - 1)
    }

    /// Bounds all boxes, by one version.
    ///
    /// *Panics* as [`BoundingKernel::run`] does.
    pub fn run(&self, textures: &[&Texture], boxes: &Boxes, limits: &mut Limits) {
        self.0[self.select(boxes)].kernel.run(textures, boxes, limits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounding::{Frame, Ranges, Spans};
    use crate::{Settings, Shader};

    #[test]
    fn boxes_go_to_the_first_version_that_holds_for_them() {
        let source = "struct Material { k: f32 }
            fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return vec3f(m.k * (wi.x + 2.0), m.k * wi.y, wi.z / m.k); }";
        let shader = Shader::parse("k.wgsl", source).expect("the shader is right");
        let integrand =
            Integrand::new(&shader, &Settings::default(), Frame::Local).expect("it compiles");
        let any = integrand.inputs(Spans::All, Ranges::Declared);
        let assumed = |low: f32, high: f32| {
            let mut inputs = any.clone();
            inputs[6].bounds =
                crate::analysis::Bounds::Float(crate::analysis::Floats::between(low, high));
            inputs
        };
        let assumptions = [assumed(1.0, 2.0), assumed(0.5, f32::INFINITY), any.clone()];
        for target in Target::ALL.into_iter().filter(|target| target.is_available()) {
            let versions = Versions::compile(
                &Arena::new(),
                &integrand,
                &assumptions,
                &Options::default(),
                target,
            );
            let versions = versions.expect("the target is available");
            let general = Versions::compile(
                &Arena::new(),
                &integrand,
                &assumptions[2..],
                &Options::default(),
                target,
            );
            let general = general.expect("the target is available");
            for (k, expected) in
                [([1.0, 2.0], 0), ([1.0, 3.0], 1), ([-1.0, 2.0], 2), ([f32::NEG_INFINITY, 2.0], 2)]
            {
                // A group and a half; the last one decides.
                let rows = target.lanes() * 3 / 2;
                let mut boxes = Boxes::new(versions.general(), rows);
                for row in 0..rows {
                    for (input, ends) in
                        [[-0.5, 0.25], [0.0, 0.5], [0.5, 1.0], [0.0, 0.0], [0.0, 0.0], [1.0, 1.0]]
                            .iter()
                            .enumerate()
                    {
                        boxes.set(row, input, *ends);
                    }
                    boxes.set(row, 6, if row + 1 == rows { k } else { [1.5, 1.5] });
                }
                assert_eq!(versions.select(&boxes), expected, "{k:?}");
                let (mut limits, mut others) =
                    (Limits::new(versions.general(), rows), Limits::new(general.general(), rows));
                versions.run(&[], &boxes, &mut limits);
                general.run(&[], &boxes, &mut others);
                for (row, output) in
                    (0..rows).flat_map(|row| (0..3).map(move |output| (row, output)))
                {
                    assert_eq!(limits.get(row, output), others.get(row, output), "{k:?}, {target}");
                }
            }
        }
    }
}
