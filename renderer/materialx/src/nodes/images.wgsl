// Hexagonal tiling of images (Mikkelsen 2022, *Practical real-time hex-tiling*, JCGT 11(3)), with
// MaterialX's hash.

fn mx_hextile_hash(p: vec2f) -> vec2f {
    let q = fract(p.xyx * vec3f(0.1031, 0.1030, 0.0973));
    let r = q + dot(q, q.yzx + 33.33);
    return fract((r.xx + r.yz) * r.zy);
}

// Three tiles around a point: coordinates in the image, and weights.
struct MxTiles {
    a: vec2f,
    b: vec2f,
    c: vec2f,
    weights: vec3f,
}

// Coordinates of a point in the image of a tile.
fn mx_hextile(
    coord: vec2f,
    id: vec2f,
    rotation: f32,
    rotationrange: vec2f,
    scale: f32,
    scalerange: vec2f,
    offset: f32,
    offsetrange: vec2f,
) -> vec2f {
    let center = vec2f(id.x + 0.5 * id.y, id.y / 1.15470054) / 3.4641016;
    let random = mx_hextile_hash(id + 0.12345);
    let angle = radians(mix(rotationrange.x, rotationrange.y, random.x * rotation));
    let size = mix(1.0, mix(scalerange.x, scalerange.y, random.y), scale);
    let shift = mix(offsetrange.xx, offsetrange.yy, random * offset);
    let q = coord - center;
    let s = sin(angle);
    let c = cos(angle);
    return vec2f(c * q.x - s * q.y, s * q.x + c * q.y) / size + center + shift;
}

fn mx_hextiles(
    coord: vec2f,
    rotation: f32,
    rotationrange: vec2f,
    scale: f32,
    scalerange: vec2f,
    offset: f32,
    offsetrange: vec2f,
) -> MxTiles {
    let st = coord * 3.4641016;
    let skewed = vec2f(st.x - 0.57735027 * st.y, 1.15470054 * st.y);
    let base = floor(skewed);
    let f = skewed - base;
    let z = 1.0 - f.x - f.y;
    let s = select(1.0, 0.0, z > 0.0);
    let t = 2.0 * s - 1.0;
    let r = rotationrange;
    let q = scalerange;
    let o = offsetrange;
    return MxTiles(
        mx_hextile(coord, base + vec2f(s, s), rotation, r, scale, q, offset, o),
        mx_hextile(coord, base + vec2f(s, 1.0 - s), rotation, r, scale, q, offset, o),
        mx_hextile(coord, base + vec2f(1.0 - s, s), rotation, r, scale, q, offset, o),
        vec3f(-z * t, s - f.y * t, s - f.x * t),
    );
}

fn mx_schlick_gain(x: vec3f, r: f32) -> vec3f {
    let a = (1.0 / clamp(r, 0.001, 0.999) - 2.0) * (1.0 - 2.0 * x);
    return select((a - x) / (a - 1.0), x / (a + 1.0), x < vec3f(0.5));
}

// Weights of tiles with weights of their colours.
fn mx_hextile_weights(colors: vec3f, tiles: vec3f, falloff: f32) -> vec3f {
    let w = colors * pow(max(tiles, vec3f(0.0)), vec3f(7.0));
    let weights = w / (w.x + w.y + w.z);
    let bent = mx_schlick_gain(weights, falloff);
    return select(bent / (bent.x + bent.y + bent.z), weights, falloff == 0.5);
}

// The mean of three colours of tiles.
fn mx_hextile_blend(
    tiles: MxTiles,
    a: vec3f,
    b: vec3f,
    c: vec3f,
    falloff: f32,
    falloffcontrast: f32,
    lumacoeffs: vec3f,
) -> vec3f {
    let luminance = vec3f(dot(a, lumacoeffs), dot(b, lumacoeffs), dot(c, lumacoeffs));
    let colors = mix(vec3f(1.0), luminance, falloffcontrast);
    let w = mx_hextile_weights(colors, tiles.weights, falloff);
    return w.x * a + w.y * b + w.z * c;
}
