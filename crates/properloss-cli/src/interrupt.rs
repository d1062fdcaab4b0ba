//! Told to end (Ctrl-C, SIGTERM, SIGHUP): a fit is asked to stop at its next question; whatever
//! still runs shortly after ends there, and its temporary files are removed.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::Duration;

use properloss_data::atomic::remove_temporaries;

/// Whether the program was told to end.
pub static STOP: AtomicBool = AtomicBool::new(false);

/// The signal's number; that of Ctrl-C where systems have none.
static SIGNAL: AtomicI32 = AtomicI32::new(2);

/// How long a fit may take to notice.
const GRACE: Duration = Duration::from_millis(450);

/// The exit status: 128 and the signal's number, as shells count.
pub fn status() -> u8 {
    u8::try_from(128 + SIGNAL.load(Ordering::Relaxed)).unwrap_or(130)
}

fn end(signal: i32) {
    SIGNAL.store(signal, Ordering::Relaxed);
    STOP.store(true, Ordering::Relaxed);
    std::thread::sleep(GRACE);
    remove_temporaries();
    std::process::exit(status().into());
}

/// Listens from now on. Without a listener a signal ends the process at once, which will do.
#[cfg(unix)]
pub fn listen() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let ignored = ignored();
    let wanted = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|n| ignored >> (n - 1) & 1 == 0);
    if let Ok(mut signals) = signal_hook::iterator::Signals::new(wanted) {
        std::thread::spawn(move || signals.forever().next().map(end));
    }
}

/// The signals that whoever started the program wants ignored, a bit each: `nohup` does so with
/// SIGHUP, a shell with the SIGINT of what it runs in the background. Asked of Linux only.
#[cfg(unix)]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Listens from now on. Without a listener Ctrl-C ends the process at once, which will do.
#[cfg(not(unix))]
pub fn listen() {
    let _ = ctrlc::set_handler(|| end(2));
}
