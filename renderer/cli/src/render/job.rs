//! The rendering of a loaded scene: from its samples to the image file.

use super::checkpoint::{ReportedCheckpoint, ResumeFrom};
use super::denoised::{DenoisedFile, with_guides};
use super::finished::is_finished;
use super::image_file::{Destination, ImageFile};
use super::result::{RenderResult, attributes, full_block};
use super::tev::Viewer;
use super::work::{self, WorkOutcome};
use super::{Args, AvailableLayers};
use crate::console::{self, Console};
use crate::interrupt::{Interrupt, Stage};
use crate::output::ImageFormat;
use crate::{Error, memory};
use lightbound::film::FilmOptions;
use lightbound::integrator::Integrator;
use lightbound::material::AppliedProfile;
use lightbound::render::{RenderOptions, Work};
use lightbound_pbrt::build::LoadedScene;

/// The rendering of a loaded scene to a file.
#[derive(Clone, Copy)]
pub struct RenderJob<'a> {
    pub args: &'a Args,
    pub loaded: &'a LoadedScene,
    pub integrator: &'a dyn Integrator,
    pub threads: usize,
    pub image_file: &'a ImageFile,
    pub denoised: Option<&'a DenoisedFile>,
    /// What a profile of shaders changed, if there is one.
    pub applied_profile: Option<AppliedProfile>,
    /// Whether frames of the sequence were rendered before.
    pub is_later_frame: bool,
}

/// A rendering with a written image.
pub struct Rendered<'a> {
    pub result: RenderResult<'a>,
    pub destination: Destination,
    /// The error of the last checkpoint of an unfinished image.
    pub failure: Option<Error>,
}

impl<'a> RenderJob<'a> {
    /// Renders, resuming from a checkpoint if requested, and writes the image. Returns `None` if the
    /// image is finished already.
    pub fn run(
        self,
        console: Console,
        interrupt: &Interrupt,
    ) -> Result<Option<Rendered<'a>>, Error> {
        let RenderJob { args, loaded: LoadedScene { scene, settings, .. }, .. } = self;
        let samples =
            args.work.samples(settings.sampling.spp, settings.integrator.sample_group())?;
        let window = settings.window;
        let film = self.film()?;
        memory::check_film(
            window,
            film,
            "store fewer layers (--layers beauty), render a part of the image (--crop), or lower \
             its --resolution",
        )?;
        let mut checkpoint = self.checkpoint();
        let resume_from = match &checkpoint {
            Some(checkpoint) => checkpoint.prepare(&args.work, console, |image| {
                is_finished(image, self, samples.len() as u32, film)
            })?,
            None => ResumeFrom::Nothing,
        };
        if resume_from == ResumeFrom::FinishedImage {
            if let Some(denoised) = self.denoised {
                console.info(&denoised.write_exr(self.image_file.output.name())?);
            }
            return Ok(None);
        }
        let pixels = u64::from(window.width()) * u64::from(window.height());
        if let Some(checkpoint) = &checkpoint {
            interrupt.set_checkpoint(checkpoint.path());
        }
        let name = self.image_file.output.name().display().to_string();
        let viewer =
            args.tev.as_deref().map(|address| Viewer::connect(address, name, settings.window));
        let viewer = match viewer.transpose() {
            // A viewer may be closed while a sequence is rendered.
            Err(error) if self.is_later_frame => {
                console::warn(&error);
                None
            }
            viewer => viewer?,
        };
        let progress = console.rendering(pixels, samples.len() as u32, args.time_limit);
        interrupt.enter(Stage::Rendering, Some(progress.bar()));
        let options = RenderOptions {
            threads: self.threads,
            time_limit: args.time_limit,
            film,
            stop: interrupt.stop(),
            progress: &|samples| progress.advance(samples),
            tile_done: &|tile| {
                if let Some(viewer) = &viewer {
                    viewer.show(tile.window(), settings.colour_space.to_srgb(tile.radiance()));
                }
            },
        };
        let mut work = Work::new(scene, settings, self.integrator, samples.clone(), &options);
        if let Some(checkpoint) = &checkpoint {
            work = checkpoint.load(resume_from, work).inspect_err(|_| progress.finish())?;
            progress.skip(work.stats().camera_samples);
        }
        let result = |work: &Work, outcome: WorkOutcome, is_unsaved: bool| {
            // An unfinished image does not replace one with exact sums by one without.
            let keeps_sums = args.stores_sums()
                || is_unsaved
                || resume_from == ResumeFrom::Image && !outcome.is_complete();
            RenderResult::new(self, samples.clone(), outcome, work, keeps_sums)
        };
        let snapshot = |work: &Work, outcome| {
            let result = result(work, outcome, false);
            self.image_file.write_snapshot(&result, work.film(), &progress);
        };
        let outcome = work::run(
            &mut work,
            &args.work,
            &mut checkpoint,
            interrupt,
            &|noise| progress.set_noise(noise),
            snapshot,
        );
        let unsaved = checkpoint
            .as_ref()
            .filter(|_| !outcome.is_complete())
            .and_then(|checkpoint| checkpoint.save_last(&work).err());
        progress.finish();
        interrupt.enter(Stage::Writing, None);

        let result = result(&work, outcome, unsaved.is_some());
        let written = self.image_file.write(&result, work.film());
        if let (Err(_), Some(error)) = (&written, &unsaved) {
            console::warn(&format!("no checkpoint: {error}"));
        }
        let destination = written?;
        if let Some(Err(error)) = viewer.as_ref().map(Viewer::finish) {
            console::warn(&error);
        }
        let mut failure = None;
        if let Some(checkpoint) = checkpoint {
            if outcome.is_complete() {
                checkpoint.remove();
            } else if let (Some(cause), Some(output)) =
                (unsaved, destination.output(self.image_file))
            {
                let stores_sums = self.image_file.format == ImageFormat::Exr;
                failure = Some(checkpoint.failure(cause, output.path().filter(|_| stores_sums)));
            }
        }
        if let (Some(denoised), Destination::Requested) = (self.denoised, &destination)
            && !result.interrupted()
        {
            console.info(&denoised.write(self, work.film())?);
        }
        Ok(Some(Rendered { result, destination, failure }))
    }

    /// The data that the film stores.
    fn film(&self) -> Result<FilmOptions, Error> {
        match self.image_file.format {
            ImageFormat::Exr => {
                let available = AvailableLayers::new(self.integrator, &self.loaded.scene);
                self.args.exr_film(available)
            }
            ImageFormat::Png | ImageFormat::Pfm => {
                let moments = self.args.work.noise_threshold.is_some();
                let options = FilmOptions { moments, ..FilmOptions::default() };
                Ok(if self.args.denoise { with_guides(options) } else { options })
            }
        }
    }

    /// The checkpoint, if one is requested.
    fn checkpoint(self) -> Option<ReportedCheckpoint> {
        self.args.work.checkpoint_interval()?;
        Some(ReportedCheckpoint::new(
            self.image_file.output.path()?,
            self.loaded.settings.resolution.into(),
            attributes(self.args, self.loaded, self.integrator),
            full_block(self.loaded),
        ))
    }
}
