//! A floor under point lights, for tests of what happens at one place of it.

use super::lighting::{Lighting, Point};
use crate::geometry::Surface;
use crate::integrator::material_bound::{BoundsAt, MaterialBounds};
use crate::light::{AnyLight, Lights, PointLight};
use crate::light_tree::{LightTree, PointOptions};
use crate::material::Material;
use crate::math::{Frame, Vec3, Viewpoint, vec2};
use crate::scene::build::{Overrides, load_source};
use crate::scene::diagnostics::{Diagnostics, Source};
use crate::scene::{BoundMode, Scene};
use lightbound_shader::Shader;
use std::sync::Arc;

/// The plane z = 0 with a material of one side, seen from straight above.
pub struct Floor {
    scene: Scene,
    tree: LightTree,
    bounds: MaterialBounds,
}

impl Floor {
    /// A diffuse one under lights: positions, and intensities of all channels.
    pub fn new(lights: &[(Vec3, f32)], options: &PointOptions) -> Floor {
        Floor::shaded(lights, options, "0.25")
    }

    /// One of which the BRDF is a term of `wi` and `wo`.
    pub fn shaded(lights: &[(Vec3, f32)], options: &PointOptions, term: &str) -> Floor {
        let shader = format!(
            "struct Material {{
                /// Means nothing. range: [0, 1]
                unused: f32,
            }}
            fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {{
                return vec3f({term});
            }}"
        );
        let shader = Shader::parse("floor.wgsl", &shader).unwrap_or_else(|error| panic!("{error}"));
        let text = r#"WorldBegin
            Material "shader" "string filename" "floor.wgsl" "float unused" 0
            Shape "trianglemesh" "integer indices" [0 1 2 0 2 3] "point3 P" [-99 -99 0  99 -99 0  99 99 0  -99 99 0]"#;
        let shaders = [("floor.wgsl".to_owned(), Arc::new(shader))];
        let mut diagnostics = Diagnostics::new(false);
        let loaded = load_source(
            &Source::memory("floor.pbrt", text),
            &shaders,
            &Overrides::default(),
            &mut diagnostics,
        );
        let mut scene = loaded.unwrap_or_else(|error| panic!("{error:?}")).scene;
        let box_of_all = scene.accel.bounds();
        let light = |&(at, intensity): &(Vec3, f32)| {
            AnyLight::Point(PointLight::new(at, Vec3::splat(intensity)))
        };
        scene.lights = Lights::new(lights.iter().map(light).collect(), box_of_all);
        let tree = LightTree::build(&scene.lights, box_of_all, options);
        let bounds =
            MaterialBounds::compile(&scene.shaders, BoundMode::Related).expect("it compiles");
        Floor { scene, tree, bounds }
    }

    /// The lights in a tree.
    pub fn tree(&self) -> &LightTree {
        &self.tree
    }

    /// The lights.
    pub fn lights(&self) -> &Lights {
        &self.scene.lights
    }

    /// Does something at a place of the floor.
    pub fn at<T>(&self, p: Vec3, act: impl FnOnce(&mut Lighting<'_>, &Point<'_>) -> T) -> T {
        let surface = Surface {
            p,
            ng: Vec3::Z,
            frame: Frame::from_normal(Vec3::Z),
            uv: vec2(0.5, 0.5),
            offset: 1e-4,
        };
        let mut instances = self.scene.materials.iter().filter_map(|material| match material {
            Material::Surface { scattering, .. } => scattering.as_ref(),
            Material::Mix { .. } => None,
        });
        let is_floor =
            |shader: u32| self.scene.shaders[shader as usize].program.name == "floor.wgsl";
        let instance =
            instances.find(|instance| is_floor(instance.shader)).expect("the floor has a material");
        let mut lighting =
            Lighting::new(&self.scene, &self.tree, BoundsAt::new(&self.bounds), true);
        lighting.material.begin(instance, &surface, || p, Vec3::Z);
        let view = Viewpoint::new(p, &surface.frame, 1.0);
        let outcome = act(
            &mut lighting,
            &Point { surface: &surface, view, both_sides: false, is_timed: false },
        );
        assert_eq!(lighting.counts.violations, 0);
        outcome
    }
}
