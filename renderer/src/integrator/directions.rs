//! How the path tracer draws directions at surfaces: by the shader's own sampler, by trees grown
//! from its bounds, or by the cosine.

use crate::direction_tree::{BrdfKernels, Budget, DirectionTree, Grower, ShiftedTree, TreeTable};
use crate::material::{Bound, Material, Program, ProgramError};
use crate::math::{Vec2, Vec3};
use crate::scene::{BsdfSampling, Scene};
use lightbound_shader::Arena;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What tables of trees may take together, bytes.
const TABLE_BYTES: usize = 512 << 20;

/// How directions are drawn for each of a scene's shaders, as
/// [`Instance::shader`](crate::material::Instance::shader) counts them.
#[derive(Debug)]
pub(super) struct DirectionSampling {
    shaders: Vec<Shader>,
}

#[derive(Debug)]
struct Shader {
    bound: Bound,
    drawing: Drawing,
    /// Where they are needed.
    trees: Option<Trees>,
}

/// How directions are drawn for a shader.
#[derive(Debug)]
enum Drawing {
    /// As its compiled code does.
    Own,
    Cosine(DirectionTree),
    /// By trees.
    Trees,
}

/// Trees of a shader: of points, or of tables where the members of `Material` are those of one.
#[derive(Debug)]
struct Trees {
    kernels: Arc<BrdfKernels>,
    tables: Vec<(Box<[u32]>, TreeTable)>,
    /// For a point.
    budget: Budget,
}

impl DirectionSampling {
    /// Compiles what it takes; with trees for all shaders where products are to be drawn.
    pub fn new(
        scene: &Scene,
        sampling: BsdfSampling,
        products: bool,
    ) -> Result<DirectionSampling, ProgramError> {
        let arena = Arena::new();
        // Uses of one program differ in textures alone.
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
        for bound in &scene.shaders {
            let drawing = match sampling {
                BsdfSampling::Cosine => Drawing::Cosine(DirectionTree::cosine(bound.program.sides)),
                BsdfSampling::Shader if bound.is_sampler_right => Drawing::Own,
                BsdfSampling::Shader | BsdfSampling::Bounds => Drawing::Trees,
            };
            let budget =
                if matches!(drawing, Drawing::Trees) { Budget::POINT } else { Budget::SKETCH };
            let trees = if products || matches!(drawing, Drawing::Trees) {
                Some(Trees { kernels: kernels(&bound.program)?, tables: Vec::new(), budget })
            } else {
                None
            };
            shaders.push(Shader { bound: bound.clone(), drawing, trees });
        }
        let mut sampling = DirectionSampling { shaders };
        sampling.make_tables(scene);
        Ok(sampling)
    }

    /// Makes a table for all constants that shaders are used with.
    fn make_tables(&mut self, scene: &Scene) {
        let mut constants: BTreeSet<(usize, &[u32])> = BTreeSet::new();
        for material in &scene.materials {
            let Material::Surface { scattering: Some(instance), .. } = material else { continue };
            let shader = &self.shaders[instance.shader as usize];
            if let (Some(_), None, Some(words)) =
                (&shader.trees, &shader.bound.program.setup, instance.constants())
            {
                constants.insert((instance.shader as usize, words));
            }
        }
        for (shader, words) in &constants {
            let Shader { bound, trees: Some(trees), .. } = &mut self.shaders[*shader] else {
                unreachable!("others have no constants")
            };
            // Where there is no room for tables, trees are grown for each point.
            if let Some(table) = TreeTable::new(
                bound.program.sides,
                constants.len(),
                Budget::TABLE.cuts,
                TABLE_BYTES,
            ) {
                trees.tables.push(((*words).into(), table));
            }
        }
    }
}

/// What a thread draws directions with, for the points of one shader at a time; buffers stay.
pub(super) struct Directions<'a> {
    sampling: &'a DirectionSampling,
    /// Of each shader that was met.
    growers: Vec<Option<Grower<'a>>>,
    shader: usize,
    /// Of each point, if it has none of a table.
    trees: Vec<DirectionTree>,
    tabled: Vec<Option<ShiftedTree<'a>>>,
}

impl<'a> Directions<'a> {
    pub fn new(sampling: &'a DirectionSampling) -> Directions<'a> {
        let growers = sampling.shaders.iter().map(|_| None).collect();
        Directions { sampling, growers, shader: 0, trees: Vec::new(), tabled: Vec::new() }
    }

    /// Begins with points of a shader: for each, what it is seen from and the words of its members
    /// of `Material`.
    pub fn begin<M: Iterator<Item = u32> + Clone>(
        &mut self,
        shader: u32,
        points: impl Iterator<Item = (Vec3, M)>,
    ) {
        self.shader = shader as usize;
        self.tabled.clear();
        let Shader { bound, trees: Some(Trees { kernels, tables, budget }), .. } =
            &self.sampling.shaders[self.shader]
        else {
            return;
        };
        let grower = self.growers[self.shader].get_or_insert_with(|| Grower::new(kernels, bound));
        for (point, (wo, members)) in points.enumerate() {
            if point == self.trees.len() {
                self.trees.push(DirectionTree::cosine(bound.program.sides));
            }
            let found =
                tables.binary_search_by(|(words, _)| words.iter().copied().cmp(members.clone()));
            let served = found.ok().map(|number| &tables[number]).filter(|(words, table)| {
                table.serves(|| grower.follows(table, words.iter().copied()))
            });
            let tabled = served.map(|(words, table)| {
                table.tree(wo, |middle, tree| {
                    grower.grow(middle, words.iter().copied(), &Budget::TABLE, tree)
                })
            });
            if tabled.is_none() {
                grower.grow(wo, members, budget, &mut self.trees[point]);
            }
            self.tabled.push(tabled);
        }
    }

    /// Whether the shader's code draws directions.
    pub fn are_own(&self) -> bool {
        matches!(self.sampling.shaders[self.shader].drawing, Drawing::Own)
    }

    /// A direction at a point for numbers in [0, 1), and its density per steradian; `None` where
    /// the sample is void.
    pub fn draw(&self, point: usize, u: Vec2) -> Option<(Vec3, f32)> {
        match &self.sampling.shaders[self.shader].drawing {
            Drawing::Own => None,
            Drawing::Cosine(tree) => tree.draw(u),
            Drawing::Trees => match &self.tabled[point] {
                Some(tree) => tree.draw(u),
                None => self.trees[point].draw(u),
            },
        }
    }

    /// Density with which a direction is drawn at a point, per steradian.
    pub fn pdf(&self, point: usize, wi: Vec3) -> f32 {
        match &self.sampling.shaders[self.shader].drawing {
            Drawing::Own => 0.0,
            Drawing::Cosine(tree) => tree.pdf(wi),
            Drawing::Trees => match &self.tabled[point] {
                Some(tree) => tree.pdf(wi),
                None => self.trees[point].pdf(wi),
            },
        }
    }
    /// The tree of a point, for products with a sky.
    pub fn tree(&self, point: usize) -> ShiftedTree<'_> {
        match &self.tabled[point] {
            Some(tree) => *tree,
            None => self.trees[point].centred(),
        }
    }
}
