//! Ctrl-C: a fit is asked to end at its next question; anything else ends shortly after.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Whether Ctrl-C was pressed.
pub static STOP: AtomicBool = AtomicBool::new(false);

/// How long a fit may take to notice.
const GRACE: Duration = Duration::from_millis(450);

/// Listens for Ctrl-C from now on.
pub fn listen() {
    // Without a handler Ctrl-C ends the process at once, which will do.
    let _ = ctrlc::set_handler(|| {
        STOP.store(true, Ordering::Relaxed);
        std::thread::sleep(GRACE);
        std::process::exit(130);
    });
}
