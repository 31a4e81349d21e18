import type { Observer } from "../../../../src/contract/events.ts";
import { SystemClock } from "../../../../src/time/clock.ts";
import { FileStore } from "../../../../src/stores/sqlite/store.ts";
import type { Access } from "../access.ts";
import { listView } from "../view.ts";
import type { SqliteTarget } from "../work.ts";

/** Opens a store in a file, and a second one that looks at it. */
export function sqliteAccess({ path }: SqliteTarget, observer: Observer): Access {
  const clock = new SystemClock();
  const [store, looking] = [new FileStore(path, observer, clock), new FileStore(path, undefined, clock)];
  return {
    store,
    views: [listView(looking)],
    close: () => {
      for (const each of [store, looking]) each.close();
    },
    unclosed: () => openFiles().filter((file) => file.startsWith(path)),
  };
}

/** Returns the files that this process has open. */
function openFiles(): string[] {
  if (Deno.build.os !== "linux") return [];
  return Array.from(Deno.readDirSync("/proc/self/fd"), ({ name }) => {
    try {
      return Deno.readLinkSync(`/proc/self/fd/${name}`);
    } catch {
      return ""; // That of the directory itself.
    }
  });
}
