//! Profiles of shaders: how often their values are zero in a rendering, and code with tests for zero
//! that profiles justify (`lightbound_shader::specialize::zeros`).
//!
//! A [`Profiler`] replaces the code of a scene's shaders by instrumented code, which computes the
//! same. After a rendering, it returns a [`ShaderProfile`]. [`ShaderProfile::apply`] replaces code by
//! versions with tests for zero, which also compute the same, but for signs of zeros in BSDF values
//! and densities. So images are the same with any profile and with none.
//!
//! Tests are chosen by their expected saving. Whether they save time is then measured on batches of
//! the rendering, and those that do not are rejected. A profile holds for the code and the bounds on
//! parameters that it was taken of, which hashes identify, for groups of as many lanes, and for the
//! version of Lightbound. Bindings of the same code are counted together.

use super::specialization::bounds;
use super::{Program, ShaderBinding, ShaderInstance};
use crate::texture::Extents;
use lightbound_shader::interval::Bounds;
use lightbound_shader::ir::Function;
use lightbound_shader::scattering::Functions;
use lightbound_shader::specialize::zeros::{Candidates, Counts, MAX_TIME_RATIO, Versions};
use lightbound_shader::{Arena, Batch, CompileError, Kernel, Texture, passes};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Identifies the file format.
const FORMAT: &str = "lightbound shader profile";
const VERSION: u32 = 2;

/// The version of Lightbound, which chooses the candidates.
const LIGHTBOUND: &str = env!("CARGO_PKG_VERSION");

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

/// The code of a program, and its candidates.
struct Subject {
    program: Arc<Program>,
    /// The textures of one of its bindings.
    textures: Vec<Arc<Texture>>,
    functions: Functions,
    candidates: Candidates,
    code: CodeId,
}

impl Subject {
    /// The subjects of the programs of bindings, and the index of each binding's.
    fn all<'a>(
        shaders: &[ShaderBinding],
        instances: impl Iterator<Item = &'a ShaderInstance>,
    ) -> (Vec<Subject>, Vec<usize>) {
        let mut programs: Vec<&ShaderBinding> = Vec::new();
        let mut numbers: HashMap<*const Program, usize> = HashMap::new();
        let indices = shaders.iter().map(|binding| {
            *numbers.entry(Arc::as_ptr(&binding.program)).or_insert_with(|| {
                programs.push(binding);
                programs.len() - 1
            })
        });
        let indices: Vec<_> = indices.collect();
        let mut known: Vec<Option<Vec<Bounds>>> = vec![None; programs.len()];
        let mut extents = Extents::default();
        for instance in instances {
            let index = indices[instance.shader as usize];
            let words = instance.known_words(&mut extents);
            let words = bounds(&programs[index].program.settable, &words);
            known[index] = Some(match known[index].take() {
                None => words,
                Some(others) => std::iter::zip(&words, &others).map(|(a, b)| a.join(b)).collect(),
            });
        }
        let subject = |(binding, known): (&ShaderBinding, Option<Vec<Bounds>>)| {
            let program = binding.program.clone();
            let known = known.unwrap_or_else(|| program.settable_ranges());
            let (functions, members) = program.functions_for(&known);
            let candidates = functions.zero_candidates(&members);
            let code = CodeId {
                code: code_hash(&functions, &candidates),
                parameters: hash(&format!("{members:?}")),
                lanes: program.target().lanes(),
            };
            Subject { program, textures: binding.textures.clone(), functions, candidates, code }
        };
        (std::iter::zip(programs, known).map(subject).collect(), indices)
    }

    fn kernel(
        &self,
        arena: &Arena,
        which: ShaderKernel,
        evaluate: &Function,
    ) -> Result<Kernel, CompileError> {
        let function = which.function(&self.functions, evaluate);
        Kernel::compile(arena, &passes::lower(&function), self.program.target())
    }
}

/// Identifies what counts are of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct CodeId {
    /// See [`code_hash`].
    code: String,
    /// Hash of the bounds on the material parameters, on which versions depend, too.
    parameters: String,
    /// Number of lanes of a group.
    lanes: usize,
}

/// Identifies code by its IR and the candidates in it.
fn code_hash(Functions { evaluate, scatter, .. }: &Functions, candidates: &Candidates) -> String {
    let names: Vec<_> = (0..candidates.len()).map(|index| candidates.names(index)).collect();
    hash(&format!("{evaluate} {scatter} {names:?}"))
}

/// FNV-1a.
fn hash(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// Takes the profile of a rendering.
pub struct Profiler {
    /// The bindings without instrumentation.
    original: Vec<ShaderBinding>,
    /// Programs of the same code, such as those with other regions, have one recorder.
    recorded: Vec<(Subject, Arc<Recorder>)>,
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
        let (subjects, indices) = Subject::all(shaders, instances);
        let original = shaders.to_vec();
        let arena = Arena::new();
        let mut programs = Vec::new();
        let mut recorded: Vec<(Subject, Arc<Recorder>)> = Vec::new();
        for subject in subjects {
            let existing = recorded.iter().find(|(other, _)| other.code == subject.code);
            let recorder = match existing {
                Some((_, recorder)) => recorder.clone(),
                None => Arc::new(Recorder::new(&subject.candidates.counts())),
            };
            let instrumented = subject.candidates.instrument();
            let [evaluate, scatter] =
                ShaderKernel::ALL.map(|which| subject.kernel(&arena, which, &instrumented));
            let kernels = [evaluate?, scatter?];
            programs.push(Arc::new(subject.program.with_kernels(kernels, Some(recorder.clone()))));
            if existing.is_none() {
                recorded.push((subject, recorder));
            }
        }
        for (binding, index) in std::iter::zip(shaders, indices) {
            binding.program = programs[index].clone();
        }
        Ok(Profiler { original, recorded })
    }

    /// Returns the profile, and the bindings without instrumentation.
    ///
    /// # Errors
    /// If the code cannot be compiled.
    pub fn finish(self) -> Result<(ShaderProfile, Vec<ShaderBinding>), CompileError> {
        let arena = Arena::new();
        let mut entries = Vec::new();
        for (subject, recorder) in &self.recorded {
            let [evaluate, scatter] = ShaderKernel::ALL.map(|which| {
                let record = recorder.lock(which);
                let time_ratio = time_ratio(&arena, subject, which, &record)?;
                Ok::<_, CompileError>(KernelProfile::new(&record.counts, time_ratio))
            });
            entries.push(Entry {
                shader: subject.program.name.clone(),
                id: subject.code.clone(),
                evaluate: evaluate?,
                scatter: scatter?,
            });
        }
        let profile = ShaderProfile {
            format: FORMAT.to_owned(),
            version: VERSION,
            lightbound: LIGHTBOUND.to_owned(),
            shaders: entries,
        };
        Ok((profile, self.original))
    }
}

/// The time of a kernel with tests for zero as a fraction of the kernel's time; `None` without tests
/// or samples.
fn time_ratio(
    arena: &Arena,
    subject: &Subject,
    which: ShaderKernel,
    record: &Record,
) -> Result<Option<f64>, CompileError> {
    let Some(versions) = subject.candidates.versions(&record.counts) else { return Ok(None) };
    if record.samples.is_empty() {
        return Ok(None);
    }
    let program = &subject.program;
    let tested = subject.kernel(arena, which, &versions.function)?;
    let general = match which {
        ShaderKernel::Evaluate => &program.evaluate,
        ShaderKernel::Scatter => &program.scatter,
    };
    // Inputs may be of a binding with other textures: their format is the same, so the time is.
    let textures: Vec<&Texture> = subject.textures.iter().map(|texture| &**texture).collect();
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
    /// The version of Lightbound.
    lightbound: String,
    shaders: Vec<Entry>,
}

/// The profile of the bindings of some code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Entry {
    /// Name of the shader's file, for messages.
    shader: String,
    #[serde(flatten)]
    id: CodeId,
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

    fn zero_tests(&self, candidates: &Candidates) -> ZeroTests {
        match (candidates.versions(&self.counts()), self.time_ratio) {
            (Some(versions), Some(ratio)) if ratio <= MAX_TIME_RATIO => ZeroTests::Used(versions),
            (Some(_), Some(_)) => ZeroTests::Rejected,
            _ => ZeroTests::None,
        }
    }
}

/// The tests for zero that a profile justifies in a kernel.
pub enum ZeroTests {
    /// None is expected to save time, or their time was not measured.
    None,
    /// They did not save time when measured.
    Rejected,
    /// They save time.
    Used(Versions),
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
    /// The profile was taken with another version of Lightbound.
    #[error("was taken with Lightbound {0}, and this is {LIGHTBOUND}")]
    Lightbound(String),
    /// The profile does not contain the code of a shader.
    #[error(
        "has no profile of `{0}` as it is compiled here, for groups of {1}: it is for another scene, \
         or for other constants"
    )]
    Foreign(String, usize),
    /// The profile contains the code of a shader for other parameters.
    #[error("the profile of `{0}` is for other constants, or for textures with other ranges")]
    Parameters(String),
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
    /// If it is not a profile, or of another version of the format or of Lightbound.
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
        let profile: ShaderProfile = serde_json::from_value(value).map_err(invalid)?;
        if profile.lightbound != LIGHTBOUND {
            return Err(ProfileError::Lightbound(profile.lightbound));
        }
        Ok(profile)
    }

    /// Returns the JSON of the profile.
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec_pretty(self).expect("profiles can be serialized")
    }

    /// Returns the tests in the kernels of a shader, for groups of as many lanes. The parameters
    /// may have other bounds than in the profiled scene, if the code is the same.
    ///
    /// # Errors
    /// If the profile is of other code or damaged.
    pub fn zero_tests(
        &self,
        shader: &str,
        functions: &Functions,
        candidates: &Candidates,
        lanes: usize,
    ) -> Result<[ZeroTests; 2], ProfileError> {
        let entry = self.entries(&code_hash(functions, candidates), lanes).next();
        let entry = entry.ok_or_else(|| ProfileError::Foreign(shader.to_owned(), lanes))?;
        entry.check(shader, candidates)?;
        Ok([&entry.evaluate, &entry.scatter].map(|kernel| kernel.zero_tests(candidates)))
    }

    /// The entries of code, with any bounds on the parameters.
    fn entries(&self, code: &str, lanes: usize) -> impl Iterator<Item = &Entry> {
        self.shaders.iter().filter(move |entry| entry.id.code == code && entry.id.lanes == lanes)
    }

    /// The entry of a subject, with plausible counts.
    fn entry(&self, subject: &Subject) -> Result<&Entry, ProfileError> {
        let (name, id) = (&subject.program.name, &subject.code);
        let Some(entry) = self.shaders.iter().find(|entry| entry.id == *id) else {
            let has_code = self.entries(&id.code, id.lanes).next().is_some();
            return Err(match has_code {
                true => ProfileError::Parameters(name.clone()),
                false => ProfileError::Foreign(name.clone(), id.lanes),
            });
        };
        entry.check(name, &subject.candidates)?;
        Ok(entry)
    }

    /// Replaces the programs of `shaders` by versions with tests for zero, where these saved time.
    ///
    /// # Errors
    /// If the profile is of other code or damaged, or code cannot be compiled.
    pub fn apply<'a>(
        &self,
        shaders: &mut [ShaderBinding],
        instances: impl Iterator<Item = &'a ShaderInstance>,
    ) -> Result<AppliedProfile, ProfileError> {
        let (subjects, indices) = Subject::all(shaders, instances);
        let arena = Arena::new();
        let mut applied = AppliedProfile::default();
        let mut programs = Vec::new();
        for subject in subjects {
            let entry = self.entry(&subject)?;
            let program = &subject.program;
            let mut kernels = [program.evaluate.clone(), program.scatter.clone()];
            let profiles = [&entry.evaluate, &entry.scatter];
            let before = applied.tested;
            for ((kernel, which), profile) in
                kernels.iter_mut().zip(ShaderKernel::ALL).zip(profiles)
            {
                applied.kernels += 1;
                match profile.zero_tests(&subject.candidates) {
                    ZeroTests::None => {}
                    ZeroTests::Rejected => applied.rejected += 1,
                    ZeroTests::Used(versions) => {
                        *kernel = subject.kernel(&arena, which, &versions.function)?;
                        applied.tested += 1;
                    }
                }
            }
            programs.push(match applied.tested > before {
                true => Arc::new(program.with_kernels(kernels, None)),
                false => subject.program,
            });
        }
        for (binding, index) in std::iter::zip(shaders, indices) {
            binding.program = programs[index].clone();
        }
        Ok(applied)
    }
}

/// What a profile changed. Each program of a scene has two kernels; bindings share programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AppliedProfile {
    /// Number of kernels.
    pub kernels: usize,
    /// Those with tests for zero.
    pub tested: usize,
    /// Those for which tests were expected to pay, but did not save time when measured.
    pub rejected: usize,
}

impl Entry {
    /// Checks that the counts may be those of candidates.
    fn check(&self, shader: &str, candidates: &Candidates) -> Result<(), ProfileError> {
        let mut kernels = [&self.evaluate, &self.scatter].into_iter();
        if kernels.all(|kernel| kernel.counts().fit(candidates)) {
            return Ok(());
        }
        Err(ProfileError::Counts(shader.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::material::{Setting, library};
    use crate::texture::{Checkerboard, CheckerboardDomain, Mapping, Param, Texture as Image};
    use lightbound_math::Vec3;
    use lightbound_shader::random::Random;
    use lightbound_shader::{Parameter, Settings, Shader, Target};

    /// A binding of a library shader with a texture of unknown range for `ks`, and its
    /// instance.
    fn binding(name: &str) -> (Vec<ShaderBinding>, Vec<ShaderInstance>) {
        let [a, b] = [0.0, 1.0].map(Param::from_float);
        binding_with(name, Image::DirectionMix { a, b, direction: Vec3::X })
    }

    fn binding_with(name: &str, ks: Image) -> (Vec<ShaderBinding>, Vec<ShaderInstance>) {
        let text = library::find(name).expect("the library has it").text;
        let shader = Shader::parse(name, text).unwrap();
        let settings = Settings::default();
        let program = Program::compile(&Arena::new(), &shader, &settings, Target::best()).unwrap();
        let binding = ShaderBinding::new(Arc::new(program), vec![]);
        let ks = Arc::new(ks);
        let setting = |p: &Parameter| match p.name.as_str() {
            "ks" => Setting::Varying(Param::Texture(ks.clone())),
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
        let applied = profile.apply(&mut tested, instances.iter()).unwrap();
        assert_eq!(applied, AppliedProfile { kernels: 2, tested: 2, rejected: 0 });
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
        let applied = profile.apply(&mut shaders, instances.iter()).unwrap();
        assert_eq!(applied, AppliedProfile { kernels: 2, tested: 0, rejected: 1 });
    }

    #[test]
    fn profiles_are_written_and_read() {
        let profile = profile("ward");
        assert_eq!(ShaderProfile::parse(&profile.to_json()).unwrap(), profile);
    }

    #[test]
    fn bindings_of_equal_code_are_counted_together() {
        let [(mut shaders, mut instances), (others, other_instances)] =
            [(); 2].map(|()| binding("phong"));
        // Another binding of the first program, and another program of the same code.
        shaders.extend([shaders[0].clone(), others[0].clone()]);
        instances.extend([instances[0].clone(), other_instances[0].clone()]);
        (0..3).zip(&mut instances).for_each(|(shader, instance)| instance.shader = shader);
        let profiler = Profiler::start(&mut shaders, instances.iter()).unwrap();
        for binding in &shaders {
            let which = ShaderKernel::Evaluate;
            results(binding, which, &inputs(binding, which, 512));
        }
        let (profile, mut shaders) = profiler.finish().unwrap();
        let [entry] = &profile.shaders[..] else { panic!("{profile:?}") };
        let lanes = shaders[0].program.target().lanes() as u64;
        assert_eq!((entry.evaluate.groups, entry.scatter.groups), (3 * 512 / lanes, 0));
        let applied = profile.apply(&mut shaders, instances.iter()).unwrap();
        assert_eq!(applied.kernels, 4);
        assert!(Arc::ptr_eq(&shaders[0].program, &shaders[1].program));
    }

    #[test]
    fn profiles_of_other_parameters_are_refused() {
        let binding = |high: f32| {
            let [even, odd] = [0.0, high].map(Param::from_float);
            let domain = CheckerboardDomain::Flat(Mapping::UV);
            binding_with("phong", Image::Checkerboard(Checkerboard { domain, even, odd }))
        };
        let (mut shaders, instances) = binding(0.5);
        let profiler = Profiler::start(&mut shaders, instances.iter()).unwrap();
        let (profile, mut shaders) = profiler.finish().unwrap();
        profile.apply(&mut shaders, instances.iter()).unwrap();
        let (mut shaders, instances) = binding(0.25);
        let error = profile.apply(&mut shaders, instances.iter()).unwrap_err();
        assert!(matches!(error, ProfileError::Parameters(_)), "{error}");
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
        assert!(matches!(error, ProfileError::Version(3)), "{error}");
        let other = ShaderProfile { lightbound: "0.0.0".to_owned(), ..profile.clone() };
        let error = ShaderProfile::parse(&other.to_json()).unwrap_err().to_string();
        assert!(error.contains("with Lightbound 0.0.0, and this is"), "{error}");

        let apply = |profile: &ShaderProfile, name| {
            let (mut shaders, instances) = binding(name);
            profile.apply(&mut shaders, instances.iter()).map_err(|error| error.to_string())
        };
        assert!(apply(&profile, "ward").unwrap_err().contains("no profile of `ward`"));
        let mut stale = profile.clone();
        stale.shaders[0].id.code = "0".repeat(16);
        assert!(apply(&stale, "phong").unwrap_err().contains("no profile of `phong`"));
        let mut other = profile.clone();
        other.shaders[0].id.lanes += 1;
        assert!(apply(&other, "phong").is_err());
        let mut damaged = profile.clone();
        damaged.shaders[0].scatter.zeros.pop();
        assert!(apply(&damaged, "phong").unwrap_err().contains("damaged"));
        let mut impossible = profile;
        impossible.shaders[0].evaluate.zeros[0] = u64::MAX;
        assert!(apply(&impossible, "phong").unwrap_err().contains("damaged"));
    }
}
