//! The long version: what the program was built from, and what it can use here.

use lightbound::accel::AccelKind;
use lightbound_shader::Target;
use std::sync::LazyLock;

/// Text of `--version`, without the name of the program.
pub static LONG: LazyLock<String> = LazyLock::new(long);

fn long() -> String {
    let available = Target::ALL.into_iter().filter(|target| target.is_available());
    let targets: Vec<&str> = available.map(Target::name).collect();
    format!(
        "{}\n\
         commit   {}\n\
         targets  {} on this machine; {} is the default\n\
         embree   {}",
        env!("CARGO_PKG_VERSION"),
        env!("LIGHTBOUND_COMMIT"),
        targets.join(", "),
        Target::best().name(),
        match AccelKind::Embree.is_available() {
            true => "found",
            false => "not found",
        },
    )
}
