import { pause } from "../../../bench/pause.ts";
import type { Session } from "../session.ts";
import { need } from "./order.ts";

/** One lock. */
export interface One {
  readonly name: string;
  /** In milliseconds. */
  readonly lease?: number;
}

/** Takes a lock and keeps it; returns when it was asked for and when it was held, in milliseconds since 1970. */
export async function lock(session: Session, { name, lease }: One): Promise<{ asked: number; held: number }> {
  const asked = Date.now();
  await need(session, "lock")(name, lease);
  return { asked, held: Date.now() };
}

/** Takes a lock that is renewed where the library can; resolves when the holder is told that it is lost. */
export async function watch(session: Session, { name, lease = 1_000 }: One): Promise<number> {
  const lost = Promise.withResolvers<void>();
  const take = session.hold ?? need(session, "lock");
  await take.call(session, name, lease, lost.resolve);
  await lost.promise;
  return Date.now();
}

/** Waits for a lock for at most so many milliseconds; returns how long that took, and how it ended. */
export async function within(
  session: Session,
  { name, ms }: One & { readonly ms: number },
): Promise<{ took: number; outcome: string }> {
  const started = performance.now();
  const outcome = await need(session, "within")(name, ms).then(() => "held", (error) => String(error.message));
  return { took: performance.now() - started, outcome };
}

/** Takes one lock over and over; returns when each section began, in milliseconds since 1970. */
export async function greedy(
  session: Session,
  { name, seconds, section }: One & { readonly seconds: number; readonly section: number },
): Promise<number[]> {
  const take = need(session, "lock");
  const began: number[] = [];
  for (const end = Date.now() + seconds * 1_000; Date.now() < end;) {
    const release = await take(name);
    began.push(Date.now());
    await pause(section);
    await release();
  }
  return began;
}

/** Asks for one lock so many times, now and then; returns when, and when it was held, if it was. */
export async function patient(
  session: Session,
  { name, times, rest }: One & { readonly times: number; readonly rest: number },
): Promise<{ asked: number; until: number; held: boolean }[]> {
  const take = need(session, "lock");
  const waits: { asked: number; until: number; held: boolean }[] = [];
  for (let i = 0; i < times; i++) {
    const asked = Date.now();
    try {
      const release = await take(name);
      waits.push({ asked, until: Date.now(), held: true });
      await release();
    } catch {
      waits.push({ asked, until: Date.now(), held: false });
    }
    // Not in step with the other one.
    await pause(rest * Math.random());
  }
  return waits;
}
