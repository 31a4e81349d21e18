// Deno only: it starts a server.
import { postgres } from "@holdfast/lock/postgres";
import { LockManager } from "@holdfast/lock/web-locks";
import { connectWith, newSchema } from "../stores/postgres/clients.ts";
import { sharedServer } from "../stores/postgres/shared_server.ts";
import { until } from "../support/until.ts";
import { ACROSS_NAMES, webLocksSuite } from "./suite.ts";

const { server, ignore } = await sharedServer();

webLocksSuite({
  of: "LockManager on postgres",
  without: [ACROSS_NAMES],
  ignore,
  open: async () => {
    const connected = connectWith("pg", server().url);
    const schema = await newSchema(connected.client);
    const open = () => new LockManager(postgres(connected.client, { schema }));
    return {
      connect: open,
      close: async () => {
        await until(async () => {
          const { held, pending } = await open().query();
          return held.length + pending.length === 0;
        }, "nothing is left");
        await connected[Symbol.asyncDispose]();
      },
    };
  },
});
