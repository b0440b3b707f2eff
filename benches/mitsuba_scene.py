"""Translates pbrt scenes of the regression suite to Mitsuba 3 (`llvm_ad_rgb`), for `suite_mitsuba.py`.

Shapes that Mitsuba lacks (annuli, parts of spheres, bent patches, textured spheres, whose coordinates differ) become
fine meshes with the normals of the true shape. The soft rim of spotlights, whose falloff is linear in Mitsuba, becomes
a finely sampled projected texture. Environment maps are resampled. Instances of objects become copies. Anything unknown
is an error.
"""
import gzip
import pathlib
import re

import mitsuba as mi
import numpy as np
import OpenEXR

from mitsuba_surfaces import Surfaces, rgb

T = mi.ScalarTransform4f
# Resolutions: cells of meshes along u and v, texture of a spotlight's rim, rows of an environment map.
MESH, RIM, ROWS = (512, 256), 2048, 2048
# Distance between the two copies of a two-sided light.
GAP = 1e-4


def tokens(text):
    """Tokens: words, strings with their quotes, and brackets."""
    return re.findall(r'"[^"]*"|[\[\]]|[^\s\[\]"]+', re.sub(r"#[^\n]*", "", text))


class Scene:
    """A pbrt file as a scene dictionary of Mitsuba."""

    def __init__(self, path, temporary):
        self.folder, self.temporary, self.dict = path.parent, pathlib.Path(temporary), {"type": "scene"}
        self.words, self.at = tokens(path.read_text()), 0
        self.surfaces, self.stack, self.groups, self.group, self.meshes = Surfaces(path.parent), [], {}, None, 0
        self.camera, self.filter, self.depth = None, ("gaussian", {}), 5
        self.ctm, self.material, self.light = T(), None, None
        self.run()

    def word(self):
        self.at += 1
        return self.words[self.at - 1]

    def numbers(self, n):
        return [float(self.word()) for _ in range(n)]

    def parameters(self):
        """`"type name" [values]` …, by name."""
        found = {}
        while self.at < len(self.words) and self.words[self.at].startswith('"'):
            kind, name = self.word().strip('"').split()
            values = []
            if self.words[self.at] == "[":
                self.word()
                while (word := self.word()) != "]":
                    values.append(word)
            else:
                values.append(self.word())
            text = kind in ("string", "texture", "spectrum", "bool")
            found[name] = [v.strip('"') for v in values] if text else [float(v) for v in values]
            if kind == "texture":
                found[name] = [("texture", found[name][0])]
        return found

    def run(self):
        while self.at < len(self.words):
            word = self.word()
            match word:
                case "Scale":
                    self.ctm = self.ctm @ T().scale(self.numbers(3))
                case "Translate":
                    self.ctm = self.ctm @ T().translate(self.numbers(3))
                case "Rotate":
                    angle, *axis = self.numbers(4)
                    # Mitsuba does not normalize the axis.
                    self.ctm = self.ctm @ T().rotate(list(np.array(axis) / np.linalg.norm(axis)), angle)
                case "LookAt":
                    self.look = self.numbers(9)
                case "WorldBegin":
                    self.ctm = T()
                case "AttributeBegin":
                    self.stack.append((self.ctm, self.material, self.light))
                case "AttributeEnd" | "ObjectEnd":
                    self.ctm, self.material, self.light = self.stack.pop()
                    self.group = None if word == "ObjectEnd" else self.group
                case "ObjectBegin":
                    self.stack.append((self.ctm, self.material, self.light))
                    self.group = self.groups[self.word().strip('"')] = []
                case "ObjectInstance":
                    for shape in self.groups[self.word().strip('"')]:
                        self.add(shape | {"to_world": self.ctm @ shape["to_world"]})
                case "Include":
                    self.words[self.at : self.at + 1] = tokens((self.folder / self.words[self.at].strip('"')).read_text())
                case "NamedMaterial":
                    self.material = self.surfaces.materials[self.word().strip('"')]
                case "Texture":
                    name, _, kind = (self.word().strip('"') for _ in range(3))
                    assert np.array_equal(self.ctm.matrix, np.eye(4)), "a texture in a space of its own"
                    self.surfaces.textures[name] = (kind, self.parameters())
                case _:
                    name = self.word().strip('"')
                    self.entity(word, name, self.parameters())

    def entity(self, word, name, p):
        match word:
            case "Camera":
                self.camera = (name, p)
            case "PixelFilter":
                self.filter = (name, p)
            case "Integrator":
                self.depth = int(p["maxdepth"][0])
            case "MakeNamedMaterial":
                self.surfaces.define(name, p)
            case "AreaLightSource":
                assert name == "diffuse" and set(p) <= {"L", "scale", "twosided"}, p
                assert np.linalg.det(np.array(self.ctm.matrix)[:3, :3]) > 0, "a mirrored light"
                radiance = rgb(p.get("scale", [1.0])[0] * np.array(p["L"]))
                self.light = ({"type": "area", "radiance": radiance}, p.get("twosided") == ["true"])
            case "LightSource":
                self.add(self.source(name, p))
            case "Shape":
                self.shape(name, p)
            case "Film" | "Sampler":
                pass
            case _:
                raise SystemExit(f"{word} cannot be translated")

    def add(self, thing):
        if self.group is None:
            self.dict[f"thing{len(self.dict)}"] = thing
        else:
            self.group.append(thing)

    def source(self, kind, p):
        if kind == "infinite" and "filename" in p and set(p) <= {"filename", "scale"}:
            return {"type": "envmap", "bitmap": mi.Bitmap(self.around(p)), "scale": p.get("scale", [1.0])[0]}
        assert np.array_equal(self.ctm.matrix, np.eye(4)), "a light in a space of its own"
        match kind:
            case "point" if set(p) <= {"I", "from"}:
                return {"type": "point", "position": p["from"], "intensity": rgb(p["I"])}
            case "distant" if set(p) <= {"L", "from", "to"}:
                return {"type": "directional", "direction": list(np.subtract(p["to"], p["from"])), "irradiance": rgb(p["L"])}
            case "spot" if set(p) <= {"I", "from", "to", "coneangle", "conedeltaangle"}:
                place = T().look_at(p["from"], p["to"], [1, 0, 0])
                cone = {"cutoff_angle": p["coneangle"][0], "beam_width": p["coneangle"][0]}
                return {"type": "spot", "to_world": place, "intensity": rgb(p["I"]), "texture": rim(p)} | cone
            case "infinite" if set(p) <= {"L"}:
                return {"type": "constant", "radiance": rgb(p["L"])}
        raise SystemExit(f"light {kind} cannot be translated: {p}")

    def around(self, p):
        """Resamples an octahedral image (Clarberg 2008) to longitude and latitude, by nearest texel."""
        texels = OpenEXR.File(str(self.folder / p["filename"][0])).channels()["RGB"].pixels
        theta = np.pi * np.arange(ROWS)[:, None] / (ROWS - 1)
        phi = np.pi * (np.arange(2 * ROWS)[None] + 0.5) / ROWS
        d = np.stack([np.sin(theta) * np.sin(phi), np.cos(theta) + 0 * phi, -np.sin(theta) * np.cos(phi)], axis=-1)
        turn = np.array(self.ctm.matrix)[:3, :3]
        assert np.allclose(turn @ turn.T, np.eye(3), atol=1e-6), "an image that is stretched"
        d = d @ turn
        x, y, z = np.moveaxis(np.abs(d), -1, 0)
        r = np.sqrt(np.maximum(1 - z, 0))
        v = r * np.arctan2(y, x) * 2 / np.pi
        u, v, below = r - v, v, d[..., 2] < 0
        u, v = np.where(below, 1 - v, u), np.where(below, 1 - u, v)
        size = len(texels)
        column, row = (((np.copysign(a, d[..., i]) + 1) / 2 * size).astype(int).clip(0, size - 1) for i, a in enumerate((u, v)))
        return np.ascontiguousarray(texels[row, column], dtype=np.float32)

    def shape(self, kind, p):
        material = self.material
        if "alpha" in p:
            material = self.surfaces.masked(material, p.pop("alpha"))
        if kind == "sphere" and set(p) == {"radius"} and not material.textured:
            return self.place({"type": "sphere", "radius": p["radius"][0], "to_world": self.ctm}, material)
        if kind == "disk" and set(p) == {"radius"} and not material.textured:
            return self.place({"type": "disk", "to_world": self.ctm @ T().scale([p["radius"][0]] * 2 + [1])}, material)
        if kind == "plymesh" and set(p) == {"filename"} and not self.light and not material.planar:
            path = self.folder / p["filename"][0]
            plain = self.temporary / path.with_suffix("" if path.suffix == ".gz" else ".ply").name
            plain.write_bytes(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes())
            flat = b"property float nx" not in plain.read_bytes()[:1000]
            return self.place({"type": "ply", "filename": str(plain), "face_normals": flat, "to_world": self.ctm}, material)
        points, normals, uv, faces = self.vertices(kind, p)
        if material.planar:
            assert np.array_equal(self.ctm.matrix, np.eye(4)), "planar coordinates in a space of their own"
            v1, v2, *delta = map(np.array, material.planar)
            uv = np.stack([points @ v1, points @ v2], axis=1) + np.concatenate(delta)
        copies = [(0, faces)]
        if self.light and self.light[1]:
            copies = [(GAP, faces), (-GAP, faces[:, ::-1])]
        for gap, faces in copies:
            moved = points + gap * normals if gap else points
            self.place(self.mesh(moved, faces, uv, None if normals is None else np.sign(gap or 1) * normals), material)

    def place(self, shape, material):
        shape["bsdf"] = material.bsdf
        if self.light:
            shape["emitter"] = self.light[0]
        self.add(shape)

    def vertices(self, kind, p):
        """Points, normals (or None), texture coordinates and triangles of a mesh or a tessellated shape."""
        match kind:
            case "trianglemesh":
                faces = np.reshape(p.get("indices", [0, 1, 2]), (-1, 3)).astype(int)
                return np.reshape(p["P"], (-1, 3)), given(p, "N", 3), given(p, "uv", 2), faces
            case "bilinearmesh":
                points, patches = np.reshape(p["P"], (-1, 3)), np.reshape(p.get("indices", range(4)), (-1, 4)).astype(int)
                if all(abs(np.dot(np.cross(b - a, c - a), d - a)) < 1e-6 for a, b, c, d in points[patches]):
                    faces = np.concatenate([patches[:, [0, 1, 3]], patches[:, [0, 3, 2]]])
                    return points, given(p, "N", 3), given(p, "uv", 2), faces
                assert len(patches) == 1 and "N" not in p, "bent patches alone"
                return bent(points[patches[0]], np.reshape(p.get("uv", [0, 0, 1, 0, 0, 1, 1, 1]), (4, 2)))
            case "sphere" if set(p) <= {"radius", "zmin", "zmax", "phimax"}:
                r = p["radius"][0]
                low, high = (np.arccos(p.get(name, [end])[0] / r) for name, end in (("zmin", -r), ("zmax", r)))
                u, v, faces = grid(*MESH)
                theta, phi = low + v * (high - low), u * np.radians(p.get("phimax", [360.0])[0])
                n = np.hstack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)])
                return r * n, n, np.hstack([u, v]), faces
            case "disk" if set(p) <= {"radius", "innerradius", "height"}:
                outer, inner = p["radius"][0], p.get("innerradius", [0.0])[0]
                u, v, faces = grid(1024, 2)
                r, phi = outer + v * (inner - outer), 2 * np.pi * u
                points = np.hstack([r * np.cos(phi), r * np.sin(phi), p.get("height", [0.0])[0] + 0 * u])
                return points, np.tile([0.0, 0.0, 1.0], (len(points), 1)), np.hstack([u, v]), faces
        raise SystemExit(f"shape {kind} cannot be translated: {sorted(p)}")

    def mesh(self, points, faces, uv, normals):
        """Writes a PLY file, from which Mitsuba loads vertices."""
        columns = {"x y z": points, "nx ny nz": normals, "u v": uv}
        columns = {names: values for names, values in columns.items() if values is not None}
        names = " ".join(columns).split()
        head = f"ply\nformat binary_little_endian 1.0\nelement vertex {len(points)}\n"
        head += "".join(f"property float {n}\n" for n in names)
        head += f"element face {len(faces)}\nproperty list uchar int vertex_indices\nend_header\n"
        rows = np.empty(len(faces), dtype=[("n", "u1"), ("at", "<i4", 3)])
        rows["n"], rows["at"] = 3, faces
        self.meshes += 1
        path = self.temporary / f"mesh{self.meshes}.ply"
        path.write_bytes(head.encode() + np.hstack(list(columns.values())).astype("<f4").tobytes() + rows.tobytes())
        return {"type": "ply", "filename": str(path), "face_normals": normals is None, "to_world": self.ctm}

    def load(self, width, height, border, fineness, depth):
        """The scene for Mitsuba; its film has `border` additional pixels on each side, and each pixel has `fineness`² parts."""
        name, p = self.camera
        assert set(p) <= {"fov", "lensradius", "focaldistance", "screenwindow"}, p
        n = self.look
        wide = [1 + 2 * border / size for size in (width, height)]
        sensor = {"to_world": T().look_at(n[0:3], n[3:6], n[6:9]), "near_clip": 1e-3, "far_clip": 1e5}
        if name == "orthographic":
            x0, x1, y0, y1 = p["screenwindow"]
            assert (x0, y0, x1) == (-y1, -x1, y1) and width == height, "only square windows"
            sensor |= {"type": "orthographic", "to_world": sensor["to_world"] @ T().scale([x1 * wide[0], y1 * wide[1], 1])}
        else:
            shorter = wide[0] if width < height else wide[1]
            fov = 2 * np.degrees(np.arctan(shorter * np.tan(np.radians(p["fov"][0]) / 2)))
            sensor |= {"type": "perspective", "fov": float(fov), "fov_axis": "smaller"}
            if p.get("lensradius", [0])[0] > 0:
                sensor |= {"type": "thinlens", "aperture_radius": p["lensradius"][0], "focus_distance": p["focaldistance"][0]}
        sizes = {"width": fineness * (width + 2 * border), "height": fineness * (height + 2 * border)}
        film = {"type": "hdrfilm", "rfilter": {"type": "box"}, "pixel_format": "rgb", "component_format": "float32"}
        self.dict["sensor"] = sensor | {"film": film | sizes}
        # Mitsuba's path tracer would block shadow rays at holes, and count passing a hole as a bounce.
        kind = "volpath" if self.surfaces.holes else "path"
        self.dict["integrator"] = {"type": kind, "max_depth": depth + 1, "rr_depth": 64}
        return mi.load_dict(self.dict)


def rim(p):
    """The falloff of pbrt's spotlights, a smoothstep of the cosine, as a projected texture."""
    cone = np.radians(p["coneangle"][0])
    begin, end = np.cos(cone - np.radians(p["conedeltaangle"][0])), np.cos(cone)
    x = np.tan(cone) * (2 * (np.arange(RIM) + 0.5) / RIM - 1)
    cosine = 1 / np.sqrt(1 + x[:, None] ** 2 + x[None] ** 2)
    t = np.clip((cosine - end) / (begin - end), 0, 1)
    picture = np.repeat((t * t * (3 - 2 * t))[..., None], 3, axis=2).astype(np.float32)
    return {"type": "bitmap", "bitmap": mi.Bitmap(picture), "raw": True}


def bent(corners, coordinates):
    """The result of `Scene.vertices` for one bilinear patch."""
    a, b, c, d = corners
    u, v, faces = grid(128, 128)
    weights = np.hstack([(1 - u) * (1 - v), u * (1 - v), (1 - u) * v, u * v])
    normals = np.cross((1 - v) * (b - a) + v * (d - c), (1 - u) * (c - a) + u * (d - b))
    return weights @ corners, normals / np.linalg.norm(normals, axis=1, keepdims=True), weights @ coordinates, faces


def grid(columns, rows):
    """u and v of a grid's vertices, one a row, and its triangles, whose front is that of ∂p/∂u × ∂p/∂v."""
    u, v = np.meshgrid(np.linspace(0, 1, columns + 1), np.linspace(0, 1, rows + 1))
    a = (np.arange(rows)[:, None] * (columns + 1) + np.arange(columns)).reshape(-1, 1)
    b, c, d = a + 1, a + columns + 1, a + columns + 2
    return u.reshape(-1, 1), v.reshape(-1, 1), np.vstack([np.hstack([a, b, d]), np.hstack([a, d, c])])


def given(p, name, width):
    """A list of numbers as an array of rows; None stays None."""
    return np.reshape(p[name], (-1, width)) if name in p else None
