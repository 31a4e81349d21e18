/**
 * Returns a number of 32 bits for a text (FNV-1a of its code units). The number is the same in all processes and
 * releases: coordinators of queues and places of nodes depend on it.
 */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return hash;
}
