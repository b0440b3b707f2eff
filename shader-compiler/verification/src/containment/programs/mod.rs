//! Fuzzing of the whole compiler with random WGSL programs that resemble handwritten shaders.
//!
//! Single [operations](super::Subject::op) and random IR functions do not resemble the optimized IR
//! of shaders, which use the same few values many times. `generate` generates programs. A [`Trial`]
//! compiles some bounding shaders of a program and checks them on random boxes. [`shrink()`]
//! reduces a program that shows a fault, together with the box, as C-Reduce does (Regehr et al.
//! 2012). [`report()`] prints the program and the commands that reproduce the fault.

mod ast;
mod expressions;
mod floats;
mod generate;
mod idioms;
mod print;
mod report;
mod shrink;
mod statements;
mod trial;
mod vectors;

pub use report::report;
pub use shrink::shrink;
pub use trial::{CheckBudget, Trial};

use ast::Module;
use std::collections::BTreeSet;
use std::fmt;

/// A random program; [`Display`](fmt::Display) writes it as WGSL.
#[derive(Clone, Debug)]
pub struct Program {
    module: Module,
    features: BTreeSet<&'static str>,
}

impl Program {
    /// Generates the program for a seed.
    pub fn random(seed: u64) -> Program {
        generate::program(seed)
    }

    /// Returns the names of the language features and idioms in the program.
    pub fn features(&self) -> impl Iterator<Item = &'static str> {
        self.features.iter().copied()
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.module.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_shader::bounding::{Frame, Integrand, IntervalInputs, Ranges};
    use lightbound_shader::frontend::{Settings, Shader};
    use lightbound_shader::lift::Options;
    use lightbound_shader::relations::{Refinement, Relation, Relations};
    use std::collections::BTreeMap;

    /// Names of features, without idioms.
    const FEATURES: &[&str] = &[
        "%",
        "&& and ||",
        "Material",
        "abs",
        "acos",
        "any and all",
        "array",
        "asin",
        "asinh",
        "atan",
        "atan2",
        "bit hash",
        "bit operations",
        "break",
        "ceil",
        "const",
        "continue",
        "cos",
        "cosh",
        "countLeadingZeros",
        "countOneBits",
        "cross",
        "determinant",
        "division",
        "dynamic index",
        "dynamic store",
        "early return",
        "exp",
        "exp2",
        "extractBits",
        "faceForward",
        "firstLeadingBit",
        "firstTrailingBit",
        "floor",
        "fma",
        "fn material",
        "for",
        "fract",
        "frexp",
        "function",
        "guard",
        "if",
        "insertBits",
        "integer division",
        "inverseSqrt",
        "ldexp",
        "log",
        "log2",
        "loop with a data-dependent end",
        "loop with continuing",
        "mantissa bits",
        "matrix product",
        "max dot",
        "mix",
        "modf",
        "normalize",
        "override",
        "pointer",
        "pow",
        "private variable",
        "quantizeToF16",
        "reflect",
        "refract",
        "reverseBits",
        "round",
        "saturate",
        "select",
        "shifts",
        "sign",
        "sin",
        "sinh",
        "smoothstep",
        "sqrt",
        "step",
        "struct",
        "switch",
        "tan",
        "tanh",
        "texture",
        "textureLoad",
        "textureSample",
        "textureSampleLevel",
        "transpose",
        "trunc",
        "two-sided",
        "vector select",
        "while",
        "x - x x",
    ];

    #[test]
    fn the_front_end_accepts_all_programs() {
        let mut rejected = BTreeMap::<String, Vec<u64>>::new();
        for seed in 0..3000 {
            let text = Program::random(seed).to_string();
            let compiled = Shader::parse("a.wgsl", &text).and_then(|shader| {
                let settings = Settings { loop_cap: 40, ..Settings::default() };
                if seed % 10 == 0 {
                    Integrand::new(&shader, &settings, Frame::Local).map(|_| ())
                } else {
                    Ok(())
                }
            });
            if let Err(error) = compiled {
                let label = error
                    .labels
                    .first()
                    .and_then(|label| label.label().map(str::to_owned))
                    .unwrap_or_default();
                rejected.entry(format!("{error}: {label}")).or_default().push(seed);
            }
        }
        assert!(rejected.is_empty(), "{rejected:#?}");
    }

    #[test]
    fn programs_have_all_features_and_idioms() {
        let mut found = BTreeMap::new();
        for seed in 0..4000 {
            for feature in Program::random(seed).features() {
                *found.entry(feature).or_insert(0) += 1;
            }
        }
        let expected = FEATURES.iter().copied().chain(idioms::IDIOMS.iter().map(|(name, _)| *name));
        let rare: Vec<_> =
            expected.filter(|feature| found.get(feature).is_none_or(|&times| times < 5)).collect();
        assert!(rare.is_empty(), "{rare:?} of {found:#?}");
    }

    #[test]
    fn programs_reuse_values_and_are_short() {
        let (mut names, mut uses, mut lines) = (0, 0, vec![]);
        for seed in 0..500 {
            let mut program = Program::random(seed);
            program.module.walk_blocks(&mut |block| {
                names += block.iter().filter(|stmt| matches!(stmt, ast::Stmt::Let(..))).count();
            });
            program.module.walk_expressions(&mut |expr| {
                uses += usize::from(matches!(expr.kind, ast::ExprKind::Name(_)))
            });
            lines.push(program.to_string().lines().count());
        }
        lines.sort_unstable();
        assert!(uses > 3 * names, "{uses} uses of {names} names");
        assert!(
            (15..60).contains(&lines[lines.len() / 2]) && lines[lines.len() - 1] < 300,
            "{lines:?}"
        );
    }

    #[test]
    fn programs_exercise_all_relations() {
        let mut found = BTreeMap::new();
        for seed in 0..600 {
            let shader = Shader::parse("a.wgsl", &Program::random(seed).to_string())
                .expect("programs are valid");
            let settings = Settings { loop_cap: 40, ..Settings::default() };
            let integrand =
                Integrand::new(&shader, &settings, Frame::Local).expect("programs compile");
            let options = Options { relations: Relations::all(), ..Options::default() };
            let lifted = integrand
                .bound(&integrand.inputs(IntervalInputs::Light, Ranges::Declared), &options);
            let refinements =
                lifted.related.refinements.iter().flatten().filter_map(Refinement::relation);
            let support = lifted.related.support.map(|_| Relation::Support);
            for relation in refinements.chain(support).collect::<BTreeSet<_>>() {
                *found.entry(relation).or_insert(0) += 1;
            }
        }
        // Programs are BRDFs, in which relations of densities are not searched for.
        let excluded = [Relation::Unit, Relation::Polynomials, Relation::Mixtures];
        for relation in Relation::ALL.iter().filter(|relation| !excluded.contains(relation)) {
            let times = found.get(relation).copied().unwrap_or(0);
            assert!(times >= 10, "{relation} is in {times} programs: {found:?}");
        }
    }
}
