//! The same seed gives the same bits, regardless of thread count, crop window, pauses and
//! instruction set.

use crate::common::{load_scene, pfm, render, render_text};
use lightbound::film::{
    ChannelEncoding, ChannelSpec, ChannelValue, ComponentLayers, FeatureLayers, Film, FilmOptions,
    PixelBlock, RenderedImage, Tile,
};
use lightbound::integrator::{Counts, Integrator, PathTracer, Worker};
use lightbound::render::{Budget, RenderOptions, StopReason, Work, render_with};
use lightbound::settings::{MethodName, PathSettings};
use lightbound::{RenderSettings, Scene};
use lightbound_image::Crop;
use lightbound_pbrt::build::Overrides;
use lightbound_shader::Target;
use std::convert::Infallible;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

const SCENE: &str = r#"
Sampler "zsobol" "integer pixelsamples" 6
Integrator "path" "integer maxdepth" 5
LookAt 0 -6 3  0 0 0.5  0 0 1
Camera "perspective" "float fov" 40 "float lensradius" 0.1 "float focaldistance" 6
Film "rgb" "integer xresolution" 70 "integer yresolution" 50
PixelFilter "mitchell"
WorldBegin
LightSource "infinite" "rgb L" [0.3 0.4 0.5]
AttributeBegin
AreaLightSource "diffuse" "rgb L" [8 7 6]
Translate 1 -1 3
Shape "sphere" "float radius" 0.3
AttributeEnd
Material "diffuse" "rgb reflectance" [0.5 0.6 0.7]
Shape "trianglemesh" "integer indices" [0 1 2 0 2 3] "point3 P" [-9 -9 0  9 -9 0  9 9 0  -9 9 0]
Material "dielectric"
AttributeBegin Translate -1 0 0.7 Shape "sphere" "float radius" 0.7 AttributeEnd
Material "conductor" "float roughness" 0.2
AttributeBegin Translate 1 0 0.7 Shape "sphere" "float radius" 0.7 AttributeEnd
"#;

/// Returns the bits of all images and channels.
fn image_bits(p: &RenderedImage) -> Vec<u32> {
    let f = p.features.as_ref().unwrap();
    let colours = [&p.radiance, p.variance.as_ref().unwrap(), &f.albedo, &f.normal, &f.position];
    let mut all: Vec<u32> = colours.into_iter().flatten().flatten().map(|x| x.to_bits()).collect();
    all.extend(f.depth.iter().map(|x| x.to_bits()));
    all.extend(f.material.iter().chain(&f.object));
    all.extend(p.components.iter().flat_map(|c| c.radiance.as_flattened()).map(|x| x.to_bits()));
    all.extend(p.channels.iter().flat_map(|channel| &channel.values).map(|x| x.to_bits()));
    all
}

#[test]
fn image_does_not_depend_on_thread_count() {
    let single = image_bits(&render_text(SCENE, &Overrides::default(), 1));
    for threads in [2, 3, 8] {
        assert!(
            single == image_bits(&render_text(SCENE, &Overrides::default(), threads)),
            "{threads} threads"
        );
    }
}

/// Returns options that record everything.
fn options<'a>(threads: usize, stop: &'a AtomicBool) -> RenderOptions<'a> {
    let film = FilmOptions {
        features: FeatureLayers::ALL,
        moments: true,
        channels: CHANNELS,
        components: ComponentLayers::all(1),
    };
    RenderOptions { threads, time_limit: None, film, stop, progress: &|_| (), tile_done: &|_| () }
}

const CHANNELS: &[ChannelSpec] = &[
    ChannelSpec { layer: "steps", sum: "steps", encoding: ChannelEncoding::Count },
    ChannelSpec { layer: "error", sum: "error", encoding: ChannelEncoding::FixedPoint },
];

/// A path tracer that also records [`CHANNELS`] with different values for each sample.
struct RecordingTracer(PathTracer);

impl Integrator for RecordingTracer {
    fn name(&self) -> &'static str {
        "recording"
    }

    fn worker<'a>(
        &'a self,
        scene: &'a Scene,
        settings: &'a RenderSettings,
    ) -> Box<dyn Worker + 'a> {
        Box::new(RecordingWorker(self.0.worker(scene, settings)))
    }

    fn prepare(&self, scene: &Scene, settings: &RenderSettings, options: &RenderOptions) {
        self.0.prepare(scene, settings, options);
    }
}

fn path_tracer(scene: &Scene) -> PathTracer {
    PathTracer::new(scene, 5, &PathSettings::default()).expect("the path tracer needs no bounds")
}

struct RecordingWorker<'a>(Box<dyn Worker + 'a>);

impl Worker for RecordingWorker<'_> {
    fn render_tile(&mut self, samples: Range<u32>, tile: &Tile) -> Counts {
        let mut counts = self.0.render_tile(samples.clone(), tile);
        let mut sums = tile.lock();
        for ((x, y), sample) in tile
            .window()
            .pixels()
            .flat_map(|pixel| samples.clone().map(move |sample| (pixel, sample)))
        {
            let steps = (x * 7919 + y * 104_729 + sample * 31) % 1013;
            let error = if steps == 0 { f32::INFINITY } else { 1.0 / steps as f32 };
            sums.add_channels(x, y, &[ChannelValue::Count(steps), ChannelValue::Real(error)]);
            counts.cuts.sizes.add(steps);
        }
        counts
    }
}

/// Resumes from the sums, the samples and the statistics of `earlier` alone.
fn resume<'a>(work: Work<'a>, earlier: &Work) -> Option<Work<'a>> {
    let sums = earlier.film();
    let resumed = work.resume(&earlier.coverage(), earlier.stats(), |film| {
        let mattes = sums.matte_lengths();
        let columns = sums.columns(0..sums.window().height(), mattes);
        film.add_columns(sums.window(), &columns, mattes);
        film.add_out_of_range(sums.invalid_samples(), sums.clamped_features());
        Ok::<_, Infallible>(())
    });
    resumed.map(|Ok(work)| work)
}

#[test]
fn pausing_and_resuming_does_not_change_the_image() {
    let (scene, stop) = (load_scene(SCENE, &[], &Overrides::default()), AtomicBool::new(false));
    let (options, integrator) = (options(3, &stop), RecordingTracer(path_tracer(&scene)));
    let uninterrupted = render_with(&scene, &scene.settings, &integrator, &options);
    let mut work = Work::new(&scene, &scene.settings, &integrator, 0..6, &options);
    for (samples, taken) in [(1, 1), (2, 2), (3, 4)] {
        assert_eq!(
            work.run(&Budget { samples: Some(samples), ..Budget::default() }),
            StopReason::Paused
        );
        let image = work.film().image();
        assert_eq!(
            (work.min_samples(), image.min_samples, image.max_samples),
            (taken, taken, taken)
        );
    }
    // Each run finishes at most one job per thread.
    while work
        .run(&Budget { time: Some(Instant::now() + Duration::from_millis(1)), ..Budget::default() })
        != StopReason::Done
    {
        let samples: u64 = work
            .coverage()
            .blocks()
            .iter()
            .map(|b| (b.window().pixels().count() * b.samples().len()) as u64)
            .sum();
        assert_eq!(samples, work.stats().camera_samples);
        let next = Work::new(&scene, &scene.settings, &integrator, 0..6, &options);
        work = resume(next, &work).unwrap();
    }
    let paused = work.into_rendering();
    assert!(image_bits(&uninterrupted.image) == image_bits(&paused.image));
    assert_eq!(
        (uninterrupted.counts, uninterrupted.camera_samples),
        (paused.counts, paused.camera_samples)
    );
    assert_eq!(uninterrupted.counts.cuts.sizes.count(), uninterrupted.camera_samples);
    assert!(uninterrupted.image.channel("error").unwrap().contains(&f32::INFINITY));
}

#[test]
fn work_that_resumes_with_more_samples_gives_the_same_image() {
    let (scene, stop) = (load_scene(SCENE, &[], &Overrides::default()), AtomicBool::new(false));
    let (options, integrator) = (options(3, &stop), RecordingTracer(path_tracer(&scene)));
    let work = |end| Work::new(&scene, &scene.settings, &integrator, 0..end, &options);
    let mut uninterrupted = work(23);
    assert_eq!(uninterrupted.run(&Budget::default()), StopReason::Done);
    let uninterrupted = uninterrupted.into_rendering();
    let mut paused = work(1);
    // The numbers of samples end in the middle of passes, and each rendering but the first is
    // paused in the middle of its image.
    for total in [3, 7, 8, 13, 22, 23] {
        assert_eq!(paused.run(&Budget::default()), StopReason::Done);
        paused = resume(work(total), &paused).unwrap();
        assert!(!paused.is_beyond(total));
        let soon = Some(Instant::now() + Duration::from_millis(1));
        paused.run(&Budget { time: soon, ..Budget::default() });
        assert_eq!(paused.min_samples(), paused.film().image().min_samples);
        paused = resume(work(total), &paused).unwrap();
    }
    assert_eq!(paused.run(&Budget::default()), StopReason::Done);
    let window = scene.settings.window;
    assert_eq!(paused.coverage().blocks(), [PixelBlock::new(window, 0..23).unwrap()]);
    // A rendering cannot resume with fewer samples than it has, or with others.
    for range in [0..22, 1..24] {
        let other = Work::new(&scene, &scene.settings, &integrator, range, &options);
        assert!(resume(other, &paused).is_none());
    }
    let paused = paused.into_rendering();
    assert!(image_bits(&uninterrupted.image) == image_bits(&paused.image));
    assert_eq!(uninterrupted.camera_samples, paused.camera_samples);
}

#[test]
fn albedo_is_estimated_only_if_it_is_stored() {
    for method in [MethodName::Path, MethodName::Lightcuts] {
        let overrides = Overrides { integrator: Some(method), ..Overrides::default() };
        let mut scene = load_scene(SCENE, &[], &overrides);
        scene.settings.integrator.max_depth = 0;
        let render = |features| {
            let film = FilmOptions { features, ..FilmOptions::default() };
            let options = RenderOptions { film, ..RenderOptions::default() };
            lightbound::render::render(&scene, &scene.settings, &options).unwrap()
        };
        let (all, normal) =
            (FeatureLayers::ALL, FeatureLayers { normal: true, ..FeatureLayers::NONE });
        let (all, normal) = (render(all), render(normal));
        assert_eq!(normal.image.radiance, all.image.radiance);
        let [a, b] = [&all, &normal].map(|r| &r.image.features.as_ref().unwrap().normal);
        assert_eq!(a, b);
        assert!(all.counts.shading.evaluations > 0);
        assert_eq!(normal.counts.shading.evaluations, 0, "{method:?}");
    }
}

#[test]
fn sample_ranges_add_up_to_the_full_image() {
    let (scene, stop) = (load_scene(SCENE, &[], &Overrides::default()), AtomicBool::new(false));
    let (options, integrator) = (options(2, &stop), RecordingTracer(path_tracer(&scene)));
    let mut film = Film::new(scene.settings.window, options.film);
    for range in [4..6, 0..1, 1..4] {
        let mut work = Work::new(&scene, &scene.settings, &integrator, range.clone(), &options);
        assert_eq!(work.run(&Budget::default()), StopReason::Done);
        assert_eq!(
            work.coverage().blocks(),
            [PixelBlock::new(scene.settings.window, range).unwrap()]
        );
        let window = scene.settings.window;
        let mattes = work.film().matte_lengths();
        film.add_columns(window, &work.film().columns(0..window.height(), mattes), mattes);
    }
    assert!(
        image_bits(&film.image())
            == image_bits(&render_with(&scene, &scene.settings, &integrator, &options).image)
    );
}

#[test]
fn crop_renders_the_same_pixels() {
    let full = render_text(SCENE, &Overrides::default(), 2);
    let crop =
        Overrides { crop: Some(Crop::Fractions([0.2, 0.7, 0.1, 0.9])), ..Overrides::default() };
    let part = render_text(SCENE, &crop, 2);
    let w = part.window;
    assert_eq!((w.x0, w.x1, w.y0, w.y1), (14, 49, 5, 45));
    for (i, (x, y)) in w.pixels().enumerate() {
        assert_eq!(part.radiance[i], full.radiance[(y * 70 + x) as usize], "pixel {x}, {y}");
    }
}

#[test]
fn different_seeds_give_different_images() {
    let seed = |seed| {
        image_bits(&render_text(SCENE, &Overrides { seed: Some(seed), ..Overrides::default() }, 2))
    };
    assert!(seed(1) != seed(2));
}

/// Adjacent objects of many materials, so that shading batches end with partial SIMD groups.
const MATERIALS: &str = r#"
Sampler "zsobol" "integer pixelsamples" 3
Integrator "path" "integer maxdepth" 4
Scale -1 1 1 LookAt 0 0 5  0 0 0  0 1 0
Camera "orthographic" "float screenwindow" [-2 2 -1 1]
Film "rgb" "integer xresolution" 34 "integer yresolution" 17
WorldBegin
LightSource "infinite" "rgb L" [0.3 0.4 0.5]
LightSource "point" "rgb I" [5 4 3] "point3 from" [0.5 1 3]
AttributeBegin
AreaLightSource "diffuse" "rgb L" [8 7 6]
Translate 1 -0.5 2
Shape "sphere" "float radius" 0.3
AttributeEnd
Texture "image" "spectrum" "imagemap" "string filename" "image.pfm"
Texture "board" "float" "checkerboard" "float uscale" 5 "float vscale" 3 "float tex1" 0.1 "float tex2" 0.6
MakeNamedMaterial "image" "string type" "diffuse" "texture reflectance" "image"
MakeNamedMaterial "metal" "string type" "conductor" "float uroughness" 0.1 "texture vroughness" "board"
MakeNamedMaterial "leaf" "string type" "diffusetransmission" "texture reflectance" "image" "rgb transmittance" [0.1 0.4 0.2]
MakeNamedMaterial "glass" "string type" "dielectric"
MakeNamedMaterial "frosted" "string type" "dielectric" "texture roughness" "board"
MakeNamedMaterial "mirror" "string type" "conductor" "rgb reflectance" [0.9 0.8 0.7]
MakeNamedMaterial "mix" "string type" "mix" "string materials" ["image" "frosted"] "texture amount" "board"
MakeNamedMaterial "varnish" "string type" "coateddiffuse" "texture reflectance" "image" "texture thickness" "board"
MakeNamedMaterial "lacquer" "string type" "coatedconductor" "float interface.roughness" 0.1 "texture conductor.roughness" "board"
MakeNamedMaterial "coats" "string type" "mix" "string materials" ["varnish" "lacquer"] "texture amount" "board"
MakeNamedMaterial "void" "string type" "interface"
MakeNamedMaterial "holes" "string type" "mix" "string materials" ["mix" "void"] "float amount" 0.3
NamedMaterial "image" Shape "bilinearmesh" "point3 P" [-9 -9 -1  9 -9 -1  -9 9 -1  9 9 -1]
NamedMaterial "metal" AttributeBegin Translate -1.5 0.5 0 Shape "sphere" "float radius" 0.5 AttributeEnd
NamedMaterial "leaf" AttributeBegin Translate -0.5 0.5 0 Shape "sphere" "float radius" 0.5 AttributeEnd
NamedMaterial "glass" AttributeBegin Translate 0.5 0.5 0 Shape "sphere" "float radius" 0.5 AttributeEnd
NamedMaterial "frosted" AttributeBegin Translate 1.5 0.5 0 Shape "sphere" "float radius" 0.5 AttributeEnd
NamedMaterial "mirror" AttributeBegin Translate -1.5 -0.5 0 Shape "sphere" "float radius" 0.5 AttributeEnd
NamedMaterial "mix" AttributeBegin Translate -0.5 -0.5 0 Shape "sphere" "float radius" 0.5 AttributeEnd
NamedMaterial "holes" AttributeBegin Translate 0.5 -0.5 0 Shape "sphere" "float radius" 0.5 AttributeEnd
NamedMaterial "coats" AttributeBegin Translate 1.5 -0.5 0 Shape "sphere" "float radius" 0.5 AttributeEnd
"#;

#[test]
fn image_does_not_depend_on_instruction_set() {
    let image = pfm(5, |x, y| [0.2 * x as f32, 0.2 * y as f32, 0.5]);
    let render = |target| {
        let scene = load_scene(
            MATERIALS,
            &[("image.pfm", image.clone())],
            &Overrides { target, ..Overrides::default() },
        );
        assert!(scene.shaders.iter().all(|binding| binding.program.target() == target));
        render(&scene, 2)
    };
    let reference = render(Target::Interpreter);
    assert_eq!(reference.invalid_samples, 0);
    for target in Target::ALL.into_iter().filter(|target| target.is_available()) {
        assert!(image_bits(&reference) == image_bits(&render(target)), "{target}");
    }
}
