//! What the crate costs beside the C calls that it makes: seconds from an array to arrays, of all processors and of the
//! clock, each way in turn, the least of several.
//!     timing [POINTS [ROWS [K]]]      POINTS as `Dataset::from_file` reads it, e.g. Fashion-MNIST's train-images

use knng::{sys, Dataset, Rows};
use std::error::Error;
use std::os::raw::c_long;
use std::ptr;
use std::time::Instant;

type Lists = (Vec<i64>, Vec<f32>);

fn by_crate(x: &[f32], d: usize, k: usize) -> Result<Lists, knng::Error> {
    let graph = Dataset::from_rows(Rows::new(x, d)?)?.build(k)?;
    Ok((graph.copy_ids(0)?, graph.copy_values()?))
}

fn by_c(x: &[f32], d: usize, k: usize) -> Result<Lists, i32> {
    let n = x.len() / d;
    let (mut ids, mut values) = (vec![0_i64; n * k], vec![0_f32; n * k]);
    let matrix = |dtype, columns: usize, data: *const _| sys::knng_matrix::packed(dtype, n as i64, columns as i64, data);
    let rows = matrix(sys::KNNG_F32, d, x.as_ptr().cast());
    let mut to_ids = matrix(sys::KNNG_I64, k, ids.as_mut_ptr() as *const _);
    let mut to_values = matrix(sys::KNNG_F32, k, values.as_mut_ptr() as *const _);
    let (mut h, mut g) = (ptr::null_mut(), ptr::null_mut());
    let (none, quiet) = (ptr::null(), ptr::null_mut());
    let status = unsafe {
        let mut status = sys::knng_create(&mut h, 0, 0, quiet);
        if status == 0 {
            status = sys::knng_borrow(h, &rows, none, quiet);
        }
        if status == 0 {
            status = sys::knng_build(h, k as i64, none, &mut g, quiet);
        }
        if status == 0 {
            status = sys::knng_graph_copy(g, 0, &mut to_ids, &mut to_values, quiet);
        }
        sys::knng_graph_destroy(g);
        sys::knng_destroy(h);
        status
    };
    if status == 0 {
        Ok((ids, values))
    } else {
        Err(status)
    }
}

extern "C" {
    fn clock() -> c_long; // microseconds of all processors
}

fn timed<T>(least: &mut [f64; 2], way: impl FnOnce() -> T) -> T {
    let (used, wall) = (unsafe { clock() }, Instant::now());
    let result = way();
    least[1] = least[1].min(wall.elapsed().as_secs_f64());
    least[0] = least[0].min((unsafe { clock() } - used) as f64 / 1e6);
    result
}

/// Largest memory of this process in kB, as Linux says; 0 elsewhere.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("");
    line.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |i: usize, otherwise| arguments.get(i).map_or(Ok(otherwise), |text| text.parse::<usize>());
    let k = number(3, 10)?;
    let (x, d) = match arguments.get(1) {
        Some(path) => {
            let data = Dataset::from_file(path)?;
            (data.read(0, number(2, data.rows())?)?, data.columns())
        }
        None => ((0..2000 * 32_u32).map(|i| (i.wrapping_mul(2654435761) >> 20) as f32).collect::<Vec<f32>>(), 32),
    };
    let mut best = [[f64::INFINITY; 2]; 2];
    for _ in 0..7 {
        let lists = timed(&mut best[0], || by_crate(&x, d, k))?;
        let same = timed(&mut best[1], || by_c(&x, d, k)).map_err(|status| format!("status {status}"))?;
        assert!(same == lists);
    }
    println!("{} x {d}, k = {k}, {} kB at most", x.len() / d, peak());
    for (way, [used, wall]) in ["the crate:  ", "the C calls:"].iter().zip(best) {
        println!("{way} s of processors {used:8.4}, of the clock {wall:8.4}");
    }
    Ok(())
}
