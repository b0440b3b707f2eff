//! Numbers of several things side by side, for loops that are compiled for the vectors of the
//! machine.

/// Length of a column, the things at a time: the floats of the widest vectors.
pub const COLUMN: usize = 16;

/// `N` numbers of each thing.
///
/// *Shape*: by number, then by thing.
#[derive(Clone, Copy, Debug)]
pub struct Columns<const N: usize>([[f32; COLUMN]; N]);

impl<const N: usize> Columns<N> {
    /// Zeros.
    pub const ZERO: Columns<N> = Columns::splat([0.0; N]);

    /// The same for all things.
    pub const fn splat(values: [f32; N]) -> Columns<N> {
        let mut columns = [[0.0; COLUMN]; N];
        let mut i = 0;
        while i < N {
            columns[i] = [values[i]; COLUMN];
            i += 1;
        }
        Columns(columns)
    }

    /// Sets what one thing has.
    #[inline(always)]
    pub fn set(&mut self, lane: usize, values: impl Into<[f32; N]>) {
        for (column, value) in self.0.iter_mut().zip(values.into()) {
            column[lane] = value;
        }
    }

    /// What one thing has.
    #[inline(always)]
    pub fn get<V: From<[f32; N]>>(&self, lane: usize) -> V {
        V::from(std::array::from_fn(|i| self.0[i][lane]))
    }
}
