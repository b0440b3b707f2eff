//! An interpreter of bytecode with eight registers and tail calls: after its last instruction, a
//! program starts again. Register 0 is initially the argument.

struct Material {
    /// Number of instructions. range: [1, 32]
    length: i32,
    /// The argument. range: [0, 1000]
    n: i32,
}

@group(0) @binding(0) var code: texture_2d<f32>;

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    var r: array<i32, 8>;
    r[0] = m.n;
    var result = 0;
    var done = false;
    for (var turn = 0; turn < 1024 && !done; turn++) {
        for (var pc = 0; pc < m.length; pc++) {
            let instruction = bitcast<vec4i>(textureLoad(code, vec2i(pc, 0), 0));
            let a = instruction.y;
            let b = instruction.z;
            let c = instruction.w;
            if !done {
                switch instruction.x {
                    case 0: {
                        // return r[a]
                        result = r[a];
                        done = true;
                    }
                    case 1: {
                        // return r[b] if r[a] is 0
                        if r[a] == 0 {
                            result = r[b];
                            done = true;
                        }
                    }
                    case 2: {
                        r[a] = c;
                    }
                    case 3: {
                        r[a] = r[b] + r[c];
                    }
                    case 4: {
                        r[a] = r[b] - r[c];
                    }
                    default: {
                        r[a] = r[b] * r[c];
                    }
                }
            }
        }
    }
    return vec3f(bitcast<f32>(result));
}
