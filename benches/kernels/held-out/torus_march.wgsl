//! Marches a ray to a torus and counts the steps; the shade is a cosine with the normal.

struct Medium {
    /// Point of the image. range: [-1, 1]
    at: vec2f,
    /// Minor radius. range: [0.1, 0.5]
    radius: f32,
}

fn torus(q: vec3f, radius: f32) -> f32 {
    let ring = length(q.xz) - 1.0;
    return length(vec2f(ring, q.y)) - radius;
}

fn density(p: vec3f, m: Medium) -> f32 {
    let direction = normalize(vec3f(m.at.x, m.at.y - 0.5, 1.5));
    var q = vec3f(0.0, 1.0, -3.0);
    var steps = 0;
    var travelled = 0.0;
    while steps < 64 && travelled < 8.0 {
        let d = torus(q, m.radius);
        if d < 0.001 {
            break;
        }
        q += d * direction;
        travelled += d;
        steps += 1;
    }
    let e = 0.001;
    let slope = (torus(q + vec3f(0.0, e, 0.0), m.radius) - torus(q, m.radius)) / e;
    return select(0.0, 0.5 + 0.5 * clamp(slope, -1.0, 1.0), travelled < 8.0) + f32(steps) / 64.0;
}
