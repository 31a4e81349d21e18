import { type Files, note, results } from "./runner.ts";
import { type Settings, settings } from "./settings.ts";

/** Runs the tests in Node or Bun. When they are over, the process has to end by itself. */
export async function run(files: Files): Promise<void> {
  Object.assign(settings, JSON.parse(process.env["HOLDFAST_SETTINGS"] ?? "") as Settings);
  process.on("unhandledRejection", note);
  process.on("uncaughtException", note);
  try {
    for await (const line of results(files)) process.stdout.write(`${JSON.stringify(line)}\n`);
  } finally {
    // What goes wrong from here on is no test's: it fails the process.
    process.off("unhandledRejection", note);
    process.off("uncaughtException", note);
  }
}
