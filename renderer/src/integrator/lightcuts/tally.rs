//! Temporary.
#[derive(Clone, Copy, Debug, Default)]
pub struct CutCounts {
    pub cuts: u64,
    pub sizes: u64,
    pub capped: u64,
    pub bound_evaluations: u64,
    pub shadow_rays: u64,
    pub shaded: u64,
    pub checks: u64,
    pub violations: u64,
    pub bounding_ns: u64,
    pub shading_ns: u64,
    pub visibility_ns: u64,
    pub total_ns: u64,
}
impl CutCounts {
    pub fn add_cut(&mut self, size: u32, capped: bool) {
        self.cuts += 1;
        self.sizes += u64::from(size);
        self.capped += u64::from(capped);
    }
}
#[derive(Clone, Copy, Debug, Default)]
pub struct TreeFigures { pub points: u64, pub bytes: u64, pub seconds: f64 }
