//! Input tables for `shader eval`.

use super::shader_dir::{ShaderDir, Table};

/// Names of the direction columns.
pub const DIRECTIONS: &str = "wi.x,wi.y,wi.z,wo.x,wo.y,wo.z";

/// The bits of the rows that `eval --csv` writes for a table.
pub fn eval_table(dir: &ShaderDir, csv: &str, args: &[&str]) -> Vec<Vec<u32>> {
    let Table { columns, rows } = dir.table("eval", csv, args);
    assert_eq!(columns.join(","), "brdf.r,brdf.g,brdf.b,s.r,s.g,s.b");
    rows.into_iter().map(|row| row.into_iter().map(f32::to_bits).collect()).collect()
}

/// Rows of random directions on the sphere and random parameters, with a fixed seed: the columns
/// [`DIRECTIONS`], `kd.r`, `kd.g`, `kd.b`, `rounds` and `lobe`.
pub fn random_rows(count: usize) -> Vec<String> {
    let mut state = 1u32;
    let mut random = || {
        state = state.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
        (state >> 8) as f32 / (1 << 24) as f32
    };
    let mut direction = || {
        let (z, angle) = (2.0 * random() - 1.0, 6.3 * random());
        let r = (1.0 - z * z).sqrt();
        format!("{:?},{:?},{z:?}", r * angle.cos(), r * angle.sin())
    };
    let directions: Vec<String> =
        (0..count).map(|_| format!("{},{}", direction(), direction())).collect();
    let mut parameters = || {
        format!(
            "{:?},{:?},{:?},{},{}",
            random(),
            random(),
            random(),
            (9.0 * random()) as u32,
            random() < 0.8
        )
    };
    directions.into_iter().map(|directions| format!("{directions},{}", parameters())).collect()
}
