//! Rays against implicit surfaces: speed, beside sphere tracing of the same fields, and checks of
//! hits.
//!
//! Both run on one thread. Sphere tracing steps by |f| / L for a bound L on the gradient over the
//! box, eight rays at a time, and ends where |f| / L is below 10⁻⁴ of the size of the box. It
//! misses rays that pass nearer than that, and hits too early.

use super::FIELDS;
use crate::cpu_time::measure;
use crate::report::{print_head, print_row};
use lightbound::accel::{self, Accel, AccelKind};
use lightbound::geometry::{Geometry, Hit, Implicit, Primitive, RootCheck, Shape};
use lightbound_math::sampling::{hash, unit_float};
use lightbound_math::{Aabb, Ray, Transform, Vec3};
use lightbound_shader::compiled_function::InputError;
use lightbound_shader::{CompiledFunction, FunctionOptions, Settings, Shader};
use std::sync::Arc;

/// A field with its box, and its parameters by name.
pub struct Field {
    pub name: &'static str,
    pub source: &'static str,
    pub bounds: f32,
    pub parameters: &'static [(&'static str, f32)],
    /// A bound on the length of the gradient, if that of the compiler is infinite.
    pub lipschitz: Option<f32>,
}

/// Number of boxes along each axis over which gradients are bounded for the Lipschitz constant.
const GRADIENT_BOXES: u32 = 48;

/// Distance at which sphere tracing ends, relative to the size of the box.
const PRECISION: f32 = 1e-4;

/// Greatest number of steps of sphere tracing.
const MAX_STEPS: u32 = 10_000;

/// Number of rays that sphere tracing advances together.
const BATCH: usize = 1024;

/// Prints the speed of the ray test for each field.
pub fn print_speed(rays: u64) -> Result<(), Box<dyn std::error::Error>> {
    head(&[
        "field",
        "hits",
        "touching",
        "million rays per second",
        "sphere tracing",
        "Lipschitz constant",
        "steps per ray",
        "rays that differ",
    ]);
    for field in &FIELDS {
        let scene = Scene::new(field)?;
        let rays: Vec<_> = (0..u32::try_from(rays)?).map(|i| scene.ray(i)).collect();
        let (hits, ours) =
            measure(|| rays.iter().map(|ray| scene.accel.intersect(ray)).collect::<Vec<_>>());
        let found = hits.iter().filter(|hit| !hit.is_miss()).count();
        let touching = std::iter::zip(&rays, &hits).filter(|(ray, hit)| {
            !hit.is_miss() && scene.shape().check(hit, ray, 2, 0.0) == RootCheck::Touching
        });
        let touching = touching.count();
        let tracer = SphereTracer::new(field)?;
        let (traced, theirs) = measure(|| tracer.trace(&rays));
        let (depths, steps) = traced?;
        let agrees = |(hit, depth): &(&Hit, f32)| match (hit.is_miss(), *depth) {
            (true, depth) => !depth.is_finite(),
            (false, depth) => (depth - hit.t).abs() < 1e-2 * field.bounds,
        };
        let differing = std::iter::zip(&hits, depths).filter(|pair| !agrees(pair)).count();
        let count = rays.len() as f64;
        let percent = |part: usize| format!("{:.2} %", 100.0 * part as f64 / count);
        print_row([
            field.name.to_owned(),
            percent(found),
            percent(touching),
            format!("{:.3}", count / ours / 1e6),
            format!("{:.3}", count / theirs / 1e6),
            format!("{:.3}", tracer.lipschitz),
            format!("{:.0}", steps as f64 / count),
            percent(differing),
        ]);
    }
    Ok(())
}

/// Checks hits and misses of `rays` rays of all fields together, on all cores. Returns whether all
/// are right.
pub fn check(rays: u64, samples: u32) -> Result<bool, Box<dyn std::error::Error>> {
    use rayon::prelude::*;
    head(&["field", "rays", "exact", "touching", "misses", "missed", "wrong"]);
    let per_field = u32::try_from(rays / FIELDS.len() as u64)?;
    let mut is_right = true;
    for field in &FIELDS {
        let scene = Scene::new(field)?;
        let check = |i: u32| {
            let ray = scene.ray(i);
            let hit = scene.accel.intersect(&ray);
            let offset = unit_float(hash(11, i));
            let index = match scene.shape().check(&hit, &ray, samples, offset) {
                RootCheck::Exact => 0,
                RootCheck::Touching => 1,
                RootCheck::Miss => 2,
                RootCheck::Missed => 3,
                RootCheck::Wrong => 4,
            };
            if index >= 3 {
                eprintln!("{}: ray {i}, {ray:?}: {hit:?}", field.name);
            }
            std::array::from_fn(|k| u64::from(k == index))
        };
        let add = |a: [u64; 5], b: [u64; 5]| std::array::from_fn(|k| a[k] + b[k]);
        let counts = (0..per_field).into_par_iter().map(check).reduce(|| [0; 5], add);
        let cells = [u64::from(per_field)].into_iter().chain(counts).map(|n| n.to_string());
        print_row([field.name.to_owned()].into_iter().chain(cells));
        is_right &= counts[3] == 0 && counts[4] == 0;
    }
    Ok(is_right)
}

fn head(titles: &[&str]) {
    print_head(&titles.iter().map(|&title| title.to_owned()).collect::<Vec<_>>());
}

/// An implicit surface in an acceleration structure.
struct Scene {
    geometry: Arc<Geometry>,
    accel: Box<dyn Accel>,
    bounds: f32,
}

impl Scene {
    fn new(field: &Field) -> Result<Scene, Box<dyn std::error::Error>> {
        let shader = Shader::parse(field.name, field.source).map_err(|e| e.one_line())?;
        let components = shader.settable().iter().flat_map(|p| vec![p.scalar; p.size]);
        let words = std::iter::zip(components, field.parameters);
        let words: Vec<_> = words.map(|(scalar, &(_, x))| scalar.bits(x.into())).collect();
        let bounds = Aabb { min: Vec3::splat(-field.bounds), max: Vec3::splat(field.bounds) };
        let settings = Settings::default();
        let shape = Implicit::new(&shader, &settings, &words, bounds, &Transform::IDENTITY)?;
        let shape = Shape::Implicit(shape);
        let primitive = Primitive {
            shape,
            material: 0,
            first_light: None,
            alpha: None,
            flip: false,
            media: None,
        };
        let geometry = Geometry { primitives: vec![primitive], world: 0..1, ..Geometry::default() };
        let geometry = Arc::new(geometry);
        let accel = accel::build(AccelKind::Builtin, geometry.clone())?;
        Ok(Scene { geometry, accel, bounds: field.bounds })
    }

    fn shape(&self) -> &Implicit {
        match &self.geometry.primitives[0].shape {
            Shape::Implicit(shape) => shape,
            _ => unreachable!("the scene has one implicit surface"),
        }
    }

    /// A ray from outside the box towards a random point of it.
    fn ray(&self, i: u32) -> Ray {
        let random = |k| 2.0 * unit_float(hash(hash(5, i), k)) - 1.0;
        let v = |k| Vec3::new(random(k), random(k + 1), random(k + 2));
        let target = self.bounds * v(0);
        let origin = 4.0 * self.bounds * v(3).normalize_or(Vec3::X);
        Ray::new(origin, (target - origin).normalize())
    }
}

/// Sphere tracing of a field.
struct SphereTracer<'f> {
    field: &'f Field,
    function: CompiledFunction,
    lipschitz: f32,
}

impl SphereTracer<'_> {
    fn new(field: &Field) -> Result<SphereTracer<'_>, Box<dyn std::error::Error>> {
        let compile = |options: FunctionOptions| {
            let options = options.intervals(&["p"]);
            CompiledFunction::compile(field.name, field.source, "field", &options)
        };
        let function = compile(FunctionOptions::default())?;
        let gradient = compile(FunctionOptions::default().gradient(&["p"]))?;
        let mut tracer = SphereTracer { field, function, lipschitz: 0.0 };
        let bound = tracer.bound_gradient(&gradient)?;
        tracer.lipschitz = if bound.is_finite() { bound } else { field.lipschitz.unwrap_or(bound) };
        Ok(tracer)
    }

    /// Returns the greatest bound on the length of the gradient over boxes that fill the box.
    fn bound_gradient(&self, gradient: &CompiledFunction) -> Result<f32, InputError> {
        let at = |k: u32| self.field.bounds * (2.0 * k as f32 / GRADIENT_BOXES as f32 - 1.0);
        let (lows, highs): (Vec<_>, Vec<_>) =
            (0..GRADIENT_BOXES).map(|k| (at(k), at(k + 1))).unzip();
        let mut greatest = 0f32;
        let parameters = self.parameters();
        let mut results = vec![vec![0.0; lows.len()]; 8];
        for x in 0..lows.len() {
            for y in 0..lows.len() {
                let one = |k: usize| [&lows[k..=k], &highs[k..=k]];
                let mut boxes =
                    vec![("p.x", one(x)), ("p.y", one(y)), ("p.z", [&lows[..], &highs[..]])];
                boxes.extend(parameters.iter().map(|(name, x)| (name.as_str(), [&x[..], &x[..]])));
                let mut columns = results.chunks_exact_mut(2).map(|pair| {
                    let [low, high] = pair else { unreachable!("chunks are pairs") };
                    [&mut low[..], &mut high[..]]
                });
                let mut columns: [_; 4] =
                    std::array::from_fn(|_| columns.next().expect("there are four pairs"));
                gradient.bound(&[], &boxes, &mut columns)?;
                let [_, _, x0, x1, y0, y1, z0, z1] = &results[..] else {
                    unreachable!("there are eight columns")
                };
                let largest =
                    |k: usize, [low, high]: [&Vec<f32>; 2]| low[k].powi(2).max(high[k].powi(2));
                for k in 0..lows.len() {
                    let squares = [[x0, x1], [y0, y1], [z0, z1]].map(|ends| largest(k, ends));
                    greatest = greatest.max(squares.iter().sum::<f32>().sqrt());
                }
            }
        }
        Ok(greatest)
    }

    /// Names of the parameters, as inputs, with their values.
    fn parameters(&self) -> Vec<(String, [f32; 1])> {
        let value = |name: &str| {
            let mut parameters = self.field.parameters.iter();
            parameters.find(|(parameter, _)| *parameter == name).map(|(_, x)| [*x])
        };
        let inputs = self.function.inputs().skip(3);
        inputs.filter_map(|name| Some((name.to_owned(), value(name)?))).collect()
    }

    /// Traces rays. Returns their hits, infinite for misses, and the number of all steps.
    fn trace(&self, rays: &[Ray]) -> Result<(Vec<f32>, u64), InputError> {
        let parameters = self.parameters();
        let size = self.field.bounds;
        let step_end = PRECISION * 2.0 * size;
        let (mut depths, mut steps) = (vec![f32::INFINITY; rays.len()], 0);
        let mut columns = [const { Vec::new() }; 3];
        let mut values = Vec::new();
        for (batch, rays) in rays.chunks(BATCH).enumerate() {
            // Index, parameter and end of each ray.
            let clip = |(k, ray): (usize, &Ray)| {
                let (a, b) = ((-size - ray.o) / ray.d, (size - ray.o) / ray.d);
                let (enter, exit) = (a.min(b).max_element().max(0.0), a.max(b).min_element());
                (enter < exit).then_some((k, enter, exit))
            };
            let mut active: Vec<_> = rays.iter().enumerate().filter_map(clip).collect();
            for _ in 0..MAX_STEPS {
                if active.is_empty() {
                    break;
                }
                steps += active.len() as u64;
                columns.iter_mut().for_each(Vec::clear);
                for &(k, t, _) in &active {
                    let p = rays[k].at(t);
                    std::iter::zip(&mut columns, p.to_array())
                        .for_each(|(column, x)| column.push(x));
                }
                values.resize(active.len(), 0.0);
                let [x, y, z] = &columns;
                let mut inputs = vec![("p.x", &x[..]), ("p.y", y), ("p.z", z)];
                inputs.extend(parameters.iter().map(|(name, x)| (name.as_str(), &x[..])));
                self.function.evaluate(&[], &inputs, &mut [&mut values])?;
                let mut row = 0;
                active.retain_mut(|(k, t, exit)| {
                    let step = values[row].abs() / self.lipschitz;
                    row += 1;
                    if step < step_end {
                        depths[batch * BATCH + *k] = *t;
                        return false;
                    }
                    *t += step;
                    t < exit
                });
            }
        }
        Ok((depths, steps))
    }
}
