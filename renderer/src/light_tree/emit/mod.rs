//! Lights become points (Walter et al. 2005): a point or a spot is one, a distant light one
//! direction; surfaces and skies are cut into pieces, their strata, of which each becomes one point
//! or direction in its middle, with all the light of the piece.
//!
//! How many: all surfaces together get about [`PointOptions::area_points`], in proportion to their
//! power, but each at least one for each side that shines (8 where they curve to all sides); all
//! skies together [`PointOptions::sky_points`], likewise. What does not shine, or not in finite
//! numbers, gets none.

mod area;
mod sky;

use super::point::{Emission, Kind, LightPoint};
use crate::light::{AnyLight, Light, Lights};
use crate::math::{Aabb, Cone, Vec2, Vec3};

pub(super) use area::is_front;
pub use sky::Block;
use sky::BlockMap;

/// How many points lights become.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointOptions {
    /// About so many for all surfaces together.
    pub area_points: u32,
    /// About so many directions for all skies together.
    pub sky_points: u32,
    /// Whether leaves stand for pieces with an extent, of which [`super::LightTree::draw`] draws
    /// places, rather than for points.
    pub extents: bool,
    /// Whether each surface is one leaf, or two if it is flat and shines to both sides, whatever
    /// `area_points` says.
    pub whole_surfaces: bool,
}

impl Default for PointOptions {
    fn default() -> PointOptions {
        PointOptions { area_points: 1024, sky_points: 1024, extents: false, whole_surfaces: false }
    }
}

/// All points of the lights of a scene, and what it takes to draw places of their pieces.
#[derive(Clone, Debug, Default)]
pub(super) struct Points {
    pub(super) points: Vec<LightPoint>,
    /// Of the piece that each point stands for; `None` where points are just that.
    pub(super) extents: Option<Vec<Extent>>,
    pub(super) strata: Strata,
}

/// Where the places of a piece are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Extent {
    /// Of positions; of unit directions for directional lights.
    pub(super) bounds: Aabb,
    /// Of axes, or directions.
    pub(super) cone: Cone,
}

impl Extent {
    /// Of a single point.
    pub(super) fn of(p: &LightPoint) -> Extent {
        let axis = if p.kind() == Kind::Directional { p.position } else { p.axis };
        Extent { bounds: Aabb { min: p.position, max: p.position }, cone: Cone::ray(axis) }
    }
}

impl Points {
    /// Adds a point, if it shines, in finite numbers.
    fn push(&mut self, point: LightPoint, extent: impl FnOnce(&LightPoint) -> Extent) {
        let finite =
            point.position.is_finite() && point.axis.is_finite() && point.intensity.is_finite();
        if !finite || point.intensity == Vec3::ZERO {
            return;
        }
        if let Some(extents) = &mut self.extents {
            extents.push(extent(&point));
        }
        self.points.push(point);
    }
}

/// How lights were cut.
#[derive(Clone, Debug, Default)]
pub(super) struct Strata {
    /// For each light, how many pieces along the sides of its square; empty where no light is a
    /// surface.
    grids: Vec<[u16; 2]>,
    /// Pieces of all skies; a stratum is an index.
    blocks: Vec<Block>,
    /// Where they are, with the light that they are pieces of.
    maps: Vec<(u32, BlockMap)>,
}

/// Cuts all lights into points.
pub(super) fn points(lights: &Lights, options: &PointOptions) -> Points {
    let all = lights.all();
    let (mut area, mut sky) = (0.0, 0.0);
    for light in all {
        let power = power(light);
        match light {
            AnyLight::Area(_) => area += power,
            AnyLight::Environment(_) => sky += power,
            _ => {}
        }
    }
    // At least one each, at most what indices of a grid hold.
    let share = |light: &AnyLight, total: f64, of: u32| {
        (power(light) / total * f64::from(of)).clamp(1.0, 1e9) as u32
    };
    let mut out = Points { extents: options.extents.then(Vec::new), ..Points::default() };
    if all.iter().any(|l| matches!(l, AnyLight::Area(_))) {
        out.strata.grids = vec![[0; 2]; all.len()];
    }
    for (index, light) in all.iter().enumerate() {
        let plain = LightPoint {
            position: Vec3::ZERO,
            axis: Vec3::ZERO,
            intensity: Vec3::ZERO,
            emission: Emission::Omni,
            light: index as u32,
            stratum: 0,
            offset: 0.0,
        };
        match light {
            AnyLight::Point(l) => {
                out.push(
                    LightPoint { position: l.position(), intensity: l.intensity(), ..plain },
                    Extent::of,
                );
            }
            AnyLight::Spot(l) => {
                let (position, axis, emission) =
                    (l.position(), l.axis(), Emission::Spot(l.falloff()));
                out.push(
                    LightPoint { position, axis, intensity: l.intensity(), emission, ..plain },
                    Extent::of,
                );
            }
            AnyLight::Distant(l) => {
                let point = LightPoint {
                    position: l.wi(),
                    intensity: l.irradiance(),
                    emission: Emission::Distant,
                    ..plain
                };
                out.push(point, Extent::of);
            }
            AnyLight::Area(l) if options.whole_surfaces => area::whole(l, &plain, &mut out),
            AnyLight::Area(l) if area > 0.0 => {
                area::cut(l, &plain, share(light, area, options.area_points), &mut out)
            }
            AnyLight::Environment(l) if sky > 0.0 => {
                sky::cut(l, &plain, share(light, sky, options.sky_points), &mut out)
            }
            AnyLight::Area(_) | AnyLight::Environment(_) => {}
        }
    }
    out
}

/// As [`Light::power`] in a scene of radius 1; 0 where it is not a finite number.
fn power(light: &AnyLight) -> f64 {
    let power = f64::from(light.power(1.0));
    if power.is_finite() { power.max(0.0) } else { 0.0 }
}

impl Strata {
    /// A place of the piece that `leaf` stands for, uniform for uniform `u`, with an intensity that
    /// makes the mean of many draws the light of the piece itself; 0 where the place does not
    /// shine.
    pub(super) fn draw(&self, lights: &Lights, leaf: &LightPoint, u: Vec2) -> LightPoint {
        match &lights.all()[leaf.light as usize] {
            AnyLight::Area(l) => area::draw(l, self.grids[leaf.light as usize], leaf, u),
            AnyLight::Environment(l) => sky::draw(l, &self.blocks[leaf.stratum as usize], leaf, u),
            AnyLight::Point(_) | AnyLight::Spot(_) | AnyLight::Distant(_) => *leaf,
        }
    }

    /// The block of a sky that a stratum is.
    pub(super) fn block(&self, stratum: u32) -> &Block {
        &self.blocks[stratum as usize]
    }

    /// The stratum of a sky at a place of its square; `None` where all is dark.
    pub(super) fn at_sky(&self, light: u32, place: Vec2) -> Option<u32> {
        self.maps.iter().find(|(of, _)| *of == light)?.1.find(place)
    }

    /// Bytes on the heap.
    pub(super) fn bytes(&self) -> usize {
        let maps: usize = self.maps.iter().map(|(_, map)| map.bytes()).sum();
        self.grids.capacity() * size_of::<[u16; 2]>()
            + self.blocks.capacity() * size_of::<Block>()
            + maps
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Random, each_cluster, factor, tree};
    use super::super::{LightTree, PointOptions};
    use super::*;
    use crate::geometry::Primitive;
    use crate::light::testing::{surfaces, triangle};
    use crate::light::{AreaLight, DistantLight, Environment, PointLight, SpotLight};
    use crate::math::{Transform, vec3};
    use crate::sampling::testing::points;
    use crate::texture::{Checkerboard, Domain, Param, Texture};
    use glam::{DAffine3, DQuat, dvec3};
    use std::sync::Arc;

    const EXTENTS: PointOptions =
        PointOptions { area_points: 12, sky_points: 24, extents: true, whole_surfaces: false };

    fn only(light: AnyLight) -> Lights {
        Lights::new(vec![light], super::super::testing::cube())
    }

    fn area(primitive: &Primitive, two_sided: bool) -> AnyLight {
        AnyLight::Area(AreaLight::new(primitive, 0, vec3(1.0, 2.0, 0.5), two_sided))
    }

    /// Few bright texels among dark ones.
    fn sky(transform: &Transform, size: usize) -> Environment {
        let mut random = Random(size as u32);
        let texels: Vec<Vec3> = (0..size * size)
            .map(|i| (random.cube() + 1.0) * if i % 17 == 3 { 100.0 } else { 1.0 })
            .collect();
        Environment::image(&texels, size, transform, 1.0).unwrap()
    }

    fn skewed() -> Transform {
        let stretch = DAffine3::from_scale(dvec3(-2.0, 1.0, 0.7));
        Transform::new(DAffine3::from_quat(DQuat::from_rotation_y(0.8)) * stretch).unwrap()
    }

    /// All kinds of lights, each with a place that it lights.
    fn all() -> Vec<(&'static str, AnyLight, Vec3)> {
        let mut all: Vec<(&'static str, AnyLight, Vec3)> = surfaces()
            .into_iter()
            .flat_map(|(name, p, from)| {
                [false, true].map(|two_sided| (name, area(&p, two_sided), from))
            })
            // Samples of a ball are of its near wall alone; the inside of the other one is for
            // shadow rays to find hidden.
            .filter(|(name, light, _)| {
                *name != "sphere" || !matches!(light, AnyLight::Area(a) if a.is_two_sided())
            })
            .collect();
        let masked = crate::light::testing::primitive(triangle(vec![]));
        let masked = |alpha| area(&Primitive { alpha: Some(alpha), ..masked.clone() }, true);
        let far = vec3(0.0, 0.0, 3.0);
        all.extend([
            ("mask", masked(checks()), Vec3::ZERO),
            ("invisible", masked(Param::from_float(0.0)), Vec3::ZERO),
            ("point", AnyLight::Point(PointLight::new(far, Vec3::ONE)), Vec3::ZERO),
            (
                "spot",
                AnyLight::Spot(
                    SpotLight::new(far, vec3(0.3, 0.0, -1.0), Vec3::ONE, 40.0, 30.0).unwrap(),
                ),
                Vec3::ZERO,
            ),
            ("distant", AnyLight::Distant(DistantLight::new(far, Vec3::ONE).unwrap()), Vec3::ZERO),
            ("constant sky", AnyLight::Environment(Environment::constant(Vec3::ONE)), Vec3::ZERO),
            ("sky", AnyLight::Environment(sky(&Transform::IDENTITY, 13)), Vec3::ZERO),
            ("stretched sky", AnyLight::Environment(sky(&skewed(), 13)), Vec3::ZERO),
        ]);
        all
    }

    /// Irradiance of both sides of a surface across z, from the mean of `n` samples of the light.
    fn by_samples(light: &AnyLight, x: Vec3, n: u32) -> f64 {
        let samples = points(n, 1).filter_map(|u| light.sample_li(x, u));
        samples.map(|s| f64::from(s.radiance.y * s.wi.z.abs() / s.pdf)).sum::<f64>() / f64::from(n)
    }

    /// The same from a point.
    fn by_point(p: &LightPoint, x: Vec3) -> f64 {
        p.arrive(x).map_or(0.0, |a| f64::from(p.intensity.y * a.factor * a.wi.z.abs()))
    }

    #[test]
    fn draws_light_as_the_light_does_and_stay_in_their_leaf() {
        for (name, light, x) in all() {
            let lights = only(light);
            let tree = tree(&lights, &EXTENTS);
            let mut mean = 0.0;
            each_cluster(&tree, |kind, index, k, leaves| {
                let (node, [leaf]) = (tree.node(index), leaves) else { return };
                let (bounds, cone) = (node.bounds(k), node.cone(k));
                let limits = [x, Vec3::ZERO, vec3(0.5, 2.0, 3.0)]
                    .map(|x| (x, node.geometric_bounds(kind, x)[k]));
                let n = 20_000 / tree.points().len() as u32 + 1;
                for u in points(n, *leaf) {
                    let drawn = tree.draw(&lights, *leaf, u);
                    assert!(
                        bounds.min.cmple(drawn.position).all()
                            && bounds.max.cmpge(drawn.position).all(),
                        "{name}"
                    );
                    let axis = if kind == Kind::Directional { drawn.position } else { drawn.axis };
                    assert!(axis == Vec3::ZERO || cone.contains(axis), "{name}: {axis} {cone:?}");
                    assert!(limits.iter().all(|(x, limit)| *limit >= factor(&drawn, *x)), "{name}");
                    mean += by_point(&drawn, x) / f64::from(n);
                }
            });
            let want = by_samples(&lights.all()[0], x, 100_000);
            assert!(
                want > 0.0 && (mean / want - 1.0).abs() < 0.025,
                "{name}: {mean}, by the light {want}"
            );
        }
    }

    #[test]
    fn points_light_nearly_as_the_light_does() {
        for (name, light, x) in all() {
            let lights = only(light);
            let tree = tree(
                &lights,
                &PointOptions { area_points: 800, sky_points: 100, ..PointOptions::default() },
            );
            let sum: f64 = tree.points().iter().map(|p| by_point(p, x)).sum();
            let want = by_samples(&lights.all()[0], x, 100_000);
            // A mask of few checks is the roughest.
            let tolerance = if name == "mask" { 0.15 } else { 0.05 };
            assert!((sum / want - 1.0).abs() < tolerance, "{name}: {sum}, by the light {want}");
        }
    }

    /// A mask that takes every other cube of the triangle's space.
    fn checks() -> Param {
        let scale = Transform::new(DAffine3::from_scale(dvec3(2.0, 2.0, 2.0))).unwrap();
        let (even, odd) = (Param::from_float(1.0), Param::from_float(0.25));
        Param::Texture(Arc::new(Texture::Checkerboard(Checkerboard {
            domain: Domain::Solid(scale),
            even,
            odd,
        })))
    }

    /// Points of each light.
    fn counts(tree: &LightTree, lights: usize) -> Vec<usize> {
        let mut counts = vec![0; lights];
        tree.points().iter().for_each(|p| counts[p.light as usize] += 1);
        counts
    }

    #[test]
    fn places_of_skies_are_found() {
        let skies =
            [Environment::constant(Vec3::ONE), sky(&skewed(), 13), sky(&Transform::IDENTITY, 16)];
        let lights = Lights::new(
            skies.into_iter().map(AnyLight::Environment).collect(),
            super::super::testing::cube(),
        );
        let tree = tree(&lights, &PointOptions { sky_points: 100, ..PointOptions::default() });
        for leaf in 0..tree.points().len() as u32 {
            let (point, block) = (tree.point(leaf), tree.block(leaf));
            for u in points(5, leaf) {
                let [lo, hi] =
                    [block.first, block.end].map(|c| crate::math::vec2(c[0] as f32, c[1] as f32));
                let place = (lo + (0.01 + 0.98 * u) * (hi - lo)) / block.side as f32;
                assert_eq!(
                    tree.sky_stratum(point.light, place),
                    Some(point.stratum),
                    "{block:?} {place}"
                );
            }
        }
        assert_eq!(tree.sky_stratum(3, Vec2::ZERO), None, "there is no such light");
        let dark: Vec<Vec3> =
            (0..64).map(|i| Vec3::splat(if i == 9 { 1.0 } else { 0.0 })).collect();
        let dark = only(AnyLight::Environment(
            Environment::image(&dark, 8, &Transform::IDENTITY, 1.0).unwrap(),
        ));
        let tree = super::super::testing::tree(&dark, &PointOptions::default());
        assert_eq!(tree.sky_stratum(0, Vec2::splat(0.2)), Some(0));
        assert_eq!(tree.sky_stratum(0, Vec2::splat(0.9)), None);
    }

    #[test]
    fn whole_surfaces_are_a_leaf_for_each_side_that_is_flat() {
        let whole = PointOptions { whole_surfaces: true, area_points: 1 << 20, ..EXTENTS };
        for (name, light, _) in all() {
            let lights = only(light);
            let AnyLight::Area(area) = &lights.all()[0] else { continue };
            let tree = tree(&lights, &whole);
            let sides = if area.is_two_sided() && !area.is_curved() { 2 } else { 1 };
            assert_eq!(tree.points().len(), sides, "{name}");
            assert!(
                (0..sides as u32)
                    .all(|leaf| tree.is_front(leaf) == (tree.point(leaf).stratum == 0))
            );
            for (leaf, u) in (0..20).flat_map(|k| {
                [0, sides as u32 - 1].map(|leaf| (leaf, points(1, k).next().unwrap()))
            }) {
                let (place, bounds) = (area.place(u), tree.node(0).bounds(leaf as usize));
                assert!(
                    bounds.min.cmple(place.p).all() && bounds.max.cmpge(place.p).all(),
                    "{name}"
                );
            }
        }
    }

    #[test]
    fn numbers_follow_power() {
        let plain = crate::light::testing::primitive(triangle(vec![]));
        let lit = |le: f32, two_sided| {
            AnyLight::Area(AreaLight::new(&plain, 0, Vec3::splat(le), two_sided))
        };
        let lights = Lights::new(
            vec![
                lit(1.0, false),
                lit(3.0, false),
                lit(0.0, false),
                lit(2.0, true),
                lit(f32::NAN, true),
            ],
            super::super::testing::cube(),
        );
        let tree = tree(&lights, &PointOptions { area_points: 800, ..PointOptions::default() });
        let counts = counts(&tree, 5);
        // Shares are 100, 300 and, of both sides, 400 of 800; grids leave a few out.
        assert_eq!((counts[2], counts[4]), (0, 0));
        for (i, share) in [(0, 100), (1, 300), (3, 400)] {
            assert!(
                counts[i] <= share && counts[i] * 10 >= share * 9,
                "{i}: {} of {share}",
                counts[i]
            );
        }
        let few = super::super::testing::tree(
            &lights,
            &PointOptions { area_points: 0, ..PointOptions::default() },
        );
        assert_eq!(self::counts(&few, 5), [1, 1, 0, 2, 0], "at least one for each side");
    }

    #[test]
    fn a_triangle_shines_from_its_centroid_and_a_ball_from_its_centre() {
        let few = PointOptions { area_points: 1, ..PointOptions::default() };
        for (name, primitive, _) in surfaces() {
            let lights = only(area(&primitive, false));
            let tree = tree(&lights, &few);
            match name {
                "triangle" => {
                    let [p] = tree.points() else { panic!("one point") };
                    assert!(
                        (p.position - vec3(1.0 / 3.0, 0.0, 2.0)).length() < 1e-6
                            && p.emission == Emission::Cosine
                    );
                }
                "sphere" => {
                    let [p] = tree.points() else { panic!("one point") };
                    assert!(
                        (p.position - vec3(0.2, 0.1, 3.0)).length() < 1e-6
                            && p.emission == Emission::Omni
                    );
                    let want = by_samples(&lights.all()[0], Vec3::ZERO, 100_000);
                    assert!(
                        (by_point(p, Vec3::ZERO) / want - 1.0).abs() < 2e-3,
                        "exact for what is all above the horizon"
                    );
                }
                _ if name.contains("sphere") || name.contains("ellipsoid") => {
                    assert_eq!(tree.points().len(), 8, "{name}")
                }
                _ => assert_eq!(tree.points().len(), 1, "{name}"),
            }
        }
    }

    #[test]
    fn all_light_of_a_sky_is_kept() {
        for (transform, size) in [(Transform::IDENTITY, 64), (skewed(), 37)] {
            let sky = sky(&transform, size);
            let whole: glam::DVec3 = (0..1 << 16)
                .map(|i| vec3((i % 256) as f32, (i / 256) as f32, 0.0).truncate())
                .map(|c| sky.place((c + 0.5) / 256.0))
                .map(|place| place.radiance.as_dvec3() * f64::from(place.stretch) / 65536.0)
                .sum();
            for wanted in [1, 50, 300] {
                let options = PointOptions { sky_points: wanted, ..PointOptions::default() };
                let tree = tree(&only(AnyLight::Environment(sky.clone())), &options);
                let n = tree.points().len();
                assert_eq!(n, wanted as usize);
                let sum: glam::DVec3 = tree.points().iter().map(|p| p.intensity.as_dvec3()).sum();
                assert!((sum - whole).length() < 0.03 * whole.length(), "{sum} {whole}");
                for p in tree.points() {
                    let single = tree.strata.blocks[p.stratum as usize].is_single();
                    assert!(
                        single || f64::from(p.intensity.y) < 3.0 * sum.y / n as f64,
                        "{p:?} {sum}"
                    );
                }
            }
        }
        let black = Environment::image(&[Vec3::ZERO; 16], 4, &Transform::IDENTITY, 1.0).unwrap();
        assert_eq!(tree(&only(AnyLight::Environment(black)), &EXTENTS).points().len(), 0);
    }
}
