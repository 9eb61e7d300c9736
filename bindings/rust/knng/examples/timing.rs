//! From an array to arrays, as `tests/bindings/speed.py` measures it beside a program in C.
//!     timing [WAY FILE N]      WAY: knng; FILE: N rows of 784 `f32`
//! Prints seconds of the clock and of all processors, and the largest memory in kB; without rows that of a program that
//! makes no call.

use knng::{Dataset, Rows};
use std::error::Error;
use std::fs::File;
use std::io::Read;
use std::os::raw::c_long;
use std::time::Instant;

extern "C" {
    fn clock() -> c_long; // microseconds of all processors
}

/// Largest memory of this process in kB, as Linux says; 0 elsewhere.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("");
    line.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// The first values of a file, in blocks, so that they are in memory once.
fn read(path: &str, count: usize) -> Result<Vec<f32>, Box<dyn Error>> {
    let (mut file, mut values, mut block) = (File::open(path)?, Vec::with_capacity(count), [0_u8; 4 * 784]);
    while values.len() < count {
        file.read_exact(&mut block)?;
        values.extend(block.chunks_exact(4).map(|bytes| f32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])));
    }
    Ok(values)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let rows: usize = arguments.get(3).map_or(Ok(0), |text| text.parse())?;
    let (mut wall, mut used) = (0.0, 0.0);
    if rows > 0 {
        let x = read(&arguments[2], rows * 784)?;
        let (start, worked) = (Instant::now(), unsafe { clock() });
        let graph = Dataset::from_rows(Rows::new(&x, 784)?)?.build(10)?;
        assert_eq!((graph.ids().len(), graph.values().len()), (10 * rows, 10 * rows));
        wall = start.elapsed().as_secs_f64();
        used = (unsafe { clock() } - worked) as f64 / 1e6;
    }
    println!("{wall} {used} {}", peak());
    Ok(())
}
