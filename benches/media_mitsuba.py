#!/usr/bin/env python3
"""Compares noise and CPU time of media with Mitsuba 3 (`llvm_ad_rgb`), on cases of the suite.

    python -m venv mi && mi/bin/pip install mitsuba numpy OpenEXR
    mi/bin/python benches/media_mitsuba.py --lightbound BIN [--case NAME …]

Scenes are translated as for `suite_mitsuba.py`. Both renderers use a box filter, and render images
with different seeds. The relMSE is that of one image: the variance of a pixel over the images,
divided by the square of the mean over all images of both, plus 0.01. CPU time is that of all
threads while rendering: without loading and compilation, but with our training. Mitsuba uses
independent samples, and we use Sobol' points.

The ratio is that of relMSE × CPU seconds to ours.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

# `mitsuba.py` in this folder would hide the package.
here = sys.path.pop(0)
import mitsuba as mi
import numpy as np
import OpenEXR

mi.set_variant("llvm_ad_rgb")
sys.path.insert(0, here)
from mitsuba_scene import Scene

SUITE = pathlib.Path(__file__).resolve().parent.parent / "scenes" / "suite"


def render_ours(options, name, folder, seed):
    """Returns an image, CPU seconds, and null collisions per collision."""
    scene, image, stats = (folder / f"ours.{end}" for end in ("pbrt", "exr", "json"))
    text = (SUITE / f"{name}.pbrt").read_text()
    scene.write_text(text.replace("WorldBegin", 'PixelFilter "box"\nWorldBegin', 1))
    size = f"{options.resolution}x{options.resolution}"
    command = [options.lightbound, "render", scene, "--resolution", size, "--quiet"]
    command += ["--spp", options.spp, "--seed", seed, "-o", image, "--stats", stats]
    command += ["--layers", "beauty", *options.options.split()]
    subprocess.run(list(map(str, command)), check=True)
    channels = OpenEXR.File(str(image), separate_channels=True).channels()
    values = json.loads(stats.read_text())
    pixels = np.stack([channels[c].pixels.astype(float) for c in "RGB"], axis=2)
    return pixels, values["render_cpu_seconds"], values["media"]["null_per_collision"]


def render_theirs(options, scene, seed):
    """Returns an image and CPU seconds."""
    begin = time.process_time()
    image = np.array(mi.render(scene, spp=options.spp, seed=seed), dtype=float)
    return image, time.process_time() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lightbound", required=True, metavar="BIN", help="our binary")
    parser.add_argument("--case", nargs="+", default=["fog-box", "smoke-grid"])
    parser.add_argument("--resolution", type=int, default=256)
    parser.add_argument("--spp", type=int, default=32, help="samples per pixel [default: 32]")
    parser.add_argument("--seeds", type=int, default=6, help="images of each [default: 6]")
    parser.add_argument("--options", default="", help="options of our renderer, in one string")
    options = parser.parse_args()
    print("| case | renderer | relMSE | CPU s | relMSE × s | ratio | null per collision |")
    print("|---|---|---:|---:|---:|---:|---:|", flush=True)
    for name in options.case:
        with tempfile.TemporaryDirectory() as temporary:
            folder, size = pathlib.Path(temporary), options.resolution
            translated = Scene(SUITE / f"{name}.pbrt", temporary)
            scene = translated.load(size, size, 0, 1, translated.depth)
            render_theirs(options, scene, options.seeds)  # compiles
            seeds = range(options.seeds)
            ours = [render_ours(options, name, folder, seed) for seed in seeds]
            theirs = [render_theirs(options, scene, seed) for seed in seeds]
        stacks = [np.array([result[0] for result in results]) for results in (ours, theirs)]
        mean = np.mean(np.concatenate(stacks), axis=0)
        costs = []
        for label, stack, results in zip(("ours", "Mitsuba"), stacks, (ours, theirs)):
            relmse = np.mean(np.var(stack, axis=0, ddof=1) / (mean**2 + 0.01))
            seconds = np.mean([result[1] for result in results])
            costs.append(relmse * seconds)
            row = f"| {name} | {label} | {relmse:.4f} | {seconds:.1f} | {costs[-1]:.3f}"
            ratio, nulls = f"{costs[-1] / costs[0]:.2f}", ""
            if label == "ours":
                nulls = f"{np.mean([result[2] for result in results]):.2f}"
            print(f"{row} | {ratio} | {nulls} |", flush=True)
        means = [np.mean(stack, axis=(1, 2, 3)) for stack in stacks]
        r = np.mean(means[0]) / np.mean(means[1]) - 1
        deviation = np.sqrt(sum(np.var(m, ddof=1) / len(m) for m in means)) / np.mean(means[1])
        print(f"{name}: image mean, ours / Mitsuba − 1: {100 * r:+.2f} ± {100 * deviation:.2f} %")


if __name__ == "__main__":
    main()
