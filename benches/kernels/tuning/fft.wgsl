//! Fast Fourier transform of eight real samples (Stanford suite, FFT).

struct Medium {
    /// Samples. range: [-1, 1]
    low: vec4f,
    /// Samples. range: [-1, 1]
    high: vec4f,
    /// Logarithm of the number of samples. range: [1, 3]
    log_size: i32,
}

fn density(p: vec3f, m: Medium) -> f32 {
    var re = array<f32, 8>(
        m.low.x, m.high.x, m.low.z, m.high.z, m.low.y, m.high.y, m.low.w, m.high.w,
    );
    var im: array<f32, 8>;
    let size = 1 << u32(m.log_size);
    var half = 1;
    while half < size {
        for (var k = 0; k < half; k++) {
            let angle = -3.14159265 * f32(k) / f32(half);
            let c = cos(angle);
            let s = sin(angle);
            for (var i = k; i < size; i += 2 * half) {
                let x = re[i + half] * c - im[i + half] * s;
                let y = re[i + half] * s + im[i + half] * c;
                re[i + half] = re[i] - x;
                im[i + half] = im[i] - y;
                re[i] += x;
                im[i] += y;
            }
        }
        half *= 2;
    }
    return re[1] * re[1] + im[1] * im[1];
}
