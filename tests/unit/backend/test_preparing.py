from __future__ import annotations

import base64

import pytest

from tests.support.builders import BACKEND_URL, PROJECT, connected, make_settings
from tests.support.fake_label_studio import FakeLabelStudio
from uherding_backend.errors import LabelStudioError, LabelStudioUnreachableError
from uherding_backend.events import WEBHOOK_ACTIONS
from uherding_backend.labelstudio import SAMPLING
from uherding_backend.preparing import preparation, prepare
from uherding_backend.store import Store


def test_label_all_tasks_is_made_to_follow_the_queue(store: Store, studio: FakeLabelStudio) -> None:
    notes = prepare(studio, connected(store), make_settings(store.data_dir))

    assert studio.projects[1].sampling == SAMPLING
    assert 'changed from "Sequential sampling"' in notes[0]


def test_ticked_boxes_are_switched_off_without_losing_the_shown_version(
    store: Store, studio: FakeLabelStudio
) -> None:
    studio.projects[1].predictions.append({"task": 1, "score": 0.5, "model_version": "theirs"})
    studio.projects[1].model_version = "theirs"

    notes = prepare(studio, connected(store), make_settings(store.data_dir))

    assert not studio.projects[1].show_collab_predictions
    assert studio.projects[1].model_version == "theirs"
    assert "ticked boxes bias annotators" in notes[1]


def test_ticked_boxes_stay_where_the_admin_asked_for_them(
    store: Store, studio: FakeLabelStudio
) -> None:
    project = connected(store, options={"prelabel": True})

    prepare(studio, project, make_settings(store.data_dir))

    assert studio.projects[1].show_collab_predictions


def test_the_title_that_label_studio_shows_on_connecting_is_taken_away(
    store: Store, studio: FakeLabelStudio
) -> None:
    studio.save_ml_backend(PROJECT, {"url": BACKEND_URL, "title": "UHerding"}, None)
    shown = studio.projects[1].model_version

    prepare(studio, connected(store), make_settings(store.data_dir))

    assert shown == "UHerding"
    assert studio.projects[1].model_version == ""


def test_preparing_a_prepared_project_changes_nothing(
    store: Store, studio: FakeLabelStudio
) -> None:
    prepare(studio, connected(store), make_settings(store.data_dir))
    studio.calls.clear()

    notes = prepare(studio, connected(store), make_settings(store.data_dir))

    assert notes == []
    assert not {"update_project", "save_webhook"} & set(studio.calls)
    assert len(studio.hooks) == 1


def test_label_studios_own_webhook_is_restricted_instead_of_doubled(
    store: Store, studio: FakeLabelStudio
) -> None:
    studio.save_ml_backend(PROJECT, {"url": BACKEND_URL, "title": "UHerding"}, None)

    notes = prepare(studio, connected(store), make_settings(store.data_dir))

    (hook,) = studio.webhooks(PROJECT)
    assert hook.url == f"{BACKEND_URL}/webhook"
    assert set(hook.actions) == set(WEBHOOK_ACTIONS)
    assert not hook.all_actions
    assert "The webhook was restricted to what concerns labels and tasks." in notes


def test_the_webhook_carries_the_password(store: Store, studio: FakeLabelStudio) -> None:
    settings = make_settings(store.data_dir, basic_auth_user="me", basic_auth_pass="secret")

    prepare(studio, connected(store), settings)

    (hook,) = studio.webhooks(PROJECT)
    encoded = base64.b64encode(b"me:secret").decode()
    assert hook.headers == {"Authorization": f"Basic {encoded}"}


def test_a_changed_password_is_told_to_label_studio(store: Store, studio: FakeLabelStudio) -> None:
    prepare(studio, connected(store), make_settings(store.data_dir))
    settings = make_settings(store.data_dir, basic_auth_user="me", basic_auth_pass="secret")

    prepare(studio, connected(store), settings)

    (hook,) = studio.webhooks(PROJECT)
    assert "Authorization" in hook.headers


def test_a_refused_webhook_is_a_note_and_polling_does_instead(
    store: Store, studio: FakeLabelStudio
) -> None:
    studio.fail("save_webhook", LabelStudioError("reserved network address", 403))

    notes = prepare(studio, connected(store), make_settings(store.data_dir, poll_seconds=12.0))

    assert "reserved network address" in notes[-1]
    assert "looks every 12 s instead" in notes[-1]


def test_a_server_that_is_down_is_no_refusal(store: Store, studio: FakeLabelStudio) -> None:
    studio.fail("webhooks")

    with pytest.raises(LabelStudioUnreachableError):
        prepare(studio, connected(store), make_settings(store.data_dir))


def test_where_the_backends_address_is_unknown_no_webhook_is_made(
    store: Store, studio: FakeLabelStudio
) -> None:
    prepare(studio, connected(store, backend_url=""), make_settings(store.data_dir))

    assert studio.hooks == {}


def test_several_annotations_per_task_are_left_alone_and_commented_on(
    store: Store, studio: FakeLabelStudio
) -> None:
    studio.projects[1].maximum_annotations = 3

    notes = prepare(studio, connected(store), make_settings(store.data_dir))

    assert studio.projects[1].maximum_annotations == 3
    assert "wants 3 annotations per task" in notes[-1]


def test_ticked_boxes_are_switched_on_where_the_admin_asks_for_them_later(
    store: Store, studio: FakeLabelStudio
) -> None:
    prepare(studio, connected(store), make_settings(store.data_dir))

    notes = prepare(
        studio, connected(store, options={"prelabel": True}), make_settings(store.data_dir)
    )

    assert studio.projects[1].show_collab_predictions
    assert notes == ['"Use predictions to prelabel tasks" was switched on, as prelabel asks for.']


def test_a_webhook_address_that_label_studio_takes_for_none_is_explained(
    store: Store, studio: FakeLabelStudio
) -> None:
    studio.fail("save_webhook", LabelStudioError("Enter a valid URL", 400))

    notes = prepare(studio, connected(store), make_settings(store.data_dir))

    assert "a host name with a dot in it" in notes[-1]


def test_another_address_password_or_prelabel_choice_means_preparing_again(store: Store) -> None:
    plain = make_settings(store.data_dir)
    guarded = make_settings(store.data_dir, basic_auth_user="me", basic_auth_pass="secret")

    preparations = [
        preparation(connected(store), plain),
        preparation(connected(store), guarded),
        preparation(connected(store, backend_url="http://elsewhere:9090"), plain),
        preparation(connected(store, options={"prelabel": True}), plain),
    ]

    assert len(set(preparations)) == 4
    assert preparation(connected(store, options={"round_size": 9}), plain) == preparations[0]
    assert "secret" not in preparations[1]
