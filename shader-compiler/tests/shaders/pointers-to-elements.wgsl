//! Pointers to members and elements at dynamic indices.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

struct Layer { color: vec3f, weights: array<f32, 4> }

fn add(p: ptr<function, f32>, x: f32) { *p += x; }
fn fill(w: ptr<function, array<f32, 4>>, x: f32) {
    for (var i = 0; i < 4; i++) { (*w)[i] = x * f32(i); }
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    var layers: array<Layer, 2>;
    let k = u32(wi.z * 1.9);
    fill(&layers[k].weights, m.n * 0.01);
    let p = &layers[k].weights[u32(wo.z * 3.9)];
    add(p, 0.5);
    layers[k].color = m.kd * *p;
    layers[1 - k].color.z = layers[k].weights[2];
    return layers[0].color + layers[1].color;
}
