//! `lightbound.compile` and the compiled `Function`: values, bounds and samples of batches.

use super::arrays::{Rounding, floats, to_numpy};
use super::batch::{Accepts, InputBatch, Variable};
use super::error::{plain, shader as shader_error};
use super::integer::{self, Integer};
use super::sampler::{Brdf, Sampler};
use lightbound::material::library as shaders;
use lightbound_shader::lift::Options;
use lightbound_shader::relations::Relations;
use lightbound_shader::texture::{Channels, MAX_SIDE, SamplerState};
use lightbound_shader::{
    CompiledFunction, Error as CompileError, FunctionOptions, Parameter, Settings, Shader,
    ShaderKind, Texture,
};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::{Arc, OnceLock};

/// A function in WGSL, compiled to machine code.
#[pyclass(frozen, module = "lightbound")]
pub struct Function {
    shader: Shader,
    compiled: CompiledFunction,
    inputs: Vec<Variable>,
    outputs: Vec<Variable>,
    textures: Vec<Arc<Texture>>,
    settings: Settings,
    /// What samplers need, compiled for the first one.
    brdf: OnceLock<Brdf>,
}

/// Compiles a function of a shader.
#[pyfunction]
#[pyo3(signature = (
    source, function = None, *, intervals = None, gradient = vec![], textures = None,
    name = "shader.wgsl",
))]
pub fn compile(
    py: Python<'_>,
    source: &str,
    function: Option<&str>,
    intervals: Option<Vec<String>>,
    gradient: Vec<String>,
    textures: Option<&Bound<'_, PyDict>>,
    name: &str,
) -> PyResult<Function> {
    let shader = match function {
        Some(function) => Shader::parse_function(name, source, function),
        None => Shader::parse(name, source),
    };
    let shader = shader.map_err(shader_error)?;
    let textures = read_textures(&shader, textures)?;
    let states = shader.textures().iter().zip(&textures);
    let states = states.map(|(name, t)| (name.clone(), t.state(SamplerState::default())));
    let settings = Settings { textures: states.collect(), ..Settings::default() };
    let bounds = Options { relations: Relations::all(), ..Options::default() };
    let options = FunctionOptions {
        intervals,
        gradient,
        settings: settings.clone(),
        bounds,
        ..FunctionOptions::default()
    };
    // A BRDF as any function: inputs are its own arguments, whether or not there is `fn material`.
    let function = shader.function_name();
    let function_shader = Shader::parse_function(name, source, function).map_err(shader_error)?;
    let compiled = py
        .detach(|| CompiledFunction::compile(name, source, function, &options))
        .map_err(|error| match error {
            CompileError::Shader(error) => shader_error(error),
            error => plain(error),
        })?;
    let input = |p: &Parameter| Variable {
        name: p.name.clone(),
        components: p.component_names().collect(),
        has_default: p.default.is_some(),
    };
    let parameters = function_shader.arguments().iter().chain(function_shader.settable());
    Ok(Function {
        inputs: parameters.map(input).collect(),
        outputs: group(compiled.outputs()),
        shader,
        compiled,
        textures,
        settings,
        brdf: OnceLock::new(),
    })
}

/// Returns the source of a shader of the library.
#[pyfunction]
pub fn library(name: &str) -> PyResult<&'static str> {
    let found = shaders::find(name).map(|shader| shader.text);
    found.ok_or_else(|| {
        let names: Vec<_> = shaders::LIBRARY.iter().map(|shader| shader.name).collect();
        plain(format!("the library has no shader `{name}`; it has {}", names.join(", ")))
    })
}

/// Reads the textures of a shader from arrays of linear values.
fn read_textures(
    shader: &Shader,
    arrays: Option<&Bound<'_, PyDict>>,
) -> PyResult<Vec<Arc<Texture>>> {
    let names = shader.textures();
    for key in arrays.iter().flat_map(|arrays| arrays.keys()) {
        let key: String = key.extract()?;
        if !names.contains(&key) {
            return Err(plain(format!("the shader has no texture `{key}`")));
        }
    }
    let read = |name: &String| {
        let array = arrays.map(|arrays| arrays.get_item(name)).transpose()?.flatten();
        let array = array
            .ok_or_else(|| plain(format!("pass the texture: textures={{\"{name}\": array}}")))?;
        let values = floats(&array, Rounding::Nearest)?;
        let (size, channels) = match *values.shape() {
            [h, w] | [h, w, 1] => ([w, h], Channels::Grey),
            [h, w, 3] => ([w, h], Channels::Rgb),
            [h, w, 4] => ([w, h], Channels::Rgba),
            _ => {
                return Err(plain(format!(
                    "the texture `{name}` has the shape {:?}: expected (height, width), or \
                     (height, width, 3 or 4)",
                    values.shape()
                )));
            }
        };
        if !size.iter().all(|side| (1..=MAX_SIDE as usize).contains(side)) {
            let [w, h] = size;
            return Err(plain(format!(
                "the texture `{name}` has {w} x {h} texels: sides are from 1 to {MAX_SIDE}"
            )));
        }
        if size[0] * size[1] > 1 << 28 {
            return Err(plain(format!("the texture `{name}` has more than 2^28 texels")));
        }
        let values: Vec<f32> = values.iter().copied().collect();
        Ok(Arc::new(Texture::from_floats(size[0] as u32, channels, &values)))
    };
    names.iter().map(read).collect()
}

/// Groups outputs whose names differ only in the component.
fn group<'n>(names: impl Iterator<Item = &'n str>) -> Vec<Variable> {
    let mut variables: Vec<Variable> = vec![];
    for name in names {
        let stem = match name.rsplit_once('.') {
            Some((stem, "x" | "y" | "z" | "w" | "r" | "g" | "b" | "a")) => stem,
            _ => name,
        };
        match variables.last_mut() {
            Some(last) if last.name == stem && stem != name => {
                last.components.push(name.to_owned());
            }
            _ => variables.push(Variable {
                name: stem.to_owned(),
                components: vec![name.to_owned()],
                has_default: false,
            }),
        }
    }
    variables
}

impl Function {
    /// The value of a call: what `convert` makes of the columns of the output, or a dictionary of
    /// it if there are several outputs.
    fn returned<'py>(
        &self,
        py: Python<'py>,
        convert: impl Fn(std::ops::Range<usize>) -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut first = 0;
        let mut next = |output: &Variable| {
            let columns = first..first + output.components.len();
            first = columns.end;
            convert(columns)
        };
        if let [output] = &self.outputs[..] {
            return next(output);
        }
        let results = PyDict::new(py);
        for output in &self.outputs {
            results.set_item(&output.name, next(output)?)?;
        }
        Ok(results.into_any())
    }

    fn textures(&self) -> Vec<&Texture> {
        self.textures.iter().map(|texture| &**texture).collect()
    }
}

#[pymethods]
impl Function {
    /// Name of the function in the shader.
    #[getter]
    fn name(&self) -> &str {
        self.shader.function_name()
    }

    /// Names of the inputs: the arguments, then the members of the struct of parameters.
    #[getter]
    fn inputs(&self) -> Vec<&str> {
        self.inputs.iter().map(|input| input.name.as_str()).collect()
    }

    /// Names of the outputs.
    #[getter]
    fn outputs(&self) -> Vec<&str> {
        self.outputs.iter().map(|output| output.name.as_str()).collect()
    }

    fn __repr__(&self) -> String {
        format!("<lightbound.Function {}({})>", self.name(), self.inputs().join(", "))
    }

    /// Evaluates the function for arrays of inputs.
    #[pyo3(signature = (*args, **inputs))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        inputs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let batch = InputBatch::read(&self.inputs, Accepts::Values, args, inputs)?;
        let results = py.detach(|| batch.evaluate(&self.compiled, &self.textures()));
        let results = results.map_err(plain)?;
        self.returned(py, |columns| Ok(to_numpy(py, &results[columns], &batch.shape).into_any()))
    }

    /// Bounds the function over boxes of inputs.
    #[pyo3(signature = (*args, **inputs))]
    fn bound<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        inputs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let batch = InputBatch::read(&self.inputs, Accepts::Intervals, args, inputs)?;
        let bounds = py.detach(|| batch.bound(&self.compiled, &self.textures()));
        let bounds = bounds.map_err(plain)?;
        self.returned(py, |columns| {
            let arrays = bounds.each_ref().map(|x| to_numpy(py, &x[columns.clone()], &batch.shape));
            Ok(PyTuple::new(py, arrays)?.into_any())
        })
    }

    /// Creates a sampler of light directions from bounds on the BRDF or phase function.
    #[pyo3(
        signature = (wo, *, splits = None, **parameters),
        text_signature = "($self, wo, *, splits=96, **parameters)",
    )]
    fn sampler(
        &self,
        py: Python<'_>,
        wo: &Bound<'_, PyAny>,
        splits: Option<Integer>,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Sampler> {
        let splits = integer::optional("splits", splits)?.unwrap_or(96);
        if !matches!(self.shader.kind(), ShaderKind::Brdf | ShaderKind::Phase) {
            return Err(plain(
                "only a BRDF or a phase function has a sampler: compile the shader without naming \
                 a function",
            ));
        }
        let brdf = match self.brdf.get() {
            Some(brdf) => brdf,
            None => {
                let compiled =
                    py.detach(|| Brdf::compile(&self.shader, &self.settings, &self.textures))?;
                self.brdf.get_or_init(|| compiled)
            }
        };
        brdf.sampler(py, wo, splits, self.shader.members(), parameters)
    }
}
