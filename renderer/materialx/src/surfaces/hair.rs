//! `chiang_hair_bsdf` as `hair`.
//!
//! Both are the model of Chiang et al. 2016. The node has roughness as variances, which nodes make
//! of the roughness that the shader has, and absorption, which nodes make of colours or of
//! pigments.

use super::{Inputs, Values, tangents};
use crate::document::Id;
use crate::error::Error;
use crate::graph::Scope;
use crate::values::{Term, Type};

use Type::{Color3, Float, Vector2, Vector3};

/// The category of the node.
pub(super) const CATEGORY: &str = "chiang_hair_bsdf";

/// The category of the node that makes variances of roughness.
const ROUGHNESS: &str = "chiang_hair_roughness";

const SHADER: &str = include_str!("../../../../assets/shaders/hair.wgsl");

/// Parameters of the shader that nodes take the place of.
const REPLACED: [&str; 3] = ["reflectance", "eumelanin", "pheomelanin"];

const TINTS: [(&str, &str); 3] =
    [("tint_R", "tint_r"), ("tint_TT", "tint_tt"), ("tint_TRT", "tint_trt")];

/// The sum of the lobes, and that with tints.
const SUM: &str = "l.x * f.a0 + l.y * f.a1 + l.z * f.a2 + l.w * f.a3";
const TINTED_SUM: &str =
    "l.x * f.a0 * m.tint_r + l.y * f.a1 * m.tint_tt + (l.z * f.a2 + l.w * f.a3) * m.tint_trt";

/// The shader of a node without its `fn material`, and the values of its parameters.
pub(super) fn shader(i: &mut Inputs) -> Result<(String, Values), Error> {
    let names = "tint_R tint_TT tint_TRT ior roughness_R roughness_TT roughness_TRT cuticle_angle \
        absorption_coefficient normal curve_direction";
    i.g.warn_of_unknown_inputs(i.node, &names.split_whitespace().collect::<Vec<_>>());
    i.g.names.reserve_members(SHADER);
    for name in ["normal", "curve_direction"] {
        if let Some(input) = tangents::connected(i.g, i.node, name) {
            i.g.warn(input, "hair has the directions of its curves", "the direction of the curve");
        }
    }
    let [beta_m, beta_n] = roughness(i)?;
    let cuticle = i.float("cuticle_angle", 0.5)?;
    // From −π/2 to π/2, towards the other end than in pbrt.
    let alpha =
        i.combine("alpha", Float, &[&cuticle], "90.0 - 180.0 * {0}", |v| 90.0 - 180.0 * v[0])?;
    let mut values: Values = vec![
        ("sigma_a".into(), i.get("absorption_coefficient", Vector3, &[0.0])?),
        ("eta".into(), i.float("ior", 1.55)?),
        ("beta_m".into(), beta_m),
        ("beta_n".into(), beta_n),
        ("alpha".into(), alpha),
        ("h".into(), Term::expression(Float, "m.h + (1.0 - 2.0 * p.uv.y)")),
    ];
    let mut tints = Vec::new();
    for (name, member) in TINTS {
        tints.push((member.into(), i.get(name, Color3, &[1.0])?));
    }
    let is_tinted = tints.iter().any(|(_, tint)| !tint.is(1.0));
    if is_tinted {
        values.append(&mut tints);
    }
    Ok((text(is_tinted), values))
}

/// The shader without what nodes take the place of.
fn text(is_tinted: bool) -> String {
    let mut text = String::new();
    let mut comment = String::new();
    let (mut in_function, mut in_material) = (false, false);
    for line in SHADER.lines() {
        in_function |= line.starts_with("fn material(");
        in_material |= line.starts_with("struct Material");
        if in_function {
            in_function = line != "}";
            continue;
        }
        if in_material && line == "}" {
            in_material = false;
            for (_, member) in TINTS.into_iter().filter(|_| is_tinted) {
                comment += "    /// Factor of a lobe. range: [0, 1], default: 1\n";
                comment += &format!("    {member}: vec3f,\n");
            }
        }
        let member = line.trim_start().split(':').next().unwrap_or_default();
        if in_material && REPLACED.contains(&member) {
            comment.clear();
            continue;
        }
        comment += line;
        comment += "\n";
        if !(in_material && line.trim_start().starts_with("///")) {
            text += &comment;
            comment.clear();
        }
    }
    let text = text.replace(" It is added to those by reflectance and pigments.", "");
    if is_tinted { text.replace(SUM, TINTED_SUM) } else { text }
}

/// Roughness along the fibre and around it.
fn roughness(i: &mut Inputs) -> Result<[Term; 2], Error> {
    let source = |i: &mut Inputs, name: &str| -> Result<Option<(Scope, Id)>, Error> {
        match i.g.document.input(i.node, name) {
            Some(input) => i.g.source(i.scope, input),
            None => Ok(None),
        }
    };
    let message = "transmitted light has half the roughness of reflected light, and light that is \
        reflected inside twice of it";
    let first = source(i, "roughness_R")?;
    let output = |i: &Inputs, name: &str| {
        let input = i.g.document.input(i.node, name)?;
        i.g.document.attribute(input, "output").map(str::to_owned)
    };
    if let Some((scope, node)) = first.filter(|(_, n)| i.g.document.category(*n) == ROUGHNESS) {
        if output(i, "roughness_R").as_deref() != Some("roughness_R") {
            i.ignore("roughness_R", message, "this roughness");
        }
        for (name, scale, default) in
            [("roughness_TT", "scale_TT", 0.5), ("roughness_TRT", "scale_TRT", 2.0)]
        {
            let is_same = source(i, name)? == first && output(i, name).as_deref() == Some(name);
            let mut roughness = Inputs { g: &mut *i.g, scope, node };
            if !is_same || !roughness.float(scale, default)?.is(default) {
                i.ignore(name, message, "this roughness");
            }
        }
        let mut roughness = Inputs { g: &mut *i.g, scope, node };
        return Ok([roughness.float("longitudinal", 0.1)?, roughness.float("azimuthal", 0.2)?]);
    }
    let variances = i.get("roughness_R", Vector2, &[0.1])?;
    let Some(&[v, s]) = variances.constant.as_deref() else {
        let at = i.element("roughness_R");
        let message = "the roughness of hair must be constant or made of a roughness";
        let help = format!("connect roughness_R to a <{ROUGHNESS}>");
        return Err(i.g.document.error(at, message, help));
    };
    for (name, scale, default) in [("roughness_TT", 0.25, 0.05), ("roughness_TRT", 4.0, 0.2)] {
        let given = i.get(name, Vector2, &[default])?;
        if !given.constant.is_some_and(|c| (c[0] - scale * v).abs() <= 1e-3 * v && c[1] == s) {
            i.ignore(name, message, "this roughness");
        }
    }
    let longitudinal =
        inverse(libm::sqrt(v.max(0.0)), |b| 0.726 * b + 0.812 * b * b + 3.7 * libm::pow(b, 20.0));
    let azimuthal = inverse(s, |b| 0.265 * b + 1.194 * b * b + 5.372 * libm::pow(b, 22.0));
    Ok([Term::float(longitudinal), Term::float(azimuthal)])
}

/// The roughness for a value of an increasing function.
fn inverse(y: f64, f: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.01, 1.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if f(middle) < y {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}
