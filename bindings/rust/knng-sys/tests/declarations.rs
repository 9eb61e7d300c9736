//! The declarations are those of the C headers: names, types, values, sizes and offsets, compared with the table that
//! bindings/api makes from the headers. Sizes and offsets are this compiler's.

use knng_sys::*;
use std::collections::BTreeMap;
use std::mem::{align_of, size_of, MaybeUninit};
use std::ptr::addr_of;

const SOURCE: &str = include_str!("../src/lib.rs");

/// The table's lines, split at tabs.
fn table() -> Vec<Vec<String>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../api/knng.tsv");
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let lines: Vec<Vec<String>> =
        text.lines().filter(|l| !l.starts_with('#')).map(|l| l.split('\t').map(String::from).collect()).collect();
    assert!(lines.len() > 100, "{path} has {} lines", lines.len());
    lines
}

fn of_kind<'t>(table: &'t [Vec<String>], kind: &str) -> Vec<&'t [String]> {
    table.iter().filter(|line| line[0] == kind).map(|line| &line[1..]).collect()
}

/// The Rust type that a C type is declared as.
fn rust_type(c: &str) -> String {
    let c = c.trim();
    if let Some(rest) = c.strip_suffix('*') {
        let rest = rest.trim();
        // Of the last const only: `const char **` is a pointer to a pointer to const.
        let (target, constant) = match rest.strip_suffix('*') {
            Some(_) => (rest, false),
            None => (rest.strip_prefix("const ").unwrap_or(rest), rest.starts_with("const ")),
        };
        return format!("*{} {}", if constant { "const" } else { "mut" }, rust_type(target));
    }
    if let Some((element, count)) = c.split_once('[') {
        return format!("[{}; {}]", rust_type(element), count.trim_end_matches(']'));
    }
    let name = match c.strip_prefix("volatile ").unwrap_or(c) {
        "int8_t" => "i8",
        "int32_t" => "i32",
        "int64_t" => "i64",
        "uint32_t" => "u32",
        "uint64_t" => "u64",
        "double" => "f64",
        "char" => "c_char",
        "void" => "c_void",
        name => name,
    };
    name.into()
}

/// Source text without line breaks and runs of blanks.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace("( ", "(").replace(", )", ")").replace(",)", ")")
}

/// `name: type, name: type` as pairs, of types without commas within.
fn parameters(text: &str) -> Vec<(String, String)> {
    let pair = |part: &str| {
        let (name, of) = part.split_once(':').unwrap_or_else(|| panic!("no type in: {part}"));
        (name.trim().trim_start_matches("r#").to_string(), of.trim().to_string())
    };
    text.split(',').filter(|part| !part.trim().is_empty()).map(pair).collect()
}

/// What stands between `open` and its closing bracket, and what follows.
fn bracketed(text: &str) -> (&str, &str) {
    let mut depth = 0;
    for (place, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return (&text[1..place], &text[place + 1..]);
        }
    }
    panic!("no closing bracket in: {text}");
}

/// A function, parameters and result: of the table's lines `owner` and `parameter`, in Rust types.
fn signatures(table: &[Vec<String>], owner: &str) -> BTreeMap<String, (Vec<(String, String)>, String)> {
    let mut all: BTreeMap<_, _> = of_kind(table, owner)
        .into_iter()
        .map(|line| (line[0].clone(), (Vec::new(), rust_type(&line[2]), line[3].parse::<usize>().unwrap())))
        .collect();
    for line in of_kind(table, "parameter") {
        if let Some((parameters, _, _)) = all.get_mut(&line[0]) {
            parameters.push((line[2].clone(), rust_type(&line[4])));
        }
    }
    all.into_iter()
        .map(|(name, (parameters, result, count))| {
            assert_eq!(parameters.len(), count, "{name}");
            (name, (parameters, if result == "c_void" { String::new() } else { result }))
        })
        .collect()
}

#[test]
fn functions() {
    let wanted = signatures(&table(), "function");
    let block = SOURCE.split_once("extern \"C\" {\n").expect("a block of functions").1;
    let block = flat(&block.lines().filter(|l| !l.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n"));
    let mut declared = BTreeMap::new();
    for function in block.split("pub fn ").skip(1) {
        let start = function.find('(').expect("parameters");
        let (inside, rest) = bracketed(&function[start..]);
        let result = rest.split(';').next().unwrap().trim().trim_start_matches("->").trim().to_string();
        declared.insert(function[..start].to_string(), (parameters(inside), result));
    }
    assert!(declared.len() > 30);
    assert_eq!(declared, wanted);
}

#[test]
fn constants() {
    let wanted: BTreeMap<String, i64> =
        of_kind(&table(), "constant").into_iter().map(|line| (line[0].clone(), line[1].parse().unwrap())).collect();
    let mut declared = BTreeMap::new();
    for line in SOURCE.lines().filter_map(|line| line.strip_prefix("pub const KNNG_")) {
        let (name, rest) = line.split_once(": i32 = ").unwrap_or_else(|| panic!("no i32: {line}"));
        let value = rest.trim_end_matches(';');
        let number = match value.strip_prefix("0x") {
            Some(digits) => i64::from_str_radix(digits, 16),
            None => value.parse(),
        };
        declared.insert(format!("KNNG_{name}"), number.unwrap());
    }
    assert!(declared.len() > 30);
    assert_eq!(declared, wanted);
}

#[test]
fn callbacks() {
    for (name, (wanted, result)) in signatures(&table(), "callback") {
        let (owner, field) = name.split_once('.').unwrap();
        let body = SOURCE.split_once(&format!("pub struct {owner} {{")).expect(owner).1;
        let body = flat(body);
        let start = body.find(&format!("pub {field}: Option<unsafe extern \"C\" fn(")).expect(field);
        let text = &body[start..];
        let (inside, rest) = bracketed(&text[text.find("fn(").unwrap() + 2..]);
        let declared = rest.split('>').next().unwrap().trim().to_string();
        let declared = if declared == "-" { rest[rest.find("->").unwrap() + 2..].split('>').next().unwrap().trim() } else { "" };
        assert_eq!(parameters(inside), wanted, "{name}");
        assert_eq!(declared, result, "{name}");
    }
}

/// Name, offset and size of every field, and size and alignment of the struct, as the compiler lays it out. A field that
/// is not named does not compile.
macro_rules! layout {
    ($name:ident { $($field:ident),* }) => {{
        let whole = MaybeUninit::<$name>::uninit();
        let base = whole.as_ptr();
        #[allow(dead_code)]
        fn all_fields(whole: $name) {
            let $name { $($field: _),* } = whole;
        }
        let fields = vec![$({
            let field = unsafe { addr_of!((*base).$field) };
            let size = size_behind(field);
            (stringify!($field).trim_start_matches("r#").to_string(), field as usize - base as usize, size)
        }),*];
        (stringify!($name).to_string(), (size_of::<$name>(), align_of::<$name>(), fields))
    }};
}

fn size_behind<T>(_: *const T) -> usize {
    size_of::<T>()
}

#[test]
fn layouts() {
    let declared: BTreeMap<_, _> = [
        layout!(knng_matrix {
            struct_size, dtype, space, device, rows, cols, row_stride, col_stride, stream, data, release, owner
        }),
        layout!(knng_control { struct_size, interval_ms, progress, log, user, stop, max_bytes }),
        layout!(knng_error { struct_size, code, row, col, given, limit, argument, message, reason }),
        layout!(knng_option { struct_size, r#type, name, fallback, range, doc, environment }),
        layout!(knng_plan {
            struct_size, devices, host_bytes, device_bytes, smallest_host, smallest_device, tile_rows, tile_cols, tiles,
            seconds
        }),
        layout!(knng_device { struct_size, usable, memory, memory_free, name, why_not }),
    ]
    .into_iter()
    .collect();

    let table = table();
    let number = |text: &String| text.parse::<usize>().unwrap();
    let mut wanted = BTreeMap::new();
    for line in of_kind(&table, "struct") {
        wanted.insert(line[0].clone(), (number(&line[1]), number(&line[2]), Vec::new()));
    }
    for line in of_kind(&table, "field") {
        wanted.get_mut(&line[0]).unwrap().2.push((line[1].clone(), number(&line[2]), number(&line[3])));
    }
    assert_eq!(declared, wanted);
}

#[test]
fn field_types() {
    for line in of_kind(&table(), "field").into_iter().filter(|line| line[4] != "function") {
        let (owner, field, c) = (&line[0], &line[1], &line[5]);
        let body = SOURCE.split_once(&format!("pub struct {owner} {{")).expect(owner).1;
        let body = body.split_once("\n}").unwrap().0;
        let wanted = format!("pub {}: {},", if field == "type" { "r#type" } else { field }, rust_type(c));
        assert!(body.contains(&wanted), "{owner}: no field declared as {wanted}");
    }
}

#[test]
fn inline_functions() {
    let data = [1.0_f32; 6];
    let m = knng_matrix::packed(KNNG_F32, 3, 2, data.as_ptr().cast());
    assert_eq!((m.struct_size as usize, m.dtype, m.space, m.rows, m.cols), (80, KNNG_F32, KNNG_HOST, 3, 2));
    assert_eq!((m.row_stride, m.col_stride, m.stream, m.release.is_none()), (0, 0, 0, true));
    let e = knng_error::none();
    assert_eq!((e.struct_size as usize, e.code, e.row, e.col, e.given, e.limit), (968, KNNG_OK, -1, -1, -1, -1));
    // The library takes a struct of this size.
    let mut raw = e;
    let mut h = std::ptr::null_mut();
    assert_eq!(unsafe { knng_create(&mut h, 0, 0, &mut raw) }, KNNG_OK);
    assert_eq!(unsafe { knng_build(h, 1, std::ptr::null(), std::ptr::null_mut(), &mut raw) }, KNNG_ERR_ARGUMENT);
    assert_eq!(raw.code, KNNG_ERR_ARGUMENT);
    assert_ne!(raw.message[0], 0);
    unsafe { knng_destroy(h) };
}
