//! Shaders that are measured besides those of the library. `ggx`, `layered` and `disney` are
//! written as people write them, without regard to bounds, and show what bounds cost then.
//! `openpbr15` is the library's `openpbr` with [15 parameters](OPENPBR_15), and the defaults for the
//! others.

use std::sync::LazyLock;

/// A shader by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StudyShader {
    /// Name, without extension.
    pub name: &'static str,
    /// Text in WGSL.
    pub text: &'static str,
}

const SHADERS: [StudyShader; 3] = [
    StudyShader { name: "disney", text: include_str!("../shaders/disney.wgsl") },
    StudyShader { name: "ggx", text: include_str!("../shaders/ggx.wgsl") },
    StudyShader { name: "layered", text: include_str!("../shaders/layered.wgsl") },
];

/// Finds a shader by its name, with or without `.wgsl`.
pub fn find(name: &str) -> Option<StudyShader> {
    let stem = name.strip_suffix(".wgsl").unwrap_or(name);
    if stem == "openpbr15" {
        return Some(StudyShader { name: "openpbr15", text: &OPENPBR_15_TEXT });
    }
    SHADERS.into_iter().find(|shader| shader.name == stem)
}

/// Shaders that are used in practice, besides those of Clarberg et al. 2010: of the library and of
/// this list.
pub const PRACTICE_SHADERS: [&str; 6] =
    ["ggx", "conductor", "coated_diffuse", "hair", "disney", "openpbr15"];

/// The parameters of `openpbr15`: all of the opaque base, coat and fuzz but weights and anisotropies
/// that few materials change.
pub const OPENPBR_15: [&str; 15] = [
    "base_color",
    "base_diffuse_roughness",
    "base_metalness",
    "specular_weight",
    "specular_color",
    "specular_roughness",
    "specular_ior",
    "specular_roughness_anisotropy",
    "coat_weight",
    "coat_color",
    "coat_roughness",
    "coat_ior",
    "fuzz_weight",
    "fuzz_color",
    "fuzz_roughness",
];

static OPENPBR_15_TEXT: LazyLock<String> =
    LazyLock::new(|| with_parameters(include_str!("../../../assets/shaders/openpbr.wgsl")));

/// Returns the text of `openpbr` with only the parameters of [`OPENPBR_15`], with which it only
/// reflects, and without its sampler.
fn with_parameters(openpbr: &str) -> String {
    let (sides, openpbr) = openpbr.split_once('\n').expect("it has lines");
    assert!(sides.contains("sides: both if transmission_weight or geometry_thin_walled"));
    let (before, rest) =
        openpbr.split_once("struct Material {").expect("the shader has parameters");
    let (members, after) = rest.split_once("\n}\n").expect("the struct ends");
    let (mut kept, mut values, mut comment) = (String::new(), vec![], String::new());
    for line in members.lines().filter(|line| !line.is_empty()) {
        if line.trim_start().starts_with("///") {
            comment += line;
            comment += "\n";
            continue;
        }
        let (name, kind) = line
            .trim()
            .trim_end_matches(',')
            .split_once(": ")
            .expect("a member has a name and a type");
        if OPENPBR_15.contains(&name) {
            kept += &format!("{comment}{line}\n");
            values.push(format!("m.{name}"));
        } else {
            let (_, default) = comment.split_once("default: ").expect("all have defaults");
            let default = default.trim().trim_matches(['(', ')']);
            values.push(format!("{kind}({default})"));
        }
        comment.clear();
    }
    let mut after = after.replace("m: Material", "m: Surface");
    for function in ["brdf", "sample", "pdf"] {
        after = after.replace(&format!("fn {function}("), &format!("fn {function}_of_surface("));
    }
    format!(
        "{before}struct Surface {{{members}\n}}\n{after}\nstruct Material {{\n{kept}}}\n\n\
         fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {{\n    \
         return brdf_of_surface(wi, wo, Surface({}));\n}}\n",
        values.join(", "),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_shader::bounding::{Frame, Integrand};
    use lightbound_shader::interpreter;
    use lightbound_shader::{Settings, Shader};

    /// Evaluates s with the default parameters, and the cosine of wi included.
    fn evaluate(name: &str, wi: [f32; 3], wo: [f32; 3], parameters: &[f32]) -> Vec<f32> {
        let text = find(name).expect("it is listed").text;
        let shader = Shader::parse(name, text).expect("it is valid");
        let point = Integrand::new(&shader, &Settings::default(), Frame::Local)
            .expect("it compiles")
            .bounded();
        let row: Vec<u32> = wi.iter().chain(&wo).chain(parameters).map(|x| x.to_bits()).collect();
        let results = interpreter::run(&point, &[], &row, 1).expect("there are no loops");
        results.into_iter().map(f32::from_bits).collect()
    }

    #[test]
    fn ggx_matches_its_formula_at_normal_incidence() {
        // D = 1/(π α²) and G₂ = F/f₀ = 1, so s = f₀/(4 π α²).
        let up = [0.0, 0.0, 1.0];
        let s = evaluate("ggx", up, up, &[0.9, 0.6, 0.3, 0.5]);
        for (s, f0) in std::iter::zip(s, [0.9, 0.6, 0.3]) {
            let expected = f0 / std::f32::consts::PI;
            assert!((s / expected - 1.0).abs() < 1e-5, "{s}, {expected}");
        }
    }

    #[test]
    fn disney_matches_its_formula_at_normal_incidence() {
        // Fd = 1; D = 1/(π α²), G = 1/4 and F = 0.04, with α = 0.25.
        let up = [0.0, 0.0, 1.0];
        let parameters = [0.8, 0.8, 0.8, 0.0, 0.0, 0.5, 0.5, 0.0, 0.0, 0.0, 0.5, 0.0, 1.0];
        let s = evaluate("disney", up, up, &parameters);
        let expected = (0.8 + 0.01 * 16.0) / std::f32::consts::PI;
        assert!(s.iter().all(|s| (s / expected - 1.0).abs() < 1e-5), "{s:?}, {expected}");
    }

    #[test]
    fn openpbr_with_15_parameters_equals_that_of_the_library() {
        let text = find("openpbr15").expect("it is listed").text;
        let shader = Shader::parse("openpbr15", text).expect("it is valid");
        let names: Vec<_> = shader.parameters().iter().map(|member| &member.name[..]).collect();
        assert_eq!(names, OPENPBR_15);
        let library = include_str!("../../../assets/shaders/openpbr.wgsl");
        let library = Shader::parse("openpbr", library).expect("it is valid");
        let set = [("base_metalness", 0.3), ("coat_weight", 0.7), ("fuzz_weight", 0.4)];
        let words = |shader: &Shader| -> Vec<u32> {
            let words = |member: &lightbound_shader::Parameter| {
                let set = set.iter().find(|(name, _)| *name == member.name);
                let default = member.default.as_ref().expect("all have defaults");
                let value = move |k: usize| {
                    set.map_or(default[if default.len() == 1 { 0 } else { k }], |(_, value)| *value)
                };
                (0..member.size).map(|k| member.scalar.bits(value(k))).collect::<Vec<_>>()
            };
            shader.parameters().iter().flat_map(words).collect()
        };
        let run = |shader: &Shader| {
            let point = Integrand::new(shader, &Settings::default(), Frame::Local)
                .expect("it compiles")
                .bounded();
            let directions = [0.36f32, -0.48, 0.8, 0.0, 0.6, 0.8].map(f32::to_bits);
            let row: Vec<u32> = directions.into_iter().chain(words(shader)).collect();
            interpreter::run(&point, &[], &row, 1).expect("there are no loops")
        };
        assert_eq!(run(&shader), run(&library));
    }

    #[test]
    fn directions_below_the_horizon_scatter_nothing() {
        let parameters = [
            1.0, 0.8, 0.8, 0.8, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.3, 1.5, 0.5, 1.0, 1.0, 1.0, 0.1,
            1.6,
        ];
        let [up, down] = [[0.0, 0.6, 0.8], [0.0, 0.6, -0.8]];
        assert_eq!(evaluate("ggx", down, up, &[0.9, 0.6, 0.3, 0.5]), [0.0; 3]);
        assert_eq!(evaluate("layered", down, up, &parameters), [0.0; 3]);
        assert!(evaluate("layered", up, up, &parameters).iter().all(|s| *s > 0.1));
    }

    #[test]
    fn layers_without_coat_and_gloss_are_diffuse() {
        let parameters = [
            1.0, 0.8, 0.8, 0.8, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.3, 1.0, 0.0, 1.0, 1.0, 1.0, 0.1,
            1.0,
        ];
        let up = [0.0, 0.0, 1.0];
        let s = evaluate("layered", up, up, &parameters);
        assert!(s.iter().all(|s| (s / (0.8 / std::f32::consts::PI) - 1.0).abs() < 1e-5), "{s:?}");
    }
}
