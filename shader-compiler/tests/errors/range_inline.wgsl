struct Material { /** Albedo. range: [0, 1] */ kd: vec3f, /** range: [0, one] */ k: f32 }

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    return m.kd / 3.14159265;
}
