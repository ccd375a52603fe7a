"""The examples for Kubernetes fit the schemas of Kubernetes. They were not tried on a cluster."""

from __future__ import annotations

import pytest

from catalogue import ROOT

FOLDER = ROOT / "packaging" / "kubernetes"
EXAMPLES = sorted(FOLDER.glob("*.yaml"))


@pytest.mark.slow  # `make check` installs the schemas
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem.replace("-", "_"))
def test_every_object_of_an_example_fits_its_schema(path):
    schemas = pytest.importorskip("kubernetes_validate", reason="install larvatus[kubernetes]")
    yaml = pytest.importorskip("yaml")
    objects = list(yaml.safe_load_all(path.read_text(encoding="utf-8")))
    for given in objects:
        schemas.validate(given, "1.30", strict=True)
    jobs = [given for given in objects if given["kind"] == "Job"]
    assert len(jobs) == 1
    broken = {**jobs[0], "spec": {**jobs[0]["spec"], "retries": 3}}
    with pytest.raises(schemas.ValidationError):
        schemas.validate(broken, "1.30", strict=True)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem.replace("-", "_"))
def test_no_example_names_a_secret_or_runs_as_root(path):
    text = path.read_text(encoding="utf-8")
    assert text.count("runAsNonRoot: true") == text.count("containers:")
    assert "secret" not in text.lower()
