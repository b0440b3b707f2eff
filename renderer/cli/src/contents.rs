//! What a scene contains: numbers of surfaces and lights, and what they count.

use super::console::count;
use lightbound::Scene;
use lightbound::geometry::{Geometry, Primitive, Shape};
use lightbound::light::AnyLight;
use serde_json::{Value, json};

/// Numbers of elements of shapes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Elements {
    triangles: u64,
    patches: u64,
    spheres: u64,
    disks: u64,
    cylinders: u64,
    curve_segments: u64,
    implicit_surfaces: u64,
    displaced_meshes: u64,
}

impl Elements {
    fn add(&mut self, primitive: &Primitive, times: u64) {
        let mut n = u64::from(primitive.shape.len());
        let counter = match &primitive.shape {
            Shape::Mesh(_) => &mut self.triangles,
            Shape::Bilinear(_) => &mut self.patches,
            Shape::Sphere(_) => &mut self.spheres,
            Shape::Disk(_) => &mut self.disks,
            Shape::Cylinder(_) => &mut self.cylinders,
            Shape::Curves(curves) => {
                n = curves.segment_count() as u64;
                &mut self.curve_segments
            }
            Shape::Implicit(_) => {
                n = 1;
                &mut self.implicit_surfaces
            }
            Shape::Displaced(_) => {
                n = 1;
                &mut self.displaced_meshes
            }
        };
        *counter += n * times;
    }

    /// All elements; each group counts once.
    pub fn stored(geometry: &Geometry) -> Elements {
        let mut elements = Elements::default();
        geometry.primitives.iter().for_each(|primitive| elements.add(primitive, 1));
        elements
    }

    /// The elements that emit light; each instance of a group counts, since it has lights of its
    /// own.
    pub fn emitting(geometry: &Geometry) -> Elements {
        Elements::with_instances(geometry, |primitive| primitive.first_light.is_some())
    }

    /// All elements; each instance of a group counts.
    pub fn instanced(geometry: &Geometry) -> Elements {
        Elements::with_instances(geometry, |_| true)
    }

    /// The elements of some primitives; each instance of a group counts.
    fn with_instances(geometry: &Geometry, counts: impl Fn(&Primitive) -> bool) -> Elements {
        let mut instances = vec![0; geometry.groups.len()];
        geometry.instances.iter().for_each(|instance| instances[instance.group as usize] += 1);
        let groups = geometry.groups.iter().zip(instances);
        let mut elements = Elements::default();
        for (range, times) in groups.chain([(&geometry.world, 1)]) {
            let primitives = &geometry.primitives[range.start as usize..range.end as usize];
            let counted = primitives.iter().filter(|primitive| counts(primitive));
            counted.for_each(|primitive| elements.add(primitive, times));
        }
        elements
    }

    /// Lists the numbers that are not 0, with an adjective that ends with a space, or none.
    fn text(&self, adjective: &str) -> String {
        let all = [
            (self.triangles, "triangle", "s"),
            (self.patches, "bilinear patch", "es"),
            (self.spheres, "sphere", "s"),
            (self.disks, "disk", "s"),
            (self.cylinders, "cylinder", "s"),
            (self.curve_segments, "curve segment", "s"),
            (self.implicit_surfaces, "implicit surface", "s"),
            (self.displaced_meshes, "displaced mesh", "es"),
        ];
        let some = all.into_iter().filter(|(n, ..)| *n > 0);
        let texts: Vec<String> = some
            .map(|(n, noun, plural)| {
                format!("{n} {adjective}{noun}{}", if n == 1 { "" } else { plural })
            })
            .collect();
        if texts.is_empty() { "none".into() } else { texts.join(", ") }
    }

    /// All numbers as JSON.
    pub fn json(&self) -> Value {
        json!({
            "triangles": self.triangles,
            "bilinear_patches": self.patches,
            "spheres": self.spheres,
            "disks": self.disks,
            "cylinders": self.cylinders,
            "curve_segments": self.curve_segments,
            "implicit_surfaces": self.implicit_surfaces,
            "displaced_meshes": self.displaced_meshes,
        })
    }
}

/// Numbers of lights that are not surfaces.
#[derive(Clone, Copy, Debug, Default)]
pub struct OtherLights {
    pub point: usize,
    pub goniometric: usize,
    pub projection: usize,
    pub spot: usize,
    pub distant: usize,
    pub environment: usize,
}

impl OtherLights {
    /// Counts the lights of a scene.
    pub fn of(scene: &Scene) -> OtherLights {
        let mut lights = OtherLights::default();
        for light in scene.lights.all() {
            let light = match light {
                AnyLight::Moving(light) => light.start(),
                light => light,
            };
            match light {
                AnyLight::Point(_) => lights.point += 1,
                AnyLight::Spot(_) => lights.spot += 1,
                AnyLight::Goniometric(_) => lights.goniometric += 1,
                AnyLight::Projection(_) => lights.projection += 1,
                AnyLight::Distant(_) => lights.distant += 1,
                AnyLight::Environment(_) | AnyLight::Portal(_) => lights.environment += 1,
                AnyLight::Area(_) | AnyLight::Moving(_) => {}
            }
        }
        lights
    }
}

/// Describes the surfaces of a scene: `2 triangles; 6 triangles with all 3 instances`.
pub fn surfaces(geometry: &Geometry) -> String {
    let stored = Elements::stored(geometry).text("");
    match geometry.instances.len() {
        0 => stored,
        n => {
            let all = Elements::instanced(geometry).text("");
            format!("{stored}; {all} with all {}", count(n as u64, "instance"))
        }
    }
}

/// Describes the lights of a scene: `2 emitting triangles, 1 environment light`.
pub fn lights(scene: &Scene) -> String {
    let OtherLights { point, spot, goniometric, projection, distant, environment } =
        OtherLights::of(scene);
    let emitting = Elements::emitting(&scene.geometry);
    let mut texts = Vec::new();
    if emitting != Elements::default() {
        texts.push(emitting.text("emitting "));
    }
    let others = [
        (point, "point light"),
        (spot, "spot light"),
        (goniometric, "goniometric light"),
        (projection, "projection light"),
        (distant, "distant light"),
        (environment, "environment light"),
    ];
    let others = others.into_iter().filter(|(n, _)| *n > 0);
    texts.extend(others.map(|(n, noun)| count(n as u64, noun)));
    if texts.is_empty() { "none".into() } else { texts.join(", ") }
}
