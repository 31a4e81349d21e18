import { postgresKind, quoted } from "../../internal/sql/postgres_client.ts";
import type { PgClient, PgliteClient, PostgresClient, PostgresJsClient, PostgresSettings } from "./options.ts";

/** The callbacks of a channel. */
export interface ChannelListener {
  readonly notified: (payload: string) => void;
  /** Called when notifications begin to arrive, and again after each gap. */
  readonly opened: () => void;
  /** Called when the connection is lost. */
  readonly lost: () => void;
}

/** Listens to the channel. Resolves to a function that stops; to `undefined` if only the end of the client stops it. */
export type Listen = (listener: ChannelListener) => Promise<(() => void) | undefined>;

/** Returns the function that listens to a channel, for the option `listen`; `undefined` if waiters poll. */
export function listenOf(client: PostgresClient, { listen }: PostgresSettings, channel: string): Listen | undefined {
  if (listen === undefined) return undefined;
  const source = listen === true ? client : listen;
  switch (postgresKind(source)) {
    case "pglite":
      return listenWithPglite(source as PgliteClient, channel);
    case "postgres.js":
      return listenWithPostgresJs(source as PostgresJsClient, channel);
    default:
      return listenWithPg(source as () => PgClient, channel);
  }
}

function listenWithPostgresJs(sql: PostgresJsClient, channel: string): Listen {
  return once(({ notified, opened }) => sql.listen!(channel, notified, opened));
}

/** Listens with a PGlite, which takes the channel as an SQL identifier. */
function listenWithPglite(database: PgliteClient, channel: string): Listen {
  return once(({ notified, opened }) => Promise.resolve(database.listen!(quoted(channel), notified)).then(opened));
}

/** Listens once: the client reconnects by itself, also after a failure, and would keep each further listener. */
function once(listen: (listener: ChannelListener) => PromiseLike<unknown>): Listen {
  let listening: Promise<unknown> | undefined;
  return async (listener) => {
    const opened = () => {
      listening = Promise.resolve();
      listener.opened();
    };
    await (listening ??= Promise.resolve(listen({ ...listener, opened })));
    return undefined;
  };
}

function listenWithPg(make: () => PgClient, channel: string): Listen {
  return async ({ notified, opened, lost }) => {
    const client = make();
    // One that has failed may reject its end, for which nobody waits.
    const end = () => void Promise.resolve(client.end()).catch(() => {});
    client.on("error", lost);
    client.on("end", lost);
    client.on("notification", (message) => {
      if (message.channel === channel) notified(message.payload ?? "");
    });
    try {
      await client.connect();
      await client.query(`LISTEN ${quoted(channel)}`);
    } catch (error) {
      end();
      throw error;
    }
    client.unref?.();
    opened();
    return end;
  };
}
