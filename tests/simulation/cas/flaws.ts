import { HandoffStore } from "../../../src/internal/handoff/handoff_store.ts";
import type { CasStore } from "../../../src/stores/cas/store.ts";
import type { Scenario } from "./scenario.ts";
import type { ServerFlaws } from "./server.ts";
import type { MakeStore, SimulationOptions } from "./simulate.ts";

/** One place of the engine with a fault in it. */
interface Edit {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** The engine's folder. */
const FOLDER = "stores/cas";

/** A fault that the simulator must notice. */
export interface Flaw {
  /** What it must cause: anything else may be an accident. */
  readonly causes: RegExp;
  /** The runs that it can be noticed in; all when left out. */
  readonly in?: (scenario: Scenario) => boolean;
  /** What is changed in the engine's files. */
  readonly engine?: readonly Edit[];
  /** What the server does otherwise. */
  readonly server?: ServerFlaws;
  /** Whether only the directed schedule finds it. */
  readonly directed?: boolean;
}

const FAULTY = ({ faults, crashes }: Scenario) => faults && crashes === 0;
const CLOCKED = ({ clock }: Scenario) => clock;

const TWO_HOLDERS = /^both hold /;
const NEVER_RETURNS = / has a call that does not return: acquiring /;

/** Faults of the engine, and of servers. */
export const FLAWS: Readonly<Record<string, Flaw>> = {
  "clocks of clients that are compared directly": {
    causes: TWO_HOLDERS,
    in: ({ clock }) => !clock,
    engine: [{
      file: "tidy.ts",
      from: "view.cannotWatch ? Math.min(unseen, end + view.skew - view.now) : unseen",
      to: "Math.min(unseen, end - view.now)",
    }],
  },
  "an observation by the clock that has moved further": {
    causes: TWO_HOLDERS,
    in: FAULTY,
    engine: [{
      file: "observations.ts",
      from: "Math.max(0, Math.min(to.monotonic - from.monotonic, to.wall - from.wall))",
      to: "Math.max(to.monotonic - from.monotonic, to.wall - from.wall)",
    }],
  },
  "an observation from before the read": {
    causes: TWO_HOLDERS,
    in: FAULTY,
    engine: [
      {
        file: "sighting.ts",
        from: "readonly #sentAt: Instant;",
        to: "readonly #sentAt: Instant; get sentAt() { return this.#sentAt; }",
      },
      { file: "lock.ts", from: "note(document, this.#receivedAt)", to: "note(document, sighting.sentAt)" },
    ],
  },
  "a renewal that does not raise the beat": {
    causes: TWO_HOLDERS,
    in: FAULTY,
    engine: [{ file: "changes.ts", from: "holder.beat = ++document.counter;", to: "" }],
  },
  "a beat that begins anew": {
    causes: TWO_HOLDERS,
    in: FAULTY,
    engine: [{ file: "document.ts", from: "beat: ++this.counter,", to: "beat: 1," }],
  },
  "a renewal that is answered from a read": {
    causes: TWO_HOLDERS,
    engine: [{
      file: "changes.ts",
      from: 'return { needs: "write", answer: (written) => written.holders.has(handle)',
      to: 'return { needs: "read", answer: (written) => written.holders.has(handle)',
    }],
  },
  "a loss that is answered from a read": {
    causes: /^no fault, but LockLostError/,
    in: ({ faults, quality }) => !faults && quality.old > 0,
    engine: [{
      file: "changes.ts",
      from: 'return { needs: "proof", answer: () => "lost" }',
      to: 'return { needs: "read", answer: () => "lost" }',
    }],
  },
  "a release that finds nothing and does not write": {
    causes: /^a is held, although nobody has it/,
    directed: true,
    engine: [{
      file: "changes.ts",
      from: 'return { needs: "write", answer: () => released }',
      to: 'return { needs: released ? "write" : "read", answer: () => released }',
    }],
  },
  // A lease that is dated by a clock which was set forward since is over for everybody else.
  "a document that is remembered for days": {
    causes: TWO_HOLDERS,
    in: ({ rest, sets }) => rest !== undefined && sets === "server",
    engine: [{ file: "sighting.ts", from: "REMEMBERED_MS = 60_000", to: "REMEMBERED_MS = 30 * 24 * 3_600_000" }],
  },
  "a sweep that removes what was just used": {
    causes: /^fence \d+ of \w follows /,
    in: ({ rest }) => rest !== undefined,
    engine: [{ file: "sweeper.ts", from: "return document.unused && ", to: "return document.unused || " }],
  },
  "an end that is cut by an old time": {
    causes: TWO_HOLDERS,
    in: ({ clock, timedWrites, crashes }) => clock && !timedWrites && crashes > 0,
    engine: [{
      file: "tidy.ts",
      from: "{ time, now }: DocumentView): boolean {",
      to: "{ time, time: now }: DocumentView): boolean {",
    }],
  },
  "a turn that is never over": {
    causes: NEVER_RETURNS,
    engine: [{ file: "tidy.ts", from: "TURN_MS = 1_500", to: "TURN_MS = Infinity" }],
  },
  "a crash loop of waiters without a roll call": {
    causes: /^no room to wait for /,
    in: ({ crashes }) => crashes > 0,
    engine: [{ file: "tidy.ts", from: "const begins = !pending", to: "const begins = false && !pending" }],
  },
  "a write that is never answered": {
    causes: / is not free although nothing fails any more$/,
    engine: [{ file: "lock.ts", from: "await within(ms, request, this.#context.clock, sentAt)", to: "await request" }],
  },
  "the engine's own time instead of the server's": {
    causes: TWO_HOLDERS,
    in: CLOCKED,
    engine: [{ file: "sighting.ts", from: "return this.time + age + drift(age);", to: "return now.wall;" }],
  },
  "a version that repeats": { causes: TWO_HOLDERS, server: { repeatsVersions: true } },
  "an old time of the server": {
    causes: TWO_HOLDERS,
    in: CLOCKED,
    server: { otherTime: (time) => time - time % 5_000 },
  },
  "the time of another machine": {
    causes: TWO_HOLDERS,
    in: CLOCKED,
    server: { otherTime: (time) => time + (time % 2_000 < 1_000 ? 3_000 : -3_000) },
  },
  "two machines that decide like one": {
    causes: TWO_HOLDERS,
    in: ({ second }) => second !== undefined,
    server: { hidesMachines: true },
  },
};

/** Returns what simulates a fault. */
export async function flawed({ engine, server }: Flaw): Promise<SimulationOptions> {
  return { ...server && { serverFlaws: server }, ...engine && { makeStore: await planted(engine) } };
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
