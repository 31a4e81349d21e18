import { assert, assertEquals } from "@std/assert";
import { StoreError } from "../../src/contract/errors.ts";
import { claimOf, grant } from "../support/claims.ts";
import { NAME, Place } from "./controlled_backend.ts";

Deno.test("attempt(), renew() and release() reject with the error of the backend, as it is", async () => {
  const { store, backend } = new Place().connect();
  const refusal = new StoreError("not permitted", { permanent: true });
  // Callers go by its class, and by whether it is permanent.
  const rejects = async (call: Promise<unknown>) => {
    assertEquals(await call.then(() => "no error", (error: unknown) => error === refusal || `${error}`), true);
  };
  backend.onRead = () => Promise.reject(refusal);
  await rejects(store.attempt(claimOf(NAME), { enqueue: true }));
  backend.onRead = (execute) => execute();
  const claim = claimOf(NAME);
  assert(await grant(store, claim));
  backend.onWrite = () => Promise.reject(refusal);
  await rejects(store.renew(claim));
  await rejects(store.release(claim));
});
