//! Evaluations of a shader for many points at a time, in full groups of the machine's lanes.
//!
//! The members of `Material` are found once for each point, and go into the batches of both
//! functions.

use super::ShadingCounts;
use super::directions::Directions;
use crate::direction_tree::ShiftedTree;
use crate::geometry::Surface;
use crate::material::{Bound, Instance, Program};
use crate::math::{Vec2, Vec3, vec2, vec3};
use lightbound_shader::{Batch, Kernel, Target, Texture};

/// Light from one direction: what a shader says of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scattered {
    /// Reflected over incident radiance, times the cosine, 1/sr.
    pub s: Vec3,
    /// Density with which the direction is drawn at the point, 1/sr.
    pub pdf: f32,
}

/// Batches for one shader at a time; buffers stay.
///
/// First come the points ([`Shading::push`]), then their members of `Material`
/// ([`Shading::set_up`]) and the light that arrives there ([`Shading::push_light`]), then both
/// functions run.
pub(super) struct Shading<'a> {
    setup: Batch,
    scatter: Batch,
    evaluate: Batch,
    results: Batch,
    points: usize,
    /// The point of each row of `evaluate`.
    lights: Vec<usize>,
    counts: ShadingCounts,
    /// How directions are drawn; without it the shader's code does.
    directions: Option<Directions<'a>>,
    /// The shader of the points, as instances count them.
    shader: u32,
    /// Densities of directions that were drawn, if not by the shader's code.
    drawn: Vec<f32>,
}

/// Words of a direction.
const XYZ: usize = 3;
/// Ports of the members of `Material`, behind directions or numbers and a direction.
const SCATTER_MEMBERS: usize = 2 + XYZ;
const EVALUATE_MEMBERS: usize = 2 * XYZ;

impl<'a> Shading<'a> {
    pub fn new(target: Target, directions: Option<Directions<'a>>) -> Shading<'a> {
        let batch = || Batch::new(target, 0, 0);
        Shading {
            setup: batch(),
            scatter: batch(),
            evaluate: batch(),
            results: batch(),
            points: 0,
            lights: Vec::new(),
            counts: ShadingCounts::default(),
            directions,
            shader: 0,
            drawn: Vec::new(),
        }
    }

    /// What was done so far; counting starts again.
    pub fn take_counts(&mut self) -> ShadingCounts {
        std::mem::take(&mut self.counts)
    }

    /// Begins with another set of up to `most` points.
    pub fn begin(&mut self, program: &Program, most: usize) {
        self.points = 0;
        self.lights.clear();
        self.scatter.reshape(SCATTER_MEMBERS + program.members, most);
        self.evaluate.reshape(EVALUATE_MEMBERS + program.members, most);
        if let Some(setup) = &program.setup {
            self.setup.reshape(setup.inputs().len(), most);
        }
    }

    /// Adds a point, with two numbers that draw a direction there; `object` is its position in the
    /// space of the object.
    #[inline]
    pub fn push(
        &mut self,
        program: &Program,
        instance: &Instance,
        surface: &Surface,
        object: impl FnOnce() -> Vec3,
        (u, wo): (Vec2, Vec3),
    ) {
        let row = self.points;
        self.points += 1;
        self.shader = instance.shader;
        self.scatter.set_row(row, 0, &[u.x, u.y, wo.x, wo.y, wo.z].map(f32::to_bits));
        let (batch, first) = match program.setup {
            Some(_) => {
                let point =
                    Program::surface_words(surface.p, object(), surface.frame.n, surface.uv);
                self.setup.set_row(row, 0, &point);
                (&mut self.setup, point.len())
            }
            None => (&mut self.scatter, SCATTER_MEMBERS),
        };
        instance.write(&surface.lookup(), |word, words| batch.set_row(row, first + word, words));
    }

    /// Adds light that arrives from `wi` at the point of this number.
    #[inline]
    pub fn push_light(&mut self, point: usize, wi: Vec3, wo: Vec3) {
        let directions = [wi.x, wi.y, wi.z, wo.x, wo.y, wo.z].map(f32::to_bits);
        self.evaluate.set_row(self.lights.len(), 0, &directions);
        self.lights.push(point);
    }

    /// The words of the members of `Material` at the point of this number, after
    /// [`Shading::set_up`].
    pub fn members(&self, program: &Program, point: usize) -> impl Iterator<Item = u32> {
        (0..program.members).map(move |member| self.scatter.bits(point, SCATTER_MEMBERS + member))
    }

    /// Computes the members of `Material` of all points, where they are computed, and grows trees
    /// of directions, where these are drawn from trees: once all points are there.
    pub fn set_up(&mut self, bound: &Bound) {
        let members = bound.program.members;
        if let Some(kernel) = &bound.program.setup {
            self.setup.truncate(self.points);
            run(kernel, bound, &self.setup, &mut self.results, &mut self.counts);
            for row in 0..self.points {
                self.scatter.copy_row(row, SCATTER_MEMBERS, &self.results, row, 0, members);
            }
        }
        if let Some(directions) = &mut self.directions {
            let scatter = &self.scatter;
            let point = |row| {
                let [x, y, z] = scatter.floats(row, SCATTER_MEMBERS - XYZ);
                (
                    vec3(x, y, z),
                    (0..members).map(move |member| scatter.bits(row, SCATTER_MEMBERS + member)),
                )
            };
            directions.begin(self.shader, (0..self.points).map(point));
        }
    }

    /// Evaluates the light that arrives; then [`Shading::evaluated`] has the results.
    pub fn evaluate(&mut self, bound: &Bound) {
        for (row, &point) in self.lights.iter().enumerate() {
            self.evaluate.copy_row(
                row,
                EVALUATE_MEMBERS,
                &self.scatter,
                point,
                SCATTER_MEMBERS,
                bound.program.members,
            );
        }
        self.evaluate.truncate(self.lights.len());
        run(&bound.program.evaluate, bound, &self.evaluate, &mut self.results, &mut self.counts);
    }

    /// Result for the light of this number.
    #[inline]
    pub fn evaluated(&self, light: usize) -> Scattered {
        let [r, g, b, pdf] = self.results.floats(light, 0);
        let pdf = match self.others() {
            Some(directions) => {
                directions.pdf(self.lights[light], Vec3::from_array(self.evaluate.floats(light, 0)))
            }
            None => pdf,
        };
        Scattered { s: vec3(r, g, b), pdf }
    }

    /// The tree of directions of the point of this number, after [`Shading::set_up`], where all
    /// shaders have trees.
    pub fn tree(&self, point: usize) -> Option<ShiftedTree<'_>> {
        self.directions.as_ref().map(|directions| directions.tree(point))
    }

    /// What draws directions, if not the shader's code.
    fn others(&self) -> Option<&Directions<'a>> {
        self.directions.as_ref().filter(|directions| !directions.are_own())
    }

    /// Draws a direction at each point, after [`Shading::set_up`]; then [`Shading::scattered`] has
    /// the results.
    pub fn scatter(&mut self, bound: &Bound) {
        self.drawn.clear();
        if self.others().is_some() {
            self.scatter_by_others(bound);
            return;
        }
        self.scatter.truncate(self.points);
        run(&bound.program.scatter, bound, &self.scatter, &mut self.results, &mut self.counts);
    }

    /// The same where directions are not drawn by the shader's code, which then evaluates them.
    fn scatter_by_others(&mut self, bound: &Bound) {
        let members = bound.program.members;
        self.evaluate.reshape(EVALUATE_MEMBERS + members, self.points);
        for point in 0..self.points {
            let [u, v, x, y, z] = self.scatter.floats(point, 0);
            let wo = vec3(x, y, z);
            // Where nothing is scattered, some direction is evaluated, and counts for nothing.
            let (wi, pdf) = self
                .others()
                .and_then(|directions| directions.draw(point, vec2(u, v)))
                .unwrap_or((wo, 0.0));
            self.drawn.push(pdf);
            self.evaluate.set_row(
                point,
                0,
                &[wi.x, wi.y, wi.z, wo.x, wo.y, wo.z].map(f32::to_bits),
            );
            self.evaluate.copy_row(
                point,
                EVALUATE_MEMBERS,
                &self.scatter,
                point,
                SCATTER_MEMBERS,
                members,
            );
        }
        self.evaluate.truncate(self.points);
        run(&bound.program.evaluate, bound, &self.evaluate, &mut self.results, &mut self.counts);
    }

    /// Direction and result at the point of this number.
    #[inline]
    pub fn scattered(&self, point: usize) -> (Vec3, Scattered) {
        if let Some(&pdf) = self.drawn.get(point) {
            let [r, g, b] = self.results.floats(point, 0);
            return (
                Vec3::from_array(self.evaluate.floats(point, 0)),
                Scattered { s: vec3(r, g, b), pdf },
            );
        }
        let [x, y, z, r, g, b, pdf] = self.results.floats(point, 0);
        (vec3(x, y, z), Scattered { s: vec3(r, g, b), pdf })
    }
}

/// Runs a kernel over the inputs.
fn run(
    kernel: &Kernel,
    bound: &Bound,
    inputs: &Batch,
    outputs: &mut Batch,
    counts: &mut ShadingCounts,
) {
    let textures: Vec<&Texture> = bound.textures.iter().map(|texture| &**texture).collect();
    outputs.reshape(kernel.outputs().len(), inputs.rows());
    kernel.run(&textures, inputs, outputs);
    counts.evaluations += inputs.rows() as u64;
    counts.lanes += (inputs.groups() * inputs.lanes()) as u64;
    if let Some(port) = kernel.outputs().iter().position(|port| port.name == "capped") {
        counts.capped +=
            (0..outputs.rows()).filter(|&row| outputs.bits(row, port) != 0).count() as u64;
    }
}
