//! Formatting of shader parameters for users: types, ranges, defaults and tables.

use lightbound_shader::{Parameter, Scalar};

/// Returns the WGSL type of a parameter.
pub fn type_name(parameter: &Parameter) -> String {
    let scalar = parameter.scalar.name();
    match (parameter.size, parameter.scalar) {
        (1, _) => scalar.into(),
        (size, Scalar::Bool) => format!("vec{size}<bool>"),
        (size, _) => format!("vec{size}{}", &scalar[..1]),
    }
}

/// Formats the range; `None` if it is unlimited.
pub fn format_range(parameter: &Parameter) -> Option<String> {
    let [low, high] = parameter.range;
    let unlimited = match parameter.scalar {
        Scalar::F32 => low == f64::NEG_INFINITY && high == f64::INFINITY,
        Scalar::I32 => parameter.range == [i32::MIN, i32::MAX].map(f64::from),
        Scalar::U32 => parameter.range == [u32::MIN, u32::MAX].map(f64::from),
        Scalar::Bool => true,
    };
    (!unlimited).then(|| {
        let lower = format_endpoint(parameter.scalar, low, f32::next_down);
        let upper = format_endpoint(parameter.scalar, high, f32::next_up);
        let (open, low) = lower.map_or_else(|closed| ('[', closed), |open| ('(', open));
        let (close, high) = upper.map_or_else(|closed| (']', closed), |open| (')', open));
        format!("{open}{low}, {high}{close}")
    })
}

/// Formats an endpoint of a range: `Ok` if it is open, else `Err`. Ranges are stored closed: an
/// open endpoint is replaced by the next float inside the range. So if the next float outside has
/// far fewer digits, the endpoint is shown as open. Both notations mean the same range.
fn format_endpoint(scalar: Scalar, x: f64, next_outside: fn(f32) -> f32) -> Result<String, String> {
    let neighbour = next_outside(x as f32);
    let digits = |x: f32| format!("{x:e}").find('e').unwrap_or(0);
    let open = neighbour == 0.0 || digits(neighbour) + 3 <= digits(x as f32);
    if scalar == Scalar::F32 && x.is_finite() && open {
        Ok(format_number(scalar, f64::from(neighbour)))
    } else {
        Err(format_number(scalar, x))
    }
}

/// Formats the default, if any: as a single number if all components are equal.
pub fn format_default(parameter: &Parameter) -> Option<String> {
    let numbers = parameter.default.as_ref()?;
    let texts: Vec<String> = numbers.iter().map(|&x| format_number(parameter.scalar, x)).collect();
    let equal = texts.iter().all(|text| *text == texts[0]);
    Some(if equal { texts[0].clone() } else { format!("({})", texts.join(", ")) })
}

/// Describes the valid values of a parameter.
pub fn valid_values(parameter: &Parameter) -> String {
    let noun = match parameter.scalar {
        Scalar::F32 => "numbers",
        Scalar::I32 | Scalar::U32 => "integers",
        Scalar::Bool => "true or false",
    };
    match format_range(parameter) {
        None => noun.into(),
        Some(range) => format!("{noun} in {range}"),
    }
}

/// Formats a number for users.
pub fn format_number(scalar: Scalar, x: f64) -> String {
    match (scalar, x) {
        (Scalar::Bool, x) => (x != 0.0).to_string(),
        (_, f64::INFINITY) => "∞".into(),
        (_, f64::NEG_INFINITY) => "-∞".into(),
        (Scalar::F32, x) if x != 0.0 && !(1e-4..1e7).contains(&x.abs()) => {
            format!("{:e}", x as f32)
        }
        (Scalar::F32, x) => format!("{}", x as f32),
        (Scalar::I32 | Scalar::U32, x) => format!("{x}"),
    }
}

/// Formats rows of cells as a table with aligned columns.
pub fn format_table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let length = |cell: &String| cell.chars().count();
    let widths: Vec<usize> = (0..columns)
        .map(|c| rows.iter().filter_map(|row| row.get(c)).map(length).max().unwrap_or(0))
        .collect();
    let line = |row: &Vec<String>| {
        let cells: String =
            row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}  ")).collect();
        format!("{}\n", cells.trim_end())
    };
    rows.iter().map(line).collect()
}

/// Returns name, type, range and default of a parameter, as cells of a table.
pub fn table_row(parameter: &Parameter) -> Vec<String> {
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".into());
    vec![
        parameter.name.clone(),
        type_name(parameter),
        or_none(format_range(parameter)),
        or_none(format_default(parameter)),
    ]
}

#[cfg(test)]
pub(super) mod testing {
    use lightbound_shader::{Parameter, Scalar};

    /// A parameter without a description and a default.
    pub fn parameter(name: &str, scalar: Scalar, size: usize, range: [f64; 2]) -> Parameter {
        Parameter {
            name: name.into(),
            doc: String::new(),
            scalar,
            size,
            range,
            default: None,
            is_diffuse: false,
            fact: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::parameter;
    use super::*;

    fn parameters() -> [Parameter; 5] {
        const ALL: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];
        [
            parameter("kd", Scalar::F32, 3, [0.0, f64::from(0.1f32)]),
            parameter("exponent", Scalar::F32, 1, ALL),
            parameter("lobes", Scalar::U32, 1, [0.0, 4.0]),
            parameter("offset", Scalar::I32, 2, [i32::MIN, i32::MAX].map(f64::from)),
            parameter("metal", Scalar::Bool, 2, [0.0, 1.0]),
        ]
    }

    #[test]
    fn types_ranges_and_defaults_are_formatted() {
        let parameters = parameters();
        assert_eq!(
            parameters.each_ref().map(type_name),
            ["vec3f", "f32", "u32", "vec2i", "vec2<bool>"]
        );
        let ranges = parameters.each_ref().map(format_range);
        assert_eq!(ranges, [Some("[0, 0.1]".into()), None, Some("[0, 4]".into()), None, None]);
        let mut wide = parameter("a", Scalar::F32, 2, [0.0, f64::from(1e38f32)]);
        assert_eq!(valid_values(&wide), "numbers in [0, 1e38]");
        wide.range[1] = f64::INFINITY;
        assert_eq!(valid_values(&wide), "numbers in [0, ∞]");
        wide.range = [f64::from(f32::from_bits(1)), f64::from(1f32.next_down())];
        assert_eq!(format_range(&wide), Some("(0, 1)".into()));
        wide.range = [f64::from(f32::MIN_POSITIVE), f64::from(f32::MAX)];
        assert_eq!(format_range(&wide), Some("[1.1754944e-38, ∞)".into()));
        wide.range = [-std::f32::consts::PI, 1e6f32.next_down()].map(f64::from);
        assert_eq!(format_range(&wide), Some("[-3.1415927, 1000000)".into()));
        wide.default = Some(vec![f64::from(0.1f32), 1e-5]);
        assert_eq!(format_default(&wide), Some("(0.1, 1e-5)".into()));
        wide.default = Some(vec![0.5, 0.5]);
        assert_eq!(format_default(&wide), Some("0.5".into()));
    }

    #[test]
    fn tables_have_aligned_columns() {
        let rows: Vec<_> = parameters()[..3].iter().map(table_row).collect();
        assert_eq!(
            format_table(&rows),
            "kd        vec3f  [0, 0.1]  -\nexponent  f32    -         -\nlobes     u32    [0, 4]    -\n"
        );
    }
}
