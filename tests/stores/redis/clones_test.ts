import { assert, assertInstanceOf, assertRejects } from "@std/assert";
import { acquire, StoreError, tryAcquire } from "@holdfast/lock";
import { Redis } from "ioredis";
import { createServer } from "node:net";
import { closed, RedisServer } from "../../support/redis_server.ts";

/** A server that understands the protocol of Redis, and answers scripts like this. */
function clone(replies: Record<string, string>): Promise<{ port: number } & AsyncDisposable> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (data) => {
      // Each command is an array whose length comes first, and then the name; clients send some at once.
      for (const [, name = ""] of data.toString().matchAll(/\*\d+\r\n\$\d+\r\n(\w+)/g)) {
        socket.write(replies[name.toLowerCase()] ?? `-ERR unknown command '${name}', with args beginning with: \r\n`);
      }
    });
  });
  const { promise, resolve } = Promise.withResolvers<{ port: number } & AsyncDisposable>();
  server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    const port = typeof address === "object" ? address!.port : 0;
    resolve({
      port,
      [Symbol.asyncDispose]: () => new Promise<void>((done) => void server.close(() => done())),
    });
  });
  return promise;
}

const REFUSALS: Record<string, { replies: Record<string, string>; words: RegExp }> = {
  "runs no scripts": {
    replies: {},
    words: /the server does not run scripts .*Redis 6\.2 or later.*unknown command ['`]evalsha/,
  },
  "runs only scripts that it knows": {
    replies: { evalsha: "-NOSCRIPT No matching script. Please use EVAL.\r\n" },
    words: /the server does not run scripts .*unknown command 'eval'/,
  },
  "lacks a command in scripts": {
    replies: { evalsha: "-ERR Unknown Redis command called from script script: 8746, on @user_script:11.\r\n" },
    words: /the server lacks a command that locks need; Redis 6\.2 or later.*from script/,
  },
  "knows no SET with GET": {
    replies: { evalsha: "-ERR syntax error\r\n" },
    words: /the server is too old, or only resembles Redis; Redis 6\.2 or later.*syntax error/,
  },
};

for (const [lack, { replies, words }] of Object.entries(REFUSALS)) {
  Deno.test(`acquire() and tryAcquire() reject with one error when the server ${lack}`, async () => {
    await using server = await clone(replies);
    const client = new Redis(server.port, "127.0.0.1", { enableReadyCheck: false, protocol: 2 });
    for (const ask of [acquire, tryAcquire]) {
      const error = await assertRejects(() => ask(client, "a"), StoreError);
      assert(words.test(error.message), error.message);
      assertInstanceOf(error.cause, Error);
    }
    await closed(client);
  });
}

Deno.test("acquire() rejects with one clear error when a server forbids scripts", async () => {
  await using server = await RedisServer.start(["--rename-command", "EVALSHA", "", "--rename-command", "EVAL", ""]);
  const error = await assertRejects(() => acquire(server.connect(), "a"), StoreError);
  assert(REFUSALS["runs no scripts"]!.words.test(error.message), error.message);
});
