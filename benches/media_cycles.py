#!/usr/bin/env python3
"""Compares noise and CPU time of a procedural density with Blender's Cycles, on the CPU.

    python3.13 -m venv bl && bl/bin/pip install bpy numpy OpenEXR
    bl/bin/python benches/media_cycles.py --lightbound BIN [--spp N …]

The density is the exponential of six octaves of sines in `benches/media/waves.wgsl`, and for Cycles
the same in Math nodes. Both renderers use a box filter, and render images with different seeds. The
relMSE is that of one image: the variance of a pixel over the images, divided by the square of the
mean over all images of ours and of Cycles' defaults, plus 0.01. It contains no bias: the last
columns compare means with ours, of the image and of blocks of 16 × 16 pixels. σ is the standard
error of the blocks' difference. CPU time is that of all threads while rendering, with training;
loading, compilation and octrees are in the column "set-up". Both renderers use Sobol' points.

The ratio is that of relMSE × CPU seconds to ours.

By default, Cycles has null scattering, and majorants from 16 samples in each cell of a 128³ grid.
*Best*, of the unbiased settings tried, samples distances by the density only, without equiangular
sampling, and has no light tree. The other settings are path guiding, and ray marching
(`volume_biased`) with the step size that Cycles chooses and with a quarter of it.
"""

import argparse
import json
import math
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import bpy
import numpy as np
import OpenEXR
from mathutils import Vector

DENSITY = pathlib.Path(__file__).resolve().parent / "benches" / "media" / "waves.wgsl"

FREQUENCY, CONTRAST, OCTAVES = 3, 7, 6
EXTINCTION, ALBEDO = 30, 0.85
EYE, FOV = (2.6, -3.6, 1.8), 40
ENVIRONMENT, LAMP = 0.1, 60
ORDERS = 64

SQUARE = [(-0.25, -0.25, 2.5), (-0.25, 0.25, 2.5), (0.25, -0.25, 2.5), (0.25, 0.25, 2.5)]
CUBE = [(x, y, z) for z in (-1, 1) for y in (-1, 1) for x in (-1, 1)]
FACES = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]


def numbers(values):
    return " ".join(f"{value:g}" for value in np.ravel(values))


SCENE = f"""
Scale -1 1 1
LookAt {numbers(EYE)}  0 0 0  0 0 1
Camera "perspective" "float fov" [{FOV}]
Film "rgb" "integer xresolution" [256] "integer yresolution" [256]
PixelFilter "box"
Integrator "volpath" "integer maxdepth" [{ORDERS}]
WorldBegin
LightSource "infinite" "rgb L" [{numbers([ENVIRONMENT] * 3)}]
AttributeBegin
  AreaLightSource "diffuse" "rgb L" [{numbers([LAMP] * 3)}]
  Material "diffuse" "rgb reflectance" [0 0 0]
  Shape "bilinearmesh" "point3 P" [{numbers(SQUARE)}]
AttributeEnd
MakeNamedMedium "waves" "string type" ["shader"] "string filename" ["waves.wgsl"]
  "float frequency" [{FREQUENCY}] "float contrast" [{CONTRAST}]
  "point3 p0" [-1 -1 -1] "point3 p1" [1 1 1]
  "rgb sigma_s" [{numbers([EXTINCTION * ALBEDO] * 3)}]
  "rgb sigma_a" [{numbers([EXTINCTION * (1 - ALBEDO)] * 3)}]
MediumInterface "waves" ""
Material "interface"
Shape "trianglemesh" "point3 P" [{numbers(CUBE)}]
  "integer indices" [{numbers([(a, b, c, a, c, d) for a, b, c, d in FACES])}]
"""

# Cycles' settings by name: properties of the scene, and the sampling of distances.
DEFAULTS = {"use_light_tree": True, "use_guiding": False, "volume_biased": False}
DEFAULTS.update({"volume_step_rate": 1, "volume_sampling": "MULTIPLE_IMPORTANCE"})
SETTINGS = {
    "Cycles": {},
    "Cycles, best": {"use_light_tree": False, "volume_sampling": "DISTANCE"},
    "Cycles, guiding": {"use_guiding": True},
    "Cycles, marching": {"volume_biased": True},
    "Cycles, marching, step / 4": {"volume_biased": True, "volume_step_rate": 0.25},
}


def read(file):
    channels = OpenEXR.File(str(file), separate_channels=True).channels()
    return np.stack([channels[c].pixels.astype(float) for c in "RGB"], axis=2)


def write(folder, name, pixels):
    file = pathlib.Path(folder) / f"{name.replace(', ', '-').replace(' / ', '-')}.exr"
    header = {"compression": OpenEXR.ZIP_COMPRESSION, "type": OpenEXR.scanlineimage}
    OpenEXR.File(header, {"RGB": pixels.astype(np.float32)}).write(str(file))


def render_ours(options, folder, spp, seed):
    """Returns an image, CPU seconds of rendering and set-up, and null collisions per collision."""
    scene, image, stats = (folder / f"ours.{end}" for end in ("pbrt", "exr", "json"))
    scene.write_text(SCENE)
    shutil.copy(DENSITY, folder)
    size = f"{options.resolution}x{options.resolution}"
    command = [options.lightbound, "render", scene, "--resolution", size, "--quiet"]
    command += ["--spp", spp, "--seed", seed, "-o", image, "--stats", stats]
    command += ["--layers", "beauty", *options.options.split()]
    begin = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(list(map(str, command)), check=True)
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    values = json.loads(stats.read_text())
    cpu = values["render_cpu_seconds"]
    setup = end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime - cpu
    return read(image), cpu, setup, values["media"]["null_per_collision"]


class Nodes:
    """Builds node trees."""

    def __init__(self, tree):
        self.tree = tree
        tree.nodes.clear()

    def add(self, kind, *inputs, **properties):
        """Adds a node. Inputs are values, outputs of nodes, or nodes for their first output."""
        node = self.tree.nodes.new(kind)
        for name, value in properties.items():
            setattr(node, name, value)
        for socket, value in zip(node.inputs, inputs):
            self.set(socket, value)
        return node

    def set(self, socket, value):
        if isinstance(value, bpy.types.Node):
            value = value.outputs[0]
        if isinstance(value, bpy.types.NodeSocket):
            self.tree.links.new(value, socket)
        else:
            socket.default_value = value

    def math(self, operation, *inputs):
        return self.add("ShaderNodeMath", *inputs, operation=operation)

    def vector(self, operation, *inputs):
        return self.add("ShaderNodeVectorMath", *inputs, operation=operation)


def grey(value):
    return (value, value, value, 1)


def material(name):
    result = bpy.data.materials.new(name)
    result.use_nodes = True
    return result, Nodes(result.node_tree)


def medium():
    result, nodes = material("medium")
    q = nodes.vector("MULTIPLY", nodes.add("ShaderNodeNewGeometry"), (FREQUENCY,) * 3)
    total, amplitude = 0.0, 0.5
    for _ in range(OCTAVES):
        x, y, z = nodes.add("ShaderNodeSeparateXYZ", nodes.vector("SINE", q)).outputs
        product = nodes.math("MULTIPLY", nodes.math("MULTIPLY", x, y), z)
        total = nodes.math("MULTIPLY_ADD", product, amplitude, total)
        q = nodes.vector("MULTIPLY", q, (2, 2, 2))
        amplitude *= 0.5
    exponent = nodes.math("MULTIPLY", nodes.math("SUBTRACT", total, 0.5), CONTRAST)
    density = nodes.math("MULTIPLY", nodes.math("EXPONENT", exponent), EXTINCTION)
    volume = nodes.add("ShaderNodeVolumePrincipled")
    # Scattering is the density times this colour, and black absorbs the remainder.
    nodes.set(volume.inputs["Color"], grey(ALBEDO))
    nodes.set(volume.inputs["Absorption Color"], grey(0))
    nodes.set(volume.inputs["Density"], density)
    nodes.set(nodes.add("ShaderNodeOutputMaterial").inputs["Volume"], volume)
    return result


def lamp():
    """Emits at the front only, and is black at the back."""
    result, nodes = material("lamp")
    back = nodes.add("ShaderNodeNewGeometry").outputs["Backfacing"]
    front = nodes.add("ShaderNodeEmission", grey(1), LAMP)
    mix = nodes.add("ShaderNodeMixShader", back, front, nodes.add("ShaderNodeBsdfDiffuse", grey(0)))
    nodes.add("ShaderNodeOutputMaterial", mix)
    result.cycles.emission_sampling = "FRONT"
    return result


def add_mesh(name, points, faces, surface):
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(points, [], faces)
    mesh.materials.append(surface)
    bpy.context.scene.collection.objects.link(bpy.data.objects.new(name, mesh))


def build_scene(resolution):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    render, cycles = scene.render, scene.cycles
    render.engine, cycles.device = "CYCLES", "CPU"
    render.threads_mode, render.threads = "FIXED", len(os.sched_getaffinity(0))
    render.resolution_x = render.resolution_y = resolution
    render.resolution_percentage = 100
    image = render.image_settings
    image.file_format, image.color_mode, image.color_depth = "OPEN_EXR", "RGB", "32"
    render.use_compositing = render.use_sequencer = False
    render.dither_intensity = 0
    cycles.pixel_filter_type = "BOX"
    cycles.use_adaptive_sampling = cycles.use_denoising = False
    cycles.sample_clamp_direct = cycles.sample_clamp_indirect = 0
    cycles.light_sampling_threshold = 0
    # The light of the last scattering event is no bounce.
    cycles.max_bounces = cycles.volume_bounces = ORDERS - 1
    world = scene.world = bpy.data.worlds.new("world")
    world.use_nodes = True
    nodes = Nodes(world.node_tree)
    background = nodes.add("ShaderNodeBackground", grey(ENVIRONMENT), 1)
    nodes.add("ShaderNodeOutputWorld", background)
    add_mesh("medium", CUBE, FACES, medium())
    add_mesh("lamp", SQUARE, [(0, 1, 3, 2)], lamp())
    camera = bpy.data.cameras.new("camera")
    camera.angle = math.radians(FOV)
    eye = bpy.data.objects.new("camera", camera)
    eye.location = EYE
    eye.rotation_euler = (-Vector(EYE)).to_track_quat("-Z", "Y").to_euler()
    scene.collection.objects.link(eye)
    scene.camera = eye


class SetUpClock:
    """CPU time of this process when Cycles starts its first sample."""

    def __init__(self):
        self.begin = None
        bpy.app.handlers.render_stats.append(self.note)

    def note(self, text, *_):
        if self.begin is None and "Sample 0" in str(text):
            self.begin = time.process_time()


def render_theirs(clock, settings, folder, spp, seed):
    """Returns an image, and CPU seconds of rendering and of set-up."""
    scene, surface = bpy.context.scene, bpy.data.materials["medium"]
    for name, value in {**DEFAULTS, **settings, "samples": spp, "seed": seed}.items():
        setattr((surface if name == "volume_sampling" else scene).cycles, name, value)
    scene.render.filepath = str(folder / "theirs.exr")
    clock.begin, begin = None, time.process_time()
    bpy.ops.render.render(write_still=True)
    end = time.process_time()
    return read(scene.render.filepath), end - clock.begin, clock.begin - begin


def blocks(image, size=16):
    rows, columns = image.shape[0] // size, image.shape[1] // size
    return image.reshape(rows, size, columns, size, 3).mean(axis=(1, 3, 4))


def compare(ours, theirs):
    """Returns columns: differences of the means of images and of blocks to ours, in percent."""
    means = [np.mean(stack, axis=(1, 2, 3)) for stack in (ours, theirs)]
    r = np.mean(means[1]) / np.mean(means[0]) - 1
    deviation = np.sqrt(sum(np.var(m, ddof=1) / len(m) for m in means)) / np.mean(means[0])
    grids = [np.array([blocks(image) for image in stack]) for stack in (ours, theirs)]
    mean = np.mean(grids[0], axis=0)
    differences = np.mean(grids[1], axis=0) / mean - 1
    errors = sum(np.var(grid, axis=0, ddof=1) / len(grid) for grid in grids) / mean**2
    rms, sigma = (100 * np.sqrt(np.mean(values)) for values in (differences**2, errors))
    largest = 100 * np.max(np.abs(differences))
    return f"{100 * r:+.2f} ± {100 * deviation:.2f} | {rms:.2f} | {sigma:.2f} | {largest:.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lightbound", required=True, metavar="BIN", help="our binary")
    parser.add_argument("--resolution", type=int, default=256)
    parser.add_argument("--spp", type=int, nargs="+", default=[16, 64], help="samples per pixel")
    parser.add_argument("--seeds", type=int, default=4, help="images of each [default: 4]")
    parser.add_argument("--settings", nargs="+", default=list(SETTINGS), choices=SETTINGS)
    parser.add_argument("--images", metavar="FOLDER", help="where mean images are written")
    parser.add_argument("--options", default="", help="options of our renderer, in one string")
    options = parser.parse_args()
    # Blender's messages go to stderr.
    sys.stdout = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    build_scene(options.resolution)
    clock = SetUpClock()
    settings = ["Cycles", *(name for name in options.settings if name != "Cycles")]
    print(f"Cycles of bpy {bpy.app.version_string}")
    columns = "relMSE | CPU s | relMSE × s | ratio | set-up, CPU s | null per collision"
    print(f"| spp | renderer | {columns} | mean, % | blocks, rms % | σ, % | largest, % |")
    print("|--:|---|" + "---:|" * 10, flush=True)
    for spp in options.spp:
        results = {name: [] for name in ["ours", *settings]}
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            for seed in range(options.seeds):
                results["ours"].append(render_ours(options, folder, spp, seed))
                for name in settings:
                    result = render_theirs(clock, SETTINGS[name], folder, spp, seed)
                    results[name].append(result)
        stacks = {name: np.array([r[0] for r in values]) for name, values in results.items()}
        mean = np.mean(np.concatenate([stacks["ours"], stacks["Cycles"]]), axis=0)
        if options.images:
            for name, stack in stacks.items():
                write(options.images, f"{name}-{spp}", np.mean(stack, axis=0))
        ours = None
        for name, values in results.items():
            relmse = np.mean(np.var(stacks[name], axis=0, ddof=1) / (mean**2 + 0.01))
            seconds, setup = (np.mean([r[i] for r in values]) for i in (1, 2))
            cost = relmse * seconds
            ours = ours or cost
            row = f"| {spp} | {name} | {relmse:.4f} | {seconds:.1f} | {cost:.4f}"
            row += f" | {cost / ours:.2f} | {setup:.1f}"
            nulls, comparison = "", compare(stacks["ours"], stacks[name])
            if name == "ours":
                nulls, comparison = f"{np.mean([r[3] for r in values]):.2f}", " | | |"
            print(f"{row} | {nulls} | {comparison} |", flush=True)


if __name__ == "__main__":
    main()
