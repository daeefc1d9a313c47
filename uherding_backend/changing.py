"""What people may change through the dashboard and its API; each change is recorded."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field

from uherding_backend.access import Changer
from uherding_backend.errors import SettingsError
from uherding_backend.labels import ProjectId
from uherding_backend.options import TITLES, Options
from uherding_backend.settings import Settings
from uherding_backend.store import Project, Store
from uherding_backend.store.actions import Action

QUEUE_DEPENDS_ON = ("strategy", "prelabel", "audit_fraction")  # a change asks for a round


class Signed(BaseModel):
    """A change; the name is for the record, beside the user who authenticated."""

    by: str = Field("", max_length=80, examples=["Ada"])


class Pause(Signed):
    """Whether rounds run only when somebody asks."""

    model_config = ConfigDict(extra="forbid")
    paused: bool


class Choices(Signed):
    """Settings to change; null takes a choice back, and what is left out stays."""

    model_config = ConfigDict(extra="forbid")
    round_size: int | None = None
    strategy: str | None = None
    prelabel: bool | None = None
    audit_fraction: float | None = None


@dataclass(frozen=True, slots=True)
class Changes:
    """Carries changes out."""

    settings: Settings
    store: Store
    clock: Callable[[], float]

    def request_round(self, project: int, user: str, by: str) -> str:
        """Ask for a round now; while one is waiting, asking again changes nothing."""
        found = self.store.projects.get_active(ProjectId(project))
        reason = "asked for through the API" if not by else f"asked for by {by}"
        if not self.store.rounds.ask(found.id, reason, self.clock()):
            return "already waiting"
        self._record(found, user, by, "asked for a round")
        return "requested"

    def pause(self, project: int, user: str, change: Pause) -> None:
        """Stop or resume automatic rounds."""
        found = self.store.projects.get_active(ProjectId(project))
        if found.paused == change.paused:
            return
        self.store.projects.pause(found.id, paused=change.paused)
        what = "paused automatic rounds" if change.paused else "resumed automatic rounds"
        self._record(found, user, change.by, what)

    def choose(self, project: int, user: str, change: Choices) -> None:
        """Change settings of a project; refuses what cannot be used before anything is stored."""
        found = self.store.projects.get_active(ProjectId(project))
        wanted = change.model_dump(exclude={"by"}, exclude_unset=True)
        chosen = {**found.chosen, **wanted}
        chosen = {name: value for name, value in chosen.items() if value is not None}
        from_label_studio = self.store.projects.extra_params(found.id)
        before = Options.of(self.settings, found.options)
        try:
            after = Options.of(self.settings, {**from_label_studio, **chosen})
        except SettingsError as error:
            raise SettingsError(_as_shown(str(error), wanted)) from error
        differing = [name for name in wanted if getattr(before, name) != getattr(after, name)]
        if chosen == found.chosen:
            return
        self.store.projects.choose(found.id, chosen)
        for name in differing:
            old, new = getattr(before, name), getattr(after, name)
            self._record(found, user, change.by, f"changed {TITLES[name]} from {old} to {new}")
        if set(differing) & set(QUEUE_DEPENDS_ON):
            changed = ", ".join(TITLES[name] for name in differing if name in QUEUE_DEPENDS_ON)
            self.store.rounds.request(found.id, f"{changed} changed", self.clock())

    def _record(self, project: Project, user: str, by: str, what: str) -> None:
        who = f"{by} ({user})" if by else user
        self.store.actions.record(project.id, Action(self.clock(), who, what))


def _as_shown(explained: str, names: Iterable[str]) -> str:
    """A sentence about these settings, with the names that the dashboard has for them."""
    for name in names:
        explained = explained.replace(f"extra_params {name}", TITLES[name])
    return explained


def changing_api(changes: Changes, changer: Changer) -> APIRouter:
    """The routes; each needs the password, and records who sent it."""
    router = APIRouter(prefix="/api/projects/{project}", tags=["Changes"])

    @router.post("/rounds", status_code=202)
    def request_round(
        project: int, user: Annotated[str, Depends(changer)], signed: Signed | None = None
    ) -> dict[str, str]:
        """Ask for a round now; while one is waiting, asking again changes nothing."""
        return {"status": changes.request_round(project, user, signed.by if signed else "")}

    @router.post("/pause")
    def pause(
        project: int, change: Pause, user: Annotated[str, Depends(changer)]
    ) -> dict[str, Any]:
        """Stop or resume automatic rounds; asking for a round works either way."""
        changes.pause(project, user, change)
        return {"paused": change.paused}

    @router.patch("/settings")
    def choose(
        project: int, change: Choices, user: Annotated[str, Depends(changer)]
    ) -> dict[str, str]:
        """Change settings of a project; where the queue depends on one, a round is asked for."""
        changes.choose(project, user, change)
        return {"status": "changed"}

    return router
