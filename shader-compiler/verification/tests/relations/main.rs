//! Tests of single relations on small functions: bounds contain the results, lie within the bounds
//! without the relation, and are tighter where the relation applies.

mod case;
mod order;
mod products;
mod quotients;
