#!/usr/bin/env python3
"""Checks who includes whom (the table of ARCHITECTURE.md) and that no library header shows in a public header."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^">]+)[">]')
ROOMS = {
    "base": [],
    "canonicalizer": ["base/"],
    "graph": ["base/"],
    "envs": ["base/", "envs/"],
    "harness": ["base/", "envs/", "canonicalizer/", "graph/", "harness/"],
}
LIBRARIES = re.compile(r"^(boost|rapidjson|sqlite3|re2|CLI|unicode|archive|zstd|zlib|spdlog|fmt|prometheus|openssl|stb|utf8proc)")


def allowed(path: str, target: str) -> bool:
    room = path.split("/")[0]
    if room not in ROOMS:
        return True  # tests and benchmarks may see everything
    if not any(target.startswith(prefix) for prefix in [*ROOMS[room], room + "/"]):
        return False
    if room == "envs" and target.startswith("envs/") and target.count("/") > 1:
        own = path.split("/")[1] if path.count("/") > 1 else None
        if own is None:  # the registry sees each environment's factory header
            return path == "envs/registry.cc"
        return target.split("/")[1] == own
    return True


def main() -> int:
    wrong = []
    sources = [p for room in [*ROOMS, "tests", "bench"] for p in (ROOT / room).rglob("*") if p.suffix in (".h", ".cc")]
    for file in sorted(sources):
        path = file.relative_to(ROOT).as_posix()
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            kind, target = match.groups()
            if kind == '"' and not allowed(path, target):
                wrong.append(f"{path}:{number}: may not include {target}")
            public = path.endswith(".h") and path.split("/")[0] in ROOMS and "/internal/" not in path
            if kind == "<" and public and LIBRARIES.match(target):
                wrong.append(f"{path}:{number}: a public header shows <{target}>")
    print("\n".join(wrong) or f"{len(sources)} files keep the include rules")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
