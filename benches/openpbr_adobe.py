"""Compares assets/shaders/openpbr.wgsl with Adobe's implementation of OpenPBR.

Needs a checkout of https://github.com/adobe/openpbr-bsdf (commit a29da96 was used), g++, the headers
of GLM (Debian's libglm-dev) and numpy:

    python benches/openpbr_adobe.py target/debug/lightbound openpbr-bsdf

Prints for groups of lobes how far s of both differs, relative to the larger of both, and the ratio of
their sums. Adobe's BSDF does not scale refracted radiance by the squared index, which is included
here. The models differ by intention: Adobe adds lobes for light that scatters between facets, where
`openpbr` scales the lobe; its albedos are tables, where `openpbr` has MaterialX's fits; and it tints
light at both passages through a coat for their angles.
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from openpbr import BASE, COAT, FILM, FUZZ, SPECULAR, columns, defaults, directions, evaluate

HOST = """
#include <glm/glm.hpp>
#include "openpbr.h"
#include <cstdio>
#include <vector>
int main(int, char** arguments) {
    FILE* file = fopen(arguments[1], "rb");
    float r[%d];
    while (fread(r, sizeof r, 1, file) == 1) {
        OpenPBR_ResolvedInputs m = openpbr_make_default_resolved_inputs();
        %s
        OpenPBR_PreparedBsdf p = openpbr_prepare(m, vec3(1.0f), OpenPBR_BaseRgbWavelengths_nm,
            OpenPBR_VacuumIor, vec3(r[3], r[4], r[5]));
        vec3 s = openpbr_get_sum_of_diffuse_specular(openpbr_eval(p, vec3(r[0], r[1], r[2])));
        float result[3] = {s.x, s.y, s.z};
        fwrite(result, sizeof result, 1, stdout);
    }
}
"""

GLASS = {"specular_ior": (1.1, 2.5), "transmission_color": (0.3, 1, 3)}
SUBSURFACE = {
    "subsurface_color": (0, 1, 3), "subsurface_scatter_anisotropy": (-1, 1),
    "specular_ior": (1.1, 2),
}
METAL = {**BASE, "specular_color": (0, 1, 3), "specular_roughness_anisotropy": (0, 0.9)}
CLEAR, THIN = {"transmission_weight": 1}, {"geometry_thin_walled": 1}
# What each group of lobes varies besides the roughness, what is fixed, and the sides of wi and wo.
GROUPS = {
    "metal": (METAL, {"base_metalness": 1}, (1, 1)),
    "dielectric": ({"specular_ior": (1.1, 2.5)}, {"base_color": 0}, (1, 1)),
    "base": ({**BASE, "specular_ior": (1.1, 2.5)}, {}, (1, 1)),
    "coat": (COAT, {"base_metalness": 1}, (1, 1)),
    "fuzz": (FUZZ, {"base_color": 0, "specular_weight": 0}, (1, 1)),
    "thin film": ({**FILM, "specular_ior": (1.1, 2.5)}, {"base_color": 0}, (1, 1)),
    "glass, reflection": (GLASS, CLEAR, (1, 1)),
    "glass, into the volume": (GLASS, CLEAR, (-1, 1)),
    "glass, out of the volume": (GLASS, CLEAR, (1, -1)),
    "glass, inside": (GLASS, CLEAR, (-1, -1)),
    "thin glass, reflection": (GLASS, {**CLEAR, **THIN}, (1, 1)),
    "thin glass, transmission": (GLASS, {**CLEAR, **THIN}, (-1, 1)),
    "thin subsurface, reflection": (SUBSURFACE, {"subsurface_weight": 1, **THIN}, (1, 1)),
    "thin subsurface, transmission": (SUBSURFACE, {"subsurface_weight": 1, **THIN}, (-1, 1)),
}
ROUGHNESS = [(0.1, 0.3), (0.3, 1)]


def assignment(parameters):
    """Statements that set the inputs from a row."""
    offset = 6
    for name, size in parameters:
        read = ", ".join(f"r[{offset + k}]" for k in range(size))
        kind = "vec3" if size == 3 else "bool" if name == "geometry_thin_walled" else "float"
        yield f"m.{name} = {kind}({read});"
        offset += size


def main():
    lightbound, checkout = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    count = 10_000
    random = np.random.default_rng(1)
    default = defaults(lightbound)
    parameters = [(name, len(values)) for name, values in default.items()]
    width = 6 + sum(size for _, size in parameters)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "host.cpp").write_text(HOST % (width, "\n".join(assignment(parameters))))
        subprocess.run(["g++", "-std=c++17", "-O1", "-w", f"-I{checkout}", "host.cpp", "-o",
                        "host"], cwd=folder, check=True)
        print("| lobes | roughness | median | 90 % | ratio of sums |\n|---|---|--:|--:|--:|")
        for group, (varied, fixed, (side_i, side_o)) in GROUPS.items():
            for roughness in ROUGHNESS:
                wi, wo = directions(random, count), directions(random, count)
                # Half of the light directions are near the mirror direction.
                near = wo * [-1, -1, 1] + random.normal(0, 0.15, wo.shape)
                near /= np.linalg.norm(near, axis=1, keepdims=True)
                wi = np.where((np.arange(count)[:, None] % 2 == 0) & (near[:, 2:] > 0.1), near, wi)
                wi, wo = wi * [1, 1, side_i], wo * [1, 1, side_o]
                varied = {**varied, "specular_roughness": roughness}
                rest = columns(random, count, parameters, varied, fixed, default)
                rows = np.concatenate([wi, wo, *rest], 1).astype(np.float32)
                rows.tofile(folder / "rows")
                output = subprocess.run([folder / "host", folder / "rows"], capture_output=True,
                                        check=True).stdout
                theirs = np.frombuffer(output, np.float32).reshape(-1, 3).astype(float)
                ours = evaluate(lightbound, folder, parameters, rows)
                if side_i != side_o and "geometry_thin_walled" not in fixed:
                    offset = 6 + sum(size for name, size in
                                     parameters[:[n for n, _ in parameters].index("specular_ior")])
                    index2 = rows[:, offset:offset + 1].astype(float) ** 2
                    ours = ours * (index2 if side_o > 0 else 1 / index2)
                scale = np.maximum(np.maximum(ours, theirs).max(1, keepdims=True), 1e-6)
                error = (np.abs(ours - theirs) / scale).max(1)
                print(f"| {group} | {roughness[0]} to {roughness[1]} | {np.median(error):.3f} | "
                      f"{np.quantile(error, 0.9):.3f} | {ours.sum() / theirs.sum():.3f} |")


main()
