import { StoreError } from "../../../errors.ts";
import { rightsOf } from "./rights.ts";
import { explain } from "./server_error.ts";

/** How a server says that it does not have a database, and that a node of a Cluster has only one. */
export const NO_DATABASE = /DB index|out of range|in cluster mode/i;

/** Returns the error for the words with which a server has refused to select a database for a user. */
export function refusalOf(database: unknown, error: Error, user: string): StoreError {
  const { message, permanent } = explain(error.message, rightsOf(user));
  return new StoreError(`the server refuses database ${database}: ${message}`, {
    cause: error,
    permanent: permanent || NO_DATABASE.test(message),
  });
}
