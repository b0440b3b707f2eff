//! Builds shapes, instances and area lights.

use super::displacement::displaced;
use super::light_groups::light_group;
use super::lights::emission_scale;
use super::materials::Materials;
use super::shape_errors::{check_extent, mesh_error, shape_error};
use super::{Builder, motion, transform};
use crate::describe::{Curve, Description, InstanceEntity, ShapeEntity, curve};
use crate::diagnostics::{Location, SceneError};
use crate::file::parse::Entity;
use crate::ply;
use glam::{DAffine3, DVec3};
use lightbound::geometry::{
    BilinearMesh, CurveBasis, CurveError, CurveKind, CurveStyle, Curves, Cylinder, Disk, Geometry,
    Instance, MAX_SPLIT_DEPTH, Mesh, MeshError, Motion, Primitive, Shape, Sphere, SubdivisionError,
    subdivide_loop,
};
use lightbound::light::{AnyLight, AreaLight, EmissionImage};
use lightbound::suggestion::did_you_mean;
use lightbound::texture::Param;
use lightbound_math::sampling::luminance;
use lightbound_math::{Transform, Vec2, Vec3};
use std::f32::consts::PI;
use std::iter;
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

/// Adds an instance of a group that moves.
fn add_moving_instance(geometry: &mut Geometry, group: u32, motion: Motion) {
    let (transform, index) = (motion.start(), geometry.motions.len() as u32);
    geometry.motions.push(motion);
    geometry.instances.push(Instance { group, transform, first_light: 0, motion: Some(index) });
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
    /// Builds all shapes and appends area lights to `lights`. `origin` is that of render space;
    /// `shutter` are the times at which the shutter opens and closes.
    pub(super) fn shapes(
        &mut self,
        d: &Description,
        materials: &Materials,
        (origin, shutter): (DVec3, [f32; 2]),
        lights: &mut Vec<AnyLight>,
    ) -> Result<Shapes, SceneError> {
        let mut geometry = Geometry { origin, ..Geometry::default() };
        let mut object_names = Vec::new();
        let mut next_light = lights.len() as u32;
        for shape in d.shapes.iter().filter(|shape| shape.end_ctm.is_none()) {
            let (ctm, target) = (shape.ctm, (&mut geometry, &mut next_light));
            for emitter in self.shape(d, shape, ctm, materials, target)? {
                let primitive = emitter.primitive(&geometry);
                for element in 0..primitive.shape.len() {
                    let light = self.area_light(&emitter.emission, primitive, element)?;
                    lights.push(AnyLight::Area(light));
                }
                self.assign_light_group(emitter.emission.entity, lights)?;
            }
            let name = match shape.entity.name.as_str() {
                "plymesh" => shape.entity.params.string("filename")?,
                _ => None,
            };
            let name = name.unwrap_or(&shape.entity.name);
            object_names.resize(geometry.primitives.len(), name.to_string());
        }
        geometry.world = 0..geometry.primitives.len() as u32;
        // Emitters of each object, in the order of their lights.
        let mut emitters: Vec<Vec<Emitter<'_>>> = Vec::new();
        for object in &d.objects {
            let start = geometry.primitives.len() as u32;
            let (mut of_object, mut next_light) = (Vec::new(), 0);
            for shape in &object.shapes {
                let target = (&mut geometry, &mut next_light);
                of_object.extend(self.shape(d, shape, shape.ctm, materials, target)?);
            }
            geometry.groups.push(start..geometry.primitives.len() as u32);
            emitters.push(of_object);
        }
        // Emitters do not move.
        let emits = |object: usize| !emitters[object].is_empty();
        let moves = |i: &&InstanceEntity| i.end_ctm.is_some() && !emits(i.object);
        for instance in d.instances.iter().filter(|instance| !moves(instance)) {
            if instance.end_ctm.is_some() {
                self.diagnostics.warn(
                    Some(&instance.location),
                    "motion of this emissive instance is not supported",
                    "the transform at the start time",
                )?;
            }
            let transform = instance_transform(&instance.location, instance.ctm)?;
            let (group, first_light) = (instance.object as u32, lights.len() as u32);
            for emitter in &emitters[instance.object] {
                self.instance_lights(emitter, &geometry, &transform, lights)?;
            }
            geometry.instances.push(Instance { group, transform, first_light, motion: None });
            object_names.push(d.objects[instance.object].name.clone());
        }
        // Moving shapes are instances of groups of their own.
        for instance in d.instances.iter().filter(moves) {
            let Some(end) = instance.end_ctm else { continue };
            let transforms = [instance.ctm, end];
            let motion = motion(&instance.location, "instance", transforms, d, shutter)?;
            add_moving_instance(&mut geometry, instance.object as u32, motion);
            object_names.push(d.objects[instance.object].name.clone());
        }
        for shape in &d.shapes {
            let Some(end) = shape.end_ctm else { continue };
            let start = geometry.primitives.len() as u32;
            let (entity, target) = (&shape.entity, (&mut geometry, &mut 0));
            self.shape(d, shape, DAffine3::IDENTITY, materials, target)?;
            let motion = motion(&entity.location, "shape", [shape.ctm, end], d, shutter)?;
            geometry.groups.push(start..geometry.primitives.len() as u32);
            let group = geometry.groups.len() as u32 - 1;
            add_moving_instance(&mut geometry, group, motion);
            object_names
                .push(entity.params.string("filename")?.unwrap_or(&entity.name).to_string());
        }
        Ok(Shapes { geometry, object_names })
    }

    /// Adds a shape with the transform `ctm` to `geometry`, and returns its emissive primitives.
    /// `next_light` is the index of the next light.
    fn shape<'d>(
        &mut self,
        d: &'d Description,
        s: &ShapeEntity,
        ctm: DAffine3,
        materials: &Materials,
        (geometry, next_light): (&mut Geometry, &mut u32),
    ) -> Result<Vec<Emitter<'d>>, SceneError> {
        let entity = &s.entity;
        self.check_supported("shape", entity, &SHAPES, |_| None)?;
        let render_from_shape = transform(entity, ctm)?;
        let alpha = self.alpha(entity)?;
        let shapes = match entity.name.as_str() {
            "plymesh" => self.plymesh(entity, &render_from_shape)?,
            "trianglemesh" => vec![trianglemesh(entity, &render_from_shape)?],
            "loopsubdiv" => vec![self.loopsubdiv(entity, &render_from_shape)?],
            "bilinearmesh" => vec![bilinearmesh(entity, &render_from_shape)?],
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
        let le = le * self.scale(entity, "power", power)?;
        let light = AreaLight::new(primitive, element, le, two_sided);
        Ok(match image {
            Some(image) => light.with_image(primitive, element, image.clone()),
            None => light,
        })
    }

    /// Adds the lights of an emitter in an instance of its object.
    fn instance_lights(
        &mut self,
        emitter: &Emitter<'_>,
        geometry: &Geometry,
        transform: &Transform,
        lights: &mut Vec<AnyLight>,
    ) -> Result<(), SceneError> {
        let primitive = emitter.primitive(geometry);
        for element in 0..primitive.shape.len() {
            let light = match primitive.instantiate(element, transform) {
                Some(instantiated) => self
                    .area_light(&emitter.emission, &instantiated, 0)?
                    .with_textures_of_group(primitive, element, geometry.origin),
                // Without an area, the element emits nothing, but its light keeps its index.
                None => AreaLight::new(primitive, element, Vec3::ZERO, false),
            };
            lights.push(AnyLight::Area(light));
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
        entity: &Entity,
        render_from_shape: &Transform,
    ) -> Result<Vec<Shape>, SceneError> {
        let Some(name) = entity.params.string("filename")? else {
            return Err(entity.error("a plymesh needs a file").help("give \"string filename\""));
        };
        let displacement = self.displacement(entity)?;
        let path = self.path(name);
        let mesh = ply::read_with(&path, |path| self.inputs.read(path))
            .map_err(|e| entity.param_error("filename", e.to_string()))?;
        if let Some(displacement) = displacement {
            return displaced(entity, displacement, mesh, render_from_shape);
        }
        let error = |e: MeshError| {
            let error = entity.param_error("filename", format!("{}: {e}", path.display()));
            error.help("check the mesh and the transform")
        };
        let mut shapes = Vec::new();
        if !mesh.quads.is_empty() {
            let (p, n, uv) = (mesh.positions.clone(), mesh.normals.clone(), mesh.uvs.clone());
            let patches = BilinearMesh::new(p, mesh.quads, n, uv)
                .and_then(|m| m.transformed(render_from_shape))
                .map_err(error)?;
            shapes.push(Shape::Bilinear(patches));
        }
        if !mesh.triangles.is_empty() {
            let triangles = Mesh::new(mesh.positions, mesh.triangles, mesh.normals, mesh.uvs);
            shapes.push(Shape::Mesh(
                triangles.and_then(|m| m.transformed(render_from_shape)).map_err(error)?,
            ));
        }
        Ok(shapes)
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

fn trianglemesh(entity: &Entity, render_from_shape: &Transform) -> Result<Shape, SceneError> {
    let (positions, normals, uvs) = vertices(entity)?;
    let triangles = elements(entity, positions.len())?;
    // Only Ptex uses face indices. Tangents "S" are unsupported and reported as unused.
    entity.params.ints("faceIndices")?;
    let mesh = Mesh::new(positions, triangles, normals, uvs)
        .and_then(|m| m.transformed(render_from_shape));
    Ok(Shape::Mesh(mesh.map_err(|e| mesh_error(entity, &e))?))
}

fn bilinearmesh(entity: &Entity, render_from_shape: &Transform) -> Result<Shape, SceneError> {
    let (positions, normals, uvs) = vertices(entity)?;
    let patches = elements(entity, positions.len())?;
    entity.params.ints("faceIndices")?;
    // In pbrt-v4, an image for sampling the light; here, lights sample their own image.
    entity.params.string("emissionfilename")?;
    let mesh = BilinearMesh::new(positions, patches, normals, uvs)
        .and_then(|m| m.transformed(render_from_shape));
    Ok(Shape::Bilinear(mesh.map_err(|e| mesh_error(entity, &e))?))
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
