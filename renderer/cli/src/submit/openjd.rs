//! Jobs as templates of Open Job Description, version 2023-09: a step with a task for each part, and
//! a step that merges them.

use super::Job;
use crate::Error;
use serde_json::json;

/// The parameter with the number of a part.
const PART: &str = "{{Task.Param.Part}}";

/// Greatest length of the name of a job, in characters.
const MAX_NAME: usize = 64;

/// A job template in JSON.
pub(super) fn template(job: &Job) -> Result<String, Error> {
    let words = job.render.iter().chain([&job.program, &job.output]);
    if let Some(word) = words.into_iter().find(|word| word.contains("{{")) {
        let message = format!("`{word}` contains {{{{, which begins a variable of the template");
        return Err(Error::option(message, "rename the file"));
    }
    let action = |arguments: Vec<String>| json!({"actions": {"onRun": {"command": job.program, "args": arguments}}});
    let part = json!({"name": "Part", "type": "INT", "range": format!("1-{}", job.parts)});
    let template = json!({
        "specificationVersion": "jobtemplate-2023-09",
        "name": job.name.chars().take(MAX_NAME).collect::<String>(),
        "steps": [
            {
                "name": "Render",
                "parameterSpace": {"taskParameterDefinitions": [part]},
                "script": action(job.part(PART)),
            },
            {
                "name": "Merge",
                "dependencies": [{"dependsOn": "Render"}],
                "script": action(job.merge()),
            },
        ],
    });
    let text = serde_json::to_string_pretty(&template).expect("texts and numbers are JSON");
    Ok(text + "\n")
}
