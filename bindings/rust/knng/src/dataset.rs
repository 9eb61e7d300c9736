//! Rows and settings: what graphs are made from.

use crate::control::Control;
use crate::element::{Dtype, Element};
use crate::error::{call, Error, Result};
use crate::graph::Graph;
use crate::plan::{Plan, QuerySize};
use crate::rows::{to_i64, Rows, RowsMut};
use crate::text;
use knng_sys as sys;
use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::os::raw::c_void;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::ptr;

/// Rows, or views of them, together with settings.
///
/// `'a` is how long borrowed rows live: `Dataset<'static>` borrows none, or owns them.
///
/// ```
/// use knng::{Dataset, Rows};
///
/// # fn main() -> Result<(), knng::Error> {
/// let points: Vec<[f64; 2]> = (0..50).map(|i| [f64::from(i).cos(), f64::from(i).sin()]).collect();
/// let mut data = Dataset::from_rows((&points).into())?;
/// data.set("metric", "manhattan")?.set("threads", 2)?;
/// let graph = data.build(5)?;
/// data.set("metric", "cosine")?; // for builds that follow
/// let other = data.build(5)?;
/// # assert_ne!(graph.values(), other.values());
/// # Ok(())
/// # }
/// ```
///
/// Rows that are borrowed must outlive the data set, and stay as they are:
///
/// ```compile_fail,E0597
/// use knng::{Dataset, Rows};
/// let data = {
///     let x = vec![0.0_f32; 100];
///     Dataset::from_rows(Rows::new(&x, 2).unwrap()).unwrap()
/// };
/// data.build(3).unwrap();
/// ```
///
/// Nor is there one after its end:
///
/// ```compile_fail,E0382
/// let data = knng::Dataset::from_owned(vec![0.0_f32; 100], 2).unwrap();
/// drop(data);
/// data.build(3).unwrap();
/// ```
pub struct Dataset<'a> {
    raw: *mut sys::knng,
    _rows: PhantomData<&'a [u8]>,
}

// Handles belong to no thread. Calls that take `*const knng` may run at the same time, and are those of `&self`; the
// others take `&mut self`. What is borrowed is `Sync`, what is owned `Send`.
unsafe impl Send for Dataset<'_> {}
unsafe impl Sync for Dataset<'_> {}

impl<'a> Dataset<'a> {
    /// An empty data set with default settings. The first rows settle dimension and element type.
    /// # Errors
    /// [`Option`](crate::ErrorKind::Option) if an environment variable `KNNG_...` holds a value that its setting does not
    /// take; [`Memory`](crate::ErrorKind::Memory).
    pub fn new() -> Result<Self> {
        let mut data = Dataset { raw: ptr::null_mut(), _rows: PhantomData };
        call(|error| unsafe { sys::knng_create(&mut data.raw, 0, 0, error) })?;
        Ok(data)
    }

    /// A data set of rows that are borrowed, not copied.
    /// # Errors
    /// As [`new`](Self::new) and [`borrow_rows`](Self::borrow_rows).
    pub fn from_rows(rows: Rows<'a>) -> Result<Self> {
        let mut data = Dataset::new()?;
        data.borrow_rows(rows)?;
        Ok(data)
    }

    /// A data set of the rows of a file.
    /// # Errors
    /// As [`new`](Self::new) and [`add_file`](Self::add_file).
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self> {
        let mut data = Dataset::new()?;
        data.add_file(path)?;
        Ok(data)
    }

    /// A data set of packed rows that become its own: a `Vec`, a boxed slice, an `Arc<[T]>`, a mapped file. They are not
    /// copied.
    /// # Errors
    /// As [`new`](Self::new) and [`own_rows`](Self::own_rows).
    pub fn from_owned<T: Element>(owner: impl AsRef<[T]> + Send + Sync + 'a, columns: usize) -> Result<Self> {
        let mut data = Dataset::new()?;
        data.own_rows(owner, columns)?;
        Ok(data)
    }

    /// Changes a setting, for the calls that follow: `data.set("metric", "cosine")?.set("threads", 4)?`.
    /// [`settings`](crate::settings) lists them.
    /// # Errors
    /// [`Option`](crate::ErrorKind::Option) for an unknown key, or a value that the setting does not take; both messages
    /// name what there is.
    pub fn set(&mut self, key: &str, value: impl fmt::Display) -> Result<&mut Self> {
        let (name, value) = (text::to_c("key", key)?, text::to_c(key, value.to_string())?);
        call(|error| unsafe { sys::knng_set(self.raw, name.as_ptr(), value.as_ptr(), error) })?;
        Ok(self)
    }

    /// The same for a data set that is just being made: `Dataset::from_rows(rows)?.with("metric", "cosine")?.build(10)?`.
    /// # Errors
    /// As [`set`](Self::set).
    pub fn with(mut self, key: &str, value: impl fmt::Display) -> Result<Self> {
        self.set(key, value)?;
        Ok(self)
    }

    /// Reads a setting back.
    /// # Errors
    /// [`Option`](crate::ErrorKind::Option) for an unknown key.
    pub fn get(&self, key: &str) -> Result<String> {
        let key = text::to_c("key", key)?;
        text::of_buffer(|buffer, capacity, needed, error| unsafe {
            sys::knng_get(self.raw, key.as_ptr(), buffer, capacity, needed, error)
        })
    }

    /// Adds rows without copying them.
    /// # Errors
    /// [`Data`](crate::ErrorKind::Data) for NaN, infinity and integers beyond 2^53, with row and column;
    /// [`Range`](crate::ErrorKind::Range) for no rows; [`Argument`](crate::ErrorKind::Argument) for another dimension or
    /// element type than that of rows before.
    pub fn borrow_rows(&mut self, rows: Rows<'a>) -> Result<&mut Self> {
        self.borrow_rows_with(rows, &mut Control::new())
    }

    /// [`borrow_rows`](Self::borrow_rows) with progress and stop.
    /// # Errors
    /// As [`borrow_rows`](Self::borrow_rows); [`Cancelled`](crate::ErrorKind::Cancelled).
    pub fn borrow_rows_with(&mut self, rows: Rows<'a>, control: &mut Control<'_>) -> Result<&mut Self> {
        control.call(|control, error| unsafe { sys::knng_borrow(self.raw, rows.raw(), control, error) })?;
        Ok(self)
    }

    /// Adds packed rows that become the data set's own, without copying them. `owner` is dropped with the last data set
    /// that shows them, and at once if the call fails.
    /// # Errors
    /// As [`borrow_rows`](Self::borrow_rows), and [`Rows::new`].
    pub fn own_rows<T: Element>(
        &mut self,
        owner: impl AsRef<[T]> + Send + Sync + 'a,
        columns: usize,
    ) -> Result<&mut Self> {
        self.own(Box::new(owner), columns)
    }

    fn own<T: Element, O: AsRef<[T]> + Send + Sync + 'a>(&mut self, owner: Box<O>, columns: usize) -> Result<&mut Self> {
        // Looked at until `release_owner` has it back, and by nobody else.
        let address = Box::into_raw(owner);
        let result = Rows::new(unsafe { &*address }.as_ref(), columns).and_then(|rows| {
            let mut matrix = *rows.raw();
            matrix.release = Some(release_owner::<O>);
            matrix.owner = address.cast();
            call(|error| unsafe { sys::knng_borrow(self.raw, &matrix, ptr::null(), error) })
        });
        if let Err(error) = result {
            drop(unsafe { Box::from_raw(address) });
            return Err(error);
        }
        Ok(self)
    }

    /// Copies rows into the data set; their ids continue after those already there.
    /// # Errors
    /// As [`borrow_rows`](Self::borrow_rows); [`Memory`](crate::ErrorKind::Memory), [`Budget`](crate::ErrorKind::Budget).
    pub fn add_rows(&mut self, rows: Rows<'_>) -> Result<&mut Self> {
        self.add_rows_with(rows, &mut Control::new())
    }

    /// [`add_rows`](Self::add_rows) with progress and stop.
    /// # Errors
    /// As [`add_rows`](Self::add_rows); [`Cancelled`](crate::ErrorKind::Cancelled).
    pub fn add_rows_with(&mut self, rows: Rows<'_>, control: &mut Control<'_>) -> Result<&mut Self> {
        control.call(|control, error| unsafe { sys::knng_add(self.raw, rows.raw(), control, error) })?;
        Ok(self)
    }

    /// Adds all rows of a file: `.npy`, `.csv`, `.h5`, IDX, `.fvecs`, `.fbin` and others, by its name.
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io), [`Format`](crate::ErrorKind::Format), [`Unsupported`](crate::ErrorKind::Unsupported),
    /// and as [`add_rows`](Self::add_rows).
    pub fn add_file(&mut self, path: impl AsRef<Path>) -> Result<&mut Self> {
        self.add_file_with(path, &mut Control::new())
    }

    /// [`add_file`](Self::add_file) with progress, log and stop.
    /// # Errors
    /// As [`add_file`](Self::add_file); [`Cancelled`](crate::ErrorKind::Cancelled).
    pub fn add_file_with(&mut self, path: impl AsRef<Path>, control: &mut Control<'_>) -> Result<&mut Self> {
        let path = text::path_to_c(path.as_ref())?;
        control.call(|control, error| unsafe { sys::knng_add_file(self.raw, path.as_ptr(), control, error) })?;
        Ok(self)
    }

    /// What was taken of a file whose name leaves that open: `file`, the name that was given; of an HDF5 file `matrix`,
    /// its path there, and `form`; of a text table `header`, `row_names` and `separator`. Empty where it goes without
    /// saying. `file` counts [`add_file`](Self::add_file)'s calls from 0.
    /// # Errors
    /// [`Range`](crate::ErrorKind::Range) past the last file; [`Option`](crate::ErrorKind::Option) for an unknown name,
    /// with the known ones.
    pub fn file_text(&self, file: usize, name: &str) -> Result<String> {
        let name = text::to_c("name", name)?;
        let file = i32::try_from(file).map_err(|_| Error::too_large("file", file, i32::MAX.into()))?;
        text::of_buffer(|buffer, capacity, needed, error| unsafe {
            sys::knng_file_text(self.raw, file, name.as_ptr(), buffer, capacity, needed, error)
        })
    }

    /// A second data set on the same rows, not copied, with a copy of the settings. Each may be changed, used and dropped
    /// beside the other, from any thread.
    /// # Errors
    /// [`Memory`](crate::ErrorKind::Memory).
    pub fn share(&self) -> Result<Dataset<'a>> {
        let mut second = Dataset { raw: ptr::null_mut(), _rows: PhantomData };
        call(|error| unsafe { sys::knng_share(&mut second.raw, self.raw, error) })?;
        Ok(second)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.shape().0 as usize
    }

    /// Dimension of the rows; 0 before there are any.
    pub fn columns(&self) -> usize {
        self.shape().1 as usize
    }

    /// Element type of the rows; `None` before there are any.
    pub fn dtype(&self) -> Option<Dtype> {
        Some(self.shape().2).filter(|&code| code != 0).map(Dtype)
    }

    fn shape(&self) -> (i64, i64, i32) {
        let (mut rows, mut columns, mut dtype) = (0, 0, 0);
        // It fails for null pointers only.
        let _ = call(|error| unsafe { sys::knng_shape(self.raw, &mut rows, &mut columns, &mut dtype, error) });
        (rows, columns, dtype)
    }

    /// Copies `count` rows from row `first` on, as numbers of type `T`.
    /// # Errors
    /// [`Range`](crate::ErrorKind::Range) for rows that do not exist, or a value that `T` cannot hold.
    pub fn read<T: Element>(&self, first: usize, count: usize) -> Result<Vec<T>> {
        let (rows, columns) = (self.rows(), self.columns());
        if count == 0 || first > rows || count > rows - first {
            if count == 0 {
                return Err(Error::refused(sys::KNNG_ERR_RANGE, "count", 0, 1, "count=0 must be at least 1".to_string()));
            }
            let message = format!("{count} rows from row {first} on: the data set has {rows}");
            let given = i64::try_from(count).unwrap_or(-1);
            let limit = rows.checked_sub(first).filter(|&left| left > 0).map_or(-1, |left| left as i64);
            return Err(Error::refused(sys::KNNG_ERR_RANGE, "count", given, limit, message));
        }
        let mut numbers = vec![T::default(); count * columns];
        self.read_to(first, RowsMut::new(&mut numbers, columns)?)?;
        Ok(numbers)
    }

    /// Copies rows from row `first` on into the caller's memory, whose shape says how many.
    /// # Errors
    /// As [`read`](Self::read). On failure the memory may be partly written.
    pub fn read_to(&self, first: usize, mut to: RowsMut<'_>) -> Result<()> {
        let first = to_i64("first", first)?;
        call(|error| unsafe { sys::knng_read(self.raw, first, to.raw_mut(), error) })
    }

    /// Plans [`build`](Self::build) without running it.
    /// # Errors
    /// As [`build`](Self::build) for what is known beforehand; a budget that is too small is no error here: compare
    /// [`Plan::smallest_host`].
    ///
    /// ```
    /// # use knng::{Dataset, Rows};
    /// # fn main() -> Result<(), knng::Error> {
    /// # let x = [0.0_f32; 1000];
    /// let plan = Dataset::from_rows(Rows::new(&x, 2)?)?.estimate(10)?;
    /// println!("{} bytes of memory, on {} devices", plan.host_bytes, plan.devices);
    /// # assert!(plan.smallest_host <= plan.host_bytes);
    /// # Ok(())
    /// # }
    /// ```
    pub fn estimate(&self, k: usize) -> Result<Plan> {
        self.plan(0, k)
    }

    /// Plans [`query`](Self::query) without running it, also before there are queries. On the CPU the plan holds for
    /// queries of any type, on devices for those of the rows' own.
    /// # Errors
    /// As [`estimate`](Self::estimate); [`Range`](crate::ErrorKind::Range) for no queries.
    ///
    /// ```
    /// # use knng::{Dataset, QuerySize, Rows};
    /// # fn main() -> Result<(), knng::Error> {
    /// # let x = [0.0_f32; 1000];
    /// let plan = Dataset::from_rows(Rows::new(&x, 2)?)?.estimate_query(QuerySize { queries: 100, k: 10 })?;
    /// println!("{} bytes of memory", plan.host_bytes);
    /// # assert!(plan.smallest_host <= plan.host_bytes);
    /// # Ok(())
    /// # }
    /// ```
    pub fn estimate_query(&self, size: QuerySize) -> Result<Plan> {
        if size.queries == 0 {
            let message = "queries=0 must be at least 1".to_string();
            return Err(Error::refused(sys::KNNG_ERR_RANGE, "queries", 0, 1, message));
        }
        self.plan(size.queries, size.k)
    }

    /// The library takes 0 queries for a build.
    fn plan(&self, queries: usize, k: usize) -> Result<Plan> {
        let (queries, k, mut plan) = (to_i64("queries", queries)?, to_i64("k", k)?, Plan::empty());
        call(|error| unsafe { sys::knng_estimate(self.raw, queries, k, &mut plan, error) })?;
        Ok(Plan::from_raw(&plan))
    }

    /// Builds the exact graph of all rows: each row's `k` nearest others, itself left out by its number. Blocks until
    /// done.
    /// # Errors
    /// [`Range`](crate::ErrorKind::Range) if `k` does not fit; [`State`](crate::ErrorKind::State) without rows;
    /// [`Option`](crate::ErrorKind::Option) for settings that contradict each other; [`Data`](crate::ErrorKind::Data) for
    /// rows that the metric cannot take; [`Budget`](crate::ErrorKind::Budget), [`Memory`](crate::ErrorKind::Memory),
    /// [`Unsupported`](crate::ErrorKind::Unsupported), [`Device`](crate::ErrorKind::Device).
    pub fn build(&self, k: usize) -> Result<Graph> {
        self.build_with(k, &mut Control::new())
    }

    /// [`build`](Self::build) with progress, log and stop.
    /// # Errors
    /// As [`build`](Self::build); [`Cancelled`](crate::ErrorKind::Cancelled).
    pub fn build_with(&self, k: usize, control: &mut Control<'_>) -> Result<Graph> {
        let k = to_i64("k", k)?;
        Graph::made(|out| control.call(|control, error| unsafe { sys::knng_build(self.raw, k, control, out, error) }))
    }

    /// Finds, for every query row, its `k` nearest rows of the data set. A row that equals the query is found like any
    /// other.
    /// # Errors
    /// As [`build`](Self::build); [`Argument`](crate::ErrorKind::Argument) for queries of another dimension.
    ///
    /// ```
    /// # use knng::{Dataset, Rows};
    /// # fn main() -> Result<(), knng::Error> {
    /// let data = Dataset::from_owned(vec![0.0_f32, 1.0, 2.0, 5.0], 1)?;
    /// let graph = data.query(Rows::new(&[4.0_f32], 1)?, 2)?;
    /// assert_eq!(graph.ids(), [3, 2]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn query(&self, queries: Rows<'_>, k: usize) -> Result<Graph> {
        self.query_with(queries, k, &mut Control::new())
    }

    /// [`query`](Self::query) with progress, log and stop.
    /// # Errors
    /// As [`query`](Self::query); [`Cancelled`](crate::ErrorKind::Cancelled).
    pub fn query_with(&self, queries: Rows<'_>, k: usize, control: &mut Control<'_>) -> Result<Graph> {
        self.ask(queries, k, ptr::null(), control)
    }

    /// [`query`](Self::query) with a row for each query that is left out of its neighbours: its id, or -1 for none.
    /// # Errors
    /// As [`query`](Self::query); [`Argument`](crate::ErrorKind::Argument) for another number of ids than of queries,
    /// [`Range`](crate::ErrorKind::Range) for an id that no row has.
    ///
    /// ```
    /// # use knng::{Dataset, Rows};
    /// # fn main() -> Result<(), knng::Error> {
    /// let data = Dataset::from_owned(vec![0.0_f32, 1.0, 2.0, 5.0], 1)?;
    /// let graph = data.query_leaving_out(Rows::new(&[5.0_f32], 1)?, 2, &[3])?; // row 3 shall not find itself
    /// assert_eq!(graph.ids(), [2, 1]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn query_leaving_out(&self, queries: Rows<'_>, k: usize, left_out: &[i64]) -> Result<Graph> {
        self.query_leaving_out_with(queries, k, left_out, &mut Control::new())
    }

    /// [`query_leaving_out`](Self::query_leaving_out) with progress, log and stop.
    /// # Errors
    /// As [`query_leaving_out`](Self::query_leaving_out); [`Cancelled`](crate::ErrorKind::Cancelled).
    pub fn query_leaving_out_with(
        &self,
        queries: Rows<'_>,
        k: usize,
        left_out: &[i64],
        control: &mut Control<'_>,
    ) -> Result<Graph> {
        self.ask(queries, k, Rows::new(left_out, 1)?.raw(), control)
    }

    fn ask(
        &self,
        queries: Rows<'_>,
        k: usize,
        left_out: *const sys::knng_matrix,
        control: &mut Control<'_>,
    ) -> Result<Graph> {
        let k = to_i64("k", k)?;
        Graph::made(|out| {
            control.call(|control, error| unsafe {
                sys::knng_query(self.raw, queries.raw(), left_out, 0, k, control, out, error)
            })
        })
    }

    /// [`query`](Self::query) with the query rows read from a file.
    /// # Errors
    /// As [`query`](Self::query) and [`add_file`](Self::add_file).
    pub fn query_file(&self, path: impl AsRef<Path>, k: usize) -> Result<Graph> {
        self.query_file_with(path, k, &mut Control::new())
    }

    /// [`query_file`](Self::query_file) with progress, log and stop.
    /// # Errors
    /// As [`query_file`](Self::query_file); [`Cancelled`](crate::ErrorKind::Cancelled).
    pub fn query_file_with(&self, path: impl AsRef<Path>, k: usize, control: &mut Control<'_>) -> Result<Graph> {
        let (path, k) = (text::path_to_c(path.as_ref())?, to_i64("k", k)?);
        Graph::made(|out| {
            control.call(|control, error| unsafe {
                sys::knng_query_file(self.raw, path.as_ptr(), k, control, out, error)
            })
        })
    }

    /// Compares a graph of all rows, whoever made it, with the definition: ids and bits, under the settings `metric`,
    /// `p`, `self` and `value`. Looks at `sample` rows, spread evenly; 0, or more than there are, stands for all. Returns
    /// the first row that differs, if one does.
    /// # Errors
    /// [`Argument`](crate::ErrorKind::Argument) for a graph of another shape; others as [`build`](Self::build).
    pub fn check(&self, graph: &Graph, sample: usize) -> Result<Option<usize>> {
        self.check_with(graph, sample, &mut Control::new())
    }

    /// [`check`](Self::check) with progress, log and stop. The log says how many rows differ, and how the first one does;
    /// it warns of a graph that was made with other settings.
    /// # Errors
    /// As [`check`](Self::check); [`Cancelled`](crate::ErrorKind::Cancelled).
    pub fn check_with(&self, graph: &Graph, sample: usize, control: &mut Control<'_>) -> Result<Option<usize>> {
        let (sample, mut first_wrong) = (to_i64("sample", sample.min(graph.rows()))?, -1);
        control.call(|control, error| unsafe {
            sys::knng_check(self.raw, graph.raw(), sample, control, &mut first_wrong, error)
        })?;
        Ok(usize::try_from(first_wrong).ok())
    }

    /// The C library's handle, which stays the data set's.
    pub fn as_raw(&self) -> *mut sys::knng {
        self.raw
    }
}

impl Drop for Dataset<'_> {
    fn drop(&mut self) {
        unsafe { sys::knng_destroy(self.raw) };
        if let Some(payload) = PANIC.with(RefCell::take) {
            if !std::thread::panicking() {
                panic::resume_unwind(payload);
            }
        }
    }
}

impl fmt::Debug for Dataset<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let metric = self.get("metric").unwrap_or_default();
        write!(f, "Dataset({} x {}, {metric})", self.rows(), self.columns())
    }
}

thread_local! {
    /// What an owner panicked with when it was dropped: the library calls `release` on the thread that destroys the
    /// handle, before that call returns.
    static PANIC: RefCell<Option<Box<dyn Any + Send>>> = RefCell::new(None);
}

unsafe extern "C" fn release_owner<O>(owner: *mut c_void) {
    let drop_owner = || drop(unsafe { Box::from_raw(owner.cast::<O>()) });
    if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(drop_owner)) {
        PANIC.with(|panic| *panic.borrow_mut() = Some(payload));
    }
}
