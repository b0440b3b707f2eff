//! Options of the lightcuts integrator, and the EXR attributes of its settings.

use crate::Error;
use crate::numbers::{choice, integer};
use lightbound::choice::Choice;
use lightbound::material::{Material, Specular};
use lightbound::part::Attributes;
use lightbound::settings::{
    BoundMode, Cut, CutMode, ErrorMode, LightcutsSettings, Method, MethodName, VirtualLightSettings,
};
use lightbound_image::write::Attribute;
use lightbound_pbrt::SceneError;
use lightbound_pbrt::build::{LightcutsOverrides, LoadedScene};
use lightbound_pbrt::diagnostics::Diagnostics;
use std::iter::zip;

/// Options of the lightcuts integrator, which override the scene's settings.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Lightcuts")]
pub struct LightcutsArgs {
    /// Maximum error bound relative to the light at a point; 0 with a large --max-cut evaluates all
    /// lights [default: the scene's, or 0.02]
    #[arg(long, value_name = "X", value_parser = parse_error, allow_negative_numbers = true)]
    error: Option<f32>,

    /// Quantity that the error bound applies to [default: the scene's, or cluster]
    #[arg(long, value_parser = choice::<ErrorMode>())]
    error_mode: Option<ErrorMode>,

    /// Maximum number of clusters in a cut [default: the scene's, or 1000, or unlimited with
    /// --error-mode total or --light-paths]
    #[arg(long, value_name = "N", value_parser = integer(1..=MAX_COUNT))]
    max_cut: Option<u32>,

    /// Selection of the representatives of clusters [default: the scene's, or deterministic]
    #[arg(long, value_parser = choice::<CutMode>())]
    mode: Option<CutMode>,

    /// Number of clusters in a cut of --mode stochastic, or of pairs with --gather [default: the
    /// scene's, or 64]
    #[arg(long, value_name = "N", value_parser = integer(1..=MAX_COUNT))]
    cut_size: Option<u32>,

    /// Number of consecutive samples of a pixel that share a cut through pairs of clusters of shading
    /// points and of lights, a power of two [default: the scene's, or 1]
    #[arg(long, value_name = "N", value_parser = parse_gather)]
    gather: Option<u32>,

    /// Approximate number of points that represent all area lights [default: the scene's, or 1024]
    #[arg(long, value_name = "N", value_parser = integer(1..=LightcutsSettings::MAX_POINTS))]
    area_points: Option<u32>,

    /// Approximate number of directions that represent all environment lights [default: the
    /// scene's, or 1024]
    #[arg(long = "sky-points", value_name = "N", value_parser = integer(1..=LightcutsSettings::MAX_POINTS))]
    environment_points: Option<u32>,

    /// Number of paths from lights, for indirect light: their vertices on surfaces and in media
    /// become virtual lights; 0 renders direct light only [default: the scene's, or 0]
    #[arg(long, value_name = "N", value_parser = integer(0..=LightcutsSettings::MAX_POINTS))]
    light_paths: Option<u32>,

    /// Distance below which the light of a virtual light does not increase [default: the scene's,
    /// or one by the number of paths]
    #[arg(long, value_name = "X", value_parser = parse_distance, allow_negative_numbers = true)]
    clamp_distance: Option<f32>,

    /// Leave out the light that clamping takes away: darker corners, but less noise
    #[arg(long)]
    no_compensation: bool,

    /// Continue paths from the camera at glossy surfaces, with noise: for rough glass and metal
    #[arg(long)]
    glossy_paths: bool,

    /// Compilation of material bounds [default: related]
    #[arg(long, value_parser = choice::<BoundMode>())]
    bounds: Option<BoundMode>,

    /// Check every bound against the exact value, and count violations; slow
    #[arg(long)]
    check_bounds: bool,
}

/// Maximum count: scene files store 32-bit signed integers.
const MAX_COUNT: u32 = i32::MAX as u32;

/// Parses a relative error.
fn parse_error(text: &str) -> Result<f32, String> {
    let x = text.parse().ok().filter(|x: &f32| *x >= 0.0 && x.is_finite());
    x.ok_or_else(|| "expected a number of at least 0, as in 0.02 for 2 %".into())
}

/// Parses a distance.
fn parse_distance(text: &str) -> Result<f32, String> {
    let x = text.parse().ok().filter(|x: &f32| *x > 0.0 && x.is_finite());
    x.ok_or_else(|| "expected a positive number".into())
}

/// Parses a number of samples that share a cut.
fn parse_gather(text: &str) -> Result<u32, String> {
    let expected =
        || format!("expected a power of two from 1 to {}, as in 16", LightcutsSettings::MAX_GATHER);
    text.parse().ok().filter(|&n| LightcutsSettings::allows_gather(n)).ok_or_else(expected)
}

impl LightcutsArgs {
    /// Overrides of the scene's settings.
    pub fn overrides(&self) -> LightcutsOverrides {
        LightcutsOverrides {
            error: self.error,
            error_mode: self.error_mode,
            max_cut: self.max_cut,
            mode: self.mode,
            cut_size: self.cut_size,
            gather: self.gather,
            area_points: self.area_points,
            environment_points: self.environment_points,
            light_paths: self.light_paths,
            clamp_distance: self.clamp_distance,
            no_compensation: self.no_compensation,
            glossy_paths: self.glossy_paths,
            bounds: self.bounds.unwrap_or_default(),
            check_bounds: self.check_bounds,
        }
    }

    /// Rejects options that have no effect on the integrator.
    pub fn check(&self, method: &Method) -> Result<(), Error> {
        let cut_options = |mode: CutMode| match mode {
            CutMode::Deterministic => vec![
                ("--error", self.error.is_some()),
                ("--error-mode", self.error_mode.is_some()),
                ("--max-cut", self.max_cut.is_some()),
            ],
            CutMode::Stochastic => vec![("--cut-size", self.cut_size.is_some())],
        };
        let common_options = [
            ("--mode", self.mode.is_some()),
            ("--gather", self.gather.is_some()),
            ("--area-points", self.area_points.is_some()),
            ("--sky-points", self.environment_points.is_some()),
            ("--light-paths", self.light_paths.is_some()),
            ("--glossy-paths", self.glossy_paths),
            ("--bounds", self.bounds.is_some()),
            ("--check-bounds", self.check_bounds),
        ];
        let indirect_options = [
            ("--clamp-distance", self.clamp_distance.is_some()),
            ("--no-compensation", self.no_compensation),
        ];
        let first_given = |options: &[(&'static str, bool)]| {
            options.iter().find(|(_, given)| *given).map(|(name, _)| *name)
        };
        let (deterministic, stochastic) =
            (cut_options(CutMode::Deterministic), cut_options(CutMode::Stochastic));
        match method {
            Method::Path(_) | Method::AmbientOcclusion(_) => {
                let options =
                    [&deterministic[..], &stochastic, &common_options, &indirect_options].concat();
                match first_given(&options) {
                    Some(option) => Err(Error::Option {
                        message: format!(
                            "{option} applies only to the lightcuts integrator, which this render \
                             does not use"
                        ),
                        help: format!(
                            "add --integrator {}, or omit {option}",
                            MethodName::Lightcuts.name()
                        ),
                    }),
                    None => Ok(()),
                }
            }
            Method::Lightcuts(settings) => {
                let (other, options) = match settings.cut.mode() {
                    CutMode::Deterministic => (CutMode::Stochastic, stochastic),
                    CutMode::Stochastic => (CutMode::Deterministic, deterministic),
                };
                if let Some(option) = first_given(&options) {
                    return Err(Error::Option {
                        message: format!(
                            "{option} applies only to lightcuts mode {}; the mode is {}",
                            other.name(),
                            settings.cut.mode().name()
                        ),
                        help: format!("add --mode {}, or omit {option}", other.name()),
                    });
                }
                match first_given(&indirect_options).filter(|_| settings.virtual_lights.is_none()) {
                    Some(option) => Err(Error::Option {
                        message: format!(
                            "{option} applies only to indirect light; this render has direct \
                             light only"
                        ),
                        help: format!("add --light-paths 100000, or omit {option}"),
                    }),
                    None => Ok(()),
                }
            }
        }
    }
}

/// Warns of light that lightcuts does not render, and of errors that are not noise, which a noise
/// threshold measures.
pub fn warn(
    loaded: &LoadedScene,
    measures_noise: bool,
    diagnostics: &mut Diagnostics,
) -> Result<(), SceneError> {
    let scene = &loaded.scene;
    let Method::Lightcuts(settings) = &loaded.settings.integrator.method else { return Ok(()) };
    let mut warn = |message: String, fallback| diagnostics.warn(None, message, fallback);
    if let Some(medium) = scene.media.iter().find(|medium| medium.emits()) {
        warn(
            format!("with lightcuts, the light of medium \"{}\" illuminates nothing", medium.name),
            "it is only visible itself; --integrator volpath lets it illuminate the scene",
        )?;
    }
    let first = |matches: fn(&Material) -> bool| {
        let mut materials = zip(&scene.materials, &scene.material_names);
        materials.find(|(material, _)| matches(material)).map(|(_, name)| name)
    };
    if let Some(name) = first(is_pane) {
        warn(
            format!("with lightcuts, no light passes panes of material \"{name}\""),
            "they cast shadows; leave them out, or use --integrator path",
        )?;
    }
    let has_indirect_light = loaded.settings.integrator.max_depth > 1;
    let continues = settings.glossy_paths && has_indirect_light;
    if let Some(name) = first(is_refractive_shader).filter(|_| !continues) {
        warn(
            format!("nothing but lights is visible through material \"{name}\""),
            match (has_indirect_light, settings.virtual_lights.is_some()) {
                (false, _) if settings.glossy_paths => {
                    "dark glass; \"maxdepth\" 2 lets paths continue through it"
                }
                (false, _) => {
                    "dark glass; \"maxdepth\" 2 and --glossy-paths let paths continue through it"
                }
                (true, false) => "dark glass; --glossy-paths lets paths continue through it",
                (true, true) => {
                    "virtual lights behind it; --glossy-paths lets paths continue through it"
                }
            },
        )?;
    }
    let shares_points = settings.gather > 1 && settings.cut.mode() == CutMode::Deterministic;
    if measures_noise && (settings.virtual_lights.is_some() || shares_points) {
        let cause = match shares_points {
            true => "samples that share a cut",
            false => "virtual lights, which are the same for all samples",
        };
        warn(
            format!("--noise-threshold does not see the error of {cause}"),
            "the error may be above the threshold",
        )?;
    }
    Ok(())
}

/// Returns whether a surface is a smooth pane.
fn is_pane(material: &Material) -> bool {
    matches!(material, Material::Surface { specular: Some(Specular::ThinDielectric { .. }), .. })
}

/// Returns whether light is refracted by a shader.
fn is_refractive_shader(material: &Material) -> bool {
    matches!(material, Material::Surface { scattering: Some(shader), .. } if shader.eta != 1.0)
}

/// EXR attributes of the settings that affect the image.
pub fn attributes(settings: &LightcutsSettings) -> Attributes {
    let (text, count) =
        (Attribute::text, |n: u32| Attribute::Int(n.try_into().unwrap_or(i32::MAX)));
    let mut attributes = vec![("mode", text(settings.cut.mode().name()))];
    match settings.cut {
        Cut::Deterministic { error, error_mode, max_cut } => attributes.extend([
            ("error", Attribute::Float(error)),
            ("errorMode", text(error_mode.name())),
            ("maxCut", count(max_cut)),
        ]),
        Cut::Stochastic { size } => attributes.push(("cutSize", count(size))),
    }
    attributes.extend([
        ("gather", count(settings.gather)),
        ("areaPoints", count(settings.area_points)),
        ("skyPoints", count(settings.environment_points)),
        ("glossyPaths", Attribute::Int(settings.glossy_paths.into())),
        ("bounds", text(settings.bounds.name())),
    ]);
    if let Some(VirtualLightSettings { paths, clamp_distance, compensation }) =
        settings.virtual_lights
    {
        attributes.push(("lightPaths", count(paths)));
        attributes.extend(clamp_distance.map(|x| ("clampDistance", Attribute::Float(x))));
        attributes.push(("compensation", Attribute::Int(compensation.into())));
    }
    attributes.into_iter().map(|(key, value)| (format!("lightbound/{key}"), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound::settings::PathSettings;

    const STOCHASTIC: Method = Method::Lightcuts(LightcutsSettings {
        cut: Cut::Stochastic { size: 64 },
        bounds: BoundMode::Related,
        check_bounds: false,
        gather: 1,
        area_points: 1,
        environment_points: 1,
        virtual_lights: None,
        glossy_paths: false,
    });

    #[test]
    fn options_without_effect_are_rejected() {
        let Method::Lightcuts(settings) = STOCHASTIC else { unreachable!() };
        let cut = Cut::Deterministic { error: 0.0, error_mode: ErrorMode::Total, max_cut: 1 };
        let deterministic = Method::Lightcuts(LightcutsSettings { cut, ..settings });
        let rejections = |args: &LightcutsArgs| {
            [Method::Path(PathSettings::default()), deterministic, STOCHASTIC]
                .map(|method| args.check(&method).err().map(|error| error.to_string()))
        };
        let none = LightcutsArgs::default();
        assert_eq!(rejections(&none), [None, None, None]);
        let [path, deterministic_error, stochastic] =
            rejections(&LightcutsArgs { max_cut: Some(5), ..none.clone() });
        assert_eq!(
            path.unwrap(),
            "--max-cut applies only to the lightcuts integrator, which this render does not use"
        );
        assert_eq!(
            stochastic.unwrap(),
            "--max-cut applies only to lightcuts mode deterministic; the mode is stochastic"
        );
        assert_eq!(deterministic_error, None);
        let [path, deterministic, stochastic] =
            rejections(&LightcutsArgs { cut_size: Some(5), ..none.clone() });
        assert!(
            path.unwrap().starts_with("--cut-size")
                && deterministic.unwrap().contains("mode stochastic")
        );
        assert_eq!(stochastic, None);
        let [path, deterministic, stochastic] =
            rejections(&LightcutsArgs { check_bounds: true, ..none });
        assert!(path.unwrap().starts_with("--check-bounds"));
        assert_eq!((deterministic, stochastic), (None, None));
    }

    #[test]
    fn attributes_include_all_settings_that_affect_the_image() {
        let Method::Lightcuts(stochastic) = STOCHASTIC else { unreachable!() };
        let cut = |error, error_mode, max_cut| Cut::Deterministic { error, error_mode, max_cut };
        let base = LightcutsSettings { cut: cut(0.02, ErrorMode::Cluster, 9), ..stochastic };
        let virtual_lights =
            VirtualLightSettings { paths: 5, clamp_distance: None, compensation: true };
        let with_virtual_lights =
            |lights| LightcutsSettings { virtual_lights: Some(lights), ..base };
        let others = [
            stochastic,
            LightcutsSettings { cut: cut(0.03, ErrorMode::Cluster, 9), ..base },
            LightcutsSettings { cut: cut(0.02, ErrorMode::Total, 9), ..base },
            LightcutsSettings { cut: cut(0.02, ErrorMode::Cluster, 10), ..base },
            LightcutsSettings { bounds: BoundMode::Naive, ..base },
            LightcutsSettings { gather: 2, ..base },
            LightcutsSettings { area_points: 2, ..base },
            LightcutsSettings { environment_points: 2, ..base },
            LightcutsSettings { glossy_paths: true, ..base },
            with_virtual_lights(virtual_lights),
        ];
        assert!(others.iter().all(|other| attributes(other) != attributes(&base)));
        let others = [
            VirtualLightSettings { paths: 6, ..virtual_lights },
            VirtualLightSettings { clamp_distance: Some(1.0), ..virtual_lights },
            VirtualLightSettings { compensation: false, ..virtual_lights },
        ];
        let virtual_attributes = attributes(&with_virtual_lights(virtual_lights));
        for other in others {
            assert_ne!(attributes(&with_virtual_lights(other)), virtual_attributes);
        }
        let other = LightcutsSettings { cut: Cut::Stochastic { size: 65 }, ..stochastic };
        assert_ne!(attributes(&other), attributes(&stochastic));
        // Checking bounds does not affect the image.
        assert_eq!(
            attributes(&LightcutsSettings { check_bounds: true, ..base }),
            attributes(&base)
        );
        assert_eq!(attributes(&base)[1], ("lightbound/error".into(), Attribute::Float(0.02)));
    }

    #[test]
    fn relative_errors_are_parsed() {
        assert_eq!((parse_error("0"), parse_error("0.02")), (Ok(0.0), Ok(0.02)));
        for wrong in ["", "-0.1", "nan", "inf", "2%"] {
            assert!(parse_error(wrong).is_err(), "{wrong}");
        }
    }
}
