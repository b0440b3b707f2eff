"""Translates pbrt scenes of the regression suite to Mitsuba 3, for `suite_mitsuba.py`.

Shapes that Mitsuba lacks (annuli, partial spheres, bilinear patches) become fine meshes with the
normals of the true shape. So do textured spheres, since their texture coordinates differ. Mitsuba's
spotlights have a linear falloff; pbrt's falloff becomes a projected texture, and so do the images
of projection lights. Environment maps are resampled, and object instances become copies. Unknown
features are errors.
"""

import gzip
import pathlib
import re

import mitsuba as mi
import numpy as np
import OpenEXR

from mitsuba_media import Media
from mitsuba_surfaces import Surfaces, rgb

T = mi.ScalarTransform4f
# Cells of a mesh along u and v.
MESH_CELLS = (512, 256)
# Width and height of the falloff texture of a spotlight.
FALLOFF_SIZE = 2048
# Rows of a resampled environment map.
ENVIRONMENT_ROWS = 2048
# Offset of the two copies of a two-sided light from the surface.
TWO_SIDED_OFFSET = 1e-4


def tokens(text):
    """Splits text into words, strings with their quotes, and brackets."""
    return re.findall(r'"[^"]*"|[\[\]]|[^\s\[\]"]+', re.sub(r"#[^\n]*", "", text))


def interpolate(start, end, x):
    """Interpolates translation, rotation and scale of two transforms; `x` is clamped to [0, 1]."""
    start, end, x = np.array(start.matrix), np.array(end.matrix), min(max(x, 0), 1)
    if np.array_equal(start, end):
        return T(start)

    def decompose(matrix):
        u, s, vt = np.linalg.svd(matrix[:3, :3])
        sign = np.sign(np.linalg.det(u @ vt))
        return sign * (u @ vt), sign * (vt.T @ np.diag(s) @ vt)

    (r0, s0), (r1, s1) = decompose(start), decompose(end)
    # The rotation from one to the other: by Rodrigues' formula, with a part of its angle.
    step = r0.T @ r1
    angle = np.arccos(np.clip((np.trace(step) - 1) / 2, -1, 1))
    partial = np.eye(3)
    if angle > 1e-9:
        k = (step - step.T) / (2 * np.sin(angle))
        partial += np.sin(x * angle) * k + (1 - np.cos(x * angle)) * (k @ k)
    result = (1 - x) * start + x * end
    result[:3, :3] = r0 @ partial @ ((1 - x) * s0 + x * s1)
    return T(result)


class Scene:
    """Translates a pbrt file to a scene dictionary of Mitsuba.

    `fraction` of the shutter time has passed. `moves` tells whether this matters.
    """

    def __init__(self, path, temporary, fraction=0.0):
        self.folder, self.temporary = path.parent, pathlib.Path(temporary)
        self.dict = {"type": "scene"}
        self.tokens, self.position = tokens(path.read_text()), 0
        self.surfaces, self.media, self.stack = Surfaces(path.parent), Media(), []
        self.objects, self.object, self.mesh_count = {}, None, 0
        self.camera, self.filter, self.depth = None, ("gaussian", {}), 5
        self.ctms, self.material, self.light = [T(), T()], None, None
        self.sides, self.camera_medium = ("", ""), ""
        self.active, self.times, self.fraction, self.moves = (0, 1), (0.0, 1.0), fraction, False
        self.run()

    @property
    def ctm(self):
        """The current transform."""
        start, end = self.ctms
        self.moves |= not np.array_equal(start.matrix, end.matrix)
        return interpolate(start, end, self.motion_fraction())

    def motion_fraction(self):
        """Returns the fraction of the motion that has passed."""
        shutter = [
            self.camera[1].get(f"shutter{name}", [default])[0] if self.camera else default
            for name, default in [("open", 0.0), ("close", 1.0)]
        ]
        time = shutter[0] + self.fraction * (shutter[1] - shutter[0])
        return (time - self.times[0]) / (self.times[1] - self.times[0])

    def move_vertices(self, p):
        """Replaces the vertices of the start and the end by those in between."""
        for name in ("P", "N"):
            if (end := p.pop(f"{name}1", None)) is not None:
                self.moves = True
                start, x = np.array(p[name]), self.motion_fraction()
                p[name] = list(start + x * (np.array(end) - start))

    def concat(self, transform):
        """Multiplies the active transforms."""
        for i in self.active:
            self.ctms[i] = self.ctms[i] @ transform

    def next(self):
        """Returns the next token."""
        self.position += 1
        return self.tokens[self.position - 1]

    def numbers(self, n):
        return [float(self.next()) for _ in range(n)]

    def parameters(self):
        """Parses parameters `"type name" [values] …`. Returns values by name."""
        parameters = {}
        while self.position < len(self.tokens) and self.tokens[self.position].startswith('"'):
            kind, name = self.next().strip('"').split()
            values = []
            if self.tokens[self.position] == "[":
                self.next()
                while (token := self.next()) != "]":
                    values.append(token)
            else:
                values.append(self.next())
            is_text = kind in ("string", "texture", "spectrum", "bool")
            values = [v.strip('"') if is_text else float(v) for v in values]
            parameters[name] = [("texture", values[0])] if kind == "texture" else values
        return parameters

    def push(self):
        """Saves the graphics state."""
        self.stack.append((list(self.ctms), self.material, self.light, self.sides))

    def run(self):
        """Translates all directives."""
        while self.position < len(self.tokens):
            directive = self.next()
            match directive:
                case "Scale":
                    self.concat(T().scale(self.numbers(3)))
                case "Translate":
                    self.concat(T().translate(self.numbers(3)))
                case "Rotate":
                    angle, *axis = self.numbers(4)
                    # Mitsuba does not normalize the axis.
                    self.concat(T().rotate(list(np.array(axis) / np.linalg.norm(axis)), angle))
                case "ActiveTransform":
                    word = self.next()
                    self.active = {"StartTime": (0,), "EndTime": (1,), "All": (0, 1)}[word]
                case "TransformTimes":
                    self.times = self.numbers(2)
                case "LookAt":
                    self.look = self.numbers(9)
                case "WorldBegin":
                    self.ctms = [T(), T()]
                case "AttributeBegin":
                    self.push()
                case "AttributeEnd" | "ObjectEnd":
                    self.ctms, self.material, self.light, self.sides = self.stack.pop()
                    self.object = None if directive == "ObjectEnd" else self.object
                case "ObjectBegin":
                    self.push()
                    self.object = self.objects[self.next().strip('"')] = []
                case "ObjectInstance":
                    for shape in self.objects[self.next().strip('"')]:
                        self.add(self.instance(shape, self.ctm @ shape["to_world"]))
                case "Include":
                    path = self.folder / self.tokens[self.position].strip('"')
                    self.tokens[self.position : self.position + 1] = tokens(path.read_text())
                case "MediumInterface":
                    inside = outside = self.next().strip('"')
                    if self.tokens[self.position].startswith('"'):
                        outside = self.next().strip('"')
                    self.sides = inside, outside
                case "NamedMaterial":
                    self.material = self.surfaces.materials[self.next().strip('"')]
                case "Texture":
                    name, _, kind = (self.next().strip('"') for _ in range(3))
                    assert np.array_equal(self.ctm.matrix, np.eye(4)), (
                        "textures must not be transformed"
                    )
                    self.surfaces.textures[name] = (kind, self.parameters())
                case _:
                    name = self.next().strip('"')
                    self.entity(directive, name, self.parameters())

    def entity(self, directive, name, p):
        """Translates a directive with a name and parameters."""
        match directive:
            case "Camera":
                self.camera, self.camera_medium = (name, p), self.sides[1]
            case "PixelFilter":
                self.filter = (name, p)
            case "Integrator":
                self.depth = int(p["maxdepth"][0])
            case "MakeNamedMaterial" if p["type"] == ["subsurface"]:
                self.subsurface(name, p)
            case "MakeNamedMaterial":
                self.surfaces.define(name, p)
            case "MakeNamedMedium":
                self.media.define(name, p, self.ctm)
            case "AreaLightSource":
                assert name == "diffuse" and set(p) <= {"L", "filename", "scale", "twosided"}, p
                assert np.linalg.det(np.array(self.ctm.matrix)[:3, :3]) > 0, (
                    "lights must not be mirrored"
                )
                scale = p.get("scale", [1.0])[0]
                if "filename" in p:
                    image = {"filename": p["filename"], "wrap": ["clamp"]}
                    radiance = self.surfaces.image(image, scale)
                else:
                    radiance = rgb(scale * np.array(p["L"]))
                self.light = ({"type": "area", "radiance": radiance}, p.get("twosided") == ["true"])
            case "LightSource":
                self.add(self.light_source(name, p))
            case "Shape":
                self.shape(name, p)
            case "Film" | "Sampler":
                pass
            case _:
                raise SystemExit(f"{directive} cannot be translated")

    def subsurface(self, name, p):
        """Defines a dielectric with a homogeneous medium inside."""
        assert {"sigma_a", "sigma_s"} <= set(p), "only coefficients can be translated"
        medium = {key: p.pop(key) for key in {"sigma_a", "sigma_s", "scale", "g"} & set(p)}
        inside = f"inside {name}"
        self.media.define(inside, medium | {"type": ["homogeneous"]}, self.ctm)
        self.surfaces.define(name, p | {"type": ["dielectric"]}, inside)

    def add(self, item):
        """Adds a shape or a light to the scene or to the current object."""
        if self.object is None:
            self.dict[f"item{len(self.dict)}"] = item
        else:
            self.object.append(item)

    def light_source(self, kind, p):
        if kind == "infinite" and "filename" in p and set(p) <= {"filename", "scale"}:
            bitmap = mi.Bitmap(self.environment_map(p))
            return {"type": "envmap", "bitmap": bitmap, "scale": p.get("scale", [1.0])[0]}
        if kind == "projection" and set(p) <= {"filename", "fov", "scale"}:
            return self.projector(p)
        match kind:
            case "point" if set(p) <= {"I", "from"}:
                position = self.ctm @ mi.ScalarPoint3f(p["from"])
                return {"type": "point", "position": position, "intensity": rgb(p["I"])}
            case "distant" if set(p) <= {"L", "from", "to"}:
                direction = self.ctm @ mi.ScalarVector3f(np.subtract(p["to"], p["from"]))
                return {"type": "directional", "direction": direction, "irradiance": rgb(p["L"])}
            case "spot" if set(p) <= {"I", "from", "to", "coneangle", "conedeltaangle"}:
                return {
                    "type": "spot",
                    "to_world": self.ctm @ T().look_at(p["from"], p["to"], [1, 0, 0]),
                    "intensity": rgb(p["I"]),
                    "texture": spot_falloff(p),
                    "cutoff_angle": p["coneangle"][0],
                    "beam_width": p["coneangle"][0],
                }
            case "infinite" if set(p) <= {"L"}:
                return {"type": "constant", "radiance": rgb(p["L"])}
        raise SystemExit(f"light {kind} cannot be translated: {p}")

    def projector(self, p):
        """Returns a spotlight without falloff that projects an image.

        Mitsuba's projector has another intensity away from its axis.
        """
        path = str(self.folder / p["filename"][0])
        bitmap = mi.Bitmap(path).convert(mi.Bitmap.PixelFormat.RGB, mi.Struct.Type.Float32, False)
        texels = np.array(bitmap)
        size = len(texels)
        assert texels.shape[:2] == (size, size) and size % 4 == 0, "projected images are squares"
        # The cone contains the corners; the image is padded to the square around the cone.
        margin = size // 4
        texels = np.pad(texels[::-1], [(margin, margin), (margin, margin), (0, 0)])
        tangent = np.tan(np.radians(p.get("fov", [90.0])[0] / 2)) * (size + 2 * margin) / size
        cutoff = float(np.degrees(np.arctan(tangent)))
        texture = {"type": "bitmap", "bitmap": mi.Bitmap(np.ascontiguousarray(texels))}
        return {
            "type": "spot",
            "to_world": self.ctm,
            "intensity": rgb(np.repeat(p.get("scale", [1.0])[0], 3)),
            "texture": texture | {"raw": True, "filter_type": "nearest"},
            "cutoff_angle": cutoff,
            "beam_width": cutoff,
        }

    def environment_map(self, p):
        """Resamples an octahedral map (Clarberg 2008) to longitude and latitude."""
        texels = OpenEXR.File(str(self.folder / p["filename"][0])).channels()["RGB"].pixels
        theta = np.pi * np.arange(ENVIRONMENT_ROWS)[:, None] / (ENVIRONMENT_ROWS - 1)
        phi = np.pi * (np.arange(2 * ENVIRONMENT_ROWS)[None] + 0.5) / ENVIRONMENT_ROWS
        x, z = np.sin(theta) * np.sin(phi), -np.sin(theta) * np.cos(phi)
        d = np.stack([x, np.cos(theta) + 0 * phi, z], axis=-1)
        rotation = np.array(self.ctm.matrix)[:3, :3]
        assert np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-6), (
            "environment maps must not be scaled"
        )
        d = d @ rotation
        x, y, z = np.moveaxis(np.abs(d), -1, 0)
        r = np.sqrt(np.maximum(1 - z, 0))
        v = r * np.arctan2(y, x) * 2 / np.pi
        u, v, below = r - v, v, d[..., 2] < 0
        u, v = np.where(below, 1 - v, u), np.where(below, 1 - u, v)
        size = len(texels)

        def texel(coordinate, sign):
            return ((np.copysign(coordinate, sign) + 1) / 2 * size).astype(int).clip(0, size - 1)

        column, row = texel(u, d[..., 0]), texel(v, d[..., 1])
        return np.ascontiguousarray(texels[row, column], dtype=np.float32)

    def shape(self, kind, p):
        material = self.material
        self.move_vertices(p)
        if "alpha" in p:
            material = self.surfaces.masked(material, p.pop("alpha"))
        if kind == "sphere" and set(p) == {"radius"} and not material.textured:
            sphere = {"type": "sphere", "radius": p["radius"][0], "to_world": self.ctm}
            return self.add_shape(sphere, material)
        if kind == "disk" and set(p) == {"radius"} and not material.textured:
            to_world = self.ctm @ T().scale([p["radius"][0]] * 2 + [1])
            return self.add_shape({"type": "disk", "to_world": to_world}, material)
        is_plain = not self.light and not material.planar
        if kind == "plymesh" and set(p) == {"filename"} and is_plain:
            path = self.folder / p["filename"][0]
            is_compressed = path.suffix == ".gz"
            data = gzip.decompress(path.read_bytes()) if is_compressed else path.read_bytes()
            copy = self.temporary / path.with_suffix("" if is_compressed else ".ply").name
            copy.write_bytes(data)
            has_normals = b"property float nx" in data[:1000]
            return self.add_shape(self.ply(copy, has_normals), material)
        points, normals, uv, faces = self.vertices(kind, p)
        if material.planar:
            assert np.array_equal(self.ctm.matrix, np.eye(4)), (
                "planar mappings must not be transformed"
            )
            v1, v2, *delta = map(np.array, material.planar)
            uv = np.stack([points @ v1, points @ v2], axis=1) + np.concatenate(delta)
        copies = [(0, faces)]
        if self.light and self.light[1]:
            copies = [(TWO_SIDED_OFFSET, faces), (-TWO_SIDED_OFFSET, faces[:, ::-1])]
        for offset, faces in copies:
            moved = points + offset * normals if offset else points
            oriented = None if normals is None else np.sign(offset or 1) * normals
            self.add_shape(self.mesh(moved, faces, uv, oriented), material)

    def instance(self, shape, to_world):
        """Returns a shape with another transform. Mitsuba's spheres must not be ellipsoids."""
        matrix = np.array(to_world.matrix)[:3, :3]
        squares = matrix.T @ matrix
        if shape["type"] == "sphere" and not np.allclose(squares, squares[0, 0] * np.eye(3)):
            points, normals, uv, faces = self.vertices("sphere", {"radius": [shape["radius"]]})
            others = {key: value for key, value in shape.items() if key != "radius"}
            shape = others | self.mesh(points, faces, uv, normals)
        return shape | {"to_world": to_world}

    def add_shape(self, shape, material):
        """Adds a shape with its material and the current area light."""
        shape["bsdf"] = material.bsdf
        inside, outside = self.sides
        shape |= self.media.interface(material.inside or inside, outside)
        if self.light:
            shape["emitter"] = self.light[0]
        self.add(shape)

    def vertices(self, kind, p):
        """Tessellates a shape.

        Returns points, normals (or None), texture coordinates (or None) and triangles.
        """
        match kind:
            case "trianglemesh":
                faces = np.reshape(p.get("indices", [0, 1, 2]), (-1, 3)).astype(int)
                return (
                    np.reshape(p["P"], (-1, 3)),
                    optional_array(p, "N", 3),
                    optional_array(p, "uv", 2),
                    faces,
                )
            case "bilinearmesh":
                points = np.reshape(p["P"], (-1, 3))
                patches = np.reshape(p.get("indices", range(4)), (-1, 4)).astype(int)
                if "uv" not in p and len(points) == 4:
                    p["uv"] = [0, 0, 1, 0, 0, 1, 1, 1]
                volumes = (np.dot(np.cross(b - a, c - a), d - a) for a, b, c, d in points[patches])
                if all(abs(volume) < 1e-6 for volume in volumes):
                    faces = np.concatenate([patches[:, [0, 1, 3]], patches[:, [0, 3, 2]]])
                    return points, optional_array(p, "N", 3), optional_array(p, "uv", 2), faces
                assert len(patches) == 1 and "N" not in p, (
                    "a bilinear patch must be a separate shape, without normals"
                )
                uv = np.reshape(p["uv"], (4, 2))
                return bilinear_patch(points[patches[0]], uv)
            case "sphere" if set(p) <= {"radius", "zmin", "zmax", "phimax"}:
                r = p["radius"][0]
                theta_min = np.arccos(p.get("zmin", [-r])[0] / r)
                theta_max = np.arccos(p.get("zmax", [r])[0] / r)
                u, v, faces = grid(*MESH_CELLS)
                theta = theta_min + v * (theta_max - theta_min)
                phi = u * np.radians(p.get("phimax", [360.0])[0])
                x, y = np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi)
                n = np.hstack([x, y, np.cos(theta)])
                return r * n, n, np.hstack([u, v]), faces
            case "cylinder" if set(p) <= {"radius", "zmin", "zmax", "phimax"}:
                u, v, faces = grid(1024, 2)
                phi = u * np.radians(p.get("phimax", [360.0])[0])
                normals = np.hstack([np.cos(phi), np.sin(phi), 0 * u])
                low, high = p.get("zmin", [-1.0])[0], p.get("zmax", [1.0])[0]
                points = p["radius"][0] * normals + np.hstack([0 * u, 0 * u, low + v * (high - low)])
                return points, normals, np.hstack([u, v]), faces
            case "disk" if set(p) <= {"radius", "innerradius", "height"}:
                outer, inner = p["radius"][0], p.get("innerradius", [0.0])[0]
                u, v, faces = grid(1024, 2)
                r, phi = outer + v * (inner - outer), 2 * np.pi * u
                z = p.get("height", [0.0])[0] + 0 * u
                points = np.hstack([r * np.cos(phi), r * np.sin(phi), z])
                normals = np.tile([0.0, 0.0, 1.0], (len(points), 1))
                return points, normals, np.hstack([u, v]), faces
            case "loopsubdiv" if set(p) <= {"levels", "indices", "P"}:
                points = np.reshape(p["P"], (-1, 3))
                faces = np.reshape(p["indices"], (-1, 3)).astype(int)
                levels = int(p.get("levels", [3])[0])
                # The front is clockwise. Limit normals are means of triangles of a finer mesh,
                # which begins with the same vertices.
                fine_points, fine_faces = loop_subdivision(points, faces[:, ::-1], levels + 4)
                a, b, c = np.moveaxis(fine_points[fine_faces], 1, 0)
                normals = np.zeros_like(fine_points)
                for corner in fine_faces.T:
                    np.add.at(normals, corner, np.cross(b - a, c - a))
                normals /= np.linalg.norm(normals, axis=1, keepdims=True)
                points, faces = loop_subdivision(points, faces[:, ::-1], levels)
                normals = normals[: len(points)]
                return points, normals, None, faces
        raise SystemExit(f"shape {kind} cannot be translated: {sorted(p)}")

    def mesh(self, points, faces, uv, normals):
        """Writes a mesh to a PLY file and returns the shape for Mitsuba."""
        columns = {"x y z": points, "nx ny nz": normals, "u v": uv}
        columns = {names: values for names, values in columns.items() if values is not None}
        names = " ".join(columns).split()
        header = f"ply\nformat binary_little_endian 1.0\nelement vertex {len(points)}\n"
        header += "".join(f"property float {n}\n" for n in names)
        header += f"element face {len(faces)}\n"
        header += "property list uchar int vertex_indices\nend_header\n"
        rows = np.empty(len(faces), dtype=[("count", "u1"), ("indices", "<i4", 3)])
        rows["count"], rows["indices"] = 3, faces
        self.mesh_count += 1
        path = self.temporary / f"mesh{self.mesh_count}.ply"
        vertices = np.hstack(list(columns.values())).astype("<f4")
        path.write_bytes(header.encode() + vertices.tobytes() + rows.tobytes())
        return self.ply(path, normals is not None)

    def ply(self, path, has_normals):
        """Returns the shape for a PLY file."""
        shape = {"type": "ply", "filename": str(path), "to_world": self.ctm}
        return shape | {"face_normals": not has_normals}

    def load(self, width, height, border, subpixels, depth):
        """Loads the scene in Mitsuba.

        The film has `border` additional pixels on each side, and `subpixels`² pixels for each pixel
        of the scene.
        """
        name, p = self.camera
        shutter = {"shutteropen", "shutterclose"}
        assert set(p) <= {"fov", "lensradius", "focaldistance", "screenwindow"} | shutter, p
        look = self.look
        enlargement = [1 + 2 * border / size for size in (width, height)]
        sensor = {"to_world": T().look_at(look[0:3], look[3:6], look[6:9])}
        sensor |= {"near_clip": 1e-3, "far_clip": 1e5}
        if name == "orthographic":
            x0, x1, y0, y1 = p["screenwindow"]
            assert (x0, y0, x1) == (-y1, -x1, y1) and width == height, (
                "the screen window must be square"
            )
            scale = T().scale([x1 * enlargement[0], y1 * enlargement[1], 1])
            sensor |= {"type": "orthographic", "to_world": sensor["to_world"] @ scale}
        else:
            shorter_side = enlargement[0] if width < height else enlargement[1]
            fov = 2 * np.degrees(np.arctan(shorter_side * np.tan(np.radians(p["fov"][0]) / 2)))
            sensor |= {"type": "perspective", "fov": float(fov), "fov_axis": "smaller"}
            if p.get("lensradius", [0])[0] > 0:
                sensor |= {
                    "type": "thinlens",
                    "aperture_radius": p["lensradius"][0],
                    "focus_distance": p["focaldistance"][0],
                }
        film = {
            "type": "hdrfilm",
            "rfilter": {"type": "box"},
            "pixel_format": "rgb",
            "component_format": "float32",
            "width": subpixels * (width + 2 * border),
            "height": subpixels * (height + 2 * border),
        }
        if medium := self.media.media[self.camera_medium]:
            sensor["medium"] = medium
        self.dict["sensor"] = sensor | {"film": film}
        # Mitsuba's path tracer would block shadow rays at opacity masks, and would count passing a
        # mask as a bounce.
        kind = "volpath" if self.surfaces.has_masks or self.media.exist() else "path"
        kind = "volpathmis" if self.media.is_chromatic else kind
        self.dict["integrator"] = {"type": kind, "max_depth": depth + 1, "rr_depth": 64}
        return mi.load_dict(self.dict)


def spot_falloff(p):
    """Returns the falloff of pbrt's spotlights, a smoothstep of the cosine, as a texture."""
    cone = np.radians(p["coneangle"][0])
    begin, end = np.cos(cone - np.radians(p["conedeltaangle"][0])), np.cos(cone)
    x = np.tan(cone) * (2 * (np.arange(FALLOFF_SIZE) + 0.5) / FALLOFF_SIZE - 1)
    cosine = 1 / np.sqrt(1 + x[:, None] ** 2 + x[None] ** 2)
    t = np.clip((cosine - end) / (begin - end), 0, 1)
    texels = np.repeat((t * t * (3 - 2 * t))[..., None], 3, axis=2).astype(np.float32)
    return {"type": "bitmap", "bitmap": mi.Bitmap(texels), "raw": True}


def bilinear_patch(corners, coordinates):
    """Tessellates a bilinear patch, like `Scene.vertices`."""
    a, b, c, d = corners
    u, v, faces = grid(128, 128)
    weights = np.hstack([(1 - u) * (1 - v), u * (1 - v), (1 - u) * v, u * v])
    normals = np.cross((1 - v) * (b - a) + v * (d - c), (1 - u) * (c - a) + u * (d - b))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return weights @ corners, normals, weights @ coordinates, faces


def loop_subdivision(points, faces, levels):
    """Returns points and faces of the limit of a Loop subdivision, with pbrt's weights."""
    for level in range(levels + 1):
        n = len(points)
        edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
        opposite = np.concatenate([faces[:, 2], faces[:, 0], faces[:, 1]])
        unique, index, count = np.unique(
            np.sort(edges, axis=1), axis=0, return_inverse=True, return_counts=True
        )
        index = index.reshape(-1)
        border = unique[count == 1]
        is_border = np.zeros(n, bool)
        is_border[border.reshape(-1)] = True
        valence, ring = np.zeros(n), np.zeros((n, 3))
        chord = np.zeros((n, 3))
        for a, b in [(0, 1), (1, 0)]:
            np.add.at(valence, unique[:, a], 1)
            np.add.at(ring, unique[:, a], points[unique[:, b]])
            np.add.at(chord, border[:, a], points[border[:, b]])
        beta = np.where(valence == 3, 3 / 16, 3 / (8 * valence))
        is_last = level == levels
        weight = 1 / (valence + 3 / (8 * beta)) if is_last else beta
        border_weight = 1 / 5 if is_last else 1 / 8
        weight = weight[:, None]
        inner = (1 - valence[:, None] * weight) * points + weight * ring
        outer = (1 - 2 * border_weight) * points + border_weight * chord
        moved = np.where(is_border[:, None], outer, inner)
        if is_last:
            return moved, faces
        ends = points[unique].sum(axis=1)
        wings = np.zeros((len(unique), 3))
        np.add.at(wings, index, points[opposite])
        middle = np.where((count == 1)[:, None], ends / 2, 3 / 8 * ends + wings / 8)
        ab, bc, ca = n + index.reshape(3, -1)
        a, b, c = faces.T
        parts = [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]
        points = np.concatenate([moved, middle])
        faces = np.concatenate([np.stack(part, axis=1) for part in parts])


def grid(columns, rows):
    """Returns u and v of the vertices of a grid, one per row, and its triangles.

    Triangles are oriented like ∂p/∂u × ∂p/∂v.
    """
    u, v = np.meshgrid(np.linspace(0, 1, columns + 1), np.linspace(0, 1, rows + 1))
    a = (np.arange(rows)[:, None] * (columns + 1) + np.arange(columns)).reshape(-1, 1)
    b, c, d = a + 1, a + columns + 1, a + columns + 2
    return (
        u.reshape(-1, 1),
        v.reshape(-1, 1),
        np.vstack([np.hstack([a, b, d]), np.hstack([a, d, c])]),
    )


def optional_array(p, name, width):
    """Returns a list parameter as an array with rows of `width`, or None if it is absent."""
    return np.reshape(p[name], (-1, width)) if name in p else None
