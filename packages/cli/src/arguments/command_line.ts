import { parseArgs } from "node:util";
import { type OptionSpec, UsageError } from "../command.ts";
import { shown } from "../terminal/shown.ts";

/** The options of every verb. */
export const GLOBAL_OPTIONS = {
  store: {
    type: "string",
    multiple: true,
    value: "URL",
    help: "where the locks are; several --store are a quorum (Redlock)",
  },
  config: { type: "string", value: "FILE", help: "a config file in the place of holdfast.json" },
  json: { type: "boolean", help: "write JSON: a document, or one per line" },
  "no-color": { type: "boolean", help: "no colours on a terminal" },
  help: { type: "boolean", short: "h", help: "show this help" },
  version: { type: "boolean", short: "V", help: "show the version" },
} as const satisfies Readonly<Record<string, OptionSpec>>;

/** The options of every verb, as they were given. */
export interface GlobalOptions {
  /** The values of `--store`, in their order. */
  readonly stores: readonly string[];
  readonly config: string | undefined;
  readonly json: boolean;
  readonly colours: boolean;
  readonly help: boolean;
  readonly version: boolean;
}

/** The command line after the name of the program, parsed. */
export interface CommandLine {
  readonly global: GlobalOptions;
  /** The options of the verb. */
  readonly options: Readonly<Record<string, string | boolean>>;
  /** All values of the options that may be given several times. */
  readonly lists: Readonly<Record<string, readonly string[]>>;
  /** The words without options, up to `--`. */
  readonly args: readonly string[];
  /** The words after `--`. */
  readonly rest: readonly string[];
}

/** A part of a command line, as `parseArgs` returns it. */
type Token =
  | {
    kind: "option";
    index: number;
    name: string;
    rawName: string;
    value?: string | undefined;
    inlineValue?: boolean | undefined;
  }
  | { kind: "positional"; index: number; value: string }
  | { kind: "option-terminator"; index: number };

type OptionToken = Extract<Token, { kind: "option" }>;

type Specs = Readonly<Record<string, OptionSpec>>;

/**
 * Returns the verb of a command line (its first word that is no option) and the other words. Without such a word the
 * verb is `undefined`.
 *
 * @throws {UsageError} if an option of a verb stands before the verb: then it is not known whether a value follows
 */
export function splitVerb(args: readonly string[]): { readonly verb: string | undefined; readonly others: string[] } {
  for (const token of tokensOf(args, GLOBAL_OPTIONS)) {
    if (token.kind === "positional") return { verb: token.value, others: args.toSpliced(token.index, 1) };
    if (token.kind === "option-terminator") break;
    if (!Object.hasOwn(GLOBAL_OPTIONS, token.name)) {
      throw new UsageError(`unknown option ${shown(token.rawName)}: put the options of a verb behind the verb`);
    }
  }
  return { verb: undefined, others: [...args] };
}

/**
 * Reads a command line without its verb.
 *
 * @param args the words
 * @param own the options of the verb
 * @throws {UsageError} if an option is unknown, lacks its value, or has a value that it does not take
 */
export function readCommandLine(args: readonly string[], own: Specs): CommandLine {
  const specs: Specs = { ...GLOBAL_OPTIONS, ...own };
  const values: Record<string, string | boolean> = {};
  const lists: Record<string, string[]> = {};
  const words: string[] = [];
  const rest: string[] = [];
  let ended = false;
  for (const token of tokensOf(args, specs)) {
    if (token.kind === "option-terminator") ended = true;
    else if (token.kind === "positional") (ended ? rest : words).push(token.value);
    else {
      const value = values[token.name] = valueOf(token, specs);
      if (specs[token.name]?.multiple) (lists[token.name] ??= []).push(String(value));
    }
  }
  const {
    store: _store,
    config,
    json = false,
    "no-color": noColor = false,
    help = false,
    version = false,
    ...options
  } = values;
  return {
    global: {
      stores: lists["store"] ?? [],
      config: config === undefined ? undefined : String(config),
      json: Boolean(json),
      colours: !noColor,
      help: Boolean(help),
      version: Boolean(version),
    },
    options,
    lists,
    args: words,
    rest,
  };
}

function tokensOf(args: readonly string[], specs: Specs): Token[] {
  const options = Object.fromEntries(
    Object.entries<OptionSpec>(specs).map(([name, { type, short }]) => {
      return [name, short === undefined ? { type } : { type, short }];
    }),
  );
  // Not strict: the messages of the runtimes differ, and do not say what to do.
  const { tokens } = parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true });
  return tokens;
}

function valueOf({ name, rawName, value, inlineValue }: OptionToken, specs: Specs): string | boolean {
  const spec = Object.hasOwn(specs, name) ? specs[name] : undefined;
  if (spec === undefined) {
    const known = Object.keys(specs).map((name) => `--${name}`).join(", ");
    throw new UsageError(`unknown option ${shown(rawName)}: known are ${known}`);
  }
  if (spec.type === "boolean") {
    if (value !== undefined) throw new UsageError(`--${name} takes no value: got ${shown(value)}`);
    return true;
  }
  // An option that follows is more likely meant as one than as the value.
  if (value === undefined || !inlineValue && /^-./.test(value)) {
    throw new UsageError(`--${name} needs a value: --${name} ${spec.value ?? "VALUE"}`);
  }
  if (spec.values?.includes(value) === false) {
    throw new UsageError(`--${name} must be ${spec.values.join(" or ")}: got ${shown(value)}`);
  }
  return value;
}
