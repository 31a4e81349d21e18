// Deno only: it starts processes of Deno.
import { assert } from "@std/assert";
import { runSource } from "../support/run_source.ts";

const root = new URL("../../", import.meta.url).pathname;

/** A program for a browser: its types are those of the platform, and its lock manager is ours. */
const PROGRAM = `/// <reference lib="dom" />
import { memory } from "@holdfast/lock/memory";
import * as ours from "@holdfast/lock/web-locks";

async function report(locks: LockManager, signal: AbortSignal): Promise<string | undefined> {
  const options: LockOptions = { mode: "shared", signal };
  const size: number = await locks.request("report", options, (lock: Lock | null) => Promise.resolve(lock!.name.length));
  const name: string | undefined = await locks.request("report", (lock) => lock?.name);
  const callback: LockGrantedCallback<Promise<LockMode | undefined>> = (lock) => Promise.resolve(lock?.mode);
  const mode: LockMode | undefined = await locks.request("report", { ifAvailable: true }, callback);
  const { held, pending }: LockManagerSnapshot = await locks.query();
  const infos: LockInfo[] = [...held ?? [], ...pending ?? []];
  return [size, name, mode, ...infos.map(({ clientId }) => clientId)].join();
}

const locks: LockManager = new ours.LockManager(memory());
if (await report(locks, new AbortController().signal) !== "6,report,exclusive") throw new Error("wrong");

// The same calls on the class itself.
const own = new ours.LockManager(memory());
const fence: bigint | undefined = await own.request("report", (lock) => Promise.resolve(lock?.fence));
const none: null = await own.request("report", { steal: true }, () => null);
// @ts-expect-error The result is that of the callback.
const wrong: string = await own.request("report", () => 1);
// @ts-expect-error There is no other mode.
own.request("report", { mode: "none" }, () => {}).catch(() => {});
export { fence, none, wrong };
`;

Deno.test("LockManager has the type of the platform's", async () => {
  const { success, err } = await runSource(PROGRAM, { flags: ["--check", `--config=${root}deno.json`] });
  assert(success, err);
});
