"""How work is carried out, what is written of it, and what was decided: values that change no score."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SkipValidation, ValidationError, field_validator

from larvatus.core.errors import StudyError
from larvatus.core.progress import Progress, default_progress
from larvatus.data.labelling.labels import FileFormat
from larvatus.data.method_parsing import validation_problems


class _Stated(BaseModel):
    """A frozen value whose problems are reported as those of a study."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    def __init__(self, **given: Any) -> None:
        try:
            super().__init__(**given)
        except ValidationError as error:
            where = "files" if type(self) is OutputFiles else type(self).__name__.lower()
            raise StudyError(validation_problems(where, error, list(type(self).model_fields))) from None


class Execution(_Stated):
    """How candidates are worked through. The results are the same whatever is stated here.

    Examples:
        >>> import larvatus as lv
        >>> data = lv.read(lv.datasets.households(300), confidential=["home_value", "net_assets"], sub_groups=["gender"])
        >>> execution = lv.Execution(jobs=1, cache_dir="finished")
        >>> plan, secret = [{"name": "noise", "steps": ["additive_noise"]}], b"thirty-two random bytes, in truth"
        >>> comparison = lv.compare(data, plan, "nearest_record", "moments", secret=secret, execution=execution)
        >>> lv.compare(data, plan, "nearest_record", "moments", secret=secret, execution=execution).reused
        ('noise',)
    """

    jobs: int | None = Field(default=None, description="parallel processes, 1 or 2 (default: automatic)")
    cache_dir: Path | None = Field(
        default=None, description="folder that stores finished releases, so that a later call resumes (default: none)"
    )
    progress: SkipValidation[Progress] = Field(
        default_factory=default_progress, repr=False,
        description="function that receives what is being done; it may be called from another thread (default: lines in a "
        "notebook or on a terminal)",
    )

    @field_validator("jobs")
    @classmethod
    def _one_or_two(cls, given: int | None) -> int | None:
        if given not in (None, 1, 2):
            raise ValueError("1 or 2 processes can work in parallel")
        return given


class Decision(_Stated):
    """What was decided about the releases of a study; it goes into the report and the manifests.

    Examples:
        >>> import larvatus as lv
        >>> from pyarrow import csv
        >>> csv.write_csv(lv.datasets.households(300), "households.csv")
        >>> study = lv.Study(source="households.csv", roles={"confidential": ["home_value", "net_assets"]},
        ...                  release=[{"name": "shuffled", "steps": ["data_shuffling"]}],
        ...                  attack=["nearest_record"], measure=["moments"])
        >>> decision = lv.Decision(chosen="shuffled", reason="It loses least.", approved_by="The board")
        >>> lv.run(study, "results", decision=decision).warnings
        ()
    """

    chosen: str | None = Field(default=None, description="name of the release that the report puts forward to the board")
    public: str | None = Field(default=None, description="name of the release to write a public report for")
    reason: str = Field(default="", description="why it was chosen, in your words")
    approved_by: str = Field(default="", description="approver, recorded in the internal manifest")


class OutputFiles(_Stated):
    """The released files of a study.

    Examples:
        >>> import larvatus as lv
        >>> from pyarrow import csv
        >>> csv.write_csv(lv.datasets.households(300), "households.csv")
        >>> study = lv.Study(source="households.csv", roles={"confidential": ["home_value", "net_assets"]},
        ...                  release=[{"name": "shuffled", "steps": ["data_shuffling"]}],
        ...                  attack=["nearest_record"], measure=["moments"])
        >>> comparison = lv.run(study, "results", files=lv.OutputFiles(format="parquet", pairings=False))
        >>> from pathlib import Path
        >>> Path("results", "releases", "shuffled.parquet").exists()
        True
    """

    format: FileFormat | None = Field(
        default=None, description="format of the releases (default: that of the source; Parquet if it is large)"
    )
    row_order: Literal["random", "keep"] = Field(default="random", description="order of the rows in the released files")
    spreadsheet: bool = Field(
        default=False, description="in CSV, put an apostrophe before texts that spreadsheet programs run as formulas"
    )
    pairings: bool = Field(
        default=True, description="keep a file for each release that pairs its rows with the original's, in internal/pairings"
    )
