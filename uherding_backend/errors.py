"""What can go wrong, said as sentences: what, the value, what to do about it."""


class UHerdingError(Exception):
    """Base of every error that is shown to a person instead of a traceback."""


class SettingsError(UHerdingError):
    """A setting has a value that cannot be used."""


class LabelConfigError(UHerdingError):
    """The project's labelling interface is not one that this backend can rank for."""


class UnknownProjectError(UHerdingError):
    """A project was named that is not connected."""


class LabelStudioError(UHerdingError):
    """Label Studio refused a request, or answered something unexpected."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class LabelStudioUnreachableError(LabelStudioError):
    """Label Studio did not answer at all: worth trying again later."""


class ImageError(UHerdingError):
    """A task's image cannot be had or read; the other tasks go on."""
