//! Test support: random unit vectors in floats, boxes around them, and materials bounded with and
//! without relations.

use super::{Axis, MAX_UNIT_COMPONENT, RelationInfo, Relations, UNIT_LENGTH_SLACK, run};
use crate::analysis::conditions::Clips;
use crate::analysis::{Constraint, solve};
use crate::bounding::{
    BoundingKernel, BoundsBatch, BoxBatch, Frame, Integrand, IntervalInputs, Ranges,
};
use crate::interval::{Bounds, Floats, Nan};
use crate::ir::Function;
use crate::ir::text::parse;
use crate::lift::{self, BoundSides, Input, Lifted, Options, classify};
use crate::random::Random;
use crate::{Arena, Settings, Shader, Target, interpreter};

/// A random vector in floats. The precondition barely allows its length, which is below or above 1,
/// or it is as close to 1 as floats allow.
pub fn nearly_unit(random: &mut Random, close_to: Option<[f32; 3]>) -> [f32; 3] {
    loop {
        let scale = *random.pick(&[1.0, 1e-1, 1e-3]);
        let mut component = || random.below(2_000_001) as f64 / 1e6 - 1.0;
        let v = [component(), component(), component()];
        let v = match close_to {
            Some(center) => [0, 1, 2].map(|k| f64::from(center[k]) + scale * v[k]),
            None => v,
        };
        let length = libm::sqrt(v.iter().map(|x| x * x).sum());
        if length < 1e-3 {
            continue;
        }
        let target_length = libm::sqrt(1.0 + UNIT_LENGTH_SLACK * *random.pick(&[-0.99, 0.0, 0.99]));
        let v = v.map(|x| (x / length * target_length) as f32);
        if (dot(v, v) - 1.0).abs() <= UNIT_LENGTH_SLACK {
            return v;
        }
    }
}

fn dot(a: [f32; 3], b: [f32; 3]) -> f64 {
    std::iter::zip(a, b).map(|(a, b)| f64::from(a) * f64::from(b)).sum()
}

/// A random box around a vector: wide, narrow, or a single point.
pub fn box_around(random: &mut Random, v: [f32; 3]) -> [[f32; 2]; 3] {
    let max_width = *random.pick(&[0.0, 1e-7, 1e-3, 0.1, 1.0]);
    v.map(|x| {
        let far = [(); 2].map(|()| max_width * (random.below(1000) as f32 / 1000.0));
        [(x - far[0]).max(-MAX_UNIT_COMPONENT), (x + far[1]).min(MAX_UNIT_COMPONENT)]
    })
}

/// Random members of a box, at multiples of 1/`steps` of its sides.
pub fn members<const N: usize>(
    random: &mut Random,
    endpoints: [[f32; 2]; N],
    count: usize,
    steps: usize,
) -> Vec<[f32; N]> {
    let mut member = |[lo, hi]: [f32; 2]| {
        let t = random.below(steps + 1) as f32 / steps as f32;
        (lo + t * (hi - lo)).clamp(lo, hi)
    };
    (0..count).map(|_| endpoints.map(&mut member)).collect()
}

/// Declares inputs as the components of `vectors` unit vectors.
pub fn axes(vectors: usize) -> Vec<Option<Axis>> {
    let axis = |input: usize| {
        Some(Axis { vector: input / 3, component: input % 3, frame: false, above: false })
    };
    (0..3 * vectors).map(axis).collect()
}

/// Finds relations in a function if all inputs are intervals.
pub fn related(point: &Function, axes: &[Option<Axis>], relations: Relations) -> RelationInfo {
    let is_interval = classify::classify(point, &vec![true; axes.len()]);
    let unit = Bounds::Float(Floats::between(-MAX_UNIT_COMPONENT, MAX_UNIT_COMPONENT));
    let solve = |constraints: &[Constraint]| {
        solve::Ranges::solve(
            point,
            &is_interval,
            &vec![unit; axes.len()],
            Nan::Propagate,
            solve::Facts { constraints: Some(constraints.to_vec()), ..solve::Facts::default() },
        )
    };
    run(point, &is_interval, axes, vec![], relations, Nan::Propagate, &Clips::default(), solve)
}

/// A function and its bounding shader.
pub struct Bounder {
    lifted: Lifted,
    nan: Nan,
}

impl Bounder {
    /// Compiles a text, with all inputs intervals within ±[`MAX_UNIT_COMPONENT`].
    pub fn new(text: &str, axes: &[Option<Axis>], relations: Relations, nan: Nan) -> Bounder {
        let point = parse(text).expect("the text is well formed");
        let unit = Bounds::Float(Floats::between(-MAX_UNIT_COMPONENT, MAX_UNIT_COMPONENT));
        let inputs: Vec<_> = axes
            .iter()
            .map(|&axis| Input { interval: true, bounds: unit, axis, sorted: None })
            .collect();
        let outputs: Vec<_> = (0..point.outputs.len()).collect();
        let options = Options { sides: BoundSides::Both, nan, relations, ..Options::default() };
        Bounder { lifted: lift::run(&point, &inputs, &outputs, &options), nan }
    }

    /// Returns bounds on the outputs. Panics unless they contain the outputs for all members.
    pub fn run<'a, M: AsRef<[f32]> + ?Sized + 'a>(
        &self,
        endpoints: &[[f32; 2]],
        members: impl IntoIterator<Item = &'a M>,
    ) -> Vec<[f32; 2]> {
        let words: Vec<_> = endpoints.iter().flatten().map(|end| end.to_bits()).collect();
        let bounds =
            interpreter::run(&self.lifted.function, &[], &words, 1).expect("there is no loop");
        let bounds: Vec<_> = bounds
            .chunks(2)
            .map(|endpoints| [endpoints[0], endpoints[1]].map(f32::from_bits))
            .collect();
        for member in members {
            let words: Vec<_> = member.as_ref().iter().map(|x| x.to_bits()).collect();
            let values =
                interpreter::run(&self.lifted.point, &[], &words, 1).expect("there is no loop");
            for (k, (value, [lo, hi])) in
                std::iter::zip(values.into_iter().map(f32::from_bits), bounds.iter().copied())
                    .enumerate()
            {
                let message = format!(
                    "output {k} of {:?} in {endpoints:?}: {value} is not in [{lo}, {hi}], {:?}",
                    member.as_ref(),
                    self.nan
                );
                match self.nan {
                    Nan::Propagate if value.is_nan() => {
                        assert!(!(lo > f32::NEG_INFINITY || hi < f32::INFINITY), "{message}")
                    }
                    Nan::Suppress => assert!(!lo.is_nan() && !hi.is_nan(), "{message}"),
                    _ => {}
                }
                assert!(!(value < lo || hi < value), "{message}");
            }
        }
        bounds
    }
}

/// Comparison of a material's bounds with and without relations, over boxes around light directions
/// that satisfy the precondition.
#[derive(Clone, Copy, Debug, Default)]
pub struct Comparison {
    /// Number of results of members that were checked.
    pub members: usize,
    /// Number of bounds that are finite with relations.
    pub boxes: usize,
    /// Number of these that are infinite without relations.
    pub unbounded: usize,
    /// Mean of log₂ of the ratio of upper bounds, without relations to with relations.
    pub gain: f64,
}

/// Checks results against bounds with relations, and these against bounds without. Panics if a
/// result is not within bounds, or if bounds are wider with relations.
pub fn compare(
    source: &str,
    frame: Frame,
    nan: Nan,
    relations: Relations,
    degrees: f64,
    boxes: usize,
) -> Comparison {
    let shader = Shader::parse("test.wgsl", source).expect("the shader is valid");
    let integrand =
        Integrand::new(&shader, &Settings::default(), frame).expect("the shader compiles");
    let inputs = integrand.inputs(IntervalInputs::Light, Ranges::Declared);
    let kernels = [Relations::NONE, relations].map(|relations| {
        let lifted = integrand.bound(
            &inputs,
            &Options { sides: BoundSides::Both, nan, relations, ..Options::default() },
        );
        BoundingKernel::compile(&Arena::new(), &lifted, Target::best())
            .expect("the target is available")
    });
    let mut random = Random::new(23);
    let mut comparison = Comparison::default();
    for _ in 0..boxes {
        let (endpoints, members) = random_light_box(&mut random, frame, degrees, inputs.len());
        let bounds = kernels.each_ref().map(|kernel| {
            let (mut boxes, mut limits) = (BoxBatch::new(kernel, 1), BoundsBatch::new(kernel, 1));
            endpoints
                .iter()
                .enumerate()
                .for_each(|(input, &endpoints)| boxes.set(0, input, endpoints));
            kernel.run(&[], &boxes, &mut limits);
            [0, 1, 2].map(|output| limits.get(0, output))
        });
        let mut is_exempt = false;
        for member in &members {
            let words: Vec<_> = member.iter().map(|x| x.to_bits()).collect();
            let values =
                interpreter::run(&integrand.point, &[], &words, 1 << 20).expect("loops terminate");
            for (k, value) in values.into_iter().map(f32::from_bits).enumerate() {
                let [plain, tight] = [0, 1].map(|index| bounds[index][k]);
                // Bounds of code that ignores NaN are meaningless if a NaN occurs.
                is_exempt |=
                    nan == Nan::Ignore && (value.is_nan() || plain.iter().any(|end| end.is_nan()));
                let within = !(value < tight[0] || tight[1] < value);
                let reports_nan = nan != Nan::Propagate
                    || !value.is_nan()
                    || !(tight[0] > f32::NEG_INFINITY || tight[1] < f32::INFINITY);
                assert!(
                    is_exempt || within && reports_nan,
                    "{value} of {member:?} in {endpoints:?} is not in {tight:?}, {plain:?}, {nan:?}"
                );
                comparison.members += usize::from(!is_exempt);
            }
        }
        for [plain, tight] in [0, 1, 2].map(|k| [bounds[0][k], bounds[1][k]]) {
            let wider = tight[0] < plain[0] || plain[1] < tight[1];
            assert!(
                is_exempt || !wider,
                "{tight:?} is wider than {plain:?} for {endpoints:?}, {nan:?}"
            );
            if tight[1].is_finite() && tight[1] > 1e-6 {
                comparison.boxes += 1;
                comparison.unbounded += usize::from(!plain[1].is_finite());
                let max =
                    if plain[1].is_finite() { f64::from(plain[1]) } else { f64::from(f32::MAX) };
                comparison.gain += libm::log2(max / f64::from(tight[1]));
            }
        }
    }
    comparison.gain /= comparison.boxes.max(1) as f64;
    comparison
}

/// A random box of light directions within some degrees, with other inputs as singletons, and
/// members that satisfy the precondition. Parameters are 0.5.
fn random_light_box(
    random: &mut Random,
    frame: Frame,
    degrees: f64,
    inputs: usize,
) -> (Vec<[f32; 2]>, Vec<Vec<f32>>) {
    let [t, b, n] = loop {
        let [n, other] = [(); 2].map(|()| nearly_unit(random, None).map(f64::from));
        let t = normalized(cross(n, other));
        let frame_axes = [t, cross(n, t), n].map(|axis| axis.map(|x| x as f32));
        let is_orthonormal = |i: usize, j: usize| {
            (dot(frame_axes[i], frame_axes[j]) - f64::from(u8::from(i == j))).abs()
                <= UNIT_LENGTH_SLACK
        };
        if (0..9).all(|k| is_orthonormal(k / 3, k % 3)) {
            break frame_axes;
        }
    };
    let world = frame == Frame::World;
    let normal = if world { n } else { [0.0, 0.0, 1.0] };
    let upper = |random: &mut Random, close_to| loop {
        let v = nearly_unit(random, close_to);
        if (v[0] * normal[0] + v[1] * normal[1]) + v[2] * normal[2] >= 1e-3 {
            break v;
        }
    };
    let wo = upper(random, None);
    let mirrored =
        [0, 1, 2].map(|k| (2.0 * dot(wo, normal) * f64::from(normal[k]) - f64::from(wo[k])) as f32);
    let near = *random.pick(&[None, Some(mirrored), Some(wo), Some(wo.map(|x| -x))]);
    let wi =
        if near == Some(wo.map(|x| -x)) { nearly_unit(random, near) } else { upper(random, near) };
    let radius = (degrees.to_radians() * (random.below(1000) as f64 / 1000.0)) as f32;
    let mut endpoints: Vec<_> = wi
        .map(|x| [(x - radius).max(-MAX_UNIT_COMPONENT), (x + radius).min(MAX_UNIT_COMPONENT)])
        .to_vec();
    let singletons = wo.into_iter().chain([n, t, b].into_iter().flatten().filter(|_| world));
    endpoints.extend(singletons.map(|x| [x; 2]));
    endpoints.resize(inputs, [0.5; 2]);
    let mut lights = vec![wi];
    for _ in 0..40 {
        let w = [0, 1, 2].map(|k| {
            f64::from(wi[k]) + f64::from(radius) * (random.below(2001) as f64 / 1000.0 - 1.0)
        });
        let w = normalized(w).map(|x| x as f32);
        if (0..3).all(|k| endpoints[k][0] <= w[k] && w[k] <= endpoints[k][1])
            && (dot(w, w) - 1.0).abs() <= UNIT_LENGTH_SLACK
        {
            lights.push(w);
        }
    }
    let member = |light: [f32; 3]| {
        light.into_iter().chain(endpoints[3..].iter().map(|endpoints| endpoints[0])).collect()
    };
    let members = lights.into_iter().map(member).collect();
    (endpoints, members)
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn normalized(v: [f64; 3]) -> [f64; 3] {
    let length = libm::sqrt(v.iter().map(|x| x * x).sum());
    v.map(|x| x / length)
}
