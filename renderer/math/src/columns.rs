//! Structures of arrays, for loops that compile to SIMD instructions.

/// Items per column: the number of floats in the widest SIMD registers.
pub const COLUMN_LEN: usize = 16;

/// One float for each of [`COLUMN_LEN`] items.
pub type Column = [f32; COLUMN_LEN];

/// A structure of arrays: `N` floats for each of [`COLUMN_LEN`] items.
///
/// *Shape*: `[component][item]`, aligned to cache lines.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Columns<const N: usize>(pub [Column; N]);

impl<const N: usize> Default for Columns<N> {
    fn default() -> Columns<N> {
        Columns::ZERO
    }
}

impl<const N: usize> Columns<N> {
    /// All zeros.
    pub const ZERO: Columns<N> = Columns::splat([0.0; N]);

    /// Creates columns with the same values for all items.
    pub const fn splat(values: [f32; N]) -> Columns<N> {
        let mut columns = [[0.0; COLUMN_LEN]; N];
        let mut i = 0;
        while i < N {
            columns[i] = [values[i]; COLUMN_LEN];
            i += 1;
        }
        Columns(columns)
    }

    /// Sets the values of one item.
    #[inline(always)]
    pub fn set(&mut self, lane: usize, values: impl Into<[f32; N]>) {
        for (column, value) in self.0.iter_mut().zip(values.into()) {
            column[lane] = value;
        }
    }

    /// Returns the values of one item.
    #[inline(always)]
    pub fn get<V: From<[f32; N]>>(&self, lane: usize) -> V {
        let mut values = [0.0; N];
        for (value, column) in values.iter_mut().zip(&self.0) {
            *value = column[lane];
        }
        V::from(values)
    }
}
