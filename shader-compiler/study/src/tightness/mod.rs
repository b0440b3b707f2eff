//! Over-estimation of upper bounds: the ratio of the bound to the true maximum, for a published
//! list of materials.
//!
//! A [`CompiledMaterial`] is one of the [materials] with compiled code: its point shader and a
//! bounding shader of each [kind](BoundKind). A [`BoundQuery`] is a view direction and a box of
//! light directions. For each query, a search finds the [true maximum](true_maximum) over the unit
//! vectors in the box. The bound of each kind is compared with it, and so is the
//! [hand-derived](lightbound_shader::bounding::hand) bound, if the material has one. A
//! [`ConeTightness`] summarizes the ratios for a half-angle by quartiles, since they differ by
//! orders of magnitude and means would reflect only the worst case.
//!
//! Two kinds of cases are excluded and counted: the maximum is 0, or it is below 10⁻⁴ of the lobe's
//! peak for the same view direction, so that even a loose bound is too small to matter.
//!
//! The results depend only on the seed.

mod hand;
pub mod materials;
pub mod patch;
pub mod query;
pub mod true_maximum;

use lightbound_shader::CompileError;
use lightbound_shader::bounding::hand::{Lobe, mirror};
use lightbound_shader::bounding::{
    BoundingKernel, BoundsBatch, BoxBatch, Integrand, IntervalInputs, Ranges, SplitKernel,
};
use lightbound_shader::frontend::{Parameter, Shader};
use lightbound_shader::interval::Nan;
use lightbound_shader::ir::Function;
use lightbound_shader::jit::Arena;
use lightbound_shader::kernel::Kernel;
use lightbound_shader::lift::{BoundSides, Options, Tracking};
use lightbound_shader::passes;
use lightbound_shader::relations::Relations;
use lightbound_shader::target::Target;
use materials::Material;
use patch::Patch;
use query::{BoundQuery, generator};
use true_maximum::MaximumSearch;

/// A kind of bounding shader.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundKind {
    /// Display name.
    pub name: &'static str,
    /// Options of the bounding shader.
    pub options: Options,
    /// Number of parts that a box is [split](SplitKernel) into; 1 without splitting.
    pub parts: usize,
}

/// Returns the kinds of bounding shaders to compare. Related ones use these relations.
pub fn bound_kinds(nan: Nan, relations: Relations) -> Vec<BoundKind> {
    let optimized = Options { sides: BoundSides::Upper, nan, ..Options::default() };
    let naive = Options { tracking: Tracking::NONE, ..optimized };
    let related = Options { relations, ..optimized };
    vec![
        BoundKind { name: "naive", options: naive, parts: 1 },
        BoundKind { name: "optimized", options: optimized, parts: 1 },
        BoundKind { name: "related", options: related, parts: 1 },
        BoundKind { name: "related, 4 parts", options: related, parts: 4 },
    ]
}

/// Name of the [hand-derived](lightbound_shader::bounding::hand) bound.
pub const HAND_DERIVED: &str = "hand";

/// Maxima below this fraction of the lobe's peak are faint.
const FAINT_FRACTION: f32 = 1e-4;

/// Restricts the integrand to its first colour component.
fn first_colour(mut integrand: Integrand) -> Integrand {
    integrand.outputs.truncate(1);
    integrand
}

/// Returns the point shader that bounds are computed for.
fn point_shader(integrand: &Integrand) -> Function {
    integrand
        .bound(&integrand.inputs(IntervalInputs::Light, Ranges::Declared), &Options::default())
        .point
}

/// A material with its compiled point shader and bounding shaders.
#[derive(Debug)]
pub struct CompiledMaterial {
    /// The material.
    pub material: Material,
    point: Kernel,
    kinds: Vec<(BoundKind, BoundingKernel)>,
    /// The lobe for the hand-derived bound, if the material has one.
    hand: Option<Lobe>,
    /// Bits of the parameters.
    parameters: Vec<u32>,
}

/// The result for one query.
#[derive(Clone, Debug, PartialEq)]
enum Case {
    /// The maximum is 0.
    Zero,
    /// The maximum is faint.
    Faint,
    /// The ratio of bound to maximum for each bound.
    Ratios(Vec<f64>),
}

impl CompiledMaterial {
    /// Compiles a material for a target. `shader` is the material's shader, and `integrand` is its
    /// integrand in the local frame.
    ///
    /// # Panics
    ///
    /// Panics if the shader lacks a parameter that the material sets.
    pub fn new(
        material: Material,
        shader: &Shader,
        integrand: Integrand,
        kinds: &[BoundKind],
        target: Target,
    ) -> Result<CompiledMaterial, CompileError> {
        for (name, _) in material.settings() {
            assert!(
                shader.parameters().iter().any(|parameter| parameter.name == name),
                "shader {} has no parameter {name}",
                material.shader
            );
        }
        let arena = Arena::new();
        let integrand = first_colour(integrand);
        let inputs = integrand.inputs(IntervalInputs::Light, Ranges::Declared);
        let point = Kernel::compile(&arena, &passes::lower(&point_shader(&integrand)), target)?;
        let compile = |kind: &BoundKind| {
            let lifted = integrand.bound(&inputs, &kind.options);
            Ok((*kind, BoundingKernel::compile(&arena, &lifted, target)?))
        };
        let kinds = kinds.iter().map(compile).collect::<Result<Vec<_>, CompileError>>()?;
        let parameters =
            shader.parameters().iter().flat_map(|parameter| words(parameter, &material)).collect();
        Ok(CompiledMaterial { material, point, kinds, hand: hand::lobe(&material), parameters })
    }

    /// Returns the names of the bounds to compare.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.kinds.iter().map(|(kind, _)| kind.name).chain(self.hand.map(|_| HAND_DERIVED))
    }

    /// Measures `cases` random cones of this half-angle, in degrees.
    pub fn measure(&self, half_angle: f64, cases: usize, seed: u64) -> ConeTightness {
        let queries: Vec<_> =
            (0..cases).map(|index| BoundQuery::new(seed, half_angle, index)).collect();
        let bounds = self.bounds(&queries);
        let cases: Vec<_> = std::iter::zip(&queries, bounds)
            .enumerate()
            .map(|(index, (query, bounds))| {
                self.case(query, bounds, seed ^ 0x7275_7468, half_angle, index)
            })
            .collect();
        let ratios: Vec<&Vec<f64>> = cases
            .iter()
            .filter_map(|case| if let Case::Ratios(ratios) = case { Some(ratios) } else { None })
            .collect();
        let distribution = |bound: usize| {
            RatioDistribution::from_values(ratios.iter().map(|ratios| ratios[bound]).collect())
        };
        ConeTightness {
            half_angle,
            measured: ratios.len(),
            zero: cases.iter().filter(|case| **case == Case::Zero).count(),
            faint: cases.iter().filter(|case| **case == Case::Faint).count(),
            distributions: self
                .names()
                .enumerate()
                .map(|(bound, name)| (name, distribution(bound)))
                .collect(),
        }
    }

    /// Computes all bounds for each query. NaN, the absence of a bound, becomes ∞.
    fn bounds(&self, queries: &[BoundQuery]) -> Vec<Vec<f64>> {
        let mut bounds = vec![vec![]; queries.len()];
        for (kind, kernel) in &self.kinds {
            let mut boxes = BoxBatch::new(kernel, queries.len());
            for (row, query) in queries.iter().enumerate() {
                for (input, endpoints) in query.patch.endpoints.into_iter().enumerate() {
                    boxes.set(row, input, endpoints);
                }
                for (input, bits) in self.fixed_inputs(query).into_iter().enumerate() {
                    boxes.set_bits(row, 3 + input, [bits; 2]);
                }
            }
            let mut kernel_bounds = BoundsBatch::new(kernel, queries.len());
            match kind.parts {
                1 => kernel.run(&[], &boxes, &mut kernel_bounds),
                parts => SplitKernel::new(kernel, parts).run(&[], &boxes, &mut kernel_bounds),
            }
            for (row, bounds) in bounds.iter_mut().enumerate() {
                let [_, upper] = kernel_bounds.get(row, 0);
                bounds.push(if upper.is_nan() { f64::INFINITY } else { f64::from(upper) });
            }
        }
        if let Some(lobe) = self.hand {
            std::iter::zip(&mut bounds, queries).for_each(|(bounds, query)| {
                bounds.push(lobe.upper(query.wo, &query.patch.endpoints))
            });
        }
        bounds
    }

    /// Returns the bits of the point shader's inputs after the light direction.
    fn fixed_inputs(&self, query: &BoundQuery) -> Vec<u32> {
        query.wo.map(f32::to_bits).into_iter().chain(self.parameters.iter().copied()).collect()
    }

    /// Compares the bounds for a query with the true maximum.
    fn case(
        &self,
        query: &BoundQuery,
        bounds: Vec<f64>,
        seed: u64,
        half_angle: f64,
        index: usize,
    ) -> Case {
        let mut search = MaximumSearch::new(
            &self.point,
            &self.fixed_inputs(query),
            generator(seed, half_angle, index),
        );
        let starts = [mirror(query.wo)];
        let mut maximum =
            |patch: &Patch| search.maximum(patch, &starts).map_or(0.0, |point| point.value);
        let [in_patch, peak] = [maximum(&query.patch), maximum(&Patch::UPPER)];
        match in_patch {
            0.0 => Case::Zero,
            _ if in_patch < FAINT_FRACTION * peak => Case::Faint,
            _ => {
                Case::Ratios(bounds.into_iter().map(|bound| bound / f64::from(in_patch)).collect())
            }
        }
    }
}

/// Returns the bits of a parameter's components: of the material's setting, or of the default.
fn words(parameter: &Parameter, material: &Material) -> Vec<u32> {
    let values = match material.get(&parameter.name) {
        Some(value) => vec![value; parameter.size],
        None => parameter.default.clone().unwrap_or(vec![0.0; parameter.size]),
    };
    values.into_iter().map(|value| parameter.scalar.bits(value)).collect()
}

/// The tightness of a material's bounds for cones of one half-angle.
#[derive(Clone, Debug, PartialEq)]
pub struct ConeTightness {
    /// Half-angle in degrees.
    pub half_angle: f64,
    /// Number of cases that are not excluded.
    pub measured: usize,
    /// Number of cases excluded because the maximum is 0.
    pub zero: usize,
    /// Number of cases excluded because the maximum is faint.
    pub faint: usize,
    /// Name of each bound and the distribution of its ratios; `None` if all cases are excluded.
    pub distributions: Vec<(&'static str, Option<RatioDistribution>)>,
}

/// The distribution of ratios of bound to maximum. Ratios are infinite where there is no bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatioDistribution {
    /// The minimum.
    pub min: f64,
    /// First quartile, median and third quartile: the smallest ratios that a quarter, half and
    /// three quarters of the ratios do not exceed.
    pub quartiles: [f64; 3],
}

impl RatioDistribution {
    /// Computes the distribution; `None` if there are no values.
    pub fn from_values(mut values: Vec<f64>) -> Option<RatioDistribution> {
        values.sort_by(f64::total_cmp);
        let quartile = |part: usize| values[(part * values.len()).div_ceil(4) - 1];
        (!values.is_empty())
            .then(|| RatioDistribution { min: values[0], quartiles: [1, 2, 3].map(quartile) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_shader::bounding::Frame;
    use lightbound_shader::frontend::Settings;
    use lightbound_shader::random::Random;

    #[test]
    fn quartiles_are_sample_values() {
        let distribution = |values: &[f64]| RatioDistribution::from_values(values.to_vec());
        assert_eq!(distribution(&[]), None);
        assert_eq!(distribution(&[3.0]), Some(RatioDistribution { min: 3.0, quartiles: [3.0; 3] }));
        assert_eq!(
            distribution(&[4.0, 1.0, f64::INFINITY, 2.0]),
            Some(RatioDistribution { min: 1.0, quartiles: [1.0, 2.0, 4.0] })
        );
        assert_eq!(
            distribution(&[5.0, 4.0, 3.0, 2.0, 1.0]),
            Some(RatioDistribution { min: 1.0, quartiles: [2.0, 3.0, 4.0] })
        );
    }

    fn compile(material: Material) -> CompiledMaterial {
        let path =
            format!("{}/../../assets/shaders/{}.wgsl", env!("CARGO_MANIFEST_DIR"), material.shader);
        let text = std::fs::read_to_string(path).expect("the file can be read");
        let shader = Shader::parse(material.shader, &text).expect("the shader is valid");
        let integrand = Integrand::new(&shader, &Settings::default(), Frame::Local)
            .expect("the shader is valid");
        CompiledMaterial::new(
            material,
            &shader,
            integrand,
            &bound_kinds(Nan::Suppress, Relations::all()),
            Target::best(),
        )
        .expect("it compiles")
    }

    #[test]
    fn bounds_on_listed_materials_are_not_below_the_maximum() {
        for material in materials::MATERIALS {
            let compiled = compile(material);
            for half_angle in [1.0, 10.0, 45.0] {
                let cone = compiled.measure(half_angle, 12, 3);
                assert_eq!(cone.measured + cone.zero + cone.faint, 12);
                let [naive, optimized, related, split] =
                    [0, 1, 2, 3].map(|kind| cone.distributions[kind].1);
                assert_eq!(naive, optimized, "{}", material.title());
                for (tighter, wider) in [(related, optimized), (split, related)] {
                    let [tighter, wider] = [tighter, wider]
                        .map(|ratios| ratios.map_or([1.0; 3], |ratios| ratios.quartiles));
                    // Bounds on functions that are not exactly monotone are widened by some ulps.
                    // The bound for a part may thus slightly exceed that for the unsplit box.
                    let mut pairs = std::iter::zip(tighter, wider);
                    assert!(
                        pairs.all(|(tighter, wider)| tighter <= wider * (1.0 + 1e-6)),
                        "{}",
                        material.title()
                    );
                }
                for (name, distribution) in &cone.distributions {
                    let min = distribution.map_or(1.0, |distribution| distribution.min);
                    assert!(
                        min >= if *name == HAND_DERIVED { 1.0 - 1e-6 } else { 1.0 },
                        "{}, {name}: {min}",
                        material.title()
                    );
                }
            }
        }
    }

    #[test]
    fn diffuse_is_bounded_exactly() {
        let cone = compile(materials::MATERIALS[0]).measure(5.0, 40, 1);
        for (name, distribution) in cone.distributions {
            let [_, median, third] = distribution.expect("some cases are bright").quartiles;
            assert!(median < 1.0001 && third < 1.001, "{name}: {median} {third}");
        }
    }

    #[test]
    fn searches_agree_on_the_maximum() {
        for material in materials::MATERIALS {
            let compiled = compile(material);
            for (index, half_angle) in [5.0, 5.0, 5.0, 45.0, 45.0, 45.0].into_iter().enumerate() {
                let query = BoundQuery::new(6, half_angle, index);
                let fixed = compiled.fixed_inputs(&query);
                let [a, b] = [1, 2].map(|seed| {
                    let mut search = MaximumSearch::new(&compiled.point, &fixed, Random::new(seed));
                    search
                        .maximum(&query.patch, &[mirror(query.wo)])
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
        let compiled = compile(materials::MATERIALS[2]);
        let measure = |seed| compiled.measure(20.0, 8, seed);
        assert_eq!(measure(4), measure(4));
        assert_ne!(measure(4), measure(5));
    }
}
