/** The rights that are needed, in the words of `ACL SETUSER`. */
export interface Rights {
  /** The name of the user. */
  readonly user: string;
  /** The rights to the keys of the lock. */
  readonly keys: readonly string[];
  /** The rights to the commands of the script. */
  readonly commands: readonly string[];
}

/** The channels of the wake-ups, in the words of `ACL SETUSER`. */
const CHANNELS = "&holdfast:*";

/** The right that is missing, and the rule that grants it. */
type Missing = readonly [right: string, rule: string];

/** Which right is missing, by the words of the server. The first row that matches counts. */
const MISSING: readonly (readonly [words: RegExp, missing: (rights: Rights, command: string) => Missing])[] = [
  [/ script .*\brun\b|in script.*\brun\b/, ({ commands }) => ["run the commands of the scripts", commands.join(" ")]],
  [/run the '(evalsha|eval)'/, (_, command) => [`run ${command}`, "+evalsha +eval"]],
  [/run the '(subscribe)'/, (_, command) => [`run ${command}`, `+subscribe ${CHANNELS}`]],
  [/run the '([^'| ]+)/, (_, command) => [`run ${command}`, `+${command}`]],
  [/channel/, () => ["use the channels of the wake-ups", CHANNELS]],
  [/./, ({ keys }) => ["use the keys of the locks", keys.join(" ")]],
];

/** Says which right a user lacks, by the words with which the server has denied it, and what grants that right. */
export function missingRight(words: string, rights: Rights): string | undefined {
  for (const [pattern, missing] of MISSING) {
    const match = pattern.exec(words);
    if (match === null) continue;
    const [right, rule] = missing(rights, match[1] ?? "");
    return `the user ${JSON.stringify(rights.user)} may not ${right}; "ACL SETUSER ${rights.user} ${rule}" grants it`;
  }
  return undefined;
}

/**
 * Returns the rights that a script needs.
 *
 * @param user the name of the user
 * @param source the script
 * @param keys the lock's key and the next one, without what the client puts before them
 * @param prefix what stands before the name in the lock's key
 * @param keyPrefix what the client puts before every key
 */
export function rightsFor(
  user: string,
  source: string,
  [lock = "", tagged = lock]: readonly string[],
  prefix: string,
  keyPrefix: string,
): Rights {
  const commands = [...source.matchAll(/redis\.p?call\('(\w+)'/g)].map(([, name = ""]) => `+${name.toLowerCase()}`);
  const start = `{${keyPrefix}${prefix}`;
  // With a brace in the name the tag is only a part of it.
  const tag = tagged === lock || tagged.startsWith(start) ? escape(start) : `{*}${escape(prefix)}`;
  const keys = [`~${escape(keyPrefix + prefix)}*`, `~${escape(keyPrefix)}${tag}*`];
  return { user, keys, commands: [...new Set(commands)] };
}

/** Returns the rights of a user when only the name matters. */
export function rightsOf(user: string): Rights {
  return { user, keys: [], commands: [] };
}

function escape(text: string): string {
  return text.replace(/[*?[\]\\^-]/g, "\\$&");
}
