// Deno only: it starts a server.
import { assert, assertEquals } from "@std/assert";
import { acquire, tryAcquire } from "@holdfast/lock";
import { etcd } from "@holdfast/lock/etcd";
import { EtcdServer } from "../../support/etcd_server.ts";
import { HANG_MS, until } from "../../support/until.ts";
import { backendOf, test, WAITED } from "./place.ts";

/** Where a number is exact no longer, and the next one that is not even is another one. */
const LARGE = 2n ** 53n;

/** Returns a revision as the file of etcd has it: big-endian, an underscore, and the number within a transaction. */
function revisionBytes(revision: bigint): Uint8Array {
  const bytes = new Uint8Array(17);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, revision);
  view.setUint8(8, "_".charCodeAt(0));
  return bytes;
}

/** Sets the number of the last revision in the file of a server that does not run. */
async function setRevision(server: EtcdServer, from: bigint, to: bigint): Promise<void> {
  const path = `${server.directory}/data/member/snap/db`;
  const file = await Deno.readFile(path);
  const text = new TextDecoder("latin1").decode(file);
  const sought = new TextDecoder("latin1").decode(revisionBytes(from));
  let count = 0;
  for (let at = text.indexOf(sought); at >= 0; at = text.indexOf(sought, at + 1), count++) {
    file.set(revisionBytes(to), at);
  }
  assert(count > 0, "the revision was found");
  await Deno.writeFile(path, file);
}

test("etcd() keeps revisions apart that are above 2^53", async () => {
  await using server = await EtcdServer.start();
  const { header } = await server.call("/v3/kv/put", { key: btoa("other"), value: btoa("x") });
  await server.kill("SIGTERM");
  await setRevision(server, BigInt(header.revision), LARGE);
  await server.start();
  const backend = backendOf({ endpoints: [server.url] });
  let version = "0";
  for (let turn = 0; turn < 6; turn++) {
    const write = await backend.write("b", `${turn}`, version);
    assert(write.written && BigInt(write.version) > LARGE, `turn ${turn}`);
    assertEquals(await backend.read("b"), { value: `${turn}`, version: write.version });
    await backend.watch("b", version, new AbortController().signal, WAITED);
    version = write.version;
  }
  const [first, second] = [etcd({ endpoints: [server.url] }), etcd({ endpoints: [server.url] })];
  const fences: bigint[] = [];
  for (let turn = 0; turn < 5; turn++) {
    const lock = await acquire(turn % 2 === 0 ? first : second, "a");
    assertEquals(await tryAcquire(turn % 2 === 0 ? second : first, "a"), null);
    const waiting = acquire(turn % 2 === 0 ? second : first, "a", { wait: HANG_MS });
    await until(async () => (await first.query()).pending.length === 1, "it waits");
    await lock.release();
    const next = await waiting;
    fences.push(lock.fence, next.fence);
    await next.release();
  }
  assertEquals(fences, [...fences].sort((a, b) => a < b ? -1 : 1));
  const { kvs: [found] } = await server.call("/v3/kv/range", { key: btoa("holdfast/a") });
  assert(BigInt(found!.mod_revision) > LARGE + 20n, found!.mod_revision);
});
