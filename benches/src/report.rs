//! Output common to all subcommands: the header, tables and errors.

use lightbound_shader::Target;
use lightbound_study::cost::cpu_name;
use std::process::ExitCode;

/// Prints the machine and the version.
pub fn print_machine() {
    let cpu = cpu_name().unwrap_or_else(|| "unknown CPU".to_owned());
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    println!("Lightbound {}; {cpu}, {threads} threads.\n", env!("CARGO_PKG_VERSION"));
}

/// Prints an input error and returns exit code 2, as for invalid options.
pub fn invalid_input(error: &str) -> ExitCode {
    eprintln!("error: {error}");
    ExitCode::from(2)
}

/// Prints an error and returns the exit code for failures.
pub fn fail(error: &str) -> ExitCode {
    eprintln!("error: {error}");
    ExitCode::FAILURE
}

/// Returns the compiled targets that this machine can run.
pub fn targets() -> Vec<Target> {
    Target::ALL
        .into_iter()
        .filter(|&target| target != Target::Interpreter && target.is_available())
        .collect()
}

/// Prints a row of a table.
pub fn print_row(cells: impl IntoIterator<Item = String>) {
    println!("| {} |", cells.into_iter().collect::<Vec<_>>().join(" | "));
}

/// Prints the header of a table: the first column is aligned left, the others right.
pub fn print_head(titles: &[String]) {
    print_row(titles.iter().cloned());
    println!("|---|{}", "--:|".repeat(titles.len() - 1));
}

/// Returns the geometric mean.
pub fn geometric_mean(ratios: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, n) = ratios.into_iter().fold((0.0, 0), |(sum, n), x: f64| (sum + x.ln(), n + 1));
    (sum / n as f64).exp()
}
