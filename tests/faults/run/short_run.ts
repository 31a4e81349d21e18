import { assertEquals } from "@std/assert";
import { inTime } from "../../support/in_time.ts";
import type { HandoffName } from "../../simulation/handoff/scenario.ts";
import type { ClientName, DeploymentKind } from "./options.ts";
import type { Outcome } from "./outcome.ts";
import { line, report } from "./report.ts";
import { type Progress, run } from "./run.ts";

/** How long faults happen on every change, in minutes. */
const MINUTES = 0.25;

/** How many store objects want one name at the same time. */
const STORES = 12;

/** How long it may take, in milliseconds: less than a test, which does not say what it waited for. */
const LIMIT_MS = 240_000;

/** What differs between short runs. */
export interface ShortRunOptions {
  readonly handoff?: HandoffName;
  readonly client?: ClientName;
}

/** Makes a short run, which fails when anything was violated. */
export async function shortRun(
  deployment: DeploymentKind,
  { handoff = "default", client }: ShortRunOptions = {},
): Promise<Outcome> {
  const seed = Date.now() % 2 ** 32;
  await using stack = new AsyncDisposableStack();
  const rest = { client, seed, workers: 3, stores: STORES, handoff, noFences: false, only: [] };
  const options = { deployment, minutes: MINUTES, ...rest };
  // However slow the machine is.
  const least = { grants: 10, faults: 3, handedOn: 1 };
  let progress: Progress | undefined;
  const running = run(options, stack, (reported) => progress = reported, least);
  const outcome = await inTime(running, LIMIT_MS, () => {
    return `a run${progress === undefined ? ", which has not started," : ` (${line(progress)})`}`;
  });
  // The summary of a whole run quotes the first line.
  assertEquals(outcome.violations, [], `${outcome.violations[0]}\n${report(outcome)}`);
  return outcome;
}
