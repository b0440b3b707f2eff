//! Code for the parameters of materials, against code for any parameters: instructions, bounds and
//! compile time.
//!
//! The cases are the six materials of Clarberg et al. 2010, and looks of `openpbr` and of `layered`,
//! its reduced form. Parameters have their defaults, or the values of the look; where the surface
//! has a texture, its parameter keeps its range.

use crate::arguments::positive;
use crate::materials;
use crate::report::{geometric_mean, print_head, print_machine, print_row};
use lightbound_shader::backend::x86::{Code, Isa};
use lightbound_shader::bounding::{
    BoundingKernel, BoundsBatch, BoxBatch, Frame, Integrand, IntervalInputs, Ranges,
    parameter_bounds,
};
use lightbound_shader::interval::Bounds;
use lightbound_shader::ir::Function;
use lightbound_shader::lift::{BoundSides, Lifted, Options};
use lightbound_shader::relations::Relations;
use lightbound_shader::scattering::Functions;
use lightbound_shader::{Arena, Settings, Setup, Shader, Target, passes};
use lightbound_study::cost::boxes::random_boxes;
use lightbound_study::shaders;
use lightbound_study::tightness::materials::OPTIONAL_MATERIALS;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// What specialized code saves, for the parameters of materials
#[derive(clap::Args)]
pub struct Args {
    /// Target of the code
    #[arg(long, default_value = "sse")]
    target: Target,
    /// Number of boxes in which bounds are compared
    #[arg(long, default_value_t = 4000, value_parser = positive::<usize>)]
    boxes: usize,
    /// Number of timed runs; the median is reported
    #[arg(long, default_value_t = 50, value_parser = positive::<usize>)]
    runs: usize,
}

/// The parameter that is a texture in the second case of each material.
const TEXTURED: [(&str, &str); 6] = [
    ("diffuse", "kd"),
    ("phong", "kd"),
    ("isoward", "kd"),
    ("ward", "kd"),
    ("ashikhmin", "kd"),
    ("fractal", "uv"),
];

/// Looks of `layered`, with the values that are not defaults.
const LOOKS: [(&str, &[(&str, f64)]); 6] = [
    ("matte", &[("specular_weight", 0.0), ("coat_weight", 0.0)]),
    ("plastic", &[("coat_weight", 0.0)]),
    ("metal", &[("base_metalness", 1.0), ("coat_weight", 0.0)]),
    ("rough clay", &[("base_diffuse_roughness", 1.0), ("coat_weight", 0.0)]),
    ("car paint", &[("base_metalness", 0.5), ("coat_weight", 1.0)]),
    ("lacquered metal", &[("base_metalness", 1.0), ("coat_weight", 1.0)]),
];

/// The looks of `openpbr` among the [`OPTIONAL_MATERIALS`].
const OPENPBR_LOOKS: [&str; 6] =
    ["plastic", "brushed metal", "car paint", "velvet", "lacquered wood", "rubber"];

/// A material with constant and textured parameters.
pub struct Case {
    /// The name of the material.
    pub name: String,
    /// Its shader.
    pub shader: Shader,
    /// Values that are not defaults.
    values: Vec<(&'static str, f64)>,
    textured: Option<&'static str>,
}

impl Case {
    /// What is known of each word of the parameters.
    pub fn known(&self) -> Vec<Bounds> {
        let exists = |name| self.shader.settable().iter().any(|p| p.name == name);
        let mut names = self.values.iter().map(|&(name, _)| name).chain(self.textured);
        assert!(names.all(exists), "{} lacks a parameter of the case", self.shader.name());
        let word = |parameter: &lightbound_shader::Parameter, component: usize| {
            let range = parameter_bounds(parameter, Ranges::Declared);
            if self.textured == Some(&*parameter.name) {
                return range;
            }
            let value = self.values.iter().find(|(name, _)| *name == parameter.name);
            let default = parameter.default.as_ref().expect("all parameters have defaults");
            let x = value.map_or(default[component], |&(_, x)| x);
            Bounds::constant(range.ty(), parameter.scalar.bits(x))
        };
        let parameters = self.shader.settable().iter();
        parameters.flat_map(|p| (0..p.size).map(move |component| word(p, component))).collect()
    }
}

/// The cases, with a group for each average.
pub fn cases() -> Vec<(&'static str, Vec<Case>)> {
    let of_paper = |textured: bool| {
        std::iter::zip(materials::ALL, TEXTURED)
            .map(|((name, source), (_, parameter))| Case {
                name: name.to_owned(),
                shader: materials::parse(name, source),
                values: vec![],
                textured: textured.then_some(parameter),
            })
            .collect()
    };
    let layered = shaders::find("layered").expect("the study has it");
    let looks = |textured: bool| {
        LOOKS
            .iter()
            .map(|&(name, values)| Case {
                name: name.to_owned(),
                shader: materials::parse("layered", layered.text),
                values: values.to_vec(),
                textured: textured.then_some("base_color"),
            })
            .collect()
    };
    let openpbr = |textured: bool| {
        let looks = OPTIONAL_MATERIALS.iter().filter(|material| material.shader == "openpbr");
        let parse =
            || materials::parse("openpbr", include_str!("../../assets/shaders/openpbr.wgsl"));
        std::iter::zip(OPENPBR_LOOKS, looks)
            .map(|(name, material)| Case {
                name: name.to_owned(),
                shader: parse(),
                values: material.settings().collect(),
                textured: textured.then_some("base_color"),
            })
            .collect()
    };
    vec![
        ("constant parameters", of_paper(false)),
        ("a texture", of_paper(true)),
        ("layered, constant parameters", looks(false)),
        ("layered, a texture", looks(true)),
        ("openpbr, constant parameters", openpbr(false)),
        ("openpbr, a texture", openpbr(true)),
    ]
}

/// Prints the tables.
pub fn run(args: &Args) -> ExitCode {
    let Some(isa) = args.target.isa() else {
        return crate::report::invalid_input("the interpreter has no machine code: choose sse");
    };
    print_machine();
    let groups = cases();
    println!(
        "Instructions of {}: any parameters → specialized, and the fraction saved.\n",
        args.target
    );
    print_head(
        &["case", "s and density", "saved", "sample", "saved", "upper bound", "saved"]
            .map(str::to_owned),
    );
    for (group, cases) in &groups {
        let mut ratios = [const { vec![] }; 3];
        for case in cases {
            let costs = Variants::new(case).instructions(isa);
            let mut cells = vec![format!("{}, {group}", case.name)];
            for ([general, special], ratios) in std::iter::zip(costs, &mut ratios) {
                let ratio = special as f64 / general as f64;
                ratios.push(ratio);
                cells.extend([format!("{general} → {special}"), percent(ratio)]);
            }
            print_row(cells);
        }
        let averages = ratios.map(|ratios| ratios.iter().sum::<f64>() / ratios.len() as f64);
        let mut cells = vec![format!("**average, {group}**")];
        averages.iter().for_each(|&ratio| cells.extend([String::new(), percent(ratio)]));
        print_row(cells);
    }

    println!(
        "\nUpper bounds in {} boxes of light directions: specialized ÷ general.\n",
        args.boxes
    );
    print_head(&["case", "looser", "mean", "least"].map(str::to_owned));
    for (group, cases) in &groups {
        for case in cases {
            let ratios = Variants::new(case).bound_ratios(case, args);
            let looser = ratios.iter().filter(|&&ratio| ratio > 1.0).count();
            print_row([
                format!("{}, {group}", case.name),
                looser.to_string(),
                format!("{:.4}", geometric_mean(ratios.iter().copied())),
                format!("{:.4}", ratios.iter().copied().fold(1.0, f64::min)),
            ]);
        }
    }

    println!(
        "\nMedian µs of {} runs, for s: *anew* from WGSL to code, *special* from the general function and new constants to code, *residual* up to the specialized function.\n",
        args.runs
    );
    print_head(
        &["case", "operations", "anew", "special", "residual", "special ÷ anew"].map(str::to_owned),
    );
    for (group, cases) in &groups {
        for case in cases {
            let [anew, special, residual] = times(case, isa, args.runs);
            let us = |time: Duration| 1e6 * time.as_secs_f64();
            print_row([
                format!("{}, {group}", case.name),
                Variants::new(case).operations().to_string(),
                format!("{:.0}", us(anew)),
                format!("{:.0}", us(special)),
                format!("{:.0}", us(residual)),
                format!("{:.2}", us(special) / us(anew)),
            ]);
        }
    }
    ExitCode::SUCCESS
}

fn percent(ratio: f64) -> String {
    format!("{:.1} %", 100.0 * (1.0 - ratio))
}

/// Functions for any parameters and specialized ones.
struct Variants {
    general: Functions,
    special: Functions,
    bounds: [Lifted; 2],
}

impl Variants {
    fn new(case: &Case) -> Variants {
        let settings = Settings { setup: Setup::Precomputed, ..Settings::default() };
        let general = Functions::new(&case.shader, &settings).expect("the shader is valid");
        let (special, members) = general.specialize(&case.known());
        let integrand =
            Integrand::new(&case.shader, &settings, Frame::Local).expect("the shader is valid");
        let bound = |integrand: &Integrand| {
            let options = Options {
                sides: BoundSides::Upper,
                relations: Relations::all(),
                ..Options::default()
            };
            integrand.bound(&integrand.inputs(IntervalInputs::Light, Ranges::Declared), &options)
        };
        let bounds = [bound(&integrand), bound(&integrand.clone().specialize(members))];
        Variants { general, special, bounds }
    }

    /// Number of operations of the specialized s.
    fn operations(&self) -> usize {
        self.bounds[1].point.len()
    }

    /// Instructions of s and density, sampling, and upper bounds; general and specialized.
    fn instructions(&self, isa: Isa) -> [[usize; 2]; 3] {
        let count =
            |function: &Function| Code::compile(&passes::lower(function), isa).counts().total;
        let pairs = [
            [&self.general.evaluate, &self.special.evaluate],
            [&self.general.scatter, &self.special.scatter],
            [&self.bounds[0].function, &self.bounds[1].function],
        ];
        pairs.map(|pair| pair.map(count))
    }

    /// Ratios of upper bounds on the red channel, specialized over general, where the general one is
    /// positive and finite.
    fn bound_ratios(&self, case: &Case, args: &Args) -> Vec<f64> {
        let known = case.known();
        let all = random_boxes(&case.shader, Frame::Local, IntervalInputs::Light, args.boxes, 1);
        let [general, special] = self.bounds.each_ref().map(|lifted| {
            let kernel = BoundingKernel::compile(&Arena::new(), lifted, args.target)
                .unwrap_or_else(|error| panic!("{error}"));
            let mut boxes = BoxBatch::new(&kernel, all.len());
            for (row, input_box) in all.iter().enumerate() {
                for (input, &endpoints) in input_box.endpoints.iter().enumerate() {
                    // Parameters that are known have their constant.
                    let parameter = input.checked_sub(6).map(|word| &known[word]);
                    let constant = parameter.and_then(|bounds| match bounds {
                        Bounds::Float(floats) if floats.low() == floats.high() => {
                            Some(floats.low().to_bits())
                        }
                        _ => None,
                    });
                    boxes.set_bits(row, input, constant.map_or(endpoints, |bits| [bits; 2]));
                }
            }
            let mut bounds = BoundsBatch::new(&kernel, all.len());
            kernel.run(&[], &boxes, &mut bounds);
            (0..all.len()).map(|row| f64::from(bounds.get(row, 0)[1])).collect::<Vec<_>>()
        });
        let ratios = std::iter::zip(general, special).filter_map(|(general, special)| {
            (general > 0.0 && general.is_finite()).then_some((special / general).max(1e-9))
        });
        ratios.collect()
    }
}

/// Median times to compile s anew, to specialize and compile it, and to specialize it.
fn times(case: &Case, isa: Isa, runs: usize) -> [Duration; 3] {
    let settings = Settings::default();
    let known = case.known();
    let integrand = |shader: &Shader| {
        Integrand::new(shader, &settings, Frame::Local).expect("the shader is valid")
    };
    let general = integrand(&case.shader);
    let compile = |function: &Function| Code::compile(&passes::lower(function), isa);
    let mut times = [const { vec![] }; 3];
    for _ in 0..runs {
        let start = Instant::now();
        let shader = Shader::parse(case.shader.name(), case.shader.text()).expect("it is valid");
        black_box(compile(&integrand(&shader).point));
        times[0].push(start.elapsed());
        let start = Instant::now();
        let special = general.clone().specialize(known.clone());
        times[2].push(start.elapsed());
        black_box(compile(&special.point));
        times[1].push(start.elapsed());
    }
    times.map(|mut times| {
        times.sort();
        times[times.len() / 2]
    })
}
