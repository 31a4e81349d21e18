// Deno only: it looks at the sources.
import { assert, assertEquals } from "@std/assert";
import { storeSuite } from "@holdfast/testing";
import ts from "typescript";

/** How a sentence of the contract is checked: by behaviours of the suite, or why by none. */
type Checks = readonly string[] | { readonly not: string };

/** The parts of the contract, by interface, with what each member says. */
type Contract = Readonly<Record<string, Readonly<Record<string, Checks>>>>;

/** What `Granted` says in its documentation, as `CONTRACT` has it. */
const GRANTED: Contract = {
  Granted: { "A lock that was granted.": ["grants a free lock and refuses a held one"] },
  // It has no documentation of its own.
  granted: { "": ["grants a free lock and refuses a held one"] },
  fence: { "Larger than every fence granted before": ["fences rise"] },
  fences: {
    "How many fences were reserved, 1 when left out": ["reserves several fences"],
    "No other grant gets any of these fences": [
      ...["no other grant gets one of them", "reserves no fence that others could have"],
      ...["above those of a dead holder", "fences above those of the holder"],
    ],
    "The last fence is at most 10 ms ahead": ["no fence over 10 ms ahead of the clock"],
  },
  age: { "How much of the lease had passed": { not: "a store that the suite tests makes the attempt itself" } },
  contended: {
    "Whether other handles were waiting in the queue": [
      ...["come next along: a run", "without a group takes nobody along"],
    ],
  },
  run: {
    "A *run*: the ids of the handles": [
      ...["come next along: a run", "at a waiter of another group or kind", "without a group takes nobody along"],
    ],
    "They were taken out of the queue together": ["of a member of a run find nothing", "takes nobody along twice"],
    "Their process may hand the lock on to each in turn": [
      ...["of a member of a run find nothing", "the lease of a run has ended"],
    ],
    "The fence of the first of them is `fence + 1`": ["come next along: a run", "the lease of a run has ended"],
    "A handle that is not handed the lock attempts again": ["to its former place"],
  },
};

/** What the listing says in its documentation. */
const ENTRY: Contract = {
  Entry: { "A handle that holds a lock or waits for it": ["query() lists holders and waiters, in order"] },
  name: { "The name of the lock.": ["query() lists names and kinds as they are"] },
  owner: { "The owner of the handle.": ["lists the owner and the id of each handle"] },
  handle: { "The id of the handle": ["lists the owner and the id of each handle"] },
  mode: { "How the handle holds the lock, or wants to hold it.": ["query() lists names and kinds as they are"] },
  permits: { "Of a semaphore: how many owners": ["query() lists names and kinds as they are"] },
  meta: {
    "The description of the handle": ["lists the meta of each handle as it was given", "of each of several holders"],
  },
  since: {
    "Since when it holds the lock or waits for it": ["lists since when each handle holds the lock or waits"],
    "`undefined` if the store does not know.": { not: "it allows, and demands nothing" },
  },
};

const HOLDER_ENTRY: Contract = {
  HolderEntry: { "A handle that holds a lock": ["query() lists holders and waiters, in order"] },
  expiresIn: { "When the lease ends unless it is renewed": ["lists when each lease ends"] },
  fence: { "The fence that it was granted": ["the meta and the fence of each of several holders"] },
};

const WAITER_ENTRY: Contract = {
  WaiterEntry: { "A handle that waits for a lock": ["query() lists holders and waiters, in order"] },
  rank: { "How many waiters of this lock are ahead of this waiter.": ["lists the rank of each waiter"] },
  member: {
    "`true` for a member of the {@linkcode Granted.run}": ["lists the members of a run in every client"],
    "Left out for a waiter in the queue.": ["lists a member of a run once when it waits"],
  },
};

const QUERY_OPTIONS: Contract = {
  QueryOptions: { "Which locks {@linkcode Store.query} lists": ["query() lists holders and waiters, in order"] },
  name: {
    "The name of the only lock to list.": ["query() with a name lists that lock alone"],
    "Costs as little as an attempt": { not: "a fixture does not see what a call costs" },
  },
  match: { "Lists only names that match this pattern": ["lists the names that the pattern fits"] },
  limit: {
    "About how many names to list at most": ["lists every lock that stays, on pages that end"],
    "Further calls list the following names": ["lists every lock that stays, on pages that end"],
    "A page may have fewer names, or none": { not: "it allows, and demands nothing" },
  },
  cursor: { "Where the page begins": ["lists every lock that stays, on pages that end"] },
};

const SNAPSHOT: Contract = {
  Snapshot: { "The holders and the waiters of the locks of a store": ["query() lists holders and waiters, in order"] },
  held: { "The holders.": ["query() lists names and kinds as they are"] },
  pending: {
    "The waiters; for each name in the order": [
      ...["query() lists holders and waiters, in order", "lists the members of a run in every client"],
    ],
    "A member is listed until the holder's lock ends": [
      ...["lists no member of a run that is over", "lists a member of a run once when it waits"],
    ],
    "Meanwhile it may have been handed the lock": { not: "it says what the store is not told" },
  },
  cursor: {
    "Where the next page begins": ["lists every lock that stays, on pages that end"],
    "A lock that exists while all pages are read": ["lists every lock that stays, on pages that end"],
  },
};

/** What `Store` says in its documentation: each sentence by its first words, and the behaviours that check it. */
const CONTRACT: Contract = {
  Store: {
    "A system that keeps locks.": ["grants a free lock and refuses a held one"],
    "It orders waiters first come, first served": [
      ...["serves live waiters first come, first served", "grants the lock only to the first of the queue"],
      ...["grants again what its owner holds", "renew() and release() by a rival change nothing"],
    ],
    "It rejects when it does not know the outcome": { not: "a fixture has no way to break the connection" },
    "A `TypeError` or `RangeError` means a bad argument": { not: "it is about what the core makes of an error" },
    "`packages/testing/src/` (`@holdfast/testing`) holds": { not: "it names the suite" },
  },
  attempt: {
    "Attempts to acquire the lock.": [
      "grants a free lock and refuses a held one",
      "each name is a lock of its own",
      "fences rise",
    ],
    "If this handle holds it already": ["grants again what its owner holds", "no lease ends early"],
    "With `enqueue`, a busy answer leaves the handle in the queue": [
      ...["grants the lock only to the first of the queue", "does not come past a waiter when a lease ends"],
      ...["leaves nothing behind when it does not enqueue", "gets the lock although a waiter ahead has died"],
    ],
    "A shared claim or one for a permit is granted beside others": [
      ...["grants shared claims together", "does not overtake a waiting exclusive one"],
      ...["as many as there are permits", "served in order, also when a holder has died"],
    ],
    "An owner that holds the lock already is granted another handle": [
      ...["granted with the same fence", "does not wait behind the queue", "is not entered again by its id"],
    ],
  },
  renew: {
    "Sets the lease to `claim.lease` milliseconds": [
      ...["renew() extends the lease", "lost after the lease has ended", "by a rival change nothing"],
    ],
    "A client may send a renewal twice, and late": ["arrives after a later one"],
  },
  release: {
    "Releases the lock of this handle, or its place in the queue": [
      ...["release() leaves the queue", "leaves no trace, and the next waiter is served"],
      ...["when the exclusive waiter ahead of it leaves", "and no other until the last release"],
    ],
    "Resolves to whether there was anything to release.": [
      ...["grants again what its owner holds", "release() leaves the queue"],
    ],
  },
  wakeup: {
    "Resolves when another attempt of this queued handle is worthwhile.": [
      ...["serves live waiters first come, first served"],
    ],
    "Only an optimisation": { not: "it allows, and demands nothing" },
    "Resolves as well when `signal` aborts.": ["wakeup() resolves when its signal aborts"],
  },
  capabilities: {
    "The optional features that the store supports": { not: "every behaviour begins with this check" },
    'Lists `"evict"` and `"query"`': { not: "every behaviour begins with this check" },
  },
  revocation: {
    "Resolves soon after the lock of this handle was revoked": ["resolves after a steal from this handle"],
    "Only an optimisation": { not: "it allows, and demands nothing" },
    "Resolves to the {@linkcode Meta}": { not: "it allows, and demands nothing" },
  },
  evict: {
    "Revokes the lock of all its holders, or of the holders that": [
      ...["takes the lock from all holders", "evict() frees a lock for the next waiter"],
      ...["leaves the lock to a later holder", "leaves the lock to other holders"],
    ],
    "Resolves to the number of handles that lost the lock.": ["takes the lock from all holders"],
    "The handles are chosen in the same step": ["leaves the lock to a later holder"],
  },
  query: {
    "Lists the holders and the waiters of the locks of this store": [
      ...["query() lists holders and waiters, in order", "query() lists names and kinds as they are"],
    ],
  },
  forget: {
    "Drops the state in this process": { not: "a fixture does not see what a process keeps" },
    "Sends nothing.": { not: "a fixture does not see what is sent" },
    'For stores that declare `"runs"`': { not: "target_test.ts: it is no method of a fixture alone" },
  },
  succeed: {
    "Gives the place of the handle `from` in the queue": { not: "tests/handoff: a group calls it, which hides it" },
    "`from` stops waiting": { not: "tests/handoff: a group calls it, which hides it" },
    "Without this method the other handle queues": { not: "it says what a group does" },
  },
  drift: { "Returns how much earlier than the lease": ["drift() leaves time", "no lease ends early"] },
  closed: { "Whether the store was closed for good": { not: "a fixture closes the place, not a store" } },
  connectionError: {
    "Why the store cannot be reached at present": { not: "a fixture has no way to break the connection" },
  },
  observer: { "The observer that is notified of events": { not: "the core tells it" } },
};

/** The sentences of the documentation of an interface of store.ts, by member. */
function sentences(of: string): Map<string, string[]> {
  const text = Deno.readTextFileSync(new URL("../../src/contract/store.ts", import.meta.url));
  const file = ts.createSourceFile("store.ts", text, ts.ScriptTarget.Latest, true);
  const store = file.statements.filter(ts.isInterfaceDeclaration).find(({ name }) => name.text === of);
  const found = new Map<string, string[]>();
  for (const node of [store!, ...store!.members]) {
    const docs = ts.getJSDocCommentsAndTags(node).map((doc) => ts.getTextOfJSDocComment(doc.comment) ?? "").join(" ");
    const split = docs.replace(/\s+/g, " ").trim().split(/(?<=\.)\s+(?=[A-Z`])/);
    found.set(node.name!.getText(), split);
  }
  return found;
}

function behaviours(): string[] {
  const names: string[] = [];
  const open = () => Promise.reject(new Error("not run"));
  storeSuite({
    test: (name) => names.push(name),
    open,
    capabilities: ["shared", "permits", "owner", "steal", "evict", "query", "fences", "runs"],
  });
  return names;
}

/** The interfaces of store.ts. */
const INTERFACES: Readonly<Record<string, Contract>> = {
  Store: CONTRACT,
  Granted: GRANTED,
  Entry: ENTRY,
  HolderEntry: HOLDER_ENTRY,
  WaiterEntry: WAITER_ENTRY,
  QueryOptions: QUERY_OPTIONS,
  Snapshot: SNAPSHOT,
};

for (const [name, checked] of Object.entries(INTERFACES)) {
  Deno.test(`${name} documents nothing that no behaviour of the suite checks, or says why`, () => {
    const contract = sentences(name);
    assertEquals([...contract.keys()].filter((member) => checked[member] === undefined), [], "members without checks");
    for (const [member, checks] of Object.entries(checked)) {
      const present = contract.get(member) ?? [];
      const starts = Object.keys(checks);
      const unchecked = present.filter((sentence) => !starts.some((start) => sentence.startsWith(start)));
      assertEquals(unchecked, [], `${member}: sentences without checks`);
      const idle = starts.filter((start) => !present.some((sentence) => sentence.startsWith(start)));
      assertEquals(idle, [], `${member}: checks of sentences that are gone`);
    }
  });
}

Deno.test("the behaviours that check the contract are those of the suite", () => {
  const names = behaviours();
  const members = Object.values(INTERFACES).flatMap((contract) => Object.values(contract));
  for (const checks of members.flatMap((member) => Object.values(member))) {
    if ("not" in checks) continue;
    for (const each of checks) assert(names.some((name) => name.includes(each)), each);
  }
});
