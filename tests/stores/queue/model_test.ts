import { redis } from "@holdfast/lock/redis";
import { memory } from "@holdfast/lock/memory";
import { sqlite } from "@holdfast/lock/sqlite";
import { RedisServer } from "../../redis_server.ts";
import { agrees } from "./agrees.ts";

Deno.test("MemoryStore grants what the model of the queue grants, in the same order", async () => {
  await agrees(memory(), 2_000);
});

Deno.test("the SQLite store grants what the model of the queue grants, in the same order", async () => {
  using store = sqlite(":memory:");
  await agrees(store, 1_000);
});

Deno.test("the Redis store grants what the model of the queue grants, in the same order", async () => {
  await using server = await RedisServer.start();
  await agrees(redis(server.connect()), 500);
});
