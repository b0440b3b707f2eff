#!/usr/bin/env python3
"""Compares references of the regression suite with Mitsuba 3 (`llvm_ad_rgb`), for features that both have.

    python -m venv mi && mi/bin/pip install mitsuba numpy OpenEXR    (and LLVM's library, of the system's package libllvm)
    mi/bin/python benches/suite_mitsuba.py [--spp N] [--case NAME …]

`mitsuba_scene.py` and `mitsuba_surfaces.py` translate scenes from pbrt text. Unsupported features are errors, so that
no difference is explained away. Cases that are not in the list use materials that only we have: closed-form coats and
shaders.

Mitsuba renders each pixel in parts, with a border around the picture, and the scene's own filter is applied here, since
Mitsuba's filters have other radii than pbrt's. Pictures are cut into 4 × 4 blocks; a block's difference is r =
reference / Mitsuba − 1 of the means over its pixels and channels. Its deviation comes from the variance of the
reference's pixels and from how the means of Mitsuba's pictures with different seeds differ.

The last column is the worst block's distance from 0 beyond LIMIT, in deviations. LIMIT allows for the errors of fine
meshes and resampled images. Exit codes: 0 all within 4 of them, 1 not.
"""
import argparse
import pathlib
import sys
import tempfile
import tomllib

# A script in this folder has the same name as the package.
here = sys.path.pop(0)
import mitsuba as mi
import numpy as np
import OpenEXR

mi.set_variant("llvm_ad_rgb")
sys.path.insert(0, here)
from mitsuba_scene import Scene

SCENES = pathlib.Path(__file__).resolve().parent.parent / "scenes"
CASES = """cornell-box independent interior materials skylight many-lights delta-lights contact lanterns area-lights
    environment metals glass leaves textures instances lens orthographic sinc""".split()
LIMIT = 0.002
BLOCKS, SEEDS = 4, 16
# Parts of a pixel along x and y, at which filters are evaluated.
FINENESS = 4


def kernel(name, p):
    """A one-dimensional filter, and its radius rounded up to whole pixels."""
    radius = {"gaussian": 1.5, "mitchell": 2.0, "sinc": 4.0}[name]
    assert not p, f"filter {name}: {p}"

    def mitchell(x):  # Mitchell and Netravali's B = C = 1/3, over −2 to 2
        return np.where(x > 1, (-7 / 18 * x + 2) * x * x - 10 / 3 * x + 16 / 9, (7 / 6 * x - 2) * x * x + 8 / 9)

    shape = {
        "gaussian": lambda x: np.exp(-2 * x * x) - np.exp(-2 * radius * radius),
        "mitchell": mitchell,
        "sinc": lambda x: np.sinc(x) * np.sinc(x / 3),
    }[name]
    return (lambda x: np.where(x < radius, shape(x), 0)), int(radius + 0.5)


class Case:
    """A case of the suite."""

    def __init__(self, entry, defaults, temporary):
        get = lambda key, default=None: entry.get(key, defaults.get(key, default))
        self.reference = OpenEXR.File(str(SCENES / "references" / f"{entry['name']}.exr"), separate_channels=True).channels()
        scene = Scene(SCENES / entry["scene"], temporary)
        height, width = self.channel("R").shape
        shape, border = kernel(*scene.filter)
        self.scene = scene.load(width, height, border, FINENESS, get("depth", scene.depth))
        self.weights = [self.filter(shape, border, size) for size in (height, width)]

    def filter(self, shape, border, size):
        """Weights of the parts (columns) in each of `size` pixels: means of the filter over the parts. They are sharpened, since
        constant parts of width h increase its variance by h²/6."""
        inner = 16
        x = (np.arange((size + 2 * border) * FINENESS * inner) + 0.5) / (FINENESS * inner) - border
        weights = shape(np.abs(x[None] - np.arange(size)[:, None] - 0.5)).reshape(size, -1, inner).sum(axis=2)
        weights -= np.diff(weights, 2, prepend=0, append=0) / 12
        return weights / weights.sum(axis=1, keepdims=True)

    def channel(self, name):
        return self.reference[name].pixels.astype(float)

    def render(self, spp, seed):
        fine = np.array(mi.render(self.scene, spp=max(1, spp // FINENESS**2), seed=seed), dtype=float)
        return np.einsum("yi,ijc,xj->yxc", self.weights[0], fine, self.weights[1], optimize=True)

    def measure(self, spp):
        """r and its deviation for each block and for the entire picture."""
        theirs = np.array([self.render(spp, seed) for seed in range(SEEDS)])
        ours = np.stack([self.channel(c) for c in "RGB"], axis=2)
        deviations = np.sqrt(np.stack([self.channel(f"variance.{c}") for c in "RGB"], axis=2))

        def difference(cut):
            # Channels share paths, so their errors are correlated and add up, as do those of adjacent pixels in Mitsuba.
            variance = np.sum(np.sum(deviations[cut], axis=2) ** 2)
            sums = np.sum(theirs[:, *cut], axis=(1, 2, 3))
            deviation = np.sqrt(variance + np.var(sums, ddof=1) / SEEDS) / np.mean(sums)
            return np.sum(ours[cut]) / np.mean(sums) - 1, deviation

        blocks = []
        for rows in np.array_split(np.arange(ours.shape[0]), BLOCKS):
            for columns in np.array_split(np.arange(ours.shape[1]), BLOCKS):
                blocks.append(difference(np.ix_(rows, columns)))
        return np.array(blocks), difference((slice(None), slice(None)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--spp", type=int, default=256, help="samples per pixel of each of Mitsuba's pictures [default: 256]")
    parser.add_argument("--case", nargs="+", default=CASES)
    options = parser.parse_args()
    suite = tomllib.loads((SCENES / "suite.toml").read_text())
    entries = {entry["name"]: entry for entry in suite["case"]}
    print("| case | whole picture, r | blocks: rms r | largest r | mean deviation | beyond the limit, deviations |")
    print("|---|---:|---:|---:|---:|---:|", flush=True)
    worst = 0.0
    for name in options.case:
        with tempfile.TemporaryDirectory() as temporary:
            blocks, whole = Case(entries[name], suite["defaults"], temporary).measure(options.spp)
        r, deviation = np.abs(blocks[:, 0]), blocks[:, 1]
        beyond = max(0.0, np.max((r - LIMIT) / deviation))
        worst = max(worst, beyond)
        rms = np.sqrt(np.mean(r**2))
        blocks = " | ".join(f"{100 * x:.2f} %" for x in (rms, r.max(), deviation.mean()))
        print(f"| {name} | {100 * whole[0]:+.2f} ± {100 * whole[1]:.2f} % | {blocks} | {beyond:.1f} |", flush=True)
    sys.exit(int(worst > 4))


if __name__ == "__main__":
    main()
