// Noise with the values of Open Shading Language, which MaterialX prescribes: gradients and cells are
// chosen by Bob Jenkins's hash lookup3 of integer coordinates.

fn mx_rotate_left(x: u32, k: u32) -> u32 {
    return (x << k) | (x >> (32u - k));
}

// The last step of the hash.
fn mx_hash_final(a0: u32, b0: u32, c0: u32) -> u32 {
    var a = a0;
    var b = b0;
    var c = c0;
    c = (c ^ b) - mx_rotate_left(b, 14u);
    a = (a ^ c) - mx_rotate_left(c, 11u);
    b = (b ^ a) - mx_rotate_left(a, 25u);
    c = (c ^ b) - mx_rotate_left(b, 16u);
    a = (a ^ c) - mx_rotate_left(c, 4u);
    b = (b ^ a) - mx_rotate_left(a, 14u);
    return (c ^ b) - mx_rotate_left(b, 24u);
}

// The hash of two integers.
fn mx_hash2(x: i32, y: i32) -> u32 {
    let seed = 0xdeadbeefu + 21u;
    return mx_hash_final(seed + u32(x), seed + u32(y), seed);
}

// The hash of three integers.
fn mx_hash3(x: i32, y: i32, z: i32) -> u32 {
    let seed = 0xdeadbeefu + 25u;
    return mx_hash_final(seed + u32(x), seed + u32(y), seed + u32(z));
}

// Three hashes of three integers and a fourth, from 0 to 2.
fn mx_hash4(cell: vec3i) -> vec3<u32> {
    let seed = 0xdeadbeefu + 29u;
    var a = seed + u32(cell.x);
    var b = seed + u32(cell.y);
    var c = seed + u32(cell.z);
    a = (a - c) ^ mx_rotate_left(c, 4u);
    c += b;
    b = (b - a) ^ mx_rotate_left(a, 6u);
    a += c;
    c = (c - b) ^ mx_rotate_left(b, 8u);
    b += a;
    a = (a - c) ^ mx_rotate_left(c, 16u);
    c += b;
    b = (b - a) ^ mx_rotate_left(a, 19u);
    a += c;
    c = (c - b) ^ mx_rotate_left(b, 4u);
    b += a;
    return vec3<u32>(
        mx_hash_final(a, b, c),
        mx_hash_final(a + 1u, b, c),
        mx_hash_final(a + 2u, b, c),
    );
}

fn mx_fade(t: f32) -> f32 {
    return t * t * t * (t * (t * 6.0 - 15.0) + 10.0);
}

// Product of a vector with one of 8 gradients.
fn mx_gradient2(hash: u32, v: vec2f) -> f32 {
    let is_steep = (hash & 4u) != 0u;
    let u = select(v.x, v.y, is_steep);
    let w = 2.0 * select(v.y, v.x, is_steep);
    return select(u, -u, (hash & 1u) != 0u) + select(w, -w, (hash & 2u) != 0u);
}

// Product of a vector with one of 16 gradients, towards the edges of a cube.
fn mx_gradient3(hash: u32, v: vec3f) -> f32 {
    let h = hash & 15u;
    let u = select(v.y, v.x, h < 8u);
    let w = select(select(v.z, v.x, h == 12u || h == 14u), v.y, h < 4u);
    return select(u, -u, (h & 1u) != 0u) + select(w, -w, (h & 2u) != 0u);
}

fn mx_noise2d_f32(p: vec2f) -> f32 {
    let cell = floor(p);
    let i = vec2i(cell);
    let f = p - cell;
    let s = mx_fade(f.x);
    let t = mx_fade(f.y);
    let bottom = mix(
        mx_gradient2(mx_hash2(i.x, i.y), f),
        mx_gradient2(mx_hash2(i.x + 1, i.y), f - vec2f(1.0, 0.0)),
        s,
    );
    let top = mix(
        mx_gradient2(mx_hash2(i.x, i.y + 1), f - vec2f(0.0, 1.0)),
        mx_gradient2(mx_hash2(i.x + 1, i.y + 1), f - vec2f(1.0, 1.0)),
        s,
    );
    return 0.6616 * mix(bottom, top, t);
}

// Three products, with gradients by three bytes of a hash.
fn mx_gradients2(hash: u32, v: vec2f) -> vec3f {
    return vec3f(
        mx_gradient2(hash, v),
        mx_gradient2(hash >> 8u, v),
        mx_gradient2(hash >> 16u, v),
    );
}

fn mx_noise2d_vec3f(p: vec2f) -> vec3f {
    let cell = floor(p);
    let i = vec2i(cell);
    let f = p - cell;
    let s = mx_fade(f.x);
    let t = mx_fade(f.y);
    let bottom = mix(
        mx_gradients2(mx_hash2(i.x, i.y), f),
        mx_gradients2(mx_hash2(i.x + 1, i.y), f - vec2f(1.0, 0.0)),
        s,
    );
    let top = mix(
        mx_gradients2(mx_hash2(i.x, i.y + 1), f - vec2f(0.0, 1.0)),
        mx_gradients2(mx_hash2(i.x + 1, i.y + 1), f - vec2f(1.0, 1.0)),
        s,
    );
    return 0.6616 * mix(bottom, top, t);
}

fn mx_noise2d_vec2f(p: vec2f) -> vec2f {
    return mx_noise2d_vec3f(p).xy;
}

fn mx_noise2d_vec4f(p: vec2f) -> vec4f {
    return vec4f(mx_noise2d_vec3f(p), mx_noise2d_f32(p + vec2f(19.0, 73.0)));
}

// The noise of a face of a cell, at z of the cell plus k.
fn mx_face_f32(i: vec3i, f: vec3f, s: f32, t: f32, k: i32) -> f32 {
    let g = f - vec3f(0.0, 0.0, f32(k));
    let z = i.z + k;
    let bottom = mix(
        mx_gradient3(mx_hash3(i.x, i.y, z), g),
        mx_gradient3(mx_hash3(i.x + 1, i.y, z), g - vec3f(1.0, 0.0, 0.0)),
        s,
    );
    let top = mix(
        mx_gradient3(mx_hash3(i.x, i.y + 1, z), g - vec3f(0.0, 1.0, 0.0)),
        mx_gradient3(mx_hash3(i.x + 1, i.y + 1, z), g - vec3f(1.0, 1.0, 0.0)),
        s,
    );
    return mix(bottom, top, t);
}

fn mx_noise3d_f32(p: vec3f) -> f32 {
    let cell = floor(p);
    let i = vec3i(cell);
    let f = p - cell;
    let s = mx_fade(f.x);
    let t = mx_fade(f.y);
    let near = mx_face_f32(i, f, s, t, 0);
    let far = mx_face_f32(i, f, s, t, 1);
    return 0.982 * mix(near, far, mx_fade(f.z));
}

// Three products, with gradients by three bytes of a hash.
fn mx_gradients3(hash: u32, v: vec3f) -> vec3f {
    return vec3f(
        mx_gradient3(hash, v),
        mx_gradient3(hash >> 8u, v),
        mx_gradient3(hash >> 16u, v),
    );
}

// The noise of a face of a cell, at z of the cell plus k.
fn mx_face_vec3f(i: vec3i, f: vec3f, s: f32, t: f32, k: i32) -> vec3f {
    let g = f - vec3f(0.0, 0.0, f32(k));
    let z = i.z + k;
    let bottom = mix(
        mx_gradients3(mx_hash3(i.x, i.y, z), g),
        mx_gradients3(mx_hash3(i.x + 1, i.y, z), g - vec3f(1.0, 0.0, 0.0)),
        s,
    );
    let top = mix(
        mx_gradients3(mx_hash3(i.x, i.y + 1, z), g - vec3f(0.0, 1.0, 0.0)),
        mx_gradients3(mx_hash3(i.x + 1, i.y + 1, z), g - vec3f(1.0, 1.0, 0.0)),
        s,
    );
    return mix(bottom, top, t);
}

fn mx_noise3d_vec3f(p: vec3f) -> vec3f {
    let cell = floor(p);
    let i = vec3i(cell);
    let f = p - cell;
    let s = mx_fade(f.x);
    let t = mx_fade(f.y);
    let near = mx_face_vec3f(i, f, s, t, 0);
    let far = mx_face_vec3f(i, f, s, t, 1);
    return 0.982 * mix(near, far, mx_fade(f.z));
}

fn mx_noise3d_vec2f(p: vec3f) -> vec2f {
    return mx_noise3d_vec3f(p).xy;
}

fn mx_noise3d_vec4f(p: vec3f) -> vec4f {
    return vec4f(mx_noise3d_vec3f(p), mx_noise3d_f32(p + vec3f(19.0, 73.0, 29.0)));
}

fn mx_fractal2d_f32(p: vec2f, octaves: i32, lacunarity: f32, diminish: f32) -> f32 {
    var sum = 0.0;
    var amplitude = 1.0;
    var q = p;
    for (var i = 0; i < octaves; i++) {
        sum += amplitude * mx_noise2d_f32(q);
        amplitude *= diminish;
        q *= lacunarity;
    }
    return sum;
}

fn mx_fractal2d_vec3f(p: vec2f, octaves: i32, lacunarity: f32, diminish: f32) -> vec3f {
    var sum = vec3f(0.0);
    var amplitude = 1.0;
    var q = p;
    for (var i = 0; i < octaves; i++) {
        sum += amplitude * mx_noise2d_vec3f(q);
        amplitude *= diminish;
        q *= lacunarity;
    }
    return sum;
}

fn mx_fractal2d_vec2f(p: vec2f, octaves: i32, lacunarity: f32, diminish: f32) -> vec2f {
    return vec2f(
        mx_fractal2d_f32(p, octaves, lacunarity, diminish),
        mx_fractal2d_f32(p + vec2f(19.0, 193.0), octaves, lacunarity, diminish),
    );
}

fn mx_fractal2d_vec4f(p: vec2f, octaves: i32, lacunarity: f32, diminish: f32) -> vec4f {
    return vec4f(
        mx_fractal2d_vec3f(p, octaves, lacunarity, diminish),
        mx_fractal2d_f32(p + vec2f(19.0, 193.0), octaves, lacunarity, diminish),
    );
}

fn mx_fractal3d_f32(p: vec3f, octaves: i32, lacunarity: f32, diminish: f32) -> f32 {
    var sum = 0.0;
    var amplitude = 1.0;
    var q = p;
    for (var i = 0; i < octaves; i++) {
        sum += amplitude * mx_noise3d_f32(q);
        amplitude *= diminish;
        q *= lacunarity;
    }
    return sum;
}

fn mx_fractal3d_vec3f(p: vec3f, octaves: i32, lacunarity: f32, diminish: f32) -> vec3f {
    var sum = vec3f(0.0);
    var amplitude = 1.0;
    var q = p;
    for (var i = 0; i < octaves; i++) {
        sum += amplitude * mx_noise3d_vec3f(q);
        amplitude *= diminish;
        q *= lacunarity;
    }
    return sum;
}

fn mx_fractal3d_vec2f(p: vec3f, octaves: i32, lacunarity: f32, diminish: f32) -> vec2f {
    return vec2f(
        mx_fractal3d_f32(p, octaves, lacunarity, diminish),
        mx_fractal3d_f32(p + vec3f(19.0, 193.0, 17.0), octaves, lacunarity, diminish),
    );
}

fn mx_fractal3d_vec4f(p: vec3f, octaves: i32, lacunarity: f32, diminish: f32) -> vec4f {
    return vec4f(
        mx_fractal3d_vec3f(p, octaves, lacunarity, diminish),
        mx_fractal3d_f32(p + vec3f(19.0, 193.0, 17.0), octaves, lacunarity, diminish),
    );
}

// Bits as a number from 0 to 1.
fn mx_unit(bits: u32) -> f32 {
    return f32(bits) / 4294967295.0;
}

fn mx_cellnoise2d(p: vec2f) -> f32 {
    let i = vec2i(floor(p));
    return mx_unit(mx_hash2(i.x, i.y));
}

fn mx_cellnoise3d(p: vec3f) -> f32 {
    let i = vec3i(floor(p));
    return mx_unit(mx_hash3(i.x, i.y, i.z));
}

// Three numbers from 0 to 1 for a cell.
fn mx_cell2d(p: vec2f) -> vec3f {
    let i = vec2i(floor(p));
    return vec3f(
        mx_unit(mx_hash3(i.x, i.y, 0)),
        mx_unit(mx_hash3(i.x, i.y, 1)),
        mx_unit(mx_hash3(i.x, i.y, 2)),
    );
}

// Three numbers from 0 to 1 for a cell.
fn mx_cell3d(p: vec3f) -> vec3f {
    let bits = mx_hash4(vec3i(floor(p)));
    return vec3f(mx_unit(bits.x), mx_unit(bits.y), mx_unit(bits.z));
}

// Three distances to the nearest feature points, and the nearest point relative to the position.
struct MxFeatures {
    distances: vec3f,
    nearest: vec3f,
}

// Adds a feature point at an offset.
fn mx_nearer(features: MxFeatures, offset: vec3f) -> MxFeatures {
    let squared = dot(offset, offset);
    let d = features.distances;
    if squared < d.x {
        return MxFeatures(vec3f(squared, d.xy), offset);
    }
    let others = vec3f(d.x, min(d.y, squared), max(d.y, min(d.z, squared)));
    return MxFeatures(others, features.nearest);
}

fn mx_features2d(p: vec2f, jitter: f32) -> MxFeatures {
    let cell = floor(p);
    let f = p - cell;
    var features = MxFeatures(vec3f(1e6), vec3f(0.0));
    for (var x = -1; x <= 1; x++) {
        for (var y = -1; y <= 1; y++) {
            let k = vec2f(f32(x), f32(y));
            let point = (mx_cell2d(cell + k).xy - 0.5) * jitter + 0.5;
            features = mx_nearer(features, vec3f(k + point - f, 0.0));
        }
    }
    return features;
}

fn mx_features3d(p: vec3f, jitter: f32) -> MxFeatures {
    let cell = floor(p);
    let f = p - cell;
    var features = MxFeatures(vec3f(1e6), vec3f(0.0));
    for (var x = -1; x <= 1; x++) {
        for (var y = -1; y <= 1; y++) {
            for (var z = -1; z <= 1; z++) {
                let k = vec3f(f32(x), f32(y), f32(z));
                let point = (mx_cell3d(cell + k) - 0.5) * jitter + 0.5;
                features = mx_nearer(features, k + point - f);
            }
        }
    }
    return features;
}

fn mx_worleynoise2d_f32(p: vec2f, jitter: f32, style: i32) -> f32 {
    let features = mx_features2d(p, jitter);
    return select(sqrt(features.distances.x), mx_cellnoise2d(p + features.nearest.xy), style == 1);
}

fn mx_worleynoise2d_vec2f(p: vec2f, jitter: f32, style: i32) -> vec2f {
    return mx_worleynoise2d_vec3f(p, jitter, style).xy;
}

fn mx_worleynoise2d_vec3f(p: vec2f, jitter: f32, style: i32) -> vec3f {
    let features = mx_features2d(p, jitter);
    return select(sqrt(features.distances), mx_cell2d(p + features.nearest.xy), style == 1);
}

fn mx_worleynoise3d_f32(p: vec3f, jitter: f32, style: i32) -> f32 {
    let features = mx_features3d(p, jitter);
    return select(sqrt(features.distances.x), mx_cellnoise3d(p + features.nearest), style == 1);
}

fn mx_worleynoise3d_vec2f(p: vec3f, jitter: f32, style: i32) -> vec2f {
    return mx_worleynoise3d_vec3f(p, jitter, style).xy;
}

fn mx_worleynoise3d_vec3f(p: vec3f, jitter: f32, style: i32) -> vec3f {
    let features = mx_features3d(p, jitter);
    return select(sqrt(features.distances), mx_cell3d(p + features.nearest), style == 1);
}

fn mx_unifiednoise2d(
    texcoord: vec2f,
    freq: vec2f,
    offset: vec2f,
    jitter: f32,
    outmin: f32,
    outmax: f32,
    clampoutput: bool,
    octaves: i32,
    lacunarity: f32,
    diminish: f32,
    kind: i32,
    style: i32,
) -> f32 {
    let q = texcoord * freq + offset;
    let turn = (jitter - 1.0) * 90000.0;
    let turned = mx_rotate2d(q, turn);
    var value = 0.0;
    switch kind {
        case 1: { value = mx_cellnoise2d(turned); }
        case 2: { value = mx_worleynoise2d_f32(q, jitter, style); }
        case 3: { value = mx_fractal3d_f32(vec3f(q, turn), octaves, lacunarity, diminish); }
        default: { value = 0.5 * mx_noise2d_f32(turned) + 0.5; }
    }
    let result = outmin + value * (outmax - outmin);
    return select(result, clamp(result, outmin, outmax), clampoutput);
}

fn mx_unifiednoise3d(
    position: vec3f,
    freq: vec3f,
    offset: vec3f,
    jitter: f32,
    outmin: f32,
    outmax: f32,
    clampoutput: bool,
    octaves: i32,
    lacunarity: f32,
    diminish: f32,
    kind: i32,
    style: i32,
) -> f32 {
    let q = position * freq + offset;
    let turned = mx_rotate3d(q, (jitter - 1.0) * 90000.0, vec3f(0.1, 1.0, 0.0));
    var value = 0.0;
    switch kind {
        case 1: { value = mx_cellnoise3d(turned); }
        case 2: { value = mx_worleynoise3d_f32(q, jitter, style); }
        case 3: { value = mx_fractal3d_f32(turned, octaves, lacunarity, diminish); }
        default: { value = 0.5 * mx_noise3d_f32(turned) + 0.5; }
    }
    let result = outmin + value * (outmax - outmin);
    return select(result, clamp(result, outmin, outmax), clampoutput);
}
