"""The figures of docs/gallery.md: ``python -m programs.plots [FOLDER]`` draws them with matplotlib."""

import pathlib
import re
import sys

from . import gallery
from .credit_scoring import reference, train
from .credit_scoring.data import applicant, split
from .drawing import COLOURS, frame, pyplot
from .survival import example as survival

FOLDER = pathlib.Path(__file__).parents[1] / "docs/gallery"


def curves():
    """What kaplan_meier reveals."""
    *_, example = survival.examples()
    days = [survival.EVERY * (period + 1) for period in range(len(example.expected[0]))]
    figure, axes = frame("ACTG 175: what both hospitals see", "days since the start", "share without an event")
    for curve, colour, label in zip(example.expected, COLOURS, ("zidovudine", "zidovudine and didanosine")):
        axes.step([0, *days], [1.0, *curve], where="post", color=colour, label=label)
    axes.set_ylim(0.5, 1.02)
    axes.legend(frameon=False)
    return figure


def probabilities():
    """What the logistic model says of loans that it has not seen."""
    known, unseen = split()
    model = train.logistic(known)
    figure, axes = frame("200 loans that the model has not seen", "probability of going bad, by the model", "loans")
    shares = [[reference.logistic(model, applicant(loan)) for loan in unseen if loan[2] == which] for which in (0, 1)]
    axes.hist(shares, bins=[k / 10 for k in range(11)], color=COLOURS[1::-1], label=["were paid back", "went bad"])
    axes.legend(frameon=False)
    return figure


def costs():
    """ANDs of the three functions of table 5 of the paper on pools, there and here."""
    names = list(gallery.PAPER)
    figure, axes = frame("ANDs, in millions", "", "")
    for place, name in enumerate(names):
        pair = (gallery.PAPER[name], gallery.example(name).ands / 1e6)
        for offset, millions, colour, who in zip((-0.2, 0.2), pair, (COLOURS[2], COLOURS[1]), ("paper", "here")):
            bar = axes.barh(place + offset, millions, height=0.36, color=colour, label=who if place == 0 else None)
            axes.bar_label(bar, [f"{millions:.1f}"], padding=3)
    axes.set_yticks(range(len(names)), [name.replace("_", " ") for name in names])
    axes.invert_yaxis()
    axes.legend(frameon=False)
    return figure


FIGURES = {"survival": curves, "credit_scoring": probabilities, "edit_distance": costs}


def texts(svg):
    """What a figure says."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def draw(folder):
    """Writes all figures."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in FIGURES.items():
        made = figure()
        made.savefig(folder / f"{name}.svg", metadata={"Date": None})
        pyplot.close(made)


if __name__ == "__main__":
    draw(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
