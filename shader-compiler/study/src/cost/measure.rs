//! Timing of candidates against a reference on noisy machines.
//!
//! In each round the candidates run in random order, and the reference runs before and after each
//! of them. A sample is the ratio of a candidate's time to the mean of the two adjacent reference
//! times, so that slow changes of clock rates and of the load of other cores cancel. If the two
//! reference times differ, the sample was disturbed and is discarded, unless at most half of the
//! rounds would remain. One of the candidates is a copy of the reference, the control: the
//! reference runs half of the time, so branch prediction favours it by 1 % for short code. Each
//! sample is therefore divided by the control's sample of the same round. The [`Estimate`] is the
//! median over all rounds. Rounds continue until all confidence intervals are narrow or time is up.
//!
//! A timed region is a number of passes over the inputs that takes [`MIN_REGION_TICKS`] ticks or
//! more, after a warm-up of as many passes. The cost of reading the clock is subtracted. Other
//! reasons for timing differences between identical code are held constant or varied within the
//! measurement:
//!
//! - All candidates use the same page-aligned buffer, into which their inputs are copied: a load
//!   may wait for an earlier store if their addresses differ by a multiple of 4096 bytes (4K
//!   aliasing).
//! - Code starts at a page boundary, is loaded [`PLACEMENTS`] times, and moves to another copy
//!   every few rounds. (On Zen 5, 0.2 to 1 % of the placements of fractal's code, which is longer
//!   than a page, were slower by a factor of 1.1 to 2.8. None of 9,900 placements of phong's code
//!   were.)
//! - A region is long compared to the clock's resolution, which may be 26 ticks.
//!
//! Confidence intervals do not cover effects that last for the lifetime of the process, such as
//! physical addresses: on Zen 5, ratios of identical code were within 0.3 % of 1, except for 1 of
//! 24 ratios of diffuse's short code, which was off by 1.3 %. Nor do they cover the choice of
//! placements, which repeat with a period of [`PLACEMENTS`] · [`ROUNDS_PER_PLACEMENT`] = 32 rounds.
//! An interval comes from the medians of 32 blocks of rounds. From 1024 rounds on, each block
//! contains all placements, so it is an interval of the ratio over these eight placements, without
//! the variance among placements. With fewer rounds, blocks have different placements, and the
//! interval includes part of that variance.

use super::clock::{Clock, involuntary_switches};
use super::statistics::{Estimate, median};
use super::{Candidate, Cost};
use lightbound_shader::random::Random;
use lightbound_shader::texture::Texture;
use std::io;
use std::time::{Duration, Instant};

/// Minimum length of a timed region, in ticks or cycles. Regions aim at twice this length, since
/// clock rates change.
const MIN_REGION_TICKS: u64 = 5_000;
/// Number of copies of a candidate's code, each loaded at a different address.
pub const PLACEMENTS: usize = 8;
/// Consecutive rounds with the same placement, so that its code and branch history are warm.
const ROUNDS_PER_PLACEMENT: usize = 4;
/// A sample is discarded if the reference times before and after it differ by this fraction.
const MAX_REFERENCE_DRIFT: f64 = 0.05;
/// Number of rounds before the first check of the intervals. Further checks follow whenever the
/// number of rounds has doubled, so that stopping early introduces little bias.
const FIRST_CHECK_ROUNDS: usize = 128;

/// Limits on the duration of a measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Maximum number of rounds.
    pub max_rounds: usize,
    /// Minimum time, unless `max_rounds` is reached earlier.
    pub min_time: Duration,
    /// Maximum time. The round that exceeds it is completed.
    pub max_time: Duration,
    /// Relative width of confidence intervals at which the measurement stops.
    pub precision: f64,
}

/// Costs of candidates, and conditions of the measurement.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// The cost of each candidate.
    pub costs: Vec<Cost>,
    /// The unit of time.
    pub clock: String,
    /// Number of rounds.
    pub rounds: usize,
    /// Fraction of the rounds that are discarded as disturbed, averaged over the ratios.
    pub discarded: f64,
    /// Number of ratios that include disturbed rounds, because half or more of their rounds were
    /// disturbed.
    pub with_disturbed: usize,
    /// Involuntary context switches; `None` if unknown.
    pub switches: Option<u64>,
}

/// Measures candidates; the first one is the reference. `progress` receives the completed fraction
/// after each round.
///
/// If the cycle counter becomes unavailable, the entire measurement is repeated in ticks, since
/// times of different clocks are not comparable.
///
/// # Panics
///
/// Panics if there are no candidates, or fewer textures than a function reads.
pub fn measure(
    candidates: &[Candidate],
    textures: &[&Texture],
    budget: &Budget,
    progress: &dyn Fn(f64),
) -> Measurement {
    measure_with_clock(Clock::new(), candidates, textures, budget, progress)
}

fn measure_with_clock(
    clock: Clock,
    candidates: &[Candidate],
    textures: &[&Texture],
    budget: &Budget,
    progress: &dyn Fn(f64),
) -> Measurement {
    let measure_with = |clock| try_measure(clock, candidates, textures, budget, progress);
    measure_with(clock).unwrap_or_else(|error| {
        measure_with(Clock::ticks(&error)).expect("ticks can always be read")
    })
}

/// Measures with one clock. Fails if the clock does.
fn try_measure(
    mut clock: Clock,
    candidates: &[Candidate],
    textures: &[&Texture],
    budget: &Budget,
    progress: &dyn Fn(f64),
) -> io::Result<Measurement> {
    let mut buffer = Buffer::new(candidates);
    let empty = empty_region_time(&mut clock)?;
    let passes = candidates
        .iter()
        .map(|candidate| find_passes(candidate, textures, &mut buffer, &mut clock, empty));
    let passes: Vec<usize> = passes.collect::<io::Result<_>>()?;
    let switches = involuntary_switches();
    // The reference is a copy of the first candidate, which serves as the control.
    let reference = candidates[0].duplicate();
    let time = |slot: Slot, round: usize| {
        let (candidate, passes) = match slot {
            Slot::Reference => (&reference, passes[0]),
            Slot::Candidate(index) => (&candidates[index], passes[index]),
        };
        let placement = round / ROUNDS_PER_PLACEMENT % PLACEMENTS;
        let time = time_region(candidate, placement, passes, textures, &mut buffer, &mut clock)?;
        Ok(time.saturating_sub(empty) as f64 / passes as f64)
    };
    let samples = run_rounds(candidates.len(), budget, time, progress)?;
    let switches = involuntary_switches().zip(switches).map(|(after, before)| after - before);
    let reference = Estimate::from_samples(&samples.reference);
    let ratios: Vec<Ratio> = (1..candidates.len()).map(|index| samples.ratio(index)).collect();
    let times = ratios.iter().map(|ratio| ratio.estimate.scaled(reference.median));
    let times = std::iter::once(reference).chain(times);
    let costs = std::iter::zip(candidates, times)
        .map(|(candidate, time)| candidate.cost(textures, time))
        .collect();
    let discarded =
        ratios.iter().map(|ratio| ratio.discarded).sum::<f64>() / ratios.len().max(1) as f64;
    let with_disturbed = ratios.iter().filter(|ratio| ratio.with_disturbed).count();
    Ok(Measurement {
        costs,
        clock: clock.to_string(),
        rounds: samples.reference.len(),
        discarded,
        with_disturbed,
        switches,
    })
}

/// Memory for inputs and outputs, shared by all candidates.
struct Buffer(Vec<Page>);

#[derive(Clone, Copy, bytemuck::Zeroable, bytemuck::Pod)]
#[repr(C, align(4096))]
struct Page([u32; 1024]);

impl Buffer {
    /// Allocates a buffer that is large enough for each candidate.
    fn new(candidates: &[Candidate]) -> Buffer {
        let words = candidates.iter().map(|candidate| {
            let [inputs, outputs] = candidate.words();
            inputs.next_multiple_of(CACHE_LINE_WORDS) + outputs
        });
        let words = words.max().expect("there is a reference");
        Buffer(vec![Page([0; 1024]); words.div_ceil(1024)])
    }

    /// Returns memory for inputs at the start of a page, and memory for outputs at the next cache
    /// line after the inputs.
    fn split(&mut self, [inputs, outputs]: [usize; 2]) -> (&mut [u32], &mut [u32]) {
        let words: &mut [u32] = bytemuck::cast_slice_mut(&mut self.0);
        let (first, second) = words.split_at_mut(inputs.next_multiple_of(CACHE_LINE_WORDS));
        (&mut first[..inputs], &mut second[..outputs])
    }
}

/// Number of words in a cache line.
const CACHE_LINE_WORDS: usize = 16;

/// Times a number of passes of a candidate, after a warm-up.
fn time_region(
    candidate: &Candidate,
    placement: usize,
    passes: usize,
    textures: &[&Texture],
    buffer: &mut Buffer,
    clock: &mut Clock,
) -> io::Result<u64> {
    let (inputs, outputs) = buffer.split(candidate.words());
    inputs.copy_from_slice(candidate.inputs.words());
    let mut time = Ok(0);
    candidate.run_passes(placement, passes, textures, inputs, outputs, |run| run());
    candidate.run_passes(placement, passes, textures, inputs, outputs, |run| {
        let start = clock.now();
        run();
        let end = clock.now();
        time = start.and_then(|start| Ok(end?.saturating_sub(start)));
    });
    time
}

/// Finds a number of passes that takes at least twice [`MIN_REGION_TICKS`].
fn find_passes(
    candidate: &Candidate,
    textures: &[&Texture],
    buffer: &mut Buffer,
    clock: &mut Clock,
    empty: u64,
) -> io::Result<usize> {
    let mut passes = 1;
    loop {
        // Use the minimum of five times, to filter out interrupts. One is enough if it is so long
        // that interrupts do not matter.
        let mut net = u64::MAX;
        for _ in 0..5 {
            net = net.min(
                time_region(candidate, 0, passes, textures, buffer, clock)?.saturating_sub(empty),
            );
            if net > 10_000 * MIN_REGION_TICKS {
                break;
            }
        }
        if net >= 2 * MIN_REGION_TICKS {
            return Ok(passes);
        }
        passes = (passes * (2 * MIN_REGION_TICKS) as usize)
            .div_ceil(net.max(MIN_REGION_TICKS / 50) as usize)
            .max(passes + 1);
    }
}

/// Returns the median time of an empty region.
fn empty_region_time(clock: &mut Clock) -> io::Result<u64> {
    let mut time = || {
        let start = clock.now()?;
        Ok(clock.now()?.saturating_sub(start) as f64)
    };
    let times: Vec<f64> = (0..1001).map(|_| time()).collect::<io::Result<_>>()?;
    Ok(median(&times) as u64)
}

/// The code that a timed region runs.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Slot {
    /// The reference, next to a candidate.
    Reference,
    /// A candidate, by index. Candidate 0 is the control.
    Candidate(usize),
}

/// The samples of all rounds.
struct Samples {
    /// Reference times, one per round.
    reference: Vec<f64>,
    /// Samples of each candidate, one per round.
    candidates: Vec<Vec<Sample>>,
}

/// The sample of a candidate in one round.
#[derive(Clone, Copy, Debug)]
struct Sample {
    /// Ratio of its time to the adjacent reference times.
    ratio: f64,
    /// Whether the reference times differ.
    disturbed: bool,
}

impl Sample {
    /// Computes a sample from the candidate's time and the adjacent reference times.
    fn new(before: f64, time: f64, after: f64) -> Sample {
        let mean = 0.5 * (before + after);
        Sample {
            ratio: time / mean,
            disturbed: (after - before).abs() > MAX_REFERENCE_DRIFT * mean,
        }
    }
}

/// The ratio of a candidate to the control.
#[derive(Clone, Copy, Debug)]
struct Ratio {
    /// The median over the rounds that are used.
    estimate: Estimate,
    /// Fraction of the rounds that were discarded.
    discarded: f64,
    /// Whether disturbed rounds are used too.
    with_disturbed: bool,
}

impl Samples {
    /// Returns the ratio of a candidate to the control: over the rounds in which neither was
    /// disturbed, or over all rounds if at most half of them remain.
    fn ratio(&self, index: usize) -> Ratio {
        let ratios = |keep: fn(&Sample) -> bool| -> Vec<f64> {
            let pairs = std::iter::zip(&self.candidates[index], &self.candidates[0]);
            let kept = pairs.filter(|(sample, control)| keep(sample) && keep(control));
            kept.map(|(sample, control)| sample.ratio / control.ratio).collect()
        };
        let (undisturbed, rounds) = (ratios(|sample| !sample.disturbed), self.reference.len());
        if 2 * undisturbed.len() > rounds {
            let discarded = 1.0 - undisturbed.len() as f64 / rounds as f64;
            Ratio {
                estimate: Estimate::from_samples(&undisturbed),
                discarded,
                with_disturbed: false,
            }
        } else {
            Ratio {
                estimate: Estimate::from_samples(&ratios(|_| true)),
                discarded: 0.0,
                with_disturbed: true,
            }
        }
    }

    /// Whether the confidence intervals of all ratios have this relative width or less.
    fn has_narrow_intervals(&self, precision: f64) -> bool {
        (1..self.candidates.len())
            .all(|index| self.ratio(index).estimate.relative_width() <= precision)
    }
}

/// Times candidates in rounds. `time` runs a slot in the round with this index and returns its
/// time.
fn run_rounds(
    candidates: usize,
    budget: &Budget,
    mut time: impl FnMut(Slot, usize) -> io::Result<f64>,
    progress: &dyn Fn(f64),
) -> io::Result<Samples> {
    let begin = Instant::now();
    let mut random = Random::new(1);
    let mut order: Vec<usize> = (0..candidates).collect();
    let mut samples = Samples { reference: vec![], candidates: vec![vec![]; candidates] };
    let mut next_check = FIRST_CHECK_ROUNDS;
    for round in 0..budget.max_rounds.max(1) {
        // Fisher–Yates shuffle.
        (1..order.len()).rev().for_each(|k| order.swap(k, random.below(k + 1)));
        let mut before = time(Slot::Reference, round)?;
        samples.reference.push(before);
        for &index in &order {
            let candidate = time(Slot::Candidate(index), round)?;
            let after = time(Slot::Reference, round)?;
            samples.candidates[index].push(Sample::new(before, candidate, after));
            before = after;
        }
        let elapsed = begin.elapsed();
        let time_fraction = elapsed.as_secs_f64() / budget.max_time.as_secs_f64();
        progress(
            ((round + 1) as f64 / budget.max_rounds.max(1) as f64).max(time_fraction).min(1.0),
        );
        if elapsed > budget.max_time {
            break;
        }
        if round + 1 >= next_check && elapsed >= budget.min_time {
            if samples.has_narrow_intervals(budget.precision) {
                break;
            }
            next_check = 2 * (round + 1);
        }
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::boxes::uniform;

    const BUDGET: Budget = Budget {
        max_rounds: 2000,
        min_time: Duration::ZERO,
        max_time: Duration::MAX,
        precision: 0.02,
    };

    /// A simulated machine whose clock rate drifts by a fifth, with noise and a coarse counter.
    struct Machine {
        random: Random,
        now: f64,
        /// Costs of candidates, in cycles.
        cycles: Vec<f64>,
    }

    impl Machine {
        fn new(cycles: &[f64]) -> Machine {
            Machine { random: Random::new(7), now: 0.0, cycles: cycles.to_vec() }
        }

        fn time(&mut self, slot: Slot) -> f64 {
            // The reference runs more often, so that its branches are predicted better.
            let (index, prediction) = match slot {
                Slot::Reference => (0, 0.98),
                Slot::Candidate(index) => (index, 1.0),
            };
            let rate = 1.0 + 0.1 * libm::sin(self.now / 3e6);
            let noise = 1.0 + 0.02 * uniform(&mut self.random);
            let time = (self.cycles[index] * prediction * rate * noise / 26.0).round() * 26.0;
            self.now += time;
            time
        }
    }

    #[test]
    fn ratios_are_stable_while_the_clock_rate_drifts() {
        let mut machine = Machine::new(&[10_000.0, 10_000.0, 24_000.0]);
        let samples = run_rounds(3, &BUDGET, |slot, _| Ok(machine.time(slot)), &|_| {}).unwrap();
        let [equal, slower] = [1, 2].map(|index| samples.ratio(index).estimate);
        assert!(
            (equal.median - 1.0).abs() < 0.004 && (slower.median - 2.4).abs() < 0.01,
            "{equal:?} {slower:?}"
        );
        assert!(equal.relative_width() <= 0.02 && slower.relative_width() <= 0.02);
        assert!(
            samples.reference.len() < BUDGET.max_rounds,
            "it must stop once the intervals are narrow"
        );
    }

    #[test]
    fn disturbed_rounds_are_discarded() {
        let mut machine = Machine::new(&[10_000.0, 12_000.0]);
        // Every fiftieth region is interrupted, and every seventh is slow because of load on other
        // cores.
        let mut calls = 0;
        let time = |slot: Slot, _| {
            calls += 1;
            let slow = if calls % 7 == 0 { 1.3 } else { 1.0 };
            let interrupted = if calls % 50 == 0 { 1e6 } else { 0.0 };
            Ok(machine.time(slot) * slow + interrupted)
        };
        let ratio = run_rounds(2, &BUDGET, time, &|_| {}).unwrap().ratio(1);
        assert!(ratio.discarded > 0.2 && !ratio.with_disturbed, "{ratio:?}");
        assert!((ratio.estimate.median - 1.2).abs() < 0.01, "{ratio:?}");
    }

    #[test]
    fn disturbed_rounds_are_used_if_most_are_disturbed() {
        let mut machine = Machine::new(&[10_000.0, 12_000.0]);
        let mut calls = 0;
        let time = |slot: Slot, _| {
            calls += 1;
            Ok(machine.time(slot) * if calls % 3 == 0 { 1.2 } else { 1.0 })
        };
        let ratio = run_rounds(2, &BUDGET, time, &|_| {}).unwrap().ratio(1);
        assert!(ratio.with_disturbed && ratio.discarded == 0.0, "{ratio:?}");
    }

    #[test]
    fn noisy_measurements_stop_after_max_rounds() {
        let mut random = Random::new(3);
        let budget = Budget { max_rounds: 300, ..BUDGET };
        let samples =
            run_rounds(2, &budget, |_, _| Ok(1.0 + 4.0 * uniform(&mut random)), &|_| {}).unwrap();
        assert_eq!(samples.reference.len(), 300);
        assert!(samples.ratio(1).estimate.relative_width() > 0.02);
    }

    #[test]
    fn each_candidate_runs_once_per_round_next_to_the_reference() {
        let mut calls = vec![];
        let budget = Budget { max_rounds: 3, ..BUDGET };
        let time = |slot, round| {
            calls.push((round, slot));
            Ok(1.0)
        };
        run_rounds(4, &budget, time, &|_| {}).unwrap();
        for round in 0..3 {
            let slots: Vec<Slot> =
                calls.iter().filter(|call| call.0 == round).map(|call| call.1).collect();
            assert_eq!(slots.len(), 9);
            assert!(slots.iter().step_by(2).all(|&slot| slot == Slot::Reference), "{slots:?}");
            assert!((0..4).all(|index| slots.contains(&Slot::Candidate(index))), "{slots:?}");
        }
    }

    #[test]
    fn measurement_stops_after_max_time() {
        let budget = Budget { max_time: Duration::ZERO, ..BUDGET };
        let samples =
            run_rounds(2, &budget, |_, _| Ok(1.0), &|fraction| assert_eq!(fraction, 1.0)).unwrap();
        assert_eq!(samples.reference.len(), 1);
    }

    #[test]
    fn measurement_is_repeated_in_ticks_if_the_cycle_counter_fails() {
        let text = "fn copy(x: f32) -> (y: f32) {\nreturn x\n}\n";
        let function = lightbound_shader::ir::text::parse(text).unwrap();
        let target = lightbound_shader::target::Target::Sse;
        if !target.is_available() {
            return;
        }
        let candidates = [0, 1].map(|_| Candidate::new(&function, target, &[vec![1]]).unwrap());
        let budget = Budget { max_rounds: 1000, precision: 0.0, ..BUDGET };
        // The clock fails at the first read, while the number of passes is determined, or during
        // the rounds.
        for reads in [0, 2003, 5000] {
            let measurement =
                measure_with_clock(Clock::failing_after(reads), &candidates, &[], &budget, &|_| {});
            assert!(
                measurement.clock.starts_with("time-stamp counter ticks"),
                "{}",
                measurement.clock
            );
            assert!(
                measurement.costs.iter().all(|cost| cost.time.median > 0.0),
                "{:?}",
                measurement.costs
            );
        }
    }
}
