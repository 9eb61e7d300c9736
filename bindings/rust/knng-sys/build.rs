//! Finds libknng: in the folder that KNNG_LIB_DIR names, else by pkg-config. Knows nothing of what is in it.

use std::env;
use std::process::{self, Command};

/// The C library's version from which these declarations hold, and the first that they may not hold for: before 1.0 a
/// minor version may change the interface.
const FROM: &str = "0.9.0";
const BEFORE: &str = "0.10.0";

fn main() {
    for name in [
        "KNNG_LIB_DIR",
        "PKG_CONFIG",
        "PKG_CONFIG_PATH",
        "PKG_CONFIG_LIBDIR",
        "PKG_CONFIG_SYSROOT_DIR",
    ] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    println!("cargo:rerun-if-changed=build.rs");
    if env::var_os("DOCS_RS").is_some() {
        return; // documentation is made without linking
    }
    let folders = match env::var("KNNG_LIB_DIR") {
        Ok(folder) if !folder.is_empty() => {
            if !has_library(&folder) {
                eprintln!("libknng: KNNG_LIB_DIR names {folder}, which has no libknng");
                process::exit(1);
            }
            vec![folder]
        }
        _ => pkg_config().unwrap_or_else(|reason| {
            eprintln!("{reason}");
            process::exit(1);
        }),
    };
    for folder in &folders {
        println!("cargo:rustc-link-search=native={folder}");
    }
    println!("cargo:rustc-link-lib=dylib=knng");
    // What a crate that depends on this one reads as DEP_KNNG_LIBDIR.
    if let Some(folder) = folders.first() {
        println!("cargo:libdir={folder}");
    }
}

/// Whether there is a file that the linker may take, whatever the system calls it.
fn has_library(folder: &str) -> bool {
    std::fs::read_dir(folder).into_iter().flatten().flatten().any(|file| {
        let name = file.file_name();
        let name = name.to_string_lossy();
        name.starts_with("libknng.") || name.starts_with("knng.")
    })
}

/// The folders that pkg-config names for the linker, none for those that it searches anyway.
fn pkg_config() -> Result<Vec<String>, String> {
    let tool = env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".into());
    if env::var("TARGET") != env::var("HOST") && env::var_os("PKG_CONFIG_SYSROOT_DIR").is_none() {
        return Err(
            "libknng: for another machine than this one set KNNG_LIB_DIR to the folder of its libknng.so, or \
             PKG_CONFIG_SYSROOT_DIR."
                .into(),
        );
    }
    let output = Command::new(&tool)
        .args(["--print-errors", "--libs-only-L"])
        .arg(format!("knng >= {FROM}"))
        .arg(format!("knng < {BEFORE}"))
        .output()
        .map_err(|error| format!("libknng: {tool} cannot be run ({error}).\n{ADVICE}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said: Vec<&str> = said.lines().filter(|line| !line.contains("virtual:world")).collect();
        return Err(format!("libknng {FROM} or newer, before {BEFORE}, was not found:\n{}\n{ADVICE}", said.join("\n")));
    }
    let said = String::from_utf8_lossy(&output.stdout);
    Ok(said.split_whitespace().filter_map(|word| word.strip_prefix("-L")).map(String::from).collect())
}

const ADVICE: &str = "Install libknng and its headers (Debian: libknng-dev) and pkg-config; or, for a libknng in a folder of \
                      its own, set PKG_CONFIG_PATH to the folder of its knng.pc, or KNNG_LIB_DIR to that of libknng.so.";
