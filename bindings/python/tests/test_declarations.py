"""The ctypes declarations are the headers': functions, structs, callbacks, constants, as bindings/api has them."""
import ctypes
import pathlib
import re
import sys
import unittest
from unittest import mock

import numpy as np

from knng import _declarations as c
from knng import _dtypes, _errors, _graph
from support import main

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "api"))
import table  # noqa: E402

API = table.read()
KINDS = {ctypes.c_int32: "i32", ctypes.c_int64: "i64", ctypes.c_uint32: "u32", ctypes.c_uint64: "u64",
         ctypes.c_double: "f64", ctypes.c_char_p: "pointer", ctypes.c_void_p: "pointer", None: "void"}
STRUCT_OF = {declared: name for name, declared in c.STRUCTS.items()}


def kind(declared):
    if declared in KINDS:
        return KINDS[declared]
    if issubclass(declared, ctypes.Array):
        return f"char[{declared._length_}]"
    return "function" if issubclass(declared, ctypes._CFuncPtr) else "pointer"


def points_to(declared, c_type):
    """Whether a declared pointer points to what the header says; what is opaque here may be any handle."""
    target = getattr(declared, "_type_", None)
    words = c_type.replace("const ", "").replace("volatile ", "").strip()
    if declared is ctypes.c_char_p:
        return words == "char *"
    if declared is ctypes.c_void_p:
        return words in ("void *", "knng *", "knng_graph *", "knng_sparse *")
    if target in STRUCT_OF:
        return words == f"{STRUCT_OF[target]} *"
    known = {ctypes.c_void_p: ("knng **", "knng_graph **", "knng_sparse **"), ctypes.c_char_p: ("char **",),
             ctypes.c_int64: ("int64_t *",), ctypes.c_int32: ("int32_t *",), ctypes.c_double: ("double *",)}
    return words in known[target]


def differences():
    """Everything that is declared otherwise than in the headers, as lines."""
    found = []
    for name in sorted(set(API.functions) ^ set(c.FUNCTIONS)):
        found.append(f"{name}: declared in one place only")
    for name in set(API.functions) & set(c.FUNCTIONS):
        result, arguments = c.FUNCTIONS[name]
        said = API.functions[name]
        if kind(result) != said.kind:
            found.append(f"{name}: returns {said.kind}")
        if len(arguments) != len(said.parameters):
            found.append(f"{name}: has {len(said.parameters)} parameters")
        for declared, (parameter, want, c_type) in zip(arguments, said.parameters):
            if kind(declared) != want or want == "pointer" and not points_to(declared, c_type):
                found.append(f"{name}: {parameter} is {c_type}")
    for name in sorted(set(API.structs) ^ set(c.STRUCTS)):
        found.append(f"{name}: declared in one place only")
    for name in set(API.structs) & set(c.STRUCTS):
        declared, said = c.STRUCTS[name], API.structs[name]
        here = [(field, getattr(declared, field).offset, getattr(declared, field).size, kind(of))
                for field, of in declared._fields_]
        if here != [field[:4] for field in said.fields] or ctypes.sizeof(declared) != said.size:
            found.append(f"{name}: fields or size")
        for (_, of), (field, _, _, want, c_type) in zip(declared._fields_, said.fields):
            if want == "pointer" and not points_to(of, c_type):
                found.append(f"{name}: {field} is {c_type}")
    for name, said in API.callbacks.items():
        struct, field = name.split(".")
        declared = dict(c.STRUCTS[struct]._fields_)[field]
        if [kind(declared._restype_), *map(kind, declared._argtypes_)] != [said.kind, *(p[1] for p in said.parameters)]:
            found.append(f"{name}: parameters")
    return found


class Declarations(unittest.TestCase):
    def test_they_are_the_headers(self):
        self.assertEqual(differences(), [])
        self.assertGreater(len(API.functions), 30)
        self.assertEqual(set(API.callbacks), {"knng_matrix.release", "knng_control.progress", "knng_control.log"})

    def test_a_difference_is_noticed(self):
        result, arguments = c.FUNCTIONS["knng_build"]
        for wrong in [(None, arguments), (result, arguments[:-1]),
                      (result, [arguments[0], ctypes.c_int32, *arguments[2:]]),
                      (result, [*arguments[:2], arguments[4], *arguments[3:]])]:
            with mock.patch.dict(c.FUNCTIONS, knng_build=wrong):
                self.assertTrue(any(line.startswith("knng_build:") for line in differences()))
        with mock.patch.dict(c.STRUCTS, knng_plan=c.Device):
            self.assertTrue(any(line.startswith("knng_plan:") for line in differences()))

    def test_constants(self):
        self.assertEqual(API.constants["KNNG_HEADER_VERSION"], c.HEADER_VERSION)
        codes = {value for name, value in API.constants.items() if name.startswith("KNNG_ERR_")}
        self.assertEqual(set(_errors.KINDS), codes)
        self.assertEqual((_dtypes.HOST, _dtypes.CUDA), (API.constants["KNNG_HOST"], API.constants["KNNG_CUDA"]))
        for name, numpy in {"I8": "i1", "I16": "i2", "I32": "i4", "I64": "i8", "U8": "u1", "U16": "u2", "U32": "u4",
                            "U64": "u8", "F16": "f2", "F32": "f4", "F64": "f8", "BOOL": "?"}.items():
            code = API.constants[f"KNNG_{name}"]
            self.assertEqual(_dtypes.dtype_code(np.dtype(numpy), "x"), code)
            self.assertEqual(_dtypes.numpy_dtype(code), np.dtype(numpy))
        self.assertEqual(_dtypes._BF16, API.constants["KNNG_BF16"])

    def test_names_of_texts(self):
        """Those that knng_graph_text() documents, which no function lists: here, and in R, which tells self itself."""
        root = pathlib.Path(__file__).resolve().parents[3]
        line, = re.findall(r"/\*\* A text of the build: (.*)\.$", (root / "include/knng/graph.h").read_text(), re.M)
        documented = set(re.findall(r'"(\w+)"', line))
        self.assertEqual(set(_graph.TEXTS), documented)
        words, = re.findall(r"^  words <- c\((.*)\)$", (root / "bindings/r/R/knng.R").read_text(), re.M)
        self.assertEqual(set(re.findall(r'"(\w+)"', words)), documented - {"self"})


if __name__ == "__main__":
    main()
