//! The inputs for which a shader is checked: directions that the renderer evaluates, parameters in
//! their declared ranges, and textures.
//!
//! A *row* has a word for each input of the function, and then four for each texture: the colour of
//! an image of one texel. Proofs do not rely on that. They assume only that each texel of an image
//! is in the declared range, and so is the result of each lookup, as it is within the hull of texels
//! ([`math::texture`](crate::math::texture)).

use crate::analysis::Constraint;
use crate::frontend::{Entry, Parameter, Scalar, Settings, Shader, ShaderKind, SurfaceSides};
use crate::interval::{Bounds, Floats, Pieces};
use crate::ir::{Function, Op, Table, Type, Value};
use crate::random::Random;
use crate::relations::{Axis, MAX_UNIT_COMPONENT, UNIT_LENGTH_SLACK};
use crate::texture::{Access, Channels, MAX_SIDE, Texture, Wrap};

/// Least |cos θ| of directions: the renderer treats others as tangential, where nothing scatters.
pub const MIN_COSINE: f32 = 1e-9;

/// Magnitude up to which floats are checked if their range extends to infinity. If a range excludes
/// 0, but no other number next to it, they are checked from its inverse on.
pub const UNLIMITED: f32 = 1e6;

/// The largest random number in [0, 1).
const BELOW_ONE: f32 = 1.0 - 1.0 / (1 << 24) as f32;

/// The values of an input in a box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Extent {
    /// Floats, endpoints included.
    Float([f32; 2]),
    /// Integers, endpoints included; signed or unsigned, as the input is.
    Int([i64; 2]),
    /// `false`, `true` or both: integers from 0 to 1.
    Bool([i64; 2]),
}

/// Words of a texture in a row: red, green, blue and opacity.
const CHANNELS: usize = 4;

/// The channel with the opacity, which is 1 for images without one.
const OPACITY: usize = 3;

/// A box: an extent for each word of a row.
pub(super) type Region = Vec<Extent>;

/// Which vectors a direction can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    /// On the side of the normal.
    Above,
    /// On either side of the surface.
    Both,
    /// Any direction.
    Sphere,
}

/// Three inputs that are a unit vector.
#[derive(Clone, Copy, Debug)]
struct Direction {
    first: usize,
    side: Side,
}

/// Inputs that belong together: a direction, a position, the components of a parameter, or the
/// channels of a texture.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub name: String,
    /// The inputs.
    pub inputs: std::ops::Range<usize>,
    pub scalar: Scalar,
    /// The values that messages need not mention.
    pub default: Vec<u32>,
    /// Other values to try.
    pub special: Vec<Vec<u32>>,
    /// Whether [`UNLIMITED`] or its inverse replaces an endpoint.
    pub is_limited: bool,
    /// Whether it is a unit vector.
    pub is_direction: bool,
}

/// The inputs of a function.
#[derive(Clone, Debug)]
pub(super) struct Domain {
    pub groups: Vec<Group>,
    directions: Vec<Direction>,
    /// Boxes that contain all inputs.
    pub regions: Vec<Region>,
    /// Number of inputs of the function. The words of textures follow.
    inputs: usize,
}

/// How reports name the colour of a texture.
pub fn texels_of(texture: &str) -> String {
    format!("texels of {texture}")
}

fn words(floats: &[f32]) -> Vec<u32> {
    floats.iter().map(|x| x.to_bits()).collect()
}

/// Replaces endpoints of a range that are infinite, or next to 0, by [`UNLIMITED`] and its inverse.
/// Returns whether there are any.
fn limited([low, high]: [f64; 2]) -> ([f32; 2], bool) {
    let unlimited = f64::from(UNLIMITED);
    // Open endpoints are stored as the next float inside.
    let limit = |end: f64| match end.abs() {
        size if size >= f64::from(f32::MAX) => unlimited.copysign(end),
        size if size > 0.0 && size <= f64::from(f32::MIN_POSITIVE) => {
            (1.0 / unlimited).copysign(end)
        }
        _ => end,
    };
    let ends = [limit(low), limit(high)];
    let is_limited = ends != [low, high] && ends[0] <= ends[1];
    let ends = if ends[0] <= ends[1] { ends } else { [low, high] };
    (ends.map(|end| (end as f32).clamp(f32::MIN, f32::MAX)), is_limited)
}

impl Domain {
    /// The domain of an entry point. Positions are in a box.
    pub fn new(
        shader: &Shader,
        entry: Entry,
        settings: &Settings,
        positions: [[f32; 2]; 3],
    ) -> Domain {
        let mut domain =
            Domain { groups: vec![], directions: vec![], regions: vec![vec![]], inputs: 0 };
        let side = match (shader.kind(), shader.sides()) {
            (ShaderKind::Phase | ShaderKind::Density | ShaderKind::Function, _) => Side::Sphere,
            (ShaderKind::Brdf, SurfaceSides::One) => Side::Above,
            (ShaderKind::Brdf, SurfaceSides::Both) => Side::Both,
        };
        let wo = |domain: &mut Domain| match shader.kind() {
            // In the frame of wo.
            ShaderKind::Phase => domain.add_fixed_wo(),
            _ => domain.add_direction("wo", side),
        };
        match entry {
            Entry::Integrand | Entry::Brdf | Entry::Pdf => {
                domain.add_direction("wi", side);
                wo(&mut domain);
            }
            Entry::Sample => {
                domain.add_floats("u", &[[0.0, BELOW_ONE]; 2]);
                wo(&mut domain);
            }
            Entry::Density | Entry::Albedo | Entry::Emission => {
                domain.add_floats("p", &positions);
            }
            Entry::Function => {
                shader.arguments().iter().for_each(|argument| domain.add_parameter(argument));
            }
            Entry::Setup => {}
        }
        let surface = shader.surface_parameters().len();
        for (index, parameter) in shader.parameters().iter().enumerate() {
            if index < surface && parameter.name == "normal" {
                domain.add_direction("normal", Side::Sphere);
            } else {
                domain.add_parameter(parameter);
            }
        }
        domain.inputs = domain.first();
        for (name, range) in std::iter::zip(shader.textures(), shader.texel_ranges()) {
            domain.add_texture(name, *range, settings.texture(name).sampler.wrap);
        }
        domain.regions.iter_mut().for_each(|region| {
            contract(&domain.directions, region);
        });
        domain
    }

    fn first(&self) -> usize {
        self.groups.last().map_or(0, |group| group.inputs.end)
    }

    fn add_direction(&mut self, name: &str, side: Side) {
        let first = self.first();
        self.directions.push(Direction { first, side });
        let max = MAX_UNIT_COMPONENT;
        let (above, below) = ([MIN_COSINE, max], [-max, -MIN_COSINE]);
        let z: &[[f32; 2]] = match side {
            Side::Above => &[above],
            Side::Both => &[above, below],
            Side::Sphere => &[[-max, max]],
        };
        self.regions = z
            .iter()
            .flat_map(|z| {
                self.regions.iter().map(|region| {
                    let component = Extent::Float([-max, max]);
                    [&region[..], &[component, component, Extent::Float(*z)]].concat()
                })
            })
            .collect();
        let default = if name == "wo" { [-0.48, 0.6, 0.64] } else { [0.6, 0.0, 0.8] };
        let mut special = vec![[0.0, 0.0, 1.0], [0.6, 0.0, 0.8], [0.0, 0.6, 0.8], [-0.6, 0.0, 0.8]];
        special.extend([[1.0, 0.0, 1e-6], [-1.0, 0.0, 1e-6], [0.0, 1.0, 1e-6]]);
        special.extend([[0.36, 0.48, 0.8], [-0.36, -0.48, 0.8]]);
        if side != Side::Above {
            let down: Vec<_> = special.iter().map(|[x, y, z]| [*x, *y, -z]).collect();
            special.extend(down);
        }
        if side == Side::Sphere {
            special.extend([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.6, 0.8, 0.0]]);
        }
        self.groups.push(Group {
            name: name.to_owned(),
            inputs: first..first + 3,
            scalar: Scalar::F32,
            default: words(&default),
            special: special.iter().map(|vector| words(vector)).collect(),
            is_limited: false,
            is_direction: true,
        });
    }

    /// Adds wo = (0, 0, 1).
    fn add_fixed_wo(&mut self) {
        let first = self.first();
        for region in &mut self.regions {
            region.extend([0.0, 0.0, 1.0].map(|x| Extent::Float([x, x])));
        }
        self.groups.push(Group {
            name: "wo".to_owned(),
            inputs: first..first + 3,
            scalar: Scalar::F32,
            default: words(&[0.0, 0.0, 1.0]),
            special: vec![],
            is_limited: false,
            is_direction: false,
        });
    }

    /// Adds a scalar or a vector with the ends of its components.
    fn add_floats(&mut self, name: &str, ends: &[[f32; 2]]) {
        let first = self.first();
        for region in &mut self.regions {
            region.extend(ends.iter().copied().map(Extent::Float));
        }
        let at = |t: f32, [low, high]: [f32; 2]| ((1.0 - t) * low + t * high).min(high);
        let special = [0.0, 1.0, 0.5, 0.25]
            .map(|t| words(&ends.iter().map(|&ends| at(t, ends)).collect::<Vec<_>>()));
        let default = std::iter::zip([0.3, 0.6, 0.45], ends).map(|(t, &ends)| at(t, ends));
        self.groups.push(Group {
            name: name.to_owned(),
            inputs: first..first + ends.len(),
            scalar: Scalar::F32,
            default: words(&default.collect::<Vec<_>>()),
            special: special.to_vec(),
            is_limited: false,
            is_direction: false,
        });
    }

    /// Adds a texture with the declared range of its texels.
    fn add_texture(&mut self, name: &str, range: Option<[f64; 2]>, wrap: Wrap) {
        let first = self.first();
        let (texels, is_limited) = limited(range.unwrap_or([0.0, 1.0]));
        let including = |x: f32, [low, high]: [f32; 2]| [low.min(x), high.max(x)];
        let texels = if wrap == Wrap::Black { including(0.0, texels) } else { texels };
        let mut ends = [texels; CHANNELS];
        ends[OPACITY] = including(1.0, texels);
        for region in &mut self.regions {
            region.extend(ends.map(Extent::Float));
        }
        let [low, high] = texels;
        let middle = low + 0.5 * (high - low);
        let special = [low, high, 0.0, 1.0, 0.5].into_iter().filter(|x| (low..=high).contains(x));
        self.groups.push(Group {
            name: texels_of(name),
            inputs: first..first + CHANNELS,
            scalar: Scalar::F32,
            default: words(&[middle; CHANNELS]),
            special: special.map(|x| words(&[x; CHANNELS])).collect(),
            is_limited,
            is_direction: false,
        });
    }

    fn add_parameter(&mut self, parameter: &Parameter) {
        let first = self.first();
        let [low, high] = parameter.range;
        let mut is_limited = false;
        let extent = match parameter.scalar {
            Scalar::F32 => {
                let (ends, limited) = limited(parameter.range);
                is_limited = limited;
                Extent::Float(ends)
            }
            Scalar::I32 | Scalar::U32 => Extent::Int([low as i64, high as i64]),
            Scalar::Bool => Extent::Bool([0, 1]),
        };
        for region in &mut self.regions {
            region.extend(std::iter::repeat_n(extent, parameter.size));
        }
        let bits = |x: f64| vec![parameter.scalar.bits(x); parameter.size];
        let [least, greatest] = match extent {
            Extent::Float(ends) => ends.map(f64::from),
            Extent::Int(ends) | Extent::Bool(ends) => ends.map(|end| end as f64),
        };
        let inside = [0.0, 1.0, 0.5, 2.0, -1.0, 1e-3];
        let inside = inside.into_iter().filter(|x| (least..=greatest).contains(x));
        let numbers: Vec<f64> = [least, greatest].into_iter().chain(inside).collect();
        let fallback = if (least..=greatest).contains(&0.5) && parameter.scalar == Scalar::F32 {
            0.5
        } else {
            0.5 * (least + greatest)
        };
        let default = match &parameter.default {
            Some(numbers) => numbers.iter().map(|&x| parameter.scalar.bits(x)).collect(),
            None => bits(fallback),
        };
        self.groups.push(Group {
            name: parameter.name.clone(),
            inputs: first..first + parameter.size,
            scalar: parameter.scalar,
            default,
            special: numbers.into_iter().map(bits).collect(),
            is_limited,
            is_direction: false,
        });
    }

    /// The directions, as relations know them.
    pub fn axes(&self) -> Vec<Option<Axis>> {
        let mut axes = vec![None; self.inputs];
        for (vector, direction) in self.directions.iter().enumerate() {
            for component in 0..3 {
                let above = direction.side == Side::Above;
                axes[direction.first + component] =
                    Some(Axis { vector, component, frame: false, above });
            }
        }
        axes
    }

    /// The bounds of the inputs of the function in a box.
    pub fn bounds(&self, region: &Region) -> Vec<Bounds> {
        region[..self.inputs].iter().map(Extent::bounds).collect()
    }

    /// What is known of the result of a texture lookup or query.
    pub fn constraint(&self, function: &Function, value: Value) -> Constraint {
        match function.operation(value) {
            Some((Op::Texel | Op::Fetch, args)) => {
                let access = function.constant(args[0]).and_then(Access::unpack);
                let access = access.expect("accesses are valid constants");
                let word = self.inputs + CHANNELS * access.table as usize;
                let extent = &self.regions[0][word + access.channel as usize];
                Constraint::observe(extent.bounds())
            }
            // Only the size of an image is loaded.
            Some((Op::Load, _)) => {
                Constraint::observe(Extent::Int([1, i64::from(MAX_SIDE)]).bounds())
            }
            _ => Constraint::none(function.ty(value)),
        }
    }

    /// Whether a word of a row belongs to a texture.
    pub fn is_texel(&self, word: usize) -> bool {
        word >= self.inputs
    }

    /// Calls `f` with the tables and the inputs of a function for a row.
    pub fn with_row<R>(&self, row: &[u32], f: impl FnOnce(&[Table<'_>], &[u32]) -> R) -> R {
        let (inputs, texels) = row.split_at(self.inputs);
        let image = |words: &[u32]| {
            let values: Vec<f32> = words.iter().map(|&word| f32::from_bits(word)).collect();
            Texture::of_floats(1, Channels::Rgba, &values)
        };
        let images: Vec<Texture> = texels.chunks(CHANNELS).map(image).collect();
        let tables: Vec<Table<'_>> = images.iter().map(|image| Table::new(image.words())).collect();
        f(&tables, inputs)
    }

    /// The smallest box that contains all inputs.
    pub fn hull(&self) -> Region {
        let mut regions = self.regions.iter();
        let first = regions.next().expect("there is a box").clone();
        regions.fold(first, |hull, region| {
            std::iter::zip(hull, region).map(|(a, b)| a.union(b)).collect()
        })
    }

    /// Splits a box at the middle of an input. Halves without valid inputs are omitted; `None` if
    /// the input has a single value.
    pub fn split(&self, region: &Region, input: usize) -> Option<Vec<Region>> {
        let halves = region[input].split()?;
        let halves = halves.into_iter().map(|half| {
            let mut region = region.clone();
            region[input] = half;
            region
        });
        Some(
            halves
                .filter_map(|mut region| contract(&self.directions, &mut region).then_some(region))
                .collect(),
        )
    }

    /// Inputs inside a box, except that directions are normalized. `fractions` returns the position
    /// in the extent of an input, from 0 to 1.
    pub fn point(&self, region: &Region, mut fraction: impl FnMut(usize) -> f64) -> Vec<u32> {
        let mut row: Vec<u32> =
            region.iter().enumerate().map(|(k, extent)| extent.at(fraction(k))).collect();
        self.normalize(&mut row);
        row
    }

    /// A random row of inputs.
    pub fn random(&self, random: &mut Random) -> Vec<u32> {
        let region = &self.regions[random.below(self.regions.len())];
        self.point(region, |_| random.below(1 << 20) as f64 / f64::from((1 << 20) - 1))
    }

    /// The default inputs.
    pub fn default_row(&self) -> Vec<u32> {
        self.groups.iter().flat_map(|group| group.default.iter().copied()).collect()
    }

    /// Makes directions unit vectors on the right side of the surface.
    pub fn normalize(&self, row: &mut [u32]) {
        for direction in &self.directions {
            let components = &mut row[direction.first..direction.first + 3];
            let mut v = [0, 1, 2].map(|k| f64::from(f32::from_bits(components[k])));
            let length = v.iter().map(|x| x * x).sum::<f64>().sqrt();
            if length < 1e-30 || !length.is_finite() {
                v = [0.0, 0.0, 1.0];
            } else if (length - 1.0).abs() > 1e-7 {
                v = v.map(|x| x / length);
            }
            let min = f64::from(MIN_COSINE);
            match direction.side {
                Side::Above => v[2] = v[2].max(min),
                Side::Both if v[2].abs() < min => v[2] = min.copysign(v[2]),
                Side::Both | Side::Sphere => {}
            }
            for (word, x) in components.iter_mut().zip(v) {
                *word = (x as f32).to_bits();
            }
        }
    }
}

impl Extent {
    fn bounds(&self) -> Bounds {
        match *self {
            Extent::Float([low, high]) => Bounds::Float(Floats::between(low, high)),
            Extent::Int([low, high]) => {
                // Unsigned integers above 2³¹ are negative as signed ones.
                let mut pieces = Pieces::empty();
                let max = i64::from(i32::MAX);
                if low <= max {
                    pieces.add(low as i32, high.min(max) as i32);
                }
                if high > max {
                    pieces.add(low.max(max + 1) as u32 as i32, high as u32 as i32);
                }
                Bounds::Int(pieces)
            }
            Extent::Bool([low, high]) => {
                let of = |x: i64| Bounds::constant(Type::Bool, if x != 0 { !0 } else { 0 });
                of(low).join(&of(high))
            }
        }
    }

    fn union(self, other: &Extent) -> Extent {
        match (self, *other) {
            (Extent::Float([a, b]), Extent::Float([c, d])) => {
                Extent::Float([if c < a { c } else { a }, if d > b { d } else { b }])
            }
            (Extent::Int([a, b]), Extent::Int([c, d])) => Extent::Int([a.min(c), b.max(d)]),
            (extent, _) => extent,
        }
    }

    /// Both halves; `None` if there is a single value.
    fn split(self) -> Option<[Extent; 2]> {
        /// Ratio of endpoints above which the geometric mean is the middle.
        const WIDE: f32 = 1024.0;
        match self {
            Extent::Float([low, high]) => {
                let arithmetic = low + 0.5 * (high - low);
                let middle = match (low, high) {
                    _ if low < 0.0 && high > 0.0 => 0.0,
                    _ if low > 0.0 && high > WIDE * low => (low * high).sqrt(),
                    _ if high < 0.0 && low < WIDE * high => -(low * high).sqrt(),
                    _ => arithmetic,
                };
                let middle = if middle.is_finite() { middle } else { arithmetic };
                let valid = low < middle && middle < high;
                valid.then_some([Extent::Float([low, middle]), Extent::Float([middle, high])])
            }
            Extent::Int([low, high]) | Extent::Bool([low, high]) if low < high => {
                let middle = low + (high - low) / 2;
                let halves = [[low, middle], [middle + 1, high]];
                Some(halves.map(|half| match self {
                    Extent::Bool(_) => Extent::Bool(half),
                    _ => Extent::Int(half),
                }))
            }
            _ => None,
        }
    }

    /// The value at a position from 0 to 1.
    fn at(self, fraction: f64) -> u32 {
        match self {
            Extent::Float([low, high]) => {
                let x = f64::from(low) + fraction * (f64::from(high) - f64::from(low));
                (x as f32).clamp(low, high).to_bits()
            }
            Extent::Int([low, high]) => {
                (low + (fraction * (high - low) as f64).round() as i64).clamp(low, high) as u32
            }
            Extent::Bool([low, high]) => {
                if (if fraction < 0.5 { low } else { high }) != 0 {
                    !0
                } else {
                    0
                }
            }
        }
    }

    /// The value itself, limited to the extent.
    pub fn clamp(self, word: u32) -> u32 {
        match self {
            Extent::Float([low, high]) => f32::from_bits(word).clamp(low, high).to_bits(),
            Extent::Int([low, high]) if low < 0 => i64::from(word as i32).clamp(low, high) as u32,
            Extent::Int([low, high]) => i64::from(word).clamp(low, high) as u32,
            Extent::Bool(_) => word,
        }
    }
}

/// Shrinks a box to the hull of its unit vectors. Returns false if there is none.
fn contract(directions: &[Direction], region: &mut Region) -> bool {
    directions.iter().all(|direction| {
        let ends = |region: &Region, k: usize| match region[direction.first + k] {
            Extent::Float(ends) => ends.map(f64::from),
            Extent::Int(ends) | Extent::Bool(ends) => ends.map(|end| end as f64),
        };
        (0..3).all(|k| {
            let (mut least, mut most) =
                (1.0 - 2.0 * UNIT_LENGTH_SLACK, 1.0 + 2.0 * UNIT_LENGTH_SLACK);
            for other in (0..3).filter(|&other| other != k) {
                let [low, high] = ends(region, other);
                let min = if low <= 0.0 && high >= 0.0 { 0.0 } else { low.abs().min(high.abs()) };
                let max = low.abs().max(high.abs());
                least -= max * max;
                most -= min * min;
            }
            let [low, high] = ends(region, k);
            if most < 0.0 {
                return false;
            }
            // Rounded outwards by more than the errors of the root and of the conversion.
            let most = most.sqrt() * (1.0 + 1e-6);
            let least = least.max(0.0).sqrt() * (1.0 - 1e-6);
            let (mut new_low, mut new_high) = (low.max(-most), high.min(most));
            if new_low > -least && least > 0.0 {
                new_low = new_low.max(least);
            }
            if new_high < least && least > 0.0 {
                new_high = new_high.min(-least);
            }
            if new_low > new_high {
                return false;
            }
            let outwards = |x: f64, up: bool| {
                let rounded = x as f32;
                match up {
                    true if f64::from(rounded) < x => rounded.next_up(),
                    false if f64::from(rounded) > x => rounded.next_down(),
                    _ => rounded,
                }
            };
            region[direction.first + k] =
                Extent::Float([outwards(new_low, false), outwards(new_high, true)]);
            true
        })
    })
}
