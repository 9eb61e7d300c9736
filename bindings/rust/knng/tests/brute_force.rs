//! Graphs and queries against a brute force that shares nothing with the library. Rows are small integers, for which these
//! distances are exact in f64 whatever the order of operations, so ids and values are compared without a tolerance.

use knng::{Dataset, Element, Graph, Rows};

/// Numbers from 0 to `limit - 1` of a linear congruential generator: small, so that there are ties and equal rows.
fn numbers(count: usize, limit: u32, mut state: u32) -> Vec<u8> {
    (0..count)
        .map(|_| {
            state = state.wrapping_mul(1664525).wrapping_add(1013904223);
            ((state >> 16) % limit) as u8
        })
        .collect()
}

type Metric = fn(&[u8], &[u8]) -> f64;

fn differences<'a>(x: &'a [u8], y: &'a [u8]) -> impl Iterator<Item = f64> + 'a {
    x.iter().zip(y).map(|(&a, &b)| (f64::from(a) - f64::from(b)).abs())
}

fn sqeuclidean(x: &[u8], y: &[u8]) -> f64 {
    differences(x, y).map(|d| d * d).sum()
}

fn negative_product(x: &[u8], y: &[u8]) -> f64 {
    -x.iter().zip(y).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum::<f64>()
}

const METRICS: [(&str, Metric); 4] = [
    ("sqeuclidean", sqeuclidean),
    ("manhattan", |x, y| differences(x, y).sum()),
    ("chebyshev", |x, y| differences(x, y).fold(0.0, f64::max)),
    ("inner_product", negative_product),
];

/// For every query its k nearest rows in order of (distance, id), without the row that is left out.
fn nearest(
    x: &[u8],
    queries: &[u8],
    d: usize,
    k: usize,
    metric: Metric,
    left_out: impl Fn(usize) -> Option<usize>,
) -> Vec<(usize, f64)> {
    let mut all = Vec::new();
    for (q, query) in queries.chunks(d).enumerate() {
        let distances = x.chunks(d).map(|row| metric(query, row)).enumerate();
        let mut list: Vec<_> = distances.filter(|&(id, _)| left_out(q) != Some(id)).collect();
        list.sort_by(|a, b| a.1.partial_cmp(&b.1).unwrap().then(a.0.cmp(&b.0)));
        all.extend(list.into_iter().take(k));
    }
    all
}

fn listed(graph: &Graph) -> Vec<(usize, f64)> {
    graph.iter().flatten().map(|n| (n.id, n.distance)).collect()
}

fn as_type<T: Element + From<u8>>(numbers: &[u8]) -> Vec<T> {
    numbers.iter().map(|&number| T::from(number)).collect()
}

fn graphs_of<T: Element + From<u8>>(x: &[u8], d: usize, k: usize, wanted: &[Vec<(usize, f64)>]) {
    let (n, typed) = (x.len() / d, as_type::<T>(x));
    let mut data = Dataset::from_rows(Rows::new(&typed, d).unwrap()).unwrap();
    for ((name, _), lists) in METRICS.iter().zip(wanted) {
        let graph = data.set("metric", name).unwrap().build(k).unwrap();
        assert_eq!(&listed(&graph), lists, "{name}, {n} x {d}, k = {k}, {:?}", T::DTYPE);
        assert_eq!((graph.rows(), graph.columns(), graph.width(), graph.same_points()), (n, n, k, true));
        assert_eq!(data.check(&graph, 0).unwrap(), None);
    }
}

#[test]
fn graphs_of_several_types() {
    for (n, d, k) in [(2, 1, 1), (40, 3, 39), (200, 17, 10), (500, 4, 3)] {
        let x = numbers(n * d, 7, (n * d) as u32);
        let wanted = METRICS.map(|(_, metric)| nearest(&x, &x, d, k, metric, Some));
        graphs_of::<u8>(&x, d, k, &wanted);
        graphs_of::<f32>(&x, d, k, &wanted);
        graphs_of::<f64>(&x, d, k, &wanted);
        graphs_of::<i32>(&x, d, k, &wanted);
        graphs_of::<u64>(&x, d, k, &wanted);
    }
}

#[test]
fn queries_and_what_they_leave_out() {
    let (d, k) = (5, 7);
    let (x, q) = (numbers(300 * d, 5, 1), numbers(60 * d, 5, 2));
    let mut data = Dataset::from_rows(Rows::new(&x, d).unwrap()).unwrap();
    let left_out: Vec<i64> = (0..60).map(|i| if i % 3 == 0 { -1 } else { i * 4 }).collect();
    for (name, metric) in METRICS {
        data.set("metric", name).unwrap();
        let graph = data.query(Rows::new(&q, d).unwrap(), k).unwrap();
        assert_eq!(listed(&graph), nearest(&x, &q, d, k, metric, |_| None), "{name}");
        assert_eq!((graph.rows(), graph.columns(), graph.same_points()), (60, 300, false));
        let rows = Rows::new(&q, d).unwrap();
        let graph = data.query_leaving_out(rows, k, &left_out).unwrap();
        let expected = nearest(&x, &q, d, k, metric, |i| usize::try_from(left_out[i]).ok());
        assert_eq!(listed(&graph), expected, "{name}, leaving out");
    }
}

#[test]
fn layouts_are_one_matrix() {
    let (n, d, k) = (150, 6, 5);
    let x: Vec<f32> = as_type(&numbers(n * d, 9, 3));
    let graph = |rows: Rows| Dataset::from_rows(rows).unwrap().build(k).unwrap();
    let wanted = graph(Rows::new(&x, d).unwrap());
    let same = |other: &Graph, what: &str| {
        assert_eq!(other.ids(), wanted.ids(), "{what}");
        assert_eq!(other.values(), wanted.values(), "{what}");
    };

    let mut turned = vec![0.0; n * d];
    for i in 0..n {
        for j in 0..d {
            turned[j * n + i] = x[i * d + j];
        }
    }
    same(&graph(Rows::column_major(&turned, n, d).unwrap()), "column-major");
    let reversed: Vec<f32> = x.iter().rev().copied().collect();
    let last = n * d - 1;
    same(&graph(Rows::strided(&reversed, last, n, d, -(d as isize), -1).unwrap()), "negative strides");
    let wide: Vec<f32> = x.chunks(d).flat_map(|row| [row, &[f32::NAN, 1e30]].concat()).collect();
    same(&graph(Rows::strided(&wide, 0, n, d, d as isize + 2, 1).unwrap()), "with columns that are none");
    let arrays: Vec<[f32; 6]> = x.chunks(d).map(|row| row.try_into().unwrap()).collect();
    same(&graph((&arrays).into()), "arrays");
    same(&graph(arrays.as_slice().into()), "a slice of arrays");

    let mut added = Dataset::new().unwrap();
    added.add_rows(Rows::new(&x[..60 * d], d).unwrap()).unwrap();
    added.borrow_rows(Rows::new(&x[60 * d..], d).unwrap()).unwrap();
    same(&added.build(k).unwrap(), "in parts");
    assert_eq!(added.read::<f32>(50, 20).unwrap(), x[50 * d..70 * d]);
    assert_eq!(added.read::<f64>(0, n).unwrap(), as_type::<f64>(&numbers(n * d, 9, 3)));
    same(&Dataset::from_owned(x.clone(), d).unwrap().build(k).unwrap(), "owned");
    same(&Dataset::from_owned(std::sync::Arc::<[f32]>::from(&x[..]), d).unwrap().build(k).unwrap(), "shared");
}

#[test]
fn self_first_and_similarity() {
    let (n, d, k) = (80, 4, 6);
    let x = numbers(n * d, 3, 4);
    let mut data = Dataset::from_rows(Rows::new(&x, d).unwrap()).unwrap();
    let first = data.set("self", "first").unwrap().set("metric", "l2sqr").unwrap().build(k).unwrap();
    data.set("self", "exclude").unwrap().set("metric", "dot").unwrap().set("value", "similarity").unwrap();
    let products = data.build(k).unwrap();
    let plain = nearest(&x, &x, d, k, sqeuclidean, Some);
    let by_product = nearest(&x, &x, d, k, negative_product, Some);
    assert_eq!(first.width(), k + 1);
    for i in 0..n {
        let list: Vec<_> = first.neighbors(i).map(|n| (n.id, n.distance)).collect();
        assert_eq!(list[0], (i, 0.0));
        assert_eq!(list[1..], plain[i * k..][..k]);
        let similar: Vec<_> = products.neighbors(i).map(|n| (n.id, -n.distance)).collect();
        assert_eq!(similar, by_product[i * k..][..k]);
    }
}

#[test]
fn sparse_rules() {
    let (n, d, k) = (120, 3, 4);
    let x = numbers(n * d, 6, 5);
    let graph = Dataset::from_rows(Rows::new(&x, d).unwrap()).unwrap().build(k).unwrap();
    let value_in = |i: usize, j: usize| graph.neighbors(i).find(|n| n.id == j).map(|n| n.distance);
    type Rule = fn(Option<f64>, Option<f64>) -> Option<f64>;
    let rules: [(&str, Rule); 3] =
        [("directed", |a, _| a), ("union", |a, b| a.or(b)), ("mutual", |a, b| b.and(a))];
    for (rule, keep) in rules {
        let mut wanted = Vec::new();
        for i in 0..n {
            wanted.extend((0..n).filter_map(|j| keep(value_in(i, j), value_in(j, i)).map(|value| (i, j, value))));
        }
        let matrix = graph.sparse(rule).unwrap();
        let entries: Vec<_> = matrix.iter().map(|e| (e.row, e.column, e.value)).collect();
        assert_eq!(entries, wanted, "{rule}");
        let by_row: Vec<_> = (0..n).flat_map(|i| matrix.row(i)).map(|e| (e.row, e.column, e.value)).collect();
        assert_eq!(by_row, wanted, "{rule} by row");
        let (csr, coo) = (matrix.to_csr::<i32, f64>(1).unwrap(), matrix.to_coo::<i64, f32>(0).unwrap());
        for (place, &(i, j, value)) in wanted.iter().enumerate() {
            assert!((csr.indptr[i]..csr.indptr[i + 1]).contains(&(place as i32 + 1)));
            assert_eq!((csr.indices[place], csr.values[place]), (j as i32 + 1, value));
            assert_eq!((coo.rows[place], coo.columns[place]), (i as i64, j as i64));
            assert_eq!(f64::from(coo.values[place]), value);
        }
        assert_eq!((matrix.rows(), matrix.columns(), matrix.len()), (n, n, wanted.len()));
    }
}
