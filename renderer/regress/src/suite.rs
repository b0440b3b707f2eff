//! Suites: TOML files that list cases, each a scene with options, a reference and tolerances.
//!
//! ```toml
//! [defaults]                        # for all cases that do not override them
//! resolution = [64, 64]
//! spp = 256
//!
//! [[case]]
//! name = "glass"
//! about = "smooth and rough dielectrics"
//! scene = "suite/glass.pbrt"        # paths are relative to the suite's folder
//!
//! [[case]]
//! name = "glass-bits"
//! scene = "suite/glass.pbrt"
//! kind = "exact"                    # bit-identical, not just statistically equal
//! spp = 4
//! ```
//!
//! | key of a case or of `[defaults]` | meaning | default |
//! |---|---|---|
//! | `kind` | `"statistical"` or `"exact"` | statistical |
//! | `resolution` | width and height in pixels | the scene's |
//! | `spp` | samples per pixel | the scene's |
//! | `seed` | seed of the random numbers | the scene's |
//! | `integrator` | `"path"` or `"lightcuts"` | the scene's |
//! | `depth` | maximum number of scattering events on a path | the scene's |
//! | `sampler` | `"sobol"` or `"independent"` | the scene's |
//! | `accel` | `"auto"`, `"builtin"` or `"embree"`; exact cases use the built-in one | auto |
//! | `reference-spp` | samples per pixel of the reference | 64 times `spp` |
//! | `significance` | probability that a test fails by chance | 0.001 |
//! | `accepted` | fraction of the pixel tests that must pass | 0.9975 |
//!
//! Only cases have `name`, `about`, `scene`, and `reference`, which defaults to
//! `references/NAME.exr`. Unknown keys are errors, so that a typo cannot disable a test.

use lightbound::accel::AccelKind;
use lightbound::choice::Choice;
use lightbound::settings::MethodName;
use lightbound_math::sampling::SamplerKind;
use serde::{Deserialize, Deserializer, de::Error as _};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A parsed and validated suite.
#[derive(Clone, Debug)]
pub struct Suite {
    /// The suite file.
    pub path: PathBuf,
    /// The cases in file order, with distinct names.
    pub cases: Vec<Case>,
}

/// A scene that is rendered and compared with its reference.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Unique name within the suite: letters, digits, `-`, `_` and `.`, since files are named after
    /// it.
    pub name: String,
    /// Description; may be empty.
    pub about: String,
    /// The scene file.
    pub scene: PathBuf,
    /// The reference, an EXR file.
    pub reference: PathBuf,
    /// How result and reference are compared.
    pub kind: CaseKind,
    /// Overrides of the scene's settings.
    pub settings: CaseSettings,
    /// Layer of the image that is compared, a component of its radiance; `None` for all radiance.
    pub layer: Option<String>,
    /// Samples per pixel of the reference; `None` for the default multiple of `spp`.
    pub reference_spp: Option<u32>,
    /// Limits of statistical cases.
    pub tolerance: Tolerance,
}

/// How result and reference are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CaseKind {
    /// Equal expected values, by statistical tests.
    #[default]
    Statistical,
    /// Bit-identical images, for the same seed and the built-in accelerator.
    Exact,
}

/// Overrides of a scene's settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CaseSettings {
    /// Width and height in pixels.
    pub resolution: Option<(u32, u32)>,
    /// Samples per pixel.
    pub spp: Option<u32>,
    /// Seed of the random numbers.
    pub seed: Option<u32>,
    /// Integrator; its settings come from the scene.
    pub integrator: Option<MethodName>,
    /// Maximum number of scattering events on a path.
    pub depth: Option<u32>,
    /// Sampler.
    pub sampler: Option<SamplerKind>,
    /// Acceleration structure.
    pub accel: AccelKind,
}

/// Limits of statistical cases.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Family-wise error rate of the pixel tests, and of the block tests: the probability that any
    /// of them fails by chance.
    pub significance: f64,
    /// Fraction of the pixel tests that must pass.
    pub accepted: f64,
}

/// Why a suite cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct SuiteError {
    /// File, line and problem.
    pub message: String,
    /// The remedy.
    pub help: String,
}

/// Maximum number of samples per pixel.
const MAX_SPP: u32 = 1 << 24;

/// The default tolerance.
const TOLERANCE: Tolerance = Tolerance { significance: 0.001, accepted: 0.9975 };

/// The suite file after defaults are filled in.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    case: Vec<Entry>,
}

/// A case in the suite file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Entry {
    name: Spanned<String>,
    #[serde(default)]
    about: String,
    scene: PathBuf,
    reference: Option<PathBuf>,
    #[serde(default)]
    kind: CaseKind,
    #[serde(default, deserialize_with = "resolution")]
    resolution: Option<(u32, u32)>,
    #[serde(default, deserialize_with = "samples")]
    spp: Option<u32>,
    seed: Option<u32>,
    #[serde(default, deserialize_with = "integrator")]
    integrator: Option<MethodName>,
    depth: Option<u32>,
    #[serde(default, deserialize_with = "sampler")]
    sampler: Option<SamplerKind>,
    #[serde(default, deserialize_with = "accelerator")]
    accel: Option<AccelKind>,
    layer: Option<String>,
    #[serde(default, deserialize_with = "samples")]
    reference_spp: Option<u32>,
    #[serde(default, deserialize_with = "probability")]
    significance: Option<f64>,
    #[serde(default, deserialize_with = "fraction")]
    accepted: Option<f64>,
}

impl Suite {
    /// Reads a suite.
    ///
    /// # Errors
    /// If the file cannot be read, is not TOML, has unknown keys or values out of range, has no
    /// case or two cases with the same name, or refers to a missing scene.
    pub fn read(path: &Path) -> Result<Suite, SuiteError> {
        let text = std::fs::read_to_string(path).map_err(|cause| SuiteError {
            message: format!("{}: cannot be read ({cause})", path.display()),
            help: "name a suite, a TOML file that lists cases: lightbound regress SUITE.toml"
                .into(),
        })?;
        Suite::parse(path, &text)
    }

    /// Parses the text of a suite; paths in it are relative to the folder of `path`.
    ///
    /// # Errors
    /// As [`Suite::read`], except that no file of the suite is read.
    pub fn parse(path: &Path, text: &str) -> Result<Suite, SuiteError> {
        let error_at = |offset: usize, message: &str, help: &str| SuiteError {
            message: format!("{}:{}: {message}", path.display(), line_and_column(text, offset)),
            help: help.into(),
        };
        let file = read_file(text).map_err(|error| {
            let help =
                "`lightbound regress --help` documents the keys and their values, at the end";
            let message = plain_message(error.message().trim_end());
            error_at(error.span().map_or(0, |span| span.start), &message, help)
        })?;
        if file.case.is_empty() {
            return Err(error_at(
                0,
                "the suite has no case",
                "add one: [[case]] with name = \"…\" and scene = \"….pbrt\"",
            ));
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut seen = HashMap::new();
        for entry in &file.case {
            let (at, name) = (entry.name.span().start, entry.name.get_ref());
            if let Some((message, help)) = entry.problem(folder) {
                return Err(error_at(at, &message, help));
            }
            if let Some(earlier) = seen.insert(name, at) {
                let message = format!(
                    "another case is called `{name}`, at {}",
                    line_and_column(text, earlier)
                );
                return Err(error_at(at, &message, "give it a unique name"));
            }
        }
        Ok(Suite {
            path: path.into(),
            cases: file.case.into_iter().map(|entry| entry.case(folder)).collect(),
        })
    }
}

impl Entry {
    /// Returns a semantic error of the case and its remedy, if any.
    fn problem(&self, folder: &Path) -> Option<(String, &'static str)> {
        let name = self.name.get_ref();
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || name.starts_with('.') || !name.chars().all(is_allowed) {
            let help = "use letters, digits, `-`, `_` and `.`, since files are named after cases";
            return Some((format!("`{name}` cannot be a name"), help));
        }
        if self.kind == CaseKind::Exact && self.accel == Some(AccelKind::Embree) {
            let help = "omit `accel`: exact cases use the built-in accelerator, since the bits of \
                        Embree's results depend on the processor";
            return Some((format!("`{name}` compares bits, but requests Embree"), help));
        }
        if self.kind == CaseKind::Statistical && self.layer.is_some() {
            let help = "add kind = \"exact\": components of the radiance have no variance";
            return Some((format!("`{name}` compares a layer statistically"), help));
        }
        let scene = folder.join(&self.scene);
        if !scene.is_file() {
            let help = "check the path, which is relative to the suite's folder";
            return Some((format!("`{name}`: there is no scene `{}`", scene.display()), help));
        }
        None
    }

    fn case(self, folder: &Path) -> Case {
        let name = self.name.into_inner();
        let reference =
            self.reference.unwrap_or_else(|| Path::new("references").join(format!("{name}.exr")));
        let accel = match self.kind {
            CaseKind::Exact => AccelKind::Builtin,
            CaseKind::Statistical => self.accel.unwrap_or(AccelKind::Auto),
        };
        Case {
            name,
            about: self.about,
            scene: folder.join(self.scene),
            reference: folder.join(reference),
            kind: self.kind,
            settings: CaseSettings {
                resolution: self.resolution,
                spp: self.spp,
                seed: self.seed,
                integrator: self.integrator,
                depth: self.depth,
                sampler: self.sampler,
                accel,
            },
            layer: self.layer,
            reference_spp: self.reference_spp,
            tolerance: Tolerance {
                significance: self.significance.unwrap_or(TOLERANCE.significance),
                accepted: self.accepted.unwrap_or(TOLERANCE.accepted),
            },
        }
    }
}

/// Parses a suite, and copies each key of `[defaults]` into the cases that lack it. Preserves
/// source locations.
fn read_file(text: &str) -> Result<File, toml::de::Error> {
    let mut root = DeTable::parse(text)?;
    if let Some(defaults) = root.get_mut().remove("defaults") {
        let DeValue::Table(defaults) = defaults.get_ref() else {
            return <()>::deserialize(toml::de::ValueDeserializer::from(defaults))
                .map(|()| unreachable!("TOML has no unit"));
        };
        if let Some(DeValue::Array(cases)) = root.get_mut().get_mut("case").map(Spanned::get_mut) {
            for case in cases.iter_mut() {
                let DeValue::Table(case) = case.get_mut() else { continue };
                for (key, value) in defaults {
                    if !case.contains_key(key.get_ref().as_ref()) {
                        case.insert(key.clone(), value.clone());
                    }
                }
            }
        }
    }
    File::deserialize(toml::de::Deserializer::from(root)).map_err(|mut error| {
        error.set_input(Some(text));
        error
    })
}

/// Words a type error without names of Rust types.
fn plain_message(message: &str) -> String {
    const KINDS: [(&str, &str); 14] = [
        ("expected a sequence", "expected a list of tables: [[case]]"),
        ("expected struct Entry", "expected a table: [[case]]"),
        ("expected struct File", "expected a suite"),
        ("expected path string", "expected the path of a file, in quotes"),
        ("expected a string", "expected text in quotes"),
        ("expected unit", "expected a table: [defaults]"),
        ("expected u32", "expected an integer from 0 to 4294967295"),
        ("expected f64", "expected a number"),
        ("expected an array of length 2", "expected two integers, as in [64, 64]"),
        ("expected string or table", "expected text in quotes"),
        ("invalid type: map", "invalid type: table"),
        ("invalid type: sequence", "invalid type: list"),
        ("unknown variant", "unknown value"),
        ("invalid length", "wrong number of elements:"),
    ];
    let mut text = message.to_owned();
    for (from, to) in KINDS {
        if let Some(at) = text.find(from) {
            text.replace_range(at..at + from.len(), to);
        }
    }
    text
}

/// `line:column` of a byte offset, both from 1.
fn line_and_column(text: &str, offset: usize) -> String {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
    format!("{line}:{column}")
}

fn resolution<'de, D: Deserializer<'de>>(from: D) -> Result<Option<(u32, u32)>, D::Error> {
    let [width, height] = <[u32; 2]>::deserialize(from)?;
    if ![width, height].iter().all(|n| (1..=1 << 16).contains(n)) {
        return Err(D::Error::custom(
            "expected width and height, each from 1 to 65536, as in [64, 64]",
        ));
    }
    Ok(Some((width, height)))
}

fn samples<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    let n = u32::deserialize(from)?;
    let fits = (1..=MAX_SPP).contains(&n);
    fits.then_some(Some(n))
        .ok_or_else(|| D::Error::custom(format!("expected an integer from 1 to {MAX_SPP}")))
}

fn integrator<'de, D: Deserializer<'de>>(from: D) -> Result<Option<MethodName>, D::Error> {
    let name = String::deserialize(from)?;
    let method = MethodName::from_name(&name);
    method.map(Some).ok_or_else(|| D::Error::unknown_variant(&name, MethodName::NAMES))
}

fn sampler<'de, D: Deserializer<'de>>(from: D) -> Result<Option<SamplerKind>, D::Error> {
    match String::deserialize(from)?.as_str() {
        "sobol" => Ok(Some(SamplerKind::Sobol)),
        "independent" => Ok(Some(SamplerKind::Independent)),
        other => Err(D::Error::unknown_variant(other, &["sobol", "independent"])),
    }
}

fn accelerator<'de, D: Deserializer<'de>>(from: D) -> Result<Option<AccelKind>, D::Error> {
    let name = String::deserialize(from)?;
    let kind = AccelKind::from_name(&name);
    kind.map(Some).ok_or_else(|| D::Error::unknown_variant(&name, AccelKind::NAMES))
}

fn probability<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    let p = f64::deserialize(from)?;
    let fits = 0.0 < p && p < 1.0;
    fits.then_some(Some(p))
        .ok_or_else(|| D::Error::custom("expected a probability between 0 and 1, as in 0.001"))
}

fn fraction<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    let fraction = f64::deserialize(from)?;
    let fits = 0.0 < fraction && fraction <= 1.0;
    fits.then_some(Some(fraction))
        .ok_or_else(|| D::Error::custom("expected a fraction above 0 and up to 1, as in 0.9975"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses a suite in a folder that contains a scene `a.pbrt`.
    fn parse(text: &str) -> Result<Suite, SuiteError> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.pbrt"), "WorldBegin\n").unwrap();
        let path = folder.path().join("suite.toml");
        std::fs::write(&path, text).unwrap();
        Suite::read(&path)
    }

    #[test]
    fn cases_inherit_the_defaults() {
        let suite = parse(
            "[defaults]\nspp = 16\nresolution = [64, 32]\nsignificance = 0.01\n\n[[case]]\nname = \"one\"\nscene = \"a.pbrt\"\n\n\
             [[case]]\nname = \"two\"\nscene = \"a.pbrt\"\nkind = \"exact\"\nlayer = \"direct\"\nspp = 4\nseed = 7\nsampler = \"independent\"\nintegrator = \"lightcuts\"\n\
             reference = \"b/c.exr\"\ndepth = 2\nreference-spp = 9\naccepted = 1.0\nabout = \"bits\"\n",
        )
        .unwrap();
        let [one, two] = &suite.cases[..] else { panic!("{suite:?}") };
        let folder = suite.path.parent().unwrap();
        assert_eq!(
            (one.kind, one.settings.spp, one.settings.resolution),
            (CaseKind::Statistical, Some(16), Some((64, 32)))
        );
        assert_eq!((one.tolerance.significance, one.tolerance.accepted), (0.01, 0.9975));
        assert_eq!(
            (one.settings.accel, one.settings.seed, one.reference_spp),
            (AccelKind::Auto, None, None)
        );
        assert_eq!((one.layer.as_deref(), two.layer.as_deref()), (None, Some("direct")));
        assert_eq!(one.reference, folder.join("references/one.exr"));
        assert_eq!(
            (two.kind, two.settings.spp, two.settings.seed),
            (CaseKind::Exact, Some(4), Some(7))
        );
        assert_eq!(
            (two.settings.sampler, two.settings.depth),
            (Some(SamplerKind::Independent), Some(2))
        );
        assert_eq!(
            (one.settings.integrator, two.settings.integrator),
            (None, Some(MethodName::Lightcuts))
        );
        assert_eq!(
            (two.settings.accel, two.reference_spp, two.about.as_str()),
            (AccelKind::Builtin, Some(9), "bits")
        );
        assert_eq!((two.reference.clone(), two.tolerance.accepted), (folder.join("b/c.exr"), 1.0));
    }

    #[test]
    fn errors_name_problem_and_line() {
        let case = "[[case]]\nname = \"one\"\nscene = \"a.pbrt\"\n";
        for (text, line, part) in [
            (String::new(), 1, "no case"),
            ("name = ".into(), 1, ""),
            ("colour = 1\n".into(), 1, "unknown field `colour`"),
            (format!("{case}sppp = 4\n"), 4, "unknown field `sppp`"),
            (format!("[defaults]\nsppp = 4\n{case}"), 2, "unknown field `sppp`"),
            (format!("defaults = 4\n{case}"), 1, "expected a table: [defaults]"),
            (format!("{case}spp = 0\n"), 4, "from 1 to 16777216"),
            (format!("{case}resolution = [64]\n"), 4, "expected two integers, as in [64, 64]"),
            (format!("{case}spp = \"4\"\n"), 4, "expected an integer from 0 to 4294967295"),
            (format!("{case}about = 4\n"), 4, "expected text in quotes"),
            (format!("{case}accepted = \"all\"\n"), 4, "expected a number"),
            ("[case]\nname = \"a\"\n".into(), 1, "expected a list of tables: [[case]]"),
            ("case = [4]\n".into(), 1, "expected a table: [[case]]"),
            (format!("{case}resolution = [64, 0]\n"), 4, "[64, 64]"),
            (format!("{case}seed = -1\n"), 4, "-1"),
            (format!("{case}accepted = 1.5\n"), 4, "fraction"),
            (format!("{case}significance = 0.0\n"), 4, "probability"),
            (format!("{case}kind = \"similar\"\n"), 4, "similar"),
            (format!("{case}sampler = \"halton\"\n"), 4, "halton"),
            (format!("{case}accel = \"gpu\"\n"), 4, "gpu"),
            (
                format!("{case}integrator = \"bdpt\"\n"),
                4,
                "`path`, `volpath`, `lightcuts`, `ambientocclusion`",
            ),
            (format!("{case}kind = \"exact\"\naccel = \"embree\"\n"), 2, "Embree"),
            (format!("{case}\n{case}"), 6, "another case is called `one`"),
            ("[[case]]\nname = \"../one\"\nscene = \"a.pbrt\"\n".into(), 2, "cannot be a name"),
            ("[[case]]\nname = \"one\"\nscene = \"b.pbrt\"\n".into(), 2, "no scene"),
            ("[[case]]\nscene = \"a.pbrt\"\n".into(), 1, "missing field `name`"),
        ] {
            let message = parse(&text).expect_err(&text).message;
            assert!(
                message.contains(&format!("suite.toml:{line}:")) && message.contains(part),
                "{text}\n{message}"
            );
        }
        let message = Suite::read(Path::new("/none/suite.toml")).unwrap_err().message;
        assert!(message.contains("/none/suite.toml: cannot be read"), "{message}");
    }
}
