//! Specialized programs: code for the parameters that materials have in a scene.
//!
//! Most parameters of a material are constant, many are 0 or 1, and textures have a least and a
//! greatest value (the dynamic bounds assumptions of Clarberg et al. 2010 §4.5). Programs are
//! compiled again for the values of each material, which shares its program with all materials for
//! which the same is known. A shader with too many of them gets code for the defaults, zeros and
//! ones among the constants, or else for zeros and ones; other constants and textures stay
//! parameters. Images do not depend on it, since specialized code computes the same numbers; but
//! bounds are tighter, so that lights and directions sampled from them have other noise.
//!
//! Programs also get the regions of surfaces in which textures make parameters 0 or 1 (`regions.rs`).

use super::values::KnownWord;
use super::{Program, ShaderBinding, ShaderInstance, regions};
use crate::texture::Extents;
use lightbound_shader::bounding::{Ranges, parameter_bounds};
use lightbound_shader::interval::{Bounds, Floats};
use lightbound_shader::{Arena, Parameter};
use std::collections::HashMap;
use std::sync::Arc;

/// Greatest number of specialized programs for a shader with its textures.
const MAX_VERSIONS: usize = 32;

/// Specializes the programs in `shaders` for their instances, and changes the instances to use
/// them. Bindings without instances are removed. A program whose specialized code cannot be compiled
/// stays general.
pub fn specialize_programs<'a>(
    shaders: &mut Vec<ShaderBinding>,
    instances: impl Iterator<Item = &'a mut ShaderInstance>,
) {
    let mut uses: Vec<Vec<&mut ShaderInstance>> = shaders.iter().map(|_| Vec::new()).collect();
    instances.for_each(|instance| uses[instance.shader as usize].push(instance));
    if uses.iter().all(Vec::is_empty) {
        return;
    }
    let (arena, mut extents) = (Arena::new(), Extents::default());
    let mut specialized: Vec<ShaderBinding> = Vec::new();
    // The instances of each specialized binding.
    let mut users: Vec<Vec<&ShaderInstance>> = Vec::new();
    for (binding, instances) in std::iter::zip(shaders.drain(..), uses) {
        let mut general = None;
        let mut versions: HashMap<Vec<KnownWord>, Option<u32>> = HashMap::new();
        let words = instances.iter().map(|instance| instance.known_words(&mut extents));
        let keys = keys(&binding.program.settable, words.collect());
        for (instance, key) in std::iter::zip(instances, keys) {
            let version = match key {
                None => None,
                Some(key) => match versions.get(&key) {
                    Some(&version) => version,
                    None => {
                        let known = bounds(&binding.program.settable, &key);
                        let program = binding.program.specialize(&arena, &known).ok().flatten();
                        let version = program.map(|program: Program| {
                            let program = Arc::new(program);
                            specialized.push(ShaderBinding { program, ..binding.clone() });
                            specialized.len() as u32 - 1
                        });
                        versions.insert(key, version);
                        version
                    }
                },
            };
            instance.shader = version.unwrap_or_else(|| {
                *general.get_or_insert_with(|| {
                    specialized.push(binding.clone());
                    specialized.len() as u32 - 1
                })
            });
            users.resize(specialized.len(), Vec::new());
            users[instance.shader as usize].push(instance);
        }
    }
    for (binding, instances) in std::iter::zip(&mut specialized, users) {
        let regions = regions::find(&binding.program.settable, &instances, &mut extents);
        if !regions.is_empty() {
            binding.program = Arc::new(binding.program.with_regions(&regions));
        }
    }
    *shaders = specialized;
}

/// Returns for each instance what its program is specialized for; `None` for the general program.
fn keys(settable: &[Parameter], words: Vec<Vec<KnownWord>>) -> Vec<Option<Vec<KnownWord>>> {
    if most_frequent(&words).len() <= MAX_VERSIONS {
        return words.into_iter().map(Some).collect();
    }
    let defaults: Vec<_> = settable.iter().flat_map(default_words).collect();
    let with_defaults: Vec<_> = words.iter().map(|words| plain(words, &defaults)).collect();
    if most_frequent(&with_defaults).len() <= MAX_VERSIONS {
        return with_defaults.into_iter().map(Some).collect();
    }
    let plain: Vec<_> = words.iter().map(|words| plain(words, &vec![None; words.len()])).collect();
    let mut chosen = most_frequent(&plain);
    chosen.truncate(MAX_VERSIONS);
    plain.iter().map(|words| chosen.contains(&words).then(|| words.clone())).collect()
}

/// The words of a parameter's default; `None` without one.
fn default_words(parameter: &Parameter) -> impl Iterator<Item = Option<u32>> {
    let default = parameter.default.as_deref();
    (0..parameter.size).map(move |k| default.map(|values| parameter.scalar.bits(values[k])))
}

/// The different keys, the most frequent ones first; equally frequent ones in their order.
fn most_frequent(words: &[Vec<KnownWord>]) -> Vec<&Vec<KnownWord>> {
    let mut counts: HashMap<&Vec<KnownWord>, (usize, usize)> = HashMap::new();
    for (index, words) in words.iter().enumerate() {
        counts.entry(words).or_insert((0, index)).0 += 1;
    }
    let mut keys: Vec<_> = counts.into_iter().collect();
    keys.sort_unstable_by_key(|&(_, (count, first))| (std::cmp::Reverse(count), first));
    keys.into_iter().map(|(words, _)| words).collect()
}

/// Keeps only the constants 0 and 1, of any type, and those that equal the defaults.
fn plain(words: &[KnownWord], defaults: &[Option<u32>]) -> Vec<KnownWord> {
    const TRUE: u32 = !0;
    let one = 1.0_f32.to_bits();
    let keep = |(word, &default): (&KnownWord, &Option<u32>)| match *word {
        KnownWord::Constant(x) if Some(x) != default && ![0, 1, one, TRUE].contains(&x) => {
            KnownWord::InRange
        }
        KnownWord::Between(_) => KnownWord::InRange,
        word => word,
    };
    std::iter::zip(words, defaults).map(keep).collect()
}

/// Bounds on each word of the settable parameters.
pub(super) fn bounds(settable: &[Parameter], words: &[KnownWord]) -> Vec<Bounds> {
    let parameters = settable.iter().flat_map(|p| std::iter::repeat_n(p, p.size));
    let bounds = std::iter::zip(parameters, words).map(|(parameter, word)| {
        let range = parameter_bounds(parameter, Ranges::Declared);
        match *word {
            KnownWord::Constant(bits) => Bounds::constant(range.ty(), bits),
            KnownWord::InRange => range,
            KnownWord::Between(ends) => {
                let [low, high] = ends.map(f32::from_bits);
                Bounds::Float(Floats::between(low, high))
            }
            KnownWord::Unknown => Bounds::all(range.ty()),
        }
    });
    bounds.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::material::{Setting, library};
    use crate::texture::{
        ImageMap, ImageMapValue, Mapping, Param, Texture, TextureFilter, WrapMode,
    };
    use lightbound_image::{Channels, Image};
    use lightbound_math::Vec3;
    use lightbound_shader::specialize::cost;
    use lightbound_shader::{Settings, Shader, Target};

    /// A binding of a library shader, and its instances with these values of a parameter; `None`
    /// is a texture.
    fn instances(
        name: &str,
        parameter: &str,
        values: &[Option<f64>],
    ) -> (Vec<ShaderBinding>, Vec<ShaderInstance>) {
        let text = library::find(name).expect("the library has it").text;
        let shader = Shader::parse(name, text).unwrap();
        let settings = Settings::default();
        let program = Program::compile(&Arena::new(), &shader, &settings, Target::best()).unwrap();
        let binding = ShaderBinding::new(Arc::new(program), vec![]);
        let setting = |p: &Parameter, value: Option<f64>| match value {
            _ if p.name != parameter => Setting::Constant(p.default.clone().unwrap()),
            Some(x) => Setting::Constant(vec![x; p.size]),
            None => {
                let texture = Texture::Constant(Vec3::splat(0.25));
                Setting::Varying(Param::Texture(Arc::new(texture)))
            }
        };
        let settable = &binding.program.settable;
        let instances = values
            .iter()
            .map(|&value| ShaderInstance::new(0, settable.iter().map(|p| (p, setting(p, value)))));
        let instances = instances.collect();
        (vec![binding], instances)
    }

    /// The shader of each instance after specialization, and whether each binding is specialized.
    fn specialized(name: &str, parameter: &str, values: &[Option<f64>]) -> (Vec<u32>, Vec<bool>) {
        let (mut shaders, mut instances) = instances(name, parameter, values);
        specialize_programs(&mut shaders, instances.iter_mut());
        let is_special = shaders.iter().map(|binding| binding.program.is_specialized());
        (instances.iter().map(|instance| instance.shader).collect(), is_special.collect())
    }

    #[test]
    fn instances_with_the_same_constants_share_a_program() {
        let values = [Some(0.5), Some(0.0), None, Some(0.5), Some(0.0)];
        let (indices, is_special) = specialized("ward", "ks", &values);
        // A lobe with a colour costs the same whatever its colour.
        assert_eq!((indices, is_special), (vec![0, 1, 0, 0, 1], vec![false, true]));
    }

    #[test]
    fn programs_that_save_little_stay_general() {
        let (indices, is_special) = specialized("diffuse", "kd", &[Some(0.5), Some(0.0), None]);
        assert_eq!((indices, is_special), (vec![0; 3], vec![false]));
    }

    #[test]
    fn many_constants_share_the_programs_for_zeros_and_ones() {
        let mut values: Vec<_> = (0..10_000).map(|k| Some(0.2 + 7e-5 * f64::from(k))).collect();
        values.extend([Some(0.0), Some(1.0), Some(0.0)]);
        let (indices, is_special) = specialized("ward", "ks", &values);
        assert_eq!(is_special, [false, true]);
        assert!(indices[..10_000].iter().all(|&index| index == 0));
        assert_eq!(indices[10_000..], [1, 0, 1]);
    }

    #[test]
    fn many_constants_share_the_programs_for_defaults() {
        let mut values: Vec<_> = (0..100).map(|k| Some(0.4 + 1e-3 * f64::from(k))).collect();
        let (indices, is_special) = specialized("openpbr", "base_metalness", &values);
        assert_eq!((&*is_special, indices), (&[true][..], vec![0; 100]));
        let general = instances("openpbr", "base_metalness", &[None]).0.remove(0).program;
        // Those that use the defaults of other parameters are cheaper than the general program.
        let (mut shaders, mut materials) = instances("openpbr", "base_metalness", &values);
        specialize_programs(&mut shaders, materials.iter_mut());
        let costs = [&general, &shaders[0].program]
            .map(|program| cost(&program.integrand().unwrap().point));
        assert!(costs[1] < costs[0] / 2, "{costs:?}");
        values.push(Some(0.0));
        let (indices, _) = specialized("openpbr", "base_metalness", &values);
        assert_eq!(indices[98..], [0, 0, 1]);
    }

    #[test]
    fn textures_are_as_good_as_constants_where_they_do_not_vary() {
        let program = |texels: Option<[f32; 2]>| {
            let (mut shaders, mut instances) = instances("openpbr", "coat_weight", &[Some(0.0)]);
            if let Some(texels) = texels {
                let image = Image::from_f32(2, 1, Channels::Grey, texels.to_vec());
                let map = ImageMap {
                    image: Arc::new(image),
                    mapping: Mapping::UV,
                    value: ImageMapValue::Float,
                    wrap: WrapMode::Repeat,
                    filter: TextureFilter::Bilinear,
                    scale: 1.0,
                    invert: false,
                };
                let value = Param::Texture(Arc::new(Texture::Image(map)));
                let settings = shaders[0].program.settable.iter().map(|p| {
                    let constant = || Setting::Constant(p.default.clone().unwrap());
                    let is_texture = p.name == "coat_weight";
                    (p, if is_texture { Setting::Varying(value.clone()) } else { constant() })
                });
                instances = vec![ShaderInstance::new(0, settings)];
            }
            specialize_programs(&mut shaders, instances.iter_mut());
            shaders.remove(instances[0].shader as usize).program
        };
        let cost = |texels| cost(&program(texels).integrand().unwrap().point);
        let constant = cost(None);
        let [zero, low, any] =
            [[0.0, 0.0], [0.0, 0.25], [0.0, 1.0]].map(|texels| cost(Some(texels)));
        assert!(constant <= zero && zero < any / 2, "{constant} {zero} {any}");
        assert!(zero < low && low <= any, "{zero} {low} {any}");
    }

    #[test]
    fn bindings_without_instances_are_removed() {
        let (mut shaders, mut instances) = instances("ward", "ks", &[Some(0.5)]);
        shaders.insert(0, shaders[0].clone());
        instances[0].shader = 1;
        specialize_programs(&mut shaders, instances.iter_mut());
        assert_eq!((shaders.len(), instances[0].shader), (1, 0));
    }
}
