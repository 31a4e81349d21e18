/**
 * By how much the clocks of two processes may differ, in milliseconds: what they write down is compared more exactly.
 */
const AGREED = 3;

/** How often each process is asked. */
const QUESTIONS = 5;

/** Rejects when the clock of a process differs from the one here, as far as question and answer prove it. */
export async function agree(ask: () => Promise<number>, now: () => number): Promise<void> {
  let most = 0;
  for (let i = 0; i < QUESTIONS; i++) {
    const asked = now();
    const at = await ask();
    const ahead = at - now();
    const apart = at < asked ? at - asked : Math.max(0, ahead);
    if (Math.abs(apart) > Math.abs(most)) most = apart;
  }
  if (Math.abs(most) <= AGREED) return;
  const way = most < 0 ? "behind" : "ahead";
  throw new Error(
    `the clock of a worker process is ${Math.abs(most).toFixed(1)} ms ${way}: what it writes down cannot be compared`,
  );
}
