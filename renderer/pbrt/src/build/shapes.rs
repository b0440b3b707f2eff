//! Builds shapes, instances and area lights.

use super::displacement::displaced;
use super::light_groups::light_group;
use super::lights::emission_scale;
use super::materials::Materials;
use super::shape_errors::{check_bounds, check_extent, mesh_error, shape_error};
use super::{Builder, RenderContext, motion_error, transform};
use crate::describe::{Curve, Description, ShapeEntity, curve};
use crate::diagnostics::{Location, SceneError};
use crate::file::parse::Entity;
use crate::ply::{self, PlyMesh};
use glam::DAffine3;
use lightbound::geometry::{
    BilinearMesh, CurveBasis, CurveError, CurveKind, CurveStyle, Curves, Cylinder, Disk, Geometry,
    Instance, MAX_SPLIT_DEPTH, Mesh, MeshError, Motion, Primitive, Shape, Sphere, SubdivisionError,
    VertexMotion, subdivide_loop,
};
use lightbound::light::{AnyLight, AreaLight, EmissionImage, MovingLight};
use lightbound::suggestion::did_you_mean;
use lightbound::texture::Param;
use lightbound_math::sampling::luminance;
use lightbound_math::{Aabb, Transform, Vec2, Vec3};
use std::f32::consts::PI;
use std::iter;
use std::path::Path;
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

/// The emission of an area light.
#[derive(Clone)]
struct AreaEmission<'d> {
    entity: &'d Entity,
    /// Emitted radiance, without the factors `scale` and `power`; 1 with an image.
    le: Vec3,
    /// Factor of the radiance.
    image: Option<Arc<EmissionImage>>,
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

/// Returns the name of a shape: that of its file, if it has one.
fn shape_name(entity: &Entity) -> Result<String, SceneError> {
    let file = match entity.name.as_str() {
        "plymesh" => entity.params.string("filename")?,
        _ => None,
    };
    Ok(file.unwrap_or(&entity.name).to_string())
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
const SHAPES: [&str; 8] = [
    "plymesh",
    "trianglemesh",
    "bilinearmesh",
    "loopsubdiv",
    "sphere",
    "disk",
    "cylinder",
    "curve",
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
        let (mut next_light, mut moving_shapes) = (lights.len() as u32, Vec::new());
        for shape in &d.shapes {
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
                self.assign_light_group(emitter.emission.entity, lights)?;
            }
            object_names.resize(geometry.primitives.len(), shape_name(&shape.entity)?);
        }
        geometry.world = 0..geometry.primitives.len() as u32;
        // The first part of each object does not move within it.
        let mut objects: Vec<Vec<Part<'_>>> = Vec::new();
        for object in &d.objects {
            let start = geometry.primitives.len() as u32;
            let (mut emitters, mut next_light, mut moving) = (Vec::new(), 0, Vec::new());
            for shape in &object.shapes {
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
            let name = &d.objects[instance.object].name;
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
        let render_from_shape = transform(entity, ctm)?;
        let alpha = self.alpha(entity)?;
        let shapes = match entity.name.as_str() {
            "plymesh" => self.plymesh(s, &render_from_shape, context)?,
            "trianglemesh" => vec![self.trianglemesh(s, &render_from_shape, context)?],
            "loopsubdiv" => vec![self.loopsubdiv(entity, &render_from_shape)?],
            "bilinearmesh" => vec![self.bilinearmesh(s, &render_from_shape, context)?],
            "sphere" => vec![sphere(entity, &render_from_shape)?],
            "disk" => vec![disk(entity, &render_from_shape)?],
            "cylinder" => vec![cylinder(entity, &render_from_shape)?],
            _ => vec![self.curves(s, &render_from_shape)?],
        };
        shapes.iter().try_for_each(|shape| check_extent(entity, shape))?;
        self.warn_unused(entity)?;
        let Some(material) = materials.index[s.material] else {
            if s.area_light.is_some() {
                self.warn(
                    entity,
                    "an area light with the material \"interface\" is not supported",
                    "it is ignored",
                )?;
            }
            return Ok(Vec::new());
        };
        let mut area_light = s.area_light;
        if area_light.is_some() && entity.name == "curve" {
            self.warn(entity, "area lights on curves are not supported", "curves without light")?;
            area_light = None;
        }
        let emission =
            area_light.map(|light| self.area_emission(&d.area_lights[light])).transpose()?;
        // As in pbrt-v4, an area light with opacity 0 is never hit, but still emits.
        let invisible = matches!(alpha, Some(Param::Constant(a)) if a.x <= 0.0);
        let mut emitters = Vec::new();
        for shape in shapes.into_iter().filter(|shape| !shape.is_empty()) {
            let first_light = emission.as_ref().map(|_| *next_light);
            if emission.is_some() {
                *next_light += shape.len();
            }
            let (alpha, flip) = (alpha.clone(), s.reverse_orientation);
            let primitive = Primitive { shape, material, first_light, alpha, flip };
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
            Some(name) => (Vec3::ONE, Some(self.emission_image(entity, name)?)),
        };
        let emission = AreaEmission { entity, le, image, two_sided };
        // Checks the parameters and marks them as used, even if the shape has no elements.
        emission_scale(entity)?;
        light_group(entity)?;
        p.float("power")?;
        self.warn_unused(entity)?;
        Ok(emission)
    }

    /// Returns an emission image. Reads each file once.
    fn emission_image(
        &mut self,
        entity: &Entity,
        name: &str,
    ) -> Result<Arc<EmissionImage>, SceneError> {
        let path = self.path(name);
        if let Some(image) = self.emission_images.get(&path) {
            return Ok(image.clone());
        }
        let image = Arc::new(self.light_image(entity, name)?);
        let image = Arc::new(EmissionImage::new(image));
        self.emission_images.insert(path, image.clone());
        Ok(image)
    }

    /// Creates the light of an element. As in pbrt-v4, `power` is the power per element, where the
    /// mean radiance is that of the entire image.
    fn area_light(
        &mut self,
        &AreaEmission { entity, le, ref image, two_sided }: &AreaEmission<'_>,
        primitive: &Primitive,
        element: u32,
    ) -> Result<AreaLight, SceneError> {
        let mean = image.as_ref().map_or(1.0, |image| luminance(image.mean()));
        let power = PI * primitive.shape.area(element) * if two_sided { 2.0 } else { 1.0 } * mean;
        let le = self.scaled(entity, le, "power", power)?;
        let light = AreaLight::new(primitive, element, le, two_sided);
        Ok(match image {
            Some(image) => light.with_image(primitive, element, image.clone()),
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
        self.assign_light_group(emitter.emission.entity, lights)
    }

    /// Builds a run of curves.
    fn curves(&mut self, s: &ShapeEntity, transform: &Transform) -> Result<Shape, SceneError> {
        let entity = &s.entity;
        let style = self.curve_style(entity)?;
        let first = curve(&entity.params)?;
        if first.points.is_empty() {
            return Err(entity.error("a curve needs control points").help("give \"point3 P\""));
        }
        let all = || iter::once((&entity.location, first)).chain(s.curves.iter());
        if style.kind != CurveKind::Ribbon
            && let Some((location, _)) = all().find(|(_, curve)| !curve.normals.is_empty())
        {
            let what = "normals \"N\" are only for curves of type \"ribbon\"";
            self.diagnostics.warn(Some(location), what, "they are ignored")?;
        }
        let mut curves = Curves::new(style);
        let segments = all().filter_map(|(_, c)| style.segment_count(c.points.len()).ok()).sum();
        curves.reserve(first.points.len() + s.curves.point_count(), segments);
        for (location, Curve { points, normals, widths }) in all() {
            curves.add(points, normals, widths).map_err(|e| {
                SceneError::at(location, e.to_string()).help(match e {
                    CurveError::Points { .. } => "check \"point3 P\", \"basis\" and \"degree\"",
                    CurveError::Normals { .. } => {
                        "give one \"normal N\" at each end of each segment"
                    }
                    CurveError::ZeroNormal => "give each \"normal N\" a direction",
                    CurveError::Width(_) => "check \"width\", \"width0\" and \"width1\"",
                    CurveError::TooMany => "decrease \"splitdepth\"",
                })
            })?;
        }
        Ok(Shape::Curves(curves.transformed(transform)))
    }

    /// Reads what the curves of a run have in common. As in pbrt-v4, unknown types are cylinders.
    fn curve_style(&mut self, entity: &Entity) -> Result<CurveStyle, SceneError> {
        let p = &entity.params;
        let unknown = |name: &str, value: &str, all: &[&str]| {
            let error = entity.error(format!("unknown curve {name} \"{value}\""));
            error.help(did_you_mean(
                value,
                all.iter().copied(),
                &format!("write {}", all.join(" or ")),
            ))
        };
        let kind = match p.string("type")?.unwrap_or("flat") {
            "flat" => CurveKind::Flat,
            "ribbon" => CurveKind::Ribbon,
            "cylinder" => CurveKind::Cylinder,
            other => {
                let what = format!("unknown curve type \"{other}\"");
                self.warn(entity, what, "the type \"cylinder\"")?;
                CurveKind::Cylinder
            }
        };
        let basis = match p.string("basis")?.unwrap_or("bezier") {
            "bezier" => CurveBasis::Bezier,
            "bspline" => CurveBasis::BSpline,
            other => return Err(unknown("basis", other, &["bezier", "bspline"])),
        };
        let degree = match p.int("degree")?.unwrap_or(3) {
            degree @ 2..=3 => degree as u32,
            degree => {
                let error = entity.error(format!("curves of degree {degree} are not supported"));
                return Err(error.help("give the degree 2 or 3"));
            }
        };
        let depth = p.int("splitdepth")?.unwrap_or(3);
        let split_depth = depth.clamp(0, MAX_SPLIT_DEPTH as i32) as u32;
        if i64::from(split_depth) != i64::from(depth) {
            let what = format!("\"splitdepth\" {depth} is not supported");
            self.warn(entity, what, format!("a split depth of {split_depth}"))?;
        }
        Ok(CurveStyle { kind, basis, degree, split_depth })
    }

    /// Builds a Loop subdivision surface. A control mesh that is not manifold is not subdivided,
    /// with a warning.
    fn loopsubdiv(
        &mut self,
        entity: &Entity,
        render_from_shape: &Transform,
    ) -> Result<Shape, SceneError> {
        let levels = entity.params.int("levels")?.unwrap_or(3);
        let levels = u32::try_from(levels).map_err(|_| {
            entity.param_error("levels", format!("\"levels\" is {levels}")).help("give 0 or more")
        })?;
        // As in pbrt-v4, there is one scheme.
        entity.params.string("scheme")?;
        let positions = positions(entity)?.to_vec();
        let triangles = elements(entity, positions.len())?;
        let error = |e: MeshError| mesh_error(entity, &e);
        let mesh = match subdivide_loop(positions.clone(), triangles.clone(), levels) {
            Ok(mesh) => mesh,
            Err(e @ (SubdivisionError::Edge { .. } | SubdivisionError::RepeatedVertex { .. })) => {
                let what = format!("this mesh cannot be subdivided: {e}");
                self.warn(entity, &what, "its control mesh")?;
                // As on the subdivided surface, the front is clockwise.
                let triangles = triangles.into_iter().map(|[a, b, c]| [a, c, b]).collect();
                Mesh::new(positions, triangles, Vec::new(), Vec::new()).map_err(error)?
            }
            Err(SubdivisionError::Mesh(e)) => return Err(error(e)),
            Err(e @ SubdivisionError::TooMany { .. }) => {
                let error = entity.param_error("levels", e.to_string());
                return Err(error.help("lower \"levels\""));
            }
        };
        Ok(Shape::Mesh(mesh.transformed(render_from_shape).map_err(error)?))
    }

    fn plymesh(
        &mut self,
        s: &ShapeEntity,
        render_from_shape: &Transform,
        context: &RenderContext,
    ) -> Result<Vec<Shape>, SceneError> {
        let entity = &s.entity;
        let Some(name) = entity.params.string("filename")? else {
            return Err(entity.error("a plymesh needs a file").help("give \"string filename\""));
        };
        let displacement = self.displacement(entity)?;
        let path = self.path(name);
        let mesh = self.read_ply(entity, "filename", &path)?;
        if let Some(displacement) = displacement {
            if entity.params.string("filename1")?.is_some() {
                let what = "\"filename1\" is not supported with \"displacement\"";
                self.warn(entity, what, "the mesh at the start time")?;
            }
            return displaced(entity, displacement, mesh, render_from_shape);
        }
        let motion = match entity.params.string("filename1")? {
            None => None,
            Some(_) if self.has_still_vertices(s, context)? => None,
            Some(name) => {
                let end_path = self.path(name);
                let end = self.read_ply(entity, "filename1", &end_path)?;
                if end.triangles != mesh.triangles || end.quads != mesh.quads {
                    let [start, end] = [&path, &end_path].map(|path| path.display());
                    let message = format!("the faces of {end} are not those of {start}");
                    let error = entity.param_error("filename1", message);
                    return Err(error.help(
                        "export the same mesh at both times, with vertices in the same order",
                    ));
                }
                let &RenderContext { transform_times: times, shutter, .. } = context;
                Some(Box::new(VertexMotion::new(end.positions, end.normals, times, shutter)))
            }
        };
        let end_path = entity.params.string("filename1")?.map(|name| self.path(name));
        let error = |e: MeshError| {
            let help = match e {
                MeshError::EndNormals => "export both files with normals, or none",
                MeshError::Length { attribute: "end positions", .. } => {
                    "export the same mesh at both times"
                }
                _ => "check the mesh and the transform",
            };
            let (name, path) = match &end_path {
                Some(end_path) if e.is_at_end() => ("filename1", end_path),
                _ => ("filename", &path),
            };
            entity.param_error(name, format!("{}: {e}", path.display())).help(help)
        };
        let mut shapes = Vec::new();
        if !mesh.quads.is_empty() {
            let (p, n, uv) = (mesh.positions.clone(), mesh.normals.clone(), mesh.uvs.clone());
            let patches = BilinearMesh::with_motion(p, mesh.quads, n, uv, motion.clone())
                .and_then(|m| m.transformed(render_from_shape))
                .map_err(error)?;
            shapes.push(Shape::Bilinear(patches));
        }
        if !mesh.triangles.is_empty() {
            let PlyMesh { positions, triangles, normals, uvs, .. } = mesh;
            let triangles = Mesh::with_motion(positions, triangles, normals, uvs, motion);
            shapes.push(Shape::Mesh(
                triangles.and_then(|m| m.transformed(render_from_shape)).map_err(error)?,
            ));
        }
        Ok(shapes)
    }

    /// Reads the PLY file that a parameter names.
    fn read_ply(
        &mut self,
        entity: &Entity,
        parameter: &str,
        path: &Path,
    ) -> Result<PlyMesh, SceneError> {
        ply::read_with(path, |path| self.inputs.read(path))
            .map_err(|e| entity.param_error(parameter, e.to_string()))
    }

    /// Returns whether the vertices of a shape cannot move, with a warning.
    fn has_still_vertices(
        &mut self,
        s: &ShapeEntity,
        context: &RenderContext,
    ) -> Result<bool, SceneError> {
        let is_still = s.area_light.is_some() && !context.lights_move;
        if is_still {
            let what = "moving vertices of this emissive shape are not supported by lightcuts";
            self.warn(&s.entity, what, "the positions at the start time")?;
        }
        Ok(is_still)
    }

    /// Reads the positions and normals of a mesh's vertices at the end of a motion, if they move.
    fn vertex_motion(
        &mut self,
        s: &ShapeEntity,
        context: &RenderContext,
    ) -> Result<Option<Box<VertexMotion>>, SceneError> {
        let p = &s.entity.params;
        let (positions, normals) = (p.point3s("P1")?, p.normals("N1")?);
        let Some(positions) = positions else {
            return match normals {
                None => Ok(None),
                Some(_) => Err(s
                    .entity
                    .error("normals \"N1\" at the end time, but no positions")
                    .help("give \"point3 P1\"")),
            };
        };
        let normals = normals.unwrap_or_default().to_vec();
        if self.has_still_vertices(s, context)? {
            return Ok(None);
        }
        let &RenderContext { transform_times: times, shutter, .. } = context;
        Ok(Some(Box::new(VertexMotion::new(positions.to_vec(), normals, times, shutter))))
    }

    fn trianglemesh(
        &mut self,
        s: &ShapeEntity,
        render_from_shape: &Transform,
        context: &RenderContext,
    ) -> Result<Shape, SceneError> {
        let entity = &s.entity;
        let (positions, normals, uvs) = vertices(entity)?;
        let triangles = elements(entity, positions.len())?;
        let motion = self.vertex_motion(s, context)?;
        // Only Ptex uses face indices. Tangents "S" are unsupported and reported as unused.
        entity.params.ints("faceIndices")?;
        let mesh = Mesh::with_motion(positions, triangles, normals, uvs, motion)
            .and_then(|m| m.transformed(render_from_shape));
        Ok(Shape::Mesh(mesh.map_err(|e| mesh_error(entity, &e))?))
    }

    fn bilinearmesh(
        &mut self,
        s: &ShapeEntity,
        render_from_shape: &Transform,
        context: &RenderContext,
    ) -> Result<Shape, SceneError> {
        let entity = &s.entity;
        let (positions, normals, uvs) = vertices(entity)?;
        let patches = elements(entity, positions.len())?;
        let motion = self.vertex_motion(s, context)?;
        entity.params.ints("faceIndices")?;
        // In pbrt-v4, an image for sampling the light; here, lights sample their own image.
        entity.params.string("emissionfilename")?;
        let mesh = BilinearMesh::with_motion(positions, patches, normals, uvs, motion)
            .and_then(|m| m.transformed(render_from_shape));
        Ok(Shape::Bilinear(mesh.map_err(|e| mesh_error(entity, &e))?))
    }
}

/// Positions, normals and texture coordinates.
type Vertices = (Vec<Vec3>, Vec<Vec3>, Vec<Vec2>);

/// Reads the positions of a mesh's vertices.
fn positions(entity: &Entity) -> Result<&[Vec3], SceneError> {
    entity.params.point3s("P")?.ok_or_else(|| {
        entity.error(format!("a {} needs positions", entity.name)).help("give \"point3 P\"")
    })
}

/// Reads the vertices of a mesh.
fn vertices(entity: &Entity) -> Result<Vertices, SceneError> {
    let p = &entity.params;
    let positions = positions(entity)?;
    let normals = p.normals("N")?.unwrap_or_default();
    let uvs = p.point2s("uv")?.unwrap_or_default();
    Ok((positions.to_vec(), normals.to_vec(), uvs.to_vec()))
}

/// Reads the indices of elements with `N` vertices. As in pbrt-v4, `N` vertices without indices are
/// one element.
fn elements<const N: usize>(entity: &Entity, vertices: usize) -> Result<Vec<[u32; N]>, SceneError> {
    let Some(indices) = entity.params.ints("indices")? else {
        if vertices == N {
            return Ok(vec![std::array::from_fn(|i| i as u32)]);
        }
        return Err(entity
            .error(format!("{vertices} vertices, but no indices"))
            .help("give \"integer indices\""));
    };
    let (chunks, rest) = indices.as_chunks::<N>();
    if !rest.is_empty() {
        let message = format!("{} indices are not a multiple of {N}", indices.len());
        let error = entity.param_error("indices", message);
        return Err(error.help(format!("a {} takes {N} for each element", entity.name)));
    }
    if let Some(negative) = indices.iter().find(|&&i| i < 0) {
        return Err(entity
            .param_error("indices", format!("the vertex index {negative} is negative"))
            .help("vertices are counted from 0"));
    }
    Ok(chunks.iter().map(|c| c.map(|i| i as u32)).collect())
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
