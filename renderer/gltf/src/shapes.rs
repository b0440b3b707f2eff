//! Meshes of nodes as shapes, and as instances of objects where a mesh is used several times.

use crate::Options;
use crate::animation::Pose;
use crate::document::{Document, label};
use crate::files::file_name;
use crate::materials::{self, Translated, VertexColours};
use crate::mesh::{self, Joints, Triangles};
use crate::nodes::{Nodes, instances, node_label};
use crate::schema::Primitive;
use crate::textures::Context;
use crate::view::clean;
use glam::{DAffine2, DAffine3, DMat4, DVec3};
use lightbound_image::write::encode_pfm;
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
    /// Materials without colours of vertices.
    materials: HashMap<Option<usize>, Translated>,
    /// Meshes with one shape for each primitive: text and bounding box.
    meshes: HashMap<MeshUse, (String, Option<[DVec3; 2]>)>,
}

/// A mesh; those with a pose of their own belong to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct MeshUse {
    mesh: usize,
    node: Option<usize>,
}

impl Shapes {
    /// Translates all shapes of the nodes.
    pub fn translate(
        context: &mut Context,
        nodes: &Nodes,
        poses: &[Pose],
        options: &Options,
    ) -> Result<Shapes, SceneError> {
        let variant = variant(context.document, options)?;
        let mut shapes = Shapes::default();
        // Transforms of each mesh, in order of first appearance.
        let mut uses: Vec<(MeshUse, usize, Vec<DAffine3>)> = Vec::new();
        for &node in &nodes.order {
            let document = &*context.document;
            let root = &document.root;
            let Some(mesh) = root.nodes[node].mesh else { continue };
            let user = node_label(document, node);
            document.get(&root.meshes, "mesh", mesh, &user)?;
            let skin = root.nodes[node].skin;
            let has_weights = root.nodes[node].weights.is_some()
                || poses.get(node).is_some_and(|pose| pose.weights.is_some());
            let is_posed = skin.is_some() || has_weights;
            let key = MeshUse { mesh, node: is_posed.then_some(node) };
            // A skin places vertices in world space.
            let world = match skin {
                Some(_) => DAffine3::IDENTITY,
                None => nodes.world[node].unwrap_or_default(),
            };
            let transforms = match instances(document, node)? {
                Some(instances) => instances.into_iter().map(|local| world * local).collect(),
                None => vec![world],
            };
            let transforms: Vec<DAffine3> =
                transforms.into_iter().filter(|t| t.matrix3.determinant() != 0.0).collect();
            if transforms.is_empty() {
                let message = format!(
                    "{}: {user} has a scale of 0, or no instances",
                    document.path.display()
                );
                context.diagnostics.warn(None, message, "it is invisible")?;
                continue;
            }
            match uses.iter_mut().find(|(other, ..)| *other == key) {
                Some((.., all)) => all.extend(transforms),
                None => uses.push((key, node, transforms)),
            }
        }
        for (key, node, transforms) in uses {
            shapes.mesh(context, nodes, poses, variant, key, node)?;
            shapes.place(context.document, key, &transforms);
        }
        Ok(shapes)
    }

    /// Writes a mesh at its transforms.
    fn place(&mut self, document: &Document, key: MeshUse, transforms: &[DAffine3]) {
        let (text, bounds) = &self.meshes[&key];
        if text.is_empty() {
            return;
        }
        let name = document.root.meshes[key.mesh].name.as_deref();
        let element = label("mesh", key.mesh, name);
        let mut written = format!("# {}\n", comment(&element));
        if let [transform] = transforms {
            let _ = writeln!(written, "AttributeBegin\n{}", matrix(*transform));
            written += text;
            written += "AttributeEnd\n\n";
        } else {
            let object = format!("mesh{}", key.mesh);
            let _ = writeln!(written, "ObjectBegin \"{object}\"\n{text}ObjectEnd");
            for transform in transforms {
                let _ = writeln!(
                    written,
                    "AttributeBegin\n{}\nObjectInstance \"{object}\"\nAttributeEnd",
                    matrix(*transform)
                );
            }
            written.push('\n');
        }
        for transform in transforms {
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
        poses: &[Pose],
        variant: Option<usize>,
        key: MeshUse,
        node: usize,
    ) -> Result<(), SceneError> {
        // Taken out of the document, which images are read from meanwhile.
        let mesh = std::mem::take(&mut context.document.root.meshes[key.mesh]);
        let mesh_name = label("mesh", key.mesh, mesh.name.as_deref());
        let weights = poses
            .get(node)
            .and_then(|pose| pose.weights.clone())
            .or_else(|| context.document.root.nodes[node].weights.clone())
            .or_else(|| mesh.weights.clone())
            .unwrap_or_default();
        let joints = match context.document.root.nodes[node].skin {
            Some(skin) => Some(joints(context.document, nodes, skin, node)?),
            None => None,
        };
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
            let geometry = (primitive, weights.as_slice(), joints.as_ref());
            self.primitive(context, geometry, material, (&name, &file), (&mut text, &mut bounds))?;
        }
        context.document.root.meshes[key.mesh] = mesh;
        self.meshes.insert(key, (text, bounds));
        Ok(())
    }

    /// Translates a primitive: its file, its material, and the shape.
    fn primitive(
        &mut self,
        context: &mut Context,
        (primitive, weights, joints): (&Primitive, &[f32], Option<&Joints>),
        material: Option<usize>,
        (name, file): (&str, &str),
        (text, bounds): (&mut String, &mut Option<[DVec3; 2]>),
    ) -> Result<(), SceneError> {
        let document = &*context.document;
        let schema = match material {
            Some(index) => Some(document.get(&document.root.materials, "material", index, name)?),
            None => None,
        };
        let coordinates = schema.and_then(materials::uses);
        let is_lamp = schema.is_some_and(materials::is_lamp);
        let triangles = mesh::read(
            document,
            primitive,
            name,
            weights,
            joints,
            coordinates.unwrap_or((0, DAffine2::IDENTITY)),
            context.diagnostics,
        )?;
        let Some(mut triangles) = triangles.filter(|triangles| !triangles.is_empty()) else {
            return Ok(());
        };
        let stem = context.files.stems.unique(file);
        if coordinates.is_some() && triangles.uvs.is_empty() {
            let message = format!(
                "{}: {name} has a textured material, but no texture coordinates",
                context.document.path.display()
            );
            context.diagnostics.warn(None, message, "default coordinates of each triangle")?;
        }
        let colours = vertex_colours(context, &mut triangles, coordinates.is_some(), name, &stem)?;
        let translated = match (&colours, self.materials.get(&material)) {
            (None, Some(translated)) => translated.clone(),
            _ => {
                let translated = materials::translate(context, material, colours.as_ref())?;
                let path = context.document.path.display();
                let element = material.map_or("the default material".into(), |index| {
                    let name = context.document.root.materials[index].name.as_deref();
                    label("material", index, name)
                });
                let origin = format!("{path}: {element}");
                self.parts.push((origin, format!("{}\n", translated.text)));
                if colours.is_none() {
                    self.materials.insert(material, translated.clone());
                }
                translated
            }
        };
        self.has_lamps |= is_lamp;
        self.has_media |= translated.medium.is_some();
        for p in &triangles.positions {
            let [low, high] = bounds.unwrap_or([*p, *p]);
            *bounds = Some([low.min(*p), high.max(*p)]);
        }
        let file = context.files.add(&format!("{stem}.ply"), triangles.ply());
        text.push_str("AttributeBegin\n");
        let _ = writeln!(text, "NamedMaterial \"{}\"", translated.name);
        if let Some(light) = &translated.light {
            let _ = writeln!(text, "{light}");
        }
        if let Some(medium) = &translated.medium {
            let _ = writeln!(text, "MediumInterface \"{medium}\" \"\"");
        }
        let shape = &translated.shape;
        let _ = writeln!(text, "Shape \"plymesh\" \"string filename\" \"{file}\"{shape}");
        text.push_str("AttributeEnd\n");
        Ok(())
    }
}

/// Returns the colours of vertices for a material: none if they are white. Those of a material
/// without textures become an image, at coordinates of their own.
fn vertex_colours(
    context: &mut Context,
    triangles: &mut Triangles,
    has_textures: bool,
    name: &str,
    stem: &str,
) -> Result<Option<VertexColours>, SceneError> {
    let Some(&first) = triangles.colours.first() else { return Ok(None) };
    let path = context.document.path.display();
    if triangles.colours.iter().any(|colour| colour[3] < 1.0) {
        let message = format!("{path}: {name} has vertex colours with an opacity");
        context.diagnostics.warn(None, message, "the opacity of the material alone")?;
    }
    let rgb = |[r, g, b, _]: [f32; 4]| [r, g, b].map(|x| x.clamp(0.0, 1.0));
    triangles.colours.iter_mut().for_each(|colour| {
        let [r, g, b] = rgb(*colour);
        *colour = [r, g, b, 1.0];
    });
    if triangles.colours.iter().all(|&colour| rgb(colour) == rgb(first)) {
        let first = rgb(first);
        return Ok((first != [1.0; 3]).then_some(VertexColours::Constant(first)));
    }
    if has_textures {
        let message = format!("{path}: {name} has vertex colours and a textured material");
        context.diagnostics.warn(None, message, "the textures without vertex colours")?;
        return Ok(None);
    }
    let (width, height, texels) = triangles.bake_colours();
    // Rows of an image start at the top.
    let samples: Vec<f32> =
        texels.chunks(width).rev().flatten().flat_map(|&[r, g, b, _]| [r, g, b]).collect();
    let bytes = encode_pfm(width as u32, height as u32, 3, &samples);
    Ok(Some(VertexColours::Image(context.files.add(&format!("{stem}-colours.pfm"), bytes))))
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

/// Returns the transforms of the joints of a skin.
fn joints(
    document: &Document,
    nodes: &Nodes,
    index: usize,
    node: usize,
) -> Result<Joints, SceneError> {
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
    let joint = |(i, &joint): (usize, &usize)| {
        document.get(&root.nodes, "node", joint, &user)?;
        // Joints outside of the scene are at the origin.
        let world = nodes.world[joint].unwrap_or(DAffine3::IDENTITY);
        let bind = inverse.get(i).map_or(DAffine3::IDENTITY, |matrix| {
            DAffine3::from_mat4(DMat4::from_cols_array(&matrix.map(f64::from)))
        });
        Ok(world * bind)
    };
    skin.joints.iter().enumerate().map(joint).collect()
}

/// Writes a transform.
fn matrix(transform: DAffine3) -> String {
    let numbers = DMat4::from(transform).to_cols_array().map(|x| clean(x).to_string());
    format!("ConcatTransform [{}]", numbers.join(" "))
}

/// A text that can be a comment in one line.
pub(crate) fn comment(text: &str) -> String {
    text.replace(char::is_control, " ")
}
