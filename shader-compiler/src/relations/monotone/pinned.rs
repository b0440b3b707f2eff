//! Uses of a value that are pinned to one of its endpoints: the growth of the result with them, and
//! the error of its float.

use super::{Arg, Direction, Method, Monotone, PinnedEndpoint, Sign, Step, is_same, range};
use crate::interval::{Bounds, Floats};
use crate::ir::{Op, Value};
use crate::range::Range;
use crate::relations::PointShader;
use crate::relations::growth::Growth;
use crate::relations::rounding::RoundingError;

/// Maximum relative error of a refinement; beyond it, endpoints are not expected to tighten.
const MAX_RELATIVE_ERROR: f64 = 1e-2;

/// A value as a function of some uses of a source, and its monotonicity.
pub(super) struct PinnedUses<'a> {
    pub steps: Vec<Step>,
    pub clamped: Vec<Value>,
    /// Bounds of all values for a nonnegative source, if only that half is analyzed because the
    /// value is 0 elsewhere.
    pub positive_half: Option<&'a [Bounds]>,
    pub direction: Option<Direction>,
    pub endpoints: [Option<PinnedEndpoint>; 2],
}

impl<'a> PinnedUses<'a> {
    pub fn new(
        point: &PointShader<'_>,
        steps: Vec<Step>,
        clamped: Vec<Value>,
        positive_half: Option<&'a [Bounds]>,
    ) -> PinnedUses<'a> {
        let mut pinned =
            PinnedUses { steps, clamped, positive_half, direction: None, endpoints: [None; 2] };
        let up = pinned.direction_and_guard(point, true);
        let down =
            if pinned.depends_on_move() { pinned.direction_and_guard(point, false) } else { up };
        for (up, found) in [(true, up), (false, down)] {
            let Some((direction, error, guard)) = found else { continue };
            pinned.direction = Some(direction);
            // Whether this endpoint of the source yields the upper endpoint of the value.
            let upper = (direction == Direction::Decreasing) != up;
            if error.relative <= MAX_RELATIVE_ERROR && (upper || pinned.clamped.is_empty()) {
                pinned.endpoints[usize::from(upper)] = Some(PinnedEndpoint {
                    source_side: usize::from(up),
                    method: Method::Widening { error, guard },
                });
            }
        }
        pinned
    }

    pub fn is_monotone(&self) -> bool {
        self.endpoints.iter().any(Option::is_some)
    }

    /// Whether [`direction_and_guard`](Self::direction_and_guard) depends on where the source
    /// moves: whether it uses constraints.
    fn depends_on_move(&self) -> bool {
        let source = range(self.source());
        let is_one_piece = source.lo >= 0.0 || source.hi <= 0.0;
        self.positive_half.is_none()
            && self.clamped.is_empty()
            && (is_one_piece || !self.floors().is_empty())
    }

    /// The direction of the value and the error of its float, for a source that is moved up or
    /// down. The result may hold only for sources above a guard.
    fn direction_and_guard(
        &self,
        point: &PointShader<'_>,
        up: bool,
    ) -> Option<(Direction, RoundingError, Option<f32>)> {
        let entire = range(self.source());
        if let Some(positive_half) = self.positive_half {
            let is_zero =
                self.growth(&point.bounds, None, Range::new(entire.lo, 0.0), up)?.range.is_zero();
            let growth = self.growth(positive_half, None, Range::new(0.0, entire.hi), up)?;
            let direction = Direction::of(growth.slope, Range::ONE)
                .filter(|_| is_zero && growth.range.is_nonnegative());
            return direction.map(|direction| (direction, growth.error, None));
        }
        let pieces = match entire.lo < 0.0 && entire.hi > 0.0 {
            true => vec![Range::new(entire.lo, 0.0), Range::new(0.0, entire.hi)],
            false => vec![entire],
        };
        if let Some((direction, error)) = self.direction(point, &pieces, up) {
            return Some((direction, error, None));
        }
        self.floors()
            .into_iter()
            .map(|floor| (floor, f64::from(floor)))
            .filter(|&(_, c)| entire.lo < c && c < entire.hi)
            .find_map(|(floor, c)| {
                self.direction(point, &[Range::new(c, entire.hi)], up)
                    .map(|(direction, error)| (direction, error, Some(floor)))
            })
    }

    /// The number of ulps by which to move the source, and the shift of the endpoints, if the uses
    /// at some steps counteract the others.
    pub fn move_and_shift(
        &self,
        point: &PointShader<'_>,
        counteracts: impl Fn(&Step) -> bool,
    ) -> Option<(i32, f32)> {
        let (entire, bounds) = (range(self.source()), self.positive_half.unwrap_or(&point.bounds));
        if entire.lo < 0.0 && self.positive_half.is_none() || entire.hi > 1e30 {
            return None;
        }
        let piece = Range::new(entire.lo.max(0.0), entire.hi);
        let all = self.growth(bounds, None, piece, true)?;
        Direction::of(all.slope, piece)
            .filter(|&direction| Some(direction) == self.direction && all.range.is_nonnegative())?;
        let others = self.growth_except(bounds, None, piece, true, counteracts)?;
        let elasticity = others.elasticity?;
        let min_elasticity = if self.direction == Some(Direction::Increasing) {
            elasticity.lo
        } else {
            -elasticity.hi
        };
        if min_elasticity <= 0.0 || all.error.relative > MAX_RELATIVE_ERROR {
            return None;
        }
        all.error.source_move(min_elasticity)
    }

    /// Static bounds of the source.
    pub fn source(&self) -> &Floats {
        let pinned = |arg: &'_ Arg| matches!(arg, Arg::Pinned(_));
        let arg = self.steps.iter().flat_map(|step| &step.args).find(|arg| pinned(arg));
        let Some(Arg::Pinned(floats)) = arg else { unreachable!("at least one use is pinned") };
        floats
    }

    /// The positive constants c in operations max(source, c).
    fn floors(&self) -> Vec<f32> {
        let floor = |step: &Step| match (step.op, &step.args[..]) {
            (
                Op::Max,
                [Arg::Pinned(_), Arg::Other { bounds: Bounds::Float(c), .. }]
                | [Arg::Other { bounds: Bounds::Float(c), .. }, Arg::Pinned(_)],
            ) => (c.low() == c.high() && c.low() > 0.0).then_some(c.low()),
            _ => None,
        };
        self.steps.iter().filter_map(floor).collect()
    }

    /// The direction of the value on all pieces, and the error of its float.
    fn direction(
        &self,
        point: &PointShader<'_>,
        pieces: &[Range<f64>],
        up: bool,
    ) -> Option<(Direction, RoundingError)> {
        let mut all = (Direction::Constant, RoundingError::EXACT);
        // Values computed from a clamped operand are not values of members, so constraints need not
        // hold for them. A constraint that a value moves away from on one piece may be violated on
        // the other.
        let constraints =
            (self.clamped.is_empty() && pieces.len() == 1).then_some(&point.bounds[..]);
        for &piece in pieces {
            let growth = self.growth(&point.bounds, constraints, piece, up)?;
            all = (all.0.and(Direction::of(growth.slope, piece)?)?, all.1.max(growth.error));
        }
        Some(all)
    }

    /// Growth of the value, with the source in a range of one sign and moving up or down.
    pub fn growth(
        &self,
        bounds: &[Bounds],
        constraints: Option<&[Bounds]>,
        source: Range<f64>,
        up: bool,
    ) -> Option<Growth> {
        self.growth_except(bounds, constraints, source, up, |_| false)
    }

    /// The same, with the source kept constant in some steps.
    fn growth_except(
        &self,
        bounds: &[Bounds],
        constraints: Option<&[Bounds]>,
        source: Range<f64>,
        up: bool,
        is_constant: impl Fn(&Step) -> bool,
    ) -> Option<Growth> {
        let mut growths: Vec<Growth> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let of = |arg: &Arg| match arg {
                Arg::Pinned(_) if is_constant(step) => Growth::independent(source),
                Arg::Pinned(_) => Growth::identity(source),
                Arg::Step(step) => growths[*step],
                Arg::Other { value, .. } => match &bounds[value.index()] {
                    Bounds::Float(floats) if self.clamped.contains(value) => {
                        Growth::independent(range(floats).max(Range::ZERO))
                    }
                    Bounds::Float(floats) => Growth::independent(range(floats)),
                    _ => Growth::independent(Range::ALL),
                },
            };
            // A vector would be allocated for each step.
            let mut args = [Growth::independent(Range::ZERO); 3];
            args.iter_mut().zip(&step.args).for_each(|(growth, arg)| *growth = of(arg));
            let args = &args[..step.args.len()];
            let mut growth = Growth::apply(step.op, args, is_same(&step.args))?;
            if let Some(constraints) = constraints {
                apply_constraint(&mut growth, &constraints[step.value.index()], source, up);
            }
            growths.push(growth);
        }
        growths.pop()
    }

    /// The refinement with all uses pinned to one endpoint of the source; `None` if only one half
    /// was analyzed.
    pub fn widening(self, source: Value) -> Option<Monotone> {
        let sign = Sign::of(&self.steps.last().expect("there are steps").bounds);
        self.positive_half.is_none().then_some(Monotone {
            source,
            steps: self.steps,
            clamped: self.clamped,
            sign,
            endpoints: self.endpoints,
            replaces: false,
        })
    }
}

/// Applies a constraint on each side from which the value moves away.
fn apply_constraint(growth: &mut Growth, constraint: &Bounds, source: Range<f64>, up: bool) {
    let (Some(direction), Bounds::Float(constraint)) =
        (Direction::of(growth.slope, source), constraint)
    else {
        return;
    };
    let RoundingError { relative, absolute } = growth.error;
    if relative >= 0.5 || !absolute.is_finite() {
        return;
    }
    // Upper bound of the real number, if the float is at most x.
    let upper_bound = |x: f64| {
        let x = x + absolute;
        let upper_bound = if x >= 0.0 { x / (1.0 - relative) } else { x / (1.0 + relative) };
        upper_bound + upper_bound.abs() * 1e-12
    };
    let mut range = growth.range;
    if (direction == Direction::Decreasing) == up || direction == Direction::Constant {
        range.hi = range.hi.min(upper_bound(f64::from(constraint.high())));
    }
    if (direction == Direction::Increasing) == up || direction == Direction::Constant {
        range.lo = range.lo.max(-upper_bound(-f64::from(constraint.low())));
    }
    if range.lo <= range.hi && range != growth.range {
        growth.range = range;
        *growth = growth.refined();
    }
}
