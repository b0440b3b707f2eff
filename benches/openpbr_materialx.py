"""Compares assets/shaders/openpbr.wgsl with the shader that MaterialX generates for OpenPBR.

MaterialX writes Slang, slangc translates it to C++, and a C++ compiler builds a program that
evaluates random directions and parameters; `lightbound shader eval` evaluates the same ones. Needs
PyPI's materialx (1.39.5 was used), numpy and slangtorch (for slangc; 2026.14.1 was used), and g++:

    pip install materialx numpy slangtorch --no-deps
    python benches/openpbr_materialx.py target/debug/lightbound

Prints the errors for groups of lobes. Where the models differ by intention (see the record of
2026-11-28), MaterialX's function is replaced by the one that the specification defines:

- subsurface scattering is diffuse reflection, since there is no curvature of a surface here;
- the cosine between wi and wo may be negative in the diffuse lobe;
- the reflectance of metal is at least 0, also if it is dark and tinted at grazing angles;
- the fit of the fuzz's albedo is at least 0.
"""

import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile

import MaterialX as mx
import MaterialX.PyMaterialXGenShader as mx_shader
import MaterialX.PyMaterialXGenSlang as mx_slang
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
    """The Slang text, with an entry point that evaluates rows of a buffer; and the parameters."""
    document, library = mx.createDocument(), mx.createDocument()
    path = mx.getDefaultDataSearchPath()
    mx.loadLibraries(mx.getDefaultDataLibraryFolders(), path, library)
    document.setDataLibrary(library)
    node = document.addNode("open_pbr_surface", "s", "surfaceshader")
    material = document.addMaterialNode("m", node)
    generator = mx_slang.SlangShaderGenerator.create()
    context = mx_shader.GenContext(generator)
    context.registerSourceCodeSearchPath(path)
    context.getOptions().hwSpecularEnvironmentMethod = (
        mx_shader.HwSpecularEnvironmentMethod.SPECULAR_ENVIRONMENT_NONE
    )
    shader = generator.generate("m", material, context)
    text = shader.getSourceCode("pixel")
    parameters = re.findall(r"uniform (float3?|bool) s_(\w+);", text)
    assert len(parameters) == 37, parameters

    # Directions come from a buffer, and only the response to one light is computed.
    start = text.index("[shader(\"fragment\")]")
    text = text[:start].replace("cbuffer pixelCB", "struct Unused").replace("uniform ", "")
    globals_ = "static const bool u_refractionTwoSided = false;\nstatic float3 g_wi, g_wo;\n"
    text = re.sub(r"struct Unused\n\{.*?\n\}\n", globals_, text, flags=re.S)
    text = re.sub(r"int numActiveLightSources\(\)\n\{.*?\n\}\n", "", text, flags=re.S)
    text = text.replace("numActiveLightSources()", "1")
    text = text.replace("u_lightData[activeLightIndex]", "light").replace(
        "lightshader lightShader;", "lightshader lightShader; LightData light = {};")
    text = text.replace("normalize(u_viewPosition - vd.positionWorld)", "g_wo")
    text = text.replace(
        "result.intensity = float3(0.000000, 0.000000, 0.000000);", "result.intensity = float3(1);")
    text = text.replace(
        "result.direction = float3(0.000000, 0.000000, 0.000000);", "result.direction = g_wi;")
    text = re.sub(
        r"(// Ambient occlusion\n)", r"out1 = shader_constructor_out; return;\n\1", text, count=1)
    # Intended differences.
    text = re.sub(
        r"    float curvature = .*?M_PI\);", "    return albedo * max(dot(N, L), 0.0) / M_PI;",
        text, flags=re.S)
    text = text.replace(
        "float LdotV = clamp(dot(L, V), M_FLOAT_EPS, 1.0);", "float LdotV = dot(L, V);")

    for result, zero in [
        (r"lerp\(fd\.F0, fd\.F90, pow\(1\.0 - x, fd\.exponent\)\) - a \* x \* mx_pow6\(1\.0 - x\)",
         "float3(0.0)"),
        (r"exp\(-0\.5\*mx_square\(\(x - m\)/s\)\)/\(s\*sqrt\(2\.0\*M_PI\)\) \+ o", "0.0"),
    ]:
        text, changes = re.subn(f"return ({result});", rf"return max(\1, {zero});", text)
        assert changes == 1

    arguments, offset = [], 6
    for kind, _ in parameters:
        read = [f"rows[r + {offset + k}]" for k in range(3 if kind == "float3" else 1)]
        arguments.append(f"{kind}({', '.join(read)})")
        offset += len(read)
    up, tangent = "float3(0, 0, 1)", "float3(1, 0, 0)"
    text += f"""
StructuredBuffer<float> rows;
RWStructuredBuffer<float> results;
[shader("compute")]
[numthreads(1, 1, 1)]
void computeMain(uint3 id : SV_DispatchThreadID)
{{
    uint r = id.x * {offset};
    vd.normalWorld = {up};
    vd.tangentWorld = {tangent};
    g_wi = float3(rows[r], rows[r + 1], rows[r + 2]);
    g_wo = float3(rows[r + 3], rows[r + 4], rows[r + 5]);
    surfaceshader s = surfaceshader(float3(0.0), float3(0.0));
    NG_open_pbr_surface_surfaceshader({', '.join(arguments)}, {up}, {up}, {tangent}, {tangent}, s);
    results[3 * id.x] = s.color.x;
    results[3 * id.x + 1] = s.color.y;
    results[3 * id.x + 2] = s.color.z;
}}
"""
    return text, parameters, offset


HOST = """
#include <cstdio>
int main(int, char** arguments) {
    const size_t width = %d;
    FILE* file = fopen(arguments[1], "rb");
    fseek(file, 0, SEEK_END);
    size_t count = ftell(file) / sizeof(float);
    rewind(file);
    float* rows = new float[count];
    float* results = new float[count];
    if (fread(rows, sizeof(float), count, file) != count) return 1;
    GlobalParams_0 parameters{};
    parameters.rows_0.data = rows;
    parameters.rows_0.count = count;
    parameters.results_0.data = results;
    parameters.results_0.count = count;
    ComputeVaryingInput input{};
    input.endGroupID = {uint32_t(count / width), 1, 1};
    computeMain(&input, nullptr, &parameters);
    fwrite(results, sizeof(float), count / width * 3, stdout);
}
"""


def build(folder):
    text, parameters, width = generate()
    (folder / "oracle.slang").write_text(text)
    # Importing slangtorch would need torch.
    package = importlib.util.find_spec("slangtorch").submodule_search_locations[0]
    slangc = pathlib.Path(package) / "bin" / "slangc"
    subprocess.run([slangc, "oracle.slang", "-target", "cpp", "-entry", "computeMain", "-stage",
                    "compute", "-o", "oracle.cpp"],
                   cwd=folder, check=True, capture_output=True)
    with open(folder / "oracle.cpp", "a") as file:
        file.write(HOST % width)
    subprocess.run(["g++", "-O1", "-w", "oracle.cpp", "-o", "oracle"], cwd=folder, check=True)
    return parameters


def main():
    lightbound = pathlib.Path(sys.argv[1]).resolve()
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    random = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        parameters = build(folder)
        default = defaults(lightbound)
        print(f"{'lobes':28} {'median':>9} {'99 %':>9} {'max':>9}  relative error of {count} rows")
        for group, (varied, fixed) in GROUPS.items():
            wi, wo = directions(random, count), directions(random, count)
            # Half of the light directions are near the mirror direction.
            near = wo * [-1, -1, 1] + random.normal(0, 0.15, wo.shape)
            near /= np.linalg.norm(near, axis=1, keepdims=True)
            wi = np.where((np.arange(count)[:, None] % 2 == 0) & (near[:, 2:] > 0.1), near, wi)
            sizes = [(name, 3 if kind == "float3" else 1) for kind, name in parameters]
            rest = columns(random, count, sizes, varied, fixed, default)
            rows = np.concatenate([wi, wo, *rest], 1).astype(np.float32)
            rows.tofile(folder / "rows")
            output = subprocess.run([folder / "oracle", folder / "rows"], capture_output=True,
                                    check=True).stdout
            expected = np.frombuffer(output, np.float32).reshape(-1, 3).astype(float)
            ours = evaluate(lightbound, folder, sizes, rows)
            scale = np.maximum(np.abs(expected).max(1, keepdims=True), 1e-6)
            error = (np.abs(ours - expected) / scale).max(1)
            print(f"{group:28} {np.median(error):9.1e} {np.quantile(error, 0.99):9.1e} "
                  f"{error.max():9.1e}")


main()
