use super::evaluator::word;
use super::*;
use crate::frontend::Scalar;
use crate::interval::{Bounds, Floats};
use crate::ir::{Port, Type};
use crate::random::Random;
use crate::testing::random;
use crate::{interpreter, passes};

/// Boxes in boxes, four levels deep.
const DEPTH: usize = 4;

/// The endpoints of each input.
type Ends = Vec<[f32; 2]>;

fn split(random: &mut Random, ports: &[Port], ends: &[[f32; 2]]) -> Ends {
    let part = |(port, &[low, high]): (&Port, &[f32; 2])| {
        if random.once_in(3) {
            return [low, high];
        }
        let mut at = || {
            let u = random.below(1 << 20) as f32 / (1 << 20) as f32;
            let x = (low + (high - low) * u).clamp(low, high);
            if port.ty == Type::F32 { x } else { x.round() }
        };
        let (a, b) = (at(), at());
        [a.min(b), a.max(b)]
    };
    ports.iter().zip(ends).map(part).collect()
}

/// Bounds a tape over boxes.
fn bound(
    evaluator: &mut Evaluator,
    tape: &Tape,
    boxes: &[Ends],
    trace: &mut Trace,
) -> Vec<Vec<[f32; 2]>> {
    let inputs = tape.shared.inputs.len();
    let columns: Vec<[Vec<f32>; 2]> = (0..inputs)
        .map(|k| [0, 1].map(|side| boxes.iter().map(|ends| ends[k][side]).collect()))
        .collect();
    let columns: Vec<_> = columns.iter().map(|[lo, hi]| [&lo[..], &hi[..]]).collect();
    let mut bounds = vec![[vec![0.0; boxes.len()], vec![0.0; boxes.len()]]; tape.outputs.len()];
    let mut results: Vec<_> =
        bounds.iter_mut().map(|[lo, hi]| [&mut lo[..], &mut hi[..]]).collect();
    evaluator.bound_on(tape, &random::tables(), &columns, &mut results, trace);
    (0..boxes.len()).map(|row| bounds.iter().map(|[lo, hi]| [lo[row], hi[row]]).collect()).collect()
}

fn evaluate(evaluator: &mut Evaluator, tape: &Tape, rows: &[Vec<f32>]) -> Vec<Vec<f32>> {
    let columns: Vec<Vec<f32>> =
        (0..tape.shared.inputs.len()).map(|k| rows.iter().map(|row| row[k]).collect()).collect();
    let columns: Vec<_> = columns.iter().map(|column| &column[..]).collect();
    let mut values = vec![vec![0.0; rows.len()]; tape.outputs.len()];
    let mut results: Vec<_> = values.iter_mut().map(|column| &mut column[..]).collect();
    evaluator.evaluate_on(tape, &random::tables(), &columns, &mut results);
    (0..rows.len()).map(|row| values.iter().map(|column| column[row]).collect()).collect()
}

/// Follows random boxes in boxes. Pruned tapes must compute the bits of the interpreter for
/// members, and bounds must contain them. Returns the number of decided choices.
fn check(point: &Function, inputs: &[Input], whole: &[[f32; 2]], seed: u64) -> usize {
    let outputs: Vec<_> = (0..point.outputs.len()).collect();
    let function = PrunableFunction::new(point, inputs, &outputs);
    let ports = &point.inputs;
    let (mut evaluator, mut trace) = (Evaluator::new(), Trace::default());
    let mut random = Random::new(seed);
    let mut decided = 0;
    for _ in 0..4 {
        let mut tape = function.tape().clone();
        let mut outer: Ends = whole.to_vec();
        for _ in 0..DEPTH {
            let boxes: Vec<_> = (0..11).map(|_| split(&mut random, ports, &outer)).collect();
            let unpruned = bound(&mut evaluator, function.tape(), &boxes, &mut trace);
            let bounds = bound(&mut evaluator, &tape, &boxes, &mut trace);
            let row = random.below(boxes.len());
            decided += trace.decided(row);
            let pruned = evaluator.prune(&tape, &trace, row);
            assert!(pruned.len() <= tape.len());
            let members: Vec<Vec<f32>> = (0..9)
                .map(|_| split(&mut random, ports, &boxes[row]).iter().map(|x| x[0]).collect())
                .collect();
            let values = evaluate(&mut evaluator, &pruned, &members);
            for (member, values) in members.iter().zip(&values) {
                let words: Vec<_> = ports
                    .iter()
                    .zip(member)
                    .map(|(port, &x)| word(Scalar::of(port.ty), x))
                    .collect();
                let expected =
                    interpreter::run(point, &random::tables(), &words, 1 << 22).expect("it ends");
                for (k, port) in point.outputs.iter().enumerate() {
                    let x = Scalar::of(port.ty).value(expected[k]);
                    let place = format!(
                        "seed {seed}, output {k} {}: {member:?} in {:?}",
                        port.name, boxes[row]
                    );
                    let same =
                        x.to_bits() == values[k].to_bits() || x.is_nan() && values[k].is_nan();
                    assert!(same, "{place}: {} is not {x}\n{point}", values[k]);
                    for [low, high] in [bounds[row][k], unpruned[row][k]] {
                        let contains = x.is_nan() || low <= x && x <= high;
                        assert!(contains, "{place}: {x} is not in {low}..{high}\n{point}");
                    }
                }
            }
            (tape, outer) = (pruned, boxes[row].clone());
        }
    }
    decided
}

#[test]
fn pruned_tapes_of_random_functions_compute_the_same_bits() {
    let mut decided = 0;
    for seed in 0..200 {
        let options = random::Options::any(seed, false);
        let point = passes::optimize(&random::function(seed, &options));
        let mut random = Random::new(seed);
        let whole: Ends = point
            .inputs
            .iter()
            .map(|port| match port.ty {
                Type::Bool => [0.0, 1.0],
                Type::I32 => [-40.0, 40.0],
                Type::F32 => *random.pick(&[[-1.0, 1.0], [0.0, 4.0], [-1e30, 1e30], [0.5, 2.0]]),
            })
            .collect();
        let input = |(port, &[low, high]): (&Port, &[f32; 2])| Input {
            interval: true,
            bounds: match port.ty {
                Type::F32 => Bounds::Float(Floats::between(low, high)),
                ty => Bounds::all(ty),
            },
            axis: None,
            sorted: None,
        };
        let inputs: Vec<_> = point.inputs.iter().zip(&whole).map(input).collect();
        decided += check(&point, &inputs, &whole, seed);
    }
    assert!(decided > 1000, "only {decided} choices were decided");
}

const SCENE: &str = "
    fn sphere(p: vec3f, c: vec3f, r: f32) -> f32 { return length(p - c) - r; }
    fn scene(/** range: [-4, 4] */ p: vec3f) -> f32 {
        var d = sphere(p, vec3f(1.0, 0.0, 0.0), 1.0);
        d = min(d, max(sphere(p, vec3f(-1.0, 0.5, 0.0), 1.5), -sphere(p, vec3f(-1.0), 0.5)));
        if p.x > 2.0 {
            d = max(d, sin(4.0 * p.y) + p.z);
        } else if p.y < 0.0 {
            var s = 1.0;
            var q = p;
            for (var i = 0; i < 90; i++) {
                if dot(q, q) > 4.0 { break; }
                q = 2.0 * abs(q) - vec3f(0.4);
                s *= 0.5;
            }
            d = min(d, s * length(q) - 0.1);
        }
        return d;
    }";

#[test]
fn pruned_tapes_of_programs_compute_the_same_bits() {
    let options = FunctionOptions::default().gradient(&["p"]);
    let Prepared { point, inputs, .. } =
        Prepared::new("scene.wgsl", SCENE, "scene", &options).unwrap();
    let decided = check(&point, &inputs, &[[-4.0, 4.0]; 3], 1);
    assert!(decided > 15, "only {decided} choices were decided");
}

#[test]
fn small_boxes_leave_few_steps() {
    let function =
        PrunableFunction::compile("scene.wgsl", SCENE, "scene", &FunctionOptions::default())
            .unwrap();
    let (mut evaluator, mut trace) = (Evaluator::new(), Trace::default());
    // Next to the first sphere, far from the others, where x > 2.
    let boxes = [vec![[2.1, 2.2], [0.0, 0.1], [-0.1, 0.1]]];
    bound(&mut evaluator, function.tape(), &boxes, &mut trace);
    let pruned = evaluator.prune(function.tape(), &trace, 0);
    let all = function.tape().len();
    assert!(2 * pruned.len() < all, "{} of {all} steps", pruned.len());
    // All but the loop, which ran for the whole box.
    assert!(pruned.steps.iter().all(|step| step.code != steps::Code::Block));
}

#[test]
#[should_panic(expected = "the numbers of columns and inputs differ")]
fn missing_columns_are_rejected() {
    let function =
        PrunableFunction::compile("scene.wgsl", SCENE, "scene", &FunctionOptions::default())
            .unwrap();
    let mut out = [0.0];
    let column: &[f32] = &[0.0];
    Evaluator::new().evaluate(function.tape(), &[], &[column; 2], &mut [&mut out]);
}
