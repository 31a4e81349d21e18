import { assertEquals } from "@std/assert";
import { getEventListeners } from "node:events";
import { Revocations } from "../../../../src/stores/redis/wakeups/revocations.ts";
import { settled } from "../../../support/virtual_clock.ts";

/** Handles that watch, which of them the server was asked about, and whose locks were revoked. */
class Fixture implements Disposable {
  readonly revocations = new Revocations();
  readonly asked: string[] = [];
  readonly revoked: string[] = [];
  readonly #controller = new AbortController();

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  watch(handle: string, held: () => Promise<boolean>): Promise<unknown> {
    const ask = () => {
      this.asked.push(handle);
      return held();
    };
    return this.revocations.wait(handle, ask, this.signal).then(() => this.revoked.push(handle));
  }

  [Symbol.dispose](): void {
    this.#controller.abort();
  }
}

const [yes, no] = [() => Promise.resolve(true), () => Promise.resolve(false)];

Deno.test("Revocations.receive() asks the server about the handle, and about no other", async () => {
  using fixture = new Fixture();
  fixture.watch("a", yes);
  fixture.watch("b", no);
  for (const handle of ["a", "c", ""]) fixture.revocations.receive(handle);
  await settled();
  assertEquals([fixture.asked, fixture.revoked, fixture.revocations.size], [["a"], [], 2]);
  fixture.revocations.receive("b");
  await settled();
  assertEquals([fixture.asked, fixture.revoked, fixture.revocations.size], [["a", "b"], ["b"], 1]);
});

Deno.test("Revocations.check() asks about all handles, and keeps those whose answer fails", async () => {
  using fixture = new Fixture();
  fixture.watch("a", yes);
  fixture.watch("b", no);
  fixture.watch("c", () => Promise.reject(new Error("cut")));
  fixture.revocations.check();
  await settled();
  assertEquals([fixture.asked, fixture.revoked, fixture.revocations.size], [["a", "b", "c"], ["b"], 2]);
});

Deno.test("Revocations.wait() leaves no listener and no watch when it resolves", async () => {
  const fixture = new Fixture();
  const waiting = ["a", "b"].map((handle) => fixture.watch(handle, no));
  assertEquals([getEventListeners(fixture.signal, "abort").length, fixture.revocations.size], [1, 2]);
  fixture.revocations.check("a");
  await waiting[0];
  assertEquals([getEventListeners(fixture.signal, "abort").length, fixture.revocations.size], [1, 1]);
  fixture[Symbol.dispose]();
  await waiting[1];
  assertEquals([getEventListeners(fixture.signal, "abort").length, fixture.revocations.size], [0, 0]);
  await fixture.watch("c", yes);
  assertEquals([fixture.asked, fixture.revocations.size], [["a"], 0]);
});

Deno.test("Revocations.recall() receives the message that came before the handle watched", async () => {
  using fixture = new Fixture();
  for (const message of ["other", '{"job":"thief"}\na', "b\nc"]) fixture.revocations.receive(message);
  for (const handle of ["a", "b", "c", "b\nc", "d"]) {
    fixture.watch(handle, no);
    fixture.revocations.recall(handle);
  }
  await settled();
  // What follows the last line feed is taken for the id: the server is asked in any case.
  assertEquals([fixture.asked, fixture.revocations.size], [["a", "c", "b\nc"], 2]);
  // Only the last ones are remembered.
  for (let i = 0; i < 101; i++) fixture.revocations.receive(`${i}`);
  for (const handle of ["0", "1"]) {
    fixture.watch(handle, no);
    fixture.revocations.recall(handle);
  }
  await settled();
  assertEquals(fixture.asked.slice(3), ["1"]);
});
