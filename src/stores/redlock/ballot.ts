import type { Clock } from "../../_clock.ts";
import type { Vote } from "../../store.ts";
import { type Verdict, verdict } from "./arithmetic.ts";

/** What one node has said so far: nothing, an answer, or that it failed. */
export type Answer<T> = { readonly value: T } | { readonly error: unknown } | undefined;

/** How answers are to be counted. */
export interface Counting<T, R> {
  /** Called after each answer: the result as soon as it is certain. What it throws is the rejection. */
  readonly decide: (answers: readonly Answer<T>[]) => R | undefined;
  /** Told of each node, by its place, whether it has answered, also late; or that it failed, or has not in time. */
  readonly heard: (place: number, answered: boolean) => void;
  /** After so many milliseconds those that are missing have failed, and `decide` must decide. */
  readonly ms: number;
  readonly clock: Clock;
}

/** Resolves to what is made of the answers as soon as that is certain, so that nobody waits for a node that hangs. */
export function count<T, R>(asked: readonly Promise<T>[], counting: Counting<T, R>): Promise<R> {
  const { decide, heard, ms, clock } = counting;
  return new Promise((resolve, reject) => {
    const answers: Answer<T>[] = asked.map(() => undefined);
    let settled = false;
    const settle = () => {
      if (settled) return;
      try {
        const decision = decide(answers);
        if (decision === undefined) return;
        resolve(decision);
      } catch (error) {
        reject(error);
      }
      settled = true;
      timer.cancel();
    };
    const note = (place: number, answer: Answer<T>, answered: boolean) => {
      heard(place, answered);
      answers[place] ??= answer;
      settle();
    };
    const timer = clock.timer(ms, () => {
      for (const [place, answer] of answers.entries()) {
        if (answer !== undefined) continue;
        heard(place, false);
        answers[place] = { error: new Error(`no answer within ${ms} ms`) };
      }
      settle();
    });
    asked.forEach((promise, place) => {
      promise.then((value) => note(place, { value }, true), (error: unknown) => note(place, { error }, false));
    });
  });
}

/** The answer itself, if there is one. */
export function valueOf<T>(answer: Answer<T>): T | undefined {
  return answer !== undefined && "value" in answer ? answer.value : undefined;
}

/** Whether a majority says yes, or so many say no that none can; undefined while, or since, neither is certain. */
export function majority(answers: readonly Answer<boolean>[], needed: number): boolean | undefined {
  let yes = 0;
  let no = 0;
  for (const answer of answers) {
    const value = valueOf(answer);
    if (value === true) yes++;
    else if (value === false) no++;
  }
  if (yes >= needed) return true;
  return no > answers.length - needed ? false : undefined;
}

/** What votes come to, as soon as that is certain. */
export function outcome(answers: readonly Answer<Vote>[], coordinator: number): Verdict | undefined {
  // Its word counts, whatever the others granted: else whoever asks again at once would overtake its queue.
  if (valueOf(answers[coordinator])?.granted === false) return "busy";
  let granted = 0;
  let raised = 0;
  let busy = 0;
  let failed = 0;
  for (const answer of answers) {
    if (answer === undefined) continue;
    const vote = valueOf(answer);
    if (vote === undefined) failed++;
    else if (!vote.granted) busy++;
    else {
      granted++;
      if (vote.raised) raised++;
    }
  }
  return verdict({ nodes: answers.length, granted, raised, busy, failed });
}
