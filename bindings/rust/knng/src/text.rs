//! Text on its way to the library and back.

use crate::error::{call, Error, ErrorKind, Result};
use knng_sys as sys;
use std::ffi::{CStr, CString};
use std::os::raw::c_char;
use std::path::Path;

/// Text for the library, which ends it with 0 and so cannot have one within.
pub(crate) fn to_c(argument: &str, text: impl Into<Vec<u8>>) -> Result<CString> {
    CString::new(text).map_err(|error| {
        let place = error.nul_position();
        let message = format!("{argument}: byte {place} is 0, which no text may have");
        Error::refused(sys::KNNG_ERR_ARGUMENT, argument, 0, -1, message)
    })
}

/// A file name as the system has it.
#[cfg(unix)]
pub(crate) fn path_to_c(path: &Path) -> Result<CString> {
    use std::os::unix::ffi::OsStrExt;
    to_c("path", path.as_os_str().as_bytes())
}

/// A file name, where the system's own form is not bytes.
#[cfg(not(unix))]
pub(crate) fn path_to_c(path: &Path) -> Result<CString> {
    to_c("path", path.to_string_lossy().into_owned())
}

/// Static text of the library; None for null.
///
/// # Safety
/// The text must be static.
pub(crate) unsafe fn of_static(text: *const c_char) -> Option<&'static str> {
    if text.is_null() {
        return None;
    }
    // What the library says is UTF-8.
    Some(unsafe { CStr::from_ptr(text) }.to_str().unwrap_or(""))
}

/// Text that a function writes to a buffer whose size it says.
pub(crate) fn of_buffer(
    function: impl Fn(*mut c_char, i64, *mut i64, *mut sys::knng_error) -> sys::knng_status,
) -> Result<String> {
    let mut buffer = vec![0_u8; 128];
    loop {
        let mut needed = 0;
        let result = call(|error| function(buffer.as_mut_ptr().cast(), buffer.len() as i64, &mut needed, error));
        match result {
            Ok(()) => {
                let length = buffer.iter().position(|&c| c == 0).unwrap_or(buffer.len());
                buffer.truncate(length);
                return Ok(String::from_utf8_lossy(&buffer).into_owned());
            }
            Err(error) if error.kind() == ErrorKind::Range && needed > buffer.len() as i64 => {
                buffer.resize(needed as usize, 0);
            }
            Err(error) => return Err(error),
        }
    }
}
