// Deno only: it tests a checker of histories, of which the runtime is no part.
import { assert, assertEquals } from "@std/assert";
import { Random } from "../../simulation/kernel/random.ts";
import { check } from "./check.ts";
import type { Grant, History, Release, Write } from "./history.ts";
import { invent } from "./invent.ts";
import type { Rule } from "./rules.ts";

function grant(owner: string, fence: bigint, start: number, end: number, believed = end): Grant {
  return { lock: "a", owner, fence, start, end, believed, acted: believed };
}

function release(owner: string, start: number, end: number, outcome: Release["outcome"] = "released"): Release {
  return { lock: "a", owner, start, end, outcome };
}

function write(fence: bigint, value: number, at: number, accepted = true): Write {
  return { lock: "a", fence, value, accepted, at };
}

function verdict(parts: Partial<History>) {
  return check({ grants: [], releases: [], writes: [], breaches: [], ...parts });
}

/** Fails unless exactly these rules are violated, by these entries. */
function assertViolates(parts: Partial<History>, rule: Rule, ...entries: unknown[]): void {
  const { violations } = verdict(parts);
  assertEquals(violations.map(({ rule, entries }) => ({ rule, entries })), [{ rule, entries }]);
}

Deno.test("check() allows turns, overlapping calls, lost leases, and a refused late holder", () => {
  const late = { ...grant("y", 7n, 0, 10, 20), acted: 60 };
  const { violations, doubleHolders } = verdict({
    grants: [late, grant("z", 9n, 5, 30, 40), grant("x", 2n, 3, 9, 9)],
    releases: [release("x", 9, 12), release("y", 61, 62, "lost"), release("z", 41, 45)],
    writes: [write(9n, 1, 35), write(7n, 1, 60, false)],
  });
  assertEquals(violations, []);
  assertEquals(doubleHolders, 1);
});

Deno.test("check() rejects a fence that was granted twice", () => {
  const [x, y] = [grant("x", 3n, 0, 10, 11), grant("y", 3n, 5, 20, 21)];
  assertViolates({ grants: [x, y] }, "fence is unique", x, y);
});

Deno.test("check() rejects a smaller fence of an acquire called after another had returned", () => {
  const [x, y] = [grant("x", 4n, 0, 10), grant("y", 3n, 11, 20)];
  assertViolates({ grants: [x, y] }, "fences rise", x, y);
  // Neither was first: both calls were out at the same time, and the answer to one of them came late.
  assertEquals(verdict({ grants: [x, { ...y, start: 9, believed: 9 }] }).violations, []);
});

Deno.test("check() rejects a release by another owner, by none, and a second one", () => {
  const [x, y] = [grant("x", 1n, 0, 10), grant("y", 2n, 5, 20)];
  assertViolates({ grants: [x], releases: [release("y", 11, 12)] }, "only the owner releases", release("y", 11, 12));
  assertViolates(
    { grants: [x, y], releases: [release("x", 21, 22)] },
    "only the owner releases",
    x,
    y,
    release("x", 21, 22),
  );
  assertViolates(
    { grants: [x], releases: [release("x", 11, 12), release("x", 13, 14)] },
    "only the owner releases",
    x,
    release("x", 13, 14),
  );
  assertEquals(verdict({ grants: [x, y], releases: [release("x", 19, 22)] }).violations, []);
  for (const outcome of ["lost", "unknown"] as const) {
    assertEquals(verdict({ grants: [x, y], releases: [release("x", 21, 22, outcome)] }).violations, []);
  }
});

Deno.test("check() rejects a grant while the lock is held, unless there was a breach", () => {
  const [x, y, z] = [grant("x", 1n, 0, 10, 21), grant("y", 2n, 5, 20), grant("z", 3n, 0, 22)];
  assertViolates({ grants: [z, y, x] }, "one holder at a time", x, y);
  assertEquals(verdict({ grants: [x, y] }).doubleHolders, 1);
  for (const [start, end, excused] of [[0, 0, true], [15, 30, true], [20, 20, true], [21, 30, false]] as const) {
    const { violations } = verdict({ grants: [x, y], breaches: [{ start, end, what: "FLUSHALL" }] });
    assertEquals(violations.length === 0, excused, `${start} to ${end}`);
  }
});

Deno.test("check() allows a last grant with a smaller fence only after data was lost", () => {
  // Of Redlock: x was asked for first, and its answers came late; then a node forgot z, and x won with its old fence.
  const [x, z] = [grant("x", 1n, 0, 78), grant("z", 2n, 30, 31, 32)];
  const releases = [release("x", 91, 92)];
  for (const [at, rules] of [[33, 0], [79, 2]] as const) {
    const { violations } = verdict({ grants: [x, z], releases, breaches: [{ start: at, end: at, what: "FLUSHALL" }] });
    assertEquals(violations.length, rules, `lost at ${at}`);
  }
});

Deno.test("check() rejects a grant that every order of the others leaves no moment for", () => {
  // x must have been granted after y has ended, by the fences, but had returned before.
  const [x, y] = [grant("x", 2n, 0, 10, 10), grant("y", 1n, 0, 30, 40)];
  assertViolates({ grants: [x, y] }, "one holder at a time", y, x);
});

Deno.test("check() rejects a write that is accepted with a smaller fence than one before it", () => {
  const grants = [grant("x", 1n, 0, 10), grant("y", 2n, 5, 20)];
  const [first, second] = [write(2n, 1, 21), write(1n, 2, 22)];
  assertViolates({ grants, writes: [first, second] }, "stale writes are refused", first, second);
  assertEquals(verdict({ grants, writes: [first, { ...second, accepted: false }] }).violations, []);
});

Deno.test("check() rejects a lost update", () => {
  const grants = [grant("x", 1n, 0, 10), grant("y", 2n, 5, 20)];
  const [first, second] = [write(1n, 1, 11), write(2n, 1, 22)];
  assertViolates({ grants, writes: [first, second] }, "no update is lost", first, second);
  assertViolates({ grants, writes: [write(1n, 2, 11)] }, "no update is lost", write(1n, 2, 11));
});

Deno.test("check() rejects a write with a fence that nobody was granted", () => {
  assertViolates(
    { grants: [grant("x", 1n, 0, 10)], writes: [write(5n, 1, 11)] },
    "fences are granted",
    write(5n, 1, 11),
  );
});

Deno.test("check() allows 200 invented histories, and finds the change in each of them", () => {
  const found = new Set<Rule>();
  for (let seed = 1; seed <= 200; seed++) {
    const random = new Random(seed);
    assertEquals(check(invent(random, 50)).violations, [], `seed ${seed}`);
    for (const [rule, spoil] of Object.entries(flaws)) {
      const draft = invent(new Random(seed), 50);
      spoil(draft, random);
      const rules = check(draft).violations.map((violation) => violation.rule);
      assert(rules.includes(rule as Rule), `seed ${seed}: ${rule} was not found, only ${rules}`);
      found.add(rule as Rule);
    }
  }
  assertEquals(found.size, 7);
});

/** One change to a history, anywhere in it, that makes it one that must be rejected for this reason. */
const flaws: Record<Rule, (draft: ReturnType<typeof invent>, random: Random) => void> = {
  "fence is unique": (draft, random) => {
    const i = random.integer(1, 49);
    draft.grants[i] = { ...draft.grants[i]!, fence: draft.grants[i - 1]!.fence };
  },
  "fences rise": (draft, random) => {
    const i = random.integer(1, 49);
    const { fence, end } = draft.grants[i - 1]!;
    draft.grants[i] = { ...draft.grants[i]!, fence: fence - 1n, start: end + 0.001 };
  },
  "only the owner releases": (draft, random) => {
    const i = random.integer(0, 48);
    const start = draft.grants[i + 1]!.end + 0.001;
    draft.releases[i] = { ...draft.releases[i]!, start, end: start + 1, outcome: "released" };
  },
  "one holder at a time": (draft, random) => {
    const i = random.integer(0, 48);
    draft.grants[i] = { ...draft.grants[i]!, believed: draft.grants[i + 1]!.end + 0.001 };
  },
  "stale writes are refused": (draft, random) => {
    const stale = draft.writes.map(({ accepted }, i) => accepted ? -1 : i).filter((i) => i >= 0);
    const i = stale.length === 0 ? 0 : random.pick(stale);
    draft.writes.splice(i, 1, { ...draft.writes[i]!, fence: 0n, accepted: true });
    if (stale.length === 0) draft.writes.push(draft.writes.shift()!);
  },
  "no update is lost": (draft, random) => {
    const accepted = draft.writes.map(({ accepted }, i) => accepted ? i : -1).filter((i) => i >= 0);
    const i = random.pick(accepted.slice(1));
    draft.writes[i] = { ...draft.writes[i]!, value: draft.writes[i]!.value - 1 };
  },
  "fences are granted": (draft, random) => {
    const i = random.integer(0, draft.writes.length - 1);
    draft.writes[i] = { ...draft.writes[i]!, fence: draft.writes[i]!.fence + 1_000_000n };
  },
};
