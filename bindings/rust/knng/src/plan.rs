//! What a build or query would do.

use knng_sys as sys;

/// How large a query is that [`Dataset::estimate_query`](crate::Dataset::estimate_query) plans. Both numbers are named where
/// they are given, as the one in the place of the other would plan something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct QuerySize {
    /// Number of query rows.
    pub queries: usize,
    /// Neighbours of each.
    pub k: usize,
}

/// What a build or query would do, from [`Dataset::estimate`](crate::Dataset::estimate) and
/// [`Dataset::estimate_query`](crate::Dataset::estimate_query).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// How many devices would work.
    pub devices: u32,
    /// Peak of host memory held by the library, in bytes: rows that it holds and the result included.
    pub host_bytes: u64,
    /// Peak of memory on one device, in bytes.
    pub device_bytes: u64,
    /// The smallest `max_host_bytes` with which the call can run.
    pub smallest_host: u64,
    /// The same for `max_device_bytes`.
    pub smallest_device: u64,
    /// Rows of one tile.
    pub tile_rows: u64,
    /// Columns of one tile.
    pub tile_columns: u64,
    /// Number of such tiles.
    pub tiles: u64,
    /// Expected seconds, where they are known.
    pub seconds: Option<f64>,
}

impl Plan {
    pub(crate) fn from_raw(raw: &sys::knng_plan) -> Self {
        let count = |number: i64| u64::try_from(number).unwrap_or(0);
        Plan {
            devices: raw.devices,
            host_bytes: count(raw.host_bytes),
            device_bytes: count(raw.device_bytes),
            smallest_host: count(raw.smallest_host),
            smallest_device: count(raw.smallest_device),
            tile_rows: count(raw.tile_rows),
            tile_columns: count(raw.tile_cols),
            tiles: count(raw.tiles),
            seconds: Some(raw.seconds).filter(|&seconds| seconds >= 0.0),
        }
    }

    /// A plan for the library to fill in.
    pub(crate) fn empty() -> sys::knng_plan {
        sys::knng_plan {
            struct_size: std::mem::size_of::<sys::knng_plan>() as u32,
            devices: 0,
            host_bytes: 0,
            device_bytes: 0,
            smallest_host: 0,
            smallest_device: 0,
            tile_rows: 0,
            tile_cols: 0,
            tiles: 0,
            seconds: -1.0,
        }
    }
}
