//! Regions of surfaces in which parameters have narrower ranges than over the whole surface, and
//! versions of functions to bound for them: the dynamic bounds assumptions of Clarberg et al. 2010
//! §4.5.
//!
//! A mask that is 0 or 1 over large parts of a surface turns a lobe off there. [`find`] divides the
//! unit square of texture coordinates into tiles, bounds the parameters in each by min–max levels of
//! their textures, and groups tiles in which the same parameters are 0 or 1. Bounding shaders are
//! compiled for the largest groups. At a shading point, a [`Guard`] compares the parameters
//! themselves, not the tile: so a version is used at every point where it is valid, and only there,
//! whatever the mapping and the footprint.
//!
//! Versions return the same values, but for signs of zeros. Point shaders of batches have no such
//! versions, since the lanes of a group are at different points; see `shader_profile`.

use super::specialization::bounds;
use super::values::KnownWord;
use super::{Program, ShaderInstance};
use crate::texture::Extents;
use lightbound_math::{Vec2, vec2};
use lightbound_shader::Parameter;
use lightbound_shader::bounding::Integrand;
use lightbound_shader::interval::Bounds;
use lightbound_shader::specialize::cost;

/// Number of tiles along each axis of the unit square.
const TILES: u32 = 16;

/// Least number of tiles of a region.
const MIN_TILES: usize = 4;

/// Greatest number of regions of a program.
const MAX_REGIONS: usize = 8;

/// Greatest number of instances of a program whose textures are examined.
const MAX_INSTANCES: usize = 64;

/// Greatest number of versions of a function, and their greatest cost relative to it.
const MAX_VERSIONS: usize = 4;
const MAX_COST_RATIO: f32 = 0.95;

/// The bits of 1.
const ONE: u32 = 1.0_f32.to_bits();

/// Finds the regions of the surfaces of a program's instances, the largest first. A region is given
/// by bounds on each word of the settable parameters.
pub fn find(
    settable: &[Parameter],
    instances: &[&ShaderInstance],
    extents: &mut Extents,
) -> Vec<Vec<Bounds>> {
    /// Tiles in which the same words are 0 or 1.
    struct Region {
        pattern: Vec<Option<u32>>,
        bounds: Vec<Bounds>,
        tiles: usize,
    }
    let mut regions: Vec<Region> = Vec::new();
    let textured = instances.iter().filter(|instance| instance.has_textures());
    for instance in textured.take(MAX_INSTANCES) {
        let everywhere = pattern(&instance.known_words(extents));
        for tile in 0..TILES * TILES {
            let words = instance.known_words_within(extents, tile_box(tile));
            let pattern = pattern(&words);
            if pattern == everywhere {
                continue;
            }
            let words = std::iter::zip(words, &pattern);
            let words: Vec<_> =
                words.map(|(word, bits)| bits.map_or(word, KnownWord::Constant)).collect();
            let words = bounds(settable, &words);
            match regions.iter_mut().find(|region| region.pattern == pattern) {
                Some(region) => {
                    region.tiles += 1;
                    let all = std::iter::zip(&mut region.bounds, &words);
                    all.for_each(|(bounds, word)| *bounds = hull(bounds.join(word)));
                }
                None => regions.push(Region { pattern, bounds: words, tiles: 1 }),
            }
        }
    }
    regions.retain(|region| region.tiles >= MIN_TILES);
    regions.sort_by_key(|region| std::cmp::Reverse(region.tiles));
    regions.truncate(MAX_REGIONS);
    regions.into_iter().map(|region| region.bounds).collect()
}

/// The texture coordinates in a tile.
fn tile_box(tile: u32) -> [Vec2; 2] {
    let corner = vec2((tile % TILES) as f32, (tile / TILES) as f32);
    // Without the upper edges, where the next cell of a checkerboard begins.
    [corner, corner + (1.0 - 1e-5)].map(|corner| corner / TILES as f32)
}

/// The bits of the words that are 0 or 1.
fn pattern(words: &[KnownWord]) -> Vec<Option<u32>> {
    let bits = |word: &KnownWord| match *word {
        KnownWord::Constant(bits) => Some(bits),
        KnownWord::Between([lo, hi]) => (lo == hi).then_some(lo),
        KnownWord::InRange | KnownWord::Unknown => None,
    };
    words.iter().map(|word| bits(word).filter(|&bits| bits == 0 || bits == ONE)).collect()
}

/// Bounds on a float without gaps.
fn hull(bounds: Bounds) -> Bounds {
    match bounds {
        Bounds::Float(floats) => Bounds::Float(floats.hull()),
        Bounds::Int(_) | Bounds::Bool(_) => bounds,
    }
}

/// Decides whether a version is valid for parameters.
#[derive(Clone, Debug)]
pub struct Guard {
    /// Words of the material parameters, with their bounds.
    words: Vec<(usize, Bounds)>,
}

impl Guard {
    /// Returns whether the words of the material parameters are within the bounds.
    pub fn admits(&self, parameters: &[u32]) -> bool {
        self.words.iter().all(|(word, bounds)| bounds.contains(parameters[*word]))
    }
}

/// A version of a function to bound.
#[derive(Clone, Debug)]
pub struct RegionVersion {
    /// When it is valid.
    pub guard: Guard,
    /// The function.
    pub integrand: Integrand,
}

impl Program {
    /// Returns versions of a [function](Program::integrand) of the program for its regions, the
    /// cheapest first. Regions for which code costs nearly as much as for any point have none.
    pub fn region_versions(&self, integrand: &Integrand) -> Vec<RegionVersion> {
        if self.regions().is_empty() {
            return vec![];
        }
        let everywhere = self.member_bounds();
        let limit = MAX_COST_RATIO * cost(&integrand.point) as f32;
        let version = |region: &Vec<Bounds>| {
            let words = std::iter::zip(region, &everywhere).enumerate();
            let words = words.filter(|(_, (here, everywhere))| here != everywhere);
            let guard = Guard { words: words.map(|(word, (bounds, _))| (word, *bounds)).collect() };
            RegionVersion { guard, integrand: integrand.clone().specialize(region.clone()) }
        };
        let mut versions: Vec<_> = self
            .regions()
            .iter()
            .map(version)
            .filter(|version| cost(&version.integrand.point) as f32 <= limit)
            .take(MAX_VERSIONS)
            .collect();
        versions.sort_by_key(|version| cost(&version.integrand.point));
        versions
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use crate::material::{Setting, ShaderBinding, library, specialize_programs};
    use crate::texture::{
        ImageMap, ImageMapValue, Mapping, Param, Texture, TextureFilter, WrapMode,
    };
    use lightbound_image::{Channels, Image};
    use lightbound_shader::{Arena, Settings, Shader, Target};
    use std::sync::Arc;

    /// `openpbr` with an image of 8 texels along u for some parameters, specialized as in a scene.
    pub fn masked(textures: &[(&str, [f32; 8])]) -> (Vec<ShaderBinding>, ShaderInstance) {
        let text = library::find("openpbr").expect("the library has it").text;
        let shader = Shader::parse("openpbr", text).expect("it is valid");
        let program =
            Program::compile(&Arena::new(), &shader, &Settings::default(), Target::best());
        let program = Arc::new(program.expect("it compiles"));
        let texture = |texels: [f32; 8]| {
            Setting::Varying(Param::Texture(Arc::new(Texture::Image(ImageMap {
                image: Arc::new(Image::from_f32(8, 1, Channels::Grey, texels.to_vec())),
                mapping: Mapping::UV,
                value: ImageMapValue::Float,
                wrap: WrapMode::Clamp,
                filter: TextureFilter::Bilinear,
                scale: 1.0,
                invert: false,
            }))))
        };
        let setting = |p: &Parameter| match textures.iter().find(|(name, _)| *name == p.name) {
            Some(&(_, texels)) => texture(texels),
            None => Setting::Constant(p.default.clone().expect("all have defaults")),
        };
        let settings = program.settable.iter().map(|p| (p, setting(p)));
        let mut instances = [ShaderInstance::new(0, settings)];
        let mut shaders = vec![ShaderBinding::new(program, vec![])];
        specialize_programs(&mut shaders, instances.iter_mut());
        let [instance] = instances;
        (shaders, instance)
    }

    /// The index of the first word of a parameter.
    pub fn word(program: &Program, name: &str) -> usize {
        let before = program.settable.iter().take_while(|p| p.name != name);
        before.map(|p| p.size).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{masked, word};
    use super::*;

    /// Metal in the right half.
    const METAL: [f32; 8] = [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0];

    #[test]
    fn regions_are_where_textures_are_zero_or_one() {
        let roughness = [0.2, 0.3, 0.25, 0.25, 0.5, 0.6, 0.6, 0.7];
        let (shaders, _) = masked(&[("base_metalness", METAL), ("specular_roughness", roughness)]);
        let program = &shaders[0].program;
        let metalness = word(program, "base_metalness");
        let rough = word(program, "specular_roughness");
        let mut regions: Vec<_> = program
            .regions()
            .iter()
            .map(|bounds| {
                let [metal, rough] = [metalness, rough].map(|word| *bounds[word].floats());
                ([metal.low(), metal.high()], [rough.low(), rough.high()])
            })
            .collect();
        regions.sort_by(|a, b| a.partial_cmp(b).expect("bounds are numbers"));
        assert_eq!(
            regions.iter().map(|(metal, _)| *metal).collect::<Vec<_>>(),
            [[0.0; 2], [1.0; 2]]
        );
        let [(_, dielectric), (_, metal)] = regions[..] else { panic!("there are two regions") };
        assert!(dielectric[0] >= 0.2 && dielectric[1] <= 0.3, "{dielectric:?}");
        assert!(metal[0] >= 0.5 && metal[1] <= 0.7, "{metal:?}");
    }

    #[test]
    fn textures_without_zeros_and_ones_have_no_regions() {
        for texels in [[0.25, 0.5, 0.25, 0.5, 0.75, 0.5, 0.75, 0.5], [1.0; 8]] {
            let (shaders, _) = masked(&[("base_metalness", texels)]);
            assert_eq!(shaders[0].program.regions().len(), 0);
        }
        // A single texel is less than a region.
        let (shaders, _) = masked(&[("base_metalness", [0.5, 0.5, 0.5, 0.0, 0.5, 0.5, 0.5, 0.5])]);
        assert_eq!(shaders[0].program.regions().len(), 0);
    }

    #[test]
    fn versions_for_regions_cost_less_and_have_guards() {
        // No coat in the left half.
        let coat = [0.0, 0.0, 0.0, 0.0, 0.5, 0.5, 0.5, 0.5];
        let (shaders, _) = masked(&[("coat_weight", coat)]);
        let program = &shaders[0].program;
        let integrand = program.integrand().unwrap();
        let versions = program.region_versions(&integrand);
        let [RegionVersion { guard, integrand: version }] = &versions[..] else {
            panic!("there is one region: {versions:?}")
        };
        let costs = [version, &integrand].map(|integrand| cost(&integrand.point));
        assert!(3 * costs[0] < 2 * costs[1], "{costs:?}");

        let weight = word(program, "coat_weight");
        let mut words: Vec<u32> = program
            .settable
            .iter()
            .flat_map(|p| p.default.iter().flatten().map(|&x| p.scalar.bits(x)))
            .collect();
        let mut admits = |x: f32| {
            words[weight] = x.to_bits();
            guard.admits(&words)
        };
        assert!(admits(0.0));
        for x in [-0.0, f32::from_bits(1), -f32::from_bits(1), 0.5, 1.0, f32::NAN] {
            assert!(!admits(x), "{x}");
        }
    }
}
