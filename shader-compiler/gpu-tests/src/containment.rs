//! Containment on the GPU: the float that the point program returns for a member of a box lies
//! between the bounds that the bounding program returns for the box.
//!
//! A GPU rounds as it likes, so bounds are [widened](lightbound_shader::backend::gpu::widen). The
//! results tell the margin that would have sufficed.

use crate::{Gpu, Program, Source};
use lightbound_shader::backend::gpu::widen;
use lightbound_shader::bounding::{Frame, Integrand, IntervalInputs, Ranges};
use lightbound_shader::ir::{Table, Type};
use lightbound_shader::lift::{Lifted, Options};
use lightbound_shader::random::Random;
use lightbound_shader::{Settings, Shader, Texture, interpreter};
use lightbound_verification::containment::{Sample, sample};
use std::fmt;

/// A function with its point and its bounding program on a GPU.
pub struct Subject {
    name: String,
    lifted: Lifted,
    point: Program,
    bounding: Program,
}

/// Counts of results.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Results compared with their bounds.
    pub checks: u64,
    /// Results that are NaN, which bounds do not cover.
    pub nan: u64,
    /// Results outside of the bounds.
    pub violations: u64,
    /// Results outside of the bounds by no more than the smallest normal number, where the GPU has
    /// replaced subnormal numbers by 0. They are not violations.
    pub subnormal: u64,
    /// Results of the point program that were compared with the interpreter's.
    pub compared: u64,
    /// Of these, results with other bits, apart from zeros and NaNs.
    pub different: u64,
    /// Of these, results that differ by more than the smallest normal number and 4 ulps.
    pub distant: u64,
    /// The first violation.
    pub fault: Option<String>,
}

impl Tally {
    /// Adds the counts of another tally.
    pub fn add(&mut self, other: Tally) {
        self.checks += other.checks;
        self.nan += other.nan;
        self.violations += other.violations;
        self.subnormal += other.subnormal;
        self.compared += other.compared;
        self.different += other.different;
        self.distant += other.distant;
        self.fault = self.fault.take().or(other.fault);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { checks, nan, violations, subnormal, compared, different, distant, fault } =
            self;
        write!(
            f,
            "{checks} checks, {violations} violations, {subnormal} by subnormal numbers, {nan} NaN; \
             {different} of {compared} results differ from the interpreter's, {distant} of them by \
             more than 4 ulps"
        )?;
        fault.iter().try_for_each(|fault| write!(f, "\n{fault}"))
    }
}

/// The distance of a float from zero in steps from float to float.
fn ordinal(x: f32) -> i64 {
    let magnitude = i64::from(x.to_bits() & 0x7fff_ffff);
    if x.is_sign_negative() { -magnitude } else { magnitude }
}

impl Subject {
    /// Compiles the integrand, density or function of a shader, with bounds that are widened by
    /// this number of ulps.
    pub fn new(
        gpu: &Gpu,
        name: &str,
        shader: &Shader,
        options: &Options,
        source: Source,
        ulps: u32,
    ) -> Subject {
        let integrand = Integrand::new(shader, &Settings::default(), Frame::Local)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let inputs = integrand.inputs(IntervalInputs::All, Ranges::Declared);
        let lifted = integrand.bound(&inputs, options);
        let point = gpu.compile(&lifted.point, source);
        let bounding = gpu.compile(&widen(&lifted.function, ulps), source);
        Subject { name: name.to_owned(), lifted, point, bounding }
    }

    /// Checks members of random boxes, and compares one of them in each box with the interpreter.
    pub fn check(
        &self,
        gpu: &Gpu,
        textures: &[&Texture],
        random: &mut Random,
        boxes: usize,
        members: usize,
    ) -> Tally {
        let Lifted { point, inputs, .. } = &self.lifted;
        let samples: Vec<_> =
            (0..boxes).map(|_| sample(random, &point.inputs, inputs, members)).collect();
        let rows: Vec<u32> = samples
            .iter()
            .flat_map(|sample| sample.members.iter().flatten())
            .zip(point.inputs.iter().cycle())
            .map(|(&word, port)| row_word(port.ty, word))
            .collect();
        let box_rows: Vec<u32> = samples.iter().flat_map(|sample| self.box_row(sample)).collect();
        let results = gpu.run(&self.point, textures, &rows);
        let bounds = gpu.run(&self.bounding, textures, &box_rows);
        let outputs = point.outputs.len();
        let per_box = results.chunks_exact(members * outputs);
        let bounds = bounds.chunks_exact(2 * outputs);
        let mut tally = Tally::default();
        for ((sample, results), bounds) in std::iter::zip(&samples, per_box).zip(bounds) {
            for (member, results) in std::iter::zip(&sample.members, results.chunks_exact(outputs))
            {
                self.check_member(&mut tally, sample, member, results, bounds);
            }
            let member = random.below(members);
            let results = &results[member * outputs..][..outputs];
            self.compare(&mut tally, textures, &sample.members[member], results);
        }
        tally
    }

    /// A row of the bounding program.
    fn box_row(&self, sample: &Sample) -> Vec<u32> {
        let ports = &self.lifted.point.inputs;
        let words = std::iter::zip(&sample.endpoints, self.lifted.layout()).zip(ports);
        words
            .flat_map(|((ends, (_, is_interval)), port)| {
                let ends = ends.map(|word| row_word(port.ty, word));
                ends.into_iter().take(if is_interval { 2 } else { 1 })
            })
            .collect()
    }

    fn check_member(
        &self,
        tally: &mut Tally,
        sample: &Sample,
        member: &[u32],
        results: &[u32],
        bounds: &[u32],
    ) {
        for ((port, &result), ends) in
            std::iter::zip(&self.lifted.point.outputs, results).zip(bounds.chunks_exact(2))
        {
            if port.ty != Type::F32 {
                continue;
            }
            let [x, low, high] = [result, ends[0], ends[1]].map(f32::from_bits);
            tally.checks += 1;
            if x.is_nan() {
                tally.nan += 1;
            } else if !(low <= x && x <= high) {
                let excess = (f64::from(low) - f64::from(x)).max(f64::from(x) - f64::from(high));
                if excess <= f64::from(f32::MIN_POSITIVE) {
                    tally.subnormal += 1;
                    continue;
                }
                tally.violations += 1;
                tally.fault.get_or_insert_with(|| {
                    let floats = |words: &[u32]| {
                        words.iter().map(|&word| f32::from_bits(word)).collect::<Vec<_>>()
                    };
                    let ends: Vec<_> = sample.endpoints.iter().map(|ends| floats(ends)).collect();
                    format!(
                        "{}: {} = {x:?} is not in {low:?}..{high:?}, for {:?} in {ends:?}",
                        self.name,
                        port.name,
                        floats(member),
                    )
                });
            }
        }
    }

    /// Compares the results for a member with the interpreter's.
    fn compare(&self, tally: &mut Tally, textures: &[&Texture], member: &[u32], results: &[u32]) {
        let tables: Vec<_> = textures.iter().map(|texture| Table::new(texture.words())).collect();
        let point = &self.lifted.point;
        let Ok(expected) = interpreter::run(point, &tables, member, 1 << 20) else { return };
        for ((port, &result), expected) in std::iter::zip(&point.outputs, results).zip(expected) {
            tally.compared += 1;
            if port.ty != Type::F32 {
                let is_different = result != row_word(port.ty, expected);
                tally.different += u64::from(is_different);
                tally.distant += u64::from(is_different);
                continue;
            }
            let [x, y] = [result, expected].map(f32::from_bits);
            if x == y || x.is_nan() && y.is_nan() {
                continue;
            }
            tally.different += 1;
            let is_subnormal = (x - y).abs() <= f32::MIN_POSITIVE;
            if !is_subnormal && (x.is_nan() || y.is_nan() || (ordinal(x) - ordinal(y)).abs() > 4) {
                tally.distant += 1;
            }
        }
    }
}

/// A word of the IR as a row has it: a bool is 0 or 1.
fn row_word(ty: Type, word: u32) -> u32 {
    if ty == Type::Bool { word & 1 } else { word }
}
