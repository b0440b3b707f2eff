//! A sheet along a gyroid, sin x cos y + sin y cos z + sin z cos x = 0, cut to a ball.

struct Params {
    /// Radius of the ball. range: (0, 100], default: 1
    radius: f32,
    /// Frequency, radians per unit of length. range: (0, 1000], default: 9
    frequency: f32,
    /// Half the thickness of the sheet, in units of the field. range: [0, 1.5], default: 0.3
    thickness: f32,
}

fn field(p: vec3f, m: Params) -> f32 {
    let q = m.frequency * p;
    let sheet = abs(dot(sin(q), cos(q.yzx))) - m.thickness;
    return max(sheet, length(p) - m.radius);
}
