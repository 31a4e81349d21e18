import { reason } from "../../internal/reason.ts";
import { type Clock, overdue } from "../../time/clock.ts";
import { EtcdEndpoints } from "./endpoints.ts";
import { EtcdFault, failureOf, faultOfAnswer, faultOfFetch } from "./failures.ts";
import type { EtcdResponse, EtcdSettings } from "./options.ts";

/** How long an answer may take, in milliseconds: the engine waits no longer. */
const ANSWER_MS = 2_000;

/** How many ranges one request reads: by default a member takes 128 operations in one (`--max-txn-ops`). */
export const MOST_RANGES = 100;

/** A key with its value, both in base64. Numbers of 64 bits are texts. */
export interface KeyValue {
  readonly key: string;
  readonly value?: string;
  readonly "mod_revision": string;
}

/** The answer to a range request. etcd leaves out fields that are empty. */
export interface RangeResult {
  readonly kvs?: readonly KeyValue[];
  readonly count?: string;
}

/** The answer to a transaction, with the answers to its requests. */
export interface TransactionResult {
  readonly header: { readonly revision: string };
  readonly succeeded?: boolean;
  readonly responses?: readonly {
    readonly "response_range"?: RangeResult;
    readonly "response_txn"?: { readonly succeeded?: boolean };
  }[];
}

/** The JSON gateway of etcd 3.4 and later. */
export class EtcdGateway {
  readonly #settings: EtcdSettings;
  readonly #clock: Clock;
  readonly #endpoints: EtcdEndpoints;
  /** The token, `undefined` without a user. The first call requests it, and so does a call that finds it expired. */
  #token: Promise<string | undefined> | undefined;

  constructor(settings: EtcdSettings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
    this.#endpoints = new EtcdEndpoints(settings.endpoints, clock);
  }

  /** Calls a method. Rejects with a `StoreError` if it is certain that nothing was done. */
  async call<Result>(path: string, body: object, signal?: AbortSignal): Promise<Result> {
    try {
      return await this.#withToken((token) => this.#post(path, body, token, signal)) as Result;
    } catch (fault) {
      throw failureOf(fault, this.#settings);
    }
  }

  /** Reads ranges with the agreement of a majority, up to 100 with one request. */
  async ranges(requests: readonly object[]): Promise<RangeResult[]> {
    const ranges: RangeResult[] = [];
    for (let first = 0; first < requests.length; first += MOST_RANGES) {
      const success = requests.slice(first, first + MOST_RANGES).map((range) => ({ request_range: range }));
      const result = await this.call<TransactionResult>("/v3/kv/txn", { success });
      ranges.push(...success.map((_, index) => rangeIn(result, index)));
    }
    return ranges;
  }

  /** Calls a method with a stream of results, and yields each result. */
  async *stream<Result>(path: string, body: object, signal: AbortSignal): AsyncGenerator<Result> {
    // A watch that fails is replaced by a read, which goes to another member or renews the token if need be.
    const response = await this.#send(this.#endpoints.current + path, body, await this.#asked(), signal);
    const reader = response.body!.getReader();
    // A stream that has failed rejects again.
    const end = () => void reader.cancel().catch(() => {});
    // Not every runtime ends a body by the signal of its request.
    signal.addEventListener("abort", end);
    const decoder = new TextDecoder();
    let text = "";
    try {
      while (!signal.aborted) {
        const { done, value } = await reader.read();
        if (done) return;
        const lines = (text + decoder.decode(value, { stream: true })).split("\n");
        text = lines.pop()!;
        for (const line of lines) {
          const { result } = JSON.parse(line);
          if (result === undefined) throw new Error(`no result in a stream of etcd: ${line}`);
          yield result;
        }
      }
    } finally {
      signal.removeEventListener("abort", end);
      end();
    }
  }

  /** Makes a call with a token; once more with a new token, if the token has expired. */
  async #withToken<T>(call: (token: string | undefined) => Promise<T>): Promise<T> {
    for (let renewed = false;; renewed = true) {
      const asked = this.#asked();
      try {
        return await call(await asked);
      } catch (error) {
        const isExpired = error instanceof EtcdFault && error.kind === "token";
        if (!isExpired || renewed || this.#settings.login.by === "nobody") throw error;
        this.#forget(asked);
      }
    }
  }

  #asked(): Promise<string | undefined> {
    if (this.#token === undefined) {
      const asked = this.#token = this.#login();
      // Each call that waits for it rejects.
      asked.catch(() => this.#forget(asked));
    }
    return this.#token;
  }

  #forget(asked: Promise<string | undefined>): void {
    // Another call may have renewed it meanwhile.
    if (this.#token === asked) this.#token = undefined;
  }

  async #login(): Promise<string | undefined> {
    const { login } = this.#settings;
    try {
      if (login.by === "nobody") return undefined;
      if (login.by === "token") return await login.token();
      const { name, password } = login;
      const result = await this.#post("/v3/auth/authenticate", { name, password }, undefined);
      return (result as { readonly token: string }).token;
    } catch (error) {
      // A TypeError of the caller's function would mean a wrong argument.
      if (!(error instanceof EtcdFault)) throw new Error(`token() has failed: ${reason(error)}`, { cause: error });
      // Authentication may be turned on later.
      if (/authentication is not enabled/.test(error.message)) return undefined;
      throw error;
    }
  }

  #post(path: string, body: object, token: string | undefined, signal?: AbortSignal): Promise<unknown> {
    return this.#endpoints.inTurn(async (url) => {
      signal?.throwIfAborted();
      const late = new AbortController();
      const giveUp = () => late.abort();
      signal?.addEventListener("abort", giveUp);
      const timer = overdue(ANSWER_MS, giveUp, this.#clock);
      try {
        const response = await this.#send(url + path, body, token, late.signal);
        return resultOf(url, response.status, await response.text());
      } catch (error) {
        signal?.throwIfAborted();
        if (late.signal.aborted) throw new EtcdFault("unknown", `${url}: no answer within ${ANSWER_MS} ms`, error);
        throw error instanceof EtcdFault ? error : faultOfFetch(url, error);
      } finally {
        timer.cancel();
        signal?.removeEventListener("abort", giveUp);
      }
    });
  }

  async #send(url: string, body: object, token: string | undefined, signal: AbortSignal): Promise<EtcdResponse> {
    const headers = {
      "content-type": "application/json",
      // A member without a leader says so at once, and ends its watches.
      "grpc-metadata-hasleader": "true",
      ...token === undefined ? {} : { authorization: token },
    };
    return await this.#settings.fetch(url, { method: "POST", headers, body: JSON.stringify(body), signal });
  }
}

function resultOf(url: string, status: number, text: string): unknown {
  let result;
  try {
    result = JSON.parse(text);
  } catch {
    throw faultOfAnswer(url, status, text);
  }
  // Each result of etcd has one.
  if (typeof result?.header !== "object") throw faultOfAnswer(url, status, text);
  return result;
}

/** Returns the answer to the range request at a place in a transaction. */
export function rangeIn({ responses }: TransactionResult, index: number): RangeResult {
  const range = responses?.[index]?.response_range;
  if (range === undefined) throw lacking("range");
  return range;
}

/** Returns the error for an answer that is no answer of etcd: the call may have been executed. */
export function lacking(what: string): Error {
  return new Error(`The answer of etcd has no ${what}: does a proxy change answers?`);
}
