//! Suggestions for unknown names.

/// Built-in functions and types of WGSL.
const BUILTINS: &str = "abs acos acosh all any array asin asinh atan atan2 atanh bitcast bool ceil clamp cos cosh countLeadingZeros \
    countOneBits countTrailingZeros cross degrees determinant distance dot exp exp2 extractBits f32 faceForward firstLeadingBit \
    firstTrailingBit floor fma fract frexp i32 insertBits inverseSqrt ldexp length log log2 mat2x2f mat2x3f mat2x4f mat3x2f mat3x3f \
    mat3x4f mat4x2f mat4x3f mat4x4f max min mix modf normalize pow ptr quantizeToF16 radians reflect refract reverseBits round saturate \
    sampler select sign sin sinh smoothstep sqrt step tan tanh textureDimensions textureGather textureLoad textureNumLevels textureSample \
    textureSampleBaseClampToEdge textureSampleBias textureSampleGrad textureSampleLevel texture_2d transpose trunc u32 vec2 vec2f vec2i vec2u vec3 vec3f vec3i vec3u vec4 vec4f \
    vec4i vec4u";

/// Names in other shading languages and their equivalents in WGSL.
const FOREIGN: [(&str, &str); 44] = [
    ("float", "f32"),
    ("double", "f32"),
    ("half", "f32"),
    ("f16", "f32"),
    ("f64", "f32"),
    ("int", "i32"),
    ("uint", "u32"),
    ("unsigned", "u32"),
    ("float2", "vec2f"),
    ("float3", "vec3f"),
    ("float4", "vec4f"),
    ("color", "vec3f"),
    ("mat2", "mat2x2f"),
    ("mat3", "mat3x3f"),
    ("mat4", "mat4x4f"),
    ("ivec2", "vec2i"),
    ("ivec3", "vec3i"),
    ("uvec2", "vec2u"),
    ("uvec3", "vec3u"),
    ("lerp", "mix"),
    ("frac", "fract"),
    ("rsqrt", "inverseSqrt"),
    ("inversesqrt", "inverseSqrt"),
    ("fabs", "abs"),
    ("fmin", "min"),
    ("fmax", "max"),
    ("powf", "pow"),
    ("sqrtf", "sqrt"),
    ("mad", "fma"),
    ("saturatef", "saturate"),
    ("asfloat", "bitcast<f32>"),
    ("asint", "bitcast<i32>"),
    ("asuint", "bitcast<u32>"),
    ("atan2f", "atan2"),
    ("ln", "log"),
    ("sampler2D", "texture_2d<f32>"),
    ("Texture2D", "texture_2d<f32>"),
    ("SamplerState", "sampler"),
    ("texture", "textureSample"),
    ("tex2D", "textureSample"),
    ("texture2D", "textureSample"),
    ("textureLod", "textureSampleLevel"),
    ("texelFetch", "textureLoad"),
    ("textureSize", "textureDimensions"),
];

/// Help for an unknown name, given the names that the shader declares.
pub(super) fn suggestion<'a>(
    name: &str,
    declared: impl Iterator<Item = &'a str>,
) -> Option<String> {
    if let Some((_, known)) = FOREIGN.iter().find(|(foreign, _)| *foreign == name) {
        return Some(format!("in WGSL, `{name}` is called `{known}`"));
    }
    match name {
        "PI" | "M_PI" | "pi" => {
            return Some("declare it: `const PI = 3.14159265358979;`".to_owned());
        }
        "mod" | "fmod" => return Some("the remainder is written `a % b`".to_owned()),
        "mul" => return Some("the product is written `a * b`, also for matrices".to_owned()),
        "rcp" => return Some("the reciprocal is written `1.0 / x`".to_owned()),
        "Material" => {
            return Some("declare `struct Material { … }`, or remove the parameter".to_owned());
        }
        _ => {}
    }
    let foreign = FOREIGN.iter().map(|(foreign, _)| *foreign);
    let known = closest(name, declared.chain(BUILTINS.split_whitespace()).chain(foreign))?;
    match FOREIGN.iter().find(|(foreign, _)| *foreign == known) {
        Some((foreign, known)) => Some(format!("in WGSL, `{foreign}` is called `{known}`")),
        None => Some(format!("did you mean `{known}`?")),
    }
}

/// WGSL's name for a type of another shading language.
pub(super) fn wgsl(name: &str) -> &str {
    match name {
        "vec2" => "vec2f",
        "vec3" => "vec3f",
        "vec4" => "vec4f",
        _ => FOREIGN.iter().find(|(foreign, _)| *foreign == name).map_or(name, |(_, known)| known),
    }
}

/// Returns the known name that is most similar to `name`, if any is similar enough. Nothing is
/// similar to a single letter.
pub(super) fn closest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let letters = name.chars().count();
    let limit = letters.div_ceil(3).min(3).min(letters.saturating_sub(1));
    let candidates =
        known.filter(|known| *known != name).map(|known| (distance(name, known, limit), known));
    candidates
        .filter(|&(distance, _)| distance <= limit)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, known)| known)
}

/// Edit distance with transpositions (optimal string alignment), ignoring case. A distance above
/// `limit` is not exact.
fn distance(a: &str, b: &str, limit: usize) -> usize {
    let letters = |s: &str| s.chars().flat_map(char::to_lowercase).take(64).collect::<Vec<_>>();
    let (a, b) = (letters(a), letters(b));
    if a.len().abs_diff(b.len()) > limit {
        return limit + 1;
    }
    let mut rows = [vec![0; b.len() + 1], vec![0; b.len() + 1], (0..=b.len()).collect()];
    for (i, x) in a.iter().enumerate() {
        rows.rotate_left(1);
        // The row before the previous one, the previous row, and the current row.
        let [row_2, row_1, row] = &mut rows;
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let mut best = (row_1[j] + usize::from(x != y)).min(row_1[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                best = best.min(row_2[j - 1] + 1);
            }
            row[j + 1] = best;
        }
    }
    rows[2][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_edits_and_transpositions() {
        for (a, b, d) in [
            ("", "ab", 2),
            ("ab", "", 2),
            ("abc", "abc", 0),
            ("abc", "acb", 1),
            ("normalise", "normalize", 1),
            ("x", "yz", 2),
        ] {
            assert_eq!(distance(a, b, 3), d, "{a} {b}");
        }
    }

    #[test]
    fn similar_and_foreign_names_are_suggested() {
        let declared = ["cosine", "exponent"];
        let suggestion = |name| suggestion(name, declared.into_iter());
        assert_eq!(suggestion("cosin").as_deref(), Some("did you mean `cosine`?"));
        assert_eq!(suggestion("Normalise").as_deref(), Some("did you mean `normalize`?"));
        assert_eq!(suggestion("lerp").as_deref(), Some("in WGSL, `lerp` is called `mix`"));
        assert_eq!(suggestion("flaot").as_deref(), Some("in WGSL, `float` is called `f32`"));
        assert_eq!((suggestion("unheard_of"), suggestion("t")), (None, None));
    }
}
