import { choices, flag, type OptionsOf, path, program } from "../../tests/support/command_line.ts";

/** `deno task bench:peers`, which has these rows and libraries. */
export const programOf = (rows: readonly string[], peers: readonly string[]) =>
  program({
    about: `Measures Holdfast beside the other lock libraries of npm, each in processes of its own, in turns, on one
      server.`,
    usage: "deno task bench:peers [options]",
    options: {
      quick: flag("a first impression, in about eight minutes; without it the run takes about an hour"),
      only: choices("ROW", `only this row; may be given several times: ${rows.join(", ")}`, rows),
      peer: choices(
        "NAME",
        `only this library, beside the bare pair; may be given several times: ${peers.join(", ")}`,
        peers,
      ),
      output: path(
        "PATH",
        `the beginning of the paths of the report, which is written as PATH.json, PATH.md, PATH_longest_wait.svg and
        PATH_handoff.svg (default: results beside the benchmark)`,
      ),
    },
    notes:
      "REDIS_SERVER names the server program (default: redis-server). The first run fetches the libraries from npm.",
  });

/** What the command line asks for. */
export type Options = OptionsOf<ReturnType<typeof programOf>>;
