//! Counts the ways to place queens on a board of up to six columns, by backtracking (Stanford
//! suite, Queens).

struct Medium {
    /// Columns of the board. range: [1, 6]
    columns: i32,
}

fn density(p: vec3f, m: Medium) -> f32 {
    var rows: array<i32, 6>;
    var column = 0;
    var row = 0;
    var solutions = 0;
    while column >= 0 {
        var is_safe = row < m.columns;
        for (var other = 0; other < column; other++) {
            let distance = column - other;
            let difference = row - rows[other];
            if difference == 0 || difference == distance || difference == -distance {
                is_safe = false;
            }
        }
        if is_safe && column + 1 < m.columns {
            rows[column] = row;
            column += 1;
            row = 0;
            continue;
        }
        if is_safe {
            solutions += 1;
        }
        row += 1;
        if row >= m.columns {
            column -= 1;
            if column >= 0 {
                row = rows[column] + 1;
            }
        }
    }
    return f32(solutions);
}
