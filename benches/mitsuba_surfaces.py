"""Translates materials and textures of pbrt scenes to Mitsuba 3 (`llvm_ad_rgb`), for `suite_mitsuba.py`.

Where Mitsuba has no equivalent, the smallest part that differs is implemented here from its source: height-correlated
masking and shadowing (Heitz 2014; Mitsuba multiplies two independent terms), and diffuse transmission. Spectra are
projected as documented for the renderer, but from Mitsuba's tables; that of brass, which Mitsuba lacks, is the
renderer's own.
"""
import dataclasses
import pathlib
import re

import drjit as dr
import mitsuba as mi
import numpy as np

T2 = mi.ScalarTransform3f
METALS = pathlib.Path(mi.__file__).parent / "data" / "ior"
TABLES = pathlib.Path(__file__).resolve().parent.parent / "renderer" / "src" / "spectrum" / "metals.rs"

# IEC 61966-2-1.
RGB_FROM_XYZ = np.array(
    [[3.2404542, -1.5371385, -0.4985314], [-0.969266, 1.8760108, 0.041556], [0.0556434, -0.2040259, 1.0572252]]
)
# Supported parameters of materials and image textures; others are an error.
MATERIALS = {
    "diffuse": "reflectance",
    "dielectric": "eta roughness remaproughness",
    "thindielectric": "eta",
    "conductor": "eta k reflectance roughness uroughness vroughness remaproughness",
    "diffusetransmission": "reflectance transmittance scale",
    "mix": "materials amount",
}
PLANAR = ["v1", "v2", "udelta", "vdelta"]
IMAGE = ["filename", "uscale", "vscale", "wrap", "filter", "encoding", "scale", "invert", "mapping", *PLANAR]


def rgb(values):
    return {"type": "rgb", "value": list(values)}


@dataclasses.dataclass
class Material:
    """A material, and the texture coordinates that it needs: those of pbrt, or planar ones (v1, v2, udelta, vdelta)."""

    bsdf: object
    textured: bool = False
    planar: tuple | None = None


def spectrum(name):
    """Linear sRGB of a named metal spectrum under D65."""
    symbol, which = re.fullmatch(r"metal-(\w+)-(eta|k)", name).groups()
    nm = np.arange(360, 831)
    if symbol == "CuZn":
        table = re.search(rf"const CUZN_{which.upper()}: \[f32; 48\] = \[([^\]]*)\]", TABLES.read_text()).group(1)
        known = [360 + 10 * np.arange(48), np.array([float(x) for x in table.split(",") if x.strip()])]
    else:
        known = np.loadtxt(METALS / f"{symbol}.{which}.spd").T
    xyz = np.array(mi.cie1931_xyz(mi.Float(nm))) * np.array(mi.cie_d65(mi.Float(nm)))
    channels = RGB_FROM_XYZ @ xyz
    return channels @ np.interp(nm, *known) / channels.sum(axis=1)


class CorrelatedMasking(mi.BSDF):
    """A rough GGX conductor or dielectric of Mitsuba, but with G₂ = 1/(1 + Λᵢ + Λₒ) instead of 1/((1 + Λᵢ)(1 + Λₒ))."""

    def __init__(self, inner, alpha):
        mi.BSDF.__init__(self, mi.Properties())
        self.inner, self.alpha = mi.load_dict(inner), alpha
        self.m_flags, self.m_components = self.inner.flags(), [self.inner.flags(i) for i in range(self.inner.component_count())]

    def ratio(self, wi, wo):
        def hidden(w):
            slope = (dr.square(self.alpha[0] * w.x) + dr.square(self.alpha[1] * w.y)) / dr.square(w.z)
            return 0.5 * (dr.sqrt(1 + slope) - 1)

        i, o = hidden(wi), hidden(wo)
        return (1 + i) * (1 + o) / (1 + i + o)

    def sample(self, ctx, si, sample1, sample2, active):
        drawn, weight = self.inner.sample(ctx, si, sample1, sample2, active)
        return drawn, weight * dr.select(drawn.pdf > 0, self.ratio(si.wi, drawn.wo), 0)

    def eval(self, ctx, si, wo, active):
        return self.inner.eval(ctx, si, wo, active) * self.ratio(si.wi, wo)

    def pdf(self, ctx, si, wo, active):
        return self.inner.pdf(ctx, si, wo, active)

    def eval_pdf(self, ctx, si, wo, active):
        return self.eval(ctx, si, wo, active), self.pdf(ctx, si, wo, active)


class DiffuseTransmission(mi.BSDF):
    """Lambert's law on both sides: pbrt's `diffusetransmission`."""

    def __init__(self, reflected, transmitted):
        mi.BSDF.__init__(self, mi.Properties())
        self.reflected, self.transmitted = mi.Color3f(reflected), mi.Color3f(transmitted)
        self.share = float(max(reflected) / (max(reflected) + max(transmitted)))
        both = mi.BSDFFlags.FrontSide | mi.BSDFFlags.BackSide
        self.m_components = [mi.BSDFFlags.DiffuseReflection | both, mi.BSDFFlags.DiffuseTransmission | both]
        self.m_flags = self.m_components[0] | self.m_components[1]

    def sample(self, ctx, si, sample1, sample2, active):
        wo = mi.warp.square_to_cosine_hemisphere(sample2)
        up = (sample1 < self.share) == (si.wi.z > 0)
        wo.z = dr.select(up, wo.z, -wo.z)
        drawn = mi.BSDFSample3f(wo)
        drawn.pdf = self.pdf(ctx, si, wo, active)
        drawn.eta, drawn.sampled_type, drawn.sampled_component = 1.0, +mi.BSDFFlags.DiffuseReflection, 0
        value = self.eval(ctx, si, wo, active)
        return drawn, dr.select(drawn.pdf > 0, value / drawn.pdf, 0)

    def eval(self, ctx, si, wo, active):
        same = si.wi.z * wo.z > 0
        return dr.select(active, dr.select(same, self.reflected, self.transmitted) * dr.inv_pi * dr.abs(wo.z), 0)

    def pdf(self, ctx, si, wo, active):
        share = dr.select(si.wi.z * wo.z > 0, self.share, 1 - self.share)
        return dr.select(active, share * dr.inv_pi * dr.abs(wo.z), 0)

    def eval_pdf(self, ctx, si, wo, active):
        return self.eval(ctx, si, wo, active), self.pdf(ctx, si, wo, active)


class Surfaces:
    """The textures and materials of a scene, by name."""

    def __init__(self, folder):
        self.folder, self.textures, self.materials, self.holes = folder, {}, {}, False

    def define(self, name, p):
        self.materials[name] = self.material(p.pop("type")[0], p)

    def material(self, kind, p):
        assert set(p) <= set(MATERIALS.get(kind, "").split()), f"material {kind} cannot be translated: {p}"
        parts = [self.materials[name] for name in p.get("materials", [])]
        uses = list(self.uses(p))
        places = {tuple(tuple(t.get(name, [0.0])) for name in PLANAR) for t in uses if t.get("mapping") == ["planar"]}
        assert not places or len(uses) == 1, "planar textures beside others"
        assert not any(part.planar for part in parts), "planar textures in mixtures"
        bsdf = self.bsdf(kind, p)
        textured = bool(uses) or any(part.textured for part in parts)
        return Material(mi.load_dict(bsdf) if isinstance(bsdf, dict) else bsdf, textured, *places)

    def uses(self, p):
        """The parameters of all textures that parameters refer to, directly or indirectly."""
        for value in p.values():
            if isinstance(value[0], tuple):
                texture = self.textures[value[0][1]][1]
                yield texture
                yield from self.uses(texture)

    def bsdf(self, kind, p):
        eta = {"int_ior": p.get("eta", [1.5])[0], "ext_ior": 1.0}
        match kind:
            case "diffuse":
                return two_sided(self.diffuse(p["reflectance"]))
            case "dielectric" if "roughness" in p:
                a = alpha(p)
                return CorrelatedMasking({"type": "roughdielectric", "distribution": "ggx", "alpha": a[0], **eta}, a)
            case "dielectric" | "thindielectric":
                return {"type": kind, **eta}
            case "conductor":
                return two_sided(self.conductor(p))
            case "diffusetransmission":
                scale = p.get("scale", [1.0])[0]
                return DiffuseTransmission(*(scale * np.array(p[name]) for name in ("reflectance", "transmittance")))
            case "mix":
                first, second = (self.materials[name].bsdf for name in p["materials"])
                return {"type": "blendbsdf", "weight": self.value(p["amount"]), "first": first, "second": second}

    def diffuse(self, reflectance):
        """Mixed textures become mixtures of materials, which are equivalent here."""
        if isinstance(reflectance[0], tuple):
            kind, p = self.textures[reflectance[0][1]]
            if kind == "mix" and "amount" in p and not isinstance(p["amount"][0], tuple):
                parts = {"first": self.diffuse(p["tex1"]), "second": self.diffuse(p["tex2"])}
                return {"type": "blendbsdf", "weight": p["amount"][0], **parts}
        return {"type": "diffuse", "reflectance": self.value(reflectance)}

    def conductor(self, p):
        if "reflectance" in p:
            index = np.ones(3), 2 * np.sqrt(np.array(p["reflectance"]) / (1 - np.array(p["reflectance"])))
        else:
            index = [spectrum(p.get(which, [f"metal-Cu-{which}"])[0]) for which in ("eta", "k")]
        index = {which: {"type": "rawconstant", "value": list(map(float, v))} for which, v in zip(("eta", "k"), index)}
        a = alpha(p)
        if max(a) == 0:
            return {"type": "conductor", **index}
        return CorrelatedMasking({"type": "roughconductor", "distribution": "ggx", "alpha_u": a[0], "alpha_v": a[1], **index}, a)

    def value(self, value, factor=1.0):
        """A Mitsuba texture for a colour, a number or the name of a texture."""
        if not isinstance(value[0], tuple):
            return rgb(factor * np.array(value)) if len(value) == 3 else {"type": "rawconstant", "value": factor * value[0]}
        kind, p = self.textures[value[0][1]]
        known = {"uscale", "vscale", "udelta", "vdelta"}
        if kind == "checkerboard" and set(p) <= known | {"tex1", "tex2", "dimension"}:
            return self.board(p, factor * np.array(p["tex1"]), factor * np.array(p["tex2"]))
        if kind == "mix" and not any(isinstance(p[name][0], tuple) for name in ("tex1", "tex2")):
            kind, board = self.textures[p["amount"][0][1]]
            assert kind == "checkerboard", kind
            ends = np.array(p["tex1"]), np.array(p["tex2"])
            return self.board(board, *(factor * (ends[0] + board[name][0] * (ends[1] - ends[0])) for name in ("tex1", "tex2")))
        if kind == "scale" and set(p) == {"tex", "scale"}:
            return self.value(p["tex"], factor * p["scale"][0])
        if kind == "imagemap":
            return self.image(p, factor)
        raise SystemExit(f"texture {kind} cannot be translated: {p}")

    def board(self, p, even, odd):
        if p.get("dimension", [2]) == [3]:
            cells = np.indices((2, 2, 2)).sum(axis=0) % 2
            grid = np.where(cells[..., None] == 0, even, odd).astype(np.float32)
            volume = {"type": "gridvolume", "grid": mi.VolumeGrid(grid), "to_world": mi.ScalarTransform4f().scale(2)}
            return {"type": "volume", "volume": volume | {"filter_type": "nearest", "wrap_mode": "repeat", "raw": True}}
        # Mitsuba's own checkerboard orders numbers and colours differently.
        place = T2().scale(0.5) @ T2().translate(offset(p)) @ T2().scale(scale(p))
        texels = mi.Bitmap(np.array([[even, odd], [odd, even]], dtype=np.float32))
        return {"type": "bitmap", "bitmap": texels, "raw": True, "filter_type": "nearest", "to_uv": place}

    def image(self, p, factor):
        assert set(p) <= set(IMAGE) and p.get("mapping", ["uv"])[0] in ("uv", "planar"), p
        bitmap = mi.Bitmap(str(self.folder / p["filename"][0]))
        if p.get("encoding") == ["linear"]:
            bitmap.set_srgb_gamma(False)
        formats = mi.Bitmap.PixelFormat
        kept = formats.Y if bitmap.pixel_format() == formats.Y else formats.RGB
        texels = np.array(bitmap.convert(kept, mi.Struct.Type.Float32, False))
        texels = p.get("scale", [1.0])[0] * texels.reshape(*texels.shape[:2], -1)
        if p.get("invert") == ["true"]:
            texels = np.maximum(1 - texels, 0)
        # The first row lies at v = 0, pbrt's at t = 1.
        place = T2().translate([0, 1]) @ T2().scale([1, -1])
        if p.get("mapping") != ["planar"]:
            place = place @ T2().translate(offset(p)) @ T2().scale(scale(p))
        wrap = p.get("wrap", ["repeat"])[0]
        if wrap == "black":
            # The image with a black border of its own size, which is enough for these coordinates.
            height, width = texels.shape[:2]
            texels, wrap = np.pad(texels, ((height, height), (width, width), (0, 0))), "clamp"
            place = T2().translate([1 / 3, 1 / 3]) @ T2().scale(1 / 3) @ place
        kind = {"point": "nearest", "bilinear": "bilinear"}[p.get("filter", ["bilinear"])[0]]
        texels = mi.Bitmap((factor * texels).astype(np.float32))
        return {"type": "bitmap", "bitmap": texels, "raw": True, "filter_type": kind, "wrap_mode": wrap, "to_uv": place}

    def masked(self, material, opacity):
        """The material with holes."""
        self.holes = True
        bsdf = mi.load_dict({"type": "mask", "opacity": self.value(opacity), "nested": material.bsdf})
        return Material(bsdf, True, material.planar)


def scale(p):
    return [p.get("uscale", [1.0])[0], p.get("vscale", [1.0])[0]]


def offset(p):
    return [p.get("udelta", [0.0])[0], p.get("vdelta", [0.0])[0]]


def alpha(p):
    """Roughness along u and v in Mitsuba's convention."""
    both = p.get("roughness", [0.0])
    found = [p.get(name, both)[0] for name in ("uroughness", "vroughness")]
    return found if p.get("remaproughness") == ["false"] else [x**0.5 for x in found]


def two_sided(bsdf):
    return {"type": "twosided", "inner": bsdf}
