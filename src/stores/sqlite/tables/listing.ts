import { nameFilter, withRanks } from "../../../internal/listing/query_options.ts";
import { readMeta } from "../../../internal/process/meta.ts";
import { ownerOfKey } from "../../../rules/occupancy.ts";
import type { Entry, HolderEntry, QueryOptions, Snapshot, WaiterEntry } from "../../../contract/store.ts";
import { eventLoopTurn, type LockFile } from "../file/file.ts";
import type { LockView } from "./lock_state.ts";

/** How many names are read before the event loop turns. */
const CHUNK = 250;

/** The rows that `list()` reads. */
interface Source {
  readonly file: LockFile;
  /** Returns the client's view of the others at a moment of the wall clock. */
  readonly view: (now: number) => LockView;
  /** Decodes text of the file. A name may begin with a byte order mark. */
  readonly decoder: TextDecoder;
}

/** A name, and its form in statements: its bytes in the file, or text. */
interface Name {
  readonly text: string;
  readonly key: string | Uint8Array;
}

type Row = Readonly<Record<string, unknown>>;

/** Lists the holders and waiters of the selected names, in the order of the file, after all earlier calls. */
export async function list(
  file: LockFile,
  view: (now: number) => LockView,
  options: QueryOptions,
): Promise<Snapshot> {
  await file.written();
  const encoding = await file.read((run) => String(run.encoding.get()?.["encoding"]));
  const source: Source = { file, view, decoder: new TextDecoder(encoding, { ignoreBOM: true }) };
  const { limit = Infinity } = options;
  const wanted = nameFilter(options);
  const held: HolderEntry[] = [];
  const waiting: Omit<WaiterEntry, "rank">[] = [];
  let listed = 0;
  let last: string | undefined;
  for await (const names of namesOf(source, options)) {
    const page = names.slice(0, limit - listed);
    for (const row of await rowsOf(source, page)) {
      const entry = entryOf(row, source);
      // Between the names of the page there are others.
      if (!wanted(entry.name)) continue;
      const { held: kind, expiresIn, place } = row;
      if (kind === 1) held.push({ ...entry, expiresIn: Number(expiresIn), fence: BigInt(Number(place)) });
      else waiting.push(kind === 2 ? { ...entry, member: true } : entry);
    }
    listed += page.length;
    last = page.at(-1)?.text ?? last;
    if (last !== undefined && page.length < names.length) return { held, pending: withRanks(waiting), cursor: last };
  }
  return { held, pending: withRanks(waiting) };
}

/** Yields the selected names, a part at a time, in their order. Some have no holder and no waiter. */
async function* namesOf({ file, decoder }: Source, options: QueryOptions): AsyncGenerator<Name[]> {
  const { match, limit = Infinity, cursor = "" } = options;
  const only = options.name ?? (match?.includes("*") ? undefined : match);
  if (only !== undefined) {
    if (only > cursor) yield [{ text: only, key: only }];
    return;
  }
  const wanted = nameFilter(options);
  const prefix = prefixOf(match);
  // With one more it is known whether there is another page.
  const most = match === undefined ? Math.min(CHUNK, limit + 1) : CHUNK;
  let after: string | Uint8Array = cursor;
  for (;;) {
    const rows = await file.read((run, now) => {
      return run.names.all(after, prefix, after, now, most, after, prefix, after, most, most);
    });
    const names = rows.map(({ name }) => ({ text: decoder.decode(name as Uint8Array), key: name as Uint8Array }));
    yield names.filter(({ text }) => wanted(text));
    const last = names.at(-1);
    if (last === undefined || names.length < most || !last.text.startsWith(prefix)) return;
    after = last.key;
    await eventLoopTurn();
  }
}

/** Returns the common prefix of all names that match a pattern. In the file these names follow each other. */
function prefixOf(match = ""): string {
  const [prefix = ""] = match.split("*");
  // Half a surrogate pair cannot be encoded.
  return prefix.isWellFormed() ? prefix : "";
}

/** Returns the rows of the names from the first to the last. */
async function rowsOf({ file, view }: Source, names: readonly Name[]): Promise<readonly Row[]> {
  const [from, to] = [names[0]?.key, names.at(-1)?.key];
  if (from === undefined || to === undefined) return [];
  return await file.read((run, now) => {
    const { client, deadAfter } = view(now);
    return run.list.all(now, now, from, to, now, from, to, from, to, client, now, deadAfter);
  });
}

function entryOf({ name, handle, ownerKey, kind, since, meta }: Row, { decoder }: Source): Entry {
  return {
    name: decoder.decode(name as Uint8Array),
    owner: ownerOfKey(decoder.decode(ownerKey as Uint8Array)),
    handle: decoder.decode(handle as Uint8Array),
    mode: kind === "shared" ? "shared" : "exclusive",
    permits: typeof kind === "number" ? kind : undefined,
    meta: readMeta(typeof meta === "string" ? meta : undefined),
    since: typeof since === "number" ? since : undefined,
  };
}
