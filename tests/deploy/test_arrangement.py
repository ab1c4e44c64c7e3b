"""The parts of deploy/ fit each other and the product, and our containers are confined."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from code_intel.cli.main import COMMANDS, parser_of
from code_intel.errors import UsageError
from code_intel.servers.shared.settings import read_settings

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
SETTINGS = read_settings(DEPLOY / "serve-shared.toml")
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
SERVICES: dict[str, Any] = COMPOSE["services"]
INSTANCES = ("instance-1", "instance-2")
UNCONFINED = {"milvus"}
"""What keeps the user and the file system of its image; README.md says so."""
ONCE = {"owner", "prune"}
"""Services that end by themselves."""
ROOT = {"owner"}
"""Services that need root for a moment."""


def manifests() -> Iterator[dict[str, Any]]:
    """Yield all objects of the manifests."""
    for file in sorted((DEPLOY / "kubernetes").glob("*.yaml")):
        yield from yaml.safe_load_all(file.read_text("utf-8"))


PODS = {
    each["metadata"]["name"]: each["spec"]["template"]["spec"]
    for each in (
        each["spec"]["jobTemplate"] | {"metadata": each["metadata"]}
        if each["kind"] == "CronJob"
        else each
        for each in manifests()
    )
    if "template" in each.get("spec", {})
}
CONTAINERS = {name: container for name, pod in PODS.items() for container in pod["containers"]}


def accepts(command: list[str]) -> bool:
    """Return whether the command line accepts the arguments after `code-intel`."""
    name, *arguments = command
    found = [each for each in COMMANDS if each.name == name]
    try:
        for each in found:
            parser_of(each, "code-intel").parse_args(arguments)
    except (SystemExit, UsageError):
        return False
    return bool(found)


def entry() -> tuple[list[str], list[str]]:
    """Return the entry point and the default arguments of the image."""
    text = (DEPLOY / "Dockerfile").read_text("utf-8")
    found = {
        name: yaml.safe_load(value)
        for name, value in re.findall(r"^(ENTRYPOINT|CMD) (\[.*\])$", text, re.MULTILINE)
    }
    return found["ENTRYPOINT"], found["CMD"]


# --- the product


def test_the_command_lines_are_accepted() -> None:
    (program, *command), default = entry()
    assert program == "code-intel"
    given = [default, CONTAINERS["serve-shared"]["args"]]
    given += [SERVICES[name]["command"] for name in INSTANCES]
    for arguments in given:
        assert accepts([*command, *arguments]), arguments
    assert not accepts([*command, "--config"])
    for once in (
        SERVICES["prune"]["entrypoint"] + SERVICES["prune"]["command"],
        CONTAINERS["prune"]["command"] + CONTAINERS["prune"]["args"],
    ):
        assert once[:3] == ["code-intel", "shared", "prune"]
        assert accepts(once[1:]), once


@pytest.mark.parametrize("name", ["github-push.yaml", "gitlab-push.yaml"])
def test_the_commands_of_ci_are_accepted(name: str) -> None:
    workflow = yaml.safe_load((DEPLOY / "ci" / name).read_text("utf-8"))
    lines = [line for line in strings(workflow) if line.startswith("code-intel ")]
    assert lines == ["code-intel push"]
    assert all(accepts(shlex.split(line)[1:]) for line in lines)


def test_the_commands_of_the_readme_are_accepted() -> None:
    text = (DEPLOY / "README.md").read_text("utf-8")
    commands = re.findall(r"(?:`|^ *)code-intel ([^`\n]+ [^`\n]+?)(?:`|$)", text, re.MULTILINE)
    for wanted in ("create", "list"):
        assert any(command.startswith(f"shared token {wanted}") for command in commands)
    for command in commands:
        assert accepts(shlex.split(command)), command


def strings(value: Any) -> Iterator[str]:
    """Yield all texts in a YAML value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from strings(each)


def test_the_configuration_is_where_the_containers_mount_its_files() -> None:
    token, tokens = str(SETTINGS.engine_token_file), SETTINGS.token_file
    assert tokens is not None
    for name in INSTANCES:
        service = SERVICES[name]
        assert [f"/run/secrets/{secret}" for secret in service["secrets"]] == [token]
        # A mounted file would stay as it was when a command replaces it.
        assert f"./secrets/tokens:{tokens.parent}:ro" in service["volumes"]
        (config,) = service["configs"]
        assert config["target"] in service["command"]
    mounts = {
        each["name"]: each["mountPath"] for each in CONTAINERS["serve-shared"]["volumeMounts"]
    }
    volumes = {each["name"]: each for each in PODS["serve-shared"]["volumes"]}
    (item,) = volumes["secrets"]["secret"]["items"]
    assert f"{mounts['secrets']}/{item['path']}" == token
    assert mounts["tokens"] == str(tokens.parent)
    assert volumes["tokens"]["secret"]["secretName"] == "code-intel-tokens"
    assert CONTAINERS["serve-shared"]["args"][-1].startswith(f"{mounts['config']}/")


def test_the_engine_and_the_port_are_those_of_the_services() -> None:
    host, port = SETTINGS.engine.removeprefix("http://").split(":")
    assert host in SERVICES
    services = {
        each["metadata"]["name"]: each["spec"] for each in manifests() if each["kind"] == "Service"
    }
    assert int(port) in [each["port"] for each in services[host]["ports"]]
    assert SETTINGS.host == "0.0.0.0"  # noqa: S104 - inside a container
    (listening,) = CONTAINERS["serve-shared"]["ports"]
    assert listening["containerPort"] == SETTINGS.port
    balancer = (DEPLOY / "haproxy.cfg").read_text("utf-8")
    assert re.findall(r"^    server \S+ (\S+)", balancer, re.MULTILINE) == [
        f"{name}:{SETTINGS.port}" for name in INSTANCES
    ]


def test_the_balancer_asks_for_readiness_with_a_name_that_is_allowed() -> None:
    balancer = (DEPLOY / "haproxy.cfg").read_text("utf-8")
    (name,) = re.findall(r"uri /readyz ver HTTP/1\.1 hdr Host (\S+)", balancer)
    assert name in SETTINGS.allow_hosts
    probes = CONTAINERS["serve-shared"]
    for probe, path in (
        ("startupProbe", "/readyz"),
        ("readinessProbe", "/readyz"),
        ("livenessProbe", "/healthz"),
    ):
        asked = probes[probe]["httpGet"]
        assert asked["path"] == path
        (header,) = asked["httpHeaders"]
        assert header["name"] == "Host"
        assert header["value"] in SETTINGS.allow_hosts
    assert all("/readyz" in SERVICES[name]["healthcheck"]["test"][-1] for name in INSTANCES)


def test_containers_are_stopped_later_than_they_drain() -> None:
    for name in INSTANCES:
        assert int(SERVICES[name]["stop_grace_period"].removesuffix("s")) > SETTINGS.drain_s
    waits = CONTAINERS["serve-shared"]["lifecycle"]["preStop"]["sleep"]["seconds"]
    grace = PODS["serve-shared"]["terminationGracePeriodSeconds"]
    assert grace > SETTINGS.drain_s + waits


def test_prune_reaches_the_engine_and_gets_no_requests() -> None:
    assert SERVICES["prune"]["profiles"] == ["prune"]
    assert SERVICES["prune"]["networks"] == SERVICES["milvus"]["networks"]
    assert SERVICES["prune"]["secrets"] == SERVICES["instance-1"]["secrets"]
    assert SERVICES["prune"]["configs"] == SERVICES["instance-1"]["configs"]
    (job,) = (each for each in manifests() if each["kind"] == "CronJob")
    labels = job["spec"]["jobTemplate"]["spec"]["template"]["metadata"]["labels"]
    policies = {
        each["metadata"]["name"]: each["spec"]
        for each in manifests()
        if each["kind"] == "NetworkPolicy"
    }
    assert policies["prune"]["podSelector"]["matchLabels"] == labels
    assert policies["prune"]["egress"] == policies["serve-shared"]["egress"]
    (admitted,) = policies["milvus"]["ingress"][0]["from"]
    (expression,) = admitted["podSelector"]["matchExpressions"]
    assert {labels[expression["key"]], "serve-shared"} == set(expression["values"])
    services = [each for each in manifests() if each["kind"] == "Service"]
    assert all(each["spec"]["selector"] != labels for each in services)
    mounts = {each["name"]: each for each in CONTAINERS["serve-shared"]["volumeMounts"]}
    for mount in CONTAINERS["prune"]["volumeMounts"]:
        assert mount == mounts[mount["name"]]


def test_both_ways_configure_milvus_alike() -> None:
    of_compose = SERVICES["milvus"]["environment"]
    given = {each["name"]: each for each in CONTAINERS["milvus"]["env"]}
    assert given.keys() == of_compose.keys()
    for name, row in given.items():
        assert row.get("value") == of_compose[name] or "secretKeyRef" in row["valueFrom"]
    (config,) = SERVICES["milvus"]["configs"]
    mounts = {each["name"]: each for each in CONTAINERS["milvus"]["volumeMounts"]}
    path = of_compose["ETCD_CONFIG_PATH"]
    assert config["target"] == mounts["etcd"]["mountPath"] == path
    assert (DEPLOY / mounts["etcd"]["subPath"]).is_file()


def test_two_instances_run() -> None:
    (deployment,) = (each for each in manifests() if each["kind"] == "Deployment")
    assert deployment["spec"]["replicas"] == 2
    first, second = ({**SERVICES[name]} for name in INSTANCES)
    assert first.pop("volumes") != second.pop("volumes")
    assert first == second


def test_each_instance_can_write_its_own_audit_log() -> None:
    folder = str(SETTINGS.audit_file).rpartition("/")[0]
    owned = SERVICES["owner"]["command"][-1]
    for name in INSTANCES:
        (volume,) = (each for each in SERVICES[name]["volumes"] if not each.endswith(":ro"))
        assert volume.partition(":")[2] == folder
        assert f"/{volume.partition(':')[0]}" in owned
    mounts = {each["mountPath"]: each for each in CONTAINERS["serve-shared"]["volumeMounts"]}
    assert not mounts[folder].get("readOnly")


# --- confinement


@pytest.mark.parametrize("name", sorted(SERVICES.keys() - UNCONFINED))
def test_a_service_is_confined(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    if name not in ROOT:
        assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", service["user"])


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_a_service_has_limits_and_a_version(name: str) -> None:
    limits = SERVICES[name]["deploy"]["resources"]["limits"]
    assert limits.keys() == {"cpus", "memory"}
    image = SERVICES[name]["image"]
    assert image.startswith("${CODE_INTEL_IMAGE:?") or re.search(r":v?[A-Z.]*\d", image)


@pytest.mark.parametrize("name", sorted(SERVICES.keys() - ONCE - {"balancer"}))
def test_a_service_has_a_health_check(name: str) -> None:
    assert SERVICES[name]["healthcheck"]["test"][0] == "CMD"


@pytest.mark.parametrize("name", sorted(CONTAINERS.keys() - UNCONFINED))
def test_a_container_is_confined(name: str) -> None:
    pod, container = PODS[name], CONTAINERS[name]["securityContext"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] > 0
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["readOnlyRootFilesystem"] is True
    assert container["allowPrivilegeEscalation"] is False
    assert container["capabilities"] == {"drop": ["ALL"]}


@pytest.mark.parametrize("name", sorted(CONTAINERS))
def test_a_container_has_limits_probes_and_a_version(name: str) -> None:
    container = CONTAINERS[name]
    assert PODS[name]["automountServiceAccountToken"] is False
    assert container["resources"]["requests"].keys() == {"cpu", "memory"}
    assert container["resources"]["limits"].keys() == {"cpu", "memory"}
    if name not in ONCE:
        assert container["readinessProbe"]
        assert container["livenessProbe"]
    assert re.search(r":v?[A-Z.]*\d", container["image"])


def test_both_ways_run_the_same_images() -> None:
    of_compose = {service["image"] for service in SERVICES.values()}
    ours = {"registry.example.com/code-intel:0.1.0"}
    assert {each["image"] for each in CONTAINERS.values()} - ours <= of_compose


def test_secrets_are_references() -> None:
    for container in CONTAINERS.values():
        for variable in container.get("env", ()):
            if re.search("PASSWORD|SECRET|ACCESS_KEY|USER", variable["name"]):
                assert "secretKeyRef" in variable["valueFrom"], variable
    for name, service in SERVICES.items():
        for variable, value in service.get("environment", {}).items():
            if re.search("PASSWORD|SECRET|ACCESS_KEY|USER", variable):
                assert value.startswith("${"), (name, variable)
    assert not any(each["kind"] == "Secret" for each in manifests())


def test_only_the_balancer_has_a_port_outside() -> None:
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["balancer"]
    assert COMPOSE["networks"]["engine"] == {"internal": True}
    assert SERVICES["milvus"]["networks"] == ["engine"]


def test_the_image_has_the_packages_that_the_server_needs() -> None:
    text = (DEPLOY / "Dockerfile").read_text("utf-8")
    for name in re.findall(r"-r (requirements/\S+)", text):
        assert (DEPLOY.parent / name).is_file(), name
    assert "requirements/shared.txt" in text
    kept = (DEPLOY / "Dockerfile.dockerignore").read_text("utf-8").splitlines()
    copied = re.findall(r"^COPY (?!--from)(\w+)/", text, re.MULTILINE)
    assert all(f"!{folder}/" in kept for folder in copied)
