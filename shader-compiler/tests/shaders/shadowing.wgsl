//! Declarations that shadow outer ones.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    var x = wi.z;
    {
        var x = 2.0;
        x *= wo.z;
        if x > 1.0 { let x = 0.5; return m.kd * x; }
    }
    for (var x = 0; x < 3; x++) { let y = x; }
    x += 0.25;
    return m.kd * x;
}
