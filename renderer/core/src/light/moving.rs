//! Lights that move while the shutter is open.
//!
//! At a point in time, such a light is one of another type: [`MovingLight::at`] creates it. Sampling
//! at the time of a path and the density of what a ray hits use the same one, so estimators are as
//! unbiased as those of lights at rest. Light trees need bounds for the whole motion,
//! [`MovingLight::extent`]: every position and every direction or normal of the light lies within
//! them while the shutter is open.

use super::{AnyLight, AreaLight, Light, LightSample};
use crate::geometry::{Motion, Primitive, Shape};
use glam::DVec3;
use lightbound_math::{Aabb, Cone, Transform, Vec2, Vec3};
use std::sync::Arc;

/// A light that moves.
#[derive(Clone, Debug)]
pub struct MovingLight {
    source: Source,
    /// The light when the shutter opens.
    start: AnyLight,
    /// Times at which the shutter opens and closes, seconds.
    shutter: [f32; 2],
}

/// What a moving light is created from.
#[derive(Clone, Debug)]
enum Source {
    /// A light in the space that moves.
    Light { light: AnyLight, motion: Box<Motion> },
    /// An area light.
    Surface(Box<MovingSurface>),
}

/// A surface that emits, and moves as a whole or at its vertices.
#[derive(Clone, Debug)]
struct MovingSurface {
    /// A primitive of one element, in the space that moves, or in render space.
    element: Primitive,
    motion: Option<Arc<Motion>>,
    /// The light at some time, for its emission.
    light: AreaLight,
    /// The origin of render space, in world space.
    origin: DVec3,
}

impl MovingLight {
    /// Creates a light that moves as a whole from a light in the space that moves. The shutter is
    /// open between two times, seconds.
    ///
    /// # Panics
    /// If the light is an area light, has a portal, or moves already.
    pub fn new(light: AnyLight, motion: Motion, shutter: [f32; 2]) -> MovingLight {
        let start = transformed(&light, &motion.at(shutter[0]));
        MovingLight { source: Source::Light { light, motion: Box::new(motion) }, start, shutter }
    }

    /// Creates an area light from an element of `primitive`, whose vertices may move. It also moves as
    /// a whole if there is a `motion`; otherwise, it is in render space. It emits as `light` does.
    /// `origin` is that of render space.
    pub fn surface(
        light: AreaLight,
        (primitive, element): (&Primitive, u32),
        motion: Option<Arc<Motion>>,
        origin: DVec3,
        shutter: [f32; 2],
    ) -> MovingLight {
        let element = with_shape(primitive, primitive.shape.extract(element));
        let surface = MovingSurface { element, motion, light, origin };
        let start = AnyLight::Area(surface.at(shutter[0]));
        MovingLight { source: Source::Surface(Box::new(surface)), start, shutter }
    }

    /// Returns the light when the shutter opens.
    pub fn start(&self) -> &AnyLight {
        &self.start
    }

    /// Returns the light at `time`, seconds.
    pub fn at(&self, time: f32) -> AnyLight {
        match &self.source {
            Source::Light { light, motion } => transformed(light, &motion.at(time)),
            Source::Surface(surface) => AnyLight::Area(surface.at(time)),
        }
    }

    /// Returns the light halfway between the opening and the closing of the shutter.
    pub fn middle(&self) -> AnyLight {
        self.at(0.5 * (self.shutter[0] + self.shutter[1]))
    }

    /// Returns whether this is an environment light.
    pub fn is_environment(&self) -> bool {
        matches!(self.start, AnyLight::Environment(_))
    }

    /// Returns bounds of the positions, and of the axes or normals, while the shutter is open; for
    /// light from infinity, of the unit directions to the light. The cone of lights without an axis,
    /// of curved surfaces and of projection lights has all directions, and so has that of surfaces
    /// for which a narrower one is hard to find.
    pub fn extent(&self) -> (Aabb, Cone) {
        let (light, motion) = match &self.source {
            Source::Light { light, motion } => (light, motion),
            Source::Surface(surface) => return surface.extent(self.shutter),
        };
        let around = |p: Vec3| motion.aabb(Aabb { min: p, max: p });
        let directions = |d: Vec3| {
            motion.sweep(|transform| Cone::from_direction(transform.vector(d).normalize_or(d)))
        };
        match light {
            AnyLight::Point(l) => (around(l.position()), Cone::SPHERE),
            AnyLight::Spot(l) => (around(l.position()), directions(l.axis())),
            AnyLight::Goniometric(l) => (around(l.position()), Cone::SPHERE),
            AnyLight::Projection(l) => (around(l.position()), Cone::SPHERE),
            AnyLight::Distant(l) => {
                let cone = directions(l.wi());
                (cone.bounds(), cone)
            }
            AnyLight::Environment(_) => (Cone::SPHERE.bounds(), Cone::SPHERE),
            AnyLight::Area(_) | AnyLight::Portal(_) | AnyLight::Moving(_) => {
                unreachable!("`MovingLight::new` rejects such lights")
            }
        }
    }
}

impl Light for MovingLight {
    /// Samples the light as it is when the shutter opens.
    fn sample_li(&self, p: Vec3, u: Vec2) -> Option<LightSample> {
        self.start.sample_li(p, u)
    }

    /// Returns the greatest power of three times, since a surface may change its size.
    fn power(&self, scene_radius: f32) -> f32 {
        let power = |light: &AnyLight| light.power(scene_radius);
        power(&self.start).max(power(&self.middle())).max(power(&self.at(self.shutter[1])))
    }
}

/// Transforms a light.
fn transformed(light: &AnyLight, transform: &Transform) -> AnyLight {
    match light {
        AnyLight::Point(l) => AnyLight::Point(l.transformed(transform)),
        AnyLight::Spot(l) => AnyLight::Spot(l.transformed(transform)),
        AnyLight::Goniometric(l) => AnyLight::Goniometric(Box::new(l.transformed(transform))),
        AnyLight::Projection(l) => AnyLight::Projection(Box::new(l.transformed(transform))),
        AnyLight::Distant(l) => AnyLight::Distant(l.transformed(transform)),
        AnyLight::Environment(l) => AnyLight::Environment(l.with_transform(transform)),
        AnyLight::Area(_) | AnyLight::Portal(_) | AnyLight::Moving(_) => {
            panic!("area lights, lights behind portals and moving lights cannot be transformed")
        }
    }
}

/// Returns a primitive with another shape.
fn with_shape(
    &Primitive { material, first_light, ref alpha, flip, media, .. }: &Primitive,
    shape: Shape,
) -> Primitive {
    Primitive { shape, material, first_light, alpha: alpha.clone(), flip, media }
}

impl MovingSurface {
    fn at(&self, time: f32) -> AreaLight {
        let still = with_shape(&self.element, self.element.shape.extract_at(0, time));
        match &self.motion {
            None => self.light.moved_to(&still),
            Some(motion) => self.transformed(&still, &motion.at(time)),
        }
    }

    fn transformed(&self, still: &Primitive, transform: &Transform) -> AreaLight {
        match still.instantiate(0, transform) {
            Some(primitive) => {
                self.light.moved_to(&primitive).with_textures_of_group(still, 0, self.origin)
            }
            // Without an area, the surface emits nothing.
            None => AreaLight::new(still, 0, Vec3::ZERO, false),
        }
    }

    fn extent(&self, shutter: [f32; 2]) -> (Aabb, Cone) {
        let shape = &self.element.shape;
        let bounds = shape.aabb(0);
        let bounds = self.motion.as_ref().map_or(bounds, |motion| motion.aabb(bounds));
        let padding = Vec3::splat(16.0 * f32::EPSILON * bounds.magnitude());
        let bounds = Aabb { min: bounds.min - padding, max: bounds.max + padding };
        let cone = match (&self.motion, shape) {
            (Some(motion), shape) if !shape.vertices_move() => motion.sweep(|transform| {
                self.transformed(&self.element, transform).extent(Vec2::ZERO, Vec2::ONE).1
            }),
            (None, Shape::Mesh(mesh)) => {
                let cone = mesh.swept_normals(0, shutter);
                if self.element.flip { Cone { axis: -cone.axis, ..cone } } else { cone }
            }
            _ => Cone::SPHERE,
        };
        (bounds, cone)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{primitive, surfaces, triangle};
    use super::super::{
        DistantLight, Environment, GoniometricLight, PointLight, ProjectionLight, SpotLight,
    };
    use super::*;
    use crate::geometry::{Mesh, VertexMotion};
    use glam::{DAffine3, DQuat, dvec3};
    use lightbound_math::sampling::testing::points;
    use lightbound_math::vec3;

    const TIMES: [f32; 2] = [0.0, 1.0];

    /// Returns lights of all types that are not area lights, in the space that moves.
    fn lights() -> Vec<AnyLight> {
        let texels: Vec<Vec3> =
            (0..64).map(|i| vec3((i % 7) as f32, 1.0, (i % 3) as f32)).collect();
        let grey: Vec<f32> = texels.iter().map(|texel| texel.x).collect();
        let (at, identity) = (vec3(0.3, -0.2, 0.5), &Transform::IDENTITY);
        vec![
            AnyLight::Point(PointLight::new(at, Vec3::ONE)),
            AnyLight::Spot(SpotLight::new(at, vec3(1.0, 0.2, 0.3), Vec3::ONE, 40.0, 10.0).unwrap()),
            AnyLight::Distant(DistantLight::new(vec3(0.1, 0.9, 0.3), Vec3::ONE).unwrap()),
            AnyLight::Goniometric(Box::new(GoniometricLight::new(identity, Vec3::ONE, &grey, 8))),
            AnyLight::Projection(Box::new(
                ProjectionLight::new(identity, 60.0, &texels, 8, 1.0).unwrap(),
            )),
            AnyLight::Environment(Environment::image(texels, 8, identity, 1.0).unwrap()),
        ]
    }

    fn map(seed: u32) -> DAffine3 {
        let mut random = points(4, seed).flat_map(|p| [f64::from(p.x) - 0.5, f64::from(p.y) - 0.5]);
        let mut next = || random.next().unwrap();
        let rotation = DQuat::from_rotation_y(next()) * DQuat::from_rotation_x(2.0 * next());
        let scale = dvec3(-1.0 - next(), 1.0 + next(), 1.0);
        DAffine3::from_scale_rotation_translation(scale, rotation, dvec3(next(), next(), next()))
    }

    /// Returns moving area lights of all shapes, and some with moving vertices.
    fn surface_lights(motion: Motion) -> Vec<MovingLight> {
        let surface = |primitive: &Primitive, motion: Option<Motion>| {
            let motion = motion.map(Arc::new);
            let light = AreaLight::new(primitive, 0, vec3(1.0, 2.0, 3.0), false);
            MovingLight::surface(light, (primitive, 0), motion, DVec3::ZERO, TIMES)
        };
        let mut lights: Vec<MovingLight> =
            surfaces().iter().map(|(_, primitive, _)| surface(primitive, Some(motion))).collect();
        let normals = vec![vec3(0.0, 0.3, 1.0), Vec3::Z, vec3(0.2, 0.0, 1.0)];
        for normals in [vec![], normals] {
            let Shape::Mesh(mesh) = triangle(normals) else { unreachable!() };
            let end = mesh.positions().iter().map(|p| vec3(p.y, p.x, 0.5 * p.z + p.x)).collect();
            let (p, n) = (mesh.positions().to_vec(), mesh.normals().to_vec());
            let moves = Some(Box::new(VertexMotion::new(end, vec![], TIMES, TIMES)));
            let mesh = Mesh::with_motion(p, mesh.triangles().to_vec(), n, vec![], moves).unwrap();
            for flip in [false, true] {
                let primitive = Primitive { flip, ..primitive(Shape::Mesh(mesh.clone())) };
                lights.extend([surface(&primitive, None), surface(&primitive, Some(motion))]);
            }
        }
        lights
    }

    #[test]
    fn extents_contain_lights_at_all_times() {
        let mut narrow = 0;
        for seed in 0..10 {
            let motion = Motion::new([map(seed), map(seed + 100)], TIMES, TIMES).unwrap();
            for light in surface_lights(motion) {
                let (bounds, cone) = light.extent();
                narrow += u32::from(cone.cos > 0.5);
                for (i, u) in (0..).zip(points(200, seed)) {
                    let AnyLight::Area(area) = light.at(i as f32 / 199.0) else { unreachable!() };
                    let point = area.point(u);
                    assert!((point.p.cmpge(bounds.min) & point.p.cmple(bounds.max)).all());
                    assert!(area.is_curved() || cone.contains(point.n), "{cone:?} {}", point.n);
                }
            }
            for light in lights() {
                let light = MovingLight::new(light, motion, TIMES);
                let (bounds, cone) = light.extent();
                for i in 0..200 {
                    let (p, axis) = match light.at(i as f32 / 199.0) {
                        AnyLight::Point(l) => (l.position(), None),
                        AnyLight::Spot(l) => (l.position(), Some(l.axis())),
                        AnyLight::Goniometric(l) => (l.position(), None),
                        AnyLight::Projection(l) => (l.position(), Some(l.axis())),
                        AnyLight::Distant(l) => (l.wi(), Some(l.wi())),
                        _ => (Vec3::ZERO, None),
                    };
                    assert!((p.cmpge(bounds.min) & p.cmple(bounds.max)).all());
                    assert!(axis.is_none_or(|axis| cone.contains(axis)));
                }
            }
        }
        assert!(narrow > 40, "{narrow}");
    }

    #[test]
    fn moving_lights_sample_like_lights_at_their_place() {
        let motion = Motion::new([map(1), map(2)], TIMES, TIMES).unwrap();
        for (time, transform) in [0.0, 0.4, 1.0].map(|time| (time, motion.at(time))) {
            let mut pairs: Vec<(AnyLight, AnyLight)> = Vec::new();
            for (_, primitive, _) in surfaces() {
                let light = AreaLight::new(&primitive, 0, Vec3::ONE, true);
                let moving = MovingLight::surface(
                    light,
                    (&primitive, 0),
                    Some(Arc::new(motion)),
                    DVec3::ZERO,
                    TIMES,
                );
                let placed = primitive.instantiate(0, &transform).unwrap();
                let still = AnyLight::Area(AreaLight::new(&placed, 0, Vec3::ONE, true));
                pairs.push((moving.at(time), still));
            }
            for light in lights() {
                let still = match &light {
                    AnyLight::Goniometric(l) => {
                        AnyLight::Goniometric(Box::new(l.transformed(&transform)))
                    }
                    AnyLight::Projection(l) => {
                        AnyLight::Projection(Box::new(l.transformed(&transform)))
                    }
                    AnyLight::Environment(l) => AnyLight::Environment(l.with_transform(&transform)),
                    AnyLight::Point(l) => AnyLight::Point(PointLight::new(
                        transform.point(l.position()),
                        l.intensity(),
                    )),
                    AnyLight::Spot(l) => AnyLight::Spot(
                        SpotLight::new(
                            transform.point(l.position()),
                            transform.vector(l.axis()),
                            l.intensity(),
                            40.0,
                            10.0,
                        )
                        .unwrap(),
                    ),
                    AnyLight::Distant(l) => AnyLight::Distant(
                        DistantLight::new(transform.vector(l.wi()), l.irradiance()).unwrap(),
                    ),
                    _ => unreachable!(),
                };
                pairs.push((MovingLight::new(light, motion, TIMES).at(time), still));
            }
            let mut lit = 0;
            for ((moving, still), u) in
                pairs.iter().flat_map(|pair| points(50, 3).map(move |u| (pair, u)))
            {
                let p = vec3(4.0 * u.y - 2.0, 4.0 * u.x - 2.0, -1.0);
                let [a, b] = [moving, still].map(|light| light.sample_li(p, u));
                let data = |s: Option<LightSample>| s.map(|s| (s.wi, s.target, s.radiance, s.pdf));
                assert_eq!(data(a), data(b));
                lit += u32::from(a.is_some());
            }
            assert!(lit > 300, "{lit}");
        }
    }

    #[test]
    fn transformed_images_agree_with_images_at_their_place() {
        let texels: Vec<Vec3> =
            (0..64).map(|i| vec3((i % 7) as f32, 1.0, (i % 3) as f32)).collect();
        let grey: Vec<f32> = texels.iter().map(|texel| texel.x).collect();
        let (identity, transform) = (Transform::IDENTITY, Transform::new(map(5)).unwrap());
        let goniometric = |t: &Transform| GoniometricLight::new(t, Vec3::ONE, &grey, 8);
        let projection = |t: &Transform| ProjectionLight::new(t, 60.0, &texels, 8, 1.0).unwrap();
        let [a, b] = [goniometric(&identity).transformed(&transform), goniometric(&transform)];
        let [c, d] = [projection(&identity).transformed(&transform), projection(&transform)];
        assert!(
            (a.position() - b.position()).length() + (c.position() - d.position()).length() < 1e-6
        );
        let mut equal = 0;
        for u in points(500, 8) {
            let w = super::super::square_to_sphere(u);
            let same = a.relative_intensity(w) == b.relative_intensity(w);
            equal += u32::from(same && c.relative_intensity(w) == d.relative_intensity(w));
        }
        // Rounding may select another texel.
        assert!(equal > 490, "{equal}");
    }
}
