//! The search for inputs for which an operation fails.

use super::check::{fault, margin, possible_fault};
use super::domain::{Domain, Extent, Region};
use super::slice::{Site, Slice};
use super::split::{Analysis, Proof};
use super::{FaultKind, Outcome, Place, Witness, WitnessInput};
use crate::analysis::Constraint;
use crate::interpreter;
use crate::ir::{Def, Function, Op, Stmt, Table, Value};
use crate::random::Random;

/// Maximum number of iterations of loops while a function is searched: inputs that take more are
/// skipped.
const MAX_ITERATIONS: u64 = 1024;

/// Maximum number of iterations of loops of the point shader that confirms a witness.
const MAX_CONFIRMED_ITERATIONS: u64 = 1 << 14;

/// Number of random inputs.
const RANDOM_ROWS: usize = 256;

/// Work for all proofs of a function, in bounds of operations.
const PROOF_WORK: usize = 800_000;

/// Maximum work for a proof.
const MAX_PROOF_WORK: usize = 150_000;

/// Work for a proof about an operation that depends on one that is not decided. Such proofs rarely
/// succeed.
const FOLLOWING_PROOF_WORK: usize = 2_000;

/// Rounds of the search that moves towards a fault.
const DESCENT_ROUNDS: usize = 6;

/// Number of operations that affect a result after which the search stops.
const MAX_AFFECTING: usize = 20;

/// Steps of a bisection.
const BISECTION_STEPS: usize = 64;

/// Number of other values that are tried to find out whether an input matters.
const ALTERNATIVES: usize = 4;

/// The search in a function.
pub(super) struct Search<'a> {
    function: &'a Function,
    /// The point shader.
    point: &'a Function,
    domain: &'a Domain,
    /// What is known of the values of the function.
    constraints: Vec<Constraint>,
    random: Random,
}

/// What the search found.
#[derive(Default)]
pub(super) struct Findings {
    pub faults: Vec<FoundFault>,
    /// Whether it stopped after many faults that affect a result.
    pub truncated: bool,
}

/// A fault, or an operation for which none could be excluded.
pub(super) struct FoundFault {
    /// Index of the place.
    pub place: usize,
    /// The operation.
    pub site: Value,
    pub kind: FaultKind,
    pub outcome: Outcome,
}

/// Inputs that make an operation fail.
#[derive(Clone, Debug)]
struct Found {
    row: Vec<u32>,
    kind: FaultKind,
    result: Option<(String, f32)>,
}

/// What the search knows about a site.
#[derive(Clone, Debug, Default)]
struct State {
    /// Inputs for which it fails.
    witness: Option<(Vec<u32>, FaultKind)>,
    /// The inputs closest to a fault, on either side.
    closest: [Option<(f64, Vec<u32>)>; 2],
}

impl State {
    fn note(&mut self, row: &[u32], kind: Option<FaultKind>, margin: f64) {
        if let (Some(kind), None) = (kind, &self.witness) {
            self.witness = Some((row.to_vec(), kind));
        }
        let closest = &mut self.closest[usize::from(margin < 0.0)];
        if closest.as_ref().is_none_or(|(least, _)| margin.abs() < *least) {
            *closest = Some((margin.abs(), row.to_vec()));
        }
    }
}

impl<'a> Search<'a> {
    pub fn new(function: &'a Function, point: &'a Function, domain: &'a Domain) -> Search<'a> {
        Search { function, point, domain, constraints: vec![], random: Random::new(0x6661_756c) }
    }

    /// Checks all places. Returns the faults of those that are not proved.
    pub fn run(&mut self, places: &[Place]) -> Findings {
        // Sites that bounds of the whole domain do not exclude.
        let analysis = Analysis::new(self.function, self.domain);
        self.constraints = analysis.constraints().to_vec();
        let bounds: Vec<_> =
            self.domain.regions.iter().map(|region| analysis.bounds(region)).collect();
        let is_open = |site: &&Site| {
            bounds.iter().any(|bounds| possible_fault(self.function, site, bounds).is_some())
        };
        let open: Vec<(usize, &Site)> = places
            .iter()
            .enumerate()
            .flat_map(|(place, group)| group.sites.iter().map(move |site| (place, site)))
            .filter(|(_, site)| is_open(site))
            .collect();
        if open.is_empty() {
            return Findings::default();
        }
        let sites: Vec<Value> = open.iter().map(|(_, site)| site.value).collect();
        let mut states = vec![State::default(); open.len()];
        for row in self.rows() {
            observe(self.function, self.domain, &sites, &row, |k, kind, margin| {
                states[k].note(&row, kind, margin);
            });
        }
        let mut results = Findings::default();
        let (mut unproved, mut affecting) = (Vec::<Value>::new(), 0);
        let mut work = PROOF_WORK;
        for ((place, site), state) in std::iter::zip(open, states) {
            let known = results.faults.iter_mut().find(|fault| fault.place == place);
            if let Some(known) = &known
                && let Outcome::Happens(Witness { result: Some(_), .. }) = known.outcome
            {
                unproved.push(site.value);
                continue;
            }
            if affecting >= MAX_AFFECTING {
                results.truncated = true;
                break;
            }
            let slice = Slice::new(self.function, site);
            let follows = unproved.iter().any(|value| slice.copies[value.index()].is_some());
            let share = if follows { FOLLOWING_PROOF_WORK } else { work.min(MAX_PROOF_WORK) };
            let mut left = share;
            let decided = self.decide(site, &slice, state, follows, &mut left);
            if !follows {
                work -= share - left;
            }
            let Some((kind, witness)) = decided else { continue };
            unproved.push(site.value);
            let affects = |witness: &Witness| witness.result.is_some();
            affecting += usize::from(witness.as_ref().is_some_and(affects));
            let outcome = match witness {
                Some(witness) => Outcome::Happens(witness),
                None => Outcome::Unknown { follows },
            };
            let fault = FoundFault { place, site: site.value, kind, outcome };
            match known {
                None => results.faults.push(fault),
                Some(known) if fault.outcome.rank() > known.outcome.rank() => *known = fault,
                Some(_) => {}
            }
        }
        results
    }

    /// Decides whether a site fails. `None` if it is proved that it does not. Less is tried if it
    /// follows from other sites.
    fn decide(
        &mut self,
        site: &Site,
        slice: &Slice,
        mut state: State,
        follows: bool,
        work: &mut usize,
    ) -> Option<(FaultKind, Option<Witness>)> {
        if state.witness.is_none() && !follows {
            self.descend(slice, &mut state);
        }
        if state.witness.is_none() {
            let analysis = Analysis::of_slice(slice, &self.constraints, self.domain);
            let sites = [slice.site.value];
            let proof = analysis.prove(&slice.site, &slice.inputs, work, |region| {
                for row in rows_of(self.domain, region) {
                    observe(&slice.function, self.domain, &sites, &row, |_, kind, margin| {
                        state.note(&row, kind, margin);
                    });
                }
                state.witness.is_some()
            });
            match proof {
                Proof::Excluded => return None,
                Proof::Undecided(kind) => {
                    if state.witness.is_none() && !follows {
                        self.descend(slice, &mut state);
                    }
                    if state.witness.is_none() {
                        return Some((kind, None));
                    }
                }
            }
        }
        let (row, kind) = state.witness.expect("a witness was found");
        let Some(found) = self.confirm(site, row) else { return Some((kind, None)) };
        let found = self.simplify(site, found);
        Some((found.kind, Some(self.witness(site, found))))
    }

    /// Runs the functions for inputs of a witness. `None` if the site does not fail, or if loops run
    /// for long.
    fn confirm(&self, site: &Site, row: Vec<u32>) -> Option<Found> {
        let mut found = None;
        let note = |_, kind, _| found = found.or(kind);
        observe(self.function, self.domain, &[site.value], &row, note);
        let kind = found?;
        let run = |tables: &[Table<'_>], inputs: &[u32]| {
            interpreter::run(self.point, tables, inputs, MAX_CONFIRMED_ITERATIONS)
        };
        let outputs = self.domain.with_row(&row, run).ok()?;
        let is_bad = |(port, &word): (&crate::ir::Port, &u32)| {
            let x = f32::from_bits(word);
            (port.ty == crate::ir::Type::F32 && !x.is_finite()).then(|| (port.name.clone(), x))
        };
        let result = std::iter::zip(&self.point.outputs, &outputs).find_map(is_bad);
        Some(Found { row, kind, result })
    }

    /// Whether a site fails for these inputs as it does for others.
    fn fails_alike(&self, site: &Site, row: &[u32], like: &Found) -> Option<Found> {
        let found = self.confirm(site, row.to_vec())?;
        (found.kind == like.kind && found.result.is_some() == like.result.is_some())
            .then_some(found)
    }

    /// Replaces inputs by defaults, or by simple values, where the site fails as well.
    fn simplify(&self, site: &Site, mut found: Found) -> Found {
        for group in &self.domain.groups {
            let others = std::iter::once(&group.default).chain(&group.special);
            for value in others {
                if found.row[group.inputs.clone()] == value[..] {
                    break;
                }
                let mut row = found.row.clone();
                row[group.inputs.clone()].copy_from_slice(value);
                if let Some(simpler) = self.fails_alike(site, &row, &found) {
                    found = simpler;
                    break;
                }
            }
        }
        found
    }

    /// The inputs that matter.
    fn witness(&mut self, site: &Site, found: Found) -> Witness {
        let mut inputs = Vec::new();
        for group in &self.domain.groups {
            let random = (0..ALTERNATIVES)
                .map(|_| self.domain.random(&mut self.random)[group.inputs.clone()].to_vec());
            let mut others: Vec<Vec<u32>> = random.collect();
            others.push(group.default.clone());
            others.extend(group.special.iter().cloned());
            let matters = others.iter().any(|other| {
                let mut row = found.row.clone();
                row[group.inputs.clone()].copy_from_slice(other);
                self.fails_alike(site, &row, &found).is_none()
            });
            if matters {
                inputs.push(WitnessInput {
                    name: group.name.clone(),
                    scalar: group.scalar,
                    words: found.row[group.inputs.clone()].to_vec(),
                });
            }
        }
        Witness { inputs, result: found.result }
    }

    /// The first inputs to try: special values, their combinations, and random ones.
    fn rows(&mut self) -> Vec<Vec<u32>> {
        let domain = self.domain;
        let default = domain.default_row();
        let mut rows = vec![default.clone()];
        let with = |row: &[u32], index: usize, value: &[u32]| {
            let mut row = row.to_vec();
            row[domain.groups[index].inputs.clone()].copy_from_slice(value);
            row
        };
        // One group, or two directions, with the others at their defaults.
        let (directions, parameters): (Vec<usize>, Vec<usize>) =
            (0..domain.groups.len()).partition(|&k| domain.groups[k].is_direction);
        for (index, group) in domain.groups.iter().enumerate() {
            rows.extend(group.special.iter().map(|value| with(&default, index, value)));
        }
        let mut pairs = vec![];
        if let [first, second, ..] = directions[..] {
            for a in &domain.groups[first].special {
                for b in &domain.groups[second].special {
                    pairs.push(with(&with(&default, first, a), second, b));
                }
            }
        }
        rows.extend(pairs.iter().cloned());
        // All parameters at one end of their ranges.
        for end in 0..2 {
            let extreme = parameters.iter().fold(default.clone(), |row, &k| {
                match domain.groups[k].special.get(end) {
                    Some(value) => with(&row, k, value),
                    None => row,
                }
            });
            rows.push(extreme);
        }
        // Random directions with special parameters, and random everything.
        for k in 0..RANDOM_ROWS {
            let mut row = domain.random(&mut self.random);
            if k % 2 == 0 {
                for &index in &parameters {
                    let group = &domain.groups[index];
                    let value = match group.special.is_empty() || self.random.once_in(2) {
                        true => &group.default,
                        false => self.random.pick(&group.special),
                    };
                    row = with(&row, index, value);
                }
            }
            if let ([first, second, ..], 0) = (&directions[..], k % 8) {
                // Equal, mirrored or opposite directions.
                let from = domain.groups[*first].inputs.clone();
                let signs = *self.random.pick(&[[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0]]);
                let vector: Vec<u32> = row[from]
                    .iter()
                    .zip([signs[0], signs[0], signs[1]])
                    .map(|(&word, sign)| (f32::from_bits(word) * sign).to_bits())
                    .collect();
                row = with(&row, *second, &vector);
                domain.normalize(&mut row);
            }
            rows.push(row);
        }
        rows
    }

    /// Moves the closest inputs towards a fault: by bisection, if the margin changes its sign, then
    /// to where inputs that are compared or subtracted are nearly equal, then input by input.
    fn descend(&self, slice: &Slice, state: &mut State) {
        let sites = [slice.site.value];
        let note = |state: &mut State, row: &[u32]| {
            let mut seen = None;
            observe(&slice.function, self.domain, &sites, row, |_, kind, margin| {
                state.note(row, kind, margin);
                seen = Some(margin);
            });
            seen
        };
        if let [Some((_, above)), Some((_, below))] = &state.closest {
            let (mut above, mut below) = (above.clone(), below.clone());
            for _ in 0..BISECTION_STEPS {
                let middle = self.between(&above, &below, 0.5);
                if middle == above || middle == below {
                    break;
                }
                match note(state, &middle) {
                    Some(margin) if margin < 0.0 => below = middle,
                    Some(_) => above = middle,
                    None => break,
                }
                if state.witness.is_some() {
                    return;
                }
            }
        }
        let closest: Vec<_> = state.closest.iter().flatten().map(|(_, row)| row.clone()).collect();
        for row in closest {
            for other in self.rows_of_near_equality(&slice.function, &row) {
                note(state, &other);
                if state.witness.is_some() {
                    return;
                }
            }
        }
        let mut step = 0.25;
        for _ in 0..DESCENT_ROUNDS {
            for group in &self.domain.groups {
                let matters = |word| match self.domain.is_texel(word) {
                    true => slice.function.tables() > 0,
                    false => slice.inputs.contains(&word),
                };
                if !group.inputs.clone().any(matters) {
                    continue;
                }
                let closest = state.closest.iter().flatten();
                let Some((_, row)) = closest.min_by(|a, b| a.0.total_cmp(&b.0)) else { return };
                let row = row.clone();
                for value in &group.special {
                    let mut other = row.clone();
                    other[group.inputs.clone()].copy_from_slice(value);
                    note(state, &other);
                }
                for input in group.inputs.clone() {
                    for sign in [-1.0, 1.0] {
                        let mut other = row.clone();
                        other[input] = self.moved(input, row[input], sign * step);
                        self.domain.normalize(&mut other);
                        note(state, &other);
                    }
                }
                if state.witness.is_some() {
                    return;
                }
            }
            step *= 0.25;
        }
    }

    /// A row with other values of two inputs that the function compares or subtracts: equal or
    /// adjacent ones, also at 0, where their difference is least. One of them may be a constant.
    fn rows_of_near_equality(&self, function: &Function, row: &[u32]) -> Vec<Vec<u32>> {
        use Op::{Eq, IEq, ISub, Le, Lt, SLt, Smoothstep, Sub, ULt};
        let input = |value: Value| match function.def(value) {
            Def::Input(input) => Some(input as usize),
            _ => None,
        };
        let mut rows = vec![];
        crate::ir::function::for_each_stmt(&function.body, &mut |stmt| {
            let Stmt::Op(value) = stmt else { return };
            let (op, operands) = function.operation(*value).expect("statements define operations");
            if !matches!(op, Eq | IEq | ISub | Le | Lt | SLt | Smoothstep | Sub | ULt) {
                return;
            }
            for [x, y] in [[operands[0], operands[1]], [operands[1], operands[0]]] {
                let Some(x) = input(x) else { continue };
                let bases = match (input(y), function.constant(y)) {
                    (Some(y), _) => vec![row[y], 0],
                    (None, Some(word)) => vec![word],
                    (None, None) => continue,
                };
                for base in bases {
                    for neighbour in self.neighbours(x, base) {
                        let mut other = row.to_vec();
                        other[x] = neighbour;
                        if let Some(y) = input(y) {
                            other[y] = self.domain.regions[0][y].clamp(base);
                        }
                        self.domain.normalize(&mut other);
                        rows.push(other);
                    }
                }
            }
        });
        rows
    }

    /// Values of an input: a number, and those just below and above, limited to its extent.
    fn neighbours(&self, input: usize, word: u32) -> [u32; 3] {
        let extent = self.domain.regions[0][input];
        let neighbours = match extent {
            Extent::Float(_) => {
                let x = f32::from_bits(word);
                [x, x.next_down(), x.next_up()].map(f32::to_bits)
            }
            Extent::Int(_) => [word, word.wrapping_sub(1), word.wrapping_add(1)],
            Extent::Bool(_) => [word; 3],
        };
        neighbours.map(|word| extent.clamp(word))
    }

    /// An input moved by a fraction of its extent.
    fn moved(&self, input: usize, word: u32, fraction: f64) -> u32 {
        let extent = self.domain.regions[0][input];
        match extent {
            Extent::Float([low, high]) => {
                let step = fraction * (f64::from(high) - f64::from(low));
                extent.clamp(((f64::from(f32::from_bits(word)) + step) as f32).to_bits())
            }
            Extent::Int([low, high]) => {
                let step = (fraction * (high - low) as f64).round() as i64;
                let x = if low < 0 { i64::from(word as i32) } else { i64::from(word) };
                (x + step).clamp(low, high) as u32
            }
            Extent::Bool(_) => !word,
        }
    }

    /// Inputs between two others.
    fn between(&self, a: &[u32], b: &[u32], t: f64) -> Vec<u32> {
        let extents = &self.domain.regions[0];
        let mix = |k: usize| match extents[k] {
            Extent::Float(_) => {
                let [x, y] = [a[k], b[k]].map(|word| f64::from(f32::from_bits(word)));
                ((x + t * (y - x)) as f32).to_bits()
            }
            Extent::Int(_) => a[k].wrapping_add((b[k].wrapping_sub(a[k]) as i32 / 2) as u32),
            Extent::Bool(_) => a[k],
        };
        let mut row: Vec<u32> = (0..a.len()).map(mix).collect();
        self.domain.normalize(&mut row);
        row
    }
}

/// Inputs of a box: its center, and corners.
fn rows_of(domain: &Domain, region: &Region) -> Vec<Vec<u32>> {
    let corner = |bits: usize| move |input: usize| f64::from(bits >> (input % 3) & 1 == 1);
    let mut rows = vec![domain.point(region, |_| 0.5)];
    rows.extend([0, 7].map(|bits| domain.point(region, corner(bits))));
    rows
}

/// Runs a function. Calls `visit` with the index, the fault and the margin of each of `sites` that
/// runs. Inputs for which loops run for long are skipped.
fn observe(
    function: &Function,
    domain: &Domain,
    sites: &[Value],
    row: &[u32],
    mut visit: impl FnMut(usize, Option<FaultKind>, f64),
) {
    let mut words: Vec<u32> = function
        .values
        .iter()
        .map(|data| match data.def {
            Def::Input(index) => row[index as usize],
            Def::Const(bits) => bits,
            _ => 0,
        })
        .collect();
    let mut index_of = vec![usize::MAX; function.len()];
    for (index, site) in sites.iter().enumerate() {
        index_of[site.index()] = index;
    }
    let watch = |value: Value, word: u32| {
        words[value.index()] = word;
        let index = index_of[value.index()];
        if index == usize::MAX {
            return;
        }
        let (op, args): (Op, &[Value]) = function.operation(value).expect("sites are operations");
        let mut operands = [0; 3];
        for (operand, arg) in operands.iter_mut().zip(args) {
            *operand = words[arg.index()];
        }
        let operands = &operands[..args.len()];
        visit(index, fault(op, operands, word), margin(op, operands, word));
    };
    // Some sites ran before the limit was reached, and their faults count.
    let _ = domain.with_row(row, |tables, inputs| {
        interpreter::watch(function, tables, inputs, MAX_ITERATIONS, watch)
    });
}
