import process from "node:process";
import { errorText } from "../failure.ts";
import { oneLine } from "./shown.ts";
import { write } from "./terminal.ts";

/**
 * Writes the warnings of this process like other messages of the command line. Leaves out that a module of Node is
 * experimental (`node:sqlite` in Node 22): readers of cron mail cannot change that.
 */
export function takeWarnings(): void {
  // Without a listener none are wanted (`node --no-warnings`), or the runtime writes them by itself.
  if (process.listenerCount("warning") === 0) return;
  process.removeAllListeners("warning");
  process.on("warning", ({ name, message }) => {
    if (name !== "ExperimentalWarning") write(process.stderr, errorText(oneLine(`${name}: ${message}`)));
  });
}
