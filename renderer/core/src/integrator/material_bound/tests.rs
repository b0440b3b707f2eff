//! Tests of material bounds, for all library materials, random parameters, frames and clusters.
//! BRDF × cosine towards a cluster never exceeds the cluster's bound, without tolerance. Optimized
//! bounds equal naive bounds, and related bounds are tighter.

use super::{BoundError, BoundEvaluator, MaterialBounds};
use crate::geometry::Surface;
use crate::material::measured::MeasuredBrdf;
use crate::material::measured::testing as measured;
use crate::material::regions;
use crate::material::self_check::testing::any_value;
use crate::material::{Program, Setting, ShaderBinding, ShaderInstance, library};
use crate::settings::BoundMode;
use lightbound_math::direction_box::testing::{
    frame, in_cube, lanes, points_in_box, random_box, unit,
};
use lightbound_math::direction_box::{LANES, Lanes};
use lightbound_math::{DirectionBoxes, Frame, Vec3, Viewpoint, vec2, vec3};
use lightbound_shader::random::Random;
use lightbound_shader::texture::Texture;
use lightbound_shader::{Arena, Batch, Settings, Shader, SurfaceSides, Target};
use std::sync::{Arc, LazyLock};

/// Number of shading points per material.
const POINTS: usize = if cfg!(debug_assertions) { 60 } else { 2000 };
/// Number of 8-wide groups of clusters per shading point.
const GROUPS: usize = 3;

fn compile(name: &str, text: &str, textures: Vec<Arc<Texture>>) -> ShaderBinding {
    let shader = Shader::parse(name, text).unwrap_or_else(|error| panic!("{name}: {error}"));
    let program = Program::compile(&Arena::new(), &shader, &Settings::default(), Target::best())
        .expect("the shader compiles");
    ShaderBinding::new(Arc::new(program), textures)
}

fn compile_library_shader(name: &str) -> ShaderBinding {
    let entry = library::find(name).expect("the library has the shader");
    compile(entry.name, entry.text, vec![])
}

/// All shaders of the library.
pub(in crate::integrator) static LIBRARY: LazyLock<Vec<ShaderBinding>> = LazyLock::new(|| {
    library::LIBRARY.iter().map(|entry| compile_library_shader(entry.name)).collect()
});

/// The shaders with hand-derived bounds.
static HAND_BOUNDED: LazyLock<Vec<ShaderBinding>> = LazyLock::new(|| {
    let names = ["diffuse.wgsl", "isoward.wgsl", "phong.wgsl", "ward.wgsl"];
    LIBRARY.iter().filter(|binding| names.contains(&&*binding.program.name)).cloned().collect()
});

/// Returns the words of random material parameters, each within its range.
pub(in crate::integrator) fn random_parameters(program: &Program, seed: u32) -> Vec<u32> {
    let words =
        program.settable.iter().flat_map(|parameter| vec![parameter; parameter.size]).zip(0..);
    words.map(|(parameter, k)| parameter.scalar.bits(any_value(parameter, seed * 64 + k))).collect()
}

/// A shading point with its frame and outgoing direction.
struct ShadingView {
    p: Vec3,
    frame: Frame,
    side: f32,
    viewpoint: Viewpoint,
    wo: Vec3,
}

impl ShadingView {
    /// Returns a random shading point. One in four is seen at a grazing angle.
    fn new(random: &mut Random, sides: SurfaceSides) -> ShadingView {
        loop {
            let (p, frame, mut wo_world) = (8.0 * in_cube(random), frame(random), unit(random));
            if random.once_in(4) {
                let factor = 0.5f32.powi(random.below(30) as i32);
                let local = frame.local_direction(wo_world);
                let Some(grazing) = vec3(local.x, local.y, factor * local.z).try_normalize() else {
                    continue;
                };
                wo_world = frame.to_world(grazing);
            }
            let side =
                if sides == SurfaceSides::One && frame.n.dot(wo_world) < 0.0 { -1.0 } else { 1.0 };
            let viewpoint = Viewpoint::new(p, &frame, side);
            let wo = viewpoint.local_direction(wo_world);
            if wo.z > 1e-9 || (sides == SurfaceSides::Both && wo.z.abs() > 1e-9) {
                return ShadingView { p, frame, side, viewpoint, wo };
            }
        }
    }

    /// Transforms a local direction to world space.
    fn to_world(&self, v: Vec3) -> Vec3 {
        self.frame.to_world(vec3(v.x, v.y, self.side * v.z))
    }

    /// Returns the box of a random cluster: near the point, in the mirror direction, or in the
    /// direction of straight transmission.
    fn cluster(&self, random: &mut Random) -> [Vec3; 2] {
        let towards = match random.below(3) {
            0 => return random_box(random, self.p),
            1 => vec3(-self.wo.x, -self.wo.y, self.wo.z),
            _ => -self.wo,
        };
        let size = 0.5f32.powi(random.below(12) as i32);
        let center = self.p + 3.0 * self.to_world(towards) + size * in_cube(random);
        let half = size * in_cube(random).abs();
        [center - half, center + half]
    }
}

/// For each shader, calls `check` for groups of clusters seen from many shading points, with the
/// shader's index, `wo`, the parameters, the direction boxes, and directions in each box.
pub(super) fn for_each_group(
    shaders: &[ShaderBinding],
    seed: u64,
    mut check: impl FnMut(usize, Vec3, &[u32], &DirectionBoxes, &[Vec<Vec3>; LANES]),
) {
    for (shader, binding) in shaders.iter().enumerate() {
        let random = &mut Random::new(seed);
        for point in 0..POINTS as u32 {
            let view = ShadingView::new(random, binding.program.sides);
            let parameters = random_parameters(&binding.program, point);
            for _ in 0..GROUPS {
                let clusters = [(); LANES].map(|()| view.cluster(random));
                let boxes = view
                    .viewpoint
                    .to_positions(&lanes(clusters.map(|c| c[0])), &lanes(clusters.map(|c| c[1])));
                let directions = clusters.map(|cluster| {
                    let towards = |q: Vec3| {
                        Some(view.viewpoint.local_direction((q - view.p).try_normalize()?))
                    };
                    points_in_box(random, cluster, view.p).into_iter().filter_map(towards).collect()
                });
                check(shader, view.wo, &parameters, &boxes, &directions);
            }
        }
    }
}

/// Asserts that BRDF × cosine does not exceed its bound. Returns the number of bounds, and how many
/// of them are finite and tight.
fn assert_bounds_hold(shaders: &[ShaderBinding], mode: BoundMode) -> [usize; 3] {
    let bounds = MaterialBounds::compile(shaders, mode).expect("the shaders compile");
    let mut evaluator = BoundEvaluator::new(&bounds);
    let [mut all, mut finite, mut tight] = [0; 3];
    for_each_group(shaders, 1, |shader, wo, parameters, boxes, directions| {
        evaluator.begin_with_parameters(shader, wo, parameters);
        let upper = evaluator.bound(boxes);
        for (lane, directions) in directions.iter().enumerate() {
            let bound = upper.map(|lanes| lanes[lane]);
            let mut max_s = 0f32;
            for wi in directions.chunks(LANES) {
                for (s, wi) in evaluator.evaluate(wi).iter().zip(wi) {
                    let name = &shaders[shader].program.name;
                    // NaN compares false, so it never counts as a violation.
                    let violation = (0..3).find(|&k| s[k] > bound[k]);
                    assert_eq!(
                        violation,
                        None,
                        "{name}, {parameters:x?}, {wo}: {s} at {wi} in {:?} exceeds {bound:?}",
                        boxes.get(lane)
                    );
                    max_s = max_s.max(s.max_element());
                }
            }
            let bound = bound.into_iter().fold(0.0, f32::max);
            all += 1;
            finite += usize::from(bound < f32::INFINITY);
            tight += usize::from(bound > 0.0 && bound <= 1.2 * max_s);
        }
    });
    [all, finite, tight]
}

#[test]
fn naive_and_optimized_bounds_hold() {
    for mode in [BoundMode::Naive, BoundMode::Optimized] {
        let [all, finite, tight] = assert_bounds_hold(&LIBRARY, mode);
        assert!(
            finite > all - all / 10 && tight > all / 5,
            "{finite} finite and {tight} tight of {all}"
        );
    }
}

#[test]
fn related_bounds_hold() {
    let [all, finite, tight] = assert_bounds_hold(&LIBRARY, BoundMode::Related);
    // Lobes of rough metal and glass are unbounded at grazing angles.
    assert!(
        finite > all - all / 40 && tight > all / 3,
        "{finite} finite and {tight} tight of {all}"
    );
}

#[test]
fn bounds_of_measured_materials_hold() {
    let tables = [
        measured::Ggx { alpha: [0.2, 0.2] }.tables(1, 33),
        measured::Ggx { alpha: [0.3, 0.6] }.tables(9, 17),
        measured::random(1, 1, 0.0),
        measured::random(4, 2, 0.1),
    ];
    let materials = tables.map(|tables| {
        measured::bind(&MeasuredBrdf::parse(&tables.file()).expect("the tables are valid"))
    });
    for mode in [BoundMode::Optimized, BoundMode::Related] {
        let [all, finite, tight] = assert_bounds_hold(&materials, mode);
        assert!(finite == all && tight > all / 20, "{finite} finite and {tight} tight of {all}");
    }
}

#[test]
fn hand_derived_bounds_hold() {
    let [all, finite, tight] = assert_bounds_hold(&HAND_BOUNDED, BoundMode::Hand);
    assert!(finite == all && tight > all / 3, "{finite} finite and {tight} tight of {all}");
}

#[test]
fn optimized_equals_naive_and_related_is_tighter() {
    let modes = [BoundMode::Naive, BoundMode::Optimized, BoundMode::Related];
    let bounds =
        modes.map(|mode| MaterialBounds::compile(&LIBRARY, mode).expect("the shaders compile"));
    let mut evaluators = bounds.each_ref().map(BoundEvaluator::new);
    let mut tighter = 0;
    for_each_group(&LIBRARY, 2, |shader, wo, parameters, boxes, _| {
        let [naive, optimized, related]: [[Lanes; 3]; 3] = evaluators.each_mut().map(|evaluator| {
            evaluator.begin_with_parameters(shader, wo, parameters);
            evaluator.bound(boxes)
        });
        let name = &LIBRARY[shader].program.name;
        assert_eq!(naive, optimized, "{name}, {parameters:x?}, {wo}, {boxes:?}");
        for (a, b) in std::iter::zip(related.as_flattened(), optimized.as_flattened()) {
            // Underflow may increase results by up to `MIN_POSITIVE`.
            assert!(
                *a <= *b + f32::MIN_POSITIVE,
                "{name}, {parameters:x?}, {wo}, {boxes:?}: {a} > {b}"
            );
            tighter += usize::from(*a < 0.5 * *b);
        }
    });
    assert!(tighter > 1000, "{tighter}");
}

#[test]
fn evaluator_matches_the_program_kernel() {
    let bounds =
        MaterialBounds::compile(&LIBRARY, BoundMode::Optimized).expect("the shaders compile");
    let mut evaluator = BoundEvaluator::new(&bounds);
    let mut nonzero = 0;
    for_each_group(&LIBRARY, 3, |shader, wo, parameters, _, directions| {
        evaluator.begin_with_parameters(shader, wo, parameters);
        let kernel = &LIBRARY[shader].program.evaluate;
        let wi = &directions[0][..directions[0].len().min(5)];
        let mut inputs = Batch::new(kernel.target(), 6 + parameters.len(), wi.len());
        let mut outputs = Batch::new(kernel.target(), kernel.outputs().len(), wi.len());
        for (row, wi) in wi.iter().enumerate() {
            let directions = [wi.to_array(), wo.to_array()].concat();
            let words: Vec<_> = directions
                .into_iter()
                .map(f32::to_bits)
                .chain(parameters.iter().copied())
                .collect();
            inputs.set_row(row, 0, &words);
        }
        kernel.run(&[], &inputs, &mut outputs);
        for (row, s) in evaluator.evaluate(wi)[..wi.len()].iter().enumerate() {
            let expected: [f32; 3] = outputs.floats(row, 0);
            assert!(
                s.to_array() == expected || s.is_nan(),
                "{}: {s}, {expected:?}",
                LIBRARY[shader].program.name
            );
            nonzero += usize::from(s.x > 0.0);
        }
    });
    assert!(nonzero > 1000, "{nonzero}");
}

#[test]
fn shaders_with_setup_and_textures_are_bounded() {
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
    let binding = compile("wood.wgsl", text, vec![Arc::new(Texture::new(1, &[[0.5; 4]]))]);
    let settings = [(&binding.program.settable[0], Setting::Constant(vec![0.5, 1.0, 0.25]))];
    let instance = ShaderInstance::new(1, settings);
    // The second shader detects mixed-up indices.
    let shaders = [compile_library_shader("diffuse"), binding.clone()];
    let bounds =
        MaterialBounds::compile(&shaders, BoundMode::Related).expect("the shaders compile");
    let mut evaluator = BoundEvaluator::new(&bounds);
    let frame = Frame::from_normal(Vec3::Z);
    let surface = Surface { p: Vec3::ZERO, ng: Vec3::Z, frame, uv: vec2(0.5, 0.0), offset: 0.0 };
    for y in [0.5, 1.0] {
        let positions = || [Vec3::ZERO, vec3(9.0, y, 9.0)];
        evaluator.begin((&instance, None), surface.lookup(), surface.frame.n, positions, Vec3::Z);
        let expected = 0.5 * vec3(0.25, y, 0.25);
        let s = evaluator.evaluate(&[Vec3::Z, Vec3::X, vec3(0.6, 0.0, 0.8)]);
        assert_eq!(s[..4], [expected, Vec3::ZERO, 0.8 * expected, Vec3::ZERO]);
        let upper = evaluator.bound(&DirectionBoxes::ALL).map(|lanes| lanes[7]);
        assert!((Vec3::from_array(upper) - expected).abs().max_element() < 1e-5, "{upper:?}");
    }
    evaluator.begin_with_parameters(0, Vec3::Z, &[0.5f32.to_bits(); 3]);
    assert!((evaluator.evaluate(&[Vec3::Z])[0].x - 0.15915494).abs() < 1e-6);
    let counts = evaluator.take_counts();
    assert_eq!((counts.evaluations, counts.capped), (2 * 4 + 1, 0));
}

#[test]
fn bindings_of_one_program_share_kernels_and_keep_their_textures() {
    let text = "
        struct Material { kd: f32 }
        var wood: texture_2d<f32>;
        var smoothly: sampler;
        fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
            return vec3f(m.kd * textureSample(wood, smoothly, wi.xy).r);
        }";
    let texture = |value: f32| vec![Arc::new(Texture::new(1, &[[value; 4]]))];
    let first = compile("wood.wgsl", text, texture(0.5));
    let shaders = [first.clone(), ShaderBinding::new(first.program, texture(0.25))];
    let bounds = MaterialBounds::compile_for_clusters(&shaders, BoundMode::Related)
        .expect("the shaders compile");
    assert_eq!(bounds.program_count(), 1);
    let mut evaluator = BoundEvaluator::new(&bounds);
    for (shader, kd) in [(0, 1.0f32), (1, 0.5), (0, 0.25)] {
        let expected = kd * [0.5, 0.25][shader];
        evaluator.begin_with_parameters(shader, Vec3::Z, &[kd.to_bits()]);
        assert_eq!(evaluator.evaluate(&[Vec3::Z])[0], Vec3::splat(expected));
        let upper = evaluator.bound(&DirectionBoxes::ALL)[0][0];
        assert!((upper - expected).abs() < 1e-5, "{upper} {expected}");
        let (index, words) = evaluator.shading_point();
        let endpoints: Vec<_> = words.iter().map(|&word| [word; 2]).collect();
        assert_eq!(index, shader);
        evaluator.begin_cluster(shader, &endpoints);
        let upper = evaluator.bound_cluster(&DirectionBoxes::ALL)[0][0];
        assert!((upper - expected).abs() < 1e-5, "{upper} {expected}");
    }
}

#[test]
fn shaders_without_hand_derived_bounds_are_rejected() {
    let text = library::find("phong").expect("the library has the shader").text;
    let changed = text.replace("cos_alpha, m.exponent", "cos_alpha, m.exponent + 1.0");
    for binding in [compile_library_shader("ashikhmin"), compile("phong.wgsl", &changed, vec![])] {
        let name = binding.program.name.clone();
        let shaders = [compile_library_shader("phong"), binding];
        let error = MaterialBounds::compile(&shaders, BoundMode::Hand)
            .expect_err("the shader has no hand-derived bounds");
        assert!(
            matches!(&error, BoundError::Hand { name: reported } if *reported == name),
            "{error:?}"
        );
        let message = error.to_string();
        assert!(
            message.contains(&name)
                && message.contains("diffuse.wgsl, isoward.wgsl, phong.wgsl, ward.wgsl"),
            "{message}"
        );
    }
    // A copy of a library shader has bounds.
    MaterialBounds::compile(&[compile("scenes/copy.wgsl", text, vec![])], BoundMode::Hand)
        .expect("the copy has bounds");
}

#[test]
fn versions_for_regions_equal_the_general_one() {
    let metal = [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0];
    let coat = [0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0];
    let (shaders, _) =
        regions::testing::masked(&[("base_metalness", metal), ("coat_weight", coat)]);
    let general = [ShaderBinding {
        program: Arc::new(shaders[0].program.with_regions(&[])),
        ..shaders[0].clone()
    }];
    let [general, special] = [&general[..], &shaders]
        .map(|shaders| MaterialBounds::compile(shaders, BoundMode::Related).expect("it compiles"));
    assert!(general.kernels[0].regions.is_empty());
    assert!(special.kernels[0].regions.len() > 1);
    let guards: Vec<_> =
        special.kernels[0].regions.iter().map(|(guard, _)| guard.clone()).collect();
    let words = ["base_metalness", "coat_weight"]
        .map(|name| regions::testing::word(&shaders[0].program, name));
    let (mut general, mut special) = (BoundEvaluator::new(&general), BoundEvaluator::new(&special));
    let mut point = 0;
    for_each_group(&shaders, 4, |shader, wo, _, boxes, directions| {
        let defaults = shaders[0].program.settable.iter();
        let mut parameters: Vec<_> =
            defaults.flat_map(|p| p.default.iter().flatten().map(|&x| p.scalar.bits(x))).collect();
        let values = [0.0, 1.0, 0.0, 1.0, 0.5, f32::from_bits(1), 1.0_f32.next_down()];
        parameters[words[0]] = values[point % values.len()].to_bits();
        parameters[words[1]] = values[point / values.len() % values.len()].to_bits();
        point += 1;
        general.begin_with_parameters(shader, wo, &parameters);
        special.begin_with_parameters(shader, wo, &parameters);
        let upper = special.bound(boxes);
        for (lane, directions) in directions.iter().enumerate() {
            for wi in directions.chunks(LANES) {
                let (a, b) = (general.evaluate(wi), special.evaluate(wi));
                // −0 and 0 are equal.
                let is_same = std::iter::zip(a, b).all(|(a, b)| a == b || a.is_nan() && b.is_nan());
                assert!(is_same, "{parameters:x?}, {wo}: {a:?} became {b:?}");
                for s in &b[..wi.len()] {
                    let violation = (0..3).find(|&k| s[k] > upper[k][lane]);
                    assert_eq!(violation, None, "{parameters:x?}, {wo}: {s} exceeds {upper:?}");
                }
            }
        }
        let is_region = guards.iter().any(|guard| guard.admits(&parameters));
        // Masks that are both 0 or 1 have a version.
        let is_mask =
            words.iter().all(|&word| values[..2].contains(&f32::from_bits(parameters[word])));
        assert!(is_region || !is_mask, "{parameters:x?}");
        if !is_region {
            assert_eq!(general.bound(boxes), upper, "{parameters:x?}, {wo}");
        }
    });
    assert!(point > 100, "{point}");
}
