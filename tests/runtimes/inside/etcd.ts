/**
 * A part of the store suite on etcd, with the `fetch` that the runtime has.
 *
 * @module
 */
import { etcd } from "@holdfast/lock/etcd";
import { SystemClock } from "../../../src/time/clock.ts";
import { CasStore } from "../../../src/engine/store.ts";
import { EtcdGateway } from "../../../src/stores/etcd/gateway.ts";
import { checkEtcdOptions, type EtcdSettings } from "../../../src/stores/etcd/options.ts";
import { EtcdBackend } from "../../../src/stores/etcd/store.ts";
import { partOfSuite } from "../../support/part_of_suite.ts";
import { patient } from "../../support/patient.ts";
import { settings } from "./settings.ts";

/** Returns a store that does not hand on, for tests that call it themselves. */
function engine({ prefix, ...rest }: EtcdSettings): CasStore {
  const clock = new SystemClock();
  const backend = new EtcdBackend(new EtcdGateway({ prefix, ...rest }, clock), prefix, clock);
  return new CasStore(backend, { maxClockSkew: 10_000, observer: undefined }, clock);
}

partOfSuite({
  test: (name, run) => Deno.test(`etcd() here: ${name}`, run),
  capabilities: ["shared", "permits", "owner", "steal", "evict", "query", "fences", "runs"],
  open: () => {
    const options = { endpoints: [settings.etcd], prefix: `${crypto.randomUUID()}/` };
    return {
      connect: () => patient(engine(checkEtcdOptions(options))),
      leftovers: async () => {
        const { held, pending } = await etcd(options).query();
        return [...held, ...pending].map(({ name }) => name);
      },
      close: () => {},
    };
  },
});
