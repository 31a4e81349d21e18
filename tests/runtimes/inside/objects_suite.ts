import { durableObject, type LockNamespace } from "@holdfast/lock/durable-object";
import { storeSuite } from "@holdfast/testing";

/** What the configuration binds. */
export interface Bindings {
  LOCKS: LockNamespace;
}

/** Set before the first test. */
export const bindings: Partial<Bindings> = {};

/** Defines the tests of the store suite. Each has objects of its own. */
export function define(): void {
  const locks = bindings.LOCKS!;
  storeSuite({
    test: (name, run) => Deno.test(`durableObject() in workerd: ${name}`, run),
    capabilities: ["shared", "permits", "owner", "steal", "evict", "fences"],
    open: () => {
      const place = crypto.randomUUID();
      const names = new Set<string>();
      const namespace: LockNamespace = {
        idFromName: (name) => {
          names.add(name);
          return locks.idFromName(`${place} ${name}`);
        },
        get: (id) => locks.get(id),
      };
      return {
        connect: () => durableObject(namespace),
        leftovers: async () => {
          const used = await Promise.all([...names].map(async (name) => {
            const stub = locks.get(locks.idFromName(`${place} ${name}`));
            return JSON.parse(await (await stub.fetch("https://lock/used", { method: "POST", body: "" })).text());
          }));
          return used.flat();
        },
        close: () => {},
      };
    },
  });
}
