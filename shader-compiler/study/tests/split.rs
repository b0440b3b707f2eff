//! Bounds of split boxes, on the boxes that costs are measured on.

use lightbound_shader::bounding::{
    BoundingKernel, BoundsBatch, BoxBatch, Frame, Integrand, IntervalInputs, Ranges, SplitKernel,
};
use lightbound_shader::interval::Nan;
use lightbound_shader::lift::{BoundSides, Options};
use lightbound_shader::relations::Relations;
use lightbound_shader::{Arena, Batch, Kernel, Settings, Shader, Target, passes};
use lightbound_study::cost::boxes::{Drawn, draw};

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
    spans: IntervalInputs,
    options: &Options,
    target: Target,
) -> (Integrand, BoundingKernel) {
    let integrand = Integrand::new(shader, &Settings::default(), frame).expect("it compiles");
    let lifted = integrand.bound(&integrand.inputs(spans, Ranges::Declared), options);
    let kernel =
        BoundingKernel::compile(&Arena::new(), &lifted, target).expect("the target is available");
    (integrand, kernel)
}

fn boxes(kernel: &BoundingKernel, drawn: &[Drawn]) -> BoxBatch {
    let mut boxes = BoxBatch::new(kernel, drawn.len());
    for (row, drawn) in drawn.iter().enumerate() {
        drawn.ends.iter().enumerate().for_each(|(input, &ends)| boxes.set_bits(row, input, ends));
    }
    boxes
}

#[test]
fn split_bounds_contain_values_and_are_no_wider() {
    let shader = Shader::parse("a.wgsl", SHADER).expect("the shader is valid");
    // More boxes than are split at a time, and not a multiple of the group size.
    const COUNT: usize = 37;
    for target in Target::ALL.into_iter().filter(|target| target.is_available()) {
        for (frame, spans) in [
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
                let (integrand, kernel) = kernel(&shader, frame, spans, &options, target);
                let drawn = draw(&shader, frame, spans, COUNT, 5);
                let boxes = boxes(&kernel, &drawn);
                let point =
                    Kernel::compile(&Arena::new(), &passes::lower(&integrand.point), target)
                        .expect("it runs");
                let mut members = Batch::new(target, point.inputs().len(), COUNT);
                let mut values = Batch::new(target, point.outputs().len(), COUNT);
                drawn
                    .iter()
                    .enumerate()
                    .for_each(|(row, drawn)| members.set_row(row, 0, &drawn.member));
                point.run(&[], &members, &mut values);
                let mut whole = BoundsBatch::new(&kernel, COUNT);
                kernel.run(&[], &boxes, &mut whole);
                let mut widths = [0.0; 3];
                for (k, ways) in [1, 2, 4].into_iter().enumerate() {
                    let (mut split, mut limits) =
                        (SplitKernel::new(&kernel, ways), BoundsBatch::new(&kernel, COUNT));
                    split.run(&[], &boxes, &mut limits);
                    for (row, output) in
                        (0..COUNT).flat_map(|row| (0..3).map(move |output| (row, output)))
                    {
                        let ([lo, hi], [whole_lo, whole_hi]) =
                            (limits.get(row, output), whole.get(row, output));
                        let x = values.get(row, output);
                        assert!(
                            lo <= x && x <= hi,
                            "{target}, {ways} ways, row {row}: {x} is not in [{lo}, {hi}]"
                        );
                        // Bounds by relations and of some functions need not be monotone to the
                        // last bit.
                        let ulps = whole_hi.abs() * 1e-5;
                        assert!(
                            whole_lo - ulps <= lo && hi <= whole_hi + ulps,
                            "{target}, {ways} ways, row {row}: {hi}"
                        );
                        widths[k] +=
                            if output == 0 { f64::from(hi / whole_hi.max(1e-20)) } else { 0.0 };
                    }
                    let mut again = BoundsBatch::new(&kernel, COUNT);
                    split.clone().run(&[], &boxes, &mut again);
                    let bits = |limits: &BoundsBatch| {
                        let get = |row| [0, 1, 2].map(|k| limits.get(row, k).map(f32::to_bits));
                        (0..COUNT).map(get).collect::<Vec<_>>()
                    };
                    assert_eq!(bits(&limits), bits(&again), "the same each time");
                }
                assert!(
                    widths[2] < widths[1] && widths[1] < widths[0],
                    "{frame:?} {spans:?} {relations:?}: {widths:?}"
                );
            }
        }
    }
}
