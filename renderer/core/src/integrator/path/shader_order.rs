//! The order in which paths are shaded: by the shader of their next vertex, so that a batch calls
//! one shader.

use crate::material::Material;
use crate::medium::Medium;
use crate::scene::Scene;
use std::ops::Range;

/// The rank of a path in the order of shading.
pub(super) type Rank = u32;

/// Rank of paths that leave the scene.
pub(super) const MISS: Rank = 0;

/// The ranks of shaders: those of surfaces after [`MISS`], then those of media.
pub(super) struct ShaderRanks {
    /// The shader of each rank.
    shaders: Vec<Option<u32>>,
    /// First rank of phase functions.
    first_phase: Rank,
    /// Rank of each material; `None` for mixed materials.
    of_materials: Vec<Option<Rank>>,
    /// Rank of each medium's phase function.
    of_media: Vec<Rank>,
}

impl ShaderRanks {
    pub fn new(scene: &Scene) -> ShaderRanks {
        let surface = |material: &Material| match material {
            Material::Surface { scattering: Some(instance), .. } => Some(instance.shader),
            _ => None,
        };
        let phase = |medium: &Medium| Some(medium.phase.shader);
        let surfaces = sorted_unique(scene.materials.iter().map(surface));
        let phases = sorted_unique(scene.media.iter().map(phase));
        let position = |shaders: &[Option<u32>], shader| {
            shaders.binary_search(&shader).expect("the list has all shaders") as Rank
        };
        let first_surface = MISS + 1;
        let first_phase = first_surface + surfaces.len() as Rank;
        let of_material = |material: &Material| match material {
            Material::Mix { .. } => None,
            Material::Surface { .. } | Material::Interface => {
                Some(first_surface + position(&surfaces, surface(material)))
            }
        };
        let of_medium = |medium| first_phase + position(&phases, phase(medium));
        ShaderRanks {
            of_materials: scene.materials.iter().map(of_material).collect(),
            of_media: scene.media.iter().map(of_medium).collect(),
            shaders: [vec![None], surfaces, phases].concat(),
            first_phase,
        }
    }

    /// Returns the rank of surfaces with a material; `None` if it is mixed.
    pub fn material_rank(&self, material: u32) -> Option<Rank> {
        self.of_materials[material as usize]
    }

    /// Returns the rank of collisions in a medium.
    pub fn medium_rank(&self, medium: u32) -> Rank {
        self.of_media[medium as usize]
    }

    /// Returns the ranks of surfaces and collisions.
    pub fn vertex_ranks(&self) -> Range<Rank> {
        MISS + 1..self.ended_rank()
    }

    /// Returns the last rank: that of paths that have ended.
    pub fn ended_rank(&self) -> Rank {
        self.shaders.len() as Rank
    }

    /// Returns the shader of a rank.
    pub fn shader(&self, rank: Rank) -> Option<u32> {
        self.shaders[rank as usize]
    }

    /// Returns whether a rank is that of collisions.
    pub fn is_collision(&self, rank: Rank) -> bool {
        rank >= self.first_phase
    }
}

fn sorted_unique(shaders: impl Iterator<Item = Option<u32>>) -> Vec<Option<u32>> {
    let mut shaders: Vec<_> = shaders.collect();
    shaders.sort_unstable();
    shaders.dedup();
    shaders
}

/// Paths sorted by rank.
#[derive(Default)]
pub(super) struct ShaderOrder {
    /// Rank of each path.
    ranks: Vec<Rank>,
    /// Indices of the sorted paths.
    paths: Vec<u32>,
    /// End of each rank among them.
    ends: Vec<u32>,
}

impl ShaderOrder {
    /// Sorts paths by their ranks, up to `last_rank` (counting sort). Paths of one rank keep their
    /// order.
    pub fn sort(&mut self, ranks: impl Iterator<Item = Rank>, last_rank: Rank) {
        let ShaderOrder { ranks: stored, paths, ends } = self;
        ends.clear();
        ends.resize(last_rank as usize + 2, 0);
        stored.clear();
        // Counting along the way hides the latency of the counters.
        stored.extend(ranks.inspect(|&rank| ends[rank as usize + 1] += 1));
        for k in 1..ends.len() {
            ends[k] += ends[k - 1];
        }
        paths.clear();
        paths.resize(stored.len(), 0);
        for (path, &rank) in (0..).zip(&*stored) {
            let slot = &mut ends[rank as usize];
            paths[*slot as usize] = path;
            *slot += 1;
        }
    }

    /// Returns the paths of a rank.
    pub fn paths(&self, rank: Rank) -> &[u32] {
        let rank = rank as usize;
        let start = if rank == 0 { 0 } else { self.ends[rank - 1] };
        &self.paths[start as usize..self.ends[rank] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_sorted_by_rank_and_keep_their_order() {
        let mut order = ShaderOrder::default();
        for _ in 0..2 {
            order.sort([3, 1, 0, 4, 1, 3, 0, 4].into_iter(), 4);
            let paths: Vec<_> = (0..5).map(|rank| order.paths(rank)).collect();
            assert_eq!(paths, [&[2, 6][..], &[1, 4], &[], &[0, 5], &[3, 7]]);
        }
        order.sort([].into_iter(), 4);
        assert!((0..5).all(|rank| order.paths(rank).is_empty()));
    }
}
