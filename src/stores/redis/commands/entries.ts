import type { Entry, HolderEntry, Snapshot } from "../../../contract/store.ts";
import { withRanks } from "../../../internal/listing/query_options.ts";
import { readMeta } from "../../../internal/process/meta.ts";
import * as scripts from "../scripts/generated.ts";
import type { Command } from "./command.ts";
import { decodeKind, decodeList } from "./values.ts";

const VALUES = 5;

/** Lists the holders and the waiters of a lock. */
export const entries: Command<{ name: string }, Snapshot> = {
  script: scripts.entries,
  encode: (keys) => ({ keys: [...keys], args: [] }),
  decode(reply, { name }) {
    const [holders, waiters, members] = decodeList(reply).map(decodeList);
    return {
      held: handles(holders).map((values) => holderEntry(name, values)),
      pending: withRanks([
        ...handles(members).map((values) => ({ ...waiterEntry(name, values), member: true })),
        ...handles(waiters).map((values) => waiterEntry(name, values)),
      ]),
    };
  },
};

/** Cuts a list into the values of each handle. */
function handles(list: readonly unknown[] = []): string[][] {
  const values = list.map(String);
  return Array.from({ length: values.length / VALUES }, (_, i) => values.slice(i * VALUES, (i + 1) * VALUES));
}

function holderEntry(
  name: string,
  [owner = "", handle = "", kind = "", left = "", record = ""]: string[],
): HolderEntry {
  const [, fence = "", since = "", meta] = /^(\d*):(\d*)(.*)$/s.exec(record) ?? [];
  const expiresIn = Number(left);
  return {
    ...entry(name, owner, handle, kind),
    ...details(meta, since),
    ...expiresIn < 0 ? {} : { expiresIn },
    ...fence === "" ? {} : { fence: BigInt(fence) },
  };
}

function waiterEntry(name: string, [owner = "", handle = "", kind = "", ticket = "", meta]: string[]): Entry {
  return { ...entry(name, owner, handle, kind), ...details(meta, ticket) };
}

function entry(name: string, owner: string, handle: string, marker: string): Entry {
  const kind = decodeKind(marker);
  const who = { name, owner, handle };
  return typeof kind === "number" ? { ...who, mode: "exclusive", permits: kind } : { ...who, mode: kind };
}

/** Decodes the description of a handle, and a moment in µs, which is empty when not known. */
function details(text: string | undefined, microseconds: string): Pick<Entry, "meta" | "since"> {
  const meta = readMeta(text);
  return {
    ...meta === undefined ? {} : { meta },
    ...microseconds === "" ? {} : { since: Math.floor(Number(microseconds) / 1_000) },
  };
}
