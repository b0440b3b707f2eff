//! Layout of tables in textures: a slice for each outgoing direction, azimuths from left to right
//! and polar angles from top to bottom.

use super::{MAX_TEXELS, MeasuredError, check_values};
use lightbound_math::spectrum::luminance;
use lightbound_math::vec3;
use lightbound_shader::Texture;

/// Tables of equal size, one for each azimuth and polar angle of wo.
pub(super) struct Slices {
    /// Numbers of azimuths and polar angles.
    counts: [usize; 2],
    /// Columns and rows of a slice.
    size: [usize; 2],
    /// Values by azimuth, polar angle, row and column.
    data: Vec<f32>,
}

impl Slices {
    /// Creates slices from the data of a field. Slices have two columns and rows or more.
    pub fn new(
        name: &'static str,
        counts: [usize; 2],
        size: [usize; 2],
        data: Vec<f32>,
    ) -> Result<Slices, MeasuredError> {
        check_values(name, &data)?;
        if size.contains(&1) {
            let [width, height] = size;
            return Err(MeasuredError::Shape {
                name,
                found: format!("… × {height} × {width}"),
                expected: "at least 2 × 2".into(),
            });
        }
        let [columns, rows] = [0, 1].map(|k| counts[k] * (size[k] + 2));
        if columns * rows > MAX_TEXELS {
            return Err(MeasuredError::TooLarge(name));
        }
        Ok(Slices { counts, size, data })
    }

    /// Returns the luminances of red, green and blue.
    pub fn luminance([r, g, b]: &[Slices; 3]) -> Slices {
        let data = (0..r.data.len()).map(|k| luminance(vec3(r.data[k], g.data[k], b.data[k])));
        Slices { data: data.collect(), ..*r }
    }

    /// Returns the columns of a slice.
    pub fn width(&self) -> usize {
        self.size[0]
    }

    /// Returns the rows of a slice.
    pub fn height(&self) -> usize {
        self.size[1]
    }

    /// Returns the index of a value.
    fn index(&self, [phi, theta]: [usize; 2], [column, row]: [usize; 2]) -> usize {
        ((phi * self.counts[1] + theta) * self.size[1] + row) * self.size[0] + column
    }

    /// Arranges the texels of all slices, which have `size` columns and rows.
    fn arrange(
        &self,
        size: [usize; 2],
        texel: impl Fn([usize; 2], [usize; 2]) -> [f32; 4],
    ) -> Texture {
        let [columns, rows] = [0, 1].map(|k| self.counts[k] * size[k]);
        let texels = (0..rows)
            .flat_map(|y| (0..columns).map(move |x| [x, y]))
            .map(|[x, y]| texel([x / size[0], y / size[1]], [x % size[0], y % size[1]]));
        image(columns, texels)
    }

    /// Returns each slice as a density that integrates to 1 if each cell between four values has
    /// unit area. The channels are the density, its integral from the left end of the row, and the
    /// integral over all rows above. A slice of zeros becomes uniform.
    pub fn distribution(&self) -> Texture {
        let [width, height] = self.size;
        let mut integrals = vec![[0f32; 3]; self.data.len()];
        let slices = self.data.chunks_exact(width * height);
        for (values, integrals) in slices.zip(integrals.chunks_exact_mut(width * height)) {
            let is_zero = values.iter().all(|&x| x == 0.0);
            let value = |i: usize| if is_zero { 1.0 } else { f64::from(values[i]) };
            let row_integral = |row: usize, columns: usize| {
                let start = row * width;
                (start..start + columns).map(|i| 0.5 * (value(i) + value(i + 1))).sum::<f64>()
            };
            let rows: Vec<f64> = (0..height).map(|row| row_integral(row, width - 1)).collect();
            let total: f64 = rows.windows(2).map(|pair| 0.5 * (pair[0] + pair[1])).sum();
            let mut above = 0.0;
            for row in 0..height {
                let mut left = 0.0;
                for column in 0..width {
                    let i = row * width + column;
                    integrals[i] = [value(i), left, above].map(|x| (x / total) as f32);
                    left += if column + 1 < width { 0.5 * (value(i) + value(i + 1)) } else { 0.0 };
                }
                above += rows.get(row + 1).map_or(0.0, |next| 0.5 * (rows[row] + next));
            }
        }
        self.arrange(self.size, |slice, at| {
            let [density, left, above] = integrals[self.index(slice, at)];
            [density, left, above, 0.0]
        })
    }
}

/// Returns colours as a texture whose slices repeat their outermost texels, so that bilinear
/// lookups do not mix slices.
pub(super) fn bordered(channels: &[Slices; 3]) -> Texture {
    let slices = &channels[0];
    slices.arrange(slices.size.map(|size| size + 2), |slice, at| {
        let inside = [0, 1].map(|k| at[k].clamp(1, slices.size[k]) - 1);
        let i = slices.index(slice, inside);
        [channels[0].data[i], channels[1].data[i], channels[2].data[i], 0.0]
    })
}

/// Returns the azimuths and polar angles of the slices as rows of a texture.
pub(super) fn axes(phi: &[f32], theta: &[f32]) -> Texture {
    let width = phi.len().max(theta.len());
    let row =
        |angles: &[f32]| (0..width).map(|k| [angles.get(k).copied().unwrap_or(0.0); 4]).collect();
    image(width, [phi, theta].into_iter().flat_map(|angles| -> Vec<_> { row(angles) }))
}

/// Creates a texture from rows of texels.
pub(super) fn image(width: usize, texels: impl Iterator<Item = [f32; 4]>) -> Texture {
    Texture::new(width as u32, &texels.collect::<Vec<_>>())
}
