//! Time to load a binary little-endian PLY file: a grid of a million triangles. Items are
//! triangles.

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use lightbound_pbrt::ply;
use std::path::Path;

/// Number of cells along each side of the grid.
const SIDE: u32 = 708;

/// Number of triangles, two per cell.
const TRIANGLES: u32 = 2 * SIDE * SIDE;

fn main() {
    divan::main();
}

/// Returns the PLY file of a wavy grid, with or without normals and texture coordinates.
fn grid(with_attributes: bool) -> Vec<u8> {
    let n = SIDE + 1;
    let floats =
        |names: &[&str]| names.iter().map(|n| format!("property float {n}\n")).collect::<String>();
    let mut properties = floats(&["x", "y", "z"]);
    if with_attributes {
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
        data.extend(
            values[..if with_attributes { 8 } else { 3 }].iter().flat_map(|x| x.to_le_bytes()),
        );
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

fn check(mesh: &ply::PlyMesh, with_attributes: bool) {
    assert_eq!(mesh.triangles.len(), TRIANGLES as usize);
    assert_eq!(mesh.triangles.last().unwrap()[1] as usize, mesh.positions.len() - 1);
    assert_eq!(mesh.uvs.last().map(|uv| uv.to_array()), with_attributes.then_some([1.0, 1.0]));
}

#[divan::bench(args = [false, true])]
fn parse_from_memory(bencher: Bencher, with_attributes: bool) {
    let data = grid(with_attributes);
    let parse = || ply::parse(black_box(&data), Path::new("grid.ply"), &[]).unwrap();
    check(&parse(), with_attributes);
    bencher.counter(ItemsCount::new(TRIANGLES)).counter(BytesCount::of_slice(&data)).bench(parse);
}

#[divan::bench(args = [false, true])]
fn read_from_file(bencher: Bencher, with_attributes: bool) {
    let path = std::env::temp_dir()
        .join(format!("lightbound-bench-{}-{with_attributes}.ply", std::process::id()));
    std::fs::write(&path, grid(with_attributes)).unwrap();
    check(&ply::read(&path, &[]).unwrap(), with_attributes);
    bencher.counter(ItemsCount::new(TRIANGLES)).bench(|| ply::read(black_box(&path), &[]).unwrap());
    std::fs::remove_file(&path).unwrap();
}
