#!/usr/bin/env python3
"""Compares references of the regression suite with Mitsuba 3 (`llvm_ad_rgb`).

    python -m venv mi && mi/bin/pip install mitsuba numpy OpenEXR
    mi/bin/python benches/suite_mitsuba.py [--spp N] [--case NAME …]

Mitsuba also needs the library of LLVM (Debian: libllvm). `mitsuba_scene.py`, `mitsuba_surfaces.py`
and `mitsuba_media.py` translate scenes from pbrt text. They reject unsupported features, so that no
difference can be blamed on the translation. Cases that are not listed use materials that only
Lightbound has: closed-form coats, and shaders.

Mitsuba renders at a higher resolution, with a border around the image, and the filter of the scene
is applied here, since Mitsuba's filters have other radii than pbrt's. Images are divided into
4 × 4 blocks. The difference of a block is r = reference / Mitsuba − 1, from the means over its
pixels and channels. The standard deviation of r is estimated from the variance of the reference's
pixels, and from the spread of Mitsuba's images with different seeds.

Images with motion blur are means of STILLS stills, at other times for each seed.

The last column is the excess of |r| over LIMIT in the worst block, in standard deviations. LIMIT
allows for the errors of fine meshes and resampled images. Exit codes: 0 if the excess is at most 4
in all cases, 1 otherwise.
"""

import argparse
import pathlib
import sys
import tempfile
import tomllib

# `mitsuba.py` in this folder would hide the package.
here = sys.path.pop(0)
import mitsuba as mi
import numpy as np
import OpenEXR

mi.set_variant("llvm_ad_rgb")
sys.path.insert(0, here)
from mitsuba_scene import Scene

SCENES = pathlib.Path(__file__).resolve().parent.parent / "scenes"
CASES = """cornell-box independent interior materials skylight many-lights delta-lights contact
    lanterns area-lights picture projector environment metals measured glass leaves textures bumps
    instances lens orthographic sinc motion vertex-motion moving-parts fog-box fog-chromatic
    smoke-grid smoke-rgbgrid tea subsurface""".split()
LIMIT = 0.002
BLOCKS, SEEDS, STILLS = 4, 16, 2
# Subpixels per pixel along x and y, at which filters are evaluated.
SUBPIXELS = 4


def kernel(name, p):
    """Returns a one-dimensional filter, and its radius rounded up to whole pixels."""
    radius = {"gaussian": 1.5, "mitchell": 2.0, "sinc": 4.0}[name]
    assert not p, f"filter {name}: {p}"

    def mitchell(x):  # Mitchell and Netravali's B = C = 1/3, over −2 to 2
        outer = (-7 / 18 * x + 2) * x * x - 10 / 3 * x + 16 / 9
        return np.where(x > 1, outer, (7 / 6 * x - 2) * x * x + 8 / 9)

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
        path = SCENES / "references" / f"{entry['name']}.exr"
        self.reference = OpenEXR.File(str(path), separate_channels=True).channels()
        scene = Scene(SCENES / entry["scene"], temporary)
        height, width = self.channel("R").shape
        shape, border = kernel(*scene.filter)
        n = SEEDS * STILLS if scene.moves else 1
        depth = get("depth", scene.depth)
        self.stills = []
        for i in range(n):
            # Loaded at once, since the next still replaces the files of meshes.
            still = Scene(SCENES / entry["scene"], temporary, (i + 0.5) / n)
            self.stills.append(still.load(width, height, border, SUBPIXELS, depth))
        self.weights = [self.filter(shape, border, size) for size in (height, width)]

    def filter(self, shape, border, size):
        """Returns the weights of all subpixels (columns) in each of `size` pixels (rows).

        A weight is the mean of the filter over the subpixel. The weights are sharpened, since
        constant subpixels of width h increase the variance of the filter by h²/6.
        """
        points = 16  # per subpixel
        x = (np.arange((size + 2 * border) * SUBPIXELS * points) + 0.5) / (SUBPIXELS * points)
        distance = np.abs(x[None] - border - np.arange(size)[:, None] - 0.5)
        weights = shape(distance).reshape(size, -1, points).sum(axis=2)
        weights -= np.diff(weights, 2, prepend=0, append=0) / 12
        return weights / weights.sum(axis=1, keepdims=True)

    def channel(self, name):
        return self.reference[name].pixels.astype(float)

    def render(self, spp, seed):
        stills = self.stills[seed :: SEEDS] if len(self.stills) > 1 else self.stills
        spp = max(1, spp // SUBPIXELS**2 // len(stills))
        images = [np.array(mi.render(s, spp=spp, seed=seed), dtype=float) for s in stills]
        subpixels = np.mean(images, axis=0)
        rows, columns = self.weights
        return np.einsum("yi,ijc,xj->yxc", rows, subpixels, columns, optimize=True)

    def measure(self, spp):
        """Returns r and its standard deviation, for each block and for the entire image."""
        theirs = np.array([self.render(spp, seed) for seed in range(SEEDS)])
        ours = np.stack([self.channel(c) for c in "RGB"], axis=2)
        deviations = np.sqrt(np.stack([self.channel(f"variance.{c}") for c in "RGB"], axis=2))

        def difference(region):
            # The channels of a pixel share paths, so their errors are correlated and add up. In
            # Mitsuba, so do the errors of adjacent pixels.
            variance = np.sum(np.sum(deviations[region], axis=2) ** 2)
            sums = np.sum(theirs[:, *region], axis=(1, 2, 3))
            deviation = np.sqrt(variance + np.var(sums, ddof=1) / SEEDS) / np.mean(sums)
            return np.sum(ours[region]) / np.mean(sums) - 1, deviation

        blocks = []
        for rows in np.array_split(np.arange(ours.shape[0]), BLOCKS):
            for columns in np.array_split(np.arange(ours.shape[1]), BLOCKS):
                blocks.append(difference(np.ix_(rows, columns)))
        return np.array(blocks), difference((slice(None), slice(None)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--spp",
        type=int,
        default=256,
        help="samples per pixel of each Mitsuba image [default: 256]",
    )
    parser.add_argument("--case", nargs="+", default=CASES)
    options = parser.parse_args()
    suite = tomllib.loads((SCENES / "suite.toml").read_text())
    entries = {entry["name"]: entry for entry in suite["case"]}
    print("| case | entire image, r | blocks: rms r | largest r | mean σ | largest excess, σ |")
    print("|---|---:|---:|---:|---:|---:|", flush=True)
    worst = 0.0
    for name in options.case:
        with tempfile.TemporaryDirectory() as temporary:
            case = Case(entries[name], suite["defaults"], temporary)
            blocks, (image_r, image_deviation) = case.measure(options.spp)
        r, deviation = np.abs(blocks[:, 0]), blocks[:, 1]
        excess = max(0.0, np.max((r - LIMIT) / deviation))
        worst = max(worst, excess)
        rms = np.sqrt(np.mean(r**2))
        image = f"{100 * image_r:+.2f} ± {100 * image_deviation:.2f} %"
        blocks = " | ".join(f"{100 * x:.2f} %" for x in (rms, r.max(), deviation.mean()))
        print(f"| {name} | {image} | {blocks} | {excess:.1f} |", flush=True)
    sys.exit(int(worst > 4))


if __name__ == "__main__":
    main()
