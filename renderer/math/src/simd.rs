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

/// Limits the level of the process. Returns `false`, without effect, once [`simd_level`] has been
/// called.
pub fn limit_simd_level(level: Level) -> bool {
    LEVEL.set(level).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_after_the_first_use_have_no_effect() {
        let first = format!("{:?}", simd_level());
        assert!(!limit_simd_level(Level::baseline()));
        assert_eq!(format!("{:?}", simd_level()), first);
    }
}
