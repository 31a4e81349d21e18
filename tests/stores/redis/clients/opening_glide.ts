import type { GlideClient, GlideClientConfiguration } from "@valkey/valkey-glide";
import type { ValkeyGlideClient } from "../../../../src/stores/redis/clients/client.ts";

/** The pauses between two tries to connect: 100 ms each. */
const connectionBackoff = { numberOfRetries: 1, factor: 100, exponentBase: 1, jitterPercent: 0 };

/** Opens a client of valkey-glide that is patient, connects again soon and prints nothing. */
export async function openGlide(options: Partial<GlideClientConfiguration> & { port: number }): Promise<GlideClient> {
  const { port, ...rest } = options;
  // Not all runtimes can load it.
  const { GlideClient, Logger } = await import("@valkey/valkey-glide");
  Logger.setLoggerConfig("off");
  const addresses = [{ host: "127.0.0.1", port }];
  return await GlideClient.createClient({ addresses, requestTimeout: 10_000, connectionBackoff, ...rest });
}

/** A client of valkey-glide that is still being opened: commands wait for that. Where a test needs one at once. */
export class OpeningGlide implements ValkeyGlideClient {
  readonly config: GlideClientConfiguration;
  readonly #opened: Promise<GlideClient>;
  isClosed = false;

  /** Begins to open it. */
  constructor(options: Partial<GlideClientConfiguration> & { port: number }) {
    this.#opened = openGlide(options);
    this.#opened.catch(() => {});
    this.config = { addresses: [{ host: "127.0.0.1", port: options.port }], ...options };
  }

  /** Makes a second client, as `GlideClient` does. */
  static async createClient(options: GlideClientConfiguration): Promise<GlideClient> {
    return await openGlide({ port: options.addresses[0]!.port!, ...options });
  }

  async customCommand(words: string[], options: { decoder: 0 }): Promise<unknown> {
    return await (await this.#opened).customCommand(words, options);
  }

  close(): void {
    this.isClosed = true;
    void this.#opened.then((client) => client.close(), () => {});
  }
}
