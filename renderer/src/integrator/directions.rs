//! How the path tracer draws directions at surfaces: by the shader's own sampler, by a tree grown from its bounds, or by the cosine.

use crate::direction_tree::{BrdfKernels, Budget, DirectionTree, Grower};
use crate::material::{Bound, ProgramError};
use crate::math::Vec3;
use crate::scene::BsdfSampling;
use lightbound_shader::Arena;
use std::sync::Arc;

/// How directions are drawn for each of a scene's shaders.
#[derive(Debug)]
pub(super) struct DirectionSampling {
    shaders: Vec<(Bound, Drawing)>,
}

/// How directions are drawn for a shader.
#[derive(Clone, Debug)]
enum Drawing {
    /// As its compiled code does.
    Own,
    Cosine(DirectionTree),
    /// By a tree for each point.
    Grown(Arc<BrdfKernels>),
}

impl DirectionSampling {
    /// Compiles what it takes, for shaders as [`Instance::shader`](crate::material::Instance::shader) counts them.
    pub fn new(shaders: &[Bound], sampling: BsdfSampling) -> Result<DirectionSampling, ProgramError> {
        let arena = Arena::new();
        let mut all: Vec<(Bound, Drawing)> = Vec::new();
        for bound in shaders {
            let program = &bound.program;
            // Uses of one program differ in textures alone.
            let same = all.iter().find(|(other, _)| Arc::ptr_eq(&other.program, program));
            let drawing = match (same, sampling) {
                (Some((_, drawing)), _) => drawing.clone(),
                (None, BsdfSampling::Cosine) => Drawing::Cosine(DirectionTree::cosine(program.sides)),
                (None, BsdfSampling::Shader) if bound.is_sampler_right => Drawing::Own,
                (None, BsdfSampling::Shader | BsdfSampling::Bounds) => {
                    Drawing::Grown(Arc::new(BrdfKernels::compile(&arena, program)?))
                }
            };
            all.push((bound.clone(), drawing));
        }
        Ok(DirectionSampling { shaders: all })
    }
}

/// What a thread draws directions with, for the points of one shader at a time; buffers stay.
pub(super) struct Directions<'a> {
    sampling: &'a DirectionSampling,
    /// Of each shader that was met.
    growers: Vec<Option<Grower<'a>>>,
    shader: usize,
    /// Of each point.
    trees: Vec<DirectionTree>,
}

impl<'a> Directions<'a> {
    pub fn new(sampling: &'a DirectionSampling) -> Directions<'a> {
        Directions { sampling, growers: sampling.shaders.iter().map(|_| None).collect(), shader: 0, trees: Vec::new() }
    }

    /// Begins with points of a shader: for each, what it is seen from and the words of its members of `Material`.
    pub fn begin<M: Iterator<Item = u32>>(&mut self, shader: u32, points: impl Iterator<Item = (Vec3, M)>) {
        self.shader = shader as usize;
        let (bound, drawing) = &self.sampling.shaders[self.shader];
        let Drawing::Grown(kernels) = drawing else { return };
        let grower = self.growers[self.shader].get_or_insert_with(|| Grower::new(kernels, bound));
        for (point, (wo, members)) in points.enumerate() {
            if point == self.trees.len() {
                self.trees.push(DirectionTree::cosine(bound.program.sides));
            }
            grower.grow(wo, members, &Budget::POINT, &mut self.trees[point]);
        }
    }

    /// The density that directions are drawn from at a point; `None` where the shader's code draws them.
    pub fn tree(&self, point: usize) -> Option<&DirectionTree> {
        match &self.sampling.shaders[self.shader].1 {
            Drawing::Own => None,
            Drawing::Cosine(tree) => Some(tree),
            Drawing::Grown(_) => Some(&self.trees[point]),
        }
    }
}
