//! Test scene: a floor under point lights, shaded at one point.

use super::lighting::{Lighting, ShadingPoint};
use crate::camera::Camera;
use crate::geometry::{Mesh, Shape, Surface};
use crate::integrator::material_bound::{BoundEvaluator, MaterialBounds};
use crate::light::{AnyLight, Lights, PointLight};
use crate::light_tree::{LightTree, PointOptions};
use crate::material::Material;
use crate::medium::MediumInterface;
use crate::scene::{Scene, SceneBuilder};
use crate::settings::BoundMode;
use lightbound_math::{Frame, Vec3, Viewpoint, vec2, vec3};

/// The plane z = 0 with a one-sided material, seen from straight above.
pub struct Floor {
    scene: Scene,
    tree: LightTree,
    bounds: MaterialBounds,
}

impl Floor {
    /// Creates a diffuse floor under lights, given by position and grey intensity.
    pub fn new(lights: &[(Vec3, f32)], options: &PointOptions) -> Floor {
        Floor::with_brdf(lights, options, "0.25")
    }

    /// Creates a floor with a BRDF, a WGSL expression in `wi` and `wo`.
    pub fn with_brdf(lights: &[(Vec3, f32)], options: &PointOptions, brdf: &str) -> Floor {
        let shader = format!(
            "struct Material {{
                /// Unused. range: [0, 1]
                unused: f32,
            }}
            fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {{
                return vec3f({brdf});
            }}"
        );
        let mut builder = SceneBuilder::new();
        let material = builder.add_shader("floor.wgsl", &shader, &[("unused", &[0.0])]).unwrap();
        let corners = [(-99.0, -99.0), (99.0, -99.0), (99.0, 99.0), (-99.0, 99.0)];
        let corners = corners.map(|(x, y)| vec3(x, y, 0.0)).to_vec();
        let mesh = Mesh::new(corners, vec![[0, 1, 2], [0, 2, 3]], vec![], vec![]).unwrap();
        builder.add_shape(Shape::Mesh(mesh), material);
        let camera = Camera::look_at(Vec3::Z, Vec3::ZERO, Vec3::Y, 90.0, (8, 8));
        let mut scene = builder.build(camera).unwrap();
        let scene_bounds = scene.accel.bounds();
        let light = |&(position, intensity): &(Vec3, f32)| {
            AnyLight::Point(PointLight::new(position, Vec3::splat(intensity)))
        };
        scene.lights = Lights::new(lights.iter().map(light).collect(), scene_bounds);
        let tree = LightTree::build(&scene.lights, scene_bounds, options);
        let bounds = MaterialBounds::compile(&scene.shaders, BoundMode::Related)
            .expect("the material bounds compile");
        Floor { scene, tree, bounds }
    }

    /// Returns the light trees.
    pub fn tree(&self) -> &LightTree {
        &self.tree
    }

    /// Returns the lights.
    pub fn lights(&self) -> &Lights {
        &self.scene.lights
    }

    /// Calls `f` with the shading point at `p`.
    pub fn with_shading_point<T>(
        &self,
        p: Vec3,
        f: impl FnOnce(&mut Lighting<'_>, &ShadingPoint) -> T,
    ) -> T {
        let mut lighting = self.lighting(&self.bounds);
        let result = self.shade_at(&mut lighting, p, Vec3::Z, f);
        assert_eq!(lighting.counts.violations, 0);
        result
    }

    /// Returns the direct light, which checks its bounds.
    pub fn lighting<'a>(&'a self, bounds: &'a MaterialBounds) -> Lighting<'a> {
        Lighting::new(&self.scene, &self.tree, BoundEvaluator::new(bounds), true)
    }

    /// Returns bounds for clusters of shading points.
    pub fn cluster_bounds(&self) -> MaterialBounds {
        MaterialBounds::compile_for_clusters(&self.scene.shaders, BoundMode::Related)
            .expect("the material bounds compile")
    }

    /// Calls `f` with the shading point at `p`, seen from `wo`.
    pub fn shade_at<T>(
        &self,
        lighting: &mut Lighting<'_>,
        p: Vec3,
        wo: Vec3,
        f: impl FnOnce(&mut Lighting<'_>, &ShadingPoint) -> T,
    ) -> T {
        let surface = Surface {
            p,
            ng: Vec3::Z,
            frame: Frame::from_normal(Vec3::Z),
            uv: vec2(0.5, 0.5),
            offset: 1e-4,
        };
        let mut instances = self.scene.materials.iter().filter_map(|material| match material {
            Material::Surface { scattering, .. } => scattering.as_ref(),
            Material::Mix { .. } | Material::Interface => None,
        });
        let is_floor =
            |shader: u32| self.scene.shaders[shader as usize].program.name == "floor.wgsl";
        let instance =
            instances.find(|instance| is_floor(instance.shader)).expect("the floor has a material");
        lighting.material.begin((instance, None), surface.lookup(), Vec3::Z, || [p, p], wo);
        let view = Viewpoint::new(p, &surface.frame, 1.0);
        let point = ShadingPoint {
            surface,
            view,
            both_sides: false,
            media: MediumInterface::default(),
            seed: 0,
            time: 0.0,
            has_soft_terminator: false,
            has_virtual_lights: false,
            is_timed: false,
        };
        f(lighting, &point)
    }
}
