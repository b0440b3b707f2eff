//! Builds the integrator: `lightcuts`, or `path`, which is also the fallback for unsupported ones.

use super::{Builder, Overrides};
use crate::describe::Description;
use crate::diagnostics::SceneError;
use crate::file::parse::Entity;
use lightbound::choice::Choice;
use lightbound::settings::{
    AmbientOcclusionSettings, BoundMode, BsdfSampling, Cut, CutMode, ErrorMode, Guiding,
    IntegratorSettings, LightSampling, LightcutsSettings, Method, MethodName, PathSettings,
    ShadowTerminator, VirtualLightSettings,
};
use lightbound::suggestion::did_you_mean;

/// Overrides for the path tracer.
#[derive(Clone, Copy, Debug, Default)]
pub struct PathOverrides {
    /// Overrides [`PathSettings::light_sampling`].
    pub light_sampling: Option<LightSampling>,
    /// Overrides [`PathSettings::bsdf_sampling`].
    pub bsdf_sampling: Option<BsdfSampling>,
    /// Overrides [`PathSettings::guiding`].
    pub guiding: Option<Guiding>,
}

/// Overrides for lightcuts. The caller checks their ranges.
#[derive(Clone, Copy, Debug, Default)]
pub struct LightcutsOverrides {
    /// Overrides [`Cut::Deterministic::error`].
    pub error: Option<f32>,
    /// Overrides [`Cut::Deterministic::error_mode`].
    pub error_mode: Option<ErrorMode>,
    /// Overrides [`Cut::Deterministic::max_cut`].
    pub max_cut: Option<u32>,
    /// Selects deterministic or stochastic cuts.
    pub mode: Option<CutMode>,
    /// Overrides [`Cut::Stochastic::size`].
    pub cut_size: Option<u32>,
    /// Overrides [`LightcutsSettings::gather`].
    pub gather: Option<u32>,
    /// Overrides [`LightcutsSettings::area_points`].
    pub area_points: Option<u32>,
    /// Overrides [`LightcutsSettings::environment_points`].
    pub environment_points: Option<u32>,
    /// Overrides [`VirtualLightSettings::paths`]; 0 for direct light only.
    pub light_paths: Option<u32>,
    /// Overrides [`VirtualLightSettings::clamp_distance`].
    pub clamp_distance: Option<f32>,
    /// Whether [`VirtualLightSettings::compensation`] is off.
    pub no_compensation: bool,
    /// Turns [`LightcutsSettings::glossy_paths`] on.
    pub glossy_paths: bool,
    /// Overrides [`LightcutsSettings::bounds`].
    pub bounds: BoundMode,
    /// Overrides [`LightcutsSettings::check_bounds`].
    pub check_bounds: bool,
}

/// Parameters of `path`.
const PATH_PARAMS: [&str; 7] = [
    "maxdepth",
    "shadowterminator",
    "lightsampling",
    "bsdfsampling",
    "guiding",
    "lightsampler",
    "regularize",
];

/// Parameters of `lightcuts`.
const LIGHTCUTS_PARAMS: [&str; 14] = [
    "maxdepth",
    "shadowterminator",
    "error",
    "errormode",
    "maxcut",
    "mode",
    "cutsize",
    "gather",
    "areapoints",
    "skypoints",
    "lightpaths",
    "clampdistance",
    "compensation",
    "glossypaths",
];

/// Parameters of `ambientocclusion`.
const AMBIENT_OCCLUSION_PARAMS: [&str; 2] = ["cossample", "maxdistance"];

/// Returns what replaces an integrator of pbrt-v4; `None` if there is none of this name.
fn fallback(name: &str) -> Option<&'static str> {
    Some(match name {
        "bdpt" | "mlt" => {
            "integrator \"path\" with the same mean, and more noise in caustics and in light \
             through narrow openings"
        }
        "sppm" => "integrator \"path\" without its bias, and with more noise in caustics",
        "lightpath" => {
            "integrator \"path\", which also shows light that specular surfaces reflect to the camera"
        }
        "simplepath" => "integrator \"path\" with the same mean, and less noise",
        "randomwalk" => {
            "integrator \"path\" with less noise, and with mirrors, smooth glass and lights without \
             a surface"
        }
        "function" => "integrator \"path\"; it is a test of samplers, which has no scene",
        _ => return None,
    })
}

impl Builder<'_> {
    /// Reads the integrator and its settings.
    pub(super) fn integrator(
        &mut self,
        d: &Description,
        overrides: &Overrides,
    ) -> Result<IntegratorSettings, SceneError> {
        let default = self.default_entity(MethodName::default().name());
        let integrator = d.integrator.as_ref().unwrap_or(&default);
        let p = &integrator.params;
        // `simplevolpath` is `volpath`.
        if overrides.integrator.is_none() && integrator.name != "simplevolpath" {
            self.check_supported("integrator", integrator, MethodName::NAMES, fallback)?;
        }
        let file_method = MethodName::from_name(&integrator.name).unwrap_or_default();
        // Ambient occlusion has no paths.
        let has_paths = file_method != MethodName::AmbientOcclusion;
        let max_depth = if has_paths { p.int("maxdepth")? } else { None };
        let max_depth = max_depth.unwrap_or(5);
        if max_depth < 0 {
            return Err(integrator
                .param_error("maxdepth", format!("\"maxdepth\" is {max_depth}"))
                .help("give 0 or more"));
        }
        let shadow_terminator = match has_paths {
            true => choice(integrator, "shadowterminator")?,
            false => ShadowTerminator::default(),
        };
        let shadow_terminator = overrides.shadow_terminator.unwrap_or(shadow_terminator);
        let method = match overrides.integrator.unwrap_or(file_method) {
            MethodName::Path | MethodName::Volpath => {
                let light_sampling = self.light_sampling(integrator)?;
                let bsdf_sampling = choice(integrator, "bsdfsampling")?;
                let guiding = choice(integrator, "guiding")?;
                Method::Path(PathSettings {
                    light_sampling: overrides.path.light_sampling.unwrap_or(light_sampling),
                    bsdf_sampling: overrides.path.bsdf_sampling.unwrap_or(bsdf_sampling),
                    guiding: overrides.path.guiding.unwrap_or(guiding),
                })
            }
            MethodName::Lightcuts if file_method == MethodName::Lightcuts => {
                let settings = lightcuts(integrator, &overrides.lightcuts)?;
                self.warn_unknown(integrator, &LIGHTCUTS_PARAMS)?;
                Method::Lightcuts(settings)
            }
            MethodName::Lightcuts => Method::Lightcuts(lightcuts(
                &self.default_entity(MethodName::Lightcuts.name()),
                &overrides.lightcuts,
            )?),
            MethodName::AmbientOcclusion if file_method == MethodName::AmbientOcclusion => {
                let settings = ambient_occlusion(integrator)?;
                self.warn_unknown(integrator, &AMBIENT_OCCLUSION_PARAMS)?;
                Method::AmbientOcclusion(settings)
            }
            MethodName::AmbientOcclusion => {
                Method::AmbientOcclusion(AmbientOcclusionSettings::default())
            }
        };
        if let Method::Lightcuts(settings) = &method
            && max_depth < 2
        {
            let rendered = if max_depth == 0 { "emission only" } else { "direct light only" };
            let options = [
                (settings.virtual_lights.is_some(), "paths from lights add nothing"),
                (settings.glossy_paths, "no path continues at a glossy surface"),
            ];
            for (_, effect) in options.into_iter().filter(|(is_set, _)| *is_set) {
                let message = format!("{effect}, since \"maxdepth\" is {max_depth}");
                self.warn(integrator, message, rendered)?;
            }
        }
        let is_path = matches!(file_method, MethodName::Path | MethodName::Volpath);
        if method.name() != MethodName::Path && is_path {
            // The override replaces the integrator together with its parameters.
            for name in PATH_PARAMS {
                p.any(name);
            }
        }
        if integrator.name == "path" || integrator.name == "volpath" {
            if p.bool("regularize")?.unwrap_or(false) && method.name() == MethodName::Path {
                self.warn(
                    integrator,
                    "\"regularize\" is not supported",
                    "unregularized BSDFs, which are unbiased",
                )?;
            }
            self.warn_unknown(integrator, &PATH_PARAMS)?;
        }
        if let Some(accelerator) = &d.accelerator {
            // The overrides select the structure. It does not affect the image.
            self.check_supported("accelerator", accelerator, &["bvh", "kdtree"], |_| None)?;
            accelerator.params.mark_all_used();
        }
        Ok(IntegratorSettings { max_depth: max_depth as u32, shadow_terminator, method })
    }

    /// Warns about unused parameters. `known` lists the parameters of the integrator.
    fn warn_unknown(&mut self, integrator: &Entity, known: &[&str]) -> Result<(), SceneError> {
        for p in integrator.params.unused() {
            let (ty, name) = (p.ty, &p.name);
            let other = match integrator.name.as_str() {
                "lightcuts" if PATH_PARAMS.contains(&name.as_str()) => Some("path"),
                _ if LIGHTCUTS_PARAMS.contains(&name.as_str()) => Some("lightcuts"),
                _ => None,
            };
            let message = match other {
                Some(other) => format!(
                    "\"{ty} {name}\" is a parameter of the integrator \"{other}\", not of \"{}\"",
                    integrator.name
                ),
                None => {
                    let list = format!("the parameters are {}", known.join(", "));
                    let help = did_you_mean(name, known.iter().copied(), &list);
                    format!("\"{}\" has no parameter \"{ty} {name}\" ({help})", integrator.name)
                }
            };
            self.diagnostics.warn(Some(&p.location), message, "it is ignored")?;
        }
        Ok(())
    }

    /// Reads the light sampling mode from `lightsampling`, or else maps pbrt-v4's `lightsampler` to
    /// the closest mode. The mode affects noise only, not the expected image.
    fn light_sampling(&mut self, integrator: &Entity) -> Result<LightSampling, SceneError> {
        let p = &integrator.params;
        let explicit =
            p.string("lightsampling")?.is_some().then(|| choice(integrator, "lightsampling"));
        let from_pbrt = match p.string("lightsampler")? {
            Some("uniform") => LightSampling::Uniform,
            Some("bvh") => LightSampling::Tree,
            Some("power") => LightSampling::Power,
            None => LightSampling::Auto,
            Some("exhaustive") => {
                let (message, fallback) = (
                    "\"lightsampler\" \"exhaustive\" is not supported",
                    "\"lightsampling\" \"tree\"",
                );
                self.warn(integrator, message, fallback)?;
                LightSampling::Tree
            }
            Some(other) => {
                let names = ["uniform", "power", "bvh", "exhaustive"];
                let help =
                    did_you_mean(other, names, &format!("the values are {}", names.join(", ")));
                return Err(integrator
                    .param_error("lightsampler", format!("unknown \"lightsampler\": \"{other}\""))
                    .help(help));
            }
        };
        explicit.unwrap_or(Ok(from_pbrt))
    }
}

/// Reads the settings of ambient occlusion.
fn ambient_occlusion(entity: &Entity) -> Result<AmbientOcclusionSettings, SceneError> {
    let default = AmbientOcclusionSettings::default();
    let cosine_sampling = entity.params.bool("cossample")?.unwrap_or(default.cosine_sampling);
    let max_distance = entity.params.float("maxdistance")?.unwrap_or(default.max_distance);
    if max_distance.is_nan() || max_distance <= 0.0 {
        let error = entity.param_error("maxdistance", format!("\"maxdistance\" is {max_distance}"));
        return Err(error.help("give a distance above 0, or omit it for an infinite one"));
    }
    Ok(AmbientOcclusionSettings { cosine_sampling, max_distance })
}

/// Maximum cut size in scene files.
const MAX_CUT: u32 = i32::MAX as u32;

/// Reads the settings of lightcuts. Checks the parameters of both modes, because the overrides may
/// select the other mode.
fn lightcuts(
    entity: &Entity,
    overrides: &LightcutsOverrides,
) -> Result<LightcutsSettings, SceneError> {
    let p = &entity.params;
    let count = |name: &str, default: i32, max: u32| match p.int(name)?.unwrap_or(default) {
        n if (1..=max).contains(&(n as u32)) => Ok(n as u32),
        n => Err(entity
            .param_error(name, format!("\"{name}\" is {n}"))
            .help(format!("give 1 or more, up to {max}"))),
    };
    let error = p.float("error")?.unwrap_or(0.02);
    if !(error >= 0.0 && error.is_finite()) {
        return Err(entity
            .param_error("error", format!("\"error\" is {error}"))
            .help("give 0 or more, such as 0.02 for 2 %"));
    }
    let file_error_mode = choice(entity, "errormode")?;
    let error_mode = overrides.error_mode.unwrap_or(file_error_mode);
    let light_paths = match p.int("lightpaths")?.unwrap_or(0) {
        n if (0..=LightcutsSettings::MAX_POINTS as i32).contains(&n) => n as u32,
        n => {
            return Err(entity
                .param_error("lightpaths", format!("\"lightpaths\" is {n}"))
                .help("give the number of paths from lights, or 0 for direct light only"));
        }
    };
    let paths = overrides.light_paths.unwrap_or(light_paths);
    let is_unlimited = error_mode == ErrorMode::Total || paths > 0;
    // Near virtual lights, a cluster may be far too bright until it is refined. A limit can also
    // violate the bound on the total error. So the default is no limit.
    let max_cut = count("maxcut", if is_unlimited { i32::MAX } else { 1000 }, MAX_CUT)?;
    let mode = choice(entity, "mode")?;
    let cut_size = count("cutsize", 64, MAX_CUT)?;
    let gather = p.int("gather")?.unwrap_or(1);
    let gather = u32::try_from(gather)
        .ok()
        .filter(|&n| LightcutsSettings::allows_gather(n))
        .ok_or_else(|| {
            let message = format!("\"gather\" is {gather}");
            let help = format!("give a power of two from 1 to {}", LightcutsSettings::MAX_GATHER);
            entity.param_error("gather", message).help(help)
        })?;
    let points = |name| count(name, 1024, LightcutsSettings::MAX_POINTS);
    let (area_points, environment_points) = (points("areapoints")?, points("skypoints")?);
    let clamp_distance = p.float("clampdistance")?;
    if let Some(x) = clamp_distance.filter(|x| !(*x > 0.0 && x.is_finite())) {
        return Err(entity
            .param_error("clampdistance", format!("\"clampdistance\" is {x}"))
            .help("give a positive distance, or leave it out to have it selected"));
    }
    let compensation = p.bool("compensation")?.unwrap_or(true);
    let virtual_lights = (paths > 0).then(|| VirtualLightSettings {
        paths,
        clamp_distance: overrides.clamp_distance.or(clamp_distance),
        compensation: compensation && !overrides.no_compensation,
    });
    let glossy_paths = p.bool("glossypaths")?.unwrap_or(false);
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
        gather: overrides.gather.unwrap_or(gather),
        area_points: overrides.area_points.unwrap_or(area_points),
        environment_points: overrides.environment_points.unwrap_or(environment_points),
        virtual_lights,
        glossy_paths: glossy_paths || overrides.glossy_paths,
    })
}

/// Parses a parameter as a [`Choice`].
fn choice<T: Choice>(entity: &Entity, name: &str) -> Result<T, SceneError> {
    let Some(text) = entity.params.string(name)? else { return Ok(T::default()) };
    T::from_name(text).ok_or_else(|| {
        let list = format!("the values are {}", T::NAMES.join(", "));
        let help = did_you_mean(text, T::NAMES.iter().copied(), &list);
        entity
            .param_error(name, format!("unknown \"{name}\" of \"{}\": \"{text}\"", entity.name))
            .help(help)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::load_source;
    use crate::diagnostics::{Diagnostics, Source};
    use std::path::Path;

    fn settings(
        text: &str,
        integrator: Option<MethodName>,
        lightcuts: LightcutsOverrides,
    ) -> (IntegratorSettings, usize) {
        settings_with(text, &Overrides { integrator, lightcuts, ..Overrides::default() })
    }

    /// Returns the integrator settings of a scene and the number of warnings.
    fn settings_with(text: &str, overrides: &Overrides) -> (IntegratorSettings, usize) {
        let source = Source::memory(Path::new("a.pbrt"), format!("{text}\nWorldBegin\n"));
        let mut diagnostics = Diagnostics::new(false);
        let loaded = load_source(&source, &[], overrides, &mut diagnostics).unwrap();
        (loaded.settings.integrator, diagnostics.warnings().len())
    }

    #[test]
    fn paths_from_lights_need_two_scattering_events() {
        for (depth, warnings) in [(0, 1), (1, 1), (2, 0), (5, 0)] {
            let text = format!("Integrator \"lightcuts\" \"integer maxdepth\" {depth}");
            let with_paths = format!("{text} \"integer lightpaths\" 100");
            let none = LightcutsOverrides::default();
            assert_eq!(settings(&with_paths, None, none).1, warnings, "{depth}");
            assert_eq!(settings(&text, None, none).1, 0);
            let option = LightcutsOverrides { light_paths: Some(100), ..none };
            let path = text.replace("lightcuts", "path");
            assert_eq!(settings(&path, Some(MethodName::Lightcuts), option).1, warnings);
            let glossy = LightcutsOverrides { glossy_paths: true, ..option };
            assert_eq!(settings(&text, None, glossy).1, 2 * warnings);
        }
    }

    #[test]
    fn files_set_all_parameters_except_bounds() {
        let method = |text: &str| settings(text, None, LightcutsOverrides::default());
        let expected = |max_depth, method| {
            (IntegratorSettings { max_depth, method, ..IntegratorSettings::default() }, 0)
        };
        assert_eq!(method(""), expected(5, Method::Path(PathSettings::default())));
        assert_eq!(
            method("Integrator \"lightcuts\""),
            expected(5, Method::Lightcuts(LightcutsSettings::default()))
        );
        let cut = Cut::Deterministic { error: 0.5, error_mode: ErrorMode::Total, max_cut: 7 };
        let text = "Integrator \"lightcuts\" \"integer maxdepth\" 3 \"float error\" 0.5 \"integer maxcut\" 7 \
                    \"string errormode\" \"total\" \"integer areapoints\" 8 \"integer skypoints\" 9 \
                    \"integer gather\" 4 \"integer lightpaths\" 10 \"float clampdistance\" 2 \
                    \"bool compensation\" false \"bool glossypaths\" true";
        let virtual_lights =
            VirtualLightSettings { paths: 10, clamp_distance: Some(2.0), compensation: false };
        let expected_settings = LightcutsSettings {
            cut,
            gather: 4,
            area_points: 8,
            environment_points: 9,
            virtual_lights: Some(virtual_lights),
            glossy_paths: true,
            ..LightcutsSettings::default()
        };
        assert_eq!(method(text), expected(3, Method::Lightcuts(expected_settings)));
        let stochastic =
            LightcutsSettings { cut: Cut::Stochastic { size: 12 }, ..LightcutsSettings::default() };
        let text = "Integrator \"lightcuts\" \"string mode\" \"stochastic\" \"integer cutsize\" 12 \"float error\" 0.5";
        assert_eq!(method(text), expected(5, Method::Lightcuts(stochastic)));
        assert_eq!(method("Integrator \"lightcuts\" \"float eror\" 0.5").1, 1);
    }

    #[test]
    fn shadow_terminator_follows_file_and_overrides() {
        let terminator = |text: &str, shadow_terminator| {
            let overrides = Overrides { shadow_terminator, ..Overrides::default() };
            let (settings, warnings) = settings_with(text, &overrides);
            assert_eq!(warnings, 0);
            settings.shadow_terminator
        };
        for integrator in ["path", "lightcuts"] {
            let soft = format!("Integrator \"{integrator}\" \"string shadowterminator\" \"soft\"");
            assert_eq!(terminator(&soft, None), ShadowTerminator::Soft);
            assert_eq!(terminator(&soft, Some(ShadowTerminator::Hard)), ShadowTerminator::Hard);
            let default = format!("Integrator \"{integrator}\"");
            assert_eq!(terminator(&default, None), ShadowTerminator::Hard);
            assert_eq!(terminator(&default, Some(ShadowTerminator::Soft)), ShadowTerminator::Soft);
        }
    }

    #[test]
    fn light_sampling_follows_file_and_overrides() {
        let sampling = |text: &str, light_sampling| {
            let path = PathOverrides { light_sampling, ..PathOverrides::default() };
            match settings_with(text, &Overrides { path, ..Overrides::default() }) {
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
                (LightSampling::Uniform, 0),
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
            assert_eq!(sampling(text, None), expected, "{text}");
            assert_eq!(
                sampling(text, Some(LightSampling::Power)),
                (LightSampling::Power, expected.1),
                "{text}"
            );
        }
    }

    #[test]
    fn parameters_of_the_other_integrator_are_named() {
        let warnings = |text: &str, integrator| {
            let source = Source::memory("a.pbrt", format!("{text}\nWorldBegin\n"));
            let mut diagnostics = Diagnostics::new(false);
            let overrides = Overrides { integrator, ..Overrides::default() };
            load_source(&source, &[], &overrides, &mut diagnostics).unwrap();
            diagnostics.warnings().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        };
        let path = "Integrator \"path\" \"string lightsampler\" \"bvh\" \"string bsdfsampling\" \"cosine\"";
        let lightcuts = Some(MethodName::Lightcuts);
        assert_eq!(warnings(path, lightcuts), "");
        let misspelt = warnings("Integrator \"path\" \"string lightsamplr\" \"bvh\"", lightcuts);
        assert!(
            misspelt.ends_with(
                "\"path\" has no parameter \"string lightsamplr\" (did you mean \"lightsampler\"?); \
                 it is ignored"
            ),
            "{misspelt}"
        );
        let text = "Integrator \"lightcuts\" \"string lightsampler\" \"bvh\"";
        let message = "\"string lightsampler\" is a parameter of the integrator \"path\", \
                       not of \"lightcuts\"; it is ignored";
        for integrator in [None, lightcuts] {
            assert!(
                warnings(text, integrator).ends_with(message),
                "{}",
                warnings(text, integrator)
            );
        }
        assert!(
            warnings("Integrator \"path\" \"integer maxcut\" 3", None).contains("\"lightcuts\"")
        );
    }

    #[test]
    fn bsdf_sampling_follows_file_and_overrides() {
        let sampling = |text: &str, bsdf_sampling| {
            let path = PathOverrides { bsdf_sampling, ..PathOverrides::default() };
            match settings_with(text, &Overrides { path, ..Overrides::default() }) {
                (IntegratorSettings { method: Method::Path(path), .. }, 0) => path.bsdf_sampling,
                other => panic!("{other:?}"),
            }
        };
        let file = "Integrator \"path\" \"string bsdfsampling\" \"cosine\"";
        assert_eq!(
            (sampling("", None), sampling(file, None)),
            (BsdfSampling::Shader, BsdfSampling::Cosine)
        );
        assert_eq!(sampling(file, Some(BsdfSampling::Bounds)), BsdfSampling::Bounds);
    }

    #[test]
    fn overrides_take_precedence_over_the_file() {
        let text = "Integrator \"lightcuts\" \"integer maxdepth\" 3 \"float error\" 0.5 \"integer cutsize\" 12";
        let lightcuts_overrides = LightcutsOverrides {
            max_cut: Some(2),
            bounds: BoundMode::Hand,
            check_bounds: true,
            environment_points: Some(1),
            ..LightcutsOverrides::default()
        };
        let cut = Cut::Deterministic { error: 0.5, error_mode: ErrorMode::Cluster, max_cut: 2 };
        let expected = LightcutsSettings {
            cut,
            bounds: BoundMode::Hand,
            check_bounds: true,
            environment_points: 1,
            ..LightcutsSettings::default()
        };
        assert_eq!(settings(text, None, lightcuts_overrides).0.method, Method::Lightcuts(expected));
        let lightcuts_overrides =
            LightcutsOverrides { mode: Some(CutMode::Stochastic), ..lightcuts_overrides };
        let expected = LightcutsSettings { cut: Cut::Stochastic { size: 12 }, ..expected };
        assert_eq!(settings(text, None, lightcuts_overrides).0.method, Method::Lightcuts(expected));
        // An overridden integrator keeps the depth of the file and gives no warnings.
        let path = settings(text, Some(MethodName::Path), LightcutsOverrides::default());
        assert_eq!(path, (IntegratorSettings { max_depth: 3, ..IntegratorSettings::default() }, 0));
        let text = "Integrator \"path\" \"integer maxdepth\" 2";
        let lightcuts = settings(text, Some(MethodName::Lightcuts), LightcutsOverrides::default());
        assert_eq!(
            lightcuts,
            (
                IntegratorSettings {
                    max_depth: 2,
                    method: Method::Lightcuts(LightcutsSettings::default()),
                    ..IntegratorSettings::default()
                },
                0
            )
        );
    }
}
