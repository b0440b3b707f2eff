//! Tests of values at the endpoints of the ranges of parameters and random numbers.

use super::{TestMaterial, random_directions, random_points};
use lightbound_math::sampling::{ONE_MINUS_EPSILON, hash};
use lightbound_math::vec3;
use lightbound_shader::Parameter;

/// Random combinations of endpoints per shader.
const MIXTURES: u32 = 40;

/// Returns parameter sets at the endpoints of ranges: the unchanged parameters, each parameter at
/// either endpoint with the others unchanged, all parameters at their lower or upper endpoints, and
/// random combinations of endpoints and unchanged parameters.
fn extreme_parameters(material: &TestMaterial) -> Vec<Vec<u32>> {
    let members = material.shader.members();
    let endpoint = |member: &Parameter, k: usize| {
        member.range[k].is_finite().then(|| member.scalar.bits(member.range[k]))
    };
    let mut all = vec![material.parameters.clone()];
    let mut extremes = [material.parameters.clone(), material.parameters.clone()];
    let mut first = 0;
    for member in members {
        for k in [0, 1] {
            let Some(bits) = endpoint(member, k) else { continue };
            let mut words = material.parameters.clone();
            words[first..first + member.size].fill(bits);
            extremes[k][first..first + member.size].fill(bits);
            all.push(words);
        }
        first += member.size;
    }
    all.extend(extremes);
    for mixture in 0..MIXTURES {
        let mut words = material.parameters.clone();
        let mut first = 0;
        for (index, member) in (0..).zip(members) {
            let choice = hash(hash(0x717, mixture), index) % 3;
            if let Some(bits) = (choice < 2).then(|| endpoint(member, choice as usize)).flatten() {
                words[first..first + member.size].fill(bits);
            }
            first += member.size;
        }
        all.push(words);
    }
    all
}

#[test]
fn values_are_finite_at_endpoints_of_ranges() {
    let step = 0.5 * f32::EPSILON;
    let edges = [0.0, step, 0.25, 0.5 - step, 0.5, 0.75, 1.0 - 2.0 * step, ONE_MINUS_EPSILON];
    let corners = edges.into_iter().flat_map(|x| edges.map(|y| [x, y]));
    let points: Vec<_> = corners.chain(random_points(500)).collect();
    for mut material in TestMaterial::one_per_shader() {
        let grazing = [1e-3f32, 1e-6, 1e-12].map(|z| vec3(-0.6, 0.8, z).normalize());
        for parameters in extreme_parameters(&material) {
            material.parameters = parameters;
            for wo in material.outgoing_directions().into_iter().chain(grazing) {
                let samples = material.scatter(&points, wo);
                let pairs: Vec<_> = random_directions(500)
                    .into_iter()
                    .chain([wo, -wo, vec3(-wo.x, -wo.y, wo.z), vec3(wo.x, wo.y, -wo.z)])
                    .map(|wi| (wi, wo))
                    .collect();
                for sample in samples.into_iter().chain(material.evaluate(&pairs)) {
                    let values = sample.s.extend(sample.pdf);
                    // Bounding shaders rely on this precision.
                    let is_unit =
                        (sample.wi.as_dvec3().length_squared() - 1.0).abs() < 0.5f64.powi(21);
                    assert!(
                        values.is_finite() && values.min_element() >= 0.0 && is_unit,
                        "{} with {:?} from {wo}: {sample:?}",
                        material.name,
                        material
                            .parameters
                            .iter()
                            .map(|&bits| f32::from_bits(bits))
                            .collect::<Vec<_>>()
                    );
                }
            }
        }
    }
}
