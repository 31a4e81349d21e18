// Deno only: it starts a browser.
import { assert, assertEquals } from "@std/assert";
import type { HolderEntry, Store, WaiterEntry } from "@holdfast/lock";
import { type Dashboard, dashboard, type DashboardOptions } from "@holdfast/cli/dashboard";
import { memory } from "@holdfast/lock/memory";
import { redis } from "@holdfast/lock/redis";
import { plain } from "../../src/dashboard/pages/visible_text.ts";
import { Chromium, findChromium, type Profile, type Tab } from "../../../../tests/support/chromium.ts";
import { quickest } from "../../../../tests/faults/quickest.ts";
import { RedisServer } from "../../../../tests/support/redis_server.ts";
import { HANG_MS, until } from "../../../../tests/support/until.ts";
import { contrast } from "./contrast.ts";
import { HOSTILE_NAMES } from "./hostile_names.ts";
import { hold, queue, stillStore, storeWith } from "./visit.ts";

const browser = findChromium();
if ("missing" in browser) console.log(`the tests in a browser are skipped: ${browser.missing}`);
const ignore = "missing" in browser;

/** Each test has a profile of its own there. */
let chromium: Chromium | undefined;

if ("program" in browser) {
  Deno.test.beforeAll(async () => void (chromium = await Chromium.start(browser.program)));
  Deno.test.afterAll(async () => await chromium?.[Symbol.asyncDispose]());
}

/** Where the pictures of the documentation are; they are drawn anew if UPDATE_PICTURES is set. */
const PICTURES = new URL("../../../../docs/pictures/", import.meta.url);
const MAX_PICTURE = 150_000;

/** A dashboard, a server for it, and a tab that shows it. */
class Scene implements AsyncDisposable {
  readonly tab: Tab;
  readonly #profile: Profile;
  readonly #make: () => Dashboard;
  #pages: Dashboard;
  #server: Deno.HttpServer<Deno.NetAddr>;

  private constructor(profile: Profile, tab: Tab, make: () => Dashboard) {
    this.#profile = profile;
    this.tab = tab;
    this.#make = make;
    this.#pages = make();
    this.#server = serve(this.#pages, 0);
  }

  static async open(store: Store, options: DashboardOptions = {}): Promise<Scene> {
    const profile = await chromium!.profile();
    const tab = await profile.open();
    await tab.show(1_100, 700);
    return new Scene(profile, tab, () => dashboard(store, options));
  }

  /** Opens another tab. */
  openTab(): Promise<Tab> {
    return this.#profile.open();
  }

  /** Where it is. */
  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  /** Stops the server. */
  async stop(): Promise<void> {
    this.#pages[Symbol.dispose]();
    await this.#server.shutdown();
  }

  /** Starts it again at the same place. */
  start(): void {
    const { port } = this.#server.addr;
    this.#pages = this.#make();
    this.#server = serve(this.#pages, port);
  }

  /** The names of the locks in the list, as their links have them. */
  names(): Promise<string[]> {
    return this.tab.evaluate(
      `Array.from(document.querySelectorAll("#live tbody th a"), (a) => new URL(a.href).searchParams.get("name"))`,
    );
  }

  /** Resolves when the page has got its first event. */
  async live(): Promise<void> {
    await this.tab.until(`document.querySelector("#state")?.textContent === "live"`);
  }

  /** Goes to a page, the list when left out, and resolves when that has got its first event. */
  async show(path = "/"): Promise<void> {
    await this.tab.goto(this.url + path);
    await this.live();
  }

  /** Fails if the browser has complained, or has asked another server for something. */
  assertQuiet(): void {
    assertEquals(this.tab.complaints, []);
    assertEquals(this.tab.requests.filter((url) => !url.startsWith(`${this.url}/`)), []);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#profile[Symbol.asyncDispose]();
    await this.stop();
  }
}

function serve(pages: Dashboard, port: number): Deno.HttpServer<Deno.NetAddr> {
  return Deno.serve({ hostname: "127.0.0.1", port, onListen: () => {} }, (request) => pages(request));
}

function browserTest(name: string, fn: () => Promise<void>): void {
  Deno.test({ name: `dashboard() in a browser ${name}`, ignore, fn });
}

browserTest("shows a new lock, and that it is gone, within a second", async () => {
  const store = memory();
  await using scene = await Scene.open(store);
  await scene.show();
  const times: number[] = [];
  for (const name of ["invoice:1", "invoice:2", "invoice:3"]) {
    for (const present of [true, false]) {
      if (present) await hold(store, name);
      else await store.evict!(name);
      const changed = performance.now();
      await scene.tab.until(`document.querySelector("#live").textContent.includes("${name}") === ${present}`);
      times.push(performance.now() - changed);
    }
  }
  // Other tests run at the same time: the quickest is what the page does by itself.
  assert(Math.min(...times) < 1_000, `${times}`);
  scene.assertQuiet();
});

browserTest("keeps the focus and counts on while the list changes", async () => {
  const store = memory();
  await hold(store, "b");
  await using scene = await Scene.open(store);
  await scene.show();
  await scene.tab.tabTo(`focus.textContent === "b"`);
  const age = await scene.tab.evaluate<string>(`document.querySelector("tbody time").textContent`);
  await hold(store, "a");
  await hold(store, "c");
  await scene.tab.until(`document.querySelectorAll("#live tbody tr").length === 3`);
  assertEquals(await scene.tab.evaluate(`document.activeElement.textContent`), "b");
  assertEquals(await scene.names(), ["a", "b", "c"]);
  await store.evict!("a");
  await scene.tab.until(`document.querySelectorAll("#live tbody tr").length === 2`);
  assertEquals(await scene.tab.evaluate(`document.activeElement.textContent`), "b");
  await scene.tab.until(`document.querySelector("tbody time").textContent !== ${JSON.stringify(age)}`);
  scene.assertQuiet();
});

browserTest("keeps the focus on a lock that comes to the top because somebody waits for it", async () => {
  const store = memory();
  for (const name of ["a", "b", "c"]) await hold(store, name);
  await using scene = await Scene.open(store);
  const { tab } = scene;
  await scene.show();
  await tab.tabTo(`focus.textContent === "c"`);
  await queue(store, "c");
  await tab.until(`document.querySelector("#live tbody a").textContent === "c"`);
  assertEquals(await scene.names(), ["c", "a", "b"]);
  assertEquals(await tab.evaluate(`document.activeElement.textContent`), "c");
  scene.assertQuiet();
});

browserTest("orders and filters when that is chosen, by the keyboard", async () => {
  const store = stillStore();
  for (const name of ["a", "b", "c"]) await hold(store, name);
  await queue(store, "c");
  await using scene = await Scene.open(store);
  const { tab } = scene;
  await scene.show();
  assertEquals(await scene.names(), ["c", "a", "b"]);
  await tab.tabTo(`focus.id === "contended"`);
  await tab.press("Space");
  await tab.until(`document.querySelectorAll("#live tbody tr").length === 1 && location.search === "?contended=1"`);
  assertEquals(await scene.names(), ["c"]);
  await tab.press("Space");
  await tab.tabTo(`focus.id === "sort"`);
  await tab.press("ArrowDown");
  await tab.until(`document.querySelector("#live tbody a").textContent === "a" && location.search === "?sort=name"`);
  assertEquals(await scene.names(), ["a", "b", "c"]);
  scene.assertQuiet();
});

browserTest("runs a lease down, and fills it up when it is renewed", async () => {
  const store = memory();
  const claim = await hold(store, "a");
  await using scene = await Scene.open(store);
  await scene.show("/lock?name=a");
  const left = `document.querySelector("meter").value`;
  const full = await scene.tab.evaluate<number>(left);
  await scene.tab.until(`${left} < ${full - 1_500}`);
  // It may be looked at when it has run down again: it is filled up until it is seen.
  const filledUp = async () => {
    await store.renew(claim);
    return await scene.tab.evaluate<boolean>(`${left} > ${full - 1_000}`).catch(() => false);
  };
  await until(filledUp, "it is filled up", HANG_MS);
  scene.assertQuiet();
});

/** Fails unless a page filters 10,000 locks of a store while somebody types, and answers meanwhile. */
async function assertFilters(store: Store): Promise<void> {
  const names = Array.from({ length: 10_000 }, (_, i) => `job:${String(i).padStart(4, "0")}`);
  await Promise.all(names.map((name) => hold(store, name)));
  await using scene = await Scene.open(store);
  // The longest time for which the page answers nobody.
  await quickest(1_000, async () => {
    await scene.show();
    await scene.tab.evaluate(`
      globalThis.stall = 0;
      let last = performance.now();
      setInterval(() => {
        stall = Math.max(stall, performance.now() - last);
        last = performance.now();
      }, 10);
    `);
    await scene.tab.tabTo(`focus.id === "match"`);
    const began = performance.now();
    for (const digit of "999") await scene.tab.type(digit);
    await scene.tab.until(`document.querySelectorAll("#live tbody tr").length === 19`);
    const took = performance.now() - began;
    assertEquals((await scene.names()).every((name) => name.includes("999")), true);
    const stall = await scene.tab.evaluate<number>("stall");
    console.log(`10,000 locks: filtered in ${took.toFixed()} ms, longest stall of the page ${stall.toFixed()} ms`);
    assertEquals(await scene.tab.evaluate("location.search"), "?match=999");
    return stall;
  });
  scene.assertQuiet();
}

browserTest("filters 10,000 locks in memory while somebody types", () => assertFilters(stillStore()));

browserTest("filters 10,000 locks on Redis while somebody types", async () => {
  await using server = await RedisServer.start();
  await assertFilters(redis(server.connect()));
});

browserTest("shows no more rows than a page has", async () => {
  const store = stillStore();
  for (let i = 0; i < 300; i++) await hold(store, `${i}`);
  await using scene = await Scene.open(store);
  await scene.show();
  assertEquals((await scene.names()).length, 100);
  await scene.tab.tabTo(`focus.textContent === "Next page"`, 150);
  await scene.tab.press("Enter");
  await scene.tab.until(`location.search !== "" && document.readyState === "complete"`);
  assertEquals((await scene.names()).length, 100);
});

browserTest("evicts by the keyboard alone", async () => {
  const store = memory();
  await hold(store, "invoice:42", { host: "web-1", pid: "4711" });
  await using scene = await Scene.open(store, { evict: true });
  const { tab } = scene;
  await tab.goto(`${scene.url}/`);
  await tab.tabTo(`focus.textContent === "invoice:42"`);
  await tab.press("Enter");
  await tab.until(`location.pathname === "/lock" && document.readyState === "complete"`);
  await tab.tabTo(`focus.textContent === "Evict…"`);
  await tab.press("Enter");
  await tab.until(`location.pathname === "/evict" && document.readyState === "complete"`);
  await tab.tabTo(`focus.textContent === "Evict"`);
  assert(
    await tab.evaluate(`parseFloat(getComputedStyle(document.activeElement).outlineWidth) >= 2`),
    "the focus can be seen",
  );
  await tab.press("Enter");
  await tab.until(`document.querySelector(".done")?.textContent.startsWith("Evicted: web-1/4711 (fence ")`);
  assertEquals((await store.query!()).held, []);
  scene.assertQuiet();
});

for (const [width, theme] of [[1_100, "light"], [390, "dark"]] as const) {
  browserTest(`shows where the keyboard is, at ${width} pixels in the ${theme} theme`, async () => {
    await using scene = await Scene.open(example(), { evict: true });
    const [tab, canvas] = [scene.tab, await scene.openTab()];
    await tab.send("Page.bringToFront"); // Pictures of a tab in the background may never come.
    // High enough that nothing scrolls; without a script nothing changes but the focus.
    await tab.show(width, 4_000, theme);
    await tab.send("Emulation.setScriptExecutionDisabled", { value: true });
    const long = `/lock?name=${"x".repeat(1_024)}`; // Its title is scrolled, also by the keyboard.
    for (const path of ["/", "/lock?name=invoice%3A42", "/evict?name=invoice%3A42", long]) {
      await tab.goto(scene.url + path);
      let stops = 0;
      for (await tab.press("Tab"); !await tab.evaluate(`document.activeElement === document.body`); stops++) {
        const [what, x, y, w, h] = await tab.evaluate<[string, number, number, number, number]>(`(() => {
          const focus = document.activeElement;
          const { x, y, width, height } = focus.getBoundingClientRect();
          return [focus.outerHTML.slice(0, 80), x, y, width, height];
        })()`);
        const part = { x: Math.max(0, x - 8), y: Math.max(0, y - 8), width: w + 16, height: h + 16 };
        const focused = await tab.picture(part);
        await tab.evaluate(`document.activeElement.blur()`);
        const changed = await canvas.changedPixels(focused, await tab.picture(part));
        assert(changed >= 2 * (w + h), `${path}: only ${changed} pixels show the focus of ${what}`);
        await tab.press("Tab");
      }
      assert(stops > 3, `${path} has ${stops} places for the keyboard`);
    }
  });
}

browserTest("lists, filters and evicts without a script", async () => {
  const store = memory();
  await hold(store, "invoice:42");
  await hold(store, "report");
  await using scene = await Scene.open(store, { evict: true });
  const { tab } = scene;
  await tab.send("Emulation.setScriptExecutionDisabled", { value: true });
  await tab.goto(`${scene.url}/`);
  await tab.tabTo(`focus.id === "match"`);
  await tab.type("inv");
  await tab.press("Enter");
  await tab.until(
    `location.search === "?match=inv&sort=wait" && document.querySelectorAll("#live tbody tr").length === 1`,
  );
  await tab.tabTo(`focus.textContent === "invoice:42"`);
  await tab.press("Enter");
  await tab.until(`location.pathname === "/lock"`);
  await tab.tabTo(`focus.textContent === "Evict…"`);
  await tab.press("Enter");
  await tab.until(`location.pathname === "/evict"`);
  await tab.tabTo(`focus.textContent === "Evict"`);
  await tab.press("Enter");
  await tab.until(`document.querySelector(".done")?.textContent.endsWith(") lost the lock.")`);
  assertEquals((await store.query!()).held.map(({ name }) => name), ["report"]);
});

browserTest("shows hostile names as text, also later ones", async () => {
  const store = memory();
  const [before, after] = [HOSTILE_NAMES.slice(0, 10), HOSTILE_NAMES.slice(10)];
  for (const name of before) await hold(store, name, { [name.slice(0, 50)]: name.slice(0, 50) });
  await using scene = await Scene.open(store, { evict: true });
  const { tab } = scene;
  await scene.show();
  for (const name of after) await hold(store, name, { [name.slice(0, 50)]: name.slice(0, 50) });
  await tab.until(`document.querySelectorAll("#live tbody tr").length === ${HOSTILE_NAMES.length}`);
  const sorted = [...HOSTILE_NAMES].sort();
  assertEquals(await scene.names(), sorted);
  const texts = `Array.from(document.querySelectorAll("#live tbody th a"), (a) => a.textContent)`;
  assertEquals(await tab.evaluate(texts), sorted.map(plain));
  for (const name of HOSTILE_NAMES) {
    await scene.show(`/lock?name=${encodeURIComponent(name)}`);
    assertEquals(await tab.evaluate(`document.querySelector("h1").textContent`), plain(name));
    assertEquals(await tab.evaluate(`document.querySelectorAll("script, img, b, svg").length`), 1, name);
  }
  assertEquals(await tab.evaluate("globalThis.broken"), undefined);
  scene.assertQuiet();
});

browserTest("says that the connection is gone, and goes on when it is back", async () => {
  const store = memory();
  let fault = false;
  const failing = storeWith({
    query: (options) => fault ? Promise.reject(new Error("<b>no route</b>")) : store.query!(options),
  }, store);
  await using scene = await Scene.open(failing);
  const { tab } = scene;
  await scene.show();
  fault = true;
  await tab.until(`document.querySelector("#fault").textContent === "The store did not answer: <b>no route</b>"`);
  fault = false;
  await scene.live();
  assertEquals(await tab.evaluate(`document.querySelector("#fault").hidden`), true);
  scene.assertQuiet();
});

browserTest("goes on when its server is back", async () => {
  const store = memory();
  await using scene = await Scene.open(store);
  await scene.show();
  await scene.stop();
  await scene.tab.until(`document.querySelector("#state").textContent === "no connection, trying again"`);
  await hold(store, "a");
  scene.start();
  await scene.tab.until(`document.querySelectorAll("#live tbody tr").length === 1`, HANG_MS);
  await scene.live();
});

browserTest("says what has changed to a screen reader, and no more", async () => {
  const store = memory();
  await hold(store, "a");
  await using scene = await Scene.open(store);
  await scene.show();
  await scene.tab.evaluate(`
    globalThis.said = [];
    const news = document.querySelector("#news");
    new MutationObserver(() => said.push(news.textContent)).observe(news, { childList: true, characterData: true });
  `);
  for (const name of ["b", "c", "d"]) await hold(store, name);
  await scene.tab.until("said.length > 0", HANG_MS);
  assertEquals(await scene.tab.evaluate("said"), ["4 locks held, 0 handles waiting, 0 locks contended."]);
  scene.assertQuiet();
});

browserTest("stands still while it is paused", async () => {
  const store = memory();
  await hold(store, "a");
  await using scene = await Scene.open(store, { refresh: 100 });
  const { tab } = scene;
  await scene.show();
  await tab.tabTo(`focus.id === "pause"`);
  await tab.press("Enter");
  await tab.until(`document.querySelector("#state").textContent === "paused"`);
  const text = await tab.evaluate(`document.querySelector("#live").textContent`);
  await hold(store, "b");
  // Long enough for several polls: none may come.
  await tab.evaluate(`new Promise((resolve) => setTimeout(resolve, 1_500))`);
  assertEquals(await tab.evaluate(`document.querySelector("#live").textContent`), text);
  await tab.press("Enter");
  await tab.until(`document.querySelectorAll("#live tbody tr").length === 2`);
  scene.assertQuiet();
});

/** Each text that can be seen in a page: its colour, and that of the ground on which it stands. */
const TEXT_COLOURS = `(() => {
  const rgb = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const groundOf = (element) => {
    for (; element; element = element.parentElement) {
      const colour = rgb(getComputedStyle(element).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour.slice(0, 3);
    }
    return [255, 255, 255];
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { parentElement, data } = walker.currentNode;
    if (data.trim() === "" || !parentElement.checkVisibility()) continue;
    found.push([data.trim(), rgb(getComputedStyle(parentElement).color).slice(0, 3), groundOf(parentElement)]);
  }
  return found;
})()`;

for (const theme of ["light", "dark"] as const) {
  browserTest(`has 4.5 of contrast for each text, ${theme} theme`, async () => {
    await using scene = await Scene.open(example(), { evict: true });
    const { tab } = scene;
    await tab.show(1_100, 700, theme);
    const grounds = new Set<string>();
    for (const path of ["/", "/lock?name=invoice%3A42", "/evict?name=invoice%3A42", "/none"]) {
      await tab.goto(scene.url + path);
      const texts = await tab.evaluate<[string, number[], number[]][]>(TEXT_COLOURS);
      assert(texts.length > 3, path);
      for (const [text, colour, ground] of texts) {
        grounds.add(String(ground));
        assert(contrast(colour, ground) >= 4.5, `${text} on ${path}: ${colour} on ${ground}`);
      }
    }
    assert(grounds.has(theme === "light" ? "255,255,255" : "18,22,28"), `the theme is that: ${[...grounds]}`);
  });
}

browserTest("fits into 320 pixels", async () => {
  const store = example();
  await using scene = await Scene.open(store, { evict: true });
  const { tab } = scene;
  await tab.show(320, 700);
  for (const path of ["/", "/lock?name=invoice%3A42", "/evict?name=invoice%3A42"]) {
    await tab.goto(scene.url + path);
    const [width, wide] = await tab.evaluate<[number, string[]]>(
      `[document.documentElement.scrollWidth, Array.from(document.querySelectorAll("main *:not(thead *)"))
        .filter((e) => e.getBoundingClientRect().right > 321).map((e) => e.outerHTML.slice(0, 100))]`,
    );
    assertEquals([width <= 320, wide], [true, []], `${path} is ${width} wide`);
  }
});

/** A store whose names, hosts and descriptions are hostile or long, with a waiter for each lock. */
function crowded(): Store {
  const entries = HOSTILE_NAMES.map((name, i) => {
    const handle = `${i}`.padStart(36, "0");
    const host = i % 2 === 0 ? name.slice(0, 300) : "h".repeat(900);
    const meta = { host, pid: "4711", [name.slice(0, 100)]: name.slice(0, 300) };
    const since = Date.now() - i * 3_500_000;
    return { name, owner: handle, handle, mode: "exclusive" as const, meta, since };
  });
  return storeWith({
    query: ({ name } = {}) => {
      const found = entries.filter((entry) => name === undefined || entry.name === name);
      return Promise.resolve({
        held: found.map((entry) => ({ ...entry, expiresIn: 7_100_000, fence: BigInt(entry.since) * 1_000n })),
        pending: found.map((entry) => ({ ...entry, handle: `w${entry.handle}`, rank: 0 })),
      });
    },
  });
}

/** What is wrong with the place of something in a page: cells that are too narrow, rows too high, text at the right. */
const MISPLACED = `(() => {
  const found = [];
  const note = (what, element) => found.push(what + ": " + element.outerHTML.slice(0, 120));
  const wide = getComputedStyle(document.querySelector("table")).display === "table";
  for (const element of document.querySelectorAll("main *:not(thead *)")) {
    if (element.getBoundingClientRect().right > innerWidth) note("beyond the window", element);
  }
  for (const cell of document.querySelectorAll(wide ? "th, td" : "tbody th, tbody td")) {
    if (cell.scrollWidth > cell.clientWidth + 1) note("too narrow", cell);
  }
  for (const row of document.querySelectorAll("#live .list tbody tr")) {
    if (row.offsetHeight > (wide ? 100 : 400)) note(row.offsetHeight + " high", row);
  }
  if (wide) {
    for (const cell of document.querySelectorAll("thead th")) {
      const least = ["Lock", "Held by", "Holder", "Waiter"].includes(cell.textContent) ? 140 : 60;
      if (cell.offsetWidth < least) note(cell.offsetWidth + " wide", cell);
    }
  }
  for (const key of document.querySelectorAll("dt")) {
    const range = document.createRange();
    range.selectNodeContents(key);
    if (key.textContent.length < 6 && range.getBoundingClientRect().height > 30) note("broken", key);
  }
  for (const text of document.querySelectorAll("h1 .text, tbody .text")) {
    const range = document.createRange();
    range.selectNodeContents(text);
    const box = text.closest("h1, dt, dd, td, th");
    const before = box.localName === "td" && !wide || box.textContent.trim().indexOf(text.textContent.trim()) > 0;
    // A line has a rectangle for each of its parts.
    const lines = [];
    for (const { top, bottom, left } of range.getClientRects()) {
      const line = lines.find((line) => top < line.bottom - 5 && bottom > line.top + 5);
      if (line) line.left = Math.min(line.left, left);
      else lines.push({ top, bottom, left });
    }
    const edge = box.getBoundingClientRect().left + 5;
    if (!before && lines.some(({ left }) => left > edge)) note("at the right", text);
  }
  return found;
})()`;

for (const width of [1_100, 961, 768, 390]) {
  browserTest(`gives each column its room beside hostile and long names, at ${width} pixels`, async () => {
    await using scene = await Scene.open(crowded(), { evict: true });
    const { tab } = scene;
    await tab.show(width, 1_000);
    for (const path of ["/", "/?match=constructor"]) {
      await tab.goto(scene.url + path);
      assertEquals(await tab.evaluate(MISPLACED), [], path);
    }
    for (const name of HOSTILE_NAMES.slice(-5)) {
      for (const path of ["lock", "evict"]) {
        await tab.goto(`${scene.url}/${path}?name=${encodeURIComponent(name)}`);
        assertEquals(await tab.evaluate(MISPLACED), [], path);
      }
    }
  });
}

browserTest("shows what is left of a lease beside its bar, also of hours", async () => {
  const holder = (name: string, expiresIn: number): HolderEntry => {
    return { name, owner: "o", handle: name, mode: "exclusive", since: Date.now() - 61_000, expiresIn };
  };
  const held = [30_000, 60_000, 119_000, 3_599_000, 86_340_000].map((left) => holder(`lease of ${left}`, left));
  await using scene = await Scene.open(storeWith({ query: () => Promise.resolve({ held, pending: [] }) }));
  const { tab } = scene;
  for (const path of ["/", `/lock?name=${encodeURIComponent(held[3]!.name)}`]) {
    await tab.goto(scene.url + path);
    const wrapped = await tab.evaluate<string[]>(`[...document.querySelectorAll(".lease")].filter((lease) => {
      const [bar, left] = [...lease.children].map((part) => part.getBoundingClientRect());
      return left.top >= bar.bottom;
    }).map((lease) => lease.textContent)`);
    assertEquals(wrapped, [], path);
  }
});

browserTest("names each part for a screen reader", async () => {
  await using scene = await Scene.open(example(), { evict: true });
  const { tab } = scene;
  for (const path of ["/", "/lock?name=invoice%3A42", "/evict?name=invoice%3A42"]) {
    await tab.goto(scene.url + path);
    const { nodes } = await tab.send("Accessibility.getFullAXTree") as {
      nodes: { ignored: boolean; role: { value: string }; name?: { value: string } }[];
    };
    const named = new Map(nodes.filter(({ ignored }) => !ignored).map(({ role, name }) => [role.value, name?.value]));
    for (
      const role of ["RootWebArea", "banner", "navigation", "main", "contentinfo", "table", "columnheader", "rowheader"]
    ) {
      assert(named.has(role), `${path} has a ${role}: ${[...named.keys()]}`);
    }
    const unnamed = nodes.filter(({ ignored, role, name }) => {
      return !ignored && ["button", "link", "searchbox", "meter", "table", "navigation"].includes(role.value) &&
        !name?.value;
    });
    assertEquals(unnamed, []);
  }
});

/** A store as it could be at night. */
function example(): Store {
  const now = Date.now();
  const handle = (
    name: string,
    meta: Record<string, string>,
    seconds: number,
    mode: "exclusive" | "shared" = "exclusive",
  ) => {
    const owner = `3f1c9a52-7d0e-4b6a-9c83-${String(seconds).padStart(12, "0")}`;
    return { name, owner, handle: owner, mode, meta, since: now - seconds * 1_000 };
  };
  const process = (host: string, pid: number, more: Record<string, string> = {}) => ({ host, pid: `${pid}`, ...more });
  const holder = (entry: ReturnType<typeof handle>, expiresIn: number): HolderEntry => {
    return { ...entry, expiresIn, fence: BigInt(entry.since) * 1_000n };
  };
  const held: HolderEntry[] = [
    holder(handle("invoice:42", process("web-1", 4711, { job: "charge" }), 754), 21_400),
    holder(handle("invoice:57", process("web-2", 1213), 2), 28_900),
    holder(handle("mail:outbox", process("worker-3", 88), 41), 17_300),
    { ...holder(handle("printers", process("desk-9", 512), 12), 24_000), permits: 3 },
    { ...holder(handle("printers", process("desk-2", 77), 9), 26_000), permits: 3 },
    holder(handle("report:nightly", process("cron-1", 2048, { job: "nightly-report" }), 9_120), 11_800),
    holder(handle("search:index", process("web-1", 4711), 8, "shared"), 22_000),
    holder(handle("search:index", process("web-2", 1213), 5, "shared"), 25_000),
  ];
  const waiter = (entry: ReturnType<typeof handle>, rank: number): WaiterEntry => ({ ...entry, rank });
  const pending: WaiterEntry[] = [
    waiter(handle("invoice:42", process("web-2", 1213, { job: "refund" }), 640), 0),
    waiter(handle("invoice:42", process("web-3", 904, { job: "charge" }), 95), 1),
    waiter(handle("invoice:42", process("web-1", 4712, { job: "audit" }), 14), 2),
    waiter(handle("mail:outbox", process("worker-1", 61), 3), 0),
  ];
  const of = (name?: string) => <Entry extends { name: string }>(entry: Entry) =>
    name === undefined || entry.name === name;
  return storeWith({
    query: ({ name } = {}) => Promise.resolve({ held: held.filter(of(name)), pending: pending.filter(of(name)) }),
  });
}

browserTest("looks as the pictures of the documentation show", async () => {
  await using scene = await Scene.open(example(), { title: "Holdfast: redis://db-1", evict: true });
  const { tab } = scene;
  const pictures = [
    { file: "dashboard_list.png", path: "/", theme: "light" },
    { file: "dashboard_lock.png", path: "/lock?name=invoice%3A42", theme: "light" },
    { file: "dashboard_dark.png", path: "/lock?name=invoice%3A42", theme: "dark" },
  ] as const;
  for (const { file, path, theme } of pictures) {
    await tab.show(1_000, 680, theme);
    await scene.show(path);
    const picture = await tab.picture();
    assert(picture.length > 5_000 && picture.length < MAX_PICTURE, `${file} has ${picture.length} bytes`);
    if (Deno.env.get("UPDATE_PICTURES")) await Deno.writeFile(new URL(file, PICTURES), picture);
  }
  scene.assertQuiet();
});
