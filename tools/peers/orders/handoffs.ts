import { countCommands, resetCommands } from "../../../bench/commands.ts";
import { pause } from "../../../bench/pause.ts";
import { IDLE } from "../../../bench/relay.ts";
import { connect } from "../clients.ts";
import type { Release, Session } from "../session.ts";
import { need } from "./order.ts";

/** A lock that goes from hand to hand while so many wait for it. */
export interface Handoffs {
  readonly name: string;
  readonly waiters: number;
  readonly seconds: number;
  /** The server whose commands are to be counted, if it is one. */
  readonly port?: number;
}

/** What became of it. */
export interface HandoffsDone {
  /** The milliseconds from each call of release until the next holder ran. */
  readonly times: number[];
  /** Waits that ended without the lock, because the library gave up; each began anew. */
  readonly failures: number;
  /** Commands of the server for each handoff. */
  readonly commands?: number;
}

/**
 * The longest time that a holder keeps the lock besides, in milliseconds: who asks every 10 ms is not to gain by a lock
 * that is released every 10 ms.
 */
const SPREAD = 20;

/** So many handoffs come before those that count. */
const WARM_UP = 2;

/** How long all waiters get for their first attempt, in milliseconds, and each of them. */
const SETTLE = 300;
const SETTLE_EACH = 0.7;

/** A library that gives up is not asked again at once: nobody is to gain by it. */
const PAUSE = 5;

/** The queue stays as long as it is: who has released waits again while the next one holds. */
export async function handoffs(session: Session, { name, waiters, seconds, port }: Handoffs): Promise<HandoffsDone> {
  const [server] = port === undefined ? [] : await connect([port], false);
  const lock = need(session, "lock");
  const times: number[] = [];
  let failures = 0;
  let running = Promise.withResolvers<{ release: Release; at: number }>();
  const join = () => {
    lock(name).then((release) => running.resolve({ release, at: performance.now() }), async () => {
      failures++;
      await pause(PAUSE);
      join();
    });
  };
  join();
  let { release } = await running.promise;
  running = Promise.withResolvers();
  for (let waiter = 0; waiter < waiters; waiter++) join();
  await pause(SETTLE + SETTLE_EACH * waiters);

  if (server !== undefined) await resetCommands(server);
  let handoff = 0;
  for (const end = performance.now() + seconds * 1_000; performance.now() < end || times.length === 0; handoff++) {
    await pause(IDLE + Math.random() * SPREAD);
    const released = performance.now();
    const releasing = release();
    const next = await running.promise;
    if (handoff >= WARM_UP) times.push(next.at - released);
    await releasing;
    release = next.release;
    running = Promise.withResolvers();
    join();
  }
  if (server === undefined) return { times, failures };
  return { times, failures, commands: (await countCommands(server)).all / handoff };
}

/** Waiters that have nothing to hope for. */
export interface Idle {
  readonly name: string;
  readonly waiters: number;
}

/** Gives how many of them wait when the first attempts are over. */
export async function idle(session: Session, { name, waiters }: Idle): Promise<number> {
  const lock = need(session, "lock");
  await lock(name);
  const join = () => {
    lock(name).catch(async () => {
      await pause(PAUSE);
      join();
    });
  };
  for (let waiter = 0; waiter < waiters; waiter++) join();
  await pause(SETTLE + SETTLE_EACH * waiters);
  return waiters;
}
