"""Building blocks of `generate.py`: random numbers and noise, files (PNG, EXR, PLY), shapes, and
scene text.

Uses only Python's standard library. Its own random number generator makes scenes reproducible on
every platform. Conventions: Z is up, lengths are in metres, colours are linear RGB, and triangles
are counter-clockwise when seen from the front, the side that emits light.
"""
import gzip
import math
import os
import struct
import zlib

# ------------------------------------------------------------------------------------------ numbers


class Pcg:
    """PCG32 (O'Neill 2014): 64-bit LCG state, permuted 32-bit output."""

    def __init__(self, seed, stream=0):
        self.state, self.inc = 0, (stream << 1 | 1) & (2**64 - 1)
        self.bits()
        self.state = (self.state + seed) & (2**64 - 1)
        self.bits()

    def bits(self):
        """The next 32 random bits."""
        old = self.state
        self.state = (old * 6364136223846793005 + self.inc) & (2**64 - 1)
        x, rot = ((old >> 18 ^ old) >> 27) & 0xFFFFFFFF, old >> 59
        return (x >> rot | x << (-rot & 31)) & 0xFFFFFFFF

    def uniform(self, lo=0.0, hi=1.0):
        """A float in [lo, hi)."""
        return lo + (hi - lo) * (self.bits() >> 8) / 2**24

    def below(self, n):
        """An integer in [0, n)."""
        return self.bits() * n >> 32

    def shuffle(self, items):
        """Fisher–Yates, in place."""
        for i in range(len(items) - 1, 0, -1):
            j = self.below(i + 1)
            items[i], items[j] = items[j], items[i]


def add(a, b): return tuple(x + y for x, y in zip(a, b))
def sub(a, b): return tuple(x - y for x, y in zip(a, b))
def scale(a, s): return tuple(x * s for x in a)
def dot(a, b): return sum(x * y for x, y in zip(a, b))
def unit(a): return scale(a, 1 / math.sqrt(dot(a, a)))
def lerp(a, b, t): return tuple(x + (y - x) * t for x, y in zip(a, b))


def cross(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def smoothstep(lo, hi, x):
    """Cubic step from 0 at `lo` to 1 at `hi`; `lo` may be larger than `hi`."""
    t = min(1.0, max(0.0, (x - lo) / (hi - lo)))
    return t * t * (3 - 2 * t)


def lattice(ix, iy):
    """Hashes a lattice point to [0, 1), with integers only, so that all platforms agree."""
    h = (ix * 0x8DA6B343 ^ iy * 0xD8163841) & 0xFFFFFFFF
    h = (h ^ h >> 15) * 0x2C1B3C6D & 0xFFFFFFFF
    h = (h ^ h >> 12) * 0x297A2D39 & 0xFFFFFFFF
    return (h ^ h >> 15) / 2**32


def noise(x, y):
    """Value noise in [0, 1): `lattice`, smoothly interpolated."""
    ix, iy = math.floor(x), math.floor(y)
    u, v = smoothstep(0, 1, x - ix), smoothstep(0, 1, y - iy)
    a = lattice(ix, iy) * (1 - u) + lattice(ix + 1, iy) * u
    b = lattice(ix, iy + 1) * (1 - u) + lattice(ix + 1, iy + 1) * u
    return a * (1 - v) + b * v


def fbm(x, y, octaves=4):
    """Fractal noise in [0, 1): a normalised sum of octaves of `noise`."""
    total = sum(noise(x * 2**i + 17 * i, y * 2**i + 31 * i) * 0.5**i for i in range(octaves))
    return total / (2 - 0.5 ** (octaves - 1))


# -------------------------------------------------------------------------------------------- files


def write_bytes(path, data):
    """Writes a file; creates its folder if needed."""
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)


def write_png(path, rows):
    """Writes an 8-bit PNG. Pixels are in [0, 1]: floats for grey, stored linearly, or linear RGB
    triples, stored as sRGB.
    """

    def encode(c):
        return c * 12.92 if c <= 0.0031308 else 1.055 * c ** (1 / 2.4) - 0.055

    def byte(c):
        return int(min(1.0, max(0.0, c)) * 255 + 0.5)

    def chunk(kind, body):
        checksum = struct.pack(">I", zlib.crc32(kind + body))
        return struct.pack(">I", len(body)) + kind + body + checksum

    rgb = not isinstance(rows[0][0], float)
    raw = bytearray()
    for row in rows:
        raw.append(0)
        raw.extend([byte(encode(c)) for p in row for c in p] if rgb else [byte(p) for p in row])
    head = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 2 if rgb else 0, 0, 0, 0)
    pixels = zlib.compress(bytes(raw), 9)
    write_bytes(path, b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels)
                + chunk(b"IEND", b""))


def write_exr(path, rows):
    """Writes an OpenEXR with half-float RGB, in ZIP blocks of 16 scan lines. `rows` are from top to
    bottom, pixels are RGB triples.
    """
    w, h = len(rows[0]), len(rows)

    def attribute(name, kind, body):
        return name + b"\0" + kind + b"\0" + struct.pack("<i", len(body)) + body

    channels = b"".join(c + b"\0" + struct.pack("<iBBBBii", 1, 0, 0, 0, 0, 1, 1)
                        for c in (b"B", b"G", b"R")) + b"\0"
    window = struct.pack("<4i", 0, 0, w - 1, h - 1)
    head = b"\x76\x2f\x31\x01\x02\0\0\0" + attribute(b"channels", b"chlist", channels)
    head += attribute(b"compression", b"compression", b"\x03")
    head += attribute(b"dataWindow", b"box2i", window)
    head += attribute(b"displayWindow", b"box2i", window)
    head += attribute(b"lineOrder", b"lineOrder", b"\0")
    head += attribute(b"pixelAspectRatio", b"float", struct.pack("<f", 1))
    head += attribute(b"screenWindowCenter", b"v2f", struct.pack("<2f", 0, 0))
    head += attribute(b"screenWindowWidth", b"float", struct.pack("<f", 1)) + b"\0"
    blocks = []
    for y0 in range(0, h, 16):
        raw = b"".join(struct.pack("<%de" % w, *(p[c] for p in row))
                       for row in rows[y0:y0 + 16] for c in (2, 1, 0))
        # The ZIP codec separates low and high bytes, then stores differences of neighbours.
        split = raw[0::2] + raw[1::2]
        differences = bytes((b - a + 128) & 255 for a, b in zip(split, split[1:]))
        delta = split[:1] + differences
        packed = zlib.compress(delta, 9)
        packed = packed if len(packed) < len(raw) else raw
        blocks.append(struct.pack("<ii", y0, len(packed)) + packed)
    offset, table = len(head) + 8 * len(blocks), b""
    for b in blocks:
        table, offset = table + struct.pack("<Q", offset), offset + len(b)
    write_bytes(path, head + table + b"".join(blocks))


class Mesh:
    """An indexed triangle mesh: positions `p`, faces `f`, and optional normals `n` and coordinates
    `uv`.
    """

    def __init__(self, p=(), f=(), n=(), uv=()):
        self.p, self.f, self.n, self.uv = list(p), list(f), list(n), list(uv)

    def join(self, other):
        """Appends a mesh with the same vertex attributes; returns `self`."""
        base = len(self.p)
        self.p += other.p
        self.n += other.n
        self.uv += other.uv
        self.f += [tuple(i + base for i in t) for t in other.f]
        return self

    def write_ply(self, path):
        """Writes a binary little-endian PLY, compressed if the name ends in .gz."""
        columns = "x y z" + (" nx ny nz" if self.n else "") + (" u v" if self.uv else "")
        head = "ply\nformat binary_little_endian 1.0\nelement vertex %d\n" % len(self.p)
        head += "".join("property float %s\n" % c for c in columns.split())
        head += "element face %d\n" % len(self.f)
        head += "property list uchar int vertex_indices\nend_header\n"
        body = bytearray(head.encode())
        for i, p in enumerate(self.p):
            row = p + (self.n[i] if self.n else ()) + (self.uv[i] if self.uv else ())
            body += struct.pack("<%df" % len(row), *row)
        for t in self.f:
            body += struct.pack("<B3i", 3, *t)
        data = bytes(body)
        write_bytes(path, gzip.compress(data, 9, mtime=0) if path.endswith(".gz") else data)


# ------------------------------------------------------------------------------------------- shapes


def lathe(pieces, nu, radius=lambda phi, z: 1.0):
    """Surface of revolution about Z.

    The profile consists of `pieces`, each a smooth run of (r, z), with creases between pieces. It
    runs from bottom to top, with the outside on the right. u runs around the axis and v along the
    profile. `radius` scales r by angle and height.
    """
    mesh, total, done = Mesh(), 0.0, 0.0
    for piece in pieces:
        total += sum(math.dist(a, b) for a, b in zip(piece, piece[1:]))
    for piece in pieces:
        part, last = Mesh(), len(piece) - 1
        for i, (r, z) in enumerate(piece):
            if i > 0:
                done += math.dist(piece[i - 1], piece[i])
            (r0, z0), (r1, z1) = piece[max(0, i - 1)], piece[min(last, i + 1)]
            for j in range(nu + 1):
                phi = 2 * math.pi * (j % nu) / nu
                c, s, k = math.cos(phi), math.sin(phi), radius(phi, z)
                part.p.append((r * k * c, r * k * s, z))
                # ∂/∂φ × ∂/∂profile, with the angular modulation differenced
                dk = (radius(phi + 1e-3, z) - radius(phi - 1e-3, z)) / 2e-3
                nr, nt = (z1 - z0) * k, -(z1 - z0) * dk
                n = (nr * c - nt * s, nr * s + nt * c, -(r1 - r0) * k * k)
                part.n.append(unit(n) if dot(n, n) > 1e-20 else (0.0, 0.0, 1.0))
                part.uv.append((j / nu, done / total))
        for i in range(last):
            for j in range(nu):
                a, b = i * (nu + 1) + j, (i + 1) * (nu + 1) + j
                if piece[i][0] > 1e-9:
                    part.f.append((a, a + 1, b + 1))
                if piece[i + 1][0] > 1e-9:
                    part.f.append((a, b + 1, b))
        mesh.join(part)
    return mesh


def arc(cr, cz, radius, a0, a1, n):
    """Piece of a profile: n + 1 points on a circle around (cr, cz), from angle a0 to a1 in degrees;
    0 points outwards.
    """
    angles = [math.radians(a0 + (a1 - a0) * i / n) for i in range(n + 1)]
    return [(max(0.0, cr + radius * math.cos(a)) if abs(cr + radius * math.cos(a)) > 1e-9 else 0.0,
             cz + radius * math.sin(a)) for a in angles]


def box(lo, hi, turn=0.0, pivot=None):
    """A closed box from `lo` to `hi`, rotated by `turn` degrees about a vertical axis through
    `pivot`, by default its centre.
    """
    px, py = pivot or ((lo[0] + hi[0]) / 2, (lo[1] + hi[1]) / 2)
    c, s = math.cos(math.radians(turn)), math.sin(math.radians(turn))
    p = []
    for z in (lo[2], hi[2]):
        for y in (lo[1], hi[1]):
            for x in (lo[0], hi[0]):
                p.append((px + c * (x - px) - s * (y - py), py + s * (x - px) + c * (y - py), z))
    sides = ((0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5))
    return Mesh(p, [t for a, b, d, e in sides for t in ((a, b, d), (a, d, e))])


def quad(a, b, c, d):
    """Two triangles; a, b, c, d are counter-clockwise when seen from the front."""
    return Mesh([a, b, c, d], [(0, 1, 2), (0, 2, 3)])


# --------------------------------------------------------------------------------------- scene text


def num(x):
    """Formats a number with five significant digits; values below 1e-9 become 0."""
    return "0" if abs(x) < 1e-9 else "%.5g" % x


def nums(values):
    """Numbers separated by spaces."""
    return " ".join(num(x) for x in values)


def points(ps):
    """Points separated by spaces."""
    return "  ".join(nums(p) for p in ps)


class Text:
    """A scene file under construction.

    `medium` is a medium around the camera, which `before` defines.
    """

    def __init__(self, name, about, eye, target, fov, width, height, spp, depth, camera="",
                 integrator='"path"', before=None, medium=None):
        self.lines = [
            "# %s: %s" % (name, about),
            "# Written by scenes/generate.py; CC0.",
            *([before] if before else []),
            *(['MediumInterface "" "%s"' % medium] if medium else []),
            "Scale -1 1 1  # camera space is left-handed: this keeps right on the right",
            "LookAt %s  %s  0 0 1" % (nums(eye), nums(target)),
            'Camera "perspective" "float fov" [%s]%s' % (num(fov), camera),
            'Film "rgb" "integer xresolution" [%d] "integer yresolution" [%d]'
            ' "string filename" ["%s.exr"]' % (width, height, name),
            'Sampler "zsobol" "integer pixelsamples" [%d]' % spp,
            'Integrator %s "integer maxdepth" [%d]' % (integrator, depth),
            "WorldBegin",
            "",
        ]

    def put(self, *lines):
        """Appends lines unchanged."""
        self.lines += lines

    def block(self, *lines):
        """Appends lines between AttributeBegin and AttributeEnd."""
        self.put("AttributeBegin", *("  " + x for x in lines), "AttributeEnd")

    def diffuse(self, **colours):
        """Defines named diffuse materials."""
        for name, rgb in colours.items():
            self.put('MakeNamedMaterial "%s" "string type" ["diffuse"] "rgb reflectance" [%s]'
                     % (name, nums(rgb)))

    def shader(self, name, file, *parameters):
        """Defines a named material with a shader; each item of `parameters` gets a line."""
        self.put('MakeNamedMaterial "%s" "string type" ["shader"] "string filename" ["%s"]'
                 % (name, file), *("  " + p for p in parameters))

    def object(self, name, material, *shapes):
        """Defines an object for instances."""
        self.put('ObjectBegin "%s"' % name, '  NamedMaterial "%s"' % material,
                 *("  " + x for x in shapes), "ObjectEnd")

    def mesh(self, material, mesh):
        """Appends a small mesh, inline."""
        self.put('NamedMaterial "%s"' % material, triangles(mesh))

    def write(self, path):
        """Writes the file."""
        write_bytes(path, ("\n".join(self.lines) + "\n").encode())


def triangles(mesh):
    """A triangle mesh, inline."""
    return 'Shape "trianglemesh" "integer indices" [%s] "point3 P" [%s]' % (
        "  ".join("%d %d %d" % t for t in mesh.f), points(mesh.p))


def ply(name):
    """A mesh from a file beside the scene."""
    return 'Shape "plymesh" "string filename" ["%s"]' % name


def panel(centre, target, width, height):
    """A rectangle facing `target`, as one bilinear patch."""
    n = unit(sub(target, centre))
    u = unit(cross((0.0, 0.0, 1.0), n))
    u, v = scale(u, width / 2), scale(cross(n, u), height / 2)
    corners = [sub(sub(centre, u), v), sub(add(centre, u), v), add(sub(centre, u), v),
               add(add(centre, u), v)]
    return 'Shape "bilinearmesh" "integer indices" [0 1 2 3] "point3 P" [%s]' % points(corners)


def emit(rgb):
    """An area light with radiance `rgb`, for the shapes that follow in the block."""
    return 'AreaLightSource "diffuse" "rgb L" [%s]' % nums(rgb)
