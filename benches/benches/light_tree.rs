//! Time and memory to build light trees of a million lights, and time to bound clusters. Items are
//! lights, or children of nodes.
//!
//! `cargo bench -p lightbound-benches --bench light_tree`. Trees are built on all processors.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use lightbound::geometry::{Mesh, Primitive, Shape};
use lightbound::light::{AnyLight, AreaLight, DistantLight, Lights, PointLight, SpotLight};
use lightbound::light_tree::{LightTree, PointOptions};
use lightbound_math::sampling::{hash, unit_float};
use lightbound_math::{Aabb, Vec3, vec3};

const LIGHTS: u32 = 1_000_000;

const LIGHT_KINDS: [&str; 5] = ["points", "equal", "spots", "triangles", "distant"];

fn main() {
    for kind in LIGHT_KINDS {
        let tree = build(&lights(kind));
        println!("{LIGHTS} {kind}: {:.1} bytes per light", tree.bytes() as f64 / f64::from(LIGHTS));
    }
    divan::main();
}

/// Returns random point k of light i in the cube [−1, 1)³.
fn point_in_cube(i: u32, k: u32) -> Vec3 {
    let coordinate = |axis: u32| 2.0 * unit_float(hash(hash(7, i), 3 * k + axis)) - 1.0;
    vec3(coordinate(0), coordinate(1), coordinate(2))
}

/// Returns a million lights in a flat box, in all directions, or all equal.
fn lights(kind: &str) -> Lights {
    let light = |i: u32| {
        let p = vec3(10.0, 10.0, 1.0) * point_in_cube(i, 0);
        let (axis, colour) = (point_in_cube(i, 1), point_in_cube(i, 2) + 1.5);
        match kind {
            "points" => AnyLight::Point(PointLight::new(p, colour)),
            "equal" => AnyLight::Point(PointLight::new(Vec3::ONE, Vec3::ONE)),
            "spots" => {
                AnyLight::Spot(SpotLight::new(p, axis, colour, 30.0, 5.0).expect("a valid light"))
            }
            "distant" => AnyLight::Distant(DistantLight::new(axis, colour).expect("a valid light")),
            _ => {
                let corners = vec![p, p + 0.01 * axis, p + 0.01 * vec3(axis.y, -axis.x, 0.3)];
                let mesh =
                    Mesh::new(corners, vec![[0, 1, 2]], vec![], vec![]).expect("a valid mesh");
                let shape = Shape::Mesh(mesh);
                let primitive = Primitive {
                    shape,
                    material: 0,
                    first_light: Some(i),
                    alpha: None,
                    flip: false,
                    media: None,
                };
                AnyLight::Area(AreaLight::new(&primitive, 0, colour, false))
            }
        }
    };
    Lights::new((0..LIGHTS).map(light).collect(), bounds())
}

fn bounds() -> Aabb {
    Aabb { min: vec3(-10.0, -10.0, -1.0), max: vec3(10.0, 10.0, 1.0) }
}

fn build(lights: &Lights) -> LightTree {
    let tree = LightTree::build(lights, bounds(), &PointOptions::default());
    assert_eq!(tree.points().len(), LIGHTS as usize);
    tree
}

#[divan::bench(args = LIGHT_KINDS, sample_count = 5, sample_size = 1)]
fn trees(bencher: Bencher, kind: &str) {
    let lights = lights(kind);
    bencher.counter(ItemsCount::new(LIGHTS)).bench(|| build(black_box(&lights)));
}

/// Computes bounds on geometric terms for the first nodes, at shading points around them.
#[divan::bench(args = ["points", "spots"])]
fn geometric_bounds(bencher: Bencher, kind: &str) {
    const NODES: u32 = 256;
    const POINTS: u32 = 64;
    let tree = build(&lights(kind));
    let (light_kind, _) = tree.roots().next().expect("the tree has a root");
    let points: Vec<Vec3> = (0..POINTS).map(|i| 12.0 * point_in_cube(i, 5)).collect();
    bencher.counter(ItemsCount::new(8 * NODES * POINTS)).bench(|| {
        let mut sum = 0.0;
        for &x in black_box(&points) {
            for node in 0..NODES {
                sum += tree
                    .node(node)
                    .geometric_bounds(light_kind, x)
                    .iter()
                    .filter(|b| b.is_finite())
                    .sum::<f32>();
            }
        }
        assert!(sum > 0.0);
        sum
    });
}
