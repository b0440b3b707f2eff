//! Models of Fidget: text with one operation per line, translated to WGSL.

use std::collections::HashMap;
use std::fmt::Write;

/// A line that cannot be translated.
#[derive(Debug, PartialEq, Eq)]
pub struct ModelError {
    /// Number of the line.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

/// Translates a model to a function `field` of a position in [−1, 1]³. Returns it with its number
/// of operations.
pub fn to_wgsl(text: &str) -> Result<(String, usize), ModelError> {
    let mut wgsl = "fn field(/** range: [-1, 1] */ p: vec3f) -> f32 {\n".to_owned();
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    for (line, words) in text.lines().enumerate() {
        let words: Vec<_> = words.split_whitespace().collect();
        if words.is_empty() || words[0].starts_with('#') {
            continue;
        }
        let fail = |message: String| ModelError { line: line + 1, message };
        let [name, op, args @ ..] = &words[..] else {
            return Err(fail("expected a name and an operation".into()));
        };
        let arg = |k: usize| {
            let arg = args.get(k).ok_or_else(|| fail(format!("`{op}` lacks an argument")))?;
            let number = numbers.get(arg).ok_or_else(|| fail(format!("{arg} is not defined")))?;
            Ok(format!("v{number}"))
        };
        let expression = match *op {
            "var-x" => "p.x".to_owned(),
            "var-y" => "p.y".to_owned(),
            "var-z" => "p.z".to_owned(),
            "const" => {
                let constant = args.first().and_then(|text| text.parse::<f32>().ok());
                let constant = constant.ok_or_else(|| fail("expected a number".into()))?;
                format!("{constant:?}f")
            }
            "add" => format!("{} + {}", arg(0)?, arg(1)?),
            "sub" => format!("{} - {}", arg(0)?, arg(1)?),
            "mul" => format!("{} * {}", arg(0)?, arg(1)?),
            "div" => format!("{} / {}", arg(0)?, arg(1)?),
            "min" | "max" => format!("{op}({}, {})", arg(0)?, arg(1)?),
            "neg" => format!("-{}", arg(0)?),
            "square" => format!("{0} * {0}", arg(0)?),
            "ln" => format!("log({})", arg(0)?),
            "abs" | "sqrt" | "exp" | "sin" | "cos" => format!("{op}({})", arg(0)?),
            op => return Err(fail(format!("the operation `{op}` is unknown"))),
        };
        let number = numbers.len();
        writeln!(wgsl, "    let v{number} = {expression};").expect("strings grow");
        numbers.insert(name, number);
    }
    if numbers.is_empty() {
        return Err(ModelError { line: 1, message: "the model is empty".into() });
    }
    writeln!(wgsl, "    return v{};\n}}", numbers.len() - 1).expect("strings grow");
    Ok((wgsl, numbers.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_becomes_a_function() {
        let text = "# a circle\n_0 var-x\n_1 var-y\n_a square _0\n_b square _1\n_c add _a _b\n\
            _d const -1\n_e add _c _d";
        let (wgsl, operations) = to_wgsl(text).unwrap();
        assert_eq!(operations, 7);
        assert!(wgsl.contains("let v2 = v0 * v0;\n"), "{wgsl}");
        assert!(wgsl.contains("let v5 = -1.0f;\n    let v6 = v4 + v5;\n    return v6;"), "{wgsl}");
    }

    #[test]
    fn unknown_operations_and_names_are_errors() {
        for (text, line, message) in [
            ("_0 var-x\n_1 cube _0", 2, "the operation `cube` is unknown"),
            ("_0 neg _1", 1, "_1 is not defined"),
            ("_0 const x", 1, "expected a number"),
            ("_0 var-x\n_1 add _0", 2, "`add` lacks an argument"),
            ("# nothing", 1, "the model is empty"),
        ] {
            assert_eq!(to_wgsl(text), Err(ModelError { line, message: message.into() }));
        }
    }
}
