//! Textures in the formats of their files, against the same images as RGBA floats: memory, and the
//! time of lookups and of their bounds.
//!
//! A lookup returns red, green and blue of a repeated image with bilinear interpolation, at random
//! coordinates. Bounds are those over boxes of up to 1 % of the image. The times of a format and of
//! floats are measured in turn.

use crate::arguments::positive;
use crate::report::{fail, print_head, print_machine, print_row};
use lightbound_shader::builder::{Builder, Rules};
use lightbound_shader::interval::{Bounds, Floats};
use lightbound_shader::ir::{Emit, Function, Op, Type};
use lightbound_shader::lift::{self, Input, Options};
use lightbound_shader::random::Random;
use lightbound_shader::testing::random::image;
use lightbound_shader::texture::{
    Access, Channels, Component, Format, SamplerState, Texture, TextureState,
};
use lightbound_shader::{Target, passes};
use lightbound_study::cost::{Budget, Candidate, measure};
use std::process::ExitCode;
use std::time::Duration;

/// Memory of textures by format, and the time of lookups against that with RGBA floats
#[derive(clap::Args)]
pub struct Args {
    /// Target of the code
    #[arg(long, default_value = "avx2")]
    target: Target,
    /// Widths of the square images, in texels
    #[arg(long, value_delimiter = ',', default_values_t = [128, 2048], value_parser = positive::<u32>)]
    sizes: Vec<u32>,
    /// Number of lookups
    #[arg(long, default_value_t = 4096, value_parser = positive::<usize>)]
    lookups: usize,
    /// Least time for each ratio of times, in milliseconds
    #[arg(long, default_value_t = 500, value_parser = positive::<u64>)]
    time: u64,
}

/// Files and the formats of their textures.
const FILES: [(&str, Component, Channels); 11] = [
    ("8 bit, sRGB, grey", Component::Palette8, Channels::Grey),
    ("8 bit, sRGB, RGB", Component::Palette8, Channels::Rgb),
    ("8 bit, sRGB, RGBA", Component::Palette8, Channels::Rgba),
    ("8 bit, linear, RGB", Component::Unorm8, Channels::Rgb),
    ("16 bit, sRGB, RGB", Component::Palette16, Channels::Rgb),
    ("16 bit, linear, RGB", Component::Unorm16, Channels::Rgb),
    ("half, grey", Component::Half, Channels::Grey),
    ("half, RGB", Component::Half, Channels::Rgb),
    ("half, RGBA", Component::Half, Channels::Rgba),
    ("float, grey", Component::Float, Channels::Grey),
    ("float, RGB", Component::Float, Channels::Rgb),
];

/// Prints the table.
pub fn run(args: &Args) -> ExitCode {
    if args.target.isa().is_none() {
        return crate::report::invalid_input("the interpreter has no machine code: choose sse");
    }
    print_machine();
    println!(
        "Target: {}. {} lookups at random coordinates. Bytes per texel are those of the texture with \
         its pyramid, against RGBA floats. Times are relative to RGBA floats.\n",
        args.target, args.lookups
    );
    let sizes = || args.sizes.iter().map(|size| format!("{size}²"));
    let titles = ["file", "bytes in file"].map(str::to_owned).into_iter().chain(
        ["bytes", "floats", "lookup", "bounds"]
            .into_iter()
            .flat_map(|title| sizes().map(move |size| format!("{title}, {size}"))),
    );
    print_head(&titles.collect::<Vec<_>>());
    for (name, component, channels) in FILES {
        let format = Format { component, channels };
        let bytes_in_file = component.bits() as usize / 8 * channels.count();
        let row = args.sizes.iter().map(|&size| Comparison::new(args, format, size));
        let row: Vec<Comparison> = match row.collect::<Result<_, _>>() {
            Ok(row) => row,
            Err(error) => return fail(&format!("{name}: {error}")),
        };
        let memory =
            |of: fn(&Comparison) -> f64| row.iter().map(move |it| format!("{:.2}", of(it)));
        let ratio = |of: fn(&Comparison) -> [f64; 2]| {
            row.iter().map(move |it| {
                let [ratio, width] = of(it);
                format!("{ratio:.2} ± {width:.2}")
            })
        };
        let cells = [name.to_owned(), bytes_in_file.to_string()].into_iter();
        let cells = cells.chain(memory(|it| it.bytes)).chain(memory(|it| it.bytes_of_floats));
        print_row(cells.chain(ratio(|it| it.lookup)).chain(ratio(|it| it.bounds)));
    }
    ExitCode::SUCCESS
}

/// An image in a format against RGBA floats.
struct Comparison {
    /// Bytes per texel.
    bytes: f64,
    bytes_of_floats: f64,
    /// Ratio of the times of lookups, and half the width of its confidence interval.
    lookup: [f64; 2],
    /// The same for bounds.
    bounds: [f64; 2],
}

impl Comparison {
    fn new(args: &Args, format: Format, size: u32) -> Result<Comparison, String> {
        let random = &mut Random::new(u64::from(size));
        let (packed, floats) = image(random, [size, size], format);
        let textures = [&packed, &floats];
        let states = textures.map(|texture| texture.state(SamplerState::default()));
        // Texture 0 is packed, and texture 1 has floats, which are the reference.
        let lookups = [(1, states[1]), (0, states[0])].map(|(table, state)| lookup(table, state));
        let points: Vec<Vec<u32>> =
            (0..args.lookups).map(|_| [(); 2].map(|()| unit(random).to_bits()).into()).collect();
        let boxes: Vec<Vec<u32>> = points
            .iter()
            .map(|point| {
                let interval = |&low: &u32| {
                    let low = f32::from_bits(low);
                    [low, low + 0.01 * unit(random)].map(f32::to_bits)
                };
                point.iter().flat_map(interval).collect()
            })
            .collect();
        let bounds = lookups.each_ref().map(bounding);
        let bytes = |texture: &Texture| {
            size_of_val(texture.words()) as f64 / (f64::from(size) * f64::from(size))
        };
        Ok(Comparison {
            bytes: bytes(&packed),
            bytes_of_floats: bytes(&floats),
            lookup: ratio(args, &lookups, &points, &textures)?,
            bounds: ratio(args, &bounds, &boxes, &textures)?,
        })
    }
}

/// A random number in [0, 1).
fn unit(random: &mut Random) -> f32 {
    random.below(1 << 24) as f32 / (1 << 24) as f32
}

/// The lookup of a colour at two inputs.
fn lookup(table: u32, state: TextureState) -> Function {
    let mut b = Builder::new("lookup", Rules::Exact);
    let (u, v) = (b.input("u", Type::F32), b.input("v", Type::F32));
    let channels = ["r", "g", "b"].into_iter().zip(0..).map(|(name, channel)| {
        let access = b.i32(Access::new(table, channel, state).pack() as i32);
        (name.to_owned(), b.op(Op::Texel, &[access, u, v]))
    });
    let channels: Vec<_> = channels.collect();
    b.finish(channels)
}

/// Bounds on the colour over a box of coordinates between −2 and 2.
fn bounding(lookup: &Function) -> Function {
    let bounds = Bounds::Float(Floats::between(-2.0, 2.0));
    let inputs = [(); 2].map(|()| Input { interval: true, bounds, axis: None, sorted: None });
    lift::run(lookup, &inputs, &[0, 1, 2], &Options::default()).function
}

/// The ratio of the times of two functions, the second relative to the first, after a check that
/// their results are equal.
fn ratio(
    args: &Args,
    functions: &[Function; 2],
    rows: &[Vec<u32>],
    textures: &[&Texture; 2],
) -> Result<[f64; 2], String> {
    let candidate = |function: &Function| {
        Candidate::from_lowered(&passes::lower(function), args.target, rows)
            .map_err(|error| error.to_string())
    };
    let mut candidates = functions.iter().map(candidate).collect::<Result<Vec<_>, _>>()?;
    let results: Vec<_> =
        candidates.iter_mut().map(|it| it.run(textures).words().to_vec()).collect();
    if results[0] != results[1] {
        return Err("results differ from those of floats".into());
    }
    let budget = Budget {
        max_rounds: usize::MAX,
        min_time: Duration::from_millis(args.time),
        max_time: Duration::from_millis(4 * args.time),
        precision: 0.02,
    };
    let measurement = measure(&candidates, textures, &budget, &|_| {});
    let [floats, packed] = [0, 1].map(|index| measurement.costs[index].time);
    let ratio = packed.median / floats.median;
    Ok([ratio, ratio * packed.relative_width() / 2.0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_give_the_results_of_floats() {
        let Some(target) = crate::report::targets().pop() else { return };
        let args = Args { target, sizes: vec![16], lookups: 32, time: 1 };
        for (name, component, channels) in FILES {
            let comparison = Comparison::new(&args, Format { component, channels }, 16);
            let comparison = comparison.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(comparison.lookup[0] > 0.0 && comparison.bounds[0] > 0.0, "{name}");
        }
    }
}
