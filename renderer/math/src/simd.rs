//! The SIMD instructions of the renderer's own loops.

use fearless_simd::Level;
use std::sync::OnceLock;

static LEVEL: OnceLock<Level> = OnceLock::new();

/// Returns the level of SIMD instructions in use: the best of this CPU, unless it was
/// [limited](limit_simd_level).
#[inline]
pub fn simd_level() -> Level {
    *LEVEL.get_or_init(Level::new)
}

/// Limits the level of the process. Has no effect once [`simd_level`] has been called.
pub fn limit_simd_level(level: Level) {
    LEVEL.get_or_init(|| level);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_in_use_stay() {
        let first = format!("{:?}", simd_level());
        limit_simd_level(Level::baseline());
        assert_eq!(format!("{:?}", simd_level()), first);
    }
}
