//! Time to load PLY files as meshes: a grid of a million triangles, binary little endian. Items are
//! triangles.

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use lightbound_pbrt::ply;
use std::path::Path;

/// Cells along each side, with two triangles each.
const SIDE: u32 = 708;
const TRIANGLES: u32 = 2 * SIDE * SIDE;

fn main() {
    divan::main();
}

/// A wavy grid as a file, with or without normals and texture coordinates.
fn grid(shaded: bool) -> Vec<u8> {
    let n = SIDE + 1;
    let floats =
        |names: &[&str]| names.iter().map(|n| format!("property float {n}\n")).collect::<String>();
    let mut properties = floats(&["x", "y", "z"]);
    if shaded {
        properties += &floats(&["nx", "ny", "nz", "u", "v"]);
    }
    let vertices = n * n;
    let mut data = format!(
        "ply\nformat binary_little_endian 1.0\nelement vertex {vertices}\n{properties}\
         element face {TRIANGLES}\nproperty list uchar int vertex_indices\nend_header\n"
    )
    .into_bytes();
    for i in 0..vertices {
        let (u, v) = ((i % n) as f32 / SIDE as f32, (i / n) as f32 / SIDE as f32);
        let values = [u, v, (9.0 * u).sin() * (7.0 * v).cos(), 0.0, 0.0, 1.0, u, v];
        data.extend(values[..if shaded { 8 } else { 3 }].iter().flat_map(|x| x.to_le_bytes()));
    }
    for i in 0..SIDE * SIDE {
        let a = i / SIDE * n + i % SIDE;
        for corners in [[a, a + 1, a + n], [a + 1, a + n + 1, a + n]] {
            data.push(3);
            data.extend(corners.iter().flat_map(|i| i.to_le_bytes()));
        }
    }
    data
}

fn check(mesh: &ply::PlyMesh, shaded: bool) {
    assert_eq!(mesh.triangles.len(), TRIANGLES as usize);
    assert_eq!(mesh.triangles.last().unwrap()[1] as usize, mesh.positions.len() - 1);
    assert_eq!(mesh.uvs.last().map(|uv| uv.to_array()), shaded.then_some([1.0, 1.0]));
}

#[divan::bench(args = [false, true])]
fn parse_from_memory(bencher: Bencher, shaded: bool) {
    let data = grid(shaded);
    let parse = || ply::parse(black_box(&data), Path::new("grid.ply")).unwrap();
    check(&parse(), shaded);
    bencher.counter(ItemsCount::new(TRIANGLES)).counter(BytesCount::of_slice(&data)).bench(parse);
}

#[divan::bench(args = [false, true])]
fn read_from_file(bencher: Bencher, shaded: bool) {
    let path =
        std::env::temp_dir().join(format!("lightbound-bench-{}-{shaded}.ply", std::process::id()));
    std::fs::write(&path, grid(shaded)).unwrap();
    check(&ply::read(&path).unwrap(), shaded);
    bencher.counter(ItemsCount::new(TRIANGLES)).bench(|| ply::read(black_box(&path)).unwrap());
    std::fs::remove_file(&path).unwrap();
}
