//! Support for tests of translation, from WGSL to results.

use super::Settings;
use super::layout::Layout;
use super::textures;
use super::translate::{Fault, Translator};
use crate::builder::{Builder, Rules};
use crate::interpreter;
use crate::ir::function::for_each_stmt;
use crate::ir::verify::verify;
use crate::ir::{Function, Stmt, Type};
use crate::random::Random;
use crate::testing::{random, same};
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use naga::{Handle, Module};

/// Maximum number of iterations of a loop.
pub(crate) const CAP: u32 = 1000;

/// Parses and validates a module.
pub(crate) fn module(source: &str) -> (Module, ModuleInfo) {
    let mut module = naga::front::wgsl::parse_str(source)
        .unwrap_or_else(|e| panic!("{}", e.emit_to_string(source)));
    textures::bind(&mut module);
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::all());
    let info = validator
        .validate(&module)
        .unwrap_or_else(|e| panic!("{}\n{source}", e.emit_to_string(source)));
    (module, info)
}

/// Types of the leaves of a type, in order.
pub(crate) fn leaves(module: &Module, ty: Handle<naga::Type>) -> Result<Vec<Type>, Fault> {
    let layout = Layout::new(module);
    let inner = &module.types[ty].inner;
    if layout.size(inner).is_none() {
        return Err(layout.fault(inner, module.types.get_span(ty)));
    }
    Ok(layout.leaves(inner))
}

/// Translates `f`. The outputs are the leaves of its result, and `capped`.
pub(crate) fn translate_with(source: &str, overrides: &[(String, f64)]) -> Result<Function, Fault> {
    let (module, info) = module(source);
    let (handle, function) = module
        .functions
        .iter()
        .find(|(_, f)| f.name.as_deref() == Some("f"))
        .expect("there is an `f`");
    let mut builder = Builder::new("f", Rules::Exact);
    let mut args = vec![];
    for (k, argument) in function.arguments.iter().enumerate() {
        let leaves = leaves(&module, argument.ty)?;
        let inputs = leaves
            .into_iter()
            .enumerate()
            .map(|(leaf, ty)| builder.input(&format!("{k}.{leaf}"), ty));
        args.push(inputs.collect::<Vec<_>>());
    }
    let settings = Settings { overrides: overrides.to_vec(), loop_cap: CAP, ..Settings::default() };
    let mut translator = Translator::new(&module, &info, builder, &settings);
    let results = translator.call(handle, &args)?;
    let capped = translator.capped();
    let result = function.result.as_ref().expect("`f` has a result");
    let types: Vec<_> = results.iter().map(|&value| translator.builder.ty(value)).collect();
    assert_eq!(types, leaves(&module, result.ty)?, "leaves have the types of the layout");
    let outputs = results
        .into_iter()
        .chain([capped])
        .enumerate()
        .map(|(k, value)| (format!("o{k}"), value))
        .collect::<Vec<_>>();
    let function = translator.into_builder().finish(outputs);
    assert_eq!(verify(&function), Ok(()));
    Ok(function)
}

/// Translates `f`, which must be valid.
pub(crate) fn translate(source: &str) -> Function {
    translate_with(source, &[]).unwrap_or_else(|fault| panic!("{fault:?}\n{source}"))
}

/// Translates `f`, which must fail. Returns the fault, and the text at its location.
pub(crate) fn fault(source: &str) -> (Fault, String) {
    let fault = translate_with(source, &[]).expect_err("translation should fail");
    let text = fault.span.to_range().map_or("", |range| &source[range]).to_owned();
    (fault, text)
}

/// Evaluates a function, with the textures of random functions.
pub(crate) fn run(function: &Function, inputs: &[u32]) -> Vec<u32> {
    interpreter::run(function, &random::tables(), inputs, 1 << 24).expect("loops are capped")
}

/// Asserts that `f(inputs…)` is `expected`, except for NaN payloads.
#[track_caller]
pub(crate) fn check(function: &Function, inputs: &[u32], expected: &[u32]) {
    let out = run(function, inputs);
    let matches = expected.len() + 1 == out.len()
        && out
            .iter()
            .zip(expected)
            .zip(&function.outputs)
            .all(|((&a, &b), port)| same(port.ty, a, b));
    let floats = |words: &[u32]| words.iter().map(|&w| f32::from_bits(w)).collect::<Vec<_>>();
    assert!(
        matches,
        "inputs {inputs:x?} {:?}\nresults {out:x?} {:?}\nexpected {expected:x?} {:?}",
        floats(inputs),
        floats(&out),
        floats(expected)
    );
}

/// Numbers of ifs, loops, and loop parameters.
pub(crate) fn shape(f: &Function) -> [usize; 3] {
    let mut shape = [0; 3];
    for_each_stmt(&f.body, &mut |stmt| match stmt {
        Stmt::Op(_) => {}
        Stmt::If(_) => shape[0] += 1,
        Stmt::Loop(l) => {
            shape[1] += 1;
            shape[2] += l.params.len();
        }
    });
    shape
}

/// Checks `f` for each input.
#[track_caller]
pub(crate) fn check_all(
    source: &str,
    inputs: impl IntoIterator<Item = i32>,
    expected: impl Fn(i32) -> i32,
) {
    let f = translate(source);
    for x in inputs {
        check(&f, &[x as u32], &[expected(x) as u32]);
    }
}

/// Generator of special and random test inputs.
pub(crate) struct Numbers(Random);

impl Numbers {
    pub fn new(seed: u64) -> Numbers {
        Numbers(Random::new(seed))
    }

    pub fn bits(&mut self) -> u32 {
        (self.0.bits() >> 32) as u32
    }

    pub fn below(&mut self, count: u32) -> u32 {
        self.bits() % count
    }

    /// A special float, one of moderate magnitude, or one with random bits.
    pub fn float(&mut self) -> f32 {
        const SPECIAL: [f32; 16] = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            -2.5,
            3.5,
            f32::MIN_POSITIVE,
            1e-45,
            -1e-40,
            f32::MAX,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::NAN,
            65504.0,
            6.1e-5,
        ];
        match self.below(8) {
            0 => SPECIAL[self.below(16) as usize],
            1 => f32::from_bits(self.bits()),
            _ => (self.bits() as i32 as f64 / 2f64.powi(31) * f64::from(1 << self.below(8))) as f32,
        }
    }

    /// A uniform float in [−4, 4].
    pub fn moderate(&mut self) -> f32 {
        (self.bits() as i32 as f64 / 2f64.powi(29)) as f32
    }

    /// A special integer, a small one, or one with random bits.
    pub fn int(&mut self) -> u32 {
        const SPECIAL: [u32; 8] = [0, 1, u32::MAX, 0x8000_0000, 0x7fff_ffff, 31, 32, 33];
        match self.below(4) {
            0 => SPECIAL[self.below(8) as usize],
            1 => self.below(64).wrapping_sub(32),
            _ => self.bits(),
        }
    }
}
