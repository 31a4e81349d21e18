// Deno only: it reads the page.
import { assert, assertEquals } from "@std/assert";
import { readCommandLine } from "../../packages/cli/src/arguments/command_line.ts";
import { readRunRequest, RUN_OPTIONS, type RunRequest } from "../../packages/cli/src/commands/run_options.ts";

const PAGE = Deno.readTextFileSync(new URL("../../docs/recipes/kubernetes.md", import.meta.url));

/** How long a release may take, and the end of the process, in milliseconds. */
const RELEASE_MS = 6_000;

/** The commands of the page, as holdfast reads them. */
function requests(): RunRequest[] {
  return Array.from(PAGE.matchAll(/command: (\[.*\])$/gm), ([, list]) => {
    const [program, verb, ...words] = JSON.parse(list!) as string[];
    assertEquals([program, verb], ["holdfast", "run"]);
    const line = readCommandLine(words, RUN_OPTIONS);
    return readRunRequest({
      ...line,
      terminal: undefined!,
      env: {},
      signal: undefined!,
      store: undefined!,
      examine: undefined!,
    });
  });
}

Deno.test("docs/recipes/kubernetes.md has commands that holdfast takes", () => {
  const [cron, deployment, ...others] = requests();
  assert(cron !== undefined && deployment !== undefined && others.length === 0, "both were found");
  assertEquals([cron.lock.wait, cron.lock.atLeast, cron.command], [0, 300_000, ["node", "report.js"]]);
  const [, seconds] = /terminationGracePeriodSeconds: (\d+)/.exec(PAGE) ?? [];
  assert(deployment.times.graceMs + RELEASE_MS < Number(seconds) * 1_000, `${seconds} s are enough`);
});
