//! The `seneschal` binary: everything is in the library, see `seneschal::cli`.

use std::process::ExitCode;

fn main() -> ExitCode {
    seneschal::cli::run()
}
