//! The materials of virtual lights. Lights of a material without textures share one.

use std::collections::HashMap;

/// What virtual lights with the same material and index of refraction have in common, besides the
/// parameters of the shader.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::integrator::lightcuts) struct VirtualMaterial {
    /// Index of the scene's shader.
    pub shader: u32,
    /// Index of refraction below the surface over that above.
    pub eta: f32,
}

/// Number of words before the parameters.
const HEADER: usize = 2;

/// The materials of all virtual lights.
#[derive(Debug, Default)]
pub(in crate::integrator::lightcuts) struct VirtualMaterials {
    /// The header and the parameters of each material.
    words: Vec<u32>,
}

impl VirtualMaterials {
    /// Returns a material by its reference.
    pub fn get(&self, material: u32) -> VirtualMaterial {
        let header = &self.words[material as usize..][..HEADER];
        VirtualMaterial { shader: header[0], eta: f32::from_bits(header[1]) }
    }

    /// Returns the parameters of a material, of which there are `count`.
    pub fn parameters(&self, material: u32, count: usize) -> &[u32] {
        &self.words[material as usize + HEADER..][..count]
    }

    /// Returns the memory use in bytes.
    pub fn bytes(&self) -> usize {
        self.words.capacity() * size_of::<u32>()
    }
}

/// Adds materials of virtual lights.
#[derive(Debug, Default)]
pub(super) struct MaterialTableBuilder {
    materials: VirtualMaterials,
    /// The first material of each of the scene's materials. Those with textures have more.
    first: HashMap<u32, u32>,
    /// The references in order, and the indices of the scene's materials.
    added: Vec<(u32, u32)>,
}

impl MaterialTableBuilder {
    /// Returns the reference to a material with the index `scene_material` in the scene.
    pub fn add(
        &mut self,
        scene_material: u32,
        VirtualMaterial { shader, eta }: VirtualMaterial,
        parameters: &[u32],
    ) -> u32 {
        let start = self.materials.words.len();
        self.materials.words.extend_from_slice(&[shader, eta.to_bits()]);
        self.materials.words.extend_from_slice(parameters);
        self.finish(scene_material, start)
    }

    /// Adds the materials of another table. Returns the new references to them by the old ones;
    /// `None` if references cannot count all words.
    pub fn append(&mut self, other: &MaterialTableBuilder) -> Option<HashMap<u32, u32>> {
        let words = &other.materials.words;
        u32::try_from(self.materials.words.len() + words.len()).ok()?;
        let ends = other.added.iter().skip(1).map(|&(start, _)| start as usize);
        let ends = ends.chain([words.len()]);
        let moved = std::iter::zip(&other.added, ends).map(|(&(from, scene_material), end)| {
            let start = self.materials.words.len();
            self.materials.words.extend_from_slice(&words[from as usize..end]);
            (from, self.finish(scene_material, start))
        });
        Some(moved.collect())
    }

    /// Returns the table.
    pub fn finished(mut self) -> VirtualMaterials {
        self.materials.words.shrink_to_fit();
        self.materials
    }

    /// Returns the reference to the words from `start` on, and removes them if they equal those of
    /// the first material.
    fn finish(&mut self, scene_material: u32, start: usize) -> u32 {
        let words = &mut self.materials.words;
        let first = *self.first.entry(scene_material).or_insert(start as u32);
        let (before, added) = words.split_at(start);
        if before.get(first as usize..).is_some_and(|words| words.starts_with(added)) {
            words.truncate(start);
            return first;
        }
        self.added.push((start as u32, scene_material));
        start as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_materials_are_stored_once() {
        let material = VirtualMaterial { shader: 3, eta: 1.5 };
        let mut tables = [MaterialTableBuilder::default(), MaterialTableBuilder::default()];
        let added: Vec<Vec<u32>> = tables
            .iter_mut()
            .map(|table| {
                let mut add = |scene_material, eta, parameters: &[u32]| {
                    table.add(scene_material, VirtualMaterial { eta, ..material }, parameters)
                };
                vec![
                    add(7, 1.5, &[1, 2]),
                    add(8, 1.5, &[1, 2]),
                    add(7, 1.5, &[1, 2]),
                    add(7, 1.6, &[1, 2]),
                    add(7, 1.5, &[1, 3]),
                ]
            })
            .collect();
        assert_eq!(added[0], [0, 4, 0, 8, 12]);
        let [mut table, other] = tables;
        let moved = table.append(&other).unwrap();
        let moved: Vec<u32> = added[1].iter().map(|reference| moved[reference]).collect();
        // Only the first one of each of the scene's materials is found again.
        assert_eq!(moved, [0, 4, 0, 16, 20]);
        let table = table.finished();
        assert_eq!(table.get(16), VirtualMaterial { eta: 1.6, ..material });
        assert_eq!((table.parameters(20, 2), table.bytes()), (&[1, 3][..], 24 * 4));
    }
}
