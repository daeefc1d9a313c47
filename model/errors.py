class ModelError(ValueError):
    """Base of every error that `model` raises on purpose; its text is a sentence for people."""


class UnreadableImageError(ModelError):
    """The bytes are not an image that can be decoded safely."""
