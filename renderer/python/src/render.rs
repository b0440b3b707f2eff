//! `lightbound.render`: renders a scene to arrays, with a progress callback; Ctrl-C ends it.

use super::arrays::to_numpy;
use super::error::{plain, report};
use super::integer::{self, Integer};
use super::scene::{Scene, load, samples};
use lightbound::RenderSettings;
use lightbound::film::{Component, FilmOptions, RenderedImage};
use lightbound::integrator::{self, Integrator};
use lightbound::render::{Budget, RenderOptions, Work};
use lightbound_pbrt::SceneError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// Time between calls of the progress callback, and between tests for Ctrl-C.
const POLL: Duration = Duration::from_millis(100);

/// Renders a scene, or a scene file with its own settings.
#[pyfunction]
#[pyo3(signature = (
    scene, *, spp = None, seed = None, threads = None, time_limit = None, layers = None,
    progress = None,
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub fn render<'py>(
    py: Python<'py>,
    scene: &Bound<'py, PyAny>,
    spp: Option<Integer>,
    seed: Option<Integer>,
    threads: Option<Integer>,
    time_limit: Option<f64>,
    layers: Option<Vec<String>>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let scene: Bound<'py, Scene> = match scene.cast::<Scene>() {
        Ok(scene) => scene.clone(),
        Err(_) => {
            let path: PathBuf = scene.extract()?;
            Bound::new(py, load(py, path, None, None, None, None, None, None, false)?)?
        }
    };
    let Scene { scene, settings } = scene.get();
    let mut settings = settings.clone();
    settings.sampling.spp = spp.map_or(Ok(settings.sampling.spp), samples)?;
    let group = settings.integrator.sample_group();
    if !settings.sampling.spp.is_multiple_of(group) {
        return Err(plain(format!("`spp` is no multiple of the scene's \"gather\", {group}")));
    }
    settings.sampling.seed = integer::optional("seed", seed)?.unwrap_or(settings.sampling.seed);
    let time_limit = time_limit.map(|seconds| {
        let limit = Duration::try_from_secs_f64(seconds).ok().filter(|limit| !limit.is_zero());
        limit.ok_or_else(|| plain("`time_limit` is a number of seconds above 0"))
    });
    let threads = integer::threads(threads)?;
    let integrator = py
        .detach(|| integrator::new(scene, &settings))
        .map_err(|error| report(&SceneError::new(error.to_string())))?;
    let names = layers.as_deref().unwrap_or(&[]);
    let film = film_options(names, &*integrator)?;
    let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let options = RenderOptions {
        threads,
        time_limit: time_limit.transpose()?,
        film,
        stop: &stop,
        progress: &|samples| {
            done.fetch_add(samples, Ordering::Relaxed);
        },
        ..RenderOptions::default()
    };
    let total = u64::from(settings.window.width())
        * u64::from(settings.window.height())
        * u64::from(settings.sampling.spp);
    let poll = |py: Python<'_>| -> PyResult<()> {
        py.check_signals()?;
        if let Some(progress) = progress {
            progress.call1((done.load(Ordering::Relaxed) as f64 / total as f64,))?;
        }
        Ok(())
    };
    let image = thread::scope(|scope| {
        let spp = settings.sampling.spp;
        let (scene, settings, integrator) = (scene, &settings, &*integrator);
        let options = &options;
        let renderer = scope.spawn(move || {
            let mut work = Work::new(scene, settings, integrator, 0..spp, options);
            work.run(&Budget::default());
            work.into_rendering().image
        });
        let mut polled = Ok(());
        while !renderer.is_finished() && polled.is_ok() {
            py.detach(|| wait(&renderer));
            polled = poll(py);
        }
        if polled.is_err() {
            stop.store(true, Ordering::Relaxed);
        }
        let image = py.detach(|| renderer.join());
        let image = image.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        polled.map(|()| image)
    })?;
    poll(py)?;
    match layers {
        None => layer(py, &image, &settings, "beauty"),
        Some(names) => {
            let all = PyDict::new(py);
            for name in &names {
                all.set_item(name, layer(py, &image, &settings, name)?)?;
            }
            Ok(all.into_any())
        }
    }
}

/// Waits until the thread is finished, or for [`POLL`].
fn wait<T>(thread: &thread::ScopedJoinHandle<'_, T>) {
    const STEP: Duration = Duration::from_millis(1);
    let mut waited = Duration::ZERO;
    while !thread.is_finished() && waited < POLL {
        thread::sleep(STEP);
        waited += STEP;
    }
}

/// The components of radiance that are layers.
const COMPONENTS: [(&str, Component); 5] = [
    ("emission", Component::Emission),
    ("direct", Component::Direct),
    ("indirect", Component::Indirect),
    ("diffuse", Component::Diffuse),
    ("specular", Component::Specular),
];

/// The data that a film stores for some layers.
fn film_options(names: &[String], integrator: &dyn Integrator) -> PyResult<FilmOptions> {
    let mut film = FilmOptions::default();
    for name in names {
        let name = name.as_str();
        if COMPONENTS.iter().any(|(layer, _)| *layer == name) && !integrator.has_components() {
            return Err(plain(format!("the layer `{name}` needs the integrator `path`")));
        }
        let (features, components) = (&mut film.features, &mut film.components);
        *match name {
            "beauty" => continue,
            "albedo" => &mut features.albedo,
            "normal" => &mut features.normal,
            "position" => &mut features.position,
            "depth" => &mut features.depth,
            "material" => &mut features.material,
            "object" => &mut features.object,
            "geometric_normal" => &mut features.geometric_normal,
            "uv" => &mut features.uv,
            "motion" => &mut features.motion,
            "depth_gradient" => &mut features.depth_gradient,
            "variance" => &mut film.moments,
            "emission" => &mut components.emission,
            "direct" => &mut components.direct,
            "indirect" => &mut components.indirect,
            "diffuse" => &mut components.diffuse,
            "specular" => &mut components.specular,
            _ => {
                film.channels = integrator.film_channels();
                if film.channels.iter().all(|channel| channel.layer != name) {
                    return Err(plain(format!("there is no layer `{name}`")));
                }
                continue;
            }
        } = true;
    }
    Ok(film)
}

/// The array of a layer that the film has stored.
fn layer<'py>(
    py: Python<'py>,
    image: &RenderedImage,
    settings: &RenderSettings,
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let window = settings.window;
    let shape = [window.height() as usize, window.width() as usize];
    let array = |columns: &[Vec<f32>]| Ok(to_numpy(py, columns, &shape).into_any());
    let vectors = |pixels: &[[f32; 3]]| array(&columns(pixels));
    let pairs = |pixels: &[[f32; 2]]| array(&columns(pixels));
    let ids = |ids: &[u32]| {
        let ids = numpy::ndarray::ArrayD::from_shape_vec(&shape[..], ids.to_vec());
        let ids = ids.expect("there is an id for each pixel");
        Ok(numpy::IntoPyArray::into_pyarray(ids, py).into_any())
    };
    if let Some(component) = COMPONENTS.iter().find(|(layer, _)| *layer == name) {
        return vectors(image.component(component.1).unwrap_or_default());
    }
    let features = image.features.as_ref();
    match (name, features) {
        ("beauty", _) => vectors(&image.radiance),
        ("variance", _) => vectors(image.variance.as_deref().unwrap_or_default()),
        ("albedo", Some(features)) => vectors(&features.albedo),
        ("normal", Some(features)) => vectors(&features.normal),
        ("position", Some(features)) => vectors(&features.position),
        ("geometric_normal", Some(features)) => vectors(&features.geometric_normal),
        ("depth", Some(features)) => array(std::slice::from_ref(&features.depth)),
        ("uv", Some(features)) => pairs(&features.uv),
        ("motion", Some(features)) => pairs(&features.motion),
        ("depth_gradient", Some(features)) => pairs(&features.depth_gradient),
        ("material", Some(features)) => ids(&features.material),
        ("object", Some(features)) => ids(&features.object),
        _ => array(&[image.channel(name).unwrap_or_default().to_vec()]),
    }
}

/// The columns of pixels with several components.
pub fn columns<const N: usize>(pixels: &[[f32; N]]) -> [Vec<f32>; N] {
    std::array::from_fn(|k| pixels.iter().map(|pixel| pixel[k]).collect())
}
