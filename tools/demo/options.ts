import { permissionsOf } from "../../examples/store_url.ts";
import { type Option, type OptionsOf, program, whole } from "../../tests/support/command_line.ts";

const STORE: Option<string | undefined> = {
  kind: "words",
  value: "STORE",
  help:
    `the URL of a store to keep the lock in, for example redis://127.0.0.1:6379; an SQLite file of its own by default.
    The name of the lock is a fresh one. On Redis its last fence expires after 7 days, its other keys within 15 s; in
    PostgreSQL and MySQL its row stays`,
  read: ([store, ...others]) => {
    if (store !== undefined) permissionsOf(store);
    if (others.length > 0) throw new TypeError(`there is one store: got '${others.join(" ")}' as well`);
    return store;
  },
};

/** `deno task demo`. */
export const PROGRAM = program({
  about: "Shows in about 10 seconds what Holdfast does, with real processes.",
  usage: "deno task demo [STORE] [options]",
  options: {
    store: STORE,
    sections: whole("N", "how often each process raises the counter", { least: 1, most: 10_000, default: 150 }),
  },
  notes: "Exit status: 0 if everything held, 1 if not, 2 for a bad argument; 130 after Ctrl-C.",
});

/** The arguments of the command line. */
export type Options = OptionsOf<typeof PROGRAM>;
