"""The model of a shared index obeys its own arithmetic, and its page is current."""

from statistics import fmean

import pytest

from benchmarks.queueing import mean_wait
from benchmarks.scale_data import Push, Questions, rates
from benchmarks.scale_layers import FILE_CHUNKS, branches, changes, pushed
from benchmarks.scale_model import PAGE, TABLES, filled
from benchmarks.scale_pushes import BATCH_CARDS, embed_all, run_pushes
from benchmarks.scale_questions import CORES, LOOKUPS_S, NETWORK_S, Loss, ask
from benchmarks.scale_sizes import index_on_disk, memory_per_chunk, nodes
from code_intel.shared.layers import MAX_LAYERS, BaseFile, plan_layers
from code_intel.shared.records import Generation

QUICK = ["memory", "parts", "embedding", "traffic", "layers", "cost"]
CONSTANT = Questions(embedding=[0.01], ranking=[0.02], search=[0.001])


def tables(names: list[str]) -> dict[str, str]:
    return {name: TABLES[name](rates()).markdown() for name in names}


def assert_current(names: list[str]) -> None:
    page = PAGE.read_text("utf-8")
    assert filled(page, tables(names)) == page, "run: python -m benchmarks.scale_model --write"


def test_the_computed_tables_of_the_page_are_up_to_date() -> None:
    assert_current(QUICK)


@pytest.mark.long
def test_the_simulated_tables_of_the_page_are_up_to_date() -> None:
    assert_current([name for name in TABLES if name not in QUICK])


def test_every_question_is_answered_though_an_instance_is_lost() -> None:
    found = ask(CONSTANT, 40.0, 3, 60.0, loss=Loss(20.0, 40.0))
    assert found.unanswered == 0
    assert found.retries > 0
    assert len(found.latencies) == pytest.approx(40 * 60, rel=0.1)


def test_an_instance_that_is_lost_delays_questions_and_no_others() -> None:
    found = ask(CONSTANT, 40.0, 3, 60.0, loss=Loss(20.0, 40.0))
    least = 0.03 + 3 * 0.001 + LOOKUPS_S + NETWORK_S
    assert min(found.latencies) == pytest.approx(least)
    assert max(found.between(0, 19)) < 1
    assert max(found.between(20, 30)) > 2


def test_a_load_that_the_rest_cannot_carry_grows_until_the_instance_is_back() -> None:
    rate = 0.7 * 2 * CORES / 0.03
    found = ask(CONSTANT, rate, 2, 200.0, loss=Loss(20.0, 80.0))
    assert fmean(found.between(70, 80)) > 2 * fmean(found.between(35, 45))
    assert found.unanswered == 0
    assert fmean(found.between(190, 200)) < 0.1


def test_instances_are_busy_as_the_rate_and_the_service_say() -> None:
    found = ask(CONSTANT, 60.0, 2, 400.0)
    assert found.used == pytest.approx(60 * 0.03 / (2 * CORES), rel=0.05)
    assert found.wait < mean_wait(2 * CORES, 60.0, 0.03)


def test_questions_are_the_same_for_the_same_seed() -> None:
    assert ask(CONSTANT, 30.0, 2, 50.0, seed=5) == ask(CONSTANT, 30.0, 2, 50.0, seed=5)
    assert ask(CONSTANT, 30.0, 2, 50.0, seed=5) != ask(CONSTANT, 30.0, 2, 50.0, seed=6)


def test_pushes_use_the_runners_that_the_arithmetic_says() -> None:
    found = run_pushes([20.0, 40.0], rate=1.0, runners=40)
    assert found.used == pytest.approx(0.75, rel=0.05)
    assert len(found.waits) == len(found.totals)
    assert all(total >= wait for total, wait in zip(found.totals, found.waits, strict=True))


def test_a_backlog_takes_the_time_that_its_cores_need() -> None:
    known = rates()
    chunks, cores = 400 * BATCH_CARDS, 8
    took, waits = embed_all(known, chunks, cores, rate=1.0)
    pushed_cards = known.mean(lambda push: push.cards)
    assert took == pytest.approx(chunks / (cores * known.cards - pushed_cards), rel=0.05)
    assert fmean(waits) < 2 * BATCH_CARDS / known.cards / cores


def test_layers_are_simulated_by_the_rule_of_the_product() -> None:
    commits, rest = next(branches(rates()))
    sizes = {f"rest{number}": FILE_CHUNKS for number in range(rest // FILE_CHUNKS)}
    files = dict.fromkeys(sizes, "0")
    base: Generation | None = None
    below: dict[str, BaseFile] = {}
    contents: dict[str, dict[str, str]] = {}
    planned: list[int] = []
    for number, commit in enumerate(({}, *commits)):
        for path, chunks in commit.items():
            if chunks < 0:
                files.pop(f"{path}", None)
            else:
                files[f"{path}"] = f"{number}"
                sizes[f"{path}"] = chunks
        plan = plan_layers("team/shop", "s", files, base, below)
        planned.append(sum(sizes[path] for path in plan.files))
        contents.setdefault(plan.new, {path: files[path] for path in plan.files})
        below = {}
        for at, layer in enumerate(plan.layers):
            below = {path: file for path, file in below.items() if path not in layer.hides}
            below |= {path: BaseFile(text, at) for path, text in contents[layer.id].items()}
        base = Generation(
            plan.generation, "team/shop", "c", plan.tree, "s", "", plan.layers, 0, 0, ""
        )
    found = pushed(commits, rest - rest % FILE_CHUNKS, by_size=True)
    assert found.per_push == pytest.approx(fmean(planned[1:]))


def test_joining_by_size_keeps_every_file_and_few_layers() -> None:
    for commits, rest in branches(rates()):
        whole = pushed(commits, rest, by_size=False)
        joined = pushed(commits, rest, by_size=True)
        assert joined.layers <= MAX_LAYERS
        assert joined.per_push <= whole.per_push * 1.5


def test_the_changes_of_a_push_are_its_files() -> None:
    push = Push(0, 2, 2, 7, 1, 10, 1.0, 1.0, [4, 5, 9, 2, 3, -1])
    assert changes(push) == {4: 5, 9: 2, 3: -1}
    for each in rates().pushes:
        kept = [chunks for chunks in changes(each).values() if chunks >= 0]
        assert (len(kept), sum(kept)) == (each.files, each.chunks)


def test_more_chunks_need_more_nodes_and_less_memory_per_chunk_means_fewer() -> None:
    memory = memory_per_chunk(rates())
    assert memory["DiskANN"] < memory["IVF_SQ8"] < memory["HNSW"]
    assert index_on_disk(rates())["DiskANN"] == 2048
    for kind in memory:
        assert nodes(rates(), kind, 10**6) <= nodes(rates(), kind, 10**8)
    assert nodes(rates(), "HNSW", 10**10) > nodes(rates(), "DiskANN", 10**10)
