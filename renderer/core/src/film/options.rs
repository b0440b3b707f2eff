//! What a film stores, and the memory that it needs.

use super::{ChannelEncoding, ChannelSpec, ComponentLayers, MatteKind};
use lightbound_image::Window;

/// The data that a film stores besides radiance. Each item has its own memory, so a film is as
/// large as what it stores: [`FilmOptions::bytes_per_pixel`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilmOptions {
    /// Features of the first visible surface.
    pub features: FeatureLayers,
    /// Sums of squared radiance, for [`super::RenderedImage::variance`].
    pub moments: bool,
    /// Extra channels of the integrator.
    pub channels: &'static [ChannelSpec],
    /// Components of radiance.
    pub components: ComponentLayers,
}

/// The features that a film stores, see [`super::Features`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeatureLayers {
    /// Directional albedo.
    pub albedo: bool,
    /// Shading normals.
    pub normal: bool,
    /// Positions.
    pub position: bool,
    /// Distances along the viewing axis.
    pub depth: bool,
    /// Ids of materials.
    pub material: bool,
    /// Ids of objects.
    pub object: bool,
    /// Geometric normals.
    pub geometric_normal: bool,
    /// Texture coordinates.
    pub uv: bool,
    /// Motion in the image while the shutter is open.
    pub motion: bool,
    /// Change of the depth per pixel.
    pub depth_gradient: bool,
    /// Mattes of materials.
    pub material_matte: bool,
    /// Mattes of objects.
    pub object_matte: bool,
}

impl FeatureLayers {
    /// No features.
    pub const NONE: FeatureLayers = FeatureLayers {
        albedo: false,
        normal: false,
        position: false,
        depth: false,
        material: false,
        object: false,
        geometric_normal: false,
        uv: false,
        motion: false,
        depth_gradient: false,
        material_matte: false,
        object_matte: false,
    };

    /// All features.
    pub const ALL: FeatureLayers = FeatureLayers {
        albedo: true,
        normal: true,
        position: true,
        depth: true,
        material: true,
        object: true,
        geometric_normal: true,
        uv: true,
        motion: true,
        depth_gradient: true,
        material_matte: true,
        object_matte: true,
    };

    /// Returns whether no feature is stored.
    pub fn is_empty(&self) -> bool {
        *self == FeatureLayers::NONE
    }

    /// Returns whether mattes of any kind are stored.
    pub fn has_mattes(&self) -> bool {
        self.material_matte || self.object_matte
    }

    /// Returns whether mattes of a kind are stored.
    pub fn has_matte(&self, kind: MatteKind) -> bool {
        match kind {
            MatteKind::Material => self.material_matte,
            MatteKind::Object => self.object_matte,
        }
    }

    /// Returns whether a stored feature is a mean over all samples, misses included.
    pub(super) fn needs_samples(&self) -> bool {
        self.albedo || self.normal || self.geometric_normal || self.has_mattes()
    }

    /// Returns whether a stored feature is a mean over the samples that hit a surface.
    pub(super) fn needs_hits(&self) -> bool {
        self.position || self.depth || self.uv || self.motion || self.depth_gradient
    }
}

impl FilmOptions {
    /// Returns the memory that a film needs for each pixel, bytes.
    ///
    /// | stored | bytes |
    /// |---|---|
    /// | radiance and sample count | 52 |
    /// | squares of radiance | 48 |
    /// | albedo, normal, geometric normal | 24 each, and 4 for any of them and of the mattes |
    /// | position, depth | 48 and 16 |
    /// | uv, motion, depth gradient | 32 each; and 4 for any of these, position and depth |
    /// | material, object | 4 each |
    /// | mattes of materials, of objects | 16 each, and more where a pixel shows more than two |
    /// | extra channels | 8 for counts, 16 for real numbers |
    /// | emission, direct and indirect | 96 |
    /// | emission, diffuse and specular | 96; with direct and indirect, 144 |
    /// | light groups | 48 for each but one |
    pub fn bytes_per_pixel(&self) -> u64 {
        let f = self.features;
        let parts = [
            (true, 52),
            (self.moments, 48),
            (f.needs_samples(), 4),
            (f.needs_hits(), 4),
            (f.albedo, 24),
            (f.normal, 24),
            (f.position, 48),
            (f.depth, 16),
            (f.material, 4),
            (f.object, 4),
            (f.geometric_normal, 24),
            (f.uv, 32),
            (f.motion, 32),
            (f.depth_gradient, 32),
            (f.material_matte, 16),
            (f.object_matte, 16),
        ];
        let channel = |channel: &ChannelSpec| match channel.encoding {
            ChannelEncoding::Count => 8,
            ChannelEncoding::FixedPoint => 16,
        };
        parts.iter().filter(|(stored, _)| *stored).map(|(_, bytes)| bytes).sum::<u64>()
            + self.channels.iter().map(channel).sum::<u64>()
            + 48 * self.components.sum_count() as u64
    }

    /// Returns the memory of a film over `window`, bytes.
    pub fn film_bytes(&self, window: Window) -> u64 {
        let pixels = u64::from(window.width()) * u64::from(window.height());
        pixels.saturating_mul(self.bytes_per_pixel())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Film;
    use super::*;

    #[test]
    fn estimate_is_the_memory_of_the_sums() {
        const CHANNELS: &[ChannelSpec] = &[
            ChannelSpec { layer: "steps", sum: "steps", encoding: ChannelEncoding::Count },
            ChannelSpec { layer: "error", sum: "error", encoding: ChannelEncoding::FixedPoint },
        ];
        let window = Window { x0: 1, y0: 2, x1: 35, y1: 5 };
        for bits in 0..1 << 16u32 {
            let bit = |i: u32| bits >> i & 1 == 1;
            let features = FeatureLayers {
                albedo: bit(0),
                normal: bit(1),
                position: bit(2),
                depth: bit(3),
                material: bit(4),
                object: bit(5),
                geometric_normal: bit(10),
                uv: bit(11),
                motion: bit(12),
                depth_gradient: bit(13),
                material_matte: bit(14),
                object_matte: bit(15),
            };
            let channels = if bit(7) { CHANNELS } else { &[] };
            let light_groups = if bit(8) { 3 } else { 0 };
            let (emission, diffuse) = (bit(9), bit(9));
            let components =
                ComponentLayers { emission, diffuse, light_groups, ..ComponentLayers::default() };
            let options = FilmOptions { features, moments: bit(6), channels, components };
            let film = Film::new(window, options);
            let bytes: usize = film.tiles().iter().map(|tile| tile.lock().memory_bytes()).sum();
            assert_eq!(options.film_bytes(window), bytes as u64, "{options:?}");
        }
        assert!(FilmOptions::default().bytes_per_pixel() <= 64);
    }
}
