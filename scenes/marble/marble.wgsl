//! Polished marble: a solid pattern of veins in object space, under a clear coat.
//!
//! The pattern is Perlin's marble (*An image synthesizer*, SIGGRAPH 1985): a wave across the stone,
//! displaced by turbulence, which is a sum of octaves of gradient noise. Gradients at lattice
//! points come from integer hashes.

const INV_PI = 0.3183098861837907;

struct Material {
    /// Colour of the stone. range: [0, 1], default: (0.8, 0.78, 0.74), lobe: diffuse
    stone: vec3f,
    /// Colour of the veins. range: [0, 1], default: (0.12, 0.13, 0.15), lobe: diffuse
    vein: vec3f,
    /// Features per unit of length in object space. range: [0, 1000], default: 2
    scale: f32,
    /// Displacement of the veins by turbulence, relative to their spacing.
    /// range: [0, 100], default: 2.5
    turbulence: f32,
    /// Width of the veins, from 0 (lines) to 1 (waves). range: [0, 1], default: 0.3
    width: f32,
    /// Octaves of turbulence. range: [1, 10], default: 6
    octaves: u32,
    /// Roughness of the polish: root mean square slope. range: [0.01, 1], default: 0.06
    roughness: f32,
    /// Reflectance of the polish at normal incidence. range: [0, 1], default: 0.045
    f0: f32,
}

/// Hashes a lattice point.
fn hash(p: vec3i) -> u32 {
    let q = bitcast<vec3u>(p) * vec3u(0x8da6b343u, 0xd8163841u, 0xcb1ab31fu);
    var h = q.x ^ q.y ^ q.z;
    h = (h ^ (h >> 15u)) * 0x2c1b3c6du;
    h = (h ^ (h >> 12u)) * 0x297a2d39u;
    return h ^ (h >> 15u);
}

/// Dot product of an offset and the gradient at a lattice point. Each component of the gradient has
/// one of 1024 values in [-1, 1].
fn gradient(lattice: vec3i, offset: vec3f) -> f32 {
    let h = hash(lattice);
    let g = vec3f(vec3u(h, h >> 10u, h >> 20u) & vec3u(1023u)) * (2.0 / 1023.0) - 1.0;
    return dot(g, offset);
}

/// Gradient noise, approximately in [-1, 1].
fn noise(p: vec3f) -> f32 {
    let cell = floor(p);
    let i = vec3i(cell);
    let f = p - cell;
    let w = f * f * f * (f * (f * 6.0 - 15.0) + 10.0);
    var sum = 0.0;
    for (var corner = 0; corner < 8; corner++) {
        let c = vec3i(corner & 1, (corner >> 1u) & 1, corner >> 2u);
        let t = select(1.0 - w, w, c == vec3i(1));
        sum += t.x * t.y * t.z * gradient(i + c, f - vec3f(c));
    }
    return sum;
}

/// Sum of noise octaves, each with half the size and half the amplitude of the previous one.
fn turbulence(p: vec3f, octaves: u32) -> f32 {
    var sum = 0.0;
    var amplitude = 1.0;
    var q = p;
    for (var i = 0u; i < min(octaves, 10u); i++) {
        sum += amplitude * abs(noise(q));
        amplitude *= 0.5;
        // The rotation keeps the lattices of the octaves from coinciding.
        q = 2.0 * vec3f(0.8 * q.x - 0.6 * q.y, 0.6 * q.x + 0.8 * q.y, q.z) + vec3f(17.3, 5.9, 11.1);
    }
    return sum;
}

fn material(p: SurfacePoint, m: Material) -> Material {
    let q = p.object_position * m.scale;
    let wave = q.x + 0.35 * q.y + 0.6 * q.z + m.turbulence * turbulence(q, m.octaves);
    // 1 in the middle of a vein. Low-frequency clouds make veins fade and swell.
    let ridge = 1.0 - abs(2.0 * fract(wave) - 1.0);
    let cloud = 0.5 + 0.5 * noise(0.7 * q + vec3f(31.7));
    let vein = pow(ridge, 2.0 / max(m.width, 0.01)) * (0.35 + 0.65 * cloud);
    var result = m;
    result.stone = mix(m.stone * (0.82 + 0.25 * cloud), m.vein, clamp(vein, 0.0, 1.0));
    return result;
}

fn pow5(x: f32) -> f32 {
    let x2 = x * x;
    return x2 * x2 * x;
}

/// π times the Beckmann density of the coat's normals at h.
fn beckmann(h_z: f32, roughness: f32) -> f32 {
    let cos2 = max(h_z * h_z, 1e-6);
    let a2 = roughness * roughness;
    return exp(max((cos2 - 1.0) / (cos2 * a2), -80.0)) / (a2 * cos2 * sqrt(cos2));
}

/// Fresnel reflectance (Schlick 1994).
fn fresnel(cosine: f32, f0: f32) -> f32 {
    return f0 + (1.0 - f0) * pow5(1.0 - cosine);
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    // The coat uses the form of Ashikhmin and Shirley 2000, which needs no masking.
    let h = normalize(wi + wo);
    let c = max(dot(wi, h), 0.0);
    let coat = fresnel(c, m.f0) * beckmann(h.z, m.roughness)
        / (4.0 * max(c * max(wi.z, wo.z), 1e-4));
    // Transmittance of the coat on the way in and out.
    let transmittance = (1.0 - m.f0) * (1.0 - pow5(1.0 - wi.z)) * (1.0 - pow5(1.0 - wo.z));
    return (m.stone * transmittance + coat) * INV_PI;
}

/// Probability of sampling the coat: approximately its share of the reflected light.
fn coat_share(wo: vec3f, m: Material) -> f32 {
    let f = fresnel(wo.z, m.f0);
    return f / (f + max(max(m.stone.x, m.stone.y), max(m.stone.z, 0.05)) * (1.0 - f));
}

fn sample(u: vec2f, wo: vec3f, m: Material) -> vec3f {
    let share = coat_share(wo, m);
    let coat = u.x < share;
    let v = select((u.x - share) / (1.0 - share), u.x / share, coat);
    // sin² of the polar angle, of a normal of the coat or of a diffuse direction.
    let tangent2 = -m.roughness * m.roughness * log(1.0 - min(v, 0.9999999));
    let sin2 = select(v, tangent2 / (1.0 + tangent2), coat);
    let r = sqrt(sin2);
    let phi = 6.2831853 * u.y;
    let d = vec3f(r * cos(phi), r * sin(phi), sqrt(max(1.0 - sin2, 0.0)));
    return normalize(select(d, reflect(-wo, d), coat));
}

fn pdf(wi: vec3f, wo: vec3f, m: Material) -> f32 {
    let h = normalize(wi + wo);
    let share = coat_share(wo, m);
    let coat = beckmann(h.z, m.roughness) / (4.0 * max(dot(wi, h), 1e-4));
    return select(0.0, mix(wi.z, coat, share) * INV_PI, wi.z > 0.0);
}
