"""Entry point for label-studio-ml's own server: `gunicorn uherding_backend._wsgi:app`."""

import os
import time

from label_studio_ml.api import init_app

from uherding_backend.backend import UHerdingBackend
from uherding_backend.labelstudio import connect_with
from uherding_backend.protocol import Protocol
from uherding_backend.settings import Settings
from uherding_backend.store import Store

settings = Settings.from_environment(os.environ)  # noqa: TID251 - an entry point, like cli.main


class ServedBackend(UHerdingBackend):
    """The model class with what it needs.

    label-studio-ml handles each event in a new process, which finds the class by importing this
    module, and so finds the protocol too.
    """

    protocol = Protocol(
        Store(settings.data_dir),
        settings,
        time.time,  # noqa: TID251 - the clock is handed down from here
        connect_with(settings),
    )


app = init_app(ServedBackend, model_dir=str(settings.data_dir / "label-studio-ml"))
