//! The suite: a TOML file that lists cases, each a scene with options, a reference and tolerances.
//!
//! ```toml
//! [defaults]                        # for all cases that do not say otherwise
//! resolution = [64, 64]
//! spp = 256
//!
//! [[case]]
//! name = "glass"
//! about = "smooth and rough dielectrics"
//! scene = "suite/glass.pbrt"        # relative to the suite's folder, as all paths
//!
//! [[case]]
//! name = "glass-bits"
//! scene = "suite/glass.pbrt"
//! kind = "exact"                    # the same bits, not just the same mean
//! spp = 4
//! ```
//!
//! | key of a case or of `[defaults]` | meaning | where nothing is said |
//! |---|---|---|
//! | `kind` | `"statistical"` or `"exact"` | statistical |
//! | `resolution` | columns and rows | the scene's |
//! | `spp` | samples per pixel | the scene's |
//! | `seed` | seed of the random numbers | the scene's |
//! | `integrator` | `"path"` or `"lightcuts"` | the scene's |
//! | `depth` | most scattering events on a path | the scene's |
//! | `sampler` | `"sobol"` or `"independent"` | the scene's |
//! | `accel` | `"auto"`, `"builtin"` or `"embree"`; exact cases take the built-in one | auto |
//! | `reference-spp` | samples per pixel of the reference | 64 times as many as the case has |
//! | `significance` | how often a test may fail by chance | 0.001 |
//! | `accepted` | share of the pixels' tests that must pass | 0.9975 |
//!
//! Cases alone have `name`, `about`, `scene`, and `reference`, which is `references/NAME.exr`
//! unless it is given. Keys that are not listed are errors, so that no slip of the pen turns a test
//! off.

use crate::accel::AccelKind;
use crate::sampling::SamplerKind;
use crate::scene::MethodName;
use serde::{Deserialize, Deserializer, de::Error as _};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A suite that was read and checked.
#[derive(Clone, Debug)]
pub struct Suite {
    /// The file.
    pub path: PathBuf,
    /// Its cases, in the file's order; names differ.
    pub cases: Vec<Case>,
}

/// A scene that is rendered and held against its reference.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Unique within the suite: letters, digits, `-`, `_` and `.`, since files are named by it.
    pub name: String,
    /// What it shows; may be empty.
    pub about: String,
    /// The scene file.
    pub scene: PathBuf,
    /// The reference, EXR.
    pub reference: PathBuf,
    /// What "the same" means.
    pub kind: Kind,
    /// What is rendered otherwise than the scene says.
    pub settings: Settings,
    /// Samples per pixel of the reference; `None` where it follows from those of the case.
    pub reference_spp: Option<u32>,
    /// Limits of statistical cases.
    pub tolerance: Tolerance,
}

/// What "the same" means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The same mean, as far as noise allows to tell.
    #[default]
    Statistical,
    /// The same bits: for the same seed and the built-in accelerator.
    Exact,
}

/// What is rendered otherwise than the scene says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Columns and rows.
    pub resolution: Option<(u32, u32)>,
    /// Samples per pixel.
    pub spp: Option<u32>,
    /// Seed of the random numbers.
    pub seed: Option<u32>,
    /// Integrator; its settings are the scene's.
    pub integrator: Option<MethodName>,
    /// Most scattering events on a path.
    pub depth: Option<u32>,
    /// Random numbers.
    pub sampler: Option<SamplerKind>,
    /// Acceleration structure.
    pub accel: AccelKind,
}

/// Limits of statistical cases.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Probability that a test of many pixels, or blocks, refuses one of them by chance.
    pub significance: f64,
    /// Share of the pixels' tests that must pass all the same.
    pub accepted: f64,
}

/// Why a suite cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct SuiteError {
    /// File, line, and what is wrong.
    pub message: String,
    /// The remedy.
    pub help: String,
}

/// Most samples per pixel of anything.
const MAX_SPP: u32 = 1 << 24;

/// Where nothing is said.
const TOLERANCE: Tolerance = Tolerance { significance: 0.001, accepted: 0.9975 };

/// The file as it is written, defaults put where they are missing.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    case: Vec<Entry>,
}

/// A case as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Entry {
    name: Spanned<String>,
    #[serde(default)]
    about: String,
    scene: PathBuf,
    reference: Option<PathBuf>,
    #[serde(default)]
    kind: Kind,
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
    #[serde(default, deserialize_with = "samples")]
    reference_spp: Option<u32>,
    #[serde(default, deserialize_with = "probability")]
    significance: Option<f64>,
    #[serde(default, deserialize_with = "share")]
    accepted: Option<f64>,
}

impl Suite {
    /// Reads a suite.
    ///
    /// *Errors*: the file cannot be read, is not TOML, has keys that are not known or values out of
    /// range, has no case or two of one name, or names a scene that is not there.
    pub fn read(path: &Path) -> Result<Suite, SuiteError> {
        let text = std::fs::read_to_string(path).map_err(|cause| SuiteError {
            message: format!("{}: cannot be read ({cause})", path.display()),
            help: "name a suite, a TOML file that lists cases: lightbound regress SUITE.toml"
                .into(),
        })?;
        Suite::parse(path, &text)
    }

    fn parse(path: &Path, text: &str) -> Result<Suite, SuiteError> {
        let fault = |offset: usize, message: &str, help: &str| SuiteError {
            message: format!("{}:{}: {message}", path.display(), place(text, offset)),
            help: help.into(),
        };
        let file = read_file(text).map_err(|error| {
            let help =
                "the keys and their values are in the documentation of suites, at the end of `lightbound regress --help`";
            fault(error.span().map_or(0, |span| span.start), error.message().trim_end(), help)
        })?;
        if file.case.is_empty() {
            return Err(fault(
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
                return Err(fault(at, &message, help));
            }
            if let Some(earlier) = seen.insert(name, at) {
                let message =
                    format!("another case is called `{name}`, too, at {}", place(text, earlier));
                return Err(fault(at, &message, "give it a name of its own"));
            }
        }
        Ok(Suite {
            path: path.into(),
            cases: file.case.into_iter().map(|entry| entry.case(folder)).collect(),
        })
    }
}

impl Entry {
    /// What is wrong with it beyond its syntax, and the remedy.
    fn problem(&self, folder: &Path) -> Option<(String, &'static str)> {
        let name = self.name.get_ref();
        let letter = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || name.starts_with('.') || !name.chars().all(letter) {
            let help = "use letters, digits, `-`, `_` and `.`, since files are named after cases";
            return Some((format!("`{name}` cannot be a name"), help));
        }
        if self.kind == Kind::Exact && self.accel == Some(AccelKind::Embree) {
            let help = "leave `accel` away; the built-in accelerator is taken, for Embree's bits depend on the processor";
            return Some((format!("`{name}` compares bits, but asks for Embree"), help));
        }
        let scene = folder.join(&self.scene);
        if !scene.is_file() {
            let help = "check the path, which starts from the suite's folder";
            return Some((format!("`{name}`: there is no scene `{}`", scene.display()), help));
        }
        None
    }

    fn case(self, folder: &Path) -> Case {
        let name = self.name.into_inner();
        let reference =
            self.reference.unwrap_or_else(|| Path::new("references").join(format!("{name}.exr")));
        let accel = match self.kind {
            Kind::Exact => AccelKind::Builtin,
            Kind::Statistical => self.accel.unwrap_or(AccelKind::Auto),
        };
        Case {
            name,
            about: self.about,
            scene: folder.join(self.scene),
            reference: folder.join(reference),
            kind: self.kind,
            settings: Settings {
                resolution: self.resolution,
                spp: self.spp,
                seed: self.seed,
                integrator: self.integrator,
                depth: self.depth,
                sampler: self.sampler,
                accel,
            },
            reference_spp: self.reference_spp,
            tolerance: Tolerance {
                significance: self.significance.unwrap_or(TOLERANCE.significance),
                accepted: self.accepted.unwrap_or(TOLERANCE.accepted),
            },
        }
    }
}

/// Parses a suite, and writes what `[defaults]` says into all cases that do not say otherwise;
/// places in the text stay known.
fn read_file(text: &str) -> Result<File, toml::de::Error> {
    let mut root = DeTable::parse(text)?;
    if let Some(defaults) = root.get_mut().remove("defaults") {
        let DeValue::Table(defaults) = defaults.get_ref() else {
            return <()>::deserialize(toml::de::ValueDeserializer::from(defaults))
                .map(|()| unreachable!("it is no unit"));
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

/// `line:column` of a byte, both from 1.
fn place(text: &str, offset: usize) -> String {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
    format!("{line}:{column}")
}

fn resolution<'de, D: Deserializer<'de>>(from: D) -> Result<Option<(u32, u32)>, D::Error> {
    let [width, height] = <[u32; 2]>::deserialize(from)?;
    if ![width, height].iter().all(|n| (1..=1 << 16).contains(n)) {
        return Err(D::Error::custom(
            "expected columns and rows, each from 1 to 65536, as in [64, 64]",
        ));
    }
    Ok(Some((width, height)))
}

fn samples<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    let n = u32::deserialize(from)?;
    let fits = (1..=MAX_SPP).contains(&n);
    fits.then_some(Some(n))
        .ok_or_else(|| D::Error::custom(format!("expected a whole number from 1 to {MAX_SPP}")))
}

fn integrator<'de, D: Deserializer<'de>>(from: D) -> Result<Option<MethodName>, D::Error> {
    let name = String::deserialize(from)?;
    let method = <MethodName as clap::ValueEnum>::from_str(&name, false);
    method.map(Some).map_err(|_| D::Error::unknown_variant(&name, MethodName::WORDS))
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
    let kind = <AccelKind as clap::ValueEnum>::from_str(&name, false);
    kind.map(Some).map_err(|_| D::Error::unknown_variant(&name, &["auto", "builtin", "embree"]))
}

fn probability<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    let p = f64::deserialize(from)?;
    let fits = 0.0 < p && p < 1.0;
    fits.then_some(Some(p))
        .ok_or_else(|| D::Error::custom("expected a probability between 0 and 1, as in 0.001"))
}

fn share<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    let share = f64::deserialize(from)?;
    let fits = 0.0 < share && share <= 1.0;
    fits.then_some(Some(share))
        .ok_or_else(|| D::Error::custom("expected a share above 0 and up to 1, as in 0.9975"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with a scene `a.pbrt`, and the suite of a text in it.
    fn parse(text: &str) -> Result<Suite, SuiteError> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.pbrt"), "WorldBegin\n").unwrap();
        let path = folder.path().join("suite.toml");
        std::fs::write(&path, text).unwrap();
        Suite::read(&path)
    }

    #[test]
    fn cases_take_what_they_do_not_say_from_the_defaults() {
        let suite = parse(
            "[defaults]\nspp = 16\nresolution = [64, 32]\nsignificance = 0.01\n\n[[case]]\nname = \"one\"\nscene = \"a.pbrt\"\n\n\
             [[case]]\nname = \"two\"\nscene = \"a.pbrt\"\nkind = \"exact\"\nspp = 4\nseed = 7\nsampler = \"independent\"\nintegrator = \"lightcuts\"\n\
             reference = \"b/c.exr\"\ndepth = 2\nreference-spp = 9\naccepted = 1.0\nabout = \"bits\"\n",
        )
        .unwrap();
        let [one, two] = &suite.cases[..] else { panic!("{suite:?}") };
        let folder = suite.path.parent().unwrap();
        assert_eq!(
            (one.kind, one.settings.spp, one.settings.resolution),
            (Kind::Statistical, Some(16), Some((64, 32)))
        );
        assert_eq!((one.tolerance.significance, one.tolerance.accepted), (0.01, 0.9975));
        assert_eq!(
            (one.settings.accel, one.settings.seed, one.reference_spp),
            (AccelKind::Auto, None, None)
        );
        assert_eq!(one.reference, folder.join("references/one.exr"));
        assert_eq!(
            (two.kind, two.settings.spp, two.settings.seed),
            (Kind::Exact, Some(4), Some(7))
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
    fn what_is_wrong_is_named_with_its_line() {
        let case = "[[case]]\nname = \"one\"\nscene = \"a.pbrt\"\n";
        for (text, line, part) in [
            (String::new(), 1, "no case"),
            ("name = ".into(), 1, ""),
            ("colour = 1\n".into(), 1, "unknown field `colour`"),
            (format!("{case}sppp = 4\n"), 4, "unknown field `sppp`"),
            (format!("[defaults]\nsppp = 4\n{case}"), 2, "unknown field `sppp`"),
            (format!("defaults = 4\n{case}"), 1, "integer"),
            (format!("{case}spp = 0\n"), 4, "from 1 to 16777216"),
            (format!("{case}resolution = [64]\n"), 4, "array"),
            (format!("{case}resolution = [64, 0]\n"), 4, "[64, 64]"),
            (format!("{case}seed = -1\n"), 4, "-1"),
            (format!("{case}accepted = 1.5\n"), 4, "share"),
            (format!("{case}significance = 0.0\n"), 4, "probability"),
            (format!("{case}kind = \"alike\"\n"), 4, "alike"),
            (format!("{case}sampler = \"halton\"\n"), 4, "halton"),
            (format!("{case}accel = \"gpu\"\n"), 4, "gpu"),
            (format!("{case}integrator = \"bdpt\"\n"), 4, "`path` or `lightcuts`"),
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
        let gone = Suite::read(Path::new("/none/suite.toml")).unwrap_err().message;
        assert!(gone.contains("/none/suite.toml: cannot be read"), "{gone}");
    }
}
