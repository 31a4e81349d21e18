// Deno only: it replaces functions of the process.
import { assertEquals } from "@std/assert";
import { Child } from "../../src/supervise/child.ts";
import { FakeChild, FakeProcess, ID } from "./fake_process.ts";

Deno.test("Child reaches what the command has left behind in its group", () => {
  using self = new FakeProcess();
  const fake = new FakeChild();
  const child = new Child(fake.asChild, ID, false);
  assertEquals([child.id, child.over, child.alive], [-ID, false, true]);
  fake.end(0);
  self.alive.delete(ID);
  assertEquals([child.over, child.alive], [true, true]);
  child.signal("SIGTERM");
  child.signalCommand("SIGTERM");
  assertEquals(self.sent, [[-ID, "SIGTERM"]]);
  self.alive.delete(-ID);
  assertEquals(child.alive, false);
  child.signal("SIGKILL");
  assertEquals(self.sent.length, 1);
});

Deno.test("Child reaches nothing by the id of a command in the foreground that has ended", () => {
  using self = new FakeProcess();
  const fake = new FakeChild();
  const child = new Child(fake.asChild, ID, true);
  child.signal("SIGTERM");
  assertEquals([child.id, child.alive, self.sent], [ID, true, [[ID, "SIGTERM"]]]);
  fake.end(0);
  // The id is that of another process by now.
  child.signal("SIGKILL");
  child.signalCommand("SIGKILL");
  assertEquals([child.alive, self.sent.length], [false, 1]);
});

Deno.test("Child takes processes of another user for alive", () => {
  using self = new FakeProcess();
  const child = new Child(new FakeChild().asChild, ID, false);
  self.foreign.add(-ID);
  assertEquals(child.alive, true);
});

Deno.test("Child.ended is the status of the command, or 128 and the signal that killed it", async () => {
  for (const [code, signal, status] of [[7, null, 7], [null, "SIGKILL", 137], [null, null, 1]] as const) {
    const fake = new FakeChild();
    const { ended } = new Child(fake.asChild, ID, false);
    fake.end(code, signal);
    assertEquals(await ended, status);
  }
});
