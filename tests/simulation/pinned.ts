/** A seed that once found something, and what. */
export interface Pinned {
  readonly seed: number;
  /** What was wrong with the code that failed in this run. */
  readonly found: string;
}

/** Seeds that are run on every change, wherever they lie. A change of what is drawn makes other runs of them. */
export const PINNED: readonly Pinned[] = [
  { seed: 13, found: "a lock that was being released could be renewed" },
  { seed: 9, found: "a renewal that was answered after the release kept the handle in the store" },
  {
    seed: 32,
    found: "two renewals crossed, and the answer to the longer lease was trusted when the shorter one lasted",
  },
  { seed: 8, found: "an abandoned attempt was released before it had been answered, and took its place after that" },
  { seed: 552, found: "an answer that lay unread while a process was stalled brought back a lease that had ended" },
  { seed: 24, found: "a node gave a lock back although its counter had been raised since it was inspected" },
  { seed: 48, found: "a vote that was answered after a later one left the queue in which the handle still waited" },
  { seed: 68, found: "a vote counted under an id that had been released, as its place in the queue had been left" },
  {
    seed: 46,
    found: "a run was forgotten, with its members, when its grant came too late and its head attempted again",
  },
  {
    seed: 520,
    found: "two attempts of one handle in flight shared a round, and one used votes that the other had released",
  },
  { seed: 3800, found: "a cohort did not release a lock that it had lost, and was queued late on a slow node" },
  { seed: 1664, found: "a lock that was restored after its release stayed on the node" },
];
