/** An argument or a key that a script names in its header. */
export interface Parameter {
  readonly name: string;
  /** `"optional"` may be left out, `"repeated"` stands there any number of times, at the end. */
  readonly times: "once" | "optional" | "repeated";
}

/** What the header of a script names. */
export interface Header {
  readonly keys: readonly Parameter[];
  readonly args: readonly Parameter[];
}

/**
 * Reads the lines `-- keys …` and `-- args …` of a script: names in the order in which they are sent, `name?` for one
 * that may be left out, `name...` for one that is repeated; or `none`.
 *
 * @param path the path of the script, for the errors
 * @param text its text
 */
export function headerOf(path: string, text: string): Header {
  return { keys: parameters(path, text, "keys"), args: parameters(path, text, "args") };
}

function parameters(path: string, text: string, kind: keyof Header): Parameter[] {
  const lines = [...text.matchAll(new RegExp(`^-- ${kind} +(.+)$`, "gm"))];
  if (lines.length !== 1) throw new Error(`${path}: needs one line "-- ${kind}  NAME …", has ${lines.length}`);
  const words = lines[0]![1]!.trim();
  return words === "none" ? [] : words.split(/ +/).map((word) => parameter(path, kind, word));
}

function parameter(path: string, kind: string, word: string): Parameter {
  const [, name, mark] = /^([a-z_]+)(\?|\.\.\.)?$/.exec(word) ?? [];
  if (name === undefined) throw new Error(`${path}: cannot read ${JSON.stringify(word)} in the line "-- ${kind}"`);
  return { name, times: mark === "?" ? "optional" : mark === undefined ? "once" : "repeated" };
}
