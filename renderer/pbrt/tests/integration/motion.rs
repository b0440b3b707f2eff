//! Motion blur: images are means over the time that the shutter is open.

use crate::common::{BlockSums, load_scene, render, render_text};
use lightbound::accel::AccelKind;
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

/// Returns [`BAR`] with vertices that move by `to` from −0.75 in x.
fn bar_with_moving_vertices(to: f64) -> String {
    let corners = |x: f64| {
        format!("[{} -2 0  {} -2 0  {} 2 0  {} 2 0]", x - 0.25, x + 0.25, x + 0.25, x - 0.25)
    };
    format!(
        "Shape \"trianglemesh\" \"integer indices\" [0 1 2 0 2 3] \"point3 P\" {} \"point3 P1\" {}\n",
        corners(-0.75),
        corners(-0.75 + to)
    )
}

#[test]
fn moving_vertices_look_like_a_moving_shape() {
    for shutter in [[0.0, 1.0], [0.25, 0.75]] {
        let exact = exact_columns(shutter).into_iter().map(|x| (shutter[1] - shutter[0]) * x);
        let (exact, shutter): (Vec<f64>, _) = (exact.collect(), shutter.map(|t| t as f32));
        assert_columns(&scene(VIEW, shutter, &bar_with_moving_vertices(1.5)), &exact);
        // Vertices of a shape, or of an instance, that moves: half of the way each.
        let motion = "ActiveTransform EndTime Translate 0.75 0 0\nActiveTransform All\n";
        let shape = motion.to_string() + &bar_with_moving_vertices(0.75);
        assert_columns(&scene(VIEW, shutter, &shape), &exact);
        let object = bar_with_moving_vertices(0.75);
        let instance =
            format!("ObjectBegin \"bar\" {object} ObjectEnd {motion} ObjectInstance \"bar\"\n");
        assert_columns(&scene(VIEW, shutter, &instance), &exact);
    }
    // The corners of a patch are in another order.
    let patch = "Shape \"bilinearmesh\" \"point3 P\" [-1 -2 0  -0.5 -2 0  -1 2 0  -0.5 2 0]\n\
                 \"point3 P1\" [0.5 -2 0  1 -2 0  0.5 2 0  1 2 0]\n";
    assert_columns(&scene(VIEW, [0.0, 1.0], patch), &exact_columns([0.0, 1.0]));
}

#[test]
fn moving_shapes_of_objects_look_like_moving_shapes() {
    let exact = exact_columns([0.0, 1.0]);
    let slide = |start: f64, end: f64| {
        format!(
            "ActiveTransform StartTime Translate {start} 0 0\n\
             ActiveTransform EndTime Translate {end} 0 0\nActiveTransform All\n"
        )
    };
    let object = |shape: &str, instance: &str| {
        format!(
            "ObjectBegin \"o\" {shape} {BAR} ObjectEnd\n\
             AttributeBegin {instance} ObjectInstance \"o\" AttributeEnd\n"
        )
    };
    for world in [
        object(&slide(-0.75, 0.75), ""),
        object(&slide(-0.25, 1.25), "Translate -0.5 0 0\n"),
        object(&slide(0.0, 0.5), &slide(-0.75, 0.25)),
        // Half a turn of the instance makes the shape move in the opposite direction.
        object(&slide(0.75, -0.75), "Rotate 180 0 0 1\n"),
    ] {
        assert_columns(&scene(VIEW, [0.0, 1.0], &world), &exact);
    }
    // Shapes that are at rest within the object, and other instances, keep their place.
    let shapes = format!("{} {BAR} ObjectEnd", slide(-0.75, 0.75));
    let rest = "AttributeBegin Translate 0 0 -1 Scale 0.1 0.1 0.1 Shape \"sphere\" AttributeEnd\n";
    let world = format!("ObjectBegin \"o\" {rest} {shapes} ObjectInstance \"o\"\n");
    let plain = rest.to_string() + SLIDE + BAR;
    let [a, b] =
        [world, plain].map(|world| columns(&render_scene(&scene(VIEW, [0.0, 1.0], &world))));
    assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 0.015), "{a:?} {b:?}");
}

#[test]
fn ply_files_at_two_times_move_vertices() {
    let ply = |x: f64, face: &str| {
        format!(
            "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\n\
             property float z\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n\
             {} -2 0\n{} -2 0\n{} 2 0\n{} 2 0\n{face}\n",
            x - 0.25,
            x + 0.25,
            x + 0.25,
            x - 0.25
        )
    };
    let shape = "Shape \"plymesh\" \"string filename\" \"a.ply\" \"string filename1\" \"b.ply\"\n";
    let text = scene(VIEW, [0.0, 1.0], shape);
    let exact = exact_columns([0.0, 1.0]);
    for face in ["4 0 1 2 3", "3 0 1 2\n3 0 2 3"] {
        let face_count = format!("face {}", face.lines().count());
        let file = |x| ply(x, face).replace("face 1", &face_count).into_bytes();
        let files = [("a.ply", file(-0.75)), ("b.ply", file(0.75))];
        let image = render(&load_scene(&text, &files, &Overrides::default()), 2);
        let found = columns(&image);
        let differences = found.iter().zip(&exact).map(|(a, b)| (a - b).abs());
        assert!(differences.fold(0.0, f64::max) < 0.015, "{face}: {found:?}");
    }
}

/// Returns a sphere of triangles with vertex normals. It grows and moves to the position `x` at the
/// end, or is as it is at a fraction of the motion.
fn growing_ball(x: f64, still_at: Option<f64>) -> String {
    let (rings, sectors) = (8, 16);
    let (mut start, mut end, mut n, mut indices) =
        (String::new(), String::new(), String::new(), String::new());
    for (i, j) in (0..=rings).flat_map(|i| (0..sectors).map(move |j| (i, j))) {
        let (theta, phi) = (
            f64::from(i) / f64::from(rings) * std::f64::consts::PI,
            f64::from(j) / f64::from(sectors) * std::f64::consts::TAU,
        );
        let d = [theta.sin() * phi.cos(), theta.sin() * phi.sin(), theta.cos()];
        let (a, b) = (d.map(|d| 0.4 * d), [x + 0.6 * d[0], 0.3 + 0.5 * d[1], 0.4 * d[2]]);
        let f = still_at.unwrap_or(0.0);
        let at = [0, 1, 2].map(|k| a[k] + f * (b[k] - a[k]));
        start += &format!("{} {} {} ", at[0], at[1], at[2]);
        end += &format!("{} {} {} ", b[0], b[1], b[2]);
        n += &format!("{} {} {} ", d[0], d[1], d[2]);
        if i < rings {
            let at = |i: i32, j: i32| i * sectors + j % sectors;
            let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
            indices += &format!("{a} {b} {c} {a} {c} {d} ");
        }
    }
    let end = still_at.map_or(format!("\"point3 P1\" [{end}]"), |_| String::new());
    format!(
        "Shape \"trianglemesh\" \"integer indices\" [{indices}] \"point3 P\" [{start}] \"normal N\" [{n}] {end}\n"
    )
}

#[test]
fn moving_vertices_look_like_the_mean_of_many_stills() {
    let world = |still_at| {
        "Material \"diffuse\" \"rgb reflectance\" [0.7 0.5 0.3]\n\
         LightSource \"point\" \"point3 from\" [1 2 3] \"rgb I\" [4 4 4]\n\
         Shape \"disk\" \"float radius\" 3 \"float height\" -0.5\n"
            .to_string()
            + &growing_ball(0.5, still_at)
    };
    let image = |still_at, seed| {
        let text = scene(VIEW, [0.0, 1.0], &world(still_at));
        let text =
            text.replace("\"path\" \"integer maxdepth\" 2", "\"path\" \"integer maxdepth\" 3");
        render_text(&text, &Overrides { seed: Some(seed), ..Overrides::default() }, 2)
    };
    let moving = (0..4).map(|seed| image(None, seed));
    let stills = 32;
    let still =
        (0..stills).map(|k| image(Some((f64::from(k) + 0.5) / f64::from(stills)), 1000 + k));
    let mean = |images: Vec<RenderedImage>| {
        let n = images.len() as f64;
        (0..SIDE * SIDE)
            .map(|i| images.iter().map(|image| f64::from(image.radiance[i][1])).sum::<f64>() / n)
            .collect::<Vec<f64>>()
    };
    let (moving, still) = (mean(moving.collect()), mean(still.collect()));
    let ratio = moving.iter().sum::<f64>() / still.iter().sum::<f64>();
    assert!((ratio - 1.0).abs() < 2e-3, "{ratio}");
    let rms = moving.iter().zip(&still).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
    let rms = (rms / moving.len() as f64).sqrt();
    let scale = still.iter().sum::<f64>() / still.len() as f64;
    assert!(rms < 0.02 * scale, "{rms} of {scale}");
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
    if AccelKind::Embree.is_available() {
        let images = [AccelKind::Builtin, AccelKind::Embree].map(|accel| {
            render(&load_scene(&text, &[], &Overrides { accel, ..Overrides::default() }), 2)
        });
        crate::common::assert_images_agree(&images[0], &images[1], 4.5, "Embree");
    }
}
