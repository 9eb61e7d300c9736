"""bindings/api/knng.tsv is what the headers say, and every kind of change to a header is noticed.
    test_describe.py INCLUDE_FOLDER"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

API = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(API))
import table  # noqa: E402

# File, what stands there, what stands there instead.
CHANGES = [
    ("types.h", "KNNG_ERR_RANGE = -2", "KNNG_ERR_RANGE = -20"),
    ("types.h", "int64_t smallest_host;", "int32_t smallest_host;"),
    ("types.h", "char argument[32];", "char argument[40];"),
    ("types.h", "#define KNNG_HEADER_VERSION 0x0", "#define KNNG_HEADER_VERSION 0x1"),
    ("types.h", "int32_t (*progress)(void *user,", "int32_t (*progress)(const void *user,"),
    ("types.h", "uint32_t interval_ms;", "uint32_t interval_seconds;"),
    ("build.h", "knng_estimate(const knng *h, int64_t nq", "knng_estimate(const knng *h, int32_t nq"),
    ("build.h", "knng_estimate(const knng *h", "knng_estimate(knng *h"),
    ("error.h", "KNNG_API int32_t knng_version(void)", "KNNG_API int64_t knng_version(void)"),
]


def check(include):
    """What describe.py --check says, and its exit status."""
    done = subprocess.run([sys.executable, str(API / "describe.py"), str(include), "--check"], stdout=subprocess.PIPE,
                          text=True)
    return done.stdout, done.returncode


def main(include):
    said, status = check(include)
    print(said, end="")
    if status:
        return status
    with tempfile.TemporaryDirectory() as folder:
        for name, there, instead in CHANGES:
            copy = pathlib.Path(folder) / "include"
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(include, copy)
            subprocess.run(["chmod", "-R", "u+w", str(copy)], check=True)  # where the source cannot be written to
            text = (copy / "knng" / name).read_text()
            if there not in text:
                sys.exit(f"{name} has no \"{there}\" any more: the test must follow")
            (copy / "knng" / name).write_text(text.replace(there, instead, 1))
            said, status = check(copy)
            if status != 1 or "is stale" not in said:
                sys.exit(f"\"{instead}\" in {name} is not noticed: {said}")
    api = table.read()
    if len(api.functions) < 30 or len(api.structs) < 6 or api.structs["knng_matrix"].fields[0][:3] != ("struct_size", 0, 4):
        sys.exit("table.py does not read the table")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
