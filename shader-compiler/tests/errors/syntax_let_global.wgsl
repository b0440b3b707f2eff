let PI = 3.14;
fn brdf(wi: vec3f, wo: vec3f) -> vec3f {
    return wi / PI;
}
