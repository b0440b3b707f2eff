//! The long run of `render`: which samples to take, and the pauses in which a checkpoint is written
//! or the noise looked at.

use super::checkpoint::Checkpoint;
use crate::cli::Error;
use lightbound::film::relative_noise;
use lightbound::render::{Halt, Pause, Work};
use std::ops::Range;
use std::time::{Duration, Instant};

/// Options of it.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Work")]
pub struct WorkArgs {
    /// Take only the samples of these numbers, counted from 0, B excluded; `lightbound merge` puts
    /// such parts together
    ///
    /// Numbers are those of the whole picture, so that B is at most its samples per pixel; raise
    /// these with --spp. The .exr carries exact sums in channels sums.* beside the picture, as that
    /// of a --crop does.
    #[arg(long, value_name = "A..B", value_parser = sample_range)]
    pub sample_range: Option<Range<u32>>,

    /// Stop once the estimated error is below this: 0.05 is about 5 %
    ///
    /// The error is the square root of relMSE (see `lightbound compare`), estimated from the
    /// samples: the mean over pixels and channels of the variance of the mean over (mean² + 0.01).
    /// It is looked at when each pixel has 16, 20, 24, 28, 32, 40, 48, 56, 64, 80 … samples, so
    /// that the same options give the same picture; --spp is the most that are taken. Light that no
    /// sample has met yet cannot be in it. It is conservative for Sobol' points, and to stop by
    /// what was seen biases the picture slightly, towards pictures that look smooth early.
    #[arg(long, value_name = "X", value_parser = threshold, conflicts_with = "sample_range")]
    pub noise_threshold: Option<f64>,

    /// Save the state of the rendering every so many seconds beside the picture, as FILE.checkpoint
    ///
    /// A checkpoint is replaced in one step, and removed when the picture has all its samples;
    /// Ctrl-C and --time-limit leave one.
    #[arg(long, value_name = "SECONDS", value_parser = super::seconds)]
    pub checkpoint: Option<Duration>,

    /// Go on from FILE.checkpoint, where there is one; the picture has the bits of one that was
    /// never interrupted
    #[arg(long)]
    pub resume: bool,
}

impl WorkArgs {
    /// Which samples of `spp` to take.
    pub fn samples(&self, spp: u32) -> Result<Range<u32>, Error> {
        match &self.sample_range {
            Some(range) if range.end > spp => Err(Error::Option {
                message: format!(
                    "--sample-range {}..{} passes the end: the picture has {spp} samples per pixel",
                    range.start, range.end
                ),
                help: format!(
                    "end at {spp} or before, or raise the samples of the whole picture with --spp"
                ),
            }),
            Some(range) => Ok(range.clone()),
            None => Ok(0..spp),
        }
    }
}

/// Parses `A..B`.
fn sample_range(text: &str) -> Result<Range<u32>, String> {
    let parsed = text
        .split_once("..")
        .and_then(|(a, b)| Some(a.trim().parse().ok()?..b.trim().parse().ok()?));
    let range =
        parsed.filter(|range: &Range<u32>| range.start < range.end && range.end <= super::MAX_SPP);
    range
        .ok_or_else(|| "expected two whole numbers, the first below the second, as in 0..64".into())
}

/// Parses an error that can be reached.
fn threshold(text: &str) -> Result<f64, String> {
    let x = text.parse().ok().filter(|x: &f64| *x > 0.0 && x.is_finite());
    x.ok_or_else(|| "expected a number above 0, as in 0.05".into())
}

/// How it ended.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// Why no more samples are taken; `Paused` where the noise is below the threshold.
    pub halt: Halt,
    /// The estimated error, where there is a threshold.
    pub noise: Option<f64>,
}

impl Outcome {
    /// Whether all was done that was asked for.
    pub fn is_complete(&self) -> bool {
        matches!(self.halt, Halt::Done | Halt::Paused)
    }
}

/// Sample counts at which the noise is looked at: four for each power of two, all of them ends of
/// passes.
fn boundaries() -> impl Iterator<Item = u32> {
    (2..22).flat_map(|power| (4..8).map(move |quarter| quarter << power))
}

/// Works until all samples are taken, or something else ends it.
pub fn run(work: &mut Work, args: &WorkArgs, checkpoint: &mut Option<Checkpoint>) -> Outcome {
    let noise = |work: &Work| args.noise_threshold.map(|_| relative_noise(&work.film().picture()));
    let mut boundaries = boundaries().peekable();
    while boundaries.next_if(|&samples| work.is_beyond(samples)).is_some() {}
    let mut next_save = args.checkpoint.and_then(|every| Instant::now().checked_add(every));
    let halt = loop {
        let samples = args.noise_threshold.and_then(|_| boundaries.peek().copied());
        match work.go_on(&Pause { samples, time: next_save }) {
            Halt::Paused => {}
            halt => break halt,
        }
        if samples.is_some_and(|samples| work.taken() >= samples) {
            boundaries.next();
            if noise(work) <= args.noise_threshold {
                break Halt::Paused;
            }
        }
        if let (Some(every), Some(checkpoint), true) =
            (args.checkpoint, &mut *checkpoint, next_save <= Some(Instant::now()))
        {
            checkpoint.save(work);
            next_save = Instant::now().checked_add(every);
        }
    };
    let outcome = Outcome { halt, noise: noise(work) };
    if let (Some(checkpoint), Some(_), false) = (checkpoint, args.checkpoint, outcome.is_complete())
    {
        checkpoint.save(work);
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_thresholds() {
        assert_eq!((sample_range("0..64"), sample_range("3 .. 4")), (Ok(0..64), Ok(3..4)));
        for wrong in ["", "..", "1", "1..1", "2..1", "-1..2", "0..=4", "0..4294967295", "a..b"] {
            assert!(sample_range(wrong).is_err(), "{wrong}");
        }
        assert_eq!(threshold("0.05"), Ok(0.05));
        assert!(
            ["", "0", "-1", "inf", "nan", "5%"].into_iter().all(|wrong| threshold(wrong).is_err())
        );
        let args = WorkArgs { sample_range: Some(4..8), ..WorkArgs::default() };
        assert_eq!(args.samples(8).unwrap(), 4..8);
        assert!(args.samples(7).unwrap_err().to_string().contains("7 samples"));
    }

    #[test]
    fn the_noise_is_looked_at_where_the_help_says() {
        assert_eq!(
            boundaries().take(10).collect::<Vec<_>>(),
            [16, 20, 24, 28, 32, 40, 48, 56, 64, 80]
        );
        assert!(boundaries().last().unwrap() >= super::super::MAX_SPP / 2);
    }
}
