import { FOLDER } from "./build.ts";

/** Reads the scripts and the fragments: their texts, by their paths under `root`, the repository. */
export async function luaFiles(root: URL = new URL("../../../", import.meta.url)): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  for (const folder of [FOLDER, `${FOLDER}/lib`]) {
    for await (const { name } of Deno.readDir(new URL(folder, root))) {
      const path = `${folder}/${name}`;
      if (name.endsWith(".lua")) texts.set(path, await Deno.readTextFile(new URL(path, root)));
    }
  }
  return texts;
}
