//! What the library has: its version, settings, metrics, statistics and devices, all as it lists them.

use crate::error::{call, text_of_array, Error, ErrorKind, Result};
use crate::text;
use knng_sys as sys;
use std::fmt;
use std::ptr;

/// A version of the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// Changes when something no longer works as it did.
    pub major: u8,
    /// Changes when something is added.
    pub minor: u8,
    /// Changes when something is mended.
    pub patch: u8,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// Version of the C library that is running.
///
/// ```
/// assert!(knng::version().to_string().contains('.'));
/// ```
pub fn version() -> Version {
    let number = unsafe { sys::knng_version() };
    Version { major: (number >> 16) as u8, minor: (number >> 8) as u8, patch: number as u8 }
}

/// A setting of a [`Dataset`](crate::Dataset).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Setting {
    /// Its key.
    pub name: &'static str,
    /// Its value where nothing else is said.
    pub default: &'static str,
    /// The values it takes.
    pub range: &'static str,
    /// What it is for, in one sentence.
    pub doc: &'static str,
    /// The environment variable that replaces the default, if there is one.
    pub environment: Option<&'static str>,
}

/// All settings.
///
/// ```
/// for setting in knng::settings()? {
///     println!("{} = {}; {}: {}", setting.name, setting.default, setting.range, setting.doc);
/// }
/// # Ok::<(), knng::Error>(())
/// ```
/// # Errors
/// As the library's.
pub fn settings() -> Result<Vec<Setting>> {
    list(|i, error| {
        let mut raw = sys::knng_option {
            struct_size: std::mem::size_of::<sys::knng_option>() as u32,
            r#type: 0,
            name: ptr::null(),
            fallback: ptr::null(),
            range: ptr::null(),
            doc: ptr::null(),
            environment: ptr::null(),
        };
        let status = unsafe { sys::knng_option_get(i, &mut raw, error) };
        (status, move || {
            let of_static = |text| unsafe { text::of_static(text) };
            Setting {
                name: of_static(raw.name).unwrap_or(""),
                default: of_static(raw.fallback).unwrap_or(""),
                range: of_static(raw.range).unwrap_or(""),
                doc: of_static(raw.doc).unwrap_or(""),
                environment: of_static(raw.environment),
            }
        })
    })
}

/// A metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Metric {
    /// Its name, as [`Dataset::get`](crate::Dataset::get) gives it.
    pub name: &'static str,
    /// Other names for it, separated by ", ".
    pub aliases: &'static str,
}

/// All metrics.
///
/// ```
/// assert!(knng::metrics()?.iter().any(|metric| metric.name == "euclidean"));
/// # Ok::<(), knng::Error>(())
/// ```
/// # Errors
/// As the library's.
pub fn metrics() -> Result<Vec<Metric>> {
    let names = pairs(|i, name, aliases, error| unsafe { sys::knng_metric_name(i, name, aliases, error) })?;
    Ok(names.into_iter().map(|(name, aliases)| Metric { name, aliases }).collect())
}

/// A number that a build or query leaves in its graph; [`Graph::statistic`](crate::Graph::statistic) reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Statistic {
    /// Its name.
    pub name: &'static str,
    /// What it is, in one sentence.
    pub doc: &'static str,
}

/// All statistics.
/// # Errors
/// As the library's.
pub fn statistics() -> Result<Vec<Statistic>> {
    let names = pairs(|i, name, doc, error| unsafe { sys::knng_stat_name(i, name, doc, error) })?;
    Ok(names.into_iter().map(|(name, doc)| Statistic { name, doc }).collect())
}

/// A processor that can do the work, or that cannot.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Device {
    /// What it is, e.g. "cpu: AMD EPYC 9654, AVX-512, 2 threads".
    pub name: String,
    /// Whether it can be chosen.
    pub usable: bool,
    /// Why it cannot be chosen; "" if it can.
    pub why_not: String,
    /// Bytes of memory, where they are known.
    pub memory: Option<u64>,
    /// Bytes of memory that are free now, where they are known.
    pub memory_free: Option<u64>,
}

/// All devices; the first is the CPU.
///
/// ```
/// assert!(knng::devices()?[0].name.starts_with("cpu"));
/// # Ok::<(), knng::Error>(())
/// ```
/// # Errors
/// As the library's.
pub fn devices() -> Result<Vec<Device>> {
    list(|i, error| {
        let mut raw = sys::knng_device {
            struct_size: std::mem::size_of::<sys::knng_device>() as u32,
            usable: 0,
            memory: -1,
            memory_free: -1,
            name: [0; 96],
            why_not: [0; 256],
        };
        let status = unsafe { sys::knng_device_get(i, &mut raw, error) };
        (status, move || Device {
            name: text_of_array(&raw.name),
            usable: raw.usable != 0,
            why_not: text_of_array(&raw.why_not),
            memory: u64::try_from(raw.memory).ok(),
            memory_free: u64::try_from(raw.memory_free).ok(),
        })
    })
}

/// Asks the system to let this process, for as long as it lives, use the processor's matrix tiles (Intel AMX), with which
/// builds are several times as fast. The library never asks by itself: each thread's saved state grows by 8 KiB. Call it
/// once, before the first build.
/// # Errors
/// [`Unsupported`](ErrorKind::Unsupported) where processor or system has none: builds run without them.
pub fn use_matrix_tiles() -> Result<()> {
    call(|error| unsafe { sys::knng_use_matrix_tiles(error) })
}

/// What a function describes for numbers from 0 until the first that is out of range.
fn list<T, F: FnOnce() -> T>(describe: impl Fn(i32, *mut sys::knng_error) -> (sys::knng_status, F)) -> Result<Vec<T>> {
    let mut all = Vec::new();
    loop {
        let mut read = None;
        let result: std::result::Result<(), Error> = call(|error| {
            let (status, description) = describe(all.len() as i32, error);
            read = Some(description);
            status
        });
        match (result, read) {
            (Ok(()), Some(description)) => all.push(description()),
            (Err(error), _) if error.kind() == ErrorKind::Range => return Ok(all),
            (Err(error), _) => return Err(error),
            (Ok(()), None) => return Ok(all),
        }
    }
}

type Text = *const std::os::raw::c_char;

fn pairs(
    describe: impl Fn(i32, *mut Text, *mut Text, *mut sys::knng_error) -> sys::knng_status,
) -> Result<Vec<(&'static str, &'static str)>> {
    list(|i, error| {
        let (mut first, mut second) = (ptr::null(), ptr::null());
        let status = describe(i, &mut first, &mut second, error);
        (status, move || {
            let of_static = |text| unsafe { text::of_static(text) }.unwrap_or("");
            (of_static(first), of_static(second))
        })
    })
}
