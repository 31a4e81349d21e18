import { checkName } from "../../options.ts";
import { type Invocation, UsageError } from "../command.ts";

/**
 * Returns the name of the lock that a verb is about: its only word. One that begins with a dash stands behind `--`.
 *
 * @throws {UsageError} if there is none, or more than one word, or it can be no name of a lock
 */
export function oneName(verb: string, { args, rest }: Pick<Invocation, "args" | "rest">): string {
  const [name, ...further] = [...args, ...rest];
  if (name === undefined) throw new UsageError(`the name of the lock is missing: holdfast ${verb} NAME`);
  if (further.length > 0) throw new UsageError(`${verb} takes one name: put a name with spaces into quotes`);
  try {
    checkName(name);
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError) throw new UsageError(error.message);
    throw error;
  }
  return name;
}
