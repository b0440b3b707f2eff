"""Translates materials and textures of pbrt scenes to Mitsuba 3, for `suite_mitsuba.py`.

Where Mitsuba has no equivalent, a minimal replacement is implemented here from the literature:
height-correlated masking and shadowing (Heitz 2014; Mitsuba multiplies two independent terms), and
diffuse transmission. Spectra are converted to RGB as the renderer does, but with Mitsuba's
tables. Mitsuba has no brass, so its spectrum comes from the renderer.
"""

import dataclasses
import pathlib
import re

import drjit as dr
import mitsuba as mi
import numpy as np

T2 = mi.ScalarTransform3f
METALS = pathlib.Path(mi.__file__).parent / "data" / "ior"
ROOT = pathlib.Path(__file__).resolve().parent.parent
METAL_TABLES = ROOT / "renderer/math/src/spectrum/metals.rs"

# IEC 61966-2-1.
RGB_FROM_XYZ = np.array(
    [
        [3.2404542, -1.5371385, -0.4985314],
        [-0.969266, 1.8760108, 0.041556],
        [0.0556434, -0.2040259, 1.0572252],
    ]
)
# Supported parameters of materials and image textures; all others are errors.
MATERIALS = {
    "diffuse": "reflectance",
    "dielectric": "eta roughness remaproughness",
    "thindielectric": "eta",
    "conductor": "eta k reflectance roughness uroughness vroughness remaproughness",
    "diffusetransmission": "reflectance transmittance scale",
    "measured": "filename",
    "mix": "materials amount",
    "interface": "",
}
# Parameters of all materials but mixtures.
BUMPS = {"displacement", "normalmap"}
# Mitsuba also adjusts normals and light near the horizon, unless told otherwise.
PBRT_BUMPS = {"use_shadowing_function": False, "flip_invalid_normals": False}
PLANAR = ["v1", "v2", "udelta", "vdelta"]
IMAGE = "filename uscale vscale wrap filter encoding scale invert mapping".split() + PLANAR


def rgb(values):
    return {"type": "rgb", "value": list(values)}


@dataclasses.dataclass
class Material:
    """A material and its texture coordinates."""

    bsdf: object
    # Whether the material needs the texture coordinates of pbrt's shapes.
    textured: bool = False
    # Parameters v1, v2, udelta and vdelta of a planar mapping.
    planar: tuple | None = None
    # Name of the medium of a subsurface material.
    inside: str = ""


def spectrum(name):
    """Returns the linear sRGB colour of a named metal spectrum under D65."""
    symbol, which = re.fullmatch(r"metal-(\w+)-(eta|k)", name).groups()
    nm = np.arange(360, 831)
    if symbol == "CuZn":
        pattern = rf"const CUZN_{which.upper()}: \[f32; 48\] = \[([^\]]*)\]"
        table = re.search(pattern, METAL_TABLES.read_text()).group(1)
        values = [float(x) for x in table.split(",") if x.strip()]
        points = [360 + 10 * np.arange(48), np.array(values)]
    else:
        points = np.loadtxt(METALS / f"{symbol}.{which}.spd").T
    xyz = np.array(mi.cie1931_xyz(mi.Float(nm))) * np.array(mi.cie_d65(mi.Float(nm)))
    channels = RGB_FROM_XYZ @ xyz
    return channels @ np.interp(nm, *points) / channels.sum(axis=1)


class CorrelatedMasking(mi.BSDF):
    """A rough GGX conductor or dielectric of Mitsuba, with height-correlated masking.

    G₂ is 1/(1 + Λᵢ + Λₒ) instead of 1/((1 + Λᵢ)(1 + Λₒ)).
    """

    def __init__(self, inner, alpha):
        mi.BSDF.__init__(self, mi.Properties())
        self.inner, self.alpha = mi.load_dict(inner), alpha
        self.m_flags = self.inner.flags()
        self.m_components = [self.inner.flags(i) for i in range(self.inner.component_count())]

    def ratio(self, wi, wo):
        """Returns the height-correlated G₂ divided by the separable one."""

        def smith_lambda(w):
            x, y = self.alpha[0] * w.x, self.alpha[1] * w.y
            slope2 = (dr.square(x) + dr.square(y)) / dr.square(w.z)
            return 0.5 * (dr.sqrt(1 + slope2) - 1)

        i, o = smith_lambda(wi), smith_lambda(wo)
        return (1 + i) * (1 + o) / (1 + i + o)

    def sample(self, ctx, si, sample1, sample2, active):
        bs, weight = self.inner.sample(ctx, si, sample1, sample2, active)
        return bs, weight * dr.select(bs.pdf > 0, self.ratio(si.wi, bs.wo), 0)

    def eval(self, ctx, si, wo, active):
        return self.inner.eval(ctx, si, wo, active) * self.ratio(si.wi, wo)

    def pdf(self, ctx, si, wo, active):
        return self.inner.pdf(ctx, si, wo, active)

    def eval_pdf(self, ctx, si, wo, active):
        return self.eval(ctx, si, wo, active), self.pdf(ctx, si, wo, active)


class DiffuseTransmission(mi.BSDF):
    """Lambertian reflection and transmission: pbrt's `diffusetransmission`."""

    def __init__(self, reflected, transmitted):
        mi.BSDF.__init__(self, mi.Properties())
        self.reflected, self.transmitted = mi.Color3f(reflected), mi.Color3f(transmitted)
        self.p_reflect = float(max(reflected) / (max(reflected) + max(transmitted)))
        sides = mi.BSDFFlags.FrontSide | mi.BSDFFlags.BackSide
        lobes = mi.BSDFFlags.DiffuseReflection, mi.BSDFFlags.DiffuseTransmission
        self.m_components = [lobe | sides for lobe in lobes]
        self.m_flags = self.m_components[0] | self.m_components[1]

    def sample(self, ctx, si, sample1, sample2, active):
        wo = mi.warp.square_to_cosine_hemisphere(sample2)
        up = (sample1 < self.p_reflect) == (si.wi.z > 0)
        wo.z = dr.select(up, wo.z, -wo.z)
        bs = mi.BSDFSample3f(wo)
        bs.pdf = self.pdf(ctx, si, wo, active)
        bs.eta, bs.sampled_component = 1.0, 0
        bs.sampled_type = +mi.BSDFFlags.DiffuseReflection
        value = self.eval(ctx, si, wo, active)
        return bs, dr.select(bs.pdf > 0, value / bs.pdf, 0)

    def eval(self, ctx, si, wo, active):
        value = dr.select(si.wi.z * wo.z > 0, self.reflected, self.transmitted)
        return dr.select(active, value * dr.inv_pi * dr.abs(wo.z), 0)

    def pdf(self, ctx, si, wo, active):
        p = dr.select(si.wi.z * wo.z > 0, self.p_reflect, 1 - self.p_reflect)
        return dr.select(active, p * dr.inv_pi * dr.abs(wo.z), 0)

    def eval_pdf(self, ctx, si, wo, active):
        return self.eval(ctx, si, wo, active), self.pdf(ctx, si, wo, active)


class Surfaces:
    """The textures and materials of a scene, by name."""

    def __init__(self, folder):
        self.folder, self.textures, self.materials = folder, {}, {}
        self.has_masks = False

    def define(self, name, p, inside=""):
        self.materials[name] = self.material(p.pop("type")[0], p)
        self.materials[name].inside = inside

    def material(self, kind, p):
        known = set(MATERIALS.get(kind, "").split()) | (set() if kind == "mix" else BUMPS)
        assert set(p) <= known, f"material {kind} cannot be translated: {p}"
        components = [self.materials[name] for name in p.get("materials", [])]
        textures = list(self.referenced_textures(p))
        planar = [t for t in textures if t.get("mapping") == ["planar"]]
        mappings = {tuple(tuple(t.get(name, [0.0])) for name in PLANAR) for t in planar}
        assert not mappings or len(textures) == 1, "a planar texture must be the only texture"
        assert not any(c.planar for c in components), "mixtures must not have planar textures"
        bsdf = self.bumped(self.bsdf(kind, p), p)
        textured = bool(textures) or "normalmap" in p or any(c.textured for c in components)
        return Material(mi.load_dict(bsdf) if isinstance(bsdf, dict) else bsdf, textured, *mappings)

    def referenced_textures(self, p):
        """Yields the parameters of all textures that `p` refers to, directly or indirectly."""
        for value in p.values():
            if isinstance(value[0], tuple):
                texture = self.textures[value[0][1]][1]
                yield texture
                yield from self.referenced_textures(texture)

    def bsdf(self, kind, p):
        eta = {"int_ior": p.get("eta", [1.5])[0], "ext_ior": 1.0}
        match kind:
            case "interface":
                return {"type": "null"}
            case "diffuse":
                return two_sided(self.diffuse(p["reflectance"]))
            case "dielectric" if "roughness" in p:
                a = alpha(p)
                inner = {"type": "roughdielectric", "distribution": "ggx", "alpha": a[0], **eta}
                return CorrelatedMasking(inner, a)
            case "dielectric" | "thindielectric":
                return {"type": kind, **eta}
            case "conductor":
                return two_sided(self.conductor(p))
            case "measured":
                path = str(self.folder / p["filename"][0])
                return two_sided({"type": "measured", "filename": path})
            case "diffusetransmission":
                scale = p.get("scale", [1.0])[0]
                names = "reflectance", "transmittance"
                return DiffuseTransmission(*(scale * np.array(p[name]) for name in names))
            case "mix":
                first, second = (self.materials[name].bsdf for name in p["materials"])
                weight = self.value(p["amount"])
                return {"type": "blendbsdf", "weight": weight, "first": first, "second": second}

    def bumped(self, bsdf, p):
        """Returns a BSDF with the bump map or normal map of a material."""
        if "normalmap" in p:
            normals = self.image({"filename": p["normalmap"], "encoding": ["linear"]}, 1.0)
            return {"type": "normalmap", "normalmap": normals, "nested": bsdf, **PBRT_BUMPS}
        if "displacement" in p:
            height = self.value(p["displacement"])
            return {"type": "bumpmap", "height": height, "nested": bsdf, **PBRT_BUMPS}
        return bsdf

    def diffuse(self, reflectance):
        """Returns a diffuse BSDF. A `mix` texture becomes an equivalent blend of BSDFs."""
        if isinstance(reflectance[0], tuple):
            kind, p = self.textures[reflectance[0][1]]
            if kind == "mix" and "amount" in p and not isinstance(p["amount"][0], tuple):
                components = {"first": self.diffuse(p["tex1"]), "second": self.diffuse(p["tex2"])}
                return {"type": "blendbsdf", "weight": p["amount"][0], **components}
        return {"type": "diffuse", "reflectance": self.value(reflectance)}

    def conductor(self, p):
        if "reflectance" in p:
            r = np.array(p["reflectance"])
            eta_k = {"eta": np.ones(3), "k": 2 * np.sqrt(r / (1 - r))}
        else:
            names = {name: p.get(name, [f"metal-Cu-{name}"])[0] for name in ("eta", "k")}
            eta_k = {name: spectrum(metal) for name, metal in names.items()}
        index = {
            name: {"type": "rawconstant", "value": list(map(float, value))}
            for name, value in eta_k.items()
        }
        a = alpha(p)
        if max(a) == 0:
            return {"type": "conductor", **index}
        roughness = {"distribution": "ggx", "alpha_u": a[0], "alpha_v": a[1]}
        return CorrelatedMasking({"type": "roughconductor", **roughness, **index}, a)

    def value(self, value, factor=1.0):
        """Translates a colour, a number or a texture reference to a Mitsuba texture."""
        if not isinstance(value[0], tuple):
            if len(value) == 3:
                return rgb(factor * np.array(value))
            return {"type": "rawconstant", "value": factor * value[0]}
        kind, p = self.textures[value[0][1]]
        known = {"uscale", "vscale", "udelta", "vdelta"}
        if kind == "checkerboard" and set(p) <= known | {"tex1", "tex2", "dimension"}:
            return self.checkerboard(p, factor * np.array(p["tex1"]), factor * np.array(p["tex2"]))
        if kind == "mix" and not any(isinstance(p[name][0], tuple) for name in ("tex1", "tex2")):
            kind, amount = self.textures[p["amount"][0][1]]
            assert kind == "checkerboard", kind
            a, b = np.array(p["tex1"]), np.array(p["tex2"])
            colours = (factor * (a + amount[name][0] * (b - a)) for name in ("tex1", "tex2"))
            return self.checkerboard(amount, *colours)
        if kind == "scale" and set(p) == {"tex", "scale"}:
            return self.value(p["tex"], factor * p["scale"][0])
        if kind == "imagemap":
            return self.image(p, factor)
        raise SystemExit(f"texture {kind} cannot be translated: {p}")

    def checkerboard(self, p, even, odd):
        if p.get("dimension", [2]) == [3]:
            cells = np.indices((2, 2, 2)).sum(axis=0) % 2
            grid = np.where(cells[..., None] == 0, even, odd).astype(np.float32)
            volume = {
                "type": "gridvolume",
                "grid": mi.VolumeGrid(grid),
                "to_world": mi.ScalarTransform4f().scale(2),
                "filter_type": "nearest",
                "wrap_mode": "repeat",
                "raw": True,
            }
            return {"type": "volume", "volume": volume}
        # A bitmap, since Mitsuba's checkerboard swaps its two values in scalar lookups (`eval_1`).
        to_uv = T2().scale(0.5) @ T2().translate(offset(p)) @ T2().scale(scale(p))
        texels = mi.Bitmap(np.array([[even, odd], [odd, even]], dtype=np.float32))
        bitmap = {"type": "bitmap", "bitmap": texels, "raw": True}
        return bitmap | {"filter_type": "nearest", "to_uv": to_uv}

    def image(self, p, factor):
        assert set(p) <= set(IMAGE) and p.get("mapping", ["uv"])[0] in ("uv", "planar"), p
        bitmap = mi.Bitmap(str(self.folder / p["filename"][0]))
        if p.get("encoding") == ["linear"]:
            bitmap.set_srgb_gamma(False)
        formats = mi.Bitmap.PixelFormat
        pixel_format = formats.Y if bitmap.pixel_format() == formats.Y else formats.RGB
        texels = np.array(bitmap.convert(pixel_format, mi.Struct.Type.Float32, False))
        texels = p.get("scale", [1.0])[0] * texels.reshape(*texels.shape[:2], -1)
        if p.get("invert") == ["true"]:
            texels = np.maximum(1 - texels, 0)
        # The first row is at v = 0 in Mitsuba, and at t = 1 in pbrt.
        to_uv = T2().translate([0, 1]) @ T2().scale([1, -1])
        if p.get("mapping") != ["planar"]:
            to_uv = to_uv @ T2().translate(offset(p)) @ T2().scale(scale(p))
        wrap = p.get("wrap", ["repeat"])[0]
        if wrap == "black":
            # A black border of the size of the image suffices for the texture coordinates in use.
            height, width = texels.shape[:2]
            texels = np.pad(texels, ((height, height), (width, width), (0, 0)))
            wrap = "clamp"
            to_uv = T2().translate([1 / 3, 1 / 3]) @ T2().scale(1 / 3) @ to_uv
        filter_type = {"point": "nearest", "bilinear": "bilinear"}[p.get("filter", ["bilinear"])[0]]
        texels = mi.Bitmap((factor * texels).astype(np.float32))
        bitmap = {"type": "bitmap", "bitmap": texels, "raw": True}
        return bitmap | {"filter_type": filter_type, "wrap_mode": wrap, "to_uv": to_uv}

    def masked(self, material, opacity):
        """Returns the material with an opacity mask."""
        self.has_masks = True
        bsdf = mi.load_dict(
            {"type": "mask", "opacity": self.value(opacity), "nested": material.bsdf}
        )
        return Material(bsdf, True, material.planar)


def scale(p):
    return [p.get("uscale", [1.0])[0], p.get("vscale", [1.0])[0]]


def offset(p):
    return [p.get("udelta", [0.0])[0], p.get("vdelta", [0.0])[0]]


def alpha(p):
    """Returns the roughness along u and v in Mitsuba's convention."""
    isotropic = p.get("roughness", [0.0])
    roughness = [p.get(name, isotropic)[0] for name in ("uroughness", "vroughness")]
    return roughness if p.get("remaproughness") == ["false"] else [x**0.5 for x in roughness]


def two_sided(bsdf):
    return {"type": "twosided", "inner": bsdf}
