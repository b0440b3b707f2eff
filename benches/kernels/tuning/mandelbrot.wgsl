//! Iterations until a point leaves the disc of radius 2 around the Mandelbrot set.

struct Medium {
    /// The point. range: [-2, 2]
    c: vec2f,
}

fn density(p: vec3f, m: Medium) -> f32 {
    var x = 0.0;
    var y = 0.0;
    var count = 0;
    while count < 100 {
        let xx = x * x;
        let yy = y * y;
        if xx + yy > 4.0 {
            break;
        }
        y = 2.0 * x * y + m.c.y;
        x = xx - yy + m.c.x;
        count += 1;
    }
    return f32(count) / 100.0;
}
