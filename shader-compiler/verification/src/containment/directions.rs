//! Boxes of directions, and members that satisfy the precondition of related bounds ([`Axis`]):
//! unit vectors, some of them as long or as short as the precondition allows.
//!
//! Each box is built around a member, so that it is not empty. There are bounding boxes of cones of
//! all sizes, boxes a few ulps wide, single vectors, slabs, boxes that touch the sphere only in a
//! corner, and the box of all directions. Other members are random: inside the box, on its faces
//! and edges, and near mirror images of other vectors, where dot products are extreme.

use super::boxes::{ordered, rank, signed_zero, unrank};
use lightbound_shader::interval::Floats;
use lightbound_shader::lift::Input;
use lightbound_shader::random::Random;
use lightbound_shader::relations::{Axis, MAX_UNIT_COMPONENT, UNIT_LENGTH_SLACK};

/// The inputs that are components of unit vectors.
#[derive(Clone, Debug)]
pub(super) struct UnitVectors {
    /// Input indices of the three components of each vector.
    vectors: Vec<[usize; 3]>,
    /// Indices of the vectors that form the frame, the normal first.
    frame: Vec<usize>,
    /// Indices of the vectors on the normal's side.
    above: Vec<usize>,
}

type Vector = [f32; 3];

impl UnitVectors {
    /// Finds the vectors among the inputs of a point shader. Panics if a component is missing.
    pub fn from_inputs(inputs: &[Input]) -> UnitVectors {
        let axis = |input: &Input| input.axis;
        let count = inputs.iter().filter_map(axis).map(|axis| axis.vector + 1).max().unwrap_or(0);
        let component_input = |vector, component| {
            let matches = |input: &Input| {
                axis(input).is_some_and(|axis| (axis.vector, axis.component) == (vector, component))
            };
            inputs.iter().position(matches).expect("all components are inputs")
        };
        let vectors: Vec<_> = (0..count)
            .map(|vector| [0, 1, 2].map(|component| component_input(vector, component)))
            .collect();
        let vectors_with = |property: fn(Axis) -> bool| {
            (0..count).filter(|&k| axis(&inputs[vectors[k][0]]).is_some_and(property)).collect()
        };
        let (frame, above) = (vectors_with(|axis| axis.frame), vectors_with(|axis| axis.above));
        UnitVectors { vectors, frame, above }
    }

    /// Whether the point shader has no unit vectors.
    pub fn is_empty(&self) -> bool {
        self.vectors.is_empty()
    }

    /// Whether a member satisfies the precondition.
    pub fn satisfied_by(&self, words: &[u32]) -> bool {
        let vectors: Vec<_> = self
            .vectors
            .iter()
            .map(|parts| parts.map(|part| f32::from_bits(words[part])))
            .collect();
        self.are_valid(&vectors)
    }

    /// Whether the endpoints lie within the range of unit vectors.
    pub fn allow(&self, endpoints: &[[u32; 2]]) -> bool {
        let parts = self.vectors.iter().flatten();
        parts
            .flat_map(|&part| endpoints[part])
            .all(|end| f32::from_bits(end).abs() <= MAX_UNIT_COMPONENT)
    }

    /// Whether vectors satisfy the precondition.
    fn are_valid(&self, vectors: &[Vector]) -> bool {
        let pairs = self
            .frame
            .iter()
            .enumerate()
            .flat_map(|(k, &u)| self.frame[..k].iter().map(move |&v| (u, v)));
        vectors.iter().all(is_unit)
            && pairs.into_iter().all(|(u, v)| dot(&vectors[u], &vectors[v]).abs() <= MAX_DEFECT)
            && self.above.iter().all(|&v| self.is_above(&vectors[v], vectors))
    }

    /// Whether a vector is on the normal's side, for every summation order of the dot product.
    fn is_above(&self, v: &Vector, vectors: &[Vector]) -> bool {
        let Some(&normal) = self.frame.first() else { return v[2] >= 0.0 };
        let [x, y, z] = [0, 1, 2].map(|k| v[k] * vectors[normal][k]);
        [x + y + z, y + z + x, z + x + y].into_iter().all(|sum| sum >= 0.0)
    }

    /// Replaces the endpoints of directions by those of boxes that contain unit vectors, and the
    /// directions of members by unit vectors in these boxes. Changes nothing if it finds no unit
    /// vectors within the bounds of the inputs. Some endpoints and components are at or near
    /// `kinks`.
    pub fn randomize(
        &self,
        random: &mut Random,
        inputs: &[Input],
        kinks: &[f32],
        endpoints: &mut [[u32; 2]],
        rows: &mut [Vec<u32>],
    ) {
        let Some(center) = (0..16).find_map(|_| self.center(random, inputs)) else { return };
        for (parts, v) in std::iter::zip(&self.vectors, &center) {
            let box_endpoints = random_box(random, v, kinks);
            for k in 0..3 {
                let Input { interval, bounds, .. } = &inputs[parts[k]];
                let component_endpoints = if *interval {
                    clamp_endpoints(random, bounds.floats(), box_endpoints[k], v[k])
                } else {
                    [v[k]; 2]
                };
                endpoints[parts[k]] = component_endpoints.map(f32::to_bits);
            }
        }
        let direction_box = DirectionBox { inputs, endpoints, kinks, vectors: self };
        for row in rows.iter_mut() {
            let member = direction_box.member(random, &center);
            for (parts, v) in std::iter::zip(&self.vectors, &member) {
                for k in 0..3 {
                    row[parts[k]] = if inputs[parts[k]].interval {
                        v[k].to_bits()
                    } else {
                        endpoints[parts[k]][0]
                    };
                }
            }
        }
    }

    /// Moves a direction of a member such that the member still satisfies the precondition. Changes
    /// nothing if no move that it tries stays in the box.
    pub fn nudge(
        &self,
        random: &mut Random,
        inputs: &[Input],
        endpoints: &[[u32; 2]],
        kinks: &[f32],
        words: &mut [u32],
    ) {
        let is_movable = |&vector: &usize| {
            !self.frame.contains(&vector)
                && self.vectors[vector].iter().any(|&part| inputs[part].interval)
        };
        let movable: Vec<_> = (0..self.vectors.len()).filter(is_movable).collect();
        if movable.is_empty() {
            return;
        }
        let direction_box = DirectionBox { inputs, endpoints, kinks, vectors: self };
        let mut vectors: Vec<_> = self
            .vectors
            .iter()
            .map(|parts| parts.map(|part| f32::from_bits(words[part])))
            .collect();
        let vector = *random.pick(&movable);
        let previous = vectors[vector];
        for _ in 0..4 {
            vectors[vector] = rounded(direction_box.try_member(random, vector, &vectors));
            if direction_box.contains(&vectors) {
                for (&part, x) in std::iter::zip(&self.vectors[vector], vectors[vector]) {
                    words[part] = if inputs[part].interval { x.to_bits() } else { words[part] };
                }
                return;
            }
            vectors[vector] = previous;
        }
    }

    /// Returns random unit vectors within the bounds of the inputs; `None` if the attempt fails.
    fn center(&self, random: &mut Random, inputs: &[Input]) -> Option<Vec<Vector>> {
        let mut vectors = vec![[0.0; 3]; self.vectors.len()];
        for (&vector, axis) in std::iter::zip(&self.frame, frame(random)) {
            vectors[vector] = rounded(axis);
        }
        for vector in (0..vectors.len()).filter(|vector| !self.frame.contains(vector)) {
            let mut v = if vectors.len() == 1 || random.once_in(3) {
                direction(random)
            } else {
                // A copy of another vector, its mirror image, or a vector close to either.
                let other = vectors[random.below(vectors.len())].map(f64::from);
                let mirrored = self.mirrored(random, other, &vectors);
                near(random, mirrored)
            };
            if self.above.contains(&vector) && !self.is_above(&rounded(v), &vectors) {
                v = v.map(|x| -x);
            }
            for (x, &part) in std::iter::zip(&mut v, &self.vectors[vector]) {
                if !inputs[part].bounds.floats().contains(*x as f32) {
                    *x = -*x;
                }
            }
            vectors[vector] = rounded(v);
        }
        let entire: Vec<_> = inputs
            .iter()
            .map(|_| [-MAX_UNIT_COMPONENT, MAX_UNIT_COMPONENT].map(f32::to_bits))
            .collect();
        let direction_box = DirectionBox { inputs, endpoints: &entire, kinks: &[], vectors: self };
        direction_box.scale_to_extremes(random, &mut vectors);
        direction_box.contains(&vectors).then_some(vectors)
    }

    /// Returns a vector, its opposite, or a mirror image of it.
    fn mirrored(&self, random: &mut Random, v: [f64; 3], vectors: &[Vector]) -> [f64; 3] {
        match random.below(4) {
            0 => v,
            1 => v.map(|x| -x),
            2 if !self.frame.is_empty() => {
                let n = vectors[*random.pick(&self.frame)].map(f64::from);
                let twice = 2.0 * (v[0] * n[0] + v[1] * n[1] + v[2] * n[2]);
                [0, 1, 2].map(|k| twice * n[k] - v[k])
            }
            2 => [-v[0], -v[1], v[2]],
            _ => v.map(|x| if random.once_in(2) { x } else { -x }),
        }
    }
}

/// A box of directions.
struct DirectionBox<'a> {
    inputs: &'a [Input],
    endpoints: &'a [[u32; 2]],
    kinks: &'a [f32],
    vectors: &'a UnitVectors,
}

impl DirectionBox<'_> {
    /// Whether vectors lie in the box and satisfy the precondition.
    fn contains(&self, vectors: &[Vector]) -> bool {
        let inside = |(parts, v): (&[usize; 3], &Vector)| {
            std::iter::zip(parts, v).all(|(&part, &x)| self.contains_component(part, x))
        };
        std::iter::zip(&self.vectors.vectors, vectors).all(inside)
            && self.vectors.are_valid(vectors)
    }

    /// Whether a value of an input lies in the box.
    fn contains_component(&self, part: usize, x: f32) -> bool {
        let [low, high] = self.endpoints[part].map(f32::from_bits);
        low <= x && x <= high && self.inputs[part].bounds.floats().contains(x)
    }

    /// Returns random unit vectors in the box; those at the center where it finds no others.
    fn member(&self, random: &mut Random, center: &[Vector]) -> Vec<Vector> {
        let mut vectors = center.to_vec();
        self.rotate_frame(random, &mut vectors);
        for vector in (0..vectors.len()).filter(|vector| !self.vectors.frame.contains(vector)) {
            for _ in 0..4 {
                let previous = vectors[vector];
                vectors[vector] = rounded(self.try_member(random, vector, &vectors));
                if self.contains(&vectors) {
                    break;
                }
                vectors[vector] = previous;
            }
        }
        self.scale_to_extremes(random, &mut vectors);
        vectors
    }

    /// Proposes a unit vector, which may lie outside the box.
    fn try_member(&self, random: &mut Random, vector: usize, vectors: &[Vector]) -> [f64; 3] {
        let sides = self.vectors.vectors[vector]
            .map(|part| self.endpoints[part].map(|end| f64::from(f32::from_bits(end))));
        let v = vectors[vector].map(f64::from);
        if !self.kinks.is_empty() && random.once_in(4) {
            // Set a component to a kink or a float near it, and adjust another to restore unit
            // length.
            let (mut v, kink, k) = (v, *random.pick(self.kinks), random.below(3));
            v[k] = f64::from(unrank(rank(kink) + random.below(5) as i64 - 2));
            let other = (k + 1 + random.below(2)) % 3;
            let rest = 1.0 + v[other] * v[other] - v.iter().map(|x| x * x).sum::<f64>();
            v[other] = rest.max(0.0).sqrt().copysign(v[other]);
            return v;
        }
        match random.below(6) {
            0 => near(random, v),
            1 => normalized(sides.map(|[low, high]| uniform(random, low, high))),
            2 => {
                let other = vectors[random.below(vectors.len())].map(f64::from);
                let mirrored = self.vectors.mirrored(random, other, vectors);
                if random.once_in(2) { mirrored } else { near(random, mirrored) }
            }
            3 => v,
            choice => {
                // A vector on a face or an edge of the box.
                let free = random.below(3);
                let mut v = sides.map(|[low, high]| if random.once_in(2) { low } else { high });
                if choice == 4 {
                    let k = (free + 1 + random.below(2)) % 3;
                    v[k] = uniform(random, sides[k][0], sides[k][1]);
                }
                let rest = 1.0 + uniform(random, -0.8, 0.8) * UNIT_LENGTH_SLACK + v[free] * v[free]
                    - v.iter().map(|x| x * x).sum::<f64>();
                let root = rest.max(0.0).sqrt();
                v[free] = if root <= sides[free][1] && (random.once_in(2) || -root < sides[free][0])
                {
                    root
                } else {
                    -root
                };
                v
            }
        }
    }

    /// Rotates the frame by a random angle, if the box allows.
    fn rotate_frame(&self, random: &mut Random, vectors: &mut Vec<Vector>) {
        if self.vectors.frame.is_empty() {
            return;
        }
        let (axis, angle) = (direction(random), 0.5_f64.powi(random.below(24) as i32));
        let previous = vectors.clone();
        for &vector in &self.vectors.frame {
            vectors[vector] = rounded(rotate(vectors[vector].map(f64::from), axis, angle));
        }
        if !self.contains(vectors) {
            *vectors = previous;
        }
    }

    /// Makes some vectors as long or as short as the box and the precondition allow.
    fn scale_to_extremes(&self, random: &mut Random, vectors: &mut [Vector]) {
        for vector in 0..vectors.len() {
            let lengthen = match random.below(4) {
                0 => continue,
                1 => false,
                _ => true,
            };
            let mut order = [0, 1, 2];
            order.sort_by(|&a, &b| vectors[vector][b].abs().total_cmp(&vectors[vector][a].abs()));
            for (k, step) in
                order.into_iter().flat_map(|k| (0..14).rev().map(move |step| (k, 1_i64 << step)))
            {
                let x = vectors[vector][k];
                // Keep zeros and their signs.
                let moved = rank(x.abs()) + if lengthen { step } else { -step };
                if x == 0.0 || moved <= 0 {
                    continue;
                }
                vectors[vector][k] = unrank(moved).copysign(x);
                if !self.contains(vectors) {
                    vectors[vector][k] = x;
                }
            }
        }
    }
}

/// Maximum computed value of ||v|² − 1| and |u · v|: [`UNIT_LENGTH_SLACK`] minus a bound on their
/// rounding error, 2⁻⁵⁰.
const MAX_DEFECT: f64 = UNIT_LENGTH_SLACK - 1.0 / (1u64 << 50) as f64;

/// Whether a vector satisfies the precondition for unit vectors.
fn is_unit(v: &Vector) -> bool {
    (dot(v, v) - 1.0).abs() <= MAX_DEFECT && v.iter().all(|x| x.abs() <= MAX_UNIT_COMPONENT)
}

fn dot(u: &Vector, v: &Vector) -> f64 {
    std::iter::zip(u, v).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
}

fn rounded(v: [f64; 3]) -> Vector {
    v.map(|x| x as f32)
}

fn normalized(v: [f64; 3]) -> [f64; 3] {
    let length = (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt();
    v.map(|x| x / length)
}

fn uniform(random: &mut Random, low: f64, high: f64) -> f64 {
    low + (high - low) * random.below(1 << 30) as f64 / f64::from((1 << 30) - 1)
}

/// Returns a random direction, sometimes along an axis or in a coordinate plane.
fn direction(random: &mut Random) -> [f64; 3] {
    let mut v = [(); 3].map(|()| uniform(random, -1.0, 1.0));
    match random.below(8) {
        0 => {
            v = [0.0; 3];
            v[random.below(3)] = if random.once_in(3) { -1.0 } else { 1.0 };
        }
        1 => v[random.below(3)] = 0.0,
        2 => v[random.below(3)] *= 0.5_f64.powi(random.below(40) as i32),
        _ => {}
    }
    normalized(v)
}

/// Returns a direction at a random angle, small or large, from another one.
fn near(random: &mut Random, v: [f64; 3]) -> [f64; 3] {
    let (offset, step) = (direction(random), 0.5_f64.powi(random.below(28) as i32));
    normalized([0, 1, 2].map(|k| v[k] + step * offset[k]))
}

/// Rotates a vector around an axis by an angle.
fn rotate(v: [f64; 3], [x, y, z]: [f64; 3], angle: f64) -> [f64; 3] {
    let (sin, cos) = libm::sincos(angle);
    let along = (x * v[0] + y * v[1] + z * v[2]) * (1.0 - cos);
    let across = [y * v[2] - z * v[1], z * v[0] - x * v[2], x * v[1] - y * v[0]];
    [0, 1, 2].map(|k| cos * v[k] + sin * across[k] + along * [x, y, z][k])
}

/// Returns three vectors, some almost as far from perpendicular and from unit length as the
/// precondition allows.
fn frame(random: &mut Random) -> [[f64; 3]; 3] {
    let (axis, angle) =
        (direction(random), if random.once_in(4) { 0.0 } else { uniform(random, 0.0, 6.3) });
    let mut random_entry = || match random.below(3) {
        0 => 0.0,
        1 => 0.35 * UNIT_LENGTH_SLACK,
        _ => -0.35 * UNIT_LENGTH_SLACK,
    };
    // The matrix is symmetric, so the dot products of its rows are about twice its off-diagonal
    // entries.
    let [a, b, c, d, e, f] = [(); 6].map(|()| random_entry());
    let rows = [[1.0 + a, b, c], [b, 1.0 + d, e], [c, e, 1.0 + f]];
    rows.map(|v| rotate(v, axis, angle))
}

/// Returns the endpoints of a random box that contains a unit vector, sometimes as a corner.
fn random_box(random: &mut Random, v: &Vector, kinks: &[f32]) -> [[f32; 2]; 3] {
    let mut endpoints = match random.below(12) {
        0..5 => cone(v, std::f64::consts::PI * size(random)),
        5 => v.map(|x| few_ulps(random, x)),
        6 => v.map(|x| [x, x]),
        7 => {
            let mut slab = cone(v, std::f64::consts::PI * size(random));
            for _ in 0..2 {
                let k = random.below(3);
                slab[k] = few_ulps(random, v[k]);
            }
            slab
        }
        8 => [[-1.0, 1.0]; 3],
        9 => v.map(|x| [x - size(random) as f32, x + size(random) as f32]),
        10 => v.map(|x| {
            let above = random.once_in(2);
            one_sided(random, x, above)
        }),
        // Only one corner lies within the sphere.
        _ => v.map(|x| one_sided(random, x, x > 0.0)),
    };
    for (end, &x) in std::iter::zip(&mut endpoints, v) {
        *end = [end[0].min(x), end[1].max(x)];
        const SPECIAL_VALUES: [f32; 5] = [-MAX_UNIT_COMPONENT, -1.0, 0.0, 1.0, MAX_UNIT_COMPONENT];
        if random.once_in(6) {
            end[0] = SPECIAL_VALUES.into_iter().rfind(|&special| special <= x).unwrap_or(x);
        }
        if random.once_in(6) {
            end[1] = SPECIAL_VALUES.into_iter().find(|&special| special >= x).unwrap_or(x);
        }
        if !kinks.is_empty() && random.once_in(4) {
            let kink = *random.pick(kinks);
            let kink = if random.once_in(2) {
                kink
            } else {
                unrank(rank(kink) + random.below(5) as i64 - 2)
            };
            end[usize::from(kink > x)] = kink;
        }
    }
    endpoints
}

/// Returns a random size up to 1, often very small.
fn size(random: &mut Random) -> f64 {
    0.5_f64.powi(random.below(26) as i32) * uniform(random, 0.5, 1.0)
}

/// Returns an interval of random size that starts or ends at a value.
fn one_sided(random: &mut Random, x: f32, above: bool) -> [f32; 2] {
    let size = size(random) as f32;
    if above { [x, x + size] } else { [x - size, x] }
}

/// Returns an interval that extends by a few ulps to either side of a value.
fn few_ulps(random: &mut Random, x: f32) -> [f32; 2] {
    let [below, above] = [(); 2].map(|()| random.below(4) as i64);
    [unrank(rank(x) - below), unrank(rank(x) + above)]
}

/// Returns the bounding box of a cone around a vector, rounded outwards.
fn cone(v: &Vector, half_angle: f64) -> [[f32; 2]; 3] {
    v.map(|x| {
        let angle = libm::acos(f64::from(x).clamp(-1.0, 1.0));
        let low = libm::cos((angle + half_angle).min(std::f64::consts::PI)) as f32;
        let high = libm::cos((angle - half_angle).max(0.0)) as f32;
        [low.min(x).next_down(), high.max(x).next_up()]
    })
}

/// Clamps endpoints to the bounds of an input. An endpoint that the bounds still do not contain is
/// replaced by x, which they contain.
fn clamp_endpoints(random: &mut Random, floats: &Floats, endpoints: [f32; 2], x: f32) -> [f32; 2] {
    let [min, max] = [floats.low().max(-MAX_UNIT_COMPONENT), floats.high().min(MAX_UNIT_COMPONENT)];
    let endpoints = endpoints.map(|end| signed_zero(random, floats, end.clamp(min, max)));
    ordered(endpoints.map(|end| if floats.contains(end) { end } else { x }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_shader::interval::Bounds;

    fn inputs(vectors: usize, intervals: usize) -> Vec<Input> {
        let axis =
            |k| Axis { vector: k / 3, component: k % 3, frame: k / 3 >= 2, above: k / 3 == 1 };
        let input = |k| {
            let low = if vectors == 2 && k == 5 { 0.0 } else { -MAX_UNIT_COMPONENT };
            Input {
                interval: k / 3 < intervals,
                bounds: Bounds::Float(Floats::between(low, MAX_UNIT_COMPONENT)),
                axis: Some(axis(k)),
                sorted: None,
            }
        };
        (0..3 * vectors).map(input).collect()
    }

    #[test]
    fn members_are_unit_vectors_of_extreme_length_in_their_boxes() {
        let random = &mut Random::new(1);
        for (vectors, intervals) in [(1, 1), (2, 1), (2, 2), (5, 1), (5, 5)] {
            let inputs = inputs(vectors, intervals);
            let unit_vectors = UnitVectors::from_inputs(&inputs);
            let (mut nonempty, mut distinct, mut long, mut short, mut oblique) = (0, 0, 0, 0, 0);
            for _ in 0..2000 {
                let (mut endpoints, mut rows) =
                    (vec![[0; 2]; inputs.len()], vec![vec![0; inputs.len()]; 8]);
                unit_vectors.randomize(random, &inputs, &[0.25, 0.5], &mut endpoints, &mut rows);
                nonempty += u32::from(
                    unit_vectors.allow(&endpoints) && unit_vectors.satisfied_by(&rows[0]),
                );
                for row in &rows {
                    assert!(
                        endpoints == [[0; 2]].repeat(inputs.len())
                            || unit_vectors.satisfied_by(row),
                        "{endpoints:x?} {row:x?}"
                    );
                    for ((&word, &[low, high]), input) in row.iter().zip(&endpoints).zip(&inputs) {
                        let [word, low, high] = [word, low, high].map(f32::from_bits);
                        assert!(
                            low <= word && word <= high && input.bounds.floats().contains(word),
                            "{endpoints:x?} {row:x?}"
                        );
                    }
                    let vector = |k: usize| [0, 1, 2].map(|c| f32::from_bits(row[3 * k + c]));
                    let excess = (dot(&vector(0), &vector(0)) - 1.0) / UNIT_LENGTH_SLACK;
                    long += u32::from(excess > 0.99);
                    short += u32::from(excess < -0.99);
                    oblique += u32::from(
                        vectors == 5 && dot(&vector(2), &vector(3)).abs() > 0.7 * UNIT_LENGTH_SLACK,
                    );
                }
                distinct += u32::from(rows[1..].iter().any(|row| *row != rows[0]));
            }
            let counts =
                format!("{vectors} {intervals}: {nonempty} {distinct} {long} {short} {oblique}");
            assert!(nonempty > 1900 && distinct > 1000 && long > 3000 && short > 1500, "{counts}");
            assert!(vectors < 5 || oblique > 1000, "{counts}");
        }
    }
}
