//! The SIMD instructions of the renderer's own loops, those outside of compiled shaders.

use fearless_simd::Level;
use lightbound_math::limit_simd_level;
use lightbound_shader::Target;

/// Limits the SIMD instructions of the process to those of a target, so that renders can be
/// compared with those of other CPUs. Without effect except on x86-64.
///
/// # Panics
/// If anything was loaded or rendered before.
pub fn limit_simd(target: Target) {
    assert!(
        limit_simd_level(level(target)),
        "SIMD instructions are limited before their first use"
    );
}

fn level(target: Target) -> Level {
    let best = Level::new();
    #[cfg(target_arch = "x86_64")]
    {
        let limited = match target {
            Target::Interpreter => None,
            Target::Sse | Target::Avx => best.as_sse4_2().map(Level::Sse4_2),
            Target::Avx2 => best.as_avx2().map(Level::Avx2),
        };
        limited.unwrap_or(Level::baseline())
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = target;
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn levels_have_the_instructions_of_targets_and_no_others() {
        for target in Target::ALL.into_iter().filter(|target| target.is_available()) {
            let level = level(target);
            let has = [level.as_sse4_2().is_some(), level.as_avx2().is_some()];
            let expected = [target != Target::Interpreter, target == Target::Avx2];
            assert!(has == expected && level.as_avx512().is_none(), "{target}: {level:?}");
        }
    }
}
