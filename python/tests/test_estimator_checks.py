"""scikit-learn's own checks, on every classifier. With 1.9 none is skipped or expected to fail."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import CLASSIFIERS
from sklearn.utils.estimator_checks import _enforce_estimator_tags_y, parametrize_with_checks

import properloss as pl




def known_mistakes(estimator):
    """Checks that are wrong in the scikit-learn installed.

    1.6 makes the labels of its weight check binary by comparing them with the *first* label, before
    and after shuffling: the two fits it compares see different labels. Later versions compare with
    the least one.
    """
    if _enforce_estimator_tags_y(estimator, np.array([1, 0])).tolist() == [1, 0]:
        return {}
    return {
        f"check_sample_weight_equivalence_on_{kind}_data": "the check gives its two fits other labels"
        for kind in ("dense", "sparse")
    }


@parametrize_with_checks(
    [
        pl.BregmanTronClassifier(),
        pl.SlisotronClassifier(),
        pl.GlmtronClassifier(),
        pl.CanonicalLossClassifier(),
        pl.BregmanTronClassifier(target="previous"),
        pl.BregmanTronClassifier(target="approx"),
        pl.BregmanTronClassifier(target="refit", max_iter=50),
        pl.BregmanTronClassifier(objective="bregman", scaling="none", max_iter=50),
        pl.SlisotronClassifier(isotonic="lipschitz", max_iter=50),
        pl.GlmtronClassifier(link="cauchy", scaling="max-norm"),
        pl.CanonicalLossClassifier(loss="cloglog"),
    ],
    expected_failed_checks=known_mistakes,
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=lambda c: type(c).__name__)
def test_tags_say_binary_and_sparse(classifier):
    from sklearn.utils import get_tags

    tags = get_tags(classifier)
    assert not tags.classifier_tags.multi_class
    assert tags.input_tags.sparse
    assert not tags.input_tags.allow_nan
