// Deno only: it starts processes of Deno.
import { assert, assertEquals } from "@std/assert";
import { SentinelDeployment } from "../../../tests/deployments/sentinel.ts";
import { HANG_MS, until } from "../../../tests/support/until.ts";
import { living, RunProcess, shell } from "./run_process.ts";

/** Of which two thirds suffice for a failover. */
const LEASE = 15_000;

/** A command that ends with status 3 on SIGTERM and with status 4 on SIGUSR1. */
const COMMAND = shell('trap "exit 3" TERM; trap "exit 4" USR1; echo $$; while :; do sleep 0.05; done');

/** Returns the URL of the master, whichever that is. */
function urlOf({ address: { sentinels, name } }: SentinelDeployment): string {
  return `redis+sentinel://${sentinels.map(({ host, port }) => `${host}:${port}`).join()}/${name}`;
}

Deno.test({
  name: "holdfast run keeps its lock and its command through a failover of Sentinel",
  fn: async () => {
    await using deployment = await SentinelDeployment.start();
    const client = deployment.connect();
    const address = urlOf(deployment);
    // A slow machine takes longer for a failover.
    await using run = new RunProcess(address, ["a", "--lease", `${2 * LEASE}`, ...COMMAND]);
    const group = await run.commandId();
    const old = await deployment.master();
    await until(async () => await old.command("WAIT", 2, 1_000) === 2, "the replicas know of the lock");
    await old.kill();
    await deployment.promoted(old);
    const left = async () => await client.pttl("lock:a").catch(() => 0);
    await until(async () => await left() > 0, "the new master has the lock");
    const before = await left();
    await until(async () => await left() > before, "it was renewed there", HANG_MS);
    assert(living(group).length > 0, "the command runs");
    run.signal("SIGUSR1");
    assertEquals((await run.result()).status, 4);
  },
});

Deno.test({
  name: "holdfast run stops its command when a failover of Sentinel loses the lock",
  fn: async () => {
    await using deployment = await SentinelDeployment.start();
    await deployment.cutReplication();
    const address = urlOf(deployment);
    await using run = new RunProcess(address, ["a", "--lease", `${LEASE}`, ...COMMAND]);
    const group = await run.commandId();
    const old = await deployment.master();
    const killed = performance.now();
    await old.kill();
    await until(() => living(group).length === 0, "the command is dead", 2 * LEASE);
    assert(performance.now() - killed < LEASE, "before the lease ended");
    assertEquals((await run.result()).status, 76);
  },
});
