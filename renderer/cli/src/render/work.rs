//! The main loop of `render`: renders the selected samples, pausing to write checkpoints and to
//! estimate the noise.

use super::checkpoint::ReportedCheckpoint;
use crate::Error;
use crate::interrupt::{Interrupt, StopSignal};
use lightbound::render::{Budget, StopReason, Work};
use std::ops::Range;
use std::time::{Duration, Instant};

/// Options for the amount of work.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Work")]
pub struct WorkArgs {
    /// Render only the samples A..B of each pixel, counted from 0 and excluding B; `lightbound
    /// merge` merges the parts
    ///
    /// Sample indices are those of the full image, so B is at most its samples per pixel, which
    /// --spp can raise. As with --crop, the .exr also contains exact sums in channels sums.*.
    #[arg(long, value_name = "A..B", value_parser = parse_sample_range)]
    pub sample_range: Option<Range<u32>>,

    /// Render part K of N, from 1 to N: a range of samples of each pixel, for a job in a farm
    ///
    /// The ranges of all parts are the samples of the image, which `lightbound merge` merges.
    /// `lightbound submit` prints the job.
    #[arg(long, value_name = "K/N", value_parser = parse_part, conflicts_with = "sample_range")]
    pub part: Option<PartNumber>,

    /// Stop when the estimated error is below this threshold: 0.05 is about 5 %
    ///
    /// The error is the square root of relMSE (see `lightbound compare`), estimated from the
    /// samples: the mean over pixels and channels of the variance of the mean over (mean² + 0.01).
    /// It is estimated when each pixel has 16, 20, 24, 28, 32, 40, 48, 56, 64, 80 … samples, so
    /// that the same options give the same image; --spp is the maximum. The estimate cannot
    /// include light that no sample has found yet. It is conservative for Sobol' points. Stopping
    /// adaptively biases the image slightly, towards images that look smooth early.
    #[arg(long, value_name = "X", value_parser = parse_threshold, conflicts_with_all = ["sample_range", "part"])]
    pub noise_threshold: Option<f64>,

    /// Save the state of the rendering every SECONDS, next to the image, as FILE.checkpoint
    /// [default with --resume: 300]
    ///
    /// A checkpoint is replaced atomically, and removed when the image is complete; Ctrl-C,
    /// SIGTERM, SIGHUP and --time-limit leave one. SIGUSR1 saves one immediately.
    #[arg(long, value_name = "SECONDS", value_parser = super::parse_seconds)]
    pub checkpoint: Option<Duration>,

    /// Resume from FILE.checkpoint, or from FILE itself if it contains exact sums; the image is
    /// identical, bit by bit, to an uninterrupted one
    ///
    /// --spp may differ from the earlier rendering, but not be below the samples that it has taken.
    /// So a finished image can get more samples. Without a checkpoint, a finished .exr without sums
    /// stays as it is, and any other existing image without them is an error. If neither file
    /// exists, the rendering starts from the beginning. Checkpoints are saved as with --checkpoint.
    #[arg(long)]
    pub resume: bool,

    /// Also write exact sums to an .exr, in channels sums.*, so that --resume can add samples later
    ///
    /// With --sample-range, --part and --crop, this is the default. It makes the file two to three times as
    /// large.
    #[arg(long)]
    pub keep_sums: bool,
}

/// Interval of checkpoints with --resume.
const DEFAULT_CHECKPOINT_INTERVAL: Duration = Duration::from_secs(300);

impl WorkArgs {
    /// The interval of checkpoints, if any are requested.
    pub fn checkpoint_interval(&self) -> Option<Duration> {
        self.checkpoint.or(self.resume.then_some(DEFAULT_CHECKPOINT_INTERVAL))
    }

    /// Whether only some samples are rendered, and the option that says so.
    pub fn of_samples(&self) -> Option<&'static str> {
        let range = self.sample_range.as_ref().map(|_| "--sample-range");
        range.or(self.part.map(|_| "--part"))
    }

    /// The samples to render, out of `spp`, which are entire groups of size `group`.
    pub fn samples(&self, spp: u32, group: u32) -> Result<Range<u32>, Error> {
        if let Some(part) = self.part {
            return part.samples(spp, group);
        }
        match &self.sample_range {
            Some(range) if [range.start, range.end].iter().any(|n| !n.is_multiple_of(group)) => {
                Err(Error::Option {
                    message: format!(
                        "--sample-range {}..{} divides a group of {group} samples with a common cut",
                        range.start, range.end
                    ),
                    help: format!("start and end at multiples of {group}, or add --gather 1"),
                })
            }
            Some(range) if range.end > spp => Err(Error::Option {
                message: format!(
                    "--sample-range {}..{} is out of range: the image has {spp} samples per pixel",
                    range.start, range.end
                ),
                help: format!(
                    "end at {spp} or less, or raise the samples per pixel of the full image with --spp"
                ),
            }),
            Some(range) => Ok(range.clone()),
            None => Ok(0..spp),
        }
    }
}

/// Part K of N of the samples of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartNumber {
    /// From 1 to `count`.
    number: u32,
    count: u32,
}

impl PartNumber {
    /// The samples of the part, which are entire groups of size `group`.
    fn samples(self, spp: u32, group: u32) -> Result<Range<u32>, Error> {
        let PartNumber { number, count } = self;
        let groups = spp.div_ceil(group);
        if groups < count {
            let what = if group == 1 { "samples" } else { "groups of samples with a common cut" };
            return Err(Error::option(
                format!("--part {number}/{count} has no samples: a pixel has {groups} {what}"),
                "use fewer parts, or raise --spp",
            ));
        }
        let start = |part: u32| {
            let group_index = u64::from(groups) * u64::from(part) / u64::from(count);
            (group_index as u32 * group).min(spp)
        };
        Ok(start(number - 1)..start(number))
    }
}

/// Parses `K/N`.
fn parse_part(text: &str) -> Result<PartNumber, String> {
    let parsed = text.split_once('/').and_then(|(number, count)| {
        Some(PartNumber { number: number.trim().parse().ok()?, count: count.trim().parse().ok()? })
    });
    let part = parsed.filter(|part| part.number >= 1 && part.number <= part.count);
    part.ok_or_else(|| "expected a part and the number of parts, as in 1/8 to 8/8".into())
}

/// Parses `A..B`.
fn parse_sample_range(text: &str) -> Result<Range<u32>, String> {
    let parsed = text
        .split_once("..")
        .and_then(|(a, b)| Some(a.trim().parse().ok()?..b.trim().parse().ok()?));
    let range =
        parsed.filter(|range: &Range<u32>| range.start < range.end && range.end <= super::MAX_SPP);
    range.ok_or_else(|| "expected two integers, the first below the second, as in 0..64".into())
}

/// Parses a positive error threshold.
fn parse_threshold(text: &str) -> Result<f64, String> {
    let x = text.parse().ok().filter(|x: &f64| *x > 0.0 && x.is_finite());
    x.ok_or_else(|| "expected a number above 0, as in 0.05".into())
}

/// Why a rendering ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All samples are taken.
    Done,
    /// The noise is below the threshold, so the image is complete.
    BelowThreshold,
    /// The time limit has passed.
    TimeLimit,
    /// A signal stopped it.
    Signal(StopSignal),
    /// It continues; this is a snapshot.
    Unfinished,
}

/// The state of a rendering when its image is written.
#[derive(Clone, Copy, Debug)]
pub struct WorkOutcome {
    /// Why it ended.
    pub ending: Ending,
    /// The estimated error, if there is a threshold.
    pub noise: Option<f64>,
}

impl WorkOutcome {
    /// Whether all requested work is finished.
    pub fn is_complete(&self) -> bool {
        matches!(self.ending, Ending::Done | Ending::BelowThreshold)
    }
}

/// Sample counts at which the noise is estimated: four for each power of two. Each is the end of a
/// pass.
pub fn noise_checks() -> impl Iterator<Item = u32> {
    (2..22).flat_map(|power| (4..8).map(move |quarter| quarter << power))
}

/// Renders until all samples are taken or another condition ends the work. Reports each estimate of
/// the noise. When a signal requests it, saves a checkpoint and calls `snapshot`.
pub fn run(
    work: &mut Work,
    args: &WorkArgs,
    checkpoint: &mut Option<ReportedCheckpoint>,
    interrupt: &Interrupt,
    report_noise: &dyn Fn(f64),
    snapshot: impl Fn(&Work, WorkOutcome),
) -> WorkOutcome {
    let noise = |work: &Work| {
        let noise = args.noise_threshold.map(|_| work.film().relative_noise());
        noise.inspect(|noise| report_noise(*noise))
    };
    let mut checks = noise_checks().peekable();
    while checks.next_if(|&samples| work.is_beyond(samples)).is_some() {}
    let interval = args.checkpoint_interval();
    let mut next_save = interval.and_then(|every| Instant::now().checked_add(every));
    let ending = loop {
        let samples = args.noise_threshold.and_then(|_| checks.peek().copied());
        let pause = Some(interrupt.snapshot());
        match work.run(&Budget { samples, time: next_save, pause }) {
            StopReason::Paused => {}
            StopReason::Done => break Ending::Done,
            StopReason::TimeLimit => break Ending::TimeLimit,
            StopReason::Stopped => {
                break Ending::Signal(interrupt.signal().unwrap_or(StopSignal::CtrlC));
            }
        }
        if samples.is_some_and(|samples| work.min_samples() >= samples) {
            checks.next();
            if noise(work) <= args.noise_threshold {
                break Ending::BelowThreshold;
            }
        }
        let snapshot_requested = interrupt.take_snapshot_request();
        let save_is_due = next_save.is_some_and(|time| time <= Instant::now());
        if let Some(checkpoint) = checkpoint.as_mut().filter(|_| snapshot_requested || save_is_due)
        {
            checkpoint.save(work);
            next_save = interval.and_then(|every| Instant::now().checked_add(every));
        }
        if snapshot_requested {
            snapshot(work, WorkOutcome { ending: Ending::Unfinished, noise: noise(work) });
        }
    };
    WorkOutcome { ending, noise: noise(work) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_all_samples_once() {
        for (spp, group, count) in [(64, 1, 4), (7, 1, 3), (64, 16, 3), (3, 1, 3), (1 << 24, 1, 7)]
        {
            let mut end = 0;
            for number in 1..=count {
                let range = PartNumber { number, count }.samples(spp, group).unwrap();
                assert!(range.start == end && range.end > end, "{range:?}");
                assert!(range.end.is_multiple_of(group) || range.end == spp);
                end = range.end;
            }
            assert_eq!(end, spp);
        }
        assert!(PartNumber { number: 1, count: 5 }.samples(64, 16).is_err());
    }

    #[test]
    fn ranges_and_thresholds_are_parsed() {
        assert_eq!(
            (parse_sample_range("0..64"), parse_sample_range("3 .. 4")),
            (Ok(0..64), Ok(3..4))
        );
        for wrong in ["", "..", "1", "1..1", "2..1", "-1..2", "0..=4", "0..4294967295", "a..b"] {
            assert!(parse_sample_range(wrong).is_err(), "{wrong}");
        }
        assert_eq!(parse_part("2/3"), Ok(PartNumber { number: 2, count: 3 }));
        assert!(["", "0/3", "4/3", "1", "1/", "-1/2"].into_iter().all(|x| parse_part(x).is_err()));
        assert_eq!(parse_threshold("0.05"), Ok(0.05));
        assert!(
            ["", "0", "-1", "inf", "nan", "5%"]
                .into_iter()
                .all(|wrong| parse_threshold(wrong).is_err())
        );
        let args = WorkArgs { sample_range: Some(4..8), ..WorkArgs::default() };
        assert_eq!(args.samples(8, 4).unwrap(), 4..8);
        assert!(args.samples(8, 8).unwrap_err().to_string().contains("a group of 8 samples"));
        assert!(args.samples(7, 1).unwrap_err().to_string().contains("7 samples"));
    }

    #[test]
    fn noise_is_estimated_at_the_documented_sample_counts() {
        assert_eq!(
            noise_checks().take(10).collect::<Vec<_>>(),
            [16, 20, 24, 28, 32, 40, 48, 56, 64, 80]
        );
        assert!(noise_checks().last().unwrap() >= super::super::MAX_SPP / 2);
    }
}
