//! Phase function of Rayleigh 1871, *On the light from the sky*, for particles much smaller than the
//! wavelength, such as the molecules of air, and unpolarized light:
//!
//!     p = 3/(16π) (1 + cos² θ)
//!
//! where θ is the angle by which light turns. Reciprocal; the albedo is 1. Directions are sampled
//! exactly.

const PI = 3.14159265358979;

fn phase(wi: vec3f, wo: vec3f) -> f32 {
    let c = dot(wi, wo);
    return 3.0 / (16.0 * PI) * (1.0 + c * c);
}

fn pdf(wi: vec3f, wo: vec3f) -> f32 {
    return phase(wi, wo);
}

fn sample(u: vec2f, wo: vec3f) -> vec3f {
    // Inversion of the cumulative distribution of the cosine, (4 + 3z + z³)/8, by Cardano's formula
    // for z ≥ 0; mirrored for z < 0.
    let x = 4.0 * u.x - 2.0;
    let root = pow(abs(x) + sqrt(x * x + 1.0), 1.0 / 3.0);
    let z = min(root - 1.0 / root, 1.0);
    let sine = sqrt((1.0 - z) * (1.0 + z));
    let turn = 2.0 * PI * u.y;
    return vec3f(sine * vec2f(cos(turn), sin(turn)), select(z, -z, x < 0.0));
}
