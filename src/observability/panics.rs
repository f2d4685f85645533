//! What a panic leaves behind: one line in the log, without secrets.

use std::any::Any;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::PanicHookInfo;

use super::hidden::HiddenWords;

/// From now on a panic of any thread or task is told by the log of this process, in its format, instead of by the standard
/// library on standard error; `hidden` is taken out of its message first.
pub fn report_to_log(hidden: HiddenWords) {
    std::panic::set_hook(Box::new(move |info| report(info, &hidden)));
}

fn report(info: &PanicHookInfo<'_>, hidden: &HiddenWords) {
    let message = hidden.hide(message(info.payload()));
    let place = info.location().map(ToString::to_string).unwrap_or_default();
    let thread = std::thread::current();
    let thread = thread.name().unwrap_or("unnamed");
    let trace = Backtrace::capture();
    match trace.status() {
        BacktraceStatus::Captured => {
            let trace = hidden.hide(&trace.to_string());
            tracing::error!(place, thread, words = %message, %trace, "panicked");
        }
        _ => tracing::error!(place, thread, words = %message, "panicked"),
    }
}

/// What the code that panicked said.
fn message(payload: &(dyn Any + Send)) -> &str {
    match (
        payload.downcast_ref::<&'static str>(),
        payload.downcast_ref::<String>(),
    ) {
        (Some(text), _) => text,
        (None, Some(text)) => text,
        (None, None) => "(no message)",
    }
}
