import { hashOf } from "../../internal/hash.ts";

/** Returns the first node that coordinates the waiters of a name: the queues of many names spread over the nodes. */
export function firstCoordinator(name: string, n: number): number {
  return hashOf(name) % n;
}

/** Returns the nodes as they coordinate the waiters of a name: the first healthy node keeps the queue. */
export function coordinators(name: string, n: number): number[] {
  const first = firstCoordinator(name, n);
  return Array.from({ length: n }, (_, i) => (first + i) % n);
}
