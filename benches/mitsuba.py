#!/usr/bin/env python3
"""Compares Lightbound with Mitsuba 3 (`scalar_rgb`) on scenes that are equivalent in both.

    python -m venv mi && mi/bin/pip install mitsuba numpy OpenEXR
    mi/bin/python benches/mitsuba.py --peers DIR --lightbound target/release/lightbound

DIR is the peer harness: `scenes.py` generates renderer-neutral scenes and writes them as pbrt-v4,
and `workers/mitsuba_worker.py` builds them in Mitsuba. Each renderer renders every scene with
several seeds. The image is divided into a grid of blocks. The relative difference of block means,
r = ours / Mitsuba − 1, is compared with a limit and with its noise. The variance σ² of r is
estimated from the seeds, pixel by pixel; two seeds suffice, since a block has many pixels. It is
Σ over both renderers of Σ s² / (K n² mean²), with K seeds, n pixels in the block, and s² the
sample variance of a pixel over the seeds. This assumes that the errors of different pixels are
independent, so the scenes use a box filter and independent samples.

A block misses the limit if |r| > limit. The miss is *significant* if |r| > limit + 4 σ. Verdict
for a scene:
    PASS       no block misses the limit
    UNDECIDED  some blocks do, but noise may explain it: increase --spp, or use larger blocks
    FAIL       some blocks miss significantly: the renderers disagree
Without --lightbound, Mitsuba also renders our images, with other seeds. All differences are then
noise, which tests this script.

Exit codes: 0 if every scene passed, 1 if one did not, 2 if the options are invalid or a renderer
failed. Not part of CI.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np


class BenchError(Exception):
    """A renderer or a file failed; the message says which."""


class Mitsuba:
    """A worker process of the harness that renders one scene."""

    def __init__(self, peers, scene, resolution, threads, folder):
        worker = os.path.join(peers, "workers", "mitsuba_worker.py")
        self.log = open(os.path.join(folder, "mitsuba.log"), "w+")
        self.process = subprocess.Popen(
            [sys.executable, worker],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
        )
        self.image = os.path.join(folder, "mitsuba.npy")
        self.request(cmd="load", scene=scene, res=resolution, variant="scalar_rgb", threads=threads)

    def request(self, **job):
        """Sends a job and waits for the reply."""
        try:
            self.process.stdin.write(json.dumps(job) + "\n")
            self.process.stdin.flush()
            reply = json.loads(self.process.stdout.readline())
        except (OSError, ValueError) as e:
            self.log.seek(0)
            raise BenchError("the Mitsuba worker exited early:\n" + self.log.read()[-2000:]) from e
        if "error" in reply:
            raise BenchError("Mitsuba: " + reply["error"])
        return reply

    def render(self, spp, seed):
        """Returns an image (rows, columns, RGB) and CPU seconds."""
        reply = self.request(cmd="render", spp=spp, seed=seed, out=self.image)
        return np.load(self.image).astype(np.float64), reply["cpu"]

    def close(self):
        """Closes the worker's input, which makes it exit."""
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.log.close()


class Lightbound:
    """Runs our binary on the pbrt-v4 export of a scene."""

    def __init__(self, binary, scene_file, threads, folder):
        self.binary, self.scene, self.threads = binary, scene_file, threads
        self.image, self.stats = os.path.join(folder, "ours.exr"), os.path.join(folder, "ours.json")

    def render(self, spp, seed):
        """Returns an image (rows, columns, RGB) and CPU seconds."""
        command = [
            self.binary,
            "render",
            self.scene,
            "--spp",
            str(spp),
            "--seed",
            str(seed),
            "--threads",
            str(self.threads),
            "-o",
            self.image,
            "--stats",
            self.stats,
            "--quiet",
        ]
        try:
            subprocess.run(command, check=True, stderr=subprocess.PIPE, text=True)
        except OSError as e:
            raise BenchError("cannot run %s: %s" % (self.binary, e)) from e
        except subprocess.CalledProcessError as e:
            message = "%s\nexited with %d:\n%s"
            message %= (" ".join(command), e.returncode, e.stderr[-2000:])
            raise BenchError(message) from e
        with open(self.stats) as f:
            return read_exr(self.image), json.load(f)["render_cpu_seconds"]

    def close(self):
        """Does nothing, since no process outlives a render."""


def read_exr(path):
    """Reads channels R, G and B of the first part that has them."""
    import OpenEXR

    with OpenEXR.File(path, separate_channels=True) as f:
        for i, part in enumerate(f.parts):
            channels = f.channels(i)
            if all(c in channels for c in "RGB"):
                return np.stack([np.asarray(channels[c].pixels, np.float64) for c in "RGB"], -1)
    raise BenchError("%s has no channels R, G and B" % path)


def block_means(values, blocks):
    """Averages the last two axes of pixel values over a blocks × blocks grid."""
    h, w = values.shape[-2] // blocks, values.shape[-1] // blocks
    return values.reshape(values.shape[:-2] + (blocks, h, blocks, w)).mean((-3, -1))


def compare(ours, theirs, blocks, limit):
    """Compares two stacks of images, one image per seed.

    Prints statistics and returns the verdict.
    """
    a, b = (np.array(stack).mean(-1) for stack in (ours, theirs))  # seed, row, column
    mean_a, mean_b = (block_means(v.mean(0), blocks) for v in (a, b))
    pixels = a.shape[1] * a.shape[2] // blocks**2
    variance = sum(block_means(v.var(0, ddof=1), blocks) / (len(v) * pixels) for v in (a, b))
    lit = mean_b > 0.02 * mean_b.mean()  # ratios are meaningless in black blocks
    dark = float(np.abs(mean_a - mean_b)[~lit].max(initial=0.0) / mean_b.mean())
    r = mean_a[lit] / mean_b[lit] - 1
    sigma = np.sqrt(variance[lit]) / mean_b[lit]
    rms, noise = np.sqrt(np.mean(r**2)), np.sqrt(np.mean(sigma**2))
    z = r / np.maximum(sigma, 1e-12)
    worst = int(np.abs(r).argmax())
    y, x = (int(v[worst]) for v in np.nonzero(lit))
    channel_a, channel_b = (np.mean(stack, axis=(0, 1, 2)) for stack in (ours, theirs))

    def signed(v):
        return "%+.3f %%" % (100 * v)

    def percent(v):
        return "%.3f %%" % (100 * v)

    differences = "  ".join(signed(v) for v in channel_a / channel_b - 1)
    print(
        "  image mean    ours %s  theirs %s  difference %s"
        % (channel_a.round(5), channel_b.round(5), differences)
    )
    print(
        "  blocks        %d × %d, %d lit; in dark blocks, difference up to %s of the image mean"
        % (blocks, blocks, lit.sum(), percent(dark))
    )
    print(
        "  difference    mean %s  rms %s  max %s (block row %d, column %d)"
        % (signed(r.mean()), percent(rms), signed(r[worst]), y, x)
    )
    print(
        "  noise         rms %s, σ of the mean %s, block σ median %s, largest %s"
        % (
            percent(noise),
            percent(np.sqrt(np.sum(sigma**2)) / len(sigma)),
            percent(np.median(sigma)),
            percent(sigma.max()),
        )
    )
    print(
        "  beyond noise  rms %s; r/σ: mean %+.2f, rms %.2f, max %.2f"
        % (
            percent(np.sqrt(max(0.0, rms**2 - noise**2))),
            z.mean(),
            np.sqrt(np.mean(z**2)),
            np.abs(z).max(),
        )
    )
    missed = int((np.abs(r) > limit).sum())
    significant = int((np.abs(r) > limit + 4 * sigma).sum())
    verdict = "FAIL" if significant or dark > limit else "UNDECIDED" if missed else "PASS"
    print(
        "  %s: %d of %d blocks differ by more than %.2g %%, %d significantly"
        % (verdict, missed, len(r), 100 * limit, significant)
    )
    if verdict == "UNDECIDED":
        print(
            "  needs about %.2g times as many samples for half of the blocks, %.2g times for all"
            % tuple((4 * s / limit) ** 2 for s in (np.median(sigma), sigma.max()))
        )
    return verdict


def bench(scene, args, folder):
    """Renders one scene with both renderers and compares the images."""
    sys.path.insert(0, args.peers)
    import scenes  # from the harness

    os.makedirs(folder)
    theirs = Mitsuba(args.peers, scene, args.resolution, args.threads, folder)
    ours = theirs
    if args.lightbound:
        exported = scenes.to_pbrt(
            scenes.make(scene, args.resolution), os.path.join(folder, "pbrt"), args.spp
        )
        ours = Lightbound(args.lightbound, exported, args.threads, folder)
    try:
        stacks, seconds = ([], []), [0.0, 0.0]
        for seed in range(1, args.seeds + 1):
            for k, (renderer, s) in enumerate(((ours, seed), (theirs, seed + 1000))):
                image, cpu = renderer.render(args.spp, s)
                if (
                    image.shape != (args.resolution, args.resolution, 3)
                    or not np.isfinite(image).all()
                ):
                    message = "%s: image %d of %s is not finite or has shape %s"
                    message %= (scene, seed, ("Lightbound", "Mitsuba")[k], image.shape)
                    raise BenchError(message)
                stacks[k].append(image)
                seconds[k] += cpu
    finally:
        theirs.close()
    samples = args.resolution**2 * args.spp * args.seeds / 1e6
    rates = (samples / max(s, 1e-9) for s in seconds)
    print(
        "%s: %d × %d pixels, %d samples, %d seeds each; "
        "million samples per core-second: ours %.2f, Mitsuba %.2f"
        % (scene, args.resolution, args.resolution, args.spp, args.seeds, *rates)
    )
    return compare(*stacks, args.blocks, args.limit / 100)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--peers",
        required=True,
        metavar="DIR",
        help="folder of the harness, with scenes.py and workers/",
    )
    parser.add_argument(
        "--lightbound", metavar="BIN", help="Lightbound's binary (default: Mitsuba against itself)"
    )
    parser.add_argument(
        "--scenes", nargs="+", default=["cornell-diffuse", "envlit-diffuse"], metavar="NAME"
    )
    parser.add_argument(
        "--spp", type=int, default=1024, help="samples per pixel and seed (default 1024)"
    )
    parser.add_argument(
        "--seeds",
        type=int,
        default=2,
        help="images of each scene by each renderer, at least 2 (default 2)",
    )
    parser.add_argument(
        "--resolution", type=int, default=128, help="pixels along each side (default 128)"
    )
    parser.add_argument(
        "--blocks", type=int, default=16, help="blocks along each side (default 16)"
    )
    parser.add_argument(
        "--limit", type=float, default=0.5, help="limit of |r|, in percent (default 0.5)"
    )
    parser.add_argument(
        "--threads",
        type=int,
        default=os.cpu_count(),
        help="threads of each renderer (default: all)",
    )
    args = parser.parse_args()
    args.peers = os.path.abspath(args.peers)
    if not os.path.isfile(os.path.join(args.peers, "scenes.py")):
        parser.error("--peers %s: the folder has no scenes.py" % args.peers)
    if min(args.spp, args.blocks, args.resolution) < 1 or args.seeds < 2:
        parser.error("--seeds must be at least 2; --spp, --blocks and --resolution at least 1")
    if args.resolution % args.blocks:
        parser.error("--resolution must be a multiple of --blocks")
    with tempfile.TemporaryDirectory() as folder:
        try:
            verdicts = [bench(scene, args, os.path.join(folder, scene)) for scene in args.scenes]
        except BenchError as e:
            parser.error(str(e))
    sys.exit(0 if all(v == "PASS" for v in verdicts) else 1)


if __name__ == "__main__":
    main()
