// Sampling of surfaces that are built of BSDFs: one of their lobes is chosen, and facets are sampled
// by their visible normals (Heitz 2018; Dupuy and Benyoub 2023).

/// Probabilities of lobes, relative to each other: facets of the base that reflect and that refract,
/// facets of the coat, and the cosine on the side of the viewer and on the other one. Then their
/// roughness and frames, the index of the volume, and whether the surface is a thin wall.
struct MxLobes {
    base: f32,
    refracted: f32,
    coat: f32,
    diffuse: f32,
    transmitted: f32,
    base_alpha: vec2f,
    refracted_alpha: vec2f,
    coat_alpha: vec2f,
    base_angle: f32,
    coat_angle: f32,
    coat_normal: vec3f,
    ior: f32,
    is_wall: bool,
}

fn mx_no_lobes() -> MxLobes {
    var p: MxLobes;
    p.base_alpha = vec2f(1.0);
    p.refracted_alpha = vec2f(1.0);
    p.coat_alpha = vec2f(1.0);
    p.coat_normal = vec3f(0.0, 0.0, 1.0);
    p.ior = 1.5;
    return p;
}

fn mx_largest(v: vec3f) -> f32 {
    return max(max(v.x, v.y), v.z);
}

fn mx_is_tilted(normal: vec3f) -> bool {
    return normal.x != 0.0 || normal.y != 0.0;
}

// Rotates by 180° about the bisector of a normal and the z axis, which swaps them. The x axis is
// reversed, too, which does not matter, since facets are symmetric.
fn mx_half_turn(w: vec3f, normal: vec3f) -> vec3f {
    let n = select(-normal, normal, normal.z > 0.0) * inverseSqrt(max(dot(normal, normal), 1e-12));
    let middle = vec3f(n.xy, n.z + 1.0);
    return (2.0 * dot(middle, w) / dot(middle, middle)) * middle - w;
}

// Directions in the frame of a coat with this normal, whose x axis is at this angle. The coat is
// mirrored if it is seen from behind.
fn mx_coat_directions(d: MxDirections, normal: vec3f, angle: f32) -> MxDirections {
    var r = d;
    if mx_is_tilted(normal) {
        let i = mx_half_turn(d.i, normal);
        let o = mx_half_turn(d.o, normal);
        let side = select(1.0, -1.0, o.z < 0.0);
        r.i = vec3f(i.xy, side * i.z);
        r.o = vec3f(o.xy, abs(o.z));
        r.h = r.i + r.o;
        r.cosine_i = max(r.i.z, 1e-6);
        r.cosine_o = clamp(r.o.z, 1e-6, 1.0);
        r.reflects = d.reflects && r.i.z > 0.0;
    }
    return mx_turned(r, angle);
}

// The direction with these coordinates in the frame of the coat.
fn mx_from_coat(w: vec3f, o: vec3f, normal: vec3f, angle: f32) -> vec3f {
    var v = w;
    if angle != 0.0 {
        v = mx_rotated(w, -angle);
    }
    if mx_is_tilted(normal) {
        let side = select(1.0, -1.0, mx_half_turn(o, normal).z < 0.0);
        v = mx_half_turn(vec3f(v.xy, side * v.z), normal);
    }
    return v;
}

// Directions with the light mirrored to the other side.
fn mx_mirrored(d: MxDirections) -> MxDirections {
    var r = d;
    r.i = vec3f(d.i.xy, -d.i.z);
    r.h = r.i + r.o;
    r.h2 = max(dot(r.h, r.h), 1e-12);
    r.cosine_i = max(r.i.z, 1e-6);
    r.cosine_h = min(0.5 * sqrt(r.h2), 1.0);
    r.reflects = !d.reflects;
    return r;
}

// What both faces of a thin wall reflect.
fn mx_wall_fresnel(f: vec3f) -> vec3f {
    return 2.0 * f / (1.0 + f);
}

// Transmission through a rough boundary, or through a thin wall, whose transmission lobe is its
// reflection lobe mirrored to the other side. What facets with this weight reflect does not pass.
fn mx_transmission(
    d: MxDirections,
    weight: f32,
    ior: f32,
    roughness: vec2f,
    film: MxFilm,
    is_wall: bool,
) -> vec3f {
    let index = max(ior, 1.01);
    if is_wall {
        let w = mx_mirrored(d);
        let f = mx_facets(w, roughness);
        let reflected = weight * mx_wall_fresnel(mx_boundary_fresnel(w.cosine_h, index, false, film));
        return select(
            vec3f(0.0),
            (1.0 - reflected) * ((1.0 + f.missing) * mx_mirror_lobe(w, f)),
            w.reflects,
        );
    }
    let r = mx_refraction(d, index, roughness);
    let reflected = weight * mx_boundary_fresnel(r.cosine_o, index, d.inside, film);
    return (1.0 - reflected) * r.lobe;
}

// The share of light that facets refract if those that face the normal reflect this much. Facets that
// are tilted away from total reflection still refract.
fn mx_refracted_share(reflected: f32, alpha: vec2f) -> f32 {
    return max(1.0 - reflected, 0.5 * max(alpha.x, alpha.y) + 1e-3);
}

fn mx_lobes_pdf(wi: vec3f, wo: vec3f, p: MxLobes) -> f32 {
    let d = mx_directions(wi, wo);
    let b = mx_turned(d, p.base_angle);
    let total = p.base + p.refracted + p.coat + p.diffuse + p.transmitted;
    var pdf = select(p.transmitted, p.diffuse, d.reflects) * (abs(d.i.z) * 0.3183098861837907);
    if p.base > 0.0 {
        let mirror = mx_mirror_pdf(b, mx_facets(b, p.base_alpha));
        pdf += select(0.0, p.base * mirror, d.reflects);
    }
    if p.coat > 0.0 {
        let c = mx_coat_directions(d, p.coat_normal, p.coat_angle);
        let mirror = mx_mirror_pdf(c, mx_facets(c, p.coat_alpha));
        pdf += select(0.0, p.coat * mirror, c.reflects);
    }
    if p.refracted > 0.0 {
        let w = mx_mirrored(b);
        let through = mx_mirror_pdf(w, mx_facets(w, p.refracted_alpha));
        let refracted = mx_refraction(b, p.ior, p.refracted_alpha).pdf;
        pdf += select(p.refracted * select(refracted, through, p.is_wall), 0.0, d.reflects);
    }
    return select(0.0, pdf / total, min(abs(wi.z), abs(wo.z)) > 1e-9);
}

// A normal visible from o, of any length. In the stretched space, where facets form a sphere, it lies
// halfway between o and a uniform point on the cap z > −o.z.
fn mx_visible_normal(d: vec2f, o: vec3f, alpha: vec2f) -> vec3f {
    let r2 = dot(d, d);
    let length = mx_stretched(o, alpha);
    let height = length + o.z;
    let n = alpha * o.xy + d * sqrt(height * max(2.0 * length - r2 * height, 0.0));
    return vec3f(alpha * n, max(1.0 - r2, 1e-7) * height);
}

// Maps a uniform sample to the unit disk by the concentric map of Shirley and Chiu 1997. Sine and
// cosine up to π/4 are polynomials.
fn mx_disk(u: vec2f) -> vec2f {
    let p = 2.0 * u - 1.0;
    let x_major = abs(p.x) > abs(p.y);
    let r = select(p.y, p.x, x_major);
    let t = select(p.x, p.y, x_major) / select(r, 1.0, r == 0.0);
    let s = t * t;
    let sine = t * (0.7853982 + s * (-0.08074543 + s * (0.002490007 + s * -3.59544e-5)));
    let cosine =
        1.0 + s * (-0.30842514 + s * (0.015854325 + s * (-3.259386e-4 + s * 3.5298043e-6)));
    return r * vec2f(select(sine, cosine, x_major), select(cosine, sine, x_major));
}

// The direction to which a facet refracts o, with an index relative to the side of o. For total
// reflection, it is on the side of o.
fn mx_refracted(n: vec3f, o: vec3f, index: f32) -> vec3f {
    let n2 = dot(n, n);
    let c = dot(o, n);
    let refracted2 = (index - 1.0) * (index + 1.0) * n2 + c * c;
    let i = ((c - sqrt(max(refracted2, 0.0))) / n2) * n - o;
    return select(o, i, refracted2 > 0.0);
}

fn mx_lobes_sample(u: vec2f, wo: vec3f, p: MxLobes) -> vec3f {
    let d = mx_directions(wo, wo);
    let total = p.base + p.refracted + p.coat + p.diffuse + p.transmitted;
    // u.x selects the lobe, then is remapped to [0, 1) for reuse.
    let x = u.x * total;
    let refracted = p.base;
    let coat = refracted + p.refracted;
    let diffuse = coat + p.coat;
    let transmitted = diffuse + p.diffuse;
    let is_base = p.base > 0.0 && x < refracted;
    let is_refracted = p.refracted > 0.0 && !is_base && x < coat;
    let is_coat = p.coat > 0.0 && !is_base && !is_refracted && x < diffuse;
    let is_facet = is_base || is_refracted || is_coat;
    let is_transmitted = !is_facet && x >= transmitted && p.transmitted > 0.0;
    var start = select(diffuse, transmitted, is_transmitted);
    var width = select(p.diffuse, p.transmitted, is_transmitted);
    start = select(select(select(start, coat, is_coat), refracted, is_refracted), 0.0, is_base);
    width = select(
        select(select(width, p.coat, is_coat), p.refracted, is_refracted), p.base, is_base,
    );
    let reused = clamp((x - start) / max(width, 1e-20), 0.0, 0.99999994);
    let point = mx_disk(vec2f(reused, u.y));
    // The clamp keeps directions above the horizon, so that the density is never 0.
    let z = sqrt(max(1.0 - dot(point, point), 6e-8));
    var i = vec3f(point, select(z, -z, is_transmitted));
    if is_facet {
        var o = d.o;
        if p.base_angle != 0.0 {
            o = mx_rotated(d.o, p.base_angle);
        }
        var alpha = p.base_alpha;
        if p.refracted > 0.0 && is_refracted {
            alpha = p.refracted_alpha;
        }
        if p.coat > 0.0 && is_coat {
            o = mx_coat_directions(d, p.coat_normal, p.coat_angle).o;
            alpha = p.coat_alpha;
        }
        let n = mx_visible_normal(point, o, clamp(alpha, vec2f(0.001), vec2f(1.0)));
        i = (2.0 * dot(o, n) / dot(n, n)) * n - o;
        var valid = i.z > 0.0;
        if p.refracted > 0.0 && is_refracted {
            let index = max(p.ior, 1.01);
            let through = mx_refracted(n, o, select(index, 1.0 / index, d.inside));
            i = select(through, vec3f(i.xy, -i.z), p.is_wall);
            valid = i.z < 0.0;
        }
        if p.coat > 0.0 && is_coat {
            i = mx_from_coat(i, d.o, p.coat_normal, p.coat_angle);
            valid = valid && i.z > 0.0;
        } else if p.base_angle != 0.0 {
            i = mx_rotated(i, -p.base_angle);
        }
        // Invalid directions need no marking if nothing is scattered to the other side: their density
        // is 0.
        if p.refracted > 0.0 || p.transmitted > 0.0 || p.coat > 0.0 {
            i = select(vec3f(1.0, 0.0, 0.0), i, valid);
        }
    }
    let side = select(1.0, -1.0, wo.z < 0.0);
    return i * (side * inverseSqrt(max(dot(i, i), 1e-20)));
}
