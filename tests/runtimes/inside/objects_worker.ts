/**
 * The worker of the tests of Durable Objects: a class that can be asked what it holds, the tests that run beside it,
 * and a crowd that wants one lock.
 *
 * @module
 */
import { acquire } from "@holdfast/lock";
import { durableObject, type LockNamespace, LockObject, type LockObjectState } from "@holdfast/lock/durable-object";
import { type Bindings, bindings } from "./objects_suite.ts";
import { worker } from "./workerd.ts";
import { parseDocument } from "../../../src/engine/document.ts";

/** The class under test. */
export class Locks extends LockObject {
  readonly #state: LockObjectState;
  readonly #instance = crypto.randomUUID();

  constructor(state: LockObjectState) {
    super(state);
    this.#state = state;
  }

  override async fetch(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === "/instance") return Response.json(this.#instance);
    if (pathname !== "/used") return await super.fetch(request);
    const stored = await this.#state.storage.list({ prefix: "lock:" }) as Map<string, { document: Uint8Array }>;
    const used = [...stored].filter(([key, { document }]) =>
      !parseDocument(key, new TextDecoder().decode(document)).unused
    );
    return Response.json(used.map(([key]) => key));
  }
}

/** What a lock protects: counts those that are inside, and notes the fences in their order. */
export class Register {
  #inside = 0;
  #most = 0;
  readonly #fences: string[] = [];

  async fetch(request: Request): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    if (pathname === "/enter") {
      this.#most = Math.max(this.#most, ++this.#inside);
      this.#fences.push(search.slice(1));
    }
    if (pathname === "/leave") this.#inside--;
    return await Promise.resolve(Response.json({ most: this.#most, fences: this.#fences }));
  }
}

const tests = worker({ "the suite of stores": () => import("./objects_suite.ts").then(({ define }) => define()) });

export default {
  async fetch(request: Request, env: Bindings & { REGISTER: LockNamespace }): Promise<Response> {
    Object.assign(bindings, env);
    const [, rounds] = /^\/crowd\/(\d+)$/.exec(new URL(request.url).pathname) ?? [];
    if (rounds === undefined) return await tests.fetch(request);
    const register = env.REGISTER.get(env.REGISTER.idFromName("register"));
    const ask = (path: string) => register.fetch(`https://register${path}`, { method: "POST", body: "" });
    await Promise.all(Array.from({ length: 4 }, async () => {
      for (let i = 0; i < Number(rounds); i++) {
        await using lock = await acquire(durableObject(env.LOCKS), "crowd");
        await ask(`/enter?${lock.fence}`);
        await ask("/leave");
      }
    }));
    return Response.json("done");
  },
};
