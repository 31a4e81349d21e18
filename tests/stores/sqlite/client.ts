import type { Clock } from "../../../src/time/clock.ts";
import type { Claim } from "../../../src/contract/store.ts";
import { LockFile } from "../../../src/stores/sqlite/file/file.ts";
import { Heartbeats } from "../../../src/stores/sqlite/watch/heartbeats.ts";
import { enqueue } from "../../../src/stores/sqlite/tables/transitions.ts";
import { Poller } from "../../../src/stores/sqlite/watch/poller.ts";
import { LocalWaiters } from "../../../src/stores/sqlite/watch/local_waiters.ts";
import type { Fixture } from "./fixture.ts";

/** A poller with a file of its own, of which the pauses are noted. */
export class Client implements Disposable {
  /** The pauses between polls, in milliseconds. */
  readonly pauses: number[] = [];
  readonly file: LockFile;
  readonly waiters: LocalWaiters;
  readonly heartbeats: Heartbeats;
  readonly poller: Poller;

  constructor({ clock, path }: Fixture) {
    const noted: Clock = {
      now: () => clock.now(),
      sleep: (ms, signal) => clock.sleep(ms, signal),
      timer: (ms, run) => {
        this.pauses.push(ms);
        return clock.timer(ms, run);
      },
    };
    this.file = new LockFile(path, noted);
    this.waiters = new LocalWaiters(noted);
    this.heartbeats = new Heartbeats(this.file, this.waiters, noted);
    this.poller = new Poller(this.file, this.waiters, this.heartbeats, noted);
  }

  /** Puts a waiter into the queue, which sleeps from then on; gives whether it was woken. */
  async sleeps(claim: Claim): Promise<{ woken: boolean }> {
    const place = await this.file.write((run, now) => enqueue(run, claim, undefined, this.heartbeats.view(now)));
    this.poller.add(claim, place);
    const sleeper = { woken: false };
    this.poller.wakeup(claim, new AbortController().signal).then(() => sleeper.woken = true);
    return sleeper;
  }

  [Symbol.dispose](): void {
    this.file.close((run) => this.heartbeats.deleteClient(run));
    this.poller.close();
  }
}
