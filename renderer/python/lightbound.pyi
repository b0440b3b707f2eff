"""Compiles and bounds functions in WGSL, and renders scenes whose materials are programs.

Values are numpy arrays of float32. An input with n components has the shape (..., n), a scalar
input the shape (...); inputs are broadcast. Doubles are rounded to floats, and the endpoints of
intervals are rounded outwards. Long work releases the GIL.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

__version__: str

Array = NDArray[np.float32]
Path = Union[str, os.PathLike[str]]

class Error(ValueError):
    """A wrong input: a shader, a scene, a value or an array, with its place and a remedy."""

def compile(
    source: str,
    function: str | None = None,
    *,
    intervals: Sequence[str] | None = None,
    gradient: Sequence[str] = (),
    textures: Mapping[str, ArrayLike] | None = None,
    name: str = "shader.wgsl",
) -> Function:
    """Compiles a function of a shader in WGSL.

    Without `function`, it is the shader's `brdf`, `phase` or `density`. `intervals` are the inputs
    that may be intervals in `Function.bound`, all by default; bounds cost less if they are few.
    `gradient` are inputs by which all outputs are differentiated. A texture is an array of linear
    values of shape (height, width) or (height, width, 3 or 4). Messages call the source `name`.
    """

def library(name: str) -> str:
    """Returns the source of a shader of the library, such as "ward"."""

class Function:
    """A function in WGSL, compiled to machine code. Any number of threads may use it."""

    @property
    def name(self) -> str:
        """Name of the function in the shader."""

    @property
    def inputs(self) -> list[str]:
        """Names of the inputs: the arguments, then the members of the struct of parameters."""

    @property
    def outputs(self) -> list[str]:
        """Names of the outputs: the results, then their derivatives."""

    def __call__(self, *args: ArrayLike, **inputs: ArrayLike) -> Any:
        """Evaluates the function for arrays of inputs, by position or by name.

        Inputs with a default may be left out. Returns an array, or a dictionary of arrays by name
        if there are several outputs.
        """

    def bound(self, *args: Any, **inputs: Any) -> Any:
        """Bounds the function over boxes of inputs.

        An input is a tuple (low, high) of arrays, or an array. Returns a tuple (lower, upper) of
        arrays, or a dictionary of tuples if there are several outputs. For each member of a box
        within the declared ranges, what the function returns lies within the bounds.
        """

    def sampler(self, wo: ArrayLike, *, splits: int = 96, **parameters: ArrayLike) -> Sampler:
        """Creates a sampler of light directions, derived from bounds on the BRDF or phase function.

        `wo` is the direction to the viewer in the shading frame (normal = +z), `parameters` are
        constants. `splits` is the number of cells that are divided: more of them follow the
        function more closely.
        """

class Sampler:
    """A sampler of light directions for one direction to the viewer."""

    def sample(self, u: ArrayLike) -> tuple[Array, Array]:
        """Maps points of the unit square, of shape (..., 2), to directions, of shape (..., 3).

        Returns them with their densities per steradian. A density of 0 means that no light is
        scattered.
        """

    def pdf(self, wi: ArrayLike) -> Array:
        """Returns the densities of unit directions, per steradian."""

class Scene:
    """A scene with the settings to render it."""

    @property
    def resolution(self) -> tuple[int, int]:
        """Width and height of the full image, pixels."""

    @property
    def spp(self) -> int:
        """Samples per pixel."""

    @property
    def integrator(self) -> str:
        """Name of the integrator."""

def load(
    path: Path,
    *,
    resolution: tuple[int, int] | None = None,
    crop: Sequence[float] | None = None,
    integrator: str | None = None,
    spp: int | None = None,
    seed: int | None = None,
    environment: Path | None = None,
    strict: bool = False,
) -> Scene:
    """Loads a scene file in pbrt-v4's format.

    The options override settings of the file; the manual of `lightbound render` describes them.
    `crop` is (x0, x1, y0, y1). Unsupported features cause a UserWarning, or an Error if `strict`.
    """

def parse(
    text: str,
    *,
    name: Path = "scene.pbrt",
    shaders: Mapping[str, str] = {},
    resolution: tuple[int, int] | None = None,
    crop: Sequence[float] | None = None,
    integrator: str | None = None,
    spp: int | None = None,
    seed: int | None = None,
    environment: Path | None = None,
    strict: bool = False,
) -> Scene:
    """Reads a scene from text in pbrt-v4's format; see `load`.

    Files that it names are relative to the folder of `name`. `shaders` are sources in WGSL by the
    file names that the scene has for them.
    """

def render(
    scene: Scene | Path,
    *,
    spp: int | None = None,
    seed: int | None = None,
    threads: int | None = None,
    time_limit: float | None = None,
    layers: Sequence[str] | None = None,
    progress: Callable[[float], Any] | None = None,
) -> Any:
    """Renders a scene, or a scene file with its own settings.

    Returns linear radiance of shape (height, width, 3), or a dictionary of arrays if `layers` names
    some of: beauty, variance, albedo, normal, geometric_normal, position, depth, uv, motion,
    depth_gradient, material, object, emission, direct, indirect, diffuse, specular, and those of the
    integrator, such as cut_size. `progress` is called about ten times a second with the fraction
    that is done; Ctrl-C, or an exception in `progress`, ends the rendering. The same seed gives the
    same bits, on any number of threads.
    """

def denoise(
    image: ArrayLike,
    *,
    albedo: ArrayLike | None = None,
    normal: ArrayLike | None = None,
    hdr: bool = True,
    threads: int | None = None,
) -> Array:
    """Removes noise from linear radiance of shape (height, width, 3) with Open Image Denoise 2.

    `albedo` and `normal` are layers of `render` that keep edges and textures sharp. Without `hdr`,
    values are between 0 and 1. The library is that of the system, or the one at the path in the
    environment variable LIGHTBOUND_OIDN.
    """

class Material:
    """A material of a SceneBuilder."""

class SceneBuilder:
    """Builds a scene from materials, shapes and lights in memory. y is up by default."""

    def __init__(self) -> None: ...
    def material(
        self, source: str, *, name: str = "shader.wgsl", **parameters: ArrayLike
    ) -> Material:
        """Adds a material: a shader in WGSL with constant parameters."""

    def mesh(
        self,
        positions: ArrayLike,
        triangles: ArrayLike,
        material: Material,
        *,
        normals: ArrayLike | None = None,
        uvs: ArrayLike | None = None,
        emission: ArrayLike | None = None,
    ) -> None:
        """Adds a mesh of triangles: vertices of shape (n, 3), and indices of shape (m, 3).

        `emission` is the radiance of the front, the side from which vertices are counterclockwise.
        """

    def sphere(
        self,
        center: ArrayLike,
        radius: float,
        material: Material,
        *,
        emission: ArrayLike | None = None,
    ) -> None:
        """Adds a sphere."""

    def point_light(self, position: ArrayLike, intensity: ArrayLike) -> None:
        """Adds a point light; `intensity` is in W/sr."""

    def distant_light(self, to_light: ArrayLike, irradiance: ArrayLike) -> None:
        """Adds a light at infinity, in the direction `to_light`; `irradiance` is in W/m²."""

    def environment(self, radiance: ArrayLike, *, up: ArrayLike | None = None) -> None:
        """Adds an environment light: a constant radiance, or a map of shape (height, width, 3).

        The rows of a map are latitudes, the first one around `up`.
        """

    def build(
        self,
        *,
        eye: ArrayLike,
        target: ArrayLike,
        up: ArrayLike | None = None,
        fov: float = 40.0,
        resolution: tuple[int, int] = (640, 480),
        spp: int = 16,
        seed: int = 0,
        integrator: str = "path",
        max_depth: int = 5,
    ) -> Scene:
        """Builds the scene for a camera. The builder is empty afterwards.

        `fov` is the field of view along the shorter side of the image, degrees.
        """

def compare(
    image: ArrayLike,
    reference: ArrayLike,
    *,
    metrics: Sequence[str] | None = None,
    exposure: float = 0.0,
) -> dict[str, float | None]:
    """Measures the error of an image against a reference, as `lightbound compare` does.

    Images have the shape (height, width) or (height, width, channels). Returns all metrics, or
    those in `metrics`; None if one is undefined. `exposure` in stops applies to displayed values.
    """
