//! The BSDF sampling modes (shader, bounds, cosine) affect noise only, not the expected image.

use crate::common::{Estimate, WEAVE, assert_all_ok, load_scene, pfm, render, single_ray_scene};
use lightbound::settings::BsdfSampling;
use lightbound_math::vec3;
use lightbound_pbrt::build::{Overrides, PathOverrides};

const MODES: [BsdfSampling; 3] = [BsdfSampling::Shader, BsdfSampling::Bounds, BsdfSampling::Cosine];

fn overrides_for(bsdf_sampling: BsdfSampling) -> Overrides {
    let path = PathOverrides { bsdf_sampling: Some(bsdf_sampling), ..PathOverrides::default() };
    Overrides { path, ..Overrides::default() }
}

/// A surface under an environment map with one bright texel, next to an area light and a wall.
fn scene(material: &str, from: [f32; 3]) -> String {
    let world = format!(
        "LightSource \"infinite\" \"string filename\" \"sky.pfm\"
         AttributeBegin\nMaterial \"diffuse\" \"rgb reflectance\" [0 0 0]
         AreaLightSource \"diffuse\" \"rgb L\" [6 5 4] \"bool twosided\" true
         Shape \"bilinearmesh\" \"point3 P\" [1 -0.5 0.6  1 0.5 0.6  1 -0.5 1.6  1 0.5 1.6]\nAttributeEnd
         Texture \"spots\" \"float\" \"checkerboard\" \"float uscale\" 8 \"float vscale\" 8 \"float tex1\" 0.1 \"float tex2\" 0.4
         {material}
         Shape \"bilinearmesh\" \"point3 P\" [-2 -2 0  2 -2 0  -2 2 0  2 2 0]
         Material \"diffuse\" \"rgb reflectance\" [0.2 0.6 0.3]
         Shape \"bilinearmesh\" \"point3 P\" [-2 2 -2  2 2 -2  -2 2 2  2 2 2]"
    );
    single_ray_scene(vec3(from[0], from[1], from[2]), vec3(0.1, 0.05, 0.0), 3, 14, 16, &world)
}

/// Checks that two estimates agree within 4 standard errors, and that the relative standard error
/// is at most `max_error`.
fn check_agreement(a: &Estimate, b: &Estimate, max_error: f64) -> Result<(), String> {
    let channel = |c: usize| {
        let (difference, error) = ((a.mean[c] - b.mean[c]).abs(), a.error[c].hypot(b.error[c]));
        difference <= 4.0 * error + 1e-4 * b.mean[c] && error <= max_error * b.mean[c]
    };
    if (0..3).all(channel) { Ok(()) } else { Err(format!("{a:?} and {b:?}")) }
}

#[test]
fn all_modes_agree() {
    let environment_map = pfm(16, |x, y| {
        if (x, y) == (5, 9) {
            [40.0, 60.0, 80.0]
        } else {
            [0.5, 0.1 * (x as f32), 0.05 * (y as f32)]
        }
    });
    let grain = pfm(8, |x, y| [0.5 + 0.5 * ((x + y) % 2) as f32; 3]);
    let files = [("sky.pfm", environment_map), ("grain.pfm", grain), ("weave.wgsl", WEAVE.into())];
    let (above, low, below) = ([-1.0, -2.0, 2.0], [-2.0, 0.4, 0.3], [-1.0, -1.0, -1.5]);
    let shader = |settings: &str| format!("Material \"shader\" \"string filename\" {settings}");
    let cases = [
        (shader("\"phong.wgsl\" \"float exponent\" 60"), above),
        (shader("\"ward.wgsl\" \"texture alpha_x\" \"spots\" \"float alpha_y\" 0.2"), low),
        (shader("\"fractal.wgsl\" \"vector2 uv\" [0.3 0.6]"), low),
        (shader("\"weave.wgsl\" \"string grain\" \"grain.pfm\""), above),
        ("Material \"dielectric\" \"float roughness\" 0.3".into(), below),
        ("Material \"coateddiffuse\" \"float roughness\" 0.2".into(), above),
    ];
    let mut results = Vec::new();
    for (material, from) in &cases {
        let text = scene(material, *from);
        let [shader, bounds, cosine] = MODES.map(|mode| {
            Estimate::from_image(&render(&load_scene(&text, &files, &overrides_for(mode)), 2))
        });
        results.push((format!("{material}, bounds"), check_agreement(&bounds, &shader, 0.05)));
        results.push((format!("{material}, cosine"), check_agreement(&cosine, &shader, 0.2)));
    }
    assert_all_ok(results);
}
