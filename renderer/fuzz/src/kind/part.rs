//! Parts and checkpoints: images with exact sums.

use super::{Reader, repository};
use lightbound::film::layers::FilmLayers;
use lightbound::film::{FeatureLayers, FilmOptions, PixelBlock};
use lightbound::integrator::{self, Integrator};
use lightbound::part::{self, Checkpoint, PartHeader};
use lightbound::render::{Budget, RenderOptions, Work};
use lightbound_image::Window;
use lightbound_image::write::write_exr_rows;
use lightbound_pbrt::{Diagnostics, LoadedScene, Overrides, load};
use std::fs;
use std::ops::Range;
use std::path::PathBuf;

/// Loads a small scene.
fn scene() -> LoadedScene {
    let overrides = Overrides { resolution: Some((6, 4)), ..Overrides::default() };
    let path = repository("renderer/fuzz/corpus/lights.pbrt");
    load(&path, &overrides, &mut Diagnostics::new(false)).expect("the corpus is valid")
}

/// The window of the image.
const WINDOW: Window = Window { x0: 0, y0: 0, x1: 6, y1: 4 };

/// Number of samples per pixel.
const SAMPLES: u32 = 8;

fn block(samples: Range<u32>) -> PixelBlock {
    PixelBlock::new(WINDOW, samples).expect("neither is empty")
}

/// Merges a part with another one.
pub struct Parts {
    folder: tempfile::TempDir,
    corpus: Vec<Vec<u8>>,
}

impl Parts {
    /// Renders the parts of the corpus, and the one that they are merged with.
    pub fn new() -> Parts {
        let folder = tempfile::tempdir().expect("temporary files can be created");
        let loaded = scene();
        let integrator =
            integrator::new(&loaded.scene, &loaded.settings).expect("the corpus is valid");
        let path = folder.path().join("other.exr");
        let mut corpus = Vec::new();
        let features =
            FilmOptions { features: FeatureLayers::ALL, moments: true, ..FilmOptions::default() };
        for (samples, film) in
            [(0..4, FilmOptions::default()), (0..4, features), (4..8, FilmOptions::default())]
        {
            let options = RenderOptions { film, ..RenderOptions::default() };
            let mut work =
                Work::new(&loaded.scene, &loaded.settings, &*integrator, samples, &options);
            work.run(&Budget::default());
            let film = work.film();
            let header = PartHeader::new(block(0..SAMPLES), work.coverage(), film, work.stats());
            let layers = FilmLayers::image(film, true, true, &[], &[]);
            let exr = layers.header([6, 4], vec![header.attribute()]);
            write_exr_rows(&path, &exr, &layers).expect("the file can be written");
            corpus.push(fs::read(&path).expect("the file was written"));
        }
        corpus.pop();
        Parts { folder, corpus }
    }
}

impl Reader for Parts {
    fn corpus(&self) -> Vec<Vec<u8>> {
        self.corpus.clone()
    }

    fn read(&mut self, input: &[u8]) -> Result<(), String> {
        let path = self.folder.path().join("part.exr");
        fs::write(&path, input).expect("temporary files can be written");
        let merge = |paths: &[PathBuf]| part::Parts::open(paths)?.merge();
        let alone = merge(std::slice::from_ref(&path)).map_err(|error| error.to_string())?;
        std::hint::black_box(alone.film.image());
        // Only parts without features match the other one.
        _ = merge(&[path, self.folder.path().join("other.exr")]);
        Ok(())
    }
}

/// Resumes from a checkpoint.
pub struct Checkpoints {
    loaded: LoadedScene,
    integrator: Box<dyn Integrator>,
    folder: tempfile::TempDir,
}

impl Checkpoints {
    /// Loads the scene.
    pub fn new() -> Checkpoints {
        let loaded = scene();
        let integrator =
            integrator::new(&loaded.scene, &loaded.settings).expect("the corpus is valid");
        let folder = tempfile::tempdir().expect("temporary files can be created");
        Checkpoints { loaded, integrator, folder }
    }

    fn checkpoint(&self) -> Checkpoint {
        let output = self.folder.path().join("image.exr");
        Checkpoint::new(&output, [6, 4], Vec::new(), block(0..SAMPLES))
    }

    fn work<'a>(&'a self, options: &'a RenderOptions) -> Work<'a> {
        Work::new(&self.loaded.scene, &self.loaded.settings, &*self.integrator, 0..SAMPLES, options)
    }
}

impl Reader for Checkpoints {
    fn corpus(&self) -> Vec<Vec<u8>> {
        let options = RenderOptions::default();
        let checkpoint = self.checkpoint();
        let save = |samples| {
            let mut work = self.work(&options);
            work.run(&Budget { samples: Some(samples), ..Budget::default() });
            checkpoint.save(&work).expect("the file can be written");
            fs::read(checkpoint.path()).expect("the file was written")
        };
        vec![save(1), save(4)]
    }

    fn read(&mut self, input: &[u8]) -> Result<(), String> {
        let checkpoint = self.checkpoint();
        fs::write(checkpoint.path(), input).expect("temporary files can be written");
        let options = RenderOptions { threads: 1, ..RenderOptions::default() };
        let mut work = checkpoint.load(self.work(&options)).map_err(|error| error.to_string())?;
        work.run(&Budget::default());
        std::hint::black_box(work.film().image());
        Ok(())
    }
}
