// Functions of nodes. `T` stands for a type of floats: f32, vec2f, vec3f or vec4f.

fn mx_smoothstep_T(x: T, low: T, high: T) -> T {
    let inside = smoothstep(low, high, x);
    return select(select(inside, T(0.0), x <= low), T(1.0), x >= high);
}

fn mx_range_T(x: T, inlow: T, inhigh: T, gamma: T, outlow: T, outhigh: T, doclamp: bool) -> T {
    let t = (x - inlow) / (inhigh - inlow);
    let bent = sign(t) * pow(abs(t), 1.0 / gamma);
    let result = outlow + bent * (outhigh - outlow);
    return select(result, clamp(result, outlow, outhigh), doclamp);
}

fn mx_modulo_T(x: T, y: T) -> T {
    return x - y * floor(x / y);
}

fn mx_burn_T(fg: T, bg: T, amount: T) -> T {
    let burnt = amount * (1.0 - (1.0 - bg) / fg) + (1.0 - amount) * bg;
    return select(burnt, T(0.0), abs(fg) < T(1e-8));
}

fn mx_dodge_T(fg: T, bg: T, amount: T) -> T {
    let dodged = amount * (bg / (1.0 - fg)) + (1.0 - amount) * bg;
    return select(dodged, T(0.0), abs(1.0 - fg) < T(1e-8));
}

fn mx_overlay_T(fg: T, bg: T, amount: T) -> T {
    let light = 1.0 - 2.0 * (1.0 - fg) * (1.0 - bg);
    return mix(bg, select(2.0 * fg * bg, light, bg >= T(0.5)), amount);
}

fn mx_trianglewave(x: f32) -> f32 {
    return 0.5 - abs(fract(abs(x)) - 0.5);
}

fn mx_disjointover(fg: vec4f, bg: vec4f, amount: f32) -> vec4f {
    let sum = fg.a + bg.a;
    var rgb = fg.rgb + bg.rgb;
    if sum > 1.0 {
        rgb = select(fg.rgb + bg.rgb * ((1.0 - fg.a) / bg.a), vec3f(0.0), abs(bg.a) < 1e-8);
    }
    return mix(bg, vec4f(rgb, min(sum, 1.0)), amount);
}

fn mx_rgbtohsv(c: vec3f) -> vec3f {
    let value = max(c.r, max(c.g, c.b));
    let delta = value - min(c.r, min(c.g, c.b));
    let saturation = select(0.0, delta / value, value > 0.0);
    if saturation <= 0.0 {
        return vec3f(0.0, saturation, value);
    }
    var hue = 4.0 + (c.r - c.g) / delta;
    if c.r >= value {
        hue = (c.g - c.b) / delta;
    } else if c.g >= value {
        hue = 2.0 + (c.b - c.r) / delta;
    }
    hue = hue / 6.0;
    return vec3f(select(hue, hue + 1.0, hue < 0.0), saturation, value);
}

fn mx_hsvtorgb(hsv: vec3f) -> vec3f {
    let s = hsv.y;
    let v = hsv.z;
    if s < 0.0001 {
        return vec3f(v);
    }
    let h = 6.0 * fract(hsv.x);
    let sector = i32(h);
    let f = h - f32(sector);
    let p = v * (1.0 - s);
    let q = v * (1.0 - s * f);
    let t = v * (1.0 - s * (1.0 - f));
    switch sector {
        case 0: { return vec3f(v, t, p); }
        case 1: { return vec3f(q, v, p); }
        case 2: { return vec3f(p, v, t); }
        case 3: { return vec3f(p, q, v); }
        case 4: { return vec3f(t, p, v); }
        default: { return vec3f(v, p, q); }
    }
}

fn mx_hsvadjust(c: vec3f, amount: vec3f) -> vec3f {
    let hsv = mx_rgbtohsv(c);
    return mx_hsvtorgb(vec3f(hsv.x + amount.x, hsv.yz * amount.yz));
}

fn mx_saturate(c: vec3f, amount: f32, lumacoeffs: vec3f) -> vec3f {
    return mix(vec3f(dot(c, lumacoeffs)), c, amount);
}

fn mx_colorcorrect(
    c: vec3f,
    hue: f32,
    saturation: f32,
    gamma: f32,
    lift: f32,
    gain: f32,
    contrast: f32,
    contrastpivot: f32,
    exposure: f32,
) -> vec3f {
    let turned = mx_hsvadjust(c, vec3f(hue, 1.0, 1.0));
    let saturated = mx_saturate(turned, saturation, vec3f(0.2722287, 0.6740818, 0.0536895));
    let bent = sign(saturated) * pow(abs(saturated), vec3f(1.0 / gamma));
    let lifted = (bent * (1.0 - lift) + lift) * gain;
    return ((lifted - contrastpivot) * contrast + contrastpivot) * exp2(exposure);
}

fn mx_gamma_color3(c: vec3f, gamma: f32) -> vec3f {
    return pow(max(c, vec3f(0.0)), vec3f(gamma));
}

fn mx_gamma_color4(c: vec4f, gamma: f32) -> vec4f {
    return vec4f(mx_gamma_color3(c.rgb, gamma), c.a);
}

fn mx_primaries_color4(c: vec4f, m: mat3x3f) -> vec4f {
    return vec4f(m * c.rgb, c.a);
}

// Rotates by an angle in degrees, clockwise.
fn mx_rotate2d(v: vec2f, degrees: f32) -> vec2f {
    let angle = radians(degrees);
    let s = sin(angle);
    let c = cos(angle);
    return vec2f(c * v.x + s * v.y, c * v.y - s * v.x);
}

// Rotates around an axis by an angle in degrees.
fn mx_rotate3d(v: vec3f, degrees: f32, axis: vec3f) -> vec3f {
    let angle = radians(degrees);
    let a = normalize(axis);
    let s = sin(angle);
    let c = cos(angle);
    return v * c + cross(v, a) * s + a * (dot(a, v) * (1.0 - c));
}

fn mx_place2d(
    texcoord: vec2f,
    pivot: vec2f,
    scale: vec2f,
    degrees: f32,
    offset: vec2f,
    operationorder: i32,
) -> vec2f {
    let q = texcoord - pivot;
    let first = mx_rotate2d(q / scale, degrees) - offset + pivot;
    let second = mx_rotate2d(q - offset, degrees) / scale + pivot;
    return select(first, second, operationorder == 1);
}

// Texture coordinates of glTF images.
fn mx_gltf_place2d(
    texcoord: vec2f,
    pivot: vec2f,
    scale: vec2f,
    degrees: f32,
    offset: vec2f,
    operationorder: i32,
) -> vec2f {
    let negated = vec2f(-offset.x, offset.y);
    return mx_place2d(texcoord, pivot, 1.0 / scale, -degrees, negated, operationorder);
}

// Texture coordinates of UsdTransform2d.
fn mx_usd_place2d(texcoord: vec2f, degrees: f32, scale: vec2f, translation: vec2f) -> vec2f {
    return mx_rotate2d(texcoord * scale, -degrees) + translation;
}

fn mx_ramp4_T(tl: T, tr: T, bl: T, br: T, texcoord: vec2f) -> T {
    let s = saturate(texcoord.x);
    let t = saturate(texcoord.y);
    return mix(mix(bl, br, s), mix(tl, tr, s), t);
}

// An interval of a ramp with several colours: `before` is the colour up to its beginning.
fn mx_ramp_interval(
    x: f32,
    low: f32,
    high: f32,
    color1: vec4f,
    color2: vec4f,
    interpolation: i32,
    before: vec4f,
) -> vec4f {
    var t = (clamp(x, low, high) - low) / (high - low);
    if interpolation == 1 {
        t = mx_smoothstep_f32(x, low, high);
    }
    var color = mix(color1, color2, t);
    if interpolation == 2 {
        color = select(color2, color1, high > x);
    }
    return select(before, color, x > low);
}

// The coordinate of a ramp along its direction.
fn mx_ramp_coordinate(texcoord: vec2f, kind: i32) -> f32 {
    let q = texcoord - 0.5;
    switch kind {
        case 1: { return atan2(q.x, q.y) / 6.28319 + 0.5; }
        case 2: { return length(1.414 * q); }
        case 3: { return 2.0 * max(abs(q.x), abs(q.y)); }
        default: { return texcoord.x; }
    }
}

fn mx_checkerboard(c1: vec3f, c2: vec3f, uvtiling: vec2f, uvoffset: vec2f, uv: vec2f) -> vec3f {
    let cell = floor(uv * uvtiling - uvoffset);
    return mix(c2, c1, mx_modulo_f32(cell.x + cell.y, 2.0));
}

fn mx_circle(texcoord: vec2f, center: vec2f, radius: f32) -> f32 {
    let q = texcoord - center;
    return select(1.0, 0.0, dot(q, q) > radius * radius);
}

fn mx_line(texcoord: vec2f, center: vec2f, radius: f32, point1: vec2f, point2: vec2f) -> f32 {
    let pa = texcoord - center - point1;
    let ba = point2 - point1;
    let t = saturate(dot(pa, ba) / dot(ba, ba));
    return select(1.0, 0.0, length(pa - ba * t) > radius);
}

fn mx_randomfloat(x: f32, low: f32, high: f32, seed: i32) -> f32 {
    let value = mx_cellnoise2d(vec2f(4096.0 * x, f32(seed)));
    return clamp(low + value * (high - low), low, high);
}

fn mx_randomcolor(
    x: f32,
    huelow: f32,
    huehigh: f32,
    saturationlow: f32,
    saturationhigh: f32,
    brightnesslow: f32,
    brightnesshigh: f32,
    seed: i32,
) -> vec3f {
    let hue = mx_randomfloat(x, 0.0, 1.0, seed + 414);
    let saturation = mx_randomfloat(x, 0.0, 1.0, seed + 1523);
    let brightness = mx_randomfloat(x, 0.0, 1.0, seed + 1814);
    return mx_hsvtorgb(vec3f(
        mix(huelow, huehigh, hue),
        mix(saturationlow, saturationhigh, saturation),
        mix(brightnesslow, brightnesshigh, brightness),
    ));
}

fn mx_reflect(v: vec3f, normal: vec3f) -> vec3f {
    return v - 2.0 * dot(v, normal) * normal;
}

fn mx_refract(v: vec3f, normal: vec3f, ior: f32) -> vec3f {
    let c = dot(v, normal);
    let k = 1.0 - ior * ior * (1.0 - c * c);
    return select(v * ior - normal * (ior * c + sqrt(max(k, 0.0))), vec3f(0.0), k < 0.0);
}

// Colour of a black body, relative to a luminance of 1.
fn mx_blackbody(kelvin: f32) -> vec3f {
    let t = clamp(kelvin, 800.0, 25000.0);
    let r = 1000.0 / t;
    let r2 = r * r;
    let cool = t < 4000.0;
    let x = select(
        ((-3.0258469 * r + 2.1070379) * r + 0.2226347) * r + 0.240390,
        ((-0.2661239 * r - 0.2343589) * r + 0.8776956) * r + 0.179910,
        cool,
    );
    let x2 = x * x;
    let x3 = x2 * x;
    var y = 3.0817580 * x3 - 5.87338670 * x2 + 3.75112997 * x - 0.37001483;
    if t < 2222.0 {
        y = -1.1063814 * x3 - 1.34811020 * x2 + 2.18555832 * x - 0.20219683;
    } else if cool {
        y = -0.9549476 * x3 - 1.37418593 * x2 + 2.09137015 * x - 0.16748867;
    }
    let z = vec3f(x / y, 1.0, (1.0 - x - y) / y);
    let rgb = vec3f(
        dot(z, vec3f(3.2406, -1.5372, -0.4986)),
        dot(z, vec3f(-0.9689, 1.8758, 0.0415)),
        dot(z, vec3f(0.0557, -0.2040, 1.0570)),
    );
    return max(rgb, vec3f(0.0));
}

// Index of refraction of metal with a reflectance r at normal incidence and an edge colour g
// (Gulbrandsen 2014, *Artist friendly metallic Fresnel*).
fn mx_artistic_ior(reflectivity: vec3f, edge_color: vec3f) -> vec3f {
    let r = clamp(reflectivity, vec3f(0.0), vec3f(0.99));
    let root = sqrt(r);
    return mix((1.0 + root) / (1.0 - root), (1.0 - r) / (1.0 + r), edge_color);
}

// Its extinction coefficient.
fn mx_artistic_extinction(reflectivity: vec3f, edge_color: vec3f) -> vec3f {
    let r = clamp(reflectivity, vec3f(0.0), vec3f(0.99));
    let n = mx_artistic_ior(reflectivity, edge_color);
    let np1 = n + 1.0;
    let nm1 = n - 1.0;
    return sqrt(max((np1 * np1 * r - nm1 * nm1) / (1.0 - r), vec3f(0.0)));
}

// A normal of a normal map, in the shading frame.
fn mx_normalmap(value: vec3f, scale: vec2f) -> vec3f {
    let n = select(2.0 * value - 1.0, vec3f(0.0, 0.0, 1.0), dot(value, value) == 0.0);
    return normalize(vec3f(n.xy * scale, n.z));
}

// Texture coordinates for the address mode `mirror`.
fn mx_mirror(x: f32) -> f32 {
    return 1.0 - abs(x - 2.0 * floor(0.5 * x) - 1.0);
}

// Whether texture coordinates are in the image, for the address mode `constant`.
fn mx_is_inside(x: f32) -> bool {
    return x >= 0.0 && x <= 1.0;
}

fn mx_roughness_anisotropy(roughness: f32, anisotropy: f32) -> vec2f {
    let aspect = sqrt(1.0 - clamp(anisotropy, 0.0, 0.98));
    let alpha = saturate(roughness * roughness);
    return vec2f(min(alpha / aspect, 1.0), alpha * aspect);
}

fn mx_roughness_dual(roughness: vec2f) -> vec2f {
    let alpha = saturate(roughness * roughness);
    return vec2f(alpha.x, select(alpha.y, alpha.x, roughness.y < 0.0));
}

// The normal of a height as a colour of a normal map, by derivatives of texture coordinates and
// height along two axes. The factor is that of MaterialX, after Sobel filters.
fn mx_heighttonormal(du: vec3f, dv: vec3f) -> vec3f {
    let scale = vec3f(1.0, 1.0, 0.0625);
    let n = cross(du * scale, dv * scale);
    let front = select(n, -n, n.z < 0.0);
    let valid = dot(n, n) > 1e-20;
    return 0.5 * normalize(select(vec3f(0.0, 0.0, 1.0), front, valid)) + 0.5;
}

// Chiang et al. 2016, *A practical and controllable hair and fur model for production path
// tracing*.
fn mx_hair_absorption_of_color(color: vec3f, roughness: f32) -> vec3f {
    let b = roughness;
    let c = 5.969 + b * (-0.215 + b * (2.532 + b * (-10.73 + b * (5.574 + b * 0.245))));
    let root = log(clamp(color, vec3f(0.001), vec3f(1.0))) / c;
    return root * root;
}

// d'Eon et al. 2011, *An energy-conserving hair reflectance model*, with colours for absorption.
fn mx_hair_absorption_of_melanin(
    concentration: f32,
    redness: f32,
    eumelanin: vec3f,
    pheomelanin: vec3f,
) -> vec3f {
    let melanin = -log(max(1.0 - concentration, 0.0001));
    let sum = (1.0 - redness) * log(eumelanin) + redness * log(pheomelanin);
    return max(-melanin * sum, vec3f(0.0));
}

// A direction in the frame of a normal, whose x axis is the closest to that of the frame of both.
fn mx_in_frame(w: vec3f, normal: vec3f) -> vec3f {
    let n = normalize(normal);
    let t = normalize(vec3f(1.0, 0.0, 0.0) - n * n.x);
    return normalize(vec3f(dot(t, w), dot(cross(n, t), w), dot(n, w)));
}
