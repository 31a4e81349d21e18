// Deno only: it needs Deno.openKv.
import { storeSuite } from "@holdfast/testing";
import { engineOn } from "./engine.ts";
import { Place } from "./place.ts";

storeSuite({
  test: (name, run) => Deno.test(`denoKv() in memory: ${name}`, run),
  capabilities: ["shared", "permits", "owner", "steal", "evict", "query", "fences", "runs"],
  open: () => {
    const place = new Place("memory");
    return {
      connect: async () => engineOn(await place.open()),
      leftovers: () => place.used(),
      close: () => place[Symbol.dispose](),
    };
  },
});
