//! Bounds on split boxes, on the random boxes of cost measurements.

use lightbound_shader::bounding::{
    BoundingKernel, BoundsBatch, BoxBatch, Frame, Integrand, IntervalInputs, Ranges, SplitKernel,
};
use lightbound_shader::interval::Nan;
use lightbound_shader::lift::{BoundSides, Options};
use lightbound_shader::relations::Relations;
use lightbound_shader::{Arena, Batch, Kernel, Settings, Shader, Target, passes};
use lightbound_study::cost::boxes::{InputBox, random_boxes};

const SHADER: &str = "struct Material {
        /// Exponent. range: [1, 1000], default: 50
        exponent: f32,
    }
    fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
        let h = normalize(wi + wo);
        let lobe = pow(max(wi.z * wo.z - wi.x * wo.x - wi.y * wo.y, 0.0), m.exponent);
        return vec3f(lobe, pow(max(h.z, 0.0), 20.0) / max(wi.z, 0.1), wi.x * wo.y - 0.5 * wi.y);
    }";

fn kernel(
    shader: &Shader,
    frame: Frame,
    interval_inputs: IntervalInputs,
    options: &Options,
    target: Target,
) -> (Integrand, BoundingKernel) {
    let integrand = Integrand::new(shader, &Settings::default(), frame).expect("it compiles");
    let lifted = integrand.bound(&integrand.inputs(interval_inputs, Ranges::Declared), options);
    let kernel =
        BoundingKernel::compile(&Arena::new(), &lifted, target).expect("the target is available");
    (integrand, kernel)
}

fn boxes(kernel: &BoundingKernel, input_boxes: &[InputBox]) -> BoxBatch {
    let mut boxes = BoxBatch::new(kernel, input_boxes.len());
    for (row, input_box) in input_boxes.iter().enumerate() {
        input_box
            .endpoints
            .iter()
            .enumerate()
            .for_each(|(input, &endpoints)| boxes.set_bits(row, input, endpoints));
    }
    boxes
}

#[test]
fn split_bounds_contain_values_and_are_no_wider() {
    let shader = Shader::parse("a.wgsl", SHADER).expect("the shader is valid");
    // More boxes than are split at once, and not a multiple of the group size.
    const COUNT: usize = 37;
    for target in Target::ALL.into_iter().filter(|target| target.is_available()) {
        for (frame, interval_inputs) in [
            (Frame::Local, IntervalInputs::Light),
            (Frame::World, IntervalInputs::Light),
            (Frame::World, IntervalInputs::All),
        ] {
            for (relations, sides) in [
                (Relations::NONE, BoundSides::Both),
                (Relations::all(), BoundSides::Both),
                (Relations::all(), BoundSides::Upper),
            ] {
                let options =
                    Options { relations, sides, nan: Nan::Suppress, ..Options::default() };
                let (integrand, kernel) = kernel(&shader, frame, interval_inputs, &options, target);
                let input_boxes = random_boxes(&shader, frame, interval_inputs, COUNT, 5);
                let boxes = boxes(&kernel, &input_boxes);
                let point =
                    Kernel::compile(&Arena::new(), &passes::lower(&integrand.point), target)
                        .expect("the target is available");
                let mut members = Batch::new(target, point.inputs().len(), COUNT);
                let mut values = Batch::new(target, point.outputs().len(), COUNT);
                input_boxes
                    .iter()
                    .enumerate()
                    .for_each(|(row, input_box)| members.set_row(row, 0, &input_box.member));
                point.run(&[], &members, &mut values);
                let mut unsplit = BoundsBatch::new(&kernel, COUNT);
                kernel.run(&[], &boxes, &mut unsplit);
                let mut ratio_sums = [0.0; 3];
                for (k, parts) in [1, 2, 4].into_iter().enumerate() {
                    let (mut split, mut split_bounds) =
                        (SplitKernel::new(&kernel, parts), BoundsBatch::new(&kernel, COUNT));
                    split.run(&[], &boxes, &mut split_bounds);
                    for (row, output) in
                        (0..COUNT).flat_map(|row| (0..3).map(move |output| (row, output)))
                    {
                        let ([lo, hi], [unsplit_lo, unsplit_hi]) =
                            (split_bounds.get(row, output), unsplit.get(row, output));
                        let x = values.get(row, output);
                        assert!(
                            lo <= x && x <= hi,
                            "{target}, {parts} parts, row {row}: {x} is not in [{lo}, {hi}]"
                        );
                        // Related bounds, and bounds on some functions, may be non-monotone in the
                        // last bits.
                        let slack = unsplit_hi.abs() * 1e-5;
                        assert!(
                            unsplit_lo - slack <= lo && hi <= unsplit_hi + slack,
                            "{target}, {parts} parts, row {row}: [{lo}, {hi}] is not in [{unsplit_lo}, {unsplit_hi}]"
                        );
                        ratio_sums[k] +=
                            if output == 0 { f64::from(hi / unsplit_hi.max(1e-20)) } else { 0.0 };
                    }
                    let mut again = BoundsBatch::new(&kernel, COUNT);
                    split.clone().run(&[], &boxes, &mut again);
                    let bits = |bounds: &BoundsBatch| {
                        let get = |row| [0, 1, 2].map(|k| bounds.get(row, k).map(f32::to_bits));
                        (0..COUNT).map(get).collect::<Vec<_>>()
                    };
                    assert_eq!(bits(&split_bounds), bits(&again), "results differ between runs");
                }
                assert!(
                    ratio_sums[2] < ratio_sums[1] && ratio_sums[1] < ratio_sums[0],
                    "{frame:?} {interval_inputs:?} {relations:?}: {ratio_sums:?}"
                );
            }
        }
    }
}
