import type { Clock } from "../../_clock.ts";

/** What one node has said so far: nothing, an answer, or that it failed. */
export type Answer<T> = { readonly value: T } | { readonly error: unknown } | undefined;

/**
 * Resolves to what `decide` makes of the answers as soon as that is something, so that nobody waits for a node that
 * hangs. `decide` is called after each answer; after `ms` milliseconds those that are missing have failed, and it must
 * decide. What it throws is the rejection.
 */
export function count<T, R>(
  asked: readonly Promise<T>[],
  decide: (answers: readonly Answer<T>[]) => R | undefined,
  ms: number,
  clock: Clock,
): Promise<R> {
  return new Promise((resolve, reject) => {
    const answers: Answer<T>[] = asked.map(() => undefined);
    const settle = () => {
      try {
        const decision = decide(answers);
        if (decision === undefined) return;
        resolve(decision);
      } catch (error) {
        reject(error);
      }
      timer.cancel();
    };
    const timer = clock.timer(ms, () => {
      for (const index of answers.keys()) answers[index] ??= { error: new Error(`no answer within ${ms} ms`) };
      settle();
    });
    for (const [index, promise] of asked.entries()) {
      const note = (answer: Answer<T>) => {
        answers[index] ??= answer;
        settle();
      };
      promise.then((value) => note({ value }), (error: unknown) => note({ error }));
    }
  });
}

/** The answer itself, if there is one. */
export function valueOf<T>(answer: Answer<T>): T | undefined {
  return answer !== undefined && "value" in answer ? answer.value : undefined;
}

/** Whether a majority says yes, or so many say no that none can; undefined while, or since, neither is certain. */
export function majority(answers: readonly Answer<boolean>[], needed: number): boolean | undefined {
  const values = answers.map(valueOf);
  if (values.filter((value) => value === true).length >= needed) return true;
  if (values.filter((value) => value === false).length > answers.length - needed) return false;
  return undefined;
}
