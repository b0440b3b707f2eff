//! The table of Clarberg et al. 2010 §6.3: the cost of bounding implicit surfaces.
//!
//! Instructions of the point shader of |f|, and of bounding shaders that compute only its lower
//! bound, which a ray tracer tests. Inputs are finite and NaN is ignored, as there. Moves do not
//! count, since operands of the paper's GPU needed none.

use crate::arguments::{count, positive};
use crate::report::{fail, print_machine};
use lightbound_shader::backend::x86::{Code, Isa};
use lightbound_shader::bounding::{Frame, Integrand, IntervalInputs, Ranges};
use lightbound_shader::builder::rewrite::append;
use lightbound_shader::builder::{Builder, Rules};
use lightbound_shader::interval::Nan;
use lightbound_shader::ir::{Emit, Function, Op, Value};
use lightbound_shader::lift::{self, BoundSides, Options, Tracking};
use lightbound_shader::relations::Relations;
use lightbound_shader::{Settings, Shader, ShaderError, passes};
use std::process::ExitCode;

mod rays;

/// Count instructions of implicit surfaces and of their bounding shaders, or trace rays
#[derive(clap::Args)]
pub struct Args {
    /// Measure this number of rays for each field, beside sphere tracing
    #[arg(long, value_parser = count)]
    rays: Option<u64>,
    /// Check the hits of this number of rays, of all fields together
    #[arg(long, value_parser = count)]
    check: Option<u64>,
    /// Number of samples for the check of a ray
    #[arg(long, default_value_t = 64, value_parser = positive::<u32>)]
    samples: u32,
}

/// Fields to trace.
const FIELDS: [rays::Field; 6] = [
    rays::Field {
        name: "Steiner",
        source: SURFACES[0].source,
        bounds: 0.5,
        parameters: &[],
        lipschitz: None,
    },
    rays::Field {
        name: "Mitchell",
        source: SURFACES[1].source,
        bounds: 2.2,
        parameters: &[],
        lipschitz: None,
    },
    rays::Field {
        name: "Kummer",
        source: SURFACES[2].source,
        bounds: 1.7,
        parameters: &[],
        lipschitz: None,
    },
    rays::Field {
        name: "gyroid",
        source: include_str!("../../scenes/implicit/gyroid.wgsl"),
        bounds: 1.0,
        parameters: &[("radius", 1.0), ("frequency", 9.0), ("thickness", 0.35)],
        lipschitz: None,
    },
    rays::Field {
        name: "CSG",
        source: include_str!("../../scenes/implicit/csg.wgsl"),
        bounds: 1.0,
        parameters: &[("radius", 1.25), ("bore", 0.42), ("hollow", 0.8)],
        // It is made of distances.
        lipschitz: Some(1.0),
    },
    rays::Field {
        name: "Julia",
        source: include_str!("../../scenes/implicit/julia.wgsl"),
        bounds: 1.5,
        parameters: &[("c.x", -0.2), ("c.y", 0.6), ("c.z", 0.2), ("iterations", 7.0)],
        // |∇|z|²| = 2|z| ∏ 2|zₖ|, with |z| ≤ 4.7 after the last of 7 iterations, and |zₖ| ≤ 2 before.
        lipschitz: Some(9.4 * 16384.0),
    },
];

/// A surface with the paper's instructions: of the point function, of naive and of optimized code.
struct Surface {
    name: &'static str,
    source: &'static str,
    paper: [usize; 3],
}

const SURFACES: [Surface; 3] = [
    Surface {
        name: "Steiner",
        source: include_str!("../../scenes/implicit/steiner.wgsl"),
        paper: [13, 74, 48],
    },
    Surface {
        name: "Mitchell",
        source: include_str!("../../scenes/implicit/mitchell.wgsl"),
        paper: [16, 51, 41],
    },
    Surface {
        name: "Kummer",
        source: include_str!("../../scenes/implicit/kummer.wgsl"),
        paper: [20, 64, 44],
    },
];

/// Runs the command.
pub fn run(args: &Args) -> ExitCode {
    if args.rays.is_none() && args.check.is_none() {
        return print_counts();
    }
    print_machine();
    let speed = args.rays.map_or(Ok(()), rays::print_speed);
    let is_right = speed.and_then(|()| match args.check {
        None => Ok(true),
        Some(rays) => rays::check(rays, args.samples),
    });
    match is_right {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => fail("hits are missed or wrong"),
        Err(error) => fail(&error.to_string()),
    }
}

fn print_counts() -> ExitCode {
    println!("| surface | point | naive | optimized | related | paper: point | before | after |");
    println!("|---|---|---|---|---|---|---|---|");
    for surface in &SURFACES {
        match counts(surface) {
            Ok([point, bounds @ ..]) => {
                let cells: Vec<_> = bounds.iter().map(|&count| with_ratio(count, point)).collect();
                let [paper_point, before, after] = surface.paper;
                println!(
                    "| {} | {point} | {} | {paper_point} | {} | {} |",
                    surface.name,
                    cells.join(" | "),
                    with_ratio(before, paper_point),
                    with_ratio(after, paper_point)
                );
            }
            Err(error) => {
                eprintln!("error: {}", error.one_line());
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

fn with_ratio(count: usize, point: usize) -> String {
    format!("{count} ({:.1}×)", count as f64 / point as f64)
}

/// Instructions of the point shader, and of naive, optimized and related bounding shaders.
fn counts(surface: &Surface) -> Result<[usize; 4], ShaderError> {
    let shader = Shader::parse(surface.name, surface.source)?;
    let integrand = Integrand::new(&shader, &Settings::default(), Frame::Local)?;
    let inputs = integrand.inputs(IntervalInputs::All, Ranges::Paper);
    let point = passes::optimize(&absolute(&integrand.point));
    let bound = |tracking, relations| {
        let options = Options {
            sides: BoundSides::Lower,
            nan: Nan::Ignore,
            tracking,
            relations,
            ..Options::default()
        };
        lift::run(&point, &inputs, &[0], &options).function
    };
    let instructions = |function: &Function| {
        Code::compile(&passes::lower(function), Isa::Sse41).compute_instructions()
    };
    Ok([
        instructions(&point),
        instructions(&bound(Tracking::NONE, Relations::NONE)),
        instructions(&bound(Tracking::ALL, Relations::NONE)),
        instructions(&bound(Tracking::ALL, Relations::all())),
    ])
}

/// The magnitude of the first output.
fn absolute(point: &Function) -> Function {
    let mut builder = Builder::new("absolute", Rules::Relaxed);
    let inputs: Vec<Value> =
        point.inputs.iter().map(|port| builder.input(&port.name, port.ty)).collect();
    let copy = |builder: &mut Builder, op: Op, args: &[Value]| builder.op(op, args);
    let (mut builder, values) = append(point, builder, &inputs, copy);
    let magnitude = builder.op(Op::Abs, &[values[0]]);
    builder.finish([("magnitude".to_owned(), magnitude)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn optimized_code_is_shorter_than_naive_code() {
        for surface in &SURFACES {
            let [point, naive, optimized, _] =
                counts(surface).unwrap_or_else(|error| panic!("{error}"));
            assert!(point < optimized && optimized <= naive, "{}", surface.name);
        }
    }
}
