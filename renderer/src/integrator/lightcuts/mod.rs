//! Lightcuts: direct light of many lights, by clusters of them whose error is bounded (Walter et al. 2005, *Lightcuts: A Scalable
//! Approach to Illumination*), for any material, by its compiled bounding shader (Clarberg et al. 2010 §6.1).

#[cfg(test)]
mod bound_tests;
mod hand;
pub mod material_bound;
