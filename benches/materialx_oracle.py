"""Programs that evaluate the shaders which MaterialX generates for its surfaces, for comparisons.

MaterialX writes Slang, slangc translates it to C++, and a C++ compiler builds a program that
evaluates rows of a file. Needs PyPI's materialx (1.39.5 was used), numpy and slangtorch (for slangc;
2026.14.1 was used), and g++:

    pip install materialx numpy
    pip install slangtorch --no-deps
"""

import importlib.util
import pathlib
import re
import subprocess

import MaterialX as mx
import MaterialX.PyMaterialXGenShader as mx_shader
import MaterialX.PyMaterialXGenSlang as mx_slang
import numpy as np


def generate(surface):
    """The Slang text of a surface's node."""
    document, library = mx.createDocument(), mx.createDocument()
    path = mx.getDefaultDataSearchPath()
    mx.loadLibraries(mx.getDefaultDataLibraryFolders(), path, library)
    document.setDataLibrary(library)
    node = document.addNode(surface, "s", "surfaceshader")
    material = document.addMaterialNode("m", node)
    generator = mx_slang.SlangShaderGenerator.create()
    context = mx_shader.GenContext(generator)
    context.registerSourceCodeSearchPath(path)
    context.getOptions().hwSpecularEnvironmentMethod = (
        mx_shader.HwSpecularEnvironmentMethod.SPECULAR_ENVIRONMENT_NONE
    )
    text = generator.generate("m", material, context).getSourceCode("pixel")
    # Subsurface scattering is diffuse reflection, since there is no curvature of a surface here.
    return re.sub(
        r"    float curvature = .*?M_PI\);", "    return albedo * max(dot(N, L), 0.0) / M_PI;",
        text, flags=re.S)


def with_entry_point(text):
    """Adds an entry point that evaluates rows of a buffer: wi, wo, and the parameters, which are
    returned as pairs of type and name. Only the response to one light is computed."""
    parameters = re.findall(r"uniform (float3?|bool|int) s_(\w+);", text)
    function, arguments = re.search(
        r"void ((?:NG|IMP|IMPL)_\w+)\(([^)]*), out surfaceshader out1\)", text).groups()
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
    result = re.search(r"\n {4}out1 = (\w+);\n\}", text[text.index(f"void {function}("):])
    result = result.group(1) if result else "out1"
    text = re.sub(
        r"(// Ambient occlusion\n)", rf"out1 = {result}; return;\n\1", text, count=1)

    up, tangent = "float3(0, 0, 1)", "float3(1, 0, 0)"
    bitangent = "vd.bitangentWorld = float3(0, 1, 0);" if "bitangentWorld" in text else ""
    offset, reads = 6, {}
    for kind, name in parameters:
        words = [f"rows[r + {offset + k}]" for k in range(3 if kind == "float3" else 1)]
        reads[name] = f"{kind}({', '.join(words)})"
        offset += len(words)
    passed = []
    for argument in arguments.split(","):
        name = argument.split()[-1]
        passed.append(up if "normal" in name else tangent if "tangent" in name else reads[name])
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
    {bitangent}
    g_wi = float3(rows[r], rows[r + 1], rows[r + 2]);
    g_wo = float3(rows[r + 3], rows[r + 4], rows[r + 5]);
    surfaceshader s = surfaceshader(float3(0.0), float3(0.0));
    {function}({', '.join(passed)}, s);
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


def build(folder, text):
    """Builds the program of a Slang text, and returns the parameters: type and name."""
    text, parameters, width = with_entry_point(text)
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


def evaluate(folder, rows):
    """Reflected light of the built program for rows of wi, wo and parameters."""
    rows.astype(np.float32).tofile(folder / "rows")
    output = subprocess.run([folder / "oracle", folder / "rows"], capture_output=True,
                            check=True).stdout
    return np.frombuffer(output, np.float32).reshape(-1, 3).astype(float)


def print_errors(group, ours, expected):
    """Prints a row with errors relative to the largest channel."""
    scale = np.maximum(np.abs(expected).max(1, keepdims=True), 1e-6)
    error = (np.abs(ours - expected) / scale).max(1)
    print(f"{group:28} {np.median(error):9.1e} {np.quantile(error, 0.99):9.1e} "
          f"{error.max():9.1e}")


def mixed_directions(random, count, directions):
    """Uniform pairs of directions; half of the light directions are near the mirror direction."""
    wi, wo = directions(random, count), directions(random, count)
    near = wo * [-1, -1, 1] + random.normal(0, 0.15, wo.shape)
    near /= np.linalg.norm(near, axis=1, keepdims=True)
    return np.where((np.arange(count)[:, None] % 2 == 0) & (near[:, 2:] > 0.1), near, wi), wo
