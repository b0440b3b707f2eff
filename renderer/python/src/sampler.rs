//! Samplers of light directions, derived from bounds on a BRDF or a phase function.

use super::arrays::{FloatArray, InputArray, Rounding, floats, to_numpy, vec3};
use super::error::plain;
use lightbound::direction_tree::{AdaptiveBuilder, BrdfKernels, DirectionTree, SplitBudget};
use lightbound::material::parameters::valid_values;
use lightbound::material::{Program, ShaderBinding};
use lightbound::math::{Vec2, Vec3};
use lightbound_shader::{Arena, Parameter, Settings, Setup, Shader, SurfaceSides, Target, Texture};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// What all samplers of a shader share.
pub struct Brdf {
    binding: ShaderBinding,
    kernels: BrdfKernels,
    sides: SurfaceSides,
}

impl Brdf {
    /// Compiles the shader.
    pub fn compile(
        shader: &Shader,
        settings: &Settings,
        textures: &[Arc<Texture>],
    ) -> PyResult<Brdf> {
        let arena = Arena::new();
        let settings = Settings { setup: Setup::Precomputed, ..settings.clone() };
        let program = Program::compile(&arena, shader, &settings, Target::best()).map_err(plain)?;
        let kernels = BrdfKernels::compile(&arena, &program).map_err(plain)?;
        let binding = ShaderBinding::new(Arc::new(program), textures.to_vec());
        Ok(Brdf { binding, kernels, sides: shader.sides() })
    }

    /// Builds the sampler for an outgoing direction and values of the parameters.
    pub fn sampler(
        &self,
        py: Python<'_>,
        wo: &Bound<'_, PyAny>,
        splits: usize,
        members: &[Parameter],
        values: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Sampler> {
        let wo = Vec3::from_array(vec3("wo", wo)?);
        let wo = wo.try_normalize().ok_or_else(|| plain("`wo` has no direction"))?;
        if !self.sides.covers(wo.z) {
            return Err(plain("`wo` is below the surface, where a one-sided BRDF is 0"));
        }
        let words = words(members, values)?;
        let mut tree = DirectionTree::cosine(self.sides);
        let budget = SplitBudget { splits: splits.max(1), uncertainty: 0.0 };
        py.detach(|| {
            let mut builder = AdaptiveBuilder::new(&self.kernels, &self.binding);
            builder.build(wo, words.into_iter(), &budget, &mut tree);
        });
        Ok(Sampler { tree })
    }
}

/// The words of all parameters, which are constant.
fn words(members: &[Parameter], values: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<u32>> {
    for key in values.iter().flat_map(|values| values.keys()) {
        let key: String = key.extract()?;
        if members.iter().all(|member| member.name != key) {
            return Err(plain(format!("the shader has no parameter `{key}`")));
        }
    }
    let mut words = vec![];
    for member in members {
        let value = values.map(|values| values.get_item(&member.name)).transpose()?.flatten();
        let value: Vec<f64> = match (value, &member.default) {
            (Some(value), _) => {
                let values = floats(&value, Rounding::Nearest)?;
                values.iter().map(|&x| x.into()).collect()
            }
            (None, Some(default)) => default.clone(),
            (None, None) => {
                return Err(plain(format!("the parameter `{}` has no value", member.name)));
            }
        };
        if value.len() != member.size {
            return Err(plain(format!(
                "`{}` has {} components, but {} values",
                member.name,
                member.size,
                value.len()
            )));
        }
        let [min, max] = member.range;
        if !value.iter().all(|x| (min..=max).contains(x)) {
            let valid = valid_values(member);
            return Err(plain(format!("`{}` is out of its range: expected {valid}", member.name)));
        }
        words.extend(value.iter().map(|&x| member.scalar.bits(x)));
    }
    Ok(words)
}

/// A sampler of light directions for an outgoing direction and values of the parameters.
#[pyclass(frozen, module = "lightbound")]
pub struct Sampler {
    tree: DirectionTree,
}

#[pymethods]
impl Sampler {
    /// Maps points of the unit square to directions, and returns them with their densities.
    fn sample<'py>(
        &self,
        py: Python<'py>,
        u: &Bound<'py, PyAny>,
    ) -> PyResult<(FloatArray<'py>, FloatArray<'py>)> {
        let u = InputArray::new("u", 2, floats(u, Rounding::Nearest)?)?;
        let points = u.vectors::<2>();
        if !points.iter().flatten().all(|x| (0.0..1.0).contains(x)) {
            return Err(plain("`u` must be in [0, 1)"));
        }
        let samples: Vec<_> = py.detach(|| {
            let sample = |&p: &[f32; 2]| self.tree.sample(Vec2::from_array(p));
            points.iter().map(|p| sample(p).unwrap_or((Vec3::ZERO, 0.0))).collect()
        });
        let component = |k: usize| samples.iter().map(|(wi, _)| wi[k]).collect::<Vec<_>>();
        let density = samples.iter().map(|&(_, pdf)| pdf).collect();
        Ok((
            to_numpy(py, &[0, 1, 2].map(component), u.batch_shape()),
            to_numpy(py, &[density], u.batch_shape()),
        ))
    }

    /// The densities of directions, 1/sr.
    fn pdf<'py>(&self, py: Python<'py>, wi: &Bound<'py, PyAny>) -> PyResult<FloatArray<'py>> {
        let wi = InputArray::new("wi", 3, floats(wi, Rounding::Nearest)?)?;
        let directions = wi.vectors::<3>();
        let densities = py
            .detach(|| directions.iter().map(|&wi| self.tree.pdf(Vec3::from_array(wi))).collect());
        Ok(to_numpy(py, &[densities], wi.batch_shape()))
    }
}
