//! The C interface of libknng, exact k-nearest-neighbour graphs, as `knng.h` declares it.
//!
//! Names are those of the C library, whose headers say what each function takes, returns and promises. The crate `knng`
//! is the safe interface. Nothing here is more than a declaration, but [`knng_matrix::packed`] and
//! [`knng_error::none`], which are inline functions in C.
//!
//! The build script asks pkg-config for `knng`, or takes the folder that `KNNG_LIB_DIR` names.
#![allow(non_camel_case_types)]
#![warn(missing_docs)]

use std::marker::{PhantomData, PhantomPinned};
use std::mem::size_of;
use std::os::raw::{c_char, c_void};
use std::ptr;

/// Version of the header that these declarations mirror: major << 16 | minor << 8 | patch.
pub const KNNG_HEADER_VERSION: i32 = 0x000900;

/// A data set (its rows, or views of them) together with settings.
#[repr(C)]
pub struct knng {
    _opaque: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

/// A neighbour graph. Owns all that it shows; needs neither the handle nor the rows it came from.
#[repr(C)]
pub struct knng_graph {
    _opaque: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

/// A sparse matrix (CSR and COO at once) made from a graph.
#[repr(C)]
pub struct knng_sparse {
    _opaque: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

/// [`KNNG_OK`] or one of the negative codes.
pub type knng_status = i32;

/// Done.
pub const KNNG_OK: i32 = 0;
/// A null pointer, a wrong struct size, a shape or dtype that does not fit.
pub const KNNG_ERR_ARGUMENT: i32 = -1;
/// A number outside its limits.
pub const KNNG_ERR_RANGE: i32 = -2;
/// An unknown setting or statistic, or a value that the setting does not take.
pub const KNNG_ERR_OPTION: i32 = -3;
/// NaN, infinity, integers beyond 2^53, values that the metric does not take.
pub const KNNG_ERR_DATA: i32 = -4;
/// The object is not ready for this call, e.g. it has no rows yet.
pub const KNNG_ERR_STATE: i32 = -5;
/// The system had no memory, or no thread, left.
pub const KNNG_ERR_MEMORY: i32 = -6;
/// A limit of memory is too small; the error's limit is the smallest that is known to be needed.
pub const KNNG_ERR_BUDGET: i32 = -7;
/// Stopped by the stop flag or by the progress callback.
pub const KNNG_ERR_CANCELLED: i32 = -8;
/// A file could not be opened, read or written.
pub const KNNG_ERR_IO: i32 = -9;
/// A file is not what its format asks for.
pub const KNNG_ERR_FORMAT: i32 = -10;
/// Valid, but not available in this build or version.
pub const KNNG_ERR_UNSUPPORTED: i32 = -11;
/// A GPU failed, is not usable, or has too little free memory.
pub const KNNG_ERR_DEVICE: i32 = -12;
/// A defect of the library: please report it.
pub const KNNG_ERR_INTERNAL: i32 = -13;
/// A row was found wrong when it was checked (check_rows): please report it.
pub const KNNG_ERR_CHECK: i32 = -14;

/// No element type: no function takes it.
pub const KNNG_NO_DTYPE: i32 = -1;
/// `i8`.
pub const KNNG_I8: i32 = 0x008;
/// `i16`.
pub const KNNG_I16: i32 = 0x010;
/// `i32`.
pub const KNNG_I32: i32 = 0x020;
/// `i64`; in rows -2^53 to 2^53.
pub const KNNG_I64: i32 = 0x040;
/// `u8`.
pub const KNNG_U8: i32 = 0x108;
/// `u16`.
pub const KNNG_U16: i32 = 0x110;
/// `u32`.
pub const KNNG_U32: i32 = 0x120;
/// `u64`; in rows at most 2^53.
pub const KNNG_U64: i32 = 0x140;
/// IEEE binary16.
pub const KNNG_F16: i32 = 0x210;
/// `f32`.
pub const KNNG_F32: i32 = 0x220;
/// `f64`.
pub const KNNG_F64: i32 = 0x240;
/// bfloat16: the upper half of a binary32.
pub const KNNG_BF16: i32 = 0x410;
/// A byte that is 0 or 1, as `bool`.
pub const KNNG_BOOL: i32 = 0x608;

/// No memory: no function takes it.
pub const KNNG_NO_SPACE: i32 = -1;
/// Found out by asking the backends that are loaded already; host memory otherwise.
pub const KNNG_ANY: i32 = 0;
/// Ordinary host memory.
pub const KNNG_HOST: i32 = 1;
/// Device memory of the CUDA device [`knng_matrix::device`].
pub const KNNG_CUDA: i32 = 2;
/// Page-locked host memory.
pub const KNNG_PINNED: i32 = 3;
/// CUDA managed memory.
pub const KNNG_MANAGED: i32 = 13;

/// A view of the caller's matrix, read or written by the library.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct knng_matrix {
    /// Size of this struct, set by the caller.
    pub struct_size: u32,
    /// Element type: [`KNNG_F32`], ...
    pub dtype: i32,
    /// Where the memory is: [`KNNG_HOST`], ...
    pub space: i32,
    /// Number of the device for device memory.
    pub device: i32,
    /// Number of points.
    pub rows: i64,
    /// Dimension of a point.
    pub cols: i64,
    /// Elements from a row to the next; both strides 0: packed, row-major.
    pub row_stride: i64,
    /// Elements from a column to the next.
    pub col_stride: i64,
    /// CUDA stream after which the data is ready; 0: it is ready now.
    pub stream: u64,
    /// Element (0, 0).
    pub data: *mut c_void,
    /// [`knng_borrow`] only: called once with `owner` when the last handle that shows the rows is destroyed.
    pub release: Option<unsafe extern "C" fn(owner: *mut c_void)>,
    /// Argument of `release`.
    pub owner: *mut c_void,
}

impl knng_matrix {
    /// Packed row-major host memory, as `knng_packed()` in C.
    pub const fn packed(dtype: i32, rows: i64, cols: i64, data: *const c_void) -> Self {
        knng_matrix {
            struct_size: size_of::<knng_matrix>() as u32,
            dtype,
            space: KNNG_HOST,
            device: 0,
            rows,
            cols,
            row_stride: 0,
            col_stride: 0,
            stream: 0,
            data: data as *mut c_void,
            release: None,
            owner: ptr::null_mut(),
        }
    }
}

/// How a long call reports and how it is stopped.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct knng_control {
    /// Size of this struct, set by the caller.
    pub struct_size: u32,
    /// Time aimed at between two calls of `progress`; 0: 100 ms.
    pub interval_ms: u32,
    /// Called with the stage's name and how much of its work is done; a nonzero result stops the call.
    pub progress:
        Option<unsafe extern "C" fn(user: *mut c_void, stage: *const c_char, done: f64, total: f64) -> i32>,
    /// Called with one line of text; level 0: information, 1: warning.
    pub log: Option<unsafe extern "C" fn(user: *mut c_void, level: i32, text: *const c_char)>,
    /// First argument of both.
    pub user: *mut c_void,
    /// Polled by threads of the library; nonzero stops the call.
    pub stop: *const i32,
    /// Most host memory that a call without a handle may take; 0: no limit.
    pub max_bytes: i64,
}

/// Why a call failed, filled in by the call.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct knng_error {
    /// Size of this struct, set by the caller.
    pub struct_size: u32,
    /// What the call returned.
    pub code: knng_status,
    /// Row at fault, or -1.
    pub row: i64,
    /// Column at fault, or -1.
    pub col: i64,
    /// The number that was given, or -1.
    pub given: i64,
    /// The limit that it broke, or -1.
    pub limit: i64,
    /// Name of the parameter or setting at fault, or "".
    pub argument: [c_char; 32],
    /// One line of UTF-8: the reason, then row and column, if there are any, counted from 0.
    pub message: [c_char; 480],
    /// The same without row and column.
    pub reason: [c_char; 416],
}

impl knng_error {
    /// An error for a call to fill in, as `knng_no_error()` in C.
    pub const fn none() -> Self {
        knng_error {
            struct_size: size_of::<knng_error>() as u32,
            code: KNNG_OK,
            row: -1,
            col: -1,
            given: -1,
            limit: -1,
            argument: [0; 32],
            message: [0; 480],
            reason: [0; 416],
        }
    }
}

/// A setting, as shown by [`knng_option_get`]. All strings are static.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct knng_option {
    /// Size of this struct, set by the caller.
    pub struct_size: u32,
    /// 0: a word of `range`; [`KNNG_I64`]: integer; [`KNNG_F64`]: real number.
    pub r#type: i32,
    /// Key for [`knng_set`].
    pub name: *const c_char,
    /// Value when neither [`knng_set`] nor the environment gives one.
    pub fallback: *const c_char,
    /// The values it takes.
    pub range: *const c_char,
    /// One sentence.
    pub doc: *const c_char,
    /// Environment variable that replaces `fallback`, or null.
    pub environment: *const c_char,
}

/// What a build or query would do, from [`knng_estimate`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct knng_plan {
    /// Size of this struct, set by the caller.
    pub struct_size: u32,
    /// How many devices would work.
    pub devices: u32,
    /// Peak of host memory held by the library, rows it holds and result included.
    pub host_bytes: i64,
    /// Peak of memory on one device.
    pub device_bytes: i64,
    /// The smallest max_host_bytes with which the call can run.
    pub smallest_host: i64,
    /// The same for max_device_bytes.
    pub smallest_device: i64,
    /// Rows of one tile.
    pub tile_rows: i64,
    /// Columns of one tile.
    pub tile_cols: i64,
    /// Number of such tiles.
    pub tiles: i64,
    /// Expected time; -1: not known.
    pub seconds: f64,
}

/// A processor that can do the work, from [`knng_device_get`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct knng_device {
    /// Size of this struct, set by the caller.
    pub struct_size: u32,
    /// 1: can be chosen, 0: `why_not` says why not.
    pub usable: i32,
    /// Bytes of memory, -1 unknown.
    pub memory: i64,
    /// Bytes free now, -1 unknown.
    pub memory_free: i64,
    /// E.g. "cpu: AMD EPYC 9654, AVX-512, 2 threads".
    pub name: [c_char; 96],
    /// "" if usable.
    pub why_not: [c_char; 256],
}

extern "C" {
    // error.h
    /// Version of the library that is running.
    pub fn knng_version() -> i32;
    /// Message of this thread's last failure.
    pub fn knng_last_error() -> *const c_char;

    // settings.h
    /// Makes an empty data set with default settings.
    pub fn knng_create(out: *mut *mut knng, dim: i64, dtype: i32, error: *mut knng_error) -> knng_status;
    /// Makes a second handle on the same rows.
    pub fn knng_share(out: *mut *mut knng, h: *const knng, error: *mut knng_error) -> knng_status;
    /// Destroys a handle.
    pub fn knng_destroy(h: *mut knng);
    /// Changes a setting.
    pub fn knng_set(h: *mut knng, key: *const c_char, value: *const c_char, error: *mut knng_error) -> knng_status;
    /// Reads a setting back.
    pub fn knng_get(
        h: *const knng,
        key: *const c_char,
        buf: *mut c_char,
        cap: i64,
        needed: *mut i64,
        error: *mut knng_error,
    ) -> knng_status;
    /// Describes the i-th setting.
    pub fn knng_option_get(i: i32, out: *mut knng_option, error: *mut knng_error) -> knng_status;
    /// Describes the i-th device.
    pub fn knng_device_get(i: i32, out: *mut knng_device, error: *mut knng_error) -> knng_status;
    /// Names the i-th metric.
    pub fn knng_metric_name(
        i: i32,
        name: *mut *const c_char,
        aliases: *mut *const c_char,
        error: *mut knng_error,
    ) -> knng_status;
    /// Asks the system to let this process use the processor's matrix tiles.
    pub fn knng_use_matrix_tiles(error: *mut knng_error) -> knng_status;
    /// Names the i-th statistic.
    pub fn knng_stat_name(
        i: i32,
        name: *mut *const c_char,
        doc: *mut *const c_char,
        error: *mut knng_error,
    ) -> knng_status;

    // rows.h
    /// Copies rows into the data set.
    pub fn knng_add(
        h: *mut knng,
        rows: *const knng_matrix,
        control: *const knng_control,
        error: *mut knng_error,
    ) -> knng_status;
    /// Shows rows to the data set without copying them.
    pub fn knng_borrow(
        h: *mut knng,
        rows: *const knng_matrix,
        control: *const knng_control,
        error: *mut knng_error,
    ) -> knng_status;
    /// Adds all rows of a file.
    pub fn knng_add_file(
        h: *mut knng,
        path: *const c_char,
        control: *const knng_control,
        error: *mut knng_error,
    ) -> knng_status;
    /// Tells what was taken of the i-th file.
    pub fn knng_file_text(
        h: *const knng,
        i: i32,
        name: *const c_char,
        buf: *mut c_char,
        cap: i64,
        needed: *mut i64,
        error: *mut knng_error,
    ) -> knng_status;
    /// Size and type of the data set.
    pub fn knng_shape(
        h: *const knng,
        rows: *mut i64,
        dim: *mut i64,
        dtype: *mut i32,
        error: *mut knng_error,
    ) -> knng_status;
    /// Copies rows back.
    pub fn knng_read(h: *const knng, first: i64, dst: *mut knng_matrix, error: *mut knng_error) -> knng_status;

    // build.h
    /// Plans a build or a query without running it.
    pub fn knng_estimate(
        h: *const knng,
        nq: i64,
        k: i64,
        out: *mut knng_plan,
        error: *mut knng_error,
    ) -> knng_status;
    /// Builds the graph of all rows.
    pub fn knng_build(
        h: *const knng,
        k: i64,
        control: *const knng_control,
        out: *mut *mut knng_graph,
        error: *mut knng_error,
    ) -> knng_status;
    /// Finds, for every query row, its k nearest rows.
    pub fn knng_query(
        h: *const knng,
        q: *const knng_matrix,
        leave_out: *const knng_matrix,
        base: i32,
        k: i64,
        control: *const knng_control,
        out: *mut *mut knng_graph,
        error: *mut knng_error,
    ) -> knng_status;
    /// As [`knng_query`], with the query rows read from a file.
    pub fn knng_query_file(
        h: *const knng,
        path: *const c_char,
        k: i64,
        control: *const knng_control,
        out: *mut *mut knng_graph,
        error: *mut knng_error,
    ) -> knng_status;
    /// Compares a graph with the definition.
    pub fn knng_check(
        h: *const knng,
        g: *const knng_graph,
        sample: i64,
        control: *const knng_control,
        first_wrong: *mut i64,
        error: *mut knng_error,
    ) -> knng_status;

    // graph.h
    /// Makes a graph from another library's result.
    pub fn knng_graph_import(
        out: *mut *mut knng_graph,
        ids: *const knng_matrix,
        values: *const knng_matrix,
        base: i32,
        columns: i64,
        same_points: i32,
        error: *mut knng_error,
    ) -> knng_status;
    /// Tells an imported graph what is known of it beside its lists.
    pub fn knng_graph_describe(
        g: *mut knng_graph,
        facts: *const c_char,
        ties: *const knng_matrix,
        proof: *const knng_matrix,
        error: *mut knng_error,
    ) -> knng_status;
    /// Shape of a graph.
    pub fn knng_graph_shape(
        g: *const knng_graph,
        rows: *mut i64,
        columns: *mut i64,
        width: *mut i64,
        same_points: *mut i32,
        error: *mut knng_error,
    ) -> knng_status;
    /// Shows the graph's own arrays.
    pub fn knng_graph_view(
        g: *const knng_graph,
        ids: *mut knng_matrix,
        values: *mut knng_matrix,
        error: *mut knng_error,
    ) -> knng_status;
    /// Copies the graph into the caller's memory.
    pub fn knng_graph_copy(
        g: *const knng_graph,
        base: i32,
        ids: *mut knng_matrix,
        values: *mut knng_matrix,
        error: *mut knng_error,
    ) -> knng_status;
    /// Copies one number per row (or column) of the graph.
    pub fn knng_graph_rows(
        g: *const knng_graph,
        what: *const c_char,
        out: *mut knng_matrix,
        error: *mut knng_error,
    ) -> knng_status;
    /// A statistic of the build as a number.
    pub fn knng_graph_stat(
        g: *const knng_graph,
        name: *const c_char,
        out: *mut f64,
        error: *mut knng_error,
    ) -> knng_status;
    /// A text of the build.
    pub fn knng_graph_text(
        g: *const knng_graph,
        name: *const c_char,
        buf: *mut c_char,
        cap: i64,
        needed: *mut i64,
        error: *mut knng_error,
    ) -> knng_status;
    /// Writes the graph to a file.
    pub fn knng_graph_save(
        g: *const knng_graph,
        path: *const c_char,
        format: *const c_char,
        control: *const knng_control,
        error: *mut knng_error,
    ) -> knng_status;
    /// Reads a graph from a file.
    pub fn knng_graph_load(
        out: *mut *mut knng_graph,
        path: *const c_char,
        control: *const knng_control,
        error: *mut knng_error,
    ) -> knng_status;
    /// Destroys a graph.
    pub fn knng_graph_destroy(g: *mut knng_graph);

    // sparse.h
    /// Makes a sparse matrix from a graph.
    pub fn knng_graph_sparse(
        g: *const knng_graph,
        rule: *const c_char,
        control: *const knng_control,
        out: *mut *mut knng_sparse,
        error: *mut knng_error,
    ) -> knng_status;
    /// Shape of a sparse matrix.
    pub fn knng_sparse_shape(
        s: *const knng_sparse,
        rows: *mut i64,
        cols: *mut i64,
        entries: *mut i64,
        error: *mut knng_error,
    ) -> knng_status;
    /// Shows the matrix as CSR and COO.
    pub fn knng_sparse_view(
        s: *const knng_sparse,
        indptr: *mut knng_matrix,
        row: *mut knng_matrix,
        col: *mut knng_matrix,
        value: *mut knng_matrix,
        error: *mut knng_error,
    ) -> knng_status;
    /// Copies the matrix into the caller's memory.
    pub fn knng_sparse_copy(
        s: *const knng_sparse,
        base: i32,
        indptr: *mut knng_matrix,
        row: *mut knng_matrix,
        col: *mut knng_matrix,
        value: *mut knng_matrix,
        error: *mut knng_error,
    ) -> knng_status;
    /// Destroys a sparse matrix.
    pub fn knng_sparse_destroy(s: *mut knng_sparse);
}
