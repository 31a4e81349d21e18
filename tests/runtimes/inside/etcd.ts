/**
 * The store suite on etcd, with the `fetch` that the runtime has.
 *
 * @module
 */
import { etcd } from "@holdfast/lock/etcd";
import { storeSuite } from "@holdfast/lock/testing";
import { patient } from "../../support/patient.ts";
import { settings } from "./settings.ts";

storeSuite({
  test: (name, run) => Deno.test(`etcd() here: ${name}`, run),
  capabilities: ["shared", "permits", "owner", "steal", "evict", "query", "fences"],
  open: () => {
    const options = { endpoints: [settings.etcd], prefix: `${crypto.randomUUID()}/` };
    return {
      connect: () => patient(etcd(options)),
      leftovers: async () => {
        const { held, pending } = await etcd(options).query();
        return [...held, ...pending].map(({ name }) => name);
      },
      close: () => {},
    };
  },
});
