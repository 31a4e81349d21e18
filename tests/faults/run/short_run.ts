import { assertEquals } from "@std/assert";
import type { HandoffName } from "../../simulation/handoff/scenario.ts";
import type { ClientName, DeploymentKind } from "./options.ts";
import type { Outcome } from "./outcome.ts";
import { report } from "./report.ts";
import { run } from "./run.ts";

/** How long faults happen on every change, in minutes. */
const MINUTES = 0.25;

/** How many store objects want one name at the same time. */
const STORES = 12;

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
  const outcome = await run(options, stack, () => {}, { grants: 10, faults: 3, handedOn: 1 });
  // The summary of a whole run quotes the first line.
  assertEquals(outcome.violations, [], `${outcome.violations[0]}\n${report(outcome)}`);
  return outcome;
}
