import { dashboard as makeDashboard } from "../dashboard/mod.ts";
import { type Invocation, UsageError, type Verb } from "../command.ts";
import { STATUS } from "../failure.ts";
import { warnIfPartial } from "../locks/listing.ts";
import { HttpServer } from "../server/http_server.ts";
import { isLoopback, namesLoopback } from "../server/loopback.ts";

const DEFAULT_PORT = "8080";
const DEFAULT_HOST = "127.0.0.1";

/** Serves the dashboard until it is told to end. */
export const dashboard: Verb = {
  name: "dashboard",
  summary: "Show the locks in a browser, until Ctrl-C",
  usage: "[options]",
  options: {
    port: { type: "string", value: "PORT", help: `where to listen, 0 for any port that is free (${DEFAULT_PORT})` },
    host: { type: "string", value: "HOST", help: `the address to listen on (${DEFAULT_HOST}: this machine only)` },
    "allow-evict": { type: "boolean", help: "let visitors evict the holders of a lock" },
  },
  examples: [
    { line: "holdfast dashboard", what: `http://${DEFAULT_HOST}:${DEFAULT_PORT}/, for this machine only` },
    { line: "holdfast dashboard --port 9000 --allow-evict", what: "holders can be evicted there" },
  ],
  statuses: { [STATUS.ok]: false },
  run: serve,
};

async function serve(invocation: Invocation): Promise<number> {
  const { args, rest, terminal, signal, options } = invocation;
  // It is not shown: it may be a URL with a password.
  if (args.length + rest.length > 0) throw new UsageError("dashboard takes no name: give the store as --store URL");
  const { port, host, mayEvict } = settingsOf(options);
  const opened = await invocation.store({ existing: true });
  const { store, label } = opened;
  await warnIfPartial(opened, invocation);
  const pages = makeDashboard(store, { title: `Holdfast: ${label}`, evict: mayEvict });
  const local = isLoopback(host);
  const handler = (request: Request) => {
    if (!local || namesLoopback(request)) return pages(request);
    return Promise.resolve(new Response("The host of the request is not this machine.\n", { status: 421 }));
  };
  try {
    const server = await HttpServer.start(handler, port, host).catch((error: unknown) => describe(error, host, port));
    if (typeof server === "string") {
      terminal.err(`holdfast: ${server}`);
      return 1;
    }
    const url = `http://${host.includes(":") ? `[${host}]` : host}:${server.port}/`;
    terminal.out(terminal.json ? JSON.stringify({ url, store: label }) : `Dashboard of ${label}: ${url}`);
    if (!local) terminal.err(`holdfast: ${warning(host, mayEvict)}`);
    await aborted(signal);
    pages[Symbol.dispose](); // Streams never end by themselves.
    await server.close();
    throw signal.reason; // The command line knows the status for it.
  } finally {
    pages[Symbol.dispose]();
  }
}

function settingsOf(options: Invocation["options"]): { port: number; host: string; mayEvict: boolean } {
  const { port = DEFAULT_PORT, host = DEFAULT_HOST } = options;
  if (typeof port !== "string" || !/^\d{1,5}$/.test(port) || Number(port) > 65_535) {
    throw new UsageError(`--port must be a number from 0 to 65535: got ${JSON.stringify(port)}`);
  }
  if (typeof host !== "string" || host === "") throw new UsageError("--host must be an address such as 127.0.0.1");
  return { port: Number(port), host, mayEvict: options["allow-evict"] === true };
}

/** Returns why the server could not be started. */
function describe(error: unknown, host: string, port: number): string {
  const { code, message } = error as { readonly code?: string; readonly message?: string };
  if (code === "EADDRINUSE") return `Port ${port} of ${host} is in use: choose another one with --port`;
  if (code === "EACCES") return `This user may not listen on port ${port}: choose one above 1023 with --port`;
  return `Cannot listen on ${host}, port ${port}: ${message ?? String(error)}`;
}

function warning(host: string, mayEvict: boolean): string {
  const what = mayEvict ? "sees all locks and may evict their holders" : "sees all locks";
  return `everybody who can reach ${host} ${what}. There is no password: put a proxy that asks for one in front`;
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
