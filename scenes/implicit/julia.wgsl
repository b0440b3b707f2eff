//! A Julia set of quaternions, z ← z² + c, after a few iterations: points stay within a radius of 2.
//! The loop ends when a point escapes.

struct Params {
    /// The constant: its real part and two imaginary ones. default: -0.2, 0.6, 0.2
    c: vec3f,
    /// Greatest number of iterations. range: [1, 12], default: 7
    iterations: i32,
}

fn field(p: vec3f, m: Params) -> f32 {
    var z = p;
    var r = dot(z, z);
    for (var i = 0; i < m.iterations; i++) {
        if r > 4.0 { break; }
        z = vec3f(z.x * z.x - z.y * z.y - z.z * z.z, 2.0 * z.x * z.yz) + m.c;
        r = dot(z, z);
    }
    return r - 4.0;
}
