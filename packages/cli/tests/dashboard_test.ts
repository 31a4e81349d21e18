// Deno only: it uses connections of Deno.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { memory } from "@holdfast/lock/memory";
import { type Invocation, UsageError } from "../src/command.ts";
import { dashboard } from "../src/commands/dashboard.ts";
import { confirm, hold, openConfirmation } from "./dashboard/visit.ts";
import { until } from "../../../tests/support/until.ts";

/** The command, on a store in memory. */
class Run {
  readonly store = memory();
  readonly out: string[] = [];
  readonly err: string[] = [];
  readonly status: Promise<number>;
  readonly #end = new AbortController();

  constructor(options: Invocation["options"], json = false) {
    const terminal = {
      json,
      colours: false,
      out: (line: string) => void this.out.push(line),
      err: (line: string) => void this.err.push(line),
    };
    this.status = dashboard.run({
      options,
      args: [],
      rest: [],
      env: {},
      terminal,
      signal: this.#end.signal,
      store: () =>
        Promise.resolve({ store: this.store, label: "memory", [Symbol.asyncDispose]: () => Promise.resolve() }),
      examine: () => Promise.resolve([]),
    });
  }

  /** Resolves to its address. */
  async url(): Promise<string> {
    await until(() => this.out.length > 0, "it listens");
    return /http:\S+/.exec(this.out[0]!)![0].replace(/\/$/, "");
  }

  /** Ends it as Ctrl-C does, and resolves to what it rejects with. */
  end(): Promise<unknown> {
    this.#end.abort("Ctrl-C");
    return this.status.catch((reason: unknown) => reason);
  }
}

/** Asks for a page with a host of one's choice; `fetch` sets that by itself. */
async function statusFor(url: string, host: string): Promise<number> {
  const { hostname, port } = new URL(url);
  using connection = await Deno.connect({ hostname, port: Number(port) });
  const request = `GET /api/locks HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
  await connection.write(new TextEncoder().encode(request));
  const answer = await new Response(connection.readable).text();
  return Number(answer.split(" ")[1]);
}

Deno.test("dashboard serves this machine until it is told to end", async () => {
  const run = new Run({ port: "0" });
  const url = await run.url();
  assert(url.startsWith("http://127.0.0.1:"), url);
  await hold(run.store, "invoice:42");
  const page = await (await fetch(url)).text();
  assert(page.includes("invoice:42") && page.includes("Holdfast: memory"), page);
  const events = await fetch(`${url}/events/list`);
  const reader = events.body!.getReader();
  await reader.read();
  assertEquals([await run.end(), run.err], ["Ctrl-C", []]);
  await reader.cancel().catch(() => {});
  await assertRejects(() => fetch(url), TypeError);
});

Deno.test("dashboard answers only to the names of this machine", async () => {
  const run = new Run({ port: "0" });
  const url = await run.url();
  const { port } = new URL(url);
  for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`, "localhost"]) {
    assertEquals(await statusFor(url, host), 200, host);
  }
  for (const host of ["evil.test", `evil.test:${port}`, "127.0.0.1.evil.test", "localhost.evil.test", "10.0.0.1"]) {
    assertEquals(await statusFor(url, host), 421, host);
  }
  await run.end();
});

Deno.test("dashboard is read only unless eviction is allowed", async () => {
  const run = new Run({ port: "0" });
  const url = await run.url();
  await hold(run.store, "a");
  const response = await fetch(`${url}/evict?name=a`);
  assertEquals(response.status, 403);
  await response.body?.cancel();
  await run.end();
});

Deno.test("dashboard --allow-evict lets a browser evict", async () => {
  const run = new Run({ port: "0", "allow-evict": true });
  const url = await run.url();
  await hold(run.store, "a");
  const answer = (request: Request) => {
    const { pathname, search } = new URL(request.url);
    return fetch(new Request(url + pathname + search, request), { redirect: "manual" });
  };
  const asked = await openConfirmation(answer, "a");
  const foreign = await confirm(answer, "a", asked, { origin: "https://evil.test" });
  assertEquals(foreign.status, 403);
  await foreign.body?.cancel();
  const response = await confirm(answer, "a", asked, { origin: url });
  assertEquals([response.status, response.headers.get("location")], [303, "/lock?name=a&evicted=1"]);
  await response.body?.cancel();
  assertEquals((await run.store.query!()).held, []);
  await run.end();
});

Deno.test("dashboard warns when others can reach it", async () => {
  const run = new Run({ port: "0", host: "0.0.0.0", "allow-evict": true });
  const url = await run.url();
  assertEquals(await statusFor(url.replace("0.0.0.0", "127.0.0.1"), "ops.test"), 200);
  assert(
    /^holdfast: everybody who can reach 0\.0\.0\.0 sees all locks and may evict/.test(run.err[0] ?? ""),
    `${run.err}`,
  );
  await run.end();
});

Deno.test("dashboard --json prints where it is as JSON", async () => {
  const run = new Run({ port: "0" }, true);
  await until(() => run.out.length > 0, "it listens");
  const { url, store } = JSON.parse(run.out[0]!);
  assert(/^http:\/\/127\.0\.0\.1:\d+\/$/.test(url), url);
  assertEquals(store, "memory");
  await run.end();
});

Deno.test("dashboard says that its port is taken", async () => {
  const first = new Run({ port: "0" });
  const { port } = new URL(await first.url());
  const second = new Run({ port });
  assertEquals(await second.status, 1);
  assertEquals(second.err, [`holdfast: Port ${port} of 127.0.0.1 is in use: choose another one with --port`]);
  await first.end();
});

Deno.test("dashboard refuses ports and hosts that are none", async () => {
  for (const port of ["x", "-1", "65536", "", "80.5"]) {
    await assertRejects(() => new Run({ port }).status, UsageError, "--port");
  }
  await assertRejects(() => new Run({ host: "" }).status, UsageError, "--host");
});
