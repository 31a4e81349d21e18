/**
 * Takes a lock with npm `etcd3` again and again, and prints how often in a second. Run by `bench/etcd_peers.ts`, with
 * the URL of a member and the seconds as JSON.
 *
 * @module
 */
import { Etcd3 } from "etcd3";

/** The part of the time before it counts: the compiler of the runtime takes a while to be done. */
const WARM_UP = 1 / 6;

const { url, seconds }: { readonly url: string; readonly seconds: number } = JSON.parse(Deno.args[0] ?? "");
const client = new Etcd3({ hosts: url });

/** Returns how many pairs there were in a second. */
async function rate(ms: number): Promise<number> {
  const started = performance.now();
  let done = 0;
  for (; performance.now() - started < ms; done++) {
    const lock = await client.lock("etcd3").acquire();
    await lock.release();
  }
  return done / (performance.now() - started) * 1_000;
}

await rate(seconds * 1_000 * WARM_UP);
console.log(JSON.stringify(await rate(seconds * 1_000)));
Deno.exit();
