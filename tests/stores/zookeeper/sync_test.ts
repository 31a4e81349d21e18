import { assertEquals, assertRejects } from "@std/assert";
import { ZookeeperBackend } from "../../../src/stores/zookeeper/store.ts";
import { settled } from "../../support/virtual_clock.ts";
import { ScriptedClient } from "./scripted_client.ts";

/** Makes a backend on a server that is behind its leader. */
function behind(): { readonly scripted: ScriptedClient; readonly backend: ZookeeperBackend } {
  const scripted = new ScriptedClient();
  scripted.leader = 2;
  return { scripted, backend: new ZookeeperBackend(scripted.client, "/locks") };
}

Deno.test("ZookeeperBackend.read() has its server catch up first, in one trip", async () => {
  const { scripted, backend } = behind();
  const reading = backend.read("a");
  await settled();
  assertEquals(scripted.requested, ["sync", "getData"]);
  scripted.answer();
  assertEquals(await reading, { value: "version 2", version: 2 });
});

Deno.test("ZookeeperBackend.list() has its server catch up first, in one trip", async () => {
  const { scripted, backend } = behind();
  const listing = backend.list(2);
  await settled();
  assertEquals(scripted.requested, ["sync", "getChildren"]);
  scripted.answer();
  await settled();
  assertEquals(scripted.requested, ["getChildren"]);
  scripted.answer();
  await settled();
  assertEquals(scripted.requested, ["getData", "getData"]);
  scripted.answer();
  assertEquals((await listing).documents.map(({ version }) => version), [2, 2]);
});

Deno.test("ZookeeperBackend.read() rejects where the sync fails: what it reads may be old", async () => {
  const { scripted, backend } = behind();
  const { queue } = scripted.connectionManager;
  Object.assign(scripted.connectionManager, {
    queue: (request: object, done: (error: unknown) => void) => queue(request, () => done(new Error("no sync"))),
  });
  const reading = assertRejects(() => backend.read("a"), Error, "no sync");
  await settled();
  scripted.answer();
  await reading;
});
