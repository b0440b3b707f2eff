//! The integer square root, bit by bit.

struct Medium {
    /// The number. range: [0, 1000000]
    number: u32,
}

fn density(p: vec3f, m: Medium) -> f32 {
    var rest = m.number;
    var root = 0u;
    var bit = 1u << 20u;
    while bit > rest {
        bit >>= 2u;
        if bit == 0u {
            break;
        }
    }
    while bit != 0u {
        if rest >= root + bit {
            rest -= root + bit;
            root = (root >> 1u) + bit;
        } else {
            root >>= 1u;
        }
        bit >>= 2u;
    }
    return f32(root);
}
