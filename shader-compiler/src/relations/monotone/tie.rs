//! Some uses of a value, tied to one end of it: how the value that they lead to grows with them,
//! and how far floats are off.

use super::{Arg, By, End, Monotone, Sign, Step, Way, is_same, range};
use crate::analysis::{Bounds, Floats};
use crate::ir::{Op, Value};
use crate::relations::Point;
use crate::relations::growth::Growth;
use crate::relations::range::Range;
use crate::relations::rounding::Error;

/// Floats may be off by so much, relatively, where ends are still taken to tighten.
const OFF: f64 = 1e-2;

/// A value as a function of a source, and what was found out of that.
pub(super) struct Tie<'a> {
    pub steps: Vec<Step>,
    pub cut: Vec<Value>,
    /// What values can be where the source is not negative, if that was looked at alone, because
    /// elsewhere the value is 0.
    pub half: Option<&'a [Bounds]>,
    pub way: Option<Way>,
    pub ends: [Option<End>; 2],
}

impl<'a> Tie<'a> {
    pub fn new(
        point: &Point<'_>,
        steps: Vec<Step>,
        cut: Vec<Value>,
        half: Option<&'a [Bounds]>,
    ) -> Tie<'a> {
        let mut tie = Tie { steps, cut, half, way: None, ends: [None; 2] };
        for up in [true, false] {
            let Some((way, error, guard)) = tie.guarded(point, up) else { continue };
            tie.way = Some(way);
            // The side on which the value is, with the source at this end of it.
            let upper = (way == Way::Falls) != up;
            if error.relative <= OFF && (upper || tie.cut.is_empty()) {
                tie.ends[usize::from(upper)] =
                    Some(End { of: usize::from(up), way: By::Widening { error, guard } });
            }
        }
        tie
    }

    pub fn is_monotone(&self) -> bool {
        self.ends.iter().any(Option::is_some)
    }

    /// Which way the value goes as the source goes up, or down, everywhere or from a number on.
    fn guarded(&self, point: &Point<'_>, up: bool) -> Option<(Way, Error, Option<f32>)> {
        let whole = range(self.source());
        if let Some(half) = self.half {
            let is_zero =
                self.growth(&point.bounds, None, Range::new(whole.lo, 0.0), up)?.range.is_zero();
            let growth = self.growth(half, None, Range::new(0.0, whole.hi), up)?;
            let way =
                Way::of(growth.slope, Range::ONE).filter(|_| is_zero && growth.range.is_positive());
            return way.map(|way| (way, growth.error, None));
        }
        let pieces = match whole.lo < 0.0 && whole.hi > 0.0 {
            true => vec![Range::new(whole.lo, 0.0), Range::new(0.0, whole.hi)],
            false => vec![whole],
        };
        if let Some((way, error)) = self.way(point, &pieces, up) {
            return Some((way, error, None));
        }
        self.floors()
            .into_iter()
            .map(|floor| (floor, f64::from(floor)))
            .filter(|&(_, c)| whole.lo < c && c < whole.hi)
            .find_map(|(floor, c)| {
                self.way(point, &[Range::new(c, whole.hi)], up)
                    .map(|(way, error)| (way, error, Some(floor)))
            })
    }

    /// By how many floats the source is moved, and by how much ends shift, where the uses at some
    /// steps are against the rest.
    pub fn margin(
        &self,
        point: &Point<'_>,
        is_against: impl Fn(&Step) -> bool,
    ) -> Option<(i32, f32)> {
        let (whole, bounds) = (range(self.source()), self.half.unwrap_or(&point.bounds));
        if whole.lo < 0.0 && self.half.is_none() || whole.hi > 1e30 {
            return None;
        }
        let piece = Range::new(whole.lo.max(0.0), whole.hi);
        let all = self.growth(bounds, None, piece, true)?;
        Way::of(all.slope, piece)
            .filter(|&way| Some(way) == self.way && all.range.is_positive())?;
        let others = self.growth_but(bounds, None, piece, true, is_against)?;
        let elasticity = others.elasticity?;
        let least = if self.way == Some(Way::Rises) { elasticity.lo } else { -elasticity.hi };
        if least <= 0.0 || all.error.relative > OFF {
            return None;
        }
        all.error.moving(least)
    }

    pub fn source(&self) -> &Floats {
        let tied = |arg: &'_ Arg| matches!(arg, Arg::Tied(_));
        let arg = self.steps.iter().flat_map(|step| &step.args).find(|arg| tied(arg));
        let Some(Arg::Tied(floats)) = arg else { unreachable!("some use is tied") };
        floats
    }

    /// Positive constants that the source has a maximum with.
    fn floors(&self) -> Vec<f32> {
        let floor = |step: &Step| match (step.op, &step.args[..]) {
            (
                Op::Max,
                [Arg::Tied(_), Arg::Other { bounds: Bounds::Float(c), .. }]
                | [Arg::Other { bounds: Bounds::Float(c), .. }, Arg::Tied(_)],
            ) => (c.low() == c.high() && c.low() > 0.0).then_some(c.low()),
            _ => None,
        };
        self.steps.iter().filter_map(floor).collect()
    }

    fn way(&self, point: &Point<'_>, pieces: &[Range], up: bool) -> Option<(Way, Error)> {
        let mut all = (Way::Constant, Error::NONE);
        // Values with an operand that is cut are not those of members, and what recedes on one
        // piece may not do so on the other.
        let limits = (self.cut.is_empty() && pieces.len() == 1).then_some(&point.bounds[..]);
        for &piece in pieces {
            let growth = self.growth(&point.bounds, limits, piece, up)?;
            all = (all.0.and(Way::of(growth.slope, piece)?)?, all.1.either(growth.error));
        }
        Some(all)
    }

    /// Of the value, where the source is in a range of one sign and goes up, or down.
    pub fn growth(
        &self,
        bounds: &[Bounds],
        limits: Option<&[Bounds]>,
        source: Range,
        up: bool,
    ) -> Option<Growth> {
        self.growth_but(bounds, limits, source, up, |_| false)
    }

    /// The same, where the source stays as it is in some steps.
    fn growth_but(
        &self,
        bounds: &[Bounds],
        limits: Option<&[Bounds]>,
        source: Range,
        up: bool,
        stays: impl Fn(&Step) -> bool,
    ) -> Option<Growth> {
        let mut growths: Vec<Growth> = vec![];
        for step in &self.steps {
            let of = |arg: &Arg| match arg {
                Arg::Tied(_) if stays(step) => Growth::independent(source),
                Arg::Tied(_) => Growth::identity(source),
                Arg::Step(step) => growths[*step],
                Arg::Other { value, .. } => match &bounds[value.index()] {
                    Bounds::Float(floats) if self.cut.contains(value) => {
                        Growth::independent(range(floats).max(Range::ZERO))
                    }
                    Bounds::Float(floats) => Growth::independent(range(floats)),
                    _ => Growth::independent(Range::ALL),
                },
            };
            let args: Vec<_> = step.args.iter().map(of).collect();
            let mut growth = Growth::apply(step.op, &args, is_same(&step.args))?;
            if let Some(limits) = limits {
                receding(&mut growth, &limits[step.value.index()], source, up);
            }
            growths.push(growth);
        }
        growths.pop()
    }

    /// The value with all the uses at one end of the source, if that is what was looked at.
    pub fn widening(self, source: Value) -> Option<Monotone> {
        let sign = Sign::of(&self.steps.last().expect("there are steps").bounds);
        self.half.is_none().then_some(Monotone {
            source,
            steps: self.steps,
            cut: self.cut,
            sign,
            ends: self.ends,
            replaces: false,
        })
    }
}

/// Brings in the limits of a value that it recedes from.
fn receding(growth: &mut Growth, limit: &Bounds, source: Range, up: bool) {
    let (Some(way), Bounds::Float(limit)) = (Way::of(growth.slope, source), limit) else { return };
    let Error { relative, absolute } = growth.error;
    if relative >= 0.5 || !absolute.is_finite() {
        return;
    }
    // Of the real number, if the float is at most x.
    let most = |x: f64| {
        let x = x + absolute;
        let most = if x >= 0.0 { x / (1.0 - relative) } else { x / (1.0 + relative) };
        most + most.abs() * 1e-12
    };
    let mut range = growth.range;
    if (way == Way::Falls) == up || way == Way::Constant {
        range.hi = range.hi.min(most(f64::from(limit.high())));
    }
    if (way == Way::Rises) == up || way == Way::Constant {
        range.lo = range.lo.max(-most(-f64::from(limit.low())));
    }
    if range.lo <= range.hi && range != growth.range {
        growth.range = range;
        *growth = growth.settled();
    }
}
