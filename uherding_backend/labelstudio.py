"""The only module that talks to Label Studio."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import urljoin, urlsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry

from uherding_backend.errors import LabelStudioError, LabelStudioUnreachableError
from uherding_backend.labels import Annotation, ProjectId, TaskId, parse_annotation
from uherding_backend.settings import Settings
from uherding_backend.store import Project

CONNECT_SECONDS = 5.0
READ_SECONDS = 60.0
UPLOAD_SECONDS = 600.0  # an import is one long request: cutting it short leaves half of it behind
TASKS_PER_PAGE = 2000  # 1.1 s a page with `include=id,data`
SAMPLING = "Uncertainty sampling"  # serves predictions by ascending score
ACCESS_TOKEN_SECONDS = 240.0  # Label Studio's access tokens live for 300 s


@dataclass(frozen=True, slots=True)
class ProjectState:
    """What Label Studio says of a project."""

    title: str
    label_config: str
    model_version: str
    sampling: str
    maximum_annotations: int
    show_collab_predictions: bool
    task_count: int
    annotation_count: int  # skipped ones included


@dataclass(frozen=True, slots=True)
class Webhook:
    """A webhook that Label Studio calls."""

    id: int
    url: str
    actions: tuple[str, ...]
    headers: Mapping[str, str]
    all_actions: bool
    active: bool = True  # switched on, and with the event in its body


class LabelStudio:
    """One Label Studio server, as one user. Both token kinds work.

    Attributes:
        waited_seconds: How long its answers took so far, images not counted.
    """

    def __init__(self, url: str, token: str) -> None:
        self.url = url.rstrip("/")
        self.waited_seconds = 0.0
        self._token = token
        self._access = ""  # a personal access token is traded for one of these
        self._access_until = 0.0
        self._session = requests.Session()
        # Only requests that may safely be sent twice: a repeated import would double the queue.
        retry = Retry(total=3, backoff_factor=0.3, status_forcelist=(502, 503, 504))
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, HTTPAdapter(max_retries=retry, pool_maxsize=16))

    def project(self, project: ProjectId) -> ProjectState:
        """The project's present state."""
        found = self._json("GET", f"/api/projects/{project}")
        return ProjectState(
            title=found.get("title") or "",
            label_config=found.get("label_config") or "",
            model_version=found.get("model_version") or "",
            sampling=found.get("sampling") or "",
            maximum_annotations=found.get("maximum_annotations") or 1,
            show_collab_predictions=bool(found.get("show_collab_predictions")),
            task_count=found.get("task_number") or 0,
            annotation_count=(found.get("total_annotations_number") or 0)
            + (found.get("skipped_annotations_number") or 0),
        )

    def update_project(self, project: ProjectId, fields: Mapping[str, Any]) -> None:
        """Change settings of the project in one call."""
        self._json("PATCH", f"/api/projects/{project}", json=dict(fields))

    def images(self, project: ProjectId, data_key: str) -> dict[TaskId, str]:
        """The address of every task's image; empty for a task whose data has none."""
        images: dict[TaskId, str] = {}
        for task in self._tasks(project):
            value = (task.get("data") or {}).get(data_key)
            images[TaskId(task["id"])] = value if isinstance(value, str) else ""
        return images

    def annotations(self, project: ProjectId, control: str) -> list[Annotation]:
        """Every annotation of the project, from the export: the truth about labels."""
        tasks = self._json("GET", f"/api/projects/{project}/export?exportType=JSON")
        return [
            parse_annotation({**annotation, "task": task["id"]}, control)
            for task in tasks
            for annotation in task.get("annotations") or []
        ]

    def people(self) -> dict[str, str]:
        """The name of every user, by id; empty if this user may not see them."""
        try:
            found = self._json("GET", "/api/users/")
        except LabelStudioError:  # names are a comfort: no round fails for them
            return {}
        return {str(user["id"]): _name(user) for user in found if isinstance(user, Mapping)}

    def upload_predictions(
        self, project: ProjectId, predictions: Sequence[Mapping[str, Any]]
    ) -> int:
        """Store predictions in one call; returns how many Label Studio kept."""
        answer = self._json(
            "POST",
            f"/api/projects/{project}/import/predictions",
            json=list(predictions),
            timeout=(CONNECT_SECONDS, UPLOAD_SECONDS),
        )
        return int(answer.get("created", 0))

    def prediction_counts(self, project: ProjectId) -> dict[str, int]:
        """How many predictions each model version has."""
        answer = self._json("GET", f"/api/projects/{project}/model-versions/")
        # Label Studio adds the version it shows with a count of 0 if nothing has it.
        return {str(version): int(count) for version, count in answer.items() if count}

    def delete_version(self, project: ProjectId, version: str) -> None:
        """Delete a model version's predictions; annotators wait meanwhile (7 to 12 ms each)."""
        self._json(
            "DELETE",
            f"/api/projects/{project}/model-versions/",
            json={"model_version": version},
            timeout=(CONNECT_SECONDS, UPLOAD_SECONDS),
        )

    def webhooks(self, project: ProjectId) -> list[Webhook]:
        """The project's webhooks."""
        found = self._json("GET", f"/api/webhooks/?project={project}")
        return [
            Webhook(
                id=hook["id"],
                url=hook["url"],
                actions=tuple(hook.get("actions") or ()),
                headers=hook.get("headers") or {},
                all_actions=bool(hook.get("send_for_all_actions")),
                active=bool(hook.get("is_active", True) and hook.get("send_payload", True)),
            )
            for hook in found
            if hook.get("project") == project
        ]

    def save_webhook(self, project: ProjectId, fields: Mapping[str, Any], hook: int | None) -> None:
        """Create a webhook, or change the one with the id ``hook``."""
        if hook is None:
            self._json("POST", "/api/webhooks/", json={"project": project, **fields})
        else:
            self._json("PATCH", f"/api/webhooks/{hook}/", json=dict(fields))

    def ml_backends(self, project: ProjectId) -> list[dict[str, Any]]:
        """The project's ML backends. Label Studio calls each one's /health and /setup for this."""
        return list(self._json("GET", f"/api/ml?project={project}"))

    def save_ml_backend(
        self, project: ProjectId, fields: Mapping[str, Any], backend: int | None
    ) -> None:
        """Connect an ML backend, or change the one with the id ``backend``."""
        if backend is None:
            self._json("POST", "/api/ml", json={"project": project, **fields})
        else:
            self._json("PATCH", f"/api/ml/{backend}", json={"project": project, **fields})

    def delete(self, path: str) -> None:
        """Delete something on this server."""
        self._json("DELETE", path)

    def get(self, path: str) -> requests.Response:
        """An authenticated GET of something on this server, body unread."""
        return self._request("GET", path, stream=True)

    def owns(self, url: str) -> bool:
        """Whether an address is this server's own: only there the token may go."""
        mine, theirs = urlsplit(self.url), urlsplit(urljoin(self.url, url))
        if (mine.scheme, mine.netloc) != (theirs.scheme, theirs.netloc):
            return False
        absolute = bool(urlsplit(url).netloc)
        return not absolute or not mine.path or theirs.path.startswith(f"{mine.path}/")

    def _tasks(self, project: ProjectId) -> Iterator[Mapping[str, Any]]:
        seen, page = 0, 1
        while True:
            answer = self._json(
                "GET",
                f"/api/tasks?project={project}&fields=task_only&include=id,data"
                f"&page={page}&page_size={TASKS_PER_PAGE}",
            )
            yield from answer["tasks"]
            seen, page = seen + len(answer["tasks"]), page + 1
            if not answer["tasks"] or seen >= answer["total"]:
                return

    def _json(self, method: str, path: str, **options: Any) -> Any:  # noqa: ANN401 - JSON
        asked = time.monotonic()
        response = self._request(method, path, **options)
        self.waited_seconds += time.monotonic() - asked
        if not response.content:
            return {}
        try:
            return response.json()
        except ValueError as error:
            raise LabelStudioError(
                f"{self.url}{path} did not answer with JSON. Is LABEL_STUDIO_URL right?"
            ) from error

    def _request(self, method: str, path: str, **options: Any) -> requests.Response:  # noqa: ANN401
        options.setdefault("timeout", (CONNECT_SECONDS, READ_SECONDS))
        options["allow_redirects"] = method == "GET"  # a redirected POST or PATCH becomes a GET
        if not self.owns(path):
            raise LabelStudioError(f"{path!r} is not on {self.url}: the token stays at home.")
        try:
            response = self._session.request(
                method, self._address(path), auth=self._authorize, **options
            )
        except requests.RequestException as error:
            raise LabelStudioUnreachableError(
                f"Label Studio at {self.url} did not answer ({type(error).__name__}). "
                "Check that it runs and that this machine can reach it."
            ) from error
        if response.is_redirect:
            raise LabelStudioError(
                f"{self.url} redirects to {response.headers['Location']}, where a {method} would "
                "be lost. Set LABEL_STUDIO_URL to the address it redirects to."
            )
        if not response.ok:
            raise _refusal(method, path, response)
        return response

    def _authorize(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Add the token; as a requests `auth`, so that no ~/.netrc entry takes its place."""
        kind, token = "Token", self._token
        if token.count(".") == 2:
            if time.monotonic() >= self._access_until:
                self._access = self._refresh()
                self._access_until = time.monotonic() + ACCESS_TOKEN_SECONDS
            kind, token = "Bearer", self._access
        request.headers["Authorization"] = f"{kind} {token}"
        return request

    def _address(self, path: str) -> str:
        """The full address of a path, also where Label Studio does not live at the root."""
        below = urlsplit(self.url).path
        if path.startswith("/") and not (below and path.startswith(f"{below}/")):
            return f"{self.url}{path}"
        return urljoin(self.url, path)

    def _refresh(self) -> str:
        try:
            response = self._session.post(
                f"{self.url}/api/token/refresh",
                json={"refresh": self._token},
                timeout=(CONNECT_SECONDS, READ_SECONDS),
            )
        except requests.RequestException as error:
            raise LabelStudioUnreachableError(
                f"Label Studio at {self.url} did not answer ({type(error).__name__})."
            ) from error
        if not response.ok:
            raise _refusal("POST", "/api/token/refresh", response)
        return str(response.json()["access"])


def _name(user: Mapping[str, Any]) -> str:
    full = f"{user.get('first_name') or ''} {user.get('last_name') or ''}".strip()
    return full or str(user.get("username") or user.get("email") or user["id"])


def _refusal(method: str, path: str, response: requests.Response) -> LabelStudioError:
    status = response.status_code
    try:
        body = response.json()
        detail = str(body.get("validation_errors") or body.get("detail") or body)
    except (ValueError, AttributeError):
        detail = response.reason
    advice = {
        401: " Give a valid LABEL_STUDIO_API_KEY (Account & Settings in Label Studio): a legacy "
        "token only works where the organisation allows legacy tokens.",
        404: " It may have been deleted, or belong to another organisation than the token.",
    }.get(status, "")
    where = path.partition("?")[0]
    return LabelStudioError(f"Label Studio refused {method} {where}: {detail}.{advice}", status)


Connect = Callable[[Project], LabelStudio]


def connect_with(settings: Settings) -> Connect:
    """How to reach a project's Label Studio; the settings' token only goes to the settings' URL."""

    @cache  # keeps connections open and access tokens fresh
    def client(url: str, token: str) -> LabelStudio:
        return LabelStudio(url, token)

    def connect(project: Project) -> LabelStudio:
        if settings.label_studio_api_key:
            return client(settings.label_studio_url, settings.label_studio_api_key)
        return client(project.label_studio_url, project.token)

    return connect
