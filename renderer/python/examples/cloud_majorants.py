"""Tight majorants of a procedural cloud: bounds on its density over the cells of a grid."""

import numpy as np

import lightbound

CLOUD = """
fn density(p: vec3f) -> f32 {
    var sum = 0.0;
    var q = p;
    for (var octave = 0; octave < 3; octave++) {
        sum += sin(q.x) * sin(q.y) * sin(q.z) * exp2(-f32(octave));
        q = 2.0 * q + vec3f(1.0, 2.0, 3.0);
    }
    return max(0.0, sum + 1.0 - length(p));
}
"""
density = lightbound.compile(CLOUD)
edges = np.linspace(-2, 2, 33, dtype=np.float32)
low = np.stack(np.meshgrid(edges[:-1], edges[:-1], edges[:-1], indexing="ij"), axis=-1)
lower, majorant = density.bound(p=(low, low + 4 / 32))
print(f"{(majorant == 0).mean():.0%} of the cells are empty")

# Densities at random points are below the majorants of their cells.
offset = np.random.default_rng(0).random((64, *low.shape), dtype=np.float32)
values = density(np.minimum(low + offset * (4 / 32), low + np.float32(4 / 32)))
assert (values <= majorant).all() and (values >= lower).all()
print(f"mean majorant {majorant.mean():.3f}, mean density {values.mean():.3f}")
