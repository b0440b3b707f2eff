"""Compares assets/shaders/openpbr.wgsl with the shader that MaterialX generates for OpenPBR.

A program is built from that shader (materialx_oracle.py says what is needed), and evaluates random
directions and parameters; `lightbound shader eval` evaluates the same ones:

    python benches/openpbr_materialx.py target/debug/lightbound

Prints the errors for groups of lobes. Where the models differ by intention (see the record of
2026-11-28), MaterialX's function is replaced by the one that the specification defines:

- subsurface scattering is diffuse reflection, since there is no curvature of a surface here;
- the cosine between wi and wo may be negative in the diffuse lobe;
- the reflectance of metal is at least 0, also if it is dark and tinted at grazing angles;
- the fit of the fuzz's albedo is at least 0.
"""

import pathlib
import re
import sys
import tempfile

import materialx_oracle as oracle
import numpy as np
from openpbr import (BASE, COAT, FILM, FUZZ, METAL, OTHER, SPECULAR, columns, defaults, directions,
                     evaluate)

# What each group of lobes varies, and what is fixed; the others have their defaults.
GROUPS = {
    "diffuse": (BASE, {"specular_weight": 0}),
    "metal": ({**BASE, **SPECULAR}, {"base_metalness": 1}),
    "dielectric": (SPECULAR, {"base_color": 0}),
    "base": ({**BASE, **SPECULAR, **METAL, **OTHER}, {}),
    "coat": ({**BASE, **SPECULAR, **METAL, **COAT}, {}),
    "fuzz": ({**BASE, **FUZZ}, {}),
    "thin film on a dielectric": ({**SPECULAR, **FILM}, {"base_color": 0}),
    "thin film on metal": ({**BASE, **SPECULAR, **FILM}, {"base_metalness": 1}),
    "all but thin film": ({**BASE, **SPECULAR, **METAL, **OTHER, **COAT, **FUZZ}, {}),
    "all": ({**BASE, **SPECULAR, **METAL, **OTHER, **COAT, **FUZZ, **FILM}, {}),
}


def generate():
    """The Slang text, without intended differences."""
    text = oracle.generate("open_pbr_surface")
    text = text.replace(
        "float LdotV = clamp(dot(L, V), M_FLOAT_EPS, 1.0);", "float LdotV = dot(L, V);")
    for result, zero in [
        (r"lerp\(fd\.F0, fd\.F90, pow\(1\.0 - x, fd\.exponent\)\) - a \* x \* mx_pow6\(1\.0 - x\)",
         "float3(0.0)"),
        (r"exp\(-0\.5\*mx_square\(\(x - m\)/s\)\)/\(s\*sqrt\(2\.0\*M_PI\)\) \+ o", "0.0"),
    ]:
        text, changes = re.subn(f"return ({result});", rf"return max(\1, {zero});", text)
        assert changes == 1
    return text


def main():
    lightbound = pathlib.Path(sys.argv[1]).resolve()
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    random = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        parameters = oracle.build(folder, generate())
        sizes = [(name, 3 if kind == "float3" else 1) for kind, name in parameters]
        default = defaults(lightbound)
        print(f"{'lobes':28} {'median':>9} {'99 %':>9} {'max':>9}  relative error of {count} rows")
        for group, (varied, fixed) in GROUPS.items():
            wi, wo = oracle.mixed_directions(random, count, directions)
            rest = columns(random, count, sizes, varied, fixed, default)
            rows = np.concatenate([wi, wo, *rest], 1).astype(np.float32)
            ours = evaluate(lightbound, folder, sizes, rows)
            oracle.print_errors(group, ours, oracle.evaluate(folder, rows))


main()
