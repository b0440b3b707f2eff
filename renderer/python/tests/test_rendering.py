"""Scenes, rendering and comparison."""

import os
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

import lightbound

DIFFUSE = """
struct Material { kd: f32 }
fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return vec3f(m.kd / 3.14159265); }
"""

SPHERE = """
LookAt 0 0 -5  0 0 0  0 1 0
Camera "perspective" "float fov" 30
Film "rgb" "integer xresolution" 32 "integer yresolution" 24
WorldBegin
LightSource "infinite" "rgb L" [1 1 1]
Material "shader" "string filename" "half.wgsl" "float kd" 0.5
Shape "sphere"
"""


def scene(**options):
    return lightbound.parse(SPHERE, shaders={"half.wgsl": DIFFUSE}, **options)


def test_scene_from_text_is_rendered():
    loaded = scene(spp=4)
    assert (loaded.resolution, loaded.spp, loaded.integrator) == ((32, 24), 4, "path")
    image = lightbound.render(loaded)
    assert image.shape == (24, 32, 3) and image.dtype == np.float32
    np.testing.assert_allclose(image[12, 16], 0.5, atol=0.01)
    np.testing.assert_allclose(image[0, 0], 1.0, atol=1e-6)


def test_scene_file_is_rendered(tmp_path):
    path = tmp_path / "scene.pbrt"
    path.write_text(SPHERE)
    (tmp_path / "half.wgsl").write_text(DIFFUSE)
    image = lightbound.render(path, spp=2)
    np.testing.assert_array_equal(image, lightbound.render(scene(), spp=2))
    assert lightbound.load(str(path), resolution=(8, 4)).resolution == (8, 4)


def test_pixels_do_not_depend_on_threads():
    images = [lightbound.render(scene(), spp=8, seed=3, threads=n) for n in (1, 3)]
    np.testing.assert_array_equal(*images)
    assert (lightbound.render(scene(), spp=8, seed=4) != images[0]).any()


def test_layers_are_arrays():
    layers = lightbound.render(scene(), spp=4, layers=["beauty", "depth", "normal", "object", "direct"])
    assert layers["depth"].shape == (24, 32) and 3.9 < layers["depth"][12, 16] < 4.1
    assert layers["normal"][12, 16, 2] < -0.99
    assert layers["object"].dtype == np.uint32
    np.testing.assert_allclose(layers["direct"][12, 16], layers["beauty"][12, 16], rtol=1e-5)
    cuts = lightbound.render(scene(integrator="lightcuts"), spp=1, layers=["cut_size"])
    assert cuts["cut_size"][12, 16] >= 1


def test_builder_builds_a_furnace():
    builder = lightbound.SceneBuilder()
    grey = builder.material(DIFFUSE, kd=0.5)
    builder.sphere([0, 0, 0], 1, grey)
    builder.environment(np.full((4, 8, 3), 2.0))
    built = builder.build(eye=[0, 0, -4], target=[0, 0, 0], resolution=(16, 16))
    image = lightbound.render(built, spp=64)
    np.testing.assert_allclose(image[0, 0], 2.0, rtol=1e-3)
    np.testing.assert_allclose(image[8, 8], 1.0, rtol=0.02)


def test_maps_have_their_zenith_up():
    for up, bright in [([0, 1, 0], "top"), ([0, -1, 0], "bottom")]:
        builder = lightbound.SceneBuilder()
        radiance = np.zeros((8, 16, 3))
        radiance[:4] = 1
        builder.environment(radiance, up=up)
        built = builder.build(eye=[0, 0, 0], target=[0, 0, 1], fov=90, resolution=(8, 8))
        image = lightbound.render(built, spp=4)
        dark = 7 if bright == "top" else 0
        assert image[7 - dark].min() > 0.9 and image[dark].max() < 0.1


def test_meshes_emit_from_their_fronts():
    for triangles, radiance in [([[0, 1, 2]], 5.0), ([[0, 2, 1]], 0.0)]:
        builder = lightbound.SceneBuilder()
        black = builder.material(DIFFUSE, kd=0.0)
        # Counterclockwise from the camera, for the first order.
        corners = [[-9, 0, -9], [0, 0, 9], [9, 0, -9]]
        builder.mesh(corners, triangles, black, emission=[5, 5, 5])
        built = builder.build(eye=[0, 5, 0], target=[0, 0, 0], up=[0, 0, 1], fov=1)
        image = lightbound.render(built, spp=1)
        np.testing.assert_array_equal(image, radiance)


def test_lights_have_the_stated_power():
    builder = lightbound.SceneBuilder()
    white = builder.material(DIFFUSE, kd=1.0)
    builder.mesh([[-9, 0, -9], [0, 0, 9], [9, 0, -9]], [[0, 1, 2]], white)
    builder.distant_light([0, 1, 0], 3.0)
    builder.point_light([0, 2, 0], [4.0, 0.0, 0.0])
    built = builder.build(eye=[0, 5, 0], target=[0, 0, 0], up=[0, 0, 1], fov=1, resolution=(4, 4))
    # One of the lights is sampled at a time.
    image = lightbound.render(built, spp=1024)
    np.testing.assert_allclose(image.mean((0, 1)) * np.pi, [4.0, 3.0, 3.0], rtol=0.02)


def test_materials_of_other_scenes_are_errors():
    builder, other = lightbound.SceneBuilder(), lightbound.SceneBuilder()
    grey = builder.material(DIFFUSE, kd=0.5)
    other.material(DIFFUSE, kd=0.1)
    with pytest.raises(lightbound.Error, match="another scene"):
        other.sphere([0, 0, 0], 1, grey)
    builder.build(eye=[0, 0, -4], target=[0, 0, 0])
    with pytest.raises(lightbound.Error, match="another scene"):
        builder.sphere([0, 0, 0], 1, grey)


def test_text_of_shaders_displaces_meshes():
    text = SPHERE.replace(
        'Shape "sphere"',
        'Shape "trianglemesh" "point3 P" [-9 -9 0 9 -9 0 0 9 0] "string displacement" "up.wgsl"',
    )
    up = "fn displace(uv: vec2f, p: vec3f, n: vec3f) -> vec3f { return vec3f(0.0, 0.0, -2.0); }"
    loaded = lightbound.parse(text, shaders={"half.wgsl": DIFFUSE, "up.wgsl": up})
    depth = lightbound.render(loaded, spp=1, layers=["depth"])["depth"]
    assert abs(depth[12, 16] - 3) < 1e-4


def test_progress_rises_to_1():
    calls = []
    lightbound.render(scene(), spp=4, progress=calls.append)
    assert calls == sorted(calls) and calls[-1] == 1.0


def test_exception_in_progress_ends_the_rendering():
    def stop(fraction):
        raise RuntimeError("enough")

    start = time.monotonic()
    with pytest.raises(RuntimeError, match="enough"):
        lightbound.render(scene(), spp=1 << 20, progress=stop)
    assert time.monotonic() - start < 60


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
def test_ctrl_c_ends_the_rendering():
    # A shell may have started the tests in the background, where SIGINT is ignored.
    code = f"""
import lightbound, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
scene = lightbound.parse({SPHERE!r}, shaders={{"half.wgsl": {DIFFUSE!r}}})
lightbound.render(scene, spp=1 << 20, progress=lambda _: print("rendering", flush=True))
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in errors and process.returncode != 0


def test_metrics_are_those_of_the_program():
    a = np.full((16, 16, 3), 0.5)
    b = a.copy()
    b[0, 0] = 1.0
    metrics = lightbound.compare(a, b, metrics=["mae", "rmse", "max", "differing"])
    np.testing.assert_allclose(
        [metrics[name] for name in ["mae", "rmse", "max", "differing"]],
        [0.5 / 256, 0.5 / 16, 0.5, 1 / 256],
        rtol=1e-6,
    )
    assert lightbound.compare(a, a)["relmse"] == 0
    assert "hdr-flip" not in lightbound.compare(a[..., 0], b[..., 0])


VIEW = {"eye": [0, 0, 5], "target": [0, 0, 0]}


def lit(radiance=1.0):
    builder = lightbound.SceneBuilder()
    builder.environment(radiance)
    return builder


def mesh(positions=((0, 0, 0), (1, 0, 0), (0, 1, 0)), normals=None):
    builder = lightbound.SceneBuilder()
    grey = builder.material(DIFFUSE, kd=0.5)
    builder.mesh(positions, [[0, 1, 2]], grey, normals=normals)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: lightbound.load("missing.pbrt"), "missing.pbrt"),
        (lambda: lightbound.parse('WorldBegin\nShape "spere"'), "spere"),
        (lambda: lightbound.parse(SPHERE, shaders={"half.wgsl": "fn brdf() {}"}), "half.wgsl"),
        (lambda: scene(resolution=(0, 1)), "resolution"),
        (lambda: scene(integrator="paths"), "path"),
        (lambda: scene(crop=[0.5, 0.5, 0, 1]), "crop"),
        (lambda: lightbound.render(scene(), spp=0), "spp"),
        (lambda: lightbound.render(scene(), threads=0), "threads"),
        (lambda: lightbound.render(scene(), spp=-1), "`spp` is -1, but must be at least 1"),
        (lambda: lightbound.render(scene(), threads=-1), "`threads` is -1"),
        (lambda: lightbound.render(scene(), seed=-1), "`seed` is -1, but must be at least 0"),
        (lambda: lightbound.render(scene(), seed=1 << 32), "`seed` is too large"),
        (lambda: lightbound.render(scene(), spp=1 << 70), "`spp` is too large"),
        (lambda: scene(spp=-1), "spp"),
        (lambda: scene(seed=-2), "seed"),
        (lambda: scene(resolution=(-4, 4)), "`resolution` is -4"),
        (lambda: lit().build(**VIEW, max_depth=-1), "max_depth"),
        (lambda: lit().build(**VIEW, resolution=(8, -8)), "resolution"),
        (lambda: mesh(normals=[[0, 0, np.nan]] * 3), "`normals`: row 0 is not finite"),
        (lambda: mesh(positions=[[0, 0, np.nan]] * 3), "not finite"),
        (lambda: lit(np.full((4, 8, 3), -1.0)), "`radiance`: texel (0, 0) is negative"),
        (lambda: lit(np.full((4, 8, 3), np.nan)), "finite"),
        (lambda: lightbound.render(scene(), time_limit=0), "time_limit"),
        (lambda: lightbound.render(scene(), layers=["beuty"]), "beuty"),
        (lambda: lightbound.compare(np.zeros((2, 2)), np.zeros((2, 3))), "shapes"),
        (lambda: lightbound.compare(np.zeros((2, 2)), np.zeros((2, 2)), metrics=["x"]), "relmse"),
        (lambda: lightbound.SceneBuilder().material(DIFFUSE, kd=[1, 2]), "kd"),
        (lambda: lightbound.SceneBuilder().build(eye=[0, 0, 0], target=[0, 0, 0]), "up"),
    ],
)
def test_wrong_input_is_an_error(call, message):
    with pytest.raises(lightbound.Error) as error:
        call()
    assert message in str(error.value)


def test_integers_of_another_type_are_type_errors():
    with pytest.raises(TypeError, match="spp"):
        lightbound.render(scene(), spp=1.5)
    assert lightbound.render(scene(), spp=np.int64(1)).shape == (24, 32, 3)


def test_scenes_without_light_are_warnings():
    with pytest.warns(UserWarning, match="the scene has no light"):
        lightbound.parse('WorldBegin\nShape "sphere"')
    with pytest.raises(lightbound.Error, match="the scene has no light"):
        lightbound.parse('WorldBegin\nShape "sphere"', strict=True)
    with pytest.warns(UserWarning, match="no light of the scene has any power"):
        lit(0.0).build(**VIEW)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lit().build(**VIEW)
        lightbound.SceneBuilder().build(**VIEW, integrator="ambientocclusion")


def test_fallbacks_are_warnings():
    text = SPHERE.replace("WorldBegin", 'Integrator "bdpt"\nWorldBegin')
    with pytest.warns(UserWarning, match="bdpt"):
        lightbound.parse(text, shaders={"half.wgsl": DIFFUSE})
    with pytest.raises(lightbound.Error, match="bdpt"):
        lightbound.parse(text, shaders={"half.wgsl": DIFFUSE}, strict=True)


def test_samplers_that_miss_light_are_warnings():
    builder = lightbound.SceneBuilder()
    builder.material(
        """
        fn brdf(wi: vec3f, wo: vec3f) -> vec3f { return vec3f(0.2); }
        fn sample(u: vec2f, wo: vec3f) -> vec3f { return vec3f(0.0); }
        fn pdf(wi: vec3f, wo: vec3f) -> f32 { return 0.0; }
        """,
        name="black.wgsl",
    )
    builder.environment([1, 1, 1])
    with pytest.warns(UserWarning, match="black.wgsl: `pdf` is 0"):
        builder.build(**VIEW)


def test_images_are_denoised():
    layers = lightbound.render(scene(), spp=2, layers=["beauty", "albedo", "normal"])
    noise = np.random.default_rng(1).exponential(1.0, layers["beauty"].shape).astype(np.float32)
    noisy = layers["beauty"] * noise
    guides = {name: layers[name] for name in ("albedo", "normal")}
    try:
        clean = lightbound.denoise(noisy, **guides)
    except lightbound.Error as error:
        if "LIGHTBOUND_OIDN" in os.environ:
            raise
        assert "scripts/prepare-denoiser" in str(error)
        pytest.skip(str(error))
    assert clean.shape == noisy.shape and clean.dtype == np.float32
    errors = [lightbound.compare(image, layers["beauty"], metrics=["relmse"])["relmse"]
              for image in (noisy, clean)]
    assert errors[1] < 0.1 * errors[0], errors


def test_wrong_images_are_not_denoised():
    image = np.ones((4, 6, 3))
    for wrong in ({"image": image[..., 0]}, {"albedo": image[:2]}, {"threads": 0}):
        with pytest.raises(lightbound.Error):
            lightbound.denoise(**{"image": image, **wrong})
