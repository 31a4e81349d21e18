/**
 * Returns the first of the nodes that coordinate the waiters of a name. It depends on the name (FNV-1a of its code
 * units), so that the queues of many names spread over the nodes.
 */
export function firstCoordinator(name: string, n: number): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193) >>> 0;
  return hash % n;
}

/** Returns the nodes in the order in which they coordinate the waiters of a name: the first healthy one has the queue. */
export function coordinators(name: string, n: number): number[] {
  const first = firstCoordinator(name, n);
  return Array.from({ length: n }, (_, i) => (first + i) % n);
}
