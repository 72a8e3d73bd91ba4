"""Fitting the relaxation's inequalities to what it says, for either metric."""

from __future__ import annotations

from fanwise.select.problem import Selection, Served
from fanwise.select.relaxing.covers import cover_inequalities, plain_inequalities, separate
from fanwise.select.relaxing.gain_cuts import fit_gains
from fanwise.select.relaxing.relaxation import Relaxation


def plain_relaxation(problem: Selection) -> Relaxation:
    """Return a relaxation under the inequalities that hold for both metrics."""
    relaxation = Relaxation(problem)
    relaxation.use(plain_inequalities(problem))
    return relaxation


def fit_to(relaxation: Relaxation, served: Served) -> None:
    """Take inequalities that fit a good selection, where there are such: the binary metric."""
    if relaxation.problem.metric == "binary":
        relaxation.use(cover_inequalities(relaxation.problem, served))


def tighten(relaxation: Relaxation) -> None:
    """Mix in inequalities that the shares break."""
    problem, inequalities = relaxation.problem, relaxation.inequalities_to_change()
    fit = separate if problem.metric == "binary" else fit_gains
    fit(problem, relaxation.shares, inequalities)
    relaxation.use(inequalities)
