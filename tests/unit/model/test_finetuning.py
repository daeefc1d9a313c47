from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from model import finetuning as finetuning_module
from model.arrays import Images, Labels
from model.classifier import Train
from model.errors import ModelError
from model.files import load_arrays, save_arrays
from model.finetuning import FinetunedClassifier, Finetuning, Run, _batches, stalled
from model.networks import Network, empty_network, residual_network, starting_network
from model.torchvision_import import import_timm, import_torchvision

SIZE = 16  # pixels: fast steps
QUICK = Finetuning(start="resnet18:16", epochs=2, batch_size=8)


def stripes(count: int, seed: int = 0) -> tuple[Images, Labels]:
    """Upright stripes are class 0, lying ones class 1; colours and noise say nothing."""
    generator = np.random.default_rng(seed)
    labels = np.arange(count) % 2
    light = (np.arange(SIZE) // 2 % 2)[None, :].repeat(SIZE, axis=0)
    upright = np.where(labels == 0, 1, 0)[:, None, None]
    pattern = upright * light + (1 - upright) * light.T  # (n, s, s)
    colours = generator.integers(100, 256, size=(count, 1, 1, 3))
    noise = generator.integers(-40, 41, size=(count, SIZE, SIZE, 3))
    pixels = (pattern[..., None] * colours + noise).clip(0, 255)
    return pixels.astype(np.uint8), labels


def as_train(train: Train) -> Train:
    """Holds for mypy: fine-tuning is a way to get a classifier."""
    return train


@pytest.fixture(scope="module")
def fitted() -> FinetunedClassifier:
    return QUICK(*stripes(12), seed=0)


def test_learns_a_shape_and_recognises_it_in_new_images() -> None:
    images, labels = stripes(120)
    finetuning = Finetuning(start="resnet18:16", epochs=20, batch_size=16)

    classifier = as_train(finetuning)(images[:40], labels[:40] + 5, seed=0)

    logits = classifier.logits(images[40:])
    assert classifier.classes.tolist() == [5, 6]
    assert logits.dtype == np.float64
    assert np.mean(logits.argmax(axis=1) == labels[40:]) > 0.9


def test_the_same_seed_gives_the_same_network_and_another_seed_another() -> None:
    images, labels = stripes(12)

    first, again, other = (QUICK(images, labels, seed=seed).logits(images) for seed in (1, 1, 2))

    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


class Unplugged(Exception):  # noqa: N818 - not an error
    """The machine went down."""


def interrupted(finetuning: Finetuning, at: float, data: tuple[Images, Labels]) -> None:
    """A run that ends before a step, with its checkpoint left behind."""

    def pull_the_plug(share: float) -> None:
        if share >= at:
            raise Unplugged

    with pytest.raises(Unplugged):
        replace(finetuning, on_progress=pull_the_plug)(*data, seed=1)


def watched(finetuning: Finetuning) -> tuple[Finetuning, list[float]]:
    shares: list[float] = []
    return replace(finetuning, on_progress=shares.append), shares


def test_interrupted_and_resumed_is_exactly_what_uninterrupted_is(tmp_path: Path) -> None:
    data = stripes(20)
    finetuning = replace(QUICK, epochs=4, checkpoint=tmp_path / "training.npz")
    straight = replace(finetuning, checkpoint=None)(*data, seed=1)

    interrupted(finetuning, 0.6, data)
    resumed, shares = watched(finetuning)
    classifier = resumed(*data, seed=1)

    assert shares[0] == pytest.approx(2 / 4)
    assert list(tmp_path.iterdir()) == []
    expected, weights = straight.network.state_dict(), classifier.network.state_dict()
    assert all(torch.equal(weights[key], expected[key]) for key in expected)


def test_a_run_that_finished_without_removing_its_checkpoint_is_not_trained_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = stripes(12)
    finetuning, shares = watched(replace(QUICK, checkpoint=tmp_path / "training.npz"))
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", lambda *_, **__: None)
        first = finetuning(*data, seed=1)
    shares.clear()

    again = finetuning(*data, seed=1)

    assert shares == [1.0]
    np.testing.assert_array_equal(again.logits(data[0]), first.logits(data[0]))


def darker(data: tuple[Images, Labels]) -> tuple[Images, Labels]:
    images, labels = data
    return images // 2, labels


def larger(data: tuple[Images, Labels]) -> tuple[Images, Labels]:
    images, labels = data
    return images.repeat(2, axis=1).repeat(2, axis=2), labels


def swapped(data: tuple[Images, Labels]) -> tuple[Images, Labels]:
    images, labels = data
    return images, 1 - labels


@pytest.mark.parametrize(
    ("finetuning", "data", "seed"),
    [
        (QUICK, darker(stripes(6)), 1),
        (QUICK, swapped(stripes(6)), 1),
        (QUICK, stripes(6), 2),
        (replace(QUICK, learning_rate=0.01), stripes(6), 1),
        (replace(QUICK, batch_size=3), stripes(6), 1),
        (replace(QUICK, epochs=3), stripes(6), 1),
        (replace(QUICK, patience=5), stripes(6), 1),
        (replace(QUICK, start="resnet18:17"), stripes(6), 1),
    ],
    ids=["images", "labels", "seed", "rate", "batch", "epochs", "patience", "start"],
)
def test_a_checkpoint_of_another_run_is_ignored(
    finetuning: Finetuning, data: tuple[Images, Labels], seed: int, tmp_path: Path
) -> None:
    checkpoint = tmp_path / "training.npz"
    interrupted(replace(QUICK, checkpoint=checkpoint), 0.5, stripes(6))
    assert checkpoint.exists()

    resumed, shares = watched(replace(finetuning, checkpoint=checkpoint))
    classifier = resumed(*data, seed=seed)

    fresh = finetuning(*data, seed=seed)
    assert shares[0] == 0.0
    np.testing.assert_array_equal(classifier.logits(data[0]), fresh.logits(data[0]))


def test_one_other_pixel_makes_another_run() -> None:
    images = torch.zeros(2, 3, SIZE, SIZE, dtype=torch.uint8)
    targets = torch.tensor([0, 1])
    network = starting_network("resnet18:16", images, 2, seed=0)
    digest = QUICK._digest(network, images, targets, 0)

    images[0, 0, 0, 0] = 1

    assert QUICK._digest(network, images, targets, 0) != digest


def test_a_broken_checkpoint_starts_from_the_beginning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, fitted: FinetunedClassifier
) -> None:
    checkpoint = tmp_path / "training.npz"
    checkpoint.write_bytes(b"half a file")
    images, labels = stripes(12)

    classifier = replace(QUICK, checkpoint=checkpoint)(images, labels, seed=0)

    assert "starts from the beginning" in caplog.text
    np.testing.assert_array_equal(classifier.logits(images), fitted.logits(images))


def test_progress_rises_from_nothing_to_all() -> None:
    finetuning, shares = watched(QUICK)

    finetuning(*stripes(20), seed=0)

    assert shares == sorted(shares)
    assert shares[0] == 0.0
    assert shares[-1] == 1.0
    assert len(shares) == 2 * 3 + 1


def test_every_epoch_shows_other_views_of_the_images(monkeypatch: pytest.MonkeyPatch) -> None:
    images, labels = stripes(2)
    shown: list[torch.Tensor] = []
    forward = Network.forward

    def recorded(network: Network, pixels: torch.Tensor) -> torch.Tensor:
        shown.append(pixels.clone())
        return forward(network, pixels)

    monkeypatch.setattr(Network, "forward", recorded)
    QUICK(images[:1].repeat(2, axis=0), labels, seed=0)

    first, second = shown
    assert not torch.equal(first[0], first[1])
    assert not torch.equal(first, second)
    assert 0 <= first.min() < 50 < first.max() <= 255


def test_the_learning_rate_falls_along_half_a_cosine(monkeypatch: pytest.MonkeyPatch) -> None:
    rates: list[float] = []

    def noted(run: Run, views: torch.Tensor, targets: torch.Tensor, rate: float) -> float:
        rates.append(rate)
        return 1 / len(rates)

    monkeypatch.setattr(finetuning_module, "_step", noted)
    replace(QUICK, epochs=4, learning_rate=2.0)(*stripes(2), seed=0)

    np.testing.assert_allclose(rates, [2.0, 1 + 0.5**0.5, 1.0, 1 - 0.5**0.5])


def test_training_ends_early_when_the_loss_finds_no_new_low() -> None:
    images, _ = stripes(1)
    finetuning, shares = watched(replace(QUICK, epochs=100, patience=3))

    finetuning(images.repeat(4, axis=0), np.array([0, 1, 0, 1]), seed=0)

    assert 4 < len(shares) < 60
    assert shares[-1] == 1.0


def test_stalled_means_no_new_low_within_the_patience() -> None:
    assert not stalled([], 2)
    assert not stalled([1.0, 1.0], 2)
    assert stalled([1.0, 1.0, 1.0], 2)
    assert stalled([1.0, 2.0, 0.995], 2)
    assert not stalled([1.0, 2.0, 0.98], 2)
    assert not stalled([1.0, 0.5, 0.6], 2)
    assert stalled([1.0, 0.5, 0.6, 0.6], 2)


@pytest.mark.parametrize(
    ("count", "most", "sizes"),
    [
        (2, 100, [2]),
        (3, 2, [3]),
        (5, 2, [3, 2]),
        (17, 100, [9, 8]),
        (100, 100, [25] * 4),
        (1001, 100, [91] * 11),
    ],
)
def test_batches_hold_every_row_once_and_no_row_alone(
    count: int, most: int, sizes: list[int]
) -> None:
    batches = _batches(count, most, torch.Generator().manual_seed(0))

    assert [len(batch) for batch in batches] == sizes
    assert sorted(torch.cat(batches).tolist()) == list(range(count))


def test_one_class_only_is_one_column_of_zeros(tmp_path: Path) -> None:
    images, _ = stripes(3)
    finetuning, shares = watched(replace(QUICK, checkpoint=tmp_path / "training.npz"))

    classifier = finetuning(images[:1], np.array([4]), seed=0)

    assert classifier.classes.tolist() == [4]
    assert shares == [1.0]
    np.testing.assert_array_equal(classifier.logits(images), np.zeros((3, 1)))


def test_two_labels_are_enough() -> None:
    images, labels = stripes(2)

    classifier = replace(QUICK, epochs=20)(images, labels, seed=0)

    assert classifier.logits(images).argmax(axis=1).tolist() == [0, 1]


def test_one_image_under_two_classes_is_undecided() -> None:
    images, _ = stripes(1)

    classifier = replace(QUICK, epochs=20)(images.repeat(6, axis=0), np.array([0, 1] * 3), seed=0)

    logits = classifier.logits(images)
    np.testing.assert_allclose(logits[0, 0], logits[0, 1], atol=1.5)  # at most 82 % sure


def test_a_rare_class_is_still_learned() -> None:
    images, labels = stripes(24)
    kept = [*np.flatnonzero(labels == 0).tolist(), 1]
    finetuning = replace(QUICK, epochs=20)

    classifier = finetuning(images[kept], labels[kept], seed=0)

    assert classifier.logits(images[kept]).argmax(axis=1).tolist() == labels[kept].tolist()


def test_other_peoples_chance_is_left_alone() -> None:
    torch.manual_seed(3)
    before = torch.get_rng_state()

    QUICK(*stripes(4), seed=0)

    assert torch.equal(torch.get_rng_state(), before)


def test_a_loss_that_is_no_number_is_an_error() -> None:
    finetuning = replace(QUICK, learning_rate=1e30)

    with pytest.raises(ModelError, match="learning rate below 1e\\+30"):
        finetuning(*stripes(12), seed=0)


def test_images_are_judged_one_by_one(fitted: FinetunedClassifier) -> None:
    images, _ = stripes(40, seed=2)

    alone = np.concatenate([fitted.logits(images[row : row + 1]) for row in range(40)])

    assert fitted.logits(images[:0]).shape == (0, 2)
    np.testing.assert_allclose(fitted.logits(images), alone, atol=1e-5)


def stored_and_loaded(classifier: FinetunedClassifier, path: Path) -> FinetunedClassifier:
    save_arrays(path, classifier.arrays())
    return FinetunedClassifier.of(load_arrays(path))


def test_storing_and_loading_changes_nothing(fitted: FinetunedClassifier, tmp_path: Path) -> None:
    images, _ = stripes(5, seed=3)

    loaded = stored_and_loaded(fitted, tmp_path / "network.npz")

    assert (loaded.image_size, loaded.start) == (SIZE, "resnet18:16")
    np.testing.assert_array_equal(loaded.classes, fitted.classes)
    np.testing.assert_array_equal(loaded.logits(images), fitted.logits(images))


def test_arrays_that_are_something_else_are_refused(fitted: FinetunedClassifier) -> None:
    half = dict(fitted.arrays())
    half.pop("network.head.bias")

    for arrays in ({}, half):
        with pytest.raises(ModelError, match="The stored network cannot be used"):
            FinetunedClassifier.of(arrays)


def test_features_and_images_of_another_size_are_refused(fitted: FinetunedClassifier) -> None:
    with pytest.raises(ModelError, match="Images must be uint8"):
        QUICK(np.ones((2, 8), dtype=np.float32), np.array([0, 1]), seed=0)
    with pytest.raises(ModelError, match=r"shape \(n, 16, 16, 3\)"):
        fitted.logits(np.zeros((2, 8, 8, 3), dtype=np.uint8))


@pytest.mark.parametrize("labels", [[], [0], [0, -1]])
def test_missing_labels_are_refused(labels: list[int]) -> None:
    images, _ = stripes(2 if labels else 0)

    with pytest.raises(ModelError, match="one class for each image"):
        QUICK(images, np.array(labels, dtype=np.int64), seed=0)


@pytest.mark.parametrize(
    "settings", [{"epochs": 0}, {"patience": 0}, {"batch_size": 1}, {"learning_rate": 0.0}]
)
def test_settings_that_train_nothing_are_refused(settings: dict[str, int]) -> None:
    with pytest.raises(ModelError, match="Fine-tuning needs 1 epoch or more"):
        Finetuning(**settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("start", ["", "resnet", "resnet18:", "resnet18:15", "resnet18:x", "timm:"])
def test_an_unknown_start_is_answered_with_the_known_ones(start: str) -> None:
    with pytest.raises(ModelError, match=r"choose one of resnet18, resnet18:<width>, efficientnet"):
        Finetuning(start=start)


@pytest.mark.parametrize("size", [63, 64])
def test_the_residual_network_is_the_published_one_with_a_stem_for_the_size(size: int) -> None:
    published = import_torchvision().models.resnet18(weights=None)
    published.fc = torch.nn.Identity()
    if size < 64:
        published.conv1 = torch.nn.Conv2d(3, 64, 3, padding=1, bias=False)
        published.maxpool = torch.nn.Identity()

    network, dimension = residual_network(64, size)

    weights = dict(zip(published.state_dict(), network.state_dict().values(), strict=True))
    published.load_state_dict(weights)
    pixels = torch.rand(1, 3, size, size, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        features = network.eval()(pixels)
        torch.testing.assert_close(features, published.eval()(pixels))
    assert features.shape == (1, dimension)


def test_colours_are_scaled_to_those_of_the_labelled_images() -> None:
    images = torch.tensor([[10, 30], [100, 100], [0, 250]], dtype=torch.uint8)  # (3, 2)

    network = starting_network(
        "resnet18:16", images[None, :, :, None].repeat(1, 1, 1, 2), 2, seed=0
    )

    assert network.mean.flatten().tolist() == [20, 100, 125]
    assert network.std[1] == 1.0  # one colour only has no spread to divide by
    assert network.std[2] > network.std[0] > 10


@pytest.fixture(scope="module")
def timm_weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("weights") / "model.safetensors"
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        save_file(import_timm().create_model("resnet10t").state_dict(), path)
    return path


def test_a_timm_network_starts_from_its_file_and_is_loaded_without_it(
    timm_weights: Path, tmp_path: Path
) -> None:
    images, labels = stripes(4)
    start = f"timm:resnet10t@{timm_weights}"
    pretrained = load_file(timm_weights)

    begun = starting_network(start, torch.from_numpy(images).permute(0, 3, 1, 2), 2, seed=0)
    before = {key: value.clone() for key, value in begun.body.state_dict().items()}
    classifier = Finetuning(start=start, epochs=4, learning_rate=0.05)(images, labels, seed=0)
    moved = tmp_path / "moved.safetensors"
    timm_weights.rename(moved)
    loaded = stored_and_loaded(classifier, tmp_path / "network.npz")
    moved.rename(timm_weights)

    assert all(torch.equal(before[key], pretrained[key]) for key in before)
    np.testing.assert_allclose(begun.mean.flatten() / 255, [0.485, 0.456, 0.406], atol=1e-6)
    assert changed(classifier.network, before)
    np.testing.assert_allclose(loaded.logits(images), classifier.logits(images), atol=1e-5)


def changed(network: Network, before: dict[str, torch.Tensor]) -> bool:
    """True if every weight of the body has moved: nothing is frozen."""
    return not any(
        torch.equal(value, before[key]) for key, value in network.body.named_parameters()
    )


def statistics(weights: dict[str, torch.Tensor]) -> list[torch.Tensor]:
    return [value for key, value in weights.items() if "running" in key]


def test_efficientnet_is_trained_whole_and_draws_its_chance_from_the_seed(tmp_path: Path) -> None:
    images, labels = larger(stripes(4))
    pixels = torch.from_numpy(images).permute(0, 3, 1, 2)
    finetuning = Finetuning(start="efficientnet-lite0", epochs=3, learning_rate=0.01)
    begun = starting_network("efficientnet-lite0", pixels, 2, seed=0)
    before = {key: value.clone() for key, value in begun.body.state_dict().items()}
    torch.manual_seed(3)
    chance = torch.get_rng_state()

    classifier = finetuning(images, labels, seed=0)
    left_alone = torch.equal(torch.get_rng_state(), chance)
    torch.manual_seed(4)  # dropout must not ask for it
    again = finetuning(images, labels, seed=0)

    assert left_alone
    assert changed(classifier.network, before)
    assert begun.mean.flatten().tolist() == [127.0] * 3
    kept = zip(statistics(classifier.network.body.state_dict()), statistics(before), strict=True)
    assert all(torch.equal(after, at_first) for after, at_first in kept)
    np.testing.assert_array_equal(classifier.logits(images), again.logits(images))
    loaded = stored_and_loaded(classifier, tmp_path / "network.npz")
    np.testing.assert_array_equal(loaded.logits(images), classifier.logits(images))


def test_a_transformer_is_loaded_for_the_size_of_its_images() -> None:
    network = empty_network("timm:vit_tiny_patch16_224", 32, 3).eval()

    with torch.inference_mode():
        assert network(torch.zeros(2, 3, 32, 32)).shape == (2, 3)


def test_efficientnet_wants_images_that_are_not_tiny() -> None:
    with pytest.raises(ModelError, match="at least 32 pixels, got 16"):
        Finetuning(start="efficientnet-lite0")(*stripes(4), seed=0)


def test_pretrained_networks_learn_more_slowly_unless_told_otherwise() -> None:
    assert Finetuning().first_rate == 0.025
    assert Finetuning(start="resnet18:32").first_rate == 0.025
    assert Finetuning(start="efficientnet-lite0").first_rate == 0.001
    assert Finetuning(start="timm:resnet10t", learning_rate=0.1).first_rate == 0.1
