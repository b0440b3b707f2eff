#!/usr/bin/env python3
"""Renders `benches/hallway.pbrt` with LuxCore, with and without its photon GI cache.

    python3.11 -m venv lux && lux/bin/pip install pyluxcore numpy
    LD_PRELOAD=… lux/bin/python benches/hallway_luxcore.py --lightbound BIN [--spp N …]

pyluxcore needs its own allocator, the two libraries `libtbbmalloc` of the wheel, in LD_PRELOAD.

LuxCore has no coated diffuse material and no GGX conductor like pbrt's; `glossy2` and `metal2`
stand for them, with the same roughness and colours. So the images differ, and each renderer is
compared with its own converged image: relMSE, normalised by the median, with ε = 0.01, clamped at the 99.9th
percentile. Seconds are CPU time of rendering; the column "set-up" is the wall-clock time before it,
for LuxCore's photons or for our light paths and their tree. Both renderers use 80 × 64 pixels and
two threads; LuxCore uses a box filter, ours is that of the scene.
"""

import argparse
import json
import pathlib
import re
import subprocess
import tempfile
import time

import numpy as np
import pyluxcore as lux

SCENE = pathlib.Path(__file__).resolve().parent / "hallway.pbrt"
WIDTH, HEIGHT = 80, 64
# That of the scene.
MAX_DEPTH = 12
# LuxCore's roughness is the width of the lobe; pbrt's is the square of the width.
CONDUCTOR = {
    "type": "metal2",
    "fresnel": "copper",
    "uroughness": 0.35**0.5,
    "vroughness": 0.35**0.5,
}
COATED = {
    "type": "glossy2",
    "ks": [0.04] * 3,
    "uroughness": 0.2**0.5,
    "vroughness": 0.2**0.5,
}
# Reflectance of copper at normal incidence, pbrt's default conductor.
COPPER = [0.93, 0.62, 0.52]
PHOTON_CACHE = {
    "path.photongi.sampler.type": "METROPOLIS",
    "path.photongi.photon.maxcount": 2_000_000,
    "path.photongi.photon.maxdepth": MAX_DEPTH + 1,
    "path.photongi.indirect.enabled": True,
    "path.photongi.indirect.maxsize": 100_000,
    "path.photongi.indirect.haltthreshold": 0.05,
    "path.photongi.indirect.lookup.radius": 0.15,
    "path.photongi.indirect.glossinessusagethreshold": 0.05,
    "path.photongi.caustic.enabled": False,
}
OURS = {
    "path tracer, guided": [],
    "path tracer, unguided": ["--guiding", "off"],
    "stochastic lightcuts, 50,000 light paths": [
        *["--integrator", "lightcuts", "--mode", "stochastic", "--light-paths", "50000"],
    ],
}


def numbers(text):
    return [float(x) for x in text.split()]


def surfaces(text):
    """Returns the quads of the scene with their materials and emission."""
    emission, material = None, None
    for line in text.splitlines():
        if found := re.search(r'"rgb L" \[(.*?)\]', line):
            emission = numbers(found[1])
        elif line.strip() == "AttributeEnd":
            emission = None
        elif line.strip().startswith("Material"):
            kind = re.search(r'Material "(\w+)"', line)[1]
            color = re.search(r'"rgb reflectance" \[(.*?)\]', line)
            color = color and numbers(color[1])
            material = {
                "conductor": CONDUCTOR,
                "diffuse": {"type": "matte", "kd": color},
                "coateddiffuse": {**COATED, "kd": color},
            }[kind]
        elif found := re.search(r'"point3 P" \[(.*?)\]', line):
            yield np.reshape(numbers(found[1]), (4, 3)), material, emission


def load():
    text = SCENE.read_text()
    scene, properties = lux.Scene(), lux.Properties()

    def put(prefix, values):
        for key, value in values.items():
            properties.Set(lux.Property(prefix + key, value))

    eye, target, up = np.reshape(numbers(re.search(r"LookAt (.*)", text)[1]), (3, 3)).tolist()
    x, y = WIDTH / HEIGHT, 1.0
    # LuxCore's film is one pixel off vertically.
    shift = 2 / HEIGHT
    put(
        "scene.camera.",
        {
            "type": "perspective",
            "lookat.orig": eye,
            "lookat.target": target,
            "up": up,
            "fieldofview": float(re.search(r'"float fov" (\d+)', text)[1]),
            "screenwindow": [-x, x, -y - shift, y - shift],
            "cliphither": 0.01,
            "clipyon": 1000.0,
            "autofocus.enable": False,
        },
    )
    put("scene.textures.copper.", {"type": "fresnelcolor", "kr": COPPER})
    for index, (corners, material, emission) in enumerate(surfaces(text)):
        # Vertices of bilinear meshes are in rows.
        mesh = [tuple(corner) for corner in corners.tolist()]
        scene.DefineMesh(f"mesh{index}", mesh, [(0, 1, 3), (0, 3, 2)], None, None, None, None)
        put(f"scene.materials.m{index}.", material)
        if emission:
            put(
                f"scene.materials.m{index}.",
                # LuxCore's spelling.
                {"emission": emission, "emission.power": 0.0, "emission.efficency": 0.0},
            )
        put(f"scene.objects.o{index}.", {"shape": f"mesh{index}", "material": f"m{index}"})
    scene.Parse(properties)
    return scene


def render_luxcore(scene, spp, seed, settings):
    """Returns the image, the CPU time of rendering and the time before."""
    properties = lux.Properties()
    # LuxCore counts the path to the camera, too.
    depth = MAX_DEPTH + 1
    for key, value in {
        "renderengine.type": "PATHCPU",
        "sampler.type": "SOBOL",
        "renderengine.seed": seed,
        "native.threads.count": 2,
        "film.width": WIDTH,
        "film.height": HEIGHT,
        "film.filter.type": "BOX",
        "film.filter.width": 0.5,
        **{f"path.pathdepth.{kind}": depth for kind in ("total", "diffuse", "glossy", "specular")},
        "path.clamping.variance.maxvalue": 0.0,
        "lightstrategy.type": "LOG_POWER",
        "batch.haltspp": [spp, 0],
        "film.noiseestimation.warmup": 1_000_000,
        "film.outputs.0.type": "RGB",
        "film.outputs.0.filename": "unused.exr",
        "film.imagepipelines.0.0.type": "NOP",
        "film.opencl.enable": False,
        "scene.epsilon.min": 1e-5,
        **settings,
    }.items():
        properties.Set(lux.Property(key, value))
    session = lux.RenderSession(lux.RenderConfig(properties, scene))
    start = time.perf_counter()
    session.Start()
    setup, cpu = time.perf_counter() - start, time.process_time()
    while not session.HasDone():
        time.sleep(0.01)
        session.UpdateStats()
    cpu = time.process_time() - cpu
    image = np.zeros(WIDTH * HEIGHT * 3, np.float32)
    session.GetFilm().GetOutputFloat(lux.FilmOutputType.RGB, image, 0)
    session.Stop()
    return image.reshape(HEIGHT, WIDTH, 3)[::-1].astype(float), cpu, setup


def render_ours(program, spp, seed, options):
    with tempfile.TemporaryDirectory() as folder:
        image, stats = f"{folder}/image.pfm", f"{folder}/stats.json"
        command = [program, "render", SCENE, "-o", image, "--stats", stats, "--spp", spp]
        command += ["--seed", seed, "--threads", 2, "--quiet", *options]
        subprocess.run([str(x) for x in command], check=True)
        times = json.loads(pathlib.Path(stats).read_text())
        raw = pathlib.Path(image).read_bytes()
    pixels = np.frombuffer(raw[-WIDTH * HEIGHT * 12 :], "<f4").reshape(HEIGHT, WIDTH, 3)
    setup = (times["light_tree"] or {}).get("build_seconds", 0)
    return pixels[::-1].astype(float), times["render_cpu_seconds"], setup


def rel_mse(image, reference):
    median = np.median(reference.mean(-1))
    image, reference = image / median, reference / median
    error = ((image - reference) ** 2 / (reference**2 + 0.01)).mean(-1)
    return np.minimum(error, np.percentile(error, 99.9)).mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lightbound", required=True, metavar="BIN")
    parser.add_argument("--spp", type=int, nargs="+", default=[4, 16, 64, 256])
    parser.add_argument("--reference-spp", type=int, default=4096)
    arguments = parser.parse_args()
    lux.Init()
    lux.SetLogHandler(lambda message: None)
    scene = load()
    methods = {
        name: lambda spp, seed, options=options: render_ours(
            arguments.lightbound, spp, seed, options
        )
        for name, options in OURS.items()
    }
    methods |= {
        name: lambda spp, seed, settings=settings: render_luxcore(scene, spp, seed, settings)
        for name, settings in {
            "LuxCore, path tracer": {},
            "LuxCore, photon GI cache": PHOTON_CACHE,
        }.items()
    }
    references = {
        "path tracer, guided": None,
        "LuxCore, path tracer": None,
    }
    for name in references:
        references[name], _, _ = methods[name](arguments.reference_spp, 1000)
    for name, image in references.items():
        print(f"reference, {name}: mean {image.mean():.4f}, median {np.median(image.mean(-1)):.4f}")
    print("| method | samples | set-up, s | rendering, s | relMSE | mean |")
    print("|---|--:|--:|--:|--:|--:|")
    for name, method in methods.items():
        is_luxcore = name.startswith("LuxCore")
        reference = references["LuxCore, path tracer" if is_luxcore else "path tracer, guided"]
        for spp in arguments.spp:
            image, cpu, setup = method(spp, 1)
            error = rel_mse(image, reference)
            mean = 100 * (image.mean() / reference.mean() - 1)
            print(f"| {name} | {spp} | {setup:.2f} | {cpu:.2f} | {error:.4f} | {mean:+.1f} % |")


if __name__ == "__main__":
    main()
