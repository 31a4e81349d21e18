import { type Test, tests } from "./deno.ts";
import { type Line, settings } from "./settings.ts";

/** How long a test may take on a busy machine, in milliseconds. */
const LIMIT = 60_000;

/** What nobody has caught since the test began. */
const uncaught: unknown[] = [];

/** The messages of errors that nobody catches, and that are no failure of a test. */
const tolerated = new Set<string>();

/** Notes what nobody catches. */
export function note(error: unknown): void {
  if (!(error instanceof Error && tolerated.has(error.message))) uncaught.push(error);
}

/** From now on no test fails for an error with this message that nobody catches: a client library leaves it behind. */
export function tolerate(message: string): void {
  tolerated.add(message);
}

/** The test files by their paths, not loaded yet. */
export type Files = Readonly<Record<string, () => Promise<unknown>>>;

/** Loads the test files of this part, and runs their tests one after the other. */
export async function* results(files: Files): AsyncGenerator<Line> {
  const { index, of } = settings.part;
  for (const [path, load] of Object.entries(files).filter((_, i) => i % of === index)) {
    const before = tests.length;
    try {
      await load();
      if (tests.length === before) throw new Error("it defines no test");
    } catch (error) {
      yield failed(`${path} loads`, error);
    }
  }
  for (const test of tests) {
    const why = Object.entries(settings.skip).find(([start]) => test.name.startsWith(start))?.[1];
    yield why === undefined ? await result(test) : { type: "skipped", name: test.name, why };
  }
  yield { type: "end", count: tests.length };
}

async function result({ name, run, ignore }: Test): Promise<Line> {
  const started = performance.now();
  try {
    if (ignore) throw new Error("its file leaves it out here, and nothing says why");
    await soon(run);
    if (uncaught.length > 0) throw uncaught[0];
    return { type: "passed", name, ms: Math.round(performance.now() - started) };
  } catch (error) {
    return failed(name, error);
  } finally {
    uncaught.length = 0;
  }
}

function failed(name: string, error: unknown): Line {
  return { type: "failed", name, error: describe(error) };
}

/** Returns the stack of an error, and those of the errors that are inside of it. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const inside = ["error", "suppressed"].filter((key) => key in error).map((key) => describe(Reflect.get(error, key)));
  return [error.stack ?? error.message, ...inside].join("\n");
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
