import { ASSETS } from "./assets.ts";
import { FOLDER } from "./build.ts";

const ROOT = new URL("../../../", import.meta.url);

/** Reads the scripts and the fragments: their texts, by their paths under `root`, the repository. */
export function luaFiles(root = ROOT): Promise<Map<string, string>> {
  return textFiles([FOLDER, `${FOLDER}/lib`], /\.lua$/, root);
}

/** Reads what browsers load: the texts, by their paths under `root`. */
export function assetFiles(root = ROOT): Promise<Map<string, string>> {
  return textFiles([ASSETS], /\.(css|js|svg)$/, root);
}

async function textFiles(folders: readonly string[], ending: RegExp, root: URL): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  for (const folder of folders) {
    for await (const { name } of Deno.readDir(new URL(folder, root))) {
      const path = `${folder}/${name}`;
      if (ending.test(name)) texts.set(path, await Deno.readTextFile(new URL(path, root)));
    }
  }
  return texts;
}
