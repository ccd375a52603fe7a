"""Hold out records: a share of the data, drawn with the secret, or those of a file; and write the two parts to files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from larvatus.core.errors import RiskError, RolesError, StudyError, WriteError, nearest_names
from larvatus.core.files import stem_of_file
from larvatus.core.input_paths import paths_read, refuse_inputs
from larvatus.core.randomness import secret_or_new
from larvatus.core.safe_files.file_sets import file_set
from larvatus.data.accepted_types import SourceLike
from larvatus.data.csv_files.dialect import file_like
from larvatus.data.holdout import FEWEST_HELD_OUT, Holdout, check_apart, draw_holdout, split_off
from larvatus.data.microdata import Microdata, check_microdata, collect
from larvatus.data.record_selection import read_ids, record_numbers
from larvatus.engines._files.targets import check_target


def hold_out(data: Microdata, holdout: float | SourceLike = 0.2, *, secret: bytes | None = None) -> Microdata:
    """Data with records that no mask and no generator sees; attacks on files without pairs compare with them.

    `holdout` is a share of the records, drawn by the secret and the record id, or a file or data frame with other records of
    the same population. With a share, the result has the other records only: give these to the generator.

    Examples:
        >>> import larvatus as lv
        >>> data = lv.read(lv.datasets.households(1000), confidential=["home_value", "net_assets"], sub_groups=["gender"])
        >>> training = lv.hold_out(data, 0.2, secret=b"thirty-two random bytes, in truth")
        >>> training.rows + training.holdout.rows
        1000
        >>> training.frame().num_rows == training.rows  # what a generator may see
        True
    """
    check_microdata(data)
    if isinstance(holdout, bool) or not isinstance(holdout, int | float):
        return _with_file(data, holdout)
    if not 0 < holdout < 1:
        raise RiskError(f"the share must be between 0 and 1, got {holdout}. Use 0.2 for a fifth of the records.",
                        subject="holdout")
    return split_off(data, draw_holdout(data, float(holdout), secret_or_new(secret)))


def hold_out_for_study(data: Microdata, holdout: Holdout, folder: Path | None, secret: bytes | None) -> Microdata:
    """The data with the holdout of a study; a share needs the secret."""
    if holdout.share is not None:
        if secret is None:
            raise StudyError(["holdout.share: the secret decides which records are held out, and none is given. Give the "
                              "secret file (--secret-file), or the holdout as a file (holdout.file)."])
        return hold_out(data, holdout.share, secret=secret)
    if holdout.file is not None:
        return _with_file(data, (folder or Path()) / holdout.file)
    if holdout.records is not None:
        ids = record_numbers(read_ids((folder or Path()) / holdout.records, data.roles.record_id))
        return split_off(data, np.intersect1d(collect(data, ())[0], ids))
    return data


def write_split(data: Microdata, training: Path, held_out: Path | None = None, overwrite: bool = False) -> None:
    """Write the training part and, if asked for, the records held out: the columns that may be released, in the file's order.

    The files are as confidential as the source, and readable by the owner only. Both appear, or none.
    """
    if data.holdout is None:
        raise RiskError("no record is held out, so there is no training part. Hold records out first.", subject="holdout")
    parts = {training: data} if held_out is None else {training: data, held_out: data.holdout}
    if len(parts) < 2 and held_out is not None:
        raise WriteError(f"{training.name} cannot be both parts. Give the records held out another file.")
    refuse_inputs(parts, data.inputs)
    for target in parts:
        check_target(target, overwrite)
    with file_set(training.parent, stem_of_file(training), overwrite) as files:
        for target, part in parts.items():
            staged = files.path(target)
            part.engine.write(part.table, part.released, staged, None, None, True, part.labels)
            for written in (staged, *(staged.rglob("*") if staged.is_dir() else ())):
                written.chmod(0o700 if written.is_dir() else 0o600)


def _with_file(data: Microdata, source: Any) -> Microdata:
    """The data with the records of another file as their holdout."""
    file = file_like(source, data.dialect)
    names, wanted = data.engine.names(file), [*data.released]
    absent = [n for n in wanted if n not in names]
    if absent:
        raise RolesError(f"the holdout has no column {absent[0]!r}; {nearest_names(absent[0], names)}", subject="holdout")
    roles = data.roles.model_copy(update={
        "identifiers": (), "person": None, "household": None, "household_columns": (), "record_id": None,
        "nominal": tuple(n for n in wanted if data.table.columns[n].kind == "nominal"), "ordered": {}, "taxonomies": {},
    })
    if roles.weight is not None and roles.weight not in names:
        roles = roles.model_copy(update={"weight": None})
    held = Microdata(data.engine.read(file, roles, data.sub_groups), roles, data.sub_groups, data.engine, paths_read(source))
    for n in wanted:
        if held.table.columns[n].kind != data.table.columns[n].kind:
            raise RolesError(f"{n!r} is not of the same type in the holdout and in the data. Convert it.", subject="holdout")
    if held.rows < FEWEST_HELD_OUT:
        raise RiskError(f"the file has {held.rows:,} records; at least {FEWEST_HELD_OUT} are needed.", subject="holdout")
    check_apart(data, held)
    return replace(data, holdout=held, inputs=(*data.inputs, *held.inputs))
