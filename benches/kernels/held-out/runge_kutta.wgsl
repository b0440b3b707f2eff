//! A damped pendulum, by the method of Runge and Kutta of second order.

struct Medium {
    /// Angle. range: [-3, 3]
    angle: f32,
    /// Damping. range: [0.1, 1]
    damping: f32,
    /// Number of steps. range: [1, 200]
    steps: i32,
}

fn density(p: vec3f, m: Medium) -> f32 {
    let h = 0.05;
    var angle = m.angle;
    var speed = 0.0;
    for (var step = 0; step < m.steps; step++) {
        let acceleration = -sin(angle) - m.damping * speed;
        let middle = angle + 0.5 * h * speed;
        let middle_speed = speed + 0.5 * h * acceleration;
        angle += h * middle_speed;
        speed += h * (-sin(middle) - m.damping * middle_speed);
    }
    return abs(angle) + abs(speed);
}
