//! Shaders that are measured besides those of the library. They are written as people write them,
//! without regard to bounds, and show what bounds cost then.

/// A shader by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StudyShader {
    /// Name, without extension.
    pub name: &'static str,
    /// Text in WGSL.
    pub text: &'static str,
}

/// All of them.
pub const SHADERS: [StudyShader; 2] = [
    StudyShader { name: "ggx", text: include_str!("../shaders/ggx.wgsl") },
    StudyShader { name: "layered", text: include_str!("../shaders/layered.wgsl") },
];

/// Finds a shader by its name, with or without `.wgsl`.
pub fn find(name: &str) -> Option<StudyShader> {
    let stem = name.strip_suffix(".wgsl").unwrap_or(name);
    SHADERS.into_iter().find(|shader| shader.name == stem)
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
