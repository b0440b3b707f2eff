"""Evaluates assets/shaders/openpbr.wgsl for random parameters and directions, for comparisons."""

import pathlib
import re
import subprocess

import numpy as np

# Parameters and their ranges, for groups of lobes.
BASE = {
    "base_weight": (0, 1), "base_color": (0, 1, 3), "base_diffuse_roughness": (0, 1),
}
SPECULAR = {
    "specular_weight": (0, 1), "specular_color": (0, 1, 3), "specular_roughness": (0.2, 1),
    "specular_ior": (1, 3), "specular_roughness_anisotropy": (0, 0.9),
}
METAL = {"base_metalness": (0, 1)}
COAT = {
    "coat_weight": (0, 1), "coat_color": (0, 1, 3), "coat_roughness": (0.2, 1),
    "coat_roughness_anisotropy": (0, 0.9), "coat_ior": (1, 3), "coat_darkening": (0, 1),
}
FUZZ = {"fuzz_weight": (0, 1), "fuzz_color": (0, 1, 3), "fuzz_roughness": (0, 1)}
FILM = {
    "thin_film_weight": (0, 1), "thin_film_thickness": (0, 1), "thin_film_ior": (1, 3),
}
OTHER = {
    "transmission_weight": (0, 1), "subsurface_weight": (0, 1), "subsurface_color": (0, 1, 3),
}
SHADER = pathlib.Path(__file__).parent.parent / "assets" / "shaders" / "openpbr.wgsl"


def defaults(lightbound):
    """Default values of the shader's parameters, by name."""
    table = subprocess.run([lightbound, "shader", "check", SHADER], capture_output=True,
                           text=True, check=True).stdout
    rows = re.findall(r"^(\w+) +(f32|vec3f|bool) +(?:\[.*?[\])]|-) +(\(.*?\)|\S+)", table, re.M)
    values = {}
    for name, kind, text in rows:
        numbers = [float(x) for x in text.replace("false", "0").strip("()").split(",")]
        values[name] = numbers * (3 if kind == "vec3f" and len(numbers) == 1 else 1)
    return values


def directions(random, count):
    """Uniform directions of the upper hemisphere, up to 85° from the normal."""
    z = random.uniform(np.cos(np.radians(85)), 1, count)
    phi = random.uniform(0, 2 * np.pi, count)
    s = np.sqrt(1 - z * z)
    return np.stack([s * np.cos(phi), s * np.sin(phi), z], 1)


def columns(random, count, parameters, varied, fixed, default):
    """Random or fixed values of the parameters, pairs of name and number of components."""
    for name, size in parameters:
        if name in varied:
            low, high = varied[name][:2]
            yield random.uniform(low, high, (count, size))
        else:
            values = [float(fixed[name])] * size if name in fixed else default[name]
            yield np.tile(values, (count, 1))


def evaluate(lightbound, folder, parameters, rows):
    """s of the shader for rows of wi, wo and parameters."""
    header = ["wi.x", "wi.y", "wi.z", "wo.x", "wo.y", "wo.z"]
    for name, size in parameters:
        header += [f"{name}.{c}" for c in "xyz"] if size == 3 else [name]
    with open(folder / "rows.csv", "w") as file:
        file.write(",".join(header) + "\n")
        is_bool = [n == "geometry_thin_walled" for n in header]
        for row in rows:
            values = [(str(x != 0).lower() if b else repr(float(x)))
                      for x, b in zip(row, is_bool)]
            file.write(",".join(values) + "\n")
    subprocess.run([lightbound, "shader", "eval", SHADER, "--csv", folder / "rows.csv", "-o",
                    folder / "values.csv"], check=True)
    values = np.genfromtxt(folder / "values.csv", delimiter=",", names=True)
    return np.stack([values[n] for n in ("sr", "sg", "sb")], 1)
