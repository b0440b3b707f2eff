//! Bounds of small functions with one relation: they contain the results, lie within the bounds
//! without it, and are tighter where the relation applies.

mod case;
mod order;
mod products;
mod quotients;
