"""src/api.jl declares what the C headers do: every function with its types, every struct with its offsets, every constant.
    check_declarations.py API_FILE
Julia lays out a struct as C does: each field at the next multiple of its alignment. Nothing of Julia is needed."""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[2] / "api"))
import table  # noqa: E402

STRUCTS = {"knng_matrix": "CMatrix", "knng_control": "CControl", "knng_error": "CError", "knng_option": "COption",
           "knng_plan": "CPlan", "knng_device": "CDevice"}
VALUES = {"int32_t": "Int32", "int64_t": "Int64", "uint32_t": "UInt32", "uint64_t": "UInt64", "double": "Float64",
          "knng_status": "Int32", "void": "Cvoid"}
TARGETS = {"char": "UInt8", "void": "Cvoid", "int32_t": "Int32", "int64_t": "Int64", "double": "Float64",
           "knng": "Cvoid", "knng_graph": "Cvoid", "knng_sparse": "Cvoid", **STRUCTS}
SIZES = {"Int32": 4, "UInt32": 4, "Int64": 8, "UInt64": 8, "Float64": 8, "UInt8": 1}


def julia_type(c_type, result=False):
    """The Julia type of an argument, a result or a field."""
    words = re.sub(r"\b(const|volatile)\b", "", c_type).replace("*", " * ").split()
    name, stars = words[0], words.count("*")
    if not stars:
        return VALUES[name]
    if name == "char" and stars == 1 and c_type.startswith("const") and not result:
        return "Cstring"
    inner = TARGETS[name]
    for _ in range(stars):
        inner = f"Ptr{{{inner}}}"
    return inner


def size_of(julia):
    if array := re.fullmatch(r"NTuple\{(\d+),UInt8\}", julia):
        return int(array[1]), 1
    size = 8 if julia.startswith("Ptr{") else SIZES[julia]
    return size, size


def split_types(text):
    """Types between commas that are in no braces."""
    return [part.strip() for part in re.split(r",(?![^{]*\})", text) if part.strip()]


def check(source):
    api, wrong = table.read(), []

    def differ(what, declared, wanted):
        if declared != wanted:
            wrong.append(f"{what}: {declared} in api.jl, {wanted} in the headers")

    constants = {name: int(value) for name, value in re.findall(r"^const (KNNG_\w+) = Int32\((-?\d+)\)$", source, re.M)}
    differ("constants", constants, api.constants)

    flat = re.sub(r"\s+", " ", source)
    calls = re.findall(r"(knng_\w+)\(([\w, ]*)\) = ccall\(symbol\(:(\w+)\), ([^,]+), \((.*?)\)((?:, \w+)*)\)", flat)
    differ("functions", [call[0] for call in calls], list(api.functions))
    differ("calls of the library", source.count("ccall("), len(calls) + 1)  # and one in the comment that says the form
    for name, parameters, called, result, types, arguments in calls:
        function = api.functions[name]
        differ(f"{name}: name", called, name)
        differ(f"{name}: result", result, julia_type(function.c_type, result=True))
        names = [parameter[0] for parameter in function.parameters]
        differ(f"{name}: parameters", [p.strip() for p in parameters.split(",") if p.strip()], names)
        differ(f"{name}: arguments", [a.strip() for a in arguments.split(",") if a.strip()], names)
        differ(f"{name}: types", split_types(types), [julia_type(c_type) for _, _, c_type in function.parameters])

    structs = dict(re.findall(r"^struct (C\w+) # \w+\n(.*?)^end$", source, re.M | re.S))
    differ("structs", sorted(structs), sorted(STRUCTS[name] for name in api.structs))
    for name, struct in api.structs.items():
        declared, offset, most = [], 0, 1
        for field, julia in re.findall(r"^    (\w+)::(\S+)$", structs[STRUCTS[name]], re.M):
            size, align = size_of(julia)
            offset = -(-offset // align) * align
            declared.append((field, offset, size))
            offset, most = offset + size, max(most, align)
        differ(f"{name}: fields", declared, [field[:3] for field in struct.fields])
        differ(f"{name}: size", (-(-offset // most) * most, most), (struct.size, struct.align))
        for field, _, _, kind, c_type in struct.fields:
            found = re.search(rf"^    {field}::(\S+)$", structs[STRUCTS[name]], re.M)
            julia = found[1] if found else "nothing"
            if kind in ("i32", "u32", "i64", "u64", "f64"):
                differ(f"{name}.{field}: type", julia, julia_type(c_type))
            elif not kind.startswith("char["):
                differ(f"{name}.{field}: a pointer", julia.startswith("Ptr{"), True)
    return wrong


def arguments_of(text, start):
    """How many arguments stand in the brackets that open at `start`."""
    depth, commas, empty = 0, 0, True
    for c in text[start:]:
        depth += (c in "([{") - (c in ")]}")
        if depth == 0:
            return 0 if empty else commas + 1
        commas += c == "," and depth == 1
        empty = empty and (c in "(" or c.isspace())
    raise ValueError("brackets that do not close")


def check_uses(folder):
    """The other files call functions that there are, with as many arguments as they have."""
    api, wrong, seen = table.read(), [], set()
    for file in sorted(folder.glob("*.jl")):
        text = re.sub(r"^\s*#.*$", "", file.read_text(), flags=re.M)
        for use in re.finditer(r"\b(knng_\w+)\(", text):
            name, count = use[1], arguments_of(text, use.end() - 1)
            if name not in api.functions:
                wrong.append(f"{file.name}: {name} is no function of the library")
            elif count != len(api.functions[name].parameters):
                wrong.append(f"{file.name}: {name} with {count} arguments instead of {len(api.functions[name].parameters)}")
            if file.name != "api.jl":
                seen.add(name)
        wrong += [f"{file.name}: a call of its own" for _ in re.finditer(r"ccall\(symbol|ccall\(\(", text) if file.name != "api.jl"]
        for build in re.finditer(r"\b(C(?:Matrix|Control|Option|Plan))\(", text):
            fields = len(api.structs[{v: k for k, v in STRUCTS.items()}[build[1]]].fields)
            count = arguments_of(text, build.end() - 1)
            if count != fields:
                wrong.append(f"{file.name}: {build[1]} of {count} members instead of {fields}")
    assert len(seen) > 25, f"only {len(seen)} functions were seen in use"
    return wrong


def check_notices(source):
    """What a wrong declaration looks like is found, whatever it is."""
    changes = [("Int32(0)", "Int32(1)"), ("knng_create(out, dim,", "knng_create(dim, out,"), ("Int64, Int64, Ptr{CPlan}", "Int64, Ptr{CPlan}"),
               ("    device::Int32", "    device::Int64"), ("    rows::Int64", "    rows::UInt64"),
               ("NTuple{480,UInt8}", "NTuple{479,UInt8}"), (":knng_share)", ":knng_create)"),
               ("    tiles::Int64\n", ""), ("Ptr{CMatrix}", "Ptr{CControl}"), ("Cstring", "Ptr{UInt8}")]
    for before, after in changes:
        assert before in source, before
        assert check(source.replace(before, after, 1)), f"{after} instead of {before} was not noticed"


def main(path):
    source = pathlib.Path(path).read_text()
    wrong = check(source) + check_uses(pathlib.Path(path).parent)
    if wrong:
        sys.exit("\n".join(wrong))
    check_notices(source)
    print(f"{path}: as the headers")


if __name__ == "__main__":
    main(*sys.argv[1:])
