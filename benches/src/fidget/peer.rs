//! The pictures by Fidget itself, with its JIT compiler, in one thread.

use super::Picture;
use fidget::context::Context;
use fidget::jit::JitShape;
use fidget::raster::{pixel, voxel};
use fidget::shape::BoundShape;
use std::time::{Duration, Instant};

/// A model, ready for rendering.
pub struct Model {
    shape: BoundShape<'static, fidget::jit::JitFunction, f32>,
}

impl Model {
    /// Prepares a model; also returns how long it took.
    pub fn new(text: &str) -> Result<(Model, Duration), String> {
        let start = Instant::now();
        let (context, root) =
            Context::from_text(text.as_bytes()).map_err(|error| error.to_string())?;
        let shape = JitShape::new(&context, root).map_err(|error| error.to_string())?;
        let shape = BoundShape::try_from(shape).map_err(|error| error.to_string())?;
        Ok((Model { shape }, start.elapsed()))
    }

    /// Renders a picture.
    pub fn render(&self, size: usize, flat: bool) -> Picture {
        if flat {
            let config = pixel::RenderConfig::from_size((size as u32).into());
            let settings = pixel::EvalConfig { threads: None, ..Default::default() };
            let image = pixel::render(self.shape.clone(), &config, &settings);
            let image = image.expect("nobody cancels it");
            return Picture { depths: image.iter().map(|pixel| pixel.inside().into()).collect() };
        }
        let config = voxel::RenderConfig::from_size((size as u32).into());
        let settings = voxel::EvalConfig { threads: None, ..Default::default() };
        let image = voxel::render(self.shape.clone(), &config, &settings);
        let image = image.expect("nobody cancels it");
        Picture { depths: image.iter().map(|pixel| pixel.depth).collect() }
    }
}
