// Alone: to collect garbage takes as long as memory is in use.
import { assert } from "@std/assert";
import { checkHandle } from "../../../src/lock/lease/forgotten_handle.ts";

Deno.test("checkHandle() returns the same reference while the handle is in use", () => {
  const handle = {};
  const reference = checkHandle(handle, "kept");
  assert(reference instanceof WeakRef && reference.deref() === handle, "a weak reference");
  assert(checkHandle(reference, "kept") === reference, "the same one");
});
