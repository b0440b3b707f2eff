//! Solves a symmetric system of three equations by Gaussian elimination.

struct Medium {
    /// Elements beside the diagonal. range: [-1, 1]
    sides: vec3f,
    /// Right side. range: [-1, 1]
    right: vec3f,
    /// Diagonal. range: [3, 5]
    diagonal: f32,
}

fn density(p: vec3f, m: Medium) -> f32 {
    var a = array<f32, 9>(
        m.diagonal, m.sides.x, m.sides.y,
        m.sides.x, m.diagonal, m.sides.z,
        m.sides.y, m.sides.z, m.diagonal,
    );
    var x = array<f32, 3>(m.right.x, m.right.y, m.right.z);
    for (var pivot = 0; pivot < 3; pivot++) {
        for (var row = pivot + 1; row < 3; row++) {
            let factor = a[3 * row + pivot] / a[4 * pivot];
            for (var column = pivot; column < 3; column++) {
                a[3 * row + column] -= factor * a[3 * pivot + column];
            }
            x[row] -= factor * x[pivot];
        }
    }
    for (var row = 2; row >= 0; row--) {
        for (var column = row + 1; column < 3; column++) {
            x[row] -= a[3 * row + column] * x[column];
        }
        x[row] /= a[4 * row];
    }
    return x[0] * x[0] + x[1] * x[1] + x[2] * x[2];
}
