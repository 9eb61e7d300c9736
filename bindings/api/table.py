"""Reads bindings/api/knng.tsv for the tests of bindings that are written in Python. Knows nothing of any binding."""
import dataclasses
import pathlib

TABLE = pathlib.Path(__file__).resolve().parent / "knng.tsv"


@dataclasses.dataclass
class Function:
    kind: str  # of what it returns
    c_type: str
    parameters: list = dataclasses.field(default_factory=list)  # (name, kind, C type)


@dataclasses.dataclass
class Struct:
    size: int
    align: int
    fields: list = dataclasses.field(default_factory=list)  # (name, offset, size, kind, C type)


@dataclasses.dataclass
class Api:
    constants: dict = dataclasses.field(default_factory=dict)  # name: value
    opaque: list = dataclasses.field(default_factory=list)
    aliases: dict = dataclasses.field(default_factory=dict)  # name: kind
    structs: dict = dataclasses.field(default_factory=dict)  # name: Struct
    callbacks: dict = dataclasses.field(default_factory=dict)  # STRUCT.FIELD: Function
    functions: dict = dataclasses.field(default_factory=dict)  # name: Function


def read(path=TABLE):
    """The table as an Api. Names stand in the order of the headers."""
    api = Api()
    for line in pathlib.Path(path).read_text().splitlines():
        if line.startswith("#"):
            continue
        word, name, *rest = line.split("\t")
        if word == "constant":
            api.constants[name] = int(rest[0])
        elif word == "opaque":
            api.opaque.append(name)
        elif word == "alias":
            api.aliases[name] = rest[0]
        elif word == "struct":
            api.structs[name] = Struct(int(rest[0]), int(rest[1]))
        elif word == "field":
            field, offset, size, kind, c_type = rest
            api.structs[name].fields.append((field, int(offset), int(size), kind, c_type))
        elif word in ("function", "callback"):
            (api.functions if word == "function" else api.callbacks)[name] = Function(rest[0], rest[1])
        elif word == "parameter":
            owner = api.callbacks if "." in name else api.functions
            owner[name].parameters.append(tuple(rest[1:]))
        else:
            raise ValueError(f"{path}: a line begins with {word}")
    return api
