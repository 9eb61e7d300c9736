"""The R package declares nothing of the library a second time: its C includes knng.h, and calls what the API as data has,
with as many arguments. And its routines have as many arguments where they are declared, registered and called from R.
Nothing of R is needed.    test_declarations.py PACKAGE_FOLDER"""
import pathlib
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "api"))
import table  # noqa: E402

INLINE = {"knng_packed": 4, "knng_no_error": 0}  # of the header, and no symbols of the library


def arguments(text, start):
    """How many arguments stand in the brackets that open at `start`."""
    depth, commas, empty = 0, 0, True
    for c in text[start:]:
        depth += (c in "([{") - (c in ")]}")
        if depth == 0:
            return 0 if empty else commas + 1
        commas += c == "," and depth == 1
        empty = empty and (c in "(" or c.isspace())
    raise ValueError("brackets that do not close")


def differences(c, r, api):
    """What is wrong in the text of the package's C and R."""
    wrong = []
    c = re.sub(r"/\*.*?\*/", "", c, flags=re.S)
    if "#include <knng.h>" not in c:
        wrong.append("knng.h is not included")
    known = {**{name: len(function.parameters) for name, function in api.functions.items()}, **INLINE}
    used = list(re.finditer(r"\b(knng_(?!r_)\w+)\(", c))
    for use in used:
        count = arguments(c, use.end() - 1)
        if known.get(use[1]) != count:
            wrong.append(f"{use[1]} with {count} arguments: the library has {known.get(use[1])}")
    # Calls are indented.
    wrong += [f"{line} declares again" for line in re.findall(r"^\S.*\bknng_(?!r_)\w+\(.*\);$", c, re.M)]
    if len({use[1] for use in used}) < 15:
        wrong.append("hardly any function of the library is seen in use")
    for name in api.structs:
        if re.search(rf"\bstruct {name}\b", c):
            wrong.append(f"{name} is declared again")
    for name in re.findall(r"\b(KNNG_[A-Z0-9_]+)\b", c):
        if name not in api.constants and not name.startswith("KNNG_R_"):
            wrong.append(f"{name} is no constant of the library")

    declared = {}
    for found in re.finditer(r"^SEXP (knng_r_\w+)\(([^)]*)\);", c, re.M):
        declared[found[1]] = 0 if found[2].strip() in ("", "void") else found[2].count(",") + 1
    registered = {name: int(count) for name, count in re.findall(r"ROUTINE\((knng_r_\w+), (\d+)\)", c)}
    for name, count in registered.items():
        if declared.get(name) != count:
            wrong.append(f"{name} is registered with {count} arguments and declared with {declared.get(name)}")
    r = re.sub(r"#.*", "", r)
    called = set()
    for use in re.finditer(r"\.Call\((\w+)", r):
        count = arguments(r, use.start() + len(".Call")) - 1
        called.add(use[1])
        if registered.get(use[1]) != count:
            wrong.append(f".Call({use[1]}) with {count} arguments, registered with {registered.get(use[1])}")
    if called != set(registered):
        wrong.append(f"registered or called only: {sorted(called ^ set(registered))}")
    return wrong


def main(folder):
    api = table.read()
    c = "\n".join(path.read_text() for path in sorted(pathlib.Path(folder, "src").glob("*.[ch]")))
    r = "\n".join(path.read_text() for path in sorted(pathlib.Path(folder, "R").glob("*.R")))
    wrong = differences(c, r, api)
    if wrong:
        sys.exit("\n".join(wrong))
    # Of each kind of mistake one is noticed.
    for text, there, instead in ((c, "knng_create(&h, 0, 0, &error)", "knng_create(&h, 0, &error)"),
                                 (c, "knng_graph_destroy(g)", "knng_graph_end(g)"),
                                 (c, "SEXP knng_r_set(SEXP handle, SEXP key, SEXP value);", "SEXP knng_r_set(SEXP handle, SEXP key);"),
                                 (c, "ROUTINE(knng_r_end, 1)", "ROUTINE(knng_r_end, 2)"),
                                 (c, "#include <knng.h>", "#include <knng.h>\nextern void knng_destroy(knng* h);"),
                                 (c, "#include <knng.h>", "#include \"knng.h\""),
                                 (r, ".Call(knng_r_lists, graph)", ".Call(knng_r_lists)")):
        assert there in text, there
        changed = text.replace(there, instead, 1)
        if not (differences(changed, r, api) if text is c else differences(c, changed, api)):
            sys.exit(f"\"{instead}\" is not noticed")
    print(f"{folder}: as the headers")


if __name__ == "__main__":
    main(*sys.argv[1:])
