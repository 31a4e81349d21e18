import { assert, assertEquals } from "@std/assert";
import type { EtcdFetch } from "@holdfast/lock/etcd";
import { EtcdGateway } from "../../../src/stores/etcd/gateway.ts";
import { checkEtcdOptions } from "../../../src/stores/etcd/options.ts";
import { EtcdWatches } from "../../../src/stores/etcd/watch.ts";
import { settled, VirtualClock } from "../../support/virtual_clock.ts";

const KEY = btoa("a");

/** A stream that a scripted server has begun. */
interface Stream {
  /** The body of the request. */
  readonly request: string;
  /** Whether its request was aborted and its body is not read on: not every runtime does the one with the other. */
  readonly isOver: () => boolean;
  /** Sends bytes, as they are. */
  readonly send: (bytes: Uint8Array) => void;
  /** Sends a message. */
  readonly say: (result: object) => void;
  readonly end: () => void;
}

/** Watches on a server that says what a test lets it say. The clock stands still. */
function scripted(): { readonly watches: EtcdWatches; readonly streams: Stream[]; readonly clock: VirtualClock } {
  const streams: Stream[] = [];
  const fetch: EtcdFetch = (_url, { body: request, signal }) => {
    let sender!: ReadableStreamDefaultController<Uint8Array>;
    let unread = false;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => void (sender = controller),
      cancel: () => void (unread = true),
    });
    const send = (bytes: Uint8Array) => sender.enqueue(bytes);
    const say = (result: object) => send(bytesOf({ result }));
    streams.push({ request, isOver: () => signal.aborted && unread, send, say, end: () => sender.close() });
    return Promise.resolve(new Response(body));
  };
  const clock = new VirtualClock();
  const gateway = new EtcdGateway(checkEtcdOptions({ endpoints: ["http://127.0.0.1:1"], fetch }), clock);
  return { watches: new EtcdWatches(gateway, clock), streams, clock };
}

function bytesOf(message: object): Uint8Array {
  return new TextEncoder().encode(`${JSON.stringify(message)}\n`);
}

/** A write of the key. */
function write(revision: number): object {
  return { kv: { key: KEY, value: btoa(`${revision}`), mod_revision: `${revision}` } };
}

/** A watch of the key, and how it has ended so far. */
class Watch {
  readonly #over = new AbortController();
  /** The revisions that it has resolved to; `undefined` for one that is not known. */
  readonly ended: (string | undefined)[] = [];
  readonly failed: unknown[] = [];

  constructor(watches: EtcdWatches, revision: bigint, key = KEY) {
    watches.watch(key, revision, this.#over.signal, { isWaited: true }).then(
      (event) => this.ended.push(event?.kv.mod_revision),
      (error) => this.failed.push(error),
    );
  }

  /** Gives up. */
  async leave(): Promise<void> {
    this.#over.abort();
    await settled();
  }
}

Deno.test("EtcdWatches wakes each waiter that a message reaches, with its last event", async () => {
  const { watches, streams } = scripted();
  const [first, second, third] = [5n, 6n, 7n].map((revision) => new Watch(watches, revision));
  await settled();
  streams[0]!.say({ created: true });
  // Both changes in one message.
  streams[0]!.say({ events: [write(5), write(6)] });
  await settled();
  assertEquals([first!.ended, second!.ended, third!.ended], [["6"], ["6"], []]);
  const late = new Watch(watches, 6n);
  await settled();
  assertEquals([late.ended, streams.length], [["6"], 1], "what has come is known");
  await third!.leave();
});

Deno.test("EtcdWatches begins at the revision that is waited for, with one stream for a key", async () => {
  const { watches, streams } = scripted();
  const all = [new Watch(watches, 5n), new Watch(watches, 9n), new Watch(watches, 5n, btoa("b"))];
  await settled();
  const requests = streams.map(({ request }) => JSON.parse(request));
  assertEquals(requests, [KEY, btoa("b")].map((key) => ({ create_request: { key, start_revision: "5" } })));
  const older = new Watch(watches, 4n);
  await settled();
  assertEquals([older.ended, streams.length], [[undefined], 2], "what came before is not known");
  for (const watch of all) await watch.leave();
  assert(streams.every(({ isOver }) => isOver()), "no stream is left");
});

Deno.test("EtcdWatches understands a message that comes in pieces, and several at once", async () => {
  const { watches, streams } = scripted();
  const [first, second] = [new Watch(watches, 5n), new Watch(watches, 6n)];
  await settled();
  const message = bytesOf({ result: { events: [write(5)] } });
  for (const byte of message) streams[0]!.send(Uint8Array.of(byte));
  await settled();
  assertEquals([first.ended, second.ended], [["5"], []]);
  const both = [{ created: true }, { events: [write(6)] }].flatMap((result) => [...bytesOf({ result })]);
  streams[0]!.send(Uint8Array.from(both));
  await settled();
  assertEquals(second.ended, ["6"]);
});

Deno.test("EtcdWatches keeps a stream that the server has confirmed, while messages come", async () => {
  const { watches, streams, clock } = scripted();
  const all = [new Watch(watches, 5n)];
  await settled();
  for (const message of [{ created: true }, { events: [write(4)] }]) {
    streams[0]!.say(message);
    await clock.advance(4_999);
    all.push(new Watch(watches, 5n));
    await settled();
  }
  assertEquals([streams.length, clock.pending, ...all.map(({ ended }) => ended)], [1, 0, [], [], []]);
  streams[0]!.say({ events: [write(5)] });
  await settled();
  assertEquals(all.map(({ ended }) => ended), [["5"], ["5"], ["5"]]);
});

Deno.test("EtcdWatches leaves a stream that was silent for 5 s, and its waiters look", async () => {
  const { watches, streams, clock } = scripted();
  const watch = new Watch(watches, 5n);
  await settled();
  streams[0]!.say({ created: true });
  await clock.advance(5_000);
  const other = new Watch(watches, 5n);
  await settled();
  assertEquals([watch.ended, streams.map(({ isOver }) => isOver())], [[undefined], [true, false]]);
  streams[1]!.say({ created: true });
  streams[1]!.say({ events: [write(5)] });
  await settled();
  assertEquals(other.ended, ["5"]);
});

Deno.test("EtcdWatches keeps a stream whose first message lies behind a late timer", async () => {
  const { watches, streams, clock } = scripted();
  const watch = new Watch(watches, 5n);
  await settled();
  clock.stall(5_000);
  await clock.advance(999);
  streams[0]!.say({ created: true });
  streams[0]!.say({ events: [write(5)] });
  await clock.advance(1);
  assertEquals(watch.ended, ["5"]);
});

Deno.test("EtcdWatches begins no stream for 10 s once a proxy keeps back what comes", async () => {
  const { watches, streams, clock } = scripted();
  const watch = new Watch(watches, 5n);
  await clock.advance(999);
  assertEquals([watch.ended, streams[0]!.isOver()], [[], false]);
  await clock.advance(1);
  assertEquals([watch.ended, streams[0]!.isOver()], [[undefined], true]);
  await clock.advance(9_999);
  const early = new Watch(watches, 5n);
  await settled();
  assertEquals([early.failed, streams.length], [[], 1], "it polls");
  await early.leave();
  await clock.advance(1);
  const next = new Watch(watches, 5n);
  await settled();
  streams[1]!.say({ created: true });
  streams[1]!.say({ events: [write(5)] });
  await settled();
  assertEquals(next.ended, ["5"]);
});

Deno.test("EtcdWatches has 16 streams at most, and begins another one when one has ended", async () => {
  const { watches, streams } = scripted();
  const all = Array.from({ length: 16 }, (_, i) => new Watch(watches, 5n, btoa(`${i}`)));
  await settled();
  const polled = new Watch(watches, 5n);
  await settled();
  assertEquals([polled.failed, streams.length], [[], 16], "it polls");
  await polled.leave();
  await all.pop()!.leave();
  all.push(new Watch(watches, 5n));
  await settled();
  assertEquals([streams.length, all.at(-1)!.failed], [17, []]);
  for (const watch of all) await watch.leave();
});

for (
  const [what, end] of Object.entries({
    "has cancelled it": ({ say, isOver }: Stream) => (say({ canceled: true, compact_revision: "9" }), isOver),
    "has ended it": ({ end }: Stream) => (end(), () => true),
  })
) {
  Deno.test(`EtcdWatches resolves a watch when the server ${what}, and begins another one`, async () => {
    const { watches, streams, clock } = scripted();
    const watch = new Watch(watches, 5n);
    await settled();
    streams[0]!.say({ created: true });
    const isOver = end(streams[0]!);
    await settled();
    assert(isOver(), "its stream is not left");
    assertEquals([watch.ended, watch.failed, clock.pending], [[undefined], [], 0], "something may have changed");
    const next = new Watch(watches, 5n);
    await settled();
    assertEquals([streams.length, next.ended, next.failed], [2, [], []]);
    await next.leave();
  });
}

Deno.test("EtcdWatches rejects a watch when its stream fails, and begins another one", async () => {
  const { watches, streams, clock } = scripted();
  const watch = new Watch(watches, 5n);
  await settled();
  streams[0]!.send(bytesOf({ error: { message: "etcdserver: no leader" } }));
  await settled();
  assert(/no leader/.test(`${watch.failed}`), `${watch.failed}`);
  assertEquals([streams[0]!.isOver(), clock.pending], [true, 0]);
  const next = new Watch(watches, 5n);
  await settled();
  assertEquals([streams.length, next.failed], [2, []]);
  await next.leave();
});
