import type { EtcdServer } from "../tests/support/etcd_server.ts";
import { runChild } from "./child.ts";
import type { Figure } from "./figure.ts";
import { pause } from "./pause.ts";
import { denoArguments } from "../tools/peers/deno_arguments.ts";
import { IDLE } from "./relay.ts";
import type { Bench } from "./row.ts";
import { median } from "./statistics.ts";

/** So many handoffs of `etcdctl lock` are measured, and for so many seconds npm `etcd3` takes locks. */
const HANDOFFS = 40;
const SECONDS = 7;

/** A process that waits for a lock, or has it. */
interface Locking {
  readonly process: Deno.ChildProcess;
  /** Resolves when it has the lock, to that moment. */
  readonly locked: Promise<number>;
}

/** Compares our handoff with one waiter with that of `etcdctl lock`, which is a process for each lock. */
export async function besideEtcdctl(ours: Figure, server: EtcdServer, bench: Bench): Promise<Figure> {
  const times: number[] = [];
  let holder = lock(server, bench);
  await holder.locked;
  while (times.length < Math.max(5, HANDOFFS * bench.scale)) {
    const next = lock(server, bench);
    while (Number((await server.call("/v3/kv/range", QUEUE)).count) < 2) await pause(IDLE);
    await pause(IDLE);
    const sent = performance.now();
    holder.process.kill("SIGINT");
    times.push(await next.locked - sent);
    await holder.process.status;
    holder = next;
    bench.progress(`etcdctl lock, ${times.length} handoffs`);
  }
  holder.process.kill("SIGINT");
  await holder.process.status;
  return beside(ours, { name: "etcdctl lock", value: median(times), unit: "ms" });
}

/** The keys of the queue. */
const QUEUE = { key: btoa("etcdctl/"), "range_end": btoa("etcdctl0"), "count_only": true };

function lock({ etcdctl, url }: EtcdServer, { stack }: Bench): Locking {
  const args = [`--endpoints=${url}`, "lock", "etcdctl"];
  const command = new Deno.Command(etcdctl, { args, stdin: "null", stdout: "piped", stderr: "null" });
  const process = command.spawn();
  stack.defer(async () => {
    try {
      process.kill("SIGKILL");
    } catch {
      // It has ended already.
    }
    await process.status;
  });
  const locked = (async () => {
    for await (const _key of process.stdout.values({ preventCancel: true })) return performance.now();
    throw new Error("etcdctl has ended without a lock");
  })();
  return { process, locked };
}

/** Compares our pair with that of npm `etcd3`, which does not wait for a lock that is held. */
export async function besideEtcd3(
  ours: Figure,
  { url }: EtcdServer,
  { scale, stack, progress }: Bench,
): Promise<Figure> {
  progress("npm etcd3");
  const options = JSON.stringify({ url, seconds: SECONDS * scale });
  const rate = await runChild<number>(Deno.execPath(), denoArguments("etcd3_process.ts", [], [options]), stack);
  return beside(ours, { name: "npm etcd3", value: rate, unit: "/s" });
}

/** Compares one of our figures with that of somebody else. */
function beside({ what, ours }: Figure, reference: NonNullable<Figure["reference"]>): Figure {
  return { what, ours, reference, ratio: ours.value / reference.value };
}
