//! sides: both
//! cosine: included
//!
//! Measured BRDF, tabulated in the adaptive parameterization of Dupuy and Jakob 2018, *An adaptive
//! parameterization for efficient material acquisition and rendering*:
//!
//!     s = M(u; wo) D(h)/(4 σ(wo))
//!
//! D is the density of microfacet normals, σ their projected area, h the half vector, and M a table
//! over wo and the point u of the unit square from which the sampler of visible normals yields h.
//! Equals pbrt-v4's `measured`, except for the spectra, which are linear sRGB here.
//!
//! A direction θ, φ is the point (√(2θ/π), φ/2π + 1/2) of a table. Tables for several wo consist of
//! slices: columns of slices for the azimuths in the file, rows for the polar angles. Values
//! between these angles are interpolated linearly, and so are cumulative distributions, so that
//! samples have exactly the interpolated density.
//!
//! Directions are sampled in two steps: u in proportion to the luminance of M, then h from the
//! density of visible normals.

const PI = 3.14159265358979;

/// Smallest Jacobian and divisor.
const TINY = 1e-20;

/// Number of azimuths and polar angles of wo. Up to two azimuths, the material is isotropic.
override phi_count: i32 = 1;
override theta_count: i32 = 2;
/// The azimuths span a full turn, a half (2) or a quarter (4); the rest is symmetric.
override symmetry: i32 = 1;
/// Columns and rows of the tables; those of a slice for the first four.
override vndf_width: i32 = 2;
override vndf_height: i32 = 2;
override colour_width: i32 = 2;
override colour_height: i32 = 2;
override ndf_width: i32 = 2;
override ndf_height: i32 = 2;
override sigma_width: i32 = 2;
override sigma_height: i32 = 2;

/// Azimuths (row 0) and polar angles (row 1) of wo.
var angles: texture_2d<f32>;
/// Density of visible normals: density, cumulative sum of the row, cumulative sum of all rows.
var vndf: texture_2d<f32>;
/// Luminance of M, in the same form.
var luminance: texture_2d<f32>;
/// M. Each slice has a border of one texel.
var colours: texture_2d<f32>;
/// D and σ.
var ndf: texture_2d<f32>;
var sigma: texture_2d<f32>;

var bilinear: sampler;

/// The slices around wo.
struct Slices {
    /// Column and row of the first.
    first: vec2i,
    /// Weights of the next ones.
    weight: vec2f,
}

/// A point of the unit square, and the density there.
struct Sampled {
    at: vec2f,
    density: f32,
}

/// An outgoing direction above the surface, within the azimuths of the tables.
struct View {
    wo: vec3f,
    /// Signs that map x, y, and all components, to `wo`.
    flip: vec2f,
    side: f32,
    /// Cosine and sine of the azimuth.
    azimuth: vec2f,
    slices: Slices,
}

/// Returns the interval of an axis that contains an angle, and the angle's place in it.
fn interval(axis: i32, count: i32, angle: f32) -> vec2f {
    if count == 1 {
        return vec2f();
    }
    // On an interval of angles, a binary search would not terminate. Counting has tight bounds.
    var first = 0;
    for (var i = 1; i < count - 1; i++) {
        first += select(0, 1, textureLoad(angles, vec2i(i, axis), 0).r <= angle);
    }
    let low = textureLoad(angles, vec2i(first, axis), 0).r;
    let high = textureLoad(angles, vec2i(first + 1, axis), 0).r;
    return vec2f(f32(first), clamp((angle - low) / (high - low), 0.0, 1.0));
}

fn view(outgoing: vec3f) -> View {
    var v: View;
    v.side = select(1.0, -1.0, outgoing.z < 0.0);
    v.wo = v.side * outgoing;
    v.flip = vec2f(1.0);
    if symmetry > 1 {
        v.flip.y = select(1.0, -1.0, v.wo.y > 0.0);
        v.flip.x = v.flip.y;
        if symmetry == 4 {
            v.flip.x = select(1.0, -1.0, v.wo.x > 0.0);
        }
        v.wo = vec3f(v.flip * v.wo.xy, v.wo.z);
    }
    let radius = length(v.wo.xy);
    let is_tilted = radius > 0.0;
    let divisor = select(1.0, radius, is_tilted);
    v.azimuth = vec2f(select(1.0, v.wo.x / divisor, is_tilted), v.wo.y / divisor);
    let phi = interval(0, phi_count, atan2(v.azimuth.y, v.azimuth.x));
    let theta = interval(1, theta_count, atan2(radius, v.wo.z));
    v.slices = Slices(vec2i(vec2f(phi.x, theta.x)), vec2f(phi.y, theta.y));
    return v;
}

/// Maps the direction of a vector to the unit square.
fn unit_square(w: vec3f, radius: f32, phi: f32) -> vec2f {
    return vec2f(sqrt(atan2(radius, w.z) * (2.0 / PI)), phi * (0.5 / PI) + 0.5);
}

/// Maps a half vector of any length to the unit square; for isotropic materials, azimuths are
/// relative to that of wo.
fn facet(h: vec3f, v: View) -> vec2f {
    var p = h.xy;
    if phi_count <= 2 {
        p = vec2f(h.x * v.azimuth.x + h.y * v.azimuth.y, h.y * v.azimuth.x - h.x * v.azimuth.y);
    }
    return unit_square(h, length(h.xy), atan2(p.y, p.x));
}

/// Looks up a table of slices with `size` texels each.
fn look_up(table: texture_2d<f32>, size: vec2i, s: Slices, at: vec2i) -> vec4f {
    let texel = s.first * size + at;
    let below = vec2i(0, size.y);
    let a = mix(textureLoad(table, texel, 0), textureLoad(table, texel + below, 0), s.weight.y);
    if phi_count == 1 {
        return a;
    }
    let next = texel + vec2i(size.x, 0);
    let b = mix(textureLoad(table, next, 0), textureLoad(table, next + below, 0), s.weight.y);
    return mix(a, b, s.weight.x);
}

/// Returns where the integral of a function over [0, 1], linear from `a` to `b`, reaches `mass`.
fn linear_quantile(a: f32, b: f32, mass: f32) -> f32 {
    let root = sqrt(max(a * a - 2.0 * mass * (a - b), 0.0));
    return clamp(2.0 * mass / max(a + root, TINY), 0.0, 1.0);
}

/// Integral of a function over [0, t], linear from `a` at 0 to `b` at 1.
fn linear_integral(a: f32, b: f32, t: f32) -> f32 {
    return t * mix(a, 0.5 * (a + b), t);
}

/// Samples a point in proportion to a bilinear table.
fn warp(table: texture_2d<f32>, size: vec2i, s: Slices, u: vec2f) -> Sampled {
    let cells = size - 1;
    var row = 0;
    var end = cells.y;
    while end - row > 1 {
        let middle = (row + end) / 2;
        let above = look_up(table, size, s, vec2i(0, middle)).b;
        if above < u.y { row = middle; } else { end = middle; }
    }
    let above = look_up(table, size, s, vec2i(cells.x, row));
    let below = look_up(table, size, s, vec2i(cells.x, row + 1)).g;
    let y = linear_quantile(above.g, below, u.y - above.b);
    let mass = u.x * mix(above.g, below, y);
    var column = 0;
    end = cells.x;
    while end - column > 1 {
        let middle = (column + end) / 2;
        let a = look_up(table, size, s, vec2i(middle, row)).g;
        let b = look_up(table, size, s, vec2i(middle, row + 1)).g;
        if mix(a, b, y) < mass { column = middle; } else { end = middle; }
    }
    let v00 = look_up(table, size, s, vec2i(column, row));
    let v01 = look_up(table, size, s, vec2i(column, row + 1));
    let v10 = look_up(table, size, s, vec2i(column + 1, row)).r;
    let v11 = look_up(table, size, s, vec2i(column + 1, row + 1)).r;
    let left = mix(v00.r, v01.r, y);
    let right = mix(v10, v11, y);
    let x = linear_quantile(left, right, mass - mix(v00.g, v01.g, y));
    let count = vec2f(cells);
    let at = (vec2f(vec2i(column, row)) + vec2f(x, y)) / count;
    return Sampled(at, mix(left, right, x) * count.x * count.y);
}

/// The inverse of `warp`: the density is that at `p`.
fn unwarp(table: texture_2d<f32>, size: vec2i, s: Slices, p: vec2f) -> Sampled {
    let cells = size - 1;
    let count = vec2f(cells);
    let location = p * count;
    let cell = clamp(vec2i(location), vec2i(), cells - 1);
    let t = clamp(location - vec2f(cell), vec2f(), vec2f(1.0));
    let v00 = look_up(table, size, s, cell);
    let v01 = look_up(table, size, s, cell + vec2i(0, 1));
    let v10 = look_up(table, size, s, cell + vec2i(1, 0)).r;
    let v11 = look_up(table, size, s, cell + vec2i(1, 1)).r;
    let above = look_up(table, size, s, vec2i(cells.x, cell.y)).g;
    let below = look_up(table, size, s, vec2i(cells.x, cell.y + 1)).g;
    let left = mix(v00.r, v01.r, t.y);
    let right = mix(v10, v11, t.y);
    let x = mix(v00.g, v01.g, t.y) + linear_integral(left, right, t.x);
    let y = v00.b + linear_integral(above, below, t.y);
    let at = vec2f(x / max(mix(above, below, t.y), TINY), y);
    return Sampled(clamp(at, vec2f(), vec2f(1.0)), mix(left, right, t.x) * count.x * count.y);
}

/// The density of a table at a point.
fn density(table: texture_2d<f32>, size: vec2i, s: Slices, p: vec2f) -> f32 {
    let cells = size - 1;
    let count = vec2f(cells);
    let location = p * count;
    let cell = clamp(vec2i(location), vec2i(), cells - 1);
    let t = location - vec2f(cell);
    let above =
        mix(look_up(table, size, s, cell).r, look_up(table, size, s, cell + vec2i(1, 0)).r, t.x);
    let below = mix(
        look_up(table, size, s, cell + vec2i(0, 1)).r,
        look_up(table, size, s, cell + vec2i(1, 1)).r,
        t.x
    );
    return mix(above, below, t.y) * count.x * count.y;
}

/// Bilinear lookup at a location in texels from the center of the upper left one of `size` texels.
fn interpolate(table: texture_2d<f32>, size: vec2f, location: vec2f) -> vec4f {
    let p = (location + 0.5) / size;
    return textureSampleLevel(table, bilinear, vec2f(p.x, 1.0 - p.y), 0.0);
}

/// M at a point.
fn colour(s: Slices, p: vec2f) -> vec3f {
    let pitch = vec2f(vec2i(colour_width, colour_height) + 2);
    let size = pitch * vec2f(vec2i(phi_count, theta_count));
    let first = vec2f(s.first) * pitch + 1.0 + p * (pitch - 3.0);
    let below = vec2f(0.0, select(0.0, pitch.y, theta_count > 1));
    let a = mix(
        interpolate(colours, size, first).rgb,
        interpolate(colours, size, first + below).rgb,
        s.weight.y
    );
    if phi_count == 1 {
        return a;
    }
    let next = first + vec2f(pitch.x, 0.0);
    let b = mix(
        interpolate(colours, size, next).rgb,
        interpolate(colours, size, next + below).rgb,
        s.weight.y
    );
    return mix(a, b, s.weight.x);
}

fn vndf_size() -> vec2i {
    return vec2i(vndf_width, vndf_height);
}

fn luminance_size() -> vec2i {
    return vec2i(colour_width, colour_height);
}

/// The half vector of an incident direction on the side of wo, of any length.
fn half_vector(wi: vec3f, v: View) -> vec3f {
    return v.side * vec3f(v.flip * wi.xy, wi.z) + v.wo;
}

fn brdf(wi: vec3f, wo: vec3f) -> vec3f {
    let v = view(wo);
    let m = facet(half_vector(wi, v), v);
    let u = unwarp(vndf, vndf_size(), v.slices, m);
    let facets = vec2f(vec2i(ndf_width, ndf_height));
    let areas = vec2f(vec2i(sigma_width, sigma_height));
    let o = unit_square(v.wo, length(v.wo.xy), atan2(v.azimuth.y, v.azimuth.x));
    let d = interpolate(ndf, facets, m * (facets - 1.0)).r;
    let area = interpolate(sigma, areas, o * (areas - 1.0)).r;
    let s = colour(v.slices, u.at) * (d / max(4.0 * area, TINY));
    return select(vec3f(), s, wi.z * wo.z > 0.0);
}

fn sample(u: vec2f, wo: vec3f) -> vec3f {
    let v = view(wo);
    let bright = warp(luminance, luminance_size(), v.slices, u);
    let m = warp(vndf, vndf_size(), v.slices, bright.at).at;
    let theta = m.x * m.x * (0.5 * PI);
    let phi = (2.0 * m.y - 1.0) * PI;
    var p = sin(theta) * vec2f(cos(phi), sin(phi));
    if phi_count <= 2 {
        p = vec2f(p.x * v.azimuth.x - p.y * v.azimuth.y, p.y * v.azimuth.x + p.x * v.azimuth.y);
    }
    let h = vec3f(p, cos(theta));
    let cosine = dot(v.wo, h);
    var wi = 2.0 * cosine * h - v.wo;
    // Renormalise with one Newton step.
    wi *= 1.5 - 0.5 * dot(wi, wi);
    // A facet that faces away from wo, or reflects below the surface, has density 0.
    wi = select(vec3f(0.0, 0.0, -1.0), wi, cosine > 0.0 && wi.z > 0.0);
    return v.side * vec3f(v.flip * wi.xy, wi.z);
}

fn pdf(wi: vec3f, wo: vec3f) -> f32 {
    let v = view(wo);
    let h = half_vector(wi, v);
    let m = facet(h, v);
    let u = unwarp(vndf, vndf_size(), v.slices, m);
    // dωm = 2π² x sin θm dx dy on the unit square, and dωi = 4 (wo·h) dωm.
    let inverse = 1.0 / max(length(h), TINY);
    let facet_jacobian = 2.0 * PI * PI * m.x * length(h.xy) * inverse;
    let jacobian = max(facet_jacobian * 4.0 * dot(v.wo, h) * inverse, TINY);
    let p = density(luminance, luminance_size(), v.slices, u.at) * u.density / jacobian;
    return select(0.0, p, wi.z * wo.z > 0.0);
}
