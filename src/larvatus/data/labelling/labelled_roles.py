"""Roles that follow from the labels of a file: categorical and ordered columns, and codes of missing values."""

from __future__ import annotations

from collections.abc import Mapping

from larvatus.data.labelling.labels import CodeValue, ColumnLabels, FileLabels, MissingCode
from larvatus.data.roles import Roles, SubGroups, has_order, released_columns


def roles_with_labels(
    roles: Roles, sub_groups: SubGroups, labels: FileLabels, unlabelled: Mapping[str, tuple[CodeValue, ...] | None]
) -> Roles:
    """The roles, completed by what the file states; what the roles state themselves comes first.

    A column with value labels is categorical, and ordered if its measure is ordinal. It stays numeric if it is declared so,
    if it is the weight, if only codes of missing values have labels, or if many of its values have none.
    """
    used = [n for n in released_columns(roles, sub_groups) if n in labels.columns]
    missing = {n: _joined(roles.missing.get(n, ()), labels[n].missing) for n in used}
    nominal, ordered = list(roles.nominal), dict(roles.ordered)
    for name in used:
        rest = unlabelled.get(name, None)
        if name in roles.numeric or name == roles.weight or not labels_make_categorical(labels[name], rest):
            continue
        if has_order(roles, name) or name in nominal:
            continue
        if labels[name].measure == "ordinal":
            ordered[name] = tuple(sorted({*labels[name].categories, *(rest or ())}, key=_place))
        else:
            nominal.append(name)
    stated = {n: c for n, c in {**roles.missing, **missing}.items() if c}
    return roles.model_copy(update={"nominal": tuple(nominal), "ordered": ordered, "missing": stated})


def labels_make_categorical(labels: ColumnLabels, unlabelled: tuple[CodeValue, ...] | None) -> bool:
    """Whether value labels make a column categorical. `unlabelled` are its values without a label; None if they are many."""
    if not labels.categories or unlabelled is None:
        return False
    return labels.measure != "scale" or not unlabelled


def _place(code: CodeValue) -> tuple[bool, CodeValue]:
    return isinstance(code, str), code


def _joined(stated: tuple[MissingCode, ...], found: tuple[MissingCode, ...]) -> tuple[MissingCode, ...]:
    return tuple(dict.fromkeys((*stated, *found)))
