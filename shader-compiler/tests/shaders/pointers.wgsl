//! Pointers to variables as function arguments.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn scale(p: ptr<function, vec3f>, by: f32) -> f32 {
    let before = (*p).x;
    *p *= by;
    return before;
}

fn swap(a: ptr<function, f32>, b: ptr<function, f32>) {
    let t = *a;
    *a = *b;
    *b = t;
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    var c = m.kd;
    var x = wi.z;
    var y = abs(wo.x);
    let before = scale(&c, 0.5);
    if x > y { swap(&x, &y); }
    let p = &x;
    *p += before;
    return c + vec3f(x, y, 0.0) * 0.25;
}
