//! Bad input gets an error that names argument, value and limit, in counting from 0; nothing is changed by it.

use knng::{Control, Dataset, Error, ErrorKind, Facts, Graph, QuerySize, Rows, RowsMut};

fn line(n: usize) -> Dataset<'static> {
    Dataset::from_owned((0..n).map(|i| (i * i) as f32).collect::<Vec<_>>(), 1).unwrap()
}

fn is(error: Error, kind: ErrorKind, parts: &[&str]) {
    assert_eq!(error.kind(), kind, "{error:?}");
    assert!(!error.to_string().is_empty());
    for part in parts {
        assert!(error.to_string().contains(part), "'{part}' is not in: {error}");
    }
}

#[test]
fn shapes() {
    is(Rows::new(&[0.0_f32; 7], 2).unwrap_err(), ErrorKind::Argument, &["7", "2"]);
    is(Rows::new(&[0.0_f32; 7], 0).unwrap_err(), ErrorKind::Argument, &["0"]);
    is(Rows::column_major(&[0_u8; 7], 2, 3).unwrap_err(), ErrorKind::Argument, &["7", "2 x 3"]);
    is(Rows::column_major(&[0_u8; 7], usize::MAX, 3).unwrap_err(), ErrorKind::Argument, &["7"]);
    is(RowsMut::new(&mut [0_u8; 7], 3).unwrap_err(), ErrorKind::Argument, &["7", "3"]);
    for (first, rows, row_stride, column_stride) in
        [(0, 5, 2, 1), (0, 2, -2, 1), (7, 2, -4, 1), (8, 1, 2, 1), (0, 3, isize::MAX, 1), (0, 2, isize::MIN, isize::MIN)]
    {
        let error = Rows::strided(&[0.0_f64; 8], first, rows, 2, row_stride, column_stride).unwrap_err();
        is(error, ErrorKind::Argument, &["8"]);
    }
    assert!(Rows::strided(&[0.0_f64; 8], 6, 4, 2, -2, 1).is_ok());
    for (rows, columns) in [(3000, 40), (2, 1), (1, 2)] {
        is(Rows::strided(&[0.0_f32; 8], 0, rows, columns, 0, 0).unwrap_err(), ErrorKind::Argument, &["packed"]);
    }
    let one = Dataset::from_rows(Rows::strided(&[5.0_f32, 7.0], 1, 1, 1, 0, 0).unwrap()).unwrap();
    assert_eq!(one.read::<f32>(0, 1).unwrap(), [7.0]);
    is(Dataset::from_rows(Rows::new::<f32>(&[], 3).unwrap()).unwrap_err(), ErrorKind::Range, &["rows"]);
    let none: &[[f32; 0]] = &[[]];
    is(Dataset::from_rows(none.into()).unwrap_err(), ErrorKind::Range, &["0"]);
    is(Dataset::from_rows(Rows::strided(&[0.0_f64; 8], 0, 4, 2, 0, 1).unwrap()).unwrap_err(), ErrorKind::Argument, &[]);
}

#[test]
fn rows() {
    let x = [1.0_f32, 2.0, 3.0, f32::INFINITY];
    let error = Dataset::from_rows(Rows::new(&x, 2).unwrap()).unwrap_err();
    assert_eq!((error.row(), error.column()), (Some(1), Some(1)));
    is(error, ErrorKind::Data, &["row 1"]);
    let large = [0_u64, 1 << 53, (1 << 53) + 1];
    is(Dataset::from_rows(Rows::new(&large, 1).unwrap()).unwrap_err(), ErrorKind::Data, &["row 2"]);

    let mut data = line(4);
    is(data.add_rows(Rows::new(&[0.0_f32; 6], 2).unwrap()).unwrap_err(), ErrorKind::Argument, &["2", "1"]);
    is(data.add_rows(Rows::new(&[0.0_f64; 6], 1).unwrap()).unwrap_err(), ErrorKind::Argument, &["float64", "float32"]);
    assert_eq!((data.rows(), data.columns()), (4, 1));
    is(data.query(Rows::new(&[0.0_f32; 6], 3).unwrap(), 1).unwrap_err(), ErrorKind::Argument, &["3", "1"]);
    // A transposed matrix: 6 rows of 3 columns as 3 of 6.
    let x: Vec<f32> = (0..18).map(|i| i as f32).collect();
    let data_of_3 = Dataset::from_rows(Rows::new(&x, 3).unwrap()).unwrap();
    let transposed = Rows::column_major(&x, 3, 6).unwrap();
    is(data_of_3.query(transposed, 1).unwrap_err(), ErrorKind::Argument, &["6 columns", "dimension 3"]);
    is(data.read::<f32>(3, 2).unwrap_err(), ErrorKind::Range, &["2 rows from row 3", "4"]);
    is(data.read::<f32>(usize::MAX, 2).unwrap_err(), ErrorKind::Range, &["4"]);
    is(data.read::<f32>(0, 0).unwrap_err(), ErrorKind::Range, &["count=0 must be at least 1"]);
    is(line(30).read::<u8>(0, 30).unwrap_err(), ErrorKind::Range, &["256"]);
    is(Dataset::new().unwrap().build(1).unwrap_err(), ErrorKind::State, &[]);
    assert_eq!(Dataset::new().unwrap().dtype(), None);
}

#[test]
fn k() {
    let data = line(40);
    let error = data.build(50).unwrap_err();
    assert_eq!((error.argument(), error.given(), error.limit(), error.code()), ("k", Some(50), Some(39), -2));
    assert_eq!((error.row(), error.column()), (None, None));
    is(error, ErrorKind::Range, &["k=50 needs at least 51 rows, the data set has 40"]);
    for k in [0, 40, usize::MAX] {
        is(data.build(k).unwrap_err(), ErrorKind::Range, &[&format!("k={k} ")]);
        is(data.estimate(k).unwrap_err(), ErrorKind::Range, &[&format!("k={k} ")]);
    }
    assert!(data.query(Rows::new(&[0.0_f32], 1).unwrap(), 40).is_ok());
    is(data.query(Rows::new(&[0.0_f32], 1).unwrap(), 41).unwrap_err(), ErrorKind::Range, &["41", "40"]);
}

/// The message names the number, and no other that the caller might have given.
fn is_too_large(error: Error, argument: &str, given: usize, limit: i64) {
    let numbers = (error.argument(), error.given(), error.limit());
    assert_eq!(numbers, (argument, i64::try_from(given).ok(), Some(limit)), "{error}");
    is(error, ErrorKind::Range, &[&format!("{argument}={given} must be at most {limit}")]);
}

#[test]
fn numbers_that_c_has_no_room_for() {
    let (data, most) = (line(4), usize::MAX);
    let ask = Rows::new(&[0.0_f32], 1).unwrap();
    is_too_large(data.build(most).unwrap_err(), "k", most, i64::MAX);
    is_too_large(data.query(ask, most).unwrap_err(), "k", most, i64::MAX);
    is_too_large(data.query_file("none.npy", most).unwrap_err(), "k", most, i64::MAX);
    is_too_large(data.estimate(most).unwrap_err(), "k", most, i64::MAX);
    let plan = |queries, k| data.estimate_query(QuerySize { queries, k }).unwrap_err();
    is_too_large(plan(1, most), "k", most, i64::MAX);
    is_too_large(plan(most, 1), "queries", most, i64::MAX);
    is_too_large(data.read_to(most, RowsMut::new(&mut [0.0_f32], 1).unwrap()).unwrap_err(), "first", most, i64::MAX);
    for file in [1 << 31, most] {
        is_too_large(data.file_text(file, "file").unwrap_err(), "file", file, i32::MAX.into());
    }
    is_too_large(Graph::import(ask, None, 0, most, false).unwrap_err(), "columns", most, i64::MAX);
    is_too_large(Rows::new::<f32>(&[], most).unwrap_err(), "columns", most, i64::MAX);
    is_too_large(RowsMut::new::<f32>(&mut [], most).unwrap_err(), "columns", most, i64::MAX);
    is_too_large(Rows::column_major::<f32>(&[], most, 0).unwrap_err(), "rows", most, i64::MAX);
    is_too_large(Rows::strided(&[0.0_f32], 0, most, 1, 0, 1).unwrap_err(), "rows", most, i64::MAX);
    assert_eq!(data.check(&data.build(1).unwrap(), most).unwrap(), None); // all rows
}

#[test]
fn limits_would_do() {
    let limit = |error: Error| (error.given(), error.limit());
    // 4 numbers would do as well as 6.
    assert_eq!(limit(Rows::new(&[0_u8; 5], 2).unwrap_err()), (Some(5), None));
    assert_eq!(limit(RowsMut::new(&mut [0_u8; 5], 7).unwrap_err()), (Some(5), None));
    assert_eq!(limit(Rows::column_major(&[0_u8; 7], 2, 3).unwrap_err()), (Some(7), Some(6)));
    assert_eq!(limit(Rows::column_major(&[0_u8; 7], usize::MAX, 3).unwrap_err()), (Some(7), None));
    assert_eq!(limit(Rows::strided(&[0_u8; 7], 0, 4, 2, 2, 1).unwrap_err()), (Some(7), Some(6)));
    assert_eq!(limit(Rows::strided(&[0_u8; 7], 0, 2, 2, -2, 1).unwrap_err()), (Some(-2), Some(0)));
    let read = |first, count| limit(line(4).read::<f32>(first, count).unwrap_err());
    assert_eq!((read(3, 2), read(0, 5), read(4, 1)), ((Some(2), Some(1)), (Some(5), Some(4)), (Some(1), None)));
    assert_eq!(read(1, usize::MAX), (None, Some(3)));
}

#[test]
fn settings() {
    let mut data = line(4);
    is(data.set("metrik", "l1").unwrap_err(), ErrorKind::Option, &["metrik", "metric"]);
    is(data.set("metric", "euclid").unwrap_err(), ErrorKind::Option, &["euclid"]);
    is(data.set("threads", -1).unwrap_err(), ErrorKind::Option, &["-1", "4096"]);
    is(data.set("metric", "l1\0").unwrap_err(), ErrorKind::Argument, &["metric"]);
    is(data.get("").unwrap_err(), ErrorKind::Option, &[]);
    assert_eq!(data.get("metric").unwrap(), "euclidean");
    assert_eq!(data.set("metric", "L1").unwrap().set("p", "auto").unwrap().get("metric").unwrap(), "manhattan");
    data.set("value", "similarity").unwrap();
    is(data.build(1).unwrap_err(), ErrorKind::Option, &["similarity", "manhattan"]);
    data.set("value", "distance").unwrap().set("max_host_bytes", 1).unwrap();
    let error = data.build(1).unwrap_err();
    let limit = error.limit().expect("a limit that would do");
    is(error, ErrorKind::Budget, &[]);
    assert!(limit > 1);
    assert!(data.set("max_host_bytes", limit).unwrap().build(1).is_ok());
    is(data.build_with(1, &mut Control::new().max_bytes(5)).unwrap_err(), ErrorKind::Argument, &["max_bytes"]);
}

#[test]
fn plans() {
    let x: Vec<f32> = (0..6000).map(|i| (i * i % 1013) as f32).collect();
    let data = Dataset::from_rows(Rows::new(&x, 2).unwrap()).unwrap();
    let mut data = data.with("device", "cpu").unwrap().with("threads", 1).unwrap();
    let build = data.estimate(10).unwrap();
    let query = data.estimate_query(QuerySize { queries: 200, k: 10 }).unwrap();
    let results = |queries: u64, k: u64| queries * k * 12; // ids and values
    assert!(build.host_bytes >= results(3000, 10), "{build:?}");
    assert!((results(200, 10)..build.host_bytes).contains(&query.host_bytes), "{query:?}");
    let swapped = data.estimate_query(QuerySize { queries: 10, k: 200 }).unwrap();
    assert_ne!(swapped, query);

    // What a plan says is enough is enough, and one byte less is not.
    data.set("max_host_bytes", build.smallest_host).unwrap();
    assert!(data.build(10).is_ok());
    data.set("max_host_bytes", build.smallest_host - 1).unwrap();
    assert_eq!(data.estimate(10).unwrap().smallest_host, build.smallest_host);
    let error = data.build(10).unwrap_err();
    assert_eq!((error.kind(), error.limit()), (ErrorKind::Budget, i64::try_from(build.smallest_host).ok()));

    let error = data.estimate_query(QuerySize { queries: 0, k: 10 }).unwrap_err();
    assert_eq!((error.argument(), error.given(), error.limit()), ("queries", Some(0), Some(1)));
    is(error, ErrorKind::Range, &["queries=0"]);
    is(data.estimate_query(QuerySize { queries: 1, k: 3001 }).unwrap_err(), ErrorKind::Range, &["3001", "3000"]);
}

#[test]
fn left_out() {
    let data = line(5);
    let q = [0.0_f32, 1.0];
    let ask = |ids: &[i64]| data.query_leaving_out(Rows::new(&q, 1).unwrap(), 2, ids);
    assert_eq!(ask(&[0, -1]).unwrap().ids(), [1, 2, 1, 0]);
    is(ask(&[0]).unwrap_err(), ErrorKind::Argument, &["1", "2"]);
    let error = ask(&[0, 5]).unwrap_err();
    assert_eq!((error.row(), error.given()), (Some(1), Some(5)));
    is(error, ErrorKind::Range, &["5"]);
}

#[test]
fn graphs() {
    let graph = line(300).build(2).unwrap();
    is(graph.copy_ids::<i32>(2).unwrap_err(), ErrorKind::Range, &["2"]);
    is(graph.copy_ids::<f32>(0).unwrap_err(), ErrorKind::Argument, &["float32"]);
    is(graph.copy_ids::<i64>(-1).unwrap_err(), ErrorKind::Range, &["-1"]);
    is(graph.copy_values::<i32>().unwrap_err(), ErrorKind::Argument, &["int32"]);
    is(graph.copy_to(0, Some(RowsMut::new(&mut [0_i32; 300], 3).unwrap()), None).unwrap_err(), ErrorKind::Argument, &[]);
    is(graph.row_numbers("hubs").unwrap_err(), ErrorKind::Option, &["hubs", "indegree"]);
    is(graph.statistic("speed").unwrap_err(), ErrorKind::Option, &["speed", "pairs"]);
    is(graph.text("colour").unwrap_err(), ErrorKind::Option, &["colour", "fingerprint"]);
    is(graph.sparse("intersection").unwrap_err(), ErrorKind::Option, &["intersection", "mutual"]);
    is(graph.sparse_with("union", &mut Control::new().max_bytes(10)).unwrap_err(), ErrorKind::Budget, &[]);
    is(graph.save("a.tar").unwrap_err(), ErrorKind::Option, &["tar"]);
    is(graph.save_as("a.knng", "tar").unwrap_err(), ErrorKind::Option, &["tar", "npz"]);
    is(graph.save("/nowhere/a.knng").unwrap_err(), ErrorKind::Io, &["/nowhere"]);
    is(graph.save("nul\0.knng").unwrap_err(), ErrorKind::Argument, &["path"]);
    is(Graph::load("/nowhere/a.knng").unwrap_err(), ErrorKind::Io, &["/nowhere"]);

    let queries = line(6).query(Rows::new(&[2.0_f32, 3.0], 1).unwrap(), 2).unwrap();
    is(queries.row_numbers("component").unwrap_err(), ErrorKind::State, &[]);
    assert_eq!(queries.ids(), [1, 0, 2, 1]); // row 0 before row 2, which is as far
    assert_eq!(queries.row_numbers("indegree").unwrap(), [1, 2, 1, 0, 0, 0]);
    is(queries.sparse("union").unwrap_err(), ErrorKind::State, &[]);
    assert_eq!(queries.row_numbers("ties").unwrap().len(), 2);
}

#[test]
fn imports() {
    let (ids, values) = ([1_i32, -1, 0, 2, 1, 0], [0.5_f64, f64::INFINITY, 0.5, 1.0, 1.0, 3.0]);
    let import = |ids: &[i32], values: &[f64], columns| {
        Graph::import(Rows::new(ids, 2)?, Some(Rows::new(values, 2)?), 0, columns, true)
    };
    let graph = import(&ids, &values, 3).unwrap();
    // A place without a neighbour is passed over.
    assert_eq!(graph.neighbors(0).map(|n| (n.id, n.distance)).collect::<Vec<_>>(), [(1, 0.5)]);
    assert_eq!(graph.neighbors(2).rev().map(|n| n.id).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(graph.neighbors(0).rev().count(), 1);
    assert_eq!(graph.ids()[..2], [1, -1]);
    assert_eq!(graph.copy_ids::<i16>(1).unwrap()[..2], [2, 0]);
    is(import(&[1, 1, 0, 2, 1, 0], &values, 3).unwrap_err(), ErrorKind::Data, &["row 0"]);
    is(import(&[1, 3, 0, 2, 1, 0], &values, 3).unwrap_err(), ErrorKind::Data, &["3"]);
    is(import(&ids, &values, 4).unwrap_err(), ErrorKind::Range, &["4", "3"]);
    is(import(&ids, &values[..4], 3).unwrap_err(), ErrorKind::Argument, &["2", "3"]);
    assert_eq!(line(3).check(&graph, 0).unwrap(), Some(0));
    assert_eq!(graph.text("metric").unwrap(), "unknown");
    assert_eq!((graph.statistic("rows").unwrap(), graph.statistic("duplicates").unwrap()), (Some(3.0), None));
    is(graph.row_numbers("ties").unwrap_err(), ErrorKind::State, &["ties"]);
}

#[test]
fn facts() {
    let import = || Graph::import(Rows::new(&[1_i64, 0, 1], 1).unwrap(), None, 0, 3, true).unwrap();
    let told = |facts: Facts<'_>| import().describe(facts);
    let told_text = |name: &str, value: &str| told(Facts::new().text(name, value));
    assert_eq!(told_text("metric", "cityblock").unwrap().text("metric").unwrap(), "manhattan");
    let graph = told(Facts::new().text("metric", "minkowski").text("p", 1.75).text("device", "a\\b")).unwrap();
    let text = |name| graph.text(name).unwrap();
    assert_eq!((text("p"), text("device"), text("value")), ("1.75".into(), "a\\b".into(), "distance".into()));

    let graph = told(Facts::new().statistic("duplicates", 2.0).ties(&[0, 1, 1]).proof(&[4, 0, 4])).unwrap();
    let statistic = |name| graph.statistic(name).unwrap();
    assert_eq!(["duplicates", "ties_at_k", "proved"].map(statistic), [Some(2.0); 3]);
    assert_eq!((statistic("pairs"), graph.text("metric").unwrap()), (None, "unknown".into()));
    assert_eq!(graph.row_numbers("ties").unwrap(), [0, 1, 1]);
    assert_eq!(graph.row_numbers("proof").unwrap(), [4, 0, 4]);
    // What is not named stays.
    let graph = graph.describe(Facts::new().text("metric", "cosine")).unwrap();
    assert_eq!(graph.statistic("duplicates").unwrap(), Some(2.0));

    is(told_text("metric", "round").unwrap_err(), ErrorKind::Option, &["metric=round: it takes"]);
    is(told_text("metric", "cosine\ntext.value=similarity").unwrap_err(), ErrorKind::Option, &["metric=cosine"]);
    is(told_text("metric", "l1\0").unwrap_err(), ErrorKind::Argument, &["facts"]);
    is(told_text("metrik", "cosine").unwrap_err(), ErrorKind::Option, &["metrik", "metric"]);
    is(told_text("p=2\ntext.metric", "cosine").unwrap_err(), ErrorKind::Option, &["p=2"]);
    is(told_text("p", "2").unwrap_err(), ErrorKind::Data, &["minkowski"]);
    is(told(Facts::new().statistic("speed", 1.0)).unwrap_err(), ErrorKind::Option, &["speed", "pairs"]);
    is(told(Facts::new().statistic("rows", 4.0)).unwrap_err(), ErrorKind::Data, &["rows"]);
    is(told(Facts::new().statistic("pairs", f64::NAN)).unwrap_err(), ErrorKind::Data, &["pairs"]);
    is(told(Facts::new().statistic("ties_at_k", 3.0).ties(&[0, 1, 0])).unwrap_err(), ErrorKind::Data, &[]);
    is(told(Facts::new().ties(&[0, 1])).unwrap_err(), ErrorKind::Argument, &["ties", "2", "3"]);
    let error = told(Facts::new().proof(&[0, 5, 0])).unwrap_err();
    assert_eq!((error.argument(), error.row(), error.given(), error.limit()), ("proof", Some(1), Some(5), Some(4)));
    let built = line(3).build(1).unwrap();
    is(built.describe(Facts::new().text("metric", "cosine")).unwrap_err(), ErrorKind::State, &[]);
}

#[test]
#[should_panic(expected = "row 3 of a graph that has 3")]
fn no_such_row() {
    line(3).build(1).unwrap().neighbors(3);
}

#[test]
fn files() {
    let folder = std::env::temp_dir().join(format!("knng-rust-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (path, empty) = (folder.join("graph.knng"), folder.join("empty.npy"));
    let data = line(50);
    let graph = data.build(4).unwrap();
    graph.save(&path).unwrap();
    let loaded = Graph::load(&path).unwrap();
    assert_eq!((loaded.ids(), loaded.values()), (graph.ids(), graph.values()));
    assert_eq!(loaded.text("fingerprint").unwrap(), graph.text("fingerprint").unwrap());
    assert_eq!(loaded.statistic("rows").unwrap(), Some(50.0));
    assert_eq!(data.check(&loaded, 10).unwrap(), None);
    assert_eq!(data.with("metric", "dot").unwrap().check(&loaded, 0).unwrap(), Some(0));
    let imported = Graph::import(Rows::new(graph.ids(), 4).unwrap(), None, 0, 50, true).unwrap();
    let told = folder.join("told.knng");
    imported.describe(Facts::new().text("metric", "cosine").ties(&[0; 50])).unwrap().save(&told).unwrap();
    let told = Graph::load(&told).unwrap();
    assert_eq!((told.text("metric").unwrap(), told.statistic("ties_at_k").unwrap()), ("cosine".into(), Some(0.0)));
    let unnamed = folder.join("graph");
    is(graph.save(&unnamed).unwrap_err(), ErrorKind::Option, &["graph"]);
    graph.save_as(&unnamed, "knng").unwrap();
    assert_eq!(Graph::load(&unnamed).unwrap().ids(), graph.ids());
    std::fs::write(&empty, "").unwrap();
    is(Dataset::from_file(&empty).unwrap_err(), ErrorKind::Format, &["empty.npy"]);

    // count and dimension, then rows, as int32 and float32.
    let numbers: Vec<u8> = [3_i32, 1].iter().flat_map(|n| n.to_le_bytes()).collect();
    let rows: Vec<u8> = [0.0_f32, 5.0, 6.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    let points = folder.join("points.fbin");
    std::fs::write(&points, [numbers, rows].concat()).unwrap();
    let data = Dataset::from_file(&points).unwrap();
    assert_eq!(data.build(1).unwrap().ids(), [1, 2, 1]);
    assert_eq!(data.query_file(&points, 1).unwrap().ids(), [0, 1, 2]);

    let table = folder.join("table.csv");
    std::fs::write(&table, "gene;a;b\nx;1;2\ny;3;4\n").unwrap();
    let data = Dataset::from_file(&table).unwrap();
    let text = |name| data.file_text(0, name).unwrap();
    assert!(text("file").ends_with("table.csv") && text("matrix").is_empty());
    assert_eq!((text("header"), text("row_names"), text("separator")), ("yes".into(), "yes".into(), "semicolons".into()));
    is(data.file_text(1, "file").unwrap_err(), ErrorKind::Range, &["i=1", "0 to 0"]);
    is(data.file_text(0, "matrixes").unwrap_err(), ErrorKind::Option, &["matrixes", "matrix"]);
    is(line(3).file_text(0, "file").unwrap_err(), ErrorKind::Range, &["no rows were added from a file"]);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn printed() {
    let error = line(40).build(50).unwrap_err();
    let text = "k=50 needs at least 51 rows, the data set has 40";
    assert_eq!(error.to_string(), text);
    assert_eq!(format!("{error:?}"), format!("Range: {text}"));
    assert!(format!("{error:#?}").contains("limit: Some(\n        39,\n    ),\n"), "{error:#?}");

    let said = std::panic::catch_unwind(|| line(40).build(50).unwrap().rows()).unwrap_err();
    let said = said.downcast_ref::<String>().expect("a panic's text");
    assert!(said.ends_with(&format!(": Range: {text}")), "{said}");
}
