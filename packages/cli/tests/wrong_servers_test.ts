// Deno only: it starts processes of Deno, and servers.
import { assert, assertEquals } from "@std/assert";
import { acquire } from "@holdfast/lock";
import { createServer, type Socket } from "node:net";
import { RedisServer } from "../../../tests/support/redis_server.ts";
import { holdfast } from "./commands.ts";

Deno.test("holdfast refuses a database that the server does not have, with every verb", async () => {
  await using server = await RedisServer.start(["--databases", "4"]);
  const lock = await acquire(server.connect(), "a");
  const store = `redis://127.0.0.1:${server.port}/99`;
  const verbs = [["ls"], ["show", "a"], ["evict", "a", "--yes"], ["wait", "a"], ["run", "a", "--", "true"]];
  const results = await Promise.all(verbs.map((args) => holdfast(args, { store })));
  for (const { status, out, err } of results) {
    assertEquals([status, out], [69, ""], err);
    assert(err.includes("the server refuses database 99: ERR DB index is out of range"), err);
  }
  const { status, out } = await holdfast(["doctor", "--quiet"], { store });
  assertEquals(status, 1);
  assert(/^error {2}lock: .*the server refuses database 99: /m.test(out), out);
  assert(lock.held, "the lock in database 0 is not touched");
  await lock.extend();
  await lock.release();
});

/** What listens at a port, what a URL of it looks like, and what is said of it. */
const WRONG: Record<
  string,
  [listen: () => Promise<Listening>, url: (at: string) => string, words: (at: string) => string]
> = {
  "a port without TLS": [
    () => RedisServer.start(),
    (at) => `rediss://${at}`,
    (at) => `the server at ${at} does not speak TLS on this port: write redis instead of rediss`,
  ],
  "a Sentinel": [
    () => RedisServer.start(["--sentinel"], {}, ["sentinel monitor main 127.0.0.1 1 1"]),
    (at) => `redis://${at}`,
    (at) => `a Sentinel answers at ${at}: write redis+sentinel://${at}/main`,
  ],
  "a Redis server behind Sentinel": [
    () => RedisServer.start(),
    (at) => `redis+sentinel://${at}/main`,
    (at) => `a Redis server answers at ${at}, and no Sentinel: write redis://${at}`,
  ],
  "an HTTP server": [
    () => Promise.resolve(serve((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"))),
    (at) => `redis://${at}`,
    (at) => `an HTTP server answers at ${at}`,
  ],
  "a server that closes connections": [
    () => Promise.resolve(serve((socket) => socket.end())),
    (at) => `redis://${at}`,
    (at) => `the server at ${at} closes the connection: if it wants TLS, write rediss`,
  ],
};

/** A server at a port. */
type Listening = AsyncDisposable & { readonly port: number };

/** Starts a server that does this with the first bytes of a connection. */
async function serve(answer: (socket: Socket) => void): Promise<Listening> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => answer(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  return { port, [Symbol.asyncDispose]: () => new Promise<void>((resolve) => void server.close(() => resolve())) };
}

for (const [what, [listen, url, words]] of Object.entries(WRONG)) {
  Deno.test(`holdfast says that it has found ${what}, with every verb`, async () => {
    await using server = await listen();
    const at = `127.0.0.1:${server.port}`;
    const store = url(at);
    const run = await holdfast(["run", "--wait", "1s", "a", "--", "true"], { store });
    const ls = await holdfast(["ls"], { store });
    const doctor = await holdfast(["doctor", "--quiet"], { store });
    assertEquals([ls.status, run.status, doctor.status], [69, 69, 1]);
    assert(ls.err.includes(words(at)), ls.err);
    assert(run.err.includes(words(at)), run.err);
    assert(doctor.out.includes(`error  unreachable: ${store}: ${words(at)}\n`), doctor.out);
  });
}
