import { type Test, tests } from "./deno.ts";
import { type Line, settings } from "./settings.ts";

/** How long a test may take on a busy machine, in milliseconds. */
const LIMIT = 60_000;

/** What nobody has caught since the test began. */
const uncaught: unknown[] = [];

/** Hears what nobody catches. */
export function note(error: unknown): void {
  uncaught.push(error);
}

/** A test file, not loaded yet. */
export type Load = () => Promise<unknown>;

/** Loads the test files, and runs their tests one after the other. */
export async function* results(files: readonly Load[]): AsyncGenerator<Line> {
  for (const load of files) await load();
  for (const test of tests) {
    const why = Object.entries(settings.skip).find(([start]) => test.name.startsWith(start))?.[1];
    yield why === undefined ? await result(test) : { type: "skipped", name: test.name, why };
  }
  yield { type: "end", count: tests.length };
}

async function result({ name, run }: Test): Promise<Line> {
  const started = performance.now();
  try {
    await soon(run);
    if (uncaught.length > 0) throw uncaught[0];
    return { type: "passed", name, ms: Math.round(performance.now() - started) };
  } catch (error) {
    return { type: "failed", name, error: error instanceof Error ? error.stack ?? error.message : String(error) };
  } finally {
    uncaught.length = 0;
  }
}

async function soon(run: Test["run"]): Promise<void> {
  let id: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    id = setTimeout(() => reject(new Error(`not within ${LIMIT} ms`)), LIMIT);
  });
  try {
    await Promise.race([run(), late]);
  } finally {
    clearTimeout(id);
  }
}
