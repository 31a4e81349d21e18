import { createHash } from "node:crypto";
import { execute, type Host } from "./commands.ts";
import { compile } from "./compile.ts";
import { Keyspace, type Reply, ReplyError } from "./keyspace.ts";
import { library } from "./library.ts";
import { general, LuaError, Table, type Value } from "./values.ts";

/** A script in its compiled form, with the globals that it finds. */
interface Program {
  readonly globals: Map<string, Value>;
  readonly run: () => Value[];
}

/** Scripts are compiled once: each server gives them its own keys and arguments, and only while they run. */
const programs = new Map<string, Program>();

/** The server whose script runs. */
let running: ScriptServer | undefined;

/**
 * A server that runs Lua scripts on keys in memory, as Redis does: one after the other, each without a break. It knows
 * the commands that locks need, and its clock is the one that it is given.
 */
export class ScriptServer {
  readonly keys: Keyspace;
  readonly #host: Host;
  readonly #known = new Set<string>();
  #time: number | undefined;

  /**
   * Makes an empty server.
   *
   * @param clock gives the time, in microseconds
   * @param publish publishes a message, and returns how many receive it
   */
  constructor(clock: () => number, publish: (channel: string, message: string) => number) {
    // As on the real one, time stands still while a script runs.
    const now = () => this.#time ?? Math.floor(clock());
    this.keys = new Keyspace(() => Math.floor(now() / 1_000));
    this.#host = { keys: this.keys, now, publish };
  }

  /** Runs a script by its text. */
  eval(source: string, keys: readonly string[], argv: readonly string[]): Reply {
    const program = programs.get(source) ?? prepare(source);
    programs.set(source, program);
    program.globals.set("KEYS", new Table(keys));
    program.globals.set("ARGV", new Table(argv));
    this.#time = this.#host.now();
    running = this;
    try {
      return replyOf(program.run()[0]);
    } catch (error) {
      if (error instanceof LuaError) throw new ReplyError(error.message);
      throw error;
    } finally {
      running = undefined;
      this.#time = undefined;
    }
  }

  /** Returns whether it has run the script of this SHA-1 before. */
  knows(sha: string): boolean {
    return this.#known.has(sha);
  }

  /** Notes that it knows the script of this SHA-1. */
  learn(sha: string): void {
    this.#known.add(sha);
  }

  /** Runs one command. */
  command(...words: string[]): Reply {
    return execute(this.#host, words);
  }
}

function prepare(source: string): Program {
  const globals = library();
  const redis = new Table();
  redis.set("call", (...args) => [call(args)]);
  redis.set("pcall", (...args) => {
    try {
      return [call(args)];
    } catch (error) {
      if (error instanceof LuaError && error.value instanceof Table) return [error.value];
      throw error;
    }
  });
  redis.set("sha1hex", (text) => [createHash("sha1").update(String(text)).digest("hex")]);
  redis.set("error_reply", (message) => [named("err", message)]);
  redis.set("status_reply", (message) => [named("ok", message)]);
  globals.set("redis", redis);
  return { globals, run: compile(source, globals) };
}

function call(args: readonly Value[]): Value {
  const words = args.map((arg) => {
    if (typeof arg === "string") return arg;
    // Unlike anything else, a number that is an argument keeps all of its digits.
    if (typeof arg === "number") return general(arg, 17);
    throw new LuaError(named("err", "ERR Lua redis lib command arguments must be strings or integers"));
  });
  try {
    return valueOf(running!.command(...words));
  } catch (error) {
    if (error instanceof ReplyError) throw new LuaError(named("err", error.message));
    throw error;
  }
}

function named(key: string, value: Value): Table {
  const table = new Table();
  table.set(key, value);
  return table;
}

/** Returns a reply as scripts see it. */
function valueOf(reply: Reply): Value {
  if (reply === null) return false;
  if (Array.isArray(reply)) return new Table(reply.map(valueOf));
  return typeof reply === "object" ? named("ok", reply.ok) : reply;
}

/** Returns what a script returns, as its client sees it. */
function replyOf(value: Value): Reply {
  if (value === undefined || value === false) return null;
  if (value === true) return 1;
  if (typeof value === "number") return Math.trunc(value);
  if (value instanceof Table) {
    const error = value.get("err");
    if (error !== undefined) throw new ReplyError(String(error));
    const status = value.get("ok");
    if (status !== undefined) return { ok: String(status) };
    return value.list.map(replyOf);
  }
  return typeof value === "string" ? value : null;
}
