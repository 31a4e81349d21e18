import { choices, type OptionsOf, program } from "../support/command_line.ts";

/** `deno task test:runtimes`, of these runtimes. */
export const programOf = (names: readonly string[]) =>
  program({
    about: "Packs the package as for npm and runs its tests on the packed files, in other runtimes than Deno.",
    usage: "deno task test:runtimes [options] [name...]",
    options: {
      names: { ...choices("name", `only these: ${names.join(", ")}`, names), kind: "words" },
    },
    notes: `The tests are those of "deno task test" that start nothing but Redis servers: of the core, of the stores in
      memory, in SQLite, on Redis and on Redlock, and of the LockManager; the first line of every other test file says
      why it is not among them. Then come the suite of stores over the other clients of Redis, each in one of the
      runtimes, and locks in PostgreSQL and MariaDB, over each client that works there. "objects" runs Durable Objects in
      workerd: the suite of stores, evictions and restarts, and the examples for Workers. "types" compiles a program that
      uses every export, with each supported TypeScript.

      The runtimes come from npm into the folder .runtimes, which takes 270 MB of downloads and 850 MB of disk the first
      time; their versions are in tests/runtimes/versions.ts. REDIS_SERVER names the server program (default:
      redis-server). The exit status is 1 when anything failed.`,
  });

/** What the command line asks for. */
export type Options = OptionsOf<ReturnType<typeof programOf>>;
