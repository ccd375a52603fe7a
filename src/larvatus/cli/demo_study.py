"""The data and study of `larvatus demo`, written so that a newcomer can edit them and run them again."""

from __future__ import annotations

from pathlib import Path

from larvatus.core.errors import LarvatusError, WriteError
from larvatus.core.files import write_text

_FEWEST = 300
STUDY = """\
source = "households.csv"
purpose = "Show on the built-in households why model-based masking loses less and reveals less than added noise."

[roles]
confidential = ["home_value", "mortgage_balance", "net_assets"]

[sub_groups]
columns = ["gender", "marital", "age_group"]
small = "pool"

[[release]]
name = "noise"
steps = [{ method = "additive_noise", variance = 0.25 }]

[[release]]
name = "sufficiency-based, d = 0.5"
steps = [{ method = "sufficiency_based", similarity = 0.5 }]

[[release]]
name = "sufficiency-based, d = 0"
steps = [{ method = "sufficiency_based", similarity = 0 }]

[[release]]
name = "shuffled"
steps = [{ method = "data_shuffling" }, { method = "top_coding", tail = 0.01 }]
"""


def prepare(folder: Path, records: int, overwrite: bool) -> Path:
    """Write the households and the study into a folder and return the study's path."""
    from larvatus.datasets import households
    from larvatus.engines._files.targets import check_target, write_batches

    if records < _FEWEST:
        raise LarvatusError(f"--records: {records} is too few for 24 sub-groups; use at least {_FEWEST}.")
    study = folder / "study.toml"
    if study.exists() and not overwrite:
        raise WriteError(f"{study} already exists. Choose another folder with -o, or overwrite with --overwrite.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(f"folder {folder} cannot be created: {error.strerror}. Choose another one with -o.") from None
    source = folder / "households.csv"
    check_target(source, overwrite)
    write_batches(((batch, ()) for batch in households(records).to_batches()), source, "keep", None)
    write_text(study, STUDY, overwrite)
    return study
