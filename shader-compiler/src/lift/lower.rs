//! Emits the bounding shader: lowerings of operations, both arms of undecided ifs, and unions of
//! loop results.
//!
//! Ifs are lowered by `branches`, loops by `loops`.
//!
//! If NaN propagates, lowering collects the conditions under which no NaN occurred. Those of arms
//! and loop bodies count for the boxes that may run them.

mod branches;
mod loops;

use super::{BoundSides, LoweredCase, Options, Tracking};
use crate::analysis::conditions::Clips;
use crate::analysis::nan_tests::NanTests;
use crate::builder::rewrite::liveness;
use crate::builder::{Builder, Rules};
use crate::interval::{Bounds, Facts, Floats, Interval, Nan, OpLowering};
use crate::ir::{Block, Def, Emit, Function, Op, Stmt, Type, Value};
use crate::relations::{self, Refinement, RelationInfo, emptiness, support};

/// Results of the analyses of a point shader.
#[derive(Clone, Copy)]
pub struct Analyses<'a> {
    /// For each value, whether it is an interval.
    pub is_interval: &'a [bool],
    /// Static bounds without tests. Computed bounds may depend on them, since they are the same for
    /// naive, optimized and related code.
    pub untested: &'a [Bounds],
    /// Static bounds with tests.
    pub bounds: &'a [Bounds],
    /// What conditions imply.
    pub clips: &'a Clips,
    /// NaN tests emitted where each value is defined.
    pub tests: &'a [NanTests],
    /// For each value, whether its operation needs no test, because the demanded endpoint of the
    /// result reveals a NaN.
    pub reveals_nan: &'a [bool],
    /// Relations.
    pub related: &'a RelationInfo,
}

/// The result of lowering.
pub struct Lowered {
    pub function: Function,
    /// For each value of the point shader that is an operation on intervals, how it was lowered.
    pub cases: Vec<Option<LoweredCase>>,
    /// For each value of the point shader, its endpoints.
    pub endpoints: Vec<Option<[Value; 2]>>,
}

/// Emits the bounding shader.
pub fn run(point: &Function, known: &Analyses<'_>, options: &Options) -> Lowered {
    let mut builder = Builder::new(&point.name, Rules::Exact);
    // Most operations become several.
    builder.reserve(point.len() * 4);
    let mut lowering = Lowering {
        point,
        known: *known,
        options,
        live: liveness(point),
        endpoints: vec![None; point.len()],
        cases: vec![None; point.len()],
        nan_seen: None,
        iterations: None,
        untested: known.untested.to_vec(),
        bounds: known.bounds.to_vec(),
        clipped: vec![],
        support: None,
        builder,
    };
    lowering.inputs();
    lowering.block(&point.body);
    let outputs = lowering.outputs();
    Lowered {
        function: lowering.builder.finish(outputs),
        cases: lowering.cases,
        endpoints: lowering.endpoints,
    }
}

type Endpoints = [Value; 2];

struct Lowering<'a> {
    point: &'a Function,
    known: Analyses<'a>,
    options: &'a Options,
    live: Vec<bool>,
    endpoints: Vec<Option<Endpoints>>,
    cases: Vec<Option<LoweredCase>>,
    /// Whether a NaN has occurred in the open block; `None` if certainly not.
    nan_seen: Option<Value>,
    /// Iterations so far of the enclosing loops and of loops nested in them, if counted.
    iterations: Option<Value>,
    /// Static bounds in the open block: those in [`Analyses`], refined by the clips in effect.
    untested: Vec<Bounds>,
    bounds: Vec<Bounds>,
    /// What the clips in effect replaced.
    clipped: Vec<branches::Clipped>,
    /// The lower endpoint of [`RelationInfo::support`], before clamping.
    support: Option<Value>,
    builder: Builder,
}

impl Lowering<'_> {
    fn inputs(&mut self) {
        let mut endpoints = vec![];
        for (index, port) in self.point.inputs.iter().enumerate() {
            let is_interval = self.point.values.iter().enumerate().any(|(value, data)| {
                data.def == Def::Input(index as u32) && self.known.is_interval[value]
            });
            endpoints.push(if is_interval {
                ["lo", "hi"].map(|end| self.builder.input(&format!("{}.{end}", port.name), port.ty))
            } else {
                [self.builder.input(&port.name, port.ty); 2]
            });
        }
        for vector in &self.known.related.sorted {
            let mut components: Vec<_> = vector.iter().map(|&input| endpoints[input]).collect();
            relations::sorted_hull(&mut self.builder, &mut components);
            for (&input, component) in vector.iter().zip(components) {
                endpoints[input] = component;
            }
        }
        for (value, data) in self.point.values.iter().enumerate() {
            if let Def::Input(index) = data.def {
                self.set(Value(value as u32), endpoints[index as usize]);
            }
        }
    }

    /// The outputs, which are NaN if a NaN occurred.
    fn outputs(&mut self) -> Vec<(String, Value)> {
        let sides: &[usize] = match self.options.sides {
            BoundSides::Upper => &[1],
            BoundSides::Lower => &[0],
            BoundSides::Both => &[0, 1],
        };
        let mut outputs = vec![];
        for (port, &value) in self.point.outputs.iter().zip(&self.point.body.yields) {
            let mut endpoints = self.endpoints(value);
            if let Some(lower) =
                self.support.filter(|_| self.known.related.may_cross && self.is_interval(value))
            {
                endpoints = support::with_zero(
                    &mut self.builder,
                    lower,
                    endpoints,
                    &self.known.untested[value.index()],
                    self.options.nan,
                );
            }
            if self.options.nan == Nan::Suppress
                && self.is_interval(value)
                && self.known.related.may_be_empty[value.index()]
            {
                endpoints = emptiness::without_nan(
                    &mut self.builder,
                    &self.known.untested[value.index()],
                    endpoints,
                );
            }
            for &side in sides {
                let mut end = endpoints[side];
                if let (Some(seen), Type::F32) = (self.nan_seen, port.ty) {
                    // For a NaN with all bits set, machine code only needs a bitwise or with the
                    // mask.
                    let nan = self.builder.constant(Type::F32, !0);
                    end = self.builder.op(Op::Select, &[seen, nan, end]);
                }
                outputs.push((format!("{}.{}", port.name, ["lo", "hi"][side]), end));
            }
        }
        outputs
    }

    fn is_interval(&self, value: Value) -> bool {
        self.known.is_interval[value.index()]
    }

    fn is_live(&self, value: Value) -> bool {
        self.live[value.index()]
    }

    fn endpoints(&mut self, value: Value) -> Endpoints {
        if let Some(endpoints) = self.endpoints[value.index()] {
            return endpoints;
        }
        let bits = self.point.constant(value).expect("values are defined before their use");
        let endpoints = [self.builder.constant(self.point.ty(value), bits); 2];
        self.endpoints[value.index()] = Some(endpoints);
        endpoints
    }

    /// The endpoints of a value, clamped to static bounds if the interval may be
    /// [empty](emptiness). Control-flow joins require this.
    fn clamped_if_empty(&mut self, value: Value, endpoints: Endpoints) -> Endpoints {
        if !self.known.related.may_be_empty[value.index()] {
            return endpoints;
        }
        let known = &self.known.untested[value.index()];
        // Joins handle a NaN if the value itself may be NaN. That includes a NaN that no test reports
        // since an endpoint reveals it.
        let keeps_nan = matches!(self.known.bounds[value.index()], Bounds::Float(floats) if floats.nan)
            && self.options.nan == Nan::Propagate;
        emptiness::clamp_to_bounds(&mut self.builder, known, endpoints, keeps_nan)
    }

    /// The endpoints of a value when it is assigned to another one.
    fn endpoints_for(&mut self, into: Value, value: Value) -> Endpoints {
        if !self.is_interval(into) {
            return self.endpoints(value);
        }
        let Interval { lo, hi, .. } = self.interval(value);
        [lo, hi]
    }

    fn set(&mut self, value: Value, mut endpoints: Endpoints) {
        if self.known.related.support == Some(value) {
            self.support = Some(endpoints[0]);
            endpoints = support::clamp_to_zero(&mut self.builder, endpoints);
        }
        self.endpoints[value.index()] = Some(endpoints);
    }

    /// The endpoints of a value with its known facts.
    fn interval(&mut self, value: Value) -> Interval<Value> {
        let [lo, hi] = self.endpoints(value);
        let bounds = self.bounds[value.index()];
        let singleton = !self.is_interval(value);
        let facts = match self.untested[value.index()] {
            Bounds::Float(floats) => {
                Facts { nan: floats.nan, negative_zero: floats.negative_zero, singleton }
            }
            _ => Facts { nan: false, negative_zero: false, singleton },
        };
        let known = tracked(self.options.tracking, bounds);
        if singleton && facts.nan && self.options.nan == Nan::Suppress {
            // Scalars are computed as in the point shader.
            let scalar = self.op_lowering(false).nan_to_zero(lo);
            return Interval {
                lo: scalar,
                hi: scalar,
                known: known.join(&Bounds::constant(Type::F32, 0)),
                facts,
            };
        }
        Interval { lo, hi, known, facts }
    }

    fn op_lowering(&mut self, same: bool) -> OpLowering<'_, Builder> {
        OpLowering {
            emit: &mut self.builder,
            nan: self.options.nan,
            same,
            nan_free: vec![],
            case: "",
        }
    }

    /// Lowers one operation.
    fn apply(&mut self, op: Op, args: &[Interval<Value>], same: bool) -> (Endpoints, &'static str) {
        let mut lowering = self.op_lowering(same);
        let endpoints = lowering.apply(op, args);
        let (nan_free, case) = (lowering.nan_free, lowering.case);
        self.require(&nan_free);
        (endpoints, case)
    }

    /// Records a NaN unless all of these conditions hold.
    fn require(&mut self, nan_free: &[Value]) {
        // Tests of values for NaN come first, in pairs: machine code fuses two into one
        // instruction.
        let is_not_nan = |&&value: &&Value| {
            let operation = self.builder.function().operation(value);
            matches!(operation, Some((Op::Eq, &[a, b])) if a == b)
        };
        let (mut not_nan, others): (Vec<Value>, Vec<Value>) = nan_free.iter().partition(is_not_nan);
        not_nan.sort();
        not_nan.dedup();
        for pair in not_nan.chunks(2) {
            let mut nan = self.builder.op(Op::BNot, &[pair[0]]);
            if let Some(&other) = pair.get(1) {
                let other = self.builder.op(Op::BNot, &[other]);
                nan = self.builder.op(Op::BOr, &[nan, other]);
            }
            self.note_nan(Some(nan));
        }
        for condition in others {
            let nan = self.builder.op(Op::BNot, &[condition]);
            self.note_nan(Some(nan));
        }
    }

    /// Adds a condition under which a NaN occurred.
    fn note_nan(&mut self, nan: Option<Value>) {
        self.nan_seen = match (self.nan_seen, nan) {
            (Some(a), Some(b)) => Some(self.builder.op(Op::BOr, &[a, b])),
            (a, b) => a.or(b),
        };
    }

    fn block(&mut self, block: &Block) {
        for stmt in &block.stmts {
            match stmt {
                Stmt::Op(value) if self.is_live(*value) => {
                    let outer = self.builder.set_origin(Some(*value));
                    self.operation(*value);
                    self.builder.set_origin(outer);
                }
                Stmt::Op(_) => {}
                Stmt::If(node) if node.results.iter().any(|&result| self.is_live(result)) => {
                    let outer = self.builder.set_origin(
                        node.results.iter().copied().find(|&result| self.is_live(result)),
                    );
                    self.if_(node);
                    self.builder.set_origin(outer);
                }
                Stmt::Loop(node) if node.results.iter().any(|&result| self.is_live(result)) => {
                    self.loop_(node)
                }
                Stmt::If(_) | Stmt::Loop(_) => {}
            }
        }
    }

    fn operation(&mut self, value: Value) {
        let (op, args) = self.point.operation(value).expect("statements define operations");
        if !self.is_interval(value) {
            let args: Vec<_> = args.iter().map(|&arg| self.endpoints(arg)[0]).collect();
            let result = self.builder.op(op, &args);
            return self.set(value, [result; 2]);
        }
        let before = self.builder.function().len();
        let intervals: Vec<_> = args.iter().map(|&arg| self.interval(arg)).collect();
        let same = matches!(args, [a, b] if a == b);
        let nan_seen = self.nan_seen;
        let (endpoints, case) = self.apply(op, &intervals, same);
        if self.known.reveals_nan[value.index()] {
            self.nan_seen = nan_seen;
        }
        let endpoints = self.refined(value, endpoints);
        self.set(value, endpoints);
        let tests = self.known.tests[value.index()].tested;
        for (tested, side, infinity) in
            [(tests.lo, 0, f32::NEG_INFINITY), (tests.hi, 1, f32::INFINITY)]
        {
            if tested {
                let infinity = self.builder.f32(infinity);
                let order =
                    if side == 0 { [infinity, endpoints[0]] } else { [endpoints[1], infinity] };
                let finite = self.builder.op(Op::Lt, &order);
                self.require(&[finite]);
            }
        }
        self.cases[value.index()] =
            Some(LoweredCase { case, operations: self.operations_since(before) });
    }

    /// Intersects the endpoints of a value's interval lowering with the endpoints of its
    /// refinements.
    fn refined(&mut self, value: Value, lowered: Endpoints) -> Endpoints {
        let related = self.known.related;
        let mut endpoints = lowered;
        for refinement in &related.refinements[value.index()] {
            for source in refinement.sources() {
                self.endpoints(source);
            }
            let of = |source: Value| self.endpoints[source.index()].expect("sources were lowered");
            let refined = refinement.endpoints(&mut self.builder, of);
            let intersections = match self.point.ty(value) {
                Type::Bool => [(Op::BOr, None), (Op::BAnd, None)],
                Type::I32 => [(Op::SMax, None), (Op::SMin, None)],
                Type::F32 => [(Op::Max, Some(f32::NEG_INFINITY)), (Op::Min, Some(f32::INFINITY))],
            };
            for (side, (intersection, unbounded)) in intersections.into_iter().enumerate() {
                let is_optimal =
                    refinement.is_optimal() && !self.has_refined_operand(value, refinement);
                let replaces = is_optimal || refinement.replaces_lowering(side);
                if replaces && endpoints[side] == lowered[side] {
                    endpoints[side] = refined[side];
                } else if unbounded
                    .is_none_or(|end| self.builder.known(refined[side]) != Some(end.to_bits()))
                {
                    endpoints[side] =
                        self.builder.op(intersection, &[endpoints[side], refined[side]]);
                }
            }
        }
        endpoints
    }

    /// Whether a value between a refinement's value and its sources has refinements of its own. Then
    /// the endpoints of the lowering may be tighter than optimal ones, unless those are optimal for
    /// the same sources.
    fn has_refined_operand(&self, value: Value, refinement: &Refinement) -> bool {
        let sources = refinement.sources();
        let operands = |value: Value| self.point.operation(value).map_or(&[][..], |(_, args)| args);
        let mut pending = operands(value).to_vec();
        while let Some(operand) = pending.pop() {
            if sources.contains(&operand) {
                continue;
            }
            let refinements = &self.known.related.refinements[operand.index()];
            if !refinements.iter().all(|other| other.is_optimal() && other.sources() == sources) {
                return true;
            }
            pending.extend(operands(operand));
        }
        false
    }

    /// Number of operations appended since the function had `values` values.
    fn operations_since(&self, values: usize) -> usize {
        self.builder.function().values[values..]
            .iter()
            .filter(|data| matches!(data.def, Def::Op { .. }))
            .count()
    }
}

/// Reduces bounds to the facts that case selection may use.
fn tracked(tracking: Tracking, bounds: Bounds) -> Bounds {
    let Bounds::Float(floats) = bounds else {
        return if tracking.ranges { bounds } else { Bounds::all(bounds.ty()) };
    };
    let mut floats =
        if tracking.ranges { floats } else { Floats { nan: floats.nan, ..Floats::all() } };
    floats.nan |= !tracking.nan;
    if !tracking.zeros && floats.pieces.contains(0.0) {
        (floats.negative_zero, floats.positive_zero) = (true, true);
    }
    Bounds::Float(floats)
}
