//! Specialized programs: code for the parameters that materials have in a scene.
//!
//! Most parameters of a material are constant, and many are 0 or 1. Programs are compiled again
//! for the values of each material, which shares its program with all materials that have the same
//! constants. A shader with too many of them gets code for the zeros and ones among the constants;
//! other constants stay parameters. Images do not depend on it, since specialized code computes the
//! same numbers; but bounds are tighter, so that light sampling with them has other noise.

use super::instance::KnownWord;
use super::{Program, ShaderBinding, ShaderInstance};
use lightbound_shader::bounding::{Ranges, parameter_bounds};
use lightbound_shader::interval::Bounds;
use lightbound_shader::{Arena, Parameter};
use std::collections::HashMap;
use std::sync::Arc;

/// Greatest number of specialized programs for a shader with its textures.
const MAX_VERSIONS: usize = 16;

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
    let arena = Arena::new();
    let mut specialized = Vec::new();
    for (binding, instances) in std::iter::zip(shaders.drain(..), uses) {
        let mut general = None;
        let mut versions: HashMap<Vec<KnownWord>, Option<u32>> = HashMap::new();
        let keys = keys(&instances.iter().map(|i| i.known_words()).collect::<Vec<_>>());
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
        }
    }
    *shaders = specialized;
}

/// Returns for each instance what its program is specialized for; `None` for the general program.
fn keys(words: &[Vec<KnownWord>]) -> Vec<Option<Vec<KnownWord>>> {
    if most_frequent(words).len() <= MAX_VERSIONS {
        return words.iter().map(|words| Some(words.clone())).collect();
    }
    let plain: Vec<_> = words.iter().map(|words| zeros_and_ones(words)).collect();
    let mut chosen = most_frequent(&plain);
    chosen.truncate(MAX_VERSIONS);
    plain.iter().map(|words| chosen.contains(&words).then(|| words.clone())).collect()
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

/// Keeps only the constants 0 and 1, of any type.
fn zeros_and_ones(words: &[KnownWord]) -> Vec<KnownWord> {
    const TRUE: u32 = !0;
    let one = 1.0_f32.to_bits();
    let keep = |word: &KnownWord| match *word {
        KnownWord::Constant(x) if ![0, 1, one, TRUE].contains(&x) => KnownWord::InRange,
        word => word,
    };
    words.iter().map(keep).collect()
}

/// Bounds on each word of the settable parameters.
fn bounds(settable: &[Parameter], words: &[KnownWord]) -> Vec<Bounds> {
    let parameters = settable.iter().flat_map(|p| std::iter::repeat_n(p, p.size));
    let bounds = std::iter::zip(parameters, words).map(|(parameter, word)| {
        let range = parameter_bounds(parameter, Ranges::Declared);
        match *word {
            KnownWord::Constant(bits) => Bounds::constant(range.ty(), bits),
            KnownWord::InRange => range,
            KnownWord::Unknown => Bounds::all(range.ty()),
        }
    });
    bounds.collect()
}
