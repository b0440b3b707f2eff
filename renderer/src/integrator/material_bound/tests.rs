//! What bounds of materials must obey: no light of a cluster is shaded brighter than the cluster's
//! bound, with no tolerance, whatever the material of the library, its parameters, the frame and
//! the cluster are, and modes stand to each other as they are meant to.

use super::{BoundError, BoundsAt, MaterialBounds};
use crate::geometry::Surface;
use crate::material::self_check::tests::any_value;
use crate::material::{Bound, Instance, Program, Setting, library};
use crate::math::direction_box::testing::{frame, in_cube, lanes, members, near, unit};
use crate::math::direction_box::{LANES, Lanes};
use crate::math::{DirectionBoxes, Frame, Vec3, Viewpoint, vec2, vec3};
use crate::scene::BoundMode;
use lightbound_shader::ir::random::Random;
use lightbound_shader::texture::Texture;
use lightbound_shader::{Arena, Batch, Settings, Shader, Sides, Target};
use std::sync::{Arc, LazyLock};

/// Shading points of each material, and clusters seen from each, by eights.
const POINTS: usize = if cfg!(debug_assertions) { 60 } else { 2000 };
const EIGHTS: usize = 3;

fn compiled(name: &str, text: &str, textures: Vec<Arc<Texture>>) -> Bound {
    let shader = Shader::parse(name, text).unwrap_or_else(|error| panic!("{name}: {error}"));
    let program = Program::compile(&Arena::new(), &shader, &Settings::default(), Target::best())
        .expect("it compiles");
    Bound::new(Arc::new(program), textures)
}

fn from_library(name: &str) -> Bound {
    let entry = library::find(name).expect("it is in the library");
    compiled(entry.name, entry.text, vec![])
}

/// All shaders of the library.
pub(in crate::integrator) static LIBRARY: LazyLock<Vec<Bound>> =
    LazyLock::new(|| library::LIBRARY.iter().map(|entry| from_library(entry.name)).collect());

/// Those for which bounds were derived by hand.
static BY_HAND: LazyLock<Vec<Bound>> = LazyLock::new(|| {
    let names = ["diffuse.wgsl", "isoward.wgsl", "phong.wgsl", "ward.wgsl"];
    LIBRARY.iter().filter(|bound| names.contains(&&*bound.program.name)).cloned().collect()
});

/// Members of `Material`, each within its range.
pub(in crate::integrator) fn any_members(program: &Program, seed: u32) -> Vec<u32> {
    let parameters =
        program.settable.iter().flat_map(|parameter| vec![parameter; parameter.size]).zip(0..);
    parameters
        .map(|(parameter, k)| parameter.scalar.bits(any_value(parameter, seed * 64 + k)))
        .collect()
}

/// A point from where clusters are seen, and where the material is seen from.
struct Place {
    p: Vec3,
    frame: Frame,
    side: f32,
    viewpoint: Viewpoint,
    wo: Vec3,
}

impl Place {
    /// A random place; one of four is seen along the surface.
    fn new(random: &mut Random, sides: Sides) -> Place {
        loop {
            let (p, frame, mut out) = (8.0 * in_cube(random), frame(random), unit(random));
            if random.once_in(4) {
                let low = 0.5f32.powi(random.below(30) as i32);
                let flat = frame.local_direction(out);
                let Some(grazing) = vec3(flat.x, flat.y, low * flat.z).try_normalize() else {
                    continue;
                };
                out = frame.to_world(grazing);
            }
            let side = if sides == Sides::One && frame.n.dot(out) < 0.0 { -1.0 } else { 1.0 };
            let viewpoint = Viewpoint::new(p, &frame, side);
            let wo = viewpoint.local_direction(out);
            if wo.z > 1e-9 || (sides == Sides::Both && wo.z.abs() > 1e-9) {
                return Place { p, frame, side, viewpoint, wo };
            }
        }
    }

    /// A direction in the world.
    fn to_world(&self, v: Vec3) -> Vec3 {
        self.frame.to_world(vec3(v.x, v.y, self.side * v.z))
    }

    /// A cluster anywhere, or where a mirror would show the eye, or what lies straight through the
    /// surface.
    fn cluster(&self, random: &mut Random) -> [Vec3; 2] {
        let towards = match random.below(3) {
            0 => return near(random, self.p),
            1 => vec3(-self.wo.x, -self.wo.y, self.wo.z),
            _ => -self.wo,
        };
        let size = 0.5f32.powi(random.below(12) as i32);
        let middle = self.p + 3.0 * self.to_world(towards) + size * in_cube(random);
        let half = size * in_cube(random).abs();
        [middle - half, middle + half]
    }
}

/// Runs `check` over clusters of many places, for each of the shaders: it gets boxes, and
/// directions in each.
fn for_each_eight(
    shaders: &[Bound],
    seed: u64,
    mut check: impl FnMut(usize, Vec3, &[u32], &DirectionBoxes, &[Vec<Vec3>; LANES]),
) {
    for (shader, bound) in shaders.iter().enumerate() {
        let random = &mut Random::new(seed);
        for point in 0..POINTS as u32 {
            let place = Place::new(random, bound.program.sides);
            let members_of = any_members(&bound.program, point);
            for _ in 0..EIGHTS {
                let clusters = [(); LANES].map(|()| place.cluster(random));
                let boxes = place
                    .viewpoint
                    .to_positions(&lanes(clusters.map(|c| c[0])), &lanes(clusters.map(|c| c[1])));
                let directions = clusters.map(|cluster| {
                    let towards = |q: Vec3| {
                        Some(place.viewpoint.local_direction((q - place.p).try_normalize()?))
                    };
                    members(random, cluster, place.p).into_iter().filter_map(towards).collect()
                });
                check(shader, place.wo, &members_of, &boxes, &directions);
            }
        }
    }
}

/// Checks that nothing is brighter than its bound; how many bounds there are, how many of them
/// finite, and how many are nearly met.
fn contains(shaders: &[Bound], mode: BoundMode) -> [usize; 3] {
    let bounds = MaterialBounds::compile(shaders, mode).expect("it compiles");
    let mut at = BoundsAt::new(&bounds);
    let [mut all, mut finite, mut met] = [0; 3];
    for_each_eight(shaders, 1, |shader, wo, members, boxes, directions| {
        at.begin_with(shader, wo, members);
        let upper = at.bound(boxes);
        for (lane, directions) in directions.iter().enumerate() {
            let most = upper.map(|of| of[lane]);
            let mut greatest = 0f32;
            for wi in directions.chunks(LANES) {
                for (s, wi) in at.evaluate(wi).iter().zip(wi) {
                    let name = &shaders[shader].program.name;
                    // NaN is above nothing.
                    let brighter = (0..3).find(|&k| s[k] > most[k]);
                    assert_eq!(
                        brighter,
                        None,
                        "{name}, {members:x?}, {wo}: {s} at {wi} of {:?}, {most:?}",
                        boxes.get(lane)
                    );
                    greatest = greatest.max(s.max_element());
                }
            }
            let most = most.into_iter().fold(0.0, f32::max);
            all += 1;
            finite += usize::from(most < f32::INFINITY);
            met += usize::from(most > 0.0 && most <= 1.2 * greatest);
        }
    });
    [all, finite, met]
}

#[test]
fn naive_and_optimized_bounds_hold() {
    for mode in [BoundMode::Naive, BoundMode::Optimized] {
        let [all, finite, met] = contains(&LIBRARY, mode);
        assert!(finite > all - all / 10 && met > all / 5, "{finite} and {met} of {all}");
    }
}

#[test]
fn related_bounds_hold() {
    let [all, finite, met] = contains(&LIBRARY, BoundMode::Related);
    // Lobes of rough metal and glass have no greatest value along the surface.
    assert!(finite > all - all / 40 && met > all / 3, "{finite} and {met} of {all}");
}

#[test]
fn bounds_by_hand_hold() {
    let [all, finite, met] = contains(&BY_HAND, BoundMode::Hand);
    assert!(finite == all && met > all / 3, "{met} of {all}");
}

#[test]
fn modes_stand_to_each_other_as_they_should() {
    let all = [BoundMode::Naive, BoundMode::Optimized, BoundMode::Related];
    let all = all.map(|mode| MaterialBounds::compile(&LIBRARY, mode).expect("it compiles"));
    let mut at = all.each_ref().map(BoundsAt::new);
    let mut tighter = 0;
    for_each_eight(&LIBRARY, 2, |shader, wo, members, boxes, _| {
        let [naive, optimized, related]: [[Lanes; 3]; 3] = at.each_mut().map(|at| {
            at.begin_with(shader, wo, members);
            at.bound(boxes)
        });
        let name = &LIBRARY[shader].program.name;
        assert_eq!(naive, optimized, "{name}, {members:x?}, {wo}, {boxes:?}");
        for (a, b) in std::iter::zip(related.as_flattened(), optimized.as_flattened()) {
            // Results that underflow may add that much.
            assert!(
                *a <= *b + f32::MIN_POSITIVE,
                "{name}, {members:x?}, {wo}, {boxes:?}: {a} > {b}"
            );
            tighter += usize::from(*a < 0.5 * *b);
        }
    });
    assert!(tighter > 1000, "{tighter}");
}

#[test]
fn what_is_bounded_is_what_paths_are_shaded_with() {
    let bounds = MaterialBounds::compile(&LIBRARY, BoundMode::Optimized).expect("it compiles");
    let mut at = BoundsAt::new(&bounds);
    let mut bright = 0;
    for_each_eight(&LIBRARY, 3, |shader, wo, members, _, directions| {
        at.begin_with(shader, wo, members);
        let kernel = &LIBRARY[shader].program.evaluate;
        let wi = &directions[0][..directions[0].len().min(5)];
        let mut inputs = Batch::new(kernel.target(), 6 + members.len(), wi.len());
        let mut outputs = Batch::new(kernel.target(), kernel.outputs().len(), wi.len());
        for (row, wi) in wi.iter().enumerate() {
            let directions = [wi.to_array(), wo.to_array()].concat();
            let words: Vec<_> =
                directions.into_iter().map(f32::to_bits).chain(members.iter().copied()).collect();
            inputs.set_row(row, 0, &words);
        }
        kernel.run(&[], &inputs, &mut outputs);
        for (row, s) in at.evaluate(wi)[..wi.len()].iter().enumerate() {
            let expected: [f32; 3] = outputs.floats(row, 0);
            assert!(
                s.to_array() == expected || s.is_nan(),
                "{}: {s}, {expected:?}",
                LIBRARY[shader].program.name
            );
            bright += usize::from(s.x > 0.0);
        }
    });
    assert!(bright > 1000, "{bright}");
}

#[test]
fn members_are_computed_and_textures_read() {
    let text = "
        struct Material {
            /// Albedo. range: [0, 1]
            kd: vec3f,
        }
        var wood: texture_2d<f32>;
        var smoothly: sampler;
        fn material(p: SurfacePoint, m: Material) -> Material {
            return Material(m.kd * vec3f(p.uv.x, p.object_position.y, p.normal.z));
        }
        fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
            return m.kd * textureSample(wood, smoothly, wi.xy).r;
        }";
    let bound = compiled("wood.wgsl", text, vec![Arc::new(Texture::new(1, &[[0.5; 4]]))]);
    let settings = [(&bound.program.settable[0], Setting::Constant(vec![0.5, 1.0, 0.25]))];
    let instance = Instance::new(1, settings);
    // Two shaders, so that none is taken for the other.
    let shaders = [from_library("diffuse"), bound.clone()];
    let bounds = MaterialBounds::compile(&shaders, BoundMode::Related).expect("it compiles");
    let mut at = BoundsAt::new(&bounds);
    let frame = Frame::from_normal(Vec3::Z);
    let surface = Surface { p: Vec3::ZERO, ng: Vec3::Z, frame, uv: vec2(0.5, 0.0), offset: 0.0 };
    for y in [0.5, 1.0] {
        at.begin(&instance, &surface, || vec3(9.0, y, 9.0), Vec3::Z);
        let expected = 0.5 * vec3(0.25, y, 0.25);
        let s = at.evaluate(&[Vec3::Z, Vec3::X, vec3(0.6, 0.0, 0.8)]);
        assert_eq!(s[..4], [expected, Vec3::ZERO, 0.8 * expected, Vec3::ZERO]);
        let upper = at.bound(&DirectionBoxes::WHOLE).map(|of| of[7]);
        assert!((Vec3::from_array(upper) - expected).abs().max_element() < 1e-5, "{upper:?}");
    }
    at.begin_with(0, Vec3::Z, &[0.5f32.to_bits(); 3]);
    assert!((at.evaluate(&[Vec3::Z])[0].x - 0.15915494).abs() < 1e-6);
    let counts = at.take_counts();
    assert_eq!((counts.evaluations, counts.capped), (2 * 4 + 1, 0));
}

#[test]
fn bounds_by_hand_are_refused_for_other_shaders() {
    let text = library::find("phong").expect("it is in the library").text;
    let changed = text.replace("cos_alpha, m.exponent", "cos_alpha, m.exponent + 1.0");
    for bound in [from_library("ashikhmin"), compiled("phong.wgsl", &changed, vec![])] {
        let name = bound.program.name.clone();
        let shaders = [from_library("phong"), bound];
        let error =
            MaterialBounds::compile(&shaders, BoundMode::Hand).expect_err("nobody derived any");
        assert!(matches!(&error, BoundError::Hand { name: of } if *of == name), "{error:?}");
        let message = error.to_string();
        assert!(
            message.contains(&name)
                && message.contains("diffuse.wgsl, isoward.wgsl, phong.wgsl, ward.wgsl"),
            "{message}"
        );
    }
    // A copy is as good.
    MaterialBounds::compile(&[compiled("scenes/copy.wgsl", text, vec![])], BoundMode::Hand)
        .expect("it has bounds");
}
