//! BSDF sampling of the path tracer: with the shader's own sampler, from direction trees, which are
//! built from bounds on the BRDF, or with a cosine density.

use crate::direction_tree::{
    AdaptiveBuilder, BrdfKernels, DirectionTree, ShiftedTree, SplitBudget, TreeTable,
};
use crate::material::{Material, Program, ProgramError, ShaderBinding};
use crate::scene::Scene;
use crate::settings::BsdfSampling;
use lightbound_math::{Vec2, Vec3};
use lightbound_shader::Arena;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Maximum total size of all tables of direction trees, bytes.
const TABLE_BYTES: usize = 512 << 20;

/// Direction sampling for all shaders of a scene, indexed by
/// [`ShaderInstance::shader`](crate::material::ShaderInstance::shader).
#[derive(Debug)]
pub(super) struct DirectionSampling {
    shaders: Vec<ShaderSampling>,
}

#[derive(Debug)]
struct ShaderSampling {
    binding: ShaderBinding,
    strategy: Strategy,
}

/// How directions are sampled for a shader.
#[derive(Debug)]
enum Strategy {
    /// With the shader's own sampler.
    Shader,
    /// With a cosine density.
    Cosine(DirectionTree),
    /// From direction trees.
    Trees(Trees),
}

/// Direction trees of a shader. Material parameters may have a table of trees. Otherwise, a tree is
/// built for each point.
#[derive(Debug)]
struct Trees {
    kernels: Arc<BrdfKernels>,
    /// Tables of trees, sorted by the words of the material parameters.
    tables: Vec<(Box<[u32]>, TreeTable)>,
}

impl DirectionSampling {
    /// Compiles the kernels.
    ///
    /// # Errors
    /// If a kernel cannot be compiled.
    pub fn new(scene: &Scene, sampling: BsdfSampling) -> Result<DirectionSampling, ProgramError> {
        let arena = Arena::new();
        // Bindings of one program differ only in their textures.
        let mut compiled: Vec<(Arc<Program>, Arc<BrdfKernels>)> = Vec::new();
        let mut kernels = |program: &Arc<Program>| match compiled
            .iter()
            .find(|(other, _)| Arc::ptr_eq(other, program))
        {
            Some((_, kernels)) => Ok(kernels.clone()),
            None => {
                let kernels = Arc::new(BrdfKernels::compile(&arena, program)?);
                compiled.push((program.clone(), kernels.clone()));
                Ok::<_, ProgramError>(kernels)
            }
        };
        let mut shaders = Vec::with_capacity(scene.shaders.len());
        for binding in &scene.shaders {
            let strategy = match sampling {
                BsdfSampling::Cosine => {
                    Strategy::Cosine(DirectionTree::cosine(binding.program.sides))
                }
                BsdfSampling::Shader if binding.has_valid_sampler => Strategy::Shader,
                BsdfSampling::Shader | BsdfSampling::Bounds => Strategy::Trees(Trees {
                    kernels: kernels(&binding.program)?,
                    tables: Vec::new(),
                }),
            };
            shaders.push(ShaderSampling { binding: binding.clone(), strategy });
        }
        let mut sampling = DirectionSampling { shaders };
        sampling.make_tables(scene);
        Ok(sampling)
    }

    /// Creates a table for each set of constant material parameters.
    fn make_tables(&mut self, scene: &Scene) {
        let mut constants: BTreeSet<(usize, &[u32])> = BTreeSet::new();
        for material in &scene.materials {
            let Material::Surface { scattering: Some(instance), .. } = material else { continue };
            let shader = &self.shaders[instance.shader as usize];
            if let (Strategy::Trees(_), None, Some(words)) =
                (&shader.strategy, &shader.binding.program.setup, instance.constants())
            {
                constants.insert((instance.shader as usize, words));
            }
        }
        for (shader, words) in &constants {
            let ShaderSampling { binding, strategy: Strategy::Trees(trees) } =
                &mut self.shaders[*shader]
            else {
                unreachable!("only shaders with trees are collected")
            };
            // Trees are built per point if the tables exceed the memory limit.
            if let Some(table) = TreeTable::new(
                binding.program.sides,
                constants.len(),
                SplitBudget::TABLE.splits,
                TABLE_BYTES,
            ) {
                trees.tables.push(((*words).into(), table));
            }
        }
    }
}

/// Samples directions on one thread, for one batch of points of a shader at a time. Buffers are
/// reused.
pub(super) struct DirectionPicker<'a> {
    sampling: &'a DirectionSampling,
    /// Tree builder of each shader used so far.
    builders: Vec<Option<AdaptiveBuilder<'a>>>,
    shader: usize,
    /// Tree of each point; unused if the point has a tabulated tree.
    trees: Vec<DirectionTree>,
    /// Tabulated tree of each point, if there is one.
    tabulated: Vec<Option<ShiftedTree<'a>>>,
}

impl<'a> DirectionPicker<'a> {
    pub fn new(sampling: &'a DirectionSampling) -> DirectionPicker<'a> {
        let builders = sampling.shaders.iter().map(|_| None).collect();
        DirectionPicker { sampling, builders, shader: 0, trees: Vec::new(), tabulated: Vec::new() }
    }

    /// Begins a batch of points of a shader. `points` are `wo` and the words of the material
    /// parameters of each point.
    pub fn begin<M: Iterator<Item = u32> + Clone>(
        &mut self,
        shader: u32,
        points: impl Iterator<Item = (Vec3, M)>,
    ) {
        self.shader = shader as usize;
        self.tabulated.clear();
        let ShaderSampling { binding, strategy: Strategy::Trees(Trees { kernels, tables }) } =
            &self.sampling.shaders[self.shader]
        else {
            return;
        };
        let builder = self.builders[self.shader]
            .get_or_insert_with(|| AdaptiveBuilder::new(kernels, binding));
        for (point, (wo, parameters)) in points.enumerate() {
            if point == self.trees.len() {
                self.trees.push(DirectionTree::cosine(binding.program.sides));
            }
            let index =
                tables.binary_search_by(|(words, _)| words.iter().copied().cmp(parameters.clone()));
            let table = index.ok().map(|index| &tables[index]).filter(|(words, table)| {
                table.is_suitable(|| builder.is_table_suitable(table, words.iter().copied()))
            });
            let tabulated = table.map(|(words, table)| {
                table.tree(wo, |center, tree| {
                    builder.build(center, words.iter().copied(), &SplitBudget::TABLE, tree)
                })
            });
            if tabulated.is_none() {
                builder.build(wo, parameters, &SplitBudget::POINT, &mut self.trees[point]);
            }
            self.tabulated.push(tabulated);
        }
    }

    /// Returns whether the batch uses the shader's own sampler.
    pub fn uses_shader_sampler(&self) -> bool {
        matches!(self.sampling.shaders[self.shader].strategy, Strategy::Shader)
    }

    /// Samples a direction at a point with two random numbers in [0, 1). Returns it with its
    /// density, 1/sr; `None` if the sample is invalid.
    pub fn sample(&self, point: usize, u: Vec2) -> Option<(Vec3, f32)> {
        match &self.sampling.shaders[self.shader].strategy {
            Strategy::Shader => None,
            Strategy::Cosine(tree) => tree.sample(u),
            Strategy::Trees(_) => match &self.tabulated[point] {
                Some(tree) => tree.sample(u),
                None => self.trees[point].sample(u),
            },
        }
    }

    /// Returns the density with which a direction is sampled at a point, 1/sr.
    pub fn pdf(&self, point: usize, wi: Vec3) -> f32 {
        match &self.sampling.shaders[self.shader].strategy {
            Strategy::Shader => 0.0,
            Strategy::Cosine(tree) => tree.pdf(wi),
            Strategy::Trees(_) => match &self.tabulated[point] {
                Some(tree) => tree.pdf(wi),
                None => self.trees[point].pdf(wi),
            },
        }
    }
}
