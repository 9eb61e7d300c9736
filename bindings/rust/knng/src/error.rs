//! Why a call failed. Knows the C struct, and nothing of what is called.

use knng_sys as sys;
use std::fmt;
use std::os::raw::c_char;

/// The result of a call that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// The kind of a failure: the C library's status codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A shape or element type that does not fit.
    Argument,
    /// A number outside its limits: k, a count, a value that the wanted type cannot hold.
    Range,
    /// An unknown setting, statistic or rule, or a value that the setting does not take.
    Option,
    /// NaN, infinity, integers beyond 2^53, values that the metric does not take.
    Data,
    /// The object is not ready for this call: a data set has no rows yet, a graph of queries has no components.
    State,
    /// The system had no memory, or no thread, left.
    Memory,
    /// A limit of memory is too small; [`Error::limit`] is the smallest that is known to be needed.
    Budget,
    /// Stopped by the stop flag or by the progress callback.
    Cancelled,
    /// A file could not be opened, read or written.
    Io,
    /// A file is not what its format asks for.
    Format,
    /// Valid, but not available in this build or version.
    Unsupported,
    /// A GPU failed, is not usable, or has too little free memory.
    Device,
    /// A defect of the library: please report it.
    Internal,
    /// A row was found wrong when it was checked (setting `check_rows`): please report it.
    Check,
    /// A code of a newer library.
    Unknown,
}

impl ErrorKind {
    fn of(code: i32) -> Self {
        match code {
            sys::KNNG_ERR_ARGUMENT => ErrorKind::Argument,
            sys::KNNG_ERR_RANGE => ErrorKind::Range,
            sys::KNNG_ERR_OPTION => ErrorKind::Option,
            sys::KNNG_ERR_DATA => ErrorKind::Data,
            sys::KNNG_ERR_STATE => ErrorKind::State,
            sys::KNNG_ERR_MEMORY => ErrorKind::Memory,
            sys::KNNG_ERR_BUDGET => ErrorKind::Budget,
            sys::KNNG_ERR_CANCELLED => ErrorKind::Cancelled,
            sys::KNNG_ERR_IO => ErrorKind::Io,
            sys::KNNG_ERR_FORMAT => ErrorKind::Format,
            sys::KNNG_ERR_UNSUPPORTED => ErrorKind::Unsupported,
            sys::KNNG_ERR_DEVICE => ErrorKind::Device,
            sys::KNNG_ERR_INTERNAL => ErrorKind::Internal,
            sys::KNNG_ERR_CHECK => ErrorKind::Check,
            _ => ErrorKind::Unknown,
        }
    }
}

/// Why a call failed: a message of one line that names argument, value and limit, and the same as numbers. A failed or
/// stopped call changes nothing.
///
/// ```
/// use knng::{Dataset, ErrorKind, Rows};
///
/// let x = [0.0_f32; 40 * 2];
/// let data = Dataset::from_rows(Rows::new(&x, 2).unwrap()).unwrap();
/// let error = data.build(50).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Range);
/// assert_eq!(error.argument(), "k");
/// assert_eq!(error.given(), Some(50));
/// assert_eq!(error.to_string(), "k=50 needs at least 51 rows, the data set has 40");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Members>); // a result is no larger than what it is of

#[derive(Clone, PartialEq, Eq)]
struct Members {
    code: i32,
    row: i64,
    col: i64,
    given: i64,
    limit: i64,
    argument: String,
    message: String,
    reason: String,
}

impl Error {
    /// What kind of failure it is.
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::of(self.0.code)
    }

    /// The C library's status code, as [`sys`](crate::sys) names them.
    pub fn code(&self) -> i32 {
        self.0.code
    }

    /// One line: the reason, then row and column, if there are any.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The message without row and column.
    pub fn reason(&self) -> &str {
        &self.0.reason
    }

    /// Name of the parameter or setting at fault, or "".
    pub fn argument(&self) -> &str {
        &self.0.argument
    }

    /// Row at fault, from 0.
    pub fn row(&self) -> Option<usize> {
        usize::try_from(self.0.row).ok()
    }

    /// Column at fault, from 0.
    pub fn column(&self) -> Option<usize> {
        usize::try_from(self.0.col).ok()
    }

    /// The number that was given. -1 is the same as none, and so is one that `i64` does not hold, which the message has.
    pub fn given(&self) -> Option<i64> {
        Some(self.0.given).filter(|&number| number != -1)
    }

    /// The limit that it broke: the nearest that would do, where that is known.
    pub fn limit(&self) -> Option<i64> {
        Some(self.0.limit).filter(|&number| number != -1)
    }

    /// A failure that is found out before the library is called.
    pub(crate) fn refused(code: i32, argument: &str, given: i64, limit: i64, message: String) -> Self {
        Error(Box::new(Members {
            code,
            row: -1,
            col: -1,
            given,
            limit,
            argument: argument.into(),
            reason: message.clone(),
            message,
        }))
    }

    /// A number for which C's type has no room: the library cannot be told it, and so cannot name it.
    pub(crate) fn too_large(argument: &str, given: usize, largest: i64) -> Self {
        let message = format!("{argument}={given} must be at most {largest}");
        let given = i64::try_from(given).unwrap_or(-1);
        Error::refused(sys::KNNG_ERR_RANGE, argument, given, largest, message)
    }

    fn from_raw(code: i32, raw: &sys::knng_error) -> Self {
        Error(Box::new(Members {
            code,
            row: raw.row,
            col: raw.col,
            given: raw.given,
            limit: raw.limit,
            argument: text_of_array(&raw.argument),
            message: text_of_array(&raw.message),
            reason: text_of_array(&raw.reason),
        }))
    }
}

/// Text from an array in a struct.
pub(crate) fn text_of_array(array: &[c_char]) -> String {
    let bytes: Vec<u8> = array.iter().take_while(|&&c| c != 0).map(|&c| c as u8).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Makes a call with an error for it to fill in, if the library is one that the declarations hold for: before 1.0 a minor
/// version may change the interface.
pub(crate) fn call(function: impl FnOnce(*mut sys::knng_error) -> sys::knng_status) -> Result<()> {
    let running = unsafe { sys::knng_version() };
    if running >> 8 != sys::KNNG_HEADER_VERSION >> 8 {
        let minor = |number: i32| format!("{}.{}", number >> 16, number >> 8 & 255);
        let message = format!(
            "libknng {}.{} is running, and this crate is for {}.x",
            minor(running),
            running & 255,
            minor(sys::KNNG_HEADER_VERSION)
        );
        return Err(Error::refused(sys::KNNG_ERR_UNSUPPORTED, "", -1, -1, message));
    }
    let mut raw = sys::knng_error::none();
    match function(&mut raw) {
        sys::KNNG_OK => Ok(()),
        code => Err(Error::from_raw(code, &raw)),
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

/// The kind, then the message: what `unwrap()` and a `main` that fails print. `{:#?}` has the numbers as members.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !f.alternate() {
            return write!(f, "{:?}: {}", self.kind(), self.0.message);
        }
        f.debug_struct("Error")
            .field("kind", &self.kind())
            .field("argument", &self.argument())
            .field("row", &self.row())
            .field("column", &self.column())
            .field("given", &self.given())
            .field("limit", &self.limit())
            .field("message", &self.message())
            .finish()
    }
}

impl std::error::Error for Error {}
