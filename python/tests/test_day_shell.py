"""A day in the shell, every answer parsed as JSON, beside Python on the same rows."""

from __future__ import annotations

import io
import json
import pathlib
import shutil
import subprocess
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import properloss as pl
from loans import FEATURES, loans
from test_same_bits import cli  # noqa: F401

pd = pytest.importorskip("pandas")


def scores() -> Any:
    """Scores of another model, twice too steep as probabilities."""
    rng = np.random.default_rng(0)
    z = rng.normal(-1.0, 1.5, 900)
    return pd.DataFrame(
        {
            "id": [f"loan, {i}" for i in range(900)],
            "customer": rng.integers(0, 300, 900),
            "score": z,
            "p": 1 / (1 + np.exp(-2 * z)),
            "default": (rng.random(900) < 1 / (1 + np.exp(-z))).astype(int),
        }
    )


ROLES = "--label default --ignore loan_id --group customer --weight weight --missing mean"


@pytest.fixture(scope="module")
def morning(cli: str, tmp_path_factory: Any) -> pathlib.Path:  # noqa: F811
    """What every test starts with; each gets a copy of its own."""
    folder: pathlib.Path = tmp_path_factory.mktemp("morning")
    loans(2000).to_csv(folder / "loans.csv", index=False)
    loans(500, seed=1, purposes=("car", "house", "boat")).to_csv(folder / "new.csv", index=False)
    loans(500, seed=1).to_csv(folder / "known.csv", index=False)
    scores().to_csv(folder / "scores.csv", index=False)
    line = f"fit loans.csv -o model.json --loss-out loss.json {ROLES} --test-last 0.2 --json"
    subprocess.run([cli, *line.split()], check=True, capture_output=True, cwd=folder)
    return folder


@pytest.fixture
def day(cli: str, morning: pathlib.Path, tmp_path: pathlib.Path) -> Any:  # noqa: F811
    folder = tmp_path / "day"
    shutil.copytree(morning, folder)

    def run(line: str, *, fails: bool = False) -> tuple[str, str]:
        done = subprocess.run([cli, *line.split()], capture_output=True, text=True, cwd=folder)
        assert (done.returncode != 0) == fails, f"{line}\n{done.stderr}"
        return done.stdout, done.stderr

    run.folder = folder  # type: ignore[attr-defined]
    return run


def parsed(day: Any, line: str) -> Any:
    return json.loads(day(f"{line} --json")[0])


def test_fit_says_everything(day: Any) -> None:
    answer = parsed(day, f"fit loans.csv -o again.json {ROLES} --test-share 0.25")
    assert answer["method"] == "proper" and answer["iterations"] > 0 and answer["loss"] > 0
    assert answer["written"] == ["again.json"]
    assert 0 < answer["metrics"]["test"]["log_loss"] < 0.3
    assert len(answer["proper"]["path"]) > 5
    # Loans of one customer are not independent: no bound is certified, what the link cost is.
    assert "calibration_bound" not in answer["proper"]["certificate"]
    assert answer["proper"]["certificate"]["link_cost"]["at_most"] < 0.94
    model = pl.load(day.folder / "again.json")
    assert model.calibration_bound_ is None and list(model.feature_names_in_) == FEATURES


def test_no_customer_is_on_both_sides(day: Any) -> None:
    """The rows of the test part: those that the training part has not."""
    answer = parsed(day, f"compare loans.csv --methods logistic --folds 4 {ROLES}")
    assert answer["groups"] == "customer" and answer["rows"] == 2000
    plain = parsed(day, f"compare loans.csv --methods logistic --folds 4 {ROLES.replace('--group', '--ignore')}")
    assert plain["methods"][0]["mean"] != answer["methods"][0]["mean"]
    _, words = day("fit loans.csv -o m.json --label default --group loan_id --method logistic --missing mean")
    assert "--group changes nothing here" in words
    _, words = day("fit loans.csv -o m.json --label default --group costumer --missing mean", fails=True)
    assert 'there is no group column "costumer"' in words and 'did you mean "customer"' in words
    _, words = day("compare loans.csv --label default --group purpose --missing mean", fails=True)
    assert 'column "purpose": missing value' in words
    _, words = day("compare loans.csv --label default --group owner --missing mean", fails=True)
    assert "2 group(s) cannot be dealt to 5 parts" in words and "hint:" in words


def test_compare_has_errors_and_baselines(day: Any) -> None:
    options = "--label default --ignore loan_id,customer,weight,paid_at,purpose,income"
    answer = parsed(day, f"compare loans.csv --test known.csv {options}")
    named = {row["method"]: row for row in answer["methods"]}
    assert list(named) == ["proper", "logistic-cv", "platt", "isotonic"]
    assert named["proper"]["log_loss_difference"] == {"from": "proper", "mean": 0.0, "standard_error": 0.0}
    columns = ["opened", "owner", "age", "region"]
    parts = []
    for name in ("loans", "known"):
        frame = pd.read_csv(day.folder / f"{name}.csv", dtype={"region": str}, parse_dates=["opened"])
        rows = pd.get_dummies(frame[columns], columns=["region"], dtype=float)
        rows["opened"] = (rows["opened"] - pd.Timestamp(0)).dt.days
        parts.append((rows.astype(float), frame["default"]))
    (X, y), (X_test, y_test) = parts
    # scikit-learn's own, on other folds: the same neighbourhood, within a standard error.
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    theirs = make_pipeline(
        StandardScaler(), LogisticRegressionCV(Cs=10, cv=folds, scoring="neg_log_loss")
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of its own defaults
        theirs.fit(X, y)
    loss = log_loss(y_test, theirs.predict_proba(X_test))
    ours = named["logistic-cv"]
    assert abs(ours["mean"]["log_loss"] - loss) < ours["log_loss_standard_error"]
    # The difference and its error, from the rows themselves.
    model = pl.ProperLossClassifier().fit(
        pd.read_csv(day.folder / "loans.csv", dtype={"region": str})[columns], y
    )
    p = model.predict_proba(pd.read_csv(day.folder / "known.csv", dtype={"region": str})[columns])[:, 1]
    row_losses = -np.where(y_test == 1, np.log(p), np.log1p(-p))
    assert named["proper"]["mean"]["log_loss"] == pytest.approx(row_losses.mean(), rel=1e-12)
    error = row_losses.std(ddof=1) / np.sqrt(len(p))
    assert named["proper"]["log_loss_standard_error"] == pytest.approx(error, rel=1e-9)
    table, words = day(f"compare loans.csv --test known.csv {options} --methods logistic-cv,isotonic")
    assert "difference" in table and "standard errors" in words
    paper = parsed(day, f"compare loans.csv --test known.csv {options} --methods paper --max-iter 3")
    assert "bregmantron" in [row["method"] for row in paper["methods"]]
    _, words = day(f"compare loans.csv {options} --methods plat", fails=True)
    assert "logistic-cv, platt, isotonic" in words


def test_evaluate_predict_and_inspect(day: Any) -> None:
    answer = parsed(day, "evaluate model.json known.csv")
    assert answer["weight"] == "weight" and answer["rows"] == 500
    lines = day("predict model.json new.csv --keep loan_id --json --quiet")[0].splitlines()
    first = json.loads(lines[0])
    assert set(first) == {"loan_id", "probability"} and len(lines) == 500
    _, words = day("predict model.json new.csv -o out.csv")
    assert "categories that did not occur at training" in words
    about = parsed(day, "inspect model.json")
    assert about["loss"]["why"] and about["classes"] == ["0", "1"]
    assert len(about["weights"]) == len(about["feature_names"]) == 11
    assert parsed(day, "inspect loss.json")["loss"]["kind"] == about["loss"]["kind"]


def test_calibrations_are_saved_and_applied(day: Any) -> None:
    frame = scores()
    for column, kind in (("score", "scores"), ("p", "probabilities")):
        answer = parsed(
            day, f"calibrate scores.csv --score {column} --model {kind}.json -o {kind}-p.csv --keep id,customer"
        )
        assert answer["kind"] == kind and answer["written"] == [f"{kind}-p.csv", f"{kind}.json"]
        assert answer["held_out_log_loss"]["result"] < 0.7
        written = pd.read_csv(day.folder / f"{kind}-p.csv")
        assert list(written) == ["id", "customer", "probability"]
        assert list(written["id"]) == list(frame["id"])
        # The same numbers from the file, in the shell and in Python.
        applied = day(f"predict {kind}.json scores.csv --quiet")[0]
        np.testing.assert_array_equal(pd.read_csv(io.StringIO(applied))["probability"], written["probability"])
        calibrator = pl.load(day.folder / f"{kind}.json")
        assert isinstance(calibrator, pl.ProperCalibrator) and calibrator.kind == kind
        np.testing.assert_allclose(calibrator.predict(frame[column]), written["probability"], rtol=1e-14)
        # And back: Python's file in the shell.
        fitted = pl.ProperCalibrator().fit(frame[[column]], frame["default"])
        np.testing.assert_allclose(fitted.predict(frame[[column]]), written["probability"], rtol=1e-14)
        fitted.save(day.folder / "python.json")
        back = pd.read_csv(io.StringIO(day("predict python.json scores.csv --quiet")[0]))
        np.testing.assert_allclose(back["probability"], written["probability"], rtol=1e-14)
        measured = parsed(day, f"evaluate {kind}.json scores.csv")
        assert measured["log_loss"] == pytest.approx(log_loss(frame["default"], written["probability"]))
    day("export probabilities.json -o calibration.py")
    scope: dict[str, Any] = {}
    exec((day.folder / "calibration.py").read_text(), scope)
    np.testing.assert_allclose(
        [scope["probability"]([p]) for p in frame["p"][:50]], written["probability"][:50], rtol=1e-12
    )
    grouped = parsed(day, "calibrate scores.csv --score p --group customer -o g.csv")
    assert grouped["groups"] == "customer" and "calibration_bound" not in grouped["certificate"]
    assert "calibration_bound" in answer["certificate"]
    # What is no probability is said, with its place.
    frame.assign(p=frame["score"]).to_csv(day.folder / "wrong.csv", index=False)
    _, words = day("predict probabilities.json wrong.csv", fails=True)
    assert 'column "p"' in words and "is not a probability" in words
    _, words = day("calibrate scores.csv --score p --apply wrong.csv", fails=True)
    assert "is not a probability" in words


def test_transfer_and_its_help(day: Any) -> None:
    answer = parsed(day, f"transfer loss.json known.csv -o moved.json {ROLES} --l2 0.01")
    assert answer["method"] == "canonical" and answer["loss"] > 0
    about, first = parsed(day, "inspect moved.json"), parsed(day, "inspect loss.json")
    assert about["loss"] == first["loss"]
    text = day("transfer --help")[0]
    assert "--l2" in text and "--loss-kind" in text
    assert "--method" not in text and "--slope-min" not in text and "--cv" not in text


def test_models_of_python_are_measured(day: Any) -> None:
    """A model of arrays names no label column; one of a table with a named y does."""
    frame = pd.read_csv(day.folder / "known.csv")
    X, y = frame[["age", "weight"]], frame["default"]
    pl.CanonicalLossClassifier().fit(X, y).save(day.folder / "named.json")
    pl.CanonicalLossClassifier().fit(X, y.to_numpy()).save(day.folder / "unnamed.json")
    expected = parsed(day, "evaluate named.json known.csv")["log_loss"]
    _, words = day("evaluate unnamed.json known.csv", fails=True)
    assert "which column holds the labels" in words and "--label" in words
    assert parsed(day, "evaluate unnamed.json known.csv --label default")["log_loss"] == expected
    day("report unnamed.json known.csv --label default -o page.html")


@pytest.mark.parametrize(
    "line",
    [
        "inspect model.json --plot link.png",
        "evaluate model.json known.csv --plot curve.pdf",
        "predict model.json new.csv -o p.parquet",
        "calibrate scores.csv --score p -o p.parquet",
        "fit loans.csv -o model.parquet --label default --missing mean",
        "fit loans.csv -o m.json --loss-out loss.csv --label default --missing mean",
        "report model.json known.csv -o page.pdf",
        "synth -o examples.parquet",
    ],
)
def test_a_name_that_promises_another_format_is_refused(day: Any, line: str) -> None:
    _, words = day(line, fails=True)
    assert "not written as" in words and "hint:" in words, words


def test_parquet_on_standard_input_is_recognised(cli: str, day: Any) -> None:  # noqa: F811
    pytest.importorskip("pyarrow")
    for name in ("loans", "known"):
        pd.read_csv(day.folder / f"{name}.csv").to_parquet(day.folder / f"{name}.parquet")

    def piped(name: str, line: str) -> str:
        done = subprocess.run(
            [cli, *line.split()], input=(day.folder / name).read_bytes(), capture_output=True, cwd=day.folder
        )
        assert done.returncode == 0, f"{line}\n{done.stderr.decode()}"
        return done.stdout.decode()

    roles = "--label default --ignore loan_id,customer,weight --missing mean --method logistic"
    piped("loans.parquet", f"fit - -o piped.json {roles}")
    day(f"fit loans.parquet -o file.json {roles}")
    weights = [json.loads((day.folder / name).read_text())["weights"] for name in ("piped.json", "file.json")]
    assert weights[0] == weights[1]
    expected = day("predict model.json known.csv --quiet")[0]
    assert piped("known.parquet", "predict model.json - --quiet") == expected
    assert json.loads(piped("known.parquet", "evaluate model.json - --json"))["rows"] == 500
    assert piped("known.parquet", "report model.json - -o page.html --quiet") == ""
    assert piped("loans.parquet", f"compare - {roles.rpartition(' --method')[0]} --methods logistic --folds 2")


def test_texts_that_look_like_something_else_are_asked_about(day: Any) -> None:
    frame = loans(300, seed=4)[["opened", "income", "default"]].dropna()
    frame["opened"] = frame["opened"].dt.strftime("%d/%m/%Y")
    frame["income"] = [f"{v:.2f}".replace(".", ",") for v in (frame["income"] % 9)]
    frame.insert(0, "key", [f"k-{i}" for i in range(len(frame))])
    frame.to_csv(day.folder / "texts.csv", index=False)
    _, words = day("fit texts.csv -o m.json --method logistic --categorical key --categorical opened")
    assert 'column "opened"' in words and "look like dates: write them as 2024-01-31" in words
    assert 'column "income"' in words and "write 1.5 for 1,5" in words
    assert 'column "key"' in words and "is it an identifier? Leave it out" in words
    _, words = day("fit loans.csv -o m.json --method logistic --missing mean --ignore loan_id,customer,weight")
    assert "warning" not in words, words
    one = loans(60, seed=4)[["age"]].assign(y=[int(i == 7) for i in range(60)])
    one.to_csv(day.folder / "one.csv", index=False)
    _, words = day("fit one.csv -o m.json", fails=True)
    assert "class 1 has 1 row(s)" in words and "hint: gather more rows of it" in words


def test_weights_that_sum_to_one_are_asked_about(day: Any) -> None:
    frame = loans(900, seed=4)
    frame["share"] = frame["weight"] / frame["weight"].sum()
    frame.to_csv(day.folder / "shares.csv", index=False)
    line = "fit shares.csv -o shares.json --label default --ignore loan_id,customer,weight --weight share --missing mean"
    _, words = day(line)
    assert "sum to 1.0000" in words and "--relative-weights" in words
    _, words = day(f"{line} --relative-weights")
    assert "hardly any rows" not in words
    relative = pl.ProperLossClassifier(missing="mean", weights="relative")
    relative.fit(frame[FEATURES], frame["default"], frame["share"])
    # The mean of the weights is summed in another order.
    np.testing.assert_allclose(pl.load(day.folder / "shares.json").coef_, relative.coef_, rtol=1e-6)


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("fit loans.csv -o m.json --label defalt", "default"),
        ("fit loans.csv -o m.json --label Default", "default"),
        ("predict model.json new.csv --keep loan", "loan_id"),
        ("fit loans.csv -o m.json --group custmoer", "customer"),
        ("fit loans.csv -o m.json --ignore xyz", None),
    ],
)
def test_a_slip_in_a_column_is_answered(day: Any, line: str, meant: str | None) -> None:
    _, words = day(line, fails=True)
    hint = words[words.index("hint:") :]
    assert (f'did you mean "{meant}"?' in hint) if meant else ("did you mean" not in hint), words


def test_what_is_left_out_is_said(day: Any) -> None:
    frame = pd.read_csv(day.folder / "loans.csv")
    missing = int(frame[FEATURES].isna().any(axis=1).sum())
    _, words = day("fit loans.csv -o m.json --label default --ignore loan_id,customer,weight --missing drop")
    assert f"{missing} row(s) left out: a missing value" in words
    # A report counts the categories that are new, as `predict` and `evaluate` do.
    unseen = int((pd.read_csv(day.folder / "new.csv")["purpose"] == "boat").sum())
    for line in ("predict model.json new.csv -o p.csv", "evaluate model.json new.csv", "report model.json new.csv"):
        assert f"warning: {unseen} value(s) are categories that did not occur" in day(line)[1], line
    # The data before the model.
    assert "the model comes before the data" in day("predict new.csv model.json", fails=True)[1]


@pytest.mark.parametrize(
    "line",
    [
        "predict model.json new.csv -o new.csv",
        "calibrate scores.csv --score p -o ../day0/../day0/scores.csv",
        "fit loans.csv -o loans.csv --label default",
        "transfer loss.json known.csv -o loss.json --label default",
        "export model.json -o model.json --format c",
        "report model.json known.csv -o known.csv",
    ],
)
def test_an_input_is_never_overwritten(day: Any, line: str) -> None:
    line = line.replace("day0", day.folder.name)
    before = {path: path.read_bytes() for path in day.folder.iterdir() if path.is_file()}
    _, words = day(line, fails=True)
    assert "an input of the command, which would be overwritten" in words
    assert {path: path.read_bytes() for path in before} == before
