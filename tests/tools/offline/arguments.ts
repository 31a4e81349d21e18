/** How long the registry of the std packages may take to answer, in milliseconds. */
const ANSWER_LIMIT_MS = 3_000;

/**
 * What deno needs so that the tests find their packages: nothing where their registry answers; else, as behind a proxy
 * that knows only npm, the import map that puts thin adapters in the place of the std packages.
 */
export async function importArguments(): Promise<string[]> {
  if (await reachable("https://jsr.io/@std/assert/meta.json")) return [];
  console.log("jsr.io is out of reach: the tests run with the import map in tests/tools/offline instead");
  return ["--import-map=tests/tools/offline/import_map.json"];
}

async function reachable(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_LIMIT_MS) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
