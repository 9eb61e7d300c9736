//! Progress, log and stop of a long call, and what becomes of a panic in a callback: nothing may leave a C function but by
//! returning from it, so a panic is kept, the call stopped, and the panic goes on after it.

use crate::error::{self, Result};
use knng_sys as sys;
use std::any::Any;
use std::ffi::CStr;
use std::fmt;
use std::ops::ControlFlow;
use std::os::raw::{c_char, c_void};
use std::panic::{self, AssertUnwindSafe};
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

/// A flag that stops calls. Any thread may set it, and so may a signal handler; it may be static.
///
/// ```
/// use knng::{Control, Dataset, ErrorKind, Rows, Stop};
///
/// static STOP: Stop = Stop::new();
///
/// let x = [0.0_f32; 1000];
/// let data = Dataset::from_rows(Rows::new(&x, 2).unwrap()).unwrap();
/// STOP.stop(); // from a signal handler, say
/// let error = data.build_with(10, &mut Control::new().stop(&STOP)).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Cancelled);
/// ```
#[derive(Debug, Default)]
pub struct Stop(AtomicI32);

impl Stop {
    /// A flag that is not set.
    pub const fn new() -> Self {
        Stop(AtomicI32::new(0))
    }

    /// Sets the flag: calls that were given it end within a part of a second, as a rule.
    pub fn stop(&self) {
        self.0.store(1, Ordering::Relaxed);
    }

    /// Takes the flag back, for calls that follow.
    pub fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Whether the flag is set.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }
}

/// How far a call has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress<'a> {
    /// Name of the stage, such as "distances"; for people: names may change between versions.
    pub stage: &'a str,
    /// How much of the stage's work is done, in units that are only good for a ratio.
    pub done: f64,
    /// How much there is to do; it may be 0.
    pub total: f64,
}

impl Progress<'_> {
    /// The part of the stage that is done, 0 to 1; 0 where it is not known.
    pub fn fraction(&self) -> f64 {
        if self.total > 0.0 {
            (self.done / self.total).clamp(0.0, 1.0)
        } else {
            0.0
        }
    }
}

/// What a line of the log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// Information. This version of the library gives none.
    Information,
    /// A warning, or what a check has found wrong.
    Warning,
}

type OnProgress<'a> = Box<dyn FnMut(Progress<'_>) -> ControlFlow<()> + 'a>;
type OnLog<'a> = Box<dyn FnMut(Level, &str) + 'a>;

/// How a long call reports, and how it is stopped. Callbacks run on the thread that made the call.
///
/// ```
/// use knng::{Control, Dataset, Rows};
/// use std::ops::ControlFlow;
///
/// # fn main() -> Result<(), knng::Error> {
/// let x: Vec<u8> = (0..4000_u32).map(|i| (i * 7 % 251) as u8).collect();
/// let data = Dataset::from_rows(Rows::new(&x, 4)?)?;
/// let mut lines = Vec::new();
/// let graph = data.build_with(
///     5,
///     &mut Control::new()
///         .progress(|p| {
///             eprint!("\r{} {:3.0} %", p.stage, 100.0 * p.fraction());
///             ControlFlow::Continue(()) // Break(()) stops the call
///         })
///         .log(|_level, line| lines.push(line.to_string())),
/// )?;
/// # assert_eq!(graph.rows(), 1000);
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct Control<'a> {
    interval_ms: u32,
    progress: Option<OnProgress<'a>>,
    log: Option<OnLog<'a>>,
    stop: Option<&'a Stop>,
    max_bytes: u64,
}

impl<'a> Control<'a> {
    /// Neither reports nor stops.
    pub fn new() -> Self {
        Self::default()
    }

    /// Calls `callback` about every 100 ms, or as [`interval`](Self::interval) says, with how far the call has come.
    /// `Break` stops the call with [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled).
    #[must_use]
    pub fn progress(mut self, callback: impl FnMut(Progress<'_>) -> ControlFlow<()> + 'a) -> Self {
        self.progress = Some(Box::new(callback));
        self
    }

    /// Calls `callback` with lines of text, without their newline. This version of the library only warns: of a graph that is
    /// checked under other settings than it was made with, of a table whose first column counts its rows, of a processor's
    /// unit that is not used. A call that goes as planned says nothing. [`Dataset::check_with`](crate::Dataset::check_with)
    /// says here what differs.
    #[must_use]
    pub fn log(mut self, callback: impl FnMut(Level, &str) + 'a) -> Self {
        self.log = Some(Box::new(callback));
        self
    }

    /// Stops the call when `flag` is set.
    #[must_use]
    pub fn stop(mut self, flag: &'a Stop) -> Self {
        self.stop = Some(flag);
        self
    }

    /// Time aimed at between two calls of `progress`; 0 stands for 100 ms.
    #[must_use]
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval_ms = u32::try_from(interval.as_millis()).unwrap_or(u32::MAX);
        self
    }

    /// Most host memory, in bytes, that a call on a graph may take ([`Graph::sparse_with`](crate::Graph::sparse_with),
    /// saving, loading); 0: no limit. Must be 0 for calls on a data set, whose setting `max_host_bytes` says it.
    #[must_use]
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Makes a call with this control. Resumes a panic of a callback after it.
    pub(crate) fn call(
        &mut self,
        function: impl FnOnce(*const sys::knng_control, *mut sys::knng_error) -> sys::knng_status,
    ) -> Result<()> {
        let called_back = self.progress.is_some() || self.log.is_some();
        let stop = self.stop.map_or(ptr::null(), |flag| (&flag.0 as *const AtomicI32).cast());
        let (interval_ms, max_bytes) = (self.interval_ms, i64::try_from(self.max_bytes).unwrap_or(i64::MAX));
        let mut callbacks = Callbacks { progress: self.progress.as_mut(), log: self.log.as_mut(), panic: None };
        let raw = sys::knng_control {
            struct_size: std::mem::size_of::<sys::knng_control>() as u32,
            interval_ms,
            progress: if called_back { Some(on_progress) } else { None },
            log: if callbacks.log.is_some() { Some(on_log) } else { None },
            user: (&mut callbacks as *mut Callbacks<'_, '_>).cast(),
            stop,
            max_bytes,
        };
        let result = error::call(|error| function(&raw, error));
        if let Some(payload) = callbacks.panic {
            panic::resume_unwind(payload);
        }
        result
    }
}

impl fmt::Debug for Control<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control")
            .field("interval_ms", &self.interval_ms)
            .field("progress", &self.progress.is_some())
            .field("log", &self.log.is_some())
            .field("stop", &self.stop)
            .field("max_bytes", &self.max_bytes)
            .finish()
    }
}

/// What `user` points to during a call.
struct Callbacks<'c, 'a> {
    progress: Option<&'c mut OnProgress<'a>>,
    log: Option<&'c mut OnLog<'a>>,
    panic: Option<Box<dyn Any + Send>>,
}

/// Runs with the caller's progress, and without one to stop a call whose log panicked.
unsafe extern "C" fn on_progress(user: *mut c_void, stage: *const c_char, done: f64, total: f64) -> i32 {
    // The library calls back on the caller's thread, one callback at a time, while `Control::call` waits.
    let callbacks = unsafe { &mut *user.cast::<Callbacks<'_, '_>>() };
    if callbacks.panic.is_some() {
        return 1;
    }
    let progress = match callbacks.progress.as_mut() {
        Some(progress) => progress,
        None => return 0,
    };
    let stage = unsafe { CStr::from_ptr(stage) }.to_str().unwrap_or("");
    match panic::catch_unwind(AssertUnwindSafe(|| progress(Progress { stage, done, total }))) {
        Ok(ControlFlow::Continue(())) => 0,
        Ok(ControlFlow::Break(())) => 1,
        Err(payload) => {
            callbacks.panic = Some(payload);
            1
        }
    }
}

unsafe extern "C" fn on_log(user: *mut c_void, level: i32, text: *const c_char) {
    let callbacks = unsafe { &mut *user.cast::<Callbacks<'_, '_>>() };
    let log = match (&callbacks.panic, callbacks.log.as_mut()) {
        (None, Some(log)) => log,
        _ => return,
    };
    let level = if level == 0 { Level::Information } else { Level::Warning };
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| log(level, &text))) {
        callbacks.panic = Some(payload);
    }
}
