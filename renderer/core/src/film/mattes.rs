//! ID mattes: the materials and objects that a pixel shows, with the number of samples of each.
//! Image files store them in the layout of Cryptomatte.
//!
//! The counts are exact, so that merged parts are equal to an image that was rendered in one run.
//! Only the image has ranks: a pixel's [`RANKS`] ids with the most samples.
//!
//! Source: Friedman, Jones, *Fully Automatic ID Mattes with Support for Motion Blur and
//! Transparency*, SIGGRAPH posters 2015, and the Cryptomatte specification 1.2.0 (Psyop 2017).

use super::layers::{MANIFESTS, ascii_json};
use lightbound_image::write::Attribute;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Cursor;

/// Number of ids of a pixel in an image, an even number.
pub const RANKS: usize = 6;

/// Number of ids that a pixel stores inline; most pixels have no more.
const INLINE: usize = 2;

/// An id, from 1, and its number of samples; an id of 0 is none.
type Entry = (u32, u32);

/// What a matte identifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatteKind {
    /// Materials.
    Material,
    /// Objects.
    Object,
}

impl MatteKind {
    /// All kinds, in the order of files.
    pub const ALL: [MatteKind; 2] = [MatteKind::Material, MatteKind::Object];

    /// Returns the name of the layer, to which the number of two ranks is added.
    pub fn layer(self) -> &'static str {
        match self {
            MatteKind::Material => "CryptoMaterial",
            MatteKind::Object => "CryptoObject",
        }
    }

    /// Returns the name of the sums in parts.
    pub(super) fn sum(self) -> &'static str {
        match self {
            MatteKind::Material => "materialMatte",
            MatteKind::Object => "objectMatte",
        }
    }
}

/// The sums of a kind of mattes: the ids of each pixel with their numbers of samples. Empty if the
/// film does not store them.
#[derive(Debug, Default)]
pub(super) struct MatteSums {
    first: Vec<[Entry; INLINE]>,
    /// Further ids by pixel.
    others: FxHashMap<usize, Vec<Entry>>,
}

impl MatteSums {
    /// Creates the sums of `n` pixels without samples.
    pub fn new(n: usize) -> MatteSums {
        MatteSums { first: vec![[(0, 0); INLINE]; n], others: FxHashMap::default() }
    }

    /// Adds samples of an id to pixel `i`. Ignores them if the film does not store mattes.
    pub fn add(&mut self, i: usize, id: u32, samples: u32) {
        let Some(entries) = self.first.get_mut(i) else { return };
        if id == 0 || samples == 0 {
            return;
        }
        if let Some(entry) = entries.iter_mut().find(|entry| [0, id].contains(&entry.0)) {
            *entry = (id, entry.1.saturating_add(samples));
            return;
        }
        let others = self.others.entry(i).or_default();
        match others.iter_mut().find(|entry| entry.0 == id) {
            Some(entry) => entry.1 = entry.1.saturating_add(samples),
            None => others.push((id, samples)),
        }
    }

    /// Returns the ids of pixel `i` with their numbers of samples, by id: the order in which samples
    /// were added does not matter.
    pub fn entries(&self, i: usize) -> Vec<Entry> {
        let first = self.first.get(i).into_iter().flatten().filter(|entry| entry.0 != 0);
        let mut entries: Vec<Entry> =
            first.chain(self.others.get(&i).into_iter().flatten()).copied().collect();
        entries.sort_unstable();
        entries
    }

    /// Returns the maximum number of ids of a pixel.
    pub fn max_len(&self) -> usize {
        let first = self.first.iter().map(|e| e.iter().filter(|entry| entry.0 != 0).count());
        let others = self.others.values().map(|entries| INLINE + entries.len());
        first.chain(others).max().unwrap_or(0)
    }

    /// Returns the memory that all pixels need, bytes.
    #[cfg(test)]
    pub fn memory_bytes(&self) -> usize {
        size_of_val(self.first.as_slice())
    }
}

/// The numbers that stand for ids in an image: hashes of their names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MatteNames {
    /// Name and hash by id.
    names: BTreeMap<u32, (String, u32)>,
}

impl MatteNames {
    /// Reads the names of ids from the attributes of an image, see [`super::layers::manifest`].
    /// A name that several ids have is followed by the id, as in `sphere.3`.
    pub fn of(kind: MatteKind, attributes: &[(String, Attribute)]) -> MatteNames {
        let key = match kind {
            MatteKind::Material => MANIFESTS[0],
            MatteKind::Object => MANIFESTS[1],
        };
        let text = attributes.iter().find_map(|(name, value)| match value {
            Attribute::Text(text) if name == key => Some(text.as_str()),
            _ => None,
        });
        let names: BTreeMap<u32, String> =
            text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
        names.values().for_each(|name| *counts.entry(name).or_default() += 1);
        // Names of single ids stay as they are.
        let mut taken: BTreeSet<String> =
            counts.iter().filter(|(_, n)| **n == 1).map(|(name, _)| name.to_string()).collect();
        let mut unique = |id: u32, name: &str| {
            let mut unique = name.to_owned();
            if counts[name] > 1 {
                unique.push_str(&format!(".{id}"));
                while !taken.insert(unique.clone()) {
                    unique.push_str(&format!(".{id}"));
                }
            }
            let hash = hash(&unique);
            (unique, hash)
        };
        MatteNames { names: names.iter().map(|(&id, name)| (id, unique(id, name))).collect() }
    }

    /// Returns the number for an id as a float.
    fn float(&self, id: u32) -> f32 {
        let known = self.names.get(&id).map(|(_, hash)| *hash);
        f32::from_bits(known.unwrap_or_else(|| hash(&id.to_string())))
    }

    /// Returns the attributes of an image that announce the layers and their names to other
    /// programs.
    pub fn attributes(&self, kind: MatteKind) -> Vec<(String, Attribute)> {
        let prefix = format!("cryptomatte/{:07x}", hash(kind.layer()) >> 4);
        let manifest: serde_json::Map<String, serde_json::Value> = self
            .names
            .values()
            .map(|(name, hash)| (name.clone(), format!("{hash:08x}").into()))
            .collect();
        let manifest = ascii_json(&serde_json::Value::Object(manifest));
        [
            ("name", Attribute::Text(kind.layer().into())),
            ("hash", Attribute::Text("MurmurHash3_32".into())),
            ("conversion", Attribute::Text("uint32_to_float32".into())),
            ("manifest", Attribute::Text(manifest)),
        ]
        .map(|(key, value)| (format!("{prefix}/{key}"), value))
        .into()
    }
}

/// Returns the hash of a name, adjusted so that its bits form a normal float.
fn hash(name: &str) -> u32 {
    let hash = murmur3::murmur3_32(&mut Cursor::new(name), 0).expect("memory can be read");
    let exponent = hash >> 23 & 0xff;
    if exponent == 0 || exponent == 0xff { hash ^ 1 << 23 } else { hash }
}

/// Returns the ranks of a pixel, each a hash and its share of the samples, the largest first; zeros
/// follow.
pub(super) fn ranks(entries: &[Entry], samples: u32, names: &MatteNames) -> [[f32; 2]; RANKS] {
    let mut sorted: Vec<Entry> = entries.to_vec();
    // Ids with equal counts keep their order.
    sorted.sort_by_key(|entry| std::cmp::Reverse(entry.1));
    let mut ranks = [[0.0; 2]; RANKS];
    for (rank, (id, count)) in ranks.iter_mut().zip(sorted) {
        *rank = [names.float(id), (f64::from(count) / f64::from(samples)) as f32];
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_other_programs() {
        // Of the package mmh3 for Python.
        for (name, expected) in [("hello", 0x248b_fa47), ("bunny", 0x1385_1a76), ("", 0x0080_0000)]
        {
            assert_eq!(hash(name), expected, "{name}: {:08x}", hash(name));
        }
        for i in 0..10_000 {
            assert!(f32::from_bits(hash(&format!("{i}"))).is_normal());
        }
    }

    #[test]
    fn entries_do_not_depend_on_the_order_of_samples() {
        let ids = [7, 1, 3, 7, 2, 9, 1, 7, 4, 3, 7];
        let table = |ids: &mut dyn Iterator<Item = u32>| {
            let mut sums = MatteSums::new(2);
            ids.for_each(|id| sums.add(1, id, 1));
            (sums.entries(1), sums.max_len(), sums.entries(0))
        };
        let expected = vec![(1, 2), (2, 1), (3, 2), (4, 1), (7, 4), (9, 1)];
        assert_eq!(table(&mut ids.into_iter()), (expected.clone(), 6, vec![]));
        assert_eq!(table(&mut ids.into_iter().rev()), (expected, 6, vec![]));
        let mut without = MatteSums::default();
        without.add(0, 1, 1);
        assert_eq!((without.entries(0), without.max_len()), (vec![], 0));
    }

    #[test]
    fn ranks_are_sorted_by_coverage() {
        let names = MatteNames { names: (1..=9).map(|i| (i, (i.to_string(), 100 + i))).collect() };
        let entries: Vec<Entry> =
            (1..=9).map(|id| (id, if id % 2 == 0 { 5 } else { id })).collect();
        let found = ranks(&entries, 50, &names).map(|[hash, share]| (hash.to_bits() - 100, share));
        let expected = [(9, 0.18), (7, 0.14), (2, 0.1), (4, 0.1), (5, 0.1), (6, 0.1)]
            .map(|(id, share)| (id, share));
        assert_eq!(found, expected);
        assert_eq!(ranks(&[(3, 2)], 2, &names)[1..], [[0.0; 2]; RANKS - 1]);
    }

    #[test]
    fn names_of_several_ids_get_the_id() {
        let manifest = r#"{"1":"floor","2":"sphere","4":"sphere","3":"sphere.2","9999999":"é"}"#;
        let attributes = vec![("lightbound/objects".into(), Attribute::Text(manifest.into()))];
        let names = MatteNames::of(MatteKind::Object, &attributes);
        let texts: Vec<&str> = names.names.values().map(|(name, _)| name.as_str()).collect();
        assert_eq!(texts, ["floor", "sphere.2.2", "sphere.2", "sphere.4", "é"]);
        assert_eq!(names.float(1).to_bits(), hash("floor"));
        assert_eq!(names.float(9).to_bits(), hash("9"));
        let attributes = names.attributes(MatteKind::Object);
        let Some((_, Attribute::Text(manifest))) = attributes.last() else { panic!() };
        assert!(manifest.contains(&format!("\"\\u00e9\":\"{:08x}\"", hash("é"))), "{manifest}");
        assert_eq!(MatteNames::of(MatteKind::Material, &attributes), MatteNames::default());
    }
}
