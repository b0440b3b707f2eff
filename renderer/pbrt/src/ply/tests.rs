use super::header::{PlyFormat, ScalarType};
use super::vertices::MIN_RECORDS;
use super::*;
use std::io::Write;

const HEADER: &str = "comment test mesh\nelement extra 2\nproperty list uchar short things\nelement vertex 5\nproperty double x\n\
    property float y\nproperty short z\nproperty uchar red\nproperty float nx\nproperty float ny\nproperty float nz\n\
    property float s\nproperty float t\nelement face 4\nproperty uchar flag\nproperty list uchar int vertex_index\n\
    property float quality\nelement after 1\nproperty int a\nend_header\n";

/// Encodes a mesh of a triangle, a quad, a pentagon and a face of two vertices, among ignored
/// elements and properties.
fn encode_mesh(format: PlyFormat) -> Vec<u8> {
    let (name, mut body) = match format {
        PlyFormat::Ascii => ("ascii", Vec::new()),
        PlyFormat::Little => ("binary_little_endian", Vec::new()),
        PlyFormat::Big => ("binary_big_endian", Vec::new()),
    };
    let mut push_value = |ty: ScalarType, value: f64| {
        if format == PlyFormat::Ascii {
            return write!(body, "{value} ").unwrap();
        }
        let mut bytes = match ty {
            ScalarType::U8 => vec![value as u8],
            ScalarType::I16 => (value as i16).to_le_bytes().to_vec(),
            ScalarType::I32 => (value as i32).to_le_bytes().to_vec(),
            ScalarType::F32 => (value as f32).to_le_bytes().to_vec(),
            ScalarType::F64 => value.to_le_bytes().to_vec(),
            other => unreachable!("{other:?}"),
        };
        if format == PlyFormat::Big {
            bytes.reverse();
        }
        body.extend(bytes);
    };
    for items in [&[7.0, -8.0][..], &[]] {
        push_value(ScalarType::U8, items.len() as f64);
        items.iter().for_each(|&i| push_value(ScalarType::I16, i));
    }
    for i in 0..5 {
        let i = i as f64;
        push_value(ScalarType::F64, 0.5 + i);
        push_value(ScalarType::F32, -i);
        push_value(ScalarType::I16, -3.0 * i);
        push_value(ScalarType::U8, 255.0);
        [0.0, 0.25, i, i / 8.0, 1.0 - i / 8.0]
            .into_iter()
            .for_each(|v| push_value(ScalarType::F32, v));
    }
    for face in [&[0, 1, 2][..], &[0, 1, 2, 3], &[4, 3, 2, 1, 0], &[1, 2]] {
        push_value(ScalarType::U8, 1.0);
        push_value(ScalarType::U8, face.len() as f64);
        face.iter().for_each(|&i| push_value(ScalarType::I32, i as f64));
        push_value(ScalarType::F32, 0.5);
    }
    push_value(ScalarType::I32, 99.0);
    [format!("ply\nformat {name} 1.0\n{HEADER}").into_bytes(), body].concat()
}

/// The mesh that [`encode_mesh`] encodes.
fn expected_mesh() -> PlyMesh {
    let as_float = |i: u32| i as f32;
    PlyMesh {
        positions: (0..5).map(as_float).map(|i| Vec3::new(0.5 + i, -i, -3.0 * i)).collect(),
        normals: (0..5).map(as_float).map(|i| Vec3::new(0.0, 0.25, i)).collect(),
        uvs: (0..5).map(as_float).map(|i| Vec2::new(i / 8.0, 1.0 - i / 8.0)).collect(),
        triangles: vec![[0, 1, 2], [4, 3, 2], [4, 2, 1], [4, 1, 0]],
        quads: vec![[0, 1, 3, 2]],
        ignored_faces: 1,
        ..PlyMesh::default()
    }
}

fn parse_file(data: &[u8]) -> Result<PlyMesh, PlyError> {
    parse(data, Path::new("mesh.ply"), &[])
}

fn error_message(data: &[u8]) -> String {
    parse_file(data).expect_err("the file is invalid").to_string()
}

const FORMATS: [PlyFormat; 3] = [PlyFormat::Ascii, PlyFormat::Little, PlyFormat::Big];

#[test]
fn all_formats_give_the_same_mesh() {
    for format in FORMATS {
        assert_eq!(parse_file(&encode_mesh(format)).unwrap(), expected_mesh(), "{format:?}");
    }
}

#[test]
fn compressed_files_are_read_and_truncated_ones_are_rejected() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mesh.ply.gz");
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(&encode_mesh(PlyFormat::Little)).unwrap();
    let packed = gz.finish().unwrap();
    std::fs::write(&path, &packed).unwrap();
    assert_eq!(read(&path, &[]).unwrap(), expected_mesh());
    std::fs::write(&path, &packed[..packed.len() / 2]).unwrap();
    assert!(read(&path, &[]).unwrap_err().to_string().contains("mesh.ply.gz: cannot be read"));
    assert!(matches!(
        read(&dir.path().join("none.ply"), &[]),
        Err(PlyError { kind: PlyErrorKind::Io(_), .. })
    ));
}

#[test]
fn truncated_files_are_rejected() {
    for format in FORMATS {
        let data = encode_mesh(format);
        // The reader ignores the last element. An ASCII number before it may lose digits.
        let min_length = data.len() - if format == PlyFormat::Ascii { 6 } else { 4 };
        for length in 0..data.len() {
            assert!(
                parse_file(&data[..length]).is_err() || length >= min_length,
                "{format:?} {length}"
            );
        }
    }
}

#[test]
fn large_meshes_are_read_in_chunks() {
    const COUNT: usize = 2 * MIN_RECORDS + 100;
    let vertices: Vec<[f32; 3]> = (0..COUNT as u32).map(|i| [i as f32, 1.0, -2.0]).collect();
    for quads in [&[][..], &[5], &[2 * MIN_RECORDS], &[0, MIN_RECORDS, COUNT - 1]] {
        let mut data = format!(
            "ply\nformat binary_little_endian 1.0\nelement vertex {COUNT}\nproperty float x\n\
             property float y\nproperty float z\nelement face {COUNT}\n\
             property list uchar int vertex_indices\nproperty uchar flag\nend_header\n"
        )
        .into_bytes();
        data.extend(vertices.as_flattened().iter().flat_map(|x| x.to_le_bytes()));
        let mut expected = PlyMesh {
            positions: vertices.iter().copied().map(Vec3::from).collect(),
            ..PlyMesh::default()
        };
        for face in 0..COUNT {
            let [a, b, c] = [0, 1, 2].map(|k| ((face + 7 * k) % COUNT) as u32);
            data.push(if quads.contains(&face) { 4 } else { 3 });
            data.extend([a, b, c].iter().flat_map(|i| i.to_le_bytes()));
            if quads.contains(&face) {
                data.extend([0; 4]);
                expected.quads.push([a, b, 0, c]);
            } else {
                expected.triangles.push([a, b, c]);
            }
            data.push(3);
        }
        assert!(parse_file(&data).unwrap() == expected, "{quads:?}");
        for length in [data.len() - 1, data.len() - 14 * 100, data.len() - 14 * 101] {
            let error = error_message(&data[..length]);
            assert!(error.contains("the file is truncated"), "{error}");
        }
    }
}

#[test]
fn the_size_of_a_list_may_exceed_the_address_space() {
    for count in ["4e9", "1e19", "1e30", "1e300"] {
        let text = format!(
            "ply\nformat ascii 1.0\nelement face 1\nproperty list float int vertex_indices\n\
             end_header\n{count} 0 1 2\n"
        );
        let error = parse(text.as_bytes(), Path::new("a.ply"), &[]).unwrap_err();
        assert!(matches!(error.kind, PlyErrorKind::Truncated { .. }), "{count}: {error}");
    }
}

#[test]
fn corrupt_files_do_not_panic_or_give_invalid_indices() {
    for format in FORMATS {
        let data = encode_mesh(format);
        for at in 0..data.len() {
            for byte in [0, b' ', b'-', b'9', 0x7f, 0xff] {
                let mut data = data.clone();
                data[at] = byte;
                // The reader checks indices.
                if let Ok(mesh) = parse_file(&data) {
                    assert!(
                        mesh.triangles
                            .as_flattened()
                            .iter()
                            .all(|&i| (i as usize) < mesh.positions.len())
                    );
                    assert!(
                        mesh.quads
                            .as_flattened()
                            .iter()
                            .all(|&i| (i as usize) < mesh.positions.len())
                    );
                }
            }
        }
    }
}

fn ascii(vertices: &str, faces: &str, body: &str) -> Vec<u8> {
    let xyz = "property float x\nproperty float y\nproperty float z\n";
    let list = "property list uchar int vertex_indices\n";
    format!("ply\nformat ascii 1.0\nelement vertex {vertices}\n{xyz}element face {faces}\n{list}end_header\n{body}").into()
}

#[test]
fn errors_give_position_problem_and_remedy() {
    let body = "0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n";
    assert_eq!(parse_file(&ascii("3", "1", body)).unwrap().triangles, [[0, 1, 2]]);
    for (data, text) in [
        (
            b"solid cube".to_vec(),
            "mesh.ply:1: is not a PLY file: the first line must be `ply`; export the mesh as PLY",
        ),
        (ascii("3", "1", "0 0 0\n1 0 x\n0 1 0\n3 0 1 2\n"), "mesh.ply:11: `x` is not a number"),
        (ascii("3", "1", "0 0 0 1 0 0 0 1 0 3 0 1 3"), "vertex 3, but there are 3 vertices"),
        (ascii("3", "1", "0 0 0 1 0 0 0 1 0 3 0 1 -1"), "vertex -1, but there are 3 vertices"),
        (ascii("3", "1", "0 0 0 1 0 0 0 1 0 3 0 1 0.5"), "vertex 0.5, but"),
        (ascii("3", "1", "0 0 0 1 0 0 0 1 0 -3 0 1 2"), "cannot have -3 items"),
        (
            ascii("3", "1", "0 0 0 1 0 0 0 1 0 9999999 0 1 2"),
            "need at least 19999998 bytes, but only 6 remain",
        ),
        (ascii("3", "1", "0 0 0 1 0 0 0 1 0 2 0 1"), "contains no faces"),
        (ascii("0", "0", ""), "contains no vertices"),
        (ascii("99999999999999999", "99999999999999999", body), "truncated"),
        (ascii("three", "1", body), "mesh.ply:3: unknown header line `element vertex three`"),
        (b"ply\nformat ascii 1.0\nend_header\n".to_vec(), "contains no vertices"),
        (b"ply\nend_header\n".to_vec(), "lacks `format`"),
        (
            b"ply\nformat ascii 1.0\nelement vertex 1\nproperty int x\nend_header\n1 ".to_vec(),
            "contains no vertex positions",
        ),
        (
            b"ply\nformat ascii 1.0\nelement face 1\nproperty int x\nend_header\n1 ".to_vec(),
            "contains no list of vertex",
        ),
    ] {
        assert!(error_message(&data).contains(text), "{}", error_message(&data));
    }
    let mut data = encode_mesh(PlyFormat::Little);
    let at = data.len() - 4 - (1 + 1 + 8 + 4) - 8;
    data[at..at + 4].copy_from_slice(&5i32.to_le_bytes());
    assert!(error_message(&data).contains("vertex 5, but there are 5"), "{}", error_message(&data));
}

#[test]
fn elements_without_properties_are_skipped_in_constant_time() {
    let data = b"ply\nformat ascii 1.0\nelement none 18446744073709551615\nelement face 0\nproperty list int int vertex_index\nend_header\n";
    assert!(error_message(data).contains("contains no vertices"));
}

/// A triangle with properties of types that `types` has, one for each name; vertex k has the value
/// k of `values` for each property.
fn with_properties(properties: &[(&str, &str)], values: [&str; 3]) -> Vec<u8> {
    let declared: String =
        properties.iter().map(|(ty, name)| format!("property {ty} {name}\n")).collect();
    let vertex =
        |p: &str, value: &str| format!("{p} {}\n", [value].repeat(properties.len()).join(" "));
    let vertices: String =
        ["0 0 0", "1 0 0", "0 1 0"].iter().zip(values).map(|(p, x)| vertex(p, x)).collect();
    format!(
        "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\n\
         property float z\n{declared}element face 1\nproperty list uchar int vertex_indices\n\
         end_header\n{vertices}3 0 1 2\n"
    )
    .into()
}

fn attribute(data: &[u8], name: &str) -> Option<AttributeValues> {
    let mesh = parse(data, Path::new("a.ply"), &[name.to_string()]).unwrap();
    assert!(mesh.attributes.iter().all(|(found, _)| found == name));
    mesh.attributes.into_iter().next().map(|(_, values)| values)
}

#[test]
fn colours_are_linear_floats_or_integers_of_srgb() {
    for names in [["red", "green", "blue"], ["r", "g", "b"]] {
        let of_type = |ty| names.map(|name| (ty, name));
        let floats = with_properties(&of_type("float"), ["0", "0.25", "3"]);
        let expected = [0.0, 0.25, 3.0].map(Vec3::splat).to_vec();
        assert_eq!(attribute(&floats, "color"), Some(AttributeValues::Colours(expected)));
        for (ty, half) in [("uchar", "128"), ("ushort", "32896")] {
            let codes = with_properties(&of_type(ty), ["0", half, "255"]);
            let Some(AttributeValues::Colours(found)) = attribute(&codes, "color") else {
                panic!("the mesh has colours")
            };
            assert!((found[1] - 0.215_860_53).abs().max_element() < 1e-6, "{found:?}");
            assert_eq!(found[0], Vec3::ZERO);
        }
    }
    // Integers of 32 bits have the codes of 8 bits, and components may have types of their own.
    let wide = with_properties(&["r", "g", "b"].map(|name| ("int", name)), ["0", "128", "255"]);
    let narrow = with_properties(&["r", "g", "b"].map(|name| ("uchar", name)), ["0", "128", "255"]);
    assert_eq!(attribute(&wide, "color"), attribute(&narrow, "color"));
    let mixed = [("uchar", "red"), ("float", "green"), ("uint", "blue")];
    let mixed = with_properties(&mixed, ["0", "1", "255"]);
    let Some(AttributeValues::Colours(found)) = attribute(&mixed, "color") else {
        panic!("the mesh has colours")
    };
    assert_eq!(found[2], Vec3::new(1.0, 255.0, 1.0));
    let two = with_properties(&[("uchar", "red"), ("uchar", "green")], ["1", "2", "3"]);
    assert_eq!(attribute(&two, "color"), None);
}

#[test]
fn codes_of_colours_out_of_range_are_errors() {
    let alpha = |ty| vec![(ty, "alpha")];
    let rgb = vec![("uchar", "red"), ("short", "green"), ("uchar", "blue")];
    for (properties, values, message) in [
        (alpha("int"), ["0", "255", "256"], "vertex 2 has the value 256 for \"alpha\""),
        (alpha("char"), ["0", "-1", "-2"], "vertex 1 has the value -1 for \"alpha\""),
        (
            alpha("char"),
            ["0", "1", "128"],
            "integer values must be between 0 and 127; export colours as",
        ),
        (rgb, ["-7", "1", "2"], "vertex 0 has the value -7 for \"color\""),
    ] {
        let data = with_properties(&properties, values);
        let names = ["color", "alpha"].map(String::from);
        let error = parse(&data, Path::new("a.ply"), &names).unwrap_err().to_string();
        assert!(error.contains(message) && error.contains("as uchar from 0 to 255"), "{error}");
    }
}

#[test]
fn attributes_are_found_by_their_properties() {
    let numbers = |values: [f32; 3]| Some(AttributeValues::Numbers(values.to_vec()));
    let alpha = with_properties(&[("uchar", "alpha")], ["0", "51", "255"]);
    assert_eq!(attribute(&alpha, "alpha"), numbers([0.0, 0.2, 1.0]));
    let alpha = with_properties(&[("float", "a")], ["0", "0.5", "1"]);
    assert_eq!(attribute(&alpha, "alpha"), numbers([0.0, 0.5, 1.0]));
    let quality = with_properties(&[("int", "quality")], ["7", "-2", "0"]);
    assert_eq!(attribute(&quality, "quality"), numbers([7.0, -2.0, 0.0]));
    assert_eq!(attribute(&quality, "wear"), None);
    for names in [["u1", "v1"], ["s1", "t1"]] {
        let uv = with_properties(&names.map(|name| ("float", name)), ["0", "2", "-1"]);
        let expected = [0.0, 2.0, -1.0].map(Vec2::splat).to_vec();
        assert_eq!(attribute(&uv, "uv1"), Some(AttributeValues::Coordinates(expected)));
        assert_eq!(attribute(&uv, "uv2"), None);
    }
    // In all formats.
    for format in FORMATS {
        let data = encode_mesh(format);
        let names = ["quality", "z"].map(String::from);
        let mesh = parse(&data, Path::new("a.ply"), &names).unwrap();
        let z = (0..5).map(|i| -3.0 * i as f32).collect();
        assert_eq!(mesh.attributes, [("z".to_string(), AttributeValues::Numbers(z))]);
    }
}

#[test]
fn tangents_have_the_sign_of_the_bitangent() {
    let with = |names: &[(&str, &str)]| {
        let data = with_properties(names, ["1", "0", "-1"]);
        parse_file(&data).unwrap().tangents.iter().map(|t| t.to_array()).collect::<Vec<_>>()
    };
    let xyz = [("float", "tx"), ("float", "ty"), ("float", "tz")];
    assert_eq!(with(&xyz), [[1.0; 4], [0.0, 0.0, 0.0, 1.0], [-1.0, -1.0, -1.0, 1.0]]);
    let xyzw = [&xyz[..], &[("double", "tw")]].concat();
    assert_eq!(with(&xyzw), [[1.0; 4], [0.0; 4], [-1.0; 4]]);
    assert!(with(&xyz[..2]).is_empty());
}
