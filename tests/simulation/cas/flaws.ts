import { HandoffStore } from "../../../src/internal/handoff/handoff_store.ts";
import type { CasStore } from "../../../src/stores/cas/store.ts";
import type { MakeStore, SimulationOptions } from "./simulate.ts";

/** One place of the engine with a fault in it. */
interface Edit {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** The engine's folder. */
const FOLDER = "stores/cas";

/** Faults in the engine, each by what is changed in its files. */
const ENGINE: Readonly<Record<string, readonly Edit[]>> = {
  "clocks of clients that are compared directly": [{
    file: "tidy.ts",
    from: "view.cannotWatch ? Math.min(unseen, end + view.skew - view.now) : unseen",
    to: "Math.min(unseen, end - view.now)",
  }],
  "an observation by the clock that has moved further": [{
    file: "observations.ts",
    from: "Math.max(0, Math.min(to.monotonic - from.monotonic, to.wall - from.wall))",
    to: "Math.max(to.monotonic - from.monotonic, to.wall - from.wall)",
  }],
  "an observation from before the read": [
    {
      file: "sighting.ts",
      from: "readonly #sentAt: Instant;",
      to: "readonly #sentAt: Instant; get sentAt() { return this.#sentAt; }",
    },
    { file: "lock.ts", from: "note(document, this.#receivedAt)", to: "note(document, sighting.sentAt)" },
  ],
  "a renewal that does not raise the beat": [{ file: "changes.ts", from: "holder.beat = ++document.counter;", to: "" }],
  "a beat that begins anew": [{ file: "document.ts", from: "beat: ++this.counter,", to: "beat: 1," }],
  "a renewal that is answered from a read": [{
    file: "changes.ts",
    from: 'return { needs: "write", answer: (written) => written.holders.has(handle)',
    to: 'return { needs: "read", answer: (written) => written.holders.has(handle)',
  }],
  "a loss that is answered from a read": [{
    file: "changes.ts",
    from: 'return { needs: "proof", answer: () => "lost" }',
    to: 'return { needs: "read", answer: () => "lost" }',
  }],
  "a turn that is never over": [{ file: "tidy.ts", from: "TURN_MS = 1_500", to: "TURN_MS = Infinity" }],
  "a write that is never answered": [{
    file: "lock.ts",
    from: "await within(ms, request, this.#context.clock, sentAt)",
    to: "await request",
  }],
  "the engine's own time instead of the server's": [{
    file: "sighting.ts",
    from: "return this.time + age + drift(age);",
    to: "return now.wall;",
  }],
};

/** Faults of a server. */
const SERVER: Readonly<Record<string, SimulationOptions>> = {
  "a version that repeats": { serverFlaws: { repeatsVersions: true } },
  "an old time of the server": { serverFlaws: { otherTime: (time) => time - time % 5_000 } },
  "the time of another machine": {
    serverFlaws: { otherTime: (time) => time + (time % 2_000 < 1_000 ? 3_000 : -3_000) },
  },
};

/** The faults that the simulator must notice, by their names. */
export const FLAWS: readonly string[] = [...Object.keys(ENGINE), ...Object.keys(SERVER)];

/** Returns what simulates a fault. */
export async function flawed(flaw: string): Promise<SimulationOptions> {
  return SERVER[flaw] ?? { makeStore: await planted(ENGINE[flaw]!) };
}

/** Returns what makes stores of an engine with a fault: a copy of the sources, in which that is planted. */
async function planted(edits: readonly Edit[]): Promise<MakeStore> {
  const copy = Deno.makeTempDirSync({ prefix: "holdfast_cas_flaw_" });
  copyFolder(new URL("../../../src", import.meta.url).pathname, copy);
  for (const { file, from, to } of edits) {
    const path = `${copy}/${FOLDER}/${file}`;
    const source = Deno.readTextFileSync(path);
    if (source.split(from).length !== 2) throw new Error(`${file} has not one place like ${from}`);
    Deno.writeTextFileSync(path, source.replace(from, () => to));
  }
  const { CasStore: Flawed }: { CasStore: typeof CasStore } = await import(`file://${copy}/${FOLDER}/store.ts`);
  Deno.removeSync(copy, { recursive: true });
  return (backend, { maxClockSkew, handsOn }, client, luck) => {
    const store = new Flawed(backend, { maxClockSkew, observer: undefined }, client, luck);
    return handsOn ? new HandoffStore(store, client) : store;
  };
}

function copyFolder(from: string, to: string): void {
  Deno.mkdirSync(to, { recursive: true });
  for (const { name, isDirectory } of Deno.readDirSync(from)) {
    if (isDirectory) copyFolder(`${from}/${name}`, `${to}/${name}`);
    else Deno.copyFileSync(`${from}/${name}`, `${to}/${name}`);
  }
}
