//! Whether a table of trees is good enough for a material.
//!
//! A table takes it that lobes move against `wo`, as that about the mirror direction does
//! ([`TreeTable`]). A lobe that stays, goes with `wo` as that of a retroreflector, or moves by its
//! own measure as that through glass, is then looked for in the wrong place, and where it is narrow
//! it is found by the cosine alone. So both are held against each other, for a few `wo`: the second
//! moment of the estimator s/p by a tree of that very point, and by the shifted tree of the table.
//! Lobes at the horizon, which no shift gets quite right, count as one `wo` of many.

use super::DirectionTree;
use super::grow::{Budget, Grower};
use super::table::TreeTable;
use crate::math::direction_box::LANES;
use crate::math::{Vec3, vec2, vec3};
use crate::sampling::{hash, unit_float};
use lightbound_shader::Sides;

/// How many times as great the second moment may be by the table, in the geometric mean: a tree of
/// a point takes about as much longer.
const MOST: f32 = 16.0;

/// What a single `wo` may count.
const GREATEST: f32 = 1e6;

/// Views that are compared.
const VIEWS: u32 = 8;

/// Groups of directions for each.
const GROUPS: u32 = 16;

impl Grower<'_> {
    /// Whether a table, empty or not, is good enough for the material of the given words of
    /// members.
    pub fn follows(
        &mut self,
        table: &TreeTable,
        members: impl Iterator<Item = u32> + Clone,
    ) -> bool {
        self.loss(table, members) <= MOST
    }

    /// How many times as great the second moment is by the table as by trees of points.
    pub(super) fn loss(
        &mut self,
        table: &TreeTable,
        members: impl Iterator<Item = u32> + Clone,
    ) -> f32 {
        let sides = self.sides();
        let mut sum = 0.0;
        for view in 0..VIEWS {
            let wo = view_of(view, sides);
            let mut own = DirectionTree::cosine(sides);
            self.grow(wo, members.clone(), &Budget::TABLE, &mut own);
            let tabled = table
                .tree(wo, |middle, tree| self.grow(middle, members.clone(), &Budget::TABLE, tree));
            let [mut by_own, mut by_table] = [0.0; 2];
            for group in 0..GROUPS {
                let number = |lane: usize, k: u32| {
                    unit_float(hash(hash(view, group * LANES as u32 + lane as u32), k))
                };
                let drawn: [Option<Vec3>; LANES] = std::array::from_fn(|lane| {
                    own.draw(vec2(number(lane, 0), number(lane, 1))).map(|(wi, _)| wi)
                });
                let wi = drawn.map(|wi| wi.unwrap_or(Vec3::Z));
                let values = self.evaluate(
                    wo,
                    members.clone(),
                    &[0, 1, 2].map(|axis| wi.map(|wi| wi[axis])),
                );
                for (value, wi) in values.into_iter().zip(drawn) {
                    // At an edge of its cell, a direction may be found in the next one, where none
                    // may be drawn.
                    let Some((wi, density)) =
                        wi.map(|wi| (wi, own.per_area(wi))).filter(|(_, density)| *density > 0.0)
                    else {
                        continue;
                    };
                    let weight = value / density;
                    by_own += weight * weight;
                    by_table += weight * (value / tabled.per_area(wi));
                }
            }
            // Where nothing is reflected, nothing is lost.
            if by_own > 0.0 && by_table > by_own {
                sum += libm::logf((by_table / by_own).min(GREATEST));
            }
        }
        libm::expf(sum / VIEWS as f32)
    }
}

/// From the normal to the horizon, all around, and from below as well where that is seen.
fn view_of(view: u32, sides: Sides) -> Vec3 {
    let z = (view as f32 + 0.4) / VIEWS as f32;
    let (r, turn) = ((1.0 - z * z).sqrt(), 0.7 + 2.4 * view as f32);
    let below = sides == Sides::Both && view % 2 == 1;
    vec3(r * libm::cosf(turn), r * libm::sinf(turn), if below { -z } else { z })
}
