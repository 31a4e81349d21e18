// Deno only: it reads the warnings from the console; elsewhere the process emits them.
// Alone: the warning comes once in a process.
import { assert, assertEquals } from "@std/assert";
import type { AcquireOptions } from "@holdfast/lock";
import { checkAcquireOptions } from "../../src/lock/options.ts";
import { warningsOf } from "../support/warnings.ts";

Deno.test("checkAcquireOptions() warns once of a lease that is probably meant in seconds", async () => {
  const meant: AcquireOptions[] = [
    {},
    { lease: 100 },
    { lease: 30, renew: true },
    { lease: 30, renew: 10 },
    { lease: 30, renew: false },
  ];
  assertEquals(await warningsOf(() => meant.map((options) => checkAcquireOptions(options))), []);
  const warnings = await warningsOf(() => [30, 60].map((lease) => checkAcquireOptions({ lease })));
  assertEquals(warnings.length, 1);
  assert(warnings[0]!.includes("30000") && warnings[0]!.includes("milliseconds"), warnings[0]);
});
