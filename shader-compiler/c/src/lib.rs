//! The C interface of the shader compiler: compiles any function in WGSL, evaluates it, and bounds
//! it over boxes of inputs. `include/lightbound.h` is generated from this file by `cbindgen`.
//!
//! Each function that can fail has a last argument for the message: it receives text to be freed
//! with [`lightbound_free_text`], or null. Names are UTF-8.

#![expect(unsafe_code, reason = "callers in C pass pointers")]

use lightbound_shader::lift::Options;
use lightbound_shader::relations::Relations;
use lightbound_shader::texture::{Channels, MAX_SIDE, SamplerState};
use lightbound_shader::{
    CompiledFunction, Error, FunctionOptions, InputError, Settings, Shader, Texture,
};
use miette::{GraphicalReportHandler, GraphicalTheme};
use std::ffi::{CStr, CString, c_char};
use std::fmt;
use std::slice;

/// A compiled function. Any number of threads may use it at a time.
pub struct LightboundFunction {
    compiled: CompiledFunction,
    inputs: Vec<CString>,
    outputs: Vec<CString>,
    textures: Vec<Texture>,
}

/// An image that a function reads.
#[repr(C)]
pub struct LightboundTexture {
    /// Name of the texture in the shader.
    pub name: *const c_char,
    /// Number of columns, from 1 to 2^23.
    pub width: usize,
    /// Number of rows, from 1 to 2^23.
    pub height: usize,
    /// Number of channels: 1, 3 or 4.
    pub channels: usize,
    /// `width * height * channels` linear values, row by row.
    pub texels: *const f32,
}

/// How to compile a function. Zero all members for the defaults.
#[repr(C)]
pub struct LightboundOptions {
    /// Names of the inputs that are intervals when bounding, such as `p` or `p.x`. Null: all.
    pub intervals: *const *const c_char,
    /// Number of elements of `intervals`.
    pub interval_count: usize,
    /// Names of the inputs by which to differentiate all float outputs. May be null.
    pub gradient: *const *const c_char,
    /// Number of elements of `gradient`.
    pub gradient_count: usize,
    /// The textures of the shader. May be null.
    pub textures: *const LightboundTexture,
    /// Number of elements of `textures`.
    pub texture_count: usize,
}

/// The values of an input, for each row of a batch or for all rows.
#[repr(C)]
pub struct LightboundInput {
    /// Name of the input, as `lightbound_input_name` returns it.
    pub name: *const c_char,
    /// Lower endpoints, or values.
    pub low: *const f32,
    /// Upper endpoints. Null: equal to `low`.
    pub high: *const f32,
    /// Number of values: the number of rows, or 1 for a value that all rows have.
    pub length: usize,
}

/// Compiles the function called `function` of a shader in WGSL. `name` is a file name for messages.
/// `options` may be null. Returns null on errors.
///
/// # Safety
/// All strings end with a null byte. Arrays have the stated number of elements. `error` is null or
/// points to a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lightbound_compile(
    name: *const c_char,
    source: *const c_char,
    function: *const c_char,
    options: *const LightboundOptions,
    error: *mut *mut c_char,
) -> *mut LightboundFunction {
    // SAFETY: these are the caller's promises.
    let compiled = unsafe {
        let texts = (text(name, "name"), text(source, "source"), text(function, "function"));
        match texts {
            (Ok(name), Ok(source), Ok(function)) => {
                compile(name, source, function, options.as_ref())
            }
            (Err(message), ..) | (_, Err(message), _) | (.., Err(message)) => Err(message),
        }
    };
    // SAFETY: `error` is null or points to a pointer.
    unsafe { report(compiled, error) }
        .map_or(std::ptr::null_mut(), |function| Box::into_raw(Box::new(function)))
}

/// # Safety
/// The members of `options` are valid.
unsafe fn compile(
    name: &str,
    source: &str,
    function: &str,
    options: Option<&LightboundOptions>,
) -> Result<LightboundFunction, String> {
    let shader = Shader::parse_function(name, source, function).map_err(|e| describe(e.into()))?;
    let bounds = Options { relations: Relations::all(), ..Options::default() };
    let mut compile_options = FunctionOptions { bounds, ..FunctionOptions::default() };
    let mut textures = vec![];
    if let Some(options) = options {
        // SAFETY: arrays have the stated number of elements.
        let (intervals, gradient, images) = unsafe {
            (
                names(options.intervals, options.interval_count, "intervals")?,
                names(options.gradient, options.gradient_count, "gradient")?,
                array(options.textures, options.texture_count),
            )
        };
        compile_options.intervals = (!options.intervals.is_null()).then_some(intervals);
        compile_options.gradient = gradient;
        for image in images {
            // SAFETY: its name ends with a null byte, and its array has the stated size.
            textures.push(unsafe { read_texture(image)? });
        }
    }
    let find = |wanted: &String| {
        let found = textures.iter().position(|(name, _)| name == wanted);
        found.ok_or_else(|| format!("there is no image for the texture `{wanted}`"))
    };
    let order: Vec<usize> = shader.textures().iter().map(find).collect::<Result<_, _>>()?;
    if let Some((unknown, _)) = textures.iter().find(|(name, _)| !shader.textures().contains(name))
    {
        return Err(format!("the shader has no texture `{unknown}`"));
    }
    let states = textures.iter().map(|(name, t)| (name.clone(), t.state(SamplerState::default())));
    compile_options.settings = Settings { textures: states.collect(), ..Settings::default() };
    let compiled = CompiledFunction::compile(name, source, function, &compile_options);
    let compiled = compiled.map_err(describe)?;
    Ok(LightboundFunction {
        inputs: compiled.inputs().map(c_string).collect(),
        outputs: compiled.outputs().map(c_string).collect(),
        textures: order.into_iter().map(|k| textures[k].1.clone()).collect(),
        compiled,
    })
}

/// # Safety
/// The name ends with a null byte, and the array has the stated size.
unsafe fn read_texture(image: &LightboundTexture) -> Result<(String, Texture), String> {
    // SAFETY: the name ends with a null byte.
    let name = unsafe { text(image.name, "texture")? };
    let channels = match image.channels {
        1 => Channels::Grey,
        3 => Channels::Rgb,
        4 => Channels::Rgba,
        n => return Err(format!("the texture `{name}` has {n} channels: expected 1, 3 or 4")),
    };
    if ![image.width, image.height].iter().all(|side| (1..=MAX_SIDE as usize).contains(side)) {
        return Err(format!("the texture `{name}`: sides are from 1 to {MAX_SIDE} texels"));
    }
    if image.width * image.height > 1 << 28 {
        return Err(format!("the texture `{name}` has more than 2^28 texels"));
    }
    if image.texels.is_null() {
        return Err(format!("the texture `{name}` has no texels"));
    }
    // SAFETY: the array has this size.
    let texels =
        unsafe { slice::from_raw_parts(image.texels, image.width * image.height * image.channels) };
    Ok((name.to_owned(), Texture::from_floats(image.width as u32, channels, texels)))
}

/// Frees a function. Null is allowed.
///
/// # Safety
/// `function` is from `lightbound_compile`, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lightbound_free(function: *mut LightboundFunction) {
    if !function.is_null() {
        // SAFETY: it was made by `Box::into_raw`.
        drop(unsafe { Box::from_raw(function) });
    }
}

/// Frees a message. Null is allowed.
///
/// # Safety
/// `text` is a message from this library, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lightbound_free_text(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: it was made by `CString::into_raw`.
        drop(unsafe { CString::from_raw(text) });
    }
}

/// Number of inputs: components of the arguments, then of the parameters.
///
/// # Safety
/// `function` is from `lightbound_compile`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lightbound_input_count(function: *const LightboundFunction) -> usize {
    // SAFETY: the caller's promise.
    unsafe { &*function }.inputs.len()
}

/// Name of an input, such as `p.x`; null if `index` is not below the number of inputs. It is valid
/// as long as the function.
///
/// # Safety
/// `function` is from `lightbound_compile`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lightbound_input_name(
    function: *const LightboundFunction,
    index: usize,
) -> *const c_char {
    // SAFETY: the caller's promise.
    let inputs = unsafe { &(*function).inputs };
    inputs.get(index).map_or(std::ptr::null(), |name| name.as_ptr())
}

/// Number of outputs: components of the result, then their derivatives.
///
/// # Safety
/// `function` is from `lightbound_compile`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lightbound_output_count(function: *const LightboundFunction) -> usize {
    // SAFETY: the caller's promise.
    unsafe { &*function }.outputs.len()
}

/// Name of an output; null if `index` is not below the number of outputs. It is valid as long as
/// the function.
///
/// # Safety
/// `function` is from `lightbound_compile`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lightbound_output_name(
    function: *const LightboundFunction,
    index: usize,
) -> *const c_char {
    // SAFETY: the caller's promise.
    let outputs = unsafe { &(*function).outputs };
    outputs.get(index).map_or(std::ptr::null(), |name| name.as_ptr())
}

/// Evaluates rows of inputs. `outputs` has a column of `rows` values for each output. Inputs
/// without a column have their defaults. Integers and bools are passed as floats. Returns whether
/// it succeeded.
///
/// # Safety
/// `function` is from `lightbound_compile`. Strings end with a null byte. Arrays have the stated
/// number of elements; those of `outputs` do not overlap any other. `error` is null or points to a
/// pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lightbound_evaluate(
    function: *const LightboundFunction,
    inputs: *const LightboundInput,
    input_count: usize,
    outputs: *const *mut f32,
    rows: usize,
    error: *mut *mut c_char,
) -> bool {
    // SAFETY: these are the caller's promises.
    let (function, inputs, outputs) = unsafe {
        let function = &*function;
        (function, array(inputs, input_count), columns(outputs, function.outputs.len(), rows))
    };
    let evaluated = outputs.and_then(|mut outputs| {
        // SAFETY: strings end with a null byte, and arrays have the stated size.
        let inputs = unsafe { read_inputs(inputs)? };
        let inputs: Vec<_> = inputs.into_iter().map(|(name, [low, _])| (name, low)).collect();
        let mut outputs: Vec<&mut [f32]> = outputs.iter_mut().map(|column| &mut **column).collect();
        let textures: Vec<&Texture> = function.textures.iter().collect();
        function.compiled.evaluate(&textures, &inputs, &mut outputs).map_err(describe_input)
    });
    // SAFETY: `error` is null or points to a pointer.
    unsafe { report(evaluated, error) }.is_some()
}

/// Bounds the function over boxes. `lower` and `upper` have a column of `rows` bounds for each
/// output: whatever `lightbound_evaluate` returns for a member of a box lies between them. Returns
/// whether it succeeded.
///
/// # Safety
/// As for `lightbound_evaluate`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lightbound_bound(
    function: *const LightboundFunction,
    inputs: *const LightboundInput,
    input_count: usize,
    lower: *const *mut f32,
    upper: *const *mut f32,
    rows: usize,
    error: *mut *mut c_char,
) -> bool {
    // SAFETY: these are the caller's promises.
    let (function, inputs, lower, upper) = unsafe {
        let function = &*function;
        let count = function.outputs.len();
        let (lower, upper) = (columns(lower, count, rows), columns(upper, count, rows));
        (function, array(inputs, input_count), lower, upper)
    };
    let bounded = lower.and_then(|lower| Ok((lower, upper?))).and_then(|(lower, upper)| {
        // SAFETY: strings end with a null byte, and arrays have the stated size.
        let boxes = unsafe { read_inputs(inputs)? };
        let mut bounds: Vec<_> = lower.into_iter().zip(upper).map(<[_; 2]>::from).collect();
        let textures: Vec<&Texture> = function.textures.iter().collect();
        function.compiled.bound(&textures, &boxes, &mut bounds).map_err(describe_input)
    });
    // SAFETY: `error` is null or points to a pointer.
    unsafe { report(bounded, error) }.is_some()
}

/// The name of an input, and its columns of lower and upper endpoints.
type NamedColumns<'c> = (&'c str, [&'c [f32]; 2]);

/// # Safety
/// Strings end with a null byte, and arrays have the stated size.
unsafe fn read_inputs(inputs: &[LightboundInput]) -> Result<Vec<NamedColumns<'_>>, String> {
    let read = |input: &LightboundInput| {
        // SAFETY: the name ends with a null byte.
        let name = unsafe { text(input.name, "input")? };
        if input.low.is_null() {
            return Err(format!("the input `{name}` has no values"));
        }
        let high = if input.high.is_null() { input.low } else { input.high };
        // SAFETY: the arrays have this size.
        Ok((name, [input.low, high].map(|x| unsafe { slice::from_raw_parts(x, input.length) })))
    };
    inputs.iter().map(read).collect()
}

/// # Safety
/// `columns` is null or has `count` pointers, each null or to `rows` floats that nothing else uses.
unsafe fn columns<'c>(
    columns: *const *mut f32,
    count: usize,
    rows: usize,
) -> Result<Vec<&'c mut [f32]>, String> {
    // SAFETY: the array has this size.
    let columns = unsafe { array(columns, count) };
    if columns.len() < count || columns.iter().any(|column| column.is_null()) {
        return Err(format!("pass a column for each of the {count} outputs"));
    }
    // SAFETY: the columns have this size, and nothing else uses them.
    Ok(columns.iter().map(|&x| unsafe { slice::from_raw_parts_mut(x, rows) }).collect())
}

/// An array that may be null, which is empty.
///
/// # Safety
/// It is null or has `length` elements.
unsafe fn array<'a, T>(first: *const T, length: usize) -> &'a [T] {
    // SAFETY: it has this size.
    if first.is_null() { &[] } else { unsafe { slice::from_raw_parts(first, length) } }
}

/// # Safety
/// `names` is null or has `count` strings that end with a null byte.
unsafe fn names(
    names: *const *const c_char,
    count: usize,
    what: &str,
) -> Result<Vec<String>, String> {
    // SAFETY: the array has this size, and its strings end with a null byte.
    unsafe { array(names, count) }
        .iter()
        .map(|&name| Ok(unsafe { text(name, what)? }.to_owned()))
        .collect()
}

/// # Safety
/// `text` is null or ends with a null byte.
unsafe fn text<'t>(text: *const c_char, what: &str) -> Result<&'t str, String> {
    if text.is_null() {
        return Err(format!("`{what}` is null"));
    }
    // SAFETY: it ends with a null byte.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| format!("`{what}` is not UTF-8"))
}

/// Writes the message of an error, or null.
///
/// # Safety
/// `error` is null or points to a pointer.
unsafe fn report<T>(result: Result<T, String>, error: *mut *mut c_char) -> Option<T> {
    let (value, message) = match result {
        Ok(value) => (Some(value), std::ptr::null_mut()),
        Err(message) => (None, c_string(&message).into_raw()),
    };
    if error.is_null() {
        // SAFETY: it was just made by `CString::into_raw`, or is null.
        unsafe { lightbound_free_text(message) };
    } else {
        // SAFETY: it points to a pointer.
        unsafe { error.write(message) };
    }
    value
}

/// A message with the place in the shader.
fn describe(error: Error) -> String {
    let Error::Shader(mut error) = error else { return error.to_string() };
    if error.labels.is_empty() {
        error.message = format!("{}: {}", error.source_code.name(), error.message);
    }
    let mut theme = GraphicalTheme::unicode_nocolor();
    theme.characters.error = String::new();
    let handler = GraphicalReportHandler::new_themed(theme).with_wrap_lines(false);
    let mut text = String::new();
    match handler.render_report(&mut text, &error) {
        Ok(()) => text.trim().to_owned(),
        Err(fmt::Error) => error.to_string(),
    }
}

fn describe_input(error: InputError) -> String {
    error.to_string()
}

/// Names and messages have no null bytes; if one does, the text ends there.
fn c_string(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(&text[..end]).expect("the text ends before the first null byte")
}
