"""Translates participating media of pbrt scenes to Mitsuba 3, for `suite_mitsuba.py`.

Both use coefficients per unit of length in world space, and grids in which x varies fastest. pbrt
interpolates to 0 within half a cell of the bounds of a grid, so grids get a border of zeros here.
The boundary of a medium must therefore lie within the bounds. Mitsuba has no media that emit.
"""

import mitsuba as mi
import numpy as np

T = mi.ScalarTransform4f
COMMON = {"type", "scale", "g"}


class Media:
    """The media of a scene, by name; the name of empty space is empty."""

    def __init__(self):
        self.media = {"": None}
        # Whether the extinction of a medium differs between the channels.
        self.is_chromatic = False

    def define(self, name, p, ctm):
        kind = p["type"][0]
        translate = {
            "homogeneous": self.homogeneous,
            "uniformgrid": self.uniform_grid,
            "rgbgrid": self.rgb_grid,
        }
        if kind not in translate:
            raise SystemExit(f"medium {kind} cannot be translated")
        medium = translate[kind](p, ctm)
        medium["phase"] = {"type": "hg", "g": p.get("g", [0.0])[0]}
        self.media[name] = mi.load_dict(medium)

    def exist(self):
        """Returns whether there are media."""
        return len(self.media) > 1

    def interface(self, inside, outside):
        """Returns the media of a shape; its normal points to the one `outside`."""
        if inside == outside:
            return {}
        sides = {"interior": self.media[inside], "exterior": self.media[outside]}
        return {side: medium for side, medium in sides.items() if medium is not None}

    def coefficients(self, sigma_a, sigma_s):
        """Returns the extinction and the albedo of arrays of coefficients."""
        sigma_t = sigma_a + sigma_s
        self.is_chromatic |= bool(np.any(sigma_t != sigma_t[..., :1]))
        return sigma_t, sigma_s / np.where(sigma_t > 0, sigma_t, 1)

    def homogeneous(self, p, _ctm):
        assert set(p) <= COMMON | {"sigma_a", "sigma_s"}, p
        sigma_t, albedo = self.coefficients(*scattering(p))
        return {"type": "homogeneous", "sigma_t": constant(sigma_t), "albedo": constant(albedo)}

    def uniform_grid(self, p, ctm):
        known = {"sigma_a", "sigma_s", "density", "nx", "ny", "nz", "p0", "p1"}
        assert set(p) <= COMMON | known, p
        sigma_t, albedo = self.coefficients(*scattering(p))
        density = grid(p, "density", 1)
        return {
            "type": "heterogeneous",
            "sigma_t": volume(p, ctm, density * sigma_t),
            "albedo": constant(albedo),
        }

    def rgb_grid(self, p, ctm):
        assert set(p) <= COMMON | {"sigma_a", "sigma_s", "nx", "ny", "nz", "p0", "p1"}, p
        scale = p.get("scale", [1.0])[0]
        sigma_a, sigma_s = (scale * grid(p, name, 3) for name in ("sigma_a", "sigma_s"))
        sigma_t, albedo = self.coefficients(sigma_a, sigma_s)
        # pbrt interpolates both coefficients, Mitsuba the albedo.
        constants = np.max(albedo, axis=(0, 1, 2))
        assert np.allclose(np.where(sigma_t > 0, albedo, constants), constants), (
            "the albedo must be constant"
        )
        sigma_t = volume(p, ctm, sigma_t)
        return {"type": "heterogeneous", "sigma_t": sigma_t, "albedo": constant(constants)}


def scattering(p):
    """Returns the coefficients of absorption and scattering, times the scale."""
    scale = p.get("scale", [1.0])[0]
    return [scale * np.array(p.get(name, [1.0] * 3)) for name in ("sigma_a", "sigma_s")]


def constant(value):
    return {"type": "constvolume", "value": {"type": "rgb", "value": list(map(float, value))}}


def grid(p, name, channels):
    """Returns values of a grid with the axes z, y, x and channel."""
    size = [int(p.get(n, [1])[0]) for n in ("nz", "ny", "nx")]
    return np.reshape(p[name], (*size, channels))


def volume(p, ctm, values):
    """Returns a grid between the corners `p0` and `p1`, with a border of zeros."""
    n = np.array(values.shape[2::-1])
    p0, p1 = (np.array(p.get(name, [x] * 3)) for name, x in (("p0", 0.0), ("p1", 1.0)))
    cell = (p1 - p0) / n
    to_world = ctm @ T().translate(list(p0 - cell)) @ T().scale(list(p1 - p0 + 2 * cell))
    padded = np.pad(values, ((1, 1), (1, 1), (1, 1), (0, 0))).astype(np.float32)
    return {
        "type": "gridvolume",
        "grid": mi.VolumeGrid(padded),
        "to_world": to_world,
        "raw": True,
    }
