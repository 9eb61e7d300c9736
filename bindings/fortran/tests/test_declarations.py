"""Module knng_c declares what bindings/api/knng.tsv says, asked of the Fortran compiler itself: gfortran writes C
prototypes for what a module binds to C, and a program prints the constants and what struct_size is set to.
    test_declarations.py FORTRAN_COMPILER MODULE_SOURCE
A declaration that is wrong on purpose must be noticed: of each kind there is one."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "api"))
import describe  # noqa: E402
import table  # noqa: E402

# Fortran has no unsigned integers and calls C's by their own names.
KINDS = {"u32": "i32", "u64": "i64"}
C_TYPES = {"int": "int32_t", "long": "int64_t"}
# What stands in the module, what stands there instead.
CHANGES = [
    ("knng_err_range = -2", "knng_err_range = -3"),
    ("function knng_version() bind(c)", "function knng_versions() bind(c)"),
    ("function knng_add(h, rows, control, error) bind(c)", "function knng_add(rows, h, control, error) bind(c)"),
    ("integer(c_int32_t) :: struct_size = 968", "integer(c_int32_t) :: struct_size = 960"),
    ("integer(c_int64_t) :: smallest_host", "integer(c_int32_t) :: smallest_host"),
    ("character(kind=c_char) :: argument(32)", "character(kind=c_char) :: argument(40)"),
    ("      integer(c_int64_t), value :: nq, k", "      integer(c_int32_t), value :: nq, k"),
    ("      real(c_double), intent(out) :: out", "      real(c_float), intent(out) :: out"),
    ("      type(knng_plan), intent(inout) :: out", "      type(knng_error), intent(inout) :: out"),
]
complaints = []


def check(right, what):
    if not right:
        complaints.append(f"knng_c: {what}")


def prototypes(compiler, source, folder):
    """What the module binds to C, as C."""
    # In a folder of its own: gfortran writes a module file where it is called, and reads those that lie there.
    text = subprocess.run([compiler, "-std=f2018", "-fc-prototypes", "-fsyntax-only", str(source)], check=True,
                          cwd=folder, stdout=subprocess.PIPE, text=True).stdout
    text = re.sub(r"#ifdef __cplusplus\n.*?#else\n.*?#endif\n", "", text, flags=re.S)
    text = re.sub(r"#ifdef __cplusplus\n.*?#endif\n", "", text, flags=re.S)
    return re.sub(r"^#.*\n", "", text, flags=re.M)


def declared(compiler, source, folder):
    """The same as an Api."""
    from pycparser import c_parser

    text = prototypes(compiler, source, folder)
    describe.KINDS["long"] = "i64"
    lines = describe.Description(c_parser.CParser().parse(text, "knng_c")).lines
    (folder / "declared.h").write_text(text)
    asked = sorted({expression for line in lines for expression in re.findall(r"\{(.*?)\}", line)})
    answers = describe.ask_compiler(folder, asked, "declared.h")
    (folder / "declared.tsv").write_text("".join(
        re.sub(r"\{(.*?)\}", lambda match: str(answers[match.group(1)]), line) + "\n" for line in lines))
    return table.read(folder / "declared.tsv")


def same_parameter(own, other):
    """own as Fortran declares it, other as the table has it: (name, kind, C type) both."""
    if own[0] != other[0] or own[1] != KINDS.get(other[1], other[1]):
        return False
    pointed, wanted = (re.sub(r"\bconst |\bvolatile | \*$", "", c_type) for c_type in (own[2], other[2]))
    if other[1] != "pointer":
        return True
    if pointed == "void":  # a handle, a pointer to a pointer and a buffer are addresses in Fortran
        return wanted in ("knng", "knng_graph", "knng_sparse", "void") or wanted.endswith("*") or other[2] == "char *"
    if own[2].startswith("const ") != other[2].startswith("const "):
        return False
    return C_TYPES.get(pointed, pointed) == wanted


def compare_functions(own, other):
    for name, function in other.items():
        if name not in own:
            check(False, f"{name} is not declared")
            continue
        mine = own[name]
        check(mine.kind == KINDS.get(function.kind, function.kind), f"{name} returns {mine.c_type}")
        check(len(mine.parameters) == len(function.parameters), f"{name} has {len(mine.parameters)} parameters")
        for one, two in zip(mine.parameters, function.parameters):
            check(same_parameter(one, two), f"{name}: {one[2]} {one[0]} instead of {two[2]} {two[0]}")
    for name in own:
        check(name in other, f"{name} is declared, and the library has no such function")


def compare_structs(own, other):
    check(sorted(own) == sorted(other), f"structs {sorted(own)}")
    for name in own.keys() & other.keys():
        check(own[name].size == other[name].size, f"{name} has {own[name].size} bytes, not {other[name].size}")
        mine = [field[:4] for field in own[name].fields]
        wanted = [(*field[:3], KINDS.get(field[3], field[3])) for field in other[name].fields]
        check(mine == wanted, f"fields of {name}: {[pair for pair in zip(mine, wanted) if pair[0] != pair[1]]}")


def compare_numbers(compiler, source, api, folder):
    """Constants, and struct_size as it is set beforehand."""
    lines = [f'print *, "{name}", {name}' for name in api.constants]
    lines += [f'print *, "{name}", of_{name}%struct_size, c_sizeof(of_{name})' for name in api.structs]
    types = [f"type({name}) :: of_{name}" for name in api.structs]
    program = folder / "numbers.f90"
    program.write_text("\n".join(["program numbers", "use knng_c", "implicit none", *types, *lines, "end program", ""]))
    subprocess.run([compiler, str(source), str(program), "-o", "numbers"], check=True, cwd=folder)
    said = subprocess.run([str(folder / "numbers")], check=True, stdout=subprocess.PIPE, text=True).stdout
    numbers = {words[0]: [int(word) for word in words[1:]] for words in map(str.split, said.splitlines())}
    for name, value in api.constants.items():
        check(numbers[name] == [value], f"{name} is {numbers[name]}, not {value}")
    for name, struct in api.structs.items():
        check(numbers[name] == [struct.size] * 2, f"{name}: struct_size and size are {numbers[name]}")


def compare(compiler, source, api):
    """What is wrong with a source of the module."""
    complaints.clear()
    callbacks = {f"{word}_callback": api.callbacks[member] for word, member in (
        ("knng_progress", "knng_control.progress"), ("knng_log", "knng_control.log"),
        ("knng_release", "knng_matrix.release"))}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        own = declared(compiler, source, folder)
        compare_functions(own.functions, {**api.functions, **callbacks})
        compare_structs(own.structs, api.structs)
        compare_numbers(compiler, source, api, folder)
    return list(complaints)


def main(compiler, source):
    try:
        import pycparser  # noqa: F401
    except ImportError:
        print("skipped: pycparser is needed (Debian: python3-pycparser)")
        return 1 if os.environ.get("KNNG_CI") == "true" else 77
    api = table.read()
    # Text that a callback gets is an address.
    for function in api.callbacks.values():
        function.parameters = [(name, kind, "void *" if kind == "pointer" else c_type)
                               for name, kind, c_type in function.parameters]
    source = pathlib.Path(source).resolve()
    said = compare(compiler, source, api)
    print(*said, f"{len(api.functions)} functions, {len(api.structs)} structs, {len(api.constants)} constants", sep="\n")
    text = source.read_text()
    for there, instead in CHANGES:
        if text.count(there) == 0:
            sys.exit(f"\"{there}\" is not in the module any more: the test must follow")
        with tempfile.TemporaryDirectory() as name:
            changed = pathlib.Path(name) / "changed.f90"
            changed.write_text(text.replace(there, instead, 1))
            if not compare(compiler, changed, api):
                sys.exit(f"\"{instead}\" is not noticed")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
