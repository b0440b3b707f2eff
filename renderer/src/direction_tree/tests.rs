//! What trees of directions must obey, for all materials of the library, with any parameters and
//! from anywhere.

use super::{BrdfKernels, Budget, DirectionTree, Grower, TreeTable};
use crate::material::self_check::tests::any_value;
use crate::material::{Bound, Program, library};
use crate::math::direction_box::testing::{uniform, unit};
use crate::math::{Vec2, Vec3, vec2, vec3};
use crate::sampling::chi_square::chi_square_sphere;
use lightbound_shader::ir::random::Random;
use lightbound_shader::{Arena, Batch, Parameter, Settings, Shader, Sides, Target};
use std::sync::Arc;

/// Of `wo` off the normal, degrees, each with an azimuth that is on no axis.
pub(super) const ANGLES: [(f32, f32); 4] = [(0.0, 0.0), (45.0, 20.0), (80.0, 130.0), (89.5, 250.0)];

pub(super) fn from_angles((theta, phi): (f32, f32)) -> Vec3 {
    let ((s, c), (sin, cos)) = (theta.to_radians().sin_cos(), phi.to_radians().sin_cos());
    vec3(s * cos, s * sin, c)
}

/// A shader of the library, ready for trees.
pub(super) struct Subject {
    pub bound: Bound,
    kernels: BrdfKernels,
}

impl Subject {
    fn new(name: &str, text: &str) -> Subject {
        let shader = Shader::parse(name, text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let program =
            Program::compile(&Arena::new(), &shader, &Settings::default(), Target::best())
                .expect("it compiles");
        let kernels = BrdfKernels::compile(&Arena::new(), &program).expect("it compiles");
        Subject { bound: Bound::new(Arc::new(program), vec![]), kernels }
    }

    pub fn library() -> Vec<Subject> {
        library::LIBRARY.iter().map(|entry| Subject::new(entry.name, entry.text)).collect()
    }

    pub fn name(&self) -> &str {
        &self.bound.program.name
    }

    /// Words of the members, of which `value` gives each.
    pub fn members(&self, mut value: impl FnMut(&Parameter, usize) -> f64) -> Vec<u32> {
        let words =
            |p: &Parameter| (0..p.size).map(|k| p.scalar.bits(value(p, k))).collect::<Vec<_>>();
        self.bound.program.settable.iter().flat_map(words).collect()
    }

    pub fn defaults(&self) -> Vec<u32> {
        self.members(|p, k| p.default.as_ref().expect("the library has defaults")[k])
    }

    pub fn any(&self, seed: u32) -> Vec<u32> {
        let mut number = 0;
        self.members(|p, _| {
            number += 1;
            any_value(p, seed * 64 + number)
        })
    }

    pub fn tree(&self, wo: Vec3, members: &[u32]) -> DirectionTree {
        let mut tree = DirectionTree::cosine(self.bound.program.sides);
        self.grow(wo, members, &mut tree);
        tree
    }

    pub fn grow(&self, wo: Vec3, members: &[u32], tree: &mut DirectionTree) {
        self.grow_within(&Budget::POINT, wo, members, tree);
    }

    pub fn grow_within(
        &self,
        budget: &Budget,
        wo: Vec3,
        members: &[u32],
        tree: &mut DirectionTree,
    ) {
        Grower::new(&self.kernels, &self.bound).grow(wo, members.iter().copied(), budget, tree);
    }

    pub fn table(&self) -> TreeTable {
        TreeTable::new(self.bound.program.sides, 1, Budget::POINT.cuts, 1 << 30)
            .expect("there is room")
    }

    /// Luminance of s for light directions.
    pub fn s(&self, wi: &[Vec3], wo: Vec3, members: &[u32]) -> Vec<f32> {
        let kernel = &self.bound.program.evaluate;
        let mut inputs = Batch::new(kernel.target(), 6 + members.len(), wi.len());
        let mut outputs = Batch::new(kernel.target(), kernel.outputs().len(), wi.len());
        for (row, wi) in wi.iter().enumerate() {
            let directions = [wi.x, wi.y, wi.z, wo.x, wo.y, wo.z].map(f32::to_bits);
            inputs.set_row(row, 0, &directions);
            inputs.set_row(row, 6, members);
        }
        inputs.truncate(wi.len());
        kernel.run(&[], &inputs, &mut outputs);
        let luminance = |row| {
            let [r, g, b] = outputs.floats(row, 0);
            0.2126 * r + 0.7152 * g + 0.0722 * b
        };
        (0..wi.len()).map(luminance).collect()
    }
}

pub(super) fn number(random: &mut Random) -> Vec2 {
    vec2(uniform(random), uniform(random))
}

/// Any direction from which the shader can be seen.
pub(super) fn any_wo(random: &mut Random, sides: Sides) -> Vec3 {
    let w = unit(random);
    let low = if random.once_in(3) { 0.5f32.powi(random.below(14) as i32) } else { 1.0 };
    let w = vec3(w.x, w.y, w.z * low).normalize();
    match sides {
        Sides::One => vec3(w.x, w.y, w.z.abs().max(1e-6)),
        Sides::Both => vec3(w.x, w.y, w.z.abs().max(1e-6).copysign(w.z)),
    }
}

#[test]
fn directions_follow_the_density() {
    let random = &mut Random::new(3);
    let (draws, settings) = if cfg!(debug_assertions) { (20_000, 2) } else { (1_000_000, 8) };
    let library = Subject::library();
    let tests = library.len() * ANGLES.len() * settings as usize;
    for subject in &library {
        for (angles, setting) in
            ANGLES.iter().flat_map(|angles| (0..settings).map(move |setting| (angles, setting)))
        {
            let members = if setting == 0 { subject.defaults() } else { subject.any(setting) };
            let tree = subject.tree(from_angles(*angles), &members);
            if tree.nodes() == 0 {
                continue;
            }
            let p = tree.chi_square(random, draws);
            assert!(p > 0.01 / tests as f64, "{} {angles:?} {members:x?}: p = {p}", subject.name());
            assert!(tree.at_edges(random, draws) < 0.01);
        }
    }
}

/// Settings of each material whose lobes are told from each other by them: the defaults, as narrow
/// as can be, and that along x alone.
fn settings(subject: &Subject) -> Vec<Vec<u32>> {
    let set = |narrow: fn(&str) -> bool, wide: fn(&str) -> bool| {
        subject.members(|p, k| match &*p.name {
            name if narrow(name) => {
                if name.starts_with("alpha") {
                    p.range[0]
                } else {
                    p.range[1]
                }
            }
            name if wide(name) => {
                if name.starts_with("alpha") {
                    0.5
                } else {
                    10.0
                }
            }
            _ => p.default.as_ref().expect("the library has defaults")[k],
        })
    };
    let is_of_lobe =
        |name: &str| matches!(name, "alpha" | "alpha_x" | "alpha_y" | "exponent" | "n_u" | "n_v");
    let along_x = |name: &str| matches!(name, "alpha_x" | "n_u");
    let mut all = vec![subject.defaults(), set(is_of_lobe, |_| false), set(along_x, is_of_lobe)];
    all.dedup();
    all
}

#[test]
#[ignore = "minutes; cargo test --release -p lightbound --lib a_million_draws -- --ignored --nocapture"]
fn a_million_draws_follow_the_density() {
    const DRAWS: usize = 1_000_000;
    let random = &mut Random::new(5);
    let library = Subject::library();
    let mut all = Vec::new();
    for subject in &library {
        let table = subject.table();
        for (number, members) in settings(subject).iter().enumerate() {
            for angles in ANGLES {
                let wo = from_angles(angles);
                let tree = subject.tree(wo, members);
                let own =
                    TreeTable::new(subject.bound.program.sides, 1, Budget::POINT.cuts, 1 << 30)
                        .expect("there is room");
                let table = if number == 0 { &table } else { &own };
                let shifted = table.tree(wo, |middle, tree| subject.grow(middle, members, tree));
                let (p, at_edges) = (tree.chi_square(random, DRAWS), tree.at_edges(random, DRAWS));
                let [p_of_table, astray] = shifted.chi_square(random, DRAWS);
                let name = format!("{:24} {number} {angles:?}", subject.name());
                println!(
                    "{name:44} {:3} cuts: p {p:.4}, table {p_of_table:.4}; at edges {at_edges:.5}, {astray:.5}",
                    tree.nodes()
                );
                assert!(at_edges < 0.01 && astray < 0.01, "{name}");
                all.extend([(p, name.clone()), (p_of_table, name + ", table")]);
            }
        }
    }
    let threshold = 1.0 - 0.99f64.powf(1.0 / all.len() as f64);
    let least = all.iter().min_by(|a, b| a.0.total_cmp(&b.0)).expect("there are some");
    let below = all.iter().filter(|(p, _)| *p < 0.05).count();
    println!(
        "{} tests, {below} below 0.05, least {:.2e} ({}), threshold {threshold:.2e}",
        all.len(),
        least.0,
        least.1
    );
    assert!(least.0 > threshold, "{least:?}");
}

/// All that arrives is reflected, about one direction: since area of the disk is the cosine's
/// measure, that is exact while the lobe is within it.
const SPIKE: &str = "struct Material {
    /// range: [-1, 1], default: 0
    place: vec2f,
    /// range: [1e-4, 1], default: 0.1
    width: f32,
}
fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let d = (wi.xy - m.place) / m.width;
    return vec3f(exp(-dot(d, d)) / (3.14159265 * m.width * m.width));
}
";

/// A lobe back to where light comes from.
const RETROREFLECTOR: &str = "struct Material {
    /// range: [1, 1e5], default: 2000
    exponent: f32,
}
fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    return vec3f(m.exponent / 6.2831853 * pow(max(dot(wi, wo), 0.0), m.exponent));
}
";

#[test]
fn tables_are_for_lobes_that_move_as_theirs() {
    let loss = |subject: &Subject, members: &[u32]| {
        Grower::new(&subject.kernels, &subject.bound)
            .loss(&subject.table(), members.iter().copied())
    };
    for subject in Subject::library() {
        for (number, members) in settings(&subject).iter().enumerate() {
            let loss = loss(&subject, members);
            println!("{} {number}: {loss}", subject.name());
            // Narrow lobes through glass move by the ratio of indices, and those of metal that is
            // rough along y alone turn: they have none.
            assert!(number > 0 || loss < 8.0, "{} {number}: {loss}", subject.name());
        }
    }
    let spike = Subject::new("spike.wgsl", SPIKE);
    let of_width = |width: f64| spike.members(|p, _| if &*p.name == "width" { width } else { 0.3 });
    let of_spikes = [0.2, 0.003, 0.001].map(|width| loss(&spike, &of_width(width)));
    assert!(of_spikes[0] < 2.0 && of_spikes[1] > 32.0 && of_spikes[2] > 32.0, "{of_spikes:?}");
    let retroreflector = Subject::new("retroreflector.wgsl", RETROREFLECTOR);
    let of_it = loss(&retroreflector, &retroreflector.defaults());
    assert!(of_it > 32.0, "{of_it}");
}

#[test]
fn lobes_narrower_than_the_first_cells_are_found() {
    let random = &mut Random::new(6);
    let subject = Subject::new("spike.wgsl", SPIKE);
    for width in [0.1, 0.01, 0.003, 0.001] {
        for _ in 0..if cfg!(debug_assertions) { 6 } else { 100 } {
            let place = 0.9 * (1.0 - 5.0 * width) * unit(random).truncate();
            let members = subject.members(|p, k| {
                if &*p.name == "width" { f64::from(width) } else { f64::from(place[k]) }
            });
            let wo = any_wo(random, Sides::One);
            let tree = subject.tree(wo, &members);
            let [reflected, variance] = mean(&subject, (wo, &members), random, |u| tree.draw(u));
            let sigma = variance.sqrt();
            assert!(
                (reflected - 1.0).abs() < 4.5 * sigma + 1e-3,
                "{place} {width}: {reflected} ± {sigma}"
            );
            // By the cosine alone, it would be 1 / (2 π width²) draws that count as one.
            assert!(sigma < 0.05, "{place} {width}: {sigma} of {} cuts", tree.nodes());
        }
    }
}

#[test]
fn what_is_scattered_can_be_drawn() {
    let random = &mut Random::new(1);
    let points = if cfg!(debug_assertions) { 20 } else { 1000 };
    for subject in Subject::library() {
        let mut bright = 0;
        for seed in 0..points {
            let wo = any_wo(random, subject.bound.program.sides);
            let members = subject.any(seed);
            let tree = subject.tree(wo, &members);
            // Anywhere, along the surface, and about the mirror direction, or the opposite one.
            let directions: Vec<Vec3> = (0..400)
                .filter_map(|k| match k % 4 {
                    0 => Some(unit(random)),
                    1 => (unit(random) * vec3(1.0, 1.0, 0.02)).try_normalize(),
                    2 => Some((vec3(-wo.x, -wo.y, wo.z) + 0.02 * unit(random)).normalize()),
                    _ => Some((-wo + 0.1 * unit(random)).normalize()),
                })
                .filter(|wi| subject.bound.program.sides.covers(wi.z) && wi.z != 0.0)
                .collect();
            for (s, wi) in subject.s(&directions, wo, &members).into_iter().zip(&directions) {
                assert!(
                    s.is_nan() || s <= 0.0 || tree.pdf(*wi) > 0.0,
                    "{} {members:x?} {wo}: {s} at {wi}",
                    subject.name()
                );
                bright += u32::from(s > 0.0);
            }
        }
        assert!(bright > 20 * points, "{} {bright}", subject.name());
    }
}

/// Mean of s/pdf over directions that are drawn, and its variance.
fn mean(
    subject: &Subject,
    (wo, members): (Vec3, &[u32]),
    random: &mut Random,
    draw: impl Fn(Vec2) -> Option<(Vec3, f32)>,
) -> [f64; 2] {
    const DRAWS: usize = 40_000;
    let drawn: Vec<_> = (0..DRAWS).filter_map(|_| draw(number(random))).collect();
    let directions: Vec<Vec3> = drawn.iter().map(|(wi, _)| *wi).collect();
    let s = subject.s(&directions, wo, members);
    let weights = std::iter::zip(s, &drawn).map(|(s, (_, pdf))| f64::from(s / pdf));
    let (sum, squares) = weights.fold((0.0, 0.0), |(sum, squares), w| (sum + w, squares + w * w));
    let n = DRAWS as f64;
    [sum / n, (squares / n - (sum / n).powi(2)).max(0.0) / n]
}

#[test]
fn means_are_those_of_the_cosine() {
    let random = &mut Random::new(2);
    for subject in Subject::library() {
        let table = subject.table();
        for angles in [(30.0, 70.0), (70.0, 200.0)] {
            let (wo, members) = (from_angles(angles), subject.defaults());
            let (tree, cosine) =
                (subject.tree(wo, &members), DirectionTree::cosine(subject.bound.program.sides));
            let shifted = table.tree(wo, |middle, tree| subject.grow(middle, &members, tree));
            let [by_cosine, variance] = mean(&subject, (wo, &members), random, |u| cosine.draw(u));
            let by_tree = mean(&subject, (wo, &members), random, |u| tree.draw(u));
            let by_table = mean(&subject, (wo, &members), random, |u| shifted.draw(u));
            for [other, other_variance] in [by_tree, by_table] {
                let (name, sigma) = (subject.name(), (variance + other_variance).sqrt());
                assert!(
                    (other - by_cosine).abs() < 4.5 * sigma + 1e-6,
                    "{name} {angles:?}: {other}, {by_cosine} ± {sigma}"
                );
            }
        }
    }
}

#[test]
fn directions_of_tables_follow_the_density() {
    let random = &mut Random::new(4);
    let library = Subject::library();
    let subject =
        |name: &str| library.iter().find(|subject| subject.name() == name).expect("it is there");
    for (name, alpha) in [("phong.wgsl", 8.0), ("dielectric.wgsl", 0.8), ("oren_nayar.wgsl", 1.0)] {
        let subject = subject(name);
        let members = subject.members(|p, k| match &*p.name {
            "exponent" | "alpha_x" | "alpha_y" => alpha,
            _ => p.default.as_ref().expect("the library has defaults")[k],
        });
        let table = subject.table();
        for _ in 0..2 {
            let wo = any_wo(random, subject.bound.program.sides);
            let tree = table.tree(wo, |middle, tree| {
                subject.grow_within(&Budget { cuts: 6, open: 0.0 }, middle, &members, tree);
            });
            let draw = |u: [f32; 3]| {
                let (wi, pdf) = tree.draw(vec2(u[0], u[1]))?;
                assert_eq!(pdf, tree.pdf(wi));
                Some(wi)
            };
            chi_square_sphere(&format!("{name} {wo}"), 20_000, draw, |wi| tree.pdf(wi), 6);
        }
    }
}
