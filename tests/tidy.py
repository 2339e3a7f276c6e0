#!/usr/bin/env python3
"""Style is a test: who may include whom (docs/architecture.md, section 5), sizes of lines,
functions and files, what headers open with, and that data files can be read. Looks at files under
version control. Run from the source folder; prints "N passed, N failed".
"""
import collections
import json
import os
import re
import subprocess
import sys

MAX_COLUMNS, MAX_FUNCTION, MAX_FILE = 100, 70, 400

# folder -> (folders of ours it may include besides itself, what it may include from outside).
# "posix" stands for system headers; the C++ standard library is free for all.
CORE = ["sim/base", "sim/seam"]
HARDWARE = CORE + ["sim/kernel"]
EVERYTHING = ["*"]
RULES = {
    "sim/base": ([], []),
    "sim/seam": (["sim/base"], []),
    "sim/kernel": (CORE, ["posix"]),  # madvise of its store
    "sim/topology": (["sim/base"], ["boost"]),
    "sim/cluster": (HARDWARE + ["sim/topology"], ["simgrid", "posix"]),
    "sim/faults": (HARDWARE + ["sim/topology"], []),
    "sim/real": (CORE, ["liburing.h", "posix"]),
    "sim/report": (["sim/base"], ["nlohmann", "fmt", "posix"]),
    "sim/analysis": (["sim/base", "sim/report", "sim/topology"], ["Eigen", "boost"]),
    "sim/scenario": (EVERYTHING, ["yaml-cpp", "nlohmann", "fmt", "posix"]),
    "sim": (["sim/base", "sim/report", "sim/scenario"], ["CLI", "posix"]),
    "python": (["sim/base", "sim/report", "sim/scenario"], ["pybind11"]),
    # Real code: does not know which world it is in.
    "models/erasure": (CORE, ["isa-l.h", "isa-l"]),
    "models/raid": (CORE + ["models/erasure"], []),
    "models/mesh": (CORE + ["models/erasure"], []),
    "models/workload": (CORE, []),
    "models/workload/fio": (CORE + ["models/workload"], []),
    "models/cache": (CORE, []),
    "models/qos": (CORE, []),
    "models/multipath": (CORE, []),
    "models/failover": (CORE, []),
    "models/exchange": (CORE, []),
    "models/nvme": (CORE + ["models/exchange"], []),
    "models/scsi": (CORE + ["models/exchange"], []),
    "models/array": (
        CORE + ["models/raid", "models/cache", "models/qos", "models/failover",
                "models/exchange", "models/nvme", "models/scsi", "models/mesh",
                "models/erasure"], []),
    # Hardware
    "models/nand": (HARDWARE, []),
    "models/pcie": (HARDWARE, []),
    "models/cpu": (HARDWARE, []),
    "models/hdd": (HARDWARE, []),
    "models/fabric": (HARDWARE + ["models/pcie"], []),
    "models/ssd": (HARDWARE + ["models/nand", "models/pcie"], []),
    "models/host": (HARDWARE + ["models/cpu", "models/pcie"], []),
    "models/gpu": (HARDWARE + ["models/cpu", "models/pcie"], []),
    "models/dpu": (HARDWARE + ["models/cpu", "models/pcie"], []),
    "models/controller": (HARDWARE + ["models/cpu", "models/pcie"], []),
    "models/hypervisor": (HARDWARE + ["models/cpu", "models/pcie", "models/host"], []),
}
REAL_CODE = [f for f in RULES
             if f.startswith("models/") and "sim/kernel" not in RULES[f][0]]
LIBRARIES = {  # as CMake links them -> as they are included
    "${SIMGRID_LIBRARY}": "simgrid", "${URING_LIBRARY}": "liburing.h", "${ISAL_LIBRARY}": "isa-l.h",
    "Threads::Threads": "posix", "nlohmann_json::nlohmann_json": "nlohmann", "fmt::fmt": "fmt",
    "Eigen3::Eigen": "Eigen", "Boost::headers": "boost", "yaml-cpp": "yaml-cpp",
}

passed, failures = 0, []


def check(ok, where, what):
    global passed
    if ok:
        passed += 1
    else:
        failures.append(f"{where}: {what}")


def tracked_files():
    listed = subprocess.run(["git", "ls-files", "-z"], capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        return [f for f in listed.stdout.split("\0") if f and os.path.isfile(f)]
    # An unpacked archive: everything but what is built.
    found = []
    for folder, folders, names in os.walk("."):
        folders[:] = [f for f in folders if f not in ("build", ".git", ".cache", "__pycache__")]
        found += [os.path.normpath(os.path.join(folder, name)) for name in names]
    return found


def read(file):
    with open(file, encoding="utf-8") as opened:
        return opened.read()


TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"(?P<d>[^()\s\\]*)\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"'
                   r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'", re.S)


def code_only(text):
    """Comments, strings and characters blanked; line numbers stay."""
    return TOKEN.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def includes(text):
    for number, line in enumerate(text.split("\n"), 1):
        found = re.match(r'\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', line)
        if found:
            yield number, found.group(1), found.group(2)


def kind_outside(header):
    """What a <header> counts as; None for the C++ standard library."""
    if re.fullmatch(r"[a-z_0-9]+", header) or header == "cxxabi.h":  # the compiler's own
        return None
    first = header.split("/")[0]
    if first in ("sys", "linux", "netinet", "arpa") or "/" not in header and os.path.isfile(
            "/usr/include/" + header) and header not in ("liburing.h", "isa-l.h"):
        return "posix"
    return first


def may_include(folder, other):
    return other == folder or other in RULES[folder][0] or (
        "*" in RULES[folder][0] and other in RULES and other != "sim")


def check_includes(files, texts):
    for file in files:
        folder = os.path.dirname(file)
        if not re.match(r"(sim|models|python)(/|$)", folder) or not file.endswith((".cpp", ".hpp")):
            continue
        check(folder in RULES, file, f"folder {folder} is not in the include rule")
        if folder not in RULES:
            continue
        for line, ours, outside in includes(texts[file]):
            where = f"{file}:{line}"
            if ours:
                check("/" in ours and os.path.isfile(ours), where,
                      f'"{ours}" is no file, written from the root')
                other = os.path.dirname(ours)
                check(may_include(folder, other), where, f"{folder} may not include {other}")
            else:
                kind = kind_outside(outside)
                check(kind is None or kind in RULES[folder][1], where,
                      f"{folder} may not include <{outside}>")


def library_graph(cmake):
    """name -> (folder, names it links)"""
    graph = {}
    for name, folder, rest in re.findall(
            r"^storlab_library\((\S+)\s+([\w/-]+)([^)]*)\)", cmake, re.M):
        graph[name] = (folder, rest.replace("DEPENDS", " ").split())
    return graph


def check_links(files, texts):
    """What CMake links gives a folder no more than the rule does, no less than it includes."""
    graph = library_graph(texts["CMakeLists.txt"])
    check(len(graph) > 10, "CMakeLists.txt", "no storlab_library lines found")

    def reach(name, seen):
        for other in graph[name][1]:
            if other in graph and other not in seen:
                seen.add(other)
                reach(other, seen)
        return seen

    by_folder = {folder: name for name, (folder, _) in graph.items()}
    for name, (folder, links) in graph.items():
        where = f"CMakeLists.txt: {name}"
        check(folder in RULES, where, f"folder {folder} is not in the include rule")
        if folder not in RULES:
            continue
        for other in links:
            if other in graph:
                continue
            check(LIBRARIES.get(other) in RULES[folder][1], where, f"may not link {other}")
        for other in reach(name, set()):
            check(may_include(folder, graph[other][0]), where,
                  f"reaches {graph[other][0]}, which {folder} may not include")
    for file in files:
        folder = os.path.dirname(file)
        if not file.startswith(("sim/", "models/")) or folder == "sim" or not file.endswith(
                (".cpp", ".hpp")):
            continue
        check(folder in by_folder, file, f"folder {folder} is in no storlab_library")
        if folder not in by_folder:
            continue
        reached = {graph[n][0] for n in reach(by_folder[folder], set())} | {folder}
        for line, ours, _ in includes(texts[file]):
            if ours:
                check(os.path.dirname(ours) in reached, f"{file}:{line}",
                      f"includes {ours}, which its library does not link")


CONTROL = re.compile(r"^\s*(?:\}\s*)?(?:(?:else|if|for|while|switch|do|try|catch|case|namespace"
                     r"|extern)\b|(?:template\b.*)?(?:class|struct|union|enum)\b)")


def functions(code):
    """(first line, number of lines) of outermost function bodies, roughly: a block after ')'."""
    depth_inside, stack, start, found = 0, [], 0, []
    for at, c in enumerate(code):
        if c in ";{}":
            if c == "{" and re.match(r"[\w>]", code[at - 1]):  # initialises: x{1}, no blank between
                stack.append(None)
                continue
            if c == "}" and stack and stack[-1] is None:
                stack.pop()
                continue
            if c == "{":
                head = code[start:at]
                is_function = bool(re.search(r"\)[^()=;]*$|\)\s*:[^;{}]*$", head)) and not (
                    CONTROL.match(re.sub(r"^(\s*#[^\n]*\n)+", "", head).lstrip()))
                stack.append((is_function, start + len(head) - len(head.lstrip())))
                depth_inside += is_function
            elif c == "}" and stack:
                is_function, head_start = stack.pop()
                depth_inside -= is_function
                if is_function and depth_inside == 0:
                    first = code.count("\n", 0, head_start) + 1
                    found.append((first, code.count("\n", 0, at) + 2 - first))
            start = at + 1
    return found


def check_sizes(file, text):
    lines = text.split("\n")
    long = [n for n, line in enumerate(lines, 1) if len(line) > MAX_COLUMNS]
    check(not long, f"{file}:{long[0] if long else 0}", f"wider than {MAX_COLUMNS} columns")
    count = len(lines) - 1
    check(count <= MAX_FILE, file, f"{count} lines; at most {MAX_FILE}")
    if file.endswith((".cpp", ".hpp")):
        for first, length in functions(code_only(text)):
            check(length <= MAX_FUNCTION, f"{file}:{first}",
                  f"a function of {length} lines; at most {MAX_FUNCTION}")


def check_code(file, text):
    code = code_only(text)
    plain = re.search(r"\benum\s+(?!class\b)\w", code)
    check(not plain, file, "an enum that is no enum class")
    if file.endswith(".hpp"):
        check(text.startswith("//"), file, "a header opens with a comment: what the thing is")
        check(text.count("\n#pragma once\n") == 1, file, "no #pragma once")
        check("using namespace" not in code, file, "using namespace in a header")
    if os.path.dirname(file) in REAL_CODE:
        asks = re.search(r"(?i)\w*(?:simulat|is_?sim|is_?real|sim_?world|real_?world)\w*", code)
        check(not asks, file, f"real code asks which world it is in: {asks and asks.group()}")


def check_headers_used(files, texts):
    used = {ours for file in files if file.endswith((".cpp", ".hpp"))
            for _, ours, _ in includes(texts[file])}
    for file in files:
        if file.endswith(".hpp"):
            check(file in used, file, "a header that nobody includes")


# Pieced together, or this file would find itself.
PLACES = re.compile(r"(?<![\w./-])/(?:" + "|".join(["wo" + "rk", "ro" + "ot", "ho" + "me"])
                    + r")/|\.\./sha" + "red")
REGISTRIES = re.compile("|".join(a + r"\." + b for a, b in [
    ("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"), ("npmjs", "com"), ("crates", "io"),
    ("golang", "org"), ("deb.debian", "org"), ("conan", "io"), ("docker", "io"), ("ghcr", "io"),
    ("huggingface", "co"), ("anaconda", "org")]))


def check_text(file, text):
    place = PLACES.search(text)
    check(not place, file, f"names a folder of one machine: {place and place.group()}")
    host = REGISTRIES.search(text)
    check(not host, file, f"names a package registry: {host and host.group()}")
    check(text == "" or text.endswith("\n"), file, "does not end with a newline")
    blank = re.search(r"[ \t]+$", text, re.M)
    line = text.count("\n", 0, blank.start()) + 1 if blank else 0
    check(not blank or file.endswith(".md"), f"{file}:{line}", "blanks at the end of a line")


def no_duplicates(pairs):
    counts = collections.Counter(key for key, _ in pairs)
    twice = [key for key, n in counts.items() if n > 1]
    if twice:
        raise ValueError(f"key {twice[0]!r} is written twice")
    return dict(pairs)


def check_data(file, text):
    try:
        if file.endswith((".json", ".ipynb")):
            json.loads(text, object_pairs_hook=no_duplicates)
        else:
            import yaml  # python3-yaml, in .ci/packages
            list(yaml.safe_load_all(text))
        check(True, file, "")
    except ImportError:
        check(False, file, "python3-yaml is not installed, so that YAML cannot be checked")
    except Exception as error:  # whatever the reader says is the finding
        check(False, file, f"cannot be read: {error}")


def main():
    files = tracked_files()
    check(len(files) > 50, "git ls-files", f"only {len(files)} files")
    texts = {}
    for file in files:
        try:
            texts[file] = read(file)
        except UnicodeDecodeError:
            check(file.endswith((".png", ".ico", ".gz")), file, "is no UTF-8 text")
    files = list(texts)
    check_includes(files, texts)
    check_links(files, texts)
    check_headers_used(files, texts)
    for file, text in texts.items():
        check_text(file, text)
        if file.endswith((".cpp", ".hpp", ".py")) or file in ("storlab", ".ci/run"):
            check_sizes(file, text)
        if file.endswith((".cpp", ".hpp")):
            check_code(file, text)
        if file.endswith((".json", ".ipynb", ".yaml", ".yml")):
            check_data(file, text)
        if text.startswith("#!") and file in ("storlab", ".ci/run"):
            check(os.access(file, os.X_OK), file, "cannot be executed")
    for failure in failures:
        print(failure)
    print(f"{passed} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
