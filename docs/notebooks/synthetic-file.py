"""Is this synthetic file safe? As a notebook: `marimo edit synthetic-file.py`."""

import marimo

app = marimo.App()


@app.cell(hide_code=True)
def _():
    import marimo as mo

    mo.md("""
    # Notebook: is this synthetic file safe?

    A hospital wants to publish a synthetic version of a register of 1,250 made-up patients. Three generators each made a
    file. No row of these files is a patient, so nothing can be linked. The question is whether a file follows the patients
    that its generator saw more closely than it follows the population.
    """)
    return (mo,)


@app.cell
def _():
    import numpy as np
    import pandas as pd

    import larvatus as lv

    rng = np.random.default_rng(1)
    n = 1250
    age = np.clip(rng.normal(55, 17, n), 18, 95).round()
    weight = rng.normal(78, 14, n).round(1)
    pressure = (95 + 0.5 * age + 0.2 * weight + rng.normal(0, 12, n)).round()
    days = (1 + rng.gamma(2.0, 1 + age / 40)).round()
    cost = (900 * days * rng.lognormal(0, 0.4, n)).round()
    patients = pd.DataFrame({"sex": rng.choice(["f", "m"], n), "age": age, "weight": weight, "pressure": pressure,
                             "days": days, "cost": cost})
    patients.head()
    return lv, np, patients, pd, rng


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## Hold patients out

    A fifth of the patients is held out **before** any generator runs. Later they show how near other people of the same
    population come to a synthetic row. Without them no test can tell a leak from a good model.
    """)


@app.cell
def _(lv, patients):
    numbers = ["age", "weight", "pressure", "days", "cost"]
    register = lv.read(patients, confidential=numbers, non_confidential=["sex"])
    data = lv.hold_out(register, 0.2, secret=b"the first synthetic notebook")
    seen = data.to_pandas()
    f"{len(seen)} patients for the generators, {data.holdout.rows} held out"
    return data, numbers, seen


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## Three generators

    * *Normal* draws from a normal distribution of the logarithms, for each sex.
    * *Trees* draws column by column from classification and regression trees, as synthpop does.
    * *Memory* draws like the first one, but 3 % of its rows are nearly those of a patient.
    """)


@app.cell
def _(data, lv, np, numbers, pd, rng, seen):
    def normal_rows():
        parts = []
        for sex, part in seen.groupby("sex"):
            logs = np.log(part[numbers])
            drawn = np.exp(rng.multivariate_normal(logs.mean(), logs.cov(), len(part)))
            parts.append(pd.DataFrame(drawn, columns=numbers).round(1).assign(sex=sex))
        return pd.concat(parts, ignore_index=True)[["sex", *numbers]]

    def memory_rows():
        made = normal_rows()
        copied = seen.sample(round(0.03 * len(seen)), random_state=4)
        near = copied[numbers] + 0.01 * seen[numbers].std().to_numpy() * rng.normal(size=(len(copied), len(numbers)))
        made.loc[: len(copied) - 1, ["sex", *numbers]] = near.assign(sex=copied["sex"])[["sex", *numbers]].to_numpy()
        return made

    trees = lv.mask(data, "sequential_trees", secret=b"the trees of the notebook")
    made = {"normal": normal_rows(), "trees": trees.to_pandas(), "memory": memory_rows()}
    for name, rows in made.items():
        rows.to_csv(f"{name}.csv", index=False)
    files = {name: f"{name}.csv" for name in made}
    made["memory"].head()
    return (files,)


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## Three lines for each file

    `paired=False` says that no row belongs to a record. The attacks that need no pairs run; each is compared with its success
    for the patients held out. First the file of the normal distribution, then the one that remembers:
    """)


@app.cell
def _(data, files, lv):
    attacks = ["closest_record", "near_copies", "membership_inference", "singling_out", "linkability", "nearest_inference"]
    found = {name: lv.risk(data, file, attacks, paired=False) for name, file in files.items()}
    found["normal"].plot()
    return (found,)


@app.cell
def _(found):
    found["memory"].plot()


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## The two tests

    Two attacks have a p-value. `closest_record` asks whether the rows as a whole are nearer to patients that the generator
    saw. `near_copies` asks whether some rows are nearly the record of one patient. A generator can pass one and fail the
    other: the file *memory* has few copies, which an average does not show. Trees stay near all patients a little.
    """)


@app.cell
def _(found, pd):
    pd.DataFrame([
        {"file": name, "attack": score.method, "found": round(score.value, 3), "held out": round(score.s_alone, 3),
         "p-value": f"{score.details['test'][0]['p_value']:.2g}"}
        for name, scores in found.items() for score in scores if "test" in score.details
    ])


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## Risk and loss together

    The three files stand on one map with a shuffled one, so that you see what their protection costs. A shuffled file is
    paired: its rows are records, and attacks that link them run too. Without a list, every attack that applies to a file runs.
    """)


@app.cell
def _(data, files, lv):
    comparison = lv.compare(
        data,
        [{"name": name, "file": file, "paired": False} for name, file in files.items()]
        + [{"name": "shuffled", "steps": ["data_shuffling"]}],
        measures=["moments", "correlation", "marginal", "specks"],
        secret=b"the comparison of the notebook",
    )
    comparison
    return (comparison,)


@app.cell
def _(comparison):
    comparison.headline()


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## What follows

    * *Memory* must not be published: 3 % of its rows are nearly records of patients. Its average figures look harmless, so
      look at `near_copies` too, not only at averages.
    * *Trees* follows its patients too closely with leaves of five. Try larger leaves (`smallest_leaf`), and judge again.
    * *Normal* passes, and costs most. *Not shown to be safe* means that no attack was seen to succeed, and that so few
      records cannot rule it out.

    The guide *Is this synthetic file safe?* says how far to trust these tests.
    """)


if __name__ == "__main__":
    app.run()
