#!/usr/bin/env python3
"""Holds references of the regression suite against Mitsuba 3 (`scalar_rgb`), where that has the same features.

    python -m venv mi && mi/bin/pip install mitsuba numpy OpenEXR
    mi/bin/python benches/suite_mitsuba.py [--spp N] [--case NAME …]

Scenes are translated from pbrt text: triangles, patches that are flat, spheres, disks and PLY meshes; diffuse and dielectric materials, checkerboards; area, point,
distant and constant infinite lights; perspective, thin-lens and orthographic cameras. Anything else is an error, so that no difference
is explained away. Pictures are cut into 4 × 4 blocks; a block's difference is r = reference / Mitsuba − 1 of the means over its pixels and channels, its deviation
comes from the reference's variance and from how Mitsuba's pictures with different seeds differ, pixel by pixel.

The last column says how many deviations the worst block is from 0 beyond LIMIT, by which edges may differ: Mitsuba's Gaussian
filter ends elsewhere than pbrt's. Exit codes: 0 all within 4 of them, 1 not.
"""
import argparse
import gzip
import pathlib
import re
import sys
import tempfile
import tomllib

# The script beside this one has the name of the package.
sys.path.pop(0)
import mitsuba as mi
import numpy as np
import OpenEXR

mi.set_variant("scalar_rgb")
T = mi.ScalarTransform4f
SCENES = pathlib.Path(__file__).resolve().parent.parent / "scenes"
CASES = ["cornell-box", "independent", "interior", "many-lights", "lanterns", "glass", "lens", "orthographic"]
LIMIT = 0.003
BLOCKS, SEEDS = 4, 4


def tokens(text):
    """Words, strings with their quotes, and brackets."""
    return re.findall(r'"[^"]*"|[\[\]]|[^\s\[\]"]+', re.sub(r"#[^\n]*", "", text))


class Scene:
    """What a pbrt file says, as a dictionary for Mitsuba."""

    def __init__(self, path, case):
        self.folder, self.case, self.dict = path.parent, case, {"type": "scene"}
        self.words, self.at = tokens(path.read_text()), 0
        self.materials, self.textures, self.stack = {}, {}, []
        self.camera, self.film, self.filter, self.depth = {}, {}, ("gaussian", {}), 5
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
                    self.ctm = self.ctm @ (T().rotate(axis, angle) if angle else T())
                case "LookAt":
                    n = self.numbers(9)
                    # pbrt's x points right, Mitsuba's left; both look along z.
                    self.ctm = self.ctm @ T().look_at(n[0:3], n[3:6], n[6:9]).inverse()
                    self.look = n
                case "WorldBegin":
                    self.ctm = T()
                case "AttributeBegin":
                    self.stack.append((self.ctm, self.material, self.light))
                case "AttributeEnd":
                    self.ctm, self.material, self.light = self.stack.pop()
                case "NamedMaterial":
                    self.material = self.materials[self.word().strip('"')]
                case "Texture":
                    name, _, kind = (self.word().strip('"') for _ in range(3))
                    self.textures[name] = (kind, self.parameters())
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
                self.materials[name] = self.bsdf(p.pop("type")[0], p)
            case "AreaLightSource":
                assert name == "diffuse" and set(p) <= {"L"}, p
                self.light = {"type": "area", "radiance": rgb(p["L"])}
            case "LightSource":
                self.add(self.source(name, p))
            case "Shape":
                for shape in self.shape(name, p):
                    shape["bsdf"] = self.material
                    if self.light:
                        shape["emitter"] = self.light
                    self.add(shape)
            case "Film" | "Sampler":
                pass
            case _:
                raise SystemExit(f"{word} cannot be translated")

    def add(self, thing):
        self.dict[f"thing{len(self.dict)}"] = thing

    def colour(self, value):
        if not isinstance(value[0], tuple):
            return rgb(value)
        kind, p = self.textures[value[0][1]]
        assert kind == "checkerboard" and set(p) <= {"uscale", "vscale", "tex1", "tex2"}, (kind, p)
        # Mitsuba's squares are half a unit wide.
        scale = [p["uscale"][0] / 2, p["vscale"][0] / 2, 1]
        return {"type": "checkerboard", "color0": rgb(p["tex1"]), "color1": rgb(p["tex2"]), "to_uv": T().scale(scale)}

    def bsdf(self, kind, p):
        if kind == "diffuse" and set(p) <= {"reflectance"}:
            return {"type": "twosided", "inner": {"type": "diffuse", "reflectance": self.colour(p["reflectance"])}}
        eta = {"int_ior": p.get("eta", [1.5])[0], "ext_ior": 1.0}
        if kind == "dielectric" and p.get("roughness", [0])[0] > 0:
            assert p["remaproughness"] == ["false"]
            return {"type": "roughdielectric", "distribution": "ggx", "alpha": p["roughness"][0], **eta}
        if kind in ("dielectric", "thindielectric"):
            return {"type": kind, **eta}
        raise SystemExit(f"material {kind} cannot be translated: {p}")

    def source(self, kind, p):
        if kind == "point" and set(p) <= {"I", "from"}:
            return {"type": "point", "position": p["from"], "intensity": rgb(p["I"])}
        if kind == "infinite" and set(p) <= {"L"}:
            return {"type": "constant", "radiance": rgb(p["L"])}
        raise SystemExit(f"light {kind} cannot be translated: {p}")

    def shape(self, kind, p):
        if kind == "sphere" and set(p) <= {"radius"}:
            return [{"type": "sphere", "radius": p["radius"][0], "to_world": self.ctm}]
        if kind == "disk" and set(p) <= {"radius"}:
            return [{"type": "disk", "to_world": self.ctm @ T().scale([p["radius"][0]] * 2 + [1])}]
        if kind == "trianglemesh" or kind == "bilinearmesh":
            points = np.reshape(p["P"], (-1, 3))
            faces = p.get("indices", [0, 1, 2, 3] if kind == "bilinearmesh" else [0, 1, 2])
            faces = np.reshape(faces, (-1, 3 if kind == "trianglemesh" else 4)).astype(int)
            if kind == "bilinearmesh":
                for a, b, c, d in points[faces]:
                    assert abs(np.dot(np.cross(b - a, c - a), d - a)) < 1e-6, "the patch is not flat"
                faces = np.concatenate([faces[:, [0, 1, 3]], faces[:, [0, 3, 2]]])
            return [self.mesh(points, faces, np.reshape(p["uv"], (-1, 2)) if "uv" in p else None, p.get("N"))]
        if kind == "plymesh":
            path = self.folder / p["filename"][0]
            plain = pathlib.Path(self.case.temporary) / path.with_suffix("" if path.suffix == ".gz" else ".ply").name
            plain.write_bytes(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes())
            return [{"type": "ply", "filename": str(plain), "to_world": self.ctm}]
        raise SystemExit(f"shape {kind} cannot be translated: {sorted(p)}")

    def mesh(self, points, faces, uv, normals):
        """A PLY file, since that is how Mitsuba takes vertices."""
        columns = [points] + ([np.reshape(normals, (-1, 3))] if normals else []) + ([uv] if uv is not None else [])
        names = ["x", "y", "z"] + (["nx", "ny", "nz"] if normals else []) + (["u", "v"] if uv is not None else [])
        head = f"ply\nformat ascii 1.0\nelement vertex {len(points)}\n" + "".join(f"property float {n}\n" for n in names)
        head += f"element face {len(faces)}\nproperty list uchar int vertex_indices\nend_header\n"
        rows = [" ".join(f"{x:.9g}" for x in row) for row in np.hstack(columns)] + [f"3 {a} {b} {c}" for a, b, c in faces]
        path = pathlib.Path(self.case.temporary) / f"mesh{len(self.dict)}.ply"
        path.write_text(head + "\n".join(rows) + "\n")
        return {"type": "ply", "filename": str(path), "face_normals": not normals, "to_world": self.ctm}

    def load(self, width, height, depth):
        name, p = self.camera
        n = self.look
        sensor = {"to_world": T().look_at(n[0:3], n[3:6], n[6:9]), "near_clip": 1e-3, "far_clip": 1e5}
        if name == "orthographic":
            x0, x1, y0, y1 = p["screenwindow"]
            assert (x0, y0, x1) == (-y1, -x1, y1), "only square windows"
            sensor |= {"type": "orthographic", "to_world": sensor["to_world"] @ T().scale([x1, y1, 1])}
        else:
            sensor |= {"type": "perspective", "fov": p["fov"][0], "fov_axis": "smaller"}
            if p.get("lensradius", [0])[0] > 0:
                sensor |= {"type": "thinlens", "aperture_radius": p["lensradius"][0], "focus_distance": p["focaldistance"][0]}
        kinds = {"gaussian": {"type": "gaussian", "stddev": 0.5}, "mitchell": {"type": "mitchell"}}
        film = {"type": "hdrfilm", "width": width, "height": height, "rfilter": kinds[self.filter[0]], "pixel_format": "rgb"}
        sensor["film"] = film | {"component_format": "float32"}
        self.dict["sensor"] = sensor
        self.dict["integrator"] = {"type": "path", "max_depth": depth + 1, "rr_depth": 64}
        return mi.load_dict(self.dict)


def rgb(values):
    return {"type": "rgb", "value": list(values)}


class Case:
    """A case of the suite."""

    def __init__(self, entry, defaults, temporary):
        get = lambda key, default=None: entry.get(key, defaults.get(key, default))
        self.temporary = temporary
        self.reference = OpenEXR.File(str(SCENES / "references" / f"{entry['name']}.exr"), separate_channels=True).channels()
        scene = Scene(SCENES / entry["scene"], self)
        height, width = self.channel("R").shape
        self.scene = scene.load(width, height, get("depth", scene.depth))

    def channel(self, name):
        return self.reference[name].pixels.astype(float)

    def measure(self, spp):
        """r and its deviation for each block, and for the whole picture."""
        pictures = [np.array(mi.render(self.scene, spp=spp, seed=seed), dtype=float) for seed in range(SEEDS)]
        theirs, theirs_variance = np.mean(pictures, axis=0), np.var(pictures, axis=0, ddof=1) / SEEDS
        ours = np.stack([self.channel(c) for c in "RGB"], axis=2)
        variance = np.stack([self.channel(f"variance.{c}") for c in "RGB"], axis=2) + theirs_variance

        def difference(cut):
            # Channels share their paths: their errors add up.
            deviation = np.sqrt(np.sum(np.sum(np.sqrt(variance[cut]), axis=2) ** 2)) / np.sum(theirs[cut])
            return np.sum(ours[cut]) / np.sum(theirs[cut]) - 1, deviation

        blocks = []
        for rows in np.array_split(np.arange(ours.shape[0]), BLOCKS):
            for columns in np.array_split(np.arange(ours.shape[1]), BLOCKS):
                blocks.append(difference(np.ix_(rows, columns)))
        return np.array(blocks), difference(np.s_[:, :])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--spp", type=int, default=256, help="samples per pixel of each of Mitsuba's pictures [default: 256]")
    parser.add_argument("--case", nargs="+", default=CASES)
    options = parser.parse_args()
    suite = tomllib.loads((SCENES / "suite.toml").read_text())
    entries = {entry["name"]: entry for entry in suite["case"]}
    print("| case | whole picture, r | blocks: rms r | largest r | mean deviation | beyond the limit, deviations |\n|---|---:|---:|---:|---:|---:|")
    worst = 0.0
    for name in options.case:
        with tempfile.TemporaryDirectory() as temporary:
            blocks, whole = Case(entries[name], suite["defaults"], temporary).measure(options.spp)
        r, deviation = np.abs(blocks[:, 0]), blocks[:, 1]
        beyond = max(0.0, np.max((r - LIMIT) / deviation))
        worst = max(worst, beyond)
        rms = np.sqrt(np.mean(r**2))
        print(f"| {name} | {100 * whole[0]:+.2f} ± {100 * whole[1]:.2f} % | {100 * rms:.2f} % | {100 * r.max():.2f} % | {100 * deviation.mean():.2f} % | {beyond:.1f} |", flush=True)
    sys.exit(int(worst > 4))


if __name__ == "__main__":
    main()
