/**
 * The server of live-mutex; its argument is the port.
 *
 * @module
 */
import { Broker } from "live-mutex";

const broker = new Broker({ host: "127.0.0.1", port: Number(Deno.args[0]) });
broker.emitter.on("warning", () => {});
await broker.ensure();
