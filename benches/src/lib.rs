//! Benchmarks of the renderer; see the targets under `benches/`.
