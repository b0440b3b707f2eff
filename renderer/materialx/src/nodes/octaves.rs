//! Octaves of noise: a number of iterations, which needs limits.

use crate::document::Id;
use crate::graph::Graph;
use crate::values::{Term, Type};

/// Octaves of a node. With the usual lacunarity of 2, the coordinates of further octaves are so large
/// that neighbouring floats are hundreds of cells of the noise apart.
const OCTAVES: [f64; 2] = [0.0, 32.0];

/// Octaves within their limits: a constant is clamped, with a warning, and a parameter gets them as
/// its range.
pub(super) fn limited(g: &mut Graph, node: Id, term: Term) -> Term {
    let [low, high] = OCTAVES;
    let document = g.document;
    let at = document.input(node, "octaves").unwrap_or(node);
    let clamp = |g: &mut Graph, x: f64| {
        let clamped = x.clamp(low, high);
        if clamped != x {
            let message = format!(
                "{} has {x} octaves, but {low} to {high} are possible",
                document.label(node)
            );
            g.warn(at, message, clamped.to_string());
        }
        Term::constant(Type::Integer, &[clamped])
    };
    if let Some(x) = term.number() {
        return clamp(g, x);
    }
    let named = |name: &str| term.text.strip_prefix("m.") == Some(name);
    let parameter = g.parameters.iter().position(|p| named(&p.name) && p.range.is_none());
    if let Some(i) = parameter
        && let Some(x) = g.parameters[i].default.number()
    {
        g.parameters[i].default = clamp(g, x);
        g.parameters[i].range = Some(OCTAVES);
    }
    term
}
