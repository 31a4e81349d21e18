/** How many hash slots a Cluster has. */
export const SLOTS = 16_384;

/** The slots of a range, without its end, as `CLUSTER ADDSLOTS` takes them. */
export function slots(from = 0, to = SLOTS): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}
