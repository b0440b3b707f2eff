fn brdf(wi: vec3f, wo: vec3f) -> vec3f {
    return textureSample(t, s, wi.xy).rgb;
}
