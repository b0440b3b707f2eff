//! The nodes of a scene with their transforms.

use crate::animation::Pose;
use crate::document::{Document, label};
use crate::schema::Node;
use glam::{DAffine3, DMat4, DQuat, DVec3};
use lightbound_pbrt::SceneError;

/// Transforms when the shutter opens and closes.
pub(crate) type Transforms = [DAffine3; 2];

/// Transforms of nodes.
pub(crate) struct Nodes {
    /// World-space transforms; `None` for nodes that are not in the scene.
    pub world: Vec<Option<Transforms>>,
    /// Nodes of the scene, parents first.
    pub order: Vec<usize>,
}

/// Names a node in messages.
pub(crate) fn node_label(document: &Document, index: usize) -> String {
    let name = document.root.nodes.get(index).and_then(|node| node.name.as_deref());
    label("node", index, name)
}

/// Returns the scene to translate: that with a name or an index, or the default one.
fn roots(document: &Document, scene: Option<&str>) -> Result<Vec<usize>, SceneError> {
    let root = &document.root;
    let index = match scene {
        Some(name) => {
            let named = root.scenes.iter().position(|scene| scene.name.as_deref() == Some(name));
            let indexed = name.parse().ok().filter(|&index| index < root.scenes.len());
            named.or(indexed).ok_or_else(|| {
                let error = document.error("the document", format!("has no scene \"{name}\""));
                let scenes = (0..).zip(&root.scenes);
                let names: Vec<String> =
                    scenes.map(|(i, scene)| label("scene", i, scene.name.as_deref())).collect();
                error.help(match names.as_slice() {
                    [] => "it has no scenes; remove --scene-name".to_string(),
                    names => format!("the file has {}", names.join(", ")),
                })
            })?
        }
        None => root.scene.unwrap_or(0),
    };
    if root.scenes.is_empty() && scene.is_none() && root.scene.is_none() {
        // A library of nodes: those without a parent.
        let mut is_child = vec![false; root.nodes.len()];
        for child in root.nodes.iter().flat_map(|node| &node.children) {
            is_child.get_mut(*child).into_iter().for_each(|flag| *flag = true);
        }
        return Ok((0..root.nodes.len()).filter(|&index| !is_child[index]).collect());
    }
    Ok(document.get(&root.scenes, "scene", index, "the document")?.nodes.clone())
}

/// Computes the transforms of all nodes of a scene.
pub(crate) fn traverse(
    document: &Document,
    scene: Option<&str>,
    poses: &[Vec<Pose>; 2],
) -> Result<Nodes, SceneError> {
    let count = document.root.nodes.len();
    let mut nodes = Nodes { world: vec![None; count], order: Vec::new() };
    let mut stack: Vec<(usize, Transforms, String)> = roots(document, scene)?
        .into_iter()
        .rev()
        .map(|root| (root, [DAffine3::IDENTITY; 2], "the scene".to_string()))
        .collect();
    while let Some((index, parent, user)) = stack.pop() {
        let node = document.get(&document.root.nodes, "node", index, &user)?;
        let name = node_label(document, index);
        if nodes.world[index].is_some() {
            let message = format!("is a child of {user}, but also of another node or of itself");
            return Err(document.error(&name, message).help("nodes form a tree; break the cycle"));
        }
        if node.rotation.is_some_and(|rotation| rotation == [0.0; 4]) {
            let error = document.error(&name, "has a rotation of length 0");
            return Err(error.help("export the asset again"));
        }
        let local_at = |k: usize| local(node, poses[k].get(index).unwrap_or(&Pose::default()));
        let world = [0, 1].map(|k| parent[k] * local_at(k));
        if !world.iter().all(DAffine3::is_finite) {
            let error = document.error(&name, "has a transform that is not finite");
            return Err(error.help("export the asset again"));
        }
        nodes.world[index] = Some(world);
        nodes.order.push(index);
        stack.extend(node.children.iter().rev().map(|&child| (child, world, name.clone())));
    }
    Ok(nodes)
}

/// Returns the transform from a node to its parent.
fn local(node: &Node, pose: &Pose) -> DAffine3 {
    if let Some(matrix) = &node.matrix {
        return DAffine3::from_mat4(DMat4::from_cols_array(matrix));
    }
    let vector = |x: Option<[f64; 3]>, default| x.map_or(default, DVec3::from_array);
    let rotation = pose.rotation.or(node.rotation.map(DQuat::from_array));
    DAffine3::from_scale_rotation_translation(
        pose.scale.unwrap_or(vector(node.scale, DVec3::ONE)),
        rotation.map_or(DQuat::IDENTITY, DQuat::normalize),
        pose.translation.unwrap_or(vector(node.translation, DVec3::ZERO)),
    )
}

/// Returns the transforms of the instances of a node with EXT_mesh_gpu_instancing, relative to it;
/// `None` for other nodes.
pub(crate) fn instances(
    document: &Document,
    index: usize,
) -> Result<Option<Vec<DAffine3>>, SceneError> {
    let node = &document.root.nodes[index];
    let Some(instancing) = &node.extensions.instancing else { return Ok(None) };
    let user = |attribute: &str| format!("{attribute} of {}", node_label(document, index));
    let accessor = |name: &str| instancing.attributes.get(name).copied();
    let translations = accessor("TRANSLATION")
        .map(|accessor| document.floats::<3>(accessor, &user("TRANSLATION")))
        .transpose()?;
    let scales = accessor("SCALE")
        .map(|accessor| document.floats::<3>(accessor, &user("SCALE")))
        .transpose()?;
    let rotations = accessor("ROTATION")
        .map(|accessor| document.floats::<4>(accessor, &user("ROTATION")))
        .transpose()?;
    let counts = [
        translations.as_ref().map(Vec::len),
        scales.as_ref().map(Vec::len),
        rotations.as_ref().map(Vec::len),
    ];
    let count = counts.into_iter().flatten().min().unwrap_or(0);
    if counts.into_iter().flatten().any(|other| other != count) {
        let message = "has instances with different numbers of translations, rotations and scales";
        let error = document.error(&node_label(document, index), message);
        return Err(error.help("export the asset again"));
    }
    if rotations.iter().flatten().any(|rotation| *rotation == [0.0; 4]) {
        let error = document.error(&user("ROTATION"), "has a rotation of length 0");
        return Err(error.help("export the asset again"));
    }
    let vector = |values: &Option<Vec<[f32; 3]>>, i: usize, default: DVec3| {
        values.as_ref().map_or(default, |values| DVec3::from_array(values[i].map(f64::from)))
    };
    let transform = |i: usize| {
        let rotation = rotations.as_ref().map(|values| values[i].map(f64::from));
        let pose = Pose {
            translation: Some(vector(&translations, i, DVec3::ZERO)),
            rotation: rotation.map(DQuat::from_array),
            scale: Some(vector(&scales, i, DVec3::ONE)),
            weights: None,
        };
        local(&Node::default(), &pose)
    };
    Ok(Some((0..count).map(transform).collect()))
}
