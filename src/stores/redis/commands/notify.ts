import { notify as script } from "../scripts/generated.ts";
import type { Command } from "./command.ts";

/** Notifies the head of the queue that the lock will be free earlier. */
export const notify: Command<void, void> = {
  script,
  encode: (keys) => ({ keys: keys.slice(0, 3), args: [] }),
  decode() {},
};
