//! All texture functions, in loops, branches and called functions.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

var wood: texture_2d<f32>;
@group(0) @binding(0) var scratches: texture_2d<f32>;
@group(0) @binding(0) var smoothly: sampler;

fn layers(image: texture_2d<f32>, filtered: sampler, at: vec2f) -> vec4f {
    return textureSample(image, filtered, at) - 0.5 * textureSample(image, filtered, 2.0 * at, vec2(1, -7));
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    var sum = layers(wood, smoothly, wi.xy);
    if wo.x > 0.25 {
        sum += layers(scratches, smoothly, wo.xy).abgr;
    }
    for (var k = 0; k < 3; k++) {
        sum.x += textureSampleLevel(wood, smoothly, wi.yz * f32(k), 0.0).g;
    }
    while sum.y < 1.0 {
        sum.y += 0.25 + abs(textureSampleBias(scratches, smoothly, sum.yz, wi.x).b);
    }
    sum += textureSampleGrad(wood, smoothly, wo.zx, wi.xy, wi.yz, vec2(-8, 0));
    sum -= textureSampleBaseClampToEdge(scratches, smoothly, 2.0 * wi.xz);
    sum += textureGather(3, wood, smoothly, wo.xy) * textureGather(0, scratches, smoothly, wi.xy, vec2(3, -2));
    let size = textureDimensions(scratches) * textureNumLevels(wood);
    sum += textureLoad(scratches, vec2u(abs(wi.xy) * vec2f(size)), 0) + textureLoad(wood, vec2i(5.0 * wo.xy), 1);
    return m.kd * sum.xyz + sum.w * f32(size.x + textureDimensions(wood, 1u).y) / m.n;
}
