//! Signals that the program handles, and the thread that receives them.
//!
//! Schedulers end jobs by SIGTERM, closed terminals and connections by SIGHUP. Systems without Unix
//! signals only have Ctrl-C.

use crate::Exit;

/// A signal that ends the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(unix), allow(dead_code, reason = "only Unix has the other signals"))]
pub enum StopSignal {
    /// Ctrl-C, or SIGINT from another process.
    CtrlC,
    /// SIGTERM.
    Terminate,
    /// SIGHUP.
    HangUp,
}

impl StopSignal {
    /// The name in messages.
    pub fn name(self) -> &'static str {
        match self {
            StopSignal::CtrlC => "Ctrl-C",
            StopSignal::Terminate => "SIGTERM",
            StopSignal::HangUp => "SIGHUP",
        }
    }

    /// The exit code of a process that it ended.
    pub fn exit(self) -> Exit {
        match self {
            StopSignal::CtrlC => Exit::Interrupted,
            StopSignal::Terminate => Exit::Terminated,
            StopSignal::HangUp => Exit::HungUp,
        }
    }
}

/// A signal that the program handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(unix), allow(dead_code, reason = "only Unix has the other signals"))]
pub enum Signal {
    /// Ends the program.
    Stop(StopSignal),
    /// SIGUSR1: writes the image so far.
    Snapshot,
}

#[cfg(unix)]
pub use unix::{disarm, listen};

#[cfg(unix)]
mod unix {
    use super::{Signal, StopSignal};
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGXFSZ};
    use signal_hook::iterator::Signals;
    use std::io;
    use std::sync::Arc;

    /// Keeps signals from ending the process: SIGUSR1, as it would before [`listen`], and SIGXFSZ,
    /// so that a file beyond the limit of `ulimit -f` is an error like a full disk.
    pub fn disarm() {
        // Handlers rather than SIG_IGN, which child processes would inherit. Nobody reads the
        // flags.
        for signal in [SIGUSR1, SIGXFSZ] {
            _ = signal_hook::flag::register(signal, Arc::default());
        }
    }

    /// Calls `receive` for each signal, from a thread of its own. SIGHUP remains ignored if it was
    /// ignored before, by `nohup` for instance.
    pub fn listen(receive: impl Fn(Signal) + Send + 'static) -> io::Result<()> {
        let mut handled = vec![SIGINT, SIGTERM, SIGUSR1];
        if !super::super::disposition::is_ignored(SIGHUP) {
            handled.push(SIGHUP);
        }
        let mut signals = Signals::new(handled)?;
        std::thread::Builder::new().name("signals".into()).spawn(move || {
            for signal in signals.forever() {
                receive(match signal {
                    SIGINT => Signal::Stop(StopSignal::CtrlC),
                    SIGTERM => Signal::Stop(StopSignal::Terminate),
                    SIGHUP => Signal::Stop(StopSignal::HangUp),
                    _ => Signal::Snapshot,
                });
            }
        })?;
        Ok(())
    }
}

/// Calls `receive` for each Ctrl-C, from a thread of its own.
#[cfg(not(unix))]
pub fn listen(receive: impl Fn(Signal) + Send + 'static) -> std::io::Result<()> {
    ctrlc::set_handler(move || receive(Signal::Stop(StopSignal::CtrlC)))
        .map_err(std::io::Error::other)
}
