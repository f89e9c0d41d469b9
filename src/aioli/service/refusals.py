"""What a service refuses, as data: a code for programs, the HTTP status, and one sentence that says what to do."""

from typing import ClassVar

from aioli.errors import AioliError

__all__ = [
    "BadRequest",
    "Forbidden",
    "IdUnknown",
    "LabelConflict",
    "ModelExists",
    "ModelUnknown",
    "RowConflict",
    "RowExpired",
    "ServiceRefused",
    "StoreUnavailable",
    "TooLarge",
    "TooMany",
    "Unauthorised",
    "Unprocessable",
]


class ServiceRefused(AioliError):
    """A request was refused; nothing was changed.

    Attributes
    ----------
    code, status
        What it is, for programs; and the status of the HTTP answer.
    """

    code: ClassVar[str] = "refused"
    status: ClassVar[int] = 400


class BadRequest(ServiceRefused):
    """The request is not what the endpoint takes."""

    code = "bad_request"


class Unauthorised(ServiceRefused):
    """The request has no token, or one that is not known."""

    code, status = "unauthorised", 401


class Forbidden(ServiceRefused):
    """The token may read, and the request would change something."""

    code, status = "forbidden", 403


class ModelUnknown(ServiceRefused):
    """There is no model of this name."""

    code, status = "model_unknown", 404


class IdUnknown(ServiceRefused):
    """A label came for an id of which no row was predicted."""

    code, status = "id_unknown", 404


class ModelExists(ServiceRefused):
    """There is a model of this name already."""

    code, status = "model_exists", 409


class RowConflict(ServiceRefused):
    """An id came a second time, with another row."""

    code, status = "row_conflict", 409


class LabelConflict(ServiceRefused):
    """A second label came for an id, and it is another than the first."""

    code, status = "label_conflict", 409


class RowExpired(ServiceRefused):
    """A label came for a row that has waited too long, or had to make room."""

    code, status = "row_expired", 410


class TooLarge(ServiceRefused):
    """The request's body is longer than is read."""

    code, status = "too_large", 413


class Unprocessable(ServiceRefused):
    """The row, the label or the model is refused by the learner."""

    code, status = "unprocessable", 422


class TooMany(ServiceRefused):
    """More requests came than are answered."""

    code, status = "too_many", 429


class StoreUnavailable(ServiceRefused):
    """What came could not be made durable, so nothing of it was kept."""

    code, status = "store_unavailable", 503
