//! Callbacks, panics, stopping, threads and ownership: what a wrapper adds to the library and could get wrong.

use knng::{Control, Dataset, ErrorKind, Graph, Level, Rows, Sparse, Stop};
use std::ops::ControlFlow;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn points(n: usize, d: usize) -> Vec<f32> {
    let mut state = 1_u32;
    (0..n * d)
        .map(|_| {
            state = state.wrapping_mul(1664525).wrapping_add(1013904223);
            (state >> 16) as f32
        })
        .collect()
}

/// A build of these under manhattan takes many seconds.
fn large() -> Dataset<'static> {
    let data = Dataset::from_owned(points(60_000, 64), 64).unwrap();
    data.with("metric", "manhattan").unwrap().with("device", "cpu").unwrap().with("threads", 2).unwrap()
}

#[test]
fn progress_is_seen_and_stops() {
    let data = large();
    let mut calls = 0;
    let mut control = Control::new().interval(Duration::from_millis(10)).progress(|p| {
        assert!(!p.stage.is_empty() && (0.0..=1.0).contains(&p.fraction()));
        calls += 1;
        if calls == 3 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    let error = data.build_with(10, &mut control).unwrap_err();
    drop(control);
    assert_eq!((error.kind(), calls), (ErrorKind::Cancelled, 3));
}

#[test]
fn stop_from_another_thread() {
    let (data, stop) = (large(), Stop::new());
    let started = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(200));
            stop.stop();
        });
        let error = data.build_with(10, &mut Control::new().stop(&stop)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
    });
    assert!(started.elapsed() < Duration::from_secs(10));
    assert!(stop.is_set());
    stop.reset();
    assert!(!stop.is_set());
}

#[test]
fn stop_reaches_every_call() {
    let path = |name: &str| std::env::temp_dir().join(format!("knng-stop-{}-{name}", std::process::id()));
    let (file, graph_file, none) = (path("points.fbin"), path("graph.knng"), path("none.knng"));
    std::fs::write(&file, [&[2, 0, 0, 0, 1, 0, 0, 0][..], &[0; 8]].concat()).unwrap(); // 2 x 1 of float32
    let x = points(300, 1);
    let rows = Rows::new(&x, 1).unwrap();
    let (data, mut other) = (Dataset::from_rows(rows).unwrap(), Dataset::new().unwrap());
    let graph = data.build(2).unwrap();
    graph.save(&graph_file).unwrap();

    let stop = Stop::new();
    stop.stop();
    let c = &mut Control::new().stop(&stop);
    let stopped = [
        other.borrow_rows_with(rows, c).err(),
        other.add_rows_with(rows, c).err(),
        other.add_file_with(&file, c).err(),
        data.build_with(2, c).err(),
        data.query_with(rows, 2, c).err(),
        data.query_leaving_out_with(rows, 2, &[0; 300], c).err(),
        data.query_file_with(&file, 2, c).err(),
        data.check_with(&graph, 0, c).err(),
        graph.sparse_with("union", c).err(),
        graph.save_with(&none, c).err(),
        graph.save_as_with(&none, "knng", c).err(),
        Graph::load_with(&graph_file, c).err(),
    ];
    let kinds = stopped.map(|error| error.map(|error| error.kind()));
    assert_eq!(kinds, [Some(ErrorKind::Cancelled); 12]);
    assert!(!none.exists() && other.rows() == 0);
    assert_eq!(data.query_file(&file, 2).unwrap().rows(), 2); // without the flag
    for file in [file, graph_file] {
        std::fs::remove_file(file).unwrap();
    }
}

static INTERRUPTED: Stop = Stop::new();

extern "C" fn on_interrupt(_number: i32) {
    INTERRUPTED.stop();
}

extern "C" {
    fn signal(number: i32, handler: extern "C" fn(i32)) -> usize;
    fn raise(number: i32) -> i32;
}

#[test]
fn stop_from_a_signal_handler() {
    const SIGINT: i32 = 2;
    unsafe { signal(SIGINT, on_interrupt) };
    let data = large();
    let mut sent = None;
    let mut control = Control::new().stop(&INTERRUPTED).interval(Duration::from_millis(10)).progress(|_| {
        sent.get_or_insert_with(|| {
            unsafe { raise(SIGINT) };
            Instant::now()
        });
        ControlFlow::Continue(())
    });
    let error = data.build_with(10, &mut control).unwrap_err();
    drop(control);
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert!(sent.expect("a call of progress").elapsed() < Duration::from_secs(5));
}

fn message_of(payload: Box<dyn std::any::Any + Send>) -> String {
    payload.downcast_ref::<&str>().map_or_else(String::new, |text| text.to_string())
}

#[test]
fn panic_in_progress_goes_on_in_the_caller() {
    let data = large();
    let started = Instant::now();
    let caught = catch_unwind(AssertUnwindSafe(|| {
        let mut control = Control::new().interval(Duration::from_millis(10)).progress(|_| panic!("in progress"));
        data.build_with(10, &mut control)
    }));
    assert_eq!(message_of(caught.unwrap_err()), "in progress");
    assert!(started.elapsed() < Duration::from_secs(10), "the build went on");
    assert_eq!(data.rows(), 60_000); // still good
}

/// A data set, and a graph of it under another metric, at which a check wonders in the log.
fn with_a_warning() -> (Dataset<'static>, Graph) {
    let data = Dataset::from_owned(points(300, 4), 4).unwrap();
    let graph = data.build(5).unwrap();
    (data.with("metric", "manhattan").unwrap(), graph)
}

#[test]
fn panic_in_log_goes_on_in_the_caller() {
    let (data, graph) = with_a_warning();
    let mut lines = Vec::new();
    let mut control = Control::new().log(|level, line| lines.push((level, line.to_string())));
    assert!(data.check_with(&graph, 0, &mut control).unwrap().is_some());
    drop(control);
    assert!(lines.iter().all(|(level, _)| *level == Level::Warning), "{lines:?}");
    assert!(lines.iter().any(|(_, line)| line.contains("manhattan")), "{lines:?}");
    assert!(lines.iter().any(|(_, line)| line.starts_with("of 300 rows checked, ")), "{lines:?}");

    let mut calls = 0;
    let caught = catch_unwind(AssertUnwindSafe(|| {
        let mut control = Control::new().log(|_, _| {
            calls += 1;
            panic!("in log")
        });
        data.check_with(&graph, 0, &mut control)
    }));
    assert_eq!((message_of(caught.unwrap_err()).as_str(), calls), ("in log", 1)); // of several lines
    assert!(lines.len() > 1);
}

struct Counted {
    numbers: Vec<f32>,
    drops: Arc<AtomicUsize>,
    panics: bool,
}

impl AsRef<[f32]> for Counted {
    fn as_ref(&self) -> &[f32] {
        &self.numbers
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.drops.fetch_add(1, Ordering::SeqCst);
        if self.panics {
            panic!("in drop");
        }
    }
}

#[test]
fn owners_are_dropped_once() {
    let drops = Arc::new(AtomicUsize::new(0));
    let count = || drops.load(Ordering::SeqCst);
    let owner = |numbers, panics| Counted { numbers, drops: drops.clone(), panics };

    let data = Dataset::from_owned(owner(points(20, 2), false), 2).unwrap();
    let second = data.share().unwrap();
    drop(data);
    assert_eq!(count(), 0);
    let graph = second.build(3).unwrap();
    std::thread::spawn(move || drop(second)).join().unwrap(); // on another thread
    assert_eq!(count(), 1);
    assert_eq!(graph.rows(), 20);

    // Refused by the library, and before it.
    let error = Dataset::from_owned(owner(vec![1.0, f32::NAN], false), 1).unwrap_err();
    assert_eq!((error.kind(), error.row(), count()), (ErrorKind::Data, Some(1), 2));
    assert!(Dataset::from_owned(owner(vec![1.0; 3], false), 2).is_err());
    assert_eq!(count(), 3);

    let data = Dataset::from_owned(owner(points(20, 2), true), 2).unwrap();
    let caught = catch_unwind(AssertUnwindSafe(|| drop(data)));
    assert_eq!((message_of(caught.unwrap_err()).as_str(), count()), ("in drop", 4));

    // Rows within the owner itself, which moves once more on its way.
    let inline = Dataset::from_owned([0.0_f32, 1.0, 3.0], 1).unwrap();
    assert_eq!(inline.build(1).unwrap().ids(), [1, 0, 1]);
}

#[test]
fn many_threads_use_one_data_set() {
    fn send_and_sync<T: Send + Sync>() {}
    send_and_sync::<Dataset<'static>>();
    send_and_sync::<Graph>();
    send_and_sync::<Sparse>();
    send_and_sync::<Stop>();
    send_and_sync::<knng::Error>();

    let x = points(400, 6);
    let data = Dataset::from_rows(Rows::new(&x, 6).unwrap()).unwrap().with("threads", 1).unwrap();
    let wanted = data.build(7).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5 {
                    let graph = data.build(7).unwrap();
                    assert_eq!((graph.ids(), graph.values()), (wanted.ids(), wanted.values()));
                    assert_eq!(data.build(400).unwrap_err().kind(), ErrorKind::Range);
                    let query = data.query(Rows::new(&x[..12], 6).unwrap(), 1).unwrap();
                    assert_eq!(query.values().iter().sum::<f64>(), 0.0);
                }
            });
        }
    });
}

#[test]
fn a_callback_may_use_the_data_set() {
    let (data, graph) = with_a_warning();
    let mut width = None;
    data.check_with(&graph, 0, &mut Control::new().log(|_, _| width = Some(data.build(2).unwrap().width()))).unwrap();
    assert_eq!(width, Some(2));
}

extern "C" {
    fn fork() -> i32;
    fn waitpid(child: i32, status: *mut i32, options: i32) -> i32;
    fn _exit(status: i32) -> !;
}

#[test]
fn a_child_goes_on_after_fork() {
    let data = Dataset::from_owned(points(300, 4), 4).unwrap().with("threads", 2).unwrap();
    let graph = data.build(5).unwrap();
    let child = unsafe { fork() };
    if child == 0 {
        let same = data.build(5).map_or(false, |again| again.ids() == graph.ids());
        drop(data); // as the parent will
        unsafe { _exit(if same { 0 } else { 1 }) };
    }
    let mut status = -1;
    assert_eq!((unsafe { waitpid(child, &mut status, 0) }, status), (child, 0));
    assert_eq!(data.build(5).unwrap().ids(), graph.ids());
}
