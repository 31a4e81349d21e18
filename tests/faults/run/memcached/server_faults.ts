import type { Random } from "../../../simulation/kernel/random.ts";
import type { MemcachedServer } from "../../../support/memcached_server.ts";
import { type Fault, pause, serverFault } from "../fault.ts";
import { connectTo } from "./connection.ts";
import { readFields } from "../documents.ts";

/** How long a key of a document is, in bytes: others of that length need as much room. */
const KEY_BYTES = 52;

/** How much is written to fill the room for values of one size, in bytes: several times what there is. */
const FLOOD_BYTES = 3_000_000;

/** What the server needs for a value besides that and its key, in bytes. */
const HEADER_BYTES = 60;

/** What the faults are about. */
export interface Ward {
  readonly server: MemcachedServer;
  /** The locks whose documents may be evicted. */
  readonly locks: readonly string[];
  /** Whether data may be lost now. */
  readonly mayLose: () => boolean;
  /** Is called when data was lost. */
  readonly lost: () => void;
}

/** Returns the faults in which a server loses documents. */
export function losses({ server, locks, mayLose, lost }: Ward): Fault[] {
  const loss = (kind: string, run: (random: Random, over: AbortSignal) => Promise<unknown>): Fault =>
    serverFault(kind, true, async (random, over) => {
      if (!mayLose()) return false;
      try {
        return await run(random, over);
      } finally {
        lost();
      }
    });
  return [
    loss("server restarted", async (random, over) => {
      await server.kill();
      await pause(random.spread(10, 1_500), over);
      await server.start();
    }),
    loss("flush_all", async () => (await server.command("flush_all")).startsWith("OK")),
    loss("document evicted", async (random, over) => {
      const shuffled = locks.map((lock) => ({ lock, at: random.next() })).sort((a, b) => a.at - b.at);
      for (const { lock } of shuffled) {
        if (over.aborted) return false;
        if (await evicted(server, lock)) return true;
      }
      return false;
    }),
  ];
}

/** Fills the server with values of the size of a document, until that is gone. Resolves to whether it is. */
async function evicted(server: MemcachedServer, lock: string): Promise<boolean> {
  const { backend, close } = connectTo(server.port);
  try {
    const before = await readFields(backend, lock);
    if (before === undefined) return false;
    const { value } = await backend.read(lock);
    await flood(server, new TextEncoder().encode(value).length + crypto.randomUUID().length);
    const after = await readFields(backend, lock);
    return after === undefined || after.counter < before.counter;
  } finally {
    close();
  }
}

/** Writes many values of one size, as other users of the server do, and deletes them again. */
export async function flood(server: MemcachedServer, bytes: number): Promise<void> {
  const count = Math.ceil(FLOOD_BYTES / (bytes + KEY_BYTES + HEADER_BYTES));
  const keys = Array.from({ length: count }, (_, i) => `flood:${i}:`.padEnd(KEY_BYTES, "-"));
  const value = "x".repeat(bytes);
  const sets = keys.map((key) => `set ${key} 0 0 ${bytes} noreply\r\n${value}\r\n`).join("");
  const deletes = keys.map((key) => `delete ${key} noreply\r\n`).join("");
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: server.port });
  const rest = new TextEncoder().encode(`${sets}${deletes}mn\r\n`);
  for (let sent = 0; sent < rest.length;) sent += await connection.write(rest.subarray(sent));
  // Answered after all the others.
  await connection.read(new Uint8Array(100));
}
