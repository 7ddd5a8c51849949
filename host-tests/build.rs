//! Builds the components, so that whoever builds the host has them: no second command, no stale file.
//! Beside the client itself these are the one whose host answers what servers ask, the HTTP transport, either
//! client composed with it into one, and an agent for the tests, composed with the client alone and with both.
//!
//! Their only imports are those of our WIT.

use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};

#[path = "build/component.rs"]
mod component;
#[path = "build/compose.rs"]
mod compose;

use component::TARGET;

fn main() {
    // Read when it runs: a folder that was moved has its build script still.
    let root = Path::new(&variable("CARGO_MANIFEST_DIR")).join("..");
    for path in ["Cargo.toml", "Cargo.lock", "src", "wit", "components", "host-tests/agent"] {
        println!("cargo:rerun-if-changed={}", root.join(path).display());
    }
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=build");

    ensure_target();
    let (out, linker) = (PathBuf::from(variable("OUT_DIR")), linker());
    // The first two are one package, and lie in the same place: that of the plain one, once all are built.
    let [interactive, client, transport, agent] =
        [("noreplay", &["interactive"][..]), ("noreplay", &[]), ("http-transport", &[]), ("agent", &[])]
            .map(|(package, features)| build(package, features, &root, &out.join("component"), &linker));
    let http_client = compose(&transport, &client, &out.join("http-client.wasm"));
    let interactive_http = compose(&transport, &interactive, &out.join("interactive-http-client.wasm"));
    for (name, component) in [
        ("AGENT_COMPONENT", compose(&client, &agent, &out.join("agent.wasm"))),
        ("HTTP_AGENT_COMPONENT", compose(&http_client, &agent, &out.join("http-agent.wasm"))),
        ("HTTP_CLIENT_COMPONENT", http_client),
        ("HTTP_TRANSPORT_COMPONENT", transport),
        ("INTERACTIVE_COMPONENT", interactive),
        ("INTERACTIVE_HTTP_CLIENT_COMPONENT", interactive_http),
        ("NOREPLAY_COMPONENT", client),
    ] {
        println!("cargo:rustc-env={name}={}", component.display());
    }
    // The test of the planted faults builds components of its own.
    println!("cargo:rustc-env=NOREPLAY_LINKER={}", linker.display());
}

/// Builds the component that `package` is with some features more, and returns its file.
fn build(package: &str, features: &[&str], root: &Path, target_dir: &Path, linker: &Path) -> PathBuf {
    let profile = "component";
    let mut cargo = component::build(&variable("CARGO"), linker, package, root, target_dir, profile);
    cargo.arg("--features").arg(features.join(","));
    // Without this every address in the code takes five bytes: a tenth of the component.
    cargo.args(["--", "-C", "link-arg=--compress-relocations"]);
    run(cargo, "building a component failed");
    let linked = component::file(package, target_dir, profile);
    let stripped = linked.with_extension([&["stripped"], features, &["wasm"]].concat().join("."));
    let written = fs::read(&linked).and_then(|bytes| fs::write(&stripped, without_names(&bytes)));
    match written {
        Ok(()) => stripped,
        Err(error) => fail(&format!("{} cannot be stripped: {error}", linked.display())),
    }
}

/// Composes two components into the one in `file`: what `plug` exports becomes what `socket` imports.
fn compose(plug: &Path, socket: &Path, file: &Path) -> PathBuf {
    let compose = || -> Result<(), Box<dyn Error>> {
        let both = compose::plugged(fs::read(plug)?, fs::read(socket)?)?;
        Ok(fs::write(file, without_names(&both))?)
    };
    match compose() {
        Ok(()) => file.to_owned(),
        Err(error) => fail(&format!("{} cannot be composed: {error}", file.display())),
    }
}

/// The component without the names of its inner parts, which the linker adds for debuggers and knows no
/// option to leave out. They are a custom section of the component itself.
fn without_names(component: &[u8]) -> Vec<u8> {
    const HEADER: usize = 8;
    const CUSTOM: u8 = 0;
    const NAME: &[u8] = b"\x0ecomponent-name";

    let (header, mut rest) = component.split_at(HEADER);
    let mut kept = header.to_vec();
    while let [id, sized @ ..] = rest {
        let (size, length) = leb128(sized);
        let content = &sized[length..length + size];
        let (section, after) = rest.split_at(1 + length + size);
        if *id != CUSTOM || !content.starts_with(NAME) {
            kept.extend_from_slice(section);
        }
        rest = after;
    }
    kept
}

/// The unsigned LEB128 number at the start of `bytes`, and how many bytes it takes.
fn leb128(bytes: &[u8]) -> (usize, usize) {
    let length = bytes.iter().take_while(|byte| **byte >= 0x80).count() + 1;
    let number = bytes[..length].iter().rev().fold(0, |number, byte| number << 7 | usize::from(byte & 0x7f));
    (number, length)
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
