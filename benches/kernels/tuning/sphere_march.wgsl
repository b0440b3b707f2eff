//! Marches a ray through distances to a sphere and a plane, for up to 100 steps.

struct Medium {
    /// Origin of the ray. range: [-4, 4]
    origin: vec3f,
    /// Longitude of its direction. range: [0, 6.2831853]
    longitude: f32,
    /// Latitude of its direction. range: [-1.5, 1.5]
    latitude: f32,
}

fn distance_to_scene(q: vec3f) -> f32 {
    return min(length(q - vec3f(0.0, 1.0, 0.0)) - 1.0, q.y + 1.0);
}

fn density(p: vec3f, m: Medium) -> f32 {
    let direction = vec3f(
        cos(m.latitude) * cos(m.longitude),
        sin(m.latitude),
        cos(m.latitude) * sin(m.longitude),
    );
    var t = 0.0;
    for (var step = 0; step < 100; step++) {
        let d = distance_to_scene(m.origin + t * direction);
        if d < 0.001 || t > 20.0 {
            break;
        }
        t += d;
    }
    return exp(-0.1 * min(t, 20.0));
}
