import type { Timer } from "../../time/clock.ts";

export type Answer<T> =
  | { readonly state: "pending" }
  | { readonly state: "answered"; readonly value: T }
  | { readonly state: "failed"; readonly error: unknown };

export interface PollOptions<T, R> {
  /** Returns the outcome once it is certain. Called after each answer; an error that it throws rejects the poll. */
  readonly decide: (answers: readonly Answer<T>[]) => R | undefined;
  /** Called when a node has answered or failed, also after the decision. */
  readonly onSettled: (node: number, answered: boolean) => void;
  /** How long each node may take to answer, in milliseconds. */
  readonly timeout: number;
  /**
   * Called with the nodes that have not answered in time. Returns for each of them the error with which it counts as
   * failed, or `undefined` to give it the same time again. When no node is pending, `decide` must decide.
   */
  readonly onTimeout: (nodes: readonly number[]) => readonly (Error | undefined)[];
  readonly time: { timer(ms: number, run: () => void): Timer };
}

const PENDING = { state: "pending" } as const;

/**
 * Resolves to the outcome of asking several nodes at the same time, each under its time-out. Mostly the outcome is
 * certain before all have answered: then no caller waits for a node that hangs.
 */
export function poll<T, R>(calls: readonly Promise<T>[], options: PollOptions<T, R>): Promise<R> {
  const { onSettled, timeout, onTimeout, time } = options;
  return new Promise((resolve, reject) => {
    const answers: Answer<T>[] = calls.map(() => PENDING);
    let decided = false;
    const decide = () => {
      if (decided) return;
      try {
        const outcome = options.decide(answers);
        if (outcome === undefined) return;
        resolve(outcome);
      } catch (error) {
        reject(error);
      }
      decided = true;
      timer.cancel();
    };
    const receive = (node: number, answer: Answer<T>) => {
      onSettled(node, answer.state === "answered");
      if (answers[node]!.state === "pending") answers[node] = answer;
      decide(); // Early: the others may not matter.
    };
    // Whether late nodes are given more time depends on all of them, so that they have one timer.
    const expire = () => {
      const late = [...answers.keys()].filter((node) => answers[node]!.state === "pending");
      for (const [i, error] of onTimeout(late).entries()) {
        if (error !== undefined) answers[late[i]!] = { state: "failed", error };
      }
      if (!isComplete(answers)) timer = time.timer(timeout, expire);
      decide();
    };
    let timer = time.timer(timeout, expire);
    const settled = calls.map((call, node) =>
      call.then(
        (value) => receive(node, { state: "answered", value }),
        (error: unknown) => receive(node, { state: "failed", error }),
      )
    );
    Promise.allSettled(settled).then(decide);
  });
}

export function valueOf<T>(answer: Answer<T>): T | undefined {
  return answer.state === "answered" ? answer.value : undefined;
}

/** Returns whether every node has answered or failed. */
export function isComplete(answers: readonly Answer<unknown>[]): boolean {
  return answers.every(({ state }) => state !== "pending");
}

/** Returns whether a majority says yes; `undefined` while both are possible, or when failed nodes leave both open. */
export function majority(answers: readonly Answer<boolean>[], needed: number): boolean | undefined {
  let yes = 0;
  let no = 0;
  for (const answer of answers) {
    if (answer.state !== "answered") continue;
    if (answer.value) yes++;
    else no++;
  }
  if (yes >= needed) return true;
  return no > answers.length - needed ? false : undefined;
}

/** Like {@linkcode majority}, but returns `false` when all nodes have answered or failed and no majority says yes. */
export function approval(answers: readonly Answer<boolean>[], needed: number): boolean | undefined {
  return majority(answers, needed) ?? (isComplete(answers) ? false : undefined);
}
