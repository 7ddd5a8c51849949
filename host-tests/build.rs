//! Builds the component, so that whoever builds the host has it: no second command, no stale file.
//!
//! Its only imports are those of our WIT.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};

#[path = "build/component.rs"]
mod component;

use component::TARGET;

const PROFILE: &str = "component";

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for path in ["Cargo.toml", "Cargo.lock", "src", "wit"] {
        println!("cargo:rerun-if-changed={}", root.join(path).display());
    }
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=build/component.rs");

    ensure_target();
    let out = PathBuf::from(variable("OUT_DIR"));
    let (target_dir, linker) = (out.join("component"), linker());
    let build = component::build(&variable("CARGO"), linker.as_os_str(), &root, &target_dir, PROFILE);
    run(build, "building the component failed");

    println!("cargo:rustc-env=NOREPLAY_COMPONENT={}", component::file(&target_dir, PROFILE).display());
    // The test of the planted faults builds components of its own.
    println!("cargo:rustc-env=NOREPLAY_LINKER={}", linker.display());
}

/// `wasm-component-ld`, which lies in the toolchain.
fn linker() -> PathBuf {
    let bin = sysroot().join("lib/rustlib").join(variable("HOST")).join("bin");
    let linker = bin.join(format!("wasm-component-ld{}", env::consts::EXE_SUFFIX));
    if !linker.exists() {
        fail(&format!(
            "{} is missing: noreplay needs a Rust toolchain installed by rustup (1.82 or newer)",
            linker.display()
        ));
    }
    linker
}

/// Adds the wasm target through rustup where it is missing.
fn ensure_target() {
    if sysroot().join("lib/rustlib").join(TARGET).join("lib").is_dir() {
        return;
    }
    let rustup = env::var_os("RUSTUP").unwrap_or_else(|| "rustup".into());
    let mut add = Command::new(rustup);
    add.args(["target", "add", TARGET]);
    if let Some(toolchain) = env::var_os("RUSTUP_TOOLCHAIN") {
        add.arg("--toolchain").arg(toolchain);
    }
    match add.status() {
        Ok(status) if status.success() => {}
        Ok(status) => fail(&format!(
            "the Rust target {TARGET} is missing and `rustup target add {TARGET}` ended with {status}; run it by hand"
        )),
        Err(error) => fail(&format!(
            "the Rust target {TARGET} is missing and rustup could not be run ({error}); \
             install rustup and run `rustup target add {TARGET}`, or install the target by your system's packages"
        )),
    }
}

fn sysroot() -> PathBuf {
    let mut rustc = Command::new(variable("RUSTC"));
    rustc.args(["--print", "sysroot"]);
    match rustc.output() {
        Ok(output) if output.status.success() => {
            PathBuf::from(String::from_utf8_lossy(&output.stdout).trim())
        }
        other => fail(&format!("`rustc --print sysroot` failed: {other:?}")),
    }
}

fn run(mut command: Command, what: &str) {
    match command.status() {
        Ok(status) if status.success() => {}
        other => fail(&format!("{what} ({other:?}): {command:?}")),
    }
}

fn variable(name: &str) -> OsString {
    env::var_os(name).unwrap_or_else(|| fail(&format!("cargo did not set {name}")))
}

fn fail(message: &str) -> ! {
    println!("cargo::error={message}");
    exit(1)
}
