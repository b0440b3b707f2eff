//! A density that is a shader: `fn density`, bounded by its own bounding shader.
//!
//! The bounding shader is derived for the values of the parameters and for the box of the medium,
//! so that the compiler knows them.

use super::{Field, MediumPoint, range_tree};
use crate::material::{ParameterValues, ProgramError};
use crate::stopped_loops::{LoopCounter, StoppedLoops};
use crate::texture::bounds::transformed;
use crate::texture::{ParamBounds, VolumeTextureError};
use lightbound_math::{Aabb, Transform, Vec3};
use lightbound_shader::bounding::{
    BoundingKernel, BoundsBatch, BoxBatch, Frame, Integrand, IntervalInputs, Ranges,
};
use lightbound_shader::interval::{Bounds, Floats};
use lightbound_shader::ir::Type;
use lightbound_shader::lift::Options;
use lightbound_shader::relations::Relations;
use lightbound_shader::{
    Arena, Batch, CompileError, Kernel, Settings, Shader, ShaderError, Target, Texture, medium,
    passes,
};
use std::sync::Arc;

/// What a scene says about a medium with a shader.
#[derive(Clone, Copy, Debug)]
pub struct ShaderFieldSettings {
    /// The box of the medium.
    pub bounds: Aabb,
    /// From the medium's own space to render space, where textures are looked up.
    pub render_from_medium: Transform,
    /// Extinction per unit of density, 1/m.
    pub extinction: Vec3,
    /// Single-scattering albedo, unless the shader has `fn albedo`.
    pub albedo: Vec3,
    /// Emitted radiance, or a factor of `fn emission`.
    pub radiance: Vec3,
}

/// A density cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ShaderFieldError {
    /// The shader is not a density, is invalid or cannot be compiled.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The value of a parameter is a texture without meaning or bounds in a medium.
    #[error("the texture {error}")]
    Texture {
        /// Index of the first word of the parameter.
        word: usize,
        /// What is wrong with the texture.
        error: VolumeTextureError,
    },
}

impl From<ShaderError> for ShaderFieldError {
    fn from(error: ShaderError) -> ShaderFieldError {
        ProgramError::from(error).into()
    }
}

impl From<CompileError> for ShaderFieldError {
    fn from(error: CompileError) -> ShaderFieldError {
        ProgramError::from(error).into()
    }
}

/// A field with a density from a shader, which may also compute albedo and emission.
#[derive(Debug)]
pub struct ShaderField {
    settings: ShaderFieldSettings,
    parameters: ParameterValues,
    /// Bounds on the parameters that are textures.
    varying: Vec<ParamBounds>,
    textures: Vec<Arc<Texture>>,
    properties: Kernel,
    bounding: BoundingKernel,
    /// Number of channels of the density, 1 or 3: the first outputs.
    channels: usize,
    /// Index of the first output of `fn albedo`.
    albedo: Option<usize>,
    /// Index of the first output of `fn emission`.
    emission: Option<usize>,
    loops: LoopCounter,
}

impl ShaderField {
    /// Compiles a shader for the values of its parameters. Textures are in the order of their
    /// declarations.
    ///
    /// # Errors
    /// If the shader is not a density, is invalid or cannot be compiled, or if a parameter is a
    /// texture that is not a function of the position.
    ///
    /// # Panics
    /// If the values are not those of the parameters, or if the settings are for other formats of
    /// textures.
    pub fn new(
        shader: &Shader,
        options: &Settings,
        parameters: ParameterValues,
        textures: Vec<Arc<Texture>>,
        settings: ShaderFieldSettings,
    ) -> Result<ShaderField, ShaderFieldError> {
        options.check_formats(shader, textures.iter().map(|texture| &**texture));
        let varying = parameters.textures().map(|(word, value)| {
            ParamBounds::new(value).map_err(|error| ShaderFieldError::Texture { word, error })
        });
        let varying: Vec<ParamBounds> = varying.collect::<Result<_, _>>()?;
        let (arena, target) = (Arena::new(), Target::best());
        let properties = medium::properties(shader, options)?;
        let properties = Kernel::compile(&arena, &passes::lower(&properties), target)?;
        let density = Integrand::new(shader, options, Frame::Local)?;
        let mut inputs = density.inputs(IntervalInputs::Light, Ranges::Declared);
        let (position, others) = inputs.split_at_mut(3);
        for (axis, input) in position.iter_mut().enumerate() {
            let Aabb { min, max } = settings.bounds;
            input.bounds = Bounds::Float(Floats::between(min[axis], max[axis]));
        }
        assert_eq!(others.len(), parameters.len(), "one word for each component of the parameters");
        let ports = &density.point.inputs[3..];
        assert_eq!(parameters.len(), ports.len(), "one word for each component of the parameters");
        parameters.write_constants(|k, word| {
            others[k].bounds = Bounds::constant(ports[k].ty, word);
        });
        // Values of textures are intervals, within their range in the whole medium.
        let ranges = parameter_ranges(&varying, settings.render_from_medium, settings.bounds);
        parameters.write_ranges(ranges, |k, [lo, hi]| {
            others[k].interval = true;
            if ports[k].ty == Type::F32 {
                let [lo, hi] = [lo, hi].map(f32::from_bits);
                others[k].bounds = Bounds::Float(Floats::between(lo, hi));
            }
        });
        let options_of_bounds = Options { relations: Relations::all(), ..Options::default() };
        let lifted = density.bound(&inputs, &options_of_bounds);
        let bounding = BoundingKernel::compile(&arena, &lifted, target)?;
        let channels = density.outputs.len();
        let albedo = shader.has_albedo().then_some(channels);
        let emission = shader.has_emission().then_some(albedo.map_or(channels, |first| first + 3));
        Ok(ShaderField {
            loops: LoopCounter::new(shader, &properties),
            settings,
            parameters,
            varying,
            textures,
            properties,
            bounding,
            channels,
            albedo,
            emission,
        })
    }

    fn textures(&self) -> Vec<&Texture> {
        self.textures.iter().map(|texture| &**texture).collect()
    }
}

impl Field for ShaderField {
    fn kind(&self) -> &'static str {
        "shader"
    }

    fn bounds(&self) -> Option<Aabb> {
        Some(self.settings.bounds)
    }

    fn emits(&self) -> bool {
        self.settings.radiance != Vec3::ZERO
    }

    fn extinction(&self) -> Vec3 {
        self.settings.extinction
    }

    fn constant_albedo(&self) -> Option<Vec3> {
        (self.albedo.is_none() && !self.emits()).then_some(self.settings.albedo)
    }

    fn density_bounds(&self, boxes: &[Aabb], out: &mut Vec<[f32; 2]>) {
        let mut batch = BoxBatch::new(&self.bounding, boxes.len());
        for (row, b) in boxes.iter().enumerate() {
            for axis in 0..3 {
                batch.set(row, axis, [b.min[axis], b.max[axis]]);
            }
            let transform = self.settings.render_from_medium;
            let ranges = parameter_ranges(&self.varying, transform, *b);
            self.parameters.write_ranges(ranges, |k, ends| batch.set_bits(row, 3 + k, ends));
        }
        self.parameters.write_constants(|k, word| batch.fill(3 + k, word));
        let mut bounds = BoundsBatch::new(&self.bounding, boxes.len());
        self.bounding.run(&self.textures(), &batch, &mut bounds);
        out.clear();
        out.extend((0..boxes.len()).map(|row| {
            let channels = (0..self.channels).map(|channel| bounds.get(row, channel));
            channels.reduce(range_tree::union).expect("a density has a channel")
        }));
    }

    fn evaluate(&self, points: &[Vec3], out: &mut Vec<MediumPoint>) {
        let target = self.properties.target();
        let mut inputs = Batch::new(target, self.properties.inputs().len(), points.len());
        for (row, p) in points.iter().enumerate() {
            inputs.set_row(row, 0, &p.to_array().map(f32::to_bits));
            if !self.varying.is_empty() {
                let lookup = ParamBounds::lookup(self.settings.render_from_medium.point(*p));
                self.parameters
                    .write_textures(&lookup, |k, words| inputs.set_row(row, 3 + k, words));
            }
        }
        self.parameters.write_constants(|k, word| inputs.fill_port(3 + k, word));
        let mut outputs = Batch::new(target, self.properties.outputs().len(), points.len());
        self.properties.run(&self.textures(), &inputs, &mut outputs);
        self.loops.count(&outputs, points.len());
        let ShaderFieldSettings { extinction, albedo, radiance, .. } = self.settings;
        out.clear();
        out.extend((0..points.len()).map(|row| {
            let vector = |first| Vec3::from_array(outputs.floats(row, first));
            let density =
                if self.channels == 1 { Vec3::splat(outputs.get(row, 0)) } else { vector(0) };
            let extinction = density * extinction;
            let albedo = self.albedo.map_or(albedo, vector);
            let radiance = self.emission.map_or(radiance, |first| radiance * vector(first));
            let emission = match radiance {
                Vec3::ZERO => Vec3::ZERO,
                radiance => extinction * (1.0 - albedo) * radiance,
            };
            MediumPoint { extinction, albedo, emission }
        }));
    }

    fn stopped_loops(&self) -> Option<StoppedLoops> {
        self.loops.stopped()
    }
}

/// Returns the ranges of parameters that are textures in a box of the medium's own space.
fn parameter_ranges(
    varying: &[ParamBounds],
    render_from_medium: Transform,
    b: Aabb,
) -> impl Iterator<Item = [Vec3; 2]> {
    let everywhere = Aabb { min: Vec3::NEG_INFINITY, max: Vec3::INFINITY };
    let b = transformed(&render_from_medium, b).unwrap_or(everywhere);
    varying.iter().map(move |bounds| bounds.range(b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::integrator::medium_testing::{assert_close, environment, radiance, sphere};
    use crate::material::Setting;
    use crate::medium::{MajorantTree, TreeOptions};
    use crate::settings::IntegratorSettings;
    use crate::texture::{
        Checkerboard, CheckerboardDomain, ImageMap, ImageMapValue, Mapping, Param, Texture,
        TextureFilter, WrapMode,
    };
    use glam::{DAffine3, DVec3, dvec3};
    use lightbound_image::{Channels, Image};
    use lightbound_math::{Vec2, vec3};
    use proptest::prelude::*;

    const BOX: Aabb = Aabb { min: Vec3::splat(-1.0), max: Vec3::ONE };

    fn field(source: &str, parameters: &[f32]) -> ShaderField {
        let shader = Shader::parse("test.wgsl", source).unwrap();
        let values = parameters.iter().map(|&x| Setting::Constant(vec![f64::from(x)]));
        let values = ParameterValues::new(shader.settable().iter().zip(values));
        with_values(&shader, values, Transform::IDENTITY)
    }

    fn with_values(
        shader: &Shader,
        values: ParameterValues,
        render_from_medium: Transform,
    ) -> ShaderField {
        let settings = ShaderFieldSettings {
            bounds: BOX,
            render_from_medium,
            extinction: vec3(0.25, 0.5, 1.0),
            albedo: Vec3::splat(0.5),
            radiance: vec3(1.0, 0.0, 3.0),
        };
        ShaderField::new(shader, &Settings::default(), values, vec![], settings).unwrap()
    }

    fn at(field: &ShaderField, p: Vec3) -> MediumPoint {
        let mut out = Vec::new();
        field.evaluate(&[p], &mut out);
        out[0]
    }

    #[test]
    fn properties_are_those_of_the_shader() {
        let density = "struct Medium { scale: f32 }
            fn density(p: vec3f, m: Medium) -> f32 { return m.scale * (p.x - 0.5); }";
        let p = vec3(0.75, 0.25, 0.75);
        let extinction = 0.75 * vec3(0.25, 0.5, 1.0);
        let plain = at(&field(density, &[3.0]), p);
        let emission = extinction * 0.5 * vec3(1.0, 0.0, 3.0);
        assert_eq!(plain, MediumPoint { extinction, albedo: Vec3::splat(0.5), emission });
        // Negative densities are 0.
        assert_eq!(at(&field(density, &[3.0]), vec3(0.25, 0.0, 0.0)).extinction, Vec3::ZERO);
        let coloured = "fn density(p: vec3f) -> vec3f { return p; }";
        let field = field(coloured, &[]);
        assert_eq!(at(&field, p).extinction, p * vec3(0.25, 0.5, 1.0));
        let mut bounds = Vec::new();
        field.density_bounds(&[Aabb { min: p, max: p + vec3(0.0, 0.5, 0.0) }], &mut bounds);
        assert_eq!(bounds, [[0.25, 0.75]]);
    }

    #[test]
    fn albedo_and_emission_are_those_of_the_shader() {
        let density = "struct Medium { scale: f32 }
            fn density(p: vec3f, m: Medium) -> f32 { return m.scale * (p.x - 0.5); }";
        let p = vec3(0.75, 0.25, 0.75);
        let extinction = 0.75 * vec3(0.25, 0.5, 1.0);
        let colours = "fn albedo(p: vec3f, m: Medium) -> vec3f { return vec3f(p.y, p.z, 7.0); }
            fn emission(p: vec3f, m: Medium) -> vec3f { return vec3f(m.scale); }";
        let albedo = vec3(0.25, 0.75, 1.0);
        let emission = extinction * (1.0 - albedo) * vec3(1.0, 0.0, 3.0) * 3.0;
        let coloured = at(&field(&format!("{density} {colours}"), &[3.0]), p);
        assert_eq!(coloured, MediumPoint { extinction, albedo, emission });
    }

    #[test]
    fn stopped_loops_are_counted() {
        let source = "fn density(p: vec3f) -> f32 {
            var x = 0.0;
            while x < 1.0 {
                x += p.x;
            }
            return 0.5;
        }";
        let field = field(source, &[]);
        at(&field, vec3(0.25, 0.0, 0.0));
        assert_eq!(field.stopped_loops(), None);
        at(&field, Vec3::ZERO);
        at(&field, -Vec3::X);
        let location = "test.wgsl:3".to_owned();
        assert_eq!(field.stopped_loops(), Some(StoppedLoops { evaluations: 2, location }));
    }

    #[test]
    fn cells_follow_the_density() {
        let field = field(include_str!("fbm.wgsl"), &[2.0, 0.0, 0.0]);
        let mut last = f64::INFINITY;
        for nodes in [1, 1000, 100_000] {
            let tree = MajorantTree::build(
                &field,
                &Transform::IDENTITY,
                TreeOptions { max_nodes: nodes, cell_cost: 0.0, ..TreeOptions::default() },
            );
            let [_, max] = tree.mean_density_range();
            assert!(max < last);
            last = max;
        }
    }

    /// Walls of a thousandth of the thickness of a cell, in a thin haze. Sampled majorants miss
    /// them.
    #[test]
    fn thin_walls_are_not_missed() {
        let source = "struct Medium { walls: f32 }
            fn density(p: vec3f, m: Medium) -> f32 {
                return select(0.1, 1000.0, fract(m.walls * p.z + 0.5) < 0.001);
            }";
        let field = field(source, &[4.0]);
        let settings =
            ShaderFieldSettings { albedo: Vec3::ZERO, radiance: Vec3::ZERO, ..field.settings };
        let expected = (-field.extinction() * 2.0 * (0.0999 + 1.0)).exp();
        let scene = sphere(Box::new(ShaderField { settings, ..field }), 0.0, environment(1.0));
        let measured = radiance(&scene, IntegratorSettings::default(), 1 << 14);
        assert_close(measured, expected, 0.05);
    }

    #[test]
    fn coloured_densities_attenuate_their_channels() {
        let source = "fn density(p: vec3f) -> vec3f {
            return select(vec3f(0.0, 1.0, 0.5), vec3f(1.0, 0.0, 0.5), p.z < 0.0);
        }";
        let field = field(source, &[]);
        let settings = ShaderFieldSettings {
            extinction: Vec3::ONE,
            albedo: Vec3::ZERO,
            radiance: Vec3::ZERO,
            ..field.settings
        };
        let scene = sphere(Box::new(ShaderField { settings, ..field }), 0.0, environment(1.0));
        let measured = radiance(&scene, IntegratorSettings::default(), 1 << 13);
        assert_close(measured, Vec3::splat((-1.0f32).exp()), 0.05);
    }

    /// The density is the product of an image along z and of the parameter of a checkerboard.
    const TEXTURED: &str = "struct Medium { a: f32, b: vec2f, shells: u32 }
        fn density(p: vec3f, m: Medium) -> f32 { return m.a * m.b.y * f32(m.shells); }";

    /// Returns values of the parameters of `TEXTURED`: an image along an axis of the world, with four
    /// texels from -1 to 1, and cells of a third.
    fn textured(
        axis: Vec3,
        filter: TextureFilter,
        [even, odd]: [f32; 2],
    ) -> (Shader, ParameterValues) {
        let shader = Shader::parse("test.wgsl", TEXTURED).unwrap();
        let texture = |texture| Param::Texture(Arc::new(texture));
        let image = Image::from_f32(4, 1, Channels::Grey, vec![0.5, 0.0, 4.0, 1.0]);
        let image = texture(Texture::Image(ImageMap {
            image: Arc::new(image),
            mapping: Mapping::Planar {
                texture_from_render: Transform::IDENTITY,
                s: 0.5 * axis,
                t: Vec3::ZERO,
                offset: Vec2::splat(0.5),
            },
            value: ImageMapValue::Float,
            wrap: WrapMode::Clamp,
            filter,
            scale: 2.0,
            invert: false,
        }));
        let cells = Transform::new(DAffine3::from_scale(DVec3::splat(3.0))).unwrap();
        let cells = texture(Texture::Checkerboard(Checkerboard {
            domain: CheckerboardDomain::Solid(cells),
            even: Param::from_float(even),
            odd: Param::from_float(odd),
        }));
        let shells = texture(Texture::Mix {
            a: Param::from_float(0.0),
            b: Param::from_float(4.0),
            amount: Param::from_float(0.75),
        });
        let settings = [image, cells, shells].map(Setting::Varying);
        let values = ParameterValues::new(shader.settable().iter().zip(settings));
        (shader, values)
    }

    #[test]
    fn textures_are_looked_up_in_render_space() {
        let (shader, values) = textured(Vec3::X, TextureFilter::Point, [0.125, 0.5]);
        let transform = Transform::new(DAffine3::from_scale(dvec3(0.5, 0.25, 2.0))).unwrap();
        let field = with_values(&shader, values, transform);
        // In render space: 0.45, 0.225 and 1.8. The texel is 4, scaled by 2; one cell is odd.
        let point = at(&field, Vec3::splat(0.9));
        assert_eq!(point.extinction.z, 8.0 * 0.125 * 3.0);
        let mut bounds = Vec::new();
        let b = |min: f32, max: f32| Aabb { min: Vec3::splat(min), max: Vec3::splat(max) };
        field.density_bounds(&[b(0.9, 0.95), b(-1.0, 1.0)], &mut bounds);
        assert_eq!(bounds, [[3.0; 2], [0.0, 12.0]]);
    }

    #[test]
    fn textures_without_bounds_are_errors() {
        let shader = Shader::parse("test.wgsl", TEXTURED).unwrap();
        let direction = Texture::DirectionMix {
            a: Param::from_float(0.0),
            b: Param::from_float(1.0),
            direction: Vec3::X,
        };
        let direction = Setting::Varying(Param::Texture(Arc::new(direction)));
        let settings = [Setting::Constant(vec![1.0]), Setting::Constant(vec![1.0; 2]), direction];
        let values = ParameterValues::new(shader.settable().iter().zip(settings));
        let (settings, options) = (
            field("fn density(p: vec3f) -> f32 { return 1.0; }", &[]).settings,
            Settings::default(),
        );
        match ShaderField::new(&shader, &options, values, vec![], settings) {
            Err(ShaderFieldError::Texture { word: 3, error: VolumeTextureError::Normal }) => {}
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn transmittance_through_textures_has_its_closed_form() {
        for filter in [TextureFilter::Point, TextureFilter::Bilinear] {
            let (shader, values) = textured(Vec3::Z, filter, [0.125; 2]);
            let field = with_values(&shader, values, Transform::IDENTITY);
            let settings =
                ShaderFieldSettings { albedo: Vec3::ZERO, radiance: Vec3::ZERO, ..field.settings };
            // The integral over z is 0.5 · (0.5 + 0 + 4 + 1) with both filters.
            let expected = (-2.0 * 2.75 * 0.125 * 3.0 * field.extinction()).exp();
            let field = ShaderField { settings, ..field };
            let scene = sphere(Box::new(field), 0.0, environment(1.0));
            let measured = radiance(&scene, IntegratorSettings::default(), 1 << 14);
            assert_close(measured, expected, 0.03);
        }
    }

    proptest! {
        #[test]
        fn bounds_contain_densities_with_textures(
            corner in prop::array::uniform3(0.0f32..1.0),
            size in -12.0f32..0.0,
            points in prop::collection::vec(prop::array::uniform3(0.0f32..=1.0), 16),
            scale in prop::array::uniform3(0.1f64..3.0),
            is_bilinear in any::<bool>(),
        ) {
            let filters = [TextureFilter::Point, TextureFilter::Bilinear];
            let filter = filters[usize::from(is_bilinear)].clone();
            let (shader, values) = textured(vec3(1.0, 2.0, 0.5), filter, [0.1, 0.7]);
            let turned = DAffine3::from_rotation_y(0.7) * DAffine3::from_scale(scale.into());
            let field = with_values(&shader, values, Transform::new(turned).unwrap());
            let min = BOX.min + (BOX.max - BOX.min) * Vec3::from_array(corner);
            let b = Aabb { min, max: (min + size.exp2()).min(BOX.max) };
            let mut bounds = Vec::new();
            field.density_bounds(&[b], &mut bounds);
            for unit in points {
                let p = (b.min + (b.max - b.min) * Vec3::from_array(unit)).clamp(b.min, b.max);
                let density = at(&field, p).extinction.z;
                prop_assert!(bounds[0][0] <= density && density <= bounds[0][1]);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn bounds_contain_the_density(
            corner in prop::array::uniform3(0.0f32..1.0),
            size in -12.0f32..0.0,
            points in prop::collection::vec(prop::array::uniform3(0.0f32..=1.0), 16),
        ) {
            let field = field(include_str!("fbm.wgsl"), &[2.0, 0.0, 0.0]);
            let min = BOX.min + (BOX.max - BOX.min) * Vec3::from_array(corner);
            let b = Aabb { min, max: (min + size.exp2()).min(BOX.max) };
            let mut bounds = Vec::new();
            field.density_bounds(&[b], &mut bounds);
            let points = points.iter().map(|&unit| {
                (b.min + (b.max - b.min) * Vec3::from_array(unit)).clamp(b.min, b.max)
            });
            let mut properties = Vec::new();
            field.evaluate(&points.collect::<Vec<_>>(), &mut properties);
            for point in properties {
                let density = point.extinction.z;
                prop_assert!(bounds[0][0] <= density && density <= bounds[0][1]);
            }
        }
    }
}
