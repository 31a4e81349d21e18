// Deno only: it explores a model, of which the runtime is no part.
import { assert, assertEquals } from "@std/assert";
import { type Exploration, explore, type Model, type Step } from "../verification/explore.ts";

/** What is believed of the protocol, or wrong with another one. */
interface Rules {
  /** Whether a node must be free when it is inspected. */
  readonly free: boolean;
  /** Whether a majority must have kept the lock. */
  readonly kept: boolean;
  /** Whether the node's counter must still be what it was. */
  readonly compared: boolean;
}

const PROTOCOL: Rules = { free: true, kept: true, compared: true };

/** The fence of the holder, and that of a rival's round. */
const FENCE = 1;
const RIVAL = 2;

const NOBODY = 0;

/** A node, and what there is between it and the holder. */
interface Node {
  /** The fence of the round that holds the lock there. */
  readonly holder: number;
  readonly counter: number;
  /** The counter at which the holder was given the lock back there. */
  readonly known: number;
  /** What it has said of a renewal. */
  readonly renewed: boolean | undefined;
  /** Whether it has shown that it has kept the lock. */
  readonly kept: boolean;
  /** The counter that it had when it was inspected, while it is being restored. */
  readonly inspected: number | undefined;
  /** For each counter, whether a message is on its way by which it takes the lock; such a message comes at any time. */
  readonly retakes: readonly boolean[];
}

interface State {
  readonly nodes: readonly Node[];
  /** Whether a rival has won since the holder did. */
  readonly won: boolean;
  /** Whether the holder renews, and has begun after that. */
  readonly renewing: "no" | "before" | "after";
  /** Whether the holder knows that it has lost the lock. */
  readonly over: boolean;
}

const MAJORITY = 2;

/**
 * A lock on three nodes, each of which may lose it at any moment, whatever the time; so may rivals lose their votes,
 * and whoever has a majority of votes at one moment has won. Renewals, inspections and restorations happen at any time;
 * restorations also late, and again.
 */
class RestoreModel implements Model<State> {
  readonly initial: State;
  readonly #rules: Rules;

  constructor(rules: Rules) {
    this.#rules = rules;
    const node = {
      holder: FENCE,
      counter: FENCE,
      known: FENCE,
      renewed: undefined,
      kept: false,
      inspected: undefined,
      retakes: [false, false, false],
    };
    this.initial = { nodes: [node, node, node], won: false, renewing: "no", over: false };
  }

  *next(state: State): Generator<Step<State>> {
    for (const [n, node] of state.nodes.entries()) {
      yield* this.#change(state, n, node);
      yield* this.#deliver(state, n, node);
      if (!state.over) yield* this.#restore(state, n, node);
    }
    const votes = state.nodes.filter(({ holder }) => holder === RIVAL).length;
    if (votes >= MAJORITY && !state.won) yield { label: () => "the rival wins", state: { ...state, won: true } };
    if (!state.over) yield* this.#renew(state);
  }

  /** What happens at a node without the holder. */
  *#change(state: State, n: number, node: Node): Generator<Step<State>> {
    if (node.holder !== NOBODY) {
      yield {
        label: () => `n${n}: the lock of ${node.holder === FENCE ? "the holder" : "the rival"} is gone`,
        state: on(state, n, { ...node, holder: NOBODY }),
      };
      return;
    }
    // A vote that does not raise the counter brings no fence.
    if (node.counter >= RIVAL) return;
    const granted = on(state, n, { ...node, holder: RIVAL, counter: RIVAL });
    yield { label: () => `n${n}: granted to the rival`, state: granted };
  }

  /** A node gets a message by which it takes the lock: at any time, and again. The holder learns of it at once. */
  *#deliver(state: State, n: number, node: Node): Generator<Step<State>> {
    for (const [counter, sent] of node.retakes.entries()) {
      if (!sent || node.holder !== NOBODY || this.#rules.compared && node.counter !== counter) continue;
      const raised = Math.max(node.counter, counter, FENCE);
      const taken = on(state, n, { ...node, holder: FENCE, counter: raised, known: raised });
      yield { label: () => `n${n} takes the lock at ${counter}`, state: taken };
    }
  }

  *#restore(state: State, n: number, node: Node): Generator<Step<State>> {
    const inspected = state.nodes.findIndex(({ inspected }) => inspected !== undefined);
    if (inspected < 0) {
      if (node.holder === FENCE || this.#rules.free && node.holder !== NOBODY) return;
      const next = on(state, n, { ...node, inspected: node.counter });
      yield { label: () => `n${n} is inspected at ${node.counter}`, state: next };
      return;
    }
    const target = state.nodes[inspected]!;
    if (n === inspected) {
      const shown = state.nodes.filter(({ kept }) => kept).length;
      if (!this.#rules.kept || shown >= MAJORITY || target.inspected === FENCE) {
        const retakes = node.retakes.with(node.inspected!, true);
        yield { label: () => `n${n} is sent a message`, state: idle(on(state, n, { ...node, retakes })) };
      }
      yield { label: () => `n${n} is left alone`, state: idle(state) };
    } else if (!node.kept && node.holder === FENCE) {
      if (node.counter !== FENCE && node.counter !== node.known) return;
      yield { label: () => `n${n} has kept the lock`, state: on(state, n, { ...node, kept: true }) };
    }
  }

  *#renew(state: State): Generator<Step<State>> {
    if (state.renewing === "no") {
      yield { label: () => "the holder renews", state: { ...state, renewing: state.won ? "after" : "before" } };
      return;
    }
    for (const [n, node] of state.nodes.entries()) {
      if (node.renewed !== undefined) continue;
      const renewed = node.holder === FENCE;
      const next = on(state, n, { ...node, renewed });
      const ended = {
        ...next,
        renewing: "no",
        nodes: next.nodes.map((node) => ({ ...node, renewed: undefined })),
      } as const;
      const label = () => `n${n} ${renewed ? "renews" : "has lost the lock"}`;
      const said = next.nodes.filter((node) => node.renewed === renewed).length;
      if (said < MAJORITY) yield { label, state: next };
      else if (!renewed) yield { label, state: { ...idle(ended), over: true } };
      else yield { label, state: ended, violation: state.renewing === "after" ? "another has held it" : undefined };
    }
  }

  key({ nodes, won, renewing, over }: State): string {
    const codes = nodes.map((node) => {
      const { holder, counter, known, renewed, kept, inspected = 3, retakes } = node;
      let code = (holder * 3 + counter) * 3 + known;
      code = ((code * 3 + Number(renewed ?? 2)) * 2 + Number(kept)) * 4 + inspected;
      for (const sent of retakes) code = code * 2 + Number(sent);
      return code;
    });
    const whole = (Number(won) * 2 + Number(over)) * 3 + ["no", "before", "after"].indexOf(renewing);
    return String.fromCharCode(...codes.sort((a, b) => a - b), whole);
  }
}

const on = (state: State, n: number, node: Node): State => ({ ...state, nodes: state.nodes.with(n, node) });
const idle = (state: State): State => ({
  ...state,
  nodes: state.nodes.map((node) => ({ ...node, inspected: undefined, kept: false })),
});

function exploreRestore(rules?: Partial<Rules>): Exploration {
  return explore(new RestoreModel({ ...PROTOCOL, ...rules }));
}

Deno.test("Round.restore() never restores a lock that another has held, on 3 nodes", () => {
  const { exhausted, violation, trace, states } = exploreRestore();
  assertEquals(violation, undefined, trace.join("\n"));
  assert(exhausted && states > 100_000, `${states} states are not all`);
});

const flaws: Record<string, Partial<Rules>> = {
  "a node were given the lock that was not free when it was inspected": { free: false },
  "no majority had to have kept it": { kept: false },
  "the counter of the node might have changed since": { compared: false },
};

for (const [what, rules] of Object.entries(flaws)) {
  Deno.test(`Round.restore() would be unsafe if ${what}`, () => {
    const { violation, trace } = exploreRestore(rules);
    assertEquals(violation, "another has held it");
    console.log(trace.map((line, i) => `${i + 1}. ${line}`).join("\n"));
  });
}
