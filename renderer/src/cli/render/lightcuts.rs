//! Options of the integrator lightcuts, and what a picture's file tells of its settings.

use crate::cli::Error;
use crate::cli::numbers::whole;
use crate::cli::part::Attributes;
use lightbound::image::write::Attribute;
use lightbound::scene::build::LightcutsOverrides;
use lightbound::scene::{
    BoundMode, Cut, CutMode, ErrorMode, LightcutsSettings, Method, MethodName,
};

/// Options of it; each goes before what the scene says.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Lightcuts")]
pub struct LightcutsArgs {
    /// Share of a point's light that the error's bound may have; 0 with a large --max-cut sums up
    /// all lights [default: the scene's, or 0.02]
    #[arg(long, value_name = "X", value_parser = error, allow_negative_numbers = true)]
    error: Option<f32>,

    /// What the bound is of [default: the scene's, or cluster]
    #[arg(long, value_enum)]
    error_mode: Option<ErrorMode>,

    /// Most clusters for a point [default: the scene's, or 1000, or any number with --error-mode
    /// total]
    #[arg(long, value_name = "N", value_parser = whole(1..=MAX_COUNT))]
    max_cut: Option<u32>,

    /// How representatives of clusters are chosen [default: the scene's, or deterministic]
    #[arg(long, value_enum)]
    mode: Option<CutMode>,

    /// Clusters for a point, of --mode stochastic [default: the scene's, or 64]
    #[arg(long, value_name = "N", value_parser = whole(1..=MAX_COUNT))]
    cut_size: Option<u32>,

    /// About so many points stand for all area lights together [default: the scene's, or 1024]
    #[arg(long, value_name = "N", value_parser = whole(1..=LightcutsSettings::MAX_POINTS))]
    area_points: Option<u32>,

    /// About so many directions stand for all environments together [default: the scene's, or 1024]
    #[arg(long, value_name = "N", value_parser = whole(1..=LightcutsSettings::MAX_POINTS))]
    sky_points: Option<u32>,

    /// How bounds of materials are compiled [default: related]
    #[arg(long, value_enum)]
    bounds: Option<BoundMode>,

    /// Hold every bound against what it bounds, and count violations; slow
    #[arg(long)]
    check_bounds: bool,
}

/// What scene files can have.
const MAX_COUNT: u32 = i32::MAX as u32;

/// Parses an error.
fn error(text: &str) -> Result<f32, String> {
    let x = text.parse().ok().filter(|x: &f32| *x >= 0.0 && x.is_finite());
    x.ok_or_else(|| "expected 0 or a number above, as in 0.02 for 2 %".into())
}

impl LightcutsArgs {
    /// What goes before the scene's settings.
    pub fn overrides(&self) -> LightcutsOverrides {
        LightcutsOverrides {
            error: self.error,
            error_mode: self.error_mode,
            max_cut: self.max_cut,
            mode: self.mode,
            cut_size: self.cut_size,
            area_points: self.area_points,
            sky_points: self.sky_points,
            bounds: self.bounds.unwrap_or_default(),
            check_bounds: self.check_bounds,
        }
    }

    /// Refuses options that do nothing for an integrator.
    pub fn check(&self, method: &Method) -> Result<(), Error> {
        let of_cuts = |mode: CutMode| match mode {
            CutMode::Deterministic => vec![
                ("--error", self.error.is_some()),
                ("--error-mode", self.error_mode.is_some()),
                ("--max-cut", self.max_cut.is_some()),
            ],
            CutMode::Stochastic => vec![("--cut-size", self.cut_size.is_some())],
        };
        let of_all = [
            ("--mode", self.mode.is_some()),
            ("--area-points", self.area_points.is_some()),
            ("--sky-points", self.sky_points.is_some()),
            ("--bounds", self.bounds.is_some()),
            ("--check-bounds", self.check_bounds),
        ];
        let first = |options: &[(&'static str, bool)]| {
            options.iter().find(|(_, given)| *given).map(|(name, _)| *name)
        };
        let (deterministic, stochastic) =
            (of_cuts(CutMode::Deterministic), of_cuts(CutMode::Stochastic));
        match method {
            Method::Path(_) => match first(&[&deterministic[..], &stochastic, &of_all].concat()) {
                Some(option) => Err(Error::Option {
                    message: format!(
                        "{option} is for the integrator lightcuts; this picture is rendered by path"
                    ),
                    help: format!(
                        "add --integrator {}, or leave {option} out",
                        MethodName::Lightcuts.word()
                    ),
                }),
                None => Ok(()),
            },
            Method::Lightcuts(settings) => {
                let (other, options) = match settings.cut.mode() {
                    CutMode::Deterministic => (CutMode::Stochastic, stochastic),
                    CutMode::Stochastic => (CutMode::Deterministic, deterministic),
                };
                match first(&options) {
                    Some(option) => Err(Error::Option {
                        message: format!(
                            "{option} is for lightcuts of mode {}; these are {}",
                            other.word(),
                            settings.cut.mode().word()
                        ),
                        help: format!("add --mode {}, or leave {option} out", other.word()),
                    }),
                    None => Ok(()),
                }
            }
        }
    }
}

/// The settings on which a picture depends.
pub fn attributes(settings: &LightcutsSettings) -> Attributes {
    let (text, count) =
        (Attribute::text, |n: u32| Attribute::Int(n.try_into().unwrap_or(i32::MAX)));
    let mut attributes = vec![("mode", text(settings.cut.mode().word()))];
    match settings.cut {
        Cut::Deterministic { error, error_mode, max_cut } => attributes.extend([
            ("error", Attribute::Float(error)),
            ("errorMode", text(error_mode.word())),
            ("maxCut", count(max_cut)),
        ]),
        Cut::Stochastic { size } => attributes.push(("cutSize", count(size))),
    }
    attributes.extend([
        ("areaPoints", count(settings.area_points)),
        ("skyPoints", count(settings.sky_points)),
        ("bounds", text(settings.bounds.word())),
    ]);
    attributes.into_iter().map(|(key, value)| (format!("lightbound/{key}"), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound::scene::PathSettings;

    const STOCHASTIC: Method = Method::Lightcuts(LightcutsSettings {
        cut: Cut::Stochastic { size: 64 },
        bounds: BoundMode::Related,
        check_bounds: false,
        area_points: 1,
        sky_points: 1,
    });

    #[test]
    fn options_that_do_nothing_are_refused() {
        let Method::Lightcuts(settings) = STOCHASTIC else { unreachable!() };
        let cut = Cut::Deterministic { error: 0.0, error_mode: ErrorMode::Total, max_cut: 1 };
        let deterministic = Method::Lightcuts(LightcutsSettings { cut, ..settings });
        let refused = |args: &LightcutsArgs| {
            [Method::Path(PathSettings::default()), deterministic, STOCHASTIC]
                .map(|method| args.check(&method).err().map(|error| error.to_string()))
        };
        let none = LightcutsArgs::default();
        assert_eq!(refused(&none), [None, None, None]);
        let [path, no, stochastic] = refused(&LightcutsArgs { max_cut: Some(5), ..none.clone() });
        assert_eq!(
            path.unwrap(),
            "--max-cut is for the integrator lightcuts; this picture is rendered by path"
        );
        assert_eq!(
            stochastic.unwrap(),
            "--max-cut is for lightcuts of mode deterministic; these are stochastic"
        );
        assert_eq!(no, None);
        let [path, deterministic, no] =
            refused(&LightcutsArgs { cut_size: Some(5), ..none.clone() });
        assert!(
            path.unwrap().starts_with("--cut-size")
                && deterministic.unwrap().contains("mode stochastic")
        );
        assert_eq!(no, None);
        let [path, no, neither] = refused(&LightcutsArgs { check_bounds: true, ..none });
        assert!(path.unwrap().starts_with("--check-bounds"));
        assert_eq!((no, neither), (None, None));
    }

    #[test]
    fn files_tell_all_that_pictures_depend_on() {
        let Method::Lightcuts(stochastic) = STOCHASTIC else { unreachable!() };
        let cut = |error, error_mode, max_cut| Cut::Deterministic { error, error_mode, max_cut };
        let own = LightcutsSettings { cut: cut(0.02, ErrorMode::Cluster, 9), ..stochastic };
        let others = [
            stochastic,
            LightcutsSettings { cut: cut(0.03, ErrorMode::Cluster, 9), ..own },
            LightcutsSettings { cut: cut(0.02, ErrorMode::Total, 9), ..own },
            LightcutsSettings { cut: cut(0.02, ErrorMode::Cluster, 10), ..own },
            LightcutsSettings { bounds: BoundMode::Naive, ..own },
            LightcutsSettings { area_points: 2, ..own },
            LightcutsSettings { sky_points: 2, ..own },
        ];
        assert!(others.iter().all(|other| attributes(other) != attributes(&own)));
        let other = LightcutsSettings { cut: Cut::Stochastic { size: 65 }, ..stochastic };
        assert_ne!(attributes(&other), attributes(&stochastic));
        // To check is not to change.
        assert_eq!(attributes(&LightcutsSettings { check_bounds: true, ..own }), attributes(&own));
        assert_eq!(attributes(&own)[1], ("lightbound/error".into(), Attribute::Float(0.02)));
    }

    #[test]
    fn errors_are_shares() {
        assert_eq!((error("0"), error("0.02")), (Ok(0.0), Ok(0.02)));
        for wrong in ["", "-0.1", "nan", "inf", "2%"] {
            assert!(error(wrong).is_err(), "{wrong}");
        }
    }
}
