//! Builds shapes, instances and area lights.

use super::attributes::{required_attributes, too_many_attributes};
use super::light_groups::light_group;
use super::lights::emission_scale;
use super::materials::{Materials, SurfaceEmission};
use super::shape_errors::{check_bounds, check_extent, shape_error};
use super::{Builder, RenderContext, motion_error, transform};
use crate::describe::{Description, ShapeEntity};
use crate::diagnostics::{Location, SceneError};
use crate::file::parse::Entity;
use glam::DAffine3;
use lightbound::geometry::{
    AttributeId, Cylinder, Disk, Geometry, Instance, Motion, Primitive, Shape, Sphere,
};
use lightbound::light::{AnyLight, AreaLight, DEFAULT_GROUP, EmissionImage, MovingLight};
use lightbound::texture::Param;
use lightbound_image::Encoding;
use lightbound_math::sampling::luminance;
use lightbound_math::{Aabb, Transform, Vec3};
use std::f32::consts::PI;
use std::path::PathBuf;
use std::sync::Arc;

/// The surfaces of a scene.
pub(super) struct Shapes {
    pub geometry: Geometry,
    pub object_names: Vec<String>,
}

/// An emissive primitive.
struct Emitter<'d> {
    primitive: EmissivePrimitive,
    emission: AreaEmission<'d>,
}

/// The primitive of an [`Emitter`].
enum EmissivePrimitive {
    /// Index into [`Geometry::primitives`].
    Visible(usize),
    /// A primitive that rays never hit, so the geometry lacks it.
    Invisible(Box<Primitive>),
}

impl Emitter<'_> {
    fn primitive<'a>(&'a self, geometry: &'a Geometry) -> &'a Primitive {
        match &self.primitive {
            EmissivePrimitive::Visible(index) => &geometry.primitives[*index],
            EmissivePrimitive::Invisible(primitive) => primitive,
        }
    }
}

/// The emission of an area light, or of a material.
#[derive(Clone)]
struct AreaEmission<'d> {
    /// The area light.
    entity: Option<&'d Entity>,
    /// Emitted radiance, without the factors `scale` and `power` of an area light.
    le: Vec3,
    /// Factor of the radiance.
    image: Option<Arc<EmissionImage>>,
    /// Attribute of vertices that is another factor.
    attribute: Option<AttributeId>,
    two_sided: bool,
}

/// What moves together: the shapes of an object that do not move within it, or a shape that moves.
struct Part<'d> {
    /// Index into [`Geometry::groups`].
    group: u32,
    emitters: Vec<Emitter<'d>>,
    /// The motion within the object or the world.
    motion: Option<Motion>,
    /// Bounding box of the group.
    bounds: Aabb,
}

/// Returns the bounding box of primitives.
fn bounds(primitives: &[Primitive]) -> Aabb {
    let elements = primitives.iter().flat_map(|primitive| {
        (0..primitive.shape.len()).map(|element| primitive.shape.aabb(element))
    });
    elements.fold(Aabb::EMPTY, Aabb::union)
}

/// Fallback for what does not move.
const AT_START: &str = "the transform at the start time";

/// Returns the name of a shape: its `name`, or that of its file without the folder and the end, or
/// its type.
fn shape_name(entity: &Entity) -> Result<String, SceneError> {
    if let Some(name) = entity.params.string("name")? {
        return Ok(name.into());
    }
    let file = match entity.name.as_str() {
        "plymesh" => entity.params.string("filename")?,
        _ => None,
    };
    let stem = file.and_then(|path| path.rsplit(['/', '\\']).next()).map(|name| {
        let name = name.strip_suffix(".gz").unwrap_or(name);
        name.strip_suffix(".ply").unwrap_or(name)
    });
    Ok(stem.unwrap_or(&entity.name).to_string())
}

/// Returns the light of an element, which moves with `motion`, or if its vertices do.
fn any_area_light(
    light: AreaLight,
    (primitive, element): (&Primitive, u32),
    motion: Option<Arc<Motion>>,
    context: &RenderContext,
) -> AnyLight {
    if motion.is_none() && !primitive.shape.vertices_move() {
        return AnyLight::Area(light);
    }
    let &RenderContext { origin, shutter, .. } = context;
    AnyLight::Moving(Box::new(MovingLight::surface(
        light,
        (primitive, element),
        motion,
        origin,
        shutter,
    )))
}

/// Returns shapes in the order of their primitives: interfaces between media come last. Of hits at
/// the same distance, that of the first primitive counts, so light does not leak through a wall with
/// the boundary of a medium on it.
fn surfaces_first<'a>(
    shapes: &'a [ShapeEntity],
    materials: &Materials,
) -> impl Iterator<Item = &'a ShapeEntity> {
    let is_surface = |shape: &&ShapeEntity| materials.index[shape.material].is_some();
    let (surfaces, interfaces): (Vec<_>, Vec<_>) = shapes.iter().partition(is_surface);
    surfaces.into_iter().chain(interfaces)
}

/// Converts the transform of an instance at `location`.
fn instance_transform(location: &Location, ctm: DAffine3) -> Result<Transform, SceneError> {
    Transform::new(ctm).ok_or_else(|| {
        SceneError::at(
            location,
            "the transform of this instance cannot be inverted in single precision",
        )
        .help("check for zero or extreme scales")
    })
}

/// Supported types of shapes.
const SHAPES: [&str; 9] = [
    "plymesh",
    "trianglemesh",
    "bilinearmesh",
    "loopsubdiv",
    "sphere",
    "disk",
    "cylinder",
    "curve",
    "implicit",
];

impl Builder<'_> {
    /// Builds all shapes and appends area lights to `lights`.
    pub(super) fn shapes(
        &mut self,
        d: &Description,
        materials: &Materials,
        context: &RenderContext,
        lights: &mut Vec<AnyLight>,
    ) -> Result<Shapes, SceneError> {
        let mut geometry = Geometry { origin: context.origin, ..Geometry::default() };
        let mut object_names = Vec::new();
        // Meshes keep the attributes that are known when they are read.
        for light in &d.area_lights {
            self.emission_attribute(light)?;
        }
        let (mut next_light, mut moving_shapes) = (lights.len() as u32, Vec::new());
        for shape in surfaces_first(&d.shapes, materials) {
            if let Some(end) = self.end_ctm(shape, context)? {
                moving_shapes.push((shape, end));
                continue;
            }
            let (ctm, target) = (shape.ctm, (&mut geometry, &mut next_light, context));
            for emitter in self.shape(d, shape, ctm, materials, target)? {
                let primitive = emitter.primitive(&geometry);
                for element in 0..primitive.shape.len() {
                    let light = self.area_light(&emitter.emission, primitive, element)?;
                    lights.push(any_area_light(light, (primitive, element), None, context));
                }
                self.assign_area_group(&emitter.emission, lights)?;
            }
            object_names.resize(geometry.primitives.len(), shape_name(&shape.entity)?);
        }
        geometry.world = 0..geometry.primitives.len() as u32;
        // The first part of each object does not move within it.
        let mut objects: Vec<Vec<Part<'_>>> = Vec::new();
        for object in &d.objects {
            let start = geometry.primitives.len() as u32;
            let (mut emitters, mut next_light, mut moving) = (Vec::new(), 0, Vec::new());
            for shape in surfaces_first(&object.shapes, materials) {
                if let Some(end) = self.end_ctm(shape, context)? {
                    moving.push((shape, end));
                    continue;
                }
                let target = (&mut geometry, &mut next_light, context);
                emitters.extend(self.shape(d, shape, shape.ctm, materials, target)?);
            }
            let group = geometry.groups.len() as u32;
            geometry.groups.push(start..geometry.primitives.len() as u32);
            let bounds = bounds(&geometry.primitives[start as usize..]);
            let mut parts = vec![Part { group, emitters, motion: None, bounds }];
            for (shape, end) in moving {
                parts.push(self.moving_part(d, shape, end, materials, (&mut geometry, context))?);
            }
            objects.push(parts);
        }
        let mut moving: Vec<(Motion, &Part<'_>, &str)> = Vec::new();
        for instance in &d.instances {
            let (parts, location) = (&objects[instance.object], &instance.location);
            let emits = parts.iter().any(|part| !part.emitters.is_empty());
            let end = instance.end_ctm.filter(|_| context.lights_move || !emits);
            if instance.end_ctm.is_some() && end.is_none() {
                let what = "motion of this emissive instance is not supported by lightcuts";
                self.diagnostics.warn(Some(location), what, AT_START)?;
            }
            let transforms = [instance.ctm, end.unwrap_or(instance.ctm)];
            let name = instance.name.as_ref().unwrap_or(&d.objects[instance.object].name);
            for part in parts {
                let motion = match part.motion {
                    Some(motion) => motion
                        .within(transforms)
                        .map_err(|error| motion_error(location, "instance", error))?,
                    None if end.is_some() => context.motion(location, "instance", transforms)?,
                    None => {
                        let transform = instance_transform(location, instance.ctm)?;
                        check_bounds(location, "instance", Some(transform.aabb(part.bounds)))?;
                        let (group, first_light) = (part.group, lights.len() as u32);
                        for emitter in &part.emitters {
                            let place = (&transform, None);
                            self.instance_lights(emitter, &geometry, place, context, lights)?;
                        }
                        let motion = None;
                        geometry.instances.push(Instance { group, transform, first_light, motion });
                        object_names.push(name.clone());
                        continue;
                    }
                };
                check_bounds(location, "instance", Some(motion.aabb(part.bounds)))?;
                moving.push((motion, part, name));
            }
        }
        // Moving shapes are instances of groups of their own.
        let mut parts = Vec::new();
        for (shape, end) in moving_shapes {
            let part = self.moving_part(d, shape, end, materials, (&mut geometry, context))?;
            parts.push((part, shape_name(&shape.entity)?));
        }
        let of_world = parts.iter().map(|(part, name)| (part.motion, part, name.as_str()));
        let of_world = of_world.filter_map(|(motion, part, name)| Some((motion?, part, name)));
        for (motion, part, name) in moving.into_iter().chain(of_world) {
            let (transform, first_light) = (motion.start(), lights.len() as u32);
            for emitter in &part.emitters {
                let place = (&transform, Some(motion));
                self.instance_lights(emitter, &geometry, place, context, lights)?;
            }
            let (group, index) = (part.group, geometry.motions.len() as u32);
            geometry.motions.push(motion);
            geometry.instances.push(Instance {
                group,
                transform,
                first_light,
                motion: Some(index),
            });
            object_names.push(name.to_string());
        }
        Ok(Shapes { geometry, object_names })
    }

    /// Returns the transform of a shape at the end time, if it moves. Warns if it cannot.
    fn end_ctm(
        &mut self,
        s: &ShapeEntity,
        context: &RenderContext,
    ) -> Result<Option<DAffine3>, SceneError> {
        let is_still = s.end_ctm.is_some() && s.area_light.is_some() && !context.lights_move;
        if is_still {
            let what = "motion of this emissive shape is not supported by lightcuts";
            self.warn(&s.entity, what, AT_START)?;
        }
        Ok(s.end_ctm.filter(|_| !is_still))
    }

    /// Adds a shape that moves to the transform `end`, as a group of its own.
    fn moving_part<'d>(
        &mut self,
        d: &'d Description,
        s: &ShapeEntity,
        end: DAffine3,
        materials: &Materials,
        (geometry, context): (&mut Geometry, &RenderContext),
    ) -> Result<Part<'d>, SceneError> {
        let start = geometry.primitives.len() as u32;
        let target = (&mut *geometry, &mut 0, context);
        let emitters = self.shape(d, s, DAffine3::IDENTITY, materials, target)?;
        let motion = Some(context.motion(&s.entity.location, "shape", [s.ctm, end])?);
        geometry.groups.push(start..geometry.primitives.len() as u32);
        let bounds = bounds(&geometry.primitives[start as usize..]);
        let part = Part { group: geometry.groups.len() as u32 - 1, emitters, motion, bounds };
        check_bounds(&s.entity.location, "shape", motion.map(|motion| motion.aabb(bounds)))?;
        Ok(part)
    }

    /// Adds a shape with the transform `ctm` to `geometry`, and returns its emissive primitives.
    /// `next_light` is the index of the next light.
    fn shape<'d>(
        &mut self,
        d: &'d Description,
        s: &ShapeEntity,
        ctm: DAffine3,
        materials: &Materials,
        (geometry, next_light, context): (&mut Geometry, &mut u32, &RenderContext),
    ) -> Result<Vec<Emitter<'d>>, SceneError> {
        let entity = &s.entity;
        self.check_supported("shape", entity, &SHAPES, |_| None)?;
        // Shapes in objects may have a name, too; it has no effect.
        shape_name(entity)?;
        let render_from_shape = transform(entity, ctm)?;
        let of_shape = self.alpha(entity)?;
        let of_material = materials.index[s.material].and_then(|index| materials.opacity(index));
        let alpha = match entity.params.find("alpha") {
            Some(_) => of_shape,
            None => of_material.cloned(),
        };
        let shapes = match entity.name.as_str() {
            "plymesh" => self.plymesh(s, &render_from_shape, context)?,
            "trianglemesh" => vec![self.trianglemesh(s, &render_from_shape, context)?],
            "loopsubdiv" => vec![self.loopsubdiv(entity, &render_from_shape)?],
            "bilinearmesh" => vec![self.bilinearmesh(s, &render_from_shape, context)?],
            "sphere" => vec![sphere(entity, &render_from_shape)?],
            "disk" => vec![disk(entity, &render_from_shape)?],
            "cylinder" => vec![cylinder(entity, &render_from_shape)?],
            "implicit" => vec![self.implicit(entity, &render_from_shape)?],
            _ => vec![self.curves(s, &render_from_shape)?],
        };
        shapes.iter().try_for_each(|shape| check_extent(entity, shape))?;
        self.warn_unused(entity)?;
        let of_material =
            materials.index[s.material].map(|m| required_attributes(&materials.materials, m));
        let of_alpha = alpha.as_ref().map(|alpha| alpha.needs().required);
        let required = of_material.unwrap_or_default().union(of_alpha.unwrap_or_default());
        for shape in shapes.iter().filter(|shape| !shape.is_empty()) {
            self.check_attributes(entity, required, shape.attributes())?;
        }
        let (index, mut area_light) = (materials.index[s.material], s.area_light);
        let mut emitted = index.and_then(|index| materials.emission(index)).cloned();
        let media = match index.and_then(|index| materials.medium(index)) {
            Some(inside) => Some(self.media.enclose(s, inside)),
            None => self.media.interface(s),
        };
        let has_surface = index.is_some();
        if area_light.is_some() && !has_surface {
            self.warn(
                entity,
                "an area light with the material \"interface\" is not supported",
                "it is ignored",
            )?;
            area_light = None;
        }
        let interface = materials.interface.filter(|_| media.is_some());
        let Some(material) = index.or(interface) else {
            return Ok(Vec::new());
        };
        let dark = match entity.name.as_str() {
            "curve" => Some(("area lights on curves are not supported", "curves without light")),
            "implicit" => Some((
                "area lights on implicit surfaces are not supported",
                "surfaces without light",
            )),
            _ if shapes.iter().any(|shape| matches!(shape, Shape::Displaced(_))) => {
                Some(("area lights on displaced meshes are not supported", "meshes without light"))
            }
            _ => None,
        };
        if let (Some((what, fallback)), true) = (dark, area_light.is_some() || emitted.is_some()) {
            self.warn(entity, what, fallback)?;
            (area_light, emitted) = (None, None);
        }
        let emission = match (area_light, emitted) {
            (Some(light), _) => Some(self.area_emission(&d.area_lights[light])?),
            (None, Some(SurfaceEmission { le, image })) => {
                Some(AreaEmission { entity: None, le, image, attribute: None, two_sided: false })
            }
            (None, None) => None,
        };
        if let Some(id) = emission.as_ref().and_then(|emission| emission.attribute) {
            let mut lacks = shapes.iter().filter(|shape| !shape.attributes().contains(id));
            if lacks.any(|shape| !shape.is_empty()) {
                let name = &self.attributes.names()[id.index()];
                let message = format!(
                    "this \"{}\" has no vertex attribute \"{name}\", which its area light reads",
                    entity.name
                );
                self.warn(entity, message, "the radiance is not scaled")?;
            }
        }
        // As in pbrt-v4, an area light with opacity 0 is never hit, but still emits.
        let invisible = matches!(alpha, Some(Param::Constant(a)) if a.x <= 0.0);
        let mut emitters = Vec::new();
        for shape in shapes.into_iter().filter(|shape| !shape.is_empty()) {
            let first_light = emission.as_ref().map(|_| *next_light);
            if emission.is_some() {
                *next_light += shape.len();
            }
            let (alpha, flip) = (alpha.clone(), s.reverse_orientation);
            let primitive = Primitive { shape, material, first_light, alpha, flip, media };
            let primitive = if invisible {
                EmissivePrimitive::Invisible(Box::new(primitive))
            } else {
                geometry.vertices_move |= primitive.shape.vertices_move();
                geometry.primitives.push(primitive);
                EmissivePrimitive::Visible(geometry.primitives.len() - 1)
            };
            emitters.extend(emission.clone().map(|emission| Emitter { primitive, emission }));
        }
        Ok(emitters)
    }

    /// Returns the opacity; `None` if it is 1.
    fn alpha(&mut self, entity: &Entity) -> Result<Option<Param>, SceneError> {
        Ok(match self.optional_float(entity, "alpha")? {
            Some(Param::Constant(a)) if a.x >= 1.0 => None,
            alpha => alpha,
        })
    }

    /// Reads an area light.
    fn area_emission<'d>(&mut self, entity: &'d Entity) -> Result<AreaEmission<'d>, SceneError> {
        self.check_supported("area light", entity, &["diffuse"], |_| None)?;
        let p = &entity.params;
        let two_sided = p.bool("twosided")?.unwrap_or(false);
        let (le, image) = match p.string("filename")? {
            None => (self.emission(entity, "L")?, None),
            Some(_) if p.find("L").is_some() => {
                return Err(entity
                    .error("both \"L\" and \"filename\" are given")
                    .help("remove one of them; \"scale\" brightens an image"));
            }
            Some(name) => {
                (Vec3::ONE, Some(self.emission_image(entity, self.path(name), Encoding::Srgb)?))
            }
        };
        let attribute = self.emission_attribute(entity)?;
        let emission = AreaEmission { entity: Some(entity), le, image, attribute, two_sided };
        // Checks the parameters and marks them as used, even if the shape has no elements.
        emission_scale(entity)?;
        light_group(entity)?;
        p.float("power")?;
        self.warn_unused(entity)?;
        Ok(emission)
    }

    /// Returns the attribute of vertices that an area light reads, if it does.
    fn emission_attribute(&mut self, entity: &Entity) -> Result<Option<AttributeId>, SceneError> {
        let Some(name) = entity.params.string("attribute")? else { return Ok(None) };
        let id = self.attribute_named(name).ok_or_else(|| too_many_attributes(entity))?;
        Ok(Some(id))
    }

    /// Puts the lights without a group into that of an area light; those of materials are in the
    /// default group.
    fn assign_area_group(
        &mut self,
        emission: &AreaEmission,
        lights: &[AnyLight],
    ) -> Result<(), SceneError> {
        match emission.entity {
            Some(entity) => self.assign_light_group(entity, lights),
            None => {
                self.light_groups.assign(DEFAULT_GROUP, lights.len());
                Ok(())
            }
        }
    }

    /// Returns an emission image. Reads each file once.
    pub(super) fn emission_image(
        &mut self,
        entity: &Entity,
        path: PathBuf,
        encoding: Encoding,
    ) -> Result<Arc<EmissionImage>, SceneError> {
        let key = (path, encoding == Encoding::Srgb);
        if let Some(image) = self.emission_images.get(&key) {
            return Ok(image.clone());
        }
        let image = Arc::new(self.light_image(entity, &key.0, encoding)?);
        let image = Arc::new(EmissionImage::new(image));
        self.emission_images.insert(key, image.clone());
        Ok(image)
    }

    /// Creates the light of an element. As in pbrt-v4, `power` is the power per element, where the
    /// mean radiance is that of the entire image. Vertices with an attribute have the power of 1.
    fn area_light(
        &mut self,
        &AreaEmission { entity, le, ref image, attribute, two_sided }: &AreaEmission<'_>,
        primitive: &Primitive,
        element: u32,
    ) -> Result<AreaLight, SceneError> {
        let mean = image.as_ref().map_or(1.0, |image| luminance(image.mean()));
        let power = PI * primitive.shape.area(element) * if two_sided { 2.0 } else { 1.0 } * mean;
        let le = entity.map_or(Ok(le), |entity| self.scaled(entity, le, "power", power))?;
        let light = AreaLight::new(primitive, element, le, two_sided);
        let light = match image {
            Some(image) => light.with_image(primitive, element, image.clone()),
            None => light,
        };
        Ok(match attribute {
            Some(id) => light.with_vertex_colours(primitive, element, id),
            None => light,
        })
    }

    /// Adds the lights of an emitter in an instance of its group, at the `transform`, from which the
    /// instance may move.
    fn instance_lights(
        &mut self,
        emitter: &Emitter<'_>,
        geometry: &Geometry,
        (transform, motion): (&Transform, Option<Motion>),
        context: &RenderContext,
        lights: &mut Vec<AnyLight>,
    ) -> Result<(), SceneError> {
        let primitive = emitter.primitive(geometry);
        // The place of moving vertices in an instance that does not move.
        let place = match motion {
            None if primitive.shape.vertices_move() => {
                let affine = transform.affine();
                let ctm = DAffine3 {
                    matrix3: glam::Mat3::from(affine.matrix3).as_dmat3(),
                    translation: Vec3::from(affine.translation).as_dvec3(),
                };
                Motion::new([ctm; 2], context.transform_times, context.shutter).ok()
            }
            motion => motion,
        };
        let place = place.map(Arc::new);
        for element in 0..primitive.shape.len() {
            let light = match primitive.instantiate(element, transform) {
                Some(instantiated) => self
                    .area_light(&emitter.emission, &instantiated, 0)?
                    .with_textures_of_group(primitive, element, geometry.origin),
                // Without an area, the element emits nothing, but its light keeps its index.
                None => AreaLight::new(primitive, element, Vec3::ZERO, false),
            };
            lights.push(any_area_light(light, (primitive, element), place.clone(), context));
        }
        self.assign_area_group(&emitter.emission, lights)
    }
}

fn sphere(entity: &Entity, render_from_shape: &Transform) -> Result<Shape, SceneError> {
    let number = |name: &str, default: f32| {
        Ok::<f32, SceneError>(entity.params.float(name)?.unwrap_or(default))
    };
    let radius = number("radius", 1.0)?;
    let sphere = Sphere::new(
        render_from_shape,
        radius,
        number("zmin", -radius)?,
        number("zmax", radius)?,
        number("phimax", 360.0)?,
    );
    Ok(Shape::Sphere(sphere.map_err(|e| shape_error(entity, &e))?))
}

fn disk(entity: &Entity, render_from_shape: &Transform) -> Result<Shape, SceneError> {
    let number = |name: &str, default: f32| {
        Ok::<f32, SceneError>(entity.params.float(name)?.unwrap_or(default))
    };
    let (height, radius, inner) =
        (number("height", 0.0)?, number("radius", 1.0)?, number("innerradius", 0.0)?);
    let disk = Disk::new(render_from_shape, height, radius, inner, number("phimax", 360.0)?);
    Ok(Shape::Disk(disk.map_err(|e| shape_error(entity, &e))?))
}

fn cylinder(entity: &Entity, render_from_shape: &Transform) -> Result<Shape, SceneError> {
    let number = |name: &str, default: f32| {
        Ok::<f32, SceneError>(entity.params.float(name)?.unwrap_or(default))
    };
    let cylinder = Cylinder::new(
        render_from_shape,
        number("radius", 1.0)?,
        number("zmin", -1.0)?,
        number("zmax", 1.0)?,
        number("phimax", 360.0)?,
    );
    Ok(Shape::Cylinder(cylinder.map_err(|e| shape_error(entity, &e))?))
}
