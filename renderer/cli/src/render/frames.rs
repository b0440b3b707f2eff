//! The option `--frames`: renders a sequence of scene files, with a frame number in their names, or
//! with `--fps` the frames of a glTF animation.

use super::image_file::default_output;
use super::{Args, Session, render_scene};
use crate::output::is_stream;
use crate::{Error, Exit, input};
use lightbound_gltf::is_gltf_name;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// The frame numbers of a sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameRange(RangeInclusive<u32>);

/// Maximum frame number.
const MAX_FRAME: u32 = 99_999_999;

/// Parses `A..B`, or a single number.
pub fn parse_frames(text: &str) -> Result<FrameRange, String> {
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    let number = |text: &str| text.trim().parse().ok().filter(|n| *n <= MAX_FRAME);
    let range = number(first).zip(number(last)).filter(|(first, last)| first <= last);
    range.map(|(first, last)| FrameRange(first..=last)).ok_or_else(|| {
        format!(
            "expected two frame numbers up to {MAX_FRAME}, the first not above the last, as in \
             1..250"
        )
    })
}

/// Parses a frame rate.
pub fn parse_fps(text: &str) -> Result<f64, String> {
    let fps = text.parse().ok().filter(|fps: &f64| *fps > 0.0 && fps.is_finite());
    fps.ok_or_else(|| "expected a number of frames per second, as in 24 or 29.97".into())
}

/// A file name with a frame number.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FrameName {
    /// The path up to the number.
    before: String,
    /// Minimum number of digits; `None` for a name without a number.
    digits: Option<usize>,
    after: String,
}

impl FrameName {
    /// The name with a placeholder: `####`, a `#` for each digit, or `%04d`. The last one of the file
    /// name counts.
    fn from_placeholder(path: &Path) -> Option<FrameName> {
        let (folder, name) = split(path)?;
        let printf = |start: usize| {
            let (width, after) = name[start + 1..].split_once('d')?;
            let is_width = width.is_empty() || width.len() == 2 && width.starts_with('0');
            let digits = if width.is_empty() { 1 } else { width.parse().ok()? };
            is_width.then_some((start, digits, after))
        };
        let (start, digits, after) = match name.rfind('#') {
            Some(last) => {
                let start = name[..=last].trim_end_matches('#').len();
                (start, last + 1 - start, &name[last + 1..])
            }
            None => name.rfind('%').and_then(printf)?,
        };
        let before = format!("{folder}{}", &name[..start]);
        Some(FrameName { before, digits: Some(digits), after: after.into() })
    }

    /// The name with another number in place of the last one of the file name, without its
    /// extension. If the number has leading zeros, so do the others.
    fn from_number(path: &Path) -> Option<FrameName> {
        let (folder, name) = split(path)?;
        let stem = &name[..name.find(".pbrt").unwrap_or(name.len())];
        let end = stem.rfind(|c: char| c.is_ascii_digit())? + 1;
        let start = stem[..end].trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let digits = if stem[start..].starts_with('0') { end - start } else { 1 };
        let before = format!("{folder}{}", &name[..start]);
        Some(FrameName { before, digits: Some(digits), after: name[end..].into() })
    }

    /// The path of a frame.
    fn path(&self, frame: u32) -> PathBuf {
        let number = self.digits.map(|digits| format!("{frame:0digits$}"));
        [&self.before, number.as_deref().unwrap_or_default(), &self.after].concat().into()
    }
}

/// Splits a path into folder, with its separator, and file name.
fn split(path: &Path) -> Option<(&str, &str)> {
    let text = path.to_str()?;
    let name = path.file_name()?.to_str()?;
    text.ends_with(name).then(|| text.split_at(text.len() - name.len()))
}

/// The arguments of each frame, by number.
fn frame_args(args: &Args, frames: &FrameRange) -> Result<Vec<(u32, Args)>, Error> {
    let scene = match args.fps {
        None => scene_name(&args.scene)?,
        Some(_) => asset_name(&args.scene)?,
    };
    let count = frames.0.clone().count();
    let output = args.output.as_deref().map(|path| output_name("-o", path, count)).transpose()?;
    let stats =
        args.stats.as_deref().map(|path| output_name("--stats", path, count)).transpose()?;
    if let Some(path) = &args.output
        && args.work.resume
        && path.extension().is_some_and(|extension| extension != "exr")
    {
        let message = format!(
            "--resume cannot continue a sequence of `{}`: only .exr files say whether they are \
             finished",
            path.display()
        );
        return Err(Error::option(message, "write .exr files, and convert them later"));
    }
    if args.fps.is_none() {
        check_scenes(&scene, frames)?;
    }
    let args_of = |frame: u32| {
        let scene = scene.path(frame);
        let named = |name: &Option<FrameName>| name.as_ref().map(|name| name.path(frame));
        let args = Args {
            // The file names that exports give to films need not have numbers.
            output: named(&output).or_else(|| Some(default_frame(&scene, frame, args.fps))),
            stats: named(&stats),
            scene,
            frames: None,
            fps: None,
            gltf: match args.fps {
                Some(fps) => args.gltf.at_frame(frame, fps),
                None => args.gltf.clone(),
            },
            ..args.clone()
        };
        (frame, args)
    };
    Ok(frames.0.clone().map(args_of).collect())
}

/// The names of the scenes.
fn scene_name(scene: &Path) -> Result<FrameName, Error> {
    let name = FrameName::from_placeholder(scene).or_else(|| FrameName::from_number(scene));
    let name = name.filter(|_| !is_stream(scene));
    name.ok_or_else(|| {
        let help = if is_gltf_name(scene) {
            "for frames of an animation, add --fps, as in --fps 24"
        } else {
            "name a file of the sequence, as in frame0012.pbrt, or put #### or %04d for the number, \
             as in frame####.pbrt"
        };
        Error::option(
            format!("`{}`: its name has no frame number, which --frames needs", scene.display()),
            help,
        )
    })
}

/// The name of a glTF asset, which is that of all frames.
fn asset_name(scene: &Path) -> Result<FrameName, Error> {
    let name = scene.to_str().filter(|_| is_gltf_name(scene));
    let name = name.map(|name| FrameName { before: name.into(), digits: None, after: "".into() });
    name.ok_or_else(|| {
        Error::option(
            format!("--fps is for glTF assets, and {} is not one", scene.display()),
            "remove the option; each frame of a pbrt scene is a file",
        )
    })
}

/// The default name of the image of a frame.
fn default_frame(scene: &Path, frame: u32, fps: Option<f64>) -> PathBuf {
    let output = default_output(scene, Path::new(""));
    match fps {
        Some(_) => output.with_extension(format!("{frame:04}.exr")),
        None => output,
    }
}

/// The names of the files that an option names.
fn output_name(option: &str, path: &Path, frames: usize) -> Result<FrameName, Error> {
    let single = || {
        let before = path.to_str()?.to_owned();
        (frames == 1).then(|| FrameName { before, digits: None, after: String::new() })
    };
    FrameName::from_placeholder(path).or_else(single).ok_or_else(|| {
        if path == Path::new("-") {
            let message = format!("{option} `-` would mix all frames in one stream");
            return Error::option(message, "name files, as in picture.####.exr");
        }
        let file = path.with_extension("");
        let extension = path.extension().unwrap_or_default().display();
        Error::option(
            format!("{option} `{}` would be replaced by every frame", path.display()),
            format!("put #### for the frame number, as in {}.####.{extension}", file.display()),
        )
    })
}

/// Maximum number of missing frames that are listed.
const MAX_LISTED: usize = 10;

/// Fails if a scene file is missing.
fn check_scenes(scene: &FrameName, frames: &FrameRange) -> Result<(), Error> {
    let missing: Vec<u32> =
        frames.0.clone().filter(|&frame| !scene.path(frame).is_file()).collect();
    let Some(&first) = missing.first() else { return Ok(()) };
    let mut list: Vec<String> = missing.iter().take(MAX_LISTED).map(ToString::to_string).collect();
    if missing.len() > MAX_LISTED {
        list.push(format!("{} more", missing.len() - MAX_LISTED));
    }
    let count = frames.0.clone().count();
    Err(Error::option(
        format!(
            "{} of {count} frames are missing: {}; there is no `{}`",
            missing.len(),
            list.join(", "),
            scene.path(first).display()
        ),
        "export them, or render the frames that exist by other ranges of --frames",
    ))
}

/// Renders the frames one by one. The first error ends the sequence; finished frames stay.
pub fn run(args: &Args, frames: &FrameRange) -> Result<Exit, Error> {
    let frames = frame_args(args, frames)?;
    let session = Session::start(args)?;
    let mut exit = Exit::Success;
    for (index, (frame, args)) in frames.iter().enumerate() {
        if session.interrupt.signal().is_some() {
            let message = format!("{index} of {} frames were rendered", frames.len());
            session.console.info(&message);
            return Ok(session.interrupt.exit());
        }
        session.console.frame(*frame, index + 1, frames.len(), &args.scene);
        session.is_later_frame.set(index > 0);
        exit = render_scene(&session, &input::scene(&args.scene)?, &[], args)?;
    }
    Ok(exit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_are_replaced() {
        let path = |name: &str, frame| {
            let name = scene_name(Path::new(name)).map_err(|error| error.to_string())?;
            Ok::<_, String>(name.path(frame).display().to_string())
        };
        for (name, expected) in [
            ("frame0012.pbrt", "frame0007.pbrt"),
            ("a 2/frame12.pbrt.gz", "a 2/frame7.pbrt.gz"),
            ("shot3_00.pbrt", "shot3_07.pbrt"),
            ("scene.####.pbrt", "scene.0007.pbrt"),
            ("v2/##x.###.pbrt", "v2/##x.007.pbrt"),
            ("v2.#.pbrt", "v2.7.pbrt"),
            ("v2.%04d.pbrt", "v2.0007.pbrt"),
            ("v2.%d.pbrt", "v2.7.pbrt"),
            ("./100%.1.pbrt", "./100%.7.pbrt"),
        ] {
            assert_eq!(path(name, 7).as_deref(), Ok(expected), "{name}");
        }
        assert_eq!(path("f98.pbrt", 12345).as_deref(), Ok("f12345.pbrt"));
        assert_eq!(path("f##.pbrt", 12345).as_deref(), Ok("f12345.pbrt"));
        for name in ["scene.pbrt", "-", "v2/scene.pbrt", "%.pbrt"] {
            assert!(path(name, 7).unwrap_err().contains("has no frame number"), "{name}");
        }
    }

    #[test]
    fn outputs_need_a_placeholder() {
        let path = |name: &str, frames| output_name("-o", Path::new(name), frames);
        assert_eq!(path("o.####.exr", 9).unwrap().path(7), Path::new("o.0007.exr"));
        assert_eq!(path("o2.exr", 1).unwrap().path(7), Path::new("o2.exr"));
        let error = path("out/take2.exr", 9).unwrap_err();
        assert_eq!(error.to_string(), "-o `out/take2.exr` would be replaced by every frame");
        let error = path("-", 9).unwrap_err();
        assert_eq!(error.to_string(), "-o `-` would mix all frames in one stream");
    }

    #[test]
    fn ranges_include_both_ends() {
        assert_eq!(parse_frames("1..3"), Ok(FrameRange(1..=3)));
        assert_eq!(parse_frames("0"), Ok(FrameRange(0..=0)));
        for wrong in ["", "3..1", "1..", "a..b", "-1..2", "1..100000000"] {
            assert!(parse_frames(wrong).is_err(), "{wrong}");
        }
    }
}
