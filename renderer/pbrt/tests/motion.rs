//! Motion blur: images are means over the time that the shutter is open.

mod common;

use common::{BlockSums, load_scene, render, render_text};
use lightbound::film::RenderedImage;
use lightbound_pbrt::build::Overrides;

const SIDE: usize = 16;

/// A view of [−1, 1]² from above, in which x increases to the right.
const VIEW: &str = "LookAt 0 0 5  0 0 0  0 1 0\nScale -1 1 1\n";

/// Returns a scene with a square image under a white sky. `head` contains the transform of the
/// camera.
fn scene(head: &str, shutter: [f32; 2], world: &str) -> String {
    let [open, close] = shutter;
    format!(
        "{head}\nCamera \"orthographic\" \"float shutteropen\" {open} \"float shutterclose\" {close}\n\
         Film \"rgb\" \"integer xresolution\" {SIDE} \"integer yresolution\" {SIDE}\n\
         PixelFilter \"box\" \"float xradius\" 0.5 \"float yradius\" 0.5\n\
         Sampler \"zsobol\" \"integer pixelsamples\" 256\n\
         Integrator \"path\" \"integer maxdepth\" 2\nWorldBegin\n\
         LightSource \"infinite\" \"rgb L\" [1 1 1]\n\
         Material \"diffuse\" \"rgb reflectance\" [0 0 0]\n{world}\n"
    )
}

/// Returns a black rectangle from −0.25 to 0.25 in x.
const BAR: &str = "Shape \"trianglemesh\" \"integer indices\" [0 1 2 0 2 3] \
                   \"point3 P\" [-0.25 -2 0  0.25 -2 0  0.25 2 0  -0.25 2 0]\n";

/// Directives for a shape that moves from −0.75 to 0.75 in x.
const SLIDE: &str = "ActiveTransform StartTime Translate -0.75 0 0\n\
                     ActiveTransform EndTime Translate 0.75 0 0\nActiveTransform All\n";

fn render_scene(text: &str) -> RenderedImage {
    render_text(text, &Overrides::default(), 2)
}

/// Returns the mean of each column of pixels.
fn columns(image: &RenderedImage) -> Vec<f64> {
    let mean =
        |x: usize| (0..SIDE).map(|y| f64::from(image.radiance[y * SIDE + x][1])).sum::<f64>();
    (0..SIDE).map(|x| mean(x) / SIDE as f64).collect()
}

/// Computes the columns of an image of [`BAR`] while it moves with [`SLIDE`] between two fractions
/// of its motion.
fn exact_columns([first, last]: [f64; 2]) -> Vec<f64> {
    let n = 1000;
    let is_free = |x: f64, fraction: f64| (x - (-0.75 + 1.5 * fraction)).abs() > 0.25;
    let mean = |column: usize| {
        let samples = (0..n * n).filter(|k| {
            let [a, b] = [k / n, k % n].map(|i| (i as f64 + 0.5) / n as f64);
            let x = (column as f64 + a) / SIDE as f64 * 2.0 - 1.0;
            is_free(x, first + b * (last - first))
        });
        samples.count() as f64 / (n * n) as f64
    };
    (0..SIDE).map(mean).collect()
}

fn assert_columns(text: &str, exact: &[f64]) {
    let found = columns(&render_scene(text));
    let largest = found.iter().zip(exact).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    let brightest = exact.iter().copied().fold(0.0, f64::max);
    assert!(largest < 0.015 * brightest, "{text}: {found:?} instead of {exact:?}");
}

#[test]
fn image_of_a_moving_shape_is_the_mean_over_the_shutter_time() {
    let world = SLIDE.to_string() + BAR;
    assert_columns(&scene(VIEW, [0.0, 1.0], &world), &exact_columns([0.0, 1.0]));
    // The exposure is proportional to the time.
    let exact = exact_columns([0.25, 0.75]).into_iter().map(|x| 0.5 * x).collect::<Vec<_>>();
    assert_columns(&scene(VIEW, [0.25, 0.75], &world), &exact);
    // Nothing moves before the start and after the end.
    let [before, during, after] = [[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]].map(exact_columns);
    let exact: Vec<f64> = (0..SIDE).map(|x| before[x] + 2.0 * during[x] + 5.0 * after[x]).collect();
    let head = format!("TransformTimes 3 5\n{VIEW}");
    assert_columns(&scene(&head, [2.0, 10.0], &world), &exact);
}

#[test]
fn moving_camera_sees_the_opposite_motion() {
    // The transform of the camera maps the world to camera space.
    let camera = VIEW.to_string() + SLIDE;
    assert_columns(&scene(&camera, [0.0, 1.0], BAR), &exact_columns([0.0, 1.0]));
    // A camera and a shape that move together are at rest to each other.
    let motion = |x| format!("ActiveTransform EndTime Translate {x} 0 0 ActiveTransform All\n");
    let camera = VIEW.to_string() + &motion(-1.0);
    let still = columns(&render_scene(&scene(VIEW, [0.0, 1.0], BAR)));
    assert_columns(&scene(&camera, [0.0, 1.0], &(motion(1.0) + BAR)), &still);
}

/// Diffuse shapes of all kinds that move, on a floor.
fn moving_shapes(integrator: &str, wrap: impl Fn(&str) -> String) -> String {
    let shapes = [
        ("Translate 0.6 0.2 0", "Shape \"sphere\" \"float radius\" 0.3"),
        ("Rotate 90 0 0 1 Translate 0.2 0 0", BAR),
        (
            "Translate -0.5 -0.5 0 Scale 0.3 2 1",
            "Shape \"cylinder\" \"float radius\" 0.2 \"float zmin\" 0.3",
        ),
    ];
    let moving = shapes.map(|(motion, shape)| {
        let motion = format!("ActiveTransform EndTime {motion} ActiveTransform All\n");
        format!("AttributeBegin {motion} {} AttributeEnd\n", wrap(shape))
    });
    let world = "Material \"diffuse\" \"rgb reflectance\" [0.7 0.5 0.3]\n\
                 LightSource \"point\" \"point3 from\" [1 2 3] \"rgb I\" [4 4 4]\n\
                 Shape \"disk\" \"float radius\" 3 \"float height\" -0.5\n"
        .to_string()
        + &moving.concat();
    scene(VIEW, [0.0, 1.0], &world).replace("\"path\" \"integer maxdepth\" 2", integrator)
}

#[test]
fn moving_instances_look_like_moving_shapes() {
    let shapes = render_scene(&moving_shapes("\"path\" \"integer maxdepth\" 3", str::to_string));
    let count = std::cell::Cell::new(0);
    let instances = render_scene(&moving_shapes("\"path\" \"integer maxdepth\" 3", |shape| {
        let n = count.replace(count.get() + 1);
        format!(
            "AttributeBegin Identity ObjectBegin \"{n}\" {shape} ObjectEnd AttributeEnd\n\
             ObjectInstance \"{n}\"\n"
        )
    }));
    assert!(shapes.radiance == instances.radiance, "the images differ");
}

#[test]
fn lightcuts_and_paths_agree_on_moving_shapes() {
    let [path, lightcuts] =
        ["\"path\" \"integer maxdepth\" 1", "\"lightcuts\" \"integer maxdepth\" 1"]
            .map(|integrator| render_scene(&moving_shapes(integrator, str::to_string)));
    BlockSums::from_image(&path).assert_same(&BlockSums::from_image(&lightcuts), 4.5, "lightcuts");
}

#[test]
fn accelerators_and_numbers_of_threads_agree() {
    let text = moving_shapes("\"path\" \"integer maxdepth\" 3", str::to_string);
    let scene = load_scene(&text, &[], &Overrides::default());
    assert_eq!(render(&scene, 1).radiance, render(&scene, 2).radiance);
    #[cfg(feature = "embree")]
    {
        use lightbound::accel::AccelKind;
        let images = [AccelKind::Builtin, AccelKind::Embree].map(|accel| {
            render(&load_scene(&text, &[], &Overrides { accel, ..Overrides::default() }), 2)
        });
        common::assert_images_agree(&images[0], &images[1], 4.5, "Embree");
    }
}
