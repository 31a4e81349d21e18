// Deno only: it tests what starts servers, which other runtimes ask this one for.
import { assertEquals, assertRejects } from "@std/assert";
import { leavingNothing } from "../tools/leaks.ts";
import { RedisServer } from "./redis_server.ts";

Deno.test("start() rejects when the port is taken, whether the other program answers or not", async () => {
  await using server = await RedisServer.start();
  await server.kill();
  for (const answer of ["*0\r\n", undefined]) {
    using listener = Deno.listen({ hostname: "127.0.0.1", port: server.port });
    const met = (async () => {
      for await (const connection of listener) {
        if (answer === undefined) await connection.readable.pipeTo(new WritableStream());
        else await connection.write(new TextEncoder().encode(answer)).finally(() => connection.close());
      }
    })();
    await assertRejects(() => server.start(), Error);
    listener.close();
    await met;
  }
  await server.start();
});

Deno.test({
  name: "start() gives a server again that is as new, and none that is not",
  // It searches itself, so that servers are used again when "deno test" runs it alone.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: () => leavingNothing(servedAgain),
});

async function servedAgain(): Promise<void> {
  const portAfter = async (used: (server: RedisServer) => unknown) => {
    const server = await RedisServer.start();
    await used(server);
    await server[Symbol.asyncDispose]();
    await using next = await RedisServer.start();
    assertEquals(await next.leftovers(), []);
    return next.port === server.port ? "again" : "another";
  };
  assertEquals(await portAfter((server) => server.command("SET", "a", 1)), "again");
  assertEquals(await portAfter(async (server) => (await server.kill(), await server.start())), "again");
  assertEquals(await portAfter((server) => server.freeze()), "again");
  assertEquals(await portAfter((server) => server.kill()), "another");
  assertEquals(await portAfter((server) => server.command("CONFIG", "SET", "maxmemory", "1gb")), "another");
  assertEquals(await portAfter((server) => server.command("ACL", "SETUSER", "a")), "another");
  assertEquals(await portAfter((server) => server.command("REPLICAOF", "127.0.0.1", 1)), "another");
  assertEquals(await portAfter((server) => server.command("CLIENT", "PAUSE", 60_000)), "another");
  const connections: Deno.Conn[] = [];
  const connect = async ({ port }: RedisServer) =>
    connections.push(await Deno.connect({ hostname: "127.0.0.1", port }));
  assertEquals(await portAfter(connect), "another");
  connections[0]!.close();
}
