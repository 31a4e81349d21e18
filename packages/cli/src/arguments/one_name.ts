import { checkArguments } from "@holdfast/lock/authors";
import { type Invocation, UsageError } from "../command.ts";

/**
 * Returns the name of the lock, the only word of a verb. A name that begins with a dash stands after `--`.
 *
 * @throws {UsageError} if there is none, or more than one word, or the word cannot be the name of a lock
 */
export function oneName(verb: string, { args, rest }: Pick<Invocation, "args" | "rest">): string {
  const [name, ...further] = [...args, ...rest];
  if (name === undefined) throw new UsageError(`the name of the lock is missing: holdfast ${verb} NAME`);
  if (further.length > 0) throw new UsageError(`${verb} takes one name: put a name with spaces into quotes`);
  try {
    checkArguments(name);
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError) throw new UsageError(error.message);
    throw error;
  }
  return name;
}
