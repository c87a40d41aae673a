"""All exceptions of the library: TensorFlow's classes, each also a built-in exception.

  Exception
  ├── OpError                          an op, a graph or a file failed
  │   ├── CancelledError            1  the caller gave up
  │   ├── UnknownError              2  a failure that says no more about itself
  │   ├── InvalidArgumentError      3  an argument that can never be right     (ValueError)
  │   ├── DeadlineExceededError     4  time ran out                            (TimeoutError)
  │   ├── NotFoundError             5  a file, key, op or signature is missing (LookupError)
  │   │   └── MissingFileError         it is a file or folder                  (FileNotFoundError)
  │   ├── AlreadyExistsError        6  what should be made is there already
  │   ├── PermissionDeniedError     7  the caller may not do this              (PermissionError)
  │   ├── ResourceExhaustedError    8  memory, a quota or a limit is used up   (MemoryError)
  │   ├── FailedPreconditionError   9  right call, wrong state                 (RuntimeError)
  │   ├── AbortedError             10  stopped by a concurrent change
  │   ├── OutOfRangeError          11  past the end: of a dataset, of an axis  (IndexError)
  │   ├── UnimplementedError       12  this library does not do that           (NotImplementedError)
  │   ├── InternalError            13  a fault of the library
  │   ├── UnavailableError         14  not now: try again
  │   ├── DataLossError            15  bytes that are damaged
  │   └── UnauthenticatedError     16  the caller did not say who it is
  ├── InaccessibleTensorError          a traced tensor used outside its trace  (ValueError)
  └── OperatorNotAllowedInGraphError   a traced tensor where a value is needed (TypeError)

The numbers are gRPC's canonical status codes. This module imports nothing.
"""

OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16


class OpError(Exception):
    """A failure with a canonical code.

    Args:
        *args: the message alone, or TensorFlow's `(node_def, op, message)`; `OpError` itself also
            takes the code last.
        node_def: the node that failed, if one did.
        op: the op that failed, if one did.
        message: the text, if it is not among `args`.
        error_code: a canonical code; each subclass has its own.
    """

    error_code: int = UNKNOWN

    def __init__(
        self,
        *args: object,
        node_def: object = None,
        op: object = None,
        message: str | None = None,
        error_code: int | None = None,
    ) -> None:
        text: object = "" if message is None else message
        if len(args) == 1:
            text = args[0]
        elif args:
            node_def, op = args[0], args[1]
            if len(args) > 2:
                text = args[2]
            if len(args) > 3 and isinstance(args[3], int):
                error_code = args[3]
        self.node_def = node_def
        self.op = op
        self.message = text if isinstance(text, str) else str(text)
        if error_code is not None:
            self.error_code = error_code
        self.experimental_payloads: dict[str, bytes] = {}
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message


class CancelledError(OpError):
    """The caller gave up before the work was done."""

    error_code = CANCELLED


class UnknownError(OpError):
    """An error without further information."""

    error_code = UNKNOWN


class InvalidArgumentError(OpError, ValueError):
    """An argument that is invalid in any state of the program."""

    error_code = INVALID_ARGUMENT


class DeadlineExceededError(OpError, TimeoutError):
    """The time given to the work ran out."""

    error_code = DEADLINE_EXCEEDED


class NotFoundError(OpError, LookupError):
    """A file, key, op, function or signature is missing."""

    error_code = NOT_FOUND


class MissingFileError(NotFoundError, FileNotFoundError):
    """A file or folder is missing; also an OSError, like the one TensorFlow raises on loading."""


class AlreadyExistsError(OpError):
    """The entity to be created exists already."""

    error_code = ALREADY_EXISTS


class PermissionDeniedError(OpError, PermissionError):
    """The caller has no permission to do this."""

    error_code = PERMISSION_DENIED


class ResourceExhaustedError(OpError, MemoryError):
    """Memory, a quota or a limit is exhausted."""

    error_code = RESOURCE_EXHAUSTED


class FailedPreconditionError(OpError, RuntimeError):
    """The state does not permit the call: a variable without a value, a closed writer."""

    error_code = FAILED_PRECONDITION


class AbortedError(OpError):
    """The work was aborted by a concurrent change."""

    error_code = ABORTED


class OutOfRangeError(OpError, IndexError):
    """An access beyond the end of a dataset, a file or an axis."""

    error_code = OUT_OF_RANGE


class UnimplementedError(OpError, NotImplementedError):
    """A feature that this library does not support."""

    error_code = UNIMPLEMENTED


class InternalError(OpError):
    """A defect of the library, not of the calling program."""

    error_code = INTERNAL


class UnavailableError(OpError):
    """Temporarily unavailable; the same call may succeed later."""

    error_code = UNAVAILABLE


class DataLossError(OpError):
    """Damaged bytes: a wrong checksum, or a file that ends too early."""

    error_code = DATA_LOSS


class UnauthenticatedError(OpError):
    """The caller gave no credentials, or invalid ones."""

    error_code = UNAUTHENTICATED


class InaccessibleTensorError(ValueError):
    """A tensor of a traced function is used outside that function."""


class OperatorNotAllowedInGraphError(TypeError):
    """A traced tensor is used where Python needs a value: `if x:`, `for y in x:`, `int(x)`."""


CODE_TO_EXCEPTION: dict[int, type[OpError]] = {
    error.error_code: error
    for error in (
        CancelledError,
        UnknownError,
        InvalidArgumentError,
        DeadlineExceededError,
        NotFoundError,
        AlreadyExistsError,
        PermissionDeniedError,
        ResourceExhaustedError,
        FailedPreconditionError,
        AbortedError,
        OutOfRangeError,
        UnimplementedError,
        InternalError,
        UnavailableError,
        DataLossError,
        UnauthenticatedError,
    )
}

CODE_NAMES: dict[int, str] = {
    OK: "OK",
    CANCELLED: "CANCELLED",
    UNKNOWN: "UNKNOWN",
    INVALID_ARGUMENT: "INVALID_ARGUMENT",
    DEADLINE_EXCEEDED: "DEADLINE_EXCEEDED",
    NOT_FOUND: "NOT_FOUND",
    ALREADY_EXISTS: "ALREADY_EXISTS",
    PERMISSION_DENIED: "PERMISSION_DENIED",
    RESOURCE_EXHAUSTED: "RESOURCE_EXHAUSTED",
    FAILED_PRECONDITION: "FAILED_PRECONDITION",
    ABORTED: "ABORTED",
    OUT_OF_RANGE: "OUT_OF_RANGE",
    UNIMPLEMENTED: "UNIMPLEMENTED",
    INTERNAL: "INTERNAL",
    UNAVAILABLE: "UNAVAILABLE",
    DATA_LOSS: "DATA_LOSS",
    UNAUTHENTICATED: "UNAUTHENTICATED",
}


def exception_type_from_error_code(error_code: int) -> type[OpError]:
    """The class whose code this is.

    Args:
        error_code: a canonical code from 1 to 16.

    Raises:
        KeyError: no class has this code (0, OK, is not an error).
    """
    return CODE_TO_EXCEPTION[error_code]


def error_code_from_exception_type(cls: type[BaseException]) -> int:
    """The canonical code of a class; UNKNOWN for one that has none."""
    return cls.error_code if issubclass(cls, OpError) else UNKNOWN
