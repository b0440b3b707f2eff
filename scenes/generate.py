#!/usr/bin/env python3
"""Writes the scenes of this folder with their meshes, textures and environment maps.

    python3 scenes/generate.py                           every scene, next to this script
    python3 scenes/generate.py skylight --trees 4000     one scene, with other parameters
    python3 scenes/generate.py many-lights --lights 20000 --seed 7 -o town.pbrt

Needs only Python 3.8 and `kit.py`. Equal arguments give equal scenes. All output is CC0.
"""
import argparse
import math
import os
import sys

sys.dont_write_bytecode = True  # keep __pycache__ out of the scenes' folder
from kit import (  # noqa: E402
    Mesh, Pcg, Text, add, arc, box, cross, dot, emit, fbm, lathe, lattice, lerp, noise, num, nums,
    panel, ply, points, quad, scale, smoothstep, triangles, unit, write_bytes, write_exr, write_png)

# ------------------------------------------------------------------------------------ shared parts


def sample_image(width, height, fn):
    """Rows of fn(u, v) at pixel centres, with v up."""
    return [[fn((x + 0.5) / width, 1 - (y + 0.5) / height) for x in range(width)]
            for y in range(height)]


def soft_boxes(t, *lights):
    """Rectangular area lights. Arguments: centre, target, width, height and radiance of each."""
    for centre, target, width, height, rgb in lights:
        t.block(emit(rgb), 'NamedMaterial "black"', panel(centre, target, width, height))


# -------------------------------------------------------------------------------------- cornell-box


def cornell_box(folder, _):
    t = Text("cornell-box", "two boxes in a room with coloured walls, one lamp in the ceiling",
             (0, -4.9, 1.15), (0, 0, 1.15), 34, 512, 512, 256, 8)
    w, h = 1.2, 2.3
    t.diffuse(plaster=(0.74, 0.72, 0.68), clay=(0.62, 0.13, 0.07), sea=(0.1, 0.32, 0.42),
              black=(0, 0, 0))
    shell = quad((-w, -w, 0), (w, -w, 0), (w, w, 0), (-w, w, 0))
    shell.join(quad((-w, -w, h), (-w, w, h), (w, w, h), (w, -w, h)))
    shell.join(quad((-w, w, 0), (w, w, 0), (w, w, h), (-w, w, h)))
    shell.join(box((-0.85, 0.05, 0), (-0.13, 0.77, 1.42), 19))
    shell.join(box((0.15, -0.75, 0), (0.83, -0.07, 0.62), -17))
    t.mesh("plaster", shell)
    t.mesh("clay", quad((-w, -w, 0), (-w, w, 0), (-w, w, h), (-w, -w, h)))
    t.mesh("sea", quad((w, -w, 0), (w, -w, h), (w, w, h), (w, w, 0)))
    z = h - 0.01
    lamp = quad((-0.32, -0.26, z), (-0.32, 0.26, z), (0.32, 0.26, z), (0.32, -0.26, z))
    t.block(emit((23, 19, 14)), 'NamedMaterial "black"', triangles(lamp))
    t.write(os.path.join(folder, "scene.pbrt"))


# ---------------------------------------------------------------------------------------- materials


def pawn():
    """A chess pawn, 1.32 m tall before scaling, with its foot on the ground."""
    body = [(0.13 + 0.21 * (1 - i / 20) ** 2.2, 0.16 + 0.62 * i / 20) for i in range(21)]
    start = -90 + math.degrees(math.asin(0.15 / 0.26))
    return lathe([
        [(0.0, 0.0), (0.4, 0.0)], arc(0.4, 0.08, 0.08, -90, 90, 12), [(0.4, 0.16), (0.34, 0.16)],
        body, [(0.13, 0.78), (0.24, 0.8)], arc(0.24, 0.83, 0.03, -90, 90, 8),
        [(0.24, 0.86), (0.15, 0.86)], arc(0.0, 1.06, 0.26, start, 90, 24),
    ], 64)


def glaze(u, v):
    """Colour of a pottery glaze: bands with wavy edges, and speckles. Periodic in u."""
    wave = v + 0.02 * math.sin(2 * math.pi * 9 * u)
    if wave * 7 % 1 < 0.55:
        colour = (0.72, 0.66, 0.52)
    else:
        colour = (0.05, 0.16, 0.34) if int(wave * 7) % 2 else (0.55, 0.16, 0.05)
    return scale(colour, 0.75 + 0.25 * lattice(int(u * 256), int(v * 128)))


def holes(u, v):
    """Opacity with round holes on a staggered grid, of equal size at every latitude; 1 is solid."""
    row = math.floor(v * 9)
    ring = max(1, round(18 * math.sin(math.pi * (row + 0.5) / 9)))
    x, y = (u * ring + 0.5 * (row % 2)) % 1 - 0.5, v * 9 % 1 - 0.5
    return 0.0 if x * x + y * y < 0.34**2 else 1.0


def materials(folder, _):
    file = lambda name: os.path.join(folder, name)
    pawn().write_ply(file("pawn.ply.gz"))
    lathe([arc(0.0, 0.0, 0.45, -90, 90, 32)], 64).write_ply(file("shell.ply"))
    write_png(file("glaze.png"), sample_image(256, 128, glaze))
    write_png(file("holes.png"), sample_image(512, 256, holes))

    eye, target = (0.0, -11.5, 4.0), (0.0, -0.15, 0.78)
    focus = num(math.dist(eye, (0, -1.1, 0.45)))
    t = Text("materials", "metals, glass and paint under soft boxes", eye, target, 21.5, 640, 360,
             512, 16, ' "float lensradius" [0.05] "float focaldistance" [%s]' % focus)
    t.put('LightSource "infinite" "rgb L" [0.12 0.13 0.15]', "")
    t.put('Texture "checks" "float" "checkerboard" "float uscale" [16] "float vscale" [22]'
          ' "float tex1" [0] "float tex2" [1]',
          'Texture "chess" "spectrum" "mix" "rgb tex1" [0.75 0.7 0.6] "rgb tex2" [0.09 0.05 0.04]'
          ' "texture amount" ["checks"]',
          'Texture "glaze" "spectrum" "imagemap" "string filename" ["glaze.png"]'
          ' "string filter" ["bilinear"]',
          'Texture "glazed" "spectrum" "scale" "texture tex" ["glaze"] "float scale" [0.95]',
          'Texture "holes" "float" "imagemap" "string filename" ["holes.png"]'
          ' "string encoding" ["linear"] "string filter" ["bilinear"]',
          "")

    def named(name, kind, *parameters):
        t.put(" ".join(['MakeNamedMaterial "%s" "string type" ["%s"]' % (name, kind), *parameters]))

    def metal(name, symbol, au, av):
        named(name, "conductor",
              '"spectrum eta" ["metal-%s-eta"] "spectrum k" ["metal-%s-k"]' % (symbol, symbol),
              '"float uroughness" [%s] "float vroughness" [%s]' % (num(au), num(av)),
              '"bool remaproughness" [false]')

    t.diffuse(backdrop=(0.4, 0.42, 0.45), clay=(0.65, 0.16, 0.07), enamel=(0.55, 0.58, 0.62),
              black=(0, 0, 0))
    named("chess", "diffuse", '"texture reflectance" ["chess"]')
    named("glazed", "diffuse", '"texture reflectance" ["glazed"]')
    metal("silver", "Ag", 0, 0)
    metal("gold", "Au", 0, 0)
    metal("satin gold", "Au", 0.2, 0.2)
    metal("satin copper", "Cu", 0.09, 0.09)
    metal("brushed aluminium", "Al", 0.04, 0.35)
    named("glass", "dielectric", '"float eta" [1.5]')
    named("frosted glass", "dielectric", '"float eta" [1.5] "float roughness" [0.15]',
          '"bool remaproughness" [false]')
    named("bubble", "thindielectric", '"float eta" [1.33]')
    t.put("")

    # A floor that bends up into a wall. The profile holds y, z and the shading normal.
    profile = [(-14.0, 0.0, 0, 1)]
    for i in range(17):
        a = math.radians(90 * i / 16)
        c, s = math.cos(a), math.sin(a)
        profile.append((3.0 + 3.0 * s, 3.0 - 3.0 * c, -s, c))
    profile.append((6.0, 12.0, -1, 0))
    patches = "  ".join("%d %d %d %d" % (2 * i, 2 * i + 1, 2 * i + 2, 2 * i + 3)
                        for i in range(len(profile) - 1))
    t.put('NamedMaterial "backdrop"', 'Shape "bilinearmesh" "integer indices" [%s]' % patches,
          '  "point3 P" [%s]' % points([(x, y, z) for y, z, _, _ in profile for x in (-16, 16)]),
          '  "normal N" [%s]' % points([(0, ny, nz) for _, _, ny, nz in profile for _ in (0, 1)]),
          "")

    for i, m in enumerate(("chess", "satin copper", "brushed aluminium", "gold", "glass")):
        t.block("Translate %s 0.75 0" % num((i - 2) * 1.5), "Rotate %d 0 0 1" % (37 * i),
                "Scale 1.42 1.42 1.42", 'NamedMaterial "%s"' % m, ply("pawn.ply.gz"))
    balls = ("glazed", "silver", "frosted glass", None, "satin gold", "glass", "bubble")
    for i, m in enumerate(balls):
        place = "Translate %s %s 0.4501" % (num((i - 3) * 1.08), num(-1.05 - 0.12 * (i % 2)))
        if m:
            t.block(place, "Rotate 20 1 0 0", 'NamedMaterial "%s"' % m,
                    'Shape "sphere" "float radius" [0.45]')
        else:
            t.block(place, "Rotate 24 1 0 0", "Rotate 13 0 1 0", 'NamedMaterial "enamel"',
                    'Shape "plymesh" "string filename" ["shell.ply"] "texture alpha" ["holes"]',
                    'NamedMaterial "clay"', 'Shape "sphere" "float radius" [0.27]')
    t.put("")
    target = (0.0, 0.05, 0.6)
    soft_boxes(t, ((-5.0, -4.0, 5.6), target, 3.2, 3.2, (13, 12.2, 11)),
               ((5.6, -1.0, 3.6), target, 1.2, 4.0, (7, 7.4, 8.2)),
               ((0.0, 1.0, 7.0), target, 6.0, 1.6, (3, 3, 3)))
    t.write(file("scene.pbrt"))


# ----------------------------------------------------------------------------------------- skylight

SUN = unit((-0.62, -0.34, 0.52))


def sky(d):
    """Radiance from direction `d`: a gradient from horizon to zenith, a glow around the sun, and
    the sun itself, a lobe exp(κ(cos γ − 1)) a few degrees wide with an irradiance of about 2.4.
    """
    up, cos_sun = max(0.0, d[2]), dot(d, SUN)
    colour = lerp((0.86, 0.84, 0.8), (0.16, 0.33, 0.72), up**0.45)
    colour = lerp((0.17, 0.18, 0.14), colour, smoothstep(-0.03, 0.03, d[2]))
    glow = 0.45 * math.exp(9 * (cos_sun - 1)) * smoothstep(-0.03, 0.1, d[2])
    kappa = 1100.0
    lobe = 2.4 * kappa / (2 * math.pi) * math.exp(kappa * (cos_sun - 1))
    return add(colour, add(scale((1, 0.85, 0.6), glow), scale((1, 0.88, 0.68), lobe)))


def octahedral(n, fn):
    """n × n image of a function of direction, in the equal-area octahedral map of Clarberg 2008
    with +Z at the centre. |z| = 1 − r², where r is the L1 distance from the centre, mirrored past
    the diagonals; φ is linear along each diamond.
    """
    rows = []
    for y in range(n):
        row = []
        for x in range(n):
            u, v = 2 * (x + 0.5) / n - 1, 2 * (y + 0.5) / n - 1
            fold = 1 - abs(u) - abs(v)
            r = 1 - abs(fold)
            phi = ((abs(v) - abs(u)) / r + 1) * math.pi / 4 if r > 0 else 0.0
            s = r * math.sqrt(max(0.0, 2 - r * r))
            z = math.copysign(1 - r * r, fold)
            dx, dy = math.copysign(math.cos(phi) * s, u), math.copysign(math.sin(phi) * s, v)
            row.append(fn((dx, dy, z)))
        rows.append(row)
    return rows


TERRAIN = 90.0  # half the width of the terrain
EYE_XY = (-11.0, -33.0)


def height(x, y):
    """Height of the terrain: rolling hills, with a flat-topped knoll at the origin."""
    knoll = 4.6 * math.exp(-(x * x + y * y) / 300)
    rolling = 13 * (fbm(x / 46 + 5, y / 46 + 9) - 0.5) * smoothstep(6, 40, math.hypot(x, y))
    far = 9 * smoothstep(35, 95, y)
    w = smoothstep(12, 7, math.hypot(x, y))
    return (knoll + rolling + far) * (1 - w) + 4.3 * w


def smooth_land(n):
    """The terrain as a grid of n × n cells with smooth normals and texture coordinates."""
    mesh = Mesh()
    for j in range(n + 1):
        for i in range(n + 1):
            x, y = (2 * i / n - 1) * TERRAIN, (2 * j / n - 1) * TERRAIN + 30
            dx = (height(x + 0.1, y) - height(x - 0.1, y)) / 0.2
            dy = (height(x, y + 0.1) - height(x, y - 0.1)) / 0.2
            mesh.p.append((x, y, height(x, y)))
            mesh.n.append(unit((-dx, -dy, 1.0)))
            mesh.uv.append((i / n, j / n))
    for j in range(n):
        for i in range(n):
            a, b = j * (n + 1) + i, (j + 1) * (n + 1) + i
            mesh.f += [(a, a + 1, b + 1), (a, b + 1, b)]
    return mesh


def grass(u, v):
    """Meadow: two greens and a dry yellow, in patches of several sizes."""
    a, b = fbm(u * 14, v * 14), fbm(u * 70 + 3, v * 70 + 8, 2)
    return scale(lerp((0.1, 0.17, 0.04), (0.33, 0.29, 0.1), smoothstep(0.38, 0.68, a)),
                 0.7 + 0.6 * b)


def conifer():
    """A 5 m tall crown of four overlapping tiers of boughs."""
    pieces, z = [], 0.9
    for k in range(4):
        r, top = 1.25 * (1 - 0.21 * k), z + 1.75 - 0.2 * k
        pieces += [[(0.12, z + 0.22), (0.6 * r, z + 0.08), (r, z)],
                   [(r, z), (0.55 * r, z + 0.42 * (top - z)), (0.22 * r, z + 0.78 * (top - z)),
                    (0.0, top)]]
        z += 0.95
    return lathe(pieces, 28, lambda phi, z: 1 + 0.13 * math.sin(7 * phi + 2.1 * math.floor(z)))


def broadleaf():
    """A lumpy crown; its top is 4.6 m above the ground."""
    def radius(phi, z):
        lumps = 0.13 * math.sin(5 * phi + 3 * z) * math.sin(2.9 * z + 1)
        return 1 + lumps + 0.08 * math.sin(9 * phi - 4 * z)

    return lathe([[(r, z + 2.9) for r, z in arc(0.0, 0.0, 1.7, -90, 90, 24)]], 40, radius)


def pavilion(t, ground):
    """A round temple: two steps, ten columns (instances), a ring, and a dome with a ball on top."""
    t.put("# the pavilion", 'ObjectBegin "column"', '  NamedMaterial "marble"',
          "  " + ply("column.ply"), "ObjectEnd")
    for radius, z in ((4.6, 0.3), (4.2, 0.6)):
        t.block("Translate 0 0 %s" % num(ground + z), 'NamedMaterial "marble"',
                'Shape "disk" "float radius" [%s]' % num(radius))
    for i in range(10):
        a = 2 * math.pi * (i + 0.3) / 10
        x, y = 3.4 * math.cos(a), 3.4 * math.sin(a)
        t.block("Translate %s" % nums((x, y, ground + 0.6)), 'ObjectInstance "column"')
    t.block("Translate 0 0 %s" % num(ground), 'NamedMaterial "marble"', ply("temple.ply"),
            "Translate 0 0 7.25", 'Shape "sphere" "float radius" [0.32]')
    t.block("Translate 0 0 %s" % num(ground + 1.5), 'NamedMaterial "terracotta"',
            'Shape "sphere" "float radius" [0.9]')


def plant(rng, count):
    """Positions (x, y) of `count` trees, with a minimum distance between trees. The temple and the
    camera's view of it stay clear.
    """
    places, cells, reach = [], {}, 2.2
    ex, ey = EYE_XY
    length = math.hypot(ex, ey)
    tries = 0
    while len(places) < count:
        tries += 1
        if tries % (60 * count) == 0:
            reach *= 0.8  # not enough space: reduce the minimum distance
        x, y = rng.uniform(-TERRAIN + 3, TERRAIN - 3), rng.uniform(-TERRAIN + 33, TERRAIN + 27)
        along, across = (x * ex + y * ey) / length, abs(x * ey - y * ex) / length
        in_view = along > -2 and across < 6.5 + 0.1 * (length - along)
        too_close = math.hypot(x, y) < 9 or math.hypot(x - ex, y - ey) < 12
        if too_close or in_view or fbm(x / 19 + 40, y / 19) < 0.4:
            continue
        key = (math.floor(x / reach), math.floor(y / reach))
        near = [p for i in (-1, 0, 1) for j in (-1, 0, 1)
                for p in cells.get((reach, key[0] + i, key[1] + j), ())]
        if all(math.dist(p, (x, y)) > reach for p in near):
            places.append((x, y))
            cells.setdefault((reach,) + key, []).append((x, y))
    return places


def skylight(folder, args):
    file = lambda name: os.path.join(folder, name)
    write_exr(file("sky.exr"), octahedral(512, sky))
    write_png(file("grass.png"), sample_image(256, 256, grass))
    smooth_land(100).write_ply(file("land.ply"))
    conifer().write_ply(file("conifer.ply"))
    broadleaf().write_ply(file("broadleaf.ply"))
    lathe([[(0.2, -0.6), (0.15, 0.6), (0.11, 2.0)]], 10).write_ply(file("trunk.ply"))
    lathe([
        [(0.42, 0), (0.42, 0.16), (0.36, 0.2)], [(0.3, 0.2), (0.29, 1.4), (0.24, 3.3)],
        arc(0.24, 3.38, 0.1, -60, 70, 6), [(0.36, 3.46), (0.36, 3.62)],
    ], 24).write_ply(file("column.ply"))
    lathe([
        [(4.6, -1.2), (4.6, 0.3)], [(4.2, 0.3), (4.2, 0.6)], [(0.0, 4.22), (3.9, 4.22)],
        [(3.9, 4.22), (3.9, 4.55)], [(4.05, 4.55), (4.05, 4.75)], [(4.05, 4.75), (3.6, 4.75)],
        arc(0.0, 4.6, 3.5, 2.5, 90, 24),
    ], 72).write_ply(file("temple.ply"))

    eye = EYE_XY + (height(*EYE_XY) + 4.2,)
    t = Text("skylight", "a round temple in a wood of instances, under a sky of our own", eye,
             (3.4, 0.0, 6.4), 34, 640, 400, 128, 6)
    t.put('LightSource "infinite" "string filename" ["sky.exr"]', "")
    t.put('Texture "grass" "spectrum" "imagemap" "string filename" ["grass.png"]'
          ' "string filter" ["bilinear"]',
          'MakeNamedMaterial "meadow" "string type" ["diffuse"] "texture reflectance" ["grass"]')
    t.diffuse(marble=(0.72, 0.69, 0.63), terracotta=(0.55, 0.17, 0.08), bark=(0.12, 0.08, 0.055),
              fir=(0.035, 0.095, 0.045), spruce=(0.055, 0.13, 0.1), oak=(0.13, 0.2, 0.035),
              maple=(0.42, 0.17, 0.03))
    t.put("", 'NamedMaterial "meadow"', ply("land.ply"), "")
    species = (("fir", "conifer"), ("spruce", "conifer"),
               ("oak", "broadleaf"), ("maple", "broadleaf"))
    for material, crown in species:
        t.put('ObjectBegin "%s"' % material, '  NamedMaterial "bark"', "  " + ply("trunk.ply"),
              '  NamedMaterial "%s"' % material, "  " + ply(crown + ".ply"), "ObjectEnd")
    t.put("")
    pavilion(t, height(0, 0))
    t.put("", '# the wood', 'Include "wood.pbrt"')
    t.write(file("scene.pbrt"))

    rng, wood = Pcg(args.seed, 3), []
    for x, y in plant(rng, args.trees):
        # Noise gives groves of the same species; the random part mixes neighbouring ones.
        stand = noise(x / 24 + 70, y / 24) + rng.uniform(-0.22, 0.22)
        kind = 0 if stand < 0.42 else 1 if stand < 0.58 else 2 if stand < 0.8 else 3
        size = rng.uniform(0.75, 1.35)
        wood.append('AttributeBegin Translate %.2f %.2f %.2f Rotate %d 0 0 1 Scale %.2f %.2f %.2f'
                    ' ObjectInstance "%s" AttributeEnd'
                    % (x, y, height(x, y), rng.below(360), size, size,
                       size * rng.uniform(0.9, 1.2), species[kind][0]))
    write_bytes(file("wood.pbrt"), ("\n".join(wood) + "\n").encode())


# -------------------------------------------------------------------------------------- many-lights

PITCH, STREET = 12.0, 3.8
WARM = ((1, 0.62, 0.28), (1, 0.72, 0.4), (1, 0.5, 0.2), (1, 0.82, 0.58), (0.75, 0.85, 1),
        (1, 0.35, 0.15))


def house(x, y, half, eaves, ridge, along_x):
    """A house with a gable roof: walls and roof, without a floor."""
    a, b, c, d = ((x + sx * half, y + sy * half) for sx, sy in ((-1, -1), (1, -1), (1, 1), (-1, 1)))
    low, high = [p + (0.0,) for p in (a, b, c, d)], [p + (eaves,) for p in (a, b, c, d)]
    walls = Mesh(low + high)
    for i in range(4):
        j = (i + 1) % 4
        walls.f += [(i, j, j + 4), (i, j + 4, i + 4)]
    if along_x:
        tops, ends = [(x - half, y, ridge), (x + half, y, ridge)], ((7, 4, 8), (5, 6, 9))
        slopes = ((high[0], high[1], tops[1], tops[0]), (high[2], high[3], tops[0], tops[1]))
    else:
        tops, ends = [(x, y - half, ridge), (x, y + half, ridge)], ((4, 5, 8), (6, 7, 9))
        slopes = ((high[1], high[2], tops[1], tops[0]), (high[3], high[0], tops[0], tops[1]))
    walls.p += tops
    walls.f += ends
    roof = Mesh()
    for s in slopes:
        roof.join(quad(*s))
    return walls, roof


def town(rng):
    """Four houses on each block of a grid.

    Returns walls and roofs by colour index, and the windows in walls that face a street as (corner,
    edge to the right, edge upwards).
    """
    walls, roofs, windows = [Mesh() for _ in range(4)], [Mesh() for _ in range(2)], []
    for bx in range(-2, 3):
        for by in range(-2, 3):
            for sx, sy in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
                half = rng.uniform(1.75, 2.0)
                x, y = bx * PITCH + 2.05 * sx, by * PITCH + 2.05 * sy
                eaves = 2 + 1.5 * (1 + rng.below(3)) + rng.uniform(0, 0.4)
                if (bx, by) == (0, 0):
                    eaves = 1.6
                w, r = house(x, y, half, eaves, eaves + rng.uniform(0.9, 1.7), rng.below(2) == 0)
                walls[rng.below(4)].join(w)
                roofs[rng.below(2)].join(r)
                wall, up = half + 0.015, (0, 0, 0.8)
                for floor in range(int((eaves - 0.6) / 1.5)):
                    for k in (-1, 0, 1):
                        z, o = 0.8 + 1.5 * floor, 0.62 * half * k
                        corner = (x + sx * wall, y + o - sx * 0.26, z)
                        windows.append((corner, (0, sx * 0.52, 0), up))
                        corner = (x + o + sy * 0.26, y + sy * wall, z)
                        windows.append((corner, (-sy * 0.52, 0, 0), up))
    return walls, roofs, windows


def panes(windows, count):
    """The first `count` panes. If there are too few windows, each is divided into k × k panes."""
    k = max(1, math.ceil(math.sqrt(count / len(windows))))
    for i in range(count):
        (corner, right, up), cell = windows[i // (k * k)], i % (k * k)
        du, dv = scale(right, 1 / k), scale(up, 1 / k)
        corner = add(corner, add(scale(du, cell % k + 0.05), scale(dv, cell // k + 0.05)))
        yield corner, scale(du, 0.9), scale(dv, 0.9)


def on_street(rng, reach):
    """A random point on a street, and the axis of the street (0: x, 1: y)."""
    axis, line = rng.below(2), (rng.below(2 * reach) - reach + 0.5) * PITCH
    along = rng.uniform(-2.4, 2.4) * PITCH
    return ((along, line) if axis == 0 else (line, along)), axis


def kinds_of_lights(n):
    """Returns the numbers of lit panes, bulbs and lanterns among `n` lights."""
    lit, bulbs = math.ceil(0.4 * n), 2 * n // 5
    return lit, bulbs, n - lit - bulbs


def many_lights(folder, args):
    n = args.lights
    about = ("a town at night with %d lights: %d panes, %d bulbs, %d lanterns"
             " (generate.py many-lights --lights %d --seed %d)")
    t = Text("many-lights", about % (n, *kinds_of_lights(n), n, args.seed),
             (-17, -40, 27), (-0.5, -4, 0), 35, 640, 400, 128, 4)
    t.put('LightSource "infinite" "rgb L" [0.045 0.06 0.11]', "")
    illuminated_town(t, n, args.seed)
    t.write(args.output or os.path.join(folder, "scene.pbrt"))


def illuminated_town(t, n, seed):
    """The town with `n` lights, whose total power does not depend on their number."""
    rng = Pcg(seed, 4)
    lit, bulbs, lamps = kinds_of_lights(n)
    walls, roofs, windows = town(rng)
    t.diffuse(paving=(0.32, 0.3, 0.29), wall0=(0.62, 0.52, 0.4), wall1=(0.55, 0.3, 0.2),
              wall2=(0.5, 0.53, 0.55), wall3=(0.66, 0.6, 0.52), roof0=(0.4, 0.16, 0.1),
              roof1=(0.24, 0.25, 0.29), black=(0, 0, 0))
    t.mesh("paving", quad((-70, -70, 0), (70, -70, 0), (70, 70, 0), (-70, 70, 0)))
    for i, m in enumerate(walls):
        t.mesh("wall%d" % i, m)
    for i, m in enumerate(roofs):
        t.mesh("roof%d" % i, m)
    tower = box((-1.6, -1.6, 0), (1.6, 1.6, 11))
    tower.join(Mesh(
        [(-1.8, -1.8, 11), (1.8, -1.8, 11), (1.8, 1.8, 11), (-1.8, 1.8, 11), (0, 0, 15)],
        [(0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4), (0, 2, 1), (0, 3, 2)]))
    t.mesh("wall3", tower)

    # Each pane is a bilinear patch, and so a light. Panes of equal colour share a mesh.
    t.put("", "# %d lit panes" % lit)
    rng.shuffle(windows)
    groups = [[] for _ in WARM]
    area = 0.0
    for corner, right, up in panes(windows, lit):
        groups[min(rng.below(9), 5) if rng.below(3) else rng.below(3)].append((corner, right, up))
        area += abs(dot(cross(right, up), (1, 1, 0)))
    for colour, group in zip(WARM, groups):
        if group:
            ps = [p for c, r, u in group for p in (c, add(c, r), add(c, u), add(add(c, r), u))]
            t.block(emit(scale(colour, 1300 / area)), 'NamedMaterial "black"',
                    'Shape "bilinearmesh" "integer indices" [%s] "point3 P" [%s]'
                    % (" ".join("%d" % i for i in range(len(ps))),
                       "  ".join("%.2f %.2f %.2f" % p for p in ps)))

    # Strings of nine bulbs across the streets.
    t.put("", "# %d bulbs" % bulbs)
    for i in range(bulbs):
        if i % 9 == 0:
            (x, y), axis = on_street(rng, 2)
            z, colour = rng.uniform(3.1, 3.6), WARM[rng.below(4)]
        s = (i % 9 - 4) / 4.5
        across, sag = s * STREET / 2, 0.55 * (s * s - 1)
        place = (x, y + across, z + sag) if axis == 0 else (x + across, y, z + sag)
        t.block("Translate %.2f %.2f %.2f" % place, emit(scale(colour, 200 * 220 / bulbs)),
                'NamedMaterial "black"', 'Shape "sphere" "float radius" [0.05]')

    t.put("", "# %d lanterns" % lamps)
    for i in range(lamps):
        (x, y), axis = on_street(rng, 3)
        side = (1 - 2 * rng.below(2)) * (STREET / 2 - 0.35)
        x, y = (x, y + side) if axis == 0 else (x + side, y)
        t.put('LightSource "point" "point3 from" [%.2f %.2f %.2f] "rgb I" [%s]'
              % (x, y, rng.uniform(2.2, 2.8), nums(scale(WARM[rng.below(6)], 200 * 2.2 / lamps))))


# --------------------------------------------------------------------------------------- foggy-town


def foggy_town(folder, _):
    t = Text("foggy-town", "the town of many-lights in fog, with 500 lights",
             (-7, -42, 13), (-4.5, -6, 2), 33, 640, 400, 256, 2,
             integrator='"lightcuts" "string mode" ["stochastic"]', medium="fog",
             before='MakeNamedMedium "fog" "string type" ["homogeneous"] "float g" [0.6]'
                    ' "rgb sigma_s" [0.022 0.022 0.022] "rgb sigma_a" [0.001 0.001 0.001]')
    illuminated_town(t, 500, 1)
    t.write(os.path.join(folder, "scene.pbrt"))


# ----------------------------------------------------------------------------------------- interior


HEIGHT = 2.6                         # height of the ceiling
WALL = 5.2                           # y of the wall between the rooms, 0.12 m thick
LEFT, RIGHT, TOP = 2.35, 3.25, 2.05  # the doorway in that wall


def boxes(t, material, *items):
    """Several boxes of one material as one mesh. Each item is a tuple of arguments of `box`."""
    mesh = Mesh()
    for item in items:
        mesh.join(box(*item))
    t.mesh(material, mesh)


def legs(lo, hi, turn):
    """Four legs under the corners of a board from `lo` to `hi`, rotated with it."""
    pivot = ((lo[0] + hi[0]) / 2, (lo[1] + hi[1]) / 2)
    for x in (lo[0] + 0.03, hi[0] - 0.08):
        for y in (lo[1] + 0.03, hi[1] - 0.08):
            yield (x, y, 0), (x + 0.05, y + 0.05, lo[2]), turn, pivot


def rooms(t):
    """Two rooms, the frame of the doorway between them, and the door, hinged on the right."""
    back = WALL + 0.12
    boxes(t, "boards", ((-0.1, -0.1, -0.1), (5.4, 8.8, 0)))
    boxes(t, "plaster", ((-0.1, -0.1, HEIGHT), (5.4, 8.8, HEIGHT + 0.1)),
          ((-0.1, -0.1, 0), (0, WALL, HEIGHT)),
          ((4.1, -0.1, 0), (4.2, WALL, HEIGHT)),
          ((0, -0.1, 0), (4.1, 0, HEIGHT)),
          ((-0.1, WALL, 0), (LEFT, back, HEIGHT)),
          ((RIGHT, WALL, 0), (5.4, back, HEIGHT)),
          ((LEFT, WALL, TOP), (RIGHT, back, HEIGHT)))
    boxes(t, "next room", ((0.4, back, 0), (0.5, 8.7, HEIGHT)),
          ((5.2, back, 0), (5.3, 8.7, HEIGHT)), ((0.5, 8.6, 0), (5.2, 8.7, HEIGHT)))
    front, rear = WALL - 0.03, WALL + 0.15
    # The frame reaches 1 cm into the doorway, so that no faces coincide with the wall's.
    left, right, top = LEFT + 0.01, RIGHT - 0.01, TOP - 0.01
    boxes(t, "oak", ((left - 0.09, front, 0), (left, rear, top + 0.09)),
          ((right, front, 0), (right + 0.09, rear, top + 0.09)),
          ((left, front, top), (right, rear, top + 0.09)), ((0, 0, 0), (0.02, WALL, 0.09)))
    boxes(t, "door", ((LEFT + 0.02, WALL - 0.02, 0.01), (RIGHT, WALL + 0.02, TOP - 0.02),
                      46, (RIGHT, WALL)))


def furniture(t):
    """A sofa with cushions, a rug, a table, a chair and pictures."""
    boxes(t, "sofa", ((0.08, 1.75, 0), (0.95, 3.75, 0.42)), ((0.05, 1.75, 0), (0.28, 3.75, 0.85)),
          ((0.08, 1.6, 0), (0.95, 1.78, 0.62)), ((0.08, 3.72, 0), (0.95, 3.9, 0.62)))
    boxes(t, "ochre", ((0.32, 3.05, 0.42), (0.46, 3.55, 0.84), -12),
          ((1.62, 2.6, 0.45), (1.86, 2.78, 0.485), 25))
    boxes(t, "cream", ((0.3, 1.95, 0.42), (0.45, 2.4, 0.82), 14))
    boxes(t, "rug", ((1.1, 1.5, 0), (3.2, 4.0, 0.015), 3))
    table = ((1.35, 2.45, 0.4), (2.35, 3.05, 0.45), 6)
    seat = ((3.3, 2.9, 0.42), (3.75, 3.35, 0.46), -20)
    boxes(t, "oak", table, *legs(*table), seat, *legs(*seat),
          ((3.3, 2.9, 0.46), (3.34, 3.35, 0.95), -20, (3.525, 3.125)))
    t.block("Translate 2.1 2.8 0.57", 'NamedMaterial "cream"',
            'Shape "sphere" "float radius" [0.12]')
    left = (((0, 1.9, 1.3), (0.03, 2.6, 1.95)), ((0, 2.9, 1.3), (0.03, 3.6, 1.95)))
    facing = ((3.45, WALL - 0.03, 1.25), (3.95, WALL, 1.9))
    boxes(t, "oak", *left, facing)
    boxes(t, "cream",
          *((add(lo, (0, 0.05, 0.05)), add(hi, (0.006, -0.05, -0.05))) for lo, hi in left),
          (add(facing[0], (0.05, -0.006, 0.05)), add(facing[1], (-0.05, 0, -0.05))))


def shelf(t, rng):
    """A shelf with books along the far wall."""
    x0, x1, front = 0.35, 1.75, WALL - 0.32
    boards = [0.1, 0.55, 1.0, 1.45, 1.9]
    boxes(t, "oak", *(((x0, front, z), (x1, WALL, z + 0.035)) for z in boards),
          ((x0 - 0.04, front - 0.01, 0), (x0, WALL, 1.96)),
          ((x1, front - 0.01, 0), (x1 + 0.04, WALL, 1.96)))
    books = {c: [] for c in ("ochre", "moss", "rug", "cream", "sofa")}
    for z in boards[:4]:
        x = x0 + 0.03
        while x < x1 - 0.07:
            thick, tall = rng.uniform(0.025, 0.06), rng.uniform(0.2, 0.34)
            deep = rng.uniform(0.22, 0.27)
            if rng.below(9) == 0:
                x += 0.12  # a gap
            else:
                lo, hi = (x, WALL - deep, z + 0.035), (x + thick, WALL - 0.02, z + 0.035 + tall)
                books[list(books)[rng.below(5)]].append((lo, hi))
                x += thick + 0.004
    for material, items in books.items():
        boxes(t, material, *items)


def interior(folder, _):
    t = Text("interior", "a dark room; the only lamp is next door, looks at the ceiling there,"
             " and the door is ajar",
             (1.75, 0.35, 1.45), (1.98, 5.0, 1.02), 52, 480, 384, 512, 12)
    t.diffuse(plaster=(0.76, 0.73, 0.66), boards=(0.42, 0.27, 0.15), door=(0.66, 0.62, 0.52),
              oak=(0.38, 0.22, 0.1), sofa=(0.12, 0.24, 0.3), rug=(0.5, 0.13, 0.1),
              cream=(0.72, 0.66, 0.52), moss=(0.22, 0.3, 0.12), ochre=(0.66, 0.4, 0.09),
              black=(0, 0, 0), **{"next room": (0.8, 0.75, 0.64)})
    rooms(t)
    furniture(t)
    shelf(t, Pcg(5, 5))
    # The lamp is the opening of a bowl that faces up: light bounces next door before it gets here.
    boxes(t, "oak", ((4.28, 6.68, 0), (4.32, 6.72, 1.3)), ((4.15, 6.55, 0), (4.45, 6.85, 0.03)))
    t.block("Translate 4.3 6.7 1.32", emit((1150, 1040, 860)), 'NamedMaterial "black"',
            'Shape "disk" "float radius" [0.3]')
    t.write(os.path.join(folder, "scene.pbrt"))


# ------------------------------------------------------------------------------------------- marble

STONES = {  # colours of stone and veins, and other parameters of the shader
    "carrara": ((0.82, 0.81, 0.78), (0.16, 0.17, 0.21),
                '"float scale" [1.7] "float turbulence" [2.1] "float width" [0.24]'),
    "portoro": ((0.028, 0.026, 0.03), (0.62, 0.5, 0.3),
                '"float scale" [1.9] "float turbulence" [2.6] "float width" [0.035]'),
    "verde": ((0.03, 0.1, 0.065), (0.36, 0.5, 0.42),
              '"float scale" [2.6] "float turbulence" [3] "float width" [0.12]'),
    "rosa": ((0.62, 0.3, 0.24), (0.8, 0.68, 0.6),
             '"float scale" [2.2] "float turbulence" [2] "float width" [0.3]'),
}


def urn():
    """A vase on a foot, 1.06 m tall: a wide shoulder, a narrow neck, an open mouth."""
    belly = [(0.12 + 0.23 * math.sin(math.pi * (0.06 + 0.64 * s)) ** 1.4, 0.17 + 0.6 * s)
             for s in (i / 28 for i in range(29))]
    r, z = belly[-1]
    neck = [(0.13 + (r - 0.13) * (1 - s) ** 2.2, z + 0.2 * s) for s in (i / 14 for i in range(15))]
    top = neck[-1][1]
    return lathe([
        [(0.0, 0.0), (0.19, 0.0)], arc(0.19, 0.03, 0.03, -90, 90, 8), [(0.19, 0.06), (0.16, 0.075)],
        [(0.16, 0.075), (0.1, 0.1), (0.085, 0.13), belly[0]], belly + neck[1:],
        arc(0.15, top + 0.035, 0.035, -120, 120, 12),
        [(0.13, top + 0.06), (0.09, top - 0.02), (0.08, 0.6), (0.0, 0.5)],
    ], 96)


def plinth():
    """A short column with a base and a cap, 0.5 m tall."""
    return lathe([
        [(0.0, 0.0), (0.34, 0.0)], arc(0.34, 0.045, 0.045, -90, 90, 10),
        [(0.34, 0.09), (0.27, 0.1)],
        [(0.27, 0.1), (0.255, 0.25), (0.27, 0.4)], [(0.27, 0.4), (0.31, 0.41)],
        arc(0.31, 0.44, 0.03, -90, 90, 8), [(0.31, 0.47), (0.335, 0.475)],
        [(0.335, 0.475), (0.335, 0.5)], [(0.335, 0.5), (0.0, 0.5)],
    ], 96)


def tile(z):
    """The upper faces of a 0.5 m tile with chamfered edges, cut from its block at height `z`."""
    ring, a, b = ((-1, -1), (1, -1), (1, 1), (-1, 1)), 0.247, 0.243
    low, high = [(x * a, y * a, z - 0.008) for x, y in ring], [(x * b, y * b, z) for x, y in ring]
    mesh = quad(*high)
    for i in range(4):
        j = (i + 1) % 4
        mesh.join(quad(low[i], low[j], high[j], high[i]))
    return mesh


def tiled_floor(t, rng, columns, rows, wall_y):
    """A chequered floor of two stones, and the wall behind it. Each tile is one of four slices of
    its block, rotated by a random multiple of 90°.
    """
    stones = ("carrara", "portoro")
    for k in range(4):
        for stone in stones:
            t.object("%s tile %d" % (stone, k), stone, triangles(tile(0.37 * k)))
    t.mesh("grout", quad((-6, -4, -0.009), (6, -4, -0.009), (6, 3, -0.009), (-6, 3, -0.009)))
    t.mesh("wall", quad((-8, wall_y, -1), (8, wall_y, -1), (8, wall_y, 6), (-8, wall_y, 6)))
    for j in rows:
        for i in columns:
            k = rng.below(4)
            place = nums((0.5 * i, 0.5 * j, -0.37 * k))
            t.put('AttributeBegin Translate %s Rotate %d 0 0 1 ObjectInstance "%s tile %d"'
                  ' AttributeEnd' % (place, 90 * rng.below(4), stones[(i + j) % 2], k))
    t.put("")


def marble(folder, _):
    file = lambda name: os.path.join(folder, name)
    urn().write_ply(file("urn.ply.gz"))
    plinth().write_ply(file("plinth.ply.gz"))
    t = Text("marble", "stones whose veins are computed at each point, in the space of the object",
             (0.3, -3.9, 1.3), (0.08, 0, 0.56), 27.5, 640, 400, 512, 6)
    t.put('LightSource "infinite" "rgb L" [0.2 0.21 0.235]', "")
    t.diffuse(wall=(0.13, 0.145, 0.165), grout=(0.1, 0.095, 0.09), black=(0, 0, 0))
    for name, (stone, vein, parameters) in STONES.items():
        t.shader(name, "marble.wgsl",
                 '"rgb stone" [%s] "rgb vein" [%s] %s' % (nums(stone), nums(vein), parameters))
    t.put("")

    tiled_floor(t, Pcg(3, 7), range(-7, 8), range(-7, 6), 2.6)

    t.object("urn", "carrara", ply("urn.ply.gz"))
    t.object("rosa urn", "rosa", ply("urn.ply.gz"))
    t.object("plinth", "verde", ply("plinth.ply.gz"))
    t.object("ball", "portoro", 'Shape "sphere" "float radius" [0.25]')
    t.object("egg", "rosa", "Scale 1 1 1.4", 'Shape "sphere" "float radius" [0.2]')
    t.object("verde ball", "verde", 'Shape "sphere" "float radius" [0.25]')
    for name, *place in (
        ("plinth", "Translate -0.55 0.35 0", "Rotate 25 0 0 1"),
        ("urn", "Translate -0.55 0.35 0.5", "Scale 0.85 0.85 0.85"),
        ("rosa urn", "Translate 0.72 0.42 0", "Rotate 200 0 0 1", "Scale 1.05 1.05 1.05"),
        ("ball", "Translate 0.12 -0.12 0.25", "Rotate 40 1 1 0"),
        ("ball", "Translate 0.46 -0.62 0.16", "Rotate 160 0 1 1", "Scale 0.64 0.64 0.64"),
        ("verde ball", "Translate -0.3 -0.72 0.14", "Rotate 70 1 0 2", "Scale 0.56 0.56 0.56"),
        ("egg", "Translate 0.93 -0.32 0.2", "Rotate 30 0 0 1", "Rotate 90 0 1 0",
         "Rotate 50 0 0 1"),
    ):
        t.block(*place, 'ObjectInstance "%s"' % name)
    t.put("")
    soft_boxes(t, ((-3.4, -1.6, 3.6), (0, 0, 0.4), 2.0, 2.4, (24, 22.2, 19.4)),
               ((3.6, 0.2, 2.4), (0.2, 0, 0.5), 1.0, 2.2, (9, 9.8, 11.4)),
               ((0.5, 2.2, 3.9), (0, 0, 0.5), 3.0, 0.5, (7, 6.7, 6.2)))
    t.write(file("scene.pbrt"))


# ------------------------------------------------------------------------------------ brushed-metal


def pearling(n, across, seed):
    """Engine turning: one period with `across`² ground spots in staggered rows, each overlapping
    the previous ones. Pixels hold the cosine and sine of twice the angle of the grain, and the depth
    of the groove, mapped to [0, 1].
    """
    rng, pitch = Pcg(seed, 8), n / across
    depth = [[rng.uniform() for _ in range(48)] for _ in range(across * across)]

    def pixel(x, y):
        best = None
        for row in range(-1, across + 2):
            for col in range(-1, across + 2):
                dx, dy = x - (col + 0.5 * (row % 2) + 0.25) * pitch, y - (row + 0.25) * pitch
                r = math.hypot(dx, dy)
                if r < 0.72 * pitch:
                    spot = (row % across) * across + col % across
                    best = (dx, dy, r, spot)  # later spots are on top
        dx, dy, r, spot = best
        ring = r / (0.72 * pitch) * 40
        d = depth[spot]
        groove = lerp((d[int(ring)],), (d[int(ring) + 1],), ring % 1)[0]
        # The grain is perpendicular to the radius.
        c, s = (dy * dy - dx * dx) / max(r * r, 1e-9), -2 * dx * dy / max(r * r, 1e-9)
        return (0.5 + 0.5 * c, 0.5 - 0.5 * s, groove)

    return [[pixel(x + 0.5, y + 0.5) for x in range(n)] for y in range(n)]


def streaks(n, seed, low, high):
    """Roughness across the grain of brushed metal: varies between grooves, not along them."""
    rng = Pcg(seed, 9)
    rows = []
    for y in range(n):
        wide = fbm(40 * y / n, 0.5 + seed, 3)
        rows.append([low + (high - low) * (0.45 * wide + 0.55 * rng.uniform())] * 4)
    return rows


def goblet():
    """A cup on a stem, 0.9 m tall."""
    cup = [(0.06 + 0.25 * math.sin(math.pi / 2 * s) ** 0.8, 0.42 + 0.46 * s**1.6)
           for s in (i / 24 for i in range(25))]
    inside = [(r - 0.02, z + 0.012) for r, z in reversed(cup)]
    stem = [(0.045 + 0.23 * (1 - s) ** 5, 0.035 + 0.31 * s) for s in (i / 20 for i in range(21))]
    return lathe([
        [(0.0, 0.0), (0.275, 0.0)], [(0.275, 0.0), (0.275, 0.035)], stem,
        arc(0.045, 0.385, 0.04, -90, 90, 12), cup, [cup[-1], inside[0]],
        inside[:-1] + [(0.0, 0.435)],
    ], 96)


def knob():
    """A turned knob, 0.42 m tall: a cylinder with chamfers and a groove, and a dished top."""
    return lathe([
        [(0.0, 0.0), (0.3, 0.0)], [(0.3, 0.0), (0.34, 0.04)], [(0.34, 0.04), (0.34, 0.2)],
        [(0.34, 0.2), (0.32, 0.22)], [(0.32, 0.22), (0.32, 0.25)], [(0.32, 0.25), (0.34, 0.27)],
        [(0.34, 0.27), (0.34, 0.38)], [(0.34, 0.38), (0.3, 0.42)],
        [(0.3, 0.42), (0.15, 0.405), (0.0, 0.4)],
    ], 128)


def brushed_metal(folder, _):
    file = lambda name: os.path.join(folder, name)
    write_png(file("pearls.png"), pearling(256, 4, 1))
    write_png(file("straight.png"), [[(1.0, 0.5, 0.5)]])
    write_png(file("along.png"), streaks(256, 2, 0.02, 0.12))
    write_png(file("across.png"), streaks(256, 3, 0.12, 0.5))
    goblet().write_ply(file("goblet.ply.gz"))
    knob().write_ply(file("knob.ply.gz"))
    t = Text("brushed-metal", "anisotropic metals whose grain and roughness are textures",
             (0.25, -4.6, 2.1), (0.06, 0.15, 0.6), 25, 640, 400, 512, 8)
    t.put('LightSource "infinite" "rgb L" [0.17 0.18 0.2]', "")
    for name in ("along", "across"):
        t.put('Texture "%s" "float" "imagemap" "string filename" ["%s.png"]'
              ' "string encoding" ["linear"] "float vscale" [1]' % (name, name))
    t.put("")

    def metal(name, f0, *parameters):
        t.put('MakeNamedMaterial "%s" "string type" ["shader"] "string filename" ["brushed.wgsl"]'
              ' "rgb f0" [%s]%s' % (name, nums(f0), "".join("\n  " + p for p in parameters)))

    t.diffuse(backdrop=(0.08, 0.085, 0.1), black=(0, 0, 0))
    streaky = ('"string grain" ["straight.png"] "texture alpha_x" ["along"]'
               ' "texture alpha_y" ["across"]')
    metal("pearled steel", (0.56, 0.57, 0.58),
          '"string grain" ["pearls.png"] "float repeats" [4]'
          ' "float alpha_x" [0.09] "float alpha_y" [0.34]')
    metal("steel", (0.58, 0.58, 0.58), streaky)
    metal("titanium", (0.16, 0.3, 0.72), streaky)
    metal("copper", (0.93, 0.6, 0.46), streaky)
    metal("gold", (1.0, 0.77, 0.34), streaky)
    t.put("")
    t.put('NamedMaterial "pearled steel"',
          'Shape "bilinearmesh" "integer indices" [0 1 2 3]'
          ' "point3 P" [-3 -3 0  3 -3 0  -3 3 0  3 3 0] "point2 uv" [0 0  1 0  0 1  1 1]',
          'NamedMaterial "backdrop"',
          'Shape "bilinearmesh" "integer indices" [0 1 2 3]'
          ' "point3 P" [-9 3 -1  9 3 -1  -9 3 8  9 3 8]')
    t.block("Translate -0.62 0.45 0", 'NamedMaterial "copper"', ply("goblet.ply.gz"))
    t.block("Translate 0.78 -0.25 0", "Rotate 20 0 0 1", 'NamedMaterial "steel"',
            ply("knob.ply.gz"))
    t.block("Translate -0.16 -0.8 0.26", "Rotate 50 1 0 0", "Rotate 25 0 1 0",
            'NamedMaterial "titanium"', 'Shape "sphere" "float radius" [0.26]')
    # A gong that leans back. Its grain is circular, since u runs around disks.
    t.block("Translate 0.45 0.95 0.72", "Rotate 72 1 0 0", "Rotate 12 0 1 0",
            'NamedMaterial "gold"',
            'Shape "disk" "float radius" [0.75] "float innerradius" [0.12]')
    t.put("")
    soft_boxes(t, ((-3.2, -2.2, 3.4), (0, 0, 0.4), 1.6, 2.2, (19, 18.2, 17)),
               ((3.4, -0.8, 2.6), (0, 0, 0.4), 0.7, 2.6, (14, 15, 16.8)),
               ((0.0, 2.6, 4.0), (0, 0, 0.2), 4.5, 0.8, (8, 8, 8)))
    t.write(file("scene.pbrt"))


# -------------------------------------------------------------------------------------------- julia


def uv_texture(path):
    """Lines of a texture with the value (u, v, 0), from the image that `julia` writes."""
    return ('Texture "uv" "spectrum" "imagemap" "string filename" ["%s"]'
            ' "string encoding" ["linear"] "string wrap" ["clamp"]' % path,
            '  "float uscale" [0.5] "float vscale" [0.5] "float udelta" [0.25]'
            ' "float vdelta" [0.25]')


def julia(folder, _):
    file = lambda name: os.path.join(folder, name)
    # Four texels, red at the right and green at the top. Between their centres, bilinear
    # interpolation gives u and v.
    write_png(file("uv.png"), [[(0.0, 1.0, 0.0), (1.0, 1.0, 0.0)],
                               [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0)]])
    t = Text("julia", "Julia sets in metal, computed at each evaluation, and brushed metals of"
             " Ashikhmin and Shirley",
             (0.0, -6.2, 2.1), (0, 0, 0.92), 31, 640, 400, 512, 3)
    t.put('LightSource "infinite" "rgb L" [0.25 0.26 0.28]', "")
    t.put(*uv_texture("uv.png"), "")
    t.diffuse(black=(0, 0, 0))
    # Indices of refraction.
    copper, gold, steel = (9, 3.4, 2.1), (40, 12, 3.6), (9, 9.5, 10.5)
    blue, ink = (1.5, 2.6, 9), (1.5, 1.55, 1.9)
    rose, green = (7, 2, 2.6), (1.6, 3.2, 1.9)
    sets = (((-0.8, 0.156), ink, gold, copper), ((-0.4, 0.6), blue, steel, copper),
            ((0.285, 0.01), green, gold, ink), ((-0.7269, 0.1889), copper, steel, ink),
            ((-0.835, -0.2321), ink, rose, gold), ((0.355, 0.355), steel, blue, gold),
            ((-0.1, 0.651), green, gold, blue), ((-1.0, 0.28), rose, gold, ink),
            ((-0.75, 0.11), gold, copper, blue), ((-0.12, 0.75), blue, steel, gold))
    for i, (c, *etas) in enumerate(sets):
        t.shader("julia %d" % i, "fractal.wgsl",
                 '"texture uv" ["uv"] "float c" [%s]' % nums(c)
                 + ' "float m_0" [0.25] "float m_1" [0.14] "float m_2" [0.3]',
                 " ".join('"float eta_%d" [%s]' % (k, nums(eta)) for k, eta in enumerate(etas)))

    def brushed(name, kd, ks, along, across):
        t.shader(name, "ashikhmin.wgsl",
                 '"rgb kd" [%s] "rgb ks" [%s]' % (nums(kd), nums(ks))
                 + ' "float n_u" [%s] "float n_v" [%s]' % (num(along), num(across)))

    brushed("floor", (0.05, 0.045, 0.04), (0.2, 0.19, 0.18), 2000, 60)
    brushed("wall", (0.1, 0.1, 0.11), (0.1, 0.1, 0.11), 20, 400)
    brushed("brass", (0.02, 0.012, 0.003), (0.8, 0.58, 0.24), 900, 20)
    brushed("steel", (0.01, 0.01, 0.01), (0.6, 0.61, 0.63), 15, 1200)
    brushed("lacquer", (0.5, 0.04, 0.02), (0.06, 0.06, 0.06), 3000, 3000)
    t.put("")

    def patch(name, a, b, c, d):
        t.put('NamedMaterial "%s"' % name,
              'Shape "bilinearmesh" "integer indices" [0 1 2 3] "point3 P" [%s]'
              % points((a, b, d, c)))

    patch("floor", (-8, -7, 0), (8, -7, 0), (8, 1.5, 0), (-8, 1.5, 0))
    patch("wall", (-8, 1.5, 0), (8, 1.5, 0), (8, 1.5, 7), (-8, 1.5, 7))
    for i in range(10):
        x, z, a = 1.14 * (i % 5 - 2), 0.62 + 1.14 * (i // 5), 0.53
        patch("julia %d" % i, (x - a, 1.4, z - a), (x + a, 1.4, z - a), (x + a, 1.4, z + a),
              (x - a, 1.4, z + a))
    for material, x, y, r, *rotation in (
        ("brass", -1.5, -0.3, 0.42, "Rotate 60 1 0 0"),
        ("steel", 1.42, -0.2, 0.46, "Rotate 35 1 0.4 0"),
        ("julia 1", -0.02, -0.1, 0.52, "Rotate 90 0 0 1"),
        ("lacquer", 0.66, -1.2, 0.24),
        ("julia 0", -0.66, -1.2, 0.3, "Rotate 90 0 0 1"),
    ):
        t.block("Translate %s" % nums((x, y, r)), *rotation, 'NamedMaterial "%s"' % material,
                'Shape "sphere" "float radius" [%s]' % num(r))
    t.put("")
    soft_boxes(t, ((-4.5, -4.6, 4.6), (0, 1, 1), 3.0, 2.0, (11, 10.4, 9.6)),
               ((4.8, -4.2, 3.4), (0, 1, 1), 1.6, 3.4, (7, 7.6, 8.6)),
               ((0.0, -2.4, 5.2), (0, 0.6, 0.6), 5.0, 1.2, (5, 5, 5)))
    t.write(file("scene.pbrt"))


# ----------------------------------------------------------------------------------------- showcase

STRINGS, BULBS = 14, 36  # strings of bulbs, and bulbs on each
BULB_COLOURS = ((1.0, 0.5, 0.15), (1.0, 0.2, 0.06), (0.12, 0.4, 1.0), (1.0, 0.65, 0.3),
                (0.1, 0.8, 0.3), (1.0, 0.12, 0.3), (1.0, 0.5, 0.15))


def showcase(folder, _):
    t = Text("showcase", "marble, metal, glass and a fractal under strings of %d bulbs;"
             " shaders and meshes of other scenes" % (STRINGS * BULBS),
             (0.15, -4.3, 1.4), (0.05, 0, 0.7), 30, 480, 270, 512, 4)
    t.put('LightSource "infinite" "rgb L" [0.07 0.08 0.12]', *uv_texture("../julia/uv.png"))
    for name in ("along", "across"):
        t.put('Texture "%s" "float" "imagemap" "string filename" ["../brushed-metal/%s.png"]'
              ' "string encoding" ["linear"]' % (name, name))
    t.put("")

    t.diffuse(wall=(0.2, 0.21, 0.24), grout=(0.1, 0.095, 0.09), black=(0, 0, 0))
    for name, (stone, vein, parameters) in STONES.items():
        t.shader(name, "../marble/marble.wgsl",
                 '"rgb stone" [%s] "rgb vein" [%s] %s' % (nums(stone), nums(vein), parameters))
    for name, f0 in (("copper", (0.93, 0.6, 0.46)), ("titanium", (0.16, 0.3, 0.72))):
        t.shader(name, "../brushed-metal/brushed.wgsl",
                 '"rgb f0" [%s] "string grain" ["../brushed-metal/straight.png"]' % nums(f0),
                 '"texture alpha_x" ["along"] "texture alpha_y" ["across"]')
    t.shader("fractal", "fractal.wgsl",
             '"texture uv" ["uv"] "float c" [-0.4 0.6]'
             ' "float m_0" [0.25] "float m_1" [0.14] "float m_2" [0.3]',
             '"float eta_0" [1.5 2.6 9] "float eta_1" [9 9.5 10.5] "float eta_2" [9 3.4 2.1]')
    t.shader("lacquer", "ashikhmin.wgsl",
             '"rgb kd" [0.5 0.04 0.02] "rgb ks" [0.06 0.06 0.06]'
             ' "float n_u" [1000] "float n_v" [1000]')
    t.put('MakeNamedMaterial "glass" "string type" ["dielectric"] "float eta" [1.5]', "")

    rng = Pcg(3, 7)
    tiled_floor(t, rng, range(-8, 9), range(-7, 5), 2.2)

    sphere = lambda r: 'Shape "sphere" "float radius" [%s]' % num(r)
    plinth_mesh, urn_mesh = ply("../marble/plinth.ply.gz"), ply("../marble/urn.ply.gz")
    goblet_mesh = ply("../brushed-metal/goblet.ply.gz")
    for material, shape, *transforms in (
        ("verde", plinth_mesh, "Translate -0.95 0.55 0", "Rotate 25 0 0 1"),
        ("carrara", urn_mesh, "Translate -0.95 0.55 0.5", "Scale 0.75 0.75 0.75"),
        ("rosa", urn_mesh, "Translate 1.2 0.5 0", "Rotate 200 0 0 1"),
        ("copper", goblet_mesh, "Translate -0.42 0.1 0", "Scale 0.8 0.8 0.8"),
        ("fractal", sphere(0.42), "Translate 0.36 0.3 0.42", "Rotate 90 0 0 1"),
        ("titanium", sphere(0.2), "Translate -0.95 -0.55 0.2", "Rotate 50 1 0 0",
         "Rotate 25 0 1 0"),
        ("glass", sphere(0.2), "Translate -0.1 -0.75 0.2"),
        ("lacquer", sphere(0.16), "Translate 0.85 -0.7 0.16"),
        ("portoro", sphere(0.22), "Translate 1.25 -0.4 0.22", "Rotate 40 1 1 0"),
    ):
        t.block(*transforms, 'NamedMaterial "%s"' % material, shape)
    t.put("")

    # Strings from left to right, behind, above and in front of the objects, each with three swags.
    for i in range(STRINGS):
        y = 1.6 - 4.2 * i / (STRINGS - 1)
        high = 1.85 + 0.15 * rng.uniform() + 0.5 * max(0.0, 0.9 - y)
        radiance = 5 if y > 0.9 else 14  # bulbs in view are dimmer, to keep their colours
        for k in range(BULBS):
            s = (k + 0.5) / BULBS
            swag = 2 * (3 * s + 0.31 * i) % 2 - 1
            place = (5.6 * (s - 0.5), y, high - 0.3 * (1 - swag * swag))
            colour = BULB_COLOURS[(i + k) % len(BULB_COLOURS)]
            t.block("Translate %.3f %.3f %.3f" % place, emit(scale(colour, radiance)),
                    'NamedMaterial "black"', sphere(0.045))
    t.write(os.path.join(folder, "scene.pbrt"))


# ---------------------------------------------------------------------------------------------- tea

TEA_LEVEL = 0.98


def tulip(z):
    """Outer radius of a tea glass at a height: a belly, a waist and a lip."""
    return 0.3 + 0.075 * math.sin(2 * math.pi * (z - 0.05) / 1.05) + 0.05 * smoothstep(0.7, 1.2, z)


def tea_glass():
    """The surfaces of a glass with tea: glass to air, glass to tea, and tea to air.

    The first two have normals out of the glass, the last one out of the tea.
    """
    wall, floor, top = 0.022, 0.09, 1.2
    heights = lambda lo, hi, n: (lo + (hi - lo) * i / n for i in range(n + 1))
    inner = lambda z: tulip(z) - wall
    outside = lathe([
        [(0.0, 0.0), (tulip(0.03) - 0.03, 0.0)], arc(tulip(0.03) - 0.03, 0.03, 0.03, -90, 0, 8),
        [(tulip(z), z) for z in heights(0.03, top, 40)]
        + arc(tulip(top) - wall / 2, top, wall / 2, 0, 180, 10)[1:-1]
        + [(inner(z), z) for z in heights(top, TEA_LEVEL, 8)],
    ], 96)
    bottom = [(0.0, floor), (inner(floor + 0.06) - 0.06, floor)]
    bend = arc(inner(floor + 0.06) - 0.06, floor + 0.06, 0.06, 0, -90, 8)
    wetted = lathe([[(inner(z), z) for z in heights(TEA_LEVEL, floor + 0.06, 30)] + bend[1:],
                    bottom[::-1]], 96)
    # The meniscus rises at the wall.
    radius = inner(TEA_LEVEL)
    meniscus = arc(radius - 0.03, TEA_LEVEL, 0.03, -90, 0, 8)
    surface = lathe([list(reversed(meniscus[1:])) + [(radius - 0.03, TEA_LEVEL - 0.03),
                                                     (0.0, TEA_LEVEL - 0.03)]], 96)
    return outside, wetted, surface


def tea(folder, _):
    file = lambda name: os.path.join(folder, name)
    for name, mesh in zip(("glass", "wetted", "surface"), tea_glass()):
        mesh.write_ply(file(name + ".ply.gz"))
    lathe([
        [(0.0, 0.0), (0.36, 0.0)], [(0.36, 0.0), (0.4, 0.03), (0.7, 0.1)],
        arc(0.7, 0.115, 0.015, -60, 120, 8), [(0.69, 0.128), (0.42, 0.06), (0.0, 0.05)],
    ], 96).write_ply(file("saucer.ply.gz"))
    t = Text("tea", "two glasses of tea, one of them with milk, by a window",
             (0.1, -5.2, 2.1), (0.02, 0, 0.62), 27, 640, 400, 1024, 100,
             integrator='"volpath"')
    t.put('LightSource "infinite" "rgb L" [0.45 0.45 0.47]', "")
    t.put('MakeNamedMedium "tea" "string type" ["homogeneous"] "float g" [0.8]'
          ' "rgb sigma_s" [0.3 0.25 0.2] "rgb sigma_a" [0.25 1.5 5]',
          'MakeNamedMedium "tea with milk" "string type" ["homogeneous"] "float g" [0.6]'
          ' "rgb sigma_s" [30 30 30] "rgb sigma_a" [0.12 0.55 1.9]', "")
    t.diffuse(wall=(0.3, 0.31, 0.33), table=(0.3, 0.17, 0.09), sugar=(0.86, 0.85, 0.82),
              black=(0, 0, 0))
    t.put('MakeNamedMaterial "china" "string type" ["coateddiffuse"]'
          ' "rgb reflectance" [0.75 0.74 0.7] "float roughness" [0]')
    # The indices of glass and water, at each boundary relative to the other side.
    for name, eta in (("glass", 1.5), ("wetted glass", 1.5 / 1.33), ("water", 1.33)):
        t.put('MakeNamedMaterial "%s" "string type" ["dielectric"] "float eta" [%s]'
              % (name, num(eta)))
    t.put("")
    t.mesh("table", quad((-6, -4, 0), (6, -4, 0), (6, 3, 0), (-6, 3, 0)))
    t.mesh("wall", quad((-6, 3, -3), (6, 3, -3), (6, 3, 6), (-6, 3, 6)))
    for x, y, medium in ((-0.78, 0.1, "tea"), (0.78, 0.25, "tea with milk")):
        t.block("Translate %s 0" % nums((x, y)), 'NamedMaterial "china"', ply("saucer.ply.gz"),
                "Translate 0 0 0.052", 'NamedMaterial "glass"', ply("glass.ply.gz"),
                'MediumInterface "" "%s"' % medium, 'NamedMaterial "wetted glass"',
                ply("wetted.ply.gz"), 'MediumInterface "%s" ""' % medium, 'NamedMaterial "water"',
                ply("surface.ply.gz"))
    for x, y, z, turn in ((0.0, -0.75, 0, 20), (0.24, -0.62, 0, -35), (0.1, -0.7, 0.16, 5)):
        t.mesh("sugar", box((x - 0.1, y - 0.08, z), (x + 0.1, y + 0.08, z + 0.16), turn))
    t.put("")
    # A window of four panes.
    centre, target = (-4.2, 1.6, 2.6), (0, 0, 0.6)
    side = unit(cross((0, 0, 1), add(target, scale(centre, -1))))
    for u in (-0.8, 0.8):
        for v in (-1, 1):
            shift = add(scale(side, u), (0, 0, v))
            soft_boxes(t, (add(centre, shift), add(target, shift), 1.5, 1.9, (6, 6.2, 6.6)))
    t.write(file("scene.pbrt"))


# -------------------------------------------------------------------------------------------- smoke


def smoke(folder, _):
    t = Text("smoke", "smoke in a room, in the light of a window; its density is a shader",
             (0.2, -4.2, 1.4), (0.05, 0, 1.32), 33, 640, 400, 512, 32, integrator='"volpath"')
    t.diffuse(plaster=(0.5, 0.47, 0.43), boards=(0.26, 0.17, 0.1), table=(0.2, 0.1, 0.05),
              black=(0, 0, 0))
    t.put('MakeNamedMaterial "none" "string type" ["interface"]',
          'MakeNamedMaterial "bronze" "string type" ["conductor"] "float roughness" [0.25]'
          ' "spectrum eta" ["metal-Cu-eta"] "spectrum k" ["metal-Cu-k"]',
          'MakeNamedMedium "smoke" "string type" ["shader"] "string filename" ["plume.wgsl"]'
          ' "float g" [0.5]',
          '  "point3 p0" [-1.1 -1.1 0.75] "point3 p1" [1.1 1.1 2.9]'
          ' "rgb sigma_s" [18 18.4 19.5] "rgb sigma_a" [1.2 1.1 1]', "")
    w, h = 2.4, 2.9
    t.mesh("boards", quad((-w, -5, 0), (w, -5, 0), (w, w, 0), (-w, w, 0)))
    walls = quad((-w, w, 0), (w, w, 0), (w, w, h), (-w, w, h))
    walls.join(quad((w, -5, 0), (w, -5, h), (w, w, h), (w, w, 0)))
    walls.join(quad((-w, -5, h), (-w, w, h), (w, w, h), (w, -5, h)))
    # The wall on the left has a window.
    y0, y1, z0, z1 = -0.9, 0.9, 1.15, 2.45
    for a, b, c, d in ((-5, w, 0, z0), (-5, w, z1, h), (-5, y0, z0, z1), (y1, w, z0, z1)):
        walls.join(quad((-w, a, c), (-w, b, c), (-w, b, d), (-w, a, d)))
    t.mesh("plaster", walls)
    boxes(t, "boards", *(((-w - 0.08, y - 0.03, z0), (-w + 0.02, y + 0.03, z1))
                         for y in (-0.9, -0.3, 0.3, 0.9)),
          *(((-w - 0.08, y0, z - 0.03), (-w + 0.02, y1, z + 0.03)) for z in (z0, 1.8, z1)))
    boxes(t, "table", ((-0.75, -0.5, 0.66), (0.75, 0.5, 0.71)),
          *legs((-0.75, -0.5, 0.66), (0.75, 0.5, 0.71), 0))
    bowl = lathe([[(0.0, 0.0), (0.1, 0.0)], [(0.1, 0.0), (0.06, 0.03)],
                  arc(0.0, 0.17, 0.15, -66, 0, 12), arc(0.14, 0.17, 0.01, 0, 180, 6),
                  arc(0.0, 0.17, 0.13, 0, -90, 12)], 48)
    bowl.write_ply(os.path.join(folder, "bowl.ply.gz"))
    t.block("Translate 0 0 0.71", 'NamedMaterial "bronze"', ply("bowl.ply.gz"))
    t.block('MediumInterface "smoke" ""', 'NamedMaterial "none"',
            triangles(box((-1.1, -1.1, 0.75), (1.1, 1.1, 2.85))))
    t.put("")
    soft_boxes(t, ((-6.0, 1.3, 3.3), (0, 0, 1.4), 0.8, 0.8, (700, 590, 440)))
    t.put('LightSource "infinite" "rgb L" [0.6 0.72 0.95]')
    t.write(os.path.join(folder, "scene.pbrt"))


# ------------------------------------------------------------------------------------- command line

SCENES = {
    "cornell-box": cornell_box,
    "materials": materials,
    "skylight": skylight,
    "many-lights": many_lights,
    "interior": interior,
    "marble": marble,
    "brushed-metal": brushed_metal,
    "julia": julia,
    "showcase": showcase,
    "foggy-town": foggy_town,
    "tea": tea,
    "smoke": smoke,
}


def count(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1, is %d" % value)
    return value


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scene", nargs="*", metavar="SCENE",
                        help="scene to write; all by default: " + ", ".join(SCENES))
    parser.add_argument("--folder", default=os.path.dirname(os.path.abspath(__file__)),
                        help="parent folder of the scenes' folders (default: that of this script)")
    parser.add_argument("--lights", type=count, default=1000,
                        help="many-lights: number of lights (default 1000)")
    parser.add_argument("--trees", type=count, default=1500,
                        help="skylight: number of trees (default 1500)")
    parser.add_argument("--seed", type=int, default=1,
                        help="many-lights and skylight: seed (default 1)")
    parser.add_argument("-o", "--output",
                        help="many-lights: scene file to write instead of many-lights/scene.pbrt")
    args = parser.parse_args()
    for name in args.scene:
        if name not in SCENES:
            parser.error("unknown scene %r; scenes are %s" % (name, ", ".join(SCENES)))
    if args.output and args.scene != ["many-lights"]:
        parser.error("-o applies only to the scene many-lights; use --folder for the others")
    for name in args.scene or SCENES:
        SCENES[name](os.path.join(args.folder, name), args)
        print("wrote", args.output or os.path.join(args.folder, name))


if __name__ == "__main__":
    main()
