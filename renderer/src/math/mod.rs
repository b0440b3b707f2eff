//! Vectors, rays, frames and transforms. Vectors are glam's; what glam lacks is here.

mod aabb;
mod columns;
mod cone;
pub mod direction_box;
mod frame;
mod ray;
mod transform;

pub use aabb::Aabb;
pub use columns::{COLUMN, Columns};
pub use cone::Cone;
pub use direction_box::{DirectionBoxes, Viewpoint};
pub use frame::Frame;
pub use glam::{Vec2, Vec3, vec2, vec3};
pub use ray::Ray;
pub use transform::Transform;
