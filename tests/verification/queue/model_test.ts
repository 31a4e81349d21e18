// Deno only: it takes long, and compares the stores with each other.
import { denoKv } from "@holdfast/lock/deno-kv";
import { durableObject } from "@holdfast/lock/durable-object";
import { postgres } from "@holdfast/lock/postgres";
import { memory } from "@holdfast/lock/memory";
import { sqlite } from "@holdfast/lock/sqlite";
import { RedisServer } from "../../support/redis_server.ts";
import { sharedServer } from "../../stores/postgres/shared_server.ts";
import { connectWith } from "../../stores/postgres/clients.ts";
import { agrees, agreesInFewRuns } from "./agrees.ts";
import { serverStore } from "../../support/server_store.ts";
import { cas } from "../../../src/engine/mod.ts";
import { patient } from "../../support/patient.ts";
import { ObjectHost } from "../../stores/durable_object/host.ts";
import { Documents, memoryBackend } from "../../engine/memory_backend.ts";

/** How many of the runs wait for leases to end; each does so several times. */
const ENDING = 15;

Deno.test("memory() grants what the model of the queue grants, in the same order", async () => {
  await agrees(memory(), { runs: 2_000, ending: false });
  await agrees(memory(), { runs: ENDING, ending: true });
});

Deno.test("sqlite() grants what the model of the queue grants, in the same order", async () => {
  using store = sqlite(":memory:");
  await agrees(store, { runs: 1_000, ending: false });
  await agrees(store, { runs: ENDING, ending: true });
});

Deno.test("redis() grants what the model of the queue grants, in the same order", async () => {
  await using server = await RedisServer.start();
  const store = serverStore(server.connect());
  await agrees(store, { runs: 500, ending: false });
  await agrees(store, { runs: ENDING, ending: true });
});

Deno.test("denoKv() grants what the model of the queue grants, in the same order", async () => {
  using kv = await Deno.openKv(":memory:");
  const store = patient(denoKv(kv));
  await agreesInFewRuns(store);
});

Deno.test("durableObject() grants what the model of the queue grants, in the same order", async () => {
  const store = durableObject(new ObjectHost());
  await agreesInFewRuns(store);
});

const { server, ignore } = await sharedServer();

Deno.test({
  name: "postgres() grants what the model of the queue grants, in the same order",
  ignore,
  fn: async () => {
    await using connected = connectWith("postgres.js", server().url);
    const store = patient(postgres(connected.client));
    await agreesInFewRuns(store);
  },
});

for (const clock of [undefined, Date.now]) {
  const kind = clock === undefined ? "without a clock" : "with a clock";
  Deno.test(`cas() on a backend ${kind} grants what the model of the queue grants`, async () => {
    const store = cas(memoryBackend(new Documents(), { clock }));
    await agrees(store, { runs: 1_000, ending: false });
    await agrees(store, { runs: ENDING, ending: true });
  });
}
