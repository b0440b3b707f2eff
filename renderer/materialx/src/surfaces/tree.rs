//! `surface` with a tree of BSDFs, as a shader of its own.
//!
//! Each BSDF is one `let` of `fn brdf`, and its inputs are members of `Material`. Directions are
//! sampled from bounds.

use super::{Code, EmissionInputs, Inputs, Surface, hair, tangents};
use crate::document::Id;
use crate::error::Error;
use crate::graph::{Graph, Scope};
use crate::values::{Term, Type};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use Type::{Color3, Float, Vector2};

/// An input of a BSDF: its name, type, default and range.
type Input = (&'static str, Type, &'static [f64], [f64; 2]);

const WEIGHT: Input = ("weight", Float, &[1.0], [0.0, 1.0]);
const ALPHA: Input = ("roughness", Vector2, &[0.05], [0.0, 1.0]);
const TINT: Input = ("tint", Color3, &[1.0], [0.0, 1.0]);
const INDEX: Input = ("ior", Float, &[1.5], [1.0, 10.0]);

/// Thickness in nanometres and index of a film.
const FILM: [Input; 2] = [
    ("thinfilm_thickness", Float, &[0.0], [0.0, 10_000.0]),
    ("thinfilm_ior", Float, &[1.5], [1.0, 10.0]),
];

const WHITE: Input = ("color", Color3, &[1.0], [0.0, 1.0]);
const GREY: Input = ("color", Color3, &[0.18], [0.0, 1.0]);
const SMOOTH: Input = ("roughness", Float, &[0.0], [0.0, 1.0]);

/// BSDFs by their category, with the function and its inputs.
const LOBES: [(&str, &str, &[Input]); 7] = [
    ("oren_nayar_diffuse_bsdf", "mx_oren_nayar_bsdf", &[WEIGHT, GREY, SMOOTH]),
    ("burley_diffuse_bsdf", "mx_burley_bsdf", &[WEIGHT, GREY, SMOOTH]),
    ("translucent_bsdf", "mx_translucent_bsdf", &[WEIGHT, WHITE]),
    ("subsurface_bsdf", "mx_subsurface_bsdf", &[WEIGHT, GREY]),
    (
        "conductor_bsdf",
        "mx_conductor_bsdf",
        &[
            WEIGHT,
            ("ior", Color3, &[0.183, 0.421, 1.373], [0.0, 100.0]),
            ("extinction", Color3, &[3.424, 2.346, 1.77], [0.0, 100.0]),
            ALPHA,
        ],
    ),
    (
        "generalized_schlick_bsdf",
        "mx_schlick_bsdf",
        &[
            WEIGHT,
            ("color0", Color3, &[1.0], [0.0, 1.0]),
            ("color82", Color3, &[1.0], [0.0, 1.0]),
            ("color90", Color3, &[1.0], [0.0, 1.0]),
            ("exponent", Float, &[5.0], [0.0, 100.0]),
            ALPHA,
        ],
    ),
    ("sheen_bsdf", "mx_sheen_bsdf", &[WEIGHT, WHITE, ("roughness", Float, &[0.3], [0.0, 1.0])]),
];

/// The function for facets that transmit light only, which have no film.
const REFRACTING: &str = "mx_refracting_bsdf";

/// Numbers that have no effect here, unless they have this value.
const IGNORED: [(&str, f64, &str); 2] = [
    ("energy_compensation", 0.0, "light between rough facets is not restored"),
    ("retroreflective", 0.0, "light is not reflected to where it comes from"),
];

/// Other inputs of BSDFs.
const OTHERS: &str = "normal tangent thinfilm_thickness thinfilm_ior distribution scatter_mode mode \
    radius anisotropy";

/// Minimum roughness of facets, since directions that are sampled from bounds miss smoother lobes.
const MIN_ALPHA: f64 = 0.03;

/// Nodes in a tree.
const MAX_NODES: usize = 200;

/// A tree while it is converted.
struct Tree<'g, 'd> {
    g: &'g mut Graph<'d>,
    /// Members of `Material`, with their declarations.
    values: Vec<(Cow<'static, str>, Term)>,
    members: String,
    /// Statements of `fn brdf`.
    statements: Vec<String>,
    /// Names of the BSDFs that have been converted, and the nodes on the way.
    done: HashMap<(Scope, Id), String>,
    active: HashSet<(Scope, Id)>,
    /// Number of nodes.
    count: usize,
    transmits: bool,
    /// The inputs of BSDFs for their normals; `None` is the normal of the geometry.
    normals: Vec<Option<(Scope, Id)>>,
}

/// Converts a node `surface`.
pub(super) fn surface(i: &mut Inputs) -> Result<Surface, Error> {
    let opacity = Some(i.opacity("opacity", Float, None));
    let message = "what transmits light bounds a volume";
    i.ignore_unless("thin_walled", Type::Boolean, 0.0, message, "a volume")?;
    let (scope, node) = (i.scope, i.node);
    let emission = match i.g.document.input(node, "edf") {
        None => None,
        Some(input) => emission(i, scope, input)?,
    };
    if let Some(input) = i.g.document.input(node, "bsdf")
        && let Some((scope, node)) = i.g.source(scope, input)?
        && i.g.document.category(node) == hair::CATEGORY
    {
        let (text, values) = hair::shader(&mut Inputs { g: &mut *i.g, scope, node })?;
        let (code, normal, volume) = (Code::Tree(text), None, None);
        return Ok(Surface { code, values, normal, emission, volume, opacity, dispersion: None });
    }
    let mut tree = Tree {
        g: &mut *i.g,
        values: vec![],
        members: String::new(),
        statements: vec![],
        done: HashMap::new(),
        active: HashSet::new(),
        count: 0,
        transmits: false,
        normals: vec![],
    };
    let root = tree.input(scope, node, "bsdf")?;
    if tree.values.is_empty() {
        let label = tree.g.document.label(node);
        let message = format!("{label} has no BSDF");
        return Err(tree.g.document.error(node, message, "connect \"bsdf\" to a BSDF"));
    }
    let normal = tree.normal()?;
    let code = Code::Tree(tree.text(&root));
    Ok(Surface {
        code,
        values: tree.values,
        normal,
        emission,
        volume: None,
        opacity,
        dispersion: None,
    })
}

/// The emission of an EDF.
fn emission(i: &mut Inputs, scope: Scope, input: Id) -> Result<Option<EmissionInputs>, Error> {
    let Some((scope, node)) = i.g.source(scope, input)? else { return Ok(None) };
    match i.g.document.category(node) {
        "uniform_edf" => {
            let (color, factors) = (("color", 1.0), &[][..]);
            Ok(Some(EmissionInputs { scope, node, color, factors, has_prefix: true }))
        }
        _ => {
            let label = i.g.document.label(node);
            i.g.warn(node, format!("the emission of {label} is not supported"), "no emission");
            Ok(None)
        }
    }
}

impl<'d> Tree<'_, 'd> {
    /// The name of the BSDF that an input is connected to.
    fn input(&mut self, scope: Scope, node: Id, name: &str) -> Result<String, Error> {
        let source = match self.g.document.input(node, name) {
            Some(input) => self.g.source(scope, input)?,
            None => None,
        };
        match source {
            None => Ok("mx_no_bsdf()".into()),
            Some((scope, node)) => self.bsdf(scope, node),
        }
    }

    /// The name of the BSDF of a node.
    fn bsdf(&mut self, scope: Scope, node: Id) -> Result<String, Error> {
        if let Some(name) = self.done.get(&(scope, node)) {
            return Ok(name.clone());
        }
        let document = self.g.document;
        let label = document.label(node);
        self.count += 1;
        if self.count > MAX_NODES {
            let message = format!("a tree has more than {MAX_NODES} BSDFs");
            return Err(document.error(node, message, "simplify the tree"));
        }
        if !self.active.insert((scope, node)) {
            let message = format!("{label} depends on itself");
            return Err(document.error(node, message, "remove the cycle"));
        }
        let expression = match document.category(node) {
            "layer" => self.layer(scope, node)?,
            "mix" => {
                let (bg, fg) = (self.input(scope, node, "bg")?, self.input(scope, node, "fg")?);
                let t = self.member(scope, node, ("mix", Float, &[0.0], [0.0, 1.0]))?;
                format!("mx_mix_bsdf({bg}, {fg}, {t})")
            }
            "add" => {
                let (a, b) = (self.input(scope, node, "in1")?, self.input(scope, node, "in2")?);
                format!("mx_add_bsdf({a}, {b})")
            }
            "multiply" => {
                let a = self.input(scope, node, "in1")?;
                let factor = self.member(scope, node, ("in2", Color3, &[1.0], [0.0, 1.0]))?;
                format!("mx_multiply_bsdf({a}, {factor})")
            }
            "dielectric_bsdf" => self.dielectric(scope, node)?,
            category => {
                let lobe = LOBES.iter().find(|(name, ..)| *name == category);
                let Some((_, function, inputs)) = lobe else {
                    let known: Vec<_> = LOBES.iter().map(|(name, ..)| *name).collect();
                    let help = match category {
                        hair::CATEGORY => "connect it to the surface, without other BSDFs".into(),
                        _ => format!("use dielectric_bsdf, {}", known.join(", ")),
                    };
                    return Err(document.error(node, format!("{label} is not supported"), help));
                };
                self.transmits |= category == "translucent_bsdf";
                if category == "subsurface_bsdf" {
                    let message = "light does not scatter below the surface";
                    self.g.warn(node, message, "diffuse reflection of the same colour");
                }
                if self.mode(scope, node)? != "R" {
                    let message = format!("{label} transmits no light");
                    self.g.warn(node, message, "its reflection only; use a dielectric_bsdf");
                }
                self.lobe(scope, node, function, inputs)?
            }
        };
        self.active.remove(&(scope, node));
        let name = self.g.names.unique(document.name(node));
        self.statements.push(format!("let {name} = {expression};"));
        self.done.insert((scope, node), name.clone());
        Ok(name)
    }

    /// A BSDF over another one, or over a volume, which is ignored.
    fn layer(&mut self, scope: Scope, node: Id) -> Result<String, Error> {
        let document = self.g.document;
        let top = self.input(scope, node, "top")?;
        if let Some(input) = document.input(node, "base")
            && let Some((_, base)) = self.g.source(scope, input)?
            && document.attribute(base, "type") == Some("VDF")
        {
            let message = "a volume is a medium of the scene";
            self.g.warn(base, message, "the surface without the volume");
            return Ok(top);
        }
        let base = self.input(scope, node, "base")?;
        Ok(format!("mx_layer_bsdf({top}, {base})"))
    }

    /// Whether a BSDF reflects light, R, transmits it, T, or both.
    fn mode(&self, scope: Scope, node: Id) -> Result<&'d str, Error> {
        Ok(self.g.string(scope, node, "scatter_mode")?.map_or("R", |(_, mode)| mode))
    }

    fn dielectric(&mut self, scope: Scope, node: Id) -> Result<String, Error> {
        let mode = self.mode(scope, node)?;
        self.transmits |= mode != "R";
        let function = match mode {
            "T" => REFRACTING,
            "RT" => "mx_glass_bsdf",
            _ => "mx_dielectric_bsdf",
        };
        self.lobe(scope, node, function, &[WEIGHT, TINT, INDEX, ALPHA])
    }

    /// The call of a function with inputs of a node.
    fn lobe(
        &mut self,
        scope: Scope,
        node: Id,
        function: &str,
        inputs: &[Input],
    ) -> Result<String, Error> {
        let mut arguments = vec![self.directions(scope, node, inputs)?];
        for input in inputs {
            self.g.check_type(node, input.0, input.1);
            let member = self.member(scope, node, *input)?;
            arguments.push(match *input == ALPHA {
                true => format!("max({member}, vec2f({MIN_ALPHA}))"),
                false => member,
            });
        }
        if inputs.contains(&ALPHA) && function != REFRACTING {
            arguments.push(self.film(scope, node)?);
        }
        for (name, value, message) in IGNORED {
            if let Some(given) = self.g.document.input(node, name)
                && !self.g.any_input(scope, node, name)?.is_none_or(|term| term.is(value))
            {
                self.g.warn(given, message, "no effect");
            }
        }
        let mut known: Vec<&str> = inputs.iter().map(|(name, ..)| *name).collect();
        known.extend(IGNORED.iter().map(|(name, ..)| *name));
        known.extend(OTHERS.split(' '));
        self.g.warn_of_unknown_inputs(node, &known);
        if let Some(mode) =
            self.g.string(scope, node, "mode")?.filter(|(_, mode)| *mode == "zeltner")
        {
            self.g.warn(mode.0, "sheen is that of conty_kulla", "conty_kulla");
        }
        let normal = self.g.document.input(node, "normal").filter(|&input| {
            let is_given = |name| self.g.document.attribute(input, name).is_some();
            !is_given("value") && !is_given("defaultgeomprop")
        });
        self.normals.push(normal.map(|input| (scope, input)));
        Ok(format!("{function}({})", arguments.join(", ")))
    }

    /// The film on facets.
    fn film(&mut self, scope: Scope, node: Id) -> Result<String, Error> {
        let (name, ..) = FILM[0];
        let thickness = self.g.evaluate_isolated(|g| g.input(scope, node, name, Float)).0?;
        if thickness.is_none_or(|thickness| thickness.is(0.0)) {
            return Ok("mx_no_film()".into());
        }
        let [thickness, index] = FILM;
        let thickness = self.member(scope, node, thickness)?;
        Ok(format!("MxFilm({thickness}, {})", self.member(scope, node, index)?))
    }

    /// The directions for a BSDF: with a tangent of its own, they are turned.
    fn directions(&mut self, scope: Scope, node: Id, inputs: &[Input]) -> Result<String, Error> {
        let unturned = "d".to_owned();
        let (name, ..) = ALPHA;
        if !inputs.contains(&ALPHA) {
            return Ok(unturned);
        }
        let roughness = self.g.evaluate_isolated(|g| g.input(scope, node, name, Vector2)).0?;
        let is_isotropic = |term: &Term| term.constant.as_ref().is_some_and(|c| c[0] == c[1]);
        if roughness.as_ref().is_none_or(is_isotropic) {
            return Ok(unturned);
        }
        let angle = tangents::angle(self.g, scope, node, "tangent")?;
        if angle.is(0.0) {
            return Ok(unturned);
        }
        let owner = self.g.document.name(node).to_owned();
        let member = self.g.names.parameter(&format!("{owner}_rotation"));
        self.members += &format!(
            "    /// Angle from the x axis to the tangent. range: [-7, 7], default: 0\n    \
             {member}: f32,\n"
        );
        self.values.push((member.clone().into(), angle));
        let name = self.g.names.unique(&format!("{owner}_directions"));
        self.statements.push(format!("let {name} = mx_turned(d, m.{member});"));
        Ok(name)
    }

    /// An input as a member of `Material`.
    fn member(
        &mut self,
        scope: Scope,
        node: Id,
        (name, ty, default, [low, high]): Input,
    ) -> Result<String, Error> {
        let given = self.g.input(scope, node, name, ty)?;
        let value = given.unwrap_or_else(|| Term::constant(ty, default));
        let is_smooth = |constant: &Vec<f64>| constant.iter().any(|&alpha| alpha < MIN_ALPHA);
        if ty == Vector2 && value.constant.as_ref().is_some_and(is_smooth) {
            let message = "directions sampled from bounds miss the lobes of smoother facets";
            let at = self.g.document.input(node, name).unwrap_or(node);
            self.g.warn(at, message, format!("a roughness of {MIN_ALPHA}"));
        }
        let owner = self.g.document.name(node);
        let member = self.g.names.parameter(&format!("{owner}_{name}"));
        self.members += &format!(
            "    /// {name}. range: [{low}, {high}], default: {low}\n    {member}: {},\n",
            ty.wgsl()
        );
        self.values.push((member.clone().into(), value));
        Ok(format!("m.{member}"))
    }

    /// The normal of the surface: that of the first BSDF that has one.
    fn normal(&mut self) -> Result<Option<(Scope, Id)>, Error> {
        let Some(first) = self.normals.iter().copied().flatten().next() else { return Ok(None) };
        let source = self.g.source(first.0, first.1)?;
        for normal in std::mem::take(&mut self.normals) {
            let is_same = match normal {
                None => false,
                Some((scope, input)) => self.g.source(scope, input)? == source,
            };
            if !is_same {
                let at = normal.unwrap_or(first).1;
                let message = "all BSDFs of a surface have the same normal";
                self.g.warn(at, message, "the normal of the first that has one");
            }
        }
        Ok(Some(first))
    }

    /// The shader, without the functions of the BSDFs.
    fn text(&self, root: &str) -> String {
        let sides = if self.transmits { "//! sides: both\n" } else { "" };
        let guard = match self.transmits {
            true => "abs(wi.z) <= 1e-9 || abs(wo.z) <= 1e-9",
            false => "wi.z <= 0.0 || wo.z <= 0.0",
        };
        let statements: Vec<_> =
            self.statements.iter().map(|statement| format!("    {statement}\n")).collect();
        format!(
            "{sides}//! cosine: included\n//!\n//! A tree of BSDFs.\n\nstruct Material {{\n{}}}\n\n\
             fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {{\n    if {guard} {{\n        \
             return vec3f(0.0);\n    }}\n    let d = mx_directions(wi, wo);\n{}    \
             return {root}.s;\n}}\n",
            self.members,
            statements.concat()
        )
    }
}
