//! Meshes of nodes as shapes, and as instances of objects where a mesh is used several times.

use crate::Options;
use crate::animation::Pose;
use crate::document::{Document, label};
use crate::files::file_name;
use crate::materials::{self, Translated, VertexColours, VertexTraits};
use crate::mesh::{self, Joints, MeshPose, Needs, Triangles};
use crate::nodes::{Nodes, Transforms, instances, node_label};
use crate::schema::Primitive;
use crate::textures::Context;
use crate::view::clean;
use glam::{DAffine3, DMat4, DVec3};
use lightbound_pbrt::SceneError;
use std::collections::HashMap;
use std::fmt::Write;

/// The shapes of a scene.
#[derive(Default)]
pub(crate) struct Shapes {
    /// Directives, each with its origin for messages.
    pub parts: Vec<(String, String)>,
    /// Bounding box in world space.
    pub bounds: Option<[DVec3; 2]>,
    /// Whether some emit enough light to light the scene.
    pub has_lamps: bool,
    /// Whether some contain a medium.
    pub has_media: bool,
    /// Materials, for the vertices that they were translated for.
    materials: HashMap<Option<usize>, Vec<(VertexTraits, Translated)>>,
    /// Meshes with one shape for each primitive: text and bounding box.
    meshes: HashMap<MeshUse, (String, Option<[DVec3; 2]>)>,
}

/// A mesh; those with a pose of their own belong to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct MeshUse {
    mesh: usize,
    node: Option<usize>,
}

/// Where a node has a mesh.
struct Placement {
    node: usize,
    transforms: Transforms,
}

impl Shapes {
    /// Translates all shapes of the nodes.
    pub fn translate(
        context: &mut Context,
        nodes: &Nodes,
        poses: &[Vec<Pose>; 2],
        options: &Options,
    ) -> Result<Shapes, SceneError> {
        let variant = variant(context.document, options)?;
        let mut shapes = Shapes::default();
        // Uses of each mesh, in order of first appearance.
        let mut uses: Vec<(MeshUse, Vec<Placement>)> = Vec::new();
        for &node in &nodes.order {
            let document = &*context.document;
            let root = &document.root;
            let Some(mesh) = root.nodes[node].mesh else { continue };
            let user = node_label(document, node);
            document.get(&root.meshes, "mesh", mesh, &user)?;
            let skin = root.nodes[node].skin;
            let has_weights = root.nodes[node].weights.is_some()
                || poses[0].get(node).is_some_and(|pose| pose.weights.is_some());
            let is_posed = skin.is_some() || has_weights;
            let key = MeshUse { mesh, node: is_posed.then_some(node) };
            // A skin places vertices in world space.
            let world = match skin {
                Some(_) => Transforms::default(),
                None => nodes.world[node].unwrap_or_default(),
            };
            let all: Vec<Transforms> = match instances(document, node)? {
                Some(instances) => {
                    instances.into_iter().map(|local| world.map(|world| world * local)).collect()
                }
                None => vec![world],
            };
            let mut placements = Vec::new();
            for transforms in all {
                let (transforms, fault) = motion_of(transforms);
                if let Some((problem, fallback)) = fault {
                    let message = format!("{}: {user} {problem}", context.document.path.display());
                    context.diagnostics.warn(None, message, fallback)?;
                }
                placements.extend(transforms.map(|transforms| Placement { node, transforms }));
            }
            if placements.is_empty() {
                let message = format!(
                    "{}: {user} has a scale of 0, or no instances",
                    document.path.display()
                );
                context.diagnostics.warn(None, message, "it is invisible")?;
                continue;
            }
            match uses.iter_mut().find(|(other, _)| *other == key) {
                Some((_, all)) => all.extend(placements),
                None => uses.push((key, placements)),
            }
        }
        for (key, placements) in uses {
            shapes.mesh(context, nodes, poses, variant, (key, &placements))?;
            shapes.place(context.document, key, &placements);
        }
        Ok(shapes)
    }

    /// Writes a mesh where nodes have it.
    fn place(&mut self, document: &Document, key: MeshUse, placements: &[Placement]) {
        let (text, bounds) = &self.meshes[&key];
        if text.is_empty() {
            return;
        }
        let name = document.root.meshes[key.mesh].name.as_deref();
        let element = label("mesh", key.mesh, name);
        let mut written = format!("# {}\n", comment(&element));
        let begin = |placement: &Placement| {
            let node = &document.root.nodes[placement.node];
            let name = node.name.as_deref().filter(|name| !name.is_empty());
            let name = name.map(|name| {
                let name = name.replace(|c: char| c.is_control() || "\"\\".contains(c), "_");
                format!("Attribute \"shape\" \"string name\" \"{name}\"\n")
            });
            let name = name.unwrap_or_default();
            format!("AttributeBegin\n{name}{}", moving(placement.transforms))
        };
        if let [placement] = placements {
            written += &begin(placement);
            written += text;
            written += "AttributeEnd\n\n";
        } else {
            let object = format!("mesh{}", key.mesh);
            let _ = writeln!(written, "ObjectBegin \"{object}\"\n{text}ObjectEnd");
            for placement in placements {
                written += &begin(placement);
                let _ = writeln!(written, "ObjectInstance \"{object}\"\nAttributeEnd");
            }
            written.push('\n');
        }
        for transform in placements.iter().flat_map(|placement| placement.transforms) {
            let Some([min, max]) = bounds else { continue };
            for corner in 0..8 {
                let pick =
                    |axis: usize| if corner >> axis & 1 == 0 { min[axis] } else { max[axis] };
                let p = transform.transform_point3(DVec3::new(pick(0), pick(1), pick(2)));
                let [low, high] = self.bounds.unwrap_or([p, p]);
                self.bounds = Some([low.min(p), high.max(p)]);
            }
        }
        self.parts.push((format!("{}: {element}", document.path.display()), written));
    }

    /// Translates the primitives of a mesh.
    fn mesh(
        &mut self,
        context: &mut Context,
        nodes: &Nodes,
        poses: &[Vec<Pose>; 2],
        variant: Option<usize>,
        (key, placements): (MeshUse, &[Placement]),
    ) -> Result<(), SceneError> {
        let node = placements[0].node;
        let mirrors = |placement: &Placement| placement.transforms[0].matrix3.determinant() < 0.0;
        let is_mirrored = placements.iter().any(mirrors);
        // Taken out of the document, which images are read from meanwhile.
        let mesh = std::mem::take(&mut context.document.root.meshes[key.mesh]);
        let mesh_name = label("mesh", key.mesh, mesh.name.as_deref());
        let weights = |poses: &[Pose]| {
            let animated = poses.get(node).and_then(|pose| pose.weights.clone());
            animated
                .or_else(|| context.document.root.nodes[node].weights.clone())
                .or_else(|| mesh.weights.clone())
                .unwrap_or_default()
        };
        let [start, end] = match context.document.root.nodes[node].skin {
            Some(skin) => joints(context.document, nodes, skin, node)?.map(Some),
            None => [None, None],
        };
        let mesh_poses = [
            MeshPose { weights: weights(&poses[0]), joints: start },
            MeshPose { weights: weights(&poses[1]), joints: end },
        ];
        let (mut text, mut bounds) = (String::new(), None);
        for (i, primitive) in mesh.primitives.iter().enumerate() {
            let name = format!("primitive {i} of {mesh_name}");
            let material = variant
                .and_then(|variant| {
                    let mappings = &primitive.extensions.variants.as_ref()?.mappings;
                    mappings.iter().find(|m| m.variants.contains(&variant)).map(|m| m.material)
                })
                .or(primitive.material);
            let file = mesh.name.as_deref().map(file_name).filter(|name| !name.is_empty());
            let file = file.unwrap_or_else(|| format!("mesh{}", key.mesh));
            self.primitive(
                context,
                (primitive, &mesh_poses, is_mirrored),
                material,
                (&name, &file),
                (&mut text, &mut bounds),
            )?;
        }
        context.document.root.meshes[key.mesh] = mesh;
        self.meshes.insert(key, (text, bounds));
        Ok(())
    }

    /// Translates a primitive: its file, its material, and the shape.
    fn primitive(
        &mut self,
        context: &mut Context,
        (primitive, poses, is_mirrored): (&Primitive, &[MeshPose; 2], bool),
        material: Option<usize>,
        (name, file): (&str, &str),
        (text, bounds): (&mut String, &mut Option<[DVec3; 2]>),
    ) -> Result<(), SceneError> {
        let document = &*context.document;
        let schema = match material {
            Some(index) => Some(document.get(&document.root.materials, "material", index, name)?),
            None => None,
        };
        let needs = Needs {
            coordinates: schema.map(materials::uses).unwrap_or_default(),
            tangents: schema.is_some_and(materials::needs_tangents),
        };
        let has_opacity = schema.is_some_and(materials::has_opacity);
        let is_lamp = schema.is_some_and(materials::is_lamp);
        let has_rotation = schema.is_some_and(materials::has_rotation);
        let triangles = mesh::read(document, primitive, name, poses, &needs, context.diagnostics)?;
        let Some(mut triangles) = triangles.filter(|triangles| !triangles.is_empty()) else {
            return Ok(());
        };
        let stem = context.files.stems.unique(file);
        let colours = vertex_colours(&mut triangles, has_opacity);
        let is_mirrored = is_mirrored && !triangles.tangents.is_empty()
            || triangles.tangents.iter().any(|tangent| tangent.w < 0.0);
        let traits = VertexTraits { colours, mirrors_rotation: has_rotation && is_mirrored };
        let known = self.materials.entry(material).or_default();
        let translated = match known.iter().find(|(other, _)| *other == traits) {
            Some((_, translated)) => translated.clone(),
            None => {
                let translated = materials::translate(context, material, traits)?;
                let path = context.document.path.display();
                let element = material.map_or("the default material".into(), |index| {
                    let name = context.document.root.materials[index].name.as_deref();
                    label("material", index, name)
                });
                let origin = format!("{path}: {element}");
                self.parts.push((origin, format!("{}\n", translated.text)));
                known.push((traits, translated.clone()));
                translated
            }
        };
        self.has_lamps |= is_lamp;
        self.has_media |= translated.medium.is_some();
        for p in triangles.all_positions() {
            let [low, high] = bounds.unwrap_or([*p, *p]);
            *bounds = Some([low.min(*p), high.max(*p)]);
        }
        let file = context.files.add(&format!("{stem}.ply"), triangles.ply(colours));
        let end = triangles.end_ply().map(|ply| {
            let stem = context.files.stems.unique(&format!("{stem}-end"));
            let file = context.files.add(&format!("{stem}.ply"), ply);
            format!(" \"string filename1\" \"{file}\"")
        });
        let end = end.unwrap_or_default();
        text.push_str("AttributeBegin\n");
        let _ = writeln!(text, "NamedMaterial \"{}\"", translated.name);
        if let Some(light) = &translated.light {
            let _ = writeln!(text, "{light}");
        }
        if let Some(medium) = &translated.medium {
            let _ = writeln!(text, "MediumInterface \"{medium}\" \"\"");
        }
        let shape = &translated.shape;
        let _ = writeln!(text, "Shape \"plymesh\" \"string filename\" \"{file}\"{end}{shape}");
        text.push_str("AttributeEnd\n");
        Ok(())
    }
}

/// Clamps the colours of vertices, and returns what a material needs to know of them. Opacities
/// count if the material `has_opacity`.
fn vertex_colours(triangles: &mut Triangles, has_opacity: bool) -> VertexColours {
    let colours = &mut triangles.colours;
    for colour in colours.iter_mut() {
        *colour = colour.map(|x| x.clamp(0.0, 1.0));
        if !has_opacity {
            colour[3] = 1.0;
        }
    }
    let Some(&[r, g, b, a]) = colours.first() else { return VertexColours::NONE };
    let have_colour = colours.iter().all(|colour| colour[..3] == [r, g, b]);
    let have_opacity = colours.iter().all(|colour| colour[3] == a);
    VertexColours { rgb: have_colour.then_some([r, g, b]), alpha: have_opacity.then_some(a) }
}

/// Returns the index of the variant that the options select.
fn variant(document: &Document, options: &Options) -> Result<Option<usize>, SceneError> {
    let Some(name) = &options.variant else { return Ok(None) };
    let variants = &document.root.extensions.variants.variants;
    let found = variants.iter().position(|variant| variant.name == *name);
    found.map(Some).ok_or_else(|| {
        let names: Vec<&str> = variants.iter().map(|variant| variant.name.as_str()).collect();
        let error = document.error("the document", format!("has no variant \"{name}\""));
        error.help(match names.as_slice() {
            [] => "it has no variants; remove --variant".to_string(),
            names => format!("the variants are {}", names.join(", ")),
        })
    })
}

/// Returns the transforms of the joints of a skin when the shutter opens and closes.
fn joints(
    document: &Document,
    nodes: &Nodes,
    index: usize,
    node: usize,
) -> Result<[Joints; 2], SceneError> {
    let root = &document.root;
    let skin = document.get(&root.skins, "skin", index, &node_label(document, node))?;
    let user = label("skin", index, skin.name.as_deref());
    let inverse = match skin.inverse_bind_matrices {
        Some(accessor) => document.floats::<16>(accessor, &user)?,
        None => Vec::new(),
    };
    if skin.inverse_bind_matrices.is_some() && inverse.len() < skin.joints.len() {
        let (joints, matrices) = (skin.joints.len(), inverse.len());
        let problem = format!("has {joints} joints, but {matrices} inverse bind matrices");
        return Err(document.error(&user, problem).help("export the asset again"));
    }
    let mut joints = [Joints::new(), Joints::new()];
    for (i, &joint) in skin.joints.iter().enumerate() {
        document.get(&root.nodes, "node", joint, &user)?;
        // Joints outside of the scene are at the origin.
        let world = nodes.world[joint].unwrap_or_default();
        let bind = inverse.get(i).map_or(DAffine3::IDENTITY, |matrix| {
            DAffine3::from_mat4(DMat4::from_cols_array(&matrix.map(f64::from)))
        });
        std::iter::zip(&mut joints, world).for_each(|(joints, world)| joints.push(world * bind));
    }
    Ok(joints)
}

/// Returns transforms that the renderer interpolates, with a problem and the fallback if they had to
/// change. `None` for those with a scale of 0.
fn motion_of(transforms: Transforms) -> (Option<Transforms>, Option<(&'static str, &'static str)>) {
    let [start, end] = transforms;
    match transforms.map(|transform| transform.matrix3.determinant()) {
        [0.0, 0.0] => (None, None),
        [0.0, _] => {
            let problem = "has a scale of 0 when the shutter opens";
            (Some([end; 2]), Some((problem, "it rests where it is when the shutter closes")))
        }
        [_, 0.0] => {
            let problem = "has a scale of 0 when the shutter closes";
            (Some([start; 2]), Some((problem, "it rests where it is when the shutter opens")))
        }
        [a, b] if (a < 0.0) != (b < 0.0) => {
            let problem = "mirrors at one end of the time that the shutter is open";
            (Some([start; 2]), Some((problem, "it rests where it is when the shutter opens")))
        }
        _ => (Some(transforms), None),
    }
}

/// Writes transforms when the shutter opens and closes.
pub(crate) fn moving(transforms: Transforms) -> String {
    at_both_times(transforms.map(|transform| {
        let numbers = DMat4::from(transform).to_cols_array().map(|x| clean(x).to_string());
        format!("ConcatTransform [{}]\n", numbers.join(" "))
    }))
}

/// Writes transform directives for the times when the shutter opens and closes, once if they are
/// equal.
pub(crate) fn at_both_times([start, end]: [String; 2]) -> String {
    if start == end {
        return start;
    }
    format!("ActiveTransform StartTime\n{start}ActiveTransform EndTime\n{end}ActiveTransform All\n")
}

/// A text that can be a comment in one line.
pub(crate) fn comment(text: &str) -> String {
    text.replace(char::is_control, " ")
}
