"""Room for the processes: a placement group with a bundle of resources for each."""

import logging

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy, PlacementGroupSchedulingStrategy

LOG = logging.getLogger("rabbet.ray")
OPTIONS = {"CPU": "num_cpus", "GPU": "num_gpus", "memory": "memory"}


class Room:
    """A placement group, which Ray has set aside."""

    def __init__(self, plan):
        self.plan = plan
        missing = short_of(plan, ray.cluster_resources())
        if missing:
            LOG.warning(
                "rabbet_ray: the cluster has too little %s for %s; waiting %g s for more",
                ", ".join(missing), wish(plan), plan.seconds,
            )  # fmt: skip
        self.group = ray.util.placement_group([plan.resources] * plan.processes, strategy=plan.strategy)
        try:
            if not self.group.wait(plan.seconds):
                raise TimeoutError(no_room(plan))
        except BaseException:
            self.give_back()
            raise

    def bundles(self):
        """The bundle of each rank: processes of one machine follow each other."""
        nodes = ray.util.placement_group_table(self.group)["bundles_to_node_id"]
        return by_node([nodes.get(i) for i in range(self.plan.processes)])

    def options(self, bundle):
        """Options of an actor that is to be in a bundle."""
        options = {"num_cpus": 0, "resources": {}}
        for name, amount in self.plan.resources.items():
            if name in OPTIONS:
                options[OPTIONS[name]] = amount
            else:
                options["resources"][name] = amount
        options["scheduling_strategy"] = PlacementGroupSchedulingStrategy(
            placement_group=self.group, placement_group_bundle_index=bundle
        )
        return options

    def give_back(self):
        """Ray may use it for others."""
        ray.util.remove_placement_group(self.group)


def by_node(nodes):
    """The order of bundles in which those of one node follow each other, the first bundle's node first."""
    first = {}
    for i, node in enumerate(nodes):
        first.setdefault(node, i)
    return sorted(range(len(nodes)), key=lambda i: (first[nodes[i]], i))


def near_this_process():
    """Options of an actor that needs no resources, does two things at once, and is on this machine if it can
    be.
    """
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True)
    return {"num_cpus": 0, "max_concurrency": 2, "scheduling_strategy": here}


def short_of(plan, there):
    """The names of the resources of which there is too little, whatever else runs."""
    return [n for n, amount in plan.resources.items() if there.get(n, 0) < amount * plan.processes]


def wish(plan):
    """What was asked for, in words."""
    return f"{plan.processes} processes of {shown(plan.resources)} each ({plan.strategy})"


def shown(resources):
    """Resources in words, without those that stand for a machine."""
    names = [name for name in sorted(resources) if not name.startswith(("node:", "object_store_memory"))]
    return "{" + ", ".join([f"{name}: {resources[name]:g}" for name in names]) + "}"


def no_room(plan):
    """The message where Ray could not set the resources aside in time."""
    alive = [node for node in ray.nodes() if node["Alive"]]
    there, free = ray.cluster_resources(), ray.available_resources()
    lines = [f"rabbet_ray: Ray had no room for {wish(plan)} within {plan.seconds:g} s"]
    lines += [f"  the cluster has {shown(there)} on {len(alive)} machine{'s' if len(alive) != 1 else ''}"]
    lines += [f"  of that is free {shown(free)}"]
    missing = short_of(plan, there)
    if missing:
        fix = f"add machines, or ask for less {', '.join(missing)} (resources_per_process, processes)"
    elif plan.strategy.startswith("STRICT"):
        fix = f'strategy="{plan.strategy.removeprefix("STRICT_")}" is content with other machines'
    else:
        fix = "wait until others have ended (start_timeout_seconds), or ask for less"
    return "\n".join([*lines, f"  to fix: {fix}"])


__all__ = ["LOG", "Room", "by_node", "near_this_process", "short_of", "wish"]
