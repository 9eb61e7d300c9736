"""The C API as data: reads the headers and writes bindings/api/knng.tsv, or says whether it is stale.
    describe.py INCLUDE_FOLDER            writes the table to standard output
    describe.py INCLUDE_FOLDER --check    0: knng.tsv is what the headers say, 1: it is not, 77: pycparser is missing
Names and types come from pycparser, numbers (sizes, offsets, values) from the compiler that CC names, cc without it.
README.md beside this file says what the lines mean."""
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TABLE = pathlib.Path(__file__).resolve().parent / "knng.tsv"
COMPILER = os.environ.get("CC", "cc").split()
HEAD = """\
# The C API of libknng as data, made from include/ by bindings/api/describe.py. Do not edit: run
#   /usr/bin/python3 bindings/api/describe.py include > bindings/api/knng.tsv
# Fields are separated by one tab; README.md beside this file says what they are.
"""

# What the standard headers would declare, and how the table calls it.
KINDS = {"void": "void", "char": "char", "double": "f64", "float": "f32", "int": "i32"}
for bits in (8, 16, 32, 64):
    KINDS[f"int{bits}_t"], KINDS[f"uint{bits}_t"] = f"i{bits}", f"u{bits}"
STANDARD = """\
typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long int64_t;
typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t;
typedef unsigned long uint64_t; typedef unsigned long uintptr_t; typedef unsigned long size_t;
"""


def preprocess(include, *options):
    """knng.h without the standard headers and without compiler extensions."""
    with tempfile.TemporaryDirectory() as empty:
        for name in ("stddef.h", "stdint.h"):
            (pathlib.Path(empty) / name).write_text("")
        return subprocess.run([*COMPILER, "-std=c99", "-E", "-U__GNUC__", "-nostdinc", f"-I{empty}", f"-I{include}",
                               *options, str(pathlib.Path(include) / "knng.h")],
                              check=True, stdout=subprocess.PIPE, text=True).stdout


def ask_compiler(include, expressions, header="knng.h"):
    """The values of integer expressions, as the compiler sees them after including a header."""
    lines = "".join(f'  printf("%lld\\n", (long long)({expression}));\n' for expression in expressions)
    with tempfile.TemporaryDirectory() as folder:
        source, program = pathlib.Path(folder) / "ask.c", pathlib.Path(folder) / "ask"
        source.write_text(f"#include <stddef.h>\n#include <{header}>\n#include <stdio.h>\nint main(void) {{\n{lines}  return 0;\n}}\n")
        subprocess.run([*COMPILER, "-std=c11", f"-I{include}", str(source), "-o", str(program)], check=True)
        answers = subprocess.run([str(program)], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    return dict(zip(expressions, map(int, answers)))


class Description:
    """Lines of the table; a number is an expression in braces until the compiler has been asked."""

    def __init__(self, tree):
        from pycparser import c_ast, c_generator

        self.ast = c_ast
        self.generator = c_generator.CGenerator()
        self.kinds = dict(KINDS)
        self.lines = []
        for node in tree.ext:
            if isinstance(node, c_ast.Typedef):
                if node.coord is None or node.name not in KINDS and node.name not in ("uintptr_t", "size_t"):
                    self.typedef(node)
            elif isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.Enum):
                self.enumeration(node.type)
            elif isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.FuncDecl):
                self.function("function", node.name, node.type)
            elif not isinstance(node, c_ast.FuncDef):  # static inline: no symbol of the library
                raise SystemExit(f"describe.py: {node.coord}: {type(node).__name__} is not expected here")

    def add(self, *fields):
        self.lines.append("\t".join(map(str, fields)))

    def kind(self, node):
        """One word for how a value is passed: i32, u64, f64, void, pointer, function, a struct's name, char[32]."""
        if isinstance(node, self.ast.PtrDecl):
            return "function" if isinstance(node.type, self.ast.FuncDecl) else "pointer"
        if isinstance(node, self.ast.ArrayDecl):
            return f"{self.kind(node.type)}[{node.dim.value}]"
        name = " ".join(node.type.names)
        if name not in self.kinds:
            raise SystemExit(f"describe.py: type {name} is not known")
        return self.kinds[name]

    def c_type(self, node):
        """As C writes it, without the name."""
        node = self.ast.Typename(None, [], None, self.unnamed(node))
        return re.sub(r"\s+", " ", self.generator.visit(node)).strip()

    def unnamed(self, node):
        inner = node
        while not isinstance(inner, self.ast.TypeDecl):
            inner = inner.type
        inner.declname = None
        return node

    def typedef(self, node):
        inner = node.type
        if isinstance(inner, self.ast.TypeDecl) and isinstance(inner.type, self.ast.Struct):
            if inner.type.decls is None:
                self.kinds[node.name] = "opaque"
                self.add("opaque", node.name)
            else:
                self.struct(node.name, inner.type.decls)
        else:
            self.kinds[node.name] = self.kind(inner)
            self.add("alias", node.name, self.kind(inner), self.c_type(inner))

    def struct(self, name, members):
        self.kinds[name] = name
        self.add("struct", name, f"{{sizeof({name})}}", f"{{_Alignof({name})}}")
        callbacks = []
        for member in members:
            self.add("field", name, member.name, f"{{offsetof({name}, {member.name})}}",
                     f"{{sizeof((({name} *)0)->{member.name})}}", self.kind(member.type), self.c_type(member.type))
            if self.kind(member.type) == "function":
                callbacks.append((f"{name}.{member.name}", member.type.type))
        for callback in callbacks:
            self.function("callback", *callback)

    def enumeration(self, node):
        for item in node.values.enumerators:
            self.add("constant", item.name, f"{{{item.name}}}", "i32")

    def function(self, word, name, node):
        parameters = [p for p in (node.args.params if node.args else []) if self.kind(p.type) != "void"]
        self.add(word, name, self.kind(node.type), self.c_type(node.type), len(parameters))
        for place, parameter in enumerate(parameters, 1):
            own = parameter.name
            self.add("parameter", name, place, own, self.kind(parameter.type), self.c_type(parameter.type))


def describe(include):
    from pycparser import c_parser

    text = STANDARD + re.sub(r"^#.*$", "", preprocess(include), flags=re.M)
    lines = Description(c_parser.CParser().parse(text, "knng.h")).lines
    version = re.findall(r"^#define (KNNG_\w+) (0x[0-9a-fA-F]+|\d+)$", preprocess(include, "-dM"), flags=re.M)
    lines = [f"constant\t{name}\t{{{name}}}\ti32" for name, _ in sorted(version)] + lines
    asked = sorted({expression for line in lines for expression in re.findall(r"\{(.*?)\}", line)})
    answers = ask_compiler(include, asked)
    return HEAD + "".join(re.sub(r"\{(.*?)\}", lambda match: str(answers[match.group(1)]), line) + "\n"
                          for line in lines)


def main(include, *options):
    try:
        import pycparser  # noqa: F401
    except ImportError:
        print("pycparser is needed (Debian: python3-pycparser)")
        return 1 if os.environ.get("KNNG_CI") == "true" else 77
    text = describe(include)
    if options != ("--check",):
        sys.stdout.write(text)
        return 0
    there = TABLE.read_text()
    if there == text:
        return 0
    sys.stdout.writelines(difflib.unified_diff(there.splitlines(True), text.splitlines(True), "knng.tsv", "the headers"))
    print("bindings/api/knng.tsv is stale: its first lines say how it is made")
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
