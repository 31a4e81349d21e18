import { showDuration } from "../display/duration.ts";
import type { Store } from "@holdfast/lock";
import { reason } from "@holdfast/lock/authors";
import type { Clock } from "../time/clock.ts";
import { apiList, apiLock } from "./requests/api.ts";
import { ICON, SCRIPT, STYLE } from "./assets/generated.ts";
import { Counters } from "./state/counters.ts";
import { askEviction, evict } from "./eviction.ts";
import { formerHolders } from "./requests/evicted_cookie.ts";
import { LeaseEnds } from "./state/lease_ends.ts";
import { Live } from "./state/live.ts";
import { listModel, lockModel } from "./state/lock_model.ts";
import type { DashboardSettings } from "./options.ts";
import { layout, type Page, type Surroundings } from "./pages/layout.ts";
import { countersFragment, listPage } from "./pages/list.ts";
import { lockPage } from "./pages/lock.ts";
import { messagePage } from "./pages/message.ts";
import { apiQuery, checkedName, listPart, listQuery, listRequest, nameIn } from "./requests/parameters.ts";
import { watchProcess } from "./state/process_events.ts";
import { canEvict, canList, readList, readLock } from "./state/reading.ts";
import { RequestError } from "./requests/request_error.ts";
import { assetResponse, htmlResponse, jsonResponse, randomHex } from "./requests/responses.ts";

const API = "api/";
const API_LOCK = "api/locks/";

/** A request, taken apart. */
interface Visit {
  readonly request: Request;
  readonly parameters: URLSearchParams;
  readonly store: Store;
  readonly at: Surroundings;
}

/** Answers the requests of one dashboard. */
export class RequestHandler {
  readonly #store: Promise<Store>;
  readonly #settings: DashboardSettings;
  readonly #clock: Clock;
  readonly #counters: Counters;
  readonly #endCounting: (() => void) | undefined;
  readonly #live: Live;

  /** Creates the handler, and begins to count the events of this process. */
  constructor(store: Store | Promise<Store>, settings: DashboardSettings, clock: Clock) {
    this.#store = Promise.resolve(store);
    this.#store.catch(() => {}); // Whoever asks for it rejects.
    this.#settings = settings;
    this.#clock = clock;
    this.#counters = new Counters(clock);
    this.#endCounting = watchProcess((event) => this.#counters.note(event));
    this.#live = new Live(clock, settings.refresh, () => countersFragment(this.#counters.read()));
  }

  /** How many different views are polled at present. */
  get polled(): number {
    return this.#live.polled;
  }

  /** Answers a request. Never rejects. */
  async handle(request: Request): Promise<Response> {
    const response = await this.#respond(request);
    if (request.method !== "HEAD") return response;
    await response.body?.cancel();
    return new Response(null, response);
  }

  /** Ends all streams, and stops counting. */
  close(): void {
    this.#endCounting?.();
    this.#live.close();
  }

  async #respond(request: Request): Promise<Response> {
    const { pathname, searchParams: parameters } = new URL(request.url);
    const path = this.#pathOf(pathname);
    const { title, base } = this.#settings;
    const at = { title, base, nonce: randomHex(), now: this.#clock.now().wall, mayEvict: undefined };
    const asset = ASSETS.get(path);
    if (asset !== undefined) return asset();
    try {
      const store = await this.#openStore();
      const mayEvict = canEvict(store) && await this.#mayEvict(request);
      return await this.#route(path, { request, parameters, store, at: { ...at, mayEvict } });
    } catch (error) {
      return failure(error, path, at);
    }
  }

  /** Returns the path below the dashboard's path, which a framework may have removed already. */
  #pathOf(pathname: string): string {
    const { base } = this.#settings;
    const below = pathname === base || pathname.startsWith(`${base}/`) ? pathname.slice(base.length) : pathname;
    return below.replace(/^\//, "");
  }

  async #openStore(): Promise<Store> {
    const store = await this.#store;
    if (canList(store)) return store;
    throw new RequestError(501, "This store cannot list its locks: it does not support query().");
  }

  async #mayEvict(request: Request): Promise<boolean> {
    try {
      return await this.#settings.mayEvict(request) === true;
    } catch (error) {
      throw new RequestError(500, `The function "evict" of the dashboard failed: ${reason(error)}`);
    }
  }

  async #route(path: string, visit: Visit): Promise<Response> {
    const { request, parameters, store, at } = visit;
    if (path === "evict") return await this.#evict(visit);
    checkMethod(request, []);
    switch (path) {
      case "":
        return await this.#list(visit);
      case "lock":
        return await this.#lock(visit);
      case "events/list":
        return this.#live.list(store, listRequest(parameters), at);
      case "events/lock":
        return this.#live.lock(store, nameIn(parameters), at);
      case "api/locks":
        return await apiList(store, apiQuery(parameters), this.#clock);
      case "api/lock":
        return await apiLock(store, nameIn(parameters), this.#clock);
    }
    if (!path.startsWith(API_LOCK)) throw new RequestError(404, "There is no such page.");
    return await apiLock(store, nameInPath(path.slice(API_LOCK.length)), this.#clock);
  }

  async #list({ parameters, store, at }: Visit): Promise<Response> {
    const request = listRequest(parameters);
    const page = await readList(store, listQuery(request), this.#clock);
    const ends = new LeaseEnds();
    ends.update(page.locks, this.#clock.now());
    const model = listModel(page, ends, listPart(request));
    return pageResponse(listPage(model, this.#counters.read(), request, at), at);
  }

  async #lock({ request, parameters, store, at }: Visit): Promise<Response> {
    const name = nameIn(parameters);
    const lock = lockModel(await readLock(store, name, this.#clock), new LeaseEnds(), this.#clock.now());
    const evicted = parameters.get("evicted") ?? "";
    const eviction = /^[1-9]\d{0,5}$/.test(evicted)
      ? { count: Number(evicted), former: await formerHolders(request, name) }
      : undefined;
    return pageResponse(lockPage(lock, eviction, at), at);
  }

  async #evict({ request, parameters, store, at }: Visit): Promise<Response> {
    checkMethod(request, ["POST"]);
    if (!canEvict(store)) throw new RequestError(501, "This store cannot evict holders.");
    if (!at.mayEvict) throw new RequestError(403, "You may not evict holders: the dashboard is read only for you.");
    const name = nameIn(parameters);
    if (request.method === "POST") return await evict(request, store, name, this.#clock, at);
    return await askEviction(request, store, name, this.#clock, at);
  }
}

/** The files that the pages load. They are the same for all, so that the store is not asked. */
const ASSETS: ReadonlyMap<string, () => Response> = new Map([
  ["style.css", () => assetResponse(STYLE, "text/css; charset=utf-8")],
  [
    "script.js",
    () => assetResponse(`const showDuration = ${showDuration};\n${SCRIPT}`, "text/javascript; charset=utf-8"),
  ],
  ["icon.svg", () => assetResponse(ICON, "image/svg+xml")],
]);

/** Throws unless the method of a request is GET, HEAD or one of `more`. */
function checkMethod({ method }: Request, more: readonly string[]): void {
  const known = ["GET", "HEAD", ...more];
  if (known.includes(method)) return;
  throw new RequestError(405, `${method} is not possible here.`, { allow: known.join(", ") });
}

function nameInPath(text: string): string {
  try {
    return checkedName(decodeURIComponent(text));
  } catch (error) {
    throw error instanceof RequestError ? error : new RequestError(400, "The path is not well-formed.");
  }
}

function pageResponse(page: Page, at: Surroundings): Response {
  return htmlResponse(layout(page, at), at.nonce);
}

/** Returns the response for an error, for a person or a program. */
function failure(error: unknown, path: string, at: Surroundings): Response {
  const { status, message, headers } = reasonOf(error);
  if (path.startsWith(API)) {
    const response = jsonResponse({ error: message }, status);
    for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
    return response;
  }
  const title = status === 503 ? "The store did not answer" : "This is not possible";
  return htmlResponse(layout(messagePage(title, message, at), at), at.nonce, status, headers);
}

function reasonOf(error: unknown): Pick<RequestError, "status" | "message" | "headers"> {
  if (error instanceof RequestError) return error;
  const message = reason(error);
  // A store rejects with these when it is asked for something wrong, such as a cursor of another store.
  if (error instanceof TypeError || error instanceof RangeError) return { status: 400, message, headers: {} };
  return { status: 503, message, headers: { "retry-after": "1" } };
}
