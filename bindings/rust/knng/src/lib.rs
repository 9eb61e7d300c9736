//! Exact k-nearest-neighbour graphs of large high-dimensional data, by libknng: for every row of a matrix, the k other
//! rows nearest to it. Ids and distances are the same bits on any processor, with any number of threads, and on GPUs.
//!
//! ```
//! use knng::{Dataset, Rows};
//!
//! # fn main() -> Result<(), knng::Error> {
//! let x: Vec<f32> = (0..600).map(|i| (i * i % 101) as f32).collect(); // 200 points of 3 dimensions, point after point
//! let graph = Dataset::from_rows(Rows::new(&x, 3)?)?.build(10)?; // x is not copied
//! for n in graph.neighbors(0) {
//!     println!("{} at {}", n.id, n.distance); // the nearest first, row 0 itself left out
//! }
//! # assert_eq!(graph.neighbors(0).count(), 10);
//! # Ok(())
//! # }
//! ```
//!
//! # What is where
//! - [`Rows`] says how a slice of numbers is a matrix: packed, column-major or strided; [`RowsMut`] likewise for results.
//! - [`Dataset`] has rows, borrowed, owned, copied or from a file, and settings, which are text:
//!   `data.set("metric", "cosine")?`. It builds, queries, plans and checks.
//! - [`Graph`] has the lists: slices, iterators, copies in other types, facts about rows, files. [`Facts`] describe one that
//!   was imported.
//! - [`Sparse`] is a graph as a sparse matrix: union, mutual, shared nearest neighbours.
//! - [`Control`] has progress, log, the flag that stops a call, and a limit of memory. A call that may take long has a
//!   second form that takes one as its last argument: [`Dataset::build_with`] beside [`Dataset::build`].
//! - [`Error`] says what was wrong, with argument, value and limit as numbers.
//!
//! # Threads
//! All types are [`Send`] and [`Sync`]. Builds and queries take `&self`, so that several threads may run them on one data
//! set at the same time; the library's own threads end with the call that made them.
//!
//! # Panics
//! A panic in a callback stops the call, and goes on in the caller when the library has returned.
#![warn(missing_docs)]
#![warn(missing_debug_implementations)]
#![warn(unsafe_op_in_unsafe_fn)]

mod control;
mod dataset;
mod element;
mod error;
mod facts;
mod graph;
mod library;
mod lists;
mod plan;
mod rows;
mod sparse;
mod text;

pub use control::{Control, Level, Progress, Stop};
pub use dataset::Dataset;
pub use element::{Bf16, Dtype, Element, F16};
pub use error::{Error, ErrorKind, Result};
pub use facts::Facts;
pub use graph::Graph;
pub use library::{devices, metrics, settings, statistics, use_matrix_tiles, version};
pub use library::{Device, Metric, Setting, Statistic, Version};
pub use lists::{Lists, Neighbor, Neighbors, Values};
pub use plan::{Plan, QuerySize};
pub use rows::{Rows, RowsMut};
pub use sparse::{Coo, Csr, Entry, Sparse};

/// The raw declarations.
pub use knng_sys as sys;
