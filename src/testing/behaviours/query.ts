import { permit, QUEUE, share, TRY } from "../claims.ts";
import { busy, check, claimOf, clock, granted, LONG_MS, SHORT_MS } from "../expect.ts";
import type { Behaviours } from "../fixture.ts";
import type { Entry } from "../../store.ts";
import { NAMES } from "./names.ts";

/** What a store must show if it has `query()`. */
export const query: Behaviours = {
  async "query() lists names and kinds as they are, and nobody whose lease has ended"(fixture) {
    const store = await fixture.connect();
    const { capabilities = [] } = store;
    const claims = NAMES.map((name) => claimOf(name, LONG_MS));
    if (capabilities.includes("shared")) claims.push(share("shared"), share("shared"));
    if (capabilities.includes("permits")) claims.push(permit("permits", 2), permit("permits", 2));
    const ended = claimOf("ended", SHORT_MS);
    for (const claim of [...claims, ended]) granted(await store.attempt(claim, TRY));
    await clock.sleep(SHORT_MS + 50);
    const line = ({ name, owner, mode, permits }: Entry) => JSON.stringify([name, owner, mode, permits ?? null]);
    const { held, pending } = await store.query!();
    check(pending.length === 0, "nobody waits");
    const [listed, wanted] = [new Set(held.map(line)), new Set(claims.map(line))];
    for (const each of wanted) check(listed.has(each), `it is listed: ${each}`);
    for (const each of listed) check(wanted.has(each), `it is held: ${each}`);
    check(held.length === claims.length, "each once");
    for (const claim of [...claims, ended]) await store.release(claim);
  },

  async "query() lists holders and waiters, in order"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    const [one, two, three] = [claimOf("a {b}*", LONG_MS), claimOf("second", LONG_MS), claimOf("a {b}*", LONG_MS)];
    granted(await a.attempt(one, TRY));
    granted(await a.attempt(two, TRY));
    busy(await b.attempt(three, QUEUE));
    const fourth = claimOf("a {b}*", LONG_MS);
    busy(await a.attempt(fourth, QUEUE));
    const { held, pending } = await b.query!();
    const short = ({ name, owner, mode }: { name: string; owner: string; mode: string }) => `${name}/${owner}/${mode}`;
    check(held.map(short).sort().join() === [one, two].map(short).sort().join(), "held");
    check(pending.map(short).join() === [three, fourth].map(short).join(), "pending");
    for (const claim of [fourth, three, two, one]) await a.release(claim);
    const after = await a.query!();
    check(after.held.length + after.pending.length === 0, "nothing is left to list");
  },
};
