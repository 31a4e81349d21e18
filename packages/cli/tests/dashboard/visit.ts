import type { Dashboard } from "@holdfast/cli/dashboard";
import type { Claim, Meta, Store } from "@holdfast/lock";
import { MemoryStore } from "../../../../src/stores/memory/store.ts";
import { VirtualClock } from "../../../../tests/support/virtual_clock.ts";
import { checkDashboardOptions } from "../../src/dashboard/options.ts";
import { RequestHandler } from "../../src/dashboard/request_handler.ts";

/** Where the dashboards of the tests are. */
export const ORIGIN = "http://dashboard.test";

type Answer = (request: Request) => Promise<Response>;

/** Asks for a page, and returns the response. */
export function visit(answer: Answer, path: string, init: RequestInit = {}): Promise<Response> {
  return answer(new Request(ORIGIN + path, init));
}

/** Asks for a page, and returns its text. */
export async function textOf(answer: Answer, path: string, init: RequestInit = {}): Promise<string> {
  return await (await visit(answer, path, init)).text();
}

/** The page that asks whether to evict, as a browser has it. */
export interface Confirmation {
  readonly text: string;
  readonly cookie: string;
  /** The fields of its form. */
  readonly fields: Record<string, string>;
}

/** Opens the page that asks whether to evict. */
export async function openConfirmation(answer: Answer, name: string): Promise<Confirmation> {
  const response = await visit(answer, `/evict?name=${encodeURIComponent(name)}`);
  const text = await response.text();
  const fields = text.matchAll(/<input type="hidden" name="(\w+)" value="(\w+)">/g);
  return {
    text,
    cookie: (response.headers.get("set-cookie") ?? "").split(";")[0]!,
    fields: Object.fromEntries(Array.from(fields, ([, name, value]) => [name!, value!])),
  };
}

/** Sends the form of that page, as a browser does unless `headers` say otherwise. */
export function confirm(
  answer: Answer,
  name: string,
  { cookie, fields }: Pick<Confirmation, "cookie" | "fields">,
  headers: Record<string, string> = { origin: ORIGIN, "sec-fetch-site": "same-origin" },
): Promise<Response> {
  return visit(answer, `/evict?name=${encodeURIComponent(name)}`, {
    method: "POST",
    headers: { cookie, ...headers },
    body: new URLSearchParams(fields),
  });
}

/** Returns the events that a stream sends; each call waits for the next one. */
export function eventsOf(response: Response): {
  next(event: string): Promise<Record<string, string>>;
  cancel(): Promise<void>;
} {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  const next = async (event: string): Promise<Record<string, string>> => {
    for (;;) {
      const end = rest.indexOf("\n\n");
      if (end < 0) {
        const { done, value } = await reader.read();
        if (done) throw new Error(`the stream ended before an event "${event}"`);
        rest += value;
        continue;
      }
      const message = rest.slice(0, end);
      rest = rest.slice(end + 2);
      if (message.startsWith(`event: ${event}\ndata: `)) {
        return JSON.parse(message.slice(message.indexOf("data: ") + 6));
      }
    }
  };
  return { next, cancel: () => reader.cancel() };
}

/** Returns a store in memory whose clock stands still, so that it has no timers for what is held. */
export function stillStore(clock: VirtualClock = new VirtualClock()): MemoryStore {
  return new MemoryStore(undefined, clock);
}

/** Returns a dashboard by a clock of its own, which does not stop reading a long list because the machine is slow. */
export function clockedDashboard(store: Store, clock: VirtualClock = new VirtualClock()): Dashboard {
  const handler = new RequestHandler(store, checkDashboardOptions({}), clock);
  return Object.assign((request: Request) => handler.handle(request), { [Symbol.dispose]: () => handler.close() });
}

/** Returns what HTML says without its escapes. */
export function unescaped(text: string): string {
  const entities: Record<string, string> = { lt: "<", gt: ">", quot: '"', "#39": "'", amp: "&" };
  return text.replace(/&(lt|gt|quot|#39|amp);/g, (_, name: string) => entities[name]!);
}

/** Returns the names of the locks of a list, as its rows have them. */
export function namesIn(text: string): string[] {
  return Array.from(text.matchAll(/data-key="([^"]+)"/g), ([, key]) => decodeURIComponent(unescaped(key!)));
}

/** Has a lock held for a minute, without a handle that would have to be released. */
export async function hold(
  store: Store,
  name: string,
  meta: Meta = {},
  owner: string = crypto.randomUUID(),
): Promise<Claim> {
  const claim: Claim = { name, owner, mode: "exclusive", lease: 60_000, meta: JSON.stringify(meta) };
  const { granted } = await store.attempt(claim, { enqueue: false });
  if (!granted) throw new Error(`${name} is held already`);
  return claim;
}

/** Has a handle wait for a lock that is held. */
export async function queue(store: Store, name: string, meta: Meta = {}): Promise<Claim> {
  const owner = crypto.randomUUID();
  const claim: Claim = { name, owner, mode: "exclusive", lease: 60_000, meta: JSON.stringify(meta) };
  const { granted } = await store.attempt(claim, { enqueue: true });
  if (granted) throw new Error(`${name} is not held`);
  return claim;
}

/** Returns a store that lists and evicts as another one does, but for what is given in its place. */
export function storeWith(parts: Partial<Store>, store: Store = stillStore()): Store {
  return {
    capabilities: store.capabilities,
    drift: store.drift,
    attempt: (claim, options) => store.attempt(claim, options),
    renew: (claim) => store.renew(claim),
    release: (claim) => store.release(claim),
    query: (options) => store.query!(options),
    evict: (name, options) => store.evict!(name, options),
    ...parts,
  };
}
