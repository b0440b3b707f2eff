//! The JSON of a glTF document, as far as it is translated. Names are those of the specification.
//!
//! The crate `gltf` would leave most of this to do: it has no types for eight of the material
//! extensions, and its accessors rely on a validation that does not look at buffers.

use serde::Deserialize;
use std::collections::BTreeMap;

/// A document.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Root {
    pub asset: Asset,
    pub extensions_used: Vec<String>,
    pub extensions_required: Vec<String>,
    pub extensions: RootExtensions,
    pub scene: Option<usize>,
    pub scenes: Vec<Scene>,
    pub nodes: Vec<Node>,
    pub meshes: Vec<Mesh>,
    pub skins: Vec<Skin>,
    pub animations: Vec<Animation>,
    pub cameras: Vec<Camera>,
    pub materials: Vec<Material>,
    pub textures: Vec<Texture>,
    pub images: Vec<Image>,
    pub samplers: Vec<Sampler>,
    pub accessors: Vec<Accessor>,
    pub buffer_views: Vec<BufferView>,
    pub buffers: Vec<Buffer>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Asset {
    pub version: String,
    pub min_version: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RootExtensions {
    #[serde(rename = "KHR_lights_punctual")]
    pub lights: Lights,
    #[serde(rename = "KHR_materials_variants")]
    pub variants: Variants,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Lights {
    pub lights: Vec<Light>,
}

#[derive(Debug, Deserialize)]
#[serde(default)]
pub(crate) struct Light {
    pub name: Option<String>,
    #[serde(rename = "type")]
    pub kind: String,
    pub color: [f32; 3],
    pub intensity: f32,
    pub spot: Option<Spot>,
}

impl Default for Light {
    fn default() -> Light {
        Light { name: None, kind: String::new(), color: [1.0; 3], intensity: 1.0, spot: None }
    }
}

#[derive(Debug, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Spot {
    pub inner_cone_angle: f32,
    pub outer_cone_angle: f32,
}

impl Default for Spot {
    fn default() -> Spot {
        Spot { inner_cone_angle: 0.0, outer_cone_angle: std::f32::consts::FRAC_PI_4 }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Variants {
    pub variants: Vec<Named>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Named {
    pub name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Scene {
    pub name: Option<String>,
    pub nodes: Vec<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Node {
    pub name: Option<String>,
    pub children: Vec<usize>,
    pub matrix: Option<[f64; 16]>,
    pub translation: Option<[f64; 3]>,
    pub rotation: Option<[f64; 4]>,
    pub scale: Option<[f64; 3]>,
    pub mesh: Option<usize>,
    pub skin: Option<usize>,
    pub camera: Option<usize>,
    pub weights: Option<Vec<f32>>,
    pub extensions: NodeExtensions,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct NodeExtensions {
    #[serde(rename = "KHR_lights_punctual")]
    pub light: Option<NodeLight>,
    #[serde(rename = "EXT_mesh_gpu_instancing")]
    pub instancing: Option<Instancing>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct NodeLight {
    pub light: usize,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Instancing {
    pub attributes: BTreeMap<String, usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Mesh {
    pub name: Option<String>,
    pub primitives: Vec<Primitive>,
    pub weights: Option<Vec<f32>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Primitive {
    pub attributes: BTreeMap<String, usize>,
    pub indices: Option<usize>,
    pub material: Option<usize>,
    pub mode: Option<u32>,
    pub targets: Vec<BTreeMap<String, usize>>,
    pub extensions: PrimitiveExtensions,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PrimitiveExtensions {
    #[serde(rename = "KHR_materials_variants")]
    pub variants: Option<Mappings>,
    #[serde(rename = "KHR_draco_mesh_compression")]
    pub draco: Option<serde_json::Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Mappings {
    pub mappings: Vec<Mapping>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Mapping {
    pub material: usize,
    pub variants: Vec<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Skin {
    pub name: Option<String>,
    pub inverse_bind_matrices: Option<usize>,
    pub joints: Vec<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Animation {
    pub name: Option<String>,
    pub channels: Vec<Channel>,
    pub samplers: Vec<AnimationSampler>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Channel {
    pub sampler: usize,
    pub target: Target,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Target {
    pub node: Option<usize>,
    pub path: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct AnimationSampler {
    pub input: usize,
    pub output: usize,
    #[serde(default)]
    pub interpolation: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Camera {
    pub name: Option<String>,
    #[serde(rename = "type")]
    pub kind: String,
    pub perspective: Option<Perspective>,
    pub orthographic: Option<Orthographic>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Perspective {
    #[serde(default)]
    pub aspect_ratio: Option<f64>,
    pub yfov: f64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Orthographic {
    pub xmag: f64,
    pub ymag: f64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Material {
    pub name: Option<String>,
    pub pbr_metallic_roughness: MetallicRoughness,
    pub normal_texture: Option<TextureInfo>,
    pub occlusion_texture: Option<TextureInfo>,
    pub emissive_texture: Option<TextureInfo>,
    pub emissive_factor: [f32; 3],
    pub alpha_mode: Option<String>,
    pub alpha_cutoff: Option<f32>,
    pub double_sided: bool,
    pub extensions: MaterialExtensions,
}

#[derive(Debug, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct MetallicRoughness {
    pub base_color_factor: [f32; 4],
    pub base_color_texture: Option<TextureInfo>,
    pub metallic_factor: f32,
    pub roughness_factor: f32,
    pub metallic_roughness_texture: Option<TextureInfo>,
}

impl Default for MetallicRoughness {
    fn default() -> MetallicRoughness {
        MetallicRoughness {
            base_color_factor: [1.0; 4],
            base_color_texture: None,
            metallic_factor: 1.0,
            roughness_factor: 1.0,
            metallic_roughness_texture: None,
        }
    }
}

/// A texture of a material; `scale` is that of normal textures.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TextureInfo {
    pub index: usize,
    #[serde(default)]
    pub tex_coord: usize,
    #[serde(default)]
    pub scale: Option<f32>,
    #[serde(default)]
    pub extensions: TextureInfoExtensions,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub(crate) struct TextureInfoExtensions {
    #[serde(rename = "KHR_texture_transform")]
    pub transform: Option<TextureTransform>,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct TextureTransform {
    pub offset: [f64; 2],
    pub rotation: f64,
    pub scale: [f64; 2],
    pub tex_coord: Option<usize>,
}

impl Default for TextureTransform {
    fn default() -> TextureTransform {
        TextureTransform { offset: [0.0; 2], rotation: 0.0, scale: [1.0; 2], tex_coord: None }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct MaterialExtensions {
    #[serde(rename = "KHR_materials_anisotropy")]
    pub anisotropy: Option<Anisotropy>,
    #[serde(rename = "KHR_materials_clearcoat")]
    pub clearcoat: Option<Clearcoat>,
    #[serde(rename = "KHR_materials_diffuse_transmission")]
    pub diffuse_transmission: Option<DiffuseTransmission>,
    #[serde(rename = "KHR_materials_dispersion")]
    pub dispersion: Option<Dispersion>,
    #[serde(rename = "KHR_materials_emissive_strength")]
    pub emissive_strength: Option<EmissiveStrength>,
    #[serde(rename = "KHR_materials_ior")]
    pub ior: Option<Ior>,
    #[serde(rename = "KHR_materials_iridescence")]
    pub iridescence: Option<Iridescence>,
    #[serde(rename = "KHR_materials_sheen")]
    pub sheen: Option<Sheen>,
    #[serde(rename = "KHR_materials_specular")]
    pub specular: Option<Specular>,
    #[serde(rename = "KHR_materials_transmission")]
    pub transmission: Option<Transmission>,
    #[serde(rename = "KHR_materials_volume")]
    pub volume: Option<Volume>,
    #[serde(rename = "KHR_materials_unlit")]
    pub unlit: Option<serde_json::Value>,
    #[serde(rename = "KHR_materials_pbrSpecularGlossiness")]
    pub specular_glossiness: Option<SpecularGlossiness>,
}

/// Declares the object of an extension with its default values.
macro_rules! extension {
    ($name:ident { $($field:ident: $ty:ty = $default:expr),* $(,)? }) => {
        #[derive(Debug, Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        pub(crate) struct $name { $(pub $field: $ty),* }

        impl Default for $name {
            fn default() -> $name {
                $name { $($field: $default),* }
            }
        }
    };
}

extension!(Anisotropy {
    anisotropy_strength: f32 = 0.0,
    anisotropy_rotation: f32 = 0.0,
    anisotropy_texture: Option<TextureInfo> = None,
});
extension!(Clearcoat {
    clearcoat_factor: f32 = 0.0,
    clearcoat_texture: Option<TextureInfo> = None,
    clearcoat_roughness_factor: f32 = 0.0,
    clearcoat_roughness_texture: Option<TextureInfo> = None,
    clearcoat_normal_texture: Option<TextureInfo> = None,
});
extension!(DiffuseTransmission {
    diffuse_transmission_factor: f32 = 0.0,
    diffuse_transmission_texture: Option<TextureInfo> = None,
    diffuse_transmission_color_factor: [f32; 3] = [1.0; 3],
    diffuse_transmission_color_texture: Option<TextureInfo> = None,
});
extension!(Dispersion { dispersion: f32 = 0.0 });
extension!(EmissiveStrength { emissive_strength: f32 = 1.0 });
extension!(Ior { ior: f32 = 1.5 });
extension!(Iridescence {
    iridescence_factor: f32 = 0.0,
    iridescence_texture: Option<TextureInfo> = None,
    iridescence_ior: f32 = 1.3,
    iridescence_thickness_minimum: f32 = 100.0,
    iridescence_thickness_maximum: f32 = 400.0,
    iridescence_thickness_texture: Option<TextureInfo> = None,
});
extension!(Sheen {
    sheen_color_factor: [f32; 3] = [0.0; 3],
    sheen_color_texture: Option<TextureInfo> = None,
    sheen_roughness_factor: f32 = 0.0,
    sheen_roughness_texture: Option<TextureInfo> = None,
});
extension!(Specular {
    specular_factor: f32 = 1.0,
    specular_texture: Option<TextureInfo> = None,
    specular_color_factor: [f32; 3] = [1.0; 3],
    specular_color_texture: Option<TextureInfo> = None,
});
extension!(Transmission {
    transmission_factor: f32 = 0.0,
    transmission_texture: Option<TextureInfo> = None,
});
extension!(Volume {
    thickness_factor: f32 = 0.0,
    attenuation_distance: Option<f32> = None,
    attenuation_color: [f32; 3] = [1.0; 3],
});
extension!(SpecularGlossiness {
    diffuse_factor: [f32; 4] = [1.0; 4],
    diffuse_texture: Option<TextureInfo> = None,
    specular_factor: [f32; 3] = [1.0; 3],
    glossiness_factor: f32 = 1.0,
    specular_glossiness_texture: Option<TextureInfo> = None,
});

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Texture {
    pub sampler: Option<usize>,
    pub source: Option<usize>,
    pub extensions: serde_json::Map<String, serde_json::Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Image {
    pub name: Option<String>,
    pub uri: Option<String>,
    pub mime_type: Option<String>,
    pub buffer_view: Option<usize>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Sampler {
    pub mag_filter: Option<u32>,
    pub wrap_s: Option<u32>,
    pub wrap_t: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Accessor {
    #[serde(default)]
    pub buffer_view: Option<usize>,
    #[serde(default)]
    pub byte_offset: u64,
    pub component_type: u32,
    #[serde(default)]
    pub normalized: bool,
    pub count: u64,
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default)]
    pub sparse: Option<Sparse>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Sparse {
    pub count: u64,
    pub indices: SparseArray,
    pub values: SparseArray,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SparseArray {
    pub buffer_view: usize,
    #[serde(default)]
    pub byte_offset: u64,
    #[serde(default)]
    pub component_type: u32,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BufferView {
    pub buffer: usize,
    #[serde(default)]
    pub byte_offset: u64,
    pub byte_length: u64,
    #[serde(default)]
    pub byte_stride: Option<u64>,
    #[serde(default)]
    pub extensions: serde_json::Map<String, serde_json::Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Buffer {
    #[serde(default)]
    pub uri: Option<String>,
    pub byte_length: u64,
}
