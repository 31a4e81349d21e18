import { assert, assertEquals } from "@std/assert";
import { Writes } from "../../../../../src/stores/redis/clients/ioredis/writes.ts";
import { settled } from "../../../../support/virtual_clock.ts";

/** A socket that counts what is held back and what is written at once. */
class CountingSocket {
  readonly batches: number[] = [];
  #corked = 0;
  #held = 0;

  cork(): void {
    this.#corked++;
  }

  uncork(): void {
    this.#corked--;
    assert(this.#corked >= 0, "uncorked only after it was corked");
    if (this.#corked === 0 && this.#held > 0) this.batches.push(this.#held);
    if (this.#corked === 0) this.#held = 0;
  }

  write(): void {
    if (this.#corked > 0) this.#held++;
    else this.batches.push(1);
  }

  get corked(): boolean {
    return this.#corked > 0;
  }
}

function send(writes: Writes, socket: CountingSocket, commands: number): void {
  for (let i = 0; i < commands; i++) {
    writes.next(socket);
    socket.write();
  }
}

Deno.test("Writes delays nothing when there is one command in a turn", async () => {
  const [writes, socket] = [new Writes(), new CountingSocket()];
  for (let i = 0; i < 3; i++) {
    send(writes, socket, 1);
    assert(!socket.corked, "not held back");
    await settled();
  }
  assertEquals(socket.batches, [1, 1, 1]);
});

Deno.test("Writes sends the first command of a turn at once, and the others together", async () => {
  const [writes, socket] = [new Writes(), new CountingSocket()];
  send(writes, socket, 6);
  assert(socket.corked, "until the end of the turn");
  assertEquals(socket.batches, [1]);
  await settled();
  assert(!socket.corked, "written");
  assertEquals(socket.batches, [1, 5]);
  send(writes, socket, 3);
  await settled();
  assertEquals(socket.batches, [1, 5, 1, 2]);
});

Deno.test("Writes sends many commands in batches, so that the server need not wait for all", async () => {
  const [writes, socket] = [new Writes(), new CountingSocket()];
  send(writes, socket, 200);
  await settled();
  assert(!socket.corked, "written");
  assertEquals(socket.batches.reduce((sum, batch) => sum + batch), 200);
  assert(Math.max(...socket.batches) <= 32, "none too large");
  assert(socket.batches.length <= 30, "not one by one");
});

Deno.test("Writes ignores a client without a socket, or with one that has no cork()", async () => {
  const writes = new Writes();
  for (let i = 0; i < 40; i++) writes.next(undefined);
  await settled();
  for (let i = 0; i < 40; i++) writes.next({});
  await settled();
  const socket = new CountingSocket();
  writes.next(undefined);
  send(writes, socket, 2);
  await settled();
  assert(!socket.corked, "written");
});

Deno.test("Writes leaves the old socket when the client reconnects within a turn", async () => {
  const [writes, old, young] = [new Writes(), new CountingSocket(), new CountingSocket()];
  send(writes, old, 3);
  send(writes, young, 3);
  await settled();
  assert(!old.corked && !young.corked, "both are written");
  send(writes, young, 3);
  await settled();
  assertEquals([old.batches, young.batches.reduce((sum, batch) => sum + batch)], [[1, 2], 6]);
});
