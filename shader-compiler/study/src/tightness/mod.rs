//! Over-estimation of upper bounds: the ratio of the bound to the true maximum, for a published
//! list of materials.
//!
//! A [`Subject`] is a material of the [`list`] with its point shader and all [kinds](Kind) of
//! bounding shaders compiled. For each [`Placement`], a view direction and a box of light
//! directions, a search finds the [true maximum](truth) over the unit vectors in the box. It is
//! compared with the bound of each kind and, if the material has one, with the bound derived by
//! [`hand`](lightbound_shader::bounding::hand). A [`Cell`] summarizes a half-angle with quartiles:
//! ratios differ by orders of magnitude, so means would reflect only the worst case.
//!
//! Two kinds of cases are excluded, and counted: those whose maximum is 0, and those whose maximum
//! is below 10⁻⁴ of the lobe's peak for the same view direction, where even a loose bound is too
//! small to matter.
//!
//! All results are a function of the seed.

mod hand;
pub mod list;
pub mod patch;
pub mod placement;
pub mod truth;

use lightbound_shader::CompileError;
use lightbound_shader::bounding::hand::{Lobe, mirror};
use lightbound_shader::bounding::{
    BoundingKernel, BoundsBatch, BoxBatch, Integrand, IntervalInputs, Ranges, SplitKernel,
};
use lightbound_shader::frontend::{Parameter, Scalar, Shader};
use lightbound_shader::interval::Nan;
use lightbound_shader::ir::Function;
use lightbound_shader::jit::Arena;
use lightbound_shader::kernel::Kernel;
use lightbound_shader::lift::{BoundSides, Options, Tracking};
use lightbound_shader::passes;
use lightbound_shader::relations::Relations;
use lightbound_shader::target::Target;
use list::Material;
use patch::Patch;
use placement::{Placement, generator};
use truth::Search;

/// A kind of bounding shader.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kind {
    /// Display name.
    pub name: &'static str,
    /// Options of the bounding shader.
    pub options: Options,
    /// Number of sub-boxes that a box is [split](SplitKernel) into; 1 without splitting.
    pub parts: usize,
}

/// The kinds to compare. Related ones use these relations.
pub fn kinds(nan: Nan, relations: Relations) -> Vec<Kind> {
    let optimized = Options { sides: BoundSides::Upper, nan, ..Options::default() };
    let naive = Options { tracking: Tracking::NONE, ..optimized };
    let related = Options { relations, ..optimized };
    vec![
        Kind { name: "naive", options: naive, parts: 1 },
        Kind { name: "optimized", options: optimized, parts: 1 },
        Kind { name: "related", options: related, parts: 1 },
        Kind { name: "related, 4 parts", options: related, parts: 4 },
    ]
}

/// Name of the bound derived by [`hand`](lightbound_shader::bounding::hand).
pub const HAND: &str = "hand";

/// Maxima below this fraction of the lobe's peak are faint.
const FAINT_FRACTION: f32 = 1e-4;

/// Restricts the integrand to its first colour component.
fn first_colour(mut integrand: Integrand) -> Integrand {
    integrand.outputs.truncate(1);
    integrand
}

/// The point shader that is bounded.
fn point_shader(integrand: &Integrand) -> Function {
    integrand
        .bound(&integrand.inputs(IntervalInputs::Light, Ranges::Declared), &Options::default())
        .point
}

/// A material with all compiled code.
#[derive(Debug)]
pub struct Subject {
    /// The material.
    pub material: Material,
    point: Kernel,
    kinds: Vec<(Kind, BoundingKernel)>,
    hand: Option<Lobe>,
    /// Bits of the parameters.
    parameters: Vec<u32>,
}

/// Outcome for a view direction and a box.
#[derive(Clone, Debug, PartialEq)]
enum Case {
    /// The maximum is 0.
    Zero,
    /// The maximum is faint.
    Faint,
    /// Ratio of bound to maximum for each kind.
    Ratios(Vec<f64>),
}

impl Subject {
    /// Compiles a material for a target. `shader` is the material's shader, and `integrand` is its
    /// integrand in the local frame.
    ///
    /// *Panics* if the shader reads textures, or lacks a parameter that the material sets.
    pub fn new(
        material: Material,
        shader: &Shader,
        integrand: Integrand,
        kinds: &[Kind],
        target: Target,
    ) -> Result<Subject, CompileError> {
        for (name, _) in material.settings() {
            assert!(
                shader.parameters().iter().any(|parameter| parameter.name == name),
                "{} has no {name}",
                material.shader
            );
        }
        let arena = Arena::new();
        let integrand = first_colour(integrand);
        let inputs = integrand.inputs(IntervalInputs::Light, Ranges::Declared);
        let point = Kernel::compile(&arena, &passes::lower(&point_shader(&integrand)), target)?;
        let compile = |kind: &Kind| {
            let lifted = integrand.bound(&inputs, &kind.options);
            Ok((*kind, BoundingKernel::compile(&arena, &lifted, target)?))
        };
        let kinds = kinds.iter().map(compile).collect::<Result<Vec<_>, CompileError>>()?;
        let parameters =
            shader.parameters().iter().flat_map(|parameter| words(parameter, &material)).collect();
        Ok(Subject { material, point, kinds, hand: hand::lobe(&material), parameters })
    }

    /// Names of the bounds that are compared.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.kinds.iter().map(|(kind, _)| kind.name).chain(self.hand.map(|_| HAND))
    }

    /// Measures `cases` random cones of this half-angle, in degrees.
    pub fn measure(&self, half_angle: f64, cases: usize, seed: u64) -> Cell {
        let placements: Vec<_> =
            (0..cases).map(|index| Placement::new(seed, half_angle, index)).collect();
        let bounds = self.bounds(&placements);
        let measured: Vec<_> = std::iter::zip(&placements, bounds)
            .enumerate()
            .map(|(index, (placement, bounds))| {
                self.case(placement, bounds, seed ^ 0x7275_7468, half_angle, index)
            })
            .collect();
        let ratios: Vec<&Vec<f64>> = measured
            .iter()
            .filter_map(|case| if let Case::Ratios(ratios) = case { Some(ratios) } else { None })
            .collect();
        let spread = |kind: usize| Spread::of(ratios.iter().map(|ratios| ratios[kind]).collect());
        Cell {
            half_angle,
            used: ratios.len(),
            zero: measured.iter().filter(|case| **case == Case::Zero).count(),
            faint: measured.iter().filter(|case| **case == Case::Faint).count(),
            spreads: self.names().enumerate().map(|(kind, name)| (name, spread(kind))).collect(),
        }
    }

    /// The bound of each kind for each placement; infinite if a kind has none.
    fn bounds(&self, placements: &[Placement]) -> Vec<Vec<f64>> {
        let mut bounds = vec![vec![]; placements.len()];
        for (kind, kernel) in &self.kinds {
            let mut boxes = BoxBatch::new(kernel, placements.len());
            for (row, placement) in placements.iter().enumerate() {
                for (input, ends) in placement.patch.ends.into_iter().enumerate() {
                    boxes.set(row, input, ends);
                }
                for (input, bits) in self.fixed(placement).into_iter().enumerate() {
                    boxes.set_bits(row, 3 + input, [bits; 2]);
                }
            }
            let mut limits = BoundsBatch::new(kernel, placements.len());
            match kind.parts {
                1 => kernel.run(&[], &boxes, &mut limits),
                parts => SplitKernel::new(kernel, parts).run(&[], &boxes, &mut limits),
            }
            for (row, bounds) in bounds.iter_mut().enumerate() {
                let [_, upper] = limits.get(row, 0);
                bounds.push(if upper.is_nan() { f64::INFINITY } else { f64::from(upper) });
            }
        }
        if let Some(lobe) = self.hand {
            std::iter::zip(&mut bounds, placements).for_each(|(bounds, placement)| {
                bounds.push(lobe.upper(placement.wo, &placement.patch.ends))
            });
        }
        bounds
    }

    /// Bits of all inputs of the point shader after the light direction.
    fn fixed(&self, placement: &Placement) -> Vec<u32> {
        placement.wo.map(f32::to_bits).into_iter().chain(self.parameters.iter().copied()).collect()
    }

    fn case(
        &self,
        placement: &Placement,
        bounds: Vec<f64>,
        seed: u64,
        half_angle: f64,
        index: usize,
    ) -> Case {
        let mut search =
            Search::new(&self.point, &self.fixed(placement), generator(seed, half_angle, index));
        let expected = [mirror(placement.wo)];
        let mut maximum =
            |patch: &Patch| search.maximum(patch, &expected).map_or(0.0, |point| point.value);
        let [in_patch, peak] = [maximum(&placement.patch), maximum(&Patch::UPPER)];
        match in_patch {
            0.0 => Case::Zero,
            _ if in_patch < FAINT_FRACTION * peak => Case::Faint,
            _ => {
                Case::Ratios(bounds.into_iter().map(|bound| bound / f64::from(in_patch)).collect())
            }
        }
    }
}

/// Bits of a parameter's components: the material's setting, or the default.
fn words(parameter: &Parameter, material: &Material) -> Vec<u32> {
    let values = match material.get(&parameter.name) {
        Some(value) => vec![value; parameter.size],
        None => parameter.default.clone().unwrap_or(vec![0.0; parameter.size]),
    };
    let word = |value: f64| match parameter.scalar {
        Scalar::F32 => (value as f32).to_bits(),
        Scalar::Bool => {
            if value != 0.0 {
                !0
            } else {
                0
            }
        }
        Scalar::I32 => value as i32 as u32,
        Scalar::U32 => value as u32,
    };
    values.into_iter().map(word).collect()
}

/// Result for a material and a half-angle.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Half-angle in degrees.
    pub half_angle: f64,
    /// Number of measured cases.
    pub used: usize,
    /// Number of cases excluded because the maximum is 0.
    pub zero: usize,
    /// Number of cases excluded because the maximum is faint.
    pub faint: usize,
    /// For each kind of bound, the distribution of its ratios; `None` if all cases are excluded.
    pub spreads: Vec<(&'static str, Option<Spread>)>,
}

/// Distribution of a sample; infinite values stand for missing bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The minimum.
    pub least: f64,
    /// First quartile, median and third quartile: the values of the sample that a quarter, half and
    /// three quarters of it do not exceed.
    pub quartiles: [f64; 3],
}

impl Spread {
    /// The distribution of a sample; `None` if the sample is empty.
    pub fn of(mut values: Vec<f64>) -> Option<Spread> {
        values.sort_by(f64::total_cmp);
        let quartile = |part: usize| values[(part * values.len()).div_ceil(4) - 1];
        (!values.is_empty())
            .then(|| Spread { least: values[0], quartiles: [1, 2, 3].map(quartile) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_shader::bounding::Frame;
    use lightbound_shader::frontend::Settings;
    use lightbound_shader::random::Random;

    #[test]
    fn quartiles_are_values_of_the_sample() {
        let spread = |values: &[f64]| Spread::of(values.to_vec());
        assert_eq!(spread(&[]), None);
        assert_eq!(spread(&[3.0]), Some(Spread { least: 3.0, quartiles: [3.0; 3] }));
        assert_eq!(
            spread(&[4.0, 1.0, f64::INFINITY, 2.0]),
            Some(Spread { least: 1.0, quartiles: [1.0, 2.0, 4.0] })
        );
        assert_eq!(
            spread(&[5.0, 4.0, 3.0, 2.0, 1.0]),
            Some(Spread { least: 1.0, quartiles: [2.0, 3.0, 4.0] })
        );
    }

    fn subject(material: Material) -> Subject {
        let path =
            format!("{}/../../assets/shaders/{}.wgsl", env!("CARGO_MANIFEST_DIR"), material.shader);
        let text = std::fs::read_to_string(path).expect("the file can be read");
        let shader = Shader::parse(material.shader, &text).expect("the shader is valid");
        let integrand = Integrand::new(&shader, &Settings::default(), Frame::Local)
            .expect("the shader is valid");
        Subject::new(
            material,
            &shader,
            integrand,
            &kinds(Nan::Suppress, Relations::all()),
            Target::best(),
        )
        .expect("it compiles")
    }

    #[test]
    fn bounds_of_listed_materials_are_not_below_the_maximum() {
        for material in list::LIST {
            let subject = subject(material);
            for half_angle in [1.0, 10.0, 45.0] {
                let cell = subject.measure(half_angle, 12, 3);
                assert_eq!(cell.used + cell.zero + cell.faint, 12);
                let [naive, optimized, related, in_parts] =
                    [0, 1, 2, 3].map(|kind| cell.spreads[kind].1);
                assert_eq!(naive, optimized, "{}", material.title());
                for (tighter, wider) in [(related, optimized), (in_parts, related)] {
                    let [tighter, wider] = [tighter, wider]
                        .map(|spread| spread.map_or([1.0; 3], |spread| spread.quartiles));
                    // Functions that are not quite monotone are widened by some ulps, so that the
                    // bound of a part may exceed that of the whole box slightly.
                    let mut pairs = std::iter::zip(tighter, wider);
                    assert!(
                        pairs.all(|(tighter, wider)| tighter <= wider * (1.0 + 1e-6)),
                        "{}",
                        material.title()
                    );
                }
                for (name, spread) in &cell.spreads {
                    let least = spread.map_or(1.0, |spread| spread.least);
                    assert!(
                        least >= if *name == HAND { 1.0 - 1e-6 } else { 1.0 },
                        "{}, {name}: {least}",
                        material.title()
                    );
                }
            }
        }
    }

    #[test]
    fn diffuse_is_bounded_exactly() {
        let cell = subject(list::LIST[0]).measure(5.0, 40, 1);
        for (name, spread) in cell.spreads {
            let [_, median, third] = spread.expect("some cases are bright").quartiles;
            assert!(median < 1.0001 && third < 1.001, "{name}: {median} {third}");
        }
    }

    #[test]
    fn searches_agree_on_the_maximum() {
        for material in list::LIST {
            let subject = subject(material);
            for (index, half_angle) in [5.0, 5.0, 5.0, 45.0, 45.0, 45.0].into_iter().enumerate() {
                let placement = Placement::new(6, half_angle, index);
                let fixed = subject.fixed(&placement);
                let [a, b] = [1, 2].map(|seed| {
                    let mut search = Search::new(&subject.point, &fixed, Random::new(seed));
                    search
                        .maximum(&placement.patch, &[mirror(placement.wo)])
                        .map_or(0.0, |point| point.value)
                });
                // With exponents in the thousands, the last bit of a cosine matters.
                assert!(
                    (a - b).abs() <= 2e-3 * a.max(b),
                    "{}, {half_angle}°, case {index}: {a} {b}",
                    material.title()
                );
            }
        }
    }

    #[test]
    fn results_depend_only_on_the_seed() {
        let subject = subject(list::LIST[2]);
        let measure = |seed| subject.measure(20.0, 8, seed);
        assert_eq!(measure(4), measure(4));
        assert_ne!(measure(4), measure(5));
    }
}
