import { hashOf } from "../../internal/hash.ts";

/**
 * Returns the first of the nodes that coordinate the waiters of a name, so that the queues of many names spread over
 * them.
 */
export function firstCoordinator(name: string, n: number): number {
  return hashOf(name) % n;
}

/**
 * Returns the nodes in the order in which they coordinate the waiters of a name: the first healthy node keeps the
 * queue.
 */
export function coordinators(name: string, n: number): number[] {
  const first = firstCoordinator(name, n);
  return Array.from({ length: n }, (_, i) => (first + i) % n);
}
