override gain: f32 = 0.75;
override strong = gain > 1;
override steps: i32 = 1 + i32(strong) + gain;

struct Material {
    /// Diffuse albedo. range: [0, 1]
    kd: vec3f,
    /// Specular exponent. range: [1, 10000], default: 50
    exponent: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    return m.kd / 3.14159265;
}
