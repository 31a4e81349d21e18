import { StoreError } from "../../../../contract/errors.ts";
import { causesOf, firstLine, isDenied, mayBeDone } from "../../../../internal/failure.ts";
import { reason } from "../../../../internal/reason.ts";
import { overdue, SystemClock } from "../../../../time/clock.ts";
import type { UpstashClient } from "../client.ts";
import { checkUpstashOptions, type UpstashOptions, type UpstashSettings } from "./options.ts";

/** How long an answer may take, in milliseconds: half the time that `acquire` waits. */
const ANSWER_MS = 5_000;

/**
 * Makes a client of a database that speaks the REST protocol of Upstash: pass it to `acquire()`, `redis()` or
 * `redlock()`. Nothing is sent before the first command, and there is nothing to close.
 *
 * @param options the URL of the database, and its token
 * @throws {TypeError} when an option is of the wrong kind, or the URL cannot be such a database
 */
export function upstash(options: UpstashOptions): UpstashClient {
  const settings = checkUpstashOptions(options);
  const clock = new SystemClock();
  return {
    url: settings.url,
    postCommand: (...words) => post(words, settings, clock),
    events: (channel, signal) => events(channel, settings, signal),
  };
}

/** Sends a command. Rejects with a `StoreError` or a `ReplyError` if it is certain that nothing was done. */
async function post(words: string[], { url, token, fetch }: UpstashSettings, clock: SystemClock): Promise<unknown> {
  const late = new AbortController();
  const timer = overdue(ANSWER_MS, () => late.abort(), clock);
  const headers = { "authorization": `Bearer ${token}`, "content-type": "application/json" };
  const body = JSON.stringify(words);
  try {
    const response = await fetch(url, { method: "POST", headers, body, redirect: "manual", signal: late.signal });
    return resultOf(url, response.status, await response.text());
  } catch (error) {
    if (late.signal.aborted) throw new Error(`${url} did not answer within ${ANSWER_MS} ms`, { cause: error });
    throw error instanceof StoreError || isReply(error) ? error : failureOf(url, error);
  } finally {
    timer.cancel();
  }
}

/** Yields the lines of the answer to a subscription. */
async function* events(
  channel: string,
  { url, token, fetch }: UpstashSettings,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const headers = { "authorization": `Bearer ${token}`, "accept": "text/event-stream" };
  const path = `${url}/subscribe/${encodeURIComponent(channel)}`;
  const response = await fetch(path, { method: "GET", headers, redirect: "manual", signal });
  const { status, body } = response;
  if (status !== 200 || !body) {
    throw new Error(`there is no event stream at ${url}: ${status} ${firstLine(await response.text())}`);
  }
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split(/\r?\n/);
    rest = lines.pop()!;
    yield* lines;
  }
}

/** Returns whether an error is a reply of the database. */
export function isReply(error: unknown): error is Error {
  return error instanceof Error && error.name === "ReplyError";
}

/** Returns the error for a request that has failed: the command may have been executed. */
function failureOf(url: string, error: unknown): Error {
  if (isDenied(error)) return new StoreError(reason(error), { cause: error, permanent: true });
  return new Error(`${url}: ${reason(causesOf(error).at(-1))}`, { cause: error });
}

/** Returns the result in an answer, or throws the error in it. */
function resultOf(url: string, status: number, text: string): unknown {
  const { result, error } = parse(text);
  if (status === 200 && result !== undefined) return result;
  if (typeof error === "string" && status < 500 && status !== 404) {
    if (status === 401 || status === 403) {
      throw new StoreError(`${url} refuses the token: ${error}`, { permanent: true });
    }
    throw Object.assign(new Error(error), { name: "ReplyError" });
  }
  const what = `${url} does not answer as the REST API of Upstash does: ${status} "${firstLine(text)}"`;
  if (mayBeDone(status, text)) throw new Error(what);
  throw new StoreError(`${what}. Is this UPSTASH_REDIS_REST_URL of the database?`, { permanent: true });
}

/** A text or a number in JSON. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

/** Parses an answer, with numbers as texts: above 2^53 they are not exact. Returns an empty answer for no JSON. */
function parse(text: string): { readonly result?: unknown; readonly error?: unknown } {
  try {
    // To search in what is no JSON could take very long: a text may have no end there.
    JSON.parse(text);
    return Object(JSON.parse(text.replace(TOKEN, (token) => token.startsWith('"') ? token : `"${token}"`)));
  } catch {
    return {};
  }
}
