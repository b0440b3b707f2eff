//! Specialized programs: code for the parameters that materials have in a scene.
//!
//! Most parameters of a material are constant, many are 0 or 1, and textures have a least and a
//! greatest value (the dynamic bounds assumptions of Clarberg et al. 2010 §4.5). Programs are
//! compiled again for the values of each material, which shares its program with all materials for
//! which the same is known, whatever images their shaders have. A shader with too many of them gets
//! code for the defaults, zeros and ones among the constants, or else for zeros and ones; other
//! constants and textures stay parameters. Images do not depend on it, since specialized code
//! computes the same numbers; but bounds are tighter, so that lights and directions sampled from
//! them have other noise.
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

/// Greatest number of specialized programs for a shader, over all of its bindings.
const MAX_VERSIONS: usize = 32;

/// Specializes the programs in `shaders` for their instances, and changes the instances to use
/// them. Bindings without instances are removed. A program whose specialized code cannot be compiled
/// stays general. Bindings of one program that are specialized for the same values share the
/// specialized program.
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
    // For each program, what is known at each use, in the order of bindings.
    let mut words: HashMap<*const Program, Vec<Vec<KnownWord>>> = HashMap::new();
    for (binding, instances) in std::iter::zip(&*shaders, &uses) {
        let known = instances.iter().map(|instance| instance.known_words(&mut extents));
        words.entry(Arc::as_ptr(&binding.program)).or_default().extend(known);
    }
    // The programs for these uses; each binding takes the next ones.
    let mut versions: HashMap<*const Program, std::vec::IntoIter<Arc<Program>>> = HashMap::new();
    let mut specialized: Vec<ShaderBinding> = Vec::new();
    // The instances of each specialized binding.
    let mut users: Vec<Vec<&ShaderInstance>> = Vec::new();
    for (binding, instances) in std::iter::zip(shaders.drain(..), uses) {
        let general = Arc::as_ptr(&binding.program);
        let programs = versions.entry(general).or_insert_with(|| {
            let words = words.remove(&general).expect("its uses have been found");
            versions_for(&arena, &binding.program, words).into_iter()
        });
        let mut indices: HashMap<*const Program, u32> = HashMap::new();
        for (instance, program) in std::iter::zip(instances, programs) {
            instance.shader = *indices.entry(Arc::as_ptr(&program)).or_insert_with(|| {
                specialized.push(ShaderBinding { program, ..binding.clone() });
                users.push(Vec::new());
                specialized.len() as u32 - 1
            });
            users[instance.shader as usize].push(instance);
        }
    }
    add_regions(&mut specialized, users, &mut extents);
    *shaders = specialized;
}

/// Adds regions to the programs of bindings with these instances.
fn add_regions(
    shaders: &mut [ShaderBinding],
    users: Vec<Vec<&ShaderInstance>>,
    extents: &mut Extents,
) {
    /// A program with regions, and the program without.
    struct WithRegions {
        without: Arc<Program>,
        regions: Vec<Vec<Bounds>>,
        program: Arc<Program>,
    }
    // Textures of parameters are the instances', so bindings of one program may have different
    // regions.
    let mut programs: Vec<WithRegions> = Vec::new();
    for (binding, instances) in std::iter::zip(shaders, users) {
        let regions = regions::find(&binding.program.settable, &instances, extents);
        if regions.is_empty() {
            continue;
        }
        let without = binding.program.clone();
        let is_same = |other: &&WithRegions| {
            Arc::ptr_eq(&other.without, &without) && other.regions == regions
        };
        if let Some(existing) = programs.iter().find(is_same) {
            binding.program = existing.program.clone();
        } else {
            binding.program = Arc::new(without.with_regions(&regions));
            programs.push(WithRegions { without, regions, program: binding.program.clone() });
        }
    }
}

/// Returns the program for each use of a program, given what is known about its parameters there.
fn versions_for(
    arena: &Arena,
    general: &Arc<Program>,
    words: Vec<Vec<KnownWord>>,
) -> Vec<Arc<Program>> {
    let mut versions: HashMap<Vec<KnownWord>, Arc<Program>> = HashMap::new();
    let version = |key: Option<Vec<KnownWord>>| {
        let Some(key) = key else { return general.clone() };
        let specialize = |key: &Vec<KnownWord>| {
            let known = bounds(&general.settable, key);
            let program = general.specialize(arena, &known).ok().flatten();
            program.map_or_else(|| general.clone(), Arc::new)
        };
        versions.entry(key).or_insert_with_key(specialize).clone()
    };
    keys(&general.settable, words).into_iter().map(version).collect()
}

/// Returns for each use what its program is specialized for; `None` for the general program.
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
    use std::collections::HashSet;

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

    /// An instance with a setting of one parameter, and the defaults of the others.
    fn instance(
        shader: usize,
        program: &Program,
        parameter: &str,
        setting: &Setting,
    ) -> ShaderInstance {
        let default = |p: &Parameter| Setting::Constant(p.default.clone().unwrap());
        let setting =
            |p: &Parameter| if p.name == parameter { setting.clone() } else { default(p) };
        ShaderInstance::new(shader as u32, program.settable.iter().map(|p| (p, setting(p))))
    }

    /// A row of texels.
    fn image(texels: &[f32]) -> Setting {
        let image = Image::from_f32(texels.len() as u32, 1, Channels::Grey, texels.to_vec());
        let map = ImageMap {
            image: Arc::new(image),
            mapping: Mapping::UV,
            value: ImageMapValue::Float,
            wrap: WrapMode::Repeat,
            filter: TextureFilter::Bilinear,
            scale: 1.0,
            invert: false,
        };
        Setting::Varying(Param::Texture(Arc::new(Texture::Image(map))))
    }

    #[test]
    fn textures_are_as_good_as_constants_where_they_do_not_vary() {
        let program = |setting: Setting| {
            let (mut shaders, _) = instances("openpbr", "coat_weight", &[]);
            let mut instances = [instance(0, &shaders[0].program, "coat_weight", &setting)];
            specialize_programs(&mut shaders, instances.iter_mut());
            shaders.remove(instances[0].shader as usize).program
        };
        let cost = |setting| cost(&program(setting).integrand().unwrap().point);
        let constant = cost(Setting::Constant(vec![0.0]));
        let [zero, low, any] =
            [[0.0, 0.0], [0.0, 0.25], [0.0, 1.0]].map(|texels| cost(image(&texels)));
        assert!(constant <= zero && zero < any / 2, "{constant} {zero} {any}");
        assert!(zero < low && low <= any, "{zero} {low} {any}");
    }

    /// Specializes bindings of `openpbr` to as many textures, each with an instance with this
    /// metalness.
    fn bindings_of_textures(metalness: &[Setting]) -> Vec<ShaderBinding> {
        let text = library::find("openpbr").expect("the library has it").text;
        let text = format!(
            "{text}
            var table: texture_2d<f32>;
            fn material(p: SurfacePoint, m: Material) -> Material {{
                var result = m;
                result.base_color *= textureLoad(table, vec2i(p.uv), 0).rgb;
                return result;
            }}"
        );
        let shader = Shader::parse("textured", &text).unwrap();
        let settings = Settings::default();
        let program = Program::compile(&Arena::new(), &shader, &settings, Target::best()).unwrap();
        let program = Arc::new(program);
        let bind = || {
            let texture = lightbound_shader::Texture::new(1, &[[0.5; 4]]);
            ShaderBinding::new(program.clone(), vec![Arc::new(texture)])
        };
        let mut shaders: Vec<_> = metalness.iter().map(|_| bind()).collect();
        let metalness = metalness.iter().enumerate();
        let mut instances: Vec<_> = metalness
            .map(|(shader, metalness)| instance(shader, &program, "base_metalness", metalness))
            .collect();
        specialize_programs(&mut shaders, instances.iter_mut());
        let indices: Vec<_> = instances.iter().map(|instance| instance.shader as usize).collect();
        assert_eq!(indices, Vec::from_iter(0..shaders.len()), "each texture keeps its binding");
        assert!(shaders.iter().all(|binding| binding.program.is_specialized()));
        shaders
    }

    /// The number of different programs.
    fn count_programs(shaders: &[ShaderBinding]) -> usize {
        HashSet::<_>::from_iter(shaders.iter().map(|binding| Arc::as_ptr(&binding.program))).len()
    }

    #[test]
    fn bindings_of_different_textures_share_programs() {
        let values = (0..12).map(|k| Setting::Constant(vec![f64::from(k % 3) / 4.0]));
        let shaders = bindings_of_textures(&Vec::from_iter(values));
        assert_eq!((shaders.len(), count_programs(&shaders)), (12, 3));
        assert!(Arc::ptr_eq(&shaders[1].program, &shaders[10].program));
        assert!(!Arc::ptr_eq(&shaders[1].textures[0], &shaders[10].textures[0]));
    }

    #[test]
    fn versions_are_limited_over_all_bindings() {
        let values =
            |count| (0..count).map(|k| Setting::Constant(vec![0.25 + 0.01 * f64::from(k)]));
        for (count, programs) in [(4, 4), (MAX_VERSIONS as u32 + 1, 1)] {
            let shaders = bindings_of_textures(&Vec::from_iter(values(count)));
            assert_eq!(count_programs(&shaders), programs);
        }
    }

    #[test]
    fn bindings_share_programs_if_their_regions_are_the_same() {
        let rows =
            [[0.0, 0.0, 0.0, 0.0, 0.5, 0.5, 0.5, 1.0], [0.0, 0.5, 0.5, 0.5, 1.0, 1.0, 1.0, 1.0]];
        let [dielectric, metal] = rows.map(|row| image(&row));
        let shaders = bindings_of_textures(&[dielectric.clone(), metal, dielectric]);
        assert!(shaders.iter().all(|binding| !binding.program.regions().is_empty()));
        assert_eq!(count_programs(&shaders), 2);
        assert!(Arc::ptr_eq(&shaders[0].program, &shaders[2].program));
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
