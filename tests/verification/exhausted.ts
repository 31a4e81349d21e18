import { assert, assertEquals } from "@std/assert";
import type { Exploration } from "./explore.ts";
import type { Bounds } from "./fence_model.ts";

export const SMALL: Bounds = { counters: [0, 0, 0], rounds: 2, guesses: [1] };

/** Blocks that are asked for may be the same, or begin in another. */
export const BLOCKS: Bounds = { ...SMALL, guesses: [1, 2], lengths: [2] };

/** Fails, with the way to it, if something can happen that must not. */
export function assertExhausted({ exhausted, violation, trace, states }: Exploration, atLeast: number): void {
  assertEquals(violation, undefined, `fences are not ${violation}:\n${numbered(trace)}`);
  assert(exhausted && states >= atLeast, `${states} states are not all`);
}

export function numbered(trace: readonly string[]): string {
  return trace.map((line, i) => `${i + 1}. ${line}`).join("\n");
}
