//! Profiles of shaders: how often their values are zero in a rendering, and code with tests for zero
//! that profiles justify (`lightbound_shader::specialize::zeros`).
//!
//! A [`Profiler`] replaces the code of a scene's shaders by instrumented code, which computes the
//! same. After a rendering, it returns a [`ShaderProfile`]. [`ShaderProfile::apply`] replaces code by
//! versions with tests for zero, which also compute the same, but for signs of zeros in BSDF values
//! and densities. So images are the same with any profile and with none.
//!
//! Tests are chosen by their expected saving. Whether they save time is then measured on batches of
//! the rendering, and those that do not are rejected. A profile holds for the code that it was taken
//! of, which a hash identifies, and for groups of as many lanes.

use super::specialization::bounds;
use super::{Program, ShaderBinding, ShaderInstance};
use crate::texture::Extents;
use lightbound_shader::interval::Bounds;
use lightbound_shader::ir::Function;
use lightbound_shader::scattering::Functions;
use lightbound_shader::specialize::zeros::{Candidates, Counts, MAX_TIME_RATIO};
use lightbound_shader::{Arena, Batch, CompileError, Kernel, Texture, passes};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Identifies the file format.
const FORMAT: &str = "lightbound shader profile";
const VERSION: u32 = 1;

/// Greatest number of batches that are kept to measure code.
const MAX_SAMPLES: usize = 8;

/// Number of runs of each version on these batches; the fastest counts.
const TIMED_RUNS: usize = 9;

/// A kernel of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShaderKernel {
    /// [`Program::evaluate`].
    Evaluate,
    /// [`Program::scatter`].
    Scatter,
}

impl ShaderKernel {
    const ALL: [ShaderKernel; 2] = [ShaderKernel::Evaluate, ShaderKernel::Scatter];

    /// This kernel's function, with another one in place of `evaluate`.
    fn function(self, functions: &Functions, evaluate: &Function) -> Function {
        match self {
            ShaderKernel::Evaluate => evaluate.clone(),
            ShaderKernel::Scatter => functions.scatter_with(evaluate),
        }
    }
}

/// Records the results of a program's instrumented kernels.
#[derive(Debug)]
pub struct Recorder {
    kernels: [Mutex<Record>; 2],
}

#[derive(Debug)]
struct Record {
    counts: Counts,
    batches: u64,
    /// Some inputs.
    samples: Vec<Batch>,
}

impl Recorder {
    fn new(counts: &Counts) -> Recorder {
        let record =
            || Mutex::new(Record { counts: counts.clone(), batches: 0, samples: Vec::new() });
        Recorder { kernels: [record(), record()] }
    }

    fn lock(&self, kernel: ShaderKernel) -> MutexGuard<'_, Record> {
        self.kernels[kernel as usize].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a call of the instrumented kernel.
    pub fn record(&self, which: ShaderKernel, kernel: &Kernel, inputs: &Batch, results: &Batch) {
        let mut record = self.lock(which);
        record.counts.add(kernel.outputs(), results);
        record.batches += 1;
        // The first, second, fourth, … batch, so that samples are from all parts of the rendering.
        if record.batches.is_power_of_two() {
            if record.samples.len() == MAX_SAMPLES {
                record.samples.remove(0);
            }
            record.samples.push(inputs.clone());
        }
    }
}

/// The code of a binding, and its candidates.
struct Subject {
    functions: Functions,
    candidates: Candidates,
}

impl Subject {
    /// The subject of each binding.
    fn all<'a>(
        shaders: &[ShaderBinding],
        instances: impl Iterator<Item = &'a ShaderInstance>,
    ) -> Vec<Subject> {
        let mut known: Vec<Option<Vec<Bounds>>> = vec![None; shaders.len()];
        let mut extents = Extents::default();
        for instance in instances {
            let index = instance.shader as usize;
            let words = instance.known_words(&mut extents);
            let words = bounds(&shaders[index].program.settable, &words);
            known[index] = Some(match known[index].take() {
                None => words,
                Some(others) => std::iter::zip(&words, &others).map(|(a, b)| a.join(b)).collect(),
            });
        }
        std::iter::zip(shaders, known)
            .map(|(binding, known)| {
                let program = &binding.program;
                let any = || program.settable_ranges();
                let (functions, members) = program.functions_for(&known.unwrap_or_else(any));
                let candidates = functions.zero_candidates(&members);
                Subject { functions, candidates }
            })
            .collect()
    }

    fn kernel(
        &self,
        arena: &Arena,
        program: &Program,
        which: ShaderKernel,
        evaluate: &Function,
    ) -> Result<Kernel, CompileError> {
        let function = which.function(&self.functions, evaluate);
        Kernel::compile(arena, &passes::lower(&function), program.target())
    }
}

/// Identifies the code that counts are of.
fn hash(candidates: &Candidates) -> String {
    let text = candidates.function().to_string();
    // FNV-1a.
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// Takes the profile of a rendering.
pub struct Profiler {
    subjects: Vec<Subject>,
    /// The bindings without instrumentation.
    original: Vec<ShaderBinding>,
    recorders: Vec<Arc<Recorder>>,
}

impl Profiler {
    /// Replaces the programs of `shaders` by instrumented ones.
    ///
    /// # Errors
    /// If the code cannot be compiled.
    pub fn start<'a>(
        shaders: &mut [ShaderBinding],
        instances: impl Iterator<Item = &'a ShaderInstance>,
    ) -> Result<Profiler, CompileError> {
        let subjects = Subject::all(shaders, instances);
        let original = shaders.to_vec();
        let arena = Arena::new();
        let mut recorders = Vec::new();
        for (binding, subject) in std::iter::zip(shaders, &subjects) {
            let instrumented = subject.candidates.instrument();
            let [evaluate, scatter] = ShaderKernel::ALL
                .map(|which| subject.kernel(&arena, &binding.program, which, &instrumented));
            let recorder = Arc::new(Recorder::new(&subject.candidates.counts()));
            let program =
                binding.program.with_kernels([evaluate?, scatter?], Some(recorder.clone()));
            binding.program = Arc::new(program);
            recorders.push(recorder);
        }
        Ok(Profiler { subjects, original, recorders })
    }

    /// Returns the profile, and the bindings without instrumentation.
    ///
    /// # Errors
    /// If the code cannot be compiled.
    pub fn finish(self) -> Result<(ShaderProfile, Vec<ShaderBinding>), CompileError> {
        let arena = Arena::new();
        let mut entries = Vec::new();
        for ((binding, subject), recorder) in
            self.original.iter().zip(&self.subjects).zip(&self.recorders)
        {
            let [evaluate, scatter] = ShaderKernel::ALL.map(|which| {
                let record = recorder.lock(which);
                let time_ratio = time_ratio(&arena, binding, subject, which, &record)?;
                Ok::<_, CompileError>(KernelProfile::new(&record.counts, time_ratio))
            });
            entries.push(Entry {
                shader: binding.program.name.clone(),
                hash: hash(&subject.candidates),
                lanes: binding.program.target().lanes(),
                evaluate: evaluate?,
                scatter: scatter?,
            });
        }
        let profile =
            ShaderProfile { format: FORMAT.to_owned(), version: VERSION, shaders: entries };
        Ok((profile, self.original))
    }
}

/// The time of a kernel with tests for zero as a fraction of the kernel's time; `None` without tests
/// or samples.
fn time_ratio(
    arena: &Arena,
    binding: &ShaderBinding,
    subject: &Subject,
    which: ShaderKernel,
    record: &Record,
) -> Result<Option<f64>, CompileError> {
    let Some(versions) = subject.candidates.versions(&record.counts) else { return Ok(None) };
    if record.samples.is_empty() {
        return Ok(None);
    }
    let program = &binding.program;
    let tested = subject.kernel(arena, program, which, &versions.function)?;
    let general = match which {
        ShaderKernel::Evaluate => &program.evaluate,
        ShaderKernel::Scatter => &program.scatter,
    };
    let textures: Vec<&Texture> = binding.textures.iter().map(|texture| &**texture).collect();
    let mut fastest = [Duration::MAX; 2];
    for _ in 0..TIMED_RUNS {
        for (fastest, kernel) in std::iter::zip(&mut fastest, [general, &tested]) {
            let start = Instant::now();
            for inputs in &record.samples {
                let mut results =
                    Batch::new(program.target(), kernel.outputs().len(), inputs.rows());
                kernel.run(&textures, inputs, &mut results);
            }
            *fastest = start.elapsed().min(*fastest);
        }
    }
    let [general, tested] = fastest.map(|time| time.as_secs_f64());
    Ok(Some(tested / general.max(f64::MIN_POSITIVE)))
}

/// How often values of a scene's shaders are zero.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShaderProfile {
    format: String,
    version: u32,
    shaders: Vec<Entry>,
}

/// The profile of a binding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Entry {
    /// Name of the shader's file, for messages.
    shader: String,
    /// Hash of the code's IR.
    hash: String,
    /// Number of lanes of a group.
    lanes: usize,
    evaluate: KernelProfile,
    scatter: KernelProfile,
}

/// The [`Counts`] of a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct KernelProfile {
    groups: u64,
    zeros: Vec<u64>,
    changes: Vec<u64>,
    arms: Vec<[u64; 2]>,
    /// Measured time with tests, as a fraction of the time without; `None` if there are no tests.
    time_ratio: Option<f64>,
}

impl KernelProfile {
    fn new(counts: &Counts, time_ratio: Option<f64>) -> KernelProfile {
        let Counts { groups, zeros, changes, arms } = counts.clone();
        KernelProfile { groups, zeros, changes, arms, time_ratio }
    }

    fn counts(&self) -> Counts {
        let KernelProfile { groups, zeros, changes, arms, .. } = self.clone();
        Counts { groups, zeros, changes, arms }
    }
}

/// Why a profile cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// The file has another format.
    #[error("is not a shader profile ({0})")]
    Format(String),
    /// The file has another version.
    #[error("has version {0} of the format, not {VERSION}")]
    Version(u32),
    /// The profile does not contain the code of a shader.
    #[error("has no profile of `{0}` as it is compiled here, for groups of {1}")]
    Foreign(String, usize),
    /// The profile does not match the code of a shader.
    #[error("the profile of `{0}` is damaged: its counts contradict each other")]
    Counts(String),
    /// Code cannot be compiled.
    #[error(transparent)]
    Compile(#[from] CompileError),
}

impl ShaderProfile {
    /// Parses the JSON of a profile.
    ///
    /// # Errors
    /// If it is not a profile, or of another version.
    pub fn parse(json: &[u8]) -> Result<ShaderProfile, ProfileError> {
        let invalid = |error: serde_json::Error| ProfileError::Format(error.to_string());
        let value: serde_json::Value = serde_json::from_slice(json).map_err(invalid)?;
        if value.get("format").and_then(serde_json::Value::as_str) != Some(FORMAT) {
            return Err(ProfileError::Format("it lacks the format's name".to_owned()));
        }
        let version = value.get("version").and_then(serde_json::Value::as_u64);
        if let Some(version) = version.filter(|&version| version != u64::from(VERSION)) {
            return Err(ProfileError::Version(u32::try_from(version).unwrap_or(u32::MAX)));
        }
        serde_json::from_value(value).map_err(invalid)
    }

    /// Returns the JSON of the profile.
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec_pretty(self).expect("profiles can be serialized")
    }

    /// Returns the counts of the kernels of a shader, for groups of as many lanes.
    ///
    /// # Errors
    /// If the profile is of other code or damaged.
    pub fn counts(
        &self,
        shader: &str,
        candidates: &Candidates,
        lanes: usize,
    ) -> Result<[Counts; 2], ProfileError> {
        let entry = self.entry(shader, candidates, lanes)?;
        Ok([entry.evaluate.counts(), entry.scatter.counts()])
    }

    /// The entry of a shader, with plausible counts.
    fn entry(
        &self,
        shader: &str,
        candidates: &Candidates,
        lanes: usize,
    ) -> Result<&Entry, ProfileError> {
        let hash = hash(candidates);
        let is_same = |entry: &&Entry| entry.hash == hash && entry.lanes == lanes;
        let entry = self
            .shaders
            .iter()
            .find(is_same)
            .ok_or_else(|| ProfileError::Foreign(shader.to_owned(), lanes))?;
        let mut kernels = [&entry.evaluate, &entry.scatter].into_iter();
        if !kernels.all(|kernel| kernel.counts().fit(candidates)) {
            return Err(ProfileError::Counts(shader.to_owned()));
        }
        Ok(entry)
    }

    /// Replaces the programs of `shaders` by versions with tests for zero, where these saved time.
    /// Returns the number of kernels with tests.
    ///
    /// # Errors
    /// If the profile is of other code or damaged, or code cannot be compiled.
    pub fn apply<'a>(
        &self,
        shaders: &mut [ShaderBinding],
        instances: impl Iterator<Item = &'a ShaderInstance>,
    ) -> Result<usize, ProfileError> {
        let subjects = Subject::all(shaders, instances);
        let arena = Arena::new();
        let mut tested = 0;
        for (binding, subject) in std::iter::zip(shaders, &subjects) {
            let program = &binding.program;
            let lanes = program.target().lanes();
            let entry = self.entry(&program.name, &subject.candidates, lanes)?;
            let mut kernels = [program.evaluate.clone(), program.scatter.clone()];
            let profiles = [&entry.evaluate, &entry.scatter];
            let mut replaced = 0;
            for ((kernel, which), profile) in
                kernels.iter_mut().zip(ShaderKernel::ALL).zip(profiles)
            {
                let counts = profile.counts();
                let versions = subject.candidates.versions(&counts);
                if let Some(versions) = versions
                    && profile.time_ratio.is_some_and(|ratio| ratio <= MAX_TIME_RATIO)
                {
                    *kernel = subject.kernel(&arena, program, which, &versions.function)?;
                    replaced += 1;
                }
            }
            if replaced > 0 {
                binding.program = Arc::new(program.with_kernels(kernels, None));
                tested += replaced;
            }
        }
        Ok(tested)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::material::{Setting, library};
    use crate::texture::{Param, Texture as Image};
    use lightbound_math::Vec3;
    use lightbound_shader::random::Random;
    use lightbound_shader::{Parameter, Settings, Shader, Target};

    /// A binding of a library shader with a texture for `ks`, with its instance.
    fn binding(name: &str) -> (Vec<ShaderBinding>, Vec<ShaderInstance>) {
        let text = library::find(name).expect("the library has it").text;
        let shader = Shader::parse(name, text).unwrap();
        let settings = Settings::default();
        let program = Program::compile(&Arena::new(), &shader, &settings, Target::best()).unwrap();
        let binding = ShaderBinding::new(Arc::new(program), vec![]);
        let setting = |p: &Parameter| match p.name.as_str() {
            // A texture whose range is not known.
            "ks" => {
                let [a, b] = [0.0, 1.0].map(Param::from_float);
                let mix = Image::DirectionMix { a, b, direction: Vec3::X };
                Setting::Varying(Param::Texture(Arc::new(mix)))
            }
            _ => Setting::Constant(p.default.clone().unwrap()),
        };
        let settable = &binding.program.settable;
        let instance = ShaderInstance::new(0, settable.iter().map(|p| (p, setting(p))));
        (vec![binding], vec![instance])
    }

    /// Inputs of a kernel: directions above the surface, the defaults, and a colour of the lobe that
    /// is zero in three of four groups of 16 points.
    fn inputs(binding: &ShaderBinding, which: ShaderKernel, rows: usize) -> Batch {
        let kernel = match which {
            ShaderKernel::Evaluate => &binding.program.evaluate,
            ShaderKernel::Scatter => &binding.program.scatter,
        };
        let mut random = Random::new(1);
        let mut inputs = Batch::new(kernel.target(), kernel.inputs().len(), rows);
        let mut uniform = move || random.below(1 << 20) as f32 / (1 << 20) as f32;
        for row in 0..rows {
            let mut direction = || {
                let v = Vec3::new(uniform() - 0.5, uniform() - 0.5, uniform() + 0.1).normalize();
                [v.x, v.y, v.z]
            };
            let (wi, wo) = (direction(), direction());
            let start = match which {
                ShaderKernel::Evaluate => [wi, wo].concat(),
                ShaderKernel::Scatter => [&[uniform(), uniform()][..], &wo].concat(),
            };
            let parameters = binding.program.settable.iter().flat_map(|p| {
                let default = p.default.clone().unwrap();
                let is_zero = p.name == "ks" && row / 16 % 4 != 0;
                default.into_iter().map(move |x| if is_zero { 0.0 } else { x as f32 })
            });
            let words: Vec<_> = start.into_iter().chain(parameters).map(f32::to_bits).collect();
            inputs.set_row(row, 0, &words);
        }
        inputs
    }

    fn results(binding: &ShaderBinding, which: ShaderKernel, inputs: &Batch) -> Batch {
        let kernel = match which {
            ShaderKernel::Evaluate => &binding.program.evaluate,
            ShaderKernel::Scatter => &binding.program.scatter,
        };
        let mut results = Batch::new(kernel.target(), kernel.outputs().len(), inputs.rows());
        kernel.run(&[], inputs, &mut results);
        binding.program.record(which, inputs, &results);
        results
    }

    /// The profile of some calls.
    fn profile(name: &str) -> ShaderProfile {
        let (mut shaders, instances) = binding(name);
        let profiler = Profiler::start(&mut shaders, instances.iter()).unwrap();
        for which in ShaderKernel::ALL {
            for _ in 0..3 {
                results(&shaders[0], which, &inputs(&shaders[0], which, 512));
            }
        }
        profiler.finish().unwrap().0
    }

    #[test]
    fn kernels_with_and_without_profile_return_the_same() {
        let (general, instances) = binding("phong");
        // Whether a test saved time depends on the machine.
        let mut profile = profile("phong");
        for kernel in profile.shaders.iter_mut().flat_map(|e| [&mut e.evaluate, &mut e.scatter]) {
            assert!(kernel.time_ratio.is_some_and(|ratio| ratio > 0.0), "there are tests");
            kernel.time_ratio = Some(0.5);
        }
        let mut tested = general.clone();
        assert_eq!(profile.apply(&mut tested, instances.iter()).unwrap(), 2);
        let mut instrumented = general.clone();
        let _profiler = Profiler::start(&mut instrumented, instances.iter()).unwrap();
        for which in ShaderKernel::ALL {
            let inputs = inputs(&general[0], which, 1000);
            let [general, tested, instrumented] = [&general, &tested, &instrumented]
                .map(|shaders| results(&shaders[0], which, &inputs));
            for row in 0..inputs.rows() {
                for port in 0..general.ports() {
                    // −0 and 0 are equal.
                    let expected = general.get(row, port);
                    assert_eq!(tested.get(row, port), expected, "{which:?}, {row}, {port}");
                    assert_eq!(instrumented.get(row, port), expected, "{which:?}, {row}, {port}");
                }
            }
        }
    }

    #[test]
    fn rejected_tests_are_not_used() {
        let (mut shaders, instances) = binding("phong");
        let mut profile = profile("phong");
        profile.shaders[0].evaluate.time_ratio = Some(0.99);
        profile.shaders[0].scatter.time_ratio = None;
        assert_eq!(profile.apply(&mut shaders, instances.iter()).unwrap(), 0);
    }

    #[test]
    fn profiles_are_written_and_read() {
        let profile = profile("ward");
        assert_eq!(ShaderProfile::parse(&profile.to_json()).unwrap(), profile);
    }

    #[test]
    fn truncated_stale_and_foreign_profiles_are_refused() {
        let profile = profile("phong");
        let json = profile.to_json();
        for end in [0, 10, json.len() / 2, json.len() - 2] {
            let error = ShaderProfile::parse(&json[..end]).unwrap_err();
            assert!(matches!(error, ProfileError::Format(_)), "{error}");
        }
        assert!(ShaderProfile::parse(b"{}").is_err() && ShaderProfile::parse(b"[1]").is_err());
        let newer = ShaderProfile { version: VERSION + 1, ..profile.clone() };
        let error = ShaderProfile::parse(&newer.to_json()).unwrap_err();
        assert!(matches!(error, ProfileError::Version(2)), "{error}");

        let apply = |profile: &ShaderProfile, name| {
            let (mut shaders, instances) = binding(name);
            profile.apply(&mut shaders, instances.iter()).map_err(|error| error.to_string())
        };
        assert!(apply(&profile, "ward").unwrap_err().contains("no profile of `ward`"));
        let mut stale = profile.clone();
        stale.shaders[0].hash = "0".repeat(16);
        assert!(apply(&stale, "phong").unwrap_err().contains("no profile of `phong`"));
        let mut other = profile.clone();
        other.shaders[0].lanes += 1;
        assert!(apply(&other, "phong").is_err());
        let mut damaged = profile.clone();
        damaged.shaders[0].scatter.zeros.pop();
        assert!(apply(&damaged, "phong").unwrap_err().contains("damaged"));
        let mut impossible = profile;
        impossible.shaders[0].evaluate.zeros[0] = u64::MAX;
        assert!(apply(&impossible, "phong").unwrap_err().contains("damaged"));
    }
}
