//! Batches: the inputs or outputs of many evaluations, in the layout that machine code reads and
//! writes.

use crate::target::Target;

/// 32 bytes of a batch, aligned to the widest SIMD registers.
#[derive(Clone, Copy, Debug, Default, bytemuck::Zeroable, bytemuck::Pod)]
#[repr(C, align(32))]
struct AlignedWords([u32; 8]);

/// 32-bit words of many evaluations, in groups as wide as a target's SIMD registers.
///
/// The layout is `[group][port][lane]`. Row r is lane r mod lanes of group ⌊r ÷ lanes⌋.
#[derive(Clone, Debug)]
pub struct Batch {
    lanes: usize,
    ports: usize,
    rows: usize,
    storage: Vec<AlignedWords>,
}

impl Batch {
    /// Creates a batch of zeros for `rows` evaluations with `ports` words each.
    pub fn new(target: Target, ports: usize, rows: usize) -> Batch {
        let lanes = target.lanes();
        let words = rows.div_ceil(lanes) * lanes * ports;
        Batch { lanes, ports, rows, storage: vec![AlignedWords::default(); words.div_ceil(8)] }
    }

    /// Changes the numbers of ports and rows. If the number of ports stays the same, so do the
    /// words, even those of rows that are removed and added again later. Otherwise the words are
    /// unspecified.
    pub fn reshape(&mut self, ports: usize, rows: usize) {
        (self.ports, self.rows) = (ports, rows);
        let size = (self.groups() * self.lanes * self.ports).div_ceil(8);
        if size > self.storage.len() {
            self.storage.resize(size, AlignedWords::default());
        }
    }

    /// Sets consecutive ports of an evaluation, starting with port `first`.
    #[inline]
    pub fn set_row(&mut self, row: usize, first: usize, words: &[u32]) {
        assert!(
            row < self.rows && first + words.len() <= self.ports,
            "row {row} of {}, ports from {first} on of {}",
            self.rows,
            self.ports
        );
        let (lanes, index) = (self.lanes, self.index_of(row, first));
        let all: &mut [u32] = bytemuck::cast_slice_mut(&mut self.storage);
        for (k, &bits) in words.iter().enumerate() {
            all[index + k * lanes] = bits;
        }
    }

    /// Sets a port of all evaluations to the given words, one for each row.
    #[inline]
    pub fn set_port(&mut self, port: usize, words: &[u32]) {
        assert!(
            port < self.ports && words.len() == self.rows,
            "port {port} of {}, {} words for {} rows",
            self.ports,
            words.len(),
            self.rows
        );
        let (lanes, ports) = (self.lanes, self.ports);
        let all: &mut [u32] = bytemuck::cast_slice_mut(&mut self.storage);
        for (group, words) in words.chunks(lanes).enumerate() {
            copy(&mut all[(group * ports + port) * lanes..][..words.len()], words);
        }
    }

    /// Sets a port of consecutive evaluations to the given words. `row` is the first of them, and
    /// must be the first row of a group.
    #[inline]
    pub fn set_rows(&mut self, row: usize, port: usize, words: &[u32]) {
        assert!(
            port < self.ports && row + words.len() <= self.rows,
            "port {port} of {}, rows from {row} on of {}",
            self.ports,
            self.rows
        );
        assert!(row & (self.lanes - 1) == 0, "row {row} is not the first of a group");
        let (lanes, ports, first) = (self.lanes, self.ports, self.index_of(row, port));
        let all: &mut [u32] = bytemuck::cast_slice_mut(&mut self.storage);
        for (group, words) in words.chunks(lanes).enumerate() {
            copy(&mut all[first + group * ports * lanes..][..words.len()], words);
        }
    }

    /// Sets a port of all evaluations to the same word, including lanes after the last row.
    #[inline]
    pub fn fill_port(&mut self, port: usize, bits: u32) {
        assert!(port < self.ports, "port {port} of {}", self.ports);
        let (lanes, ports, groups) = (self.lanes, self.ports, self.groups());
        let all: &mut [u32] = bytemuck::cast_slice_mut(&mut self.storage);
        for group in 0..groups {
            all[(group * ports + port) * lanes..][..lanes].fill(bits);
        }
    }

    /// Reads a port of all evaluations.
    #[inline]
    pub fn read_port(&self, port: usize, words: &mut [u32]) {
        assert!(
            port < self.ports && words.len() == self.rows,
            "port {port} of {}, {} words for {} rows",
            self.ports,
            words.len(),
            self.rows
        );
        let all: &[u32] = bytemuck::cast_slice(&self.storage);
        for (group, words) in words.chunks_mut(self.lanes).enumerate() {
            copy(words, &all[(group * self.ports + port) * self.lanes..][..words.len()]);
        }
    }

    /// Copies `count` ports of a row of another batch, starting with port `other_first`, to the
    /// ports of a row of this batch, starting with port `first`.
    #[inline]
    pub fn copy_row(
        &mut self,
        row: usize,
        first: usize,
        other: &Batch,
        other_row: usize,
        other_first: usize,
        count: usize,
    ) {
        assert!(
            row < self.rows
                && first + count <= self.ports
                && other_row < other.rows
                && other_first + count <= other.ports,
            "the row or the ports are out of range"
        );
        let (to, from) = (self.index_of(row, first), other.index_of(other_row, other_first));
        let (to_lanes, from_lanes) = (self.lanes, other.lanes);
        let source: &[u32] = bytemuck::cast_slice(&other.storage);
        let all: &mut [u32] = bytemuck::cast_slice_mut(&mut self.storage);
        for k in 0..count {
            all[to + k * to_lanes] = source[from + k * from_lanes];
        }
    }

    /// Sets consecutive ports of `W` consecutive evaluations, a multiple of 8, to columns of
    /// floats, starting with port `first`. `row` is the first evaluation, and must be the first row
    /// of a group.
    ///
    /// # Panics
    ///
    /// Panics if ports or rows are out of range.
    #[inline]
    pub fn set_columns<const W: usize>(&mut self, row: usize, first: usize, columns: &[&[f32; W]]) {
        match self.lanes {
            8 => self.set_lanes::<8, W>(row, first, columns),
            lanes => {
                assert_eq!(lanes, 4, "targets have four or eight lanes");
                self.set_lanes::<4, W>(row, first, columns);
            }
        }
    }

    #[inline(always)]
    fn set_lanes<const L: usize, const W: usize>(
        &mut self,
        row: usize,
        first: usize,
        columns: &[&[f32; W]],
    ) {
        const { assert!(W.is_multiple_of(L), "columns fill groups") };
        self.assert_range(row, W, first, columns.len());
        let ports = self.ports;
        let words: &mut [u32] = bytemuck::cast_slice_mut(&mut self.storage);
        let all = words.as_chunks_mut::<L>().0;
        for (port, column) in (first..).zip(columns) {
            for (group, lanes) in (row / L..).zip(column.as_chunks::<L>().0) {
                all[group * ports + port] = lanes.map(f32::to_bits);
            }
        }
    }

    /// Reads consecutive ports of `W` consecutive evaluations, a multiple of 8, as columns of
    /// floats, starting with port `first`. `row` is the first evaluation, and must be the first row
    /// of a group. Floats after the batch's last row are unspecified.
    ///
    /// # Panics
    ///
    /// Panics if ports or the first row are out of range.
    #[inline]
    pub fn read_columns<const W: usize>(&self, row: usize, first: usize, columns: &mut [[f32; W]]) {
        match self.lanes {
            8 => self.read_lanes::<8, W>(row, first, columns),
            lanes => {
                assert_eq!(lanes, 4, "targets have four or eight lanes");
                self.read_lanes::<4, W>(row, first, columns);
            }
        }
    }

    #[inline(always)]
    fn read_lanes<const L: usize, const W: usize>(
        &self,
        row: usize,
        first: usize,
        columns: &mut [[f32; W]],
    ) {
        const { assert!(W.is_multiple_of(L), "columns fill groups") };
        self.assert_range(row, 1, first, columns.len());
        let words: &[u32] = bytemuck::cast_slice(&self.storage);
        let all = words.as_chunks::<L>().0;
        for (port, column) in (first..).zip(columns) {
            let groups = row / L..self.groups();
            for (group, lanes) in groups.zip(column.as_chunks_mut::<L>().0) {
                *lanes = all[group * self.ports + port].map(f32::from_bits);
            }
        }
    }

    fn assert_range(&self, row: usize, rows: usize, port: usize, ports: usize) {
        assert!(
            row + rows <= self.rows && port + ports <= self.ports,
            "rows {row} to {} of {}, ports {port} to {} of {}",
            row + rows,
            self.rows,
            port + ports,
            self.ports
        );
        assert!(row & (self.lanes - 1) == 0, "row {row} is not the first of a group");
    }

    /// Copies `count` ports of all evaluations of another batch, starting with port `other_first`,
    /// to the ports of this batch, starting with port `first`. The batches have the same numbers of
    /// rows and lanes.
    pub fn copy_ports(&mut self, first: usize, other: &Batch, other_first: usize, count: usize) {
        assert!(
            (self.rows, self.lanes) == (other.rows, other.lanes)
                && first + count <= self.ports
                && other_first + count <= other.ports,
            "the batches differ in shape, or the ports are out of range"
        );
        let (lanes, words) = (self.lanes, count * self.lanes);
        let (to_stride, from_stride) = (self.ports * lanes, other.ports * lanes);
        let source: &[u32] = bytemuck::cast_slice(&other.storage);
        let groups = self.groups();
        let all: &mut [u32] = bytemuck::cast_slice_mut(&mut self.storage);
        for group in 0..groups {
            all[group * to_stride + first * lanes..][..words]
                .copy_from_slice(&source[group * from_stride + other_first * lanes..][..words]);
        }
    }

    /// Truncates the batch to `rows` evaluations. The remaining lanes of the last group repeat the
    /// last row: code runs on them as well, and stale words could keep a loop running.
    pub fn truncate(&mut self, rows: usize) {
        assert!(rows <= self.rows, "{rows} rows requested of {}", self.rows);
        self.rows = rows;
        let Some(last) = rows.checked_sub(1) else { return };
        let unused = self.lanes - 1 - (last & (self.lanes - 1));
        for port in 0..self.ports {
            let index = self.index_of(last, port);
            let all: &mut [u32] = bytemuck::cast_slice_mut(&mut self.storage);
            let bits = all[index];
            all[index + 1..][..unused].fill(bits);
        }
    }

    /// Consecutive ports of an evaluation as floats, starting with port `first`.
    #[inline]
    pub fn floats<const N: usize>(&self, row: usize, first: usize) -> [f32; N] {
        assert!(
            row < self.rows && first + N <= self.ports,
            "row {row} of {}, ports from {first} on of {}",
            self.rows,
            self.ports
        );
        let (words, index): (&[u32], usize) =
            (bytemuck::cast_slice(&self.storage), self.index_of(row, first));
        std::array::from_fn(|k| f32::from_bits(words[index + k * self.lanes]))
    }

    /// The bits of `count` consecutive ports of an evaluation, starting with port `first`.
    ///
    /// # Panics
    ///
    /// Panics if ports or row are out of range.
    #[inline]
    pub fn row_bits(
        &self,
        row: usize,
        first: usize,
        count: usize,
    ) -> impl Iterator<Item = u32> + Clone {
        assert!(
            row < self.rows && first + count <= self.ports,
            "row {row} of {}, {count} ports from {first} on of {}",
            self.rows,
            self.ports
        );
        let words: &[u32] = bytemuck::cast_slice(&self.storage);
        let first = words.get(self.index_of(row, first)..).unwrap_or_default();
        first.iter().step_by(self.lanes).take(count).copied()
    }

    /// Number of evaluations.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of ports: words per evaluation.
    pub fn ports(&self) -> usize {
        self.ports
    }

    /// Number of lanes per group.
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// Number of groups.
    pub fn groups(&self) -> usize {
        (self.rows + self.lanes - 1) >> self.lanes.trailing_zeros()
    }

    /// All words, `[group][port][lane]`, including lanes of the last group after the last row.
    pub fn words(&self) -> &[u32] {
        &bytemuck::cast_slice(&self.storage)[..self.groups() * self.lanes * self.ports]
    }

    /// All words, mutable; see [`words`](Batch::words).
    pub fn words_mut(&mut self) -> &mut [u32] {
        let words = self.groups() * self.lanes * self.ports;
        &mut bytemuck::cast_slice_mut(&mut self.storage)[..words]
    }

    fn index(&self, row: usize, port: usize) -> usize {
        assert!(
            row < self.rows && port < self.ports,
            "row {row}, port {port} of {} × {}",
            self.rows,
            self.ports
        );
        self.index_of(row, port)
    }

    /// Index of a word. Uses shifts, since the number of lanes is a power of two, and a division
    /// would dominate the cost of accessing a row.
    #[inline]
    fn index_of(&self, row: usize, port: usize) -> usize {
        let shift = self.lanes.trailing_zeros();
        (((row >> shift) * self.ports + port) << shift) + (row & (self.lanes - 1))
    }

    /// The bits of a word.
    pub fn bits(&self, row: usize, port: usize) -> u32 {
        self.words()[self.index(row, port)]
    }

    /// Sets the bits of a word.
    pub fn set_bits(&mut self, row: usize, port: usize, bits: u32) {
        let index = self.index(row, port);
        self.words_mut()[index] = bits;
    }

    /// A word, as a float.
    pub fn get(&self, row: usize, port: usize) -> f32 {
        f32::from_bits(self.bits(row, port))
    }

    /// Sets a word to a float.
    pub fn set(&mut self, row: usize, port: usize, x: f32) {
        self.set_bits(row, port, x.to_bits());
    }
}

/// Copies one port of a group, with a single move if there are eight lanes.
#[inline(always)]
fn copy(to: &mut [u32], from: &[u32]) {
    match (<&mut [u32; 8]>::try_from(&mut *to), <&[u32; 8]>::try_from(from)) {
        (Ok(to), Ok(from)) => *to = *from,
        _ => to.copy_from_slice(from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unused_lanes_repeat_the_last_row_after_truncation() {
        for target in Target::ALL {
            let mut batch = Batch::new(target, 3, 16);
            batch.words_mut().fill(u32::MAX);
            batch.reshape(3, 12);
            let source = batch.clone();
            for row in 0..9 {
                batch.set_row(row, 0, &[row as u32, 10]);
                batch.copy_row(row, 2, &source, 11 - row, 1, 1);
                batch.set_row(row, 2, &[20]);
            }
            batch.truncate(9);
            let lanes = target.lanes();
            let row = |k: usize| {
                [0, 1, 2].map(|port| batch.words()[(k / lanes * 3 + port) * lanes + k % lanes])
            };
            for k in 0..batch.groups() * lanes {
                assert_eq!(row(k), [k.min(8) as u32, 10, 20], "{target}");
            }
        }
    }

    #[test]
    fn columns_are_set_and_read() {
        for target in Target::ALL {
            let mut batch = Batch::new(target, 4, 48);
            let [a, b]: [[f32; 16]; 2] =
                [1.0, 2.0].map(|x| std::array::from_fn(|row| x + row as f32 / 64.0));
            batch.set_columns(16, 1, &[&a, &b]);
            batch.truncate(27);
            let mut read = [[0.0; 16]; 2];
            batch.read_columns(16, 1, &mut read);
            for row in 0..27 {
                let expected = if row < 16 { [0.0; 2] } else { [a[row - 16], b[row - 16]] };
                assert_eq!([1, 2].map(|port| batch.get(row, port)), expected, "{target}");
                assert!([0, 3].iter().all(|&port| batch.bits(row, port) == 0), "{target}");
            }
            assert_eq!([&read[0][..11], &read[1][..11]], [&a[..11], &b[..11]], "{target}");
        }
    }

    #[test]
    fn ports_are_copied_in_all_rows() {
        for target in Target::ALL {
            let mut source = Batch::new(target, 4, 11);
            (0..11)
                .for_each(|row| source.set_row(row, 0, &[0, 1, 2, 3].map(|x| 10 * row as u32 + x)));
            let mut batch = Batch::new(target, 3, 11);
            batch.copy_ports(0, &source, 2, 2);
            for row in 0..11 {
                let words = [0, 1, 2].map(|port| batch.bits(row, port));
                assert!(batch.row_bits(row, 1, 2).eq(words[1..].iter().copied()));
                assert_eq!(words, [10 * row as u32 + 2, 10 * row as u32 + 3, 0], "{target}");
            }
        }
    }

    #[test]
    fn entire_ports_are_set_and_read() {
        for target in Target::ALL {
            let mut batch = Batch::new(target, 3, 11);
            let words: Vec<u32> = (100..111).collect();
            batch.fill_port(0, 7);
            batch.set_port(2, &words);
            assert!(
                (0..11)
                    .all(|row| [0, 1, 2].map(|port| batch.bits(row, port))
                        == [7, 0, 100 + row as u32]),
                "{target}"
            );
            let mut read = [0; 11];
            batch.read_port(2, &mut read);
            assert_eq!(read[..], words, "{target}");
            // First fewer rows, then more again.
            batch.reshape(3, 2);
            batch.set_port(2, &[1, 2]);
            batch.reshape(3, 11);
            assert_eq!([0, 1, 2, 10].map(|row| batch.bits(row, 2)), [1, 2, 102, 110], "{target}");
            // Lanes beyond the last row have the word too.
            assert!(
                batch
                    .words()
                    .chunks(target.lanes())
                    .step_by(3)
                    .all(|lanes| lanes.iter().all(|&bits| bits == 7)),
                "{target}"
            );
        }
    }

    #[test]
    fn consecutive_rows_of_a_port_are_set() {
        for target in Target::ALL {
            let (mut batch, words) = (Batch::new(target, 3, 24), [10, 11, 12, 13, 14, 15, 16, 17]);
            batch.set_rows(8, 2, &words);
            let set: Vec<_> = (0..24).map(|row| batch.bits(row, 2)).collect();
            assert_eq!(
                (&set[..8], &set[8..16], &set[16..]),
                (&[0; 8][..], &words[..], &[0; 8][..]),
                "{target:?}"
            );
            assert!((0..24).all(|row| batch.bits(row, 1) == 0), "{target:?}");
        }
    }

    #[test]
    fn words_survive_when_rows_are_removed_and_added() {
        let mut batch = Batch::new(Target::best(), 3, 24);
        (0..24).for_each(|row| batch.set_row(row, 0, &[row as u32, 1, 2]));
        for rows in [5, 0, 17, 24] {
            batch.reshape(3, rows);
        }
        assert!((0..24).all(|row| batch.bits(row, 0) == row as u32 && batch.bits(row, 2) == 2));
    }
}
