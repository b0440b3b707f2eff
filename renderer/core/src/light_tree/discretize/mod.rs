//! Discretisation of lights into points (Walter et al. 2005). A point, spot or goniometric light
//! becomes one point, a projection light one point for each colour channel, and a distant light one
//! direction. The points of lights with images have the maximum of the image, and those behind
//! portals are visible everywhere; [`Lights::mask`] reduces them. Area and environment lights are
//! divided into parts, called strata. Each stratum becomes one point or direction at its centre,
//! with the total light of the stratum. Moving lights are not divided: they become what a light
//! halfway through the exposure becomes, with the extent of the whole motion.
//!
//! All area lights together get about [`PointOptions::area_points`], in proportion to their power.
//! Each gets at least one point per emitting side (8 points if it is curved). Environment lights
//! share [`PointOptions::environment_points`] in the same way. Black and non-finite lights get no
//! points.

mod area;
mod environment;
mod moving;

use super::point::{Emission, LightKind, LightPoint};
use crate::light::{AnyLight, Light, Lights, PortalLight, ProjectionLight};
use lightbound_math::{Aabb, Cone, Vec2, Vec3};

pub(super) use area::is_front;
use environment::BlockLookup;
pub use environment::EnvironmentBlock;

/// Options for the conversion of lights to points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointOptions {
    /// Approximate number of points of all area lights together.
    pub area_points: u32,
    /// Approximate number of directions of all environment lights together.
    pub environment_points: u32,
    /// Whether leaves represent parts of lights with an extent, which [`super::LightTree::sample`]
    /// samples, instead of points.
    pub extents: bool,
    /// Whether leaves are what next-event estimation samples: area lights are one leaf each, or two
    /// if flat and two-sided, whatever `area_points`; environment lights are reduced to their
    /// [sampled radiance](crate::light::Environment::sampled_radiance).
    pub next_event: bool,
}

impl Default for PointOptions {
    fn default() -> PointOptions {
        PointOptions {
            area_points: 1024,
            environment_points: 1024,
            extents: false,
            next_event: false,
        }
    }
}

/// The points of all lights in a scene, and the strata for sampling.
#[derive(Clone, Debug, Default)]
pub(super) struct Points {
    pub(super) points: Vec<LightPoint>,
    /// Extent of the part that each point represents; `None` if leaves represent points.
    pub(super) extents: Option<Vec<Extent>>,
    pub(super) strata: Strata,
}

/// Bounds on a part of a light.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Extent {
    /// Bounding box of positions, or of unit directions for directional lights.
    pub(super) bounds: Aabb,
    /// Cone of axes, or of directions.
    pub(super) cone: Cone,
}

impl Extent {
    /// Returns the extent of a single point.
    pub(super) fn of(p: &LightPoint) -> Extent {
        let axis = if p.kind() == LightKind::Directional { p.position } else { p.axis };
        Extent {
            bounds: Aabb { min: p.position, max: p.position },
            cone: Cone::from_direction(axis),
        }
    }
}

impl Points {
    /// Adds a point, unless it is black or non-finite.
    fn push(&mut self, point: LightPoint, extent: impl FnOnce(&LightPoint) -> Extent) {
        let is_finite =
            point.position.is_finite() && point.axis.is_finite() && point.intensity.is_finite();
        if !is_finite || point.intensity == Vec3::ZERO {
            return;
        }
        if let Some(extents) = &mut self.extents {
            extents.push(extent(&point));
        }
        self.points.push(point);
    }
}

/// The division of lights into parts.
#[derive(Clone, Debug, Default)]
pub(super) struct Strata {
    /// Columns and rows of each area light's grid, indexed by light; empty without area lights.
    grids: Vec<[u16; 2]>,
    /// Blocks of all environment lights, indexed by stratum.
    blocks: Vec<EnvironmentBlock>,
    /// Index and block lookup of each environment light.
    lookups: Vec<(u32, BlockLookup)>,
}

/// Divides all lights into points.
pub(super) fn points(lights: &Lights, options: &PointOptions) -> Points {
    let all = lights.all();
    let (mut area_power, mut environment_power) = (0.0, 0.0);
    let power = |light: &AnyLight| {
        let share = if options.next_event { light.sampled_share() } else { 1.0 };
        power(light) * f64::from(share)
    };
    for light in all {
        let power = power(light);
        match light {
            AnyLight::Area(_) => area_power += power,
            AnyLight::Environment(_) | AnyLight::Portal(_) => environment_power += power,
            _ => {}
        }
    }
    // A light's share of the points: at least one, and no more than grid indices can represent.
    let share = |light: &AnyLight, total: f64, points: u32| {
        (power(light) / total * f64::from(points)).clamp(1.0, 1e9) as u32
    };
    let mut out = Points { extents: options.extents.then(Vec::new), ..Points::default() };
    if all.iter().any(|l| matches!(l, AnyLight::Area(_))) {
        out.strata.grids = vec![[0; 2]; all.len()];
    }
    for (index, light) in all.iter().enumerate() {
        let template = LightPoint {
            position: Vec3::ZERO,
            axis: Vec3::ZERO,
            intensity: Vec3::ZERO,
            emission: Emission::Omni,
            light: index as u32,
            stratum: 0,
            offset: 0.0,
        };
        match light {
            AnyLight::Area(l) if !options.next_event && area_power > 0.0 => area::subdivide(
                l,
                &template,
                share(light, area_power, options.area_points),
                &mut out,
            ),
            AnyLight::Environment(l) if power(light) > 0.0 => environment::subdivide(
                l,
                options.next_event,
                &template,
                share(light, environment_power, options.environment_points),
                &mut out,
            ),
            AnyLight::Portal(l) if options.next_event => add_portal(l, &template, &mut out),
            AnyLight::Portal(l) if power(light) > 0.0 => environment::subdivide(
                l.environment(),
                false,
                &template,
                share(light, environment_power, options.environment_points),
                &mut out,
            ),
            AnyLight::Environment(_) | AnyLight::Portal(_) => {}
            AnyLight::Moving(l) => moving::add(l, &template, options, &mut out),
            light => add_whole(light, &template, options, &mut out),
        }
    }
    out
}

/// Adds a light that is not divided into parts.
fn add_whole(light: &AnyLight, template: &LightPoint, options: &PointOptions, out: &mut Points) {
    match light {
        AnyLight::Point(l) => {
            out.push(
                LightPoint { position: l.position(), intensity: l.intensity(), ..*template },
                Extent::of,
            );
        }
        AnyLight::Spot(l) => {
            let (position, axis, emission) = (l.position(), l.axis(), Emission::Spot(l.falloff()));
            out.push(
                LightPoint { position, axis, intensity: l.intensity(), emission, ..*template },
                Extent::of,
            );
        }
        AnyLight::Goniometric(l) => {
            let intensity = match options.next_event {
                true => l.mean_intensity(),
                false => l.max_intensity(),
            };
            out.push(LightPoint { position: l.position(), intensity, ..*template }, Extent::of);
        }
        AnyLight::Projection(l) => add_projection(l, template, options, out),
        AnyLight::Distant(l) => {
            let point = LightPoint {
                position: l.wi(),
                intensity: l.irradiance(),
                emission: Emission::Distant,
                ..*template
            };
            out.push(point, Extent::of);
        }
        AnyLight::Area(l) if options.next_event => area::add_entire(l, template, out),
        AnyLight::Area(_)
        | AnyLight::Environment(_)
        | AnyLight::Portal(_)
        | AnyLight::Moving(_) => {}
    }
}

/// Adds a projection light: one point for each colour channel, since the image changes the colour
/// with the direction. With `next_event`, one point has all channels.
fn add_projection(
    light: &ProjectionLight,
    template: &LightPoint,
    options: &PointOptions,
    out: &mut Points,
) {
    let (position, axis, emission) = (light.position(), light.axis(), Emission::Spot(light.cone()));
    let channels = match options.next_event {
        true => vec![light.max_intensity()],
        false => light
            .max_intensity()
            .to_array()
            .iter()
            .zip([Vec3::X, Vec3::Y, Vec3::Z])
            .map(|(&intensity, channel)| intensity * channel)
            .collect(),
    };
    for (stratum, intensity) in (0..).zip(channels) {
        let point = LightPoint { position, axis, emission, intensity, stratum, ..*template };
        out.push(point, Extent::of);
    }
}

/// Adds a portal as a surface that emits the mean radiance of the environment.
fn add_portal(light: &PortalLight, template: &LightPoint, out: &mut Points) {
    let (bounds, cone) = light.extent();
    let point = LightPoint {
        position: bounds.center(),
        axis: cone.axis,
        intensity: light.mean_radiance() * light.area(),
        emission: Emission::Cosine,
        ..*template
    };
    out.push(point, |_| Extent { bounds, cone });
}

/// Returns [`Light::power`] in a scene of radius 1; 0 if it is not finite.
fn power(light: &AnyLight) -> f64 {
    let power = f64::from(light.power(1.0));
    if power.is_finite() { power.max(0.0) } else { 0.0 }
}

impl Strata {
    /// Implements [`super::LightTree::sample`].
    pub(super) fn sample(&self, lights: &Lights, leaf: &LightPoint, u: Vec2) -> LightPoint {
        match &lights.all()[leaf.light as usize] {
            AnyLight::Area(l) => area::sample(l, self.grids[leaf.light as usize], leaf, u),
            AnyLight::Environment(l) => {
                environment::sample(l, &self.blocks[leaf.stratum as usize], leaf, u)
            }
            AnyLight::Portal(l) => {
                environment::sample(l.environment(), &self.blocks[leaf.stratum as usize], leaf, u)
            }
            AnyLight::Point(_)
            | AnyLight::Spot(_)
            | AnyLight::Goniometric(_)
            | AnyLight::Projection(_)
            | AnyLight::Distant(_)
            | AnyLight::Moving(_) => *leaf,
        }
    }

    /// Returns the environment block of a stratum.
    pub(super) fn block(&self, stratum: u32) -> &EnvironmentBlock {
        &self.blocks[stratum as usize]
    }

    /// Implements [`super::LightTree::environment_stratum`].
    pub(super) fn environment_at(&self, light: u32, position: Vec2) -> Option<u32> {
        self.lookups.iter().find(|(index, _)| *index == light)?.1.find(position)
    }

    /// Returns the heap memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        let lookups: usize = self.lookups.iter().map(|(_, lookup)| lookup.bytes()).sum();
        self.grids.capacity() * size_of::<[u16; 2]>()
            + self.blocks.capacity() * size_of::<EnvironmentBlock>()
            + lookups
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Random, each_cluster, factor, tree};
    use super::super::{LightTree, PointOptions};
    use super::*;
    use crate::geometry::{AttributeId, AttributeValues, Primitive, Shape};
    use crate::light::testing::{sample_all, surfaces, triangle};
    use crate::light::{
        AreaLight, DistantLight, EmissionImage, Environment, GoniometricLight, PointLight,
        SpotLight,
    };
    use crate::texture::{Checkerboard, CheckerboardDomain, Param, Texture};
    use glam::{DAffine3, DQuat, dvec3};
    use lightbound_image::{Channels, Image};
    use lightbound_math::sampling::testing::points;
    use lightbound_math::{Transform, vec3};
    use std::sync::Arc;

    const EXTENTS: PointOptions =
        PointOptions { area_points: 12, environment_points: 24, extents: true, next_event: false };

    fn single_light(light: AnyLight) -> Lights {
        Lights::new(vec![light], super::super::testing::cube())
    }

    fn area(primitive: &Primitive, two_sided: bool) -> AnyLight {
        AnyLight::Area(AreaLight::new(primitive, 0, vec3(1.0, 2.0, 0.5), two_sided))
    }

    /// Returns an environment map with few bright texels.
    fn environment_map(transform: &Transform, size: usize) -> Environment {
        let mut random = Random(size as u32);
        let texels: Vec<Vec3> = (0..size * size)
            .map(|i| (random.cube() + 1.0) * if i % 17 == 3 { 100.0 } else { 1.0 })
            .collect();
        Environment::image(texels, size, transform, 1.0).unwrap()
    }

    fn skewed() -> Transform {
        let stretch = DAffine3::from_scale(dvec3(-2.0, 1.0, 0.7));
        Transform::new(DAffine3::from_quat(DQuat::from_rotation_y(0.8)) * stretch).unwrap()
    }

    /// Returns all kinds of lights, each with a name and a position that it illuminates.
    fn all() -> Vec<(&'static str, AnyLight, Vec3)> {
        let mut all: Vec<(&'static str, AnyLight, Vec3)> = surfaces()
            .into_iter()
            .flat_map(|(name, p, from)| {
                [false, true].map(|two_sided| (name, area(&p, two_sided), from))
            })
            // Exclude two-sided spheres: lights sample only their near side, but the tree also has
            // the inside of the far side, which only shadow rays would exclude.
            .filter(|(name, light, _)| {
                *name != "sphere" || !matches!(light, AnyLight::Area(a) if a.is_two_sided())
            })
            .collect();
        let masked = crate::light::testing::primitive(triangle(vec![]));
        let texels = (0..12).map(|i| if i % 5 == 1 { 0.0 } else { 0.5 * i as f32 }).collect();
        let image = EmissionImage::new(Arc::new(Image::from_f32(2, 2, Channels::Rgb, texels)));
        let image = AreaLight::new(&masked, 0, vec3(1.0, 2.0, 0.5), true).with_image(
            &masked,
            0,
            Arc::new(image),
        );
        let image = AnyLight::Area(image);
        let id = AttributeId::new(0).unwrap();
        let colours = vec![vec3(1.0, 0.0, 0.0), vec3(0.0, 3.0, 0.0), vec3(0.5, 0.0, 2.0)];
        let Shape::Mesh(mesh) = triangle(vec![]) else { unreachable!() };
        let mesh = mesh.with_attribute(id, AttributeValues::Colours(colours)).unwrap();
        let coloured = crate::light::testing::primitive(Shape::Mesh(mesh));
        let colours = AreaLight::new(&coloured, 0, vec3(1.0, 2.0, 0.5), true);
        let colours = AnyLight::Area(colours.with_vertex_colours(&coloured, 0, id));
        let masked = |alpha| area(&Primitive { alpha: Some(alpha), ..masked.clone() }, true);
        let far = vec3(0.0, 0.0, 3.0);
        // At `far`, looking down.
        let above =
            DAffine3::from_translation(dvec3(0.0, 0.0, 3.0)) * DAffine3::from_rotation_x(3.0);
        let above = Transform::new(above).unwrap();
        all.extend([
            ("mask", masked(checkerboard()), Vec3::ZERO),
            ("image", image, Vec3::ZERO),
            ("colours of vertices", colours, Vec3::ZERO),
            ("invisible", masked(Param::from_float(0.0)), Vec3::ZERO),
            ("point", AnyLight::Point(PointLight::new(far, Vec3::ONE)), Vec3::ZERO),
            (
                "spot",
                AnyLight::Spot(
                    SpotLight::new(far, vec3(0.3, 0.0, -1.0), Vec3::ONE, 40.0, 30.0).unwrap(),
                ),
                Vec3::ZERO,
            ),
            (
                "goniometric",
                AnyLight::Goniometric(Box::new(GoniometricLight::new(
                    &above,
                    Vec3::ONE,
                    &points(64, 2).map(|u| u.x).collect::<Vec<_>>(),
                    8,
                ))),
                Vec3::ZERO,
            ),
            (
                "projection",
                AnyLight::Projection(Box::new(
                    ProjectionLight::new(
                        &above,
                        50.0,
                        &points(64, 3).map(|u| u.extend(0.5)).collect::<Vec<_>>(),
                        8,
                        2.0,
                    )
                    .unwrap(),
                )),
                Vec3::ZERO,
            ),
            (
                "portal",
                AnyLight::Portal(Box::new(
                    PortalLight::new(
                        environment_map(&Transform::IDENTITY, 13),
                        [
                            vec3(-1.0, -1.0, 3.0),
                            vec3(-1.0, 1.0, 3.0),
                            vec3(2.0, 1.0, 3.0),
                            vec3(2.0, -1.0, 3.0),
                        ],
                    )
                    .unwrap(),
                )),
                Vec3::ZERO,
            ),
            ("distant", AnyLight::Distant(DistantLight::new(far, Vec3::ONE).unwrap()), Vec3::ZERO),
            (
                "constant environment",
                AnyLight::Environment(Environment::constant(Vec3::ONE)),
                Vec3::ZERO,
            ),
            (
                "environment map",
                AnyLight::Environment(environment_map(&Transform::IDENTITY, 13)),
                Vec3::ZERO,
            ),
            (
                "skewed environment map",
                AnyLight::Environment(environment_map(&skewed(), 13)),
                Vec3::ZERO,
            ),
        ]);
        all
    }

    /// Estimates the irradiance on both sides of a surface with normal z, from `n` samples of the
    /// light.
    fn sampled_irradiance(light: &AnyLight, x: Vec3, n: u32) -> f64 {
        // Few texels have most of the light of an environment map.
        let n = if matches!(light, AnyLight::Environment(_)) { 20 * n } else { n };
        let samples = points(n, 1).filter_map(|u| sample_all(light, x, u));
        samples.map(|s| f64::from(s.radiance.y * s.wi.z.abs() / s.pdf)).sum::<f64>() / f64::from(n)
    }

    /// Returns the irradiance on both sides of a surface with normal z, from a light point.
    fn point_irradiance(lights: &Lights, p: &LightPoint, x: Vec3) -> f64 {
        p.incident_light(x).map_or(0.0, |a| {
            let factor = a.factor * lights.mask(p.light, p.stratum, x, a.wi);
            f64::from(p.intensity.y * factor * a.wi.z.abs())
        })
    }

    #[test]
    fn samples_match_the_light_and_stay_in_their_leaf() {
        for (name, light, x) in all() {
            let lights = single_light(light);
            let tree = tree(&lights, &EXTENTS);
            let mut mean = 0.0;
            each_cluster(&tree, |kind, index, k, leaves| {
                let (node, [leaf]) = (tree.node(index), leaves) else { return };
                let (bounds, cone) = (node.bounds(k), node.cone(k));
                let upper_bounds = [x, Vec3::ZERO, vec3(0.5, 2.0, 3.0)]
                    .map(|x| (x, node.geometric_bounds(kind, x)[k]));
                let n = 20_000 / tree.points().len() as u32 + 1;
                for u in points(n, *leaf) {
                    let sample = tree.sample(&lights, *leaf, u);
                    assert!(
                        bounds.min.cmple(sample.position).all()
                            && bounds.max.cmpge(sample.position).all(),
                        "{name}"
                    );
                    let axis =
                        if kind == LightKind::Directional { sample.position } else { sample.axis };
                    assert!(axis == Vec3::ZERO || cone.contains(axis), "{name}: {axis} {cone:?}");
                    assert!(
                        upper_bounds
                            .iter()
                            .all(|(x, upper_bound)| *upper_bound >= factor(&sample, *x)),
                        "{name}"
                    );
                    mean += point_irradiance(&lights, &sample, x) / f64::from(n);
                }
            });
            let expected = sampled_irradiance(&lights.all()[0], x, 100_000);
            assert!(
                expected > 0.0 && (mean / expected - 1.0).abs() < 0.025,
                "{name}: {mean} by the tree, {expected} by the light"
            );
        }
    }

    #[test]
    fn points_approximate_the_light() {
        // The few directions behind a portal are too coarse.
        for (name, light, x) in all().into_iter().filter(|(name, ..)| *name != "portal") {
            let lights = single_light(light);
            let tree = tree(
                &lights,
                &PointOptions {
                    area_points: 800,
                    environment_points: 100,
                    ..PointOptions::default()
                },
            );
            let sum: f64 = tree.points().iter().map(|p| point_irradiance(&lights, p, x)).sum();
            let expected = sampled_irradiance(&lights.all()[0], x, 100_000);
            // The coarse checkerboard mask has the greatest error.
            let tolerance = if name == "mask" { 0.15 } else { 0.05 };
            assert!(
                (sum / expected - 1.0).abs() < tolerance,
                "{name}: {sum} by the points, {expected} by the light"
            );
        }
    }

    /// Returns an alpha mask: a 3D checkerboard.
    fn checkerboard() -> Param {
        let scale = Transform::new(DAffine3::from_scale(dvec3(2.0, 2.0, 2.0))).unwrap();
        let (even, odd) = (Param::from_float(1.0), Param::from_float(0.25));
        Param::Texture(Arc::new(Texture::Checkerboard(Checkerboard {
            domain: CheckerboardDomain::Solid(scale),
            even,
            odd,
        })))
    }

    /// Returns the number of points of each light.
    fn point_counts(tree: &LightTree, lights: usize) -> Vec<usize> {
        let mut counts = vec![0; lights];
        tree.points().iter().for_each(|p| counts[p.light as usize] += 1);
        counts
    }

    #[test]
    fn environment_stratum_finds_the_block_of_a_position() {
        let environments = [
            Environment::constant(Vec3::ONE),
            environment_map(&skewed(), 13),
            environment_map(&Transform::IDENTITY, 16),
        ];
        let lights = Lights::new(
            environments.into_iter().map(AnyLight::Environment).collect(),
            super::super::testing::cube(),
        );
        let tree =
            tree(&lights, &PointOptions { environment_points: 100, ..PointOptions::default() });
        for leaf in 0..tree.points().len() as u32 {
            let (point, block) = (tree.point(leaf), tree.environment_block(leaf));
            for u in points(5, leaf) {
                let [lo, hi] = [block.first, block.end]
                    .map(|c| lightbound_math::vec2(c[0] as f32, c[1] as f32));
                let position = (lo + (0.01 + 0.98 * u) * (hi - lo)) / block.side as f32;
                assert_eq!(
                    tree.environment_stratum(point.light, position),
                    Some(point.stratum),
                    "{block:?} {position}"
                );
            }
        }
        assert_eq!(tree.environment_stratum(3, Vec2::ZERO), None, "light 3 does not exist");
        let texels: Vec<Vec3> =
            (0..64).map(|i| Vec3::splat(if i == 9 { 1.0 } else { 0.0 })).collect();
        let environment = single_light(AnyLight::Environment(
            Environment::image(texels, 8, &Transform::IDENTITY, 1.0).unwrap(),
        ));
        let tree = super::super::testing::tree(&environment, &PointOptions::default());
        assert_eq!(tree.environment_stratum(0, Vec2::splat(0.2)), Some(0));
        assert_eq!(tree.environment_stratum(0, Vec2::splat(0.9)), None);
    }

    #[test]
    fn surfaces_of_next_event_estimation_have_one_leaf_per_flat_side() {
        let whole = PointOptions { next_event: true, area_points: 1 << 20, ..EXTENTS };
        for (name, light, _) in all() {
            let lights = single_light(light);
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
                let (point, bounds) = (area.point(u), tree.node(0).bounds(leaf as usize));
                assert!(
                    bounds.min.cmple(point.p).all() && bounds.max.cmpge(point.p).all(),
                    "{name}"
                );
            }
        }
    }

    #[test]
    fn point_counts_are_proportional_to_power() {
        let shape = crate::light::testing::primitive(triangle(vec![]));
        let light = |le: f32, two_sided| {
            AnyLight::Area(AreaLight::new(&shape, 0, Vec3::splat(le), two_sided))
        };
        let lights = Lights::new(
            vec![
                light(1.0, false),
                light(3.0, false),
                light(0.0, false),
                light(2.0, true),
                light(f32::NAN, true),
            ],
            super::super::testing::cube(),
        );
        let tree = tree(&lights, &PointOptions { area_points: 800, ..PointOptions::default() });
        let counts = point_counts(&tree, 5);
        // The shares are 100, 300 and, for two sides, 400 of 800. Rounding to grids loses a few.
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
        assert_eq!(
            point_counts(&few, 5),
            [1, 1, 0, 2, 0],
            "each emitting side has at least one point"
        );
    }

    #[test]
    fn triangle_points_are_centroids_and_sphere_points_are_centres() {
        let few = PointOptions { area_points: 1, ..PointOptions::default() };
        for (name, primitive, _) in surfaces() {
            let lights = single_light(area(&primitive, false));
            let tree = tree(&lights, &few);
            match name {
                "triangle" => {
                    let [p] = tree.points() else { panic!("expected one point") };
                    assert!(
                        (p.position - vec3(1.0 / 3.0, 0.0, 2.0)).length() < 1e-6
                            && p.emission == Emission::Cosine
                    );
                }
                "sphere" => {
                    let [p] = tree.points() else { panic!("expected one point") };
                    assert!(
                        (p.position - vec3(0.2, 0.1, 3.0)).length() < 1e-6
                            && p.emission == Emission::Omni
                    );
                    let expected = sampled_irradiance(&lights.all()[0], Vec3::ZERO, 100_000);
                    assert!(
                        (point_irradiance(&lights, p, Vec3::ZERO) / expected - 1.0).abs() < 2e-3,
                        "irradiance of a sphere above the horizon is exact"
                    );
                }
                _ if ["sphere", "ellipsoid", "cylinder"].iter().any(|part| name.contains(part)) => {
                    assert_eq!(tree.points().len(), 8, "{name}")
                }
                _ => assert_eq!(tree.points().len(), 1, "{name}"),
            }
        }
    }

    #[test]
    fn environment_points_preserve_total_irradiance() {
        for (transform, size) in [(Transform::IDENTITY, 64), (skewed(), 37)] {
            let environment = environment_map(&transform, size);
            let total: glam::DVec3 = (0..1 << 16)
                .map(|i| vec3((i % 256) as f32, (i / 256) as f32, 0.0).truncate())
                .map(|c| environment.direction_at((c + 0.5) / 256.0))
                .map(|d| d.radiance.as_dvec3() * f64::from(d.jacobian) / 65536.0)
                .sum();
            for count in [1, 50, 300] {
                let options = PointOptions { environment_points: count, ..PointOptions::default() };
                let tree =
                    tree(&single_light(AnyLight::Environment(environment.clone())), &options);
                let n = tree.points().len();
                assert_eq!(n, count as usize);
                let sum: glam::DVec3 = tree.points().iter().map(|p| p.intensity.as_dvec3()).sum();
                assert!((sum - total).length() < 0.03 * total.length(), "{sum} {total}");
                for p in tree.points() {
                    let single = tree.strata.blocks[p.stratum as usize].is_single();
                    assert!(
                        single || f64::from(p.intensity.y) < 3.0 * sum.y / n as f64,
                        "{p:?} {sum}"
                    );
                }
            }
        }
        let black = Environment::image(vec![Vec3::ZERO; 16], 4, &Transform::IDENTITY, 1.0).unwrap();
        assert_eq!(tree(&single_light(AnyLight::Environment(black)), &EXTENTS).points().len(), 0);
    }

    #[test]
    fn next_event_points_have_the_sampled_share() {
        let environment = environment_map(&Transform::IDENTITY, 64);
        let lights = single_light(AnyLight::Environment(environment.clone()));
        let tree_of = |next_event| tree(&lights, &PointOptions { next_event, ..EXTENTS });
        let [entire, sampled] = [false, true].map(|next_event| {
            let points = tree_of(next_event);
            points
                .points()
                .iter()
                .map(|p| f64::from(crate::light::abs_luminance(p.intensity)))
                .sum::<f64>()
        });
        let share = f64::from(environment.sampled_share());
        assert!((sampled / entire / share - 1.0).abs() < 1e-3 && share < 0.99, "{share}");
        let constant = AnyLight::Environment(Environment::constant(Vec3::ONE));
        let lights =
            Lights::new(vec![lights.all()[0].clone(), constant], super::super::testing::cube());
        let tree = tree(&lights, &PointOptions { next_event: true, ..EXTENTS });
        assert!(!tree.points().is_empty() && tree.points().iter().all(|p| p.light == 0));
        assert_eq!(tree.environment_stratum(1, Vec2::splat(0.5)), None);
    }
}
