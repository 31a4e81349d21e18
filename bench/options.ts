import { choices, flag, type OptionsOf, path, program } from "../tests/support/command_line.ts";

/** `deno task bench`, which has these rows. */
export const programOf = (rows: readonly string[]) =>
  program({
    about: "Measures Holdfast against the least that a lock on Redis can be, on a server of its own.",
    usage: "deno task bench [options]",
    options: {
      quick: flag("a first impression, in a few minutes; without it the run takes half an hour"),
      only: choices("ROW", `only this row; may be given several times: ${rows.join(", ")}`, rows),
      json: path(
        "PATH",
        "where the figures go, with quartiles and versions (default: results.json beside the benchmark)",
      ),
      strict: flag("exit status 1 when a target is missed"),
      force: flag("measures although other processes use the machine; then no target is met or missed"),
    },
    notes:
      `Exit status: 0 when it was measured, 1 when a target is missed with --strict or something fails, 2 for a wrong
      command line, 3 when the machine is loaded, 130 when interrupted.

      REDIS_SERVER names the server program (default: redis-server). The ratios are what counts: both sides are measured in
      turns, on the same machine and the same server.`,
  });

/** What the command line asks for. */
export type Options = OptionsOf<ReturnType<typeof programOf>>;
