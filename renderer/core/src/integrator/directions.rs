//! Sampling of BSDFs and phase functions in the path tracer: with the shader's own sampler, from
//! direction trees, which are built from bounds on the shader, or with the density of the cosine, which
//! is constant for phase functions.

use crate::direction_tree::{
    AdaptiveBuilder, BrdfKernels, DirectionDomain, DirectionTree, ShiftedTree, SplitBudget,
    TreeTable,
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
    /// Trees of phase functions, sorted likewise. They suffice, since `wo` is the z axis.
    phases: Vec<(Box<[u32]>, DirectionTree)>,
}

/// The tree of a point.
#[derive(Clone, Copy)]
enum PointTree<'a> {
    /// Built for the point.
    Own,
    /// From a table.
    Tabulated(ShiftedTree<'a>),
    /// That of a phase function.
    Phase(&'a DirectionTree),
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
                    Strategy::Cosine(DirectionTree::constant(DirectionDomain::of(&binding.program)))
                }
                BsdfSampling::Shader if binding.has_valid_sampler => Strategy::Shader,
                BsdfSampling::Shader | BsdfSampling::Bounds => Strategy::Trees(Trees {
                    kernels: kernels(&binding.program)?,
                    tables: Vec::new(),
                    phases: Vec::new(),
                }),
            };
            shaders.push(ShaderSampling { binding: binding.clone(), strategy });
        }
        let mut sampling = DirectionSampling { shaders };
        sampling.make_tables(scene);
        sampling.make_phase_trees(scene);
        Ok(sampling)
    }

    /// Builds a tree for each phase function with constant parameters.
    fn make_phase_trees(&mut self, scene: &Scene) {
        for medium in &scene.media {
            let ShaderSampling { binding, strategy: Strategy::Trees(trees) } =
                &mut self.shaders[medium.phase.shader as usize]
            else {
                continue;
            };
            let Some(words) = medium.phase.constants() else { continue };
            if let Err(index) = trees.phases.binary_search_by(|(other, _)| (**other).cmp(words)) {
                let mut tree = DirectionTree::constant(DirectionDomain::Volume);
                AdaptiveBuilder::new(&trees.kernels, binding).build(
                    Vec3::Z,
                    words.iter().copied(),
                    &SplitBudget::PHASE,
                    &mut tree,
                );
                trees.phases.insert(index, (words.into(), tree));
            }
        }
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
    /// Which tree each point uses.
    point_trees: Vec<PointTree<'a>>,
}

impl<'a> DirectionPicker<'a> {
    pub fn new(sampling: &'a DirectionSampling) -> DirectionPicker<'a> {
        let builders = sampling.shaders.iter().map(|_| None).collect();
        let (trees, point_trees) = (Vec::new(), Vec::new());
        DirectionPicker { sampling, builders, shader: 0, trees, point_trees }
    }

    /// Begins a batch of points of a shader. `points` are `wo` and the words of the material
    /// parameters of each point.
    pub fn begin<M: Iterator<Item = u32> + Clone>(
        &mut self,
        shader: u32,
        points: impl Iterator<Item = (Vec3, M)>,
    ) {
        self.shader = shader as usize;
        self.point_trees.clear();
        let ShaderSampling { binding, strategy: Strategy::Trees(trees) } =
            &self.sampling.shaders[self.shader]
        else {
            return;
        };
        let Trees { kernels, tables, phases } = trees;
        let builder = self.builders[self.shader]
            .get_or_insert_with(|| AdaptiveBuilder::new(kernels, binding));
        for (point, (wo, parameters)) in points.enumerate() {
            if point == self.trees.len() {
                self.trees.push(DirectionTree::constant(DirectionDomain::of(&binding.program)));
            }
            let phase =
                phases.binary_search_by(|(words, _)| words.iter().copied().cmp(parameters.clone()));
            if let Ok(index) = phase {
                self.point_trees.push(PointTree::Phase(&phases[index].1));
                continue;
            }
            let index =
                tables.binary_search_by(|(words, _)| words.iter().copied().cmp(parameters.clone()));
            let table = index.ok().map(|index| &tables[index]).filter(|(words, table)| {
                table.is_suitable(wo, |outgoing| {
                    builder.is_table_suitable(table, outgoing, words.iter().copied())
                })
            });
            let tabulated = table.map(|(words, table)| {
                table.tree(wo, |center, tree| {
                    builder.build(center, words.iter().copied(), &SplitBudget::TABLE, tree)
                })
            });
            if tabulated.is_none() {
                builder.build(wo, parameters, &SplitBudget::POINT, &mut self.trees[point]);
            }
            self.point_trees.push(tabulated.map_or(PointTree::Own, PointTree::Tabulated));
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
            Strategy::Trees(_) => match &self.point_trees[point] {
                PointTree::Own => self.trees[point].sample(u),
                PointTree::Tabulated(tree) => tree.sample(u),
                PointTree::Phase(tree) => tree.sample(u),
            },
        }
    }

    /// Returns the density with which a direction is sampled at a point, 1/sr.
    pub fn pdf(&self, point: usize, wi: Vec3) -> f32 {
        match &self.sampling.shaders[self.shader].strategy {
            Strategy::Shader => 0.0,
            Strategy::Cosine(tree) => tree.pdf(wi),
            Strategy::Trees(_) => match &self.point_trees[point] {
                PointTree::Own => self.trees[point].pdf(wi),
                PointTree::Tabulated(tree) => tree.pdf(wi),
                PointTree::Phase(tree) => tree.pdf(wi),
            },
        }
    }
}
