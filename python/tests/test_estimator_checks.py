"""scikit-learn's own checks, on every classifier. With 1.9 none is skipped or expected to fail."""

from __future__ import annotations

import pytest
from conftest import CLASSIFIERS, known_mistakes
from sklearn.utils.estimator_checks import parametrize_with_checks

import properloss as pl



@parametrize_with_checks(
    [
        pl.BregmanTronClassifier(),
        pl.SlisotronClassifier(),
        pl.GlmtronClassifier(),
        pl.CanonicalLossClassifier(),
        pl.BregmanTronClassifier(target="previous"),
        pl.BregmanTronClassifier(target="approx"),
        pl.CertifiedClassifier(),
        pl.CertifiedClassifier(candidate="previous", scaling="none", max_iter=50),
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
