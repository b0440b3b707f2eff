//! `bounds --tightness`; [`lightbound_study::tightness`] has the measurement.

use super::{Args, PRACTICE, TableFormat, json};
use crate::console::Console;
use crate::numbers::integer;
use crate::output::to_stdout;
use crate::{Error, Exit};
use lightbound::material::library;
use lightbound_image::write::save;
use lightbound_shader::bounding::{Frame, Integrand};
use lightbound_shader::{Settings, Shader, Target};
use lightbound_study::report::{tightness_plot, tightness_tables};
use lightbound_study::shaders;
use lightbound_study::tightness::materials::{MATERIALS, Material, OPTIONAL_MATERIALS};
use lightbound_study::tightness::{BoundKind, CompiledMaterial, bound_kinds};
use std::path::PathBuf;

/// Options of `--tightness`.
#[derive(Debug, clap::Args)]
pub(super) struct TightnessArgs {
    /// Instead of costs, measure how much upper bounds overestimate the maximum, for a fixed list
    /// of materials; --shader selects from the list, to which it adds ggx, layered, disney, hair and
    /// openpbr, or all of these but layered with the name practice
    #[arg(long, conflicts_with_all = ["frame", "ranges", "inputs", "sides", "target", "rounds", "by_relation"])]
    pub tightness: bool,

    /// Cases for each material and half-angle: view directions, and boxes of light directions
    #[arg(long, value_name = "N", default_value_t = 200, requires = "tightness", value_parser = integer(1..=100_000_u32))]
    cases: u32,

    /// Seed of the cases
    #[arg(long, value_name = "N", default_value_t = 1, requires = "tightness", value_parser = integer(0..=u64::MAX))]
    seed: u64,
}

/// Runs the command.
pub(super) fn run(args: &Args) -> Result<Exit, Error> {
    let svg = args.svg_output()?;
    let TightnessArgs { cases, seed, .. } = args.tightness;
    let setup = tightness_tables::TightnessSetup {
        nan: args.nan.unwrap_or_default().compiler_value(),
        relations: args.relations(),
        cases: cases as usize,
        seed,
    };
    let materials = materials(&args.shader, &bound_kinds(setup.nan, setup.relations))?;
    let progress = Console::new(args.quiet).measuring();
    let rows =
        tightness_tables::measure(&materials, setup, &|fraction| progress.set_fraction(fraction));
    progress.finish();
    if let Some(output) = svg {
        output.write(|path| save(path, tightness_plot::draw(&rows).as_bytes()))?;
    }
    let text = match args.format {
        TableFormat::Json => {
            let records = rows.iter().flat_map(|row| tightness_tables::records(row, setup));
            json(&records.collect::<Vec<_>>())
        }
        format => tightness_tables::text(&rows, setup, format == TableFormat::Markdown),
    };
    to_stdout(text.as_bytes())?;
    Ok(Exit::Success)
}

/// Compiles the materials in the list, or those with the given shaders.
fn materials(names: &[PathBuf], kinds: &[BoundKind]) -> Result<Vec<CompiledMaterial>, Error> {
    let matches = |name: &PathBuf, material: &Material| {
        let name = name.to_string_lossy();
        name.strip_suffix(".wgsl").unwrap_or(&name) == material.shader
            || name == PRACTICE
                && OPTIONAL_MATERIALS.contains(material)
                && material.shader != "layered"
    };
    let all = || MATERIALS.iter().chain(&OPTIONAL_MATERIALS);
    if let Some(unknown) = names.iter().find(|name| !all().any(|material| matches(name, material)))
    {
        let mut listed: Vec<_> = all().map(|material| material.shader).collect();
        listed.dedup();
        return Err(Error::Option {
            message: format!(
                "--tightness measures no material with the shader `{}`",
                unknown.display()
            ),
            help: format!("its list has {}", listed.join(", ")),
        });
    }
    let selected: Vec<_> = if names.is_empty() {
        MATERIALS.to_vec()
    } else {
        let is_named = |material: &&Material| names.iter().any(|name| matches(name, material));
        all().filter(is_named).copied().collect()
    };
    let compiled = selected.into_iter().map(|material| {
        // The embedded shader, regardless of files in the current directory.
        let (name, text) = match shaders::find(material.shader) {
            Some(entry) => (entry.name, entry.text),
            None => {
                let entry = library::find(material.shader).expect("the library has all others");
                (entry.name, entry.text)
            }
        };
        let shader = Shader::parse(name, text)?;
        let integrand = Integrand::new(&shader, &Settings::default(), Frame::Local)?;
        Ok(CompiledMaterial::new(material, &shader, integrand, kinds, Target::best())?)
    });
    compiled.collect()
}
