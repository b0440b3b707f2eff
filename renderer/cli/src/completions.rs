//! `lightbound completions` and `lightbound man`: files for shells and for `man`, generated from
//! the definition of the options.

use super::output::{OutputFile, to_stdout};
use super::{Cli, Error, Exit, console};
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use lightbound_image::write::save;
use std::io;
use std::path::{Path, PathBuf};

/// Options of `completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lightbound completions bash > ~/.local/share/bash-completion/completions/lightbound
  lightbound completions zsh > ~/.zfunc/_lightbound       (a folder of $fpath)
  lightbound completions fish > ~/.config/fish/completions/lightbound.fish")]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints completions for a shell.
pub fn completions(args: &CompletionsArgs) -> Result<Exit, Error> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "lightbound", &mut text);
    to_stdout(&text)?;
    Ok(Exit::Success)
}

/// Options of `man`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lightbound man ~/.local/share/man/man1       and then: man lightbound-render")]
pub struct ManArgs {
    /// Folder for the pages; it is created if it does not exist
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Writes a manual page for each command.
pub fn man(args: &ManArgs) -> Result<Exit, Error> {
    let folder = &args.folder;
    std::fs::create_dir_all(folder).map_err(|cause| {
        let message = format!("{}: cannot be created ({cause})", folder.display());
        Error::option(message, "name another folder")
    })?;
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let pages = write_pages(&command, "lightbound", folder)?;
    console::print(&format!("{}: {}", folder.display(), console::count(pages, "page")));
    Ok(Exit::Success)
}

/// Writes the page of a command and those of its subcommands; returns their number.
fn write_pages(command: &Command, name: &str, folder: &Path) -> Result<u64, Error> {
    let page = page(command, name).expect("writing to memory succeeds");
    let output = OutputFile::check(&folder.join(format!("{name}.1")))?;
    output.write(|path| save(path, &page))?;
    let subcommands = command.get_subcommands();
    subcommands
        .map(|sub| write_pages(sub, &format!("{name}-{}", sub.get_name()), folder))
        .sum::<Result<u64, Error>>()
        .map(|pages| pages + 1)
}

fn page(command: &Command, name: &str) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    // The long version depends on the machine.
    let version = concat!("lightbound ", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command.clone()).title(name).source(version);
    man.render(&mut page)?;
    Ok(page)
}
