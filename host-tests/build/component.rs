//! The command that builds a component: for `wasm32-unknown-unknown`, linked by `wasm-component-ld`,
//! which comes with Rust. The build script runs it, and the test of the planted faults.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const TARGET: &str = "wasm32-unknown-unknown";

/// What the outer cargo, clippy or a coverage tool sets for the host must not reach the components.
const FOREIGN: [&str; 9] = [
    "CARGO_ENCODED_RUSTFLAGS",
    "RUSTFLAGS",
    "RUSTDOCFLAGS",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "CARGO_BUILD_TARGET",
    "CARGO_TARGET_DIR",
    "CARGO_BUILD_TARGET_DIR",
    "CLIPPY_ARGS",
];

/// Builds the component that `package` is, of the workspace in `root`.
pub(crate) fn build(
    cargo: &OsStr,
    linker: &Path,
    package: &str,
    root: &Path,
    target_dir: &Path,
    profile: &str,
) -> Command {
    let mut command = Command::new(cargo);
    command
        .current_dir(root)
        .args(["rustc", "--package", package, "--lib", "--crate-type", "cdylib"])
        .args(["--profile", profile, "--target", TARGET, "--target-dir"])
        .arg(target_dir)
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
    for name in FOREIGN {
        command.env_remove(name);
    }
    command
}

/// Where it lies then.
pub(crate) fn file(package: &str, target_dir: &Path, profile: &str) -> PathBuf {
    // A library is named by an identifier.
    target_dir.join(TARGET).join(profile).join(package.replace('-', "_")).with_extension("wasm")
}
