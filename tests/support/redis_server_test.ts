// Deno only: it tests what starts servers, which other runtimes ask this one for.
import { assertRejects } from "@std/assert";
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
