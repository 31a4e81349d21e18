import { assertEquals, assertRejects } from "@std/assert";
import { StoreError } from "@holdfast/lock";

/** Resolves to the `StoreError` with which a call must reject: one that says all this, and is permanent or is not. */
export async function refused(
  call: () => Promise<unknown>,
  says: string | readonly string[] = [],
  permanent = true,
): Promise<StoreError> {
  const error = await assertRejects(call, StoreError);
  const unsaid = [says].flat().filter((words) => !error.message.includes(words));
  assertEquals([error.permanent, ...unsaid], [permanent], error.message);
  return error;
}
