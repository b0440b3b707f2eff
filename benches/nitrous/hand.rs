//! The functions of the other files in Rust: general ones, and ones specialized by hand. Compiled by
//! `lightbound-benches nitrous` as a library of its own, so that it is always optimized.

/// What a function reads. Each row has its dynamic value in `dynamic`; `fixed` has the static ones.
#[repr(C)]
pub struct Call {
    fixed: *const i32,
    dynamic: *const i32,
    rows: usize,
    words: *const u32,
    count: usize,
    /// Weights, or instructions of four words.
    table: *const u32,
    table_count: usize,
    out: *mut u32,
}

fn for_each_row(call: &Call, f: impl Fn(i32, &[u32], &[u32]) -> u32) {
    // SAFETY: the caller passes the lengths of its slices.
    let (dynamic, words, table, out) = unsafe {
        (
            std::slice::from_raw_parts(call.dynamic, call.rows),
            std::slice::from_raw_parts(call.words, call.count),
            std::slice::from_raw_parts(call.table, call.table_count),
            std::slice::from_raw_parts_mut(call.out, call.rows),
        )
    };
    for (&dynamic, out) in dynamic.iter().zip(out) {
        *out = f(dynamic, words, table);
    }
}

fn fixed<const N: usize>(call: &Call) -> [i32; N] {
    // SAFETY: the caller passes all static values of the function.
    unsafe { *call.fixed.cast() }
}

const WORDS: usize = 624;

#[no_mangle]
pub extern "C" fn nybbles(call: &Call) {
    let [bits, period, groups] = fixed(call);
    for_each_row(call, |start, words, _| {
        let words = &words[start as usize..];
        let width = bits as u32;
        let mask = (1u32 << width) - 1;
        let mut sum = 0u32;
        let mut bit = 0;
        while bit < (32 * period * groups) as u32 {
            let (at, shift) = ((bit >> 5) as usize, bit & 31);
            let mut field = words[at] >> shift;
            if shift + width > 32 {
                field |= words[at + 1] << (32 - shift);
            }
            sum = sum.wrapping_add(field & mask);
            bit += width;
        }
        sum
    });
}

#[no_mangle]
pub extern "C" fn nybbles_4(call: &Call) {
    for_each_row(call, |start, words, _| {
        let mut sum = 0u32;
        for &w in &words[start as usize..][..WORDS] {
            for k in 0..8 {
                sum = sum.wrapping_add(w >> (4 * k) & 15);
            }
        }
        sum
    });
}

#[no_mangle]
pub extern "C" fn nybbles_12(call: &Call) {
    for_each_row(call, |start, words, _| {
        let mut sum = 0u32;
        for w in words[start as usize..][..WORDS].chunks_exact(3) {
            let [a, b, c] = [w[0], w[1], w[2]];
            let low = (a & 4095) + (a >> 12 & 4095) + ((a >> 24 | b << 8) & 4095);
            let high = (b >> 4 & 4095) + (b >> 16 & 4095) + ((b >> 28 | c << 4) & 4095);
            sum = sum.wrapping_add(low + high + (c >> 8 & 4095) + (c >> 20));
        }
        sum
    });
}

#[no_mangle]
pub extern "C" fn elements(call: &Call) {
    let [bits, count] = fixed(call);
    for_each_row(call, |start, words, _| {
        let words = &words[start as usize..];
        let width = bits as u32;
        let mask = (1u32 << width) - 1;
        let mut sum = 0u32;
        for i in 0..count as u32 {
            let bit = i * width;
            let (at, shift) = ((bit >> 5) as usize, bit & 31);
            let mut field = words[at] >> shift;
            if shift + width > 32 {
                field |= words[at + 1] << (32 - shift);
            }
            sum = sum.wrapping_add(field & mask);
        }
        sum
    });
}

#[no_mangle]
pub extern "C" fn elements_4(call: &Call) {
    let [_, count] = fixed(call);
    for_each_row(call, |start, words, _| {
        let (words, count) = (&words[start as usize..], count as usize);
        let mut sum = 0u32;
        for &w in &words[..count / 8] {
            for k in 0..8 {
                sum = sum.wrapping_add(w >> (4 * k) & 15);
            }
        }
        for k in 0..count % 8 {
            sum = sum.wrapping_add(words[count / 8] >> (4 * k) & 15);
        }
        sum
    });
}

#[no_mangle]
pub extern "C" fn elements_12(call: &Call) {
    let [_, count] = fixed(call);
    for_each_row(call, |start, words, _| {
        let (words, count) = (&words[start as usize..], count as usize);
        let mut sum = 0u32;
        for w in words[..count / 8 * 3].chunks_exact(3) {
            let [a, b, c] = [w[0], w[1], w[2]];
            let low = (a & 4095) + (a >> 12 & 4095) + ((a >> 24 | b << 8) & 4095);
            let high = (b >> 4 & 4095) + (b >> 16 & 4095) + ((b >> 28 | c << 4) & 4095);
            sum = sum.wrapping_add(low + high + (c >> 8 & 4095) + (c >> 20));
        }
        for i in count / 8 * 8..count {
            let (at, shift) = (12 * i / 32, (12 * i % 32) as u32);
            let pair = u64::from(words[at]) | u64::from(words[at + 1]) << 32;
            sum = sum.wrapping_add((pair >> shift) as u32 & 4095);
        }
        sum
    });
}

#[no_mangle]
pub extern "C" fn filter(call: &Call) {
    let [taps, groups] = fixed(call);
    let (taps, groups) = (taps as usize, groups as usize);
    for_each_row(call, |start, words, weights| {
        let words = &words[start as usize..];
        let mut combined = 0u32;
        for i in 0..taps * groups {
            let mut sum = 0u32;
            for j in 0..taps {
                sum = sum.wrapping_add(weights[j].wrapping_mul(words[i + j]));
            }
            combined ^= sum;
        }
        combined
    });
}

fn filter_with<const N: usize>(call: &Call, results: usize, weights: [u32; N]) {
    for_each_row(call, |start, words, _| {
        let mut combined = 0u32;
        for window in words[start as usize..][..results + N - 1].windows(N) {
            let mut sum = 0u32;
            for (&w, weight) in window.iter().zip(weights) {
                sum = sum.wrapping_add(w.wrapping_mul(weight));
            }
            combined ^= sum;
        }
        combined
    });
}

#[no_mangle]
pub extern "C" fn filter_3(call: &Call) {
    filter_with(call, 624, [2, 5, 2]);
}

#[no_mangle]
pub extern "C" fn filter_7(call: &Call) {
    filter_with(call, 623, [1, 3, 7, 11, 7, 3, 1]);
}

#[no_mangle]
pub extern "C" fn interpreter(call: &Call) {
    for_each_row(call, |n, _, code| {
        let mut r = [0i32; 8];
        r[0] = n;
        for _ in 0..1024 {
            for instruction in code.chunks_exact(4) {
                let [a, b, c] = [1, 2, 3].map(|k| instruction[k] as usize);
                match instruction[0] {
                    0 => return r[a] as u32,
                    1 => {
                        if r[a] == 0 {
                            return r[b] as u32;
                        }
                    }
                    2 => r[a] = c as i32,
                    3 => r[a] = r[b].wrapping_add(r[c]),
                    4 => r[a] = r[b].wrapping_sub(r[c]),
                    _ => r[a] = r[b].wrapping_mul(r[c]),
                }
            }
        }
        0
    });
}

#[no_mangle]
pub extern "C" fn recur_tree(call: &Call) {
    for_each_row(call, |n, _, _| {
        let (n, square) = (n as u32, (n as u32).wrapping_mul(n as u32));
        let left = (n + 3).wrapping_mul(square.wrapping_sub(7));
        let right = (square + 5).wrapping_mul(n.wrapping_sub(11));
        let inner = left.wrapping_sub(right).wrapping_mul(left.wrapping_add(right));
        inner.wrapping_add(square).wrapping_mul(n).wrapping_sub(left)
    });
}

#[no_mangle]
pub extern "C" fn recur_even(call: &Call) {
    for_each_row(call, |mut n, _, _| {
        for _ in 0..1024 {
            if n == 0 {
                return 1;
            }
            n -= 1;
            if n == 0 {
                return 0;
            }
            n -= 1;
        }
        0
    });
}

#[no_mangle]
pub extern "C" fn recur_hash(call: &Call) {
    for_each_row(call, |mut n, _, _| {
        let mut hash = 0u32;
        for _ in 0..1024 {
            if n == 0 {
                return hash;
            }
            hash = hash.wrapping_mul(31).wrapping_add(n as u32);
            n -= 1;
        }
        0
    });
}
