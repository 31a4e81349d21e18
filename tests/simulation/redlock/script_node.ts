import type { Snapshot } from "../../../src/contract/store.ts";
import { lockKeys, lockOf } from "../../../src/stores/redis/keys/keys.ts";
import { entries } from "../../../src/stores/redis/commands/entries.ts";
import { ScriptServer } from "../../../tools/lua/server.ts";
import type { Machine } from "../kernel/machine.ts";

/** What stands before the names of locks in their keys. */
const PREFIX = "lock:";

/** One that listens to channels. */
export interface Listener {
  readonly channels: ReadonlySet<string>;
  receive(channel: string, message: string): void;
}

/** What a Redis server keeps: its keys, the scripts that it knows, and who listens. */
export class KeptScripts {
  readonly server: ScriptServer;
  readonly listeners = new Set<Listener>();

  constructor(machine: Machine) {
    this.server = new ScriptServer(() => machine.now().wall * 1_000, (channel, message) => {
      const listening = [...this.listeners].filter(({ channels }) => channels.has(channel));
      for (const listener of listening) listener.receive(channel, message);
      return listening.length;
    });
  }

  /** Lists all locks, with the script that the store has for that. */
  query(): Promise<Snapshot> {
    const { keys } = this.server;
    // Most looks find nothing but counters: then no script is run, which takes longer than all else.
    const names = new Set(
      keys.names().map((key) => lockOf(key)).filter((lock) => {
        const [, queue] = lockKeys(lock);
        return keys.get(lock) !== undefined || keys.get(queue!) !== undefined;
      }),
    );
    const snapshots = [...names].filter((key) => key.startsWith(PREFIX)).map((key) => {
      const asked = { name: key.slice(PREFIX.length) };
      const { keys, args } = entries.encode(lockKeys(key), asked);
      return entries.decode(this.server.eval(entries.script.source, keys, args), asked);
    });
    return Promise.resolve({
      held: snapshots.flatMap(({ held }) => held),
      pending: snapshots.flatMap(({ pending }) => pending),
    });
  }

  /** Writes the key of a lock, as a client that is none of ours. */
  take(name: string, owner: string): void {
    this.server.keys.set(PREFIX + name, owner);
  }

  /** Deletes the key of a lock; returns how many there were. */
  evict(name: string): Promise<number> {
    return Promise.resolve(Number(this.server.keys.delete(PREFIX + name)));
  }
}
