//! An array of structs with a dynamic index.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

struct Lobe { weight: f32, color: vec3f }

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    var lobes = array(Lobe(0.25, m.kd), Lobe(0.5, vec3f(0.2)), Lobe());
    let k = u32(wo.z * 2.9);
    lobes[k].weight += wi.z;
    lobes[2 - k].color.y = 0.75;
    let l = lobes[k];
    return l.weight * l.color + lobes[2].color;
}
