import { assert, assertEquals } from "@std/assert";
import type { Claim, HolderEntry, Store } from "@holdfast/lock";
import { type Dashboard, dashboard, type DashboardOptions } from "@holdfast/cli/dashboard";
import { HOSTILE_NAMES, titleOf } from "./hostile_names.ts";
import { confirm, hold, openConfirmation, ORIGIN, queue, stillStore, storeWith, textOf, visit } from "./visit.ts";

/** A dashboard with a lock "a" that is held. */
async function scene(options: DashboardOptions = { evict: true }, name = "a") {
  const store = stillStore();
  const holder = await hold(store, name);
  return { store, holder, pages: dashboard(store, options) };
}

/** Returns whether the store still knows the holder. */
async function isHeld(holder: Claim, store: Store): Promise<boolean> {
  const { held } = await store.query!({ name: holder.name });
  return held.some(({ owner }) => owner === holder.owner);
}

Deno.test("evict takes the lock from its holder, and leads back to the lock", async () => {
  const { store, holder, pages } = await scene();
  const response = await confirm(pages, "a", await openConfirmation(pages, "a"));
  assertEquals([response.status, response.headers.get("location")], [303, "/lock?name=a&evicted=1"]);
  assertEquals(await isHeld(holder, store), false);
  assert((await textOf(pages, "/lock?name=a&evicted=1")).includes("Evicted: 1 handle lost the lock."), "it says so");
  pages[Symbol.dispose]();
});

/** Evicts the holders of a lock as a browser does, and returns the page that it is led to, and the cookie. */
async function evictAndFollow(pages: Dashboard, name: string): Promise<{ text: string; cookie: string }> {
  const response = await confirm(pages, name, await openConfirmation(pages, name));
  const cookie = response.headers.get("set-cookie")!.split(";")[0]!;
  return { text: await textOf(pages, response.headers.get("location")!, { headers: { cookie } }), cookie };
}

/** Returns what a page says of the eviction that has led to it. */
function doneIn(text: string): string | undefined {
  return /<p class="done[^>]*>(.*?)<\/p>/s.exec(text)?.[1]?.replace(/<[^>]*>/g, "");
}

Deno.test("evict says afterwards who lost the lock, with the fence, and only for that lock", async () => {
  const store = stillStore();
  await hold(store, "a", { host: "web-1", pid: "4711" });
  const [{ fence }] = (await store.query()).held as [HolderEntry];
  using pages = dashboard(store, { evict: true });
  const { text, cookie } = await evictAndFollow(pages, "a");
  assertEquals(doneIn(text), `Evicted: web-1/4711 (fence ${fence}) lost the lock.`);
  const of = async (path: string, cookies: string) =>
    doneIn(await textOf(pages, path, { headers: { cookie: cookies } }));
  assertEquals(await of("/lock?name=b&evicted=1", cookie), "Evicted: 1 handle lost the lock.");
  assertEquals(await of("/lock?name=a", cookie), undefined);
  assertEquals(await of("/lock?name=a&evicted=0", cookie), undefined);
  const digest = cookie.slice(0, cookie.indexOf("."));
  for (const value of ["", "%", "7", "%7B%7D", "[null]", "%5B1%5D"]) {
    assert((await of("/lock?name=a&evicted=1", `${digest}.${value}`))?.startsWith("Evicted: "), value);
  }
});

Deno.test("evict names afterwards the first of many holders, in a cookie of bounded size", async () => {
  const store = stillStore();
  for (let i = 0; i < 7; i++) {
    const meta = JSON.stringify({ host: `${i}\u202e${"\u{1f512}".repeat(200)}` });
    await store.attempt({ name: "a", owner: `o${i}`, mode: "shared", lease: 60_000, meta }, { enqueue: false });
  }
  using pages = dashboard(store, { evict: true });
  const { text, cookie } = await evictAndFollow(pages, "a");
  assert(cookie.length < 4_096, `${cookie.length}`);
  assert(
    /^Evicted: 0\\u202e.*, 1\\u202e.*, 2\\u202e.* and 4 others lost the lock\.$/s.test(doneIn(text)!),
    doneIn(text),
  );
});

Deno.test("evict names afterwards only those who still held the lock", async () => {
  const right = stillStore();
  const [first, second] = ["web-1", "web-2"].map((host, i): Claim => {
    return { name: "a", owner: `o${i}`, mode: "shared", lease: 60_000, meta: JSON.stringify({ host }) };
  }) as [Claim, Claim];
  for (const claim of [first, second]) await right.attempt(claim, { enqueue: false });
  const store = storeWith({
    evict: async (name, options) => {
      await right.release(first);
      return await right.evict(name, options);
    },
  }, right);
  using pages = dashboard(store, { evict: true });
  const { text } = await evictAndFollow(pages, "a");
  assert(/^Evicted: web-2 \(fence \d+\) lost the lock\.$/.test(doneIn(text)!), doneIn(text));
});

Deno.test("evict hides who lost the lock from scripts and other sites, for a minute", async () => {
  const { pages } = await scene({ evict: true, basePath: "/locks" });
  const response = await confirm(pages, "a", await openConfirmation(pages, "a"));
  const header = response.headers.get("set-cookie")!;
  assert(header.endsWith("; Path=/locks; HttpOnly; SameSite=Strict; Max-Age=60"), header);
  pages[Symbol.dispose]();
});

Deno.test("evict says before what will happen, on the page of the lock and where it asks", async () => {
  const store = stillStore();
  await hold(store, "a", { host: "web-1", pid: "4711" });
  using pages = dashboard(store, { evict: true });
  const said = async (path: string) => {
    const [list = ""] = /<ul class="brief">.*?<\/ul>/s.exec(await textOf(pages, path)) ?? [];
    return Array.from(list.matchAll(/<li>(.*?)<\/li>/gs), ([, item]) => item!.replace(/<[^>]*>/g, ""));
  };
  for (const path of ["/lock?name=a", "/evict?name=a"]) {
    const [loses, next, ...rest] = await said(path);
    assertEquals([loses, next], [
      "web-1/4711 loses the lock at once.",
      "Nobody waits: the lock is free then.",
    ]);
    assertEquals(rest.length, 2);
  }
  await queue(store, "a", { host: "web-2", pid: "1" });
  await queue(store, "a", { host: "web-3", pid: "1" });
  for (const path of ["/lock?name=a", "/evict?name=a"]) {
    assertEquals((await said(path))[1], "web-2/1 is granted it next.");
  }
  using readOnly = dashboard(store);
  assert(!(await textOf(readOnly, "/lock?name=a")).includes("If you evict"), "not where nobody may");
});

Deno.test("evict is not offered, and refused, unless allowed", async () => {
  const { store, holder, pages } = await scene({});
  assert(!(await textOf(pages, "/lock?name=a")).includes("Evict"), "no link");
  assert((await textOf(pages, "/")).includes("Read only."), "it says so");
  assertEquals((await visit(pages, "/evict?name=a")).status, 403);
  const token = "0".repeat(32);
  const response = await confirm(pages, "a", { cookie: `holdfast_dashboard=${token}`, fields: { token, holders: "" } });
  assertEquals([response.status, await isHeld(holder, store)], [403, true]);
  pages[Symbol.dispose]();
});

Deno.test("evict asks a function for each request", async () => {
  const evict = (request: Request) => Promise.resolve(request.headers.get("x-user") === "operator");
  const { store, holder, pages } = await scene({ evict });
  const asOperator = { headers: { "x-user": "operator" } };
  assertEquals((await visit(pages, "/evict?name=a")).status, 403);
  assertEquals((await visit(pages, "/evict?name=a", asOperator)).status, 200);
  assert((await textOf(pages, "/lock?name=a", asOperator)).includes('href="/evict?name=a"'), "a link for an operator");
  const asked = await openConfirmation((request) => {
    request.headers.set("x-user", "operator");
    return pages(request);
  }, "a");
  const sameOrigin = { origin: ORIGIN, "sec-fetch-site": "same-origin" };
  assertEquals((await confirm(pages, "a", asked, sameOrigin)).status, 403);
  assertEquals(await isHeld(holder, store), true);
  assertEquals((await confirm(pages, "a", asked, { ...sameOrigin, "x-user": "operator" })).status, 303);
  pages[Symbol.dispose]();
});

Deno.test("evict is refused when the function fails, or gives no boolean", async () => {
  const failing = await scene({
    evict: () => {
      throw new Error("no session");
    },
  });
  assertEquals((await visit(failing.pages, "/evict?name=a")).status, 500);
  const truthy = await scene({ evict: (() => "yes") as never });
  assertEquals((await visit(truthy.pages, "/evict?name=a")).status, 403);
  failing.pages[Symbol.dispose]();
  truthy.pages[Symbol.dispose]();
});

Deno.test("evict is refused when the form comes from another site", async () => {
  const { store, holder, pages } = await scene();
  const asked = await openConfirmation(pages, "a");
  const foreign: Record<string, string>[] = [
    {},
    { origin: "https://evil.test" },
    { origin: "null" },
    { origin: ORIGIN, "sec-fetch-site": "cross-site" },
    { origin: ORIGIN, "sec-fetch-site": "same-site" },
    { origin: ORIGIN, "sec-fetch-site": "none" },
    { origin: `${ORIGIN}.evil.test` },
    { origin: `${ORIGIN}:8080` },
  ];
  for (const headers of foreign) {
    assertEquals((await confirm(pages, "a", asked, headers)).status, 403, JSON.stringify(headers));
  }
  assertEquals(await isHeld(holder, store), true);
  pages[Symbol.dispose]();
});

Deno.test("evict takes a form whose browser names its origin alone", async () => {
  const { pages } = await scene();
  assertEquals((await confirm(pages, "a", await openConfirmation(pages, "a"), { origin: ORIGIN })).status, 303);
  pages[Symbol.dispose]();
});

Deno.test("evict takes a form through a proxy that ends TLS", async () => {
  const { pages } = await scene();
  const origin = ORIGIN.replace("http:", "https:");
  assertEquals((await confirm(pages, "a", await openConfirmation(pages, "a"), { origin })).status, 303);
  pages[Symbol.dispose]();
});

Deno.test("evict is refused without the token of the browser", async () => {
  const { store, holder, pages } = await scene();
  const { cookie, fields } = await openConfirmation(pages, "a");
  const other = await openConfirmation(pages, "a");
  const { token: _, ...withoutToken } = fields;
  for (
    const form of [
      { cookie: "", fields },
      { cookie: other.cookie, fields },
      { cookie, fields: withoutToken },
      { cookie, fields: { ...fields, token: "" } },
      { cookie, fields: { ...fields, token: `${fields["token"]}0` } },
      { cookie: "holdfast_dashboard=", fields: { ...fields, token: "" } },
    ]
  ) {
    assertEquals((await confirm(pages, "a", form)).status, 403, JSON.stringify(form));
  }
  assertEquals(await isHeld(holder, store), true);
  pages[Symbol.dispose]();
});

Deno.test("evict gives a cookie that scripts and other sites do not get", async () => {
  const { pages } = await scene({ evict: true, basePath: "/locks" });
  const response = await visit(pages, "/locks/evict?name=a");
  const header = response.headers.get("set-cookie") ?? "";
  assert(/^holdfast_dashboard=[0-9a-f]{32}; Path=\/locks; HttpOnly; SameSite=Strict$/.test(header), header);
  const secure = await pages(new Request("https://dashboard.test/locks/evict?name=a"));
  assert(secure.headers.get("set-cookie")?.endsWith("; Secure"), "over TLS");
  const again = await visit(pages, "/locks/evict?name=a", { headers: { cookie: `x=1; ${header.split(";")[0]}` } });
  assertEquals(again.headers.get("set-cookie"), header);
  pages[Symbol.dispose]();
});

Deno.test("evict asks again when the lock has another holder than the page showed", async () => {
  const { store, holder, pages } = await scene();
  const asked = await openConfirmation(pages, "a");
  await store.release(holder);
  const second = await hold(store, "a");
  const response = await confirm(pages, "a", asked);
  const text = await response.text();
  assertEquals([response.status, await isHeld(second, store)], [409, true]);
  assert(text.includes("Nothing was evicted") && text.includes(second.owner), "it shows the new holder");
  const fields = Array.from(text.matchAll(/name="(\w+)" value="(\w+)"/g), ([, name, value]) => [name!, value!]);
  const next = await confirm(pages, "a", { cookie: asked.cookie, fields: Object.fromEntries(fields) });
  assertEquals([next.status, await isHeld(second, store)], [303, false]);
  pages[Symbol.dispose]();
});

Deno.test("evict leaves the lock to a holder that comes between the check and the eviction", async () => {
  const right = stillStore();
  const first = await hold(right, "a");
  let second: Claim | undefined;
  const store = storeWith({
    evict: async (name, options) => {
      await right.release(first);
      second ??= await hold(right, "a");
      return await right.evict(name, options);
    },
  }, right);
  using pages = dashboard(store, { evict: true });
  const response = await confirm(pages, "a", await openConfirmation(pages, "a"));
  assertEquals([response.status, await isHeld(second!, right)], [409, true]);
});

Deno.test("evict says that there is nobody to evict", async () => {
  const { store, holder, pages } = await scene();
  await store.release(holder);
  const text = await textOf(pages, "/evict?name=a");
  assert(text.includes("Nothing to evict") && !text.includes("<form"), text);
  pages[Symbol.dispose]();
});

Deno.test("evict refuses forms that are too long or of another type", async () => {
  const { pages } = await scene();
  const send = (body: string, type: string) =>
    visit(pages, "/evict?name=a", {
      method: "POST",
      headers: { "content-type": type, origin: ORIGIN },
      body,
    });
  assertEquals((await send("x".repeat(5_000), "application/x-www-form-urlencoded")).status, 413);
  assertEquals((await send("{}", "application/json")).status, 415);
  pages[Symbol.dispose]();
});

Deno.test("evict is refused on a store that cannot", async () => {
  using pages = dashboard(storeWith({ capabilities: ["query"] }), { evict: true });
  assertEquals((await visit(pages, "/evict?name=a")).status, 501);
});

for (const name of HOSTILE_NAMES) {
  Deno.test(`evict takes the lock ${titleOf(name)} and no other`, async () => {
    const { store, holder, pages } = await scene({ evict: true }, name);
    const other = await hold(store, "b");
    const response = await confirm(pages, name, await openConfirmation(pages, name));
    assertEquals([response.status, await isHeld(holder, store), await isHeld(other, store)], [303, false, true]);
    const to = new URL(response.headers.get("location")!, ORIGIN);
    assertEquals([to.origin, to.pathname, to.searchParams.get("name")], [ORIGIN, "/lock", name]);
    pages[Symbol.dispose]();
  });
}
