//! Pointers. They are resolved during translation, except for dynamic indices: a load selects among
//! the elements that the pointer may refer to, and a store updates each of them conditionally.

use super::operators::choose;
use super::translate::{Fault, Leaves, Slots, Translator};
use crate::builder::Builder;
use crate::ir::{Emit, Op, Value};

/// A dynamic index into `count` elements of `stride` leaves each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Index {
    pub value: Value,
    pub count: u32,
    pub stride: u32,
}

/// A pointer to consecutive slots, offset by dynamic indices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pointer {
    pub slots: Slots,
    /// Start and number of its indices in [`Translator::indices`], outermost first.
    pub indices: (u32, u32),
}

impl Index {
    /// Selects the element at this index, or the last one if it is out of range, by a balanced tree
    /// of selects. `leaf` returns the elements.
    ///
    /// The tree compares with `<` rather than `=`, so that for an interval of indices, bounding
    /// shaders compute the hull of exactly the elements in it.
    pub fn choose(
        &self,
        b: &mut Builder,
        mut leaf: impl FnMut(&mut Builder, u32) -> Value,
    ) -> Value {
        self.choose_in(b, 0, self.count, &mut leaf)
    }

    fn choose_in(
        &self,
        b: &mut Builder,
        low: u32,
        high: u32,
        leaf: &mut impl FnMut(&mut Builder, u32) -> Value,
    ) -> Value {
        if high - low == 1 {
            return leaf(b, low);
        }
        let middle = low + (high - low) / 2;
        let (first, second) =
            (self.choose_in(b, low, middle, leaf), self.choose_in(b, middle, high, leaf));
        if first == second {
            return first;
        }
        let bound = b.i32(middle as i32);
        let is_first = b.op(Op::ULt, &[self.value, bound]);
        choose(b, is_first, first, second)
    }
}

impl Pointer {
    /// A pointer to a variable.
    pub fn to_variable(slots: Slots) -> Pointer {
        Pointer { slots, indices: (0, 0) }
    }

    /// A pointer to a part of the target, given by its first leaf and number of leaves.
    pub fn part(self, (start, len): (u32, u32)) -> Pointer {
        Pointer { slots: Slots { start: self.slots.start + start, len }, ..self }
    }
}

/// Loads the leaf at slot `start`, offset by the indices.
fn fetch(b: &mut Builder, slots: &[Value], start: u32, indices: &[Index]) -> Value {
    match indices {
        [] => slots[start as usize],
        [index, rest @ ..] => {
            index.choose(b, |b, i| fetch(b, slots, start + i * index.stride, rest))
        }
    }
}

impl Translator<'_> {
    /// Applies a dynamic index to a pointer to an array.
    pub fn index(&mut self, pointer: Pointer, index: Index) -> Pointer {
        let (start, len) = pointer.indices;
        let new_start = self.indices.len() as u32;
        self.indices.extend_from_within(start as usize..(start + len) as usize);
        self.indices.push(index);
        Pointer {
            slots: Slots { start: pointer.slots.start, len: index.stride },
            indices: (new_start, len + 1),
        }
    }

    /// All slots that a pointer may refer to.
    pub fn hull(&self, pointer: Pointer) -> Slots {
        let max_offset: u32 =
            self.indices_of(pointer).iter().map(|index| (index.count - 1) * index.stride).sum();
        Slots { start: pointer.slots.start, len: pointer.slots.len + max_offset }
    }

    /// Dynamic indices of a pointer, outermost first.
    pub fn indices_of(&self, pointer: Pointer) -> Vec<Index> {
        let (start, len) = pointer.indices;
        self.indices[start as usize..][..len as usize].to_vec()
    }

    /// Charges for every leaf that a pointer may refer to.
    fn charge_access(&mut self, pointer: Pointer, indices: &[Index]) -> Result<(), Fault> {
        let work = indices.iter().fold(pointer.slots.len as usize, |work, index| {
            work.saturating_mul(index.count as usize)
        });
        self.charge(work)
    }

    /// Loads the value that a pointer refers to.
    pub fn load(&mut self, pointer: Pointer) -> Result<Leaves, Fault> {
        let Slots { start, len } = pointer.slots;
        let indices = self.indices_of(pointer);
        self.charge_access(pointer, &indices)?;
        let mut values = Vec::with_capacity(len as usize);
        for slot in start..start + len {
            values.push(fetch(&mut self.builder, &self.slots, slot, &indices));
        }
        Ok(self.push(&values))
    }

    /// Stores `values` through a pointer.
    pub fn store(&mut self, pointer: Pointer, values: Leaves) -> Result<(), Fault> {
        let mut indices = self.indices_of(pointer);
        self.charge_access(pointer, &indices)?;
        for index in &mut indices {
            // Indices out of range refer to the last element.
            let last = self.builder.i32(index.count as i32 - 1);
            index.value = self.op(Op::UMin, &[index.value, last]);
        }
        self.store_at(pointer.slots.start, &indices, None, values);
        Ok(())
    }

    fn store_at(&mut self, start: u32, indices: &[Index], cond: Option<Value>, values: Leaves) {
        if let [index, rest @ ..] = indices {
            for i in 0..index.count {
                let constant = self.builder.i32(i as i32);
                let is_here = self.op(Op::IEq, &[index.value, constant]);
                let cond = cond.map_or(is_here, |cond| self.op(Op::BAnd, &[cond, is_here]));
                self.store_at(start + i * index.stride, rest, Some(cond), values);
            }
            return;
        }
        for k in 0..self.leaves(values).len() {
            let (slot, new) = (start + k as u32, self.leaf(values, k));
            let value = match cond {
                Some(cond) => {
                    let old = self.slots[slot as usize];
                    choose(&mut self.builder, cond, new, old)
                }
                None => new,
            };
            self.set(slot, value);
        }
    }

    /// Assigns to a slot, and logs the old value.
    pub fn set(&mut self, slot: u32, value: Value) {
        let old = std::mem::replace(&mut self.slots[slot as usize], value);
        if old != value {
            self.undo_log.push((slot, old));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::frontend::testing::{Numbers, check, translate};

    /// An index clamped to the last element.
    fn clamp_index(index: u32, count: usize) -> usize {
        (index as usize).min(count - 1)
    }

    #[test]
    fn dynamic_loads_select_the_indexed_element() {
        let f = translate(
            "const table = array(3, 1, 4, 1, 5, 9, 2);
            fn f(a: array<i32, 5>, v: vec3i, i: i32, j: u32) -> array<i32, 4> {
                var local = a;
                var w = v;
                return array(local[i], w[j], table[i], v[i]);
            }",
        );
        let table = [3, 1, 4, 1, 5, 9, 2];
        let mut numbers = Numbers::new(1);
        for _ in 0..500 {
            let mut inputs: Vec<_> = (0..8).map(|_| numbers.bits()).collect();
            let [i, j] = [0, 1]
                .map(|_| if numbers.below(4) == 0 { numbers.int() } else { numbers.below(9) });
            let (a, v) = (&inputs[..5], &inputs[5..]);
            let expected = [
                a[clamp_index(i, 5)],
                v[clamp_index(j, 3)],
                table[clamp_index(i, 7)],
                v[clamp_index(i, 3)],
            ];
            inputs.extend([i, j]);
            check(&f, &inputs, &expected);
        }
    }

    #[test]
    fn nested_dynamic_accesses_match_arrays() {
        let f = translate(
            "struct S { a: f32, b: array<vec2f, 3> }
            fn f(i: i32, j: u32, k: u32, x: f32) -> array<f32, 14> {
                var s: array<S, 2>;
                for (var n = 0; n < 2; n++) {
                    s[n].a = f32(n);
                }
                s[i].b[j][k] = x;
                s[i].b[j] += vec2(1.0);
                s[i].a += s[1].b[j][k];
                return array(s[0].a, s[0].b[0].x, s[0].b[0].y, s[0].b[1].x, s[0].b[1].y, s[0].b[2].x, s[0].b[2].y,
                    s[1].a, s[1].b[0].x, s[1].b[0].y, s[1].b[1].x, s[1].b[1].y, s[1].b[2].x, s[1].b[2].y);
            }",
        );
        let mut numbers = Numbers::new(2);
        for _ in 0..500 {
            let [i, j, k] = [3, 5, 4]
                .map(|n| if numbers.below(4) == 0 { numbers.int() } else { numbers.below(n) });
            let x = numbers.moderate();
            let mut s = [[0.0f32; 7]; 2];
            s[1][0] = 1.0;
            let (i0, j0, k0) = (clamp_index(i, 2), clamp_index(j, 3), clamp_index(k, 2));
            s[i0][1 + 2 * j0 + k0] = x;
            s[i0][1 + 2 * j0] += 1.0;
            s[i0][2 + 2 * j0] += 1.0;
            s[i0][0] += s[1][1 + 2 * j0 + k0];
            check(
                &f,
                &[i, j, k, x.to_bits()],
                &s.concat().into_iter().map(f32::to_bits).collect::<Vec<_>>(),
            );
        }
    }

    #[test]
    fn columns_of_matrices_can_be_indexed() {
        let f = translate(
            "fn f(m: mat3x2f, i: u32, j: u32) -> array<f32, 7> {
                var n = m;
                n[i] = n[j] + vec2(1.0, 2.0);
                n[j][i] *= 2.0;
                return array(n[0].x, n[0].y, n[1].x, n[1].y, n[2].x, n[2][1], n[i].y);
            }",
        );
        let mut numbers = Numbers::new(3);
        for _ in 0..200 {
            let m: [f32; 6] = std::array::from_fn(|_| numbers.moderate());
            let (i, j) = (numbers.below(4), numbers.below(4));
            let (i0, j0) = (clamp_index(i, 3), clamp_index(j, 3));
            let mut n = m;
            n[2 * i0] = m[2 * j0] + 1.0;
            n[2 * i0 + 1] = m[2 * j0 + 1] + 2.0;
            n[2 * j0 + clamp_index(i, 2)] *= 2.0;
            let mut inputs = m.map(f32::to_bits).to_vec();
            inputs.extend([i, j]);
            let mut expected = n.map(f32::to_bits).to_vec();
            expected.push(n[2 * i0 + 1].to_bits());
            check(&f, &inputs, &expected);
        }
    }

    #[test]
    fn stores_through_pointers_change_variables() {
        let f = translate(
            "struct S { a: f32, b: array<f32, 3> }
            var<private> total: f32;
            fn add(p: ptr<function, f32>, x: f32) -> f32 { *p += x; total += x; return *p; }
            fn add_to(s: ptr<function, S>, i: u32, x: f32) { let p = &(*s).b[i]; *p = add(p, x) + 1.0; }
            fn add_private(p: ptr<private, f32>, x: f32) { *p = *p + x; }
            fn f(i: u32, x: f32) -> array<f32, 6> {
                var s = S(1.0, array(2.0, 3.0, 4.0));
                let element = &s.b[i];
                let whole = &s;
                let r = add(&s.a, x);
                add_to(whole, i, x);
                *element = *element * 2.0;
                add_private(&total, 10.0);
                return array(s.a, s.b[0], s.b[1], s.b[2], r, total);
            }",
        );
        for i in 0..4 {
            let x = 0.25f32;
            let mut b = [2.0, 3.0, 4.0f32];
            let k = clamp_index(i, 3);
            b[k] = (b[k] + x + 1.0) * 2.0;
            let expected = [1.0 + x, b[0], b[1], b[2], 1.0 + x, 2.0 * x + 10.0];
            check(&f, &[i, x.to_bits()], &expected.map(f32::to_bits));
        }
    }

    #[test]
    fn pointers_keep_the_index_they_were_created_with() {
        let f = translate(
            "fn f(i: u32) -> array<i32, 4> {
                var a = array(10, 20, 30, 40);
                var k = i;
                let p = &a[k];
                k = 0u;
                *p += 1;
                return a;
            }",
        );
        for i in 0..4 {
            let mut expected = [10, 20, 30, 40];
            expected[i] += 1;
            check(&f, &[i as u32], &expected);
        }
    }

    #[test]
    fn loads_and_stores_keep_program_order() {
        let f = translate(
            "fn f(x: i32) -> vec2i { var a = x; let before = a; a = a * 2; return vec2i(before, a); }",
        );
        check(&f, &[21], &[21, 42]);
    }

    #[test]
    fn stores_to_components_leave_others_unchanged() {
        let f = translate(
            "fn f(v: vec4f) -> vec4f { var w = v; w.x = v.y; w[1] = v.x; w.z += w.x; w = w.wzyx; w.a *= 2.0; return w; }",
        );
        check(
            &f,
            &[1.0, 2.0, 3.0, 4.0].map(f32::to_bits),
            &[4.0, 5.0, 1.0, 4.0f32].map(f32::to_bits),
        );
    }
}
