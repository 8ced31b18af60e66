"""The shipped programs: where they are and how they are loaded."""

import gzip
import importlib
import json
import pathlib

FOLDER = pathlib.Path(__file__).parent
#: Where scripts/fetch_data.sh puts what this repository does not carry.
FETCHED = FOLDER.parent / "target/data"

#: Every folder with a program, in the order of the gallery.
NAMES = [
    "shared_customers",
    "hot_cards",
    "credit_scoring",
    "survival",
    "follow_up",
    "shortest_path",
    "binary_search",
    "similar_patients",
    "auction",
    "stable_matching",
    "aes128",
    "sort",
    "hamming",
    "edit_distance",
]

#: Those whose programs have a standing form as well, standing.py: jobs on a memory that stays.
STANDING = ["hot_cards", "follow_up"]


def module(name, part):
    """``programs.NAME.PART``."""
    return importlib.import_module(f"programs.{name}.{part}")


def reference(name):
    """The clear reference of a program."""
    return module(name, "reference")


def stored_vectors(name):
    """What is in vectors.json."""
    return json.loads((FOLDER / name / "vectors.json").read_text())


def stored_jobs(name):
    """What is in jobs.json."""
    return json.loads((FOLDER / name / "jobs.json").read_text())


def fetched(name):
    """The bytes in a compressed file of fetched data."""
    path = FETCHED / name
    if not path.exists():
        raise FileNotFoundError(f"{path} is not there: run scripts/fetch_data.sh")
    return gzip.decompress(path.read_bytes())
