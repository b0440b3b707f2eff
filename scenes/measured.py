#!/usr/bin/env python3
"""Writes the measured materials of `suite/measured.pbrt`.

    python3 scenes/measured.py

The files have the format of the RGL material database (Dupuy and Jakob 2018), in RGB, which
Mitsuba 3 reads, too. They tabulate a BRDF given by a formula: GGX microfacets over a diffuse base.
Needs only Python 3.8 and `kit.py`. Equal runs give equal files. All output is CC0.
"""
import math
import os
import struct
import sys

sys.dont_write_bytecode = True
from kit import dot, scale, sub, write_bytes  # noqa: E402

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "suite")


def tensor_file(fields):
    """Bytes of a tensor file. `fields` has names, shapes, and lists of floats or bytes."""
    head, offset = b"tensor_file\0\1\0" + struct.pack("<I", len(fields)), 18
    offset += sum(2 + len(name) + 11 + 8 * len(shape) for name, shape, _ in fields)
    body = b""
    for name, shape, data in fields:
        is_bytes = isinstance(data, bytes)
        head += struct.pack("<H", len(name)) + name.encode()
        head += struct.pack("<HBQ", len(shape), 1 if is_bytes else 10, offset + len(body))
        head += struct.pack("<%dQ" % len(shape), *shape)
        body += data if is_bytes else struct.pack("<%df" % len(data), *data)
    return head + body


def direction(theta, phi):
    s = math.sin(theta)
    return (s * math.cos(phi), s * math.sin(phi), math.cos(theta))


def axis(n, first, last, power=1):
    return [first + (last - first) * (k / (n - 1)) ** power for k in range(n)]


def quantile(a, b, mass):
    """Where the integral of a function over [0, 1], linear from a to b, reaches `mass`."""
    return 2 * mass / max(a + math.sqrt(max(a * a - 2 * mass * (a - b), 0)), 1e-30)


def find(sums, target):
    """The last interval of increasing `sums` that begins below `target`."""
    k = 0
    while k < len(sums) - 2 and sums[k + 1] < target:
        k += 1
    return k


class Warp:
    """Samples points in proportion to a bilinear grid."""

    def __init__(self, values):
        self.values = values
        self.rows = [[0.0] for _ in values]
        for row, sums in zip(values, self.rows):
            for a, b in zip(row, row[1:]):
                sums.append(sums[-1] + (a + b) / 2)
        self.above = [0.0]
        for a, b in zip(self.rows, self.rows[1:]):
            self.above.append(self.above[-1] + (a[-1] + b[-1]) / 2)

    def sample(self, u, v):
        target = v * self.above[-1]
        i = find(self.above, target)
        a, b = self.rows[i], self.rows[i + 1]
        y = quantile(a[-1], b[-1], target - self.above[i])
        sums = [p + (q - p) * y for p, q in zip(a, b)]
        target = u * sums[-1]
        j = find(sums, target)
        low, high = ([r[j] for r in self.values[i:i + 2]], [r[j + 1] for r in self.values[i:i + 2]])
        left, right = low[0] + (low[1] - low[0]) * y, high[0] + (high[1] - high[0]) * y
        x = min(1.0, quantile(left, right, target - sums[j]))
        return (j + x) / (len(sums) - 1), (i + min(1.0, y)) / (len(self.values) - 1)


class Material:
    """GGX microfacets with constant reflectance over a diffuse base."""

    def __init__(self, alpha, reflectance, diffuse):
        self.alpha, self.reflectance, self.diffuse = alpha, reflectance, diffuse
        self.isotropic = alpha[0] == alpha[1]

    def length(self, w):
        return math.hypot(self.alpha[0] * w[0], self.alpha[1] * w[1], w[2])

    def density(self, h):
        x, y = self.alpha
        r = (h[0] / x) ** 2 + (h[1] / y) ** 2 + h[2] ** 2
        return 1 / (math.pi * x * y * r * r)

    def area(self, w):
        return (w[2] + self.length(w)) / 2

    def facet(self, x, y, phi):
        """The normal at a point of the unit square, and the Jacobian."""
        theta = x * x * math.pi / 2
        turn = phi if self.isotropic else 0.0
        h = direction(theta, 2 * math.pi * (y - 0.5) + turn)
        return h, 2 * math.pi ** 2 * x * math.sin(theta)

    def colour(self, wo, h):
        """BRDF × cosine, divided by D/(4σ)."""
        wi = sub(scale(h, 2 * dot(wo, h)), wo)
        if wi[2] <= 0:
            return (0.0, 0.0, 0.0)
        masking = 2 * wi[2] / (wo[2] * self.length(wi) + wi[2] * self.length(wo))
        # The diffuse base fades where facets are rare, since the quotient is unbounded.
        base = 4 * wi[2] / math.pi / (self.density(h) + 0.2)
        return tuple((r * masking + d * base) * self.area(wo)
                     for r, d in zip(self.reflectance, self.diffuse))

    def file(self, phi, theta, n, m):
        """A file with colours of n × n values and visible normals of m × m."""
        grid = lambda k: [(x / (k - 1), y / (k - 1)) for y in range(k) for x in range(k)]
        vndf, rgb, luminance = [], [], []
        for azimuth in phi:
            for polar in theta:
                wo = direction(min(polar, 1.5707), azimuth)
                visible = []
                for x, y in grid(m):
                    h, jacobian = self.facet(x, y, azimuth)
                    area = self.density(h) * max(dot(wo, h), 0) / self.area(wo)
                    visible.append(area * jacobian)
                vndf += visible
                warp = Warp([visible[k * m:k * m + m] for k in range(m)])
                colours = [self.colour(wo, self.facet(*warp.sample(x, y), azimuth)[0])
                           for x, y in grid(n)]
                rgb += [c[k] for k in range(3) for c in colours]
                luminance += [dot(c, (0.2126, 0.7152, 0.0722)) for c in colours]
        normals = [self.facet(x, y, 0.0)[0] for x, y in grid(m)]
        count = [len(phi), len(theta)]
        return tensor_file([
            ("description", [4], b"test"),
            ("jacobian", [1], b"\1"),
            ("phi_i", count[:1], phi),
            ("theta_i", count[1:], theta),
            ("ndf", [m, m], [self.density(h) for h in normals]),
            ("sigma", [m, m], [self.area(h) for h in normals]),
            ("vndf", count + [m, m], vndf),
            ("luminance", count + [n, n], luminance),
            ("rgb", count + [3, n, n], rgb),
        ])


def main():
    polar = math.pi / 2
    files = {
        "bronze": Material((0.3, 0.3), (0.7, 0.4, 0.15), (0.05, 0.03, 0.1)).file(
            [0.0], axis(8, 0, polar, 2), 24, 32),
        # Symmetric under half a turn.
        "satin": Material((0.12, 0.4), (0.25, 0.3, 0.6), (0.2, 0.02, 0.05)).file(
            axis(6, -math.pi, 0), axis(5, 0, polar, 2), 14, 20),
    }
    for name, data in files.items():
        write_bytes(os.path.join(FOLDER, name + ".bsdf"), data)
        print("wrote %s.bsdf, %d bytes" % (name, len(data)))


if __name__ == "__main__":
    main()
