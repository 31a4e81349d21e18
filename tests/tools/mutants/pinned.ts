/**
 * A fault that must always be noticed. It is found by the name of its function and by the code that makes it, wherever
 * in the files of the target that is.
 */
export interface Fault {
  /** What goes wrong. */
  readonly name: string;
  /** The target whose files have the place, and whose tests must notice. */
  readonly target: string;
  /** The function, such as `Lease.#renew`. */
  readonly place: string;
  readonly edit: Edit;
  /** No test notices it yet. */
  readonly open?: true;
}

/** What is done to the only node in a place that matches; texts are compared on one line, without comments. */
export type Edit =
  /** Takes a statement out. */
  | { readonly remove: RegExp; readonly within?: RegExp }
  /** Takes one side of `&&`, `||` or `??` out. */
  | { readonly drop: RegExp; readonly within?: RegExp }
  /** Puts something in the place of an expression. */
  | { readonly replace: RegExp; readonly by: string; readonly within?: RegExp };

/** The faults. Each has survived all tests, or a campaign of injected faults, at some time. */
export const FAULTS: readonly Fault[] = [
  {
    name: "a wait that was given up is never taken out of the queue",
    target: "acquire",
    place: "Acquisition.#undo",
    edit: { replace: /^\(\) => this\.#store\.release\(this\.claim\)$/, by: "() => {}" },
  },
  {
    name: "a release is never sent",
    target: "acquire",
    place: "releaseWithRetry",
    edit: { replace: /^await store\.release\(claim\)$/, by: "true" },
  },
  {
    name: "a grant that came after its deadline is accepted",
    target: "lease",
    place: "Lease.begin",
    edit: { replace: /^this\.#deadline\.left\(now\) <= 0$/, by: "false" },
  },
  {
    name: "the deadline counts from the reply to the attempt",
    target: "lease",
    place: "Lease.begin",
    edit: {
      replace: /^this\.#setTimer\(now\)$/,
      by: "(this.#deadline.move(now, this.claim.lease), this.#setTimer(now))",
    },
  },
  {
    name: "the deadline counts from the reply to the renewal",
    target: "lease",
    place: "Renewals.send",
    edit: { replace: /^sentAt$/, by: "clock.now()", within: /^deadline\.move/ },
  },
  {
    name: "a renewal that came after the deadline is accepted",
    target: "lease",
    place: "Renewals.send",
    edit: { replace: /^deadline\.left\(now\) > 0$/, by: "true" },
  },
  {
    name: "a minority renews",
    target: "redlock",
    place: "Nodes.majority",
    edit: { replace: /^this\.needed$/, by: "Math.max(1, this.needed - 1)" },
  },
  {
    name: "the fence that a majority did not confirm is forgotten",
    target: "redlock",
    place: "QuorumAttempt.#confirm",
    edit: { remove: /^this\.#highest\.note\(end\)/ },
  },
  {
    name: "of the rounds that kept a place only the first is looked at",
    target: "redlock",
    place: "NodeVote.#last",
    edit: { remove: /^while / },
  },
  {
    name: "the vote counts of a node whose queue was left",
    target: "redlock",
    place: "QuorumAttempt.#askCoordinator",
    edit: { remove: /^if \(left !== undefined\)/ },
  },
  {
    name: "a round that is being released is renewed",
    target: "redlock",
    place: "RedlockStore.renew",
    edit: { drop: /^round\.released$/ },
  },
  {
    name: "a round that was released meanwhile is kept after its renewal",
    target: "redlock",
    place: "RedlockStore.renew",
    edit: { replace: /^!round\.released$/, by: "true" },
  },
  {
    name: "a ticket that the file has lost is not restored",
    target: "sqlite",
    place: "FileStore.#writeAttempt",
    edit: { replace: /^waiter\?\.ticket$/, by: "undefined" },
  },
  {
    name: "a heartbeat from the future counts for ever",
    target: "sqlite",
    place: "ALIVE",
    edit: { replace: /^"\(q\.client = \? OR abs\(\? - c\.seen\) < \?\)"$/, by: '"(q.client = ? OR ? - c.seen < ?)"' },
  },
];
