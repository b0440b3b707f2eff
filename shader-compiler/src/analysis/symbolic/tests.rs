//! The examples of Blume and Eigenmann, and random programs: claims about ranges and orders are
//! checked against the values of runs.

mod agreement;
mod uses;

use super::*;
use crate::analysis::solve;
use crate::bounding::{Frame, Integrand};
use crate::interval::{Floats, Nan};
use crate::ir::text::{name, parse};
use crate::ir::{Block, Stmt, Table};
use crate::math::eval::ConstantEvaluator;
use crate::random::Random;
use crate::testing::random;
use crate::{Settings, Shader};
use std::time::{Duration, Instant};

/// Maximum number of values in scope of a region about which claims are checked.
const MAX_CLAIMANTS: usize = 8;

/// A claim about values in a region.
#[derive(Clone, Debug)]
enum Claim {
    Range(Value, Box<SymbolicRange>),
    Order([Value; 2], Order),
}

impl Claim {
    /// Whether the claim holds for a run's values. A lane that is not idle computed them.
    fn holds(&self, function: &Function, words: &[u32]) -> bool {
        let word = |value: Value| words[value.index()];
        let integer = |value: Value| i64::from(word(value) as i32);
        match self {
            Claim::Range(value, range) => {
                let x = integer(*value);
                let exact = |bound: &Linear| bound.range(|v| Range::singleton(integer(v)));
                (range.number.lo..=range.number.hi).contains(&x)
                    && range.lower.iter().flatten().all(|bound| x >= exact(bound).lo)
                    && range.upper.iter().flatten().all(|bound| x <= exact(bound).hi)
            }
            Claim::Order([a, b], order) if function.ty(*a) == Type::F32 => {
                let [a, b] = [*a, *b].map(|value| f32::from_bits(word(value)));
                (!order.is_le || a <= b) && (!order.is_ge || a >= b)
            }
            Claim::Order([a, b], order) => {
                let [a, b] = [*a, *b].map(integer);
                (!order.is_less || a < b)
                    && (!order.is_le || a <= b)
                    && (!order.is_ge || a >= b)
                    && (!order.is_greater || a > b)
            }
        }
    }
}

/// The claims about the values in scope at the end of each region.
struct Claims<'a> {
    function: &'a Function,
    claims: FxHashMap<Region, Vec<Claim>>,
    /// Values in scope.
    scope: Vec<Value>,
    random: Random,
}

impl Claims<'_> {
    fn block(&mut self, ranges: &mut Ranges<'_>, block: &Block) {
        let outer = self.scope.len();
        self.statements(ranges, block);
        self.claim(ranges, block);
        self.scope.truncate(outer);
    }

    fn statements(&mut self, ranges: &mut Ranges<'_>, block: &Block) {
        for stmt in &block.stmts {
            match stmt {
                Stmt::Op(value) => self.scope.push(*value),
                Stmt::If(node) => {
                    for arm in [&node.then, &node.otherwise] {
                        self.block(ranges, arm);
                    }
                    self.scope.extend(&node.results);
                }
                Stmt::Loop(node) => {
                    let inner = self.scope.len();
                    self.scope.extend(&node.params);
                    self.statements(ranges, &node.head);
                    self.claim(ranges, &node.head);
                    self.block(ranges, &node.body);
                    self.scope.truncate(inner);
                    self.scope.extend(&node.results);
                }
            }
        }
    }

    fn claim(&mut self, ranges: &mut Ranges<'_>, block: &Block) {
        let at = ranges.regions.of_block(block);
        let is_number = |&value: &Value| self.function.ty(value) != Type::Bool;
        let mut values: Vec<_> = self.scope.iter().copied().filter(is_number).collect();
        while values.len() > MAX_CLAIMANTS {
            values.swap_remove(self.random.below(values.len()));
        }
        let mut claims = vec![];
        for (k, &a) in values.iter().enumerate() {
            if self.function.ty(a) == Type::I32 {
                claims.push(Claim::Range(a, Box::new(ranges.range_of(a, at))));
            }
            for &b in &values[..k] {
                if self.function.ty(a) == self.function.ty(b) {
                    claims.push(Claim::Order([a, b], ranges.compare(a, b, at)));
                }
            }
        }
        self.claims.insert(at, claims);
    }
}

/// Runs a function and checks claims at the end of each block.
struct Checker<'a> {
    function: &'a Function,
    ranges: &'a Ranges<'a>,
    claims: &'a FxHashMap<Region, Vec<Claim>>,
    words: Vec<u32>,
    tables: ConstantEvaluator<'a>,
    checks: usize,
    label: &'a str,
}

impl Checker<'_> {
    fn set_all(&mut self, values: &[Value], from: &[Value]) {
        let words: Vec<_> = from.iter().map(|value| self.words[value.index()]).collect();
        values.iter().zip(words).for_each(|(value, word)| self.words[value.index()] = word);
    }

    fn check(&mut self, block: &Block) {
        let at = self.ranges.regions.of_block(block);
        for claim in self.claims.get(&at).into_iter().flatten() {
            self.checks += 1;
            assert!(
                claim.holds(self.function, &self.words),
                "{}: {claim:?} does not hold in {at:?} for {:x?}\n{}",
                self.label,
                self.words,
                self.function
            );
        }
    }

    fn run(&mut self, block: &Block) {
        for stmt in &block.stmts {
            match stmt {
                Stmt::Op(value) => {
                    let (op, args) = self.function.operation(*value).unwrap();
                    let words: Vec<_> = args.iter().map(|arg| self.words[arg.index()]).collect();
                    self.words[value.index()] = op.eval_with(&mut self.tables, &words);
                }
                Stmt::If(node) => {
                    let truth = self.words[node.cond.index()] != 0;
                    let arm = if truth { &node.then } else { &node.otherwise };
                    self.run(arm);
                    self.set_all(&node.results, &arm.yields);
                }
                Stmt::Loop(node) => {
                    self.set_all(&node.params, &node.init);
                    self.run(&node.head);
                    while self.words[node.cond.index()] != 0 {
                        self.run(&node.body);
                        self.set_all(&node.params, &node.body.yields);
                        self.run(&node.head);
                    }
                    self.set_all(&node.results, &node.head.yields);
                }
            }
        }
        self.check(block);
    }
}

/// Checks all claims about a function for rows of inputs. Returns the number of checks.
fn check(function: &Function, bounds: Option<&[Bounds]>, rows: &[Vec<u32>], label: &str) -> usize {
    let mut ranges = match bounds {
        Some(bounds) => Ranges::with_bounds(function, bounds),
        None => Ranges::new(function),
    };
    let mut claims = Claims {
        function,
        claims: FxHashMap::default(),
        scope: vec![],
        random: Random::new(rows.len() as u64),
    };
    let is_input = |data: &crate::ir::function::ValueData| matches!(data.def, Def::Input(_));
    claims.scope.extend(
        (0..function.len()).filter(|&k| is_input(&function.values[k])).map(|k| Value(k as u32)),
    );
    claims.block(&mut ranges, &function.body);
    let claims = claims.claims;
    let tables = random::tables();
    let mut checks = 0;
    for row in rows {
        let word = |data: &crate::ir::function::ValueData| match data.def {
            Def::Input(index) => row[index as usize],
            Def::Const(bits) => bits,
            _ => 0,
        };
        let words = function.values.iter().map(word).collect();
        let tables = ConstantEvaluator { tables: &tables[..] as &[Table<'_>] };
        let (ranges, claims) = (&ranges, &claims);
        let mut checker = Checker { function, ranges, claims, words, tables, checks: 0, label };
        checker.run(&function.body);
        checks += checker.checks;
    }
    checks
}

/// Writes random programs on integers: small constants, orders of values as conditions, counted
/// loops, nested. All loops end.
struct Writer {
    random: Random,
    text: String,
    /// Names of integers in scope.
    ints: Vec<String>,
    next: usize,
    depth: usize,
}

impl Writer {
    fn program(seed: u64) -> Function {
        let mut writer = Writer {
            random: Random::new(seed),
            text: "fn f(n: i32, m: i32, k: i32) -> (r: i32, s: i32) {\n".to_owned(),
            ints: ["n", "m", "k"].map(str::to_owned).to_vec(),
            next: 0,
            depth: 0,
        };
        writer.statements(8);
        let [r, s] = [0, 1].map(|_| writer.int());
        writer.text += &format!("return {r}, {s}\n}}");
        parse(&writer.text).unwrap_or_else(|error| panic!("{error}\n{}", writer.text))
    }

    fn fresh(&mut self) -> String {
        self.next += 1;
        format!("%v{}", self.next)
    }

    /// An integer in scope, with a preference for recent ones, or a constant.
    fn int(&mut self) -> String {
        if self.random.once_in(4) {
            return self.constant();
        }
        let recent = if self.random.once_in(2) { self.ints.len().min(4) } else { self.ints.len() };
        self.ints[self.ints.len() - 1 - self.random.below(recent)].clone()
    }

    fn constant(&mut self) -> String {
        match self.random.below(8) {
            0 => "2147483647".to_owned(),
            1 => "-2147483648".to_owned(),
            2 => format!("{}", self.random.below(100)),
            _ => format!("{}", self.random.below(12) as i32 - 4),
        }
    }

    fn line(&mut self, op: &str, args: &[&str]) -> String {
        let name = self.fresh();
        self.text += &format!("{name} = {op} {}\n", args.join(", "));
        name
    }

    fn condition(&mut self) -> String {
        let op = *self.random.pick(&["slt", "slt", "slt", "ult", "ieq"]);
        let (a, b) = (self.int(), self.int());
        let mut cond = self.line(op, &[&a, &b]);
        if self.random.once_in(3) {
            cond = self.line("bnot", &[&cond]);
        }
        if self.random.once_in(3) {
            let other = self.condition();
            let op = *self.random.pick(&["band", "band", "bor"]);
            cond = self.line(op, &[&cond, &other]);
        }
        cond
    }

    fn statements(&mut self, count: usize) {
        for _ in 0..1 + self.random.below(count) {
            let kind = self.random.below(if self.depth < 3 { 12 } else { 9 });
            let scope = self.ints.len();
            match kind {
                0..=7 => {
                    let op = *self.random.pick(&[
                        "iadd", "iadd", "isub", "imul", "smin", "smax", "umin", "umax", "and",
                        "sdiv", "udiv", "srem", "urem", "or", "xor",
                    ]);
                    let (a, b) = (self.int(), self.int());
                    let value = self.line(op, &[&a, &b]);
                    self.ints.push(value);
                }
                8 => {
                    let shift = *self.random.pick(&["shl", "ashr", "lshr"]);
                    let (a, n) = (self.int(), format!("{}", self.random.below(5)));
                    let shifted = self.line(shift, &[&a, &n]);
                    self.ints.push(shifted);
                    let (cond, a, b) = (self.condition(), self.int(), self.int());
                    let selected = self.line("select", &[&cond, &a, &b]);
                    self.ints.push(selected);
                }
                9 | 10 => {
                    let cond = self.condition();
                    let name = self.fresh();
                    self.text += &format!("{name} = if {cond} {{\n");
                    for arm in 0..2 {
                        self.depth += 1;
                        self.statements(4);
                        self.depth -= 1;
                        let value = self.int();
                        self.text += &format!("yield {value}\n}}");
                        self.text += if arm == 0 { " else {\n" } else { "\n" };
                        self.ints.truncate(scope);
                    }
                    self.ints.push(name);
                }
                _ => self.counted_loop(),
            }
        }
    }

    fn counted_loop(&mut self) {
        let scope = self.ints.len();
        let [first, other, limit] = [0, 1, 2].map(|_| self.int());
        let [result, second, i, s, fuel] = [0; 5].map(|_| self.fresh());
        self.text += &format!(
            "{result}, {second} = loop ({i}: i32 = {first}, {s}: i32 = {other}, {fuel}: i32 = 0) {{\n"
        );
        self.ints.extend([i.clone(), s.clone(), fuel.clone()]);
        let op = *self.random.pick(&["slt", "slt", "ult"]);
        let (a, b) = if self.random.once_in(4) { (&limit, &i) } else { (&i, &limit) };
        let mut cond = self.line(op, &[a, b]);
        if self.random.once_in(4) {
            cond = self.line("bnot", &[&cond]);
        }
        let fuel_left = self.line("slt", &[&fuel, "9"]);
        let on = self.line("band", &[&cond, &fuel_left]);
        let exit = self.int();
        self.text += &format!("while {on} else {i}, {exit}\n");
        self.depth += 1;
        self.statements(4);
        self.depth -= 1;
        let step = *self.random.pick(&["1", "1", "1", "2", "3", "-1", "-2"]);
        let mut next = self.line("iadd", &[&i, step]);
        if self.random.once_in(4) {
            let (cond, other) = (self.condition(), self.int());
            next = self.line("select", &[&cond, &next, &other]);
        }
        let next_s = self.int();
        let next_fuel = self.line("iadd", &[&fuel, "1"]);
        self.text += &format!("next {next}, {next_s}, {next_fuel}\n}}\n");
        self.ints.truncate(scope);
        self.ints.extend([result, second]);
    }
}

/// Checks claims about random programs on integers.
fn check_programs(seeds: std::ops::Range<u64>, rows: usize) -> usize {
    let mut checks = 0;
    for seed in seeds {
        let function = Writer::program(seed);
        let mut random = Random::new(seed);
        let mut integer = || match random.below(6) {
            0 => random::word(&mut random, Type::I32),
            1 => i32::MAX as u32 - random.below(3) as u32,
            _ => (random.below(30) as i32 - 6) as u32,
        };
        let rows: Vec<_> = (0..rows).map(|_| (0..3).map(|_| integer()).collect()).collect();
        checks += check(&function, None, &rows, &format!("seed {seed}"));
    }
    checks
}

/// Checks claims about random functions of all types, with static bounds of all values.
fn check_functions(seeds: std::ops::Range<u64>) -> usize {
    let mut checks = 0;
    for seed in seeds {
        let function = random::function(seed, &random::Options::any(seed, false));
        let rows = random::rows(&function.inputs, 4, seed);
        let inputs: Vec<_> = (0..function.inputs.len())
            .map(|k| {
                let ty = function.inputs[k].ty;
                let words = rows.iter().map(|row| Bounds::constant(ty, row[k]));
                let bounds = words.reduce(|a, b| a.join(&b)).unwrap();
                match bounds {
                    Bounds::Float(floats) if !floats.pieces.is_empty() => {
                        Bounds::Float(floats.join(&Floats::between(floats.low(), floats.high())))
                    }
                    _ => bounds,
                }
            })
            .collect();
        let scalars = vec![false; function.len()];
        let bounds =
            solve::run(&function, &scalars, &inputs, Nan::Suppress, solve::Facts::default());
        checks += check(&function, Some(&bounds), &rows, &format!("seed {seed}"));
    }
    checks
}

#[test]
fn claims_hold_for_runs_of_random_programs() {
    let checks = check_programs(0..600, 16) + check_functions(0..150);
    assert!(checks >= 1_000_000, "{checks}");
}

#[test]
#[ignore = "takes minutes: cargo test -p lightbound-shader --lib symbolic -- --ignored"]
fn claims_hold_for_runs_of_many_random_programs() {
    let mut checks = 0;
    for part in 1.. {
        let start = part * 1_000_000;
        checks += check_programs(start..start + 2000, 40) + check_functions(start..start + 300);
        if checks >= 100_000_000 {
            break;
        }
    }
    println!("{checks} checks");
}

/// Numbers of ranges that single queries compute, as in Tables 3 and 4.
#[derive(Default)]
struct Cost {
    queries: usize,
    sum: Counts,
    max: Counts,
    /// Number of values in the backward slices, with those that controlling conditions compare.
    slice: usize,
    cold: Duration,
    warm: Duration,
}

impl Cost {
    fn add(&mut self, counts: Counts, cold: Duration) {
        let add = |sum: &mut usize, max: &mut usize, count: usize| {
            *sum += count;
            *max = count.max(*max);
        };
        self.queries += 1;
        self.cold += cold;
        add(&mut self.sum.control, &mut self.max.control, counts.control);
        add(&mut self.sum.data, &mut self.max.data, counts.data);
        add(&mut self.sum.poisoned, &mut self.max.poisoned, counts.poisoned);
    }

    /// The ranges computed per value of the slices.
    fn per_slice(&self) -> f64 {
        (self.sum.data + self.sum.poisoned) as f64 / self.slice as f64
    }

    /// Nanoseconds per range of a cold query.
    fn per_range(&self) -> f64 {
        let ranges = self.sum.control + self.sum.data + self.sum.poisoned;
        self.cold.as_nanos() as f64 / ranges.max(1) as f64
    }
}

impl Ranges<'_> {
    /// Drops all ranges that have been computed.
    fn clear(&mut self) {
        self.nodes.clear();
        self.node_of.fill(data::NONE);
        self.facts.clear();
        self.controls.clear();
        self.trips.fill(TripCount::Unknown);
        self.work = MIN_WORK + WORK_PER_VALUE * self.function.len();
        self.counts = Counts::default();
        self.computed.clear();
    }

    /// The number of values in the backward slice of a value, without constants and inputs.
    fn slice(&mut self, value: Value) -> usize {
        let mut seen = rustc_hash::FxHashSet::default();
        let mut work = vec![value];
        while let Some(value) = work.pop() {
            let is_leaf = matches!(self.function.def(value), Def::Const(_) | Def::Input(_));
            if !is_leaf && seen.insert(value) {
                self.add_children(value, &mut work);
            }
        }
        seen.len()
    }
}

/// Costs of cold queries for each control range and each data range of a function.
fn add_costs(function: &Function, [control, data]: [&mut Cost; 2]) {
    let mut ranges = Ranges::new(function);
    for user in (0..function.len()).map(|k| Value(k as u32)) {
        let Some((_, args)) = function.operation(user) else { continue };
        let at = ranges.region_of(user);
        for &value in args.iter().filter(|&&arg| function.constant(arg).is_none()) {
            ranges.clear();
            let start = Instant::now();
            ranges.control(at, value);
            control.add(ranges.counts, start.elapsed());
        }
        if function.ty(user) == Type::Bool {
            continue;
        }
        ranges.clear();
        data.slice += ranges.slice(user);
        ranges.facts.clear();
        let start = Instant::now();
        ranges.data(user);
        data.add(ranges.counts, start.elapsed());
        let _ = ranges.range_of(user, at);
        let start = Instant::now();
        let _ = std::hint::black_box(ranges.range_of(user, at));
        data.warm += start.elapsed();
    }
}

#[test]
fn cold_queries_compute_little_more_than_their_slice() {
    let (mut control, mut data) = (Cost::default(), Cost::default());
    for seed in 0..60 {
        add_costs(&Writer::program(seed), [&mut control, &mut data]);
    }
    assert!(data.queries > 1000 && data.per_slice() <= 1.1, "{}", data.per_slice());
}

#[test]
#[ignore = "prints a table: cargo test --release -p lightbound-shader --lib symbolic::tests::costs -- --ignored --nocapture"]
fn costs_of_queries() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../assets/shaders");
    let mut codes: Vec<(String, Vec<Function>)> = vec![];
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let shader = Shader::parse(&name, &std::fs::read_to_string(&path).unwrap()).unwrap();
        let integrand = Integrand::new(&shader, &Settings::default(), Frame::Local).unwrap();
        codes.push((name, vec![integrand.point]));
    }
    codes.sort_by(|a, b| a.0.cmp(&b.0));
    codes.push(("random integer programs".to_owned(), (0..300).map(Writer::program).collect()));
    println!(
        "| code | control queries | avg | max | data queries | control avg | max | data avg | max \
         | poisoned avg | max | per slice | cold ns per range | warm ns |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    for (name, functions) in &codes {
        let (mut control, mut data) = (Cost::default(), Cost::default());
        functions.iter().for_each(|function| add_costs(function, [&mut control, &mut data]));
        let average = |sum: usize, queries: usize| sum as f64 / queries.max(1) as f64;
        println!(
            "| {name} | {} | {:.1} | {} | {} | {:.1} | {} | {:.1} | {} | {:.2} | {} | {:.2} | {:.0} | {:.0} |",
            control.queries,
            average(control.sum.control, control.queries),
            control.max.control,
            data.queries,
            average(data.sum.control, data.queries),
            data.max.control,
            average(data.sum.data, data.queries),
            data.max.data,
            average(data.sum.poisoned, data.queries),
            data.max.poisoned,
            data.per_slice(),
            data.per_range(),
            data.warm.as_nanos() as f64 / data.queries.max(1) as f64,
        );
    }
}

fn value(function: &Function, text: &str) -> Value {
    let index = (0..function.len()).find(|&k| name(function, Value(k as u32)) == text);
    Value(index.expect("the value exists") as u32)
}

/// A range as text: constant bounds, then expressions of other values that bound the value.
fn describe(function: &Function, range: &SymbolicRange) -> String {
    let side = |bounds: [Option<Linear>; 2]| {
        let bounds = bounds.iter().flatten().filter(|bound| !bound.is_constant());
        let text: Vec<_> = bounds.map(|bound| bound.display(function)).collect();
        text.join(", ")
    };
    let (lower, upper) = (side(range.lower), side(range.upper));
    format!("[{}, {}] [{lower} : {upper}]", range.number.lo, range.number.hi)
}

/// Figure 9: `i1 = n; repeat { i2 = φ(i1, i4); i3 = i2 / 2; if p: i4 = i3, else i4 = i2 } while
/// i4 ≥ 2`, for n ≥ 2. The published ranges are i2 = [2 : n], i3 = [i2/2 : i2/2], i4 = [1 : n].
#[test]
fn ranges_of_figure_9_match() {
    // i2 is %3, i3 is %4, i4 is %5.
    let text = "fn f(n: i32, p: bool) -> (r: i32) {
        %0 = slt n, 2
        %1 = if %0 { yield 0 } else {
            %2 = loop (%3: i32 = n) {
                %4 = sdiv %3, 2
                %5 = if p { yield %4 } else { yield %3 }
                %6 = slt %5, 2
                %7 = bnot %6
                while %7 else %5
                next %5
            }
            yield %2
        }
        return %1
    }";
    let function = parse(text).unwrap();
    let mut ranges = Ranges::new(&function);
    let mut of = |text: &str| {
        let value = value(&function, text);
        let at = ranges.region_of(value);
        let range = ranges.range_of(value, at);
        describe(&function, &range)
    };
    assert_eq!(of("%5"), "[1, 2147483647] [ : n]");
    assert_eq!(of("%3"), "[2, 2147483647] [ : n]");
    assert_eq!(of("%4"), "[1, 1073741823] [(%3 - 1) / 2 : %3 / 2]");
    // After the loop, i4 is below 2.
    assert_eq!(of("%2"), "[1, 1] [ : n]");
    let rows: Vec<_> = (0..40).map(|n| vec![n, !0]).collect();
    assert!(check(&function, None, &rows, "figure 9") > 1000);
}

/// x is not at most x/2 for x = 1, although it is at most x/2 rounded up.
#[test]
fn fractions_are_not_rounded_where_bounds_are_compared() {
    let text = "fn f(n: i32) -> (r: i32) {
        %0 = lshr 23, 4
        %1 = slt n, 2
        %2 = if %1 { %3 = ashr %0, 1 yield %3 } else { yield %0 }
        %4 = and n, 1
        %5 = if %1 { %6 = ashr %4, 1 yield %6 } else { yield %4 }
        %7 = iadd %2, %5
        return %7
    }";
    let function = parse(text).unwrap();
    let rows: Vec<_> = (0..8).map(|n| vec![n]).collect();
    check(&function, None, &rows, "fractions");
}

/// The example of the introduction: x y − 1 > −y for x in [y : 10] and y in [1 : ∞].
#[test]
fn comparison_of_the_introduction_is_decided() {
    let text = "fn f(x: i32, y: i32) -> (r: bool) {
        %0 = slt x, y %1 = slt 10, x %2 = slt y, 1
        %3 = bor %0, %1 %4 = bor %3, %2
        %5 = if %4 { yield false } else {
            %6 = imul x, y
            %7 = iadd %6, -1
            %8 = isub 0, y
            %9 = slt %8, %7
            yield %9
        }
        return %5
    }";
    let function = parse(text).unwrap();
    let mut ranges = Ranges::new(&function);
    let [a, b] = ["%7", "%8"].map(|text| value(&function, text));
    let at = ranges.region_of(a);
    assert!(ranges.compare(a, b, at).is_greater);
    let x = value(&function, "x");
    let range = ranges.range_of(x, at);
    assert_eq!(describe(&function, &range), "[-2147483648, 10] [y : ]");
}

/// `if (v ≥ a)`: the control range of v is [a : ∞] (§3.1). A product as the limit (§7).
#[test]
fn conditions_imply_control_ranges() {
    let text = "fn f(v: i32, a: i32, b: i32, c: i32) -> (r: i32) {
        %0 = slt v, a
        %1 = if %0 { yield 0 } else {
            %2 = iadd v, 5
            yield %2
        }
        %3 = and b, 255 %4 = and c, 255 %5 = imul %3, %4
        %6 = slt v, %5
        %7 = if %6 { %8 = iadd v, 1 yield %8 } else { yield 0 }
        %9 = iadd %1, %7
        return %9
    }";
    let function = parse(text).unwrap();
    let mut ranges = Ranges::new(&function);
    let v = value(&function, "v");
    let mut at = |text: &str| {
        let region = ranges.region_of(value(&function, text));
        let range = ranges.range_of(v, region);
        describe(&function, &range)
    };
    assert_eq!(at("%2"), "[-2147483648, 2147483647] [a : ]");
    assert_eq!(at("%8"), "[-2147483648, 65024] [ : %3*%4 - 1]");
}

/// Ranges like x = [1 : x + 1], which mention the value itself, do not arise (§4.3).
#[test]
fn no_range_mentions_its_own_value() {
    for seed in 0..300 {
        let function = Writer::program(seed);
        let mut ranges = Ranges::new(&function);
        for k in (0..function.len()).map(|k| Value(k as u32)) {
            if function.ty(k) == Type::I32 {
                let data = ranges.data(k);
                let mut mentioned = data.lower.iter().chain(&data.upper).flat_map(Linear::values);
                assert!(mentioned.all(|other| other != k), "seed {seed}: {k:?}");
            }
        }
    }
}

#[test]
fn sums_that_may_wrap_around_have_no_expression() {
    let text = "fn f(n: i32) -> (r: i32) {
        %0 = iadd n, 1
        %1 = slt n, 100
        %2 = if %1 { %3 = iadd n, 2 yield %3 } else { yield %0 }
        return %2
    }";
    let function = parse(text).unwrap();
    let mut ranges = Ranges::new(&function);
    let mut is_greater = |text: &str| {
        let sum = value(&function, text);
        let at = ranges.region_of(sum);
        ranges.compare(sum, value(&function, "n"), at).is_greater
    };
    assert_eq!([is_greater("%0"), is_greater("%3")], [false, true]);
}

#[test]
fn trip_counts_are_differences_of_values() {
    // n + 8 may be large, but the loop runs eight times.
    let text = "fn f(n: i32) -> (r: i32) {
        %0 = and n, 16777215
        %1 = iadd %0, 8
        %2 = loop (%3: i32 = %0, %4: i32 = 0) {
            %5 = slt %3, %1
            while %5 else %4
            %6 = iadd %3, 1
            %7 = iadd %4, 1
            next %6, %7
        }
        return %2
    }";
    let function = parse(text).unwrap();
    let mut ranges = Ranges::new(&function);
    let k = value(&function, "%4");
    let at = ranges.region_of(k);
    assert_eq!(ranges.number(k, at), Range::new(0, 8));
}
