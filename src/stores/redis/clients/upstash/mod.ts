/**
 * Locks in a database that speaks the REST protocol of Upstash: with `fetch`, without a socket and without a client
 * library.
 *
 * @example
 * ```ts ignore
 * import { acquire } from "@holdfast/lock";
 * import { upstash } from "@holdfast/lock/upstash";
 *
 * const client = upstash({ url: "https://us1-merry-cat-32748.upstash.io", token: "…" });
 * await using lock = await acquire(client, "invoice:42", { lease: 10_000, wait: 2_000 });
 * ```
 *
 * @module
 */
export { upstash } from "./rest_client.ts";
export type { UpstashClient } from "../client.ts";
export type { UpstashFetch, UpstashOptions, UpstashRequest, UpstashResponse } from "./options.ts";
