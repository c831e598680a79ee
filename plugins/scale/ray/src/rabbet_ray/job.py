"""The processes of one call of ``run``: they are started, looked after, started again, ended."""

import contextlib
import secrets
import time

import ray
from rabbet.errors import PeerLost

from rabbet_ray import actors
from rabbet_ray.outcomes import is_loss, original, outcome_of
from rabbet_ray.placement import LOG, Room, near_this_process, wish
from rabbet_ray.plan import WHO, variables

EXPLAIN_SECONDS = 5.0  # after the first ``PeerLost``, for the sign of what it is about
END_SECONDS = 30.0


class Job:
    """The processes of one call of ``run``. As a context manager it leaves none behind.

    Attributes:
      actors: the process of each rank that has not ended.
      leaving: pairs of a process that has returned, and the call that ends it.
      keeper, staying: the actor that keeps the coordinator, and the call that ends with it.
      running: the rank of each call that has not ended, by Ray's reference to it.
      results: what was returned, by rank.
      begun: how often each rank was started.
    """

    def __init__(self, plan):
        self.plan = plan
        self.room, self.keeper, self.staying, self.secret = None, None, None, None
        self.actors, self.running, self.leaving, self.results = {}, {}, [], {}
        self.restarts, self.begun = 0, [0] * plan.processes

    def __enter__(self):
        if not ray.is_initialized():
            ray.init()
        return self

    def __exit__(self, *error):
        if ray.is_initialized():
            self.end_all()
            if self.room is not None:
                self.room.give_back()

    # --------------------------------------------------------------------------------------- the whole
    def run(self):
        """Start all; return their results when all have returned."""
        self.room = Room(self.plan)
        self.work = ray.put((self.plan.function, self.plan.args))
        self.start_all()
        while self.running:
            for outcome in self.next_outcomes(None):
                self.settle(outcome)
        return [self.results[rank] for rank in range(self.plan.processes)]

    def next_outcomes(self, seconds):
        """What has become of those that end next; empty if nothing happens for so long."""
        ended, _ = ray.wait([*self.running, self.staying], timeout=seconds)
        return [outcome_of(self.running.pop(each, None), each) for each in ended]

    def settle(self, outcome):
        """Keep the result of a process that has returned; make up for one that is lost.

        Raises:
          PeerLost: if the restarts are used up. Exception: what the function raised.
        """
        if outcome.error is None:
            self.results[outcome.rank] = outcome.value
            self.let_end(outcome.rank)
            return
        alone = self.plan.elastic and outcome.rank is not None and self.running
        if not alone:
            outcome = self.explained(outcome)
        if not (outcome.gone or is_loss(outcome.error) or self.is_retried(outcome.error)):
            self.raise_of(outcome)
        if self.restarts >= self.plan.restarts:
            self.give_up(outcome)
        self.restarts += 1
        again = "it is" if alone else "all are"
        LOG.warning(
            "rabbet_ray: %s; %s started again (%d of %d)",
            outcome.told(), again, self.restarts, self.plan.restarts,
        )  # fmt: skip
        if alone:
            self.kill([outcome.rank])
            self.start([outcome.rank])
        else:
            self.end_all()
            self.start_all()

    def explained(self, outcome):
        """An outcome that tells why processes ended: of several the first that does not blame others."""
        deadline = time.monotonic() + EXPLAIN_SECONDS
        while outcome.blames and self.running and time.monotonic() < deadline:
            for other in self.next_outcomes(max(0.0, deadline - time.monotonic())):
                if other.error is None:
                    self.results[other.rank] = other.value
                elif not other.blames:
                    return other
        return outcome

    def is_retried(self, error):
        """Whether ``run`` was told to call the function again after what it raised."""
        return isinstance(original(error), self.plan.retried) and original(error) is not error

    def raise_of(self, outcome):
        """Raise what a function raised."""
        outcome.error.add_note(f"raised in process {outcome.rank} of {self.plan.processes} on Ray")
        raise outcome.error

    def give_up(self, outcome):
        """Raise what the function raised, or ``PeerLost``."""
        if not (outcome.gone or is_loss(outcome.error)):
            self.raise_of(outcome)
        often = f"after {self.restarts} restarts" if self.restarts else "and restarts=0"
        raise PeerLost(f"rabbet_ray: {outcome.told()}, {often}", outcome.lost) from outcome.error

    # ------------------------------------------------------------------------------ starting and ending
    def start_all(self):
        """Start the coordinator and all processes."""
        self.results.clear()
        self.secret = secrets.token_hex(32)  # anew each time, so that no message of an earlier start counts
        options = {**near_this_process(), **({"runtime_env": env} if (env := self.environment({})) else {})}
        self.keeper = ray.remote(actors.Keeper).options(**options).remote()
        address = self.keeper.start.remote(self.plan.processes)
        self.wait_for([address], "coordinator")
        self.address = ray.get(address)
        self.staying = self.keeper.stay.remote()
        self.bundles = self.room.bundles()
        self.start(range(self.plan.processes))

    def start(self, ranks):
        """Start the processes of these ranks."""
        for rank in ranks:
            found = variables(rank, self.plan.processes, self.address, self.begun[rank], self.secret)
            self.begun[rank] += 1
            options = {**self.room.options(self.bundles[rank]), "runtime_env": self.environment(found)}
            self.actors[rank] = ray.remote(actors.Process).options(**options).remote(rank)
        self.wait_for([self.actors[rank].pid.remote() for rank in ranks], "processes")
        for rank in ranks:  # where one could not start, its call fails for the same reason
            self.running[self.actors[rank].call.remote(self.work)] = rank

    def environment(self, found):
        """The ``runtime_env`` of an actor that is to have these variables."""
        env = self.plan.runtime_env
        told = {**env.get("env_vars", {}), **found}
        return {**env, "env_vars": told} if told else env

    def wait_for(self, references, what):
        """Wait until these calls have ended, well or not.

        Raises:
          TimeoutError: where they do not within the time to start.
        """
        _, left = ray.wait(references, num_returns=len(references), timeout=self.plan.seconds)
        if left:
            raise TimeoutError(
                f"{WHO}: {len(left)} of {len(references)} {what} did not start within "
                f"{self.plan.seconds:g} s, though Ray has set room aside for {wish(self.plan)}\n"
                "  to fix: look at Ray's logs (`ray logs cluster`), or give start_timeout_seconds more"
            )

    def let_end(self, rank):
        """End a process as a program ends, once it has returned."""
        actor = self.actors.pop(rank)
        self.leaving.append((actor, actor.__ray_terminate__.remote()))

    def kill(self, ranks):
        """End processes at once, and wait until they are gone."""
        ended = []
        for rank in ranks:
            actor = self.actors.pop(rank)
            ended.append(actor.pid.remote())  # fails when the process is gone
            ray.kill(actor)
        if ended:
            ray.wait(ended, num_returns=len(ended), timeout=END_SECONDS)

    def wait_for_leaving(self):
        """Wait until those that have returned are gone; end those that take too long."""
        leaving, self.leaving = self.leaving, []
        if leaving:
            ended = [reference for _, reference in leaving]
            _, left = ray.wait(ended, num_returns=len(ended), timeout=END_SECONDS)
            for actor, reference in leaving:
                if reference in left:
                    ray.kill(actor)

    def end_all(self):
        """End all processes, and then the coordinator, whose end would abort them."""
        self.running.clear()
        with contextlib.suppress(Exception):
            self.kill(list(self.actors))
            self.wait_for_leaving()
        if self.keeper is not None:
            ray.wait([self.keeper.close.remote()], timeout=END_SECONDS)
            ray.kill(self.keeper)
        self.keeper = self.staying = None


__all__ = ["Job"]
