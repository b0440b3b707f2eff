//! Merges the parts of a rendering.

use super::{Part, PartError};
use crate::film::{Coverage, Film};
use crate::render::RenderStats;
use lightbound_image::MAX_PIXELS;
use std::path::{Path, PathBuf};

/// The sum of several parts.
pub struct Merged {
    /// The first part; all parts have the same settings.
    pub first: Part,
    /// The sums of all samples.
    pub film: Film,
    /// The samples of each pixel that the parts contain.
    pub coverage: Coverage,
    /// The samples of the whole image that no part contains.
    pub missing: Coverage,
    /// Statistics of all parts.
    pub stats: RenderStats,
}

/// Adds the parts in these files, in any order.
///
/// *Errors*: a file cannot be read or is not a part, the parts belong to different renderings, or
/// they overlap.
///
/// # Panics
/// If `paths` is empty.
pub fn merge(paths: &[PathBuf]) -> Result<Merged, PartError> {
    let mut parts = paths
        .iter()
        .map(|path| Ok((path.as_path(), Part::open(path)?)))
        .collect::<Result<Vec<_>, PartError>>()?;
    let coverage = check(&parts)?;
    let window =
        coverage.window().filter(|w| u64::from(w.width()) * u64::from(w.height()) <= MAX_PIXELS);
    let Some(window) = window else {
        return Err(PartError {
            message: "the parts have no samples, or more pixels than an image can have".into(),
            remedy: "render them again".into(),
        });
    };
    let mut film = Film::new(window, parts[0].1.header.film);
    let mut stats = RenderStats::default();
    for (path, part) in &parts {
        part.add_to(path, &mut film)?;
        stats += part.header.stats;
    }
    let (_, first) = parts.swap_remove(0);
    let missing = coverage.missing(first.header.whole);
    Ok(Merged { first, film, coverage, missing, stats })
}

/// The union of the parts' samples.
///
/// *Errors*: the parts belong to different renderings, or overlap.
fn check(parts: &[(&Path, Part)]) -> Result<Coverage, PartError> {
    let mut all = Coverage::default();
    let (first_path, first) = &parts[0];
    for (i, (path, part)) in parts.iter().enumerate() {
        let refuse = |why: String, help: &str| Err(PartError::new(path, &why, help));
        let other = first_path.display().to_string();
        if let Some(difference) =
            part.differs(first.resolution, &first.settings, first.header.film, &other)
        {
            return refuse(
                format!("is not a part of the same picture: {difference}"),
                "leave it out, or render it with the same options",
            );
        }
        if part.header.whole != first.header.whole {
            let (mine, theirs) = (part.header.whole, first.header.whole);
            let why = format!(
                "is not a part of the same picture: its picture has {mine}, that of {other} has {theirs}"
            );
            return refuse(why, "leave it out, or render it with the same options");
        }
        let common = |earlier: &Part| part.header.coverage.overlap(&earlier.header.coverage);
        if let Some((earlier, block)) =
            parts[..i].iter().find_map(|(path, earlier)| Some((path, common(earlier)?)))
        {
            let why = format!("has {block} in common with {}", earlier.display());
            return refuse(
                why,
                "samples must not count twice; leave out one of the two, or render other ranges",
            );
        }
        part.header.coverage.blocks().iter().for_each(|&block| all.add(block));
    }
    Ok(all)
}
