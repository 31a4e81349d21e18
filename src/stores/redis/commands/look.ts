import type { Entry, Snapshot } from "../../../store.ts";
import { look as script } from "../scripts/generated.ts";
import type { Command } from "./command.ts";
import { decodeKind } from "./kind.ts";

/** What `look` is asked. */
export interface LookInput {
  /** The name of the lock. */
  readonly name: string;
}

/** Lists the holders and the waiters of a lock. */
export const look: Command<LookInput, Snapshot> = {
  script,
  encode: (keys) => ({ keys: keys.slice(0, 4), args: [] }),
  decode(reply, { name }) {
    const [holders = [], waiters = []] = reply as [string[]?, string[]?];
    return { held: entries(name, holders), pending: entries(name, waiters) };
  },
};

/** Reads a list of owner, kind, owner, kind, … */
function entries(name: string, list: readonly string[]): Entry[] {
  return list.flatMap((owner, i) => i % 2 === 0 ? [entry(name, String(owner), String(list[i + 1]))] : []);
}

function entry(name: string, owner: string, marker: string): Entry {
  const kind = decodeKind(marker);
  return typeof kind === "number" ? { name, owner, mode: "exclusive", permits: kind } : { name, owner, mode: kind };
}
