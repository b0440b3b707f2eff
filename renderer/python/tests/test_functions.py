"""Functions: values, bounds, derivatives, textures and samplers."""

import math
import runpy
import threading
from pathlib import Path

import numpy as np
import pytest

import lightbound

SDF = """
struct Params {
    /// range: [0, 10], default: 1
    radius: f32,
}
fn sdf(/** range: [-10, 10] */ p: vec3f, m: Params) -> f32 { return length(p) - m.radius; }
"""


def test_values_are_those_of_numpy():
    sdf = lightbound.compile(SDF, "sdf")
    assert (sdf.name, sdf.inputs, sdf.outputs) == ("sdf", ["p", "radius"], ["sdf"])
    p = np.random.default_rng(1).normal(size=(30000, 3)).astype(np.float32)
    values = sdf(p)
    assert values.dtype == np.float32 and values.shape == (30000,)
    np.testing.assert_allclose(values, np.linalg.norm(p, axis=-1) - 1, atol=1e-6)
    np.testing.assert_array_equal(sdf(p, 0.5), sdf(p=p, radius=np.float32(0.5)))


def test_inputs_are_broadcast():
    sdf = lightbound.compile(SDF, "sdf")
    p = np.ones((4, 1, 3), np.float32)
    radius = np.arange(5, dtype=np.float32)
    assert sdf(p, radius).shape == (4, 5)
    assert sdf([1, 2, 2]).shape == () and sdf([1, 2, 2]) == 2
    assert sdf(np.zeros((0, 3))).shape == (0,)


def test_bounds_contain_values():
    sdf = lightbound.compile(SDF, "sdf", intervals=["p"], gradient=["p"])
    random = np.random.default_rng(2)
    low = random.uniform(-2, 2, (20000, 3)).astype(np.float32)
    high = low + random.uniform(0, 0.5, low.shape).astype(np.float32)
    bounds = sdf.bound(p=(low, high))
    assert list(bounds) == sdf.outputs and len(bounds) == 2
    for _ in range(10):
        inside = np.clip(low + (high - low) * random.random(low.shape, np.float32), low, high)
        for name, values in sdf(inside).items():
            lower, upper = bounds[name]
            assert (lower <= values).all() and (values <= upper).all()
    gradient = list(sdf(low).values())[1]
    expected = low / np.linalg.norm(low, axis=-1, keepdims=True)
    np.testing.assert_allclose(gradient, expected, atol=1e-5)


def test_endpoints_in_double_precision_are_rounded_outwards():
    f = lightbound.compile("fn f(x: f32) -> f32 { return x; }", "f")
    lower, upper = f.bound((0.1, 0.3))
    assert lower <= 0.1 and upper >= 0.3
    assert lower == np.nextafter(np.float32(0.1), np.float32(0))


def test_threads_evaluate_at_the_same_time():
    # A slow function, which holds no lock of the interpreter.
    slow = lightbound.compile(
        """fn f(x: f32) -> f32 {
            var s = x;
            for (var i = 0; i < 50000; i++) { s = sin(s) + x; }
            return s;
        }""",
        "f",
    )
    thread = threading.Thread(target=slow, args=(np.ones(2000),))
    thread.start()
    steps = 0
    while thread.is_alive():
        steps += 1
    thread.join()
    assert steps > 1000


def test_textures_are_arrays():
    source = """
    @group(0) @binding(0) var t: texture_2d<f32>;
    @group(0) @binding(1) var s: sampler;
    fn f(uv: vec2f) -> f32 { return textureSampleLevel(t, s, uv, 0.0).r; }
    """
    f = lightbound.compile(source, "f", textures={"t": [[0.25, 0.75], [0.25, 0.75]]})
    assert f([0.25, 0.5]) == 0.25 and f([0.5, 0.5]) == 0.5
    lower, upper = f.bound(([0.3, 0.5], [0.4, 0.5]))
    assert 0.25 <= lower <= 0.3 and 0.5 <= upper <= 0.75
    with pytest.raises(lightbound.Error, match="textures="):
        lightbound.compile(source, "f")
    with pytest.raises(lightbound.Error, match="shape"):
        lightbound.compile(source, "f", textures={"t": [1.0]})


def test_sampler_of_a_material_follows_it():
    ward = lightbound.compile(lightbound.library("ward"))
    wo = np.array([0.6, 0.0, 0.8], np.float32)
    parameters = {"kd": [0.2, 0.2, 0.2], "ks": [0.5, 0.5, 0.5], "alpha_x": 0.1, "alpha_y": 0.2}
    parameters = {k: v for k, v in parameters.items() if k in ward.inputs}
    sampler = ward.sampler(wo, **parameters)
    u = np.random.default_rng(3).random((20000, 2), np.float32)
    wi, pdf = sampler.sample(u)
    assert (pdf > 0).all() and wi.shape == (20000, 3)
    np.testing.assert_allclose(np.linalg.norm(wi, axis=-1), 1, atol=1e-5)
    np.testing.assert_allclose(sampler.pdf(wi), pdf, rtol=1e-3)
    weights = ward(wi, wo, **parameters)[..., 0] * wi[..., 2] / pdf
    cosine_u = np.sqrt(u[:, 0])
    angle = 2 * math.pi * u[:, 1]
    uniform = np.stack(
        [cosine_u * np.cos(angle), cosine_u * np.sin(angle), np.sqrt(1 - u[:, 0])], axis=-1
    )
    reference = ward(uniform, wo, **parameters)[..., 0] * math.pi
    error = 4 * (weights.std() + reference.std()) / math.sqrt(len(u))
    assert abs(weights.mean() - reference.mean()) < error
    assert weights.std() < 0.2 * reference.std()


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: lightbound.compile("fn f(x: f32) -> f32 { return y; }", "f"), "shader.wgsl:1"),
        (lambda: lightbound.compile(SDF, "sd"), "sd"),
        (lambda: lightbound.compile(SDF), "there is no `fn"),
        (lambda: lightbound.compile(SDF, "sdf", intervals=["q"]), "`q`"),
        (lambda: lightbound.compile(SDF, "sdf")(np.zeros((2, 2))), "(..., 3)"),
        (lambda: lightbound.compile(SDF, "sdf")(np.zeros((2, 3)), np.zeros(3)), "does not match"),
        (lambda: lightbound.compile(SDF, "sdf", intervals=["p"]).bound([0, 0, 0], (0, 1)), "radius"),
        (lambda: lightbound.compile(SDF, "sdf").bound(([1, 0, 0], [0, 0, 0])), "empty"),
        (lambda: lightbound.compile(SDF, "sdf").sampler([0, 0, 1]), "BRDF"),
        (lambda: lightbound.compile(lightbound.library("ward")).sampler([0, 0, -1]), "below"),
        (lambda: lightbound.library("wart"), "ward.wgsl"),
    ],
)
def test_wrong_input_is_an_error(call, message):
    with pytest.raises(lightbound.Error) as error:
        call()
    assert message in str(error.value)


def test_integers_are_checked():
    f = lightbound.compile("fn f(x: f32, k: i32) -> f32 { return x + f32(k); }", "f")
    assert f(0.5, 3) == 3.5 and f.bound(0.5, (-1, 2)) == (-0.5, 2.5)
    for call in [lambda: f(0, 1.5), lambda: f(0, 2**31), lambda: f.bound(0, (0, 2**40))]:
        with pytest.raises(lightbound.Error, match="`k`.*`i32`"):
            call()
    for ends in [(float("nan"), 1), (2, 1)]:
        with pytest.raises(lightbound.Error, match="`x` is empty"):
            f.bound(ends, 0)


def test_unit_vectors_make_bounds_tight():
    f = lightbound.compile("fn f(/** fact: unit */ n: vec3f) -> f32 { return dot(n, n); }", "f")
    lower, upper = f.bound(([-0.1, -0.1, 0.9], [0.1, 0.1, 1.0]))
    assert 0.999 < lower <= 1 <= upper < 1.001


def test_empty_arrays_have_empty_results():
    empty = np.ones((4, 3))[:0]
    assert lightbound.compile(SDF, "sdf")(empty).shape == (0,)
    assert lightbound.compile(SDF, "sdf")(empty.astype(np.float32)).shape == (0,)


def test_wrong_arguments_are_type_errors():
    sdf = lightbound.compile(SDF, "sdf")
    for call in [lambda: sdf(), lambda: sdf([0, 0, 0], 1, 2), lambda: sdf([0, 0, 0], q=1)]:
        with pytest.raises(TypeError):
            call()


def test_example_finds_majorants(capsys):
    runpy.run_path(str(Path(__file__).parent.parent / "examples" / "cloud_majorants.py"))
    assert "mean majorant" in capsys.readouterr().out
