/** What can happen next in a state. */
export interface Step<S> {
  /** What happens, for a reader. Asked for only when it is part of a trace. */
  readonly label: () => string;
  readonly state: S;
  /** What must never happen, and has with this step. */
  readonly violation?: string | undefined;
}

/** A system of states and steps. */
export interface Model<S> {
  readonly initial: S;
  next(state: S): Iterable<Step<S>>;
  /**
   * Names a state. States of the same key must have the same future, but for names that do not matter: then only one
   * of them is explored.
   */
  key(state: S): string;
}

/** What an exploration has come to. */
export interface Exploration {
  /** How many states were reached that differ. */
  readonly states: number;
  /** How many steps the longest of the shortest ways to a state has. */
  readonly depth: number;
  /** Whether there was nothing left to explore: false after a violation, or at the limit. */
  readonly exhausted: boolean;
  readonly violation: string | undefined;
  /** A shortest way to the violation, a line for each step. */
  readonly trace: readonly string[];
}

/** A Set holds no more than 2^24 strings: they are spread over so many. */
const SHARDS = 64;

/** Explores breadth first what a system can do, up to so many states, until something happens that must not. */
export function explore<S>(model: Model<S>, limit = Infinity): Exploration {
  const seen = new Keys();
  const keys: string[] = [];
  /** The place in `keys` of the state from which each was reached first. */
  const parents: number[] = [];
  const reach = (key: string, parent: number) => {
    if (!seen.add(key)) return false;
    keys.push(key);
    parents.push(parent);
    return true;
  };
  reach(model.key(model.initial), -1);
  let depth = 0;
  let index = 0;
  let frontier = [model.initial];
  for (; frontier.length > 0; depth++) {
    const reached: S[] = [];
    for (const state of frontier) {
      for (const step of model.next(state)) {
        const key = model.key(step.state);
        if (step.violation !== undefined) {
          const trace = retrace(model, [...path(keys, parents, index), key]);
          return { states: keys.length, depth: depth + 1, exhausted: false, violation: step.violation, trace };
        }
        if (reach(key, index)) reached.push(step.state);
      }
      index++;
      if (keys.length > limit) {
        return { states: keys.length, depth, exhausted: false, violation: undefined, trace: [] };
      }
    }
    frontier = reached;
  }
  return { states: keys.length, depth: depth - 1, exhausted: true, violation: undefined, trace: [] };
}

class Keys {
  readonly #shards = Array.from({ length: SHARDS }, () => new Set<string>());

  /** Returns whether the key was not there yet. */
  add(key: string): boolean {
    const shard = this.#shards[(key.charCodeAt(0) + key.charCodeAt(key.length - 1)) % SHARDS]!;
    const before = shard.size;
    return shard.add(key).size > before;
  }
}

/** Returns the keys of the states on the way to one of them, without the first. */
function path(keys: readonly string[], parents: readonly number[], index: number): string[] {
  const keysOfPath: string[] = [];
  for (let i = index; i > 0; i = parents[i]!) keysOfPath.unshift(keys[i]!);
  return keysOfPath;
}

/** Goes the way again: states are forgotten once they are explored, and only their keys remain. */
function retrace<S>(model: Model<S>, path: readonly string[]): string[] {
  let state = model.initial;
  return path.map((key, i) => {
    for (const step of model.next(state)) {
      if (model.key(step.state) !== key) continue;
      if (i === path.length - 1 && step.violation === undefined) continue;
      state = step.state;
      return step.label();
    }
    throw new Error(`a state that was reached before is not any more: ${JSON.stringify(key)}`);
  });
}
