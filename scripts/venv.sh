#!/bin/sh
# Makes a virtual environment where there is none and installs into it:  scripts/venv.sh FOLDER ARGUMENTS-OF-PIP-INSTALL...
# Takes uv when there is one, else the venv and pip of a Python >= 3.11 (PYTHON names one); says what to install when neither is there.
set -eu

folder=$1
shift

fail() {
    echo "nanomem: $1" >&2
    exit 1
}

find_python() {
    for candidate in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11 python; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
}

works() {
    [ -x "$folder/bin/python" ] && "$folder/bin/python" -c 'import encodings' 2>/dev/null
}

with_uv() {
    command -v uv >/dev/null 2>&1 || return 1
    works || uv venv -q --clear --python "${PYTHON:-3.11+}" "$folder" || return 1
    uv pip install -q --compile-bytecode --python "$folder/bin/python" "$@"
}

with_pip() {
    if ! works; then
        python=$(find_python)
        [ -n "$python" ] || fail "no Python >= 3.11 found: install one (apt install python3 python3-venv) or uv, then run this again"
        rm -rf "$folder"
        "$python" -m venv "$folder" 2>/dev/null ||
            fail "$python cannot make a virtual environment: install its venv part (apt install python3-venv) or uv, then run this again"
    fi
    "$folder/bin/python" -m pip --version >/dev/null 2>&1 || "$folder/bin/python" -m ensurepip >/dev/null 2>&1 ||
        fail "no pip for $folder: install the venv part of Python (apt install python3-venv) or uv, then run this again"
    "$folder/bin/python" -m pip install -qq --disable-pip-version-check "$@"
}

echo "nanomem: installing into $folder" >&2
with_uv "$@" || with_pip "$@" || fail "installing into $folder failed: see the lines above"
