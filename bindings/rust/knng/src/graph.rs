//! Neighbour graphs: lists, facts about rows, files.

use crate::control::Control;
use crate::element::Element;
use crate::error::{call, ErrorKind, Result};
use crate::facts::Facts;
use crate::lists::{slice, Lists, Neighbors, Values};
use crate::rows::{to_i64, Rows, RowsMut};
use crate::sparse::Sparse;
use crate::text;
use knng_sys as sys;
use std::fmt;
use std::os::raw::c_char;
use std::path::Path;
use std::ptr;

/// A neighbour graph: for every row a list of others, the nearest first. It needs neither the data set nor the rows that
/// it came from, and never changes.
///
/// ```
/// use knng::Dataset;
///
/// # fn main() -> Result<(), knng::Error> {
/// let graph = Dataset::from_owned(vec![0.0_f64, 1.0, 3.0, 3.5, 9.0], 1)?.build(2)?;
/// assert_eq!(graph.ids()[..2], [1, 2]); // row 0's
/// assert_eq!(graph.values().as_f64().unwrap()[..2], [1.0, 3.0]);
/// for (row, neighbors) in graph.iter().enumerate() {
///     for n in neighbors {
///         println!("{row} - {} at {}", n.id, n.distance);
///     }
/// }
/// # Ok(())
/// # }
/// ```
pub struct Graph {
    raw: *mut sys::knng_graph,
    rows: usize,
    columns: usize,
    width: usize,
    same_points: bool,
    ids: sys::knng_matrix,
    values: sys::knng_matrix,
}

// Graphs never change after they are made, and belong to no thread.
unsafe impl Send for Graph {}
unsafe impl Sync for Graph {}

impl Graph {
    /// What `function` makes. Dropped, if a callback of it panics.
    pub(crate) fn made(function: impl FnOnce(*mut *mut sys::knng_graph) -> Result<()>) -> Result<Self> {
        let nothing = sys::knng_matrix::packed(sys::KNNG_NO_DTYPE, 0, 0, ptr::null());
        let mut graph = Graph {
            raw: ptr::null_mut(),
            rows: 0,
            columns: 0,
            width: 0,
            same_points: false,
            ids: nothing,
            values: nothing,
        };
        function(&mut graph.raw)?;
        let (mut rows, mut columns, mut width, mut same_points) = (0, 0, 0, 0);
        call(|error| unsafe {
            sys::knng_graph_shape(graph.raw, &mut rows, &mut columns, &mut width, &mut same_points, error)
        })?;
        call(|error| unsafe { sys::knng_graph_view(graph.raw, &mut graph.ids, &mut graph.values, error) })?;
        graph.rows = rows as usize;
        graph.columns = columns as usize;
        graph.width = width as usize;
        graph.same_points = same_points != 0;
        Ok(graph)
    }

    /// Makes a graph from another library's result, by copying it: `rows x k` ids, from `base` 0 or 1 on, -1 (`base` 1:
    /// 0) where a list is shorter, and distances, or none. `columns` is the number of points that could be neighbours;
    /// `same_points` says that they are the rows.
    /// # Errors
    /// [`Argument`](ErrorKind::Argument) for shapes and types; [`Range`](ErrorKind::Range) for `base` and `columns`;
    /// [`Data`](ErrorKind::Data) for an id that is out of range or repeated, with row and column.
    pub fn import(ids: Rows<'_>, values: Option<Rows<'_>>, base: i32, columns: usize, same_points: bool) -> Result<Self> {
        let values = values.as_ref().map_or(ptr::null(), |values| values.raw() as *const _);
        let columns = to_i64("columns", columns)?;
        Graph::made(|out| {
            call(|error| unsafe {
                sys::knng_graph_import(out, ids.raw(), values, base, columns, same_points.into(), error)
            })
        })
    }

    /// Tells a graph from elsewhere what is known of it beside its lists, such as its metric. [`text`](Self::text) and
    /// [`statistic`](Self::statistic) then give it, and files keep it. Nothing is compared with rows:
    /// [`Dataset::check`](crate::Dataset::check) does that.
    ///
    /// ```
    /// # use knng::{Facts, Graph, Rows};
    /// # fn main() -> knng::Result<()> {
    /// let pairs = Graph::import(Rows::new(&[1_i64, 0], 1)?, None, 0, 2, true)?.describe(Facts::new().text("metric", "L2"))?;
    /// assert_eq!(pairs.text("metric")?, "euclidean");
    /// # Ok(())
    /// # }
    /// ```
    /// # Errors
    /// [`Option`](ErrorKind::Option) for a text or statistic that there is not, and for a metric, p or value that the
    /// settings of these names do not take; [`Data`](ErrorKind::Data) for facts that such a graph cannot have, or that
    /// contradict each other; [`Argument`](ErrorKind::Argument) for another number of marks than of rows;
    /// [`State`](ErrorKind::State) for a graph whose text "version" is known, as this library's are.
    pub fn describe(self, facts: Facts<'_>) -> Result<Self> {
        // The library passes over names that it does not know, as those in files of a later version.
        for (name, _) in &facts.texts {
            self.text(name)?;
        }
        for (name, _) in &facts.statistics {
            self.statistic(name)?;
        }
        let lines = facts.lines()?;
        let ties = facts.ties.map(|marks| Rows::new(marks, 1)).transpose()?;
        let proof = facts.proof.map(|marks| Rows::new(marks, 1)).transpose()?;
        let raw = |marks: &Option<Rows<'_>>| marks.as_ref().map_or(ptr::null(), |marks| marks.raw() as *const _);
        call(|error| unsafe { sys::knng_graph_describe(self.raw, lines.as_ptr(), raw(&ties), raw(&proof), error) })?;
        Ok(self)
    }

    /// Reads a graph that [`save`](Self::save) wrote.
    /// # Errors
    /// [`Io`](ErrorKind::Io), [`Format`](ErrorKind::Format), [`Unsupported`](ErrorKind::Unsupported),
    /// [`Memory`](ErrorKind::Memory).
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Graph::load_with(path, &mut Control::new())
    }

    /// [`load`](Self::load) with progress, stop and a limit of memory.
    /// # Errors
    /// As [`load`](Self::load); [`Cancelled`](ErrorKind::Cancelled), [`Budget`](ErrorKind::Budget).
    pub fn load_with(path: impl AsRef<Path>, control: &mut Control<'_>) -> Result<Self> {
        let path = text::path_to_c(path.as_ref())?;
        Graph::made(|out| {
            control.call(|control, error| unsafe { sys::knng_graph_load(out, path.as_ptr(), control, error) })
        })
    }

    /// Writes the graph to a file, whose suffix tells the format: `.knng`, which keeps everything, or `.npz` for NumPy;
    /// `.mtx`, `.tsv`, `.ivecs` (values go to `.fvecs`) and `.ibin` (values go to `.fbin`) for other programs, which are not
    /// loaded again. An interrupted call leaves no half file. A file that is there is replaced if it is a graph, or empty.
    /// # Errors
    /// [`Io`](ErrorKind::Io), also for a file that is there and may be data; [`Option`](ErrorKind::Option) for a suffix that tells no format;
    /// [`Range`](ErrorKind::Range) for what a format cannot hold;
    /// [`Unsupported`](ErrorKind::Unsupported) with what to install.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.save_with(path, &mut Control::new())
    }

    /// [`save`](Self::save) with progress, stop and a limit of memory.
    /// # Errors
    /// As [`save`](Self::save); [`Cancelled`](ErrorKind::Cancelled), [`Budget`](ErrorKind::Budget).
    pub fn save_with(&self, path: impl AsRef<Path>, control: &mut Control<'_>) -> Result<()> {
        self.write(path.as_ref(), ptr::null(), control)
    }

    /// [`save`](Self::save) in a format that is named, as "knng" or "npz", whatever the file's suffix; only "ivecs" and
    /// "ibin" need theirs.
    /// # Errors
    /// As [`save`](Self::save), with [`Option`](ErrorKind::Option) for an unknown format.
    pub fn save_as(&self, path: impl AsRef<Path>, format: &str) -> Result<()> {
        self.save_as_with(path, format, &mut Control::new())
    }

    /// [`save_as`](Self::save_as) with progress, stop and a limit of memory.
    /// # Errors
    /// As [`save_as`](Self::save_as); [`Cancelled`](ErrorKind::Cancelled), [`Budget`](ErrorKind::Budget).
    pub fn save_as_with(&self, path: impl AsRef<Path>, format: &str, control: &mut Control<'_>) -> Result<()> {
        self.write(path.as_ref(), text::to_c("format", format)?.as_ptr(), control)
    }

    fn write(&self, path: &Path, format: *const c_char, control: &mut Control<'_>) -> Result<()> {
        let path = text::path_to_c(path)?;
        control.call(|control, error| unsafe { sys::knng_graph_save(self.raw, path.as_ptr(), format, control, error) })
    }

    /// Points that have a list.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Points that could be neighbours: the rows of the data set.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Entries of a list: k, or k + 1 under `self=first`.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Whether rows and columns are the same points (a build), or the rows are queries.
    pub fn same_points(&self) -> bool {
        self.same_points
    }

    /// The lists as they are in memory; `None` for a graph that is kept in a device's (`graph=device`), which
    /// [`copy_to`](Self::copy_to) reads.
    pub fn lists(&self) -> Option<Lists<'_>> {
        if ![&self.ids, &self.values].iter().all(|m| matches!(m.space, sys::KNNG_HOST | sys::KNNG_PINNED)) {
            return None;
        }
        // Shown by knng_graph_view, valid until the graph is destroyed.
        Some(Lists { ids: unsafe { slice(&self.ids) }, values: unsafe { Values::of(&self.values) }, width: self.width })
    }

    fn here(&self) -> Lists<'_> {
        self.lists().expect("the lists of this graph are in a device's memory (graph=device): Graph::copy_to() reads them")
    }

    /// Ids of all rows' neighbours, `rows * width` of them, one list after another; -1 where there is no neighbour, as only
    /// imported graphs have it.
    /// # Panics
    /// If the graph is kept in a device's memory.
    pub fn ids(&self) -> &[i64] {
        self.here().ids()
    }

    /// Distances, ascending in a list, or similarities, descending, beside [`ids`](Self::ids).
    /// # Panics
    /// If the graph is kept in a device's memory.
    pub fn values(&self) -> Values<'_> {
        self.here().values()
    }

    /// The neighbours of a row, the nearest first.
    /// # Panics
    /// If there is no such row, or the graph is kept in a device's memory.
    pub fn neighbors(&self, row: usize) -> Neighbors<'_> {
        self.here().row(row)
    }

    /// The rows' neighbours, one row after another.
    /// # Panics
    /// If the graph is kept in a device's memory.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Neighbors<'_>> + DoubleEndedIterator {
        self.here().iter()
    }

    /// Ids as another type, `i16`, `u16`, `i32` or `i64`, counted from `base` 0 or 1.
    /// # Errors
    /// [`Range`](ErrorKind::Range) for another base, and for an id that `T` cannot hold; [`Argument`](ErrorKind::Argument)
    /// for another type.
    pub fn copy_ids<T: Element>(&self, base: i32) -> Result<Vec<T>> {
        let mut ids = vec![T::default(); self.rows * self.width];
        self.copy_to(base, Some(RowsMut::new(&mut ids, self.width)?), None)?;
        Ok(ids)
    }

    /// Values as another type: `f64`, `f32`, [`F16`](crate::F16) or [`Bf16`](crate::Bf16), rounded to nearest.
    /// # Errors
    /// [`Range`](ErrorKind::Range) for a finite value that `T` cannot hold; [`Argument`](ErrorKind::Argument) for another
    /// type.
    pub fn copy_values<T: Element>(&self) -> Result<Vec<T>> {
        let mut values = vec![T::default(); self.rows * self.width];
        self.copy_to(0, None, Some(RowsMut::new(&mut values, self.width)?))?;
        Ok(values)
    }

    /// Copies ids, values or both into the caller's memory, `rows x width` each.
    /// # Errors
    /// As [`copy_ids`](Self::copy_ids) and [`copy_values`](Self::copy_values); [`Argument`](ErrorKind::Argument) for another
    /// shape. On failure the memory may be partly written.
    pub fn copy_to(&self, base: i32, mut ids: Option<RowsMut<'_>>, mut values: Option<RowsMut<'_>>) -> Result<()> {
        let ids = ids.as_mut().map_or(ptr::null_mut(), RowsMut::raw_mut);
        let values = values.as_mut().map_or(ptr::null_mut(), RowsMut::raw_mut);
        call(|error| unsafe { sys::knng_graph_copy(self.raw, base, ids, values, error) })
    }

    /// One number for each row: "ties" (1 if a row that was not returned is exactly as far as the last neighbour),
    /// "proof", "indegree" (in how many other rows' lists it appears; for each column), "component" (number of its
    /// connected component).
    /// # Errors
    /// [`Option`](ErrorKind::Option) for another word, with those that there are; [`State`](ErrorKind::State) for
    /// "component" of a graph of queries, and for "ties" that are not known.
    ///
    /// ```
    /// # use knng::Dataset;
    /// # fn main() -> Result<(), knng::Error> {
    /// let graph = Dataset::from_owned(vec![0.0_f32, 1.0, 7.0, 9.0], 1)?.build(1)?;
    /// assert_eq!(graph.row_numbers("component")?, [0, 0, 1, 1]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn row_numbers(&self, what: &str) -> Result<Vec<i64>> {
        let what = text::to_c("what", what)?;
        let fill = |count: usize| -> Result<Vec<i64>> {
            let mut numbers = vec![0_i64; count];
            let mut out = RowsMut::new(&mut numbers, 1)?;
            call(|error| unsafe { sys::knng_graph_rows(self.raw, what.as_ptr(), out.raw_mut(), error) })?;
            Ok(numbers)
        };
        match fill(self.rows) {
            // Which words have a number for each column is the library's to say.
            Err(error) if error.kind() == ErrorKind::Argument && self.columns != self.rows => fill(self.columns),
            result => result,
        }
    }

    /// A statistic of the build, by its name; [`statistics`](crate::statistics) lists them. `None` if it is not known: all
    /// but rows and columns of a graph from elsewhere, duplicates of a graph of queries.
    /// # Errors
    /// [`Option`](ErrorKind::Option) for an unknown name, with those that there are.
    pub fn statistic(&self, name: &str) -> Result<Option<f64>> {
        let name = text::to_c("name", name)?;
        let mut number = 0.0;
        call(|error| unsafe { sys::knng_graph_stat(self.raw, name.as_ptr(), &mut number, error) })?;
        Ok(Some(number).filter(|number| !number.is_nan()))
    }

    /// A text of the build: "metric", "p", "precision", "engine", "selector", "device", "version", "fingerprint", "value",
    /// "self".
    /// # Errors
    /// [`Option`](ErrorKind::Option) for an unknown name, with those that there are.
    pub fn text(&self, name: &str) -> Result<String> {
        let name = text::to_c("name", name)?;
        text::of_buffer(|buffer, capacity, needed, error| unsafe {
            sys::knng_graph_text(self.raw, name.as_ptr(), buffer, capacity, needed, error)
        })
    }

    /// The graph as a sparse matrix: "directed", "union", "mutual", "snn:jaccard" and others.
    /// # Errors
    /// [`Option`](ErrorKind::Option) for another rule, with those that there are; [`State`](ErrorKind::State) for a graph of
    /// queries, but for "directed"; [`Range`](ErrorKind::Range) and [`Data`](ErrorKind::Data) for values that a rule cannot
    /// combine; [`Memory`](ErrorKind::Memory).
    pub fn sparse(&self, rule: &str) -> Result<Sparse> {
        self.sparse_with(rule, &mut Control::new())
    }

    /// [`sparse`](Self::sparse) with progress, stop and a limit of memory.
    /// # Errors
    /// As [`sparse`](Self::sparse); [`Cancelled`](ErrorKind::Cancelled), [`Budget`](ErrorKind::Budget).
    pub fn sparse_with(&self, rule: &str, control: &mut Control<'_>) -> Result<Sparse> {
        let rule = text::to_c("rule", rule)?;
        Sparse::made(|out| {
            control.call(|control, error| unsafe {
                sys::knng_graph_sparse(self.raw, rule.as_ptr(), control, out, error)
            })
        })
    }

    /// The C library's graph, which stays this one's.
    pub fn as_raw(&self) -> *const sys::knng_graph {
        self.raw
    }

    pub(crate) fn raw(&self) -> *const sys::knng_graph {
        self.raw
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        unsafe { sys::knng_graph_destroy(self.raw) };
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let metric = self.text("metric").unwrap_or_default();
        write!(f, "Graph({} x {}, {metric})", self.rows, self.width)
    }
}
