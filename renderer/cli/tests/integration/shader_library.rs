//! Shaders of scenes and of the library.

use std::path::Path;

#[test]
fn shader_errors_show_source_lines() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "wrong.wgsl",
        "struct Material { kd: vec3f }
fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    return m.kdd;
}
",
    );
    write(
        "scene.pbrt",
        "WorldBegin
MakeNamedMaterial \"velvet\" \"string type\" \"shader\" \"string filename\" \"wrong.wgsl\"",
    );
    let output = assert_cmd::Command::cargo_bin("lightbound")
        .unwrap()
        .args([
            Path::new("render"),
            &folder.path().join("scene.pbrt"),
            Path::new("-o"),
            &folder.path().join("out.png"),
        ])
        .assert()
        .code(2);
    let text = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(!text.contains("Error:"), "{text}");
    for part in [
        "wrong.wgsl of material \"velvet\"",
        "scene.pbrt:2:",
        "wrong.wgsl:3:",
        "return m.kdd;",
        "help:",
        "`kd`",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
}

#[test]
fn commands_find_library_shaders() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let mut command = assert_cmd::Command::cargo_bin("lightbound").unwrap();
        let output = command.current_dir(folder.path()).args(arguments).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (code, list, _) = run(&["shader", "list"]);
    assert_eq!(code, Some(0));
    assert!(
        list.lines()
            .any(|line| line.starts_with("ward.wgsl ") && line.contains("kd ks alpha_x alpha_y")),
        "{list}"
    );
    for name in ["ward.wgsl", "ward"] {
        let (code, text, _) = run(&["shader", "check", name]);
        assert!(code == Some(0) && text.contains("alpha_x"), "{text}");
    }
    assert_eq!(run(&["shader", "show", "phong.wgsl", "--stage", "ir"]).0, Some(0));
    assert_eq!(run(&["shader", "eval", "phong.wgsl", "--wi", "0,0,1", "--wo", "0,0,1"]).0, Some(0));
    let (code, _, text) = run(&["shader", "check", "wrad.wgsl"]);
    assert!(
        code == Some(2)
            && text.contains("wrad.wgsl: cannot be read")
            && text.contains("did you mean \"ward.wgsl\""),
        "{text}"
    );
    // A file takes precedence.
    std::fs::write(folder.path().join("ward.wgsl"), "not a shader").unwrap();
    assert_eq!(run(&["shader", "check", "ward.wgsl"]).0, Some(2));
}
