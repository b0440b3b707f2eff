//! Nested structs: copied, accessed by member, returned.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

struct Frame { t: vec3f, n: vec3f }
struct Hit { frame: Frame, depth: f32, both: array<Frame, 2> }

fn hit(wi: vec3f, depth: f32) -> Hit {
    let f = Frame(wi.yzx, wi);
    return Hit(f, depth, array(f, Frame(wi, f.t)));
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    var a = hit(wi, m.n);
    let b = hit(wo, 1.0);
    a.frame = b.both[1];
    a.both[0].t.x = a.depth * 0.01;
    let c = a;
    a.frame.n = vec3f(0.0);
    return m.kd * abs(c.frame.n + c.both[0].t) + abs(a.frame.t) * 0.25;
}
