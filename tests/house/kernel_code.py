#!/usr/bin/python3
"""Looks at the machine code of the fused kernels: compiles them and reads what ptxas says.

    kernel_code.py NVCC SOURCE_FOLDER INCLUDE_FOLDER FLAG...

Products of a warpgroup that the compiler makes wait for each other, registers that are not handed over and values that
are kept in memory cost a kernel much of its rate, and no result shows it. Prints each kernel's registers and spills.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

# File, architecture, kernels, registers at most, bytes stored and loaded for want of registers at most. The portable
# kernel has 128 registers, so that two blocks share a multiprocessor, and spills.
EXPECTED = [
    ("hopper.cu", "90a", 8, 168, 0, 0),
    ("portable.cu", "80", 4, 128, 134, 144),
]
COMPLAINTS = ("serialized", "setmaxnreg", "Potential Performance Loss")
KERNEL = re.compile(r"Compiling entry function '(\w+)'.*?(\d+) bytes spill stores, (\d+) bytes spill loads\n"
                    r".*?Used (\d+) registers", re.DOTALL)


def said_of(nvcc, flags, source, architecture, folder):
    code = f"--generate-code=arch=compute_{architecture},code=[sm_{architecture}]"
    made = subprocess.run([nvcc, *flags, code, "-Xptxas", "-v", "-cubin", "-o", f"{folder}/kernel.cubin", str(source)],
                          capture_output=True, text=True, check=False)
    if made.returncode:
        sys.exit(f"{source.name} does not compile:\n{made.stderr}")
    return made.stdout + made.stderr


def main():
    nvcc, sources, include, *flags = sys.argv[1:]
    flags = ["-std=c++20", "-O3", "-DNDEBUG", f"-I{sources}", f"-I{include}", *flags]
    wrong = []
    for file, architecture, kernels, registers, stores, loads in EXPECTED:
        with tempfile.TemporaryDirectory() as folder:
            said = said_of(nvcc, flags, pathlib.Path(sources) / "backend/cuda/fused" / file, architecture, folder)
        wrong += [f"{file}: {line}" for line in said.splitlines() if any(c in line for c in COMPLAINTS)]
        found = KERNEL.findall(said)
        if len(found) != kernels:
            wrong.append(f"{file}: {len(found)} kernels in place of {kernels}")
        for name, stored, loaded, used in found:
            print(f"{file}: {name}: {used} registers, {stored} bytes stored and {loaded} loaded for want of more")
            if int(used) > registers or int(stored) > stores or int(loaded) > loads:
                wrong.append(f"{file}: {name}: at most {registers} registers, {stores} bytes stored, {loads} loaded")
    sys.exit("\n".join(wrong) if wrong else 0)


if __name__ == "__main__":
    main()
