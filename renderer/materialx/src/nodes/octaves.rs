//! Octaves of noise: a number of iterations, which needs limits.

use crate::document::Id;
use crate::graph::Graph;
use crate::values::{Term, Type};

/// Octaves of a node. With the usual lacunarity of 2, the coordinates of further octaves are so large
/// that neighbouring floats are hundreds of cells of the noise apart.
const OCTAVES: [f64; 2] = [0.0, 32.0];

/// Octaves within their limits: a constant is clamped, with a warning, a parameter gets them as its
/// range, and what nodes compute is clamped.
pub(super) fn limited(g: &mut Graph, node: Id, term: Term) -> Term {
    let [low, high] = OCTAVES;
    let document = g.document;
    let at = document.input(node, "octaves").unwrap_or(node);
    let clamp = |g: &mut Graph, x: f64| {
        let clamped = x.clamp(low, high);
        if clamped != x {
            let label = document.label(node);
            let message = format!("the octaves of {label} must be from {low} to {high}, not {x}");
            g.warn(at, message, clamped.to_string());
        }
        Term::constant(Type::Integer, &[clamped])
    };
    if let Some(x) = term.number() {
        return clamp(g, x);
    }
    let named = |name: &str| term.text.strip_prefix("m.") == Some(name);
    let Some(i) = g.parameters.iter().position(|p| named(&p.name)) else {
        let text = format!("clamp({term}, {low}, {high})");
        return Term { text, ..term };
    };
    if g.parameters[i].range.is_none()
        && let Some(x) = g.parameters[i].default.number()
    {
        g.parameters[i].default = clamp(g, x);
        g.parameters[i].range = Some(OCTAVES);
    }
    term
}
