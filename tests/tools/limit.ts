/**
 * Loaded before each test file: gives each test a limit, so that one that never ends does not take the others with it.
 * What nobody catches fails the test that runs, for the same reason. After the last test of a file it waits shortly, so
 * that it notices a rejection that the test has left behind. After a test on servers it looks itself for what the test
 * has left behind, and Deno does not.
 *
 * @module
 */
import { leavingNothing } from "./leaks.ts";
import { waitsForOthers } from "./tiers.ts";
import { noteDefined } from "./together.ts";
import { catchingAll, endNoting, noteUncaught } from "./uncaught.ts";

const ROOT = new URL("../../", import.meta.url).href;

/**
 * How long a test may take that says nothing else, in milliseconds: longer if it computes all the time. No slow machine
 * reaches it, only what never ends.
 */
const LIMIT_MS = /\/(tests\/simulation|tests\/verification|tools\/lua)\//.test(Deno.mainModule) ? 1_800_000 : 300_000;

const test = Deno.test;

const onServers = Deno.mainModule.startsWith(ROOT) && Deno.mainModule.endsWith("_test.ts") &&
  waitsForOthers(Deno.mainModule.slice(ROOT.length));

/** Defines a test as `Deno.test` does, with a limit, and with a search for what it leaves behind. */
function limited(...args: readonly (string | Partial<Deno.TestDefinition> | Deno.TestDefinition["fn"])[]): void {
  const definition = args.reduce<Partial<Deno.TestDefinition>>((all, arg) => {
    if (typeof arg === "string") return { ...all, name: arg };
    return typeof arg === "function" ? { ...all, fn: arg, name: all.name ?? arg.name } : { ...all, ...arg };
  }, {});
  const { fn, sanitizeOps = true } = definition as Deno.TestDefinition;
  noteDefined(definition.name ?? "");
  const isSearched = onServers && sanitizeOps;
  test({
    timeout: LIMIT_MS,
    ...definition,
    ...isSearched ? { sanitizeOps: false, sanitizeResources: false } : {},
    fn: (t: Deno.TestContext) => catchingAll(() => isSearched ? leavingNothing(() => fn(t)) : fn(t)),
  } as Deno.TestDefinition);
}

noteUncaught();

Object.defineProperty(Deno, "test", { value: Object.assign(limited, test) });

Deno.test.afterAll(async () => {
  await new Promise((resolve) => setTimeout(resolve, 10));
  endNoting();
});
