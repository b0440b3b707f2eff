//! A pair of synthetic test images that other tools can reproduce, for cross-checking metrics.

use super::Planes;

pub const WIDTH: usize = 40;
pub const HEIGHT: usize = 28;

/// Returns the 8-bit codes of A and B. B has stripes over a checkerboard; A adds a quadratic
/// pattern.
pub fn codes() -> [Vec<[u8; 3]>; 2] {
    let reference =
        |x: usize, y: usize, c: usize| (x * 3 * (c + 1) + y * 2 + (x / 6 + y / 5) % 2 * 90) % 256;
    let change = |x: usize, y: usize, c: usize| {
        ((x * x * 5 + y * y * 3 + x * y * 7 + c * 11) % 41) as i32 - 20
    };
    let image = |code: &dyn Fn(usize, usize, usize) -> u8| {
        let pixel = |i: usize| [0, 1, 2].map(|c| code(i % WIDTH, i / WIDTH, c));
        (0..WIDTH * HEIGHT).map(pixel).collect()
    };
    let a = image(&|x, y, c| (reference(x, y, c) as i32 + change(x, y, c)).clamp(0, 255) as u8);
    [a, image(&|x, y, c| reference(x, y, c) as u8)]
}

/// Creates planes with the samples `value(column, code)`.
pub fn planes(codes: &[[u8; 3]], value: impl Fn(usize, u8) -> f32) -> Planes {
    let rgb: Vec<[f32; 3]> =
        codes.iter().enumerate().map(|(i, p)| p.map(|code| value(i % WIDTH, code))).collect();
    Planes::from_rgb(WIDTH, HEIGHT, &rgb)
}
