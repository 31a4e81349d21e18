// Deno only: it starts servers, and processes of Deno.
import { assert, assertEquals } from "@std/assert";
import { acquire } from "@holdfast/lock";
import { upstash } from "@holdfast/lock/upstash";
import type { Finding } from "../src/doctor/finding.ts";
import { RedisServer } from "../../../tests/support/redis_server.ts";
import { RestFront } from "../../../tests/support/rest_front.ts";
import { until } from "../../../tests/support/until.ts";
import { jsonLines } from "./cli_process.ts";
import { holdfast } from "./commands.ts";

/** Returns the URL of a front, for the command line. */
function urlOf({ url, token }: RestFront): string {
  return url.replace("http://", `upstash+http://:${token}@`);
}

Deno.test("holdfast shows and takes away locks over HTTP", async () => {
  await using server = await RedisServer.start();
  await using front = new RestFront(server.port);
  const store = urlOf(front);
  await using _lock = await acquire(upstash(front.options), "a", { strict: false });
  const { status, out, err } = await holdfast(["ls", "--json"], { store });
  assertEquals([status, jsonLines<{ name: string }>(out).map(({ name }) => name)], [0, ["a"]], err);
  const { evicted } = JSON.parse((await holdfast(["evict", "a", "--yes", "--json"], { store })).out);
  assertEquals(evicted, 1);
});

Deno.test("holdfast doctor tries locks over HTTP, and leaves nothing", async () => {
  await using server = await RedisServer.start();
  await using front = new RestFront(server.port);
  const { status, out, err } = await holdfast(["doctor", "--json"], { store: urlOf(front) });
  const findings = jsonLines<Finding>(out).filter(({ code }) => code !== "permission");
  assertEquals(findings.map(({ level, code }) => `${level} ${code}`), ["ok wake-up", "ok clock", "ok lock"], out + err);
  assertEquals(findings[0]!.found, "a message came over the event stream");
  assertEquals(status, 0);
  // For 5 s the replies are kept that a repeated request is given.
  await until(async () => await server.command("DBSIZE") === 0, "nothing is left");
});

Deno.test("holdfast doctor warns where there is no event stream over HTTP", async () => {
  await using server = await RedisServer.start();
  await using front = new RestFront(server.port);
  front.answering = async ([command], run) =>
    command === "SUBSCRIBE" ? Response.json({ error: "ERR not found" }, { status: 404 }) : await run();
  const { out, err } = await holdfast(["doctor", "--json"], { store: urlOf(front) });
  const { level, found } = jsonLines<Finding>(out).find(({ code }) => code === "wake-up")!;
  assertEquals(level, "warning", out + err);
  assert(found.startsWith("the event stream failed: there is no event stream at http://"), found);
});

Deno.test("holdfast doctor finds a wrong token and a page in HTML, and names no token", async () => {
  await using server = await RedisServer.start();
  await using front = new RestFront(server.port);
  const wrong = await holdfast(["doctor"], { store: front.url.replace("http://", "upstash+http://:secret@") });
  assert(wrong.status !== 0 && wrong.out.includes("refuses the token"), wrong.out + wrong.err);
  assert(!(wrong.out + wrong.err).includes("secret"), wrong.out + wrong.err);
  front.answering = () => new Response("<html>hello</html>");
  const page = await holdfast(["doctor"], { store: urlOf(front) });
  assert(page.status !== 0 && page.out.includes("does not answer as the REST API"), page.out + page.err);
});
