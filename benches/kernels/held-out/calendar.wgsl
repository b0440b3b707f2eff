//! The date of a day, counted from the first of January of 2000, by steps of years and months.

struct Medium {
    /// The day. range: [0, 20000]
    day: i32,
}

fn is_leap_year(year: i32) -> bool {
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

fn density(p: vec3f, m: Medium) -> f32 {
    var day = m.day;
    var year = 2000;
    loop {
        let days = select(365, 366, is_leap_year(year));
        if day < days {
            break;
        }
        day -= days;
        year += 1;
    }
    var month = 1;
    loop {
        var days = 30 + ((month + month / 8) & 1);
        if month == 2 {
            days = select(28, 29, is_leap_year(year));
        }
        if day < days || month == 12 {
            break;
        }
        day -= days;
        month += 1;
    }
    return f32(year) + f32(month) / 12.0 + f32(day) / 366.0;
}
