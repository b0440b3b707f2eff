cosnt PI = 3.14159265;

fn brdf(wi: vec3f, wo: vec3f) -> vec3f {
    return vec3f(1.0 / PI);
}
