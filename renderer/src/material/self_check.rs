//! Is a shader's scattering a number of the right sign, and do its `sample` and `pdf` agree? A
//! quick look at load, for gross faults; no proof.
//!
//! Values are looked at for random pairs of directions ([`values`]). As to the sampler
//! ([`sampler`]), for a few `wo`, directions are drawn by the shader's sampler (density p), and
//! others from a density q that is made to resemble it: the medians of a first set of samples cut
//! the sphere into cells of equal probability, and within a cell q is uniform. For the right p and
//! any set C of directions
//!
//! ```text
//! ∫ p q/(p + q) over C  =  E_p[1_C q/(p + q)]  =  E_q[1_C p/(p + q)],
//! ```
//!
//! the balance heuristic both ways round (Veach 1997 §9; Meng and Wong 1996 for the identity). With
//! the *claimed* density in the place of p within the brackets, both sides can be estimated, and
//! all that is averaged lies in [0, 1], so that a narrow lobe that a quadrature would miss costs
//! power but never accuracy. The two are compared for all cells of a tree, the whole sphere being
//! the first: they may differ by `TOLERANCE` and `SIGMAS` standard errors. Random numbers are
//! fixed.

use super::{Bound, Instance, Program};
use crate::math::{Vec2, Vec3, vec3};
use crate::sampling::{hash, unit_float};
use crate::texture::Lookup;
use lightbound_shader::{Batch, Kernel, Sides, Texture};
use std::f64::consts::TAU;
use std::fmt;

/// Difference that is let pass, as a part of either side: floats may not be able to tell more of a
/// narrow lobe.
const TOLERANCE: f64 = 0.04;
/// Standard errors that are let pass.
const SIGMAS: f64 = 5.0;
/// Difference of a direction's squared length from 1 that is let pass.
const UNIT: f32 = 1e-3;
/// Halvings of the sphere into the cells of q.
const DEPTH: u32 = 8;
const LEAVES: usize = 1 << DEPTH;
/// Halvings into the smallest cells that are compared, with enough samples in each.
const COMPARED: u32 = 6;
/// Columns and rows of strata of the random numbers: those that the cells are made from, those that
/// are counted, and, within each cell, those of q.
const PILOT: [u32; 2] = [64, 32];
const COUNTED: [u32; 2] = [64, 64];
const WITHIN: [u32; 2] = [4, 4];

/// Where the shader is seen from: cos θ and φ of `wo`; those below are for shaders of both sides.
const VIEWS: [(f32, f32); 4] = [(0.9, 0.7), (0.5, 2.4), (0.2, 4.1), (-0.6, 5.5)];

/// What is wrong with a sampler.
#[derive(Clone, Debug, PartialEq)]
pub struct Disagreement {
    /// Degrees between `wo` and the normal.
    angle: f32,
    fault: Fault,
}

#[derive(Clone, Debug, PartialEq)]
enum Fault {
    /// A sampled direction.
    Length(f32),
    /// Of a sampled direction, or of another one.
    Density { value: f32, sampled: bool },
    /// Shares of a part of the sphere: that of the samples, and the integral of the density.
    Shares { part: Cell, drawn: f64, claimed: f64 },
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.fault {
            Fault::Length(length) => write!(f, "`sample` yields a direction of length {length}")?,
            Fault::Density { value, sampled } => {
                let which = if *sampled { "a direction of `sample`" } else { "a direction" };
                write!(f, "`pdf` of {which} is {value}")?;
            }
            Fault::Shares { part, drawn, claimed } => {
                let (drawn, claimed) = (100.0 * drawn, 100.0 * claimed);
                write!(
                    f,
                    "`sample` draws {drawn:.1} % of its directions {part}, where `pdf` integrates to {claimed:.1} %"
                )?;
            }
        }
        write!(f, ", seen from {:.0}° off the normal", self.angle)
    }
}

/// A rectangle of (1 − cos θ, φ), in which area is solid angle. The first coordinate has all digits
/// near the normal, where lobes are narrow.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cell {
    lo: [f64; 2],
    hi: [f64; 2],
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let degrees = |v: f64| libm::acos((1.0 - v).clamp(-1.0, 1.0)).to_degrees();
        write!(f, "where θ is {:.1}° to {:.1}°", degrees(self.lo[0]), degrees(self.hi[0]))?;
        if self.hi[1] - self.lo[1] < TAU {
            write!(
                f,
                " and φ is {:.0}° to {:.0}°",
                self.lo[1].to_degrees(),
                self.hi[1].to_degrees()
            )?;
        }
        Ok(())
    }
}

impl Cell {
    /// The directions that light may come from.
    fn all(sides: Sides) -> Cell {
        let height = if sides == Sides::Both { 2.0 } else { 1.0 };
        Cell { lo: [0.0; 2], hi: [height, TAU] }
    }

    fn area(&self) -> f64 {
        (self.hi[0] - self.lo[0]) * (self.hi[1] - self.lo[1])
    }

    /// Halved across an axis at `at`, or in the middle where that would leave nothing on a side.
    fn split(self, axis: usize, at: f64) -> (f64, [Cell; 2]) {
        let (lo, hi) = (self.lo[axis], self.hi[axis]);
        let thin = 1e-9 * (hi - lo);
        let at = if at > lo + thin && at < hi - thin { at } else { 0.5 * (lo + hi) };
        let (mut low, mut high) = (self, self);
        low.hi[axis] = at;
        high.lo[axis] = at;
        (at, [low, high])
    }

    fn at(&self, s: Vec2) -> [f64; 2] {
        [0, 1].map(|axis| self.lo[axis] + f64::from(s[axis]) * (self.hi[axis] - self.lo[axis]))
    }
}

/// (1 − cos θ, φ) of a unit direction.
fn coordinates(w: Vec3) -> [f64; 2] {
    let [x, y, z] = w.to_array().map(f64::from);
    let from_pole = (x * x + y * y) / (1.0 + z.abs());
    let phi = libm::atan2(y, x);
    [if z < 0.0 { 2.0 - from_pole } else { from_pole }, if phi < 0.0 { phi + TAU } else { phi }]
}

fn direction([v, phi]: [f64; 2]) -> Vec3 {
    let s = (v * (2.0 - v)).max(0.0).sqrt();
    vec3((s * libm::cos(phi)) as f32, (s * libm::sin(phi)) as f32, (1.0 - v) as f32)
}

/// Numbers in [0, 1)², one in each stratum.
fn strata(seed: u32, [columns, rows]: [u32; 2]) -> impl Iterator<Item = Vec2> {
    (0..columns * rows).map(move |i| {
        let jitter = [0, 1].map(|axis| unit_float(hash(hash(seed, i), axis)));
        let x = ((i % columns) as f32 + jitter[0]) / columns as f32;
        let y = ((i / columns) as f32 + jitter[1]) / rows as f32;
        Vec2::new(x, y).min(Vec2::splat(1.0 - f32::EPSILON))
    })
}

/// The cells of q, as a tree whose levels halve them in turn across either axis.
struct Tree {
    /// Of the inner nodes; the children of k are 2k + 1 and 2k + 2.
    splits: Vec<f64>,
    /// Of all nodes.
    cells: Vec<Cell>,
}

impl Tree {
    /// Halved at the medians of `points`.
    fn new(sides: Sides, points: &mut [[f64; 2]]) -> Tree {
        let mut tree =
            Tree { splits: vec![0.0; LEAVES - 1], cells: vec![Cell::all(sides); 2 * LEAVES - 1] };
        tree.grow(0, 0, points);
        tree
    }

    fn grow(&mut self, node: usize, depth: u32, points: &mut [[f64; 2]]) {
        if depth == DEPTH {
            return;
        }
        let axis = (depth % 2) as usize;
        let by_axis = |a: &[f64; 2], b: &[f64; 2]| a[axis].total_cmp(&b[axis]);
        let cell = self.cells[node];
        let mut middle = points.len() / 2;
        let median = match points.is_empty() {
            true => cell.lo[axis],
            false => points.select_nth_unstable_by(middle, by_axis).1[axis],
        };
        let (at, cells) = cell.split(axis, median);
        if at != median {
            points.sort_unstable_by(by_axis);
            middle = points.partition_point(|point| point[axis] < at);
        }
        self.splits[node] = at;
        let (low, high) = points.split_at_mut(middle);
        for (child, (cell, points)) in (2 * node + 1..).zip(cells.into_iter().zip([low, high])) {
            self.cells[child] = cell;
            self.grow(child, depth + 1, points);
        }
    }

    fn leaf(&self, at: [f64; 2]) -> usize {
        let step = |node: usize, depth: u32| {
            let high = at[(depth % 2) as usize] >= self.splits[node];
            2 * node + 1 + usize::from(high)
        };
        (0..DEPTH).fold(0, step) - (LEAVES - 1)
    }

    fn leaves(&self) -> &[Cell] {
        &self.cells[LEAVES - 1..]
    }
}

/// What is averaged in a cell, over its samples of p and its samples of q.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    /// Share of the samples of p.
    drawn: f64,
    /// Mean of p/q over samples of q, which estimates the integral of p.
    claimed: f64,
    /// Both sides of the identity, p's samples first.
    sides: [f64; 2],
    /// The second moments of what is averaged, each estimated by either kind of samples.
    squares: [[f64; 2]; 2],
    /// Σ of the squared means of q's cells: what stratification takes off the variance.
    stratified: f64,
}

impl Sums {
    fn plus(mut self, other: &Sums) -> Sums {
        self.drawn += other.drawn;
        self.claimed += other.claimed;
        self.stratified += other.stratified;
        for k in 0..2 {
            self.sides[k] += other.sides[k];
            for by in 0..2 {
                self.squares[k][by] += other.squares[k][by];
            }
        }
        self
    }

    /// Squared standard error of the difference of the sides. Second moments are the greater of two
    /// estimates, since one kind of samples may have missed what the other found.
    fn variance(&self) -> f64 {
        let counted = f64::from(COUNTED[0] * COUNTED[1]);
        let within = f64::from(WITHIN[0] * WITHIN[1]);
        let [p, q] = self.squares.map(|[by_p, by_q]| by_p.max(by_q));
        let of_p = (p - self.sides[0] * self.sides[0]).max(0.0) / counted;
        let of_q = (q - self.stratified).max(0.0) / (within * LEAVES as f64);
        of_p + of_q + 4.0 / (counted * counted)
    }

    /// By how many standard errors the sides differ, beyond what is let pass.
    fn excess(&self) -> f64 {
        let [a, b] = self.sides;
        let beyond = (a - b).abs() - 0.5 * TOLERANCE * (a + b);
        beyond.max(0.0) / self.variance().sqrt()
    }
}

/// Pairs of directions that [`values`] looks at.
const PAIRS: u32 = 256;
/// Values down to minus this are let pass: the rounding errors of a difference.
const ROUNDING: f32 = 1e-5;
/// Cosines of the pairs are at least this.
const LEAST_COSINE: f64 = 1e-3;

/// A value that no scattering has.
#[derive(Clone, Debug, PartialEq)]
pub struct BadValue {
    /// Of s, or of the density.
    name: &'static str,
    value: f32,
    wi: Vec3,
    wo: Vec3,
}

impl fmt::Display for BadValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [wi, wo] =
            [self.wi, self.wo].map(|Vec3 { x, y, z }| format!("({x:.4}, {y:.4}, {z:.4})"));
        write!(f, "{} is {} for wi = {wi} and wo = {wo}", self.name, self.value)
    }
}

/// Looks for values of s or its density that are negative or not finite, with an instance's
/// parameters. The greatest s of all.
pub fn values(bound: &Bound, instance: &Instance) -> Result<f32, BadValue> {
    let Cell { lo, mut hi } = Cell::all(bound.program.sides);
    // Neither along the surface, where nothing is ever evaluated, nor so close to it that quotients
    // overflow.
    hi[0] -= LEAST_COSINE;
    let somewhere = |seed: u32, i: u32| {
        let at = Vec2::new(unit_float(hash(hash(seed, i), 0)), unit_float(hash(hash(seed, i), 1)));
        let w = direction(Cell { lo, hi }.at(at));
        if f64::from(w.z.abs()) < LEAST_COSINE { Vec3::Z } else { w }
    };
    let pairs: Vec<[Vec3; 2]> = (0..PAIRS).map(|i| [somewhere(1, i), somewhere(2, i)]).collect();
    let mut checker = Checker::new(bound, instance);
    checker.run_rows(
        &bound.program.evaluate,
        pairs.iter().map(|[wi, wo]| [wi.x, wi.y, wi.z, wo.x, wo.y, wo.z]),
    );
    let mut greatest = 0.0f32;
    for (row, &[wi, wo]) in pairs.iter().enumerate() {
        let found: [f32; 4] = checker.outputs.floats(row, 0);
        for (name, value) in std::iter::zip(["s.r", "s.g", "s.b", "the density"], found) {
            if !(-ROUNDING..f32::INFINITY).contains(&value) {
                return Err(BadValue { name, value, wi, wo });
            }
        }
        greatest = found[..3].iter().fold(greatest, |a, &b| a.max(b));
    }
    Ok(greatest)
}

/// Looks for a disagreement between the sampler of a shader and its density, with an instance's
/// parameters.
pub fn sampler(bound: &Bound, instance: &Instance) -> Result<(), Disagreement> {
    let sides = bound.program.sides;
    let mut checker = Checker::new(bound, instance);
    for (seed, &(z, phi)) in (0..).zip(VIEWS.iter().filter(|&&(z, _)| sides.covers(z))) {
        let r = libm::sqrtf(1.0 - z * z);
        checker.wo = vec3(r * libm::cosf(phi), r * libm::sinf(phi), z);
        checker
            .view(sides, seed)
            .map_err(|fault| Disagreement { angle: libm::acosf(z).to_degrees(), fault })?;
    }
    Ok(())
}

/// A shader that is run for one point.
struct Checker<'a> {
    program: &'a Program,
    textures: Vec<&'a Texture>,
    /// Members of `Material`.
    members: Vec<u32>,
    wo: Vec3,
    inputs: Batch,
    outputs: Batch,
}

impl<'a> Checker<'a> {
    fn new(bound: &'a Bound, instance: &Instance) -> Checker<'a> {
        let program = &*bound.program;
        let textures = bound.textures.iter().map(|texture| &**texture).collect();
        let batch = || Batch::new(program.target(), 0, 0);
        let (inputs, outputs) = (batch(), batch());
        let mut checker =
            Checker { program, textures, members: Vec::new(), wo: Vec3::Z, inputs, outputs };
        let at = Lookup { p: Vec3::ZERO, uv: Vec2::splat(0.5) };
        match &program.setup {
            None => checker.members = instance.words(&at),
            Some(setup) => {
                let mut words = Program::surface_words(at.p, at.p, Vec3::Z, at.uv).to_vec();
                words.extend(instance.words(&at));
                checker.inputs.reshape(words.len(), 1);
                checker.inputs.set_row(0, 0, &words);
                checker.inputs.truncate(1);
                checker.run(setup);
                checker.members =
                    (0..program.members).map(|port| checker.outputs.bits(0, port)).collect();
            }
        }
        checker
    }

    fn run(&mut self, kernel: &Kernel) {
        self.outputs.reshape(kernel.outputs().len(), self.inputs.rows());
        kernel.run(&self.textures, &self.inputs, &mut self.outputs);
    }

    /// Runs a kernel for rows that begin with these words.
    fn run_rows<const N: usize>(&mut self, kernel: &Kernel, rows: impl Iterator<Item = [f32; N]>) {
        let rows: Vec<_> = rows.collect();
        self.inputs.reshape(N + self.members.len(), rows.len());
        for (row, words) in rows.iter().enumerate() {
            self.inputs.set_row(row, 0, &words.map(f32::to_bits));
            self.inputs.set_row(row, N, &self.members);
        }
        self.inputs.truncate(rows.len());
        self.run(kernel);
    }

    /// Samples that are not void, in the cell, and their densities.
    fn draw(
        &mut self,
        strata: impl Iterator<Item = Vec2>,
        all: &Cell,
    ) -> Result<Vec<([f64; 2], f64)>, Fault> {
        let (program, wo) = (self.program, self.wo);
        self.run_rows(&program.scatter, strata.map(|u| [u.x, u.y, wo.x, wo.y, wo.z]));
        let both = program.sides == Sides::Both;
        let mut drawn = Vec::with_capacity(self.outputs.rows());
        for row in 0..self.outputs.rows() {
            let [x, y, z, _, _, _, pdf] = self.outputs.floats(row, 0);
            if pdf == 0.0 || !both && z <= 0.0 {
                continue;
            }
            if !(pdf > 0.0 && pdf < f32::INFINITY) {
                return Err(Fault::Density { value: pdf, sampled: true });
            }
            let w = vec3(x, y, z);
            let off = (w.length_squared() - 1.0).abs();
            if off.is_nan() || off > UNIT {
                return Err(Fault::Length(w.length()));
            }
            let at = coordinates(w);
            if at[0] < all.hi[0] {
                drawn.push((at, f64::from(pdf)));
            }
        }
        Ok(drawn)
    }

    /// Densities of given directions.
    fn densities(&mut self, directions: impl Iterator<Item = Vec3>) -> Result<Vec<f64>, Fault> {
        let (program, wo) = (self.program, self.wo);
        self.run_rows(&program.evaluate, directions.map(|wi| [wi.x, wi.y, wi.z, wo.x, wo.y, wo.z]));
        let density = |row| {
            let [_, _, _, pdf] = self.outputs.floats(row, 0);
            match (0.0..f32::INFINITY).contains(&pdf) {
                true => Ok(f64::from(pdf)),
                false => Err(Fault::Density { value: pdf, sampled: false }),
            }
        };
        (0..self.outputs.rows()).map(density).collect()
    }

    /// Checks the sampler for one `wo`.
    fn view(&mut self, sides: Sides, seed: u32) -> Result<(), Fault> {
        let all = Cell::all(sides);
        let mut pilot: Vec<_> =
            self.draw(strata(3 * seed, PILOT), &all)?.into_iter().map(|(at, _)| at).collect();
        let tree = Tree::new(sides, &mut pilot);
        let share = 1.0 / LEAVES as f64;
        let counted = self.draw(strata(3 * seed + 1, COUNTED), &all)?;
        let weight = 1.0 / f64::from(COUNTED[0] * COUNTED[1]);
        let mut sums = vec![Sums::default(); LEAVES];
        for (at, p) in counted {
            let leaf = tree.leaf(at);
            let q = share / tree.leaves()[leaf].area();
            let (g, sum) = (q / (p + q), &mut sums[leaf]);
            sum.drawn += weight;
            sum.sides[0] += weight * g;
            sum.squares[0][0] += weight * g * g;
            // p h² = p g (1 − g), with h = p/(p + q), and q g² likewise below.
            sum.squares[1][0] += weight * g * (1.0 - g);
        }
        let points = |(k, cell): (u32, &Cell)| {
            strata(hash(3 * seed + 2, k), WITHIN).map(|s| direction(cell.at(s))).collect::<Vec<_>>()
        };
        let densities = self.densities((0..).zip(tree.leaves()).flat_map(points))?;
        let within = densities.len() / LEAVES;
        let weight = share / within as f64;
        for ((sum, cell), densities) in
            sums.iter_mut().zip(tree.leaves()).zip(densities.chunks(within))
        {
            let q = share / cell.area();
            let mut own = 0.0;
            for p in densities {
                let h = p / (p + q);
                sum.claimed += weight * p / q;
                own += weight * h;
                sum.squares[1][1] += weight * h * h;
                sum.squares[0][1] += weight * h * (1.0 - h);
            }
            sum.sides[1] += own;
            sum.stratified += own * own / share;
        }
        compare(&tree, &sums)
    }
}

/// Compares what was drawn with what is claimed, from the whole sphere down to the smallest cells,
/// and those together.
fn compare(tree: &Tree, leaves: &[Sums]) -> Result<(), Fault> {
    let node = |depth: u32, k: usize| {
        let size = LEAVES >> depth;
        leaves[k * size..][..size].iter().fold(Sums::default(), |sum, leaf| sum.plus(leaf))
    };
    let fault = |depth: u32, k: usize, sum: &Sums| {
        let part = tree.cells[(1 << depth) - 1 + k];
        Err(Fault::Shares { part, drawn: sum.drawn, claimed: sum.claimed })
    };
    for depth in 0..=COMPARED {
        let sums: Vec<Sums> = (0..1 << depth).map(|k| node(depth, k)).collect();
        let worst = (0..sums.len())
            .max_by(|&a, &b| sums[a].excess().total_cmp(&sums[b].excess()))
            .expect("there are cells");
        // χ² of all cells of the level, whose mean and variance are known.
        let (statistic, freedom) =
            (sums.iter().map(|sum| sum.excess() * sum.excess()).sum::<f64>(), sums.len() as f64);
        let many = depth == COMPARED && statistic > freedom + SIGMAS * (2.0 * freedom).sqrt();
        if sums[worst].excess() > SIGMAS || many {
            return fault(depth, worst, &sums[worst]);
        }
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::material::{Setting, library};
    use lightbound_shader::{Arena, Parameter, Settings, Shader, Target};
    use std::sync::Arc;

    /// Checks a shader with the parameters that `value` gives.
    fn checked(
        name: &str,
        text: &str,
        value: impl FnMut(&Parameter) -> Vec<f64>,
    ) -> Result<(), Disagreement> {
        let shader = Shader::parse(name, text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let program =
            Program::compile(&Arena::new(), &shader, &Settings::default(), Target::best()).unwrap();
        check_with(&Bound::new(Arc::new(program), vec![]), value)
    }

    fn check_with(
        bound: &Bound,
        value: impl FnMut(&Parameter) -> Vec<f64>,
    ) -> Result<(), Disagreement> {
        sampler(bound, &instance(bound, value))
    }

    fn instance(bound: &Bound, mut value: impl FnMut(&Parameter) -> Vec<f64>) -> Instance {
        Instance::new(0, bound.program.settable.iter().map(|p| (p, Setting::Constant(value(p)))))
    }

    /// Looks at the values of a shader with this body of `brdf`.
    fn valued(head: &str, body: &str) -> Result<f32, BadValue> {
        let text = format!(
            "{head}struct Material {{ kd: f32 }}\nfn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {{ {body} }}"
        );
        let shader =
            Shader::parse("test.wgsl", &text).unwrap_or_else(|error| panic!("{body}: {error}"));
        let program =
            Program::compile(&Arena::new(), &shader, &Settings::default(), Target::best()).unwrap();
        let bound = Bound::new(Arc::new(program), vec![]);
        values(&bound, &instance(&bound, |_| vec![0.5]))
    }

    #[test]
    fn right_values_pass() {
        let greatest = valued("", "return vec3f(m.kd, 0.0, 0.0);").unwrap();
        assert!((0.45..=0.5).contains(&greatest), "{greatest}");
        assert_eq!(valued("", "return vec3f(0.0);"), Ok(0.0));
        // Behind the surface it may be what it will.
        valued("", "return vec3f(sqrt(wi.z) + sqrt(wo.z));").unwrap();
        valued("//! sides: both\n", "return vec3f(select(m.kd, 0.0, wi.z * wo.z > 0.0));").unwrap();
        valued("", "return vec3f((wi.z + 0.1) - wi.z - 0.1);").unwrap();
    }

    #[test]
    fn wrong_values_are_found() {
        for (head, body, name, value) in [
            ("", "return vec3f(m.kd, -1.0, 0.0);", "s.g", "-0."),
            ("", "return vec3f(m.kd, 0.0, sqrt(wi.x));", "s.b", "NaN"),
            ("", "return vec3f(m.kd / (wo.z - wo.z));", "s.r", "inf"),
            ("//! sides: both\n", "return vec3f(wi.z);", "s.r", "-"),
        ] {
            let found = valued(head, body).expect_err(body);
            let message = found.to_string();
            assert!(
                message.starts_with(&format!("{name} is {value}"))
                    && message.contains("for wi = ("),
                "{body}: {message}"
            );
            let lengths = [found.wi, found.wo].map(|w| w.length());
            assert!(lengths.iter().all(|length| (length - 1.0).abs() < 1e-5), "{lengths:?}");
        }
    }

    const COSINE: &str = "
        fn cosine(u: vec2f) -> vec3f {
            let r = sqrt(u.x);
            return vec3f(r * cos(6.2831853 * u.y), r * sin(6.2831853 * u.y), sqrt(1.0 - u.x));
        }
        ";

    /// A shader of no parameters with these bodies of `sample` and `pdf`; `lobe` is about the
    /// mirror direction.
    fn sampled(head: &str, sample: &str, pdf: &str) -> Result<(), Disagreement> {
        let text = format!(
            "{head}struct Material {{\n/// Albedo. default: 0.5\nkd: f32,\n}}
            {COSINE}
            fn lobe(u: vec2f, wo: vec3f) -> vec3f {{
                let c = pow(u.x, 1.0 / 101.0);
                let s = sqrt(1.0 - c * c);
                let n = vec3f(-wo.xy, wo.z);
                let t = normalize(cross(n, vec3f(0.3, 1.0, 0.2)));
                return s * cos(6.2831853 * u.y) * t + s * sin(6.2831853 * u.y) * cross(n, t) + c * n;
            }}
            fn lobe_pdf(wi: vec3f, wo: vec3f) -> f32 {{
                return 101.0 / 6.2831853 * pow(max(dot(wi, vec3f(-wo.xy, wo.z)), 0.0), 100.0);
            }}
            fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {{ return vec3f(m.kd); }}
            fn sample(u: vec2f, wo: vec3f, m: Material) -> vec3f {{ {sample} }}
            fn pdf(wi: vec3f, wo: vec3f, m: Material) -> f32 {{ {pdf} }}"
        );
        checked("test.wgsl", &text, |p| p.default.clone().unwrap())
    }

    const MIXED: &str = "if u.x < 0.5 { return cosine(vec2f(2.0 * u.x, u.y)); } return lobe(vec2f(2.0 * u.x - 1.0, u.y), wo);";

    #[test]
    fn right_samplers_pass() {
        let cosine = "return cosine(u);";
        sampled("", cosine, "return max(wi.z, 0.0) / 3.14159265;").unwrap();
        // What it says below the surface does not count.
        sampled("", cosine, "return wi.z / 3.14159265;").unwrap();
        sampled("", "return lobe(u, wo);", "return lobe_pdf(wi, wo);").unwrap();
        sampled("", MIXED, "return 0.5 * max(wi.z, 0.0) / 3.14159265 + 0.5 * lobe_pdf(wi, wo);")
            .unwrap();
        sampled(
            "//! sides: both\n",
            MIXED,
            "return 0.5 * max(wi.z, 0.0) / 3.14159265 + 0.5 * lobe_pdf(wi, wo);",
        )
        .unwrap();
        // All void.
        sampled("", "return vec3f(0.0);", "return 0.0;").unwrap();
    }

    #[test]
    fn gross_faults_are_found() {
        let cosine = "return cosine(u);";
        let text = |result: Result<(), Disagreement>| result.unwrap_err().to_string();
        for (what, sample, pdf) in [
            ("no cosine", cosine, "return 1.0 / 3.14159265;"),
            ("uniform", cosine, "return 0.5 / 3.14159265;"),
            ("no π", cosine, "return max(wi.z, 0.0);"),
            ("15 % too much", cosine, "return 1.15 * max(wi.z, 0.0) / 3.14159265;"),
            ("10 % too little", "return lobe(u, wo);", "return 0.9 * lobe_pdf(wi, wo);"),
            (
                "more of the lobe",
                MIXED,
                "return 0.4 * max(wi.z, 0.0) / 3.14159265 + 0.6 * lobe_pdf(wi, wo);",
            ),
            (
                "less of the lobe",
                MIXED,
                "return 0.6 * max(wi.z, 0.0) / 3.14159265 + 0.4 * lobe_pdf(wi, wo);",
            ),
            ("no lobe", MIXED, "return max(wi.z, 0.0) / 3.14159265;"),
            ("no samples", "return vec3f(0.0, 0.0, -1.0);", "return max(wi.z, 0.0) / 3.14159265;"),
            (
                "one direction",
                "return vec3f(0.6, 0.0, 0.8);",
                "return max(wi.z, 0.0) / 3.14159265;",
            ),
        ] {
            let Err(found) = sampled("", sample, pdf) else { panic!("{what}: nothing is found") };
            let message = found.to_string();
            assert!(
                message.contains("`sample` draws") && message.contains("integrates to"),
                "{what}: {message}"
            );
        }
        let long =
            text(sampled("", "return 1.01 * cosine(u);", "return max(wi.z, 0.0) / 3.14159265;"));
        assert!(long.contains("of length 1.01"), "{long}");
        let negative = text(sampled("", cosine, "return wi.z - 0.5;"));
        assert!(negative.contains("`pdf` of a direction of `sample` is -0."), "{negative}");
        let nan = text(sampled("", cosine, "return wi.z / 3.14159265 + sqrt(0.4 - wi.x);"));
        assert!(nan.contains("NaN") && nan.ends_with("off the normal"), "{nan}");
        assert!(sampled("//! sides: both\n", cosine, "return abs(wi.z) / 6.2831853;").is_err());
    }

    #[test]
    fn forgotten_jacobians_are_found() {
        let ward = library::find("ward.wgsl").unwrap();
        let shader = Shader::parse(ward.name, ward.text).unwrap();
        assert!(shader.has_sampler());
        let broken = ward.text.replacen("fn pdf(", "fn right_pdf(", 1)
            + "\nfn pdf(wi: vec3f, wo: vec3f, m: Material) -> f32 { return right_pdf(wi, wo, m) * 4.0 * dot(wi, normalize(wi + wo)); }";
        checked("ward.wgsl", ward.text, |p| p.default.clone().unwrap()).unwrap();
        checked("ward.wgsl", &broken, |p| p.default.clone().unwrap()).unwrap_err();
    }

    #[test]
    fn the_library_passes_with_any_parameters() {
        for entry in library::LIBRARY {
            let shader = Shader::parse(entry.name, entry.text).unwrap();
            let program =
                Program::compile(&Arena::new(), &shader, &Settings::default(), Target::best())
                    .unwrap();
            let bound = Bound::new(Arc::new(program), vec![]);
            for seed in 0..ROUNDS {
                let mut set = Vec::new();
                let mut number = 0;
                let instance = instance(&bound, |parameter| {
                    let values = (0..parameter.size)
                        .map(|_| {
                            number += 1;
                            any_value(parameter, hash(hash(seed, 77), number))
                        })
                        .collect::<Vec<_>>();
                    set.push((parameter.name.clone(), values.clone()));
                    values
                });
                values(&bound, &instance)
                    .unwrap_or_else(|found| panic!("{} {set:?}: {found}", entry.name));
                if shader.has_sampler() {
                    sampler(&bound, &instance)
                        .unwrap_or_else(|found| panic!("{} {set:?}: {found}", entry.name));
                }
            }
        }
    }

    const ROUNDS: u32 = 60;

    /// Its default, an end of its range, or something between, by order of magnitude where it has
    /// one.
    pub(crate) fn any_value(parameter: &Parameter, seed: u32) -> f64 {
        // Slopes beyond 4 tell nothing more, and a billion times those of the other axis they are
        // beyond the digits of floats.
        let greatest = if parameter.name.contains("alpha") { 4.0 } else { 1e4 };
        let [low, high] = parameter.range.map(|x| x.clamp(-10.0, greatest));
        let x = f64::from(unit_float(hash(seed, 1)));
        let value = match hash(seed, 2) % 8 {
            0 => low,
            1 => high,
            2 => parameter.default.as_ref().unwrap()[0],
            3 | 4 => low + x * (high - low),
            _ => high * ((low.max(1e-4) / high).ln() * x).exp(),
        };
        let value = value.clamp(low, high);
        if parameter.scalar == lightbound_shader::Scalar::F32 { value } else { value.round() }
    }

    #[test]
    fn coordinates_are_those_of_the_direction() {
        for k in 0..1000 {
            let s = |axis| f64::from(unit_float(hash(k, axis)));
            let at = [2.0 * s(0).powi(8), TAU * s(1)];
            let back = coordinates(direction(at));
            assert!(
                (at[0] - back[0]).abs() < 1e-6 * at[0] && (at[1] - back[1]).abs() < 1e-5,
                "{at:?} {back:?}"
            );
        }
    }
}
