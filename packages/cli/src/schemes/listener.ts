import { connect } from "node:net";
import { SystemClock } from "../time/clock.ts";
import { type Address, hostAndPort } from "./address.ts";
import type { RedisPlace } from "./redis_url.ts";

/** How long an address may take to answer, in milliseconds. */
const ANSWER_MS = 1_000;

/** The kinds of servers, by their answers to the command ROLE without TLS. */
const LISTENERS: readonly (readonly [answer: RegExp, listener: "sentinel" | "redis" | "http" | "closed"])[] = [
  [/^\*2\r\n\$8\r\nsentinel\r\n/, "sentinel"],
  // An error, such as NOAUTH, can be one of a Sentinel as well.
  [/^(?:\*|-[A-Z]+ )/, "redis"],
  [/^(?:HTTP\/|<)/, "http"],
  [/^$/, "closed"],
];

/** Returns the fault in the URL of servers that cannot be used, and the correction; `undefined` when not known. */
export async function wrongServer({ deployment, tls, addresses }: RedisPlace): Promise<string | undefined> {
  const answers = await Promise.all(addresses.map(answerOf));
  for (const [i, answer] of answers.entries()) {
    if (answer === undefined) continue;
    const listener = LISTENERS.find(([pattern]) => pattern.test(answer))?.[1];
    const at = hostAndPort(addresses[i]!);
    if (listener === "http") return `an HTTP server answers at ${at}`;
    if (listener === "sentinel" && deployment !== "sentinel") {
      const [, master = "NAME"] = /sentinel\r\n\*\d+\r\n\$\d+\r\n([\w.-]+)/.exec(answer) ?? [];
      return `a Sentinel answers at ${at}: write redis+sentinel://${at}/${master}`;
    }
    if (tls && (listener === "redis" || listener === "sentinel")) {
      return `the server at ${at} does not speak TLS on this port: write redis instead of rediss`;
    }
    if (listener === "redis" && deployment === "sentinel" && answer.startsWith("*")) {
      return `a Redis server answers at ${at}, and no Sentinel: write redis://${at}`;
    }
    if (listener === "closed" && !tls) {
      return `the server at ${at} closes the connection: if it wants TLS, write rediss`;
    }
  }
  return undefined;
}

/** Resolves to the start of a server's answer; `undefined` if no server listens, or no answer comes in time. */
function answerOf({ host, port }: Address): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect(port, host);
    let connected = false;
    const end = (answer: string | undefined) => {
      timer.cancel();
      socket.destroy();
      resolve(answer);
    };
    const timer = new SystemClock().timer(ANSWER_MS, () => end(undefined));
    socket.on("connect", () => {
      connected = true;
      socket.write("ROLE\r\n");
    });
    socket.on("data", (data) => end(data.toString("latin1")));
    socket.on("error", () => {});
    socket.on("close", () => end(connected ? "" : undefined));
  });
}
