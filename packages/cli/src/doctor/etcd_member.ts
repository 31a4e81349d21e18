import { reason } from "@holdfast/lock/authors";
import type { EtcdOptions } from "@holdfast/lock/etcd";
import { SystemClock } from "../time/clock.ts";
import { ANSWER_MS } from "./unreachable.ts";

const CLOCK = new SystemClock();

/** How much is quoted of an answer that is not one of etcd, in characters. */
const LONGEST_LINE = 200;

/** The status of a member. */
export interface MemberStatus {
  readonly version: string;
  /** The size of its database in bytes, as a text. */
  readonly dbSize?: string;
  /** The id of the leader; left out where there is no leader. */
  readonly leader?: string;
  /** Errors, with the alarms. */
  readonly errors?: readonly string[];
}

/** One member of a cluster. */
export class EtcdMember {
  readonly url: string;
  #token: string | undefined;
  /** How far its clock is ahead of this machine's, in milliseconds; `NaN` until a response has its time. */
  skew = NaN;

  /** Creates a member. Sends nothing. */
  constructor(url: string) {
    this.url = url;
  }

  /** Logs in, where there is a user and authentication is on. */
  async login({ username: name, password }: EtcdOptions): Promise<void> {
    if (name === undefined) return;
    try {
      this.#token = (await this.call<{ token: string }>("/v3/auth/authenticate", { name, password })).token;
    } catch (fault) {
      if (!/not enabled/.test(reason(fault))) throw fault;
    }
  }

  /** Calls a method of the JSON gateway. Rejects with the error of etcd. */
  async call<Result>(path: string, body: object): Promise<Result> {
    const sent = CLOCK.now().wall;
    return await this.#answer(path, body, async (response) => {
      // In whole seconds: on average half a second more.
      const date = Date.parse(response.headers.get("date") ?? "") + 500;
      this.skew = date - (sent + CLOCK.now().wall) / 2;
      const text = await response.text();
      let result;
      try {
        result = JSON.parse(text);
      } catch {
        throw new Error(
          `${this.url} does not answer as etcd does: ${response.status} ${
            text.trim().split("\n")[0]!.slice(0, LONGEST_LINE)
          }`,
        );
      }
      if (!response.ok) throw new Error(String(result.error));
      return result;
    });
  }

  /** Resolves when a watch has begun. */
  async watches(key: string): Promise<void> {
    await this.#answer("/v3/watch", { "create_request": { key } }, async (response) => {
      const reader = response.body!.getReader();
      await reader.read();
      await reader.cancel();
    });
  }

  /** Returns a number of its metrics; `undefined` if it does not show the metric. */
  async metric(name: string): Promise<number | undefined> {
    try {
      return await this.#answer("/metrics", undefined, async (response) => {
        const [, value] = new RegExp(`^${name} (\\S+)$`, "m").exec(await response.text()) ?? [];
        return value === undefined ? undefined : Number(value);
      });
    } catch {
      return undefined;
    }
  }

  /** Sends a request, and resolves to the result of `read` for the response. Rejects if that takes too long. */
  async #answer<T>(path: string, body: object | undefined, read: (response: Response) => Promise<T>): Promise<T> {
    const late = new AbortController();
    const timer = CLOCK.timer(ANSWER_MS, () => late.abort());
    const content = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const headers: Record<string, string> = this.#token === undefined ? {} : { authorization: this.#token };
    try {
      return await read(await fetch(this.url + path, { ...content, headers, signal: late.signal }));
    } catch (fault) {
      throw late.signal.aborted ? new Error(`${this.url}: no answer within ${ANSWER_MS / 1_000} s`) : fault;
    } finally {
      timer.cancel();
    }
  }
}
