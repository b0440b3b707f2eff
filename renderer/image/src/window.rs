//! Pixel windows.

/// A rectangle of pixels; x1 and y1 are excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// First column.
    pub x0: u32,
    /// First row, counted from the top.
    pub y0: u32,
    /// One past the last column.
    pub x1: u32,
    /// One past the last row.
    pub y1: u32,
}

impl Window {
    /// Returns the width in pixels.
    pub fn width(&self) -> u32 {
        self.x1 - self.x0
    }

    /// Returns the height in pixels.
    pub fn height(&self) -> u32 {
        self.y1 - self.y0
    }

    /// Returns the index of a pixel of the window in row order.
    pub fn index(&self, x: u32, y: u32) -> usize {
        (y - self.y0) as usize * self.width() as usize + (x - self.x0) as usize
    }

    /// Returns the intersection of both windows; `None` if they do not overlap.
    pub fn intersection(self, other: Window) -> Option<Window> {
        let (x0, y0) = (self.x0.max(other.x0), self.y0.max(other.y0));
        let (x1, y1) = (self.x1.min(other.x1), self.y1.min(other.y1));
        (x0 < x1 && y0 < y1).then_some(Window { x0, y0, x1, y1 })
    }

    /// Returns the smallest window that contains both windows.
    pub fn union(self, other: Window) -> Window {
        let (x0, y0) = (self.x0.min(other.x0), self.y0.min(other.y0));
        Window { x0, y0, x1: self.x1.max(other.x1), y1: self.y1.max(other.y1) }
    }

    /// Returns all pixels in row order.
    pub fn pixels(self) -> impl Iterator<Item = (u32, u32)> {
        (self.y0..self.y1).flat_map(move |y| (self.x0..self.x1).map(move |x| (x, y)))
    }
}
