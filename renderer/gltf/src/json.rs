//! Parses the JSON of a document. Errors name the value by its path, as `materials[0].alphaCutoff`.

use crate::schema::Root;
use serde_json::error::Category;

/// Names of Rust types in messages of `serde`, with those of JSON.
const TYPES: [(&str, &str); 9] = [
    ("usize", "an integer from 0"),
    ("u32", "an integer from 0"),
    ("u64", "an integer from 0"),
    ("f32", "a number"),
    ("f64", "a number"),
    ("a boolean", "true or false"),
    ("a borrowed string", "a string"),
    ("a sequence", "an array"),
    ("a map", "an object"),
];

/// A value that is not as the specification has it, or text that is not JSON.
#[derive(Debug, PartialEq)]
pub(crate) struct Problem {
    /// Path of the value, or a name of the document.
    pub element: String,
    pub message: String,
    pub remedy: &'static str,
}

/// Parses a document.
pub(crate) fn parse(json: &[u8]) -> Result<Root, Problem> {
    serde_json::from_slice(json).map_err(|cause| problem(json, &cause))
}

/// Describes an error. The path takes a second pass, which valid documents do not need.
fn problem(json: &[u8], cause: &serde_json::Error) -> Problem {
    let of_document = |remedy| Problem {
        element: "the document".into(),
        message: format!("is not valid JSON: {cause}"),
        remedy,
    };
    if cause.classify() != Category::Data {
        return of_document("the file is truncated or damaged; copy or export it again");
    }
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let path = match serde_path_to_error::deserialize::<_, Root>(&mut deserializer) {
        Err(error) => error.path().to_string(),
        Ok(_) => ".".into(),
    };
    Problem {
        // The path of the document itself is ".".
        element: if path == "." { "the document".into() } else { path },
        message: format!("is not valid glTF: {}", in_json_terms(&cause.to_string())),
        remedy: "correct the value, or export the asset again",
    }
}

/// Replaces the Rust type that a message ends with: "…, expected usize at line 1 column 2".
fn in_json_terms(message: &str) -> String {
    let Some((found, expected)) = message.rsplit_once("expected ") else {
        return message.to_owned();
    };
    let (ty, place) = expected.find(" at line ").map_or((expected, ""), |at| expected.split_at(at));
    let name = match TYPES.iter().find(|(rust, _)| ty == *rust) {
        Some((_, name)) => name,
        None if ty.starts_with("struct ") => "an object",
        None => return message.to_owned(),
    };
    format!("{found}expected {name}{place}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_paths_and_types_of_json() {
        for (json, element, part) in [
            (
                r#"{"materials":[{},{"normalTexture":{"index":0,"texCoord":-1}}]}"#,
                "materials[1].normalTexture.texCoord",
                "integer `-1`, expected an integer from 0 at line 1 column 58",
            ),
            (
                r#"{"materials":[{"normalTexture":{"index":-2}}]}"#,
                "materials[0].normalTexture.index",
                "integer `-2`, expected an integer from 0",
            ),
            (
                r#"{"meshes":[{"primitives":[{"attributes":{"POSITION":1.5}}]}]}"#,
                "meshes[0].primitives[0].attributes.POSITION",
                "floating point `1.5`, expected an integer from 0",
            ),
            (
                r#"{"nodes":[{"children":[0,-7]}]}"#,
                "nodes[0].children[1]",
                "integer `-7`, expected an integer from 0",
            ),
            (
                r#"{"accessors":[{"count":-3,"componentType":1,"type":"SCALAR"}]}"#,
                "accessors[0].count",
                "expected an integer from 0",
            ),
            (
                r#"{"materials":[{"alphaCutoff":"expected usize"}]}"#,
                "materials[0].alphaCutoff",
                "string \"expected usize\", expected a number",
            ),
            (r#"{"materials":{}}"#, "materials", "invalid type: map, expected an array"),
            (r#"{"nodes":[7]}"#, "nodes[0]", "integer `7`, expected an object"),
            (r#"{"materials":[{"normalTexture":{}}]}"#, "materials[0].normalTexture", "`index`"),
            (r#"{"nodes":[{"scale":[1,1]}]}"#, "nodes[0].scale", "an array of length 3"),
            ("7", "the document", "integer `7`, expected an object"),
        ] {
            let problem = parse(json.as_bytes()).expect_err(json);
            assert_eq!(problem.element, element, "{problem:?}");
            assert!(problem.message.contains(part), "{problem:?}");
        }
    }

    #[test]
    fn text_that_is_not_json_is_damaged() {
        for text in ["{", "{} {}", "{\"nodes\":[}"] {
            let problem = parse(text.as_bytes()).expect_err(text);
            assert_eq!(problem.element, "the document");
            assert!(problem.message.starts_with("is not valid JSON: "), "{problem:?}");
            assert!(problem.remedy.contains("copy"), "{problem:?}");
        }
    }
}
