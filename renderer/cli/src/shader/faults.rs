//! The part of `shader check` that finds divisions by zero, NaN and infinite values, or proves that
//! there are none.

use crate::Error;
use crate::console;
use lightbound::material::parameters::format_number;
use lightbound::math::{Aabb, Vec3};
use lightbound_shader::faults::{
    self, Fault, FaultKind, Outcome, UNLIMITED, Witness, WitnessInput, texels_of,
};
use lightbound_shader::{Entry, Scalar, Settings, Shader, ShaderKind};

/// The faults of the functions of a shader.
pub(super) struct Faults<'a> {
    shader: &'a Shader,
    reports: Vec<(&'a str, Entry, faults::Report)>,
}

impl<'a> Faults<'a> {
    /// Checks all functions that the renderer calls, those of a density for positions in a box.
    pub fn find(
        shader: &'a Shader,
        settings: &Settings,
        bounds: Aabb,
    ) -> Result<Faults<'a>, Error> {
        let [min, max] = [bounds.min, bounds.max].map(|p: Vec3| p.to_array());
        let positions = [0, 1, 2].map(|axis| [min[axis], max[axis]]);
        let mut entries = match shader.kind() {
            ShaderKind::Brdf => vec![("brdf", Entry::Integrand)],
            ShaderKind::Phase => vec![("phase", Entry::Integrand)],
            ShaderKind::Density => vec![("density", Entry::Density)],
            ShaderKind::Function => vec![(shader.function_name(), Entry::Function)],
        };
        if shader.has_sampler() {
            entries.extend([("sample", Entry::Sample), ("pdf", Entry::Pdf)]);
        }
        if shader.has_albedo() {
            entries.push(("albedo", Entry::Albedo));
        }
        if shader.has_emission() {
            entries.push(("emission", Entry::Emission));
        }
        let reports = entries
            .into_iter()
            .map(|(name, entry)| {
                Ok((name, entry, faults::find(shader, entry, settings, positions)?))
            })
            .collect::<Result<_, Error>>()?;
        Ok(Faults { shader, reports })
    }

    /// Whether a result of the BRDF or the phase function is NaN or infinite for some inputs.
    pub fn reach_integrand(&self) -> bool {
        let integrand = self.reports.iter().filter(|(_, entry, _)| *entry == Entry::Integrand);
        integrand.flat_map(|(_, _, report)| &report.faults).any(|fault| result(fault).is_some())
    }

    /// Whether the check fails: a result of a BRDF, a phase function or a sampler is NaN or infinite
    /// for parameters in declared ranges. Densities are tested at positions, and functions may return
    /// anything.
    pub fn fail(&self) -> bool {
        matches!(self.shader.kind(), ShaderKind::Brdf | ShaderKind::Phase)
            && self.reports.iter().any(|(_, _, report)| {
                report.faults.iter().any(|fault| match &fault.outcome {
                    Outcome::Happens(Witness { inputs, result: Some(_) }) => {
                        self.undeclared(report, inputs).is_none()
                    }
                    _ => false,
                })
            })
    }

    /// The first of these inputs that is a parameter without a limit, or a texture without a declared
    /// range, so that the author may not mean its value.
    fn undeclared(&self, report: &faults::Report, inputs: &[WitnessInput]) -> Option<&str> {
        inputs.iter().find_map(|WitnessInput { name, .. }| {
            let is_unlimited = report.unlimited.contains(name);
            let mut parameters = self.shader.settable().iter();
            let parameter = parameters.find(|parameter| is_unlimited && parameter.name == *name);
            let mut textures = std::iter::zip(self.shader.textures(), self.shader.texel_ranges());
            let texture = textures.find(|(texture, range)| {
                (is_unlimited || range.is_none()) && texels_of(texture) == *name
            });
            parameter.map(|parameter| &*parameter.name).or(texture.map(|(name, _)| &**name))
        })
    }

    /// A line for each function.
    pub fn summary(&self) -> Vec<String> {
        let all = self.reports.iter().map(|(name, _, report)| {
            let lines = |select: &dyn Fn(&Fault) -> bool| self.lines(report, select);
            let happens = lines(&|fault| result(fault).is_some());
            let harmless = lines(&|fault| {
                matches!(fault.outcome, Outcome::Happens(Witness { result: None, .. }))
            });
            // Faults that follow from others are excluded if the others are.
            let unknown =
                lines(&|fault| matches!(fault.outcome, Outcome::Unknown { follows: false }));
            let follows = report
                .faults
                .iter()
                .any(|fault| matches!(fault.outcome, Outcome::Unknown { follows: true }));
            let more = if report.truncated { ", and perhaps others" } else { "" };
            let is_affected = happens.is_some();
            let mut parts = vec![match (happens, &harmless) {
                (Some(lines), _) => format!("{lines} can fail{more}"),
                (None, Some(lines)) => format!("{lines} can fail, without effect on the result"),
                (None, None) if report.faults.is_empty() => "proved that there are none".into(),
                (None, None) => "none found".into(),
            }];
            match unknown {
                Some(lines) => parts.push(format!("not excluded in {lines}")),
                // After a fault that affects the result, others go without saying.
                None if follows && !is_affected => parts.push("not excluded elsewhere".to_owned()),
                None => {}
            }
            format!("{name}: {}", parts.join("; "))
        });
        let mut summary: Vec<String> = all.collect();
        summary.extend(self.assumed_texels());
        let mut unlimited: Vec<&str> = Vec::new();
        for (_, _, report) in &self.reports {
            for name in &report.unlimited {
                let is_settable =
                    self.shader.settable().iter().any(|parameter| parameter.name == *name)
                        || self.shader.textures().iter().any(|texture| texels_of(texture) == *name);
                if is_settable && !unlimited.contains(&name.as_str()) {
                    unlimited.push(name);
                }
            }
        }
        if !unlimited.is_empty() {
            summary.push(format!(
                "{}: only from {:e} to {UNLIMITED:e} in magnitude, where the range has no limit",
                unlimited.join(", "),
                1.0 / UNLIMITED
            ));
        }
        summary
    }

    /// The textures without a declared range, which are checked for texels from 0 to 1.
    fn assumed_texels(&self) -> Option<String> {
        let textures = std::iter::zip(self.shader.textures(), self.shader.texel_ranges());
        let names: Vec<&str> =
            textures.filter(|(_, range)| range.is_none()).map(|(name, _)| name.as_str()).collect();
        (!names.is_empty()).then(|| {
            let names = names.join(", ");
            format!("{names}: for texels from 0 to 1; a comment `/// range: [a, b]` sets others")
        })
    }

    /// The lines of some faults: `line 3` or `lines 3 and 5`.
    fn lines(&self, report: &faults::Report, select: &dyn Fn(&Fault) -> bool) -> Option<String> {
        let faults = report.faults.iter().filter(|fault| select(fault));
        let locations =
            faults.map(|fault| fault.location.as_ref().map(|range| self.place(range.start).0));
        let mut lines: Vec<Option<usize>> = locations.collect();
        lines.sort_unstable();
        lines.dedup();
        let numbers: Vec<String> = lines.iter().flatten().map(usize::to_string).collect();
        match &numbers[..] {
            [] if lines.is_empty() => None,
            [] => Some("the product with the cosine".to_owned()),
            [line] => Some(format!("line {line}")),
            [init @ .., last] => Some(format!("lines {} and {last}", init.join(", "))),
        }
    }

    /// Line and column of a byte of the text, from 1, and the text of the line.
    fn place(&self, at: usize) -> (usize, usize, &str) {
        let text = self.shader.text();
        let start = text[..at].rfind('\n').map_or(0, |k| k + 1);
        let end = text[at..].find('\n').map_or(text.len(), |k| at + k);
        let line = text[..at].matches('\n').count() + 1;
        (line, text[start..at].chars().count() + 1, &text[start..end])
    }

    /// Prints a warning for each fault that affects a result; with `all`, a note for each other one.
    pub fn print(&self, all: bool) {
        let mut printed = Vec::new();
        for (name, _, report) in &self.reports {
            for fault in &report.faults {
                let is_warning = result(fault).is_some();
                // Functions that several functions call have the same faults.
                let place = (fault.location.clone(), fault.kind, is_warning);
                if !(is_warning || all) || printed.contains(&place) {
                    continue;
                }
                printed.push(place);
                let text = self.describe(name, report, fault);
                match is_warning {
                    true => console::warn(&text),
                    false => console::print(&format!("note: {text}")),
                }
            }
        }
    }

    /// Location, problem, inputs, result and remedy, and the line of the text.
    fn describe(&self, name: &str, report: &faults::Report, fault: &Fault) -> String {
        let outcome = match &fault.outcome {
            Outcome::Happens(witness) => self.describe_witness(report, fault, witness),
            Outcome::Unknown { follows: false } => "could not be excluded".to_owned(),
            Outcome::Unknown { follows: true } => {
                "could not be excluded, since another operation may fail before".to_owned()
            }
        };
        let (file, problem) = (self.shader.name(), fault.problem());
        let Some(range) = &fault.location else {
            return format!("{file}: in the result of {name}, {problem} {outcome}");
        };
        let (line, column, text) = self.place(range.start);
        let expression = self.shader.text()[range.clone()].lines().next().unwrap_or("");
        let number = line.to_string();
        format!(
            "{file}:{line}:{column}: {problem} {outcome}\n  {number} | {}\n  {} | {}{}",
            text.trim_end().replace('\t', " "),
            " ".repeat(number.len()),
            " ".repeat(column - 1),
            "^".repeat(expression.chars().count().max(1)),
        )
    }

    /// The inputs for which an operation fails, its effect and the remedy.
    fn describe_witness(
        &self,
        report: &faults::Report,
        fault: &Fault,
        witness: &Witness,
    ) -> String {
        let inputs: Vec<String> = witness.inputs.iter().map(format_input).collect();
        let inputs = match inputs.is_empty() {
            true => "always".to_owned(),
            false => format!("for {}", inputs.join(", ")),
        };
        let Some((port, value)) = &witness.result else {
            return match fault.kind {
                FaultKind::IntegerDivisionByZero => {
                    format!("{inputs}: x / 0 is x, and x % 0 is 0")
                }
                _ => format!("{inputs}: the results are finite"),
            };
        };
        let range = match self.undeclared(report, &witness.inputs) {
            Some(name) => format!("declare a range for `{name}`, or "),
            None => String::new(),
        };
        format!("{inputs}: {port} is {}; {range}{}", format_float(*value), fault.remedy())
    }
}

/// Formats an input: `alpha = 0`, `wi = (0.6, 0, 0.8)`.
fn format_input(input: &WitnessInput) -> String {
    let numbers: Vec<String> =
        input.words.iter().map(|&word| format_word(input.scalar, word)).collect();
    match numbers.iter().all(|number| *number == numbers[0]) {
        true => format!("{} = {}", input.name, numbers[0]),
        false => format!("{} = ({})", input.name, numbers.join(", ")),
    }
}

/// The result that a fault makes NaN or infinite, if any.
fn result(fault: &Fault) -> Option<&(String, f32)> {
    match &fault.outcome {
        Outcome::Happens(Witness { result, .. }) => result.as_ref(),
        Outcome::Unknown { .. } => None,
    }
}

/// Formats the bits of a component of an input.
fn format_word(scalar: Scalar, word: u32) -> String {
    let number = match scalar {
        Scalar::F32 => f64::from(f32::from_bits(word)),
        Scalar::I32 => f64::from(word as i32),
        Scalar::U32 => f64::from(word),
        Scalar::Bool => f64::from(u8::from(word != 0)),
    };
    format_number(scalar, number)
}

/// Describes a value that is not finite.
fn format_float(x: f32) -> &'static str {
    match x {
        x if x.is_nan() => "NaN",
        x if x > 0.0 => "infinite",
        _ => "negative infinity",
    }
}
