// Deno only: it needs Deno.openKv.
import { storeSuite } from "@holdfast/lock/testing";
import { SystemClock } from "../../../src/internal/time/clock.ts";
import { CasStore } from "../../../src/stores/cas/store.ts";
import { KvBackend } from "../../../src/stores/deno_kv/store.ts";
import { Place } from "./place.ts";

const SETTINGS = { maxClockSkew: 10_000, observer: undefined };

for (const kind of ["memory", "file"] as const) {
  storeSuite({
    test: (name, run) => Deno.test(`denoKv() in ${kind}: ${name}`, run),
    capabilities: ["shared", "permits", "owner", "steal", "evict", "query", "fences", "runs"],
    open: () => {
      const place = new Place(kind);
      return {
        connect: async () => new CasStore(new KvBackend(await place.open(), "holdfast"), SETTINGS, new SystemClock()),
        leftovers: () => place.used(),
        ...kind === "file" ? { restart: () => place.close() } : {},
        close: () => place[Symbol.dispose](),
      };
    },
  });
}
