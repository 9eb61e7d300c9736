//! The mutual neighbours of points as an edge list, source, target and distance, and the components of their graph.

use knng::Dataset;

fn main() -> Result<(), knng::Error> {
    // Two rings of 100 points.
    let ring = |center: f64| (0..100).map(move |i| f64::from(i) * 0.0628).flat_map(move |t| [center + t.cos(), t.sin()]);
    let points: Vec<f64> = ring(0.0).chain(ring(10.0)).collect();

    let graph = Dataset::from_owned(points, 2)?.build(4)?;
    for e in graph.sparse("mutual")?.iter().filter(|e| e.row < e.column) {
        println!("{}\t{}\t{}", e.row, e.column, e.value);
    }
    let components = graph.row_numbers("component")?;
    eprintln!("{} components", components.iter().max().map_or(0, |last| last + 1));
    Ok(())
}
