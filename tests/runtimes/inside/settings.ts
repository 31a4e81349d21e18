import type { ClientName } from "../../guard/databases.ts";

/** What the program that has started a runtime tells the tests in it. */
export interface Settings {
  /** Where it starts servers. */
  host: string;
  /** Ports that nobody listens on. */
  freePorts: number[];
  /** Why tests are not run here, by what their names begin with. */
  skip: Record<string, string>;
  /** The libraries of the Redis clients that are tested here, by their names. */
  clients: readonly string[];
  /** The URL of an empty database for each client that is tested here. */
  databases: Partial<Record<ClientName, string>>;
  /** Where etcd answers; empty where there is none. */
  etcd: string;
  /** Where ZooKeeper answers; empty where there is none. */
  zookeeper: string;
  /** Which of the test files are run, so many at a time: every so-manieth from this one on. */
  part: { readonly index: number; readonly of: number };
}

/** Set once, before the first test. */
export const settings: Settings = {
  host: "",
  freePorts: [],
  skip: {},
  clients: [],
  databases: {},
  etcd: "",
  zookeeper: "",
  part: { index: 0, of: 1 },
};

/** What a test asks for: all but `"open"` of a server that was opened. */
export type Operation =
  | { readonly do: "open"; readonly args: string[] }
  | { readonly do: "command"; readonly id: number; readonly words: [string, ...(string | number)[]] }
  | { readonly do: "start" | "kill" | "leftovers" | "front" | "close"; readonly id: number };

/** The answer to `"open"`. */
export interface Started {
  readonly id: number;
  readonly port: number;
}

/** What a test has come to, one line of JSON each; the last line of all says that there are no more. */
export type Line =
  | { readonly type: "passed"; readonly name: string; readonly ms: number }
  | { readonly type: "failed"; readonly name: string; readonly error: string }
  | { readonly type: "skipped"; readonly name: string; readonly why: string }
  | { readonly type: "end"; readonly count: number };
