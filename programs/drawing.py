"""What all figures of the documentation share: drawn with matplotlib, as SVG."""

import matplotlib

matplotlib.use("svg")
# Text stays text: small files, and a test can read what a figure says.
matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "cenote", "font.size": 9})

from matplotlib import pyplot  # noqa: E402

COLOURS = ("#b5482a", "#1f6f8b", "#8a8a8a")


def frame(title, x, y):
    """A figure with labelled axes."""
    figure, axes = pyplot.subplots(figsize=(6, 3), layout="constrained")
    axes.set(title=title, xlabel=x, ylabel=y)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes
