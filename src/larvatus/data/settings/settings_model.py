"""Settings that people write in Python: their problems are reported as those of a study, with the nearest name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, ValidationError

from larvatus.core.errors import StudyError

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:
    ModelMetaclass = type(BaseModel)


class _Reporting(ModelMetaclass):
    """Calling the class reports problems in the words of the package; `model_validate` raises pydantic's own error.

    A study reads its parts by `model_validate`, and reports the problems of all of them together.
    """

    def __call__(cls, *given: Any, **settings: Any) -> Any:
        try:
            return super().__call__(*given, **settings)
        except ValidationError as error:
            from larvatus.data.method_parsing import validation_problems

            model: Any = cls
            fields = [*model.model_fields, *model.more_fields]
            raise StudyError(validation_problems(cls.__name__, error, fields)) from None


class SettingsModel(BaseModel, metaclass=_Reporting):
    """A model with that behaviour. `more_fields` are names inside its fields that a message may refer to."""

    more_fields: ClassVar[tuple[str, ...]] = ()
