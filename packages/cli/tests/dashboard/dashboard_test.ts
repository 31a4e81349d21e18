import { assert, assertEquals } from "@std/assert";
import { acquire, type HolderEntry, type WaiterEntry } from "@holdfast/lock";
import { dashboard } from "@holdfast/cli/dashboard";
import { VirtualClock } from "../../../../tests/support/virtual_clock.ts";
import { HOSTILE_NAMES, titleOf } from "./hostile_names.ts";
import { clockedDashboard, hold, namesIn, queue, stillStore, storeWith, textOf, unescaped, visit } from "./visit.ts";

/** Returns the totals at the top of a list, each with its label. */
function totalsIn(text: string): string[] {
  const [totals = ""] = /<dl class="totals">.*?<\/dl>/s.exec(text) ?? [];
  return Array.from(totals.matchAll(/<dt>(.*?)<\/dt>\s*<dd>(.*?)<\/dd>/gs), ([, label, value]) => {
    return `${label} ${value!.replace(/<[^>]*>/g, "").trim()}`;
  });
}

/** Returns where the link of a list with this text leads. */
function linkIn(text: string, label: string): string | undefined {
  const href = new RegExp(`href="([^"]+)">${label}`).exec(text)?.[1];
  return href === undefined ? undefined : unescaped(href);
}

Deno.test("dashboard() shows the locks, who holds them and how many wait", async () => {
  const store = stillStore();
  await hold(store, "invoice:42", { host: "web-1", pid: "4711" });
  await queue(store, "invoice:42");
  using pages = dashboard(store);
  const text = await textOf(pages, "/");
  assert(text.includes('<a href="/lock?name=invoice%3A42">'), text);
  assert(text.includes("web-1/4711"), text);
  assert(text.includes('<td role="cell" data-label="Waiting"><strong>1</strong></td>'), text);
  const [longest, ...counts] = totalsIn(text).reverse();
  assertEquals(counts, ["Locks contended 1", "Handles waiting 1", "Locks held 1"]);
  assert(/^Longest wait \d+d /.test(longest!), longest);
});

Deno.test("dashboard() shows the holders of a lock with meta, fence, age and lease", async () => {
  const store = stillStore();
  const lock = await acquire(store, "a", { lease: 60_000, owner: "me", meta: { job: "import" } });
  using pages = dashboard(store);
  const text = (await textOf(pages, "/lock?name=a")).replace(/<\/?bdi[^>]*>/g, "").replace(/>\s+</g, "><");
  assert(text.includes("<dt>job</dt><dd>import</dd>"), text);
  assert(text.includes("<dt>owner</dt><dd>me</dd>"), text);
  assert(/<dt>handle<\/dt><dd>me\/[-0-9a-f]{36}<\/dd>/.test(text), text);
  assert(text.includes(`<code>${lock.fence}</code>`), text);
  assert(/<time data-since="\d+" datetime="20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ"/.test(text), text);
  assert(/<meter min="0" max="(59|60)\d{3}" value="(59|60)\d{3}" data-ends="\d+"/.test(text), text);
  await lock.release();
});

Deno.test("dashboard() shows the queue of a lock with ranks and ages", async () => {
  const holder = (handle: string) => ({ name: "a", owner: handle, handle, mode: "exclusive" as const });
  const pending: WaiterEntry[] = ["x", "y"].map((handle, rank) => ({ ...holder(handle), rank, since: 1 }));
  using pages = dashboard(storeWith({ query: () => Promise.resolve({ held: [holder("h")], pending }) }));
  const text = await textOf(pages, "/lock?name=a");
  assert(text.includes("2 waiters"), text);
  assertEquals(Array.from(text.matchAll(/data-label="Ahead of it">(\d)/g), ([, rank]) => rank), ["0", "1"]);
  assertEquals(Array.from(text.matchAll(/data-label="Waiting for"><time data-since="(\d)"/g)).length, 2);
});

Deno.test("dashboard() shows the members of a run, who are not granted the lock next", async () => {
  const entry = (handle: string) => ({ name: "a", owner: handle, handle, mode: "exclusive" as const });
  const member: WaiterEntry = { ...entry("m"), rank: 0, member: true };
  for (const [pending, next] of [[[member, { ...entry("w"), rank: 1 }], "w"], [[member], "m"]] as const) {
    const store = storeWith({ query: () => Promise.resolve({ held: [entry("h")], pending }) });
    using pages = dashboard(store, { evict: true });
    const text = await textOf(pages, "/lock?name=a");
    assert(text.includes(`>${pending.length} waiter`), text);
    const cells = text.matchAll(/<td role="cell" data-label="Kind">([^<]*)<\/td>/g);
    const kinds = Array.from(cells, ([, cell]) => unescaped(cell!));
    assertEquals(kinds, ["exclusive", "exclusive, in the holder's run", "exclusive"].slice(0, 1 + pending.length));
    assert(text.includes(`>${next}</bdi> is granted it next`), text);
    const document = await (await pages(new Request("http://localhost/api/lock?name=a"))).json();
    assertEquals(document.pending[0].member, true);
  }
});

Deno.test("dashboard() lists the holder that has had the lock for the longest time", async () => {
  const holder = (handle: string, since: number): HolderEntry => {
    return { name: "a", owner: handle, handle, mode: "shared", since };
  };
  const held = [holder("young", 2), holder("old", 1)];
  using pages = dashboard(storeWith({ query: () => Promise.resolve({ held, pending: [] }) }));
  const text = await textOf(pages, "/");
  assert(text.includes(">old</bdi>") && !text.includes(">young</bdi>") && text.includes("and 1 other"), text);
});

Deno.test("dashboard() shows the first 200 of many holders", async () => {
  const held: HolderEntry[] = Array.from({ length: 1_000 }, (_, i) => {
    return { name: "a", owner: `o${i}`, handle: `o${i}`, mode: "shared" };
  });
  using pages = dashboard(storeWith({ query: () => Promise.resolve({ held, pending: [] }) }));
  const text = await textOf(pages, "/lock?name=a");
  assertEquals(text.match(/data-key="/g)?.length, 200);
  assert(text.includes("1000 holders") && text.includes("and 800 more holders"), text);
});

Deno.test("dashboard() shows absolute times, with the day if it is not the present one", async () => {
  const [midnight, minute] = [Date.UTC(2026, 10, 22), 60_000];
  const times = async (since: number, now: number) => {
    const clock = new VirtualClock();
    clock.stall(now - clock.now().wall);
    const holder: HolderEntry = { name: "a", owner: "o", handle: "o", mode: "exclusive", since, expiresIn: 30_000 };
    const pending = [{ ...holder, handle: "w", rank: 0 }];
    using pages = clockedDashboard(storeWith({ query: () => Promise.resolve({ held: [holder], pending }) }), clock);
    const [list, lock] = [await textOf(pages, "/"), await textOf(pages, "/lock?name=a")];
    return [list, lock].map((text) => Array.from(text.matchAll(/class="instant">([^<]*)</g), ([, time]) => time));
  };
  const [before, at, end] = ["23:59:00 UTC", "00:00:00 UTC", "00:01:30 UTC"];
  assertEquals(await times(midnight, midnight + minute), [[at, at, at], [at, end, at]]);
  const day = `2026-11-21 ${before}`;
  assertEquals(await times(midnight - minute, midnight + minute), [[day, day, day], [day, end, day]]);
});

Deno.test("dashboard() says what it does not know of a holder", async () => {
  const held: HolderEntry[] = [{ name: "a", owner: "o", handle: "o", mode: "exclusive" }];
  using pages = dashboard(storeWith({ query: () => Promise.resolve({ held, pending: [] }) }));
  assertEquals((await textOf(pages, "/lock?name=a")).match(/>unknown</g)?.length, 3);
});

Deno.test("dashboard() finds a text anywhere in the names, and patterns", async () => {
  const store = stillStore();
  for (const name of ["invoice:1", "invoice:2", "report:1"]) await hold(store, name);
  using pages = dashboard(store);
  const found = async (match: string) => {
    const text = await textOf(pages, `/?match=${encodeURIComponent(match)}`);
    return namesIn(text);
  };
  assertEquals(await found("1"), ["invoice:1", "report:1"]);
  assertEquals(await found("1*"), []);
  assertEquals(await found("*:2"), ["invoice:2"]);
  assertEquals(await found(""), ["invoice:1", "invoice:2", "report:1"]);
});

Deno.test("dashboard() goes through 10,000 locks in pages that keep the filter", async () => {
  const store = stillStore();
  for (let i = 0; i < 10_000; i++) await hold(store, `job:${String(i).padStart(4, "0")}`);
  using pages = clockedDashboard(store);
  const names = new Set<string>();
  let path: string | undefined = "/?match=job%3A&limit=1000";
  let count = 0;
  for (; path !== undefined; count++) {
    const text: string = await textOf(pages, path);
    for (const name of namesIn(text)) names.add(name);
    assert(text.includes(`Page ${count + 1} of 10`) && !text.includes("There are more locks"), text);
    const next = linkIn(text, "Next page");
    assert(next === undefined || next.startsWith("/?match=job%3A&limit=1000&page="), next);
    path = next;
  }
  assertEquals([names.size, count], [10_000, 10]);
});

Deno.test("dashboard() shows the contended ones of 10,000 locks first, and totals of all", async () => {
  const clock = new VirtualClock();
  const store = stillStore(clock);
  for (let i = 0; i < 10_000; i++) await hold(store, `job:${String(i).padStart(4, "0")}`);
  for (const i of [7_000, 42, 9_999]) {
    await queue(store, `job:${String(i).padStart(4, "0")}`);
    clock.stall(1_000);
  }
  await queue(store, "job:0042");
  using pages = clockedDashboard(store);
  const text = await textOf(pages, "/");
  assertEquals(namesIn(text).slice(0, 4), ["job:7000", "job:0042", "job:9999", "job:0000"]);
  assertEquals(totalsIn(text).slice(0, 3), ["Locks held 10,000", "Handles waiting 4", "Locks contended 3"]);
  const contended = await textOf(pages, "/?contended=1");
  assertEquals(namesIn(contended), ["job:7000", "job:0042", "job:9999"]);
  assertEquals(totalsIn(contended), totalsIn(text));
  const byName = await textOf(pages, "/?contended=1&sort=name&limit=2");
  assertEquals(namesIn(byName), ["job:0042", "job:7000"]);
  assertEquals(linkIn(byName, "Next page"), "/?sort=name&contended=1&limit=2&page=2");
});

Deno.test("dashboard() leads from page to page, and to the last one from beyond it", async () => {
  const store = stillStore();
  for (const name of ["a", "b", "c", "d", "e"]) await hold(store, name);
  using pages = dashboard(store);
  const links = async (path: string) => {
    const text = await textOf(pages, path);
    return [
      namesIn(text).join(""),
      ...["First page", "Previous page", "Next page"].map((label) => linkIn(text, label)),
    ];
  };
  assertEquals(await links("/?limit=2"), ["ab", undefined, undefined, "/?limit=2&page=2"]);
  assertEquals(await links("/?limit=2&page=2"), ["cd", "/?limit=2", "/?limit=2", "/?limit=2&page=3"]);
  assertEquals(await links("/?limit=2&page=9"), ["e", "/?limit=2", "/?limit=2&page=2", undefined]);
  assertEquals(await links("/"), ["abcde", undefined, undefined, undefined]);
});

Deno.test("dashboard() says that there are more locks than it has read, and leads to them", async () => {
  const held = (cursor: string) =>
    Array.from({ length: 20_000 }, (_, i) => {
      const name = `${cursor}1:${i}`;
      return { name, owner: "o", handle: name, mode: "exclusive" as const };
    });
  const store = storeWith({
    query: ({ cursor } = {}) => {
      return Promise.resolve(
        cursor === undefined ? { held: held("a"), pending: [], cursor: "b" } : { held: held("b"), pending: [] },
      );
    },
  });
  using pages = clockedDashboard(store);
  const first = await textOf(pages, "/?match=1&limit=7");
  assert(first.includes("There are more locks: totals and order are those of the 20,000 that were read"), first);
  const next = linkIn(first, "look at the following ones");
  assertEquals([namesIn(first)[0], next], ["a1:0", "/?match=1&limit=7&cursor=b"]);
  const second = await textOf(pages, next!);
  assertEquals([namesIn(second)[0], second.includes("There are more locks")], ["b1:0", false]);
  assertEquals(linkIn(second, "Next page"), "/?match=1&limit=7&page=2&cursor=b");
  assertEquals(linkIn(second, "First page"), "/?match=1&limit=7");
});

Deno.test("dashboard() says that nobody waits when only contended locks are asked for", async () => {
  const store = stillStore();
  await hold(store, "a");
  using pages = dashboard(store);
  const text = await textOf(pages, "/?contended=1");
  assert(text.includes("Nobody waits for one of these locks.") && totalsIn(text).includes("Locks held 1"), text);
  assert(text.includes("checked"), "the form says what is shown");
});

Deno.test("dashboard() refuses a part of a list that there cannot be", async () => {
  using pages = dashboard(stillStore());
  for (const query of ["sort=age", "contended=2", "page=0", "page=x", "page=100001"]) {
    assertEquals((await visit(pages, `/?${query}`)).status, 400, query);
    assertEquals((await visit(pages, `/events/list?${query}`)).status, 400, query);
  }
  assertEquals((await visit(pages, "/?sort=&contended=&match=")).status, 200);
});

Deno.test("dashboard() shows 100 locks on a page unless asked for another number", async () => {
  const store = stillStore();
  for (let i = 0; i < 101; i++) await hold(store, `${i}`);
  using pages = dashboard(store);
  const rows = async (path: string) => (await textOf(pages, path)).match(/<tr role="row" data-key/g)?.length;
  assertEquals([await rows("/"), await rows("/?limit=7")], [100, 7]);
  for (const limit of ["0", "1001", "-1", "1e2", "x"]) {
    assertEquals((await visit(pages, `/?limit=${limit}`)).status, 400, limit);
  }
});

for (const name of HOSTILE_NAMES) {
  Deno.test(`dashboard() shows the name ${titleOf(name)} as text`, async () => {
    const store = stillStore();
    await hold(store, name, { [name.slice(0, 100)]: name.slice(0, 100) });
    using pages = dashboard(store, { evict: true });
    const list = await textOf(pages, "/");
    const link = unescaped(/<th role="rowheader" scope="row"><a href="([^"]+)">/.exec(list)?.[1] ?? "");
    assertEquals(new URL(link, "http://a").searchParams.get("name"), name);
    assertEquals(new URL(link, "http://a").pathname, "/lock");
    const query = `name=${encodeURIComponent(name)}`;
    for (const text of [list, await textOf(pages, link), await textOf(pages, `/evict?${query}`)]) {
      assert(!/<script>|<img|<!-- |<b>| onmouseover='/.test(text), text);
      assert(!/[\0\u202e\u2066\ufeff]/.test(text), "each character can be seen");
      assertEquals(text.match(/<script/g)?.length, 1);
    }
    assert((await textOf(pages, link)).includes("1 holder"), "the link leads to the lock");
    const document = await (await visit(pages, `/api/lock?${query}`)).json();
    assertEquals([document.name, document.held.length], [name, 1]);
  });
}

Deno.test("dashboard() shows a filter with HTML in it as text", async () => {
  using pages = dashboard(stillStore());
  const text = await textOf(pages, `/?match=${encodeURIComponent('"><script>')}`);
  assert(text.includes('value="&quot;&gt;&lt;script&gt;"'), text);
});

Deno.test("dashboard() answers programs with JSON, fences as text", async () => {
  const store = stillStore();
  const lock = await acquire(store, "a/b:1", { meta: { job: "x" } });
  await hold(store, "b");
  using pages = dashboard(store);
  const { locks, cursor } = await (await visit(pages, "/api/locks?limit=1")).json();
  const { since, expiresIn, meta, ...holder } = locks[0].held[0];
  assertEquals(holder, { owner: lock.owner, handle: lock.owner, mode: "exclusive", fence: String(lock.fence) });
  assert(typeof since === "number" && expiresIn > 20_000 && meta.job === "x");
  assertEquals([locks.length, locks[0].name, locks[0].pending, cursor], [1, "a/b:1", [], "a/b:1"]);
  const rest = await (await visit(pages, `/api/locks?limit=1&cursor=${encodeURIComponent(cursor)}`)).json();
  assertEquals([rest.locks.length, rest.cursor], [1, undefined]);
  const one = await (await visit(pages, "/api/locks/a%2Fb%3A1")).json();
  assertEquals([one.name, one.held.length], ["a/b:1", 1]);
  const matching = await (await visit(pages, "/api/locks?match=b")).json();
  assertEquals(matching.locks.map(({ name }: { name: string }) => name), ["b"]);
  await lock.release();
});

Deno.test("dashboard() says to programs what is wrong, as JSON", async () => {
  using pages = dashboard(stillStore());
  for (const [path, status] of [["/api/locks/%ff", 400], ["/api/lock", 400], ["/api/x", 404]] as const) {
    const response = await visit(pages, path);
    assertEquals(response.status, status, path);
    assert(typeof (await response.json()).error === "string");
  }
});

Deno.test("dashboard() forbids the browser all that it does not need", async () => {
  using pages = dashboard(stillStore());
  const [first, second] = [await visit(pages, "/"), await visit(pages, "/")];
  const policy = first.headers.get("content-security-policy") ?? "";
  const nonce = /script-src 'nonce-([0-9a-f]{32})'/.exec(policy)?.[1];
  assertEquals(
    policy,
    `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; img-src 'self'; connect-src 'self'; ` +
      "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  );
  assert(policy !== second.headers.get("content-security-policy"), "a nonce is used once");
  const text = await first.text();
  assertEquals(text.match(new RegExp(`nonce="${nonce}"`, "g"))?.length, 2);
  assert(!/\son\w+=|style=|<style|<script>|javascript:/.test(text), "nothing is inline");
  assert(!/(?:src|href|action)="(?!\/(?!\/)|#)/.test(text), "nothing comes from elsewhere");
});

Deno.test("dashboard() sends the headers that protect a page with each response", async () => {
  using pages = dashboard(stillStore(), { evict: true });
  const paths = ["/", "/lock?name=a", "/evict?name=a", "/style.css", "/script.js", "/icon.svg", "/api/locks", "/none"];
  for (const path of [...paths, "/events/list"]) {
    const { headers, body } = await visit(pages, path);
    const found = ["x-content-type-options", "referrer-policy", "x-frame-options"].map((name) => headers.get(name));
    assertEquals(found, ["nosniff", "same-origin", "DENY"], path);
    assertEquals(headers.get("access-control-allow-origin"), null, path);
    await body?.cancel();
  }
});

Deno.test("dashboard() leads to its own base path, whether requests have it or not", async () => {
  const store = stillStore();
  await hold(store, "a");
  using pages = dashboard(store, { basePath: "/ops/locks" });
  for (const path of ["/ops/locks", "/ops/locks/", "/"]) {
    const text = await textOf(pages, path);
    for (const [, address] of text.matchAll(/(?:href|src|action|data-events)="(\/[^"]*)"/g)) {
      assert(address!.startsWith("/ops/locks/"), address);
    }
  }
  assertEquals((await visit(pages, "/ops/locks/lock?name=a")).status, 200);
  assertEquals((await visit(pages, "/lock?name=a")).status, 200);
  assertEquals((await visit(pages, "/ops/locksmith")).status, 404);
});

Deno.test("dashboard() knows no page that an object has by itself", async () => {
  using pages = dashboard(stillStore());
  for (const path of ["/constructor", "/__proto__", "/toString"]) {
    assertEquals((await visit(pages, path)).status, 404, path);
  }
});

Deno.test("dashboard() does not say on a page of an error what the viewer may do", async () => {
  for (const evict of [false, true]) {
    using pages = dashboard(stillStore(), { evict });
    const page = await pages(new Request("http://localhost/nothing"));
    const text = await page.text();
    assertEquals([page.status, /Read only|You may evict/.test(text)], [404, false]);
    assert(text.includes("There is no such page."), text);
  }
});

Deno.test("dashboard() changes nothing by other methods than POST of an eviction", async () => {
  using pages = dashboard(stillStore(), { evict: true });
  for (const path of ["/", "/lock?name=a", "/events/list", "/api/locks"]) {
    const response = await visit(pages, path, { method: "POST" });
    assertEquals([response.status, response.headers.get("allow")], [405, "GET, HEAD"], path);
  }
  const response = await visit(pages, "/evict?name=a", { method: "DELETE" });
  assertEquals([response.status, response.headers.get("allow")], [405, "GET, HEAD, POST"]);
});

Deno.test("dashboard() answers HEAD like GET, without a body", async () => {
  using pages = dashboard(stillStore());
  for (const path of ["/", "/events/list", "/api/locks"]) {
    const response = await visit(pages, path, { method: "HEAD" });
    assertEquals([response.status, await response.text()], [200, ""], path);
  }
});

Deno.test("dashboard() refuses what cannot be the name of a lock", async () => {
  using pages = dashboard(stillStore());
  for (const path of ["/lock", "/lock?name=", `/lock?name=${"x".repeat(1_025)}`, "/events/lock"]) {
    assertEquals((await visit(pages, path)).status, 400, path);
  }
});

Deno.test("dashboard() says that the store did not answer, as text", async () => {
  using pages = dashboard(storeWith({ query: () => Promise.reject(new Error("<b>refused</b>")) }));
  const response = await visit(pages, "/");
  const text = await response.text();
  assertEquals([response.status, response.headers.get("retry-after")], [503, "1"]);
  assert(text.includes("The store did not answer") && text.includes("&lt;b&gt;refused"), text);
});

Deno.test("dashboard() says that a store cannot list its locks", async () => {
  using pages = dashboard(storeWith({ capabilities: [] }));
  const response = await visit(pages, "/");
  assertEquals(response.status, 501);
  assert((await response.text()).includes("cannot list"), "the reason");
});

Deno.test("dashboard() shows text that its user gave as text", async () => {
  using pages = dashboard(stillStore(), { title: "<Locks> & \u202e" });
  const text = await textOf(pages, "/");
  assert(text.includes("&lt;Locks&gt; &amp; \\u202e") && !text.includes("<Locks>"), text);
});

Deno.test("dashboard() refuses patterns that could keep a server busy", async () => {
  using pages = dashboard(stillStore());
  for (const path of ["/?match=", "/api/locks?match=", "/events/list?match="]) {
    assertEquals((await visit(pages, path + "*a".repeat(6))).status, 400, path);
    assertEquals((await visit(pages, path + "a".repeat(1_025))).status, 400, path);
  }
  assertEquals((await visit(pages, `/?match=${"*a".repeat(5)}`)).status, 200);
});

Deno.test("dashboard() says when no name matches", async () => {
  const store = stillStore();
  await hold(store, "a");
  using pages = dashboard(store);
  assert(
    (await textOf(pages, "/?match=b")).includes("No lock with such a name is held or waited for."),
    "with a filter",
  );
});

Deno.test("dashboard() shows what is left of a lease as a part of a usual length", async () => {
  const bars = async (expiresIn: number) => {
    const held: HolderEntry[] = [{ name: "a", owner: "o", handle: "o", mode: "exclusive", expiresIn }];
    using pages = dashboard(storeWith({ query: () => Promise.resolve({ held, pending: [] }) }));
    return Number(/<meter min="0" max="(\d+)"/.exec(await textOf(pages, "/lock?name=a"))?.[1]);
  };
  const lengths = await Promise.all([400, 11_800, 30_000, 30_100, 45_000, 7_200_000].map(bars));
  assertEquals(lengths, [1_000, 20_000, 30_000, 30_000, 60_000, 7_200_000]);
});
