//! Builds the graph of a file of points, or of points of its own, with progress, and prints the first lists.
//!     neighbors [POINTS [K]]

use knng::{Control, Dataset, Rows};
use std::error::Error;
use std::ops::ControlFlow;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let k = arguments.get(2).map_or(Ok(10), |text| text.parse())?;
    let spiral: Vec<[f32; 2]> =
        (1..2000).map(|i| (i as f32 / 100.0, i as f32 / 1000.0)).map(|(t, r)| [r * t.cos(), r * t.sin()]).collect();
    let mut control = Control::new().progress(|p| {
        eprint!("\r{:<12} {:3.0} %", p.stage, 100.0 * p.fraction());
        ControlFlow::Continue(())
    });

    let mut data = Dataset::new()?;
    match arguments.get(1) {
        Some(path) => data.add_file_with(path, &mut control)?,
        None => data.borrow_rows(Rows::from(&spiral))?,
    };
    let graph = data.build_with(k, &mut control)?;
    eprintln!();

    println!("{} rows, {} neighbours each, by {}", graph.rows(), graph.width(), graph.text("engine")?);
    for (row, neighbors) in graph.iter().enumerate().take(3) {
        let list: Vec<String> = neighbors.map(|n| format!("{} ({:.4})", n.id, n.distance)).collect();
        println!("{row}: {}", list.join(" "));
    }
    Ok(())
}
