//! C with intrinsics.
