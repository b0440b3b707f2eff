"""Compares the conversion of MaterialX's surfaces with the shaders that MaterialX generates for them.

Each input of `standard_surface`, `gltf_pbr` and `UsdPreviewSurface` is connected to a node graph,
so that it is a parameter of the converted shader (`lightbound material convert`), which
`lightbound shader eval` evaluates for random directions and parameters. A program that is built
from MaterialX's shader (materialx_oracle.py says what is needed) evaluates the same ones:

    python benches/surfaces_materialx.py target/debug/lightbound

Prints the errors for groups of lobes. Opaque lobes only, since hardware shaders do not refract.
"""

import pathlib
import subprocess
import sys
import tempfile

import MaterialX as mx
import materialx_oracle as oracle
import numpy as np
from openpbr import columns, directions

COLOUR, UNIT, ROUGH, INDEX = (0, 1, 3), (0, 1), (0.2, 1), (1.1, 3)

STANDARD_DIFFUSE = {"base": UNIT, "base_color": COLOUR, "diffuse_roughness": UNIT}
STANDARD_SPECULAR = {"specular": UNIT, "specular_color": COLOUR, "specular_roughness": ROUGH,
                     "specular_IOR": INDEX}
STANDARD_ANISOTROPIC = {**STANDARD_SPECULAR, "specular_anisotropy": (0, 0.9)}
STANDARD_COAT = {"coat": UNIT, "coat_color": COLOUR, "coat_roughness": ROUGH, "coat_IOR": INDEX}
STANDARD_SHEEN = {"sheen": UNIT, "sheen_color": COLOUR, "sheen_roughness": ROUGH}
STANDARD_FILM = {"thin_film_thickness": (0, 1000), "thin_film_IOR": INDEX}
STANDARD_SUBSURFACE = {"subsurface": UNIT, "subsurface_color": COLOUR}
GLTF_BASE = {"base_color": COLOUR, "roughness": ROUGH}
GLTF_SPECULAR = {**GLTF_BASE, "specular": UNIT, "specular_color": COLOUR, "ior": INDEX}
GLTF_FILM = {"iridescence": UNIT, "iridescence_thickness": (0, 1000), "iridescence_ior": INDEX}
USD_BASE = {"diffuseColor": COLOUR, "roughness": ROUGH, "ior": INDEX}

# What each group of lobes varies, and what is fixed; the others have their defaults.
SURFACES = {
    "standard_surface": {
        "diffuse": (STANDARD_DIFFUSE, {"specular": 0}),
        "metal": ({**STANDARD_DIFFUSE, **STANDARD_SPECULAR}, {"metalness": 1}),
        "dielectric": (STANDARD_SPECULAR, {"base": 0}),
        "anisotropic dielectric": (STANDARD_ANISOTROPIC, {"base": 0}),
        "base": ({**STANDARD_DIFFUSE, **STANDARD_SPECULAR, "metalness": UNIT}, {}),
        "sheen": ({**STANDARD_DIFFUSE, **STANDARD_SHEEN}, {"specular": 0}),
        "coat": ({**STANDARD_DIFFUSE, **STANDARD_SPECULAR, **STANDARD_COAT}, {}),
        "thin film": ({**STANDARD_SPECULAR, **STANDARD_FILM}, {"base": 0}),
        "thin film on metal": ({**STANDARD_DIFFUSE, **STANDARD_SPECULAR, **STANDARD_FILM},
                               {"metalness": 1}),
        "subsurface": ({**STANDARD_DIFFUSE, **STANDARD_SUBSURFACE}, {}),
        "all": ({**STANDARD_DIFFUSE, **STANDARD_ANISOTROPIC, **STANDARD_COAT, **STANDARD_SHEEN,
                 **STANDARD_FILM, **STANDARD_SUBSURFACE, "metalness": UNIT,
                 "specular_rotation": UNIT, "coat_anisotropy": (0, 0.9), "coat_rotation": UNIT,
                 "coat_affect_color": UNIT, "coat_affect_roughness": UNIT}, {}),
    },
    "gltf_pbr": {
        "metal": (GLTF_BASE, {"metallic": 1}),
        "dielectric": (GLTF_SPECULAR, {"metallic": 0}),
        "base": ({**GLTF_SPECULAR, "metallic": UNIT}, {}),
        "anisotropy": ({**GLTF_SPECULAR, "metallic": UNIT, "anisotropy_strength": UNIT}, {}),
        "clearcoat": ({**GLTF_SPECULAR, "clearcoat": UNIT, "clearcoat_roughness": ROUGH}, {}),
        "sheen": ({**GLTF_SPECULAR, "sheen_color": COLOUR, "sheen_roughness": ROUGH},
                  {"metallic": 0}),
        "iridescence": ({**GLTF_SPECULAR, **GLTF_FILM, "metallic": UNIT}, {}),
        "all": ({**GLTF_SPECULAR, **GLTF_FILM, "metallic": UNIT, "anisotropy_strength": UNIT,
                 "anisotropy_rotation": (-3, 3), "clearcoat": UNIT, "clearcoat_roughness": ROUGH,
                 "sheen_color": COLOUR, "sheen_roughness": ROUGH}, {}),
    },
    "UsdPreviewSurface": {
        "dielectric": (USD_BASE, {}),
        "metal": (USD_BASE, {"metallic": 1}),
        "specular workflow": ({**USD_BASE, "specularColor": COLOUR}, {"useSpecularWorkflow": 1}),
        "clearcoat": ({**USD_BASE, "metallic": UNIT, "clearcoat": UNIT,
                       "clearcoatRoughness": ROUGH}, {}),
    },
}


def node_defaults(surface):
    """Default values of a surface's inputs, by name."""
    library = mx.createDocument()
    mx.loadLibraries(mx.getDefaultDataLibraryFolders(), mx.getDefaultDataSearchPath(), library)
    definition = library.getMatchingNodeDefs(surface)[-1]
    # Without a value, nothing is attenuated, and normals are those of the surface.
    values = {"attenuation_distance": [np.inf], "normal": [0.0, 0.0, 1.0]}
    for node_input in definition.getInputs():
        value = node_input.getValue()
        if isinstance(value, mx.Color3 | mx.Vector3):
            values[node_input.getName()] = list(value.asTuple())
        elif isinstance(value, float | int):
            values[node_input.getName()] = [float(value)]
    return values


def convert(lightbound, folder, surface, varied, fixed):
    """Writes the converted shader. Its parameters are the inputs that vary."""
    graph, inputs = "", ""
    for name, range_ in varied.items():
        kind = "color3" if len(range_) == 3 else "float"
        value = "0.5, 0.5, 0.5" if kind == "color3" else "0.5"
        graph += (f'<input name="in_{name}" type="{kind}" value="{value}"/>'
                  f'<dot name="node_{name}" type="{kind}">'
                  f'<input name="in" type="{kind}" interfacename="in_{name}"/></dot>'
                  f'<output name="out_{name}" type="{kind}" nodename="node_{name}"/>\n')
        inputs += (f'<input name="{name}" type="{kind}" nodegraph="graph" '
                   f'output="out_{name}"/>\n')
    for name, value in fixed.items():
        kind = "integer" if name == "useSpecularWorkflow" else "float"
        inputs += f'<input name="{name}" type="{kind}" value="{value}"/>\n'
    (folder / "surface.mtlx").write_text(
        f'<?xml version="1.0"?>\n<materialx version="1.39">\n<nodegraph name="graph">\n{graph}'
        f'</nodegraph>\n<{surface} name="s" type="surfaceshader">\n{inputs}</{surface}>\n'
        '<surfacematerial name="m" type="material"><input name="surfaceshader" '
        'type="surfaceshader" nodename="s"/></surfacematerial>\n</materialx>\n')
    subprocess.run([lightbound, "material", "convert", folder / "surface.mtlx", "-o",
                    folder / "surface.wgsl"], check=True)


def evaluate(lightbound, folder, wi, wo, values):
    """s of the converted shader for directions and values of the inputs, by name."""
    header, data = [f"{w}.{c}" for w in ("wi", "wo") for c in "xyz"], [wi, wo]
    for name, column in values.items():
        header += [f"in_{name}.{c}" for c in "xyz"] if column.shape[1] == 3 else [f"in_{name}"]
        data.append(column)
    np.savetxt(folder / "rows.csv", np.concatenate(data, 1).astype(np.float32), fmt="%.9g",
               delimiter=",", header=",".join(header), comments="")
    subprocess.run([lightbound, "shader", "eval", folder / "surface.wgsl", "--csv",
                    folder / "rows.csv", "-o", folder / "values.csv"], check=True)
    table = np.genfromtxt(folder / "values.csv", delimiter=",", names=True)
    return np.stack([table[n] for n in ("sr", "sg", "sb")], 1)


def main():
    lightbound = pathlib.Path(sys.argv[1]).resolve()
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    random = np.random.default_rng(1)
    for surface, groups in SURFACES.items():
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            parameters = oracle.build(folder, oracle.generate(surface))
            sizes = [(name, 3 if kind == "float3" else 1) for kind, name in parameters]
            default = node_defaults(surface)
            print(f"\n{surface:28} {'median':>9} {'99 %':>9} {'max':>9}  "
                  f"relative error of {count} rows")
            for group, (varied, fixed) in groups.items():
                convert(lightbound, folder, surface, varied, fixed)
                wi, wo = oracle.mixed_directions(random, count, directions)
                rest = list(columns(random, count, sizes, varied, fixed, default))
                values = {name: column for (name, _), column in zip(sizes, rest)
                          if name in varied}
                ours = evaluate(lightbound, folder, wi, wo, values)
                expected = oracle.evaluate(folder, np.concatenate([wi, wo, *rest], 1))
                oracle.print_errors(group, ours, expected)


main()
