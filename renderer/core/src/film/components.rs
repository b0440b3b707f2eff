//! Components of radiance: light by the kind of its path, and by the group of its light.
//!
//! Each of these lists sums to the radiance, exactly:
//!
//! - `emission`, `direct` and `indirect`: light after 0, 1 and at least 2 scattering events;
//! - `emission`, `diffuse` and `specular`: scattered light by the lobe of the first scattering event
//!   from the camera;
//! - the light groups.
//!
//! A sample's components are floats that sum to its radiance up to rounding. All but the largest are
//! converted to fixed point, and the largest is what remains of the radiance. So the equality holds
//! for every sample, components without light are exactly 0, and the film stores one sum less than
//! each list has: `indirect`, `specular` and the last group are differences of sums.

use super::fixed::{RADIANCE_LIMIT, radiance_to_fixed};
use lightbound_math::Vec3;

/// Maximum number of light groups that a film stores, more than memory allows for most images.
pub const MAX_LIGHT_GROUPS: u32 = 4096;

/// The components that a film stores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ComponentLayers {
    /// Light without a scattering event: emitters and environments that the camera sees.
    pub emission: bool,
    /// Light after one scattering event.
    pub direct: bool,
    /// Light after at least two scattering events.
    pub indirect: bool,
    /// Light whose first scattering event from the camera is diffuse.
    pub diffuse: bool,
    /// All other scattered light.
    pub specular: bool,
    /// Number of light groups; 0 if they are not stored.
    pub light_groups: u32,
}

/// A component of radiance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Component {
    /// [`ComponentLayers::emission`].
    Emission,
    /// [`ComponentLayers::direct`].
    Direct,
    /// [`ComponentLayers::indirect`].
    Indirect,
    /// [`ComponentLayers::diffuse`].
    Diffuse,
    /// [`ComponentLayers::specular`].
    Specular,
    /// Light of a group, by its index.
    LightGroup(u32),
}

impl Component {
    /// Returns the name of the EXR layer. `groups` are the names of the light groups.
    pub fn layer(self, groups: &[String]) -> String {
        match self {
            Component::Emission => "emission".into(),
            Component::Direct => "direct".into(),
            Component::Indirect => "indirect".into(),
            Component::Diffuse => "diffuse".into(),
            Component::Specular => "specular".into(),
            Component::LightGroup(group) => match groups.get(group as usize) {
                Some(name) => format!("light_{name}"),
                // Only files that were edited have fewer names.
                None => format!("light_{group}"),
            },
        }
    }
}

impl ComponentLayers {
    /// All components, with this number of light groups.
    pub const fn all(light_groups: u32) -> ComponentLayers {
        ComponentLayers {
            emission: true,
            direct: true,
            indirect: true,
            diffuse: true,
            specular: true,
            light_groups,
        }
    }

    /// Returns whether no component is stored.
    pub fn is_empty(&self) -> bool {
        *self == ComponentLayers::default()
    }

    /// Returns whether components by the kind of path are stored.
    pub fn has_paths(&self) -> bool {
        let ComponentLayers { emission, direct, indirect, diffuse, specular, light_groups: _ } =
            *self;
        emission || direct || indirect || diffuse || specular
    }

    /// Returns whether components by the lobe of the first scattering event are stored.
    pub fn has_lobes(&self) -> bool {
        self.diffuse || self.specular
    }

    /// Iterates over the components.
    pub fn iter(self) -> impl Iterator<Item = Component> {
        let paths = [
            (Component::Emission, self.emission),
            (Component::Direct, self.direct),
            (Component::Indirect, self.indirect),
            (Component::Diffuse, self.diffuse),
            (Component::Specular, self.specular),
        ];
        let paths = paths.into_iter().filter(|(_, is_stored)| *is_stored).map(|(c, _)| c);
        paths.chain((0..self.light_groups).map(Component::LightGroup))
    }

    /// Returns whether the sums of emission, direct and diffuse light are stored: all that the
    /// components need.
    fn path_sums(&self) -> [bool; 3] {
        [
            self.emission || self.indirect || self.specular,
            self.direct || self.indirect,
            self.diffuse || self.specular,
        ]
    }

    /// Returns the names of the stored sums, in their order.
    pub(super) fn sum_names(&self) -> Vec<String> {
        let paths = ["emission", "direct", "diffuse"].into_iter().zip(self.path_sums());
        let paths = paths.filter(|(_, is_stored)| *is_stored).map(|(name, _)| name.to_owned());
        paths.chain((1..self.light_groups).map(|group| format!("light{}", group - 1))).collect()
    }

    /// Returns the number of stored sums.
    pub(super) fn sum_count(&self) -> usize {
        self.sum_names().len()
    }
}

/// The components of the radiance of a sample. They may be rounded.
#[derive(Clone, Copy, Debug, Default)]
pub struct ComponentValues<'a> {
    /// By the kind of path: emission, direct, indirect, diffuse and specular.
    pub paths: [Vec3; 5],
    /// For each light group.
    pub light_groups: &'a [Vec3],
}

/// Sums of the components of a tile's pixels, one column for each of
/// [`ComponentLayers::sum_names`].
#[derive(Debug)]
pub(super) struct ComponentSums {
    layers: ComponentLayers,
    pub columns: Vec<Vec<[i128; 3]>>,
}

impl ComponentSums {
    /// Creates the sums of `n` pixels, all 0.
    pub fn new(layers: ComponentLayers, n: usize) -> ComponentSums {
        ComponentSums { layers, columns: vec![vec![[0; 3]; n]; layers.sum_count()] }
    }

    /// Adds a sample to pixel `i`. `radiance` is the fixed-point radiance that the film adds.
    pub fn add(&mut self, i: usize, radiance: [i128; 3], values: &ComponentValues<'_>) {
        let layers = self.layers;
        for (channel, &total) in radiance.iter().enumerate() {
            let [emission, direct, indirect, diffuse, specular] = values.paths.map(|v| v[channel]);
            let emitted = smaller_first(total, emission, direct + indirect);
            let scattered = total - emitted;
            let paths = [
                emitted,
                smaller_first(scattered, direct, indirect),
                smaller_first(scattered, diffuse, specular),
            ];
            let mut columns = self.columns.iter_mut();
            let mut add = |x: i128| {
                let sum = &mut columns.next().expect("one column per sum")[i][channel];
                // Only a film resumed from a damaged file can overflow.
                *sum = sum.wrapping_add(x);
            };
            let stored = paths.into_iter().zip(layers.path_sums());
            stored.filter(|(_, is_stored)| *is_stored).for_each(|(x, _)| add(x));
            if layers.light_groups > 1 {
                let group = |k: usize| values.light_groups[k][channel];
                let n = layers.light_groups as usize;
                let largest =
                    (0..n).fold(0, |a, b| if group(b).abs() > group(a).abs() { b } else { a });
                let others: i128 =
                    (0..n).filter(|&k| k != largest).map(|k| to_fixed(group(k))).sum();
                for k in 0..n - 1 {
                    add(if k == largest { total - others } else { to_fixed(group(k)) });
                }
            }
        }
    }

    /// Returns the sum of a component of pixel `i`. `radiance` is the sum of the radiance.
    pub fn sum(&self, component: Component, i: usize, radiance: [i128; 3]) -> [i128; 3] {
        let layers = self.layers;
        let paths = layers.path_sums();
        let stored = |index: usize| self.columns[index][i];
        let path = |k: usize| stored(paths[..k].iter().filter(|is_stored| **is_stored).count());
        let difference = |a: [i128; 3], b: [i128; 3]| {
            [0, 1, 2].map(|channel| i128::wrapping_sub(a[channel], b[channel]))
        };
        match component {
            Component::Emission => path(0),
            Component::Direct => path(1),
            Component::Diffuse => path(2),
            Component::Indirect => difference(difference(radiance, path(0)), path(1)),
            Component::Specular => difference(difference(radiance, path(0)), path(2)),
            Component::LightGroup(group) => {
                let first = paths.iter().filter(|is_stored| **is_stored).count();
                if group + 1 < layers.light_groups {
                    stored(first + group as usize)
                } else {
                    (first..self.columns.len()).map(stored).fold(radiance, difference)
                }
            }
        }
    }
}

/// Returns the fixed-point value of `a`, if `total` is `a` + `b` up to rounding: the smaller of both
/// is converted, and the other is what remains.
fn smaller_first(total: i128, a: f32, b: f32) -> i128 {
    if a.abs() <= b.abs() { to_fixed(a) } else { total - to_fixed(b) }
}

/// Converts a component of a valid sample, clamped to the film's range. A component may overflow
/// although the sample does not, if others are negative.
fn to_fixed(x: f32) -> i128 {
    if x.is_nan() { 0 } else { radiance_to_fixed(x.clamp(-RADIANCE_LIMIT, RADIANCE_LIMIT)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_math::sampling::{hash, unit_float};
    use proptest::prelude::*;

    fn sum_of(sums: &ComponentSums, components: &[Component], radiance: [i128; 3]) -> [i128; 3] {
        components
            .iter()
            .map(|&c| sums.sum(c, 0, radiance))
            .fold([0; 3], |a, b| [0, 1, 2].map(|channel| a[channel] + b[channel]))
    }

    proptest! {
        #[test]
        fn lists_sum_to_the_radiance_exactly(seed: u32, groups in 1u32..5) {
            let layers = ComponentLayers::all(groups);
            let mut sums = ComponentSums::new(layers, 1);
            let mut total = [0; 3];
            for sample in 0..20 {
                let random = |k: u32, channel: u32| {
                    let u = unit_float(hash(hash(seed, sample), 3 * k + channel));
                    if u < 0.3 { 0.0 } else { (u - 0.5) * 10f32.powi((u * 1e4) as i32 % 9 - 4) }
                };
                let value = |k| Vec3::from([0, 1, 2].map(|channel| random(k, channel)));
                let groups: Vec<Vec3> = (0..groups).map(value).collect();
                // The sums of floats differ in rounding.
                let radiance = groups.iter().fold(Vec3::ZERO, |sum, v| sum + *v);
                let [a, b, c] = [10, 11, 12].map(value);
                let paths = [radiance - a, a - b, b, a - c, c];
                let fixed = radiance.to_array().map(radiance_to_fixed);
                total = [0, 1, 2].map(|channel| total[channel] + fixed[channel]);
                sums.add(0, fixed, &ComponentValues { paths, light_groups: &groups });
            }
            use Component::{Diffuse, Direct, Emission, Indirect, LightGroup, Specular};
            prop_assert_eq!(sum_of(&sums, &[Emission, Direct, Indirect], total), total);
            prop_assert_eq!(sum_of(&sums, &[Emission, Diffuse, Specular], total), total);
            let groups: Vec<Component> = (0..groups).map(LightGroup).collect();
            prop_assert_eq!(sum_of(&sums, &groups, total), total);
        }
    }

    #[test]
    fn components_without_light_are_zero() {
        let mut sums = ComponentSums::new(ComponentLayers::all(3), 1);
        let radiance = Vec3::new(0.3, 1e-9, 7.0);
        // Off by rounding.
        let value = radiance * (1.0 + 2.0 * f32::EPSILON);
        let fixed = radiance.to_array().map(radiance_to_fixed);
        let paths = [Vec3::ZERO, value, Vec3::ZERO, Vec3::ZERO, value];
        sums.add(
            0,
            fixed,
            &ComponentValues { paths, light_groups: &[Vec3::ZERO, value, Vec3::ZERO] },
        );
        let sum = |component| sums.sum(component, 0, fixed);
        for component in [Component::Direct, Component::Specular, Component::LightGroup(1)] {
            assert_eq!(sum(component), fixed, "{component:?}");
        }
        for component in [
            Component::Emission,
            Component::Indirect,
            Component::Diffuse,
            Component::LightGroup(0),
            Component::LightGroup(2),
        ] {
            assert_eq!(sum(component), [0; 3], "{component:?}");
        }
    }

    #[test]
    fn any_subset_of_components_has_the_sums_of_all() {
        let radiance = Vec3::new(3.0, 2.0, 1.0);
        let paths = [0.5, 1.0, 1.5, 2.25, 0.25].map(|x| x / 3.0 * radiance);
        let groups = [0.25 * radiance, 0.75 * radiance];
        let values = ComponentValues { paths, light_groups: &groups };
        let fixed = radiance.to_array().map(radiance_to_fixed);
        let sums = |layers| {
            let mut sums = ComponentSums::new(layers, 1);
            sums.add(0, fixed, &values);
            sums
        };
        let all = sums(ComponentLayers::all(2));
        for bits in 0..64 {
            let bit = |i: u32| bits >> i & 1 == 1;
            let layers = ComponentLayers {
                emission: bit(0),
                direct: bit(1),
                indirect: bit(2),
                diffuse: bit(3),
                specular: bit(4),
                light_groups: if bit(5) { 2 } else { 0 },
            };
            let some = sums(layers);
            for component in layers.iter() {
                let expected = all.sum(component, 0, fixed);
                assert_eq!(some.sum(component, 0, fixed), expected, "{layers:?} {component:?}");
            }
        }
    }
}
