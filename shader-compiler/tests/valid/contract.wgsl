//! A material with every feature of the contract, including a sampler.
//! sides: both

/// Number of lobes. range: [1, 8]
override lobes: i32 = 3;

const PI = 3.14159265358979;

/** Parameters. */
struct Material {
    /// Albedo. range: [0, 1], default: (0.8, 0.5, 0.2)
    kd: vec3f,
    /// Roughness. range: (0, 1], default: 0.3
    roughness: f32,
    /// Pattern.
    /// range: [0, 100]
    /// default: 7
    seed: u32,
    /**
     * Whether the surface transmits light.
     * default: false
     */
    thin: bool,
    /// Downward shift. range: (-inf, 0)
    shift: vec2<f32>,
}

struct Frame {
    t: vec3f,
    n: vec3f,
}

var<private> calls: i32 = 0;

fn material(p: SurfacePoint) -> Material {
    let c = fract(p.uv * 8.0 + p.position.xy + p.object_position.yz);
    return Material(vec3f(c, p.normal.z), 0.1 + 0.8 * c.x, u32(c.y * 10.0), c.x > 0.5, -c);
}

fn hash(seed: u32) -> u32 {
    var h = seed * 747796405u + 2891336453u;
    h = ((h >> ((h >> 28u) + 4u)) ^ h) * 277803737u;
    return (h >> 22u) ^ h;
}

fn add(x: ptr<function, vec3f>, y: vec3f) {
    *x += y;
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    calls += 1;
    var sum = vec3f(0.0);
    var table = array<f32, 4>(1.0, 0.5, 0.25, 0.125);
    for (var k = 0; k < lobes; k++) {
        if wi.z * wo.z < 0.0 && !m.thin {
            break;
        }
        let h = normalize(wi + wo);
        switch k {
            case 0: {
                add(&sum, m.kd / PI);
            }
            case 1, 2: {
                let e = 2.0 / (m.roughness * m.roughness);
                sum += vec3f(table[k] * (e + 2.0) / (2.0 * PI) * pow(max(h.z, 0.0), e));
            }
            default: {
                let noise = f32(hash(m.seed + u32(k)) & 0xffu) / 255.0;
                add(&sum, vec3f(noise * table[k % 4]));
                if noise > 0.9 {
                    continue;
                }
            }
        }
    }
    let frame = Frame(vec3f(1.0, 0.0, 0.0), vec3f(0.0, 0.0, 1.0));
    let rotate = mat2x2f(0.6, 0.8, -0.8, 0.6);
    var i = 0;
    loop {
        if i >= 2 { break; }
        continuing {
            i++;
        }
    }
    return select(sum, sum.zyx, dot(frame.t, wi) > length(rotate * m.shift));
}

fn sample(u: vec2f, wo: vec3f, m: Material) -> vec3f {
    let r = sqrt(u.x);
    let phi = 2.0 * PI * u.y;
    return vec3f(r * cos(phi), r * sin(phi), sign(wo.z) * sqrt(max(0.0, 1.0 - u.x)));
}

fn pdf(wi: vec3f, wo: vec3f, m: Material) -> f32 {
    return abs(wi.z) / PI;
}
