import type { Command, Script } from "./command.ts";
import { reason } from "../../../internal/reason.ts";
import { StoreError } from "../../../contract/errors.ts";
import type { RedisPort } from "../clients/port.ts";
import { callsKey, type KeySpace } from "../keys/keys.ts";
import { explain, isLoginFailure, isUnsent, rightsFor, type ServerError } from "../refusals/server_error.ts";

/** For how long the replies of a lock are remembered, in milliseconds: the time that a request waits for its answer. */
const REMEMBERED_MS = 5_000;

/** The total length of the remembered replies, in characters: about 200 releases. */
const REMEMBERED_CHARACTERS = 4_000;

/**
 * The lines before and after a script that is executed once for each call: a repetition gets the reply of the first
 * execution. The last key has the replies, the last argument is the id of the call. A reply of 0 is not stored: a
 * second execution gives it again.
 */
const BEFORE = `local key, call = table.remove(KEYS), '\\n' .. table.remove(ARGV) .. ' '
local calls = redis.pcall('GET', key)
if type(calls) ~= 'string' then calls = '' end
local _, at = string.find(calls, call, 1, true)
if at then return cjson.decode(string.match(calls, '^[^\\n]*', at + 1))[1] end
local function run()
`;
const AFTER = `
end
local reply = run()
if reply ~= 0 then
  calls = string.sub(calls .. call .. cjson.encode({ reply }), -${REMEMBERED_CHARACTERS})
  redis.pcall('SET', key, calls, 'PX', ${REMEMBERED_MS})
end
return reply`;

/** Returns a script that does the same as another, once for each call. */
export async function onceOf(script: Script): Promise<Script> {
  const source = BEFORE + script.source + AFTER;
  const digest = await crypto.subtle.digest("SHA-1", new TextEncoder().encode(source));
  return { source, sha: Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("") };
}

/** Runs scripts on the server of a client. */
export class Runner {
  readonly #port: RedisPort;
  readonly #keys: KeySpace;
  #unsent: string | undefined;
  /** The scripts that run once for each call, by their original scripts. */
  readonly #once = new Map<Script, Promise<Script>>();

  constructor(port: RedisPort, keys: KeySpace) {
    this.#port = port;
    this.#keys = keys;
  }

  /** Why the server refused to send a message of a script; `undefined` if it never did. */
  get unsent(): string | undefined {
    return this.#unsent;
  }

  /** Runs a command's script: by its SHA-1, the first time by its text. The reply is read as soon as it arrives. */
  run<Input, Reply, Result>(
    command: Command<Input, Reply>,
    name: string,
    input: Input,
    read: (reply: Reply) => Result,
  ): Promise<Result> {
    const port = this.#port;
    if (command.once && port.repeats) return this.#onceOf(command).then((once) => this.run(once, name, input, read));
    const { script } = command;
    const { keys, args } = command.encode(this.#keys.keysOf(name), input);
    const { cuts, error } = port.connection;
    const fail = (error: unknown): never => {
      throw this.failure(error, script, keys, cuts);
    };
    const decode = (reply: unknown): Result => {
      if (error !== undefined) port.connection.answered();
      return read(command.decode(this.#heard(texts(reply), script, keys), input));
    };
    const answer = port.evalsha(script.sha, keys, args);
    return (port.state === "ready" ? answer : port.connection.unlessDenied(answer)).then(decode, (error) => {
      if (!isUnknownScript(error)) return fail(error);
      return port.eval(script.source, keys, args).then(decode, fail);
    });
  }

  /** Returns a command that is executed once, however often the transport repeats it. */
  async #onceOf<Input, Reply>(command: Command<Input, Reply>): Promise<Command<Input, Reply>> {
    const script = this.#once.get(command.script) ?? onceOf(command.script);
    this.#once.set(command.script, script);
    const id = crypto.randomUUID().slice(-12);
    return {
      script: await script,
      encode(lock, input) {
        const { keys, args } = command.encode(lock, input);
        return { keys: [...keys, callsKey(lock)], args: [...args, id] };
      },
      decode: (reply, input) => command.decode(reply, input),
    };
  }

  /** Returns the reply of a script without the refusal that may surround it, see lib/notify.lua. */
  #heard(reply: unknown, { source }: Script, keys: readonly string[]): unknown {
    if (!Array.isArray(reply) || reply[0] !== ":unsent") return reply;
    this.#unsent ??= this.#explain(String(reply[1]), source, keys).message;
    return reply[2];
  }

  #explain(words: string, source: string, keys: readonly string[]): ServerError {
    const { user, keyPrefix } = this.#port;
    return explain(this.#port, words, rightsFor(user, source, keys, this.#keys.prefix, keyPrefix));
  }

  /**
   * Returns the error for a failed call: a {@linkcode StoreError} when the server has answered that it did nothing, or
   * when no answer can come; else an error that says why the server cannot be reached.
   *
   * @param cuts how often the connection had been cut before
   */
  failure(error: unknown, script: Script, keys: readonly string[], cuts: number): unknown {
    const { connection, state } = this.#port;
    if (error instanceof StoreError) return error;
    if (this.#port.isReply(error) || isUnsent(error)) {
      // A command that was sent twice, over two connections, may have been executed the first time; not without login.
      if (cuts !== connection.cuts && !isLoginFailure(error)) return error;
      const { message, permanent } = this.#explain(error.message, script.source, keys);
      return new StoreError(message, { cause: error, permanent });
    }
    const cause = connection.error;
    const words = reason(error);
    const message = cause === undefined || words.includes(cause.message) ? words : `${cause.message} (${words})`;
    if (state === "closed") return new StoreError(message, { cause: cause ?? error, permanent: true });
    return message === words ? error : new Error(message, { cause });
  }
}

/** Returns whether the server has said that it does not know a script by its SHA-1. */
export function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("NOSCRIPT");
}

/** Returns a reply with strings in place of buffers, which a client may be set to return. */
function texts(reply: unknown): unknown {
  if (reply instanceof Uint8Array) return new TextDecoder().decode(reply);
  return Array.isArray(reply) ? reply.map(texts) : reply;
}
