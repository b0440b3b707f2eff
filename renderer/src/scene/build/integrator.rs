//! Integrators: `path`, which others fall back to, and `lightcuts`.

use super::{Builder, Overrides};
use crate::scene::describe::Description;
use crate::scene::diagnostics::{SceneError, did_you_mean};
use crate::scene::file::parse::Entity;
use crate::scene::{
    BoundMode, BsdfSampling, Cut, CutMode, ErrorMode, IntegratorSettings, LightSampling,
    LightcutsSettings, Method, MethodName, PathSettings, SkySampling,
};
use clap::ValueEnum;

/// What the command line says over the file's settings of the path tracer.
#[derive(Clone, Copy, Debug, Default)]
pub struct PathOverrides {
    /// As [`PathSettings::light_sampling`].
    pub light_sampling: Option<LightSampling>,
    /// As [`PathSettings::bsdf_sampling`].
    pub bsdf_sampling: Option<BsdfSampling>,
    /// As [`PathSettings::sky_sampling`].
    pub sky_sampling: Option<SkySampling>,
}

/// What the command line says over the file's settings of lightcuts, which it checked.
#[derive(Clone, Copy, Debug, Default)]
pub struct LightcutsOverrides {
    /// As [`Cut::Deterministic::error`].
    pub error: Option<f32>,
    /// As [`Cut::Deterministic::error_mode`].
    pub error_mode: Option<ErrorMode>,
    /// As [`Cut::Deterministic::max_cut`].
    pub max_cut: Option<u32>,
    /// Which cuts.
    pub mode: Option<CutMode>,
    /// As [`Cut::Stochastic::size`].
    pub cut_size: Option<u32>,
    /// As [`LightcutsSettings::area_points`].
    pub area_points: Option<u32>,
    /// As [`LightcutsSettings::sky_points`].
    pub sky_points: Option<u32>,
    /// As [`LightcutsSettings::bounds`].
    pub bounds: BoundMode,
    /// As [`LightcutsSettings::check_bounds`].
    pub check_bounds: bool,
}

/// Parameters of path.
const PATH: [&str; 6] =
    ["maxdepth", "lightsampling", "bsdfsampling", "skysampling", "lightsampler", "regularize"];

/// Parameters of lightcuts.
const LIGHTCUTS: [&str; 8] =
    ["maxdepth", "error", "errormode", "maxcut", "mode", "cutsize", "areapoints", "skypoints"];

impl Builder<'_> {
    /// The integrator and its settings.
    pub(super) fn integrator(
        &mut self,
        d: &Description,
        overrides: &Overrides,
    ) -> Result<IntegratorSettings, SceneError> {
        let default = self.default_entity(MethodName::default().word());
        let integrator = d.integrator.as_ref().unwrap_or(&default);
        let p = &integrator.params;
        let others = [
            "volpath",
            "bdpt",
            "mlt",
            "sppm",
            "lightpath",
            "simplepath",
            "simplevolpath",
            "randomwalk",
            "ao",
            "function",
        ];
        if overrides.integrator.is_none() {
            let fallback = |name: &str| match name {
                "volpath" => Some("integrator \"path\", without media"),
                _ => others.contains(&name).then_some("integrator \"path\""),
            };
            self.choose("integrator", integrator, MethodName::WORDS, fallback)?;
        }
        let own = MethodName::from_str(&integrator.name, false).unwrap_or_default();
        let max_depth = p.int("maxdepth")?.unwrap_or(5);
        if max_depth < 0 {
            return Err(wrong(integrator, "maxdepth", format!("\"maxdepth\" is {max_depth}"))
                .help("give 0 or more"));
        }
        let method = match overrides.integrator.unwrap_or(own) {
            MethodName::Path => {
                let light_sampling = self.light_sampling(integrator)?;
                let bsdf_sampling = word(integrator, "bsdfsampling", BsdfSampling::WORDS)?;
                let sky_sampling = word(integrator, "skysampling", SkySampling::WORDS)?;
                Method::Path(PathSettings {
                    light_sampling: overrides.path.light_sampling.unwrap_or(light_sampling),
                    bsdf_sampling: overrides.path.bsdf_sampling.unwrap_or(bsdf_sampling),
                    sky_sampling: overrides.path.sky_sampling.unwrap_or(sky_sampling),
                })
            }
            MethodName::Lightcuts if own == MethodName::Lightcuts => {
                let settings = lightcuts(integrator, &overrides.lightcuts)?;
                self.warn_unknown(integrator, &LIGHTCUTS)?;
                Method::Lightcuts(settings)
            }
            MethodName::Lightcuts => Method::Lightcuts(lightcuts(
                &self.default_entity(MethodName::Lightcuts.word()),
                &overrides.lightcuts,
            )?),
        };
        if integrator.name == "path" || integrator.name == "volpath" {
            if p.bool("regularize")?.unwrap_or(false) && method.name() == MethodName::Path {
                self.warn(
                    integrator,
                    "\"regularize\" is not supported",
                    "materials as they are, which stays unbiased",
                )?;
            }
            self.warn_unknown(integrator, &PATH)?;
        }
        if let Some(accelerator) = &d.accelerator {
            // Which one is built is the command line's choice; it does not change the picture.
            self.choose("accelerator", accelerator, &["bvh", "kdtree"], |_| None)?;
            accelerator.params.mark_all_used();
        }
        Ok(IntegratorSettings { max_depth: max_depth as u32, method })
    }

    /// Warns of parameters that nobody asked for; `known` are those that there are.
    fn warn_unknown(&mut self, integrator: &Entity, known: &[&str]) -> Result<(), SceneError> {
        for p in integrator.params.unused() {
            let list = format!("there are {}", known.join(", "));
            let help = did_you_mean(&p.name, known.iter().copied(), &list);
            let message = format!(
                "parameter \"{} {}\" of \"{}\" is not supported ({help})",
                p.kind, p.name, integrator.name
            );
            self.diagnostics.warn(Some(&p.location), message, "it is left out")?;
        }
        Ok(())
    }

    /// How an integrator of the file chooses lights: by our word for it, or else by what pbrt-v4's
    /// comes closest to. It changes noise, not the picture.
    fn light_sampling(&mut self, integrator: &Entity) -> Result<LightSampling, SceneError> {
        let p = &integrator.params;
        let ours = p
            .string("lightsampling")?
            .is_some()
            .then(|| word(integrator, "lightsampling", LightSampling::WORDS));
        let theirs = match p.string("lightsampler")? {
            Some("uniform") => LightSampling::Uniform,
            Some("bvh") => LightSampling::Tree,
            Some("power") => LightSampling::Power,
            None => LightSampling::Auto,
            Some("exhaustive") => {
                let (message, instead) = (
                    "\"lightsampler\" \"exhaustive\" is not supported",
                    "\"lightsampling\" \"tree\"",
                );
                self.warn(integrator, message, instead)?;
                LightSampling::Tree
            }
            Some(other) => {
                let names = ["uniform", "power", "bvh", "exhaustive"];
                let help =
                    did_you_mean(other, names, &format!("the values are {}", names.join(", ")));
                return Err(wrong(
                    integrator,
                    "lightsampler",
                    format!("unknown \"lightsampler\": \"{other}\""),
                )
                .help(help));
            }
        };
        ours.unwrap_or(Ok(theirs))
    }
}

/// An error about the value of a parameter.
fn wrong(entity: &Entity, name: &str, message: String) -> SceneError {
    let location = entity.params.find(name).map_or(&entity.location, |param| &param.location);
    SceneError::at(location, message)
}

/// Most clusters that files can ask for.
const MAX_CUT: u32 = i32::MAX as u32;

/// Settings of lightcuts. Those of both modes are read and checked, for the command line may choose
/// the other one.
fn lightcuts(
    entity: &Entity,
    overrides: &LightcutsOverrides,
) -> Result<LightcutsSettings, SceneError> {
    let p = &entity.params;
    let count = |name: &str, default: i32, most: u32| match p.int(name)?.unwrap_or(default) {
        n if (1..=most).contains(&(n as u32)) => Ok(n as u32),
        n => Err(wrong(entity, name, format!("\"{name}\" is {n}"))
            .help(format!("give 1 or more, up to {most}"))),
    };
    let error = p.float("error")?.unwrap_or(0.02);
    if !(error >= 0.0 && error.is_finite()) {
        return Err(wrong(entity, "error", format!("\"error\" is {error}"))
            .help("give 0 or a number above, such as 0.02 for 2 %"));
    }
    let own = word(entity, "errormode", ErrorMode::WORDS)?;
    let error_mode = overrides.error_mode.unwrap_or(own);
    // What the sum of all errors promises, no number of clusters breaks unasked.
    let max_cut =
        count("maxcut", if error_mode == ErrorMode::Total { i32::MAX } else { 1000 }, MAX_CUT)?;
    let mode = word(entity, "mode", CutMode::WORDS)?;
    let cut_size = count("cutsize", 64, MAX_CUT)?;
    let points = |name| count(name, 1024, LightcutsSettings::MAX_POINTS);
    let (area_points, sky_points) = (points("areapoints")?, points("skypoints")?);
    let cut = match overrides.mode.unwrap_or(mode) {
        CutMode::Deterministic => Cut::Deterministic {
            error: overrides.error.unwrap_or(error),
            error_mode,
            max_cut: overrides.max_cut.unwrap_or(max_cut),
        },
        CutMode::Stochastic => Cut::Stochastic { size: overrides.cut_size.unwrap_or(cut_size) },
    };
    Ok(LightcutsSettings {
        cut,
        bounds: overrides.bounds,
        check_bounds: overrides.check_bounds,
        area_points: overrides.area_points.unwrap_or(area_points),
        sky_points: overrides.sky_points.unwrap_or(sky_points),
    })
}

/// A setting that is one of `words`.
fn word<T: ValueEnum + Default>(
    entity: &Entity,
    name: &str,
    words: &'static [&str],
) -> Result<T, SceneError> {
    let Some(text) = entity.params.string(name)? else { return Ok(T::default()) };
    T::from_str(text, false).map_err(|_| {
        let list = format!("the values are {}", words.join(", "));
        let help = did_you_mean(text, words.iter().copied(), &list);
        wrong(entity, name, format!("unknown \"{name}\" of \"{}\": \"{text}\"", entity.name))
            .help(help)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::build::load_source;
    use crate::scene::diagnostics::{Diagnostics, Source};
    use std::path::Path;

    fn settings(
        text: &str,
        integrator: Option<MethodName>,
        lightcuts: LightcutsOverrides,
    ) -> (IntegratorSettings, usize) {
        settings_of(text, &Overrides { integrator, lightcuts, ..Overrides::default() })
    }

    /// Settings of a scene, and how many warnings there are.
    fn settings_of(text: &str, overrides: &Overrides) -> (IntegratorSettings, usize) {
        let source = Source::memory(Path::new("a.pbrt"), format!("{text}\nWorldBegin\n"));
        let mut diagnostics = Diagnostics::new(false);
        let loaded = load_source(&source, &[], overrides, &mut diagnostics).unwrap();
        (loaded.scene.integrator, diagnostics.warnings().len())
    }

    const DEFAULT: LightcutsSettings = LightcutsSettings {
        cut: Cut::Deterministic { error: 0.02, error_mode: ErrorMode::Cluster, max_cut: 1000 },
        bounds: BoundMode::Related,
        check_bounds: false,
        area_points: 1024,
        sky_points: 1024,
    };

    #[test]
    fn files_say_all_but_how_bounds_are_compiled() {
        let none = LightcutsOverrides::default();
        let method = |text: &str| settings(text, None, none);
        let expected = |max_depth, method| (IntegratorSettings { max_depth, method }, 0);
        assert_eq!(method(""), expected(5, Method::Path(PathSettings::default())));
        assert_eq!(method("Integrator \"lightcuts\""), expected(5, Method::Lightcuts(DEFAULT)));
        let cut = Cut::Deterministic { error: 0.5, error_mode: ErrorMode::Total, max_cut: 7 };
        let text = "Integrator \"lightcuts\" \"integer maxdepth\" 3 \"float error\" 0.5 \"integer maxcut\" 7 \
                    \"string errormode\" \"total\" \"integer areapoints\" 8 \"integer skypoints\" 9";
        let own = LightcutsSettings { cut, area_points: 8, sky_points: 9, ..DEFAULT };
        assert_eq!(method(text), expected(3, Method::Lightcuts(own)));
        let stochastic = LightcutsSettings { cut: Cut::Stochastic { size: 12 }, ..DEFAULT };
        let text = "Integrator \"lightcuts\" \"string mode\" \"stochastic\" \"integer cutsize\" 12 \"float error\" 0.5";
        assert_eq!(method(text), expected(5, Method::Lightcuts(stochastic)));
        assert_eq!(method("Integrator \"lightcuts\" \"float eror\" 0.5").1, 1);
    }

    #[test]
    fn lights_are_chosen_as_files_and_the_command_line_say() {
        let of = |text: &str, light_sampling| {
            let path = PathOverrides { light_sampling, ..PathOverrides::default() };
            match settings_of(text, &Overrides { path, ..Overrides::default() }) {
                (IntegratorSettings { method: Method::Path(path), .. }, warnings) => {
                    (path.light_sampling, warnings)
                }
                (other, _) => panic!("{other:?}"),
            }
        };
        for (text, expected) in [
            ("Integrator \"path\"", (LightSampling::Auto, 0)),
            ("Integrator \"path\" \"string lightsampler\" \"power\"", (LightSampling::Power, 0)),
            ("Integrator \"path\" \"string lightsampler\" \"bvh\"", (LightSampling::Tree, 0)),
            (
                "Integrator \"volpath\" \"string lightsampler\" \"uniform\"",
                (LightSampling::Uniform, 1),
            ),
            (
                "Integrator \"path\" \"string lightsampler\" \"exhaustive\"",
                (LightSampling::Tree, 1),
            ),
            (
                "Integrator \"path\" \"string lightsampling\" \"material-tree\"",
                (LightSampling::MaterialTree, 0),
            ),
            (
                "Integrator \"path\" \"string lightsampling\" \"uniform\" \"string lightsampler\" \"bvh\"",
                (LightSampling::Uniform, 0),
            ),
        ] {
            assert_eq!(of(text, None), expected, "{text}");
            assert_eq!(
                of(text, Some(LightSampling::Power)),
                (LightSampling::Power, expected.1),
                "{text}"
            );
        }
    }

    #[test]
    fn directions_are_drawn_as_files_and_the_command_line_say() {
        let of = |text: &str, bsdf_sampling| {
            let path = PathOverrides { bsdf_sampling, ..PathOverrides::default() };
            match settings_of(text, &Overrides { path, ..Overrides::default() }) {
                (IntegratorSettings { method: Method::Path(path), .. }, 0) => path.bsdf_sampling,
                other => panic!("{other:?}"),
            }
        };
        let file = "Integrator \"path\" \"string bsdfsampling\" \"cosine\"";
        assert_eq!((of("", None), of(file, None)), (BsdfSampling::Shader, BsdfSampling::Cosine));
        assert_eq!(of(file, Some(BsdfSampling::Bounds)), BsdfSampling::Bounds);
    }

    #[test]
    fn the_command_line_goes_before_the_file() {
        let text = "Integrator \"lightcuts\" \"integer maxdepth\" 3 \"float error\" 0.5 \"integer cutsize\" 12";
        let over = LightcutsOverrides {
            max_cut: Some(2),
            bounds: BoundMode::Hand,
            check_bounds: true,
            sky_points: Some(1),
            ..LightcutsOverrides::default()
        };
        let cut = Cut::Deterministic { error: 0.5, error_mode: ErrorMode::Cluster, max_cut: 2 };
        let expected = LightcutsSettings {
            cut,
            bounds: BoundMode::Hand,
            check_bounds: true,
            sky_points: 1,
            ..DEFAULT
        };
        assert_eq!(settings(text, None, over).0.method, Method::Lightcuts(expected));
        let over = LightcutsOverrides { mode: Some(CutMode::Stochastic), ..over };
        let expected = LightcutsSettings { cut: Cut::Stochastic { size: 12 }, ..expected };
        assert_eq!(settings(text, None, over).0.method, Method::Lightcuts(expected));
        // Another integrator than the file's takes the depth from it, and warns of nothing.
        let path = settings(text, Some(MethodName::Path), LightcutsOverrides::default());
        assert_eq!(
            path,
            (IntegratorSettings { max_depth: 3, method: Method::Path(PathSettings::default()) }, 0)
        );
        let (text, none) =
            ("Integrator \"path\" \"integer maxdepth\" 2", LightcutsOverrides::default());
        let lightcuts = settings(text, Some(MethodName::Lightcuts), none);
        assert_eq!(
            lightcuts,
            (IntegratorSettings { max_depth: 2, method: Method::Lightcuts(DEFAULT) }, 0)
        );
    }
}
