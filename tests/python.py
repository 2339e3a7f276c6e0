#!/usr/bin/env python3
"""The Python package as a user gets it: a fresh virtual environment, pip install ./python, and the
tests of tests/python there. Needs pip's package index (scikit-build-core, which Debian 12 does not
have, pybind11, numpy). Run from the source folder with the build folder as argument.
"""
import os
import shutil
import subprocess
import sys
import time

PACKAGE = os.path.join("python", "pyproject.toml")


def said(command, **more):
    print("$", *command, flush=True)
    return subprocess.run(command, stdin=subprocess.DEVNULL, check=False, **more)


def installed(python):
    began = time.monotonic()
    # Pythons were compiled by compilers of many names; ccache takes each for another one.
    environment = {"CXX": "c++", **os.environ, "CMAKE_BUILD_PARALLEL_LEVEL": str(os.cpu_count())}
    out = said([python, "-m", "pip", "install", "--disable-pip-version-check", "./python"],
               capture_output=True, text=True, env=environment)
    if out.returncode == 0:
        print(f"installed in {time.monotonic() - began:.0f} s", flush=True)
        return True
    print(out.stdout[-4000:], out.stderr[-8000:], sep="\n")
    if any(sign in out.stderr for sign in ("No matching distribution", "Temporary failure in name",
                                           "Connection refused", "Network is unreachable")):
        print("pip found no package index: this test needs one for scikit-build-core, pybind11 and "
              "numpy; set PIP_INDEX_URL, or PIP_FIND_LINKS and PIP_NO_INDEX for a folder of wheels")
    return False


def main():
    build = os.path.abspath(sys.argv[1])
    program = os.path.join(build, "storlab")
    if not os.path.isfile(PACKAGE) or not os.access(program, os.X_OK):
        print(f"needs {PACKAGE} here and {program}")
        return 1
    folder = os.path.join(build, "python-test")
    shutil.rmtree(folder, ignore_errors=True)
    if said([sys.executable, "-m", "venv", folder]).returncode != 0:
        print("the virtual environment could not be made; on Debian it takes python3-venv")
        return 1
    python = os.path.join(folder, "bin", "python")
    if not installed(python):
        return 1
    environment = {k: v for k, v in os.environ.items()
                   if k not in ("STORLAB_HOME", "PYTHONPATH", "PYTHONHOME")}
    environment["STORLAB_PROGRAM"] = program
    environment["STORLAB_SOURCES"] = os.getcwd()
    tests = said([python, "-X", "faulthandler", "-m", "unittest", "discover", "-v",
                  "-s", os.path.abspath("tests/python"), "-p", "test_*.py"],
                 cwd=folder, env=environment)  # from elsewhere: the sources must not be needed
    return tests.returncode


if __name__ == "__main__":
    sys.exit(main())
