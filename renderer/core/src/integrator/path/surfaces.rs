//! Path vertices on surfaces: their emission, shading frames and materials.

use super::Wavefront;
use super::next_event::receiver;
use super::roulette::TrainedRoulette;
use crate::film::FeatureLayers;
use crate::integrator::mix::resolve_mix;
use crate::integrator::shading::ShadingBatch;
use crate::material::Material;
use crate::texture::LookupNeeds;
use lightbound_math::COLUMN_LEN;
use lightbound_shader::SurfaceSides;

impl<'a> Wavefront<'a> {
    /// Loads paths into a group, with the surfaces they hit, and adds the emission there. Records
    /// the denoiser features.
    pub(super) fn load_vertices(
        &mut self,
        group: usize,
        paths: &[u32],
        depth: u32,
        features: FeatureLayers,
    ) {
        let vertices = &mut self.vertices.groups[group];
        vertices.load(&self.paths, paths);
        let (hits, rays) = (&self.hits, &self.paths.rays);
        let pairs = paths.iter().map(|&path| (&hits[path as usize], &rays[path as usize]));
        let geometry = &self.scene.geometry;
        geometry.interactions(pairs, &mut self.buffers.triangles, &mut vertices.surface);
        for (lane, &path) in paths.iter().enumerate() {
            if let Some(light) = geometry.light(&self.hits[path as usize]) {
                let surface = &self.vertices.groups[group].surface;
                let (ng, uv) = (surface.ng.get(lane), surface.uv.get(lane));
                self.add_emission(path as usize, light, ng, uv);
            }
        }
        if self.has_bump_maps {
            self.apply_bump_maps(group, paths, depth);
        }
        if !features.is_empty() {
            let vertices = &mut self.vertices.groups[group];
            for (lane, &path) in paths.iter().enumerate() {
                let (sample, hit) = (vertices.sample[lane], &self.hits[path as usize]);
                vertices.feature_index[lane] =
                    self.samples.add_features(sample, hit, &vertices.surface.surface(lane));
            }
        }
    }

    /// Replaces the shading frames of a group by those of bump maps.
    fn apply_bump_maps(&mut self, group: usize, paths: &[u32], depth: u32) {
        let (scene, vertices) = (self.scene, &mut self.vertices.groups[group]);
        for (lane, &path) in paths.iter().enumerate() {
            let hit = &self.hits[path as usize];
            let [mut lobe_u, ..] = self.samples.sampler.get4(vertices.key[lane], 2 * depth + 2);
            let d = self.paths.rays[path as usize].d;
            let material = resolve_mix(scene, hit, d, &mut lobe_u);
            let surface = vertices.surface.surface(lane);
            if let Some(frame) = scene.bumped_frame(hit, d, &surface, material) {
                vertices.surface.set_frame(lane, frame, d);
            }
        }
    }

    /// Generates the random numbers of a group, and sets its materials. `batch` collects the
    /// parameters of the shader, if the materials have one.
    pub(super) fn prepare_vertices(
        &mut self,
        group: usize,
        mut batch: Option<&mut ShadingBatch<'_, 'a>>,
        depth: u32,
    ) {
        let (scene, sampler) = (self.scene, &self.samples.sampler);
        let guide = self.guide_at(depth);
        let tree = self.trained.and_then(|trained| trained.cell_tree.as_ref());
        let plays_roulette =
            depth < self.continuation_limit && TrainedRoulette::needs_scales(depth);
        let roulette = self.roulette().filter(|_| plays_roulette);
        let vertices = &mut self.vertices.groups[group];
        let binding = batch.as_deref().map(ShadingBatch::binding);
        let sides = binding.map_or(SurfaceSides::Both, |binding| binding.program.sides);
        vertices.set_wo(sides);
        // Surfaces without a shader take no light sample.
        if binding.is_some() {
            sampler.get4_columns(&vertices.key, 2 * depth + 1, &mut vertices.light_u);
        }
        sampler.get4_columns(&vertices.key, 2 * depth + 2, &mut vertices.bsdf_u);
        for lane in 0..vertices.len {
            let path = vertices.path[lane] as usize;
            let (hit, d) = (&self.hits[path], self.paths.rays[path].d);
            let lobe_u = &mut vertices.bsdf_u.0[0][lane];
            let Material::Surface { specular, scattering, .. } =
                &scene.materials[resolve_mix(scene, hit, d, lobe_u) as usize]
            else {
                unreachable!("resolve_mix returns a surface material")
            };
            let instance = scattering.as_ref();
            vertices.set_material(lane, specular.as_ref(), instance.map(|i| (i, sides)));
            let surface = &vertices.surface;
            if let (Some(batch), Some(instance)) = (&mut batch, instance) {
                batch.set_material(
                    group * COLUMN_LEN + lane,
                    (instance, vertices.dispersion[lane].nm),
                    || match instance.needs() {
                        LookupNeeds::NONE => surface.lookup(lane),
                        needs => scene.lookup(hit, d, &surface.surface(lane), needs),
                    },
                    surface.frame[2].get(lane),
                    || scene.geometry.shader_positions(hit, surface.p.get(lane)),
                );
            }
            if self.light_picker.depends_on_point() {
                self.vertices.receivers.push(receiver(
                    &self.light_picker,
                    binding,
                    instance,
                    (surface.p.get(lane), &surface.frame(lane)),
                    -d,
                    vertices.side[lane],
                ));
            }
        }
        if let Some(batch) = batch {
            if let (Some(tree), true) = (tree, guide.is_some() || roulette.is_some()) {
                vertices.set_cells(tree);
            }
            if let Some(roulette) = roulette {
                let mut inverse_brightness = [0.0; COLUMN_LEN];
                let samples = &vertices.sample[..vertices.len];
                for (inverse, &sample) in inverse_brightness.iter_mut().zip(samples) {
                    *inverse = self.inverse_brightness[sample as usize];
                }
                vertices.survival_scale = roulette.scales(&vertices.cells, &inverse_brightness);
            }
            vertices.set_direction_u(guide);
            let [u, v] = &vertices.direction_u.0;
            batch.set_points(group, [u, v], &vertices.wo);
        }
    }
}
