//! Jobs as shell commands: a list, and a script for Slurm.

use super::Job;

/// A command in each line, and the merge as a comment.
pub(super) fn commands(job: &Job) -> String {
    let mut text = String::new();
    for part in 1..=job.parts {
        text += &line(&job.program, &job.part(&part.to_string()));
        text.push('\n');
    }
    text + "# then: " + &line(&job.program, &job.merge()) + "\n"
}

/// A script that submits an array of parts, and a merge for when they are done.
///
/// Slurm sends SIGTERM two minutes before the time limit. `render` then writes a checkpoint and ends
/// with 143, and the part is queued again. It is also queued again after a preemption or the failure
/// of a node, and resumes from the last checkpoint.
pub(super) fn slurm(job: &Job, options: &str) -> String {
    let options = if options.is_empty() { String::new() } else { format!("{options} ") };
    // Text in quotes and variables may follow each other.
    let render = line(&job.program, &job.render);
    let (name, parts, part_start) = (quote(&job.name), job.parts, quote(&job.part_start));
    let merge = line(&job.program, &job.merge());
    format!(
        r#"#!/bin/sh
# Renders {output} in {parts} parts, and merges them. Run it where Slurm's jobs are submitted.
set -e
array=$(sbatch {options}--parsable --job-name={name} --array=1-{parts} \
    --requeue --open-mode=append --signal=TERM@120 --output={name}.%A_%a.log <<'PART'
#!/bin/sh
# With srun, the signal before the time limit reaches the program.
part=$SLURM_ARRAY_TASK_ID
srun {render} --part "$part/{parts}" -o {part_start}"$part.exr"
code=$?
# 143: ended by the signal, with a checkpoint.
if [ $code = 143 ]; then
    scontrol requeue "${{SLURM_ARRAY_JOB_ID}}_$part"
fi
exit $code
PART
)
echo "parts: job $array"
merge=$(sbatch {options}--parsable --job-name={name}-merge --dependency="afterok:${{array%%;*}}" \
    --kill-on-invalid-dep=yes --output={name}.%j.log <<'MERGE'
#!/bin/sh
exec {merge}
MERGE
)
echo "merge: job $merge"
"#,
        output = job.output,
    )
}

/// A command with its arguments, quoted for a shell.
fn line(program: &str, arguments: &[String]) -> String {
    let words = std::iter::once(program).chain(arguments.iter().map(String::as_str));
    words.map(quote).collect::<Vec<_>>().join(" ")
}

/// Quotes a word for a shell.
fn quote(word: &str) -> String {
    shlex::try_quote(word).expect("arguments have no zeros").into_owned()
}
