//! A density that is a shader: `fn density`, bounded by its own bounding shader.
//!
//! The bounding shader is derived for the values of the parameters and for the box of the medium,
//! so that the compiler knows them.

use super::{Field, MediumPoint, range_tree};
use crate::material::ProgramError;
use lightbound_math::{Aabb, Vec3};
use lightbound_shader::bounding::{
    BoundingKernel, BoundsBatch, BoxBatch, Frame, Integrand, IntervalInputs, Ranges,
};
use lightbound_shader::interval::{Bounds, Floats};
use lightbound_shader::lift::Options;
use lightbound_shader::relations::Relations;
use lightbound_shader::{Arena, Batch, Kernel, Settings, Shader, Target, Texture, medium, passes};
use std::sync::Arc;

/// What a scene says about a medium with a shader.
#[derive(Clone, Copy, Debug)]
pub struct ShaderFieldSettings {
    /// The box of the medium.
    pub bounds: Aabb,
    /// Extinction per unit of density, 1/m.
    pub extinction: Vec3,
    /// Single-scattering albedo, unless the shader has `fn albedo`.
    pub albedo: Vec3,
    /// Emitted radiance, or a factor of `fn emission`.
    pub radiance: Vec3,
}

/// A field with a density from a shader, which may also compute albedo and emission.
#[derive(Debug)]
pub struct ShaderField {
    settings: ShaderFieldSettings,
    /// Words of the parameters.
    parameters: Box<[u32]>,
    textures: Vec<Arc<Texture>>,
    properties: Kernel,
    bounding: BoundingKernel,
    /// Number of channels of the density, 1 or 3: the first outputs.
    channels: usize,
    /// Index of the first output of `fn albedo`.
    albedo: Option<usize>,
    /// Index of the first output of `fn emission`.
    emission: Option<usize>,
}

impl ShaderField {
    /// Compiles a shader for the words of its parameters. Textures are in the order of their
    /// declarations.
    ///
    /// # Errors
    /// If the shader is not a density, is invalid or cannot be compiled.
    ///
    /// # Panics
    /// If the number of words is not that of the parameters.
    pub fn new(
        shader: &Shader,
        options: &Settings,
        parameters: &[u32],
        textures: Vec<Arc<Texture>>,
        settings: ShaderFieldSettings,
    ) -> Result<ShaderField, ProgramError> {
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
        for ((input, port), &word) in
            others.iter_mut().zip(&density.point.inputs[3..]).zip(parameters)
        {
            input.bounds = Bounds::constant(port.ty, word);
        }
        let options_of_bounds = Options { relations: Relations::all(), ..Options::default() };
        let lifted = density.bound(&inputs, &options_of_bounds);
        let bounding = BoundingKernel::compile(&arena, &lifted, target)?;
        let channels = density.outputs.len();
        let albedo = shader.has_albedo().then_some(channels);
        let emission = shader.has_emission().then_some(albedo.map_or(channels, |first| first + 3));
        let parameters = parameters.into();
        Ok(ShaderField {
            settings,
            parameters,
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

    fn density_bounds(&self, boxes: &[Aabb], out: &mut Vec<[f32; 2]>) {
        let mut batch = BoxBatch::new(&self.bounding, boxes.len());
        for (row, b) in boxes.iter().enumerate() {
            for axis in 0..3 {
                batch.set(row, axis, [b.min[axis], b.max[axis]]);
            }
        }
        for (index, &word) in self.parameters.iter().enumerate() {
            batch.fill(3 + index, word);
        }
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
        }
        for (index, &word) in self.parameters.iter().enumerate() {
            inputs.fill_port(3 + index, word);
        }
        let mut outputs = Batch::new(target, self.properties.outputs().len(), points.len());
        self.properties.run(&self.textures(), &inputs, &mut outputs);
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::integrator::medium_testing::{assert_close, environment, radiance, sphere};
    use crate::medium::{MajorantTree, TreeOptions};
    use crate::settings::IntegratorSettings;
    use lightbound_math::{Transform, vec3};
    use proptest::prelude::*;

    const BOX: Aabb = Aabb { min: Vec3::splat(-1.0), max: Vec3::ONE };

    fn field(source: &str, parameters: &[f32]) -> ShaderField {
        let shader = Shader::parse("test.wgsl", source).unwrap();
        let words: Vec<u32> = parameters.iter().map(|x| x.to_bits()).collect();
        let settings = ShaderFieldSettings {
            bounds: BOX,
            extinction: vec3(0.25, 0.5, 1.0),
            albedo: Vec3::splat(0.5),
            radiance: vec3(1.0, 0.0, 3.0),
        };
        ShaderField::new(&shader, &Settings::default(), &words, vec![], settings).unwrap()
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
