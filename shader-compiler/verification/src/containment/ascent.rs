//! Local search for members of a box that minimize or maximize outputs.
//!
//! Violations are likeliest where a result is smallest or largest, and random members seldom come
//! close. For each output, the search minimizes and maximizes. It starts from the best member so
//! far and proposes one step per round: by some ulps, by a fraction of the box, to an endpoint, to
//! a kink, or halfway to another member. All proposals of a round are evaluated in one batch, and
//! all become members.

use super::Sample;
use super::boxes::{nudged, ordered};
use super::directions::UnitVectors;
use lightbound_shader::kernel::{Batch, Kernel};
use lightbound_shader::lift::Input;
use lightbound_shader::random::Random;
use lightbound_shader::target::Target;

/// A local search for extreme outputs of a point shader.
pub(super) struct LocalSearch<'a> {
    pub target: Target,
    pub point: &'a Kernel,
    pub inputs: &'a [Input],
    /// Indices of the outputs to maximize and minimize; all of them are floats.
    pub outputs: Vec<usize>,
    pub vectors: &'a UnitVectors,
    pub kinks: &'a [f32],
}

/// The best member so far for one objective: to minimize or maximize one output over one box.
struct BestMember {
    sample: usize,
    output: usize,
    /// −1 to minimize, 1 to maximize.
    sign: f64,
    words: Vec<u32>,
    value: f64,
    /// Whether all proposals must satisfy the precondition of related bounds, unit vectors.
    needs_unit_vectors: bool,
}

impl LocalSearch<'_> {
    /// Adds two members per round and output to each sample.
    pub fn run(&self, random: &mut Random, rounds: usize, samples: &mut [Sample]) {
        let mut all = self.initial_members(random, samples);
        for _ in 0..rounds {
            let proposals: Vec<_> =
                all.iter().map(|best| self.propose(random, best, &samples[best.sample])).collect();
            let values = self.evaluate(&proposals);
            for (row, (best, words)) in std::iter::zip(&mut all, proposals).enumerate() {
                let value = best.sign * f64::from(values.get(row, best.output));
                if value >= best.value {
                    (best.value, best.words) = (value, words.clone());
                }
                samples[best.sample].members.push(words);
            }
        }
    }

    fn evaluate(&self, rows: &[Vec<u32>]) -> Batch {
        let mut inputs = Batch::new(self.target, self.point.inputs().len(), rows.len());
        rows.iter().enumerate().for_each(|(row, words)| inputs.set_row(row, 0, words));
        let mut outputs = Batch::new(self.target, self.point.outputs().len(), rows.len());
        self.point.run_on(&lightbound_shader::testing::random::tables(), &inputs, &mut outputs);
        outputs
    }

    /// Returns the best existing member for each objective.
    fn initial_members(&self, random: &mut Random, samples: &[Sample]) -> Vec<BestMember> {
        let rows: Vec<_> =
            samples.iter().flat_map(|sample| sample.members.iter().cloned()).collect();
        let values = self.evaluate(&rows);
        let (mut first, mut all) = (0, vec![]);
        for (index, sample) in samples.iter().enumerate() {
            let satisfies = |words: &Vec<u32>| {
                self.vectors.allow(&sample.endpoints) && self.vectors.satisfied_by(words)
            };
            let units: Vec<_> = sample.members.iter().map(satisfies).collect();
            let needs_unit_vectors =
                !self.vectors.is_empty() && units.contains(&true) && !random.once_in(4);
            for &output in &self.outputs {
                for sign in [-1.0, 1.0] {
                    let mut best: Option<(f64, usize)> = None;
                    for member in (0..sample.members.len())
                        .filter(|&member| !needs_unit_vectors || units[member])
                    {
                        let value = sign * f64::from(values.get(first + member, output));
                        if best.is_none_or(|(max, _)| value > max || max.is_nan()) {
                            best = Some((value, member));
                        }
                    }
                    let Some((value, member)) = best else { continue };
                    let value = if value.is_nan() { f64::NEG_INFINITY } else { value };
                    all.push(BestMember {
                        sample: index,
                        output,
                        sign,
                        words: sample.members[member].clone(),
                        value,
                        needs_unit_vectors,
                    });
                }
            }
            first += sample.members.len();
        }
        all
    }

    /// Proposes a member close to the best one.
    fn propose(&self, random: &mut Random, best: &BestMember, sample: &Sample) -> Vec<u32> {
        let mut words = best.words.clone();
        let intervals: Vec<_> = (0..words.len()).filter(|&k| self.inputs[k].interval).collect();
        if intervals.is_empty() {
            return words;
        }
        if best.needs_unit_vectors
            && (!random.once_in(4) || intervals.iter().all(|&k| self.inputs[k].axis.is_some()))
        {
            self.vectors.nudge(random, self.inputs, &sample.endpoints, self.kinks, &mut words);
            return words;
        }
        for _ in 0..1 + random.below(3) * random.below(2) {
            let k = *random.pick(&intervals);
            if best.needs_unit_vectors && self.inputs[k].axis.is_some() {
                continue;
            }
            let other = random.pick(&sample.members)[k];
            words[k] =
                nudged(random, &self.inputs[k], sample.endpoints[k], self.kinks, words[k], other);
        }
        words
    }
}

/// Returns a float halfway between two others, up to rounding.
pub(super) fn between(a: f32, b: f32) -> f32 {
    let [low, high] = ordered([a, b]);
    (0.5 * low + 0.5 * high).clamp(low, high)
}

#[cfg(test)]
mod tests {
    use super::super::{Checker, Plan, Subject, sample};
    use super::*;
    use lightbound_shader::bounding::{Frame, Integrand, IntervalInputs, Ranges};
    use lightbound_shader::frontend::{Settings, Shader};

    #[test]
    fn local_search_finds_higher_values_than_random_members() {
        // A narrow peak, in directions and in a parameter.
        let source = "struct Material {
                /// range: [0, 10]
                k: f32,
            }
            fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
                let d = wi - vec3f(0.36, 0.48, 0.8);
                return vec3f(exp(-50.0 * dot(d, d) - (m.k - 3.7) * (m.k - 3.7)));
            }";
        let shader = Shader::parse("peak.wgsl", source).expect("the shader is valid");
        let integrand =
            Integrand::new(&shader, &Settings::default(), Frame::Local).expect("it compiles");
        let subject =
            Subject::material("peak", &integrand, IntervalInputs::All, Some(Ranges::Declared));
        let random = &mut Random::new(1);
        let plan = Plan::random(random, 10);
        let checker = Checker::with(&subject, Target::best(), &plan, |_| {});
        let boxes = (0..40).map(|_| sample(random, &subject.point.inputs, &subject.inputs, 16));
        let samples: Vec<_> = boxes.collect();
        let mut searched = samples.clone();
        checker.add_extreme_members(random, &[], 40, &mut searched);
        let vectors = UnitVectors::from_inputs(&subject.inputs);
        let mut higher = 0;
        for (before, after) in std::iter::zip(&samples, &searched) {
            assert_eq!(after.members.len(), 16 + 40 * 2 * 3);
            for words in &after.members {
                for (k, &word) in words.iter().enumerate() {
                    let [low, high, x] =
                        [before.endpoints[k][0], before.endpoints[k][1], word].map(f32::from_bits);
                    assert!(
                        low <= x && x <= high && subject.inputs[k].bounds.contains(word),
                        "{k}: {low} {x} {high}"
                    );
                }
            }
            let max = |members: &[Vec<u32>]| {
                let value = |words: &Vec<u32>| {
                    let results =
                        lightbound_shader::interpreter::run(&subject.point, &[], words, 1000)
                            .expect("the function has no loop");
                    f32::from_bits(results[subject.outputs[0]])
                };
                members.iter().map(value).fold(0.0, f32::max)
            };
            higher += u32::from(max(&after.members) > max(&before.members));
            let units = |members: &[Vec<u32>]| {
                members.iter().filter(|words| vectors.satisfied_by(words)).count()
            };
            assert!(units(&after.members) >= units(&before.members));
        }
        assert!(higher > 14, "{higher} of 40");
    }
}
