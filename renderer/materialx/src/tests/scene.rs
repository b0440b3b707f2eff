//! Tests of what is not in the shader: emission, volumes, opacity and dispersion.

use super::{convert, inputs};
use crate::{Channel, Opacity, OpacityValue};

#[test]
fn emission_is_a_constant_or_an_image() {
    let emission = |nodes: &str, color: &str| {
        let text = format!(
            "<materialx>{nodes}<gltf_pbr name=\"s\" type=\"surfaceshader\">\
             <input name=\"emissive\" type=\"color3\" {color}/>\
             <input name=\"emissive_strength\" type=\"float\" value=\"3\"/>\
             </gltf_pbr></materialx>"
        );
        let material = convert(&text).unwrap();
        // What only emission reads is not in the program.
        assert!(material.textures.is_empty() && !material.text.contains("fn material"));
        (material.emission, material.warnings.len())
    };
    let (constant, warnings) = emission("", "value=\"1, 0.5, 0\"");
    let constant = constant.unwrap();
    assert_eq!((constant.radiance, constant.image, warnings), ([3.0, 1.5, 0.0], None, 0));
    let image = "<image name=\"i\" type=\"color3\"><input name=\"file\" type=\"filename\" \
        value=\"glow.png\" colorspace=\"srgb_texture\"/></image>";
    let (found, warnings) = emission(image, "nodename=\"i\"");
    let found = found.unwrap();
    assert_eq!((found.radiance, warnings), ([3.0; 3], 0));
    assert_eq!(found.image.unwrap().file, "glow.png");
    let noise = "<noise2d name=\"n\" type=\"color3\"/>";
    let (computed, warnings) = emission(noise, "nodename=\"n\"");
    assert!(computed.is_none() && warnings == 1);
    assert!(emission("", "value=\"0, 0, 0\"").0.is_none());
}

#[test]
fn volumes_have_coefficients() {
    for (surface, weight) in
        [("open_pbr_surface", "transmission_weight"), ("standard_surface", "transmission")]
    {
        let volume = |more: &str| {
            let inputs = inputs(&format!("{weight}:float=1 transmission_depth:float=2 {more}"));
            let color = "<input name=\"transmission_color\" type=\"color3\" value=\"0.5, 1, 1\"/>";
            let text = format!(
                "<materialx><{surface} name=\"s\" type=\"surfaceshader\">{inputs}{color}\
                 </{surface}></materialx>"
            );
            let material = convert(&text).unwrap();
            assert!(material.warnings.is_empty());
            material.volume
        };
        let volume_2 = volume("").unwrap();
        assert!((volume_2.absorption[0] - 0.5 * 2f64.ln()).abs() < 1e-12);
        assert_eq!(volume_2.absorption[1..], [0.0; 2]);
        assert_eq!(volume_2.scattering, [0.0; 3]);
        assert_eq!(volume_2.depth, Some(("transmission_depth", 2.0)));
        let thin = match surface {
            "open_pbr_surface" => "geometry_thin_walled:boolean=true",
            _ => "thin_walled:boolean=true",
        };
        assert!(volume(thin).is_none());
    }
    let gltf = |given: &str| {
        let inputs = inputs(&format!("transmission:float=1 attenuation_distance:float=2 {given}"));
        let color = "<input name=\"attenuation_color\" type=\"color3\" value=\"0.5, 1, 1\"/>";
        let text = format!(
            "<materialx><gltf_pbr name=\"s\" type=\"surfaceshader\">{inputs}{color}</gltf_pbr>\
             </materialx>"
        );
        convert(&text).unwrap().volume
    };
    let volume = gltf("thickness:float=0.1").unwrap();
    assert!((volume.absorption[0] - 0.5 * 2f64.ln()).abs() < 1e-12);
    assert_eq!((volume.depth, volume.scattering), (None, [0.0; 3]));
    assert!(gltf("").is_none(), "thin walls have none");

    // A scene may make a wall of a volume.
    let glass = convert(&format!(
        "<materialx><standard_surface name=\"s\" type=\"surfaceshader\">{}</standard_surface>\
         </materialx>",
        inputs("transmission:float=1 transmission_depth:float=2")
    ));
    let scene = glass.unwrap().scene.unwrap();
    let with_wall = |is_wall: f64| {
        let given = scene.shader().settable().iter();
        let given = given.map(|p| (p.name == "thin_walled").then(|| vec![is_wall]));
        scene.evaluate(&given.collect::<Vec<_>>()).volume.is_some()
    };
    assert!(with_wall(0.0) && !with_wall(1.0));
}

#[test]
fn volumes_that_vary_are_a_warning() {
    let text = format!(
        "<materialx><noise2d name=\"n\" type=\"float\"/>\n<open_pbr_surface name=\"s\" \
         type=\"surfaceshader\">{}\n<input name=\"transmission_depth\" type=\"float\" \
         nodename=\"n\"/></open_pbr_surface></materialx>",
        inputs("transmission_weight:float=1")
    );
    let material = convert(&text).unwrap();
    assert!(material.volume.is_none());
    let [warning] = &material.warnings[..] else { panic!("{:?}", material.warnings) };
    assert_eq!(
        warning.to_string(),
        "test.mtlx:3: a volume that varies over the surface is not supported; fallback: the colour \
         at the surface, without scattering"
    );
}

#[test]
fn scenes_set_inputs_by_their_names() {
    let of_standard = "emission_color emission transmission_scatter opacity thin_walled";
    for (surface, given, names) in [
        ("standard_surface", "emission:float=1 transmission:float=1", of_standard),
        ("gltf_pbr", "alpha_mode:integer=2 transmission:float=1", "alpha attenuation_distance"),
        ("UsdPreviewSurface", "opacityThreshold:float=0.5", "opacity emissiveColor"),
    ] {
        let material = convert(&format!(
            "<materialx><{surface} name=\"s\" type=\"surfaceshader\">{}</{surface}></materialx>",
            inputs(given)
        ));
        let scene = material.unwrap().scene.unwrap();
        let found: Vec<&str> =
            scene.shader().settable().iter().map(|parameter| parameter.name.as_str()).collect();
        for name in names.split(' ') {
            assert!(found.contains(&name), "{surface}: {name} is not in {found:?}");
        }
    }
}

#[test]
fn inputs_of_emission_are_not_in_the_program() {
    let graph = |name: &str| {
        format!(
            "<nodegraph name=\"{name}\"><input name=\"tint\" type=\"color3\" value=\"1, 0, 0\"/>\
             <dot name=\"d\" type=\"color3\"><input name=\"in\" type=\"color3\" \
             interfacename=\"tint\"/></dot><output name=\"out\" type=\"color3\" nodename=\"d\"/>\
             </nodegraph>"
        )
    };
    let material = convert(&format!(
        "<materialx>{}{}<standard_surface name=\"s\" type=\"surfaceshader\">\
         <input name=\"base_color\" type=\"color3\" nodegraph=\"a\"/>\
         <input name=\"emission_color\" type=\"color3\" nodegraph=\"b\"/>{}</standard_surface>\
         </materialx>",
        graph("a"),
        graph("b"),
        inputs("emission:float=1")
    ))
    .unwrap();
    let members = material.shader.settable().iter().map(|p| p.name.as_str());
    assert_eq!(members.filter(|name| name.starts_with("tint")).count(), 1);
    // The colour is a parameter of its graph, which the scene may set.
    assert!(material.warnings.is_empty(), "{:?}", material.warnings);
    assert_eq!(material.emission.as_ref().unwrap().radiance, [1.0, 0.0, 0.0]);
    let scene = material.scene.as_ref().unwrap();
    let names: Vec<_> = scene.shader().settable().iter().map(|p| p.name.as_str()).collect();
    assert!(names.contains(&"tint_2") && names.contains(&"emission"), "{names:?}");
    let radiance = |name: &str, value: &[f64]| {
        let given = names.iter().map(|&n| (n == name).then(|| value.to_vec()));
        scene.evaluate(&given.collect::<Vec<_>>()).emission.map(|emission| emission.radiance)
    };
    assert_eq!(radiance("tint_2", &[0.25, 0.5, 1.0]), Some([0.25, 0.5, 1.0]));
    assert_eq!(radiance("emission", &[3.0]), Some([3.0, 0.0, 0.0]));
    assert_eq!(radiance("emission", &[0.0]), None);
    assert!(scene.evaluate(&[Some(vec![f64::NAN])]).problems[0][0].contains("not finite"));
}

#[test]
fn nodes_compute_constant_emission() {
    let emission = |node: &str| {
        let text = format!(
            "<materialx>{node}<multiply name=\"m\" type=\"color3\"><input name=\"in1\" \
             type=\"color3\" nodename=\"n\"/><input name=\"in2\" type=\"float\" value=\"2\"/>\
             </multiply><open_pbr_surface name=\"s\" type=\"surfaceshader\"><input \
             name=\"emission_color\" type=\"color3\" nodename=\"m\"/>{}</open_pbr_surface>\
             </materialx>",
            inputs("emission_luminance:float=2 transmission_weight:float=1")
        );
        let material = convert(&text).unwrap();
        (material.emission.map(|emission| emission.radiance), material.warnings.len())
    };
    let constant = "<constant name=\"n\" type=\"color3\"><input name=\"value\" type=\"color3\" \
        value=\"0.25, 0.5, 1\"/></constant>";
    assert_eq!(emission(constant), (Some([1.0, 2.0, 4.0]), 0));
    assert_eq!(emission("<noise2d name=\"n\" type=\"color3\"/>"), (None, 1));
    assert_eq!(emission("<geomcolor name=\"n\" type=\"color3\"/>"), (None, 1));
}

#[test]
fn heads_declare_emission_and_volume() {
    let text = format!(
        "<materialx><open_pbr_surface name=\"s\" type=\"surfaceshader\">{}</open_pbr_surface>\
         </materialx>",
        inputs(
            "emission_luminance:float=2 transmission_weight:float=1 transmission_depth:float=4 \
             transmission_scatter:color3=0.5,0.5,0.5"
        )
    );
    let material = convert(&text).unwrap();
    for line in [
        "//! AreaLightSource \"diffuse\" \"rgb L\" [2 2 2]\n",
        "\"rgb sigma_s\" [0.125 0.125 0.125]\n//! MediumInterface \"volume\" \"\"\n",
        "//! \"float transmission_depth\" 4\n",
    ] {
        assert!(material.text.contains(line), "{}", material.text);
    }
}

#[test]
fn opacities_are_constants_or_images() {
    let image = |ty: &str| {
        format!(
            "<image name=\"i\" type=\"{ty}\"><input name=\"file\" type=\"filename\" \
             value=\"leaf.png\"/></image><extract name=\"e\" type=\"float\"><input name=\"in\" \
             type=\"{ty}\" nodename=\"i\"/><input name=\"index\" type=\"integer\" value=\"3\"/>\
             </extract>"
        )
    };
    let opacity = |nodes: &str, surface: &str, given: &str, connection: &str| {
        let text = format!(
            "<materialx>{nodes}<{surface} name=\"s\" type=\"surfaceshader\">{}{connection}\
             </{surface}></materialx>",
            inputs(given)
        );
        let material = convert(&text).unwrap();
        (material.opacity, material.warnings.len())
    };
    let constant = |x, cutoff| Some(Opacity { value: OpacityValue::Constant(x), cutoff });
    let open_pbr = |given| opacity("", "open_pbr_surface", given, "");
    assert_eq!(open_pbr("geometry_opacity:float=0.25"), (constant(0.25, None), 0));
    assert_eq!(open_pbr(""), (None, 0));
    assert_eq!(open_pbr("geometry_opacity:float=2"), (None, 1));
    let standard = opacity("", "standard_surface", "opacity:color3=0,0.5,1", "");
    assert_eq!(standard, (constant(0.5, None), 0));
    let gltf = |given| opacity("", "gltf_pbr", given, "").0;
    assert_eq!(gltf("alpha:float=0.25"), None);
    assert_eq!(gltf("alpha:float=0.25 alpha_mode:integer=2"), constant(0.25, None));
    assert_eq!(gltf("alpha:float=0.25 alpha_mode:integer=1"), constant(0.0, None));
    assert_eq!(gltf("alpha:float=0.25 alpha_mode:integer=1 alpha_cutoff:float=0.2"), None);

    let float = "<input name=\"alpha\" type=\"float\" nodename=\"i\"/>";
    let (found, _) = opacity(&image("float"), "gltf_pbr", "alpha_mode:integer=1", float);
    let Some(Opacity { value: OpacityValue::Image(texture, channel), cutoff }) = found else {
        panic!("it is an image");
    };
    assert_eq!(
        (texture.file.as_str(), channel, cutoff),
        ("leaf.png", Channel::Component(0), Some(0.5))
    );
    let extracted = "<input name=\"geometry_opacity\" type=\"float\" nodename=\"e\"/>";
    let (found, _) = opacity(&image("color4"), "open_pbr_surface", "", extracted);
    assert!(matches!(found.unwrap().value, OpacityValue::Image(_, Channel::Component(3))));
    let noise = "<noise2d name=\"e\" type=\"float\"/>";
    assert_eq!(opacity(noise, "open_pbr_surface", "", extracted), (None, 1));
    let cutout = "opacity:float=0.25 opacityThreshold:float=0.5";
    assert_eq!(opacity("", "UsdPreviewSurface", cutout, ""), (constant(0.0, None), 0));
}

#[test]
fn clear_glass_disperses_light() {
    let glass = |surface: &str, given: &str| {
        let text = format!(
            "<materialx><{surface} name=\"s\" type=\"surfaceshader\">{}</{surface}></materialx>",
            inputs(given)
        );
        let material = convert(&text).unwrap();
        assert_eq!(material.warnings.len(), usize::from(given.contains("coat")), "{given}");
        let has_head = material.text.contains("\"spectrum eta\" [");
        (material.dispersion.map(|dispersion| dispersion.abbe_number), has_head)
    };
    let clear = "transmission_weight:float=1 specular_roughness:float=0";
    let scaled = "transmission_dispersion_scale:float=0.5";
    let abbe = "transmission_dispersion_abbe_number:float=30";
    let open_pbr = |given: &str| glass("open_pbr_surface", given);
    assert_eq!(open_pbr(clear), (None, false));
    assert_eq!(open_pbr(&format!("{clear} {scaled} {abbe}")), (Some(60.0), true));
    assert_eq!(open_pbr(&format!("{clear} {scaled} coat_weight:float=1")), (None, false));
    let standard = "transmission:float=1 specular_roughness:float=0";
    assert_eq!(glass("standard_surface", standard), (None, false));
    let dispersing = format!("{standard} transmission_dispersion:float=40");
    assert_eq!(glass("standard_surface", &dispersing), (Some(40.0), true));
    let gltf = "transmission:float=1 roughness:float=0 metallic:float=0 thickness:float=1 \
        dispersion:float=0.5";
    assert_eq!(glass("gltf_pbr", gltf), (Some(40.0), true));
}

#[test]
fn volumes_are_finite() {
    let volume = |color: &str| {
        let material = convert(&format!(
            "<materialx><nodegraph name=\"g\"><input name=\"x\" type=\"float\" value=\"{color}\"/>\
             <ln name=\"l\" type=\"float\"><input name=\"in\" type=\"float\" \
             interfacename=\"x\"/></ln><combine3 name=\"c\" type=\"color3\"><input name=\"in1\" \
             type=\"float\" nodename=\"l\"/></combine3><output name=\"out\" type=\"color3\" \
             nodename=\"c\"/></nodegraph><open_pbr_surface name=\"s\" type=\"surfaceshader\">\
             {}<input name=\"transmission_color\" type=\"color3\" nodegraph=\"g\" output=\"out\"/>\
             </open_pbr_surface></materialx>",
            inputs("transmission_weight:float=1 transmission_depth:float=1")
        ));
        let material = material.unwrap();
        let found = material.warnings.iter().any(|w| w.message.contains("not finite"));
        (material.volume.is_some(), found)
    };
    assert_eq!(volume("2"), (true, false));
    assert_eq!(volume("-1"), (false, true));
}
