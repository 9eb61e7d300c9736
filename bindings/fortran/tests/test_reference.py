"""The reference of docs/guide/fortran.md has every public name of module knng, and of every procedure the arguments that
the source gives it, in order, with the optional ones in brackets.
    test_reference.py FORTRAN_COMPILER
A page that is wrong on purpose must be noticed."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
SOURCES = ROOT / "bindings/fortran/src"
PAGE = ROOT / "docs/guide/fortran.md"
ENDING = ["stat", "errmsg", "error"]  # of every procedure that can fail
# What stands on the page, what stands there instead.
CHANGES = [
    ("`estimate(k, plan [, queries])`", "`estimate(k, plan)`"),
    ("`check(data, first_wrong [, sample, control])`", "`check(data, first_wrong, sample [, control])`"),
    ("`query_file(data, path, k [, control])`", "`query_files(data, path, k [, control])`"),
    ("`copy(ids)`", "`copy(distances)`"),
    ("`interval_ms`", "`interval`"),
    ("`knng_bf16`", "`knng_bf32`"),
    ("`width()`", "`breadth()`"),
]


def preprocessed(compiler, file):
    """The source as the compiler has it: included, without comments, a statement a line."""
    text = subprocess.run([compiler, "-cpp", "-E", "-P", str(file)], check=True, stdout=subprocess.PIPE, text=True,
                          cwd=file.parent).stdout
    return re.sub(r"&\s*\n\s*&?", "", re.sub(r"!.*", "", text))


def procedures(text):
    """name -> (arguments that must be, arguments that may be, whether it hands failures on) but for self."""
    found = {}
    for name, dummies, body in re.findall(r"^[\w ]*?\b(?:subroutine|function) (\w+)\(([^)]*)\)(.*?)^ *end (?:subroutine|function)",
                                          text, re.M | re.S):
        names = [word.strip() for word in dummies.split(",") if word.strip()]
        may = {name.strip() for line in re.findall(r"^.*\boptional\b.*::(.*)$", body, re.M)
               for name in re.sub(r"\(.*?\)", "", line).split(",")}
        own = [word for word in names if word not in ("self", *ENDING)]
        found[name] = (tuple(word for word in own if word not in may), tuple(word for word in own if word in may),
                       names[-3:] == ENDING)
    return found


def members(body):
    return {name for line in re.findall(r"^.*::(.*)$", body, re.M)
            for name in re.findall(r"(\w+)(?:\(.*?\))? *(?:=>? *[\w()+-]+)?(?:,|$)", line.strip())}


def types(text, names):
    """name -> (public members, bindings: name -> signatures)."""
    found = {}
    for name, body in re.findall(r"^ *type(?:, bind\(c\))? *:: (\w+)\n(.*?)^ *end type", text, re.M | re.S):
        own, _, bound = body.partition("contains\n")
        bindings = {}
        for generic, targets in re.findall(r"^ *generic :: (\w+) => (.*)$", bound, re.M):
            bindings.setdefault(generic, set()).update(names[word.strip()] for word in targets.split(","))
        for binding, target in re.findall(r"^ *procedure :: (\w+)(?: => (\w+))?", bound, re.M):
            bindings[binding] = {names[target or binding]}
        found[name] = (set() if re.search(r"^ *private$", own, re.M) else members(own), bindings)
    return found


def public_names(text):
    used = ",".join(re.findall(r"^ *use \w+, only: (.*)$", text, re.M))
    hidden = {word.strip() for line in re.findall(r"^ *private :: (.*)$", text, re.M) for word in line.split(",")}
    return {word.split("=>")[0].strip() for word in used.split(",")} - hidden


def signatures(cell):
    """name -> signatures of a cell: `build(x, k [, metric])`."""
    found = {}
    for name, arguments in re.findall(r"`(\w+)\(([^)]*)\)`", cell):
        must, _, may = (part.strip() for part in arguments.partition("["))
        found.setdefault(name, set()).add(tuple(tuple(word.strip() for word in part.rstrip("]").split(",") if word.strip())
                                                for part in (must, may)))
    return found


def compare(reference, public, kinds, own):
    """What the reference lacks, or has beside what there is."""
    complaints = [f"`{name}` is not named" for name in sorted(public) if not re.search(rf"`(type\()?{name}[`()]", reference)]
    sections = dict(re.findall(r"^### `type\((\w+)\)`\n(.*?)(?=^###|\Z)", reference, re.M | re.S))
    without = re.search(r"^Without them:(.*?)\.$", reference, re.M | re.S)
    without = set(re.findall(r"`(\w+)`", without.group(1) if without else ""))
    plain = {name for name in own.keys() & public if not own[name][2]}
    for name in sorted(public & kinds.keys()):
        fields, bindings = kinds[name]
        section = sections.get(name, "")
        first = "\n".join(line.split("|")[1] for line in section.splitlines() if line.count("|") > 2)
        for field in sorted(fields):
            if f"`{field}`" not in first:
                complaints.append(f"{name}%{field} is not in its table")
        said = signatures(first)
        for binding, there in bindings.items():
            if said.get(binding, set()) != {signature[:2] for signature in there}:
                complaints.append(f"{name}%{binding} is {said.get(binding)}, not {there}")
            plain |= {binding for signature in there if not signature[2]}
        complaints += [f"{name} has no {binding}" for binding in said.keys() - bindings.keys()]
    if plain != without:
        complaints.append(f"without stat are {sorted(plain)}, not {sorted(without)}")
    complaints += [f"{name} is not {own[name]}" for name in own.keys() & public
                   if signatures(reference).get(name) != {own[name][:2]}]
    return complaints


def main(compiler):
    own, kinds, public = {}, {}, set()
    for name in ("knng_c.f90", "knng_support.F90", "knng_datasets.F90", "knng_graphs.F90", "knng_sparses.F90", "knng.f90"):
        text = preprocessed(compiler, SOURCES / name)
        mine = procedures(text)
        kinds.update(types(text, mine))  # above C's, which have the same names
        if name == "knng_support.F90":
            own["knng_use_matrix_tiles"] = mine["use_matrix_tiles"]
        if name == "knng.f90":
            own.update(mine)
            public = public_names(text) | mine.keys()
    text = PAGE.read_text()
    reference = text[text.index("## Reference\n"):]
    complaints = compare(reference, public, kinds, own)
    print(*complaints, f"{len(public)} names, {sum(len(kind[1]) for kind in kinds.values())} procedures of types", sep="\n")
    if len(public) < 44 or sum(len(kind[1]) for kind in kinds.values()) < 40:
        sys.exit("the sources are not understood any more: the test must follow")
    for there, instead in CHANGES:
        if there not in reference:
            sys.exit(f"{there} is not in the reference any more: the test must follow")
        if not compare(reference.replace(there, instead, 1), public, kinds, own):
            sys.exit(f"{instead} is not noticed")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
