// Reflectances F of surfaces, and of thin films on them.

/// A film by its thickness in nanometres and its index. Without a thickness, there is none.
struct MxFilm {
    thickness: f32,
    ior: f32,
}

fn mx_no_film() -> MxFilm {
    return MxFilm(0.0, 1.5);
}

fn mx_pow5(x: f32) -> f32 {
    let x2 = x * x;
    return x2 * x2 * x;
}

// Reflectance at normal incidence.
fn mx_normal_reflectance(ior: f32) -> f32 {
    let root = (ior - 1.0) / (ior + 1.0);
    return root * root;
}

// Reflectances of a dielectric with an index n of at least 1, parallel and perpendicular. With
// g = √(n² − 1 + c²), the perpendicular one is ((n² − 1)/(g + c)²)², and the parallel one is that
// times ((c (g + c) − 1)/(c (g − c) + 1))².
fn mx_polarised_fresnel(cosine: f32, ior: f32) -> vec2f {
    let k = (ior - 1.0) * (ior + 1.0);
    let sum = sqrt(max(k + cosine * cosine, 1e-12)) + cosine;
    let t = 1.0 / sum;
    let root = k * t * t;
    let perpendicular = root * root;
    let quotient = (cosine * sum - 1.0) / (1.0 + k * (cosine * t));
    return vec2f(perpendicular * min(quotient * quotient, 1.0), perpendicular);
}

fn mx_dielectric_fresnel(cosine: f32, ior: f32) -> f32 {
    let f = mx_polarised_fresnel(cosine, ior);
    return 0.5 * (f.x + f.y);
}

// The cosine outside of a volume for one on the side of the viewer; 0 for total reflection.
fn mx_outer_cosine(cosine: f32, ior: f32, inside: bool) -> f32 {
    let outer2 = 1.0 - ior * ior * (1.0 - cosine * cosine);
    return select(cosine, sqrt(max(outer2, 0.0)), inside);
}

// F of the boundary of a volume for the cosine on the side of the viewer.
fn mx_boundary_fresnel(cosine: f32, ior: f32, inside: bool, film: MxFilm) -> vec3f {
    let outer = mx_outer_cosine(cosine, ior, inside);
    var f = vec3f(mx_dielectric_fresnel(outer, ior));
    if film.thickness > 0.0 {
        f = mx_film_dielectric(outer, ior, film);
    }
    return select(f, vec3f(1.0), inside && outer <= 0.0);
}

/// What F of metal with a complex index depends on: cosines squared, and the parts of its root.
struct MxMetal {
    c2: f32,
    s2: f32,
    difference: vec3f,
    root: vec3f,
    u: vec3f,
}

fn mx_metal(cosine: f32, n: vec3f, k: vec3f) -> MxMetal {
    var m: MxMetal;
    m.c2 = cosine * cosine;
    m.s2 = 1.0 - m.c2;
    m.difference = n * n - k * k - m.s2;
    m.root = sqrt(m.difference * m.difference + 4.0 * n * n * k * k);
    m.u = sqrt(max(0.5 * (m.root + m.difference), vec3f(0.0)));
    return m;
}

// The perpendicular F of metal.
fn mx_metal_perpendicular(cosine: f32, m: MxMetal) -> vec3f {
    let twice = 2.0 * cosine * m.u;
    return max((m.root + m.c2 - twice) / max(m.root + m.c2 + twice, vec3f(1e-9)), vec3f(0.0));
}

// The parallel F of metal, divided by the perpendicular one.
fn mx_metal_parallel(cosine: f32, m: MxMetal) -> vec3f {
    let along = m.c2 * m.root + m.s2 * m.s2;
    let across = 2.0 * cosine * m.s2 * m.u;
    return max((along - across) / max(along + across, vec3f(1e-9)), vec3f(0.0));
}

// F of metal with a complex index, after the exact formulas.
fn mx_conductor_fresnel(cosine: f32, n: vec3f, k: vec3f, film: MxFilm) -> vec3f {
    if film.thickness > 0.0 {
        return mx_film_conductor(cosine, n, k, film);
    }
    let m = mx_metal(cosine, n, k);
    return 0.5 * mx_metal_perpendicular(cosine, m) * (1.0 + mx_metal_parallel(cosine, m));
}

/// A complex index.
struct MxIndex {
    n: vec3f,
    k: vec3f,
}

// The index of metal by its colours at normal incidence and at the edge: Gulbrandsen 2014, *Artist
// friendly metallic Fresnel*.
fn mx_artistic_index(reflectivity: vec3f, edge: vec3f) -> MxIndex {
    return MxIndex(mx_artistic_ior(reflectivity, edge), mx_artistic_extinction(reflectivity, edge));
}

// Schlick's F with a tint at 82° (Kutz, Hašan and Edmondson 2021).
fn mx_tinted_schlick(
    cosine: f32,
    color0: vec3f,
    color82: vec3f,
    color90: vec3f,
    exponent: f32,
) -> vec3f {
    let x = 1.0 - cosine;
    let schlick = mix(color0, color90, pow(max(x, 1e-6), exponent));
    let schlick82 = mix(color0, color90, pow(6.0 / 7.0, exponent));
    let x2 = x * x;
    let a = schlick82 * (1.0 - color82) * 17.651385;
    return max(schlick - a * (cosine * x2 * x2 * x2), vec3f(0.0));
}

// Sensitivity of the CIE X, Y and Z responses to a wave with a path difference in metres and phase
// shifts, relative to their integrals: Gaussian fits of Belcour and Barla 2017, *A practical
// extension to microfacet theory for the modeling of varying iridescence*.
fn mx_film_sensitivity(path: f32, shift: vec3f) -> vec3f {
    let p = 6.283185307179586 * path;
    let p2 = p * p;
    let xyz = vec3f(0.84659, 1.0002219, 1.0011225)
        * cos(vec3f(1.681e6, 1.7953e6, 2.2084e6) * p + shift)
        * exp(vec3f(-4.3278e9, -9.3046e9, -6.6121e9) * p2);
    let second = 0.1538683 * cos(2.2399e6 * p + shift.x) * exp(-4.5282e9 * p2);
    return xyz + vec3f(second, 0.0, 0.0);
}

// Reflectance in XYZ of one polarisation of a film whose surface reflects `top`, on a base that
// reflects `base`; the phase of light that is reflected inside shifts by `shift` in total.
fn mx_film_polarised(top: f32, base: vec3f, path: f32, shift: vec3f) -> vec3f {
    let transmitted = 1.0 - top;
    let both = top * base;
    let amplitude = sqrt(both);
    let mean = transmitted * transmitted * base / max(1.0 - both, vec3f(1e-6));
    let first = (mean - transmitted) * amplitude;
    return top + mean + 2.0 * (first * mx_film_sensitivity(path, shift)
        + first * amplitude * mx_film_sensitivity(2.0 * path, 2.0 * shift));
}

/// What a base reflects in a film: reflectances and phase shifts of both polarisations.
struct MxFilmBase {
    parallel: vec3f,
    perpendicular: vec3f,
    shift_p: vec3f,
    shift_s: vec3f,
}

fn mx_film_fresnel(cosine: f32, inside: f32, base: MxFilmBase, film: MxFilm) -> vec3f {
    let top = mx_polarised_fresnel(cosine, film.ior);
    let path = 2e-9 * film.ior * film.thickness * inside;
    // Beyond Brewster's angle, the phase of the parallel polarisation does not shift.
    let brewster = inverseSqrt(1.0 + film.ior * film.ior);
    let top_p = select(3.141592653589793, 0.0, cosine < brewster);
    let xyz = 0.5 * (mx_film_polarised(top.x, base.parallel, path, base.shift_p + top_p)
        + mx_film_polarised(top.y, base.perpendicular, path, base.shift_s + 3.141592653589793));
    let rgb = vec3f(
        dot(xyz, vec3f(2.3706743, -0.9000405, -0.4706338)),
        dot(xyz, vec3f(-0.5138850, 1.4253036, 0.0885814)),
        dot(xyz, vec3f(0.0052982, -0.0146949, 1.0093968)),
    );
    return saturate(rgb);
}

fn mx_film_cosine(cosine: f32, film: MxFilm) -> f32 {
    return sqrt(max(1.0 - (1.0 - cosine * cosine) / (film.ior * film.ior), 0.0));
}

// A film on a dielectric, whose index relative to the film is at least the sine in the film.
fn mx_film_dielectric(cosine: f32, ior: f32, film: MxFilm) -> vec3f {
    let inside = mx_film_cosine(cosine, film);
    let ratio = ior / film.ior;
    let refracted = sqrt(max(ratio * ratio - 1.0 + inside * inside, 0.0));
    let along = ratio * ratio * inside;
    let parallel = (along - refracted) / max(along + refracted, 1e-9);
    let perpendicular = (inside - refracted) / max(inside + refracted, 1e-9);
    let shift_s = select(0.0, 3.141592653589793, ratio < 1.0);
    let is_below_brewster = inside * inside * (1.0 + ratio * ratio) < 1.0;
    let shift_p = select(shift_s, 3.141592653589793 - shift_s, is_below_brewster);
    let base = MxFilmBase(
        vec3f(parallel * parallel),
        vec3f(perpendicular * perpendicular),
        vec3f(shift_p),
        vec3f(shift_s),
    );
    return mx_film_fresnel(cosine, inside, base, film);
}

// A film on metal.
fn mx_film_conductor(cosine: f32, n: vec3f, k: vec3f, film: MxFilm) -> vec3f {
    let inside = mx_film_cosine(cosine, film);
    let rn = n / film.ior;
    let rk = k / film.ior;
    let m = mx_metal(inside, rn, rk);
    let v = sqrt(max(0.5 * (m.root - m.difference), vec3f(0.0)));
    let perpendicular = mx_metal_perpendicular(inside, m);
    let sum = (rn * rn + rk * rk) * inside;
    let turn = 2.0 * rn * rk * m.u - (rn * rn - rk * rk) * v;
    let base = MxFilmBase(
        perpendicular * mx_metal_parallel(inside, m),
        perpendicular,
        atan2(2.0 * inside * turn, sum * sum - m.root),
        atan2(2.0 * inside * v, m.root - m.c2),
    );
    return mx_film_fresnel(cosine, inside, base, film);
}

// A film on a base with Schlick's F, whose phase shifts are those of the dielectric with the same F₀.
fn mx_film_schlick(
    cosine: f32,
    color0: vec3f,
    color82: vec3f,
    color90: vec3f,
    exponent: f32,
    film: MxFilm,
) -> vec3f {
    let inside = mx_film_cosine(cosine, film);
    let f = 0.5 * mx_tinted_schlick(inside, color0, color82, color90, exponent);
    let root = sqrt(clamp(color0, vec3f(0.01), vec3f(0.99)));
    let ior = (1.0 + root) / (1.0 - root);
    let shift = select(vec3f(0.0), vec3f(3.141592653589793), ior < vec3f(film.ior));
    return mx_film_fresnel(cosine, inside, MxFilmBase(f, f, shift, shift), film);
}

fn mx_schlick(
    cosine: f32,
    color0: vec3f,
    color82: vec3f,
    color90: vec3f,
    exponent: f32,
    film: MxFilm,
) -> vec3f {
    if film.thickness > 0.0 {
        return mx_film_schlick(cosine, color0, color82, color90, exponent, film);
    }
    return mx_tinted_schlick(cosine, color0, color82, color90, exponent);
}
