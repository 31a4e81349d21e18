import type { PostgresJsClient } from "@holdfast/lock/postgres";

/** Runs one statement. Resolves to its rows, each as the values of its columns in their order. */
export async function runPostgres(client: PostgresJsClient, text: string): Promise<readonly unknown[][]> {
  // Not map(), which keeps gaps: postgres.js 3.4 leaves one for each row of an earlier statement that broke off.
  return (await client.unsafe(text)).flatMap((row) => [Object.values(row)]);
}
