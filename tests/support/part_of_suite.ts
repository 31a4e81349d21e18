import { storeSuite, type StoreSuiteOptions } from "@holdfast/testing";

/**
 * The behaviours that ask something of connections to a server: to wait, to give up, to send each name, to read several
 * pages. The others are rules of the engine, which each runtime tries on documents in memory.
 */
export const OF_CONNECTIONS = /^(acquire|wakeup|revocation)\(\) |names apart|the next waiter|on pages that end/;

/** Defines these behaviours of the store suite. */
export function partOfSuite({ test, ...options }: StoreSuiteOptions): void {
  storeSuite({ ...options, test: (name, run) => void (OF_CONNECTIONS.test(name) && test(name, run)) });
}
